"""Projection: training at a fixed spectral complexity R.

In a chain of L layers with rectifiers, multiplying every weight by c and the biases of the l-th layer by c^l
multiplies the network's outputs by c^L, and R (eq. 2 of damico2025) by c^L too, since the terms of its sum do
not change. So after `EVERY` steps each run is brought back to its R by c = (R_target/R)^(1/L). What the
network classifies is not changed by a projection, only how sure it is: the direction of its weights is what
trains, as in the perceptron at fixed norm.
"""

from __future__ import annotations

import torch

from scalinglab.errors import BadInput
from scalinglab.measure import NormTracker
from scalinglab.train.replicas import Group

EVERY = 16  # steps between two projections, at most


class Projection:
    """Brings the runs of a group back to the complexity that their settings name.

    Args:
        group: runs of a network that is a chain of layers without normalisation.
        tracker: measures log R of the group's network.
    """

    def __init__(self, group: Group, tracker: NormTracker) -> None:
        graph = tracker.graph
        if not graph.only_adds or any(layer.norm for layer in graph.layers):
            raise BadInput(
                f"complexity={group.setting.complexity:g}: a {group.setting.model} is no chain of layers "
                "without normalisation, so its complexity cannot be set by scaling: take a cnn, lenet or mlp"
            )
        self.group, self.tracker = group, tracker

    @torch.no_grad()
    def __call__(self) -> None:
        """Scale the weights and biases of every run."""
        group, tracker = self.group, self.tracker
        if any(len(vectors) != group.runs for vectors in tracker.state.values()):
            tracker.state = {}  # runs have ended
        log_norm = tracker.measure({k: v.detach() for k, v in group.parameters.items()})
        wanted = torch.tensor([float(s.complexity or 0.0) for s in group.settings], dtype=torch.float64)
        depth = len(tracker.graph.layers)
        factor = ((wanted.log() - log_norm["log_spectral_complexity"]) / depth).exp()
        for place, layer in enumerate(tracker.graph.layers, start=1):
            self._scale(layer.weight, factor)
            self._scale(layer.weight.removesuffix("weight") + "bias", factor**place)

    def _scale(self, name: str, factor: torch.Tensor) -> None:
        if name not in self.group.parameters:
            return
        for stacked in (self.group.parameters, self.group.working):
            value = stacked[name]
            shape = (-1, *[1] * (value.ndim - 1))
            if stacked is self.group.parameters or value is not self.group.parameters[name]:
                value.mul_(factor.to(value).view(shape))
