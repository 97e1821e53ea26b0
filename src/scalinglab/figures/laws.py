"""Figures of fitted laws: points with error bars, the law, its interval, its slope, residuals below."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scalinglab.errors import ScalinglabError
from scalinglab.figures.data import LawCurve, isoflops, law_curve, visible
from scalinglab.figures.style import (
    INK,
    MUTED,
    PALETTE,
    band,
    colors,
    headroom,
    log_x,
    loglog,
    panels,
    points,
)
from scalinglab.support.validation import checked
from scalinglab.support.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scalinglab.laws import Law
    from scalinglab.laws.planning.three_ways import Approaches
    from scalinglab.laws.surface import Surface


BEYOND = 3.0  # how far laws are drawn past the largest point, as a factor


class Predicted(NamedTuple):
    """What a law predicts at some sizes, with the ends of its intervals; each (sizes,)."""

    at: Any
    value: Any
    low: Any
    high: Any


@checked
def law(
    fitted: Law,
    *others: Law,
    x: str = "x",
    y: str = "y",
    level: float = 0.95,
    predicted: Sequence[Predicted] = (),
) -> Figure:
    """Laws over their points, each with its interval, what they predict, and the residuals below.

    Args:
        fitted, others: laws of one variable, of the same points (or of y and 1 - y).
        x, y: labels of the axes.
        level: of the intervals.
        predicted: predictions to draw, one of each law, in their order.
    """
    laws, data = (fitted, *others), fitted.points
    figure, axes = panels(2, 1, size=(5.2, 2.6), sharex=True, gridspec_kw={"height_ratios": [3, 1]})
    top, below = axes[:, 0]
    farthest = max([BEYOND * data.x.max(), *(1.2 * np.max(p.at) for p in predicted)])
    curves = [law_curve(one, farthest, level) for one in laws]
    ends = visible(data.y, curves)
    for one, curve, color in zip(laws, curves, cycle(PALETTE)):
        name = one.form.name.replace("_", " ")
        entry = ", ".join(filter(None, (name, slope_text(one)))) if others else name
        draw_curve(top, curve, ends, color=color, label=entry)
    for place, color in zip(predicted, cycle(PALETTE)):
        spread = np.abs(np.clip([place.low, place.high], *ends) - np.asarray(place.value))
        points(top, place.at, place.value, spread, color=color, fmt="*", markersize=9, zorder=4)
    points(top, data.x, data.y, data.error, color=INK, label="measured", zorder=3)
    # y of an accuracy beside a law of 1 - y: the one rises, the other falls, and the words go between them
    unlike = [one.points for one in others if not np.array_equal(one.points.y, data.y)]
    for more in unlike:
        points(top, more.x, more.y, more.error, color=INK, zorder=3)
    if predicted:
        top.plot([], [], "*", color=MUTED, markersize=9, label=f"predicted, {percent(level)}")
    if data.y.min() > 0:
        loglog(top, "", y)
    else:
        log_x(top, ylabel=y)
    if not others:  # a falling law leaves this corner free; at the line the words would cover points
        top.annotate(
            slope_text(fitted), (0.98, 0.95), xycoords="axes fraction", ha="right", va="top", color=INK
        )
    top.legend(loc="center right" if unlike else "upper right" if others else "lower left")
    _draw_residuals(below, laws, x)
    return figure


def draw_curve(axis: Axes, curve: LawCurve, ends: tuple[float, float], *, color: str, label: str) -> None:
    """A law with its interval, cut at the ends of y; solid over its points, dashed beyond."""
    band(axis, curve.x, np.clip(curve.low, *ends), np.clip(curve.high, *ends), color=color)
    inside = curve.inside
    axis.plot(curve.x[inside], curve.y[inside], color=color, label=label)
    axis.plot(curve.x[~inside], curve.y[~inside], color=color, linestyle="--")


def _draw_residuals(axis: Axes, laws: Sequence[Law], x: str) -> None:
    """The residuals of every law; in its colour where there are several."""
    data, first = laws[0].points, laws[0]
    unit, factor = ("residual / %", 100.0) if first.log else ("residual", 1.0)
    spread = None
    if data.error is not None:
        spread = factor * (data.error / data.y if first.log else data.error)
    axis.axhline(0, color=PALETTE[0] if len(laws) == 1 else MUTED, linewidth=1)
    limit = 1e-12
    for one, color in zip(laws, cycle(PALETTE)):
        residuals = factor * one.residuals
        points(axis, data.x, residuals, spread, color=INK if len(laws) == 1 else color)
        limit = max(limit, 1.15 * np.max(np.abs(residuals) + (0 if spread is None else spread)))
    log_x(axis, xlabel=x, ylabel=unit)
    axis.set_ylim(-limit, limit)


def slope_text(fitted: Law) -> str:
    """The exponent of a law with its interval, as it stands in a figure; empty for a form without one."""
    if fitted.form.exponent is None:
        return ""
    if isinstance(fitted.form.exponent, float):
        return f"exponent {fitted.exponent:.3f}, fixed"
    if fitted.unidentified:
        return "exponent not identified"
    low, high = fitted.parameter_intervals["exponent"]
    return f"exponent {fitted.exponent:.3f} [{low:.3f}, {high:.3f}]"


@checked
def surface(
    fitted: Surface, *, compute: Any = None, flops_per_param_example: float = 6.0, loss: str = "loss"
) -> Figure:
    """A law of several variables left, as `draw_surface` has it, residuals right; `loss` labels y."""
    law = fitted.law
    figure, axes = panels(1, 2, size=(4.6, 3.6))
    left, right = axes[0]
    draw_surface(left, fitted, compute=compute, flops_per_param_example=flops_per_param_example, loss=loss)
    right.axhline(0, color=MUTED, linewidth=1)
    unit, factor = ("residual / %", 100.0) if law.log else ("residual", 1.0)
    points(right, _at_runs(fitted), factor * law.residuals, color=INK, markersize=3)
    right.set(xlabel=f"{loss} of the law", ylabel=unit, title="measured minus law")
    return figure


def draw_surface(
    axis: Axes, fitted: Surface, *, budgets: int = 6, compute: Any = None,
    flops_per_param_example: float = 6.0, loss: str = "loss",
) -> None:  # fmt: skip
    """Loss against n_params: runs, isoFLOP curves labelled by compute, and the line of optima.

    A law of other variables, or of values that may be negative, is drawn along one of them.

    Args:
        compute: FLOPs for which the best model is drawn with its intervals.
    """
    if fitted.law.form.variables != ("n_params", "n_data") or fitted.law.points.y.min() <= 0:
        draw_sections(axis, fitted, loss=loss)
        return
    cost: dict[str, Any] = {"flops_per_param_example": flops_per_param_example}
    curves = isoflops(fitted, budgets, flops_per_param_example)
    for each, shade in zip(curves, colors(curves), strict=True):
        axis.plot(each.sizes, each.fitted, color=shade, linewidth=1.0, label=f"{each.compute:.0e} FLOPs")
        axis.plot(each.n_params, each.loss, "o", color=shade, markersize=3.5)
    largest = curves[-1].compute
    farthest = 10 * largest if compute is None else max(largest, np.max(compute))
    along = np.geomspace(curves[0].compute, farthest, 40)
    try:
        line = fitted.compute_optimal(along, intervals=False, **cost)
        axis.plot(line.n_params, line.loss, color=INK, linestyle="--", label="compute-optimal")
    except ScalinglabError:  # no optimum: nothing to draw
        pass
    else:
        if compute is not None:
            best = fitted.compute_optimal(np.atleast_1d(compute), **cost)
            axis.errorbar(
                best.n_params_median, best.loss_median, fmt="*", color=PALETTE[1], markersize=9,
                xerr=np.abs(np.array(best.n_params_interval) - best.n_params_median),
                yerr=np.abs(np.array(best.loss_interval) - best.loss_median),
            )  # fmt: skip
    loglog(axis, "n_params", loss)
    axis.legend(frameon=False, fontsize=7)


def _at_runs(fitted: Surface) -> np.ndarray:
    """(runs,) the law at the runs."""
    law = fitted.law
    return np.asarray(fitted.predict(dict(zip(law.form.variables, law.points.x, strict=True))))


# what else a form varies is drawn along
SIZES = ("n_params", "n_data", "compute", "non_vocab_params", "n_chars")
LINES = 6  # of settings, so that a legend holds them


def draw_sections(axis: Axes, fitted: Surface, *, loss: str = "loss") -> None:
    """A law of several variables along one of them, a line for each setting of the others.

    The variable is one that varies at fixed others, no size (bits, say) if possible.
    """
    law, x, y = fitted.law, fitted.law.points.x, fitted.law.points.y
    names = law.form.variables
    order = sorted(range(len(names)), key=lambda i: names[i] in SIZES)
    place = next((i for i in order if settings_of(x, i)[1]), None)
    if place is None:  # every setting was run once
        axis.axline((y.min(), y.min()), slope=1, color=PALETTE[0], linewidth=1)
        points(axis, _at_runs(fitted), y, color=INK, markersize=4)
        axis.set(xlabel=f"{loss} of the law", ylabel=f"{loss} measured")
    else:
        _draw_along(axis, fitted, place)
        axis.set_ylabel(loss)
    axis.set_title(law.form.name)


def settings_of(x: np.ndarray, place: int) -> tuple[np.ndarray, list[int]]:
    """The setting of all variables but one of each point, and the settings with several points."""
    _, which, counts = np.unique(np.delete(x, place, axis=0), axis=1, return_inverse=True, return_counts=True)
    return which.ravel(), [int(i) for i in np.flatnonzero(counts > 1)]


def _draw_along(axis: Axes, fitted: Surface, place: int) -> None:
    """Points and law along one variable, for settings of the others spread over those with several points."""
    names, x, y = fitted.law.form.variables, fitted.law.points.x, fitted.law.points.y
    which, several = settings_of(x, place)
    chosen = [several[i] for i in np.linspace(0, len(several) - 1, min(LINES, len(several))).astype(int)]
    at = x[place]
    wide = at.min() > 0 and (names[place] in SIZES or at.max() > 30 * at.min())
    sizes = (np.geomspace if wide else np.linspace)(at.min(), at.max(), 80)
    for setting, color in zip(chosen, colors(chosen), strict=True):
        mine = which == setting
        others = np.repeat(x[:, mine][:, :1], len(sizes), axis=1)
        others[place] = sizes
        along = fitted.predict(dict(zip(names, others, strict=True)))
        axis.plot(sizes, along, color=color, label=_setting(names, others[:, 0], place))
        points(axis, at[mine], y[mine], color=color, markersize=4)
    few = f"{len(chosen)} of {len(np.unique(which))} settings"
    axis.legend(fontsize="x-small", title=few, title_fontsize="x-small", loc="upper right")
    axis.set_xlabel(names[place])
    if wide:
        log_x(axis, xlabel=names[place])
    if fitted.law.log and y.max() > 4 * y.min():
        axis.set_yscale("log")
        headroom(axis, 0.35)
    else:
        low, high = axis.get_ylim()
        axis.set_ylim(low, high + 0.6 * (high - low))


def _setting(names: Sequence[str], values: np.ndarray, place: int) -> str:
    return ", ".join(f"{n} {v:.3g}" for i, (n, v) in enumerate(zip(names, values, strict=True)) if i != place)


@checked
def approaches(found: Approaches, fitted: Surface, *, flops_per_param_example: float = 6.0) -> Figure:
    """The three ways to the compute-optimal model, over each other."""
    figure, axes = panels(1, 1, size=(5.2, 3.6))
    axis = axes[0, 0]
    first = min(row.compute.min() for row in found.rows if len(row.compute))
    grid = np.geomspace(first, max(found.compute, first * 100), 40)
    for row, color in zip(found.rows, PALETTE, strict=False):
        if len(row.compute):
            points(axis, row.compute, row.best, color=color, markersize=3)
            line = row.n_params * (grid / found.compute) ** row.exponent
        else:
            line = np.asarray(
                fitted.compute_optimal(
                    grid, flops_per_param_example=flops_per_param_example, intervals=False
                ).n_params
            )
        axis.plot(grid, line, color=color, label=f"{row.name}: a = {row.exponent:.3f}")
    loglog(axis, "FLOPs", "optimal n_params")
    axis.legend(frameon=False)
    return figure
