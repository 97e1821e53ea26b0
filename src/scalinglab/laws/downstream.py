"""From sizes to a score in two stages: a law of the loss, then a law from the loss to the score.

Stage one is any surface or law L(x); stage two `error_from_loss` or `score_from_loss`
(`scalinglab.laws.forms.downstream`). The error of the prediction is propagated by pairs of refits: every
resampled law of the loss is read by a resampled law of the score, and the scatter of both stages is added.

>>> import numpy as np
>>> compute = np.geomspace(1e19, 1e22, 8)
>>> loss = 1.7 + 40 * compute**-0.09
>>> both = two_stage("power_law_offset", compute, loss, loss, 0.85 - 2.1 * np.exp(-0.76 * loss))
>>> float(np.round(both.predict(1e24), 4))
0.3825
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from scalinglab.errors import BadInput
from scalinglab.laws.fitting.fit import fit
from scalinglab.laws.fitting.law import Interval, Law
from scalinglab.laws.fitting.uncertainty import bootstrap
from scalinglab.laws.forms.base import Form
from scalinglab.results.notebook import NotebookResult

SECOND = {"error_from_loss": 1, "score_from_loss": -1}  # the forms of stage two: they rise or fall with L


@dataclass(frozen=True)
class TwoStage(NotebookResult):
    """A law of the loss and a law from the loss to a score.

    Attributes:
        loss: stage one.
        score: stage two.
    """

    loss: Law
    score: Law

    def predict(self, x: Any) -> Any:
        """The score at sizes x, as stage one takes them."""
        return self.score.predict(self.loss.predict(x))

    def interval(self, x: Any, level: float = 0.95, *, draws: int = 400, seed: int = 0) -> Interval:
        """The interval of the score of one more run at x."""
        if not 0 < level < 1:
            raise BadInput(f"level={level!r} must lie between 0 and 1, as in 0.95")
        random = np.random.default_rng(seed)
        losses = bootstrap(self.loss, draws=draws, seed=seed).predict(x)
        scatter = random.standard_normal(losses.shape) * self.loss.residual_std
        losses = losses * np.exp(scatter) if self.loss.log else losses + scatter
        scored = bootstrap(self.score, draws=draws, seed=seed + 1)
        second = scored.values[random.permutation(draws)]
        columns = (second[:, j].reshape(-1, *(1,) * (losses.ndim - 1)) for j in range(second.shape[1]))
        scores = self.score.form.function(losses, *columns)
        noise = random.standard_normal(scores.shape) * self.score.residual_std
        ends = np.quantile(scores + noise, scored.tails(level), axis=0)  # widened, as for few runs
        return Interval(*(float(e) if np.ndim(e) == 0 else e for e in ends))

    def summary(self) -> str:
        """Both fits in lines."""
        return f"stage 1, the loss\n{self.loss.summary()}\nstage 2, the score\n{self.score.summary()}"


def two_stage(
    form: str | Form,
    x: Any,
    loss: Any,
    seen_loss: Any,
    score: Any,
    *,
    second: str | Form = "error_from_loss",
    runs: Any = None,
    seen_runs: Any = None,
    **options: Any,
) -> TwoStage:
    """Fit the loss against sizes, and a score against the loss of the models that were scored.

    Args:
        form: of the loss, a law of one variable or a surface.
        x, loss: the points of stage one.
        seen_loss, score: loss and score of each model that was scored; they need not be those of stage one.
        second: "error_from_loss" for an error, "score_from_loss" for an accuracy.
        runs, seen_runs: the run of each point of stage one and of stage two; default: each point is one.
        options: of `scalinglab.laws.fit`, for stage one.
    """
    first = fit(form, x, loss, runs=runs, **options)
    found = TwoStage(first, fit(second, seen_loss, score, runs=seen_runs, space="raw"))
    _same_direction(found.score)
    return found


def _same_direction(law: Law) -> None:
    """Refuse an accuracy as an error and an error as an accuracy: the fit would be a constant."""
    if law.form.name not in SECOND:
        return
    trend = float(stats.kendalltau(law.points.x, law.points.y).statistic)  # τ_b: ties count for neither side
    if trend * SECOND[law.form.name] < -0.5:
        other = next(name for name in SECOND if name != law.form.name)
        seen, expected = ("rises", "falls") if trend > 0 else ("falls", "rises")
        raise BadInput(
            f"the score {seen} with the loss, and {law.form.name} {expected}: take {other} "
            f"(--form {other}), or fit 1 - score"
        )
