"""Layers whose Jacobian is a product of the layer's input and the backpropagated gradient.

A dense or convolutional layer z = μ W h + μ_b b that is applied at positions s has, for output a,

    ∂f_a/∂W = μ Σ_s δ_a(s) h(s)ᵀ,    ∂f_a/∂b = μ_b Σ_s δ_a(s),    δ_a = ∂f_a/∂z,

with h(s) the patch of the input that position s sees; the gain of a normalisation layer has Σ_s δ_a(s) h(s)
with h its normalised input. One forward pass and one backward pass for each output give h and δ of a whole
batch. `take_apart` looks for such layers and compares each with automatic differentiation; parameters of
anything else (embeddings, shared weights) are left to `torch.func`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from scalinglab.measure.evaluation import logits_of, trained

NORMS = (nn.modules.batchnorm._BatchNorm, nn.LayerNorm)
COMPARED = 16  # examples, about, that are passed in a batch and each by itself
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

    @property
    def is_gain(self) -> bool:
        """Whether it multiplies each channel by a number, after normalisation."""
        return isinstance(self.module, NORMS)

    def patches(self, entered: Tensor) -> Tensor:
        """μ h(s) of a batch of inputs, (n, positions, q); (n, positions, c) of gains."""
        if self.is_gain:
            return self.signals(_normalized(self.module, entered))
        if isinstance(self.module, nn.Conv2d):
            conv: Any = self.module
            found = F.unfold(entered, conv.kernel_size, conv.dilation, conv.padding, conv.stride).mT
        else:
            found = entered.reshape(len(entered), -1, entered.shape[-1])
        return found if self.multiplier == 1 else self.multiplier * found

    def signals(self, back: Tensor) -> Tensor:
        """δ(s) of a batch of gradients (n, …) by the layer's output, (n, positions, c)."""
        if isinstance(self.module, (nn.Conv2d, nn.modules.batchnorm._BatchNorm)):
            return back.flatten(2).mT if back.ndim > 2 else back[:, None]
        return back.reshape(len(back), -1, back.shape[-1])


@dataclass(frozen=True, eq=False)
class Anatomy:
    """A network in evaluation mode, taken apart.

    Attributes:
        layers: those whose Jacobian is a product.
        other_parameters: names of the parameters of no known layer.
        directions: (directions, outputs): the combinations of outputs that are differentiated.
    """

    model: nn.Module
    parameters: Named
    buffers: Named
    layers: tuple[Layer, ...]
    other_parameters: tuple[str, ...]
    directions: Tensor

    def activations(self) -> int:
        """Numbers that a backward pass over one example holds, about: activations and every δ."""
        leaving = sum(layer.shape[0] * layer.shape[2] for layer in self.layers)
        entering = sum(math.prod(layer.input_shape) for layer in self.layers)
        patches = max((layer.shape[1] * layer.shape[2] for layer in self.layers), default=0)
        return 1 + 2 * (entering + (1 + len(self.directions)) * leaving) + 2 * patches

    def call(self, parameters: Named, x: Tensor) -> Tensor:
        """Outputs (n, outputs)."""
        found = functional_call(self.model, {**parameters, **self.buffers}, (x,))
        return logits_of(found, "a tangent kernel is of its logits").reshape(len(x), -1)

    def factors(self, x: Tensor, layers: Sequence[Layer]) -> Iterator[tuple[Layer, Tensor, Tensor]]:
        """What entered each layer, (n, …), and the gradients by what it put out, (n, directions, …)."""
        leaves = {name: p.detach().requires_grad_() for name, p in self.parameters.items()}
        with torch.enable_grad(), calls_of(self.model, [layer.module for layer in layers]) as seen:
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


def layer_jacobian(layer: Layer, entered: Tensor, back: Tensor, channels: slice = slice(None)) -> Tensor:
    """The Jacobian of one direction by the weights of some of a layer's channels, (n, weights)."""
    patches, signals = layer.patches(entered), layer.signals(back)[..., channels]
    return (signals * patches[..., channels]).sum(1) if layer.is_gain else (signals.mT @ patches).flatten(1)


