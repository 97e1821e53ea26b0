"""The perceptron's replica theory, against slow solvers of the plain equations and known limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, special

import scalinglab as sl
from scalinglab.errors import BadInput
from tests.properties import examples
from tests.theory import perceptron_reference as reference

p = sl.theory.perceptron

loads_strategy = st.floats(math.log(0.05), math.log(1e4)).map(math.exp)
sharpness_strategy = st.floats(math.log(1e-3), math.log(1e4)).map(math.exp)


def state(found):
    """(ln x, ln(1−R)) of a solution."""
    return float(found.log_x), math.log(2 * math.sin(math.pi * float(found.error) / 2) ** 2)


# --- the solver against slow methods -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "sharpness"),
    [
        (0.05, 1e-3), (5.0, 1e3), (1e4, 30.0),
        *(pytest.param(*one, marks=pytest.mark.nightly) for one in ((1.0, 30.0), (1e4, 1e-3))),
    ],
)  # fmt: skip
def test_error_matches_adaptive_quadrature_of_the_plain_equations_to_1e_11(load, sharpness):
    found = p.fixed_norm(load, sharpness)
    log_x, log_gap = state(found)
    slow = reference.error_by_quad(load, sharpness, (log_x + 0.01, log_gap - 0.02))
    assert found.error == pytest.approx(slow, rel=1e-11)


@pytest.mark.parametrize(("load", "sharpness"), [(0.05, 1e4), pytest.param(0.7, 2e3, marks=pytest.mark.slow)])
def test_solution_solves_the_plain_equations_where_x_overflows_doubles(load, sharpness):
    found = p.fixed_norm(load, sharpness)
    assert not np.isfinite(found.x)
    exact = reference.residuals_by_mpmath(state(found), load, sharpness)
    # ln x is of order 1e4 and so carries a rounding error of 1e-12
    assert np.abs(exact).max() < 1e-10
    log_x, log_gap = state(found)
    moved = reference.residuals_by_mpmath((log_x, log_gap + 1e-7), load, sharpness)
    assert np.abs(moved).max() > 1e-9  # the check would see an error of 1e-7


@pytest.mark.slow
def test_equations_are_solved_wherever_there_is_a_solution():
    loads = np.geomspace(*p.solution.saddle.LOADS, 19)[:, None]
    assert np.max(p.fixed_norm(loads, np.geomspace(1e-4, 1e13, 35)).residual) < 1e-12


def test_slopes_match_finite_differences_of_the_error():
    loads, sharpnesses, h = np.array([[0.1], [5.0], [1e3]]), np.array([0.01, 1.0, 30.0, 3e3]), 1e-3
    found = p.fixed_norm(loads, sharpnesses)

    def difference(f):
        near, far = np.log(f(h) / f(-h)) / (2 * h), np.log(f(2 * h) / f(-2 * h)) / (4 * h)
        return (4 * near - far) / 3

    by_sharpness = difference(lambda d: p.fixed_norm(loads, sharpnesses * np.exp(d)).error)
    by_load = difference(lambda d: p.fixed_norm(loads * np.exp(d), sharpnesses).error)
    np.testing.assert_allclose(found.slope, by_sharpness, atol=1e-10)
    np.testing.assert_allclose(found.load_slope, by_load, atol=1e-10)


# --- limits ------------------------------------------------------------------------------------------


def test_zero_sharpness_is_hebbs_rule():
    loads = np.geomspace(1e-3, 1e6, 10)
    hebb = p.hebb(loads)
    np.testing.assert_allclose(hebb.overlap, np.sqrt(2 * loads / (2 * loads + np.pi)), rtol=1e-14)
    np.testing.assert_allclose(p.fixed_norm(loads, 0.0).error, hebb.error, rtol=1e-14)
    np.testing.assert_allclose(p.fixed_norm(loads, 1e-12).error, hebb.error, rtol=1e-11)


def max_stability_plain(load):
    """Opper and Kinzel's equations with κ: 1 − R² = 2α∫_{−∞}^κ Dt Φ(Rt/s)(κ−t)², R = (2α/√2π)∫Du (κ−su)₊."""

    def equations(z):
        kappa, angle = np.exp(z)
        r, s = np.cos(angle), np.sin(angle)
        first = integrate.quad(
            lambda t: np.exp(-t * t / 2) * special.ndtr(r * t / s) * (kappa - t) ** 2,
            -9 * s, min(kappa, 9), points=[0.0], epsabs=0, epsrel=1e-12,
        )[0]  # fmt: skip
        a = kappa / s
        second = s * (a * special.ndtr(a) + np.exp(-a * a / 2) / np.sqrt(2 * np.pi))
        return [
            np.log(2 * load * first / np.sqrt(2 * np.pi) / s**2),
            np.log(2 * load / np.sqrt(2 * np.pi) * second / r),
        ]

    z = optimize.root(equations, np.log([0.6 / np.sqrt(load * (1 + load)), 1.57 / (1 + load)]), tol=1e-13).x
    return np.exp(z)


@pytest.mark.parametrize("load", [0.3, 1.0, 5.0, 30.0])
def test_max_stability_matches_its_own_equations(load):
    kappa, angle = max_stability_plain(load)
    rule = p.max_stability(load)
    assert rule.error == pytest.approx(angle / np.pi, rel=1e-10)
    assert rule.stability == pytest.approx(kappa, rel=1e-10)


