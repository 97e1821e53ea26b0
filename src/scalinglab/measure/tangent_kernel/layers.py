"""Layers whose Jacobian is a product of what goes in and what comes back.

A dense or convolutional layer z = μ W h + μ_b b that is applied at positions s has, for output a,

    ∂f_a/∂W = μ Σ_s δ_a(s) h(s)ᵀ,    ∂f_a/∂b = μ_b Σ_s δ_a(s),    δ_a = ∂f_a/∂z,

with h(s) the patch of the input that position s sees. One forward pass and one backward pass for each output
give h and δ of a whole batch. `find` looks for such layers and compares each with automatic differentiation;
parameters of anything else (gains, embeddings, shared weights) are left to `torch.func`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

TOLERANCE = 1e-3  # relative, of the comparison in single precision

Named = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer z = μ W h + μ_b b.

    Attributes:
        weight, bias: names of its parameters; the bias may be None.
        multiplier, bias_multiplier: μ and μ_b.
        shape: outputs c, inputs of one output q, positions s.
        input_shape: of the layer's input, of one example.
    """

    module: nn.Module
    weight: str
    bias: str | None
    multiplier: float
    bias_multiplier: float
    shape: tuple[int, int, int]
    input_shape: tuple[int, ...]

    def patches(self, entered: Tensor) -> Tensor:
        """μ h(s) of a batch of inputs, (n, positions, q)."""
        if isinstance(self.module, nn.Conv2d):
            conv: Any = self.module
            found = F.unfold(entered, conv.kernel_size, conv.dilation, conv.padding, conv.stride).mT
        else:
            found = entered.reshape(len(entered), -1, entered.shape[-1])
        return found if self.multiplier == 1 else self.multiplier * found

    def signals(self, back: Tensor) -> Tensor:
        """δ(s) of a batch of gradients (n, …) by the layer's output, (n, positions, c)."""
        if isinstance(self.module, nn.Conv2d):
            return back.flatten(2).mT
        return back.reshape(len(back), -1, back.shape[-1])


@dataclass(frozen=True, eq=False)
class Anatomy:
    """A network in evaluation mode, taken apart.

    Attributes:
        layers: those whose Jacobian is a product.
        rest: names of all other parameters.
        directions: (directions, outputs): the combinations of outputs that are differentiated.
    """

    model: nn.Module
    parameters: Named
    buffers: Named
    layers: tuple[Layer, ...]
    rest: tuple[str, ...]
    directions: Tensor

    def call(self, parameters: Named, x: Tensor) -> Tensor:
        """Outputs (n, outputs)."""
        found = functional_call(self.model, {**parameters, **self.buffers}, (x,))
        return found.reshape(len(x), -1)  # type: ignore[no-any-return]

    def factors(self, x: Tensor, layers: Sequence[Layer]) -> Iterator[tuple[Layer, Tensor, Tensor]]:
        """What entered each layer, (n, …), and the gradients by what it put out, (n, directions, …)."""
        leaves = {name: p.detach().requires_grad_() for name, p in self.parameters.items()}
        with torch.enable_grad(), recorded(self.model, [layer.module for layer in layers]) as seen:
            outputs = self.call(leaves, x)
            ends = [seen[layer.module][0][1] for layer in layers]
            back = [
                torch.autograd.grad(
                    (outputs @ direction).sum(), ends, retain_graph=True, materialize_grads=True
                )
                for direction in self.directions
            ]
        for place, layer in enumerate(layers):
            entered = seen[layer.module][0][0].detach()
            yield layer, entered, torch.stack([gradients[place] for gradients in back], 1)


