"""Finite-size scaling: curves of several sizes around a critical point x_c, on linear axes.

    y(x, n) = n^−b Φ((x − x_c) n^−a),   a = −1/ν, b = β/ν   (percolation: x = p, n = L)

a, b and x_c are fitted together (`scaling_fit`). The quality is that of Houdayer and Hartmann (2004), Phys.
Rev. B 70, 014418: points of one size against the master curve of the others. Small sizes often do not follow
(corrections to scaling): while the quality is bad and four sizes or more are left, the smallest is set aside,
and a note says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves import scaling_fit
from scalinglab.laws.learning_curves.collapse_result import FEWEST, Collapse
from scalinglab.laws.learning_curves.mean_curves import FEWEST_POINTS, check_columns
from scalinglab.laws.learning_curves.scaling_fit import Points, ScalingFit, master_of
from scalinglab.laws.learning_curves.smoothing import smooth

GRID = 120
WITHIN = 3.0  # a size holds where its points deviate by at most this many times their noise
GOOD = 3.0  # the quality above which the smallest size is set aside
LEAST_NOISE = (
    0.3  # of the rms error of a curve: a point where all runs agree by chance is no better than that
)
SHARED = 20.0  # points' worth of the median noise of all curves, where sizes were not repeated
WIDTHS = (-0.3, -0.6, -1.0, -1.6)  # starts of a
HEIGHTS = (-0.3, 0.0, 0.3, 0.8)  # starts of b
PLACES = 9  # starts of x_c


def collapse_at_critical_point(
    curves: Curves | pd.DataFrame, x: str, y: str, size: str, tolerance: float
) -> Collapse:
    """`collapse(by="critical")`: see the module."""
    sizes, points, notes = _points(curves, x, y, size)
    low, high = points.x.min(), points.x.max()
    places = np.linspace(low, high, PLACES + 2)[1:-1]
    starts = np.array([[a, b, c] for a in WIDTHS for b in HEIGHTS for c in places])
    first = 0
    while True:
        members = np.arange(first, sizes.size)
        found = scaling_fit.fit(points.of(members), starts)
        judged = [_judge(points, found, one, members) for one in range(sizes.size)]
        quality = float(np.concatenate([judged[i].scores for i in members]).mean())
        if quality <= GOOD or members.size <= FEWEST:
            break
        first += 1
    if first:
        named = ", ".join(f"{value:g}" for value in sizes[:first])
        notes = (*notes, f"{size} = {named} set aside: with them the sizes do not fall on one curve")
    centre = found.estimates[2]
    if not low <= centre.value <= high:
        notes = (*notes, f"x_c lies outside the measured {x}, {low:g} to {high:g}: measure around it")
    deviation = np.array([part.deviation for part in judged])
    excess = np.array([part.scores.mean() if part.scores.size else np.inf for part in judged])
    holds = (np.arange(sizes.size) >= first) & ((deviation <= tolerance) | (excess <= WITHIN**2))
    return _result(sizes, points, found, members, holds, deviation, quality, notes)


def _points(
    curves: Curves | pd.DataFrame, x: str, y: str, size: str
) -> tuple[np.ndarray, Points, tuple[str, ...]]:
    """The sizes, one point for each size and x with the error of its mean, and what was left out."""
    frame = curves.frame if isinstance(curves, Curves) else curves
    check_columns(frame, x, y, size)
    table = frame[[size, x, y]].apply(pd.to_numeric, errors="coerce")
    good = np.isfinite(table).all(axis=1)
    rows: list[np.ndarray] = []
    kept: list[float] = []
    short: list[float] = []
    single = True
    for value, part in table[good].groupby(size, sort=True):
        own = part.groupby(x, sort=True)[y].agg(["mean", "std", "count"])
        if len(own) < FEWEST_POINTS:
            short.append(float(value))
            continue
        at, mean = own.index.to_numpy(float), own["mean"].to_numpy(float)
        rows.append(np.column_stack([
            np.full(len(own), len(kept)), np.full(len(own), np.log(value)), at, mean, _noise(own, at, mean)
        ]))  # fmt: skip
        kept.append(float(value))
        single &= bool((own["count"] < 3).any())
    if len(kept) < FEWEST:
        raise BadInput(
            f"{len(kept)} sizes have {FEWEST_POINTS} values of {x} or more: a critical point needs {FEWEST}; "
            f"does {size!r} identify the curves?"
        )
    notes = []
    if short:
        notes.append(
            f"{size} = {', '.join(f'{v:g}' for v in short)} left out: fewer than {FEWEST_POINTS} points"
        )
    if lost := int((~good).sum()):
        notes.append(f"{lost} points left out: {x} or {y} is missing")
    which, log_size, at, mean, noise = np.concatenate(_pooled(rows, single)).T
    return np.array(kept), Points(which, log_size, at, mean, noise, critical=True), tuple(notes)


def _pooled(rows: list[np.ndarray], single: bool) -> list[np.ndarray]:
    """Noise that a few points of one curve tell badly is drawn towards the median of all curves."""
    if not single:
        return rows
    typical = np.median([part[0, 4] for part in rows]) ** 2
    for part in rows:
        part[:, 4] = np.sqrt((len(part) * part[:, 4] ** 2 + SHARED * typical) / (len(part) + SHARED))
    return rows


def _noise(own: pd.DataFrame, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Standard error of every mean: over runs where sizes were repeated, else from the scatter in x."""
    if (own["count"] >= 3).all():
        error = (own["std"] / np.sqrt(own["count"])).to_numpy(float)
        least = LEAST_NOISE * float(np.sqrt(np.mean(error**2)))
    else:
        error, least = np.full(x.size, smooth(x, y).noise), 0.0
    return np.asarray(np.maximum(error, max(least, 1e-9 * float(np.abs(y).max()), 1e-300)))


