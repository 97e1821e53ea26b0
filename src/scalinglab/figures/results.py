"""One drawing for every result: what ``result.plot()`` puts on axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.figures import decisions
from scalinglab.figures.collapse import plain_ticks
from scalinglab.figures.data import kinds_ahead, law_curve, laws_of_error, visible
from scalinglab.figures.laws import draw_curve, draw_surface
from scalinglab.figures.style import INK, MUTED, PALETTE, band, colors, headroom, loglog, panels, points
from scalinglab.laws.extrapolation.stacking import extrapolate
from scalinglab.support.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scalinglab.laws import Law
    from scalinglab.laws.compare import Speedup
    from scalinglab.laws.extrapolation.stacking import Extrapolation
    from scalinglab.laws.learning_curves.dynamical import Dynamical
    from scalinglab.laws.optimum import Optimal
    from scalinglab.laws.planning.next_runs import NextRuns
    from scalinglab.laws.scores import ScorePrediction, Scores


def draw(result: Any, axes: Axes | None = None, **options: Any) -> Axes:
    """Draw a result on axes, or on a new figure, and return the axes."""
    for kind in type(result).__mro__:
        if kind.__name__ in DRAWINGS:
            drawn = axes if axes is not None else panels(1, 1, size=(5.2, 3.6))[1][0, 0]
            DRAWINGS[kind.__name__](drawn, result, **options)
            if drawn.get_yscale() == "log":
                plain_ticks(drawn, "y")
            return drawn
    raise BadInput(f"no drawing for {type(result).__name__}; there are: {', '.join(DRAWINGS)}")


def law(axes: Axes, fitted: Law, *, x: str = "x", y: str = "y", level: float = 0.95) -> None:
    """A law of one variable over its points, with its interval, a factor of 10 beyond them."""
    data = fitted.points
    if data.x.ndim > 1:
        raise BadInput(f"{fitted.form.name} is a law of several variables: plot its Surface instead")
    curve = law_curve(fitted, 10 * data.x.max(), level)
    name = fitted.form.name.replace("_", " ")
    draw_curve(axes, curve, visible(data.y, [curve]), color=PALETTE[0], label=name)
    points(axes, data.x, data.y, data.error, color=INK, label="measured", zorder=3)
    loglog(axes, x, y)
    axes.legend(frameon=False)


def optimal(axes: Axes, found: Optimal) -> None:
    """The best n_params and n_data against compute, with intervals."""
    compute = np.atleast_1d(found.compute)
    for name, color in (("n_params", PALETTE[0]), ("n_data", PALETTE[1])):
        value = np.atleast_1d(getattr(found, name))
        low, high = (np.atleast_1d(end) for end in getattr(found, f"{name}_interval"))
        spread = None if np.isnan(low).any() else np.array([value - low, high - value])
        points(axes, compute, value, spread, color=color, label=name)
        axes.plot(compute, value, color=color, linewidth=0.8)
    loglog(axes, "compute (FLOPs)", "optimal size")
    axes.legend(frameon=False)


def extrapolation(
    axes: Axes, found: Extrapolation, *, x: str = "x", y: str = "y", backtests: bool = False
) -> None:
    """The measured curve, its continuation with the interval, and what backtests predicted, where asked for.

    One size is a point with its interval, several are a line with a band.
    """
    tests = list(found.backtest.groupby("cut")) if backtests else []
    single = len(found.backtest) == len(tests)  # one prediction a cut is no line
    for i, (_, test) in enumerate(tests):
        if single or i % 4 == 0:
            axes.plot(test["x"], test["predicted"], color=MUTED, linewidth=0.7, markersize=4,
                      marker="x" if single else None, label="backtests" if i == 0 else None)  # fmt: skip
    if found.points is not None:
        points(axes, found.points.x, found.points.y, color=INK, label="measured", zorder=3)
    text, order = f"predicted, {percent(found.level)}", np.argsort(found.at)
    at, mean, low, high = (v[order] for v in (found.at, found.mean, found.low, found.high))
    if at.size == 1:
        points(axes, at, mean, [mean - low, high - mean], color=PALETTE[0], label=text)
    else:
        band(axes, at, low, high, color=PALETTE[0])
        axes.plot(at, mean, "-", color=PALETTE[0], label=text)
    loglog(axes, x, y)
    axes.legend(frameon=False)


def scores(axes: Axes, known: Scores, asked: ScorePrediction | None = None) -> None:
    """The score against the loss that counts most: scored runs, the curve with its band, predictions."""
    curve = max(known.curves, key=lambda each: each.evidence)
    reached = curve.loss if asked is None else np.append(curve.loss, asked.loss_mean)
    grid = np.linspace(np.nanmin(reached), np.nanmax(reached), 30)
    middle, low, high = known.band(grid)
    axes.fill_between(grid, low, high, color=PALETTE[0], alpha=0.2, linewidth=0)
    axes.plot(grid, middle, color=PALETTE[0], label="from the loss, 95 %")
    axes.axhline(known.chance, color=INK, linewidth=0.8, linestyle=":", label="chance")
    points(axes, curve.loss, known.measured(curve.share), color=INK, label="measured", zorder=3)
    if asked is not None:
        loss, value, ends = (np.ravel(v) for v in (asked.loss_mean, asked.mean, asked.low))
        spread = np.abs(np.array([ends, np.ravel(asked.high)]) - value)
        points(axes, loss, value, spread, color=PALETTE[1], fmt="*", markersize=9, zorder=4,
               label=f"predicted, {percent(asked.level)}")  # fmt: skip
    axes.set(xlabel=curve.name, ylabel=known.score)
    axes.legend(frameon=False)


def speedup(axes: Axes, found: Speedup, *, x: str = "compute", y: str = "loss") -> None:
    """Both recipes over their runs, and from A to B at one loss the factor of compute with its interval."""
    compute, faster, _ = found.law.points.x
    place = float(np.exp(np.mean(np.log(found.at))))  # of A; B reaches the loss with the factor times as much
    loss, ends = float(found.predict(place, "A")), np.array([found.low, found.factor, found.high]) * place
    for recipe, color in (("A", PALETTE[0]), ("B", PALETTE[1])):
        own = faster == (recipe == "A")
        reach = np.concatenate([compute[own], [place if recipe == "A" else ends[1]]])
        grid = np.geomspace(reach.min(), reach.max(), 80)
        for part, style in ((grid <= compute[own].max(), "-"), (grid >= compute[own].max(), "--")):
            name = recipe if style == "-" else None  # one legend entry a recipe
            axes.plot(grid[part], found.predict(grid[part], recipe), style, color=color, label=name)
        points(axes, compute[own], found.law.points.y[own], color=color, zorder=3)
    interval = f"{percent(found.level)} {found.low:.3g} … {found.high:.3g}"
    label = f"compute of B over A: {found.factor:.3g}, {interval}"
    axes.plot([place, ends[1]], [loss, loss], color=INK, linewidth=1.2)
    points(axes, ends[1], loss, xerr=[[ends[1] - ends[0]], [ends[2] - ends[1]]], color=INK, fmt="|",
           capsize=3, markersize=9, zorder=4, label=label)  # fmt: skip
    loglog(axes, x, y)
    axes.legend(frameon=False)


def next_runs(axes: Axes, found: NextRuns) -> None:
    """How the prediction's interval narrows with what is spent."""
    spent = np.concatenate([[0.0], np.cumsum(found.cost)])
    width = 100 * np.concatenate([[found.before], found.after])
    axes.plot(spent, width, "o-", color=PALETTE[0])
    axes.set(xlabel=f"spent ({found.unit})", ylabel="half-width of the prediction / %", ylim=(0, None))
    axes.set_title("worth it" if found.worth_it else "not worth it")


