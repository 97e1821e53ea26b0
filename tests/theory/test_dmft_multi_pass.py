"""SGD that sees its data many times: against descent, ridge regression, fresh data, and drawn batches."""

import math
from dataclasses import replace

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.simulate.random_features import train
from scalinglab.theory import dmft, one_pass
from tests.theory import direct_iteration

SPECTRUM = sl.Spectrum.power_law(1.5, 1.25, 200)
EVERYTHING = 1e12  # a batch without noise


@pytest.mark.parametrize(
    ("n_params", "n_data"), [(60, 100), pytest.param(100, 60, marks=pytest.mark.slow), (math.inf, 60)]
)
def test_without_batch_noise_it_is_gradient_descent(n_params: float, n_data: float) -> None:
    steps = [0, 1, 7, 60]
    known = dmft.solve(SPECTRUM, steps, n_params, n_data, 0.3, dmft.GradientDescent(0.2, 0.5), ensemble=2)
    found = dmft.solve(
        SPECTRUM, steps, n_params, n_data, 0.3, dmft.MultiPassSGD(0.2, EVERYTHING, 0.5), ensemble=2
    )
    for name in ("test_loss", "train_loss", "bias", "variance_params", "variance_data", "gap"):
        assert getattr(found, name) == pytest.approx(getattr(known, name), rel=1e-7, abs=1e-8)
    assert found.transfer(2) == pytest.approx(known.transfer(2), abs=1e-8)


@pytest.mark.parametrize(("rate", "decay"), [(0.5, 0.05), (0.2, 8.0)])  # the second is close to unstable
def test_weight_decay_ends_at_ridge_regression(rate: float, decay: float) -> None:
    known = dmft.final(SPECTRUM, 60, 100, 0.3, ridge=decay)
    found = dmft.solve(SPECTRUM, [800], 60, 100, 0.3, dmft.MultiPassSGD(rate, EVERYTHING, weight_decay=decay))
    assert found.test_loss == pytest.approx(known.test_loss, rel=1e-7)
    assert found.train_loss == pytest.approx(known.train_loss, rel=1e-7)


@pytest.mark.parametrize("batch", [1, 4])
def test_data_without_end_are_fresh_data(batch: int) -> None:
    known = one_pass.solve(SPECTRUM, [5, 80], one_pass.OnePassSGD(0.2, batch), 60, 0.3)
    found = dmft.solve(SPECTRUM, [5, 80], 60, 1e9, 0.3, dmft.MultiPassSGD(0.2, batch))
    assert found.test_loss == pytest.approx(known.test_loss, rel=1e-6)
    assert found.gap == pytest.approx(0, abs=1e-6)


def test_schedule_against_the_time_by_time_iteration() -> None:
    factors = 0.85 ** np.arange(9)
    few = sl.Spectrum.power_law(1.5, 1.25, 40)
    known = direct_iteration.gradient_descent(few, 9, 20, 30, 0.2, learning_rate=0.4 * factors)
    sgd = dmft.MultiPassSGD(0.4, EVERYTHING, schedule=tuple(factors))
    found = dmft.solve(few, np.arange(10), 20, 30, 0.2, sgd)
    assert found.test_loss == pytest.approx(np.diag(known.test) + 0.04, rel=1e-7)
    assert found.train_loss == pytest.approx(np.diag(known.train), rel=1e-7)


def test_a_batch_of_all_distinct_examples_has_no_noise() -> None:
    whole = dmft.solve(SPECTRUM, [30], 60, 100, 0.3, dmft.MultiPassSGD(0.3, 100, distinct=True))
    descent = dmft.solve(SPECTRUM, [30], 60, 100, 0.3, dmft.GradientDescent(0.3))
    repeated = dmft.solve(SPECTRUM, [30], 60, 100, 0.3, dmft.MultiPassSGD(0.3, 100))
    assert whole.test_loss == pytest.approx(descent.test_loss, rel=1e-7)
    assert repeated.test_loss > 1.0001 * descent.test_loss


