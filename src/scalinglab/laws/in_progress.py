"""The final loss of a run that is still training, from its losses so far and the schedule that is planned.

>>> import numpy as np
>>> from scalinglab.laws import schedule
>>> plan, steps = schedule.cosine(peak=1e-3, total=10_000, warmup=100), np.arange(200, 4_001, 50)
>>> found = final_loss(steps, 2.5 + 0.8 * (steps / 1e4) ** -0.5, schedule=plan)
>>> found.low < found.value < found.high, found.fraction, found.remaining
(True, 0.4, 6000.0)

The loss follows the multi-power law (`laws.forms.schedules`), each parameter with a Gaussian prior. Without
other runs the prior is wide (`ANY_RUN`), in units of the planned steps, the highest rate and the final loss.
Earlier runs of a study show what this run has not shown yet, such as how far the loss falls with the rate;
the prior is then centred on their values. Only the level L0 stays free, because in L = E + A N^-α + B D^-β
the part that falls along a run is the same for every N. Lengths are counted in steps at the highest rate; the
more the length differs from those of the earlier runs, the wider the prior.

The band is that of `ScheduleLaw.variances`. Its width is corrected by the errors of the same prediction for
earlier runs, cut at the same fraction, in units of their bands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.extrapolation import forecasters
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.fit import ENOUGH, fit_points
from scalinglab.laws.forms import schedules
from scalinglab.laws.forms.base import Parameter
from scalinglab.laws.schedule import NOISE, Schedule, ScheduleLaw, prepare
from scalinglab.results.distributions import OPEN, Interval, Student, check_level, interval
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.support.validation import checked

Run = tuple[Schedule, Any, Any]

# priors in normalised units, chosen on the runs of 25 M parameters of benchmarks/while_it_trains.py
ANY_RUN = (
    Parameter("L0", prior=(0.8, 0.2)),
    Parameter("A", 0.0, log=True, prior=(0.1, 1.0)),
    Parameter("B", 0.0, log=True, prior=(0.06, 0.7)),
    Parameter("alpha", prior=(0.5, 0.25)),
    Parameter("C", 0.0, log=True, prior=(12.0, 1.0)),
    Parameter("beta", 0.0, log=True, prior=(1.0, 0.5)),
    Parameter("gamma", prior=(0.5, 0.25)),
)
# measured: benchmarks/while_it_trains.py, on its smaller sizes: the spread of parameters within a study over
# that of any runs; twice that where all are of one network, and growing with the ratio of lengths
ALIKE = 0.2
# measured: `benchmarks/chosen.py in-progress`, on the smaller runs: the weight, in runs, of errors as large
# as a fit expects beside those of earlier runs; bands of 95 % hold 95 % of them with 1, 98 % with 2
PRIOR_COUNT = 1.0
LEAST = 0.1  # defined: the part of a run before which nothing is predicted
WARM = 0.02  # convention: the first part of a run, whose losses are left out
FEWEST = 3  # guard: losses needed for a line and its scatter
MOST = 60  # search: averages, even in the logarithm of steps, to which losses are reduced
ALARM = 0.999  # convention: the level of the band of `on_track`: one false alarm in a thousand checks


@dataclass(frozen=True)
class FinalLoss(Worded):
    """The loss at the last planned step; made by `final_loss`.

    Attributes:
        value, low, high: the median and the ends of the band of the loss measured at the end.
        level: of the band.
        fraction: part of the planned steps that is done.
        remaining: steps that are left.
        expected: (low, high) of the loss now, from the first half of the steps done and the earlier runs.
        on_track: whether the latest loss lies inside `expected`, a band of 99.9 %; without earlier runs a
            loss below it is no alarm, since a run may fall faster than a power law.
        earlier: runs that the prior comes from.
    """

    value: float
    low: float
    high: float
    level: float
    fraction: float
    remaining: float
    expected: Interval
    on_track: bool
    earlier: int

    @property
    def remarks(self) -> Iterator[Remark]:
        yield Reason(
            "final_loss", value=self.value, low=self.low, high=self.high, level=self.level,
            fraction=self.fraction, remaining=self.remaining,
        )  # fmt: skip
        if not self.on_track:
            low, high = self.expected
            yield Reason("off_track", low=low, high=high)

    def to_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "expected": list(self.expected)}


@checked
def final_loss(
    steps: Any, losses: Any, *, schedule: Schedule | None, total: float | None = None,
    like: Study | Sequence[Run] | Mapping[str, Sequence[Run]] | None = None, level: float = 0.95,
) -> FinalLoss:  # fmt: skip
    """The loss with which a run will end.

    Args:
        steps, losses: (n,) so far.
        schedule: the rate that is planned for all steps (`sl.laws.schedule.cosine`, …).
        total: the last planned step; by default that of the schedule.
        like: (schedule, steps, losses) of finished runs of the same network, or lists of those by the name of
            a network; or a `Study` of them, which is fitted once for several calls.
        level: of the band.

    Raises:
        NotDetermined: less than a tenth of the run is done, the schedule is not known, or the run diverged.
    """
    check_level(level)
    if schedule is None:
        raise NotDetermined(Reason("schedule_unknown"))
    own = Known.of(schedule, steps, losses, total)
    if own.fraction < LEAST * (1 - 1e-9) or len(own.step) < FEWEST:
        raise NotDetermined(
            Reason("run_too_early", fraction=own.fraction, least=LEAST, losses=len(own.step), needed=FEWEST)
        )
    study = like if isinstance(like, Study) else Study.of(like or ())
    prior = study.prior.at(own.total)
    value, scale = _predicted(own, prior, own.total)
    errors = study.errors(own.fraction)
    correction = np.sqrt((PRIOR_COUNT + np.sum(np.square(errors))) / (PRIOR_COUNT + len(errors)))
    freedom = PRIOR_COUNT + len(errors) if errors else np.inf
    at_end = Student(np.log(value), scale * correction, freedom)
    expected, half = OPEN.through(np.exp), own.until(own.step[-1] / 2)
    if len(half.step) >= FEWEST:
        now, width = _predicted(half, prior, own.step[-1])
        known = Student(np.log(now), np.hypot(width * correction, own.scatter))
        expected = interval(known, ALARM, natural=np.exp)
    on_track = bool((not study.runs or expected.low <= own.loss[-1]) and own.loss[-1] <= expected.high)
    return FinalLoss(
        value, *interval(at_end, level, natural=np.exp), level, own.fraction, own.total - own.last,
        expected, on_track, len(study.runs),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Known:
    """Losses of a run, finished or not: averages over pieces that are even in the logarithm of steps.

    Attributes:
        plan: the schedule, relative to its highest rate.
        step, loss: (pieces,).
        total, last: the last planned step, and the last one done.
        group: the name of the network.
    """

    plan: Schedule
    step: np.ndarray
    loss: np.ndarray
    total: float
    last: float
    group: str = ""

    @classmethod
    def of(
        cls, plan: Schedule, steps: Any, losses: Any, total: float | None = None, group: str = ""
    ) -> Known:
        """Checked, and reduced to `MOST` pieces."""
        step, loss = np.asarray(steps, float).ravel(), np.asarray(losses, float).ravel()
        if step.shape != loss.shape:
            raise BadInput(f"a run has {len(step)} steps and {len(loss)} losses: give one of each")
        last = plan.total if total is None else float(total)
        if not 0 < last <= plan.total:
            raise BadInput(f"total={last:g} must lie in (0, {plan.total:g}], where the schedule is given")
        if len(step) and (step.max() > last * (1 + 1e-9) or step.min() < 0):
            raise BadInput(f"steps must lie in [0, {last:g}], the last that is planned")
        order = np.argsort(step, kind="stable")
        step, loss = step[order], loss[order]
        if not np.isfinite(loss).all() or (loss <= 0).any():
            raise NotDetermined(
                Reason("run_diverged", step=float(step[~(np.isfinite(loss) & (loss > 0))][0]))
            )
        done = float(step[-1]) if len(step) else 0.0
        step, loss = step[step >= WARM * last], loss[step >= WARM * last]
        if len(step) > MOST:
            edges = np.geomspace(step[0], step[-1], MOST + 1)[1:-1]
            _, piece = np.unique(np.digitize(step, edges), return_inverse=True)
            count = np.bincount(piece)
            step, loss = np.bincount(piece, step) / count, np.bincount(piece, loss) / count
        return cls(Schedule(plan.step, plan.rate / plan.rate.max()), step, loss, last, done, group)

    @property
    def fraction(self) -> float:
        """The part of the planned steps that is done."""
        return self.last / self.total

    @property
    def scatter(self) -> float:
        """Standard deviation of one average of ln loss, from its neighbours."""
        if len(self.step) < 3:
            return 0.0
        return float(np.sqrt(forecasters.scatter(np.log(self.step), self.loss)))

    def until(self, step: float) -> Known:
        """The run as it was at an earlier step."""
        done = self.step <= step * (1 + 1e-9)
        return replace(self, step=self.step[done], loss=self.loss[done], last=step)

    def in_units(self, unit: float) -> Schedule:
        """The schedule over steps/unit."""
        return Schedule(self.plan.step / unit, self.plan.rate)


@dataclass(frozen=True)
class Prior:
    """The prior value and spread of every parameter, in units of a length and a loss; see `ANY_RUN`.

    Attributes:
        values: (value, spread) by parameter.
        length: the unit of steps.
        lengths, networks: of the runs that it comes from.
        loss: the unit of losses: the final loss of the longest run; None without runs.
    """

    values: Mapping[str, tuple[float, float]]
    length: float
    lengths: tuple[float, ...] = ()
    networks: int = 1
    loss: float | None = None

    def at(self, total: float) -> Prior:
        """The prior of a run of another length: the same curve over steps at the highest rate, but wider."""
        if not self.lengths:
            return Prior(self.values, total)
        ratio, alpha = total / self.length, self.values["alpha"][0]
        units = {"A": ratio**-alpha, "C": ratio}
        difference = min(abs(np.log(total / length)) for length in self.lengths)
        wider = ALIKE * (1 + difference) * (1 + 1 / self.networks)
        values = {}
        for name, (_, widest) in NO_RUN.values.items():
            value, spread = self.values[name]
            spread = widest if name == "L0" else min(np.hypot(spread, wider * widest), widest)
            values[name] = value * units.get(name, 1.0), spread
        return replace(self, values=values, length=total)


NO_RUN = Prior({p.name: p.prior for p in ANY_RUN if p.prior is not None}, 1.0)  # defined: no other run


@dataclass(frozen=True, eq=False)
class Study:
    """Finished runs, and the prior that they give for another."""

    runs: tuple[Known, ...]

    @classmethod
    def of(cls, like: Sequence[Run] | Mapping[str, Sequence[Run]]) -> Study:
        """From (schedule, steps, losses), of one network or by the name of a network."""
        groups = like if isinstance(like, Mapping) else {"": like}
        return cls(tuple(Known.of(*run, None, str(name)) for name, runs in groups.items() for run in runs))

    @cached_property
    def prior(self) -> Prior:
        """The prior from one fit of all runs, in which networks share C, beta and gamma."""
        if not self.runs:
            return NO_RUN
        length = max(run.total for run in self.runs)
        final = float(max(self.runs, key=lambda run: run.total).loss[-1])
        law = _fitted(self.runs, Prior(NO_RUN.values, length, loss=final))
        variance = dict(zip(law.law.form.names, np.diag(law._covariance()), strict=True))
        found = {}
        for p in ANY_RUN:
            names = [n for n in variance if n.split("[")[0] == p.name]
            values = np.array([law.parameters[n] for n in names])
            at = np.log(values) if p.log else values
            between = at.var(ddof=1) if len(at) > 1 else 0.0
            spread = np.sqrt(np.mean([variance[n] for n in names]) / len(names) + between)
            found[p.name] = float(np.exp(at.mean()) if p.log else at.mean()), float(spread)
        networks = len({run.group for run in self.runs})
        return Prior(found, length, tuple(run.total for run in self.runs), networks, final)

    @cached_property
    def _without_each(self) -> tuple[Prior, ...]:
        """For every run the prior from the others; none of a single run."""
        if len(self.runs) < 2:
            return ()
        return tuple(Study(tuple(o for o in self.runs if o is not run)).prior for run in self.runs)

    def errors(self, fraction: float) -> list[float]:
        """The errors of the runs' final losses, predicted from this fraction, in standard deviations.

        Each run is predicted with the prior of the others.
        """
        found = []
        for run, prior in zip(self.runs, self._without_each, strict=False):
            cut = run.until(fraction * run.total)
            if len(cut.step) >= FEWEST and run.fraction > 1 - WARM:
                value, scale = _predicted(cut, prior.at(run.total), run.step[-1])
                found.append(float(np.log(value / run.loss[-1]) / scale))
        return found


def _fitted(runs: Sequence[Known], prior: Prior) -> ScheduleLaw:
    """The multi-power law fitted to runs, in the units of the prior."""
    unit = prior.length
    prepared = [prepare(run.in_units(unit), run.step / unit, run.group, 1.0) for run in runs]
    y = np.concatenate([run.loss for run in runs]) / prior.loss
    labels = np.repeat(np.arange(len(runs)), [len(run.step) for run in runs])
    free = schedules.bind(schedules.get("multi_power"), prepared, shifts=len(runs) > 1)
    priors = {n: prior.values[n.split("[")[0]] for n in free.names if not n.startswith("shift_")}
    start = [priors[n][0] if n in priors else 0.0 for n in free.names]
    data = points.check(np.arange(1, len(y) + 1), y, names=("point",), runs=labels)
    noise = max([NOISE, *(run.scatter for run in runs)])
    law = fit_points(free.with_priors(priors), data, noise=noise, start=np.array(start), tolerance=ENOUGH)
    return ScheduleLaw(law, tuple(prepared), tuple(dict.fromkeys(run.group for run in runs)))


def _predicted(run: Known, prior: Prior, at: float) -> tuple[float, float]:
    """The loss at a later step and the standard deviation of its logarithm."""
    plan = run.in_units(run.total)
    where = np.array([at / run.total])
    unit = _usual_end(run, prior) if prior.loss is None else prior.loss
    law = _fitted([run], replace(prior, loss=unit))
    variance = sum(float(v[0]) for v in law.variances(plan, where, group=run.group).values())
    return float(law.predict(plan, where, group=run.group)[0]) * unit, float(np.sqrt(variance))


def _usual_end(run: Known, prior: Prior) -> float:
    """The final loss if the run goes on along the curve of the prior's values."""
    shape = prepare(run.in_units(run.total), np.append(run.step[-FEWEST:] / run.total, 1.0), "", 1.0)
    form = schedules.bind(schedules.get("multi_power"), [shape], shifts=False)
    values = (np.array(prior.values[n][0]) for n in form.names)
    loss = form.function(np.arange(1, len(shape.area) + 1), *values)
    return float(np.mean(run.loss[-FEWEST:]) * loss[-1] / np.mean(loss[:-1]))
