"""Laws of the loss along a training as a function of its whole learning-rate schedule η(step).

| name | equation | from |
| --- | --- | --- |
| `multi_power` | L0 + A S(t)^-α − B Σ_k Δη_k (1 − (1 + C η_k^-γ S_k(t))^-β) | Luo et al. 2025, eq. 1 and 2 |
| `annealing` | L0 + A S(t)^-α − B Σ_k Δη_k (1 − λ^(t − k)) | Tissue et al. 2024, eq. 1, with B = C/(1 − λ) |

S(t) is the sum of the rates until step t, S_k(t) that after step k, Δη_k = η_{k−1} − η_k. The warm-up belongs
to the schedule: its rise counts as negative drops, as in the authors' code.

A run may start better or worse than another of the same schedule; what remains of that later is what a small
shift of S leaves. So each run has a free `shift` of S, the shifts of one group summing to zero. Of the shape
three runs hardly determine the memory: β has the prior 1 (a factor of e^±0.5) and γ the prior 0.5 ± 0.25,
between a memory in S (γ = 0) and in steps (γ = 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalinglab.errors import BadInput, nearest
from scalinglab.laws.forms.base import Form, Parameter


@dataclass(frozen=True, eq=False)
class Run:
    """One training: what a law needs of its schedule, at the steps where the loss is known.

    Attributes:
        area: (points,), S at each point.
        drop: (cells,), −Δη of the pieces in which the rate changes.
        passed: (points, cells), S since each piece; 0 before it.
        lag: (points, cells), steps since each piece; 0 before it.
        rate: (cells,), the rate after each piece, relative to the peak.
        peak: the highest rate.
        group: the runs of one group share all parameters.
        last: the last of those steps.
    """

    area: np.ndarray
    drop: np.ndarray
    passed: np.ndarray
    lag: np.ndarray
    rate: np.ndarray
    peak: float
    group: str = ""
    last: float = 0.0


@dataclass(frozen=True)
class Kernel:
    """How drops of the rate are remembered: g in [0, 1), from 0 at a drop to 1.

    `function` and `gradient` give Σ_k −Δη_k g_k at the points of a run, and its derivatives by the kernel's
    parameters, for one value of each: (points, cells) then stays in the processor's cache.
    """

    name: str
    equation: str
    doc: str
    parameters: tuple[Parameter, ...]
    function: Callable[..., np.ndarray]
    gradient: Callable[..., tuple[np.ndarray, ...]]


def _left(run: Run, scale: float, beta: float, gamma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x = C η^−γ S_k, ln(1 + x) and (1 + x)^−β."""
    x = run.passed * (scale * run.rate**-gamma)
    soft = np.log1p(x)
    return x, soft, np.exp(-beta * soft)


def _multi_power(run: Run, scale: float, beta: float, gamma: float) -> np.ndarray:
    """With g = 1 − (1 + x)^−β."""
    return np.asarray(run.drop.sum() - _left(run, scale, beta, gamma)[2] @ run.drop)


def _multi_power_slopes(run: Run, scale: float, beta: float, gamma: float) -> tuple[np.ndarray, ...]:
    """By C, β and γ."""
    x, soft, left = _left(run, scale, beta, gamma)
    by_x = beta * left * x / (1 + x)
    return by_x @ run.drop / scale, (left * soft) @ run.drop, -by_x @ (np.log(run.rate) * run.drop)


def _annealing(run: Run, memory: float) -> np.ndarray:
    """With g = 1 − e^(−lag/memory); λ = e^(−1/memory)."""
    return np.asarray(run.drop.sum() - np.exp(-run.lag / memory) @ run.drop)


def _annealing_slopes(run: Run, memory: float) -> tuple[np.ndarray, ...]:
    return (-(np.exp(-run.lag / memory) * run.lag) @ run.drop / memory**2,)


def _each(function: Callable[..., Any], run: Run, given: Sequence[Any]) -> np.ndarray:
    """(…, values) of a function of single numbers, for arrays of these with a last axis of one."""
    arrays = np.broadcast_arrays(*(np.asarray(v, float) for v in given))
    rows = [function(run, *map(float, each)) for each in zip(*(a.ravel() for a in arrays), strict=True)]
    made = np.moveaxis(np.array(rows), 0, -2)  # (…, starts, points)
    return made.reshape(*made.shape[:-2], *(arrays[0].shape[:-1] or ()), made.shape[-1])


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel(
            "multi_power", "L0 + A S^-alpha - B Σ Δη (1 - (1 + C (η/peak)^-gamma S_k)^-beta)",
            "Luo et al. 2025, eq. 1 and 2",
            (Parameter("C", 1e-6, 1e9, log=True, start=(5.0, 30.0, 150.0)),
             Parameter("beta", 1e-3, 100.0, log=True, start=(0.5, 1.0), prior=(1.0, 0.5)),
             Parameter("gamma", -1.0, 4.0, start=(0.5,), prior=(0.5, 0.25))),
            _multi_power, _multi_power_slopes,
        ),
        Kernel(
            "annealing", "L0 + A S^-alpha - B Σ Δη (1 - λ^lag), memory = -1/ln λ",
            "Tissue et al. 2024, eq. 1",
            (Parameter("memory", 1.0, 1e8, log=True, start=(100.0, 300.0, 1000.0, 3000.0, 10000.0)),),
            _annealing, _annealing_slopes,
        ),
    )
}  # fmt: skip
LEVELS = (
    Parameter("L0", 0.0, linear=True),
    Parameter("A", 0.0, linear=True, log=True),
    Parameter("B", 0.0, linear=True, log=True),
    Parameter("alpha", 0.01, 5.0, start=(0.3, 0.5, 0.8)),
)


