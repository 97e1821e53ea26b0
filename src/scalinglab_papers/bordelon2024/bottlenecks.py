"""Figure 2: the bottlenecks of time, model and data for power-law features, a = 1.5 and b = 1.25.

(a) dynamics at several N; (b) early on the loss approaches its limit as 1/N; (c) at the end it falls as
N^-(a−1). (d)–(f) the same with N and P exchanged.

How far systems of finite size are from the mean-field theory: the excess falls as 1/N.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.random_features import train
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Reproduction, Row, loglog_figure
from scalinglab.theory import bottlenecks, dmft
from scalinglab_papers.bordelon2024 import common

STACK = 100  # draws at a time


def finite_size(scale: str) -> Reproduction:
    """Mean simulated loss over theory − 1, at N : P = 1 : 2 and several sizes."""
    spectrum = Spectrum.power_law(common.TASK, common.SPECTRAL, {"smoke": 100, "laptop": 200}[scale])
    sizes = {"smoke": (8, 16), "laptop": (12, 24, 48, 96)}[scale]
    draws = {"smoke": (1000, 500), "laptop": (40_000, 30_000, 12_000, 12_000)}[scale]
    times = np.array([20.0, 200.0])
    parts = []
    for place, (size, count) in enumerate(zip(sizes, draws)):
        losses = over_signs(spectrum, times, size, count, common.seed_of(90, place))
        solved = dmft.solve(spectrum, times, size, 2 * size)
        excess = losses / solved.test_loss - 1
        parts.append(pd.DataFrame({
            "n_params": float(size), "time": times, "test_loss": losses.mean(0), "excess": excess.mean(0),
            "excess_stderr": excess.std(0, ddof=1) / np.sqrt(count),
        }))  # fmt: skip
    curves = Curves(pd.concat(parts, ignore_index=True), source="simulate")
    figure, axis = loglog_figure("N, with P = 2N", "simulated over theory − 1", "finite-size excess")
    table, order = [], "fit with the next order; " if len(sizes) > 3 else ""
    for t, color in zip(times, style.PALETTE):
        mean = curves.select(time=t).frame.sort_values("n_params")
        style.points(
            axis, mean["n_params"], mean["excess"], mean["excess_stderr"], color=color, label=f"t = {t:g}"
        )
        slope, stderr = power(*(mean[c].to_numpy() for c in ("n_params", "excess", "excess_stderr")))
        last = mean.iloc[-1]
        table.append(
            Row(
                f"exponent of the excess in N at t = {t:g}", slope, stderr, min(draws), paper=-1.0,
                note=f"the paper: O(1/N + 1/P); {order}N = {sizes[0]} … {sizes[-1]}, P = 2N; "
                f"excess {last['excess']:.2%} ± {last['excess_stderr']:.2%} at N = {sizes[-1]}",
            )
        )  # fmt: skip
    common.guide(axis, np.array(sizes, float), float(mean["excess"].iloc[0]) * 0.7, -1.0, "$N^{-1}$")
    axis.legend()
    return Reproduction(curves, figure, tuple(table))


def over_signs(spectrum: Spectrum, times: np.ndarray, size: int, draws: int, seed: int) -> np.ndarray:
    """(draws, times) test losses of gradient flow on P = 2N examples, averaged over the signs of the targets.

    Another sign of a target's mode is the same as another sign of that mode in features and data, which are
    Gaussian: the mean is that of one target, and at N = 96 it takes a fortieth of the draws. With the
    covariance of the features as V diag(k) Vᵀ, gains g = (1 − exp(−k t))/k and learnt weights L diag(g) R w,
    the mean over signs of (w − L g R w)ᵀ Λ (w − L g R w) is Σ w²Λ − 2 h·g + gᵀ (LᵀΛL ∘ R w² Rᵀ) g.
    """
    random, found = np.random.default_rng(seed), []
    values = np.array(spectrum.eigenvalues)
    power = np.array(spectrum.target_power) / values
    for start in range(0, draws, STACK):
        count = min(STACK, draws - start)
        features = random.standard_normal((count, size, len(values))) / np.sqrt(size)
        examples = random.standard_normal((count, 2 * size, len(values))) * np.sqrt(values)
        seen = examples @ features.swapaxes(1, 2)
        k, basis = np.linalg.eigh(seen.swapaxes(1, 2) @ seen / (2 * size))
        left = basis.swapaxes(1, 2) @ features
        right = (seen @ basis).swapaxes(1, 2) @ examples / (2 * size)
        linear = np.einsum("dnm,dnm,m->dn", left, right, power * values)
        square = ((left * values) @ left.swapaxes(1, 2)) * ((right * power) @ right.swapaxes(1, 2))
        gain = -np.expm1(-k[:, None] * times[:, None]) / k[:, None]
        found.append(power @ values - 2 * np.einsum("dtn,dn->dt", gain, linear)
                     + np.einsum("dtn,dnm,dtm->dt", gain, square, gain, optimize=True))  # fmt: skip
    return np.concatenate(found)


def power(x: np.ndarray, y: np.ndarray, error: np.ndarray) -> tuple[float, float]:
    """s and its standard error of y = c x^s (1 + e/x), by least squares in y itself, which may be negative.

    With fewer than four sizes e = 0: the next order cannot be told from another exponent.
    """
    from scipy.optimize import curve_fit

    start = (float(y[0] * x[0]), -1.0, 0.0)[: 3 if len(x) > 3 else 2]
    best, covariance = curve_fit(
        lambda at, c, s, e=0.0: c * at**s * (1 + e / at), x.astype(float), y, start, sigma=error,
        absolute_sigma=True,
    )  # fmt: skip
    return float(best[1]), float(np.sqrt(covariance[1, 1]))


SIZES = {"smoke": (8, 32), "laptop": (16, 32, 64, 128, 256)}
NAMES = {"n_params": ("N", "P"), "n_data": ("P", "N")}
FIGURE = {(panel, by): 20 + 2 * i + j for i, panel in enumerate("abc") for j, by in enumerate(NAMES)}


def dynamics(scale: str, by: str) -> Reproduction:
    """Dynamics at several N and infinite data, or at several P and infinitely many features."""
    letter, _ = NAMES[by]
    spectrum, sizes = common.power_law(scale), (*SIZES[scale], math.inf)
    times, simulated = np.geomspace(0.3, 1e5, 60), np.geomspace(0.3, 1e5, 12)
    settings = [_size(by, size) for size in sizes]
    curves = common.theory_and_simulation(
        spectrum, settings, times, simulated, common.DRAWS[scale], FIGURE["a", by]
    )
    predicted = bottlenecks.exponents(common.TASK, common.SPECTRAL).time
    figure, axis = loglog_figure("time t", "test loss", f"loss dynamics at several {letter}")
    common.draw(axis, curves, by, sizes, name=letter)
    limit = common.theory(curves, **{by: math.inf}).set_index("time")["test_loss"]
    ends = np.array([t for t in limit.index if 2 <= t <= 40])
    common.guide(axis, ends, float(limit.loc[ends[0]]) * 0.6, -predicted, f"$t^{{-{predicted:g}}}$")
    slowest = common.theory(curves, **{by: sizes[-2]})["test_loss"].min()
    axis.set_ylim(float(slowest) / 2, 2 * float(limit.max()))  # the limit falls far below
    axis.legend(ncols=2)
    table = common.agreement(curves, common.extreme_sizes(by, sizes))
    if by == "n_params":  # the same at infinite P
        far = np.array([1e5, 1e6, 1e7, 1e8])
        losses = dmft.solve(Spectrum.power_law(common.TASK, common.SPECTRAL, 10**18), far).test_loss
        name, note = "time bottleneck: slope of L(t) at infinite N and P", "theory, 10¹⁸ modes, t up to 1e8"
        table.insert(0, common.slope_row(name, -predicted, far, losses, note))
    return Reproduction(curves, figure, tuple(table))


def early(scale: str, by: str) -> Reproduction:
    """The early approach to infinite N or P."""
    letter, _ = NAMES[by]
    spectrum = common.power_law(scale)
    sizes = {"smoke": (8, 32, 128), "laptop": (8, 16, 32, 64, 128, 256)}[scale]
    draws = {"smoke": 100, "laptop": 1500}[scale]
    times = np.array([1.0, 4.0, 16.0])
    limit = dmft.early(spectrum, times)
    grid = np.union1d(np.geomspace(sizes[0], 1e5, 25), sizes)
    parts = [dmft.solve(spectrum, times, **_size(by, size)).curves() for size in grid]
    parts += [
        train(
            spectrum, times, **_size(by, size), draws=max(100, draws * sizes[0] // size),
            seed=common.seed_of(FIGURE["b", by], place),
        )
        for place, size in enumerate(sizes)
    ]  # fmt: skip
    curves = Curves.concat(parts)
    base = curves.frame["time"].map(dict(zip(times.tolist(), limit.limit.tolist())))
    curves = Curves(curves.frame.assign(excess=curves.frame["test_loss"] - base), settings=curves.settings)
    coefficient = limit.per_params if by == "n_params" else limit.per_data
    figure, axis = loglog_figure(f"{letter}", f"L(t, {letter}) − L(t, ∞)", f"early in training: 1/{letter}")
    table: list[Row] = []
    for index, (t, color) in enumerate(zip(times, style.colors(times))):
        lines = curves.select(source="theory", time=t).frame.sort_values(by).drop_duplicates(by)
        axis.plot(lines[by], lines["excess"], color=color, label=f"t = {t:g}")
        axis.plot(lines[by], coefficient[index] / lines[by], ":", color=color, linewidth=1.0)
        mean = curves.select(source="simulate", time=t).average("seed").frame.sort_values(by)
        good = mean[mean["excess"] > 2 * mean["excess_stderr"]]
        style.points(axis, good[by], good["excess"], good["excess_stderr"], color=color)
        far = lines[lines[by] >= 1e4]
        table.append(
            common.slope_row(
                f"slope of L(t, {letter}) − L(t, ∞) at t = {t:g}, theory", -1.0,
                far[by].to_numpy(), far["excess"].to_numpy(),
                f"{letter} up to 1e5; dotted: first order, {coefficient[index]:.3g}/{letter}",
            )
        )  # fmt: skip
        if len(good) >= 3:
            at, error = good[by].to_numpy(), good["excess_stderr"].to_numpy()
            slope, stderr = common.log_slope(at, good["excess"].to_numpy(), error)
            expected, _ = common.log_slope(at, np.interp(at, lines[by], lines["excess"]), error)
            table.append(
                Row(
                    f"the same in simulation at t = {t:g}, {letter} = {at.min():g} … {at.max():g}",
                    slope, stderr, int(good["count"].min()), expected=expected,
                    note="expected: the theory at these sizes; the paper's −1 is for large ones",
                )
            )  # fmt: skip
    axis.legend(title="dotted: first order in 1/" + letter)
    return Reproduction(curves, figure, tuple(table))


def final(scale: str, by: str) -> Reproduction:
    """The final loss against N or P."""
    letter, other = NAMES[by]
    spectrum, sizes = common.power_law(scale), SIZES[scale]
    predicted = bottlenecks.exponents(common.TASK, common.SPECTRAL)
    exponent = predicted.params if by == "n_params" else predicted.data
    end = 1e12  # every mode that will be learnt is
    grid = np.geomspace(sizes[0], sizes[-1], 25)
    parts = [dmft.solve(spectrum, [end], **_size(by, size)).curves() for size in np.union1d(grid, sizes)]
    parts += [
        train(
            spectrum, [end], **_size(by, size), draws=common.DRAWS[scale],
            seed=common.seed_of(FIGURE["c", by], place),
        )
        for place, size in enumerate(sizes)
    ]  # fmt: skip
    curves = Curves.concat(parts)
    figure, axis = loglog_figure(letter, "final test loss", f"at the end of training: ${letter}^{{-(a-1)}}$")
    lines = curves.select(source="theory").frame.sort_values(by).drop_duplicates(by)
    axis.plot(
        lines[by], lines["test_loss"], color=style.PALETTE[0], label=f"theory, {spectrum.n_modes} modes"
    )
    huge = Spectrum.power_law(common.TASK, common.SPECTRAL, 10**18)
    ideal = [dmft.final(huge, **{by: float(size)}).test_loss for size in grid]
    axis.plot(grid, ideal, color=style.PALETTE[1], label="theory, 10¹⁸ modes")
    mean = curves.select(source="simulate").average("seed").frame.sort_values(by)
    spread = mean["test_loss_stderr"] * np.sqrt(mean["count"])
    style.points(axis, mean[by], mean["test_loss"], spread, color=style.PALETTE[0], label="simulation, ± std")
    common.guide(axis, grid[12:], ideal[12] * 0.8, -exponent, f"${letter}^{{-{exponent:g}}}$", beside=True)
    axis.legend()
    far = np.array([1e2, 1e3, 1e4, 1e5])
    losses = np.array([dmft.final(huge, **{by: float(size)}).test_loss for size in far])
    name = f"slope of the final loss in {letter} (t, {other} → ∞)"
    law = common.slope_row(name, -exponent, far, losses, f"theory, 10¹⁸ modes, {letter} up to 1e5")
    return Reproduction(curves, figure, (law, *common.agreement(curves, common.extreme_sizes(by, sizes))))


def _size(by: str, size: float) -> dict[str, Any]:
    return {by: float(size)}
