"""A Gaussian process of ln loss over mixtures, with a length scale for each input.

    k(u, v) = a exp(−½ Σ_j (u_j − v_j)²/ℓ_j²) + b u·v/K + c s·s',

u the standardised shares after one of `MAPS`, s the logarithms of sizes. The length scales ℓ, a, b and the
noise maximise the marginal likelihood times priors of ln ℓ_j and of the noise: a domain that does not matter,
or follows another, gets a long length. The prediction of each run by the others (leave one out) has a closed
form; it gives the weights of the maps and corrects the width of intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from scalinglab.laws.weighing import smallest_on_simplex

# search: how a share enters, averaged; with logarithms the first percent of a domain counts
MAPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log, from 0.1 %": lambda shares: np.log(shares + 1e-3),
    "log, from 1 %": lambda shares: np.log(shares + 1e-2),
    "root": np.sqrt,
}
# published: ln ℓ ~ N(√2 + ½ ln K, 3) of K inputs with a standard deviation of one, Hvarfner et al. 2024
LENGTH, SPREAD = np.sqrt(2.0), np.sqrt(3.0)
NOISE = -4.0  # published: ln noise ~ N(-4, 1), as there (BoTorch); without it few runs count as exact
SLOPE = 100.0  # guard: c, so large that the prior does not shrink the slopes along sizes
LEAST_NOISE = 1e-6  # guard: variance of the noise, that of ln loss being one
MOST = 400  # search: runs of which the likelihood is maximised; all are used afterwards
ROUNDS = 40  # search: iterations; further ones change predictions by less than their noise


@dataclass(frozen=True)
class Process:
    """One process, fitted.

    Attributes:
        name: of the map of shares.
        centre, scale: of its inputs.
        inverse_lengths: (inputs,), 1/ℓ.
        amplitudes: a, b.
        noise: variance.
        inputs: (runs, inputs), standardised; sizes last.
        sizes: how many of them are sizes.
        mean, spread: of ln loss.
        solved: K⁻¹ y.
        factor: of K, for `cho_solve`.
        left_out: (runs,), ln loss of each run as the others predict it.
        left_out_std: (runs,), its standard deviation.
    """

    name: str
    centre: np.ndarray
    scale: np.ndarray
    inverse_lengths: np.ndarray
    amplitudes: tuple[float, float]
    noise: float
    inputs: np.ndarray
    sizes: int
    mean: float
    spread: float
    solved: np.ndarray
    factor: tuple[np.ndarray, bool]
    left_out: np.ndarray
    left_out_std: np.ndarray

    def predict(self, shares: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ln loss of one more run at mixtures (places, domains), and the standard deviation of ln loss."""
        u = (np.hstack([MAPS[self.name](shares), sizes]) - self.centre) / self.scale
        across = kernel_of(u, self.inputs, self.inverse_lengths, self.amplitudes, self.sizes)
        own = self.amplitudes[0] + _linear(u, u, self.amplitudes[1], self.sizes, same=True)
        known = np.einsum("ij,ji->i", across, cho_solve(self.factor, across.T))
        variance = np.maximum(own - known, 0.0) + self.noise
        return self.mean + self.spread * (across @ self.solved), self.spread * np.sqrt(variance)


def _linear(u: np.ndarray, v: np.ndarray, b: float, sizes: int, same: bool = False) -> np.ndarray:
    domains = u.shape[1] - sizes
    weights = np.where(np.arange(u.shape[1]) < domains, b / max(domains, 1), SLOPE)
    return np.asarray((u * weights * v).sum(axis=1) if same else (u * weights) @ v.T)


def kernel_of(
    u: np.ndarray, v: np.ndarray, inverse: np.ndarray, amplitudes: tuple[float, float], sizes: int
) -> np.ndarray:
    """The covariance of ln loss at two sets of mixtures: a Gaussian of their distance plus a plane."""
    return _bell(u, v, inverse, amplitudes[0]) + _linear(u, v, amplitudes[1], sizes)


def _bell(u: np.ndarray, v: np.ndarray, inverse: np.ndarray, amplitude: float) -> np.ndarray:
    a, b = u * inverse, v * inverse
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.asarray(amplitude * np.exp(-0.5 * np.maximum(squares, 0.0)))


