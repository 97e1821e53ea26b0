"""Parameters and floating-point operations of a network, counted while it is called on one example.

A multiplication and an addition are two operations. Products of matrices and convolutions count. In the
backward pass each product costs as much again for each of its factors that needs a gradient (the data need
none). Activations, norms and pooling are left out, as is customary. PyTorch's own counter is not used, since
it loads the compiler, which takes seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from scalinglab.errors import BadInput
from scalinglab.measure.evaluation import evaluating, on_zeros, unwrapped, zeros
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.support.validation import checked

_PRODUCTS = {
    torch.matmul, torch.mm, torch.bmm, torch.mv, torch.dot, Tensor.matmul, Tensor.__matmul__, Tensor.mm,
    Tensor.bmm, Tensor.__rmatmul__,
}  # fmt: skip
_CONVOLUTIONS = {F.conv1d, F.conv2d, F.conv3d, torch.conv1d, torch.conv2d, torch.conv3d}
_TRANSPOSED = {F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d}
_RECURRENT = {torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu}
_CELLS = {torch.lstm_cell, torch.gru_cell, torch.rnn_tanh_cell, torch.rnn_relu_cell}
_ADDED = {torch.addmm, torch.baddbmm, Tensor.addmm, Tensor.baddbmm}


@dataclass(frozen=True)
class Flops(Worded):
    """What a network costs.

    Attributes:
        n_params: Trainable numbers.
        forward: Operations of the forward pass of one batch.
        step: Operations of a training step on one batch, forward and backward.
        layers: Operations of the forward pass by module.
    """

    n_params: int
    forward: int
    step: int
    layers: dict[str, int]

    @property
    def remarks(self) -> Iterator[Remark]:
        yield Reason("flops", n_params=self.n_params, forward=self.forward, step=self.step)
        for name, flops in self.layers.items():
            yield Reason("flops_layer", name=name, flops=flops)


@checked
def flops(model: nn.Module, input_shape: tuple[int, ...], batch_size: int = 1) -> Flops:
    """Floating-point operations of one forward pass and one training step.

    Args:
        model: Any module; of one without trainable parameters all count as such.
        input_shape: Shape of one input, without the batch axis, numbers or tokens.
        batch_size: Examples in a batch.
    """
    if batch_size < 1:
        raise BadInput(f"batch_size = {batch_size}: a batch has at least one example")
    network = unwrapped(model)
    one = on_zeros(network, zeros(network, input_shape), lambda x: flops_of(network, x))
    layers = {name: batch_size * count for name, count in one.layers.items()}
    return Flops(one.n_params, batch_size * one.forward, batch_size * one.step, layers)


@torch.inference_mode(mode=False)
@torch.enable_grad()
def flops_of(model: nn.Module, x: Tensor) -> Flops:
    """The operations of a network on the examples `x`."""
    parameters = [*model.parameters()]
    trained = [p for p in parameters if p.requires_grad] or parameters
    count, hooks = Operations(type(model).__name__), list[Any]()
    for name, module in model.named_modules():
        if name:
            hooks.append(module.register_forward_pre_hook(lambda *_, name=name: count.inside.append(name)))
            hooks.append(module.register_forward_hook(lambda *_: count.leave()))
    frozen = trained is parameters
    try:
        for parameter in parameters if frozen else ():
            parameter.requires_grad_(True)
        with evaluating(model), count:
            model(x)
    finally:
        for parameter in parameters if frozen else ():
            parameter.requires_grad_(False)
        for hook in hooks:
            hook.remove()
    forward = sum(count.layers.values())
    return Flops(sum(p.numel() for p in trained), forward, forward + count.backward, count.layers)


class Operations(TorchFunctionMode):
    """Counts the operations of what is computed in its context.

    Attributes:
        layers: operations of the forward pass by the module that computes them.
        backward: those of the backward pass.
        inside: names of the modules that are being called.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.layers: dict[str, int] = {}
        self.backward = 0
        self.inside = [name]

    def leave(self) -> None:
        """The innermost module has been called."""
        self.inside.pop()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute, and count."""
        kwargs = kwargs or {}
        found = func(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            query, key, value = (args + tuple(kwargs.values()))[:3]
            self._add(2 * query.numel() * key.shape[-2], query, key)
            self._add(2 * query.numel() // query.shape[-1] * key.shape[-2] * value.shape[-1], query, value)
        elif func is F.multi_head_attention_forward:  # in which functions are not seen one by one
            self._attention(args[0], args[1], args[2], args[11])
        elif func in _RECURRENT:
            self._recurrent(args, found[0])
        elif func in _CELLS:
            self._maps(args[0], found if isinstance(found, Tensor) else found[0], args[2:4], {0})
        elif func is torch.einsum and len(args) > 2:
            self._einsum(args[0], args[1:])
        elif (pair := _factors(func, args, kwargs)) is not None:
            self._add(2 * _size(func, *pair, found), *pair)
        return found

    def _attention(self, query: Tensor, key: Tensor, value: Tensor, output: Tensor) -> None:
        """Of inputs (tokens, …, dim): four projections and two products over all pairs of tokens."""
        dim, tokens = query.shape[-1], len(key)
        for entered in (query, key, value):
            self._add(2 * entered.numel() * dim, entered, output)
        for size in (tokens, tokens, dim):
            self._add(2 * query.numel() * size, output, output)

    def _recurrent(self, args: tuple[Any, ...], output: Tensor) -> None:
        """Recurrent layers; after the weights come biases, layers, dropout, training, bidirectional."""
        place = next(k for k, value in enumerate(args) if isinstance(value, list))
        weights, layers, directions = args[place], args[place + 2], 1 + args[place + 5]
        apart = len(weights) // (layers * directions)  # tensors of a layer and direction
        self._maps(args[0], output, weights, {k * apart for k in range(directions)})

    def _maps(self, entered: Tensor, output: Tensor, weights: Sequence[Tensor], first: set[int]) -> None:
        """Every matrix is applied to every token; those at `first` to the inputs, the others to states."""
        for place, weight in enumerate(weights):
            if weight.ndim == 2:
                tokens = entered.numel() // entered.shape[-1]
                self._add(2 * tokens * weight.numel(), weight, entered if place in first else output)

    def _einsum(self, equation: Any, operands: tuple[Any, ...]) -> None:
        if not isinstance(equation, str) or "..." in equation or len(operands) != 2:
            return
        sizes: dict[str, int] = {}
        for letters, operand in zip(equation.partition("->")[0].replace(" ", "").split(","), operands):
            sizes |= dict(zip(letters, operand.shape))
        self._add(2 * math.prod(sizes.values()), *operands)

    def _add(self, count: int, *factors: Tensor) -> None:
        self.layers[self.inside[-1]] = self.layers.get(self.inside[-1], 0) + count
        self.backward += count * sum(factor.requires_grad for factor in factors)


def _factors(func: Any, args: Any, kwargs: Any) -> tuple[Tensor, Tensor] | None:
    """The two factors of a product or convolution."""
    if func in _ADDED:
        args = args[1:]
    elif func is not F.linear and func not in _PRODUCTS | _CONVOLUTIONS | _TRANSPOSED:
        return None
    given = (*args, *(kwargs[name] for name in ("input", "weight", "mat2", "other") if name in kwargs))
    return (given[0], given[1]) if len(given) > 1 else None


def _size(func: Any, left: Tensor, right: Tensor, result: Tensor) -> int:
    """Multiplications."""
    if func in _CONVOLUTIONS:  # weights are (outputs, inputs a group, …)
        return result.numel() * right[0].numel()
    if func in _TRANSPOSED:  # (inputs, outputs a group, …)
        return left.numel() * right[0].numel()
    return result.numel() * left.shape[-1]
