"""Columns, numbers and names of a table: each rule at its limit."""

from datetime import date
from enum import Enum
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scalinglab import Curves
from scalinglab.curves import columns, numbers, resample, run_name
from scalinglab.curves.reading import Reading
from scalinglab.errors import BadInput


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (100, 100.0),
        (Colour.RED, "red"),
        (np.float32(0.5), 0.5),
        (np.array([1, 2]), [1, 2]),
        ((1, 2), [1.0, 2.0]),
        (range(3), [0, 1, 2]),
        (Path("a/b"), "a/b"),
        (date(2024, 1, 2), "2024-01-02"),
        ({"a": 1.0}, {"a": 1}),
        (np.bool_(True), True),
        (float(2**53 - 1), 2**53 - 1),
    ],
)
def test_settings_that_mean_the_same_name_the_same_run(one, other):
    assert run_name({"x": one}) == run_name({"x": other})


@pytest.mark.parametrize(
    ("one", "other"), [(2.0**53, 2**53), (0.5, 0), (True, "True"), ([1], 1), (1.5, "1.5")]
)
def test_settings_that_differ_name_other_runs(one, other):
    assert run_name({"x": one}) != run_name({"x": other})


def test_missing_settings_do_not_name_a_run_and_objects_are_refused():
    for nothing in (None, np.nan, pd.NA, np.float32("nan")):
        assert run_name({"x": nothing}) == run_name({})
        assert columns.is_missing(nothing)
    assert not columns.is_missing("nan")
    with pytest.raises(BadInput, match=r"x=.*object"):
        run_name({"x": object()})


def test_the_column_to_fit_is_the_first_that_has_values():
    frame = pd.DataFrame({"test_loss": [1.0], "test_error": [np.nan], "loss": [2.0], "accuracy": [0.5]})
    assert columns.measure_of(frame) == "test_loss"
    assert columns.measure_of(frame[["loss", "accuracy"]]) == "loss"
    assert columns.measure_of(frame[["accuracy"]]) == "accuracy"
    assert columns.measure_of(frame[["test_error"]]) == "test_error"


def test_a_loss_that_falls_comes_before_an_error_at_chance_and_before_any_error_of_language_models():
    falling = pd.DataFrame(
        {"n_data": [1, 2, 3, 4], "test_loss": [4.0, 3, 2, 1], "test_error": [0.9, 0.8, 0.7, 0.6]}
    )
    chance = falling.assign(test_error=[0.75, 0.74, 0.76, 0.745])
    assert columns.measure_of(falling) == "test_error"
    assert columns.measure_of(chance) == "test_loss"
    assert columns.measure_of(chance.assign(test_loss=[2.0, 1, 2, 1.5])) == "test_error", "neither falls"
    assert columns.measure_of(falling.assign(tokens=falling["n_data"])) == "test_loss"


def test_columns_that_vary_at_all_and_within_one_size():
    frame = pd.DataFrame({"a": [1, 1, 2, 2], "b": [1, 1, 3, 3], "c": [1, 2, 1, 1], "d": [5, np.nan, 5, 5]})
    assert columns.varying_columns(frame, "abcd") == ["a", "b", "c", "d"]
    assert columns.varying_within(frame, "a", "abcd") == ["c"]


def test_numbers_of_python_become_numbers_of_numpy():
    def tidied(*values, name="x"):
        return columns.tidy(pd.DataFrame({name: pd.Series(values, dtype=object)}))[name]

    assert tidied(1, 2).dtype.kind == "i"
    assert tidied(1, None).dtype == float
    assert tidied(1, True, 2.5).tolist() == [1, 1, 2.5]
    assert tidied(2**64 - 1, 1).tolist() == [2**64 - 1, 1]
    assert tidied(-(2**63), 1).tolist() == [-(2**63), 1]
    assert tidied(2**64, 1).dtype == float
    assert tidied(-(2**63) - 1, 1).dtype == float
    assert tidied(2**80, 2**80 + 1).dtype == object, "as floats they would be one number"
    assert tidied(2**80, 2**80 + 1, name="step").dtype == float
    with pytest.raises(BadInput, match=r"^x .*401"):
        tidied(10**400, 1)
    assert tidied([1, 2], {"a": 1}).tolist() == ["[1, 2]", '{"a": 1}']
    assert tidied("a", 1).tolist() == ["a", 1]


