"""The optimal SGD noise of a family of networks (park2019, section 3.1), and how it grows with width.

For every width the middle of the best interval of a search over noise scales (`runs`) is the optimal noise
ḡ_opt(w). Two laws are fitted to the optima: the paper's ḡ_opt = a w, and ḡ_opt ∝ w^p with a free power. The
paper's claim is p = 1. All intervals come from resampling runs within width and level and repeating the whole
selection; the verdict follows from the interval of p:

- *holds*: the 95 % interval of p holds 1 and excludes 0;
- *fails*: it excludes 1;
- *cannot tell*: it holds both, or there are not enough widths whose optimum lies inside the search.

For other quantities than the normalized noise scale the paper claims other powers (`runs.CLAIMS`): for the
best batch size −1 in the NTK scheme and 0 in the standard one. Where the claim is p = 0, 1 and −1 must be
excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.noise.runs import (
    DRAWS,
    TRAINED_ABOVE,
    UNITS,
    Ends,
    Search,
    ends,
    interval_of,
    middles,
    open_ended,
    resampled,
    select,
)
from scalinglab.results.distributions import (
    CANNOT_TELL,
    FAILS,
    FEWEST,
    HOLDS,
    Draws,
    Estimate,
    interval,
    slopes,
)
from scalinglab.results.types import Reason, Remark, TableRows, Worded
from scalinglab.support.validation import checked


@dataclass(frozen=True)
class OptimalNoise(Worded):
    """Best noise interval per width, and the lines through the middles.

    Attributes:
        width: (widths,), increasing, in the units of `width_column`.
        multiple: (widths,), the same as multiples of the family's base width; NaN where not known.
        width_column: "widening_factor" (w of park2019) or "width", or the column that was asked for.
        noise: (widths,), the middle of each best interval.
        noise_interval: (2, widths), its 95 % interval over resampled runs.
        low, high: (widths,), the ends of the best interval.
        accuracy: (widths,), the best mean accuracy (or loss).
        stderr: (widths,), its standard error.
        edge: (widths,), whether the interval ends where the search did: the optimum may lie outside.
        failed: (widths,), share of runs that did not train; they are not in the means.
        used: (widths,), whether the lines go through this width.
        bounded: whether enough widths have their optimum inside the search for intervals to mean something.
        proportionality: a of noise = a · width, with its 95 % interval.
        power: p of noise ∝ width^p, with its 95 % interval.
        r_squared: 1 - Σ(noise - a·width)²/Σ(noise - mean)². It is no test of the law: see the interval of p.
        verdict: "holds", "fails" or "cannot tell" of the claim p = `claim`.
        reason: why.
        claim: the power that is claimed; 1 for the normalized noise scale, NaN where there is none.
        x, y: the columns that were searched and scored.
        draws: (draws, widths), optima of resampled runs.
        best_draws: (draws, widths), their best mean scores; larger is better.
        searches: the runs of every width, by level.
        n_runs: runs that were counted.
    """

    width: np.ndarray
    multiple: np.ndarray
    width_column: str
    noise: np.ndarray
    noise_interval: np.ndarray
    low: np.ndarray
    high: np.ndarray
    accuracy: np.ndarray
    stderr: np.ndarray
    edge: np.ndarray
    failed: np.ndarray
    used: np.ndarray
    bounded: bool
    proportionality: Estimate
    power: Estimate
    r_squared: float
    verdict: str
    reason: Reason
    claim: float
    x: str
    y: str
    draws: np.ndarray
    best_draws: np.ndarray
    searches: tuple[Search, ...]
    n_runs: int

    @property
    def slope(self) -> float:
        """a of noise = a · width."""
        return self.proportionality.value

    def table(self) -> pd.DataFrame:
        """One row a width."""
        low, high = self.noise_interval
        multiple = {} if self.width_column == "width" else {"width": self.multiple}
        return pd.DataFrame({
            self.width_column: self.width, **multiple, "noise": self.noise, "noise_low": low,
            "noise_high": high, "low": self.low, "high": self.high, "accuracy": self.accuracy,
            "stderr": self.stderr, "edge": self.edge, "failed": self.failed, "used": self.used,
        })  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The whole result but the resampled runs."""
        return {
            **{str(name): values.to_numpy() for name, values in self.table().items()},
            "width_column": self.width_column, "x": self.x, "y": self.y, "runs": self.n_runs,
            "slope": self.slope, "slope_error": self.proportionality.stderr,
            "a": asdict(self.proportionality), "p": asdict(self.power),
            "r_squared": self.r_squared, "verdict": self.verdict, "reason": str(self.reason),
        }  # fmt: skip

    @property
    def remarks(self) -> Iterator[Remark]:
        has_multiple = self.width_column != "width" and bool(np.isfinite(self.multiple).any())
        rows = [
            {
                "width": self.multiple[i], "w": width, "noise": self.noise[i], "low": self.low[i],
                "high": self.high[i], "first": self.noise_interval[0, i], "last": self.noise_interval[1, i],
                "best": self.accuracy[i], "error": self.stderr[i], "edge": " *" if self.edge[i] else "",
            }
            for i, width in enumerate(self.width)
        ]  # fmt: skip
        y = "accuracy" if self.y.endswith("error") else self.y
        yield TableRows("noise_and_width" if has_multiple else "noise", rows, {"best": f"best {y}"})
        if self.edge.any():
            yield Reason("noise_edge" if self.used.all() else "noise_edge_left_out")
        column = self.width_column
        unit = UNITS.get(column)
        yield Reason("width_unit" if unit else "width_is", column=column, unit=unit)
        if self.claim == 1:
            yield Reason("proportional", x=self.x, a=self.proportionality, r_squared=self.r_squared)
        yield Reason("noise_power", x=self.x, of=self.power)
        code = "noise_cannot_tell" if self.verdict == CANNOT_TELL else "noise_verdict"
        code = code if np.isfinite(self.claim) else "noise_no_verdict"
        yield Reason(code, claim=self.claim, verdict=self.verdict, why=self.reason)


