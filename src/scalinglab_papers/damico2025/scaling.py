"""The perceptron's scaling laws in D'Amico et al. 2025: Fig. 2b, Fig. 5, and the talk's relative error."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.results.distributions import slope
from scalinglab.studies import Number, Reproduction, Row, loglog_figure, verdict
from scalinglab.theory import perceptron as theory

LOADS = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000.0])
RESCALED = np.geomspace(1e-3, 1e3, 181)  # λ/λ_opt
POINTS = {"smoke": 9, "laptop": 33, "gpu": 33}


# --- Fig. 2b -----------------------------------------------------------------------------------------


@mpl.rc_context(style.STYLE)
def fig2b(scale: str) -> Reproduction:
    """The curves rescaled by their optima, with λ_opt and ε_opt against the load as insets."""
    best = theory.optimal_sharpness(LOADS)
    exact = theory.fixed_norm(LOADS[:, None], RESCALED * best.sharpness[:, None])
    rescaled = exact.error / best.error[:, None]
    dense = theory.optimal_sharpness(np.geomspace(0.1, 1e4, POINTS[scale]))
    master_best = theory.optimal_sharpness(1e10)
    master = theory.fixed_norm(1e10, RESCALED * master_best.sharpness).error / master_best.error

    figure, axis = loglog_figure(
        r"$\lambda/\lambda_{\mathrm{opt}}$",
        r"$\epsilon/\epsilon_{\mathrm{opt}}$",
        "the curves collapse as the load grows",
        size=(7.2, 4.8),
    )
    for color, row, load in zip(style.colors(LOADS), rescaled, LOADS):
        axis.plot(RESCALED, row, color=color, label=f"α = {load:g}", linewidth=1.3)
    axis.plot(RESCALED, master, color=style.INK, linestyle="--", linewidth=1, label="α → ∞")
    axis.set(ylim=(0.9, 40), xlim=(1e-3, 1e3))
    axis.legend(loc="center right", bbox_to_anchor=(1.0, 0.35), ncols=3)
    _inset(axis, [0.47, 0.66, 0.21, 0.30], dense.load, dense.sharpness, r"$\lambda_{\mathrm{opt}}$", +1)
    _inset(axis, [0.77, 0.66, 0.21, 0.30], dense.load, dense.error, r"$\epsilon_{\mathrm{opt}}$", -1)
    optima = Curves(
        {
            "model": "perceptron", "load": dense.load, "norm": dense.sharpness,
            "test_error": dense.error, "bayes_error": theory.bayes(dense.load).error,
        },
        source="theory", experiment="optimum",
    )  # fmt: skip
    return Reproduction(Curves.concat([exact.curves(), optima]), figure, _table_fig2b(rescaled, master))


def _inset(axis: Any, place: list[float], x: np.ndarray, y: np.ndarray, name: str, power: int) -> None:
    inset = axis.inset_axes(place)
    style.loglog(inset, "α", name)
    inset.plot(x, y, color=style.PALETTE[0], linewidth=1.3)
    inset.plot(
        x[x > 5], y[-1] * (x[x > 5] / x[-1]) ** power * 1.8, color=style.INK, linestyle=":", linewidth=1
    )
    large = x >= 10
    fitted = slope(np.log(x[large]), np.log(y[large])).value
    inset.set_title(f"slope {fitted:+.3f}", fontsize=8, loc="center")
    inset.tick_params(labelsize=7)
    inset.xaxis.label.set_size(8)
    inset.yaxis.label.set_size(8)


def local(x: np.ndarray, y: np.ndarray) -> Number:
    """Limit of the local exponents d ln y/d ln x."""
    return verdict.limit(verdict.local_slopes(x, y))


def _table_fig2b(rescaled: np.ndarray, master: np.ndarray) -> tuple[Row, ...]:
    loads = np.geomspace(1, 1e4, 5)
    best = theory.optimal_sharpness(loads)
    linear, falling = local(loads, best.sharpness), local(loads, best.error)
    rows = [
        linear.row("exponent of λ_opt(α) as α → ∞", paper=1.0, resolution=0.01,
                   note="theory; the paper: linear"),
        falling.row("exponent of ε_opt(α) as α → ∞", expected=-1.0, resolution=0.01,
                    note="theory; the paper: a power law; expected: the exponent of Bayes"),
    ]  # fmt: skip
    for load in (1.0, 10.0, 1e4):
        gap = float(theory.optimal_sharpness(load).error / theory.bayes(load).error) - 1
        note = "theory; the paper: matches Bayes; close, not equal: a plateau of 6.3e-4 at large load"
        name = f"ε_opt/ε_Bayes − 1 at load {load:g}"
        rows.append(Number(gap, verdict.NUMERICAL).row(name, expected=0.0, resolution=1e-3, note=note))
    exact: dict[str, Any] = {"expected": 0.0, "resolution": 0.01}
    distance = {load: np.abs(np.log(row / master)) for load, row in zip(LOADS, rescaled)}
    right, left = RESCALED >= 1, (RESCALED >= 0.1) & (RESCALED <= 1)
    for part, claim, words in (
        (right, "perfect", "λ ≥ λ_opt"),
        (left, "if α is large", "0.1 λ_opt ≤ λ ≤ λ_opt"),
    ):
        found = verdict.limit([distance[load][part].max() for load in (10.0, 100.0, 1000.0)])
        note = f"in ln ε; theory; the paper: collapse {claim}"
        rows.append(found.row(f"largest distance from the master curve, {words}, α → ∞", **exact, note=note))
    note = "in ln ε; theory; the paper: perfect"
    for load in (1.0, 10.0):
        found = verdict.largest(distance[load][right])
        rows.append(found.row(f"the same, λ ≥ λ_opt, at load {load:g}", **exact, note=note))
    return tuple(rows)


# --- Fig. 5 ------------------------------------------------------------------------------------------

FIG5 = {"gamma_1": 0.6, "k_1": 50.0, "q_1": 0.01, "gamma_2": 1.0, "k_2": 1.0, "q_2": 1000.0}


def combined_law(
    n_data: np.ndarray, gamma_1: float, k_1: float, q_1: float, gamma_2: float, k_2: float, q_2: float
) -> np.ndarray:
    """Eq. 6: ε(P) = k₁ (k₂ P^γ₂ + q₂)^(−γ₁) + q₁."""
    return k_1 * (k_2 * n_data**gamma_2 + q_2) ** -gamma_1 + q_1


def thresholds(
    gamma_1: float, k_1: float, q_1: float, gamma_2: float, k_2: float, q_2: float
) -> tuple[float, float]:
    """P₋ = (q₂/k₂)^(1/γ₂), where learning begins, and P₊ = (k₁k₂^(−γ₁)/q₁)^(1/γ₁γ₂), where it saturates."""
    begins = (q_2 / k_2) ** (1 / gamma_2)
    return begins, (k_1 * k_2**-gamma_1 / q_1) ** (1 / (gamma_1 * gamma_2))


@mpl.rc_context(style.STYLE)
def fig5(scale: str) -> Reproduction:
    """The two power laws combined, with both thresholds and the three regimes."""
    n_data = np.geomspace(1, 1e9, 181)
    error = combined_law(n_data, **FIG5)
    begins, saturates = thresholds(**FIG5)
    middle = FIG5["k_1"] * FIG5["k_2"] ** -FIG5["gamma_1"] * n_data ** (-FIG5["gamma_1"] * FIG5["gamma_2"])
    plateau = FIG5["k_1"] * FIG5["q_2"] ** -FIG5["gamma_1"] + FIG5["q_1"]

    figure, axis = loglog_figure(
        "training examples P", "generalization error ε", "two power laws combined", size=(5.6, 4.0)
    )
    axis.axvspan(1, begins, color=style.PALETTE[0], alpha=0.07, linewidth=0)
    axis.axvspan(saturates, 1e9, color=style.PALETTE[1], alpha=0.07, linewidth=0)
    axis.plot(n_data, error, color=style.PALETTE[0], label="eq. 6", linewidth=2)
    span = (n_data > begins / 3) & (n_data < saturates * 3)
    axis.plot(
        n_data[span],
        middle[span],
        color=style.INK,
        linestyle="--",
        linewidth=1,
        label=r"$k_1 k_2^{-\gamma_1} P^{-\gamma_1\gamma_2}$",
    )
    for value, name in ((begins, "P₋"), (saturates, "P₊")):
        axis.axvline(value, color=style.MUTED, linestyle=":", linewidth=1)
        axis.annotate(name, (value, 1.3), xytext=(3, 0), textcoords="offset points", color=style.MUTED)
    for x, text in ((np.sqrt(begins), "low-P plateau"), (np.sqrt(saturates * 1e9), "large-P plateau"),
                    (np.sqrt(begins * saturates), "power law")):  # fmt: skip
        axis.annotate(text, (x, 0.0065), ha="center", fontsize=8, color=style.MUTED)
    axis.set(xlim=(1, 1e9), ylim=(0.005, 2))
    axis.legend(loc="lower left", bbox_to_anchor=(0.0, 0.1))
    slopes = np.gradient(np.log(error), np.log(n_data))
    steepest = verdict.largest(-slopes)
    rows = (
        Row("error of the low-P plateau", plateau, verdict.NUMERICAL, paper=0.9,
            note="the paper: that of a random guess, 9/10 for CIFAR-10; its own parameters give 0.802"),
        steepest.row("steepest local exponent, sign reversed", paper=0.6,
            note="the paper: γ₁γ₂ between the plateaus, which are three decades apart here and flatten it"),
    )  # fmt: skip
    curves = Curves({"n_data": n_data, "test_error": error, "slope": slopes}, source="theory")
    return Reproduction(curves, figure, rows)


# --- the talk ----------------------------------------------------------------------------------------


@mpl.rc_context(style.STYLE)
def relative_error(scale: str) -> Reproduction:
    """Error over its value at λ = 0: the two laws in λ and what they predict for the load."""
    loads = np.array([1, 3, 10, 30, 100, 300, 1000, 3000, 1e4])
    sharpnesses = np.geomspace(1e-2, 1e5, {"smoke": 71}.get(scale, 281))
    exact = theory.fixed_norm(loads[:, None], sharpnesses)
    base = theory.hebb(loads).error
    best = theory.optimal_sharpness(loads)
    figure, axis = loglog_figure(
        "sharpness λ", "relative error ε/ε₀", "error relative to its value at λ = 0", size=(5.8, 4.2)
    )
    for color, row, index in zip(style.colors(loads), exact.error / base[:, None], range(len(loads))):
        axis.plot(sharpnesses, row, color=color, label=f"α = {loads[index]:g}")
        axis.plot(best.sharpness[index], best.error[index] / base[index], "*", color=color, markersize=9,
                  markeredgecolor="white")  # fmt: skip
    amplitude = float(theory.intermediate_error(1.0, 1.0)) * np.sqrt(2 * np.pi)  # ε₀ = 1/√(2πα)
    guide = np.geomspace(1, 1e4, 2)
    axis.plot(guide, amplitude * guide**-0.5, color=style.INK, linestyle=":", linewidth=1.2)
    style.slope(axis, 30.0, 0.55 * amplitude * 30**-0.5, rf"${amplitude:.3f}\,\lambda^{{-1/2}}$", ha="right")
    axis.set(ylim=(7e-3, 1.6))
    axis.legend(loc="lower left")

    large = loads >= 10
    optimum = local(loads[large], (best.error / base)[large])
    spread = verdict.limit([_spread(np.array([load, 10 * load]), 3.0) for load in (10.0, 100.0, 1000.0)])
    rows = (
        Row("exponent of ε̂_opt in the load, sign reversed", -optimum.value, optimum.stderr,
            expected=0.5, note="theory; the talk: γ₁γ₂, here 1/2 · 1, which are judged in fig2a and fig2b"),
        spread.row("one early curve: distance of ε̂ at loads α and 10α, λ = 3, α → ∞", expected=0.0,
                   resolution=0.01, note="in ln ε̂; theory"),
    )  # fmt: skip
    return Reproduction(exact.curves(), figure, rows)


def _spread(loads: np.ndarray, sharpness: float) -> float:
    relative = np.log(theory.fixed_norm(loads, sharpness).error / theory.hebb(loads).error)
    return float(np.ptp(relative))
