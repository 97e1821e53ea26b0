"""The card that opens a report: the lines of `answer`, a figure for every table, a slider in a browser."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.answers import Answers
from scalinglab.report import card, sections
from scalinglab.results import Reason
from tests.browser import Browser, needs_browser


def curve(count: int = 8, x: str = "n_data") -> pd.DataFrame:
    sizes = np.geomspace(1e3, 1e5, count)
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(count))
    return pd.DataFrame({x: sizes, "test_error": (0.05 + 3 * sizes**-0.5) * noise})


def runs() -> pd.DataFrame:
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 4), np.geomspace(2e9, 2e11, 4)))
    noise = np.exp(0.004 * np.random.default_rng(0).standard_normal(n.size))
    loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * noise
    return pd.DataFrame({"n_params": n, "tokens": d, "loss": loss, "optimizer": ["adam", "sgd"] * 8})


@pytest.fixture(scope="module")
def surface() -> tuple[sl.Curves, Answers]:
    curves = sl.read(runs().drop(columns="optimizer"))
    return curves, sl.answer(curves)


def test_rows_of_several_kinds_are_drawn_in_the_card_each_in_its_colour():
    curves = sl.read(pd.concat([curve().assign(recipe="a"), curve().assign(recipe="b")]).assign(
        test_error=lambda t: t.test_error * (1 + (t.recipe == "b"))))  # fmt: skip
    plot = card.measured(curves)
    assert plot is not None
    drawn = {trace.name: (trace.marker.color, len(trace.x)) for trace in plot.figure.data}
    assert {name: count for name, (_, count) in drawn.items()} == {"a": 8, "b": 8}
    assert len({colour for colour, _ in drawn.values()}) == 2


@pytest.mark.slow
def test_the_lines_the_figure_and_the_slider_give_the_prediction_of_extrapolate():
    """Of a size of any name that answers read, whose largest was run twice."""
    table = pd.concat([curve(x="width"), curve(x="width").iloc[-1:] * [1.0, 1.01]])
    curves = sl.read(table)
    section = card.section(curves, card.answered(curves))
    assert len(section.card) == 2
    (plot,) = section.plots
    assert sorted(plot.figure.data[0].x.tolist()) == pytest.approx(table["width"].tolist())
    at_last, ahead = (sl.laws.extrapolate(table.width, table.test_error, at=at) for at in (1e5, 1e6))
    _, said = section.card[0]
    assert f"{ahead.mean[0]:.4g} (95 % of runs: {ahead.low[0]:.4g} to {ahead.high[0]:.4g})" in said
    line = plot.figure.data[-1]
    assert (line.x[-1], line.y[-1]) == pytest.approx((1e6, ahead.mean[0]))
    last = table.test_error.to_numpy()[-2:]
    held = int(np.sum((at_last.low[0] <= last) & (last <= at_last.high[0])))
    assert f"contains {held} of the 2 runs" in plot.caption
    slider = section.slider
    place = int(np.argmin(np.abs(np.log(np.array(slider.at) / 1e6))))
    assert slider.at[place] == pytest.approx(1e6)
    there = [values[place] for values in slider.bands["test error"]]
    assert there == pytest.approx([ahead.mean[0], ahead.low[0], ahead.high[0]], rel=1e-3)
    assert slider.at[-1] == pytest.approx(1e7)


@pytest.mark.slow
def test_a_table_that_is_refused_says_why_and_shows_its_points():
    curves = sl.read(curve(2))
    section = card.section(curves, card.answered(curves))
    assert "not determined" in section.card[0][1]
    assert len(section.plots) == 1
    refused = card.section(sl.read(runs()), Reason("no_fall_seen"))
    assert refused.paragraphs == ["No answer: it does not fall with size."]
    assert len(refused.plots) == 1


def test_an_open_end_of_the_slider_is_as_far_as_the_other():
    assert card.ends([2.0, 2.0, 3.0], [1.0, 0.0, 1.0], [8.0, 8.0, np.inf]) == [
        [2, 2, 3],
        [1, 0.5, 1],
        [8, 8, 9],
    ]


@pytest.mark.slow
def test_the_slider_of_a_surface_has_the_optimum(surface):
    curves, found = surface
    slider = card.section(curves, found).slider
    assert [*slider.bands] == ["loss" if "loss" in slider.bands else found.y, "parameters", "tokens"]
    best = found.surface.compute_optimal(slider.at[-1])
    last = {name: median[-1] for name, (median, _, _) in slider.bands.items()}
    assert last["parameters"] == pytest.approx(best.n_params_median, rel=1e-3)
    assert last["tokens"] == pytest.approx(best.n_data_median, rel=1e-3)


def test_what_a_reader_can_pick():
    section = sections.pick_axes(sl.read(runs()))
    assert {"n_params", "n_data", "test_loss"} <= {*section.explore["numbers"]} | {"test_loss"}
    assert "optimizer" in section.explore["groups"]
    assert section.explore["colour"] == "optimizer", "rows of several kinds are told apart"
    assert len(section.explore["rows"]["n_params"]) == 16
    assert json.dumps(section.explore)
    assert sections.pick_axes(sl.read(pd.DataFrame({"n_data": [1, 1], "test_error": [0.1, 0.1]}))) is None


SET = """(() => {{
    const part = document.querySelector('{part}');
    part.value = {value};
    part.dispatchEvent(new Event('{event}'));
}})()"""
# text that is seen without scrolling, without that of figures
ABOVE_THE_FOLD = """(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), seen = [];
    while (texts.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(texts.currentNode);
        const box = range.getBoundingClientRect(), within = texts.currentNode.parentElement;
        if (box.height > 0 && box.top < innerHeight && !within.closest('svg, script, style'))
            seen.push(texts.currentNode.textContent);
    }
    return seen.join(' ');
})()"""
# how many legends reach beyond their plots
CUT = """[...document.querySelectorAll('.legend')].filter(legend => {
    const own = legend.getBoundingClientRect(), plot = legend.closest('.plot').getBoundingClientRect();
    return own.right > plot.right + 1 || own.bottom > plot.bottom + 1;
}).length"""


@needs_browser
@pytest.mark.browser
@pytest.mark.slow
def test_the_slider_and_the_picked_axes_work_in_a_browser(tmp_path: Path, surface):
    curves, found = surface
    path = sl.report.write(curves, tmp_path / "report.html")
    assert path.stat().st_size < 2e6, "Plotly is packed"
    slider = card.section(curves, found).slider
    with Browser() as browser:
        browser.call(
            "Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=False
        )
        browser.open_report(path)
        browser.wait_for("document.querySelector('.explore .trace')")
        shown = "document.querySelector('.slider').innerText"
        before = browser.evaluate(shown)
        browser.evaluate(SET.format(part=".slider input", value=1000, event="input"))
        after = browser.evaluate(shown)
        assert before != after
        assert "100 times the largest run" in after
        last = slider.bands["parameters"][0][-1]
        assert f"{last / 1e9:.3g}B (95 %" in after
        browser.evaluate(SET.format(part=".explore select[name=x]", value="'n_params'", event="change"))
        title = "document.querySelector('.explore .xtitle').textContent"
        browser.wait_for(f"{title} == 'parameters'")
        assert browser.evaluate(CUT) == 0, "legends are whole"
        assert browser.errors() == []
        assert browser.requests() == []
    with Browser(1400, 900) as browser:
        browser.open_report(path)
        assert len(re.findall(r"\S*\w\S*", browser.evaluate(ABOVE_THE_FOLD))) <= 120


@pytest.mark.slow
def test_kinds_of_rows_have_a_row_and_a_diamond_each():
    """Also one that cannot be fitted, which says why."""
    kinds = [
        curve().assign(optimizer="adam"),
        curve().assign(optimizer="sgd"),
        curve(2).assign(optimizer="lion"),
    ]
    kinds[1]["test_error"] *= 2
    curves = sl.read(pd.concat(kinds, ignore_index=True))
    found = sl.answer(curves)
    section = card.section(curves, found)
    _, table = section.rows
    assert table["kind"].tolist() == ["adam", "sgd"]
    tenfold = {f.facts["kind"]: f.values.get("test_error") for f in found.card}
    for name, cell in zip(table["kind"], table["test error"], strict=True):
        value = tenfold[name]
        assert cell == f"{value.value:.3g} [{value.low:.3g}, {value.high:.3g}]"
    assert [subject for subject, _ in section.card] == ["lion, ten times as much"]
    drawn = {trace.name: trace for trace in section.plots[0].figure.data}
    ahead = drawn["sgd, ten times as much"]
    assert (ahead.x[0], ahead.y[0]) == pytest.approx((1e6, tenfold["sgd"].value))
    assert ahead.y[0] + ahead.error_y.array[0] == pytest.approx(tenfold["sgd"].high)
    assert drawn["adam"].y.tolist() == pytest.approx(kinds[0]["test_error"].tolist())
    assert len(found.plot().collections) or found.plot().lines


def test_a_curve_that_is_not_continued_has_no_prediction_and_no_slider():
    step = np.arange(1, 60) * 100.0
    rate = 1e-3 * (1 - 0.9 * step / step.max())
    curves = sl.read(pd.DataFrame({"step": step, "lr": rate, "loss": 2.5 + 4 * step**-0.3}))
    section = card.section(curves, card.answered(curves))
    assert section.slider is None
    assert "prediction" not in {trace.name for trace in section.plots[0].figure.data}
