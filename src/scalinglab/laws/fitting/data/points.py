"""The points of a fit: checked before anything is fitted, with messages in terms of the data.

Laws fall towards a floor. A fraction that rises with size (an accuracy, a pass rate) falls as 1 - y and is
modelled so; a reward or a score has no ceiling that the points determine, and is refused with the way out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalinglab.curves.columns import SAME_SIZE, size_groups
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.fitting.statistics import FEWEST_LEFT
from scalinglab.results.distributions import FEWEST
from scalinglab.results.sentences import Column
from scalinglab.results.types import Reason
from scalinglab.support.validation import real_array

FEWEST_FOR_AN_OFFSET = 4  # defined: sizes; three determine E + A x^-c and leave nothing to judge it by
# judged: benchmarks/coverage.py --curves (row "one variable, 6 sizes, a break" is refused with 0.025 and 0.1
# alike); of ln y: few sizes that scatter more may have a bend that the form lacks; a point that is off by
# less is no outlier
MOST_SCATTER = 0.05
# defined: sizes from which on residuals of E + A x^−c, and backtests, tell anything of a curve; one law
# predicts fewer
FEWEST_SIZES = 3 + FEWEST_LEFT
# convention: ten runs a parameter, from which on they tell their noise and outweigh a wrong one: intervals of
# fewer are profiles, those of more resample runs; rows "surface, 3 × 3 runs" to "5 × 5 runs" of
# benchmarks/coverage.py judge it
MANY = 10


@dataclass(frozen=True)
class Points:
    """Points that can be fitted, ordered by x.

    Attributes:
        x: (n,), or (variables, n) for a surface.
        y: (n,).
        error: one standard error of every y, where known.
        weight: (n,), how often a point counts.
        runs: (n,), which run every point comes from; points of one run are not independent.
        notes: what a reader should know about the data.
        complement: whether y is 1 - y of what was measured, as of an accuracy.
        checkpoints_of: of how many runs the points are checkpoints, each counted as a run; else 0.
    """

    x: np.ndarray
    y: np.ndarray
    error: np.ndarray | None
    weight: np.ndarray
    runs: np.ndarray
    notes: tuple[Reason, ...]
    complement: bool = False
    checkpoints_of: int = 0

    def keep(self, rows: np.ndarray) -> Points:
        """Only these points, by their places or by a mask."""
        error = None if self.error is None else self.error[rows]
        x, y, weight, runs = self.x[..., rows], self.y[rows], self.weight[rows], self.runs[rows]
        return replace(self, x=x, y=y, error=error, weight=weight, runs=runs)

    @property
    def sizes(self) -> int:
        """How many different x there are."""
        return np.unique(self.x, axis=-1).shape[-1]

    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Of one variable: the different sizes, ascending, and the mean of y at each."""
        sizes, place = np.unique(self.x, return_inverse=True)
        return sizes, np.bincount(place, self.y) / np.bincount(place)

    @property
    def trainings(self) -> int:
        """How many networks were trained."""
        return self.checkpoints_of or len(np.unique(self.runs))

    @property
    def blocked(self) -> bool:
        """Whether some run has more than one point."""
        return len(np.unique(self.runs)) < len(self.runs)

    @property
    def by_size(self) -> np.ndarray:
        """(n,) the rows in order of size, of several variables that of their product."""
        logs = np.log(np.maximum(np.atleast_2d(self.x), 1e-300))
        return np.argsort(np.sum(logs, axis=0), kind="stable")

    @property
    def ends_of_runs(self) -> np.ndarray:
        """(runs,) the row of each run's point of the largest sizes, in order of size."""
        order = self.by_size
        _, last = np.unique(self.runs[order][::-1], return_index=True)
        return np.asarray(order[np.sort(len(order) - 1 - last)])

    @property
    def resampled(self) -> bool:
        """Whether some run has more than one point, and there are enough runs to resample them."""
        return self.blocked and len(np.unique(self.runs)) >= FEWEST

    @property
    def along_runs(self) -> bool:
        """Whether some run has more than one point, in too few runs: neighbours share their noise."""
        return self.blocked and not self.resampled


