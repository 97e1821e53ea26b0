"""How optima move with size: a regression with a scatter from size to size beyond the error of each optimum.

    z*_k = B x_k + ε_k,  ε_k ~ N(0, T),   measured with the information J_k,

x_k = (1, ln N − centre, ln D − centre, …). Every exponent in B has the prior N(0, 1), so that sizes on one
line (D = 20 N) determine the law along this line only; T maximises the restricted likelihood (by EM).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# published: standard deviation of an exponent before any run; Li et al. 2025 have 0.3 to 0.7
EXPONENT = 1.0
ROUNDS, SETTLED = 300, 1e-4  # guard: of the iteration for T, the latter relative


@dataclass(frozen=True)
class Movement:
    """The law of the optimum.

    Attributes:
        coefficients: (settings, 1 + sizes), B: at the centre, then the exponents.
        covariance: of the coefficients, settings first.
        scatter: (settings, settings), T.
        centre: (sizes,), the mean ln size.
        freedom: degrees of freedom left of the scatter.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    scatter: np.ndarray
    centre: np.ndarray
    freedom: float

    def at(self, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The optimum at a ln size, (settings,), and the covariance of the law there without T."""
        row = np.concatenate([[1.0], size - self.centre])
        design = np.kron(np.eye(len(self.coefficients)), row)
        return self.coefficients @ row, design @ self.covariance @ design.T


def fit(sizes: np.ndarray, optima: np.ndarray, information: np.ndarray) -> Movement:
    """Fit the law to optima.

    Args:
        sizes: (cells, sizes), logarithms.
        optima: (cells, settings).
        information: (cells, settings, settings); may be singular.
    """
    count, p = optima.shape
    centre = sizes.mean(axis=0)
    x = np.column_stack([np.ones(count), sizes - centre])
    prior = np.kron(np.eye(p), np.diag([1e-6, *[EXPONENT**-2] * sizes.shape[1]]))
    free = max(count - np.linalg.matrix_rank(x, tol=1e-6 * np.sqrt(count)), 1)
    rough = optima - x @ np.linalg.lstsq(x, optima, rcond=None)[0]
    scatter = rough.T @ rough / free + 1e-6 * np.eye(p)
    designs = np.einsum("ij,kl->kijl", np.eye(p), x).reshape(count, p, -1)  # B x = design @ B.ravel()
    for _ in range(ROUNDS):
        inverse = np.linalg.inv(scatter)
        # (J^-1 + T)^-1 without the inverse of J, which may not exist
        precisions = inverse - inverse @ np.linalg.inv(information + inverse) @ inverse
        turned = np.swapaxes(designs, 1, 2) @ precisions
        covariance = np.linalg.inv(prior + (turned @ designs).sum(axis=0))
        solved = covariance @ np.einsum("kij,kj->i", turned, optima)
        means = np.einsum("ij,kjl,kl->ki", scatter, precisions, optima - designs @ solved)
        known = precisions - np.swapaxes(turned, 1, 2) @ covariance @ turned
        after = means.T @ means / count + scatter - scatter @ known.mean(axis=0) @ scatter
        after = after + 1e-9 * np.eye(p)
        change, scatter = float(np.abs(after - scatter).max()), after
        if change < SETTLED * float(np.trace(scatter)):
            break
    return Movement(solved.reshape(p, -1), covariance, scatter, centre, float(free))
