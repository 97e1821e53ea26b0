"""Sweeps from one factorisation against fits one by one, and against the theory of each regime."""

import numpy as np
import pytest

from scalinglab import Spectrum
from scalinglab.errors import BadInput, NotConverged
from scalinglab.simulate import random_features as simulate
from scalinglab.theory import infinite_width, kernel, random_features

SPECTRUM = Spectrum.power_law(1.8, 1.4, n_modes=150)


def table(curves, name="test_loss"):
    """(draws, ridge, D, P)."""
    frame = curves.frame
    shape = [frame[c].nunique() for c in ("seed", "ridge", "n_data", "n_params")]
    return frame[name].to_numpy().reshape(shape)


def feature_pool(rows=120, columns=60, targets=False, seed=0, **kwargs):
    rng = np.random.default_rng(seed)
    features = simulate.relu_features(rng.normal(size=(2 * rows, 6)), columns, seed=1)
    labels = (np.sin(features[:, :1]), np.sin(features[:, :1])) if targets else (None, None)
    pick = [None if v is None else v[half] for v, half in zip(labels, (slice(rows), slice(rows, None)))]
    return simulate.FeaturePool(features[:rows], features[rows:], *pick, **kwargs)


@pytest.mark.parametrize("targets", [False, True])
@pytest.mark.parametrize(
    ("n_data", "n_params"),
    [([3, 10, 20, 40, 100], [20]), ([20], [3, 10, 20, 40, 55]), ([5, 30], [5, 30])],
)
def test_one_factorisation_gives_what_fits_one_by_one_give(n_data, n_params, targets):
    pool = feature_pool(targets=targets)
    curves = simulate.sweep(pool, n_data, n_params, draws=2, seed=4)
    test, train = table(curves), table(curves, "train_loss")
    for i in range(2):
        draw = pool.draw(max(n_data), max(n_params), [[4, i]])
        for a, d in enumerate(n_data):
            for b, p in enumerate(n_params):
                phi, y = draw.train[0, :d, :p], draw.train_targets[0, :d]
                theta = np.linalg.lstsq(phi, y, rcond=None)[0]
                expected = np.mean((draw.test_targets[0] - draw.test[0, :, :p] @ theta) ** 2)
                tolerance = 1e-4 if d == p else 1e-7  # nearly singular
                assert test[i, 0, a, b] == pytest.approx(expected, rel=tolerance)
                assert train[i, 0, a, b] == pytest.approx(
                    np.mean((y - phi @ theta) ** 2), rel=1e-6, abs=1e-10
                )


@pytest.mark.parametrize("size", [(15, 40), (40, 15)])
def test_ridge_path_solves_the_normal_equations(size):
    pool, ridges = feature_pool(targets=True), [1e-4, 0.1, 3.0]
    d, p = size
    found = table(simulate.sweep(pool, d, p, ridge=ridges, draws=1))[0, :, 0, 0]
    draw = pool.draw(d, p, [[0, 0]])
    phi, y = draw.train[0], draw.train_targets[0]
    for ridge, loss in zip(ridges, found):
        theta = np.linalg.solve(phi.T @ phi + p * ridge * np.eye(p), phi.T @ y)
        assert loss == pytest.approx(np.mean((draw.test_targets[0] - draw.test[0] @ theta) ** 2), rel=1e-8)


def test_dependent_features_fall_back_on_the_pseudo_inverse():
    features = np.random.default_rng(0).normal(size=(60, 5)) @ np.random.default_rng(1).normal(size=(5, 20))
    pool = simulate.FeaturePool(features[:30], features[30:])
    found = table(simulate.sweep(pool, [3, 8, 25], 20, draws=2))
    assert found[:, 0, 0].min() > 1e-3
    assert found[:, 0, 1:].max() < 1e-20  # rank 5: eight examples determine everything
    found = table(simulate.sweep(pool, 12, [3, 8, 14, 20], draws=2))
    assert found[:, 0, 0, 1:].max() < 1e-20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_data", "n_params", "ridge", "regime"),
    [
        pytest.param([200, 800], [30], 0.0, "variance-limited in data", marks=pytest.mark.nightly),
        ([30], [200, 800], 0.0, "variance-limited in features"),
        ([10, 40], [1200], 0.0, "resolution-limited in data"),
        pytest.param([1200], [10, 40], 0.0, "resolution-limited in features", marks=pytest.mark.nightly),
        ([30, 90], [60], 0.05, "with a ridge"),
    ],
)
def test_theory_lies_within_the_error_bars_of_simulation_in_each_regime(n_data, n_params, ridge, regime):
    """150 draws: every point within 3.5 standard errors, plus the 1/size correction of Gaussian theory."""
    noise, draws = 0.1, 150
    pool = simulate.GaussianPool(SPECTRUM, noise)
    losses = table(simulate.sweep(pool, n_data, n_params, ridge=ridge, draws=draws, seed=1))[:, 0]
    expected = random_features.learning_curve(
        SPECTRUM, np.array(n_data)[:, None], n_params, ridge, noise
    ).loss
    error = losses.std(0, ddof=1) / np.sqrt(draws)
    small = np.minimum(np.array(n_data)[:, None], n_params)
    assert (error < 0.04 * expected).all()  # the test has power
    assert (np.abs(losses.mean(0) - expected) < 3.5 * error + 0.3 / small * expected).all()