def dynamical(axes: Axes, found: Dynamical, *, x: str = "n_data", y: str = "smallest error") -> None:
    """The best error against size, with the measured and the predicted power law."""
    table = found.table
    points(
        axes, table["size"], table["y_optimum"], table["y_optimum_error"], color=INK, label="best of a size"
    )
    for one, style, color in zip(laws_of_error(found), ("-", "--"), (PALETTE[0], MUTED), strict=True):
        axes.plot(one.sizes, one.line, style, color=color, label=f"{one.name}: {one.exponent}")
    loglog(axes, x, y)
    axes.legend(frameon=False)


def answers(axes: Axes, found: Any) -> None:
    """The fit that the answers rest on."""
    if found.kinds:
        kinds = kinds_ahead(found)
        for kind in kinds:
            points(axes, kind.x, kind.y, color=kind.color, label=kind.name, markersize=3.5)
            spread = np.array([[kind.value - kind.low], [kind.high - kind.value]])
            points(axes, [kind.at], [kind.value], spread, color=kind.color, fmt="D", markersize=5, zorder=4)
        x = "compute (FLOPs)" if kinds[0].is_compute else found.x
        loglog(axes, x, found.y, "diamonds: ten times as much, 95 %")
        axes.legend(frameon=False, fontsize=7)
        return
    if found.fit is None:
        raise BadInput(f"these answers rest on no fit that can be drawn: {found['exponent']}")
    fit(axes, found.fit)


