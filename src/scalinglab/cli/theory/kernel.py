"""``scalinglab theory kernel`` and ``scalinglab theory random-features``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.output import emit, grid, whole
from scalinglab.cli.theory.group import app
from scalinglab.errors import BadInput, nearest

if TYPE_CHECKING:
    from pathlib import Path

    from scalinglab.spectrum import Spectrum

Data = Annotated[
    str,
    typer.Option("--n-data", "--data", help="Training examples: 100, 10,100,1000 or a log range 1:1e6:25."),
]


@app.command("kernel")
def kernel(
    n_data: Data = "1:1e6:25",
    task_exponent: option.TaskExponent = 1.5,
    spectral_exponent: option.SpectralExponent = 1.25,
    n_modes: option.Modes = 1e9,
    spectrum: option.SpectrumFile = None,
    ridge: Annotated[
        str, typer.Option(help="Ridge added to the kernel's diagonal: a number, e.g. 1e-3, or 'best'.")
    ] = "0",
    noise: option.Noise = 0.0,
    json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Learning curve of kernel regression from its spectrum.

    Example: `scalinglab theory kernel --n-data 1:1e9:30 --task-exponent 1.5 --spectral-exponent 1.5`
    """
    from scalinglab.theory import kernel as theory

    modes = spectrum_of(spectrum, task_exponent, spectral_exponent, n_modes)
    sizes = grid(n_data)
    value = theory.optimal_ridge(modes, sizes, noise).ridge if ridge == "best" else _number(ridge)
    found = theory.learning_curve(modes, sizes, value, noise)
    document: dict[str, object] = {"spectrum": repr(modes), "noise": noise}
    if spectrum is None and min(task_exponent, spectral_exponent) > 1 and ridge == "0":
        law = theory.asymptotic_law(task_exponent, spectral_exponent, noise)
        document |= {"law_exponent": law.exponent, "law_constant": law.constant, "law_offset": law.offset}
    arrays = {"n_data": found.n_data, "ridge": found.ridge, "loss": found.loss}
    arrays |= {"kappa": found.kappa, "gamma": found.gamma, "bias": found.bias}
    emit({**document, **arrays}, as_json=json, out=out, title="kernel regression")


@app.command("random-features")
def random_features(
    n_data: Data = "100",
    n_params: Annotated[
        str, typer.Option(help="Random features, same format as --n-data; 'inf' for the kernel.")
    ] = "10:1e4:25",
    task_exponent: option.TaskExponent = 1.5,
    spectral_exponent: option.SpectralExponent = 1.25,
    n_modes: option.Modes = 1e9,
    spectrum: option.SpectrumFile = None,
    ridge: Annotated[float, typer.Option(help="Ridge added to the kernel's diagonal, e.g. 1e-3.")] = 0.0,
    noise: option.Noise = 0.0,
    json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Loss of random-feature regression for every pair of data and feature counts.

    Example: `scalinglab theory random-features --n-data 100 --n-params 10:1e4:25 --noise 0.1`
    """
    import numpy as np

    from scalinglab.theory import random_features as theory

    modes = spectrum_of(spectrum, task_exponent, spectral_exponent, n_modes)
    found = theory.learning_curve(modes, grid(n_data)[:, None], grid(n_params), ridge, noise)
    arrays = {name: np.ravel(getattr(found, name)) for name in ("n_data", "n_params", "loss", "kappa")}
    emit(
        {"spectrum": repr(modes), "ridge": ridge, "noise": noise, **arrays},
        as_json=json,
        out=out,
        title="random features",
    )


def spectrum_of(
    path: Path | None, task_exponent: float, spectral_exponent: float, n_modes: float
) -> Spectrum:
    """The spectrum that a command line asks for: measured, from a file, or a power law."""
    from scalinglab.spectrum import Spectrum

    if path is None:
        return Spectrum.power_law(task_exponent, spectral_exponent, whole("n_modes", n_modes))
    import pandas as pd

    if not path.exists():
        raise BadInput(f"--spectrum {path}: no such file")
    if path.suffix not in (".csv", ".parquet"):
        raise BadInput(f"--spectrum {path}: unknown ending {path.suffix!r}; use .csv or .parquet")
    try:
        table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    except (OSError, ValueError) as error:  # what pandas' and Arrow's parsers raise
        raise BadInput(f"--spectrum {path} cannot be read: {str(error).splitlines()[0]}") from error
    for column in ("eigenvalues", "target_power"):
        if column not in table:
            raise BadInput(f"--spectrum {path} has no column {column!r}; {nearest(column, table.columns)}")
    return Spectrum(table["eigenvalues"].to_numpy(), table["target_power"].to_numpy())


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise BadInput(f"--ridge {text!r} must be a number or 'best'") from error
