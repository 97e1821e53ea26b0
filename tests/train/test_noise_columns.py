"""Every run carries its noise scales and the paper's width."""

import pytest

import scalinglab as sl
from scalinglab.sgd_noise import columns
from tests.sweep.here import open_pool

SETTING = {
    "model": "mlp", "dataset": "digits", "n_data": 200, "width": 0.125, "depth": 1, "steps": 2, "measure": [],
    "optimizer": "nesterov", "learning_rate": 0.5, "batch_size": 20, "parameterization": "ntk",
}  # fmt: skip


def test_a_run_has_noise_scales_and_widening_factor_as_columns():
    one = sl.train.run(SETTING, device="cpu", progress=False)
    assert one["noise_scale"] == pytest.approx(0.5 * 200 / (20 * 0.1))
    assert one["normalized_noise_scale"] == pytest.approx(50 / 2)
    assert one["widening_factor"] == pytest.approx(16)


def test_a_sweep_keeps_them_in_its_store_without_renaming_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("scalinglab.sweep.driver.open_pool", open_pool)
    grid = sl.sweep.Grid(setting=SETTING, seeds=1)
    kept = sl.sweep.run(grid, tmp_path, workers=1, progress=False)
    assert kept["normalized_noise_scale"] == pytest.approx(25)
    assert sl.read(tmp_path)["noise_scale"] == pytest.approx(50)
    assert kept.runs == [sl.train.Setting(**SETTING).run]


def test_standard_networks_count_the_width_in_the_units_of_the_paper():
    own = {**SETTING, "parameterization": "standard", "model_options": {"hidden": 64}, "momentum": 0.9}
    assert columns(own)["normalized_noise_scale"] == pytest.approx(50 * 8 / 2)
    assert columns({**own, "model": "lenet", "width": 6.0})["normalized_noise_scale"] == pytest.approx(50 * 3)
    as_text = {**own, "model_options": '{"hidden": 64}'}
    assert columns(as_text) == columns(own)
    torch_like = {**own, "initialization": "torch"}
    assert columns(torch_like)["normalized_noise_scale"] == pytest.approx(50 * 8 * 3)


@pytest.mark.parametrize(
    ("changed", "defined"),
    [
        ({"optimizer": "adam"}, {"widening_factor"}),
        ({"batch_size": None, "full_batch": True}, {"widening_factor"}),
        ({"parameterization": "mup"}, {"widening_factor", "noise_scale"}),
        ({"initialization": "customary"}, {"widening_factor", "noise_scale"}),
    ],
)
def test_what_is_not_defined_is_left_out(changed, defined):
    assert set(columns({**SETTING, **changed})) == defined