@dataclass(frozen=True)
class _Judged:
    """One size against the master curve of the others: relative rms deviation, scores of its points."""

    deviation: float
    scores: np.ndarray


def _judge(points: Points, found: ScalingFit, one: int, members: np.ndarray) -> _Judged:
    others = points.of(members[members != one])
    master = master_of(others, found.values, found.coefficients, found.noise_factor)
    x, y, noise = points.of([one]).rescaled(found.values)
    level, error = master(x)
    seen = np.isfinite(level)
    if not seen.any():
        return _Judged(np.inf, np.zeros(0))
    apart = (y - level)[seen] ** 2
    size = float(np.sqrt(np.mean(level[seen] ** 2)))
    return _Judged(float(np.sqrt(apart.mean())) / max(size, 1e-300), apart / (noise**2 + error**2)[seen])


def _result(
    sizes: np.ndarray,
    points: Points,
    found: ScalingFit,
    members: np.ndarray,
    holds: np.ndarray,
    deviation: np.ndarray,
    quality: float,
    notes: tuple[str, ...],
) -> Collapse:
    used = points.of(members)
    master = master_of(used, found.values, found.coefficients, found.noise_factor)
    grid = np.linspace(*master.ends, GRID)
    x, y, _ = points.rescaled(found.values)
    inside = np.isin(points.which, members)
    apart = np.abs(y - master(x)[0])[inside]
    order = np.argsort(x[inside])
    spread = np.array([np.sqrt(np.mean(part**2)) for part in np.array_split(apart[order], 8)])
    places = np.array([part.mean() for part in np.array_split(x[inside][order], 8)])
    a, b, centre = found.estimates
    start = int(np.argmax(holds))
    return Collapse(
        by="critical",
        x=grid,
        y=master(grid)[0],
        spread=np.interp(grid, places, spread),
        sizes=sizes,
        x_scale=sizes**a.value,
        y_scale=sizes**-b.value,
        deviation=deviation,
        holds=holds,
        holds_from=float(sizes[start]) if holds.sum() >= FEWEST else None,
        outliers=tuple(float(v) for v in sizes[start:][~holds[start:]]) if holds.any() else (),
        quality=quality,
        x_exponent=a,
        y_exponent=b,
        rescaled=pd.DataFrame({"size": np.exp(points.log_size), "x": x, "y": y}),
        notes=notes,
        critical=centre,
    )
