r"""Margins of the training examples at fixed norm: densities of eqs. 16 and 17 of D'Amico et al. 2025.

A training example has the margin Δ = Δ₀(t), where its cavity field t has the density 2 φ(t) Φ(Rt/s) under a
teacher, a skew normal, and φ(t) in the storage problem (random labels). By the explicit inverse
t(Δ) = Δ − 2x/(1+e^{2λΔ}) the delta function of eqs. 16 and 17 becomes a Jacobian:

    P(Δ) = φ(t) · 2Φ(Rt/s) · dt/dΔ   (teacher),        P(Δ) = φ(t) · dt/dΔ   (storage),

where x solves the saddle point, which for storage is one equation, 1 = α ∫Dt f(t)². Random labels can be
stored up to the capacity, load 2; below it the loss at fixed norm has one minimum for every sharpness.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtr, owens_t

from scalinglab.errors import BadInput, NotConverged
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.support.roots import bisect
from scalinglab.support.validation import checked, together
from scalinglab.theory.perceptron import saddle
from scalinglab.theory.perceptron.checks import load_array, sharpness_array
from scalinglab.theory.perceptron.solution import fixed_norm

CAPACITY = 2.0  # examples per weight: of more random labels no student makes all right (Cover 1965)
BEYOND_CAPACITY = "random labels can be stored below load 2 only, and there the loss has one minimum"
HUGE = 1e150  # a pull this large lies outside every density


@dataclass(frozen=True)
class MarginDistribution(Worded):
    """The distribution of training margins at one or many loads and sharpnesses (common shape).

    Attributes:
        load: examples per weight.
        sharpness: λ of the loss.
        stability: m = Δ₀(0), the margin of an example whose cavity field is zero.
        skew: R/s of the teacher, 0 for random labels.
        mean: the average margin.
        train_error: the share of margins below zero.
        train_loss: the average of eq. 1 over the examples.
    """

    load: np.ndarray
    sharpness: np.ndarray
    stability: np.ndarray
    skew: np.ndarray
    mean: np.ndarray
    train_error: np.ndarray
    train_loss: np.ndarray

    def density(self, margins: Any) -> np.ndarray:
        """P(Δ); `margins` broadcasts against the shape of `load`."""
        return _density(np.asarray(margins, float), self.sharpness, self.stability, self.skew)

    def cumulative(self, margins: Any) -> np.ndarray:
        """Probability of a margin below the given ones."""
        return _cumulative(np.asarray(margins, float), self.sharpness, self.stability, self.skew)

    def quantile(self, probability: Any) -> np.ndarray:
        """The margin below which lies the given share, by bisection to the last digits."""
        wanted = np.asarray(probability, float)
        if not np.all((wanted > 0) & (wanted < 1)):
            raise BadInput(f"probability={probability} must lie between 0 and 1, both excluded")
        shape = np.broadcast_shapes(wanted.shape, self.stability.shape)
        low, high = np.full(shape, -40.0), np.broadcast_to(self.stability + 40.0, shape)
        low, high = bisect(lambda margins: self.cumulative(margins) >= wanted, low, high, rounds=100)
        return 0.5 * (low + high)

    @property
    def remarks(self) -> Iterator[Remark]:
        low, median, high = (np.ravel(self.quantile(p)) for p in (0.01, 0.5, 0.99))
        load, sharpness, mean, error = map(np.ravel, (self.load, self.sharpness, self.mean, self.train_error))
        for k in range(load.size):
            yield Reason(
                "margins_at", load=load[k], sharpness=sharpness[k], mean=mean[k], low=low[k],
                median=median[k], high=high[k], error=error[k],
            )  # fmt: skip


@checked
def margin_distribution(load: Any, sharpness: Any) -> MarginDistribution:
    """Margins of the training examples under a teacher (eq. 16)."""
    found = fixed_norm(load, sharpness_array(sharpness, finite=True))
    sine = np.sin(np.pi * found.error)
    return _distribution(found.load, found.sharpness, found.stability, found.overlap / sine, sine)


@checked
def storage_margin_distribution(load: Any, sharpness: Any) -> MarginDistribution:
    """Margins of the training examples with random labels (eq. 17), below the capacity."""
    loads, sharpnesses = together(
        load=load_array(load, high=np.nextafter(CAPACITY, 0), why=BEYOND_CAPACITY),
        sharpness=sharpness_array(sharpness, finite=True),
    )
    margin = _storage_margin(loads.ravel(), sharpnesses.ravel()).reshape(loads.shape)
    return _distribution(loads, sharpnesses, margin, np.zeros_like(margin), np.ones_like(margin))


@checked
def storage_stability(load: Any) -> np.ndarray:
    """Gardner's stability: the largest margin κ with which random labels can be stored, 1 = α ∫Dt (κ−t)₊².

    >>> round(float(storage_stability(1.0)), 6)
    0.470655
    """
    loads = load_array(load, high=np.nextafter(CAPACITY, 0), why=BEYOND_CAPACITY)
    if not loads.size:
        return loads
    return _storage_margin(loads.ravel(), np.full(loads.size, np.inf)).reshape(loads.shape)


def _storage_margin(loads: np.ndarray, sharpnesses: np.ndarray) -> np.ndarray:
    """Solve 1 = α ∫Dt f² for ln m by Newton's method."""
    sharpnesses = np.maximum(sharpnesses, 1e-20)  # the limit 0 is exact in doubles there
    log_margin = 0.5 * np.log(np.maximum(1 / loads - 0.45, 1e-3))
    for _ in range(100):
        at = saddle.nodes(np.exp(log_margin), sharpnesses, np.ones_like(loads), saddle.REACH)
        bell = at.weight * np.exp(-0.5 * at.field**2) * at.pull / saddle.ROOT_2PI
        square = (bell * at.pull).sum(axis=-1)
        step = np.clip(-np.log(loads * square) * square / (2 * (bell * at.by_margin).sum(axis=-1)), -2, 2)
        log_margin = log_margin + step
        if np.all(np.abs(step) < 1e-9):
            return np.exp(log_margin)
    raise NotConverged("the storage saddle point was not found in 100 Newton steps")


