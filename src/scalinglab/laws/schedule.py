"""The loss along a training under a learning-rate schedule: fit two or three, predict others, find the best.

>>> from scalinglab.laws import schedule
>>> plan = schedule.cosine(peak=3e-4, total=24_000, warmup=2_160, final=3e-5)
>>> float(plan(24_000))
3e-05

`fit` takes runs (schedule, steps, losses) and gives a `ScheduleLaw`: `predict` with bands for any other
schedule, and `best_schedule` for a budget of steps. The laws are in `scalinglab.laws.forms.schedules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import optimize

from scalinglab.errors import BadInput
from scalinglab.laws.extrapolation import forecasters
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.fit import fit_points
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.forms import schedules
from scalinglab.laws.forms.base import Form
from scalinglab.laws.forms.schedules import Run
from scalinglab.results.distributions import Interval, Student, interval
from scalinglab.results.types import Reason, Remark, Worded, noted
from scalinglab.support.validation import checked

AVERAGE = "average"  # of the laws
# measured: benchmarks/schedules.py --choices: Huber's thresholds of ln loss. None is best for all schedules,
# so predictions are averaged over all; the parameters of the first are printed
THRESHOLDS = (5e-4, 2.5e-4, 1e-3)
# measured: benchmarks/schedules.py: the noise of ln loss, large enough for the bands to hold left-out runs;
# more than that of a checkpoint, since the checkpoints of a run err together
NOISE = 5e-3
STEEPEST = 2.0  # search: largest g of a misfit S^-g
# search: pieces into which a rise and a fall of the rate are cut; sums over them agree with those over every
# step (tests/laws/test_schedule.py, test_cells_agree_with_the_sum_over_every_step)
WARM_CELLS, DECAY_CELLS = 24, 160


@dataclass(frozen=True, eq=False)
class Schedule:
    """A learning rate, linear between knots; two knots at one step are a jump.

    Attributes:
        step: (knots,), not decreasing, from 0.
        rate: (knots,).
    """

    step: np.ndarray
    rate: np.ndarray

    def __post_init__(self) -> None:
        step, rate = np.asarray(self.step, float), np.asarray(self.rate, float)
        if step.ndim != 1 or step.shape != rate.shape or len(step) < 2:
            raise BadInput("a schedule needs two arrays of the same length, steps and rates")
        if (np.diff(step) < 0).any() or step[0] < 0:
            raise BadInput("the steps of a schedule must not decrease, and start at 0 or later")
        if (rate < 0).any() or not np.isfinite(rate).all() or rate.max() <= 0:
            raise BadInput(f"rates must be 0 or more, and not all 0; the lowest is {rate.min():g}")
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "rate", rate)

    def __call__(self, step: Any) -> np.ndarray:
        """The rate at a step, after a jump there."""
        at = np.searchsorted(self.step, np.asarray(step, float), side="right")
        low, high = np.clip(at - 1, 0, len(self.step) - 1), np.clip(at, 0, len(self.step) - 1)
        width = np.maximum(self.step[high] - self.step[low], 1e-300)
        share = np.clip((np.asarray(step, float) - self.step[low]) / width, 0, 1)
        return np.asarray(self.rate[low] + share * (self.rate[high] - self.rate[low]))

    @property
    def total(self) -> float:
        """The last step."""
        return float(self.step[-1])

    def area(self, step: Any) -> np.ndarray:
        """S: the sum of the rates until a step."""
        parts = np.diff(self.step) * (self.rate[1:] + self.rate[:-1]) / 2
        whole = np.concatenate([[0.0], np.cumsum(parts)])
        at = np.asarray(step, float)
        place = np.clip(np.searchsorted(self.step, at, side="right") - 1, 0, len(self.step) - 1)
        inside = (at - self.step[place]) * (self(at) + self.rate[place]) / 2
        return np.asarray(whole[place] + np.where(at > self.step[place], inside, 0.0))

    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the rate changes: the middle step, the drop and the rate after it, of every piece."""
        change = np.flatnonzero(np.diff(self.rate) != 0)
        middle = (self.step[change] + self.step[change + 1]) / 2
        jump = self.step[change + 1] == self.step[change]
        after = np.where(jump, self.rate[change + 1], (self.rate[change] + self.rate[change + 1]) / 2)
        return middle, self.rate[change] - self.rate[change + 1], np.maximum(after, 1e-6 * self.rate.max())


