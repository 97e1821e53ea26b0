"""The parameters of a fit as rows: as remarks of a summary, and as the table that notebooks show."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalinglab.results.types import Reason

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ParameterRow:
    """A parameter of a fit.

    Attributes:
        value: the fitted value, NaN where the data determine none.
        low, high: its 95 % interval; NaN of a parameter that was not fitted.
        stderr: its standard error, NaN where none is stated.
        median: of its distribution, if it differs from the fitted value; else NaN.
        determined: whether the data close its interval.
        given: why it was not fitted: fixed, or tied to another.
    """

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    stderr: float = math.nan
    determined: bool = True
    given: Reason | None = None
    median: float = math.nan

    @property
    def remark(self) -> Reason:
        """What a summary says of it."""
        if self.given is not None:
            return Reason("parameter_given", name=self.name, value=self.value, given=self.given)
        if math.isnan(self.low):
            return Reason("parameter_follows", name=self.name, value=self.value)
        if math.isnan(self.value):
            return Reason("parameter_open", name=self.name, range=open_range(self.low, self.high))
        found = {"name": self.name, "value": self.value, "low": self.low, "high": self.high}
        if not self.determined:
            return Reason("parameter_doubtful", **found)
        if not math.isnan(self.median):
            return Reason("parameter_with_median", **found, median=self.median)
        if math.isnan(self.stderr):
            return Reason("parameter", **found)
        return Reason("parameter_with_error", **found, stderr=self.stderr)


def open_range(low: float, high: float) -> Reason:
    """An interval that is open or very wide, in words.

    >>> print(open_range(0.5, math.inf))
    at least 0.5
    """
    if math.isinf(low) and math.isinf(high):
        return Reason("any_value")
    if math.isinf(low):
        return Reason("at_most", high=high)
    return Reason("at_least", low=low) if math.isinf(high) else Reason("anything_from", low=low, high=high)


def table(rows: Iterable[ParameterRow]) -> pd.DataFrame:
    """One row a free parameter: its value, its 95 % interval and whether the data determine it."""
    import pandas as pd

    found = [
        (r.name, r.value, r.low, r.high, "yes" if r.determined else "no")
        for r in rows
        if r.given is None and not math.isnan(r.low)
    ]
    return pd.DataFrame(found, columns=["parameter", "value", "low", "high", "determined"])
