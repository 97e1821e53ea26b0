"""The best use of a compute on a surface: the lowest loss under compute = k · n_params · n_data.

For L(N, D) = E + A N^-α + B D^-β with k = 6 FLOPs per parameter and example

    N* = G (C/k)^(β/(α+β)),  D* = (C/k)^(α/(α+β))/G,  G = (α A/(β B))^(1/(α+β));

for other surfaces the minimum along the line N D = C/k is searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws.extrapolation.few_points import reach_of
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.forms.base import Form
from scalinglab.results.distributions import Interval
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.sentences import Column
from scalinglab.results.types import Reason, Remark, noted

if TYPE_CHECKING:
    import pandas as pd

FARTHEST = 1e6  # convention: between the ends of a best size, from which on nothing is said of it
REACH = 60.0  # search: of ln n_params on both sides, a factor of 1e26: no optimum lies farther out
# measured: `benchmarks/chosen.py optimum --most 30`: of 4 × 4 runs that follow the form, intervals of the
# best size hold 97 % at every distance, and their ends differ by 12, 43 and 158 times at 10, 100 and 1000;
# times the largest run: answered whatever the range of the runs; the report draws as far
NEAR = 100.0


@dataclass(frozen=True)
class Optimal(NotebookResult):
    """The best use of a compute.

    Attributes:
        compute: FLOPs, as asked.
        n_params, n_data, loss: at the optimum, shaped like `compute`.
        n_params_interval, n_data_interval, loss_interval: profile or bootstrap over runs, by `method`.
        exponent: of n_params ∝ compute^exponent, between the neighbourhoods of each compute.
        level: of the intervals.
        method: "profile" or "bootstrap"; empty without intervals.
        beyond: `compute` over the largest compute of the runs behind the surface.
        below: the smallest compute of these runs over `compute`.
        caution: what the form is seen to miss, for which intervals allow; None where nothing is.
        n_params_median, n_data_median, loss_median: the middles of the intervals, which allow for what the
            form may miss; n_params, n_data and loss are those of the fit as it is, of several forms averaged.
    """

    compute: Any
    n_params: Any
    n_data: Any
    loss: Any
    n_params_interval: Interval
    n_data_interval: Interval
    loss_interval: Interval
    exponent: Any
    level: float
    method: str = ""
    beyond: Any = np.nan
    caution: Reason | None = None
    below: Any = np.nan
    n_params_median: Any = np.nan
    n_data_median: Any = np.nan
    loss_median: Any = np.nan

    @property
    def tokens_per_param(self) -> Any:
        """n_data/n_params at the optimum."""
        return self.n_data / self.n_params

    def table(self) -> pd.DataFrame:
        """One row a compute."""
        import pandas as pd

        columns = {"compute": self.compute}
        for name in ("n_params", "n_data", "loss"):
            low, high = getattr(self, f"{name}_interval")
            columns |= {name: getattr(self, name), f"{name}_median": getattr(self, f"{name}_median")}
            columns |= {f"{name}_low": low, f"{name}_high": high}
        columns |= {
            "data_per_param": self.tokens_per_param,
            "times_beyond": self.beyond,
            "times_below": self.below,
        }
        rows = np.atleast_1d(self.compute).size
        return pd.DataFrame({n: np.broadcast_to(np.atleast_1d(v), rows) for n, v in columns.items()})

    @property
    def remarks(self) -> Iterator[Remark]:
        """What the summary says: medians, their intervals below them, then the fitted values."""
        sizes = {"n_params": Column("n_params"), "n_data": Column("n_data"), "loss": "loss"}
        yield Reason("optimum_head", head="compute", **{n: Reason("name", of=v) for n, v in sizes.items()})
        for row in self.table().to_dict("records"):
            ends = {name: (row[f"{name}_low"], row[f"{name}_high"]) for name in sizes}
            known = bool(np.isfinite([*ends.values()]).all())
            fitted = {name: row[name] for name in sizes}
            values = {name: row[f"{name}_median"] for name in sizes} if known else fitted
            yield Reason("optimum_row", head=f"{row['compute']:.3g}", **values)
            if known:
                spans = {name: Reason("span", low=low, high=high) for name, (low, high) in ends.items()}
                yield Reason("optimum_ends", level=Reason("level", level=self.level), **spans)
                yield Reason("optimum_row", head="fit", **fitted)
            ratio = values["n_data"] / values["n_params"]
            yield Reason("data_per_parameter", ratio=ratio, data=sizes["n_data"])
            if row["times_beyond"] > 1:
                yield Reason("optimum_beyond", times=row["times_beyond"])
            if row["times_below"] > 1:
                yield Reason("optimum_below", times=row["times_below"])
        if np.isfinite(self.n_params_median).all():
            yield Reason("optimum_fit")
        if self.caution and np.max(self.beyond) > 1:
            yield from noted([self.caution])


def too_far(compute: Any, spent: np.ndarray) -> Reason | None:
    """Why runs of these computes do not determine the optimum of another one; None where they do.

    They do as far as `reach_of` says, and always up to `NEAR` times beyond.
    """
    smallest, largest = float(spent.min()), float(spent.max())
    reach = (1 + 1e-9) * max(reach_of(smallest, largest), NEAR)  # the report draws up to `NEAR`
    far = [c for c in np.ravel(compute) if not smallest / reach <= c <= largest * reach]
    if not far:
        return None
    return Reason("too_far", smallest=smallest, largest=largest, compute=float(far[0]), reach=reach)


def why_no_optimum(law: Law, lost: Sequence[str]) -> Reason:
    """Why runs that leave these exponents open have no best use of compute, and what to do."""
    for i, size in enumerate(law.form.variables[:2]):
        if rises_with(law, i):
            return Reason("loss_rises", size=Column(size))
    runs, sizes = law.points.trainings, tuple(map(Column, law.form.variables))
    return Reason("optimum_open", runs=runs, parameters=tuple(lost), equation=law.form.equation, sizes=sizes)


def rises_with(law: Law, variable: int) -> bool:
    """Whether y rises with one variable where the other is held: slopes of a plane in logarithms.

    Runs count, not their checkpoints, which move together.
    """
    x, y, runs = law.points.x[:2], law.points.y, law.points.trainings
    if (y <= 0).any():
        return False
    design = np.column_stack([np.ones(len(y)), *np.log(x)])
    slopes, rest, _, _ = np.linalg.lstsq(design, np.log(y), rcond=None)
    if not rest.size:  # sizes on one line
        return False
    covariance = np.linalg.inv(design.T @ design) * float(rest[0]) / max(runs - 3, 1)
    return bool(slopes[1 + variable] > 3 * np.sqrt(covariance[1 + variable, 1 + variable]))


def best_split(form: Form, values: np.ndarray, product: np.ndarray) -> np.ndarray:
    """(draws, 3, computes): n_params, n_data and loss that are best under n_params · n_data = product.

    Args:
        values: (draws, parameters) in the form's order.
        product: (computes,), compute over the FLOPs per parameter and example.
    """
    columns = [values[:, j, None] for j in range(values.shape[1])]
    if form.name == "chinchilla" and not (form.fixed or form.tied):
        _, a, b, alpha, beta = columns
        total = np.maximum(alpha + beta, 1e-12)
        with np.errstate(all="ignore"):
            log_g = (np.log(alpha * a) - np.log(beta * b)) / total
        log_n = log_g + beta / total * np.log(product)
    elif form.variables in (("n_params", "n_data"), ("n_params", "step")):
        log_n = _search(form, columns, product)
    else:
        raise BadInput(
            f"compute_optimal needs a surface of n_params and n_data; {form.name} is one of "
            f"{', '.join(form.variables)}"
        )
    even = 0.5 * np.log(product)
    n = np.exp(np.clip(log_n, even - 5 * REACH, even + 5 * REACH))  # finite, and so is n_data
    d = product / n
    with np.errstate(all="ignore"):
        loss = np.broadcast_to(form.function(np.array([n, d]), *columns), n.shape)
    return np.stack([n, d, loss], axis=1)


def _search(form: Form, columns: list[np.ndarray], product: np.ndarray) -> np.ndarray:
    """The best ln n_params, (draws, computes): a grid that shrinks around its minimum, then a parabola.

    It begins with every n_params within a factor of e^REACH of √product: the same in any unit of size. The
    parabola through the three lowest points of a grid of spacing h errs by about h², and moves smoothly with
    the parameters, where the lowest point itself moves in steps.
    """
    centre = np.repeat(0.5 * np.log(product)[None], columns[0].shape[0], axis=0)
    width, steps = REACH, np.linspace(-1, 1, 41)
    for _ in range(4):
        log_n = centre[..., None] + width * steps
        n = np.exp(log_n)
        with np.errstate(all="ignore"):
            loss = form.function(np.array([n, product[None, :, None] / n]), *(c[..., None] for c in columns))
        loss = np.where(np.isfinite(loss), loss, np.inf)
        best = np.argmin(loss, axis=-1)[..., None]
        centre = np.take_along_axis(log_n, best, axis=-1)[..., 0]
        spacing, width = width * (steps[1] - steps[0]), width * 0.1
    inner = np.clip(best, 1, len(steps) - 2)
    left, middle, right = (np.take_along_axis(loss, inner + k, axis=-1)[..., 0] for k in (-1, 0, 1))
    with np.errstate(all="ignore"):
        vertex = 0.5 * (left - right) / (left - 2 * middle + right)
    lowest = (best == inner)[..., 0] & np.isfinite(vertex) & (np.abs(vertex) <= 1)
    return np.where(lowest, centre + spacing * vertex, centre)
