"""Forms of two and more variables: the loss as a surface over parameters, data, time.

N is `n_params`, D is `n_data`, n = N/1e9, d = D/1e11, S is `step`, t is `time`. In `data_constrained` the
third variable is the number of unique examples U: with r = D/U - 1 repetitions
D' = U + U R_D (1 - e^(-r/R_D)), and N' likewise beyond the size that is compute-optimal for U. Rosenfeld's
η scales with E, A and B, so losses do not show it; here it equals ε0, the level of a random guess, so that
small losses are e itself. Farseer's floor is a stretched exponential of N, b → 0 a power; its other two
functions of N, which have such a b each, are powers here: the runs of one study do not tell all nine
parameters apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scalinglab.laws.forms.base import Form, Parameter, register_form, sum_of_powers
from scalinglab.support.slopes import softplus
from scalinglab.support.validation import checked

# search: starts of exponents, fewer where a form has several
GRID = (0.08, 0.15, 0.22, 0.3, 0.38, 0.47, 0.6, 0.8, 1.1)
COARSE = (0.1, 0.25, 0.4, 0.7)
FLOOR = Parameter("E", 0.0, linear=True)
BY_PARAMS = Parameter("A", 0.0, linear=True, log=True)
BY_DATA = Parameter("B", 0.0, linear=True, log=True)
ALPHA = Parameter("alpha", 0.0, 5.0, start=GRID)
BETA = Parameter("beta", 0.0, 5.0, start=GRID)


def power(x: Any, exponent: Any) -> Any:
    """x^-exponent."""
    return np.exp(-exponent * np.log(x))


@checked
def coupled(x: Any, floor: Any, a: Any, b: Any, alpha: Any, beta: Any, gamma: Any) -> Any:
    """E + (A N^-α + B D^-β)^γ."""
    return floor + (a * power(x[0], alpha) + b * power(x[1], beta)) ** gamma


# convention: parameters and examples at which E, A and beta of `farseer` are quoted
QUOTED_AT = (1e9, 1e11)


def _stretched(log_n: Any, stretch: Any) -> Any:
    """(n^b - 1)/b, ln n at b = 0."""
    t = stretch * log_n
    small = np.abs(t) < 1e-4
    return np.where(small, log_n * (1 + t / 2), np.expm1(t) / np.where(small, 1.0, stretch))


def farseer(x: Any, floor: Any, a: Any, b: Any, scale: Any, c: Any, beta: Any, e: Any) -> Any:
    """E e^(-a (n^b - 1)/b) + A n^-c d^(-β n^e), n = N/1e9, d = D/1e11."""
    n, d = (np.log(values / size) for values, size in zip(x[:2], QUOTED_AT, strict=True))
    return floor * np.exp(-a * _stretched(n, b)) + scale * np.exp(-c * n - beta * np.exp(e * n) * d)


SHARPNESS = 4.0  # convention: of a break, which takes about a factor of three in size


def _broken(broken: int) -> Any:
    """A sum of two powers, of which that of variable `broken` has another exponent beyond a place."""

    def function(x: Any, floor: Any, a: Any, b: Any, alpha: Any, beta: Any, change: Any, at: Any) -> Any:
        terms = [a * power(x[0], alpha), b * power(x[1], beta)]
        bent = softplus(SHARPNESS * (np.log(x[broken]) - np.log(at)))
        terms[broken] = terms[broken] * np.exp(-change / SHARPNESS * bent)
        return floor + (terms[0] + terms[1])

    return function


def _inner_sizes(variable: int) -> Any:
    """Starts of a place: within the sizes of a variable."""
    return lambda x, y: np.exp(np.quantile(np.unique(np.log(x[variable])), (0.3, 0.5, 0.7)))


def _rosenfeld(x: Any, floor: Any, a: Any, b: Any, alpha: Any, beta: Any, guess: Any) -> Any:
    inner = CHINCHILLA.function(x, floor, a, b, alpha, beta)
    return inner / np.hypot(1, inner / guess)


def _rosenfeld_amplitudes(x: Any, y: Any, starts: Mapping[str, Any]) -> dict[str, Any]:
    """Undo the envelope at the starting ε0, then share e between its terms."""
    ratio = np.clip(y / starts["guess"], 1e-6, 0.99)
    inner = y / np.sqrt(1 - ratio**2)
    low = 0.3 * inner.min(axis=-1, keepdims=True)
    return {"E": low, **_evenly(x, np.log(np.maximum(inner - low, 1e-3 * inner)), starts)}


def _kaplan(x: Any, n_scale: Any, d_scale: Any, alpha: Any, beta: Any) -> Any:
    inner = np.logaddexp(alpha / beta * (np.log(n_scale) - np.log(x[0])), np.log(d_scale) - np.log(x[1]))
    return np.exp(beta * inner)


def _kaplan_scales(x: Any, y: Any, starts: Mapping[str, Any]) -> dict[str, Any]:
    """Scales at which each limit alone gives the mean loss."""
    log_y = np.mean(np.log(y))
    n = np.exp(log_y / starts["alpha"] + np.mean(np.log(x[0])) - 0.7 / starts["alpha"])
    d = np.exp(log_y / starts["beta"] + np.mean(np.log(x[1])) - 0.7 / starts["beta"])
    return {"n_scale": n, "d_scale": d}


def optimal_params(n_data: Any, a: Any, b: Any, alpha: Any, beta: Any) -> Any:
    """The n_params that is compute-optimal at n_data, where C = k N D: α A N^-α = β B D^-β."""
    return np.exp((np.log(alpha * a) - np.log(beta * b) + beta * np.log(n_data)) / alpha)


def worth_of_data(total: Any, unique: Any, repeats: Any) -> Any:
    """What `total` is worth when only `unique` of it is new: each repetition decays as e^(-1/repeats)."""
    extra = np.maximum(total / unique - 1, 0.0)
    return unique * (1 - repeats * np.expm1(-extra / repeats))


def _data_constrained(
    x: Any, floor: Any, a: Any, b: Any, alpha: Any, beta: Any, repeat_data: Any, repeat_params: Any
) -> Any:
    n, d, unique = x[0], x[1], np.minimum(x[2], x[1])
    needed = np.minimum(n, optimal_params(unique, a, b, alpha, beta))
    worth_n, worth_d = worth_of_data(n, needed, repeat_params), worth_of_data(d, unique, repeat_data)
    return floor + a * power(worth_n, alpha) + b * power(worth_d, beta)


def _split(x: Any, y: Any, starts: Mapping[str, Any]) -> dict[str, Any]:
    """Share what is above the floor (to the power 1/γ, where there is γ) evenly between N and D."""
    floor = 0.7 * np.min(y) * np.ones_like(starts["alpha"])
    rest = np.log(np.maximum(y - floor, 1e-3 * y)) / starts.get("gamma", 1.0)
    return {"E": floor, **_evenly(x, rest, starts)}


def _evenly(x: Any, log_rest: Any, starts: Mapping[str, Any]) -> dict[str, Any]:
    """Amplitudes with which either term has half of what is above the floor, on average of its logarithm."""
    exponents = {"A": starts["alpha"] * np.log(x[0]), "B": starts["beta"] * np.log(x[1])}
    rest = log_rest - np.log(2)
    return {name: np.exp(np.mean(rest + rise, axis=-1, keepdims=True)) for name, rise in exponents.items()}


NAMES = ("n_params", "n_data")
SIZES = {"N": "n_params", "D": "n_data"}
CHINCHILLA = register_form(sum_of_powers(
    "chinchilla", "E + A N^-alpha + B D^-beta", (FLOOR, BY_PARAMS, BY_DATA, ALPHA, BETA), SIZES,
    doc="Hoffmann et al. 2022, eq. 2",
))  # fmt: skip
register_form(Form(
    "coupled", "E + (A N^-alpha + B D^-beta)^gamma",
    (Parameter("E", 0.0), Parameter("A", 0.0, log=True), Parameter("B", 0.0, log=True),
     Parameter("alpha", 0.0, 5.0, start=COARSE), Parameter("beta", 0.0, 5.0, start=COARSE),
     Parameter("gamma", 0.01, 5.0, start=(0.4, 1.0))),
    coupled, complete=_split, variables=NAMES, doc="Busbridge et al. 2025, eq. 1",
))  # fmt: skip
register_form(Form(
    "farseer", "E exp(-a (n^b - 1)/b) + A n^-c d^(-beta n^e), n = N/1e9, d = D/1e11",
    (Parameter("E", 0.0, linear=True, log=True), Parameter("a", 0.0, 2.0, start=(0.02, 0.1)),
     Parameter("b", -1.0, 1.0, start=(0.0,), prior=(0.0, 0.2)),
     Parameter("A", 0.0, linear=True, log=True), Parameter("c", -2.0, 2.0, start=(0.0, 0.2)),
     Parameter("beta", 0.0, 3.0, start=(0.2, 0.35, 0.5)),
     Parameter("e", -0.5, 0.5, start=(-0.05, 0.0, 0.05))),
    farseer, variables=NAMES, doc="after Li et al. 2025 (Farseer)",
))  # fmt: skip
for _place, _name, _equation in (
    (0, "params", "E + A N^-alpha (1 + (N/at)^4)^(-change/4) + B D^-beta"),
    (1, "data", "E + A N^-alpha + B D^-beta (1 + (D/at)^4)^(-change/4)"),
):
    register_form(Form(
        f"broken_{_name}", _equation,
        (FLOOR, BY_PARAMS, BY_DATA, Parameter("alpha", 0.0, 5.0, start=COARSE),
         Parameter("beta", 0.0, 5.0, start=COARSE), Parameter("change", -0.5, 0.5, start=(-0.1, 0.1)),
         Parameter("at", 0.0, log=True, start=_inner_sizes(_place))),
        _broken(_place), variables=NAMES, doc="chinchilla with a break in one exponent",
    ))  # fmt: skip
register_form(Form(
    "rosenfeld", "e/√(1 + (e/guess)²), e = E + A N^-alpha + B D^-beta",
    (Parameter("E", 0.0), Parameter("A", 0.0, log=True), Parameter("B", 0.0, log=True),
     Parameter("alpha", 0.0, 5.0, start=COARSE), Parameter("beta", 0.0, 5.0, start=COARSE),
     Parameter("guess", 0.0, log=True, start=lambda x, y: y.max() * np.array([1.02, 1.3, 3.0]))),
    _rosenfeld, complete=_rosenfeld_amplitudes, variables=NAMES, doc="Rosenfeld et al. 2020, eq. 5",
    automatic=False,  # of losses far below a guess it is chinchilla with a parameter that they do not show
))  # fmt: skip
register_form(Form(
    "kaplan", "((n_scale/N)^(alpha/beta) + d_scale/D)^beta",
    (Parameter("n_scale", 0.0, log=True), Parameter("d_scale", 0.0, log=True),
     Parameter("alpha", 1e-3, 5.0, start=GRID), Parameter("beta", 1e-3, 5.0, start=GRID)),
    _kaplan, complete=_kaplan_scales, variables=NAMES, doc="Kaplan et al. 2020, eq. 1.5",
    # `coupled` without a floor: few runs do not show that there is none, and what lies far beyond rests on it
    automatic=False,
))  # fmt: skip
register_form(sum_of_powers(
    "kaplan_time", "A N^-alpha + B S^-beta", (BY_PARAMS, BY_DATA, ALPHA, BETA),
    {"N": "n_params", "S": "step"}, doc="Kaplan et al. 2020, eq. 1.6",
    derived=lambda v: {"n_scale": v["A"] ** (1 / v["alpha"]), "step_scale": v["B"] ** (1 / v["beta"])},
))  # fmt: skip
register_form(sum_of_powers(
    "with_time", "E + A N^-alpha + B D^-beta + C t^-gamma",
    (FLOOR, BY_PARAMS, BY_DATA, Parameter("C", 0.0, linear=True, log=True),
     Parameter("alpha", 0.0, 5.0, start=COARSE), Parameter("beta", 0.0, 5.0, start=COARSE),
     Parameter("gamma", 0.0, 5.0, start=COARSE)),
    {**SIZES, "t": "time"}, doc="the three bottlenecks of Bordelon et al. 2024",
))  # fmt: skip
register_form(Form(
    "data_constrained", "E + A N'^-alpha + B D'^-beta",
    (Parameter("E", 0.0), Parameter("A", 0.0, log=True), Parameter("B", 0.0, log=True),
     Parameter("alpha", 1e-3, 5.0, start=COARSE), Parameter("beta", 1e-3, 5.0, start=COARSE),
     Parameter("repeat_data", 1e-2, 1e4, log=True, start=(3.0, 15.0)),
     Parameter("repeat_params", 1e-2, 1e4, log=True, start=(3.0, 15.0))),
    _data_constrained, complete=_split, variables=(*NAMES, "n_unique"),
    doc="Muennighoff et al. 2023, eq. 5 and 6",
))  # fmt: skip
