"""Figures of laws show everything that was asked for."""

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.figures import laws as figures

X = np.geomspace(1e3, 1e6, 8)
NOISE = np.exp(0.005 * np.random.default_rng(0).standard_normal(8))
FORMS = ("power_law_offset", "power_law")
LAWS = [sl.laws.fit(name, X, (1.5 + 30 * X**-0.35) * NOISE) for name in FORMS]


@pytest.mark.slow
def test_every_form_is_drawn_with_its_band_residuals_and_name():
    figure = figures.law(*LAWS)
    top, below = figure.axes
    solid = [line for line in top.lines if line.get_linestyle() == "-" and len(line.get_xdata()) > 8]
    assert len(solid) == len(top.collections) == 2  # curves and bands
    names = [text.get_text() for text in top.get_legend().get_texts()]
    assert all(any(form.replace("_", " ") + ", exponent" in name for name in names) for form in FORMS)
    shown = np.concatenate([line.get_ydata() for line in below.lines if len(line.get_ydata()) == 8])
    assert shown == pytest.approx(100 * np.concatenate([law.residuals for law in LAWS]))


@pytest.mark.slow
def test_predictions_are_drawn_where_they_were_asked_for():
    at = np.array([1e7, 1e8])
    predicted = [figures.Predicted(at, law.predict(at), *law.interval(at)) for law in LAWS]
    top = figures.law(*LAWS, predicted=predicted).axes[0]
    stars = [line for line in top.lines if line.get_marker() == "*" and len(line.get_xdata())]
    assert [line.get_xdata().tolist() for line in stars] == [at.tolist()] * 2
    assert [line.get_ydata() for line in stars] == [pytest.approx(law.predict(at)) for law in LAWS]
    assert top.get_xlim()[1] > 1e8


def precision_surface(bits):
    n, d, p = (v.ravel() for v in np.meshgrid([1e8, 3e8, 1e9], [2e9, 6e9, 2e10], bits))
    loss = 1.8 + 480 * (n * (1 - np.exp(-p / 2.5))) ** -0.35 + 2100 * d**-0.37
    return sl.laws.surface.fit(loss=loss, form="precision", n_params=n, n_data=d, bits=p)


def test_a_law_of_several_variables_is_drawn_along_the_one_that_is_no_size():
    fitted = precision_surface([3.0, 4, 6, 8, 16])
    figure = figures.surface(fitted)
    left, right = figure.axes
    assert (left.get_xlabel(), left.get_ylabel()) == ("bits", "loss")
    curves = [line for line in left.lines if len(line.get_xdata()) == 80]
    assert len(curves) == len(left.get_legend().get_texts()) == 6  # of nine pairs of sizes
    assert curves[0].get_ydata()[0] == pytest.approx(fitted.predict(n_params=1e8, n_data=2e9, bits=3.0))
    shown = [line.get_ydata() for line in left.lines if len(line.get_xdata()) == 5]
    assert len(shown) == 6
    assert set(np.concatenate(shown)) <= set(fitted.law.points.y)
    assert len(right.lines[1].get_ydata()) == 45


def test_a_rate_that_grows_with_data_is_drawn_without_a_compute_optimal_line():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 3e9, 4), np.geomspace(2e9, 6e10, 4)))
    fitted = sl.laws.surface.fit(n, d, 1.79 * n**-0.7 * d**0.3, form="optimal_learning_rate")
    assert figures.surface(fitted, loss="learning_rate").axes[0].get_ylabel() == "learning_rate"
    assert all(
        "optimal" not in t.get_text() for t in figures.surface(fitted).axes[0].get_legend().get_texts()
    )


def test_values_below_zero_keep_a_linear_axis():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 3e9, 4), np.geomspace(2e9, 6e10, 4)))
    plane = sl.laws.Form(
        "plane", "a - b ln N - c ln D", tuple(sl.laws.Parameter(name, linear=True) for name in "abc"),
        lambda x, a, b, c: a - b * np.log(x[0]) - c * np.log(x[1]), variables=("n_params", "n_data"),
    )  # fmt: skip
    y = 30 - np.log(n) - 0.8 * np.log(d) + 0.01 * np.random.default_rng(0).standard_normal(16)
    assert y.max() < 0
    fitted = sl.laws.surface.fit(n, d, y, form=plane, space="raw")
    assert figures.surface(fitted).axes[0].get_yscale() == "linear"
