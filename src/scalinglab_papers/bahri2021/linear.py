"""Shared by the figures on linear models: pooled images, exponents with errors, spectra."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalinglab.data import load
from scalinglab.results.distributions import slope
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Number
from scalinglab.theory import kernel as theory

DEPTH = 3  # hidden layers of the random networks: deeper kernels have straighter power laws on images


@dataclass(frozen=True, kw_only=True)
class Scale:
    """One scale of the figures on random features.

    Attributes:
        dataset: images.
        pools: sizes of average pooling.
        n_images: how many images make the population.
        n_features: size of the pool of features in the variance-limited regimes.
        fixed: P (or D) in the variance-limited regimes.
        varied: D (or P) there.
        resolved: D and P in the resolution-limited regimes.
        window: modes over which the spectrum's exponent is read off.
        draws: independent draws.
    """

    dataset: str
    pools: tuple[int, ...]
    n_images: int
    n_features: int
    fixed: int
    varied: tuple[int, ...]
    resolved: tuple[int, ...]
    window: tuple[int, int]
    draws: int


SCALES = {
    "smoke": Scale(
        dataset="digits", pools=(1, 2), n_images=1000, n_features=120, fixed=12,
        varied=(192, 384, 768, 1536, 3072), resolved=(16, 32, 64, 128), window=(12, 100), draws=10,
    ),
    "laptop": Scale(
        dataset="mnist", pools=(1, 2, 4, 7, 14), n_images=2500, n_features=400, fixed=24,
        varied=(384, 768, 1536, 3072, 6144), resolved=(20, 32, 50, 80, 126, 200, 318), window=(25, 250),
        draws=16,
    ),
}  # fmt: skip


def pooled_images(dataset: str, pool: int, n_images: int, start: int = 0) -> np.ndarray:
    """Average-pooled images as vectors, each pixel centred, all scaled to unit variance; (n, dimension)."""
    data = load(dataset, "unit").pool(pool).flat()
    x = data.inputs("train", slice(start, start + n_images)).astype(float)
    x -= x.mean(0)
    return x / x.std()


def exponent(sizes: np.ndarray, losses: np.ndarray, *, resamples: int = 200) -> Number:
    """The slope of log mean loss against log size; its error from resampling whole draws.

    Args:
        sizes: (n,).
        losses: (draws, n); sizes of one draw are nested and so not independent, draws are.
    """
    x = np.log(sizes)
    rng = np.random.default_rng(0)
    chosen = rng.integers(len(losses), size=(resamples, len(losses)))
    means = np.concatenate([losses.mean(0)[None], losses[chosen].mean(1)])
    good = (means > 0).all(1)
    slopes = -np.polyfit(x, np.log(means[good]).T, 1)[0]
    few = np.sqrt(len(losses) / (len(losses) - 1))  # resampled draws spread less than new ones
    return Number(float(slopes[0]), float(few * slopes[1:].std(ddof=1)), len(losses))


def expected_exponent(
    sizes: np.ndarray, eigenvalues: np.ndarray, power: np.ndarray | None = None, unseen: bool = True
) -> float:
    """The exponent that eq. S12 gives for the very sizes and kernel that are measured, by the same fit.

    The inputs are a population of n: S12 is solved for the n eigenvalues of K/n and gives the mean loss over
    all inputs. It vanishes on those that were learnt, so that on the unseen ones it is n/(n − D) times that.

    Args:
        sizes: D, or P by duality.
        eigenvalues: all those of K/n.
        power: of the target in each mode; the teacher's by default, the eigenvalues themselves.
        unseen: whether the loss is over unseen inputs.
    """
    values = np.maximum(eigenvalues, 1e-15 * eigenvalues.max())
    power = values if power is None else np.maximum(power, 0)
    loss = theory.learning_curve(Spectrum(values, power), sizes).loss
    if unseen:
        loss = loss * len(values) / (len(values) - sizes)
    return -slope(np.log(sizes), np.log(loss)).value
