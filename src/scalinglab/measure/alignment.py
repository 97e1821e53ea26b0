"""Alignment of a kernel with its target, C(k), and their change in training (bordelon2024, App. K)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from scalinglab.errors import BadInput
from scalinglab.measure.eigen import eigh
from scalinglab.measure.tangent_kernel import ntk
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked


@checked
def alignment(kernel: ArrayLike, targets: ArrayLike) -> float:
    """A = yᵀKy / (yᵀy ‖K‖_F), eq. 134; 1 for K = y yᵀ. Outputs are summed over.

    Args:
        kernel: (n, n).
        targets: (n,) or (n, outputs).
    """
    matrix, y = np.asarray(kernel, float), np.asarray(targets, float)
    y = y.reshape(len(y), -1)
    if matrix.shape != (len(y), len(y)):
        raise BadInput(f"kernel {matrix.shape} and targets {y.shape} must be (n, n) and (n, ...)")
    return float(np.sum(y * (matrix @ y)) / (np.sum(y**2) * np.linalg.norm(matrix)))


@checked
def drift(kernel: ArrayLike, initial: ArrayLike) -> float:
    """1 − ⟨K, K0⟩/(‖K‖‖K0‖): 0 for a kernel that only changed its scale (Fort et al. 2020)."""
    now, then = np.asarray(kernel, float), np.asarray(initial, float)
    return float(1 - np.sum(now * then) / (np.linalg.norm(now) * np.linalg.norm(then)))


@dataclass
class KernelReading:
    """Reads the tangent kernel of one run's network: the `extra` of ``run`` and of the Tracker.

    Every reading returns `kernel_alignment`, `kernel_drift` (from the start), `kernel_norm`, the
    exponents `kernel_spectral_exponent` (b) and `kernel_task_exponent` (a), `unexplained_k` (1 − C(k)) at
    k = 1 and 10, and the arrays `kernel_eigenvalues` and `kernel_target_power`, which a store keeps beside
    the curves.

    Args:
        x: Inputs (n, …), best of the test set; a few hundred.
        y: Targets (n,) or (n, outputs); class numbers become one-hot vectors less their mean.
        outputs: As in `ntk`.
        initial: The network before training, the reference of `kernel_drift`; default: that of the first
            call.
    """

    x: Tensor
    y: ArrayLike
    outputs: str = "mean"
    initial: nn.Module | None = None
    _first: np.ndarray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        y = np.asarray(self.y)
        if y.ndim == 1 and np.issubdtype(y.dtype, np.integer):
            y = np.eye(int(y.max()) + 1)[y]
            # the constant part of one-hot vectors says nothing about the inputs
            y = y - y.mean(0)
        self.x, self.y = torch.as_tensor(self.x), y.astype(float)
        if self.initial is not None:
            self._first = ntk(self.initial, self.x, outputs=self.outputs)
            self.initial = None  # its kernel is all that is kept

    def __call__(self, model: nn.Module) -> dict[str, float | np.ndarray]:
        """The columns and arrays of a network as it is now."""
        kernel = ntk(model, self.x, outputs=self.outputs)
        if not np.isfinite(kernel).all():
            return {"kernel_alignment": np.nan, "kernel_drift": np.nan, "kernel_norm": np.nan}
        self._first = kernel if self._first is None else self._first
        spectrum = Spectrum.from_kernel(kernel, np.asarray(self.y), eigh)
        found: dict[str, float | np.ndarray] = {
            "kernel_alignment": alignment(kernel, self.y),
            "kernel_drift": drift(kernel, self._first),
            "kernel_norm": float(np.linalg.norm(kernel) / len(kernel)),
            "kernel_eigenvalues": spectrum.eigenvalues.copy(),
            "kernel_target_power": spectrum.target_power.copy(),
        }
        for name, of in (
            ("kernel_spectral_exponent", "eigenvalues"),
            ("kernel_task_exponent", "target_power"),
        ):
            try:
                found[name] = spectrum.tail_exponent(of).value
            except BadInput:  # too few inputs for a tail
                found[name] = np.nan
        for k in (1, 10):
            found[f"unexplained_{k}"] = float(1 - spectrum.cumulative_power(min(k, spectrum.n_modes)))
        return found
