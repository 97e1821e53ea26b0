"""Every printed interval: one function makes it, of four kinds of distribution."""

import ast
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.laws import schedule
from scalinglab.results import distributions
from scalinglab.results.distributions import OPEN, Draws, Interval, Mixture, Student, interval

SOURCE = Path(distributions.__file__).parents[1]

# --- the four kinds -----------------------------------------------------------------------------------------


def test_draws_are_percentiles_and_an_infinite_one_is_an_open_end():
    assert interval(Draws([1.0, 2.0, np.nan, 3.0])) == pytest.approx((1.05, 2.95))
    assert interval(Draws([1.0, np.inf, np.inf])) == (1.0, np.inf)
    values = np.random.default_rng(0).normal(size=(4000, 2)) * [1.0, 3.0] + [0.0, 5.0]
    low, high = interval(Draws(values), 0.9)
    assert low == pytest.approx(stats.norm.ppf(0.05) * np.array([1, 3]) + [0, 5], abs=0.2)
    assert high == pytest.approx(np.quantile(values, 0.95, axis=0))


def test_weighted_draws_count_as_often_as_their_weight():
    weights = np.array([0.02, 0.08, 0.6, 0.27, 0.03])
    often = np.repeat([5.0, 1.0, 2.0, 4.0, 3.0], np.rint(weights * 1000).astype(int))
    found = interval(Draws(np.array([5.0, 1.0, 2.0, 4.0, 3.0]), weights), 0.9)
    assert found == tuple(np.quantile(often, [0.05, 0.95], method="inverted_cdf"))


def test_draws_over_few_runs_give_a_mean_of_them_students_interval():
    """Resampled means of G values scatter by √(1 − 1/G) of their error and have Gaussian tails."""
    runs, spread = 6, 2.0
    gaussian = (
        spread / np.sqrt(runs) * np.sqrt(1 - 1 / runs) * stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    )
    found = interval(Draws(gaussian, runs=runs), 0.9)
    assert found.high == pytest.approx(stats.t.ppf(0.95, runs - 1) * spread / np.sqrt(runs), rel=2e-3)


def test_student_is_its_two_sided_interval_and_open_without_degrees_of_freedom():
    low, high = interval(Student(np.array([1.0, 2.0]), 0.5, 3), 0.8)
    assert low == pytest.approx(stats.t.ppf(0.1, 3) * 0.5 + np.array([1, 2]))
    assert high == pytest.approx(stats.t.ppf(0.9, 3) * 0.5 + np.array([1, 2]))
    assert interval(Student(1.0, 0.5)) == pytest.approx(stats.norm.interval(0.95, 1, 0.5))
    assert interval(Student(1.0, 0.5, 0)) == OPEN


def test_a_distribution_of_given_ends_has_them_and_scales_with_the_level():
    known = Student.of_ends(0.0, -1.0, 3.0, level=0.9, dof=4)
    assert interval(known, 0.9) == pytest.approx((-1.0, 3.0))
    ratio = stats.t.ppf(0.75, 4) / stats.t.ppf(0.95, 4)
    assert interval(known, 0.5) == pytest.approx((-ratio, 3 * ratio))
    assert interval(known.stretched(2.0), 0.9) == pytest.approx((-2.0, 6.0))
    normal = Student.of_ends(0.0, -1.0, 3.0, level=0.95)
    assert normal.at(stats.norm.ppf([0.025, 0.5, 0.975])) == pytest.approx([-1, 0, 3])
    at = np.linspace(-400, 1200, 400_001)
    assert np.exp(known.log_density(at)).sum() * (at[1] - at[0]) == pytest.approx(1, abs=2e-3)


def test_an_average_of_distributions_has_the_quantiles_of_its_draws():
    parts, weight = Student(np.array([[0.0], [2.0]]), np.array([[1.0], [0.3]]), 5.0), np.array([0.6, 0.4])
    drawn = stats.t.rvs(5, size=(2, 500_000), random_state=0)
    both = np.r_[drawn[0, :300_000], 2 + 0.3 * drawn[1, :200_000]]
    assert np.ravel(interval(Mixture(parts, weight), 0.9)) == pytest.approx(
        np.quantile(both, [0.05, 0.95]), abs=0.02
    )


def test_an_open_end_of_a_part_that_counts_opens_that_of_the_average():
    middle, weight = np.array([[0.0], [0.0]]), np.array([0.5, 0.5])
    parts = Student.of_ends(middle, np.full((2, 1), -1.0), np.array([[np.inf], [1.0]]), level=0.95)
    low, high = interval(Mixture(parts, weight, open_parts=True))
    assert np.isinf(high).all()
    assert low == pytest.approx([-1.0], abs=1e-6)


