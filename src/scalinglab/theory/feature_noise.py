r"""The noise of batches on trained features: one-pass SGD with small steps, to second moments of the weights.

In the network of `theory.feature_learning` SGD with learning rate η and batches of B fresh examples has the
gradient g = G + ξ at the features. Gaussian inputs give E ξξᵀ = 𝒩/B, 𝒩 = L K + E GGᵀ, with the test loss L,
σ² included, and the features' kernel K. With z = Bᵀw, M = BᵀB and q = |w|² one step is closed,

    Δz = η (M + c q) g + η² c (z·g) g,   ΔM = η c (z gᵀ + g zᵀ) + η² c² q ggᵀ,   Δq = 2η z·g + η² gᵀM g.

Let time be η times the steps, and ε = η/B. What gradient flow conserves, R = M − h zzᵀ = 1, h = c/(1 + cq),
and S = |z|² − q − c q² = 0, is not moved by ξ itself, only by its square, so that R and S do not fluctuate:

    R' = ε (−c 𝒩 + h² tr 𝒩 zzᵀ) + h [(1 − R) G zᵀ + zGᵀ(1 − R)],
    S' = ε (c²q² tr 𝒩 − c zᵀ𝒩z) + 2 zᵀ(R − 1) G + 2hS z·G.

What fluctuates is z, with mean and covariance Γ. With F(z) = (1 + cq) G + h z (z·G), J its derivative,
Q = 1 + cq + h zzᵀ,

    z' = F + ½ F'':Γ + ε c 𝒩 z + (R − 1) G,   Γ' = JΓ + ΓJᵀ + ε Q𝒩Q,   L = Σ ρ (1 − φ)² + tr KΓ + σ².

Cumulants beyond the second, of order ε², are dropped; at c = 0 none are, and this is the Volterra equation of
`theory.one_pass` for small η. With c > 0 R leaves 1 by ε c x ∫L along an eigenvector: later than MOVED of the
largest x nothing is solved. Γ and R − 1 are a function of K plus a bilinear form in the target, whose two
arguments live on the nodes of `theory.dmft.modes`. Derived here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.theory.dmft.modes import Modes

GROWTH = 0.04  # of the logarithm of time in a step: losses are right to about 1e-4
LAZY_START = 1e-3  # of the time in which the fastest mode is learnt: the first step
CLOSE = 1e-9  # of the rates at the two ends of a step, which are found together
MOST_ROUNDS = 30
PAIR_ROUNDS = 2  # in which pairs of modes, the cost of it all, are found again
MOVED = 0.5  # of R from 1: simulations up to 0.4 agree within 0.3 % of the loss
LARGEST = 1e120  # losses beyond this are recorded as infinite


class _State(NamedTuple):
    """State of the moments, each on the nodes or on pairs of them."""

    phi: np.ndarray  # mean of z over z*
    own: np.ndarray  # Γ = x·own on the diagonal …
    pair: np.ndarray  # … and z* pair z*ᵀ
    kept_own: np.ndarray  # R − 1 in the same way
    kept_pair: np.ndarray
    kept_norm: np.ndarray  # S


class _Slopes(NamedTuple):
    """Time derivative of a state, rate × state + source, with the loss and the rates of the mean flow."""

    speed: float  # 1 + c q
    push: float  # h z·G
    extra: np.ndarray  # of φ, beyond gradient flow
    rates: _State
    sources: _State
    loss: float  # σ² included


def integrate(
    found: Modes, at: np.ndarray, richness: float, step_over_batch: float, noise: float, trace: float
) -> tuple[np.ndarray, np.ndarray]:
    """Loss, σ² included, and rate 1 + c q at all times; `noise` is σ², `trace` that of the kernel."""
    with np.errstate(over="ignore", invalid="ignore"):  # of losses that diverge
        return _follow(found, at, richness, step_over_batch, noise, trace)


def _follow(
    found: Modes, at: np.ndarray, richness: float, step_over_batch: float, noise: float, trace: float
) -> tuple[np.ndarray, np.ndarray]:
    slopes, state = _system(found, richness, step_over_batch, noise, trace)
    order = np.unique(at)
    loss, rate = np.full(len(order), math.inf), np.full(len(order), math.inf)
    x = _all_nodes(found)[0]
    now, here = 0.0, slopes(state)
    for place, target in enumerate(order):
        for end in grid(now, float(target), LAZY_START / found.largest):
            length, there, after = end - now, here, state
            for done in range(MOST_ROUNDS):
                after = _step(state, after, x, here, there, length, pairs=done < PAIR_ROUNDS)
                new = slopes(after)
                change = max(
                    abs(new.speed / there.speed - 1), abs(new.push - there.push) * length,
                    abs(new.loss / there.loss - 1),
                )  # fmt: skip
                there = new
                if change < CLOSE or not abs(there.loss) < LARGEST:
                    break
            state, here, now = after, there, end
            if richness and -float(state.kept_own[-1].real) * found.largest > MOVED:
                raise BadInput(
                    f"times up to {order[-1]:g}: at {now:.3g} the noise of batches has changed what "
                    "gradient flow conserves by half, and beyond nothing is solved; give earlier times, a "
                    "smaller learning_rate, a larger batch_size or less richness"
                )
            if not abs(here.loss) < LARGEST:
                break
        if not abs(here.loss) < LARGEST:
            break
        loss[place], rate[place] = here.loss, here.speed
    places = np.searchsorted(order, at)
    return loss[places], rate[places]


def _all_nodes(found: Modes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rate, power and square on both halves of a contour, and a node at rate 0; pairs join both halves."""
    parts = (found.rate, found.power, found.square)
    if np.iscomplexobj(found.rate):
        halves = [np.concatenate([one, one.conj()]) for one in parts]
        # the nodes of one half stand for both, with twice the weight
        parts = (halves[0], halves[1] / 2, halves[2] / 2)
    rate, power, square = (np.append(one, 0.0) for one in parts)
    return rate, power, square


