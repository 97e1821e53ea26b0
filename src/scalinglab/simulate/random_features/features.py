"""Sources of random features: Gaussian with a given spectrum, nonlinear, or a table of measured features.

A pool draws the student's features and the targets at the training points, and the same at test points, whose
mean squared residual is the test loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from scalinglab.errors import BadInput, nearest
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked


@dataclass(frozen=True, eq=False)
class Draw:
    """One or many draws of a training set and of student features; leading axes are draws.

    Attributes:
        train: student features at the training points, (..., D, P).
        train_targets: (..., D, T); T targets are learned at once and their losses averaged.
        test: student features at the test points, (..., n, P).
        test_targets: (..., n, T).
        floor: what the test loss has on top of the mean squared residual: the labels' noise σ².
    """

    train: np.ndarray
    train_targets: np.ndarray
    test: np.ndarray
    test_targets: np.ndarray
    floor: float = 0.0


class Pool(Protocol):
    """Interface of a source of features, as `sweep` uses it."""

    @property
    def name(self) -> str:
        """Name of the model in `Curves`."""
        ...

    def draw(self, n_data: int, n_params: int, seeds: list[list[int]]) -> Draw:
        """One draw for each seed, stacked; prefixes of rows and columns are draws of smaller sizes."""
        ...


@dataclass(frozen=True, eq=False)
class GaussianPool:
    """Gaussian features with a given spectrum, seen through Gaussian projections (bordelon2024, eqs. 1–3).

    The data are x = √λ_k z_k, the student's features x·A with A ~ N(0, 1), the target Σ w_k x_k + σ·noise.
    The test loss is exact: Σ_k λ_k (w_k − (Aθ)_k)² + σ².

    Attributes:
        spectrum: eigenvalues and target power.
        noise: standard deviation σ of the noise on the labels.
        all_features: give the student all modes unmixed (kernel regression); then P = n_modes.
    """

    spectrum: Spectrum
    noise: float = 0.0
    all_features: bool = False
    name: str = "gaussian features"

    def draw(self, n_data: int, n_params: int, seeds: list[list[int]]) -> Draw:
        """One draw for each seed, stacked."""
        modes = self.spectrum.n_modes
        root = np.sqrt(self.spectrum.eigenvalues)
        weights = np.sqrt(self.spectrum.target_power / self.spectrum.eigenvalues)
        train, targets, test = [], [], []
        for seed in seeds:
            data, mixing, labels = (np.random.default_rng([*seed, stream]) for stream in range(3))
            x = data.standard_normal((n_data, modes)) * root
            if self.all_features:
                projection = np.eye(modes)
            else:  # drawn column by column, so that fewer features are the first of more
                projection = mixing.standard_normal((n_params, modes)).T
            noise = self.noise * labels.standard_normal(n_data)
            train.append(x if self.all_features else x @ projection)
            targets.append((x @ weights + noise)[:, None])
            test.append(np.sqrt(modes) * root[:, None] * projection)
        expected = np.broadcast_to(np.sqrt(modes) * (root * weights)[:, None], (len(seeds), modes, 1))
        return Draw(np.stack(train), np.stack(targets), np.stack(test), expected, self.noise**2)


@dataclass(frozen=True, eq=False)
class NonlinearPool:
    """Features σ(w·x) of Gaussian inputs, shallow or deep: the model of `theory.nonlinear_features`.

    Attributes:
        spectrum: covariance of the inputs and the power of the linear target.
        activation: σ; features are taken without their mean over the inputs that are drawn.
        noise: standard deviation σ of the noise on the labels.
        depth: layers of random features.
        inner: width of all layers but the last.
        tests: fresh inputs on which the test loss is measured.
    """

    spectrum: Spectrum
    activation: Callable[[np.ndarray], np.ndarray]
    noise: float = 0.0
    depth: int = 1
    inner: int = 1000
    tests: int = 1000
    name: str = "nonlinear features"

    def draw(self, n_data: int, n_params: int, seeds: list[list[int]]) -> Draw:
        """One draw for each seed, stacked."""
        values = self.spectrum.eigenvalues
        weights = np.sqrt(self.spectrum.target_power / values)
        layers, targets = [], []
        for seed in seeds:
            data, mixing, labels = (np.random.default_rng([*seed, stream]) for stream in range(3))
            tests = data.standard_normal((self.tests, len(values)))
            x = np.concatenate([tests, data.standard_normal((n_data, len(values)))]) * np.sqrt(values)
            y = x @ weights
            y[self.tests :] += self.noise * labels.standard_normal(n_data)
            for layer in range(self.depth):
                width = n_params if layer == self.depth - 1 else self.inner
                mixed = mixing.standard_normal((width, x.shape[1])).T
                x = self.activation(x @ (mixed if layer == 0 else mixed / np.sqrt(len(mixed))))
                x = x - x.mean()
            layers.append(x)
            targets.append(y[:, None])
        features, wanted, cut = np.stack(layers), np.stack(targets), self.tests
        return Draw(features[:, cut:], wanted[:, cut:], features[:, :cut], wanted[:, :cut], self.noise**2)


DRAWS = ("distinct", "replace")


@dataclass(frozen=True, eq=False)
class FeaturePool:
    """A table of features of real inputs: rows are inputs, columns the pool of S features.

    The student sees randomly chosen features at randomly chosen training inputs. Where no targets are given
    they are the teacher's, ω·F with ω ~ N(0, 1/S), averaged over ω exactly (every feature is a target).

    Attributes:
        train: features of the inputs that training sets are drawn from, (n, S).
        test: features of the test inputs, (m, S); `theory.random_features.square_root` of a second moment
            matrix stands for a whole population.
        train_targets: real targets, (n,) or (n, T), or None for the teacher's.
        test_targets: likewise, (m,) or (m, T).
        data: "distinct" draws inputs without replacement, "replace" with.
        features: the same for features.
    """

    train: np.ndarray
    test: np.ndarray
    train_targets: np.ndarray | None = None
    test_targets: np.ndarray | None = None
    data: str = "distinct"
    features: str = "distinct"
    name: str = "feature pool"

    def __post_init__(self) -> None:
        for choice in (self.data, self.features):
            if choice not in DRAWS:
                raise BadInput(f"draws {choice!r} are unknown; {nearest(choice, DRAWS)}")
        if (self.train_targets is None) != (self.test_targets is None):
            raise BadInput("give targets for training and test inputs, or for neither")
        if self.train.shape[1] != self.test.shape[1]:
            raise BadInput(f"{self.train.shape[1]} training features but {self.test.shape[1]} test features")

    def draw(self, n_data: int, n_params: int, seeds: list[list[int]]) -> Draw:
        """One draw for each seed, stacked."""
        rows = [_choose(len(self.train), n_data, self.data, "inputs", [*seed, 0]) for seed in seeds]
        columns = [
            _choose(self.train.shape[1], n_params, self.features, "features", [*seed, 1]) for seed in seeds
        ]
        if self.train_targets is None or self.test_targets is None:
            given, expected = self.train, np.asarray(self.test, float)
        else:
            given = np.asarray(self.train_targets, float).reshape(len(self.train), -1)
            expected = np.asarray(self.test_targets, float).reshape(len(self.test), -1)
        return Draw(
            np.stack([self.train[np.ix_(r, c)] for r, c in zip(rows, columns)]).astype(float, copy=False),
            np.stack([given[r] for r in rows]).astype(float, copy=False),
            np.stack([self.test[:, c] for c in columns]).astype(float, copy=False),
            np.broadcast_to(expected, (len(seeds), *expected.shape)),
        )


def _choose(available: int, wanted: int, how: str, what: str, seed: list[int]) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if how == "replace":
        return rng.integers(available, size=wanted)
    if wanted > available:
        raise BadInput(f"{wanted} distinct {what} asked for, {available} there are; draw with 'replace'")
    return rng.permutation(available)[:wanted]


@checked
def relu_features(
    x: np.ndarray, n_features: int, *, depth: int = 1, width: int | None = None, seed: int = 0
) -> np.ndarray:
    """The last hidden layer of a random fully connected ReLU network, at critical initialisation.

    Args:
        x: inputs, (n, dimension).
        n_features: width of the last hidden layer.
        depth: number of hidden layers.
        width: width of the layers before it; default: `n_features`.
        seed: of the weights, which are N(0, 2/fan_in).

    Returns:
        Features, (n, n_features). Their mean product E_M[F_M(x) F_M(x')] is half the NNGP kernel of
        `theory.infinite_width` with that many hidden layers, for a wide network.
    """
    rng = np.random.default_rng(seed)
    hidden = np.asarray(x, float)
    if hidden.ndim != 2:
        raise BadInput(f"inputs of shape {hidden.shape} must be a table (n, dimension); flatten images first")
    for layer in range(depth):
        out = n_features if layer == depth - 1 else (width or n_features)
        # one unit after the other: a network with fewer features is the beginning of this one
        weights = rng.standard_normal((out, hidden.shape[1])).T
        hidden = np.maximum(hidden @ weights * np.sqrt(2 / hidden.shape[1]), 0)
    return hidden
