"""Numbers as they are written in tables: 19M, 1.3B, 36.4%, 1,000, 2e9.

A column of text becomes a column of numbers where every value in it reads as one; otherwise it stays text.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

POWERS = {"": 0, "k": 3, "m": 6, "b": 9, "g": 9, "t": 12}  # of ten, by suffix
_NUMBER = re.compile(
    r"(?P<sign>[-+−]?)\s*"
    r"(?P<digits>(?:\d{1,3}(?:[,'_ \u00a0\u202f]\d{3})+|\d+)(?:\.\d*)?|\.\d+)"
    r"(?P<power>e[-+]?\d{1,4})?"
    r"\s*(?P<suffix>[kmbgt]?)\s*(?P<percent>%?)",
    re.IGNORECASE,
)
_DECIMAL_COMMA = re.compile(r"[-+−]?\d+,\d+(e[-+]?\d{1,4})?\s*[kmbgt]?\s*%?", re.IGNORECASE)
_GROUPS = re.compile(r"[-+−]?\d{1,3}(,\d{3})+\b")
_WORDS = {
    "inf": np.inf, "+inf": np.inf, "-inf": -np.inf, "infinity": np.inf, "-infinity": -np.inf, "∞": np.inf,
    "nan": np.nan, "": np.nan, "-": np.nan, "–": np.nan, "—": np.nan, "na": np.nan, "n/a": np.nan,
    "none": np.nan, "null": np.nan,
}  # fmt: skip
MOST_CHARACTERS = 400  # whatever is longer is no number of an experiment


def number(text: str, *, decimal_comma: bool = False) -> float | None:
    """The number that a text stands for, or None; percent become fractions.

    >>> [number(t) for t in ("19M", "1.3B", "36.4%", "1,000", "2e9", "-.5", "4k", "cnn")]
    [19000000.0, 1300000000.0, 0.364, 1000.0, 2000000000.0, -0.5, 4000.0, None]
    >>> number("0,364", decimal_comma=True), number("0,364")
    (0.364, None)
    """
    text = text.strip()
    if len(text) > MOST_CHARACTERS:
        return None
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if decimal_comma and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    match = _NUMBER.fullmatch(text)
    if match is None or match["digits"].startswith("0,"):
        return None
    digits = re.sub(r"[,'_ \u00a0\u202f]", "", match["digits"])
    # one reading of all digits: 1.3 times 1e9 may differ from 1300000000 in the last of them
    power = int(match["power"][1:]) if match["power"] else 0
    power += POWERS[match["suffix"].lower()] - (2 if match["percent"] else 0)
    return float(f"{'-' if match['sign'] in ('-', '−') else ''}{digits}e{power}")


def has_decimal_comma(column: pd.Series) -> bool:
    """Whether a column of text can only be read with commas as decimal points: 0,364 but not 1,000."""
    texts = [text.strip() for text in column.dropna().astype(str)]
    return any(_DECIMAL_COMMA.fullmatch(t) and not (_GROUPS.match(t) and t[0] != "0") for t in texts)


def may_have_decimal_comma(column: pd.Series) -> bool:
    """Whether a column of text has commas that can all be decimal points: 4,081 but not 1,234.5."""
    texts = [text.strip() for text in column.dropna().astype(str)]
    with_comma = [text for text in texts if "," in text]
    return bool(with_comma) and all(map(_DECIMAL_COMMA.fullmatch, with_comma)) and "." not in "".join(texts)


def numbers(column: pd.Series, *, decimal_comma: bool = False) -> tuple[pd.Series, bool] | None:
    """A column of text as numbers and whether it was in percent; None where some value is no number."""
    known = column.notna()
    distinct = {
        text: number(text, decimal_comma=decimal_comma) for text in column[known].astype(str).unique()
    }
    if not distinct or any(value is None for value in distinct.values()):
        return None
    if all(np.isnan(value) for value in distinct.values() if value is not None):
        return None
    found = column.where(known, None).map(lambda text: distinct.get(str(text), np.nan)).astype(float)
    whole = found.notna().all() and (found.abs() < 2**53).all() and (found % 1 == 0).all()
    return (found.astype("int64") if whole else found), any("%" in text for text in distinct)
