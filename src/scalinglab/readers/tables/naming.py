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
    HYPERPARAMETERS,
    LOSS,
    aliases,
    bare,
    loss_of_perplexity,
    measurement,
)  # fmt: skip
from scalinglab.curves.numbers import POWERS, has_decimal_comma, may_have_decimal_comma, number, numbers
from scalinglab.errors import BadInput

STANDARD = (*IDENTITY, *SETTING, *PROGRESS, *OUTCOME, *MEASURES, *ACCURACIES, "norm")
TEXT = (*IDENTITY, "model", "dataset", "optimizer", "parameterization", "status")  # never read as numbers
COUNTS = ("n_data", "n_params", "step", "examples", "tokens", "batch_size")  # whole: 1,000 is a thousand
IMAGES = ("images", "samples")
FEWEST_TOKENS = 1e7  # a D below this counts examples
_WORDS = "(?:thousand|million|billion|trillion)s?"
_UNIT = re.compile(rf"\s*[\[(]\s*(?:in\s+)?([kmbgt%]|{_WORDS})\s*[\])]\s*$", re.I)
_SUFFIX = re.compile(rf"(?<=[a-z]{{2}})_([kmb]|{_WORDS})$")  # N_t and x_m are symbols with an index
_COUNTED = {
    *COUNTS,
    "compute",
}  # a letter is a multiplier in params_m and Params (M); in time (m) it is a unit
# d, c and n are tokens, compute and parameters where they are so large; else a dimension, an index, examples
_LETTERS = {"d": ("tokens", FEWEST_TOKENS), "c": ("compute", 1e12), "n": ("n_params", 1e7)}
FEWEST_PARAMS = 1e3  # of an n beside tokens; a smaller one counts repeats
MOST_OF_A_UNIT = 1e5  # a larger count is in ones, whatever its suffix
_KNOWN = {*STANDARD, *LOSS, *ERROR, *ACCURACY, *HYPERPARAMETERS, *_LETTERS, *IMAGES}


