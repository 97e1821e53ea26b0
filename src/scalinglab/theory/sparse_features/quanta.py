r"""Quanta: many tasks of falling frequency, each of which is learnt or not (Michaud and others 2023).

Multitask parity: an example names its task i, with probability p_i, and shows n random bits; its label is the
parity of a subset of them that belongs to the task. The best learner solves linear equations modulo 2. After
c examples of a task their bits span r dimensions; an input in the span is answered, of others half are wrong:

    error(c) = ½ E (1 − 2^(r−n)),   P(r → r + 1) = 1 − 2^(r−n) with every example,

one half at first, and after n examples halved by each. With D examples the counts are Poisson, and a network
that can learn m tasks learns the most frequent ones:

    E(D, m) = Σ_{i≤m} p_i ⟨error(c)⟩_{c ~ Poisson(D p_i)} + ½ Σ_{i>m} p_i.

p_i ~ i^−(1+a) gives m^-a, and D^−a/(1+a): tasks with D p_i > n are learnt.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import poisson

from scalinglab.errors import BadInput
from scalinglab.support.validation import checked
from scalinglab.theory.sparse_features.frequencies import probabilities

__all__ = ["error", "task_errors"]

BEYOND = 60  # examples beyond the number of bits after which an error of 2^-60 is none
MOST = 1_000_000  # examples, seconds of computing
LEVELS = 400  # mean counts at which the error is computed; between them it is interpolated


@checked
def task_errors(bits: int, most: int) -> np.ndarray:
    """error(c) for c = 0 … most examples, from the distribution of the rank."""
    if bits < 1 or most < 0:
        raise BadInput(f"bits = {bits} must be 1 or more, and most = {most} zero or more")
    if most > MOST or bits * most > 100 * MOST:
        raise BadInput(
            f"bits = {bits} and most = {most} are too many: after bits + {BEYOND} examples the error is zero"
        )
    span = 2.0 ** (np.arange(bits + 1) - bits)  # the share of inputs in the span of r vectors
    ranks = np.zeros(bits + 1)
    ranks[0] = 1.0
    found = []
    for _ in range(most + 1):
        found.append(0.5 * float(ranks @ (1 - span)))
        new = ranks * (1 - span)
        ranks = ranks * span
        ranks[1:] += new[:-1]
    return np.array(found)


@checked
def error(
    frequencies: np.ndarray, n_data: float = math.inf, capacity: float = math.inf, bits: int = 16
) -> float:
    """The share of wrong answers after `n_data` examples, of a network that can learn `capacity` tasks.

    Args:
        frequencies: p_i of the tasks, (tasks,).
        n_data: D; inf for as many as are needed.
        capacity: m; inf for all tasks.
        bits: n that an example shows.
    """
    given = np.sort(probabilities(frequencies))[::-1]
    if not (n_data >= 0 and capacity >= 0):
        raise BadInput(f"n_data = {n_data} and capacity = {capacity} must be zero or more")
    kept = given[: int(min(capacity, len(given)))]
    missed = 0.5 * float(given[len(kept) :].sum())
    if math.isinf(n_data) or not len(kept):
        return missed
    return missed + float(kept @ mean_errors(n_data * kept, bits))


def mean_errors(counts: np.ndarray, bits: int) -> np.ndarray:
    """⟨error(c)⟩ over Poisson c of the given means."""
    table = task_errors(bits, bits + BEYOND)
    levels = np.concatenate([[0.0], np.geomspace(1e-6, 20.0 * (bits + BEYOND), LEVELS)])
    at = poisson.pmf(np.arange(len(table))[None], levels[:, None]) @ table
    found: np.ndarray = np.interp(counts, levels, at, right=0.0)
    return found
