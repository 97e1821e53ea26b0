"""Margin densities: normalised, consistent with their distribution functions, and Gardner's limits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, special

import scalinglab as sl
from scalinglab.errors import BadInput
from tests.theory import perceptron_reference as reference

p = sl.theory.perceptron


def integrate_density(density, distribution, power=0):
    """∫ Δᵏ P(Δ) dΔ by adaptive quadrature, cut at quantiles so that no peak is missed."""
    shares = (1e-14, 1e-8, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-4, 1 - 1e-8)
    cuts = np.unique([-9.0, *distribution.quantile(shares), 9.0 + float(distribution.stability)])
    return sum(
        integrate.quad(lambda d: density(d) * d**power, a, b, epsabs=1e-13, epsrel=1e-11, limit=300)[0]
        for a, b in pairwise(cuts)
    )


CASES = [(0.2, 0.05), (0.4, 3.0), (1.5, 100.0), (0.7, 1e4)]


@pytest.mark.parametrize(("load", "sharpness"), CASES)
def test_storage_density_is_normalised_with_the_stated_mean(load, sharpness):
    distribution = p.storage_margin_distribution(load, sharpness)
    assert integrate_density(distribution.density, distribution) == pytest.approx(1, abs=1e-8)
    assert integrate_density(distribution.density, distribution, 1) == pytest.approx(
        distribution.mean, abs=1e-8
    )


@pytest.mark.parametrize(("load", "sharpness"), [(0.2, 0.05), (5.0, 3.0), (100.0, 88.0), (1e3, 1e4)])
def test_teacher_density_is_normalised_with_the_stated_mean(load, sharpness):
    distribution = p.margin_distribution(load, sharpness)
    assert integrate_density(distribution.density, distribution) == pytest.approx(1, abs=1e-8)
    assert integrate_density(distribution.density, distribution, 1) == pytest.approx(
        distribution.mean, abs=1e-8
    )


def test_quantiles_invert_the_integral_of_the_density():
    distribution = p.margin_distribution(5.0, 2.0)
    for share in (0.01, 0.5, 0.95):
        quantile = float(distribution.quantile(share))
        below = integrate.quad(distribution.density, -8, quantile, epsabs=1e-12, points=[0, 0.2])[0]
        assert below == pytest.approx(share, abs=1e-9)


@pytest.mark.slow
def test_density_matches_sampled_cavity_fields_pushed_through_the_proximal_map():
    load, sharpness = 3.0, 1.5
    found = p.fixed_norm(load, sharpness)
    rng = np.random.default_rng(0)
    # a skew normal: |teacher field| along the overlap, the rest independent
    r = float(found.overlap)
    fields = r * np.abs(rng.normal(size=20_000)) + np.sqrt(1 - r * r) * rng.normal(size=20_000)
    margins = np.array([t + reference.pull(t, float(found.log_x), sharpness) for t in fields])
    distribution = p.margin_distribution(load, sharpness)
    assert abs(margins.mean() - distribution.mean) < 4 * margins.std() / np.sqrt(len(margins))
    uniform = np.sort(distribution.cumulative(margins))
    distance = np.max(np.abs(uniform - (np.arange(len(uniform)) + 0.5) / len(uniform)))
    assert distance < 1.95 / np.sqrt(len(uniform))  # Kolmogorov–Smirnov at 0.1 %
    loss = np.log1p(np.exp(-2 * sharpness * margins)) / sharpness
    assert abs(loss.mean() - distribution.train_loss) < 4 * loss.std() / np.sqrt(len(loss))
    wrong = np.mean(margins < 0)
    assert abs(wrong - distribution.train_error) < 4 * np.sqrt(wrong / len(margins))


def test_storage_stability_solves_gardners_equation():
    loads = np.array([0.05, 0.4, 1.0, 1.9])
    for load, kappa in zip(loads, p.storage_stability(loads)):
        bell = np.exp(-kappa * kappa / 2) / np.sqrt(2 * np.pi)
        needed = (1 + kappa**2) * special.ndtr(kappa) + kappa * bell  # ∫Dt (κ−t)₊², closed form
        assert load * needed == pytest.approx(1, rel=1e-10)


def test_sharp_loss_piles_the_smallest_margins_up_at_the_gardner_stability():
    distribution = p.storage_margin_distribution(0.4, 1e6)
    kappa = float(p.storage_stability(0.4))
    assert distribution.quantile(0.01) == pytest.approx(kappa, abs=1e-4)
    assert distribution.quantile(special.ndtr(kappa) - 0.01) == pytest.approx(kappa, abs=1e-4)


def test_storage_is_the_zero_overlap_equation_solved_by_adaptive_quadrature():
    load, sharpness = 0.4, 2.0
    m = float(p.storage_margin_distribution(load, sharpness).stability)
    log_x = np.log(m / 2) + np.logaddexp(0, 2 * sharpness * m)
    square = integrate.quad(
        lambda t: np.exp(-t * t / 2) * reference.pull(t, log_x, sharpness) ** 2,
        -9,
        9,
        points=[0, m],
        epsabs=1e-13,
    )[0]
    assert load * square / np.sqrt(2 * np.pi) == pytest.approx(1, rel=1e-9)


def test_density_broadcasts_margins_against_settings():
    margins = np.linspace(-1, 3, 7)[:, None]
    density = p.margin_distribution(5.0, np.array([0.0, 1.0, 1e4])).density(margins)
    assert density.shape == (7, 3)
    assert np.all(np.isfinite(density))
    far = p.storage_margin_distribution(0.4, 1e4).density([-1e6, 1e6])
    np.testing.assert_array_equal(far, 0.0)


def test_storage_beyond_capacity_and_infinite_sharpness_are_refused():
    with pytest.raises(BadInput, match="load=2"):
        p.storage_margin_distribution(2.0, 1.0)
    for sharpness in (np.inf, 1e12):
        with pytest.raises(BadInput, match="no density"):
            p.margin_distribution(5.0, sharpness).density(0.0)
