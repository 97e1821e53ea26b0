"""Fill the gallery and the page "paper vs measured" from the records under docs/measured/.

A record is what ``scalinglab reproduce KEY`` wrote: the table, and the command, commit, date and hardware
that made it. The pages come from these files alone, so that no number in them is typed by hand, and every
verdict is worked out anew from the numbers by the rules in scalinglab.studies.claims and .verdict.
"""

from __future__ import annotations

import html
import importlib
import inspect
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from markdown.extensions.toc import slugify
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from PIL import Image

from scalinglab.cli import app  # noqa: F401  # registers the commands
from scalinglab.cli.registry import reference
from scalinglab.studies.claims import NOT_TESTED, OUTCOMES, Judged, judged, reported
from scalinglab.studies.claims import records as measured
from scalinglab.studies.results import COLUMNS, cells
from scalinglab.studies.verdict import DISAGREES, Row, from_record

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
import notebooks  # noqa: E402  beside this file

THUMBNAIL = 420  # pixels, drawn half as wide
TITLES = {
    "demo": "The demonstration",
    "damico2025": "D'Amico, Bocchi, Negri 2025",
    "bahri2021": "Bahri, Dyer, Kaplan, Lee, Sharma 2021",
    "bordelon2024": "Bordelon, Atanasov, Pehlevan 2024",
    "park2019": "Park, Sohl-Dickstein, Le, Smith 2019",
    "hoffmann2022": "Hoffmann et al. 2022",
    "theory": "Solvable models beyond the source papers",
    "field": "Decide before you train, judged on published runs",
}
SOURCES = ("damico2025", "bahri2021", "bordelon2024", "park2019", "hoffmann2022")


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


def tables() -> str:
    """How the verdicts fall out, then a table of claims for each paper with its records folded under it."""
    found = {paper: judged(paper) for paper in TITLES}
    lines = overview(found)
    for paper, claims in found.items():
        lines += [f"## {TITLES[paper]}", "", "| | claim | verdict | rows that hold | why it disagrees |"]
        lines += ["| --: | --- | --- | --- | --- |"]
        records = measured(paper)
        lines += [_claim_line(number, one, set(records)) for number, one in enumerate(claims, start=1)]
        lines += ["", *(_fold(record, paper, claims) for record in records.values()), ""]
    return "\n".join(lines)


def _claim_line(number: int, one: Judged, recorded: set[str]) -> str:
    """A line of the table; an entry without a record has nothing to be linked to."""
    names = {key: key.partition("/")[2] for key in one.claim.entries}
    figures = ", ".join(
        f"[{name}](#{slugify(key, '-')})" if key in recorded else name for key, name in names.items()
    )
    verdict = f"**{one.verdict}**" if one.verdict == DISAGREES else one.verdict
    share = f"{one.holding} of {len(one.rows)}" + (f", {one.failing} fail" if one.failing else "")
    cells_of = (
        str(number),
        f"{one.claim.says} ({figures})",
        verdict,
        f"{share} ({one.claim.rule})",
        one.cause,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells_of) + " |"


def _fold(record: dict[str, Any], paper: str, claims: tuple[Judged, ...]) -> str:
    """A record as a folded table; its last column is the number of the claim that a row decides."""
    key, decides = record["key"], {}
    for number, one in enumerate(claims, start=1):
        decides |= {row.quantity: str(number) for of, row in one.rows if of == key}
    for one in reported(paper):
        if key in one.entries:
            decides |= {row.quantity: one.says for row in rows(record) if one.counts(row)}
    head = "".join(f"<th>{html.escape(name)}</th>" for name in (*COLUMNS, "note", "claim"))
    lines = [(*_cells(row), decides.get(row.quantity, "–")) for row in rows(record)]
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in lines
    )
    summary = f"{html.escape(key)}: {html.escape(_claim(record))}"
    made_by = "</p><p>".join(html.escape(line.replace("`", "")) for line in _made_by(record).split("\n\n"))
    if record.get("judged_in"):
        body_or_link = f"<p>Its numbers are judged in {record['judged_in']}.</p>"
    else:
        body_or_link = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    # the anchor is inside, so that a link to it unfolds the record
    inside = f'<p id="{slugify(key, "-")}">{made_by}</p>{body_or_link}'
    return f"<details><summary>{summary}</summary>{inside}</details>"


