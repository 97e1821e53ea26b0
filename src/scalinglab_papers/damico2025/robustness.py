"""The talk's robustness checks: decay, SGD, other norms; bf16 against tf32; rates and batches of ResNets.

The talk gives results without numbers: the picture is the same in all cases; with weight decay and SGD γ₁γ₂
is compatible with γ, which is the same as before; under the norms ℓ1, ℓ2, G₂,₁ and spectral it is not, so
that spectral complexity is special. The (2,1) norm is a sum in the talk and an average in the paper's text:
both stand here, and eq. 2 beside what the authors' code computes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.figures.collapse import draw_collapse, draw_curves, plain_ticks, sizes_legend
from scalinglab.figures.style import INK, colors, loglog, panels, panels_for
from scalinglab.laws.learning_curves.dynamical import RESOLUTION
from scalinglab.results.estimate import Estimate
from scalinglab.studies import trained
from scalinglab.studies.registry import Reproduction
from scalinglab.studies.verdict import Row, mean
from scalinglab_papers.damico2025 import study
from scalinglab_papers.damico2025.curves import SAME_CURVE, early_spread, monotone, plain_curves
from scalinglab_papers.damico2025.pairs import (
    AS_PUBLISHED,
    EQ2,
    NORMS,
    OURS,
    Pair,
    analysed,
    ours,
    published,
    together,
    with_norm,
)
from scalinglab_papers.damico2025.published import CURVES, MAY_CURVES, POINTS, POINTS_SIZE
from scalinglab_papers.damico2025.tables import differences

GRID = math.log(1.3)  # between two norms of a published curve
SAME_NORM = math.log(1.25)  # a ratio of norms at equal error that would be seen
SPECIAL = (EQ2, AS_PUBLISHED, "eq. 2, average over columns")


def base_of(scale: str) -> str:
    """The pair whose variants are looked at."""
    return {"smoke": "CNN digits", "laptop": "CNN MNIST"}.get(scale, "CNN CIFAR10")


def sgd(scale: str) -> Reproduction:
    """The laws under SGD with momentum."""
    return _variant(scale, "SGD")


def weight_decay(scale: str) -> Reproduction:
    """The laws under decoupled weight decay."""
    return _variant(scale, "weight decay")


def _variant(scale: str, variant: str) -> Reproduction:
    base, name = base_of(scale), f"{base_of(scale)}, {variant}"
    made = ours(scale, trained.run_storage(), [base, name])
    own = [pair for pair in made if pair.name == name]
    if not own:
        raise BadInput(f"no runs of {name!r} at scale {scale!r}: train them, or give a store with --store")
    rows = []
    for pair in own:
        rows += differences(pair)
        before = [p for p in made if p.name == base and p.norm == pair.norm]
        if before:
            rows.append(_same_gamma(pair, before[0]))
        if variant == "weight decay":
            rows.append(monotone(pair, "the paper asks whether it stays monotone; from the first epoch on"))
    return Reproduction(together(made), _curves_and_collapse(list(own)), tuple(rows))


def _same_gamma(pair: Pair, base: Pair) -> Row:
    """γ of a variant less that of Adam without decay, at the sizes that both have."""
    note = "the talk: the same γ as before; at the sizes that both have"
    name = f"{pair.label}: γ − γ with Adam"
    base = at_sizes(base, {run.size for run in pair.runs})
    if pair.found is None or base.found is None:
        return Row(name, None, expected=0.0, note=pair.why or base.why)
    new, old = pair.found.gamma_measured, base.found.gamma_measured
    return Row(name, new.value - old.value, math.hypot(new.stderr, old.stderr), len(pair.runs) - 1,
               expected=0.0, resolution=RESOLUTION * abs(old.value), note=note)  # fmt: skip


def at_sizes(pair: Pair, sizes: set[float]) -> Pair:
    """A pair restricted to some training sizes."""
    frame = pair.curves.frame
    kept = frame[frame["n_data"].isin(sizes)]
    return pair if len(kept) == len(frame) else analysed(pair.name, pair.origin, pair.norm, kept)


def _curves_and_collapse(made: list[Pair]) -> Figure:
    """Two panels for each: the curves, and the collapse at the positions."""
    figure, axes = panels(len(made), 2, size=(3.8, 2.9))
    for (left, right), pair in zip(axes, made, strict=True):
        if pair.found is None:
            plain_curves(left, pair)
            left.set_title(pair.label)
            right.set_axis_off()
        else:
            draw_curves(left, pair.found, pair.runs, title=f"{pair.label}\nγ₁ = {pair.found.gamma_1}")
            draw_collapse(right, pair.found.collapse, "norm", "test error")
            plain_ticks(right, "y")
        sizes_legend(left, [run.size for run in pair.runs], "P", loc="lower left")
        plain_ticks(left, "y")
    return figure


# --- other norms -----------------------------------------------------------------------------------------


def norms(scale: str) -> Reproduction:
    """γ₁γ₂ against γ, and how well early curves agree, under every norm that is measured."""
    base = base_of(scale)
    made = ours(scale, trained.run_storage(), [base], tuple(NORMS))
    if not made:
        raise BadInput(f"no runs of {base!r} at scale {scale!r}: train them, or give a store with --store")
    rows = []
    for pair in made:
        for by in ("optimum", "collapse"):
            rows.append(_relative(pair, by))
        spread = early_spread(pair)
        rows.append(
            Row(f"{pair.norm}: spread of ln ε over sizes in the early phase",
                None if spread is None else spread[0], None if spread is None else spread[1],
                None if spread is None else len(pair.runs),
                note=f"{base}; how well the early curves of all sizes fall on one")
        )  # fmt: skip
    return Reproduction(together(made), _curves_and_collapse(list(made)), tuple(rows))


def _relative(pair: Pair, by: str) -> Row:
    """(γ₁γ₂ − γ)/γ: 0 where the laws combine."""
    name = f"{pair.norm}: (γ₁γ₂ − γ)/γ, γ₂ of the {by}"
    claim = "compatible" if pair.norm in SPECIAL else "not equal under this norm"
    if pair.found is None:
        return Row(name, None, expected=0.0, note=pair.why)
    found, gamma = pair.found.difference(by), abs(pair.found.gamma_measured.value)
    second = pair.found.gamma_2_optimum if by == "optimum" else pair.found.gamma_2
    return Row(
        name, found.value / gamma, found.stderr / gamma, len(pair.runs) - 1, expected=0.0,
        resolution=RESOLUTION,
        note=f"{pair.name}; {pair.found.verdict(by)} by our error; the talk: {claim}; "
        f"γ₁ = {pair.found.gamma_1}, γ₂ = {second}",
    )  # fmt: skip


# --- precision -------------------------------------------------------------------------------------------


def precision(scale: str) -> Reproduction:
    """Exponents and norms of bf16 runs against tf32 runs of the same seeds, at the checkpoints of both.

    The learning rate is constant, so that a run that was cut off is a shorter run.
    """
    base, name = base_of(scale), f"{base_of(scale)}, tf32"
    storage = trained.run_storage()
    study.train(scale, storage, [base, name])
    fast, exact = (study.trained(scale, storage, part, finished=False) for part in (base, name))
    if fast is None or exact is None:
        raise BadInput(f"no runs of {name!r} and {base!r} at scale {scale!r}: train them, or give --store")
    keys = ["n_data", "seed", "step"]
    common = fast.frame[keys].merge(exact.frame[keys])
    fast, exact = (_at_rows(curves, common) for curves in (fast, exact))
    rows, made = [], []
    for norm in (EQ2, AS_PUBLISHED):
        low = analysed(f"{base}, bf16", OURS, norm, with_norm(fast, norm))
        high = analysed(name, OURS, norm, with_norm(exact, norm))
        made += [low, high]
        rows += _exponents(low, high, norm)
        rows.append(_shift(low, high, norm))
    rows.append(_error_shift(fast, exact))
    return Reproduction(together(made), _curves_and_collapse(made), tuple(rows))


def _at_rows(curves: Curves, rows: pd.DataFrame) -> Curves:
    """The checkpoints of these sizes, seeds and steps, from the first epoch on."""
    frame = curves.frame.merge(rows)
    return Curves(frame[frame["epoch"] >= 1 - 1e-6].reset_index(drop=True), settings=curves.setting_columns)


def _error_shift(fast: Curves, exact: Curves) -> Row:
    """ln of the test error of bf16 over that of tf32, mean over the checkpoints of a run."""
    keys = ["n_data", "seed", "step"]
    one, two = (curves.frame.set_index(keys)["test_error"] for curves in (fast, exact))
    found = mean(np.log(one / two).groupby(["n_data", "seed"]).mean().to_numpy())
    return found.row(
        "ln of the test error, bf16 less tf32, mean over checkpoints", expected=0.0, resolution=0.02,
        note="over pairs of runs of one seed",
    )  # fmt: skip


EXPONENTS = {
    "γ₁": "gamma_1", "γ₂ of the optima": "gamma_2_optimum", "γ₂ of the collapse": "gamma_2",
    "γ": "gamma_measured",
}  # fmt: skip


def _exponents(low: Pair, high: Pair, norm: str) -> list[Row]:
    """Each exponent of bf16 less that of tf32; errors by leaving out one training size at a time.

    Both see the same seeds, subsets and order, so that their own errors are not those of the difference.
    """
    sizes = [run.size for run in low.runs]
    without = [(at_sizes(low, set(sizes) - {one}), at_sizes(high, set(sizes) - {one})) for one in sizes]
    rows = []
    for symbol, attribute in EXPONENTS.items():
        name = f"{norm}: {symbol}, bf16 less tf32"
        change, exact = _change(low, high, attribute), high.found
        left_out = [_change(*some, attribute) for some in without]
        if change is None or exact is None:
            rows.append(Row(name, None, expected=0.0, note=low.why or high.why))
            continue
        own: Estimate = getattr(exact, attribute)
        known = [value for value in left_out if value is not None]
        error = jackknife(known) if len(known) == len(sizes) else math.sqrt(2) * own.stderr
        rows.append(
            Row(name, change, error, len(sizes), expected=0.0, resolution=RESOLUTION * abs(own.value),
                note=f"{high.name}: {own}; error by leaving out one of {len(sizes)} sizes")
        )  # fmt: skip
    return rows


def _change(low: Pair, high: Pair, attribute: str) -> float | None:
    if low.found is None or high.found is None:
        return None
    return float(getattr(low.found, attribute).value - getattr(high.found, attribute).value)


def jackknife(values: list[float]) -> float:
    """Standard error from values that each leave out one of n members: √((n − 1)/n Σ (v − v̄)²)."""
    n = len(values)
    return math.sqrt((n - 1) / n * float(np.sum((np.array(values) - np.mean(values)) ** 2)))


def _shift(low: Pair, high: Pair, norm: str) -> Row:
    """ln of the last norm of bf16 over that of tf32, run by run, at the last step that both measured."""
    keys = ["n_data", "seed", "step"]
    one, two = (pair.curves.frame.set_index(keys)["norm"] for pair in (low, high))
    ratio = np.log(one / two).dropna().reset_index().sort_values("step")
    found = mean(ratio.groupby(["n_data", "seed"])["norm"].last().to_numpy())
    return found.row(
        f"{norm}: ln of the last norm, bf16 less tf32", expected=0.0, resolution=0.02,
        note="mean over pairs of runs of one seed",
    )  # fmt: skip


# --- the settings behind published curves ----------------------------------------------------------------


def published_settings(scale: str) -> Reproduction:
    """Networks at several learning rates, batch sizes and initial scales beside the published curves.

    What the authors' code computes of a ResNet is ‖W‖_σ ‖W‖_{2,1} of its last layer W, drawn with deviation
    0.01: on CIFAR-10 about 4 before training, whatever the rate. A published curve begins after one epoch.
    """
    names = [*(f"{pair}, rate" for pair in study.RATES), *study.AS_AUTHORS, *study.AS_PAPER]
    study.train(scale, trained.run_storage(), names)
    frames, rows = [], []
    for name in names:
        pair = name.split(",")[0]
        runs = study.trained(scale, trained.run_storage(), name, finished=False)  # cut off: shorter
        may = name.endswith(", May") or name in study.AS_PAPER
        theirs = _published(pair, MAY_CURVES.version if may else CURVES.version)
        if runs is not None and theirs:
            kept = ["learning_rate", "batch_size"]
            frame = with_norm(runs, AS_PUBLISHED).assign(**runs.frame[kept], experiment=name)
            frames.append((frame, theirs))
            for (batch, rate), part in frame.groupby(["batch_size", "learning_rate"]):
                label = name.removesuffix(", rate")
                rows += _rate_rows(f"{label}, {_setting(rate, batch)}", part, theirs)
    if not frames:
        raise BadInput(
            f"this needs runs of '{names[0]}' (train them, or give --store) and the published curves "
            "(scalinglab data get damico2025-curves)"
        )
    together = Curves(pd.concat([frame for frame, _ in frames], ignore_index=True))
    return Reproduction(together, _rates_figure(frames), tuple(rows))


class PublishedCurve(NamedTuple):
    """The published curve of one size: (n,) ln of norms and of test errors."""

    size: float
    x: np.ndarray
    y: np.ndarray


def _published(pair: str, version: str) -> list[PublishedCurve]:
    """The published curves of a pair; points of one size where only these are known."""
    found = next((one for one in published(version) if one.name == pair), None)
    if found is not None:
        return [PublishedCurve(curve.size, curve.x, curve.y) for curve in found.runs]
    return [PublishedCurve(POINTS_SIZE, *np.log(POINTS[pair]).T)] if pair in POINTS else []


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
    counted, ours = _at_published_norms(runs, curve)
    if not counted.any():
        return None
    return float(np.sqrt(np.mean((ours - np.exp(curve.y[counted])) ** 2)))


def norm_at_equal_error(runs: Sequence[pd.DataFrame], curve: PublishedCurve) -> float | None:
    """ln of our norm over the published one at equal error, mean over the errors that both curves reach.

    Errors are those of the published points up to their minimum. None where the curves share less than two.
    """
    counted, ours = _at_published_norms(runs, curve)
    if counted.sum() < 2:
        return None
    x, theirs = curve.x[counted], np.exp(curve.y[counted])
    falling = np.minimum.accumulate(ours)
    kept = slice(0, int(np.argmin(theirs)) + 1)
    both = (theirs[kept] <= falling[0]) & (theirs[kept] >= falling[-1])
    if both.sum() < 2:
        return None
    at = np.interp(-theirs[kept][both], -falling, x)
    return float(np.mean(at - x[kept][both]))


def _at_published_norms(runs: Sequence[pd.DataFrame], curve: PublishedCurve) -> tuple[np.ndarray, np.ndarray]:
    """Which of the published norms at least half of the runs reach, and their mean error there.

    As the authors do, the error of each run is interpolated in ln(norm).
    """
    errors = np.full((len(runs), len(curve.x)), np.nan)
    for row, run in zip(errors, runs, strict=True):
        run = run.sort_values("norm")
        norms = np.log(run["norm"].to_numpy(float))
        reached = (curve.x >= norms[0]) & (curve.x <= norms[-1])
        row[reached] = np.interp(curve.x[reached], norms, run["test_error"].to_numpy(float))
    counted = 2 * np.isfinite(errors).sum(axis=0) >= len(runs)
    return counted, np.nanmean(errors[:, counted], axis=0)


def _rates_figure(frames: list[tuple[pd.DataFrame, list[PublishedCurve]]]) -> Figure:
    """Three sizes of a part: the published curve in ink, ours coloured by rate, dashed at other batches."""
    shown = []
    for frame, theirs in frames:
        title = str(frame["experiment"].iloc[0]).removesuffix(", rate")
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
