"""Random features: the printed expressions, their expansions, the duality, and the average over draws."""

import numpy as np
import pytest

from scalinglab import Spectrum
from scalinglab.errors import BadInput
from scalinglab.theory import dmft, kernel, random_features

RNG = np.random.default_rng
POOL = 12


def relu_pool(points, seed=0):
    """Features of a random one-layer ReLU network: not Gaussian, not centred."""
    weights = RNG(99).normal(size=(5, POOL))
    return np.maximum(RNG(seed).normal(size=(points, 5)) @ weights, 0)


def as_printed_s4(second, train, projection):
    """(S4) with plain inverses, without its factor 1/2."""
    sample = train.T @ train / len(train)
    inverse = np.linalg.inv(projection @ sample @ projection.T)
    student = projection @ second @ projection.T
    left = sample @ projection.T @ inverse
    return np.trace(second + left @ student @ left.T - 2 * left @ projection @ second) / len(second)


def as_printed_s5(population, train, projection):
    """(S5) with plain inverses, without its factor 1/2."""
    pool, size = population.shape[1], len(projection)
    f, f_train = population @ projection.T, train @ projection.T
    inverse = np.linalg.inv(f_train @ f_train.T / size)
    weights = f @ f_train.T / size @ inverse
    full = train @ train.T / pool
    cross = population @ train.T / pool
    own = (population**2).sum(1) / pool
    quadratic = np.einsum("xa,ab,xb->x", weights, full, weights)
    return np.mean(own + quadratic - 2 * np.einsum("xa,xa->x", weights, cross))


def test_loss_is_s4_below_and_s5_above_the_interpolation_threshold():
    population, train, rng = relu_pool(500), relu_pool(9, 1), RNG(2)
    few, many = rng.normal(size=(4, POOL)), rng.normal(size=(11, POOL))
    second = population.T @ population / len(population)
    assert random_features.loss(population, train, few) == pytest.approx(as_printed_s4(second, train, few))
    assert random_features.loss(random_features.square_root(second), train, few) == pytest.approx(
        as_printed_s4(second, train, few)
    )
    assert random_features.loss(population, train, many) == pytest.approx(
        as_printed_s5(population, train, many)
    )


def test_limits_are_equations_4_and_5():
    population, train = relu_pool(500), relu_pool(7, 1)
    projection = RNG(2).normal(size=(5, POOL))
    second = population.T @ population / len(population)
    inverse = np.linalg.inv(projection @ second @ projection.T)
    expected = np.trace(second - second @ projection.T @ inverse @ projection @ second) / POOL
    assert random_features.loss(population, projection=projection) == pytest.approx(expected)
    cross, gram = population @ train.T / POOL, train @ train.T / POOL
    solved = np.linalg.solve(gram, cross.T)
    expected = np.mean((population**2).sum(1) / POOL - np.einsum("xa,ax->x", cross, solved))
    assert random_features.loss(population, train) == pytest.approx(expected)


@pytest.mark.parametrize(("points", "features"), [(6, 10), (10, 6), (8, 8)])
def test_duality_is_exact_draw_by_draw(points, features):
    """Transpose the table of features, exchange training set and projection: the same loss."""
    rng = RNG(3)
    table = relu_pool(20)
    sampling, projection = rng.normal(size=(points, 20)), rng.normal(size=(features, POOL))
    direct = random_features.loss(table, sampling @ table, projection)
    dual = random_features.loss(table.T, projection @ table.T, sampling)
    assert direct == pytest.approx(dual, rel=1e-8)


def test_draws_are_batched():
    population, rng = relu_pool(50), RNG(4)
    train, projection = rng.normal(size=(3, 9, POOL)), rng.normal(size=(3, 5, POOL))
    found = random_features.loss(population, train, projection)
    one_by_one = [random_features.loss(population, t, q) for t, q in zip(train, projection)]
    np.testing.assert_allclose(found, one_by_one)


