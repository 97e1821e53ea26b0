"""From sizes to a score in two stages: a law of the loss, then a curve from the loss to the score.

Stage one is a surface of n_params and n_data (`scalinglab.laws.surface`) or the continuation of a curve
(`laws.extrapolate`; of runs at one ratio of data to parameters, at that ratio), each with its interval.
Stage two is a sigmoid in the loss L between chance and 1,

    s(L) = chance + (1 - chance) u(L),   u(L) = b + (c - b)/(1 + e^(k (L - m))),   0 ≤ b < c ≤ 1,

with a plateau b of weak models and a ceiling c that models may not pass; of an error, which rises with the
loss, it runs from chance to 0. No value of b, c, k, m leaves [chance, 1], so no prediction does. The
parameters are averaged over a grid (`ScoreCurve`), because few runs determine neither plateau nor ceiling.
Runs near the loss in question count more, since no task is exactly a sigmoid; with noisy scores all count
alike. The standard deviation of a run is √(s (1 - s)/n), that of n independent questions, times a factor that
the runs determine. n is read off the scores (`questions`), which are multiples of 1/n.
A prediction draws curves by their weight, losses from the interval of stage one, a change of slope beyond the
runs, and the scatter of one more run.

Refused are a score that has not left chance, a loss farther below the runs than their own range, and an
interval wider than 0.35 times the score (``widest``).

>>> import numpy as np, pandas as pd
>>> compute = np.geomspace(1e18, 1e22, 16)
>>> loss = 1.7 + 40 * compute**-0.09
>>> accuracy = 0.25 + 0.6 / (1 + np.exp(4 * (loss - 2.3)))
>>> table = pd.DataFrame({"compute": compute, "loss": loss, "accuracy": accuracy})
>>> found = downstream(table, score="accuracy", chance=0.25, at={"compute": 1e23})
>>> truth = 0.25 + 0.6 / (1 + np.exp(4 * (1.7 + 40 * 1e23**-0.09 - 2.3)))
>>> bool(0.25 <= found.low <= truth <= found.high <= 1)
True
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit

from scalinglab.curves import Curves
from scalinglab.errors import BadInput, NotDetermined, nearest
from scalinglab.laws import surface as surfaces
from scalinglab.laws.extrapolation.stacking import extrapolate
from scalinglab.laws.fitting.data.from_curves import Table, is_table, points_from, under_names
from scalinglab.laws.fitting.data.points import ON_THE_LINE, by_name, line_of, places_of, shaped
from scalinglab.laws.surface import Surface
from scalinglab.laws.weighing import shares
from scalinglab.results.distributions import Draws, Estimate, Student, WithEnds, check_level, interval
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.sentences import Column
from scalinglab.results.types import Reason, Remark, noted
from scalinglab.support.validation import checked

PAIR = ("n_params", "n_data")
FEWEST = 4 + 2  # defined: scored runs; the curve has four parameters, and two more show its scatter
# search: the grid of curves; the loss in units of the range of the runs, 0 at their lowest
SLOPES = np.geomspace(0.7, 40, 20)
MIDDLES = np.linspace(-2.5, 1.0, 29)
# measured: benchmarks/scores.py --choices --of CEILINGS: even weights err as much (3.5 and 3.6 % for 3.6 and
# 3.4 ± 0.8 %); of plateaus they answer 5 to 8 % fewer scores: most weak models guess
CEILINGS = {0.4: 0.5, 0.55: 1.0, 0.7: 2.0, 0.85: 3.0, 1.0: 3.0}
PLATEAUS = {0.0: 1.0, 0.03: 0.2, 0.07: 0.2, 0.13: 0.2, 0.2: 0.2, 0.3: 0.2, 0.45: 0.2}
# measured: benchmarks/scores.py --choices: by how much of the way from chance to the best a task may differ
# from a sigmoid, one range of the loss away
STRAY = 0.16
# measured: benchmarks/scores.py, likewise: standard deviation of the change of k (m - L) one range of losses
# beyond the runs
BENT = 0.5
# measured: benchmarks/scores.py --choices: runs that the prior of the scatter counts for: with 2, 4 and 8
# intervals hold 98, 96 and 94 % of the scores of 6 times the compute, and as many are answered to 5 %
PRIOR_COUNT = 2.0
# measured: benchmarks/scores.py, likewise: with 300 and 3000 errors move by 0.1 % at most; questions of a
# task whose scores do not tell them, for that prior
QUESTIONS = 1000
MOST_QUESTIONS = 25_000  # search: far beyond it a number in single precision fits any n
ROUNDED = 2e-7  # convention: the relative error of a number in single precision, twice
# convention: the level of a test, and the standard errors of what is no accident; see `left_chance`
SIGNIFICANT, STANDARD_ERRORS = 0.01, 3.0
# measured: benchmarks/scores.py --choices: with 0.01 the same tasks are answered, with 0.05 two fewer; of the
# way from chance to the best, from which on a score has left chance
ABOVE = 0.02
# measured: benchmarks/scores.py, likewise: 0.5 refuses 2 of 98 scores, 2 answers none more; ranges of the
# loss below the lowest one, from which on no score is given
FARTHEST = 1.0
# measured: benchmarks/scores.py: of the score; the largest of steps of 0.05 up to which the largest size of
# any three of its four studies errs by 5 % at most; by --choices, on smaller sizes, it would be 0.6
WIDEST = 0.35
# published: exponents of the Chinchilla form, here of its refit (Besiroglu et al. 2024), and how far those of
# other studies lie from them: three sizes do not tell a small exponent from a high floor
EXPONENTS = {"alpha": (0.35, 0.1), "beta": (0.37, 0.1)}
DRAWS = 4000  # search: of the ends of an interval, to about 0.1 of its standard deviation


@dataclass(frozen=True, eq=False)
class ScoreCurve:
    """All curves from one loss to the score, weighted by how well each agrees with the scored runs.

    Attributes:
        name: of the loss.
        loss, share: (runs,) the loss and u of every scored run.
        chance, best: the scores of u = 0 and 1.
        questions: of the task.
    """

    name: str
    loss: np.ndarray
    share: np.ndarray
    chance: float = 0.0
    best: float = 1.0
    questions: int = QUESTIONS

    def places(self, loss: Any) -> np.ndarray:
        """The loss in units of the range of the runs: 0 at the lowest, below 0 beyond."""
        return np.asarray((loss - self.loss.min()) / np.ptp(self.loss))

    @cached_property
    def grid(self) -> tuple[np.ndarray, ...]:
        """(curves,) slope, middle, plateau, ceiling and the logarithm of the prior."""
        axes = np.meshgrid(SLOPES, MIDDLES, [*PLATEAUS], [*CEILINGS], indexing="ij")
        weights = np.meshgrid(SLOPES, MIDDLES, [*PLATEAUS.values()], [*CEILINGS.values()], indexing="ij")
        rises = axes[3] > axes[2] + 0.05
        prior = np.log(weights[2] * weights[3])
        return tuple(values[rises] for values in (*axes, prior))

    def at(self, place: np.ndarray, chosen: Any, bent: Any = 0.0) -> np.ndarray:
        """u of the chosen curves at places; `bent` is added to k (m - L)."""
        slope, middle, plateau, ceiling, _ = (values[chosen] for values in self.grid)
        return np.asarray(plateau + (ceiling - plateau) * expit(slope * (middle - place) + bent))

    @property
    def lowest(self) -> np.ndarray:
        """u of the quarter of the runs with the lowest losses."""
        return self.share[np.argsort(self.loss)[: max(3, len(self.loss) // 4)]]

    def variance(self, share: Any) -> np.ndarray:
        """Of u, where every question is answered on its own."""
        least = 0.5 / self.questions  # 0 of n questions leaves half a one open: no score is without scatter
        score = np.clip(self.chance + (self.best - self.chance) * np.asarray(share), least, 1 - least)
        return np.asarray(score * (1 - score) / self.questions / (self.best - self.chance) ** 2)

    @cached_property
    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """(curves, runs) squared residuals of u over their variance, and the logarithm of that variance."""
        every = np.arange(len(self.grid[0]))[:, None]
        expected = self.at(self.places(self.loss), every)
        variance = self.variance(expected)
        return (self.share - expected) ** 2 / variance, np.log(variance)

    def evidence_of_curves(self, place: float | None = None) -> tuple[np.ndarray, np.ndarray, float]:
        """(curves,) ln of the probability of the scores, the factor of the variance, and the count of runs.

        Args:
            place: runs near it count more; None: all count alike.
        """
        weight = np.ones(len(self.loss))
        if place is not None:
            distance = STRAY * (self.places(self.loss) - place)
            weight = 1 / (1 + distance**2 / self.variance(self.lowest.mean()))
            weight /= weight.max()
        count = float(weight.sum() + PRIOR_COUNT)
        squares, log_variance = self.squares
        total = squares @ weight + PRIOR_COUNT
        return self.grid[-1] - count / 2 * np.log(total) - log_variance @ weight / 2, total / count, count

    def weights(self, place: float | None = None) -> tuple[np.ndarray, np.ndarray, float]:
        """(curves,) weights, which sum to 1, and the factor and count of `evidence_of_curves`."""
        log, factor, count = self.evidence_of_curves(place)
        return shares(log), factor, count

    def expected(self, loss: np.ndarray) -> np.ndarray:
        """(losses,) the mean of u over all curves."""
        every = np.arange(len(self.grid[0]))
        places = (float(place) for place in self.places(loss))
        return np.array([self.weights(at)[0] @ self.at(np.array(at), every) for at in places])

    @cached_property
    def evidence(self) -> float:
        """ln of the probability of all scores given this loss, up to a constant that all losses share."""
        return float(np.logaddexp.reduce(self.evidence_of_curves()[0]))

    def draw(self, loss: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """(draws,) u of the curve, and u of one more run, at the losses of the draws."""
        place = self.places(loss)
        weight, factor, count = self.weights(float(np.median(place)))
        chosen = random.choice(len(weight), size=len(loss), p=weight)
        bent = BENT * np.maximum(-place, 0) * random.standard_normal(len(loss))
        mean = self.at(place, chosen, bent)
        scatter = np.sqrt(factor[chosen] * self.variance(mean)) * random.standard_t(count, len(loss))
        return mean, np.clip(mean + scatter, 0, 1)


@dataclass(frozen=True, eq=False)
class Scores(NotebookResult):
    """Both stages of one score; made by `downstream`.

    Attributes:
        tables: the points of stage one, of each loss.
        curves: stage two of each loss.
        score: the column of the score.
        chance, best: the score of guessing, and of no mistake: 1, or 0 of an error.
        unclear: why the score has not left chance; None where it has.
        notes: what was done to the rows.
        seed: of the draws.
    """

    tables: tuple[Table, ...]
    curves: tuple[ScoreCurve, ...]
    score: str
    chance: float
    best: float
    unclear: Reason | None = None
    notes: tuple[Reason, ...] = ()
    seed: int = 0

    @property
    def x(self) -> tuple[str, ...]:
        """The columns of the sizes."""
        return self.tables[0].names

    @property
    def weights(self) -> dict[str, float]:
        """How much each loss counts, by how well it explains the scores of all runs; they sum to 1."""
        found = shares(np.array([curve.evidence for curve in self.curves]))
        return dict(zip((curve.name for curve in self.curves), found.tolist(), strict=True))

    def measured(self, share: Any) -> Any:
        """The score at a share u of the way from chance to the best."""
        return self.chance + (self.best - self.chance) * np.asarray(share)

    def band(self, loss: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(losses,) median and ends of one more run's score, by stage two of the loss that counts most."""
        curve = max(self.curves, key=lambda c: c.evidence)
        random = np.random.default_rng(self.seed)
        drawn = (self.measured(curve.draw(np.full(DRAWS // 4, at), random)[1]) for at in np.ravel(loss))
        found = [Estimate.from_draws(float(np.median(scores)), scores, level) for scores in drawn]
        middle, low, high = np.array([(one.value, one.low, one.high) for one in found]).T
        return middle, low, high

    def predict(
        self, at: Any = None, *, level: float = 0.95, widest: float = WIDEST, **sizes: Any
    ) -> ScorePrediction:
        """The score of one more run at other sizes, with its interval.

        Args:
            at: sizes by column in a mapping or a frame, numbers or arrays; of one column also a number or an
                array. Where the losses are known, give these in place of the sizes.
            level: of the interval.
            widest: a 95 % interval wider than this share of the score is refused.
            sizes: the same as `at`, as keywords.

        Raises:
            NotDetermined: no place has an answer. Where only some have none, these are NaN (`refused`).
        """
        check_level(level)
        if self.unclear is not None:
            raise NotDetermined(self.unclear)
        given = self._given(at, sizes)
        places, shape = places_of(given)
        losses, random = self._losses(places), np.random.default_rng(self.seed)
        rows = [
            self._score([losses[c.name][:, i] for c in self.curves], level, widest, random)
            for i in range(math.prod(shape))
        ]
        refused = tuple(row[-1] for row in rows)
        if all(refused):
            raise NotDetermined(refused[0])
        mean, low, high = (shaped(np.array([row[j] for row in rows]), shape) for j in range(3))
        leading = max(self.weights, key=lambda name: self.weights[name])
        loss_low, loss, loss_high = (shaped(end, shape) for end in losses[leading])
        beyond = np.full(shape, np.nan)
        if {*places} == {*self.x}:
            largest = np.prod(np.atleast_2d(self.tables[0].x), axis=0).max()
            beyond = np.prod([*places.values()], axis=0).reshape(shape) / largest
        return ScorePrediction(
            {name: shaped(values, shape) for name, values in places.items()}, self.score, mean, low, high,
            level, leading, loss, loss_low, loss_high, shaped(beyond, shape), refused, self.notes, self,
        )  # fmt: skip

    def optimal_sizes(self, compute: Any, *, flops_per_param_example: float = 6.0) -> dict[str, Any]:
        """The n_params and n_data, (computes,) each, at which a compute gives the lowest loss."""
        if len(self.x) != 2:
            raise BadInput(
                f"the best n_params and n_data for a compute need a law of both, and this one is of "
                f"{', '.join(self.x)}: give --x n_params,n_data, or --at instead of --compute"
            )
        law = _surface(_points(self.tables[0]))
        best = law.compute_optimal(compute, flops_per_param_example=flops_per_param_example)
        return dict(zip(self.x, (best.n_params, best.n_data), strict=True))

    def _given(self, at: Any, sizes: Mapping[str, Any]) -> dict[str, Any]:
        losses = tuple(curve.name for curve in self.curves)
        at = under_names(at, self.x)
        given = by_name(at, sizes, self.x)
        for wanted in (self.x, losses):
            if {*wanted} <= {*given}:
                if len(given) > len(wanted) and not hasattr(at, "columns"):
                    wrong = next(name for name in given if name not in wanted)
                    raise BadInput(f"{wrong} is no size of this law; {nearest(wrong, wanted)}")
                return {name: given[name] for name in wanted}
        raise BadInput(
            f"at={', '.join(map(str, given)) or None}: give {' and '.join(self.x)}, or the losses themselves "
            f"({', '.join(losses)})"
        )

    def _losses(self, places: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """(3, places) low end, median and high end, at 95 %, of every loss of one more run."""
        if {*places} != {*self.x}:  # the losses themselves were given
            return {name: np.array([values] * 3) for name, values in places.items()}
        at = tuple(tuple(values.tolist()) for values in places.values())
        return {table.measured: _one_more_run(_points(table), at) for table in self.tables}

    def _score(
        self, losses: Sequence[np.ndarray], level: float, widest: float, random: np.random.Generator
    ) -> tuple[float, float, float, Reason | None]:
        """Median and ends of the score at one place, or the reason why there are none.

        Args:
            losses: (3,) low end, median and high end of each.
        """
        drawn = random.choice(len(self.curves), size=DRAWS, p=[*self.weights.values()])
        mean, measured = np.empty(DRAWS), np.empty(DRAWS)
        for j, (curve, (low, middle, high)) in enumerate(zip(self.curves, losses, strict=True)):
            of_this = drawn == j
            if not of_this.any():
                continue
            if -float(curve.places(middle)) > FARTHEST or not (np.isfinite(high) and low > 0):
                ends = {"lowest": float(curve.loss.min()), "highest": float(curve.loss.max())}
                why = Reason("score_too_far", score=Column(self.score), loss=float(middle), **ends)
                return np.nan, np.nan, np.nan, why
            normal = random.standard_normal(int(of_this.sum()))
            known = Student.of_ends(*np.log([middle, low, high]), level=0.95)
            mean[of_this], measured[of_this] = curve.draw(np.exp(known.at(normal)), random)
        value, scores = float(self.measured(np.median(mean))), self.measured(measured)
        outer, asked = (Estimate.from_draws(value, scores, each) for each in (0.95, level))
        if outer.high - outer.low > widest * abs(value if self.best == 1 else 1 - value):
            why = Reason("score_too_wide", score=Column(self.score), low=outer.low, high=outer.high)
            return np.nan, np.nan, np.nan, why
        return value, asked.low, asked.high, None

    @property
    def remarks(self) -> Iterator[Remark]:
        runs = len(self.curves[0].loss)
        yield Reason("score_fit", score=self.score, chance=self.chance, best=self.best, runs=runs)
        for curve in self.curves:
            weight, factor, _ = curve.weights(0.0)
            lowest = curve.at(np.array(0.0), np.arange(len(weight)))
            low, high = interval(Draws(curve.grid[3], weight)).through(self.measured)
            yield Reason(
                "score_curve", name=curve.name, first=curve.loss.min(), last=curve.loss.max(),
                weight=self.weights[curve.name], low=low, high=high,
                scatter=abs(self.best - self.chance) * np.sqrt(weight @ (factor * curve.variance(lowest))),
            )  # fmt: skip
        if self.unclear is not None:
            yield Reason("score_refused", why=self.unclear)
        yield from noted(self.notes)

    def to_dict(self) -> dict[str, Any]:
        return {
            "score": self.score, "chance": self.chance, "best": self.best, "weights": self.weights,
            "runs": len(self.curves[0].loss), "x": list(self.x),
            "problem": None if self.unclear is None else self.unclear.to_dict(),
            "notes": [note.to_dict() for note in self.notes],
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class ScorePrediction(NotebookResult, WithEnds):
    """A score at other sizes; made by `downstream`.

    Attributes:
        at: the sizes by column.
        score: the column that is predicted.
        mean, low, high: the median of the prediction and the ends of its interval, numbers or arrays like
            those of `at`; NaN where `refused` says why.
        level: of the interval.
        loss: the column of the loss that counts most.
        loss_mean, loss_low, loss_high: its median and 95 % ends.
        beyond: how many times the largest run, in the product of the sizes; NaN where losses were given.
        refused: of every place why it has no answer, None where it has one.
        notes: what was done to the rows.
        scores: what it was made from.
    """

    at: Mapping[str, Any]
    score: str
    mean: Any
    low: Any
    high: Any
    level: float
    loss: str
    loss_mean: Any
    loss_low: Any
    loss_high: Any
    beyond: Any
    refused: tuple[Reason | None, ...]
    notes: tuple[Reason, ...]
    scores: Scores = field(repr=False)

    def notebook_table(self) -> pd.DataFrame:
        """One row a place."""
        columns = {
            **self.at, self.loss: self.loss_mean, self.score: self.mean, "low": self.low, "high": self.high,
            "beyond": self.beyond,
        }  # fmt: skip
        return pd.DataFrame({name: np.ravel(values) for name, values in columns.items()})

    @property
    def remarks(self) -> Iterator[Remark]:
        for row, why in zip(self.notebook_table().to_dict("records"), self.refused, strict=True):
            loss = "" if self.loss in self.at else Reason("score_loss", name=self.loss, value=row[self.loss])
            ends = {"low": row["low"], "high": row["high"], "level": self.level}
            answer = Reason("score_value", score=self.score, value=row[self.score], **ends)
            if why is not None:
                answer = Reason("score_none", score=self.score, why=why)
            far = Reason("score_beyond", times=row["beyond"]) if row["beyond"] > 1 else ""
            at = {name: row[name] for name in self.at}
            yield Reason("score_at", at=at, loss=loss, answer=answer, far=far)
        yield from noted(self.notes)

    def to_dict(self) -> dict[str, Any]:
        return {
            "score": self.score, "level": self.level, "predictions": self.notebook_table().to_dict("records"),
            "refused": [None if why is None else why.to_dict() for why in self.refused],
            "notes": [note.to_dict() for note in self.notes],
        }  # fmt: skip


Points = tuple[tuple[tuple[float, ...], ...], tuple[float, ...], tuple[Any, ...]]  # sizes, losses, runs


def _points(table: Table) -> Points:
    """The points of stage one, as a key: many scores are asked for with the same losses."""
    x = np.atleast_2d(np.asarray(table.x, float)).tolist()
    return tuple(map(tuple, x)), tuple(np.asarray(table.y, float).tolist()), tuple(table.runs)


@lru_cache(maxsize=64)
def _surface(points: Points) -> Surface:
    """Stage one of two sizes: Chinchilla's form, with a prior of published exponents."""
    x, y, runs = points
    return surfaces.fit(*map(np.array, x), np.array(y), runs=runs, form="chinchilla", priors=EXPONENTS)


@lru_cache(maxsize=256)
def _one_more_run(points: Points, at: tuple[tuple[float, ...], ...]) -> np.ndarray:
    """(3, places) low end, median and high end, at 95 %, of the loss of one more run; `at` by variable."""
    x, y, _ = points
    line = line_of(np.array(x)) if len(x) == 2 else None
    along = line is not None and np.allclose(
        at[1], line["factor"] * np.array(at[0]) ** line["power"], rtol=ON_THE_LINE
    )
    if len(x) == 1 or along:
        ahead = extrapolate(np.array(x[0]), np.array(y), at=np.array(at[0]))
        return np.array([ahead.low, ahead.mean, ahead.high])
    fitted = _surface(points)
    places = dict(zip(fitted.law.form.variables, map(np.array, at), strict=True))
    low, high = fitted.interval(places, of="measurement")
    return np.array([low, fitted.median(places), high])


@checked
def downstream(
    table: Any, *, at: Any, loss: str | Sequence[str] = "loss", score: str = "accuracy",
    chance: float | None = None, x: str | Sequence[str] | None = None, level: float = 0.95,
    widest: float = WIDEST, **rows: Any,
) -> ScorePrediction:  # fmt: skip
    """Predict a score from the loss, and the loss from sizes.

    Args:
        table: `Curves` or a frame with one row a run; rows without a score count for the loss.
        at: where to predict, as in `Scores.predict`.
        loss: the column of the loss, or several: they are averaged by how well each explains the scores.
        score: the column of an accuracy; or of an error, known by its name (test_error, err) or by chance=1.
        chance: the score of guessing; 0 by default, of an error 1.
        x: the columns of the sizes; by default those of `at`, else n_params and n_data, else compute.
        level, widest: of the interval, as in `Scores.predict`.
        rows: which rows of the table count, as in `fit`.

    Raises:
        NotDetermined: the score has not left chance, or the runs do not reach as far.
    """
    losses = {*([loss] if isinstance(loss, str) else loss)}
    if isinstance(table, Curves) and isinstance(at, Mapping):
        at = {table.resolve(name): value for name, value in at.items()}
    if x is None and is_table(table) and (isinstance(at, Mapping) or hasattr(at, "columns")):
        table = under_names(table, [str(name) for name in at])
        frame = table.frame if isinstance(table, Curves) else table
        x = [name for name in at if name in frame and name not in losses] or None
    return fit(table, loss=loss, score=score, chance=chance, x=x, **rows).predict(
        at, level=level, widest=widest
    )


@checked
def fit(
    table: Any,
    *,
    loss: str | Sequence[str] = "loss",
    score: str = "accuracy",
    chance: float | None = None,
    x: str | Sequence[str] | None = None,
    reduce: str = "auto",
    where: Mapping[str, Any] | None = None,
    mixed: bool = False,
    nan_policy: str = "raise",
    seed: int = 0,
) -> Scores:
    """Both stages, to predict at several places.

    Args:
        reduce, where, mixed, nan_policy: which rows of the table count, as in `scalinglab.laws.fit`.
        seed: of the draws.
        table, loss, score, chance, x: as in `downstream`.
    """
    if not is_table(table):
        raise BadInput(f"a score is predicted from a table (sl.read, or a frame), not {type(table).__name__}")
    resolve = table.resolve if isinstance(table, Curves) else str
    frame = table.frame if isinstance(table, Curves) else table
    losses = [resolve(name) for name in ([loss] if isinstance(loss, str) else loss)]
    if not losses:
        raise BadInput("loss=[]: name the column of the loss, or several")
    if x is None:
        table = under_names(table, PAIR)
        frame = table.frame if isinstance(table, Curves) else table
        x = PAIR if {*PAIR} <= {*frame} else "compute"
    sizes = [resolve(name) for name in ([x] if isinstance(x, str) else x)]
    if len(sizes) > 2:
        raise BadInput(f"x={', '.join(sizes)}: stage one is a law of one column of sizes, or of two")
    found = []
    for name in losses:
        points = points_from(
            (table,), sizes if len(sizes) > 1 else sizes[0], name,
            reduce=reduce, where=where, mixed=mixed, beside=resolve(score),
        )  # fmt: skip
        points = replace(points, names=tuple(sizes))  # by which `at` calls them
        found.append(points.keep(np.isfinite(points.y)) if nan_policy == "drop" else points)
    return _fitted(found, resolve(score), chance, seed)


def _fitted(tables: Sequence[Table], score: str, chance: float | None, seed: int) -> Scores:
    """Stage two of every loss; an error is known by its name, or by a chance of 1."""
    tables, notes = _in_fractions(tables, score)
    scored = [np.isfinite(t.beside) & np.isfinite(t.y) for t in tables]
    if (distinct := len(np.unique(tables[0].y[scored[0]]))) < FEWEST:
        raise NotDetermined(Reason("few_scores", score=Column(score), runs=distinct, needed=FEWEST))
    is_error = chance == 1 or (
        chance != 0 and re.search(r"(?:^|[^a-z])err(?:or)?(?:[^a-z]|$)", score.lower())
    )
    best = 0.0 if is_error else 1.0
    guessed = 1 - best if chance is None else float(chance)
    if not 0 <= guessed <= 1:
        raise BadInput(f"chance={guessed:g} must lie between 0 and 1: what guessing scores, as in 0.25")
    if len(tables[0].names) == 2 and (line := line_of(np.asarray(tables[0].x))) is not None:
        notes = (*notes, Reason("law_along_a_line", data=Column(tables[0].names[1]), **line))
    asked = questions(tables[0].beside[scored[0]]) or QUESTIONS
    curves = tuple(
        ScoreCurve(t.measured, t.y[rows], (t.beside[rows] - guessed) / (best - guessed), guessed, best, asked)
        for t, rows in zip(tables, scored, strict=True)
    )
    leading = max(curves, key=lambda curve: curve.evidence)
    unclear = left_chance(leading, score)
    return Scores(tables, curves, score, guessed, best, unclear, notes, seed)


LEAST_PERCENT = 2.0  # guard: a best score between 1 and this is neither a fraction nor in percent


def _in_fractions(tables: Sequence[Table], score: str) -> tuple[tuple[Table, ...], tuple[Reason, ...]]:
    """The tables with scores from 0 to 1, and their notes; scores in percent are divided by 100."""
    values = np.concatenate([np.asarray(t.beside, float) for t in tables])
    low, high = (np.nanmin(values), np.nanmax(values)) if np.isfinite(values).any() else (0.0, 0.0)
    if low < 0 or high > 100 or 1 < high < LEAST_PERCENT:
        raise BadInput(
            f"{score} = {low if low < 0 else high:g}: a score lies between 0 and 1, or in percent up to 100"
        )
    unit, notes = (100.0, (Reason("percent", y=score),)) if high > 1 else (1.0, ())
    made = tuple(
        replace(t, y=np.asarray(t.y, float), beside=np.asarray(t.beside, float) / unit) for t in tables
    )
    return made, (*tables[0].notes, *notes)


def questions(score: np.ndarray) -> int | None:
    """The smallest n such that all scores are multiples of 1/n, up to rounding; None where there is none.

    >>> questions(np.array([34, 41, 57, 70]) / 120)
    120
    >>> questions(np.round(np.array([340, 411, 573, 627, 644, 700]) / 800, 4))
    800
    """
    values = np.unique(np.round(np.asarray(score, float), 10))
    if len(values) < 4:
        return None
    digits = max(len(np.format_float_positional(v).partition(".")[2]) for v in values)
    rounding = max(ROUNDED, 0.51 * 10.0**-digits)
    n = np.arange(2, MOST_QUESTIONS + 1)
    fits = (np.abs(values - np.rint(values * n[:, None]) / n[:, None]) <= rounding).all(axis=1)
    # how many of the n up to there would fit any scores
    by_accident = np.cumsum(np.minimum(2 * rounding * n, 1.0) ** len(values))
    found = n[fits & (by_accident < SIGNIFICANT)]
    return int(found[0]) if len(found) else None


def left_chance(curve: ScoreCurve, score: str) -> Reason | None:
    """Why scores have not left chance; None where they have.

    The mean of the quarter of the runs with the lowest losses must lie above chance by `STANDARD_ERRORS` of
    its own and by `ABOVE` of the way from chance to the best. All runs answer the same questions, and one
    guess at all of them may be right more often than chance; so the mean must also be `STANDARD_ERRORS` of
    one such guess above it, or the score must rise as the loss falls (Kendall's τ, `SIGNIFICANT`). A score
    that falls with the loss has not left chance. One that stays constant above chance has: among the averaged
    curves are those that have yet to rise, and the width of the interval shows it.
    """
    trend = stats.kendalltau(curve.loss, curve.share)
    p = float(trend.pvalue) if np.isfinite(trend.pvalue) else 1.0
    rises, falls = (p < SIGNIFICANT and sign * trend.statistic > 0 for sign in (-1, 1))
    reached, guess = float(curve.lowest.mean()), float(np.sqrt(curve.variance(0.0)))
    error = float(curve.lowest.std(ddof=1)) / np.sqrt(len(curve.lowest))
    left = reached > max(STANDARD_ERRORS * error, ABOVE) and (rises or reached > STANDARD_ERRORS * guess)
    return None if left and not falls else Reason("at_chance", score=Column(score), reached=reached, p=p)
