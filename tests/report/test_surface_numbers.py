"""Sections on a surface L(n_params, n_data), of a surface that is known exactly."""

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from scalinglab.laws import forms
from scalinglab.laws.fitting.data.points import Points
from scalinglab.report import surface_numbers, surface_sections
from scalinglab.report.surface_numbers import Backtest
from scalinglab.results import Reason

N, D = (v.ravel() for v in np.meshgrid([1e8, 1e9, 1e10], [1e9, 1e10, 1e11]))


def loss(n_params: Any, n_data: Any) -> Any:
    return 1.5 + 400 * n_params**-0.34 + 400 * n_data**-0.28


class Known:
    """A surface of nine runs from 6e17 to 6e21 FLOPs whose optimum has n_params = n_data."""

    others_weigh, method = (), "profile"
    undetermined: tuple[str, ...] = ("E", "A")
    quoted: ClassVar[dict[str, float]] = {}
    predict = staticmethod(lambda at=None, **sizes: loss(**(at or sizes)))
    law = SimpleNamespace(
        points=Points(np.array([N, D]), loss(N, D), None, np.ones(9), np.arange(9), ()),
        residuals=np.linspace(-0.02, 0.02, 9),
        form=forms.get("chinchilla"),
        parameters={"E": 1.5, "A": 400.0, "alpha": 0.34},
    )  # fmt: skip

    def compute_optimal(self, compute: Any, intervals: bool = True) -> Any:
        compute = np.asarray(compute)
        size, best = np.sqrt(compute / 6), np.full(len(compute), 2.0)
        columns = {
            "compute": compute, "times_beyond": compute / 6e21, "times_below": 6e17 / compute,
            "data_per_param": 1.0, "n_params": size,
            "n_params_low": size / 2, "n_params_high": 2 * size, "n_data": size, "n_data_low": size / 4,
            "n_data_high": 4 * size, "loss": best, "loss_low": best - 0.1, "loss_high": best + 0.2,
            "n_params_median": size, "n_data_median": size, "loss_median": best,
        }  # fmt: skip
        return SimpleNamespace(
            compute=compute, beyond=compute / 6e21, n_params=size, loss=best, method="profile",
            n_params_interval=(size / 2, 2 * size), loss_interval=(best - 0.1, best + 0.2),
            n_params_median=size, loss_median=best,
            table=lambda: pd.DataFrame(columns),
        )  # fmt: skip

    def parameter_intervals(self) -> dict[str, tuple[float, float]]:
        return {"E": (-np.inf, np.inf), "A": (300.0, np.inf), "alpha": (0.3, 0.4)}


def named(figure: Any, name: str) -> Any:
    return next(trace for trace in figure.data if trace.name == name)


@pytest.mark.parametrize(("design", "drawn"), [(3, 3), (7, 7), (8, 7), (30, 7)])
def test_isoflop_curves_are_those_of_the_design_or_seven_over_all_runs(design, drawn):
    """Four sizes at each of its computes, and one run beyond them where it is no design."""
    compute = np.geomspace(1e18, 1e21, design).repeat(4)
    if spread := design > 7:
        compute = np.append(compute, 6e21)
    sizes = np.resize([1e8, 2e8, 4e8, 8e8], len(compute))
    fitted, at = Known(), np.array([sizes, compute / (6 * sizes)])
    points = Points(at, loss(*at), None, np.ones(len(sizes)), np.arange(len(sizes)), ())
    fitted.law = SimpleNamespace(points=points)
    expected = np.geomspace(1e18, 6e21 if spread else 1e21, drawn)
    assert surface_numbers.isoflop_budgets(fitted) == pytest.approx(expected)


def test_isoflop_curves_reach_a_little_beyond_the_sizes_and_data_that_were_run():
    assert surface_numbers.spent(Known()).tolist() == pytest.approx((6 * N * D).tolist())
    found = surface_numbers.isoflops_of(Known())
    assert sum(len(each.loss) for each in found) == 9
    grid = np.geomspace(1e8 / 2, 2e10, 80)
    for each in found:
        data = each.compute / 6 / grid
        expected = grid[(data > 1e9 / 3) & (data < 3e11)]
        assert each.sizes == pytest.approx(expected)
        assert each.fitted == pytest.approx(loss(expected, each.compute / 6 / expected))


