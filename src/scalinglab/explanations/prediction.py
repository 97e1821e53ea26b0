"""What an explained run predicts for sizes that were not run.

    ln L(P, t, N) = ln K(P, t, N) + c(t)

K is the loss of descent with the tangent kernel of the network of that width: the mean over draws of P
examples from the sample, or solved where the sample is smaller than twice the examples. c is what the
explained run has beside its own kernel, by features that it learns and by its test set; as one draw of the
examples scatters by s, c counts with the weight c²/(c² + s²).

The band is normal in ln L. Its variance is that of one draw of P examples, that of c, and what c may change
on the way: for every factor of e in examples, steps or width half of its range along the run (a network that
learns features leaves its kernel at other times with other data), and `APART` at least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri

from scalinglab.errors import BadInput, NotDetermined
from scalinglab.explanations import theory
from scalinglab.explanations.case import Case
from scalinglab.explanations.theory import Kernel
from scalinglab.results.notebook import NotebookResult

# chosen on digits with benchmarks/explain.py --predict, and not checked on other data
APART = 0.06
LEAST = 0.03  # standard deviation of ln L that descent with the kernel misses everywhere
SEEDS = 3  # networks of another width


@dataclass(frozen=True, eq=False)
class Predicted(NotebookResult):
    """Losses at sizes that were not run.

    Attributes:
        n_data, steps, width: The sizes, (n,); width relative to the setting's units, nan where not known.
        mean, low, high: Test loss, a mean over outputs, and its band.
        kernel: The loss of descent with the kernel alone.
        level: Probability of the band.
    """

    n_data: np.ndarray
    steps: np.ndarray
    width: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    kernel: np.ndarray
    level: float

    def table(self) -> pd.DataFrame:
        """One row a size."""
        names = ("n_data", "steps", "width", "mean", "low", "high", "kernel")
        return pd.DataFrame({name: getattr(self, name) for name in names})

    def notebook_table(self) -> pd.DataFrame:
        """`table`."""
        return self.table()

    def summary(self) -> str:
        """A line a size."""
        lines = []
        for row in self.table().itertuples():
            wide = "" if math.isnan(row.width) else f", width {row.width:g}"
            lines.append(
                f"{row.n_data:g} examples, {row.steps:g} steps{wide}: test loss {row.mean:.4g} "
                f"({row.low:.4g} to {row.high:.4g} at {self.level:.0%}; descent with its kernel "
                f"{row.kernel:.4g})"
            )
        return "\n".join(lines)


def predict(
    found: Any,
    n_data: ArrayLike | None = None,
    steps: ArrayLike | None = None,
    width: ArrayLike | None = None,
    level: float = 0.9,
) -> Predicted:
    """The losses of an `Explanation`, found; arguments as of its `predict`."""
    case, kernel = found.case, found.kernel
    if case is None or kernel is None or not np.isfinite(found.theory).any():
        reasons = "; ".join(str(reason) for reason in found.outside) or "it has no kernel of this kind"
        raise NotDetermined(
            f"nothing can be predicted from {found.name}, whose loss the theory does not give: {reasons}"
        )
    if not 0 < level < 1:
        raise BadInput(f"level = {level}: the probability of a band lies between 0 and 1, as 0.9")
    if width is not None and (case.redraw is None or not case.width > 0):
        raise BadInput("width: the network of another width is known for settings only; leave it out")
    own = case.width if case.width > 0 else math.nan
    sizes = np.broadcast_arrays(
        *(np.atleast_1d(np.asarray(default if asked is None else asked, float))
          for asked, default in ((n_data, found.n_data), (steps, found.steps[-1]), (width, own)))
    )  # fmt: skip
    examples, times, widths = (np.ravel(size) for size in sizes)
    for name, values in (("n_data", examples), ("steps", times), ("width", widths)):
        if (name != "width" and ((values < 1) | (values % 1 != 0)).any()) or (values <= 0).any():
            raise BadInput(f"{name} = {values.tolist()}: sizes are whole numbers from 1, widths positive")
    correction = _Correction(found, case, kernel)
    rows = np.empty((len(examples), 3))
    kernels: dict[float, list[tuple[Case, Kernel]]] = {}
    for place, (size, time, wide) in enumerate(zip(examples, times, widths, strict=True)):
        if wide not in kernels:
            kernels[wide] = _networks(case, kernel, 1.0 if math.isnan(wide) else wide / own)
        log_kernel, scatter = _log_loss(kernels[wide], int(size), time)
        shift, error = correction.at(time)
        away = abs(math.log(size / found.n_data)) + abs(math.log(max(time / found.steps[-1], 1.0)))
        away += 0.0 if math.isnan(wide) else abs(math.log(wide / own))
        change = away * max(APART, correction.change)
        spread = math.sqrt(scatter**2 + error**2 + change**2 + LEAST**2)
        rows[place] = log_kernel, shift, spread
    log_mean, half = rows[:, 0] + rows[:, 1], ndtri(0.5 + level / 2) * rows[:, 2]
    return Predicted(
        examples, times, widths, np.exp(log_mean), np.exp(log_mean - half), np.exp(log_mean + half),
        np.exp(rows[:, 0]), level,
    )  # fmt: skip


class _Correction:
    """c(t) and its error: what a run has beside its kernel; `change` is half of its range along the run."""

    def __init__(self, found: Any, case: Case, kernel: Kernel) -> None:
        losses = theory.redrawn(case, kernel, found.steps)
        self.logs = np.log(found.steps)
        if len(losses):
            apart = np.log(found.measured / losses.mean(0))
            scatter = np.std(np.log(losses), axis=0, ddof=1)
        else:
            apart, scatter = np.log(found.ratio), np.full(len(found.steps), _unknown_scatter(found.n_data))
        weight = apart**2 / (apart**2 + scatter**2)
        self.shift, self.error = weight * apart, np.sqrt(weight) * scatter
        self.change = float(np.ptp(self.shift[2:]) / 2) if len(apart) > 3 else 0.0

    def at(self, step: float) -> tuple[float, float]:
        """At a step; beyond the run's own as at its end."""
        shift, error = (np.interp(math.log(step), self.logs, values) for values in (self.shift, self.error))
        return float(shift), float(error)


