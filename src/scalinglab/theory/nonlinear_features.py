r"""Random features with a nonlinearity, φ_j(x) = σ(w_j·x), shallow or deep: their Gaussian equivalent.

Inputs are Gaussian with the covariance of a `Spectrum`, spread over many directions, and w_j ~ N(0, 1). With
s² = Σ λ_k the preactivation is s·g, g a unit Gaussian, and the feature without its mean is

    φ = μ₁ w·x/s + μ* ζ,     μ₁ = E g σ(sg),     μ*² = Var σ(sg) − μ₁²,

where ζ, orthogonal to linear functions, acts as noise of its own for every feature and input (Gaussian
equivalence; Goldt and others 2020, Hu and Lu 2022). So the features are linear random features of a longer
spectrum: μ₁² λ_k/s² with the target's power, and a flat tail of trace μ*², infinitely many modes in which the
target has none. Every solver of the package takes it: `theory.random_features.learning_curve`,
`theory.dmft.solve`, `MultiPassSGD`.

Of deep features whose inner layers are wide, each layer keeps the share μ₁²/Var σ of the linear part of the
layer before: depth moves trace from the linear part to the tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.spectrum import Nodes, Spectrum
from scalinglab.support.validation import checked

TAIL_MODES = 10**12  # of the flat tail, which stand for infinitely many
Activation = Callable[[np.ndarray], np.ndarray]


class Equivalent(Spectrum):
    """The spectrum of nonlinear features, made by `equivalent`.

    Attributes:
        inputs: the spectrum of the inputs and the linear target.
        linear: the trace of the linear part.
        nonlinear: the trace of the tail.
    """

    def __init__(self, inputs: Spectrum, linear: float, nonlinear: float) -> None:
        scale = linear / inputs.trace
        super().__init__(inputs.eigenvalues * scale, inputs.target_power)
        self.inputs, self.linear, self.nonlinear = inputs, linear, nonlinear

    def _compress(self, order: int) -> Nodes:
        kept = super()._compress(order)
        if not self.nonlinear > 0:
            return kept
        return Nodes(
            np.append(kept.eigenvalues, self.nonlinear / TAIL_MODES), np.append(kept.count, TAIL_MODES),
            np.append(kept.power, 0.0),
        )  # fmt: skip


@checked
def parts(activation: Activation, deviation: float) -> tuple[float, float]:
    """μ₁² and μ*² of σ at preactivations of that standard deviation."""
    edges = np.concatenate([-np.geomspace(9, 1e-3, 12), [0.0], np.geomspace(1e-3, 9, 12)])
    x, w = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges)[:, None] / 2
    g = (edges[:-1, None] + half * (1 + x)).ravel()
    weight = (half * w).ravel() * np.exp(-g * g / 2) / math.sqrt(2 * math.pi)
    with np.errstate(all="ignore"):  # what is not finite is refused
        value = np.asarray(activation(deviation * g), float)
    if value.shape != g.shape or not np.isfinite(value).all():
        raise BadInput("activation must take an array and return finite numbers of its shape")
    mean, slope, square = weight @ value, weight @ (value * g), weight @ value**2
    return float(slope**2), max(0.0, float(square - mean**2 - slope**2))


@checked
def equivalent(spectrum: Spectrum, activation: Activation, depth: int = 1) -> Equivalent:
    """The spectrum of nonlinear random features of Gaussian inputs.

    Args:
        spectrum: covariance of the inputs, and the power of a linear target in each direction. Inputs must be
            spread over many directions, (Σλ)²/Σλ² ≫ 1; what of a target is not linear counts as noise.
        activation: σ, of an array; features are taken without their mean.
        depth: layers of random features; all but the last are wide.

    >>> import numpy as np
    >>> import scalinglab as sl
    >>> inputs = sl.Spectrum(np.ones(200) / 200, np.ones(200) / 200)
    >>> relu = equivalent(inputs, lambda h: np.maximum(h, 0))
    >>> round(relu.linear, 6), round(relu.nonlinear, 6)  # 1/4 and 1/4 − 1/2π
    (0.25, 0.090845)
    """
    if depth < 1:
        raise BadInput(f"depth = {depth} must be 1 or more")
    share, variance = 1.0, spectrum.trace
    for _ in range(depth):
        slope, rest = parts(activation, math.sqrt(variance))
        variance = slope + rest
        if not slope > 1e-12 * variance:
            raise BadInput("the activation has no linear part: its features do not learn a linear target")
        share *= slope / variance
    return Equivalent(spectrum, share * variance, (1 - share) * variance)