def _warm(peak: float, warmup: float) -> tuple[np.ndarray, np.ndarray]:
    if warmup <= 0:
        return np.array([0.0, 0.0]), np.array([0.0, peak])
    step = np.linspace(0, warmup, WARM_CELLS + 1)
    return step, peak * step / warmup


@checked
def constant(peak: float, total: float, warmup: float = 0) -> Schedule:
    """Linear warm-up, then the peak until the end."""
    step, rate = _warm(peak, warmup)
    return Schedule(np.append(step, total), np.append(rate, peak))


@checked
def cosine(peak: float, total: float, warmup: float = 0, final: float = 0.0) -> Schedule:
    """Linear warm-up, then half a cosine down to `final`."""
    step, rate = _warm(peak, warmup)
    share = np.linspace(0, 1, DECAY_CELLS + 1)[1:]
    fall = final + (peak - final) * (1 + np.cos(np.pi * share)) / 2
    return Schedule(np.append(step, warmup + share * (total - warmup)), np.append(rate, fall))


@checked
def wsd(
    peak: float, total: float, decay_from: float, warmup: float = 0, final: float = 0.0,
    shape: str = "exponential",
) -> Schedule:  # fmt: skip
    """Warm-up, stable, decay from a step on: "exponential" (final above 0) or "linear"."""
    step, rate = _warm(peak, warmup)
    share = np.linspace(0, 1, DECAY_CELLS + 1)
    if shape == "exponential":
        if not final > 0:
            raise BadInput(f"final={final:g}: an exponential decay needs a final rate above 0")
        fall = peak * (final / peak) ** share
    elif shape == "linear":
        fall = peak + (final - peak) * share
    else:
        raise BadInput(f"shape={shape!r} must be 'exponential' or 'linear'")
    return Schedule(np.append(step, decay_from + share * (total - decay_from)), np.append(rate, fall))


@checked
def drop(peak: float, total: float, at: float, to: float, warmup: float = 0) -> Schedule:
    """Warm-up, the peak until step `at`, and another constant from there on."""
    step, rate = _warm(peak, warmup)
    return Schedule(np.append(step, [at, at, total]), np.append(rate, [peak, to, to]))


@checked
def recorded(step: Any, rate: Any, warmup: float = 0) -> Schedule:
    """A schedule from the rates that a log recorded, after a linear warm-up to the first of them."""
    at, rates = np.asarray(step, float).ravel(), np.asarray(rate, float).ravel()
    if not warmup >= 0:
        raise BadInput(f"warmup={warmup:g} must be 0 or more: steps before the first that was recorded")
    warm_step, warm_rate = _warm(float(rates[0]), min(warmup, float(at[0])))
    later = (at > warm_step[-1]) & _knots(rates)
    return Schedule(np.append(warm_step, at[later]), np.append(warm_rate, rates[later]))


def _knots(rates: np.ndarray) -> np.ndarray:
    """Which recorded rates to keep: the ends of constant pieces, and changes by 1/`DECAY_CELLS` of the peak.

    More pieces cost time and change parameters by a hundredth of their errors only.
    """
    change = np.abs(np.diff(rates))
    cell = rates.max() / DECAY_CELLS
    level = np.floor(np.r_[0.0, np.cumsum(change)] / cell)
    moves = np.r_[False, change > 0, False]  # before and after each rate
    needed = np.ones(len(rates), bool)
    needed[1:-1] = (level[1:-1] != level[:-2]) | (moves[1:-2] != moves[2:-1]) | (change[1:] > cell)
    return needed


