"""Forms of more than sizes: training, architecture, shares of a data mixture, and scores from losses.

*Training.* In `learning_rate_batch` u = ln rate - ln rate*(N, D) and v = ln batch - ln batch*(D), both optima
power laws as in the step law, and bend = h_r u² + h_b v² + 2 ρ √(h_r h_b) u v. In `transfer`
D_E = D_F + p k D_F^δ N^ε: p is 1 for a pretrained model and 0 for one from scratch. In `distillation` the
gap to the teacher has the factor g = L_T^-c0 (1 + (L_T/(d1 L_S))^(1/f1))^(-c1 f1) with the student's
supervised loss L_S = E_s + (A_s N^-α_s + B_s D^-β_s)^γ_s inside: hold those six at a fit of `coupled` to
students without a teacher.

*Architecture.* In `routed_experts` the experts E count as Ê, which runs from `e_start` (one expert) to
`e_max` (many): 1/Ê = 1/(E - 1 + 1/(1/e_start - 1/e_max)) + 1/e_max. `vocabulary` is of the unigram-normalized
loss, which is negative: fit it with space="raw". Its authors count D in tokens, and take α = β.

*Mixtures* of K domains, r_j the shares:

| name | equation | from |
| --- | --- | --- |
| `data_mixing_K` | c + k e^(Σ_j t_j r_j) | Ye et al. 2024, eq. 7: the loss of one domain |
| `mixture_power_K` | c + A (Σ_j t_j r_j)^-γ | a power law of the effective share |

The shares sum to one, so a common shift of all t_j in `data_mixing_K` is a factor of k: t_K is 0. A common
factor of all t_j in `mixture_power_K` is one of A: their priors, the same for all, fix it, so that the
order of the domains does not matter.

*Scores.* The variable of `error_from_loss` and `score_from_loss` is the loss, and both are fitted in raw
values (``space="raw"``). `laws.downstream` predicts scores by an average over bounded curves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit

from scalinglab.errors import BadInput
from scalinglab.laws.forms.base import Form, Parameter, family, register_form, sum_of_powers
from scalinglab.laws.forms.surfaces import (
    ALPHA,
    BY_DATA,
    BY_PARAMS,
    COARSE,
    FLOOR,
    NAMES,
    SIZES,
    coupled,
    power,
)
from scalinglab.support.slopes import softplus
from scalinglab.support.validation import checked

# --- learning rate and batch ---------------------------------------------------------------------------


PLACE = (1e9, 1e11)  # convention: n_params and n_data at which the optima of `learning_rate_batch` are quoted


def _rate_batch(
    x: Any, floor: Any, a: Any, b: Any, alpha: Any, beta: Any, both: Any, rate: Any, rate_params: Any,
    rate_data: Any, batch: Any, batch_data: Any, bend_rate: Any, bend_batch: Any, bend_both: Any,
) -> Any:  # fmt: skip
    log_n, log_d = np.log(x[2] / PLACE[0]), np.log(x[3] / PLACE[1])
    u = np.log(x[0] / rate) - rate_params * log_n - rate_data * log_d
    v = np.log(x[1] / batch) - batch_data * log_d
    best = floor + a * np.exp(-alpha * log_n) + b * np.exp(both * log_n - beta * log_d)
    # a positive semidefinite bend: the cross term is a share of what keeps it so
    cross = 2 * bend_both * np.sqrt(bend_rate * bend_batch)
    return best * (1 + bend_rate * u**2 + bend_batch * v**2 + cross * u * v)


def _annealed(x: Any, floor: Any, a: Any, b: Any, c: Any, alpha: Any, beta: Any) -> Any:
    return floor + a * power(x[0], alpha) + b * power(x[1], beta) - c * x[2]


def _rate_batch_starts(x: Any, y: Any, starts: Mapping[str, Any]) -> dict[str, Any]:
    """E, A and B by non-negative least squares on the lowest losses of each (N, D)."""
    from scipy.optimize import nnls

    log_n, log_d = np.log(x[2] / PLACE[0]), np.log(x[3] / PLACE[1])
    sizes, which = np.unique(np.stack([log_n, log_d]), axis=1, return_inverse=True)
    best = np.array([y[which.ravel() == i].min() for i in range(sizes.shape[1])])
    rows = []
    for alpha, beta in zip(starts["alpha"].ravel(), starts["beta"].ravel(), strict=True):
        design = np.stack([np.ones(len(best)), np.exp(-alpha * sizes[0]), np.exp(-beta * sizes[1])], axis=1)
        rows.append(np.maximum(nnls(design / best[:, None], np.ones(len(best)))[0], 1e-3 * best.min()))
    return {name: np.array(rows)[:, [j]] for j, name in enumerate(("E", "A", "B"))}


# --- transfer and distillation -------------------------------------------------------------------------


def _transfer(
    x: Any, n_scale: Any, d_scale: Any, alpha: Any, beta: Any, k: Any, by_data: Any, by_params: Any
) -> Any:
    n, tuned, pretrained = x
    moved = k * np.exp(by_data * np.log(tuned) + by_params * np.log(n))
    worth = tuned + np.where(pretrained > 0, moved, 0.0)
    inner = np.logaddexp(alpha / beta * (np.log(n_scale) - np.log(n)), np.log(d_scale) - np.log(worth))
    return np.exp(beta * inner)


def _transfer_scales(x: Any, y: Any, starts: Mapping[str, Any]) -> dict[str, Any]:
    """Scales at which each limit alone gives the mean loss, and transferred data as large as the tuned."""
    log_y, log_n, log_d = np.mean(np.log(y)), np.mean(np.log(x[0])), np.mean(np.log(x[1]))
    return {
        "n_scale": np.exp((log_y - 0.7) / starts["alpha"] + log_n),
        "d_scale": np.exp((log_y - 0.7) / starts["beta"] + log_d),
        "k": np.exp(log_d - starts["by_data"] * log_d - starts["by_params"] * log_n),
    }


def _distillation(
    x: Any, c0: Any, c1: Any, d1: Any, f1: Any, a: Any, b: Any, alpha: Any, beta: Any, gamma: Any,
    floor_s: Any, a_s: Any, b_s: Any, alpha_s: Any, beta_s: Any, gamma_s: Any,
) -> Any:  # fmt: skip
    n, d, teacher = x
    student = coupled((n, d), floor_s, a_s, b_s, alpha_s, beta_s, gamma_s)
    ratio = np.log(teacher / (d1 * student)) / f1
    log_gap = -c0 * np.log(teacher) - c1 * f1 * softplus(ratio)
    return teacher + np.exp(log_gap + gamma * np.log(a * power(n, alpha) + b * power(d, beta)))


def _positive(name: str, *start: float) -> Parameter:
    return Parameter(name, 0.0, log=True, start=start or (1.0,))


register_form(sum_of_powers(
    "overtrained", "E + a M^eta C^-eta + b M^-eta C^-eta",
    (FLOOR, Parameter("a", 0.0, linear=True, log=True), Parameter("b", 0.0, linear=True, log=True),
     Parameter("eta", 0.0, 3.0, start=(0.04, 0.08, 0.12, 0.16, 0.2, 0.3, 0.5))),
    {"C": "compute", "M": "tokens_per_param"}, exponent="eta",
    derived=lambda v: {"alpha": 2 * v["eta"], "best_tokens_per_param": (v["b"] / v["a"]) ** (0.5 / v["eta"])},
    doc="Gadre et al. 2024, eq. 4: α = β = 2η, M tokens a parameter",
))  # fmt: skip
BY_N = Parameter("by_params", -5.0, 5.0, start=(-1.0, -0.5, 0.0, 0.5))
BY_D = Parameter("by_data", -5.0, 5.0, start=(-0.5, 0.0, 0.3, 0.6))
SCALE = Parameter("scale", 0.0, linear=True, log=True)
register_form(sum_of_powers(
    "optimal_learning_rate", "scale N^by_params D^by_data", (SCALE, BY_N, BY_D), SIZES,
    doc="Li et al. 2025 (step law), eq. 1", automatic=False,  # of a learning rate, not of a loss
))  # fmt: skip
register_form(sum_of_powers(
    "optimal_batch_size", "scale D^by_data", (SCALE, Parameter("by_data", -5.0, 5.0, start=(0.2, 0.5, 0.8))),
    {"D": "x"}, exponent="by_data",
    doc="Li et al. 2025 (step law), eq. 1; x is n_data",
))  # fmt: skip
register_form(Form(
    "learning_rate_batch",
    "(E + A n^-alpha + B n^both d^-beta) (1 + bend_rate u² + bend_batch v² + 2 bend_both √(bend_rate "
    "bend_batch) u v), u = ln(R/(rate n^rate_params d^rate_data)), v = ln(S/(batch d^batch_data)), "
    "n = N/1e9, d = D/1e11",
    (Parameter("E", 0.0), _positive("A", 1.0), _positive("B", 1.0),
     Parameter("alpha", 0.0, 3.0, start=(0.2, 0.4)), Parameter("beta", 0.0, 3.0, start=(0.2, 0.4)),
     Parameter("both", -2.0, 2.0, start=(0.1,)), _positive("rate", 5e-4, 2e-3),
     Parameter("rate_params", -3.0, 3.0, start=(-0.6,)),
     Parameter("rate_data", -3.0, 3.0, start=(0.2,)), _positive("batch", 300.0, 1500.0),
     Parameter("batch_data", -3.0, 3.0, start=(0.5,)), _positive("bend_rate", 0.01),
     _positive("bend_batch", 0.005), Parameter("bend_both", -0.999, 0.999, start=(-0.5,))),
    _rate_batch, complete=_rate_batch_starts,
    variables=("learning_rate", "batch_size", *NAMES),
    doc="R the learning rate, S the batch; the optima of Li et al. 2025 (step law), a paraboloid around them",
))  # fmt: skip
register_form(sum_of_powers(
    "critical_batch_size", "scale N^by_params D^by_data", (SCALE, BY_N, BY_D), SIZES, automatic=False,
    doc="Zhang et al. 2024: examples a batch beyond which steps are no longer saved",
))  # fmt: skip
register_form(Form(
    "annealed_surface", "E + A N^-alpha + B S1^-beta - C S2",
    (FLOOR, BY_PARAMS, BY_DATA, Parameter("C", 0.0, linear=True), Parameter("alpha", 0.0, 5.0, start=COARSE),
     Parameter("beta", 0.0, 5.0, start=COARSE)),
    _annealed, variables=("n_params", "rate_area", "annealed_area"), zeros=("annealed_area",),
    doc="Tissue et al. 2024: S1 the sum of the rates over steps, S2 the area that annealing has left",
))  # fmt: skip
register_form(sum_of_powers(
    "data_transferred", "k D^alpha N^beta",
    (Parameter("k", 0.0, linear=True, log=True), Parameter("alpha", -2.0, 3.0, start=COARSE),
     Parameter("beta", -2.0, 3.0, start=COARSE)),
    {"D": "n_tuned", "N": "n_params"}, doc="Hernandez et al. 2021, eq. 1.1",
))  # fmt: skip
register_form(Form(
    "transfer", "((n_scale/N)^(alpha/beta) + d_scale/(D + p k D^by_data N^by_params))^beta",
    (_positive("n_scale"), _positive("d_scale"), Parameter("alpha", 1e-3, 5.0, start=COARSE),
     Parameter("beta", 1e-3, 5.0, start=COARSE), _positive("k"),
     Parameter("by_data", -1.0, 2.0, start=(0.1, 0.3, 0.6)),
     Parameter("by_params", -1.0, 2.0, start=(0.1, 0.3, 0.6))),
    _transfer, complete=_transfer_scales, variables=("n_params", "n_tuned", "pretrained"),
    zeros=("pretrained",), doc="Hernandez et al. 2021, eq. 1.1, in eq. 1.5 of Kaplan et al. 2020",
))  # fmt: skip
register_form(Form(
    "distillation", "L_T + L_T^-c0 (1 + (L_T/(d1 L_S))^(1/f1))^(-c1 f1) (A N^-alpha + B D^-beta)^gamma",
    (Parameter("c0", -10.0, 20.0, start=(1.0, 3.0)), _positive("c1", 30.0, 300.0),
     _positive("d1", 1.0, 1.5), _positive("f1", 0.05, 0.2), _positive("A", 300.0, 3000.0),
     _positive("B", 3000.0, 30000.0), Parameter("alpha", 0.0, 3.0, start=(0.35,)),
     Parameter("beta", 0.0, 3.0, start=(0.45,)), Parameter("gamma", 0.01, 5.0, start=(0.6,)),
     Parameter("E_s", 0.0), _positive("A_s"), _positive("B_s"), Parameter("alpha_s", 0.0, 3.0),
     Parameter("beta_s", 0.0, 3.0), Parameter("gamma_s", 0.01, 5.0)),
    _distillation, variables=(*NAMES, "teacher_loss"),
    doc="Busbridge et al. 2025, eq. 8; hold E_s … gamma_s at `coupled`, fitted without a teacher",
))  # fmt: skip


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


USUAL_WEIGHT = 0.3  # convention: about which the weights of `mixture_power_K` are quoted


def _count(domains: Any) -> int:
    count = int(domains)
    if not 2 <= count <= 30:
        raise BadInput(f"a mixture of {count} domains: give 2 to 30")
    return count


@family(r"data_mixing_(\d+)")
@checked
def data_mixing(domains: Any = 5) -> Form:
    """Ye et al. 2024, eq. 7, for that many domains."""
    count = _count(domains)

    def function(x: Any, floor: Any, k: Any, *slopes: Any) -> Any:
        return floor + k * np.exp(sum(t * x[j] for j, t in enumerate(slopes)))

    slopes = tuple(
        Parameter(f"t_{j + 1}", -50.0, 50.0, start=(-2.0, 0.0) if count <= 6 else (-0.5,), prior=(0.0, 3.0))
        for j in range(count - 1)
    )
    names = tuple(f"share_{j + 1}" for j in range(count))
    return Form(
        f"data_mixing_{count}", "c + k exp(Σ_j t_j r_j)",
        (Parameter("c", 0.0, linear=True), Parameter("k", 0.0, linear=True, log=True), *slopes), function,
        variables=names, zeros=names, doc="Ye et al. 2024, eq. 7",
    )  # fmt: skip


@family(r"mixture_power_(\d+)")
@checked
def mixture_power(domains: Any = 5) -> Form:
    """A power law of the effective share of a domain, to which every share counts with a weight."""
    count = _count(domains)

    def function(x: Any, floor: Any, a: Any, gamma: Any, *weights: Any) -> Any:
        worth = sum(t * x[j] for j, t in enumerate(weights))
        return floor + a * np.exp(-gamma * np.log(np.maximum(worth, 1e-12)))

    def starts(x: Any, y: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """The weights with which each domain alone would have the loss that a linear fit gives it."""
        alone = np.linalg.lstsq(x.T, y, rcond=None)[0]
        above = np.maximum(alone - 0.5 * np.min(y), 0.02 * np.min(y))
        logs = -np.log(above) / np.maximum(given["gamma"], 0.05)  # (nodes, domains)
        logs = np.clip(logs - logs.mean(axis=1, keepdims=True), -4.0, 4.0)
        return {f"t_{j + 1}": USUAL_WEIGHT * np.exp(logs[:, [j]]) for j in range(count)}

    weights = tuple(
        Parameter(f"t_{j + 1}", 1e-6, 1e3, log=True, start=(USUAL_WEIGHT,), prior=(USUAL_WEIGHT, 1.5))
        for j in range(count)
    )
    names = tuple(f"share_{j + 1}" for j in range(count))
    return Form(
        f"mixture_power_{count}", "c + A (Σ_j t_j r_j)^-gamma",
        (Parameter("c", 0.0, linear=True), Parameter("A", 0.0, linear=True, log=True),
         Parameter("gamma", 0.0, 5.0, start=(0.05, 0.1, 0.2, 0.4), prior=(0.2, 0.2)), *weights), function,
        complete=starts, variables=names, zeros=names,
        doc="a power law of the effective share of a domain",
    )  # fmt: skip


register_form(data_mixing(5))


def _error(x: Any, ceiling: Any, k: Any, gamma: Any) -> Any:
    return ceiling - k * np.exp(-gamma * x)


def _score(x: Any, low: Any, span: Any, slope: Any, middle: Any) -> Any:
    return low + span * expit(-slope * (x - middle))


def _inside(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.quantile(x, [0.0, 0.25, 0.5, 0.75, 1.0]))


def _accuracy_from_loss(values: Mapping[str, float]) -> dict[str, float]:
    return {"chance": values["low"], "ceiling": values["low"] + values["span"]}


def _saturating(x: Any, low: Any, ceiling: Any, slope: Any, middle: Any) -> Any:
    share = expit(slope * (np.log(x) - np.log(middle)))
    return low * (1 - share) + ceiling * share


def _pass_at_k(x: Any, a: Any, b: Any) -> Any:
    return np.exp(-a * np.exp(-b * np.log(x)))


def _pass_starts(x: Any, y: Any, starts: Mapping[str, Any]) -> dict[str, Any]:
    """a from the mean of ln(-ln y) at the starting b."""
    inner = np.log(-np.log(np.clip(y, 1e-12, 1 - 1e-12)))
    return {"a": np.exp(np.mean(inner + starts["b"] * np.log(x), axis=-1, keepdims=True))}


register_form(Form(
    "saturating_score", "low + (ceiling - low)/(1 + (middle/C)^slope)",
    (Parameter("low", 0.0, 1.0, linear=True), Parameter("ceiling", 0.0, 1.0, linear=True),
     Parameter("slope", 0.01, 50.0, log=True, start=(0.3, 0.6, 1.0, 2.0, 4.0)),
     Parameter("middle", 0.0, log=True, start=lambda x, y: np.exp(_inside(np.log(x), y)))),
    _saturating,
    doc="Khatri et al. 2025; x is the compute, scores from 0 to 1; fit it with space='raw'",
))  # fmt: skip
register_form(Form(
    "pass_at_k", "exp(-a k^-b)",
    (Parameter("a", 0.0, log=True), Parameter("b", 0.0, 5.0, start=(0.1, 0.3, 0.6, 1.0))),
    _pass_at_k, complete=_pass_starts, exponent="b",
    doc="Brown et al. 2024; x is the number of samples k",
))  # fmt: skip
register_form(Form(
    "error_from_loss", "ceiling - k exp(-gamma L)",
    (Parameter("ceiling", 0.0, linear=True), Parameter("k", 0.0, linear=True, log=True),
     Parameter("gamma", 0.0, 20.0, start=(0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5, 4.0))),
    _error, doc="Gadre et al. 2024, eq. 5: top-1 error, averaged over tasks; x is the loss",
))  # fmt: skip
register_form(Form(
    "score_from_loss", "low + span/(1 + exp(slope (L - middle)))",
    (Parameter("low", linear=True), Parameter("span", 0.0, linear=True, log=True),
     Parameter("slope", 0.01, 200.0, log=True, start=(0.5, 1.0, 2.0, 4.0, 8.0, 16.0)),
     Parameter("middle", start=_inside)),
    _score, derived=_accuracy_from_loss,
    doc="Bhagia et al. 2024, eq. 2; Llama 3, sec. 3.2.1; x is the loss",
))  # fmt: skip
