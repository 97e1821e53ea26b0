"""A law: a fitted form with what was fitted and how sure the fit is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.laws.fitting.bend import SIGNIFICANT
from scalinglab.laws.fitting.data.points import check, shaped
from scalinglab.laws.fitting.solution import Certificate, Solution, closed, in_order, open_ended
from scalinglab.laws.fitting.uncertainty import intervals, profile
from scalinglab.laws.fitting.uncertainty.diagnostics import Diagnosis, diagnose
from scalinglab.laws.fitting.uncertainty.profile import Bootstrap
from scalinglab.laws.fitting.uncertainty.shared_errors import SharedErrors
from scalinglab.results import fits
from scalinglab.results.distributions import FEWEST, Interval, of_average
from scalinglab.results.fits import ParameterRow
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.types import Reason, Remark, inside
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    import pandas as pd

    from scalinglab.laws.fitting.data.points import Points

__all__ = ["Certificate", "Interval", "Law"]


@dataclass(frozen=True, repr=False)
class Law(Solution, NotebookResult):
    """A fitted form with its uncertainty; made by `fit`.

    Attributes:
        refitted: fits the form to other points, with the options of `fit_points`.
    """

    refitted: Callable[..., Law] | None = None

    def predict(self, x: Any = None, **sizes: Any) -> Any:
        """The law at sizes: a number or an array of one variable, several by name, ``n_params=1e9, …``.

        Args:
            x: the sizes, of one variable; or a mapping or frame with the variables by name.
        """
        return self.at(in_order(self.form, x, sizes))

    @property
    def exponent(self) -> float:
        """The exponent; NaN where the data do not identify one (`summary` gives the reason)."""
        found = None if self.unidentified else self.form.get_exponent(self.parameters)
        return float("nan") if found is None else float(found)

    @property
    def derived(self) -> dict[str, float]:
        """What follows from the parameters, such as the thresholds of `damico`."""
        return dict(self.form.derived(self.parameters)) if self.form.derived else {}

    # --- how sure it is --------------------------------------------------------------------------

    def interval(
        self, x: Any = None, level: float = 0.95, method: str = "auto", of: str = "law", **options: Any
    ) -> Interval:
        """The interval of the law at sizes, which are given as in `predict`.

        Seeds that their size moves together count as one point, as far as residuals show it (`by_sizes`).

        Args:
            level: of confidence.
            method: "profile" (likelihood, points independent), "bootstrap" (over runs), or "auto": the
                bootstrap where runs have several points each, the profile otherwise, averaged over noise
                that depends on size or is correlated along the curve (`diagnosis`).
            of: "law" (where the curve is) or "measurement" (where one more point would fall).
            options: of `intervals.known`; `form_error` gives what the form may miss, of a law.
        """
        sizes = {name: options.pop(name) for name in self.form.variables if name in options}
        at, missed = in_order(self.form, x, sizes), options.pop("form_error", None)
        parts, weight = self.by_sizes if method == "auto" else ((self,), np.ones(1))
        each = [
            intervals.of_law(
                law, at, level, method, of, diagnosis=lambda law=law: law.diagnosis,
                form_error=missed and missed(law), **options,
            )
            for law in parts
        ]  # fmt: skip
        if len(each) == 1:
            return each[0]
        with np.errstate(divide="ignore"):
            low, high = np.log(np.reshape(each, (len(each), 2, -1))).swapaxes(0, 1)
        middle = np.log(np.reshape([law.at(at) for law in parts], (len(each), -1)))
        found = of_average(middle, (low, high), weight, level, natural=np.exp)
        return found.through(lambda end: shaped(end, np.shape(at)))

    @cached_property
    def by_sizes(self) -> tuple[tuple[Law, ...], np.ndarray]:
        """This law and, where seeds repeat sizes, that of the mean of each size; the probability of each.

        Of one variable: where seeds of one size share an error, they count as one point.
        """
        data, chance = self.points, 0.0
        alike = data.error is None and not data.blocked and np.ptp(data.weight) == 0
        if data.x.ndim == 1 and alike and data.sizes > len(self.form.parameters):
            chance = SharedErrors(self).chance
        if not chance or self.refitted is None:
            return (self,), np.ones(1)
        loss = "huber" if np.isfinite(self.delta) else "squared"
        means = self.refitted(self.form, check(*data.means()), loss=loss)
        return (self, means), np.array([1 - chance, chance])

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Whether residuals are what the fit assumes: independent, without a break, of one size."""
        return diagnose(self)

    @cached_property
    def parameter_intervals(self) -> dict[str, Interval]:
        """95 % interval of every parameter and of `exponent`; infinite ends are not determined."""
        laws, weight = self.by_sizes
        each = [intervals.of_parameters(law, diagnosis=partial(getattr, law, "diagnosis")) for law in laws]
        if len(each) == 1:
            return each[0]
        bounds = intervals.bounds_of(self)
        names = [*self.form.names, "exponent"][: len(bounds[0])]
        ends = np.array([[part[name] for name in names] for part in each])
        width = np.min(ends[..., 1] - ends[..., 0], axis=0)
        unit = np.where(np.isfinite(width) & (width > 0), width, 1.0)
        low, high = np.moveaxis(ends, -1, 0)
        low, high = (
            np.where((low <= bounds[0]) & (low != 0), -np.inf, low),
            np.where(high < bounds[1], high, np.inf),
        )
        values = [{**law.parameters, "exponent": law.form.get_exponent(law.parameters)} for law in laws]
        middle = np.array([[value[name] for name in names] for value in values], float)
        scaled = low / unit, high / unit
        found = of_average(middle / unit, scaled, weight, natural=lambda end: end * unit, bounds=bounds)
        return each[0] | dict(zip(names, found.each(), strict=True))

    @cached_property
    def _identified(self) -> dict[str, bool]:
        """For every free parameter whether the data, and not its bounds, close its 95 % interval."""
        ends = self.parameter_intervals
        return {p.name: all(closed(p, ends[p.name])) for p in self.form.parameters}

    @cached_property
    def undetermined(self) -> tuple[str, ...]:
        """The parameters whose 95 % interval is open: their fitted values mean nothing."""
        return open_ended(self.parameter_intervals)

    @cached_property
    def unidentified(self) -> Reason | None:
        """Why the data do not identify the exponent; None where they do."""
        if self.form.exponent is None:
            return Reason("no_exponent", form=self.form.name)
        if isinstance(self.form.exponent, float):
            return None  # it was not asked for
        if self.dof < 1:
            counts = {"points": len(self.points.y), "parameters": len(self.form.parameters)}
            return Reason("no_freedom_left", **counts)
        low, high = self.parameter_intervals["exponent"]
        if np.isfinite(low):
            return None if np.isfinite(high) else Reason("exponent_from", low=float(low))
        if np.isfinite(high):
            return Reason("exponent_up_to", high=float(high))
        return Reason("exponent_of_any_size")

    @property
    def _rows(self) -> list[ParameterRow]:
        """The parameters, then what follows from them."""
        rows, ends, values = [], self.parameter_intervals, known_parameters(self)
        for name, value in values.items():
            if name in self.form.fixed or name in self.form.tied:
                rows.append(ParameterRow(name, value, given=self.form.given(name)))
            else:
                rows.append(ParameterRow(name, value, *ends[name], determined=self._identified[name]))
        if callable(self.form.exponent):
            rows.append(ParameterRow("exponent", self.form.get_exponent(self.parameters), *ends["exponent"]))
        return rows + [ParameterRow(n, value) for n, value in self.derived.items() if n not in values]

    @property
    def remarks(self) -> Iterator[Remark]:
        """What the summary says, as data: parameters with intervals, quality of the fit and warnings."""
        yield Reason("law", form=self.form.name, equation=self.form.equation_of())
        yield from inside([*self._quality, *self.certificate.remarks, *self.diagnosis.reasons])
        if self.form.exponent is not None and self.unidentified:
            yield from inside([Reason("not_identified", why=self.unidentified)])
        yield from inside((), self.notes)

    @property
    def _quality(self) -> Iterator[Reason]:
        x, counts = self.points.x, {"points": len(self.points.y), "sizes": self.points.sizes}
        if x.ndim > 1:
            yield Reason("fitted_points", **counts)
        else:
            yield Reason("fitted_curve", **counts, first=x.min(), last=x.max())
        yield from (row.remark for row in self._rows)
        scatter = "scatter_of_logs" if self.log else "scatter_of_values"
        yield Reason(scatter, std=self.residual_std, dof=self.dof)

    def notebook_table(self) -> pd.DataFrame:
        """One row a parameter: its value, its 95 % interval and whether the points determine it."""
        return fits.table(row for row in self._rows if row.name in self._identified)

    def to_dict(self) -> dict[str, Any]:
        return {
            "form": self.form.name,
            "equation": self.form.equation,
            "parameters": known_parameters(self),
            "intervals": {n: list(ends) for n, ends in self.parameter_intervals.items()},
            "exponent": self.exponent,
            "identified": not self.unidentified,
            "identified_parameters": self._identified,
            "problem": None if self.unidentified is None else self.unidentified.to_dict(),
            "lack_of_fit_pvalue": self.diagnosis.bend.pvalue,
            "diagnosis": [reason.to_dict() for reason in self.diagnosis.reasons],
            "derived": self.derived,
            "residual_std": self.residual_std,
            "points": len(self.points.y),
            "certificate": vars(self.certificate),
            "notes": [note.to_dict() for note in self.notes],
        }

    @property
    def notes(self) -> tuple[Reason, ...]:
        """Notes on the points, whether seeds count as one, and a caution where little tells the scatter."""
        one = self.by_sizes[1][1:]
        as_one = (Reason("seeds_as_one", chance=float(chance)) for chance in one if chance > SIGNIFICANT)
        return (*self.points.notes, *as_one, *scatter_caution(self.dof, self.points))

    def __repr__(self) -> str:
        values = ", ".join(f"{n}={v:.6g}" for n, v in self.parameters.items())
        return f"Law({self.form.name}: {values})"


@checked
def bootstrap(law: Law, draws: int = 1000, seed: int = 0, scheme: str = "auto") -> Bootstrap:
    """Refit the law to resampled runs, all at once.

    Args:
        draws: how many refits.
        seed: of the resampling.
        scheme: "resample" draws whole runs with replacement, for runs that cover several sizes each;
            "wild" keeps every size and flips the residuals of whole runs at random (with their leverage
            corrected), for runs that sit at one size each, where drawing runs would lose sizes; "auto"
            takes the one that fits. With ten runs a parameter and more, sizes are not lost.
    """
    return profile.bootstrap(law, draws, seed, scheme)


def known_parameters(law: Law) -> dict[str, float]:
    """The fitted values by name, NaN where the points determine none."""
    return {n: float("nan") if n in law.undetermined else v for n, v in law.parameters.items()}


def scatter_caution(dof: int, data: Points) -> tuple[Reason, ...]:
    """A caution where one or two degrees of freedom tell the scatter, and nothing else does.

    Student's intervals then hold 95 % of all tables, but fewer of those whose points happen to lie close to a
    curve: these have the narrow intervals.
    """
    if not 1 <= dof < FEWEST or data.error is not None:
        return ()
    return (Reason("few_dof", dof=int(dof)),)
