"""Stacked networks trained by full-batch gradient descent, and a partition of a training set into blocks.

For figures that need thousands of small networks, or hundreds of very wide ones, and of each a few losses:
all networks of a stack take their steps together, and no rows or states of a single network are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from scalinglab.nets.parameterization import Network
from scalinglab.train import Setting
from scalinglab.train.batches import Resident, dataset_of
from scalinglab.train.training_step import Named, drawn, network, objective, precision

STACKED = 2e8  # numbers in the training inputs of a stack, of all its networks
FEWEST = 192  # numbers that an example counts for at least: hidden layers have theirs, too
PIECE = 1024  # examples over which gradients are summed at once
RISE = 1e-4  # relative, above what rounding does to a mean loss


def outputs(model: Network, weights: Named, x: Tensor, shared: bool) -> Tensor:
    """Outputs of stacked networks, (networks, examples, outputs), on their own inputs or on shared ones."""
    return torch.vmap(lambda own, at: functional_call(model, own, (at,)), in_dims=(0, None if shared else 0))(
        weights, x
    )  # type: ignore[no-any-return]


def descend(
    model: Network, weights: Named, x: Tensor, y: Tensor, setting: Setting, shared: bool = False
) -> Iterator[tuple[int, Tensor]]:
    """Gradient descent on stacked networks, in place; stops at each checkpoint of the setting.

    The way from the initial weights is summed by itself: in a wide network a step is smaller than the
    rounding of a weight, and would be lost.

    Args:
        weights: by name, (networks, …).
        x: (networks · pieces, examples, …), the examples of a network in as many pieces as there are inputs
            for it, so that long sums are split; or shared by all networks, (examples, …).
        y: (networks · pieces, examples, …).

    Yields:
        The step, and for each network at how many steps so far its training loss rose, (networks,).
    """
    start = {name: value.detach().clone() for name, value in weights.items()}
    way = {name: torch.zeros_like(value) for name, value in start.items()}
    count = len(next(iter(weights.values())))
    checkpoints, pieces = set(setting.checkpoints(y.shape[1]).tolist()), len(y) // count
    before = torch.full((count,), torch.inf, device=y.device)
    rises = torch.zeros(count, dtype=torch.int64, device=y.device)
    for step in range(1, setting.total_steps(y.shape[1]) + 1):
        leaves = {name: value.detach().requires_grad_() for name, value in weights.items()}
        own = leaves
        if pieces > 1:
            own = {name: value.repeat_interleave(pieces, 0) for name, value in leaves.items()}
        losses = objective(outputs(model, own, x, shared), y, setting).view(count, pieces).mean(1)
        gradients = torch.autograd.grad(losses.sum(), list(leaves.values()))
        with torch.no_grad():
            for name, gradient in zip(weights, gradients):
                way[name].sub_(gradient, alpha=setting.learning_rate)
                torch.add(start[name], way[name], out=weights[name])
            rises += losses > (1 + RISE) * before
            before = losses.detach()
        if step in checkpoints:
            yield step, rises


def test_losses(model: Network, weights: Named, resident: Resident, setting: Setting) -> Tensor:
    """Test losses of stacked networks, (networks,)."""
    with torch.no_grad():
        found = outputs(model, weights, resident.inputs(resident.test_x), shared=True).double()
        y = resident.test_y
        return objective(found, y.expand(len(found), *y.shape), setting, plain=True)


def partition_losses(settings: Sequence[Setting], population: int) -> Iterator[list[dict[str, float]]]:
    """For each setting, at each of its checkpoints, the mean test loss over the blocks of a partition.

    The first `population` examples of the seed's permutation are cut into blocks of n_data examples, and a
    network is trained on each of them, all from the same initial weights.
    """
    for _, alike in groupby(settings, lambda one: replace(one, seed=0).run):
        members = list(alike)
        resident = Resident(dataset_of(members[0]), _device())
        model = network(members[0], resident).eval()
        size = max(1, int(STACKED // (population * max(FEWEST, math.prod(resident.input_shape)))))
        for place in range(0, len(members), size):
            yield from _partitions(members[place : place + size], population, resident, model)


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _partitions(
    settings: Sequence[Setting], population: int, resident: Resident, model: Network
) -> list[list[dict[str, float]]]:
    """The rows of a stack: the settings differ in their seeds."""
    first, data = settings[0], dataset_of(settings[0])
    blocks = population // (first.n_data or population)
    orders = [data.order(one.seed_of("data"))[:population] for one in settings]
    size = population // blocks
    index = torch.from_numpy(np.stack(orders)).view(-1, PIECE if size % PIECE == 0 else size)
    index = index.to(resident.device)
    x, y = resident.inputs(resident.train_x[index]).contiguous(), resident.train_y[index]
    weights = {
        name: value.repeat_interleave(blocks, 0).to(resident.device)
        for name, value in drawn(settings, model).items()
    }
    rows: list[list[dict[str, float]]] = [[] for _ in settings]
    n_params = sum(p.numel() for p in model.parameters())
    with precision(first, resident.device):
        for step, rises in descend(model, weights, x, y, first):
            losses = test_losses(model, weights, resident, first).view(-1, blocks)
            rose = (rises > 0).view(-1, blocks).sum(1)
            for own, loss, count in zip(rows, losses.mean(1).tolist(), rose.tolist()):
                counts = {"n_params": n_params, "networks": blocks, "networks_rose": count}
                own.append({"step": step, "test_loss": loss, **counts})
    return rows
