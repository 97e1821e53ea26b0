"""Exact theory over a simulation: the teacher–student perceptron (damico2025, section 2).

A student with N weights of fixed norm learns load·N examples of a teacher by the logistic loss. The theory
gives its test error for N → ∞ (`theory.perceptron`); the simulation minimises the loss of small students
(`simulate.perceptron`). No number of the theory is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab.studies.verdict import quantile

LOADS = (1.0, 3.0, 10.0)  # examples per weight
NORMS = tuple(float(norm) for norm in np.geomspace(0.1, 100, 9))


@dataclass(frozen=True)
class TheoryCheck:
    """Theory and simulation at the same points.

    Attributes:
        table: one row a load and norm: `load`, `norm`, `exact` (theory), `measured` (mean over students) and
            `stderr`.
        n_params: weights of a student, N.
        seeds: students at every point.
    """

    table: pd.DataFrame
    n_params: int
    seeds: int

    @property
    def inside(self) -> int:
        """At how many points the 95 % interval of the simulation holds the theory."""
        off = (self.table["measured"] - self.table["exact"]).abs()
        return int((off <= quantile(self.seeds) * self.table["stderr"]).sum())

    @property
    def deviation(self) -> float:
        """Median over the points of |measured / exact − 1|."""
        return float((self.table["measured"] / self.table["exact"] - 1).abs().median())

    def sentence(self) -> str:
        """How well they agree, in words."""
        return (
            f"The exact error of infinitely large students and the mean of {self.seeds} simulated ones with "
            f"{self.n_params} weights differ by {100 * self.deviation:.1f} % (median of {len(self.table)} "
            f"points); at {self.inside} of {len(self.table)} points the simulation's 95 % interval holds the "
            "theory. Nothing is fitted."
        )


def check(n_params: int = 200, seeds: int = 8) -> TheoryCheck:
    """Simulate students of N = `n_params` weights and compute the theory at the same loads and norms."""
    from scalinglab import simulate, theory

    parts = []
    for load in LOADS:
        problem = simulate.perceptron.draw(load, n_params, seeds)
        students = simulate.perceptron.fixed_norm(problem, NORMS).frame.groupby("norm")["test_error"]
        found = pd.DataFrame({"measured": students.mean(), "stderr": students.sem()}).reset_index()
        exact = theory.perceptron.fixed_norm(load, found["norm"].to_numpy()).error
        parts.append(found.assign(load=load, exact=exact))
    table = pd.concat(parts, ignore_index=True)[["load", "norm", "exact", "measured", "stderr"]]
    return TheoryCheck(table, n_params, seeds)
