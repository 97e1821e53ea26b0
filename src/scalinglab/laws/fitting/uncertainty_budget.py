"""Four sources of uncertainty of a prediction, separated where the data allow.

- seed: the scatter of runs that differ in nothing but their seed, from repeats at one size.
- evaluation: the finite test set; √((1 - y)/(n y)) relative to y for an error rate on n examples.
- fit: where the law of the chosen form goes at the target, from its interval.
- form: how much the forms that describe the points about equally well disagree at the target.

All are standard deviations of ln y. The first two are of one measurement, the last two of the prediction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws.fitting import fit as fitting
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.forms.base import Form
from scalinglab.results.types import Reason, Remark, Worded, weighed
from scalinglab.support.validation import checked

FORMS = ("power_law", "power_law_offset", "m4", "broken_power_law")


@dataclass(frozen=True)
class Sources(Worded):
    """Standard deviations of ln y by source; None where the data do not determine it, with the reason."""

    at: float
    prediction: float
    seed: float | None
    evaluation: float | None
    fit: float | None
    form: float | None
    weights: dict[str, float]
    reasons: dict[str, str]

    @property
    def remarks(self) -> Iterator[Remark]:
        """What the summary says, as data."""
        yield Reason("sources_at", at=self.at, prediction=self.prediction)
        for name in ("seed", "evaluation", "fit", "form"):
            share = getattr(self, name)
            if share is None:
                yield Reason("source_unknown", name=name, why=self.reasons[name])
            else:
                yield Reason("source", name=name, share=share)
        yield Reason("source_forms", weights=weighed(self.weights))


@checked
def sources(
    x: Any,
    y: Any,
    *,
    at: float,
    n_test: int | None = None,
    candidates: Sequence[str | Form] = FORMS,
    runs: Any = None,
) -> Sources:
    """Separate the four sources of uncertainty of the prediction at `at`.

    Args:
        n_test: size of the test set, where y is an error rate on it.
        candidates: forms whose disagreement counts, weighted by how well each predicts the largest fifth of
            the points from the rest.
        runs: the run of each point.
    """
    points.positive(at=at)
    data = points.check(x, y, runs=runs)
    reasons: dict[str, str] = {}
    evaluation = None
    if n_test is None:
        reasons["evaluation"] = "give n_test, the size of the test set"
    elif n_test < 1 or np.any(data.y >= 1):
        raise BadInput(f"n_test={n_test} needs y to be an error rate below 1 on that many examples")
    else:
        evaluation = float(np.sqrt(np.mean((1 - data.y) / data.y) / n_test))
    seed = _seed(data.x, data.y, evaluation or 0.0)
    if seed is None:
        reasons["seed"] = "it needs repeats: runs that differ in nothing but their seed, at some sizes"
    laws, weights = _judged(data, candidates)
    best = laws[max(weights, key=lambda name: weights[name])]
    spread, reasons["fit"] = None, "the interval of the best form is open"
    try:
        low, high = best.interval(at, 0.6827, "bootstrap" if best.points.resampled else "profile")
        if low > 0 and np.isfinite(high):
            spread = np.log(high / low) / 2
    except BadInput as error:  # points of fewer than three runs
        reasons["fit"] = str(error)
    if spread is not None:
        del reasons["fit"]
    logs = {name: np.log(law.predict(at)) for name, law in laws.items()}
    mean = sum(weights[n] * logs[n] for n in logs)
    form: float | None = float(np.sqrt(sum(weights[n] * (logs[n] - mean) ** 2 for n in logs)))
    if len(laws) < 2:
        form, reasons["form"] = None, "only one form has few enough parameters for these points"
    return Sources(
        float(at), float(np.exp(mean)), seed, evaluation, None if spread is None else float(spread), form,
        weights, reasons,
    )  # fmt: skip


def _seed(x: np.ndarray, y: np.ndarray, evaluation: float) -> float | None:
    """The scatter of ln y at equal x, less what evaluation explains."""
    _, index, counts = np.unique(x, return_inverse=True, return_counts=True)
    dof = int(np.sum(counts - 1))
    if dof < 3:
        return None
    logs = np.log(y)
    means = np.bincount(index, logs) / counts
    variance = float(np.sum((logs - means[index]) ** 2) / dof)
    return float(np.sqrt(max(variance - evaluation**2, 0.0)))


def _judged(data: points.Points, candidates: Sequence[str | Form]) -> tuple[dict[str, Law], dict[str, float]]:
    """Fits to all points, and weights by the error of predicting the largest fifth of sizes from the rest."""
    sizes = np.unique(data.x)
    cut = sizes[-max(1, len(sizes) // 5)]
    early = data.x < cut
    laws: dict[str, Law] = {}
    errors: dict[str, float] = {}
    for candidate in candidates:
        try:
            law = fitting.fit(candidate, data.x, data.y, runs=data.runs)
            past = fitting.fit(candidate, data.x[early], data.y[early])
        except BadInput:  # too few sizes for this form
            continue
        if law.dof < 1:
            continue
        laws[law.form.name] = law
        miss = np.log(past.predict(data.x[~early]) / data.y[~early])
        errors[law.form.name] = float(np.mean(miss**2)) if np.all(np.isfinite(miss)) else np.inf
    if not laws:
        raise BadInput(f"{len(sizes)} sizes are too few for any of these forms; give more sizes")
    raw = {n: 1 / (e + 1e-12) if np.isfinite(e) else 0.0 for n, e in errors.items()}
    if not any(raw.values()):
        raw = dict.fromkeys(raw, 1.0)
    return laws, {n: r / sum(raw.values()) for n, r in raw.items()}
