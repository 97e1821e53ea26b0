r"""Sign descent on fresh examples: θ ← θ − η sign(g), in the eigenvectors of the kernel.

For one example the sign of a gradient is sign(ψ_k) sign(residual). Both are Gaussian with the correlation
√λ_k v_k/√(L + σ²), v the residual weights, and the mean of the product of two signs is (2/π) arcsin of it.
Where the correlations are small, so where noise or the rest of the target is most of the residual,

    E v_k² ← E v_k² (1 − (4η/π) √λ_k/√(L + σ²)) + η².

Modes are learnt at rates √λ and not λ: with label noise the loss falls as t^−2(a−1)/b, at twice the exponent
of SGD, to the floor (π/4) η σ Σ √λ, which needs b > 2 to stay finite for ever more modes. Random features,
which mix the eigenvectors, are not in it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from scalinglab.errors import BadInput
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.dmft.losses import check_times

GROWTH = 0.04  # of the logarithm of time in a step
ROUNDS = 4  # in which the loss at the end of a step is found


@checked
def sign_descent(spectrum: Spectrum, times: ArrayLike, learning_rate: float, noise: float) -> np.ndarray:
    """Losses, σ² included, at the given steps of sign descent with one example each; the shape of `times`.

    Args:
        spectrum: eigenvalues and target power.
        times: whole steps.
        learning_rate: η; steps are taken as small, (4η/π) √λ₁/σ below 1/2.
        noise: σ of the labels, positive.
    """
    at = check_times(times, discrete=True)
    nodes = spectrum.nodes()
    root = np.sqrt(nodes.eigenvalues)
    if not (learning_rate > 0 and noise > 0 and 4 * learning_rate * root.max() / (math.pi * noise) < 0.5):
        raise BadInput(
            f"learning_rate = {learning_rate} and noise = {noise} must be positive, with 4 η √λ₁/(π σ) below "
            "1/2: this is solved where single steps are small"
        )
    power, source = nodes.power, learning_rate**2 * nodes.count * nodes.eigenvalues
    order, now, known = np.unique(at), 0.0, {}

    def size(state: np.ndarray) -> float:
        return math.sqrt(float(state.sum()) + noise**2)

    for target in order:
        while now < target:
            end = min(float(target), max(now * (1 + GROWTH), now + 1.0))
            after = power
            for _ in range(ROUNDS):
                rate = 8 * learning_rate * root / (math.pi * (size(power) + size(after)))
                left = np.exp(-rate * (end - now))
                after = left * power + source * (1 - left) / rate
            power, now = after, end
        known[float(target)] = float(power.sum()) + noise**2
    return np.array([known[float(t)] for t in at]).reshape(np.shape(times))
