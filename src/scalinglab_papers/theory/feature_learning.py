"""Trained features: exponents of hard and easy tasks in time and compute, and the way from lazy to rich."""

from __future__ import annotations

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate import feature_learning as simulated
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Reproduction, Row, by_draw, draw_means, verdict
from scalinglab.theory import dmft, feature_learning

CASES = {
    "smoke": ((1.6, 1.5),),
    "laptop": ((1.3, 1.5), (1.6, 1.5), (1.5, 2.0), (1.9, 1.2), (2.6, 1.4), (3.0, 1.5)),
}
MODES = 10**30
LAST = {"smoke": 1e5, "laptop": 1e9}
BUDGETS = (1e8, 1e10, 1e12)
RICHNESS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
SIMULATED = {"smoke": (16, 3), "laptop": (96, 24)}  # projections and draws
WITHIN = 0.02


def exponents(scale: str) -> Reproduction:
    """Loss against time, lazy and rich; the exponents in time and in compute; a simulation."""
    figure, axes = style.panels(1, 2)
    table: list[Row] = []
    parts: list[Curves] = []
    last = LAST[scale]
    times = np.geomspace(1, last, 6 * int(np.log10(last)) + 1)
    style.loglog(axes[0, 0], "time", "test loss", "hard task, a = 1.6, b = 1.5 (β = 0.4)")
    for task, spectral in CASES[scale]:
        spectrum = Spectrum.power_law(task, spectral, MODES)
        found = feature_learning.solve(spectrum, times)
        parts.append(found.curves())
        chi, compute = feature_learning.exponents(task, spectral)
        at = f"a = {task:g}, b = {spectral:g}, β = {(task - 1) / spectral:.3g}"
        table.append(
            verdict.decades(times, found.test_loss).row(f"{at}: exponent in time", paper=chi, relation="in",
                                                resolution=WITHIN * chi, note=f"solved to t = {last:g}")
        )  # fmt: skip
        if task - 1 < spectral and scale != "smoke":
            frontier = feature_learning.compute_optimal(spectrum, BUDGETS, per_decade=2)
            loss = frontier.local_exponents()[0]
            table.append(
                verdict.refined(loss[-2], loss[-1]).row(
                    f"{at}: exponent in compute", paper=compute, relation="in", resolution=WITHIN * compute,
                    note=f"exact frontier, C up to {BUDGETS[-1]:g}")
            )  # fmt: skip
        if (task, spectral) == (1.6, 1.5):
            lazy = dmft.solve(spectrum, times).test_loss
            axes[0, 0].plot(
                times, lazy, color=style.MUTED, label=f"lazy, $t^{{-{(task - 1) / spectral:.3f}}}$"
            )
            axes[0, 0].plot(times, found.test_loss, color=style.PALETTE[1], label=f"rich, $t^{{-{chi:.3f}}}$")
    table += _simulated(axes[0, 0], scale, parts)
    axes[0, 0].legend()
    _crossover(axes[0, 1], scale, table)
    return Reproduction(Curves.concat(parts), figure, tuple(table))


def _simulated(axis: style.Panel, scale: str, parts: list[Curves]) -> list[Row]:
    """Every weight of a finite network, integrated, beside the solution of the same size."""
    spectrum, at = Spectrum.power_law(1.6, 1.5, 400), np.array([1, 3, 10, 30, 100.0])
    size, draws = SIMULATED[scale]
    drawn = simulated.train(spectrum, at, 1.0, size, draws=draws)
    parts.append(drawn)
    _, losses = by_draw(drawn.frame, "time")
    draw_means(axis, at, losses, color=style.INK, label=f"simulated, N = {size}")
    solved = feature_learning.solve(spectrum, at, 1.0, size).test_loss
    axis.plot(at, solved, ":", color=style.INK, label=f"solved, N = {size}")
    ratio = verdict.mean(losses[:, -1] / solved[-1])
    quantity = f"simulated over solved loss at t = {at[-1]:g}, N = {size}"
    note = f"{draws} draws; finite networks differ by about 1/N"
    return [ratio.row(quantity, expected=1.0, relation="in", resolution=0.05, note=note)]


def _crossover(axis: style.Panel, scale: str, table: list[Row]) -> None:
    """Local exponents against time at several richness, and when rates have doubled."""
    task, spectral = 1.6, 1.5
    beta = (task - 1) / spectral
    last = LAST[scale]
    times = np.geomspace(1, last, 6 * int(np.log10(last)) + 1)
    spectrum = Spectrum.power_law(task, spectral, MODES)
    chosen = RICHNESS[2:] if scale == "smoke" else RICHNESS
    when = []
    for richness, color in zip(chosen, style.colors(chosen)):
        found = feature_learning.solve(spectrum, times, richness)
        local = -verdict.local_slopes(times, found.test_loss)
        axis.semilogx(np.sqrt(times[1:] * times[:-1]), local, color=color, label=f"richness {richness:g}")
        when.append(float(np.exp(np.interp(np.log(2), np.log(found.rate), np.log(times)))))
    axis.axhline(beta, color=style.MUTED, linestyle="--")
    axis.axhline(2 * beta / (1 + beta), color=style.MUTED, linestyle="--")
    axis.set_xlabel("time")
    axis.set_ylabel("local exponent")
    axis.set_title("from lazy to rich")
    axis.legend(fontsize=7)
    slopes = verdict.local_slopes(chosen, when)
    table.append(
        verdict.refined(slopes[1], slopes[0]).row(
            "exponent in richness of the time at which rates have doubled", expected=-1 / (1 - beta),
            resolution=0.1, note="c |z|² ~ c t^(1−β) is of order one then")
    )  # fmt: skip
