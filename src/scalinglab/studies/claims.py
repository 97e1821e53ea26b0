"""One verdict a claim: the rows of its figures, combined by a rule that is written down with the claim.

The claims of a paper are ``claims/<paper>.toml`` in the package of the study. One claim is

    [[claim]]
    says = "the exponent is 1"        # the sentence, as the paper means it
    entries = ["fig1-top-left"]       # the figures or tables whose records measure it
    rows = 'α_D'                      # a regular expression: the rows that count; all by default
    rule = "all"                      # how they are combined
    cause = "…"                       # why it disagrees, where that is known
    tested = "…"                      # the test of that cause: a row, a record, or the numbers of a check
    check = "…"                       # the function of benchmarks/causes.py that finds those numbers
    found = {…}                       # what it found, which `tested` quotes as {name} or {name:.0%}

``[[reported]]`` names rows that no claim counts, and why (``others = true``: all of its entries). An entry
that neither names claims its own sentence, of all its rows. Let m be the number of rows that count. A row

- *holds* where its 95 % interval lies in what the claim allows: within the smallest difference that would
  matter of the reference, within a range, on one side;
- *fails* where its interval at level 1 − 0.05/m (Bonferroni's, the first step of Holm's procedure) leaves out
  what the claim allows, and the row does not hold. One true claim in twenty has such a row by chance, however
  many rows it has.

The rules, of which one goes with the words of the claim:

- ``all`` (every, always, identical): agrees where every row holds, disagrees where one fails;
- ``mean`` (one number, measured in m independent ways): agrees where the mean of the differences to the
  references, with weights 1/σ² and an error that is enlarged by √(χ²/(m − 1)) where the rows scatter more
  than their errors, holds; disagrees where it fails as one row, or where a row fails;
- ``most`` (typically, mostly): agrees where more than half of the rows hold, disagrees where more than half
  fail, each at level 0.95.

It *cannot tell* otherwise, and is *not measured* without a record. Numbers without a reference are never
counted.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.studies.registry import CLAIMS, entries, extension_of
from scalinglab.studies.verdict import AGREES, CANNOT_TELL, DISAGREES, LEVEL, Row, from_record

RULES = ("all", "mean", "most")
NOT_MEASURED = "not measured"
OUTCOMES = (AGREES, DISAGREES, CANNOT_TELL, NOT_MEASURED)
NOT_TESTED = "cause not tested"


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and which rows of which entries decide it by which rule; see the module."""

    says: str
    entries: tuple[str, ...]
    rows: str = ""
    rule: str = "all"
    cause: str = ""
    tested: str = ""
    check: str = ""
    found: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise BadInput(f"{self.says}: rule {self.rule!r}: choose from {', '.join(RULES)}")
        if self.tested and not self.cause:
            raise BadInput(f"{self.says}: a test without the cause that it tests")
        if bool(self.check) != bool(self.found):
            raise BadInput(f"{self.says}: name the check and what it found, both or neither")

    def counts(self, row: Row) -> bool:
        """Whether a row of one of its entries is one of those that decide it."""
        return row.reference is not None and re.search(self.rows, row.quantity) is not None


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict.

    Attributes:
        verdict: one of `OUTCOMES`.
        rows: those that count, with the keys of their entries.
        holding, failing: how many of them hold and fail.
    """

    claim: Claim
    verdict: str
    rows: tuple[tuple[str, Row], ...]
    holding: int
    failing: int

    @property
    def cause(self) -> str:
        """Why it disagrees, and how that was tested; empty where it does not."""
        if self.verdict != DISAGREES:
            return ""
        if not self.claim.tested:
            return f"{self.claim.cause}; {NOT_TESTED}".removeprefix("; ")
        tested = self.claim.tested.format(**self.claim.found) if self.claim.check else self.claim.tested
        command = f"; python benchmarks/causes.py {self.claim.check}" if self.claim.check else ""
        return f"{self.claim.cause} (tested: {tested}{command})"


# --- the rule ---------------------------------------------------------------------------------------------


def fails(row: Row, level: float = LEVEL) -> bool:
    """Whether the interval at this level leaves out all that the row's claim allows, by more than matters."""
    return row.leaves_out(level) and not row.holds