@pytest.mark.slow
def test_leading_correction_in_data_matches_simulation():
    """D (L(D, P) − L(P)) at D = 400, 800: extrapolated to 1/D → 0 it is (S7); 1500 draws each."""
    population = relu_pool(2000)
    projection = RNG(5).normal(size=(4, POOL))
    limit = random_features.loss(population, projection=projection)
    predicted = random_features.data_correction(population, projection)
    means, errors = [], []
    for size in (400, 800):
        draws = population[RNG(size).integers(2000, size=(1500, size))]
        scaled = size * (random_features.loss(population, draws[:300], projection) - limit)
        for start in range(300, 1500, 300):
            part = draws[start : start + 300]
            scaled = np.append(scaled, size * (random_features.loss(population, part, projection) - limit))
        means.append(scaled.mean())
        errors.append(scaled.std(ddof=1) / np.sqrt(len(scaled)))
    extrapolated, error = 2 * means[1] - means[0], np.hypot(2 * errors[1], errors[0])
    assert error < 0.08 * predicted  # the test has power
    assert extrapolated == pytest.approx(predicted, abs=3 * error)
    gaussian = len(projection) * random_features.loss(population, projection=projection)
    assert abs(predicted - gaussian) > 3 * error  # and tells the fourth moments from Gaussian ones


def test_the_correction_in_data_is_the_mean_of_residual_times_leverage():
    population, projection = relu_pool(300), RNG(2).normal(size=(5, POOL))
    seen = population @ projection.T
    residual = population - seen @ np.linalg.lstsq(seen, population, rcond=None)[0]
    leverage = np.sum(seen @ np.linalg.inv(seen.T @ seen / 300) * seen, axis=1)
    expected = np.mean(np.mean(residual**2, axis=1) * leverage)
    assert random_features.data_correction(population, projection) == pytest.approx(expected)


# --- averaged over draws -------------------------------------------------------------------------------


def closed_forms(spectrum, n_data, n_params, noise):
    """Final loss in its two branches, written with r = 1/κ as for the end of gradient flow."""
    lam, power = spectrum.eigenvalues, spectrum.target_power
    low, high = -60.0, 20.0
    for _ in range(200):
        middle = (low + high) / 2
        above = (lam / (np.exp(middle) + lam)).sum() > min(n_data, n_params)
        low, high = (middle, high) if above else (low, middle)
    r = np.exp(-low)
    once = (power / (1 + lam * r)).sum() + noise**2
    if n_params < n_data:
        return once / (1 - n_params / n_data)
    gamma = ((lam * r / (1 + lam * r)) ** 2).sum() / n_data
    twice = (power / (1 + lam * r) ** 2).sum() + noise**2
    ratio = n_data / n_params
    return twice / (1 - gamma) + once * ratio / (1 - ratio)


@pytest.mark.parametrize("noise", [0.0, 0.4])
@pytest.mark.parametrize(("n_data", "n_params"), [(40, 10), (10, 40), (100, 99), (99, 100), (30, 5000)])
def test_surface_is_the_final_loss_of_gradient_flow(n_data, n_params, noise):
    spectrum = Spectrum.power_law(1.8, 1.3, n_modes=300)
    found = random_features.learning_curve(spectrum, n_data, n_params, noise=noise).loss
    assert found == pytest.approx(closed_forms(spectrum, n_data, n_params, noise), rel=1e-9)


@pytest.mark.parametrize(("n_data", "n_params"), [(40.0, 900.0), (900.0, 40.0)])
@pytest.mark.parametrize("ridge", [0.0, 0.01])
def test_surface_agrees_with_the_stationary_state_of_the_dynamical_theory(n_data, n_params, ridge):
    """Two derivations, two programs; the penalty there is per example."""
    spectrum = Spectrum.power_law(1.8, 1.3, n_modes=10**6)
    found = random_features.learning_curve(spectrum, n_data, n_params, ridge * n_data, 0.3).loss
    other = dmft.final(spectrum, n_params=n_params, n_data=n_data, noise=0.3, ridge=ridge).test_loss
    assert found == pytest.approx(float(other), rel=1e-9)


