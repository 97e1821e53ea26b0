"""The user's own networks: building them, and finding out what the engine can do with them.

A family of `scalinglab.nets` stacks by construction. A module of the user's own is tried once, on a few
examples: whether `torch.func` gives the same for a stack of two as for each network, which buffers a pass
changes, and whether the module draws random numbers.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as trees

from scalinglab.data.dataset import Dataset, Layout
from scalinglab.errors import BadInput
from scalinglab.measure.evaluation import evaluating, initialised, on_zeros, unwrapped, zeros
from scalinglab.train.own.references import call
from scalinglab.train.setting import Setting

Named = dict[str, Tensor]
Loss = Callable[[Any, Tensor], Tensor]
RunLoss = Callable[[Named, Named], tuple[Tensor, Named, Any]]  # to the loss, changed buffers and outputs
TOLERANCE = 1e-4  # how far a stack may be from its runs one by one, relative to the largest number


def build(setting: Setting, data: Dataset) -> nn.Module:
    """The network of a setting for data of this shape, with the initial weights of its seed.

    PyTorch's generator is set to the seed, as by ``torch.manual_seed``, and afterwards back to what it was.
    """
    factory = setting.own("model")
    if isinstance(factory, nn.Module):  # every run begins with its weights
        return _prepared(copy.deepcopy(factory), data)
    if not callable(factory):
        raise BadInput(
            f"model = {setting.model!r} is a {type(factory).__name__}: give a class of networks, a function "
            "that makes one of a setting, or a network"
        )
    shape = data.x_layout.shapes if data.x_layout else data.input_shape
    facts = {"input_shape": shape, "n_outputs": data.n_outputs, "n_classes": data.n_classes}
    offered = {**facts, **setting.as_given()}
    with torch.random.fork_rng(devices=[]):
        # as torch.manual_seed, which would also write down where it was called, for GPUs that start later
        torch.default_generator.manual_seed(setting.seed_of("init"))
        model = call(factory, offered, f"model = {setting.model!r}", must=setting.model_options)
        if not isinstance(model, nn.Module):
            raise BadInput(f"model = {setting.model!r} made a {type(model).__name__}, and no torch.nn.Module")
        model = _prepared(model, data)
    if not any(p.requires_grad for p in model.parameters()):
        raise BadInput(f"model = {setting.model!r} has no parameters to train")
    return model


def _prepared(model: nn.Module, data: Dataset) -> nn.Module:
    """The network without wrappers of compilers, its lazy layers initialised, several inputs unpacked."""
    model = unwrapped(model)
    if data.x_layout is not None:
        model.register_forward_pre_hook(_unpacking_hook(model, data.x_layout), with_kwargs=True)
    return on_zeros(model, zeros(model, data.input_shape), lambda x: initialised(model, x))


def _unpacking_hook(model: nn.Module, layout: Layout) -> Callable[..., Any]:
    """A hook that unpacks a vector of several inputs into the arguments of `forward`.

    By the names of its parameters, by their order for a tuple, or all as one argument.
    """
    parameters = inspect.signature(model.forward).parameters.values()
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_place = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    any_name = any(p.kind is p.VAR_KEYWORD for p in parameters)
    known = {p.name for p in parameters}
    total = sum(math.prod(shape) for shape in layout.shapes)

    def opened(_module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if named or len(inputs) != 1 or not isinstance(inputs[0], Tensor) or inputs[0].shape[1:] != (total,):
            return None  # called with its own arguments
        parts = layout.parts(inputs[0])
        if isinstance(parts, dict):
            taken = {name: part for name, part in parts.items() if any_name or name in known}
            return ((), taken) if taken else ((parts,), {})
        return (parts if any_place or len(places) >= len(parts) else (parts,)), {}

    return opened


def trained_names(model: nn.Module) -> list[str]:
    """Names of the parameters that are trained."""
    return [name for name, p in model.named_parameters() if p.requires_grad]


def untrained_tensors(model: nn.Module) -> Named:
    """Buffers, and parameters that are not trained."""
    frozen = {name: p.detach() for name, p in model.named_parameters() if not p.requires_grad}
    return {**dict(model.named_buffers()), **frozen}


def all_tensors(model: nn.Module) -> Named:
    """Everything that a run of the network begins with."""
    return {name: value.detach() for name, value in (*model.named_parameters(), *model.named_buffers())}


def load_tensors(model: nn.Module, values: Mapping[str, Tensor]) -> None:
    """Let the network have these parameters and buffers."""
    with torch.no_grad():
        for name, place in (*model.named_parameters(), *model.named_buffers()):
            place.copy_(values[name])


@dataclass(frozen=True)
class Abilities:
    """What the engine can do with a network.

    Attributes:
        stacks: whether runs can be stacked.
        why: the reason where they cannot.
        changes: buffers that a training pass changes.
        random: whether a training pass draws random numbers of PyTorch's generator.
        differentiates: whether its outputs are gradients, as a force is one of an energy: evaluations need
            them, too.
    """

    stacks: bool
    why: str
    changes: tuple[str, ...]
    random: bool
    differentiates: bool


def probe_abilities(model: nn.Module, loss: Loss, x: Tensor, y: Tensor) -> Abilities:
    """Find out what can be done with a network, by a training pass on a few examples.

    Args:
        model: in training mode.
        loss: of (outputs, targets).
        x, y: examples, (n, …).

    Raises:
        BadInput: the network or the loss cannot take the examples.
    """
    trained = trained_names(model)
    state = {name: value.clone() for name, value in all_tensors(model).items()}

    def single(weights: Named, others: Named) -> tuple[Tensor, Named, Any]:
        both = {**weights, **others}
        outputs = functional_call(model, both, (x,))
        register_fields(outputs)
        return loss(outputs, y), {name: both[name] for name in others}, outputs

    weights = {name: state[name] for name in trained}
    others = {name: value for name, value in state.items() if name not in weights}
    before, kept = torch.get_rng_state(), _plain_attributes(model)
    own = [p.requires_grad_(False) for p in model.parameters() if p.requires_grad]  # as in training
    with torch.random.fork_rng(devices=[]):
        value, after, outputs = _first_pass(
            single, weights, {k: v.clone() for k, v in others.items()}, model, x, y
        )
        random = not torch.equal(before, torch.get_rng_state())
    for parameter in own:
        parameter.requires_grad_(True)
    _check_loss(value, x, y)
    if not any(isinstance(leaf, Tensor) for leaf in trees.tree_leaves(outputs)):
        raise BadInput(
            f"the network returns a {type(outputs).__name__}: return a tensor, or several in a tuple, a "
            "dictionary or a dataclass"
        )
    if grown := [name for name, new in after.items() if new.shape != others[name].shape]:
        raise BadInput(
            f"a training pass gives the buffer {grown[0]!r} another shape: let the factory call the network "
            "once, so that it has its own from the beginning"
        )
    changes = tuple(name for name, new in after.items() if not torch.equal(new, others[name]))
    differentiates = _differentiates(single, weights, others, model)
    if random:
        why = "it draws random numbers of its own in training"
    elif counted := _changed_attribute(model, kept):
        why = f"a pass changes its attribute {counted!r}"
    elif not (why := _stacks(single, weights, others)):
        with evaluating(model):  # where a state-space model, say, keeps what it has seen
            why = _stacks(single, weights, others, differentiated=False)
    return Abilities(not why, why, changes, random, differentiates)


def _differentiates(single: RunLoss, weights: Named, others: Named, model: nn.Module) -> bool:
    """Whether an evaluation without gradients ends in PyTorch's error that there are none."""
    try:
        with evaluating(model), torch.no_grad(), torch.random.fork_rng(devices=[]):
            single(weights, {k: v.clone() for k, v in others.items()})
    except RuntimeError as error:
        return "does not require grad" in str(error)
    return False


