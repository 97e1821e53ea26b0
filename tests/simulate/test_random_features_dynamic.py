"""Simulated training: exact against brute force, and against the theory with error bars."""

import math

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.simulate.random_features import dynamic

dmft = sl.theory.dmft
SPECTRUM = sl.Spectrum.power_law(1.5, 1.25, 300)


def stepped(n_params, n_data, noise, rate, momentum, steps):
    """One draw by plain iteration in the space of v, with the draws of the simulation."""
    modes, model = 300, (0, 0)  # seed, draw

    def normal(stream, *shape):
        return np.random.default_rng([*model, stream, 0]).standard_normal(shape)

    values = SPECTRUM.eigenvalues
    features = normal(dynamic.FEATURES, n_params, modes)
    data = normal(dynamic.DATA, n_data, modes) * np.sqrt(values)
    label_noise = noise * normal(dynamic.NOISE, n_data)
    v = np.sqrt(SPECTRUM.target_power / values)
    speed, test, train = np.zeros(modes), [], []
    for _ in range(steps + 1):
        residual = data @ v + label_noise
        test.append(values @ v**2 + noise**2)
        train.append(np.mean(residual**2))
        speed = momentum * speed + features.T @ (features @ (data.T @ residual / n_data)) / n_params
        v = v - rate * speed
    return np.array(test), np.array(train)


@pytest.mark.parametrize(("n_params", "n_data"), [(20, 30), (30, 20)])
@pytest.mark.parametrize("momentum", [0.0, 0.7])
def test_one_eigendecomposition_serves_every_step_of_descent(n_params, n_data, momentum):
    test, train = stepped(n_params, n_data, 0.3, 0.1, momentum, 60)
    dynamics = dmft.GradientDescent(0.1, momentum)
    curves = dynamic.train(SPECTRUM, np.arange(61), n_params, n_data, 0.3, dynamics, draws=1)
    np.testing.assert_allclose(curves["test_loss"], test, rtol=1e-9)
    np.testing.assert_allclose(curves["train_loss"], train, rtol=1e-8)


@pytest.mark.parametrize(
    ("n_params", "n_data", "noise", "ensemble", "bags"),
    [
        (64, 128, 0.3, 1, 1),
        pytest.param(128, 64, 0.3, 1, 1, marks=pytest.mark.slow),
        pytest.param(math.inf, 64, 0.3, 1, 1, marks=pytest.mark.slow),
        pytest.param(64, math.inf, 0.3, 1, 1, marks=pytest.mark.slow),
        (48, 96, 0.5, 3, 2),
    ],
)
def test_simulation_sits_within_its_error_of_the_theory(n_params, n_data, noise, ensemble, bags):
    """Flow at times that matter; four standard errors, and 4 % for the finite size (1/N + 1/P, see below)."""
    times, arguments = np.array([0.3, 3.0, 30.0, 3000.0]), (n_params, n_data, noise)
    curves = dynamic.train(SPECTRUM, times, *arguments, ensemble=ensemble, bags=bags, draws=80)
    mean = curves.average("seed").frame
    theory = dmft.solve(SPECTRUM, times, *arguments, ensemble=ensemble, bags=bags)
    for name, relevant in (("test_loss", slice(None)), ("train_loss", slice(0, 2))):
        measured, error = mean[name].to_numpy()[relevant], mean[f"{name}_stderr"].to_numpy()[relevant]
        expected = getattr(theory, name)[relevant]
        assert np.all(np.abs(measured - expected) < 4 * error + 0.04 * expected), name
        assert np.all(error < 0.05 * expected), "too few draws for power"


