"""Check whether a table may mean something else than was read; if so, refuse it with the choices.

The meaning of columns was inferred from names, units and values. Before a law is fitted to columns that the
caller did not name, these alternatives are checked:

- sizes: tokens per parameter, or FLOPs per parameter and token, that no run has; a unit in the name that was
  not understood; rows without a size; another column of unknown name that the result follows as closely;
- the result: values that no loss has; a training result beside one of the test; a setting; no dependence on
  the sizes; another column of unknown name that follows the sizes as well.

Columns named by the caller, or clearly named in the table, are not questioned.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from scalinglab.curves import PROGRESS, Curves
from scalinglab.curves.columns import (
    CLEAR_RANK,
    FLOPS_PER_PARAM_EXAMPLE,
    SOURCES,
    explained_by_ranks,
    is_numeric,
    is_seed,
    rank_correlation,
)
from scalinglab.curves.names import SPREADS, TEST, aliases, bare, is_setting, quantity
from scalinglab.curves.reading import ColumnRead
from scalinglab.errors import NotDetermined
from scalinglab.readers.tables.headers import counts_examples, header, is_size
from scalinglab.readers.tables.meanings import NO_MEASUREMENT, NO_RESULT
from scalinglab.readers.tables.remarks import NOTES
from scalinglab.readers.tables.runs import FEWEST_CHECKPOINTS
from scalinglab.results.types import Reason

SEARCHED = ("normalized_noise_scale", "noise_scale", "noise", "learning_rate", "batch_size")  # by laws noise
FEWEST = 1e4  # tokens of a training, parameters of a network: fewer may be in a larger unit
FEWEST_WHOLE = 10.0  # a number of examples that is no whole one, as 1.28, may be in a larger unit
FEWEST_EXAMPLES = 1e3  # beside as few parameters
FEWEST_PARAMS, MOST_IN_MILLIONS = 1e3, 1e6  # of the smallest and largest model, alone or beside tokens
OTHER_COUNT = 0.05  # of ln FLOPs, by which a table counts them otherwise
OTHER_UNIT = 100.0  # times more or fewer FLOPs than 6 n_params n_data: one of the three is in another unit
TOKENS_OF_A_PARAM = (0.05, 1e5)  # in the median run of a study; single ones have 0.03 to 3e5
LARGEST_LOSS = 14.0  # nats: ln of a vocabulary of a million; more is a perplexity, a percentage or a sum
FEWEST_TO_FOLLOW = 5  # points, of which chance alone makes few follow
LEAST_FOLLOWED = 0.3  # of the variance of y's ranks that its sizes explain where they are sizes at all
LESS_CLOSELY = 0.1  # by which a rank correlation may be lower than that of the column that was taken
SAME_RESULT = 0.05  # in the median, by which a mean differs from its seeds
LONGER = 1.5  # times the steps of the shortest run of a size, from which on lengths are another variable
FEWEST_STEPS = 5  # rows of a run from which on numbers that rise in each are its steps
FEWEST_LOST, MOST_LOST = 3, 0.1  # results of a text that the table lacks: how many, and as a share
MOST_OF_A_TEXT = 1 << 20  # bytes of which every number is looked for
TEXTS = ("", ".csv", ".tsv", ".txt", ".log", ".md", ".tex", ".out", ".py", ".dat")
MOST_MISSING = 0.2  # of the runs lack a size
# marks of a unit in a name: brackets, a multiple, a letter or an abbreviation at the end
_MARKS = re.compile(
    r"[\[(](?!n[\])])[^\])]{1,4}[\])]|[/×*^x] ?1(?:0|e\d)|[\[(][^\])]*\d|\bin \d"
    r"|(?<=[ _])(?:in )?(?:[kKMBGT]|MM|bn|mio|mil|mln|mrd|tsd)\.?$",
    re.IGNORECASE,
)
_RESULT = re.compile(r"(?<![\w.,:-])\d+\.\d{2,}(?![\w:]|[.,]\d)")  # not 1.2 or 0.001s
_MULTIPLE = re.compile(r"[x×*/] ?1(?:0+\b|e)|‰|\b1e[-+]?\d", re.IGNORECASE)  # of a result


@dataclass(frozen=True)
class Question:
    """The columns used as sizes and result, and the rest of the table.

    Attributes:
        curves: the table.
        sizes: values by column, of the points.
        y: the column of the result.
        values: its values.
        units: what each size counts.
        lost: points that lack a size.
    """

    curves: Curves
    sizes: Mapping[str, np.ndarray]
    y: str
    values: np.ndarray
    units: Mapping[str, str]
    lost: int = 0

    def column(self, name: str) -> ColumnRead | None:
        """How a column was read (for an error, its accuracy); None if it was not read from a table."""
        columns = () if self.curves.reading is None else self.curves.reading.columns
        names = (name, name.replace("error", "accuracy"))
        return next((c for each in names for c in columns if c.ours == each and c.theirs), None)

    def is_guessed(self, name: str) -> bool:
        """Whether values alone say what a column is."""
        return (found := self.column(name)) is not None and not found.sure

    def in_percent(self, name: str) -> bool:
        """Whether a column is named as one of percent, as scores are."""
        return (found := self.column(name)) is not None and header(found.theirs).percent

    @cached_property
    def others(self) -> list[str]:
        """Numeric columns of unknown names that vary: other candidates for a size or the result."""
        columns = () if self.curves.reading is None else self.curves.reading.columns
        names = [c.ours for c in columns if c.role == "measured" and c.varies and c.theirs]
        taken, frame = (*self.sizes, self.y), self.curves.frame
        free = [c for c in dict.fromkeys(names) if c in frame and c not in taken and quantity(c) is None]
        free = [c for c in free if is_numeric(frame[c]) and not is_seed(c)]
        return [c for c in free if not {*bare(c).split("_")} & (NO_MEASUREMENT | NO_RESULT | SPREADS)]

    @property
    def unread(self) -> Iterator[str]:
        """Columns with the name of a size whose values are not numbers."""
        columns, frame = () if self.curves.reading is None else self.curves.reading.columns, self.curves.frame
        texts = (c for c in columns if c.varies and not (c.ours in frame and is_numeric(frame[c.ours])))
        return (c.theirs for c in texts if c.theirs and (is_size(c.theirs) or counts_examples(c.theirs)))

    def rank(self, one: str, other: str) -> float:
        """How closely one column follows another."""
        frame = self.curves.frame
        return abs(rank_correlation(frame[one], frame[other]))

    def follows(self, column: str) -> float:
        """How closely a column follows the size that it follows most."""
        return max(self.rank(column, name) for name in self.sizes)

    def restates(self, column: str, by: float = SAME_RESULT) -> bool:
        """Whether a column repeats the result, such as the mean over seeds."""
        ratio = self.curves.frame[column] / self.curves.frame[self.y]
        return bool(np.log(ratio[ratio > 0]).abs().median() < by)

    @cached_property
    def explained(self) -> float:
        """The share of the variance of the result's ranks that the ranks of the sizes explain."""
        return explained_by_ranks(self.values, [*self.sizes.values()])


