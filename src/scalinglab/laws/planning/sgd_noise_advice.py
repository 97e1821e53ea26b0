"""Batch size and learning rate for another width, from runs at some widths (park2019, sections 4.1 and 5).

The optimal noise of a width is read off ḡ_opt ∝ w^p through the measured optima, with the power that the runs
have. ḡ = κ ε/B, with κ of the runs, turns it into a batch size at the learning rate of the runs and into a
learning rate at their batch size. The best test error is continued as a power law of width. A stable learning
rate is bounded and a batch is not smaller than one, so there is a critical width beyond which the optimal
noise cannot be reached. All intervals come from the resampled runs of `optimal_noise`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.curves.columns import varying_columns
from scalinglab.errors import BadInput
from scalinglab.laws.extrapolation.few_points import reach_of
from scalinglab.laws.fitting.statistics import WIDE
from scalinglab.laws.noise import OptimalNoise
from scalinglab.laws.noise.optimum import from_ends, powers
from scalinglab.laws.noise.runs import Ends, ends, resampled
from scalinglab.results.distributions import Estimate, slopes
from scalinglab.results.types import Reason, Remark, Worded, noted
from scalinglab.support.validation import checked


@dataclass(frozen=True)
class NoiseAdvice(Worded):
    """What to run at another width.

    Attributes:
        width: as a multiple of the family's base width, as settings have it.
        widening_factor: the same as w of park2019; NaN where the runs do not give it.
        noise: optimal normalized noise scale.
        learning_rate, batch_size_there: the rate of the runs, and the batch size that goes with it.
        batch_size, learning_rate_there: the batch size that is best for the widest network, and the rate that
            goes with it.
        error: expected test error (or loss) there.
        gain: by how much it is below the best of the widest network that was run.
        retuning: what is lost with the batch size and rate that are best for the widest network; None where
            the search does not reach that far.
        critical_width: beyond which the optimum needs a batch below one, as a multiple of the base width.
        rate_is_bound: whether a larger rate failed; else the critical width is at least this.
        found: the optima behind it.
        scheme: "ntk" or "standard".
        notes: what limits the advice.
    """

    width: float
    widening_factor: float
    noise: Estimate
    learning_rate: float
    batch_size_there: Estimate
    batch_size: float
    learning_rate_there: Estimate
    error: Estimate
    gain: Estimate
    retuning: Estimate | None
    critical_width: Estimate
    rate_is_bound: bool
    found: OptimalNoise
    scheme: str
    notes: tuple[Reason, ...] = ()

    @property
    def remarks(self) -> Iterator[Remark]:

        def ends(of: Estimate) -> Reason:
            return Reason("ends", of=of)

        w = self.widening_factor
        widest = self.found.multiple[-1] if np.isfinite(self.found.multiple[-1]) else self.found.width[-1]
        widening = Reason("widening_factor", w=w) if np.isfinite(w) else ""
        yield Reason("advice_width", width=self.width, widening=widening, noise=ends(self.noise))
        yield Reason("advice_batch", rate=self.learning_rate, size=ends(self.batch_size_there))
        yield Reason("advice_rate", size=self.batch_size, rate=ends(self.learning_rate_there))
        yield Reason("advice_error", error=ends(self.error))
        yield Reason("advice_gain", gain=ends(self.gain), width=widest)
        if self.retuning is not None:
            yield Reason("advice_retuning", width=widest, worse=ends(self.retuning))
        code = "advice_critical" if self.rate_is_bound else "advice_critical_bound"
        yield Reason(code, width=ends(self.critical_width))
        yield from noted(self.notes)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as a document."""
        own = {name: value for name, value in vars(self).items() if name != "found"}
        numbers = {name: asdict(v) if isinstance(v, Estimate) else v for name, v in own.items()}
        return {**numbers, "p": asdict(self.found.power), "verdict": self.found.verdict}


