r"""Learning curves of kernel regression, from the spectrum of the kernel and the target's power in it.

For n examples, eigenvalues λ_k, target power λ_k w_k², label noise σ and a ridge (bahri2021 eq. S12;
bordelon2024 eqs. 76–78; the noise and the ridge as in Canatar et al. 2021):

    κ = ridge + Σ_k κ λ_k / (κ + n λ_k),        γ = Σ_k n λ_k² / (κ + n λ_k)²,
    L(n) = [ Σ_k λ_k w_k² κ²/(κ + n λ_k)² + σ² ] / (1 − γ).

The error of one mode, λ_k ⟨(w_k − ŵ_k)²⟩, is λ_k w_k² κ²/(κ + n λ_k)² + L · n λ_k²/(κ + n λ_k)²: what is not
yet learned, and what the whole loss leaks into it; together with σ² the modes sum to L.

Conventions: the loss is the mean squared error on noisy test labels, without the factor 1/2 of bahri2021
eq. 5; predictions are K(x, X)(K(X, X) + ridge)⁻¹ y, so `ridge` is not multiplied by n. With κ̂ = κ/n and
s_k = λ_k/(κ̂ + λ_k) the equation for κ reads Σ s_k + ridge/κ̂ = n. Sums run over `Spectrum.nodes()`: their
cost does not depend on the number of modes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import beta, zeta

from scalinglab.errors import BadInput, NotConverged
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.spectrum import MOST_MODES, Nodes, Spectrum
from scalinglab.support.validation import at_most, checked, together

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from scalinglab.curves import Curves

CHUNK = 2048  # values of n_data solved at once, so that memory stays small


@dataclass(frozen=True, eq=False)
class LearningCurve(Worded):
    """The solution for each value of `n_data`; every array has the shape of the broadcast inputs.

    Attributes:
        spectrum: what was solved.
        n_data: number of training examples n.
        ridge: added to the diagonal of the kernel matrix.
        noise: standard deviation σ of the labels' noise.
        loss: mean squared error on noisy test labels.
        kappa: κ of eq. S12, the ridge that the unresolved modes amount to.
        gamma: γ of eq. S12, the share of the loss that comes from the variance of the training set.
        bias: Σ_k λ_k w_k² κ²/(κ + n λ_k)², the part of the target that is not learned.
    """

    spectrum: Spectrum
    n_data: np.ndarray
    ridge: np.ndarray
    noise: np.ndarray
    loss: np.ndarray
    kappa: np.ndarray
    gamma: np.ndarray
    bias: np.ndarray

    @cached_property
    def mode_loss(self) -> np.ndarray:
        """λ_k ⟨(w_k − ŵ_k)²⟩ of every mode, shape (*n_data.shape, n_modes); it sums to loss − σ²."""
        size = self.spectrum.n_modes * max(self.loss.size, 1)
        if size > MOST_MODES:
            raise BadInput(
                f"mode_loss of {self.spectrum.n_modes} modes at {self.loss.size} values of n_data is "
                f"{size:.1e} numbers, more than {MOST_MODES}; take the modes you need: loss_of_mode(k)"
            )
        return self._modes(self.spectrum.eigenvalues, self.spectrum.target_power)

    def loss_of_mode(self, k: int) -> np.ndarray:
        """λ_k ⟨(w_k − ŵ_k)²⟩ of mode k (from 1), shape of `n_data`."""
        eigenvalue, power = self.spectrum.mode(k)
        return self._modes(np.array([eigenvalue]), np.array([power]))[..., 0]

    def _modes(self, eigenvalues: np.ndarray, power: np.ndarray) -> np.ndarray:
        n, kappa = self.n_data[..., None], self.kappa[..., None]
        with np.errstate(invalid="ignore", over="ignore"):
            kept = np.where(n > 0, kappa / (kappa + n * eigenvalues), 1.0)
            learned = np.where(n > 0, n * eigenvalues / (kappa + n * eigenvalues), 0.0)
            leak = np.where(n > 0, self.loss[..., None] / np.where(n > 0, n, 1.0), 0.0)
        return power * kept**2 + leak * learned**2

    def peaks(self) -> np.ndarray:
        """The `n_data` at which the loss has a local maximum: sample-wise double (or multiple) descent."""
        if self.loss.ndim != 1:
            raise BadInput(f"peaks() needs one curve, not an array of shape {self.loss.shape}")
        order = np.argsort(self.n_data)
        loss = self.loss[order]
        inside = (loss[1:-1] > loss[:-2]) & (loss[1:-1] > loss[2:])
        return self.n_data[order][1:-1][inside]

    def curves(self) -> Curves:
        """A table of curves, one row for each `n_data`."""
        from scalinglab.curves import Curves

        names = ("n_data", "ridge", "noise", "kappa", "gamma", "bias")
        table = {name: np.ravel(getattr(self, name)) for name in names}
        return Curves(
            {"model": "kernel regression", **table, "test_loss": np.ravel(self.loss)}, source="theory"
        )

    @property
    def remarks(self) -> Iterator[Remark]:
        modes = self.spectrum.n_modes
        if not self.loss.size:
            yield Reason("kernel_no_sizes", modes=modes)
            return
        ends = {"first": self.n_data.min(), "last": self.n_data.max()}
        yield Reason("kernel_regression", modes=modes, high=self.loss.max(), low=self.loss.min(), **ends)


@checked
def learning_curve(
    spectrum: Spectrum, n_data: ArrayLike, ridge: ArrayLike = 0.0, noise: ArrayLike = 0.0
) -> LearningCurve:
    """Solve eq. S12, with a ridge and label noise; the arguments broadcast.

    Args:
        spectrum: eigenvalues and target power.
        n_data: number of training examples, zero or more; a real number.
        ridge: added to the diagonal of the kernel matrix, zero or more.
        noise: standard deviation σ of the noise on the labels.

    Returns:
        Losses, κ and γ, to about 1e-11 relative; at n_data = n_modes without a ridge the loss of noisy labels
        is infinite.

    >>> spectrum = Spectrum.power_law(1.5, 1.5, n_modes=10**9)
    >>> float(learning_curve(spectrum, 1000).loss.round(7))
    0.1187462
    """
    n, lam, sigma = together(n_data=n_data, ridge=ridge, noise=noise)
    at_most(ridge=lam, noise=sigma)
    for name, values in (("n_data", n), ("ridge", lam), ("noise", sigma)):
        if not (np.isfinite(values) & (values >= 0)).all():
            raise BadInput(
                f"{name} = {values[~(values >= 0) | ~np.isfinite(values)][:1]} must be finite, 0 or more"
            )
    n = np.where(n < 1e-100, 0.0, n)  # below it n·λ underflows
    spectrum.trusted(float(n.max(initial=0.0)))
    nodes = spectrum.nodes()
    flat = [np.ravel(v) for v in (n, lam, sigma)]
    parts = [
        _solve(nodes, *(v[start : start + CHUNK] for v in flat)) for start in range(0, max(n.size, 1), CHUNK)
    ]
    loss, kappa, gamma, bias = (np.concatenate(column).reshape(n.shape) for column in zip(*parts))
    return LearningCurve(spectrum, n, lam, sigma, loss, kappa, gamma, bias)


def _solve(
    nodes: Nodes, n: np.ndarray, ridge: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    some = n > 0
    scaled = np.zeros_like(n)  # κ̂ = κ/n
    scaled[some] = effective_ridge(nodes, n[some], ridge[some])
    resolved, kept = shares(nodes, scaled)
    variance = (resolved * kept) @ nodes.count  # Σ s(1 − s): 1 − γ without the cancellation
    modes = n_modes(nodes)
    with np.errstate(divide="ignore", invalid="ignore"):
        not_gamma = np.where(scaled > 0, variance + ridge / scaled, n - modes) / n
        bias = kept**2 @ nodes.power
        loss = np.where(some, (bias + noise**2) / not_gamma, nodes.power.sum() + noise**2)
    exact = (not_gamma == 0) & (noise == 0) & some  # n = n_modes without noise: everything is learned
    loss[exact] = 0.0
    kappa = np.where(some, scaled * n, ridge + nodes.count @ nodes.eigenvalues)
    return loss, kappa, np.where(some, 1 - not_gamma, 0.0), np.where(some, bias, nodes.power.sum())


def n_modes(nodes: Nodes) -> float:
    """The number of modes, without the round-off of the nodes' weights."""
    return float(np.rint(nodes.count.sum()))


