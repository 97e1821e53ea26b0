"""The whole road once: train on real images, predict the largest size, follow error and norm, fit the laws.

A small CNN learns handwritten digits (8 × 8 pixels, from scikit-learn; or MNIST) at eight data sizes with
several seeds. Test error is followed against the spectral complexity of the network at log-spaced steps
(damico2025, section 3), the optimum of every curve is found, and the exponents

    error ∝ norm^−γ₁,   optimal norm ∝ n_data^γ₂,   best error ∝ n_data^−γ

are fitted. The claim γ = γ₁ γ₂ is checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scalinglab import sweep
from scalinglab.results.distributions import Estimate
from scalinglab.sweep import Grid

if TYPE_CHECKING:
    from scalinglab.curves import Curves
    from scalinglab.laws.learning_curves.dynamical import Dynamical


# what all runs share; initial weights are small, so that the norm can grow (as in the paper)
SETTING = {
    "model": "cnn",
    "initialization": "customary",
    "optimizer": "adam",
    "learning_rate": 2e-3,
    "batch_size": 32,
    "checkpoints_per_decade": 8,
    "evaluate_at_most": 320,
}


@dataclass(frozen=True)
class Plan:
    """What the demonstration trains."""

    dataset: str
    sizes: tuple[int, ...]
    seeds: int
    min_steps: int  # training time is max(min_steps, min_epochs): every run must reach its optimum
    min_epochs: int
    width: float

    @property
    def smaller(self) -> Plan:
        """All sizes but the largest."""
        return replace(self, sizes=tuple(sorted(self.sizes))[:-1])

    def grid(self) -> Grid:
        """The runs: every data size with every seed."""
        time = {"min_steps": self.min_steps, "min_epochs": self.min_epochs}
        setting = {**SETTING, **time, "dataset": self.dataset, "width": self.width}
        return Grid(setting, axes={"n_data": list(self.sizes)}, seeds=self.seeds, experiment="demo")


# even in the logarithm, from where a CNN learns anything to what the bundled digits leave for training
SIZES = (40, 66, 108, 177, 290, 476, 780, 1280)
PLANS = {
    "smoke": Plan("digits", SIZES[::2], seeds=2, min_steps=60, min_epochs=1, width=0.125),
    "laptop": Plan("digits", SIZES, seeds=4, min_steps=300, min_epochs=25, width=0.125),
    # MNIST: 19 minutes on two cores
    "full": Plan("mnist", tuple(10 * n for n in SIZES), seeds=3, min_steps=1000, min_epochs=8, width=0.125),
}


def train(plan: Plan, store: str | Path, progress: bool = True) -> Curves:
    """Train what is missing in the store and return the curves of the plan's runs."""
    return sweep.run(plan.grid(), store, progress=progress)


def exponents(found: Dynamical) -> dict[str, Estimate]:
    """The three exponents, and how far the product of two is from the third."""
    return {
        "γ₁, error against norm": found.gamma_1,
        "γ₂, optimal norm against data": found.gamma_2,
        "γ, best error against data": found.gamma_measured,
        "γ₁γ₂ − γ": found.difference("collapse"),
    }
