"""One-pass SGD on random features under a learning-rate schedule η(t), and the schedule that ends lowest.

With fresh batches of B examples the loss obeys the Volterra equation of bordelon2024, App. J.3, no longer of
the lag alone:

    L(t) = F(t) + Σ_{u<t} K(t, u) (L(u) + σ²),   K(t, u) = (η_u²/B) Σ_i x_i² Π_{u<v<t} (1 − η_v x_i)²

with F the loss of descent on the population with N features and x the eigenvalues of the features' kernel. On
the nodes of `modes` it is a recursion in time, c ← (1 − η_t x)² c + (η_t²/B) x² (L + σ²) with L = Σ c, whose
derivative by every rate is found by the same recursion backwards. So the best schedule has a rate of its own
for each step.

Where label noise is what is left, descent has to end at a given Σ η, and rates are not at their upper end,
the noise ∫ K(ρ) ρ'² dt with ρ(t) = ∫_t^T η and K(ρ) ~ ρ^−(2−1/b) is smallest if K(ρ) ρ'² is constant. So

    η(t) ~ (T − t)^(2b−1),

decay as a power to the end (λ_k ~ k^-b). Else rates stay at their upper end, and decay in a last part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from scalinglab.errors import BadInput
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.dmft.modes import Modes, modes

MOST_STEPS = 100_000  # every step of the recursion is kept for the way back
LOWEST = 1e-6  # of the highest rate: what the best schedule may come down to


@dataclass(frozen=True, eq=False)
class ScheduledSGD:
    """The losses of one-pass SGD under a schedule.

    Attributes:
        rates: (T,), η of every step.
        test_loss: (T + 1,), at steps 0 … T, σ² included.
        drift: (T + 1,), the loss of descent on the population, without the noise of batches.
    """

    rates: np.ndarray
    test_loss: np.ndarray
    drift: np.ndarray


@checked
def one_pass(
    spectrum: Spectrum, rates: np.ndarray, batch_size: float, n_params: float = math.inf, noise: float = 0.0
) -> ScheduledSGD:
    """Losses of one-pass SGD with rate `rates[t]` at step t.

    Args:
        rates: (T,), 0 or more, each below 2 over the largest eigenvalue.
        batch_size: B, fresh examples a step.
        n_params: N, random features; inf for the kernel itself.
        noise: σ of the labels; test_loss includes σ².
    """
    steps = _checked(rates, batch_size)
    found = modes_of(spectrum, n_params, float(steps.sum()), float(steps.max()))
    if not steps.max() * found.largest < 2:
        raise BadInput(
            f"the highest rate, {steps.max():g}, times the largest eigenvalue, {found.largest:g}, must "
            "stay below 2"
        )
    loss, _ = forward(found, steps, batch_size, noise**2)
    drift, _ = forward(found, steps, math.inf, noise**2)
    return ScheduledSGD(steps, loss, drift)


@checked
def best_schedule(
    spectrum: Spectrum,
    steps: int,
    batch_size: float,
    n_params: float = math.inf,
    noise: float = 0.0,
    *,
    knots: int | None = None,
    highest: float | None = None,
    most_rounds: int = 200,
) -> ScheduledSGD:
    """The schedule whose last loss is the lowest.

    Args:
        steps: how many steps there are.
        knots: ln η is linear between so many, at equal distances; by default each step has its own rate.
        highest: rates stay below it; default 1 over the largest eigenvalue of the features' kernel.
        most_rounds: of the search (L-BFGS, with exact derivatives), from each of two starts.
    """
    if steps < 1 or (knots is not None and knots < 1):
        raise BadInput(f"steps = {steps} and knots = {knots} must be 1 or more")
    largest = modes_of(spectrum, n_params, 1.0, 1.0).largest
    top = 1 / largest if highest is None else highest
    _checked(np.full(steps, top), batch_size)
    found = modes_of(spectrum, n_params, top * steps, top)
    count = steps if knots is None else knots
    place = np.linspace(0, steps - 1, count) if count > 1 else np.zeros(1)
    spread = np.eye(steps) if knots is None else np.array(
        [np.interp(np.arange(steps), place, one) for one in np.eye(count)]
    ).T  # fmt: skip

    def last(z: np.ndarray) -> tuple[float, np.ndarray]:
        rates = np.exp(spread @ z)
        loss, slopes = with_slopes(found, rates, batch_size, noise**2)
        return math.log(loss), spread.T @ (slopes * rates) / loss

    bounds = [(math.log(top * LOWEST), math.log(top))] * count
    falling = np.log(np.maximum(1 - place / steps, 1e-3))
    starts = [np.full(count, math.log(top / 4)), math.log(top / 2) + falling]
    options = {"maxiter": most_rounds, "maxfun": 2 * most_rounds, "ftol": 1e-13}
    ends = [
        optimize.minimize(last, z, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        for z in starts
    ]
    best = min(ends, key=lambda f: f.fun).x
    return one_pass(spectrum, np.exp(spread @ best), batch_size, n_params, noise)


def modes_of(spectrum: Spectrum, n_params: float, total: float, highest: float) -> Modes:
    """Nodes for schedules of that sum, whatever has long been learnt by then."""
    if not n_params > 0:
        raise BadInput(f"n_params = {n_params} must be positive; inf is allowed")
    return modes(spectrum, n_params, 1 / max(total, 1e-3), 2 / max(highest, 1e-9), settled=math.inf)


def forward(
    found: Modes, rates: np.ndarray, batch_size: float, noise: float, keep: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Losses (T + 1,), σ² included, and where asked for the state before every step, (T, nodes)."""
    state, source = found.power, found.square / batch_size
    loss = np.empty(len(rates) + 1)
    kept = np.empty((len(rates) if keep else 0, len(state)), state.dtype)
    for t, rate in enumerate(rates):
        loss[t] = np.real(state).sum() + noise
        if keep:
            kept[t] = state
        left = 1 - rate * found.rate
        state = left * left * state + rate * rate * loss[t] * source
    loss[-1] = np.real(state).sum() + noise
    return loss, kept


def with_slopes(found: Modes, rates: np.ndarray, batch_size: float, noise: float) -> tuple[float, np.ndarray]:
    """The last loss, and its derivative by every rate: one way forward and one back."""
    loss, states = forward(found, rates, batch_size, noise, keep=True)
    source = found.square / batch_size
    weight = np.ones_like(states[0])  # d(last loss) = Re Σ weight dc
    slopes = np.empty(len(rates))
    for t in range(len(rates) - 1, -1, -1):
        rate, left = rates[t], 1 - rates[t] * found.rate
        gain = float(np.real(weight * source).sum())
        moved = float(np.real(weight * found.rate * left * states[t]).sum())
        slopes[t] = 2 * (rate * gain * loss[t] - moved)
        weight = weight * left * left + rate * rate * gain
    return float(loss[-1]), slopes


def _checked(rates: np.ndarray, batch_size: float) -> np.ndarray:
    steps = np.atleast_1d(np.asarray(rates, float))
    if steps.ndim != 1 or not len(steps) or len(steps) > MOST_STEPS:
        raise BadInput(f"rates must be a list of 1 to {MOST_STEPS} numbers, one a step")
    if (steps < 0).any() or not np.isfinite(steps).all():
        raise BadInput(f"rates must be 0 or more, and finite; one is {steps.min():g}")
    if not batch_size >= 1:
        raise BadInput(f"batch_size = {batch_size} must be 1 or more")
    return steps
