"""``scalinglab simulate``: draw the solvable models at finite size and train them, beside their theory."""

from __future__ import annotations

from scalinglab.cli.commands.theory import dynamics_of
from scalinglab.cli.options import Numbers
from scalinglab.cli.output import Output
from scalinglab.cli.registry import command


@command("simulate perceptron")
def perceptron(
    load: float,
    n_params: int = 200,
    seeds: int = 4,
    sharpness: Numbers | None = None,
    steps: int = 1000,
    method: str = "line_search",
    learning_rate: float = 0.1,
    batch_size: int | None = None,
    inputs: str = "rademacher",
    labels: str = "teacher",
    noise: float = 0.0,
    device: str = "cpu",
) -> Output:
    """Train perceptrons of fixed or free norm, beside the exact theory.

    scalinglab simulate perceptron --load 5 --sharpness 0.1:1e2:8

    scalinglab simulate perceptron --load 5 --steps 500 --method sgd --learning-rate 0.1 --batch-size 32

    scalinglab simulate perceptron --load 3 --labels random --inputs gaussian --n-params 400 --seeds 8

    scalinglab simulate perceptron --load 5 --noise 0.1 --device cuda

    Args:
        load: examples per weight, e.g. 5.
        n_params: number of weights of the student, e.g. 200.
        seeds: number of problems drawn and averaged, e.g. 4.
        sharpness: fixed norm: sharpnesses such as '0.1:1e2:20'. Default: the norm is free.
        steps: free norm: number of descent steps, e.g. 1000.
        method: free norm: optimizer: gradient, sgd, normalized or line_search.
        learning_rate: free norm: learning rate, e.g. 0.1.
        batch_size: free norm: batch size of sgd, e.g. 32.
        inputs: input distribution: rademacher or gaussian.
        labels: teacher, or random for the storage problem.
        noise: fraction of the teacher's labels that are flipped, e.g. 0.1.
    """
    from scalinglab.simulate import perceptron as simulate
    from scalinglab.theory import perceptron as theory

    problem = simulate.draw(load, n_params, seeds, inputs=inputs, labels=labels, noise=noise, device=device)
    if sharpness is not None:
        curves = simulate.fixed_norm(problem, sharpness)
    else:
        curves = simulate.free_norm(problem, steps, learning_rate, method=method, batch_size=batch_size)
    table = (curves.average("seed") if seeds > 1 else curves).frame
    if labels == "teacher" and noise == 0:
        table = table.assign(theory=theory.fixed_norm(problem.setting["load"], table["norm"]).error)
    measured = ("norm", "test_error", "test_error_stderr", "theory", "train_loss", "margin_min")
    shown = [name for name in (("step",) if sharpness is None else ()) + measured if name in table]
    document = {str(name): table[name].to_numpy() for name in table}
    title = f"perceptron, {seeds} seeds, N = {n_params}, P = {problem.n_data}"
    return Output(document, table, shown=table[shown], title=title)


@command("simulate random-features")
def random_features(
    task_exponent: float = 1.5,
    spectral_exponent: float = 1.25,
    n_modes: int = 1000,
    n_params: float = 64,
    n_data: float = 128,
    times: Numbers = "1:1e4:9",
    noise: float = 0.0,
    learning_rate: float | None = None,
    momentum: float = 0.0,
    ensemble: int = 1,
    bags: int = 1,
    draws: int = 10,
    seed: int = 0,
    device: str = "cpu",
) -> Output:
    """Train random features on many draws, beside the theory (bordelon2024).

    scalinglab simulate random-features --n-params 64 --n-data 128 --n-modes 500 --times 1:1e4:9 --draws 20

    scalinglab simulate random-features --learning-rate 0.3 --momentum 0.5 --ensemble 2 --bags 2 --seed 1

    Args:
        n_modes: number of modes of the spectrum, e.g. 1000; all are sampled.
        n_params: number N of random features, e.g. 64; inf for the kernel.
        n_data: number P of training examples, e.g. 128; inf for the population.
        ensemble: ensemble size: number of feature draws averaged, e.g. 4.
        bags: number of data draws averaged (bagging), e.g. 4.
    """
    from scalinglab.simulate.random_features import train
    from scalinglab.spectrum import Spectrum
    from scalinglab.theory import dmft

    at, dynamics = dynamics_of(times, learning_rate, momentum)
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
    return Output(document, title="random features, simulation and theory")


@command("simulate linear-models")
def linear_models(
    n_data: Numbers = "10:300:6",
    n_params: Numbers = "100",
    task_exponent: float = 1.5,
    spectral_exponent: float = 1.25,
    n_modes: int = 400,
    ridge: float = 0.0,
    noise: float = 0.0,
    draws: int = 40,
    seed: int = 0,
) -> Output:
    """Train random-feature models to convergence at every pair of sizes, beside the theory.

    scalinglab simulate linear-models --n-data 10:300:6 --n-params 100 --n-modes 200 --ridge 1e-3 --draws 80

    Args:
        n_data: training examples: 100, a list 10,20 or a log range 10:300:6.
        n_params: random features, same format as --n-data.
        n_modes: number of modes, e.g. 400.
        ridge: ridge added to the kernel's diagonal, e.g. 1e-3; 0 for the pseudo-inverse.
    """
    import numpy as np

    from scalinglab.simulate import random_features as simulate
    from scalinglab.spectrum import Spectrum
    from scalinglab.theory import random_features as theory

    spectrum = Spectrum.power_law(task_exponent, spectral_exponent, n_modes)
    sizes = (np.unique(np.rint(counts)) for counts in (n_data, n_params))
    drawn = simulate.sweep(
        simulate.GaussianPool(spectrum, noise), *sizes, ridge=ridge, draws=draws, seed=seed
    )
    grouped = drawn.frame.groupby(["n_data", "n_params"])["test_loss"]
    table = grouped.mean().reset_index()
    table["stderr"] = grouped.std().to_numpy() / np.sqrt(draws)
    table["theory"] = theory.learning_curve(spectrum, table["n_data"], table["n_params"], ridge, noise).loss
    document = {"spectrum": repr(spectrum), "ridge": ridge, "noise": noise, "draws": draws}
    return Output({**document, **{str(name): table[name].to_numpy() for name in table}}, table)
