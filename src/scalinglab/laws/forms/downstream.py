"""Forms from the loss of a model to its score on a task.

The variable of `error_from_loss` and `score_from_loss` is the loss, and both are fitted in raw values
(``space="raw"``). `laws.downstream` predicts scores from sizes, by an average over bounded curves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit

from scalinglab.laws.forms.base import Form, Parameter, register_form


def _error(x: Any, ceiling: Any, k: Any, gamma: Any) -> Any:
    return ceiling - k * np.exp(-gamma * x)


def _score(x: Any, low: Any, span: Any, slope: Any, middle: Any) -> Any:
    return low + span * expit(-slope * (x - middle))


def _inside(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.quantile(x, [0.0, 0.25, 0.5, 0.75, 1.0]))


def _accuracy_from_loss(values: Mapping[str, float]) -> dict[str, float]:
    return {"chance": values["low"], "ceiling": values["low"] + values["span"]}


def _saturating(x: Any, low: Any, ceiling: Any, slope: Any, middle: Any) -> Any:
    share = expit(slope * (np.log(x) - np.log(middle)))
    return low * (1 - share) + ceiling * share


def _pass_at_k(x: Any, a: Any, b: Any) -> Any:
    return np.exp(-a * np.exp(-b * np.log(x)))


def _pass_starts(x: Any, y: Any, starts: Mapping[str, Any]) -> dict[str, Any]:
    """a from the mean of ln(-ln y) at the starting b."""
    inner = np.log(-np.log(np.clip(y, 1e-12, 1 - 1e-12)))
    return {"a": np.exp(np.mean(inner + starts["b"] * np.log(x), axis=-1, keepdims=True))}


register_form(Form(
    "saturating_score", "low + (ceiling - low)/(1 + (middle/C)^slope)",
    (Parameter("low", 0.0, 1.0, linear=True), Parameter("ceiling", 0.0, 1.0, linear=True),
     Parameter("slope", 0.01, 50.0, log=True, start=(0.3, 0.6, 1.0, 2.0, 4.0)),
     Parameter("middle", 0.0, log=True, start=lambda x, y: np.exp(_inside(np.log(x), y)))),
    _saturating,
    doc="Khatri et al. 2025; x is the compute, scores from 0 to 1; fit it with space='raw'",
))  # fmt: skip
register_form(Form(
    "pass_at_k", "exp(-a k^-b)",
    (Parameter("a", 0.0, log=True), Parameter("b", 0.0, 5.0, start=(0.1, 0.3, 0.6, 1.0))),
    _pass_at_k, complete=_pass_starts, exponent="b",
    doc="Brown et al. 2024; x is the number of samples k",
))  # fmt: skip
register_form(Form(
    "error_from_loss", "ceiling - k exp(-gamma L)",
    (Parameter("ceiling", 0.0, linear=True), Parameter("k", 0.0, linear=True, log=True),
     Parameter("gamma", 0.0, 20.0, start=(0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5, 4.0))),
    _error, doc="Gadre et al. 2024, eq. 5: top-1 error, averaged over tasks; x is the loss",
))  # fmt: skip
register_form(Form(
    "score_from_loss", "low + span/(1 + exp(slope (L - middle)))",
    (Parameter("low", linear=True), Parameter("span", 0.0, linear=True, log=True),
     Parameter("slope", 0.01, 200.0, log=True, start=(0.5, 1.0, 2.0, 4.0, 8.0, 16.0)),
     Parameter("middle", start=_inside)),
    _score, derived=_accuracy_from_loss,
    doc="Bhagia et al. 2024, eq. 2; Llama 3, sec. 3.2.1; x is the loss",
))  # fmt: skip
