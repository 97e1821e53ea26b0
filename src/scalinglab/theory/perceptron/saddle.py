r"""The fixed-norm perceptron: zero-temperature replica-symmetric saddle point of the logistic loss.

A student on the sphere minimises the loss of eq. 1 of D'Amico et al. 2025 at sharpness λ,
V(Δ) = −Δ + ln(2 cosh λΔ)/λ, on α examples per weight labelled by a teacher. With the overlap R = cos θ and
s = sin θ, the extremum of their eq. 13 (where "exp" stands for "extr") obeys

    s² = 2α ∫Dt Φ(R t/s) f(t)²,        R = (2α/√2π) ∫Du f(s u),        error = θ/π,

where f(t) = Δ₀(t) − t = 2x/(1 + exp 2λΔ₀) is the pull of the loss on an example with cavity field t.

Three choices make this accurate everywhere, from Hebb's rule (λ → 0) to maximal stability (λ = ∞):

- The unknowns are ln m and ln tan θ, where m = Δ₀(0), the margin of an example whose cavity field is zero.
  It stays of order one where x grows as exp(2λm), becomes the stability κ at λ = ∞, and 1 − R never appears.
- The integration variable is v = 2λ(Δ₀ − m). Both t and f are explicit in it, so no equation is solved at the
  nodes: f = m (1 + ω)/(eᵛ + ω) and t = m (eᵛ − 1)/(eᵛ + ω) + v/2λ, where ω = exp(−2λm).
- In v every integrand varies on a scale of order one, or is a Gaussian in t; panels of Gauss–Legendre nodes
  placed by closed-form bounds resolve both.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from scalinglab.errors import NotConverged

REACH = 8.6  # standard deviations of a Gaussian that are integrated: beyond lies 1e-17 of it
DECAY = 30.0  # e-foldings of f that are integrated
CHUNK = 256  # points solved together: their nodes fit in the cache
STEP_TOLERANCE = 1e-8  # of the last Newton step; the error after it is of the order of its square
ROOT_2PI = np.sqrt(2 * np.pi)


LEVELS = np.array([2.0, 4.0, 6.0, REACH])  # edges of panels that resolve a Gaussian
STEPS = np.linspace(0, 1, 12)  # edges of panels that resolve the pull
CORE_ORDER, TAIL_ORDER = 14, 40  # Gauss–Legendre nodes a panel


class Nodes(NamedTuple):
    """Quadrature nodes in the cavity field, (points, nodes): ∫dt g(t) ≈ Σ weight·g(t).

    The partial derivatives of the pull f at fixed t are by ln m, by t, and by ln λ at fixed m.
    """

    field: np.ndarray
    pull: np.ndarray
    weight: np.ndarray
    by_margin: np.ndarray
    by_field: np.ndarray
    by_sharpness: np.ndarray


def nodes(margin: np.ndarray, sharpness: np.ndarray, scale: np.ndarray, upper: float) -> Nodes:
    """Nodes for integrands f(t)ᵏ times a Gaussian of width `scale` below t = 0, up to t = `upper` above.

    The core reaches to REACH·scale on both sides of t = 0. Its panels are cut at even steps in v, on which
    the pull varies, and at levels of t/scale, on which the Gaussian does. One panel of many nodes goes on
    from there to `upper`.
    """
    steepness = 2 * sharpness
    residue = np.exp(-steepness * margin)
    m, k, omega = margin[:, None], steepness[:, None], residue[:, None]
    below = _reach_below(LEVELS * scale[:, None], m, k, omega)
    above = _reach_above(LEVELS * scale[:, None], m, k, omega)
    high = np.minimum(above[:, -1], DECAY)
    low = below[:, -1]
    bottom = np.maximum(low, -steepness * margin - DECAY)  # below this v the pull is 2x to 1e-13
    steps = bottom[:, None] + (high - bottom)[:, None] * STEPS
    levels = np.concatenate([below, np.zeros((len(margin), 1)), np.minimum(above, high[:, None])], axis=1)
    edges = np.sort(np.concatenate([levels, steps], axis=1), axis=1)
    core, core_weight = _panels(edges, CORE_ORDER)
    top = np.maximum(np.minimum(_reach_above(upper, margin, steepness, residue), DECAY), high)
    tail, tail_weight = _panels(np.stack([high, top], axis=1), TAIL_ORDER)
    v = np.concatenate([core, tail], axis=1)
    dv = np.concatenate([core_weight, tail_weight], axis=1)

    w = 1 / k
    grown = np.exp(v)
    denominator = grown + omega
    pull = m * (1 + omega) / denominator
    field = m * np.expm1(v) / denominator + w * v
    active = grown / denominator  # σ(2λΔ)
    stretch = w + pull * active  # dt/dv
    ratio = pull / stretch
    active_0 = 1 / (1 + omega)
    return Nodes(
        field,
        pull,
        dv * stretch,
        by_margin=(w + m * active_0) * ratio,
        by_field=-active * ratio,
        by_sharpness=(m * (active_0 - active) - w * v * active) * ratio,
    )


_gauss = lru_cache(np.polynomial.legendre.leggauss)


def _panels(edges: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre nodes and weights between consecutive edges, (points, panels·order)."""
    nodes, weights = _gauss(order)
    start, length = edges[:, :-1, None], np.diff(edges)[:, :, None]
    flat = (len(edges), -1)
    return (start + length * (nodes + 1) / 2).reshape(flat), (length * weights / 2).reshape(flat)


