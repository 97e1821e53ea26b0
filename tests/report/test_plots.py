"""Axes, lines, bands and cells of the report, on numbers put in by hand."""

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.report import page, plots


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1, 1e4, [1, 10, 100, 1e3, 1e4]),
        (1, 1e20, [1, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18]),  # at most eight powers of ten
        (1, 10**2.5, [1, 10, 100, 1000]),
        (2, 300, [s * 10**k for k in range(4) for s in (1, 2, 5)]),
        (1, 10, [1, 2, 5, 10, 20, 50]),
        (2, 8, [1, 2, 3, 4, 5, 7, 10, 20, 30, 40, 50, 70]),
        (0.312, 0.353, [0.32, 0.33, 0.34, 0.35]),  # a fraction of a decade: even steps of 1, 2, 5 or 10
        (0.31, 0.39, [0.32, 0.34, 0.36, 0.38]),
        (0.51, 0.685, [0.55, 0.6, 0.65]),
        (5.15, 5.51, [5.2, 5.3, 5.4, 5.5]),
        (1, 5, [1, 2, 3, 4, 5, 7, 10, 20, 30, 40, 50, 70]),
        (2, 4, [1, 2, 3, 4, 5, 7, 10, 20, 30, 40, 50, 70]),  # both ends count
        (5, 5, [5]),
        (5.5, 5.5, [5.5]),
    ],
)
def test_ticks_of_a_log_axis(low: float, high: float, ticks: list[float]):
    assert plots.log_ticks(low, high) == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.001, "0.001"), (0.0009, "9·10<sup>-4</sup>"), (99_999, "99,999"), (1e5, "10<sup>5</sup>"),
        (2.5e7, "2.5·10<sup>7</sup>"), (1e-5, "10<sup>-5</sup>"), (0, "0"), (-3, "-3"),
    ],
)  # fmt: skip
def test_a_tick_in_figures(value: float, text: str):
    assert plots.tick_text(value) == text


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("n_params", 2e7, "20M"), ("n_data", 1e5, "100k"), ("n_params", 99_999, "99,999"),
        ("learning_rate", 3e-4, "0.0003"), ("batch_size", 250_000, "250,000"), ("batch_norm", True, "True"),
        ("model", "cnn", "cnn"),
    ],
)  # fmt: skip
def test_a_setting_in_words(column: str, value: object, text: str):
    assert plots.worded(column, value) == text


def test_sizes_on_an_axis_are_counted_and_linear_axes_keep_their_ticks():
    figure = plots.canvas("n_params", "test_loss", log_y=False)
    plots.points(
        figure, [1e6, 1e7, 1e9, np.nan, -1.0], [0.1, 0.2, 0.3, 0.4, 0.5], [0.01, np.nan, 0.0, 0.0, 0.0]
    )
    plots.finish(figure)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", None)
    assert figure.layout.xaxis.ticktext == ("1M", "10M", "100M", "1B")
    assert figure.layout.yaxis.ticktext is None
    assert figure.data[0].error_y.array.tolist() == [0.01, 0.0, 0.0, 0.0, 0.0]
    empty = plots.finish(plots.canvas("step", "norm", log_x=False)).layout  # no points yet
    assert (empty.xaxis.type, empty.yaxis.type) == (None, "log")


def runs(rates: int = 2, **columns: object) -> sl.Curves:
    """Runs of two sizes at each of some learning rates, two checkpoints each, with standard errors."""
    rows = [
        {"run": f"{n}-{k}", "n_data": n, "learning_rate": 0.1 * 2**k, "step": step,
         "test_loss": n / 100 / step}
        for n in (400, 100) for k in range(rates) for step in (1, 2)
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    return sl.Curves(frame.assign(test_loss_stderr=0.25 * frame["test_loss"], **columns))


def test_runs_of_a_size_share_a_colour_and_one_entry_of_the_legend():
    figure = plots.by_size(runs(), "step", "test_loss", "n_data")
    lines = [trace for trace in figure.data if trace.fill is None]
    assert [trace.name for trace in lines] == ["100", "100", "400", "400"]
    assert [trace.line.dash for trace in lines] == ["solid", "dash"] * 2
    assert [trace.showlegend for trace in lines] == [True, False] * 2
    assert len({trace.line.color for trace in lines}) == 2
    assert "100, learning rate 0.2" in lines[1].hovertemplate
    assert lines[3].y.tolist() == [4.0, 2.0]
    bands = [trace for trace in figure.data if trace.fill is not None]
    assert [trace.showlegend for trace in bands] == [False] * 4
    assert bands[0].x.tolist() == [1.0, 2.0, 2.0, 1.0]
    assert bands[0].y.tolist() == [1.25, 0.625, 0.375, 0.75]  # up and back again
    assert figure.layout.showlegend
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")


def test_values_below_zero_are_drawn_on_linear_axes_and_one_size_needs_no_legend():
    one = runs().select(n_data=100)
    figure = plots.by_size(sl.Curves(one.frame.assign(test_loss=-1.0)), "step", "test_loss", "n_data")
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", None)
    assert not figure.layout.showlegend
    figure = plots.by_size(sl.Curves(one.frame.assign(step=[0, 1, 0, 1])), "step", "test_loss", "n_data")
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == (None, None)


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        (1, ""),
        (2, "Lines of one colour differ in learning rate: 0.1 solid, 0.2 dashed."),
        (4, "differ in learning rate: 0.1 solid, 0.2 dashed, 0.4 dotted, 0.8 dash-dotted."),
        (5, "Lines of one colour differ in learning rate: hover over them."),
    ],
)
def test_dashes_are_explained_in_words(rates: int, said: str):
    assert plots.styles_in_words(runs(rates), "n_data").endswith(said)
    assert bool(plots.styles_in_words(runs(rates), "n_data")) == bool(said)


def test_a_band_stays_above_zero_on_a_log_axis():
    figure = plots.canvas("n_data", "test_loss")
    plots.band(figure, [1, 2], [-1.0, 2.0], [0.5, 6.0], "#ff3300")
    assert figure.data[0].y.tolist() == [0.5, 6.0, 2.0, 0.0005]
    assert figure.data[0].fillcolor == "rgba(255,51,0,0.16)"
    assert figure.data[0].showlegend
    plots.band(figure, [1, 2], [-2.0, -3.0], [-1.0, -2.0])
    assert figure.data[1].y.tolist() == [-1.0, -2.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999, "999"), (1_000, "1,000"), (np.int64(-10_000), "-10,000"), (1e3, "1,000"), (999.0, "999"),
        (1e15, "1e+15"), (-2e6, "-2,000,000"), (float("nan"), "–"), (None, "–"), (0.123456, "0.1235"),
        ("cnn", "cnn"),
    ],
)  # fmt: skip
def test_a_cell_of_a_table(value: object, text: str):
    assert page.cell(value) == text


def test_a_page_has_an_anchor_for_every_section_and_reloads_only_where_asked():
    section = page.Section("IsoFLOP curves (N, D)", ["a < b"], tables=[("", pd.DataFrame({"n": [1]}))])
    assert section.anchor == "isoflop-curves--n--d"
    still, live = (page.render("title", "", [section], refresh) for refresh in (None, 2.5))
    assert 'http-equiv="refresh"' not in still
    assert '<meta http-equiv="refresh" content="2.5">' in live
    assert "<p>a &lt; b</p>" in still
    assert "<caption>" not in still
