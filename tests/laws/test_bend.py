"""Whether points bend away from a form: one statistic, against tests that are written out."""

import numpy as np
import pytest
from scipy import stats

import scalinglab as sl
from scalinglab.laws import plan, surface
from scalinglab.laws.fitting import bend
from scalinglab.laws.fitting.bend import BendFamily, Residuals
from scalinglab.laws.fitting.fit import fit_points

X = np.geomspace(100.0, 1e6, 25)


def noise(seed: int, size: float) -> np.ndarray:
    return np.exp(size * np.random.default_rng(seed).standard_normal(X.size))


@pytest.mark.parametrize("exponent", [0.25, 0.4, 1.1])
def test_the_exponent_of_a_straight_curve_is_printed(exponent: float):
    ripple = np.exp(0.005 * (-1.0) ** np.arange(X.size))  # scatter that bends nothing
    found = plan.still_power_law(X, 3 * X**-exponent * ripple)
    assert found.straight is True
    assert found.reason.details["exponent"] == pytest.approx(exponent, abs=0.005)


@pytest.mark.parametrize(("curvature", "how"), [(0.02, "flattens"), (-0.02, "steepens")])
def test_the_local_exponents_of_a_bent_curve_are_those_at_its_ends(curvature: float, how: str):
    """ln y = 1 - 0.5 u + c u²: the exponent is 0.5 - 2 c u at each end."""
    u = np.log(X)
    start, end = 0.5 - 2 * curvature * u[0], 0.5 - 2 * curvature * u[-1]
    found = plan.still_power_law(X, np.exp(1 - 0.5 * u + curvature * u**2) * noise(1, 1e-4))
    assert found.straight is False
    assert found.change == pytest.approx(end - start, rel=0.01)
    assert found.low < end - start < found.high
    assert (found.exponent_first, found.exponent_last) == pytest.approx((start, end), abs=0.01)
    assert found.p_value < 1e-6
    assert found.reason.code == how
    ends = found.reason.details["first"], found.reason.details["last"]
    assert ends == pytest.approx((start, end), abs=0.002)


def test_a_noisy_curve_is_neither_straight_nor_bent():
    found = plan.still_power_law(X, 3 * X**-0.1 * noise(2, 0.3))
    assert found.straight is None
    assert found.reason.code == "bend_hidden"


# --- the test ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 3])
def test_the_pvalue_of_one_bend_is_that_of_the_f_test_and_of_draws(columns: int):
    u = np.linspace(-1, 1, 14)
    rng = np.random.default_rng(columns)
    y, added = rng.standard_normal(14), np.vander(u, 6)[:, 3 - columns : 3]
    line = np.column_stack([np.ones(14), u])
    squares = [np.linalg.lstsq(np.column_stack(d), y, rcond=None)[1][0] for d in ([line], [line, added])]
    ratio = (squares[0] - squares[1]) / columns / (squares[1] / (12 - columns))
    family = BendFamily(Residuals.of(y, line), added[None])
    assert family.pvalue() == pytest.approx(stats.f.sf(ratio, columns, 12 - columns))
    drawn = family.residuals.pvalue(family.most_explained)
    assert drawn == pytest.approx(family.pvalue(), abs=4 * np.sqrt(0.25 / bend.DRAWS))


def test_a_parabola_beside_a_line_is_judged_by_students_t():
    x, y = np.log(X[::3]), -0.3 * np.log(X[::3]) + np.log(noise(3, 0.02)[::3])
    (curvature, *_), covariance = np.polyfit(x - x.mean(), y, 2, cov=True)
    found, span = bend.of_line(x, y), np.ptp(x)
    t = curvature / np.sqrt(covariance[0, 0])
    assert found.pvalue == pytest.approx(2 * stats.t.sf(abs(t), len(x) - 3))
    assert found.change == pytest.approx(-2 * curvature * span)
    assert found.change_error == pytest.approx(2 * np.sqrt(covariance[0, 0]) * span)
    assert found.dof == len(x) - 3
    assert bend.of_line(x[:3], y[:3]).seen is None, "three points are a parabola"


@pytest.mark.parametrize(("curvature", "steepens"), [(-0.02, True), (0.02, False)])
def test_a_bend_is_seen_with_its_direction(curvature: float, steepens: bool):
    u = np.log(X)
    found = bend.of_line(u, -0.3 * u + curvature * u**2 + np.log(noise(4, 0.01)))
    assert found.seen is True
    assert found.steepens is steepens
    assert found.located is False
    exact = bend.of_line(u, -0.3 * u)
    assert exact.seen is False
    assert exact.steepens is False


def test_a_floor_is_half_the_f_test_of_the_law_with_one():
    x = np.geomspace(10, 1e4, 6)
    for floor, seed in ((0.0, 0), (0.0, 1), (0.05, 2), (0.2, 3)):
        y = (floor + 3 * x**-0.4) * np.exp(0.03 * np.random.default_rng(seed).standard_normal(6))
        line, floored = (
            sl.laws.fit(form, x, y, loss="squared") for form in ("power_law", "power_law_offset")
        )
        squares = [np.sum(law.residuals**2) for law in (line, floored)]
        ratio = (squares[0] - squares[1]) / (squares[1] / 3)
        found = bend.of_floor(line, floored)
        assert found.pvalue == pytest.approx(
            stats.f.sf(ratio, 1, 3) / 2 if floored.parameters["offset"] > 0 else 1.0
        )
        assert not found.steepens
        assert found.seen is (floor > 0)


