"""The columns of a foreign table under our names, in plain numbers and fractions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import OUTCOME, PROGRESS, SETTING, rename
from scalinglab.curves.columns import ACCURACIES, IDENTITY, MEASURES, is_numeric, is_seed, tidy
from scalinglab.curves.names import (
    ACCURACY,
    ERROR,
    FRACTIONS,
    HYPERPARAMETERS,
    LOSS,
    OTHER_ERROR,
    TEST,
    Quantity,
    aliases,
    bare,
    likely_size,
    loss_of_perplexity,
    quantity,
    size_by_words,
)  # fmt: skip
from scalinglab.errors import BadInput
from scalinglab.readers.tables.headers import Header, header
from scalinglab.readers.tables.values import COUNTS, TEXT, Values

STANDARD = (*IDENTITY, *SETTING, *PROGRESS, *OUTCOME, *MEASURES, *ACCURACIES, "norm")
SIZES = ("n_params", "n_data", "tokens", "examples", "compute")
SIZES_BY_WORDS = ("n_params", "tokens", "n_data", "compute")
FEWEST_TOKENS = 1e7  # a D below this counts examples
_COUNTED = {
    *COUNTS,
    "compute",
}  # a letter is a multiplier in params_m and Params (M); in time (m) it is a unit
# d, c and n are tokens, compute and parameters where they are so large; else a dimension, an index, examples
_LETTERS = {"d": ("tokens", FEWEST_TOKENS), "c": ("compute", 1e12), "n": ("n_params", 1e7)}
FEWEST_PARAMS = 1e3  # of an n beside tokens; a smaller one counts repeats
MOST_OF_A_UNIT = 1e5  # a larger count is in ones, whatever its suffix
MOST_OF_A_SIZE = 1e17  # parameters or tokens: a larger count has its unit twice
SAME_LENGTH = 0.01  # sequences are of one length up to this share
CLEAR_DIRECTION = 0.5  # rank correlation of a measurement with size
_VALUES = {"value", "values", "mean", "avg", "average", "score", "metric", "objective", "result", "y", "0"}
_COUNTING = {"n", "num", "size", "count", "samples", "examples", "time", "sec", "seconds", "step", "steps"}
_COUNTING |= {"epoch", "epochs", "every", "interval", "batch", "batches", "freq", "lines", "seqs", "tokens"}
# words of which the name of a column of training sets is made: "Training set", "subset size", "data"
_OF_SETS = {
    "train",
    "training",
    "trainset",
    "set",
    "data",
    "dataset",
    "subset",
    "size",
    "amount",
    "used",
    "of",
}
_OF_SETS |= {"n", "num", "number", "labelled", "labeled", "the"}
_STEPS_IN_ALL = (
    "max_steps",
    "total_steps",
    "num_train_steps",
    "train_steps",
    "n_steps",
    "num_steps",
    "max_iters",
)
_TOKENS_PER_STEP = (
    "tokens_per_batch",
    "batch_tokens",
    "tokens_per_step",
    "tokens_per_iter",
    "batch_size_tokens",
)
_LENGTHS = (
    "seq_len",
    "sequence_length",
    "context_length",
    "block_size",
    "max_seq_len",
    "seq_length",
    "n_ctx",
)
_WIDTHS = ("d_model", "n_embd", "hidden_size")
_OF_HOURS = {*_OF_SETS, "hours", "hrs", "audio", "speech", "transcribed"}
_RATIOS = ("tokens_per_param", "tokens_per_parameter", "tokens_param", "token_param_ratio", "tpp", "d_n")
_OF_UNITS = {"parameters": "params", "tokens": "tokens", "FLOPs": "flops", "examples": "train examples"}
_NO_MEASUREMENT = {
    "log",
    "scale",
    "weight",
    "coef",
    "coefficient",
    "fn",
    "function",
    "type",
    "gap",
    "time",
    "ratio",
}
_KNOWN = {*STANDARD, *LOSS, *ERROR, *ACCURACY, *HYPERPARAMETERS, *_LETTERS}
# a size within a name: Pythia-160M, opt_1.3b, but neither gpt2 nor 10Btok
SIZE_IN_NAME = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?) ?([MBmb])(?![A-Za-z0-9])")

_TOKENS_IN_NAME = re.compile(
    r"(?<![\d.])(\d+(?:\.\d+)?) ?([KMBTkmbt])[-_ ]?(?:tokens?|toks?)\b", re.IGNORECASE
)


def is_known(column: Any) -> bool:
    """Whether a name alone may say what a column holds: such a column stays, however large the table is.

    >>> [is_known(name) for name in ("Params (M)", "tokens_b", "d", "val_ppl", "train_loss", "gpu_util")]
    [True, True, True, True, True, False]
    """
    short = header(str(column)).name
    known = short in _KNOWN or bare(short) in _KNOWN or loss_of_perplexity(short) is not None
    return known or is_seed(short) or bool(aliases([short])) or _counts_examples(short)


def _counts_examples(name: str) -> bool:
    """Whether a name counts images, samples or sentence pairs, or names a training set."""
    words = {*bare(name).split("_")}
    is_set = words <= _OF_SETS and bool(
        words & {"train", "training", "trainset", "data", "dataset", "subset"}
    )
    return not aliases([name]) and (is_set or likely_size(name, "n_data") >= 3)


def _only_that_varies(sizes: dict[str, list[tuple[str, str]]]) -> dict[str, list[tuple[str, str]]]:
    """Of several sizes in each name the one that differs between names, as 12m does in bsz1M-model-12m."""
    counts = {len(found) for found in sizes.values()}
    if len(counts) != 1 or next(iter(counts)) < 2:
        return sizes
    places = [{found[k] for found in sizes.values()} for k in range(next(iter(counts)))]
    varying = [k for k, values in enumerate(places) if len(values) > 1]
    return {name: [found[varying[0]]] for name, found in sizes.items()} if len(varying) == 1 else sizes


class Naming:
    """A table with standard names and numbers.

    Args:
        frame: the table as it was found; ``frame.attrs["decimal_comma"]`` says that commas may be decimal
            points.
        columns: names that were asked for, ours to theirs.
        names: what columns were called before, theirs to ours.

    Attributes:
        frame: the table.
        names: theirs to ours.
        found: the names of the columns that the table had.
        changes: what was done to the values of columns, by our names.
        units: of losses, by our names.
        notes: what else is to be known of columns.
    """

    def __init__(
        self, frame: pd.DataFrame, columns: dict[str, str], origin: str, names: dict[str, str]
    ) -> None:
        table = tidy(frame.reset_index(drop=True))
        table.attrs = {}
        table.columns = [str(c) for c in table.columns]
        self.found = {*table.columns}
        self._values = Values(
            rename(table, columns, origin).copy(deep=False), bool(frame.attrs.get("decimal_comma"))
        )
        self.frame, self.changes = self._values.frame, self._values.changes
        self._cells = dict(self._values.read)
        renamed = {theirs: ours for ours, theirs in columns.items()}
        self.names = {theirs: renamed.pop(ours, ours) for theirs, ours in names.items()} | renamed
        self.units: dict[str, str] = {}
        self.notes: list[str] = []
        self._read_units(columns, origin)
        self._read_names(set(columns), origin)
        self._read_sizes_in_names(set(columns))
        self._fill_groups()
        self._read_ratio()
        self._read_products()
        self._read_percent()
        self._read_perplexity()
        self._keep_spreads()
        self._doubt_errors(set(columns))

    # --- units -----------------------------------------------------------------------------------

    def _read_units(self, columns: Mapping[str, str], origin: str) -> None:
        """Units in headers: "Params (M)" is a column of millions, asked for by that name or not."""
        for column in list(self.frame.columns):
            theirs = columns.get(column, column)
            found = header(theirs)
            if found.unit:
                self.units[column] = found.unit
            if not is_numeric(self.frame[column]) or (
                column == theirs != found.name and found.name in self.frame
            ):
                continue
            values = self._in_ones(column, theirs, found, origin)
            if values is None:
                continue
            self.frame[column] = values
            if column == theirs != found.name:
                self._rename(column, found.name)

    def _in_ones(self, column: str, theirs: str, found: Header, origin: str) -> pd.Series | None:
        """The values without the unit of the name; None where the name has none."""
        values, cells = self.frame[column], self._cells.get(column)
        if found.name == "compute" != column != theirs:  # asked for as another size
            return None
        if found.log is not None:
            return self._of_logarithm(column, theirs, found, origin)
        if found.percent:
            if cells is not None and cells.percent:
                return values
            self._doubt_percent(theirs, found.name, values, origin)
            self._changed(column, "percent, divided by 100")
            return values / 100
        counted = bool(_COUNTED & {column, *aliases([found.name])}) or _counts_examples(found.name)
        if found.is_suffix and not (counted and self._has_suffix(found.name, values)):
            return None
        if found.scale == 1 or (found.by_letter and not counted):
            return None
        if cells is not None and cells.scaled:
            return values
        scaled = values * found.scale
        if counted and scaled.max() > MOST_OF_A_SIZE and "compute" not in (column, *aliases([found.name])):
            raise BadInput(
                f"{origin}: {theirs} has values up to {values.max():g}, in ones or times {found.scale:g}? "
                "Rename the column without its unit, or divide"
            )
        self._changed(column, f"times {found.scale:g}")
        return scaled

    def _of_logarithm(self, column: str, theirs: str, found: Header, origin: str) -> pd.Series | None:
        """The sizes of which a column has the logarithms."""
        values = self.frame[column]
        if not {*SIZES} & {column, *aliases([found.name])} or values.max() > 80:
            return None
        base = found.log
        if base == 1:  # log N: by its values, where one base is not possible
            lowest, highest = float(values.min()), float(values.max())
            if lowest < np.log(FEWEST_PARAMS):
                base = 10
            elif highest > 17:
                base = 0
            else:
                raise BadInput(
                    f"{origin}: {theirs} from {lowest:g} to {highest:g} may be log10 or ln: name it "
                    "log10_… or ln_…"
                )
        self._changed(column, f"{base or 'e'} to the power of {theirs}")
        power = 10.0**values if base == 10 else 2.0**values if base == 2 else np.exp(values)
        return pd.Series(power).round(0) if power.min() >= FEWEST_PARAMS else pd.Series(power)

    def _doubt_percent(self, theirs: str, name: str, values: pd.Series, origin: str) -> None:
        measured = quantity(name)
        if (
            measured
            and not measured.is_spread
            and measured.kind in ("accuracy", "error")
            and values.max() <= 1
        ):
            raise BadInput(
                f"{origin}: {theirs} has values up to {values.max():g}: percent below one, or fractions? "
                "Write 71.3 or 71.3% in the cells, or leave % out of the name"
            )

    def _has_suffix(self, short: str, values: pd.Series) -> bool:
        """Whether an ending is a unit: in params_m, but not in params_b beside params_a."""
        return bool(values.max() < MOST_OF_A_UNIT) and f"{short}_a" not in self.frame

    # --- names -----------------------------------------------------------------------------------

    def _read_names(self, asked: set[str], origin: str) -> None:
        """Give recognised columns their standard names; one that is there already is not replaced."""
        for size in (c for c in self.frame.columns if c in _COUNTED and not is_numeric(self.frame[c])):
            self._doubt_text(size, origin)
        free = [c for c in self.frame.columns if c not in asked]
        for ours, found in aliases(free).items():
            if ours == "n_params":
                self._doubt_active(found, origin)
            for theirs in found:
                name = self._data_name(theirs) if theirs == "D" else ours
                if name in self.frame or theirs not in self.frame:
                    continue
                if self._fits(name, theirs):
                    self._rename(theirs, name)
                    self._name_others(name, theirs, found)
                    break
                if name in _COUNTED and not is_numeric(self.frame[theirs]):
                    self._doubt_text(theirs, origin)
        self._read_units_of_cells(asked)
        self._read_only_measurement(asked, origin)
        self._read_letters(asked)
        self._infer_sizes(asked)
        self._prefer_tokens(asked)
        self._read_unnamed_measurement(asked)
        both = {"loss", "test_loss"} <= {*self.frame.columns}
        if both and "loss" not in asked and "train_loss" not in self.frame:
            self._rename("loss", "train_loss")

    def _name_others(self, ours: str, taken: str, found: list[Any]) -> None:
        """Say which other columns a size could have been, where they have other values."""
        others = [c for c in found if c != taken and c in self.frame and is_numeric(self.frame[c])]
        differ = [c for c in others if not np.allclose(self.frame[c], self.frame[ours], equal_nan=True)]
        if ours in SIZES and differ and is_numeric(self.frame[ours]):
            self.notes.append(
                f"beside {ours}: {', '.join(differ)} (--column '{ours}={differ[0]}' takes that)"
            )

    def _doubt_active(self, found: list[Any], origin: str) -> None:
        """Refuse active beside total parameters of experts, where these are not proportional."""
        active = [c for c in found if "active" in bare(c) or "activated" in bare(c)]
        others = [c for c in found if c not in active]
        if not active or not others or "n_params" in self.frame:
            return
        pair = [self.frame[c] for c in (active[0], others[0])]
        if all(map(is_numeric, pair)) and (pair[0] / pair[1]).nunique() > 1:
            raise BadInput(
                f"{origin} has {active[0]} and {others[0]}: say which of them the law is of, --column "
                f"'n_params={active[0]}' or --column 'n_params={others[0]}'"
            )

    def _doubt_text(self, column: str, origin: str) -> None:
        """Refuse a size in which most values are numbers and some are not; say where all of it is text."""
        wrong = self._values.wrong(column)
        if wrong.empty:
            return
        value = wrong.iloc[0][:40]
        if 2 * len(wrong) < self.frame[column].count():
            raise BadInput(
                f"{origin}, row {wrong.index[0] + 1}: {column} = {value!r} does not read as a number. "
                "Correct it, leave it empty where it is not known, or rename the column if it is no size"
            )
        self.notes.append(f"{column} is text: {value!r} does not read as a number")

    def _read_units_of_cells(self, asked: set[str]) -> None:
        """What cells say that they count: "1 billion tokens" under Training data."""
        for column in [c for c in self._cells if c in self.frame and c not in (*asked, *STANDARD)]:
            unit = self._cells[column].unit
            name = "" if column.startswith("Unnamed: ") else column
            for ours, _ in size_by_words(f"{name} {_OF_UNITS[unit]}") if unit in _OF_UNITS else ():
                if ours not in self.frame:
                    self._rename(column, ours)

    def _read_only_measurement(self, asked: set[str], origin: str) -> None:
        """An error, loss or accuracy of no named split is that of the test, where nothing else was measured.

        Beside another measurement, a loss too, a column `error` may be that one's standard error. A
        measurement on a named data set counts where it is the only one.
        """
        if self._has_measure(of_training=False):
            return
        found = {c: q for c in self.frame if (q := self._measured(c)) is not None}
        trained = self._has_measure()  # then one of no named split may be that of training, too
        plain = {c: q for c, q in found.items() if not q.others and not q.split and not trained}
        for ours, kinds in (
            ("test_accuracy", ("accuracy",)),
            ("loss", ("loss", "bits")),
            ("test_error", ("error",)),
        ):
            of_kind = {c: q.rank for c, q in plain.items() if q.kind in kinds}
            best = [c for c, rank in of_kind.items() if rank == min(of_kind.values())]
            if len(best) == 1 and best[0] not in asked and self._fits(ours, best[0]):
                self._rename(best[0], ours)
                return
            if of_kind and ours == "test_accuracy":
                return
        if self._has_measure() and not any(q.split == "test" for q in found.values()):
            return
        if any(q.kind == "perplexity" for q in plain.values()):
            return
        if "L" in self.frame and "L" not in asked and is_numeric(self.frame["L"]) and not found:
            self._rename("L", "loss")
        others = [c for c, q in found.items() if q.others and q.split != "train" and c not in asked]
        others = [c for c in others if found[c].kind != "accuracy" or self._fits("test_accuracy", c)]
        others = [c for c in others if found[c].split == "test"] if trained else others
        if len(others) == 1:
            name, kind = others[0], found[others[0]].kind
            self.notes.append(f"{name} is the only measurement")
            if kind == "perplexity" and self.frame[name].min() >= 1:
                self.frame["test_loss"] = np.log(self.frame[name])
                self._changed("test_loss", f"= ln {name}")
            else:
                self._rename(
                    name, {"accuracy": "test_accuracy", "error": "test_error"}.get(kind, "test_loss")
                )

    def _measured(self, column: str) -> Quantity | None:
        found = quantity(column) if is_numeric(self.frame[column]) else None
        if found is None or found.is_spread or {*found.others} & _NO_MEASUREMENT:
            return None
        return found

    def _read_letters(self, asked: set[str]) -> None:
        """The letters N, D and C of the papers in small ones, where their sizes leave no doubt."""
        if "size" in self.frame and "size" not in asked and "n_params" not in self.frame:
            sized = is_numeric(self.frame["size"]) and self.frame["size"].min() >= 1e6
            if sized and "tokens" in self.frame:
                self._rename("size", "n_params")
        for letter, (ours, least) in _LETTERS.items():
            if letter not in self.frame or letter in asked or ours in self.frame:
                continue
            values = self.frame[letter]
            if not is_numeric(values):
                continue
            if values.max() >= least or (letter == "n" and self._is_size_of_model(values)):
                self._rename(letter, ours)
            elif letter == "n" and self._is_only_size():
                self._rename(letter, "n_data")
                self.notes.append("n read as training examples (parameters: --column n_params=n)")

    def _infer_sizes(self, asked: set[str]) -> None:
        """Give a size that no name certainly has to the column that fits it best, by words and values.

        Its values are counts that vary; where the words say little, a measurement follows them. Two columns
        that fit equally well leave it open, and are named.
        """
        if not any(name in self.frame for name in ("n_data", "tokens", "examples")):
            self._read_hours(asked)
        for ours in SIZES_BY_WORDS:
            same = (ours,) if ours in ("n_params", "compute") else ("tokens", "n_data", "examples")
            if any(name in self.frame for name in same):
                continue
            free = [c for c in self.frame if c not in (*asked, *STANDARD) and self._is_count(c)]
            fits = {c: 3 if _counts_examples(c) and ours == "n_data" else likely_size(c, ours) for c in free}
            fits = {c: fit for c, fit in fits.items() if fit > 1 or (fit == 1 and self._is_followed(c))}
            best = [c for c, fit in fits.items() if fit == max(fits.values())]
            if len(best) == 1:
                self._rename(best[0], ours)
            elif best:
                self.notes.append(f"{ours} may be {' or '.join(best)} (--column '{ours}={best[0]}')")

    def _is_only_size(self) -> bool:
        """Whether a measurement follows n, and no other column counts anything."""
        others = [c for c in self.frame if c in SIZES or any(likely_size(c, size) for size in SIZES_BY_WORDS)]
        letters = [c for c in self.frame if len(c) == 1 and c != "n" and self.frame[c].nunique() > 1]
        return not others and not letters and self._is_count("n") and self._is_followed("n")

    def _is_count(self, column: str) -> bool:
        """Whether values can be those of a size: they vary, none is negative, and they are no shares."""
        values = self.frame[column]
        return is_numeric(values) and values.nunique() > 1 and bool(values.min() >= 0 and values.max() > 1)

    def _is_followed(self, column: str) -> bool:
        """Whether a measurement rises or falls with the values of a column."""
        measured = [self.frame[c] for c in self.frame if c in (*MEASURES, *ACCURACIES) or self._measured(c)]
        ranks = [self.frame[column].corr(y, method="spearman") for y in measured if is_numeric(y)]
        return any(abs(rank) > CLEAR_DIRECTION for rank in ranks)

    def _read_hours(self, asked: set[str]) -> None:
        """Hours of speech, by which recognition is measured; hours of training are time."""
        recognised = any({*bare(c).split("_")} & {*OTHER_ERROR} for c in (*self.frame.columns, *self.names))
        for column in [c for c in self.frame if c not in asked and is_numeric(self.frame[c])]:
            words = {*bare(column).split("_")}
            kind = words & {"audio", "speech", "labelled", "labeled", "data", "transcribed"}
            if words & {"hours", "hrs"} and words <= _OF_HOURS and (kind or (recognised and len(words) == 1)):
                self._rename(column, "n_data")
                self.units["n_data"] = "hours"
                return

    def _prefer_tokens(self, asked: set[str]) -> None:
        """Sequences beside tokens, of which each has equally many, are no size of their own."""
        pair = [self.frame[c] for c in ("tokens", "n_data") if c in self.frame and c not in asked]
        if len(pair) < 2 or not all(map(is_numeric, pair)) or "sequences" in self.frame:
            return
        length = (pair[0] / pair[1]).dropna()
        if len(length) and length.min() > 1.5 and length.max() < (1 + SAME_LENGTH) * length.min():
            self._rename("n_data", "sequences")
            self.notes.append(f"sequences of {length.median():.0f} tokens beside tokens")

    def _read_unnamed_measurement(self, asked: set[str]) -> None:
        """A value of no known name is measured where it alone can be: its name is that of a test, or "value".

        It is a loss where it falls with size, an accuracy where it rises and is a share.
        """
        taken = {c for c in self.frame if c in STANDARD or c in asked or quantity(c) is not None}
        if self._has_measure() or any(loss_of_perplexity(c) for c in self.frame):
            return
        free = [c for c in self.frame if c not in taken and is_numeric(self.frame[c]) and not is_seed(c)]
        words = {c: bare(c).split("_") for c in free if self.frame[c].nunique() > 1}
        plain = [c for c, found in words.items() if {*found} <= _VALUES]
        of_test = [c for c, found in words.items() if {*found} & {*TEST} and not {*found} & _COUNTING]
        found = [c for c in of_test if "test" in words[c]] or of_test or plain
        if len(found) != 1 or {*words[found[0]]} & _NO_MEASUREMENT:
            return
        direction = self._direction(found[0])
        if direction and (direction < 0 or self.frame[found[0]].max() <= 100):
            ours = "loss" if direction < 0 else "test_accuracy"
            self.notes.append(f"{found[0]} is the only measurement")
            self._rename(found[0], ours)

    def _direction(self, column: str) -> int:
        """Whether values rise (1) or fall (−1) with every size that varies; 0 where that is not clear."""
        sizes = [self.frame[c] for c in SIZES if c in self.frame and is_numeric(self.frame[c])]
        ranks = [size.corr(self.frame[column], method="spearman") for size in sizes if size.nunique() > 1]
        if not ranks or max(map(abs, ranks)) < CLEAR_DIRECTION or min(ranks) * max(ranks) < 0:
            return 0
        return 1 if max(ranks) > 0 else -1

    def _is_size_of_model(self, values: pd.Series) -> bool:
        return "tokens" in self.frame and bool(values.min() >= FEWEST_PARAMS)

    def _has_measure(self, of_training: bool = True) -> bool:
        names = (*MEASURES, "test_accuracy", "train_accuracy")
        return any(name in self.frame for name in names if of_training or not name.startswith("train_"))

    def _rename(self, theirs: str, ours: str) -> None:
        self.frame = self.frame.rename(columns={theirs: ours})
        for kept in (self.changes, self.units, self._cells):
            if theirs in kept:
                kept[ours] = kept.pop(theirs)  # type: ignore[assignment]
        original = next((t for t, name in self.names.items() if name == theirs), theirs)
        self.names[original] = ours

    def _changed(self, column: str, change: str) -> None:
        self.changes.setdefault(column, []).append(change)

    def _data_name(self, theirs: str) -> str:
        """D counts tokens in tables of language models and examples in others."""
        values = self.frame[theirs]
        return "tokens" if is_numeric(values) and values.max() >= FEWEST_TOKENS else "n_data"

    def _fits(self, ours: str, theirs: str) -> bool:
        """Whether a column can have a role: a learning rate that decays is no setting."""
        if ours == "run":
            return bare(theirs) not in ("name", "job_name", "checkpoint_name") or self._identifies(theirs)
        if ours in ("model", "dataset", "optimizer"):
            return not is_numeric(self.frame[theirs])
        if bare(theirs) in FRACTIONS and (
            self.frame[theirs].nunique() < 2 or {"tokens", "examples"} & {*aliases(self.frame)}
        ):
            return False  # of one data set, or beside a count
        if ours in ACCURACIES and is_numeric(self.frame[theirs]):  # a score of 900 is none
            return bool(self.frame[theirs].min() >= 0 and self.frame[theirs].max() <= 100)
        if (ours in PROGRESS or (ours in SETTING and ours not in TEXT)) and not is_numeric(
            self.frame[theirs]
        ):
            return False
        return ours not in SETTING or ours == "n_data" or not self._changes_within_runs(theirs)

    def _changes_within_runs(self, column: str) -> bool:
        run = next(iter(aliases(self.frame.columns).get("run", [])), None)
        return run is not None and bool((self.frame.groupby(run, dropna=False)[column].nunique() > 1).any())

    def _identifies(self, column: str) -> bool:
        """Whether a column called `name` names runs: with the checkpoint it tells every row apart."""
        steps = [c for ours, found in aliases(self.frame.columns).items() if ours in PROGRESS for c in found]
        keys = list(dict.fromkeys([column, *steps]))
        return bool(self.frame[column].notna().all() and not self.frame.duplicated(keys).any())

    # --- sizes that stand elsewhere ----------------------------------------------------------------

    def _read_sizes_in_names(self, asked: set[str]) -> None:
        """Parameters from names such as Pythia-160M, where no column says them; the rest is the family."""
        if "n_params" in self.frame or "width" in self.frame:
            return
        texts = [c for c in ("model", "run", "experiment") if c in self.frame]
        texts += [c for c in self.frame if c not in (*texts, *asked, *TEXT) and not is_numeric(self.frame[c])]
        for column in texts:
            names = self.frame[column].dropna().astype(str)
            sizes = {name: SIZE_IN_NAME.findall(name) for name in names.unique()}
            sizes = _only_that_varies(sizes)
            if len(names) < len(self.frame) or any(len(found) != 1 for found in sizes.values()):
                continue
            powers = {"k": 3, "m": 6, "b": 9, "t": 12}
            read = {name: float(f"{n}e{powers[letter.lower()]}") for name, ((n, letter),) in sizes.items()}
            family = {name: SIZE_IN_NAME.sub("", name).strip(" -_/.") for name in sizes}
            if column == "experiment" and "run" not in self.frame and names.is_unique:
                self._rename(column, "run")
            self.frame["n_params"] = names.map(read)
            first = next(iter(sizes))
            self._changed("n_params", f"from {column}: {first} has {read[first]:g}")
            tokens = {name: _TOKENS_IN_NAME.findall(name) for name in sizes}
            if all(len(found) == 1 for found in tokens.values()) and not {"tokens", "n_data"} & {*self.frame}:
                seen = {
                    name: float(f"{n}e{powers[letter.lower()]}") for name, ((n, letter),) in tokens.items()
                }
                self.frame["tokens"] = names.map(seen)
                self._changed("tokens", f"from {column}: {first} has {seen[first]:g}")
                family = {name: _TOKENS_IN_NAME.sub("", text).strip(" -_/.") for name, text in family.items()}
            if len({*family.values()}) > 1:
                self.frame["family"] = names.map(family)
            return

    def _fill_groups(self) -> None:
        """Sizes that are written once for a group of rows, as merged cells are."""
        sizes = [c for c in self.frame if c in SIZES and is_numeric(self.frame[c])]
        for column in sizes:
            values = self.frame[column]
            known = values.dropna()
            gaps = len(values) - len(known)
            if gaps < len(known) or not known.is_unique or len(known) < 2 or values.isna().iloc[0]:
                continue
            filled = values.ffill()
            keys = [c for c in self.frame if c != column and (c in SIZES or c in SETTING or is_seed(c))]
            keys = [c for c in keys if self.frame[c].notna().all()]
            if keys and not self.frame.assign(**{column: filled}).duplicated([column, *keys]).any():
                self.frame[column] = filled
                self._changed(column, f"filled down in {gaps} rows")

    def _read_ratio(self) -> None:
        """Tokens from tokens per parameter, where no column says how many."""
        ratio = next((c for c in self.frame if bare(c) in _RATIOS and is_numeric(self.frame[c])), None)
        if ratio is None or "n_params" not in self.frame or {"tokens", "n_data", "examples"} & {*self.frame}:
            return
        if is_numeric(self.frame["n_params"]):
            self.frame["tokens"] = self.frame[ratio] * self.frame["n_params"]
            self._changed("tokens", f"= {ratio} × n_params")

    def _read_products(self) -> None:
        """Tokens from steps, batch and length, parameters from layers and width, where no column has them."""
        named = {bare(theirs): self.names.get(theirs, theirs) for theirs in self.found}
        numbers = {c for c in self.frame if is_numeric(self.frame[c])}

        def one_of(*names: str) -> str | None:
            return next((named[n] for n in names if named.get(n) in numbers), None)

        step = "step" if "step" in numbers else one_of(*_STEPS_IN_ALL)
        per_step, length = one_of(*_TOKENS_PER_STEP), one_of(*_LENGTHS)
        batch = one_of("batch_size", "global_batch_size", "train_batch_size")
        if step and not {"tokens", "n_data", "examples"} & {*self.frame}:
            factors = [per_step] if per_step else [batch, length] if batch and length else []
            if factors:
                self.frame["tokens"] = self.frame[[step, *factors]].prod(axis=1, skipna=False)
                self._changed("tokens", f"= {' × '.join(map(str, (step, *factors)))}")
        width, depth = one_of(*_WIDTHS), one_of("n_layer", "n_layers", "num_layers", "num_hidden_layers")
        if width and depth and "n_params" not in self.frame and {"tokens", "n_data"} & {*self.frame}:
            self.frame["n_params"] = 12 * self.frame[depth] * self.frame[width] ** 2
            self._changed("n_params", f"= 12 {depth} {width}², those of a transformer without its embeddings")

    # --- measurements ------------------------------------------------------------------------------

    def _read_percent(self) -> None:
        """Errors and accuracies in percent become fractions; an accuracy also gives the error."""
        for error, accuracy in (("train_error", "train_accuracy"), ("test_error", "test_accuracy")):
            for name in (error, accuracy):
                if name in self.frame and is_numeric(self.frame[name]) and 1 < self.frame[name].max() <= 100:
                    self.frame[name] = self.frame[name] / 100
                    self._changed(name, "read as percent, divided by 100")
            if accuracy in self.frame and error not in self.frame and is_numeric(self.frame[accuracy]):
                self.frame[error] = 1 - self.frame[accuracy]
                self._changed(error, f"= 1 − {accuracy}")

    def _read_perplexity(self) -> None:
        """A perplexity gives the loss, its logarithm, which is what the laws are of.

        One of no named split does so where nothing else was measured, and none where two could.
        """
        known = self._has_measure()
        losses = {c: loss for c in self.frame.columns if (loss := loss_of_perplexity(c))}
        for column, loss in losses.items():
            certain = [*losses.values()].count(loss) == 1 and not (known and loss == "loss")
            values = self.frame[column]
            if certain and loss not in self.frame and is_numeric(values) and values.min() >= 1:
                self.frame[loss] = np.log(values)
                self._changed(loss, f"= ln {column}")

    def _keep_spreads(self) -> None:
        """What stood behind ±: a standard error or a standard deviation, which the table does not say."""
        for column, cells in self._cells.items():
            name = f"{column}_spread"
            if cells.spread is not None and column in self.frame and name not in self.frame:
                self.frame[name] = cells.spread
                self.notes.append(
                    f"{name} has what stands behind ± (as a standard error: laws fit --error {name})"
                )

    def _doubt_errors(self, asked: set[str]) -> None:
        """Say what a plain `error` beside a measurement may be."""
        for column in (c for c in self.frame.columns if bare(c) in ERROR and c not in ("test_error", *asked)):
            self.notes.append(
                f"{column} may be a test error (--column test_error={column}) or a standard error (laws fit "
                f"--error {column})"
            )
