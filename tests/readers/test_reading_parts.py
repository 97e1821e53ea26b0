"""Parts of reading: which runs are the same, settings under standard names, seeds that are text."""

from pathlib import Path

import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.readers.logs import _standard_settings
from scalinglab.readers.taking import _same, take_in


def table(**columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame(columns)


OLD = table(step=[1, 2], loss=[0.5, 0.4])


@pytest.mark.parametrize(
    ("new", "same"),
    [
        (OLD, True),
        (table(step=[1, 2, 3], loss=[0.5, 0.4, 0.3]), True),  # it has grown
        (table(step=[1, 2, 3], loss=[0.5, 0.41, 0.3]), False),
        (table(step=[2, 1], loss=[0.4, 0.5]), True),
        (table(step=[3, 4], loss=[0.5, 0.4]), False),  # nothing in common
        (table(step=[1, 2], loss=[0.5, float("nan")]), True),
        (table(epoch=[1, 2], loss=[0.5, 0.4]), True),  # without a common progress: row by row
        (table(epoch=[1, 2], loss=[0.4, 0.5]), False),
        (table(epoch=[1, 2, 3], loss=[0.5, 0.4, 0.3]), True),
    ],
)
def test_runs_are_the_same_where_their_numbers_agree_at_the_same_checkpoints(new: pd.DataFrame, same: bool):
    assert _same(OLD, new) == same
    assert _same(new, OLD) == same


def test_a_progress_without_values_does_not_tell_checkpoints_apart():
    empty = OLD.assign(step=float("nan"))
    assert _same(empty, empty)
    assert not _same(empty, empty.assign(loss=[0.5, 0.6]))


def test_runs_are_added_updated_or_left_and_another_of_the_same_name_gets_a_number(tmp_path: Path):
    def curves(*losses: float) -> sl.Curves:
        steps = range(1, len(losses) + 1)
        return sl.Curves(pd.DataFrame({"run": "version_0", "n_data": 10, "step": steps, "loss": losses}))

    for losses, added, updated, unchanged in (
        ((0.5, 0.4), ["version_0"], [], []),
        ((0.5, 0.4), [], [], ["version_0"]),
        ((0.5,), [], [], ["version_0"]),
        ((0.5, 0.4, 0.3), [], ["version_0"], []),
        ((0.9, 0.8), ["version_0-2"], [], []),
        ((0.7, 0.6), ["version_0-3"], [], []),
        ((0.9, 0.8), [], [], ["version_0-2"]),
    ):
        taken = take_in(curves(*losses), tmp_path)
        assert (taken.added, taken.updated, taken.unchanged) == (added, updated, unchanged)


def test_settings_have_standard_names_where_they_are_the_only_ones_and_of_the_right_kind():
    names: dict[str, str] = {}
    config = {"optim.lr": 0.1, "optimizer": {"name": "sgd"}, "model_name": 3, "a.bs": 8, "b.bs": 16}
    found = _standard_settings(config, names)
    assert found["learning_rate"] == 0.1
    assert names == {"optim.lr": "learning_rate"}
    assert found["model_name"] == 3  # a model is named by a word
    assert {"a.bs", "b.bs"} <= set(found)  # which of them is the batch size is not known


def test_seeds_written_as_text_are_numbers_and_seeds_beyond_64_bits_stay_apart(tmp_path: Path):
    path = tmp_path / "runs.csv"
    for first, thousands in ((1000, ","), (2**70, "")):
        seeds = [first + k for k in range(4)]
        rows = (f'{100 * 2**k},"{seed:{thousands}}",0.5' for k, seed in enumerate(seeds))
        path.write_text("\n".join(["n_data,seed,test_loss", *rows]))
        assert [int(seed) for seed in sl.read(path).frame["seed"]] == seeds
