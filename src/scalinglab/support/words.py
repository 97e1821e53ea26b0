"""Words for numbers, the same everywhere."""

from __future__ import annotations

import re

UNKNOWN = "not determined"  # printed instead of NaN
_NAN = re.compile(r"(?<![\w./=-])[-+]?nan(?![\w./])", re.IGNORECASE)


def without_nan(text: str) -> str:
    """Text with words in place of NaN.

    >>> without_nan("0.5 (95 %: nan to nan), nan_policy, banana")
    '0.5 (95 %: not determined to not determined), nan_policy, banana'
    """
    return _NAN.sub(UNKNOWN, text)


def unbroken(text: str) -> str:
    """Text with non-breaking spaces between numbers and their signs, ± and %.

    >>> unbroken("from ± 1 % to")
    'from ±\\xa01\\xa0% to'
    """
    return re.sub(r"(?<=±) | (?=%)", "\xa0", text)


def counted(number: int, word: str) -> str:
    """A number of things.

    >>> counted(1, "run"), counted(2, "run"), counted(12_000, "row")
    ('1 run', '2 runs', '12,000 rows')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"


class Share(float):
    """A fraction that is printed in percent, as its table has it.

    >>> f"{Share(0.04217):.3g}", Share(0.04217) < 0.05
    ('4.22 %', True)
    """

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return f"{format(100 * float(self), spec)} %"


def percent(share: float) -> str:
    """A share in whole percent.

    >>> percent(0.95)
    '95 %'
    """
    return f"{100 * share:.0f} %"


def two_digits(value: float) -> str:
    """A number to two digits, a large one without a power of ten.

    >>> two_digits(0.0123), two_digits(38.4), two_digits(128), two_digits(2.3e6)
    ('0.012', '38', '130', '2,300,000')
    """
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"


def count(value: float) -> str:
    """A size in short, as in 19M.

    >>> [count(v) for v in (950, 1024, 999_950, 1.9e7, 1.33e9, 2.4e12, 3e16)]
    ['950', '1,024', '1M', '19M', '1.33B', '2.4T', '3e+16']
    """
    if 1e3 <= value < 1e5 and value % 1 == 0 and float(f"{value:.3g}") != value:
        return f"{value:,.0f}"
    value = float(f"{value:.3g}")
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if size <= abs(value) < 1e15:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def flops(value: float, unit: str = " FLOPs") -> str:
    """A number of FLOPs in short.

    >>> flops(1.3e23), flops(5.88e23, unit="")
    ('1.3e23 FLOPs', '5.88e23')
    """
    return f"{value:.3g}".replace("e+", "e") + unit


def amount(cost: float, unit: str) -> str:
    """A cost with its unit.

    >>> amount(3e19, "FLOPs"), amount(5e6, "tokens")
    ('3e19 FLOPs', '5M tokens')
    """
    return flops(cost) if unit == "FLOPs" else f"{count(cost)} {unit}".rstrip()
