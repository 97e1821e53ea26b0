"""The layers of a network, and its Lipschitz constant as a function of their norms.

For a chain of layers that is Π ρ_i ‖A_i‖. Where branches meet in a sum their Lipschitz constants add, so a
residual block x + F(x) has 1 + Lip(F): with F at reference matrices zero it is the identity, which is what
eq. 2 of damico2025 means by "reference matrix: identity for residual layers". Concatenated branches add in
quadrature. All in logarithms; `scalinglab.measure.network_norms.tracing` makes a `Graph` of a module.

The slope of a product, an exponential or attention depends on how large its factors are. Where inputs lie
in a ball ‖x‖ ≤ radius, every activation is bounded too (`network_norms.reading.extents`), and so is the
slope there.

There are two constants. `worst=True` is a bound that holds on the whole ball. `worst=False` is the Λ of the
spectral complexity R, which is a convention and no bound: normalisations count with their gain, as for inputs
of standard deviation 1 (the bound has 1/√ε), and attention without a norm before it as if tokens had length
√dim, without the biases of queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from scalinglab.errors import BadInput
from scalinglab.measure.network_norms.operators import ConvGeometry


@dataclass(frozen=True)
class Layer:
    """One linear map with weights, as it stands in a network.

    Attributes:
        name: Name of the module (with .query, .key, .value, .output inside attention).
        weight: Name of its weight parameter.
        rows: Rows of that parameter that belong to this map (packed attention), or None for all.
        geometry: How a convolution is applied, None for a dense layer.
        positions: How many times a dense layer is applied (tokens).
        multiplier: Factor on the weight in the forward pass.
        norm: Name of a batch norm folded into the layer, with its ε, or None.
        size: (outputs, inputs) of one application, inputs counted for one output.
        applications: How many times one output unit's weights are applied to one example.
    """

    name: str
    weight: str
    rows: tuple[int, int] | None = None
    geometry: ConvGeometry | None = None
    positions: int = 1
    multiplier: float = 1.0
    norm: tuple[str, float] | None = None
    size: tuple[int, int] = field(kw_only=True)
    applications: int = 1


Stack = dict[str, Tensor]  # parameters and buffers by name, with a leading axis of replicas
Step = Callable[[dict[str, Tensor | None], dict[str, Tensor]], None]  # values of nodes, log norms
Reading = Callable[[Stack], Tensor]
RADIUS, WORST = "radius of the inputs", "at worst"  # among log norms: log ‖x‖; 1 for the bound, 0 for R


@dataclass
class Graph:
    """Layers of a network and the rule that makes a Lipschitz constant of their norms.

    `readings` are further numbers that the rule needs from parameters: their logarithms, by name. They are
    computed on the device together with the layers' norms; the rule is applied on the host. `derived` are
    weights that are computed from parameters, as by weight norm. `problems` say why neither R nor a bound is
    known, `bound_problems` why there is R, but no bound.
    """

    layers: list[Layer] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    readings: dict[str, Reading] = field(default_factory=dict)
    constants: dict[str, tuple[str, float | None]] = field(default_factory=dict)  # node: (what, constant)
    assumptions: list[str] = field(default_factory=list)
    derived: dict[str, Reading] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    bound_problems: list[str] = field(default_factory=list)
    has_attention: bool = False
    has_branches: bool = False
    has_concatenation: bool = False
    has_extents: bool = False
    needs_radius: bool = False
    bound_needs_radius: bool = False
    has_conventions: bool = False
    output: str = ""

    @property
    def only_adds(self) -> bool:
        """Whether log Λ is a sum of log norms: then the shares of the layers are the same for all weights."""
        branches = self.has_branches or self.has_concatenation or self.has_attention
        return not (branches or self.has_extents or self.has_conventions)

    def log_lipschitz(self, log_norms: dict[str, Tensor], radius: float, worst: bool) -> Tensor:
        """log of the Lipschitz constant of each replica, differentiable in the logs of norms and readings."""
        values: dict[str, Tensor | None] = {}
        some = next(iter(log_norms.values())).detach()
        log_radius = math.log(radius) if radius > 0 else -math.inf
        log_norms = {
            **log_norms, RADIUS: torch.full_like(some, log_radius), WORST: torch.full_like(some, float(worst))
        }  # fmt: skip
        for step in self.steps:
            step(values, log_norms)
        result = values[self.output]
        if result is None:
            raise BadInput("the output of the network does not depend on its input")
        return result


def batch_norm_scale(state: Stack, name: str, epsilon: float) -> Tensor:
    """γ/√(running variance + ε) of a batch norm, (replicas, channels), float64."""
    variance = state[f"{name}.running_var"].detach().double()
    scale = (variance + epsilon).rsqrt()
    if f"{name}.weight" in state:
        scale = scale * state[f"{name}.weight"].detach().double()
    return scale


def raw_weight(layer: Layer, state: Stack) -> Tensor:
    """The layer's own weights as they stand, at least in single precision."""
    weight = state[layer.weight].detach()
    if layer.rows is not None:
        weight = weight[:, layer.rows[0] : layer.rows[1]]
    return weight if weight.dtype in (torch.float32, torch.float64) else weight.float()


def layer_weight(layer: Layer, state: Stack) -> Tensor:
    """The weights that act in the forward pass: with multiplier and folded batch norm, for each replica."""
    weight = raw_weight(layer, state)
    if layer.norm is not None:
        scale = batch_norm_scale(state, *layer.norm).to(weight.dtype)
        weight = weight * scale.view(*scale.shape, *[1] * (weight.ndim - 2))
    return weight if layer.multiplier == 1.0 else weight * layer.multiplier
