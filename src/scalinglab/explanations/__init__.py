"""Theory laid over a run: the solved curve at the run's own sizes and times, bottleneck, lazy or rich.

`explain` measures the tangent kernel of the run's network before training, solves the dynamics of
bordelon2024 for it, and compares the measured test loss with the solution at every checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from scalinglab.curves import Curves
from scalinglab.errors import BadInput, require
from scalinglab.results.types import written

require("torch", "train", "explaining runs")

from scalinglab.explanations import case as cases  # noqa: E402
from scalinglab.explanations import theory  # noqa: E402
from scalinglab.explanations.case import is_without_curve  # noqa: E402
from scalinglab.explanations.prediction import Predicted, predict  # noqa: E402
from scalinglab.explanations.theory import Doubling, Kernel  # noqa: E402
from scalinglab.results.notebook import NotebookResult  # noqa: E402
from scalinglab.results.sentences import Column  # noqa: E402
from scalinglab.results.types import Reason  # noqa: E402
from scalinglab.store import Store  # noqa: E402
from scalinglab.support.validation import checked  # noqa: E402
from scalinglab.train import run as train_run  # noqa: E402
from scalinglab.train.engine import with_own  # noqa: E402
from scalinglab.train.setting import Setting  # noqa: E402

SAMPLES = 1000  # inputs on which the kernel is measured
FEWEST = 16  # inputs of a kernel that has a spectrum to speak of
CLOSE = 0.1  # a network within 10 % of its kernel is lazy
NOTABLE = 0.01  # share of the loss that is noise to the kernel, from which on it is mentioned
WORDS = {
    "unknown": "unknown",
    "time": "training time",
    "data": "examples",
    "params": "width",
    "noise": "nothing",
}

__all__ = ["Doubling", "Explanation", "Predicted", "explain"]


@dataclass(frozen=True, eq=False)
class Explanation(NotebookResult):
    """A run beside its theory.

    Attributes:
        name: of the run.
        steps: checkpoints.
        measured: test loss there, a mean over outputs.
        theory: the solved test loss there; nan where the theory gives no curve.
        n_data: P, training examples.
        kernel: spectrum and exponents; None where the network has no kernel of this kind.
        bottleneck: "time", "data", "params" or "noise": what limits the loss at the last checkpoint.
        doublings: what doubling each would buy there.
        scatter: standard deviation of ln L at the end over draws of the examples, by descent with the kernel;
            nan where not known.
        slopes: measured ∂ ln L/∂ ln of "time", "data" and "params", where curves or other runs give one.
        never_learnt: the share of the loss there that no time, data or width removes.
        columns: kernel_drift and kernel_alignment along training, where they were measured.
        outside: where the theory does not apply.
        largest_rate: below which gradient descent on the kernel is stable; nan where there is no kernel.
        subject: what was trained, in words.
        redrawn: test loss at the checkpoints by descent with the kernel, without theory, the mean over other
            draws of the examples; None where the sample is smaller than twice the examples.
        trained_features: of a rich run, the solved loss of a network that trains its features; else None.
        richness: of that network, fitted to the measured losses; nan where there is none.
        case: the network, its data and its training, for predictions.
    """

    name: str
    steps: np.ndarray
    measured: np.ndarray
    theory: np.ndarray
    n_data: int
    kernel: Kernel | None
    bottleneck: str
    doublings: tuple[Doubling, ...]
    never_learnt: float
    columns: Mapping[str, np.ndarray]
    outside: tuple[Reason, ...]
    slopes: Mapping[str, float] = field(default_factory=dict)
    scatter: float = math.nan
    largest_rate: float = math.nan
    subject: str = ""
    redrawn: np.ndarray | None = None
    trained_features: np.ndarray | None = None
    richness: float = math.nan
    case: cases.Case | None = field(default=None, repr=False)

    def predict(
        self,
        n_data: ArrayLike | None = None,
        steps: ArrayLike | None = None,
        width: ArrayLike | None = None,
        level: float = 0.95,
    ) -> Predicted:
        """The test loss at sizes that were not run, with a band for one run there.

        Runs of the same network on other numbers of examples (`case.beside`) are used where there are some.

        Args:
            n_data: Training examples, a number or several; by default those of the run.
            steps: Steps of training, by default all of the run.
            width: As in the setting, by default that of the run.
            level: Probability of the band.

        Raises:
            NotDetermined: the theory gives no loss of this run, or none at that size.
        """
        return predict(self, n_data, steps, width, level)

    @property
    def ratio(self) -> np.ndarray:
        """Measured loss over theory at every checkpoint."""
        return self.measured / self.theory

    @property
    def over_kernel(self) -> np.ndarray:
        """Measured loss over that of descent with the kernel: on other draws where known, else solved."""
        return self.ratio if self.redrawn is None else self.measured / self.redrawn

    @property
    def close(self) -> float:
        """The deviation from the kernel's loss that counts: 10 %, or twice the scatter of one draw."""
        return max(CLOSE, 2 * self.scatter) if math.isfinite(self.scatter) else CLOSE

    @property
    def regime(self) -> str:
        """ "lazy" near its kernel at the end (`close`), "rich" below it, "worse" above it, "unknown"."""
        last = self.over_kernel[-1]
        if not math.isfinite(last):
            return "unknown"
        return "rich" if last < 1 - self.close else "worse" if last > 1 + self.close else "lazy"

    def table(self) -> pd.DataFrame:
        """Step, measured and solved loss, their ratio."""
        found = {"step": self.steps, "measured": self.measured, "theory": self.theory, "ratio": self.ratio}
        if self.redrawn is not None:
            found["redrawn"] = self.redrawn
        if self.trained_features is not None:
            found["trained_features"] = self.trained_features
        return pd.DataFrame(found | {k: v for k, v in self.columns.items() if k.startswith("kernel_")})

    def to_dict(self) -> dict[str, Any]:
        """Everything that `summary` says, as plain values."""
        return {
            "run": self.name, "subject": self.subject, "n_data": self.n_data, "regime": self.regime,
            "richness": self.richness, "scatter": self.scatter, "largest_rate": self.largest_rate,
            "bottleneck": self.bottleneck, "never_learnt": self.never_learnt,
            "outside": [str(reason) for reason in self.outside],
            "doublings": [vars(d) for d in self.doublings], "measured_slopes": dict(self.slopes),
            "table": self.table().to_dict("list"),
        }  # fmt: skip

    def summary(self, names: Mapping[str, str] | None = None) -> str:
        """The explanation in sentences, that of its kernel below the first."""
        first, *others = self.remarks
        kernel = self.kernel.measured.remarks if self.kernel is not None else ()
        return written([first, *kernel, *others], names)

    @property
    def remarks(self) -> tuple[Reason, ...]:
        of = f"{self.subject}, " if self.subject else ""
        run = Reason("run", run=self.name, subject=of, n_data=self.n_data, steps=float(self.steps[-1]))
        outside = [
            Reason("no_curve" if is_without_curve(reason) else "outside", reason=reason)
            for reason in self.outside
        ]
        if not np.isfinite(self.theory).any():
            return run, *outside, self._way_out(), *self._measured_only()
        found = [run, *outside, *self._compared()]
        if "kernel_drift" in self.columns:
            drift, fit = self.columns["kernel_drift"], self.columns["kernel_alignment"]
            moved = {"drift": float(drift[-1]), "first": float(fit[0]), "last": float(fit[-1])}
            found.append(Reason("kernel_moved", **moved))
        else:
            found.append(Reason("kernel_not_measured"))
        if self.never_learnt > NOTABLE:
            found.append(Reason("limited_with_noise", by=WORDS[self.bottleneck], noise=self.never_learnt))
        else:
            found.append(Reason("limited", by=WORDS[self.bottleneck]))
        return *found, *map(_effect, self.doublings)

    def _compared(self) -> list[Reason]:
        """The measured loss beside the solved one, and beside descent with the kernel."""
        ratio = self.ratio[np.isfinite(self.ratio)]
        low, high, last = (float(v) for v in (ratio.min(), ratio.max(), ratio[-1]))
        ends = {"measured": float(self.measured[-1]), "solved": float(self.theory[-1])}
        found = [Reason("over_solved", low=low, high=high, last=last, **ends)]
        found += [Reason(f"regime_{self.regime}", close=self.close), *self._parting()]
        if self.trained_features is not None:
            apart = self.measured / self.trained_features
            low, high, last = (float(v) for v in (apart.min(), apart.max(), apart[-1]))
            found.append(Reason("trained_features", richness=self.richness, low=low, high=high, last=last))
        if self.redrawn is not None:
            loss, own = float(self.redrawn[-1]), float(self.redrawn[-1] / self.theory[-1])
            draws = {"n_data": self.n_data, "loss": loss, "scatter": self.scatter, "ratio": own}
            found.append(Reason("other_draws", **draws))
        return found

    def _way_out(self) -> Reason:
        """No solved curve, and the largest learning rate that would have one."""
        if not math.isfinite(self.largest_rate):
            return Reason("no_solved_curve")
        return Reason("solved_below_rate", rate=self.largest_rate)

    def _measured_only(self) -> list[Reason]:
        """Remarks on the measured losses alone."""
        found = [Reason("loss_at_the_end", loss=float(self.measured[-1]))]
        for resource, words in WORDS.items():
            if math.isfinite(slope := self.slopes.get(resource, math.nan)):
                found.append(Reason("measured_doubling", resource=words, factor=2**slope, slope=slope))
        columns = {"data": Column("n_data"), "params": Column("width")}
        if missing := [name for name in columns if name not in self.slopes]:
            resources, differ = tuple(WORDS[n] for n in missing), tuple(columns[n] for n in missing)
            found.append(Reason("no_runs_beside", resources=resources, columns=differ))
        return found

    def _parting(self) -> list[Reason]:
        """The step from which the run differs from its kernel, or the largest difference if it came back."""
        ratio = self.over_kernel
        distance = np.abs(np.log(ratio))
        apart = distance > math.log(1 + self.close)
        if not apart.any():
            return []
        if self.regime == "lazy":
            farthest = int(np.nanargmax(distance))
            far = {"distance": float(abs(ratio[farthest] - 1)), "step": float(self.steps[farthest])}
            return [Reason("came_back", **far)]
        since = np.flatnonzero(~apart)[-1] + 1 if not apart.all() else 0
        return [Reason("apart_since", close=self.close, step=float(self.steps[since]))]


