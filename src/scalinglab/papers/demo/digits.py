"""The whole road once: train on real images, follow error and norm, fit the laws.

A small CNN learns handwritten digits (8 × 8 pixels, from scikit-learn; or MNIST) at eight data sizes with
several seeds. Test error is followed against the spectral complexity of the network at log-spaced steps
(damico2025, section 3), the optimum of every curve is found, and the exponents

    error ∝ norm^−γ₁,   optimal norm ∝ n_data^γ₂,   best error ∝ n_data^−γ

are fitted. The claim γ = γ₁ γ₂ is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scalinglab import laws
from scalinglab.papers.registry import Reproduction, Row

if TYPE_CHECKING:
    from scalinglab.curves import Curves
    from scalinglab.train import Setting


@dataclass(frozen=True)
class Plan:
    """What the demonstration trains."""

    dataset: str
    sizes: tuple[int, ...]
    seeds: int
    steps: int
    width: float
    batch_size: int = 32

    def settings(self) -> list[Setting]:
        """One setting a run, largest data sizes first so that nothing long starts last."""
        from scalinglab.train import Setting

        return [
            Setting(
                model="cnn",
                dataset=self.dataset,
                n_data=size,
                width=self.width,
                steps=self.steps,
                batch_size=self.batch_size,
                checkpoints_per_decade=10,
                seed=seed,
            )
            for size in sorted(self.sizes, reverse=True)
            for seed in range(self.seeds)
        ]


PLANS = {
    "smoke": Plan("digits", (40, 80, 160, 320), seeds=2, steps=100, width=0.25),
    "laptop": Plan("digits", (10, 20, 40, 80, 160, 320, 640, 1280), seeds=5, steps=600, width=0.25),
    "full": Plan("mnist", (60, 120, 250, 500, 1000, 2000, 4000, 8000), seeds=4, steps=3000, width=0.5),
}


def train(plan: Plan, store: str | Path) -> Curves:
    """Train what is missing in the store and return the curves of the plan's runs."""
    from scalinglab.train import run_many

    return run_many(plan.settings(), store=store)


def digits(scale: str) -> Reproduction:
    """The demonstration's figure and table."""
    import tempfile

    from scalinglab.figures.collapse import curves_and_collapse

    with tempfile.TemporaryDirectory() as folder:
        curves = train(PLANS[scale], folder)
    return Reproduction(curves, curves_and_collapse(curves), table(curves))


def table(curves: Curves) -> tuple[Row, ...]:
    """The exponents; the paper's claim is that the product of two gives the third."""
    found = laws.dynamical(curves)
    claim = "γ₁·γ₂ within the combined standard error"
    return (
        Row("γ₁, error against norm", None, found.gamma_1.value, found.gamma_1.error),
        Row("γ₂, optimal norm against data", None, found.gamma_2.value, found.gamma_2.error),
        Row("γ₁·γ₂", None, found.gamma_predicted.value, found.gamma_predicted.error),
        Row("γ, best error against data", "γ₁·γ₂", found.gamma_measured.value, found.gamma_measured.error,
            agrees=found.agrees, note=claim),
    )  # fmt: skip