def _networks(case: Case, kernel: Kernel, factor: float) -> list[tuple[Case, Kernel]]:
    """The run's own network, or some of another width, with their kernels."""
    if factor == 1.0:
        return [(case, kernel)]
    made: list[Any] = [replace(case, model=case.redraw(20_000 + seed, factor)) for seed in range(SEEDS)]
    return [(one, theory.kernel_of(one)) for one in made]


def _log_loss(networks: Sequence[tuple[Case, Kernel]], n_data: int, step: float) -> tuple[float, float]:
    """The mean of ln K at a size, and its standard deviation over draws of examples and networks."""
    means, variances = [], []
    for case, kernel in networks:
        here, steps = replace(case, n_data=n_data), np.array([step])
        losses = theory.redrawn(here, kernel, steps)[:, 0]
        if len(losses):
            means.append(float(np.log(losses.mean())))
            variances.append(float(np.var(np.log(losses), ddof=1)))
            continue
        solved = float(theory.solve(here, kernel, steps, n_data)[0])
        means.append(math.log(solved) if math.isfinite(solved) else math.inf)
        variances.append(_unknown_scatter(n_data) ** 2)
    if not np.isfinite(means).all():
        raise NotDetermined(
            f"n_data = {n_data}: descent with the kernel is unstable at the run's learning rate there; "
            "explain a run with a smaller one"
        )
    between = float(np.var(means, ddof=1)) if len(means) > 1 else 0.0
    return float(np.mean(means)), math.sqrt(np.mean(variances) + between)


def _unknown_scatter(n_data: float) -> float:
    """Of ln L over draws that were not made: as of P independent examples."""
    return 1 / math.sqrt(n_data)