def get(name: str) -> Kernel:
    """The law of that name, or an error that names the nearest one."""
    if name not in KERNELS:
        raise BadInput(f"no law of schedules {name!r}; {nearest(name, KERNELS)}")
    return KERNELS[name]


def bind(kernel: Kernel, runs: Sequence[Run], shifts: bool = True) -> Form:
    """The law for these runs, a form of the number of the point (from 1), all runs in one row.

    Runs of one group share L0, A, B and α; all share what the kernel remembers.
    """
    groups = list(dict.fromkeys(run.group for run in runs))
    names: list[str] = []
    parameters: list[Parameter] = []
    for group in groups:
        for p in LEVELS:
            names.append(_name(p.name, group))
            parameters.append(replace(p, name=names[-1]))
    parameters += kernel.parameters
    names += [p.name for p in kernel.parameters]
    free = _free_shifts(runs) if shifts else {}
    for place in free:
        names.append(f"shift_{place + 1}")
        parameters.append(Parameter(names[-1], -1.0, 1.0, start=(0.0,)))

    def values(given: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(names, given, strict=True))

    def function(x: Any, *given: Any) -> Any:
        v = values(given)
        parts = [_level(run, kernel, v, _shift(place, runs, free, v)) for place, run in enumerate(runs)]
        return np.concatenate(np.broadcast_arrays(*parts) if len(parts) == 1 else parts, axis=-1)[..., _at(x)]

    def gradient(x: Any, *given: Any) -> tuple[Any, ...]:
        v = values(given)
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for place, run in enumerate(runs):
            slopes = _slopes(run, kernel, v, _shift(place, runs, free, v))
            own = {_name(p.name, run.group): slopes[p.name] for p in LEVELS}
            own |= {p.name: slopes[p.name] for p in kernel.parameters}
            own |= _shift_slopes(place, runs, free, slopes["shift"])
            blank = np.zeros_like(slopes["A"])
            for name in names:
                columns[name].append(own.get(name, blank))
        return tuple(np.concatenate(columns[name], axis=-1)[..., _at(x)] for name in names)

    return Form(
        kernel.name, kernel.equation, tuple(parameters), function, gradient=gradient, variables=("point",),
        exponent=None, doc=kernel.doc,
    )  # fmt: skip


def _at(x: Any) -> np.ndarray:
    return np.asarray(np.asarray(x) - 1, int)


def _name(name: str, group: str) -> str:
    return f"{name}[{group}]" if group else name


def _free_shifts(runs: Sequence[Run]) -> dict[int, list[int]]:
    """Runs with a shift of their own, and the runs of their group; the last of a group balances them."""
    found = {}
    for group in dict.fromkeys(run.group for run in runs):
        members = [place for place, run in enumerate(runs) if run.group == group]
        found.update(dict.fromkeys(members[:-1], members))
    return found


def _shift(place: int, runs: Sequence[Run], free: Mapping[int, list[int]], v: Mapping[str, Any]) -> Any:
    if place in free:
        return v[f"shift_{place + 1}"]
    others = [p for p in free if runs[p].group == runs[place].group]
    return -sum(v[f"shift_{p + 1}"] for p in others) if others else 0.0


def _shift_slopes(
    place: int, runs: Sequence[Run], free: Mapping[int, list[int]], slope: Any
) -> dict[str, Any]:
    if place in free:
        return {f"shift_{place + 1}": slope}
    return {f"shift_{p + 1}": -slope for p in free if runs[p].group == runs[place].group}


def _level(run: Run, kernel: Kernel, v: Mapping[str, Any], shift: Any) -> Any:
    own = {p.name: v[_name(p.name, run.group)] for p in LEVELS}
    kept = _each(kernel.function, run, [v[p.name] for p in kernel.parameters])
    area = np.maximum(run.area + shift, 1e-3 * run.area)
    return own["L0"] + own["A"] * np.exp(-own["alpha"] * np.log(area)) - own["B"] * kept


def _slopes(run: Run, kernel: Kernel, v: Mapping[str, Any], shift: Any) -> dict[str, Any]:
    """Derivatives of the loss by every parameter of the run's group, by the kernel's, and by the shift."""
    own = {p.name: v[_name(p.name, run.group)] for p in LEVELS}
    given = [v[p.name] for p in kernel.parameters]
    kept, by_kernel = _each(kernel.function, run, given), _each(kernel.gradient, run, given)
    area = np.maximum(run.area + shift, 1e-3 * run.area)
    power = np.exp(-own["alpha"] * np.log(area))
    found = {
        "L0": np.ones_like(power), "A": power, "alpha": -own["A"] * power * np.log(area),
        "B": -kept, "shift": -own["alpha"] * own["A"] * power / area,
    }  # fmt: skip
    for p, slope in zip(kernel.parameters, by_kernel, strict=True):
        found[p.name] = -own["B"] * slope
    return found