AHEAD = 10.0  # how many times the largest size a curve is drawn


def fit(axes: Axes, found: Any, *, level: float = 0.95) -> None:
    """A law over its runs: a surface by isoFLOP curves, a curve through them to ten times the largest."""
    if found.surface is not None:
        draw_surface(axes, found.surface, loss=found.y)
        return
    (x,), sizes = found.x, found.chosen.table.x
    if found.automatic:
        try:
            at = np.geomspace(sizes.min(), AHEAD * sizes.max(), 48)
            ahead = extrapolate(sizes, found.chosen.table.y, at=at, level=level)
        except ScalinglabError:  # what cannot be continued is drawn as far as it was measured
            pass
        else:
            extrapolation(axes, ahead, x=x, y=found.y)
            return
    complement = found.law.points.complement
    law(axes, found.law, x=x, y=f"1 - {found.y}" if complement else found.y, level=level)


def prediction(axes: Axes, found: Any) -> None:
    """The fit with what it predicts, as stars with their intervals."""
    fit(axes, found.fit, level=found.level)
    at = np.ravel(next(iter(found.at.values())))
    mean, low, high = (np.ravel(v) for v in (found.mean, found.low, found.high))
    if found.fit.law.points.complement and not found.fit.automatic:
        mean, low, high = 1 - mean, 1 - high, 1 - low
    label = f"predicted, {percent(found.level)}"
    points(axes, at, mean, np.array([mean - low, high - mean]), color=PALETTE[1], fmt="*", markersize=9,
           zorder=4, label=label)  # fmt: skip
    axes.legend(frameon=False, fontsize=7)


def explanation(axes: Axes, found: Any) -> None:
    """Measured test loss as points over the solved curve, the ratio at the end written at the line."""
    title = f"{found.subject}, {found.n_data} examples" if found.subject else f"{found.n_data} examples"
    loglog(axes, "step", "test loss", title)
    points(axes, found.steps, found.measured, color=PALETTE[0], label="measured")
    good = np.isfinite(found.theory)
    if good.any():
        ratio = f"solved from the initial kernel; measured/solved {found.ratio[good][-1]:.2f} at the end"
        axes.plot(found.steps[good], found.theory[good], color=INK, lw=1.5, label=ratio)
        if found.redrawn is not None:
            label = "descent with the kernel on other draws of the examples"
            axes.plot(found.steps, found.redrawn, "--", color=INK, lw=1.0, label=label)
        if found.trained_features is not None:
            label = f"solved with trained features, richness {found.richness:.2g} (fitted)"
            axes.plot(found.steps, found.trained_features, color=PALETTE[1], lw=1.5, label=label)
    else:
        reasons = [remark.details["reason"] for remark in found.remarks if remark.code == "no_curve"]
        why = f": {reasons[0]}" if reasons else ""
        axes.set_title(f"{title}; no solved curve{why}", fontsize="medium", wrap=True)
    headroom(axes)
    axes.legend(loc="upper right")


