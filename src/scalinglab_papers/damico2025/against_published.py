"""Our runs beside the published curves of the same pair: errors, norms and exponents at equal size and norm.

Seeds are averaged as the authors do: the error of each run is interpolated in ln(norm), and the mean is taken
at the published norms that at least half of the runs reach. Both curves are then compared there alone, so
that a shorter training, fewer sizes or another window are no part of a difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.figures.collapse import plain_ticks
from scalinglab.figures.style import INK, colors, loglog, panels_for
from scalinglab.results.distributions import slopes
from scalinglab.studies import Reproduction, Row, jackknife, mean, trained
from scalinglab.studies.verdict import RESOLUTION
from scalinglab_papers.damico2025 import study
from scalinglab_papers.damico2025.pairs import AS_PUBLISHED, published_tables, version_of, with_norm
from scalinglab_papers.damico2025.published import POINTS, POINTS_SIZE, WINDOWS, Windows

SAME_CURVE = 0.03  # a difference of test errors that would be seen
GRID = math.log(1.3)  # between two norms of a published curve
SAME_NORM = math.log(1.25)  # a ratio of norms at equal error that would be seen
FEWEST_NORMS = 3  # through which a slope is fitted


# --- the settings behind published curves ----------------------------------------------------------------


def published_settings(scale: str) -> Reproduction:
    """Networks at several learning rates, batch sizes and initial scales beside the published curves.

    The figure has those at the authors' settings, the table all.

    What the authors' code computes of a ResNet is ‖W‖_σ ‖W‖_{2,1} of its last layer W, drawn with deviation
    0.01: on CIFAR-10 about 4 before training, whatever the rate. A published curve begins after one epoch.
    """
    names = [*study.PAIRS, *study.SEARCHES]
    study.train(scale, trained.run_storage(), names)
    frames, rows = [], []
    for name in names:
        pair = name.split(",")[0]
        runs = study.trained(scale, trained.run_storage(), name)
        theirs = published_curves(pair, version_of(scale, pair))
        if runs is not None and {curve.size for curve in theirs} & set(runs.frame["n_data"]):
            kept = ["learning_rate", "batch_size"]
            frame = with_norm(runs, AS_PUBLISHED).assign(**runs.frame[kept], experiment=name)
            frames.append((frame, theirs))
            for (batch, rate), part in frame.groupby(["batch_size", "learning_rate"]):
                rows += _rate_rows(f"{name}, {_setting(rate, batch)}", part, theirs)
    if not frames:
        raise BadInput(
            f"this needs runs of '{names[0]}' (train them, or give --store) and the published curves "
            "(scalinglab data get damico2025-curves)"
        )
    together = Curves(pd.concat([frame for frame, _ in frames], ignore_index=True))
    at_settings = [one for one in frames if one[0]["experiment"].iloc[0] in study.PAIRS]
    return Reproduction(together, _rates_figure(at_settings or frames), tuple(rows))


class PublishedCurve(NamedTuple):
    """The published curve of one size: (n,) ln of norms and of test errors; seeds, 0 where not known."""

    size: float
    x: np.ndarray
    y: np.ndarray
    seeds: int = 0


def published_curves(pair: str, version: str) -> list[PublishedCurve]:
    """The published curves of a pair.

    Points of one size where only these are known.
    """
    table = published_tables(version).get(pair)
    if table is None:
        return [PublishedCurve(POINTS_SIZE, *np.log(POINTS[pair]).T)] if pair in POINTS else []
    made = []
    for size, rows in table.sort_values("norm").groupby("n_data"):
        x, y = (np.log(rows[name].to_numpy(float)) for name in ("norm", "test_error"))
        made.append(PublishedCurve(float(size), x, y, int(rows["n_seeds"].iloc[0])))
    return made


def _setting(rate: float, batch: float) -> str:
    return f"rate {rate:g}" + ("" if batch == study.SETTING["batch_size"] else f", batch {batch:g}")


def _rate_rows(label: str, part: pd.DataFrame, theirs: list[PublishedCurve]) -> list[Row]:
    sizes = {size: [run for _, run in runs.groupby("run")] for size, runs in part.groupby("n_data")}
    curves = {curve.size: curve for curve in theirs if curve.size in sizes}
    # seeds are averaged at each size; where a single size is published they are looked at one by one
    groups = [(sizes[n], curves[n]) for n in curves]
    counts = "sizes"
    if len(groups) == 1:
        groups, counts = [([run], curve) for runs, curve in groups for run in runs], "seeds"
    gaps = [against_published(*group) for group in groups]
    shifts = [norm_at_equal_error(*group) for group in groups]
    rows = [
        _mean_row(
            f"{label}: our test error less the published one at equal norm, rms over the curve", gaps,
            expected=SAME_CURVE, relation="<",
            note=f"mean over seeds, at norms that half of them reach; n counts {counts}; absolute",
        ),
        _mean_row(
            f"{label}: ln of the norm at equal error, ours over published", shifts, expected=0.0,
            resolution=SAME_NORM, note=f"mean over the falling part of the curve; n counts {counts}",
        ),
    ]  # fmt: skip
    if len(theirs) > 1:
        after_one = [_log_ratio_after_one_epoch(run, curves[n]) for n in curves for run in sizes[n]]
        first = _mean_row(
            f"{label}: ln of the norm after one epoch, ours over published", after_one, expected=0.0,
            resolution=GRID, note="published norms are known to a step of 1.3 between them; n counts runs",
        )  # fmt: skip
        rows.insert(0, first)
    return rows


def _mean_row(name: str, values: Iterable[float | None], **reference: Any) -> Row:
    """The mean of what is known; no number from a single value, which has no error."""
    known = [value for value in values if value is not None]
    return mean(known).row(name, **reference) if len(known) > 1 else Row(name, None, **reference)


def _log_ratio_after_one_epoch(run: pd.DataFrame, curve: PublishedCurve) -> float:
    """ln of a run's norm after one epoch over the first norm of the published curve of its size.

    The norm after one epoch lies on the line in logs through the first two checkpoints, of which the first
    may be a little later.
    """
    run = run.sort_values("step")
    norms, epochs = (np.log(run[name].to_numpy(float)) for name in ("norm", "epoch"))
    growth = (norms[1] - norms[0]) / (epochs[1] - epochs[0]) if len(run) > 1 else 0.0
    return float(norms[0] - epochs[0] * growth - curve.x[0])


def against_published(runs: Sequence[pd.DataFrame], curve: PublishedCurve) -> float | None:
    """Runs of one size beside the published curve: rms difference of test errors at the published norms.

    None where no norm is left.
    """
    counted, errors = _at_published_norms(runs, curve)
    if not counted.any():
        return None
    return float(np.sqrt(np.mean((np.nanmean(errors, axis=0) - np.exp(curve.y[counted])) ** 2)))


def norm_at_equal_error(runs: Sequence[pd.DataFrame], curve: PublishedCurve) -> float | None:
    """ln of our norm over the published one at equal error, mean over the errors that both curves reach.

    Errors are those of the published points up to their minimum. None where the curves share less than two.
    """
    counted, errors = _at_published_norms(runs, curve)
    if counted.sum() < 2:
        return None
    ours = np.nanmean(errors, axis=0)
    x, theirs = curve.x[counted], np.exp(curve.y[counted])
    falling = np.minimum.accumulate(ours)
    kept = slice(0, int(np.argmin(theirs)) + 1)
    both = (theirs[kept] <= falling[0]) & (theirs[kept] >= falling[-1])
    if both.sum() < 2:
        return None
    at = np.interp(-theirs[kept][both], -falling, x)
    return float(np.mean(at - x[kept][both]))


def _at_published_norms(runs: Sequence[pd.DataFrame], curve: PublishedCurve) -> tuple[np.ndarray, np.ndarray]:
    """(x,) which of the published norms at least half of the runs reach; (runs, n) the errors there.

    As the authors do, the error of each run is interpolated in ln(norm); NaN at norms that it does not reach.
    """
    errors = np.full((len(runs), len(curve.x)), np.nan)
    for row, run in zip(errors, runs, strict=True):
        run = run.sort_values("norm")
        norms = np.log(run["norm"].to_numpy(float))
        reached = (curve.x >= norms[0]) & (curve.x <= norms[-1])
        row[reached] = np.interp(curve.x[reached], norms, run["test_error"].to_numpy(float))
    counted = 2 * np.isfinite(errors).sum(axis=0) >= len(runs)
    return counted, errors[:, counted]


def _rates_figure(frames: list[tuple[pd.DataFrame, list[PublishedCurve]]]) -> Figure:
    """Three sizes of a part: the published curve in ink, ours coloured by rate, dashed at other batches."""
    shown = []
    for frame, theirs in frames:
        title = str(frame["experiment"].iloc[0])
        both = sorted({curve.size for curve in theirs} & set(frame["n_data"]))
        for size in sorted({both[0], both[len(both) // 2], both[-1]}):
            part = frame[frame["n_data"] == size]
            shown.append((f"{title}\nP = {size:,.0f}", theirs, size, part))
    figure, axes = panels_for(len(shown), 6, size=(2.5, 2.2))
    for axis, (title, theirs, size, part) in zip(axes, shown, strict=True):
        loglog(axis, "norm as published", "test error", "")
        axis.set_title(title, fontsize=7, loc="left")
        for curve in (curve for curve in theirs if curve.size == size):
            axis.plot(np.exp(curve.x), np.exp(curve.y), "-", color=INK, linewidth=1.5, label="published")
        rates = sorted(part["learning_rate"].unique())
        shades = dict(zip(rates, colors(rates), strict=True))
        for (batch, rate), runs in part.groupby(["batch_size", "learning_rate"]):
            dash = "-" if batch == study.SETTING["batch_size"] else "--"
            for place, (_, run) in enumerate(runs.groupby("run")):
                label = _setting(rate, batch) if place == 0 else None
                axis.plot(run["norm"], run["test_error"], f".{dash}", color=shades[rate],
                          linewidth=0.8, label=label)  # fmt: skip
        axis.legend(loc="lower left", fontsize=5)
        plain_ticks(axis, "y")
    return figure


# --- exponents -------------------------------------------------------------------------------------------


class Both(NamedTuple):
    """Our runs of one size and the published curve, at norms that both reach.

    Attributes:
        size: training examples.
        x: (n,) ln of norms.
        theirs: (n,) ln of the published errors.
        runs: (r, n) our errors, NaN at norms that a run does not reach.
        seeds: behind the published curve, 0 where not known.
    """

    size: float
    x: np.ndarray
    theirs: np.ndarray
    runs: np.ndarray
    seeds: int

    def inside(self, low: float, high: float) -> Both:
        """The part with ln of norms from `low` to `high`."""
        kept = (self.x >= low) & (self.x <= high)
        return self._replace(x=self.x[kept], theirs=self.theirs[kept], runs=self.runs[:, kept])

    def change(self, value: Callable[[np.ndarray, np.ndarray], float]) -> tuple[float, float]:
        """`value` of ln(norm) and ln(error), ours less theirs, with its variance over seeds.

        By leaving out one of our seeds at a time. A seed of theirs scatters as one of ours; as many as ours
        where their number is not known.
        """
        whole = value(self.x, np.log(np.nanmean(self.runs, 0))) - value(self.x, self.theirs)
        count, known = len(self.runs), []
        for one in range(count):
            rest = np.delete(self.runs, one, 0)
            there = np.isfinite(rest).any(0)
            known.append(value(self.x[there], np.log(np.nanmean(rest[:, there], 0))))
        return whole, jackknife(known) ** 2 * (1 + count / (self.seeds or count))


def at_equal_norms(frame: pd.DataFrame, theirs: Iterable[PublishedCurve]) -> list[Both]:
    """The sizes of two runs or more of ours that are published too, at the norms that both reach.

    Args:
        frame: our runs, with columns `run`, `n_data`, `norm` and `test_error`.
    """
    made = []
    for curve in theirs:
        runs = [run for _, run in frame[frame["n_data"] == curve.size].groupby("run")]
        if len(runs) > 1:
            counted, errors = _at_published_norms(runs, curve)
            made.append(Both(curve.size, curve.x[counted], curve.y[counted], errors, curve.seeds))
    return made


def exponent_rows(pair: str, version: str, frame: pd.DataFrame) -> list[Row]:
    """γ₁ in the authors' windows and γ, ours less published, at the sizes and norms that both have."""
    theirs = published_curves(pair, version)
    both = at_equal_norms(frame, theirs)
    windows = WINDOWS[version][pair]
    return [
        row
        for row in (_early_slope(pair, both, theirs, windows), _smallest_errors(pair, both))
        if row is not None
    ]


