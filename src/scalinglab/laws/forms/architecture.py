"""Forms of what a network is made of: experts, bits, vocabulary, parallel streams.

In `routed_experts` the experts E count as Ê, which runs from `e_start` (one expert) to `e_max` (many):
1/Ê = 1/(E - 1 + 1/(1/e_start - 1/e_max)) + 1/e_max. `vocabulary` is of the unigram-normalized loss, which is
negative: fit it with space="raw". Its authors count D in tokens, and take α = β.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scalinglab.laws.forms.base import Form, Parameter, register_form, sum_of_powers
from scalinglab.laws.forms.surfaces import ALPHA, BY_DATA, BY_PARAMS, COARSE, FLOOR, SIZES, power
from scalinglab.support.validation import checked

SPARSE = (0.1, 0.3, 0.6)  # search: starts of exponents
COARSE_ALPHA = Parameter("alpha", 0.0, 5.0, start=COARSE)
COARSE_BETA = Parameter("beta", 0.0, 5.0, start=COARSE)


@checked
def effective_experts(experts: Any, e_start: Any, e_max: Any) -> Any:
    """Ê: what `experts` count for; e_start at one expert, e_max at infinitely many."""
    inner = 1 / (1 / e_start - 1 / e_max)
    return 1 / (1 / (experts - 1 + inner) + 1 / e_max)


def _routed(x: Any, a: Any, b: Any, c: Any, d: Any, e_start: Any, e_max: Any) -> Any:
    log_n = np.log(x[0])
    log_e = np.log(effective_experts(x[1], e_start, np.maximum(e_max, 1.0001 * e_start)))
    return np.exp(a * log_n + b * log_e + c * log_n * log_e + d)


def _routed_linear(x: Any, y: Any, starts: Mapping[str, Any]) -> dict[str, Any]:
    """a, b, c and d by linear least squares of ln y at every start of e_start and e_max."""
    log_n, log_y = np.log(x[0]), np.log(y)
    found = []
    for e_start, e_max in zip(starts["e_start"].ravel(), starts["e_max"].ravel(), strict=True):
        log_e = np.log(effective_experts(x[1], e_start, e_max))
        design = np.stack([log_n, log_e, log_n * log_e, np.ones_like(log_n)], axis=1)
        found.append(np.linalg.lstsq(design, log_y, rcond=None)[0])
    return {name: np.array(found)[:, [j]] for j, name in enumerate("abcd")}


# convention: tokens at which A and beta of `upcycled` are quoted
BILLION = 1e9


def _upcycled(x: Any, floor: Any, a: Any, alpha: Any, beta: Any, both: Any) -> Any:
    first, second = np.log(x[0] / BILLION), np.log(x[1] / BILLION)
    return floor + a * np.exp(-alpha * first - beta * second + both * first * second)


def _precision(x: Any, floor: Any, a: Any, b: Any, alpha: Any, beta: Any, gamma: Any) -> Any:
    worth = -np.expm1(-x[2] / gamma)
    return floor + a * power(x[0] * worth, alpha) + b * power(x[1], beta)


def _quantized(x: Any, c: Any, by_data: Any, by_params: Any, gamma: Any) -> Any:
    return c * np.exp(by_data * np.log(x[1]) - by_params * np.log(x[0]) - x[2] / gamma)


def _parallel(x: Any, floor: Any, a: Any, alpha: Any, streams: Any) -> Any:
    return floor + a * power(x[0] * (streams * np.log(x[1]) + 1), alpha)


register_form(Form(
    "routed_experts", "exp(a ln N + b ln Ê + c ln N ln Ê + d)",
    (Parameter("a"), Parameter("b"), Parameter("c"), Parameter("d"),
     Parameter("e_start", 1.0, 1e3, log=True, start=(1.2, 2.0, 4.0)),
     Parameter("e_max", 1.0, 1e6, log=True, start=(100.0, 300.0, 1000.0))),
    _routed, complete=_routed_linear, variables=("n_params", "n_experts"),
    doc="Clark et al. 2022, eq. 1",
))  # fmt: skip
register_form(sum_of_powers(
    "experts_with_floor", "E + A N^-alpha X^-beta",
    (FLOOR, BY_PARAMS, ALPHA, Parameter("beta", -1.0, 5.0, start=(0.02, 0.05, 0.1, 0.2, 0.4))),
    {"N": "n_params", "X": "n_experts"}, doc="a power of parameters and of experts X over a floor",
))  # fmt: skip
register_form(sum_of_powers(
    "active_experts", "E + A Na^-alpha (N/Na)^-delta + B D^-beta",
    (FLOOR, BY_PARAMS, BY_DATA, COARSE_ALPHA, COARSE_BETA,
     Parameter("delta", -1.0, 5.0, start=(0.02, 0.1, 0.25))),
    {"Na": "n_active", "(N/Na)": ("n_params", lambda x: np.log(x[1] / x[0])), "D": "n_data"},
    doc="chinchilla of the active parameters Na, with a power of how many times as many there are",
))  # fmt: skip
register_form(sum_of_powers(
    "sparsity", "E + A N^-alpha + B D^-beta + C (1 - S)^-lam + F (1 - S)^-delta N^-gamma",
    (FLOOR, BY_PARAMS, BY_DATA, Parameter("C", linear=True), Parameter("F", 0.0, linear=True, log=True),
     Parameter("alpha", 0.0, 5.0, start=SPARSE), Parameter("beta", 0.0, 5.0, start=SPARSE),
     Parameter("lam", -3.0, 3.0, start=(-0.3, 0.3), prior=(0.0, 0.5)),
     Parameter("delta", -3.0, 3.0, start=(-0.3, 0.3), prior=(0.0, 0.5)),
     Parameter("gamma", 0.0, 5.0, start=(0.2, 0.5), prior=(0.3, 0.3))),
    {**SIZES, "(1 - S)": ("sparsity", lambda x: np.log(1 - x[2]))}, zeros=("sparsity",),
    doc="Abnar et al. 2025: S is the share of experts that are not active",
))  # fmt: skip
register_form(Form(
    "upcycled", "E + A d1^-alpha d2^(-beta + both ln d1), d1 = D1/1e9, d2 = D2/1e9",
    (FLOOR, BY_PARAMS, COARSE_ALPHA, COARSE_BETA, Parameter("both", -0.5, 0.5, start=(0.0, 0.02))),
    _upcycled, variables=("n_dense", "n_data"),
    doc="Liew et al. 2025: D1 tokens of the dense model, D2 of the experts made of it",
))  # fmt: skip
register_form(sum_of_powers(
    "fine_grained_experts", "E + A N^-alpha + g G^-gamma N^-alpha + B D^-beta",
    (FLOOR, BY_PARAMS, Parameter("g", 0.0, linear=True, log=True), BY_DATA,
     COARSE_ALPHA, COARSE_BETA, Parameter("gamma", 0.0, 5.0, start=SPARSE)),
    {**SIZES, "G": "granularity"}, doc="Krajewski et al. 2024, eq. 8",
))  # fmt: skip
register_form(Form(
    "precision", "E + A (N (1 - exp(-P/gamma)))^-alpha + B D^-beta",
    (FLOOR, BY_PARAMS, BY_DATA, COARSE_ALPHA, COARSE_BETA,
     Parameter("gamma", 0.01, 100.0, log=True, start=(1.0, 2.5, 5.0))),
    _precision, variables=("n_params", "n_data", "bits"), doc="Kumar et al. 2024, eq. 3",
))  # fmt: skip
register_form(Form(
    "quantized_after_training", "C D^by_data N^-by_params exp(-P/gamma)",
    (Parameter("C", 0.0, linear=True, log=True), Parameter("by_data", -2.0, 5.0, start=COARSE),
     Parameter("by_params", -2.0, 5.0, start=COARSE),
     Parameter("gamma", 0.01, 100.0, log=True, start=(0.5, 1.0, 2.5))),
    _quantized, variables=("n_params", "n_data", "bits"),
    doc="Kumar et al. 2024, eq. 2: the loss that quantization after training adds",
))  # fmt: skip
register_form(sum_of_powers(
    "vocabulary", "E + A Nnv^-alpha + A_vocab Nv^-alpha_vocab + B D^-beta",
    (Parameter("E", linear=True), BY_PARAMS, Parameter("A_vocab", 0.0, linear=True, log=True), BY_DATA,
     COARSE_ALPHA, Parameter("alpha_vocab", 0.0, 5.0, start=COARSE), COARSE_BETA),
    {"Nnv": "non_vocab_params", "Nv": "vocab_params", "D": "n_chars"},
    doc="Tao et al. 2024, eq. 5; of the unigram-normalized loss",
))  # fmt: skip
register_form(sum_of_powers(
    "vocabulary_size",
    "E + A n^-alpha + A_vocab v^-alpha_vocab + B v^both d^-beta, n = Nnv/1e8, v = V/3e4, d = D/1e10",
    (Parameter("E", linear=True), BY_PARAMS, Parameter("A_vocab", 0.0, linear=True, log=True), BY_DATA,
     Parameter("alpha", 0.0, 5.0, start=SPARSE), Parameter("alpha_vocab", 0.0, 5.0, start=SPARSE),
     Parameter("beta", 0.0, 5.0, start=SPARSE), Parameter("both", -2.0, 2.0, start=(0.0, 0.2))),
    # convention: parameters, vocabulary and characters at which A, A_vocab and B are quoted
    {"n": ("non_vocab_params", 1e8), "v": ("vocab_size", 3e4), "d": ("n_chars", 1e10)},
    doc="Tao et al. 2024, eq. 5, of the vocabulary's size: fewer tokens in as many characters",
))  # fmt: skip
register_form(Form(
    "parallel_streams", "E + A (N (streams ln S + 1))^-alpha",
    (FLOOR, BY_PARAMS, ALPHA, Parameter("streams", 0.0, 10.0, start=(0.1, 0.4, 1.0))),
    _parallel, variables=("n_params", "n_streams"), exponent="alpha",
    doc="Chen et al. 2025, eq. 5 (A here is its A^alpha)",
))  # fmt: skip
