"""Forms: the families of curves that a law can follow, y = f(x; parameters).

A form is data: its parameters with bounds, which of them enter linearly, where a fit starts, and one
function that broadcasts. `register_form` adds one:

>>> import numpy as np
>>> from scalinglab.laws import Form, Parameter, register_form
>>> _ = register_form(Form(
...     name="logarithm",
...     equation="a - b ln x",
...     parameters=(Parameter("a", linear=True), Parameter("b", linear=True)),
...     function=lambda x, a, b: a - b * np.log(x),
... ))
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np
from scipy.special import expit

from scalinglab.errors import BadInput
from scalinglab.laws.forms.base import Form, Parameter, Start, family, register_form
from scalinglab.support.slopes import softplus, without_slopes
from scalinglab.support.validation import checked

# --- where fits start ----------------------------------------------------------------------------------


def _inside(x: np.ndarray, _: np.ndarray) -> np.ndarray:
    """Five places inside the range of x, even in the log."""
    low, high = np.log(x.min()), np.log(x.max())
    return np.exp(low + (high - low) * np.array([0.05, 0.25, 0.5, 0.75, 0.95]))


def _decay(x: np.ndarray, _: np.ndarray) -> np.ndarray:
    return np.geomspace(0.05, 5, 12) * np.ptp(x)


# search: starts of exponents, fewer where a form has several
EXPONENTS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.3, 1.7, 2.2, 3.0)
COARSE = (0.05, 0.15, 0.3, 0.5, 0.8, 1.3, 2.2)
FEW = (0.1, 0.3, 0.7, 1.5)

OFFSET = Parameter("offset", 0.0, linear=True)
AMPLITUDE = Parameter("amplitude", 0.0, linear=True, log=True)


# --- the forms -----------------------------------------------------------------------------------------


def _power(x: Any, amplitude: Any, exponent: Any) -> Any:
    return amplitude * np.exp(-exponent * np.log(x))


def _power_offset(x: Any, offset: Any, amplitude: Any, exponent: Any) -> Any:
    return offset + _power(x, amplitude, exponent)


def _shifted(x: Any, offset: Any, amplitude: Any, exponent: Any, shift: Any) -> Any:
    return offset + _power(x + shift, amplitude, exponent)


def _m3(x: Any, offset: Any, amplitude: Any, exponent: Any, saturation: Any) -> Any:
    return offset + _power(1 / (1 / x + saturation), amplitude, exponent)


def _m4_state(target: Any, shape: Any) -> Any:
    """Solve ln σ(u) - s ln(1 - σ(u)) = target by Halley's method in u, σ the logistic function.

    The left side grows with a slope that goes monotonously from 1 to s, so the method converges from
    anywhere. Second and third derivatives are at most as large as the slope: a last step of 2e-3 leaves an
    error of its third power, which the Newton step of `_m4` squares.
    """
    more = shape - 1
    # the asymptotes and the tangent at 0: all on one side of a curve that is convex or concave
    lines = target, target / shape, 2 * (target - more * np.log(2)) / (1 + shape)
    u = np.where(more > 0, reduce(np.minimum, lines), reduce(np.maximum, lines))
    for _ in range(50):
        small = np.exp(-np.abs(u))
        sigma = np.where(u > 0, 1.0, small) / (1 + small)
        slope = 1 + more * sigma
        # soft = -ln(1 - σ(u)); -ln σ(u) is soft - u
        soft = np.maximum(u, 0) + np.log1p(small)
        newton = (u - target + more * soft) / slope
        step = newton / (1 - 0.5 * newton * more * sigma * (1 - sigma) / slope)
        u = u - step
        if not np.any(np.abs(step) > 2e-3):
            break
    return u


def _m4(x: Any, offset: Any, span: Any, shape: Any, amplitude: Any, exponent: Any) -> Any:
    """y = E + span · σ(u). A, the amplitude far below the ceiling, keeps its value as span and s grow.

    The A of the paper, of (y - E)/(E + span - y)^s, would change by orders of magnitude along this valley.
    """
    target = np.log(amplitude) - np.log(span) - exponent * np.log(x)
    u = _m4_state(without_slopes(target), without_slopes(shape))
    sigma, soft = expit(u), softplus(u)
    # one Newton step from the solution, where it is 0: it carries the derivatives
    residual = target - (shape - 1) * soft - u
    return offset + span * expit(u + residual / (1 - sigma + without_slopes(shape) * sigma))


def _m4_amplitude(x: Any, y: Any, starts: Mapping[str, Any]) -> dict[str, Any]:
    """ln A: the mean of ln (y - E) - s ln(1 - (y - E)/span) + c ln x over the points."""
    part = np.clip((y - starts["offset"]) / starts["span"], 1e-3, 1 - 1e-3)
    log_a = np.log(part * starts["span"]) - starts["shape"] * np.log1p(-part)
    log_a = log_a + starts["exponent"] * np.log(x)
    return {"amplitude": np.exp(np.mean(log_a, axis=-1, keepdims=True))}


def _m4_rescaled(v: Mapping[str, float], x: float, y: float) -> dict[str, float]:
    amplitude = v["amplitude"] * y * np.exp(v["exponent"] * np.log(x))
    return {**v, "offset": v["offset"] * y, "span": v["span"] * y, "amplitude": float(amplitude)}


def _damico_rescaled(v: Mapping[str, float], x: float, y: float) -> dict[str, float]:
    amplitude = v["amplitude"] * y * np.exp(v["gamma_1"] * v["gamma_2"] * np.log(x))
    return {**v, "offset": v["offset"] * y, "amplitude": float(amplitude), "p_minus": v["p_minus"] * x}


def _damico(x: Any, offset: Any, amplitude: Any, gamma_1: Any, gamma_2: Any, p_minus: Any) -> Any:
    low = np.log(np.maximum(p_minus, 1e-300))
    return offset + amplitude * np.exp(-gamma_1 * np.logaddexp(gamma_2 * np.log(x), gamma_2 * low))


def _damico_thresholds(values: Mapping[str, float]) -> dict[str, float]:
    total = values["gamma_1"] * values["gamma_2"]
    with np.errstate(divide="ignore", over="ignore"):
        p_plus = float(np.exp((np.log(values["amplitude"]) - np.log(values["offset"])) / total))
    return {"p_plus": p_plus}


@checked
def broken_power_law(breaks: int = 1) -> Form:
    """Caballero et al. 2023, eq. 1: a power law whose slope changes smoothly at each of `breaks` places.

    y = E + A x^-c Π_i (1 + (x/x_i)^(1/f_i))^(-c_i f_i): the slope in log-log is -c before x_1 and
    -(c + c_1 + … + c_i) after x_i; f_i is the width of the bend.
    """
    if not 0 <= breaks <= 8:
        raise BadInput(f"breaks={breaks} must be between 0 and 8")
    numbers = [""] if breaks == 1 else [f"_{i + 1}" for i in range(breaks)]
    change = (-0.5, 0.3, 1.0) if breaks == 1 else (-0.3, 0.3)
    parameters = [
        OFFSET,
        AMPLITUDE,
        Parameter("first_exponent", -5.0, 10.0, start=FEW if breaks < 2 else (0.1, 0.4)),
    ]
    for i, number in enumerate(numbers):
        place = _inside if breaks == 1 else _at((i + 1) / (breaks + 1))
        parameters += [
            Parameter(f"change{number}", -10.0, 10.0, start=change),
            Parameter(f"break{number}", 0.0, log=True, start=place),
            Parameter(f"width{number}", 0.01, 10.0, log=True, start=(0.1, 0.5) if breaks == 1 else (0.3,)),
        ]

    def function(x: Any, offset: Any, amplitude: Any, exponent: Any, *bends: Any) -> Any:
        log_x = np.log(x)
        power = -exponent * log_x
        for change, place, width in zip(bends[::3], bends[1::3], bends[2::3], strict=True):
            power = power - change * width * softplus((log_x - np.log(place)) / width)
        return offset + amplitude * np.exp(power)

    def last(values: Mapping[str, Any]) -> Any:
        return values["first_exponent"] + sum(values[f"change{number}"] for number in numbers)

    def rescaled(v: Mapping[str, float], x: float, y: float) -> dict[str, float]:
        amplitude = v["amplitude"] * y * np.exp(v["first_exponent"] * np.log(x))
        places = {f"break{number}": v[f"break{number}"] * x for number in numbers}
        return {**v, "offset": v["offset"] * y, "amplitude": float(amplitude), **places}

    return Form(
        "broken_power_law" + (f"_{breaks}" if breaks != 1 else ""),
        "E + A x^-c Π_i (1 + (x/x_i)^(1/f_i))^(-c_i f_i)",
        tuple(parameters), function, exponent=last if breaks else "first_exponent", rescale=rescaled,
        doc="Caballero et al. 2023; its exponent is that after the last break",
    )  # fmt: skip


def _at(share: float) -> Start:
    return lambda x, y: np.exp(np.log(x.min()) + share * np.ptp(np.log(x)))


EXPONENT = Parameter("exponent", 0.0, 20.0, start=EXPONENTS)

register_form(Form(
    "power_law", "A x^-c", (AMPLITUDE, Parameter("exponent", -20.0, 20.0, start=EXPONENTS)), _power,
    exponent="exponent", doc="Hestness et al. 2017",
), "m1")  # fmt: skip
register_form(Form(
    "power_law_offset", "E + A x^-c", (OFFSET, AMPLITUDE, EXPONENT), _power_offset,
    exponent="exponent", doc="Rosenfeld et al. 2020",
), "m2")  # fmt: skip
register_form(Form(
    "shifted_power_law", "E + A (x + x0)^-c",
    (OFFSET, AMPLITUDE, Parameter("exponent", 0.0, 20.0, start=EXPONENTS),
     Parameter("shift", 0.0, start=lambda x, y: np.r_[0, x.min() * np.array([0.3, 3.0, 30.0])])),
    _shifted, exponent="exponent", doc="Zhai et al. 2022",
))  # fmt: skip
register_form(Form(
    "m3", "E + A (1/x + s)^c",
    (OFFSET, AMPLITUDE, EXPONENT,
     Parameter("saturation", 0.0, start=lambda x, y: np.r_[0, np.array([0.1, 1.0, 10.0]) / x.max()])),
    _m3, exponent="exponent",
    doc="Alabdulmohsin et al. 2022; Bansal et al. 2022 with E = 0",
))  # fmt: skip
register_form(Form(
    "m4", "(y - E)/(1 - (y - E)/span)^s = A x^-c",
    (Parameter("offset", 0.0, start=lambda x, y: y.min() * np.array([0.05, 0.6, 0.95])),
     Parameter("span", 0.0, log=True, start=lambda x, y: y.max() * np.array([1.05, 1.5, 4.0])),
     Parameter("shape", 0.02, 20.0, log=True, start=(0.3, 1.0, 3.0)),
     Parameter("amplitude", 0.0, log=True),
     Parameter("exponent", 0.0, 20.0, start=COARSE)),
    _m4, exponent="exponent", rescale=_m4_rescaled,
    derived=lambda v: {"ceiling": v["offset"] + v["span"]},
    complete=_m4_amplitude, doc="Alabdulmohsin et al. 2022, whose β is A span^-s",
))  # fmt: skip
register_form(Form(
    "exponential", "E + A exp(-x/τ)",
    (OFFSET, AMPLITUDE, Parameter("scale", 0.0, log=True, start=_decay)),
    lambda x, offset, amplitude, scale: offset + amplitude * np.exp(-x / scale),
    doc="exponential approach to a floor; it has no exponent",
))  # fmt: skip
register_form(Form(
    "damico", "E + A (x^g2 + P-^g2)^-g1",
    (OFFSET, AMPLITUDE,
     Parameter("gamma_1", 0.0, 20.0, start=COARSE), Parameter("gamma_2", 0.05, 20.0, start=(0.5, 1.0, 2.0)),
     Parameter("p_minus", 0.0, log=True, start=lambda x, y: x.min() * np.array([0.1, 1.0, 10.0]))),
    _damico, exponent=lambda v: v["gamma_1"] * v["gamma_2"],
    rescale=_damico_rescaled, derived=_damico_thresholds,
    doc="eq. 6 of D'Amico et al. 2025 with the thresholds P- and P+",
))  # fmt: skip
register_form(broken_power_law(1))


@family(r"broken_power_law_(\d+)")
def _with_breaks(count: str) -> Form:
    return broken_power_law(int(count))
