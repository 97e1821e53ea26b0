"""What is read off one run's network at a checkpoint, beside losses, norms and margins.

A setting can name the measurements of `READINGS`, which need examples: they see the run's own training
examples, at most `evaluate_at_most` of them. Anything else is a function of the network that `run` is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from torch import Tensor, nn

from scalinglab.measure import fisher_rao, gradient_noise
from scalinglab.measure.functional import evaluating
from scalinglab.train.replicas import Group

Reading = Callable[[nn.Module], Mapping[str, Any]]


def _fisher_rao(model: nn.Module, x: Tensor, y: Tensor, loss: str) -> dict[str, float]:
    return {"norm_fisher_rao": fisher_rao(model, x, y, loss)}


def _gradient_noise(model: nn.Module, x: Tensor, y: Tensor, loss: str) -> dict[str, float]:
    found = gradient_noise(model, x, y, loss)
    return {
        "gradient_noise": found.trace,
        "gradient_square": found.gradient_square,
        "simple_noise_scale": found.simple_noise_scale,
    }


READINGS = {"fisher_rao": _fisher_rao, "gradient_noise": _gradient_noise}


def read(group: Group, row: int, extra: Reading | None = None) -> dict[str, Any]:
    """What the setting names, and what `extra` says of the network, for one run of a group.

    Args:
        group: The runs.
        row: Which of them.
        also: Called with the run's network, in evaluation mode.
    """
    setting = group.setting
    named = [READINGS[name] for name in setting.measure if name in READINGS]
    if not named and extra is None:
        return {}
    model = group.module(row)
    found: dict[str, Any] = {}
    if named:
        index = group.stream.subsets[row][: setting.evaluate_at_most]
        stored, y = group.resident.batch(index[None])
        x, y = group.resident.inputs(stored)[0], y[0]
        if setting.loss == "mse" and group.resident.n_classes:
            y = nn.functional.one_hot(y, group.resident.n_classes).to(x.dtype)
        for reading in named:
            found |= reading(model, x, y, setting.loss)
    if extra is not None:
        with evaluating(model):
            found |= {
                name: value if isinstance(value, np.ndarray) and value.ndim else float(value)
                for name, value in extra(model).items()
            }
    return found


def without_arrays(found: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Numbers, which are columns of the curves, and arrays, which a store keeps beside them."""
    arrays = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
    return {name: value for name, value in found.items() if name not in arrays}, arrays
