"""What the commands on tables share: reading the rows asked for, drawing, and where results go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalinglab.cli.shared.output import emit, wrap, write
from scalinglab.errors import BadInput, ScalinglabError

if TYPE_CHECKING:
    import pandas as pd

    from scalinglab.curves import Curves
    from scalinglab.laws.surface import Surface
    from scalinglab.readers.tables import Understood


def pairs(option: str, texts: list[str] | None, shape: str) -> list[tuple[str, str]]:
    """``["model=CNN"]`` to ``[("model", "CNN")]``, as they stand; `shape` is the expected form."""
    found = []
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"{option} {text!r}: write {shape}")
        found.append((name, value))
    return found


def conditions(where: list[str] | None) -> dict[str, str]:
    """The rows that ``--where`` asks for: ``["model=CNN"]`` to ``{"model": "CNN"}``."""
    given = pairs("--where", where, "COLUMN=VALUE, as in --where model=CNN")
    return {column.strip(): value.strip() for column, value in given}


def renamed(column: list[str] | None) -> dict[str, str]:
    """``--column``, names of a file: ``["n_data=train_size"]`` to ``{"n_data": "train_size"}``."""
    shape = "OURS=THEIRS, as in n_data=train_size"
    given = pairs("--column", column, shape)
    for name, original in given:
        if not (name and original):
            raise BadInput(f"--column {name + '=' + original!r}: write {shape}")
    return dict(given)


def limits(bounds: list[str] | None) -> dict[str, tuple[float, float]]:
    """``--bounds``, limits of a law's parameters: ``["offset=0:0.1"]`` to ``{"offset": (0.0, 0.1)}``."""
    shape = "PARAMETER=LOW:HIGH, as in --bounds offset=0:0.1 or offset=0:inf"
    return _two_numbers("--bounds", bounds, shape)


def beliefs(priors: list[str] | None) -> dict[str, tuple[float, float]]:
    """``--prior``: ``["beta=1:0.5"]`` to ``{"beta": (1.0, 0.5)}``."""
    return _two_numbers("--prior", priors, "PARAMETER=VALUE:SPREAD, as in --prior alpha=0.35:0.1")


def _two_numbers(option: str, texts: list[str] | None, shape: str) -> dict[str, tuple[float, float]]:
    """``["name=1:2"]`` to ``{"name": (1.0, 2.0)}``; `shape` is the expected form."""
    found = {}
    for name, text in pairs(option, texts, shape):
        try:
            first, second = map(float, text.split(":"))
        except ValueError as error:
            raise BadInput(f"{option} {name}={text}: write {shape}") from error
        found[name.strip()] = first, second
    return found


def pairing(option: str, texts: list[str] | None, shape: str) -> dict[str, str]:
    """``["beta=alpha"]`` to ``{"beta": "alpha"}``; `shape` is the expected form."""
    return {name.strip(): value.strip() for name, value in pairs(option, texts, shape)}


def read_table(
    file: Path,
    column: list[str] | None,
    settings: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    wanted: Sequence[str] = (),
    *,
    as_json: bool,
) -> Understood:
    """Any table, a store's folder, a file or logs, under standard names; what was understood is said."""
    from scalinglab import readers

    table = readers.read_table(file, settings=settings, likely=roles, wanted=wanted, **renamed(column))
    if not len(table.frame):
        raise BadInput(f"the store {file} holds no runs with a checkpoint yet")
    say(f"read {table.line}", as_json)
    return table


def read_curves(
    file: Path,
    where: list[str] | None,
    column: list[str] | None = None,
    settings: tuple[str, ...] = (),
    wanted: tuple[str, ...] = (),
    *,
    as_json: bool,
) -> Curves:
    """The curves that a command line asks for; rows that were not asked for need not fit in with them.

    Args:
        settings: columns that the command takes for settings, whatever they are called.
        wanted: further columns that it uses.
    """
    from scalinglab.laws.fitting.data.rows import select

    chosen = conditions(where)
    table = read_table(file, column, settings, wanted=(*wanted, *chosen), as_json=as_json)
    asked = {table.resolve(name): value for name, value in chosen.items()}
    return table.curves(select(table.frame, asked))


