"""A law fitted to a table, and its predictions.

`answer`, the report and the commands fit, predict and plot all choose columns and rows with `choose` and the
law with `Chosen.fit`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.curves import PROGRESS, Curves
from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE, is_numeric, is_seed
from scalinglab.curves.names import OF_TASKS, SPREADS, bare, quantity
from scalinglab.errors import BadInput, NotDetermined, nearest
from scalinglab.laws import forms
from scalinglab.laws.extrapolation.stacking import extrapolate
from scalinglab.laws.fitting.data.from_curves import DATA_SEEN, Table, points_of
from scalinglab.laws.fitting.data.points import ON_THE_LINE, by_name, line_of, places_of, shaped
from scalinglab.laws.fitting.law import Law, known_parameters
from scalinglab.laws.forms.base import Form
from scalinglab.laws.of_table import AUTOMATIC, fit_table, require_columns
from scalinglab.laws.surface import Surface
from scalinglab.readers.guards import SEARCHED, Question, refuse_doubtful
from scalinglab.readers.tables.meanings import NO_MEASUREMENT, NO_RESULT
from scalinglab.results.distributions import Estimate, WithEnds, check_level
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.sentences import spoken
from scalinglab.results.types import Reason, Remark, noted
from scalinglab.support.words import Share, count

if TYPE_CHECKING:
    import pandas as pd

MEASURED = ("loss", "validation_loss", "val_loss", "eval_loss", "accuracy")
SIZES = ("n_data", "n_params", "tokens", "examples", "compute", "width")
PAIR = ("n_params", "n_data")
UNITS = {"compute": "FLOPs", "n_params": "parameters", "step": "steps", "epoch": "epochs"}
LINES = ("law_at_a_ratio", "law_along_a_line")  # notes on parameters and data that grow together
ONE_RATIO = 0.02  # data grow in proportion to parameters where their power is as near to one as this
MOST_NAMED = 5  # columns in a refusal


@dataclass(frozen=True)
class Chosen:
    """The points of a table that a law is fitted to.

    Attributes:
        x: the columns of the sizes: one for a curve, several for a surface.
        y: the column that was measured.
        units: what each size counts, by its column.
        table: the points with positive sizes and finite values.
        curves: all rows.
        lost: what was left out.
        unit: of y, where the table says it; "%" means fractions that are written in percent.
        called: what sentences call y.
        variables: of a form, for which the columns stand, where they were given.
    """

    x: tuple[str, ...]
    y: str
    units: Mapping[str, str]
    table: Table
    curves: Curves = field(repr=False)
    lost: tuple[Reason, ...] = ()
    unit: str = ""
    called: str = ""
    variables: tuple[str, ...] = ()

    def measured(self, value: Any, low: Any = np.nan, high: Any = np.nan) -> Estimate:
        """A value of y with its interval, written as the table writes it."""
        kind, unit = (Share, "fraction") if self.unit == "%" else (float, self.unit)
        return Estimate(kind(value), low=kind(low), high=kind(high), unit=unit)

    @property
    def is_surface(self) -> bool:
        """Whether sizes are several."""
        return len(self.x) > 1

    @property
    def compute(self) -> np.ndarray:
        """FLOPs of every point of a surface of parameters and data, at six a parameter and example."""
        return np.asarray(FLOPS_PER_PARAM_EXAMPLE * self.table.x[0] * self.table.x[1])

    @property
    def names(self) -> dict[str, str]:
        """What columns are called in texts: n_data is tokens where it counts these."""
        return {"n_data": "tokens"} if self.curves.data_unit == "tokens" else {}

    def fit(self, form: Any = "auto", **options: Any) -> Fit:
        """Fit the law or surface of these points (`laws.of_table.fit_table`).

        Args:
            form: its name, or of a surface several; with "auto" the form is chosen.
            options: of `laws.fit` or `surface.fit`; with any but nan_policy the law itself predicts.

        Raises:
            NotDetermined, BadInput: the points cannot be fitted, or are few and one does not follow the rest.
        """
        found = fit_table(self.table, form, self.variables, **options)
        law, surface = (found.law, found) if isinstance(found, Surface) else (found, None)
        return Fit(self, law, surface, form in AUTOMATIC and not {*options} - {"nan_policy"})


def choose(
    curves: Curves, x: str | Sequence[str] | Mapping[str, str] | None = None, y: str | None = None,
    form: str | Form = "auto", *, sizes: int | None = None, drop_highest: int = 0, **rows: Any,
) -> Chosen:  # fmt: skip
    """Choose the columns and points of a table that a law is fitted to.

    Args:
        x: the column of sizes, or several, or one for each variable of a form; by default those that vary
            (n_params and n_data together where both do), or the variables of a form that has several.
        y: the column that was measured; by default a test error, loss or accuracy.
        form: of the law.
        sizes: by default as many columns of sizes as vary; 1 for a curve, 2 for n_params and n_data.
        drop_highest: how many points with the highest y to leave out.
        rows: `reduce`, `mixed` and `error` of `laws.fit`.
    """
    measured = curves.resolve(y) if y else _measured(curves)
    chosen = None if form in AUTOMATIC else forms.get(form)
    variables = ("x",) if chosen is None else chosen.variables
    if x is not None:
        names = (x,) if isinstance(x, str) else tuple(x.values() if isinstance(x, Mapping) else x)
    elif len(variables) > 1 and sizes != 1:
        names = variables
    else:
        names = PAIR if sizes == len(PAIR) else varying_sizes(curves, single=sizes == 1 or form != "auto")
    names = tuple(curves.resolve(name) for name in names)
    if chosen is not None:
        require_columns(chosen, names)
    if len(names) > 1 and "n_data" in curves.frame:  # of a run, and not what its checkpoints have seen
        names = tuple("n_data" if name in DATA_SEEN else name for name in names)
    positive = chosen is None or not chosen.zeros
    table = points_of(curves, names[0] if len(names) == 1 else list(names), measured, **rows)
    table, lost = table.finite(positive)
    table = table.without_highest(drop_highest)
    if y is None and (others := _also_measured(curves, measured)):
        more = Reason("other_measured", y=measured, others=others, first=shlex.quote(others[0]))
        table = replace(table, notes=(*table.notes, more))
    free = x is None and sizes is None and form == "auto"
    if free and names == PAIR and (line := line_of(table.x)) is not None:
        names, unit = PAIR[:1], _unit(curves, PAIR[1], table)
        table, lost = points_of(curves, names[0], measured, **rows).finite()
        notes = (note for note in table.notes if note.code != "both_vary")
        code = LINES[0 if abs(line["power"] - 1) < ONE_RATIO else 1]
        table = replace(table, notes=(*notes, Reason(code, data=unit, **line)))
    units = {name: _unit(curves, name, table) for name in names}
    if form == "auto":
        by_name = dict(zip(names, np.atleast_2d(table.x)))
        lacking = sum(reason.details["points"] for reason in lost if reason.code == "left_out_size")
        question = Question(curves, by_name, measured, np.asarray(table.y), units, lacking)
        refuse_doubtful(question, sizes=x is None, result=y is None)
    stands_for = tuple(x) if isinstance(x, Mapping) else ()
    called = _called(curves, measured)
    return Chosen(names, measured, units, table, curves, lost, curves.unit_of(measured), called, stands_for)


def _called(curves: Curves, y: str) -> str:
    """What sentences call y: its name in the table where its values were kept, without its unit."""
    columns = () if curves.reading is None else curves.reading.columns
    theirs = (c.theirs for c in columns if c.ours == y and c.theirs not in ("", y) and not c.change)
    if y == "test_error" and (score := score_of(curves)):
        return f"1 − {score}"
    computed = (c.change.removeprefix("= ") for c in columns if c.ours == y and c.change.startswith("= ln "))
    called = next(theirs, next(computed, spoken(y)))
    unit = curves.unit_of(y)
    return re.sub(r"\s*[\[(][^\])]*[\])]$", "", called) if unit and unit in called else called


def score_of(curves: Curves) -> str:
    """The score, such as BLEU or NDCG, that was read as an accuracy; empty where none was."""
    columns = () if curves.reading is None else curves.reading.columns
    if any(c.ours == "test_error" and c.theirs for c in columns):
        return ""
    theirs = (c.theirs for c in columns if c.ours == "test_accuracy" and c.theirs not in ("", c.ours))
    return next((t for t in theirs if (q := quantity(t)) is None or q.rank >= OF_TASKS), "")


def _also_measured(curves: Curves, y: str) -> tuple[str, ...]:
    """Other losses, errors and accuracies on test data that vary and could have been fitted."""
    if quantity(y) is None:
        return ()
    same = {"test_error", "test_accuracy"} if y in ("test_error", "test_accuracy") else {y}
    varied = [c for c in curves.measurement_columns if c not in same and curves.frame[c].nunique() > 1]
    return tuple(c for c in varied if (q := quantity(c)) and not q.is_spread and q.split != "train")


def varying_sizes(curves: Curves, single: bool) -> tuple[str, ...]:
    """The columns of the sizes that vary: n_params and n_data together unless a `single` one is wanted."""
    varied = [c for c in SIZES if c in curves.frame and curves.frame[c].nunique() > 1]
    # runs of one length still see more data as they go
    seen = "n_data" in curves.frame and any(name in varied for name in DATA_SEEN)
    if "n_params" in varied and ("n_data" in varied or seen) and not single:
        return PAIR
    if not varied and len(curves.runs) == 1:  # one training, along its steps
        varied = [c for c in PROGRESS if c in curves.frame and curves.frame[c].nunique() > 1]
    if not varied:
        numbers = [c for c in curves.frame if is_numeric(curves.frame[c]) and curves.frame[c].nunique() > 1]
        others = [c for c in numbers if quantity(c) is None and not is_seed(c)]
        shown = f" {shlex.quote(others[0])}" if others else ""
        schedules = "; 'laws schedule' fits losses along trainings with the schedules of their rates"
        searched = next((c for c in SEARCHED if c in numbers), "")
        shares = curves.frame[[*curves.settings]].select_dtypes("number")
        mixed = len(shares.columns) > 2 and np.allclose(shares.sum(axis=1), 1, atol=0.02)
        raise BadInput(
            f"no size varies in this table: it has none of {', '.join(SIZES)} with two values or more; name "
            f"the column of sizes with x= (--x{shown})"
            + ("; 'plan mixture' fits mixtures of data" if mixed else "")
            + (schedules if {"current_learning_rate", "lr"} & {*curves.frame} else "")
            + (f"; 'laws noise --x {searched}' finds the best {searched} of every width" if searched else "")
        )
    return (varied[0],)


def _measured(curves: Curves) -> str:
    """The column that was measured, where the table leaves no doubt."""
    usual = curves.default_measure
    undecided = usual not in curves.frame and any("train" in c for c in MEASURED if c in curves.frame)
    for name in () if undecided else (usual, *MEASURED):
        if curves.resolve(name) in curves.frame and curves.frame[curves.resolve(name)].notna().any():
            return curves.resolve(name)
    measured = curves.measurement_columns
    measured = [c for c in measured if curves.frame[c].nunique() > 1 and curves.frame[c].dtype != bool]
    named = {c: found for c in measured if (found := quantity(c)) is not None and not found.is_spread}
    no_result = {*NO_MEASUREMENT, *NO_RESULT, *SPREADS, "step", "steps"}
    others = [c for c in measured if not {*bare(c).split("_")} & no_result] or measured
    likely = [name for name in named if named[name].split != "train"] or [*named] or others
    if not likely:
        raise BadInput("no column has a loss, error or accuracy: name what was measured with y= (--y)")
    more = f" and {len(likely) - MOST_NAMED} more" if len(likely) > MOST_NAMED else ""
    raise NotDetermined(
        f"which column is the result? It may be {', '.join(likely[:MOST_NAMED])}{more}: choose one with y= "
        f"(--y {shlex.quote(likely[0])})"
    )


def _unit(curves: Curves, name: str, table: Table) -> str:
    if name not in ("n_data", "tokens", "examples"):
        return curves.unit_of(name) or UNITS.get(name, name)
    share = len(table.names) == 1 and table.x.max() <= 1  # of the data
    return "times the whole set" if share else curves.data_unit


@dataclass(frozen=True)
class Fit(NotebookResult):
    """A law fitted to a table; made by `scalinglab.fit`.

    Attributes:
        chosen: the columns and points.
        law: the law; of several sizes that of the surface.
        surface: the surface, where sizes are several.
        automatic: whether the form was chosen here: a curve is then continued by `laws.extrapolate`.
    """

    chosen: Chosen
    law: Law
    surface: Surface | None = None
    automatic: bool = True

    @property
    def notes(self) -> tuple[Reason, ...]:
        """What was done to the rows."""
        return self.law.points.notes

    @property
    def x(self) -> tuple[str, ...]:
        """The columns of the sizes."""
        return self.chosen.x

    @property
    def y(self) -> str:
        """The column that was measured."""
        return self.chosen.y

    @property
    def parameters(self) -> dict[str, float | None]:
        """The fitted values by name; None where the points do not determine one."""
        if self.surface is not None:
            return dict(self.surface.determined)
        return {name: None if np.isnan(v) else v for name, v in known_parameters(self.law).items()}

    @property
    def intervals(self) -> dict[str, Any]:
        """The 95 % interval of every parameter; infinite ends are not determined."""
        law = self.law
        return law.parameter_intervals if self.surface is None else self.surface.parameter_intervals()

    def predict(self, at: Any = None, *, level: float = 0.95, **sizes: Any) -> Prediction:
        """What was measured, at other sizes, with an interval.

        Args:
            at: sizes by name in a mapping or a frame: numbers, or arrays of one length; of a curve also a
                number or an array.
            level: of the intervals.
            sizes: the same as keywords.

        A curve whose form was not named is continued by `laws.extrapolate`, and the interval is that of one
        more run. For a surface it is the interval of the mean loss, including what the form may miss; for a
        curve whose form was named, that of the law.
        """
        check_level(level)
        given = self._sizes(at, sizes)
        places, shape = places_of({name: given[name] for name in self.x})
        mean, low, high, notes = self._at(places, level)
        largest = np.prod(np.atleast_2d(self.chosen.table.x), axis=0).max()
        beyond = np.prod([*places.values()], axis=0) / largest
        return Prediction(
            {name: shaped(values, shape) for name, values in places.items()}, self.y,
            shaped(mean, shape), shaped(low, shape), shaped(high, shape), level, shaped(beyond, shape),
            self.chosen.units, notes, self,
        )  # fmt: skip

    def _sizes(self, at: Any, named: Mapping[str, Any]) -> Mapping[str, Any]:
        """The sizes by column; missing ones, and names that are no size of this law, are refused."""
        given: Mapping[str, Any] = by_name(at, named, self.x)
        on_line = next((note for note in self.notes if note.code in LINES), None)
        counted = {unit: name for name, unit in self.chosen.units.items()}  # tokens for n_data
        counted |= {} if on_line is None else {on_line.details["data"]: "n_data"}
        given = {n if n in self.x else counted.get(n, n): value for n, value in given.items()}
        wrong = [] if hasattr(at, "columns") else [name for name in given if name not in self.x]
        if on_line is not None and {*PAIR} <= {*given}:  # the data that the runs' line gives the parameters
            n_params, n_data = (np.asarray(given[name], float) for name in PAIR)
            line = on_line.details["factor"] * n_params ** on_line.details["power"]
            if not np.allclose(n_data, line, rtol=ON_THE_LINE):
                n, d = (count(np.ravel(values)[0]) for values in (n_params, line))
                raise BadInput(f"{on_line}; here {n} parameters have {d} {on_line.details['data']}")
            wrong = [name for name in wrong if name not in PAIR]
        if wrong:
            raise BadInput(
                f"{wrong[0]} is no size of this law of {' and '.join(self.x)}; {nearest(wrong[0], self.x)}"
            )
        if lost := [name for name in self.x if name not in given]:
            if len(self.x) > 1:
                needed = f"{self.y} depends on {' and '.join(self.x)} here: give {' and '.join(lost)}, too"
                raise BadInput(f"{needed}, or name one column of sizes with x= (--x)")
            raise BadInput(
                f"this is a law of {lost[0]}: give {lost[0]}=, or name another column with x= (--x)"
            )
        return given

    def _at(
        self, places: Mapping[str, np.ndarray], level: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[Reason, ...]]:
        if self.surface is not None:
            variables = dict(zip(self.law.form.variables, places.values(), strict=True))
            low, high = self.surface.interval(variables, level=level)
            return np.asarray(self.surface.median(variables)), low, high, self.surface.others_weigh
        at, points = places[self.x[0]], self.chosen.table
        if self.automatic:  # what the law could not be fitted to was dropped
            found = extrapolate(points.x, points.y, at=at, level=level, nan_policy="drop")
            return found.mean, found.low, found.high, found.notes
        values, ends = np.asarray(self.law.predict(at)), self.law.interval(at, level)
        if self.law.points.complement:  # of an accuracy that was fitted as 1 - y
            values, ends = 1 - values, ends.through(lambda y: 1 - y)
        return values, np.asarray(ends.low), np.asarray(ends.high), ()

    @property
    def remarks(self) -> Iterable[Remark]:
        """The summary as data: parameters with intervals, quality of the fit and warnings."""
        return (self.surface or self.law).remarks

    def summary(self, names: Mapping[str, str] | None = None) -> str:
        """In words, with sizes as the table counts them."""
        return super().summary({**self.chosen.names, **(names or {})})

    def notebook_table(self) -> pd.DataFrame:
        """One row a parameter."""
        return (self.surface or self.law).notebook_table()

    def to_dict(self) -> dict[str, Any]:
        ends = self.intervals
        return {
            "x": list(self.x), "y": self.y, "form": self.law.form.name, "equation": self.law.form.equation,
            "parameters": self.parameters, "intervals": {n: list(ends[n]) for n in ends},
            "points": len(self.law.points.y), "residual_std": self.law.residual_std,
            "notes": [note.to_dict() for note in (*self.chosen.lost, *self.notes)],
        }  # fmt: skip


@dataclass(frozen=True)
class Prediction(NotebookResult, WithEnds):
    """What was measured, at other sizes; made by `scalinglab.predict`.

    Attributes:
        at: the sizes by column.
        y: the column that is predicted.
        mean, low, high: the median of the prediction and the ends of its interval, each a number or an array
            like those of `at`.
        level: of the interval.
        beyond: how many times the largest run (of several sizes: their product).
        units: what each size counts.
        notes: what a reader should know.
        fit: what it was made from.
    """

    at: Mapping[str, Any]
    y: str
    mean: Any
    low: Any
    high: Any
    level: float
    beyond: Any
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Reason, ...] = ()
    fit: Fit | None = None

    def notebook_table(self) -> pd.DataFrame:
        """One row a place."""
        import pandas as pd

        columns = {**self.at, self.y: self.mean, "low": self.low, "high": self.high, "beyond": self.beyond}
        return pd.DataFrame({name: np.ravel(values) for name, values in columns.items()})

    @property
    def remarks(self) -> Iterator[Remark]:
        named = self.fit is not None and self.fit.surface is None and not self.fit.automatic
        assumed = Reason("if_form_holds") if named else ""
        for row in self.notebook_table().to_dict("records"):
            sizes = [_sized(row[name], self.units.get(name, name), name) for name in self.at]
            place = ", ".join([" on ".join(sizes[:2]), *sizes[2:]])
            far = Reason("beyond_run", times=row["beyond"]) if row["beyond"] > 1 else ""
            found = (Estimate if self.fit is None else self.fit.chosen.measured)(
                row[self.y], low=row["low"], high=row["high"]
            )
            ends = {"value": found.value, "low": found.low, "high": found.high, "level": self.level}
            called = self.y if self.fit is None else self.fit.chosen.called or self.y
            yield Reason("predicted", y=called, place=place, far=far, assumed=assumed, **ends)
        yield from noted(self.notes)

    def to_dict(self) -> dict[str, Any]:
        return {
            "y": self.y, "level": self.level, "predictions": self.notebook_table().to_dict("records"),
            "notes": [note.to_dict() for note in self.notes],
        }  # fmt: skip


def _sized(value: float, unit: str, name: str) -> str:
    return f"{name} = {value:.4g}" if unit == name else f"{count(value)} {unit}"
