"""Options shared by several commands, each defined once: name, type and help text.

A command lists the options it takes, with its defaults, in its signature: ``x: X = "n_data"``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from scalinglab.errors import BadInput


def _by_ending(option: str, *endings: str) -> Callable[[Path | None], Path | None]:
    """Reject an unknown file ending before anything is computed."""

    def check(path: Path | None) -> Path | None:
        if path is not None and path.suffix not in endings:
            raise BadInput(f"{option} {path}: unknown ending {path.suffix!r}; use {' or '.join(endings)}")
        return path

    return check


def a_folder(path: Path | None) -> Path | None:
    """Reject a file where a folder of runs is expected."""
    if path is not None and path.is_file():
        raise BadInput(f"{path} is a file: runs are kept in a folder, such as runs/")
    return path


# every command that computes
Json = Annotated[bool, Option("--json", help="Print one JSON document on stdout and nothing else.")]
Out = Annotated[
    Path | None,
    Option(
        "--out",
        help="Write the result to this file, e.g. result.csv; format by ending: .csv, .parquet or .json.",
        callback=_by_ending("--out", ".csv", ".parquet", ".json"),
    ),
]

# tables of curves: which file, which columns, which rows
File = Annotated[
    Path,
    Argument(
        help="A store (runs/), logs, or a table: .csv, .tsv, .json, .jsonl, .parquet, .xlsx (also .gz)."
    ),
]
Columns = Annotated[
    list[str] | None,
    Option(
        "--column",
        help="Map a column that is not recognised, NAME=COLUMN, e.g. n_data=train_size. Repeatable.",
    ),
]
X = Annotated[str, Option("--x", help="The column on the x axis, e.g. n_data.")]
Y = Annotated[
    str | None,
    Option("--y", help="The column to fit or predict. Default: test_error, or test_loss without errors."),
]
Loss = Annotated[
    str | None, Option("--y", help="The column of the loss. Default: loss, else the measurement there is.")
]
Along = Annotated[
    str, Option("--x", help="The column that grows during training, e.g. norm (spectral complexity).")
]
Size = Annotated[str, Option("--size", help="The column that identifies each curve, e.g. n_data.")]
Params = Annotated[str, Option("--n-params", help="The column of the number of parameters, e.g. n_params.")]
Data = Annotated[
    str, Option("--n-data", help="The column of the data size in examples or tokens, e.g. n_data.")
]
Where = Annotated[
    list[str] | None, Option("--where", help="Use only rows with COLUMN=VALUE, e.g. model=cnn. Repeatable.")
]
Reduce = Annotated[
    str,
    Option(
        "--reduce",
        help="Which rows of a run to use: auto, best (lowest y, or highest accuracy), last or all.",
    ),
]
DropBad = Annotated[
    bool,
    Option(
        "--drop-bad",
        help="Drop invalid points (NaN, infinite; in logs: not positive) instead of stopping with an error.",
    ),
]
DropHighest = Annotated[int, Option("--drop-highest", help="Number of highest losses to leave out, e.g. 5.")]

# fits and plans
FormName = Annotated[
    str, Option("--form", help="The form of the law, e.g. power_law_offset; 'laws forms' lists all.")
]
Bounds = Annotated[
    list[str] | None,
    Option(
        "--bounds",
        help="Bounds of a parameter, PARAMETER=LOW:HIGH, e.g. exponent=0.1:1; equal bounds hold it fixed. "
        "Repeatable.",
    ),
]
Priors = Annotated[
    list[str] | None,
    Option(
        "--prior",
        help="Gaussian prior PARAMETER=MEAN:STD, e.g. exponent=0.5:0.1; for scale parameters STD is that of "
        "the logarithm. Repeatable.",
    ),
]
Tie = Annotated[
    list[str] | None,
    Option("--tie", help="Set two parameters equal, PARAMETER=OTHER, e.g. beta=alpha. Repeatable."),
]
Variables = Annotated[
    list[str] | None,
    Option(
        "--var",
        help="The column of a variable of the form, VARIABLE=COLUMN, e.g. n_data=tokens.",
    ),
]
Mixed = Annotated[
    bool,
    Option("--mixed", help="Fit rows of several models, data sets, sources or recipes together as one law."),
]
FlopsPerParamExample = Annotated[
    float, Option("--flops-per-param-example", help="FLOPs per parameter and example (or token), e.g. 6.")
]
Figure = Annotated[
    Path | None,
    Option(
        "--figure",
        help="Write the figure to this file, e.g. law.png; format by ending: .png, .pdf or .svg.",
        callback=_by_ending("--figure", ".png", ".pdf", ".svg"),
    ),
]
NoFigure = Annotated[bool, Option("--no-figure", help="Do not draw a figure.")]

# solvable models
TaskExponent = Annotated[float, Option(help="Exponent a of the target power, λ_k w_k² = k^-a, e.g. 1.5.")]
SpectralExponent = Annotated[
    float, Option(help="Exponent b of the kernel eigenvalues, λ_k = k^-b, e.g. 1.2.")
]
Modes = Annotated[
    float, Option("--n-modes", "--modes", help="Number of modes, e.g. 1e9; the cost does not grow with it.")
]
SpectrumFile = Annotated[
    Path | None,
    Option(
        "--spectrum",
        help="Use a measured spectrum: .csv or .parquet with the columns eigenvalues and target_power.",
    ),
]
Noise = Annotated[float, Option(help="Standard deviation σ of the label noise, e.g. 0.1.")]
Features = Annotated[
    float, Option("--n-params", help="Number N of random features, e.g. 64; inf for the kernel.")
]
Examples = Annotated[
    float, Option("--n-data", help="Number P of training examples, e.g. 128; inf for the population.")
]
Times = Annotated[str, Option(help="Training times: 5, a list 1,2,4 or a log range low:high:points.")]
LearningRate = Annotated[
    float | None,
    Option(
        help="Step size of gradient descent, e.g. 0.1; time is then counted in steps. Default: gradient flow."
    ),
]
Momentum = Annotated[float, Option(help="Momentum: β of gradient flow or μ of gradient descent, e.g. 0.9.")]