def _plain_attributes(model: nn.Module) -> dict[str, Any]:
    """Numbers and truth values that modules keep beside their tensors."""
    return {
        f"{name}.{key}".removeprefix("."): value
        for name, module in model.named_modules()
        for key, value in vars(module).items()
        if isinstance(value, (bool, int, float))
    }


def _changed_attribute(model: nn.Module, before: Mapping[str, Any]) -> str | None:
    """The name of an attribute that a pass changed: a stack or a captured graph would not change it."""
    after = _plain_attributes(model)
    return next((name for name, value in after.items() if before.get(name) != value), None)


def _first_pass(
    single: RunLoss, weights: Named, others: Named, model: nn.Module, x: Tensor, y: Tensor
) -> tuple[Tensor, Named, Any]:
    try:
        with warnings.catch_warnings():
            # outputs (n, 1) less targets (n,) are (n, n): PyTorch warns, and trains something else
            warnings.filterwarnings("error", "Using a target size")
            leaves = {name: value.requires_grad_() for name, value in weights.items()}
            found = single(leaves, others)
            if isinstance(found[0], Tensor) and found[0].numel() == 1:
                torch.autograd.grad(found[0], list(leaves.values()), allow_unused=True)
            return found
    except Exception as error:
        raise BadInput(
            f"{type(model).__name__} and its loss cannot take a batch of inputs {tuple(x.shape)}, {x.dtype}, "
            f"and targets {tuple(y.shape)}, {y.dtype}: {type(error).__name__}: {_first_line(error)}"
            f"{_hint(str(error), x, y)}"
        ) from error


def _hint(error: str, x: Tensor, y: Tensor) -> str:
    """What to change, where the error is of a known kind."""
    if "torch.utils.checkpoint" in error or "Checkpointing" in error:
        return "; train without activation checkpointing, which looks for the weights in the network itself"
    if y.dtype == torch.int64 and "to the desired output type Long" in error:
        return "; whole numbers and truth values are classes: give targets of this loss as floats"
    if y.dtype == torch.int64 and "out of bounds" in error:
        return "; classes are counted from 0, and the network needs an output for each of them"
    if y.is_floating_point() and "and targets" in error:
        return "; real targets are compared with one output each: give classes as whole numbers"
    if "type" not in error:
        return ""
    if x.dtype == torch.int64:
        return "; whole numbers reach the network as they are: give images as floats"
    return "; inputs are float32, and so must weights be"


