"""Promises of the laws that a small change of the code would break unseen."""

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.laws import forms
from scalinglab.laws.fitting import statistics
from scalinglab.laws.planning import three_ways


def test_the_best_tokens_per_parameter_are_where_the_overtrained_law_is_lowest():
    form = forms.get("overtrained")
    values = {"E": 1.9, "a": 30.0, "b": 700.0, "eta": 0.16}
    ratios = np.geomspace(1, 1e6, 200_001)
    loss = form((np.full_like(ratios, 1e21), ratios), **values)
    derived = form.derived(values)
    assert derived["best_tokens_per_param"] == pytest.approx(ratios[np.argmin(loss)], rel=1e-3)
    assert derived["alpha"] == 0.32
    # N^-alpha at a fixed number of tokens D: C = 6 N D and M = D/N
    n, d = np.array([1e9, 2e9]), 1e15  # so many tokens that the part of the data is negligible
    part = form((6 * n * d, d / n), E=0.0, a=30.0, b=0.0, eta=0.16)
    assert np.log(part[0] / part[1]) / np.log(2) == pytest.approx(derived["alpha"], abs=1e-9)


@pytest.mark.slow
def test_intervals_of_the_optimum_split_the_same_compute():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e7, 1e9, 4), np.geomspace(1e9, 1e11, 4)))
    noise = np.exp(0.003 * np.random.default_rng(0).standard_normal(n.size))
    fitted = sl.laws.surface.fit(n, d, (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * noise)
    assert fitted.method == "profile"
    best = fitted.compute_optimal([1e20, 1e22])
    (n_low, n_high), (d_low, d_high) = best.n_params_interval, best.n_data_interval
    assert 6 * n_low * d_high == pytest.approx([1e20, 1e22])
    assert 6 * n_high * d_low == pytest.approx([1e20, 1e22])
    assert np.all((n_low < best.n_params) & (best.n_params < n_high))
    low, high = best.loss_interval
    assert np.all((low < best.loss) & (best.loss < high) & (high < 1.1 * best.loss))
    assert best.method == "profile"
    assert fitted.compute_optimal(1e22, intervals=False).method == ""


def test_robust_scale_is_a_corrected_median_and_at_least_half_the_standard_deviation():
    r = np.array([-3.0, -1.0, 1.0, 2.0, 4.0])
    assert statistics.robust_scale(r, 2) == pytest.approx(1.4826 * 2.0 * np.sqrt(5 / 3))
    lonely = np.array([0.0, 0.0, 0.0, 0.0, 10.0])
    assert statistics.robust_scale(lonely, 1) == pytest.approx(0.5 * np.sqrt(20) * np.sqrt(5 / 4))
    assert statistics.robust_scale(r[:2], 5) == pytest.approx(1.4826 * 2.0 * np.sqrt(2))


def test_isoflop_profiles_take_sizes_between_their_own_points_or_near_one():
    n = np.repeat([1e6, 1e7, 1e8], 2)
    compute = np.array([1.0, 100.0, 10.0, 1000.0, 1e4, 1e5])
    loss = np.array([4.0, 2.0, 3.0, 1.0, 5.0, 0.5])
    ((sizes, found), (late, last)) = three_ways.isoflop(n, compute, loss, np.array([10.0, 1030.0]))
    assert sizes.tolist() == [1e6, 1e7]
    assert found == pytest.approx([np.sqrt(4.0 * 2.0), 3.0])  # a power law between two points
    assert late.tolist() == [1e7]
    assert last == pytest.approx([1.0])  # 3 % beyond its last point
    ((sizes, _),) = three_ways.isoflop(n, compute, loss, np.array([1100.0]))
    assert sizes.size == 0  # 10 % beyond


def test_budgets_are_those_of_the_design_where_they_are_repeated():
    design = np.repeat([1e18, 1e19, 1e20], 4) * np.tile([0.99, 1.0, 1.0, 1.01], 3)
    assert three_ways.default_budgets(design) == pytest.approx([1e18, 1e19, 1e20], rel=1e-3)
    few = np.repeat([1e18, 1e19, 1e20], 3)
    spread = three_ways.default_budgets(few)
    assert len(spread) == 12
    assert (spread[0], spread[-1]) == pytest.approx(tuple(np.exp(np.quantile(np.log(few), [0.1, 0.9]))))
