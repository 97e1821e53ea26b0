"""Settings: what they mean, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from scalinglab import data
from scalinglab.errors import BadInput
from scalinglab.train import run
from scalinglab.train.jobs import build
from scalinglab.train.setting import Setting


def make(**values) -> Setting:
    return Setting.from_dict({"model": "mlp", "dataset": "digits", "steps": 100, **values})


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"learning_rat": 1}, "'learning_rate'"),
        ({"optimizer": "addam"}, "'adam"),
        ({"dataset": "minst"}, "'mnist'"),
        ({"epochs": 3}, "exactly one of"),
        ({"steps": None}, "set by nothing"),
        ({"steps": None, "min_epochs": 3}, "give both"),
        ({"reference_learning_rate": 0.1}, "eq. 17"),
        ({"momentum": 0.9}, "for sgd and nesterov"),
        ({"full_batch": True, "batch_size": 10}, "contradict"),
        ({"learning_rate": -1.0}, "positive"),
        ({"learning_rate": "fast"}, "must be float, not str"),
        ({"batch_size": 12.5}, "must be int"),
        ({"label_noise": 2.0}, "between 0 and 1"),
        ({"label_smoothing": 0.1, "loss": "mse"}, "cross_entropy"),
        ({"measure": ["nrom"]}, "'norm'"),
        ({"data_options": {"dimension": 3}}, "teacher_student"),
        ({"compile": 1}, "must be bool"),
        ({"learning_rate": float("nan")}, "must be finite"),
        ({"dropout": 1.0}, "less than 1"),
        ({"seed": -1}, "from 0"),
        ({"data_seed": 1 << 63}, "from 0"),
        ({"dataset": "teacher_student", "pool": 2}, "for images"),
        ({"dataset": "teacher_student", "normalize": "unit"}, "for images"),
    ],
)
def test_what_is_wrong_is_named_with_the_way_out(values: dict, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        make(**values)


def test_a_setting_without_a_model_says_so() -> None:
    with pytest.raises(BadInput, match="needs 'model'"):
        Setting.from_dict({"dataset": "mnist", "steps": 3})


def test_training_time_follows_park2019_equations_16_and_17() -> None:
    """The paper's own table 1: MNIST, 2LP, batch 16 gives T0 = 412.5k; a tenth of the rate, ten times T."""
    values = {"dataset": "mnist", "n_data": 55_000, "steps": None, "min_epochs": 120, "min_steps": 80_000}
    assert make(**values, batch_size=16).total_steps(55_000) == 412_500
    assert make(**values, batch_size=1024).total_steps(55_000) == 80_000
    scaled = {"reference_learning_rate": 10.0, "batch_size": 16}
    assert make(**values, **scaled, learning_rate=1.0).total_steps(55_000) == 4_125_000
    assert make(**values, **scaled, learning_rate=20.0).total_steps(55_000) == 412_500


def test_epochs_are_rounded_up_to_steps() -> None:
    assert make(steps=None, epochs=3, batch_size=100).total_steps(250) == 8
    assert make(steps=None, epochs=3).total_steps(50) == 3  # smaller than a batch: taken whole


def test_checkpoints_are_log_spaced_shared_and_end_with_the_run() -> None:
    short, long = (make(steps=n, checkpoints_per_decade=5).checkpoints(500) for n in (90, 4000))
    assert short[-1] == 90
    assert set(short[:-1]) <= set(long)
    assert np.all(np.diff(long) > 0)
    ratios = long[12:-1] / long[11:-2]
    assert np.allclose(ratios, 10**0.2, rtol=0.04)


def test_checkpoints_in_epochs_begin_below_one() -> None:
    steps = make(steps=None, epochs=100, checkpoint_unit="epoch", batch_size=50).checkpoints(1000)
    assert steps[0] == 1
    assert {20, 200, 2000} <= set(steps.tolist())  # epochs 1, 10, 100


