r"""The loss of one-pass training, exact for Gaussian data and infinitely many draws of batches.

Along an eigenvector of K̂ with eigenvalue x let r be the residual and y the running mean of gradients. A
gradient is g = x r + ξ, and the noise of a batch has variance x² (ρ + L + σ²)/B with ρ = E r² and the loss
L = Σ ρ: the ρ is that of the eigenvector itself (Wick's theorem), which mean-field theory drops. With
h = η + ε and m = 1 − Δ the moments ρ, τ = E y² and χ = E r y follow

    ρ ← (1 − hx)² ρ − 2εm (1 − hx) χ + ε²m² τ + h² V,
    τ ← m² τ + 2mx χ + x² ρ + V,
    χ ← (1 − hx) x ρ + m (1 − hx − εx) χ − εm² τ − h V,      V = x² (ρ + L + σ²)/B,

one linear recursion, in which modes meet only in L. Eliminating all but L gives the Volterra equation of
Paquette and others (2024, arXiv 2405.15074), L(t) = F(t) + Σ_u K(t − u) L(u). The first steps are made one by
one. After that changes within a step are small, and the recursion is taken as a differential equation, whose
steps grow with time: Radau's method of order five, stiff modes being followed by their equilibrium.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from scalinglab.errors import BadInput
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.dmft.dynamics import setting_of
from scalinglab.theory.dmft.losses import check_times
from scalinglab.theory.dmft.modes import SETTLED, Modes, modes
from scalinglab.theory.one_pass.optimizers import Optimizer

if TYPE_CHECKING:
    from scalinglab.curves import Curves

DIRECT = 2048  # steps made one by one; beyond, a step changes slow modes by less than 1/DIRECT of themselves
SLOW = 0.05  # share of a mode that one step changes: larger ones have reached their equilibrium after DIRECT
GROWTH = 0.08  # of the logarithm of time in one step of Radau's method; halving it changes losses by 1e-6
LARGEST = 1e120  # losses beyond this are recorded as infinite
ROOT = math.sqrt(6)
STAGES = np.array([(4 - ROOT) / 10, (4 + ROOT) / 10, 1.0])
RADAU = np.array(
    [
        [(88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225],
        [(296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225],
        [(16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9],
    ]
)


@dataclass(frozen=True, eq=False)
class OnePass:
    """Losses along one-pass training; arrays of the shape of `times`.

    Attributes:
        times: steps.
        test_loss: σ² included; inf where training diverges.
        n_params: N.
        noise: σ.
        optimizer: what trained.
    """

    times: np.ndarray
    test_loss: np.ndarray
    n_params: float
    noise: float
    optimizer: Optimizer
    spectrum: Spectrum = field(repr=False)

    def curves(self) -> Curves:
        """A table of curves, one row a time."""
        from scalinglab.curves import Curves

        setting: dict[str, object] = {
            "model": "random features", "n_params": self.n_params, "n_data": math.inf, "noise": self.noise,
            **setting_of(self.optimizer), **self.spectrum.setting,
        }  # fmt: skip
        return Curves(
            {**setting, "time": np.ravel(self.times), "test_loss": np.ravel(self.test_loss)}, source="theory"
        )


@checked
def solve(
    spectrum: Spectrum,
    times: ArrayLike,
    optimizer: Optimizer,
    n_params: float = math.inf,
    noise: float = 0.0,
    *,
    features: Modes | None = None,
    mean_field: bool = False,
) -> OnePass:
    """Losses at the given steps, 0 included, in any order.

    Args:
        spectrum: eigenvalues and target power.
        times: whole steps.
        optimizer: OnePassSGD, HeavyBall or AdaptedMomentum.
        n_params: N random features; inf for the kernel itself.
        noise: σ of the labels.
        features: nodes in place of those of N features on average, `drawn_modes` for one draw. Long memory
            makes modes oscillate, which a contour does not follow: with finite N it needs a draw.
        mean_field: leave out the part of the noise that mean-field theory drops.

    >>> import scalinglab as sl
    >>> from scalinglab.theory import one_pass
    >>> spectrum = sl.Spectrum.power_law(2.5, 1.5, 10**9)
    >>> found = one_pass.solve(spectrum, [1e2, 1e4, 1e6], one_pass.OnePassSGD(0.2, 1), n_params=1000)
    """
    at = check_times(times, discrete=True)
    if not n_params > 0:
        raise BadInput(f"n_params = {n_params} must be positive; inf is allowed")
    if not (math.isfinite(noise) and noise >= 0):
        raise BadInput(f"noise = {noise}: the standard deviation must be zero or more")
    if features is None and optimizer.remembers and math.isfinite(n_params):
        raise BadInput(
            f"{type(optimizer).__name__} with n_params = {n_params:g}: a running mean of gradients makes "
            "modes oscillate, which is solved for infinitely many features or for one draw of them: give "
            "features=one_pass.drawn_modes(spectrum, n_params, seed)"
        )
    last = float(at.max(initial=1.0))
    own_noise = 0.0 if mean_field else 1 / optimizer.batch_size
    if features is None:
        slowest = 1 / optimizer.progress(max(last, 1.0))
        features = modes(spectrum, n_params, slowest, 2 / (optimizer.fastest * (1 + own_noise)))
        if not optimizer.remembers:  # after SETTLED times the slowest scale the loss stays what it is
            end = (
                math.ceil(SETTLED / (optimizer.fastest * features.smallest))
                if features.smallest
                else math.inf
            )
            at = np.minimum(at, end)
    loss = _losses(features, optimizer, at, noise**2, own_noise)
    return OnePass(
        np.asarray(times, float), loss.reshape(np.shape(times)), float(n_params), noise, optimizer, spectrum
    )


def _losses(found: Modes, optimizer: Optimizer, at: np.ndarray, noise: float, own: float) -> np.ndarray:
    """The loss, σ² included, at whole steps."""
    order = np.unique(at)
    size = 3 if optimizer.remembers else 1
    state = np.zeros((len(found.rate), size), found.power.dtype)
    state[:, 0] = found.power
    source = found.square / optimizer.batch_size
    known: dict[float, float] = {}
    direct = int(min(DIRECT, order.max(initial=0)))
    wanted = set(order[order <= direct])
    fixed = None if optimizer.remembers else _step(found.rate, optimizer.coefficients(0.0), own, size)
    for t in range(direct + 1):
        loss = float(np.real(state[:, 0]).sum()) + noise
        if not loss < LARGEST:
            break
        if t in wanted:
            known[t] = loss
        if t == direct:
            _late(found, optimizer, state, order[order > direct], noise, own, known)
            break
        matrix, gain = fixed or _step(found.rate, optimizer.coefficients(t), own, size)
        state = np.einsum("jab,jb->ja", matrix, state) if size > 1 else matrix[:, :, 0] * state
        state = state + (source * loss)[:, None] * gain
    return np.array([known.get(t, math.inf) for t in at])


def _step(
    x: np.ndarray, coefficients: tuple[float, float, float], own: float, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """One step of the moments: the matrix of every mode, and what V adds to each of them."""
    short, long, forget = coefficients
    h, m = short + long, 1 - forget
    left, square = 1 - h * x, own * x * x
    if size == 1:
        return (left * left + h * h * square)[:, None, None], np.array([h * h])
    one = np.ones_like(x)
    rows = [
        [left * left + h * h * square, long * long * m * m * one, -2 * long * m * left],
        [x * x + square, m * m * one, 2 * m * x],
        [left * x - h * square, -long * m * m * one, m * (left - long * x)],
    ]
    return np.moveaxis(np.array(rows), 2, 0), np.array([h * h, 1.0, -h])


def _late(
    found: Modes, optimizer: Optimizer, state: np.ndarray, late: np.ndarray, noise: float, own: float,
    known: dict[float, float],
) -> None:  # fmt: skip
    """Add the losses at the late steps to `known`, by Radau's method."""
    size, source = state.shape[1], found.square / optimizer.batch_size

    def generator(time: float) -> tuple[np.ndarray, np.ndarray]:
        # a step from u to u + 1 is the flow of log(1 + X), X = matrix − 1: its series where X is small, and X
        # where it is not, whose equilibrium is the same; step u stands for the time u + 1/2
        matrix, gain = _step(found.rate, optimizer.coefficients(time - 0.5), own, size)
        change = matrix - np.eye(size)
        square = change @ change
        scale = np.where(slow, np.eye(size) - change / 2 + square / 3 - change @ square / 4, np.eye(size))
        return scale @ change, scale @ gain

    slow = (np.abs(found.rate) * optimizer.fastest < SLOW)[:, None, None]
    now = float(DIRECT)
    for target in late:
        count = max(1, math.ceil(math.log(target / now) / GROWTH))
        for end in now * (target / now) ** (np.arange(1, count + 1) / count):
            state = _radau(state, now, end - now, generator, source, noise)
            now = float(end)
            loss = float(np.real(state[:, 0]).sum()) + noise
            if not abs(loss) < LARGEST:
                return
        known[target] = max(loss, noise)  # below it is only round-off of the contour


