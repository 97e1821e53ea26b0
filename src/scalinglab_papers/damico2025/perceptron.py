"""Perceptron figures of D'Amico et al. 2025 that set theory beside experiment: Fig. 1, 2a and 6 left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import patheffects

from scalinglab.curves import Curves
from scalinglab.errors import BadInput, require
from scalinglab.figures import style
from scalinglab.simulate import perceptron as simulate
from scalinglab.studies import Number, Reproduction, Row, loglog_figure, verdict
from scalinglab.theory import perceptron as theory

LOAD = 5.0
RULES = {"hebb": "Hebb", "gibbs": "Gibbs", "max_stability": "maximal stability", "bayes": "Bayes"}
SHARPNESSES = np.geomspace(0.02, 200, 161)
SMALL = 200  # weights up to which all seeds are solved at once


def device(scale: str) -> str:
    """The device of a scale."""
    if scale != "gpu":
        return "cpu"
    torch = require("torch", "train", "simulating a perceptron")
    if not torch.cuda.is_available():
        raise BadInput("--scale gpu needs a CUDA device, and none is here; --scale laptop runs on the CPU")
    return "cuda"


# --- Fig. 1 ------------------------------------------------------------------------------------------

FIG1: dict[str, dict[str, Any]] = {
    # size and seeds of the free students; steps of the fast descent and of plain gradient descent
    "smoke": {"free": (100, 3), "plain": (100, 3, 300), "fixed": (100, 6), "steps": 200, "until": 40.0},
    "laptop": {
        "free": (1000, 4), "plain": (1000, 4, 2000), "fixed": (1000, 8), "steps": 2000, "until": 100.0
    },
    "gpu": {
        "free": (10_000, 8), "plain": (1000, 4, 1_000_000), "fixed": (10_000, 8),
        "steps": 6000, "until": 150.0,
    },
}  # fmt: skip
FIG1_SHARPNESSES = np.geomspace(0.05, 100, 9)


def fig1(scale: str) -> Reproduction:
    """Error against norm at load 5: exact at fixed norm, simulated at fixed and at free norm."""
    size, where = FIG1[scale], device(scale)
    exact = theory.fixed_norm(LOAD, SHARPNESSES)
    fixed = fixed_students(LOAD, size["fixed"], FIG1_SHARPNESSES, where)
    problem = simulate.draw(LOAD, *size["free"], device=where)
    fast = simulate.free_norm(
        problem, size["steps"], method="line_search", until=size["until"], checkpoints=120
    )
    del problem  # at N = 10,000 it fills gigabytes
    n_params, seeds, steps = size["plain"]
    plain = simulate.free_norm(simulate.draw(LOAD, n_params, seeds, device=where), steps, checkpoints=120)
    curves = Curves.concat([exact.curves(), fixed, fast, plain])
    return Reproduction(curves, _draw_fig1(exact, fixed, fast, plain), _table_fig1(fixed, fast))


def one_by_one(
    load: float, size: tuple[int, int], where: str, labels: str = "teacher"
) -> Iterator[simulate.Problem]:
    """The problems of a size: small ones at once, others one seed after another (gigabytes at N = 10,000)."""
    n_params, seeds = size
    groups = [list(range(seeds))] if n_params <= SMALL else [[seed] for seed in range(seeds)]
    for group in groups:
        yield simulate.draw(load, n_params, group, labels=labels, device=where)


def fixed_students(load: float, size: tuple[int, int], sharpnesses: np.ndarray, where: str) -> Curves:
    """Students of fixed norm at several sharpnesses."""
    problems = one_by_one(load, size, where)
    return Curves.concat([simulate.fixed_norm(problem, sharpnesses) for problem in problems])


def each_along_norm(curves: Curves, norms: np.ndarray) -> np.ndarray:
    """Error of each seed at given norms, (seeds, norms); null where a seed did not get there."""
    return np.array(
        [
            np.exp(np.interp(np.log(norms), np.log(run["norm"]), np.log(run["test_error"]), np.nan, np.nan))
            for _, run in curves.frame.groupby("run")
        ]
    )


@mpl.rc_context(style.STYLE)
def _draw_fig1(exact: theory.FixedNorm, fixed: Curves, fast: Curves, plain: Curves) -> Any:
    figure, axes = style.panels(size=(6.4, 4.4))
    axis = style.loglog(axes[0, 0], "norm λ of the student (sharpness of the loss)", "generalization error ε")
    for (rule, name), color in zip(RULES.items(), ("#6b7280", "#e09f3e", "#d1495b", "#2a9d8f")):
        level = float(getattr(theory, rule)(LOAD).error)
        axis.axhline(level, color=color, linestyle="--", linewidth=1)
        axis.annotate(name, (1, level), xycoords=("axes fraction", "data"), color=color, fontsize=8,
                      xytext=(-2, 2), textcoords="offset points", ha="right")  # fmt: skip
    axis.plot(exact.sharpness, exact.error, color=style.PALETTE[0], label="fixed norm, theory", zorder=3)
    mean = fixed.average("seed").frame
    count = f"N = {mean['n_params'].iloc[0]:,.0f}, {mean['count'].iloc[0]:g} seeds"
    style.points(axis, mean["norm"], mean["test_error"], mean["test_error_stderr"], color=style.PALETTE[0],
                 label=f"fixed norm, {count}", zorder=5, markersize=5)  # fmt: skip
    norms = np.geomspace(0.01, fast["norm"].max(), 150)
    each = each_along_norm(fast, norms)
    error, stderr = each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(len(each))
    style.band(axis, norms, error - stderr, error + stderr, color=style.MUTED)
    middle = fast.frame.groupby("step")[["norm", "time"]].median()
    time = np.interp(np.log(norms), np.log(middle["norm"]), np.log10(middle["time"]))
    colored = axis.scatter(norms, error, c=time, s=9, cmap="plasma", zorder=4)
    axis.plot([], [], "o", color=mpl.colormaps["plasma"](0.4), label=f"free norm, {_count(fast)}")
    figure.colorbar(
        colored, ax=axis, label="log₁₀ time of the free student (sum of learning rates)", pad=0.02
    )
    end = plain.frame[plain["step"] == plain["step"].max()]
    axis.plot(
        *_sorted(plain), color=style.INK, linewidth=0.9, linestyle=":", zorder=6,
        label=f"plain gradient descent, {end['step'].iloc[0]:,.0f} steps, {_count(plain)}",
    )  # fmt: skip
    axis.set(xlim=(0.02, 200), ylim=(0.075, 0.25))
    axis.set_yticks([0.08, 0.1, 0.12, 0.15, 0.2], ["0.08", "0.10", "0.12", "0.15", "0.20"])
    axis.minorticks_off()
    axis.legend(loc="upper left", ncols=1)
    axis.set_title(f"load α = {LOAD:g}: training passes the classical rules")
    return figure


def _count(curves: Curves) -> str:
    return f"N = {curves['n_params'][0]:,.0f}, {len(curves.runs)} seeds"


def _sorted(curves: Curves) -> tuple[np.ndarray, np.ndarray]:
    mean = curves.frame.groupby("step")[["norm", "test_error"]].mean()
    return mean["norm"].to_numpy(), mean["test_error"].to_numpy()


def _table_fig1(fixed: Curves, fast: Curves) -> tuple[Row, ...]:
    best, hebb = theory.optimal_sharpness(LOAD), float(theory.hebb(LOAD).error)
    sharp = theory.fixed_norm(LOAD, [1e4, 1e5, 1e6]).error / float(theory.max_stability(LOAD).error)
    last = verdict.limit(sharp)
    reached = float(fast.frame.groupby("run")["norm"].max().min())
    norms = np.geomspace(0.02, reached, 60)
    each = each_along_norm(fast, norms)
    start, lowest = verdict.mean(each[:, 0]), verdict.mean(each.min(axis=1))
    where = verdict.mean(norms[each.argmin(axis=1)])
    shown = [norm for norm in (0.5, float(best.sharpness), 50.0) if norm < reached]
    free = [
        (norm, verdict.mean(each_along_norm(fast, np.array([norm]))[:, 0] / float(exact) - 1))
        for norm, exact in zip(shown, theory.fixed_norm(LOAD, shown).error)
    ]
    return (
        start.row(
            "error of the free student at λ → 0", expected=hebb, note="expected: Hebb's rule, the theory",
        ),
        last.row("fixed-norm error at λ → ∞ over that of maximal stability (theory)", expected=1.0,
                 resolution=0.01, note="limit of λ = 1e4, 1e5, 1e6"),
        deviation_row(fixed),
        *(
            found.row(
                f"free over fixed-norm error − 1 at norm {norm:.3g}", expected=0.0, resolution=0.05,
                note="the paper: qualitatively well described",
            )
            for norm, found in free
        ),
        lowest.row(
            "smallest error of the free student", expected=float(best.error),
            note="expected: that of the fixed norm, the theory",
        ),
        where.row(
            "norm at which it is smallest", expected=float(best.sharpness),
            note="expected: that of the fixed norm, the theory",
        ),
    )  # fmt: skip


# --- Fig. 2a -----------------------------------------------------------------------------------------

FIG2_LOADS = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000.0])
FIG2A: dict[str, dict[str, Any]] = {
    # size and seeds of the points drawn, and of those that are extrapolated in 1/N at load 5
    "smoke": {"loads": (2, 10), "size": (60, 8), "points": 4, "sizes": ((20, 64), (40, 32), (80, 16))},
    "laptop": {
        "loads": (1, 5, 20), "size": (1000, 8), "points": 7, "sizes": ((40, 256), (80, 96), (160, 32))
    },
    "gpu": {
        "loads": (1, 5, 20), "size": (10_000, 8), "points": 9, "sizes": ((100, 512), (200, 256), (400, 128))
    },
}  # fmt: skip
EXTRAPOLATED = np.array([0.5, 4.5, 40.0])


@mpl.rc_context(style.STYLE)
def fig2a(scale: str) -> Reproduction:
    """Error against sharpness at several loads with the optimum of each, and simulated minimisers."""
    size, where = FIG2A[scale], device(scale)
    sharpnesses = np.geomspace(1e-2, 1e4, 241)
    exact = theory.fixed_norm(FIG2_LOADS[:, None], sharpnesses)
    best = theory.optimal_sharpness(FIG2_LOADS)
    parts = []
    for load in size["loads"]:
        wanted = np.geomspace(0.05, 20 * load, size["points"])
        parts.append(fixed_students(load, size["size"], wanted, where))
    simulated = Curves.concat(parts)
    small = [
        simulate.fixed_norm(simulate.draw(LOAD, n_params, seeds, device=where), EXTRAPOLATED)
        for n_params, seeds in size["sizes"]
    ]
    infinite = simulate.infinite_size(Curves.concat(small))

    figure, axis = loglog_figure(
        "sharpness λ", "generalization error ε", "fixed-norm perceptron", size=(6.0, 4.4)
    )
    for color, row, load in zip(style.colors(FIG2_LOADS), range(len(FIG2_LOADS)), FIG2_LOADS):
        axis.plot(sharpnesses, exact.error[row], color=color)
        axis.plot(
            best.sharpness[row], best.error[row], "*", color=color, markersize=9, markeredgecolor="white"
        )
        outline = [patheffects.withStroke(linewidth=2, foreground="white")]
        axis.annotate(f"α = {load:g}", (sharpnesses[0], exact.error[row, 0]), xytext=(2, 3),
                      textcoords="offset points", fontsize=7, color=color, path_effects=outline)  # fmt: skip
        mean = simulated.average("seed").frame
        mean = mean[mean["load"] == load]
        style.points(axis, mean["sharpness"], mean["test_error"], mean["test_error_stderr"], color=color)
    guide = np.array([3.0, 100.0])
    axis.plot(
        guide, 0.75 * theory.intermediate_error(1000.0, guide), color=style.INK, linewidth=0.9, linestyle=":"
    )
    style.slope(axis, 4.0, 0.4 * float(theory.intermediate_error(1000.0, 6.0)), r"$\lambda^{-1/2}$")
    axis.plot([], [], "*", color=style.MUTED, label="optimum")
    style.points(axis, [], [], color=style.MUTED, label=f"simulation, N = {size['size'][0]:,}")
    axis.set_ylim(3e-4, 1)
    axis.legend(loc="upper right", ncols=2)
    table = _table_fig2a(exact, simulated, infinite, min(seeds for _, seeds in size["sizes"]))
    return Reproduction(Curves.concat([exact.curves(), simulated, *small]), figure, table)


def deviation(simulated: Curves, y: str, exact: np.ndarray) -> Number:
    """Simulated over exact values − 1, mean over sharpnesses; the error is over seeds, which share them.

    Args:
        simulated: one row for each seed, load and sharpness.
        y: the column.
        exact: of each row.
    """
    frame = simulated.frame
    ratio = frame[y].to_numpy() / exact - 1
    by_seed = frame.assign(ratio=ratio).groupby("seed")["ratio"].mean()
    return verdict.mean(by_seed.to_numpy())


def deviation_row(simulated: Curves) -> Row:
    """A row on the relative difference of simulated errors and theory."""
    exact = theory.fixed_norm(simulated["load"], simulated["sharpness"]).error
    found = deviation(simulated, "test_error", np.asarray(exact))
    size = int(simulated["n_params"][0])
    return found.row(
        f"simulated minimisers of fixed norm over theory − 1, N = {size:,}", expected=0.0, resolution=0.05,
        note="mean over loads and sharpnesses",
    )  # fmt: skip


def _table_fig2a(
    exact: theory.FixedNorm, simulated: Curves, infinite: simulate.InfiniteSize, seeds: int
) -> tuple[Row, ...]:
    steepest = {load: verdict.largest(-row) for load, row in zip(FIG2_LOADS.tolist(), exact.slope)}
    rows = [
        found.row(f"steepest local exponent −d ln ε/d ln λ at load {load:g}",
                  note="theory; the paper: it depends on the load")
        for load, found in steepest.items()
        if load in (1, 10, 100, 1000)
    ]  # fmt: skip
    middle = verdict.limit(theory.fixed_norm([1e6, 1e8, 1e10], [1e3, 1e4, 1e5]).slope)
    rows += [
        middle.row("local exponent for 1 ≪ λ ≪ α", expected=-0.5,
            note="theory at λ = √α = 1e3, 1e4, 1e5; expected: ε = 0.2215/√(αλ), our expansion"),
        deviation_row(simulated),
    ]  # fmt: skip
    for sharpness, value, stderr in zip(infinite.sharpness, infinite.value, infinite.stderr):
        rows.append(
            Row(f"simulated error at load 5, λ = {sharpness:g}, extrapolated in 1/N", float(value),
                float(stderr), seeds, expected=float(theory.fixed_norm(LOAD, sharpness).error),
                note="expected: the theory")
        )  # fmt: skip
    return tuple(rows)


# --- Fig. 6, left ------------------------------------------------------------------------------------

FIG6_LOAD = 0.4
FIG6_SHARPNESSES = np.array([0.1, 0.5, 1.0, 2.0, 5.0, 20.0])
SHARP = (1e2, 1e3, 1e4)
FIG6 = {"smoke": (100, 4), "laptop": (1000, 12), "gpu": (10_000, 8)}


def draw_margins(axis: Any, margins: np.ndarray) -> tuple[theory.MarginDistribution, np.ndarray]:
    """The densities of the storage problem's margins, a line a sharpness: the solution, (margins, lines)."""
    exact = theory.storage_margin_distribution(FIG6_LOAD, FIG6_SHARPNESSES)
    density = exact.density(margins[:, None])
    for color, column, value in zip(style.colors(FIG6_SHARPNESSES), density.T, FIG6_SHARPNESSES):
        axis.plot(margins, column, color=color, label=f"λ = {value:g}")
    return exact, density


