"""``scalinglab simulate random-features``: draw random features and follow their training."""

from __future__ import annotations

from typing import Annotated

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.output import emit, grid


def random_features(
    task_exponent: option.TaskExponent = 1.5,
    spectral_exponent: option.SpectralExponent = 1.25,
    n_modes: Annotated[
        int, typer.Option(help="Number of modes of the spectrum, e.g. 1000; all are sampled.")
    ] = 1000,
    n_params: option.Features = 64,
    n_data: option.Examples = 128,
    times: option.Times = "1:1e4:9",
    noise: option.Noise = 0.0,
    learning_rate: option.LearningRate = None,
    momentum: option.Momentum = 0.0,
    ensemble: Annotated[
        int, typer.Option(help="Ensemble size: number of feature draws averaged, e.g. 4.")
    ] = 1,
    bags: Annotated[int, typer.Option(help="Number of data draws averaged (bagging), e.g. 4.")] = 1,
    draws: Annotated[int, typer.Option(help="Independent repetitions, e.g. 10.")] = 10,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    device: Annotated[str, typer.Option(help="Torch device, e.g. cpu or cuda.")] = "cpu",
    json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Train random features on many draws, beside the theory (bordelon2024).

    Example: `scalinglab simulate random-features --n-params 64 --n-data 128 --times 1:1e4:9 --draws 20`
    """
    import numpy as np

    from scalinglab.simulate.random_features import train
    from scalinglab.spectrum import Spectrum
    from scalinglab.theory import dmft

    at = grid(times) if learning_rate is None else np.unique(np.round(grid(times)))
    dynamics: dmft.GradientFlow | dmft.GradientDescent = (
        dmft.GradientFlow(momentum)
        if learning_rate is None
        else dmft.GradientDescent(learning_rate, momentum)
    )
    spectrum = Spectrum.power_law(task_exponent, spectral_exponent, n_modes)
    setting = (n_params, n_data, noise, dynamics, ensemble, bags)
    drawn = train(spectrum, at, *setting, draws=draws, seed=seed, device=device)
    mean = drawn.average("seed").frame
    theory = dmft.solve(spectrum, at, *setting)
    document = {
        "spectrum": repr(spectrum), "n_params": n_params, "n_data": n_data, "noise": noise,
        "dynamics": str(dynamics), "ensemble": ensemble, "bags": bags, "draws": draws, "seed": seed,
        "time": at, "test_loss": mean["test_loss"].to_numpy(),
        "stderr": mean["test_loss_stderr"].to_numpy(),
        "test_theory": theory.test_loss, "train_loss": mean["train_loss"].to_numpy(),
        "train_theory": theory.train_loss,
    }  # fmt: skip
    emit(document, as_json=json, out=out, title="random features, simulation and theory")
