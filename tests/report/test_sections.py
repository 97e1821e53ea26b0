"""Sections of the report, on results put in by hand: which points and lines, numbers in tables, words."""

import gzip
import json
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab import report
from scalinglab.errors import BadInput
from scalinglab.report import numbers, page, plots, sections, surface_numbers, surface_sections
from scalinglab.results import Estimate
from scalinglab.support.words import flops
from tests.laws.synthetic import family
from tests.report.test_numbers import curves
from tests.report.test_surface_numbers import Known, named

SIZES = np.array([100.0, 1000.0, 10_000.0])


def dynamical(**more: Any) -> Any:
    """Laws of three sizes, of which the two larger ones are resolved."""
    table = pd.DataFrame({
        "size": SIZES, "x_optimum": [2.0, 4, 8], "y_optimum": [0.4, 0.2, 0.1], "y_optimum_error": 0.01,
        "elbow": [3.0, 6, 12], "slope": -1.5, "kind": "rises", "position": [1.0, 2, 4],
        "resolved": [False, True, True],
    })  # fmt: skip
    master = SimpleNamespace(
        rescaled=pd.DataFrame({"run": np.repeat(SIZES, 2).astype(str), "size": np.repeat(SIZES, 2),
                               "x": [1.0, 2] * 3, "y": [3.0, 4, 5, 6, 7, 8]}),
        holds=np.array([False, True, True]), x=np.array([1.0, 2]), y=np.array([6.0, 7]), holds_from=1000.0,
        extent=lambda unit: f"from 1,000 {unit} on",
    )  # fmt: skip
    usual = {
        "table": table, "collapse": master, "collapse_from": 1000.0, "notes": ("one size was left out",),
        "gamma_1": Estimate(1.5, 0.1, 1.3, 1.7), "gamma_2": Estimate(0.25, 0.02, 0.2, 0.3),
        "gamma_2_optimum": Estimate(0.3, 0.02, 0.25, 0.35),
        "gamma_measured": Estimate(0.35, 0.01, 0.33, 0.37),
        "gamma_predicted": Estimate(0.375, 0.03, 0.3, 0.45),
        "gamma_predicted_optimum": Estimate(0.45, 0.04, 0.37, 0.53), "sigma": 0.03,
        "verdict": lambda by: "holds", "difference": lambda by: Estimate(0.025, 0.006),
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **more})


def slope(trace: Any) -> float:
    return float(np.polyfit(np.log(trace.x), np.log(trace.y), 1)[0])


def test_the_best_error_falls_by_both_laws_through_its_points():
    figure = sections.error_against_data(dynamical())
    measured = named(figure, "best of each size")
    assert (measured.x.tolist(), measured.y.tolist()) == (SIZES.tolist(), [0.4, 0.2, 0.1])
    assert measured.error_y.array.tolist() == [0.01] * 3
    direct, product = named(figure, "measured: −0.35 ± 0.01"), named(figure, "γ₁·γ₂: −0.38 ± 0.03")
    assert (slope(direct), slope(product)) == (pytest.approx(-0.35), pytest.approx(-0.375))
    assert (direct.line.dash, product.line.dash) == ("solid", "dash")
    assert np.exp(np.mean(np.log(product.y))) == pytest.approx(0.2)


def test_norms_grow_by_the_laws_of_all_minima_and_of_the_positions_of_resolved_sizes():
    figure = sections.norm_against_data(dynamical())
    assert named(figure, "minimum").x.tolist() == SIZES.tolist()
    assert named(figure, "falling part, γ₂").y.tolist() == [2.0, 4.0]
    minima, positions = named(figure, "0.30 ± 0.02"), named(figure, "0.25 ± 0.02")
    assert (slope(minima), slope(positions)) == (pytest.approx(0.3), pytest.approx(0.25))
    assert minima.line.color == named(figure, "minimum").marker.color != positions.line.color


def test_optima_are_listed_and_exponents_have_errors_and_intervals():
    (optima,) = sections.the_laws(dynamical()).tables
    assert optima[1].iloc[1].tolist() == [1000, 4, 0.2, 0.01, 6, -1.5, "rises"]
    assert optima[1].columns[0] == "training examples"
    section = sections.in_words(dynamical())
    ((_, table),) = section.tables
    assert table.iloc[0].tolist()[1:] == [1.5, 0.1, "1.3 … 1.7"]
    assert table["value"].tolist() == [1.5, 0.3, 0.25, 0.45, 0.375, 0.35]
    assert section.paragraphs[-1] == "One size was left out."