def _early_slope(
    pair: str, both: list[Both], theirs: Sequence[PublishedCurve], windows: Windows
) -> Row | None:
    """γ₁: the mean of the slopes over the sizes."""
    name = f"{pair}: γ₁, ours less published at equal sizes and norms"
    where = "the authors' windows"
    if len(theirs) > 1:
        optima = {curve.size: curve.x[np.argmin(curve.y)] for curve in theirs}
        with np.errstate(divide="ignore"):
            low, high = np.log([windows.low, windows.high])
        both = [one.inside(optima[one.size] + low, optima[one.size] + high) for one in both]
    else:
        where = "all points that are known"
    both = [one for one in both if len(one.x) >= FEWEST_NORMS]
    if not both:
        return None
    changes = [one.change(lambda x, y: -float(slopes(x, y))) for one in both]
    printed = float(np.mean([-slopes(one.x, one.theirs) for one in both]))
    return _difference(name, changes, np.full(len(both), 1 / len(both)), both, printed, where)


def _smallest_errors(pair: str, both: list[Both]) -> Row | None:
    """γ: the slope of the smallest error at norms that both reach against the size."""
    both = [one for one in both if len(one.x)]
    if len(both) < FEWEST_NORMS:
        return None
    logs = np.log([one.size for one in both])
    weights = -(logs - logs.mean()) / float(np.sum((logs - logs.mean()) ** 2))
    changes = [one.change(lambda x, y: float(y.min())) for one in both]
    published = float(weights @ [one.theirs.min() for one in both])
    name = f"{pair}: γ, ours less published at equal sizes and norms"
    return _difference(name, changes, weights, both, published, "smallest errors there")


def _difference(
    name: str, changes: list[tuple[float, float]], weights: np.ndarray, both: list[Both], published: float,
    note: str,
) -> Row:  # fmt: skip
    """A weighted sum of differences at several sizes; degrees of freedom are those of all seeds."""
    values, variances = np.array(changes).T
    sizes = ", ".join(f"{one.size:g}" for one in both)
    return Row(
        name, float(weights @ values), float(np.sqrt(weights**2 @ variances)),
        1 + sum(len(one.runs) - 1 for one in both), expected=0.0, resolution=RESOLUTION * abs(published),
        note=f"{note}, published {published:.3g}; P = {sizes}; error from seeds",
    )  # fmt: skip