def _system(
    found: Modes, c: float, ratio: float, noise: float, trace: float
) -> tuple[Callable[[_State], _Slopes], _State]:
    """The slopes of any state, and the state at the start."""
    x, power, square = _all_nodes(found)
    inverse = np.where(x == 0, 0, 1 / np.where(x == 0, 1, x))
    norm = power * inverse  # of z*² along a node

    def slopes(state: _State) -> _Slopes:
        phi, own, pair, kept_own, kept_pair, kept_norm = state
        q = readout(_sum(norm * phi * phi) - float(kept_norm[0].real), c)
        speed = 1 + c * q
        h = c / speed
        gradient = x * (1 - phi)
        overlap = _sum(norm * phi * gradient)  # z·G
        turned = gradient - x * phi  # of the change of z·G with z
        to_phi = x * own * phi + pair @ (norm * phi)  # Γz
        to_turned = x * own * turned + pair @ (norm * turned)
        diagonal = norm * np.diagonal(pair)
        spread = float(own[-1].real) * trace + _sum(square * (own - own[-1]) * inverse) + _sum(diagonal)
        excess = _sum(square * own) + _sum(x * diagonal)  # tr KΓ
        loss = _sum(power * (1 - phi) ** 2) + excess + noise
        along, across = _sum(norm * phi * to_phi), _sum(norm * phi * to_turned)

        noise_own = ratio * (loss + x * x * own)  # ε 𝒩, as Γ
        noise_pair = ratio * (np.outer(gradient, gradient) + x[:, None] * pair * x)
        kick = x * noise_own * phi + noise_pair @ (norm * phi)  # ε 𝒩z
        kick_along = _sum(norm * phi * kick)
        total = ratio * (loss * trace + _sum(square * x * own)) + _sum(
            norm * np.diagonal(noise_pair)
        )  # ε tr 𝒩
        moved = x * kept_own * gradient + kept_pair @ (norm * gradient)  # (R − 1) G

        # derivatives of q and h by |z|²
        q1 = 1 / (1 + 2 * c * q)
        q2 = -2 * c * q1**3
        h1 = -(h**2) * q1
        h2 = 2 * h**3 * q1**2 - h**2 * q2
        extra = (
            c * (q1 * spread + 2 * q2 * along) * gradient - 2 * c * q1 * x * to_phi
            + (h1 * spread + 2 * h2 * along) * overlap * phi + 2 * h1 * (overlap * to_phi + across * phi)
            + h * (to_turned - excess * phi) + c * kick + moved
        )  # fmt: skip
        rate = h * overlap - speed * x
        steer = 2 * c * q1 * gradient + 2 * h1 * overlap * phi
        grown = np.outer(steer, to_phi) + np.outer(phi, h * to_turned + c * kick)
        source = grown + grown.T + speed * speed * noise_pair + h**2 * kick_along * np.outer(phi, phi)
        lost = h * np.outer(moved, phi)
        zero = np.zeros(1)
        rates = _State(zero, 2 * rate, rate, zero, np.zeros((1, 1)), 2 * h * overlap + zero)
        sources = _State(
            zero, speed * speed * noise_own, source, -c * noise_own,
            -c * noise_pair + h**2 * total * np.outer(phi, phi) - lost - lost.T,
            zero + (c * q) ** 2 * total - c * kick_along + 2 * _sum(norm * phi * moved),
        )  # fmt: skip
        return _Slopes(speed, h * overlap, extra, rates, sources, loss)

    line, square_ = np.zeros_like(x), np.zeros((len(x), len(x)), x.dtype)
    return slopes, _State(line, line, square_, line, square_, np.zeros(1))