@pytest.mark.parametrize("holds", [True, False])
def test_a_collapse_has_a_master_curve_where_one_holds(holds):
    found = dynamical(collapse_from=1000.0 if holds else None)
    found.collapse.holds = np.array([False, holds, holds])
    section = sections.the_collapse(found)
    drawn = section.plots[0].figure
    assert [trace.name for trace in drawn.data] == ["100", "1,000", "10,000", *["master curve"] * holds]
    assert drawn.data[1].y.tolist() == [5, 6]
    assert drawn.data[1].mode == "markers"
    said = "holds from 1,000 examples on" if holds else "No three sizes fall on one master curve."
    assert said in section.paragraphs[0]


@pytest.mark.parametrize(
    ("verdict", "said"),
    [("holds", "They agree"), ("cannot tell", "0.025 ± 0.006 may be chance"), ("fails", "They do not agree")],
)
def test_the_product_of_exponents_in_words(verdict, said):
    found = dynamical(verdict=lambda by: verdict)
    first, _, product, last = numbers.of_dynamical(found, "tokens")
    assert said in product
    assert "The product is 0.38 ± 0.03; the direct fit of error against data gives 0.35 ± 0.01." in product
    assert "From 100 to 10,000 training tokens" in first
    assert "from 0.4 to 0.1, roughly as data^−0.35" in first
    assert "twice the data removes 22 % of the errors" in first  # 1 − 2^−0.35 = 0.215
    assert last.endswith("from 1,000 tokens on.")


# --- one run ---------------------------------------------------------------------------------------------


def explained(**more: Any) -> Any:
    usual = {
        "steps": np.array([1.0, 10, 100]), "measured": np.array([1.0, 0.5, 0.3]), "redrawn": None,
        "trained_features": None,
        "theory": np.array([1.0, 0.4, np.nan]), "table": lambda: pd.DataFrame({"step": [1]}),
        "summary": lambda: "lazy\nas solved", "name": "a-run",
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **more})


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({}, ["solved from the initial kernel"]),
        (
            {"redrawn": np.array([1.0, 0.45, 0.2])},
            ["solved from the initial kernel", "descent with the kernel on other draws"],
        ),
        (
            {"trained_features": np.array([1.0, 0.45, 0.2])},
            ["solved from the initial kernel", "solved with trained features"],
        ),
        ({"theory": np.full(3, np.nan), "redrawn": np.ones(3)}, []),
    ],
)  # fmt: skip
def test_a_run_is_drawn_with_the_curves_that_could_be_solved(more, lines):
    section = sections.explained_run(explained(**more))
    figure = section.plots[0].figure
    assert [trace.name for trace in figure.data] == ["measured", *lines]
    assert named(figure, "measured").y.tolist() == [1.0, 0.5, 0.3]
    if lines:
        assert named(figure, lines[0]).x.tolist() == [1, 10]
    if len(lines) > 1:
        assert named(figure, lines[1]).y.tolist() == [1.0, 0.45, 0.2]
    assert section.paragraphs == ["lazy", "as solved"]


# --- runs, answers, law of size --------------------------------------------------------------------------


def test_the_runs_of_a_long_table_are_cut_and_the_download_has_all():
    section = sections.runs(curves(), limit=5)
    ((_, shown, whole),) = section.tables
    assert (len(shown), len(whole)) == (5, 6)
    assert section.paragraphs[-1] == "The first 5 are listed; the CSV has all."
    assert section.paragraphs[0] == "6 runs, 24 checkpoints."
    assert "listed" not in " ".join(sections.runs(curves(), limit=6).paragraphs)
    assert list(shown.columns) == [
        "training examples",
        "seed",
        "checkpoints",
        "best test loss",
        "last test loss",
    ]
    assert shown["seed"].tolist() == ["0", "1", "0", "1", "0"]  # names, not amounts


def test_single_checkpoints_have_one_column_of_what_was_measured():
    ((_, shown, _),) = sections.runs(curves().select(step=2)).tables
    assert list(shown.columns) == ["training examples", "seed", "test loss"]
    assert shown["test loss"].tolist() == pytest.approx([0.2, 0.3, 0.1, 0.2, 0.05, 0.15])


