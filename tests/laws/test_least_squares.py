"""The fitting problem: residuals, derivatives, linear parts and steps, each against NumPy or SciPy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, special

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.laws import Parameter, forms
from scalinglab.laws.fitting import fit as fitting
from scalinglab.laws.fitting import least_squares as ls
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.solution import problem_of
from scalinglab.laws.forms.base import Form
from scalinglab.results import Reason

RNG = np.random.default_rng(0)
X = np.geomspace(10, 1e4, 9)
Y = (0.1 + 3 * X**-0.5) * np.exp(0.05 * RNG.standard_normal(9))
WEIGHT, COUNT = RNG.uniform(0.5, 2, 9), np.array([1.0, 2, 0, 1, 1, 3, 1, 1, 2])
FORM = forms.get("power_law_offset")
# np.clip is no step whose slope is known
BY_DIFFERENCES = replace(FORM, function=lambda *given: np.clip(FORM.function(*given), 0.0, np.inf))


def problem(log=True, delta=np.inf, form=FORM, **more):
    return ls.Problem(form, X, Y[None], WEIGHT[None], COUNT[None], log, delta, **more)


AT = np.array([[0.08, np.log(2.5), 0.45]])  # offset, ln amplitude, exponent


def curve(z):
    return z[0] + np.exp(z[1]) * X ** -z[2]


@pytest.mark.parametrize("log", [True, False])
def test_residuals_objective_and_jacobian(log):
    given = problem(log, delta=0.1)
    r = WEIGHT * (np.log(curve(AT[0]) / Y) if log else curve(AT[0]) - Y)
    r = np.where(COUNT > 0, r, 0)
    assert given.residuals(AT)[0] == pytest.approx(r)
    assert given.objective(given.residuals(AT))[0] == pytest.approx(COUNT @ special.huber(0.1, r))
    assert problem(log).objective(given.residuals(AT))[0] == pytest.approx(COUNT @ r**2 / 2)

    def weighted(z):
        return WEIGHT * (np.log(curve(z)) if log else curve(z))

    slopes = np.array([optimize.approx_fprime(AT[0], lambda z, i=i: weighted(z)[i], 1e-7) for i in range(9)])
    assert given.jacobian(AT)[0] == pytest.approx(slopes, rel=1e-4)
    without = problem(log, form=BY_DIFFERENCES)
    seen = COUNT > 0
    assert without.jacobian(AT)[0][seen] == pytest.approx(slopes[seen], rel=1e-4)
    assert given.unit == (1.0 if log else pytest.approx(np.median(Y)))
    assert given.robust
    assert not problem(log).robust


def test_a_curve_that_is_not_defined_has_infinite_residuals():
    r = problem().residuals(np.array([[-5.0, 0.0, 0.5]]))
    assert np.isinf(r[0][COUNT > 0]).all()
    assert problem().objective(r)[0] == np.inf


def test_differences_at_a_bound_step_inwards():
    given = problem(form=BY_DIFFERENCES)
    z = np.array([[0.0, np.log(2.5), 0.45]])  # the offset at its lower bound
    assert given.jacobian(z)[0][COUNT > 0] == pytest.approx(problem().jacobian(z)[0][COUNT > 0], rel=1e-4)


def test_coordinates_are_logarithms_where_the_form_says_so():
    given = problem()
    assert given.logs.tolist() == [False, True, False]
    assert given.to_parameters(AT)[0] == pytest.approx([0.08, 2.5, 0.45])
    assert given.to_coordinates(given.to_parameters(AT)) == pytest.approx(AT)
    low, high = given.bounds
    assert (low[0], low[2], high[2]) == (0.0, 0.0, 20.0)
    assert low[1] < -600
    assert given.natural_scale[:2] == pytest.approx([np.median(Y), 1.0])
    assert given.natural_scale[2] == pytest.approx(max(FORM.parameters[2].starts(X, Y)))


def test_priors_and_penalties_are_further_residuals():
    prior = tuple(replace(p, prior=(0.5, 0.1)) if p.name == "exponent" else p for p in FORM.parameters)
    given = problem(form=replace(FORM, parameters=prior), noise=0.03, delta=0.01)
    r = given.residuals(AT)[0]
    assert r[9] == pytest.approx(0.03 * (0.45 - 0.5) / 0.1)
    assert given.pseudo == 1
    assert given.counts[0, 9] == 1
    assert given.thresholds.tolist() == [0.01] * 9 + [np.inf]
    assert given.objective(given.residuals(AT))[0] == pytest.approx(
        COUNT @ special.huber(0.01, r[:9]) + r[9] ** 2 / 2
    )
    assert given.jacobian(AT)[0][9] == pytest.approx([0, 0, 0.3], abs=1e-6)
    assert problem(form=replace(FORM, parameters=prior)).pseudo == 0, "without noise no prior counts"
    penalty = ls.Penalty(lambda values, rows: values[:, 2] ** 2, np.array([0.3]), np.array([4.0]))
    held = replace(given, penalty=penalty)
    assert held.residuals(AT)[0][9] == pytest.approx(2 * (0.45**2 - 0.3))
    assert held.jacobian(AT)[0][9] == pytest.approx([0, 0, 4 * 0.45], rel=1e-5, abs=1e-6)
    assert held.pseudo == 2


def test_prior_on_an_exponent_is_ridge_regression():
    """ln y = ln A − c ln x with a Gaussian prior of c: the normal equations with one more row."""
    y = 3 * X**-0.5 * np.exp(0.05 * RNG.standard_normal(9))
    law = sl.laws.fit("power_law", X, y, loss="squared", priors={"exponent": (0.8, 0.02)})
    design = np.column_stack([np.ones(9), -np.log(X)])
    rows = np.vstack([design, [0, law.noise / 0.02]])
    expected = np.linalg.lstsq(rows, np.r_[np.log(y), law.noise * 0.8 / 0.02], rcond=None)[0]
    assert law.exponent == pytest.approx(expected[1], rel=1e-6)
    assert np.log(law.parameters["amplitude"]) == pytest.approx(expected[0], rel=1e-6)
    assert law.dof == 9 - 2 + 1


def test_linear_parameters_are_those_of_bounded_least_squares():
    nodes = np.array([[1.0, 1.0, c] for c in (0.05, 0.3, 0.5, 1.0, 3.0)])
    for log in (True, False):
        given = replace(problem(log), count=np.ones((1, 9)))
        found = ls.project(given, nodes, [0, 1])
        scale = WEIGHT / (Y if log else 1)
        for c, (offset, amplitude, kept) in zip(nodes[:, 2], found, strict=True):
            design = np.column_stack([np.ones(9), X**-c]) * scale[:, None]
            expected = optimize.lsq_linear(design, Y * scale, bounds=(0, np.inf), tol=1e-14).x
            typical = np.median(Y) / np.median(X**-c)
            assert offset == pytest.approx(expected[0], abs=1e-6)
            assert amplitude == pytest.approx(max(expected[1], 1e-4 * typical), rel=1e-5)
            assert kept == c


def test_best_nodes_of_the_grid_come_first():
    given = replace(problem(), count=np.maximum(COUNT, 1)[None])
    z = ls.grid_starts(given, keep=5)
    cost = [given.objective(given.residuals(row[None]))[0] for row in z]
    assert len(z) == 5
    assert cost == sorted(cost)
    every = ls.grid_starts(given, keep=1000)
    assert len(every) == len(FORM.parameters[2].starts(X, Y))
    assert len(ls.grid_starts(given, keep=1000, most=4)) == 4


@pytest.mark.parametrize("bounds", [((-10, 10), (-1, 1)), ((-10, 0.3), (-1, 1)), ((-10, 10), (-1e-5, 1)),
                                    ((0.6, 10), (-1, 1)), ((-10, 10), (-1, -1e-3))])  # fmt: skip
def test_a_linear_problem_is_solved_in_three_steps_within_its_bounds(bounds):
    """A straight line in raw values, from a start at bounds or beside them."""
    a, b = (Parameter(name, *ends) for name, ends in zip("ab", bounds, strict=True))
    linear = Form("line", "a + b x", (a, b), lambda x, a, b: a + b * x)
    given = ls.Problem(linear, X, Y[None], WEIGHT[None], COUNT[None], log=False)
    root = WEIGHT * np.sqrt(COUNT)
    design = np.column_stack([np.ones(9), X]) * root[:, None]
    expected = optimize.lsq_linear(design, Y * root, bounds=np.transpose(bounds), tol=1e-14)
    found = ls.minimise(given, given.to_coordinates(np.array([[0.3, -1e-5]])), iterations=3)
    assert given.to_parameters(found.z)[0] == pytest.approx(expected.x, rel=1e-5)
    assert found.objective[0] == pytest.approx(expected.cost, rel=1e-5)


def test_many_data_sets_are_fitted_at_once_and_huber_to_its_minimum():
    sets = np.stack([Y, 2 * Y, Y[::-1] * 0 + 3 * X**-0.2 + 0.3])
    given = ls.Problem(FORM, X, sets, np.ones((1, 9)), np.ones((1, 9)))
    found = ls.minimise(given, np.tile(AT, (3, 1)))
    assert found.converged.all()
    assert given.to_parameters(found.z)[1][1] == pytest.approx(
        2 * given.to_parameters(found.z)[0][1], rel=1e-4
    )
    assert given.to_parameters(found.z)[2] == pytest.approx([0.3, 3, 0.2], rel=1e-4)
    robust = replace(given, y=sets[:1], delta=1e-3)
    rough = ls.minimise(robust, AT, iterations=5)
    (cost,) = ls.minimise_together(robust, rough.z, 1e-13).objective
    assert cost <= rough.objective[0]
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    reference = min(
        optimize.minimize(
            lambda z: robust.objective(robust.residuals(z[None]))[0], rough.z[0] * near, method="Nelder-Mead",
            options=options,
        ).fun
        for near in (1.0, 1.001)
    )  # fmt: skip
    assert cost == pytest.approx(reference, rel=1e-5)


# --- around the minimum ----------------------------------------------------------------------------------


def test_scale_and_condition_of_a_fit():
    data = points.check(X, Y)
    robust = replace(problem_of(FORM, data, True, 0.05), count=COUNT[None])
    r = robust.residuals(AT)[0]
    inside = np.average(np.abs(r) <= 0.05, weights=COUNT)
    assert 0 < inside < 1
    expected = COUNT @ np.clip(r, -0.05, 0.05) ** 2 / 6 / inside * (1 + 3 / 9 * (1 - inside) / inside)
    assert fitting.scale_of(robust, AT[0], 6) == pytest.approx(expected)
    assert np.isnan(fitting.scale_of(robust, AT[0], 0))
    columns = RNG.standard_normal((9, 3)) * [1, 100, 1e-3]
    scaled = columns / np.linalg.norm(columns, axis=0)
    assert fitting.condition_of(columns) == pytest.approx(np.linalg.cond(scaled))
    assert fitting.condition_of(np.zeros((9, 0))) == 1.0
    assert fitting.condition_of(np.column_stack([columns[:, :2], np.zeros(9)])) == np.inf


def test_points_are_ordered_counted_and_refused_with_a_reason():
    found = points.check([30, 10, 20, 10], [0.3, 0.1, 0.2, 0.1], weights=[1, 1, 1, 2], error=[3, 1, 2, 1])
    assert found.x.tolist() == [10, 10, 20, 30]
    assert found.weight.tolist() == [1, 2, 1, 1]
    assert found.error.tolist() == [1, 1, 2, 3]
    assert (found.sizes, found.blocked) == (3, False)
    assert found.notes == (Reason("copied_points", points=1),)
    assert points.check([30, 10, 10], [0.3, 0.1, 0.1], runs=["a", "b", "c"]).notes == ()
    assert points.check([30, 10, 20], [0.3, 0.1, 0.1], runs=["a", "b", "a"]).blocked
    kept = points.check([1, 2, 3, 4, 5], [0.1, np.nan, 0.0, np.inf, 0.3], nan_policy="drop")
    assert kept.x.tolist() == [1, 5]
    infinite, missing = Reason("value_infinite", name="y"), Reason("value_missing", name="y")
    why = (Reason("value_not_positive", name="y", value=0.0), infinite, missing)
    assert kept.notes == (Reason("dropped", dropped=3, points=5, why=why),)
    assert points.check([1, 2, 3], [0.1, 0.2, -0.3], log=False).y.tolist() == [0.1, 0.2, -0.3]
    left = points.check([1, 2, 3], [0.1, 0.2, 0.3], weights=[1, 0, 1])
    assert left.x.tolist() == [1, 3]
    for x, y, options, said in (
        ([1, 2], [1, 2], {"weights": [1, -1]}, "the smallest is -1"),
        ([1, 2], [1, 2], {"weights": [0, 0]}, "every weight is 0"),
        ([1, 2], [1, 2], {"error": [1, 0]}, "error = 0 is not positive"),
        ([5, 5], [1, 2], {}, "all 2 points have the same size, x = 5"),
        ([], [], {}, "no points"),
        ([1, 2, 3], [1, 2], {}, "x has 3 values and y has 2"),
        ([0, 2], [1, 2], {}, "x = 0 is not positive"),
    ):
        with pytest.raises(BadInput, match=said):
            points.check(x, y, **options)
    pair = points.check(([0, 1, 2], [1, 2, 3]), [1, 2, 3], names=("a", "b"), zeros=("a",))
    assert pair.x.shape == (2, 3)
    points.positive(n=[1, 2], m=3)
    for wrong in (0, -1, np.inf, np.nan):
        with pytest.raises(BadInput, match="positive and finite"):
            points.positive(n=[1, wrong])


def test_descent_goes_on_where_a_parameter_has_hardly_any_effect():
    """Its steps are so long that they fail far from a minimum: that is no convergence."""
    both = (Parameter("a", 0.0, log=True), Parameter("c", 0.0, 5.0), Parameter("b", 0.0, log=True))
    hidden = Form("hidden", "a x^-c + b", both, lambda x, a, c, b: a * x**-c + b)
    one = np.ones((1, X.size))
    given = ls.Problem(hidden, X, (2 * X**-0.5 + 1e-3)[None], one, one, log=False)
    start = given.to_coordinates(np.array([[0.5, 0.8, 1e-6]]))
    reached = ls.minimise(given, start)
    assert reached.objective[0] < 1e-12
    assert given.to_parameters(reached.z)[0] == pytest.approx([2, 0.5, 1e-3], rel=1e-4)


def test_a_curved_valley_is_followed_to_its_end_from_every_start():
    """M4 with its paper's amplitude: two of these four starts need more than 100 straight steps."""
    m4, x = forms.get("m4"), np.geomspace(300, 3e5, 60)
    published = replace(
        m4,
        function=lambda x, low, span, s, a, c: m4.function(x, low, span, s, a * span**s, c),
        complete=lambda x, y, at: {
            "amplitude": m4.complete(x, y, at)["amplitude"] / at["span"] ** at["shape"]
        },
    )
    noise, one = np.exp(0.005 * np.random.default_rng(0).standard_normal(60)), np.ones((1, 60))
    y = published(x, 0.05, 0.9, 1.2, 3.0, 0.4) * noise
    given = ls.Problem(published, x, y[None], one, one)
    reached = ls.minimise(given, ls.grid_starts(given, 4), iterations=100)
    assert reached.converged.all()
    assert reached.objective == pytest.approx(np.full(4, reached.objective.min()), rel=1e-6)


