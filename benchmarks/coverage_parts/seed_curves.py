"""Curves of several seeds with a known exponent, for the exponents of bahri2021 on a range chosen by rule.

Every seed has a level and a slope of its own beside the scatter of single sizes, as networks with their own
teachers and examples have. The three places of a row are three numbers of seeds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scalinglab import laws
from scalinglab.errors import NotDetermined
from scalinglab.studies.verdict import Number
from scalinglab_papers.bahri2021 import exponents
from scalinglab_papers.bahri2021.exponents import Exponent

Ends = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # low, high, truth, fit
Law = Callable[[np.ndarray], np.ndarray]
OCTAVES = 128.0 * 2 ** np.arange(8)
SEEDS = (3, 8, 20)
LEVEL, SLOPE, SCATTER = 0.1, 0.02, 0.03  # standard deviations over seeds, in ln loss


def power(x: np.ndarray) -> np.ndarray:
    return 3 * x**-0.5


def with_floor(x: np.ndarray) -> np.ndarray:
    """The floor is a third of the loss at the last size."""
    return 3 * (x**-0.5 + 0.5 * OCTAVES[-1] ** -0.5)


def flat_first(x: np.ndarray) -> np.ndarray:
    """The loss of guessing up to about the third size."""
    return (1 + (x / OCTAVES[2]) ** 2) ** -0.25


def bending(x: np.ndarray) -> np.ndarray:
    """The local exponent grows from 0.25 to 0.75 over all sizes."""
    place = np.log(x / OCTAVES[0]) / np.log(OCTAVES[-1] / OCTAVES[0])
    return np.asarray(np.exp(-np.log(OCTAVES[-1] / OCTAVES[0]) * (0.25 * place + 0.25 * place**2)))


def drawn(rng: np.random.Generator, law: np.ndarray, sizes: np.ndarray, seeds: int) -> np.ndarray:
    """Losses (seeds, sizes) around a law."""
    level, slope = (s * rng.standard_normal((seeds, 1)) for s in (LEVEL, SLOPE))
    scatter = SCATTER * rng.standard_normal((seeds, len(sizes)))
    return np.asarray(law * np.exp(level + slope * np.log(sizes / sizes[0]) + scatter))


def interval(found: list[tuple[Exponent, float]]) -> Ends:
    """The intervals that the verdicts use."""
    low, high = np.transpose([Number(one.value, one.stderr, one.n).interval() for one, _ in found])
    return low, high, np.array([truth for _, truth in found]), np.array([one.value for one, _ in found])


def losses_case(law: Law, sizes: np.ndarray = OCTAVES, beyond: float | None = None) -> Callable:
    """The exponent of losses against that of the law on the range and in the form that were chosen.

    Args:
        beyond: judged against this instead, the exponent of the law at large sizes.
    """

    def one(rng: np.random.Generator) -> Ends:
        found = []
        for seeds in SEEDS:
            alpha = exponents.of_losses(sizes, drawn(rng, law(sizes), sizes, seeds))
            there, form = sizes[alpha.chosen], "power_law_offset" if alpha.floor else "power_law"
            own = (
                laws.fit(form, there, law(there), loss="squared").parameters["exponent"]
                if beyond is None
                else beyond
            )
            found.append((alpha, float(own)))
        return interval(found)

    return one


def pair_case(rng: np.random.Generator) -> Ends:
    """The difference 0.1 of the exponents of two curves of the same seeds."""
    found = []
    for seeds in SEEDS:
        shared = drawn(rng, np.ones(len(OCTAVES)), OCTAVES, seeds)
        a, b = (drawn(rng, OCTAVES**-e, OCTAVES, seeds) * shared for e in (0.5, 0.4))
        own, other = exponents.of_several(OCTAVES, a, b)
        less = exponents.difference_of(own, other)
        found.append((*Number(less.value, less.stderr, seeds).interval(), less.value))
    low, high, value = np.transpose(found)
    return low, high, np.full(len(SEEDS), 0.1), value


def excess_case(second: float, beyond: bool = False) -> Callable:
    """Excess losses 1/D + second/D² with a scatter that falls as D^(−1/2), of 10, 20 and 50 draws.

    Args:
        beyond: judged against 1, and not against the exponent on the range that was chosen.
    """
    sizes = OCTAVES[2:]
    law = 1 / sizes + second / sizes**2

    def one(rng: np.random.Generator) -> Ends:
        found = []
        for draws in (10, 20, 50):
            scatter = 0.3 * (sizes * sizes[0]) ** -0.5 * rng.standard_normal((draws, len(sizes)))
            alpha = exponents.of_differences(sizes, law + scatter)
            if alpha is None:
                raise NotDetermined("the differences are lost in noise")
            there = slice(alpha.first, alpha.last + 1)
            own = np.polyfit(np.log(sizes[there]), np.log(law[there]), 1, w=law[there] * sizes[there] ** 0.5)
            found.append((alpha, 1.0 if beyond else -float(own[0])))
        return interval(found)

    return one


# name, how a set is drawn, whether the interval should hold: that of a range does not speak of larger sizes
SEED_CASES: tuple[tuple[str, Callable[[np.random.Generator], Ends], bool], ...] = (
    ("exponent: power law, 8 sizes × 3, 8, 20 seeds", losses_case(power), True),
    ("exponent: power law, 4 sizes × 3, 8, 20 seeds", losses_case(power, OCTAVES[:4]), True),
    ("exponent: nearly flat", losses_case(lambda x: x**-0.03), True),
    ("exponent: with a floor", losses_case(with_floor), True),
    ("exponent: with a floor, above it", losses_case(with_floor, beyond=0.5), False),
    ("exponent: flat at small sizes", losses_case(flat_first), True),
    ("exponent: flat at small sizes, beyond", losses_case(flat_first, beyond=0.5), False),
    ("exponent: bending", losses_case(bending), True),
    ("exponent: difference of two", pair_case, True),
    ("exponent: excess 1/D, 6 sizes × 10, 20, 50 draws", excess_case(0.0), True),
    ("exponent: excess 1/D + 100/D²", excess_case(100.0), True),
    ("exponent: excess 1/D + 100/D², beyond", excess_case(100.0, beyond=True), False),
)
