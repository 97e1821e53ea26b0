"""Results in a notebook: as HTML, and drawn on matplotlib axes.

Results do not import figures, which are above them: the package sets the function that draws (`draw_with`).
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from scalinglab.results.types import Worded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_draw: Callable[..., Any]


def draw_with(draw: Callable[..., Any]) -> None:
    """Set the function behind `NotebookResult.plot`, which is called with the result and the axes."""
    global _draw
    _draw = draw


def drawn(result: object, axes: Axes | None = None, **options: Any) -> Axes:
    """A result on `axes`, or on a figure of its own."""
    return _draw(result, axes, **options)


def as_html(summary: str, table: pd.DataFrame | None = None) -> str:
    """A result in a notebook: its table, and its summary to be unfolded."""
    words = f"<pre>{html.escape(summary)}</pre>"
    if table is None:
        return words
    shown = table.to_html(index=False, float_format=lambda v: f"{v:.4g}", border=0, na_rep="")
    return f"{shown}<details><summary>in words</summary>{words}</details>"


def card_html(lines: Sequence[str], picture: bytes | None, folded: str) -> str:
    """A decision card: its lines, the figure, and the rest to be unfolded."""
    text = "".join(f"<p style='margin:.2em 0'>{html.escape(line)}</p>" for line in lines)
    if picture is not None:
        text += (
            f'<img src="data:image/png;base64,{base64.b64encode(picture).decode()}" style="max-width:32em">'
        )
    return f"{text}<details><summary>more</summary><pre>{html.escape(folded)}</pre></details>"


def as_png(result: NotebookResult) -> bytes:
    """The drawing of a result."""
    buffer = io.BytesIO()
    figure: Any = result.plot().figure
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


class NotebookResult(Worded):
    """A result with `summary()` that notebooks show as HTML, and that `.plot()` draws."""

    def notebook_table(self) -> pd.DataFrame | None:
        """The result as a table, for the notebook: its `table()`; None where the summary is enough."""
        table = getattr(self, "table", None)
        return table() if callable(table) else None

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return as_html(self.summary(), self.notebook_table())

    def plot(self, axes: Axes | None = None, **options: Any) -> Axes:
        """Draw the result, on `axes` or on a figure of its own, and return the axes."""
        return drawn(self, axes, **options)