def _effect(d: Doubling) -> Reason:
    """The remark on a doubling."""
    resource, seen = WORDS[d.resource], math.isfinite(d.measured)
    if not math.isfinite(d.factor):
        return Reason("doubling_unstable", resource=resource, measured=d.measured if seen else None)
    details = {"factor": d.factor, "error": d.error, "slope": d.slope}
    return Reason("doubling", resource=resource, **details, measured=d.measured if seen else None)


@checked
def explain(
    run: Setting | Mapping[str, Any] | Curves | str,
    model: Any = None,
    data: Any = None,
    *,
    store: Store | str | Path | None = None,
    learning_rate: float | None = None,
    n_data: int | None = None,
    momentum: float = 0.0,
    batch_size: int | None = None,
    samples: int = SAMPLES,
) -> Explanation:
    """Lay the theory over a run.

    Args:
        run: A setting, trained here unless the store has it; the name of a run in `store`, or its beginning;
            or `Curves` of one run (`step`, `test_loss`), with `model` and `data`. Runs of the same network on
            other numbers of examples, in the store or in the curves (`n_data`), are for `predict`.
        model: The network before training, for curves; for a setting as `train.run_many` takes it.
        data: Inputs (n, …) and targets of a sample of the population, for curves; class numbers or vectors.
            For a setting as `train.run_many` takes it.
        store: Where the run is kept.
        learning_rate, n_data, momentum, batch_size: of the training, for curves; squared loss, the mean over
            examples and outputs. n_data is the number of inputs of `data` by default.
        samples: Inputs on which the kernel is measured; best four times the examples or more.
    """
    if samples < FEWEST:
        raise BadInput(
            f"samples = {samples}: a kernel needs at least {FEWEST} inputs, best four times the examples"
        )
    if isinstance(run, Curves):
        if model is None or data is None or learning_rate is None:
            raise BadInput(
                "explain(curves, model, data, learning_rate=…): curves alone do not say what was trained"
            )
        found = cases.of_parts(run, model, data, learning_rate, n_data, momentum, batch_size, samples)
        return _explained(found, run)
    kept = None if store is None else Store.of(store)
    if isinstance(run, str):
        setting, curves = _stored(run, kept)
    else:
        own = {k: v for k, v in (("model", model), ("dataset", data)) if v is not None}
        (setting,) = with_own([run], own)
        if kept is None or not kept.done(setting.identity()):
            curves = train_run(setting, store=kept, progress=False)
        if kept is not None:  # with the runs beside it
            curves = kept.curves()
    return _explained(cases.of_setting(setting, curves, samples), curves, setting)


