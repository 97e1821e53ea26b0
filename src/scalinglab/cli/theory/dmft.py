"""``scalinglab theory dmft``: losses of random features along training."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.output import emit, grid
from scalinglab.cli.theory.group import app
from scalinglab.cli.theory.kernel import spectrum_of
from scalinglab.errors import BadInput


@app.command("dmft")
def dmft(
    task_exponent: option.TaskExponent = 1.5,
    spectral_exponent: option.SpectralExponent = 1.25,
    n_modes: option.Modes = 1e4,
    spectrum: option.SpectrumFile = None,
    n_params: option.Features = math.inf,
    n_data: option.Examples = math.inf,
    times: option.Times = "1:1e6:100",
    noise: option.Noise = 0.0,
    learning_rate: option.LearningRate = None,
    momentum: option.Momentum = 0.0,
    batch_size: Annotated[
        float | None,
        typer.Option(
            help="Batch size of one-pass SGD (fresh examples each step), e.g. 32; needs --learning-rate."
        ),
    ] = None,
    ensemble: Annotated[
        float, typer.Option(help="Ensemble size: initialisations averaged, e.g. 4 or inf.")
    ] = 1,
    bags: Annotated[float, typer.Option(help="Data sets averaged (bagging), e.g. 4 or inf.")] = 1,
    json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Test and train loss of random features against time, size and data (bordelon2024).

    Example: `scalinglab theory dmft --n-params 64 --n-data 128 --times 1:1e6:100`
    """
    import numpy as np
    import pandas as pd

    from scalinglab.theory import dmft as theory

    at = grid(times)
    dynamics: theory.GradientFlow | theory.GradientDescent | theory.OnePassSGD
    if learning_rate is None and batch_size is not None:
        raise BadInput(f"--batch-size {batch_size:g}: one-pass SGD needs --learning-rate too")
    if learning_rate is None:
        dynamics = theory.GradientFlow(momentum)
    elif batch_size is None:
        dynamics = theory.GradientDescent(learning_rate, momentum)
    elif momentum:
        raise BadInput(f"--momentum {momentum:g}: one-pass SGD is solved without momentum")
    else:
        dynamics = theory.OnePassSGD(learning_rate, batch_size)
    if learning_rate is not None:
        at = np.unique(np.round(at))
    modes = spectrum_of(spectrum, task_exponent, spectral_exponent, n_modes)
    found = theory.solve(modes, at, n_params, n_data, noise, dynamics, ensemble, bags)
    document = {
        "spectrum": repr(modes),
        "n_params": n_params, "n_data": n_data, "noise": noise, "dynamics": str(dynamics),
        "ensemble": ensemble, "bags": bags, "stable": found.stable,
        "time": found.times, "test_loss": found.test_loss, "train_loss": found.train_loss,
        "gap": found.gap, "bias": found.bias, "variance_params": found.variance_params,
        "variance_data": found.variance_data, "variance_both": found.variance_both,
    }  # fmt: skip
    shown = None
    if out is None:  # a file gets every column, a screen those that fit on it
        shown = pd.DataFrame({k: document[k] for k in ("time", "test_loss", "train_loss", "gap", "bias")})
    emit(document, shown, as_json=json, out=out, title="random features along training")
