"""The source papers of scalinglab: every figure and table, a folder a paper; ``theory`` and ``field``.

``smoke/`` holds the records at scale smoke, with which `scalinglab reproduce check` compares; ``claims/``
what the papers say and which rows decide it. Records of larger scales come with the documentation, not with
an installed package.
"""

from pathlib import Path
from typing import Any

from scalinglab_papers import bahri2021, bordelon2024, damico2025, demo, field, hoffmann2022, park2019, theory

ENTRIES = (
    *demo.ENTRIES,
    *damico2025.ENTRIES,
    *bahri2021.ENTRIES,
    *bordelon2024.ENTRIES,
    *park2019.ENTRIES,
    *hoffmann2022.ENTRIES,
    *theory.ENTRIES,
    *field.ENTRIES,
)

MEASURED = Path(__file__).parents[2] / "docs" / "measured"


def __getattr__(name: str) -> Any:
    if name == "TABLES":  # published curves: loaded when asked for, with pandas
        from scalinglab_papers.damico2025.published import TABLES

        return TABLES
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
