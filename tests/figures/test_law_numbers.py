"""Figures of laws and their sections show the numbers of what was fitted; ticks, on axes of every length."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from scalinglab.figures import decisions, laws, results
from scalinglab.figures.style import MUTED, PALETTE, PlainTicks, colors, panels
from scalinglab.results import Reason
from tests.figures.test_drawn_numbers import bars, legend, line, search, title

X = np.array([1e3, 1e4, 1e5])


def power_law(y: Any = (0.4, 0.2, 0.1), error: Any = None, log: bool = True, **more: Any) -> Any:
    """A law y = 0.4 (x/1000)^-0.3 whose interval is open on both sides at levels of 95 % or less."""
    usual = {
        "points": SimpleNamespace(x=X, y=np.array(y), error=error),
        "residuals": np.array([-0.02, 0.01, 0.04]),
        "predict": lambda x: 0.4 * (x / 1e3) ** -0.3, "unidentified": None, "exponent": 0.3,
        "log": log,
        "interval": lambda x, level: (np.full_like(x, -np.inf), x * 0 + (np.inf if level <= 0.95 else 1)),
        "form": SimpleNamespace(name="power_law", exponent="exponent"),
        "parameter_intervals": {"exponent": (0.2, 0.45)},
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **more})


def heights(axis: Any) -> list[tuple[float, float]]:
    """The lowest and highest places of each band."""
    drawn = [c for c in axis.collections if not isinstance(c, LineCollection)]
    return [(c.get_paths()[0].vertices[:, 1].min(), c.get_paths()[0].vertices[:, 1].max()) for c in drawn]


def test_a_law_is_solid_over_its_points_dashed_beyond_and_its_open_interval_leaves_them_visible():
    top, below = laws.law(power_law(), y="test error").axes
    solid, dashed = line(top, "power law"), next(d for d in top.lines if d.get_linestyle() == "--")
    assert solid.get_xdata()[0] == pytest.approx(1e3 / 1.2)
    assert solid.get_xdata()[-1] <= 1e5 < dashed.get_xdata()[0]
    assert dashed.get_xdata()[-1] == pytest.approx(3e5)
    assert len(solid.get_xdata()) + len(dashed.get_xdata()) == 60
    assert heights(top) == [(pytest.approx(0.1 / 30), pytest.approx(3 * 0.4 * 1.2**0.3))]
    assert [text.get_text() for text in top.texts] == ["exponent 0.300 [0.200, 0.450]"]
    assert (top.get_yscale(), top.get_ylabel()) == ("log", "test error")
    residuals = next(d for d in below.lines if len(d.get_ydata()) == 3)
    assert residuals.get_ydata().tolist() == pytest.approx([-2, 1, 4])
    assert below.get_ylim() == (pytest.approx(-1.15 * 4), pytest.approx(1.15 * 4))
    zero = next(d for d in below.lines if len(d.get_ydata()) == 2)
    assert (list(zero.get_ydata()), zero.get_color()) == ([0, 0], PALETTE[0])


def test_a_law_below_zero_has_a_linear_axis_and_room_for_three_times_its_span():
    top, below = laws.law(power_law(y=(0.4, 0.2, -0.1), log=False)).axes
    highest = 0.4 * 1.2**0.3
    span = highest + 0.1
    assert top.get_yscale() == "linear"
    assert heights(top) == [(pytest.approx(-0.1 - 3 * span), pytest.approx(highest + 3 * span))]
    assert below.get_ylabel() == "residual"
    assert below.get_ylim()[1] == pytest.approx(1.15 * 0.04)


def test_predictions_have_their_intervals_and_residuals_the_errors_of_the_points():
    error = np.array([0.04, 0.01, 0.01])
    place = laws.Predicted(np.array([1e6]), np.array([0.05]), np.array([0.04]), np.array([0.07]))
    top, below = laws.law(power_law(error=error), level=0.9, predicted=[place]).axes
    assert next(d for d in top.lines if d.get_linestyle() == "--").get_xdata()[-1] == pytest.approx(1.2e6)
    assert [[pytest.approx(0.04), pytest.approx(0.07)]] in bars(top)
    assert legend(top) == ["power law", "predicted, 90 %", "measured"]
    assert np.array(bars(below)).ravel() == pytest.approx([-12, 8, -4, 6, -6, 14])  # ± 100 error / y
    assert below.get_ylim()[1] == pytest.approx(1.15 * 14)


def test_several_laws_name_their_slopes_and_a_law_of_the_complement_brings_its_points():
    other = power_law(y=(0.6, 0.8, 0.9), unidentified=Reason("no_freedom_left", points=3, parameters=5))
    top, below = laws.law(power_law(), other).axes
    assert legend(top) == [
        "power law, exponent 0.300 [0.200, 0.450]", "power law, exponent not identified", "measured",
    ]  # fmt: skip
    measured = [d.get_ydata().tolist() for d in top.lines if d.get_marker() == "o"]
    assert measured == [[0.4, 0.2, 0.1], [0.6, 0.8, 0.9]]
    assert not top.texts
    zero = next(d for d in below.lines if len(d.get_ydata()) == 2)
    assert zero.get_color() == MUTED
    assert [d.get_color() for d in below.lines if d.get_marker() == "o"] == list(PALETTE[:2])
    same = laws.law(power_law(), power_law()).axes[0]
    assert len([d for d in same.lines if d.get_marker() == "o"]) == 1


@pytest.mark.parametrize(
    ("exponent", "text"),
    [(None, ""), (0.5, "exponent 0.300, fixed"), ("exponent", "exponent 0.300 [0.200, 0.450]")],
)
def test_the_slope_in_words(exponent: object, text: str):
    assert laws.slope_text(power_law(form=SimpleNamespace(name="form", exponent=exponent))) == text


# --- sections of a law of several variables ----------------------------------------------------------------


def several(bits: Any, losses: float = 10.0, log: bool = True) -> Any:
    """Losses at three n_params, two n_data and these bits."""
    x = np.array([v.ravel() for v in np.meshgrid([1e8, 1e9, 1e10], [1e9, 1e10], bits, indexing="ij")], float)
    y = np.geomspace(1, losses, x.shape[1])
    form = SimpleNamespace(name="precision", variables=("n_params", "n_data", "bits"))
    law = SimpleNamespace(
        points=SimpleNamespace(x=x, y=y),
        form=form,
        log=log,
        residuals=np.full(len(y), 0.01),
    )
    return SimpleNamespace(law=law, predict=lambda at: at["n_params"] / 1e8 + at["n_data"] / 1e9 + at["bits"])


def test_a_law_of_several_variables_is_drawn_along_the_one_that_is_no_size():
    left, right = laws.surface(several([4, 8, 16])).axes
    assert (left.get_xlabel(), left.get_xscale(), left.get_yscale()) == ("bits", "linear", "log")
    assert left.get_legend().get_title().get_text() == "6 of 6 settings"
    assert legend(left)[0] == "n_params 1e+08, n_data 1e+09"
    curves = [d for d in left.lines if len(d.get_xdata()) == 80]
    assert [(d.get_ydata()[0], d.get_ydata()[-1]) for d in curves][:2] == [(6, 18), (15, 27)]
    assert title(left) == "precision"
    assert (right.get_ylabel(), right.lines[1].get_ydata()[0]) == ("residual / %", pytest.approx(1.0))


@pytest.mark.parametrize(
    ("bits", "losses", "log", "scales"),
    [
        ((4, 8, 16), 3.9, True, ("linear", "linear")),  # a span of less than 4
        ((1, 5, 30), 4.1, True, ("linear", "log")),
        ((1, 5, 31), 4.1, False, ("log", "linear")),  # more than 30 times; residuals are not of logs
        ((0, 5, 31), 4.1, True, ("linear", "log")),
    ],
)
def test_a_section_has_log_axes_for_wide_ranges(bits, losses, log, scales):
    left = laws.surface(several(bits, losses, log)).axes[0]
    assert (left.get_xscale(), left.get_yscale()) == scales


def test_settings_that_were_run_once_are_drawn_against_the_law():
    fitted = several([4])
    fitted.law.points.x = np.array([[1e8, 1e9, 1e10], [1e9, 2e9, 3e9], [4, 5, 6.0]])
    fitted.law.points.y, fitted.law.residuals = np.array([6.0, 17.0, 109.0]), np.zeros(3)
    left, right = laws.surface(fitted, loss="test loss").axes
    drawn = next(d for d in left.lines if d.get_marker() == "o")
    assert (drawn.get_xdata().tolist(), drawn.get_ydata().tolist()) == ([6, 17, 109], [6, 17, 109])
    assert left.lines[0].get_slope() == 1
    assert (left.get_xlabel(), left.get_ylabel()) == ("test loss of the law", "test loss measured")
    assert list(right.lines[0].get_ydata()) == [0, 0]


# --- ticks, colours, noise ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "powers"), [((1.0, 3.9), None), ((1.0, 4.0), [1.0]), ((0.5, 1.5), None), ((0.2, 20), [1, 10])]
)
def test_a_short_log_axis_has_even_ticks_and_a_long_one_powers_of_ten(ends, powers):
    axis = panels()[1][0, 0]
    axis.set(xscale="log", xlim=ends)
    axis.xaxis.set_major_locator(PlainTicks())
    seen = [tick for tick in axis.get_xticks() if ends[0] <= tick <= ends[1]]
    if powers is not None:
        assert seen == powers
        return
    steps = np.diff(seen)
    assert steps == pytest.approx(np.full(len(steps), steps[0]))
    assert 3 <= len(seen) <= 6


def test_colours_of_sizes_go_from_a_tenth_to_nine_tenths_of_the_map():
    import matplotlib as mpl

    shades = [mpl.colormaps["viridis"](share) for share in (0.1, 0.5, 0.9)]
    assert colors([1, 2, 3]) == shades
    assert colors([1]) == shades[:1]


def test_the_power_of_the_optimum_has_a_band_between_the_ends_of_its_interval():
    axis = panels()[1][0, 0]
    decisions.draw_optimum(axis, search())
    band = next(c for c in axis.collections if not isinstance(c, LineCollection))
    corners = band.get_paths()[0].vertices
    right = corners[corners[:, 0] == corners[:, 0].max()]
    factor = 2 * 1.15 / np.sqrt(2)  # from the middle of the widths to the end of the line
    assert right[:, 1].min() == pytest.approx(np.sqrt(18) * factor**0.5)
    assert right[:, 1].max() == pytest.approx(np.sqrt(18) * factor**1.1)


# --- two recipes, two stages -------------------------------------------------------------------------------


def test_two_recipes_are_drawn_to_the_loss_at_which_they_are_compared():
    axis = panels()[1][0, 0]
    compute = np.array([1e18, 1e19, 1e18, 1e20])
    faster = [1, 1, 0, 0]
    points = SimpleNamespace(x=np.array([compute, faster, np.zeros(4)]), y=np.array([3.0, 2.5, 4.0, 2.0]))
    found = SimpleNamespace(
        law=SimpleNamespace(points=points),
        at=[1e19, 1e21], factor=4.0, low=2.0, high=9.0, level=0.9,
        predict=lambda x, recipe: 2.0 + 0 * np.asarray(x) + (recipe == "B"),
    )  # fmt: skip
    results.speedup(axis, found, x="FLOPs")
    measured = [(d.get_xdata().tolist(), d.get_ydata().tolist()) for d in axis.lines if d.get_marker() == "o"]
    assert measured == [([1e18, 1e19], [3.0, 2.5]), ([1e18, 1e20], [4.0, 2.0])]
    solid, dashed = (
        [d for d in axis.lines if d.get_linestyle() == style and len(d.get_xdata()) > 2]
        for style in ("-", "--")
    )
    assert [d.get_label() for d in solid] == ["A", "B"]
    assert [d.get_color() for d in solid] == list(PALETTE[:2])
    assert [d.get_ydata()[0] for d in solid] == [2.0, 3.0]
    assert solid[0].get_xdata()[-1] <= 1e19 <= dashed[0].get_xdata()[0]
    ends = [d.get_xdata()[-1] for d in dashed]
    assert ends == pytest.approx([1e20, 4e20])  # the middle of the range, and the factor times it
    gap = next(d for d in axis.lines if len(d.get_xdata()) == 2 and d.get_marker() == "None")
    assert (list(gap.get_xdata()), list(gap.get_ydata())) == (pytest.approx([1e20, 4e20]), [2.0, 2.0])
    (bar,) = (c.get_segments()[0] for c in axis.collections if isinstance(c, LineCollection))
    assert bar[:, 0] == pytest.approx([2e20, 9e20])
    assert "compute of B over A: 4, 90 % 2 … 9" in legend(axis)