@mpl.rc_context(style.STYLE)
def fig6_left(scale: str) -> Reproduction:
    """Margin density of the storage problem at load 0.4 for growing sharpness, with simulated histograms."""
    import torch

    margins = np.linspace(-1.0, 4.5, 551)
    parts, drawn = [], []
    for problem in one_by_one(FIG6_LOAD, FIG6[scale], device(scale), labels="random"):
        parts.append(simulate.fixed_norm(problem, FIG6_SHARPNESSES))
        shown = simulate.minimisers(problem, float(FIG6_SHARPNESSES[2]))
        drawn.append(problem.to(dtype=torch.float64).margins(shown).cpu().numpy().ravel())
    simulated, pooled = Curves.concat(parts), np.concatenate(drawn)
    kappa = float(theory.storage_stability(FIG6_LOAD))

    figure, axes = style.panels(size=(6.0, 4.0))
    axis = axes[0, 0]
    exact, density = draw_margins(axis, margins)
    counts, edges = np.histogram(pooled, bins=45, range=(-0.5, 4.0))
    seen, share = counts > 0, len(pooled) * np.diff(edges)
    style.points(
        axis, ((edges[1:] + edges[:-1]) / 2)[seen], (counts / share)[seen], (np.sqrt(counts) / share)[seen],
        color=style.colors(FIG6_SHARPNESSES)[2], zorder=4,
        label=f"λ = {FIG6_SHARPNESSES[2]:g}, simulated, N = {FIG6[scale][0]:,}",
    )  # fmt: skip
    axis.axvline(kappa, color=style.MUTED, linestyle="--", linewidth=1)
    axis.annotate("Gardner's κ", (kappa, 40), xytext=(-4, 0), ha="right",
                  textcoords="offset points", fontsize=8, color=style.MUTED)  # fmt: skip
    axis.set(xlabel="margin Δ", ylabel="density P(Δ)", yscale="log", ylim=(1e-3, 100), xlim=(-1, 4.5))
    axis.set_title(f"margins of random labels, load α = {FIG6_LOAD:g}")
    axis.legend()
    table = Curves(
        {
            "model": "perceptron", "labels": "random", "load": FIG6_LOAD,
            "margin": np.tile(margins, len(FIG6_SHARPNESSES)),
            "sharpness": np.repeat(FIG6_SHARPNESSES, len(margins)), "density": density.T.ravel(),
        },
        settings=["margin"], source="theory",
    )  # fmt: skip
    return Reproduction(Curves.concat([table, simulated]), figure, _table_fig6(exact, simulated, kappa))


