"""Sparse features and parities at finite size, drawn: the models of `scalinglab.theory.sparse_features`."""

from __future__ import annotations

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.support.validation import checked
from scalinglab.theory.sparse_features.superposition import activity, best_bias


@checked
def superposition(
    frequencies: np.ndarray, dimension: int, *, examples: int = 400, seed: int = 0
) -> np.ndarray:
    """Losses of single examples, (examples,), of y = ReLU(WᵀWx + b) with random unit vectors W.

    Biases are those of the theory, one a feature; values, vectors and what is active are drawn.
    """
    given = np.asarray(frequencies, float)
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((dimension, len(given)))
    vectors /= np.linalg.norm(vectors, axis=0)
    squares, shares = activity(given)
    scales = np.sqrt(squares / dimension)
    levels = np.geomspace(given.min(), given.max(), 40)
    biases = np.interp(np.log(given), np.log(levels), [best_bias(p, scales, shares)[0] for p in levels])
    x = np.where(rng.random((examples, len(given))) < given, 2 * rng.random((examples, len(given))), 0.0)
    y = np.maximum((x @ vectors.T) @ vectors + biases, 0.0)
    found: np.ndarray = np.sum((y - x) ** 2, axis=1)
    return found


@checked
def parities(
    frequencies: np.ndarray, n_data: int, bits: int = 16, *, tests: int = 4000, seed: int = 0
) -> np.ndarray:
    """Whether answers to test examples are wrong, (tests,), of a learner that solves equations modulo 2.

    Inputs are whole numbers whose binary digits are the bits; a task's parity is that of input & secret.
    """
    if not 1 <= bits <= 62:
        raise BadInput(f"bits={bits} must be 1 to 62: inputs are whole numbers of 64 bits")
    given = np.asarray(frequencies, float)
    rng = np.random.default_rng(seed)
    secrets = rng.integers(0, 2**bits, len(given))
    chosen = rng.choice(len(given), n_data, p=given / given.sum())
    inputs = rng.integers(0, 2**bits, n_data)
    bases: dict[int, dict[int, tuple[int, int]]] = {}
    for task, shown in zip(chosen.tolist(), inputs.tolist()):
        _reduce(bases.setdefault(task, {}), shown, _parity(shown & int(secrets[task])), learn=True)
    wrong = np.zeros(tests, bool)
    asked = zip(
        rng.choice(len(given), tests, p=given / given.sum()).tolist(),
        rng.integers(0, 2**bits, tests).tolist(),
    )
    for place, (task, shown) in enumerate(asked):
        answer = _reduce(bases.get(task, {}), shown, 0, learn=False)
        guess = int(rng.integers(2)) if answer is None else answer
        wrong[place] = guess != _parity(shown & int(secrets[task]))
    return wrong


def _reduce(basis: dict[int, tuple[int, int]], shown: int, label: int, *, learn: bool) -> int | None:
    """Eliminate an input with those known (by highest bit): its label, or None outside their span."""
    while shown:
        top = shown.bit_length() - 1
        if top not in basis:
            if learn:
                basis[top] = (shown, label)
            return None
        shown, label = shown ^ basis[top][0], label ^ basis[top][1]
    return label


def _parity(number: int) -> int:
    return bin(number).count("1") % 2