def _stored(name: str, store: Store | None) -> tuple[Setting, Curves]:
    """The setting of a stored run, finished or not, and all curves of the store."""
    if store is None:
        raise BadInput(f"run {name!r}: say in which store it is, store=… (--store)")
    records = store.records()
    if not records:
        raise BadInput(f"run {name!r}: there are no runs in {store.path}")
    found = [run for run in records if run.startswith(name)]
    if len(found) != 1:
        shown = ", ".join(list(found or records)[:5])
        raise BadInput(
            f"run {name!r}: {len(found)} runs of the store begin with that; the store's are {shown}"
            f"{', …' if len(found or records) > 5 else ''} (its report lists them with their settings)"
        )
    try:
        setting = Setting.from_dict(dict(records[found[0]].setting))
    except BadInput as error:
        raise BadInput(
            f"run {found[0]} was not trained by scalinglab ({error}), and the store has neither its network "
            "nor its data: in Python, sl.explain(curves, model, data, learning_rate=…) takes all three"
        ) from error
    return setting, store.curves()


def _explained(case: cases.Case, curves: Curves, setting: Setting | None = None) -> Explanation:
    good = np.isfinite(case.test_loss)
    case = replace(case, steps=case.steps[good], test_loss=case.test_loss[good])
    if not len(case.steps):
        raise BadInput(f"{case.name}: no checkpoint has a finite test loss")
    slopes, subject = cases.slopes(case, curves, setting), _subject(setting, case.width)
    if setting is not None and setting.dataset == "text":
        nothing = np.full(len(case.steps), math.nan)
        return Explanation(
            case.name, case.steps, case.test_loss, nothing, case.n_data, None, "unknown", (), math.nan, {},
            case.outside, slopes, subject=subject,
        )  # fmt: skip
    kernel = theory.kernel_of(case)
    largest = theory.largest_rate(case, kernel)
    case = _with_doubts(case, largest)
    if "data" in slopes and setting is not None and setting.epochs is not None:
        case = case.with_outside(Reason("equal_epochs"))
    case, solved = _solved(case, kernel, largest)
    columns = {k: v[good] for k, v in case.columns.items() if k.startswith("kernel_") and len(v) == len(good)}
    found = Explanation(
        case.name, case.steps, case.test_loss, solved, case.n_data, kernel, "unknown", (), math.nan, columns,
        case.outside, slopes, subject=subject,
        largest_rate=math.nan if case.normalized_by_batch else largest, case=case,
    )  # fmt: skip
    if _without_curve(case):
        return found
    found = _with_bottleneck(found, case, kernel)
    if found.regime != "rich":
        return found
    richness, solved = theory.trained_features(case, kernel, found.theory)
    return replace(found, trained_features=solved, richness=richness)


