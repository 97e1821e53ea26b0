"""Forms of how a network is trained: over-training, learning rate and batch, transfer, distillation.

In `learning_rate_batch` u = ln rate - ln rate*(N, D) and v = ln batch - ln batch*(D), both optima power laws
as in the step law, and bend = h_r u² + h_b v² + 2 ρ √(h_r h_b) u v. In `transfer` D_E = D_F + p k D_F^δ N^ε:
p is 1 for a pretrained model and 0 for one from scratch. In `distillation` the gap to the teacher has the
factor g = L_T^-c0 (1 + (L_T/(d1 L_S))^(1/f1))^(-c1 f1) with the student's supervised loss
L_S = E_s + (A_s N^-α_s + B_s D^-β_s)^γ_s inside: hold those six at a fit of `coupled` to students without a
teacher.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scalinglab.laws.forms.base import Form, Parameter, register_form, sum_of_powers
from scalinglab.laws.forms.surfaces import (
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
