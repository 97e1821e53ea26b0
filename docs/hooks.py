"""Fill the gallery and the page "paper vs measured" from the records under docs/measured/.

A record is what ``scalinglab reproduce KEY`` wrote: the table, and the command, version and hardware that
made it. The pages are made from these files alone, so that no number in them is typed by hand.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

DOCS = Path(__file__).parent
TITLES = {
    "demo": "The demonstration",
    "damico2025": "D'Amico, Bocchi, Negri 2025",
    "bahri2021": "Bahri, Dyer, Kaplan, Lee, Sharma 2021",
    "bordelon2024": "Bordelon, Atanasov, Pehlevan 2024",
    "park2019": "Park, Sohl-Dickstein, Le, Smith 2019",
    "hoffmann2022": "Hoffmann et al. 2022",
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the two placeholders where a page has them."""
    for placeholder, fill in (("<!-- tables -->", tables), ("<!-- gallery -->", gallery)):
        if placeholder in markdown:
            markdown = markdown.replace(placeholder, fill())
    return markdown


def on_page_content(content: str, **_: Any) -> str:
    """Turn formulas into MathML, which browsers draw without a script."""

    def mathml(found: re.Match[str]) -> str:
        block = found["open"] == "\\["
        return convert(html.unescape(found["tex"]), display="block" if block else "inline")

    pattern = r'<(span|div) class="arithmatex">(?P<open>\\\(|\\\[)(?P<tex>.*?)(\\\)|\\\])</\1>'
    return re.sub(pattern, mathml, content, flags=re.DOTALL)


def records() -> dict[str, list[dict[str, Any]]]:
    """The records of every paper, in the order of the papers."""
    found = {}
    for paper in TITLES:
        paths = sorted((DOCS / "measured" / paper).glob("*.json"))
        found[paper] = [json.loads(path.read_text()) for path in paths]
    return {paper: made for paper, made in found.items() if made}


def tables() -> str:
    """Every record as a table of paper against measured."""
    lines: list[str] = []
    for paper, made in records().items():
        lines += [f"## {TITLES[paper]}", ""]
        for record in made:
            where = f"`{record['command']}` · {record['hardware']} · {record['seconds']:g} s"
            lines += [f"### {record['key']}", "", f"{record['claim'].capitalize()}.", "", where, ""]
            lines += ["| quantity | paper | measured | agrees | note |", "| --- | --- | --- | --- | --- |"]
            lines += [_row(row) for row in record["table"]]
            lines.append("")
    return "\n".join(lines)


def gallery() -> str:
    """Every recorded figure with the command that makes it."""
    lines: list[str] = []
    for paper, made in records().items():
        lines += [f"## {TITLES[paper]}", ""]
        for record in made:
            name = record["key"].split("/", 1)[1]
            if (DOCS / "measured" / paper / f"{name}.png").exists():
                claim = record["claim"].capitalize()
                lines += [f"### {record['key']}", "", f"{claim}. Made by `{record['command']}`.", ""]
                lines += [f"![{claim}](measured/{paper}/{name}.png)", ""]
    return "\n".join(lines)


def _row(row: dict[str, Any]) -> str:
    measured = _number(row["measured"]) + (f" ± {row['error']:.2g}" if row.get("error") is not None else "")
    verdict = {True: "yes", False: "**no**", None: "–"}[row.get("agrees")]
    cells = (row["quantity"], _number(row["paper"]), measured, verdict, row.get("note", ""))
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _number(value: float | str | None) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.4g}"