def _table_fig6(exact: theory.MarginDistribution, simulated: Curves, kappa: float) -> tuple[Row, ...]:
    quantiles = [float(theory.storage_margin_distribution(FIG6_LOAD, s).quantile(0.01)) for s in SHARP]
    sharp = verdict.limit(quantiles)
    first, last = FIG6_SHARPNESSES[[0, -1]]
    drift = {y: _drift(simulated, y, first, last) for y in ("margin_mean", "margin_q01")}
    of_row = dict(zip(FIG6_SHARPNESSES.tolist(), exact.mean.tolist()))
    means = deviation(simulated, "margin_mean", simulated.frame["sharpness"].map(of_row).to_numpy())
    return (
        drift["margin_mean"].row(
            f"mean margin: change from λ = {first:g} to {last:g}", expected=0.0, relation="<",
            note="simulation; the paper: it decreases",
        ),
        drift["margin_q01"].row(
            f"smallest margins (1 % quantile): change from λ = {first:g} to {last:g}", expected=0.0,
            relation=">", note="simulation; the paper: it increases",
        ),
        sharp.row("1 % quantile at λ → ∞", expected=kappa, resolution=0.01 * kappa,
            note="theory, limit of λ = 1e2, 1e3, 1e4; expected: Gardner's stability"),
        means.row(
            "simulated mean margins over theory − 1", expected=0.0, resolution=0.05,
            note="mean over sharpnesses",
        ),
    )  # fmt: skip


def _drift(simulated: Curves, y: str, first: float, last: float) -> Number:
    """Change of a margin from one sharpness to another, in the same seeds."""
    table = simulated.frame.pivot_table(index="seed", columns="sharpness", values=y)
    return verdict.mean((table[last] - table[first]).to_numpy())
