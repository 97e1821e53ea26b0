"""Interactive plots for the report: log-log axes, theory as lines, measurement as points."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import plotly.graph_objects as go

from scalinglab.curves import Curves
from scalinglab.figures.style import INK, PALETTE, axis_label, colors
from scalinglab.report.numbers import also_varied
from scalinglab.support.words import count

STEPS = ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 7))  # ticks in a decade of a log axis, the fewest first
SIZES = r"parameters|training (examples|tokens)"  # axes with ticks such as 20M
DASHES = ("solid", "dash", "dot", "dashdot")
DASH_NAMES = ("solid", "dashed", "dotted", "dash-dotted")


_data_unit: ContextVar[str] = ContextVar("data_unit", default="examples")


@contextmanager
def counting(unit: str) -> Iterator[None]:
    """Inside, the data of the page are counted in this unit: examples, or tokens."""
    before = _data_unit.set(unit)
    try:
        yield
    finally:
        _data_unit.reset(before)


def data_unit() -> str:
    """What the page's data are counted in."""
    return _data_unit.get()


def label(column: str) -> str:
    """The words for a column on an axis of the page."""
    return axis_label(column, data_unit())


def worded(column: str, value: Any) -> str:
    """A value of a setting in words: 20M of parameters, 0.0003 of a learning rate."""
    if not isinstance(value, (int, float, np.number)) or isinstance(value, bool):
        return str(value)
    return count(float(value)) if column in ("n_params", "n_data") and value >= 1e5 else f"{value:,.6g}"


def canvas(x: str, y: str, *, log_x: bool = True, log_y: bool = True) -> go.Figure:
    """An empty figure with its axes."""
    figure = go.Figure()
    axis = {"showline": True, "linecolor": INK, "gridcolor": "#e5e7eb", "ticks": "outside", "zeroline": False}
    log = {"type": "log"}
    figure.update_layout(
        template="none",
        font={"family": "system-ui, DejaVu Sans, sans-serif", "size": 12, "color": INK},
        margin={"l": 70, "r": 15, "t": 32, "b": 60},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": "#9aa1ad", "activecolor": INK},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",  # the page's own colour, light or dark
        xaxis={**axis, **(log if log_x else {}), "title": {"text": label(x)}},
        yaxis={
            **axis,
            **(log if log_y else {}),
            "title": {"text": label(y), "standoff": 8},
            "automargin": True,
        },
        legend={"font": {"size": 11}, "bgcolor": "rgba(255,255,255,0.7)"},
        hovermode="closest",
    )
    return figure


def finish(figure: go.Figure) -> go.Figure:
    """Put ticks at 1, 2, 5 on log axes that span little, at powers of ten on those that span much."""
    for letter in "xy":
        axis = figure.layout[f"{letter}axis"]
        values = [np.asarray(trace[letter], float) for trace in figure.data]
        known = np.concatenate([v[np.isfinite(v) & (v > 0)] for v in values]) if values else np.array([])
        if axis.type == "log" and known.size:
            ticks = log_ticks(known.min(), known.max())
            write = count if re.search(SIZES, axis.title.text or "") else tick_text
            axis.update(tickvals=ticks, ticktext=[write(t) for t in ticks])
    return figure


def legend_above(figure: go.Figure) -> go.Figure:
    """Put a legend of few long entries above the plot instead of beside it."""
    figure.update_layout(
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        margin={"t": 52, "r": 40},  # the buttons stand at the right, clear of the legend and the curves
        modebar={"orientation": "v"},
    )
    return figure


