"""`mixture`: the loss of a data mixture from runs on others, and the best mixture that the runs support.

ln loss is a Gaussian process of the shares, and of the sizes that vary (`process`). The best mixture has the
lowest upper end of its interval, which keeps it near the runs, of all mixtures in the convex hull of the runs
that meet the constraints. It is refused where its loss is less certain than that of any run left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from scipy.optimize import linprog

from scalinglab.curves.columns import SAME_SIZE
from scalinglab.errors import BadInput, NotDetermined, nearest
from scalinglab.laws.fitting.data.from_curves import losses_of_runs, numeric, under_names
from scalinglab.laws.mixing import process
from scalinglab.results.distributions import FEWEST, Estimate, Interval, Student, check_level, interval, reach
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.types import Reason, Remark, noted
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    import pandas as pd

SIZES = ("n_params", "n_data")  # defined: taken along where they vary
SUM = 0.02  # guard: by how much the sum of rounded shares may differ from one
REST = "rest"  # defined: the domain of what the shares leave out
EPOCHS = 4.0  # published: Muennighoff et al. 2023, up to four passes repeated text is worth as much as new
# search: rounds, mixtures kept after each and drawn in each; corners of the region that constraints leave
ROUNDS, KEPT, DRAWN, CORNERS = 25, 40, 300, 40
PARTS, OF_RUNS = 400, 8  # search: random parts, each of an eighth of the runs, behind the width of intervals


@dataclass(frozen=True)
class Proposal(NotebookResult):
    """A mixture to train on.

    Attributes:
        shares: by domain.
        loss: predicted, with the interval of one more run.
        sizes: at which it is predicted.
        best_run: the lowest loss of the runs; where sizes vary, the lowest that is predicted at `sizes`.
        like: the predicted loss of the mixture to compare with; None where none was given.
        distance: standard deviation of the prediction over that of the least certain run left out; below one.
        level: of the interval.
        beyond: sizes that were asked for and lie beyond those of the runs.
    """

    shares: Mapping[str, float]
    loss: Estimate
    sizes: Mapping[str, float]
    best_run: float
    like: Estimate | None
    distance: float
    level: float
    beyond: Mapping[str, float] = field(default_factory=dict)

    def table(self) -> pd.DataFrame:
        """One row a domain."""
        import pandas as pd

        return pd.DataFrame({"domain": [*self.shares], "share": [*self.shares.values()]})

    @property
    def remarks(self) -> Iterator[Remark]:
        for name, share in sorted(self.shares.items(), key=lambda item: -item[1]):
            if share >= 5e-4:  # 0.1 % as it is written
                yield Reason("share", name=name, share=100 * share)
        one, other = self.loss, self.like
        yield Reason("mixture_loss", **vars(one), level=self.level, best=self.best_run)
        if other is not None:
            yield Reason("mixture_like", **vars(other))
        if self.beyond:
            yield Reason("mixture_beyond", asked=self.beyond, sizes=self.sizes)


@dataclass(frozen=True)
class Mixture(NotebookResult):
    """The loss as a function of the mixture.

    Attributes:
        shares: names of the domains, in the order that was given.
        y: the column of the loss.
        sizes: columns of sizes that vary.
        runs: (runs, domains), shares, in that order.
        log_sizes: (runs, sizes).
        loss: (runs,).
        model: the average of processes.
        order: of the domains inside the model.
        level: of intervals.
        notes: what was done to the rows.
    """

    shares: tuple[str, ...]
    y: str
    sizes: tuple[str, ...]
    runs: np.ndarray = field(repr=False)
    log_sizes: np.ndarray = field(repr=False)
    loss: np.ndarray = field(repr=False)
    model: process.Average = field(repr=False)
    order: np.ndarray = field(repr=False)
    level: float = 0.95
    notes: tuple[Reason, ...] = ()

    @property
    def errors(self) -> np.ndarray:
        """(runs,), ln loss of each run minus what the others predict."""
        return np.asarray(np.log(self.loss) - self.model.left_out)

    @cached_property
    def widen(self) -> float:
        """The half width of intervals in standard deviations, such that they hold the runs left out.

        They hold `level` of all runs, and of those that `best` would choose: of random parts of the runs, the
        one with the lowest upper end, since a run that looks best was often predicted too low. The factor
        √(runs/(runs − fitted numbers)) allows for the lengths, amplitudes and noise being fitted to them.
        """
        std, random = self.model.left_out_std, np.random.default_rng(0)
        scores = np.abs(self.errors) / std
        count, fitted = len(scores), len(self.shares) + len(self.sizes) + 3
        rank = min(int(np.ceil((count + 1) * self.level)), count)
        widen = np.sort(scores)[rank - 1]
        if count * (1 - self.level) < 1:
            widen = max(scores.max(), reach(self.level, max(count - 1, 1)))
        parts = random.random((PARTS, count)).argsort(axis=1)[:, : max(count // OF_RUNS, 1)]
        upper = (self.model.left_out + widen * std)[parts]
        chosen = parts[np.arange(PARTS), upper.argmin(axis=1)]
        widen = max(widen, np.quantile(scores[chosen], self.level))
        return float(widen * np.sqrt(count / max(count - fitted, 1)))

    def predict(self, frame: Any) -> pd.DataFrame:
        """`mean`, `low` and `high` of one more run at each row, and whether the runs support it.

        Args:
            frame: columns of the domains (a missing one is zero) and of the sizes, in any order.
        """
        import pandas as pd

        table = under_names(pd.DataFrame(getattr(frame, "frame", frame)), self.sizes)
        if missing := [name for name in self.sizes if name not in table]:
            raise BadInput(f"no column {missing[0]!r}: the runs vary it, so give it for every mixture")
        sizes = table[[*self.sizes]].to_numpy(float)
        if not (np.isfinite(sizes).all() and (sizes > 0).all()):
            raise BadInput(f"{' and '.join(self.sizes)} must be positive")
        mean, std = self._at(_shares(table, self.shares), np.log(sizes))
        low, high = self._interval(mean, std)
        columns = {"mean": np.exp(mean), "low": low, "high": high, "supported": std <= self._least_certain}
        return pd.DataFrame(columns, index=table.index)

    def _interval(self, mean: Any, std: Any) -> Interval:
        """Of one more run with this ln loss: `widen` standard deviations on either side."""
        known = Student(mean, std * self.widen / reach(self.level))
        return interval(known, self.level, natural=np.exp)

    @property
    def _least_certain(self) -> float:
        """The largest standard deviation of ln loss of a run that is left out."""
        return float(self.model.left_out_std.max())

    def _at(self, shares: np.ndarray, log_sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ln loss and its standard deviation; shares in the order of `self.shares`."""
        return self.model.predict(shares[:, self.order], log_sizes)

    def best(
        self,
        constraints: Mapping[str, Any] | None = None,
        like: Mapping[str, float] | None = None,
        repeat: Mapping[str, float] | None = None,
    ) -> Proposal:
        """The mixture with the lowest loss that the runs support.

        Args:
            constraints: bounds of domains, {"share_code": (0.1, 0.3)}, or a fixed share.
            like: a mixture to compare with, and the sizes of the training; by default the largest of the
                runs. Sizes beyond those of the runs are replaced by the nearest of theirs.
            repeat: the tokens of a domain that exist, {"share_books": 5e9}: its share is limited to `EPOCHS`
                passes over them, in a training of the n_data of `like` or of the runs.

        Raises:
            NotDetermined: no mixture in the convex hull of the runs meets the constraints, or the best one
                is less certain than any run left out.
        """
        import pandas as pd

        given = dict(like or {})
        for name in given:
            if name not in (known := (*self.shares, *SIZES)):
                raise BadInput(f"no domain {name!r}; {nearest(name, known)}")
        limits = np.exp([self.log_sizes.min(axis=0), self.log_sizes.max(axis=0)]).T
        asked = {n: float(given.get(n, most)) for n, (_, most) in zip(self.sizes, limits, strict=True)}
        # beyond the runs the loss follows a law of the sizes that the process does not know
        sizes = {n: float(np.clip(asked[n], *within)) for n, within in zip(self.sizes, limits, strict=True)}
        beyond = {n: v for n, v in asked.items() if abs(np.log(v / sizes[n])) > SAME_SIZE}
        place = np.log([list(sizes.values())]) if sizes else np.zeros((1, 0))
        random = np.random.default_rng(0)
        pool = self._feasible(*self._bounds(constraints or {}, repeat or {}, given), random)
        pool = self._ranked(pool, place)
        for _ in range(ROUNDS):
            partners = pool[random.integers(len(pool), size=(DRAWN, 3))]
            drawn = np.einsum("ij,ijk->ik", random.dirichlet((1.0, 0.5, 0.5), DRAWN), partners)
            pool = self._ranked(np.vstack([pool, drawn]), place)
        mean, std = (float(v[0]) for v in self._at(pool[:1], place))
        if (distance := std / self._least_certain) > 1:
            raise NotDetermined(Reason("mixture_unsupported", distance=distance))
        value, compared = float(np.exp(mean)), None
        if any(name in given for name in self.shares):
            row = self.predict(pd.DataFrame([{**dict.fromkeys(self.shares, 0.0), **given, **sizes}])).iloc[0]
            compared = Estimate(float(row["mean"]), low=float(row["low"]), high=float(row["high"]))
        estimate = Estimate(value, value * std, *self._interval(mean, std))
        runs, _ = self._at(self.runs, np.repeat(place, len(self.runs), axis=0))
        least = float(np.exp(runs.min())) if self.sizes else float(self.loss.min())
        shares = dict(zip(self.shares, pool[0].tolist(), strict=True))
        return Proposal(shares, estimate, sizes, least, compared, distance, self.level, beyond)

    def _ranked(self, pool: np.ndarray, place: np.ndarray) -> np.ndarray:
        """The best mixtures of a pool, by the upper ends of their intervals."""
        mean, std = self._at(pool, np.repeat(place, len(pool), axis=0))
        return np.asarray(pool[np.argsort(mean + self.widen * std, kind="stable")[:KEPT]])

    def _bounds(
        self, constraints: Mapping[str, Any], repeat: Mapping[str, float], like: Mapping[str, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest share of every domain."""
        low, high = np.zeros(len(self.shares)), np.ones(len(self.shares))
        for name in (*constraints, *repeat):
            if name not in self.shares:
                raise BadInput(f"no domain {name!r}; {nearest(name, self.shares)}")
        for name, bound in constraints.items():
            ends = (bound, bound) if np.ndim(bound) == 0 else tuple(bound)
            if len(ends) != 2 or not 0 <= float(ends[0]) <= float(ends[1]) <= 1:
                raise BadInput(f"constraints of {name!r}: {bound!r}; give a share or (low, high), 0 to 1")
            j = self.shares.index(name)
            low[j], high[j] = map(float, ends)
        if repeat:
            total = like.get("n_data")
            if total is None and "n_data" in self.sizes:
                total = float(np.exp(self.log_sizes[:, self.sizes.index("n_data")].max()))
            if total is None:
                raise BadInput("repeat= needs the tokens of the training: give like={'n_data': 1e11}")
            for name, tokens in repeat.items():
                if not tokens > 0:
                    raise BadInput(f"repeat: {tokens!r} tokens of {name!r}; give a positive number")
                j = self.shares.index(name)
                high[j] = min(high[j], EPOCHS * float(tokens) / float(total))
        return low, high

    def _feasible(self, low: np.ndarray, high: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Mixtures of the runs' mixtures within bounds, whose own mixtures fill the allowed region.

        They are corners of this region: each minimises a linear cost, the loss of the runs or a random one.
        """
        inside = (self.runs >= low - 1e-12).all(axis=1) & (self.runs <= high + 1e-12).all(axis=1)
        if inside.all():
            return self.runs
        log_loss, corners = np.log(self.loss), [self.runs[inside]]
        cost = (log_loss - log_loss.mean()) / log_loss.std()
        bounds: dict[str, Any] = {
            "A_ub": np.vstack([self.runs.T, -self.runs.T]),
            "b_ub": np.concatenate([high, -low]) + 1e-12,
            "A_eq": np.ones((1, len(cost))),
            "b_eq": [1.0],
        }
        for k in range(CORNERS):
            found = linprog(cost + k / CORNERS * 4 * random.standard_normal(len(cost)), **bounds)
            if found.status == 2:
                raise NotDetermined(Reason("mixture_outside"))
            if found.status == 0:
                corners.append(np.clip(found.x @ self.runs, low, high)[None])
        return np.vstack(corners)

    def notebook_table(self) -> pd.DataFrame:
        """How much every domain matters."""
        import pandas as pd

        return pd.DataFrame({"domain": self.shares, "sensitivity": self.sensitivity})

    @property
    def sensitivity(self) -> np.ndarray:
        """(domains,), 1/ℓ of each: how fast the loss changes with its share; 0 where it does not."""
        found = np.zeros(len(self.shares))
        each = [part.inverse_lengths[: len(self.shares)] for part in self.model.parts]
        found[self.order] = np.average(each, axis=0, weights=self.model.weights)
        return found

    @property
    def remarks(self) -> Iterator[Remark]:
        sizes = Reason("and_sizes", sizes=tuple(self.sizes)) if self.sizes else ""
        yield Reason("mixtures", y=self.y, runs=len(self.loss), domains=len(self.shares), sizes=sizes)
        error = 100 * float(np.sqrt(np.mean(self.errors**2)))
        rank = stats.spearmanr(self.model.left_out, self.loss).statistic
        yield Reason("mixtures_left_out", error=error, rank=rank)
        matter = np.argsort(-self.sensitivity)[:5]
        yield Reason("mixtures_matter", domains=tuple(self.shares[j] for j in matter))
        yield from noted(self.notes)


@checked
def mixture(
    table: Any,
    shares: Sequence[str],
    y: str | None = None,
    *,
    level: float = 0.95,
    where: Mapping[str, Any] | None = None,
    reduce: str = "auto",
) -> Mixture:
    """The loss of mixtures from runs on some.

    Args:
        table: a run a row, with the shares of its domains and the loss; n_params and n_data are taken along
            where they vary.
        shares: columns of the shares, in any order; a missing value is zero, and what they leave of one is a
            domain of its own, `rest`.
        y: the column of the loss; by default the table's.
        level: of intervals.
        where, reduce: which rows count, as in `scalinglab.laws.fit`.
    """
    check_level(level)
    names = tuple(dict.fromkeys(shares))
    if len(names) < 2:
        raise BadInput(f"shares={list(shares)!r}: name the columns of two domains or more")
    frame = getattr(table, "frame", table)
    columns = [str(c) for c in getattr(frame, "columns", ())]
    if missing := [name for name in names if name not in columns]:
        raise BadInput(f"no column {missing[0]!r}; {nearest(missing[0], columns)}")
    numeric(frame, [*names])
    # without the shares, since a domain called d is no size
    frame = under_names(frame.drop(columns=[*names]), SIZES).assign(**frame[[*names]])
    sizes = tuple(s for s in SIZES if s in frame and frame[s].nunique() > 1)
    filled = frame.assign(**_filled(frame[[*names]]))
    points, usable = losses_of_runs(filled, (*names, *sizes), y, sizes, reduce=reduce, where=where)
    values, loss = np.asarray(points.x, float), np.asarray(points.y, float)
    notes = list(points.notes)
    if lost := int((~usable).sum()):
        notes.append(Reason("runs_not_counted", runs=lost))
    mixed = _whole(values[: len(names), usable].T)
    names = (*names, REST) if mixed.shape[1] > len(names) else names
    if len(mixed) < len(names) + FEWEST:
        raise NotDetermined(Reason("few_mixtures", runs=len(mixed), needed=len(names) + FEWEST))
    log_sizes, loss = np.log(values[len(points.names) - len(sizes) :, usable].T), loss[usable]
    if not np.ptp(np.log(loss)) > 0:
        raise NotDetermined(Reason("loss_constant", y=points.measured))
    # sorted by values, so that the order of rows and columns in the table does not matter
    rows = np.lexsort([*mixed.T[np.lexsort(np.sort(mixed, axis=0))], loss])
    mixed, log_sizes, loss = mixed[rows], log_sizes[rows], loss[rows]
    order = np.lexsort([*mixed, mixed.mean(axis=0)])
    model = process.average(mixed[:, order], log_sizes, np.log(loss))
    return Mixture(
        names, str(points.measured), sizes, mixed, log_sizes, loss, model, order, level, tuple(notes)
    )  # fmt: skip


def _filled(shares: pd.DataFrame) -> pd.DataFrame:
    """Fill in missing shares: with the rest of the sum of complete runs where one is missing, else zero."""
    missing = shares.isna()
    known = shares.sum(axis=1)
    whole = known[~missing.any(axis=1)]
    if len(whole) < 2 or np.ptp(whole) > SUM * whole.median():
        return shares.fillna(0.0)
    left = (whole.median() - known).where(missing.sum(axis=1) == 1, 0.0).clip(lower=0.0)
    return shares.apply(lambda column: column.fillna(left))


def _whole(shares: np.ndarray) -> np.ndarray:
    """Shares that sum to one, with a last domain for the rest where they sum to less.

    Sums near a hundred are percent; larger ones are tokens of the domains.
    """
    if (shares < -1e-9).any():
        raise BadInput("a share is negative: shares lie between 0 and 1")
    shares = np.maximum(shares, 0.0)
    total = shares.sum(axis=1)
    if len(total) and np.median(total) > 50:
        unit = 100.0 if total.max() <= 100 * (1 + SUM) else np.maximum(total, 1e-300)
        shares, total = (shares.T / unit).T, total / unit
    if (total > 1 + SUM).any() or not (total > 0).all():
        worst = total.max() if (total > 1 + SUM).any() else total.min()
        raise BadInput(f"the shares of a run sum to {worst:.3g}: they must sum to one, or to less")
    if (total < 1 - SUM).any():
        shares = np.column_stack([shares, np.maximum(1 - total, 0.0)])
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _shares(table: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """(rows, domains) of a frame; a domain that it does not have is zero."""
    given = [name for name in names if name != REST]
    if not {*given} & {*table}:
        raise BadInput(f"none of the domains {', '.join(names[:4])}, … in the table")
    values = _whole(table.reindex(columns=given).fillna(0.0).to_numpy(float))
    if values.shape[1] > len(names):
        raise BadInput(
            f"the shares of a mixture sum to less than one, and the runs' to one: {', '.join(names)}"
        )
    return np.pad(values, ((0, 0), (0, len(names) - values.shape[1])))
