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
from scalinglab.figures import collapse, laws, noise, results, style
from scalinglab.figures.style import PALETTE, panels
from scalinglab.results import Finding, Reason, Status
from tests.figures.test_drawn_numbers import (
    bars,
    collapsed,
    estimate,
    fitted_surface,
    legend,
    line,
    measured,
    search,
    title,
)
from tests.figures.test_law_numbers import heights, power_law, several


@pytest.fixture
def axis() -> Axes:
    return panels()[1][0, 0]


# --- panels ----------------------------------------------------------------------------------------------


def test_a_figure_is_as_large_as_its_panels_together():
    figure, axes = panels(2, 3, size=(2.0, 1.5))
    assert axes.shape == (2, 3)
    assert figure.get_size_inches().tolist() == [6.0, 3.0]


@pytest.mark.parametrize(("count", "across", "inches"), [(5, 3, [6, 2]), (2, 3, [4, 1]), (3, 3, [6, 1])])
def test_panels_are_counted_and_those_left_over_are_empty(count: int, across: int, inches: list[int]):
    figure, axes = style.panels_for(count, across, size=(2.0, 1.0))
    assert len(axes) == count
    assert figure.get_size_inches().tolist() == inches
    assert [one.axison for one in figure.axes] == [k < count for k in range(len(figure.axes))]


def test_a_slope_is_written_at_its_point(axis):
    style.slope(axis, 10, 0.5, "−0.35", color="red")
    (text,) = axis.texts
    assert (text.xy, text.get_text(), text.get_color()) == ((10, 0.5), "−0.35", "red")


def test_a_legend_has_the_options_that_are_asked_for(axis):
    axis.plot([1, 2], label="a law")
    style.legend(axis, title="forms", fontsize=6)
    assert (axis.get_legend().get_title().get_text(), axis.get_legend().get_frame_on()) == ("forms", False)
    assert [text.get_fontsize() for text in axis.get_legend().get_texts()] == [6]


# --- ticks and labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "is_plain"), [(1e-3, 9e4, True), (9e-4, 10, False), (1, 1e5, False), (1, 1.2e5, False)]
)
def test_plain_numbers_are_for_axes_between_a_thousandth_and_a_hundred_thousand(low, high, is_plain):
    assert style.plain(low, high) == is_plain


@pytest.mark.parametrize(
    ("high", "label"),
    [(3.9, ""), (4.1, "2"), (20.0, "")],  # even ticks, one power of ten, two of them
)
def test_ticks_between_powers_of_ten_are_labelled_where_these_are_few(axis, high, label):
    style.loglog(axis, "x", "y").set_ylim(1.0, high)
    assert axis.yaxis.get_minor_formatter().format_ticks([2.0]) == [label]


@pytest.mark.parametrize(("high", "labels"), [(29.0, ["", "2", "", "5"]), (30.0, [""] * 4)])
def test_a_log_x_axis_has_labels_at_2_and_5_up_to_a_factor_of_30(axis, high, labels):
    style.log_x(axis, xlim=(1.0, high))
    assert [axis.xaxis.get_minor_formatter()(x) for x in (1.0, 2.0, 3.0, 5.0)] == labels


@pytest.mark.parametrize(("high", "places"), [(59.0, [1, 2, 5, 10, 20, 50]), (60.0, [1, 3, 10, 30])])
def test_sparse_labels_are_at_1_2_5_or_at_1_3(axis, high, places):
    axis.set(xscale="log", xlim=(1.0, high))
    style.sparse(axis.xaxis)
    assert [tick for tick in axis.get_xticks() if 1 <= tick <= high] == pytest.approx(places)
    assert axis.xaxis.get_major_formatter()(2.0) == "2"


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


@pytest.mark.parametrize("ends", [(1, 300), (5e3, 1e6), (-1, 1)])
def test_other_axes_keep_their_ticks(axis, ends):
    axis.set(xscale="log" if ends[0] > 0 else "linear", xlim=ends)
    before = axis.xaxis.get_major_locator()
    collapse.plain_ticks(axis, "x")
    assert axis.xaxis.get_major_locator() is before


# --- several sizes -----------------------------------------------------------------------------------------


def test_no_master_curve_is_drawn_where_no_size_belongs_to_it(axis):
    found = collapsed()
    found.holds = np.zeros(3, bool)
    collapse.draw_collapse(axis, found)
    assert len(axis.lines) == 3
    assert axis.get_legend() is None


def test_sizes_stand_beside_their_curves_and_predictions_have_the_colours_of_what_they_come_from():
    curves, place, height = collapse.dynamical(*measured(), x="norm", size="n_data").axes
    assert curves.get_legend().get_title().get_text() == "n_data"
    assert [a.get_legend().get_title().get_text() for a in (place, height)] == ["", ""]
    assert [(d.get_color(), d.get_linestyle()) for d in height.lines if "γ₁γ₂" in d.get_label()] == [
        (PALETTE[2], ":"), (PALETTE[1], "--"),
    ]  # fmt: skip
    assert (line(place, "collapse").get_color(), line(place, "optimum").get_color()) == (
        PALETTE[1], PALETTE[0],
    )  # fmt: skip
    assert [a.get_xlabel() for a in (curves, place, height)] == ["norm", "n_data", "n_data"]


# --- laws --------------------------------------------------------------------------------------------------


def test_a_setting_of_two_points_is_drawn_and_one_of_a_single_point_is_not(axis):
    x = np.array([[1, 1, 2, 2, 3], [4, 8, 4, 8, 4.0]])
    which, with_several = laws.settings_of(x, 1)
    assert which.tolist() == [0, 0, 1, 1, 2]
    assert with_several == [0, 1]


