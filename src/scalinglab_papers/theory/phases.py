"""The phases of one-pass SGD: exponents of the exact frontier in each, and where they meet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.colors import ListedColormap
from scipy.optimize import brentq

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Number, Reproduction, Row, verdict
from scalinglab.theory import dmft, one_pass
from scalinglab.theory.bottlenecks import Frontier
from scalinglab.theory.one_pass import phases as theory
from scalinglab_papers.theory import sign_descent

POINTS = {
    "Ia": (0.8, 0.3), "Ib": (0.35, 0.35), "Ic": (0.2, 0.9), "II": (1.0, 0.7), "III": (0.7, 1.2),
    "IVa": (0.4, 0.9), "IVb": (0.255, 1.5),
}  # fmt: skip
NAMES = {"smoke": ("II",), "laptop": tuple(POINTS)}
BUDGETS = {"smoke": (1e6, 1e7, 1e8), "laptop": (1e12, 1e15, 1e18, 1e21)}
STEEP = {"II": (1e8, 1e10, 1e12, 1e14), "III": (1e8, 1e10, 1e12, 1e14)}  # losses above 1e-10 of the target
WITHIN = 0.02  # of an exponent: how close is close
SIZES = (30, 100, 300, 1000, 3000, 10_000)


def printed(alpha: float, beta: float) -> dict[str, tuple[float, float]]:
    """Exponents of loss and size of every phase, as the paper's table has them."""
    power, whole = 2 * alpha + 2 * beta - 1, 2 * beta - alpha - 2 * alpha * beta
    ic = whole + 4 * alpha - 1
    return {
        "Ia": (power / (2 * alpha + 1), 1 / (2 * alpha + 1)),
        "Ib": (alpha + beta - 0.5, 0.5),
        "Ic": (alpha * power / ic, power / (2 * ic)),
        "II": (power / (2 * (alpha + beta)), beta / (alpha + beta)),
        "III": (1 - 1 / (4 * alpha), 0.5),
        "IVa": (alpha, 0.5),
        "IVb": ((1 - 2 * alpha) * power / (2 * whole), (beta - alpha) / whole),
    }


def phases(scale: str) -> Reproduction:
    """The map of phases, a frontier, and the exponents of the exact frontier in every phase."""
    table: list[Row] = []
    parts: list[Curves] = []
    for name in NAMES[scale]:
        budgets = STEEP.get(name, BUDGETS[scale]) if scale == "laptop" else BUDGETS[scale]
        (loss, size), frontier = measured(*POINTS[name], np.array(budgets))
        parts.append(_curves(*POINTS[name], frontier))
        at = "α = {:g}, β = {:g}".format(*POINTS[name])
        for what, number, paper in zip(("loss", "size"), (loss, size), printed(*POINTS[name])[name]):
            note = f"exact frontier, C up to {budgets[-1]:g}, slopes extrapolated"
            table.append(
                number.row(f"phase {name}, {at}: exponent of the {what}", paper=paper, relation="in",
                           resolution=WITHIN * paper, note=note)
            )  # fmt: skip
    figure, axes = style.panels(1, 3)
    _draw_map(axes[0, 0], 20 if scale == "smoke" else 200)
    frontier = theory.compute_optimal(*POINTS["II"], np.geomspace(1e4, 1e6 if scale == "smoke" else 1e9, 4))
    parts.append(_draw_frontier(axes[0, 1], POINTS["II"], frontier, SIZES[:3] if scale == "smoke" else SIZES))
    signs, rows = sign_descent.part(axes[0, 2], scale)
    return Reproduction(Curves.concat([*parts, *signs]), figure, (*table, *rows))


def measured(alpha: float, beta: float, budgets: np.ndarray) -> tuple[tuple[Number, Number], Frontier]:
    """Exponents of loss and size of the exact frontier, extrapolated from one budget to the next."""
    frontier = theory.compute_optimal(alpha, beta, budgets)
    loss, size, _ = frontier.local_exponents()
    return (_extrapolated(loss), _extrapolated(size)), frontier