@pytest.mark.slow
@pytest.mark.parametrize(("ensemble", "bags"), [(1, 1), (3, 2)])
def test_one_pass_sgd_sits_within_its_error_of_the_theory(ensemble, bags):
    steps, models = np.array([1, 5, 20, 60]), {"ensemble": ensemble, "bags": bags}
    asked = {"noise": 0.3, "dynamics": dmft.OnePassSGD(0.3, 4), **models}
    mean = dynamic.train(SPECTRUM, steps, 16, **asked, draws=40).average("seed").frame
    theory = dmft.solve(SPECTRUM, steps, 16, **asked)
    for name in ("test_loss", "train_loss"):
        expected, error = getattr(theory, name), mean[f"{name}_stderr"].to_numpy()
        assert np.all(np.abs(mean[name].to_numpy() - expected) < 4 * error + 0.04 * expected)
    if bags > 1:  # the train loss is that of the ensemble of one bag, in theory and in draws
        alone = dmft.solve(SPECTRUM, steps, 16, **asked | {"bags": 1})
        np.testing.assert_array_equal(theory.train_loss, alone.train_loss)
        np.testing.assert_allclose(alone.train_loss, alone.test_loss, rtol=1e-12)
        single = dmft.solve(SPECTRUM, steps, 16, **asked | {"ensemble": 1, "bags": 1}).train_loss
        assert np.all(single[1:] - mean["train_loss"][1:] > 4 * mean["train_loss_stderr"][1:])


@pytest.mark.nightly
def test_the_excess_over_theory_falls_as_one_over_size():
    """The same aspect ratio at four times the size: a quarter of the excess, with its error."""
    excess, errors = [], []
    for size, draws in ((12, 8000), (48, 4000)):
        spectrum = sl.Spectrum.power_law(1.5, 1.25, 100)
        mean = dynamic.train(spectrum, 20.0, size, 2 * size, 0.3, draws=draws).average("seed").frame
        theory = dmft.solve(spectrum, 20.0, size, 2 * size, 0.3).test_loss
        excess.append(float(mean["test_loss"].iloc[0] / theory - 1))
        errors.append(float(mean["test_loss_stderr"].iloc[0] / theory))
    assert excess[0] > 4 * errors[0]
    ratio, error = (
        excess[1] / excess[0],
        math.hypot(errors[1] / excess[0], excess[1] * errors[0] / excess[0] ** 2),
    )
    assert abs(ratio - 0.25) < 3 * error + 0.05
    assert error < 0.15


def test_a_seed_means_one_curve_and_draws_do_not_depend_on_their_number():
    few = dynamic.train(SPECTRUM, [1.0, 10.0], 20, 30, draws=2, seed=5)
    many = dynamic.train(SPECTRUM, [1.0, 10.0], 20, 30, draws=4, seed=5)
    np.testing.assert_array_equal(few["test_loss"], many.select(seed=[0, 1])["test_loss"])


def test_torch_and_numpy_train_the_same_model():
    pytest.importorskip("torch")
    machine = dynamic.Machine("cpu")
    machine.torch = __import__("torch")
    both = []
    for backend in (dynamic.Machine("cpu"), machine):
        model = dynamic.Model(backend, SPECTRUM, 20, 30, 0.3, 2, 2, 0, range(3))
        both.append(model.filtered(np.array([0.0, 1.0, 50.0]), dmft.GradientFlow()))
    np.testing.assert_allclose(both[1], both[0], rtol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_params": 2.5, "n_data": 3}, "n_params = 2.5"),
        ({}, "nothing is random"),
        ({"n_params": 3, "n_data": 3, "draws": 0}, "draws = 0"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, message):
    with pytest.raises(BadInput, match=message):
        dynamic.train(SPECTRUM, [1.0], **arguments)


def test_shuffled_passes_see_every_example_once():
    """A batch of all examples is descent; smaller ones go through all before any comes again."""
    whole = dmft.MultiPassSGD(0.3, 20)
    one = dynamic.train(SPECTRUM, [0, 5], 10, 20, 0.3, whole, draws=3, shuffled=True)
    descent = dynamic.train(SPECTRUM, [0, 5], 10, 20, 0.3, dmft.GradientDescent(0.3), draws=3)
    np.testing.assert_allclose(one["test_loss"], descent["test_loss"], rtol=1e-10)
    with pytest.raises(BadInput, match="MultiPassSGD"):
        dynamic.train(SPECTRUM, [1], 10, 20, shuffled=True)
    chosen, ahead = [], []
    model = dynamic.Model(dynamic.Machine("cpu"), SPECTRUM, 10, 20, 0.0, 1, 1, 0, range(1), True)
    for _ in range(20):
        chosen += model.examples_of(np.random.default_rng(0), ahead, 20, dmft.MultiPassSGD(0.1, 3)).tolist()
    assert all(sorted(chosen[i : i + 20]) == list(range(20)) for i in (0, 20, 40))
