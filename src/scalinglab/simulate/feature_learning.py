"""A linear network with trained features at finite size: the model of `theory.feature_learning`, drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from scalinglab.errors import BadInput, NotConverged
from scalinglab.simulate.tables import of_draws
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.support.work import track
from scalinglab.theory.dmft.losses import check_times

if TYPE_CHECKING:
    from scalinglab.curves import Curves

TOLERANCE = 1e-7  # relative, of weights along gradient flow
MOST = 250_000  # gradients, of all draws together: some ten seconds of a small network


@checked
def train(
    spectrum: Spectrum, times: ArrayLike, richness: float, n_params: int, n_data: float = math.inf,
    noise: float = 0.0, *, draws: int = 10, seed: int = 0,
) -> Curves:  # fmt: skip
    """Train readout w and features B by gradient flow, for many draws of projections A and examples.

    Every weight is integrated: w' = B G and B' = c w Gᵀ with G = A Λ (w* − AᵀBᵀw/√N)/√N, or the gradient on P
    examples.

    Args:
        spectrum: eigenvalues and target power, short enough to be built.
        times: of gradient flow.
        richness: c.
        n_params: N, the rows of A; B has N² weights.
        n_data: P examples; inf for the population.
        noise: σ of the labels.
        draws: independent projections, the `seed` column of the curves.
        seed: draw i has the projections of `theory.one_pass.drawn_modes(spectrum, n_params, seed + i)`.
    """
    at = np.unique(check_times(times, discrete=False))
    if n_params < 1 or draws < 1 or not n_data >= 1:
        raise BadInput(f"n_params = {n_params}, n_data = {n_data} and draws = {draws} must be 1 or more")
    if not math.isfinite(richness) or richness < 0:
        raise BadInput(f"richness={richness} must be a number, zero or positive")
    gradients = count(1)
    losses = [
        _one(spectrum, at, richness, int(n_params), n_data, noise, seed + i, gradients)
        for i in track(range(draws), "training features")
    ]
    setting = {
        "model": "trained features", "n_params": float(n_params), "n_data": float(n_data), "noise": noise,
        "richness": float(richness),
    }  # fmt: skip
    return of_draws(setting, at, ["richness"], test_loss=np.array(losses))


@checked
def train_on_batches(
    spectrum: Spectrum, times: ArrayLike, richness: float, n_params: int, learning_rate: float,
    batch_size: int, noise: float = 0.0, *, draws: int = 100, seed: int = 0,
) -> Curves:  # fmt: skip
    """One-pass SGD on every weight, w ← w + η B g and B ← B + η c w gᵀ, g the gradient on a fresh batch.

    Args:
        spectrum: eigenvalues and target power, short enough to be built.
        times: of the flow, η times the steps, rounded to whole steps.
        richness: c.
        n_params: N, the rows of A.
        learning_rate: η.
        batch_size: Gaussian examples of a step.
        noise: σ of the labels.
        draws: of batches, the `seed` column of the curves, on the same projections.
        seed: of the projections, those of `theory.one_pass.drawn_modes(spectrum, n_params, seed)`.
    """
    at = np.unique(check_times(times, discrete=False))
    if n_params < 1 or draws < 1 or batch_size < 1 or not (learning_rate > 0 and richness >= 0):
        raise BadInput(
            f"n_params = {n_params}, draws = {draws} and batch_size = {batch_size} must be 1 or more, "
            f"learning_rate = {learning_rate} positive and richness = {richness} not negative"
        )
    size, values = int(n_params), spectrum.eigenvalues
    target = np.sqrt(spectrum.target_power / values)
    a = np.random.default_rng(seed).standard_normal((size, spectrum.n_modes)) / math.sqrt(size)
    random = np.random.default_rng([seed, 1])
    w, b = np.zeros((draws, size)), np.tile(np.eye(size), (draws, 1, 1))
    steps = np.round(at / learning_rate).astype(int)
    losses = np.empty((draws, len(at)))
    for step in track(range(steps[-1] + 1), "training features"):
        z = np.matmul(w[:, None], b)[:, 0]
        for place in np.flatnonzero(steps == step):
            losses[:, place] = (target - z @ a) ** 2 @ values + noise**2
        inputs = random.standard_normal((draws, int(batch_size), len(values))) * np.sqrt(values)
        seen = inputs @ a.T
        errors = inputs @ target - np.matmul(seen, z[:, :, None])[..., 0]
        errors += noise * random.standard_normal(errors.shape)
        gradient = np.matmul(errors[:, None], seen)[:, 0] / batch_size
        moved = learning_rate * np.matmul(b, gradient[:, :, None])[..., 0]
        b += (learning_rate * richness) * w[:, :, None] * gradient[:, None]
        w = w + moved
    setting = {
        "model": "trained features", "n_params": float(n_params), "n_data": math.inf, "noise": noise,
        "richness": float(richness), "learning_rate": learning_rate, "batch_size": float(batch_size),
    }  # fmt: skip
    return of_draws(setting, at, ["richness"], test_loss=losses)


def _one(
    spectrum: Spectrum, times: np.ndarray, richness: float, size: int, n_data: float, noise: float, seed: int,
    gradients: Iterator[int],
) -> np.ndarray:  # fmt: skip
    values = spectrum.eigenvalues
    target = np.sqrt(spectrum.target_power / values)
    random = np.random.default_rng(seed)
    a = random.standard_normal((size, spectrum.n_modes)) / math.sqrt(size)
    if math.isfinite(n_data):
        examples = random.standard_normal((int(n_data), spectrum.n_modes)) * np.sqrt(values)
        errors = noise * random.standard_normal(int(n_data))

    def residual(state: np.ndarray) -> np.ndarray:
        w, b = state[:size], state[size:].reshape(size, size)
        left: np.ndarray = target - a.T @ (b.T @ w)
        return left

    def flow(time: float, state: np.ndarray) -> np.ndarray:
        if next(gradients) > MOST:
            raise BadInput(
                f"{MOST:,} gradients, of all draws together, come to time {time:.3g} of {times[-1]:.3g}: "
                "give earlier times, fewer draws, or less richness"
            )
        w, b = state[:size], state[size:].reshape(size, size)
        left = residual(state)
        if math.isfinite(n_data):
            gradient = a @ (examples.T @ (examples @ left + errors)) / n_data
        else:
            gradient = a @ (values * left)
        return np.concatenate([b @ gradient, richness * np.outer(w, gradient).ravel()])

    start = np.concatenate([np.zeros(size), np.eye(size).ravel()])
    found = solve_ivp(
        flow, (0.0, float(times[-1])), start, method="RK45", t_eval=times, rtol=TOLERANCE, atol=1e-9
    )
    if not found.success:
        raise NotConverged(f"gradient flow of draw {seed} ended early: {found.message}")
    return np.array([float(values @ residual(state) ** 2) + noise**2 for state in found.y.T])
