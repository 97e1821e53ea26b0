"""A form that is found for a table whose variables no registered form knows.

The grammar: y = c0 + Σ c_k T_k (c0 a floor), or ln y = c0 + Σ c_k T_k, with terms

- x^-e, and products x^-e z^-f of two variables, e and f of both signs (powers and interactions),
- ln x, (ln x)² and ln x ln z (a valley, as of a learning rate whose best value moves with another variable),
- of shares, which may be 0 or sum to 1: s, √s and s t.

Every variable but shares is divided by a round number near its geometric mean, which the equation names.

Terms are added one at a time, as long as backtests gain by it: of the rows in order of the product of their
variables the first half predicts the next sixth, with it the next, and so on. With S the sum of their squared
errors and k coefficients, S n^(k/n) must fall (Schwarz 1978, in the errors of predictions). Only coefficients
are fitted, which is linear: a search is many least squares of few columns. No other model takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, pairwise
from typing import Any

import numpy as np

from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws import weighing
from scalinglab.laws.forms.base import Form, Parameter
from scalinglab.results.types import Reason

EXPONENTS = (0.15, 0.35, 0.7)  # search: of powers, with both signs in products
MOST_ROWS = 600  # search: more are thinned out evenly
MOST_TERMS = 10  # search: of one form
TRIED = 20  # search: terms at each step, those that explain most of the residuals
FEWEST_ROWS = 12  # guard: with fewer, backtests of a sixth have one row
Logs = np.ndarray  # (variables, …) ln of sizes over their units; shares as they are


@dataclass(frozen=True)
class Term:
    """One T of the grammar: its text, and its value from `Logs`."""

    text: str
    value: Callable[[Logs], np.ndarray]


def _power(parts: Sequence[tuple[int, float]], names: Sequence[str]) -> Term:
    text = " ".join(f"{names[j]}^{-e:g}" for j, e in parts)
    return Term(text, lambda logs: np.exp(-sum(e * logs[j] for j, e in parts)))


def _product(j: int, k: int, names: Sequence[str]) -> Term:
    text = f"{names[j]}²" if j == k else f"{names[j]} {names[k]}"
    return Term(text, lambda logs: logs[j] * logs[k])


def grammar(names: Sequence[str], shares: Sequence[bool]) -> list[Term]:
    """Every term of variables of these names (as the equation writes them), some of which are shares."""
    sizes = [j for j, share in enumerate(shares) if not share]
    parts = [j for j, share in enumerate(shares) if share]
    found = [_power([(j, e)], names) for j in sizes for e in EXPONENTS]
    both = (*EXPONENTS, *(-e for e in EXPONENTS))
    for j, k in combinations(sizes, 2):
        found += [_power([(j, e), (k, f)], names) for e in both for f in both if e > 0 or f > 0]
    logs = [name if share else f"ln({name})" for name, share in zip(names, shares, strict=True)]
    found += [Term(logs[j], lambda x, j=j: x[j]) for j in range(len(names))]  # type: ignore[misc]
    found += [Term(f"√{logs[j]}", lambda x, j=j: np.sqrt(np.maximum(x[j], 0.0))) for j in parts]  # type: ignore[misc]
    for group in (sizes, parts):
        found += [_product(j, k, logs) for j, k in combinations_with_replacement(group, 2)]
    return found


def open_form(variables: Sequence[str]) -> Form:
    """What stands for a form of these variables until the table is there to find it.

    Raises:
        BadInput: fewer than two variables.
    """
    if len(variables) < 2:
        raise BadInput(
            "form='search' needs the columns of two variables or more: x=['…', '…'] (--var NAME=COLUMN)"
        )
    return Form("search", "", (), lambda x: x[0], variables=tuple(variables))


def is_open(form: Form) -> bool:
    """Whether it is one of `open_form`."""
    return form.name == "search" and not form.parameters


def found_form(variables: Sequence[str], x: np.ndarray, y: np.ndarray) -> Form:
    """The form that the search finds.

    Args:
        variables: what the rows of x are called.
        x: (variables, n), 0 or more; y: (n,).

    Raises:
        NotDetermined: fewer than `FEWEST_ROWS` rows.
    """
    if np.any(x < 0):
        raise BadInput(f"form='search': {variables[int(np.argmin(x.min(axis=1)))]} has values below 0")
    if len(y) < FEWEST_ROWS:
        raise NotDetermined(Reason("few_rows_to_search", rows=len(y), needed=FEWEST_ROWS))
    shares = np.any(x <= 0, axis=1) | bool(np.allclose(x.sum(axis=0), 1.0, atol=0.02))
    units = np.array([1.0 if s else float(f"{np.exp(np.mean(np.log(v))):.1g}") for v, s in zip(x, shares)])
    names = [n if s else f"({n}/{u:g})" for n, u, s in zip(variables, units, shares, strict=True)]
    terms = grammar(names, shares)
    order = _order(x, shares)
    order = order[np.unique(np.linspace(0, len(order) - 1, min(MOST_ROWS, len(order))).astype(int))]
    logs = _logs(x[:, order], units, shares)
    columns = np.column_stack([term.value(logs) for term in terms])
    # squared errors of ln y count in units of y, so that the two kinds compare
    tried = [(False, y[order], 1.0)]
    if np.all(y > 0):
        tried.append((True, np.log(y[order]), float(np.exp(2 * np.mean(np.log(y))))))
    results = [(*_chosen(columns, target), log, unit) for log, target, unit in tried]
    places, coefficients, _, log, _ = min(results, key=lambda each: each[2] * each[4])
    return _form(tuple(variables), [terms[i] for i in places], coefficients, log, units, shares)


def _order(x: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The rows from small to large sizes; rows of shares alone in an order of chance."""
    if shares.all():
        return np.random.default_rng(0).permutation(x.shape[1])
    return np.argsort(np.sum(np.log(x[~shares]), axis=0), kind="stable")


