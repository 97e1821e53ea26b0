"""Write the tables of docs/benchmarks/study.md from the numbers that `study.py` left in benchmarks/results.

    python benchmarks/study_tables.py

A table stands between two comments of the page; all else there is left as it is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/benchmarks/study.md"
RESULTS = ROOT / "benchmarks/results"

Study = dict[str, Any]


def studies() -> list[Study]:
    """All that were measured, by machine, name and day."""
    found = [json.loads(path.read_text()) for path in RESULTS.glob("study-*.json")]
    for study in found:
        study["study"] += "" if study["gpu"] else f", {study['cores']} CPU cores"
    return sorted(found, key=lambda study: (not study["gpu"], study["study"], study["date"]))


def whole(every: list[Study]) -> str:
    """A row a study: its time, and the time of its steps."""
    heads = ("study", "commit", "steps", "ms a step", "steps alone, s", "sweep, s", "ratio", "first row, s")
    rows = [heads, ("---",) * len(heads)]
    for study in every:
        first, alone = study["first"], study.get("steps_alone")
        rows.append((
            study["study"], study["commit"], f"{study['steps']:,}", _shown(study.get("ms_per_step"), 3),
            _shown(alone), _shown(first["wall"]), f"**{first['wall'] / alone:.2f}**" if alone else "",
            _shown(first.get("first_row")),
        ))  # fmt: skip
    return _table(rows)


def starts(every: list[Study]) -> str:
    """What `--dry-run` said, and how soon a second sweep of the same network wrote a row."""
    heads = ("study", "commit", "`--dry-run` says, s", "of the sweep", "and takes, s", "second start, s")
    rows = [heads, ("---",) * len(heads)]
    for study in every:
        said, second = study.get("dry_run"), study.get("second", {}).get("first_row")
        if said or second:
            itself = study.get("dry_run_itself", {}).get("wall")
            ratio = f"**{said / study['first']['wall']:.2f}**" if said else ""
            second = f"**{second:.1f}**" if second else ""
            rows.append((study["study"], study["commit"], _shown(said), ratio, _shown(itself), second))
    return _table(rows)


def _shown(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _table(rows: list[tuple[str, ...]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def page(text: str) -> str:
    """The page with its tables as the numbers are now."""
    every = studies()
    for name, table in (("whole", whole(every)), ("starts", starts(every))):
        head, _, rest = text.partition(f"<!-- table {name} -->\n")
        _, end, tail = rest.partition("<!-- end of table -->")
        assert end, f"{PAGE.name} has no place for the table {name!r}"
        text = f"{head}<!-- table {name} -->\n{table}\n{end}{tail}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
