import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scalinglab.curves import Curves
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.learning_curves.collapse import collapse
from scalinglab.laws.learning_curves.dynamical import dynamical
from scalinglab.laws.learning_curves.mean_curves import size_curves
from scalinglab.laws.learning_curves.shape import optimum
from tests.laws.synthetic import family

SIZES = (500, 1000, 2000, 4000, 8000, 16000, 32000)
DATA = Path(os.environ.get("SCALINGLAB_DATA", Path(__file__).parents[3] / "shared" / "data"))
# the talk's table: γ_measured and σ
PUBLISHED = {
    "cnn-mnist": (0.55, 0.09),
    "cnn-cifar10": (0.25, 0.07),
    "resnet-mnist": (0.69, 0.08),
    "resnet-cifar10": (0.56, 0.04),
    "vit-cifar100": (0.12, 0.04),
}


@pytest.mark.parametrize(  # overfitting and saturating curves
    ("gamma_1", "gamma_2", "rise"),
    [(0.5, 1.0, 0.1), (0.3, 1.4, 0.0), pytest.param(1.0, 0.5, 0.1, marks=pytest.mark.slow)],
)
def test_known_exponents_are_recovered(gamma_1, gamma_2, rise):
    found = dynamical(family(SIZES, gamma_1, gamma_2, rise))
    assert found.gamma_measured.value == pytest.approx(gamma_1 * gamma_2, abs=0.01)
    assert found.gamma_2.value == pytest.approx(gamma_2, rel=0.02)
    assert found.gamma_1.value == pytest.approx(gamma_1, rel=0.1)
    assert found.collapse_from == SIZES[0]


def test_the_interval_of_gamma_2_is_students_of_a_line_through_the_sizes():
    found = dynamical(family(SIZES, 0.5, 1.0, 0.1)).gamma_2
    assert (found.high - found.value) / found.stderr == pytest.approx(stats.t.ppf(0.975, len(SIZES) - 2))


def test_a_tiny_exponent_over_many_decades_of_norm_is_recovered():
    """Vision transformers have norms over forty decades: γ₁ = 0.005, γ₂ = 30."""
    found = dynamical(family(SIZES, 0.005, 30.0, 0.001, points=60))
    assert found.gamma_measured.value == pytest.approx(0.15, rel=0.05)
    assert found.gamma_predicted.value == pytest.approx(0.15, rel=0.15)


def test_a_norm_that_hardly_varies_has_no_exponent():
    """Curves that fall while the norm changes by a few percent gave γ₁ = 57."""
    curves = family(SIZES, 0.5, 1.0, 0.1)
    with pytest.raises(NotDetermined, match="fall while x changes by a factor of 1"):
        dynamical(curves.assign(norm=curves["norm"] ** 0.01))


@pytest.mark.slow
def test_noise_and_spikes_move_the_exponents_by_no_more_than_their_errors_say():
    """Ten noisy families: the error of γ₂ covers the truth about as often as one standard error should."""
    pulls = []
    for seed in range(10):
        found = dynamical(family(SIZES, noise=0.03, spikes=0.05, seed=seed))
        pulls.append((found.gamma_2.value - 1.0) / found.gamma_2.stderr)
        assert found.gamma_measured.value == pytest.approx(0.5, abs=0.03)
        assert found.gamma_predicted.value == pytest.approx(0.5, abs=0.08)
    assert np.mean(np.abs(pulls) < 2.0) >= 0.7
    assert np.mean(np.abs(pulls) < 0.05) <= 0.5  # errors are not huge either


@pytest.mark.slow
def test_many_seeds_of_eight_sizes_work_as_the_digits_of_the_demo():
    """Test errors quantised to 1/360, four seeds, checkpoints whose norms differ from run to run."""
    sizes = (20, 40, 80, 160, 320, 640, 960, 1280)
    table = family(sizes, 0.6, 0.8, 0.05, seeds=4, noise=0.03, points=30, seed=1)
    table["test_error"] = np.round(table["test_error"] * 360) / 360
    curves = Curves(table)
    found = dynamical(curves)
    assert found.gamma_measured.value == pytest.approx(0.48, abs=0.06)
    assert found.gamma_predicted.value == pytest.approx(0.48, abs=0.1)
    assert np.all(found.table["x_optimum_low"] <= found.table["x_optimum_high"])
    master = collapse(curves)
    assert master.holds_from is not None
    assert "gamma_predicted" in found.summary()
    assert "quality" in master.summary()