def log_ticks(low: float, high: float) -> list[float]:
    """Where a logarithmic axis has its ticks: three or more between its ends, where they can be."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    span = math.log10(high / low)
    skip = max(1, math.ceil((last - first) / 8))
    for steps in STEPS[0 if span >= 2.5 else 1 if span >= 1 else 2 :]:
        ticks = [step * 10.0**k for k in range(first, last + 1, skip) for step in steps]
        if sum(low <= tick <= high for tick in ticks) >= 3:
            return ticks
    # a fraction of a decade: even steps of 1, 2 or 5 that give three to eight labels
    rough = (high - low) / 4 or 0.25 * high
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((s * power for s in (1, 2, 5, 10) if s * power >= 0.6 * rough), rough)
    return [round(step * k, 12) for k in range(math.ceil(low / step), math.floor(high / step) + 1)] or [low]


def tick_text(value: float) -> str:
    """A tick in figures, a large or small one as a power of ten."""
    if 1e-3 <= value < 1e5:
        return f"{value:,.10g}"
    if value <= 0:
        return f"{value:g}"
    power = math.floor(math.log10(value) + 1e-9)
    digit = float(f"{value / 10.0**power:.3g}")
    return ("" if digit == 1 else f"{digit:g}·") + f"10<sup>{power}</sup>"


def by_size(curves: Curves, x: str, y: str, by: str, mode: str = "lines+markers") -> go.Figure:
    """A line for each run, coloured in the order of the setting `by`; one-standard-error bands.

    Where another setting varies too, each of its values has a dash of its own.
    """
    frame = curves.frame
    others = also_varied(curves, by)
    kinds = _kinds(frame, others)
    positive = bool((frame[[x, y]].dropna() > 0).to_numpy().all())
    figure = canvas(x, y, log_x=bool((frame[x].dropna() > 0).all()), log_y=positive)
    values = sorted(frame[by].dropna().unique())
    for value, color in zip(values, shades(values), strict=True):
        size = frame[frame[by] == value].dropna(subset=[x, y])
        name = worded(by, value)
        parts = [(kinds.index(_kind(part, others)), part) for _, part in size.groupby("run", sort=False)]
        for first, (kind, part) in enumerate(sorted(parts, key=lambda each: each[0])):
            stderr = part.get(f"{y}_stderr")
            if stderr is not None and stderr.notna().any():
                _band(figure, part[x], part[y] - stderr, part[y] + stderr, color, name)
            dash = DASHES[kind % len(DASHES)]
            hover = [name, *(f"{label(c)} {v}" for c, v in zip(others, kinds[kind], strict=True))]
            line(
                figure, part[x], part[y], name, color, mode=mode, dash=dash, group=name,
                hover=", ".join(hover), legend=first == 0,
            )  # fmt: skip
    figure.update_layout(legend={"title": {"text": label(by)}}, showlegend=len(values) > 1)
    return finish(figure)


def styles_in_words(curves: Curves, by: str) -> str:
    """Which dash means what, as a sentence; empty where one setting alone varies."""
    others = also_varied(curves, by)
    if not others:
        return ""
    kinds = _kinds(curves.frame, others)
    named = ", ".join(label(c) for c in others)
    if len(kinds) > len(DASHES):
        return f"Lines of one colour differ in {named}: hover over them."
    meanings = (f"{' / '.join(kind)} {DASH_NAMES[i]}" for i, kind in enumerate(kinds))
    return f"Lines of one colour differ in {named}: {', '.join(meanings)}."


def _kinds(frame: pd.DataFrame, columns: list[str]) -> list[tuple[str, ...]]:
    """The combinations of values in these columns, in order; the empty one where there are no columns."""
    if not columns:
        return [()]
    kinds = frame[columns].drop_duplicates().sort_values(columns)
    return [_kind(kinds.iloc[[i]], columns) for i in range(len(kinds))]


def _kind(rows: pd.DataFrame, columns: list[str]) -> tuple[str, ...]:
    """The values of the first row, as text, in which missing values are equal."""
    return tuple(worded(c, rows[c].iloc[0]) for c in columns)


def line(
    figure: go.Figure,
    x: Any,
    y: Any,
    name: str,
    color: str = INK,
    *,
    mode: str = "lines",
    dash: str = "solid",
    group: str | None = None,
    hover: str | None = None,
    legend: bool = True,
) -> None:
    """Add a line, with markers where measured; `hover` is the mouse-over text (default: the name)."""
    figure.add_scatter(
        x=np.asarray(x, float),
        y=np.asarray(y, float),
        name=name,
        legendgroup=group,
        showlegend=legend,
        mode=mode,
        line={"color": color, "width": 1.8, "dash": dash},
        marker={"size": 4.5, "color": color},
        hovertemplate="%{x:.4g}, %{y:.4g}" + f"<extra>{hover or name}</extra>",
    )


def points(
    figure: go.Figure, x: Any, y: Any, error: Any = None, name: str = "measured", color: str = PALETTE[0]
) -> None:
    """Add measured points with one-standard-error bars."""
    bars = None if error is None else {"array": np.nan_to_num(np.asarray(error, float)), "width": 0}
    figure.add_scatter(
        x=np.asarray(x, float),
        y=np.asarray(y, float),
        error_y=bars,
        name=name,
        mode="markers",
        marker={"size": 7, "color": color, "line": {"color": "white", "width": 0.8}},
        hovertemplate="%{x:.4g}, %{y:.4g}" + f"<extra>{name}</extra>",
    )


def band(
    figure: go.Figure, x: Any, low: Any, high: Any, color: str = INK, name: str = "95 % interval"
) -> None:
    """Add a shaded interval with an entry in the legend."""
    _band(figure, x, low, high, color, name, legend=True)


def _band(
    figure: go.Figure, x: Any, low: Any, high: Any, color: str, name: str, legend: bool = False
) -> None:
    x, low, high = (np.asarray(v, float) for v in (x, low, high))
    tiny = np.nanmin(high[high > 0]) * 1e-3 if np.any(high > 0) else 0.0  # a log axis shows no zero
    figure.add_scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([high, np.maximum(low, tiny)[::-1]]),
        fill="toself",
        fillcolor=_translucent(color),
        line={"width": 0},
        mode="lines",
        name=name,
        legendgroup=name,
        showlegend=legend,
        hoverinfo="skip",
    )


def shades(values: Any) -> list[str]:
    """A colour for each of the ordered values, as the page writes colours."""
    return [str(mpl.colors.to_hex(color)) for color in colors(values)]


def _translucent(color: str) -> str:
    red, green, blue = (int(255 * c) for c in mpl.colors.to_rgb(color))
    return f"rgba({red},{green},{blue},0.16)"
