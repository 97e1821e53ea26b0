"""The runs behind an optimal noise (width, level, final score, whether it trained), and the best interval.

A search tries levels of one quantity (noise scale, batch size, learning rate) with several runs at each. The
best interval (park2019, section 3.1) holds the adjacent levels around the best one whose mean score is within
two standard errors of the best mean. Its middle is the optimum.

The error of the optimum comes from resampling the runs of each level with replacement and selecting again,
with two additions to a plain bootstrap:

- deviations from the mean of a level are multiplied by √(n/(n−1)), since n resampled runs vary too little;
- the ends of the interval are drawn, evenly in the log, within half a step of the search. Without this a
  search with little noise and coarse levels would have an optimum without an error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab import sgd_noise
from scalinglab.curves import Curves
from scalinglab.errors import BadInput, nearest

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
    """The first and the last level of the best interval, (rows,) each; mean and stderr are (rows, levels)."""
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
    """Means and standard errors of resampled runs, (draws, levels) each; every level has its own seed."""
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
    """(draws,) optima of resampled intervals, with ends drawn within half a step of the search."""
    if len(level) == 1:
        return np.full(len(low), level[0])
    log = np.log(level)
    step = np.diff(log)
    below, above = np.append(step[:1], step) / 2, np.append(step, step[-1:]) / 2
    first, second = random.uniform(-1, 1, (2, len(low)))
    second = np.where(low == high, first, second)  # both ends are one level

    def end(index: np.ndarray, where: np.ndarray) -> np.ndarray:
        return np.exp(log[index] + where * np.where(where < 0, below[index], above[index]))

    return (end(low, first) + end(high, second)) / 2


def open_ended(found: Search, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether an interval ends where the search does, so that the optimum may lie outside.

    Levels at which too few runs trained belong to the search: an interval that ends beside one is closed.
    """
    return np.asarray((low == 0) | (high == len(found.level) - 1))


def interval_of(found: Search) -> tuple[float, float, float, float, bool]:
    """Both ends of the best interval, the best mean, its standard error, and whether the interval is open."""
    mean, stderr = found.mean, found.stderr
    low, high = select(mean[None], stderr[None])
    best = int(mean.argmax())
    edge = bool(open_ended(found, low, high)[0])
    first, last = float(found.level[low[0]]), float(found.level[high[0]])
    return first, last, float(mean[best]), float(stderr[best]), edge


NORMALIZED = "normalized_noise_scale"
TRAINED_ABOVE = 0.2  # published: park2019, section 3.1; accuracy of ten classes
FACTORS = (
    "learning_rate", "batch_size", "n_data", "momentum", "optimizer", "parameterization", "initialization",
    "model", "width", "model_options",
)  # fmt: skip
UNITS = {
    "widening_factor": "that of park2019: units of a hidden layer of an mlp, width of lenet and wide_resnet",
    "width": "as the table counts it; in runs of scalinglab a multiple of the family's base width",
}
# published: park2019; the power of w to which the optimum is proportional, by what was searched (all else is
# fixed) and by scheme: ḡ_opt ∝ w, and ḡ ∝ ε/B (NTK) or w ε/B (standard)
CLAIMS = {
    "normalized_noise_scale": {"ntk": 1.0, "standard": 1.0}, "noise_scale": {"ntk": 1.0, "standard": 0.0},
    "learning_rate": {"ntk": 1.0, "standard": 0.0}, "batch_size": {"ntk": -1.0, "standard": 0.0},
}  # fmt: skip


@dataclass(frozen=True)
class Ends:
    """The ends of the runs, one row each.

    Attributes:
        frame: the last row of every run.
        level: of the quantity that was searched.
        width: in the units of `width_column`.
        score: larger is better.
        trained: whether the run trained.
        x, y, width_column: the columns.
        share: the part of the training time that counts.
    """

    frame: pd.DataFrame
    level: np.ndarray
    width: np.ndarray
    score: np.ndarray
    trained: np.ndarray
    x: str
    y: str
    width_column: str
    share: float = 1.0

    @property
    def is_loss(self) -> bool:
        """Whether the score is minus a loss, which is neither an accuracy nor judged by one."""
        return self.y.endswith("loss")

    @property
    def widths(self) -> np.ndarray:
        """The widths, increasing."""
        return np.unique(self.width)

    def claim(self) -> float:
        """The power of w that the paper claims for the optimum; NaN where the schemes do not agree on one.

        A column of another name counts as a normalized noise scale.
        """
        by_scheme = CLAIMS.get(self.x, CLAIMS[NORMALIZED])
        schemes = self.frame["parameterization"].unique() if "parameterization" in self.frame else by_scheme
        claims = {by_scheme.get(str(scheme), float("nan")) for scheme in schemes}
        return claims.pop() if len(claims) == 1 else float("nan")

    def multiple(self) -> np.ndarray:
        """Our `width` at each of `widths`; NaN where the table has none."""
        if "width" not in self.frame:
            return np.full(len(self.widths), np.nan)
        own = self.frame["width"].to_numpy(float)
        return np.array([own[self.width == w][0] for w in self.widths])

    def searches(self) -> list[Search]:
        """The runs of every width, by level."""
        found = []
        for value in self.widths:
            chosen = self.width == value
            one = search(self.level[chosen], self.score[chosen], self.trained[chosen])
            if not one.usable.any():
                raise BadInput(
                    f"no run of {self.width_column} = {value:g} trained: at no level do three quarters of "
                    f"the runs end at a {self.y} better than chance"
                )
            found.append(one)
        return found


