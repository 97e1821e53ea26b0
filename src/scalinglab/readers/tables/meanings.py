"""Decide what each column of a table is, for all columns together.

A column's candidate meanings are standard names, each with evidence from the column's name, the unit in its
cells and its values. Candidates with positive evidence stand by themselves. Weaker ones are used if a part of
the table would be missing otherwise: model size, data, compute, or a measurement. The assignment of columns
to meanings with the largest total evidence wins. Columns also support each other: compute is six FLOPs per
parameter and token, and an unnamed measurement rises or falls with every size. If two assignments come close,
the choice stays open and is reported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab.curves import PROGRESS, SETTING
from scalinglab.curves.columns import (
    ACCURACIES,
    CLEAR_RANK,
    FLOPS_PER_PARAM_EXAMPLE,
    IDENTITY,
    MEASURES,
    OUTCOME,
    is_numeric,
    is_seed,
    rank_correlation,
)  # fmt: skip
from scalinglab.curves.names import (
    BEST,
    CERTAIN,
    HYPERPARAMETERS,
    LAST,
    NOUNS,
    OTHER_ERROR,
    SPREADS,
    TEST,
    TRAIN,
    Quantity,
    aliases,
    bare,
    counted_twice,
    is_setting,
    is_share,
    likely_size,
    quantity,
    size_by_words,
    without_prefix,
)  # fmt: skip
from scalinglab.curves.numbers import Numbers
from scalinglab.readers.tables.headers import (
    CHECKPOINT,
    DATA,
    FEWEST_PARAMS,
    FEWEST_TOKENS,
    OF_SETS,
    OF_UNITS,
    SIZES,
    counts_examples,
    names_sizes,
    roles,
)
from scalinglab.readers.tables.values import TEXT

STANDARD = (*IDENTITY, *SETTING, *PROGRESS, *OUTCOME, *MEASURES, *ACCURACIES, "norm")
TRAINED = ("train_loss", "train_error", "train_accuracy")
MEASURED = ("test_loss", "test_error", "test_accuracy", "loss", "accuracy")
PARTS = (("n_params",), DATA, ("compute",), MEASURED)
OF_A_PART = 10.0  # evidence that a table has a part at all
BY_NAME, BY_UNIT, BY_LETTER = 10.0, 6.0, 3.0  # evidence of a name, of the unit in cells, of n, d and c
BY_VALUES = -4.0  # evidence of values alone
OF_A_SHARE = -3.0  # of a share of the data, beside which a count of them is taken
SOME_RANGE = 3.0  # of the largest to the smallest size, by values alone
NEXT = 0.1  # less for each name that is more certain
CONSTANT = 1.0  # less for a size or measurement that does not vary
CONSISTENT = 1.0  # more where compute is that of parameters and tokens
CLOSE = 0.05  # assignments that differ by less leave the choice open
MOST_KEPT = 300  # assignments that are followed up
# d, c and n are tokens, compute and parameters if they are this large; else a dimension, an index, examples
LETTERS = {"d": ("tokens", FEWEST_TOKENS), "c": ("compute", 1e12), "n": ("n_params", 1e7)}
SUBSCRIPT = re.compile(r"[ND]_[A-Za-z][A-Za-z_]{2,}")  # of some kind; parameters where they are so many:
FEWEST_OF_N = 1e6
MOST_PARAMS = 1e14  # whatever counts more is no model
MOST_PERCENT = 101
SAME_LOSS = 2e-3  # of a loss from the logarithm of its perplexity, both rounded
SAME_FLOPS = 0.1  # spread of ln(compute / (6 n_params tokens)) that is one way of counting
UNITS = {"parameters": "params", "tokens": "tokens", "FLOPs": "flops", "examples": "train examples"}
# words that make another quantity of a measurement: loss_scale, accuracy gain
NO_MEASUREMENT = {
    "log", "scale", "weight", "coef", "coefficient", "fn", "function", "type", "gap", "time", "ratio", "gain",
    "improvement", "delta", "diff", "difference", "change", "reduction",
}  # fmt: skip
# words of columns that may follow a size and are not results
NO_RESULT = {
    *HYPERPARAMETERS, "id", "index", "gpu", "gpus", "hours", "hrs", "minutes", "duration", "runtime", "wall",
    "cost", "usd", "memory", "gb", "mb", "throughput", "speed", "mfu", "per", "date", "seconds", "secs",
    "sec", "ms", "latency", "elapsed", "energy", "kwh", "grad", "lead", "leadtime", "horizon", "delay",
    "ahead",
}  # fmt: skip
# results that rise with size and are not shares of a whole
NO_SHARE = {"return", "returns", "reward", "rewards", "elo", "psnr", "snr", "db"}
_VALUES = {"value", "values", "mean", "avg", "average", "score", "metric", "objective", "result", "y", "0"}
_COUNTING = {
    "n", "num", "size", "count", "samples", "examples", "time", "sec", "seconds", "step", "steps", "epoch",
    "epochs", "every", "interval", "batch", "batches", "freq", "lines", "seqs", "tokens",
}  # fmt: skip
_SHARED = {*OF_SETS, "pct", "percent"} - {*TRAIN}  # cells in percent under such a name are shares of data
# fraction of ImageNet, but not of the parameters that are trained
_PART_OF = re.compile(
    r"(?:fraction|frac|share|portion|proportion|percent(?:age)?|pct)[ _]of[ _]"
    r"(?!.*(?:param|layer|weight|flop|compute|step|epoch|neuron|unit|class|expert|label noise))",
    re.IGNORECASE,
)
_WITHOUT = {"non", "nonembedding", "excl", "excluding", "without"}
_HOURS, _OF_SPEECH = {"hours", "hrs", "h"}, {"audio", "speech", "transcribed"}
# of which units in cells count no data of a training: "Context: 2k tokens"
_OF_ONE_STEP = {"batch", "context", "ctx", "seq", "sequence", "length", "window", "block", "vocab", "max"}


@dataclass(frozen=True)
class Meaning:
    """A candidate meaning of a column.

    Attributes:
        column, role: its name there, and the standard one.
        evidence: from name, unit and values; below zero it counts only if it fills a missing part.
        needs: standard names of which the table must have one.
        without: standard names that the table must not have.
        followed: whether a measurement must rise or fall with the values.
        direction: whether values must rise (1) or fall (−1) with every size.
        unit: of the values, where it is not the usual one.
        only: whether its name is no standard measurement; a note says so.
    """

    column: str
    role: str
    evidence: float
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    followed: bool = False
    direction: int = 0
    unit: str = ""
    only: bool = False


@dataclass(frozen=True)
class Meanings:
    """The meanings of a table.

    Attributes:
        chosen: one of each column that has one.
        open: meanings that several columns have equally well: nothing was chosen.
    """

    chosen: tuple[Meaning, ...]
    open: tuple[tuple[Meaning, ...], ...] = ()


def measured(frame: pd.DataFrame, column: str) -> Quantity | None:
    """What a column of numbers measures by its name; None for a spread, a weight, a gap, a flag."""
    found = quantity(column) if is_numeric(frame[column]) and frame[column].dtype != bool else None
    return None if found is None or found.is_spread or {*found.others} & NO_MEASUREMENT else found


def meanings(
    frame: pd.DataFrame, asked: Collection[str], cells: Mapping[str, Numbers], kept: Collection[str] = ()
) -> Meanings:
    """Choose the meanings of all columns.

    Args:
        frame: the table; a column of a standard name has its meaning already.
        asked: columns whose meaning was given.
        cells: what was written beside the numbers, by column.
        kept: columns that keep their names where nothing but their values says what they are.

    >>> table = pd.DataFrame({"size": [2e7, 9e7], "tokens": [1e9, 2e9], "wiki loss": [3.1, 2.9]})
    >>> [(each.column, each.role) for each in meanings(table, (), {}).chosen]
    [('size', 'n_params'), ('wiki loss', 'test_loss')]
    """
    table = _Table(frame, asked, cells)
    named = [*table.by_name(), *table.by_unit(), *table.sizes(), *table.measurements()]
    return table.best([*named, *table.by_values(kept)])


class _Table:
    """A table, the evidence of its columns, and the choice between them."""

    def __init__(self, frame: pd.DataFrame, asked: Collection[str], cells: Mapping[str, Numbers]) -> None:
        self.frame, self.cells = frame, cells
        self.free = [c for c in frame if c not in asked]
        self.others = [c for c in self.free if c not in STANDARD or c == "accuracy"]  # of the test, if alone
        self.known = [c for c in frame if c not in self.others or c == "train_accuracy"]
        self.names = aliases(self.free)
        taken = {c for columns in self.names.values() for c in columns}
        for column in (c for c in self.others if SUBSCRIPT.fullmatch(c) and c not in taken):
            role, least = ("n_params", FEWEST_OF_N) if column[0] == "N" else ("tokens", FEWEST_TOKENS)
            if self._reaches(column, least) and not {*bare(column).split("_")} & {*TRAIN}:
                self.names.setdefault(role, []).append(column)
        self._ranks: dict[tuple[str, str], float] = {}

    # --- evidence ----------------------------------------------------------------------------------

    def by_name(self) -> Iterable[Meaning]:
        """Meanings by the names and rules of `curves.names`, where the values allow them."""
        for ours, columns in self.names.items():
            active, _ = counted_twice(columns) if ours == "n_params" else ([], [])
            whole = sorted(columns, key=lambda c: bool(_WITHOUT & {*bare(c).split("_")}))  # all, then a part
            for place, column in enumerate(whole):
                few = column == "D" and not self._reaches("D", FEWEST_TOKENS)
                planned = is_setting(column)  # of the whole run
                if planned and ours in CHECKPOINT:
                    continue
                role = "n_data" if few or (planned and ours == "examples") else ours
                if role in self.frame or not self._can_be(role, column):
                    continue
                of_part = is_share(column)  # of the data, where no column counts them
                constant = role in (*SIZES, *MEASURES) and self.frame[column].nunique() < 2
                equal = active and not self._proportional(active[0], column)  # active or all parameters?
                equal = bool(equal) or column in active or (place == 1 and self._best_and_last(*whole[:2]))
                evidence = BY_NAME - NEXT * (0 if equal else place) - CONSTANT * constant
                evidence = evidence if not of_part else OF_A_SHARE
                yield Meaning(column, role, evidence, without=("tokens", "examples") if of_part else ())

    def by_unit(self) -> Iterable[Meaning]:
        """Meanings by the unit in cells: "1 billion tokens" in a column "Training data"."""
        for column in [c for c in self.cells if c in self.others]:
            unit = self.cells[column].unit
            name = "" if column.startswith("Unnamed: ") or column == "table" else column
            words, cells = {*bare(name).split("_")} - {""}, self.cells[column]
            if cells.percent and cells.spread is None and words <= _SHARED:
                yield Meaning(column, "n_data", OF_A_SHARE, without=SIZES)
            for role, _ in size_by_words(f"{name} {UNITS[unit]}") if unit in UNITS else ():
                yield Meaning(column, role, BY_UNIT)
            free = (
                unit in OF_UNITS and not roles(name) and not words & _OF_ONE_STEP and self._is_count(column)
            )
            if free and likely_size(f"{name} {UNITS[unit]}", OF_UNITS[unit]) > 1:  # Pretrain set: 14M imgs
                yield Meaning(column, OF_UNITS[unit], -0.5)

    def sizes(self) -> Iterable[Meaning]:
        """Letters, words that say a size less certainly, hours of speech: by their values, too."""
        for letter, (role, least) in LETTERS.items():
            if letter in self.others and self._reaches(letter, least):
                yield Meaning(letter, role, BY_LETTER)
        if "n" in self.others and is_numeric(self.frame["n"]):
            if self.frame["n"].min() >= FEWEST_PARAMS:
                yield Meaning("n", "n_params", BY_LETTER, needs=("tokens",))
            if self._counts_alone("n"):
                yield Meaning("n", "n_data", BY_LETTER - 1, without=SIZES)
        if (
            "size" in self.others
            and is_numeric(self.frame["size"])
            and self.frame["size"].min() >= FEWEST_OF_N
        ):
            yield Meaning("size", "n_params", -1.0)
        speech = any({*bare(c).split("_")} & {*OTHER_ERROR} for c in self.frame)
        tested = any(bare(c) in TEST for c in self.frame)
        results = [
            c for c in self.others if tested and bare(c) in TRAIN and not self._reaches(c, MOST_PERCENT)
        ]
        for column in (c for c in self.others if c not in results):  # `train` beside `val` is none
            for role in ("n_params", "tokens", "n_data", "compute"):
                certain = role == "n_data" and counts_examples(column)
                fit = CERTAIN - 1 if certain else likely_size(column, role)
                if fit and self._is_count(column):
                    large = role == "tokens" and self.frame[column].min() >= FEWEST_TOKENS
                    yield Meaning(column, role, fit - CERTAIN, followed=fit == 1 and not large)
            words = {*bare(column).split("_")}
            of_data = words & {*_OF_SPEECH, "labelled", "labeled", "data"} or speech
            cells = column in self.cells and self.cells[column].unit == "hours"
            hours = (cells or words & _HOURS) and words <= _HOURS | OF_SETS | _OF_SPEECH
            if hours and of_data and is_numeric(self.frame[column]):
                yield Meaning(column, "n_data", BY_UNIT if cells else -0.5, unit="hours")
            if _PART_OF.match(column) and self._is_part(column):
                yield Meaning(column, "n_data", OF_A_SHARE - 0.5, without=SIZES, followed=True)
            if "years" in words and words <= {"years", "of"} | OF_SETS and self._is_count(column):
                yield Meaning(column, "n_data", -0.5, unit="years")  # of observations, to train on

    def measurements(self) -> Iterable[Meaning]:
        """Measurements of no named split, of a named data set, of a perplexity, of no known name.

        Beside another measurement, a loss too, a column `error` may be that one's standard error; beside one
        of the training it may be of the training, too.
        """
        found = {c: q for c in self.others if (q := measured(self.frame, c)) is not None}
        found = {c: q for c, q in found.items() if q.kind != "perplexity" or not self._is_of_loss(c)}
        found = {c: q for c, q in found.items() if self.frame[c].nunique() > 1} or found
        losses = [c for c, q in found.items() if q.kind == "loss" and q.others and not q.split]
        if len(losses) > 1 and any(
            "total" in found[c].others for c in losses
        ):  # of the training, and its parts
            found = {c: q for c, q in found.items() if c not in losses} or found
        roles = {"accuracy": "test_accuracy", "error": "test_error"}
        order = {"accuracy": 1.0, "loss": 2.0, "bits": 2.0, "perplexity": 2.9, "error": 3.0}
        for column, q in found.items():
            ln = q.kind == "perplexity"
            if not self._can_be(roles.get(q.kind, "test_loss"), column) or (
                ln and self.frame[column].min() < 1
            ):
                continue
            if q.others and q.split != "train":
                role = roles.get(q.kind, "test_loss")
                evidence = -4.0 if role == "test_loss" else -4.5  # laws are of losses first
                yield Meaning(column, role, evidence, without=() if q.split else TRAINED, only=True)
            elif not q.split:
                evidence = -order[q.kind] - 0.06 * q.rank
                beside = q.kind in roles and f"train_{bare(column)}" in map(bare, self.frame)  # train_top1
                alone = sum(not other.split and not other.others for other in found.values()) == 1
                beside |= alone and bare(column) != "loss"  # final loss beside train loss
                yield Meaning(column, roles.get(q.kind, "loss"), evidence, without=() if beside else TRAINED)
            elif ln:
                yield Meaning(column, q.name, BY_NAME - 1 - 0.06 * q.rank)
        whole = {c: q for c in self.frame if (q := measured(self.frame, c)) and not q.split and not q.others}
        for column in (c for c in self.others if bare(c) in TEST and is_numeric(self.frame[c])):
            alike = [q.name for c, q in whole.items() if self._is_like(column, c)]
            if len(alike) == 1:  # `val` beside `loss`
                yield Meaning(column, f"test_{alike[0]}", BY_NAME - 1)
        for column in (
            c for c in self.others if re.fullmatch(r"L(_(min|opt|best|final|val|test))?", without_prefix(c))
        ):
            if is_numeric(self.frame[column]) and all(q.split == "train" for q in found.values()):
                yield Meaning(column, "loss", -4.0)
        plain = [c for c in self.others if is_numeric(self.frame[c]) and not is_seed(c)]
        plain = [c for c in plain if quantity(c) is None and not {*bare(c).split("_")} & NO_MEASUREMENT]
        words = {c: {*bare(c).split("_")} for c in plain if self.frame[c].nunique() > 1}
        of_test = [c for c, each in words.items() if each & {*TEST} and not each & _COUNTING]
        unnamed = [c for c in of_test if "test" in words[c]] or of_test
        for column in unnamed or [c for c, each in words.items() if each <= _VALUES]:
            yield Meaning(column, "loss", -5.0, without=TRAINED, direction=-1, only=True)
            if self.frame[column].max() <= 100 and not words[column] & NO_SHARE:
                yield Meaning(column, "test_accuracy", -5.0, without=TRAINED, direction=1, only=True)

    def by_values(self, kept: Collection[str]) -> Iterable[Meaning]:
        """Columns with unknown names: a size written as 19M, or one that a measurement follows."""
        numeric = [c for c in self.frame if is_numeric(self.frame[c])]
        by_model = any(names_sizes(self.frame[c]) for c in self.frame if c not in numeric)
        taken = {*kept, *(c for columns in self.names.values() for c in columns)}
        for column in (c for c in self.others if c in numeric and c not in taken and not is_seed(c)):
            words = {*bare(column).split("_")}
            if words & {"hours", "days"} and len(words) > 1 and self._is_count(column):  # GPU hours
                yield Meaning(column, "compute", BY_VALUES - 2, without=SIZES, followed=True, unit=column)
            if quantity(column) is not None or words & (NO_MEASUREMENT | NO_RESULT):
                continue
            if "to" in words:  # steps to a loss are a result
                continue
            if any(likely_size(column, size) for size in ("n_params", "tokens", "n_data")):
                continue
            values = self.frame[column]
            positive = values[values > 0]
            large = values.min() >= FEWEST_OF_N and not any(w.endswith("s") for w in words)  # no env_steps
            scaled = column in self.cells and self.cells[column].scaled is not None
            recurs = 2 * values.nunique() <= len(values)  # at other data, as no time does
            if large and (scaled or (recurs and self._has(DATA))):
                if self._crosses(column, DATA):
                    yield Meaning(column, "n_params", BY_VALUES, followed=not scaled)
                if self._crosses(column, ("n_params",)):
                    yield Meaning(column, "tokens", BY_VALUES - 0.5, needs=("n_params",))
            elif self._is_count(column) and not by_model and values.max() >= SOME_RANGE * positive.min():
                named = re.fullmatch(r"[A-Za-z][\w /-]{2,}", column) and not words & {"size", "value"}
                large = large and values.max() < MOST_PARAMS and not words & {*TRAIN}
                role, unit = ("n_params", "") if large else ("n_data", column if named else "")
                yield Meaning(column, role, BY_VALUES - 2, without=SIZES, followed=True, unit=unit)

    # --- values ------------------------------------------------------------------------------------

    def _can_be(self, role: str, column: str) -> bool:
        """Whether values can have a role: a learning rate that decays is no setting."""
        values = self.frame[column]
        if role == "run":
            if values.nunique() < 2 < len(values) and not any(c in self.names for c in CHECKPOINT):
                return False  # the name of them all
            return bare(column) not in ("name", "job_name", "checkpoint_name") or self._identifies(column)
        if role in ("model", "dataset", "optimizer"):
            return not is_numeric(values)
        if is_share(column) and values.nunique() < 2:
            return False
        if role in ACCURACIES and is_numeric(values):  # a score of 900 is none
            return bool(values.min() >= 0 and values.max() <= 100)
        if (role in PROGRESS or (role in SETTING and role not in TEXT)) and not is_numeric(values):
            return False
        scheduled = role in ("n_data", "learning_rate")  # or seen so far
        return role not in SETTING or scheduled or not self._changes_within_runs(column)

    def _changes_within_runs(self, column: str) -> bool:
        run = "run" if "run" in self.frame else next(iter(self.names.get("run", [])), None)
        return run is not None and bool((self.frame.groupby(run, dropna=False)[column].nunique() > 1).any())

    def _identifies(self, column: str) -> bool:
        """Whether a column called `name` names runs: with the checkpoint it tells every row apart."""
        steps = [c for ours, found in self.names.items() if ours in PROGRESS for c in found]
        keys = list(dict.fromkeys([column, *steps]))
        return bool(self.frame[column].notna().all() and not self.frame.duplicated(keys).any())

    def _reaches(self, column: str, least: float) -> bool:
        return is_numeric(self.frame[column]) and bool(self.frame[column].max() >= least)

    def _proportional(self, one: str, other: str) -> bool:
        pair = [self.frame[c] for c in (one, other)]
        return not all(map(is_numeric, pair)) or (pair[0] / pair[1]).nunique() <= 1

    def _best_and_last(self, one: str, other: str) -> bool:
        """Whether two columns are the best and the last of the same values: where they differ, either."""
        ranks = {q.rank for q in map(quantity, (one, other)) if q is not None}
        return ranks == {LAST, BEST} and not self.frame[one].equals(self.frame[other])

    def _is_of_loss(self, column: str) -> bool:
        """Whether another column has the logarithm of a perplexity."""
        with np.errstate(all="ignore"):
            logs = np.log(self.frame[column].to_numpy(float))
        losses = [
            c
            for c in self.frame
            if (q := measured(self.frame, c)) and q.kind == "loss" and q.split != "train"
        ]
        both = [np.isfinite(logs) & self.frame[c].notna() for c in losses]
        return any(
            known.sum() > 1 and np.allclose(logs[known], self.frame[c][known], rtol=SAME_LOSS)
            for c, known in zip(losses, both)
        )

    def _is_like(self, one: str, other: str) -> bool:
        """Whether two columns may measure the same, on other data: in the median within a factor of two."""
        ratio = float((self.frame[one] / self.frame[other]).median())
        return self.frame[one].nunique() > 1 and 0.5 < ratio < 2

    def _is_count(self, column: str) -> bool:
        """Whether values can be those of a size: they vary, none is negative, and they are no shares."""
        values = self.frame[column]
        return is_numeric(values) and values.nunique() > 1 and bool(values.min() >= 0 and values.max() > 1)

    def _is_part(self, column: str) -> bool:
        """Whether values can be shares: of 1, more than one of them."""
        values = self.frame[column]
        return is_numeric(values) and values.nunique() > 1 and bool(values.min() > 0 and values.max() <= 1)

    def _has(self, roles: Iterable[str]) -> list[str]:
        """The columns that may be sizes of these roles by their names."""
        return [c for role in roles for c in (role, *self.names.get(role, [])) if c in self.frame]

    def _crosses(self, column: str, roles: Iterable[str]) -> bool:
        """Whether a column varies at one value of a size of these roles, where the table has one."""
        named = (c for c in self._has(roles) if c != column)
        return all((self.frame.groupby(c)[column].nunique() > 1).any() for c in named)

    def _counts_alone(self, column: str) -> bool:
        """Whether a measurement follows a column, and no other counts anything."""
        others = [c for c in self.others if any(likely_size(c, size) for size in NOUNS)]
        letters = [c for c in self.frame if len(c) == 1 and c != column and self.frame[c].nunique() > 1]
        return not others and not letters and self._is_count(column) and self._is_followed(column)

    def _is_followed(self, column: str, others: Collection[str] = ()) -> bool:
        """Whether a measurement, one by its name or among others, rises or falls with a column."""
        numeric = [c for c in self.frame if is_numeric(self.frame[c]) and c != column]
        each = [c for c in numeric if c in (*MEASURES, *ACCURACIES, *others) or measured(self.frame, c)]
        free = [c for c in numeric if not is_seed(c) and not {*bare(c).split("_")} & (NO_RESULT | SPREADS)]
        each = each or (free if len(free) == 1 else [])  # the only column that can be measured
        return any(abs(self._rank(column, c)) > CLEAR_RANK for c in each)

    def _rank(self, one: str, other: str) -> float:
        if (one, other) not in self._ranks:
            varies = self.frame[[one, other]].dropna().nunique().min() > 1
            rank = rank_correlation(self.frame[one], self.frame[other]) if varies else 0.0
            self._ranks[one, other] = float(rank)
        return self._ranks[one, other]

    # --- the choice --------------------------------------------------------------------------------

    def best(self, candidates: Iterable[Meaning]) -> Meanings:
        """The assignment with the most evidence, and the choices that stay open."""
        by_role: dict[str, dict[str, Meaning]] = {}
        for each in candidates:
            before = by_role.setdefault(each.role, {}).get(each.column)
            if each.role not in self.frame and (before is None or before.evidence < each.evidence):
                by_role[each.role][each.column] = each
        kept: list[tuple[float, tuple[Meaning, ...]]] = [(0.0, ())]
        for options in by_role.values():
            ranked = sorted(options.values(), key=lambda m: -m.evidence)[:8]
            more = [
                (total + each.evidence, (*chosen, each))
                for total, chosen in kept for each in ranked if all(c.column != each.column for c in chosen)
            ]  # fmt: skip
            kept = sorted([*kept, *more], key=lambda k: -k[0] - self._parts(k[1]))[:MOST_KEPT]
        scored = [
            (total + joint, chosen) for total, chosen in kept if (joint := self._together(chosen)) > -np.inf
        ]
        scored.sort(key=lambda k: -k[0])
        top, chosen = scored[0]
        rivals = [other for total, other in scored[1:] if total > top - CLOSE]
        doubtful: dict[tuple[str, ...], dict[str, Meaning]] = {}
        for part in PARTS:
            mine = [m for m in chosen if m.role in part]
            for other in rivals:
                theirs = [m for m in other if m.role in part]
                if {m.column for m in theirs} != {m.column for m in mine}:
                    doubtful.setdefault(part, {}).update({m.column: m for m in (*mine, *theirs)})
        taken = tuple(m for m in chosen if not any(m.column in each for each in doubtful.values()))
        order = [*self.frame.columns].index
        ways = (sorted(each.values(), key=lambda m: order(m.column)) for each in doubtful.values())
        return Meanings(taken, tuple(map(tuple, ways)))

    def _parts(self, chosen: Iterable[Meaning]) -> float:
        there = {*self.known, *(m.role for m in chosen)}
        return OF_A_PART * sum(1 for part in PARTS if there & {*part})

    def _together(self, chosen: tuple[Meaning, ...]) -> float:
        """Evidence for an assignment as a whole; minus infinity if it contradicts itself."""
        there = {c: c for c in self.known} | {m.role: m.column for m in chosen}
        for m in chosen:
            others = {*there} - {m.role}
            if (m.needs and not others & {*m.needs}) or others & {*m.without}:
                return -np.inf
            if m.direction and m.direction != self._direction(m.column, there):
                return -np.inf
            if m.followed and not self._is_followed(m.column, [there[y] for y in MEASURED if y in there]):
                return -np.inf
        three = [
            there.get(name) for name in ("compute", "n_params", "tokens" if "tokens" in there else "n_data")
        ]
        evidence = self._parts(chosen)
        if all(c is not None and is_numeric(self.frame[c]) for c in three):
            c, n, d = (self.frame[name].to_numpy(float) for name in three if name is not None)
            with np.errstate(all="ignore"):
                ratio = np.log(c / (FLOPS_PER_PARAM_EXAMPLE * n * d))
            ratio = ratio[np.isfinite(ratio)]
            evidence += CONSISTENT * bool(len(ratio) > 2 and ratio.std() < SAME_FLOPS)
        return evidence

    def _direction(self, column: str, there: Mapping[str, str]) -> int:
        """Whether values rise (1) or fall (−1) with every size that varies; 0 where that is not clear."""
        sizes = [there[s] for s in SIZES if s in there and is_numeric(self.frame[there[s]])]
        ranks = [self._rank(c, column) for c in sizes if c != column and self.frame[c].nunique() > 1]
        if not ranks or max(map(abs, ranks)) < CLEAR_RANK or min(ranks) * max(ranks) < 0:
            return 0
        return 1 if max(ranks) > 0 else -1