def test_large_sharpness_approaches_max_stability_from_both_sides_of_the_table():
    loads = np.array([0.05, 1.0, 50.0])
    limit = p.max_stability(loads).error
    for sharpness, tolerance in ((1e6, 1e-4), (1e12, 1e-9), (1e19, 1e-12)):
        np.testing.assert_allclose(p.fixed_norm(loads, sharpness).error, limit, rtol=tolerance)


@pytest.mark.parametrize(
    ("rule", "amplitude", "power"),
    [("bayes", 0.442, 1), ("gibbs", 0.625, 1), ("max_stability", 0.500, 1), ("hebb", 0.399, 0.5)],
)
def test_large_load_amplitudes_are_the_textbook_ones(rule, amplitude, power):
    assert 1e5**power * getattr(p, rule)(1e5).error == pytest.approx(amplitude, rel=2e-3)


def test_intermediate_law_is_reached_between_hebb_and_the_optimum():
    assert p.intermediate_error(1e10, 1e5) == pytest.approx(p.fixed_norm(1e10, 1e5).error, rel=2e-5)
    assert p.fixed_norm(1e10, 1e5).slope == pytest.approx(-0.5, abs=1e-4)


# --- the classical rules -----------------------------------------------------------------------------


@pytest.mark.parametrize("load", [0.1, 1.0, 5.0, 40.0])
def test_gibbs_and_bayes_extremise_the_free_energy(load):
    def free_energy(q):  # replica-symmetric entropy of the version space at R = q
        slant = math.sqrt(q / (1 - q))
        entropy = integrate.quad(
            lambda t: math.exp(-t * t / 2) * special.ndtr(slant * t) * special.log_ndtr(slant * t),
            -9 / slant if slant > 1 else -9, 9, epsabs=0, epsrel=1e-12, points=[0.0], limit=200,
        )[0]  # fmt: skip
        return 0.5 * math.log(1 - q) + 0.5 * q + 2 * load * entropy / math.sqrt(2 * math.pi)

    q = float(p.gibbs(load).overlap)
    h = 1e-3 * (1 - q) * min(1, q)
    slopes = [
        (free_energy(q * (1 + d) + h) - free_energy(q * (1 + d) - h)) / (2 * h) for d in (-1e-4, 0, 1e-4)
    ]
    assert abs(slopes[1]) < 0.02 * max(abs(slopes[0]), abs(slopes[2]))
    assert slopes[0] * slopes[2] < 0
    assert p.bayes(load).overlap == pytest.approx(math.sqrt(q), rel=1e-13)


def test_rules_are_ordered_bayes_max_stability_gibbs_at_every_load():
    loads = np.geomspace(1e-2, 1e8, 60)
    bayes, best, gibbs = p.bayes(loads).error, p.max_stability(loads).error, p.gibbs(loads).error
    assert np.all(bayes < best)
    assert np.all(best < gibbs)


# --- properties --------------------------------------------------------------------------------------


@examples(60)
@given(loads_strategy, sharpness_strategy)
def test_error_lies_between_bayes_and_one_half(load, sharpness):
    assert p.bayes(load).error * (1 - 1e-12) <= p.fixed_norm(load, sharpness).error < 0.5


@examples(60)
@given(loads_strategy, st.floats(1.01, 100), sharpness_strategy)
def test_more_data_never_hurt(load, factor, sharpness):
    fewer, more = p.fixed_norm(np.array([load, load * factor]), sharpness).error
    assert more < fewer


def test_arguments_broadcast_and_keep_their_shape():
    found = p.fixed_norm(np.ones((3, 1)), np.geomspace(0.1, 1, 4))
    assert found.error.shape == (3, 4)
    assert p.fixed_norm(5.0, 1.0).error.shape == ()
    assert p.fixed_norm(np.ones(0), 1.0).error.shape == (0,)
    np.testing.assert_array_equal(found.error[0], found.error[2])


def test_a_point_does_not_depend_on_its_neighbours():
    sharpnesses = np.geomspace(1e-3, 1e4, 600)
    together = p.fixed_norm(7.0, sharpnesses).error
    alone = [float(p.fixed_norm(7.0, sharpnesses[i]).error) for i in (0, 255, 256, 599)]
    np.testing.assert_allclose(together[[0, 255, 256, 599]], alone, rtol=1e-13)


@pytest.mark.parametrize(
    ("load", "sharpness", "word"),
    [(0.0, 1.0, "load=0"), (1e13, 1.0, "load=1e\\+13"), (math.nan, 1.0, "load=nan"),
     (1.0, -2.0, "sharpness=-2"),
     (1.0, math.nan, "sharpness=nan")],
)  # fmt: skip
def test_values_outside_the_range_are_refused_by_name(load, sharpness, word):
    with pytest.raises(BadInput, match=word):
        p.fixed_norm(load, sharpness)


def test_curves_hold_one_row_a_point():
    curves = p.fixed_norm([[1.0], [5.0]], [0.1, 1.0]).curves()
    assert len(curves) == 4
    assert set(curves["load"]) == {1.0, 5.0}
    assert "test_error" in curves.measurement_columns