def _with_doubts(case: cases.Case, largest: float) -> cases.Case:
    """The case with what is known before it is solved: a kernel of few inputs, steps that are too large."""
    if len(case.x) < case.n_data:
        case = case.with_outside(Reason("small_sample", inputs=len(case.x), n_data=case.n_data))
    if case.learning_rate >= largest and not _without_curve(case):
        case = case.with_outside(Reason("large_steps", rate=case.learning_rate, largest=largest))
    return case


def _solved(case: cases.Case, kernel: Kernel, largest: float) -> tuple[cases.Case, np.ndarray]:
    """The solved loss at the checkpoints; nan, and the reason in the case, where there is none."""
    nothing = np.full(len(case.steps), math.nan)
    if _without_curve(case):
        return case, nothing
    solved = theory.solve(case, kernel, case.steps, case.n_data)
    if not np.isinf(solved).any():
        return case, solved
    # the largest eigenvalue of few examples exceeds that of many
    details = {"rate": case.learning_rate, "n_data": case.n_data, "largest": largest}
    return case.with_outside(Reason("large_steps_few_examples", **details)), nothing


def _with_bottleneck(found: Explanation, case: cases.Case, kernel: Kernel) -> Explanation:
    """Add the bottleneck at the end, the effect of doubling each resource, and descent on other draws."""
    never = theory.never_learnt(case, kernel, found.theory[-1])
    doublings = [
        replace(d, measured=found.slopes.get(d.resource, math.nan))
        for d in theory.doublings(case, kernel, float(case.steps[-1]))
    ]
    sure = [d for d in doublings if d.factor < 1 - 2 * d.error] or doublings
    bottleneck = min(sure, key=lambda d: d.factor).resource if never < 0.5 else "noise"
    found = replace(found, bottleneck=bottleneck, doublings=tuple(doublings), never_learnt=never)
    if not len(losses := theory.redrawn(case, kernel, case.steps)):
        return found
    return replace(found, redrawn=losses.mean(0), scatter=float(np.std(np.log(losses[:, -1]), ddof=1)))


def _without_curve(case: cases.Case) -> bool:
    return any(map(is_without_curve, case.outside))


def _subject(setting: Setting | None, width: float) -> str:
    if setting is None:
        return ""
    return f"{setting.model}{f' of width {width:g}' if width else ''} on {setting.dataset}"
