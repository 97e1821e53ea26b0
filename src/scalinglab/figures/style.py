"""One look for every figure: theory as lines, measurement as points with error bars, log axes.

Use the functions here instead of `matplotlib.pyplot`: figures are made without a display, without global
state, and the same on every machine. Whatever is drawn on the axes that `panels` gives has this look,
whenever it is drawn, and the user's own matplotlib settings stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import LogFormatterMathtext, LogLocator, MaxNLocator, NullFormatter

from scalinglab.support.words import count

INK, MUTED, GRID = "#1c1c28", "#6b7280", "#e5e7eb"
# distinct, readable in print and for colour-blind readers
PALETTE = ("#2456a6", "#d1495b", "#2a9d8f", "#e09f3e", "#7b4fa3", "#5a8f29", "#0f8fb3", "#8c564b")
SEQUENTIAL = "viridis"

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.title_fontsize": 8,
    "figure.dpi": 120,
    "savefig.bbox": "tight",
    "pdf.fonttype": 42,
    "svg.hashsalt": "scalinglab",
}


LABELS = {  # of columns; of others their names are words
    "train_error": "training error",
    "train_loss": "training loss",
    "norm": "norm (spectral complexity)",
    "n_params": "parameters",
    "compute": "compute (FLOPs)",
    "normalized_noise_scale": "normalized noise scale ḡ / loss⁻¹",
    "noise_scale": "noise scale g",
    "widening_factor": "widening factor w",
}


def axis_label(column: str, unit: str = "examples") -> str:
    """The words for a column on an axis; `unit`: what data are counted in."""
    data = {"n_data": f"training {unit}", "examples": unit}  # `examples`: what a run has seen
    return {**LABELS, **data}.get(column, column.replace("_", " "))


def _in_style(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def styled(*args: Any, **kwargs: Any) -> Any:
        with mpl.rc_context(STYLE):
            return method(*args, **kwargs)

    return styled


class Panel(Axes):
    """Axes in the style. Matplotlib reads its settings when an artist is made, so every maker gets them."""


class Sheet(Figure):
    """A figure in the style, also when it is drawn and saved."""


def _makers(*classes: type) -> dict[str, Callable[..., Any]]:
    """The public methods that a class of Matplotlib defines itself, but for getters."""
    found = {name: value for cls in classes for name, value in vars(cls).items() if isfunction(value)}
    return {name: value for name, value in found.items() if not name.startswith(("_", "get_"))}


for _name, _method in _makers(Axes).items():
    setattr(Panel, _name, _in_style(_method))
for _name in ("set_xlabel", "set_ylabel"):  # of Axes' base class
    setattr(Panel, _name, _in_style(getattr(Axes, _name)))
for _name, _method in _makers(FigureBase, Figure).items():
    setattr(Sheet, _name, _in_style(_method))


def panels(
    rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (4.2, 3.2), **kwargs: Any
) -> tuple[Figure, np.ndarray]:
    """A figure with a grid of axes, (rows, columns), each of `size` inches.

    Draw on the axes as on any others; what is drawn gets the style.

    >>> figure, axes = panels(1, 2)
    >>> (line,) = axes[0, 0].plot([1, 10], [1, 0.1])
    >>> line.get_linewidth()
    1.6
    """
    with mpl.rc_context(STYLE):
        figure = Sheet(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, subplot_kw={"axes_class": Panel}, **kwargs)
    return figure, axes


def panels_for(count: int, across: int, *, size: tuple[float, float]) -> tuple[Figure, np.ndarray]:
    """A figure with `count` axes, (count,), at most `across` in a row."""
    figure, axes = panels(-(-count // across), min(across, count), size=size)
    for spare in axes.ravel()[count:]:
        spare.set_axis_off()
    return figure, axes.ravel()[:count]


SHORT = 4.0  # ratio of its ends below which a log axis has evenly spaced ticks


class PlainTicks(LogLocator):
    """Ticks of a log axis: powers of ten, or even steps where the axis is short."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """The places of the ticks."""
        if vmin > 0 and vmax < SHORT * vmin:
            return MaxNLocator(5).tick_values(vmin, vmax)
        return super().tick_values(vmin, vmax)


def sized(low: float, high: float) -> bool:
    """Whether ticks of a log axis are sizes such as 50M: large numbers over less than a factor of 30."""
    return low >= 1e5 and high < min(30 * low, 1e14)


def is_plain(low: float, high: float) -> bool:
    """Whether ticks of a log axis are plain numbers (0.02, 300), not powers of ten."""
    return low >= 1e-3 and high < 1e5


class PlainNumbers(LogFormatterMathtext):
    """Labels of a log axis, all of one kind: plain numbers, sizes, or powers of ten where it reaches further.

    Args:
        minor: for ticks between powers of ten, which are labelled where few powers are in view.
        every: label every tick, as of a locator that has few.
    """

    def __init__(self, *, minor: bool = False, every: bool = False) -> None:
        super().__init__()
        self.minor, self.every = minor, every

    def __call__(self, x: float, pos: int | None = None) -> str:
        low, high = sorted(self.axis.get_view_interval()) if self.axis is not None else (0.1, 1.0)
        short = low > 0 and high < SHORT * low
        if short and self.minor:
            return ""
        if not (short or self.every) and not super().__call__(x, pos):
            return ""
        if is_plain(low, high):
            return f"{x:g}"
        return count(x) if sized(low, high) else power_of_ten(x)


class SparseNumbers(PlainNumbers):
    """Labels at 2 and 5 between powers of ten, never side by side, on an axis short enough for them."""

    def __init__(self) -> None:
        super().__init__(every=True)

    def __call__(self, x: float, pos: int | None = None) -> str:
        low, high = sorted(self.axis.get_view_interval()) if self.axis is not None else (0.1, 1.0)
        digit = round(x / 10 ** np.floor(np.log10(x)))
        return super().__call__(x, pos) if digit in (2, 5) and high < 30 * low else ""


def power_of_ten(value: float) -> str:
    """A positive number as mathematical text.

    >>> power_of_ten(1e5), power_of_ten(2e-4)
    ('$10^{5}$', '$2\\\\times10^{-4}$')
    """
    digits, power = f"{value:.3e}".split("e")
    factor = f"{float(digits):g}"
    ten = f"10^{{{int(power)}}}"
    return f"${ten}$" if factor == "1" else f"${factor}\\times{ten}$"


def loglog(axis: Axes, x: str, y: str, title: str = "") -> Axes:
    """Log-log axes with their labels."""
    log_x(axis, yscale="log", xlabel=x, ylabel=y)
    axis.set_title(title)
    axis.yaxis.set_major_locator(PlainTicks())
    axis.yaxis.set_major_formatter(PlainNumbers())
    axis.yaxis.set_minor_formatter(PlainNumbers(minor=True))
    return axis


def log_x(axis: Axes, **properties: Any) -> None:
    """A log x axis, and other properties of the axes."""
    axis.set(xscale="log", **properties)
    axis.xaxis.set_major_formatter(PlainNumbers())
    axis.xaxis.set_minor_formatter(SparseNumbers())


def sparse(axis: Any) -> None:
    """Labels of a log axis at 1, 2 and 5 times powers of ten, or at 1 and 3 where these would overlap."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 60 * low else (1.0, 3.0)))
    axis.set_major_formatter(PlainNumbers(every=True))
    axis.set_minor_formatter(NullFormatter())