def _sum(values: np.ndarray) -> float:
    return float(np.real(values).sum())


def _step(
    state: _State, after: _State, x: np.ndarray, here: _Slopes, there: _Slopes, length: float, pairs: bool
) -> _State:
    """The end of a step with the mean of the rates at its ends, and a source linear in time.

    `after` is what was found for it so far; its pairs are kept where they are not asked for.
    """
    speed, push = (here.speed + there.speed) / 2, (here.push + there.push) / 2
    phi = advance(state.phi, x, speed, push, length)
    decay = push - speed * x
    phi = phi + _forced(decay, here.extra, there.extra, length, np.exp(decay * length))
    found = [phi]
    for name in _State._fields[1:]:
        start, end = getattr(state, name), getattr(after, name)
        if not pairs and name.endswith("pair"):
            found.append(end)
            continue
        first, last = getattr(here.rates, name), getattr(there.rates, name)
        mean = (first + last) / 2
        grown = np.exp(mean * length)
        if name == "pair":  # rates of both nodes add
            first, mean, last = (one[:, None] + one for one in (first, mean, last))
            grown = np.outer(grown, grown)
        begins = getattr(here.sources, name) + (first - mean) * start
        ends = getattr(there.sources, name) + (last - mean) * end
        found.append(grown * start + _forced(mean, begins, ends, length, grown))
    return _State(*found)


def _forced(
    rate: np.ndarray, first: np.ndarray, last: np.ndarray, length: float, grown: np.ndarray
) -> np.ndarray:
    """The part of y that a source adds under y' = rate·y + source, linear in time from `first` to `last`."""
    z = rate * length
    # (e^z − 1)/z and the next cancel there: their series has full accuracy with few terms
    small = np.abs(z) < 1e-2
    safe = np.where(small, 1, z)
    one = (grown - 1) / safe
    near = z[small]
    one[small] = 1 + near / 2 * (1 + near / 3 * (1 + near / 4 * (1 + near / 5 * (1 + near / 6))))
    two = (one - 1) / safe
    two[small] = 0.5 + near / 6 * (1 + near / 4 * (1 + near / 5 * (1 + near / 6 * (1 + near / 7))))
    added: np.ndarray = length * (one * first + two * (last - first))
    return added


def readout(square: float, richness: float) -> float:
    """q with q + c q² = |z|²."""
    # the root without the cancellation of √(1 + 4c|z|²) − 1; sums over a contour may be just below 0
    return 2 * square / (1 + math.sqrt(1 + 4 * richness * max(square, 0.0)))


def grid(now: float, target: float, first: float) -> np.ndarray:
    """Ends of the steps from `now` to `target`, whose length grows with time."""
    if target <= now:
        return np.empty(0)
    start = max(now, first)
    if target <= start:
        return np.array([target])
    count = math.ceil(math.log(target / start) / GROWTH)
    ends = start * (target / start) ** (np.arange(1, count + 1) / count)
    ends[-1] = target
    return ends if now >= first else np.concatenate([[start], ends])


def advance(phi: np.ndarray, x: np.ndarray, speed: float, push: float, length: float) -> np.ndarray:
    """φ after a time in which φ' = speed·x (1 − φ) + push·φ, exactly."""
    decay = push - speed * x
    exponent = decay * length
    # where push and speed·x are equal the quotient is 0/0, and its limit the length
    small = np.abs(exponent) < 1e-8
    grown = np.where(small, length, np.expm1(exponent) / np.where(small, 1, decay))
    return np.exp(exponent) * phi + speed * x * grown