def register_fields(outputs: Any) -> None:
    """Let PyTorch's transforms see the tensors in outputs that are dataclasses, of any type that is new."""
    for one in trees.tree_leaves(outputs):
        if is_dataclass(one) and not isinstance(one, type):
            trees.register_pytree_node(type(one), _fields, _with_fields(type(one)))


def _fields(value: Any) -> tuple[list[Any], Any]:
    """The fields that hold something, and what puts them back."""
    filled = {field.name: getattr(value, field.name) for field in fields(value)}
    filled = {name: each for name, each in filled.items() if each is not None}
    return [*filled.values()], tuple(filled)


def _with_fields(kind: type) -> Callable[[Any, Any], Any]:
    def restored(values: Any, names: Any) -> Any:
        found: Any = object.__new__(kind)  # not by its own __init__, which may compute
        empty = dict.fromkeys(field.name for field in fields(kind))
        for name, value in {**empty, **dict(zip(names, values))}.items():
            object.__setattr__(found, name, value)
        return found

    return restored


def _check_loss(value: Any, x: Tensor, y: Tensor) -> None:
    if not isinstance(value, Tensor) or value.numel() != 1:
        shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise BadInput(
            f"the loss of a batch of {len(x)} is {shape}: return one number, the mean over the batch"
        )


def stacked_attention() -> contextlib.AbstractContextManager[None]:
    """Attention as plain products: the fused kernels have no rule for stacks, and would go one by one."""
    return sdpa_kernel(SDPBackend.MATH)


def _stacks(single: RunLoss, weights: Named, others: Named, differentiated: bool = True) -> str:
    """Why runs cannot be stacked; empty if a stack of two gives the same as each network by itself."""
    pair = [
        {name: v * (1 + 0.01 * k) if v.is_floating_point() else v for name, v in weights.items()}
        for k in (0, 1)
    ]
    stacked = {name: torch.stack([one[name] for one in pair]).requires_grad_() for name in weights}
    beside = {name: torch.stack([v, v]) for name, v in others.items()}

    def gradients(value: Tensor, leaves: Named) -> tuple[Tensor | None, ...]:
        return torch.autograd.grad(value, [*leaves.values()], allow_unused=True) if differentiated else ()

    try:
        with warnings.catch_warnings(), stacked_attention():
            warnings.simplefilter("error", UserWarning)  # what torch.func has no rule for it does in a loop
            values, _, _ = torch.vmap(single)(stacked, beside)
            found = gradients(values.sum(), stacked)
        for k, one in enumerate(pair):
            leaves = {name: v.clone().requires_grad_() for name, v in one.items()}
            value, _, _ = single(leaves, {name: v.clone() for name, v in others.items()})
            alone = gradients(value, leaves)
            largest = max((float(each.abs().max()) for each in alone if each is not None), default=0.0)
            same = (_close(a, b, k, largest) for a, b in zip(found, alone))
            if not all(same) or not _close(values, value, k):
                what = "gradients" if differentiated else "losses"
                return f"a stack of two gives other {what} than each by itself"
    except Exception as error:
        return f"torch.func cannot stack it: {_first_line(error)}"
    return ""


def _close(stacked: Tensor | None, alone: Tensor | None, k: int, largest: float = 0.0) -> bool:
    """Whether they agree, relative to the larger of `alone` and a tenth of the `largest` gradient.

    The gradient of a bias that batch norm takes away is zero up to rounding, which differs in a stack.
    """
    if stacked is None or alone is None:
        return stacked is None and alone is None
    scale = alone.abs().max().clamp(min=max(1e-8, 0.1 * largest))
    return bool((stacked[k] - alone).abs().max() <= TOLERANCE * scale)


def _first_line(error: BaseException) -> str:
    """The first sentence of an error."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else text[:157] + "…"


# --- its size ----------------------------------------------------------------------------------------


def activations(model: nn.Module, x: Tensor) -> tuple[int, int, int]:
    """Parameters, activations of one example, and those of the largest layer."""
    seen: list[int] = []

    def add(_module: Any, _inputs: Any, output: Any) -> None:
        leaves = [leaf for leaf in trees.tree_leaves(output) if isinstance(leaf, Tensor)]
        seen.append(sum(math.prod(leaf.shape) for leaf in leaves))

    hooks = [m.register_forward_hook(add) for m in model.modules() if not list(m.children())]
    with evaluating(model), torch.no_grad():
        model(x[:1])
    for hook in hooks:
        hook.remove()
    return sum(p.numel() for p in model.parameters()), sum(seen) or 1, max(seen, default=1)
