"""Figures 7 and 8: the white band-limited model, λ_k = 1 (App. H)."""

from __future__ import annotations

import math

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.random_features import train
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Reproduction, Row, loglog_figure, verdict
from scalinglab.theory import dmft
from scalinglab_papers.bordelon2024 import common

MODES = {"smoke": 50, "laptop": 200}
TIMES = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])  # of the simulated transfer functions
THREE = 3  # the place of τ = 3 there


def _white(scale: str) -> Spectrum:
    modes = MODES[scale]
    return Spectrum(np.ones(modes), np.full(modes, 1 / modes))


def fig7(scale: str) -> Reproduction:
    """Loss against ν = N/M at α = P/M = 0.8, σ = 0: double descent late, monotonic when stopped in time."""
    spectrum, alpha = _white(scale), 0.8
    modes = spectrum.n_modes
    times = np.array([1.0, 4.0, 20.0, 100.0, 1000.0])
    ratios = np.unique(np.concatenate([np.geomspace(0.1, 4, 60), [alpha]]))
    points = np.array([0.1, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.4, 2.0, 4.0])
    if scale == "smoke":
        ratios, points = ratios[::4], points[1::4]
    parts = [
        dmft.solve(spectrum, times, nu * modes, alpha * modes).curves() for nu in np.union1d(ratios, points)
    ]
    parts += [
        train(
            spectrum, times, round(nu * modes), round(alpha * modes), draws=common.DRAWS[scale],
            seed=common.seed_of(70, place),
        )
        for place, nu in enumerate(points)
    ]  # fmt: skip
    curves = Curves.concat(parts)
    curves = Curves(
        curves.frame.assign(model_ratio=curves.frame["n_params"] / modes), settings=["model_ratio"]
    )
    stopped = [dmft.optimal_stopping(dmft.white.WHITE, nu, alpha).test_loss for nu in points]
    figure, axis = loglog_figure("ν = N/M", "test loss", "white features, α = 0.8: double descent")
    for t, color in zip(times, style.colors(times)):
        lines = curves.select(source="theory", time=t).frame.sort_values("model_ratio")
        mean = curves.select(source="simulate", time=t).average("seed").frame
        axis.plot(lines["model_ratio"], lines["test_loss"], color=color, label=f"t = {t:g}")
        style.points(axis, mean["model_ratio"], mean["test_loss"], mean["test_loss_stderr"], color=color)
    axis.plot(points, stopped, "--", color=style.INK, label="stopped at the best time")
    axis.legend(fontsize=7)
    peak = verdict.limit([_peak(alpha, time) for time in (1e3, 4e3, 16e3)])
    steps = np.array(stopped[1:]) / np.array(stopped[:-1])
    apart = [points[0], points[-1]]
    table = (
        peak.row(
            "ν at which the late loss peaks", paper=alpha,
            note="theory, limit of the peaks at t = 1000, 4000 and 16000; the paper: at N = P, ν = α",
        ),
        Row(
            "stopped at the best time the loss is monotonic: its largest ratio from one ν to the next",
            float(steps.max()), verdict.NUMERICAL, expected=1.0, relation="<", note="theory",
        ),
        *common.agreement(curves, [{"model_ratio": nu} for nu in apart], until=100.0),
    )  # fmt: skip
    return Reproduction(curves, figure, table)


def _peak(data_ratio: float, time: float) -> float:
    """ν at which the test loss at one time is largest."""
    from scipy.optimize import minimize_scalar

    def loss(log_ratio: float) -> float:
        return -float(dmft.solve(dmft.white.WHITE, time, math.exp(log_ratio), data_ratio).test_loss)

    ends = (math.log(0.7 * data_ratio), math.log(1.3 * data_ratio))
    return math.exp(float(minimize_scalar(loss, bounds=ends, options={"xatol": 1e-6}).x))


def fig8(scale: str) -> Reproduction:
    """Transfer function at ν > 1: slower than e^−τ, as e^−τ cosh(τ/√ν)."""
    ratios = (2.0, 4.0, 16.0, 64.0)
    times = np.linspace(0, 6, 60)
    figure, axes = style.panels()
    axis = axes[0, 0]
    axis.set(
        yscale="log", xlabel="time τ", ylabel="transfer function H(τ)", title="slower timescales at ν > 1"
    )
    parts: list[Curves] = []
    table: list[Row] = []
    modes, at = MODES[scale], TIMES
    for place, (nu, color) in enumerate(zip(ratios, style.colors(ratios))):
        solved = dmft.white.solve(times, nu)
        exact, approximate = solved.transfer(1), dmft.white.slow_transfer(times, nu)
        axis.plot(times, exact, color=color, label=f"ν = {nu:g}")
        axis.plot(times, approximate, ":", color=color)
        draws = 2 * common.DRAWS[scale]
        measured, half = (_mean_transfer(m, at, nu, draws, place) for m in (modes, modes // 2))
        error = measured.std(0, ddof=1) / math.sqrt(draws)
        style.points(axis, at, measured.mean(0), error, color=color)
        setting = {"model": "white", "model_ratio": nu}
        parts.append(
            Curves(
                {**setting, "time": times, "transfer": exact, "approximation": approximate},
                settings=["model_ratio"], source="theory",
            )
        )  # fmt: skip
        seeds = np.repeat(np.arange(draws), len(at))
        columns = {"seed": seeds, "time": np.tile(at, draws), "transfer": measured.ravel()}
        parts.append(Curves({**setting, **columns}, settings=["model_ratio"], source="simulate"))
        table.append(_slow_row(nu, 2 * measured[:, THREE] - half[:, THREE]))
    axis.plot(times, np.exp(-times), "--", color=style.INK, label="ν → ∞")
    axis.set_ylim(1e-3, 1.2)
    axis.legend(title="dotted: $e^{-τ}\\cosh(τ/\\sqrt{ν})$", fontsize=7)
    return Reproduction(Curves.concat(parts), figure, (*table, _first_order()))


def _slow_row(nu: float, drawn: np.ndarray) -> Row:
    """H(3) at infinite size in simulation against the theory, which lies above e^−3."""
    found, exact = verdict.mean(drawn), float(dmft.white.solve(3.0, nu).transfer(1))
    return found.row(
        f"ν = {nu:g}: H(3), simulation", expected=exact,
        note="extrapolated in 1/M from M and M/2; expected: the exact theory; e^−3 = 0.0498 at ν → ∞",
    )  # fmt: skip


def _first_order() -> Row:
    """The coefficient of 1/ν in H(3) e³, against eq. 111: cosh(3/√ν) = 1 + 9/(2ν) + …"""
    ratios = (64.0, 256.0, 1024.0)
    found = verdict.limit(
        [nu * (float(dmft.white.solve(3.0, nu).transfer(1)) * math.exp(3) - 1) for nu in ratios]
    )
    note = "eq. 111, for ν ≫ 1: cosh(3/√ν) = 1 + 9/(2ν) + …; limit of the exact theory"
    return found.row("ν (H(3)/e^−3 − 1) as ν → ∞", paper=4.5, note=note)


def _mean_transfer(modes: int, times: np.ndarray, ratio: float, draws: int, place: int) -> np.ndarray:
    """tr e^{−AᵀA t/N}/M of each draw with M modes and N = ν M, (draws, times)."""
    size, found = round(ratio * modes), []
    for draw in range(draws):
        random = np.random.default_rng([common.seed_of(80, place), draw, modes])
        features = random.standard_normal((size, modes))
        values = np.linalg.eigvalsh(features.T @ features / size)
        found.append(np.exp(-np.outer(times, values)).mean(axis=1))
    return np.array(found)
