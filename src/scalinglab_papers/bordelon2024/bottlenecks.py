"""Figure 2: the bottlenecks of time, model and data for power-law features, a = 1.5 and b = 1.25.

(a) dynamics at several N; (b) early on the loss approaches its limit as 1/N; (c) at the end it falls as
N^-(a−1). (d)–(f) the same with N and P exchanged.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.random_features import train
from scalinglab.spectrum import Spectrum
from scalinglab.studies.draws import loglog_figure
from scalinglab.studies.registry import Reproduction
from scalinglab.studies.verdict import Row
from scalinglab.theory import bottlenecks, dmft
from scalinglab_papers.bordelon2024 import common

SIZES = {"smoke": (8, 32), "laptop": (16, 32, 64, 128, 256)}
NAMES = {"n_params": ("N", "P"), "n_data": ("P", "N")}
FIGURE = {(panel, by): 20 + 2 * i + j for i, panel in enumerate("abc") for j, by in enumerate(NAMES)}


def dynamics(scale: str, by: str) -> Reproduction:
    """Dynamics at several N and infinite data, or at several P and infinitely many features."""
    letter, _ = NAMES[by]
    spectrum, sizes = common.power_law(scale), (*SIZES[scale], math.inf)
    times, simulated = np.geomspace(0.3, 1e5, 60), np.geomspace(0.3, 1e5, 12)
    settings = [_size(by, size) for size in sizes]
    curves = common.both(spectrum, settings, times, simulated, common.DRAWS[scale], FIGURE["a", by])
    predicted = bottlenecks.exponents(common.TASK, common.SPECTRAL).time
    figure, axis = loglog_figure("time t", "test loss", f"loss dynamics at several {letter}")
    common.draw(axis, curves, by, sizes, name=letter)
    limit = common.theory(curves, **{by: math.inf}).set_index("time")["test_loss"]
    ends = np.array([t for t in limit.index if 2 <= t <= 40])
    common.guide(axis, ends, float(limit.loc[ends[0]]) * 0.6, -predicted, f"$t^{{-{predicted:g}}}$")
    slowest = common.theory(curves, **{by: sizes[-2]})["test_loss"].min()
    axis.set_ylim(float(slowest) / 2, 2 * float(limit.max()))  # the limit falls far below
    axis.legend(ncols=2)
    table = common.agreement(curves, common.ends(by, sizes))
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
            seed=common.fresh(FIGURE["b", by], place),
        )
        for place, size in enumerate(sizes)
    ]  # fmt: skip
    curves = _with_excess(Curves.concat(parts), times, limit.limit)
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


def _with_excess(curves: Curves, times: np.ndarray, limit: np.ndarray) -> Curves:
    base = curves.frame["time"].map(dict(zip(times.tolist(), limit.tolist())))
    return Curves(curves.frame.assign(excess=curves.frame["test_loss"] - base), settings=curves.settings)


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
            seed=common.fresh(FIGURE["c", by], place),
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
    ideal = [_end(huge, by, size) for size in grid]
    axis.plot(grid, ideal, color=style.PALETTE[1], label="theory, 10¹⁸ modes")
    mean = curves.select(source="simulate").average("seed").frame.sort_values(by)
    spread = mean["test_loss_stderr"] * np.sqrt(mean["count"])
    style.points(axis, mean[by], mean["test_loss"], spread, color=style.PALETTE[0], label="simulation, ± std")
    common.guide(axis, grid[12:], ideal[12] * 0.8, -exponent, f"${letter}^{{-{exponent:g}}}$", beside=True)
    axis.legend()
    far = np.array([1e2, 1e3, 1e4, 1e5])
    losses = np.array([_end(huge, by, size) for size in far])
    name = f"slope of the final loss in {letter} (t, {other} → ∞)"
    law = common.slope_row(name, -exponent, far, losses, f"theory, 10¹⁸ modes, {letter} up to 1e5")
    return Reproduction(curves, figure, (law, *common.agreement(curves, common.ends(by, sizes))))


def _size(by: str, size: float) -> dict[str, Any]:
    return {by: float(size)}


def _end(spectrum: Spectrum, by: str, size: float) -> float:
    return dmft.final(spectrum, **{by: float(size)}).test_loss