def test_the_highest_rate_and_its_noise_decide_stability() -> None:
    assert dmft.solve(SPECTRUM, [3], 60, 100, 0.0, dmft.MultiPassSGD(0.3, 4)).stable
    grown = dmft.solve(SPECTRUM, [0, 2000], 60, 100, 0.0, dmft.MultiPassSGD(0.2, 4, 0.9))
    assert not grown.stable
    assert grown.test_loss[1] > 1e3


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"momentum": 1.0}, "momentum"), ({"weight_decay": -1}, "weight_decay"),
     ({"batch_size": 0}, "batch_size"), ({"schedule": (2.0,)}, "height"),
     ({"learning_rate": 3.0}, "must stay below"),
     ({"schedule": (1.0,)}, "beyond the schedule"), ({"batch_size": 200, "distinct": True}, "distinct"),
     ({"learning_rate": 1.3, "batch_size": 1}, "feeds itself")],
)  # fmt: skip
def test_bad_settings_say_what_is_wrong(wrong: dict, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        dmft.solve(
            SPECTRUM, [5], 60, 100, 0.0, dmft.MultiPassSGD(**{"learning_rate": 0.3, "batch_size": 4, **wrong})
        )


def test_a_batch_of_one_example_has_none_twice() -> None:
    """Distinct or not is the same at one example; a batch of all of them is gradient descent."""
    one, alone = (
        dmft.solve(SPECTRUM, [20], 60, 100, 0.5, dmft.MultiPassSGD(0.15, 1, distinct=distinct))
        for distinct in (True, False)
    )
    assert one.test_loss[0] == pytest.approx(alone.test_loss[0], rel=1e-9)
    whole = dmft.solve(SPECTRUM, [20], 60, 100, 0.5, dmft.MultiPassSGD(0.15, 100, distinct=True))
    descent = dmft.solve(SPECTRUM, [20], 60, 100, 0.5, dmft.GradientDescent(0.15))
    assert whole.test_loss[0] == pytest.approx(descent.test_loss[0], rel=1e-6)
    assert alone.test_loss[0] > 1.01 * descent.test_loss[0]


def test_fresh_data_are_refused() -> None:
    with pytest.raises(BadInput, match="OnePassSGD"):
        dmft.solve(SPECTRUM, [5], 60, dynamics=dmft.MultiPassSGD(0.3, 4))
    with pytest.raises(BadInput, match="OnePassSGD"):
        train(SPECTRUM, [5], 60, dynamics=dmft.MultiPassSGD(0.3, 4))


DROPPED = tuple(np.repeat([1.0, 0.2], [60, 60]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "dynamics",
    [dmft.MultiPassSGD(0.15, 1, schedule=DROPPED),
     dmft.MultiPassSGD(0.05, 2, momentum=0.8, weight_decay=0.1, distinct=True)],
)  # fmt: skip
def test_against_drawn_batches(dynamics: dmft.MultiPassSGD) -> None:
    steps = [20, 120]
    found = dmft.solve(SPECTRUM, steps, 60, 100, 0.5, dynamics)
    mean = train(SPECTRUM, steps, 60, 100, 0.5, dynamics, draws=80).average("seed").frame
    for name in ("test_loss", "train_loss"):
        error = mean[f"{name}_stderr"].to_numpy()
        assert np.all(np.abs(mean[name].to_numpy() - getattr(found, name)) < 4 * error)
        assert np.all(error < 0.03 * getattr(found, name))
    # the noise of batches is beyond the errors: descent would not do
    quiet = dmft.solve(
        SPECTRUM, steps, 60, 100, 0.5, replace(dynamics, batch_size=EVERYTHING, distinct=False)
    )
    assert np.all(mean["train_loss"] - quiet.train_loss > 4 * mean["train_loss_stderr"])


@pytest.mark.slow
def test_models_that_are_averaged_draw_their_own_batches() -> None:
    dynamics = dmft.MultiPassSGD(0.15, 1)
    found = dmft.solve(SPECTRUM, [60], 60, 100, 0.5, dynamics, ensemble=2, bags=2)
    mean = train(SPECTRUM, [60], 60, 100, 0.5, dynamics, ensemble=2, bags=2, draws=60).average("seed").frame
    for name in ("test_loss", "train_loss"):
        assert np.abs(mean[name] - getattr(found, name))[0] < 4 * mean[f"{name}_stderr"][0]
