"""The best interval of a search (park2019, section 3.1), for measured scores and for resampled ones.

A search tries levels of one quantity (noise scale, batch size, learning rate) with several runs at each. The
best interval holds all levels, next to each other around the best one, whose mean score is within two
standard errors of the best mean. Its middle is the optimum.

The uncertainty of the optimum is that of the experiment. Runs are resampled with replacement within each
level, and the whole selection is repeated. Two things are added to a plain bootstrap:

- deviations from the mean of a level are multiplied by √(n/(n−1)), since n resampled runs vary too little;
- an end of the interval is known to half a step of the search only: it is drawn, evenly in the log, between
  the middles to the levels beside it. Without this a search with little noise and coarse levels would claim
  an optimum without an error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# published: park2019, section 3.1, at least 15 trained runs of 20; of the runs of a level
TRAINED_SHARE = 0.75
STANDARD_ERRORS = 2.0  # published: park2019, section 3.1; how far below the best mean still counts as best
DRAWS = 2000  # search: of resampled runs; an end of a Gaussian's 95 % interval is known to 1.5 % of its width


@dataclass(frozen=True)
class Search:
    """The runs of one width, by level.

    Attributes:
        level: (levels,), increasing: every level that was tried.
        scores: for each level the scores of the runs that trained; larger is better.
        tried: (levels,), runs that were started.
    """

    level: np.ndarray
    scores: tuple[np.ndarray, ...]
    tried: np.ndarray

    @property
    def usable(self) -> np.ndarray:
        """(levels,), whether enough runs of a level trained."""
        count = np.array([len(s) for s in self.scores])
        return np.asarray((count > 0) & (count >= TRAINED_SHARE * self.tried))

    @property
    def mean(self) -> np.ndarray:
        """(levels,), −inf where a level is not usable."""
        return np.array([s.mean() if ok else -np.inf for s, ok in zip(self.scores, self.usable, strict=True)])

    @property
    def stderr(self) -> np.ndarray:
        """(levels,), of the mean; that of a single run is taken from the spread at the other levels."""
        deviation = [s.std(ddof=1) if len(s) > 1 else self.pooled_deviation for s in self.scores]
        return np.array([d / np.sqrt(max(1, len(s))) for d, s in zip(deviation, self.scores, strict=True)])

    @property
    def pooled_deviation(self) -> float:
        """Standard deviation of a run about the mean of its level; 0 where no level has two runs."""
        many = [s for s in self.scores if len(s) > 1]
        freedom = sum(len(s) - 1 for s in many)
        return float(np.sqrt(sum(s.var(ddof=1) * (len(s) - 1) for s in many) / freedom)) if freedom else 0.0

    @property
    def repeated(self) -> bool:
        """Whether some level has two trained runs, so that there is an error."""
        return any(len(s) > 1 for s in self.scores)


def search(level: np.ndarray, score: np.ndarray, trained: np.ndarray) -> Search:
    """Group runs by level; levels that differ by rounding are one."""
    key = np.round(np.log(np.maximum(level, 1e-300)), 9)
    keys, index = np.unique(key, return_inverse=True)
    counts = np.bincount(index)
    place = np.bincount(index, level) / counts
    scores = tuple(score[(index == k) & trained] for k in range(len(keys)))
    return Search(place, scores, counts)


def select(mean: np.ndarray, stderr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best interval of every row.

    Args:
        mean, stderr: (rows, levels).

    Returns:
        The first and the last level of the interval, (rows,) each.
    """
    rows = np.arange(len(mean))
    best = mean.argmax(axis=1)
    enough = mean >= (mean[rows, best] - STANDARD_ERRORS * stderr[rows, best])[:, None]
    low, high = best.copy(), best.copy()
    for _ in range(mean.shape[1]):
        low = np.where((low > 0) & enough[rows, np.maximum(low - 1, 0)], low - 1, low)
        top = mean.shape[1] - 1
        high = np.where((high < top) & enough[rows, np.minimum(high + 1, top)], high + 1, high)
    return low, high


def resampled(found: Search, draws: int, seed: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard errors of resampled runs, (draws, levels) each.

    A seed draws the same runs of a level whatever happens at the others.
    """
    means = np.full((draws, len(found.level)), -np.inf)
    stderrs = np.zeros_like(means)
    for k, (scores, ok) in enumerate(zip(found.scores, found.usable, strict=True)):
        n, random = len(scores), np.random.default_rng((*seed, k))
        if not ok:
            continue
        if n == 1:
            stderrs[:, k] = found.pooled_deviation
            means[:, k] = scores[0] + found.pooled_deviation * random.standard_normal(draws)
            continue
        deviations = (scores - scores.mean())[random.integers(n, size=(draws, n))] * np.sqrt(n / (n - 1))
        means[:, k] = scores.mean() + deviations.mean(axis=1)
        stderrs[:, k] = deviations.std(axis=1, ddof=1) / np.sqrt(n)
    return means, stderrs


def middles(level: np.ndarray, low: np.ndarray, high: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Optima of resampled intervals, (draws,), with ends drawn within half a step of the search."""
    if len(level) == 1:
        return np.full(len(low), level[0])
    log = np.log(level)
    step = np.diff(log)
    below, above = np.append(step[:1], step) / 2, np.append(step, step[-1:]) / 2
    first, second = random.uniform(-1, 1, (2, len(low)))
    second = np.where(low == high, first, second)  # one level is one unknown

    def end(index: np.ndarray, where: np.ndarray) -> np.ndarray:
        return np.exp(log[index] + where * np.where(where < 0, below[index], above[index]))

    return (end(low, first) + end(high, second)) / 2


def open_ended(found: Search, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether an interval ends where the search did, so that the optimum may lie outside.

    A level at which too few runs trained belongs to the search: the interval that ends beside it is closed.
    """
    return np.asarray((low == 0) | (high == len(found.level) - 1))


def interval_of(found: Search) -> tuple[float, float, float, float, bool]:
    """The levels around the best one whose mean score is within two standard errors of the best.

    Returns:
        Both ends, the best mean, its standard error, and whether an end is the search's own.
    """
    mean, stderr = found.mean, found.stderr
    low, high = select(mean[None], stderr[None])
    best = int(mean.argmax())
    edge = bool(open_ended(found, low, high)[0])
    first, last = float(found.level[low[0]]), float(found.level[high[0]])
    return first, last, float(mean[best]), float(stderr[best]), edge
