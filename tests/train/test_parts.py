"""Sets in several parts, and blocks of a permutation: what a run is trained and tested on."""

import numpy as np
import pytest

import scalinglab as sl
from scalinglab import data
from scalinglab.errors import BadInput
from scalinglab.train.jobs import build

torch = pytest.importorskip("torch")

STUDENT = {
    "model": "mlp", "dataset": "teacher_student", "loss": "mse", "model_options": {"hidden": 8}, "n_data": 64,
    "steps": 20, "batch_size": 16, "measure": (), "checkpoints_per_decade": 2,
}  # fmt: skip
OPTIONS = {"dimension": 2, "n_data": 100, "n_test": 50, "width": 8}


def test_each_part_is_the_data_of_its_own_teacher():
    both = data.teacher_student(**OPTIONS, teachers=2, seed=3)
    for part in (0, 1):
        alone = data.teacher_student(**OPTIONS, seed=3 + part)
        chosen = both.order(part)
        assert np.array_equal(both.train_x[chosen], alone.train_x[alone.order(part)])
        assert np.array_equal(both.test_y[both.test_rows(part)], alone.test_y)
        assert np.array_equal(both.subset(40, part).train_y, alone.subset(40, part).train_y)
    assert both.n_data == 100


@pytest.mark.slow
def test_runs_of_several_teachers_train_together_as_they_do_alone():
    together = sl.train.run_many(
        [{**STUDENT, "data_options": {**OPTIONS, "teachers": 3}, "seed": seed} for seed in (0, 1, 2, 4)],
        progress=False,
    )
    for seed in (0, 1, 2, 4):
        teacher = {**OPTIONS, "seed": seed % 3}
        alone = sl.train.run({**STUDENT, "data_options": teacher, "seed": seed}, progress=False).frame
        same = together.select(seed=seed).frame
        for column in ("train_loss", "test_loss"):
            np.testing.assert_allclose(same[column], alone[column], rtol=2e-4)
    last = together.frame.query("step == 20")["test_loss"]
    assert last.nunique() == 4


def test_a_part_has_no_more_examples_than_its_own():
    with pytest.raises(BadInput, match="n_data=101"):
        sl.train.run({**STUDENT, "n_data": 101, "data_options": {**OPTIONS, "teachers": 3}}, progress=False)


def test_a_set_that_does_not_divide_is_refused():
    whole = data.teacher_student(**OPTIONS)
    with pytest.raises(BadInput, match="3 equal parts"):
        data.Dataset(**{**vars(whole), "parts": 3})


def test_blocks_of_one_seed_partition_its_permutation():
    settings = [
        sl.train.Setting(model="mlp", dataset="digits", n_data=359, data_block=block, data_seed=5, steps=1)
        for block in range(4)
    ]
    group = build(settings, torch.device("cpu"))
    seen = np.concatenate([subset.numpy() for subset in group.stream.subsets])
    assert np.array_equal(seen, data.load("digits").order(5)[: 4 * 359])


def test_the_first_block_is_the_run_without_one():
    plain = {"model": "mlp", "dataset": "digits", "n_data": 10, "steps": 1}
    assert sl.train.Setting(**plain, data_block=0).run == sl.train.Setting(**plain).run
    assert sl.train.Setting(**plain, data_block=1).run != sl.train.Setting(**plain).run
    with pytest.raises(BadInput, match="n_data=1000 in block 1"):
        sl.train.run({**plain, "n_data": 1000, "data_block": 1}, progress=False)
    with pytest.raises(BadInput, match="data_block=-1"):
        sl.train.Setting(**plain, data_block=-1)
