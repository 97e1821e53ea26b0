"""``scalinglab theory`` and ``simulate``: the exactly solvable models, solved and drawn at finite size."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalinglab.cli.options import Numbers
from scalinglab.cli.output import Output
from scalinglab.cli.registry import command
from scalinglab.errors import BadInput, nearest

if TYPE_CHECKING:
    from scalinglab.spectrum import Spectrum

MODES, MODES_IN_TIME = 10**9, 10**4  # of a power law; the cost does not grow with them


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
    spectrum: Path | None = None,
    ridge: str = "0",
    noise: float = 0.0,
) -> Output:
    """Learning curve of kernel regression from its spectrum.

    scalinglab theory kernel --n-data 1:1e9:30 --task-exponent 1.5 --spectral-exponent 1.5

    scalinglab theory kernel --spectrum measured.csv --ridge best --noise 0.1

    Args:
        n_data: training examples: 100, 10,100,1000 or a log range 1:1e6:25.
        ridge: ridge added to the kernel's diagonal: a number, e.g. 1e-3, or 'best'.
        noise: standard deviation σ of the label noise, e.g. 0.1.
    """
    from scalinglab.theory import kernel as theory

    modes = _spectrum(spectrum, task_exponent, spectral_exponent)
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


@command("theory dmft")
def dmft(
    task_exponent: float = 1.5,
    spectral_exponent: float = 1.25,
    spectrum: Path | None = None,
    n_params: float = math.inf,
    n_data: float = math.inf,
    times: Numbers = "1:1e6:100",
) -> Output:
    """Test and train loss of random features against time, size and data (bordelon2024).

    Other dynamics, noise, ensembles and bags: scalinglab.theory.dmft.solve.

    scalinglab theory dmft --n-params 64 --n-data 128 --times 1:1e6:100

    Args:
        n_params: number N of random features, e.g. 64; inf for the kernel.
        n_data: number P of training examples, e.g. 128; inf for the population.
        times: training times: 5, a list 1,2,4 or a log range low:high:points.
    """
    import pandas as pd

    from scalinglab.theory import dmft as theory

    modes = _spectrum(spectrum, task_exponent, spectral_exponent, MODES_IN_TIME)
    found = theory.solve(modes, times, n_params, n_data)
    document = {
        "spectrum": repr(modes), "n_params": n_params, "n_data": n_data, "stable": found.stable,
        "time": found.times, "test_loss": found.test_loss, "train_loss": found.train_loss,
        "gap": found.gap, "bias": found.bias, "variance_params": found.variance_params,
        "variance_data": found.variance_data, "variance_both": found.variance_both,
    }  # fmt: skip
    # a file gets every column, the screen those that fit on it
    shown = pd.DataFrame({k: document[k] for k in ("time", "test_loss", "train_loss", "gap", "bias")})
    return Output(document, shown=shown, title="random features along training")


@command("theory bottlenecks")
def bottlenecks(
    task_exponent: float = 1.5, spectral_exponent: float = 1.25, budgets: Numbers | None = None
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
        frontier = theory.compute_optimal(_spectrum(None, task_exponent, spectral_exponent), budgets)
        document |= {
            "compute_budget": frontier.compute, "n_params": frontier.n_params,
            "training_time": frontier.time, "loss": frontier.loss,
        }  # fmt: skip
    return Output(document, title="compute-optimal frontier")


def _spectrum(
    path: Path | None, task_exponent: float, spectral_exponent: float, n_modes: int = MODES
) -> Spectrum:
    """A measured spectrum, from a file, or a power law."""
    from scalinglab.spectrum import Spectrum

    if path is None:
        return Spectrum.power_law(task_exponent, spectral_exponent, n_modes)
    from scalinglab.readers.tables.files import read_file

    table, _ = read_file(path)
    for column in ("eigenvalues", "target_power"):
        if column not in table:
            raise BadInput(f"--spectrum {path} has no column {column!r}; {nearest(column, table.columns)}")
    return Spectrum(table["eigenvalues"].to_numpy(float), table["target_power"].to_numpy(float))


@command("simulate perceptron")
def simulate_perceptron(load: float, sharpness: Numbers, n_params: int = 200, seeds: int = 4) -> Output:
    """Train perceptrons of fixed norm, beside the exact theory.

    Free norms, other inputs and labels: scalinglab.simulate.perceptron.

    scalinglab simulate perceptron --load 5 --sharpness 0.1:1e2:8 --n-params 400 --seeds 8

    Args:
        load: examples per weight, e.g. 5.
        sharpness: sharpnesses such as '0.1:1e2:20'.
        n_params: number of weights of the student, e.g. 200.
        seeds: number of problems drawn and averaged, e.g. 4.
    """
    from scalinglab.simulate import perceptron as simulate
    from scalinglab.theory import perceptron as theory

    problem = simulate.draw(load, n_params, seeds)
    curves = simulate.fixed_norm(problem, sharpness)
    table = (curves.average("seed") if seeds > 1 else curves).frame
    table = table.assign(theory=theory.fixed_norm(problem.setting["load"], table["norm"]).error)
    measured = ("norm", "test_error", "test_error_stderr", "theory", "train_loss", "margin_min")
    document = {str(name): table[name].to_numpy() for name in table}
    title = f"perceptron, {seeds} seeds, N = {n_params}, P = {problem.n_data}"
    return Output(document, table, shown=table[[name for name in measured if name in table]], title=title)
