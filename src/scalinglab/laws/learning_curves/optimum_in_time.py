"""The optimum of learning curves that end at different times, and which sizes have passed theirs.

The optimum of eq. 4 of damico2025, λ_opt(P) = k₂ P^γ₂, is the norm at which the test error is smallest. A run
that still improves when it ends has its smallest error at its last point: λ_opt then measures how long it was
trained, not where the optimum is. So the curves are cut at a series of times t, and at each of them

- λ_opt(P, t) is the optimum of the curve up to t;
- a size *counts* if its error has risen again after the optimum by more than three times its noise, that is,
  if its `kind` is "overfits" and not "saturates";
- γ₂(t) is the slope of ln λ_opt against ln P over all sizes, and over those that count.

γ₂ is known where the second agrees with the first and neither moves with t any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves.mean_curves import FEWEST_POINTS, size_curves
from scalinglab.laws.learning_curves.shape import optimum
from scalinglab.results.estimate import FEWEST, Estimate, slope
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.types import Reason, Remark, TableRows
from scalinglab.support.validation import checked


@dataclass(frozen=True)
class OptimumInTime(NotebookResult):
    """Optima of curves that are cut at a series of times.

    Attributes:
        table: one row for each time and size: `time`, `size`, `x_optimum` with `_low` and `_high` at one
            standard error, `y_optimum`, `counts`.
        slopes: one row a time: `time`, `gamma_2` with `gamma_2_error` over all sizes, the same with
            `_counted` over those that count, `sizes` and `counted`.
    """

    table: pd.DataFrame
    slopes: pd.DataFrame

    def last(self, counted: bool = False) -> Estimate:
        """γ₂ at the last time, over all sizes or over those that count; NaN where fewer than three do."""
        row, name = self.slopes.iloc[-1], "gamma_2_counted" if counted else "gamma_2"
        used = int(row["counted" if counted else "sizes"])
        if used < FEWEST:
            return Estimate(np.nan)
        return Estimate.from_stderr(row[name], row[f"{name}_error"], dof=used - 2)

    def drift(self) -> Estimate:
        """Change of γ₂ over all sizes by the last doubling of time, with the errors of both ends."""
        ends = self.slopes.dropna(subset=["gamma_2"])
        if len(ends) < 2:
            return Estimate(np.nan)
        last = ends.iloc[-1]
        half = ends.iloc[int(np.argmin(np.abs(np.log(2 * ends["time"].iloc[:-1] / last["time"]))))]
        error = float(np.hypot(last["gamma_2_error"], half["gamma_2_error"]))
        return Estimate.from_stderr(
            float(last["gamma_2"] - half["gamma_2"]), error, dof=int(last["sizes"]) - 2
        )

    @property
    def remarks(self) -> Iterator[Remark]:
        """What the summary says, as data."""
        yield TableRows(
            "optimum_in_time",
            [
                {"time": row["time"], "every": _slope(row, "gamma_2"),
                 "counted": _slope(row, "gamma_2_counted"), "sizes": row["counted"], "of": row["sizes"]}
                for row in self.slopes.to_dict("records")
            ],
        )  # fmt: skip

    def notebook_table(self) -> pd.DataFrame:
        """One row a time."""
        return self.slopes


@checked
def optimum_in_time(
    curves: Curves,
    x: str = "norm",
    y: str = "test_error",
    size: str = "n_data",
    time: str = "epoch",
    times: int = 8,
    seed: int = 0,
) -> OptimumInTime:
    """Cut curves at a series of times and find the optimum of each size up to there.

    Args:
        curves: one model on one data set; several runs of a size are averaged.
        x, y, size: as in `dynamical`.
        time: the column of the cuts, such as "epoch" or "step".
        times: how many cuts, evenly spaced in the log, up to the last time that every size reaches.
        seed: of the resampling behind the uncertainty of the optima.
    """
    frame = curves.frame
    if time not in frame:
        raise BadInput(f"no column {time!r} in these curves: the optimum in time needs one, such as 'epoch'")
    end = float(frame.groupby(size)[time].max().min())
    first = float(frame.groupby(size)[time].apply(lambda t: np.sort(t.unique())[:FEWEST_POINTS][-1]).max())
    generator = np.random.default_rng(seed)
    rows: list[dict[str, float]] = []
    for cut in np.geomspace(first, end, times) if first < end else [end]:
        part = Curves(frame[frame[time] <= cut * (1 + 1e-9)], settings=curves.settings)
        try:
            found = size_curves(part, x, y, size, fewest_sizes=1)
        except BadInput:  # too few points yet
            continue
        for curve in found:
            best = optimum(curve, generator)
            rows.append(
                {
                    "time": cut, "size": curve.size, "x_optimum": np.exp(best.x),
                    "x_optimum_low": np.exp(best.x_low), "x_optimum_high": np.exp(best.x_high),
                    "y_optimum": np.exp(best.y), "counts": best.kind == "overfits",
                }
            )  # fmt: skip
    if not rows:
        raise BadInput(f"no curve has enough points before {time} = {end:g}: measure more often")
    table = pd.DataFrame(rows)
    slopes = []
    for cut, part in table.groupby("time"):
        counted = part[part["counts"]]
        every, some = (
            slope(np.log(p["size"]), np.log(p["x_optimum"])) if len(p) >= FEWEST else Estimate(np.nan)
            for p in (part, counted)
        )
        slopes.append(
            {
                "time": cut, "gamma_2": every.value, "gamma_2_error": every.stderr,
                "gamma_2_counted": some.value, "gamma_2_counted_error": some.stderr,
                "sizes": len(part), "counted": len(counted),
            }
        )  # fmt: skip
    return OptimumInTime(table, pd.DataFrame(slopes))


def _slope(row: Mapping[str, float], name: str) -> Reason | str:
    if not np.isfinite(row[name]):
        return "–"
    return Reason("slope", value=row[name], error=row[f"{name}_error"])
