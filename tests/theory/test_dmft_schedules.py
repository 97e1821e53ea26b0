"""One-pass SGD under a schedule: against constant rates, the time × time iteration, and a simulation."""

import numpy as np
import pytest

from scalinglab import Spectrum
from scalinglab.errors import BadInput
from scalinglab.theory import dmft
from scalinglab.theory.dmft import schedules
from tests.theory import direct_iteration

SPECTRUM = Spectrum.power_law(task_exponent=1.5, spectral_exponent=1.25, n_modes=60)
DECAY = 0.4 * 0.85 ** np.arange(12)


@pytest.mark.parametrize("n_params", [np.inf, 20.0])
def test_constant_rates_agree_with_the_solver_of_lags(n_params):
    rates = np.full(40, 0.3)
    found = dmft.one_pass(SPECTRUM, rates, 4, n_params, noise=0.2)
    known = dmft.solve(
        SPECTRUM,
        np.arange(41),
        n_params,
        noise=0.2,
        dynamics=dmft.OnePassSGD(learning_rate=0.3, batch_size=4),
    )
    assert found.test_loss == pytest.approx(known.test_loss, rel=1e-7)


def test_population_loss_agrees_with_the_time_by_time_iteration():
    """No contour and no filter there: matrices over steps, iterated to their fixed point."""
    found = dmft.one_pass(SPECTRUM, DECAY, 4, 20.0)
    matrices = direct_iteration.gradient_descent(SPECTRUM, len(DECAY), 20.0, 1e9, learning_rate=DECAY)
    assert found.drift == pytest.approx(np.diag(matrices.test), rel=1e-5)


def test_simulated_sgd_on_random_features_follows_the_schedule():
    """Features A/√N and Gaussian data; the mean over 60 runs against the theory, four standard errors."""
    n_params, batch, noise = 30, 6, 0.1
    values = SPECTRUM.eigenvalues
    target = np.sqrt(SPECTRUM.target_power / values)
    losses = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        features = random.standard_normal((n_params, len(values))) / np.sqrt(n_params)
        w = np.zeros(n_params)
        run = []
        for rate in [*DECAY, None]:
            left = target - features.T @ w
            run.append(np.sum(values * left**2) + noise**2)
            if rate is not None:
                x = random.standard_normal((batch, len(values))) * np.sqrt(values)
                miss = x @ left + noise * random.standard_normal(batch)
                w = w + rate * features @ x.T @ miss / batch
        losses.append(run)
    mean, error = np.mean(losses, axis=0), np.std(losses, axis=0) / np.sqrt(60)
    theory = dmft.one_pass(SPECTRUM, DECAY, batch, n_params, noise).test_loss
    assert (np.abs(mean - theory) < 4 * error + 0.03 * theory).all()
    constant = dmft.one_pass(SPECTRUM, np.full(12, 0.4), batch, n_params, noise).test_loss
    assert abs(mean[-1] - theory[-1]) < 0.5 * abs(constant[-1] - theory[-1])


def test_best_schedule_decays_and_beats_every_constant_rate():
    best = dmft.best_schedule(SPECTRUM, 60, 1, noise=0.5, knots=5)
    assert best.rates[-1] < 0.5 * best.rates.max()
    constants = [
        dmft.one_pass(SPECTRUM, np.full(60, r), 1, noise=0.5).test_loss[-1]
        for r in np.geomspace(0.01, 0.9, 15)
    ]
    assert best.test_loss[-1] < min(constants)


def test_the_best_schedule_of_one_step_is_the_best_rate():
    best = dmft.best_schedule(SPECTRUM, 1, 1, noise=0.5)
    tried = [dmft.one_pass(SPECTRUM, [r], 1, noise=0.5).test_loss[-1] for r in np.geomspace(0.01, 0.9, 60)]
    assert min(tried) == pytest.approx(best.test_loss[-1], rel=0.01)
    assert best.test_loss[-1] <= min(tried)
    with pytest.raises(BadInput, match="steps = 0"):
        dmft.best_schedule(SPECTRUM, 0, 1)


@pytest.mark.parametrize("n_params", [np.inf, 20.0])
def test_derivatives_by_every_rate(n_params):
    rates, step = np.random.default_rng(0).uniform(0.05, 0.4, 12), 1e-6
    found = schedules.modes_of(SPECTRUM, n_params, rates.sum(), rates.max())
    slopes = schedules.with_slopes(found, rates, 2, 0.04)[1]
    for place in (0, 5, 11):
        ends = [
            schedules.forward(found, rates + sign * step * np.eye(12)[place], 2, 0.04)[0][-1]
            for sign in (1, -1)
        ]
        assert slopes[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)


def test_free_rates_are_no_worse_than_knots():
    knots = dmft.best_schedule(SPECTRUM, 40, 1, noise=0.5, knots=5)
    free = dmft.best_schedule(SPECTRUM, 40, 1, noise=0.5)
    assert free.test_loss[-1] <= knots.test_loss[-1] * (1 + 1e-6)
    with pytest.raises(BadInput, match="knots"):
        dmft.best_schedule(SPECTRUM, 40, 1, knots=0)
    with pytest.raises(BadInput, match="n_params = -1"):
        dmft.best_schedule(SPECTRUM, 40, 1, -1)


def test_bad_schedules_say_what_is_wrong():
    with pytest.raises(BadInput, match="must stay below 2"):
        dmft.one_pass(SPECTRUM, np.full(3, 2.5), 4)
    with pytest.raises(BadInput, match="rates must be 0 or more"):
        dmft.one_pass(SPECTRUM, np.array([0.1, -0.1]), 4)
    with pytest.raises(BadInput, match="batch_size = 0"):
        dmft.one_pass(SPECTRUM, np.array([0.1]), 0)