def judge(claim: Claim, counted: Sequence[tuple[str, Row]]) -> Judged:
    """The verdict on a claim from the rows that count, each with the key of its entry."""
    rows = [row for _, row in counted]
    level = LEVEL if claim.rule == "most" else 1 - (1 - LEVEL) / max(len(rows), 1)
    holding, failing = sum(row.holds for row in rows), sum(fails(row, level) for row in rows)
    agree, disagree = holding == len(rows), failing > 0
    if claim.rule == "most":
        agree, disagree = holding > len(rows) / 2, failing > len(rows) / 2
    elif claim.rule == "mean" and (pooled := mean_row(rows)) is not None:
        agree, disagree = pooled.holds, disagree or fails(pooled)
    verdict = DISAGREES if disagree else AGREES if agree else CANNOT_TELL
    return Judged(claim, verdict if rows else NOT_MEASURED, tuple(counted), holding, failing)


def mean_row(rows: Sequence[Row]) -> Row | None:
    """One row for the mean difference to the references; None where fewer than two can be averaged."""
    known = [row for row in rows if row.measured is not None and row.stderr and row.n != 1]
    if len(known) < 2 or len({row.relation for row in known}) > 1:
        return None
    differences = np.array([(row.measured or 0.0) - (row.reference or 0.0) for row in known])
    weights = np.array([np.hypot(row.stderr or 0.0, row.paper_stderr or 0.0) ** -2.0 for row in known])
    centre = float(weights @ differences / weights.sum())
    scatter = float(weights @ (differences - centre) ** 2 / (len(known) - 1))
    drawn = [row.n for row in known if row.n is not None]
    return Row(
        f"mean of {len(known)} differences", centre, float(np.sqrt(max(1.0, scatter) / weights.sum())),
        sum(drawn) - len(drawn) + 1 if drawn else None, expected=0.0, relation=known[0].relation,
        resolution=min(row.matters for row in known),
    )  # fmt: skip


# --- the claims of a paper --------------------------------------------------------------------------------


def claims(paper: str) -> tuple[Claim, ...]:
    """Claims of the paper's file, and one for each judged entry that none of them names."""
    own = {key: one for key, one in entries().items() if one.paper == paper}
    given = [_checked(fields, own, paper) for fields in _file(paper).get("claim", [])]
    named = {key for claim in (*given, *reported(paper)) for key in claim.entries}
    rest = [Claim(one.claim, (key,)) for key, one in own.items() if key not in named and not one.judged_in]
    order = {key: place for place, key in enumerate(own)}
    return tuple(sorted((*given, *rest), key=lambda claim: order[claim.entries[0]]))


def reported(paper: str) -> tuple[Claim, ...]:
    """Rows with a reference that no claim counts, and why."""
    own = {key: one for key, one in entries().items() if one.paper == paper}
    return tuple(_checked(_others(fields, paper), own, paper) for fields in _file(paper).get("reported", []))


def _others(fields: Mapping[str, Any], paper: str) -> Mapping[str, Any]:
    """``others = true``: the rows of its entries that no claim on them counts, in place of ``rows``."""
    if not fields.get("others"):
        return fields
    shared = (c for c in _file(paper)["claim"] if {*c["entries"]} & {*fields["entries"]})
    counted = "|".join(f"(?:{claim['rows']})" for claim in shared)
    return {name: fields[name] for name in fields if name != "others"} | {"rows": f"^(?!.*(?:{counted}))"}


def _checked(fields: Mapping[str, Any], own: Mapping[str, Any], paper: str) -> Claim:
    keys = tuple(f"{paper}/{name}" for name in fields.get("entries", ()))
    if not keys or (own.keys() | set(keys)) != own.keys():
        raise BadInput(
            f"claim {fields.get('says')!r} of {paper}: entries {keys}: name some that the paper has"
        )
    return Claim(**{**fields, "entries": keys})


def _file(paper: str) -> dict[str, Any]:
    path = Path(str(extension_of(paper).__file__)).parent / CLAIMS / f"{paper}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def records(paper: str) -> dict[str, dict[str, Any]]:
    """Records of larger scales, by the keys of the entries, from the study's folder `MEASURED`."""
    folder = getattr(extension_of(paper), "MEASURED", None)
    paths = sorted((folder / paper).glob("*.json")) if folder else []
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    return {record["key"]: record for record in found}


def judged(paper: str) -> tuple[Judged, ...]:
    """Every claim of a paper with the verdict that its records give."""
    measured = {key: [from_record(fields) for fields in one["table"]] for key, one in records(paper).items()}
    apart = reported(paper)

    def counted(claim: Claim) -> list[tuple[str, Row]]:
        rows = [(key, row) for key in claim.entries for row in measured.get(key, ()) if claim.counts(row)]
        return [(key, row) for key, row in rows if not any(key in a.entries and a.counts(row) for a in apart)]

    return tuple(judge(claim, counted(claim)) for claim in claims(paper))