def check(
    x: Any,
    y: Any,
    *,
    names: tuple[str, ...] = ("x",),
    zeros: tuple[str, ...] = (),
    error: Any = None,
    weights: Any = None,
    runs: Any = None,
    log: bool = True,
    nan_policy: str = "raise",
) -> Points:
    """Points from arrays; raises `BadInput` with the rule that they break.

    Args:
        zeros: names of variables that may be zero.
        nan_policy: "raise" on missing values, infinities and (in logs) values that are not positive, or
            "drop" them with a note.
    """
    if nan_policy not in ("raise", "drop"):
        raise BadInput(f"nan_policy={nan_policy!r} must be 'raise' or 'drop'")
    given = list(x) if len(names) > 1 else [x]
    if len(given) != len(names):
        raise BadInput(
            f"this form is a surface over {', '.join(names)}: give an array of each (laws.surface.fit, or on "
            "the command line 'laws surface')"
        )
    columns = [_column(v, n) for v, n in zip(given, names, strict=True)]
    measured = _column(y, "y")
    count = len(measured)
    for values, name in zip(columns, names, strict=True):
        same_length(values, count, name)
    errors = None if error is None else same_length(_column(error, "error"), count, "error")
    weight = np.ones(count) if weights is None else same_length(_column(weights, "weights"), count, "weights")
    labels = np.arange(count) if runs is None else same_length(np.asarray(runs).ravel(), count, "runs")
    if count == 0:
        raise BadInput("no points: x and y are empty")
    bad = _bad(measured, "y", log) | _bad(weight, "weights", False)
    for values, name in zip(columns, names, strict=True):
        bad |= _bad(values, name, True, name in zeros)
    if errors is not None:
        bad |= _bad(errors, "error", True)
    if bad and nan_policy == "raise":
        raise BadInput(_complaint(bad))
    if np.any(weight < 0):
        raise BadInput(f"weights must not be negative; the smallest is {weight.min():g}")
    keep = np.array([i not in bad for i in range(count)], bool) & (weight > 0)
    if not keep.any():
        raise BadInput(f"no usable point among {count}: {_complaint(bad) if bad else 'every weight is 0'}")
    table = np.array(columns)
    order = np.flatnonzero(keep)[np.lexsort(table[::-1, keep])]
    table, measured, weight, labels = (
        table[:, order],
        measured[order],
        weight[order],
        _numbered(labels[order]),
    )
    errors = None if errors is None else errors[order]
    if np.all(table.max(axis=1) == table.min(axis=1)):
        what = ", ".join(f"{n} = {v:g}" for n, v in zip(names, table[:, 0], strict=True))
        raise BadInput(f"all {len(measured)} points have the same size, {what}: a law needs several sizes")
    dropped = {"dropped": len(bad), "points": count, "why": _first_three(sorted(set(bad.values()), key=str))}
    notes = [Reason("dropped", **dropped)] if bad else []
    # two runs may well measure the same; the same run twice, or points of unknown origin, are suspicious
    origin = np.zeros(len(labels)) if runs is None else np.unique(labels, return_inverse=True)[1]
    pairs = np.unique(np.vstack([table, measured, origin]), axis=1).shape[1]
    if pairs < len(measured):
        notes.append(Reason("copied_points", points=len(measured) - pairs))
    return Points(table[0] if len(names) == 1 else table, measured, errors, weight, labels, tuple(notes))


def _numbered(labels: np.ndarray) -> np.ndarray:
    """Runs by number, in the order of their first points: neither names nor rows change what is resampled."""
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[which]


def positive(**values: Any) -> None:
    """Refuse what is not positive and finite, by its name."""
    for name, value in values.items():
        try:
            numbers = np.ravel(np.asarray(value, float))
        except (TypeError, ValueError):
            raise BadInput(f"{name}={value!r} must be a number, as in {name}=1e9") from None
        wrong = numbers[~((numbers > 0) & np.isfinite(numbers))]
        if len(wrong):
            raise BadInput(f"{name}={wrong[0]:g} must be positive and finite")


