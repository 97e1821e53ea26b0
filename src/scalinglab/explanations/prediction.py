"""Predict the test loss at sizes that were not run, from an explained run and the runs beside it.

    ln L(P, t, N) = ln K(P, t, N) + c(P, t)

K is the loss of descent with the tangent kernel of the network of that width: the mean over draws of P
examples from the sample, or solved where the sample is smaller than twice the examples. c is what runs of
the explained network have beside its kernel, by features that they learn and by their test set. At a time t
it is a line in the examples,

    c(P) = a + b ln(P/P₀),    a ~ N(0, A²),  b ~ N(0, B²),

given the c of the explained run (P₀) and of the runs of the same network on other numbers of examples, each
with the scatter s of one draw of its examples. A² is the mean of their squares. B is half of the range of c
along the explained run (a network that learns features leaves its kernel at other times with other data), and
`APART` at least. Of a run alone, c counts with the weight c²/(c² + s²), and b is not known but for its prior.

The band is normal in ln L. Its variance is that of one draw of P examples, that of the line, and B² for every
factor of e in width, or in steps beyond those of the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from scalinglab.errors import BadInput, NotDetermined
from scalinglab.explanations import theory
from scalinglab.explanations.case import Case
from scalinglab.explanations.theory import Kernel
from scalinglab.results.distributions import Student, check_level, interval
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.types import Reason, Remark

# chosen on digits with benchmarks/explain.py --predict, and not checked on other data
APART = 0.06
LEAST = 0.03  # standard deviation of ln L that descent with the kernel misses everywhere
UNSTABLE = 10.0  # times the loss before training: descent with the kernel does not converge
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

    @property
    def remarks(self) -> Iterator[Remark]:
        for row in self.table().to_dict("records"):
            wide = None if math.isnan(row["width"]) else row["width"]
            yield Reason("explained", **{**row, "width": wide}, level=self.level)


def predict(
    found: Any,
    n_data: ArrayLike | None = None,
    steps: ArrayLike | None = None,
    width: ArrayLike | None = None,
    level: float = 0.95,
) -> Predicted:
    """The losses of an `Explanation`, found; arguments as of its `predict`."""
    case, kernel = found.case, found.kernel
    if case is None or kernel is None or not np.isfinite(found.theory).any():
        reasons = "; ".join(str(reason) for reason in found.outside) or "it has no kernel of this kind"
        raise NotDetermined(
            f"nothing can be predicted from {found.name}, whose loss the theory does not give: {reasons}"
        )
    check_level(level)
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
    correction = _Correction(case, kernel)
    rows = np.empty((len(examples), 3))
    kernels: dict[float, list[tuple[Case, Kernel]]] = {}
    for place, (size, time, wide) in enumerate(zip(examples, times, widths, strict=True)):
        if wide not in kernels:
            kernels[wide] = _networks(case, kernel, 1.0 if math.isnan(wide) else wide / own)
        log_kernel, scatter = _over_networks(kernels[wide], int(size), time)
        shift, error = correction.at(size, time)
        away = abs(math.log(max(time / found.steps[-1], 1.0)))
        away += 0.0 if math.isnan(wide) else abs(math.log(wide / own))
        spread = math.sqrt(scatter**2 + error**2 + (away * correction.slope) ** 2 + LEAST**2)
        rows[place] = log_kernel, shift, spread
    middle = rows[:, 0] + rows[:, 1]
    ends = interval(Student(middle, rows[:, 2]), level, natural=np.exp)
    return Predicted(examples, times, widths, np.exp(middle), *ends, np.exp(rows[:, 0]), level)


class _Correction:
    """c(P, t) and its error, from the explained run and those beside it.

    Attributes:
        slope: B, the prior standard deviation of ∂c/∂ ln P.
    """

    def __init__(self, case: Case, kernel: Kernel) -> None:
        self.n_data = case.n_data
        self.runs = []  # of each: ln P/P₀, ln steps, c and its scatter there
        for n_data, steps, losses in ((case.n_data, case.steps, case.test_loss), *case.beside):
            logs, scatter = _log_loss(case, kernel, n_data, steps)
            if len(steps) and np.isfinite(logs).all():
                apart = np.log(losses) - logs
                self.runs.append((math.log(n_data / case.n_data), np.log(steps), apart, scatter))
        if not self.runs or self.runs[0][0] != 0:
            raise _unstable(case.n_data)
        _, _, apart, scatter = self.runs[0]
        shrunk = apart**3 / (apart**2 + scatter**2)
        self.slope = max(APART, float(np.ptp(shrunk[2:]) / 2) if len(apart) > 3 else 0.0)

    def at(self, n_data: float, step: float) -> tuple[float, float]:
        """c and its error at a size and a step; beyond a run's own steps c is that of its end."""
        known = np.array([run[0] for run in self.runs])
        apart, scatter = np.array(
            [[np.interp(math.log(step), logs, values) for values in pair] for _, logs, *pair in self.runs]
        ).T
        asked = math.log(n_data / self.n_data)
        level, slope = float(np.mean(apart**2)), self.slope**2
        among = level + slope * np.outer(known, known) + np.diag(scatter**2)
        with_asked = level + slope * known * asked
        weights = np.linalg.solve(among, with_asked)
        variance = level + slope * asked**2 - float(weights @ with_asked)
        return float(weights @ apart), math.sqrt(max(variance, 0.0))


def _networks(case: Case, kernel: Kernel, factor: float) -> list[tuple[Case, Kernel]]:
    """The run's own network, or some of another width, with their kernels."""
    if factor == 1.0:
        return [(case, kernel)]
    made: list[Any] = [replace(case, model=case.redraw(20_000 + seed, factor)) for seed in range(SEEDS)]
    return [(one, theory.kernel_of(one)) for one in made]


def _over_networks(networks: Sequence[tuple[Case, Kernel]], n_data: int, step: float) -> tuple[float, float]:
    """The mean of ln K at a size, and its standard deviation over draws of examples and networks."""
    steps = np.array([step])
    logs, scatter = np.concatenate([_log_loss(*one, n_data, steps) for one in networks], axis=1)
    if not np.isfinite(logs).all():
        raise _unstable(n_data)
    between = float(np.var(logs, ddof=1)) if len(logs) > 1 else 0.0
    return float(np.mean(logs)), math.sqrt(np.mean(scatter**2) + between)


def _log_loss(case: Case, kernel: Kernel, n_data: int, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ln K at steps, infinite where descent is unstable, and its standard deviation over draws."""
    here = replace(case, n_data=n_data)
    losses = theory.redrawn(here, kernel, steps)
    if not len(losses):
        solved = theory.solve(here, kernel, steps, n_data)
        # of draws that were not made: ln L scatters as that of P independent examples
        return np.log(solved), np.full(len(steps), 1 / math.sqrt(n_data))
    diverged = losses.max(0) > UNSTABLE * np.mean(kernel.residual**2)
    return np.where(diverged, np.inf, np.log(losses.mean(0))), np.std(np.log(losses), axis=0, ddof=1)


def _unstable(n_data: int) -> NotDetermined:
    return NotDetermined(
        f"n_data = {n_data}: descent with the kernel is unstable at the run's learning rate there; explain a "
        "run with a smaller one"
    )
