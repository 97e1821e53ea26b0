"""An argument has one meaning and one default wherever it is taken: conventions of the public functions."""

import inspect
import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import scalinglab as sl

DEFAULTS = {  # what an argument of this name is unless it is given
    "level": 0.95, "seed": 0, "flops_per_param_example": 6.0,
    # nothing of it
    **dict.fromkeys(
        ("noise", "label_noise", "input_noise", "flips", "ridge", "momentum", "weight_decay", "dropout",
         "label_smoothing", "drop_highest"), 0.0
    ),
    # no bottleneck, one of it, as it is
    **dict.fromkeys(("n_params", "n_data"), math.inf),
    **dict.fromkeys(("ensemble", "bags", "batch_size", "outputs", "groups", "dilation", "parts"), 1),
    **dict.fromkeys(("width", "initialization_factor"), 1.0),
    # what is asked for by name alone
    **dict.fromkeys(
        ("mixed", "mean_field", "retry_failed", "write", "compile", "graphs", "full_batch", "distinct",
         "shuffled", "causal", "linear", "log", "local_data", "classes"), False
    ),
    **dict.fromkeys(("progress", "norms", "certify", "capture", "automatic", "bias"), True),
    **dict.fromkeys(("stderr", "low", "high", "beyond", "below"), math.nan),
}  # fmt: skip
# PyTorch's own, sets of data that are drawn, pieces of work, and a number of features in a phase
OTHERWISE = {
    "nets.BatchNorm.momentum", "data.random_teacher.width", "data.teacher_student.width",
    "data.teacher_student.n_data", "data.text.n_data",
    "measure.gradient_noise.batch_size", "measure.margins.batch_size",
    "theory.one_pass.phases.spectrum.n_params", "simulate.perceptron.draw.n_params",
    *(f"{module}.Parameter.{end}" for module in ("laws", "laws.forms") for end in ("low", "high")),
}  # fmt: skip


def public(
    module: ModuleType, name: str = "", seen: frozenset[Any] = frozenset()
) -> Iterator[tuple[str, Any]]:
    """Every function and class that a user reaches from here by public names."""
    for one in getattr(module, "__all__", ()):
        found = getattr(module, one)
        if inspect.ismodule(found) and found.__name__.startswith("scalinglab") and found not in seen:
            yield from public(found, f"{name}{one}.", seen | {module})
        elif inspect.isfunction(found) or inspect.isclass(found):
            yield f"{name}{one}", found


def taken() -> dict[str, Any]:
    """The defaults of the arguments of public functions, by module, function and argument."""
    found = {}
    for name, function in public(sl):
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # a class of C has none
            continue
        found |= {f"{name}.{p.name}": p.default for p in parameters if p.default is not p.empty}
    return found


def test_an_argument_has_one_default_wherever_it_is_taken():
    defaults = {name: value for name, value in taken().items() if isinstance(value, (bool, int, float))}
    assert {*defaults} >= OTHERWISE
    others = {
        name: value for name, value in defaults.items()
        if (usual := DEFAULTS.get(name.rpartition(".")[2], value)) != value
        and not (math.isnan(usual) and math.isnan(value))
    }  # fmt: skip
    assert {*others} == OTHERWISE
    assert sum(name.rpartition(".")[2] in DEFAULTS for name in defaults) > 100