# --- the function -------------------------------------------------------------------------------------------


def test_ends_are_in_natural_units_within_bounds_and_around_what_they_hold():
    known = Student(np.log(2.0), 0.1)
    low, high = interval(known, natural=np.exp)
    assert np.log([low, high]) == pytest.approx(stats.norm.interval(0.95, np.log(2), 0.1))
    assert interval(known, natural=np.exp, bounds=(0.0, 2.1)) == (low, 2.1)
    assert interval(known, natural=np.exp, bounds=(1.9, np.inf)) == (1.9, high)
    assert interval(Student(1.0, 0.1), holding=2.0).high == 2.0
    assert interval(Student(0.0, 0.1, 0), natural=np.exp) == (0.0, np.inf), "open, of a positive number"


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.5, np.nan])
def test_a_level_outside_zero_and_one_is_refused(level):
    with pytest.raises(BadInput, match="between 0 and 1"):
        interval(Student(0.0, 1.0), level)


def test_the_interval_of_what_follows_is_that_of_the_ends():
    assert Interval(1.0, 4.0).through(np.log2) == (0.0, 2.0)
    assert Interval(1.0, 4.0).through(lambda x: 8 / x) == (2.0, 8.0), "of a falling one, too"
    found = Interval(np.array([1.0, 1.0]), np.array([2.0, np.inf])).through(lambda x: 1 / x)
    assert np.array_equal(found, [[0.5, 0.0], [1.0, 1.0]])
    assert Interval(np.array([1.0, 0.0, 2.0]), np.array([2.0, 1.0, np.inf])).ratio.tolist() == [
        2,
        np.inf,
        np.inf,
    ]


# --- there is no second one ---------------------------------------------------------------------------------


class Calls(ast.NodeVisitor):
    """Calls by name with the function in which they stand."""

    def __init__(self) -> None:
        self.inside, self.found = "", []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        before, self.inside = self.inside, node.name
        self.generic_visit(node)
        self.inside = before

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        self.found.append((name, ast.unparse(node.func), self.inside))
        self.generic_visit(node)


