"""The report on runs of several parameters and data sizes."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.report import card, surface_numbers, surface_sections
from scalinglab.report import sections as plain_sections
from scalinglab.report.plots import counting, label, log_ticks, tick_text
from scalinglab.support.words import flops
from tests.browser import Browser, needs_browser


def runs(sizes: int = 5, data: int = 5) -> pd.DataFrame:
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, sizes), np.geomspace(2e9, 2e11, data)))
    noise = np.exp(0.004 * np.random.default_rng(0).standard_normal(n.size))
    loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * noise
    return pd.DataFrame({"n_params": n, "tokens": d, "loss": loss, "lr": 3e-4})


@pytest.fixture(scope="module")
def sections():
    curves = sl.read(runs())
    return {s.title: s for s in surface_sections.of_runs(curves, sl.answer(curves))}


@pytest.mark.slow
def test_an_n_by_d_table_gets_answers_isoflops_frontier_backtest_and_fit(sections):
    assert list(sections) == [
        "IsoFLOP curves",
        "Compute-optimal frontier",
        "Backtest",
        "The fit",
    ]
    _, table, numbers = sections["Compute-optimal frontier"].tables[0]
    assert "tokens per parameter" in table.columns
    assert (numbers["n_params_low"] < numbers["n_params"]).all(), "the CSV has numbers, not words"
    drawn = sections["IsoFLOP curves"].plots[0].figure
    names = [trace.name for trace in drawn.data]
    assert any(name.endswith("FLOPs") for name in names)
    (minima,) = (trace for trace in drawn.data if trace.name == "minimum")
    assert len(minima.x) == sum(name.endswith("FLOPs") for name in names)


def test_the_page_says_what_was_assumed_of_isoflop_curves_and_names_no_path(tmp_path):
    rows = [(c, n, 2 + (n / 1e8) ** -0.3) for c in (1e18, 1e19) for n in (1e8, 3e8)]
    pd.DataFrame(rows, columns=["flops", "params", "loss"]).to_csv(tmp_path / "iso.csv", index=False)
    curves = sl.read(tmp_path / "iso.csv")
    said = " ".join(plain_sections.runs(curves).paragraphs)
    assert "tokens = compute / (6 n_params), since no column says how much data" in said
    assert str(tmp_path) not in said


def test_isoflop_curves_span_the_runs_and_learning_curves_count_tokens():
    table = runs(4, 3)
    fitted = sl.laws.surface.fit(table.n_params, table.tokens, table.loss)
    computes = [each.compute for each in surface_numbers.isoflops_of(fitted)]
    assert computes[0] == pytest.approx(6 * 1e8 * 2e9)
    assert computes[-1] == pytest.approx(6 * 1e10 * 2e11)
    with counting("tokens"):
        assert label("examples") == "tokens"


def test_a_backtest_needs_more_cheap_runs_than_parameters():
    n, d = (v.ravel() for v in np.meshgrid([1e8, 2e8, 4e8], [2e9, 4e9, 8e9]))
    fitted = sl.laws.surface.fit(n, d, 1.8 + 480 * n**-0.35 + 2100 * d**-0.37)
    with pytest.raises(BadInput, match="1 of 9"):
        surface_numbers.backtest(fitted)


@pytest.mark.slow
def test_minima_lie_on_their_isoflop_curves(sections):
    drawn = sections["IsoFLOP curves"].plots[0].figure
    curves = [trace for trace in drawn.data if trace.name == "fit"]
    (minima,) = (trace for trace in drawn.data if trace.name == "minimum")
    for curve, x, y in zip(curves, minima.x, minima.y, strict=True):
        assert y <= np.min(curve.y) * (1 + 1e-9)
        assert np.interp(np.log(x), np.log(curve.x), curve.y) == pytest.approx(y, rel=1e-3)


@pytest.mark.slow
def test_backtest_predicts_the_expensive_runs_from_the_cheap_ones():
    table = runs(6, 6)
    fitted = sl.laws.surface.fit(table.n_params, table.tokens, table.loss)
    test = surface_numbers.backtest(fitted)
    total = 6 * table.n_params * table.tokens
    assert test.compute.min() > total.max() / 10
    assert test.cheaper == int((total <= total.max() / 10).sum())
    assert test.error < 0.02
    held = np.mean((test.low <= test.measured) & (test.measured <= test.high))
    assert held > 0.6


def test_six_runs_are_reported_with_a_sentence_instead_of_an_optimum():
    curves = sl.read(runs(3, 2))
    found = sl.answer(curves)
    assert surface_sections.of_runs(curves, found) == []
    assert any("only 2 different values of tokens" in said for _, said in card.section(curves, found).card)


@pytest.mark.slow
def test_page_has_no_learning_rate_figure_downloads_and_a_dark_mode():
    page = sl.report.build(sl.read(runs(4, 4)))
    assert "<td>464,158,883</td>" in page, "sizes are whole"
    assert "prefers-color-scheme: dark" in page
    assert "Download CSV" in page
    assert not re.search(r"aria-label=\"[^\"]*(lr|learning.rate)", page, re.I)
    assert "Learning curves</h2>" not in page  # one row a run is no curve


@pytest.mark.parametrize(
    ("low", "high"), [(2.05, 2.6), (1.5e10, 1.9e10), (0.31, 0.35), (2.0, 5.1), (1.2e17, 7.2e19)]
)
def test_short_log_axes_have_ticks_that_can_be_read(low, high):
    seen = [tick for tick in log_ticks(low, high) if low <= tick <= high]
    assert 3 <= len(seen) <= 9
    assert len({tick_text(tick) for tick in seen}) == len(seen)
    assert min(seen) < (low * high) ** 0.5 < max(seen)  # on both sides


def test_every_isoflop_curve_is_named_in_the_legend_with_or_without_runs():
    n, d = (v.ravel() for v in np.meshgrid([1e8, 1e9, 1e10], [1e9, 1e10, 1e11]))
    fitted = sl.laws.surface.fit(n, d, 1.8 + 480 * n**-0.35 + 2100 * d**-0.37)
    found = surface_numbers.isoflops_of(fitted)
    assert any(not each.n_params.size for each in found)
    drawn = surface_sections.isoflops(fitted, "loss", "tokens").plots[0].figure
    named = {trace.name for trace in drawn.data if trace.showlegend is not False and len(trace.x)}
    assert {flops(float(f"{each.compute:.2g}")) for each in found} <= named


@pytest.mark.slow
def test_no_minimum_is_marked_where_the_surface_is_not_determined():
    n, d = (v.ravel() for v in np.meshgrid([2e7, 6e7, 2e8], [1e9, 2e9, 3e9]))
    noise = np.exp(0.05 * np.random.default_rng(0).standard_normal(9))
    fitted = sl.laws.surface.fit(n, d, (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * noise)
    assert {"alpha", "beta"} & {*fitted.undetermined}
    section = surface_sections.isoflops(fitted, "loss", "tokens")
    assert "minimum" not in [trace.name for trace in section.plots[0].figure.data]
    assert "No minimum is marked: these runs do not determine" in section.paragraphs[0]


@pytest.mark.nightly
def test_the_backtest_of_a_public_table_says_what_its_intervals_hold():
    """Gemstones (McLeish et al. 2025): checkpoints of 22 networks, as on the page "From your logs".

    Counted here with intervals of the surface of the cheaper runs, without the report.
    """
    curves = sl.read(Path(__file__).parents[1] / "laws" / "published" / "gemstones2025.csv")
    answers = sl.answer(curves)
    data = answers.surface.law.points
    late = np.prod(data.x, axis=0) > np.prod(data.x, axis=0).max() / 10
    early = sl.laws.surface.fit(*data.x[:, ~late], data.y[~late], runs=data.runs[~late])
    low, high = early.interval(n_params=data.x[0, late], n_data=data.x[1, late], of="measurement")
    held = np.mean((low <= data.y[late]) & (data.y[late] <= high))
    found = {section.title: section for section in surface_sections.of_runs(curves, answers)}
    text = found["Backtest"].paragraphs[0]
    assert f"hold {100 * held:.0f} %" in text
    assert ("too few" in text) == (held < 0.8)
    assert len(found["IsoFLOP curves"].plots[0].figure.data) > 7


@needs_browser
@pytest.mark.browser
@pytest.mark.slow
def test_report_fits_a_narrow_screen_without_errors(tmp_path):
    path = sl.report.write(sl.read(runs(4, 4)), tmp_path / "report.html")
    with Browser() as browser:
        browser.call(
            "Emulation.setDeviceMetricsOverride", width=390, height=900, deviceScaleFactor=1, mobile=True
        )
        assert browser.open_report(path) >= 4
        assert browser.evaluate("document.documentElement.scrollWidth") == 390
        wide = "[...document.querySelectorAll('.plot')].filter(p => p.scrollWidth > p.clientWidth + 2).length"
        assert browser.evaluate(wide) == 0
        named = browser.evaluate("[...document.querySelectorAll('.tools button')].map(b => b.textContent)")
        assert {"PNG", "SVG", "Download CSV"} <= {*named}
        assert "n_params_low" in browser.evaluate("tables[0]")
        assert browser.evaluate("document.querySelectorAll('.modebar').length") == 0, "it would cover curves"
        assert browser.errors() == []
