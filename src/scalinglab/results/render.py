"""Findings as text, JSON and HTML.

The sentence of a finding is that of its question, in `SENTENCES`; a question without one of its own has its
values, then its reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from scalinglab.results.types import SOME_TABLE, Finding, Reason, Status


def plain(finding: Finding) -> str:
    """The values of a finding with their intervals, then its reasons."""
    parts = [f"{name} = {value}" for name, value in finding.values.items()]
    if finding.status in (Status.NOT_DETERMINED, Status.REFUSED):
        parts = [str(finding.status).capitalize()]
    reasons = "; ".join(reason.sentence(finding.names) for reason in finding.reasons)
    return f"{': '.join(filter(None, ['; '.join(parts), reasons]))}."


SENTENCES: dict[str, Callable[[Finding], str]] = {}


def sentence(finding: Finding) -> str:
    """A finding in words."""
    return SENTENCES.get(finding.question, plain)(finding)


def text(findings: Iterable[Finding], notes: Iterable[Reason] = (), table: Sequence[str] = SOME_TABLE) -> str:
    """Findings in lines, each followed by the command that shows more, then notes.

    Args:
        table: of the commands, as in `Command.line`.
    """
    lines = []
    for finding in findings:
        lines.append(sentence(finding))
        if finding.command is not None:
            lines.append(f"    {finding.command.line(table)}")
    return "\n".join([*lines, *(f"note: {note}" for note in notes)])


def document(finding: Finding, table: Sequence[str] = SOME_TABLE) -> dict[str, Any]:
    """A finding as plain values, for JSON."""
    return {
        "question": finding.question,
        "status": str(finding.status),
        "text": sentence(finding),
        "values": {name: value.to_dict() for name, value in finding.values.items()},
        "reasons": [reason.to_dict() for reason in finding.reasons],
        "facts": dict(finding.facts),
        "command": None if finding.command is None else finding.command.line(table),
    }
