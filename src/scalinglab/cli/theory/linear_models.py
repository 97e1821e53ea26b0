"""``scalinglab simulate linear-models``: random features trained to convergence, beside their theory."""

from __future__ import annotations

from typing import Annotated

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.output import emit, grid


def linear_models(
    n_data: Annotated[
        str,
        typer.Option(
            "--n-data", "--data", help="Training examples: 100, a list 10,20 or a log range 10:300:6."
        ),
    ] = "10:300:6",
    n_params: Annotated[
        str, typer.Option("--n-params", "--params", help="Random features, same format as --n-data.")
    ] = "100",
    task_exponent: option.TaskExponent = 1.5,
    spectral_exponent: option.SpectralExponent = 1.25,
    n_modes: Annotated[int, typer.Option("--n-modes", "--modes", help="Number of modes, e.g. 400.")] = 400,
    ridge: Annotated[
        float, typer.Option(help="Ridge added to the kernel's diagonal, e.g. 1e-3; 0 for the pseudo-inverse.")
    ] = 0.0,
    noise: option.Noise = 0.0,
    draws: Annotated[int, typer.Option(help="Independent draws of data and features.")] = 40,
    seed: Annotated[int, typer.Option(help="Random seed of the draws.")] = 0,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Train random-feature models to convergence at every pair of sizes, beside the theory.

    scalinglab simulate linear-models --n-data 10:300:6 --n-params 100 --noise 0.1
    """
    import numpy as np

    from scalinglab.simulate import random_features as simulate
    from scalinglab.spectrum import Spectrum
    from scalinglab.theory import random_features as theory

    spectrum = Spectrum.power_law(task_exponent, spectral_exponent, n_modes)
    pool = simulate.GaussianPool(spectrum, noise)
    sizes = (np.unique(np.rint(grid(text))) for text in (n_data, n_params))
    table = simulate.sweep(pool, *sizes, ridge=ridge, draws=draws, seed=seed).frame
    grouped = table.groupby(["n_data", "n_params"])["test_loss"]
    found = grouped.mean().reset_index()
    found["stderr"] = grouped.std().to_numpy() / np.sqrt(draws)
    found["theory"] = theory.learning_curve(spectrum, found["n_data"], found["n_params"], ridge, noise).loss
    document = {"spectrum": repr(spectrum), "ridge": ridge, "noise": noise, "draws": draws}
    emit({**document, **{name: found[name].to_numpy() for name in found}}, found, as_json=as_json, out=out)
