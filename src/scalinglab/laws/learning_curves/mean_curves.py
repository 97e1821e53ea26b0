"""The mean curve of every size, and its robust smoothing: what `collapse` and `dynamical` start from.

The runs (seeds) of one size are put on one grid of ln x and averaged; each point has the standard error of
that mean. Points whose x or mean y is missing or not positive are dropped and counted, since axes are
logarithmic.

`smooth` is a penalised spline. It is piecewise linear on equally spaced knots, with a penalty on the third
differences,

    minimise  Σ_i w_i (y_i − f(x_i))² + λ Σ_j (Δ³ f_j)²,

λ by generalised cross-validation (degrees of freedom count 1.4 times, because noise may be correlated), and
the weights w_i by Huber's rule on the residuals, so that a few spikes do not bend the curve.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import linalg

from scalinglab.curves import Curves
from scalinglab.curves.columns import is_numeric, no_number, varying_within
from scalinglab.errors import BadInput, nearest
from scalinglab.results.distributions import FEWEST, median_scale
from scalinglab.results.types import Reason

KNOTS = 65  # search: of a curve; more than its degrees of freedom, so that stiffness alone decides
STIFFNESS = 10.0 ** np.arange(-3.0, 9.5, 0.5)  # search: from interpolation to a parabola
COUNTED = 1.4  # published: Kim and Gu (2004); degrees of freedom that each one counts in the cross-validation
# search: of reweighting by Huber's rule; sines of 60 points with noise of 0.03 and five spikes are then
# within an rms of 0.003 of the result of 16 rounds
ROBUST_ROUNDS = 4


@dataclass(frozen=True)
class Smooth:
    """A smoothed curve.

    Attributes:
        knots: (k,) equally spaced positions.
        values: (k,) the curve there; it is linear in between.
        noise: robust standard deviation of the points around it.
        dof: effective degrees of freedom spent.
        hat: (k, n) the linear map from the data to `values`, at fixed weights and stiffness.
        residuals: (n,) data minus curve.
    """

    knots: np.ndarray
    values: np.ndarray
    noise: float
    dof: float
    hat: np.ndarray
    residuals: np.ndarray

    def __call__(self, x: np.ndarray | float) -> np.ndarray:
        """The curve at `x`, constant outside its range."""
        return np.interp(x, self.knots, self.values)

    @property
    def slope(self) -> np.ndarray:
        """(k,) dy/dx at the knots."""
        return np.gradient(self.values, self.knots)

    @property
    def lowest(self) -> int:
        """Which knot has the smallest value."""
        return int(np.argmin(self.values))

    def minimum(self) -> tuple[float, float]:
        """x and y of the minimum of a parabola through the lowest knot and its neighbours."""
        at = self.lowest
        x, y = float(self.knots[at]), float(self.values[at])
        if 0 < at < self.values.size - 1:
            before, after = self.values[at - 1], self.values[at + 1]
            bend = before - 2 * y + after
            if bend > 0:  # a flat bottom has no parabola: its first knot stays
                steps = 0.5 * (before - after) / bend
                return float(x + steps * (self.knots[1] - self.knots[0])), float(y - bend * steps**2 / 2)
        return x, y


def smooth(x: np.ndarray, y: np.ndarray) -> Smooth:
    """Smooth the points (x, y); x ascending, at least four of them."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.size < 4 or x[-1] <= x[0]:
        raise BadInput(f"a curve needs four points at different x to be smoothed, not {x.size}")
    knots = np.linspace(x[0], x[-1], KNOTS)
    basis = _hat_functions(x, knots)
    third = np.diff(np.eye(KNOTS), 3, axis=0)
    penalty = third.T @ third
    weights = np.ones(x.size)
    for _ in range(ROBUST_ROUNDS):
        hat, dof = _best_stiffness(basis, penalty, weights, y)
        residuals = y - basis @ (hat @ y)
        scale = median_scale(residuals)
        weights = 1.0 / np.maximum(1.0, np.abs(residuals) / (2.0 * scale + 1e-12))
    noise = scale * np.sqrt(x.size / max(x.size - dof, 1.0))
    return Smooth(knots, hat @ y, float(noise), float(dof), hat, residuals)


