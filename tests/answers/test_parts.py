"""Findings on results put in by hand: what is determined, and by which reason it is not."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.answers.curve import find_exponent, find_shape
from scalinglab.answers.result import next_run
from scalinglab.answers.surface import find_optimum
from scalinglab.answers.surface import find_shape as find_surface_shape
from scalinglab.laws import optimum
from scalinglab.laws.fitting import bend as bends
from scalinglab.laws.fitting.data.from_curves import Table
from scalinglab.laws.fitting.data.points import Points
from scalinglab.laws.planning.next_runs import NextRuns
from scalinglab.laws.planning.questions import Straightness, still_power_law
from scalinglab.results import Command, Reason, Status

MORE = Command("report")
NAMES = {"n_params": "parameters", "n_data": "tokens"}

FEW = Reason("no_freedom_left", points=3, parameters=3)
OPEN = Reason("exponent_of_any_size")


def law(y: Any = (4.0, 2.0, 1.0, 0.5), **more: Any) -> Any:
    usual = {
        "points": SimpleNamespace(x=np.array([1.0, 2, 4, 8]), y=np.array(y), sizes=4), "unidentified": None,
        "diagnosis": SimpleNamespace(bend=bends.CANNOT_TELL),
        "parameters": {"exponent": 0.5},
        "parameter_intervals": {"exponent": (0.4, 0.6), "offset": (0.1, 0.2)},
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **more})


FLOOR = {"exponent": 0.5, "offset": 0.1}
BENT_LAW = SimpleNamespace(bend=bends.Bend(0.01, place=3e3))


def bend(straight: bool | None, steepens: bool = False) -> Straightness:
    last, seen = (0.7, "steepens") if steepens else (0.3, "flattens")
    code = {True: "straight", False: seen, None: "bend_hidden"}[straight]
    return Straightness(straight, last - 0.5, last - 0.55, last - 0.45, 0.5, last, 0.01, Reason(code))


SCATTER, UNKNOWN = (1.0, 1.2, 0.9, 1.1), Reason("message", text="three sizes")


@pytest.mark.parametrize(
    ("fitted", "bent", "values", "codes"),
    [
        (law(), UNKNOWN, ["exponent"], ["floor_assumed"]),
        (law(parameters=FLOOR), UNKNOWN, ["exponent", "offset"], []),
        (law(parameters=FLOOR, parameter_intervals={"exponent": (0.4, 0.6), "offset": (0.1, np.inf)}),
         UNKNOWN, ["exponent"], ["floor_open"]),
        (law(unidentified=FEW), UNKNOWN, [], ["exponent_open"]),
        (law(SCATTER, unidentified=FEW), UNKNOWN, [], ["no_fall"]),
        (law((1.0,) * 4, unidentified=OPEN), UNKNOWN, [], ["no_fall"]),
        (law(diagnosis=BENT_LAW), UNKNOWN, [], ["bends_away"]),
        (law(), bend(False, steepens=True), [], ["falls_faster"]),
        (law(), bend(False), ["exponent"], ["floor_assumed"]),
    ],
)  # fmt: skip
def test_an_exponent_is_given_or_a_reason(fitted: Any, bent: Any, values: list[str], codes: list[str]):
    found = find_exponent(fitted, bent, "loss", "n_data", MORE)
    assert list(found.values) == values
    assert [reason.code for reason in found.reasons] == codes
    assert found.status is (Status.DETERMINED if values else Status.NOT_DETERMINED)
    if values:
        assert (found.values["exponent"].low, found.values["exponent"].high) == (0.4, 0.6)


@pytest.mark.parametrize(
    ("fitted", "bent", "verdict", "code"),
    [
        (law(), UNKNOWN, "unknown", "message"),
        (law(SCATTER, unidentified=OPEN), bend(None), "unknown", "no_fall_seen"),
        (law(unidentified=OPEN), bend(None), "unknown", "bend_hidden"),
        (law(), bend(False), "no", "flattens"),
        (law(parameters=FLOOR), bend(False), "with a floor", "flattens"),
        (law(parameters=FLOOR, parameter_intervals={"offset": (0.0, 0.2)}), bend(False),
         "perhaps with a floor", "flattens"),
        (law(parameters=FLOOR), bend(True), "yes", "straight"),
        (law(parameters=FLOOR), bend(False, steepens=True), "no", "steepens"),
        (law(parameters=FLOOR, diagnosis=BENT_LAW), bend(False), "no", "flattens"),
    ],
)  # fmt: skip
def test_whether_it_is_a_power_law(fitted: Any, bent: Any, verdict: str, code: str):
    found = find_shape(fitted, bent, MORE)
    assert (found.facts["verdict"], found.reasons[0].code) == (verdict, code)
    assert found.status is (Status.NOT_DETERMINED if verdict == "unknown" else Status.DETERMINED)


@pytest.mark.slow
def test_the_bend_of_the_answer_is_that_of_its_command():
    x = np.repeat(np.geomspace(500, 16000, 6), 3)
    y = (0.03 + 5 * x**-0.5) * np.exp(0.04 * np.random.default_rng(0).standard_normal(18))
    table = pd.DataFrame({"n_data": x, "test_error": y})
    assert sl.answer(table)["power law"].reasons == (still_power_law(table).reason,)


SPENT = np.array([1e18, 1e20])


@pytest.mark.parametrize(
    ("compute", "far"), [(1e18, False), (0.9e15, True), (1.1e15, False), (0.9e23, False), (1.1e23, True)]
)
def test_a_compute_far_from_the_runs_is_refused(compute: float, far: bool):
    """A hundredfold range reaches a thousand times beyond its ends."""
    reason = optimum.too_far([1e19, compute], SPENT)
    assert (reason is not None) == far
    if reason is not None:
        details = reason.details
        assert (details["smallest"], details["largest"], details["compute"]) == (1e18, 1e20, compute)
        assert details["reach"] == pytest.approx(1e3)
    assert optimum.too_far(1e22, SPENT[1:]) is None, "a hundred times, whatever the range"


def best(compute: float, widest: float = 2.0) -> optimum.Optimal:
    one, size = optimum.Interval(np.array([1e9]), np.array([widest * 1e9])), np.array([1.5e9])
    total = np.array([compute])
    return optimum.Optimal(
        total, size, size, size, one, one, one, size, 0.95, beyond=total / 1e20, below=1e18 / total,
        n_params_median=size, n_data_median=size, loss_median=size,
    )  # fmt: skip


@pytest.mark.parametrize(("compute", "beyond", "below"), [(1e21, 10, 1e-3), (1e17, 1e-3, 10)])
def test_an_optimum_has_how_far_it_is_from_the_runs(compute: float, beyond: float, below: float):
    found = find_optimum(best(compute), 0, NAMES, MORE)
    assert found.facts == {
        "compute": compute, "beyond": pytest.approx(beyond), "below": pytest.approx(below)
    }  # fmt: skip
    ratio = found.values["data_per_param"]  # n d is given: at either end of n, 1.5² / n²
    assert (ratio.low, ratio.high) == pytest.approx((1.5**2 / 2**2, 1.5**2))


def test_an_optimum_beyond_a_factor_of_ten_is_only_a_range():
    assert find_optimum(best(1e20, 9.9), 0, NAMES, MORE).status is Status.DETERMINED
    wide = find_optimum(best(1e20, 10.1), 0, NAMES, MORE)
    assert (wide.status, list(wide.values)) == (Status.RANGE, ["n_params", "n_data", "data_per_param"])
    assert find_optimum(best(1e20, 99.0), 0, NAMES, MORE).status is Status.RANGE
    assert find_optimum(best(1e20, 101.0), 0, NAMES, MORE).status is Status.NOT_DETERMINED
    assumed = find_optimum(best(1e20, 10.1), 0, NAMES, MORE, assumed=best(1e20, 2.0))
    held = assumed.values["n_params_if_the_form_holds"]
    assert (held.value, held.high) == (1.5e9, 2e9)
    far = (Reason("too_far"),)
    assert find_optimum(best(1e20), 0, NAMES, MORE, far).status is Status.NOT_DETERMINED


@pytest.mark.parametrize(
    ("noise", "p", "blocked", "verdict", "code"),
    [
        (1e-13, np.nan, False, "yes", "passes_through"),
        (0.01, 0.5, False, "yes", "follows"),
        (0.01, 0.051, False, "yes", "follows"),
        (0.01, 0.049, False, "not quite", "surface_bends"),
        (0.01, 0.001, False, "not quite", "surface_bends"),
        (0.01, np.nan, False, "unknown", "few_runs_for_a_bend"),
        (0.01, np.nan, True, "unknown", "checkpoints_move_together"),
        (0.2, 0.5, False, "unknown", "mostly_scatter"),
    ],
)
@pytest.mark.parametrize(
    ("widest", "sharing", "weight"), [(0.4, 0.9, 0.6), (0.4, 0.96, 0.6), (0.6, 0.0, 1.0), (0.4, 0.0, 0.4)]
)
def test_whether_a_surface_holds(
    noise: float, p: float, blocked: bool, verdict: str, code: str, widest: float, sharing: float,
    weight: float,
):  # fmt: skip
    points = SimpleNamespace(y=np.exp(np.linspace(0, 1, 16)), blocked=blocked)
    fitted: Any = SimpleNamespace(
        law=SimpleNamespace(rms_residual=noise, points=points), bend=bends.Bend(p),
        parameters={"alpha": 0.3, "beta": 0.3}, sharing=sharing, others_weigh=(),
        weights={"chinchilla": weight, "broken_params": 1 - weight},
        parameter_intervals=lambda: {"alpha": (0.2, 0.4), "beta": (0.2, widest)},
    )  # fmt: skip
    found = find_surface_shape(fitted, MORE)
    if widest > 0.5 and code == "follows":  # wider than the exponent itself
        verdict, code = "unknown", "exponents_too_wide"
    if sharing > 0.95 and code == "follows":  # a bend of n_params is not told from what its runs share
        verdict, code = "unknown", "sizes_move_together"
    if weight < 0.5 and code == "follows":
        verdict, code = "unknown", "another_form_predicts"
    assert (found.facts["verdict"], found.reasons[0].code) == (verdict, code)
    assert found.reasons[0].details.get("scatter", noise) == noise


@pytest.mark.parametrize(("checkpoints", "rises"), [(1, True), (8, False)])
def test_checkpoints_of_one_run_do_not_count_as_runs_that_rise(checkpoints: int, rises: bool):
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e9, 8), np.geomspace(1e8, 1e10, 8)))
    noise = np.exp(0.02 * np.random.default_rng(0).standard_normal(64))
    runs = np.arange(64) // checkpoints
    points = Points(np.array([n, d]), n**-0.1 * d**0.008 * noise, None, np.ones(64), runs, ())
    assert optimum.rises_with(SimpleNamespace(points=points), 1) == rises
    assert not optimum.rises_with(SimpleNamespace(points=points), 0)


@pytest.mark.parametrize("size", [np.nan, 0.0, -1.0])
def test_points_without_a_positive_size_or_a_finite_loss_are_left_out_and_counted(size: float):
    sizes = np.array([[1e6, 1e7, 1e8, 1e9], [1e9, size, 1e9, 1e9]])
    table = Table(sizes, np.array([4.0, 3.5, np.nan, 2.5]), None, np.array(list("abcd")))
    table = replace(table, measured="loss")
    lost = Reason("left_out_value", runs=1, y="loss")
    kept, reasons = table.finite()
    assert kept.y.tolist() == [4.0, 2.5]
    assert reasons == (Reason("left_out_size", points=1), lost)
    one, reasons = replace(table, x=sizes[0], y=np.array([4.0, 3.5, np.inf, 2.5])).finite()
    assert (one.x.tolist(), reasons) == ([1e6, 1e7, 1e9], (lost,))
    assert one.finite() == (one, ())


@pytest.mark.parametrize(("sizes", "codes"), [(5, ["few_dof"]), (6, [])])
def test_a_narrow_interval_of_few_degrees_of_freedom_gets_one_caution(sizes: int, codes: list[str]):
    x = np.geomspace(1e3, 1e6, sizes)
    found = sl.answer({"n_data": x, "test_error": 0.05 + 3 * x**-0.4})
    assert [reason.code for reason in found["ten times"].reasons] == codes
    assert "few_dof" not in [note.code for note in found.notes]


def test_a_plan_has_its_runs_by_column():
    sizes, ends = np.array([[1e7, 2e8], [2e7, 4e8]]), np.array([0.5, 1.0])
    planned = NextRuns(
        variables=("n_params", "n_data"), runs=sizes, index=np.array([0, 1]), seeds=np.array([1, 2]),
        cost=np.array([1e18, 2e18]), target=sizes[1:], prediction=np.array([3.0]), before=1.5, after=ends,
        budget=1e19, covered=(30.0, 20.0),
    )  # fmt: skip
    facts = next_run(planned, NAMES, MORE).facts
    assert facts["runs"][1] == {"n_params": 2e7, "n_data": 4e8, "seeds": 2}
    assert (facts["cost"], facts["unit"], facts["after"]) == (3e18, "FLOPs", 1.0)
    none = replace(planned, runs=sizes[:0], seeds=np.array([]), cost=np.array([]), after=np.array([]))
    assert next_run(none, NAMES, MORE).facts["runs"] == []


@pytest.mark.parametrize(("before", "after", "code", "details"), [
    (0.2, 0.1, "narrows", {"before": 0.2, "after": 0.1,
                            "cost": Reason("its_amount", of=(1e18, "FLOPs"), beyond="")}),
    (0.2, 0.18, "narrows_little", {"saved": pytest.approx(0.1), "needed": pytest.approx(0.2)}),
    (0.001, 0.0005, "narrow_already", {"before": 0.001}),
    (5.0, 1.5, "stays_open", {"size": "n_data", "covered": 20.0}),
    (0.2, None, "nothing_narrows", {"budget": Reason("amount", of=(1e19, "FLOPs"))}),
])  # fmt: skip
def test_a_plan_says_why_no_run_is_worth_it(before: float, after: float | None, code: str, details: dict):
    number = 0 if after is None else 1
    planned = NextRuns(
        variables=("n_params", "n_data"), runs=np.array([[1e7, 2e8]])[:number], index=np.arange(number),
        seeds=np.ones(number, int), cost=np.full(number, 1e18), target=np.array([[1e9, 2e10]]),
        prediction=np.array([3.0]), before=before, after=np.array([after] * number, float), budget=1e19,
        covered=(30.0, 20.0),
    )  # fmt: skip
    (why,) = next_run(planned, NAMES, MORE).reasons
    assert (why, planned.worth_it) == (planned.verdict, code == "narrows")
    assert why.code == code
    assert why.details.items() >= details.items()
