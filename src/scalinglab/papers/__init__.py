"""The source papers: every figure and table, made again by one command."""

from scalinglab.papers.registry import SCALES, Entry, Reproduction, Row, entries, entry
from scalinglab.papers.results import reproduce

__all__ = ["SCALES", "Entry", "Reproduction", "Row", "entries", "entry", "reproduce"]
