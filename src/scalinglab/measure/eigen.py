"""Eigenvalues of kernel matrices, on a GPU where there is one.

A kernel of thousands of inputs takes LAPACK minutes on a busy host and a GPU seconds.
"""

from __future__ import annotations

import numpy as np
import torch

from scalinglab.support.validation import checked

SMALL = 256  # rows up to which the copies to a GPU and back cost more than the solution


@checked
def eigh(matrix: np.ndarray, device: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (n,), rising, and eigenvectors (n, n) as columns of a symmetric matrix, in float64.

    Args:
        matrix: (n, n).
        device: Of torch; default: a GPU where there is one and the matrix is large, else NumPy.
    """
    if device is None and (len(matrix) <= SMALL or not torch.cuda.is_available()):
        values, vectors = np.linalg.eigh(np.asarray(matrix, float))
        return values, vectors
    found = torch.linalg.eigh(torch.as_tensor(matrix, dtype=torch.float64, device=device or "cuda"))
    return found.eigenvalues.cpu().numpy(), found.eigenvectors.cpu().numpy()
