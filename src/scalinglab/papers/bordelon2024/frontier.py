"""Figure 3, the compute-optimal frontier, and the table of measured against predicted exponents."""

from __future__ import annotations

import math

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.papers.bordelon2024 import common
from scalinglab.papers.registry import Reproduction, Row
from scalinglab.spectrum import Spectrum
from scalinglab.theory import bottlenecks, dmft


def fig3(scale: str) -> Reproduction:
    """Loss against compute C = N t at several N, and the frontier, for b = 1.25 and b = 2 (a = 1.5)."""
    sizes = {"smoke": (8, 32), "laptop": (8, 16, 32, 64, 128, 256)}[scale]
    times = np.geomspace(0.3, 1e5, 50)
    simulated = np.geomspace(0.3, 1e5, 12)
    figure, axes = style.panels(1, 2, sharey=True)
    parts, table = [], []
    for axis, spectral in zip(axes[0], (1.25, 2.0)):
        spectrum = common.power_law(scale, spectral=spectral)
        curves = common.both(
            spectrum, [{"n_params": n} for n in sizes], times, simulated, common.DRAWS[scale]
        )
        curves = Curves(curves.frame.assign(compute=curves.frame["time"] * curves.frame["n_params"]))
        predicted = bottlenecks.exponents(common.TASK, spectral)
        style.loglog(axis, "compute C = N t", "test loss", f"a = {common.TASK}, b = {spectral}")
        for size, color in zip(sizes, style.colors(sizes)):
            lines, mean = common.theory(curves, n_params=size), common.simulation(curves, n_params=size)
            axis.plot(lines["compute"], lines["test_loss"], color=color, label=f"N {size}")
            spread = mean["test_loss_stderr"] * np.sqrt(mean["count"])
            style.band(
                axis, mean["compute"], mean["test_loss"] - spread, mean["test_loss"] + spread, color=color
            )
            axis.plot(mean["compute"], mean["test_loss"], "o", color=color, markeredgecolor="white")
        budgets = np.geomspace(10, 3e5 if scale == "laptop" else 1e4, 8)
        frontier = bottlenecks.compute_optimal(spectrum, budgets)
        axis.plot(budgets, frontier.loss, color=style.INK, linewidth=2.2, label="frontier, theory")
        lowest = curves.select(source="theory").frame["test_loss"]
        common.guide(
            axis, budgets[1:5], float(frontier.loss[1]) * 0.75, -predicted.compute,
            f"predicted $C^{{-{predicted.compute:.3f}}}$",
        )  # fmt: skip
        axis.set_ylim(bottom=float(lowest.min()) * 0.6)
        axis.legend(ncols=2, fontsize=7)
        parts.append(curves)
        table += [*_frontier_rows(spectral, scale), common.agreement(curves)]
    return Reproduction(Curves.concat(parts), figure, tuple(table))


def _frontier_rows(spectral: float, scale: str) -> list[Row]:
    """Slopes of the exact frontier far out, where the power laws have set in."""
    budgets = np.array([1e8, 1e9] if scale == "laptop" else [1e6, 1e7])
    far = bottlenecks.compute_optimal(Spectrum.power_law(common.TASK, spectral, 10**12), budgets)
    predicted = bottlenecks.exponents(common.TASK, spectral)
    loss, params, time = (float(values[0]) for values in far.local_exponents())
    note = f"exact frontier, 10¹² modes, C from {budgets[0]:g} to {budgets[1]:g}"
    return [
        common.slope_row(
            f"b = {spectral}: slope of the frontier", -predicted.compute, -loss, 0.01, note=note
        ),
        common.slope_row(
            f"b = {spectral}: exponent of the optimal N", predicted.optimal_params, params, 0.02, note=note
        ),
        common.slope_row(
            f"b = {spectral}: exponent of the optimal t", predicted.optimal_time, time, 0.02, note=note
        ),
    ]