@dataclass(frozen=True)
class Asked:
    """A table, and the arguments with which laws take their points from it.

    Attributes:
        frame: the table under standard names.
        x, y: the columns asked for, as they are called there.
        rows: which rows count: `reduce`, `where`, `nan_policy`, `drop_highest`.
        line: what was understood of the table.
    """

    frame: pd.DataFrame
    x: Any
    y: str
    rows: dict[str, Any]
    line: str

    @property
    def points(self) -> dict[str, Any]:
        """The arguments beside the table: ``laws.fit(form, asked.frame, **asked.points)``."""
        return {"x": self.x, "y": self.y, **self.rows}

    def worded(self, text: str) -> str:
        """A text on a surface, in which n_data is called tokens where it counts these."""
        from scalinglab.curves.columns import unit_of_data

        unit, words = unit_of_data(self.frame), r"\bn_data\b(?!=)"  # not in --where n_data=…
        text = text.replace("examples or tokens", unit)
        return re.sub(words, "tokens", text) if unit == "tokens" else text

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Errors of a surface `worded`."""
        try:
            yield
        except ScalinglabError as error:
            raise type(error)(self.worded(str(error))) from error

    def notes(self, notes: Sequence[str]) -> list[str]:
        """What was done to the rows, for the result."""
        return [*notes, f"read {self.line}"]


def ask(
    file: Path,
    x: str | list[str],
    y: str | None,
    where: list[str] | None,
    reduce: str = "auto",
    *,
    column: list[str] | None = None,
    roles: Mapping[str, str] | None = None,
    error: str | None = None,
    score: str | None = None,
    usual: str | None = None,
    as_json: bool,
    **rows: Any,
) -> Asked:
    """What a command line asks of a table; columns go by their standard names or by those in the file.

    Args:
        y: the column; None for the usual one, else that of `curves.columns.measure_of`.
        roles: which of the columns asked for are n_params and n_data, ours to theirs.
        error: the column of y's standard error.
        score: the column of a score beside y.
        usual: the column to prefer where y is not given, or that of the test.
        rows: further choices of rows, `nan_policy` and `drop_highest`.
    """
    from scalinglab.curves.columns import measure_of

    names = [x] if isinstance(x, str) else x
    wanted = [*filter(None, (y, error, score)), *conditions(where)]
    table = read_table(file, column, names, roles, wanted, as_json=as_json)
    of_run = {theirs: ours for ours, theirs in (roles or {}).items()}
    named = [table.resolve(name, of_run.get(name)) for name in names]
    asked = {table.resolve(name): value for name, value in conditions(where).items()}
    beside = {name: table.resolve(v) for name, v in (("error", error), ("score", score)) if v}
    rows = {"reduce": reduce, "where": asked, **rows, **beside}
    # by its name here first: beside a loss of the test, a file's `loss` is that of training
    preferred = (usual, f"test_{usual}", table.resolve(usual)) if usual else ()
    default = next(
        (name for name in preferred if name in table.frame), measure_of(table.frame, table.settings)
    )
    measured = table.resolve(y) if y else default
    return Asked(table.frame, named[0] if isinstance(x, str) else named, measured, rows, table.line)


def determined(fitted: Surface) -> dict[str, float | None]:
    """The parameters of a surface for JSON: None where its summary gives no value."""
    return {n: None if n in fitted.undetermined else v for n, v in fitted.parameters.items()}


def draw(figure: Any, asked: Path | None, file: Path, kind: str) -> str:
    """Write a figure where it was asked for, by default beside nothing: in the working folder."""
    path = asked or Path(f"{file.resolve().stem}-{kind}.png")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return str(path)


def say(text: str, as_json: bool) -> None:
    """Print text for the terminal; nothing if JSON goes to stdout."""
    if not as_json:
        print(wrap(text))


def finish(document: dict[str, Any], table: pd.DataFrame, as_json: bool, out: Path | None) -> None:
    """The machine's part of a result: JSON on stdout where asked, a file where asked, the figure's name."""
    if as_json:
        emit(document, table, as_json=True, out=out)
        return
    if "figure" in document:
        print(f"figure: {document['figure']}")
    if out is not None:
        write(document, table, out)
        print(f"written: {out}")
