"""Further measurements on one run's network at a checkpoint: gradient noise, kernels, the user's own.

A setting can name "gradient_noise", on the run's own training examples, at most `evaluate_at_most` of them;
and "kernel", the tangent kernel on held-out inputs. Anything else is a function of the network that `run` is
given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils import _pytree as trees

from scalinglab.errors import BadInput
from scalinglab.measure import KernelReading, gradient_noise
from scalinglab.measure.evaluation import batches, evaluating
from scalinglab.train.replicas import Group
from scalinglab.train.training_step import network

Reading = Callable[[nn.Module], Mapping[str, Any]]


def _metrics(group: Group, row: int, model: nn.Module) -> dict[str, float]:
    """The user's own metrics of one run, on its whole test set at once."""
    setting, data = group.setting, group.resident
    part = data.test_index([group.stream.subsets[row]])
    index: Any = slice(None) if part is None else part[0]
    x, y = data.inputs(data.test_x[index]).contiguous(), data.test_y[index]
    with evaluating(model), torch.no_grad(), group.program.drawing():
        pieces = [model(piece) for (piece,) in batches(METRIC_PIECE, x)]
    outputs = trees.tree_map(lambda *leaves: _joined(leaves), *pieces)
    found = {}
    for column, name in (setting.metrics or {}).items():
        metric = setting.own("metrics", name, f"metrics.{column}")
        try:
            found[column] = float(metric(outputs, group.program.objective.targets(y)))
        except Exception as error:
            raise BadInput(f"metrics.{column} = {name!r} of (outputs, targets): {error}") from error
    return found


def _joined(leaves: tuple[Any, ...]) -> Any:
    """Outputs on all of a set from those on its pieces; of single numbers the mean."""
    if not isinstance(leaves[0], Tensor):
        return leaves[0]
    return torch.cat(leaves) if leaves[0].ndim else torch.stack(leaves).mean()


METRIC_PIECE = 1024  # test examples that pass through a network at a time, for metrics
KERNEL_INPUTS = 250  # test inputs on which kernels are read
_KERNELS: WeakKeyDictionary[Group, dict[str, KernelReading]] = WeakKeyDictionary()


def kernel_reading(group: Group, row: int) -> KernelReading:
    """The kernel measurement of one run; drift counts from the initial weights, also after a resume."""
    readings, setting = _KERNELS.setdefault(group, {}), group.settings[row]
    if setting.run not in readings:
        data = group.resident
        part = data.test_index([group.stream.subsets[row]])
        index = slice(KERNEL_INPUTS) if part is None else part[0, :KERNEL_INPUTS]
        x, y = data.inputs(data.test_x[index]), data.test_y[index].cpu().numpy()
        readings[setting.run] = KernelReading(x, y, initial=network(setting, data.dataset).to(data.device))
    return readings[setting.run]


def read(group: Group, row: int, extra: Reading | None = None) -> dict[str, Any]:
    """The measurements that the setting names, and those of `extra`, for one run of a group.

    Args:
        group: The runs.
        row: Which of them.
        extra: Called with the run's network, in evaluation mode.
    """
    setting = group.setting
    if not (extra is not None or {"gradient_noise", "kernel"} & {*setting.measure} or setting.metrics):
        return {}
    model = group.module(row)
    found: dict[str, Any] = _metrics(group, row, model) if setting.metrics else {}
    if "kernel" in setting.measure:
        found |= kernel_reading(group, row)(model)
    if "gradient_noise" in setting.measure:
        index = group.stream.subsets[row][: setting.evaluate_at_most]
        stored, y = group.resident.batch(index[None])
        x, y = group.resident.inputs(stored)[0], y[0]
        if setting.loss == "mse" and group.resident.n_classes:
            y = nn.functional.one_hot(y, group.resident.n_classes).to(x.dtype)
        own = group.program.objective
        noise = gradient_noise(model, x, y, own.of_run if own.own else setting.loss)
        found |= {"gradient_noise": noise.trace, "gradient_square": noise.gradient_square}
        found["simple_noise_scale"] = noise.simple_noise_scale
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