@pytest.mark.slow
def test_the_optimum_of_a_noisy_parabola_is_found_within_its_interval():
    """Runs with their own noise: one standard error holds the true minimum in most families."""
    inside = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        x = np.linspace(-2, 2, 31)
        rows = [
            {"n_data": n, "seed": s, "norm": np.exp(a), "test_error": 0.1 * np.exp(0.3 * a**2 + 0.02 * e)}
            for n in (1, 2, 3)
            for s in range(8)
            for a, e in zip(x, random.standard_normal(31))
        ]
        for curve in size_curves(pd.DataFrame(rows), "norm", "test_error", "n_data"):
            best = optimum(curve, random)
            inside.append(best.x_low - 0.07 <= 0.0 <= best.x_high + 0.07)  # one knot either way
            assert best.kind == "overfits"
    assert np.mean(inside) > 0.6


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_curves_give_the_talks_exponents(name):
    path = DATA / "learning-curves" / "damico2025" / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"the published curves are not at {path}; set SCALINGLAB_DATA")
    measured, sigma = PUBLISHED[name]
    found = dynamical(pd.read_csv(path))
    assert found.gamma_measured.value == pytest.approx(measured, abs=0.01)
    assert abs(found.gamma_predicted.value - found.gamma_measured.value) <= sigma


def test_bad_input_is_named():
    table = family(SIZES)
    with pytest.raises(BadInput, match="'norm'"):
        dynamical(table, x="nrm")
    with pytest.raises(BadInput, match="at least 3"):
        dynamical(table[table["n_data"] <= 1000])
    with pytest.raises(BadInput, match=r"'model' \(a, b\)"):
        dynamical(pd.concat([table.assign(model="a"), table.assign(model="b")]))
    noise = np.exp(0.1 * np.random.default_rng(0).standard_normal(len(table)))
    with pytest.raises(BadInput, match="0 of 7 sizes"):
        dynamical(table.assign(test_error=0.1 * noise))


@pytest.mark.parametrize("name", ["data_seed", "Seed"])
def test_repeats_are_averaged_whichever_seed_was_varied(name):
    table = family(SIZES, seeds=2, noise=0.01)
    ours, theirs = dynamical(table), dynamical(table.rename(columns={"seed": name}))
    pd.testing.assert_frame_equal(ours.table, theirs.table)


def test_a_seed_that_reaches_zero_error_still_counts_in_the_mean():
    table = family(SIZES, seeds=2)
    last = table["step"] == table["step"].max()
    table.loc[last & (table["seed"] == 0), "test_error"] = 0.0
    curve = size_curves(table, "norm", "test_error", "n_data")[0]
    assert curve.dropped == 0
    assert curve.y[-1] < curve.y[-3] - 0.2
    assert np.isfinite(dynamical(table).gamma_2.value)


def test_rows_that_cannot_stand_on_log_axes_are_left_out_and_counted():
    table = family(SIZES)
    table.loc[3, "test_error"] = np.nan
    table.loc[4, "test_error"] = 0.0
    assert size_curves(table, "norm", "test_error", "n_data")[0].dropped == 2
    assert dynamical(table).gamma_2.value == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("drift", [0.0, 0.1, -0.1])
def test_early_slopes_that_drift_with_size_are_noted(drift):
    """Curves that fall as a power law of the norm up to their optimum, with a power that depends on size."""
    rng, parts = np.random.default_rng(0), []
    for size in SIZES[:5]:
        power = 0.5 + drift * np.log(size / 2000) + 0.01 * rng.standard_normal()
        z = np.geomspace(0.01, 1, 40)
        parts.append(pd.DataFrame({"n_data": size, "norm": size * z, "test_error": z**-power / size**0.5}))
    notes = dynamical(pd.concat(parts)).notes
    assert [note.code for note in notes] == ["early_slopes_drift"] * (drift != 0)
    assert all(note.details["trend"] * drift > 0 for note in notes)
    assert all((note.details["last"] - note.details["first"]) * drift > 0 for note in notes)