Doubts = Iterator[Reason]


def small_sizes(asked: Question) -> Doubts:
    """Sizes too small for any run: probably in millions or billions, without a unit in the name."""
    ends = {
        name: (float(np.nanmin(v)), float(np.nanmax(v)))
        for name, v in asked.sizes.items() if np.isfinite(v).any()
    }  # fmt: skip
    units = asked.units
    doubtful = [name for name, (_, high) in ends.items() if units[name] == "tokens" and high < FEWEST]
    if "n_data" in ends and units["n_data"] == "examples":
        parts = bool((asked.sizes["n_data"] % 1 > 0).any())
        low, high = ends["n_data"]
        doubtful += ["n_data"] if parts and low < FEWEST_WHOLE < high else []
    if "n_params" in ends:
        (low, high), parts = ends["n_params"], bool((asked.sizes["n_params"] % 1 > 0).any())
        if units.get("n_data", "tokens") == "tokens":
            few = high < MOST_IN_MILLIONS and (low < FEWEST_PARAMS or parts)
        else:
            few = high < FEWEST and (ends["n_data"][1] < FEWEST_EXAMPLES or parts)
        doubtful += ["n_params"] if few else []
    for name in doubtful:
        (low, high), found = ends[name], asked.column(name)
        theirs = name if found is None else found.theirs
        code = "small_n" if theirs == "N" and not parts else "small_sizes"
        sizes = ",".join(asked.sizes)
        yield Reason(code, low=low, high=high, column=theirs, unit=units[name], sizes=sizes)


