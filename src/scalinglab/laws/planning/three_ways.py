"""Three ways to the compute-optimal model, after Hoffmann et al. 2022, side by side.

1. Envelope: at every compute the model size with the lowest loss; N* ∝ C^a through those.
2. IsoFLOP parabolas: at every compute a parabola of the loss against ln N; N* ∝ C^a through the vertices.
3. The parametric surface L(N, D); a = β/(α+β).

Losses at one compute are interpolated in ln L against ln C along the points of each model size; nothing is
extrapolated. A parabola approximates the true curve A e^(-αu) + B e^(βu); where α ≠ β, or the sizes do not
surround the optimum evenly, its vertex is biased, and so is a (`Approach.bias`).
Intervals of 1 and 2 come from the errors of the approach on simulated runs at the same sizes: the surface of
approach 3, with the residuals of whole runs flipped at random. They include its scatter and its bias; where
the bias is larger, the interval lies on one side of the value and ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from scalinglab.curves.columns import SAME_SIZE, size_groups
from scalinglab.errors import BadInput
from scalinglab.laws import surface
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.data.from_curves import Rows, is_table
from scalinglab.laws.fitting.fit import outlier_note
from scalinglab.laws.fitting.uncertainty import profile
from scalinglab.laws.surface import FLOPS_PER_PARAM_EXAMPLE, Surface
from scalinglab.results.distributions import FEWEST, UNKNOWN, Draws, Interval, interval, slope
from scalinglab.results.types import Reason, Remark, TableRows, Worded
from scalinglab.support.validation import checked


@dataclass(frozen=True)
class Approach:
    """One way to the optimum.

    Attributes:
        name: "1 envelope", "2 parabolas" or "3 surface".
        exponent: a of n_params ∝ compute^a, with its bootstrap interval.
        n_params, n_data: at the compute asked for, with the interval of n_params.
        bias: of the exponent, the median over simulated runs; NaN for the surface, which simulates them.
        compute, best: the optima behind the fit (none for the surface).
    """

    name: str
    exponent: float
    exponent_interval: Interval
    n_params: float
    n_params_interval: Interval
    n_data: float
    bias: float
    compute: np.ndarray
    best: np.ndarray


@dataclass(frozen=True)
class Approaches(Worded):
    """The three approaches on the same points, at one compute.

    Attributes:
        compute: FLOPs.
        rows: one an approach.
        surface: the fit behind the third.
        notes: what was done to the points.
    """

    compute: float
    rows: tuple[Approach, ...]
    surface: Surface
    notes: tuple[Reason, ...] = ()

    def __getitem__(self, index: int) -> Approach:
        return self.rows[index]

    @property
    def remarks(self) -> Iterator[Remark]:
        rows = [
            {"name": row.name, "exponent": row.exponent, "n_params": row.n_params, "n_data": row.n_data,
             "bias": f"{row.bias:+.3f}" if np.isfinite(row.bias) else "",
             "exponent_ends": _ends(row.exponent_interval, ".3f"),
             "n_params_ends": _ends(row.n_params_interval, ".3g")}
            for row in self.rows
        ]  # fmt: skip
        yield TableRows("approaches", rows, {"n_params": f"n_params at {self.compute:.3g}"})


@checked
def approaches(
    *data: Any,
    compute: float,
    x: Sequence[str] | None = None,
    y: str | None = None,
    reduce: str = "auto",
    runs: Any = None,
    flops_per_param_example: float = FLOPS_PER_PARAM_EXAMPLE,
    budgets: Sequence[float] | None = None,
    draws: int = 200,
    seed: int = 0,
    level: float = 0.95,
    **rows: Unpack[Rows],
) -> Approaches:
    """Approaches 1, 2 and 3 on the same points.

    Args:
        data: n_params, n_data and loss as arrays, or a table of curves.
        compute: FLOPs at which to compare n_params.
        runs: the run of each point; points of a run are drawn anew together.
        flops_per_param_example: FLOPs of a run divided by n_params · n_data.
        budgets: computes at which to slice; by default those of the data where they are few, else 12
            between the 10th and the 90th percentile, evenly in the log.
        draws: refits for the intervals.
        x, y, reduce, rows: columns of a table and which rows of it count, as in `surface.fit`.
    """
    points.positive(compute=compute, flops_per_param_example=flops_per_param_example)
    points.positive(budgets=1.0 if budgets is None else budgets)
    columns: dict[str, Any] = {"x": x, "y": y, "reduce": reduce, **rows}
    fitted = surface.fit(*data, form="chinchilla", runs=runs, seed=seed, **columns)
    if data and is_table(data[0]):
        outlier_note(fitted.law)
    known = fitted.law.points
    n, spent = known.x[0], flops_per_param_example * known.x[0] * known.x[1]
    slices = np.asarray(budgets, float) if budgets is not None else default_budgets(spent)
    dense = np.geomspace(slices.min(), slices.max(), 60)
    optimal = fitted.compute_optimal(compute, flops_per_param_example=flops_per_param_example, level=level)
    true = np.array([optimal.exponent, np.log(optimal.n_params)])
    drawn = profile.redrawn(fitted.law, draws, np.random.default_rng(seed))
    found = []
    for name, grid, pick in (("1 envelope", dense, lowest), ("2 parabolas", slices, vertex)):
        best = np.array([pick(*p) for p in isoflop(n, spent, known.y, grid)])
        value = _at(compute, *_line(grid, best))
        off = _refits(n, spent, drawn, grid, pick, compute) - true
        ends, size_ends = (
            interval_from_errors(v, errors, level) for v, errors in zip(value, off.T, strict=True)
        )
        size = float(np.exp(value[1]))
        examples = compute / flops_per_param_example / size
        size_ends = size_ends.through(np.exp)
        bias = float(np.nanmedian(off[:, 0])) if np.isfinite(off[:, 0]).any() else np.nan
        found.append(Approach(name, float(value[0]), ends, size, size_ends, examples, bias, grid, best))
    exponent, ends = fitted.allocation_exponent(level)
    size, size_ends, none = optimal.n_params, optimal.n_params_interval, np.array([])
    found.append(Approach("3 surface", exponent, ends, size, size_ends, optimal.n_data, np.nan, none, none))
    return Approaches(float(compute), tuple(found), fitted, known.notes)


def interval_from_errors(value: float, errors: np.ndarray, level: float) -> Interval:
    """The interval of the true value, from the errors of the approach on simulated runs.

    NaN where fewer than `level` of these show an optimum: the optima of the others may lie beyond either end.
    """
    known = np.isfinite(errors)
    if known.mean() < level:
        return UNKNOWN
    return interval(Draws(value - errors[known]), level, holding=value)


def _ends(interval: Interval, digits: str) -> str:
    if not np.isfinite(interval.low):
        return "[not determined]"
    return f"[{interval.low:{digits}}, {interval.high:{digits}}]"


def default_budgets(compute: np.ndarray) -> np.ndarray:
    """The computes of the data where these are few and repeated, else 12 between their percentiles."""
    logs, group = np.log(compute), size_groups(compute).astype(int)
    runs = np.bincount(group)
    if len(runs) >= 3 and runs.min() >= 4:
        return np.exp(np.bincount(group, logs) / runs)
    low, high = np.quantile(logs, [0.1, 0.9])
    return np.exp(np.linspace(low, high, 12))


def isoflop(
    n_params: np.ndarray, compute: np.ndarray, loss: np.ndarray, budgets: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(n_params, loss) of the model sizes at each budget, interpolated in the compute of each.

    A size counts where the budget lies between two of its points, or within `SAME_SIZE` of one.
    """
    sizes = np.unique(n_params)
    table = np.full((len(sizes), len(budgets)), np.nan)
    for i, size in enumerate(sizes):
        own = n_params == size
        order = np.argsort(compute[own], kind="stable")
        c, y = np.log(compute[own][order]), np.log(loss[own][order])
        at = np.log(budgets)
        inside = (at >= c[0] - SAME_SIZE) & (at <= c[-1] + SAME_SIZE)
        table[i, inside] = np.exp(np.interp(at[inside], c, y))
    return [(sizes[known], table[known, j]) for j, known in enumerate(np.isfinite(table).T)]