def fit(name: str, shares: np.ndarray, sizes: np.ndarray, log_loss: np.ndarray) -> Process:
    """The process of one map, at the maximum of the marginal likelihood.

    Args:
        shares: (runs, domains).
        sizes: (runs, sizes), logarithms; no columns where there are none.
        log_loss: (runs,).
    """
    raw = np.hstack([MAPS[name](shares), sizes])
    centre, scale = raw.mean(axis=0), raw.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    u, mean, spread = (raw - centre) / scale, float(log_loss.mean()), float(log_loss.std())
    y, count = (log_loss - mean) / spread, u.shape[1]
    some = np.arange(len(y))
    if len(y) > MOST:
        some = np.random.default_rng(0).choice(len(y), MOST, replace=False)
    part, target = u[some], y[some]
    lines = _linear(part, part, 1.0, sizes.shape[1]) - _linear(part, part, 0.0, sizes.shape[1])
    expected = -LENGTH - 0.5 * np.log(count)

    def negative(p: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the log posterior, and its gradient."""
        inverse, (a, b, noise) = np.exp(p[:count]), np.exp(p[count:])
        bell = _bell(part, part, inverse, a)
        full = bell + _linear(part, part, b, sizes.shape[1]) + (noise + LEAST_NOISE) * np.eye(len(target))
        try:
            root = np.linalg.cholesky(full)
        except np.linalg.LinAlgError:  # singular by rounding: high enough that the search steps back
            return 1e10, np.zeros_like(p)
        undone = cho_solve((root, True), np.eye(len(target)))
        weights = undone @ target
        half = 0.5 * (undone - np.outer(weights, weights))
        shaped = half * bell
        off = (p[:count] - expected) / SPREAD
        # Σ_ik s_ik (u_i − u_k)² of every input
        spread_out = 2 * (shaped.sum(axis=1) @ part**2 - (part * (shaped @ part)).sum(axis=0))
        noisy = p[-1] - NOISE
        rest = [float(shaped.sum()), b * float((half * lines).sum()), noise * float(np.trace(half)) + noisy]
        value = 0.5 * target @ weights + np.log(np.diag(root)).sum() + 0.5 * ((off**2).sum() + noisy**2)
        return float(value), np.concatenate([off / SPREAD - inverse**2 * spread_out, rest])

    start = np.concatenate([np.full(count, expected), [0.0, -1.0, NOISE]])
    limits = [(-8.0, 4.0)] * count + [(-8.0, 6.0), (-12.0, 6.0), (-14.0, 3.0)]
    solved = minimize(
        negative, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": ROUNDS}
    ).x
    inverse, (a, b, noise) = np.exp(solved[:count]), np.exp(solved[count:])
    full = kernel_of(u, u, inverse, (a, b), sizes.shape[1]) + (noise + LEAST_NOISE) * np.eye(len(y))
    factor = cho_factor(full, lower=True)
    undone = cho_solve(factor, np.eye(len(y)))
    weights, own = undone @ y, np.diag(undone)
    return Process(
        name, centre, scale, inverse, (float(a), float(b)), float(noise) + LEAST_NOISE, u, sizes.shape[1],
        mean, spread, weights, factor, mean + spread * (y - weights / own), spread / np.sqrt(own),
    )  # fmt: skip


@dataclass(frozen=True)
class Average:
    """The processes of all maps, with the weights that predict left-out runs best.

    Attributes:
        parts: the processes.
        weights: theirs, which sum to one.
        left_out, left_out_std: as of `Process`.
    """

    parts: tuple[Process, ...]
    weights: np.ndarray
    left_out: np.ndarray
    left_out_std: np.ndarray

    def predict(self, shares: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ln loss at mixtures, and its standard deviation, which includes the spread of the parts."""
        return _averaged(self.weights, [part.predict(shares, sizes) for part in self.parts])


def average(shares: np.ndarray, sizes: np.ndarray, log_loss: np.ndarray) -> Average:
    """All maps, averaged."""
    parts = tuple(fit(name, shares, sizes, log_loss) for name in MAPS)
    errors = np.array([part.left_out for part in parts]) - log_loss
    weights = smallest_on_simplex(errors @ errors.T)
    means, stds = _averaged(weights, [(part.left_out, part.left_out_std) for part in parts])
    return Average(parts, weights, means, stds)


def _averaged(
    weights: np.ndarray, parts: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    mean = sum(w * m for w, (m, _) in zip(weights, parts, strict=True))
    square = sum(w * (s**2 + (m - mean) ** 2) for w, (m, s) in zip(weights, parts, strict=True))
    return np.asarray(mean), np.sqrt(square)