def by_name(at: Any, named: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Sizes by name, of keywords, a mapping or a frame; the one size of a curve needs no name."""
    if at is None or isinstance(at, Mapping) or hasattr(at, "columns"):
        return {**({} if at is None else {name: at[name] for name in at}), **named}
    if len(names) > 1 or named:
        shown = ", ".join(f"{name}=…" for name in names)
        raise BadInput(f"sizes are given by name, since a wrong order would not be seen: {shown}")
    return {names[0]: at}


def places_of(sizes: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], tuple[int, ...]]:
    """Positive sizes that broadcast, each (places,), and the shape in which they were given."""
    arrays = np.broadcast_arrays(*(np.asarray(values, float) for values in sizes.values()))
    places = {name: np.ravel(values) for name, values in zip(sizes, arrays, strict=True)}
    positive(**{str(name): values for name, values in places.items()})
    return places, arrays[0].shape


def shaped(values: Any, shape: tuple[int, ...]) -> Any:
    """A number, or an array of this shape."""
    return float(np.ravel(values)[0]) if shape == () else np.asarray(values).reshape(shape)


def _column(values: Any, name: str) -> np.ndarray:
    return real_array(name, values).ravel()


def same_length(values: np.ndarray, count: int, name: str) -> np.ndarray:
    """The values of x, where there are as many as of y."""
    if len(values) != count:
        raise BadInput(f"{name} has {len(values)} values and y has {count}: give one of each per point")
    return values


def _bad(values: np.ndarray, name: str, positive: bool, zero: bool = False) -> dict[int, Reason]:
    """Rows that cannot be used, with the reason."""
    bad = {}
    for i in np.flatnonzero(~np.isfinite(values)):
        bad[int(i)] = Reason("value_missing" if np.isnan(values[i]) else "value_infinite", name=name)
    if positive:
        code = "value_negative" if zero else "value_not_positive"
        for i in np.flatnonzero(values < 0 if zero else values <= 0):
            bad[int(i)] = Reason(code, name=name, value=float(values[i]))
    return bad


def _first_three(reasons: list[Reason]) -> tuple[Reason | str, ...]:
    return (*reasons[:3], *(["…"] if len(reasons) > 3 else []))


def _complaint(bad: dict[int, Reason]) -> Reason:
    named = _first_three([Reason("at_point", point=i, why=bad[i]) for i in sorted(bad)])
    not_positive = any(r.details["name"] == "y" and "value" in r.details for r in bad.values())
    return Reason("unusable_y" if not_positive else "unusable", points=len(bad), named=named)


def two_dimensional(x: np.ndarray, names: tuple[str, ...]) -> None:
    """Refuse sizes on one line: a fit would share the fall out among the variables as it likes.

    The usual case is twenty tokens per parameter in every run; its fit puts an exponent at a bound and then
    promises an optimum of 1e28 parameters.
    """
    first, second = np.log(x[:2])
    for name, values in zip(names, (first, second), strict=False):
        if np.ptp(values) < SAME_SIZE:
            raise BadInput(Reason("constant_size", size=Column(name), value=float(np.exp(values[0]))))
        different = 1 + int(size_groups(np.exp(values)).max())
        if different < 3:
            raise NotDetermined(Reason("few_values", size=Column(name), values=different))
    if (line := line_of(x)) is not None:
        raise BadInput(Reason("sizes_on_a_line", first=Column(names[0]), second=Column(names[1]), **line))


ON_THE_LINE = 0.1  # convention: of the data that belong to parameters, up to which others are these


def line_of(x: np.ndarray) -> dict[str, float] | None:
    """Factor and power of the line on which two sizes grow together; None where they do not."""
    first, second = np.log(x[:2])
    if np.ptp(first) < SAME_SIZE:
        return None
    slope, constant = np.polyfit(first, second, 1)
    is_line = slope > 0 and np.std(second - slope * first - constant) < SAME_SIZE
    return {"factor": float(np.exp(constant)), "power": float(slope)} if is_line else None


ENDLESS = ("power_law", "power_law_offset")  # forms that rise without end where they rise
# measured: `benchmarks/chosen.py rises`: of curves that fall by twice their noise at most 2 % count as rising
# (8 % at 0.3), of those that rise by five times their noise nine in ten of three or four sizes; Kendall's τ
# of y against x
RISES = 0.5


def rises(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether y rises with x on the whole: in most pairs of sizes, and from the smallest to the largest."""
    sizes, which = np.unique(x, return_inverse=True)
    if len(sizes) < 3:
        return False
    means = np.bincount(which, y) / np.bincount(which)
    if not means[-1] > means[0]:
        return False
    from scipy import stats  # seldom needed, and slow to load

    return bool(stats.kendalltau(sizes, means).statistic > RISES)


def is_complement(x: np.ndarray, y: np.ndarray, names: tuple[str, str] = ("x", "y")) -> bool:
    """Whether 1 - y is to be modelled; refuses rising values that are no fractions, by their names."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if not rises(x, y):
        return False
    if ((y > 0) & (y < 1)).all():
        return True
    refuse_rising(x, y, names)  # raises: y rises
    return False


def refuse_rising(x: np.ndarray, y: np.ndarray, names: tuple[str, str] = ("x", "y")) -> None:
    """Refuse values that rise, by their names, with the way out."""
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if not rises(x, y):
        return
    percent = " (divide percentages by 100)" if ((y > 0) & (y <= 100)).all() and y.max() > 1 else ""
    negative = ", the negative of a log-likelihood" if (y < 0).all() else ""
    raise BadInput(
        f"{names[1]} rises with {names[0]}, from {y[np.argmin(x)]:.4g} to {y[np.argmax(x)]:.4g}, and laws "
        f"here fall. Of a score give what is missing to the best one: 1 - accuracy{percent}{negative}, or "
        "best score - score"
    )


COMPLEMENT_NOTE = Reason("complement")


def refuse_beyond_one(form: str, points: Points, x: str = "x", y: str = "y") -> None:
    """Refuse a fraction that rises, such as an accuracy, for a form that would take it beyond 1.

    Args:
        form: the name of the form that was fitted.
        points: that it was fitted to.
        x, y: what their columns are called.
    """
    if form not in ENDLESS or points.complement or not rises(points.x, points.y):
        return
    if (points.y < 1).all():
        raise BadInput(
            f"{y} rises with {x}, and {form} would take it beyond 1: leave the form out (auto), which models "
            f"1 - {y}, or fit the error"
        )
