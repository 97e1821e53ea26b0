"""Reproduce every entry at scale smoke and compare with the records that come with the study.

The records are ``smoke/<paper>.json`` in the package of the study: one record for each entry that runs at
scale smoke, as `scalinglab.studies.results.record` writes it. Random numbers are seeded, so that a number
differs from its record by rounding, by what a processor's own sums change, or because the code has changed. A
row matches where the measured numbers differ by at most a millionth or by three combined standard errors, and
everything else is the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scalinglab.errors import BadInput
from scalinglab.studies.registry import RECORDS, Entry, entries, package_of, papers
from scalinglab.studies.results import record, run
from scalinglab.studies.verdict import Row, from_record
from scalinglab.support.whole_files import write_text_whole

SCALE = "smoke"
SAME = ("paper", "paper_stderr", "relation", "n")  # of a row and its record
ROUNDING, SIGMAS = 1e-6, 3.0


@dataclass(frozen=True)
class Checked:
    """One entry, reproduced and compared with its record.

    Attributes:
        key: the entry.
        rows: how many rows it has now.
        seconds: that it took.
        differences: one sentence for each difference; none where it matches.
    """

    key: str
    rows: int
    seconds: float
    differences: tuple[str, ...]


def check(paper: str | None = None, write: bool = False, records: Path | None = None) -> Iterator[Checked]:
    """Reproduce every entry that runs at scale smoke, one after another, and compare it with its record.

    Args:
        paper: only this one.
        write: replace the records by what is found now.
        records: the folder that holds them; default: in the package of the study.
    """
    known_papers = papers()
    if paper is not None and paper not in known_papers:
        raise BadInput(f"no paper {paper!r}; choose from: {', '.join(known_papers)}")
    for name in known_papers if paper is None else [paper]:
        path = record_file(name) if records is None else records / f"{name}.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        fresh = {}
        for entry in runnable(name):
            made, seconds = run(entry.key, SCALE)
            fresh[entry.key] = record(made, entry.key, SCALE, seconds)
            found = () if write else differences(known.get(entry.key), made.table)
            yield Checked(entry.key, len(made.table), seconds, found)
        if write and fresh:
            write_text_whole(path, json.dumps(fresh, indent=1) + "\n")


def record_file(paper: str) -> Path:
    """The file of a paper's records at scale smoke."""
    return package_of(paper) / RECORDS / f"{paper}.json"


def runnable(paper: str) -> list[Entry]:
    """The entries of a paper that are built and run at scale smoke."""
    return [e for e in entries().values() if e.paper == paper and e.built and SCALE in e.scales]


def differences(known: dict[str, Any] | None, table: tuple[Row, ...]) -> tuple[str, ...]:
    """How a table differs from its record, in sentences."""
    if known is None:
        return ("there is no record of it: scalinglab reproduce check --write writes one",)
    rows = {row.quantity: row for row in map(from_record, known["table"])}
    fresh = {row.quantity: row for row in table}
    found = [f"{name!r} is in the record only" for name in rows if name not in fresh]
    found += [f"{name!r} is not in the record" for name in fresh if name not in rows]
    for name in fresh.keys() & rows.keys():
        found += _changes(name, rows[name], fresh[name])
    return tuple(found)


def _changes(name: str, old: Row, new: Row) -> list[str]:
    found = [
        f"{name!r}: {field} was {getattr(old, field)} and is {getattr(new, field)}"
        for field in SAME
        if not _equal(getattr(old, field), getattr(new, field))
    ]
    if not _near(old, new):
        found.append(
            f"{name!r}: measured was {old.measured} ± {old.stderr} and is {new.measured} ± {new.stderr}"
        )
    return found


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9)
    return bool(a == b)


def _near(old: Row, new: Row) -> bool:
    if old.measured is None or new.measured is None:
        return old.measured is new.measured
    spread = math.hypot(old.stderr or 0.0, new.stderr or 0.0)
    return abs(old.measured - new.measured) <= max(ROUNDING * abs(old.measured), SIGMAS * spread)