def _distribution(
    load: np.ndarray, sharpness: np.ndarray, margin: np.ndarray, skew: np.ndarray, scale: np.ndarray
) -> MarginDistribution:
    shape = margin.shape
    flat_margin, flat_scale, flat_skew = margin.ravel(), scale.ravel(), skew.ravel()
    flat_sharpness = np.maximum(sharpness.ravel(), 1e-20)
    at = saddle.nodes(flat_margin, flat_sharpness, flat_scale, saddle.REACH)
    weight = (
        at.weight * np.exp(-0.5 * at.field**2) / saddle.ROOT_2PI * 2 * ndtr(flat_skew[:, None] * at.field)
    )
    steepness = 2 * flat_sharpness[:, None]
    loss = 2 * np.logaddexp(0, -steepness * (at.field + at.pull)) / steepness
    overlap = flat_skew / np.sqrt(1 + flat_skew**2)
    mean = np.sqrt(2 / np.pi) * overlap + (weight * at.pull).sum(axis=-1)
    # at zero sharpness V(Δ) = −Δ + ln 2/λ: the constant is infinite and is left out
    train_loss = np.where(flat_sharpness <= 1e-20, -mean, (weight * loss).sum(axis=-1))
    return MarginDistribution(
        load,
        sharpness,
        margin,
        skew,
        mean.reshape(shape),
        _cumulative(np.zeros(shape), sharpness, margin, skew),
        train_loss.reshape(shape),
    )


def _field(margins: np.ndarray, sharpness: np.ndarray, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cavity field t(Δ) and its derivative."""
    v = np.clip(2 * sharpness * (margins - margin), -700, 700)
    residue = np.exp(-2 * sharpness * margin)
    pull = np.minimum(margin * (1 + residue) / (np.exp(v) + residue), HUGE)
    return margins - pull, 1 + 2 * sharpness * pull * expit(2 * sharpness * margins)


def _density(margins: np.ndarray, sharpness: np.ndarray, margin: np.ndarray, skew: np.ndarray) -> np.ndarray:
    field, jacobian = _field(margins, sharpness, margin)
    near = np.clip(field, -50, 50)
    return np.exp(-0.5 * near**2) / saddle.ROOT_2PI * 2 * ndtr(skew * near) * jacobian * (near == field)


def _cumulative(
    margins: np.ndarray, sharpness: np.ndarray, margin: np.ndarray, skew: np.ndarray
) -> np.ndarray:
    """The skew normal's distribution, Φ(t) − 2 T(t, skew) with Owen's T."""
    field, _ = _field(margins, sharpness, margin)
    near = np.clip(field, -50, 50)
    return np.clip(ndtr(near) - 2 * owens_t(near, skew), 0, 1)
