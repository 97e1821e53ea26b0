"""Studies of papers: every figure, table and theorem reproduced by one command, judged by one rule.

What a study is written with is imported from here. The studies themselves are packages of their own, found by
an entry point (`scalinglab.support.extensions`).
"""

from scalinglab.studies import claims, trained, verdict
from scalinglab.studies.draws import as_frame, by_draw, draw_means, draw_power, loglog_figure
from scalinglab.studies.records import check
from scalinglab.studies.registry import (
    SCALES,
    UP_TO_GPU,
    UP_TO_PAPER,
    Entry,
    Reproduction,
    entries,
    entry,
    listed,
)
from scalinglab.studies.results import reproduce
from scalinglab.studies.trained import shared
from scalinglab.studies.verdict import NUMERICAL, Number, Row, jackknife, mean, rounded

__all__ = [
    "NUMERICAL", "SCALES", "UP_TO_GPU", "UP_TO_PAPER", "Entry", "Number", "Reproduction", "Row",
    "as_frame", "by_draw", "check", "claims", "draw_means", "draw_power", "entries", "entry", "jackknife",
    "listed", "loglog_figure", "mean", "reproduce", "rounded", "shared", "trained", "verdict",
]  # fmt: skip
