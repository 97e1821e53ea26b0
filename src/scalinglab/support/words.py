"""Words for numbers, the same everywhere."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """A number of things.

    >>> counted(1, "run"), counted(2, "run"), counted(12_000, "row")
    ('1 run', '2 runs', '12,000 rows')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def two_digits(value: float) -> str:
    """A number to two digits, a large one without a power of ten.

    >>> two_digits(0.0123), two_digits(38.4), two_digits(128), two_digits(2.3e6)
    ('0.012', '38', '130', '2,300,000')
    """
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"