def test_learning_curves_say_what_lines_and_colours_are():
    averaged = sections.learning_curves(curves())
    assert averaged.paragraphs == [
        "Lines are means over seeds, bands one standard error. Coloured by training examples."
    ]
    one = sections.learning_curves(curves().select(n_data=100, seed=0))
    assert one.paragraphs == [""]
    assert [plot.caption for plot in averaged.plots] == ["Test loss against step"]


def test_norms_are_drawn_against_time_where_there_is_one():
    both = sections.against_norm(curves(norm=3.0, test_error=0.5))
    assert len(both.plots) == 2
    timeless = sl.Curves(curves(norm=3.0, test_error=0.5).frame.drop(columns="step"))
    assert len(sections.against_norm(timeless).plots) == 1


# --- surfaces --------------------------------------------------------------------------------------------


def test_isoflop_curves_without_runs_have_their_own_entry_in_the_legend():
    lost = Known()
    lost.undetermined = ("alpha",)
    section = surface_sections.isoflops(lost, "loss", "tokens")
    drawn = [(line.name, line.mode, line.showlegend is not False) for line in section.plots[0].figure.data]
    expected = []
    for each in surface_numbers.isoflops_of(lost):
        name = flops(float(f"{each.compute:.2g}"))
        own = [(name, "markers", True), ("fit", "lines", False)]
        expected += own if len(each.loss) else [(name, "lines", True)]
    assert drawn == expected
    assert 7 < len(drawn) < 14  # some of the seven have runs
    assert "coloured by the nearest of 7 budgets" in section.paragraphs[0]
    assert "No minimum is marked: " in section.paragraphs[0]


# --- the page --------------------------------------------------------------------------------------------


def titles(found: sl.Curves, **options: Any) -> list[str]:
    return re.findall("<h2>(.*?)</h2>", report.build(found, **options))


@pytest.mark.slow
def test_openings_stand_in_place_of_sections_of_their_title():
    laws = ["The answer", "The law"]
    assert titles(curves()) == [*laws, "Learning curves", "Pick axes and runs", "Runs"]
    assert titles(curves(), refresh=2.0) == [*laws, "Learning curves", "Runs"]
    opening = [sections.Section("Runs"), sections.Section("State")]
    assert titles(curves(), refresh=2.0, opening=opening) == ["Runs", "State", *laws, "Learning curves"]


@pytest.mark.slow
def test_the_exponent_of_a_fit_stands_above_those_of_the_dynamical_laws():
    runs = sl.Curves(family((500, 1000, 2000), 0.5, 1.0, noise=0.01, seeds=2))
    assert titles(runs, refresh=2.0)[:4] == ["The answer", "In words", "The collapse", "The laws"]


def test_the_unit_of_the_data_holds_inside_its_page_only():
    with plots.counting("tokens"):
        assert plots.label("n_data") == "training tokens"
    assert plots.label("n_data") == "training examples"


def packed(text: str) -> dict[str, Any]:
    """What the page's script reads: five digits for four bytes, of which the first are how many there are."""
    (digits,) = re.findall(r'id="packed">(.*?)</script>', text)
    values = np.array([page.ALPHABET.index(letter) for letter in digits]).reshape(-1, 5)
    whole = (values @ 85 ** np.arange(4, -1, -1)).astype(">u4").tobytes()
    return json.loads(gzip.decompress(whole[4 : 4 + int.from_bytes(whole[:4])]))


def test_a_download_has_the_columns_of_its_table_and_no_others():
    table = pd.DataFrame({"n": [1, 2]}, index=[7, 8])
    text = page.render("title", "", [page.Section("Runs", tables=[("", table)])])
    assert [each.replace("\r", "") for each in packed(text)["tables"]] == ["n\n1\n2\n"]


def test_a_folder_is_no_place_for_a_page(tmp_path):
    with pytest.raises(BadInput, match=r"folder.*report\.html"):
        page.write("<html>", tmp_path)


def test_losses_and_errors_come_before_other_measurements():
    frame = curves().frame.drop(columns="test_loss").assign(score=2.0, my_error=0.5, speed=1.0, my_loss=1.0)
    assert numbers.measures(sl.Curves(frame)) == ["my_error", "my_loss", "score", "speed"]
