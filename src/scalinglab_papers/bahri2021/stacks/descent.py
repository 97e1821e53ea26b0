"""Full-batch gradient descent of stacked networks, and losses of a training set cut into blocks.

For figures that need a few losses of thousands of small networks or hundreds of very wide ones: all networks
of a stack take their steps together, and nothing is stored for a single network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from scalinglab.nets.layers import Conv, Dense, scaled
from scalinglab.nets.parameterization import Network
from scalinglab.train import Setting
from scalinglab.train.batches import Resident, dataset_of
from scalinglab.train.training_step import Named, family_network, initial_parameters, objective, precision

STACKED = 2e8  # numbers in the training inputs of a stack, of all its permutations
FEWEST = 192  # numbers that an example counts for at least: hidden layers have theirs, too
PIECE = 1024  # examples over which gradients are summed at once
RISE = 1e-4  # relative, above what rounding does to a mean loss


def outputs(model: Network, weights: Named, x: Tensor) -> Tensor:
    """Outputs of stacked networks on inputs that they share, (networks, examples, outputs).

    Convolutional ones one by one: stacked convolutions of few channels are grouped convolutions, and slow.
    """
    if any(isinstance(one, Conv) for one in model.modules()):
        stacked = zip(*weights.values(), strict=True)
        return torch.stack([functional_call(model, dict(zip(weights, one)), (x,)) for one in stacked])
    return torch.vmap(lambda one: functional_call(model, one, (x,)))(weights)  # type: ignore[no-any-return]


def test_losses(model: Network, weights: Named, resident: Resident, setting: Setting) -> Tensor:
    """Test losses of stacked networks, (networks,)."""
    with torch.no_grad():
        found = outputs(model, weights, resident.inputs(resident.test_x)).double()
        y = resident.test_y
        return objective(found, y.expand(len(found), *y.shape), setting, plain=True)


def descend(
    weights: Named, losses: Callable[[Named], Tensor], setting: Setting, examples: int
) -> Iterator[tuple[int, Tensor]]:
    """Gradient descent on stacked networks, in place; stops at each checkpoint of the setting.

    The displacement from the initial weights is summed by itself: in a wide network a step is smaller than
    the rounding of a weight, and would be lost.

    Args:
        weights: by name, (networks, …).
        losses: the training loss of each network, (networks,), at weights of this form.
        examples: in the training set of a network, which the setting's checkpoints may depend on.

    Yields:
        The step, and for each network at how many steps so far its training loss rose, (networks,).
    """
    start = {name: value.detach().clone() for name, value in weights.items()}
    displacement = {name: torch.zeros_like(value) for name, value in start.items()}
    first = next(iter(start.values()))
    before = torch.full((len(first),), torch.inf, device=first.device)
    rises = torch.zeros(len(first), dtype=torch.int64, device=first.device)
    checkpoints = set(setting.checkpoints(examples).tolist())
    for step in range(1, setting.total_steps(examples) + 1):
        leaves = {name: value.detach().requires_grad_() for name, value in weights.items()}
        found = losses(leaves)
        gradients = torch.autograd.grad(found.sum(), list(leaves.values()))
        with torch.no_grad():
            for name, gradient in zip(weights, gradients):
                displacement[name].sub_(gradient, alpha=setting.learning_rate)
                torch.add(start[name], displacement[name], out=weights[name])
            rises += found > (1 + RISE) * before
            before = found.detach()
        if step in checkpoints:
            yield step, rises


# --- partitions ----------------------------------------------------------------------------------------


def partition_losses(settings: Sequence[Setting], population: int) -> Iterator[list[dict[str, float]]]:
    """For each setting, at each of its checkpoints, the mean test loss over the blocks of a partition.

    The first `population` examples of the seed's permutation are cut into blocks of n_data examples, and a
    network is trained on each of them, all from the same initial weights. Neighbouring settings of one seed
    are trained together: their blocks differ, the examples are the same.
    """
    by_seed = [list(sizes) for _, sizes in groupby(settings, lambda one: replace(one, n_data=None).run)]
    for _, same in groupby(by_seed, lambda sizes: [replace(one, seed=0).run for one in sizes]):
        members = list(same)
        first = members[0][0]
        resident = Resident(dataset_of(first), torch.device("cuda" if torch.cuda.is_available() else "cpu"))
        model = family_network(first, resident.dataset).eval()
        at_once = max(1, int(STACKED // (population * max(FEWEST, math.prod(resident.input_shape)))))
        for place in range(0, len(members), at_once):
            yield from _partitions(members[place : place + at_once], population, resident, model)


def _partitions(
    stack: Sequence[Sequence[Setting]], population: int, resident: Resident, model: Network
) -> list[list[dict[str, float]]]:
    """The rows of a stack of seeds, each with settings of the same sizes.

    Networks lie one after another, by seed, size and block.
    """
    seeds, setting, device = [of_seed[0] for of_seed in stack], stack[0][0], resident.device
    sizes = [one.n_data or population for one in stack[0]]
    blocks = [population // size for size in sizes]
    common = math.gcd(*sizes)
    pieces = population // (PIECE if common % PIECE == 0 else common)
    data, count = dataset_of(setting), sum(blocks)
    orders = [data.order(one.seed_of("data"))[:population] for one in seeds]
    index = torch.from_numpy(np.stack(orders)).view(len(seeds) * pieces, -1).to(device)
    x, y = resident.inputs(resident.train_x[index]).contiguous(), resident.train_y[index]
    block = np.arange(pieces)[:, None] * blocks // pieces + np.cumsum([0, *blocks[:-1]])  # (pieces, sizes)
    trained_on = np.concatenate([block + k * count for k in range(len(seeds))])
    initial = initial_parameters(seeds, model)
    weights = {name: value.repeat_interleave(count, 0).to(device) for name, value in initial.items()}
    rows: list[list[dict[str, float]]] = [[] for one in stack for _ in one]
    n_params = sum(p.numel() for p in model.parameters())
    with precision(setting, device):
        losses = _piecewise(model, x, y, torch.from_numpy(trained_on).to(device), setting)
        for step, rises in descend(weights, losses, setting, population):
            tests = torch.split_with_sizes(
                test_losses(model, weights, resident, setting), blocks * len(seeds)
            )
            rose = torch.split_with_sizes(rises > 0, blocks * len(seeds))
            for kept, losses_of_blocks, risen in zip(rows, tests, rose):
                counts = {"networks": len(risen), "networks_rose": int(risen.sum())}
                loss = float(losses_of_blocks.mean())
                kept.append({"step": step, "test_loss": loss, "n_params": n_params, **counts})
    return rows


def _piecewise(
    model: Network, x: Tensor, y: Tensor, trained_on: Tensor, setting: Setting
) -> Callable[[Named], Tensor]:
    """The mean training loss of each network, whose examples lie in several pieces so that sums are short.

    Args:
        x, y: (pieces, examples, …).
        trained_on: the networks that are trained on each piece, (pieces, networks of a piece).
    """
    shared = trained_on.shape[1]
    y = y[:, None].expand(-1, shared, *y.shape[1:]).flatten(0, 1).contiguous()
    pieces_of_each = torch.bincount(trained_on.flatten())

    def losses(weights: Named) -> Tensor:
        by_network = {name: value[trained_on] for name, value in weights.items()}
        by_piece = objective(outputs_on_pieces(model, by_network, x).flatten(0, 1), y, setting)
        sums = torch.zeros(len(pieces_of_each), dtype=by_piece.dtype, device=x.device)
        return sums.index_add(0, trained_on.flatten(), by_piece) / pieces_of_each

    return losses


def outputs_on_pieces(model: Network, weights: Named, x: Tensor) -> Tensor:
    """Outputs of the networks of each piece, (pieces, networks, examples, outputs).

    The first layer of perceptrons is one product for all networks of a piece: vmap would copy the inputs.

    Args:
        weights: by name, (pieces, networks, …).
        x: (pieces, examples, …).
    """
    layers = [(name, one) for name, one in model.named_modules() if not list(one.children())]
    if not all(isinstance(one, (Dense, nn.ReLU, nn.Flatten)) for _, one in layers):
        by_piece = zip(x, *weights.values(), strict=True)
        return torch.stack([outputs(model, dict(zip(weights, own)), piece) for piece, *own in by_piece])
    h = x.flatten(2).mT  # (pieces, …, units, examples)
    for name, layer in layers:
        if isinstance(layer, Dense):
            weight, bias = (weights[f"{name}.{part}"] for part in ("weight", "bias"))
            z = weight @ h if h.ndim > 3 else (weight.flatten(1, 2) @ h).view(*weight.shape[:3], -1)
            h = scaled(z, layer.multiplier) + scaled(bias, layer.bias_multiplier)[..., None]
        elif isinstance(layer, nn.ReLU):
            h = h.relu()
    return h.mT