def _extrapolated(slopes: np.ndarray) -> Number:
    if len(slopes) > 2:
        return verdict.limit(slopes)
    return verdict.refined(slopes[0], slopes[-1])


def _curves(alpha: float, beta: float, frontier: Frontier) -> Curves:
    columns = {"n_params": frontier.n_params, "time": frontier.time, "test_loss": frontier.loss}
    setting = {"model": "random features", "alpha": alpha, "beta": beta}
    return Curves({**setting, **columns}, settings=["alpha", "beta"], source="theory")


def _draw_map(axis: style.Panel, resolution: int) -> None:
    names = list(POINTS)
    alpha, beta = np.linspace(0.05, 1.4, resolution), np.linspace(0.0, 1.6, resolution)
    index = np.full((len(beta), len(alpha)), np.nan)
    for i, b in enumerate(beta):
        for j, a in enumerate(alpha):
            if a + b > 0.5:
                index[i, j] = names.index(theory.phase(a, b).name)
    colors = ListedColormap([f"{color}70" for color in style.PALETTE[: len(names)]])
    axis.pcolormesh(alpha, beta, index, cmap=colors, vmin=-0.5, vmax=len(names) - 0.5, shading="nearest")
    for name, point in POINTS.items():
        axis.plot(*point, "o", color=style.INK, markersize=3)
        axis.annotate(name, point, (0, 4), textcoords="offset points", ha="center", fontsize=9)
    axis.grid(False)
    axis.set_xlabel("α: eigenvalues fall as $k^{-2α}$")
    axis.set_ylabel("β: target weights fall as $k^{-β}$")
    axis.set_title("phases of one-pass SGD, computed")


def _draw_frontier(
    axis: style.Panel, point: tuple[float, float], frontier: Frontier, sizes: tuple[int, ...]
) -> Curves:
    spectrum = theory.spectrum(*point)
    sgd = one_pass.OnePassSGD(theory.stable_rate(spectrum), 1)
    steps = np.unique(np.round(np.geomspace(1, 1e6, 40)))
    style.loglog(axis, "compute C = d r", "test loss", "phase II, α = {:g}, β = {:g}".format(*point))
    parts = []
    for size, color in zip(sizes, style.colors(sizes)):
        found = one_pass.solve(spectrum, steps, sgd, size)
        axis.plot(steps * size, found.test_loss, color=color, label=f"d {size:g}")
        parts.append(found.curves())
    budgets, predicted = frontier.compute, theory.phase(*point).loss
    axis.plot(budgets, frontier.loss, color=style.INK, linewidth=2.2, label="exact frontier")
    axis.plot(
        budgets, frontier.loss[-1] * 0.6 * (budgets / budgets[-1]) ** -predicted, "--", color=style.MUTED,
        label=f"$C^{{-{predicted:.3f}}}$",
    )  # fmt: skip
    axis.set_ylim(bottom=frontier.loss[-1] / 10)
    axis.legend(fontsize=7)
    return Curves.concat(parts)


# --- where phases meet: exponents of terms, measured on exact sums, are equal or reach zero ----------

CLOSE = 0.02  # a distance of two boundaries that would matter
FAR = 10**30  # modes where the trace is finite


def task_exponent(alpha: float, beta: float) -> float:
    """Exponent in time of the part not yet learnt, Σ λw² e^(−2λτ)."""
    nodes = Spectrum.power_law(2 * alpha + 2 * beta, 2 * alpha, FAR).nodes()
    return _in_time(2 * alpha, lambda tau: float(nodes.power @ np.exp(-2 * nodes.eigenvalues * tau)))


def noise_exponent(alpha: float) -> float:
    """Exponent in time of the kernel of batch noise, Σ λ² e^(−2λτ)."""
    nodes = Spectrum.power_law(1.0, 2 * alpha, FAR).nodes()
    weight = nodes.count * nodes.eigenvalues**2
    return _in_time(2 * alpha, lambda tau: float(weight @ np.exp(-2 * nodes.eigenvalues * tau)))


