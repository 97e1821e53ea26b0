"""Refits of a law on resampled runs: whole runs, never single points of a run, which are not independent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws.fitting import least_squares
from scalinglab.laws.fitting.solution import Solution, sizes_of
from scalinglab.results.distributions import Draws, Interval, interval
from scalinglab.results.estimate import FEWEST


@dataclass(frozen=True)
class Bootstrap:
    """Refits of a law on resampled runs.

    Attributes:
        law: the fit to all points.
        values: (draws, parameters), the refitted parameters in the form's order.
        runs: how many runs there were to draw from.
        scheme: "resample" or "wild".
        failed: draws whose refit did not come to rest; they are kept.
    """

    law: Solution
    values: np.ndarray
    runs: int
    scheme: str
    failed: int

    def predict(self, x: Any) -> np.ndarray:
        """Every refit at x, (draws, …)."""
        inputs = sizes_of(self.law.form, x)
        sizes = inputs if len(inputs) > 1 else inputs[0]
        extra = (1,) * (inputs.ndim - 1)
        columns = (self.values[:, j].reshape(-1, *extra) for j in range(self.values.shape[1]))
        sizes = sizes[:, None] if len(inputs) > 1 else sizes[None]
        return np.asarray(self.law.form.function(sizes, *columns))

    def interval(self, x: Any, level: float = 0.95) -> Interval:
        """The interval of the law at x."""
        return interval(self.known(self.predict(x)), level)

    def known(self, values: np.ndarray) -> Draws:
        """The distribution of what the refits give, values (draws, …)."""
        return Draws(values, runs=self.runs)

    def errors(self) -> dict[str, float]:
        """One standard error of every parameter."""
        return {n: float(np.std(self.values[:, j], ddof=1)) for j, n in enumerate(self.law.form.names)}


def bootstrap(law: Solution, draws: int = 1000, seed: int = 0, scheme: str = "auto") -> Bootstrap:
    """Refit to resampled runs, all at once; arguments as in `law.bootstrap`."""
    data = law.points
    labels, which = np.unique(data.runs, return_inverse=True)
    if draws < 2:
        raise BadInput(f"draws={draws} must be at least 2")
    if len(labels) < FEWEST:
        raise BadInput(
            f"a bootstrap over runs needs at least {FEWEST} runs, these points come from {len(labels)}"
        )
    if scheme == "auto":
        many = len(labels) >= 10 * len(law.form.parameters)
        scheme = "resample" if many or _cover_sizes(data.x, which) else "wild"
    rng = np.random.default_rng(seed)
    problem = law.problem
    if scheme == "resample":
        drawn = rng.integers(len(labels), size=(draws, len(labels)))
        counts = np.zeros((draws, len(labels)))
        np.add.at(counts, (np.repeat(np.arange(draws), len(labels)), drawn.ravel()), 1)
        problem = replace(problem, count=problem.count * counts[:, which])
    elif scheme == "wild":
        problem = replace(problem, y=redrawn(law, draws, rng))
    else:
        raise BadInput(f"scheme={scheme!r} must be 'auto', 'resample' or 'wild'")
    start = np.tile(law.coordinates, (draws, 1))
    # 1/n of the objective is what one standard error of a parameter changes: a thousandth of it is enough
    found = least_squares.minimise(problem, start, iterations=100, tolerance=1e-3 / len(data.y))
    values = problem.to_parameters(found.z)
    return Bootstrap(law, values, len(labels), scheme, int(np.sum(~found.converged)))


def redrawn(law: Solution, draws: int, rng: np.random.Generator) -> np.ndarray:
    """(draws, points) the law with residuals of whole runs flipped at random, their leverage corrected."""
    labels, which = np.unique(law.points.runs, return_inverse=True)
    flips = rng.choice([-1.0, 1.0], size=(draws, len(labels)))[:, which]
    noise = flips * law.residuals / np.sqrt(np.maximum(1 - leverage(law), 0.05))
    fitted = law.at(law.points.x)
    return np.asarray(fitted * np.exp(noise) if law.log else fitted + noise)


def _cover_sizes(x: np.ndarray, which: np.ndarray) -> bool:
    """Whether runs cover several sizes each, on the whole."""
    flat = x if x.ndim == 1 else np.unique(x, axis=1, return_inverse=True)[1].ravel()
    pairs = {(int(w), float(s)) for w, s in zip(which, flat, strict=True)}
    return len(pairs) > 1.5 * len(np.unique(which))


def leverage(law: Solution) -> np.ndarray:
    """The diagonal of the hat matrix of the linearised fit."""
    jacobian = law.problem.jacobian(law.coordinates[None])[0] * np.sqrt(law.problem.counts[0])[:, None]
    size = np.maximum(np.linalg.norm(jacobian, axis=0), least_squares.TINY)
    q, _ = np.linalg.qr(jacobian / size)
    return np.sum(q**2, axis=1)[: len(law.points.y)]
