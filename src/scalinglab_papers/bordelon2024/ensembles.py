"""Figure 5: ensembling against width at fixed compute, and the transfer functions behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Reproduction, loglog_figure, verdict
from scalinglab.theory import dmft
from scalinglab_papers.bordelon2024 import common


def fig5a(scale: str) -> Reproduction:
    """E models of N features against one of N E, at equal C = N E t."""
    spectrum = common.power_law(scale)
    base, members = {"smoke": (16, (1, 2, 4)), "laptop": (32, (1, 2, 4, 8))}[scale]
    times, simulated = np.geomspace(0.3, 1e4, 50), np.geomspace(0.3, 1e4, 9)
    draws = {"smoke": 12, "laptop": 3200}[scale]
    ensembles = [{"n_params": base, "ensemble": e} for e in members]
    widths = [{"n_params": base * e, "ensemble": 1} for e in members[1:]]
    curves = common.theory_and_simulation(spectrum, [*ensembles, *widths], times, simulated, draws, 50)
    total = curves.frame["n_params"] * curves.frame["ensemble"] * curves.frame["time"]
    curves = Curves(curves.frame.assign(compute=total), settings=curves.settings)
    figure, axis = loglog_figure("compute C = N E t", "test loss", "width beats ensembling")
    for color, setting in zip(style.colors([*members]), ensembles):
        _draw(axis, curves, setting, color, "-", f"N {base}, E {setting['ensemble']}")
    for color, setting in zip(style.colors([*members])[1:], widths):
        _draw(axis, curves, setting, color, "--", f"N {setting['n_params']}, E 1")
    axis.legend(ncols=2, fontsize=7)
    return Reproduction(curves, figure, judged(curves, base, members))


def judged(curves: Curves, base: int, members: tuple[int, ...]) -> tuple[verdict.Row, ...]:
    """Rows on E = `members` models of N = `base` features beside single models of N E features."""
    many = {"n_params": base, "ensemble": members[-1]}
    wide = {"n_params": base * members[-1], "ensemble": 1}
    worse = verdict.ratio(common.loss_at(curves, 1e3, **many), common.loss_at(curves, 1e3, **wide))
    left, expected = _fall_of_variance(curves, base, members)
    return (
        worse.row(
            f"loss of E = {many['ensemble']} models of N = {base} over that of one of N = {wide['n_params']}",
            expected=1.0, relation=">", note="simulation at t ≈ 1000",
        ),
        left.row(
            f"fall of the loss from E = {members[-2]} to {members[-1]}, over that from 1 to {members[-1]}, "
            f"N = {base}",
            expected=expected,
            note="simulation at t ≈ 10; expected: the loss of E models is a bias and 1/E of a variance",
        ),
        *common.agreement(curves, [many, wide]),
    )  # fmt: skip


def _fall_of_variance(curves: Curves, base: int, members: tuple[int, ...]) -> tuple[verdict.Number, float]:
    """(L_e − L_E)/(L_1 − L_E) of simulations, and (1/e − 1/E)/(1 − 1/E), what it is where L_E = B + V/E.

    No theory is in it: that of infinite sizes has another bias B by a term of order 1/N.
    """
    few, many = members[-2:]
    one, some, all_ = (common.loss_at(curves, 10.0, n_params=base, ensemble=e) for e in (1, few, many))
    whole = one.value - all_.value
    share = (some.value - all_.value) / whole
    error = math.hypot(some.stderr, share * one.stderr, (1 - share) * all_.stderr) / whole
    return verdict.Number(share, error, some.n), (1 / few - 1 / many) / (1 - 1 / many)


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
    table = []
    for place, n in enumerate(n for n in sizes if n != data):  # at N = P draws scatter without bound
        kappa = dmft.final(spectrum, n, data).kappa
        drawn = final_transfer(spectrum, n, data, common.DRAWS[scale], common.seed_of(51, place))
        found = verdict.mean(drawn)
        table.append(
            found.row(
                f"H_1(t → ∞) at N = {common.size_name(n)}, P = {data}: it saturates",
                expected=float(kappa / (kappa + spectrum.mode(1)[0])),
                note="simulation; expected: κ/(κ + λ₁) with D(κ) = min(N, P), the theory",
            )
        )  # fmt: skip
    return Reproduction(Curves.concat(parts), figure, tuple(table))


def final_transfer(spectrum: Spectrum, n_params: float, n_data: int, draws: int, seed: int) -> np.ndarray:
    """H_1 at t → ∞ of each draw: what the least-norm solution leaves of the first mode.

    With data X (P, modes) and features A (N, modes), w = (X Aᵀ)⁺ X w* is learnt, so that
    H = 1 − Aᵀ (X Aᵀ)⁺ X; with infinitely many features 1 − X⁺ X.
    """
    roots = np.sqrt(spectrum.eigenvalues)
    found = []
    for draw in range(draws):
        random = np.random.default_rng([seed, draw])
        x = random.standard_normal((n_data, len(roots))) * roots
        if math.isinf(n_params):
            learnt = x[:, 0] @ np.linalg.solve(x @ x.T, x[:, 0])
        else:
            a = random.standard_normal((int(n_params), len(roots)))
            learnt = a[:, 0] @ np.linalg.lstsq(x @ a.T, x[:, 0], rcond=None)[0]
        found.append(1 - float(learnt))
    return np.array(found)


def _transfer_curves(n_params: float, n_data: float, k: int, times: np.ndarray, values: np.ndarray) -> Curves:
    setting = {"model": "random features", "n_params": n_params, "n_data": n_data, "mode": k}
    return Curves({**setting, "time": times, "transfer": values}, settings=["mode"], source="theory")
