"""Norms of the function rather than of its layers: the path norm and the Fisher–Rao norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from scalinglab.errors import BadInput, nearest
from scalinglab.measure.evaluation import batches, evaluating, trained
from scalinglab.measure.network_norms.graph import Graph, Stack, batch_norm_scale, layer_weight
from scalinglab.measure.network_norms.reading.recording import logits
from scalinglab.support.validation import checked


def path_norm(model: nn.Module, graph: Graph, stacked: Stack, input_shape: tuple[int, ...]) -> Tensor:
    """ℓ2 path norm √ Σ_paths Π w²: ones passed through the network with squared weights and no biases.

    An average over k values is a layer with weights 1/k. The largest of some values stands for all of them.
    """
    squared: Stack = {}
    for name, tensor in stacked.items():
        squared[name] = torch.zeros_like(tensor, dtype=torch.float64 if tensor.is_floating_point() else None)
    for name, module in model.named_modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            scale = batch_norm_scale(stacked, name, float(module.eps)).square()
            if any(layer.norm and layer.norm[0] == name for layer in graph.layers):
                scale = torch.ones_like(scale)
            squared[f"{name}.running_var"] = torch.full_like(scale, 1.0 - float(module.eps))
            squared[f"{name}.weight"] = scale
    for layer in graph.layers:
        squared[layer.weight] = layer_weight(layer, stacked).double().square() / layer.multiplier
    ones = torch.ones(1, *input_shape, dtype=torch.float64, device=next(iter(stacked.values())).device)
    with evaluating(model), _SquaredAverages():
        returned = [
            functional_call(model, {name: tensor[i] for name, tensor in squared.items()}, (ones,))
            for i in range(len(next(iter(stacked.values()))))
        ]
    outputs = [out for one in returned if (out := logits(one)) is not None]
    return torch.stack(outputs).flatten(1).sum(1).sqrt()


class _SquaredAverages(TorchFunctionMode):
    """Averages with squared weights, 1/k² in place of 1/k."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call any function of PyTorch; averages are multiplied by their weights once more."""
        kwargs = kwargs or {}
        out = function(*args, **kwargs)
        if function is F.avg_pool1d:  # with a height of one
            given = dict(zip(_POOL, args, strict=False)) | kwargs
            line = {
                key: (one, *np.atleast_1d(given[key]).tolist())
                for key, one in _LINE
                if given.get(key) is not None
            }
            given |= {"input": given["input"].unsqueeze(-2), **line}
            return self.__torch_function__(F.avg_pool2d, types, (), given).squeeze(-2)
        if function in (F.avg_pool2d, F.avg_pool3d):
            given = dict(zip(_POOL, args, strict=False)) | kwargs
            given["input"] = torch.ones_like(given["input"])
            return out * function(**given) / function(**given | {"divisor_override": 1})
        if function in _ADAPTIVE:
            x = args[0] if args else kwargs["input"]
            for axis in range(-_ADAPTIVE[function], 0):
                size, parts = x.shape[axis], out.shape[axis]
                counts = [-(-(i + 1) * size // parts) - i * size // parts for i in range(parts)]
                out = out / out.new_tensor(counts).view(-1, *[1] * (-1 - axis))
            return out
        if function in (torch.mean, Tensor.mean):
            return out * out.numel() / args[0].numel()
        return out


_ADAPTIVE = {F.adaptive_avg_pool1d: 1, F.adaptive_avg_pool2d: 2, F.adaptive_avg_pool3d: 3}
_LINE = (("kernel_size", 1), ("stride", 1), ("padding", 0))  # of an axis of one
_POOL = ("input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")


@torch.inference_mode(mode=False)
@torch.enable_grad()
@checked
def fisher_rao(
    model: nn.Module, x: Tensor, y: Tensor, loss: str = "cross_entropy", batch_size: int = 1000
) -> float:
    """The Fisher–Rao norm √ E ⟨θ, ∇_θ ℓ(f(x), y)⟩² over given examples (Liang et al. 2019).

    ⟨θ, ∇ℓ⟩ is the derivative of an example's loss when all parameters are scaled.

    Args:
        model: A network; evaluation mode.
        x: Inputs (n, ...), tensors or arrays.
        y: Labels (n,), or targets (n, outputs) for "mse".
        loss: "cross_entropy" or "mse" (mean over outputs).
        batch_size: Inputs passed at a time.
    """
    if loss not in ("cross_entropy", "mse"):
        raise BadInput(f"unknown loss {loss!r}: {nearest(loss, ('cross_entropy', 'mse'))}")
    x, y = torch.as_tensor(x), torch.as_tensor(y)
    if len(x) == 0 or len(x) != len(y):
        raise BadInput(
            f"{len(x)} inputs and {len(y)} targets: the Fisher–Rao norm needs as many of both, and some"
        )
    parameters = {name: p.requires_grad_() for name, p in trained(model).items()}
    buffers = dict(model.named_buffers())
    device = next(model.parameters()).device
    total = 0.0
    with evaluating(model):
        for part, target in batches(batch_size, x, y):
            outputs = functional_call(model, {**parameters, **buffers}, (part.to(device),))
            if loss == "mse":
                losses = (outputs - target.to(device)).square().flatten(1).mean(1)
            else:
                losses = nn.functional.cross_entropy(outputs, target.to(device), reduction="none")
            # ⟨θ, ∇ Σ u_i ℓ_i⟩ is linear in u: its derivative is ⟨θ, ∇ℓ_i⟩ for every example
            each = torch.ones_like(losses, requires_grad=True)
            gradients = torch.autograd.grad(losses @ each, list(parameters.values()), create_graph=True)
            along = sum((g * p.detach()).sum() for g, p in zip(gradients, parameters.values(), strict=True))
            total += float(torch.autograd.grad(along, each)[0].double().square().sum())  # type: ignore
    return math.sqrt(total / len(x))
