"""Trained features against every weight integrated, the lazy solver, and exponents of hard and easy tasks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from scalinglab.errors import BadInput
from scalinglab.simulate import feature_learning as simulated
from scalinglab.spectrum import Spectrum
from scalinglab.theory import dmft, feature_learning, one_pass
from scalinglab.theory.dmft.modes import modes

HARD = Spectrum.power_law(1.45, 1.5, 60)


@pytest.mark.parametrize("richness", [0.3, 3.0])
def test_one_function_replaces_all_weights(richness: float) -> None:
    times = np.array([0, 0.5, 3, 20, 60.0])
    drawn = simulated.train(HARD, times, richness, 12, draws=1, seed=4).frame["test_loss"].to_numpy()
    features = one_pass.drawn_modes(HARD, 12, 4)
    found = feature_learning.solve(HARD, times, richness, 12, features=features).test_loss
    np.testing.assert_allclose(found, drawn, rtol=2e-4)


@pytest.mark.slow
def test_draws_scatter_about_the_solution() -> None:
    times = np.array([1, 5, 25.0])
    mean = simulated.train(HARD, times, 1.0, 48, draws=40).average("seed").frame.sort_values("time")
    found = feature_learning.solve(HARD, times, 1.0, 48).test_loss
    error = mean["test_loss_stderr"].to_numpy()
    assert np.all(error < 0.05 * found)
    # finite systems differ from the mean field by about 1/N
    assert np.all(np.abs(mean["test_loss"].to_numpy() - found) < 4 * error + found / 48)


def test_on_data_without_richness_it_is_the_lazy_model() -> None:
    times = np.array([0, 1, 30, 1e4])
    for n_params, n_data, noise in ((np.inf, 100, 0.0), (40, 100, 0.3), (40, 30, 0.3)):
        expected = dmft.solve(HARD, times, n_params, n_data, noise)
        found = feature_learning.solve(HARD, times, 0.0, n_params, n_data, noise)
        np.testing.assert_allclose(found.test_loss, expected.test_loss, rtol=1e-8)
        np.testing.assert_allclose(found.train_loss, expected.train_loss, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_draws_of_examples_scatter_about_the_solution() -> None:
    times = np.array([1, 5, 25.0])
    mean = simulated.train(HARD, times, 1.0, 40, 80, 0.3, draws=20).average("seed").frame.sort_values("time")
    found = feature_learning.solve(HARD, times, 1.0, 40, 80, 0.3)
    error = mean["test_loss_stderr"].to_numpy()
    assert np.all(error < 0.1 * found.test_loss)
    assert np.all(np.abs(mean["test_loss"].to_numpy() - found.test_loss) < 4 * error + found.test_loss / 40)
    assert found.train_loss[-1] < found.test_loss[-1] - 0.1
    lazy = dmft.solve(HARD, times, 40, 80, 0.3).test_loss
    assert np.any(np.abs(mean["test_loss"].to_numpy() - lazy) > 4 * error), "rich and lazy differ"


@pytest.mark.parametrize("noise", [1.0, pytest.param(8.0, marks=pytest.mark.slow), 64.0])
def test_noisy_labels_are_learnt_in_the_end_as_the_lazy_model_learns_them(noise: float) -> None:
    """Much noise makes rates grow beyond what the noise-free task allows, where the integral overflowed."""
    spectrum = Spectrum.power_law(1.5, 1.25, 60)
    found = feature_learning.solve(spectrum, [1.0, 1e6], 1.0, n_data=30, noise=noise)
    expected = dmft.final(spectrum, n_data=30, noise=noise).test_loss
    assert found.test_loss[-1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_as_many_examples_as_modes_lie_between_one_more_and_one_less() -> None:
    """There rates reach down to 0, and no slowest one sets the contour."""
    spectrum = Spectrum.power_law(1.5, 1.25, 60)
    fewer, as_many, more = (
        feature_learning.solve(spectrum, [1.0, 10.0, 1e4], 1.0, n_data=n, noise=8.0).test_loss
        for n in (59, 60, 61)
    )
    np.testing.assert_allclose(as_many[:2], (fewer[:2] + more[:2]) / 2, rtol=1e-3)
    assert as_many[2] > max(fewer[2], more[2])  # the peak of double descent


def test_many_examples_are_the_population() -> None:
    many = feature_learning.solve(HARD, [3.0, 30.0], 1.0, 40, 1e9).test_loss
    np.testing.assert_allclose(many, feature_learning.solve(HARD, [3.0, 30.0], 1.0, 40).test_loss, rtol=1e-6)


@pytest.mark.parametrize("n_params", [np.inf, 100])
def test_without_richness_it_is_the_lazy_model(n_params: float) -> None:
    spectrum, times = Spectrum.power_law(1.6, 1.5, 10**9), np.geomspace(0.1, 1e9, 8)
    expected = dmft.solve(spectrum, times, n_params).test_loss
    found = feature_learning.solve(spectrum, times, 0.0, n_params)
    np.testing.assert_allclose(found.test_loss, expected, rtol=1e-8)
    assert np.all(found.rate == 1)


@pytest.mark.parametrize(("task", "spectral"), [(1.3, 1.5), pytest.param(2.6, 1.4, marks=pytest.mark.slow)])
def test_exponent_in_time(task: float, spectral: float) -> None:
    found = feature_learning.solve(Spectrum.power_law(task, spectral, 10**30), [1e7, 1e8]).test_loss
    beta = (task - 1) / spectral
    assert feature_learning.exponents(task, spectral)[0] == pytest.approx(
        beta if beta > 1 else 2 * beta / (1 + beta)
    )
    assert np.log10(found[0] / found[1]) == pytest.approx(
        feature_learning.exponents(task, spectral)[0], rel=0.005
    )


@pytest.mark.slow
def test_richness_moves_the_crossover() -> None:
    """Rates double where c |z|² ~ c t^(1−β) is one: at t ~ c^(−1/(1−β))."""
    spectrum, times = Spectrum.power_law(1.6, 1.5, 10**20), np.geomspace(1, 1e12, 60)
    when = []
    for richness in (1e-4, 1e-5):
        rate = feature_learning.solve(spectrum, times, richness).rate
        when.append(np.interp(np.log(2), np.log(rate), np.log(times)))
    assert (when[1] - when[0]) / np.log(10) == pytest.approx(1 / (1 - 0.4), rel=0.03)


def test_a_loss_never_rises_and_ends_at_the_capacity() -> None:
    times = np.geomspace(1e-2, 1e12, 60)
    found = feature_learning.solve(HARD, times, 2.0, 20).test_loss
    assert np.all(np.diff(found) <= 1e-9)
    assert found[-1] == pytest.approx(dmft.final(HARD, 20).test_loss, rel=1e-6)


@pytest.mark.slow
def test_vanishing_noise_of_batches_is_gradient_flow() -> None:
    times, features = [0.5, 3, 20.0], one_pass.drawn_modes(HARD, 12, 4)
    expected = feature_learning.solve(HARD, times, 1.0, 12, noise=0.3, features=features)
    found = feature_learning.solve(
        HARD, times, 1.0, 12, noise=0.3, features=features, learning_rate=0.1, batch_size=1e11
    )
    np.testing.assert_allclose(found.test_loss, expected.test_loss, rtol=1e-8)
    np.testing.assert_allclose(found.rate, expected.rate, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("n_params", [12, np.inf])
def test_batches_without_richness_are_one_pass_sgd(n_params: float) -> None:
    """Steps differ from flow by η: compared with twice the loss at η/2, at the same η/B, less that at η."""
    times, features = np.array([3, 20.0]), None if np.isinf(n_params) else one_pass.drawn_modes(HARD, 12, 4)
    exact = [
        one_pass.solve(
            HARD, times / rate, one_pass.OnePassSGD(rate, batch), n_params, 0.3, features=features
        ).test_loss
        for rate, batch in ((0.02, 2), (0.01, 1))
    ]
    given = {"noise": 0.3, "features": features}
    found = feature_learning.solve(HARD, times, 0.0, n_params, learning_rate=0.01, batch_size=1, **given)
    np.testing.assert_allclose(found.test_loss, 2 * exact[1] - exact[0], rtol=3e-5)
    flow = feature_learning.solve(HARD, times, 0.0, n_params, **given).test_loss
    assert np.all(found.test_loss > 1.01 * flow), "the noise is seen"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "spectral", "rate", "batch", "richness", "noise"),
    [
        (1.45, 1.5, 0.02, 4, 3.0, 0.3),
        pytest.param(1.3, 2.0, 0.02, 2, 1.0, 0.5, marks=pytest.mark.nightly),
    ],
)
def test_batches_raise_the_loss_as_simulated(
    task: float, spectral: float, rate: float, batch: int, richness: float, noise: float
) -> None:
    spectrum, times = Spectrum.power_law(task, spectral, 60), np.array([3, 10.0])
    drawn = simulated.train_on_batches(spectrum, times, richness, 12, rate, batch, noise, draws=400, seed=4)
    mean = drawn.average("seed").frame.sort_values("time")
    loss, error = mean["test_loss"].to_numpy(), mean["test_loss_stderr"].to_numpy()
    features = one_pass.drawn_modes(spectrum, 12, 4)
    flow = feature_learning.solve(spectrum, times, richness, 12, noise=noise, features=features).test_loss
    solved = feature_learning.solve(
        spectrum, times, richness, 12, noise=noise, features=features, learning_rate=rate, batch_size=batch
    ).test_loss
    assert np.all(error < 0.003 * solved)
    assert np.all(np.abs(loss - solved) < 3 * error)
    assert np.all(loss - flow > 8 * error), "gradient flow alone is excluded"


@pytest.mark.slow
def test_pairs_on_a_contour_are_those_of_the_eigenvalues() -> None:
    spectrum, times = Spectrum.power_law(1.6, 1.5, 110), [3.0]
    given = {"noise": 0.3, "learning_rate": 0.05, "batch_size": 4}
    eigenvalues = modes(spectrum, np.inf, 1e-3, np.inf)  # one by one; without them a contour has fewer nodes
    expected = feature_learning.solve(spectrum, times, 1.0, **given, features=eigenvalues).test_loss
    found = feature_learning.solve(spectrum, times, 1.0, **given).test_loss
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.nightly
def test_what_batches_add_on_average_is_the_mean_of_draws() -> None:
    sgd = {"noise": 0.3, "learning_rate": 0.05, "batch_size": 1}
    more = []
    for i in range(8):
        given = {"features": one_pass.drawn_modes(HARD, 24, i)}
        noisy = feature_learning.solve(HARD, [1.0], 1.0, 24, **sgd, **given).test_loss
        more.append(noisy - feature_learning.solve(HARD, [1.0], 1.0, 24, noise=0.3, **given).test_loss)
    error = np.std(more, ddof=1) / np.sqrt(len(more))
    found = feature_learning.solve(HARD, [1.0], 1.0, 24, **sgd).test_loss
    found = found - feature_learning.solve(HARD, [1.0], 1.0, 24, noise=0.3).test_loss
    assert error < 0.1 * found
    assert np.abs(np.mean(more) - found) < 3 * error + found / 24


def moments(x: np.ndarray, ends: np.ndarray, c: float, ratio: float, variance: float, at: list) -> np.ndarray:
    """Loss of the moments of z, R and S as plain matrices; derivatives of F by differences."""
    n, kernel = len(x), np.diag(x)

    def read(z: np.ndarray, s: float) -> tuple[float, float]:  # q and h
        q = (np.sqrt(1 + 4 * c * (z @ z - s)) - 1) / (2 * c)
        return q, c / (1 + c * q)

    def force(z: np.ndarray, s: float) -> np.ndarray:
        (q, h), g = read(z, s), kernel @ (ends - z)
        return (1 + c * q) * g + h * z * (z @ g)

    def parts(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        return y[:n], y[n : n + n * n].reshape(n, n), y[n + n * n : -1].reshape(n, n), float(y[-1])

    def loss(y: np.ndarray) -> float:
        z, spread, _, _ = parts(y)
        return float((ends - z) @ kernel @ (ends - z) + np.trace(kernel @ spread) + variance)

    def slopes(_: float, y: np.ndarray) -> np.ndarray:
        z, spread, moved, s = parts(y)  # moved: R − 1
        (q, h), g, d = read(z, s), kernel @ (ends - z), 1e-4
        jacobian = np.stack([(force(z + d * e, s) - force(z - d * e, s)) / (2 * d) for e in np.eye(n)], 1)
        size, axes = np.linalg.eigh(spread)
        bend = sum(
            size[k] * (force(z + d * v, s) + force(z - d * v, s) - 2 * force(z, s)) / d**2
            for k, v in enumerate(axes.T)
        )
        noise = ratio * (loss(y) * kernel + np.outer(g, g) + kernel @ spread @ kernel)
        turn = (1 + c * q) * np.eye(n) + h * np.outer(z, z)
        lost = h * np.outer(moved @ g, z)
        return np.concatenate([
            force(z, s) + bend / 2 + c * noise @ z + moved @ g,
            (jacobian @ spread + spread @ jacobian.T + turn @ noise @ turn).ravel(),
            (-c * noise + h**2 * np.trace(noise) * np.outer(z, z) - lost - lost.T).ravel(),
            [(c * q) ** 2 * np.trace(noise) - c * z @ noise @ z + 2 * z @ moved @ g + 2 * h * s * (z @ g)],
        ])  # fmt: skip

    start = np.zeros(n + 2 * n * n + 1)
    found = integrate.solve_ivp(slopes, (0, at[-1]), start, t_eval=at, rtol=1e-6, atol=1e-8)
    return np.array([loss(y) for y in found.y.T])


@pytest.mark.slow
def test_batches_on_trained_features_follow_the_equations_of_the_moments() -> None:
    richness, ratio, noise = 2.0, 0.01, 0.5
    eigenvalues, power, at = np.array([1.0, 0.5, 0.2]), np.array([0.6, 0.8, 0.3]), [0.5, 4.0]
    spectrum = Spectrum(eigenvalues, power)
    sgd = {"learning_rate": ratio, "batch_size": 1, "noise": noise}
    found = feature_learning.solve(spectrum, at, richness, **sgd).test_loss
    flow = feature_learning.solve(spectrum, at, richness, noise=noise).test_loss
    expected = moments(eigenvalues, np.sqrt(power / eigenvalues), richness, ratio, noise**2, at)
    np.testing.assert_allclose(found - flow, expected - flow, rtol=2e-3)


@pytest.mark.slow
def test_batches_that_noise_makes_diverge_are_recorded_as_infinite() -> None:
    features = one_pass.drawn_modes(HARD, 4, 0)
    sgd = {"learning_rate": 1e3, "batch_size": 1, "features": features}
    found = feature_learning.solve(HARD, [0.0, 10.0], 0.0, 4, **sgd).test_loss
    assert np.isfinite(found[0])
    assert found[1] == np.inf


def test_before_the_first_batch_the_loss_is_that_of_the_target() -> None:
    begun = simulated.train_on_batches(HARD, [0.0], 1.0, 4, 0.1, 1, 0.5, draws=2).frame["test_loss"]
    assert begun.to_numpy() == pytest.approx(HARD.target_power.sum() + 0.25)


def test_bad_input() -> None:
    with pytest.raises(BadInput, match="learning_rate"):
        feature_learning.solve(HARD, [1], batch_size=2)
    with pytest.raises(BadInput, match="batch_size"):
        feature_learning.solve(HARD, [1], learning_rate=0.1, batch_size=0)
    with pytest.raises(BadInput, match="n_data = 50:"):
        feature_learning.solve(HARD, [1], 1.0, 12, 50, learning_rate=0.1, batch_size=2)
    features = one_pass.drawn_modes(HARD, 4, 0)
    with pytest.raises(BadInput, match=r"1000: .*1?\d\.?\d* the noise"):
        feature_learning.solve(HARD, [1e3], 1.0, 4, learning_rate=0.05, batch_size=1, features=features)
    with pytest.raises(BadInput, match="batch_size"):
        simulated.train_on_batches(HARD, [1], 1.0, 4, 0.1, 0)
    with pytest.raises(BadInput, match="richness"):
        feature_learning.solve(HARD, [1], -1.0)
    with pytest.raises(BadInput, match="n_params"):
        feature_learning.solve(HARD, [1], 1.0, 0)
    with pytest.raises(BadInput, match="n_data"):
        feature_learning.solve(HARD, [1], 1.0, 10, -1)
    with pytest.raises(BadInput, match="n_data = 5:"):
        feature_learning.solve(HARD, [1], 1.0, 12, 5, features=one_pass.drawn_modes(HARD, 12, 0))
    with pytest.raises(BadInput, match="exceed 1"):
        feature_learning.exponents(0.9, 1.5)
    with pytest.raises(BadInput, match="draws"):
        simulated.train(HARD, [1], 1.0, 4, draws=0)


def test_curves() -> None:
    frame = feature_learning.solve(HARD, [1, 2], 0.5).curves().frame
    assert set(frame["richness"]) == {0.5}
    assert np.all(np.diff(frame["rate"]) > 0)
    sgd = feature_learning.solve(HARD, [0.1], 0.5, 4, learning_rate=0.1, batch_size=8,
                                 features=one_pass.drawn_modes(HARD, 4, 0))  # fmt: skip
    assert set(sgd.curves().frame["batch_size"]) == {8.0}


def test_a_flow_that_takes_too_many_gradients_is_refused_with_the_time_that_it_reaches(monkeypatch) -> None:
    monkeypatch.setattr(simulated, "MOST", 500)
    with pytest.raises(BadInput, match=r"500 gradients, .*time [\d.]+ of 1e\+09"):
        simulated.train(HARD, [1.0, 1e9], 1.0, 4, draws=1)
    with pytest.raises(BadInput, match="richness=nan"):
        simulated.train(HARD, [1.0], float("nan"), 4)
