"""Studies of papers: every figure, table and theorem reproduced by one command, judged by one rule.

The studies themselves are packages of their own, found by an entry point (`scalinglab.support.extensions`).
"""

from scalinglab.studies.records import check
from scalinglab.studies.registry import SCALES, Entry, Reproduction, entries, entry
from scalinglab.studies.results import reproduce
from scalinglab.studies.verdict import Row

__all__ = ["SCALES", "Entry", "Reproduction", "Row", "check", "entries", "entry", "reproduce"]
