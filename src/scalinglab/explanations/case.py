"""The input of an explanation: a run's initial network, data, optimizer and losses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.measure.evaluation import batches, evaluating
from scalinglab.results.distributions import slope
from scalinglab.results.types import Reason
from scalinglab.train.batches import dataset_of
from scalinglab.train.setting import Setting
from scalinglab.train.training_step import network

WITHOUT_CURVE = (  # reasons for which the theory has no curve of a run at all
    "other_loss", "rescaled_gradients", "other_schedule", "batch_normalized", "large_steps",
    "large_steps_few_examples",
)  # fmt: skip
SQUARED = ("mse", "torch.nn.functional:mse_loss", "torch.nn.modules.loss:MSELoss")
NORMS = (nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm)


@dataclass(frozen=True, eq=False)
class Case:
    """One run, as theory needs it.

    Attributes:
        model: the network before training.
        x, y: inputs (n, …) and targets (n, outputs) of a sample of the population.
        n_data: P, training examples.
        learning_rate, momentum, batch_size: of SGD; batch_size None for gradient descent on all examples.
        steps, test_loss: of the measured curve, the loss a mean over outputs.
        columns: other measured columns, by name.
        online: whether every batch is fresh.
        outside: where the theory does not apply.
        redraw: makes the network from a seed and a factor on its width; None where that is not known.
        width: of the setting, or the option of that name of a network of the user's own; 0 where there is
            none.
        beside: runs of the same network on other numbers of examples: (n_data, steps, test losses) of each.
    """

    model: nn.Module
    x: Tensor
    y: np.ndarray
    n_data: int
    learning_rate: float
    momentum: float
    batch_size: int | None
    steps: np.ndarray
    test_loss: np.ndarray
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    online: bool = False
    outside: tuple[Reason, ...] = ()
    redraw: Any = None
    name: str = "run"
    width: float = 0.0
    beside: tuple[tuple[int, np.ndarray, np.ndarray], ...] = ()

    @property
    def n_outputs(self) -> int:
        """Outputs of the network."""
        return self.y.shape[1]

    @property
    def normalized_by_batch(self) -> bool:
        """Whether the network has batch normalisation, of which there is no theory at any rate."""
        return any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in self.model.modules())

    def residual(self) -> np.ndarray:
        """y − f before training, (n, outputs)."""
        return self.y - outputs(self.model, self.x)

    def with_outside(self, *reasons: Reason) -> Case:
        """A copy with more reasons."""
        return replace(self, outside=(*self.outside, *reasons))


def is_without_curve(reason: Reason) -> bool:
    """Whether the theory has no curve for this reason."""
    return reason.code in WITHOUT_CURVE


@torch.no_grad()
def outputs(model: nn.Module, x: Tensor) -> np.ndarray:
    """Outputs of a network in evaluation mode, (n, outputs)."""
    device = next(model.parameters()).device
    with evaluating(model):
        parts = [model(part.to(device)).reshape(len(part), -1).double().cpu() for (part,) in batches(1000, x)]
    return torch.cat(parts).numpy()  # type: ignore[no-any-return]


def of_setting(setting: Setting, curves: Curves, samples: int) -> Case:
    """The case of a run of the engine."""
    dataset = dataset_of(setting)
    order = dataset.order(setting.seed_of("data"))[::-1][:samples]  # from the end: mostly not trained on
    labels = dataset.train_y[order]
    if labels.ndim == 2 and dataset.n_classes:  # text: no kernel is measured
        labels = labels[:, 0]
    y = np.eye(dataset.n_classes)[labels] if dataset.n_classes else np.asarray(labels, float)

    width = setting.model_options.get("width", 0) if setting.owns("model") else setting.width

    def redraw(seed: int, factor: float = 1.0) -> nn.Module:
        other: dict[str, Any] = {"init_seed": seed, "linearized": None}  # which has the network's own kernel
        wide = factor * width
        if not setting.owns("model"):
            other["width"] = wide
        elif factor != 1.0:
            whole = round(wide) if isinstance(width, int) else wide
            other["model_options"] = {**setting.model_options, "width": whole}
        return network(replace(setting, **other), dataset)

    frame = _one_run(curves, setting.run)
    model = redraw(setting.seed_of("init"))
    n_data = int(setting.n_data or dataset.n_data)
    batch = None if setting.batch(n_data) == n_data and not setting.online else setting.batch(n_data)
    return Case(
        model, torch.as_tensor(dataset.inputs("train", order)), y.reshape(len(y), -1), n_data,
        setting.learning_rate, setting.momentum or 0.0, batch, frame["step"].to_numpy(float),
        frame["test_loss"].to_numpy(float), {c: frame[c].to_numpy() for c in frame}, bool(setting.online),
        (*_outside(setting), *_outside_network(model)), redraw, setting.run, float(width),
        () if setting.online else _beside(curves, setting),
    )  # fmt: skip


def of_parts(
    curves: Curves, model: nn.Module, data: tuple[Tensor, ArrayLike], learning_rate: float,
    n_data: int | None, momentum: float, batch_size: int | None, samples: int,
) -> Case:  # fmt: skip
    """The case of a network and its data, trained with squared loss by any program."""
    frame, beside = _by_size(curves, n_data)
    x, y = torch.as_tensor(data[0]), np.asarray(data[1])
    if len(x) != len(y):
        raise BadInput(f"{len(x)} inputs and {len(y)} targets: give as many of both")
    if y.ndim == 1 and np.issubdtype(y.dtype, np.integer):
        y = np.eye(int(y.max()) + 1)[y]
    if "test_loss" not in frame or "step" not in frame:
        raise BadInput(f"curves with columns {', '.join(frame)}: explain needs step and test_loss")
    n_data = int(n_data or len(x))
    batch = None if batch_size is None or batch_size >= n_data else batch_size
    noise = () if batch is None else (Reason("batch_noise", batch=batch, n_data=n_data),)
    return Case(
        model, x[:samples], y.reshape(len(y), -1)[:samples].astype(float), n_data, learning_rate, momentum,
        batch, frame["step"].to_numpy(float), frame["test_loss"].to_numpy(float),
        {c: frame[c].to_numpy() for c in frame}, False, (*noise, *_outside_network(model)),
        beside=beside,
    )  # fmt: skip


def _beside(curves: Curves, setting: Setting) -> tuple[tuple[int, np.ndarray, np.ndarray], ...]:
    """The runs whose settings differ in the number of examples alone."""
    frame = curves.frame
    if "n_data" not in frame or "run" not in frame:
        return ()
    sizes = [int(n) for n in sorted(frame["n_data"].dropna().unique()) if n != setting.n_data]
    named = [(n, replace(setting, n_data=n).run) for n in sizes]
    known = set(frame["run"])
    return tuple((n, *_losses(_one_run(curves, run))) for n, run in named if run in known)


def _by_size(
    curves: Curves, n_data: int | None
) -> tuple[pd.DataFrame, tuple[tuple[int, np.ndarray, np.ndarray], ...]]:
    """The run of n_data examples, and those of other numbers where the curves say of how many they are."""
    frame = curves.frame
    if n_data is None or "n_data" not in frame or not (frame["n_data"] == n_data).any():
        return _one_run(curves, None), ()
    parts = {int(n): _one_run(Curves(part), None) for n, part in frame.groupby("n_data")}
    return parts.pop(n_data), tuple((n, *_losses(part)) for n, part in parts.items())


def _losses(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Steps and test losses, where they are numbers."""
    steps, losses = frame["step"].to_numpy(float), frame["test_loss"].to_numpy(float)
    good = np.isfinite(losses) & (losses > 0)
    return steps[good], losses[good]