def legend(axis: Axes, **kwargs: Any) -> None:
    """A small legend without a frame, on axes of any style."""
    axis.legend(**{"frameon": False, "fontsize": 8, "title_fontsize": 8, **kwargs})


def legend_below(axis: Axes, **kwargs: Any) -> None:
    """A legend under the axes, one line an entry, which leaves all of the panel to the curves."""
    legend(axis, **{"loc": "upper left", "bbox_to_anchor": (0.0, -0.2), "borderaxespad": 0.0, **kwargs})


def headroom(axis: Axes, share: float = 0.25) -> None:
    """Keep the upper share of log axes free, at most 0.4, for a legend that no curve runs through."""
    share = min(share, 0.4)
    low, high = axis.get_ylim()
    axis.set_ylim(low, high * (high / low) ** (share / (1 - share)))


def colors(values: Any) -> list[Any]:
    """A colour for each of the ordered values (sizes, say), from one sequential map."""
    count = len(values)
    return [mpl.colormaps[SEQUENTIAL](0.1 + 0.8 * i / max(count - 1, 1)) for i in range(count)]


def points(axis: Axes, x: Any, y: Any, error: Any = None, **kwargs: Any) -> None:
    """Measured points with one-standard-error bars."""
    options = {
        "fmt": "o",
        "capsize": 0,
        "elinewidth": 1.0,
        "markeredgecolor": "white",
        "markeredgewidth": 0.4,
    }
    axis.errorbar(x, y, yerr=error, **{**options, **kwargs})


def hollow(color: Any) -> dict[str, Any]:
    """Options of `points` for points that are excluded from the fit."""
    return {"color": color, "markerfacecolor": "white", "markeredgecolor": color, "markeredgewidth": 1.0}


def band(axis: Axes, x: Any, low: Any, high: Any, **kwargs: Any) -> None:
    """A shaded interval."""
    axis.fill_between(x, low, high, **{"alpha": 0.2, "linewidth": 0, **kwargs})


def through_middle(x: Any, y: Any, exponent: float, at: Any = None) -> np.ndarray:
    """The power law of that exponent through the middle of the points, in logs; at x where `at` is not given.

    >>> through_middle([1.0, 100.0], [8.0, 2.0], -0.5, at=[10.0, 1000.0]).round(6).tolist()
    [4.0, 0.4]
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    middle, height = np.exp(np.log(x).mean()), np.exp(np.log(y).mean())
    return np.asarray(height * (np.asarray(x if at is None else at, float) / middle) ** exponent)


def slope(axis: Axes, x: float, y: float, text: str, **kwargs: Any) -> None:
    """Write a slope at its line."""
    offset = {"xytext": (4, 4), "textcoords": "offset points", "fontsize": 8, "color": INK}
    axis.annotate(text, (x, y), **{**offset, **kwargs})
