"""What names of columns say: their units, "Params (M)", "acc (%)", log10_params, PF-days, and their roles."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from scalinglab.curves.names import aliases, quantity
from scalinglab.curves.numbers import MULTIPLIERS, POWERS

DATA = ("n_data", "tokens", "examples")
SIZES = ("n_params", *DATA, "compute", "width")
CHECKPOINT = ("step", "epoch")

_NOUN = r"(?:params?|parameters?|tokens?|toks?|examples?|images?|samples?|flops?|steps?|points?)"
_TEN = r"(?:[x×*]\s*)?(?:10\s*(?:\^|\*\*)\s*|1?e\+?)(?P<ten>\d{1,2})"
_SCALE = rf"(?:in\s+)?(?:(?P<word>{MULTIPLIERS})|{_TEN})(?:\s*(?:of\s+)?(?P<noun>{_NOUN}))?"
_BRACKET = re.compile(r"\s*[\[(]\s*(?P<inside>[^\[\]()]*?)\s*[\])]\s*$")
_AFTER_COMMA = re.compile(rf"(?:\s*,\s*|\s+/\s+|\s+(?=in\s)){_SCALE}\s*$", re.IGNORECASE)
_BEFORE = re.compile(
    rf"^(?P<word>(?:thousand|million|billion|trillion)s?|(?-i:[KMBT]))\s*(?:of\s+)?(?P<noun>{_NOUN})$",
    re.IGNORECASE,
)
_SUFFIX = re.compile(
    r"(?<=[a-z]{2})_(?P<word>[kmb]|bn|mio|mrd|(?:thousand|million|billion|trillion)s?)$", re.IGNORECASE
)
_CAPITAL = re.compile(r"(?<=[a-z]{2})(?P<word>[KMBT])$")  # paramsM
_SPEED = re.compile(r"[KMGT]\s?FLOPs?", re.IGNORECASE)  # alone, that of a device or of one example
_PERCENT = re.compile(
    r"\s*[\[(]\s*(?:in\s+)?(?:%|pct|percent)\s*[\])]\s*$|\s*%$|[_ ](?:pct|percent|percentage)$", re.I
)
_LOG = re.compile(r"^(?P<log>log_?10|log_?2|log|ln|lg)[\s_.]*[(\[\s_](?P<name>.*?)[)\]]?$", re.IGNORECASE)
_LETTER_LOG = re.compile(r"^(?P<log>log10|log2|ln|log)(?P<name>[NDC])$")
_LOSS_UNIT = re.compile(
    r"[\[(]?\b(?P<unit>nats?|bits?)\b(?:\s*(?:/|_?per_?)\s*(?P<per>token|byte|char(?:acter)?|tok))?[\])]?",
    re.I,
)
_SHORT_BITS = {"bpb": "bits per byte", "bpc": "bits per character", "bpt": "bits per token"}
_LARGE_FLOPS = re.compile(r"(?P<letter>[GTPEZY])(?:F|FLOPs?|FLOPS?)?")
_POWER_OF = {"G": 9, "T": 12, "P": 15, "E": 18, "Z": 21, "Y": 24}
_COMPUTE = {  # FLOPs of a unit of training compute
    r"p(?:eta)?_?f(?:lop)?s?_?(?:per_?|/)?s?_?(?:second)?_?days?": 8.64e19,
    r"(?<=total_)gflops?|(?<=train_)gflops?|(?<=training_)gflops?": 1e9,
    r"(?<=total_)tflops?|(?<=train_)tflops?|(?<=training_)tflops?": 1e12,  # alone it is a speed
    r"peta_?flops?|(?<=total_)pflops?|(?<=train_)pflops?|(?<=training_)pflops?": 1e15,
    r"exa_?flops?|eflops?": 1e18, r"zetta_?flops?|zflops?": 1e21, r"yotta_?flops?|yflops?": 1e24,
}  # fmt: skip


@dataclass(frozen=True)
class Header:
    """The name of a column without its unit, and the unit.

    Attributes:
        name: what is left of it; a noun of the unit is kept: "Data, B tokens" is "Data tokens".
        scale: by what values are to be multiplied.
        by_letter: whether a single letter says so, which for anything but a count may be another unit.
        is_suffix: whether it is an ending as in params_m, which may be a name.
        percent: whether values are in percent.
        log: the base of the logarithm that values are: 10, 2, e as 0, unknown as 1; None for none.
        unit: of a loss: "nats per token", "bits per byte", ….
    """

    name: str
    scale: float = 1.0
    by_letter: bool = False
    is_suffix: bool = False
    percent: bool = False
    log: int | None = None
    unit: str = ""


@lru_cache(maxsize=1 << 14)
def header(column: str) -> Header:
    """A column's name, taken apart.

    >>> header("Params (M)").scale, header("Data, B tokens").name, header("log10(N)").log, header("bpb").unit
    (1000000.0, 'Data tokens', 10, 'bits per byte')
    """
    if (found := _LOG.match(column) or _LETTER_LOG.match(column)) is not None:
        base = {"log10": 10, "lg": 10, "log2": 2, "ln": 0}.get(found["log"].lower().replace("_", ""), 1)
        return Header(found["name"].strip(" ()[]"), log=base)
    if _PERCENT.search(column):
        return Header(_PERCENT.sub("", column), percent=True)
    if (compute := _compute(column)) is not None:
        return compute
    return replace(_scaled(column), unit=loss_unit(column))


@lru_cache(maxsize=1 << 14)
def roles(column: Any) -> tuple[str, ...]:
    """The standard names that a name may stand for, whatever its unit, the most certain first.

    >>> roles("Params (M)"), roles("Data, B tokens"), roles("gpu")
    (('n_params',), ('tokens',), ())
    """
    column = str(column)
    return tuple(dict.fromkeys((*aliases([header(column).name]), *aliases([column]))))


def role_of(column: str) -> str:
    """The most certain of these; empty for none."""
    return next(iter(roles(column)), "")


def is_name(text: Any) -> bool:
    """Whether a text names a quantity that is known."""
    return quantity(text) is not None or bool(roles(text))


def is_size(text: Any) -> bool:
    """Whether a text names a size."""
    return not {*SIZES}.isdisjoint(roles(text))


def loss_unit(column: str) -> str:
    """The unit of a loss that a name says.

    >>> loss_unit("loss (bits/token)"), loss_unit("val_bpb"), loss_unit("loss")
    ('bits per token', 'bits per byte', '')
    """
    spaced = column.replace("_", " ").lower()
    short = next((unit for word, unit in _SHORT_BITS.items() if word in spaced.split()), "")
    if short or (found := _LOSS_UNIT.search(spaced)) is None:
        return short
    per = {"tok": "token", "char": "character"}.get(found["per"] or "", found["per"])
    return found["unit"].rstrip("s") + "s" + (f" per {per}" if per else "")


def _scaled(column: str) -> Header:
    if (bracket := _BRACKET.search(column)) is not None:
        name, large = column[: bracket.start()], _LARGE_FLOPS.fullmatch(bracket["inside"])
        if large and re.search(r"flop|compute", name, re.IGNORECASE):
            return Header(name, 10.0 ** _POWER_OF[large["letter"]])
        found = re.fullmatch(_SCALE, bracket["inside"], re.IGNORECASE)
        return _with_scale(column[: bracket.start()], found) if found else Header(column)
    if (found := _AFTER_COMMA.search(column)) is not None:
        return _with_scale(column[: found.start()], found)
    if (found := _BEFORE.match(column)) is not None and not _SPEED.fullmatch(column):
        return _with_scale("", found)
    if (found := _SUFFIX.search(column) or _CAPITAL.search(column)) is not None:
        return replace(_with_scale(column[: found.start()], found), is_suffix=True)
    return Header(column)


def _with_scale(name: str, found: re.Match[str]) -> Header:
    parts = found.groupdict()
    word, noun = (parts.get("word") or "").lower().rstrip("."), parts.get("noun") or ""
    power = int(parts["ten"]) if parts.get("ten") else POWERS[word if word in POWERS else word.rstrip("s")]
    return Header(f"{name} {noun}".strip(), 10.0**power, by_letter=len(word) == 1 and not noun)


def _compute(column: str) -> Header | None:
    """Training compute in larger units than FLOPs, alone or in brackets."""
    last = column.rpartition("/")[2] if column.lower().endswith("flops") else column
    words = re.sub(r"[^a-z0-9/]+", "_", last.lower()).strip("_")
    for pattern, flops in _COMPUTE.items():
        found = re.fullmatch(rf"(?P<name>(?:[a-z]+_)*?)(?:in_)?(?:{pattern})", words)
        if found and {*found["name"].strip("_").split("_")} <= {
            "",
            "compute",
            "training",
            "train",
            "total",
            "budget",
            "cost",
            "spent",
        }:
            return Header("compute", flops)
    return None
