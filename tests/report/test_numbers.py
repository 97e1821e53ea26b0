"""What the report computes, apart from how it is drawn."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.figures.data import PowerLaw
from scalinglab.report import numbers, sections, surface_numbers
from scalinglab.results.distributions import Estimate, Interval


def curves(**columns: object) -> sl.Curves:
    """Two seeds at three sizes, four checkpoints each; the loss is smallest at the third."""
    rows = [
        {"run": f"{n}-{seed}", "n_data": n, "seed": seed, "step": step, "model": "mlp",
         "test_loss": loss * n**-0.5 + seed / 10}
        for n in (100, 400, 1600) for seed in (0, 1)
        for step, loss in enumerate((8.0, 4.0, 2.0, 3.0))
    ]  # fmt: skip
    return sl.Curves(pd.DataFrame(rows).assign(**columns))


def test_learning_curves_are_means_over_seeds_from_the_first_step_on():
    found = numbers.learning_curves_of(curves())
    assert (found.x, found.y, found.by, found.averaged) == ("step", ["test_loss"], "n_data", True)
    frame = found.started.frame
    assert frame["step"].tolist() == [1, 2, 3] * 3
    assert frame["test_loss"].tolist() == pytest.approx(
        [loss * n**-0.5 + 0.05 for n in (100, 400, 1600) for loss in (4.0, 2.0, 3.0)]
    )


def test_single_points_are_no_learning_curves():
    assert numbers.learning_curves_of(curves().select(step=2)) is None
    assert numbers.norm_curves_of(curves()) is None
    found = numbers.norm_curves_of(curves(norm=3.0, test_error=0.5))
    assert (found.x, found.y) == ("step", ["test_error", "norm"])


def test_learning_curves_run_over_tokens_that_grow_within_runs():
    frame = curves().frame.assign(n_params=1e8)
    seen = sl.Curves(frame.assign(tokens=1e9 * frame.step))
    assert numbers.learning_curves_of(seen).x == "tokens"
    alone = sl.Curves(seen.frame.drop(columns=["step", "epoch"], errors="ignore"))
    assert numbers.learning_curves_of(alone).x == "tokens"
    in_all = sl.Curves(frame.assign(tokens=1e9 * frame.n_data))  # a setting of the run
    assert numbers.learning_curves_of(in_all).x != "tokens"


def test_the_table_of_runs():
    found = numbers.runs_of(curves())
    assert found.y == "test_loss"
    assert found.constant == {"model": "mlp"}
    assert found.table["checkpoints"].tolist() == [4] * 6
    assert found.table["n_data"].tolist() == [100, 100, 400, 400, 1600, 1600]
    assert found.table["best"].tolist() == pytest.approx([0.2, 0.3, 0.1, 0.2, 0.05, 0.15])
    assert found.table["last"].tolist() == pytest.approx([0.3, 0.4, 0.15, 0.25, 0.075, 0.175])


def test_a_parameter_with_an_open_interval_has_no_number_in_the_table():
    ends = {"offset": Interval(0.0, np.inf), "exponent": Interval(0.31, 0.52)}
    table = numbers.parameter_table({"offset": 0.07, "exponent": 0.4, "held": 1.0}, ends, ["offset"])
    assert table.to_numpy().tolist() == [
        ["offset", "not determined", "0", "open"], ["exponent", "0.4", "0.31", "0.52"],
    ]  # fmt: skip


def test_every_run_belongs_to_the_nearest_isoflop_curve():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e9, 5), np.geomspace(1e8, 1e11, 5)))
    loss = 1.8 + 480 * n**-0.35 + 2100 * d**-0.37
    surface = sl.laws.surface.fit(n, d, loss)
    found = surface_numbers.isoflops_of(surface)
    assert sum(len(each.loss) for each in found) == len(loss)
    budgets = np.array([each.compute for each in found])
    for i, each in enumerate(found):
        for size, value in zip(each.n_params, each.loss, strict=True):
            (row,) = np.flatnonzero((n == size) & (loss == value))
            assert np.abs(np.log(6 * n[row] * d[row] / budgets)).argmin() == i
        data = each.compute / 6 / each.sizes
        assert each.fitted == pytest.approx(1.8 + 480 * each.sizes**-0.35 + 2100 * data**-0.37, rel=1e-6)
    best = surface_numbers.minima_of(surface)
    middle = len(found) // 2
    assert best.loss[middle] <= found[middle].fitted.min() * (1 + 1e-9)
    assert best.loss[middle] == pytest.approx(found[middle].fitted.min(), rel=1e-3)


def test_a_backtest_counts_what_its_intervals_hold():
    test = surface_numbers.Backtest(
        compute=np.ones(4), measured=np.array([1.0, 2.0, 3.0, 4.0]), predicted=np.full(4, 2.0),
        low=np.full(4, 1.0), high=np.full(4, 2.0), cheaper=3,
    )  # fmt: skip
    assert test.inside == 0.5
    assert test.error == pytest.approx(np.sqrt(np.mean(np.log([2, 1, 2 / 3, 0.5]) ** 2)))


def test_two_checkpoints_are_a_curve_and_means_over_seeds_are_said_to_be():
    two = curves(norm=3.0, test_error=0.5).select(step=lambda step: step >= 2)
    assert numbers.learning_curves_of(two).averaged
    assert numbers.norm_curves_of(two).averaged
    assert not numbers.norm_curves_of(two.select(seed=0)).averaged


def test_measurements_of_other_names_count_where_they_have_values_and_no_standard_one_does():
    frame = curves().frame.drop(columns="test_loss").assign(my_loss=1.0, score=2.0, empty=np.nan, lr=0.1)
    assert numbers.measures(sl.Curves(frame)) == ["my_loss", "score"]
    assert numbers.measures(sl.Curves(frame.assign(test_error=0.1, train_loss=np.nan))) == ["test_error"]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_power_law_goes_through_the_middle_of_its_points(sign: int):
    law = PowerLaw("γ", np.array([1.0, 100.0]), np.array([2.0, 8.0]), Estimate(0.5, 0.1, 0.3, 0.7), sign)
    assert law.line == pytest.approx(4 * np.array([10.0**-0.5, 10**0.5]) ** sign)


def test_the_section_on_runs_names_what_all_share_and_rounds_sizes_from_a_thousand_on():
    shared = sections.runs(curves())
    assert "In all runs: model mlp." in shared.paragraphs
    assert not any(
        "The same" in text
        for text in sections.runs(sl.Curves(curves().frame.drop(columns="model"))).paragraphs
    )
    for size, listed in ((999.4, 999.4), (1000.4, 1000.0)):
        frame = curves().frame.assign(n_data=lambda f, size=size: f["n_data"] / 100 * size)
        table = sections.runs(sl.Curves(frame)).tables[0][1]
        assert table["training examples"].min() == pytest.approx(listed)


def test_a_collapse_that_does_not_hold_is_said_in_words():
    assert "do not fall on one master curve" in numbers.collapse_sentence(
        SimpleNamespace(holds_from=None), "examples"
    )
    held = SimpleNamespace(holds_from=100, extent=lambda unit: f"from 100 {unit} on")
    assert numbers.collapse_sentence(held, "tokens").endswith("fall on one master curve from 100 tokens on.")