@pytest.mark.slow
def test_excess_loss_in_the_variance_limited_regimes_falls_with_exponent_one():
    """The slope of the simulated excess over the exact limit, from nested draws: 1 within its error."""
    pool = feature_pool(rows=400, columns=40, data="replace", features="replace")
    population = random_features.square_root(pool.train.T @ pool.train / len(pool.train))
    pool = simulate.FeaturePool(pool.train, population, data="replace")
    sizes, draws, fixed, excess = np.array([160, 320, 640]), 300, 8, []
    for i in range(draws):
        draw = pool.draw(sizes[-1], fixed, [[2, i]])
        columns = np.random.default_rng([2, i, 1]).permutation(40)[:fixed]
        projection = np.eye(40)[columns]
        limit = random_features.loss(population, projection=projection)
        trains = [np.linalg.lstsq(draw.train[0, :d], draw.train_targets[0, :d], rcond=None)[0] for d in sizes]
        excess.append([np.mean((draw.test_targets[0] - draw.test[0] @ t) ** 2) - limit for t in trains])
    groups = np.array(excess).reshape(10, -1, 3).mean(1)
    slopes = -np.polyfit(np.log(sizes), np.log(groups).T, 1)[0]
    error = slopes.std(ddof=1) / np.sqrt(len(slopes))
    assert error < 0.05
    assert slopes.mean() == pytest.approx(1, abs=3 * error + 0.06)  # + the 1/D² term at P/D = 1/20


def test_full_features_are_kernel_regression():
    pool = simulate.GaussianPool(SPECTRUM, noise=0.2, all_features=True)
    losses = table(simulate.sweep(pool, [10, 40, 90], SPECTRUM.n_modes, draws=120))[:, 0, :, 0]
    expected = kernel.learning_curve(SPECTRUM, [10, 40, 90], noise=0.2).loss
    error = losses.std(0, ddof=1) / np.sqrt(120)
    assert (np.abs(losses.mean(0) - expected) < 3.5 * error + 0.02 * expected).all()


def test_nested_loss_is_equation_5_for_kernels_and_equation_4_for_features():
    features = simulate.relu_features(np.random.default_rng(0).normal(size=(50, 6)), 40, seed=1)
    gram = features @ features.T / 40
    found = simulate.nested_loss(gram, [5, 20], draws=2, seed=3)
    for i in range(2):
        order = np.random.default_rng([3, i]).permutation(50)
        for j, size in enumerate((5, 20)):
            train, rest = features[order[:size]], features[order[size:]]
            assert found[i, j] == pytest.approx(random_features.loss(rest, train), rel=1e-9)
    second = features.T @ features / 50
    found = simulate.nested_loss(second, [7], seed=3)[0, 0]
    order = np.random.default_rng([3, 0]).permutation(40)
    expected = random_features.loss(features, projection=np.eye(40)[order[:7]])
    assert found == pytest.approx(expected * 40 / 33, rel=1e-9)  # mean over the features not taken


def test_nested_loss_of_given_targets_is_kernel_regression():
    x = np.random.default_rng(0).normal(size=(60, 5))
    y = np.stack([np.sin(x[:, 0]), x[:, 1] ** 2], axis=1)
    matrix = infinite_width.ntk(x, depth=2)
    found = simulate.nested_loss(matrix, [4, 15, 40], targets=y, draws=2, seed=7)
    for i in range(2):
        order = np.random.default_rng([7, i]).permutation(60)
        for j, size in enumerate((4, 15, 40)):
            train, rest = order[:size], order[size:]
            fit = matrix[np.ix_(rest, train)] @ np.linalg.solve(matrix[np.ix_(train, train)], y[train])
            assert found[i, j] == pytest.approx(np.mean(np.sum((fit - y[rest]) ** 2, 1)), rel=1e-8)


def test_relu_features_are_nested_and_have_the_width_asked_for_in_between():
    x = np.random.default_rng(0).normal(size=(4, 5))
    few, many = (simulate.relu_features(x, count, depth=2, width=7, seed=2) for count in (3, 6))
    np.testing.assert_allclose(few, many[:, :3])
    random = np.random.default_rng(2)
    first, last = random.standard_normal((7, 5)), random.standard_normal((6, 7))
    hidden = np.maximum(x @ first.T * np.sqrt(2 / 5), 0)
    np.testing.assert_allclose(many, np.maximum(hidden @ last.T * np.sqrt(2 / 7), 0))


@pytest.mark.slow
def test_relu_features_average_to_half_the_nngp_kernel():
    x = np.random.default_rng(0).normal(size=(4, 5))
    for depth in (1, 2):
        features = simulate.relu_features(x, 20_000, depth=depth, width=2000, seed=2)
        exact = infinite_width.nngp(x, depth=depth) / 2
        np.testing.assert_allclose(features @ features.T / 20_000, exact, atol=0.05 * exact.max())


def test_draws_are_reproducible_nested_and_independent_of_their_number():
    pool = simulate.GaussianPool(SPECTRUM)
    few, many = simulate.sweep(pool, 20, 30, draws=2), simulate.sweep(pool, 20, 30, draws=5)
    np.testing.assert_array_equal(table(few), table(many)[:2])
    small, large = pool.draw(5, 7, [[0, 1]]), pool.draw(9, 11, [[0, 1]])
    np.testing.assert_allclose(small.train[0], large.train[0, :5, :7])


def test_bad_input_is_named():
    with pytest.raises(BadInput, match=r"50 .*20 "):
        simulate.sweep(feature_pool(rows=20), 50, 5)
    with pytest.raises(BadInput, match="ridge"):
        simulate.sweep(feature_pool(), 5, 5, ridge=-1.0)
    with pytest.raises(BadInput, match="n_data = 0 "):
        simulate.sweep(feature_pool(), 0, 5)
    with pytest.raises(NotConverged, match="ridge"):
        simulate.nested_loss(np.ones((4, 4)), [2])
    with pytest.raises(BadInput, match=r"sizes up to 3 .* 3 rows"):
        simulate.nested_loss(np.eye(3), [3])