def test_minima_are_marked_where_the_exponents_are_determined():
    assert not isinstance(surface_numbers.minima_of(Known()), Reason)
    lost = Known()
    lost.undetermined = ("A", "alpha", "beta")
    refused = Reason("other_surfaces_fit", parameters=("alpha", "beta"))
    assert surface_numbers.minima_of(lost) == refused


def test_the_frontier_goes_from_the_cheapest_run_to_a_hundred_times_the_most_expensive_one():
    found = surface_numbers.frontier(Known())
    assert found["compute"].iloc[[0, -1]].tolist() == pytest.approx([6e17, 6e23])
    table = surface_numbers.whole_powers(found)
    assert table["compute"].tolist() == pytest.approx([1e21, 1e22, 1e23])
    section = surface_sections.the_frontier(Known(), found, "loss", "tokens")
    (size,) = (plot.figure for plot in section.plots)
    assert named(size, "within the runs").x[-1] <= 6e21 < named(size, "beyond them").x[0]
    assert named(size, "beyond them").line.dash == "dash"
    assert size.layout.yaxis.title.text == "optimal parameters"
    ((_, shown, _),) = section.tables
    assert shown.iloc[0].tolist() == [
        "1e+21", "0.167", "12.9B [6.45B, 25.8B]", "12.9B [3.23B, 51.6B]", "1", "2 [1.9, 2.2]",
    ]  # fmt: skip
    assert list(shown.columns[2:5]) == ["parameters", "tokens", "tokens per parameter"]
    assert (
        "FLOPs per parameter and token. Lines are medians, bands 95 % intervals (profile likelihood)"
        in section.paragraphs[0]
    )


@pytest.mark.parametrize(("held", "failed"), [(4, False), (3, True)])
def test_a_backtest_is_said_in_numbers_and_has_failed_below_four_of_five(monkeypatch, held, failed):
    measured = np.array([2.0, 2.1, 2.2, 2.3, 2.4])
    high = np.where(np.arange(5) < held, measured + 0.1, measured - 0.01)
    test = Backtest(6e21 * np.arange(5, 0, -1), measured, 1.01 * measured, measured - 0.2, high, 7)
    monkeypatch.setattr(surface_sections, "backtest", lambda _: test)
    section = surface_sections.the_backtest(SimpleNamespace(surface=Known(), y="loss"), "tokens")
    (said,) = section.paragraphs
    assert "The 5 points of more than a tenth" in said
    assert "fitted to the 7 cheaper ones: off by 1 % (root mean square)" in said
    assert f"contain {20 * held} % of them" in said
    assert ("too few" in said) == failed
    drawn = named(section.plots[0].figure, "predicted, 95 %")
    assert drawn.x.tolist() == sorted(test.compute)
    assert drawn.error_y.array.tolist() == pytest.approx((high - test.predicted)[::-1].tolist())
    assert drawn.error_y.arrayminus.tolist() == pytest.approx((test.predicted - test.low)[::-1].tolist())


def test_the_fit_lists_what_is_determined_and_draws_residuals_in_percent():
    section = surface_sections.the_fit(Known(), "tokens")
    ((_, table),) = section.tables
    assert table.to_numpy().tolist() == [
        ["E", "not determined", "open", "open"], ["A", "not determined", "300", "open"],
        ["alpha", "0.34", "0.3", "0.4"],
    ]  # fmt: skip
    assert section.paragraphs == [
        "L = E + A N^-alpha + B D^-beta, N parameters and D tokens, fitted to 9 points. "
        "These runs do not determine E, A."
    ]
    drawn = section.plots[0].figure
    assert drawn.data[0].y.tolist() == pytest.approx(np.linspace(-2, 2, 9).tolist())
    assert drawn.data[0].text[:2] == ("100M parameters", "1B parameters")
    assert drawn.layout.yaxis.type is None
    assert not drawn.layout.showlegend
    assert list(drawn.data[0].marker.colorbar.ticktext) == ["100M", "316M", "1B", "3.16B", "10B"]
