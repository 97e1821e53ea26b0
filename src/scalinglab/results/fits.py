"""Fits as rows, and their one renderer: in lines of text, and as the table that notebooks show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from scalinglab.results.sentences import with_notes
from scalinglab.support.words import percent

if TYPE_CHECKING:
    import pandas as pd

ILL_CONDITIONED = 1e6  # of the scaled Jacobian: beyond it some combination of parameters is not determined


@dataclass(frozen=True)
class ParameterRow:
    """A parameter of a fit.

    Attributes:
        value: the fitted value, NaN where the data determine none.
        low, high: its 95 % interval; NaN of a parameter that was not fitted.
        stderr: its standard error, NaN where none is stated.
        determined: whether the data close its interval.
        given: why it was not fitted, such as "fixed".
    """

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    stderr: float = math.nan
    determined: bool = True
    given: str = ""

    @property
    def line(self) -> str:
        """In words."""
        if self.given:
            return f"{self.name:<14} {self.value:<12.6g} {self.given}"
        if math.isnan(self.low):  # what follows from the parameters
            return f"{self.name:<14} {self.value:.6g}"
        if math.isnan(self.value):
            return f"{self.name:<14} not determined; 95 % {open_range(self.low, self.high)}"
        error = "" if math.isnan(self.stderr) else f"± {self.stderr:<10.3g} "
        doubt = "" if self.determined else "  not identified"
        return f"{self.name:<14} {self.value:<12.6g} {error}95 % [{self.low:.4g}, {self.high:.4g}]{doubt}"


class Evidence(Protocol):
    """That the optimum was found, as `laws.fitting.solution.Certificate` holds it."""

    @property
    def objective(self) -> float: ...
    @property
    def starts(self) -> int: ...
    @property
    def agree(self) -> float: ...
    @property
    def converged(self) -> bool: ...
    @property
    def condition(self) -> float: ...
    @property
    def at_bound(self) -> tuple[str, ...]: ...


def summary(
    title: str,
    points: str,
    rows: Iterable[ParameterRow],
    facts: Iterable[tuple[str, object]],
    evidence: Evidence,
    cautions: Iterable[object],
    notes: Sequence[object],
) -> str:
    """A fit in lines: its form, what was fitted, its parameters, how sure it is, what to know about it.

    Args:
        facts: what else is known of the fit, by name.
        cautions: what it does not determine, or does not follow.
        notes: on the points that were fitted.
    """
    lines = [points, *(row.line for row in rows), *(f"{name:<14} {text}" for name, text in facts)]
    if is_doubtful(evidence):
        lines.append(f"{'convergence':<14} {convergence(evidence)}")
    if evidence.at_bound:
        lines.append(f"{'at a bound':<14} {', '.join(evidence.at_bound)}: not determined by these data")
    lines += map(str, cautions)
    return with_notes([title, *(f"  {line}" for line in lines)], notes, indent="  ")


def is_doubtful(found: Evidence) -> bool:
    """Whether the search did not end, one start alone found the optimum, or the points leave it open."""
    alone = found.starts > 1 and found.agree * found.starts < 1.5
    return alone or not found.converged or found.condition > ILL_CONDITIONED


def convergence(found: Evidence) -> str:
    """The share of starts that reached this optimum and the condition number."""
    line = (
        f"{percent(found.agree)} of {found.starts} starts agree on this optimum; condition number of the "
        f"parameters {found.condition:.2g}"
    )
    lost = "" if found.condition <= ILL_CONDITIONED else " (above 1e6: some are NOT determined)"
    return line + lost + ("" if found.converged else "; NOT converged")


def open_range(low: float, high: float) -> str:
    """An interval that is open, or too wide to be written as one.

    >>> open_range(0.5, math.inf)
    'at least 0.5'
    """
    if math.isinf(low) and math.isinf(high):
        return "any value"
    if math.isinf(low) or math.isinf(high):
        return f"at most {high:.3g}" if math.isinf(low) else f"at least {low:.3g}"
    return f"anything from {low:.3g} to {high:.3g}"


def table(rows: Iterable[ParameterRow]) -> pd.DataFrame:
    """One row a free parameter: its value, its 95 % interval and whether the data determine it."""
    import pandas as pd

    found = [
        (r.name, r.value, r.low, r.high, "yes" if r.determined else "no")
        for r in rows
        if not r.given and not math.isnan(r.low)
    ]
    return pd.DataFrame(found, columns=["parameter", "value", "low", "high", "determined"])
