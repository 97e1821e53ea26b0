"""Figure 3, the compute-optimal frontier, and the table of measured against predicted exponents."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Reproduction, Row
from scalinglab.theory import bottlenecks, dmft
from scalinglab_papers.bordelon2024 import common


def fig3(scale: str) -> Reproduction:
    """Loss against compute C = N t at several N, and the frontier, for b = 1.25 and b = 2 (a = 1.5)."""
    sizes = {"smoke": (8, 32), "laptop": (8, 16, 32, 64, 128, 256)}[scale]
    times = np.geomspace(0.3, 1e5, 50)
    simulated = np.geomspace(0.3, 1e5, 12)
    figure, axes = style.panels(1, 2, sharey=True)
    parts: list[Curves] = []
    table: list[Row] = []
    for panel, (axis, spectral) in enumerate(zip(axes[0], (1.25, 2.0))):
        spectrum = common.power_law(scale, spectral=spectral)
        curves = common.theory_and_simulation(
            spectrum, [{"n_params": n} for n in sizes], times, simulated, common.DRAWS[scale], 30 + panel
        )
        curves = Curves(curves.frame.assign(compute=curves.frame["time"] * curves.frame["n_params"]))
        predicted = bottlenecks.exponents(common.TASK, spectral)
        style.loglog(axis, "compute C = N t", "test loss", f"a = {common.TASK}, b = {spectral}")
        common.draw(axis, curves, "n_params", sizes, name="N", x="compute")
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
        # far out, where the power laws have set in
        far = np.geomspace(1e5, 1e8, 4) if scale == "smoke" else np.geomspace(1e7, 1e10, 4)
        infinite = Spectrum.power_law(common.TASK, spectral, 10**18)
        table += _compute_rows(f"b = {spectral}", infinite, common.TASK, spectral, far)
        table += [
            replace(row, quantity=f"b = {spectral}: {row.quantity}")
            for row in common.agreement(curves, common.extreme_sizes("n_params", sizes))
        ]
    return Reproduction(Curves.concat(parts), figure, tuple(table))


def _compute_rows(
    label: str, spectrum: Spectrum, task: float, spectral: float, budgets: np.ndarray
) -> list[Row]:
    """The exact frontier against eq. 16; the exponent of t is one less that of N."""
    far = bottlenecks.compute_optimal(spectrum, budgets)
    own = bottlenecks.exponents(task, spectral)
    note = f"eq. 16; exact frontier, C up to {budgets[-1]:g}"
    if task - 1 > spectral:
        note += f"; eq. 16 is for a − 1 < b, beyond it (a−1)/a = {own.compute:.4f} and (a−b)/a = "
        note += f"{own.optimal_params:.4f} hold"
    return [
        common.slope_row(
            f"{label}: slope of the frontier", -(task - 1) / (1 + spectral), budgets, far.loss, note
        ),
        common.slope_row(
            f"{label}: exponent of the optimal N", 1 / (1 + spectral), budgets, far.n_params, note
        ),
    ]


# a, b; the first is that of figures 2 and 3, the second of figure 3; the last two are smooth: a − 1 > b
CASES = ((1.5, 1.25), (1.5, 2.0), (2.0, 1.5), (3.0, 1.25), (4.2, 1.4))


def exponents(scale: str) -> Reproduction:
    """Exponents of time, data, model and compute, measured on the exact solution, against eqs. 14 and 16."""
    cases = CASES[2:3] if scale == "smoke" else CASES
    figure, axes = style.panels(1, 3)
    titles = ("time t, (N, P → ∞)", "data P, (t, N → ∞)", "params N, (t, P → ∞)")
    for axis, title in zip(axes[0], titles):
        style.loglog(axis, title, "test loss, relative")
    parts: list[Curves] = []
    table: list[Row] = []
    for case, color in zip(cases, style.PALETTE):
        series, curves = limits(*case)
        parts += curves
        label = f"a = {case[0]}, b = {case[1]}"
        for axis, (x, y) in zip(axes[0], series.values()):
            axis.plot(x, y / y[0], color=color, label=label)
        if case != CASES[0]:  # judged in figures 2a, 2c and 2f
            table += [
                common.slope_row(f"{label}: {name}", -paper, x[-4:], y[-4:], _note(name, *case))
                for (name, (x, y)), paper in zip(series.items(), printed_exponents(*case))
            ]
        if case not in CASES[:2]:  # judged in figure 3
            spectrum = Spectrum.power_law(*case, 10**18)
            table += _compute_rows(label, spectrum, *case, np.geomspace(1e7, 1e10, 4))
    axes[0, 0].legend(fontsize=7)
    return Reproduction(Curves.concat(parts), figure, tuple(table))


def limits(task: float, spectral: float) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], list[Curves]]:
    """The loss against time, data and params, each with the others infinite; and all as curves."""
    spectrum = Spectrum.power_law(task, spectral, 10**18)
    sizes, times = np.geomspace(10, 1e5, 9), np.geomspace(1, 1e7, 15)
    solved = dmft.solve(spectrum, times)
    data = np.array([dmft.final(spectrum, math.inf, p).test_loss for p in sizes])
    params = np.array([dmft.final(spectrum, n, math.inf).test_loss for n in sizes])
    setting = {"model": "random features", "task_exponent": task, "spectral_exponent": spectral}
    parts = [solved.curves()]
    for name, other, losses in (("n_data", "n_params", data), ("n_params", "n_data", params)):
        columns = {**setting, name: sizes, other: math.inf, "time": 1e300, "test_loss": losses}
        parts.append(Curves(columns, source="theory"))
    return {"time": (times, solved.test_loss), "data": (sizes, data), "params": (sizes, params)}, parts


def printed_exponents(task: float, spectral: float) -> tuple[float, float, float]:
    """Exponents of time, data and params by eq. 14."""
    return (task - 1) / spectral, task - 1, task - 1


def _note(name: str, task: float, spectral: float) -> str:
    """A note on eq. 14, with the reason if it does not hold here."""
    own = bottlenecks.exponents(task, spectral)
    if name == "data" and own.data < task - 1:
        return f"eq. 14; the error of regression without noise limits smooth targets: 2b = {own.data:g}"
    if name == "params" and own.params < task - 1:
        return f"eq. 14; the final loss is linear in κ ~ N^-b, so that min(a−1, b) = {own.params:g} holds"
    return "eq. 14"
