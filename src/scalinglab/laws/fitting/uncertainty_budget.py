"""Four sources of uncertainty of a prediction, separated where the data allow.

- seed: the scatter of runs that differ in nothing but their seed, from repeats at one size.
- evaluation: the finite test set; √((1 - y)/(n y)) relative to y for an error rate on n examples.
- fit: where the law of the chosen form goes at the target, from its interval.
- form: what the form may miss there (`form_error`), by which that interval grows.

All are standard deviations of ln y. The first two are of one measurement, the last two of the prediction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws.fitting import fit as fitting
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.law import Law
from scalinglab.laws.fitting.uncertainty.form_error import FormError
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.support.validation import checked

ONE_SIGMA = 0.6827  # defined: level of an interval of one standard deviation to either side


@dataclass(frozen=True)
class Sources(Worded):
    """Standard deviations of ln y by source; None where the data do not determine it, with the reason."""

    at: float
    prediction: float
    seed: float | None
    evaluation: float | None
    fit: float | None
    form: float | None
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


@checked
def sources(x: Any, y: Any, *, at: float, n_test: int | None = None, runs: Any = None) -> Sources:
    """Separate the four sources of uncertainty of the prediction at `at`.

    Args:
        n_test: size of the test set, where y is an error rate on it.
        runs: the run of each point.
    """
    points.positive(at=at)
    law = fitting.fit(fitting.automatic(x), x, y, runs=runs)
    data = law.points
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
    fit, both = _spread(law, at, None), _spread(law, at, FormError(law.solution))
    form = None if fit is None or both is None else float(np.sqrt(max(both**2 - fit**2, 0.0)))
    reasons |= {name: "its interval is open" for name, v in (("fit", fit), ("form", form)) if v is None}
    return Sources(float(at), float(law.predict(at)), seed, evaluation, fit, form, reasons)


def _spread(law: Law, at: float, form_error: FormError | None) -> float | None:
    """The half-width of the interval of ln y, of one standard deviation; None where it is open."""
    method = "bootstrap" if law.points.resampled else "profile"
    low, high = law.interval(at, ONE_SIGMA, method, form_error=form_error)
    return float(np.log(high / low) / 2) if low > 0 and np.isfinite(high) else None


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
