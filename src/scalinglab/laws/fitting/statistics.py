"""The statistics that fits need: a robust scale, an average over noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from scalinglab.laws.weighing import shares
from scalinglab.results.distributions import Mixture, Student, median_scale

# measured: benchmarks/extrapolation.py --cuts and benchmarks/coverage.py --curves, on both sides of it, and
# rows "offset, 7 sizes" and "8 sizes"; n − p from which on residuals tell the noise of a curve, by which the
# threshold of a robust fit is set, and how it depends on size
FEWEST_LEFT = 5
# judged: `benchmarks/chosen.py ahead`: intervals of public curves whose ends differ by more hold all measured
# values, which are 1.3 to 1.5 times off: they say little, and nothing wrong. A prediction may be off by this
# factor to either side; intervals of a larger ratio are shown without a value, and no run is proposed
# farther off the best size: one √10 off costs 1.6 times the compute, with the exponents of Chinchilla's runs
WIDE = 10.0


def f_pvalue(explained: float, columns: int, left: float, dof: int) -> float:
    """Of squares that so many columns explain, beside those that are left with `dof` degrees of freedom."""
    return float(special.fdtrc(columns, dof, max(explained / columns / (left / dof), 0.0)))


def rmsle(errors: Any, weight: Any = None) -> float:
    """√mean (ln ŷ − ln y)² of errors ln ŷ − ln y."""
    return float(np.sqrt(np.average(np.square(errors), weights=weight)))


def robust_scale(r: np.ndarray, count: int) -> float:
    """`median_scale`, corrected for the parameters that were fitted."""
    correction = np.sqrt(len(r) / max(len(r) - count, 1))
    # the median of few residuals is fragile; half the standard deviation keeps it from collapsing
    return float(max(median_scale(r), 0.5 * np.sqrt(np.mean(r**2))) * correction)


# --- noise that is neither independent nor of one size --------------------------------------------------

# measured: benchmarks/coverage.py --sets 200 --first 70000, each halved and doubled (tools/constants.py
# --change): the priors of the average, and what 95 % intervals hold at the end or beyond
CORRELATIONS = 8  # search: between neighbours that are tried
LONGEST_MEMORY = 4.0  # of the noise, over the range of the points; "offset, 24 sizes, AR(1)" 88, 89, 92 %
MOST_UNEVEN = 7.5  # largest ln of the ratio of the noise at the two ends; 5 sizes 92, 94, 94 %
NOISE_EXPONENTS = np.linspace(-1, 1, 17)  # search: over the steepest; Jeffreys' prior of γ is flat, cut here
# below `FEWEST_LEFT` γ counts as Gaussian with this standard deviation, over the steepest; "one variable, 5
# sizes" 96, 98, 99 %
USUAL_NOISE = 0.4
HUBER = 2.0  # threshold in standard deviations; "offset, 12 sizes, noise that grows" 84, 94, 95 %
ROUNDS = 20  # search: of reweighting
NEGLIGIBLE = 1e-4  # search: share of the average below which a noise model is left out


@dataclass(frozen=True)
class NoiseAverage:
    """A linear model y = Jβ + ε, averaged over what its noise may be.

    ε_i = σ x_i^γ u_i with u autoregressive along the curve, correlation ρ between neighbours. At every (ρ, γ)
    generalised least squares gives β a Student distribution with n − p degrees of freedom (flat prior of β,
    1/σ of σ), and the points the marginal likelihood

        |Ω|^(−1/2) |JᵀΩ⁻¹J|^(−1/2) S^(−(n−p)/2),    S = rᵀΩ⁻¹r at the optimum,

    the restricted likelihood of Patterson and Thompson (1971), by which the distributions are averaged. Where
    the fit is robust, Huber's estimates of β and of σ² = S/(n−p) take the place of least squares.

    Priors are Jeffreys' within limits. γ: flat to |γ| = min(steepest, 7.5/range of ln x), but Gaussian with
    fewer than five degrees of freedom. ρ: 1/√(1 − ρ²) over ρ > 0; negative correlation is left out. Whether ρ
    is averaged over at all is decided before, in `diagnostics` by a test at p < 0.2.

    Attributes:
        shift: (k, p) the estimate of β at each noise model.
        root: (k, p, p), the covariance of β is root · rootᵀ.
        sigma: (k,) σ of each.
        weight: (k,) of each, summing to 1.
        design: (k,) which of the designs each belongs to.
        correlation, noise_exponent: (k,) ρ and γ of each.
        ratio: (k,) variance of what runs share over that of their own noise (`shared_errors`).
        dof: n − p.
        centre: mean of ln x, where the noise is σ.
        evidence: logarithm of the density of y, averaged over noise; a flat prior of β leaves a constant.
    """

    shift: np.ndarray
    root: np.ndarray
    sigma: np.ndarray
    weight: np.ndarray
    design: np.ndarray
    correlation: np.ndarray
    noise_exponent: np.ndarray
    ratio: np.ndarray
    dof: int
    centre: float
    evidence: float

    @property
    def mean_correlation(self) -> float:
        """ρ, averaged."""
        return float(self.weight @ self.correlation)

    @property
    def mean_noise_exponent(self) -> float:
        """γ, averaged."""
        return float(self.weight @ self.noise_exponent)

    def known(self, gradient: np.ndarray, log_x: np.ndarray | None = None, block: float = 1.0) -> Mixture:
        """The distribution of each g·β, or of a measurement of it.

        Args:
            gradient: (designs, quantities, p) each g.
            log_x: (quantities,) ln x of the measurement; by default β's own uncertainty alone counts.
            block: how many measurements each y is the mean of, where one is asked for.
        """
        rows = gradient[self.design]  # (k, quantities, p)
        middle = np.einsum("kqp,kp->kq", rows, self.shift)
        variance = np.sum((rows @ self.root) ** 2, axis=-1)
        if log_x is not None:
            noise = np.exp(self.noise_exponent[:, None] * (log_x - self.centre))
            own_and_shared = 1 + self.ratio[:, None]
            variance = variance + block * own_and_shared * (self.sigma[:, None] * noise) ** 2
        spread = np.maximum(np.sqrt(variance), 1e-300)
        return Mixture(Student(middle, spread, self.dof), self.weight)


def average_over_noise(
    designs: np.ndarray,
    y: np.ndarray,
    log_x: np.ndarray,
    *,
    correlated: bool,
    steepest: float,
    robust: bool = False,
    share: np.ndarray | None = None,
) -> NoiseAverage:
    """Fit a linear model under every noise model, and with every one of several designs.

    Args:
        designs: (designs, n, p) each J, of full rank; with several the average runs over these, too.
        y: (n,).
        log_x: (n,) ascending.
        correlated: whether neighbours may be correlated.
        steepest: largest |γ|; 0 where the noise does not depend on x.
        robust: whether large residuals count linearly, as in a fit with Huber's loss.
        share: (designs,) prior of each design; equal by default.
    """
    centre, span = float(log_x.mean()), max(float(np.ptp(log_x)), 1e-12)
    n, p = designs.shape[1:]
    dof, steepest = n - p, min(steepest, MOST_UNEVEN / span)
    sizes = steepest * NOISE_EXPONENTS if steepest else np.zeros(1)
    rhos = correlations(n) if correlated else np.zeros(1)
    which, rho, gamma = (v.ravel() for v in np.meshgrid(np.arange(len(designs)), rhos, sizes, indexing="ij"))
    prior = np.ones(len(which)) if share is None else share[which]
    if steepest and dof < FEWEST_LEFT:
        prior = prior * np.exp(-0.5 * (gamma / (USUAL_NOISE * steepest)) ** 2)
    noise = np.exp(gamma[:, None] * (log_x - centre))  # (k, n)
    white = _whitened(designs[which] / noise[..., None], rho)
    target = _whitened((y / noise)[..., None], rho)[..., 0]
    size = np.log(noise).sum(axis=1) + (n - 1) / 2 * np.log(1 - rho**2)
    return average_of(
        white, target, np.log(prior) - size, robust=robust, design=which, correlation=rho,
        noise_exponent=gamma, centre=centre,
    )  # fmt: skip


def average_of(
    white: np.ndarray,
    target: np.ndarray,
    prior: np.ndarray,
    *,
    robust: bool,
    design: np.ndarray | None = None,
    correlation: np.ndarray | None = None,
    noise_exponent: np.ndarray | None = None,
    ratio: np.ndarray | None = None,
    centre: float = 0.0,
) -> NoiseAverage:
    """The average of linear models of which each was divided by the root of its Ω.

    Args:
        white: (k, n, p) each Ω^(−1/2) J.
        target: (k, n) each Ω^(−1/2) y.
        prior: (k,) logarithm of the prior of each over |Ω|^(1/2).
        robust: as in `average_over_noise`.
        design, correlation, noise_exponent, ratio, centre: those of `NoiseAverage`; by default 0.
    """
    n, p = white.shape[1:]
    dof, zeros = n - p, np.zeros(len(white))
    # the product of the diagonal of r is |JᵀΩ⁻¹J|^(1/2)
    shift, sigma, variance, r = huber_fits(white, target, HUBER if robust else np.inf)
    likelihood = prior - np.log(np.abs(np.einsum("kpp->kp", r))).sum(axis=1) - dof * np.log(sigma)
    evidence = special.logsumexp(likelihood) + special.gammaln(dof / 2) - dof / 2 * np.log(np.pi * dof)
    weight = shares(likelihood, NEGLIGIBLE / len(likelihood))
    kept = weight > 0
    root = np.linalg.inv(r) * np.sqrt(variance)[:, None, None]
    which, rho, gamma, shared = (
        (zeros if part is None else part)[kept] for part in (design, correlation, noise_exponent, ratio)
    )
    return NoiseAverage(
        shift[kept], root[kept], sigma[kept], weight[kept], which.astype(int), rho,
        gamma, shared, dof, centre, float(evidence),
    )  # fmt: skip


def correlations(n: int) -> np.ndarray:
    """(`CORRELATIONS`,) of neighbours among n points, each of the same prior weight.

    Even in arcsin ρ, which is Jeffreys' prior of an autoregression, 1/√(1 − ρ²), up to a memory of
    `LONGEST_MEMORY` times the range of the points: noise with a longer one is not told from the law.
    """
    most = np.arcsin(np.exp(-1 / (LONGEST_MEMORY * (n - 1))))
    return np.asarray(np.sin(most * (np.arange(CORRELATIONS) + 0.5) / CORRELATIONS))


def huber_fits(
    design: np.ndarray, y: np.ndarray, threshold: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Least squares, or Huber's estimate with its scale (his Proposal 2), of many linear models at once.

    Args:
        design: (k, n, p).
        y: (k, n).
        threshold: in standard deviations.

    Returns:
        β (k, p), σ (k,), (k,) what (JᵀJ)⁻¹ is multiplied by in the covariance of β, R (k, p, p) of J = QR.
    """
    n, p = design.shape[1:]
    q, r = np.linalg.qr(design)  # once: in its basis the weighted normal equations are well conditioned
    across, weight = q.transpose(0, 2, 1), np.ones_like(y)
    for _ in range(ROUNDS if np.isfinite(threshold) else 1):
        weighted = across * weight[:, None]
        beta = np.linalg.solve(weighted @ q, weighted @ y[..., None])
        rest = y - (q @ beta)[..., 0]
        sigma = np.sqrt(np.sum((weight * rest) ** 2, axis=1) / (n - p) / clipped_mean_square(threshold))
        sigma = np.maximum(sigma, 1e-150)
        ratio = np.abs(rest) / sigma[:, None]
        weight = np.minimum(1.0, threshold / np.maximum(ratio, 1e-300))
    # Huber's variance is σ² E ψ²/(E ψ′)², and ψ′ is 1 where a residual is not cut, 0 else
    within = np.maximum(np.mean(ratio <= threshold, axis=1), 0.5)
    clipped = np.sum(np.minimum(ratio, threshold) ** 2, axis=1) / (n - p)
    return np.linalg.solve(r, beta)[..., 0], sigma, sigma**2 * clipped / within**2, r


def clipped_mean_square(threshold: float) -> float:
    """E ψ(z)² of a standard normal z, ψ cutting at ± threshold."""
    if not np.isfinite(threshold):
        return 1.0
    tail = float(special.ndtr(-threshold))
    density = float(np.exp(-(threshold**2) / 2) / np.sqrt(2 * np.pi))
    return 1 - 2 * tail - 2 * threshold * density + 2 * threshold**2 * tail


def _whitened(values: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """(k, n, …) values without the correlation ρ^|i−j| of their rows."""
    r = rho[:, None, None]
    later = (values[:, 1:] - r * values[:, :-1]) / np.sqrt(1 - r**2)
    return np.concatenate([values[:, :1], later], axis=1)
