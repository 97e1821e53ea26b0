"""Give the columns of a table standard names, and convert them to plain numbers and fractions."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import SETTING, rename
from scalinglab.curves.columns import is_numeric, is_seed, tidy
from scalinglab.curves.names import (
    ERROR,
    HYPERPARAMETERS,
    OF_TASKS,
    OTHER_ERROR,
    aliases,
    bare,
    likely_size,
    quantity,
    spelt,
    without_prefix,
)
from scalinglab.curves.numbers import number
from scalinglab.curves.reading import listed
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.readers.tables.headers import (
    FEWEST_OF_A_FAMILY,
    FEWEST_PARAMS,
    SIZES,
    Header,
    counts_examples,
    families,
    header,
    numbers_in_names,
    roles,
    sizes_of_names,
)  # fmt: skip
from scalinglab.readers.tables.meanings import (
    BY_VALUES,
    LETTERS,
    STANDARD,
    SUBSCRIPT,
    Meaning,
    meanings,
    measured,
)
from scalinglab.readers.tables.remarks import NOTES
from scalinglab.readers.tables.values import COUNTS, TEXT, Values
from scalinglab.support.words import counted

# a letter is a multiplier in params_m and Params (M); in time (m) it is a unit
_COUNTED = {*COUNTS, "compute"}
MOST_OF_A_UNIT = 1e5  # a larger count is in ones, whatever its suffix
MOST_OF_A_SIZE = 1e17  # parameters or tokens: a larger count has its unit twice
SAME_LENGTH = 0.01  # sequences are of one length up to this share
_STEPS_IN_ALL = (
    "steps", "max_steps", "total_steps", "num_train_steps", "train_steps", "n_steps", "num_steps",
    "max_iters", "train_iters",
)  # fmt: skip
_TOKENS_PER_STEP = (
    "tokens_per_batch", "batch_tokens", "tokens_per_step", "tokens_per_iter", "batch_size_tokens",
)  # fmt: skip
_LENGTHS = (
    "seq_len", "sequence_length", "context_length", "block_size", "max_seq_len", "seq_length", "n_ctx",
)  # fmt: skip
_WIDTHS = ("d_model", "n_embd", "hidden_size")
_RATIO = re.compile(
    r"(?:train(?:ing)?_)?(?:tokens?|data|d)(?:_(?:per|to|over))?_(?:param|params|parameters?|n)(?:_ratio)?|tpp"
)
# what stands behind ±, by the words of a title or a header: ± std over 5 seeds
_STANDARD_ERROR = re.compile(r"standard errors?|std\.? ?err|\bstderr\b|\bs\.?e\.?m?\.?\b", re.IGNORECASE)
_STANDARD_DEVIATION = re.compile(r"standard dev|\bstd\b|\bstdev\b|\bs\.?d\.?\b", re.IGNORECASE)
_IN_WORDS = {
    w: k for k, w in enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 2)
}
_REPEATS = re.compile(
    rf"\b(\d+|{'|'.join(_IN_WORDS)}) (?:[a-z-]+ )?(?:seeds?|runs?|repeats?|repetitions|trials|folds)\b",
    re.IGNORECASE,
)
_KNOWN = {*STANDARD, *HYPERPARAMETERS, *LETTERS}


def is_known(column: Any) -> bool:
    """Whether a name alone may say what a column holds: such a column stays, however large the table is.

    >>> [is_known(name) for name in ("Params (M)", "tokens_b", "d", "val_ppl", "train_loss", "gpu_util")]
    [True, True, True, True, True, False]
    """
    short = header(str(column)).name
    measured = quantity(short)
    known = {short, bare(short)} & _KNOWN or (measured and not measured.others and not measured.is_spread)
    return bool(known or is_seed(short) or roles(short) or counts_examples(short))


class Naming:
    """A table with standard names and numbers.

    Args:
        frame: the table as it was found; ``frame.attrs["decimal_comma"]`` says that commas may be decimal
            points.
        columns: names that the caller gave, ours to theirs.
        names: what columns were called before, theirs to ours.
        kept: columns that keep their names even if these are unknown.

    Attributes:
        frame: the table.
        names: theirs to ours.
        found: the names of the columns that the table had.
        changes: what was done to the values of columns, by our names.
        units: of losses, by our names.
        guessed: our names of columns that were recognised by their values alone.
        notes: further remarks on columns.
    """

    def __init__(
        self, frame: pd.DataFrame, columns: dict[str, str], origin: str, names: dict[str, str],
        kept: Collection[str] = (),
    ) -> None:  # fmt: skip
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
        self.guessed = {*frame.attrs.get("guessed", ())}
        self.notes: list[str] = []
        self._read_spelling({*columns, *kept})
        self._read_units(columns, origin)
        self._read_names(set(columns), origin, kept)
        self._fill_groups()
        self._read_sizes_in_names(set(columns))
        self._read_families()
        self._read_ratio()
        self._read_products()
        self._read_percent()
        self._keep_spreads(" ".join([*frame.attrs.get(NOTES, ()), *map(str, frame.columns)]))
        self._doubt_errors(set(columns))

    def _read_spelling(self, asked: Collection[str]) -> None:
        """Correct names with one wrong letter (num_paramters), and strip prefixes (config.n)."""
        for theirs in (c for c in self.frame.columns if c not in asked):
            if (letter := without_prefix(theirs)) in LETTERS and letter not in self.frame:
                self._rename(theirs, letter)
        for theirs in (c for c in self.frame.columns if c not in asked and not is_known(c)):
            if (meant := spelt(theirs)) not in (theirs, *self.frame) and is_known(meant):
                self.notes.append(f"{theirs} read as {meant}")
                self._rename(theirs, meant)

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
        """The values multiplied by the unit in the name; None if the name has none."""
        values, cells = self.frame[column], self._cells.get(column)
        if found.name == "compute" != column != theirs:  # asked for as another size
            return None
        if found.log is not None:
            return self._of_logarithm(column, theirs, found, origin)
        if found.percent:
            self._mark_percent(column, found.name)
            if cells is not None and cells.percent:
                return values
            self._doubt_percent(theirs, found.name, values, origin)
            self._changed(column, "percent, divided by 100")
            return values / 100
        counted = bool(_COUNTED & {column, *roles(found.name)}) or counts_examples(found.name)
        counted = counted or SUBSCRIPT.fullmatch(found.name) is not None
        counted = counted or any(likely_size(found.name, size) for size in ("n_params", "tokens", "n_data"))
        if found.is_suffix and not (counted and self._has_suffix(found.name, values)):
            return None
        if found.scale == 1 or (found.by_letter and not counted):
            return None
        own = None if cells is None else cells.scaled  # 1.1B among millions
        if own is not None and own[values.notna()].all():
            return values
        scaled = values * found.scale if own is None else values.where(own, values * found.scale)
        if counted and scaled.max() > MOST_OF_A_SIZE and "compute" not in (column, *roles(found.name)):
            raise BadInput(
                f"{origin}: {theirs} has values up to {values.max():g}, in ones or times {found.scale:g}? "
                "Rename the column without its unit, or divide"
            )
        self._changed(column, f"times {found.scale:g}")
        return scaled

    def _of_logarithm(self, column: str, theirs: str, found: Header, origin: str) -> pd.Series | None:
        """Undo the logarithm of sizes or measurements; a log loss is not one."""
        values, base = self.frame[column], found.log
        lowest, highest = float(values.min()), float(values.max())
        is_result = (kind := quantity(found.name)) is not None and not kind.is_spread
        is_size = bool({*SIZES} & {column, *roles(found.name)}) and highest <= 80
        if not (is_size or is_result) or (is_result and base == 1 and lowest >= 0):
            return None
        if base == 1 and not is_result:  # log N: by its values, where one base is not possible
            base = 10 if lowest < np.log(FEWEST_PARAMS) else 0 if highest > 17 else 1
        if base == 1:
            raise BadInput(
                f"{origin}: {theirs} from {lowest:g} to {highest:g} may be log10 or ln: name it log10_… "
                "or ln_…"
            )
        self._changed(column, f"{base or 'e'} to the power of {theirs}")
        power = pd.Series(np.power(float(base or np.e), values))
        return power.round(0) if not is_result and power.min() >= FEWEST_PARAMS else power

    def _mark_percent(self, column: str, name: str) -> None:
        """Remember that errors and accuracies were in percent, so that answers are, too."""
        if (found := quantity(name)) is not None and found.kind in ("accuracy", "error"):
            self.units[column] = "%"

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

    def _read_names(self, asked: set[str], origin: str, kept: Collection[str]) -> None:
        """Give columns their standard names, as `meanings` chooses them for the whole table."""
        for size in (c for c in self.frame.columns if c in _COUNTED and not is_numeric(self.frame[c])):
            self._doubt_text(size, origin)
        self._tell_training(asked)
        named = aliases(c for c in self.frame.columns if c not in asked)
        found = meanings(self.frame, asked, self._cells, kept)
        for choice in found.open:
            if not {each.column for each in choice} & {*kept}:  # those are asked for by their own names
                self._leave_open(choice, origin)
        for each in found.chosen:
            self._give(each)
            self._name_others(each, named.get(each.role, []))
        for name in _COUNTED - {*self.frame.columns}:
            for column in (
                c for c in named.get(name, []) if c in self.frame and not is_numeric(self.frame[c])
            ):
                self._doubt_text(column, origin)
        self._prefer_tokens(asked)
        if "experiment" in self.frame and "run" not in self.frame:
            names = self.frame["experiment"].astype(str)  # abl_0, abl_1, …: names of the rows and no kinds
            if names.is_unique and len(names) >= FEWEST_OF_A_FAMILY and len({*families(names).values()}) == 1:
                self._rename("experiment", "run")
        splits = [c for c in ("test_loss", "train_loss") if c in self.frame]
        if "loss" in self.frame and "loss" not in asked and len(splits) == 1:  # the other one
            self._rename("loss", "train_loss" if splits == ["test_loss"] else "test_loss")

    def _tell_training(self, asked: set[str]) -> None:
        """A loss that stands in other rows than the accuracy or error is the training loss."""
        found = {
            c: q for c in self.frame if c not in asked and (q := measured(self.frame, c)) and not q.split
        }
        losses = [c for c, q in found.items() if q.kind == "loss" and not q.others]
        scores = [c for c, q in found.items() if q.kind in ("accuracy", "error")]
        if len(losses) != 1 or not scores or len(found) == len(self.frame.columns):
            return
        both = self.frame[losses].notna().all(axis=1) & self.frame[scores].notna().any(axis=1)
        if not both.any() and self.frame[losses[0]].notna().any() and "train_loss" not in self.frame:
            self._rename(losses[0], "train_loss")
            self.notes.append(f"{losses[0]} is the training loss: no row has it beside {scores[0]}")

    def _give(self, meaning: Meaning) -> None:
        """Give a column its standard name; a perplexity becomes its logarithm, the loss."""
        kind = quantity(meaning.column)
        others = (c for c in self.frame if c != meaning.column and measured(self.frame, c))
        if meaning.only and not any(others):
            self.notes.append(f"{meaning.column} is the only measurement")
        if meaning.column == "n" and meaning.role == "n_data":
            self.notes.append("n read as training examples (parameters: --column n_params=n)")
        if meaning.unit:
            self.units[meaning.role] = meaning.unit
        if meaning.evidence <= BY_VALUES and kind is None:
            self.guessed.add(meaning.role)
        if kind is not None and kind.kind == "perplexity":
            self.frame[meaning.role] = np.log(self.frame[meaning.column])
            self._changed(meaning.role, f"= ln {meaning.column}")
        else:
            self._rename(meaning.column, meaning.role)

    def _leave_open(self, choice: tuple[Meaning, ...], origin: str) -> None:
        """Note which columns are equally likely; refuse the table if each is likely by itself."""
        ways = [f"--column '{each.role}={each.column}'" for each in choice]
        columns = [each.column for each in choice]
        if choice[0].evidence > 0:
            raise NotDetermined(
                f"{origin} has {' and '.join(columns)}: say which of them the law is of, {' or '.join(ways)}"
            )
        self.notes.append(f"{choice[0].role} may be one of {listed(columns, 2)} ({ways[0]})")

    def _name_others(self, meaning: Meaning, found: list[Any]) -> None:
        """Note other columns that could be the same size and have other values."""
        ours = meaning.role
        others = [c for c in found if c in self.frame and is_numeric(self.frame[c])]
        differ = [c for c in others if not np.allclose(self.frame[c], self.frame[ours], equal_nan=True)]
        if ours in SIZES and differ and is_numeric(self.frame[ours]):
            self.notes.append(
                f"beside {ours}: {', '.join(differ)} (--column '{ours}={differ[0]}' takes that)"
            )

    def _doubt_text(self, column: str, origin: str) -> None:
        """Refuse a size with a few values that are not numbers; note one that is all text."""
        wrong = self._values.wrong(column)
        if wrong.empty:
            return
        value = wrong.iloc[0][:40]
        if 2 * len(wrong) < self.frame[column].count():
            raise BadInput(
                f"{origin}, row {wrong.index[0] + 1}: {column} = {value!r} does not read as a number. "
                "Correct it, leave it empty if it is not known, or rename the column if it is no size"
            )
        self.notes.append(f"{column} is text: {value!r} does not read as a number")

    def _prefer_tokens(self, asked: set[str]) -> None:
        """Rename sequences of equal length beside tokens: they are not a second size."""
        pair = [self.frame[c] for c in ("tokens", "n_data") if c in self.frame and c not in asked]
        if len(pair) < 2 or not all(map(is_numeric, pair)) or "sequences" in self.frame:
            return
        length = (pair[0] / pair[1]).dropna()
        if len(length) and length.min() > 1.5 and length.max() < (1 + SAME_LENGTH) * length.min():
            self._rename("n_data", "sequences")
            self.notes.append(f"sequences of {length.median():.0f} tokens beside tokens")

    def _rename(self, theirs: str, ours: str) -> None:
        self.frame = self.frame.rename(columns={theirs: ours})
        if theirs in self.guessed:
            self.guessed.add(ours)
        for kept in (self.changes, self.units, self._cells):
            if theirs in kept:
                kept[ours] = kept.pop(theirs)  # type: ignore[assignment]
        original = next((t for t, name in self.names.items() if name == theirs), theirs)
        self.names[original] = ours

    def _changed(self, column: str, change: str) -> None:
        self.changes.setdefault(column, []).append(change)

    # --- sizes that stand elsewhere ----------------------------------------------------------------

    def _read_sizes_in_names(self, asked: set[str]) -> None:
        """Take parameters and tokens from names such as Pythia-160M if no column has them."""
        if "n_params" in self.frame or "width" in self.frame:
            return
        texts = [c for c in ("model", "run", "experiment") if c in self.frame]
        texts += [c for c in self.frame if c not in (*texts, *asked, *TEXT) and not is_numeric(self.frame[c])]
        for column in texts:
            names = self.frame[column].dropna().astype(str)
            found = sizes_of_names(names.unique())
            if len(names) < len(self.frame) or "n_params" not in found:
                continue
            if column == "experiment" and "run" not in self.frame and names.is_unique:
                self._rename(column, "run")
            if {"tokens", "n_data"} & {*self.frame}:
                found.pop("tokens", None)
            first = names.iloc[0]
            for role, sizes in found.items():
                self.frame[role] = names.map({name: size for name, (size, _) in sizes.items()})
                self._changed(role, f"from {column}: {first} has {sizes[first][0]:g}")
            family = {name: name for name in names.unique()}
            for sizes in found.values():
                family = {name: text.replace(sizes[name][1], "") for name, text in family.items()}
            family = {name: re.sub(r"[-_/. ]+", " ", text).strip() for name, text in family.items()}
            if len({*family.values()}) > 1:
                self.frame["family"] = names.map(family)
            return
        named = next((c for c in ("run", "table") if c in self.frame), None)
        if named and not any(self.frame[c].nunique() > 1 for c in SIZES if c in self.frame):
            names = self.frame[named].astype(str)
            speech = any(
                word in OTHER_ERROR for text in (*self.found, *names) for word in bare(text).split("_")
            )
            for role, values in numbers_in_names([*names.unique()]).items():
                ours = "n_data" if role == "hours" and speech else role
                if ours not in self.frame and ours != "hours":
                    self.frame[ours] = names.map(dict(zip(names.unique(), map(number, values))))
                    self._changed(ours, f"from {named}: {names.iloc[0]} has {self.frame[ours].iloc[0]:g}")
                    self.units |= {ours: "hours"} if ours != role else {}

    def _read_families(self) -> None:
        """Group runs by their names without numbers: cosine-70M and wsd-70M are two families.

        Not if another column distinguishes the same groups.
        """
        if "run" not in self.frame or is_numeric(self.frame["run"]) or "family" in self.frame:
            return
        names = self.frame["run"].astype(str)
        family = names.map(families(names.unique()))
        counts = family[~names.duplicated()].value_counts()
        said = any(
            len({*zip(family, self.frame[c], strict=True)}) == len(counts) == self.frame[c].nunique()
            for c in self.frame.columns
        )
        if len(counts) > 1 and counts.min() >= FEWEST_OF_A_FAMILY and not said:
            self.frame["family"] = family
            self.notes.append(f"families by the names of runs: {listed(counts.index)}")

    def _fill_groups(self) -> None:
        """Fill down sizes and models that are written once for a group of rows, as in merged cells."""
        sizes = [c for c in self.frame if (c in SIZES and is_numeric(self.frame[c])) or c == "model"]
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
                self._changed(column, f"filled down in {counted(gaps, 'row')}")

    def _read_ratio(self) -> None:
        """Compute tokens from tokens per parameter if no column has them."""
        ratio = next((c for c in self.frame if _RATIO.fullmatch(bare(c)) and is_numeric(self.frame[c])), None)
        if ratio is None or "n_params" not in self.frame or {"tokens", "n_data", "examples"} & {*self.frame}:
            return
        if is_numeric(self.frame["n_params"]):
            self.frame["tokens"] = self.frame[ratio] * self.frame["n_params"]
            self._changed("tokens", f"= {ratio} × n_params")

    def _read_products(self) -> None:
        """Compute missing tokens from steps, batch and length, missing parameters from layers and width."""
        named = {bare(theirs): self.names.get(theirs, theirs) for theirs in self.found}
        numbers = {c for c in self.frame if is_numeric(self.frame[c])}

        def one_of(*names: str) -> str | None:
            return next((named[n] for n in names if named.get(n) in numbers), None)

        steps = [c for c in ("step", *map(one_of, _STEPS_IN_ALL)) if c in numbers]
        step = next((c for c in steps if self.frame[c].nunique() > 1), next(iter(steps), None))
        of_tokens = [bare(c) for c in self.found if re.search(r"batch.*tok", c, re.IGNORECASE)]
        per_step, length = one_of(*_TOKENS_PER_STEP, *of_tokens), one_of(*_LENGTHS)
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
        """Convert percent to fractions, and add the error of an accuracy."""
        for error, accuracy in (("train_error", "train_accuracy"), ("test_error", "test_accuracy")):
            for name in (error, accuracy):
                of_cells = name in self._cells and self._cells[name].percent
                if of_cells:
                    self.units[name] = "%"
                elif (
                    name in self.frame and is_numeric(self.frame[name]) and 1 < self.frame[name].max() <= 100
                ):
                    self.frame[name] = self.frame[name] / 100
                    self._changed(name, "in percent: divided by 100")
                    self.units[name] = "%"
            theirs = next((t for t, ours in self.names.items() if ours == accuracy), accuracy)
            of_task = (
                kind := quantity(theirs)
            ) is not None and kind.rank >= OF_TASKS  # an area, beside a loss
            if of_task and "test_loss" in self.frame:
                continue
            if accuracy in self.frame and error not in self.frame and is_numeric(self.frame[accuracy]):
                self.frame[error] = 1 - self.frame[accuracy]
                self._changed(error, f"= 1 − {accuracy}")
                self.units |= {error: self.units[accuracy]} if accuracy in self.units else {}

    def _keep_spreads(self, said: str) -> None:
        """Keep the numbers behind ± in a column, as standard errors if the table says what they are.

        Args:
            said: titles and names, such as "mean ± std of 3 seeds".
        """
        repeats = _REPEATS.search(said)
        several = 0.0 if repeats is None else float(_IN_WORDS.get(repeats[1].lower()) or repeats[1])
        of = 1.0 if _STANDARD_ERROR.search(said) else several if _STANDARD_DEVIATION.search(said) else 0.0
        for column, cells in self._cells.items():
            name = f"{column}_stderr" if of else f"{column}_spread"
            if cells.spread is None or column not in self.frame or name in self.frame:
                continue
            in_units = self.frame[column] / cells.values  # percent became fractions
            self.frame[name] = cells.spread * in_units.abs() / np.sqrt(of or 1.0)
            if not of:
                self.notes.append(
                    f"{name} has what stands behind ± (as a standard error: laws fit --error {name})"
                )
                continue
            told = (
                "what stands behind ±" if of == 1 else f"± / √{of:g}, a standard deviation of {of:g} repeats"
            )
            self.notes.append(f"{name} is {told}")
            if (error := column.replace("accuracy", "error")) != column and error in self.frame:
                self.frame[f"{error}_stderr"] = self.frame[name]

    def _doubt_errors(self, asked: set[str]) -> None:
        """Note what a plain `error` beside a measurement may be."""
        for column in (c for c in self.frame.columns if bare(c) in ERROR and c not in ("test_error", *asked)):
            self.notes.append(
                f"{column} may be a test error (--column test_error={column}) or a standard error (laws fit "
                f"--error {column})"
            )
