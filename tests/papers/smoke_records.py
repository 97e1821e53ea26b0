"""Rows of the records at scale smoke.

A test of a record says what the stored numbers mean. That the code still gives these numbers is checked by
`make records`, for every entry, and by slow tests, for an entry or more of each paper.
"""

from __future__ import annotations

import json
from functools import cache

from scalinglab.studies.records import record_file
from scalinglab.studies.verdict import Row, from_record


@cache
def _paper(name: str) -> dict:
    return json.loads(record_file(name).read_text(encoding="utf-8"))["entries"]


def recorded(key: str) -> dict[str, Row]:
    """The rows of an entry by their quantity."""
    rows = [from_record(fields) for fields in _paper(key.split("/")[0])[key]["table"]]
    assert rows
    return {row.quantity: row for row in rows}
