"""Fill the gallery and the page "paper vs measured" from the records under docs/measured/.

A record is what ``scalinglab reproduce KEY`` wrote: the table, and the command, version and hardware that
made it. The pages are made from these files alone, so that no number in them is typed by hand.
"""

from __future__ import annotations

import html
import json
import math
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from markdown.extensions.toc import slugify
from mkdocs.exceptions import PluginError

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
        tex = html.unescape(found["tex"])
        drawn = convert(_spaced(tex), display="block" if block else "inline")
        shown = html.unescape(re.sub("<[^>]+>", "", drawn))
        if "\\" in shown or "&" in shown:  # the converter copies what it does not know
            raise PluginError(f"latex2mathml cannot draw {tex!r}: write it with commands that it knows")
        return drawn

    pattern = r'<(span|div) class="arithmatex">(?P<open>\\\(|\\\[)(?P<tex>.*?)(\\\)|\\\])</\1>'
    return re.sub(pattern, mathml, content, flags=re.DOTALL)


def _spaced(tex: str) -> str:
    """Thin spaces around functions, as TeX sets them; the converter writes ln m as lnm."""
    functions = r"\\(ln|log|cos|sin|tan|cosh|tanh)(?![a-z])"
    tex = re.sub(functions + r"(?=\s*[A-Za-z0-9\\])", r"\\\1\\,", tex)
    return re.sub(r"(?<=[A-Za-z0-9}])\s*" + functions, r"\\,\\\1", tex)


def records() -> dict[str, list[dict[str, Any]]]:
    """The records of every paper, in the order of the papers."""
    found = {}
    for paper in TITLES:
        paths = sorted((DOCS / "measured" / paper).glob("*.json"))
        found[paper] = [json.loads(path.read_text()) for path in paths]
    return {paper: made for paper, made in found.items() if made}


def tables() -> str:
    """How often each record agrees, then every record as a table of paper against measured."""
    lines = overview()
    for paper, made in records().items():
        lines += [f"## {TITLES[paper]}", ""]
        for record in made:
            where = f"`{record['command']}` · {record['hardware']} · {record['seconds']:g} s"
            lines += [f"### {record['key']}", "", f"{_claim(record)}.", "", where, ""]
            lines += ["| quantity | paper | measured | agrees | note |", "| --- | --- | --- | --- | --- |"]
            lines += [_row(row) for row in record["table"]]
            lines.append("")
    return "\n".join(lines)


def overview() -> list[str]:
    """One line a record: how many of its quantities agree and how many do not."""
    made = [record for records_of in records().values() for record in records_of]
    verdicts = [[row.get("agrees") for row in record["table"]] for record in made]
    agree, differ = (sum(verdict.count(side) for verdict in verdicts) for side in (True, False))
    lines = [f"Of {agree + differ} quantities with a criterion {agree} agree and {differ} do not.", ""]
    lines += ["| figure or table | claim | agree | do not |", "| --- | --- | --: | --: |"]
    for record, verdict in zip(made, verdicts, strict=True):
        key = record["key"]
        anchor = slugify(key, "-")
        differing = f"**{verdict.count(False)}**" if False in verdict else "0"
        claim = _claim(record).replace("|", "\\|")
        lines.append(f"| [{key}](#{anchor}) | {claim} | {verdict.count(True)} | {differing} |")
    return [*lines, ""]


def gallery() -> str:
    """Every recorded figure with the command that makes it."""
    lines: list[str] = []
    for paper, made in records().items():
        lines += [f"## {TITLES[paper]}", ""]
        for record in made:
            name = record["key"].split("/", 1)[1]
            if (DOCS / "measured" / paper / f"{name}.png").exists():
                claim = _claim(record)
                lines += [f"### {record['key']}", "", f"{claim}. Made by `{record['command']}`.", ""]
                picture = f"measured/{paper}/{name}.png"
                lines += [f"[![{claim}]({picture})]({picture})", ""]  # a click shows it in full size
    return "\n".join(lines)


def _claim(record: dict[str, Any]) -> str:
    claim = record["claim"]
    return claim[:1].upper() + claim[1:]  # str.capitalize would write "cnn" for "CNN"


def _row(row: dict[str, Any]) -> str:
    measured = _with_error(row["measured"], row.get("error"))
    verdict = {True: "yes", False: "**no**", None: "–"}[row.get("agrees")]
    cells = (row["quantity"], _number(row["paper"]), measured, verdict, row.get("note", ""))
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _with_error(value: float | str | None, error: float | None) -> str:
    """A value to the digits that its error leaves it: 0.94 ± 0.15."""
    if error is None or not isinstance(value, int | float):
        return _number(value)
    decimals = 1 - math.floor(math.log10(error)) if 0 < error < math.inf else -1
    if 0 <= decimals <= 6:
        return f"{value:.{decimals}f} ± {error:.{decimals}f}"
    return f"{_number(value)} ± {error:.2g}"


def _number(value: float | str | None) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.4g}"
