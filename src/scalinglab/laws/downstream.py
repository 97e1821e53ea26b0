"""From sizes to a score in two stages: a law of the loss, then a law from the loss to the score.

Stage one is any surface or law L(x); stage two `error_from_loss` or `score_from_loss`
(`scalinglab.laws.forms.downstream`). The error of the prediction is propagated by pairs of refits: every
resampled law of the loss is read by a resampled law of the score, and the scatter of both stages is added.

>>> import numpy as np
>>> compute = np.geomspace(1e19, 1e22, 8)
>>> loss = 1.7 + 40 * compute**-0.09
>>> both = two_stage("power_law_offset", compute, loss, score=0.85 - 2.1 * np.exp(-0.76 * loss))
>>> float(np.round(both.predict(1e24), 4))
0.3825
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from scalinglab.errors import BadInput
from scalinglab.laws import forms
from scalinglab.laws.fitting.data.from_curves import is_table, points_from
from scalinglab.laws.fitting.fit import fit
from scalinglab.laws.fitting.law import Interval, Law, bootstrap
from scalinglab.laws.fitting.solution import by_name
from scalinglab.laws.forms.base import Form
from scalinglab.laws.surface import Surface
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.sentences import with_notes
from scalinglab.results.types import Reason
from scalinglab.support.validation import checked

# defined: the forms of stage two, which rise or fall with L
SECOND = {"error_from_loss": 1, "score_from_loss": -1}
PAIR = ("n_params", "n_data")


@dataclass(frozen=True)
class TwoStage(NotebookResult):
    """A law of the loss and a law from the loss to a score.

    Attributes:
        loss: stage one.
        score: stage two.
        names: what the sizes, the loss and the score are called; of arrays the variables of stage one, "loss"
            and "score".
        notes: what was done to the rows of a table.
    """

    loss: Law
    score: Law
    names: tuple[str, ...]
    notes: tuple[Reason, ...] = ()

    def predict(self, x: Any = None, **sizes: Any) -> Any:
        """The score at sizes, of one variable by place, of several by name, as stage one takes them."""
        return self.score.predict(self.loss.predict(x, **sizes))

    def interval(
        self, x: Any = None, level: float = 0.95, *, draws: int = 400, seed: int = 0, **sizes: Any
    ) -> Interval:
        """The interval of the score of one more run at sizes, as in `predict`."""
        if not 0 < level < 1:
            raise BadInput(f"level={level!r} must lie between 0 and 1, as in 0.95")
        random = np.random.default_rng(seed)
        losses = bootstrap(self.loss, draws=draws, seed=seed).predict(by_name(self.loss.form, x, sizes))
        scatter = random.standard_normal(losses.shape) * self.loss.residual_std
        losses = losses * np.exp(scatter) if self.loss.solution.log else losses + scatter
        scored = bootstrap(self.score, draws=draws, seed=seed + 1)
        second = scored.values[random.permutation(draws)]
        columns = (second[:, j].reshape(-1, *(1,) * (losses.ndim - 1)) for j in range(second.shape[1]))
        scores = self.score.form.function(losses, *columns)
        noise = random.standard_normal(scores.shape) * self.score.residual_std
        ends = scored.ends(scores + noise, level)
        return Interval(*(float(e) if np.ndim(e) == 0 else e for e in ends))

    def beyond(self, x: Any) -> np.ndarray:
        """How many times the largest run the sizes x are, in N D or in the only variable; NaN for others."""
        variables, x = self.loss.form.variables, by_name(self.loss.form, x, {})
        if len(variables) > 1 and not {*PAIR} <= {*variables}:
            return np.full(np.shape(x)[1:], np.nan)
        chosen = [i for i, name in enumerate(variables) if len(variables) == 1 or name in PAIR]
        asked, runs = (np.atleast_2d(v)[chosen].prod(axis=0) for v in (x, self.loss.points.x))
        return np.asarray(asked / runs.max())

    def predictions(self, x: Any, level: float = 0.95) -> pd.DataFrame:
        """One row a place: the sizes, the loss, the score with its interval, and how far beyond the runs."""
        low, high = self.interval(x, level)
        *sizes, loss, score = self.names
        places = np.atleast_2d(by_name(self.loss.form, x, {}))
        return pd.DataFrame({
            **dict(zip(sizes, places, strict=True)), loss: self.loss.predict(x),
            score: self.predict(x), "low": low, "high": high, "beyond": self.beyond(x),
        })  # fmt: skip

    def optimal_sizes(self, compute: Any, *, flops_per_param_example: float = 6.0) -> dict[str, Any]:
        """The n_params and n_data, (computes,) each, at which a compute gives the lowest loss."""
        if (variables := self.loss.form.variables) != PAIR:
            raise BadInput(
                f"the best n_params and n_data for a compute need a law of both, and this one is of "
                f"{', '.join(variables)}: give --x n_params,n_data, or --at instead of --compute"
            )
        best = Surface(self.loss).compute_optimal(compute, flops_per_param_example=flops_per_param_example)
        return {"n_params": best.n_params, "n_data": best.n_data}

    def summary(self) -> str:
        """Both fits in lines."""
        stages = f"stage 1, the loss\n{self.loss.summary()}\nstage 2, the score\n{self.score.summary()}"
        return with_notes([stages], self.notes)


def form_of_loss(form: str | Form, variables: int) -> Form:
    """The form of stage one; "auto" is power_law_offset of one variable and chinchilla of two."""
    if form == "auto":
        form = "power_law_offset" if variables == 1 else "chinchilla"
    return forms.get(form)


@checked
def two_stage(
    *data: Any,
    score: Any,
    form: str | Form = "auto",
    x: Any = None,
    y: Any = None,
    second: str | Form = "error_from_loss",
    scored_loss: Any = None,
    runs: Any = None,
    scored_runs: Any = None,
    reduce: str = "auto",
    where: Mapping[str, Any] | None = None,
    mixed: bool = False,
    nan_policy: str = "raise",
    **options: Any,
) -> TwoStage:
    """Fit the loss against sizes, and a score against the loss of the models that were scored.

    ``two_stage(x, loss, score=score)``, or ``two_stage(curves, x="compute", score="error")``; the form may
    also come first.

    Args:
        form: of the loss, a law of one variable or a surface; or "auto" (`form_of_loss`).
        data: x and loss as arrays, or a table.
        score: of each model, NaN where it was not scored; or the name of a column.
        x, y: sizes and loss, or the names of their columns; "compute" and the table's loss by default.
        second: "error_from_loss" for an error, "score_from_loss" for an accuracy.
        scored_loss: loss of each model in `score`, where these are not the models of stage one.
        runs, scored_runs: the run of each point of stage one and of `scored_loss`; default: one each.
        reduce, where, mixed: which rows of a table count, as in `scalinglab.laws.fit`.
        nan_policy: "raise" on points of the loss that cannot be used, or "drop" them.
        options: of `scalinglab.laws.fit`, for stage one.
    """
    if data and (isinstance(data[0], (str, Form)) or len(data) == 3):
        form, data = data[0], data[1:]
    from_table = bool(data) and is_table(data[0])
    points = points_from(
        data, x, y, columns=("compute", None), runs=runs, reduce=reduce, where=where, mixed=mixed,
        beside=score if from_table else None,
    )  # fmt: skip
    found = form_of_loss(form, len(points.names) or (1 if np.ndim(points.x) == 1 else len(points.x)))
    names = (*found.variables, "loss", "score")
    if from_table:
        names = (*points.names, points.measured, score)
        if len(points.names) != len(found.variables):
            raise BadInput(f"x={x!r}: {found.name} needs a column of each of {', '.join(found.variables)}")
    if scored_loss is None:
        values = np.asarray(points.beside if from_table else score, float)
        loss = np.asarray(points.y, float)
        scored = np.isfinite(loss) & ~np.isnan(values)
        scored_loss, score = loss[scored], values[scored]
        scored_runs = None if points.runs is None else np.asarray(points.runs)[scored]
    first = fit(
        found, points.x, points.y, error=points.error, runs=points.runs, nan_policy=nan_policy, **options
    )
    law = fit(second, scored_loss, score, runs=scored_runs, space="raw")
    _same_direction(law)
    return TwoStage(first, law, names, points.notes)


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