def _made_by(record: dict[str, Any]) -> str:
    when = f"commit {record['commit']}, {record['date']}"
    # older records do not count what an earlier entry of the same process had computed
    took = f" · {record['seconds']:g} s" if record["seconds"] else ""
    line = f"`{record['command']}` · {when} · {record['hardware']}{took}"
    return line + (f"\n\n{record['missing']}" if record.get("missing") else "")


def rows(record: dict[str, Any]) -> list[Row]:
    """The rows of a record."""
    return [from_record(fields) for fields in record["table"]]


def overview(found: dict[str, tuple[Judged, ...]]) -> list[str]:
    """How many claims of each paper have which verdict, and how many rows are behind them."""
    lines = ["| paper | claims | " + " | ".join(OUTCOMES) + " | disagrees, cause not tested | rows |"]
    lines += ["| --- " + "| --: " * (len(OUTCOMES) + 3) + "|"]
    parts = {TITLES[paper]: claims for paper, claims in found.items()}
    parts["the source papers"] = tuple(one for paper in SOURCES for one in found[paper])
    for name, claims in parts.items():
        verdicts = [one.verdict for one in claims]
        untested = sum(one.cause.endswith(NOT_TESTED) for one in claims)
        counts = (len(claims), *map(verdicts.count, OUTCOMES), untested, sum(len(one.rows) for one in claims))
        lines.append(f"| {name} | " + " | ".join(map(str, counts)) + " |")
    return [*lines, ""]


def gallery() -> str:
    """A thumbnail of every recorded figure, with its claim and the command that makes it."""
    lines: list[str] = []
    for paper, title in TITLES.items():
        lines += [f"## {title}", "", '<div class="thumbnails">']
        for record in measured(paper).values():
            name = record["key"].split("/", 1)[1]
            if (DOCS / "measured" / paper / f"{name}.png").exists():
                claim, command = html.escape(_claim(record)), html.escape(record["command"])
                picture = f"measured/{paper}/{name}.png"
                lines += [
                    f'<figure><a href="../{picture}" title="{command}"><img src="../{_thumbnail(picture)}" '
                    f'alt="{claim}" loading="lazy"></a>'
                    f"<figcaption><b>{name}</b> {claim}</figcaption></figure>"
                ]
        lines += ["</div>", ""]
    return "\n".join(lines)


def _thumbnail(picture: str) -> str:
    return picture.replace("measured/", "thumbnails/").replace(".png", ".jpg")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of executed notebooks and the thumbnails of the gallery."""
    paths = sorted(notebooks.PLACE.glob("*.ipynb"))
    for path, notebook in zip(paths, notebooks.executed(paths), strict=True):
        text, pictures = notebooks.page(notebook, path.stem)
        made = {f"notebooks/{path.stem}.md": text, **{f"notebooks/{name}": p for name, p in pictures.items()}}
        for name, content in made.items():
            files.append(File.generated(config, name, content=content))
    for path in sorted((DOCS / "measured").rglob("*.png")):
        with Image.open(path) as picture, io.BytesIO() as small:
            picture.convert("RGB").resize(_size(picture)).save(small, "JPEG", quality=80)
            name = _thumbnail(path.relative_to(DOCS).as_posix())
            files.append(File.generated(config, name, content=small.getvalue()))
    return files


def _size(picture: Image.Image) -> tuple[int, int]:
    return THUMBNAIL, max(round(picture.height * THUMBNAIL / picture.width), 1)


def _claim(record: dict[str, Any]) -> str:
    claim = record["claim"]
    return claim[:1].upper() + claim[1:]  # str.capitalize would write "cnn" for "CNN"


def _row(row: Row) -> str:
    shown = [f"**{cell}**" if cell == DISAGREES else cell for cell in _cells(row)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in shown) + " |"


def _cells(row: Row) -> tuple[str, ...]:
    """A row as text, by `COLUMNS`, and its note."""
    note = row.note
    if row.relation == "=" and row.resolution is not None:
        note = f"{note}; a difference of {row.resolution:.2g} would matter".removeprefix("; ")
    return (*cells(row), note)
