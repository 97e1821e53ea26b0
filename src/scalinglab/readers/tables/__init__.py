"""Turn any table into curves: names, numbers and units, and which rows belong to one run.

`Curves.understood` lists in one line all that was changed or assumed.

Which rows are one run, in this order:

1. a column that names the run (`run`, `run_name`, `run_id`, …);
2. where the table has checkpoints (`step`, `epoch`, `examples` seen, a `norm` that rises from row to row),
   rows with the same settings; where a step comes twice, a new run begins at each row at which the step
   starts again;
3. otherwise each row is a run.

Tokens that grow within a run are its progress. `n_data` is then the number of tokens at the run's end,
whatever the column was called, so that a table of 6 runs with 40 checkpoints has 6 runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from scalinglab.curves import OUTCOME, PROGRESS, SETTING, Curves, is_seed
from scalinglab.curves.columns import IDENTITY, is_numeric, unit_of_data
from scalinglab.curves.names import NOUNS, aliases, bare, counted_twice, draws
from scalinglab.curves.reading import ColumnRead, Reading
from scalinglab.readers.tables.naming import Naming
from scalinglab.readers.tables.remarks import LEFT_OUT, NOTES, without_remarks
from scalinglab.readers.tables.runs import (
    declared_settings,
    find_runs,
    setting_columns,
    with_data_of_isoflops,
    without_copies,
)
from scalinglab.readers.tables.values import TEXT

# words in names of text columns that describe a run and are not settings
_ABOUT = {
    "commit", "sha", "git", "host", "hostname", "node", "machine", "note", "notes", "comment", "comments",
    "remark", "remarks", "path", "dir", "folder", "uri", "url", "link", "file", "date", "time", "started",
    "created", "user", "owner", "who", "author", "command", "job", "uuid", "id",
}  # fmt: skip


@dataclass(frozen=True)
class Understood:
    """A table with standard names, not validated yet.

    Attributes:
        frame: its rows, with a column `run`.
        settings: columns that are settings although they are not in the standard list.
        names: what columns were called, theirs to ours.
        reading: what was recognised and assumed, column by column.
    """

    frame: pd.DataFrame
    settings: tuple[str, ...]
    names: dict[str, str]
    reading: Reading

    @property
    def line(self) -> str:
        """What was recognised and assumed, in one line."""
        return self.reading.line

    def curves(self, frame: pd.DataFrame | None = None) -> Curves:
        """All rows, or those given, as curves."""
        rows = self.frame if frame is None else frame
        return Curves(rows, settings=self.settings, names=self.names, reading=self.reading)

    def resolve(self, column: str, role: str | None = None) -> str:
        """The name of a column here, given by this name or by the one it had where it was read.

        Args:
            role: `n_params` or `n_data` if the column is to be the final value of each run.
        """
        if role in self.frame and self.names.get(column, column) in (role, "tokens", "examples"):
            return str(role)
        name = column if column in self.frame else self.names.get(column, column)
        # a loss without a split is the test loss
        return (
            "test_loss" if name == "loss" and name not in self.frame and "test_loss" in self.frame else name
        )


def understand(
    frame: pd.DataFrame,
    columns: Mapping[str, str] | None = None,
    settings: Iterable[str] = (),
    *,
    likely: Mapping[str, str] | None = None,
    origin: str = "the table",
    names: Mapping[str, str] | None = None,
) -> Understood:
    """Recognise the columns of any table.

    Args:
        columns: what a column is called there, ``{"n_data": "train_size"}``; the others are recognised.
        settings: columns that are settings although they are not in the standard list, by their name there
            or by ours; those that the table does not have are passed over.
        likely: further names of columns, ignored where the table lacks them or has ours already.
        origin: what the table is called in messages.
        names: what columns were called before, theirs to ours.

    >>> table = pd.DataFrame({"params": ["19M", "1.3B"], "D": [2e9, 26e9], "val_loss": [3.1, 2.2]})
    >>> curves = understand(table).curves()
    >>> curves["n_params"].tolist(), curves.data_unit
    ([19000000, 1300000000], 'tokens')
    """
    active, _ = counted_twice(aliases(frame.columns).get("n_params", ()))
    called = dict(zip(("n_active",), active, strict=False)) | {c: c for c in frame}
    asked = {ours: called[c] for ours, c in (likely or {}).items() if c in called and ours not in frame}
    settings = [*settings, *draws([*map(str, frame)])]
    given = asked | _ours(columns or {}, frame, names or {})
    naming = Naming(frame, given, origin, dict(names or {}), settings)
    asked_for = [naming.names.get(name, name) for name in settings]
    stay = {*asked_for, *asked, *(columns or {})}
    large = [naming.names.get(name, name) for name in frame.attrs.get(LEFT_OUT, ())]
    named, left_out, shortened = without_remarks(naming.frame, stay, large)
    named, places, copies = without_copies(named)
    declared = declared_settings(named, asked_for)
    named, assumed = with_data_of_isoflops(named)
    table, notes = find_runs(named, declared, naming.names)
    notes = [*naming.notes, *copies, *assumed, *notes, *shortened]
    kept = tuple(name for name in declared if name in table)
    reading = Reading(
        origin, int(table["run"].nunique()) if "run" in table else 1, len(table),
        _columns(table, kept, naming, left_out), (*notes, *frame.attrs.get(NOTES, ())), tuple(places),
    )  # fmt: skip
    return Understood(table, kept, naming.names, reading)


def _ours(columns: Mapping[str, str], frame: pd.DataFrame, names: Mapping[str, str]) -> dict[str, str]:
    """Requested columns by their present names, where they were renamed on reading."""
    return {ours: c if c in frame else names.get(c, c) for ours, c in columns.items()}


def _columns(
    table: pd.DataFrame, declared: Iterable[str], naming: Naming, left_out: Sequence[str]
) -> tuple[ColumnRead, ...]:
    """Every column of the table with its role, and the columns left out."""
    settings = setting_columns(table, list(declared))
    theirs: dict[str, list[str]] = {}
    for before, now in naming.names.items():
        theirs.setdefault(now, []).append(before)
    # billions of images are no tokens
    words = {
        w for ours in ("n_data", "examples") for name in theirs.get(ours, ()) for w in bare(name).split("_")
    }
    images = bool(words & NOUNS["n_data"][0]) and "tokens" not in table
    unit = "examples" if images else unit_of_data(table)
    units = {"n_params": "parameters", "n_data": unit, "compute": "FLOPs", "tokens": "tokens"} | naming.units
    found = []
    for name in map(str, table.columns):
        change = ", ".join(naming.changes.get(name, ()))
        values = table[name]
        facts = {
            "role": _role(name, settings, values), "unit": units.get(name, ""), "change": change,
            "missing": int(values.isna().sum()), "varies": values.nunique(dropna=False) > 1,
            "sure": name not in naming.guessed,
        }  # fmt: skip
        made = name not in naming.found
        for before in theirs.get(name, [""] if made else [name]):
            found.append(ColumnRead(before, name, **facts))
    return (*found, *(ColumnRead(name, "", "left out") for name in left_out))


def _role(name: str, settings: Sequence[str], values: pd.Series) -> str:
    if name in settings:
        about = name not in (*SETTING, *TEXT) and not is_numeric(values)
        if about and (_ABOUT & {*bare(name).split("_")} or 2 * values.nunique() > max(len(values), 4)):
            return "about"
        return "seed" if is_seed(name) else "setting"
    roles = {"run": IDENTITY, "progress": PROGRESS, "outcome": OUTCOME}
    return next((role for role, names in roles.items() if name in names), "measured")