def other_ratio(asked: Question) -> Doubts:
    """Tokens per parameter, or FLOPs per parameter and token, that no run has."""
    frame = asked.curves.frame
    if not {"n_params", "n_data"} <= {*frame} or asked.curves.data_unit != "tokens":
        return
    sizes = ",".join(asked.sizes)
    per = float((frame["n_data"] / frame["n_params"]).median())
    if np.isfinite(per) and not TOKENS_OF_A_PARAM[0] < per < TOKENS_OF_A_PARAM[1]:
        yield Reason("tokens_of_a_param", per=per, sizes=sizes)
    if "compute" in frame and is_numeric(frame["compute"]):
        flops = FLOPS_PER_PARAM_EXAMPLE * frame["n_params"] * frame["n_data"]
        ratio = float((frame["compute"] / flops).median())
        if ratio > 0 and np.isfinite(ratio) and abs(np.log(ratio)) > np.log(OTHER_UNIT):
            yield Reason("flops_of_a_param", ratio=ratio, sizes=sizes)


def unknown_unit(asked: Question) -> Doubts:
    """A unit in the name of a size or of the result that was not understood."""
    for name in (*asked.sizes, asked.y):
        found = asked.column(name)
        if found is None or found.change or found.theirs == name or found.unit == "hours":
            continue
        marks, plain = (_MULTIPLE, ()) if name == asked.y else (_MARKS, aliases([found.theirs]))
        if not plain and marks.search(found.theirs) and header(found.theirs).unit == "":
            yield Reason(
                "unknown_unit", column=found.theirs, first=shlex.quote(name), what="xy"[name == asked.y]
            )


def lacking_sizes(asked: Question) -> Doubts:
    """Rows with a result but no size, which may be written elsewhere, such as above a group of rows."""
    whole = asked.lost + len(asked.values)
    if asked.lost > MOST_MISSING * whole:
        yield Reason("sizes_lacking", sizes=",".join(asked.sizes), lost=asked.lost, rows=whole)


def other_size(asked: Question) -> Doubts:
    """A size recognised by values alone, while another column is called a size or the result follows it."""
    for name in asked.sizes:
        if not asked.is_guessed(name):
            continue
        own = asked.rank(name, asked.y)
        close = max(CLEAR_RANK, own - LESS_CLOSELY)
        rivals = [
            c for c in asked.others if asked.curves.frame[c].min() >= 0 and asked.rank(c, asked.y) > close
        ]
        if rivals:
            yield _choice("other_size", name, rivals, asked)
        elif unread := next(asked.unread, ""):
            yield _choice("size_unread", name, [unread], asked)


def other_result(asked: Question) -> Doubts:
    """A result that its name does not confirm, while another column follows the sizes as well."""
    if asked.is_guessed(asked.y) or quantity(asked.y) is None:
        own = asked.follows(asked.y)
        rivals = [c for c in asked.others if asked.follows(c) > max(CLEAR_RANK, own - LESS_CLOSELY)]
        rivals = [c for c in rivals if (asked.curves.frame[c] % 1 > 0).any()]  # no counts
        own = _of_test(asked.y if (found := asked.column(asked.y)) is None else found.theirs)
        rivals = [c for c in rivals if _of_test(c) <= own or asked.in_percent(c)]
        if rivals := [c for c in rivals if not asked.restates(c)]:
            yield _choice("other_result", asked.y, rivals, asked)


def _of_test(name: str) -> int:
    """How clearly a name says that a column is of the test: 0 as the test, 1 as the validation, 2 not."""
    words = {*bare(name).split("_")}
    return 0 if "test" in words else 1 if words & {*TEST} else 2


