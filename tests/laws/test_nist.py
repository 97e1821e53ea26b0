"""Least squares reproduce the certified answers of NIST's nonlinear regression problems."""

import numpy as np
import pytest
from scipy import stats

import scalinglab as sl
from tests.laws.nist import PROBLEMS, Problem

problems = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)


@problems
def test_data_and_certified_parameters_belong_together(problem: Problem):
    """A mistyped digit in the data or in a parameter changes the sum of squares."""
    residuals = problem.y - problem.function(problem.x, *problem.certified)
    assert np.sum(residuals**2) == pytest.approx(problem.squares, rel=2e-10)


@problems
def test_certified_standard_errors_are_those_of_the_jacobian(problem: Problem):
    """By complex steps, exact to rounding: the reference of the next test is itself checked."""
    values = np.array(problem.certified, complex)
    step = 1e-30
    jacobian = np.array(
        [
            problem.function(problem.x, *(values + 1j * step * np.eye(len(values))[k] * abs(values[k]))).imag
            / (step * abs(values[k].real))
            for k in range(len(values))
        ]
    ).T
    size = np.linalg.norm(jacobian, axis=0)
    variance = problem.squares / (len(problem.y) - len(values))
    inverse = np.linalg.inv((jacobian / size).T @ (jacobian / size))
    found = np.sqrt(variance * np.diag(inverse)) / size
    assert found == pytest.approx(problem.errors, rel=1e-6)


@problems
def test_fit_reproduces_the_certified_parameters(problem: Problem):
    """From both of NIST's starting points, the far one included."""
    law = sl.laws.fit(problem.form, problem.x, problem.y, loss="squared", space="raw")
    found = list(law.parameters.values())
    if problem.name == "MGH17" and found[3] > found[4]:  # two exponentials, which may change places
        found = [found[i] for i in (0, 2, 1, 4, 3)]
    assert found == pytest.approx(problem.certified, rel=1e-5)
    assert 2 * law.objective == pytest.approx(problem.squares, rel=1e-9)
    freedom = len(problem.y) - len(problem.certified)
    assert law.dof == freedom
    assert law.residual_std == pytest.approx(np.sqrt(problem.squares / freedom), rel=1e-9)


@pytest.mark.parametrize("name", ["Misra1a", "Misra1b", "Misra1c", "Misra1d", "DanWood", "MGH10"])
def test_profile_intervals_are_the_certified_errors_where_the_model_is_nearly_linear(name: str):
    problem = next(p for p in PROBLEMS if p.name == name)
    law = sl.laws.fit(problem.form, problem.x, problem.y, loss="squared", space="raw")
    quantile = stats.t.ppf(0.975, len(problem.y) - len(problem.certified))
    for (low, high), error in zip(
        list(law.parameter_intervals.values())[: len(problem.errors)], problem.errors
    ):
        assert (high - low) / 2 == pytest.approx(quantile * error, rel=0.02)
