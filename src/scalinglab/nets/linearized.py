"""A network linearised in its parameters at a point θ0: f(x; θ0) + ∂f/∂θ(x; θ0) · (θ − θ0).

Its tangent kernel does not change in training: it is the lazy network. One pass takes a Jacobian–vector
product in forward mode, about twice the network's own pass.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp

from scalinglab.errors import BadInput
from scalinglab.nets.parameterization import Network


class Linearized(Network):
    """The linearisation of a network at its parameters as they are now; they are copied.

    Parameters are those of the network, named ``network.…``; the point θ0 is in buffers.

    Args:
        network: Any module without batch statistics and dropout: a function of one input at a time.
    """

    network: nn.Module

    def __init__(self, network: nn.Module) -> None:
        nn.Module.__init__(self)
        _load_forward_mode()
        for name, module in network.named_modules():
            statistics = isinstance(module, nn.modules.batchnorm._BatchNorm)
            if statistics or (isinstance(module, nn.modules.dropout._DropoutNd) and module.p > 0):
                rule = "without batch normalisation and dropout"
                raise BadInput(f"{name} is {type(module).__name__}: a network is linearised {rule}")
        self.network = network
        self.input_shape: tuple[int, ...] = getattr(network, "input_shape", ())
        for attribute in ("draws", "rate_scales"):
            own: dict[str, Any] = getattr(network, attribute, {})
            setattr(self, attribute, {f"network.{name}": value for name, value in own.items()})
        for name, parameter in network.named_parameters():
            self.register_buffer(_start(name), parameter.detach().clone())

    def starts(self) -> dict[str, str]:
        """For each parameter the buffer that holds its value at the point θ0."""
        return {f"network.{name}": _start(name) for name, _ in self.network.named_parameters()}

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (n, …) of the linearised network."""
        now = dict(self.network.named_parameters())
        start = {name: self.get_buffer(_start(name)) for name in now}
        buffers = dict(self.network.named_buffers())

        def outputs(parameters: dict[str, Tensor]) -> Tensor:
            return functional_call(self.network, {**parameters, **buffers}, (x,))  # type: ignore[no-any-return]

        value, change = jvp(outputs, (start,), ({name: now[name] - start[name] for name in now},))[:2]
        return value + change  # type: ignore[no-any-return]


@cache
def _load_forward_mode() -> None:
    """PyTorch loads its rules at the first use, with a warning about its own code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        jvp(torch.exp, (torch.zeros(()),), (torch.ones(()),))


def _start(name: str) -> str:
    return "start_" + name.replace(".", "__")