def of_training(asked: Question) -> Doubts:
    """A result of the training beside a column that may be of the test."""
    found = quantity(asked.y)
    if found is not None and found.split == "train":
        rivals = [c for c in asked.others if _of_test(c) < 2 or asked.restates(c, by=1.0)]
        if rivals:
            yield _choice("other_result", asked.y, rivals, asked)


def no_result(asked: Question) -> Doubts:
    """A result with impossible values, a setting, or a column that does not follow the sizes."""
    found, kind = asked.column(asked.y), quantity(asked.y)
    low, high = float(np.nanmin(asked.values)), float(np.nanmax(asked.values))
    ends = {"y": asked.y if found is None else found.theirs, "low": low, "high": high}
    largest = high if asked.is_guessed(asked.y) else float(np.nanmedian(asked.values))
    is_loss = (
        kind is not None
        and kind.kind == "loss"
        and (asked.curves.data_unit == "tokens" or asked.is_guessed(asked.y))
    )
    if (is_loss and largest > LARGEST_LOSS) or (asked.is_guessed(asked.y) and low <= 0):
        yield Reason("no_loss", **ends)
    if kind is not None and {*kind.others} & NO_MEASUREMENT:  # a gain over a baseline
        yield Reason("difference_as_result", **ends)
    if found is not None and kind is None and is_setting(found.theirs):
        yield Reason("setting_as_result", **ends)
    if len(asked.values) >= FEWEST_TO_FOLLOW and asked.explained < LEAST_FOLLOWED:
        searched = [c for c in SEARCHED if c in asked.curves.frame and asked.curves.frame[c].nunique() > 1]
        search = (
            f"; 'laws noise --x {searched[0]}' finds the best {searched[0]} of every width"
            if searched
            else ""
        )
        of_size = {"sizes": ",".join(asked.sizes), "explained": asked.explained, "search": search}
        yield Reason("does_not_follow", **of_size, **ends)


def _choice(code: str, name: str, rivals: list[str], asked: Question) -> Reason:
    found = asked.column(name)
    theirs = name if found is None else found.theirs
    return Reason(code, column=theirs, others=tuple(rivals), first=shlex.quote(name))


def rows_of_runs(asked: Question) -> Doubts:
    """Rows of one run that differ in another column than the step: their best is no result of the run."""
    frame, columns = asked.curves.frame, asked.curves.reading.columns if asked.curves.reading else ()
    if not any(c.ours == "run" and c.theirs for c in columns):
        return
    within = frame.groupby("run", dropna=False)
    if any(c in frame and (within[c].nunique() > 1).any() for c in (*PROGRESS, *asked.sizes)):
        return
    kinds = [c.ours for c in columns if c.role in ("setting", "measured") and quantity(c.ours) is None]
    kinds = [c for c in kinds if c in frame and 1 < frame[c].nunique() <= len(frame) / 2]
    steps = within.size().median() >= FEWEST_STEPS  # training_iteration: 1, 2, 3, …
    kinds = [
        c for c in kinds if not (steps and is_numeric(frame[c]) and (within[c].diff().dropna() > 0).all())
    ]
    if found := [c for c in kinds if (within[c].nunique() > 1).all()]:
        first = shlex.quote(f"{found[0]}={frame[found[0]].iloc[0]}")
        yield Reason("rows_of_runs", column=found[0], values=frame[found[0]].nunique(), first=first)


def rising_rows(asked: Question) -> Doubts:
    """Rows of one size along which another column rises like a step: they are not repeats."""
    frame = asked.curves.frame
    of_size = frame.groupby([*asked.sizes])
    if len(of_size) < 2 or of_size.size().median() < FEWEST_CHECKPOINTS:
        return
    if of_size["run"].nunique().max() < 2 or (of_size[asked.curves.progress_columns].nunique() > 1).any(
        axis=None
    ):
        return
    for column in asked.others:
        if (of_size[column].diff().dropna() > 0).all():
            yield Reason("rising_rows", column=column, sizes=",".join(asked.sizes))


def other_lengths(asked: Question) -> Doubts:
    """Runs of one n_params that end at different steps, with no column for the data they saw."""
    frame = asked.curves.frame
    if {*asked.sizes} == {"n_params"} and "step" in frame:
        ends = frame.groupby(["n_params", "run"])["step"].max().groupby("n_params")
        if (ends.max() > LONGER * ends.min()).all():
            yield Reason("other_lengths", first=float(ends.min().iloc[0]), last=float(ends.max().iloc[0]))


