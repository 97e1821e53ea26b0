"""The figures on linear models, at the scale that runs on bundled data."""

import numpy as np
import pytest

from scalinglab.papers import registry
from scalinglab.papers.bahri2021 import learned_features, linear, random_features, targets


def agreeing(key):
    made = registry.entry(key).function()("smoke")
    assert made.figure is not None
    assert len(made.curves.frame)
    return {row.quantity: row for row in made.table}


def test_exponent_and_its_error_are_those_of_the_draws():
    """Lognormal draws around D^-0.7: the interval of two errors covers 0.7 in most of 40 repeats."""
    sizes = np.array([10.0, 20, 40, 80])
    covered = 0
    for seed in range(40):
        noise = np.random.default_rng(seed).normal(size=(25, 4))
        found = linear.exponent(sizes, sizes**-0.7 * np.exp(0.1 * noise))
        covered += abs(found.value - 0.7) < 2 * found.stderr
    assert covered >= 34


def test_population_eigenvalues_undo_most_of_the_bias_of_sampling():
    rng = np.random.default_rng(0)
    lam = np.arange(1, 2001) ** -1.3
    x = rng.normal(size=(400, 2000)) * np.sqrt(lam)
    sampled = np.linalg.eigvalsh(x @ x.T / 400)[::-1]
    k = slice(9, 40)
    before = np.abs(sampled[k] / lam[k] - 1).mean()
    after = np.abs(linear.population_eigenvalues(sampled)[k] / lam[k] - 1).mean()
    assert after < 0.5 * before
    assert after < 0.06


def test_fig3_shows_all_four_regimes_on_the_bundled_digits():
    rows = agreeing("bahri2021/fig3")
    variance = [row for name, row in rows.items() if name.startswith("variance")]
    resolution = [row for name, row in rows.items() if name.startswith("resolution")]
    assert len(variance) == len(resolution) == 4
    for row in variance:
        assert row.measured == pytest.approx(1, abs=0.1 + 2 * row.error)
    for row in resolution:
        assert row.measured == pytest.approx(row.paper, abs=0.15)


def test_fig4_comes_from_the_same_measurement():
    random_features.measured("smoke")
    assert all(row.agrees is not None for row in agreeing("bahri2021/fig4-left").values())
    assert all(0.2 < row.measured < 1.5 for row in agreeing("bahri2021/fig4-right").values())


def test_learned_features_show_duality_and_the_variance_limited_exponent_with_a_tuned_ridge():
    rows = agreeing("bahri2021/figS6")
    assert rows["largest ratio of the two curves, tuned ridge"].agrees
    rows = agreeing("bahri2021/figS7")
    for name in ("variance-limited in data, tuned ridge", "variance-limited in features, tuned ridge"):
        assert rows[name].measured == pytest.approx(1, abs=0.2 + 2 * rows[name].error)


def test_teacher_coefficients_are_constant_and_real_ones_are_not():
    rows = agreeing("bahri2021/figS8")
    teacher = [row for name, row in rows.items() if "teacher's ω̄²" in name]
    assert len(teacher) == len(targets.kernels("smoke"))
    assert all(abs(row.measured) < 0.1 for row in teacher)


def test_network_learns_the_classes_it_is_shown():
    data = learned_features.load("digits")
    model = learned_features.trained_network(data, hidden=64, epochs=15)
    known = data.test_y < learned_features.KNOWN
    import torch

    with torch.no_grad():
        guessed = model(torch.as_tensor(data.inputs("test")[known])).argmax(1).numpy()
    assert np.mean(guessed == data.test_y[known]) > 0.95
    assert learned_features.penultimate(model, data.inputs("test")[:5]).shape == (5, 64)


def test_matern_kernels_on_spheres_follow_t_over_d():
    rows = agreeing("bahri2021/fig2-right")
    for name, row in rows.items():
        if "Matérn" in name or "nearest" in name:
            assert row.measured == pytest.approx(row.paper, abs=0.15 * row.paper + 2 * row.error)
