"""Whole learning curves of kernel interpolation from one Cholesky factorisation.

The factor of the first D rows of a kernel matrix is the corner of the factor of more rows, so one
factorisation in a random order holds the fits to all its beginnings: the resolution-limited losses (4) and
(5) of bahri2021 at every size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from scalinglab.errors import BadInput, NotConverged
from scalinglab.simulate.random_features.static import whole_sizes
from scalinglab.support.progress import track
from scalinglab.support.validation import checked


@checked
def nested_loss(
    matrix: np.ndarray,
    sizes: Sequence[int] | np.ndarray,
    *,
    targets: np.ndarray | None = None,
    draws: int = 1,
    seed: int = 0,
) -> np.ndarray:
    """The loss of kernel interpolation at every size of the training set, from one Cholesky factorisation.

    Without `targets` it is (5), averaged exactly over teachers drawn from the kernel: the mean of
    K(x,x) − K(x)ᵀK̄⁻¹K(x) over the inputs that are not in the training set, which is what D steps of a
    Cholesky factorisation leave of the diagonal. For a second moment matrix over features, in place of a
    kernel over inputs, the same number is (4): the duality.

    Args:
        matrix: 𝒦 over inputs or 𝒞 over features, symmetric and positive definite, (n, n).
        sizes: how many inputs (or features) are taken, each smaller than n.
        targets: given targets, (n,) or (n, outputs), in place of the teacher's; squared errors are summed
            over outputs.
        draws: how many random orders of the rows.
        seed: of the orders.

    Returns:
        Mean loss over the rows not taken, (draws, len(sizes)).
    """
    kernel = np.asarray(matrix, float)
    wanted = whole_sizes(sizes, "sizes")
    if wanted[-1] >= len(kernel):
        raise BadInput(f"sizes up to {wanted[-1]} of a matrix with {len(kernel)} rows: none are left to test")
    found = np.empty((draws, len(wanted)))
    for i in track(range(draws), "factorising"):
        order = np.random.default_rng([seed, i]).permutation(len(kernel))
        taken = order[: wanted[-1]]
        try:
            factor = np.linalg.cholesky(kernel[np.ix_(taken, taken)])
        except np.linalg.LinAlgError as error:
            raise NotConverged(
                f"the matrix of {wanted[-1]} rows is singular in double precision: take fewer rows, or add a "
                f"ridge of {1e-13 * np.trace(kernel):.1e} to its diagonal"
            ) from error
        found[i] = (
            _teacher(kernel, factor, order, wanted)
            if targets is None
            else _given(
                kernel, factor, order, wanted, np.asarray(targets, float).reshape(len(kernel), -1)[order]
            )
        )
    return found


def _teacher(kernel: np.ndarray, factor: np.ndarray, order: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """What is left of the diagonal after each number of steps."""
    solved = solve_triangular(
        factor, kernel[np.ix_(order[: sizes[-1]], order)], lower=True, check_finite=False
    )
    left, done, found = np.diag(kernel)[order].copy(), 0, []
    for size in sizes:
        left -= np.sum(solved[done:size] ** 2, axis=0)
        done = size
        found.append(left[size:].mean())
    return np.array(found)


def _given(
    kernel: np.ndarray, factor: np.ndarray, order: np.ndarray, sizes: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Squared errors of the interpolants of each size: their coefficients are L_D⁻ᵀ of a shared L⁻¹y."""
    half = solve_triangular(factor, y[: sizes[-1]], lower=True, check_finite=False)
    shuffled, found = kernel[np.ix_(order, order[: sizes[-1]])], []  # copied once, then only looked at
    for size in sizes:
        corner = factor[:size, :size]
        coefficients = solve_triangular(corner, half[:size], lower=True, trans=1, check_finite=False)
        residual = y[size:] - shuffled[size:, :size] @ coefficients
        found.append(np.mean(np.sum(residual**2, axis=1)))
    return np.array(found)
