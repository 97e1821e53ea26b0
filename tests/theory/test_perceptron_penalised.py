"""Perceptrons with other losses: against ridge regression, fixed norms, maximal stability, and draws."""

import math

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.simulate.perceptron import penalised as drawn
from scalinglab.theory import kernel, perceptron
from scalinglab.theory.dmft.white import WHITE

STRUCTURED = sl.Spectrum.power_law(1.5, 1.25, 200)


@pytest.mark.parametrize("load", [0.5, 5.0])
def test_logistic_students_are_those_of_fixed_norm(load: float) -> None:
    found = perceptron.penalised(WHITE, load, [1.0, 0.01])
    assert found.error == pytest.approx(perceptron.fixed_norm(load, found.field / 2).error, rel=1e-9)


def test_hinge_without_a_ridge_is_maximal_stability() -> None:
    found = perceptron.penalised(WHITE, 5.0, 1e-4, "hinge")
    known = perceptron.max_stability(5.0)
    assert float(found.error) == pytest.approx(float(known.error), rel=1e-8)
    assert 1 / float(found.field) == pytest.approx(float(known.stability), rel=1e-8)
    assert float(found.train_error) < 1e-9


def test_square_loss_is_ridge_regression() -> None:
    """A linear target of power c²ρ and noise 1 − c²ρ, c the slope of the labels in the teacher's field."""
    ridges, noise, flips, n = np.array([1.0, 0.1, 0.01]), 0.4, 0.1, 80
    found = perceptron.penalised(STRUCTURED, n, ridges, "square", noise, flips)
    power = STRUCTURED.target_power.sum()
    c = (1 - 2 * flips) * math.sqrt(2 / (math.pi * (power + noise**2)))
    linear = sl.Spectrum(STRUCTURED.eigenvalues, c**2 * STRUCTURED.target_power)
    known = kernel.learning_curve(linear, n, n * ridges, math.sqrt(1 - c**2 * power)).loss
    square = 1 - 2 * c * found.overlap * found.field * math.sqrt(power) + found.field**2
    assert square == pytest.approx(known, rel=1e-9)


@pytest.mark.slow
def test_random_labels_are_separable_up_to_two_examples_a_weight() -> None:
    """Cover: below, the norm grows without end as the ridge falls; above, logistic regression has an end."""
    below, above = (perceptron.penalised(WHITE, load, [1e-3, 1e-5], flips=0.5) for load in (1.6, 2.5))
    assert below.norm[1] > 2 * below.norm[0]
    assert below.train_error[1] < 1e-9
    assert above.norm[1] < 1.1 * above.norm[0]
    assert above.train_error[1] > 0.1
    assert above.error == pytest.approx(0.5)


@pytest.mark.slow
def test_flipped_labels_make_large_norms_worse() -> None:
    clean, flipped = (perceptron.penalised(WHITE, 5.0, [0.1, 1e-4], flips=p).error for p in (0.0, 0.1))
    assert clean[1] < clean[0]
    assert flipped[1] > flipped[0]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"loss": "zero-one"}, "no loss"), ({"ridge": 0.0}, "ridge"), ({"flips": 0.6}, "flips"),
     ({"noise": -1}, "noise"), ({"n_data": 0}, "n_data"),
     ({"spectrum": sl.Spectrum(np.ones(2), np.zeros(2))}, "no teacher")],
)  # fmt: skip
def test_bad_settings_say_what_is_wrong(wrong: dict, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        perceptron.penalised(**{"spectrum": WHITE, "n_data": 2.0, "ridge": 0.1, **wrong})


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss",
    ["square", "hinge", *(pytest.param(k, marks=pytest.mark.nightly) for k in ("logistic", "exponential"))],
)
def test_against_drawn_students(loss: str) -> None:
    ridges, setting = np.array([0.1, 0.01]), (loss, 0.3, 0.05)
    solved = perceptron.penalised(STRUCTURED, 150, ridges, *setting)
    draws = drawn(STRUCTURED, 150, ridges, *setting, draws=30).frame.groupby("ridge")
    for name in ("test_error", "norm", "train_loss", "train_error"):
        mean, error = (getattr(draws[name], kind)().to_numpy()[::-1] for kind in ("mean", "sem"))
        exact = solved.error if name == "test_error" else getattr(solved, name)
        assert np.all(np.abs(mean - exact) < 4 * error + 0.01 * exact), name
        assert np.all(error < 0.1 * exact), name
