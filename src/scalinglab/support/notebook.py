"""How results show themselves in a notebook: as HTML, and drawn on matplotlib axes.

A result class inherits `Shown`. Drawings are looked up by the name of the class in
`scalinglab.figures.results`, which knows the results; the results know nothing of matplotlib.
"""

from __future__ import annotations

import html
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

DRAWINGS = "scalinglab.figures.results"


class Shown:
    """A result with `summary()` that notebooks show as HTML, and that `.plot()` draws."""

    def summary(self) -> str:
        """The result in lines."""
        raise NotImplementedError

    def notebook_table(self) -> pd.DataFrame | None:
        """The result as a table, for the notebook; None where the summary says it all."""
        return None

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        table = self.notebook_table()
        said = f"<pre>{html.escape(self.summary())}</pre>"
        if table is None:
            return said
        shown = table.to_html(index=False, float_format=lambda v: f"{v:.4g}", border=0)
        return f"{shown}<details><summary>in words</summary>{said}</details>"

    def plot(self, axes: Axes | None = None, **options: Any) -> Axes:
        """Draw the result, on `axes` or on a figure of its own, and return the axes."""
        drawing: Axes = import_module(DRAWINGS).draw(self, axes, **options)
        return drawing
