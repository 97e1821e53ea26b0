"""Perceptrons of other losses with a penalty on the norm, drawn and minimised: `theory.perceptron.penalised`.

Smooth losses are minimised over the weights (L-BFGS), the hinge loss over its dual, a quadratic function of
one number in [0, 1] for every example. The error on fresh labels is exact, given the weights.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.support.work import track
from scalinglab.theory.perceptron import LOSSES

if TYPE_CHECKING:
    from scalinglab.curves import Curves

EXACT = {"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-14, "gtol": 1e-9}


@checked
def penalised(
    spectrum: Spectrum,
    n_data: int,
    ridge: ArrayLike,
    loss: str = "logistic",
    noise: float = 0.0,
    flips: float = 0.0,
    *,
    draws: int = 10,
    seed: int = 0,
) -> Curves:
    """Draw inputs and labels and minimise; one row for each ridge and draw.

    Args:
        spectrum, n_data, ridge, loss, noise, flips: as in `theory.perceptron.penalised`.
        draws: independent repetitions, the `seed` column of the curves.
        seed: of the random numbers.
    """
    from scalinglab.curves import Curves

    values = spectrum.eigenvalues
    teacher = np.sqrt(spectrum.target_power / values)
    power = float(spectrum.target_power.sum())
    ridges = np.atleast_1d(np.asarray(ridge, float))
    rows = []
    for draw in track(range(draws), f"perceptrons, {loss} loss"):
        random = np.random.default_rng([seed, draw])
        x = random.standard_normal((n_data, len(values))) * np.sqrt(values)
        labels = np.sign(x @ teacher + noise * random.standard_normal(n_data))
        labels = np.where(random.random(n_data) < flips, -labels, labels)
        seen = x * labels[:, None]
        for value in ridges:
            w = _hinge(seen, value) if loss == "hinge" else _smooth(seen, value, loss)
            m, q = float((values * teacher) @ w), float(values @ w**2)
            angle = math.acos(m / math.sqrt(q * (power + noise**2)))
            margins = seen @ w
            rows.append(
                {
                    "seed": draw, "ridge": value, "norm": float(np.linalg.norm(w)), "field": math.sqrt(q),
                    "overlap": m / math.sqrt(q * power),
                    "test_error": flips + (1 - 2 * flips) * angle / math.pi,
                    "train_loss": float(LOSSES[loss].value(margins).mean()),
                    "train_error": float((margins < 0).mean()),
                }
            )  # fmt: skip
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    setting = {"model": f"perceptron, {loss} loss", "n_data": n_data, "noise": noise, "flips": flips}
    return Curves({**setting, **columns}, source="simulate")


def _smooth(seen: np.ndarray, ridge: float, loss: str) -> np.ndarray:
    """Weights of a loss with a derivative."""
    chosen = LOSSES[loss]

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        margins = seen @ w
        value = float(chosen.value(margins).mean()) + ridge / 2 * float(w @ w)
        return value, seen.T @ chosen.slope(margins) / len(seen) + ridge * w

    found = minimize(objective, np.zeros(seen.shape[1]), jac=True, method="L-BFGS-B", options=EXACT)
    return np.asarray(found.x)


def _hinge(seen: np.ndarray, ridge: float) -> np.ndarray:
    """Weights w = Σ a_i y_i x_i/(n ridge), a in [0, 1] the solution of the dual problem."""
    kernel = seen @ seen.T / (len(seen) * ridge)

    def objective(a: np.ndarray) -> tuple[float, np.ndarray]:
        moved = kernel @ a
        return float(a @ moved / 2 - a.sum()), moved - 1

    start = np.full(len(seen), 0.5)
    found = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * len(seen), options=EXACT
    )
    return np.asarray(seen.T @ found.x / (len(seen) * ridge))
