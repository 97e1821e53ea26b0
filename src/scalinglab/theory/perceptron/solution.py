r"""Fixed-norm learning curves: the error against sharpness and load, its slopes and its optimum.

Fig. 1 and 2 of D'Amico et al. 2025. The equations and how they are solved are in `saddle`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.errors import BadInput, NotConverged
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.support.validation import checked, together
from scalinglab.theory.perceptron import saddle
from scalinglab.theory.perceptron.checks import load_array, sharpness_array

if TYPE_CHECKING:
    from scalinglab.curves import Curves

NEGLIGIBLE, UNBOUNDED = 1e-20, 1e20  # sharpnesses beyond which the limits 0 and infinity are exact in doubles


@dataclass(frozen=True)
class FixedNorm(Worded):
    """The student that minimises the loss at given load and sharpness; every array has their common shape.

    Attributes:
        load: examples per weight, α.
        sharpness: λ of the loss, or the norm ‖w‖/√N of a student under the plain logistic loss.
        overlap: cosine R of the angle between student and teacher.
        x: the susceptibility β(1−q) of eq. 13; infinite where it exceeds 1e308 (it grows as e^{2λκ}).
        error: generalization error, arccos(R)/π.
        stability: margin of a training example whose cavity field is zero; becomes κ as λ → ∞.
        slope: local exponent in the sharpness, d ln error / d ln λ at fixed load.
        load_slope: local exponent in the load, d ln error / d ln α at fixed sharpness.
        residual: the larger of |ln(right/left)| of the two saddle-point equations, at the solution.
        log_x: ln x, finite wherever the sharpness is.
    """

    load: np.ndarray
    sharpness: np.ndarray
    overlap: np.ndarray
    x: np.ndarray
    error: np.ndarray
    stability: np.ndarray
    slope: np.ndarray
    load_slope: np.ndarray
    residual: np.ndarray
    log_x: np.ndarray

    @property
    def remarks(self) -> Iterator[Remark]:
        if not self.error.size:
            yield Reason("fixed_norm_none")
            return
        low, high = float(np.min(self.error)), float(np.max(self.error))
        error = Reason("one_error" if low == high else "errors", low=low, high=high)
        worst = float(np.max(self.residual))
        yield Reason("fixed_norm", points=self.error.size, error=error, worst=worst)

    def curves(self) -> Curves:
        """The table of these solutions, one run a load and sharpness."""
        from scalinglab.curves import Curves

        columns = {"load": self.load, "sharpness": self.sharpness, "norm": self.sharpness}
        columns |= {"test_error": self.error, "overlap": self.overlap, "stability": self.stability}
        columns |= {"slope": self.slope, "load_slope": self.load_slope}
        table: dict[str, Any] = {name: np.ravel(values) for name, values in columns.items()}
        return Curves({"model": "perceptron", **table}, source="theory")


@checked
def fixed_norm(load: Any, sharpness: Any) -> FixedNorm:
    """Solve the teacher–student perceptron at fixed norm (eq. 13), for any load and sharpness at once.

    Args:
        load: examples per weight, between 1e-6 and 1e12; any shape.
        sharpness: λ of eq. 1, from 0 (Hebb's rule) to infinity (maximal stability), both included; any shape
            that broadcasts with `load`.

    The error is accurate to a relative 1e-12 over the whole of that range.

    >>> found = fixed_norm(5.0, [0.0, 4.4, float("inf")])
    >>> found.error.round(6).tolist()
    [0.162614, 0.083987, 0.093827]
    """
    loads, sharpnesses = together(load=load_array(load), sharpness=sharpness_array(sharpness))
    shape, loads, sharpnesses = loads.shape, loads.ravel(), sharpnesses.ravel()
    columns = np.empty((6, loads.size))
    hebb = sharpnesses < NEGLIGIBLE
    columns[:, hebb] = _at_zero(loads[hebb])
    columns[:, ~hebb] = _solve(loads[~hebb], np.where(sharpnesses > UNBOUNDED, np.inf, sharpnesses)[~hebb])
    log_margin, log_tan, slope, load_slope, residual, log_x = (column.reshape(shape) for column in columns)
    with np.errstate(over="ignore"):
        return FixedNorm(
            load=loads.reshape(shape).copy(),
            sharpness=sharpnesses.reshape(shape).copy(),
            overlap=1 / np.sqrt(1 + np.exp(2 * log_tan)),
            x=np.exp(log_x),
            error=np.arctan(np.exp(log_tan)) / np.pi,
            stability=np.exp(log_margin),
            slope=slope,
            load_slope=load_slope,
            residual=residual,
            log_x=log_x,
        )


def _at_zero(loads: np.ndarray) -> np.ndarray:
    state = saddle.hebb_state(loads)
    zero = np.zeros_like(loads)
    return np.stack([*state, zero, -0.5 * _angle_slope(state.log_tan), zero, state.log_margin])


def _solve(loads: np.ndarray, sharpnesses: np.ndarray) -> np.ndarray:
    """Rows: ln m, ln tan θ, both slopes, the residual and ln x, solved and evaluated once more to certify."""
    state = saddle.solve(loads, sharpnesses)
    rows = np.empty((3, loads.size))
    for start in range(0, loads.size, saddle.CHUNK):
        part = slice(start, start + saddle.CHUNK)
        at = saddle.equations(saddle.State(*(z[part] for z in state)), loads[part], sharpnesses[part])
        rows[0, part] = -saddle.solve2(at.jacobian, at.by_sharpness)[:, 1]
        rows[1, part] = -saddle.solve2(at.jacobian, np.ones_like(at.residual))[:, 1]
        rows[2, part] = np.abs(at.residual).max(axis=-1)
    rows[:2] *= _angle_slope(state.log_tan)
    log_x = state.log_margin + np.logaddexp(0, 2 * sharpnesses * np.exp(state.log_margin)) - np.log(2)
    return np.stack([*state, *rows, log_x])


def _angle_slope(log_tan: np.ndarray) -> np.ndarray:
    """d ln θ / d ln tan θ."""
    tangent = np.exp(log_tan)
    return tangent / (1 + tangent**2) / np.arctan(tangent)


@dataclass(frozen=True)
class Optimum(Worded):
    """The best sharpness at each load.

    Attributes:
        load: examples per weight.
        sharpness: λ_opt, where the error is smallest.
        error: ε_opt, the error there.
        overlap: R there.
    """

    load: np.ndarray
    sharpness: np.ndarray
    error: np.ndarray
    overlap: np.ndarray

    @property
    def remarks(self) -> Iterator[Remark]:
        for load, sharpness, error in zip(
            np.ravel(self.load), np.ravel(self.sharpness), np.ravel(self.error), strict=True
        ):
            yield Reason("best_sharpness", load=load, sharpness=sharpness, error=error)


OPTIMUM_LOADS = 1e-2, 1e10  # below, the minimum is too shallow for doubles to place it to 1e-8


@checked
def optimal_sharpness(load: Any) -> Optimum:
    """The sharpness at which the error is smallest, as the zero of d ln error / d ln λ.

    A zero of the slope is found to the accuracy of the slope; a search for the smallest error would stop at
    its square root. Accurate to a relative 1e-8 or better.

    >>> round(float(optimal_sharpness(5.0).sharpness), 6)
    4.536101
    """
    loads = load_array(
        load,
        *OPTIMUM_LOADS,
        why="beyond, the minimum is too shallow to be placed to 1e-8 in double precision",
    )
    flat = loads.ravel()
    center = np.log(flat + 0.35)

    def slope(log_sharpness: np.ndarray) -> np.ndarray:
        return fixed_norm(flat, np.exp(log_sharpness)).slope

    log_best = find_zero(slope, center - 2.0, center + 1.0)
    found = fixed_norm(flat, np.exp(log_best))
    shaped = (a.reshape(loads.shape) for a in (flat, np.exp(log_best), found.error, found.overlap))
    return Optimum(*shaped)


def find_zero(function: Any, low: np.ndarray, high: np.ndarray, most: int = 60) -> np.ndarray:
    """Zeros of an increasing function of many brackets at once: false position, Illinois variant."""
    at_low, at_high = function(low), function(high)
    if np.any(at_low > 0) or np.any(at_high < 0):
        raise BadInput("the brackets do not enclose a zero")
    previous = np.zeros_like(low)
    for _ in range(most):
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = function(middle)
        below = value < 0
        # an end that stays twice in a row has its value halved, so that the other end moves too
        at_high = np.where(below, np.where(previous < 0, at_high / 2, at_high), value)
        at_low = np.where(below, value, np.where(previous > 0, at_low / 2, at_low))
        low, high = np.where(below, middle, low), np.where(below, high, middle)
        if np.all((high - low < 1e-11) | (np.abs(value) < 1e-14)):
            return middle
        previous = np.where(below, -1.0, 1.0)
    raise NotConverged(f"the best sharpness was not found in {most} steps")


@checked
def intermediate_error(load: Any, sharpness: Any) -> np.ndarray:
    """The power law between Hebb's rule and the optimum, (2π)^(1/4) √(ln 2 − 1/2) / (π √(αλ)), for 1 ≪ λ ≪ α.

    There x ≪ 1/λ and s ≪ 1/λ, so that f(t) = 2x/(1 + e^{2λt}) and both integrals are elementary: the
    exponent of the error in the norm is −1/2.
    """
    loads, sharpnesses = together(load=load_array(load), sharpness=sharpness_array(sharpness))
    product = loads * sharpnesses
    return (2 * np.pi) ** 0.25 * np.sqrt(np.log(2) - 0.5) / (np.pi * np.sqrt(product))