def test_checkpoints_may_begin_after_an_epoch() -> None:
    whole = make(steps=None, epochs=100, batch_size=50).checkpoints(1000)
    late = make(steps=None, epochs=100, batch_size=50, checkpoints_from=1.0).checkpoints(1000)
    assert late.tolist() == [step for step in whole.tolist() if step >= 20]
    assert make(steps=5, checkpoints_from=1.0).checkpoints(1000).tolist() == [5]  # the last one always


def test_the_name_of_a_run_does_not_depend_on_how_it_was_written() -> None:
    assert make(n_data=data.SOURCES["digits"].n_train).run == make().run
    assert make(batch_size=128, width=1).run == make(width=1.0).run
    assert make(seed=1).run != make().run
    assert make(n_data=np.float64(100), seed=np.int64(3)).run == make(n_data=100, seed=3).run
    assert isinstance(make(n_data=100.0).n_data, int)


def test_sizes_are_those_of_the_data() -> None:
    for name, source in data.SOURCES.items():
        if data.available(name) is not None and name in ("digits", "mnist"):
            assert data.load(name, normalize="none").n_data == source.n_train


def test_one_measurement_need_not_be_a_list() -> None:
    assert make(measure="margin").run == make(measure=["margin"]).run


# --- online ------------------------------------------------------------------------------------------------

ONLINE = {
    "model": "mlp", "dataset": "teacher_student", "data_options": {"dimension": 3, "n_test": 50},
    "loss": "mse", "model_options": {"hidden": 8}, "online": True, "steps": 20, "batch_size": 16,
    "measure": [],
}  # fmt: skip


def test_online_run_sees_every_example_once():
    setting = Setting.from_dict(ONLINE)
    assert setting.n_data == 320
    group = build([setting], torch.device("cpu"))
    group.stream.fill(0, 20)
    seen = group.stream.index(torch.tensor(0), 20).flatten()
    assert len(seen) == 320
    assert len(set(seen.tolist())) == 320
    longer = Setting.from_dict(ONLINE | {"steps": 40})
    assert longer.n_data == 640
    assert longer.run != setting.run
    curves = run(ONLINE, progress=False).frame
    assert curves["epoch"].iloc[-1] == pytest.approx(1)


def test_online_with_the_usual_batch_size_sees_its_examples_once():
    usual = {name: value for name, value in ONLINE.items() if name != "batch_size"}
    assert (
        Setting.from_dict(usual).n_data == Setting.from_dict({**usual, "batch_size": 128}).n_data == 20 * 128
    )


def test_other_pixels_and_other_seeds_of_a_stream_are_other_runs():
    changes = ({}, {"pool": 2}, {"normalize": "none"}, {"data_seed": 1}, {"init_seed": 1}, {"order_seed": 1})
    assert len({make(**change).run for change in changes}) == len(changes)
    assert make(pool=2).identity()["pool"] == 2


def test_the_first_block_of_the_data_has_no_name_and_another_one_has():
    first, second = (make(n_data=100, data_block=block) for block in (0, 1))
    assert "data_block" not in first.identity()
    assert second.identity()["data_block"] == 1


def test_online_is_refused_where_data_end():
    with pytest.raises(BadInput, match="random views"):
        Setting.from_dict({"model": "mlp", "dataset": "digits", "online": True, "steps": 3})
    assert Setting.from_dict(
        {"model": "mlp", "dataset": "digits", "online": True, "steps": 3, "augment": "crop"}
    ).online
    with pytest.raises(BadInput, match="leave n_data out"):
        Setting.from_dict(ONLINE | {"n_data": 100})
    with pytest.raises(BadInput, match="give steps"):
        Setting.from_dict({k: v for k, v in ONLINE.items() if k != "steps"} | {"epochs": 1})
    with pytest.raises(BadInput, match="full_batch"):
        Setting.from_dict({k: v for k, v in ONLINE.items() if k != "batch_size"} | {"full_batch": True})
    with pytest.raises(BadInput, match="do not fit"):
        Setting.from_dict(ONLINE | {"steps": 10**9})
