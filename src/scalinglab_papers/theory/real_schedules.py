"""The theory of schedules beside laws fitted to real runs: 25 M and 100 M parameters under nine schedules.

The runs of Luo and others (2025). A language model stands for SGD on a power-law spectrum with label noise:

    loss(t) = L0 + s (L_theory(t) − σ²),   L_theory = `theory.dmft.one_pass` under the run's own schedule,

in which one step of the theory stands for `EVERY` of the run (at small rates k steps of rate η and batch B
are one of rate kη and batch kB). Fitted are L0, s, the exponents of task and spectrum, the unit of the rate
and the batch size, on the same three runs as `laws.schedule`. Both are scored on the other six, and each has
its own best schedule for 24,000 steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from scalinglab.data.tables import published_table
from scalinglab.errors import BadInput
from scalinglab.figures import style
from scalinglab.laws import schedule
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Number, Row, verdict
from scalinglab.theory import dmft

FITTED = ("cosine_24000", "constant_24000", "wsdcon_9")
HELD_OUT = ("constant_72000", "cosine_72000", "wsd_20000_24000", "wsdld_20000_24000", "wsdcon_3", "wsdcon_18")
PUBLISHED = {25: 0.00376, 100: 0.00435}  # mean errors of the published fits, by million parameters
PEAK, WARMUP, STABLE, TOTAL = 3e-4, 2160, 8000, 24_000
EVERY, KNOTS, MODES = 40, 24, 10**8
FIRST = 2500  # checkpoints before it are left out of the theory's fit: the end of warm-up
# (a − 1)/b, ln(b − 1), ln of the peak rate, ln(B − 1): two starts and bounds
STARTS = ((0.3, -0.7, -1.5, 3.0), (0.5, 0.0, -2.5, 2.0))
BOUNDS = ((0.02, -4.0, -8.0, -3.0), (3.0, 2.0, math.log(0.9), 12.0))


def runs(size: int) -> dict[str, pd.DataFrame]:
    """Steps and losses by the name of the schedule; an error that says what to do where they are missing."""
    origin = "github.com/thu-yao-01-luo/MultiPowerLaw, MIT"
    return {name: published_table(f"mpl2025/{size}/{name}.csv", origin) for name in (*FITTED, *HELD_OUT)}


def plan(name: str) -> schedule.Schedule:
    """The schedule that a run's name says."""
    kind, *numbers = name.split("_")
    total = float(numbers[-1])
    if kind == "cosine":
        return schedule.cosine(PEAK, total, WARMUP, PEAK / 10)
    if kind == "constant":
        return schedule.constant(PEAK, total, WARMUP)
    if kind == "wsdcon":
        return schedule.drop(PEAK, 2 * STABLE, STABLE, total * 1e-5, WARMUP)
    shape = "linear" if kind == "wsdld" else "exponential"
    return schedule.wsd(PEAK, total, float(numbers[0]), WARMUP, PEAK / 10, shape)


@dataclass(frozen=True)
class Fitted:
    """SGD on a power-law spectrum in place of a language model.

    Attributes:
        time_exponent: (a − 1)/b, of the loss in the sum of rates.
        spectral_exponent: b.
        peak: the rate of a step of the theory at the runs' peak.
        batch_size: B, at label noise 1.
        floor, scale: L0 and s.
    """

    time_exponent: float
    spectral_exponent: float
    peak: float
    batch_size: float
    floor: float = 0.0
    scale: float = 1.0

    @property
    def spectrum(self) -> Spectrum:
        """The power law."""
        task = 1 + self.time_exponent * self.spectral_exponent
        return Spectrum.power_law(task, self.spectral_exponent, MODES)

    def predict(self, given: schedule.Schedule, steps: np.ndarray) -> np.ndarray:
        """The loss along a run."""
        middle = (np.arange(round(given.total / EVERY)) + 0.5) * EVERY
        rates = self.peak * given(middle) / PEAK
        found = dmft.one_pass(self.spectrum, rates, self.batch_size, noise=1.0).test_loss - 1
        return self.floor + self.scale * np.interp(np.asarray(steps) / EVERY, np.arange(len(found)), found)

    def best_schedule(self) -> schedule.Schedule:
        """The theory's best schedule of `TOTAL` steps below the same peak, after the runs' warm-up."""
        found = dmft.best_schedule(
            self.spectrum, TOTAL // EVERY, self.batch_size, noise=1.0, knots=KNOTS, highest=self.peak,
            most_rounds=60,
        )  # fmt: skip
        middle = (np.arange(len(found.rates)) + 0.5) * EVERY
        rates = PEAK * np.minimum(found.rates / self.peak, middle / WARMUP)
        return schedule.Schedule(np.r_[0.0, middle, TOTAL], np.r_[0.0, rates, rates[-1]])


