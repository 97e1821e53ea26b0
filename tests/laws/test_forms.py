"""Forms: their equations, limits and gradients, and how a user adds one."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.figures import laws as figures
from scalinglab.laws import Form, Parameter, forms
from scalinglab.laws.fitting import least_squares
from scalinglab.laws.forms import surfaces

SIZES = np.geomspace(100, 1e6, 25)
TRUTH = {
    "power_law": (3, 0.3),
    "power_law_offset": (0.05, 3, 0.4),
    "shifted_power_law": (0.05, 30, 0.6, 300),
    "m3": (0.02, 8, 0.5, 1e-5),
    "m4": (0.05, 0.9, 1.2, 3.0, 0.4),
    "exponential": (0.1, 0.8, 2e4),
    "damico": (0.01, 50, 0.6, 1.0, 1000),
    "broken_power_law": (0.02, 2, 0.15, 0.4, 3000, 0.3),
    "broken_power_law_2": (0.02, 2, 0.15, 0.4, 3000, 0.3, -0.3, 60000, 0.2),
}


@pytest.mark.parametrize("name", TRUTH)
def test_noise_free_data_give_the_parameters_back(name: str):
    form = forms.get(name)
    law = sl.laws.fit(form, SIZES, form(SIZES, *TRUTH[name]))
    assert [law.parameters[n] for n in form.names] == pytest.approx(TRUTH[name], rel=1e-8)


@pytest.mark.parametrize("name", TRUTH)
def test_gradients_agree_with_differences(name: str):
    form = forms.get(name)
    values = np.array(TRUTH[name], float)
    exact = form.gradient_at(SIZES, *values)
    for j in range(len(values)):
        step = 1e-6 * values[j]
        up, down = values.copy(), values.copy()
        up[j] += step
        down[j] -= step
        difference = (form(SIZES, *up) - form(SIZES, *down)) / (2 * step)
        scale = np.abs(form(SIZES, *values) / values[j])
        assert np.max(np.abs(exact[j] - difference) / scale) < 1e-7


@pytest.mark.parametrize("name", [n for n in TRUTH if forms.get(n).exponent])
def test_the_exponent_is_the_slope_at_large_x(name: str):
    """−d ln(y − E)/d ln x far out, with γ2 = 1.5 in equation 6, where γ1 γ2 is not γ1."""
    form, values = forms.get(name), dict(zip(forms.get(name).names, TRUTH[name]))
    changed = {"damico": {"gamma_2": 1.5}, "m3": {form.names[-1]: 1e-30}}  # m3 ends at x = 1/γ
    values |= {"offset": 0.0} if "offset" in values else {}
    values |= changed.get(name, {})
    x = np.array([1e13, 1e14])
    y = form(x, *(values[n] for n in form.names))
    assert -np.diff(np.log(y)) / np.log(10) == pytest.approx(float(form.get_exponent(values)), rel=1e-3)


def test_m4_solves_its_implicit_equation_from_floor_to_ceiling():
    offset, span, amplitude, exponent = 0.05, 0.9, 3.0, 0.4
    for shape in (0.1, 1.0, 5.0):
        y = forms.get("m4")(np.geomspace(1e-6, 1e6, 50), offset, span, shape, amplitude, exponent)
        seen = (offset + span - y) > 1e-9
        left = (y - offset)[seen] / (1 - (y - offset)[seen] / span) ** shape
        right = amplitude * np.geomspace(1e-6, 1e6, 50) ** -exponent
        assert left == pytest.approx(right[seen], rel=1e-6)


def test_broken_power_law_has_the_slopes_it_says():
    law = forms.broken_power_law(2)
    values = {
        "offset": 0.0, "amplitude": 1.0, "first_exponent": 0.1,
        "change_1": 0.4, "break_1": 1e3, "width_1": 0.1, "change_2": -0.2, "break_2": 1e7, "width_2": 0.1,
    }  # fmt: skip
    for size, slope in ((1e0, 0.1), (1e5, 0.5), (1e11, 0.3)):
        measured = -np.diff(np.log(law(np.array([size, 1.01 * size]), **values)))[0] / np.log(1.01)
        assert measured == pytest.approx(slope, abs=1e-3)
    assert law.get_exponent(values) == pytest.approx(0.3)


def test_a_fit_of_damico_finds_the_thresholds_of_equation_6():
    k_1, q_1, gamma_1, k_2, q_2, gamma_2 = 50, 0.01, 0.6, 2, 1000, 1  # the paper's own constants
    fitted = sl.laws.fit("damico", SIZES, k_1 * (k_2 * SIZES**gamma_2 + q_2) ** -gamma_1 + q_1)
    p_plus = (k_1 * k_2**-gamma_1 / q_1) ** (1 / (gamma_1 * gamma_2))
    assert fitted.parameters["p_minus"] == pytest.approx(q_2 / k_2, rel=1e-6)
    assert fitted.derived["p_plus"] == pytest.approx(p_plus, rel=1e-6)
    assert fitted.exponent == pytest.approx(gamma_1, rel=1e-6)


def test_data_constrained_surface_counts_repeated_data_less_and_unique_data_fully():
    form = forms.get("data_constrained")
    values = (1.87, 521, 1488, 0.353, 0.353, 15.4, 5.3)
    n, d = 1e8, 1e10
    chinchilla = forms.get("chinchilla")(np.array([n, d]), *values[:5])
    small = surfaces.optimal_params(d, *values[1:5])
    assert n < small  # no parameters in excess here
    assert form(np.array([n, d, d]), *values) == pytest.approx(chinchilla)
    losses = [form(np.array([n, d, d / epochs]), *values) for epochs in (1, 4, 40)]
    assert losses[0] < losses[1] < losses[2]
    # four epochs are worth nearly as much as new data, forty are not
    worth = [surfaces.worth_of_data(d, d / epochs, 15.4) / d for epochs in (4, 40)]
    assert worth[0] > 0.9 > 0.5 > worth[1]


def test_kaplan_surface_has_its_two_limits():
    kaplan = forms.get("kaplan")
    values = (8.8e13, 5.4e13, 0.076, 0.095)
    assert kaplan(np.array([1e9, 1e30]), *values) == pytest.approx((8.8e13 / 1e9) ** 0.076, rel=1e-6)
    assert kaplan(np.array([1e30, 1e9]), *values) == pytest.approx((5.4e13 / 1e9) ** 0.095, rel=1e-6)


def test_a_user_adds_a_form_in_ten_lines():
    sl.laws.register_form(
        sl.laws.Form(
            name="logarithm",
            equation="a - b ln x",
            parameters=(sl.laws.Parameter("a", linear=True), sl.laws.Parameter("b", linear=True)),
            function=lambda x, a, b: a - b * np.log(x),
        )
    )
    law = sl.laws.fit("logarithm", SIZES, 2 - 0.1 * np.log(SIZES))
    assert law.parameters == pytest.approx({"a": 2, "b": 0.1})
    del forms.FORMS["logarithm"]


def test_a_misspelt_form_names_the_nearest():
    with pytest.raises(BadInput, match="'power_law"):
        sl.laws.fit("powerlaw", SIZES, SIZES**-0.5)
    with pytest.raises(BadInput, match="'offset'"):
        sl.laws.fit("power_law_offset", SIZES, SIZES**-0.5, bounds={"ofset": (0, 1)})


def test_bounds_hold_a_parameter():
    y = 0.1 + 3 * SIZES**-0.4
    law = sl.laws.fit("power_law_offset", SIZES, y, bounds={"offset": (0.1, 0.1)})
    assert law.parameters["offset"] == 0.1
    assert law.exponent == pytest.approx(0.4, rel=1e-8)
    limited = sl.laws.fit("power_law_offset", SIZES, y, bounds={"exponent": (0.5, 2.0)})
    assert limited.parameters["exponent"] == pytest.approx(0.5, abs=1e-9)
    assert limited.certificate.at_bound == ("exponent",)


@pytest.mark.parametrize(
    ("name", "held"), [(name, held) for name in TRUTH for held in (forms.get(name).names[i] for i in (0, -1))]
)
def test_what_is_held_leaves_the_rest_to_be_found(name: str, held: str):
    form = forms.get(name)
    truth = dict(zip(form.names, TRUTH[name], strict=True))
    law = sl.laws.fit(form, SIZES, form(SIZES, **truth), bounds={held: (truth[held], truth[held])})
    assert law.parameters == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize(
    ("form", "held"),
    [("power_law_offset", {"exponent": 0.4}), ("damico", {"gamma_1": 0.4, "gamma_2": 1.0, "p_minus": 1.0})],
)
def test_a_held_exponent_is_what_it_was_held_at(form: str, held: dict[str, float]):
    noise = np.exp(0.02 * np.random.default_rng(0).standard_normal(SIZES.size))
    y = (0.1 + 3 * (SIZES + (form == "damico")) ** -0.4) * noise
    law = sl.laws.fit(form, SIZES, y, bounds={name: (value, value) for name, value in held.items()})
    assert law.exponent == pytest.approx(0.4)
    assert law.parameter_intervals["exponent"] == pytest.approx((0.4, 0.4))
    assert law.to_dict()["identified"] is True
    low, high = law.parameter_intervals["amplitude"]
    assert low < 3 < high
    assert len(re.findall("fixed", law.summary())) == len(held)
    assert law.unidentified is None
    assert figures.law(law).axes[0].texts[0].get_text() == "exponent 0.400, fixed"


def test_of_as_many_points_as_parameters_only_what_is_held_is_known():
    law = sl.laws.fit("power_law_offset", SIZES[:2], 0.1 + SIZES[:2] ** -0.4, bounds={"exponent": (0.4, 0.4)})
    found = dict(law.parameter_intervals)
    assert found.pop("exponent") == (0.4, 0.4)
    assert all(interval == (-np.inf, np.inf) for interval in found.values())


def test_a_fit_with_nothing_left_to_fit_is_refused():
    with pytest.raises(BadInput, match="hold every parameter of power_law"):
        sl.laws.fit("power_law", SIZES, SIZES**-0.5, bounds={"exponent": (1, 1), "amplitude": (2, 2)})


@pytest.mark.parametrize(
    "name", ["chinchilla", "kaplan", "kaplan_time", "with_time", "data_constrained", "rosenfeld"]
)
def test_surfaces_give_their_parameters_back(name: str):
    rng = np.random.default_rng(0)
    n, d, t = 10 ** rng.uniform(6, 9, 60), 10 ** rng.uniform(8, 11, 60), 10 ** rng.uniform(2, 6, 60)
    unique = np.minimum(d, 10 ** rng.uniform(8, 10, 60))
    truth = {
        "chinchilla": (1.8, 480, 2100, 0.35, 0.37),
        "kaplan": (8.8e13, 5.4e13, 0.076, 0.095),
        "kaplan_time": (11.7, 335.0, 0.077, 0.76),
        "with_time": (1.8, 480, 2100, 30, 0.35, 0.37, 0.5),
        "data_constrained": (1.87, 521, 1488, 0.353, 0.353, 15.4, 5.3),
        "rosenfeld": (0.1, 50, 200, 0.4, 0.4, 0.9),
    }[name]
    x = {"kaplan_time": (n, t), "with_time": (n, d, t), "data_constrained": (n, d, unique)}.get(name, (n, d))
    form = forms.get(name)
    third = {"with_time": {"time": t}, "data_constrained": {"n_unique": unique}}.get(name, {})
    fitted = sl.laws.surface.fit(*x[:2], form(np.array(x), *truth), form=name, **third)
    assert [fitted.parameters[k] for k in form.names] == pytest.approx(truth, rel=1e-7)
    assert np.allclose(fitted.predict(dict(zip(form.variables, x, strict=True))), form(np.array(x), *truth))


def test_starts_stay_within_bounds_and_are_deterministic():
    problem = least_squares.Problem(
        forms.get("m4"), SIZES, forms.get("m4")(SIZES, *TRUTH["m4"])[None], np.ones((1, 25)), np.ones((1, 25))
    )
    first, again = least_squares.grid_starts(problem), least_squares.grid_starts(problem)
    assert np.array_equal(first, again)
    low, high = problem.bounds
    assert np.all((first >= low) & (first <= high))


@pytest.mark.parametrize(
    ("values", "named", "message"),
    [
        ((), {"exponent": 0.5}, "takes offset, amplitude, exponent: offset, amplitude missing"),
        ((1.0,), {"exponent": 0.5}, "amplitude missing"),
        ((1.0, 2.0), {}, "exponent missing"),
        ((1.0, 2.0, 3.0, 4.0), {}, "4 values were given"),
        ((1.0,), {"offset": 1.0, "amplitude": 1.0}, "'offset' is given in order and by name"),
        ((1.0, 2.0), {"exponnt": 0.5}, "did you mean 'exponent'"),
    ],
)
def test_a_form_called_with_the_wrong_parameters_says_which(values, named, message):
    with pytest.raises(BadInput, match=message):
        forms.get("power_law_offset")(10.0, *values, **named)


def test_a_form_takes_parameters_in_order_by_name_or_both():
    form = forms.get("power_law_offset")
    expected = 0.25 + 3 * 16.0**-0.5
    assert form(16.0, 0.25, 3.0, 0.5) == expected
    assert form(16.0, exponent=0.5, amplitude=3.0, offset=0.25) == expected
    assert form(16.0, 0.25, exponent=0.5, amplitude=3.0) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["m4", pytest.param("broken_power_law", marks=pytest.mark.nightly), "damico"]
)
def test_predictions_do_not_depend_on_units(name):
    chance = np.random.default_rng(0)
    x = np.geomspace(100, 1e5, 14)
    y = (2 * x**-0.3 + 0.05) * np.exp(0.02 * chance.standard_normal(14))
    at = np.array([3e3, 1e5, 1e6])
    here = sl.laws.fit(name, x, y)
    a, b = 1e-9, 1e4
    there = sl.laws.fit(name, a * x, b * y)
    np.testing.assert_allclose(there.predict(a * at) / b, here.predict(at), rtol=1e-6)
    assert there.form.get_exponent(there.parameters) == pytest.approx(
        here.form.get_exponent(here.parameters), rel=1e-6
    )
    assert there.objective == pytest.approx(here.objective, rel=1e-6)


@pytest.mark.slow
def test_bounds_that_speak_of_units_are_kept():
    x = np.geomspace(100, 1e5, 14)
    y = 2 * x**-0.3 + 0.05
    law = sl.laws.fit("m4", 10 * x, 10 * y, bounds={"offset": (0.0, 0.2)})
    assert 0 <= law.parameters["offset"] <= 0.2  # without the bound it would be 0.5


def test_complex_numbers_are_refused():
    x = np.geomspace(100, 1e4, 6)
    for given in ((x + 0j, x), (x, x**-0.5 + 1j)):
        with pytest.raises(BadInput, match="complex"):
            sl.laws.fit("power_law", *given)
        with pytest.raises(BadInput, match="complex"):
            sl.laws.extrapolate(*given, at=1e5)


# --- every form, from its equation ------------------------------------------------------------------------


def smooth_break(x, A, c, breaks):
    for change, place, width in breaks:
        A = A * (1 + (x / place) ** (1 / width)) ** (-change * width)
    return A * x**-c


def repeated(n, d, unique, E, A, B, alpha, beta, repeats_d, repeats_n):
    """Muennighoff et al. 2023, eqs. 5 and 6."""
    needed = min(n, (alpha * A / (beta * B) * unique**beta) ** (1 / alpha))
    more_d, more_n = max(d / unique - 1, 0), max(n / needed - 1, 0)
    worth_d = unique + unique * repeats_d * (1 - np.exp(-more_d / repeats_d))
    worth_n = needed + needed * repeats_n * (1 - np.exp(-more_n / repeats_n))
    return E + A * worth_n**-alpha + B * worth_d**-beta


def experts(e, start, most):
    """Clark et al. 2022, eq. 8: 1/Ê = 1/(E − 1 + (1/E_start − 1/E_max)^-1) + 1/E_max."""
    return 1 / (1 / (e - 1 + 1 / (1 / start - 1 / most)) + 1 / most)


def bowl(lr, bs, n, d, E, A, B, a, b, both, rate, rate_n, rate_d, batch, batch_d, hr, hb, rho):
    n, d = n / 1e9, d / 1e11
    u, v = np.log(lr / (rate * n**rate_n * d**rate_d)), np.log(bs / (batch * d**batch_d))
    return (E + A * n**-a + B * n**both * d**-b) * (
        1 + hr * u**2 + hb * v**2 + 2 * rho * np.sqrt(hr * hb) * u * v
    )


def student(n, d, t, c0, c1, d1, f1, A, B, a, b, g, Es, As, Bs, als, bes, gs):
    """Busbridge et al. 2025, eq. 8."""
    alone = Es + (As * n**-als + Bs * d**-bes) ** gs
    return t + t**-c0 * (1 + (t / (d1 * alone)) ** (1 / f1)) ** (-c1 * f1) * (A * n**-a + B * d**-b) ** g


FORMULAS = {
    "power_law": (lambda x, A, c: A * x**-c, [50], [3, 0.4]),
    "power_law_offset": (lambda x, E, A, c: E + A * x**-c, [50], [0.1, 3, 0.4]),
    "shifted_power_law": (lambda x, E, A, c, x0: E + A * (x + x0) ** -c, [50], [0.1, 3, 0.4, 20]),
    "m3": (lambda x, E, A, c, s: E + A * (1 / x + s) ** c, [50], [0.1, 3, 0.4, 0.02]),
    "exponential": (lambda x, E, A, tau: E + A * np.exp(-x / tau), [50], [0.1, 3, 30]),
    "damico": (lambda x, E, A, g1, g2, p: E + A * (x**g2 + p**g2) ** -g1, [50], [0.1, 3, 0.6, 1.3, 20]),
    "broken_power_law": (
        lambda x, E, A, c, *b: E + smooth_break(x, A, c, [b]), [50], [0.1, 3, 0.2, 0.3, 40, 0.5],
    ),
    "broken_power_law_2": (
        lambda x, E, A, c, *b: E + smooth_break(x, A, c, [b[:3], b[3:]]), [50],
        [0.1, 3, 0.2, 0.3, 40, 0.5, -0.1, 90, 0.4],
    ),
    "chinchilla": (lambda n, d, E, A, B, a, b: E + A * n**-a + B * d**-b, [1e3, 2e4], [1.5, 9, 30, 0.3, 0.4]),
    "coupled": (
        lambda n, d, E, A, B, a, b, g: E + (A * n**-a + B * d**-b) ** g,
        [1e3, 2e4], [1.5, 9, 30, 0.3, 0.4, 0.7],
    ),
    "rosenfeld": (
        lambda n, d, E, A, B, a, b, g: (e := E + A * n**-a + B * d**-b) / np.sqrt(1 + (e / g) ** 2),
        [1e3, 2e4], [1.5, 9, 30, 0.3, 0.4, 5],
    ),
    "kaplan": (
        lambda n, d, nc, dc, a, b: ((nc / n) ** (a / b) + dc / d) ** b, [1e3, 2e4], [2e5, 3e5, 0.3, 0.4],
    ),
    "kaplan_time": (lambda n, s, A, B, a, b: A * n**-a + B * s**-b, [1e3, 2e4], [9, 30, 0.3, 0.4]),
    "with_time": (
        lambda n, d, t, E, A, B, C, a, b, g: E + A * n**-a + B * d**-b + C * t**-g,
        [1e3, 2e4, 500], [1.5, 9, 30, 4, 0.3, 0.4, 0.5],
    ),
    "data_constrained": (repeated, [1e8, 9e8, 2e8], [1.5, 300, 900, 0.34, 0.3, 15, 5]),
    "overtrained": (
        lambda C, M, E, a, b, eta: E + (a * M**eta + b * M**-eta) * C**-eta, [1e18, 40], [1.5, 30, 700, 0.16],
    ),
    "optimal_learning_rate": (lambda n, d, c, p, q: c * n**p * d**q, [1e3, 2e4], [1.8, -0.7, 0.3]),
    "optimal_batch_size": (lambda d, c, q: c * d**q, [2e4], [0.6, 0.57]),
    "learning_rate_batch": (
        bowl, [2e-3, 700, 2e9, 3e11],
        [1.8, 0.4, 0.3, 0.3, 0.35, 0.1, 1e-3, -0.7, 0.3, 600, 0.5, 0.02, 0.01, -0.4],
    ),
    "data_transferred": (lambda d, n, k, a, b: k * d**a * n**b, [2e4, 1e3], [5, 0.18, 0.38]),
    "distillation": (
        student, [1e3, 2e4, 2.2],
        [2.5, 20, 1.3, 0.1, 9, 30, 0.3, 0.4, 0.7, 1.2, 8, 25, 0.33, 0.38, 0.9],
    ),
    "routed_experts": (
        lambda n, e, a, b, c, d, s, m: np.exp(
            a * np.log(n) + b * np.log(experts(e, s, m)) + c * np.log(n) * np.log(experts(e, s, m)) + d
        ),
        [1e6, 32], [-0.08, -0.1, 0.005, 2.0, 1.8, 300],
    ),
    "fine_grained_experts": (
        lambda n, d, G, E, A, g, B, a, b, c: E + (A + g * G**-c) * n**-a + B * d**-b,
        [1e3, 2e4, 8], [1.5, 9, 4, 30, 0.3, 0.4, 0.6],
    ),
    "precision": (
        lambda n, d, P, E, A, B, a, b, g: E + A * (n * (1 - np.exp(-P / g))) ** -a + B * d**-b,
        [1e3, 2e4, 4], [1.5, 9, 30, 0.3, 0.4, 2.5],
    ),
    "quantized_after_training": (
        lambda n, d, P, C, gd, gn, g: C * d**gd * n**-gn * np.exp(-P / g),
        [1e3, 2e4, 4], [0.02, 0.5, 0.4, 2.5],
    ),
    "vocabulary": (
        lambda n, v, d, E, A, Av, B, a, av, b: E + A * n**-a + Av * v**-av + B * d**-b,
        [1e3, 50, 2e4], [-2.0, 9, 3, 30, 0.3, 0.25, 0.4],
    ),
    "vocabulary_size": (
        lambda n, v, d, E, A, Av, B, a, av, b, k: (
            E + A * (n / 1e8) ** -a + Av * (v / 3e4) ** -av + B * (v / 3e4) ** k * (d / 1e10) ** -b
        ),
        [2e8, 5e4, 3e10], [-2.0, 0.4, 0.3, 0.5, 0.3, 0.25, 0.4, 0.1],
    ),
    "parallel_streams": (
        lambda n, S, E, A, a, k: E + A * (n * (k * np.log(S) + 1)) ** -a, [1e3, 8], [1.5, 9, 0.3, 0.4],
    ),
    "data_mixing_5": (
        lambda *v: v[5] + v[6] * np.exp(sum(r * t for r, t in zip(v[:4], v[7:], strict=True))),
        [0.1, 0.2, 0.3, 0.15, 0.25], [1.5, 2, -1, -2, 0.5, 0.3],
    ),
    "mixture_power_3": (
        lambda a, b, c, E, A, g, r, s, t: E + A * (r * a + s * b + t * c) ** -g,
        [0.2, 0.5, 0.3], [1.5, 2, 0.2, 0.8, 0.1, 0.4],
    ),
    "farseer": (
        lambda n, d, E, a, b, A, c, beta, e: (
            E * np.exp(-a * ((n / 1e9) ** b - 1) / b)
            + A * (n / 1e9) ** -c * (d / 1e11) ** (-beta * (n / 1e9) ** e)
        ),
        [3e8, 2e10], [0.5, 0.05, 0.1, 0.1, 0.1, 0.3, -0.05],
    ),
    "broken_params": (
        lambda n, d, E, A, B, a, b, k, at: E + A * n**-a * (1 + (n / at) ** 4) ** (-k / 4) + B * d**-b,
        [3e3, 2e4], [1.5, 9, 11, 0.3, 0.4, 0.1, 2e3],
    ),
    "broken_data": (
        lambda n, d, E, A, B, a, b, k, at: E + A * n**-a + B * d**-b * (1 + (d / at) ** 4) ** (-k / 4),
        [3e3, 2e4], [1.5, 9, 11, 0.3, 0.4, 0.1, 1e4],
    ),
    "experts_with_floor": (lambda n, x, E, A, a, b: E + A * n**-a * x**-b, [1e3, 8], [1.5, 9, 0.3, 0.1]),
    "active_experts": (
        lambda m, n, d, E, A, B, a, b, k: E + A * m**-a * (n / m) ** -k + B * d**-b,
        [1e3, 8e3, 2e4], [1.5, 9, 11, 0.3, 0.4, 0.1],
    ),
    "sparsity": (
        lambda n, d, s, E, A, B, C, F, a, b, k, t, g: (
            E + A * n**-a + B * d**-b + C * (1 - s) ** -k + F * (1 - s) ** -t * n**-g
        ),
        [1e3, 2e4, 0.5], [1.5, 9, 11, 0.2, 3, 0.3, 0.4, -0.2, 0.1, 0.3],
    ),
    "upcycled": (
        lambda p, d, E, A, a, b, k: (
            E + A * (p / 1e9) ** -a * (d / 1e9) ** (-b + k * np.log(p / 1e9))
        ),
        [3e10, 5e9], [1.5, 0.9, 0.1, 0.2, 0.02],
    ),
    "critical_batch_size": (lambda n, d, s, a, b: s * n**a * d**b, [1e3, 2e4], [3.0, 0.1, 0.4]),
    "annealed_surface": (
        lambda n, s1, s2, E, A, B, C, a, b: E + A * n**-a + B * s1**-b - C * s2,
        [1e3, 12.0, 0.3], [1.5, 9, 0.7, 0.4, 0.3, 0.5],
    ),
    "saturating_score": (
        lambda c, low, top, s, m: low + (top - low) / (1 + (m / c) ** s), [50.0], [0.1, 0.8, 0.7, 90.0]
    ),
    "pass_at_k": (lambda k, a, b: np.exp(-a * k**-b), [8.0], [1.5, 0.4]),
    "error_from_loss": (lambda L, top, k, g: top - k * np.exp(-g * L), [2.5], [0.9, 1.2, 0.7]),
    "score_from_loss": (
        lambda L, low, span, s, m: low + span / (1 + np.exp(s * (L - m))), [2.5], [0.25, 0.6, 3.0, 2.4],
    ),
    "transfer": (
        lambda n, d, p, nc, dc, a, b, k, kd, kn: (
            ((nc / n) ** (a / b) + dc / (d + (p > 0) * k * d**kd * n**kn)) ** b
        ),
        [1e3, 2e4, 1], [2e5, 3e5, 0.3, 0.4, 5, 0.2, 0.4],
    ),
}  # fmt: skip


def test_every_form_has_its_formula_here():
    names = {form.name for form in forms.FORMS.values()}
    assert names - FORMULAS.keys() == {"m4"}, "which is implicit and has tests of its own"


@pytest.mark.parametrize("name", FORMULAS)
def test_a_form_is_its_equation_written_out(name: str):
    formula, place, values = FORMULAS[name]
    form = forms.get(name)
    for factor in (1.0, 1.07):
        at, parameters = (np.asarray(v, float) * factor for v in (place, values))
        x = tuple(at) if len(at) > 1 else at[0]
        assert form(x, *parameters) == pytest.approx(formula(*at, *parameters), rel=1e-9)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_gradient_agrees_with_differences_at_the_place_of_the_formula(name: str):
    form, (_, place, values) = forms.get(name), FORMULAS[name]
    x, given = (place if len(place) > 1 else place[0]), np.asarray(values, float)
    held = form.bounded({form.names[-1]: (given[-1], given[-1])})  # one parameter held: the others' slopes
    exact = [float(slope) for slope in form.gradient_at(np.asarray(x, float), *given)]
    free = [float(slope) for slope in held.gradient_at(np.asarray(x, float), *given[:-1])]
    assert free == pytest.approx(exact[:-1])
    for j, slope in enumerate(exact):
        step = 1e-5 * max(abs(given[j]), 1e-3) * np.eye(len(given))[j]
        ends = [form(x, *(given + side * step)) for side in (1, -1)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step[j]), rel=1e-4, abs=1e-9)


def test_a_transfer_from_scratch_has_no_data_transferred():
    form, kaplan = forms.get("transfer"), forms.get("kaplan")
    _, place, values = FORMULAS["transfer"]
    assert form((*place[:2], 0.0), *values) == pytest.approx(kaplan(tuple(place[:2]), *values[:4]), rel=1e-9)


def test_numbers_that_follow_from_parameters():
    derived = forms.get("damico").derived(
        {"offset": 0.01, "amplitude": 3.0, "gamma_1": 0.6, "gamma_2": 1.3, "p_minus": 20.0}
    )
    assert 3.0 * derived["p_plus"] ** (-0.6 * 1.3) == pytest.approx(0.01), "where both parts are as large"
    assert forms.get("m4").derived({"offset": 0.1, "span": 0.7})["ceiling"] == pytest.approx(0.8)
    assert forms.get("score_from_loss").derived({"low": 0.25, "span": 0.6}) == pytest.approx(
        {"chance": 0.25, "ceiling": 0.85}
    )


@pytest.mark.parametrize("name", ["m4", "damico", "broken_power_law", "broken_power_law_2"])
def test_a_form_in_other_units_is_the_same_curve(name: str):
    form = forms.get(name)
    values = dict(
        zip(form.names, FORMULAS[name][2] if name != "m4" else [0.1, 0.8, 1.4, 3.0, 0.5], strict=True)
    )
    x = np.geomspace(1, 1e3, 7)
    there = form.rescale(values, 50.0, 0.3)
    assert form(50 * x, **there) == pytest.approx(0.3 * form(x, **values), rel=1e-9)


def test_how_many_breaks_and_domains_a_form_may_have():
    assert len(forms.get("broken_power_law_8").names) == 3 + 24
    assert forms.get("broken_power_law_0").exponent == "first_exponent"
    for wrong in ("broken_power_law_9", "data_mixing_1", "data_mixing_31"):
        with pytest.raises(BadInput, match=r"must be between 0 and 8|give 2 to 30"):
            forms.get(wrong)
    assert len(forms.get("data_mixing_2").variables) == 2
    assert len(forms.get("data_mixing_30").variables) == 30


def test_a_surface_predicts_by_name_and_refuses_sizes_by_place():
    """In the wrong order sizes would give another number without a word."""
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e9, 5), np.geomspace(1e8, 1e11, 5)))
    fitted = sl.laws.surface.fit(n, d, 1.8 + 480 * n**-0.35 + 2100 * d**-0.37)
    truth = 1.8 + 480 * 1e9**-0.35 + 2100 * 2e10**-0.37
    for found in (fitted, fitted.law):
        assert found.predict(n_data=2e10, n_params=1e9) == pytest.approx(truth, rel=1e-6)
        assert found.predict({"n_data": 2e10, "n_params": 1e9}) == pytest.approx(truth, rel=1e-6)
        frame = pd.DataFrame({"n_data": [2e10, 2e10], "n_params": [1e9, 1e9]})
        assert np.asarray(found.predict(frame)) == pytest.approx([truth, truth], rel=1e-6)
        with pytest.raises(BadInput, match="n_params=…, n_data=…"):
            found.predict((1e9, 2e10))
        with pytest.raises(BadInput, match="n_data"):
            found.predict(n_params=1e9)
        with pytest.raises(BadInput, match="n_dat"):
            found.predict(n_params=1e9, n_data=1e9, n_dat=2e10)
    with pytest.raises(TypeError):
        fitted.predict(1e9, 2e10)
    with pytest.raises(BadInput, match="n_params=…, n_data=…"):
        fitted.interval((1e9, 2e10))


def test_every_equation_is_stated_with_one_left_side():
    for form in {form.name: form for form in forms.FORMS.values()}.values():
        left = form.equation_of().split(" = ")[0]
        assert left == "y" or "y" in left, form.name
        assert " = y" not in form.equation_of(), form.name
    assert forms.get("m4").equation_of() == "(y - E)/(1 - (y - E)/span)^s = A x^-c"
    given = replace(forms.get("power_law"), equation="y = A x^-c")
    assert given.equation_of() == "y = A x^-c"


def test_a_function_with_a_step_of_unknown_slope_has_no_gradient_and_is_fitted_all_the_same():
    x = np.geomspace(10, 1e4, 12)
    parameters = (Parameter("a", 0.0, linear=True), Parameter("c", 0.0, 3.0, start=(0.3,)))
    for function in (
        lambda x, a, c: a * np.clip(x, 1, None) ** np.clip(-c, -9, 9),
        lambda x, a, c: a * np.exp(-np.asarray(c) * np.log(x)),
    ):
        form = Form("clipped", "a x^-c", parameters, function)
        assert form.gradient_at(x, 2.0, 0.5) is None
        assert sl.laws.fit(form, x, 2 * x**-0.5).parameters == pytest.approx({"a": 2, "c": 0.5}, rel=1e-6)


def test_slopes_follow_branches_ties_and_constants():
    form = Form(
        "steps", "", tuple(Parameter(n) for n in "abc"),
        lambda x, a, b, c: np.where(x > 2, a * x, np.maximum(b, 1.0)) + np.hypot(a, 3.0) ** 2 - abs(b) + 7,
    )  # fmt: skip
    by_a, by_b, by_c = form.gradient_at(np.array([1.0, 3.0]), 4.0, 1.0, 5.0)
    assert by_a == pytest.approx([8, 3 + 8])
    assert by_b == pytest.approx([0.5 - 1, -1])  # of two that are equal each counts half
    assert by_c == 0
