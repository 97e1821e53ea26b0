"""`hyperparameters`: the best learning rate, batch size and other settings at a size that was not searched.

The loss around the optimum has the same shape at every searched size (`valleys`), and the optima follow power
laws with a scatter from size to size (`movement`). The interval of a setting is where the best run of a
search at that size will lie. It holds the error of the law, and how far the best runs of the searched sizes
scatter around it. The regret is how much higher the loss of a run at the proposal is than that of the best
run. Both come from the same draws (`_Law.draws`). The certificate predicts the largest searched sizes from
smaller ones in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from scalinglab.curves import OUTCOME, PROGRESS
from scalinglab.curves.columns import IDENTITY, SAME_SIZE, is_seed, size_groups
from scalinglab.curves.names import quantity
from scalinglab.errors import BadInput, NotDetermined, nearest
from scalinglab.laws.fitting.data.from_curves import Table, losses_of_runs, numeric, under_names
from scalinglab.laws.fitting.data.points import positive
from scalinglab.laws.fitting.statistics import WIDE
from scalinglab.laws.tuning import movement, valleys
from scalinglab.laws.tuning.valleys import Cell
from scalinglab.results.distributions import FEWEST, Draws, Estimate, check_level, interval
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.types import Reason, Remark, TableRows, noted
from scalinglab.support.validation import checked
from scalinglab.support.words import percent

if TYPE_CHECKING:
    import pandas as pd

# defined: the settings that are looked for in a table, in this order
SETTINGS = (
    "learning_rate", "batch_size", "weight_decay", "momentum", "warmup", "warmup_steps", "warmup_share",
    "beta1", "beta2",
)  # fmt: skip
SHARES = ("momentum", "beta1", "beta2")  # defined: they act through 1/(1 - value), whose logarithm is taken
NEAR = 2.0  # search: the least factor of size over which the certificate predicts; the largest is WIDE
# search: the most sizes that the certificate holds out, and how many it wants
HELD_OUT, ENOUGH = 12, 6
# convention: the level below which regrets as high are too improbable, so that settings do not transfer
IMPROBABLE = 0.05 + 1e-9
DRAWS = 4000  # search: draws behind the regret
MOST_KINDS = 40  # search: kinds of runs, told apart by columns that are neither size nor setting


@dataclass(frozen=True)
class Setting:
    """The best value of one setting.

    Attributes:
        value: the proposal.
        low, high: where the best run of a search at that size will lie.
        half, twice: the relative loss that half and twice the value cost, the other settings as proposed.
        exponents: of the power law, by size.
    """

    value: float
    low: float
    high: float
    half: float
    twice: float
    exponents: Mapping[str, float]


@dataclass(frozen=True)
class TransferTest:
    """A backtest: the largest sizes, predicted from smaller ones.

    Attributes:
        rows: a row for each held-out size and setting: the sizes, value, low, high, and `best` of its search.
        regret: (held out), the loss of the run nearest to the proposal over the best run's, minus one.
        copied: (held out), the same for the settings that were best at the largest smaller size.
        factor: sizes are predicted from those that are smaller by this factor, in the product of `along`.
        along: all sizes, or the one along which the best values leave their law.
        probability: of regrets as high if the law is right. All held-out sizes share the error of the law,
            and those with the same size `along` also share how far best runs lie from it.
        verdict: "transfers", "does not transfer", or "not tested" where too few sizes are left.
    """

    rows: tuple[dict[str, Any], ...]
    regret: np.ndarray
    copied: np.ndarray
    factor: float
    along: tuple[str, ...]
    probability: float
    verdict: str

    @property
    def covered(self) -> int:
        """How many intervals hold the best run."""
        return sum(row["low"] <= row["best"] <= row["high"] for row in self.rows)


@dataclass(frozen=True)
class Hyperparameters(NotebookResult):
    """The best settings at a size.

    Every setting is an attribute of its name: ``found.learning_rate.value``.

    Attributes:
        at: the size that was asked for.
        settings: by name.
        regret: of a run at the proposal: its loss over that of the best run of a search there, minus one.
        certificate: the backtest.
        beyond: product of the sizes asked for over the largest product that was searched.
        law: how optima move with size.
        valleys: the loss around them.
        edge: sizes that are left out, because their best run lies at the edge of its grid.
        level: of the intervals.
        notes: what was done to the rows.
    """

    at: Mapping[str, float]
    settings: Mapping[str, Setting]
    regret: Estimate
    certificate: TransferTest
    beyond: float
    law: movement.Movement = field(repr=False)
    valleys: valleys.Valleys = field(repr=False)
    edge: tuple[Mapping[str, Any], ...]
    level: float
    notes: tuple[Reason, ...] = ()

    def __getattr__(self, name: str) -> Setting:
        if name.startswith("_") or name not in self.settings:
            raise AttributeError(f"no setting {name!r}; there are: {', '.join(self.__dict__['settings'])}")
        return self.settings[name]

    @property
    def law_sizes(self) -> tuple[str, ...]:
        """The columns of the sizes that the searches vary."""
        return tuple(next(iter(self.settings.values())).exponents)

    @property
    def transfers(self) -> bool | None:
        """Whether the certificate holds; None where it could not be tested."""
        return {"transfers": True, "does not transfer": False}.get(self.certificate.verdict)

    def table(self) -> pd.DataFrame:
        """One row a setting."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "setting": name, "value": s.value, "low": s.low, "high": s.high, "half": s.half,
                    "twice": s.twice, **{f"by_{size}": power for size, power in s.exponents.items()},
                }
                for name, s in self.settings.items()
            ]
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The whole result but the runs."""
        c = self.certificate
        return {
            "at": dict(self.at), "settings": self.table().to_dict("records"),
            "regret": self.regret.to_dict(), "beyond": self.beyond, "level": self.level,
            "certificate": {
                "verdict": c.verdict, "covered": c.covered, "of": len(c.rows),
                "regret": float(c.regret.mean()) if len(c.regret) else None,
                "copied": float(c.copied.mean()) if len(c.copied) else None,
                "factor": c.factor, "along": list(c.along),
                "probability": c.probability, "rows": list(c.rows),
            },
            "edge": [dict(one) for one in self.edge],
        }  # fmt: skip

    @property
    def remarks(self) -> Iterator[Remark]:
        far = Reason("beyond_search", times=self.beyond) if self.beyond > 1 else ""
        yield Reason("settings_at", at=self.at, far=far)
        rows = [
            {"name": name, "value": s.value, "low": s.low, "high": s.high, "half": 100 * s.half,
             "twice": 100 * s.twice}
            for name, s in self.settings.items()
        ]  # fmt: skip
        yield TableRows("settings", rows, {"low": percent(self.level), "high": "", "setting": ""})
        r = self.regret
        yield Reason("regret", value=100 * r.value, low=100 * r.low, high=100 * r.high, level=self.level)
        powers = {
            name: tuple(Reason("power_of_size", size=size, power=p) for size, p in s.exponents.items())
            for name, s in self.settings.items()
        }
        along = tuple(Reason("power_of_sizes", name=name, powers=p) for name, p in powers.items())
        yield Reason("powers", powers=along)
        c = self.certificate
        if c.verdict == "not tested":
            yield Reason("not_certified")
        else:
            yield Reason(
                "certified", verdict=c.verdict, sizes=len(c.regret), factor=c.factor, covered=c.covered,
                along=c.along, values=len(c.rows), regret=100 * c.regret.mean(), copied=100 * c.copied.mean(),
            )  # fmt: skip
        out = len(self.edge)
        left = Reason("searches_at_edge", searches=out, of=out + len(self.valleys.cells))
        yield from noted([*([left] if out else ()), *self.notes])


@checked
def hyperparameters(
    table: Any,
    at: Mapping[str, float],
    *,
    y: str | None = None,
    settings: Sequence[str] | None = None,
    level: float = 0.95,
    where: Mapping[str, Any] | None = None,
    reduce: str = "auto",
    certify: bool = True,
) -> Hyperparameters:
    """The best settings at a size, from searches over them at several smaller sizes.

    Args:
        table: runs with columns of the sizes, the settings and the loss.
        at: the size, such as {"n_params": 1e9, "n_data": 2e10}; its names are the columns of the sizes.
        y: the column of the loss; by default the table's.
        settings: columns of the settings; by default those of `SETTINGS` that the table varies.
        level: of the intervals.
        where, reduce: which rows count, as in `scalinglab.laws.fit`.
        certify: False leaves the certificate out: it takes most of the time.

    Raises:
        NotDetermined: too few searches whose best run lies inside their grid, a loss that does not bend, or
            an interval too wide to mean something.
    """
    if not at or any(np.ndim(value) for value in at.values()):
        raise BadInput(f"at={dict(at)!r}: give one value of each size, as in {{'n_params': 1e9}}")
    positive(**at)
    check_level(level)
    cells, sizes, names, notes = _cells(table, at, y, settings, where, reduce)
    target = np.log([float(at[name]) for name in sizes])
    usable, edge = [c for c in cells if not c.edge.any()], [c for c in cells if c.edge.any()]
    needed = _needed(cells)
    if len(usable) < needed:
        ends = np.any([c.edge for c in cells], axis=0)
        at_end = tuple(name for name, out in zip(names, ends, strict=True) if out)
        raise _few(
            len(usable), names, needed, len(edge), Reason("widen_grids", settings=at_end) if edge else ""
        )
    fitted = _Law(usable, names)
    lines = fitted.settings(target, sizes, level)
    for name, one in lines.items():
        if not one.high / one.low < WIDE**2:  # a factor of WIDE on either side
            raise NotDetermined(Reason("setting_open", setting=name, low=one.low, high=one.high))
    largest = max(float(c.size.sum()) for c in usable)
    certificate = _certificate(usable if certify else (), names, sizes, level, target)
    regrets = fitted.regrets(target)
    return Hyperparameters(
        {**at}, lines, Estimate.from_draws(float(np.median(regrets)), regrets, level), certificate,
        float(np.exp(target.sum() - largest)), fitted.movement, fitted.valleys,
        tuple(_at_edge(c, sizes, names) for c in edge), level, notes,
    )  # fmt: skip


class _Law:
    """The law through the optima of searches, and how far the best runs scatter around it."""

    def __init__(self, cells: Sequence[Cell], names: Sequence[str]) -> None:
        self.names, self.valleys = names, valleys.fit(cells, names)
        where = np.array([c.size for c in cells])
        self.movement = movement.fit(where, self.valleys.optima, self.valleys.information)
        deviations = np.array([c.best - self.movement.at(c.size)[0] for c in cells])
        known = np.array([c.varied for c in cells])
        for column, varied in zip(deviations.T, known.T, strict=True):  # unsearched: as at the other sizes
            column[~varied] = np.resize(column[varied], int((~varied).sum()))
        deviations *= np.sqrt(len(cells) / self.movement.freedom)
        self.deviations = deviations[np.lexsort(deviations.T)]  # the order of sizes does not matter

    def draws(self, size: np.ndarray, group: int = 0) -> np.ndarray:
        """(draws, settings) by how much the best run of a search at this size differs from the law.

        The error of the law, which all searches share, plus the deviation of the best run of a searched size,
        to either side, which searches of one `group` share: the scatter of optima, noise and the grid.
        """
        shared, own = np.random.default_rng(0), np.random.default_rng([1, group])
        covariance, freedom = self.movement.at(size)[1], self.movement.freedom
        law = shared.standard_normal((DRAWS, len(covariance)))
        law = law @ np.linalg.cholesky(covariance + 1e-12 * np.eye(len(covariance))).T
        law *= np.sqrt(freedom / shared.chisquare(freedom, DRAWS))[:, None]
        best = self.deviations[own.integers(len(self.deviations), size=DRAWS)]
        return np.asarray(law + own.choice([-1.0, 1.0], (DRAWS, 1)) * best)

    def settings(self, size: np.ndarray, sizes: Sequence[str], level: float) -> dict[str, Setting]:
        """The best value of each setting at a size."""
        optimum, draws = self.movement.at(size)[0], self.draws(size)
        found = {}
        for i, name in enumerate(self.names):
            ends = interval(Draws(optimum[i] + draws[:, i]), level).through(partial(value_of, name))
            steps = np.outer(np.log([0.5, 2.0]), np.eye(len(optimum))[i])
            half, twice = np.expm1(self.valleys.above(steps)).tolist()
            powers = dict(zip(sizes, self.movement.coefficients[i, 1:].tolist(), strict=True))
            found[name] = Setting(float(value_of(name, optimum[i])), *ends, half, twice, powers)
        return found

    def regrets(self, size: np.ndarray, group: int = 0) -> np.ndarray:
        """(draws,) exp(½ dᵀ H d) - 1 of the distance d from the proposal to the best run."""
        return np.expm1(self.valleys.bowl(self.draws(size, group)))


def _certificate(
    usable: Sequence[Cell], names: Sequence[str], sizes: Sequence[str], level: float, target: np.ndarray
) -> TransferTest:
    """The backtest towards larger products of the sizes; or towards larger values of one size if that fails.

    On a grid of sizes a leap along one size lies among the smaller products too, and widens their intervals
    until these hold it.
    """
    each = list(np.eye(len(sizes)))
    on_a_line = not len(usable) or _needed(usable) == 1 + FEWEST  # then one size stands for all
    along = each[:1] if on_a_line else [np.ones(len(sizes)), *each]
    found = [_backtest(usable, names, sizes, level, target, one) for one in along]
    worst = min(found, key=lambda one: np.nan_to_num(one.probability, nan=1.0))
    if not worst.probability * len(found) <= IMPROBABLE:
        return found[0]
    return replace(worst, verdict="does not transfer")


def _backtest(
    usable: Sequence[Cell], names: Sequence[str], sizes: Sequence[str], level: float, target: np.ndarray,
    along: np.ndarray,
) -> TransferTest:  # fmt: skip
    """Predict the largest searches from smaller ones, over a factor like that asked for if there is one.

    Each regret is compared with the draws of the law that predicts it: a flat valley gives small regrets, and
    a law through few sizes large ones.

    Args:
        along: (sizes,) which sizes count in the product.
    """
    ordered = sorted(usable, key=lambda c: float(c.size @ along))
    products = np.array([c.size @ along for c in ordered])
    beyond = float(target @ along - products[-1]) if len(products) else 0.0
    needed, gap = _needed(usable) if usable else 0, float(np.clip(beyond, np.log(NEAR), np.log(WIDE)))

    def below(left_out: int, gap: float) -> int:
        return int(np.searchsorted(products, products[left_out] - gap + 1e-9, side="right"))

    while gap > np.log(NEAR) and sum(below(k, gap) >= needed for k in range(len(ordered))) < ENOUGH:
        gap = max(0.8 * gap, float(np.log(NEAR)))
    rows: list[dict[str, Any]] = []
    regrets, copies, expected = [], [], []
    levels = size_groups(np.exp(products))
    laws: dict[int, _Law | None] = {}
    for k in range(len(ordered) - 1, max(len(ordered) - HELD_OUT, 0) - 1, -1):
        left_out, count = ordered[k], below(k, gap)
        if count < needed:
            break
        if count not in laws:
            try:
                laws[count] = _Law(ordered[:count], names)
            except NotDetermined:
                laws[count] = None
        if (law := laws[count]) is None:
            continue
        regrets.append(left_out.lost(law.movement.at(left_out.size)[0]))
        copies.append(left_out.lost(ordered[count - 1].best))
        expected.append(law.regrets(left_out.size, int(levels[k])))
        where = dict(zip(sizes, np.exp(left_out.size).tolist(), strict=True))
        predicted = law.settings(left_out.size, sizes, level)
        for (name, one), best, varied in zip(predicted.items(), left_out.best, left_out.varied, strict=True):
            if varied:
                ends = {"value": one.value, "low": one.low, "high": one.high}
                rows.append({**where, "setting": name, **ends, "best": float(value_of(name, best))})
    # Fisher's sum of -ln p of the regrets, the last of each, against the same sum of the draws
    ranks = [stats.rankdata(-np.append(d, seen), "max") for d, seen in zip(expected, regrets, strict=True)]
    total = -np.log(np.array(ranks) / (DRAWS + 1)).sum(axis=0) if rows else np.array([np.nan])
    probability = float(np.mean(total >= total[-1])) if rows else float("nan")
    return TransferTest(
        tuple(rows), np.array(regrets), np.array(copies), float(np.exp(gap)),
        tuple(name for name, counts in zip(sizes, along, strict=True) if counts), probability,
        "transfers" if rows else "not tested",
    )  # fmt: skip


def _cells(
    table: Any, at: Mapping[str, float], y: str | None, settings: Sequence[str] | None,
    where: Mapping[str, Any] | None, reduce: str,
) -> tuple[list[Cell], tuple[str, ...], tuple[str, ...], tuple[Reason, ...]]:  # fmt: skip
    """The searches of a table, the sizes that vary, the settings that are searched, and notes."""
    table = under_names(table, (*at, *(settings or SETTINGS)))
    frame = getattr(table, "frame", table)
    columns = [str(c) for c in getattr(frame, "columns", ())]
    names = tuple(settings) if settings else tuple(s for s in SETTINGS if s in columns)
    if not names:
        raise BadInput(
            f"no column of a setting ({', '.join(SETTINGS[:4])}, …) in the table: name yours with settings= "
            "(on the command line --settings)"
        )
    if missing := [name for name in (*at, *names) if name not in columns]:
        raise BadInput(f"no column {missing[0]!r}; {nearest(missing[0], columns)}")
    if not len(frame):
        raise BadInput("the table has no rows: give the runs of searches at four sizes or more")
    numeric(frame, [*at, *names])
    if negative := [name for name in names if not frame[name].max() > 0]:
        raise BadInput(f"{negative[0]} is never positive: give the values of a setting, not their logarithms")
    with np.errstate(all="ignore"):  # a warm-up that follows the size is not searched
        own = frame.groupby([size_groups(frame[size]) for size in at])
    names = tuple(n for n in names if settings or own[n].nunique().max() > 2)
    if not names:
        raise NotDetermined(Reason("nothing_searched", settings=tuple(s for s in SETTINGS if s in columns)))

    def searched(where: Mapping[str, Any] | None) -> tuple[list[Cell], int, list[Reason]]:
        found, usable = losses_of_runs(table, (*at, *names), y, tuple(at), reduce=reduce, where=where)
        cells, few, lost = _searches(found, usable, names)
        return cells, few, [*found.notes, *lost]

    cells, few, notes = searched(where)
    # runs that differ in something else have losses of their own: each kind has its searches
    known = (*at, *names, *PROGRESS, *OUTCOME, *IDENTITY)
    free = [c for c in columns if c not in known and not is_seed(c) and quantity(c) is None]
    others = [c for c in free if own[c].nunique().max() > 1 and 3 * frame[c].nunique() <= len(frame)]
    kinds = frame[others].dropna().drop_duplicates().astype(object).to_dict("records") if others else []
    if 1 < len(kinds) <= MOST_KINDS:
        apart = [searched({**(where or {}), **kind}) for kind in kinds]
        several = [cell for found, *_ in apart for cell in found]
        if 2 * sum(len(c.y) for c in several) > sum(len(c.y) for c in cells):
            cells, few = several, sum(one[1] for one in apart)
    if few:
        notes.append(Reason("sizes_not_searched", sizes=few))
    if not cells:
        raise _few(0, names)
    log_sizes = np.array([cell.size for cell in cells])
    varies = np.ptp(log_sizes, axis=0) > SAME_SIZE
    for name, value, moves in zip(at, log_sizes[0], varies, strict=True):
        if not moves and abs(np.log(float(at[name])) - value) > SAME_SIZE:
            raise NotDetermined(
                Reason("one_size_searched", size=name, value=float(np.exp(value)), at=float(at[name]))
            )
    if not varies.any():
        raise _few(1, names)
    kept = tuple(name for name, moves in zip(at, varies, strict=True) if moves)
    return [replace(cell, size=cell.size[varies]) for cell in cells], kept, names, tuple(notes)


def _searches(
    points: Table, usable: np.ndarray, names: Sequence[str]
) -> tuple[list[Cell], int, list[Reason]]:
    """The searches of one kind of runs, how many sizes have too few runs, and a note on lost runs."""
    values, loss = np.asarray(points.x, float), np.asarray(points.y, float)
    z = np.array([_logarithm(n, v) for n, v in zip(names, values[-len(names) :], strict=True)])
    usable = usable & np.isfinite(z).all(axis=0)
    log_sizes, z, log_loss = np.log(values[: -len(names), usable]), z[:, usable], np.log(loss[usable])
    groups, which = np.unique(
        [size_groups(size[usable]) for size in values[: -len(names)]], axis=1, return_inverse=True
    )
    cells = []
    for k in range(groups.shape[1]):
        own = which.ravel() == k
        places, seat = np.unique(z[:, own], axis=1, return_inverse=True)
        seat = seat.ravel()
        mean = np.bincount(seat, log_loss[own]) / np.bincount(seat)  # seeds of one setting
        cell = Cell(log_sizes[:, own].mean(axis=1), places.T, mean)
        if cell.varied.any() and len(mean) > 1 + cell.varied.sum():
            cells.append(cell)
    lost = int((~usable).sum())
    return cells, groups.shape[1] - len(cells), [Reason("runs_not_counted", runs=lost)] if lost else []


def _few(
    searches: int, names: Sequence[str], needed: int = 1 + FEWEST, edge: int = 0, widen: Reason | str = ""
) -> NotDetermined:
    about = {"searches": searches, "needed": needed, "edge": edge, "settings": tuple(names)}
    return NotDetermined(Reason("few_searches", **about, widen=widen))


def _needed(cells: Sequence[Cell]) -> int:
    """How many searches a law needs: two sizes on one line, such as N and D = 20 N, count as one."""
    sizes = np.array([c.size for c in cells])
    return int(np.linalg.matrix_rank(sizes - sizes.mean(axis=0), tol=0.01 * np.sqrt(len(sizes)))) + FEWEST


def _logarithm(name: str, values: np.ndarray) -> np.ndarray:
    """ln value; of a share such as momentum ln 1/(1 - value)."""
    with np.errstate(all="ignore"):
        return np.asarray(-np.log1p(-values) if name in SHARES else np.log(values))


def value_of(name: str, z: Any) -> Any:
    """The inverse of `_logarithm`: the value of a setting."""
    return -np.expm1(-z) if name in SHARES else np.exp(z)


def _at_edge(cell: Cell, sizes: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """The sizes of a search, and its best values that lie at the edge of their grids."""
    best = zip(names, cell.best, cell.edge, strict=True)
    return {
        **dict(zip(sizes, np.exp(cell.size).tolist(), strict=True)),
        **{name: float(value_of(name, z)) for name, z, at_edge in best if at_edge},
    }