def test_losses_of_a_factor_of_four_have_a_linear_axis_with_room_for_the_legend():
    left = laws.sections(several([4, 8, 16], losses=4.0)).axes[0]
    drawn = [np.ravel(d.get_ydata()) for d in left.lines]
    low, high = np.concatenate(drawn).min(), np.concatenate(drawn).max()
    bottom, top = left.get_ylim()
    margin = low - bottom
    assert left.get_yscale() == "linear"
    assert top - (high + margin) == pytest.approx(0.6 * (high - low + 2 * margin))


def test_of_many_settings_six_are_drawn_from_the_first_to_the_last():
    fitted = several([4, 8])
    names = legend(laws.sections(fitted).axes[0])
    assert len(names) == 6
    ten = SimpleNamespace(**{**vars(fitted), "law": SimpleNamespace(**vars(fitted.law))})
    x = np.array([v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e9, 10), [1e9], [4, 8], indexing="ij")])
    ten.law.points = SimpleNamespace(x=x, y=np.linspace(1, 2, 20))
    ten.law.residuals = np.zeros(20)
    left = laws.sections(ten).axes[0]
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
    results.surface(axis, fitted, budgets=5)
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


def test_searches_stand_left_and_their_optima_right():
    left, right = noise.noise(search()).axes
    assert (left.get_ylabel(), right.get_ylabel()) == ("test accuracy", "optimal noise scale g")
    assert ("p = " in title(right), title(left)) == (True, "")


@pytest.mark.parametrize(("off", "best"), [(5e-7, [2, 4]), (1e-5, [])])
def test_levels_belong_to_the_best_interval_up_to_rounding(axis, off, best):
    ends = {"low": np.array([2 * (1 + off)] * 2), "high": np.array([4 * (1 - off)] * 2)}
    noise.draw_searches(axis, search(**ends))
    thick = [d.get_xdata().tolist() for d in axis.lines if d.get_linewidth() == 3.5]
    assert thick == [best] * 2


@pytest.mark.parametrize(
    ("accuracy", "stderr", "below"),
    [([0.62, 0.6], 0.001, 0.08), ([0.62, 0.62], 0.002, 0.02), ([0.62, 0.62], 0.0001, 0.005)],
)
def test_the_axis_of_accuracies_shows_the_maxima_and_never_less_than_half_a_percent(
    axis, accuracy, stderr, below
):
    noise.draw_searches(axis, search(accuracy=np.array(accuracy), stderr=np.full(2, stderr)))
    assert axis.get_ylim() == (pytest.approx(0.62 - below), pytest.approx(0.62 + 0.15 * below))


def test_an_optimum_without_a_power_has_points_and_the_proportional_line_alone(axis):
    unknown = search(
        power=estimate(np.nan), claim=np.nan, noise_interval=np.full((2, 2), np.nan), edge=np.zeros(2, bool)
    )
    noise.draw_optimum(axis, unknown, name="MNIST")
    assert legend(axis) == ["a w", "MNIST"]
    assert title(axis) == "p = not determined"
    assert bars(axis) == [[[2.0, 4.0], [4.0, 8.0]]]
    noise.draw_optimum(axis, search(power=estimate(0.75)))
    assert not [c for c in axis.collections if not isinstance(c, LineCollection)], "no interval, no band"


def test_schemes_have_colours_of_their_own():
    one = SimpleNamespace(
        width=np.array([1.0, 2.0]), failed=np.array([[0.0, 1.0], [0.0, 1.0]]), rates=np.array([0.1, 1.0]),
        width_column="width", exponent=estimate(-0.5, -0.6, -0.4), largest=np.array([1.0, 0.7]),
        largest_interval=np.array([[0.8, 0.6], [1.5, 0.9]]),
    )  # fmt: skip
    last = noise.stability({"standard": one, "ntk": one}).axes[-1]
    assert [d.get_color() for d in last.lines if d.get_marker() == "o"] == list(PALETTE[:2])
    assert (last.get_xscale(), last.get_yscale()) == ("log", "log")


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


def test_both_sizes_of_an_optimum_have_colours_of_their_own(axis):
    nothing = np.full(2, np.nan)
    found = SimpleNamespace(
        compute=np.array([1e18, 1e20]), n_params=np.array([1e8, 1e9]), n_data=np.array([2e9, 2e10]),
        n_params_interval=(nothing, nothing), n_data_interval=(nothing, nothing),
    )  # fmt: skip
    results.optimal(axis, found)
    lines = [d for d in axis.lines if d.get_marker() == "None" and len(d.get_xdata()) == 2]
    assert [(d.get_color(), d.get_ydata()[0]) for d in lines] == [(PALETTE[0], 1e8), (PALETTE[1], 2e9)]


def test_optima_have_the_first_colour_and_those_of_another_set_their_own(axis):
    noise.draw_optimum(axis, search())
    assert line(axis, "a w").get_color() == PALETTE[0]
    noise.draw_optimum(axis, search(), PALETTE[2], "CIFAR-10")
    assert axis.lines[-1].get_color() == PALETTE[2]


def test_headroom_is_a_quarter_by_default(axis):
    style.loglog(axis, "x", "y").set_ylim(0.01, 1.0)
    style.headroom(axis)
    low, high = np.log(axis.get_ylim())
    assert (np.log(1.0) - low) / (high - low) == pytest.approx(0.75)


def test_a_legend_below_stands_under_the_axes(axis):
    axis.plot([1, 2], label="a law")
    style.legend_below(axis)
    axis.figure.draw_without_rendering()
    assert axis.get_legend().get_window_extent().y1 < axis.get_window_extent().y0
