"""The report renders every figure in a real browser, without errors and without the network."""

import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves.dynamical import dynamical
from scalinglab.report import card, numbers, sections
from scalinglab.report.page import Section, render
from tests.browser import Browser, needs_browser
from tests.laws.synthetic import family


def learning_curves(sizes=(50, 100, 200, 400), seeds=3) -> sl.Curves:
    """Curves that follow error = norm^-0.4 until data run out."""
    rng = np.random.default_rng(0)
    rows = []
    for n_data in sizes:
        for seed in range(seeds):
            for step in np.unique(np.geomspace(1, 1000, 25).astype(int)):
                norm = 5 * step**0.8 * np.exp(0.02 * rng.normal())
                ceiling = n_data / 2
                error = 0.9 * (1 + norm) ** -0.4 * (1 + 0.05 * norm / ceiling) * np.exp(0.01 * rng.normal())
                rows.append((n_data, seed, step, norm, error, 2 * error))
    columns = ["n_data", "seed", "step", "norm", "test_error", "test_loss"]
    return sl.Curves(pd.DataFrame(rows, columns=columns).assign(model="toy"), source="simulate")


# the plots in which the buttons stand in the way of the legend or of the curves
COVERED = """
[...document.querySelectorAll('.plot')].filter(plot => {
    const bar = plot.querySelector('.modebar').getBoundingClientRect();
    return ['.legend', '.gridlayer'].some(part => {
        const other = plot.querySelector(part)?.getBoundingClientRect();
        return other && other.left < bar.right && other.right > bar.left
            && other.top < bar.bottom && other.bottom > bar.top;
    });
}).map(plot => plot.id)
"""


@pytest.mark.slow
@needs_browser
@pytest.mark.browser
def test_page_renders_every_figure_without_errors_or_requests(tmp_path: Path):
    path = sl.report.write(learning_curves(), tmp_path / "report.html")
    with Browser() as browser:
        assert browser.open_report(path) >= 4
        assert browser.evaluate(COVERED) == []
        assert "Share" not in browser.evaluate("document.querySelector('.modebar').outerHTML"), "no uploads"
        assert browser.errors() == []
        assert browser.requests() == []


@pytest.mark.slow
@needs_browser
@pytest.mark.browser
def test_the_browser_would_see_an_error_and_a_request(tmp_path: Path):
    page = tmp_path / "bad.html"
    page.write_text("<script>fetch('http://localhost:9/'); throw Error('seen')</script><p>here</p>")
    with Browser() as browser:
        browser.open(page)
        browser.wait_for("document.querySelector('p')")

        def seen() -> bool:
            return any("seen" in error for error in browser.errors())

        end = time.monotonic() + 30  # the failed request is an error, too, and may be told first
        while time.monotonic() < end and not (seen() and browser.requests()):
            browser.evaluate("new Promise(r => setTimeout(r, 100))")
        assert seen()
        assert browser.requests() == ["http://localhost:9/"]


def test_page_stands_alone_and_escapes_what_it_shows():
    curves = learning_curves(seeds=1)
    named = sl.Curves(curves.frame.assign(model="</script><b>x</b>"), source="simulate")
    page = sl.report.build(named, title="a < b & c")
    assert "a &lt; b &amp; c" in page
    assert "</script><b>" not in page
    assert page.count("</script>") == 3  # Plotly and the figures, packed, and the script of the page
    assert "src=" not in page.split("<script>")[0]


def test_curves_without_norm_or_time_still_make_a_report():
    curves = sl.Curves({"n_data": [10, 100, 1000], "test_error": [0.5, 0.3, 0.2]})
    assert "Runs" in sl.report.build(curves)


def test_curves_of_sizes_alone_get_their_law_with_its_interval():
    sizes = np.geomspace(100, 1e5, 8)
    curves = sl.Curves({"n_data": sizes, "test_error": 3 * sizes**-0.5 + 0.05})
    page = sl.report.build(curves)
    row = next(line for line in page.splitlines() if "<td>exponent</td>" in line)
    assert "<td>0.5</td>" in row


def test_what_cannot_be_fitted_is_said_and_not_hidden():
    flat = sl.Curves({"n_data": [100, 200], "test_error": [0.3, 0.2]})
    assert "The exponent is not determined by these points" in sl.report.build(flat)


def two_learning_rates() -> sl.Curves:
    rows = [
        {"n_data": n, "learning_rate": rate, "seed": seed, "step": t, "test_error": rate * n**-0.5 + 0.1 / t}
        for n in (100, 200, 400, 800) for rate in (1.0, 2.0) for seed in range(2) for t in (1, 10, 100)
    ]  # fmt: skip
    return sl.Curves(pd.DataFrame(rows))


