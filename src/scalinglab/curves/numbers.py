"""Read numbers as tables write them: 19M, 1.3B, 36.4%, 1,000, 2e9, 1.5B tokens, 3.21 ± 0.02.

A text column becomes numeric if every value is a number or a word for a missing one; otherwise it stays text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd

from scalinglab.curves.names import NOUNS

_OF_TEN = {  # powers of ten, and what is written for them
    0: "", 3: "k thousand tsd тыс 千", 4: "万 萬",
    6: "m mn mio million millionen millones milhões milioni miljoen млн 百万", 8: "亿 億",
    9: "b g bn mrd md billion milliard milliarden miliardi miljard млрд 十亿 十億", 12: "t trillion 万亿 兆",
}  # fmt: skip
POWERS = {word: power for power, words in _OF_TEN.items() for word in words.split() or [""]}
_LONG = sorted((word for word in POWERS if len(word) > 1 or word > "z"), key=len, reverse=True)
MULTIPLIERS = rf"(?:{'|'.join(_LONG)})(?:s\b)?\.?|[kmbgt]"
UNITS = (  # words behind a number, by what they count
    ("tokens", r"tokens?|toks?"), ("parameters", r"(?:total |trainable )?(?:parameters?|params?)"),
    ("FLOPs", r"flops?"),
    ("examples", rf"(?:training |train )?(?:{'|'.join(sorted(NOUNS['n_data'][0]))})|[枚张張件]"),
    ("nats", r"nats?(?:\s*(?:/|per )\s*(?:token|tok))?"),
    ("hours", r"h|hrs?|hours?|mins?|minutes?"), ("steps", r"steps?|iterations?"), ("epochs", r"epochs?"),
)  # fmt: skip
_DIGITS = (
    r"(?:\d{1,3}(?:[,'’_ \u00a0\u202f]\d{3})+(?:\.\d*)?|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d+(?:\.\d*)?|\.\d+)"
)
_POWER = r"(?:e[-+]?\d{1,4}|\s*[x×*·]\s*10\s*(?:\^|\*\*)?\s*\{?[-+]?\d{1,3}\}?)"
_VALUE = (
    rf"(?P<sign>[-+−]?)\s*(?P<digits>{_DIGITS})(?P<power>{_POWER})?\s*(?P<suffix>{MULTIPLIERS})?"
    r"\s*(?P<percent>%)?"
)
_SPREAD = (
    rf"(?:\s*(?:±|\+/-|\+-|\+−)\s*(?P<spread>{_DIGITS}(?:e[-+]?\d+)?)\s*(?P<both>%)?"
    rf"|\s*\(\s*(?:±|\+/-)?\s*(?P<bracket>{_DIGITS})\s*(?P<share>%)?\s*\)"
    rf"|\s*[\[(]\s*(?P<low>{_DIGITS})\s*(?:[,;–]|-+|to)\s*(?P<high>{_DIGITS})\s*[\])]"  # 3.31 [3.29, 3.33]
    r"|\s*\(\s*(?:full|all|whole|everything)\s*\)"  # 50k (full) beside 1k (2%)
    rf"|\s*\(\s*{_DIGITS}\s*(?:g|[kmgt]i?b|h|hrs?|hours?|s|ms|gpus?|layers?|seeds?)\s*\))"  # 24.1 (0.4G)
)
_UNIT = "|".join(pattern for _, pattern in UNITS)
_NUMBER = re.compile(rf"[~≈]?\s*{_VALUE}(?:{_SPREAD})?(?:\s*(?P<unit>{_UNIT}))?", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(
    rf"[-+−]?(?:\d+|\d{{1,3}}(?:\.\d{{3}})+),\d+(e[-+]?\d{{1,4}})?\s*(?:{MULTIPLIERS})?\s*%?"
    r"(?:\s*(?:±|\+/-)\s*\d+(?:,\d+)?\s*%?)?",
    re.IGNORECASE,
)
_DOTS = re.compile(r"[-+−]?\d{1,3}(?:\.\d{3})+")
_GROUPS = re.compile(r"[-+−]?\d{1,3}(,\d{3})+(?!\d)")
_WORDS = {
    "inf": np.inf, "+inf": np.inf, "-inf": -np.inf, "infinity": np.inf, "-infinity": -np.inf, "∞": np.inf,
    "nan": np.nan, "": np.nan, "-": np.nan, "–": np.nan, "—": np.nan, "--": np.nan, "---": np.nan,
    "na": np.nan, "n/a": np.nan, "n.a.": np.nan, "none": np.nan, "null": np.nan, "?": np.nan, "#n/a": np.nan,
}  # fmt: skip
# words in place of a failed measurement, with any text behind: "OOM (8 GPUs)"
_FAILED = re.compile(
    r"(?:diverge[ds]?|div\.?|oom|out of memory|failed|fail|crash(?:ed)?|killed|time ?out|timed out|tbd|todo"
    r"|pending|running|missing|not (?:run|done|available)|did not finish|dnf|error|#\w+[!?]?)\b.*",
    re.IGNORECASE,
)
_SUPERSCRIPT = re.compile(r"([x×*·]\s*10|\b10(?=[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]{2}|[³⁴⁵⁶⁷⁸⁹]))([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
# of a footnote: †, ^a, [^1], [12], <sup>a</sup>; 10^9 and 2^14 are powers
_MARK = re.compile(
    r"\s*(?:[*†‡§¶¹²³ᵃᵇᶜᵈᵉ]|\[\^?\d{1,2}\]|\[\^?[a-e*]\]|\^\{?\s*(?:[a-e*†‡§¶]|(?<=\d\.\d\^)\d|(?<=\.\d\d\^)\d)\}?"
    r"|<sup>[^<]{0,5}</sup>)\s*$"
)
_PLAIN_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_ONLY_POWER = re.compile(r"(2|10)\s*(?:\^|\*\*)\s*\{?([-+]?\d{1,2}(?:\.\d+)?)\}?")  # 2^14
_OF_TRIALS = re.compile(r"(\d{1,7})\s*(?:/|(?:out )?of)\s*(\d{1,7})")  # 42/50
LATEX = (
    (r"\^\{\+([\d.]+)\}\s*_\{-[\d.]+\}", r" ± \1"),  # up and down
    (r"(?:[_^]\{?\s*)?\\pm", "±"), (r"\\(?:up|down)arrow", ""), (r"\\(?:times|cdot)", "×"), (r"\\%", "%"),
    (r"\\[ ,;!~]|~(?=.)", " "), (r"\\_", "_"), (r"\\(?:dd?agger|dd?ag)\b", "†"), (r"\\(?:ast|star)\b", "*"),
    (r"\\(?:textsuperscript|tnote|footnotemark|footnote|cite[pt]?)(?:\[[^\]]*\])?(?:\{[^}]*\})?", ""),
    (r"\\&", " and "), (r"\\(?:textbf|textit|emph|mathbf|underline|text|bf|mathrm|num)\b", ""),
    (r"(?<=10)\^\{?(-?\d+)\}?", r"^\1"), (r"[{}$]", ""),
)  # fmt: skip
_DIGIT = re.compile(r"\d")
MOST_CHARACTERS = 400  # longer texts are not numbers


@dataclass(frozen=True)
class Cell:
    """A number as it was written.

    Attributes:
        value: the number; NaN where a word stands for a missing one.
        spread: what stands behind ±, or in brackets.
        unit: what it counts, where a word says so.
        percent: whether it was written with %; the value is a fraction.
        scaled: whether a suffix or a power of ten was written.
        word: the word of a measurement that failed.
    """

    value: float
    spread: float | None = None
    unit: str = ""
    percent: bool = False
    scaled: bool = False
    word: str = ""


@lru_cache(maxsize=1 << 14)
def cell(text: str, *, decimal_comma: bool = False) -> Cell | None:
    """What a text stands for, or None if it is no number.

    >>> cell("1.5B tokens"), cell("3.21 (2)").spread, cell("OOM").word
    (Cell(value=1500000000.0, spread=None, unit='tokens', percent=False, scaled=True, word=''), 0.02, 'OOM')
    >>> cell("30 min").value, cell("30 min").unit
    (0.5, 'hours')
    """
    text = text.strip()
    if len(text) > MOST_CHARACTERS:
        return None
    text = plain_powers(text)
    if "$" in text or "\\" in text:
        for pattern, plain in LATEX:
            text = re.sub(pattern, plain, text)
    text = without_marks(text)
    if (alone := _ONLY_POWER.fullmatch(text)) is not None:
        return Cell(float(alone[1]) ** float(alone[2]), scaled=True)
    if (trials := _OF_TRIALS.fullmatch(text)) and int(trials[1]) <= int(trials[2]) > 1:
        return Cell(int(trials[1]) / int(trials[2]), percent=True)
    if text.lower() in _WORDS:
        return Cell(_WORDS[text.lower()])
    if decimal_comma and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(".", "").replace(",", ".")
    elif decimal_comma and _DOTS.fullmatch(text):
        text = text.replace(".", "")
    match = _NUMBER.fullmatch(text)
    if match is None or match["digits"].startswith("0,"):
        return Cell(np.nan, word=text) if _FAILED.fullmatch(text) else None
    percent = bool(match["percent"] or match["both"])
    power = _power(match["power"])
    power += power_of(match["suffix"] or "") - (2 if percent else 0)
    sign = "-" if match["sign"] in ("-", "−") else ""
    # one reading of all digits: 1.3 times 1e9 may differ from 1300000000 in the last of them
    value, unit = float(f"{sign}{_plain(match['digits'])}e{power}"), _unit(match["unit"])
    if unit == "hours" and match["unit"].lower().startswith("m"):
        value /= 60
    return Cell(value, _spread(match, power), unit, percent, bool(match["suffix"]))


def plain_powers(text: str) -> str:
    """A text with powers of ten in plain digits: 2×10⁷ is 2×10^7."""
    return _SUPERSCRIPT.sub(lambda m: f"{m[1]}^{m[2].translate(_PLAIN_DIGITS)}", text)


def without_marks(text: str) -> str:
    """A text without the marks of footnotes at its ends.

    >>> [without_marks(t) for t in ("3.05†", "3.05^a", "**3.05**[^1]", "4.1 [23]", "10^9", "R^2")]
    ['3.05', '3.05', '3.05', '4.1', '10^9', 'R^2']
    """
    while (plain := _MARK.sub("", text).lstrip("*†‡§ ")) != text:
        text = plain
    return text.strip()


def power_of(word: str) -> int:
    """The power of ten of a multiplier: 6 for "M", "millions" and "Mio."."""
    word = word.lower().rstrip(".")
    return POWERS[word] if word in POWERS else POWERS[word.rstrip("s")]


def _plain(digits: str) -> str:
    """The digits without separators of thousands; 1.234.567 has two of them or more."""
    if digits.count(".") > 1:
        digits = digits.replace(".", "").replace(",", ".")
    return re.sub(r"[,'’_ \u00a0\u202f]", "", digits)


def _power(text: str | None) -> int:
    found = re.search(r"([-+]?\d+)\}?$", text) if text else None
    return int(found[1]) if found else 0


def _spread(match: re.Match[str], power: int) -> float | None:
    """The number behind ± or in brackets; in 3.2145(21) it counts units of the last digit."""
    if match["low"]:  # half of an interval
        return (float(_plain(match["high"])) - float(_plain(match["low"]))) / 2 * 10.0**power
    text = match["spread"] or match["bracket"]
    if text is None or (match["share"] and not match["percent"]):  # 1k (2%) is a size and its share of all
        return None
    plain = _plain(text)
    decimals = len(match["digits"].partition(".")[2])
    last_digits = match["bracket"] and "." not in text and decimals
    return float(f"{plain}e{power - (decimals if last_digits else 0)}")


def _unit(word: str | None) -> str:
    if not word:
        return ""
    return next(unit for unit, pattern in UNITS if re.fullmatch(pattern, word, re.IGNORECASE))


def number(text: str, *, decimal_comma: bool = False) -> float | None:
    """The number that a text stands for, or None; percent become fractions.

    >>> [number(t) for t in ("19M", "1.3B", "36.4%", "1,000", "2e9", "-.5", "4k", "cnn")]
    [19000000.0, 1300000000.0, 0.364, 1000.0, 2000000000.0, -0.5, 4000.0, None]
    >>> number("0,364", decimal_comma=True), number("0,364")
    (0.364, None)
    """
    found = cell(text, decimal_comma=decimal_comma)
    return None if found is None or found.word else found.value


def has_decimal_comma(column: pd.Series) -> bool:
    """Whether a column of text can only be read with commas as decimal points: 0,364 but not 1,000."""
    texts = [text.strip() for text in column.dropna().astype(str)]
    return any(_DECIMAL_COMMA.fullmatch(t) and not (_GROUPS.match(t) and t[0] != "0") for t in texts)


def may_have_decimal_comma(column: pd.Series) -> bool:
    """Whether a column of text has commas that can all be decimal points: 4,081 but not 1,234.5."""
    texts = [text.strip() for text in column.dropna().astype(str)]
    with_comma = [text for text in texts if "," in text]
    return bool(with_comma) and all(map(_DECIMAL_COMMA.fullmatch, with_comma)) and "." not in "".join(texts)


def has_dots_for_thousands(texts: list[str]) -> bool:
    """Whether all of these are whole numbers with dots between thousands, where commas are decimal: 1.000."""
    return bool(texts) and all(_DOTS.fullmatch(text.strip()) or text.strip().isdigit() for text in texts)


@dataclass(frozen=True)
class Numbers:
    """A column of text as numbers.

    Attributes:
        values: the numbers; missing where a word stands for one.
        spread: what stood behind ± or in brackets; None if nothing did.
        unit: what they count, where all words behind them agree.
        percent: whether they were written with %.
        scaled: which were written with a suffix, as 19M; None if none was.
        words: how often each word stood in place of a number.
    """

    values: pd.Series
    spread: pd.Series | None = None
    unit: str = ""
    percent: bool = False
    scaled: pd.Series | None = None
    words: tuple[tuple[str, int], ...] = ()


def numbers(column: pd.Series, *, decimal_comma: bool = False, any_word: bool = False) -> Numbers | None:
    """A column of text as numbers; None if some value is no number.

    Args:
        any_word: whether any word without digits counts as a missing number, as in measurements.
    """
    known = column.notna()
    texts = column[known].astype(str)
    cells: dict[str, Cell] = {}
    for text in texts.unique():
        found = cell(text, decimal_comma=decimal_comma)
        if found is None and any_word and not _DIGIT.search(text):
            found = Cell(np.nan, word=text)
        if found is None:
            return None
        cells[text] = found
    real = [each for each in cells.values() if not np.isnan(each.value)]
    words = Counter(cells[text].word for text in texts if cells[text].word)
    if not real or (words and 2 * sum(words.values()) >= len(texts)):
        return None
    signed = {each.percent for each in real}
    if len(signed) > 1:  # 71.3% and 72.1, but 0.9 beside 71.3% may be either
        plain = [each.value for each in real if not each.percent]
        if min(plain) <= 1:
            return None
        cells = {t: c if c.percent else replace(c, value=c.value / 100) for t, c in cells.items()}
    values = _mapped(column, known, {text: each.value for text, each in cells.items()})
    whole = values.notna().all() and (values.abs() < 2**53).all() and (values % 1 == 0).all()
    spread = None
    if any(each.spread is not None for each in real):
        spread = _mapped(
            column, known, {t: np.nan if c.spread is None else c.spread for t, c in cells.items()}
        )
    units = {each.unit for each in real}
    scaled = _mapped(column, known, {text: each.scaled for text, each in cells.items()}) > 0
    return Numbers(
        values.astype("int64") if whole else values, spread, units.pop() if len(units) == 1 else "",
        True in signed, scaled if scaled.any() else None, tuple(words.most_common()),
    )  # fmt: skip


def _mapped(column: pd.Series, known: pd.Series, values: Mapping[str, float]) -> pd.Series:
    return column.where(known, None).map(lambda text: values.get(str(text), np.nan)).astype(float)
