"""Estimates of the memory that runs take, for packing tasks and for starting groups side by side.

A run holds copies of its weights, and its activations with their gradients. A group of runs evaluates some
thousand examples at a time, of which it holds what one layer reads and writes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch

from scalinglab import nets
from scalinglab.curves import plain
from scalinglab.data.sources import SOURCES
from scalinglab.errors import BadInput
from scalinglab.train.batches import dataset_of
from scalinglab.train.kernels import fused_mlp
from scalinglab.train.modules import networks
from scalinglab.train.setting import Setting
from scalinglab.train.training_step import kind_of

COPIES = 5  # weights, gradients, two moments of the optimizer, and the copy that is evaluated
# an activation, its gradient and what is made of it; a layer's input, its output and a branch
ACTIVATION_COPIES = 3
SHARE = 0.8  # of the free memory of a GPU: the rest is for libraries, and for what an estimate misses
# bytes, at most, of a layer's activations with their copies, in a GPU's evaluation
EVALUATED = 2 << 30
MOST_EXAMPLES = 1 << 12  # that it takes at once
UNKNOWN = 10**6, 10**6, 10**5  # sizes of a network that cannot be built or called before its data are loaded
ALLOCATED = 10**8  # weights of the largest network that is allocated to find its activations


def of_run(s: Setting, device: torch.device, batch: int | None = None) -> float:
    """Bytes that one run adds to a group, where batches are filled up to `batch`, if that is given."""
    weights, activations, _ = sizes(s)
    norms = sum(name.startswith("norm") for name in s.measure)  # each is read off a copy of its own
    trained = _activation_copies(s, device) * activations * (batch or _batch(s))
    fused = fused_mlp.suits(s, device)  # which updates weights and momenta where they lie
    return float(4 * ((2 if fused else COPIES) + norms) * weights + _bytes(s) * trained)


def of_group(settings: Sequence[Setting]) -> float:
    """Bytes that a group of runs takes on a GPU, with its evaluations."""
    s, gpu, batch = settings[0], torch.device("cuda"), max(map(_batch, settings))
    evaluated = float(_bytes(s) * _activation_copies(s, gpu) * examples_at_once(s) * sizes(s)[2])
    return sum(of_run(run, gpu, batch) for run in settings) + evaluated


def examples_at_once(s: Setting) -> int:
    """Examples, of all runs together, that an evaluation on a GPU takes at once: a power of two."""
    most = EVALUATED / (_bytes(s) * ACTIVATION_COPIES * sizes(s)[2])
    return max(1, min(MOST_EXAMPLES, 1 << int(math.log2(max(1.0, most)))))


def _batch(s: Setting) -> int:
    """Examples a step."""
    return s.batch(int(s.n_data or 1))


def _activation_copies(s: Setting, device: torch.device) -> int:
    """How often activations are in memory; each captured graph has its own, and so have trials before it."""
    captured = s.graphs and device.type == "cuda"
    return ACTIVATION_COPIES * (2 if captured and not s.compile else 1)  # compiled code holds few of them


def _bytes(s: Setting) -> int:
    """Of an activation."""
    return 2 if s.precision == "bf16" else 4


def sizes(s: Setting) -> tuple[int, int, int]:
    """Parameters of a network, its activations for one example, and those of its largest layer.

    A network that cannot be built for data of this shape is refused here, before anything runs.
    """
    if s.owns("model"):
        return _own_sizes(kind_of(s, "any"), s)
    return _sizes(*_architecture(s), s.compile)


_OWN: dict[str, tuple[int, int, int]] = {}


def _own_sizes(kind: str, s: Setting) -> tuple[int, int, int]:
    """Of a network of the user's own, which is built and called once."""
    if kind not in _OWN:
        try:
            data = dataset_of(s)
            with torch.random.fork_rng(devices=[]):  # a pass may draw numbers
                model = networks.build(s, data)
                _OWN[kind] = networks.activations(model, torch.from_numpy(data.inputs("train", slice(0, 1))))
        except BadInput:
            raise
        except Exception:  # an estimate must not stop a sweep
            _OWN[kind] = UNKNOWN
    return _OWN[kind]


def _architecture(s: Setting) -> tuple[str, float, int | None, str, bool | None, str, int]:
    """What a network is built from."""
    options = json.dumps(plain(s.model_options), sort_keys=True)
    return s.model, s.width, s.depth, s.dataset, s.batch_norm, options, s.pool


@lru_cache(maxsize=256)
def _sizes(
    model: str, width: float, depth: int | None, dataset: str, batch_norm: bool | None,
    options: str = "{}", pool: int = 1, compiles: bool = False,
) -> tuple[int, int, int]:  # fmt: skip
    """Weights are not drawn. To go without them PyTorch loads its compiler: small ones are allocated."""
    try:
        source = SOURCES.get(dataset)
        given: dict[str, Any] = {"depth": depth, "batch_norm": batch_norm, **json.loads(options)}
        given = {name: value for name, value in given.items() if value is not None}
        with torch.device("meta"):
            classes = source.n_classes if source else 10
            network = nets.build(model, _shape(dataset, pool), classes, width=width, **given)
        weights = sum(p.numel() for p in network.parameters())
        place = torch.device("meta" if compiles or weights > ALLOCATED else "cpu")
        with place:
            return networks.activations(
                network.to_empty(device=place), torch.zeros(1, *_shape(dataset, pool))
            )
    except BadInput:
        if dataset in SOURCES:
            raise
        return UNKNOWN
    except Exception:  # an estimate must not stop a sweep: a network that does not fit is split when it fails
        return UNKNOWN


def _shape(dataset: str, pool: int) -> tuple[int, ...]:
    """Of an example; data that are not known before they are loaded are taken to be small colour images."""
    channels, *sides = SOURCES[dataset].shape if dataset in SOURCES else (3, 32, 32)
    return (channels, *(side // pool for side in sides))
