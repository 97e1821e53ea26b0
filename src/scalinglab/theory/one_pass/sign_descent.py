r"""Sign descent on fresh examples, θ ← θ − η sign(g): on the eigenvectors of a kernel, or on random features.

For one example the sign of a gradient is sign(φ_j) sign(residual), φ_j the feature of weight j with standard
deviation s_j. Both are Gaussian, and the mean of the product of two signs is (2/π) arcsin of the correlation.
Where the correlations are small, so where noise or the rest of the target is most of the residual, the mean
step is a step of gradient descent with rate 2η/(π s_j √(L + σ²)), and the noise of a step has the covariance
η² (2/π) arcsin(correlations of features). Two choices of weights are solved, each for its second moments:

Weights of eigenvectors, s_k = √λ_k, with v the residual weights,

    E v_k² ← E v_k² (1 − (4η/π) √λ_k/√(L + σ²)) + η²:

modes are learnt at rates √λ and not λ, and with label noise the loss falls as t^−2(a−1)/b, at twice the
exponent of SGD.

Weights of N random features Aψ/√N, all of s² = Σλ/N where the spectrum is spread over many directions. The
correlations of two features are small then, arcsin is the identity but for the diagonal, and along an
eigenvector of the features' kernel with eigenvalue x, c its part of the loss,

    c ← c (1 − (4η/π) x/(s√(L + σ²))) + η² x (2x/(πs²) + 1 − 2/π):

rates x as of SGD, hence its exponent (a−1)/b. Steps have the size of the noise, not of the gradient; part
of the noise has the shape of SGD's, and part, 1 − 2/π, is white.

Both end at L_∞ = capacity + (π/4) η √(L_∞ + σ²) Σ_j s_j, in which Σ s_j is Σ√λ or √(N Σλ): white noise in all
weights costs features that are many.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from scalinglab.errors import BadInput
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.dmft.losses import check_times
from scalinglab.theory.dmft.modes import SETTLED, modes

GROWTH = 0.04  # of the logarithm of time in a step
ROUNDS = 4  # in which the loss at the end of a step is found


@checked
def sign_descent(
    spectrum: Spectrum, times: ArrayLike, learning_rate: float, noise: float, n_params: float = math.inf
) -> np.ndarray:
    """Losses, σ² included, at the given steps of sign descent with one example each; the shape of `times`.

    Args:
        spectrum: eigenvalues and target power; with features, spread over many directions, (Σλ)²/Σλ² ≫ 1.
        times: whole steps.
        learning_rate: η; steps are taken as small, 4η/(π s σ) times the largest eigenvalue below 1/2.
        noise: σ of the labels, positive.
        n_params: N random features; inf for weights of the eigenvectors themselves.
    """
    at = check_times(times, discrete=True)
    if not (learning_rate > 0 and noise > 0 and n_params > 0):
        raise BadInput(
            f"learning_rate = {learning_rate}, noise = {noise} and n_params = {n_params} must be positive"
        )
    pull = 4 * learning_rate / math.pi  # over √(L + σ²) and times `speed`: the rate of second moments
    if math.isinf(n_params):
        nodes = spectrum.nodes()
        speed, power, source = np.sqrt(nodes.eigenvalues), nodes.power, nodes.count * nodes.eigenvalues
        fastest = float(speed.max())
    else:
        deviation = math.sqrt(spectrum.trace / n_params)
        slowest = deviation * noise / (pull * max(1.0, float(at.max(initial=0))))
        settled = SETTLED * math.sqrt(1 + float(spectrum.nodes().power.sum()) / noise**2)
        found = modes(spectrum, n_params, slowest, math.inf, settled)
        if found.smallest:  # after that the loss stays what it is
            at = np.minimum(at, math.ceil(settled * deviation * noise / (pull * found.smallest)))
        speed, power, fastest = found.rate / deviation, found.power, found.largest / deviation
        shaped, white = found.square / deviation**2, found.square / found.rate
        source = 2 / math.pi * shaped + (1 - 2 / math.pi) * white
    if not pull * fastest / noise < 0.5:
        raise BadInput(
            f"learning_rate = {learning_rate} and noise = {noise}: single steps must be small, "
            f"{pull * fastest / noise:.2g} of the fastest mode is below 1/2; take a smaller rate"
        )
    known, now = {}, 0.0

    def size(state: np.ndarray) -> float:
        return math.sqrt(max(float(state.real.sum()), 0.0) + noise**2)

    for target in np.unique(at):
        while now < target:
            end = min(float(target), max(now * (1 + GROWTH), now + 1.0))
            after = power
            for _ in range(ROUNDS):
                rate = 2 * pull * speed / (size(power) + size(after))
                lost = -np.expm1(-rate * (end - now))
                after = (1 - lost) * power + learning_rate**2 * source * lost / rate
            power, now = after, end
        known[float(target)] = float(power.real.sum()) + noise**2
    return np.array([known[float(t)] for t in at]).reshape(np.shape(times))
