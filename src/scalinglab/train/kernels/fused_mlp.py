"""Steps of stacked multi-layer perceptrons by kernels of our own, all runs of a stack in a few launches.

The runs of a stack share the network and may differ in batch size, learning rate, seeds, training set and
length. A step of d hidden layers is 3d launches (`scalinglab.train.kernels.triton_mlp`) for any batches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from scalinglab.nets.layers import Dense
from scalinglab.train.batches import Resident, Stream
from scalinglab.train.setting import Setting
from scalinglab.train.updates.rules import Moments, Rule

# for tensor cores, fp32 numbers are split into two of TF32, whose three larger products are summed
PRODUCTS = {"fp32": "tf32x3", "tf32": "tf32"}
STACK, STACK_BYTES = 128, 2e9  # runs at most, and what their weights and momenta may take
SMALL = 64  # examples: up to here batches share a stack, and larger ones share another
PLAIN = {  # what the kernels know of: any other value is left to the engine's general form
    "model": ("mlp",), "optimizer": ("sgd", "nesterov"), "schedule": ("constant",), "augment": ("none",),
    "loss": ("cross_entropy",), "precision": ("fp32", "tf32"),
    "linearized": (None,), "batch_norm": (None, False), "dropout": (None, 0.0), "full_batch": (False,),
    "compile": (False,), "graphs": (True,),
}  # fmt: skip


def available(device: torch.device) -> bool:
    """Whether the kernels can be compiled for a device."""
    return device.type == "cuda" and find_spec("triton") is not None


def suits(setting: Setting, device: torch.device) -> bool:
    """Whether a run can be trained by these kernels."""
    plain = all(getattr(setting, name) in known for name, known in PLAIN.items())
    return plain and not setting.model_options.get("dropout") and available(device)


def bracket(batch: int) -> str:
    """Equal for batches that are near enough in size to share a stack."""
    return "small" if batch <= SMALL else "large"


# What one program of each kernel takes, by the largest batch of a stack (benchmarks/training.py, part tiles).
# Updates with TILES take so many one after the other (`update_few`): their ROWS hold the largest batch.
TILES: dict[int, dict[str, dict[str, int]]] = {
    16: {
        "forward": {"ROWS": 16, "UNITS": 32, "FEATURES": 64, "num_warps": 4, "num_stages": 4},
        "output": {"ROWS": 16, "UNITS": 64, "num_warps": 4},
        "hidden_gradient": {"ROWS": 16, "UNITS": 32, "FEATURES": 64, "num_warps": 4},
        "update": {"ROWS": 16, "UNITS": 16, "FEATURES": 64, "num_warps": 2, "TILES": 13, "STAGES": 4},
    },
    32: {
        "forward": {"ROWS": 32, "UNITS": 32, "FEATURES": 32, "num_warps": 4, "num_stages": 4},
        "output": {"ROWS": 32, "UNITS": 64, "num_warps": 4},
        "hidden_gradient": {"ROWS": 32, "UNITS": 32, "FEATURES": 64, "num_warps": 4},
        "update": {"ROWS": 32, "UNITS": 32, "FEATURES": 32, "num_warps": 2, "TILES": 13, "STAGES": 4},
    },
    SMALL: {
        "forward": {"ROWS": 64, "UNITS": 64, "FEATURES": 64, "num_warps": 4, "num_stages": 3},
        "output": {"ROWS": 32, "UNITS": 64, "num_warps": 4},
        "hidden_gradient": {"ROWS": 32, "UNITS": 32, "FEATURES": 64, "num_warps": 4},
        "update": {"ROWS": 64, "UNITS": 32, "FEATURES": 64, "num_warps": 4, "TILES": 7, "STAGES": 3},
    },
    1 << 30: {
        "forward": {"ROWS": 128, "UNITS": 64, "FEATURES": 64, "num_warps": 4, "num_stages": 3},
        "output": {"ROWS": 32, "UNITS": 64, "num_warps": 4},
        "hidden_gradient": {"ROWS": 128, "UNITS": 16, "FEATURES": 64, "num_warps": 4},
        "update": {"ROWS": 64, "UNITS": 64, "FEATURES": 128, "num_warps": 4, "num_stages": 3},
    },
}

# numbers in fp32, of which layers above the first read, take twice the memory of a processor that bf16 takes
IN_FP32 = {"forward": {"FEATURES": 32}, "update": {"UNITS": 32}}  # for batches above SMALL


def tiles(most: int) -> dict[str, dict[str, int]]:
    """What one program of each kernel takes, for batches of at most so many examples."""
    found = TILES[min(limit for limit in TILES if most <= limit)]
    # pieces of a batch are those of the forward pass
    return {**found, "hidden_gradient": {**found["hidden_gradient"], "ROWS": found["forward"]["ROWS"]}}


class FusedSteps:
    """Launches the steps of one stack.

    Args:
        setting: what the runs share.
        model, rule: the network, dense layers with ReLU between them, and how it is updated.
        resident, stream: data, and the order in which runs see them.
        parameters, moments: of all runs, (runs, …), changed in place.
        counter, diverged_at: the clock, changed in place.
    """

    def __init__(
        self, setting: Setting, model: nn.Module, rule: Rule, resident: Resident, stream: Stream,
        parameters: dict[str, Tensor], moments: Moments, counter: Tensor, diverged_at: Tensor,
    ) -> None:  # fmt: skip
        from scalinglab.train.kernels import triton_mlp

        self.kernels = triton_mlp
        self.layers = [(name, layer) for name, layer in model.named_modules() if isinstance(layer, Dense)]
        values = {name: value.detach() for name, value in parameters.items()}
        momenta = dict(zip(values, moments.slots[0])) if moments.slots else values
        scales = dict(zip(values, rule.scales))
        self.tensors: list[list[Any]] = [
            [of[f"{name}.{kind}"] for of in (values, momenta, scales) for kind in ("weight", "bias")]
            for name, _ in self.layers
        ]
        self.moments, self.stream, self.counter, self.diverged_at = moments, stream, counter, diverged_at
        self.data, offset, scale = resident.flat
        self.in_bytes = self.data.dtype == torch.uint8
        if self.in_bytes:
            self.data = resident.halves
        self.offset, self.scale = -offset / scale, 1 / scale  # one multiplication and addition
        self.uniform = all(bool((t == t[0]).all()) for t in (self.offset, self.scale))
        self.targets = resident.train_y
        self.optimizer = (rule.momentum, rule.weight_decay)
        self.smoothing = setting.label_smoothing
        self._plan(setting.precision, rule.kind, resident.device)

    def _plan(self, precision: str, optimizer: str, device: torch.device) -> None:
        """Which program does what, and the memory between launches."""
        sizes, most = self.stream.batches.tolist(), self.stream.most
        runs, outputs = len(sizes), self.layers[-1][1].out_features
        self.form = {"MOMENTUM": bool(self.moments.slots), "NESTEROV": optimizer == "nesterov"}
        self.tiles: dict[str, dict[str, Any]] = {
            kernel: {**tile, "PRECISION": PRODUCTS[precision]} for kernel, tile in tiles(most).items()
        }
        self.classes = max(16, 1 << (outputs - 1).bit_length())
        # the longest first, so that none is left at the end
        order = sorted(range(runs), key=lambda r: -sizes[r])
        rows = self.tiles["forward"]["ROWS"]
        pieces = [(r, start, sizes[r]) for r in order for start in range(0, sizes[r], rows)]
        self.order, self.work = (
            torch.tensor(t, dtype=torch.int32, device=device)
            for t in ([(r, sizes[r]) for r in order], pieces)
        )
        hidden = [layer.out_features for _, layer in self.layers[:-1]]
        self.hidden, self.delta = (
            [torch.empty((runs, most, n), device=device) for n in hidden] for _ in range(2)
        )
        self.sizes = (runs, most)
        self.shares = math.ceil(hidden[-1] / self.tiles["forward"]["UNITS"])
        self.partial = torch.empty((runs, self.shares, most, self.classes), device=device)

    def steps(self, count: int) -> None:
        """Launch so many steps."""
        self.examples = self.stream.index(self.counter, count)
        for ahead in range(count):
            self._step(ahead)
        self.counter += count
        self.moments.steps += count

    def _step(self, ahead: int) -> None:
        """Launch the step that is `ahead` of the counter."""
        last = len(self.layers) - 2
        for level in range(last + 1):
            self._forward(level, ahead, level == last)
        self._output(last, ahead)
        for level in range(last - 1, -1, -1):
            self._hidden_gradient(level)
        for level in range(last + 1):
            self._update(level, ahead)

    def _forward(self, level: int, ahead: int, is_last: bool) -> None:
        layer, readout, tile = self.layers[level][1], self.layers[-1][1], self._tile("forward", level)
        self.kernels.forward[(math.ceil(layer.out_features / tile["UNITS"]), len(self.work))](
            *self._inputs(level), self.examples, ahead, self.work, *self.tensors[level][:2],
            self.hidden[level], *self.tensors[-1][:2], self.partial, layer.in_features, layer.out_features,
            readout.out_features, *self.sizes, layer.multiplier, layer.bias_multiplier,
            readout.multiplier, readout.bias_multiplier,
            LAST=is_last, CLASSES=self.classes, **self._kind(level), **tile,
        )  # fmt: skip

    def _output(self, last: int, ahead: int) -> None:
        readout, own, tile = self.layers[-1][1], self.tensors[-1], self.tiles["output"]
        self.kernels.output[(math.ceil(readout.in_features / tile["UNITS"]), len(self.order))](
            self.targets, self.examples, self.counter, ahead, self.order, self.hidden[last],
            self.delta[last], self.partial, *own[:4], self.moments.rates, self.diverged_at, self.shares,
            readout.in_features, readout.out_features, *self.sizes, readout.multiplier,
            readout.bias_multiplier, *own[4:], *self.optimizer, self.smoothing, CLASSES=self.classes,
            **self.form, **tile,
        )  # fmt: skip

    def _hidden_gradient(self, level: int) -> None:
        above, tile = self.layers[level + 1][1], self.tiles["hidden_gradient"]
        self.kernels.hidden_gradient[(math.ceil(above.in_features / tile["FEATURES"]), len(self.work))](
            self.work, self.delta[level + 1], self.tensors[level + 1][0], self.hidden[level],
            self.delta[level], above.in_features, above.out_features, self.stream.most, above.multiplier,
            **tile,
        )  # fmt: skip

    def _update(self, level: int, ahead: int) -> None:
        layer, own, tile = self.layers[level][1], self.tensors[level], self._tile("update", level)
        kernel = self.kernels.update_few if "TILES" in tile else self.kernels.update
        features = tile["FEATURES"] * tile.get("TILES", 1)
        blocks = math.ceil(layer.in_features / features), math.ceil(layer.out_features / tile["UNITS"])
        kernel[(*blocks, len(self.order))](
            *self._inputs(level), self.examples, ahead, self.order, self.delta[level], *own[:4],
            self.moments.rates, layer.in_features, layer.out_features, *self.sizes, layer.multiplier,
            layer.bias_multiplier, *own[4:], *self.optimizer, **self._kind(level), **self.form, **tile,
        )  # fmt: skip

    def _tile(self, kernel: str, level: int) -> dict[str, Any]:
        """What one program of a kernel takes of a layer."""
        as_for_bytes = self.stream.most <= SMALL or (level == 0 and self.in_bytes)
        return self.tiles[kernel] | ({} if as_for_bytes else IN_FP32[kernel])

    def _inputs(self, level: int) -> Sequence[Tensor]:
        """What a layer reads, with offset and scale: the data, or the layer below."""
        return (self.data if level == 0 else self.hidden[level - 1]), self.offset, self.scale

    def _kind(self, level: int) -> dict[str, bool]:
        """Whether a layer reads the data, whether these are bytes, and all normalised alike."""
        in_bytes = level == 0 and self.in_bytes
        return {"FIRST": level == 0, "BYTES": in_bytes, "UNIFORM": in_bytes and self.uniform}