def _reach_below(distance: Any, margin: np.ndarray, steepness: np.ndarray, residue: np.ndarray) -> np.ndarray:
    """A v < 0 with −2·distance ≤ t(v) ≤ −distance."""
    share = margin / (margin + distance)
    kept = share + residue * (share - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        pulled = np.where(kept > 0, np.log(np.maximum(kept, 0)), -np.inf)
        return np.maximum(pulled, -distance * steepness)


def _reach_above(distance: Any, margin: np.ndarray, steepness: np.ndarray, residue: np.ndarray) -> np.ndarray:
    """A v > 0 with distance ≤ t(v) ≤ 2·distance, or infinity where no v reaches it."""
    gap = margin - distance
    with np.errstate(divide="ignore", invalid="ignore"):
        pulled = np.where(gap > 0, np.log1p(distance * (1 + residue) / np.maximum(gap, 0)), np.inf)
        return np.minimum(pulled, distance * steepness)


class State(NamedTuple):
    """A saddle point by its unknowns, each of shape (points,)."""

    log_margin: np.ndarray
    log_tan: np.ndarray


class Equations(NamedTuple):
    """Both equations as ln(right/left), with their derivatives by ln m, ln tan θ and ln λ."""

    residual: np.ndarray  # (points, 2)
    jacobian: np.ndarray  # (points, 2, 2)
    by_sharpness: np.ndarray  # (points, 2)


def equations(state: State, load: np.ndarray, sharpness: np.ndarray) -> Equations:
    """Evaluate the two saddle-point equations at a state."""
    tangent = np.exp(state.log_tan)
    cosine = 1 / np.sqrt(1 + tangent**2)
    sine = tangent * cosine
    at = nodes(np.exp(state.log_margin), sharpness, sine, REACH)

    slanted = at.field / tangent[:, None]
    bell = at.weight * np.exp(-0.5 * at.field**2)
    aligned = bell * ndtr(slanted) * at.pull  # times f: the first equation
    turned = bell * np.exp(-0.5 * slanted**2)  # the Gaussian of width s: the second equation

    first, second = _sum(aligned, at.pull), _sum(turned, at.pull)
    residual = [
        np.log(2 * load * first / ROOT_2PI / sine**2),
        np.log(load / np.pi * second / (sine * cosine)),
    ]
    moment = turned * at.field
    jacobian = [
        2 * _sum(aligned, at.by_margin) / first,
        -2 * cosine**2 - _sum(moment, at.pull**2) / (ROOT_2PI * tangent * first),
        _sum(turned, at.by_margin) / second,
        cosine**2 * _sum(moment, at.by_field) / second + sine**2,
    ]
    by_sharpness = [2 * _sum(aligned, at.by_sharpness) / first, _sum(turned, at.by_sharpness) / second]
    return Equations(
        np.stack(residual, axis=-1),
        np.stack(jacobian, axis=-1).reshape(-1, 2, 2),
        np.stack(by_sharpness, axis=-1),
    )


def _sum(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.einsum("pn,pn->p", left, right)


def solve(load: np.ndarray, sharpness: np.ndarray) -> State:
    """Newton's method for many points at once, started from a coarse table of solutions.

    Args:
        load: examples per weight, shape (points,).
        sharpness: λ > 0, infinity included, shape (points,).
    """
    found = np.empty((2, len(load)))
    for start in range(0, len(load), CHUNK):
        part = slice(start, start + CHUNK)
        found[:, part] = newton(guess(load[part], sharpness[part]), load[part], sharpness[part])
    return State(*found)


def newton(state: State, load: np.ndarray, sharpness: np.ndarray, most: int = 40) -> State:
    """Newton steps, shortened to a factor e in each unknown, until the last one is small."""
    for _ in range(most):
        at = equations(state, load, sharpness)
        step = np.clip(-solve2(at.jacobian, at.residual), -1, 1)
        state = State(*(np.asarray(state) + step.T))
        if not np.abs(step).max() > STEP_TOLERANCE:
            break
    bad = ~(np.abs(step).max(axis=-1) <= STEP_TOLERANCE)
    if bad.any():
        where = int(np.argmax(bad))
        raise NotConverged(
            f"the saddle point at load={load[where]:g}, sharpness={sharpness[where]:g} was not found "
            f"in {most} Newton steps"
        )
    return state


def solve2(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Solutions of many 2×2 systems."""
    (a, b), (c, d) = matrix[:, 0].T, matrix[:, 1].T
    e, f = vector.T
    return np.stack([d * e - b * f, a * f - c * e], axis=-1) / (a * d - b * c)[:, None]


def hebb_state(load: np.ndarray) -> State:
    """The saddle point at λ = 0: tan θ = √(π/2α), m = x = s/√α."""
    log_tan = 0.5 * np.log(np.pi / (2 * load))
    return State(log_tan - 0.5 * np.log1p(np.exp(2 * log_tan)) - 0.5 * np.log(load), log_tan)


LOADS = 1e-6, 1e12  # where the solver was checked: 1e-12 or better at every sharpness
TABLE_LOADS = np.geomspace(*LOADS, 15)
TABLE_SHARPNESSES = np.geomspace(1e-3, 1e14, 18)  # at a given load, both limits are reached before the ends


def guess(load: np.ndarray, sharpness: np.ndarray) -> State:
    """A start for Newton's method, interpolated in a table of solutions."""
    at = np.log(load), np.log(np.clip(sharpness, TABLE_SHARPNESSES[0], TABLE_SHARPNESSES[-1]))
    log_margin, log_tan = (spline(*at, grid=False) for spline in _table())
    return State(log_margin, log_tan)


@lru_cache(maxsize=1)
def _table() -> tuple[Any, Any]:
    """Splines through solutions on a coarse grid, found by continuation in the sharpness from Hebb's rule."""
    from scipy.interpolate import RectBivariateSpline

    state, solutions = hebb_state(TABLE_LOADS), []
    for sharpness in TABLE_SHARPNESSES:
        state = newton(state, TABLE_LOADS, np.full(len(TABLE_LOADS), sharpness))
        solutions.append(np.asarray(state))
    axes = np.log(TABLE_LOADS), np.log(TABLE_SHARPNESSES)
    margins, tangents = np.stack(solutions, axis=-1)
    return RectBivariateSpline(*axes, margins), RectBivariateSpline(*axes, tangents)
