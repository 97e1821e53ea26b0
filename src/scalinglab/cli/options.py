"""Types of options: how text becomes a value; and the help that commands share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from scalinglab.errors import BadInput

if TYPE_CHECKING:
    import numpy as np

TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx", ".ods")  # endings of tables
ARGUMENT = object()  # in an annotation: a positional argument, not an option


@dataclass(frozen=True)
class Typed:
    """In an annotation: how a value is read from the command line.

    Attributes:
        given: the type of what is typed.
        read: makes the value from the option's name and what was typed.
    """

    given: Any
    read: Callable[[str, Any], Any]


def numbers(option: str, text: str) -> np.ndarray:
    """Numbers: ``5``, ``1,2,4``, or ``low:high:points`` spaced evenly in the log.

    >>> numbers("--at", "1:100:3").tolist()
    [1.0, 10.0, 100.0]
    """
    import numpy as np

    try:
        if ":" in text:
            low, high, points = text.split(":")
            if not (0 < float(low) < float(high) and int(points) >= 2):
                raise BadInput(f"{option} {text}: a log range needs 0 < low < high and two points or more")
            return np.geomspace(float(low), float(high), int(points))
        return np.array([float(part) for part in text.split(",")])
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput(
            f"{option} {text!r} is not a number, a list '1,2,4' or a log range 'low:high:points'"
        ) from error


def sizes(option: str, text: str) -> Any:
    """Sizes of a prediction: numbers in the order of the sizes, ``n_params=7e9,n_data=60B``, or a table.

    >>> sizes("--at", "n_params=7e9,n_data=2e10,6e10")
    {'n_params': array([7.e+09]), 'n_data': array([2.e+10, 6.e+10])}
    >>> sizes("--at", "7B,60B").tolist()
    [7000000000.0, 60000000000.0]
    """
    import numpy as np

    from scalinglab.curves.numbers import number

    if Path(text).exists():
        return Path(text)
    if Path(text).suffix in TABLES:
        raise BadInput(f"{option} {text}: there is no such file")
    named: dict[str, list[float]] = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        name = name.strip() if equals else next(reversed(named), "")
        if ":" in value:
            named.setdefault(name, []).extend(numbers(option, value))
            continue
        if (read := number(value)) is None:
            raise BadInput(
                f"{option} {text!r}: write sizes as 1e6, 7e9,6e10, n_params=7e9,n_data=60B or "
                "low:high:points, or name a table with a row for each place"
            )
        named.setdefault(name, []).append(read)
    found = {name: np.array(values) for name, values in named.items()}
    return found.get("") if [*found] == [""] else found


def by_name(at: Any, names: Sequence[str]) -> Any:
    """Sizes of ``--at`` by name: those typed without names are one value of each of these, in their order."""
    if isinstance(at, (dict, Path)):
        return at
    if len(names) > 1 and len(at) != len(names):
        raise BadInput(f"--at: give one value of each of {', '.join(names)}, or sizes by name")
    return dict(zip(names, at[:, None], strict=True)) if len(names) > 1 else {names[0]: at}


def words(_: str, text: str) -> list[str]:
    """Words that are separated by commas.

    >>> words("--x", "n_params, n_data")
    ['n_params', 'n_data']
    """
    return [word.strip() for word in text.split(",")]


def whole(option: str, value: float) -> int:
    """A count that is typed like 1e9."""
    if not math.isfinite(value) or value != int(value):
        raise BadInput(f"{option} {value:g} must be a whole number, as in 1000 or 1e9")
    return int(value)


def pairs(option: str, texts: list[str], shape: str) -> list[tuple[str, str]]:
    """``["model=CNN"]`` to ``[("model", "CNN")]``, without spaces around them; `shape` is how to write it."""
    found = []
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (equals and name and value):
            raise BadInput(f"{option} {text!r}: write {shape}")
        found.append((name, value))
    return found


def named(shape: str) -> Typed:
    """Pairs of words as a dictionary; `shape` is how to write one."""
    return Typed(list[str], lambda option, texts: dict(pairs(option, texts, shape)))


def two_numbers(shape: str) -> Typed:
    """``["offset=0:0.1"]`` to ``{"offset": (0.0, 0.1)}``; `shape` is how to write one."""

    def read(option: str, texts: list[str]) -> dict[str, tuple[float, float]]:
        found = {}
        for name, text in pairs(option, texts, shape):
            try:
                first, second = map(float, text.split(":"))
            except ValueError as error:
                raise BadInput(f"{option} {name}={text}: write {shape}") from error
            found[name] = first, second
        return found

    return Typed(list[str], read)


def ending(*endings: str) -> Typed:
    """A file with one of these endings, which is tested before anything is computed."""

    def read(option: str, path: Path) -> Path:
        if path.suffix not in endings:
            raise BadInput(f"{option} {path}: unknown ending {path.suffix!r}; use {' or '.join(endings)}")
        return path

    return Typed(Path, read)


def folder(option: str, path: Path) -> Path:
    """A folder of runs, which may not be there yet."""
    if path.is_file():
        raise BadInput(f"{path} is a file: runs are kept in a folder, such as runs/")
    return path


Numbers = Annotated[Any, Typed(str, numbers)]  # Any: a default is written as it is typed
Sizes = Annotated[Any, Typed(str, sizes)]
Words = Annotated[Any, Typed(str, words)]
Folder = Annotated[Path, Typed(Path, folder)]
File = Annotated[Path, ARGUMENT]
OutFile = Annotated[Path, ending(".csv", ".parquet", ".json")]
FigureFile = Annotated[Path, ending(".png", ".pdf", ".svg")]
Columns = Annotated[dict[str, str], named("OURS=THEIRS, as in n_data=train_size")]
Where = Annotated[dict[str, str], named("COLUMN=VALUE, as in --where model=CNN")]
Variables = Annotated[dict[str, str], named("VARIABLE=COLUMN, as in --var n_experts=E")]
Tie = Annotated[dict[str, str], named("PARAMETER=OTHER, as in --tie beta=alpha")]
Bounds = Annotated[
    dict[str, tuple[float, float]],
    two_numbers("PARAMETER=LOW:HIGH, as in --bounds offset=0:0.1 or offset=0:inf"),
]
Priors = Annotated[
    dict[str, tuple[float, float]], two_numbers("PARAMETER=VALUE:SPREAD, as in --prior alpha=0.35:0.1")
]

# further names of options: a compute is one of FLOPs
ALSO = {"compute": ("--flops",), "out": ("-o",)}
# help of options that mean the same in several commands
HELP = {
    "json": "print one JSON document on stdout and nothing else.",
    "out": "write the result to this file, e.g. result.csv; format by ending: .csv, .parquet or .json.",
    "figure": "write the figure to this file, e.g. law.png; format by ending: .png, .pdf or .svg.",
    "no_figure": "do not draw a figure.",
    "file": "a store (runs/), logs, or a table: CSV, JSON, YAML, Markdown, Excel, … (also .gz, .zip).",
    "column": "map a column that is not recognised, NAME=COLUMN, e.g. n_data=train_size. Repeatable.",
    "where": "use only rows with COLUMN=VALUE, e.g. model=cnn. Repeatable.",
    "path": "the folder of the store, e.g. runs/.",
    "reduce": "which rows of a run to use: auto, best (lowest y, or highest accuracy), last or all.",
    "drop_bad": "drop invalid points (NaN, infinite; in logs: not positive) instead of stopping.",
    "x": "the column of the size, e.g. n_data. Default: the size that varies.",
    "y": "the column to fit or predict. Default: test_error, or test_loss without errors.",
    "size": "the column that identifies each curve, e.g. n_data.",
    "level": "confidence level of the intervals, e.g. 0.95.",
    "form": "the form of the law, e.g. power_law_offset; 'laws forms' lists all.",
    "space": "take residuals of 'log' or 'raw' values.",
    "bounds": "bounds of a parameter, PARAMETER=LOW:HIGH, e.g. exponent=0.1:1; equal bounds fix it. "
    "Repeatable.",
    "prior": "Gaussian prior PARAMETER=MEAN:STD, e.g. exponent=0.5:0.1; for scale parameters STD is that of "
    "the logarithm. Repeatable.",
    "tie": "set two parameters equal, PARAMETER=OTHER, e.g. beta=alpha. Repeatable.",
    "var": "the column of a variable of the form, VARIABLE=COLUMN, e.g. n_data=tokens. Repeatable.",
    "flops_per_param_example": "FLOPs per parameter and example (or token), e.g. 6.",
    "task_exponent": "exponent a of the target power, λ_k w_k² = k^-a, e.g. 1.5.",
    "spectral_exponent": "exponent b of the kernel eigenvalues, λ_k = k^-b, e.g. 1.2.",
    "spectrum": "use a measured spectrum: a table with the columns eigenvalues and target_power, e.g. s.csv.",
    "device": "device, e.g. cpu or cuda. Default: a GPU if available.",
}
