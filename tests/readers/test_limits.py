"""Limits of what is read, on both sides of each."""

import gzip
import math
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.readers import guards, logs
from scalinglab.readers.points import MetricPoints
from scalinglab.readers.tables import files, lines
from tests.refusals import because


def nested(levels: int) -> dict[str, object]:
    value: object = 1
    for _ in range(levels):
        value = {"a": value}
    assert isinstance(value, dict)
    return value


def test_a_configuration_is_unfolded_to_eight_levels():
    assert logs.flatten(nested(8)) == {".".join("a" * 8): 1}
    assert logs.flatten(nested(9)) == {}


def test_a_json_row_is_unfolded_to_eight_levels(tmp_path: Path):
    for levels, name in ((8, ".".join("a" * 8)), (9, None)):
        frame = lines.table_of_rows([nested(levels)], tmp_path)
        assert list(frame.columns) == ([name] if name else [])


@pytest.mark.parametrize(
    ("value", "read"),
    [(2**53 - 1, 2**53 - 1), (2**53, float(2**53)), (10**400, math.inf), (-(10**400), -math.inf)],
)
def test_integers_of_a_configuration_are_exact_or_floats(value: int, read: float):
    found = logs.flatten({"n": value})["n"]
    assert found == read
    assert type(found) is type(read)


def test_long_texts_and_long_lists_of_a_configuration_are_cut_or_left_out():
    found = logs.flatten({"text": "x" * 300, "short": [1] * 50, "long": [1] * 51})
    assert len(found.pop("text")) == 200
    assert list(found) == ["short"]


@pytest.mark.parametrize("step", [2**62, 2**70, -(2**70)])
def test_steps_beyond_64_bits_are_held_at_the_ends(step: int):
    points = MetricPoints()
    points.add("loss", step, 1.0)
    assert points.frame()[0]["step"].tolist() == [int(math.copysign(2**62, step))]


def test_metrics_of_unknown_names_are_left_out_whole_and_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("scalinglab.readers.points.MOST_VALUES", 6)
    points = MetricPoints()
    for step in range(3):
        for name in ("train_loss", "hist/a", "hist/b"):
            points.add(name, step, 1.0)
    frame, left_out = points.frame()
    assert list(frame.columns) == ["step", "hist/a", "train_loss"]
    assert left_out == ["hist/b"]
    points.add("hist/b", 3, 1.0)  # left out once, left out always
    assert "hist/b" not in points.metrics


@pytest.mark.parametrize(("count", "more"), [(3, ""), (5, " and 2 more")])
def test_what_was_left_out_is_named_up_to_three(monkeypatch: pytest.MonkeyPatch, count: int, more: str):
    monkeypatch.setattr("scalinglab.readers.points.MOST_VALUES", 1)
    run = logs.LoggedRun("a")
    for name in ("train_loss", *(f"x{k}" for k in range(count))):
        run.points.add(name, 0, 1.0)
    (note,) = logs.table([run]).notes
    assert note == f"a: too many values, metrics of unknown names left out: x0, x1, x2{more}"


@pytest.mark.parametrize(("largest", "read"), [(1.0, 1.0), (1.5, 0.015), (100.0, 1.0)])
def test_errors_above_one_and_up_to_a_hundred_are_percent(largest: float, read: float):
    frame = pd.DataFrame({"n_data": [1e3, 1e4], "test_error": [largest, largest / 2]})
    assert sl.read(frame)["test_error"].max() == pytest.approx(read)
    with pytest.raises(BadInput, match=r"test_error reaches 100\.5"):
        sl.read(frame.assign(test_error=100.5))


@pytest.mark.parametrize(
    ("n", "d", "unit", "doubted"),
    [
        ([1e6, 2e6], [500, 9_999], "tokens", True),
        ([1e6, 2e6], [500, 10_000], "tokens", False),
        ([10, 9_999], [10, 999], "examples", True),
        ([10, 10_000], [10, 999], "examples", False),
        ([10, 9_999], [10, 1_000], "examples", False),
        ([10, 99.5], [10, 1_000], "examples", True),  # parts of a parameter
    ],
)
def test_small_sizes_may_be_in_a_larger_unit(n: list[float], d: list[float], unit: str, doubted: bool):
    sizes = {"n_params": np.array(n, float), "n_data": np.array(d, float)}
    table, units = pd.DataFrame(sizes | {"test_loss": [3.0, 2.0]}), {"n_params": "parameters", "n_data": unit}
    question = guards.Question(Curves(table), sizes, "test_loss", table["test_loss"].to_numpy(), units)
    with pytest.raises(BadInput, check=because("small_sizes")) if doubted else nullcontext():
        guards.refuse_doubtful(question, result=False)


def test_a_packed_table_is_refused_once_it_is_too_long_or_too_dense(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "table.csv.gz"
    rows = "".join(f"{k},{np.sqrt(k)}\n" for k in range(2000))
    path.write_bytes(gzip.compress(("n_data,test_loss\n" + rows).encode()))
    assert len(sl.read(path)) == 2000
    monkeypatch.setattr(files, "MOST_BYTES", 10_000)
    with pytest.raises(BadInput, match=r"unpacks .* bytes to more than .*: that is no table"):
        sl.read(path)
    monkeypatch.setattr(files, "MOST_BYTES", 10**9)
    monkeypatch.setattr(files, "BEFORE_RATIO", 10_000)
    assert len(sl.read(path)) == 2000
    monkeypatch.setattr(files, "MOST_RATIO", 1)
    with pytest.raises(BadInput, match="that is no table"):
        sl.read(path)


@pytest.mark.parametrize(("length", "shown"), [(40, 40), (41, 40)])
def test_a_value_that_is_no_number_is_shown_to_forty_characters(length: int, shown: int):
    frame = pd.DataFrame({"n_data": ["1000", "2000", "x" * length], "test_loss": [3.0, 2.0, 1.0]})
    with pytest.raises(BadInput, match=rf"n_data = '{'x' * shown}' does not read as a number"):
        sl.read(frame)


@pytest.mark.parametrize(
    ("header", "read"),
    [("# n_data test_loss seed", True), ("# a comment of five words", False), ("", False)],
)
def test_names_in_the_last_comment_are_those_of_as_many_columns(tmp_path: Path, header: str, read: bool):
    path = tmp_path / "table.txt"
    path.write_text(f"{header}\n1000 3.0 0\n2000 2.0 0\n4000 1.5 1\n", encoding="utf-8")
    if read:
        assert sl.read(path)["test_loss"].tolist() == [3.0, 2.0, 1.5]
    else:  # two columns would be taken for sizes and losses
        with pytest.raises(BadInput):
            sl.read(path)