def lowest(n_params: np.ndarray, loss: np.ndarray) -> float:
    """Approach 1: the size with the lowest loss; NaN where it is the smallest or largest tried."""
    if len(loss) < 3:
        return float("nan")
    best = int(np.argmin(loss))
    return float(n_params[best]) if 0 < best < len(loss) - 1 else float("nan")


def vertex(n_params: np.ndarray, loss: np.ndarray) -> float:
    """Approach 2: the vertex of a parabola through loss against ln n_params; NaN where there is none."""
    if len(loss) < 4:
        return float("nan")
    u = np.log(n_params)
    centre = u.mean()
    second, first, _ = np.polyfit(u - centre, loss, 2)
    if not second > 0:
        return float("nan")
    place = centre - first / (2 * second)
    return float(np.exp(place)) if u.min() <= place <= u.max() else float("nan")


def _line(compute: np.ndarray, best: np.ndarray) -> tuple[float, float]:
    """Slope and intercept of ln best against ln compute."""
    known = np.isfinite(best)
    if known.sum() < FEWEST:
        raise BadInput(
            f"an optimal size is seen at {known.sum()} of {len(best)} computes: fewer than three. Give runs "
            "on both sides of the optimum at several computes, or use the surface alone"
        )
    x, y = np.log(compute[known]), np.log(best[known])
    exponent = slope(x, y).value
    return exponent, float(y.mean() - exponent * x.mean())


def _refits(
    n: np.ndarray, spent: np.ndarray, losses: np.ndarray, grid: np.ndarray,
    pick: Callable[[np.ndarray, np.ndarray], float], compute: float,
) -> np.ndarray:  # fmt: skip
    """(draws, 2) a and ln n_params at a compute from each of the losses (draws, runs); NaN without a fit."""
    found = np.full((len(losses), 2), np.nan)
    for k, loss in enumerate(losses):
        best = np.array([pick(*p) for p in isoflop(n, spent, loss, grid)])
        if np.isfinite(best).sum() >= FEWEST:
            found[k] = _at(compute, *_line(grid, best))
    return found


def _at(compute: float, exponent: float, scale: float) -> np.ndarray:
    """The exponent, and ln n_params at a compute."""
    return np.array([exponent, scale + exponent * np.log(compute)])
