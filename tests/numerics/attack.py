"""Random and extreme inputs for the numerical functions: each gives numbers, or a message of this package.

An input is a pair (name of the case, arguments) drawn from a seed, so that every finding can be repeated:
``python benchmarks/fuzz.py CASE SEED`` shows one.
"""

import dataclasses
import math
import warnings
from pathlib import Path

import numpy as np

import scalinglab as sl
from scalinglab.errors import ScalinglabError
from scalinglab.theory import bottlenecks, dmft, infinite_width, kernel, perceptron
from scalinglab.theory import random_features as features

SPECIAL = (0.0, -1.0, 1.0, math.inf, math.nan, 1e308, 1e-308, 5e-324, 2.0**53 + 2, -math.inf)


class Draw:
    """What arguments are drawn from."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def number(self, low=-6.0, high=6.0):
        """Mostly an ordinary positive number; sometimes extreme, sometimes none that can be used."""
        kind = self.random.random()
        if kind < 0.08:
            return float(self.random.choice(SPECIAL))
        if kind < 0.25:
            return float(10 ** self.random.uniform(-300, 300))
        if kind < 0.3:
            return -float(10 ** self.random.uniform(low, high))
        return float(10 ** self.random.uniform(low, high))

    def numbers(self, low=-6.0, high=6.0, most=4):
        if self.random.random() < 0.5:
            return self.number(low, high)
        return np.array([self.number(low, high) for _ in range(self.random.integers(0, most + 1))])

    def whole(self, most=5):
        found = self.number(0, most)
        return int(found) if math.isfinite(found) and abs(found) < 1e15 else found

    def spectrum(self):
        if self.random.random() < 0.7:
            modes = int(10 ** self.random.uniform(0, 4))
            return sl.Spectrum.power_law(self.number(-0.5, 1), self.number(-0.5, 1), modes)
        size = self.random.integers(0, 6)
        return sl.Spectrum(
            self.random.choice([1.0, 1e-200, 1e200]) * self.random.random(size), self.random.random(size)
        )

    def either(self, *choices):
        return choices[self.random.integers(len(choices))]


def _points(draw):
    count = int(draw.random.integers(2, 14))
    x = np.sort(10 ** draw.random.uniform(0, 6, count))
    y = 3 * x ** -draw.random.uniform(0, 1.5) + draw.either(0, 0.01, 0.1)
    y = y * np.exp(draw.either(0, 0.02, 0.3) * draw.random.standard_normal(count))
    x, y = x * 10 ** draw.random.uniform(-150, 150), y * 10 ** draw.random.uniform(-150, 150)
    if draw.random.random() < 0.15:
        y[draw.random.integers(count)] = float(draw.random.choice(SPECIAL))
    if draw.random.random() < 0.05:
        y = y + 1j
    return x, y


def _fit(draw):
    x, y = _points(draw)
    law = sl.laws.fit(draw.either("power_law", "power_law_offset", "m3", "shifted_power_law", "auto"), x, y)
    return law.parameters, law.predict(np.max(x) * 10)


def _extrapolate(draw):
    x, y = _points(draw)
    found = sl.laws.extrapolate(x, y, at=np.max(x) * draw.either(2, 10, 100))
    return found.mean, found.low, found.high


def _kernels(draw):
    x = draw.random.standard_normal((3, 4)) * abs(draw.number())
    found = infinite_width.kernels(
        x, depth=draw.whole(1), activation=draw.either("relu", "erf", "gelu", "linear", "none"),
        weight_variance=draw.either(None, draw.number()), bias_variance=draw.number(),
    )  # fmt: skip
    return found.nngp, found.ntk


def _slurm(draw):
    from scalinglab.sweep.pools.engines import open_pool

    pool = open_pool(
        "slurm", draw.either(None, draw.whole(2)), None, [None], draw.number(-1, 2),
        draw.either(0, draw.whole(1), draw.number(0, 1)), draw.either(None, "gpu"),
        draw.either(None, draw.number(-1, 2)),
    )  # fmt: skip
    return pool.script(Path("runs"), int(draw.random.integers(1, 100)))


CASES = {
    "perceptron.fixed_norm": lambda d: perceptron.fixed_norm(d.numbers(-3, 4), d.numbers(-3, 4)),
    "perceptron.hebb": lambda d: perceptron.hebb(d.numbers()),
    "perceptron.gibbs": lambda d: perceptron.gibbs(d.numbers(-3, 4)),
    "perceptron.bayes": lambda d: perceptron.bayes(d.numbers(-3, 4)),
    "perceptron.max_stability": lambda d: perceptron.max_stability(d.numbers(-3, 4)),
    "perceptron.optimal_sharpness": lambda d: perceptron.optimal_sharpness(d.number(-1, 3)),
    "perceptron.storage_stability": lambda d: perceptron.storage_stability(d.numbers(-3, 1)),
    "perceptron.intermediate_error": lambda d: perceptron.intermediate_error(d.numbers(), d.numbers()),
    "perceptron.margin_distribution": lambda d: perceptron.margin_distribution(
        d.number(-1, 2), d.number(-1, 2)
    ).density(d.numbers(-2, 2)),
    "kernel.learning_curve": lambda d: kernel.learning_curve(
        d.spectrum(), d.numbers(0, 8), d.either(0.0, d.numbers()), d.either(0.0, d.numbers())
    ),
    "kernel.optimal_ridge": lambda d: kernel.optimal_ridge(d.spectrum(), d.numbers(0, 6), d.numbers(-3, 1)),
    "kernel.asymptotic_law": lambda d: kernel.asymptotic_law(d.number(-1, 1), d.number(-1, 1), d.number()),
    "dmft.final": lambda d: dmft.final(
        d.spectrum(), d.number(0, 6), d.number(0, 6), d.either(0.0, d.number(-3, 1)),
        d.either(0.0, 0.0, d.number()), d.either(1, 2, math.inf, d.number(0, 2)), d.either(1, 3, math.inf),
    ),
    "dmft.solve": lambda d: dmft.solve(
        sl.Spectrum.power_law(d.number(-0.3, 0.5), d.number(-0.3, 0.5), 200), np.array([d.number(-1, 4)]),
        d.number(0, 4), d.number(0, 4), d.either(0.0, d.number(-3, 1)),
    ).test_loss,
    "bottlenecks.exponents": lambda d: bottlenecks.exponents(d.number(-1, 1), d.number(-1, 1)),
    "random_features.learning_curve": lambda d: features.learning_curve(
        d.spectrum(), d.numbers(0, 6, 2), d.numbers(0, 6, 2), d.either(0.0, d.numbers(most=2)), d.number()
    ),
    "infinite_width.kernels": _kernels,
    "laws.fit": _fit,
    "laws.extrapolate": _extrapolate,
    "sweep.slurm": _slurm,
}  # fmt: skip


def attack(case, seed):
    """What became of one input: `numbers`, `refused`, `nan` or `foreign`, and words about it."""
    draw = Draw([seed, *case.encode()])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = CASES[case](draw)
        except ScalinglabError as error:
            return "refused", str(error)
        except Exception as error:
            return "foreign", f"{type(error).__name__}: {error}"
    if name := _nan(found):
        return "nan", name
    return "numbers", ""


def _nan(found, name="result"):
    """The name of a quantity that is NaN."""
    if dataclasses.is_dataclass(found):
        fields = [field.name for field in dataclasses.fields(found) if not field.name.startswith("_")]
        parts = {name: getattr(found, name) for name in fields}
    elif isinstance(found, dict):
        parts = found
    elif isinstance(found, tuple):
        parts = dict(enumerate(found))
    elif isinstance(found, (float, np.ndarray, np.floating)) and np.asarray(found).dtype.kind == "f":
        return name if np.isnan(np.asarray(found)).any() else None
    else:
        return None
    return next((wrong for part, value in parts.items() if (wrong := _nan(value, f"{name}.{part}"))), None)
