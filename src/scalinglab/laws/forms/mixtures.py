"""Forms of the shares of a data mixture: `data_mixing_K` and `mixture_power_K` for K domains.

| name | equation | from |
| --- | --- | --- |
| `data_mixing_K` | c + k e^(Σ_j t_j r_j) | Ye et al. 2024, eq. 7: the loss of one domain, r_j the shares |
| `mixture_power_K` | c + A (Σ_j t_j r_j)^-γ | a power law of the effective share; t_1 = 1 |

The shares sum to one, so a common shift of all t_j in `data_mixing_K` is a factor of k: t_K is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws.forms.base import Form, Parameter
from scalinglab.laws.forms.registry import family, register_form
from scalinglab.support.validation import checked


def _count(domains: Any) -> int:
    count = int(domains)
    if not 2 <= count <= 30:
        raise BadInput(f"a mixture of {count} domains: give 2 to 30")
    return count


@family(r"data_mixing_(\d+)")
@checked
def data_mixing(domains: Any = 5) -> Form:
    """Ye et al. 2024, eq. 7, for that many domains."""
    count = _count(domains)

    def function(x: Any, floor: Any, k: Any, *slopes: Any) -> Any:
        return floor + k * np.exp(sum(t * x[j] for j, t in enumerate(slopes)))

    def gradient(x: Any, floor: Any, k: Any, *slopes: Any) -> tuple[Any, ...]:
        base = np.exp(sum(t * x[j] for j, t in enumerate(slopes)))
        return np.ones_like(base), base, *(k * base * x[j] for j in range(len(slopes)))

    slopes = tuple(
        Parameter(f"t_{j + 1}", -50.0, 50.0, start=(-2.0, 0.0) if count <= 6 else (-0.5,), prior=(0.0, 3.0))
        for j in range(count - 1)
    )
    names = tuple(f"share_{j + 1}" for j in range(count))
    return Form(
        f"data_mixing_{count}", "c + k exp(Σ_j t_j r_j)",
        (Parameter("c", 0.0, linear=True), Parameter("k", 0.0, linear=True, log=True), *slopes), function,
        gradient=gradient, variables=names, zeros=names, doc="Ye et al. 2024, eq. 7",
    )  # fmt: skip


@family(r"mixture_power_(\d+)")
@checked
def mixture_power(domains: Any = 5) -> Form:
    """A power law of the share of the domain itself, to which the other shares count with a weight."""
    count = _count(domains)

    def function(x: Any, floor: Any, a: Any, gamma: Any, *weights: Any) -> Any:
        worth = x[0] + sum(t * x[j + 1] for j, t in enumerate(weights))
        return floor + a * np.exp(-gamma * np.log(np.maximum(worth, 1e-12)))

    # weights above one, too: where the loss rises with the own share, a fit from small ones ends at gamma = 0
    start = (0.1, 3.0) if count <= 6 else (0.1,)
    weights = tuple(
        Parameter(f"t_{j + 2}", 1e-6, 10.0, log=True, start=start, prior=(0.1, 1.5)) for j in range(count - 1)
    )
    names = tuple(f"share_{j + 1}" for j in range(count))
    return Form(
        f"mixture_power_{count}", "c + A (r_1 + Σ_j t_j r_j)^-gamma",
        (Parameter("c", 0.0, linear=True), Parameter("A", 0.0, linear=True, log=True),
         Parameter("gamma", 0.0, 5.0, start=(0.05, 0.1, 0.2, 0.4), prior=(0.2, 0.2)), *weights), function,
        variables=names, zeros=names, doc="a power law of the effective share of a domain",
    )  # fmt: skip


register_form(data_mixing(5))
