"""Parts of reading: runs that are the same, standard names of settings, seeds that are text, cut lines."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.readers import ReadingWarning, logs
from scalinglab.readers.into_store import same_numbers, take_in
from scalinglab.readers.logs import standard_settings
from scalinglab.readers.tables import headers, markup
from scalinglab.readers.tables.files import read_file
from scalinglab.readers.tables.remarks import is_time
from scalinglab.readers.tables.runs import constant_settings, distinguish, seen_name


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
    assert same_numbers(OLD, new) == same
    assert same_numbers(new, OLD) == same


def test_a_progress_without_values_does_not_tell_checkpoints_apart():
    empty = OLD.assign(step=float("nan"))
    assert same_numbers(empty, empty)
    assert not same_numbers(empty, empty.assign(loss=[0.5, 0.6]))


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
    found = standard_settings(config, names)
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


# --- tables ------------------------------------------------------------------------------------------------


def test_settings_that_change_are_followed_and_those_that_were_logged_once_are_filled_in():
    frame = table(learning_rate=[0.1, 0.01, 0.2], width=[2, float("nan"), 4], depth=[1, 1, 2])
    frame["run"] = ["a", "a", "b"]
    found, notes = constant_settings(frame)
    assert found["current_learning_rate"].tolist() == [0.1, 0.01, 0.2]
    assert found["learning_rate"].tolist() == [0.1, 0.1, 0.2]
    assert found["width"].tolist() == [2, 2, 4]
    assert found["depth"].tolist() == [1, 1, 2]
    assert notes == [
        "learning_rate changes within runs: current_learning_rate, and learning_rate its highest"
    ]
    momentum, notes = constant_settings(table(momentum=[0.5, 0.9]).assign(run="a"))
    assert momentum.columns.tolist() == ["current_momentum", "run"]
    both = frame.assign(current_learning_rate=1.0)
    assert constant_settings(both)[1] == []  # it is followed already


def test_a_rate_that_decays_along_one_training_tells_no_runs_apart(tmp_path: Path):
    """Each step has a rate of its own; searches of rates, whose steps recur, are runs."""
    path, steps = tmp_path / "cosine.csv", np.arange(100, 1300, 100)
    one = pd.DataFrame({"step": steps, "lr": 3e-4 * np.cos(steps / 1000), "loss": 3 + 50 / steps})
    one.to_csv(path, index=False)
    frame = sl.read(path).frame
    assert frame["run"].nunique() == 1
    assert frame["current_learning_rate"].tolist() == pytest.approx(one["lr"].tolist())
    pd.concat([one.assign(lr=rate) for rate in (1e-4, 3e-4, 1e-3)]).to_csv(path, index=False)
    assert sl.read(path).frame["run"].nunique() == 3
    one.assign(step=steps[::-1]).to_csv(path, index=False)  # the best step of each rate
    assert sl.read(path).frame["run"].nunique() == len(one)


@pytest.mark.parametrize(
    ("theirs", "columns", "name"),
    [("tokens_seen", [], "tokens"), ("Tok", [], "tokens"), ("D", [], "tokens"), ("images", [], "examples"),
     ("images", ["examples"], "tokens"), (None, [], "examples")],
)  # fmt: skip
def test_data_that_grow_are_tokens_or_examples_by_the_name_of_their_column(theirs, columns, name):
    names = {"rate": "learning_rate"} | ({theirs: "n_data"} if theirs else {})
    assert seen_name(pd.DataFrame(columns=columns), names) == name


def test_numbers_that_are_constant_in_every_piece_tell_pieces_of_one_setting_apart():
    frame = table(step=[1, 2, 1, 2], beta=[0.9, 0.9, 0.8, 0.8], loss=[4, 3, 2, 1], depth=[2, 2, 2, 2])
    assert distinguish(frame, np.zeros(4, int), np.array([0, 0, 1, 1])) == ["beta"]
    assert distinguish(frame, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])) == []  # settings differ already
    assert distinguish(frame, np.zeros(4, int), np.arange(4)) == []  # pieces of one row are not curves


@pytest.mark.parametrize(
    ("values", "time"),
    [
        (pd.to_datetime(["2026-01-01", "2026-01-01"]), True),
        (["2026-01-01 10:00", "2026-01-01 10:00"], True),
        (["2026-01-01", "2026-01-02", "2026-01-03"], True),
        (["2026-01-01"] * 3, False),  # the date of a data set, say
        (["cnn", "mlp"], False),
        ([None, None], False),
    ],
)
def test_times_of_day_and_dates_that_differ_are_no_settings(values, time):
    assert is_time(pd.Series(values)) == time


@pytest.mark.parametrize(
    "text",
    [
        '[{"n_data": 1, "loss": 3}, {"n_data": 2, "loss": 2}]',
        '{"data": [{"n_data": 1, "loss": 3}, {"n_data": 2, "loss": 2}], "version": [1], "empty": []}',
        '{"n_data": {"0": 1, "1": 2}, "loss": {"0": 3, "1": 2}}',
        '{"n_data": [1, 2], "loss": [3, 2]}',
    ],
)
def test_json_tables_in_every_arrangement(tmp_path: Path, text: str):
    (tmp_path / "t.json").write_text(text)
    frame = read_file(tmp_path / "t.json")[0]
    assert frame[["n_data", "loss"]].to_numpy(float).tolist() == [[1, 3], [2, 2]]


@pytest.mark.parametrize("text", ["[]", "[1, 2]", '[{"a": 1}, 2]', "3"])
def test_json_without_a_table_is_refused(tmp_path: Path, text: str):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(BadInput):
        sl.read(tmp_path / "t.json")


def test_a_last_row_of_lightning_without_its_line_end_is_named(tmp_path: Path):
    (tmp_path / "metrics.csv").write_text("step,val_loss\n1,3.0\n2,2.5\n3,2.2")
    with pytest.warns(ReadingWarning, match="metrics.csv: .*left out"):
        assert sl.read(tmp_path)["step"].tolist() == [1, 2]
    (tmp_path / "metrics.csv").write_text("step,val_loss\n1,3.0\n2,2.5\n3")
    assert sl.read(tmp_path)["step"].tolist() == [1, 2], "a row that is being written, without a warning"


def test_the_tail_of_a_line_that_is_too_long_is_no_line():
    long, cut = "1" * (logs.LONGEST_LINE + 1), []
    assert [*logs.whole_lines(io.StringIO(f"1,2\n{long},3\n4,5\n6,7"), cut)] == ["1,2\n", "4,5\n"]
    assert cut == ["6,7"]
    assert [*logs.whole_lines(io.StringIO(f"1,2\n{long}01"), cut := [])] == ["1,2\n"]
    assert not cut


@pytest.mark.parametrize(("most", "unit"), [(9e9, "examples"), (2e10, "tokens")])
def test_data_that_grow_within_runs_are_tokens_where_no_set_has_as_many_examples(most: float, unit: str):
    seen = [most / 4, most / 2, most]
    curves = sl.read({"run": list("aaabbb"), "n_data": seen * 2, "loss": [3.0, 2.5, 2.2, 2.9, 2.4, 2.1]})
    assert curves[unit].tolist() == seen * 2
    assert curves.data_unit == unit


@pytest.mark.parametrize(
    ("names", "read"),
    [
        (["n800/seed0", "n800/seed1"], {"seed": ["0", "1"]}),  # one size is none that varies
        (["1000", "4000", "16000"], {"n_data": ["1000", "4000", "16000"]}),
        (["1k/seed0", "4k/seed0", "16k/seed1"], {"seed": ["0", "0", "1"], "n_data": ["1k", "4k", "16k"]}),
        (["1000", "4000"], {}),  # two may be anything
        (["10", "20", "40"], {}),
    ],
)
def test_names_that_are_numbers_alone_are_sizes_in_a_family_of_three(names: list[str], read: dict):
    assert headers.numbers_in_names(names) == read


def test_lists_of_a_script_are_columns_where_two_of_them_hold_as_many_numbers():
    script = "N = [1e7, 1e8]\nL = [3.2, 2.9]\nseeds = [0]\nlr = [0.1]\nnames = ['a', 'b']"
    assert markup.lists_by_name(script) == {"N": ["1e7", "1e8"], "L": ["3.2", "2.9"]}
    assert markup.lists_by_name("N = [1e7]\nL = [3.2]") == {}
    assert markup.lists_by_name("N = [1e7, 1e8]\nL = [3.2]") == {}
