"""Optimizers of the user's own, and those of `torch.optim` that have no rule here: one for each run.

Passes over the network are stacked as always. Each run's optimizer sees the run's part of the stacked
parameters, and the gradients of it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from scalinglab.errors import BadInput
from scalinglab.train.own.references import WHOLE
from scalinglab.train.setting import Setting
from scalinglab.train.updates.rules import shortened
from scalinglab.train.updates.schedules import Schedule

NETWORKS = ("model", "net", "network", "module")  # a first parameter of these names gets the network


class TorchMoments:
    """The optimizers of a group of runs, with the learning rates that they began with."""

    rate: float | None = None

    def __init__(
        self, rule: TorchRule, parameters: dict[str, Tensor], settings: Sequence[Setting],
        totals: Sequence[int],
    ) -> None:  # fmt: skip
        self.rule, self.settings = rule, list(settings)
        self.done = 0  # steps
        self.totals = torch.tensor(totals, dtype=torch.float32)
        self.table = rule.schedule.table(settings, totals, self.totals.device)
        self.hold(parameters)

    def tensors(self) -> list[Tensor]:
        """None: the state of these optimizers is in `more`."""
        return []

    def hold(self, parameters: dict[str, Tensor]) -> None:
        """Make optimizers for the runs of these stacked parameters."""
        self.parameters = parameters
        self.views = [
            {name: nn.Parameter(value.detach()[r]) for name, value in parameters.items()}
            for r in range(len(self.settings))
        ]
        self.optimizers = [self.rule.make(own, s) for own, s in zip(self.views, self.settings)]
        self.rates = [[group["lr"] for group in one.param_groups] for one in self.optimizers]

    def more(self) -> dict[str, Any]:
        """What a resumed group needs."""
        return {"done": self.done, "optimizers": [copy.deepcopy(one.state_dict()) for one in self.optimizers]}

    def restore(self, kept: dict[str, Any]) -> None:
        """Restore what `more` gave."""
        self.done = kept["done"]
        for one, state in zip(self.optimizers, kept["optimizers"], strict=True):
            one.load_state_dict(state)

    def keep(self, rows: list[int], parameters: dict[str, Tensor]) -> None:
        """Go on with some of the runs, whose parameters lie elsewhere now."""
        states = [self.optimizers[r].state_dict() for r in rows]
        self.settings, self.totals = [self.settings[r] for r in rows], self.totals[rows]
        self.table = None if self.table is None else self.table[rows]
        self.hold(parameters)
        self.restore({"done": self.done, "optimizers": states})


class TorchRule:
    """How parameters are updated by optimizers as `torch.optim` has them."""

    captures = False

    def __init__(self, setting: Setting, model: nn.Module) -> None:
        self.factory: Callable[..., Any] = setting.own("optimizer")
        self.clip, self.schedule, self.model = setting.clip, Schedule(setting), model

    def start(
        self, parameters: dict[str, Tensor], settings: Sequence[Setting], totals: Sequence[int]
    ) -> TorchMoments:
        """Optimizers before their first step."""
        return TorchMoments(self, parameters, settings, totals)

    def make(self, parameters: Mapping[str, Tensor], setting: Setting) -> torch.optim.Optimizer:
        """The optimizer of one run."""
        what = f"optimizer = {setting.optimizer!r}"
        known = list(inspect.signature(self.factory).parameters.values())
        first = known[0].name if known else "params"
        given: Any = list(parameters.items()) if first.startswith("named") else list(parameters.values())
        if first in NETWORKS:
            given = self._network_of(parameters)
        try:
            if isinstance(self.factory, type):
                made = self.factory(given, **_options(setting, {p.name for p in known}))
            elif len(known) > 1 and (known[1].name in WHOLE or known[1].default is inspect.Parameter.empty):
                made = self.factory(given, setting.as_given())
            else:
                made = self.factory(given)
        except (TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"{what} cannot be made of parameters and the setting: {error}") from error
        if not hasattr(made, "step") or not hasattr(made, "param_groups"):
            raise BadInput(f"{what} made a {type(made).__name__}, and no torch.optim.Optimizer")
        closure = inspect.signature(made.step).parameters.get("closure")
        if closure is not None and closure.default is inspect.Parameter.empty:
            raise BadInput(
                f"{what} evaluates the loss several times a step, which the engine does not: take another"
            )
        return made  # type: ignore[no-any-return]

    def _network_of(self, parameters: Mapping[str, Tensor]) -> nn.Module:
        """A network with these parameters, for factories that divide them by its modules."""
        network = copy.deepcopy(self.model)
        for name, value in parameters.items():
            module, _, last = name.rpartition(".")
            network.get_submodule(module)._parameters[last] = value  # type: ignore[assignment]
        return network

    def update(
        self, masters: list[Tensor], working: list[Tensor], gradients: Sequence[Tensor], moments: TorchMoments
    ) -> None:
        """One update in place, of the masters and of working copies in another precision."""
        if self.clip is not None:
            gradients = shortened(gradients, self.clip)
        done = torch.tensor(float(moments.done))
        factors = self.schedule.factors(done, moments.totals, moments.table).tolist()
        for r, (views, optimizer) in enumerate(zip(moments.views, moments.optimizers)):
            for view, gradient in zip(views.values(), gradients):
                view.grad = gradient[r].to(view.dtype)
            for group, rate in zip(optimizer.param_groups, moments.rates[r]):
                group["lr"] = rate * factors[r]
            with torch.enable_grad():  # as in a loop; an optimizer turns it off itself
                optimizer.step()
        moments.done += 1
        for copied, p in zip(working, masters):
            if copied is not p:
                copied.copy_(p)


def _options(setting: Setting, known: set[str]) -> dict[str, Any]:
    """What of a setting a class of `torch.optim` takes; what is not given stays as the class has it."""
    given: dict[str, Any] = {"lr": setting.learning_rate, "learning_rate": setting.learning_rate}
    given |= {"weight_decay": setting.weight_decay} if setting.weight_decay else {}
    given |= {"momentum": setting.momentum} if setting.momentum is not None else {}
    given |= {"beta1": setting.beta1, "beta2": setting.beta2}
    if setting.beta1 is not None or setting.beta2 is not None:
        given["betas"] = (0.9 if setting.beta1 is None else setting.beta1,
                          0.999 if setting.beta2 is None else setting.beta2)  # fmt: skip
    return {name: value for name, value in given.items() if name in known and value is not None}