def shares(nodes: Nodes, scaled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s = λ/(κ̂ + λ) and 1 − s, shape (*κ̂.shape, n_nodes), neither as a difference."""
    total = scaled[..., None] + nodes.eigenvalues
    return nodes.eigenvalues / total, scaled[..., None] / total


def effective_ridge(nodes: Nodes, n: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """κ̂ with Σ_k λ_k/(κ̂ + λ_k) + ridge/κ̂ = n, by Newton's method on log κ̂ inside a bracket.

    Args:
        nodes: the compressed spectrum.
        n: number of examples, positive, shape (n,).
        ridge: zero or more, same shape.

    Returns:
        κ̂, zero where n ≥ n_modes and there is no ridge; same shape.
    """
    modes = n_modes(nodes)
    found = np.zeros_like(n)
    open_ = (ridge > 0) | (n < modes)
    if not open_.any():
        return found
    n, ridge = n[open_], ridge[open_]
    missing, spare = np.maximum(modes - n, 0.0), np.maximum(n - modes, 0.0)
    few = n <= modes / 2
    # Σ(1 − s) = missing + ridge/κ̂ − spare where most modes are resolved, Σ s = n − ridge/κ̂ where few are
    # s ≤ λ/κ̂ bounds κ̂ from above; 1 − s ≤ κ̂/λ and ridge/κ̂ ≤ n bound it from below
    high = np.log((nodes.count @ nodes.eigenvalues + ridge) / n)
    low = np.log(np.maximum(missing / (nodes.count / nodes.eigenvalues).sum(), ridge / n))

    def excess(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scaled = np.exp(u)
        resolved, kept = shares(nodes, scaled)
        slope, extra = (resolved * kept) @ nodes.count, ridge / scaled
        left = np.where(few, n, kept @ nodes.count + spare)
        right = np.where(few, resolved @ nodes.count, missing) + extra
        growth = np.where(few, (slope + extra) / right, slope / left + extra / right)
        return np.log(left / right), growth

    found[open_] = np.exp(increasing_root(excess, low, high, np.where(few, high - 0.5, (low + high) / 2)))
    return found


def increasing_root(
    function: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    low: np.ndarray,
    high: np.ndarray,
    start: np.ndarray,
) -> np.ndarray:
    """The zeros of many increasing functions at once: Newton's method, bisection where it leaves the bracket.

    Args:
        function: gives the values and the derivatives at a point, elementwise.
        low: where each function is zero or less.
        high: where each function is zero or more.
        start: the first point, between them.
    """
    u, moved = start, np.full(np.shape(start), np.inf)
    for _ in range(200):
        value, growth = function(u)
        low, high = np.where(value < 0, u, low), np.where(value > 0, u, high)
        step = u - value / growth
        new = np.where((step >= low) & (step <= high), step, (low + high) / 2)
        moved, u = np.abs(new - u), new
        # about two units in the last place: what moves less is round-off
        if (moved < 4e-16 * (1 + np.abs(u))).all() or (np.abs(value) < 2e-16).all():
            return u
    if not (moved < 1e-12 * (1 + np.abs(u))).all():  # what is left is round-off dancing in the last digits
        raise NotConverged(f"the effective ridge did not converge; the last step was {moved.max():.1e}")
    return u


# --- the best ridge -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OptimalRidge:
    """The ridge of least test loss, and that loss, for each `n_data`; ridge 0 where none helps."""

    n_data: np.ndarray
    ridge: np.ndarray
    loss: np.ndarray


@checked
def optimal_ridge(spectrum: Spectrum, n_data: ArrayLike, noise: ArrayLike = 0.0) -> OptimalRidge:
    """The best ridge for each number of examples.

    The ridge is explicit in κ̂, ridge = κ̂ (n − Σ s_k), and so is the loss: a scan over κ̂ finds the basin
    and the zero of the derivative the minimum. For w_k² = w² in every mode it is σ²/w².

    Args:
        spectrum: eigenvalues and target power.
        n_data: number of training examples, positive; broadcasts with `noise`.
        noise: standard deviation σ of the labels' noise.
    """
    n, sigma = together(n_data=n_data, noise=noise)
    at_most(noise=sigma)
    if not ((n > 0) & np.isfinite(n)).all() or not (sigma >= 0).all():
        raise BadInput("optimal_ridge needs n_data > 0 and noise ≥ 0")
    nodes = spectrum.nodes()
    best = np.array([_best_ridge(nodes, a, b) for a, b in zip(n.ravel(), sigma.ravel())])
    best = best.reshape(n.shape)
    return OptimalRidge(n, best, learning_curve(spectrum, n, best, sigma).loss)


def _best_ridge(nodes: Nodes, n: float, sigma: float) -> float:
    least = float(effective_ridge(nodes, np.array([n]), np.array([0.0]))[0])
    top = math.log(nodes.eigenvalues.max() * 1e4 * (1 + n))
    bottom = math.log(max(least * (1 + 1e-9), nodes.eigenvalues.min() * 1e-9))

    def terms(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The loss, and a number with the sign of its derivative."""
        resolved, kept = shares(nodes, np.exp(u))
        free = (n - resolved @ nodes.count + (resolved * kept) @ nodes.count) / n  # 1 − γ
        bias = kept**2 @ nodes.power + sigma**2
        growth = 2 * (kept**2 * resolved) @ nodes.power
        thaw = 2 / n * (resolved**2 * kept) @ nodes.count
        return bias / free, growth / bias - thaw / free

    grid = np.linspace(bottom, top, 200)
    loss, slope = terms(grid)
    i = int(np.argmin(loss))
    if i == 0 and slope[0] >= 0:
        return 0.0
    low, high = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]

    def derivative(u: float) -> float:
        return float(terms(np.array([u]))[1][0])

    if derivative(low) >= 0 or derivative(high) <= 0:  # flat: the grid's own minimum is as good
        scaled = math.exp(grid[i])
    else:
        scaled = math.exp(brentq(derivative, low, high, xtol=1e-14, rtol=1e-14))
    return max(scaled * (n - float(shares(nodes, np.array(scaled))[0] @ nodes.count)), 0.0)