def calls(*names: str) -> set[tuple[str, str]]:
    """(module, function) of every call of these names outside `results.distributions`."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if path.name == "distributions.py" or not any(f"{name}(" in source for name in names):
            continue
        visitor = Calls()
        visitor.visit(ast.parse(source))
        module = path.relative_to(SOURCE).as_posix()
        found |= {(module, inside) for name, _, inside in visitor.found if name in names}
    return found


def test_only_one_module_takes_quantiles_of_distributions_or_draws():
    """Of those that stay none makes an interval: thresholds, knots, starts, and what was measured."""
    quantiles = calls("stdtrit", "ndtri", "fdtri", "ppf", "nanquantile", "percentile", "nanpercentile")
    assert quantiles == {
        ("laws/fitting/uncertainty/diagnostics.py", "of"),  # which hinges the points exclude
    }
    of_arrays = {module for module, _ in calls("quantile")}
    assert of_arrays == {
        "answers/doubts.py",  # a threshold among other runs
        "laws/fitting/uncertainty/intervals.py",
        "laws/fitting/uncertainty/linear.py", "laws/planning/next_runs.py",  # `Solution.quantile`
        "laws/forms/beyond_size.py", "laws/forms/surfaces.py",  # starts of a fit
        "laws/mixing/shares.py",  # the calibration by runs left out
        "laws/planning/three_ways.py",  # where budgets are put
        "measure/margin.py", "train/checkpoints/measuring.py", "theory/perceptron/margins.py",  # of margins
    }  # fmt: skip


def test_intervals_are_made_in_one_module():
    """Elsewhere there is a parameter that is held."""
    assert calls("Interval") == {("laws/fitting/uncertainty/intervals.py", "of_parameters")}


def printed(value: object, key: str = "") -> list[float]:
    """The ends of all intervals of a document: what stands under low and high, and the pairs of intervals."""
    if isinstance(value, dict):
        return [end for name, inner in value.items() for end in printed(inner, name)]
    if key in ("intervals", "interval", "expected") and isinstance(value, list) and len(value) == 2:
        return [end for end in value if isinstance(end, float)]
    if isinstance(value, list):
        return [end for inner in value for end in printed(inner, key)]
    ends = key in ("low", "high") or key.endswith(("_low", "_high"))
    return [float(value)] if ends and isinstance(value, (int, float)) else []


def made(words: list[str]) -> tuple[dict, set[float]]:
    """The document of a command, and all ends that `interval` and `Interval.through` returned meanwhile."""
    codes = {distributions.interval.__code__, Interval.through.__code__, Interval.where.__code__}
    ends: list[np.ndarray] = []

    def watch(frame, event, result):
        if event == "return" and frame.f_code in codes and result is not None:
            ends.extend(np.ravel(end) for end in result)

    sys.setprofile(watch)
    try:
        result = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    finally:
        sys.setprofile(None)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), {float(f"{end:.10g}") for end in np.concatenate(ends)}


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> dict[str, str]:
    rng, found = np.random.default_rng(2), {}
    folder = tmp_path_factory.mktemp("intervals")

    def keep(name: str, **columns: object) -> None:
        found[name] = str(folder / f"{name}.csv")
        pd.DataFrame(columns).to_csv(found[name], index=False)

    x = np.geomspace(1e6, 1e9, 14)
    keep("curve", n_data=x, loss=(1.7 + 60 * x**-0.3) * np.exp(0.003 * rng.standard_normal(14)))
    keep(
        "accuracy", n_data=x, test_accuracy=1 - (0.1 + 6 * x**-0.25) * np.exp(0.003 * rng.standard_normal(14))
    )
    keep("few", n_data=x[::3], loss=(1.7 + 60 * x[::3] ** -0.3) * np.exp(0.002 * rng.standard_normal(5)))
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 3e9, 5), np.geomspace(2e9, 1e11, 5)))
    loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * np.exp(0.003 * rng.standard_normal(25))
    answered = rng.binomial(2000, 0.25 + 0.75 / (1 + np.exp(6 * (loss - 2.5))))
    keep("surface", n_params=n, n_data=d, loss=loss)
    keep("scores", n_params=n, n_data=d, test_loss=loss, accuracy=answered / 2000)
    size, step = (v.ravel() for v in np.meshgrid(np.geomspace(1e7, 1e9, 5), np.linspace(-1.4, 1.4, 7)))
    rate = 1e-3 * (size / 1e8) ** -0.3 * np.exp(step)
    off = np.exp(0.02 * step**2 + 0.001 * rng.standard_normal(35))
    keep("searches", n_params=size, learning_rate=rate, loss=(3 + 40 * size**-0.2) * off)
    shares = rng.dirichlet([2.0, 2.0, 2.0], 24)
    mixed = np.exp(
        0.4 * (shares[:, 0] - 0.4) ** 2 + 0.2 * shares[:, 1] ** 2 + 0.002 * rng.standard_normal(24)
    )
    keep("mixtures", share_a=shares[:, 0], share_b=shares[:, 1], share_c=shares[:, 2], loss=3 * mixed)
    for name, times in (("new", 1.0), ("old", 1.4)):
        compute = np.geomspace(1e18, 1e21, 8)
        keep(name, compute=compute, loss=(1.8 + 300 * (compute / times) ** -0.13) * np.exp(
            0.002 * rng.standard_normal(8)))  # fmt: skip
    plans = {"cosine": schedule.cosine(1e-3, 2000, 100), "constant": schedule.constant(1e-3, 2000, 100)}
    for name, plan in plans.items():
        steps = np.arange(100, 2001, 25)
        rates = plan(steps)
        fall = 2.5 + 0.8 * (np.cumsum(rates) / rates.sum()) ** -0.3 - 0.1 * (1 - rates / 1e-3)
        keep(name, step=steps, lr=rates, loss=fall * np.exp(0.002 * rng.standard_normal(len(steps))))
    return found


COMMANDS = {
    "predict": "predict {curve} --at n_data=3e9 --level 0.8",
    "predict a form": "predict {accuracy} --at n_data=3e9 --form power_law",
    "fit": "laws fit {curve} --x n_data --y loss --form power_law,power_law_offset --at 1e10 --no-figure",
    "few": "predict {few} --at n_data=2e9",
    "bend": "plan bend {curve}",
    "approaches": "plan approaches {surface} --compute 1e22",
    "answer": "answer {surface} --compute 1e22",
    "hyperparameters": "plan hyperparameters {searches} --at n_params=3e9",
    "mixture": "plan mixture {mixtures} --shares share_* --y loss",
    "downstream": "laws downstream {scores} --score accuracy --chance 0.25 --at 6e9,2e11",
    "speedup": "laws speedup {new} {old}",
    "schedule": "laws schedule {cosine} {constant} --predict {cosine}",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_every_printed_interval_was_made_by_the_function(name, tables):
    document, ends = made(COMMANDS[name].format(**tables).split())
    found = printed(document)
    assert found, "no interval is printed"
    strangers = [end for end in found if float(f"{end:.10g}") not in ends]
    assert not strangers, f"of {len(found)} ends"
