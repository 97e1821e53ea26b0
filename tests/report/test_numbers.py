"""What the report computes, apart from how it is drawn."""

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.report import numbers, surface_numbers
from scalinglab.report.size_law import size_law_of


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


def test_the_table_of_runs():
    found = numbers.runs_of(curves())
    assert found.y == "test_loss"
    assert found.constant == {"model": "mlp"}
    assert found.table["checkpoints"].tolist() == [4] * 6
    assert found.table["n_data"].tolist() == [100, 100, 400, 400, 1600, 1600]
    assert found.table["best"].tolist() == pytest.approx([0.2, 0.3, 0.1, 0.2, 0.05, 0.15])
    assert found.table["last"].tolist() == pytest.approx([0.3, 0.4, 0.15, 0.25, 0.075, 0.175])


def test_parameters_of_the_law_of_size():
    rows = curves().frame
    found = size_law_of(sl.Curves(rows[rows["seed"] == 0]))
    table = found.parameters().set_index("parameter")
    assert table["value"].to_dict() == found.law.parameters
    assert (table["low"] <= table["value"]).all()
    assert (table["value"] <= table["high"]).all()


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
    best, reason = surface_numbers.minima_of(surface)
    assert reason == ""
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