@dataclass(frozen=True, eq=False)
class ScheduleLaw(Worded):
    """A law fitted to runs under several schedules.

    Attributes:
        law: the fit; its parameters by name, those of one group as ``L0[group]``.
        runs: what was fitted.
        groups: names of the groups, in order.
        rival: the other law, fitted to the same runs; where the two disagree the band is wider.
        others: the same law, fitted with the other thresholds; predictions average over all thresholds.
        average: whether predictions also average over the law and its rival.
    """

    law: Law
    runs: tuple[Run, ...]
    groups: tuple[str, ...]
    rival: ScheduleLaw | None = None
    others: tuple[Law, ...] = ()
    average: bool = False

    @property
    def parameters(self) -> dict[str, float]:
        """The fitted values by name; C is per unit of S at the peak rate."""
        return self.law.parameters

    def predict(self, plan: Schedule, steps: Any, *, group: str | None = None) -> np.ndarray:
        """The loss along a training under another schedule."""
        form, where = self._form(plan, steps, group)
        each = [form.function(where, *_values(form, law)) for law in (self.law, *self.others)]
        logs = np.mean(np.log(each), axis=0)
        if self.average and self.rival is not None:
            logs = (logs + np.log(self.rival.predict(plan, steps, group=group))) / 2
        return np.asarray(np.exp(logs))

    def interval(
        self, plan: Schedule, steps: Any, *, group: str | None = None, level: float = 0.95
    ) -> Interval:
        """The band in which a new run under this schedule is expected; see `variances`."""
        loss = self.predict(plan, steps, group=group)
        variance = np.sum([*self.variances(plan, steps, group=group).values()], axis=0)
        # variances by rules, no count: a Gaussian
        return interval(Student(np.log(loss), np.sqrt(variance)), level, natural=np.exp)

    def variances(self, plan: Schedule, steps: Any, *, group: str | None = None) -> dict[str, np.ndarray]:
        """The variances of ln loss that make up the band, by source.

        - "fit": the uncertainty of the parameters, with the noise `NOISE`;
        - "misfit": the square of the misfit of the fitted runs at the same S (`misfit_at`);
        - "rival": the squared difference to the rival law;
        - "beyond": a change of the slope of ln loss against ln S (`forecasters.SLOPE`), S the sum of rates,
          for each factor e in steps beyond the longest fitted run. Steps count, and not S, by which a long
          run whose rate falls would be hardly longer.
        """
        if self.average and self.rival is not None:
            alone = replace(self, average=False).variances(plan, steps, group=group)
            other = self.rival.variances(plan, steps, group=group)
            # the variance of two equally weighted values is a quarter of their squared difference
            share = {name: 0.25 if name == "rival" else 0.5 for name in alone}
            return {name: share[name] * (alone[name] + other[name]) for name in alone}
        form, where = self._form(plan, steps, group)
        values, loss = _values(form, self.law), self.predict(plan, steps, group=group)
        assert form.gradient is not None
        slopes = np.stack(form.gradient(where, *values), axis=-1)
        logs = np.array([p.log for p in form.parameters])
        slopes = slopes * np.where(logs, values, 1.0) / loss[:, None]
        places = [self.law.form.names.index(p.name) for p in form.parameters]
        covariance = self._covariance()[np.ix_(places, places)]
        area = plan.area(np.atleast_1d(np.asarray(steps, float)))
        longest = max(run.last for run in self.runs)
        distance = np.log(np.maximum(np.atleast_1d(np.asarray(steps, float)) / longest, 1.0))
        named = dict(zip(form.names, values, strict=True))
        own = next(name for name in form.names if name.startswith("alpha"))[len("alpha") :]  # of the group
        falling = named[f"alpha{own}"] * named[f"A{own}"] * np.exp(-named[f"alpha{own}"] * np.log(area))
        slope = falling / np.asarray(form.function(where, *values))
        rival = 0.0 if self.rival is None else np.log(self.rival.predict(plan, steps, group=group) / loss)
        return {
            "fit": np.sum(slopes @ covariance * slopes, axis=1), "misfit": self.misfit_at(area) ** 2,
            "rival": np.full(len(loss), rival**2), "beyond": (forecasters.SLOPE * slope * distance) ** 2,
        }  # fmt: skip

    @property
    def misfit(self) -> float:
        """Root mean square of the residuals of ln loss."""
        return float(np.sqrt(np.mean(self.law.residuals**2)))

    def misfit_at(self, area: np.ndarray) -> np.ndarray:
        """(n,) the misfit where the sum of rates is S: c S^-g within the fitted S, by maximum likelihood.

        Laws err several times as much right after the warm-up as later on.
        """
        fitted, squares = np.log(np.concatenate([run.area for run in self.runs])), self.law.residuals**2
        fitted, at = (np.minimum(v, fitted.max()) - fitted.max() for v in (fitted, np.log(area)))
        if not np.mean(squares) > 0:
            return np.zeros(len(area))

        def minus_log_likelihood(g: float) -> float:
            """By 2/n, c being the best with this g; convex."""
            return float(np.log(np.mean(squares * np.exp(2 * g * fitted))) - 2 * g * np.mean(fitted))

        g = optimize.minimize_scalar(minus_log_likelihood, bounds=(0.0, STEEPEST), method="bounded").x
        return np.asarray(np.sqrt(np.mean(squares * np.exp(2 * g * fitted))) * np.exp(-g * at))

    def best_schedule(
        self, total: float, *, peak: float | None = None, warmup: float = 0, group: str | None = None,
        pieces: int = 60,
    ) -> Schedule:  # fmt: skip
        """The non-increasing schedule of `total` steps that ends at the lowest loss.

        Args:
            peak: the rate after warm-up; by default that of the fitted runs.
            pieces: into which the fall is cut, linear in between.
        """
        if not total > warmup >= 0:
            raise BadInput(f"total={total:g} must exceed the warm-up of {warmup:g} steps, which is 0 or more")
        top = self.runs[0].peak if peak is None else peak
        step, rate = _warm(top, warmup)
        later = np.linspace(warmup, total, pieces + 1)[1:]

        def plan(z: np.ndarray) -> Schedule:
            share = np.exp(z - z.max())
            fall = np.cumsum(share[:-1]) / share.sum()  # the last share is the rate at the end
            return Schedule(np.append(step, later), np.append(rate, top * np.maximum(1 - fall, 1e-6)))

        def final(z: np.ndarray) -> float:
            return float(self.predict(plan(z), [total], group=group)[0])

        starts = [np.zeros(pieces + 1), np.linspace(-6, 2, pieces + 1), np.r_[np.full(pieces, -6.0), 2.0]]
        found = [
            optimize.minimize(final, z, method="L-BFGS-B", options={"maxiter": 60, "maxfun": 8000})
            for z in starts
        ]
        return plan(min(found, key=lambda f: f.fun).x)

    @property
    def remarks(self) -> Iterator[Remark]:
        form = self.law.form
        yield Reason("schedule_fit", form=form.name, equation=form.equation, doc=form.doc)
        yield Reason("schedule_points", points=len(self.law.points.y), runs=len(self.runs))
        for name, value in self.parameters.items():
            yield Reason("schedule_parameter", name=name, value=value)
        yield Reason("schedule_misfit", misfit=self.misfit)
        if self.average and self.rival is not None:
            yield Reason("schedule_average", other=self.rival.law.form.name)
        if len(self.runs) == 1:
            yield from noted([Reason("one_schedule")])

    def _form(self, plan: Schedule, steps: Any, group: str | None) -> tuple[Form, np.ndarray]:
        name = self.groups[0] if group is None else group
        if name not in self.groups:
            raise BadInput(f"group={group!r} must be one of {', '.join(self.groups)}")
        at = np.atleast_1d(np.asarray(steps, float))
        run = prepare(plan, at, name, self.runs[0].peak)
        kernel = schedules.get(self.law.form.name)
        return schedules.bind(kernel, [run], shifts=False), np.arange(1, len(at) + 1)

    def _covariance(self) -> np.ndarray:
        law = self.law
        jacobian = law.problem.jacobian(law.coordinates[None])[0]
        size = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
        inverse = np.linalg.pinv((jacobian / size).T @ (jacobian / size))
        return np.asarray(law.noise**2 * inverse / np.outer(size, size))


