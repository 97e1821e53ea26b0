r"""Feature learning: a linear network whose features are trained, beside the same network in its lazy limit.

The model f = wᵀ B A ψ/√N has N frozen random projections A, trained features B (N × N, from the identity)
and a trained readout w (from zero); c ≥ 0 is the rate of B in units of that of w, the richness. Gradient flow
on the population, with G the gradient at the features, is w' = B G and B' = c w Gᵀ. Two facts close it:

    B Bᵀ − c w wᵀ = 1 is conserved,  so that  z = Bᵀw, which is all that f depends on, follows
    z' = [ (1 + c q) + c q z zᵀ/|z|² ] G,   q = |w|²,   |z|² = q + c q².

c = 0 is the lazy model of `theory.dmft`. Else learning what is there speeds up all of the rest. Along an
eigenvector of the features' kernel with eigenvalue x, z is z* φ with z* the end of training, and

    φ' = (1 + c q) x (1 − φ) + σ φ,   σ = c Σ ρ φ (1 − φ)/(1 + c q),   |z|² = Σ (ρ/x) φ²,   L = Σ ρ (1 − φ)²,

ρ being the target's power along it: one function of x, on the nodes of `theory.one_pass`. On P examples all
of it holds for the empirical kernel, x and ρ being its eigenvalues and the power of the labels along them:
the train loss is L, and the test loss that of `theory.dmft` with the filter 1 − φ in place of e^(−xt).

For λ_k ~ k^-b and power k^-a let β = (a − 1)/b. Hard tasks have β < 1: |z*|² = Σ k^(b−a) diverges, the rate
1 + c q grows as |z| ~ τ^((1−β)/2) with τ the lazy time, so that τ ~ t^(2/(1+β)) and

    L ~ t^−χ,   χ = 2β/(1 + β) for β < 1 and β for β > 1

(Bordelon, Atanasov, Pehlevan 2024, arXiv 2409.17858; derived anew above). With compute C = N t and the
capacity N^−bβ of N projections hard tasks have L ~ C^−2bβ/(2 + b(1+β)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from scalinglab.errors import BadInput
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.bottlenecks import Frontier, frontier
from scalinglab.theory.dmft.dynamics import Dynamics, GradientFlow
from scalinglab.theory.dmft.losses import check_times
from scalinglab.theory.dmft.modes import SETTLED, Modes, modes, surround
from scalinglab.theory.dmft.solver.problem import Problem
from scalinglab.theory.feature_noise import LAZY_START, advance, grid, integrate, readout

if TYPE_CHECKING:
    from scalinglab.curves import Curves

CLOSE = 1e-9  # of the rates at the two ends of a step, which are found together
COARSE = 1e-6  # accuracy of a contour for pairs of modes, whose cost grows as the square of its nodes
MOST_ROUNDS = 100  # guard: of a fixed point that is otherwise taken where it changes by `CLOSE`
FARTHER = 1e-4  # where there is a rate of 0 (as many examples as modes)
MOST_CONTOURS = 4  # each for the time that passed on the one before


@dataclass(frozen=True, eq=False)
class Rich:
    """Losses along training; arrays of the shape of `times`.

    Attributes:
        times: as asked for.
        test_loss: of the network with trained features, σ² included.
        train_loss: on the P examples; the test loss where there are infinitely many.
        rate: 1 + c q, how much faster than at the start all modes are learnt.
        n_params: N.
        n_data: P.
        noise: σ.
        richness: c.
        learning_rate: η of SGD; 0 for gradient flow.
        batch_size: B.
    """

    times: np.ndarray
    test_loss: np.ndarray
    train_loss: np.ndarray
    rate: np.ndarray
    n_params: float
    n_data: float
    noise: float
    richness: float
    learning_rate: float
    batch_size: float
    spectrum: Spectrum = field(repr=False)

    def curves(self) -> Curves:
        """A table of curves, one row a time."""
        from scalinglab.curves import Curves

        setting: dict[str, object] = {
            "model": "trained features", "n_params": self.n_params, "n_data": self.n_data,
            "noise": self.noise, "richness": self.richness, **self.spectrum.setting,
        }  # fmt: skip
        if math.isfinite(self.batch_size):
            setting["learning_rate"], setting["batch_size"] = self.learning_rate, self.batch_size
        names = ("test_loss", "train_loss", "rate")
        columns = {"time": self.times, **{name: getattr(self, name) for name in names}}
        table = {**setting, **{k: np.ravel(v) for k, v in columns.items()}}
        return Curves(table, settings=["richness"], source="theory")


@checked
def solve(
    spectrum: Spectrum,
    times: ArrayLike,
    richness: float = 1.0,
    n_params: float = math.inf,
    n_data: float = math.inf,
    noise: float = 0.0,
    *,
    learning_rate: float = 0.0,
    batch_size: float = math.inf,
    features: Modes | None = None,
) -> Rich:
    """Losses at the given times of gradient flow, 0 included, in any order.

    Args:
        spectrum: eigenvalues and target power.
        times: of gradient flow, as in `theory.dmft.solve`.
        richness: c; 0 is the lazy model.
        n_params: N random projections; inf for the kernel itself.
        n_data: P examples; inf for the population.
        noise: σ of the labels.
        learning_rate: η of one-pass SGD, small; times are η times the steps. Only η/B counts.
        batch_size: B fresh examples of a step; inf for gradient flow.
        features: nodes in place of those of N projections on average, `one_pass.drawn_modes` for one draw, on
            the population.

    >>> import scalinglab as sl
    >>> spectrum = sl.Spectrum.power_law(1.3, 1.5, 10**9)  # β = 0.2, a hard task
    >>> times = [1e4, 1e6]
    >>> rich = sl.theory.feature_learning.solve(spectrum, times, richness=1.0)
    >>> lazy = sl.theory.dmft.solve(spectrum, times)
    >>> bool(rich.test_loss[1] < lazy.test_loss[1])
    True
    """
    at = check_times(times, discrete=False)
    if not (math.isfinite(richness) and richness >= 0):
        raise BadInput(f"richness = {richness} must be zero or more")
    for name, value in (("n_params", n_params), ("n_data", n_data)):
        if not value > 0:
            raise BadInput(f"{name} = {value} must be positive; inf is allowed")
    if not (math.isfinite(noise) and noise >= 0):
        raise BadInput(f"noise = {noise}: the standard deviation must be zero or more")
    if features is not None and math.isfinite(n_data):
        raise BadInput(f"n_data = {n_data:g}: features are those of the population; leave one of both out")
    if not (math.isfinite(learning_rate) and learning_rate >= 0 and batch_size >= 1):
        raise BadInput(
            f"learning_rate = {learning_rate} must be zero or more, batch_size = {batch_size} one or more"
        )
    if math.isfinite(batch_size) and learning_rate == 0:
        raise BadInput(f"batch_size = {batch_size:g}: the noise of batches needs learning_rate=, too")
    if math.isfinite(batch_size) and math.isfinite(n_data):
        raise BadInput(f"n_data = {n_data:g}: batches are of fresh examples; leave one of both out")
    # modes that are learnt by the last time at the largest rate that is possible, that of the end of training
    nodes = spectrum.nodes()
    largest = float(np.sum(nodes.power / nodes.eigenvalues))  # |z*|² of infinitely many projections
    fastest = 1 + richness * readout(largest, richness)
    slowest = 1 / max(float(at.max(initial=0.0)) * fastest, 1e-3)
    if math.isfinite(n_data):
        test, train, rate = _on_data(spectrum, at, richness, n_params, n_data, noise, slowest)
    else:
        found = modes(spectrum, n_params, slowest, math.inf) if features is None else features
        loss, rate, _, passed = _integrate(found, at, richness)
        if math.isfinite(batch_size):
            ratio, slowest = learning_rate / batch_size, 1 / max(2 * passed, 1e-3)
            more, faster = _of_batches(spectrum, at, richness, n_params, noise, ratio, slowest, features)
            loss, rate = loss + more, rate + faster
        test = train = loss + noise**2
    test, train, rate = (one.reshape(np.shape(times)) for one in (test, train, rate))
    at_times = np.asarray(times, float)
    sizes = (float(n_params), float(n_data), noise, richness, learning_rate, float(batch_size))
    return Rich(at_times, test, train, rate, *sizes, spectrum)


def _of_batches(
    spectrum: Spectrum, at: np.ndarray, richness: float, n_params: float, noise: float, ratio: float,
    slowest: float, features: Modes | None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The part of loss and rate that the noise of batches adds; `ratio` is η/B."""
    if features is None:
        nodes = spectrum.nodes()
        trace = float(np.sum(nodes.count * nodes.eigenvalues))
        features = modes(spectrum, n_params, slowest, math.inf, accuracy=COARSE)
        if math.isinf(n_params):
            features = _fewer(features, slowest)
    else:
        there = features.rate != 0
        trace = float(np.real(features.square[there] / features.rate[there]).sum())
    loss, rate = integrate(features, at, richness, ratio, noise**2, trace)
    flow, speed, _, _ = _integrate(features, at, richness)
    return loss - flow - noise**2, rate - speed


