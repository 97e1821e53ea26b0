"""Figure 5: ensembling against width at fixed compute, and the transfer functions behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.papers.bordelon2024 import common
from scalinglab.papers.registry import Reproduction, Row
from scalinglab.theory import bottlenecks, dmft


def fig5a(scale: str) -> Reproduction:
    """E models of N features against one of N E, at equal C = N E t."""
    spectrum = common.power_law(scale)
    base, members = {"smoke": (16, (1, 4)), "laptop": (32, (1, 2, 4, 8))}[scale]
    times, simulated = np.geomspace(0.3, 1e4, 50), np.geomspace(0.3, 1e4, 9)
    draws = {"smoke": 6, "laptop": 20}[scale]
    ensembles = [{"n_params": base, "ensemble": e} for e in members]
    widths = [{"n_params": base * e, "ensemble": 1} for e in members[1:]]
    curves = common.both(spectrum, [*ensembles, *widths], times, simulated, draws)
    total = curves.frame["n_params"] * curves.frame["ensemble"] * curves.frame["time"]
    curves = Curves(curves.frame.assign(compute=total), settings=curves.settings)
    figure, axes = style.panels()
    axis = style.loglog(axes[0, 0], "compute C = N E t", "test loss", "width beats ensembling")
    for color, setting in zip(style.colors([*members]), ensembles):
        _draw(axis, curves, setting, color, "-", f"N {base}, E {setting['ensemble']}")
    for color, setting in zip(style.colors([*members])[1:], widths):
        _draw(axis, curves, setting, color, "--", f"N {setting['n_params']}, E 1")
    axis.legend(ncols=2, fontsize=7)
    traded = bottlenecks.ensemble_tradeoff(spectrum, base * members[-1], 1e3, np.array(members, float))
    grow = bool(np.all(np.diff(traded.test_loss) > 0))
    one = dmft.solve(spectrum, 1e4, base)
    table = (
        Row(
            f"at fixed N E = {base * members[-1]} and t = 1000 the loss rises with E", "yes",
            "yes" if grow else "no", agrees=grow,
            note=", ".join(f"E {e:g}: {x:.4g}" for e, x in zip(traded.ensemble, traded.test_loss)),
        ),
        Row(
            f"bias over loss at N = {base}, t = 1e4: what no ensemble removes", "the bias stays",
            float(one.bias / one.test_loss), agrees=float(one.bias) > 0, note="theory",
        ),
        common.agreement(curves, allowed=0.06),
    )  # fmt: skip
    return Reproduction(curves, figure, table)


def _draw(
    axis: Axes, curves: Curves, setting: Mapping[str, float], color: Any, line: str, label: str
) -> None:
    lines, mean = common.theory(curves, **setting), common.simulation(curves, **setting)
    axis.plot(lines["compute"], lines["test_loss"], line, color=color, label=label)
    style.points(axis, mean["compute"], mean["test_loss"], mean["test_loss_stderr"], color=color)


def fig5b(scale: str) -> Reproduction:
    """Transfer functions H_k(t) at P = 128 and several N: they saturate, those of N, P → ∞ do not."""
    spectrum, data = common.power_law(scale), 128
    sizes = (32, 128, 512, math.inf)
    modes, times = np.array([1, 10, 100]), np.geomspace(0.1, 1e4, 70)
    figure, axes = style.panels(1, len(modes), size=(3.4, 3.0), sharey=True)
    parts = []
    for size, color in zip(sizes, style.colors(sizes)):
        transfer = dmft.solve(spectrum, times, size, data).transfer(modes)
        for column, (axis, k) in enumerate(zip(axes[0], modes)):
            axis.plot(times, transfer[:, column], color=color, label=f"N {common.size_name(size)}, P {data}")
            parts.append(_transfer_curves(size, data, int(k), times, transfer[:, column]))
    for axis, k in zip(axes[0], modes):
        ideal = np.exp(-spectrum.mode(int(k))[0] * times)
        axis.plot(times, ideal, "--", color=style.INK, label="N, P → ∞")
        parts.append(_transfer_curves(math.inf, math.inf, int(k), times, ideal))
        style.loglog(axis, "time t", "transfer function $H_k(t)$" if k == 1 else "", f"mode k = {k}")
        axis.set_ylim(1e-4, 1.5)
    axes[0, 0].legend(fontsize=7)
    limits = {n: dmft.final(spectrum, n, data) for n in sizes}
    table = [
        Row(
            f"H_1(t → ∞) at N = {common.size_name(n)}", "saturates above zero",
            float(limits[n].kappa / (limits[n].kappa + 1)), agrees=limits[n].kappa > 0,
            note="κ/(κ + λ) with D(κ) = min(N, P)",
        )
        for n in sizes
    ]  # fmt: skip
    return Reproduction(Curves.concat(parts), figure, tuple(table))


def _transfer_curves(n_params: float, n_data: float, k: int, times: np.ndarray, values: np.ndarray) -> Curves:
    setting = {"model": "random features", "n_params": n_params, "n_data": n_data, "mode": k}
    return Curves({**setting, "time": times, "transfer": values}, settings=["mode"], source="theory")