def _one_run(curves: Curves, run: str | None) -> pd.DataFrame:
    frame = curves.frame
    if run is not None and "run" in frame:
        frame = frame[frame["run"] == run]
    runs = frame["run"].unique() if "run" in frame else [None]
    if len(runs) != 1:
        raise BadInput(f"{len(runs)} runs: explain one at a time, as in curves.select(run={list(runs)[:1]})")
    kept = frame[frame["step"] > 0] if "step" in frame else frame
    return kept.sort_values("step") if "step" in kept else kept


def _outside(s: Setting) -> list[Reason]:
    """Reasons why the theory does not apply to a setting."""
    found = []
    if s.loss not in SQUARED:
        found.append(Reason("other_loss", loss=s.loss))
    if s.optimizer not in ("sgd", "nesterov"):
        found.append(Reason("rescaled_gradients", optimizer=s.optimizer))
    if s.optimizer == "nesterov":
        found.append(Reason("nesterov"))
    if s.schedule != "constant":
        found.append(Reason("other_schedule", schedule=s.schedule))
    if s.dropout:
        found.append(Reason("left_out", setting="dropout", value=s.dropout))
    if s.weight_decay:
        found.append(Reason("left_out", setting="weight_decay", value=s.weight_decay))
    if s.augment != "none" and not s.online:
        found.append(Reason("augmented", augment=s.augment, n_data=s.n_data))
    if s.parameterization == "mup":
        found.append(Reason("mup"))
    n_data = int(s.n_data or 0)
    if not s.online and n_data and s.batch(n_data) < n_data:
        found.append(Reason("batch_noise", batch=s.batch(n_data), n_data=n_data))
    return found


def _outside_network(model: nn.Module) -> list[Reason]:
    found = sorted({type(m).__name__ for m in model.modules() if isinstance(m, NORMS)})
    if not found:
        return []
    batch = any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in model.modules())
    return [Reason("batch_normalized" if batch else "normalized", layers=tuple(found))]


def slopes(case: Case, curves: Curves, setting: Setting | None) -> dict[str, float]:
    """Slopes of measured losses by resource; those that nothing gives are left out."""
    found = {name: _slope(name, case, curves, setting) for name in ("time", "data", "params")}
    return {name: slope for name, slope in found.items() if math.isfinite(slope)}


def _slope(resource: str, case: Case, curves: Curves, setting: Setting | None) -> float:
    """The measured slope: of the curve itself in time, of runs that differ in size alone otherwise."""
    if resource == "time":
        last = case.steps[-1]
        if case.steps[0] > last / 2:
            return math.nan
        half = np.interp(math.log(last / 2), np.log(case.steps), np.log(case.test_loss))
        return float((math.log(case.test_loss[-1]) - half) / math.log(2))
    column = {"data": "n_data", "params": "width"}.get(resource)
    frame = curves.frame
    if setting is None or column not in frame or "run" not in frame:
        return math.nan
    last = frame.sort_values("step").groupby("run").tail(1)
    free = {"run", column, "seed", "init_seed", "order_seed", "data_seed", "batch_size", "n_params"}
    for name, value in setting.identity().items():
        if name in last and name not in free and not isinstance(value, (dict, list)):
            last = last[last[name] == value]
    last = last[last["test_loss"] > 0]
    if last[column].nunique() < 2:
        return math.nan
    return slope(np.log(last[column].astype(float)), np.log(last["test_loss"].astype(float))).value
