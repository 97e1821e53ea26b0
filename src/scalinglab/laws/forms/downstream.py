"""Forms from the loss of a model to its score on a task.

| name | equation | from |
| --- | --- | --- |
| `error_from_loss` | ε - k e^(-γL) | Gadre et al. 2024, eq. 5: top-1 error, averaged over tasks |
| `score_from_loss` | b + a/(1 + e^(k (L - L0))) | Bhagia et al. 2024, eq. 2; Llama 3, sec. 3.2.1 |

The variable is the loss, and both are fitted in raw values by `laws.two_stage`, which puts a law of the loss
before them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit

from scalinglab.laws.forms.base import Form, Parameter
from scalinglab.laws.forms.registry import register_form


def _error(x: Any, ceiling: Any, k: Any, gamma: Any) -> Any:
    return ceiling - k * np.exp(-gamma * x)


def _error_gradient(x: Any, ceiling: Any, k: Any, gamma: Any) -> tuple[Any, ...]:
    decay = np.exp(-gamma * x)
    return np.ones_like(decay), -decay, k * x * decay


def _score(x: Any, low: Any, span: Any, slope: Any, middle: Any) -> Any:
    return low + span * expit(-slope * (x - middle))


def _score_gradient(x: Any, low: Any, span: Any, slope: Any, middle: Any) -> tuple[Any, ...]:
    share = expit(-slope * (x - middle))
    steep = span * share * (1 - share)
    return np.ones_like(share), share, -steep * (x - middle), steep * slope


def _inside(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.quantile(x, [0.0, 0.25, 0.5, 0.75, 1.0]))


def _accuracy_from_loss(values: Mapping[str, float]) -> dict[str, float]:
    return {"chance": values["low"], "ceiling": values["low"] + values["span"]}


register_form(Form(
    "error_from_loss", "ceiling - k exp(-gamma L)",
    (Parameter("ceiling", 0.0, linear=True), Parameter("k", 0.0, linear=True, log=True),
     Parameter("gamma", 0.0, 20.0, start=(0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5, 4.0))),
    _error, gradient=_error_gradient, doc="Gadre et al. 2024, eq. 5; x is the loss",
))  # fmt: skip
register_form(Form(
    "score_from_loss", "low + span/(1 + exp(slope (L - middle)))",
    (Parameter("low", linear=True), Parameter("span", 0.0, linear=True, log=True),
     Parameter("slope", 0.01, 200.0, log=True, start=(0.5, 1.0, 2.0, 4.0, 8.0, 16.0)),
     Parameter("middle", start=_inside)),
    _score, gradient=_score_gradient, derived=_accuracy_from_loss,
    doc="Bhagia et al. 2024, eq. 2; x is the loss",
))  # fmt: skip
