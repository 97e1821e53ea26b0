"""Forms of the shares of a data mixture: `data_mixing_K` and `mixture_power_K` for K domains.

| name | equation | from |
| --- | --- | --- |
| `data_mixing_K` | c + k e^(Σ_j t_j r_j) | Ye et al. 2024, eq. 7: the loss of one domain, r_j the shares |
| `mixture_power_K` | c + A (Σ_j t_j r_j)^-γ | a power law of the effective share |

The shares sum to one, so a common shift of all t_j in `data_mixing_K` is a factor of k: t_K is 0. A common
factor of all t_j in `mixture_power_K` is one of A: their priors, the same for all, fix it, so that the
order of the domains does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.laws.forms.base import Form, Parameter, family, register_form
from scalinglab.support.validation import checked

USUAL_WEIGHT = 0.3  # convention: about which the weights of `mixture_power_K` are quoted


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

    slopes = tuple(
        Parameter(f"t_{j + 1}", -50.0, 50.0, start=(-2.0, 0.0) if count <= 6 else (-0.5,), prior=(0.0, 3.0))
        for j in range(count - 1)
    )
    names = tuple(f"share_{j + 1}" for j in range(count))
    return Form(
        f"data_mixing_{count}", "c + k exp(Σ_j t_j r_j)",
        (Parameter("c", 0.0, linear=True), Parameter("k", 0.0, linear=True, log=True), *slopes), function,
        variables=names, zeros=names, doc="Ye et al. 2024, eq. 7",
    )  # fmt: skip


@family(r"mixture_power_(\d+)")
@checked
def mixture_power(domains: Any = 5) -> Form:
    """A power law of the effective share of a domain, to which every share counts with a weight."""
    count = _count(domains)

    def function(x: Any, floor: Any, a: Any, gamma: Any, *weights: Any) -> Any:
        worth = sum(t * x[j] for j, t in enumerate(weights))
        return floor + a * np.exp(-gamma * np.log(np.maximum(worth, 1e-12)))

    def starts(x: Any, y: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """The weights with which each domain alone would have the loss that a linear fit gives it."""
        alone = np.linalg.lstsq(x.T, y, rcond=None)[0]
        above = np.maximum(alone - 0.5 * np.min(y), 0.02 * np.min(y))
        logs = -np.log(above) / np.maximum(given["gamma"], 0.05)  # (nodes, domains)
        logs = np.clip(logs - logs.mean(axis=1, keepdims=True), -4.0, 4.0)
        return {f"t_{j + 1}": USUAL_WEIGHT * np.exp(logs[:, [j]]) for j in range(count)}

    weights = tuple(
        Parameter(f"t_{j + 1}", 1e-6, 1e3, log=True, start=(USUAL_WEIGHT,), prior=(USUAL_WEIGHT, 1.5))
        for j in range(count)
    )
    names = tuple(f"share_{j + 1}" for j in range(count))
    return Form(
        f"mixture_power_{count}", "c + A (Σ_j t_j r_j)^-gamma",
        (Parameter("c", 0.0, linear=True), Parameter("A", 0.0, linear=True, log=True),
         Parameter("gamma", 0.0, 5.0, start=(0.05, 0.1, 0.2, 0.4), prior=(0.2, 0.2)), *weights), function,
        complete=starts, variables=names, zeros=names,
        doc="a power law of the effective share of a domain",
    )  # fmt: skip


register_form(data_mixing(5))