def test_no_line_joins_curves_of_different_learning_rates():
    section = sections.learning_curves(two_learning_rates())
    assert section is not None
    lines = [trace for trace in section.plots[0].figure.data if trace.fill is None]
    assert len(lines) == 4 * 2
    assert all((np.diff(trace.x) > 0).all() for trace in lines)
    assert {trace.line.dash for trace in lines} == {"solid", "dash"}
    assert sum(bool(trace.showlegend) for trace in lines) == 4
    assert "differ in learning rate: 1 solid, 2 dashed" in section.paragraphs[0]


@pytest.mark.slow
def test_the_card_draws_the_law_of_fit_over_its_points_and_the_page_lists_it():
    curves = two_learning_rates()
    answered, fit = card.answered(curves), sl.fit(curves)
    measured, line, *_ = card.section(curves, answered).plots[0].figure.data
    np.testing.assert_array_equal(measured.y, fit.law.points.y)
    np.testing.assert_allclose(line.y, fit.law.predict(line.x))
    section = sections.the_law(answered)
    assert section is not None
    ((_, parameters),) = section.tables
    assert [*parameters["parameter"]] == [*fit.law.parameters]


def test_of_a_law_that_cannot_be_fitted_only_the_card_says_why():
    curves = sl.Curves({"n_data": [100, 300, 1000], "test_loss": [0.1, 0.5, 4.0]})
    answered = card.answered(curves)
    assert "test_loss rises with n_data" in "".join(f"{a}{b}" for a, b in card.section(curves, answered).card)
    assert sections.the_law(answered) is None