@contextmanager
def calls_of(
    model: nn.Module, modules: Sequence[nn.Module]
) -> Iterator[dict[nn.Module, list[tuple[Tensor, Tensor]]]]:
    """Record inputs and outputs of some modules in the context, one pair a call."""
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


def take_apart(model: nn.Module, inputs: Tensor, directions: Tensor | None = None) -> Anatomy:
    """Take a network apart; layers are compared with autograd on the first of the inputs (n, …)."""
    x = inputs[:1]
    parameters = trained(model)
    buffers = dict(model.named_buffers())
    whole = Anatomy(model, parameters, buffers, (), (), torch.empty(0))
    with torch.no_grad():
        n_outputs = whole.call(parameters, x).shape[1]
    if directions is None:
        directions = torch.eye(n_outputs)
    directions = directions.to(x.device, next(iter(parameters.values())).dtype)
    layers = (
        _checked_layers(whole, _candidates(whole, x), x, n_outputs)
        if _examples_are_independent(whole, inputs)
        else []
    )
    known = {name for layer in layers for name in (layer.weight, layer.bias)}
    others = tuple(name for name in parameters if name not in known)
    return Anatomy(model, parameters, buffers, tuple(layers), others, directions)


def _examples_are_independent(whole: Anatomy, inputs: Tensor) -> bool:
    """Whether examples have the same outputs in a batch as alone; in some networks they interact."""
    with torch.no_grad():
        alone = torch.cat([whole.call(whole.parameters, one[None]) for one in inputs])
        difference = whole.call(whole.parameters, inputs) - alone
        return bool(difference.abs().max() <= TOLERANCE * alone.abs().max())


def _candidates(whole: Anatomy, x: Tensor) -> list[Layer]:
    """Dense and convolutional layers that are called once and share no parameter."""
    named = {
        name: module
        for name, module in whole.model.named_modules()
        if isinstance(module, nn.Linear)
        or (isinstance(module, NORMS) and module.weight is not None and module.weight.ndim == 1)
        or (isinstance(module, nn.Conv2d) and module.groups == 1 and not isinstance(module.padding, str))
    }
    owners = Counter(
        id(p) for module in whole.model.modules() for p in module._parameters.values() if p is not None
    )
    leaves = {name: p.detach().requires_grad_() for name, p in whole.parameters.items()}
    with torch.enable_grad(), calls_of(whole.model, list(named.values())) as seen:
        whole.call(leaves, x)
    layers = []
    for name, module in named.items():
        own = [p for p in (module.weight, module.bias) if p is not None]
        if len(seen[module]) != 1 or any(owners[id(p)] > 1 for p in own):
            continue
        entered, left = seen[module][0]
        if not left.requires_grad:  # called inside a transform of its own, as in a linearised network
            continue
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


def _checked_layers(whole: Anatomy, layers: list[Layer], x: Tensor, n_outputs: int) -> list[Layer]:
    """The layers for which the product of factors equals the gradient by autograd."""
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
        signals = layer.signals(back[:, 0])[0]
        mine: Named = {layer.weight: layer_jacobian(layer, entered, back[:, 0])[0]}
        if layer.bias is not None:
            mine[layer.bias] = layer.bias_multiplier * signals.sum(0)
        if _gradients_agree(mine, expected):
            good.append(layer)
    return good


def _normalized(module: Any, x: Tensor) -> Tensor:
    """What a normalisation layer multiplies by its gain, in evaluation mode."""
    if isinstance(module, nn.LayerNorm):
        return F.layer_norm(x, module.normalized_shape, None, None, module.eps)
    return F.batch_norm(x, module.running_mean, module.running_var, None, None, False, 0.0, module.eps)


def _gradients_agree(mine: Named, expected: Mapping[str, Tensor | None]) -> bool:
    """Whether the gradients of a layer agree, weights and bias together: that of a bias may be zero."""
    others = [expected.get(name) for name in mine]
    pairs = [(value, other) for value, other in zip(mine.values(), others) if other is not None]
    if len(pairs) < len(mine) or any(value.numel() != other.numel() for value, other in pairs):
        return False
    difference = sum((value.flatten() - other.flatten()).square().sum() for value, other in pairs)
    return bool(difference <= TOLERANCE**2 * sum(other.square().sum() for _, other in pairs))