@pytest.mark.parametrize(
    ("n_data", "n_params", "ridge"),
    [(120, 30, 0.0), (30, 120, 0.3), pytest.param(60, 60, 0.1, marks=pytest.mark.slow)],
)
def test_surface_lies_within_the_error_bars_of_simulation(n_data, n_params, ridge):
    """200 draws of data, projection and noise, in both regimes, with and without a ridge."""
    spectrum, noise, draws = Spectrum.power_law(1.8, 1.3, n_modes=200), 0.3, 200
    lam = spectrum.eigenvalues
    rng = RNG(n_data + n_params)
    weights = np.sqrt(spectrum.target_power / lam)
    losses = []
    for _ in range(draws):
        x = rng.normal(size=(n_data, 200)) * np.sqrt(lam)
        projection = rng.normal(size=(200, n_params)) / np.sqrt(n_params)
        y = x @ weights + noise * rng.normal(size=n_data)
        student = x @ projection
        if ridge:
            gram = student @ student.T + ridge * np.eye(n_data)
            theta = student.T @ np.linalg.solve(gram, y)
        else:
            theta = np.linalg.pinv(student) @ y
        losses.append((lam * (weights - projection @ theta) ** 2).sum() + noise**2)
    error = np.std(losses, ddof=1) / np.sqrt(draws)
    found = random_features.learning_curve(spectrum, n_data, n_params, ridge, noise).loss
    assert error < 0.03 * found
    assert np.mean(losses) == pytest.approx(float(found), abs=3 * error + 0.02 * found)  # 1/size effects


def test_surface_ends_in_kernel_regression_and_in_infinite_data():
    spectrum = Spectrum.power_law(1.8, 1.3, n_modes=10**6)
    n = np.array([3.0, 100.0, 5000.0])
    for ridge in (0.0, 0.5):
        wide = random_features.learning_curve(spectrum, n, np.inf, ridge, 0.2).loss
        np.testing.assert_allclose(wide, kernel.learning_curve(spectrum, n, ridge, 0.2).loss, rtol=1e-10)
    limit = random_features.learning_curve(spectrum, np.inf, n).loss
    np.testing.assert_allclose(random_features.learning_curve(spectrum, 1e15, n).loss, limit, rtol=1e-9)


def test_duality_of_the_average_is_exact_for_constant_weights_only():
    sizes = np.array([5.0, 60.0, 900.0])
    constant = Spectrum.power_law(1.5, 1.5, n_modes=10_000)
    surface = random_features.learning_curve(constant, sizes[:, None], sizes).loss
    np.testing.assert_allclose(surface, surface.T, rtol=1e-10)
    other = random_features.learning_curve(Spectrum.power_law(2.0, 1.5, n_modes=10_000), 5.0, 60.0).loss
    swapped = random_features.learning_curve(Spectrum.power_law(2.0, 1.5, n_modes=10_000), 60.0, 5.0).loss
    assert abs(other / swapped - 1) > 0.05


def test_four_regimes_have_their_exponents():
    """1 for the excess over a limit, α_K for the limits themselves."""
    alpha = 0.6
    spectrum = Spectrum.power_law(1 + alpha, 1 + alpha, n_modes=10**12)
    large, fixed = np.array([1e6, 1e7]), 100.0

    def exponent(loss):
        return -np.diff(np.log(loss))[0] / np.log(10)

    curve = random_features.learning_curve
    in_data = curve(spectrum, large, fixed).loss - curve(spectrum, np.inf, fixed).loss
    in_params = curve(spectrum, fixed, large).loss - curve(spectrum, fixed, np.inf).loss
    assert exponent(in_data) == pytest.approx(1, abs=1e-3)
    assert exponent(in_params) == pytest.approx(1, abs=1e-3)
    assert exponent(curve(spectrum, large / 100, np.inf).loss) == pytest.approx(alpha, abs=1e-3)
    assert exponent(curve(spectrum, np.inf, large / 100).loss) == pytest.approx(alpha, abs=1e-3)


def test_interpolation_threshold_is_infinite_and_bad_input_is_named():
    spectrum = Spectrum.power_law(n_modes=100)
    assert np.isinf(random_features.learning_curve(spectrum, 20, 20).loss)
    assert random_features.learning_curve(spectrum, 200, 100, noise=0.1).loss == pytest.approx(0.02)
    with pytest.raises(BadInput, match="n_params = 0"):
        random_features.learning_curve(spectrum, 5, [3, 0])
    with pytest.raises(BadInput, match=r"5 pool .* 4$"):
        random_features.loss(np.ones((3, 4)), np.ones((2, 5)))
