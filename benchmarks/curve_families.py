"""Seven families of synthetic learning curves with known truth, for `extrapolation.py`.

An offset power law; one break; two breaks; a plateau, early or late; a late step; double descent; a wave
around a power law. Half of the curves have their fitted part made monotone, as the published image curves
have, by a running minimum or isotonic regression; the scored part keeps its noise. `running_minimum` gives
curves of one law whose noise is as large as their steps, so that their running minimum repeats values.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

FAMILIES = ("offset", "break", "two_breaks", "plateau", "step", "double_descent", "wave")
POINTS = (6, 70)
NOISE = (1e-3, 0.03)
PER_STEP = 8  # raw points to one of a monotone curve


def curve(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x and y to fit, x and y to score, up to about twice the range."""
    rng = np.random.default_rng([FAMILIES.index(kind), seed])
    law, span = _law(kind, rng)
    count = int(np.exp(rng.uniform(np.log(POINTS[0]), np.log(POINTS[1] + 1))))
    noise = np.exp(rng.uniform(*np.log(NOISE)))
    further = span + np.linspace(0.08, 0.75, 40)
    if rng.random() < 0.5:
        fine = np.linspace(0, span, count * PER_STEP)
        raw = law(fine) * np.exp(noise * rng.standard_normal(fine.size))
        # towards the end more raw points lie within one step of ln x
        taken = [slice(PER_STEP * i, PER_STEP * i + 1 + PER_STEP * i // count) for i in range(count)]
        x, y = (np.array([values[part].mean() for part in taken]) for values in (fine, raw))
        y = np.minimum.accumulate(y) if rng.random() < 0.5 else isotonic(y)
    else:
        x = np.linspace(0, span, count)
        y = law(x) * np.exp(noise * rng.standard_normal(count))
    truth = law(further) * np.exp(noise * rng.standard_normal(further.size))
    return 1e3 * np.exp(x), y, 1e3 * np.exp(further), truth


def smoothed(kind: str, seed: int) -> bool:
    """Whether the fitted part of the curve is smoothed: its last point then lies before the last raw one."""
    x, _, at, _ = curve(kind, seed)
    return bool(np.log(at[0] / x[-1]) > 0.08 + 1e-9)


def running_minimum(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """As `curve`: the running minimum of E + A x^-c with noise, over three to five doublings."""
    rng = np.random.default_rng([len(FAMILIES), seed])
    count, span = int(rng.integers(8, 17)), np.log(8) * rng.uniform(1, 5 / 3)
    slope, noise, floor = (
        rng.uniform(0.03, 0.4),
        np.exp(rng.uniform(*np.log([3e-3, 0.05]))),
        rng.uniform(0, 0.5),
    )
    u = np.append(np.linspace(0, span, count), span + np.linspace(0.15, 0.7, 5))
    raw = (floor + (1 - floor) * np.exp(-slope * u)) * np.exp(noise * rng.standard_normal(u.size))
    x, y = 1e3 * np.exp(u), np.minimum.accumulate(raw)
    return x[:count], y[:count], x[count:], y[count:]


def isotonic(y: np.ndarray) -> np.ndarray:
    """The falling curve nearest to y in squares: neighbours that rise are pooled."""
    means: list[float] = []
    counts: list[int] = []
    for value in y:
        means.append(float(value))
        counts.append(1)
        while len(means) > 1 and means[-2] < means[-1]:
            total = counts[-1] + counts[-2]
            means[-2:] = [(means[-1] * counts[-1] + means[-2] * counts[-2]) / total]
            counts[-2:] = [total]
    return np.repeat(means, counts)


def _law(kind: str, rng: np.random.Generator) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """y(u) with u = ln x from 0, and the extent of u that is fitted."""
    slope, floor, span = rng.uniform(0.15, 0.7), rng.uniform(0, 0.5), rng.uniform(2.5, 6.0)

    def bend(u: np.ndarray, place: float, width: float) -> np.ndarray:
        return width * np.logaddexp(0, (u - place) / width)

    if kind == "offset":
        return lambda u: floor + (1 - floor) * np.exp(-slope * u), span
    if kind == "break":
        place, change, width = rng.uniform(0.3, 1) * span, rng.uniform(-0.7, 1) * slope, rng.uniform(0.1, 0.6)
        low = 0.3 * floor
        return lambda u: low + (1 - low) * np.exp(-slope * u - change * bend(u, place, width)), span
    if kind == "two_breaks":
        places, width = (rng.uniform(0.2, 0.5) * span, rng.uniform(0.6, 1.05) * span), rng.uniform(0.1, 0.5)
        first, second = rng.uniform(-0.7, 1, 2) * slope
        second = max(second, -0.9 * (slope + first))
        return lambda u: np.exp(
            -slope * u - first * bend(u, places[0], width) - second * bend(u, places[1], width)
        ), span
    if kind == "plateau":
        place, width = 0.6 * rng.uniform(0.3, 0.9) * span, rng.uniform(0.3, 0.8)
        if rng.random() < 0.5:
            return lambda u: np.exp(-slope * bend(u, place, width)), span
        return lambda u: 0.3 + 0.7 * np.exp(-2.5 * slope * u), span
    place, width, height = rng.uniform(0.4, 0.9) * span, rng.uniform(0.1, 0.4), rng.uniform(0.05, 0.35)
    if kind == "step":
        return lambda u: np.exp(-0.5 * slope * u - height / (1 + np.exp(-(u - place) / width))), span
    if kind == "double_descent":
        return lambda u: np.exp(-slope * u + height * np.exp(-0.5 * ((u - place) / width) ** 2)), span
    size, period, phase = rng.uniform(0.01, 0.06), rng.uniform(1, 4), rng.uniform(0, 2 * np.pi)
    return (
        lambda u: (
            (floor + (1 - floor) * np.exp(-slope * u)) * np.exp(size * np.sin(2 * np.pi * u / period + phase))
        ),
        span,
    )
