"""Parse texts: column names with units and roles, and sizes in names, keys and cells.

"Params (M)", "acc (%)", log10_params and PF-days are names with units; Pythia-160M has its size in its name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves.columns import is_seed
from scalinglab.curves.names import NOUNS, aliases, bare, likely_size, quantity, without_prefix
from scalinglab.curves.numbers import MULTIPLIERS, cell, number, plain_powers, power_of

DATA = ("n_data", "tokens", "examples")
SIZES = ("n_params", *DATA, "compute", "width")
OF_UNITS = {"tokens": "tokens", "parameters": "n_params", "examples": "n_data", "FLOPs": "compute"}
CHECKPOINT = ("step", "epoch")

_NOUN = (
    r"(?:params?|parameters?|tokens?|toks?|examples?|images?|samples?|flops?|steps?|points?|bp|base pairs)"
)
_TEN = r"(?:[x×*]\s*)?(?:10\s*(?:\^|\*\*)\s*|1?e\+?)(?P<ten>\d{1,2})"
_SCALE = (
    rf"(?:in\s+)?(?:(?P<word>{MULTIPLIERS})(?:\s*(?:of\s+)?(?P<noun>{_NOUN}))?"
    rf"|{_TEN}(?:\s*(?:of\s+)?(?P<counted>[a-z]+))?)"
)
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
    r"\s*[\[(]\s*(?:in\s+)?(?:%|pct|percent)\s*[\])]\s*$|\s*(?:\bin\s*)?%$|[_ ](?:pct|percent|percentage)$",
    re.I,
)
_PERCENT_OF = re.compile(r"^(?:%|pct|percent(?:age)?)\s*(?=of\b)", re.IGNORECASE)
_BRACKETS = str.maketrans("（）［］％", "()[]%")
_LOG = re.compile(r"^(?P<log>log_?10|log_?2|log|ln|lg)[\s_.]*[(\[\s_](?P<name>.*?)[)\]]?$", re.IGNORECASE)
_LETTER_LOG = re.compile(r"^(?P<log>log10|log2|ln|log)(?P<name>[NDC])$")
_LOSS_UNIT = re.compile(
    r"[\[(]?\b(?P<unit>nats?|bits?)\b(?:\s*(?:/|_?per_?)\s*(?P<per>token|byte|char(?:acter)?|tok))?[\])]?",
    re.I,
)
_SHORT_BITS = {"bpb": "bits per byte", "bpc": "bits per character", "bpt": "bits per token"}
_LARGE_FLOPS = re.compile(r"(?P<letter>[GTPEZY])(?:F|FLOPs?|FLOPS?)?")
_POWER_OF = {"G": 9, "T": 12, "P": 15, "E": 18, "Z": 21, "Y": 24}
_OF_COMPUTE = {"", "compute", "training", "train", "total", "budget", "cost", "spent"}
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
    column = plain_powers(column.translate(_BRACKETS))
    if _PERCENT.search(column):
        return Header(_PERCENT.sub("", column), percent=True)
    if _PERCENT_OF.match(column):
        return Header(_PERCENT_OF.sub("fraction ", column), percent=True)
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
    """Whether a text names a size, or what is counted in data: rows, images."""
    return not {*SIZES}.isdisjoint(roles(text)) or likely_size(str(text), "n_data") > 1


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
    word, noun = parts.get("word") or "", parts.get("noun") or parts.get("counted") or ""
    power = int(parts["ten"]) if parts.get("ten") else power_of(word)
    return Header(
        f"{name} {noun}".strip(), 10.0**power, by_letter=len(word) == 1 and word <= "z" and not noun
    )


def _compute(column: str) -> Header | None:
    """Training compute in larger units than FLOPs, alone or in brackets."""
    last = column.rpartition("/")[2] if column.lower().endswith("flops") else without_prefix(column)
    words = re.sub(r"[^a-z0-9/]+", "_", last.lower()).strip("_")
    for pattern, flops in _COMPUTE.items():
        found = re.fullmatch(rf"(?P<name>(?:[a-z]+_)*?)(?:in_)?(?:{pattern})", words)
        if found and {*found["name"].strip("_").split("_")} <= _OF_COMPUTE:
            return Header("compute", flops)
    return None


FEWEST_TOKENS = 1e7  # a D below this counts examples
FEWEST_PARAMS = 1e3  # of an n beside tokens; a smaller one counts repeats
FEWEST_IN_A_NAME = 50  # examples: a smaller number may count layers, or trials
FEWEST_OF_A_FAMILY = 3  # runs whose names differ in numbers alone
FEWEST_OF_A_MODEL = 1e6  # parameters in a name: ctx-2k is no model
# words of which the name of a column of training sets is made: "Training set", "subset size", "data"
_SETS = {"train", "training", "trainset", "data", "dataset", "subset"}
OF_SETS = {*_SETS, "set", "size", "amount", "used", "of", "n", "num", "number", "labelled", "labeled", "the"}
_DATA_SETS = {"coco", "imagenet", "mnist", "cifar", "librispeech", "wikitext", "squad"}
# Pythia-160M, opt_1.3b, N19M_D1B, 10Btok, but not gpt2
_WITH_LETTER = re.compile(
    r"(?:(?<![A-Za-z])(?:(?P<d>d)|[nlp])[=_-]?)?(?<![\d.,])(?P<n>\d{1,3}(?:,\d{3})+|\d+(?:[.,]\d+)?) ?"
    r"(?P<letter>[KMBT])(?:[-_ ]?(?P<tokens>tokens?|toks?)\b|(?:[-_ ]?params?\b)?(?![A-Za-z0-9]))", re.I,
)  # fmt: skip
_BEHIND_WORD = re.compile(
    r"(?:^|[_\-. ])([A-Za-z]+(?:_[a-z]+)*)[=\-_]?(\d+(?:\.\d+)?(?:e\d+)?[kKMBT]?)(?![A-Za-z0-9])"
)
_BEFORE_UNIT = re.compile(
    r"(?<![A-Za-z\d])(?<!\d\.)(\d+(?:\.\d+)?(?:e\d+)?[kKMBT]?[-_ ]?"
    rf"(?:{_NOUN}|h|hrs?|hours?|{'|'.join(sorted(NOUNS['n_data'][0]))}))(?![A-Za-z])"
)  # 1B-tokens, 10h
# sizes alone, or behind a word that counts nothing: 800, history_600
_ALONE = re.compile(r"(?:(?:history|hist|log|metrics|results?|curve|train(?:ing)?)[_-])?(\d+k?)")
_NUMBER = re.compile(r"(?<![\d.])\d[\d.]*(?:e-?\d+)?(?:x\d+)*[kKmMbBtT]?(?![a-z\d.])")  # also 1024x28
_SIZED = re.compile(
    r"(?P<word>.*?[a-z][)\]]?)[\s_=:@/-]+(?P<number>[~≈]?\d[\d.,_]*(?:e[-+]?\d+)?\s*[kmbt]?)", re.I
)


def counts_examples(name: str) -> bool:
    """Whether a name counts images, samples or sentence pairs, or names a training set."""
    words = {*bare(name).split("_")}
    is_set = words <= OF_SETS and bool(words & _SETS)
    return not roles(name) and (is_set or likely_size(name, "n_data") >= 3)


def sized(text: str) -> tuple[str, float, str] | None:
    """The word, the size and the unit of a text that is a size; None of others.

    >>> sized("loss_19M"), sized("1B tokens"), sized("n=1000"), sized("seed")
    (('loss', 19000000.0, ''), ('', 1000000000.0, 'tokens'), ('n', 1000.0, ''), None)
    """
    found = None if (read := cell(text)) else _SIZED.fullmatch(text.strip())
    read = cell(found["number"]) if found else read
    if read is None or read.word or not np.isfinite(read.value) or read.value < 0:
        return None
    return found["word"] if found else "", read.value, read.unit


def model_sizes(name: str) -> list[str]:
    """The sizes of models in a name, as they are written there.

    >>> model_sizes("Pythia-160M, 10Btok, ctx-2k")
    ['160M']
    """
    found = _WITH_LETTER.finditer(name)
    return [m[0] for m in found if m["letter"] in "MBmb" and not m["tokens"] and not m["d"]]


def names_sizes(column: pd.Series) -> bool:
    """Whether each text of a column names one size, as Pythia-160M does.

    >>> names_sizes(pd.Series(["Pythia-70M", "Pythia-160M"])), names_sizes(pd.Series(["gpt2", "gpt3"]))
    (True, False)
    """
    names = [*column.dropna().astype(str).unique()]
    return bool(names) and all(len(model_sizes(name)) == 1 for name in names)


def sizes_of_names(names: Collection[str]) -> dict[str, dict[str, tuple[float, str]]]:
    """Parameters and tokens in names, by role and name: the size, and how it is written there.

    A number of tokens says so, N124M_D2B or 124M-2Btok. Of several other numbers those count that differ
    between names; of two of these the second, where it is always the larger, is the tokens.

    >>> found = sizes_of_names(["N19M_D1B", "N70M_D1B"])
    >>> {role: [size for size, _ in sizes.values()] for role, sizes in found.items()}
    {'n_params': [19000000.0, 70000000.0], 'tokens': [1000000000.0, 1000000000.0]}
    """
    parts = {name: [*_WITH_LETTER.finditer(name)] for name in names}
    if len({len(found) for found in parts.values()}) != 1:
        return {}
    columns = [*zip(*parts.values())]
    read = [[float(f"{_plain(m['n'])}e{power_of(m['letter'])}") for m in column] for column in columns]
    tokens = [k for k, column in enumerate(columns) if all(m["tokens"] or m["d"] for m in column)]
    others = [k for k, values in enumerate(read) if k not in tokens and min(values) >= FEWEST_OF_A_MODEL]
    varying = [k for k in others if len({*read[k]}) > 1] if len(others) > 1 else others
    if len(varying) == 2 and not tokens and all(a < b for a, b in zip(*(read[k] for k in varying))):
        tokens = [varying.pop()]
    return {
        role: {name: (size, m[0]) for name, size, m in zip(parts, read[each[0]], columns[each[0]])}
        for role, each in (("n_params", varying), ("tokens", tokens)) if len(each) == 1
    }  # fmt: skip


def _plain(digits: str) -> str:
    """1.3 of 1,3 and 1300 of 1,300."""
    return re.sub(r",(?=\d{3})", "", digits).replace(",", ".")


def numbers_in_names(names: Sequence[str]) -> dict[str, list[str]]:
    """Sizes and seeds in names of files or runs that all have them, by role: trainsize1000_seed0, N19M_D1e9.

    >>> numbers_in_names(["n800/seed0", "n2400/seed1", "n800/seed1"])
    {'n_data': ['800', '2400', '800'], 'seed': ['0', '1', '1']}
    """
    found = [dict(_BEHIND_WORD.findall(name.replace("/", " "))) | _counted(name) for name in names]
    shared = set.intersection(*({*each} for each in found)) if len(found) > 1 else set()
    by_role = {}
    for key in sorted(shared):
        values = [each[key] for each in found]
        role = _role_behind(key.strip("_-="), values)
        if role in (*SIZES, "seed", "hours") and role != "examples" and len({*values}) > 1:
            by_role[role] = values
    if by_role.keys() - {"seed"} or len(names) < FEWEST_OF_A_FAMILY:
        return by_role
    for parts in zip(*(name.split("/")[::-1] for name in names)):  # of the file, then of its folders
        values = [each[1] for part in parts if (each := _ALONE.fullmatch(part))]
        if len(values) == len(names) and len({*values}) > 2 and _role_behind("train", values) == "n_data":
            return by_role | {"n_data": values}
    return by_role


def _counted(name: str) -> dict[str, str]:
    """Numbers in a name with what they count behind them, by its role."""
    read = ((m[1], cell(re.sub(r"[-_]", " ", m[1]))) for m in _BEFORE_UNIT.finditer(name))
    units = OF_UNITS | {"hours": "hours"}
    return {units[c.unit]: f"{c.value:.15g}" for _, c in read if c is not None and c.unit in units}


def _role_behind(word: str, texts: Sequence[str]) -> str:
    """What numbers in names count, by the words in front of them or the last of these."""
    last = word.rpartition("_")[2]
    if word == "hours":
        return word
    values = [number(text) or 0.0 for text in texts]
    found = role_of(word) or role_of(last) or ("seed" if is_seed(last) else "")
    if last == "N" and max(values) < FEWEST_TOKENS:
        found = ""
    found = found or ("n_data" if likely_size(last, "n_data") > 1 or last.lower() in _DATA_SETS else "")
    counter = any(text[0] == "0" for text in texts) and len({*np.diff(sorted({*values}))}) < 2  # train_00100
    if found or min(values) < FEWEST_IN_A_NAME or counter:  # n12
        return found
    return role_of_letter(last, max(values)) or ("n_data" if counts_examples(last) else "")


def role_of_letter(letter: str, largest: float) -> str:
    """What an n or a d in front of numbers counts: parameters and tokens where they are large.

    >>> role_of_letter("n", 5e4), role_of_letter("n", 1e9), role_of_letter("d", 64)
    ('n_data', 'n_params', '')
    """
    few = largest < FEWEST_TOKENS
    by_letter = {"n": "n_data" if few else "n_params", "d": "" if few else "tokens"}
    return by_letter.get(letter.lower(), "")


def families(names: Iterable[str]) -> dict[str, str]:
    """Names without the numbers that distinguish names of the same words.

    >>> families(["c4-1", "c4-2", "code-1"])
    {'c4-1': 'c4', 'c4-2': 'c4', 'code-1': 'code'}
    """
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_NUMBER.sub("\0", name), []).append(name)
    found: dict[str, str] = {}
    for words, each in alike.items():
        columns = zip(*map(_NUMBER.findall, each))
        same = [values[0] if len(each) > 1 and len({*values}) == 1 else "" for values in columns]
        family = "".join(chain(*zip_longest(words.split("\0"), same, fillvalue="")))
        found |= dict.fromkeys(each, family.strip(" -_/."))
    return found
