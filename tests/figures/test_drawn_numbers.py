"""Figures show the numbers of their results: points, ends of intervals, slopes and words."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.figures import collapse, decisions, laws, results
from scalinglab.figures.style import MUTED, panels
from scalinglab.results import Estimate, Reason
from scalinglab_papers.park2019 import figures as park2019

SIZES = np.array([100.0, 1000.0, 10_000.0])


@pytest.fixture
def axis() -> Axes:
    return panels()[1][0, 0]


def estimate(value: float, low: float = np.nan, high: float = np.nan) -> Estimate:
    return Estimate(value, (high - low) / 4, low, high)


def bars(axis: Axes) -> list[list[list[float]]]:
    """Lower and upper ends of the error bars, one list of pairs for each set of points that has any."""
    found = [c.get_segments() for c in axis.collections if isinstance(c, LineCollection)]
    return [[[float(one[0, 1]), float(one[1, 1])] for one in segments] for segments in found]


def line(axis: Axes, label: str) -> Any:
    return next(line for line in axis.lines if label in str(line.get_label()))


def slope(drawn: Any) -> float:
    x, y = (np.log(np.asarray(v, float)) for v in (drawn.get_xdata(), drawn.get_ydata()))
    return float(np.polyfit(x, y, 1)[0])


def title(axis: Axes) -> str:
    return axis.get_title(loc="left")


def legend(axis: Axes) -> list[str]:
    return [text.get_text() for text in axis.get_legend().get_texts()]


# --- several sizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("falling", "sign"), [(False, 1), (True, -1)])
def test_a_law_of_size_has_its_slope_and_error_bars_that_end_where_the_intervals_do(axis, falling, sign):
    values = np.array([2.0, 3.0, 5.0])
    collapse.draw_law(
        axis, SIZES, values, estimate(0.3), "γ", low=values - 0.5, high=values + 2, falling=falling
    )
    assert bars(axis) == [[[1.5, 4.0], [2.5, 5.0], [4.5, 7.0]]]
    law = line(axis, "γ")
    assert slope(law) == pytest.approx(sign * 0.3)
    assert np.exp(np.mean(np.log(law.get_ydata()))) == pytest.approx(30 ** (1 / 3))  # middle of the points
    assert law.get_xdata().tolist() == [100, 10_000]


@pytest.mark.parametrize(("count", "shown"), [(1, [0]), (2, [0, 1]), (5, [0, 2, 4]), (8, [0, 4, 7])])
def test_the_legend_of_sizes_has_the_smallest_the_middle_and_the_largest(axis, count, shown):
    sizes = 1000.0 * 2.0 ** np.arange(count)
    collapse.sizes_legend(axis, sizes, "n_data")
    assert legend(axis) == [f"{sizes[k]:,.0f}" for k in shown]
    assert axis.get_legend().get_title().get_text() == "n_data"


@pytest.mark.parametrize(
    ("ends", "digits"),
    [((1, 20), "125"), ((1, 100), "13"), ((1000, 2500), "12"), ((1, 400), None), ((1e5, 2e6), None)],
)
def test_plain_ticks_are_for_axes_of_a_decade_or_two(axis, ends, digits):
    axis.set(xscale="log", xlim=ends)
    before = axis.xaxis.get_major_formatter()
    collapse.plain_ticks(axis, "x")
    if digits is None:
        assert axis.xaxis.get_major_formatter() is before
        return
    axis.figure.draw_without_rendering()
    places = [tick for tick in axis.get_xticks() if ends[0] <= tick <= ends[1]]
    assert {f"{tick:e}"[0] for tick in places} <= set(digits)
    assert len(places) >= 3
    assert [t.get_text() for t in axis.get_xticklabels() if t.get_text()]


def collapsed(**more: Any) -> Any:
    curves = pd.DataFrame({"size": np.repeat(SIZES, 2), "x": [1, 2] * 3, "y": [3.0, 4, 5, 6, 7, 8]})
    return SimpleNamespace(
        sizes=SIZES, holds=np.array([False, True, True]), deviation=np.array([0.3, 0.02, 0.01]),
        rescaled=curves, x=np.array([1.0, 2]), y=np.array([6.0, 7]), by="optimum", **more,
    )  # fmt: skip


def test_a_collapse_shows_which_sizes_belong_to_the_master_curve_and_how_far_each_is_from_it():
    left, right = collapse.collapse(collapsed(), size="n_data").axes
    heights = [drawn.get_ydata().tolist() for drawn in left.lines]
    assert heights == [[3, 4], [5, 6], [7, 8], [6, 7]]
    assert [drawn.get_alpha() for drawn in left.lines[:3]] == [0.4, 1, 1], "what does not belong is pale"
    assert (left.get_xlabel(), left.get_ylabel()) == ("norm / optimum", "test error / optimum")
    shown = {d.get_label(): (d.get_xdata().tolist(), d.get_ydata().tolist()) for d in right.lines}
    assert shown == {"holds": ([1000, 10_000], [2, 1]), "does not": ([100], [30])}


def extrapolated(at: list[float], mean: list[float]) -> Any:
    mean_ = np.array(mean)
    backtest = pd.DataFrame({"cut": [1, 1, 2, 2], "x": [10, 20] * 2, "predicted": [0.5, 0.4, 0.6, 0.5]})
    return SimpleNamespace(
        at=np.array(at), mean=mean_, low=mean_ - 0.01, high=mean_ + 0.03, level=0.9, backtest=backtest,
        points=SimpleNamespace(x=[10, 20], y=[0.5, 0.4]),
    )  # fmt: skip


def drawn(found: Any) -> Any:
    axis = panels()[1][0, 0]
    results.extrapolation(axis, found, backtests=True)
    return axis


def test_an_extrapolation_to_one_size_is_a_point_with_its_interval_and_to_several_a_band():
    one = drawn(extrapolated([100.0], [0.2]))
    assert np.concatenate(bars(one)).ravel() == pytest.approx([0.19, 0.23])
    assert legend(one) == ["backtests", "measured", "predicted, 90 %"]
    several = drawn(extrapolated([400.0, 100.0], [0.1, 0.2]))
    (band,) = (c for c in several.collections if not isinstance(c, LineCollection))
    corners = band.get_paths()[0].vertices
    assert [corners[corners[:, 0] == x][:, 1].min() for x in (100, 400)] == pytest.approx([0.19, 0.09])
    assert [corners[corners[:, 0] == x][:, 1].max() for x in (100, 400)] == pytest.approx([0.23, 0.13])
    assert line(several, "predicted").get_xdata().tolist() == [100, 400]


def test_of_many_backtests_every_fourth_is_drawn_and_single_predictions_are_marked():
    found = extrapolated([100.0], [0.2])
    predicted = np.repeat(np.arange(9) + 1.0, 2)
    found.backtest = pd.DataFrame({"cut": predicted, "x": [10.0, 20.0] * 9, "predicted": predicted})
    axis = drawn(found)
    lines = [d for d in axis.lines if d.get_color() == MUTED]
    assert [d.get_ydata().tolist() for d in lines] == [[1, 1], [5, 5], [9, 9]]
    found.backtest = found.backtest[::2]
    axis = drawn(found)
    marks = [d for d in axis.lines if d.get_color() == MUTED]
    assert [d.get_ydata().tolist() for d in marks] == [[k] for k in range(1, 10)]
    assert {d.get_marker() for d in marks} == {"x"}


def measured() -> tuple[Any, list[Any]]:
    """Dynamical laws of three sizes and their mean curves, in logs."""
    table = pd.DataFrame(
        {
            "size": SIZES, "x_optimum": [2.0, 4, 8], "x_optimum_low": [1.5, 3, 6],
            "x_optimum_high": [3.0, 6, 12], "y_optimum": [0.4, 0.2, 0.1], "elbow": [3.0, 6, 12],
            "position": [1.0, 2, 4],
            "resolved": [False, True, True],
        }
    )  # fmt: skip
    found = SimpleNamespace(
        table=table, gamma_1=estimate(1.5), gamma_2=estimate(0.25), gamma_2_optimum=estimate(0.3),
        gamma_measured=estimate(0.35), gamma_predicted=estimate(0.375),
        gamma_predicted_optimum=estimate(0.45),
    )  # fmt: skip
    runs = [
        SimpleNamespace(x=np.log([1.0, 10]), y=np.log([1.0, 0.1]), smoothed=lambda x: -2 * x) for _ in SIZES
    ]
    return found, runs


def test_dynamical_laws_show_curves_with_optimum_and_elbow_where_the_optimum_lies_and_how_good_it_is():
    curves, place, height = collapse.dynamical(*measured(), size="n_data").axes
    assert [d.get_ydata().tolist() for d in curves.lines if len(d.get_xdata()) == 2] == [
        pytest.approx([1.0, 0.1])
    ] * 3
    stars = [(d.get_xdata()[0], d.get_ydata()[0]) for d in curves.lines if d.get_marker() == "*"]
    assert stars == [(2, 0.4), (4, 0.2), (8, 0.1)]
    elbows = [(d.get_xdata()[0], d.get_ydata()[0]) for d in curves.lines if d.get_marker() == "|"]
    assert elbows == [(x, pytest.approx(x**-2)) for x in (3, 6, 12)]
    assert bars(place)[0] == [[1.5, 3], [3, 6], [6, 12]]
    assert [slope(line(place, name)) for name in ("optimum:", "collapse:")] == pytest.approx([0.3, 0.25])
    assert line(place, "collapse:").get_xdata().tolist() == [1000, 10_000], "resolved sizes only"
    names = ("γ = ", "optima", "collapse")
    assert [slope(line(height, name)) for name in names] == pytest.approx([-0.35, -0.45, -0.375])
    assert height.get_ylabel() == "smallest test error"


# --- laws ------------------------------------------------------------------------------------------------


def fitted_surface() -> Any:
    n, d = (v.ravel() for v in np.meshgrid([1e8, 1e9, 1e10], [1e9, 1e10, 1e11]))
    loss = 1.5 + 400 * n**-0.34 + 400 * d**-0.28
    points = SimpleNamespace(x=np.array([n, d]), y=loss)

    def compute_optimal(compute: Any, flops_per_param_example: float = 6.0, intervals: bool = True) -> Any:
        size = np.sqrt(np.asarray(compute) / flops_per_param_example)
        return SimpleNamespace(
            n_params=size, loss=np.full(len(size), 2.0), n_params_median=size,
            loss_median=np.full(len(size), 2.0), n_params_interval=(size / 2, size * 3),
            loss_interval=(np.full(len(size), 1.9), np.full(len(size), 2.2)),
        )  # fmt: skip

    form = SimpleNamespace(name="sum", variables=("n_params", "n_data"))
    return SimpleNamespace(
        law=SimpleNamespace(points=points, residuals=np.linspace(-0.02, 0.02, 9), form=form, log=True),
        predict=lambda at: 1.5 + 400 * at["n_params"] ** -0.34 + 400 * at["n_data"] ** -0.28,
        compute_optimal=compute_optimal,
    )  # fmt: skip


def test_a_surface_shows_isoflop_curves_near_its_data_the_optimum_asked_for_and_residuals():
    left, right = laws.surface(fitted_surface(), compute=6e24, loss="test loss").axes[:2]
    curves = [drawn for drawn in left.lines if "FLOPs" in str(drawn.get_label())]
    for drawn, budget in zip(curves, np.geomspace(6e17, 6e21, 6), strict=True):
        tokens = budget / 6 / drawn.get_xdata()
        assert (tokens > 1e9 / 3).all()
        assert (tokens < 3e11).all()
    optimum = line(left, "compute-optimal").get_xdata()
    assert (optimum[0], optimum[-1]) == (pytest.approx(np.sqrt(1e17)), pytest.approx(1e12))
    star = next(d for d in left.lines if d.get_marker() == "*")
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (pytest.approx(1e12), 2.0)
    ends = [c.get_segments()[0] for c in left.collections if isinstance(c, LineCollection)]
    assert ends[0][:, 0] == pytest.approx([5e11, 3e12])
    assert ends[1][:, 1] == pytest.approx([1.9, 2.2])
    assert right.lines[1].get_ydata() == pytest.approx(np.linspace(-2, 2, 9))
    assert left.get_ylabel() == "test loss"


def test_without_a_question_the_optimum_is_drawn_ten_times_beyond_the_data():
    left = laws.surface(fitted_surface()).axes[0]
    assert line(left, "compute-optimal").get_xdata()[-1] == pytest.approx(np.sqrt(1e22))


def test_three_ways_to_the_optimal_size_are_lines_with_their_exponents():
    row = SimpleNamespace(
        name="envelope", compute=np.array([1e18, 1e20]), best=[1e8, 1e9], n_params=1e10, exponent=0.5
    )
    fit = SimpleNamespace(name="surface", compute=np.array([]), best=[], n_params=1e10, exponent=0.4)
    found = SimpleNamespace(rows=[row, fit], compute=1e22)
    (axis,) = laws.approaches(found, fitted_surface()).axes
    envelope, surface = (line(axis, name) for name in ("envelope: a = 0.500", "surface: a = 0.400"))
    assert (slope(envelope), slope(surface)) == (pytest.approx(0.5), pytest.approx(0.5))
    assert (envelope.get_xdata()[0], envelope.get_xdata()[-1]) == (pytest.approx(1e18), pytest.approx(1e22))
    assert envelope.get_ydata()[-1] == pytest.approx(1e10)
    assert surface.get_ydata()[-1] == pytest.approx(np.sqrt(1e22 / 6))


# --- results ---------------------------------------------------------------------------------------------


def test_runs_of_a_surface_have_the_colour_of_the_nearest_isoflop_curve(axis):
    laws.draw_surface(axis, fitted_surface(), budgets=5)
    curves = [drawn for drawn in axis.lines if "FLOPs" in str(drawn.get_label())]
    assert [drawn.get_label() for drawn in curves] == [f"6e+{power} FLOPs" for power in range(17, 22)]
    for drawn, budget in zip(curves, (6e17, 6e18, 6e19, 6e20, 6e21), strict=True):
        tokens = budget / 6 / drawn.get_xdata()
        assert (tokens > 1e9 / 3).all()
        assert (tokens < 3e11).all()
    runs = [drawn for drawn in axis.lines if drawn.get_marker() == "o"]
    assert [len(drawn.get_xdata()) for drawn in runs] == [1, 2, 3, 2, 1]
    assert [a.get_color() for a in runs] == [b.get_color() for b in curves]
    optimum = line(axis, "compute-optimal").get_xdata()
    assert (optimum[0], optimum[-1]) == (pytest.approx(np.sqrt(1e17)), pytest.approx(np.sqrt(1e22)))


def test_a_law_is_drawn_ten_times_beyond_its_points_within_an_interval_that_leaves_them_visible(axis):
    points = SimpleNamespace(x=np.array([1e3, 1e4]), y=np.array([0.4, 0.2]), error=None)
    fitted = SimpleNamespace(
        points=points, form=SimpleNamespace(name="power_law"), predict=lambda x: 0.3 * np.ones_like(x),
        interval=lambda x, level: (np.zeros_like(x), np.full_like(x, np.inf)),
    )  # fmt: skip
    results.law(axis, fitted)
    solid, dashed = (drawn.get_xdata() for drawn in axis.lines[:2])
    assert (solid[0], dashed[-1]) == (pytest.approx(1e3 / 1.2), pytest.approx(1e5))
    assert solid[-1] <= 1e4 < dashed[0]
    (band,) = (c for c in axis.collections if not isinstance(c, LineCollection))
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (pytest.approx(0.2 / 30), pytest.approx(3 * 0.4))


def test_the_best_sizes_are_drawn_with_their_intervals_where_they_have_any(axis):
    found = SimpleNamespace(
        compute=np.array([1e18, 1e20]), n_params=np.array([1e8, 1e9]), n_data=np.array([2e9, 2e10]),
        n_params_interval=(np.array([5e7, 6e8]), np.array([2e8, 3e9])),
        n_data_interval=(np.full(2, np.nan), np.full(2, np.nan)),
    )  # fmt: skip
    results.optimal(axis, found)
    assert bars(axis) == [[[5e7, 2e8], [6e8, 3e9]]]
    assert legend(axis) == ["n_params", "n_data"]


def test_the_value_of_further_runs_is_drawn_against_what_is_spent_in_all(axis):
    found = SimpleNamespace(
        cost=np.array([2.0, 3.0]), before=0.2, after=np.array([0.1, 0.05]), unit="GPU hours", worth_it=True
    )
    results.next_runs(axis, found)
    (drawn,) = axis.lines
    assert drawn.get_xdata().tolist() == [0, 2, 5]
    assert drawn.get_ydata() == pytest.approx([20, 10, 5])
    assert (title(axis), axis.get_xlabel(), axis.get_ylim()[0]) == ("worth it", "spent (GPU hours)", 0)


def test_an_extrapolation_is_drawn_beside_its_points(axis):
    results.extrapolation(axis, extrapolated([100.0], [0.2]))
    assert np.concatenate(bars(axis)).ravel() == pytest.approx([0.19, 0.23])
    assert legend(axis) == ["measured", "predicted, 90 %"]


def test_dynamical_laws_are_drawn_falling_through_the_best_errors(axis):
    table = pd.DataFrame({"size": SIZES, "y_optimum": [0.3, 0.1, 0.03], "y_optimum_error": 0.01})
    found = SimpleNamespace(table=table, gamma_measured=estimate(0.5), gamma_predicted=estimate(0.4))
    results.dynamical(axis, found)
    assert [slope(line(axis, name)) for name in ("measured", "γ₁·γ₂")] == pytest.approx([-0.5, -0.4])
    assert np.array(bars(axis)).ravel() == pytest.approx([0.29, 0.31, 0.09, 0.11, 0.02, 0.04])


def explained(**more: Any) -> Any:
    steps = np.array([1.0, 10, 100])
    usual = {
        "subject": "mlp", "n_data": 64, "steps": steps, "measured": np.array([1.0, 0.5, 0.3]),
        "theory": np.array([1.0, 0.4, np.nan]), "ratio": np.array([1.0, 1.25, np.nan]), "redrawn": None,
        "trained_features": None, "remarks": (),
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **more})


def test_an_explanation_says_the_ratio_at_the_end_of_its_solved_curve(axis):
    results.explanation(axis, explained(redrawn=np.array([1.0, 0.45, 0.2])))
    solved = line(axis, "solved from the initial kernel")
    assert solved.get_label().endswith("measured/solved 1.25 at the end")
    assert solved.get_xdata().tolist() == [1, 10]
    assert title(axis) == "mlp, 64 examples"
    assert line(axis, "other draws").get_ydata().tolist() == [1, 0.45, 0.2]


def test_an_explanation_without_a_solved_curve_says_why(axis):
    reason = Reason("other_loss", loss="huber")
    why = (Reason("nesterov"), Reason("no_curve", reason=reason))
    results.explanation(axis, explained(theory=np.full(3, np.nan), remarks=why, subject=""))
    assert title(axis) == f"64 examples; no solved curve: {reason}"
    assert legend(axis) == ["measured"]


def test_a_law_of_several_variables_and_unknown_results_are_refused(axis):
    points = SimpleNamespace(x=np.ones((2, 3)))
    with pytest.raises(BadInput, match="chinchilla"):
        results.law(axis, SimpleNamespace(points=points, form=SimpleNamespace(name="chinchilla")))
    with pytest.raises(BadInput, match=r"int; .*Law, "):
        results.draw(3)


# --- SGD noise -------------------------------------------------------------------------------------------


def search(**more: Any) -> Any:
    level, width = np.array([1.0, 2, 4, 8, 16]), np.array([1.0, 2.0])
    one = SimpleNamespace(
        level=level, mean=np.array([0.2, 0.5, 0.6, 0.55, 0.1]), stderr=np.full(5, 0.01),
        usable=np.array([True, True, True, True, False]),
    )  # fmt: skip
    usual = {
        "searches": (one, one), "width": width, "low": np.array([2.0, 4.0]), "high": np.array([4.0, 8.0]),
        "noise": np.array([3.0, 6.0]), "noise_interval": np.array([[2.5, 5.0], [3.5, 7.0]]),
        "y": "test_error", "x": "noise_scale", "width_column": "width",
        "accuracy": np.array([0.6, 0.62]), "stderr": np.full(2, 0.001),
        "edge": np.array([False, True]), "used": np.array([True, True]), "slope": 3.0,
        "power": estimate(0.75, 0.5, 1.1), "claim": 1.0, "verdict": "cannot tell",
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **more})


def test_a_search_shows_usable_levels_and_its_best_interval_thick(axis):
    decisions.draw_searches(axis, search())
    curves = [d for d in axis.lines if d.get_marker() == "o"]
    assert [d.get_xdata().tolist() for d in curves] == [[1, 2, 4, 8]] * 2
    thick = [d.get_xdata().tolist() for d in axis.lines if d.get_linewidth() == 3.5]
    assert thick == [[2, 4], [4, 8]]
    assert axis.get_ylabel() == "test accuracy"
    bottom, top = axis.get_ylim()
    assert bottom == pytest.approx(0.62 - 0.08)  # four times the spread of the maxima
    assert top == pytest.approx(0.62 + 0.15 * 0.08)


def test_losses_are_drawn_as_losses_although_the_best_is_sought_among_scores(axis):
    decisions.draw_searches(axis, search(y="test_loss"))
    assert axis.lines[0].get_ydata().tolist() == [-0.2, -0.5, -0.6, -0.55]
    assert axis.get_ylabel() == "test loss"


def test_the_optimum_against_width_has_both_lines_and_says_what_is_not_decided(axis):
    decisions.draw_optimum(axis, search())
    assert slope(line(axis, "a w")) == pytest.approx(1)
    assert line(axis, "a w").get_ydata()[0] == pytest.approx(3 / 1.15)
    fitted = line(axis, "w^p")
    assert (slope(fitted), fitted.get_label()) == (pytest.approx(0.75), "w^p, p = 0.75")
    assert np.interp(
        0.5 * np.log(2), np.log(fitted.get_xdata()), np.log(fitted.get_ydata())
    ) == pytest.approx(0.5 * np.log(18))
    assert title(axis) == "p = 0.75 [0.50, 1.10]: p = 1 not decided"
    assert line(axis, "at the end of the search").get_ydata().tolist() == [6]
    assert [[2.5, 3.5], [5.0, 7.0]] in bars(axis)
    assert [[2.0, 4.0], [4.0, 8.0]] in bars(axis)


def test_over_time_ratios_stop_before_the_end(axis):
    shares = np.array([0.25, 0.5, 1.0])
    found = SimpleNamespace(
        shares=shares, ratio=[estimate(1.5, 1.2, 2.0), estimate(1.1, 0.9, 1.3), estimate(1.0, 1.0, 1.0)],
        found=[SimpleNamespace(power=estimate(p, p - 0.2, p + 0.1), claim=1.0) for p in (0.8, 0.9, 1.0)],
        verdict="agrees",
    )  # fmt: skip
    park2019.draw_over_time(axis, found)
    assert np.array(bars(axis)).ravel() == pytest.approx([1.2, 2.0, 0.9, 1.3])
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1/4", "1/2", "1"]
    assert title(axis) == "from T/2 to T: agrees"


def test_stability_shows_failed_shares_and_the_largest_stable_rate_of_each_scheme():
    one = SimpleNamespace(
        width=np.array([1.0, 2.0]), failed=np.array([[0.0, 0.5, 1.0], [0.0, np.nan, 1.0]]),
        rates=np.array([0.1, 1, 10]), width_column="width", exponent=estimate(-0.5, -0.6, -0.4),
        largest=np.array([1.0, 0.7]), largest_interval=np.array([[0.8, 0.6], [1.5, 0.9]]),
    )  # fmt: skip
    none = SimpleNamespace(**{**vars(one), "largest": np.full(2, np.nan)})
    *schemes, last = park2019.stability({"standard": one, "ntk": none}).axes
    assert [d.get_ydata().tolist() for d in schemes[0].lines] == [[0, 0.5, 1], [0, 1]]
    assert [title(axis) for axis in schemes] == ["standard", "ntk"]
    assert legend(last) == ["standard: w^-0.50 [-0.60, -0.40]"]
    assert np.array(bars(last)).ravel() == pytest.approx([0.8, 1.5, 0.6, 0.9])


@pytest.mark.parametrize(("groups", "more"), [(8, ""), (11, "and 3 more")])
def test_groups_beyond_those_in_the_legend_are_counted(axis: Axes, groups: int, more: str):
    rows = [
        {"run": f"{w}-{step}", "width": w, "step": step, "loss": 1 / step / w}
        for w in range(1, groups + 1) for step in (1, 10, 100)
    ]  # fmt: skip
    results.table(axis, Curves(pd.DataFrame(rows)), x="step", y="loss", by="width")
    legend = axis.get_legend()
    assert (len(legend.get_texts()), legend.get_title().get_text()) == (8, more)
