"""The source papers: every figure, table and theorem, reproduced by one command each, judged by one rule."""

from scalinglab.papers.records import check
from scalinglab.papers.registry import SCALES, Entry, Reproduction, entries, entry
from scalinglab.papers.results import reproduce
from scalinglab.papers.verdict import Row

__all__ = ["SCALES", "Entry", "Reproduction", "Row", "check", "entries", "entry", "reproduce"]
