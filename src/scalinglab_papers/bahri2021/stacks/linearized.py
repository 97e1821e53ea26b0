"""Perceptrons and their linearisations, trained side by side by full-batch gradient descent.

Both start from the same weights. The network takes plain steps on its parameters, the linearised network the
same steps in function space,

    f_{t+1}(x) = f_t(x) − η Σ_i Θ(x, x_i) ∂L/∂f_t(x_i),

on training and test inputs at once, with the tangent kernel Θ (outputs × outputs) of the network as it was
drawn. That is the same map as a step of gradient descent on the parameters of the linearised network, without
rounding of a million parameters. Losses are taken at the checkpoints of a setting. Initialisations are
stacked, as many as fit. Neighbouring settings that start from the same weights (other losses, rates,
activations) share their draw, which takes longer than the training of a wide network.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby

import torch
from torch import Tensor
from torch.nn import functional as F

from scalinglab.errors import BadInput
from scalinglab.nets.layers import Dense
from scalinglab.nets.parameterization import Network
from scalinglab.train import Setting
from scalinglab.train.batches import Resident, dataset_of
from scalinglab.train.training_step import Named, family_network, initial_parameters, objective, precision
from scalinglab_papers.bahri2021.stacks.descent import descend, outputs, test_losses

STACKED = 3e8  # parameters in a stack, of all its networks
AHEAD = 8  # stacks whose weights are drawn while others train

Rows = list[dict[str, float]]  # of one network, in the order of its checkpoints


@dataclass(frozen=True)
class Stack:
    """Settings that differ in their initial weights only, their data, and a network for layers and scales."""

    settings: list[Setting]
    resident: Resident
    model: Network


@dataclass(frozen=True)
class Drawn:
    """Stacks that start from the same weights.

    Attributes:
        weights: that are being initial_parameters, by name, (networks, …).
    """

    stacks: list[Stack]
    weights: Future[Named]


def losses_beside(settings: Sequence[Setting]) -> Iterator[Rows]:
    """For each setting, in order, the test losses of its network and of its linearisation."""
    for setting in settings:
        _check(setting)
    with ThreadPoolExecutor(AHEAD, thread_name_prefix="scalinglab-draw") as drawing:
        queue: deque[Drawn] = deque()
        for one in _drawn(settings, drawing):
            queue.append(one)
            if len(queue) > AHEAD:
                yield from _losses(queue.popleft())
        while queue:
            yield from _losses(queue.popleft())


def _losses(one: Drawn) -> Iterator[Rows]:
    """The losses of all stacks, initialisation by initialisation."""
    device = one.stacks[0].resident.device
    weights = {name: value.to(device) for name, value in one.weights.result().items()}
    for same_weights in zip(*(stack_losses(stack, weights) for stack in one.stacks)):
        yield from same_weights


def _check(setting: Setting) -> None:
    if setting.model != "mlp" or setting.batch_norm or setting.dropout:
        raise BadInput(f"model={setting.model!r}: plain perceptrons are linearised here, model='mlp'")
    if setting.data_seed is None:
        raise BadInput("data_seed: networks of all seeds are trained on the same examples, give a number")
    if setting.optimizer != "sgd" or setting.momentum or not setting.full_batch:
        raise BadInput(
            f"optimizer={setting.optimizer!r}, momentum={setting.momentum}, full_batch={setting.full_batch}: "
            "a linearised network is solved here for full-batch gradient descent, sgd without momentum"
        )


def _drawn(settings: Sequence[Setting], drawing: ThreadPoolExecutor) -> Iterator[Drawn]:
    """Neighbours that differ in their seeds, or in what the initial weights do not depend on, in stacks."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    models: dict[str, Network] = {}  # drawing a large network takes a second, and losses share it
    starts = [list(same) for _, same in groupby(settings, _start)]
    for _, other_seeds in groupby(
        starts, lambda same: [replace(s, seed=0, init_seed=None).run for s in same]
    ):
        members = list(other_seeds)
        empty = [_empty(setting, device, models) for setting in members[0]]
        size = max(1, int(STACKED // sum(p.numel() for p in empty[0].model.parameters())))
        for place in range(0, len(members), size):
            some = members[place : place + size]
            stacks = [replace(one, settings=[same[k] for same in some]) for k, one in enumerate(empty)]
            yield Drawn(stacks, drawing.submit(initial_parameters, stacks[0].settings, stacks[0].model))


def _start(setting: Setting) -> str:
    """The same for settings whose networks start from the same weights, whatever activation and steps."""
    options = {name: value for name, value in setting.model_options.items() if name != "activation"}
    return replace(
        setting, seed=0, init_seed=setting.seed_of("init"), loss="mse", learning_rate=1.0, steps=1,
        model_options=options,
    ).run  # fmt: skip


def _empty(setting: Setting, device: torch.device, models: dict[str, Network]) -> Stack:
    """A stack of no settings: their data, and a network, which settings of several losses share."""
    dataset = dataset_of(setting)
    resident = Resident(dataset.subset(setting.n_data or dataset.n_data, setting.seed_of("data")), device)
    shape = replace(setting, seed=0, init_seed=None, loss="mse", learning_rate=1.0).run
    if shape not in models:
        models[shape] = family_network(setting, resident.dataset).eval()
    return Stack([], resident, models[shape])


def stack_losses(stack: Stack, weights: Named) -> list[Rows]:
    """The test losses of the networks of a stack and of their linearisations; weights are not changed."""
    with precision(stack.settings[0], stack.resident.device):
        linear = _linearized(stack, weights)
        plain = _trained(stack, {name: value.clone() for name, value in weights.items()})
    return [
        [
            {"step": step, "test_loss": loss, "linearized_test_loss": beside}
            for (step, loss), beside in zip(rows, others, strict=True)
        ]
        for rows, others in zip(plain, linear, strict=True)
    ]


def _trained(stack: Stack, weights: Named) -> list[list[tuple[int, float]]]:
    """For each network its steps and test losses; the weights are overwritten."""
    setting, resident = stack.settings[0], stack.resident
    x, y = resident.inputs(resident.train_x), _each(resident.train_y, stack)

    def losses(at: Named) -> Tensor:
        return objective(outputs(stack.model, at, x), y, setting)

    at = [
        (step, test_losses(stack.model, weights, resident, setting).tolist())
        for step, _ in descend(weights, losses, setting, len(x))
    ]
    return [[(step, found[k]) for step, found in at] for k in range(len(stack.settings))]


@torch.no_grad()
def _linearized(stack: Stack, weights: Named) -> list[list[float]]:
    """For each linearised network its test losses after the same steps."""
    setting, resident = stack.settings[0], stack.resident
    inputs = torch.cat([resident.inputs(x) for x in (resident.train_x, resident.test_x)])
    n = len(resident.train_x)
    seen, unseen = (_each(y, stack) for y in (resident.train_y, resident.test_y))
    kernel, outputs = tangent_kernel(stack.model, weights, inputs, n)
    checkpoints, found = set(setting.checkpoints(n).tolist()), []
    for step in range(1, setting.total_steps(n) + 1):
        change = kernel @ _gradient(outputs[:, :n], seen, setting).flatten(1)[..., None]
        outputs = outputs - setting.learning_rate * change.view(outputs.shape)
        if step in checkpoints:
            found.append(objective(outputs[:, n:], unseen, setting, plain=True).tolist())
    return [list(of_network) for of_network in zip(*found)]


def _each(y: Tensor, stack: Stack) -> Tensor:
    return y.expand(len(stack.settings), *y.shape)


def tangent_kernel(model: Network, weights: Named, x: Tensor, n_seen: int) -> tuple[Tensor, Tensor]:
    """The tangent kernels of stacked perceptrons between all inputs and the first `n_seen`, and the outputs.

    A layer z = μ W h + μ_b b adds (δ_a(x) · δ_b(x')) (μ² h(x) · h(x') + μ_b²) with δ_a = ∂f_a/∂z.

    Args:
        model: for its layers; they are a chain of dense layers and activations.
        weights: by name, (networks, …).
        x: inputs, (n, …).

    Returns:
        (networks, n · outputs, n_seen · outputs) and (networks, n, outputs), float64.
    """
    layers: list[tuple[Dense, Tensor, Tensor]] = []  # with its weights and what enters it
    slopes: list[Tensor] = []
    count = len(next(iter(weights.values())))
    h = x.flatten(1).double().expand(count, len(x), -1)
    for name, module in model.named_modules():
        if isinstance(module, Dense):
            weight = weights[f"{name}.weight"].double()
            layers.append((module, weight, h))
            bias = weights[f"{name}.bias"].double()[:, None]
            h = module.multiplier * (h @ weight.mT) + module.bias_multiplier * bias
        elif not list(module.children()) and not isinstance(module, torch.nn.Flatten):
            with torch.enable_grad():
                z = h.detach().requires_grad_()
                active = module(z)
                slopes.append(torch.autograd.grad(active.sum(), z)[0])
            h = active.detach()
    outputs, classes = h, h.shape[-1]
    back = torch.eye(classes, dtype=h.dtype, device=h.device).expand(count, len(x), classes, classes)
    kernel = torch.zeros((count, len(x), classes, n_seen, classes), dtype=h.dtype, device=h.device)
    for module, weight, entered in reversed(layers):
        inner = module.multiplier**2 * (entered @ entered[:, :n_seen].mT) + module.bias_multiplier**2
        signals = back.flatten(1, 2) @ back[:, :n_seen].flatten(1, 2).mT
        kernel += signals.view(kernel.shape) * inner[:, :, None, :, None]
        if slopes:
            # not back @ weight[:, None], which would copy the weights for every input
            signals = module.multiplier * (back.flatten(1, 2) @ weight)
            back = signals.view(count, len(x), classes, -1) * slopes.pop()[:, :, None]
    return kernel.view(count, len(x) * classes, n_seen * classes), outputs


def _gradient(outputs: Tensor, y: Tensor, setting: Setting) -> Tensor:
    """∂L/∂f on the training examples, (networks, examples, outputs)."""
    target = F.one_hot(y, outputs.shape[-1]).to(outputs.dtype) if y.dtype == torch.int64 else y
    if setting.loss == "mse":
        return 2 * (outputs - target) / outputs[0].numel()
    return (outputs.softmax(-1) - target) / outputs.shape[1]
