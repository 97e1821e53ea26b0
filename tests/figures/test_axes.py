"""Axes of figures: sizes of panels, limits at which ticks and labels change, what is drawn where."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

import scalinglab as sl
from scalinglab.answers import Answers
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.figures import collapse, decisions, laws, results, style
from scalinglab.figures.style import panels
from scalinglab.results import Finding, Reason, Status
from tests.figures.test_drawn_numbers import (
    bars,
    collapsed,
    estimate,
    fitted_surface,
    legend,
    line,
    search,
    title,
)
from tests.figures.test_law_numbers import heights, power_law, several


@pytest.fixture
def axis() -> Axes:
    return panels()[1][0, 0]


# --- panels ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "across", "inches"), [(5, 3, [6, 2]), (2, 3, [4, 1]), (3, 3, [6, 1])])
def test_panels_are_counted_and_those_left_over_are_empty(count: int, across: int, inches: list[int]):
    figure, axes = style.panels_for(count, across, size=(2.0, 1.0))
    assert len(axes) == count
    assert figure.get_size_inches().tolist() == inches
    assert [one.axison for one in figure.axes] == [k < count for k in range(len(figure.axes))]


# --- ticks and labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "plain"), [(1e-3, 9e4, True), (9e-4, 10, False), (1, 1e5, False), (1, 1.2e5, False)]
)
def test_plain_numbers_are_for_axes_between_a_thousandth_and_a_hundred_thousand(low, high, plain):
    assert style.is_plain(low, high) == plain


@pytest.mark.parametrize(
    ("high", "label"),
    [(3.9, ""), (4.1, "2"), (20.0, "")],  # even ticks, one power of ten, two of them
)
def test_ticks_between_powers_of_ten_are_labelled_where_these_are_few(axis, high, label):
    style.loglog(axis, "x", "y").set_ylim(1.0, high)
    assert axis.yaxis.get_minor_formatter().format_ticks([2.0]) == [label]


@pytest.mark.parametrize(
    ("ends", "places"),
    [
        ((1, 4), [1.2, 1.8, 2.4, 3.0, 3.6]),  # at most five even steps
        ((1, 4.1), [1, 2]),
        ((1, 29), [1, 2, 5, 10, 20]),
        ((1, 30), [1, 3, 10, 30]),
        ((1, 299), [1, 3, 10, 30, 100]),
        ((4000, 9.9e5), [1e4, 3e4, 1e5, 3e5]),
    ],
)
def test_plain_ticks_at_the_limits_of_their_ranges(axis, ends, places):
    axis.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    untouched = axis.yaxis.get_major_formatter()
    collapse.plain_ticks(axis, "x")
    shown = [tick for tick in axis.get_xticks() if ends[0] <= tick <= ends[1]]
    assert shown == pytest.approx(places)
    assert axis.xaxis.get_major_formatter()(1e5) == "100,000"
    assert axis.yaxis.get_major_formatter() is untouched
    collapse.plain_ticks(axis)
    assert axis.yaxis.get_major_formatter() is not untouched


# --- several sizes -----------------------------------------------------------------------------------------


def test_no_master_curve_is_drawn_where_no_size_belongs_to_it(axis):
    found = collapsed()
    found.holds = np.zeros(3, bool)
    collapse.draw_collapse(axis, found)
    assert len(axis.lines) == 3
    assert axis.get_legend() is None


# --- laws --------------------------------------------------------------------------------------------------


def test_of_many_settings_six_are_drawn_from_the_first_to_the_last():
    fitted = several([4, 8])
    names = legend(laws.surface(fitted).axes[0])
    assert len(names) == 6
    ten = SimpleNamespace(**{**vars(fitted), "law": SimpleNamespace(**vars(fitted.law))})
    x = np.array([v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e9, 10), [1e9], [4, 8], indexing="ij")])
    ten.law.points = SimpleNamespace(x=x, y=np.linspace(1, 2, 20))
    ten.law.residuals = np.zeros(20)
    left = laws.surface(ten).axes[0]
    assert left.get_legend().get_title().get_text() == "6 of 10 settings"
    assert (legend(left)[0], legend(left)[-1]) == (
        "n_params 1e+08, n_data 1e+09", "n_params 1e+09, n_data 1e+09",
    )  # fmt: skip


# --- results -----------------------------------------------------------------------------------------------


class Law(SimpleNamespace):
    """Has the name by which `results.draw` finds the drawing of a law."""


@pytest.mark.parametrize("own", [True, False])
def test_a_result_is_drawn_on_the_axes_that_are_given_or_on_new_ones(axis, own):
    closed = {"interval": lambda x, level: (0.9 * 0.4 * (x / 1e3) ** -0.3, 0.44 * (x / 1e3) ** -0.3)}
    drawn = results.draw(Law(**vars(power_law(**closed))), axis if own else None, y="test error")
    assert (drawn is axis) == own
    assert drawn.get_ylabel() == "test error"
    assert type(drawn.yaxis.get_major_formatter()).__name__ == "FuncFormatter"  # plain numbers


class NextRuns(SimpleNamespace):
    """Has the name by which `results.draw` finds the drawing of further runs."""


def test_a_linear_axis_keeps_its_labels():
    found = NextRuns(cost=np.array([2.0]), before=0.2, after=np.array([0.1]), unit="FLOPs", worth_it=False)
    drawn = results.draw(found)
    assert title(drawn) == "not worth it"
    assert type(drawn.yaxis.get_major_formatter()).__name__ == "ScalarFormatter"


def test_isoflop_curves_reach_from_half_the_smallest_to_twice_the_largest_model(axis):
    fitted = fitted_surface()

    def refused(*_: Any, **__: Any) -> None:
        raise ScalinglabError("no optimum")

    fitted.compute_optimal = refused
    laws.draw_surface(axis, fitted, budgets=5)
    middle = line(axis, "6e+19 FLOPs").get_xdata()
    assert (middle[0], middle[-1], len(middle)) == (pytest.approx(5e7), pytest.approx(2e10), 80)
    assert "compute-optimal" not in legend(axis)


@pytest.mark.parametrize("basis", ["surface", "law"])
def test_answers_are_drawn_as_the_fit_that_they_rest_on(axis, basis):
    refused = Finding("exponent", Status.REFUSED, reasons=(Reason("message", text="few runs"),))
    found = Answers((refused,), "n_data", "loss")
    with pytest.raises(BadInput, match="few runs"):
        results.answers(axis, found)
    sizes = np.geomspace(100, 1e4, 6)
    table = {"n_data": sizes, "loss": 3 * sizes**-0.5}
    curve = sl.fit(table, form="power_law") if basis == "law" else None
    fit = curve or SimpleNamespace(surface=fitted_surface(), y="loss")
    results.answers(axis, replace(found, fit=fit))
    assert {"surface": "compute-optimal", "law": "power law"}[basis] in legend(axis)
    assert axis.get_xlabel() == ("n_params" if basis == "surface" else "n_data")


# --- SGD noise ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("off", "best"), [(5e-7, [2, 4]), (1e-5, [])])
def test_levels_belong_to_the_best_interval_up_to_rounding(axis, off, best):
    ends = {"low": np.array([2 * (1 + off)] * 2), "high": np.array([4 * (1 - off)] * 2)}
    decisions.draw_searches(axis, search(**ends))
    thick = [d.get_xdata().tolist() for d in axis.lines if d.get_linewidth() == 3.5]
    assert thick == [best] * 2


def test_an_optimum_without_a_power_has_points_and_the_proportional_line_alone(axis):
    unknown = search(
        power=estimate(np.nan), claim=np.nan, noise_interval=np.full((2, 2), np.nan), edge=np.zeros(2, bool)
    )
    decisions.draw_optimum(axis, unknown, name="MNIST")
    assert legend(axis) == ["a w", "MNIST"]
    assert title(axis) == "p = not determined"
    assert bars(axis) == [[[2.0, 4.0], [4.0, 8.0]]]
    decisions.draw_optimum(axis, search(power=estimate(0.75)))
    assert not [c for c in axis.collections if not isinstance(c, LineCollection)], "no interval, no band"


def test_an_open_interval_of_a_law_is_cut_and_not_drawn_far_below_its_points(axis):
    results.law(axis, power_law())
    assert heights(axis) == [(pytest.approx(0.1 / 30), pytest.approx(3 * 0.4 * 1.2**0.3))]


def test_a_value_of_zero_makes_the_axis_linear_and_leaves_room_below_it():
    top = laws.law(power_law(y=(0.4, 0.2, 0.0))).axes[0]
    span = 0.4 * 1.2**0.3
    assert top.get_yscale() == "linear"
    assert heights(top) == [(pytest.approx(-3 * span), pytest.approx(4 * span))]


def test_three_ways_to_the_optimal_size_are_drawn_to_a_hundred_times_the_first_compute_at_least():
    row = SimpleNamespace(
        name="envelope", compute=np.array([1e18, 1e19]), best=[1e8, 1e9], n_params=1e9, exponent=0.5
    )
    (axis,) = laws.approaches(SimpleNamespace(rows=[row], compute=2e19), fitted_surface()).axes
    drawn = line(axis, "envelope").get_xdata()
    assert (drawn[0], drawn[-1], len(drawn)) == (pytest.approx(1e18), pytest.approx(1e20), 40)
