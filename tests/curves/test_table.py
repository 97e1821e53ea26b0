"""The table of curves: what it accepts, and what its operations compute."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scalinglab.curves import Curves, is_seed, run_name
from scalinglab.errors import BadInput
from tests.properties import examples


def curves(n_runs=4, n_steps=5, seed=0):
    """Two data sizes, seeds, steps 1, 2, 4, …; test_error random."""
    rng = np.random.default_rng(seed)
    return Curves(
        {
            "n_data": np.repeat([100, 200], n_runs * n_steps),
            "seed": np.tile(np.repeat(np.arange(n_runs), n_steps), 2),
            "step": np.tile(2 ** np.arange(n_steps), 2 * n_runs),
            "test_error": rng.uniform(0.1, 0.9, 2 * n_runs * n_steps),
            "norm": rng.uniform(1, 9, 2 * n_runs * n_steps),
        },
        source="train",
    )


# --- construction --------------------------------------------------------------------------------


def test_run_is_the_hash_of_the_setting_and_constant_in_it():
    table = curves()
    assert len(table.runs) == 8
    expected = run_name({"n_data": 100, "seed": 0, "source": "train"})
    assert table.runs[0] == expected
    assert (table.frame.groupby("run")[["n_data", "seed"]].nunique() == 1).all(axis=None)


def test_run_name_is_the_same_for_equal_settings_however_written():
    plain = {"n_data": 100, "widths": [8, 16], "noise": None, "name": "a"}
    other = {
        "name": "a",
        "widths": np.array([8.0, 16.0]),
        "n_data": np.float64(100),
        "extra": float("nan"),
    }
    assert run_name(plain) == run_name(other)
    assert run_name(plain) != run_name(plain | {"n_data": 101})
    assert run_name({"flag": True}) != run_name({"flag": "True"})


def test_run_name_refuses_what_has_no_lasting_text():
    with pytest.raises(BadInput, match=r"loss=.*object"):
        run_name({"loss": object()})


@pytest.mark.parametrize(
    "name",
    [
        "seed",
        "data_seed",
        "init_seed",
        "order_seed",
        "seed_data",
        "Seed",
        "SEED",
        "Seed #",
        "config.seed",
        "dataSeed",
    ],
)
def test_runs_that_differ_in_a_seed_alone_are_repeats_however_it_is_called(name: str):
    assert is_seed(name)
    table = Curves({name: [7, 7, 8, 8], "step": [1, 2, 1, 2], "test_loss": [1.0, 0.4, 3.0, 0.6]})
    assert len(table.runs) == 2
    assert table.setting_columns == table.seed_columns == [name]
    assert table.average(name)["test_loss"].tolist() == [2.0, 0.5]


@pytest.mark.parametrize(
    "name", ["seedling_count", "reseeded", "n_seeds", "seeds", "loss_seed_spread", "speed", 3]
)
def test_no_other_column_is_taken_for_a_seed(name: str | int):
    assert not is_seed(name)
    table = Curves({"n_data": [1, 2], "test_loss": [1.0, 2.0], name: [0.1, 0.2]})
    assert table.seed_columns == []
    assert name in table.measurement_columns


def test_roles_are_told_apart():
    frame = {
        "n_data": [1],
        "note": ["a"],
        "extra": [3.0],
        "step": [1],
        "test_loss": [0.5],
        "status": ["done"],
    }
    table = Curves(frame, settings=["extra"])
    assert table.setting_columns == ["n_data", "note", "extra"]
    assert table.progress_columns == ["step"]
    assert table.measurement_columns == ["test_loss"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"n_data": [1, 2]}, "no measurement"),
        ({"test_error": [0.1]}, "no column of .* says how large a run is"),
        ({"step": [1, 2], "test_error": ["a", "b"]}, "test_error must hold numbers, not 'a'"),
        ({"step": [1, 2], "test_error": ["0.1", "n/a"]}, "test_error must hold numbers, not 'n/a'"),
        ({"step": ["one"], "test_error": [0.1]}, "step must hold numbers, not 'one'"),
        ({"step": [1], "test_error": [12.5]}, "reaches 12.5.*divide percent by 100"),
        (
            {"step": [1, 1], "test_error": [0.1, 0.2], "Attempt": [1, 2]},
            "two rows for the same run and check.*differ in test_error, Attempt: .*--column seed='Attempt'",
        ),
        ({"step": [1, 1], "test_error": [0.1, 0.1]}, "exact copies: drop one"),
        ({"step": [1, 2], "test_error": [0.1]}, "do not make a table"),
        ({"run": ["a", None], "step": [1, 2], "norm": [1, 2]}, "row 1 has no run"),
        (
            {"run": ["a", "a"], "step": [1, 2], "norm": [1, 2], "learning_rate": [0.1, 0.2]},
            "learning_rate changes within run a, from .*0.1.* to .*0.2",
        ),
        (
            {"run": ["a", "a"], "step": [1, 2], "norm": [1, 2], "verdict": ["good", "bad"]},
            "verdict changes within run a.*must be a number",
        ),
    ],
)  # fmt: skip
def test_bad_tables_are_refused_with_the_reason(data, message):
    with pytest.raises(BadInput, match=message):
        Curves(data)


def test_unknown_names_get_the_nearest_one():
    with pytest.raises(BadInput, match="'norm'"):
        curves().best("nrom")
    with pytest.raises(BadInput, match="'n_data'"):
        Curves({"n_data": [1], "test_loss": [1.0]}, settings=["n_dat"])
    with pytest.raises(BadInput, match="'theory'"):
        Curves({"n_data": [1], "test_loss": [1.0]}, source="theorie")


def test_nullable_categorical_and_mixed_columns_become_plain_ones():
    frame = pd.DataFrame(
        {
            "step": pd.array([1, 2, 3], dtype="Int64"),
            "model": pd.Categorical(["a", "a", "a"]),
            "norm": pd.array([1, None, 3], dtype="Int64"),
            "test_loss": pd.Series([1.0, None, True], dtype=object),
            "widths": [[8, 16]] * 3,
        }
    )
    table = Curves(frame)
    assert table["step"].dtype == np.int64
    assert table["norm"].dtype == np.float64
    assert np.isnan(table["norm"][1])
    np.testing.assert_array_equal(table["test_loss"], [1.0, np.nan, 1.0])
    assert set(table["widths"]) == {"[8, 16]"}
    assert len(table.select(model="a")) == 3


def test_the_table_does_not_change_with_what_it_was_made_from():
    frame = pd.DataFrame({"step": [1, 2], "norm": [1.0, 2.0]})
    table = Curves(frame)
    frame.loc[0, "norm"] = 99.0
    assert table["norm"][0] == 1.0


# --- operations ----------------------------------------------------------------------------------


def test_select_by_value_list_range_function_and_null():
    table = curves()
    assert len(table.select(n_data=100)) == 20
    assert len(table.select(n_data=[100, 200], seed=0)) == 10
    assert set(table.select(step=slice(2, 4))["step"]) == {2, 4}
    assert (table.select(norm=lambda column: column > 5)["norm"] > 5).all()
    assert len(table.select(n_data=999)) == 0
    gaps = Curves({"step": [1, 2], "norm": [1.0, None]})
    assert gaps.select(norm=None)["step"].tolist() == [2]


def test_average_gives_mean_standard_error_and_count():
    table = curves()
    averaged = table.average("seed")
    assert len(averaged) == 10
    assert set(averaged["count"]) == {4}
    row = averaged.select(n_data=200, step=4)
    raw = table.select(n_data=200, step=4)["test_error"]
    np.testing.assert_allclose(row["test_error"], [raw.mean()])
    np.testing.assert_allclose(row["test_error_stderr"], [raw.std(ddof=1) / 2])
    assert "seed" not in averaged.frame
    assert averaged["step"].dtype == table["step"].dtype  # a number of steps stays a whole number


def test_average_leaves_nulls_out_of_mean_and_standard_error():
    data = {"seed": [0, 1, 2], "step": [1] * 3, "test_loss": [1.0, 3.0, None], "norm": [None, None, 4.0]}
    averaged = Curves(data).average()
    assert averaged["test_loss"].tolist() == [2.0]
    assert averaged["test_loss_stderr"].tolist() == [1.0]  # s = √2 over √2
    assert averaged["norm"].tolist() == [4.0]
    assert np.isnan(averaged["norm_stderr"][0])  # one value has no spread
    assert averaged["count"].tolist() == [3]


def test_average_keeps_runs_with_different_progress_columns_apart():
    theory = Curves({"seed": [0, 0, 1, 1], "time": [1.0, 2.0, 1.0, 2.0], "test_loss": [1.0, 2.0, 3.0, 4.0]})
    trained = Curves({"seed": [0, 1], "step": [1, 1], "time": [0.1, 0.3], "test_loss": [5.0, 7.0]})
    averaged = Curves.concat([theory, trained]).average()
    assert sorted(averaged["test_loss"]) == [2.0, 3.0, 6.0]
    np.testing.assert_allclose(averaged.select(step=1)["time"], [0.2])  # the clock differs, the step does not


def test_average_without_common_checkpoints_says_what_to_do():
    data = {"seed": [0, 0, 1, 1], "step": [1, 3, 2, 4], "norm": [1.0, 3.0, 2.0, 4.0]}
    with pytest.raises(BadInput, match="interpolate"):
        Curves(data).average()
    averaged = Curves(data).interpolate("step", [2, 3], log=False).average()
    np.testing.assert_allclose(averaged["norm"], [2.0, 3.0])


def test_average_over_one_of_two_seeds_that_vary_together_names_the_other():
    curves = Curves({"seed": [0, 1], "data_seed": [5, 6], "step": [10, 10], "test_loss": [1.0, 3.0]})
    with pytest.raises(BadInput, match="data_seed") as raised:
        curves.average("seed")
    assert "checkpoints" not in str(raised.value)
    assert curves.average(["seed", "data_seed"])["test_loss"].tolist() == [2.0]  # as the message says


def test_average_of_something_that_is_no_setting_is_refused():
    with pytest.raises(BadInput, match="'norm'"):
        curves().average("norm")


def test_best_is_the_smallest_of_each_run():
    table = curves(n_runs=3, n_steps=9, seed=3)
    best = table.best("test_error")
    assert best.runs == table.runs
    for run, group in table.frame.groupby("run", sort=False):
        expected = group.loc[group["test_error"].idxmin()]
        found = best.frame[best.frame["run"] == run].iloc[0]
        assert (found["step"], found["test_error"]) == (expected["step"], expected["test_error"])


def test_best_orders_by_progress_whatever_the_order_of_rows():
    table = curves(n_steps=9)
    shuffled = Curves(table.frame.sample(frac=1, random_state=0))
    left = table.best().frame.sort_values("run", ignore_index=True)
    right = shuffled.best().frame.sort_values("run", ignore_index=True)
    pd.testing.assert_frame_equal(left, right)


def test_best_takes_the_earliest_of_equals_and_skips_nulls_and_empty_runs():
    data = {
        "seed": [0, 0, 0, 1],
        "step": [1, 2, 3, 1],
        "test_loss": [None, 0.5, 0.5, None],
        "norm": [1.0, 2.0, 3.0, 4.0],
    }
    assert Curves(data).best("test_loss")["norm"].tolist() == [2.0]


def test_best_survives_a_run_that_diverged_to_infinity():
    data = {
        "seed": [0] * 3 + [1] * 3,
        "step": [1, 2, 3] * 2,
        "test_loss": [2.0, np.inf, np.inf, 3.0, 1.0, 2.0],
    }
    assert Curves(data).best("test_loss")["step"].tolist() == [1, 2]


def test_interpolation_is_exact_on_power_laws():
    steps = np.array([1.0, 10.0, 100.0])
    runs = {"seed": np.repeat([0, 1], 3), "step": np.tile(steps, 2)}
    table = Curves({**runs, "test_loss": np.concatenate([steps**-0.5, 3 * steps**-1.0])})
    grid = np.array([1.0, 3.0, 30.0, 100.0])
    dense = table.interpolate("step", grid)
    np.testing.assert_allclose(dense.select(seed=0)["test_loss"], grid**-0.5)
    np.testing.assert_allclose(dense.select(seed=1)["test_loss"], 3 * grid**-1.0)


def test_interpolation_extrapolates_nothing_and_bridges_gaps():
    table = Curves({"step": [1, 2, 4], "norm": [1.0, None, 4.0], "test_loss": [-1.0, 0.0, 2.0]})
    dense = table.interpolate("step", [0.5, 1, 2, 3, 4, 5], log=False)
    np.testing.assert_allclose(dense["norm"], [np.nan, 1, 2, 3, 4, np.nan])
    np.testing.assert_allclose(dense["test_loss"], [np.nan, -1, 0, 1, 2, np.nan])
    assert dense.runs == table.runs


def test_interpolation_along_a_measurement_can_be_averaged_there():
    data = {"seed": [0] * 3 + [1] * 3, "step": [1, 2, 3] * 2, "norm": [1.0, 2, 4, 1, 3, 9]}
    table = Curves({**data, "test_loss": np.array(data["norm"]) ** -1.0})
    averaged = table.interpolate("norm", [1, 2, 4, 8]).average(on="norm")
    np.testing.assert_allclose(averaged["test_loss"], [1, 0.5, 0.25, 0.125])
    assert averaged["norm"].tolist() == [1, 2, 4, 8]


@pytest.mark.parametrize("start", [0.001, 0.3, 1.9999999999999998, 7.0, 1e300])
def test_interpolation_tells_neighbours_in_the_last_bit_apart(start: float):
    x = [start, np.nextafter(start, np.inf)]
    table = Curves({"step": [0, 1], "norm": x, "test_loss": [1.0, 2.0]})
    for log in (True, False):
        assert table.interpolate("norm", x, log=log)["test_loss"] == pytest.approx([1.0, 2.0])


def test_interpolation_spans_any_range():
    table = Curves({"step": [0, 1, 2], "norm": [1e-300, 1.0, 1e300], "test_loss": [1.0, 4.0, 9.0]})
    found = table.interpolate("norm", [1e-301, 1e-300, 1e-150, 1.0, 1e150, 1e301])["test_loss"]
    np.testing.assert_allclose(found, [np.nan, 1, 2, 4, 6, np.nan])


def test_interpolation_refuses_what_it_cannot_place():
    with pytest.raises(BadInput, match="log=False"):
        Curves({"step": [0, 1], "norm": [1, 2]}).interpolate("step")
    with pytest.raises(BadInput, match="'n_data'"):
        curves().interpolate("n_data")
    with pytest.raises(BadInput, match="at=1:"):
        curves().interpolate("step", 1)
    with pytest.raises(BadInput, match=r"at=\[-1, 1\]"):
        curves().interpolate("step", [-1, 1])


def test_concat_unites_columns_by_name_and_keeps_declared_settings():
    left = Curves(
        {"step": [1], "depth_factor": [2], "norm": [1.0]}, settings=["depth_factor"], source="train"
    )
    right = Curves({"time": [0.5], "model": ["cnn"], "test_loss": [2.0]}, source="theory")
    both = Curves.concat([left, right])
    assert len(both) == 2
    assert both.settings == ("depth_factor",)
    assert both.runs == [*left.runs, *right.runs]
    assert np.isnan(both["test_loss"][0])
    with pytest.raises(BadInput, match="two rows for the same run"):
        Curves.concat([left, left])


def test_repr_tells_a_person_what_is_there():
    text = repr(curves())
    assert text.splitlines()[0] == "Curves: 8 runs, 40 rows"
    assert "settings: n_data 100…200, seed 0…3" in text
    assert "progress: step 1…16" in text
    many = Curves({"step": [1], **{f"m{k}": [1.0] for k in range(20)}})
    assert "and 12 more" in repr(many)


# --- properties ----------------------------------------------------------------------------------

finite = st.floats(-1e100, 1e100)


@examples(30)
@given(values=st.lists(st.one_of(st.none(), finite), min_size=1, max_size=12))
def test_best_never_exceeds_any_other_value(values):
    table = Curves({"step": np.arange(len(values)), "norm": pd.Series(values, dtype=float)})
    best = table.best("norm")
    known = table.frame["norm"].dropna()
    assert best["norm"].tolist() == ([known.min()] if len(known) else [])


@examples(30)
@example(x=[0.001, 0.0010000000000000002], exponent=1.0, log=True)
@given(
    x=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8, unique=True),
    exponent=st.floats(-2, 2), log=st.booleans(),
)  # fmt: skip
def test_interpolation_passes_through_its_points_and_stays_between_them(x, exponent, log):
    x = np.sort(x)
    y = x**exponent
    table = Curves({"step": np.arange(len(x)), "norm": x, "test_loss": y})
    there = table.interpolate("norm", x, log=log)
    np.testing.assert_allclose(there["test_loss"], y, rtol=1e-9)
    if len(x) > 1:
        middle = table.interpolate("norm", np.sqrt(x[1:] * x[:-1]), log=log)["test_loss"]
        slack = 1 + 1e-9
        assert (middle <= np.maximum(y[1:], y[:-1]) * slack).all()
        assert (middle >= np.minimum(y[1:], y[:-1]) / slack).all()


def test_average_takes_all_seeds_whatever_they_are_called():
    rows = [
        {"n_data": n, "init_seed": a, "data_seed": b, "step": 1, "test_loss": n + a + 10.0 * b}
        for n in (100, 200) for a in (0, 1) for b in (0, 1)
    ]  # fmt: skip
    averaged = Curves(pd.DataFrame(rows)).average().frame
    assert averaged["test_loss"].tolist() == [105.5, 205.5]
    assert averaged["count"].tolist() == [4, 4]
    with pytest.raises(BadInput, match=r"average\('width'\)"):
        Curves({"n_data": [100, 200], "test_loss": [1.0, 0.5]}).average()


def test_errors_are_fractions_to_the_last_digit():
    for name in ("train_error", "test_error"):
        assert len(Curves({"step": [1, 2], name: [0.0, 1.0]})) == 2
        for wrong in (1.0000001, 1.5):
            with pytest.raises(BadInput, match=f"{name} reaches {wrong:g}"):
                Curves({"step": [1, 2], name: [0.5, wrong]})


def test_declared_settings_stay_settings_in_every_operation():
    data = {
        "twist": [1.0, 1.0, 2.0, 2.0],
        "seed": [0, 1, 0, 1],
        "step": [1] * 4,
        "norm": [1.0, 2.0, 3.0, 4.0],
    }
    table = Curves(data, settings=["twist"])
    for made in (
        table.select(twist=1.0),
        table.best("norm"),
        table.average(),
        table.interpolate("step", [1]),
    ):
        assert made.settings == ("twist",)
        assert "twist" in made.setting_columns


def test_a_notebook_shows_the_summary_and_the_first_ten_rows():
    html = Curves({"step": np.arange(1, 13), "norm": np.ones(12)})._repr_html_()
    assert "Curves: 1 run, 12 rows" in html
    assert html.count("<tr") == 11  # the header and ten rows


def test_the_name_of_a_loss_is_a_setting_of_a_run_and_no_measurement():
    table = {"n_data": [10, 20], "loss": ["mse", "cross_entropy"], "test_error": [0.3, 0.2]}
    assert Curves(table, settings=["loss"]).frame["loss"].tolist() == ["mse", "cross_entropy"]
    with pytest.raises(BadInput, match=r"test_error.*'high'"):
        Curves({"n_data": [10, 20], "test_error": [0.3, "high"]})


def test_a_checkpoint_that_stands_twice_is_found_in_rows_of_any_order():
    rows = {"run": ["a", "b", "a", "b"], "step": [1, 1, 2, 2], "test_error": [0.5, 0.4, 0.3, 0.2]}
    assert len(Curves(rows)) == 4
    with pytest.raises(BadInput, match="two rows for the same run"):
        Curves({**rows, "step": [1, 1, 1, 2]})
    with pytest.raises(BadInput, match="two rows for the same run"):
        Curves({**rows, "run": ["a", "a", "b", "b"], "step": [1, 1, 2, 3]})
