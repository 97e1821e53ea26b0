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
layer before: depth moves trace from the linear part to the tail. An inner layer of n units is itself a
spectrum for the next. With x_i the eigenvalues of the kernel WΛWᵀ/n of its linear part, and ρ_i the power of
the target along them (means over draws of W, `dmft.modes`), it has

    eigenvalues μ₁² x_i/s² + μ*²/n,   power ρ_i times the share of the first part in them;

what is lost of the target does not depend on the units, and is noise to all layers above, `Equivalent.noise`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.spectrum import Nodes, Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.dmft.modes import drawn_modes

TAIL_MODES = 10**12  # of the flat tail, which stand for infinitely many
DRAWN_UNITS = 1000  # of an inner layer, over whose draws its spectrum is averaged
Activation = Callable[[np.ndarray], np.ndarray]


class Equivalent(Spectrum):
    """The spectrum of nonlinear features, made by `equivalent`.

    Attributes:
        inputs: the spectrum of the inputs and the linear target.
        linear: the trace of the linear part.
        nonlinear: the trace of the tail.
        noise: standard deviation of the part of the target that inner layers of finite width lose; it adds to
            the label noise.
    """

    def __init__(self, inputs: Spectrum, linear: float, nonlinear: float, noise: float = 0.0) -> None:
        scale = linear / inputs.trace
        super().__init__(inputs.eigenvalues * scale, inputs.target_power)
        self.inputs, self.linear, self.nonlinear, self.noise = inputs, linear, nonlinear, noise

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
    # panels shrink towards 0, where activations have their kinks; beyond 9 the weight is below 1e-17
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
def equivalent(
    spectrum: Spectrum, activation: Activation, depth: int = 1, inner: float = math.inf, *, seed: int = 0
) -> Equivalent:
    """The spectrum of nonlinear random features of Gaussian inputs.

    Args:
        spectrum: covariance of the inputs, and the power of a linear target in each direction. Inputs must be
            spread over many directions, (Σλ)²/Σλ² ≫ 1; what of a target is not linear counts as noise.
        activation: σ, of an array; features are taken without their mean.
        depth: layers of random features.
        inner: units of all layers but the last; inf for wide ones.
        seed: of the draws of inner layers.

    >>> import numpy as np
    >>> import scalinglab as sl
    >>> inputs = sl.Spectrum(np.ones(200) / 200, np.ones(200) / 200)
    >>> relu = equivalent(inputs, lambda h: np.maximum(h, 0))
    >>> round(relu.linear, 6), round(relu.nonlinear, 6)  # 1/4 and 1/4 − 1/2π
    (0.25, 0.090845)
    """
    if depth < 1:
        raise BadInput(f"depth = {depth} must be 1 or more")
    if not inner >= 1:
        raise BadInput(f"inner = {inner} must be 1 or more; inf is allowed")
    share, inputs, variance = 1.0, spectrum, spectrum.trace
    for layer in range(depth):
        slope, rest = parts(activation, math.sqrt(variance))
        if not slope > 1e-12 * (slope + rest):
            raise BadInput("the activation has no linear part: its features do not learn a linear target")
        if layer < depth - 1 and math.isfinite(inner):
            inputs = _layer(inputs, slope / variance, rest, int(inner), seed)
        else:
            share *= slope / (slope + rest)
        variance = slope + rest
    lost = float(spectrum.target_power.sum() - inputs.target_power.sum())
    return Equivalent(inputs, share * variance, (1 - share) * variance, math.sqrt(max(lost, 0.0)))


def _layer(inputs: Spectrum, gain: float, rest: float, units: int, seed: int) -> Spectrum:
    """The units of one inner layer as a spectrum; the target's power is what they hold of it."""
    draws = [drawn_modes(inputs, units, seed + i) for i in range(max(2, math.ceil(DRAWN_UNITS / units)))]
    size = min(units, len(inputs.eigenvalues))
    # eigenvalues in their order hardly differ between draws; the power along each does
    own, power = (np.mean([getattr(one, name)[:size] for one in draws], 0) for name in ("rate", "power"))
    flat = units - len(own)  # units beyond the inputs' directions
    linear = gain * np.append(own, np.zeros(flat))
    values = linear + rest / units
    kept = np.append(power, np.zeros(flat)) * linear / values
    order = np.argsort(-values)
    return Spectrum(values[order], kept[order])