def ends(
    curves: Curves,
    x: str = "normalized_noise_scale",
    y: str | None = None,
    width: str | None = None,
    trained_above: float = TRAINED_ABOVE,
    share: float = 1.0,
) -> Ends:
    """The end of every run, or its last checkpoint within a share of its training time.

    Args:
        curves: runs at several widths, levels and seeds.
        x: the column that was searched; noise scales are computed where the table has none.
        y: `test_accuracy`, or a column whose name ends in `error` or `loss`.
        width: by default `widening_factor`, and `width` in a table without it.
        trained_above: runs that end at or below this accuracy did not train. Not applied to losses.
        share: of the steps that a run takes.
    """
    if not 0 < share <= 1:
        raise BadInput(f"share = {share:g}: a part of the training time, more than 0 and at most 1")
    curves = completed(curves)
    column = y or next((c for c in ("test_accuracy", "test_error") if c in curves.frame), "test_error")
    w = width or ("widening_factor" if _known(curves.frame, "widening_factor") else "width")
    if x in sgd_noise.COLUMNS and not _known(curves.frame, x):
        raise BadInput(f"the runs have no {x}: {_why_missing(curves.frame)}")
    for name in (x, column, w):
        curves[name]  # raises with the missing column and the nearest name
    if not _known(curves.frame, x):
        raise BadInput(f"{x} is missing in every row")
    last = _last(curves, [x, w], share)
    last = last[last[x].notna() & last[w].notna()]
    if last.empty:
        raise BadInput(f"no run has a checkpoint within {share:g} of its training time")
    score = last[column].to_numpy(float)
    if column.endswith("error"):
        score = 1 - score
    elif column.endswith("loss"):
        score = -score
    trained = np.isfinite(score) & ~curves.has_diverged[last.index]
    if not column.endswith("loss"):
        trained &= score > trained_above
    level, breadth = last[x].to_numpy(float), last[w].to_numpy(float)
    if not np.all(level > 0) or not np.all(breadth > 0):
        wrong = x if not np.all(level > 0) else w
        raise BadInput(f"{wrong} has the value {last[wrong].min():g}: levels and widths must be positive")
    return Ends(last, level, breadth, score, trained, x, column, w, share)


def completed(curves: Curves) -> Curves:
    """The curves with noise scales and widening factors, computed from settings where these are missing."""
    missing = [name for name in sgd_noise.COLUMNS if not _known(curves.frame, name)]
    factors = [name for name in FACTORS if name in curves.frame]
    if not missing or not factors:
        return curves
    key = curves.frame.groupby(factors, dropna=False, sort=False).ngroup().to_numpy()
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    each = [sgd_noise.columns(own) for own in curves.frame[factors].iloc[first].to_dict("records")]
    added = {
        name: np.array([own.get(name, np.nan) for own in each])[index]
        for name in missing
        if any(name in own for own in each)
    }
    if not added:
        return curves
    return Curves(curves.frame.assign(**added), settings=curves.settings, names=curves.names)


def _known(frame: pd.DataFrame, column: str) -> bool:
    return column in frame and bool(frame[column].notna().any())


def _why_missing(frame: pd.DataFrame) -> str:
    if "optimizer" in frame and not frame["optimizer"].isin(sgd_noise.OPTIMIZERS).any():
        return "it is defined for sgd and nesterov alone; --x learning_rate or --x batch_size searches those"
    if absent := [name for name in ("learning_rate", "batch_size") if not _known(frame, name)]:
        return f"it takes a column {' and a column '.join(absent)}; --column {absent[0]}=NAME names yours"
    ways = {
        "n_data": "--n-data N (training examples)",
        "parameterization": "--parameterization standard (PyTorch's own) or ntk",
    }
    if absent := [name for name in ways if not _known(frame, name)]:
        return f"the table does not say {' and '.join(absent)}: give {' and '.join(ways[n] for n in absent)}"
    if not frame["parameterization"].isin(sgd_noise.SCHEMES).any():
        return (
            f"it is not defined for parameterization {frame['parameterization'].iloc[0]!r}; --x noise_scale, "
            "--x learning_rate and --x batch_size search those"
        )
    return "it takes one variance of the weights (initialization critical or torch) and a column width"


def assume(
    curves: Curves,
    *,
    n_data: float | None = None,
    parameterization: str | None = None,
    momentum: float | None = None,
) -> Curves:
    """The curves with settings that their table lacks, the same for all runs.

    Raises:
        BadInput: the table has other values.
    """
    if parameterization is not None and parameterization not in sgd_noise.SCHEMES:
        raise BadInput(
            f"parameterization {parameterization!r}: {nearest(parameterization, sgd_noise.SCHEMES)}"
        )
    given = {"n_data": n_data, "parameterization": parameterization, "momentum": momentum}
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        if _known(curves.frame, name) and not curves.frame[name].eq(value).all():
            own = curves.frame[name].dropna().unique()
            raise BadInput(f"{name} = {value}: the table has {', '.join(map(str, own[:4]))}; leave it out")
    if not given:
        return curves
    settings = [*curves.settings, *(name for name in given if name not in curves.settings)]
    return Curves(curves.frame.assign(**given), settings=settings, names=curves.names)


def _last(curves: Curves, settings: list[str], share: float) -> pd.DataFrame:
    """The last row of every run; without progress every row is the end of a run."""
    if not curves.progress_columns:
        return curves.frame
    progress = curves.progress_columns[0]
    frame = curves.frame.sort_values(progress, kind="stable")
    runs = ["run", *settings]  # settings of a foreign table are undeclared, perhaps
    if share < 1:
        total = frame.groupby(runs, sort=False)[progress].transform("max")
        frame = frame[frame[progress] <= share * total * (1 + 1e-9)]
    return frame.groupby(runs, sort=False).tail(1)