def one_seed_a_size(name: str) -> sl.Curves:
    sizes, steps = np.repeat([100, 200, 400, 800], 3), np.tile([1, 10, 100], 4)
    return sl.Curves({name: sizes // 100, "n_data": sizes, "step": steps, "test_error": sizes**-0.5 / steps})


@pytest.mark.parametrize("name", ["seed", "data_seed", "Seed"])
def test_runs_that_have_no_repeats_are_shown_each_for_itself(name: str):
    section = sections.learning_curves(one_seed_a_size(name))
    assert section is not None
    assert [trace.name for trace in section.plots[0].figure.data] == ["100", "200", "400", "800"]
    assert "means over seeds" not in section.paragraphs[0]


def test_no_seed_is_taken_for_the_size_of_a_law():
    table = {"data_seed": [0, 1, 2], "test_error": [0.3, 0.2, 0.4]}
    assert numbers.size_column(sl.Curves(table)) is None
    assert numbers.size_column(sl.Curves({**table, "rank": [1, 2, 3]}, settings=["rank"])) == "rank"


@pytest.mark.parametrize("name", ["init_seed", "seed_order"])
def test_lines_are_means_over_whichever_seed_was_varied(name: str):
    curves = learning_curves()
    renamed = sl.Curves(curves.frame.rename(columns={"seed": name}).drop(columns="run"))
    ours, theirs = numbers.seed_average(curves), numbers.seed_average(renamed)
    np.testing.assert_array_equal(ours["test_error"], theirs["test_error"])
    assert len(ours) == len(curves) / 3


def test_empty_curves_are_refused():
    with pytest.raises(BadInput, match="nothing to report"):
        sl.report.build(learning_curves().select(n_data=-1))


@pytest.mark.slow
def test_words_and_figure_tell_of_the_same_collapse():
    page = sl.report.build(learning_curves(sizes=(50, 100, 200, 400, 1600, 3200)))
    told = re.findall(r"master curve (?:holds )?from ([\d,]+)\s+examples up", page)
    assert len(told) == 2
    assert told[0] == told[1]
    assert "<td>3,200</td>" in page


@pytest.mark.slow
def test_no_master_curve_is_drawn_where_no_curves_collapse():
    parts = [family([n, 2 * n], slope) for n, slope in ((100, 0.1), (400, 0.6), (1600, 1.4))]
    table = pd.concat(parts)
    page = sl.report.build(sl.Curves(table))
    assert "No three sizes fall on one master curve." in page
    for curves, drawn in ((table, False), (family((100, 200, 400, 800, 1600, 3200)), True)):
        traces = sections.collapsed(dynamical(sl.Curves(curves)).collapse).data
        assert ("master curve" in {trace.name for trace in traces}) == drawn


def test_one_curve_and_curves_told_apart_by_words_are_drawn():
    one = learning_curves(sizes=(100,), seeds=1)
    words = sl.Curves.concat([one, sl.Curves(one.frame.drop(columns="run").assign(model="other"))])
    for curves, lines in ((one, 1), (words, 2)):
        section = sections.learning_curves(curves)
        assert section is not None
        assert len(section.plots[0].figure.data) == lines


@pytest.mark.slow
def test_a_measurement_of_another_name_is_drawn_but_no_best_of_it_is_claimed():
    frame = learning_curves(seeds=1).frame.rename(columns={"test_error": "accuracy"})
    curves = sl.Curves(frame.drop(columns=["test_loss", "norm"]).assign(accuracy_stderr=0.1))
    section = sections.learning_curves(curves)
    assert section is not None
    assert [plot.caption for plot in section.plots] == ["Accuracy against step"]
    assert "best" not in sl.report.build(curves).split("<script>")[0]


@pytest.mark.slow
@needs_browser
@pytest.mark.browser
def test_no_name_can_break_the_page(tmp_path: Path):
    """A comment that opens a script in a script would swallow the rest of the page."""
    curves = learning_curves(seeds=1)
    odd = sl.Curves(
        curves.frame.assign(learning_rate="<!--<script>{{plotly}} 网络 ε₁ %{x}"), source="simulate"
    )
    other = sl.Curves(curves.frame.assign(learning_rate="1"), source="simulate")
    frame = pd.concat([odd.frame, other.frame]).drop(columns="run")
    page = sl.report.build(sl.Curves(frame), title="{{body}}")
    assert page.count("{{body}}") == 2  # in title and heading
    assert len(page) < 6_000_000  # Plotly's script stands there once
    (tmp_path / "odd.html").write_text(page, encoding="utf-8")
    with Browser() as browser:
        assert browser.open_report(tmp_path / "odd.html") >= 3
        assert browser.errors() == []
        assert browser.requests() == []


@pytest.mark.parametrize(
    ("stderr", "said"),
    [(0.001, "They do not agree"), (0.1, "may be chance"), (np.inf, "may be chance")],
)
def test_a_difference_within_its_interval_is_called_open_and_not_a_disagreement(stderr: float, said: str):
    found = sl.laws.dynamical(family((100, 200, 400, 800, 1600, 3200)))
    gamma = replace(found.gamma_measured, value=found.gamma_predicted.value + 0.2, stderr=stderr)
    exact = replace(found.gamma_predicted, stderr=0.0)
    assert said in " ".join(numbers.of_dynamical(replace(found, gamma_measured=gamma, gamma_predicted=exact)))


@pytest.mark.slow
def test_what_the_dynamical_laws_left_out_is_said():
    frame = learning_curves(sizes=(50, 100, 200, 400, 800)).frame
    frame.loc[frame.n_data == 200, "test_error"] = np.nan
    page = sl.report.build(sl.Curves(frame))
    assert "N_data = 200 left out: fewer than 6 usable points." in page


@pytest.mark.parametrize(("sizes", "listed"), [([0.01, 0.1], [0.01, 0.1]), ([1024.4, 2e4], [1024, 2e4])])
def test_sizes_read_off_a_figure_are_rounded_and_shares_are_not(sizes: list[float], listed: list[float]):
    section = sections.runs(sl.Curves({"n_data": sizes, "test_error": [0.5, 0.4]}))
    assert section.tables[0][1].iloc[:, 0].tolist() == listed


def test_a_run_that_diverged_at_its_first_step_is_listed_as_diverged():
    table = {"seed": [0, 1], "n_data": [5, 5], "step": [0, 0], "test_loss": [np.inf, 1.0]}
    outcome = {"status": ["diverged", "done"], "diverged_at": [0, None]}
    listed = sections.runs(sl.Curves({**table, **outcome})).tables[0][1]
    assert listed["status"].tolist() == ["diverged", "done"]
    assert listed["diverged at"].tolist()[0] == 0


def test_one_run_is_not_called_runs():
    assert ">1 run<" in sl.report.build(sl.Curves({"n_data": [10], "test_loss": [0.5]}))


@pytest.mark.slow
def test_a_report_on_tokens_speaks_of_tokens():
    curves = learning_curves()
    page = sl.report.build(curves)
    assert "training examples" in page
    assert "training tokens" not in page
    page = sl.report.build(sl.Curves(curves.frame.assign(tokens=curves.frame["step"]), source="simulate"))
    assert "training tokens" in page
    assert "training examples" not in page
    assert "0 examples" not in page


def test_what_a_line_of_the_card_is_about_is_bold_and_escaped():
    lines = [("Next run", "n = 1: <none>"), ("", "no: subject")]
    page = render("title", "", [Section("The answer", card=lines)])
    assert '<ul class="card"><li><b>Next run:</b> n = 1: &lt;none&gt;</li><li>no: subject</li></ul>' in page
