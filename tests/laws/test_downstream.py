"""The optimum that counts inference, and forms from a loss to a score."""

from dataclasses import replace

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.planning.inference import inference_optimal
from tests.refusals import because


def test_error_from_loss_is_recovered_at_values_of_published_size():
    loss = np.linspace(2.2, 4.0, 15)
    law = sl.laws.fit("error_from_loss", loss, 0.850 - 2.08 * np.exp(-0.756 * loss), space="raw")
    assert law.parameters == pytest.approx({"ceiling": 0.850, "k": 2.08, "gamma": 0.756}, rel=1e-4)


def test_sigmoid_from_loss_is_recovered_with_its_chance_level():
    loss = np.linspace(0.4, 2.0, 21)
    score = 0.25 + 0.6 / (1 + np.exp(6 * (loss - 1.1)))
    law = sl.laws.fit("score_from_loss", loss, score, space="raw")
    assert list(law.parameters.values()) == pytest.approx([0.25, 0.6, 6.0, 1.1], rel=1e-4)
    assert law.derived["ceiling"] == pytest.approx(0.85, rel=1e-4)


@pytest.fixture(scope="module")
def surface():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e7, 1e10, 6), np.geomspace(1e9, 1e12, 6)))
    return sl.laws.surface.fit(n, d, 1.8172 + 477.83 * n**-0.34731 + 2143.4 * d**-0.36717)


@pytest.mark.slow
def test_without_use_the_optimum_is_the_compute_optimal_one(surface):
    best = surface.compute_optimal(1e21, intervals=False)
    plan = inference_optimal(surface, best.loss, 0.0)
    assert plan.n_params == pytest.approx(best.n_params, rel=1e-3)
    assert plan.training == pytest.approx(1e21, rel=1e-4)
    assert plan.saved == pytest.approx(0, abs=1e-6)
    used = replace(plan, inference=1e21, saved=0.25, beyond=3.0)
    (said,) = used.remarks
    assert said.details["cost"] == plan.training + 1e21
    assert (said.details["more"], said.details["far"].details["times"]) == (25.0, 3.0)
    (less,) = replace(plan, saved=-1e-9, beyond=1.0).remarks
    assert (less.details["more"], less.details["far"]) == (0.0, "")


@pytest.mark.slow
def test_the_cheapest_model_is_that_of_a_fine_grid(surface):
    """Along the curve of equal loss, by the formula of the surface; with other FLOPs, too."""
    loss = surface.compute_optimal(1e21, intervals=False).loss
    n = np.geomspace(1e8, 1e10, 200001)
    with np.errstate(invalid="ignore"):
        d = ((loss - 1.8172 - 477.83 * n**-0.34731) / 2143.4) ** (-1 / 0.36717)
    sizes = []
    other = {"flops_per_param_example": 8.0, "flops_of_use": 1.0}
    for used, training, use, given in ((1e11, 6, 2, {}), (1e13, 6, 2, {}), (1e13, 8, 1, other)):
        found = inference_optimal(surface, loss, used, **given)
        cost = training * n * d + use * n * used
        best = np.nanargmin(cost)
        assert found.n_params == pytest.approx(n[best], rel=2e-3)
        assert found.n_data == pytest.approx(d[best], rel=1e-2)
        assert found.training + found.inference == pytest.approx(cost[best], rel=1e-6)
        alone = np.nanargmin(n * d)
        assert found.saved == pytest.approx(cost[alone] / cost[best] - 1, rel=1e-3)
        sizes.append(found.n_params)
    assert sizes[0] > sizes[2] > sizes[1], "the more use counts, the smaller the model"


@pytest.mark.slow
def test_a_model_that_is_used_has_the_interval_of_its_loss_and_says_how_far_it_is():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e9, 4), np.geomspace(2e9, 4e10, 4)))
    noise = np.random.default_rng(0).standard_normal(n.size)
    loss = 1.8172 + 477.83 * n**-0.34731 + 2143.4 * d**-0.36717
    fitted = sl.laws.surface.fit(n, d, loss * np.exp(0.003 * noise))
    found = inference_optimal(fitted, 2.4, 1e11)
    assert tuple(found.loss_interval) == tuple(fitted.interval(n_params=found.n_params, n_data=found.n_data))
    assert found.loss_interval.low < 2.4 < found.loss_interval.high
    assert found.beyond == pytest.approx(found.training / (6 * n * d).max())
    assert found.beyond > 1
    far = f"FLOPs in all, training {found.beyond:.3g} times the largest compute measured, if the exponents"
    assert far in found.summary()
    assert "measured" not in replace(found, beyond=0.5).summary()
    with pytest.raises(NotDetermined, check=because("too_far")):
        inference_optimal(fitted, 1.9, 0.0)  # 1e5 times as far
    open_exponent = sl.laws.surface.fit(n, d, loss * np.exp(0.1 * noise))
    with pytest.raises(NotDetermined, check=because("optimum_open", runs=16)):
        inference_optimal(open_exponent, 2.4, 1e11)


def test_a_loss_below_the_floor_is_refused(surface):
    with pytest.raises(BadInput, match=r"loss=1\.5 "):
        inference_optimal(surface, 1.5, 1e12)
