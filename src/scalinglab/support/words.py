"""Words for numbers, the same everywhere."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """A number of things.

    >>> counted(1, "run"), counted(2, "run"), counted(12_000, "row")
    ('1 run', '2 runs', '12,000 rows')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"