@checked
def noise(
    curves: Curves, width: float, *, y: str | None = None, draws: int = 2000, seed: int = 0
) -> NoiseAdvice:
    """Batch size and learning rate for another width.

    Args:
        curves: runs of one network family at three widths or more, each with a search over batch sizes or
            learning rates and two seeds or more.
        width: as a multiple of the family's base width, in the units of the settings' `width`.
        y: what is best, see `optimal_noise`.
        draws, seed: of resampled runs.

    Raises:
        BadInput: where the runs do not determine it, with the reason.
    """
    if not (np.isfinite(width) and width > 0):
        raise BadInput(f"width = {width}: give a positive multiple of the family's base width")
    runs = ends(curves, "normalized_noise_scale", y)
    _one_kind(runs)
    found = from_ends(runs, draws=draws, seed=seed)
    if not found.bounded or not np.isfinite(found.power.low):
        raise BadInput(f"no advice for width {width:g}: {found.reason}")
    w = width * _units(found)
    reach = (1 + 1e-9) * reach_of(found.width[0], found.width[-1])
    if w > reach * found.width[-1] or w < found.width[0] / reach:
        raise BadInput(
            f"no advice for width {width:g}: the runs end at {found.width[-1] / _units(found):g}, and more "
            f"than {reach:.3g} times that is a guess; run a width in between"
        )
    scale, power = _lines(found)
    optimum = _power_law(scale, power, w)
    if not optimum.high < WIDE * optimum.low:
        raise BadInput(
            f"no advice for width {width:g}: its optimal noise lies anywhere in [{optimum.low:.3g}, "
            f"{optimum.high:.3g}] (p in [{found.power.low:.2f}, {found.power.high:.2f}]); repeat the runs "
            "with more seeds or add widths"
        )
    scheme, kappa = _kappa(runs, w)
    rate = float(runs.frame["learning_rate"].mode().iloc[0])
    batch = _batch_of_widest(runs, found)
    drawn = np.exp(scale[1:] + power[1:] * np.log(w))
    error, gain = _error(found, w)
    critical, is_bound = _critical(runs, scale, power)
    there = Estimate.from_draws(kappa * rate / optimum.value, kappa * rate / drawn)
    return NoiseAdvice(
        width=float(width), widening_factor=float(w) if found.width_column == "widening_factor" else np.nan,
        noise=optimum, learning_rate=rate, batch_size_there=there, batch_size=batch,
        learning_rate_there=Estimate.from_draws(optimum.value * batch / kappa, drawn * batch / kappa),
        error=error, gain=gain, retuning=_retuning(found, w, scheme, scale, power),
        critical_width=_divided(critical, _units(found)), rate_is_bound=is_bound, found=found, scheme=scheme,
        notes=_notes(runs, there, found),
    )  # fmt: skip


def _one_kind(runs: Ends) -> None:
    """Advice is for one family on one data set in one scheme."""
    kinds = ("model", "dataset", "parameterization", "depth", "batch_norm", "n_data")
    for column in varying_columns(runs.frame, runs.frame.columns.intersection(kinds, sort=False)):
        values = ", ".join(map(str, runs.frame[column].unique()[:4]))
        raise BadInput(f"the runs mix values of {column} ({values}): choose one with --where {column}=…")


def _units(found: OptimalNoise) -> float:
    """The law's units of width in one multiple of the base width."""
    if found.width_column == "width" or not np.isfinite(found.multiple).all():
        return 1.0
    return float(np.median(found.width / found.multiple))


def _lines(found: OptimalNoise) -> tuple[np.ndarray, np.ndarray]:
    """ln A and p of A w^p through the used optima: the measured ones first, then resampled ones."""
    width = found.width[found.used]
    noise = np.vstack([found.noise[found.used], found.draws[:, found.used]])
    exponent = powers(width, noise)
    return np.log(noise).mean(axis=1) - exponent * np.log(width).mean(), exponent


def _power_law(scale: np.ndarray, power: np.ndarray, w: float) -> Estimate:
    values = np.exp(scale + power * np.log(w))
    return Estimate.from_draws(values[0], values[1:])