CASES = ((1.5, 1.25), (1.5, 2.0), (2.0, 1.5), (3.0, 1.25), (4.2, 1.4))  # the last two: saturated


def exponents(scale: str) -> Reproduction:
    """Exponents of time, data, model and compute, measured on the exact solution, against the predictions."""
    cases = CASES[:1] if scale == "smoke" else CASES
    figure, axes = style.panels(1, 3)
    titles = ("time t, (N, P → ∞)", "data P, (t, N → ∞)", "params N, (t, P → ∞)")
    for axis, title in zip(axes[0], titles):
        style.loglog(axis, title, "test loss, relative")
    parts, table = [], []
    for (task, spectral), color in zip(cases, style.PALETTE):
        spectrum, predicted = (
            Spectrum.power_law(task, spectral, 10**15),
            bottlenecks.exponents(task, spectral),
        )
        sizes, times = np.geomspace(10, 1e5, 9), np.geomspace(1, 1e7, 15)
        solved = dmft.solve(spectrum, times)
        data = np.array([dmft.final(spectrum, math.inf, p).test_loss for p in sizes])
        params = np.array([dmft.final(spectrum, n, math.inf).test_loss for n in sizes])
        setting = {"model": "random features", "task_exponent": task, "spectral_exponent": spectral}
        parts.append(solved.curves())
        for name, losses in (("n_data", data), ("n_params", params)):
            other = "n_params" if name == "n_data" else "n_data"
            parts.append(
                Curves(
                    {**setting, name: sizes, other: math.inf, "time": 1e300, "test_loss": losses},
                    source="theory",
                )
            )
        label = f"a = {task}, b = {spectral}"
        series = ((times, solved.test_loss), (sizes, data), (sizes, params))
        for axis, (x, y) in zip(axes[0], series):
            axis.plot(x, y / y[0], color=color, label=label)
        measured = [common.log_slope(x[-2:], y[-2:])[0] for x, y in series]
        table += _rows(label, predicted, measured)
        table += _compute_rows(label, spectrum, predicted)
    axes[0, 0].legend(fontsize=7)
    return Reproduction(Curves.concat(parts), figure, tuple(table))


def _rows(label: str, predicted: bottlenecks.Exponents, measured: list[float]) -> list[Row]:
    """Time, data and params against the printed exponents, with ours where they differ."""
    printed = (predicted.time, predicted.data, predicted.printed_params)
    ours = (predicted.time, predicted.data, predicted.params)
    notes = ("", "saturated at 2b" if "data" in predicted.saturated else "", "")
    rows = []
    for name, paper, own, value, note in zip(("time", "data", "params"), printed, ours, measured, notes):
        if paper != own:
            note = f"printed min(a−1, 2b); the final loss is linear in κ, so min(a−1, b) = {own:g} holds"
        rows.append(common.slope_row(f"{label}: {name}", -paper, value, 0.015 * max(1.0, paper), note=note))
    return rows


def _compute_rows(label: str, spectrum: Spectrum, predicted: bottlenecks.Exponents) -> list[Row]:
    """The exact frontier against eq. 16, with our exponents where it does not apply."""
    frontier = bottlenecks.compute_optimal(spectrum, np.array([1e8, 1e9]))
    found = [float(values[0]) for values in frontier.local_exponents()]
    b = predicted.printed_compute / predicted.time  # b/(1+b)
    printed = (-predicted.printed_compute, 1 - b, b)
    ours = (-predicted.compute, predicted.optimal_params, predicted.optimal_time)
    rows = []
    for name, paper, own, value in zip(
        ("compute", "optimal N", "optimal t"), printed, ours, (-found[0], found[1], found[2])
    ):
        note = "eq. 16"
        if abs(paper - own) > 1e-12:
            note = f"eq. 16 is for a − 1 < b; beyond, (a−1)/a, (a−b)/a and b/a: here {own:.4f}"
        rows.append(common.slope_row(f"{label}: {name}", paper, value, 0.012, note=note))
    return rows