def _logs(x: Any, units: np.ndarray, shares: np.ndarray) -> Logs:
    values = np.asarray(x, float)
    each = [v if share else np.log(v / unit) for v, unit, share in zip(values, units, shares, strict=True)]
    return np.stack(np.broadcast_arrays(*each))


def _chosen(columns: np.ndarray, y: np.ndarray) -> tuple[list[int], np.ndarray, float]:
    """The terms that backtests gain by, their coefficients after that of the constant, and S n^(k/n)."""
    n = len(y)
    cuts = weighing.cuts(n)
    ones = np.ones((n, 1))

    def errors(places: list[int]) -> float:
        design = np.hstack([ones, columns[:, places]])
        squares = sum(
            np.sum((design[a:b] @ _solved(design[:a], y[:a]) - y[a:b]) ** 2) for a, b in pairwise(cuts)
        )
        return float(squares * n ** ((1 + len(places)) / n))

    chosen: list[int] = []
    best = errors(chosen)
    while len(chosen) < MOST_TERMS:
        basis = np.linalg.qr(np.hstack([ones, columns[:, chosen]]))[0]
        left = columns - basis @ (basis.T @ columns)
        size = np.sum(left**2, axis=0)
        # a term that those before it span explains nothing
        new = size > 1e-10 * np.sum(columns**2, axis=0)
        explained = np.where(new, (y @ left) ** 2 / np.maximum(size, 1e-300), 0.0)
        likely = [int(i) for i in np.argsort(-explained)[:TRIED] if explained[i] > 0]
        scores = [errors([*chosen, i]) for i in likely]
        if not scores or min(scores) >= best:
            break
        best = min(scores)
        chosen.append(likely[int(np.argmin(scores))])
    return chosen, _solved(np.hstack([ones, columns[:, chosen]]), y), best


def _solved(design: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.lstsq(design, y, rcond=1e-9)[0])


def _form(
    variables: tuple[str, ...], terms: Sequence[Term], coefficients: np.ndarray, log: bool,
    units: np.ndarray, shares: np.ndarray,
) -> Form:  # fmt: skip
    """The terms as a form: its coefficients are what a fit is to find, from those of the search."""

    def basis(x: Any) -> list[Any]:
        logs = _logs(x, units, shares)
        return [np.ones_like(logs[0]), *(term.value(logs) for term in terms)]

    def function(x: Any, *values: Any) -> Any:
        total = sum(value * column for value, column in zip(values, basis(x), strict=True))
        return np.exp(total) if log else total

    parameters = tuple(
        Parameter(f"c{k}", linear=not log, start=(float(value),)) for k, value in enumerate(coefficients)
    )
    text = " + ".join(["c0", *(f"c{k} {term.text}" for k, term in enumerate(terms, 1))])
    return Form(
        "search", f"exp({text})" if log else text, parameters, function, variables=variables,
        zeros=tuple(name for name, share in zip(variables, shares, strict=True) if share),
        doc="found by a search of sums of powers, interactions and valleys", automatic=False,
    )  # fmt: skip
