"""The records of the perceptron figures say what the theory says."""

from __future__ import annotations

import numpy as np
import pytest

from scalinglab.errors import BadInput
from scalinglab.simulate import perceptron as simulate
from scalinglab.studies import entry
from scalinglab_papers.damico2025 import perceptron, scaling
from tests.papers.smoke_records import recorded


def test_optimum_is_linear_in_load_and_close_to_bayes_but_not_equal():
    table = recorded("damico2025/fig2b")
    assert table["exponent of λ_opt(α) as α → ∞"].verdict == "agrees"
    gaps = [row for name, row in table.items() if name.startswith("ε_opt/ε_Bayes")]
    assert len(gaps) == 3
    assert all(1e-5 < row.measured < 1e-3 and row.verdict == "disagrees" for row in gaps)


def test_collapse_is_perfect_at_infinite_load_only():
    table = recorded("damico2025/fig2b")
    limits = [row for name, row in table.items() if name.endswith("α → ∞") and "distance" in name]
    assert [row.verdict for row in limits] == ["agrees", "agrees"]
    near = [table[f"the same, λ ≥ λ_opt, at load {load}"] for load in (1, 10)]
    assert [row.verdict for row in near] == ["disagrees", "disagrees"]
    assert near[1].measured < 0.1 * near[0].measured


def test_combined_law_has_its_two_thresholds_and_three_regimes():
    begins, saturates = scaling.thresholds(**scaling.FIG5)
    assert begins == pytest.approx(1000)
    low, middle, high = scaling.combined_law(np.array([1e-3, 3e4, 1e15]), **scaling.FIG5)
    assert low == pytest.approx(50 * 1000**-0.6 + 0.01)
    assert middle == pytest.approx(50 * 3e4**-0.6, rel=0.12)
    assert high == pytest.approx(0.01, rel=1e-3)
    assert 50 * saturates**-0.6 == pytest.approx(0.01)  # the power law meets the floor at P₊
    made = entry("damico2025/fig5").function()("smoke")
    assert made.figure is not None
    assert len(made.curves) > 0


def test_margins_of_random_labels_narrow_towards_gardners_stability():
    table = recorded("damico2025/fig6-left")
    assert [row.verdict for row in table.values()][:3] == ["agrees"] * 3
    assert abs(table["simulated mean margins over theory − 1"].sigmas) < 4


def test_relative_error_exponents_combine_to_that_of_the_optimum():
    table = recorded("damico2025/talk-relative-error")
    assert [row.verdict for row in table.values()] == ["agrees"] * 2


@pytest.mark.parametrize("key", ["fig1", "fig2a"])
def test_simulated_students_lie_on_the_theory(key):
    table = recorded(f"damico2025/{key}")
    deviation = next(row for name, row in table.items() if "over theory − 1" in name)
    assert abs(deviation.sigmas) < 4
    assert deviation.stderr < 0.05


@pytest.mark.slow
def test_margins_at_gpu_scale_are_those_of_all_seeds(monkeypatch):
    """The path of the code at sizes of a CPU: one seed after another gives what all at once give."""
    pytest.importorskip("torch")
    monkeypatch.setitem(perceptron.FIG6, "gpu", (80, 5))
    monkeypatch.setattr(perceptron, "device", lambda scale: "cpu")
    made = perceptron.fig6_left("gpu")
    together = simulate.fixed_norm(
        simulate.draw(0.4, 80, 5, labels="random"), perceptron.FIG6_SHARPNESSES
    ).frame.sort_values(["seed", "sharpness"])
    simulated = made.curves.select(source="simulate").frame.sort_values(["seed", "sharpness"])
    np.testing.assert_allclose(simulated["margin_mean"], together["margin_mean"], rtol=1e-6)
    histogram = next(line for line in made.figure.axes[0].containers if "simulated" in line.get_label())
    assert histogram.get_label().endswith("N = 80")
    height = histogram[0].get_ydata()
    assert height.sum() * 4.5 / 45 == pytest.approx(1, abs=0.01)  # the density of all margins, 0.1 a bin
    assert all(row.verdict != "disagrees" for row in made.table)


@pytest.mark.parametrize("key", ["fig1", "fig2a", "fig6-left"])
def test_gpu_scale_without_a_gpu_is_refused(key):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(BadInput, match="CUDA"):
        entry(f"damico2025/{key}").function()("gpu")
