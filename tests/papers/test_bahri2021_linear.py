"""The figures on linear models: what they claim holds at the scale that runs on bundled data."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.random_features import nested_loss
from scalinglab.spectrum import Spectrum
from scalinglab.spectrum.samples import population_eigenvalues, unresolved_eigenvalue
from scalinglab_papers.bahri2021 import learned_features, linear, random_features, targets
from tests.papers.smoke_records import recorded


def test_exponent_and_its_error_are_those_of_the_draws():
    """Lognormal draws around D^-0.7: the interval of two errors covers 0.7 in most of 40 repeats."""
    sizes = np.array([10.0, 20, 40, 80])
    covered = 0
    for seed in range(40):
        noise = np.random.default_rng(seed).normal(size=(25, 4))
        found = linear.exponent(sizes, sizes**-0.7 * np.exp(0.1 * noise))
        covered += abs(found.value - 0.7) < 2 * found.stderr
    assert covered >= 34


@pytest.mark.parametrize("exponent", [1.3, 1.6])
def test_population_eigenvalues_undo_most_of_the_bias_of_sampling(exponent: float):
    rng, n, modes = np.random.default_rng(0), 600, 2000
    lam = np.arange(1, modes + 1) ** -exponent
    x = rng.normal(size=(n, modes)) * np.sqrt(lam)
    beyond = modes ** (1 - exponent) / (exponent - 1)  # modes far beyond n act as a ridge
    sampled = np.linalg.eigvalsh(x @ x.T / n + beyond / n * np.eye(n))[::-1]
    found, k = population_eigenvalues(sampled, n), slice(9, 75)
    assert len(found) == 75
    less = sampled - unresolved_eigenvalue(sampled)  # the correction to zeroth order in k/n
    before, zeroth, after = (np.abs(v[k] / lam[k] - 1).mean() for v in (sampled, less, found))
    assert max(zeroth, after) < 0.5 * before
    assert max(zeroth, after) < 0.04


def test_the_record_of_fig3_says_that_both_regimes_of_the_digits_are_variance_limited():
    rows = recorded("bahri2021/fig3")
    assert len(rows) == 8
    for row in rows.values():  # exponents and coefficients of 1/size: both are 1
        assert row.measured == pytest.approx(1, abs=4 * row.stderr)
        assert row.stderr < 0.05


def test_the_record_of_fig4_says_that_resolution_exponents_are_those_of_s12_at_equal_sizes():
    rows = recorded("bahri2021/fig4-left")
    assert len(rows) == 4
    for row in rows.values():
        assert row.measured == pytest.approx(row.expected, abs=4 * row.stderr)
        assert row.stderr < 0.05 * row.expected
    rows = recorded("bahri2021/fig4-right")
    assert all(row.n == 4 for row in rows.values())


def test_s12_at_equal_sizes_predicts_sampling_a_population_exactly():
    """A random orthogonal basis: S12 and the n/(n − D) of unseen inputs hold to 1/D."""
    random = np.random.default_rng(0)
    values = np.arange(1, 401) ** -1.5
    basis = np.linalg.qr(random.standard_normal((400, 400)))[0]
    sizes = np.array([20, 40, 80, 160])
    losses = nested_loss(400 * (basis * values) @ basis.T, sizes, draws=60)
    found = linear.exponent(sizes, losses)
    assert found.stderr < 0.01
    assert found.value == pytest.approx(linear.expected_exponent(sizes, values), abs=4 * found.stderr)
    assert abs(found.value - linear.expected_exponent(sizes, values, unseen=False)) > 10 * found.stderr


def test_the_records_of_learned_features_say_that_a_tuned_ridge_shows_duality():
    rows = recorded("bahri2021/figS6")
    for name in ("loss at 96 examples over that at 96 features, tuned ridge",
                 "loss at 48 examples over that at 48 features, tuned ridge"):  # fmt: skip
        assert rows[name].measured == pytest.approx(1, abs=4 * rows[name].stderr)
    rows = recorded("bahri2021/figS7")
    for name in ("variance-limited in data, tuned ridge", "variance-limited in features, tuned ridge"):
        assert rows[name].measured == pytest.approx(1, abs=4 * rows[name].stderr)


def test_the_record_of_figs8_says_that_teacher_and_real_targets_follow_s12_and_judges_their_order():
    rows = recorded("bahri2021/figS8")
    for row in rows.values():
        if row.relation == "=":
            assert row.measured == pytest.approx(row.expected, abs=4 * row.stderr + 0.02)
    verdicts = [row.verdict for name, row in rows.items() if "less that of real" in name]
    assert sorted(verdicts) == ["agrees", "cannot tell", "disagrees"]


def test_coefficients_are_drawn_relative_to_their_mean_up_to_the_end_of_the_window():
    eigenvalues = np.arange(1.0, 101.0) ** -1.5
    weights = np.linspace(9.0, 1.0, 100)
    spectrum = Spectrum(eigenvalues, weights * eigenvalues)
    axis = style.panels(1, 1)[1][0, 0]
    targets.draw_coefficients(axis, dict.fromkeys(targets.KINDS, spectrum), (11, 40))
    np.testing.assert_allclose(axis.lines[0].get_ydata(), weights / weights[:40].mean())


def test_network_learns_the_classes_it_is_shown():
    data = learned_features.load("digits")
    s = replace(
        learned_features.SCALES["smoke"], network={"name": "mlp", "depth": 2, "hidden": 64}, epochs=15
    )
    model = learned_features.trained_network(data, s)
    known = data.test_y < learned_features.KNOWN
    import torch

    with torch.no_grad():
        guessed = model(torch.as_tensor(data.inputs("test")[known])).argmax(1).numpy()
    assert np.mean(guessed == data.test_y[known]) > 0.95
    assert learned_features.penultimate(model, data.inputs("test")[:5]).shape == (5, 64)


def test_the_record_of_kernels_on_spheres_says_that_they_follow_s12_and_matern_ones_t_over_d():
    rows = recorded("bahri2021/fig2-right-kernels")
    for name, row in rows.items():
        if "S12" in name:
            assert row.measured == pytest.approx(row.expected, abs=4 * row.stderr)
        elif "Matérn" in name:
            assert row.measured == pytest.approx(row.paper, abs=0.15 * row.paper + 2 * row.stderr)


@pytest.mark.parametrize("theorem", [1, 2])
def test_the_records_of_the_theorems_say_that_nearest_neighbours_have_their_exponents(theorem: int):
    rows = recorded(f"bahri2021/theorem{theorem}").values()
    assert {row.paper for row in rows} == {1, 2, 1 / 2, 1 / 3, 2 / 3}
    for row in rows:
        assert row.measured == pytest.approx(row.paper, abs=4 * row.stderr)
        assert row.stderr < 0.03 * row.paper


def test_an_exponent_that_is_limited_by_variance_leaves_the_smallest_size_out():
    """There the 1/size² term bends the curve; where resolution limits, every size counts."""
    sizes = np.array([16, 32, 64, 128])
    excess = 1 / sizes + np.where(sizes == 16, 1.0, 0.0)
    for regime, expected in (
        (random_features.VARIANCE[0], 1.0),
        (random_features.RESOLUTION[0], -np.polyfit(np.log(sizes), np.log(excess), 1)[0]),
    ):
        losses = pd.DataFrame(
            [{"regime": regime, "pool": 1, "draw": draw, "n_data": size, "test_loss": excess[k]}
             for draw in range(4) for k, size in enumerate(sizes)]
        )  # fmt: skip
        found = random_features.exponents_of(
            Curves(losses, settings=["pool", "regime", "draw"]), regime, (1,)
        )
        assert found[1].value == pytest.approx(expected)