@contextmanager
def recorded(
    model: nn.Module, modules: Sequence[nn.Module]
) -> Iterator[dict[nn.Module, list[tuple[Tensor, Tensor]]]]:
    """What goes into and comes out of some modules while the context is open, one pair a call."""
    seen: dict[nn.Module, list[tuple[Tensor, Tensor]]] = {module: [] for module in modules}
    in_place = any(getattr(module, "inplace", False) for module in model.modules())

    def keep(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        seen[module].append((inputs[0], output))
        return output.clone() if in_place else None  # what follows may write into it

    handles = [module.register_forward_hook(keep) for module in modules]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def find(model: nn.Module, x: Tensor, directions: Tensor | None = None) -> Anatomy:
    """Take a network apart; `x` is one example (1, …), on which layers are compared with autograd."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    buffers = dict(model.named_buffers())
    whole = Anatomy(model, parameters, buffers, (), (), torch.empty(0))
    with torch.no_grad():
        n_outputs = whole.call(parameters, x).shape[1]
    if directions is None:
        directions = torch.eye(n_outputs)
    directions = directions.to(x.device, next(iter(parameters.values())).dtype)
    layers = _verified(whole, _candidates(whole, x), x, n_outputs)
    known = {name for layer in layers for name in (layer.weight, layer.bias)}
    rest = tuple(name for name in parameters if name not in known)
    return Anatomy(model, parameters, buffers, tuple(layers), rest, directions)


def _candidates(whole: Anatomy, x: Tensor) -> list[Layer]:
    """Dense and convolutional layers that are called once and share no parameter."""
    named = {
        name: module
        for name, module in whole.model.named_modules()
        if isinstance(module, nn.Linear)
        or (isinstance(module, nn.Conv2d) and module.groups == 1 and not isinstance(module.padding, str))
    }
    owners = Counter(
        id(p) for module in whole.model.modules() for p in module._parameters.values() if p is not None
    )
    with torch.no_grad(), recorded(whole.model, list(named.values())) as seen:
        whole.call(whole.parameters, x)
    layers = []
    for name, module in named.items():
        own = [p for p in (module.weight, module.bias) if p is not None]
        if len(seen[module]) != 1 or any(owners[id(p)] > 1 for p in own):
            continue
        entered, left = seen[module][0]
        channels, inputs = module.weight.shape[0], module.weight[0].numel()
        prefix = f"{name}." if name else ""
        if not {f"{prefix}weight", f"{prefix}bias"} & whole.parameters.keys():
            continue
        layers.append(
            Layer(
                module, f"{prefix}weight", f"{prefix}bias" if module.bias is not None else None,
                float(getattr(module, "multiplier", 1.0)), float(getattr(module, "bias_multiplier", 1.0)),
                (channels, inputs, left.numel() // (channels * len(x))), tuple(entered.shape[1:]),
            )
        )  # fmt: skip
    return layers


def _verified(whole: Anatomy, layers: list[Layer], x: Tensor, n_outputs: int) -> list[Layer]:
    """The layers whose product of factors is the gradient that autograd finds."""
    if not layers:
        return []
    direction = torch.linspace(0.5, 1.5, n_outputs, device=x.device).to(next(iter(whole.parameters.values())))
    trial = Anatomy(whole.model, whole.parameters, whole.buffers, (), (), direction[None])
    leaves = {name: p.detach().requires_grad_() for name, p in whole.parameters.items()}
    with torch.enable_grad():
        total = (whole.call(leaves, x) @ direction).sum()
        found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    expected = dict(zip(leaves, found))
    good = []
    for layer, entered, back in trial.factors(x, layers):
        patches, signals = layer.patches(entered)[0], layer.signals(back[:, 0])[0]
        mine: Named = {layer.weight: signals.mT @ patches}
        if layer.bias is not None:
            mine[layer.bias] = layer.bias_multiplier * signals.sum(0)
        if all(_same(value, expected.get(name)) for name, value in mine.items()):
            good.append(layer)
    return good


def _same(value: Tensor, expected: Tensor | None) -> bool:
    if expected is None or value.numel() != expected.numel():
        return False
    difference = (value.reshape(expected.shape) - expected).norm()
    return bool(difference <= TOLERANCE * expected.norm())
