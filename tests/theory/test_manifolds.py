"""Distances, spectra and exponents on manifolds, against brute force and exact values."""

import itertools

import numpy as np
import pytest

from scalinglab.errors import BadInput
from scalinglab.theory import kernel, manifolds


def test_counts_beyond_64_bits_are_exact():
    """Jacobi: in 8 dimensions r(m) = 16 Σ_{d|m} (−1)^(m+d) d³; 32 dimensions are four times eight."""
    m = 200
    signs = [[(-1) ** (k + d) * d**3 for d in range(1, k + 1) if k % d == 0] for k in range(1, m + 1)]
    eight = [1, *(16 * sum(terms) for terms in signs)]
    product = [1, *[0] * m]
    for _ in range(4):
        product = [sum(product[i] * eight[k - i] for i in range(k + 1)) for k in range(m + 1)]
    found = manifolds.lattice_points(32, m)
    assert max(product) > 2**63
    assert [int(count) for count in found] == product


def test_a_torus_of_many_dimensions_has_a_spectrum_or_is_refused():
    spectrum = manifolds.torus_spectrum(20, 1.0, n_modes=1000)
    values, counts = np.unique(spectrum.eigenvalues, return_counts=True)
    assert counts[::-1].tolist() == [1, 40, 760, 9120]  # 2ᵏ · (20 over k) points with k entries ±1
    np.testing.assert_allclose(values[::-1][1:] / values[-1], np.arange(2, 5) ** -10.5)
    with pytest.raises(BadInput, match="dimension = 500"):
        manifolds.torus_spectrum(500, 1.0, n_modes=10_000_000)


@pytest.mark.parametrize(
    ("manifold", "dimension"),
    [
        ("torus", 1),
        pytest.param("torus", 3, marks=pytest.mark.slow),
        ("sphere", 1),
        pytest.param("sphere", 2, marks=pytest.mark.slow),
        ("sphere", 4),
    ],
)
def test_nearest_distance_matches_drawn_points(manifold, dimension):
    """80 draws, 400 test points each: within 4 standard errors."""
    sizes, draws = (30, 300), 80
    for size in sizes:
        means = []
        for i in range(draws):
            train = manifolds.sample(manifold, dimension, size, [i, 0])
            test = manifolds.sample(manifold, dimension, 400, [i, 1])
            means.append(manifolds.nearest_neighbours(manifold, train, test)[0].mean())
        error = np.std(means, ddof=1) / np.sqrt(draws)
        expected = float(manifolds.nearest_distance(manifold, dimension, size))
        assert error < 0.03 * expected
        assert np.mean(means) == pytest.approx(expected, abs=4 * error)


def test_cube_approaches_its_interior_from_above():
    """Faces push neighbours away by a relative D^(-1/d)."""
    above = []
    for size in (100, 1000, 10_000):
        train, test = manifolds.sample("cube", 2, size, 0), manifolds.sample("cube", 2, 20_000, 1)
        mean = manifolds.nearest_neighbours("cube", train, test)[0].mean()
        above.append(mean / float(manifolds.nearest_distance("cube", 2, size)) - 1)
    assert above[0] > above[1] > above[2] - 0.01
    assert 0 < above[0] < 0.15


def test_distances_fall_with_exponent_one_over_dimension():
    for manifold, d in itertools.product(("torus", "sphere", "cube"), (1, 2, 5, 9)):
        far = manifolds.nearest_distance(manifold, d, [1e6, 1e9])
        assert -np.diff(np.log(far))[0] / np.log(1e3) == pytest.approx(1 / d, rel=1e-2)  # curvature: D^(-2/d)
    assert manifolds.nearest_distance("torus", 1, 9) == pytest.approx(1 / 20, rel=1e-12)  # 1/(2(D+1))


def test_lattice_points_are_counted_as_brute_force_counts_them():
    for d in (1, 2, 3, 4):
        reach = range(-4, 5)
        squares = [sum(c * c for c in n) for n in itertools.product(reach, repeat=d)]
        expected = np.bincount(squares, minlength=17)[:17]  # complete up to 4² = 16
        np.testing.assert_array_equal(manifolds.lattice_points(d, 16), expected)