def _values(form: Form, law: Law) -> np.ndarray:
    return np.array([law.parameters[name] for name in form.names])


def prepare(plan: Schedule, steps: np.ndarray, group: str = "", peak: float | None = None) -> Run:
    """The sums over a schedule that a law needs at these steps; rates are relative to `peak`."""
    if (steps > plan.total).any() or (steps <= 0).any():
        raise BadInput(f"steps must lie in (0, {plan.total:g}], where the schedule is given")
    middle, drops, after = plan.cells()
    area = plan.area(steps)
    top = float(plan.rate.max()) if peak is None else peak
    return Run(
        area, drops, np.maximum(area[:, None] - plan.area(middle), 0.0),
        np.maximum(steps[:, None] - middle, 0.0), after / top, top, group, float(steps.max()),
    )  # fmt: skip


@checked
def fit(
    runs: Sequence[tuple[Schedule, Any, Any]] | Mapping[str, Sequence[tuple[Schedule, Any, Any]]],
    law: str = AVERAGE,
) -> ScheduleLaw:
    """Fit a law of schedules.

    Three runs do not tell the two laws apart, because the checkpoints of a run err together, and the better
    law differs from size to size (`benchmarks/schedules.py`). By default predictions therefore average both;
    the parameters of the first are printed.

    Args:
        runs: (schedule, steps, losses) of each run; or lists of those by the name of a group, such as a model
            size. Groups are fitted together, with their own L0, A, B and alpha and the other parameters
            shared.
        law: "multi_power", "annealing" or "average".
    """
    groups = dict(runs) if isinstance(runs, Mapping) else {"": list(runs)}
    if not groups or not all(groups.values()):
        raise BadInput("no runs: give (schedule, steps, losses) of two or three")
    peak = max(float(plan.rate.max()) for members in groups.values() for plan, _, _ in members)
    prepared, losses, labels = [], [], []
    for group, members in groups.items():
        for plan, steps, loss in members:
            at, measured = np.asarray(steps, float).ravel(), np.asarray(loss, float).ravel()
            if at.shape != measured.shape:
                raise BadInput(f"a run has {len(at)} steps and {len(measured)} losses: give one of each")
            prepared.append(prepare(plan, at, group, peak))
            losses.append(measured)
            labels += [len(prepared)] * len(at)
    y = np.concatenate(losses)
    data = points.check(np.arange(1, len(y) + 1), y, names=("point",), runs=labels)
    names = tuple(groups)
    own = next(iter(schedules.KERNELS)) if law == AVERAGE else schedules.get(law).name
    rival = next(name for name in schedules.KERNELS if name != own)
    other = ScheduleLaw(_fit(rival, prepared, data, THRESHOLDS[0]), tuple(prepared), names)
    first, *others = (_fit(own, prepared, data, threshold) for threshold in THRESHOLDS)
    return ScheduleLaw(first, tuple(prepared), names, other, tuple(others), law == AVERAGE)