def predicted(axes: Axes, found: Any) -> None:
    """Predicted losses with their band, against what differs between them."""
    table = found.table()
    x = next((c for c in ("n_data", "width", "steps") if table[c].nunique() > 1), "n_data")
    table = table.sort_values(x)
    loglog(axes, x, "test loss", f"{found.level:.0%} band")
    axes.fill_between(table[x], table["low"], table["high"], color=PALETTE[0], alpha=0.2, lw=0)
    points(axes, table[x], table["mean"], color=PALETTE[0], label="predicted")
    axes.plot(table[x], table["kernel"], "--", color=INK, lw=1.0, label="descent with the kernel")
    axes.legend(loc="upper right")


def solution(axes: Axes, found: Any) -> None:
    """Test and train loss of a theory against time, and the part that more models or data leave."""
    times = np.ravel(found.times)
    loglog(axes, "time", "loss", f"N = {found.n_params:g}, P = {found.n_data:g}")
    for place, (name, label) in enumerate((("test_loss", "test loss"), ("train_loss", "train loss"))):
        axes.plot(times, np.ravel(getattr(found, name)), color=PALETTE[place], label=label)
    axes.plot(times, np.ravel(found.bias), "--", color=INK, lw=1.0, label="bias")
    axes.legend(loc="lower left")


MOST_LABELS = 8  # of a legend, which more would hide the curves behind


def table(axes: Axes, found: Any, x: str | None = None, y: str | None = None, by: str | None = None) -> None:
    """Curves, a line a run, in the colour of the setting that differs most between them.

    Args:
        x: by default the first progress column; where every run has one row, the size that differs.
        y: by default what a law would be fitted to.
        by: the setting that colours are for.
    """
    frame, y = found.frame, y or found.default_measure
    settings = [c for c in found.setting_columns if c not in found.seed_columns and frame[c].nunique() > 1]
    lines = len(frame) > len(found.runs)
    if x is None:
        x = found.progress_columns[0] if lines and found.progress_columns else next(iter(settings), None)
    x = x or "step"
    for name in (x, y):
        if name not in frame:
            raise BadInput(f"these curves have no column {name!r} to draw: give x= and y=")
    by = by or next((c for c in settings if c != x), None)
    loglog(axes, x, y)
    groups = [("", frame)] if by is None else list(frame.groupby(by, sort=True))
    for place, (shade, (value, group)) in enumerate(zip(colors(groups), groups, strict=True)):
        label = f"{by} {value:,g}" if isinstance(value, (int, float)) else str(value or "")
        parts = group.groupby("run", sort=False) if lines else [("", group.sort_values(x))]
        for run, part in enumerate(parts):
            shown = label if run == 0 and by is not None and place < MOST_LABELS else None
            axes.plot(part[1][x], part[1][y], ".-", color=shade, lw=0.9, markersize=3, label=shown)
    if by is not None:
        more = len(groups) - MOST_LABELS
        axes.legend(loc="best", title=f"and {more} more" if more > 0 else None)


DRAWINGS: dict[str, Callable[..., None]] = {
    "Predicted": predicted, "Solution": solution, "Curves": table,
    "Law": law, "Surface": draw_surface, "Optimal": optimal, "Extrapolation": extrapolation,
    "Explanation": explanation, "NextRuns": next_runs, "Dynamical": dynamical, "Answers": answers,
    "Scores": scores, "ScorePrediction": lambda axes, found: scores(axes, found.scores, found),
    "Speedup": speedup, "Fit": fit, "Prediction": prediction,
    "Hyperparameters": decisions.optima, "Mixture": decisions.left_out, "Proposal": decisions.bars,
}  # fmt: skip
