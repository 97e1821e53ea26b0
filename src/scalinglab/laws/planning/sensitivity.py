"""The same data under other choices: how much of a conclusion is the data's, and how much the analyst's.

Every row refits the surface after one change: how parameters are counted, how FLOPs are counted, the loss of
the fit, the weights, the points left out. The columns are what people quote: E, α, β, the exponent a of
n_params ∝ compute^a, and the optimum at one compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.laws import surface
from scalinglab.laws.fitting.data.from_curves import Rows, Table, is_table, points_from
from scalinglab.laws.fitting.data.points import positive
from scalinglab.laws.forms.surfaces import NAMES
from scalinglab.laws.optimum import Optimal
from scalinglab.laws.surface import FLOPS_PER_PARAM_EXAMPLE, Surface
from scalinglab.results.types import Reason, Remark, TableRows, Worded, reason_of
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("E", "alpha", "beta", "a", "n_params", "n_data", "loss")


@dataclass(frozen=True)
class Sensitivity(Worded):
    """A table of refits; the first row is the fit as it was given.

    Attributes:
        compute: FLOPs at which the optimum is compared.
        table: one row a choice.
        problems: why a choice gives no optimum, by its text.
        notes: what was done to the rows.
    """

    compute: float
    table: pd.DataFrame
    problems: Mapping[str, Reason]
    notes: tuple[Reason, ...] = ()

    @property
    def remarks(self) -> Iterator[Remark]:
        """What the summary says, as data."""
        rows = [
            {**row, "problem": self.problems.get(row["choice"], "")} for row in self.table.to_dict("records")
        ]
        yield TableRows("sensitivity", rows)
        spread = self.table[["a", "n_params"]].agg(["min", "max"])
        yield Reason("sensitivity", low=spread.a["min"], high=spread.a["max"])
        low, high = spread.n_params["min"], spread.n_params["max"]
        yield Reason("sensitivity_size", compute=self.compute, low=low, high=high)


@checked
def sensitivity(
    *data: Any,
    compute: float,
    x: Sequence[str | Sequence[str]] = NAMES,
    y: str = "loss",
    reduce: str = "auto",
    runs: Any = None,
    flops_per_param_example: float = FLOPS_PER_PARAM_EXAMPLE,
    flop_counts: Mapping[str, Any] | Sequence[str] = (),
    **rows: Unpack[Rows],
) -> Sensitivity:
    """Refit the surface "chinchilla" under other choices, one at a time.

    Args:
        data: n_params, n_data and loss as arrays, or a table of curves. n_params may be several definitions
            by name (say ``{"all": …, "without embeddings": …}``); the first is the fit as given.
        x, y: columns of the table; the first of x may be several, ``(("n_params", "n_embedded"), "n_data")``.
        reduce, rows: which rows of the table count, as in `surface.fit`.
        compute: FLOPs at which the optimum is compared.
        runs: the run of each point.
        flops_per_param_example: FLOPs of a run divided by n_params · n_data.
        flop_counts: FLOPs of every run counted in other ways: arrays by name, or columns of the table; the
            optimum then obeys the cost k n_params n_data with k their median ratio.
    """
    import pandas as pd

    positive(compute=compute, flops_per_param_example=flops_per_param_example)
    (first, *others), counted, table = _points(data, x, y, runs, reduce, flop_counts, rows)
    columns, loss = dict(zip(table.names, table.x, strict=True)), table.y
    n, d = columns[first], columns[table.names[1 + len(others)]]
    choices = [Choice("as given"), *(Choice(f"N: {name}", n_params=columns[name]) for name in others)]
    for name in counted:
        ratio = float(np.median(columns[name] / (n * d)))
        choices.append(Choice(f"FLOPs: {name} ({ratio:.3g} N D)", flops_per_param_example=ratio))
    labels = np.asarray(table.runs)
    choices += _other_fits(n, n * d * flops_per_param_example) + fewer_points(n, n * d, loss, labels)
    found: list[dict[str, Any]] = []
    problems: dict[str, Reason] = {}
    for choice in choices:
        keep = np.ones(len(loss), bool) if choice.keep is None else choice.keep
        size = n if choice.n_params is None else choice.n_params
        row: dict[str, Any] = {"choice": choice.text, "points": int(keep.sum()), "problem": ""}
        try:
            fitted = surface.fit(
                size[keep], d[keep], loss[keep], form="chinchilla", runs=labels[keep], **choice.options
            )
            flops = choice.flops_per_param_example or flops_per_param_example
            best = fitted.compute_optimal(compute, flops_per_param_example=flops, intervals=not found)
            row.update(_quoted(fitted, best))
        except ScalinglabError as error:
            if not found:  # nothing to compare with: bad data, and not a choice that cannot be made
                raise
            problems[choice.text] = reason_of(error)
            row.update(dict.fromkeys(COLUMNS, np.nan) | {"problem": str(problems[choice.text])})
        found.append(row)
    return Sensitivity(float(compute), pd.DataFrame(found), problems, table.notes)


def _points(
    data: Sequence[Any], x: Any, y: str, runs: Any, reduce: str, flop_counts: Any, rows: Rows
) -> tuple[list[str], list[str], Table]:
    """Names of the definitions of n_params and of the FLOP counts, and the points: those, n_data between."""
    counted = list(flop_counts)
    if data and is_table(data[0]):
        sizes = [x[0]] if isinstance(x[0], str) else list(x[0])
        names = [*sizes, x[1], *counted]
        table = points_from(tuple(data), names, y, runs=runs, reduce=reduce, **rows)
    else:
        if counted and not isinstance(flop_counts, Mapping):
            raise BadInput(f"flop_counts={flop_counts!r}: beside arrays give arrays by name")
        given = data[0] if data and isinstance(data[0], Mapping) else {"n_params": data[0] if data else ()}
        if not given:
            raise BadInput("n_params={} holds no definition: give an array or a dict of arrays")
        totals = [flop_counts[name] for name in counted]
        sizes, names = list(given), [*given, "n_data", *counted]
        columns = (*given.values(), *data[1:-1], *totals, *data[-1:])
        table = points_from(columns, None, None, arrays=(*names, y), runs=runs, reduce=reduce, **rows)
    values = [np.asarray(column, float).ravel() for column in (*table.x, table.y)]
    if len({len(column) for column in values}) > 1:
        raise BadInput(
            f"{', '.join(names)} and {y} have {', '.join(str(len(v)) for v in values)} values: give one of "
            "each per point"
        )
    labels = np.arange(len(values[-1])) if table.runs is None else table.runs
    table = replace(table, x=np.array(values[:-1]), y=values[-1], runs=labels, names=tuple(names))
    return sizes, counted, table.usable(names) if rows.get("nan_policy") == "drop" else table


@dataclass(frozen=True)
class Choice:
    """One thing done otherwise than in the fit as given; what is None stays as it was.

    Attributes:
        text: what the table calls it.
        keep: (n,), the points that count.
        n_params: (n,), another count of parameters.
        flops_per_param_example: FLOPs of a run divided by n_params · n_data.
        options: of `surface.fit`.
    """

    text: str
    keep: np.ndarray | None = None
    n_params: np.ndarray | None = None
    flops_per_param_example: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def _other_fits(n: np.ndarray, compute: np.ndarray) -> list[Choice]:
    """Other losses of the fit, and other weights of the points."""
    decade = np.floor(np.log10(compute))
    changes: dict[str, dict[str, Any]] = {
        "fit: Huber, delta 1e-2": {"delta": 1e-2},
        "fit: Huber, delta from the scatter": {"delta": None},
        "fit: squares of logs": {"delta": np.inf},
        "fit: squares of losses": {"delta": np.inf, "space": "raw"},
        "weights: every model size alike": {"weights": _alike(n)},
        "weights: every decade of FLOPs alike": {"weights": _alike(decade)},
    }
    return [Choice(text, options=options) for text, options in changes.items()]


def fewer_points(n: np.ndarray, cost: np.ndarray, y: np.ndarray, labels: np.ndarray) -> list[Choice]:
    """Points left out that an analyst might leave out."""
    highest = np.isin(np.arange(len(y)), np.argsort(y)[-5:])
    kept = {
        "without the 5 highest losses": ~highest,
        "without the cheapest 20 %": cost > np.quantile(cost, 0.2),
        "without the most expensive 20 %": cost < np.quantile(cost, 0.8),
        "without the smallest model": n > n.min(),
        "without the largest model": n < n.max(),
    }
    if len(np.unique(labels)) < len(labels):
        last = [cost[i] == cost[labels == labels[i]].max() for i in range(len(y))]
        kept["last point of each run only"] = np.array(last)
    return [Choice(text, keep=keep) for text, keep in kept.items()]


def _quoted(fitted: Surface, best: Optimal) -> dict[str, float]:
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
