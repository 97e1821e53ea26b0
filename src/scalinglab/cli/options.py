"""Options that several commands take, each written once: its name, its type and what its help says.

A command's signature says which it takes and what it starts from: ``x: X = "n_data"``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from scalinglab.errors import BadInput


def _by_ending(option: str, *endings: str) -> Callable[[Path | None], Path | None]:
    """Refuse a file of another kind before anything is computed for it."""

    def check(path: Path | None) -> Path | None:
        if path is not None and path.suffix not in endings:
            raise BadInput(f"{option} {path}: unknown ending {path.suffix!r}; use {' or '.join(endings)}")
        return path

    return check


def a_folder(path: Path | None) -> Path | None:
    """Refuse a file where runs are to be kept."""
    if path is not None and path.is_file():
        raise BadInput(f"{path} is a file: runs are kept in a folder, such as runs/")
    return path


# every command that computes
Json = Annotated[bool, Option("--json", help="One JSON document on stdout, nothing else there.")]
Out = Annotated[
    Path | None,
    Option(
        "--out",
        help="Write the result to FILE: .csv, .parquet or .json by its ending.",
        callback=_by_ending("--out", ".csv", ".parquet", ".json"),
    ),
]

# tables of curves: which file, which columns, which rows
File = Annotated[
    Path, Argument(help="A store, logs, or a table: .csv, .tsv, .json, .jsonl, .parquet, .xlsx, also .gz.")
]
Columns = Annotated[
    list[str] | None,
    Option(
        "--column",
        help="What a column is called there, where it is not recognised: n_data=train_size. Repeatable.",
    ),
]
X = Annotated[str, Option("--x", help="The column of sizes.")]
Y = Annotated[str, Option("--y", help="The column that was measured.")]
Loss = Annotated[str, Option("--y", help="The column of the loss.")]
Along = Annotated[str, Option("--x", help="The column that grows during training, a norm.")]
Size = Annotated[str, Option("--size", help="The column that tells the curves apart.")]
Params = Annotated[str, Option("--n-params", help="The column of parameters.")]
Data = Annotated[str, Option("--n-data", help="The column of examples.")]
Where = Annotated[
    list[str] | None, Option("--where", help="Only rows with COLUMN=VALUE; may be given again.")
]
Reduce = Annotated[
    str, Option("--reduce", help="Which rows of a run count: auto, best (lowest y), last, all.")
]
DropBad = Annotated[bool, Option("--drop-bad", help="Drop points that cannot be used instead of stopping.")]
DropHighest = Annotated[int, Option("--drop-highest", help="Leave out this many of the highest losses.")]

# fits and plans
FormName = Annotated[str, Option("--form", help="The form of the law; 'laws forms' lists them.")]
Bounds = Annotated[
    list[str] | None,
    Option(
        "--bounds",
        help="Keep a parameter of the law within PARAMETER=LOW:HIGH, hold it where both are the same; may be "
        "given again.",
    ),
]
Priors = Annotated[
    list[str] | None,
    Option(
        "--prior",
        help="A Gaussian prior PARAMETER=VALUE:SPREAD, the spread that of the logarithm for scales; may be "
        "given again.",
    ),
]
Tie = Annotated[
    list[str] | None,
    Option("--tie", help="Set PARAMETER=OTHER, as in beta=alpha; may be given again."),
]
Variables = Annotated[
    list[str] | None,
    Option(
        "--var",
        help="The column of a variable of the form, VARIABLE=COLUMN; by default the column of its name.",
    ),
]
Mixed = Annotated[
    bool, Option("--mixed", help="Fit rows of several models, data sets or sources as one law.")
]
FlopsPerParamExample = Annotated[
    float, Option("--flops-per-param-example", help="FLOPs of a run divided by parameters times examples.")
]
Figure = Annotated[
    Path | None,
    Option(
        "--figure",
        help="Where the figure is written (.png, .pdf, .svg).",
        callback=_by_ending("--figure", ".png", ".pdf", ".svg"),
    ),
]
NoFigure = Annotated[bool, Option("--no-figure", help="Do not draw.")]

# solvable models
TaskExponent = Annotated[float, Option(help="a of λ_k w_k² = k^-a.")]
SpectralExponent = Annotated[float, Option(help="b of λ_k = k^-b.")]
Modes = Annotated[float, Option("--n-modes", "--modes", help="Number of modes; 1e9 cost what 1e3 do.")]
SpectrumFile = Annotated[
    Path | None,
    Option("--spectrum", help="Measured instead: .csv or .parquet with eigenvalues and target_power."),
]
Noise = Annotated[float, Option(help="Standard deviation σ of the labels' noise.")]
Features = Annotated[float, Option("--n-params", help="N, random features; inf for the kernel itself.")]
Examples = Annotated[float, Option("--n-data", help="P, examples; inf for the population.")]
Times = Annotated[str, Option(help="5, 1,2,4 or low:high:points (log).")]
LearningRate = Annotated[
    float | None, Option(help="Count steps of gradient descent instead of the time of flow.")
]
Momentum = Annotated[float, Option(help="β of gradient flow, μ of gradient descent.")]