def fit(files: dict[str, pd.DataFrame]) -> Fitted:
    """Least squares of the losses of the fitted runs; L0 and s are solved for."""
    seen = {name: files[name][files[name]["step"] >= FIRST] for name in FITTED}
    losses = np.concatenate([rows["loss"] for rows in seen.values()])

    def solved(z: np.ndarray) -> tuple[Fitted, np.ndarray]:
        shape = Fitted(float(z[0]), 1 + math.exp(z[1]), math.exp(z[2]), 1 + math.exp(z[3]))
        along = [shape.predict(plan(name), rows["step"].to_numpy()) for name, rows in seen.items()]
        columns = np.stack([np.ones_like(losses), np.concatenate(along)], axis=1)
        linear = np.linalg.lstsq(columns, losses, rcond=None)[0]
        return replace(shape, floor=float(linear[0]), scale=float(linear[1])), columns @ linear - losses

    ends = [
        least_squares(lambda z: solved(z)[1], start, bounds=BOUNDS, diff_step=1e-4, max_nfev=40,
                      loss="soft_l1", f_scale=0.003)
        for start in STARTS
    ]  # fmt: skip
    return solved(min(ends, key=lambda end: end.cost).x)[0]


def part(runs_axis: style.Panel, best_axis: style.Panel) -> list[Row]:
    """Both panels and the table; rows without numbers where the runs are not at hand."""
    table = []
    best_axis.set(xlabel="share of steps", ylabel="rate over the peak", ylim=(0, 1.05))
    best_axis.set_title(f"the best {TOTAL:,} steps: theory (full), law (dashed)")
    for size, color in zip(PUBLISHED, style.PALETTE):
        try:
            files = runs(size)
        except BadInput as missing:
            table.append(Row(f"{size} M: error on other schedules, theory over law", None, expected=2.0,
                             relation="<", note=str(missing)))  # fmt: skip
            continue
        theory = fit(files)
        given = [(plan(name), files[name].step, files[name].loss) for name in FITTED]
        law = schedule.fit(given, law="multi_power")
        table += _rows(size, files, theory, law, best_axis, color)
        if size == min(PUBLISHED):
            _draw(runs_axis, size, files, theory)
    best_axis.legend(fontsize=7)
    return table


def _rows(
    size: int, files: dict[str, pd.DataFrame], theory: Fitted, law: schedule.ScheduleLaw, axis: style.Panel,
    color: str,
) -> list[Row]:  # fmt: skip
    errors = np.array(
        [[np.abs(model.predict(plan(name), files[name].step) - files[name].loss).mean()
          for name in HELD_OUT] for model in (theory, law)]
    )  # fmt: skip
    best = {"theory": theory.best_schedule(), "law": law.best_schedule(TOTAL, warmup=WARMUP, pieces=30)}
    steps = np.linspace(WARMUP, TOTAL, 400)
    for (name, one), line in zip(best.items(), ("-", "--")):
        axis.plot(steps / TOTAL, one(steps) / PEAK, line, color=color, label=f"{size} M, {name}")
    ends = {name: float(law.predict(one, [TOTAL])[0]) for name, one in best.items()}
    low = {name: float(np.mean(one(steps) < PEAK / 2)) for name, one in best.items()}
    end = np.array([TOTAL])
    cosine = [
        float(model.predict(plan("cosine_24000"), end)[0] - model.predict(own, end)[0])
        for model, own in ((theory, best["theory"]), (law, best["law"]))
    ]
    means = f"{errors[0].mean():.5f} and {errors[1].mean():.5f}; published {PUBLISHED[size]}"
    powers = f"exponent in the sum of rates {theory.time_exponent:.3f}, law {law.parameters['alpha']:.3f}"
    return [
        verdict.quotient(errors[0], errors[1]).row(
            f"{size} M: error on other schedules, theory over law", expected=2.0, relation="<",
            note=f"{means}; {powers}; b = {theory.spectral_exponent:.2f}"),
        Number(ends["theory"] - ends["law"], law.misfit * ends["law"]).row(
            f"{size} M: loss of the theory's best schedule, less that of the law's, both by the law",
            expected=0.0, relation="in", resolution=0.02, note=f"{ends['theory']:.4f} and {ends['law']:.4f}"),
        Number(low["theory"] - low["law"], 1 / (2 * KNOTS)).row(
            f"{size} M: share of steps below half the peak, the theory's best less the law's", expected=0.0,
            relation="in", resolution=0.1, note=f"{low['theory']:.3f} and {low['law']:.3f}"),
        Number(cosine[0] - cosine[1], law.misfit * ends["law"]).row(
            f"{size} M: what cosine loses against the best, by the theory less by the law", expected=0.0,
            relation="in", resolution=0.02, note=f"{cosine[0]:.4f} and {cosine[1]:.4f}"),
    ]  # fmt: skip


def _draw(axis: style.Panel, size: int, files: dict[str, pd.DataFrame], theory: Fitted) -> None:
    """Runs that were not fitted, and the theory."""
    axis.set(xlabel="step", ylabel="loss")
    axis.set_title(f"{size} M parameters, not fitted: measured (dots), theory")
    for name, color in zip(("cosine_72000", "wsd_20000_24000", "wsdcon_3"), style.PALETTE):
        steps, loss = files[name].step.to_numpy(), files[name].loss
        axis.plot(steps[8::6], loss[8::6], ".", ms=4, color=color, alpha=0.6)
        axis.plot(steps[8:], theory.predict(plan(name), steps[8:]), color=color, label=name)
    axis.legend(fontsize=7)
