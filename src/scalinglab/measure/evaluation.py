"""Calling networks for measurements: evaluation mode, wrappers, inputs, batches, Jacobians."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.func import jacrev, vmap

from scalinglab.errors import BadInput, is_whole

Result = TypeVar("Result")


@contextlib.contextmanager
def modes_kept(model: nn.Module) -> Iterator[None]:
    """Afterwards every module of the model is in training or evaluation mode as it was, frozen ones too."""
    before = {module: module.training for module in model.modules()}
    try:
        yield
    finally:
        for module, training in before.items():
            module.training = training


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode, and back."""
    with modes_kept(model):
        model.eval()
        yield


def unwrapped(model: nn.Module) -> nn.Module:
    """The network inside what compiles it or spreads it over devices."""
    while True:
        if isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):  # of torch.compile
            model = inner
        elif isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = model.module
        else:
            return model


def initialised(model: nn.Module, x: Tensor) -> nn.Module:
    """The network inside its wrappers, whose lazy layers a call gives their sizes."""
    network = unwrapped(model)
    if any(map(nn.parameter.is_lazy, (*network.parameters(), *network.buffers()))):
        with evaluating(network), torch.no_grad():
            network(x)
    return network


def as_inputs(model: nn.Module, x: Any) -> Tensor:
    """Inputs as a tensor, real ones in the precision of the model's parameters."""
    x, like = torch.as_tensor(x), next(model.parameters(), torch.empty(0))
    return x.to(like.dtype) if x.is_floating_point() and like.is_floating_point() else x


def zeros(model: nn.Module, input_shape: Sequence[int], examples: int = 1) -> Tensor:
    """Examples of zeros, of the type and on the device of the model's parameters."""
    if isinstance(input_shape, Tensor) or not all(map(is_whole, input_shape)):
        given = getattr(input_shape, "shape", input_shape)
        raise BadInput(f"input_shape of {tuple(given)}: give the shape of one input, such as (3, 32, 32)")
    like = next(model.parameters(), torch.empty(0))
    return torch.zeros(examples, *map(int, input_shape), dtype=like.real.dtype, device=like.device)


def on_zeros(model: nn.Module, zeros: Tensor, call: Callable[[Tensor], Result]) -> Result:
    """Call with zeros as numbers; where that fails, with zeros as tokens."""
    errors: list[Exception] = []
    for x in (zeros, zeros.detach().long()):
        try:
            return call(x)
        except Exception as error:
            errors.append(error)
    shape = tuple(zeros.shape[1:])
    raise BadInput(f"{type(model).__name__} cannot take inputs of shape {shape}: {errors[0]}") from errors[0]


def logits_of(outputs: Any, what: str) -> Tensor:
    """The tensor that a network returns, or the `logits` of an object or dictionary of several.

    Args:
        what: what takes them, for the error.
    """
    if isinstance(logits := logits_or_all(outputs), Tensor):
        return logits
    raise BadInput(f"the network returns a {type(outputs).__name__}: {what}")


def logits_or_all(outputs: Any) -> Any:
    """The `logits` of an object or dictionary of several outputs, or the outputs themselves."""
    return outputs.get("logits") if isinstance(outputs, Mapping) else getattr(outputs, "logits", outputs)


def trained(model: nn.Module) -> dict[str, Tensor]:
    """The parameters that are trained, by name, detached; all of them where none is."""
    named = list(model.named_parameters())
    return {name: p.detach() for name, p in named if p.requires_grad} or {n: p.detach() for n, p in named}


def jacobians(function: Callable[..., Tensor], parameters: Mapping[str, Tensor], *inputs: Tensor) -> Any:
    """∂f/∂θ of f(parameters, *example) for each example, (n, outputs of f…, *shape of θ) by name.

    Example after example where `torch.func` has no rule for what the network does.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "There is a performance drop")
            return vmap(partial(jacrev(function, chunk_size=1), parameters))(*inputs)
    except RuntimeError:
        found: dict[str, list[Tensor]] = {name: [] for name in parameters}
        for one in zip(*inputs, strict=True):
            leaves = {name: p.detach().requires_grad_() for name, p in parameters.items()}
            with torch.enable_grad():
                outputs = function(leaves, *one)
            for output in outputs.reshape(-1):
                gradients = torch.autograd.grad(
                    output, list(leaves.values()), retain_graph=True, materialize_grads=True
                )
                for rows, gradient in zip(found.values(), gradients):
                    rows.append(gradient)
        shape = (len(inputs[0]), *outputs.shape)
        return {name: torch.stack(rows).view(*shape, *rows[0].shape) for name, rows in found.items()}


def batches(size: int, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Tensors of equal length in pieces of `size`."""
    for start in range(0, len(tensors[0]), size):
        yield tuple(tensor[start : start + size] for tensor in tensors)