@checked
def optimal_noise(
    curves: Curves,
    *,
    x: str = "normalized_noise_scale",
    y: str | None = None,
    width: str | None = None,
    trained_above: float = TRAINED_ABOVE,
    share: float = 1.0,
    claim: float | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> OptimalNoise:
    """The best noise interval of every width, and how the optimum grows with width.

    Args:
        curves: runs at several widths, noise scales and seeds; the last checkpoint of each run counts. Noise
            scales are computed from learning_rate, batch_size, n_data and parameterization where they are
            no columns.
        x: the column of the noise scale: `normalized_noise_scale`, or any other quantity to be searched for
            its best value (`batch_size`, `learning_rate`).
        y: `test_accuracy` (larger is better), or a column whose name ends in `error` or `loss` (smaller is
            better; an error counts as 1 - accuracy); by default the first of test_accuracy, test_error.
        width: the column of the width; by default `widening_factor`, the w of park2019, and `width` in a
            table without it.
        trained_above: runs that end at or below this accuracy did not train and are left out (Park et al.
            take 0.2 for ten classes), and so are levels at which fewer than three quarters of the runs
            trained. Not applied to losses.
        share: of every run's training time that counts; see `over_time`.
        claim: the power in question; by default the paper's, by `x` and the parameterization of the runs.
        draws: of resampled runs.
        seed: of the resampling.
    """
    if draws < 100:
        raise BadInput(f"draws = {draws}: 100 or more resampled sets are needed for an interval")
    found = ends(curves, x, y, width, trained_above, share)
    return from_ends(found, claim=claim, draws=draws, seed=seed)


def from_ends(found: Ends, *, claim: float | None = None, draws: int = DRAWS, seed: int = 0) -> OptimalNoise:
    """`optimal_noise` of the ends of runs."""
    searches = found.searches()
    rows = [interval_of(one) for one in searches]
    low, high, best, stderr, edge = (np.array(c) for c in zip(*rows, strict=True))
    middle = (low + high) / 2
    drawn, best_drawn, open_share = _resample(searches, draws, seed, found.share)
    edge = edge.astype(bool)
    closed = ~edge & (open_share < 0.5)
    bounded = bool(closed.sum() >= FEWEST)
    used = closed if bounded else np.ones(len(edge), bool)
    widths = found.widths
    repeated = all(one.repeated for one in searches)
    a, p = (
        statistic(of, widths[used], middle[used], drawn[:, used] if repeated else None)
        for of in (proportionality, powers)
    )
    claim = found.claim() if claim is None else claim
    verdict, reason = verdict_on(p, claim, int(closed.sum()), repeated)
    rest, spread = middle[used] - a.value * widths[used], middle[used] - middle[used].mean()
    r_squared = 1 - rest @ rest / (spread @ spread) if spread.any() else np.nan
    failed = np.array([1 - sum(map(len, one.scores)) / one.tried.sum() for one in searches])
    sign = -1.0 if found.is_loss else 1.0
    ends = np.array(interval(Draws(drawn))) if repeated else np.full((2, len(widths)), np.nan)
    return OptimalNoise(
        widths, found.multiple(), found.width_column, middle, ends, low, high, sign * best, stderr, edge,
        failed, used, bounded, a, p, float(r_squared), verdict, reason, claim,
        found.x, found.y, drawn, best_drawn, tuple(searches), len(found.frame),
    )  # fmt: skip


def _resample(
    searches: list[Search], draws: int, seed: int, share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Optima and best means of resampled runs, (draws, widths), and how often an interval is open."""
    optima, best, is_open = [], [], []
    for k, one in enumerate(searches):
        # every share of the training time draws the same runs, and its own place between two levels
        means, stderrs = resampled(one, draws, (seed, k))
        low, high = select(means, stderrs)
        between = np.random.default_rng((seed, k, len(one.level), round(share * 1e6)))
        optima.append(middles(one.level, low, high, between))
        best.append(means.max(axis=1))
        is_open.append(open_ended(one, low, high).mean())
    return np.stack(optima, axis=1), np.stack(best, axis=1), np.array(is_open)


def proportionality(width: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """a of noise = a · width by least squares, as in the paper, for each row of noise, (…, widths)."""
    return np.asarray(noise @ width / (width @ width))


def powers(width: np.ndarray, values: np.ndarray) -> np.ndarray:
    """p of values ∝ width^p by least squares in logs, for each row of values; NaN for one width."""
    return slopes(np.log(width), np.log(values))


def statistic(
    of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    width: np.ndarray,
    values: np.ndarray,
    drawn: np.ndarray | None,
) -> Estimate:
    """A number computed from the values at some widths, with its interval over resampled values, if any."""
    value = float(of(width, values))
    if drawn is None or not np.isfinite(value):
        return Estimate(value)
    each = of(width, drawn)
    return Estimate.from_draws(value, each[np.isfinite(each)])


def in_common(one: OptimalNoise, other: OptimalNoise) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The widths whose optimum both results use, and a mask of these for each."""
    widths = np.intersect1d(one.width[one.used], other.width[other.used])
    return widths, np.isin(one.width, widths), np.isin(other.width, widths)


def verdict_on(p: Estimate, claim: float, closed: int, repeated: bool) -> tuple[str, Reason]:
    """Verdict on the claim from the interval of p, with the reason."""
    if not repeated:
        return CANNOT_TELL, Reason("noise_run_once")
    if not np.isfinite(p.value):
        return CANNOT_TELL, Reason("noise_one_width")
    if not np.isfinite(claim):
        return CANNOT_TELL, Reason("noise_claim_unknown")
    if closed < FEWEST:
        return CANNOT_TELL, Reason("noise_few_inside", closed=closed, needed=FEWEST)
    others = (0.0,) if claim else (-1.0, 1.0)  # what must be excluded
    open_to = [other for other in others if p.low <= other <= p.high]
    found = {"low": p.low, "high": p.high, "claim": claim}
    if not p.low <= claim <= p.high:
        return FAILS, Reason("noise_excludes", **found)
    if open_to:
        code = "noise_holds_zero" if claim else "noise_holds_other"
        return CANNOT_TELL, Reason(code, **found, other=open_to[0])
    return HOLDS, Reason("noise_holds", **found, others=tuple(f"{other:g}" for other in others))
