"""The page: sections of text, figures and tables in one HTML file that needs nothing else.

Plotly's script is inlined once. A content policy in the page forbids every request to the network, so a
report can be mailed, archived and opened years later.
"""

from __future__ import annotations

import gzip
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab._version import __version__
from scalinglab.errors import BadInput, require
from scalinglab.support.whole_files import write_text_whole
from scalinglab.support.words import unbroken

if TYPE_CHECKING:
    import pandas as pd

# digits of packed text: printable letters that mean nothing in HTML or in a JavaScript string
ALPHABET = "".join(letter for letter in map(chr, range(33, 127)) if letter not in "<>&\"'\\`")[:85]


@dataclass(frozen=True)
class Plot:
    """An interactive figure with the words that say what it shows."""

    figure: Any  # plotly.graph_objects.Figure
    caption: str


@dataclass(frozen=True)
class Slider:
    """A slider along a size or a compute, with values and their intervals, interpolated in the page.

    Attributes:
        name, unit: of what the slider moves along.
        at: (places,) its range, evenly in the logarithm or not.
        bands: by name, the median and the two ends of its interval, (3, places).
        kinds: how each is written: "count" for a size, "%" for a fraction in percent.
        start: where it begins.
    """

    name: str
    unit: str
    at: Sequence[float]
    bands: Mapping[str, Sequence[Sequence[float]]]
    kinds: Mapping[str, str]
    start: float


@dataclass(frozen=True)
class Section:
    """A part of the page: a card or prose (one string a paragraph), then figures, a slider, then tables.

    Attributes:
        card: the lines of a decision card, before everything else: what each is about, which may be empty,
            and what it says.
        rows: a caption and a table that belong to the card, before the figures.
        folded: paragraphs to be unfolded.
        slider: below the figures.
        explore: rows of a table whose axes, colours and rows a reader picks.
        tables: captions and tables; the numbers behind a table of words, for its download, may follow.
    """

    title: str
    paragraphs: Sequence[str] = ()
    plots: Sequence[Plot] = ()
    tables: Sequence[tuple[str, pd.DataFrame] | tuple[str, pd.DataFrame, pd.DataFrame]] = field(default=())
    card: Sequence[tuple[str, str]] = ()
    rows: tuple[str, pd.DataFrame] | None = None
    folded: Sequence[str] = ()
    slider: Slider | None = None
    explore: Mapping[str, Any] | None = None

    @property
    def anchor(self) -> str:
        """The name by which a link finds the section."""
        return "".join(c if c.isalnum() else "-" for c in self.title.lower()).strip("-")


def render(title: str, subtitle: str, sections: Sequence[Section], refresh: float | None = None) -> str:
    """The whole page as text.

    Args:
        refresh: seconds after which a live page loads itself again; None for a page that stands still.
    """
    template = files("scalinglab.report").joinpath("page.html").read_text(encoding="utf-8")
    packed: dict[str, list[Any]] = {kind: [] for kind in ("figures", "sliders", "explorers", "tables")}
    body = "\n".join(_section(section, packed) for section in sections)
    # a space between links, or the line could not break on a narrow page
    links = " ".join(f'<a href="#{s.anchor}">{html.escape(s.title)}</a>' for s in sections[1:])
    parts = {
        "title": html.escape(title),
        "subtitle": html.escape(subtitle),
        "version": __version__,
        "links": links,
        "body": body,
        "refresh": f'<meta http-equiv="refresh" content="{refresh:g}">' if refresh else "",
        "packed": _packed(json.dumps(packed)),
        "plotly": _packed_plotly(),
        "alphabet": json.dumps(ALPHABET),
    }
    # in one pass: a run may be called {{plotly}}
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], template)


def write(page: str, path: str | Path) -> Path:
    """Write the page whole or not at all."""
    path = Path(path)
    if path.is_dir():
        raise BadInput(f"{path} is a folder: name a file, such as {path / 'report.html'}")
    return write_text_whole(path, page)


def _section(section: Section, packed: dict[str, list[Any]]) -> str:
    """The section as HTML; what the page's script reads of it is added to `packed`."""
    parts = [f'<section id="{section.anchor}"><h2>{html.escape(section.title)}</h2>']
    if section.card:
        bold = (f"<b>{html.escape(subject)}:</b> " if subject else "" for subject, _ in section.card)
        texts = (_prose(statement) for _, statement in section.card)
        lines = "".join(f"<li>{start}{text}</li>" for start, text in zip(bold, texts, strict=True))
        parts.append(f'<ul class="card">{lines}</ul>')
    parts += [f"<p>{_prose(text)}</p>" for text in section.paragraphs]
    if section.rows:
        parts.append(_with_download(*section.rows, packed=packed))
    if section.plots:
        parts.append('<div class="plots">')
        for plot in section.plots:
            parts.append(
                f'<figure><div class="plot" id="plot-{len(packed["figures"])}" role="img" '
                f'aria-label="{html.escape(plot.caption, quote=True)}"></div>'
                f"<figcaption>{_prose(plot.caption)}</figcaption></figure>"
            )
            packed["figures"].append(json.loads(plot.figure.to_json()))
        parts.append("</div>")
    if section.slider is not None:
        parts.append('<div class="slider"></div>')
        packed["sliders"].append(vars(section.slider))
    if section.explore is not None:
        parts.append('<div class="explore"></div>')
        packed["explorers"].append(section.explore)
    if section.folded:
        text = "".join(f"<p>{_prose(each)}</p>" for each in section.folded)
        parts.append(f"<details><summary>What this rests on</summary>{text}</details>")
    for caption, table, *numbers in section.tables:
        parts.append(_with_download(caption, table, *numbers, packed=packed))
    return "\n".join([*parts, "</section>"])


def _with_download(caption: str, *tables: pd.DataFrame, packed: dict[str, list[Any]]) -> str:
    """The first table; the last is what its download has."""
    packed["tables"].append(tables[-1].to_csv(index=False))
    return f'<div class="table">{_table(caption, tables[0])}</div>'


def _prose(text: str) -> str:
    return html.escape(unbroken(text))


@cache
def _packed_plotly() -> str:
    return _packed(require("plotly.offline", None, "The report").get_plotlyjs())


def _packed(text: str) -> str:
    """A text compressed (gzip), five letters for four bytes, as the page unpacks it: Plotly takes 1.8 MB."""
    packed = gzip.compress(text.encode(), 9, mtime=0)
    whole = len(packed).to_bytes(4) + packed + bytes(-len(packed) % 4)
    words = np.frombuffer(whole, ">u4").astype(np.uint64)
    digits = words[:, None] // np.uint64(85) ** np.arange(4, -1, -1, dtype=np.uint64) % np.uint64(85)
    return np.frombuffer(ALPHABET.encode(), np.uint8)[digits.ravel().astype(int)].tobytes().decode()


def _table(caption: str, table: pd.DataFrame) -> str:
    head = "".join(f"<th>{html.escape(str(c))}</th>" for c in table.columns)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(cell(v))}</td>" for v in row) + "</tr>"
        for row in table.itertuples(index=False, name=None)
    )
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def cell(value: Any) -> str:
    """A table cell formatted for display."""
    if isinstance(value, (int, np.integer)) and abs(int(value)) >= 1000:
        return f"{int(value):,}"
    if isinstance(value, float):
        if value.is_integer() and 1e3 <= abs(value) < 1e15:
            return f"{value:,.0f}"  # sizes, which tables hold as floats
        return "–" if value != value else f"{value:.4g}"
    return "–" if value is None else str(value)