def test_cells_are_nested_a_hundred_deep_at_most():
    deep = 1
    for _ in range(columns.DEEPEST_CELL):
        deep = [deep]
    assert columns.cell_text(deep).startswith("[[")
    with pytest.raises(BadInput, match="nested too deeply"):
        columns.cell_text([deep])


def test_nullable_and_categorical_columns_become_plain_ones():
    frame = pd.DataFrame(
        {
            "i": pd.array([1, 2], "Int64"),
            "n": pd.array([1, None], "Int64"),
            "c": pd.Categorical([3, 4]),
            "t": pd.Categorical(["a", "b"]),
            "f": pd.array([1.5, None], "Float32"),
        }
    )
    found = columns.tidy(frame)
    assert found["i"].dtype.kind == "i"
    assert found["n"].tolist()[0] == 1
    assert np.isnan(found["n"][1])
    assert found["c"].sum() == 7
    assert found["t"].tolist() == ["a", "b"]
    assert found["f"].dtype == float


# --- numbers as people write them ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "comma"),
    [
        (["0,364"], True),
        (["1,000"], False),
        (["12,5"], True),
        (["1,000", "0,5"], True),
        (["0,001"], True),
        (["1,234,567"], False),
        (["1.5"], False),
        (["1,0000"], True),
        (["-1,000"], False),
        ([" 3,5 %"], True),
    ],
)
def test_a_decimal_comma_is_seen_where_it_can_be_nothing_else(texts, comma):
    assert numbers.has_decimal_comma(pd.Series([*texts, None])) is comma


def test_a_column_of_text_is_read_where_every_value_is_a_number():
    def read(*texts, **options):
        return numbers.numbers(pd.Series(texts, dtype=object), **options)

    found = read("1,000", "2k", "3")
    assert found.values.tolist() == [1000, 2000, 3]
    assert found.values.dtype == "int64"
    assert not found.percent
    assert found.scaled.tolist() == [False, True, False]
    found = read("36.4%", "12 %", None)
    assert found.values.tolist()[:2] == [0.364, 0.12]
    assert np.isnan(found.values[2])
    assert found.percent
    assert read("1", "-").values.tolist()[0] == 1.0
    measured = read("3.21 ± 0.02", "OOM", "3.1 ± 0.01")
    assert measured.spread.tolist()[::2] == [0.02, 0.01]
    assert measured.words == (("OOM", 1),)
    assert read("1.5B tokens", "30B tokens").unit == "tokens"
    assert read("71.3%", "0.9") is None, "0.9 may be a fraction or percent"
    assert read("1", "abc") is None
    assert read("nan", "-") is None, "no number at all"
    assert read() is None
    assert read("9007199254740992", "1").values.dtype == float, "beyond 2^53 a float is not exact"
    assert read("9007199254740991", "1").values.dtype == "int64"
    assert read("1,5", "2,5", decimal_comma=True).values.tolist() == [1.5, 2.5]
    assert numbers.number("0" * 399 + "7") == 7
    assert numbers.number("0" * 400 + "7") is None
    assert [numbers.number(t) for t in ("−5", "+5", "1t", "2G", "1_000", "1'000", "0,5")] == [
        -5,
        5,
        1e12,
        2e9,
        1e3,
        1e3,
        None,
    ]


# --- what a table says of itself ------------------------------------------------------------


def test_what_n_data_counts():
    def unit(**given):
        return Curves({"n_data": [10.0, 20.0], "test_loss": [1.0, 0.5], **given}).data_unit

    assert unit() == "examples"
    assert unit(tokens=[1.0, 2.0]) == "tokens"
    assert unit(n_data=[10.0, columns.MOST_EXAMPLES]) == "examples"
    assert unit(n_data=[10.0, 1.01 * columns.MOST_EXAMPLES]) == "tokens"
    assert Curves({"width": [1.0, 2.0], "test_loss": [1.0, 0.5]}).data_unit == "examples"