# --- large n ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AsymptoticLaw:
    """L ≈ offset + constant · n^-exponent."""

    exponent: float
    constant: float
    offset: float = 0.0

    def predict(self, n_data: ArrayLike) -> np.ndarray:
        """The law at `n_data`."""
        return self.offset + self.constant * np.asarray(n_data, float) ** -self.exponent


@checked
def asymptotic_law(task_exponent: float, spectral_exponent: float, noise: float = 0.0) -> AsymptoticLaw:
    r"""The law of a power-law spectrum, λ_k = k^-b and λ_k w_k² = k^-a, for 1 ≪ n ≪ n_modes without a ridge.

    With C = (π/b)/sin(π/b): κ/n → (C/n)^b, 1 − γ → 1/b, and

        L → b σ² + B(2 − (a−1)/b, (a−1)/b) C^{a−1} n^{−(a−1)}       for a < 2b + 1,
        L → b σ² + b ζ(a − 2b) C^{2b} n^{−2b}                       for a > 2b + 1.

    For a = b = 1 + α_K this is C^b n^{−α_K} (bahri2021 eqs. 7, S14, with the constant).

    >>> round(asymptotic_law(1.5, 1.5).constant, 4)
    3.7609
    """
    a, b = float(task_exponent), float(spectral_exponent)
    if not (a > 1 and b > 1):
        raise BadInput(f"task_exponent {a} and spectral_exponent {b} must both be above 1 for finite sums")
    if a == 2 * b + 1:
        raise BadInput(f"task_exponent = 2·spectral_exponent + 1 = {a} carries a logarithm, not a power law")
    at_most(1e3, task_exponent=a, spectral_exponent=b)
    at_most(noise=noise)
    constant = (math.pi / b) / math.sin(math.pi / b)
    if a < 2 * b + 1:
        exponent = a - 1
        factor = float(beta(2 - exponent / b, exponent / b))
    else:
        exponent = 2 * b
        factor = b * float(zeta(a - 2 * b))
    try:
        power = constant**exponent
    except OverflowError:
        raise BadInput(f"spectral_exponent {b} is so near 1 that the constant is beyond 1e308") from None
    return AsymptoticLaw(exponent, factor * power, b * noise**2)
