"""Superposition and quanta against closed forms, brute force and simulations with error bars."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from scalinglab.errors import BadInput
from scalinglab.simulate import sparse_features as simulated
from scalinglab.theory.sparse_features import quanta, superposition, zipf


def test_rectified_feature_against_drawn_numbers() -> None:
    rng, sigma, bias, frequency = np.random.default_rng(1), 0.3, -0.4, 0.2
    x = np.where(rng.random(400_000) < frequency, 2 * rng.random(400_000), 0.0)
    drawn = (np.maximum(x + bias + sigma * rng.standard_normal(len(x)), 0) - x) ** 2
    found = superposition.feature_loss(frequency, bias, np.array([sigma]), np.ones(1))
    assert abs(found - drawn.mean()) < 4 * drawn.std() / np.sqrt(len(x))


@pytest.mark.parametrize("exponent", [0.0, pytest.param(2.0, marks=pytest.mark.slow)])
def test_strong_superposition_falls_as_one_over_the_dimension(exponent: float) -> None:
    given = zipf(3000, exponent)
    losses = [superposition.strong(given, m) for m in (1024, 4096)]
    assert np.log(losses[0] / losses[1]) / np.log(4) == pytest.approx(1.0, abs=0.05)


def test_what_is_active_has_the_moments_of_its_features() -> None:
    """⟨V⟩ = Σ p ⟨u²⟩ and the variance Σ (p ⟨u⁴⟩ − p² ⟨u²⟩²), ⟨u⁴⟩ = 16/5."""
    given = zipf(500, 0.8, 4.0)
    values, shares = superposition.activity(given)
    assert shares.sum() == pytest.approx(1.0)
    assert shares @ values == pytest.approx(4 / 3 * 4.0, rel=0.02)
    spread = shares @ (values - shares @ values) ** 2
    assert spread == pytest.approx(np.sum(16 / 5 * given - (4 / 3 * given) ** 2), rel=0.05)


def test_weak_superposition_is_what_lies_beyond_the_dimension() -> None:
    given = zipf(1000, 1.5)
    expected = sum(4 / 3 * p - p * p for p in given[30:])
    assert superposition.weak(np.roll(given, 5), 30) == pytest.approx(expected)  # order does not matter
    assert superposition.weak(given, 1000) == 0


@pytest.mark.slow
def test_strong_superposition_simulated() -> None:
    given = zipf(1500, 1.0, 3.0)
    drawn = simulated.superposition(given, 128, examples=500, seed=3)
    found = superposition.strong(given, 128)
    assert abs(drawn.mean() - found) < 4 * drawn.std() / np.sqrt(len(drawn))
    assert drawn.std() / np.sqrt(len(drawn)) < 0.1 * found


def test_errors_of_a_parity_by_brute_force() -> None:
    """All sets of c inputs of three bits: the share of inputs outside their span, halved."""
    for c in range(4):
        outside = []
        for shown in itertools.product(range(8), repeat=c):
            span = {0}
            for v in shown:
                span |= {v ^ s for s in span}
            outside.append(1 - len(span) / 8)
        assert quanta.task_errors(3, 3)[c] == pytest.approx(np.mean(outside) / 2)


def test_quanta_simulated() -> None:
    given = zipf(300, 1.6)
    wrong = simulated.parities(given, 800, 8, tests=8000, seed=2)
    exact = quanta.error(given, 800, bits=8)
    # one draw of 800 examples: errors of tasks scatter as well, by about as much as the test set does
    assert abs(wrong.mean() - exact) < 6 * wrong.std() / np.sqrt(len(wrong))


def test_exponents_of_quanta() -> None:
    given = zipf(10**6, 2.0)
    assert np.log10(quanta.error(given, 1e5) / quanta.error(given, 1e6)) == pytest.approx(0.5, rel=0.01)
    capacity = [quanta.error(given, capacity=m) for m in (100, 1000)]
    assert np.log10(capacity[0] / capacity[1]) == pytest.approx(1.0, rel=0.01)
    assert quanta.error(given, 0) == pytest.approx(0.5 * (1 - 2.0**-16))  # zeros have parity 0


def test_bad_input() -> None:
    with pytest.raises(BadInput, match="probabilities"):
        zipf(3, 0.0, total=6.0)
    with pytest.raises(BadInput, match="exponent"):
        zipf(3, -1.0)
    with pytest.raises(BadInput, match="dimension"):
        superposition.weak(zipf(3, 1.0), 4)
    with pytest.raises(BadInput, match="n_data"):
        quanta.error(zipf(3, 1.0), -1)
    with pytest.raises(BadInput, match="bits"):
        quanta.task_errors(0, 3)
    with pytest.raises(BadInput, match=r"most = 10000\d+"):
        quanta.task_errors(3, 10**12)


@pytest.mark.parametrize("bits", [0, 63, 10**15])
def test_bits_that_no_input_has_are_refused(bits: int) -> None:
    with pytest.raises(BadInput, match=f"bits={bits} must be 1 to 62"):
        simulated.parities(np.ones(3), 5, bits)
