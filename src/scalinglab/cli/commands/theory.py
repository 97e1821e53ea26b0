"""``scalinglab theory``: solve the exactly solvable models."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalinglab.cli.options import Numbers, Whole
from scalinglab.cli.output import Output
from scalinglab.cli.registry import command
from scalinglab.errors import BadInput, nearest

if TYPE_CHECKING:
    import numpy as np

    from scalinglab.spectrum import Spectrum
    from scalinglab.theory import dmft as dmft_theory


@command("theory perceptron")
def perceptron(load: Numbers, sharpness: Numbers | None = None) -> Output:
    """Error of the teacher–student perceptron at fixed norm, beside the classical learning rules.

    scalinglab theory perceptron --load 5 --sharpness 0.1:1e2:50 --json

    scalinglab theory perceptron --load 1:1000:7

    Args:
        load: examples per weight: 5, '1,5,25' or a log range '1:1e2:5'.
        sharpness: sharpness of the loss, or norm of the student: '0.1:1e2:50'; 0 and inf are allowed.
            Default: the best sharpness of each load.
    """
    import numpy as np
    import pandas as pd

    from scalinglab.theory import perceptron as theory

    if sharpness is None:
        found = theory.fixed_norm(load, theory.optimal_sharpness(load).sharpness)
    else:
        found = theory.fixed_norm(load[:, None], sharpness)
    columns = ("load", "sharpness", "error", "overlap", "stability")
    table = pd.DataFrame({name: np.ravel(getattr(found, name)) for name in columns})
    if sharpness is None:
        table.insert(3, "above_bayes", table["error"] / theory.bayes(load).error - 1)
    rules = ("hebb", "gibbs", "bayes", "max_stability")
    document = {
        "model": "teacher-student perceptron, logistic loss at fixed norm",
        **{name: table[name].to_numpy() for name in table},
        **{name: np.ravel(getattr(found, name)) for name in ("slope", "load_slope", "x", "log_x")},
        "rules": {"load": load, **{rule: getattr(theory, rule)(load).error for rule in rules}},
    }
    return Output(document, table, title="error at fixed norm")


@command("theory kernel")
def kernel(
    n_data: Numbers = "1:1e6:25",
    task_exponent: float = 1.5,
    spectral_exponent: float = 1.25,
    n_modes: Whole = 10**9,
    spectrum: Path | None = None,
    ridge: str = "0",
    noise: float = 0.0,
) -> Output:
    """Learning curve of kernel regression from its spectrum.

    scalinglab theory kernel --n-data 1:1e9:30 --task-exponent 1.5 --spectral-exponent 1.5 --n-modes 1e8

    scalinglab theory kernel --spectrum measured.csv --ridge best --noise 0.1

    Args:
        n_data: training examples: 100, 10,100,1000 or a log range 1:1e6:25.
        ridge: ridge added to the kernel's diagonal: a number, e.g. 1e-3, or 'best'.
    """
    from scalinglab.theory import kernel as theory

    modes = _spectrum(spectrum, task_exponent, spectral_exponent, n_modes)
    try:
        value = theory.optimal_ridge(modes, n_data, noise).ridge if ridge == "best" else float(ridge)
    except ValueError as error:
        raise BadInput(f"--ridge {ridge!r} must be a number or 'best'") from error
    found = theory.learning_curve(modes, n_data, value, noise)
    document: dict[str, Any] = {"spectrum": repr(modes), "noise": noise}
    if spectrum is None and min(task_exponent, spectral_exponent) > 1 and ridge == "0":
        law = theory.asymptotic_law(task_exponent, spectral_exponent, noise)
        document |= {"law_exponent": law.exponent, "law_constant": law.constant, "law_offset": law.offset}
    names = ("n_data", "ridge", "loss", "kappa", "gamma", "bias")
    return Output(document | {name: getattr(found, name) for name in names}, title="kernel regression")


@command("theory random-features")
def random_features(
    n_data: Numbers = "100",
    n_params: Numbers = "10:1e4:25",
    task_exponent: float = 1.5,
    spectral_exponent: float = 1.25,
    n_modes: Whole = 10**9,
    spectrum: Path | None = None,
    ridge: float = 0.0,
    noise: float = 0.0,
) -> Output:
    """Loss of random-feature regression for every pair of data and feature counts.

    scalinglab theory random-features --n-data 100 --n-params 10:1e4:25 --noise 0.1

    Args:
        n_data: training examples: 100, 10,100,1000 or a log range 1:1e6:25.
        n_params: random features, same format as --n-data; 'inf' for the kernel.
    """
    import numpy as np

    from scalinglab.theory import random_features as theory

    modes = _spectrum(spectrum, task_exponent, spectral_exponent, n_modes)
    found = theory.learning_curve(modes, n_data[:, None], n_params, ridge, noise)
    arrays = {name: np.ravel(getattr(found, name)) for name in ("n_data", "n_params", "loss", "kappa")}
    document = {"spectrum": repr(modes), "ridge": ridge, "noise": noise, **arrays}
    return Output(document, title="random features")


@command("theory dmft")
def dmft(
    task_exponent: float = 1.5,
    spectral_exponent: float = 1.25,
    n_modes: Whole = 10**4,
    spectrum: Path | None = None,
    n_params: float = math.inf,
    n_data: float = math.inf,
    times: Numbers = "1:1e6:100",
    noise: float = 0.0,
    learning_rate: float | None = None,
    momentum: float = 0.0,
    batch_size: float | None = None,
    ensemble: float = 1,
    bags: float = 1,
) -> Output:
    """Test and train loss of random features against time, size and data (bordelon2024).

    scalinglab theory dmft --n-params 64 --n-data 128 --times 1:1e6:100

    scalinglab theory dmft --n-params 64 --learning-rate 0.3 --batch-size 8 --ensemble 4 --bags 2

    Args:
        n_params: number N of random features, e.g. 64; inf for the kernel.
        n_data: number P of training examples, e.g. 128; inf for the population.
        batch_size: batch size of one-pass SGD (fresh examples each step), e.g. 32; needs --learning-rate.
        ensemble: ensemble size: initialisations averaged, e.g. 4 or inf.
        bags: data sets averaged (bagging), e.g. 4 or inf.
    """
    import pandas as pd

    from scalinglab.theory import dmft as theory

    at, dynamics = dynamics_of(times, learning_rate, momentum, batch_size)
    modes = _spectrum(spectrum, task_exponent, spectral_exponent, n_modes)
    found = theory.solve(modes, at, n_params, n_data, noise, dynamics, ensemble, bags)
    document = {
        "spectrum": repr(modes), "n_params": n_params, "n_data": n_data, "noise": noise,
        "dynamics": str(dynamics), "ensemble": ensemble, "bags": bags, "stable": found.stable,
        "time": found.times, "test_loss": found.test_loss, "train_loss": found.train_loss,
        "gap": found.gap, "bias": found.bias, "variance_params": found.variance_params,
        "variance_data": found.variance_data, "variance_both": found.variance_both,
    }  # fmt: skip
    # a file gets every column, the screen those that fit on it
    shown = pd.DataFrame({k: document[k] for k in ("time", "test_loss", "train_loss", "gap", "bias")})
    return Output(document, shown=shown, title="random features along training")


def dynamics_of(
    times: np.ndarray, learning_rate: float | None, momentum: float, batch_size: float | None = None
) -> tuple[np.ndarray, dmft_theory.GradientFlow | dmft_theory.GradientDescent | dmft_theory.OnePassSGD]:
    """The times at which losses are computed, whole steps unless it is a flow, and the dynamics."""
    import numpy as np

    from scalinglab.theory import dmft as theory

    if learning_rate is None:
        if batch_size is not None:
            raise BadInput(f"--batch-size {batch_size:g}: one-pass SGD needs --learning-rate too")
        return times, theory.GradientFlow(momentum)
    steps = np.unique(np.round(times))
    if batch_size is None:
        return steps, theory.GradientDescent(learning_rate, momentum)
    if momentum:
        raise BadInput(f"--momentum {momentum:g}: one-pass SGD is solved without momentum")
    return steps, theory.OnePassSGD(learning_rate, batch_size)


@command("theory bottlenecks")
def bottlenecks(
    task_exponent: float = 1.5,
    spectral_exponent: float = 1.25,
    budgets: Numbers | None = None,
    n_modes: Whole = 10**9,
) -> Output:
    """Exponents of time, data, params and compute, and the best N and t for a budget (bordelon2024).

    scalinglab theory bottlenecks --task-exponent 1.5 --spectral-exponent 1.25 --budgets 1e3:1e7:5

    Args:
        budgets: solve the exact frontier at these C = N t: 1e5, or 1e3:1e9:7 (log).
    """
    from scalinglab.theory import bottlenecks as theory

    found = theory.exponents(task_exponent, spectral_exponent)
    document: dict[str, Any] = {**asdict(found), "saturated": ", ".join(found.saturated) or "none"}
    if budgets is not None:
        frontier = theory.compute_optimal(_spectrum(None, task_exponent, spectral_exponent, n_modes), budgets)
        document |= {
            "compute_budget": frontier.compute, "n_params": frontier.n_params,
            "training_time": frontier.time, "loss": frontier.loss,
        }  # fmt: skip
    return Output(document, title="compute-optimal frontier")


def _spectrum(path: Path | None, task_exponent: float, spectral_exponent: float, n_modes: int) -> Spectrum:
    """A measured spectrum, from a file, or a power law."""
    from scalinglab.spectrum import Spectrum

    if path is None:
        return Spectrum.power_law(task_exponent, spectral_exponent, n_modes)
    from scalinglab.readers.tables.files import read_file

    table, _ = read_file(path, ("eigenvalues", "target_power"))
    for column in ("eigenvalues", "target_power"):
        if column not in table:
            raise BadInput(f"--spectrum {path} has no column {column!r}; {nearest(column, table.columns)}")
    return Spectrum(table["eigenvalues"].to_numpy(float), table["target_power"].to_numpy(float))