def _fit(name: str, runs: Sequence[Run], data: points.Points, threshold: float) -> Law:
    """Fit one law to all runs; several groups start from separate fits."""
    form = schedules.bind(schedules.get(name), runs)
    groups = list(dict.fromkeys(run.group for run in runs))
    start = None
    if len(groups) > 1:
        start = _joined(name, form, runs, data, groups, threshold)
    return fit_points(form, data, delta=threshold, starts=4, noise=NOISE, start=start)


def _joined(
    name: str, form: Form, runs: Sequence[Run], data: points.Points, groups: Sequence[str], threshold: float
) -> np.ndarray:
    """A start for several groups: the parameters of each group alone, averaged where they are shared."""
    ends = np.cumsum([len(run.area) for run in runs])
    values: dict[str, list[float]] = {}
    for group in groups:
        places = [i for i, run in enumerate(runs) if run.group == group]
        rows = np.concatenate([np.arange(ends[i] - len(runs[i].area), ends[i]) for i in places])
        part = points.check(np.arange(1, len(rows) + 1), data.y[rows], names=("point",), runs=data.runs[rows])
        alone = _fit(name, [runs[i] for i in places], part, threshold)
        for key, value in alone.parameters.items():
            own = f"shift_{places[int(key.split('_')[1]) - 1] + 1}" if key.startswith("shift_") else key
            values.setdefault(own, []).append(value)
    return np.array([np.mean(values[n]) for n in form.names])