def is_known(column: Any) -> bool:
    """Whether a name alone may say what a column holds: such a column stays, however large the table is.

    >>> [is_known(name) for name in ("Params (M)", "tokens_b", "d", "val_ppl", "train_loss", "gpu_util")]
    [True, True, True, True, True, False]
    """
    short = _SUFFIX.sub("", _UNIT.sub("", str(column)))
    known = short in _KNOWN or bare(short) in _KNOWN or loss_of_perplexity(short) is not None
    return known or is_seed(short) or bool(aliases([short]))


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
        notes: what else is to be known of columns.
    """

    def __init__(
        self, frame: pd.DataFrame, columns: dict[str, str], origin: str, names: dict[str, str]
    ) -> None:
        self._decimal_comma = bool(frame.attrs.get("decimal_comma"))
        self.frame = tidy(frame.reset_index(drop=True))
        self.frame.attrs = {}
        self.frame.columns = [str(c) for c in self.frame.columns]
        self.found = {*self.frame.columns}
        self.frame = rename(self.frame, columns, origin)
        renamed = {theirs: ours for ours, theirs in columns.items()}
        self.names = {theirs: renamed.pop(ours, ours) for theirs, ours in names.items()} | renamed
        self.changes: dict[str, list[str]] = {}
        self.notes: list[str] = []
        self._refuse_sizes_as_names(origin)
        self._read_units(columns)
        self._read_names(set(columns), origin)
        self._read_numbers()
        self._read_percent()
        self._read_perplexity()
        self._doubt_errors(set(columns))

    # --- names -----------------------------------------------------------------------------------

    def _refuse_sizes_as_names(self, origin: str) -> None:
        """Refuse a column a size (19M, 125M, …), and a first row of numbers where names should be."""
        sizes = [c for c in self.frame.columns if number(c) is not None]
        others = [c for c in self.frame.columns if c not in sizes]
        if len(sizes) < 2 or any(measurement(c) or not aliases([c]) for c in others):
            return
        keep = f"{others}, " if others else ""
        size = "tokens" if "n_params" in aliases(others) else "n_params"
        shown = ", ".join([*sizes[:3], *["…"][: len(sizes) - 3]])
        raise BadInput(
            f"{origin} has columns named by numbers ({shown}), "
            "and names say what columns hold. A file without names needs them in its first line; where each "
            f"column has one size, make rows: frame.melt({keep}var_name='{size}', value_name='loss')"
        )

    def _read_units(self, columns: Mapping[str, str]) -> None:
        """Units in headers: "Params (M)" is a column of millions, asked for by that name or not."""
        for column in list(self.frame.columns):
            theirs = columns.get(column, column)
            found = _UNIT.search(theirs) or _SUFFIX.search(theirs)
            values = self._numbers(column) if found else None
            if found is None or values is None:
                continue
            short, unit = theirs[: found.start()], found[1].lower()
            counted = bool(_COUNTED & {*aliases([short])})
            if found.re is _SUFFIX and not (counted and self._has_suffix(short, values)):
                continue
            if len(unit) == 1 and unit != "%" and not (counted or column in _COUNTED):
                continue
            if column == theirs and short in self.frame:
                continue
            # the first letter tells: thousand is no trillion
            power = POWERS["k" if unit.startswith("thousand") else unit[0]] if unit != "%" else -2
            self.frame[column] = values * 10.0**power
            self._changed(column, f"times {10.0**power:g}")
            if column == theirs:
                self._rename(column, short)

    def _has_suffix(self, short: str, values: pd.Series) -> bool:
        """Whether an ending is a unit: in params_m, but not in params_b beside params_a."""
        return values.max() < MOST_OF_A_UNIT and f"{short}_a" not in self.frame

    def _read_names(self, asked: set[str], origin: str) -> None:
        """Give recognised columns their standard names; one that is there already is not replaced."""
        for size in (c for c in self.frame.columns if c in _COUNTED and self._numbers(c) is None):
            self._doubt_text(size, origin)
        free = [c for c in self.frame.columns if c not in asked]
        for ours, found in aliases(free).items():
            for theirs in found:
                name = self._data_name(theirs) if theirs == "D" else ours
                if name in self.frame or theirs not in self.frame:
                    continue
                if self._fits(name, theirs):
                    self._rename(theirs, name)
                    break
                if name in _COUNTED and self._numbers(theirs) is None:
                    self._doubt_text(theirs, origin)
        self._read_only_measurement(asked)
        self._read_letters(asked)
        self._read_images(asked)
        both = {"loss", "test_loss"} <= {*self.frame.columns}
        if both and "loss" not in asked and "train_loss" not in self.frame:
            self._rename("loss", "train_loss")

    def _doubt_text(self, column: str, origin: str) -> None:
        """Refuse a size in which most values are numbers and some are not; say where all of it is text."""
        known = self.frame[column].dropna().astype(str)
        comma = self._has_decimal_comma(column)
        wrong = known[[number(text, decimal_comma=comma) is None for text in known]]
        if wrong.empty:
            return
        value = wrong.iloc[0][:40]
        if 2 * len(wrong) < len(known):
            raise BadInput(
                f"{origin}, row {wrong.index[0] + 1}: {column} = {value!r} does not read as a number. "
                "Correct it, leave it empty where it is not known, or rename the column if it is no size"
            )
        self.notes.append(f"{column} is text: {value!r} does not read as a number")

    def _read_only_measurement(self, asked: set[str]) -> None:
        """An error, loss or accuracy of no named split is that of the test, where nothing else was measured.

        Beside another measurement, a loss too, a column `error` may be that one's standard error.
        """
        if self._has_measure():
            return
        for ours, words in (("test_accuracy", ACCURACY), ("loss", LOSS), ("test_error", ERROR)):
            found = [c for c in self.frame.columns if bare(c) in words]
            if len(found) == 1 and found[0] not in asked and self._numbers(found[0]) is not None:
                self._rename(found[0], ours)
                return
            if found and words is ACCURACY:
                return

    def _read_letters(self, asked: set[str]) -> None:
        """The letters N, D and C of the papers in small ones, where their sizes leave no doubt."""
        for letter, (ours, least) in _LETTERS.items():
            values = self._numbers(letter) if letter in self.frame and letter not in asked else None
            if values is None or ours in self.frame:
                continue
            if values.max() >= least or (letter == "n" and self._is_size_of_model(values)):
                self._rename(letter, ours)
            elif letter == "n" and all(measurement(c) or c in MEASURES for c in self.frame if c != "n"):
                self._rename(letter, "n_data")
                self.notes.append("n read as training examples (parameters: --column n_params=n)")

    def _read_images(self, asked: set[str]) -> None:
        """Images or samples are the data where no other column says how much: else those of the test, say."""
        found = [c for c in self.frame.columns if bare(c) in IMAGES and c not in asked]
        known = any(name in self.frame for name in ("n_data", "tokens", "examples"))
        if len(found) == 1 and not known and self._numbers(found[0]) is not None:
            self._rename(found[0], "n_data")

    def _is_size_of_model(self, values: pd.Series) -> bool:
        return "tokens" in self.frame and values.min() >= FEWEST_PARAMS

    def _has_measure(self) -> bool:
        return any(name in self.frame for name in (*MEASURES, "test_accuracy", "train_accuracy"))

    def _rename(self, theirs: str, ours: str) -> None:
        self.frame = self.frame.rename(columns={theirs: ours})
        if theirs in self.changes:
            self.changes[ours] = self.changes.pop(theirs)
        original = next((t for t, name in self.names.items() if name == theirs), theirs)
        self.names[original] = ours

    def _changed(self, column: str, change: str) -> None:
        self.changes.setdefault(column, []).append(change)

    def _data_name(self, theirs: str) -> str:
        """D counts tokens in tables of language models and examples in others."""
        values = self._numbers(theirs)
        return "tokens" if values is not None and values.max() >= FEWEST_TOKENS else "n_data"

    def _fits(self, ours: str, theirs: str) -> bool:
        """Whether a column can have a role: a learning rate that decays is no setting."""
        if ours == "run":
            return bare(theirs) != "name" or self._identifies(theirs)
        if ours in ("model", "dataset", "optimizer"):
            return not is_numeric(self.frame[theirs])
        if (ours in PROGRESS or (ours in SETTING and ours not in TEXT)) and self._numbers(theirs) is None:
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

    # --- numbers ---------------------------------------------------------------------------------

    def _numbers(self, column: str) -> pd.Series | None:
        values = self.frame[column]
        if is_numeric(values):
            return values
        read = numbers(values, decimal_comma=self._has_decimal_comma(column))
        return None if read is None else read[0]

    def _has_decimal_comma(self, column: str) -> bool:
        """Whether commas are decimal points: as in 0,364, and in 4,081 where it is a loss."""
        values = self.frame[column]
        if not self._decimal_comma or is_numeric(values):
            return False
        measured = measurement(column) is not None or bare(column) in (*LOSS, *ERROR, *ACCURACY)
        return has_decimal_comma(values) or (measured and may_have_decimal_comma(values))

    def _read_numbers(self) -> None:
        """Columns of text that hold numbers as they are written: 19M, 36.4%, 1,000."""
        texts = [c for c in self.frame.columns if c not in TEXT and not is_numeric(self.frame[c])]
        certain = self._decimal_comma and any(has_decimal_comma(self.frame[c]) for c in texts)
        for column in texts:
            if is_seed(column) and set(map(type, self.frame[column].dropna())) == {int}:
                continue  # beyond 64 bits, where floats would merge seeds
            comma = self._has_decimal_comma(column) or (certain and column not in COUNTS)
            read = numbers(self.frame[column], decimal_comma=comma)
            if read is not None:
                first = self.frame[column].notna().idxmax()
                text = str(self.frame[column][first])
                self.frame[column] = read[0]
                if not re.fullmatch(r"[-+\d.eE]+|\w*", text) or re.search(r"\d[A-DF-Za-df-z]", text):
                    self._changed(column, f"{text} read as {read[0][first]:.10g}")

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

    def _doubt_errors(self, asked: set[str]) -> None:
        """Say what a plain `error` beside a measurement may be."""
        for column in (c for c in self.frame.columns if bare(c) in ERROR and c not in ("test_error", *asked)):
            self.notes.append(
                f"{column} may be a test error (--column test_error={column}) or a standard error (laws fit "
                f"--error {column})"
            )