def test_a_run_has_diverged_by_its_status_or_by_the_step():
    rows = {"run": ["a", "b", "c"], "n_data": [1, 2, 3], "test_loss": [1.0, 1.0, 1.0]}
    assert Curves(rows).has_diverged.tolist() == [False] * 3
    both = Curves({**rows, "status": ["diverged", "done", "done"], "diverged_at": [np.nan, 4.0, np.nan]})
    assert both.has_diverged.tolist() == [True, True, False]
    old = pd.DataFrame({"run": ["a", "a", "b"], "step": [1, 2, 1], "diverged": [False, True, False]})
    assert columns.outcome(old)["status"].tolist() == ["diverged", "diverged", "done"], "the whole run"
    numbers = columns.outcome(old.assign(diverged=[0, 1, 0]))
    assert numbers.equals(columns.outcome(old)), "yes and no as 1 and 0"
    assert columns.outcome(old.drop(columns="run"))["status"].tolist() == ["done", "diverged", "done"]
    assert repr(both).splitlines()[0] == "Curves: 3 runs, 3 rows (2 done, 1 diverged)"


def test_a_table_shows_eight_columns_of_a_kind():
    wide = Curves({"n_data": [1, 2], **{f"metric_{i:02}": [0.1, 0.2] for i in range(10)}})
    assert "metric_07 0.1…0.2, and 2 more" in repr(wide)
    nine = Curves({"n_data": [1, 2], **{f"metric_{i:02}": [0.1, 0.1] for i in range(8)}})
    assert "more" not in repr(nine)
    assert "metric_07 0.1" in repr(nine)
    with pytest.raises(BadInput, match="'metric_77'"):
        wide["metric_77"]


def test_a_name_is_resolved_to_the_one_that_the_table_uses():
    curves = Curves({"n_data": [1, 2], "test_loss": [1.0, 0.5]}, names={"size": "n_data"})
    assert [curves.resolve(name) for name in ("n_data", "size", "loss", "other")] == [
        "n_data", "n_data", "test_loss", "other"
    ]  # fmt: skip
    both = Curves({"n_data": [1, 2], "test_loss": [1.0, 0.5], "loss": [2.0, 1.0]})
    assert both.resolve("loss") == "loss"
    assert Curves({"n_data": [1, 2], "train_loss": [1.0, 0.5]}).resolve("loss") == "loss"


def test_grids_of_an_interpolation():
    values = np.array([1.0, 100.0])
    assert resample.make_grid("x", values, 3, True).tolist() == pytest.approx([1, 10, 100])
    assert resample.make_grid("x", values, 3, False).tolist() == pytest.approx([1, 50.5, 100])
    assert resample.make_grid("x", values, 2, True).tolist() == [1, 100]
    assert resample.make_grid("x", values, [5, 2, 5], True).tolist() == [2, 5]
    for at, given, log, said in (
        (1, values, True, "two points or more"), ([0.0, 1.0], values, True, "all positive"),
        ([], values, False, "finite values"), ([np.inf], values, False, "finite values"),
        (3, values[:0], True, "null everywhere"), (3, values - 1, True, "has no logarithm"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=said):
            resample.make_grid("x", given, at, log)
    assert resample.make_grid("x", values, [0.0, 1.0], False).tolist() == [0, 1]


def test_the_first_value_that_is_no_number_is_named():
    assert columns.no_number(pd.Series(["1", "abc", "def"])) == "abc"
    assert columns.no_number(pd.Series([None, "19M", "2"])) == "19M", "all can be read: the first"


def test_a_table_says_what_it_was_read_from_where_it_was_read():
    rows = {"n_data": [1, 2], "test_loss": [1.0, 0.5]}
    read = Reading("a.csv", runs=2, rows=2)
    assert repr(Curves(rows, reading=read)).endswith("\n  read from a.csv: 2 runs, 2 rows")
    assert "read from" not in repr(Curves(rows))
