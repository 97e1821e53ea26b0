"""Spectrum: kernel eigenvalues λ_k and the target's power λ_k w_k² in each mode.

It goes into every linear theory and simulation; it is made from exponents, or measured on a real network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalinglab.errors import BadInput


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues and target power, one entry a mode.

    Attributes:
        eigenvalues: λ_k > 0, shape (n_modes,).
        target_power: λ_k w_k² ≥ 0, shape (n_modes,); its sum is the loss of the zero predictor.
    """

    eigenvalues: np.ndarray
    target_power: np.ndarray

    def __post_init__(self) -> None:
        for name in ("eigenvalues", "target_power"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), float))
        if self.eigenvalues.ndim != 1 or self.eigenvalues.shape != self.target_power.shape:
            raise BadInput(
                f"eigenvalues {self.eigenvalues.shape} and target_power {self.target_power.shape} "
                "must be one-dimensional and of equal length"
            )

    @classmethod
    def power_law(
        cls, task_exponent: float = 1.5, spectral_exponent: float = 1.25, n_modes: int = 10_000
    ) -> Spectrum:
        """λ_k = k^-b and λ_k w_k² = k^-a, a the task, b the spectral exponent (bordelon2024)."""
        k = np.arange(1, n_modes + 1, dtype=float)
        return cls(k**-spectral_exponent, k**-task_exponent)
