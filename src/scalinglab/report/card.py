"""The decision card that opens a report: the lines of `answer`, one figure, a slider, and the rest folded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.answers import Answers, answer
from scalinglab.answers.fitted import Chosen, choose
from scalinglab.curves import Curves
from scalinglab.errors import MixedRows, ScalinglabError
from scalinglab.figures.data import kinds_ahead, law_curve
from scalinglab.figures.style import PALETTE
from scalinglab.laws.extrapolation.stacking import Extrapolation, extrapolate
from scalinglab.report.page import Plot, Section, Slider
from scalinglab.report.plots import band, canvas, finish, label, legend_above, line, points
from scalinglab.report.surface_numbers import AHEAD, FARTHEST, STEPS, frontier, spent
from scalinglab.results.findings import by_kind
from scalinglab.results.types import Reason, reason_of

TITLE = "The answer"
ROUNDED = 1 + 1e-9  # of a ratio of computes, which rounding may have moved


def answered(curves: Curves) -> Answers | Reason:
    """What the table answers, or why it is refused."""
    try:
        return answer(curves)
    except ScalinglabError as error:
        return reason_of(error)


def section(curves: Curves, found: Answers | Reason, best: pd.DataFrame | Reason | None = None) -> Section:
    """The card of these curves.

    Args:
        found: what they answer.
        best: the `frontier` of their surface; computed where it is not given.
    """
    if isinstance(found, Reason):
        plot = measured(curves)
        return Section(TITLE, [f"No answer: {found}."], [plot] if plot else [])
    folded = [*(f.text for f in found.details), *(f"Note: {note}." for note in found.notes)]
    if found.kinds:
        lines = [f.sentence for f in found.card if not f.values]
        table = ("Ten times as much, by kind, with 95 % intervals", by_kind(found.card).frame())
        return Section(TITLE, plots=[of_kinds(found)], card=lines, rows=table, folded=folded)
    plot, slider = figure(found, best)
    if plot is None:
        plot = measured(curves)
    lines = [f.sentence for f in found.card]
    return Section(TITLE, plots=[plot] if plot else [], card=lines, folded=folded, slider=slider)


def of_kinds(found: Answers) -> Plot:
    """The runs of every kind, and what ten times as much gives it."""
    kinds = kinds_ahead(found)
    drawn = canvas("compute" if kinds[0].is_compute else found.x, found.y)
    for kind in kinds:
        points(drawn, kind.x, kind.y, name=kind.name, color=kind.color)
        above, below = kind.high - kind.value, kind.value - kind.low
        drawn.add_scatter(
            x=[kind.at], y=[kind.value],
            error_y={"array": [above], "arrayminus": [below], "symmetric": False},
            mode="markers", marker={"symbol": "diamond", "size": 9, "color": kind.color},
            name=f"{kind.name}, ten times as much", showlegend=False,
        )  # fmt: skip
    caption = (
        f"{label(found.y)} of every run; diamonds: predictions at ten times the largest of each kind, with "
        "95 % intervals."
    )
    return Plot(finish(drawn), caption[0].upper() + caption[1:])


def measured(curves: Curves) -> Plot | None:
    """The points of a table without a fit; None where nothing can be drawn."""
    kinds = [*_of_each_kind(curves)]
    if not kinds:
        return None
    _, first = kinds[0]
    drawn = canvas(first.x[0], first.y, log_y=all((chosen.table.y > 0).all() for _, chosen in kinds))
    for k, (kind, chosen) in enumerate(kinds):
        table = chosen.table
        points(drawn, np.atleast_2d(table.x)[0], table.y, name=kind, color=PALETTE[k % len(PALETTE)])
    return Plot(finish(legend_above(drawn)), f"{label(first.y)} of every run.".capitalize())


def _of_each_kind(curves: Curves, kind: str = "runs") -> Iterator[tuple[str, Chosen]]:
    """The points of every kind of rows that are not fitted as one."""
    try:
        yield kind, choose(curves)
    except MixedRows as mixed:
        for each in mixed.kinds:
            yield from _of_each_kind(curves.select(**{mixed.column: each}), str(each))
    except ScalinglabError:
        return


def figure(found: Answers, best: pd.DataFrame | Reason | None = None) -> tuple[Plot | None, Slider | None]:
    """The figure of the card, and its slider; None where there is no fit."""
    if found.fit is None:
        return None, None
    if found.surface is None:
        return curve_figure(found)
    return surface_figure(found, frontier(found.surface) if best is None else best)


# --- one size --------------------------------------------------------------------------------------------


def curve_figure(found: Answers) -> tuple[Plot | None, Slider | None]:
    """Runs and the continued curve."""
    assert found.fit is not None
    table, unit = found.fit.chosen.table, found.fit.chosen.units[found.x]
    drawn, law = canvas(found.x, found.y), found.fit.law
    points(drawn, table.x, table.y, name="runs")
    if not (law.points.complement or law.diagnosis.bend.located):
        curve = law_curve(law, table.x.max(), 0.95)
        line(drawn, curve.x, curve.y, law.form.equation)
    if found.extrapolation is None:  # the card says why there is no prediction
        return Plot(finish(legend_above(drawn)), f"{label(found.y)} of every run.".capitalize()), None
    called = found.fit.chosen.called
    largest = table.x.max()
    inside = np.union1d(np.geomspace(table.x.min(), AHEAD * largest, STEPS), largest)
    beyond = largest * np.geomspace(AHEAD, FARTHEST, STEPS // 3)[1:]
    try:  # the slider goes on where the points determine that
        ahead = extrapolate(table.x, table.y, at=[*inside, *beyond])
    except ScalinglabError:
        ahead = extrapolate(table.x, table.y, at=inside)
    later = (ahead.at >= largest) & (ahead.at <= AHEAD * ROUNDED * largest)
    band(drawn, ahead.at[later], ahead.low[later], ahead.high[later], PALETTE[1], "95 % of further runs")
    line(drawn, ahead.at[later], ahead.mean[later], "prediction", PALETTE[1], dash="dash")
    slider = Slider(
        f"{label(found.x)}", unit, [float(v) for v in ahead.at],
        {called: ends(ahead.mean, ahead.low, ahead.high)}, {called: found.fit.chosen.unit},
        float(largest),
    )  # fmt: skip
    return Plot(finish(legend_above(drawn)), curve_caption(found, ahead)), slider


def curve_caption(found: Answers, ahead: Extrapolation) -> str:
    """What is true of this figure: where the band applies, and how many of the largest runs lie in it."""
    assert found.fit is not None
    table = found.fit.chosen.table
    largest = table.x.max()
    place = int(np.argmin(np.abs(ahead.at - largest)))
    runs = table.y[table.x == largest]
    inside = int(np.sum((ahead.low[place] <= runs) & (runs <= ahead.high[place])))
    of = f"{inside} of the {len(runs)} runs" if len(runs) > 1 else ("the run" if inside else "no run")
    text = (
        f"{label(found.y)}, its trend and a 95 % interval for a further run; at the largest size it "
        f"contains {of}."
    )
    return text[0].upper() + text[1:]


# --- parameters and data -----------------------------------------------------------------------------------


def surface_figure(found: Answers, frontier: pd.DataFrame | Reason) -> tuple[Plot | None, Slider | None]:
    """Runs against compute, and the best loss that a compute gives."""
    assert found.surface is not None
    assert found.fit is not None
    surface, total = found.surface, spent(found.surface)
    drawn = canvas("compute", found.y)
    points(drawn, total, surface.law.points.y, name="runs", color="#9aa1ad")
    if isinstance(frontier, Reason):
        return Plot(finish(legend_above(drawn)), f"{label(found.y)} of every run.".capitalize()), None
    places = frontier[frontier["times_below"] <= ROUNDED]
    near = places[places["times_beyond"] <= AHEAD * ROUNDED]
    compute, loss = near["compute"], near["loss_median"]
    band(drawn, compute, near["loss_low"], near["loss_high"], PALETTE[1])
    inside, beyond = near["times_beyond"] <= ROUNDED, near["times_beyond"] >= 1 / ROUNDED  # without a gap
    line(drawn, compute[inside], loss[inside], f"best {label(found.y)}", PALETTE[1])
    line(drawn, compute[beyond], loss[beyond], "beyond the runs", PALETTE[1], dash="dash")
    caption = f"{label(found.y)} of every run, and the lowest at each compute with its 95 % interval."
    return Plot(finish(legend_above(drawn)), caption[0].upper() + caption[1:]), _budget(found, places, total)


def _budget(found: Answers, best: pd.DataFrame, total: np.ndarray) -> Slider:
    assert found.fit is not None
    units, y = found.fit.chosen.units, found.fit.chosen.called
    values = {
        called: ends(*(best[f"{name}_{part}"] for part in ("median", "low", "high")))
        for name, called in (("loss", y), *((name, units[name]) for name in ("n_params", "n_data")))
    }
    return Slider(
        "compute", "FLOPs", [float(v) for v in best["compute"]], values,
        {y: found.fit.chosen.unit, units["n_params"]: "count", units["n_data"]: "count"},
        float(total.max()),
    )  # fmt: skip


def ends(middle: Any, low: Any, high: Any) -> list[list[float]]:
    """(3, places) a median and its interval to four digits; an open end is as far as the other, in logs."""
    middle, low, high = (np.asarray(v, float) for v in (middle, low, high))
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (
            np.where(np.isfinite(end) & (end > 0), end, middle**2 / other)
            for end, other in ((low, high), (high, low))
        )
    return [[float(f"{v:.4g}") for v in row] for row in (middle, low, high)]
