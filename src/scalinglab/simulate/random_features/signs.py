"""Sign descent with one fresh example a step, drawn: the model of `theory.one_pass.sign_descent`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from scalinglab.errors import BadInput
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.dmft.losses import check_times

if TYPE_CHECKING:
    from scalinglab.curves import Curves


@checked
def sign_descent(
    spectrum: Spectrum,
    times: ArrayLike,
    learning_rate: float,
    noise: float,
    n_params: float = math.inf,
    *,
    draws: int = 10,
    seed: int = 0,
) -> Curves:
    """Train all draws side by side, θ ← θ + η sign(φ) sign(residual); one row for each time and draw.

    Args:
        spectrum, times, learning_rate, noise, n_params: as in `theory.one_pass.sign_descent`.
        draws: independent features and examples, the `seed` column of the curves.
        seed: of the random numbers.
    """
    from scalinglab.curves import Curves

    at = np.unique(check_times(times, discrete=True))
    if draws < 1 or not n_params >= 1:
        raise BadInput(f"draws = {draws} and n_params = {n_params} must be 1 or more")
    random = np.random.default_rng(seed)
    values = spectrum.eigenvalues
    target = np.sqrt(spectrum.target_power / values)
    shape = (draws, int(n_params), len(values)) if math.isfinite(n_params) else None
    projections = None if shape is None else random.standard_normal(shape) / math.sqrt(n_params)
    weights = np.zeros((draws, len(values) if shape is None else shape[1]))

    def learnt() -> np.ndarray:
        return weights if projections is None else (weights[:, None] @ projections)[:, 0]

    kept = {}
    for step in range(int(at.max(initial=0)) + 1):
        if step in at:
            kept[step] = (target - learnt()) ** 2 @ values + noise**2
        x = random.standard_normal((draws, len(values))) * np.sqrt(values)
        features = x if projections is None else (projections @ x[..., None])[..., 0]
        left = x @ target + noise * random.standard_normal(draws) - (features * weights).sum(1)
        weights = weights + learning_rate * np.sign(features) * np.sign(left)[:, None]
    seeds, grid = np.meshgrid(np.arange(draws), at, indexing="ij")
    return Curves(
        {"model": "random features", "n_params": float(n_params), "optimizer": "sign descent",
         "learning_rate": learning_rate, "batch_size": 1.0, "noise": noise, "seed": seeds.ravel(),
         "time": grid.ravel(), "test_loss": np.ravel(np.transpose([kept[int(t)] for t in at]))},
        source="simulate",
    )  # fmt: skip