OF_SIZES: tuple[Callable[[Question], Doubts], ...] = (
    small_sizes, other_ratio, lacking_sizes, other_size, other_lengths,
)  # fmt: skip
OF_RESULT: tuple[Callable[[Question], Doubts], ...] = (
    of_training, no_result, other_result, rows_of_runs, rising_rows,
)  # fmt: skip


def refuse_doubtful(asked: Question, sizes: bool = True, result: bool = True) -> None:
    """Refuse a table that may mean something else, unless this package made its curves.

    Args:
        sizes, result: whether these were chosen here, and not by the caller.
    """
    frame = asked.curves.frame
    if {"run", "source"} <= {*frame} and frame["source"].isin({*SOURCES} - {"read"}).all():
        return
    for check in (
        *(OF_SIZES if sizes else ()),
        *(OF_RESULT if result else ()),
        *((unknown_unit,) if sizes else ()),
    ):
        for reason in check(asked):
            raise NotDetermined(reason)


def refuse_lost_numbers(path: Path, frame: pd.DataFrame) -> None:
    """Refuse a text with results that the table lacks, in lines like those it was read from.

    Lines of other words may be of other things, such as the steps of a training; what was left out for a
    reason is named in the notes. Documents have settings and histories beside their rows.
    """
    notes = [n for n in frame.attrs.get(NOTES, ()) if not re.match(r"title:|left out below", n)]
    if notes or path.suffix.lower() not in TEXTS or path.stat().st_size > MOST_OF_A_TEXT:
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    if text.lstrip()[:1] in ("{", "[", "<"):
        return
    cells = (str(value) for c in frame for value in (c, *frame[c]))
    known = {float(each) for cell in cells for each in re.findall(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", cell)}
    lines = [(_words(line), [*map(float, _RESULT.findall(line))]) for line in text.splitlines()]
    alike = {words for words, numbers in lines if known & {*numbers}}
    results = [number for words, numbers in lines if words in alike for number in numbers]
    lost = [number for number in results if number not in known]
    if len(lost) >= FEWEST_LOST and len(lost) > MOST_LOST * len(results):
        shown = tuple(f"{number:g}" for number in lost[:3])
        raise NotDetermined(Reason("numbers_lost", lost=len(lost), of=len(results), shown=shown))


def _words(line: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Za-z]{2,}", line))


def doubts(curves: Curves) -> list[Reason]:
    """Notes on sizes, FLOPs and runs that look as if they were counted differently."""
    unit = curves.data_unit
    frame = curves.frame.drop_duplicates("run", keep="last")
    n, d = frame["n_params"], frame["n_data"]
    notes = []
    if "compute" in frame:
        ratio = float((frame["compute"] / (FLOPS_PER_PARAM_EXAMPLE * n * d)).median())
        if abs(np.log(ratio)) > OTHER_COUNT:
            counts = {"per": FLOPS_PER_PARAM_EXAMPLE, "theirs": ratio * FLOPS_PER_PARAM_EXAMPLE}
            notes.append(Reason("other_flops", ratio=ratio, unit=unit, **counts))
    columns = () if curves.reading is None else curves.reading.columns
    told_apart = any(column.ours == "run" and column.theirs for column in columns)
    if len(frame) == len(curves.frame) and not told_apart and _may_be_checkpoints(frame):
        named = "model" if "model" in frame and frame["model"].nunique() == n.nunique() else "THEIR_COLUMN"
        notes.append(Reason("rows_as_runs", column=named))
    return notes


def _may_be_checkpoints(frame: pd.DataFrame) -> bool:
    """Whether rows of one n_params go on in step and data, as those of one training do."""
    step = next((c for c in ("step", "epoch") if c in frame and frame[c].nunique() > 1), None)
    if step is None:
        return False
    ordered = frame.sort_values(["n_params", step])
    within = ordered["n_params"].diff() == 0
    return bool(within.any() and (ordered[[step, "n_data"]].diff()[within] > 0).all(axis=None))
