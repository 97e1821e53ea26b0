"""Figures 7 and 8: the white band-limited model, λ_k = 1 (App. H)."""

from __future__ import annotations

import math

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.papers.bordelon2024 import common
from scalinglab.papers.registry import Reproduction, Row
from scalinglab.simulate.random_features import train
from scalinglab.spectrum import Spectrum
from scalinglab.theory import dmft

MODES = {"smoke": 50, "laptop": 200}


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
        train(spectrum, times, round(nu * modes), round(alpha * modes), draws=common.DRAWS[scale])
        for nu in points
    ]
    curves = Curves.concat(parts)
    curves = Curves(
        curves.frame.assign(model_ratio=curves.frame["n_params"] / modes), settings=["model_ratio"]
    )
    stopped = [dmft.optimal_stopping(dmft.white.WHITE, nu, alpha).test_loss for nu in points]
    figure, axes = style.panels()
    axis = style.loglog(axes[0, 0], "ν = N/M", "test loss", "white features, α = 0.8: double descent")
    for t, color in zip(times, style.colors(times)):
        lines = curves.select(source="theory", time=t).frame.sort_values("model_ratio")
        mean = curves.select(source="simulate", time=t).average("seed").frame
        axis.plot(lines["model_ratio"], lines["test_loss"], color=color, label=f"t = {t:g}")
        style.points(axis, mean["model_ratio"], mean["test_loss"], mean["test_loss_stderr"], color=color)
    axis.plot(points, stopped, "--", color=style.INK, label="stopped at the best time")
    axis.legend(fontsize=7)
    late = curves.select(source="theory", time=1000.0).frame.sort_values("model_ratio")
    peak = float(late["model_ratio"].iloc[int(np.argmax(late["test_loss"]))])
    falling = bool(np.all(np.diff(stopped) < 0))
    table = (
        Row(
            "ν of the peak at t = 1000",
            "double descent, peak at ν = α = 0.8",
            peak,
            agrees=abs(peak / alpha - 1) < 0.1,
            note="within 10 %; the peak moves to α as t → ∞",
        ),
        Row(
            "stopped at the best time the loss falls with ν",
            "yes",
            "yes" if falling else "no",
            agrees=falling,
        ),
        common.agreement(
            curves.select(n_params=lambda n: np.abs(n / modes - alpha) > 0.05), until=100.0, allowed=0.05
        ),
    )
    return Reproduction(curves, figure, table)


def fig8(scale: str) -> Reproduction:
    """Transfer function at ν > 1: slower than e^−τ, as e^−τ cosh(τ/√ν)."""
    ratios = (2.0, 4.0, 16.0, 64.0)
    times = np.linspace(0, 6, 60)
    figure, axes = style.panels()
    axis = axes[0, 0]
    axis.set(
        yscale="log", xlabel="time τ", ylabel="transfer function H(τ)", title="slower timescales at ν > 1"
    )
    parts, table = [], []
    spectrum = _white(scale)
    modes, at = spectrum.n_modes, np.linspace(0.5, 6, 6)
    for nu, color in zip(ratios, style.colors(ratios)):
        solved = dmft.white.solve(times, nu)
        exact, approximate = solved.transfer(1), dmft.white.slow_transfer(times, nu)
        axis.plot(times, exact, color=color, label=f"ν = {nu:g}")
        axis.plot(times, approximate, ":", color=color)
        measured = _mean_transfer(spectrum, at, round(nu * modes), common.DRAWS[scale])
        style.points(
            axis, at, measured.mean(0), measured.std(0, ddof=1) / math.sqrt(len(measured)), color=color
        )
        setting = {"model": "white", "model_ratio": nu}
        parts.append(
            Curves(
                {**setting, "time": times, "transfer": exact, "approximation": approximate},
                settings=["model_ratio"], source="theory",
            )
        )  # fmt: skip
        seeds = np.repeat(np.arange(len(measured)), len(at))
        columns = {"seed": seeds, "time": np.tile(at, len(measured)), "transfer": measured.ravel()}
        parts.append(Curves({**setting, **columns}, settings=["model_ratio"], source="simulate"))
        expected = dmft.white.solve(at, nu).transfer(1)
        deviation = measured.mean(0) - expected
        error = measured.std(0, ddof=1) / math.sqrt(len(measured))
        table.append(
            Row(
                f"ν = {nu:g}: H(3) over e^−3, exact (and e^−τ cosh(τ/√ν))", "above 1: slower",
                float(dmft.white.solve(3.0, nu).transfer(1) / math.exp(-3)),
                agrees=float(dmft.white.solve(3.0, nu).transfer(1)) > math.exp(-3),
                note=f"approximation {math.cosh(3 / math.sqrt(nu)):.4g}; simulation within "
                f"{float(np.max(np.abs(deviation) / error)):.1f} standard errors",
            )
        )  # fmt: skip
    axis.plot(times, np.exp(-times), "--", color=style.INK, label="ν → ∞")
    axis.set_ylim(1e-3, 1.2)
    axis.legend(title="dotted: $e^{-τ}\\cosh(τ/\\sqrt{ν})$", fontsize=7)
    return Reproduction(Curves.concat(parts), figure, tuple(table))


def _mean_transfer(spectrum: Spectrum, times: np.ndarray, n_params: int, draws: int) -> np.ndarray:
    """tr e^{−AᵀA t/N}/M of each draw, (draws, times)."""
    found = []
    for draw in range(draws):
        features = np.random.default_rng([8, draw, n_params]).standard_normal((n_params, spectrum.n_modes))
        values = np.linalg.eigvalsh(features.T @ features / n_params)
        found.append(np.exp(-np.outer(times, values)).mean(axis=1))
    return np.array(found)