def _radau(
    state: np.ndarray, now: float, length: float, generator: Callable[[float], tuple[np.ndarray, np.ndarray]],
    source: np.ndarray, noise: float,
) -> np.ndarray:  # fmt: skip
    """One step of Radau IIA; modes are solved one by one, and the loss at the three stages joins them."""
    nodes, size = state.shape
    parts = [generator(now + c * length) for c in STAGES]
    system = np.zeros((nodes, 3, size, 3, size), state.dtype)
    given = np.zeros((nodes, 3, size, 4), state.dtype)  # from the state, and from the loss at each stage
    given[..., 0] = state[:, None]
    for column, (matrix, gain) in enumerate(parts):
        for row in range(3):
            system[:, row, :, column] = -length * RADAU[row, column] * matrix
            given[:, row, :, column + 1] = length * RADAU[row, column] * source[:, None] * gain
    flat = system.reshape(nodes, 3 * size, 3 * size) + np.eye(3 * size)
    solved = np.linalg.solve(flat, given.reshape(nodes, 3 * size, 4)).reshape(nodes, 3, size, 4)
    losses = np.real(solved[:, :, 0]).sum(axis=0)  # (stage, part)
    total = np.linalg.solve(np.eye(3) - losses[:, 1:], losses[:, 0] + noise)
    return solved[:, 2, :, 0] + np.einsum("jas,s->ja", solved[:, 2, :, 1:], total)
