"""Fill the gallery and the page "paper vs measured" from the records under docs/measured/.

A record is what ``scalinglab reproduce KEY`` wrote: the table, and the command, commit, date and hardware
that made it. The pages come from these files alone, so that no number in them is typed by hand, and every
verdict is worked out anew from the numbers by the rule in scalinglab.studies.verdict.
"""

from __future__ import annotations

import html
import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from markdown.extensions.toc import slugify
from mkdocs.exceptions import PluginError

from scalinglab.cli.registry import reference
from scalinglab.studies.results import COLUMNS, cells
from scalinglab.studies.verdict import DISAGREES, VERDICTS, Row, from_record

DOCS = Path(__file__).parent
TITLES = {
    "demo": "The demonstration",
    "damico2025": "D'Amico, Bocchi, Negri 2025",
    "bahri2021": "Bahri, Dyer, Kaplan, Lee, Sharma 2021",
    "bordelon2024": "Bordelon, Atanasov, Pehlevan 2024",
    "park2019": "Park, Sohl-Dickstein, Le, Smith 2019",
    "hoffmann2022": "Hoffmann et al. 2022",
    "theory": "Solvable models beyond the source papers",
}


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Replace the placeholders where a page has them."""
    fills = {"<!-- tables -->": tables, "<!-- gallery -->": gallery, "<!-- names -->": names}
    fills["<!-- commands -->"] = reference
    for placeholder, fill in fills.items():
        if placeholder in markdown:
            markdown = markdown.replace(placeholder, fill())
    up = "../" * (page.file.src_uri.count("/") if page else 0)  # from a page in a folder
    return re.sub(r"<!-- record ([\w./-]+) -->", lambda found: one_record(found[1], up), markdown)


def one_record(key: str, up: str = "") -> str:
    """One record on a page of its own: its figure, its table, and the command that made it."""
    path = DOCS / "measured" / f"{key}.json"
    if not path.exists():
        raise PluginError(f"no record {key}: docs/measured/{key}.json does not exist")
    record = json.loads(path.read_text())
    picture = f"measured/{key}.png"
    lines = [f"![{_claim(record)}]({up}{picture})", ""] if (DOCS / picture).exists() else []
    lines += [_made_by(record), "", "| " + " | ".join((*COLUMNS, "note")) + " |"]
    lines += ["| --- " * (len(COLUMNS) + 1) + "|", *map(_row, rows(record)), ""]
    return "\n".join(lines)


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


PACKAGES = (
    "scalinglab", "scalinglab.theory.perceptron", "scalinglab.theory.dmft", "scalinglab.theory.one_pass",
    "scalinglab.simulate.perceptron",
    "scalinglab.simulate.random_features", "scalinglab.nets", "scalinglab.data", "scalinglab.measure",
    "scalinglab.train", "scalinglab.sweep", "scalinglab.laws", "scalinglab.report", "scalinglab.studies",
)  # fmt: skip


def names() -> str:
    """Every public function and class of the packages, with the first line of its docstring."""
    lines = []
    for package in PACKAGES:
        module = importlib.import_module(package)
        lines += [f"## {package}", "", "| name | what it is |", "| --- | --- |"]
        for name in sorted(module.__all__):
            found = getattr(module, name)
            if inspect.isfunction(found) or inspect.isclass(found):
                first = (inspect.getdoc(found) or "").split("\n")[0].replace("|", "\\|")
                lines.append(f"| `{name}` | {first} |")
        lines.append("")
    return "\n".join(lines)


def records() -> dict[str, list[dict[str, Any]]]:
    """The records of every paper, in the order of the papers."""
    found = {}
    for paper in TITLES:
        paths = sorted((DOCS / "measured" / paper).glob("*.json"))
        found[paper] = [json.loads(path.read_text()) for path in paths]
    return {paper: made for paper, made in found.items() if made}


def tables() -> str:
    """How the verdicts fall out, then every record as a table of paper against measured."""
    lines = overview()
    for paper, made in records().items():
        lines += [f"## {TITLES[paper]}", ""]
        for record in made:
            lines += [f"### {record['key']}", "", f"{_claim(record)}.", "", _made_by(record), ""]
            if record.get("judged_in"):
                anchor = slugify(record["judged_in"], "-")
                lines += [f"Its numbers are judged in [{record['judged_in']}](#{anchor}).", ""]
                continue
            lines += ["| " + " | ".join((*COLUMNS, "note")) + " |", "| --- " * (len(COLUMNS) + 1) + "|"]
            lines += [_row(row) for row in rows(record)]
            lines.append("")
    return "\n".join(lines)


def _made_by(record: dict[str, Any]) -> str:
    when = f"commit {record['commit']}, {record['date']}"
    # older records do not count what an earlier entry of the same process had computed
    took = f" · {record['seconds']:g} s" if record["seconds"] else ""
    line = f"`{record['command']}` · {when} · {record['hardware']}{took}"
    return line + (f"\n\n{record['missing']}" if record.get("missing") else "")


def rows(record: dict[str, Any]) -> list[Row]:
    """The rows of a record."""
    return [from_record(fields) for fields in record["table"]]


def overview() -> list[str]:
    """How many rows have which verdict, in all and in every record."""
    made = [record for records_of in records().values() for record in records_of]
    judged = [row for record in made for row in rows(record) if row.verdict is not None]
    lines = ["| compared with | " + " | ".join(VERDICTS) + " |", "| --- | --: | --: | --: |"]
    parts = {
        "a number that the paper prints": [row for row in judged if row.paper is not None],
        "what its statement or the theory gives": [row for row in judged if row.paper is None],
        "all": judged,
    }
    lines += [f"| {name} | " + " | ".join(map(str, _counts(part))) + " |" for name, part in parts.items()]
    absent = sum(row.measured is None for row in judged)
    reported = sum(row.verdict is None for record in made for row in rows(record))
    lines += [
        "",
        f"Of those that cannot be told, {absent} have no number of ours: the curves are not public, or the "
        "runs give none whose error counts, as the row's note says. "
        f"{reported} further numbers are reported without a verdict: the paper says nothing to compare with.",
    ]
    lines += ["", "| figure or table | claim | " + " | ".join(VERDICTS) + " |"]
    lines += ["| --- | --- | --: | --: | --: |"]
    for record in made:
        anchor = slugify(record["key"], "-")
        counts = _counts(rows(record))
        shown = ["" if record.get("judged_in") else str(count) for count in counts]
        shown[1] = f"**{shown[1]}**" if counts[1] else shown[1]
        claim = _claim(record).replace("|", "\\|")
        lines.append(f"| [{record['key']}](#{anchor}) | {claim} | " + " | ".join(shown) + " |")
    return [*lines, ""]


def _counts(some: list[Row]) -> list[int]:
    verdicts = [row.verdict for row in some]
    return [verdicts.count(verdict) for verdict in VERDICTS]


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


def _row(row: Row) -> str:
    shown = list(cells(row))
    if row.verdict == DISAGREES:
        shown[-1] = f"**{DISAGREES}**"
    note = row.note
    if row.relation == "=" and row.resolution is not None:
        note = f"{note}; a difference of {row.resolution:.2g} would matter".removeprefix("; ")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (*shown, note)) + " |"
