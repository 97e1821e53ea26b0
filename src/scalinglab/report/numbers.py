"""What the report shows of curves, computed and in words; `sections` draws it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves, is_seed
from scalinglab.curves.columns import MEASURES, varying_within
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves.collapse import Collapse
from scalinglab.laws.learning_curves.dynamical import Dynamical
from scalinglab.results.distributions import CANNOT_TELL, FAILS, HOLDS, Estimate, Interval

# error bars, norms, and what a log keeps of the optimizer and the machine
NOT_MEASURED = re.compile(
    r"^norm(_|$)|_stderr$|^count$|(^|[^a-z])(lr|learning_rate|grad_norm|seconds|runtime|time|memory|nodes)"
    r"([^a-z]|$)"
)
PROGRESS = ("tokens", "epoch", "step", "time", "examples", "compute")


def size_column(curves: Curves) -> str | None:
    """The setting that the report compares: data size if it varies, else the next that does."""
    numeric = [c for c in curves.setting_columns if pd.api.types.is_numeric_dtype(curves.frame[c])]
    varied = [c for c in numeric if not is_seed(c) and curves.frame[c].nunique() > 1]
    preferred = [c for c in ("n_data", "n_params", "width") if c in varied]
    return next(iter([*preferred, *varied]), None)


def also_varied(curves: Curves, by: str) -> list[str]:
    """Settings other than seeds in which runs of one size differ."""
    settings = [c for c in curves.setting_columns if c not in curves.seed_columns]
    return varying_within(curves.frame, by, settings)


def line_column(curves: Curves) -> str:
    """The column that gives lines their colours: the size, another setting that varies, or the run itself."""
    varied = [c for c in curves.varying_settings if not is_seed(c)]
    return size_column(curves) or next(iter(varied), "run")


def measures(curves: Curves) -> list[str]:
    """What was measured: errors and losses where there are any, else all that is no norm and no error bar."""
    frame = curves.frame
    others = [c for c in curves.measurement_columns if not NOT_MEASURED.search(c.lower())]
    others.sort(key=lambda c: "loss" not in c and "error" not in c)  # stable: losses first
    known = [c for c in MEASURES if c in frame and frame[c].notna().any()]
    return known or [c for c in others if c not in MEASURES and frame[c].notna().any()]


def seed_average(curves: Curves) -> Curves:
    """The mean over seeds, checkpoint by checkpoint; the curves themselves where no two can be averaged."""
    several = [c for c in curves.seed_columns if curves.frame[c].nunique() > 1]
    try:
        return curves.average(several) if several else curves
    except BadInput:  # a seed for every size, or no common checkpoints: each run is a line of its own
        return curves


@dataclass(frozen=True)
class Lines:
    """Curves to be drawn, one line a run of `curves`.

    Attributes:
        curves: means over seeds where `averaged`, else the runs.
        x: the column of progress; None where there is none.
        y: what was measured.
        by: the column that gives the lines their colours.
    """

    curves: Curves
    x: str | None
    y: list[str]
    by: str
    averaged: bool

    @property
    def started(self) -> Curves:
        """Without the rows at x = 0, which a log axis does not show."""
        return self.curves.select(**{self.x: lambda column: column > 0}) if self.x else self.curves


def learning_curves_of(curves: Curves) -> Lines | None:
    """Loss and error against training time; None where runs are single points or nothing was measured."""
    runs, found = curves.frame.groupby("run"), measures(curves)[:2]
    x = next((c for c in PROGRESS if c in curves.frame and runs[c].nunique().max() > 1), None)
    if x is None or not found:
        return None
    mean = seed_average(curves)
    return Lines(mean, x, found, line_column(curves), averaged=mean is not curves)


def norm_curves_of(curves: Curves) -> Lines | None:
    """Test error and norm; None where one of them was not measured."""
    if not {"norm", "test_error"} <= set(curves.frame.columns):
        return None
    mean = seed_average(curves)
    x = next((c for c in PROGRESS if c in mean.frame), None)
    return Lines(mean, x, ["test_error", "norm"], line_column(curves), averaged=mean is not curves)


@dataclass(frozen=True)
class Listed:
    """The runs as a table.

    Attributes:
        table: one row a run: the settings that vary, `checkpoints`, `best` (of losses and errors) and `last`
            of `y`, `status`, `diverged_at`.
        y: what was measured, None where nothing was.
        constant: the settings that all runs share.
    """

    table: pd.DataFrame
    y: str | None
    constant: Mapping[str, Any]


def runs_of(curves: Curves) -> Listed:
    """Setting and outcome of every run, sorted by the settings that vary."""
    frame, names = curves.frame, curves.varying_settings
    y = next(iter(measures(curves)), None)
    groups = frame.groupby("run", sort=False)
    table = groups[names].first() if names else pd.DataFrame(index=groups.size().index)
    table["checkpoints"] = groups.size()
    if y is not None:
        if y in MEASURES:  # of others it is not known whether less is better
            table["best"] = groups[y].min()
        table["last"] = groups[y].last()
    if "status" in frame:
        table["status"] = groups["status"].last()
    if "diverged_at" in frame:
        table["diverged_at"] = groups["diverged_at"].first()
    constant = {c: frame[c].iloc[0] for c in curves.setting_columns if c not in names}
    return Listed(table.reset_index(drop=True).sort_values(names, kind="stable"), y, constant)


def parameter_table(
    values: Mapping[str, float], intervals: Mapping[str, Interval], lost: Sequence[str]
) -> pd.DataFrame:
    """The parameters of a law with their 95 % intervals; in words those that are lost, and open ends."""
    rows = [
        (name, "not determined" if name in lost else f"{values[name]:.4g}",
         *(f"{end:.4g}" if np.isfinite(end) else "open" for end in ends))
        for name, ends in intervals.items() if name in values
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["parameter", "value", "95 % from", "to"])


# --- dynamical laws ------------------------------------------------------------------------------------


def exponents_of(found: Dynamical) -> dict[str, Estimate]:
    """The exponents of the dynamical laws by what they are exponents of."""
    return {
        "error against norm, early in training (γ₁)": found.gamma_1,
        "norm of the optimum against data (γ₂), from the optima": found.gamma_2_optimum,
        "the same, from the collapse, which uses the best errors": found.gamma_2,
        "best error against data, by the product (γ₁·γ₂), optima": found.gamma_predicted_optimum,
        "the same, collapse": found.gamma_predicted,
        "best error against data, by a direct fit (γ)": found.gamma_measured,
    }


def of_dynamical(found: Dynamical, unit: str = "examples") -> list[str]:
    """What the dynamical laws say, one paragraph a thought; `unit` is what the data are counted in."""
    smallest, largest = found.table.iloc[0], found.table.iloc[-1]
    fewer = 1 - 2.0**-found.gamma_measured.value
    paragraphs = [
        f"From {smallest['size']:,.0f} to {largest['size']:,.0f} training {unit} the smallest test error "
        f"of the curves averaged over seeds falls from {smallest['y_optimum']:.2g} to "
        f"{largest['y_optimum']:.2g}, roughly as data^−{found.gamma_measured.value:.2f} (exponent γ): twice "
        f"the data removes {100 * fewer:.0f} % of the errors. An exponent of answer and fit is of a curve "
        "with a floor through every run: where the curve flattens it is larger.",
        f"Early in training the error falls as norm^−{found.gamma_1.value:.2f} (exponent γ₁). With more data "
        f"training follows this further: the norm at the smallest error grows as "
        f"data^{found.gamma_2.value:.2f} (exponent γ₂).",
    ]
    product = (
        "If the curves of all sizes are one shape shifted along the norm, the exponents multiply: γ = γ₁·γ₂. "
        f"The product is {found.gamma_predicted.value:.2f} ± {found.gamma_predicted.stderr:.2f}; the direct "
        "fit of error against data gives "
        f"{found.gamma_measured.value:.2f} ± {found.gamma_measured.stderr:.2f}. "
    )
    difference = found.difference("collapse")
    say = {
        HOLDS: "They agree within their uncertainty: how the network learns in time explains how it scales.",
        CANNOT_TELL: f"Their difference of {difference.value:.2g} ± {difference.stderr:.2g} may be chance, "
        f"with {len(found.table)} sizes, so whether the exponents multiply is open.",
        FAILS: "They do not agree within their uncertainty: over this range the curves are not one shape "
        "shifted along the norm, so do not carry the exponents far beyond it.",
    }
    product += say[found.verdict("collapse")]
    return [*paragraphs, product, collapse_sentence(found.collapse, unit)]


def collapse_sentence(master: Collapse, unit: str) -> str:
    """Whether rescaled curves fall on one."""
    if master.holds_from is None:
        return "The rescaled curves do not fall on one master curve: they are still changing shape with size."
    return f"Rescaled by height and position, the curves fall on one master curve {master.extent(unit)}."
