"""Nonlinear random features: closed forms of their parts, limits, drawn features."""

import math

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.simulate.random_features import NonlinearPool, sweep
from scalinglab.theory import dmft, kernel, nonlinear_features, random_features

MODES = np.arange(1, 201.0)
INPUTS = sl.Spectrum(MODES**-0.5 / np.sum(MODES**-0.5), MODES**-1.0 / np.sum(MODES**-1.0))


def relu(h: np.ndarray) -> np.ndarray:
    return np.maximum(h, 0)


def test_parts_in_closed_form() -> None:
    assert nonlinear_features.parts(relu, 2.0) == pytest.approx((1.0, 1.0 - 2 / math.pi), rel=1e-9)
    linear, rest = nonlinear_features.parts(lambda h: h**3, 1.0)  # g³ = 3g + (g³ − 3g), of variance 6
    assert (linear, rest) == pytest.approx((9, 6), rel=1e-9)


def test_linear_features_are_the_inputs_themselves() -> None:
    found = nonlinear_features.equivalent(INPUTS, lambda h: h)
    known, solved = (random_features.learning_curve(s, 80, 60, 0.01, 0.3).loss for s in (INPUTS, found))
    assert solved == pytest.approx(known, rel=1e-9)


def test_at_infinite_width_the_nonlinear_part_is_a_ridge() -> None:
    found = nonlinear_features.equivalent(INPUTS, relu)
    linear = sl.Spectrum(found.linear * INPUTS.eigenvalues, INPUTS.target_power)
    known = kernel.learning_curve(linear, 80, 0.01 + found.nonlinear, 0.3).loss
    assert random_features.learning_curve(found, 80, np.inf, 0.01, 0.3).loss == pytest.approx(known, rel=1e-8)


def test_dynamics_end_where_the_static_theory_does() -> None:
    found = nonlinear_features.equivalent(INPUTS, relu, depth=2)
    static = random_features.learning_curve(found, 80, 200, 1e-12, 0.3).loss
    assert dmft.final(found, 200, 80, 0.3).test_loss == pytest.approx(float(static), rel=1e-6)


def test_depth_keeps_a_share_of_the_linear_part() -> None:
    """ReLU is homogeneous: every layer keeps the same share, (1/4)/(1/2 − 1/2π)."""
    share = 0.25 / (0.5 - 1 / (2 * math.pi))
    for depth in (1, 2, 3):
        found = nonlinear_features.equivalent(INPUTS, relu, depth)
        assert found.linear / (found.linear + found.nonlinear) == pytest.approx(share**depth, rel=1e-9)


def test_activations_without_a_linear_part_are_refused() -> None:
    with pytest.raises(BadInput, match="no linear part"):
        nonlinear_features.equivalent(INPUTS, np.square)
    with pytest.raises(BadInput, match="depth"):
        nonlinear_features.equivalent(INPUTS, relu, 0)
    with pytest.raises(BadInput, match="finite"):
        nonlinear_features.equivalent(INPUTS, np.log)


def test_wide_inner_layers_are_the_limit_of_finite_ones() -> None:
    """What few units lose is the capacity of as many features, if they are linear."""
    wide = nonlinear_features.equivalent(INPUTS, relu, 2)
    losses = [
        float(random_features.learning_curve(one, 80, 200, 0.01, math.hypot(0.3, one.noise)).loss)
        for one in (wide, *(nonlinear_features.equivalent(INPUTS, relu, 2, n) for n in (3000, 100)))
    ]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert losses[2] > 1.1 * losses[0]
    linear = nonlinear_features.equivalent(INPUTS, lambda h: h, 2, 50)
    assert linear.noise**2 == pytest.approx(float(dmft.final(INPUTS, 50).test_loss), rel=0.03)
    with pytest.raises(BadInput, match="inner"):
        nonlinear_features.equivalent(INPUTS, relu, 2, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "inner"), [(1, 1), (2, 600), (3, 80)])
def test_against_drawn_features(depth: int, inner: int) -> None:
    sizes, pool = np.array([60, 400]), NonlinearPool(INPUTS, relu, 0.3, depth, inner=inner, tests=600)
    draws = sweep(pool, 150, sizes, ridge=0.02, draws=16).frame.groupby("n_params")["test_loss"]
    found = nonlinear_features.equivalent(INPUTS, relu, depth, inner)
    noise = math.hypot(0.3, found.noise)
    exact = random_features.learning_curve(found, 150, sizes, 0.02, noise).loss
    # 200 inputs: the features' second-order part, which the equivalence drops, is a few percent
    assert np.all(np.abs(draws.mean() - exact) < 3 * draws.sem() + 0.04 * exact)
    # as linear features the same widths lose less: the tail counts
    assert np.all(random_features.learning_curve(INPUTS, 150, sizes, 0.02, 0.3).loss < 0.9 * exact)