def _kappa(runs: Ends, w: float) -> tuple[str, float]:
    """κ of ḡ = κ ε/B at the new width: in the standard scheme it grows with w."""
    for name in ("learning_rate", "batch_size"):
        if name not in runs.frame:
            raise BadInput(f"the runs have no column {name}, so noise cannot be turned into hyperparameters")
    own = runs.level * runs.frame["batch_size"].to_numpy(float) / runs.frame["learning_rate"].to_numpy(float)
    grows = np.ptp(own) > 1e-6 * own.max()
    scheme = "standard" if grows else "ntk"
    if "parameterization" in runs.frame:
        scheme = str(runs.frame["parameterization"].iloc[0])
    return scheme, float(np.median(own / runs.width) * w if scheme == "standard" else np.median(own))


def _batch_of_widest(runs: Ends, found: OptimalNoise) -> float:
    """The batch size that was tried nearest to the optimum of the widest network."""
    widest = (runs.width == found.width[-1]) & runs.trained
    nearest = np.argmin(np.abs(np.log(runs.level[widest] / found.noise[-1])))
    return float(runs.frame["batch_size"].to_numpy(float)[widest][nearest])


def _error(found: OptimalNoise, w: float) -> tuple[Estimate, Estimate]:
    """Expected error at a width by a power law of the best errors, and what it gains over the widest."""
    is_loss = found.y.endswith("loss")
    best = found.accuracy if is_loss else 1 - found.accuracy
    drawn = -found.best_draws if is_loss else 1 - found.best_draws
    values = np.log(np.maximum(np.vstack([best, drawn]), 1e-12))
    log = np.log(found.width)
    there = np.exp(values.mean(axis=1) + slopes(log, values) * (np.log(w) - log.mean()))
    gain = np.exp(values[:, -1]) - there
    return Estimate.from_draws(there[0], there[1:]), Estimate.from_draws(gain[0], gain[1:])


def _retuning(
    found: OptimalNoise, w: float, scheme: str, scale: np.ndarray, power: np.ndarray
) -> Estimate | None:
    """Score lost with the hyperparameters of the widest optimum, from the shape of its search."""
    widest = found.searches[-1]
    use = widest.usable
    kept = np.log(found.noise[-1] * (w / found.width[-1] if scheme == "standard" else 1.0))
    off = kept - (scale + power * np.log(w))  # ln of noise kept over the optimum, value and draws
    level = np.log(widest.level[use])
    middle = scale + power * np.log(found.width[-1])
    if not level[0] <= middle[0] + off[0] <= level[-1]:
        return None
    means = np.vstack([widest.mean[use], resampled(widest, len(off) - 1, (11,))[0][:, use]])
    lost = [
        row.max() - np.interp(np.clip(at, level[0], level[-1]), level, row)
        for row, at in zip(means, middle + off, strict=True)
    ]
    return Estimate.from_draws(lost[0], lost[1:])


def _critical(runs: Ends, scale: np.ndarray, power: np.ndarray) -> tuple[Estimate, bool]:
    """Width at which the optimal noise is that of batch size 1 at the largest rate that trained."""
    batch = runs.frame["batch_size"].to_numpy(float)
    largest = float((runs.level * batch)[runs.trained].max())  # ḡ at B = 1: normalized rates, in any scheme
    failed = bool(np.any((runs.level * batch)[~runs.trained] > largest))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        values = np.where(power > 0, np.exp((np.log(largest) - scale) / power), np.inf)
    return replace(Estimate.from_draws(values[0], values[1:]), stderr=float("nan")), failed


def _divided(number: Estimate, by: float) -> Estimate:
    return Estimate(number.value / by, number.stderr / by, number.low / by, number.high / by)


def _notes(runs: Ends, batch: Estimate, found: OptimalNoise) -> tuple[Reason, ...]:
    notes = []
    if batch.value < 1:
        notes.append(Reason("batch_below_one"))
    if found.verdict != "holds":
        notes.append(Reason("power_of_the_runs", verdict=found.verdict, why=found.reason))
    if "batch_norm" in runs.frame and runs.frame["batch_norm"].eq(True).any():
        notes.append(Reason("noise_with_batch_norm"))
    return tuple(notes)