def test_descent_goes_on_where_a_parameter_has_no_effect_that_differences_resolve():
    """Repeated data without a floor: at this start A moves the curve by 1e-11; SciPy reaches the same."""
    form = forms.get("data_constrained").bounded({"E": (0.0, 0.0)})
    grid = np.meshgrid((1e7, 1e8, 1e9), (2e9, 1e10, 5e10), (1e8, 1e9, 2e10), indexing="ij")
    x = np.array([axis.ravel() for axis in grid])
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(x.shape[1]))
    truth, one = np.array([31.0, 940.0, 0.13, 0.3, 60.0, 30.0]), np.ones((1, x.shape[1]))
    given = ls.Problem(form, x, (form(x, *truth) * noise)[None], one, one)
    start = given.to_coordinates(np.array([[5.4, 254.0, 0.1, 0.25, 3.0, 3.0]]))
    assert np.linalg.norm(given.jacobian(start)[0][:, 0]) < 1e-9
    best = optimize.least_squares(
        lambda z: given.residuals(z[None])[0], given.to_coordinates(truth), bounds=given.bounds,
        x_scale="jac", xtol=1e-12, ftol=1e-14,
    )  # fmt: skip
    assert ls.minimise(given, start).objective[0] == pytest.approx(best.cost, rel=1e-6)