def rate_exponent(alpha: float) -> float:
    """Exponent of the largest stable rate, 1/Σλ, in the number of modes."""
    traces = [Spectrum.power_law(1.0, 2 * alpha, 10**k).trace for k in (16, 18)]
    return float(np.log(traces[1] / traces[0]) / np.log(100))


def capacity_exponent(alpha: float, beta: float) -> float:
    """Exponent of the final loss in the number of features."""
    ends = [dmft.final(theory.spectrum(alpha, beta, n), n).test_loss for n in (1e7, 1e8)]
    return float(np.log10(ends[0] / ends[1]))


def _in_time(spectral: float, loss: Callable[[float], float]) -> float:
    """The slope over a decade of time in which the modes near k = 10^12 are learnt."""
    tau = 10 ** (12 * spectral)
    return float(-np.log10(loss(10 * tau) / loss(tau)))


def noise_in_size(alpha: float) -> float:
    """The exponent of the noise in d at fixed compute: whether it falls or rises decides on IVa or IVb."""
    slow, power = rate_exponent(alpha), noise_exponent(alpha)
    return slow - slow * power - power


def boundaries(scale: str) -> Reproduction:
    """Boundaries of the phases, from exponents measured on exact sums, beside the paper's lines."""
    left, right = np.array([0.3, 0.35, 0.4]), np.array([0.7, 0.8, 0.9])  # away from where they bend
    low, high = np.array([0.1, 0.2, 0.3]), np.array([0.75, 0.85, 0.95])
    near = np.array([0.28, 0.3, 0.32])
    found = {
        "Ia and II, β at α = 0.8": (0.5, _meet(low, [capacity_exponent(0.8, b) for b in low],
                                               high, [capacity_exponent(0.8, b) for b in high])),
        "Ib and IVa, β at α = 0.4": (0.5, _meet(low + 0.1, [capacity_exponent(0.4, b) for b in low + 0.1],
                                                high, [capacity_exponent(0.4, b) for b in high])),
        "II and III, β at α = 0.9": (0.9, float(brentq(
            lambda b: task_exponent(0.9, b) - noise_exponent(0.9), 0.6, 1.4))),
        "Ia and Ib, III and IVa, α": (0.5, _meet(left, [rate_exponent(a) for a in left], right, [0.0] * 3)),
        "IVa and IVb, α": (1 - 1 / np.sqrt(2), float(brentq(noise_in_size, 0.27, 0.4))),
        "IVb and Ic, α": (0.25, float(brentq(
            np.polynomial.Polynomial.fit(near, [noise_exponent(a) for a in near], 2), 0.15, 0.3))),
    }  # fmt: skip
    table = [
        Row(f"phases {name}", measured, CLOSE / 4, paper=float(paper), relation="in", resolution=CLOSE,
            note="exponents of terms, measured on exact sums")
        for name, (paper, measured) in found.items()
    ]  # fmt: skip
    figure, axes = style.panels(1, 1)
    _draw_map(axes[0, 0], 20 if scale == "smoke" else 200)
    for name, (_, value) in found.items():
        line = axes[0, 0].axhline if ", β" in name else axes[0, 0].axvline
        line(value, color=style.INK, linewidth=0.8, linestyle=":")
    values = np.array([value for _, value in found.values()])
    curves = Curves({"model": "phases", "n_params": np.arange(1.0, len(values) + 1), "boundary": values},
                    source="theory")  # fmt: skip
    return Reproduction(curves, figure, tuple(table))


def _meet(low: np.ndarray, before: list[float], high: np.ndarray, after: list[float]) -> float:
    """The crossing of straight lines through the exponents on either side."""
    lines = [np.polynomial.Polynomial.fit(x, y, 1) for x, y in ((low, before), (high, after))]
    return float(brentq(lambda x: lines[0](x) - lines[1](x), low.min(), high.max()))
