"""Few sizes of one variable, and the best of several recipes at each: cases of benchmarks/coverage.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

import scalinglab as sl
from scalinglab.laws.fitting.uncertainty import form_error

Ends = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # low, high, truth, fit


def power(x):
    return 3 * np.asarray(x, float) ** -0.4


def offset(x):
    return 0.05 + power(x)


def gaussian(rng, shape, size=0.03):
    return np.exp(size * rng.standard_normal(shape))


def with_break(x):
    """A power law that turns steeper at ten thousand, which the form of few sizes does not have."""
    return 3 * np.asarray(x, float) ** -0.2 * (1 + (np.asarray(x, float) / 1e4) ** 2) ** -0.1


def few_case(
    count: int, truth: Callable = offset, noise: float = 0.01, slope: float = 0.0, seeds: int = 1,
    largest: float = 1e5, assumed: bool = False, error: Callable | None = None,
) -> Callable:  # fmt: skip
    """One more run inside, at the end of and ten times beyond `count` sizes, from each run `seeds` times.

    The noise grows towards small sizes as x^-slope. With `assumed` the interval takes E + A x^-c for true;
    `error` draws what the truth has beside it, a factor at every size.
    """
    x = np.repeat(np.geomspace(1e3, largest, count), seeds)
    places = np.array([np.sqrt(1e3 * largest), largest, 10 * largest])

    def drawn(rng: np.random.Generator, at: np.ndarray) -> np.ndarray:
        return truth(at) * np.exp(noise * (at / 1e5) ** -slope * rng.standard_normal(at.size))

    def one(rng: np.random.Generator) -> Ends:
        factor = np.ones(x.size + 3) if error is None else error(rng, np.append(x, places))
        y, later = drawn(rng, x) * factor[:-3], drawn(rng, places) * factor[-3:]
        if assumed:
            law = sl.laws.fit("power_law_offset", x, y)
            return *law.interval(places, of="measurement"), later, law.predict(places)
        found = sl.laws.extrapolate(x, y, at=places)
        return found.low, found.high, later, found.mean

    return one


def smooth_error(rng: np.random.Generator, at: np.ndarray) -> np.ndarray:
    """A smooth error of the form 0.05 + 3 x^-0.4, over one to three decades, 2 to 32 % of its slope."""
    logs, slope = np.log(at), 0.4 * power(at) / offset(at)
    reach, share = rng.choice([2.0, 4.0, 8.0]), rng.choice(0.02 * 2 ** np.arange(5))
    spread = share * reach / form_error.MATERN_SLOPE * slope
    covariance = form_error.matern(logs[None], logs[None], reach) * np.outer(spread, spread)
    return np.exp(rng.multivariate_normal(np.zeros(at.size), covariance, method="eigh"))


def second_power(rng: np.random.Generator, at: np.ndarray) -> np.ndarray:
    """A second power beside 0.05 + 3 x^-0.4, a tenth to as large as the first one at ten thousand."""
    added = rng.uniform(0.1, 1) * power(1e4) * (at / 1e4) ** -rng.uniform(0.1, 1)
    return 1 + added / offset(at)


def along_sizes(rng: np.random.Generator, at: np.ndarray) -> np.ndarray:
    """0.5 % along one run, autoregressive from size to size by 0.8; the last three sizes lie on it, too."""
    away = np.abs(np.log(at)[:, None] - np.log(at)) / np.log(at[1] / at[0])
    return np.exp(0.005 * rng.multivariate_normal(np.zeros(at.size), 0.8**away, method="eigh"))


def of_sizes(rng: np.random.Generator, at: np.ndarray) -> np.ndarray:
    """0.5 % that all runs of one size share; runs at the last three sizes have their own."""
    which = np.unique(at[:-3], return_inverse=True)[1]
    which = np.append(which, which.max() + np.arange(1, 4))
    return np.exp(0.005 * rng.standard_normal(which.max() + 1)[which])


def law_case(count: int, seeds: int, shared: float, parameters: bool = False) -> Callable:
    """The law itself inside, at the end of and ten times beyond `count` sizes, of runs that err by 0.3 %.

    Seeds of one size share an error of `shared` beside. With `parameters` the offset, amplitude and exponent.
    """
    sizes = np.geomspace(1e3, 1e5, count)
    x, places = np.repeat(sizes, seeds), np.array([1e4, 1e5, 1e6])

    def one(rng: np.random.Generator) -> Ends:
        together = np.repeat(shared * rng.standard_normal(count), seeds)
        law = sl.laws.fit(x, offset(x) * np.exp(together + 0.003 * rng.standard_normal(x.size)))
        if parameters:
            names = ("offset", "amplitude", "exponent")
            low, high = np.transpose([law.parameter_intervals[name] for name in names])
            return low, high, np.array([0.05, 3.0, 0.4]), np.array([law.parameters[name] for name in names])
        return *law.interval(places), offset(places), law.predict(places)

    return one


def recipes_case(
    curvature: float, seeds: int = 1, shift: float = 0.0, count: int = 8, *, lowest: bool = False
) -> Callable:
    """The law of the best of seven learning rates a factor of 2 apart, tried at each of `count` sizes.

    ln loss = ln law + curvature · (ln rate − best)², with 2 % noise; the best rate falls as size^−shift.
    Where no rate is better by more than noise the law is that of all runs, and the truth their mean. With
    `lowest` the lowest run of each size is fitted instead.
    """
    size, rate, _ = (
        v.ravel() for v in np.meshgrid(np.geomspace(1e3, 1e5, count), 2.0 ** np.arange(-3, 4), range(seeds))
    )
    valley = curvature * (np.log(rate) + shift * np.log(size / 1e4)) ** 2
    valley = valley - pd.Series(valley).groupby(size).transform("min").to_numpy()
    table = pd.DataFrame(
        {"n_data": size, "learning_rate": rate, "seed": np.tile(range(seeds), size.size // seeds)}
    )
    places = np.array([1e4, 1e5, 1e6])

    def one(rng: np.random.Generator) -> Ends:
        loss = power(size) * np.exp(valley) * gaussian(rng, size.size, 0.02)
        runs = table.assign(test_loss=loss)
        if lowest:
            runs = runs.loc[runs.groupby("n_data")["test_loss"].idxmin()]
        law = sl.laws.fit("power_law", runs, x="n_data", y="test_loss", mixed=lowest)
        everything = len(law.points.y) == size.size
        truth = power(places) * np.exp(valley.mean() if everything else 0.0)
        return *law.interval(places), truth, law.predict(places)

    return one


VALLEYS = (  # name, curvature, seeds, how fast the best rate falls, sizes
    ("no valley", 0.0, 1, 0.0, 8),
    ("valley 0.005", 0.005, 1, 0.0, 8),
    ("valley 0.01", 0.01, 1, 0.0, 8),
    ("valley 0.02", 0.02, 1, 0.0, 8),
    ("valley 0.2", 0.2, 1, 0.0, 8),
    ("valley 0.02 that moves", 0.02, 1, 0.3, 8),
    ("valley 0.2 that moves", 0.2, 1, 0.3, 8),
    ("valley 0.01, 3 seeds", 0.01, 3, 0.0, 8),
    ("valley 0.01, 5 sizes", 0.01, 1, 0.0, 5),
)
DOUBTS = (  # what the doubt about the form costs, and what it is worth
    ("a pure power law", {"truth": power}),
    ("3 seeds", {"seeds": 3}),
    ("3 seeds, noise that grows", {"slope": -0.3, "seeds": 3}),
    ("smooth error", {"error": smooth_error}),
    ("smooth error, 3 seeds", {"error": smooth_error, "seeds": 3}),
    ("second power", {"error": second_power}),
    ("second power, 3 seeds", {"error": second_power, "seeds": 3}),
)
FEW_SIZES: tuple[tuple[str, Callable[[np.random.Generator], Ends], bool], ...] = (
    # what a fit that knows the form would hold stands below each: widths over these are at most 2.2
    *(
        (f"one variable, {count} sizes{told}", few_case(count, assumed=assumed), not assumed)
        for count in (4, 5, 6, 7, 8, 9, 10, 12, 16, 24)
        for told, assumed in (("", False), (", form assumed", True))
    ),
    ("one variable, 5 sizes, 3 % noise", few_case(5, noise=0.03), True),
    # the offset hides in the noise, and is often fitted as 0
    ("one variable, 4 sizes over a factor of 8", few_case(4, noise=0.02, largest=8e3), True),
    ("one variable, 5 sizes over a factor of 8", few_case(5, noise=0.02, largest=8e3), True),
    ("one variable, 5 sizes over a factor of 6", few_case(5, noise=0.02, largest=6e3), True),
    ("one variable, 5 sizes, a pure power law", few_case(5, truth=power), True),
    ("one variable, 5 sizes, uneven noise", few_case(5, slope=0.3), True),
    ("one variable, 5 sizes, noise that grows", few_case(5, slope=-0.3), True),
    ("one variable, 5 sizes × 3 seeds", few_case(5, seeds=3), True),
    ("one variable, 5 sizes × 3 seeds, uneven noise", few_case(5, slope=0.3, seeds=3), True),
    ("one variable, 5 sizes × 3 seeds, noise that grows", few_case(5, slope=-0.3, seeds=3), True),
    ("one variable, 6 sizes, a break", few_case(6, truth=with_break, noise=0.003), True),
    *(
        (f"5 sizes, {name}{told}", few_case(5, assumed=assumed, **given), not assumed)
        for name, given in DOUBTS
        for told, assumed in (("", False), (", form assumed", True))
        if assumed or "error" in given
    ),
    *((f"12 sizes, {name}", few_case(12, **given), True) for name, given in DOUBTS if "seeds" not in given),
    *(
        (f"one variable, {count} sizes, AR(0.8)", few_case(count, noise=0.0, error=along_sizes), True)
        for count in (6, 8, 12, 24, 48)
    ),
    *(
        (
            f"one variable, {count} sizes × 3 seeds, errors of sizes",
            few_case(count, noise=0.003, seeds=3, error=of_sizes),
            True,
        )
        for count in (5, 7, 8, 12)
    ),
    (
        "one variable, 6 sizes × 3 seeds that hardly differ",
        few_case(6, noise=0.0003, seeds=3, error=of_sizes),
        True,
    ),
    *(
        (f"curve, {count} sizes × {seeds} seeds, {name}", law_case(count, seeds, shared), True)
        for count, seeds, several in ((5, 3, 0.006), (8, 3, 0.006), (8, 5, 0.005))
        for name, shared in (("errors of sizes", several), ("independent errors", 0.0))
    ),
    (
        "curve, 5 sizes × 3 seeds, errors of sizes: parameters",
        law_case(5, 3, 0.006, parameters=True),
        True,
    ),
    *((f"best of 7 rates, {name}", recipes_case(*given), True) for name, *given in VALLEYS),
    *(
        (f"lowest of 7 runs, {name}", recipes_case(*given, lowest=True), False)
        for name, *given in VALLEYS[:5]
    ),
)