def test_repeated_sizes_are_compared_with_their_scatter_from_three_repeats_on():
    """The classical lack-of-fit test: means of sizes around the law, over the scatter at one size."""
    sizes = np.repeat(np.geomspace(10, 1e3, 4), 2)
    y = np.exp(0.05 * np.random.default_rng(0).standard_normal(8) - 0.02 * np.log(sizes) ** 2)
    law = sl.laws.fit("power_law", sizes, y, loss="squared")
    r = law.residuals
    means = r.reshape(4, 2).mean(axis=1)
    within = np.sum((r - np.repeat(means, 2)) ** 2)
    expected = stats.f.sf(2 * means @ means / 2 / (within / 4), 2, 4)
    assert law.diagnosis.bend.pvalue == pytest.approx(expected, rel=1e-4)
    assert law.diagnosis.bend.located is False
    two = sl.laws.fit("power_law", sizes[:6], y[:6]).diagnosis.bend
    assert np.isfinite(two.pvalue), "three repeats"
    assert np.isnan(sl.laws.fit("power_law", sizes[:5], y[:5]).diagnosis.bend.pvalue), "two repeats"
    once = sl.laws.fit("power_law", sizes[::2], y[::2]).diagnosis.bend
    assert once.seen is None


def test_a_law_over_eight_sizes_is_tested_for_a_hinge_and_over_seven_is_not():
    x = np.geomspace(10, 1e4, 8)
    y = 3 * x**-0.4 * np.exp(0.02 * np.random.default_rng(1).standard_normal(8))
    assert sl.laws.fit("power_law", x, y).diagnosis.bend.seen is False
    assert sl.laws.fit("power_law", x[:7], y[:7]).diagnosis.bend.seen is None


def runs_of_surface(sizes: int, noise: float = 0.01, bent: float = 0.0, apart: float = 1.0):
    """With apart > 1 no two of one n_params."""
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e7, 1e9, sizes), np.geomspace(1e9, 1e11, sizes)))
    n = n * np.geomspace(1, apart, n.size)
    loss = 1.8 + 480 * n**-0.35 + 2100 * d**-0.37 + bent * np.log(n / 1e8) ** 2
    return n, d, loss * np.exp(noise * np.random.default_rng(5).standard_normal(n.size))


def test_what_rounding_leaves_of_a_law_is_no_bend():
    """Rounded to six digits the exponent of 0.5 changes by 1e-5 over the last three sizes, with p = 0.03."""
    n = 100 * 2.0 ** np.arange(10)
    found = sl.laws.fit("power_law_offset", n, np.round(0.05 + 3 * n**-0.5, 6)).diagnosis.bend
    assert found.pvalue < bend.SIGNIFICANT
    assert found.seen is False
    assert not found.located


@pytest.mark.slow
def test_a_bend_of_a_surface_is_an_f_test_on_its_residuals():
    fitted = surface.fit(*runs_of_surface(5, apart=4.0), delta=np.inf)
    law = fitted.law
    robust = fit_points(law.form, law.points, log=True)
    rest = np.clip(robust.residuals, -robust.delta, robust.delta)
    used = robust.problem.jacobian(robust.coordinates[None])[0]
    u, v = np.log(law.points.x) - np.log(law.points.x).mean(axis=1, keepdims=True)
    more = np.column_stack([used / np.linalg.norm(used, axis=0), u * u, u * v, v * v])
    squares = [
        np.sum((rest - design @ np.linalg.lstsq(design, rest, rcond=None)[0]) ** 2) for design in (used, more)
    ]
    ratio = (rest @ rest - squares[1]) / 3 / (squares[1] / (25 - 8))
    assert squares[0] == pytest.approx(rest @ rest, rel=0.02), "residuals are orthogonal to what was fitted"
    assert fitted.bend.pvalue == pytest.approx(stats.f.sf(ratio, 3, 17), rel=0.05)
    assert fitted.bend.seen is False
    assert surface.fit(*runs_of_surface(5, bent=0.1)).bend.seen is True


@pytest.mark.parametrize("bent", [pytest.param(0.0, marks=pytest.mark.slow), 0.1])
def test_a_surface_says_that_its_residuals_bend_where_they_do(bent: float):
    fitted = surface.fit(*runs_of_surface(5, bent=bent), form="chinchilla")
    cautions = [r.details["of"] for r in fitted.remarks if r.code == "inside"]
    found = [caution.details["why"].code for caution in cautions if caution.code == "lack_of_fit"]
    assert found == ["residuals_bend"] * bool(bent)


def test_offsets_that_runs_of_a_size_share_are_no_bend():
    """Of runs that could share nothing the same offsets are one."""
    offset = np.tile(0.01 * np.array([1, 0, -1, 0.5, -1, 0, 1]), 7)
    for apart, seen in ((1.0, False), (2.0, True)):
        n, d, loss = runs_of_surface(7, noise=0.001, apart=apart)
        assert surface.fit(n, d, loss * np.exp(offset), form="chinchilla").bend.seen is seen


def test_a_surface_of_fifteen_runs_cannot_tell_whether_it_bends():
    runs = runs_of_surface(4)
    assert surface.fit(*runs).bend.seen is not None
    assert surface.fit(*(values[:15] for values in runs)).bend.seen is None
    doubled = surface.fit(*runs, runs=np.repeat(np.arange(8), 2))
    assert doubled.bend.seen is None, "points of one run move together"