def _fewer(found: Modes, slowest: float) -> Modes:
    """A contour around real nodes where it has fewer, both halves counted."""
    contour = surround(1.5 * found.largest, slowest, accuracy=COARSE)
    if 2 * len(contour.s) >= len(found.rate):
        return found
    around = 2 * contour.weight[:, None] / (contour.s[:, None] + found.rate)
    return Modes(-contour.s, around @ found.power, around @ found.square, found.largest, found.smallest)


def _on_data(
    spectrum: Spectrum, at: np.ndarray, richness: float, n_params: float, n_data: float, noise: float,
    slowest: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Test loss, train loss and rate on P examples, on one contour that serves all times."""
    for _ in range(MOST_CONTOURS):
        flow = Problem(spectrum, at, n_params, n_data, GradientFlow())
        smallest = flow.system.smallest_rate()[0]
        contour = surround(1.5 * flow.largest, max(slowest, smallest / SETTLED), times=len(at))
        _, points = Problem(spectrum, at, n_params, n_data, GradientFlow(), contour).points[0]
        s = contour.s
        power = 2 * contour.weight * points.data_response * (noise**2 + points.kappa * points.overlap) / s
        nodes = Modes(-s, power, -2 * contour.weight * s * points.learnt, flow.largest, smallest)
        with np.errstate(over="ignore", invalid="ignore"):
            train, rate, left, passed = _integrate(nodes, at, richness)
        if passed * slowest <= 2:  # else noise on the labels made the rates larger than it seemed
            break
        # so much larger that the integral left all numbers: then as for the slowest mode, if not all move
        slowest = 1 / passed if math.isfinite(passed) else slowest * (FARTHER if smallest == 0 else 0)
    filtered = cast("Dynamics", _Filter(left))  # with a contour given, its filter is all that is asked for
    losses = Problem(spectrum, at, n_params, n_data, filtered, contour).losses(noise, 1)
    return losses["single"] + noise**2, train, rate


@dataclass(frozen=True, eq=False)
class _Filter:
    """1 − φ at the times and nodes that are asked for, in place of e^(st)."""

    left: np.ndarray

    def filter(self, s: np.ndarray, times: np.ndarray) -> np.ndarray:
        """(times, nodes)."""
        return self.left

    def stable(self, largest: float) -> bool:
        """Flow is."""
        return True


@checked
def exponents(task_exponent: float, spectral_exponent: float) -> tuple[float, float]:
    """χ of L ~ t^-χ, and the exponent of the loss in compute for hard tasks, both of trained features."""
    a, b = float(task_exponent), float(spectral_exponent)
    if not (a > 1 and b > 1):
        raise BadInput(f"task exponent {a:g} and spectral exponent {b:g} must both exceed 1")
    beta = (a - 1) / b
    if beta >= 1:
        return beta, (a - 1) / a
    return 2 * beta / (1 + beta), 2 * b * beta / (2 + b * (1 + beta))


@checked
def compute_optimal(
    spectrum: Spectrum, budgets: ArrayLike, richness: float = 1.0, *, per_decade: int = 3
) -> Frontier:
    """The exact frontier of trained features: the solved loss, minimised over N at fixed C = N t."""

    def losses(times: np.ndarray, size: float) -> np.ndarray:
        return solve(spectrum, times, richness, size).test_loss

    return frontier(losses, budgets, smallest=4.0, per_decade=per_decade)


def _integrate(
    found: Modes, at: np.ndarray, richness: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Loss, rate and 1 − φ (times, nodes) at all times, and the lazy time that passed.

    Steps grow with time, and in each the rates are constant.
    """
    x, power = found.rate, found.power
    norm = np.where(x == 0, 0, power / np.where(x == 0, 1, x))
    phi = np.zeros_like(x, dtype=np.result_type(x, power))

    def rates(phi: np.ndarray) -> tuple[float, float]:
        q = readout(float(np.real(norm * phi * phi).sum()), richness)
        speed = 1 + richness * q
        return speed, richness * float(np.real(power * phi * (1 - phi)).sum()) / speed

    order = np.unique(at)
    loss, rate = np.empty(len(order)), np.empty(len(order))
    left = np.empty((len(order), len(x)), phi.dtype)
    now, here, passed = 0.0, rates(phi), 0.0
    first = LAZY_START / found.largest
    for place, target in enumerate(order):
        for step_end in grid(now, float(target), first):
            if passed * found.smallest > SETTLED:  # nothing moves any more
                break
            length, there = step_end - now, here
            for _ in range(MOST_ROUNDS):
                after = advance(phi, x, (here[0] + there[0]) / 2, (here[1] + there[1]) / 2, length)
                new = rates(after)
                # the second rate may be 0: its change counts by what it does within the step
                change = max(abs(new[0] / there[0] - 1), abs(new[1] - there[1]) * length)
                there = new
                if change < CLOSE:
                    break
            passed += length * (here[0] + there[0]) / 2  # the lazy time
            phi, here, now = after, there, step_end
        left[place] = 1 - phi
        loss[place], rate[place] = float(np.real(power * left[place] ** 2).sum()), here[0]
    places = np.searchsorted(order, at)
    return loss[places], rate[places], left[places], passed
