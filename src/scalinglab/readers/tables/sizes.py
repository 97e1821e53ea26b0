"""Sizes that stand in texts: in names of runs, models and files, in headers, keys and cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, zip_longest

import numpy as np
import pandas as pd

from scalinglab.curves.columns import is_seed
from scalinglab.curves.names import bare, likely_size
from scalinglab.curves.numbers import POWERS, cell, number
from scalinglab.readers.tables.headers import role_of, roles

FEWEST_TOKENS = 1e7  # a D below this counts examples
FEWEST_PARAMS = 1e3  # of an n beside tokens; a smaller one counts repeats
FEWEST_IN_A_NAME = 50  # examples: a smaller number may count layers, or trials
FEWEST_OF_A_FAMILY = 3  # runs whose names differ in numbers alone
FEWEST_OF_A_MODEL = 1e6  # parameters in a name: ctx-2k is no model
# words of which the name of a column of training sets is made: "Training set", "subset size", "data"
_SETS = {"train", "training", "trainset", "data", "dataset", "subset"}
OF_SETS = {*_SETS, "set", "size", "amount", "used", "of", "n", "num", "number", "labelled", "labeled", "the"}
# Pythia-160M, opt_1.3b, N19M_D1B, 10Btok, but not gpt2
_WITH_LETTER = re.compile(
    r"(?:(?<![A-Za-z])(?:(?P<d>d)|[nlp])[=_-]?)?(?<![\d.])(?P<n>\d+(?:\.\d+)?) ?"
    r"(?P<letter>[KMBT])(?:[-_ ]?(?P<tokens>tokens?|toks?)\b|(?:[-_ ]?params?\b)?(?![A-Za-z0-9]))", re.I,
)  # fmt: skip
_BEHIND_WORD = re.compile(
    r"(?:^|[_\-. ])([A-Za-z]+(?:_[a-z]+)*)[=\-_]?(\d+(?:\.\d+)?(?:e\d+)?[kKMBT]?)(?![A-Za-z0-9])"
)
# sizes alone, or behind a word that counts nothing: 800, history_600
_ALONE = re.compile(r"(?:(?:history|hist|log|metrics|results?|curve|train(?:ing)?)[_-])?(\d+k?)")
_NUMBER = re.compile(r"(?<![\d.])\d[\d.]*(?:e-?\d+)?(?:x\d+)*[kKmMbBtT]?(?![a-z\d.])")  # also 1024x28
_SIZED = re.compile(r"(?P<word>.*?[a-z])[\s_=:@/-]+(?P<number>[~≈]?\d[\d.,_]*(?:e[-+]?\d+)?\s*[kmbt]?)", re.I)


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
    read = [[float(f"{m['n']}e{POWERS[m['letter'].lower()]}") for m in column] for column in columns]
    tokens = [k for k, column in enumerate(columns) if all(m["tokens"] or m["d"] for m in column)]
    others = [k for k, values in enumerate(read) if k not in tokens and min(values) >= FEWEST_OF_A_MODEL]
    varying = [k for k in others if len({*read[k]}) > 1] if len(others) > 1 else others
    if len(varying) == 2 and not tokens and all(a < b for a, b in zip(*(read[k] for k in varying))):
        tokens = [varying.pop()]
    return {
        role: {name: (size, m[0]) for name, size, m in zip(parts, read[each[0]], columns[each[0]])}
        for role, each in (("n_params", varying), ("tokens", tokens)) if len(each) == 1
    }  # fmt: skip


def numbers_in_names(names: Sequence[str]) -> dict[str, list[str]]:
    """Sizes and seeds in names of files or runs that all have them, by role: trainsize1000_seed0, N19M_D1e9.

    >>> numbers_in_names(["n800/seed0", "n2400/seed1", "n800/seed1"])
    {'n_data': ['800', '2400', '800'], 'seed': ['0', '1', '1']}
    """
    found = [dict(_BEHIND_WORD.findall(name.replace("/", " "))) for name in names]
    shared = set.intersection(*({*each} for each in found)) if len(found) > 1 else set()
    by_role = {}
    for key in sorted(shared):
        values = [each[key] for each in found]
        role = _role_behind(key.strip("_-="), values)
        if role in ("n_params", "n_data", "tokens", "compute", "width", "seed") and len({*values}) > 1:
            by_role[role] = values
    alone = [_ALONE.fullmatch(name.rpartition("/")[2]) for name in names]
    if not by_role and len(names) >= FEWEST_OF_A_FAMILY and all(alone):
        values = [each[1] for each in alone if each]
        if len({*values}) == len(values) and _role_behind("train", values) == "n_data":
            by_role["n_data"] = values
    return by_role


def _role_behind(word: str, texts: Sequence[str]) -> str:
    """What numbers in names count, by the words in front of them or the last of these."""
    last = word.rpartition("_")[2]
    values = [number(text) or 0.0 for text in texts]
    found = role_of(word) or role_of(last) or ("seed" if is_seed(last) else "")
    if found or min(values) < FEWEST_IN_A_NAME or any(text[0] == "0" for text in texts):  # train_00001, n12
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
    """Names without the numbers in which others of the same words differ.

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