def _hat_functions(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """(n, k) the weights with which the values at the knots make up the curve at x."""
    step = knots[1] - knots[0]
    left = np.clip(((x - knots[0]) / step).astype(int), 0, knots.size - 2)
    part = (x - knots[left]) / step
    basis = np.zeros((x.size, knots.size))
    rows = np.arange(x.size)
    basis[rows, left], basis[rows, left + 1] = 1 - part, part
    return basis


def _best_stiffness(
    basis: np.ndarray, penalty: np.ndarray, weights: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, float]:
    count = y.size
    gram = basis.T @ (weights[:, None] * basis)
    # with Vᵀ (G + P) V = 1 and Vᵀ P V = μ, the inverse of G + sP is V (1 + (s − 1) μ)⁻¹ Vᵀ for every s
    mu, axes = linalg.eigh(penalty, gram + penalty + 1e-9 * np.eye(gram.shape[0]))
    shrunk = 1 / (1 + (STIFFNESS[:, None] - 1) * mu)
    dof = shrunk @ np.sum(axes * (gram @ axes), axis=0)
    squared = weights * (y - (shrunk * (axes.T @ (basis.T @ (weights * y)))) @ axes.T @ basis.T) ** 2
    left = 1.0 - COUNTED * dof / count
    score = np.where(left > 0, squared.mean(axis=1) / np.maximum(left, 1e-9) ** 2, np.inf)
    best = int(np.argmin(score)) if np.isfinite(score).any() else STIFFNESS.size - 1
    return (axes * shrunk[best]) @ axes.T @ (basis.T * weights), float(dof[best])


# defined: of a curve; three make a parabola, which smoothing leaves as it is, `FEWEST` more show the noise
FEWEST_POINTS = 3 + FEWEST


@dataclass(frozen=True)
class SizeCurve:
    """The mean curve of one size, in logs.

    Attributes:
        size: the data size (or another column that identifies the curves).
        x, y: (n,) ln x ascending and ln of the mean y over the runs.
        stderr: (n,) standard error of y over runs; None where there is one run, or the table is an average.
        runs: (r, n) y of the single runs on the same grid (NaN outside a run's range).
        smoothed: the curve without its noise.
        dropped: points left out because x or y was missing or not positive.
    """

    size: float
    x: np.ndarray
    y: np.ndarray
    stderr: np.ndarray | None
    runs: np.ndarray = field(repr=False)
    smoothed: Smooth = field(repr=False)
    dropped: int = 0


def size_curves(
    curves: Curves | pd.DataFrame, x: str, y: str, size: str, fewest_sizes: int = FEWEST
) -> list[SizeCurve]:
    """One mean curve for each size, smallest first."""
    table = curves if isinstance(curves, Curves) else Curves(curves)
    frame = table.frame
    _check_columns(frame, x, y, size)
    _one_experiment(table, size)
    made, short = [], []
    for value, rows in frame.dropna(subset=[size]).groupby(size, sort=True):
        curve = _mean_curve(float(value), rows, x, y, rows_are_a_curve=_rows_are_a_curve(table, x))
        if curve is None:
            short.append(float(value))
        else:
            made.append(curve)
    if len(made) < fewest_sizes:
        few = f" (fewer: {size} = {', '.join(f'{s:g}' for s in short)})" if short else ""
        raise BadInput(
            f"{len(made)} of {len(made) + len(short)} curves have {FEWEST_POINTS} usable points{few}: "
            f"a law across sizes needs at least {fewest_sizes}; does {size!r} identify the curves?"
        )
    return made


def _check_columns(frame: pd.DataFrame, x: str, y: str, size: str) -> None:
    """Refuse columns that cannot be curves y(x) of several sizes."""
    for column in (x, y, size):
        if column not in frame:
            raise BadInput(f"no column {column!r} in these curves; {nearest(column, frame.columns)}")
        if not is_numeric(frame[column]):
            raise BadInput(f"column {column!r} must hold numbers, not {no_number(frame[column])!r}")
    if len({x, y, size}) < 3:
        raise BadInput(f"x={x!r}, y={y!r} and size={size!r} must be three different columns")
    if (smallest := frame[size].min()) <= 0:
        raise BadInput(f"{size} = {smallest:g} must be positive: it is a size")


def left_out(
    curves: Curves | pd.DataFrame, found: list[SizeCurve], x: str, y: str, size: str
) -> tuple[Reason, ...]:
    """Notes on what `size_curves` could not use."""
    sizes = (curves.frame if isinstance(curves, Curves) else curves)[size]
    short = tuple(sorted(set(map(float, sizes.dropna())) - {curve.size for curve in found}))
    lost = sum(curve.dropped for curve in found)
    notes = []
    if short:
        notes.append(Reason("short_curves", size=size, sizes=short, needed=FEWEST_POINTS))
    if lost:
        notes.append(Reason("points_not_positive", points=lost, x=x, y=y))
    if missing := int(sizes.isna().sum()):
        notes.append(Reason("rows_without_size", rows=missing, size=size))
    return tuple(notes)


def _one_experiment(table: Curves, size: str) -> None:
    """Raise where the table has several models or data sets: a law is about one."""
    settings = [c for c in table.setting_columns if c not in table.seed_columns]
    for column in varying_within(table.frame, size, settings):
        found = ", ".join(map(str, list(table.frame[column].unique())[:5]))
        raise BadInput(
            f"the curves differ in {column!r} ({found}) at the same {size}: "
            f"select one, as in curves.select({column}=…) or --where {column}=…"
        )


ROW_COUNT = "repeat"  # the column in which readers count rows of equal settings, each taken for a run


def _rows_are_a_curve(table: Curves, x: str) -> bool:
    """Whether the rows of one size are points of one curve: the table names neither runs nor progress."""
    named = {*table.seed_columns, *table.progress_columns} - {ROW_COUNT, x}
    return not named and (ROW_COUNT in table.frame or x in table.progress_columns)


def _mean_curve(
    size: float, rows: pd.DataFrame, x: str, y: str, *, rows_are_a_curve: bool
) -> SizeCurve | None:
    parts = []
    usable = rows[[x, y]].apply(pd.to_numeric, errors="coerce")
    # a run may reach zero error on a small test set: it still counts in the mean over runs
    good = (usable[x] > 0) & (usable[y] >= 0) & np.isfinite(usable).all(axis=1)
    runs = [run for _, run in rows[good].groupby("run", sort=False)]
    if rows_are_a_curve and all(len(run) == 1 for run in runs):
        runs = [rows[good]]
    for run in runs:
        # a norm may stand still between two checkpoints: one x, one value
        one = run.groupby(x, sort=True)[y].mean()
        if len(one) >= 2:
            parts.append((np.log(one.index.to_numpy(float)), one.to_numpy(float)))
    if not parts:
        return None
    grid, single = _common_grid(parts) if len(parts) > 1 else (parts[0][0], parts[0][1][None])
    mean = np.nanmean(single, axis=0)
    keep = mean > 0
    grid, single, mean = grid[keep], single[:, keep], mean[keep]
    if grid.size < FEWEST_POINTS:
        return None
    stderr = None
    if len(parts) > 1:
        present = np.isfinite(single).sum(axis=0)
        spread = np.nanstd(single, axis=0) * np.sqrt(present / np.maximum(present - 1, 1))
        stderr = spread / mean / np.sqrt(present)
    dropped = int((~good).sum() + (~keep).sum())
    return SizeCurve(size, grid, np.log(mean), stderr, single, smooth(grid, np.log(mean)), dropped)


def _common_grid(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """All runs of a size on one grid of ln x that at least half of them reach."""
    starts, ends = np.sort([p[0][0] for p in parts]), np.sort([p[0][-1] for p in parts])
    half = len(parts) // 2
    low, high = starts[half], ends[len(parts) - 1 - half]
    if high <= low:
        low, high = starts[0], ends[-1]
    count = int(np.clip(np.median([p[0].size for p in parts]), 2, 200))
    grid = np.linspace(low, high, count)
    single = np.array([np.interp(grid, a, b, left=np.nan, right=np.nan) for a, b in parts])
    keep = np.isfinite(single).any(axis=0)
    return grid[keep], single[:, keep]
