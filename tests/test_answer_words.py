"""Sentences of the answers, on results put in by hand."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scalinglab.answers import curve, surface, words
from scalinglab.errors import BadInput
from scalinglab.laws import optimum
from scalinglab.laws.fitting.data.from_curves import Table
from scalinglab.laws.planning.questions import Bend, still_power_law


@pytest.mark.parametrize(
    ("value", "unit", "name", "said"),
    [
        (2e7, "parameters", "n_params", "20M parameters"), (128.0, "width", "width", "width 128"),
        (1e6, "tokens", "tokens", "1M tokens"), (10.4, "examples", "n_data", "10 examples"),
        (4.47, "examples", "n_data", "4 examples"),
        (9.6, "epochs", "epoch", "9.6 epochs"),
    ],
)  # fmt: skip
def test_a_size_in_words(value: float, unit: str, name: str, said: str):
    assert words.sized(value, unit, name) == said


@dataclass(frozen=True)
class Planned:
    """What `next_runs` returns, as far as a sentence says it."""

    runs: Any
    seeds: tuple[int, ...]
    worth_it: bool = True
    variables: tuple[str, ...] = ("n_params", "n_data")
    unit: str = "FLOPs"
    verdict: str = "worth it: a fifth narrower"
    quantity: str = ""


def test_the_next_runs_are_named_up_to_three_with_their_seeds():
    runs = np.array([[1e7, 2e8], [2e7, 4e8], [3e7, 6e8], [4e7, 8e8], [5e7, 1e9]])
    found, said = words.next_sentence(lambda: Planned(runs, (1, 2, 1, 1, 1)), "tokens")
    assert said == (
        "Next: 10M parameters on 200M tokens, then 20M parameters on 400M tokens (2 seeds), then 30M "
        "parameters on 600M tokens, then 2 more. Worth it: a fifth narrower."
    )
    assert found is not None
    assert found.unit == "FLOPs"
    three = Planned(runs[:3], (1, 1, 1), worth_it=False, verdict="not worth it: too little")
    said = words.next_sentence(lambda: three, "tokens")[1]
    assert said.startswith(
        "Not worth it: too little. The best would be 10M parameters on 200M tokens, then 20M"
    )
    assert "more" not in said


@pytest.mark.parametrize(("unit", "kept"), [("examples", "examples"), ("width", "")])
def test_a_cost_is_named_where_sizes_add_up(unit: str, kept: str):
    one = Planned(np.array([[500.0]]), (1,), variables=("x",), unit="units of x")
    found, said = words.next_sentence(lambda: one, unit, "width", "1 - accuracy")
    assert found is not None
    assert (found.unit, found.quantity) == (kept, "1 - accuracy")
    assert said.startswith("Next: 500 examples." if kept else "Next: width 500.")


def test_no_run_and_no_plan_are_said_too():
    none = Planned(np.zeros((0, 2)), (), verdict="nothing helps")
    assert words.next_sentence(lambda: none, "tokens")[1] == "Nothing helps."

    def refused() -> Any:
        raise BadInput("too few runs. ")

    assert words.next_sentence(refused, "tokens") == (None, "Next run not determined: too few runs.")


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.1, np.inf, "that these points do not determine"), (0.1, 0.2, "between 0.1 and 0.2"),
     (0.1001, 0.1002, "of 0.1")],
)  # fmt: skip
def test_a_floor_in_words(low: float, high: float, said: str):
    assert curve._range(low, high) == said


def law(y: Any = (4.0, 2.0, 1.0, 0.5), **more: Any) -> Any:
    usual = {
        "points": SimpleNamespace(x=np.array([1.0, 2, 4, 8]), y=np.array(y), sizes=4), "unidentified": "",
        "diagnosis": SimpleNamespace(bent=None, break_at=3000.0), "exponent": 0.5,
        "parameters": {"scale": 1.0},
        "parameter_intervals": {"exponent": (0.4, 0.6), "offset": (0.1, 0.2)},
    }  # fmt: skip
    return SimpleNamespace(**{**usual, **more})


def bend(straight: bool | None, steepens: bool = False) -> Bend:
    last = 0.7 if steepens else 0.3
    return Bend(straight, last - 0.5, -1.0, 1.0, 0.5, last, 0.01, "no bend is seen")


SCATTER = (1.0, 1.2, 0.9, 1.1)


@pytest.mark.parametrize(
    ("fitted", "bent", "said"),
    [
        (law(), "unknown.", "loss falls as the power 0.500 of n_data (95 %: 0.400 to 0.600), if it has no "
         "floor, which 4 sizes do not show."),
        (law(parameters={"offset": 0.1}), "unknown.",
         "0.600), towards a floor between 0.1 and 0.2, if this form holds all the way."),
        (law(unidentified="three sizes"), "unknown.", "is not determined: three sizes."),
        (law(SCATTER, unidentified="three sizes"), "unknown.", "loss does not fall with n_data"),
        (law((1.0,) * 4, unidentified="flat"), "unknown.", "loss does not fall with n_data"),
        (law(diagnosis=SimpleNamespace(bent="yes", break_at=3000.0)), "unknown.", "near n_data = 3k."),
        (law(), bend(False, steepens=True), "loss falls faster and faster with n_data"),
    ],
)  # fmt: skip
def test_the_exponent_in_words(fitted: Any, bent: Any, said: str):
    refused = curve._no_exponent(fitted, bent, "loss", "n_data")
    assert said in (refused or curve._exponent(fitted, "loss", "n_data"))


@pytest.mark.parametrize(
    ("fitted", "bent", "said"),
    [
        (law(), "three sizes.", "Cannot tell: three sizes."),
        (law(SCATTER, unidentified="flat"), bend(None), "Cannot tell: no fall is seen."),
        (law(unidentified="flat"), bend(None), "No bend is seen."),
        (law(), bend(False), "No bend is seen."),
        (law(parameters={"offset": 0.1}), bend(False), "With a floor, yes. Without one, no bend is seen."),
        (
            law(parameters={"offset": 0.1}, parameter_intervals={"offset": (0.0, 0.2)}),
            bend(False),
            "With a floor, yes. Without one, probably not bend is seen.",
        ),
        (law(parameters={"offset": 0.1}), bend(True), "No bend is seen."),
        (law(parameters={"offset": 0.1}), bend(False, steepens=True), "No bend is seen."),
        (
            law(parameters={"offset": 0.1}, diagnosis=SimpleNamespace(bent="yes")),
            bend(False),
            "No bend is seen.",
        ),
    ],
)
def test_whether_it_is_a_power_law_in_words(fitted: Any, bent: Any, said: str):
    assert curve._straight(fitted, bent) == said


def test_the_bend_of_the_answer_is_that_of_its_command():
    x = np.repeat(np.geomspace(500, 16000, 6), 3)
    y = (0.03 + 5 * x**-0.5) * np.exp(0.04 * np.random.default_rng(0).standard_normal(18))
    assert curve._bend(x, y) == still_power_law(pd.DataFrame({"n_data": x, "test_error": y}))


SPENT = np.array([1e18, 1e20])


@pytest.mark.parametrize(
    ("compute", "far"), [(1e18, False), (0.9e15, True), (1.1e15, False), (0.9e23, False), (1.1e23, True)]
)
def test_a_compute_far_from_the_runs_is_refused(compute: float, far: bool):
    """A hundredfold range reaches a thousand times beyond its ends."""
    said = optimum.too_far([1e19, compute], SPENT)
    assert bool(said) == far
    assert not far or f"runs of 1e+18 to 1e+20 FLOPs do not determine the best model at {compute:.3g}" in said
    assert not optimum.too_far(1e22, SPENT[1:]), "a hundred times, whatever the range"


def best(compute: float) -> optimum.Optimal:
    one, size = optimum.Interval(np.array([1e9]), np.array([2e9])), np.array([1.5e9])
    total = np.array([compute])
    return optimum.Optimal(
        total, size, size, size, one, one, one, size, 0.95, beyond=total / 1e20, below=1e18 / total
    )


@pytest.mark.parametrize(
    ("compute", "said"),
    [
        (1e21, "10 times the largest run"),
        (1e17, "10 times less than the smallest run"),
        (1e19, "FLOPs: 1.5B"),
    ],
)
def test_an_optimum_says_how_far_it_is_from_the_runs(compute: float, said: str):
    assert said in surface._optimal(best(compute), 0, "tokens")
    assert ("less than the smallest compute measured" in best(compute).summary()) == (compute < 1e18)
    assert "1 n_data per parameter" in best(compute).summary()


@pytest.mark.parametrize(
    ("noise", "p", "said"),
    [
        (1e-13, np.nan, "Yes: a sum of two power laws passes through every run."),
        (
            0.01,
            0.5,
            "Yes: a sum of two power laws follows the runs within 1.2 % (standard deviation), and no",
        ),
        (
            0.01,
            0.03,
            "Probably: a sum of two power laws follows the runs within 1.2 % (standard deviation), but",
        ),
        (0.01, 0.001, "Not quite: residuals of 1.2 % bend with size (p = 0.001)"),
        (
            0.01,
            np.nan,
            "Cannot tell: the runs scatter by 1.2 % around a sum of two power laws; 16 runs do not",
        ),
        (
            0.2,
            0.5,
            "Cannot tell: the runs scatter by 24 % around a sum of two power laws, and differ by no more",
        ),
    ],
)
def test_whether_a_surface_holds_in_words(noise: float, p: float, said: str):
    """The scatter of residuals of ± 1 with 16 - 5 degrees of freedom is 1.2."""
    y = np.exp(np.linspace(0, 1, 16))
    points = SimpleNamespace(y=y, blocked=False)
    fitted: Any = SimpleNamespace(
        law=SimpleNamespace(rms_residual=noise * np.sqrt(16 / 11), points=points), bend_pvalue=p,
        parameters={"alpha": 0.3, "beta": 0.3},
        parameter_intervals=lambda: {"alpha": (0.2, 0.4), "beta": (0.2, 0.4)},
    )  # fmt: skip
    assert surface._follows(fitted).startswith(said)


@pytest.mark.parametrize(("checkpoints", "rises"), [(1, True), (8, False)])
def test_checkpoints_of_one_run_do_not_count_as_runs_that_rise(checkpoints: int, rises: bool):
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e9, 8), np.geomspace(1e8, 1e10, 8)))
    noise = np.exp(0.02 * np.random.default_rng(0).standard_normal(64))
    points = SimpleNamespace(
        x=np.array([n, d]), y=n**-0.1 * d**0.008 * noise, runs=np.arange(64) // checkpoints
    )
    assert optimum.rises_with(SimpleNamespace(points=points), 1) == rises
    assert not optimum.rises_with(SimpleNamespace(points=points), 0)


@pytest.mark.parametrize("size", [np.nan, 0.0, -1.0])
def test_points_without_a_positive_size_or_a_finite_loss_are_left_out_and_counted(size: float):
    sizes = np.array([[1e6, 1e7, 1e8, 1e9], [1e9, size, 1e9, 1e9]])
    table = Table(sizes, np.array([4.0, 3.5, np.nan, 2.5]), None, np.array(list("abcd")))
    kept, said = words.finite(table, "loss")
    assert kept.y.tolist() == [4.0, 2.5]
    assert said == " Left out: 1 point without a positive size. Left out: 1 run without a finite loss."
    one, said = words.finite(replace(table, x=sizes[0], y=np.array([4.0, 3.5, np.inf, 2.5])), "loss")
    assert one.x.tolist() == [1e6, 1e7, 1e9]
    assert said == " Left out: 1 run without a finite loss."
    assert words.finite(one, "loss") == (one, "")


@pytest.mark.parametrize(("dof", "said"), [
    (1, " 4 runs leave 1 degree of freedom for their scatter: repeat sizes with other seeds before"),
    (2, " 4 runs leave 2 degrees of freedom for their scatter"), (3, ""),
])  # fmt: skip
def test_a_narrow_interval_of_few_degrees_of_freedom_gets_a_caution(dof: int, said: str):
    law: Any = SimpleNamespace(dof=dof, points=SimpleNamespace(y=np.ones(4)))
    found = curve._caution(law)
    assert found.startswith(said)
    assert bool(found) == bool(said)
