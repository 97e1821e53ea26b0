r"""Phases of one-pass SGD on random features: which of four terms limit the loss at the best use of compute.

For λ_k = k^-2α and w_k = k^-β the loss after r steps on d features, with γ the learning rate and τ = γ r, is
up to constants the sum of (Paquette and others 2024, arXiv 2405.15074; derived anew in docs/theory)

    capacity   d^−min(2α, 2α+2β−1)         what d features cannot represent,
    task       τ^−(2α+2β−1)/2α             modes that are not learnt yet,
    features   d^−1 τ^−(1−1/2α)            the distortion of learnt modes by the features (2α > 1, 2β > 1),
    noise      γ τ^−(2−1/2α)               the noise of batches (2β > 1, α > 1/4).

The learning rate is as large as stability allows: a constant for 2α > 1, 1/Σλ ~ d^−(1−2α) for 2α < 1, where
the number of modes grows with d. Compute is d r. At each budget the largest of the terms is made as small as
possible; the pair that binds there, and which of the exponents are at their caps, is the phase.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scalinglab.errors import BadInput
from scalinglab.spectrum import PowerLaw, Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.bottlenecks import Frontier, frontier
from scalinglab.theory.dmft import OnePassSGD
from scalinglab.theory.one_pass.moments import solve

__all__ = ["Phase", "Term", "compute_optimal", "phase", "spectrum", "stable_rate", "terms"]

MODES = 10**18  # of a spectrum with a finite trace
MODES_A_FEATURE = 4  # of one without


@dataclass(frozen=True)
class Term:
    """A part of the loss, d^−size r^−steps."""

    name: str
    size: float
    steps: float


@dataclass(frozen=True)
class Phase:
    """The phase at one (α, β).

    Attributes:
        name: Ia, Ib, Ic, II, III, IVa or IVb, as in the paper.
        loss: exponent of the loss in compute, L ~ C^-loss.
        size: exponent of the best number of features, d ~ C^size.
        binding: the two terms that are equal at the optimum, the one that falls with d second.
    """

    name: str
    loss: float
    size: float
    binding: tuple[str, str]


@checked
def spectrum(alpha: float, beta: float, n_params: float = 1.0) -> PowerLaw:
    """λ_k = k^-2α and w_k = k^-β: task exponent a = 2α + 2β, spectral exponent b = 2α.

    Without a finite trace (2α ≤ 1) the spectrum ends at mode 4 `n_params`.
    """
    _checked(alpha, beta)
    modes = MODES if 2 * alpha > 1 else max(2, round(MODES_A_FEATURE * n_params))
    return Spectrum.power_law(2 * alpha + 2 * beta, 2 * alpha, modes)


@checked
def terms(alpha: float, beta: float) -> tuple[Term, ...]:
    """The terms that are there at (α, β), in numbers of features d and steps r."""
    _checked(alpha, beta)
    power = 2 * alpha + 2 * beta - 1
    slow = max(0.0, 1 - 2 * alpha)  # γ ~ d^-slow
    found = [Term("capacity", min(2 * alpha, power), 0.0), _in_steps("task", 0.0, power / (2 * alpha), slow)]
    if beta > 0.5 and alpha > 0.5:
        found.append(_in_steps("features", 1.0, 1 - 1 / (2 * alpha), slow))
    if beta > 0.5 and alpha > 0.25:
        found.append(_in_steps("noise", slow, 2 - 1 / (2 * alpha), slow))
    return tuple(found)


@checked
def phase(alpha: float, beta: float) -> Phase:
    """The phase at (α, β), from its terms."""
    return best(terms(alpha, beta), alpha, beta)


def best(given: tuple[Term, ...], alpha: float, beta: float) -> Phase:
    """The exponents x of d ~ C^x and of the loss for which the largest term is smallest.

    With d = C^x and r = C^(1−x) a term is C^−(p x + q (1 − x)): its exponent is a straight line in x, and the
    lowest line is to be as high as possible. The highest point of the lower envelope of straight lines is
    where a rising and a falling one meet.
    """

    def at(term: Term, x: float) -> float:
        return term.size * x + term.steps * (1 - x)

    pairs = []
    for falling in (t for t in given if t.steps > t.size):  # larger models make these terms larger
        for rising in (t for t in given if t.steps <= t.size):
            x = (falling.steps - rising.steps) / (
                (falling.steps - falling.size) + (rising.size - rising.steps)
            )
            if 0 <= x <= 1:
                pairs.append((x, falling, rising))
    feasible = [p for p in pairs if at(p[1], p[0]) <= min(at(t, p[0]) for t in given) + 1e-12]
    x, falling, rising = max(feasible, key=lambda p: at(p[1], p[0]))
    return Phase(
        _name((falling.name, rising.name), alpha, beta), at(falling, x), x, (falling.name, rising.name)
    )


@checked
def stable_rate(given: Spectrum, batch_size: float = 1.0) -> float:
    """A learning rate at which SGD is stable: 1/(Σλ/B + λ₁ (1 + 1/B)), half of the largest or less."""
    if not batch_size > 0:
        raise BadInput(f"batch_size = {batch_size} must be positive: the examples of a step")
    largest = float(given.nodes().eigenvalues.max())
    return 1 / (given.trace / batch_size + largest * (1 + 1 / batch_size))


@checked
def compute_optimal(
    alpha: float, beta: float, budgets: ArrayLike, batch_size: float = 1.0, *, per_decade: int = 3
) -> Frontier:
    """The exact frontier of one-pass SGD: the solved loss, minimised over d at fixed C = d r.

    Args:
        alpha, beta: of the spectrum; with 2α ≤ 1 it has 4 d modes.
        budgets: C = d r.
        batch_size: B; a budget counts steps, not examples.
        per_decade: grid points of d a decade, on which the search for the minimum begins.
    """

    def losses(times: np.ndarray, size: float) -> np.ndarray:
        given = spectrum(alpha, beta, size)
        steps = np.round(times)
        found = np.full(len(steps), math.inf)
        enough = steps >= 1
        if enough.any():
            optimizer = OnePassSGD(stable_rate(given, batch_size), batch_size)
            found[enough] = solve(given, steps[enough], optimizer, size).test_loss
        return found

    lowest = float(np.min(np.atleast_1d(np.asarray(budgets, float))))
    smallest = max(4.0, lowest ** (phase(alpha, beta).size - 0.2))
    return frontier(losses, budgets, smallest=smallest, per_decade=per_decade)


def _in_steps(name: str, size: float, time: float, slow: float) -> Term:
    """d^-size τ^-time with τ = r d^-slow."""
    return Term(name, size - slow * time, time)


def _name(binding: tuple[str, str], alpha: float, beta: float) -> str:
    names = {
        ("task", "features"): "II", ("noise", "features"): "III", ("noise", "capacity"): "IVa",
        ("task", "noise"): "IVb",
    }  # fmt: skip
    if binding != ("task", "capacity"):
        return names[binding]
    return "Ia" if alpha > 0.5 else "Ib" if beta < 0.5 else "Ic"


def _checked(alpha: float, beta: float) -> None:
    if not (math.isfinite(alpha) and alpha > 0 and math.isfinite(beta)):
        raise BadInput(f"alpha = {alpha} must be positive, and beta = {beta} finite")
    if not alpha + beta > 0.5:
        raise BadInput(
            f"alpha + beta = {alpha + beta:g} must exceed 1/2: else the target has infinite power and no "
            "features help"
        )