@pytest.mark.parametrize(("dimension", "smoothness"), [(1, 1.0), (3, 2.0)])
def test_torus_spectrum_has_weyls_exponent_and_the_loss_follows(dimension, smoothness):
    spectrum = manifolds.torus_spectrum(dimension, smoothness, n_modes=120_000)
    alpha = manifolds.exponents(dimension, smoothness).kernel
    tail = spectrum.tail_exponent(window=(1000, 100_000))
    assert tail.value == pytest.approx(1 + alpha, abs=0.02)
    loss = kernel.learning_curve(spectrum, [1000, 4000]).loss
    assert -np.diff(np.log(loss))[0] / np.log(4) == pytest.approx(alpha, abs=0.06 * max(alpha, 1))


@pytest.mark.slow
def test_kernel_regression_on_the_circle_has_the_exponent_of_its_spectrum():
    """Plane waves fitted at random points of the circle, 100 draws: exponent t/d = 1, and the level.

    Waves in one dimension are far from Gaussian features. With λ_k ~ k^-2 the fit is a chain of Brownian
    bridges between neighbours at exponential distances, so that the loss is 4/3 of the replica curve.
    """
    spectrum = manifolds.torus_spectrum(1, 1.0, n_modes=20_001)
    grid = 2**16
    coefficients = np.zeros(grid)
    coefficients[np.r_[0, np.repeat(np.arange(1, 10_001), 2) * np.tile([1, -1], 10_000)]] = (
        spectrum.eigenvalues
    )
    row = np.fft.fft(coefficients).real  # K(x) on the grid
    sizes, losses, rng = np.array([50, 100, 200]), [], np.random.default_rng(0)
    for _ in range(100):
        train, test = rng.choice(grid, sizes[-1], replace=False), rng.choice(grid, 300)
        factor = np.linalg.cholesky(row[(train[:, None] - train) % grid])
        explained = np.cumsum(np.linalg.solve(factor, row[(train[:, None] - test) % grid]) ** 2, axis=0)
        losses.append(row[0] - explained[sizes - 1].mean(1))
    slopes = -np.polyfit(np.log(sizes), np.log(losses).T, 1)[0]
    error = slopes.std(ddof=1) / 10
    assert error < 0.03
    assert slopes.mean() == pytest.approx(1, abs=3 * error + 0.03)
    ratio = np.mean(losses, 0)[-1] / kernel.learning_curve(spectrum, 200).loss
    assert ratio == pytest.approx(4 / 3, rel=0.06)


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "manifold"), [(2, "sphere"), (3, "torus"), (4, "cube")])
def test_theorems_1_and_2_are_met_by_nearest_neighbours(dimension, manifold):
    """A Lipschitz loss falls with 1/d, the squared error with 2/d; never slower than the bound allows."""
    sizes = np.array([250, 500, 1000, 2000])

    def target(points):
        return np.sin(2 * np.pi * points[:, 0]) + 0.5 * np.cos(2 * np.pi * points[:, -1])

    for power, name in ((1.0, "lipschitz"), (2.0, "constant")):
        losses = manifolds.interpolation_losses(manifold, dimension, sizes, target, power=power, draws=20)
        slopes = -np.polyfit(np.log(sizes), np.log(losses).T, 1)[0]
        error = slopes.std(ddof=1) / np.sqrt(len(slopes))
        expected = getattr(manifolds.exponents(dimension), name)
        assert error < 0.1 * expected
        assert slopes.mean() == pytest.approx(expected, abs=3 * error + 0.12 * expected)


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="'sphere'"):
        manifolds.sample("spere", 2, 3)
    with pytest.raises(BadInput, match="dimension = 0"):
        manifolds.nearest_distance("cube", 0, 10)
    with pytest.raises(BadInput, match="t > 0"):
        manifolds.torus_spectrum(2, 0.0)


@pytest.mark.parametrize(
    ("manifold", "n_data", "expected"),
    # by mpmath with 30 digits: ∫ (1 − V(r))^D dr, V a cap or a ball of 400 dimensions
    [("sphere", 10, 1.49386608339653270), ("sphere", 10**6, 1.32870798579700889),
     ("torus", 10, 4.84718169007739569), ("torus", 10**6, 4.71023755195072571)],
)  # fmt: skip
def test_nearest_distance_in_many_dimensions(manifold, n_data, expected):
    assert manifolds.nearest_distance(manifold, 400, n_data) == pytest.approx(expected, rel=1e-9)
    assert np.isfinite(manifolds.nearest_distance(manifold, 100_000, n_data))
