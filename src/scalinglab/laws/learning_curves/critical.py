"""Finite-size scaling: curves of several sizes around a critical point x_c, on linear axes.

    y(x, n) = n^−b Φ((x − x_c) n^−a),   a = −1/ν, b = β/ν   (percolation: x = p, n = L)

a, b and x_c are fitted together (`scaling_fit`). The quality is that of Houdayer and Hartmann (2004), Phys.
Rev. B 70, 014418: points of one size against the master curve of the others. Small sizes often do not follow
(corrections to scaling): while the quality is bad and four sizes or more are left, the smallest is left out,
and a note says so.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves import scaling_fit
from scalinglab.laws.learning_curves.collapse_result import GOOD, WITHIN, Collapse
from scalinglab.laws.learning_curves.mean_curves import FEWEST_POINTS, check_columns, short_curves
from scalinglab.laws.learning_curves.quality import GRID, pooled_variance
from scalinglab.laws.learning_curves.scaling_fit import Points, ScalingFit, master_of
from scalinglab.laws.learning_curves.smoothing import smooth
from scalinglab.results.estimate import FEWEST
from scalinglab.results.types import Reason


def collapse_at_critical_point(
    curves: Curves | pd.DataFrame, x: str, y: str, size: str, tolerance: float
) -> Collapse:
    """`collapse(by="critical")`: see the module."""
    sizes, points, notes = _points(curves, x, y, size)
    low, high = points.x.min(), points.x.max()
    # a coarse grid of a, b and x_c: three of its nodes are followed to their minimum
    starts = np.stack(
        np.meshgrid([-0.3, -0.6, -1.0, -1.6], [-0.3, 0.0, 0.3, 0.8], np.linspace(low, high, 11)[1:-1],
                    indexing="ij"), axis=-1,
    ).reshape(-1, 3)  # fmt: skip
    first = 0
    while True:
        members = np.arange(first, sizes.size)
        found = scaling_fit.fit(points.of(members), starts)
        judged = [judge(points, found, one, members) for one in range(sizes.size)]
        quality = float(np.concatenate([judged[i][1] for i in members]).mean())
        if quality <= GOOD or members.size <= FEWEST:
            break
        first += 1
    if first:
        off = tuple(sizes[:first].tolist())
        notes = (*notes, Reason("sizes_off_the_curve", size=size, sizes=off))
    centre = found.estimates[2]
    if not low <= centre.value <= high:
        notes = (*notes, Reason("critical_outside", x=x, low=float(low), high=float(high)))
    deviation = np.array([apart for apart, _ in judged])
    excess = np.array([scores.mean() if scores.size else np.inf for _, scores in judged])
    holds = (np.arange(sizes.size) >= first) & ((deviation <= tolerance) | (excess <= WITHIN**2))
    return _result(sizes, points, found, members, holds, deviation, quality, notes)


def _points(
    curves: Curves | pd.DataFrame, x: str, y: str, size: str
) -> tuple[np.ndarray, Points, tuple[Reason, ...]]:
    """The sizes, one point for each size and x with the error of its mean, and what was left out."""
    frame = curves.frame if isinstance(curves, Curves) else curves
    check_columns(frame, x, y, size)
    table = frame[[size, x, y]].apply(pd.to_numeric, errors="coerce")
    good = np.isfinite(table).all(axis=1)
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    noise: list[tuple[np.ndarray, float]] = []
    kept: list[float] = []
    short: list[float] = []
    for value, part in table[good].groupby(size, sort=True):
        own = part.groupby(x, sort=True)[y].agg(["mean", "std", "count"])
        if len(own) < FEWEST_POINTS:
            short.append(float(value))
            continue
        parts.append((own.index.to_numpy(float), own["mean"].to_numpy(float)))
        noise.append(standard_errors(own, *parts[-1]))
        kept.append(float(value))
    if len(kept) < FEWEST:
        raise BadInput(
            f"{len(kept)} sizes have {FEWEST_POINTS} values of {x} or more: a critical point needs {FEWEST}; "
            f"does {size!r} identify the curves?"
        )
    notes = []
    if short:
        notes.append(short_curves(size, short))
    if lost := int((~good).sum()):
        notes.append(Reason("points_missing", points=lost, x=x, y=y))
    if all(np.isfinite(freedom) for _, freedom in noise):  # no size was repeated: each lends to the others
        typical = float(np.median([error[0] for error, _ in noise]))
        errors = [np.sqrt(pooled_variance(error, np.array(freedom), typical)) for error, freedom in noise]
    else:
        errors = [error for error, _ in noise]
    which = np.repeat(np.arange(len(kept)), [len(at) for at, _ in parts])
    at, mean = (np.concatenate(column) for column in zip(*parts, strict=True))
    points = Points(which, np.log(kept)[which], at, mean, np.concatenate(errors), critical=True)
    return np.array(kept), points, tuple(notes)


def standard_errors(own: pd.DataFrame, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Standard error of every mean, and its degrees of freedom where it is one number for the whole curve.

    Over runs where every x was repeated, infinite degrees of freedom then; else from the scatter in x. A
    point where all runs agree by chance is drawn towards the others: lattices span all or none far from p_c.
    """
    if (own["count"] >= FEWEST).all():
        over_runs, count = (own[name].to_numpy(float) for name in ("std", "count"))
        over_runs = over_runs / np.sqrt(count)
        typical = float(np.sqrt(np.mean(over_runs**2)))
        error, freedom = np.sqrt(pooled_variance(over_runs, count - 1, typical)), np.inf
    else:
        curve = smooth(x, y)
        error, freedom = np.full(x.size, curve.noise), max(x.size - curve.dof, 0.0)
    return np.asarray(np.maximum(error, max(1e-9 * float(np.abs(y).max()), 1e-300))), freedom


def judge(points: Points, found: ScalingFit, one: int, members: np.ndarray) -> tuple[float, np.ndarray]:
    """One size against the master curve of other members: relative rms deviation, scores of its points."""
    others = points.of(members[members != one])
    master = master_of(others, found.values, found.coefficients, found.noise_factor)
    x, y, noise = points.of([one]).rescaled(found.values)
    level, error = master(x)
    seen = np.isfinite(level)
    if not seen.any():
        return np.inf, np.zeros(0)
    apart = (y - level)[seen] ** 2
    size = float(np.sqrt(np.mean(level[seen] ** 2)))
    return float(np.sqrt(apart.mean())) / max(size, 1e-300), apart / (noise**2 + error**2)[seen]


def _result(
    sizes: np.ndarray,
    points: Points,
    found: ScalingFit,
    members: np.ndarray,
    holds: np.ndarray,
    deviation: np.ndarray,
    quality: float,
    notes: tuple[Reason, ...],
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
