"""The same data under other choices: how much of a conclusion is the data's, and how much the analyst's.

Every row refits the surface after one change: how parameters are counted, how FLOPs are counted, the loss of
the fit, the weights, the points left out. The columns are what people quote: E, α, β, the exponent a of
n_params ∝ compute^a, and the optimum at one compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.laws import surface
from scalinglab.laws.points import positive
from scalinglab.laws.surface import FLOPS, Surface

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("E", "alpha", "beta", "a", "n_params", "n_data", "loss")


@dataclass(frozen=True)
class Sensitivity:
    """A table of refits; the first row is the fit as it was given."""

    compute: float
    table: pd.DataFrame

    def summary(self) -> str:
        """The table in lines, of the optimum only n_params: n_data is compute/(flops · n_params)."""
        wide = max(map(len, self.table["choice"]))
        shown = {"E": ">6.3f", "alpha": ">7.3f", "beta": ">7.3f", "a": ">7.3f", "n_params": ">9.3g"}
        head = "".join(f"{name:{how.split('.')[0]}}" for name, how in shown.items())
        lines = [f"{'choice':<{wide}} {'points':>6}{head}"]
        for row in self.table.to_dict("records"):
            cells = "".join(f"{row[name]:{how}}" for name, how in shown.items() if not row["problem"])
            lines.append(f"{row['choice']:<{wide}} {row['points']:>6}{cells or '  ' + row['problem']}")
        spread = self.table[["a", "n_params"]].agg(["min", "max"])
        lines.append(f"over all choices: a from {spread.a['min']:.3f} to {spread.a['max']:.3f}")
        lines.append(
            f"  n_params at {self.compute:.3g} FLOPs from {spread.n_params['min']:.3g} to "
            f"{spread.n_params['max']:.3g}"
        )
        return "\n".join(lines)


def sensitivity(
    n_params: Any | Mapping[str, Any],
    n_data: Any,
    loss: Any,
    *,
    at: float,
    runs: Any = None,
    flops: float = FLOPS,
    compute: Mapping[str, Any] | None = None,
    **options: Any,
) -> Sensitivity:
    """Refit the surface under other choices, one at a time.

    Args:
        n_params: an array, or several definitions by name (say ``{"all": …, "without embeddings": …}``); the
            first is the fit as given.
        at: the compute at which the optimum is compared.
        runs: the run of each point.
        flops: per parameter and example.
        compute: FLOPs of every run counted in other ways, by name; the optimum then obeys the cost
            k n_params n_data with k their median ratio.
        options: of `surface.fit`, for the fit as given.
    """
    import pandas as pd

    positive(at=at, flops=flops)
    definitions = dict(n_params) if isinstance(n_params, Mapping) else {"n_params": n_params}
    if not definitions:
        raise BadInput("n_params={} holds no definition: give an array or a dict of arrays")
    definitions = {k: np.asarray(v, float).ravel() for k, v in definitions.items()}
    n = next(iter(definitions.values()))
    d, y = np.asarray(n_data, float).ravel(), np.asarray(loss, float).ravel()
    labels = np.arange(len(y)) if runs is None else np.asarray(runs).ravel()
    if not len(n) == len(d) == len(y) == len(labels):
        raise BadInput(
            f"n_params, n_data, loss have {len(n)}, {len(d)}, {len(y)} values: give one of each per point"
        )
    everything = np.ones(len(y), bool)
    rows = []

    def add(choice: str, keep: np.ndarray, size: np.ndarray = n, cost: float = flops, **changed: Any) -> None:
        row: dict[str, Any] = {"choice": choice, "points": int(keep.sum()), "problem": ""}
        chosen = {**options, **changed}
        if isinstance(chosen.get("weights"), np.ndarray):
            chosen["weights"] = chosen["weights"][keep]
        try:
            fitted = surface.fit(size[keep], d[keep], y[keep], **chosen)
            row.update(_quoted(fitted, at, cost))
        except ScalinglabError as error:
            row.update(dict.fromkeys((*COLUMNS, "B"), np.nan) | {"problem": str(error).split(":")[0]})
        rows.append(row)

    add("as given", everything)
    for name, size in list(definitions.items())[1:]:
        add(f"N: {name}", everything, size)
    for name, total in (compute or {}).items():
        ratio = float(np.median(np.asarray(total, float).ravel() / (n * d)))
        add(f"FLOPs: {name} ({ratio:.3g} N D)", everything, cost=ratio)
    for text, changed in (
        ("fit: Huber, delta 1e-2", {"delta": 1e-2}),
        ("fit: Huber, delta from the scatter", {"delta": None}),
        ("fit: squares of logs", {"delta": np.inf}),
        ("fit: squares of losses", {"delta": np.inf, "space": "raw"}),
    ):
        add(text, everything, **changed)  # type: ignore[arg-type]
    add("weights: every model size alike", everything, weights=_alike(n))
    add("weights: every decade of FLOPs alike", everything, weights=_alike(np.floor(np.log10(n * d * flops))))
    order = np.argsort(y)
    highest, total = np.isin(np.arange(len(y)), order[-5:]), n * d
    add("without the 5 highest losses", ~highest)
    add("without the cheapest fifth", total > np.quantile(total, 0.2))
    add("without the dearest fifth", total < np.quantile(total, 0.8))
    add("without the smallest model", n > n.min())
    add("without the largest model", n < n.max())
    if len(np.unique(labels)) < len(labels):
        last = np.array([total[i] == total[labels == labels[i]].max() for i in range(len(y))])
        add("last point of each run only", last)
    return Sensitivity(float(at), pd.DataFrame(rows))


def _quoted(fitted: Surface, at: float, flops: float) -> dict[str, float]:
    best = fitted.compute_optimal(at, flops=flops, intervals=False)
    values = fitted.parameters
    return {
        "E": values.get("E", 0.0), "alpha": values["alpha"], "beta": values["beta"], "a": best.exponent,
        "n_params": best.n_params, "n_data": best.n_data, "loss": best.loss,
    }  # fmt: skip


def _alike(groups: np.ndarray) -> np.ndarray:
    """Weights that let every group count the same, with mean one."""
    _, index, counts = np.unique(groups, return_inverse=True, return_counts=True)
    weight = 1 / counts[index]
    return np.asarray(weight / weight.mean())
