r"""Random feature models: the loss of a student with P features trained on D examples of a linear teacher.

A pool of S features F_M(x) makes the teacher, F(x) = Σ ω_M F_M(x) with ω ~ N(0, 1/S); the student sees P
combinations f = 𝒫F of them at D training points and is trained to convergence by least squares
(bahri2021, sections 2.3 and D). Two levels of answer:

**Exact, for given features, projection and training set.** `loss` evaluates

    L = mean over x, M of ( F(x) − f(x) Φ⁺ F̄ )_M²,      Φ = F̄ 𝒫ᵀ,   F̄ the features of the training set,

which is (S4) read along the features and (S5) read along the data; infinite data gives (4), all features
give (5). `data_correction` is the coefficient of 1/D (S7).
The expression is symmetric under transposing the table F_M(x) and exchanging training set and projection:
that is the duality of data and features, exact for this teacher.

**Averaged over Gaussian data and projections**, `learning_curve` gives L(D, P) from the spectrum alone, for
any target, ridge and noise (the static limit of bordelon2024, App. C): with s_k = λ_k/(κ + λ_k),
z = Σ s_k, q = Σ s_k² and κ(1 − z/P)(D − z) = ridge,

    L = [ Σ λ_k w_k² (1−s_k)(1 − s_k (P−z)/(P−q)) + σ² ] / (1 − (q (P−2z) + z²)/(D (P−q))).

All losses are mean squared errors, without the factor 1/2 of bahri2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import at_most, checked, together
from scalinglab.theory.kernel import effective_ridge, increasing_root, n_modes, shares

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from scalinglab.curves import Curves

# --- exact, for given features -------------------------------------------------------------------------


@checked
def loss(
    population: np.ndarray, train: np.ndarray | None = None, projection: np.ndarray | None = None
) -> np.ndarray:
    """The exact test loss, averaged over teachers: (S4) = (S5), and their limits (4) and (5).

    Args:
        population: pool features F_M(x) at the test points, shape (n, S); for a known second moment matrix
            `square_root(second_moment)`.
        train: pool features at the training points, shape (..., D, S); None for infinite data, (4).
        projection: 𝒫, shape (..., P, S); None for a student with all features of the pool, (5).

    Returns:
        The loss, shape (...): leading axes of `train` and `projection` are draws and broadcast.
    """
    table = _table(population)
    data = table if train is None else np.asarray(train, float)
    for name, array in (("train", data), ("projection", projection)):
        if array is not None and np.shape(array)[-1] != table.shape[1]:
            raise BadInput(f"{name} has {np.shape(array)[-1]} pool features, the population {table.shape[1]}")
    student, seen = table, data
    if projection is not None:
        mixing = np.swapaxes(np.asarray(projection, float), -1, -2)
        student, seen = table @ mixing, data @ mixing
    fitted = student @ (np.linalg.pinv(seen) @ data)
    return np.mean((table - fitted) ** 2, axis=(-1, -2))


@checked
def square_root(second_moment: np.ndarray) -> np.ndarray:
    """A population of S points with the given second moment matrix 𝒞 = E[F Fᵀ], shape (S, S)."""
    values, vectors = np.linalg.eigh(second_moment)
    return np.sqrt(len(values)) * (np.sqrt(np.maximum(values, 0))[:, None] * vectors.T)


@checked
def data_correction(population: np.ndarray, projection: np.ndarray) -> float:
    """The coefficient c of L(D, P) = L(P) + c/D + O(1/D²), eq. (S7), training points from the population.

    With the residual R = F − f·(best coefficients) at a point and the leverage fᵀ C⁻¹ f of that point, c is
    the mean of |R|²/S times the leverage: (S7) in one line. For Gaussian features the two are independent
    and c = P·L(P).

    Args:
        population: pool features at the test points, shape (n, S).
        projection: 𝒫, shape (P, S).
    """
    table = _table(population)
    left, values, _ = np.linalg.svd(table @ np.asarray(projection, float).T, full_matrices=False)
    # directions that are round-off would count as resolved; the limit is that of `matrix_rank`
    left = left[:, values > values[0] * len(table) * np.finfo(float).eps]
    residual = np.mean((table - left @ (left.T @ table)) ** 2, axis=1)
    leverage = len(table) * np.einsum("ij,ij->i", left, left)
    return float(np.mean(residual * leverage))


def _table(features: np.ndarray) -> np.ndarray:
    table = np.asarray(features, float)
    if table.ndim != 2:
        raise BadInput(f"features of shape {table.shape} must be a table (points, pool features)")
    return table


# --- averaged over Gaussian data and projections -------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LearningSurface:
    """L(D, P) for each pair of sizes; every array has the shape of the broadcast inputs.

    Attributes:
        spectrum: what was solved.
        n_data: number of training examples D, `inf` for the whole population.
        n_params: number of random features P, `inf` for kernel regression.
        ridge: added to the diagonal of the kernel matrix Φ Φᵀ/P.
        noise: standard deviation σ of the labels' noise.
        loss: mean squared error on noisy test labels.
        kappa: κ, the eigenvalue down to which modes are resolved.
    """

    spectrum: Spectrum
    n_data: np.ndarray
    n_params: np.ndarray
    ridge: np.ndarray
    noise: np.ndarray
    loss: np.ndarray
    kappa: np.ndarray

    def curves(self) -> Curves:
        """A table of curves, one row for each pair of sizes."""
        from scalinglab.curves import Curves

        names = ("n_data", "n_params", "ridge", "noise", "kappa")
        table = {name: np.ravel(getattr(self, name)) for name in names}
        return Curves(
            {"model": "random features", **table, "test_loss": np.ravel(self.loss)}, source="theory"
        )


@checked
def learning_curve(
    spectrum: Spectrum,
    n_data: ArrayLike,
    n_params: ArrayLike = np.inf,
    ridge: ArrayLike = 0.0,
    noise: ArrayLike = 0.0,
) -> LearningSurface:
    """The loss of ridge regression on P random features, averaged over Gaussian data and projections.

    Args:
        spectrum: eigenvalues of the pool's second moment matrix and the target's power in each.
        n_data: number of training examples D > 0, or `inf`.
        n_params: number of random features P > 0, or `inf`; at D = P without a ridge the loss is infinite.
        ridge: added to the diagonal of Φ Φᵀ/P, not multiplied by D.
        noise: standard deviation of the noise on the labels.

    >>> surface = learning_curve(Spectrum.power_law(1.5, 1.5), [100, 400], [400, 100])
    >>> bool(np.isclose(*surface.loss, rtol=1e-12))  # the duality, exact for constant w²
    True
    """
    n, p, lam, sigma = together(n_data=n_data, n_params=n_params, ridge=ridge, noise=noise)
    at_most(ridge=lam, noise=sigma)
    for name, values, rule in (
        ("n_data", n, n > 0),
        ("n_params", p, p > 0),
        ("ridge", lam, (lam >= 0) & np.isfinite(lam)),
        ("noise", sigma, (sigma >= 0) & np.isfinite(sigma)),
    ):
        if not rule.all():
            raise BadInput(
                f"{name} = {values[~rule].flat[0]}: sizes must be positive, ridge and noise 0 or more"
            )
    found, kappa = _surface(spectrum, *(np.ravel(v) for v in (n, p, lam, sigma)))
    return LearningSurface(spectrum, n, p, lam, sigma, found.reshape(n.shape), kappa.reshape(n.shape))


def _surface(
    spectrum: Spectrum, n: np.ndarray, p: np.ndarray, ridge: np.ndarray, sigma: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    nodes = spectrum.nodes()
    modes = n_modes(nodes)
    size = np.minimum(np.minimum(n, p), 2 * modes)  # infinite sizes behave as any above the number of modes
    kappa = effective_ridge(nodes, size, np.zeros_like(size))
    ridged = (ridge > 0) & np.isfinite(n)
    if ridged.any():
        kappa[ridged] = _with_ridge(spectrum, n[ridged], p[ridged], ridge[ridged], kappa[ridged])

    resolved, kept = shares(nodes, kappa)
    variance = (resolved * kept) @ nodes.count  # v = z − q
    z = np.where(ridged, resolved @ nodes.count, np.minimum(size, modes))
    # data and features to spare, D − z and P − z in units of D and P; exactly zero where one of them binds
    spare_data, spare_params = 1 - z / n, 1 - z / p
    with np.errstate(divide="ignore", invalid="ignore"):
        free_params = spare_params + variance / p  # 1 − q/P
        mixing = np.where(variance > 0, (variance / p) / free_params, 0.0)
        unlearned = np.einsum("ij,j->i", kept * (kept + resolved * mixing[:, None]), nodes.power)
        whole = kappa == 0  # every mode is resolved
        free_data = np.where(whole, spare_data, spare_data + (variance / n) * spare_params / free_params)
        found = (unlearned + sigma**2) / free_data
    # the pole at D = P is not left to how the zero below it is rounded
    found[(n == p) & ~ridged & ~whole] = np.inf
    infinite = np.isinf(n)
    found[infinite] = unlearned[infinite] + sigma[infinite] ** 2
    return found, kappa


def _with_ridge(
    spectrum: Spectrum, n: np.ndarray, p: np.ndarray, ridge: np.ndarray, least: np.ndarray
) -> np.ndarray:
    """κ above `least` with κ (1 − z/P)(D − z) = ridge."""
    nodes = spectrum.nodes()

    def excess(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kappa = np.exp(u)
        resolved, kept = shares(nodes, kappa)
        z, variance = resolved @ nodes.count, (resolved * kept) @ nodes.count
        with np.errstate(divide="ignore", invalid="ignore"):
            value = u + np.log(np.maximum(1 - z / p, 0)) + np.log(np.maximum(n - z, 0)) - np.log(ridge)
            return value, 1 + variance / (p - z) + variance / (n - z)

    # (1 − z/P)(D − z) ≤ D, so that κ ≥ ridge/D; `least` is 0 where every mode can be resolved
    low = np.log(np.maximum(least, 1e-3 * ridge / n))
    high = np.maximum(low, np.log(ridge / n)) + 1
    while (short := excess(high)[0] < 0).any():
        high = np.where(short, high + 2, high)
    return np.exp(increasing_root(excess, low, high, high))
