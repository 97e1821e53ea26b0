"""The first part of the talk, a review of others' findings, tested on public points and exact solutions.

The points are looked for under ``learning-curves/`` in the folders of ``SCALINGLAB_DATA``: 56 learning curves
of alabdulmohsin2022 (Hestness' statements), the digitised points of hoffmann2022 (Rosenfeld's form and
Hoffmann's exponents) and the trainings of gemstones2025 (Kaplan's statements). Most are not those of the
papers that the talk quotes: a statement that holds in general holds for them.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.data.tables import published_table
from scalinglab.figures import style
from scalinglab.laws import bootstrap, surface
from scalinglab.results.distributions import slope
from scalinglab.studies import Number, Reproduction, Row, loglog_figure, verdict
from scalinglab.theory import bottlenecks as theory
from scalinglab_papers.bordelon2024 import common
from scalinglab_papers.bordelon2024.frontier import limits
from scalinglab_papers.hoffmann2022 import refit
from scalinglab_papers.hoffmann2022.refit import besiroglu_points, digitised

RESAMPLES = 200


def resampled(groups: list[pd.DataFrame], value: object) -> Number:
    """A number of a whole table, with its error from resampling groups of rows."""
    random = np.random.default_rng(0)
    whole = value(pd.concat(groups))  # type: ignore[operator]
    drawn = []
    for _ in range(RESAMPLES):
        chosen = random.integers(len(groups), size=len(groups))
        parts = [groups[i].assign(group=place) for place, i in enumerate(chosen)]
        drawn.append(value(pd.concat(parts)))  # type: ignore[operator]
    return Number(float(whole), float(np.std(drawn, ddof=1)), len(groups))


# --- Hestness et al. 2017 --------------------------------------------------------------------------------


def hestness(scale: str) -> Reproduction:
    """Do tasks change the exponent of L ~ c P^-γ more than architectures do?"""
    table = published_table("alabdulmohsin2022/curves.csv", "arXiv 2209.06640")
    rows = []
    for (domain, task, model), curve in table.groupby(["domain", "task", "model"]):
        mean = curve.groupby("n_data")["loss"].mean()
        found = slope(np.log(mean.index.to_numpy(float)), np.log(mean.to_numpy()))
        rows.append((domain, task, model, -found.value))
    exponents = pd.DataFrame(rows, columns=["domain", "task", "model", "exponent"])
    images = exponents[exponents["domain"] == "IC"]
    groups = [part for _, part in images.groupby("task")]
    ratio = resampled(groups, _between_over_within)
    inside = exponents["exponent"].between(0.05, 0.5).to_numpy(float)
    share = float(inside.mean())
    spread = max(np.sqrt(share * (1 - share) / len(inside)), 1 / len(inside))
    figure, axes = style.panels(size=(6.4, 4.0))
    axis, names = axes[0, 0], []
    for place, ((domain, task), part) in enumerate(exponents.groupby(["domain", "task"])):
        axis.plot(np.full(len(part), place), part["exponent"], "o", color=style.PALETTE[place % 6])
        names.append(f"{domain} {re.sub('[^a-z0-9]+', ' ', str(task)).strip()}")
    axis.set_xticks(np.arange(len(names)), names, rotation=90, fontsize=7)
    axis.set(ylabel="exponent γ of L ~ c P^-γ", title="one point an architecture")
    made = (
        ratio.row(
            "spread of γ between tasks over its spread between architectures of a task, images", expected=1.0,
            relation=">", note="the talk: tasks change γ, architectures mainly c; n counts tasks",
        ),
        Row(
            "share of curves with 0.05 ≤ γ ≤ 0.5", share, float(spread), len(inside), paper=1.0,
            note="the talk's summary: exponents found in [0.05, 0.5]; pure power laws over the whole range",
        ),
    )  # fmt: skip
    return Reproduction(Curves(table, source="read", settings=["task"]), figure, made)


def _between_over_within(table: pd.DataFrame) -> float:
    """Standard deviation of the means of groups over that inside groups."""
    key = "group" if "group" in table else "task"
    groups = table.groupby(key)["exponent"]
    return float(groups.mean().std(ddof=1) / np.sqrt(groups.var(ddof=1).mean()))


# --- Rosenfeld et al. 2020 -------------------------------------------------------------------------------


def rosenfeld(scale: str) -> Reproduction:
    """ε(N, P) = a P^-α + b N^-β + c, fitted to the cheaper points, at the more expensive ones."""
    n, d, loss = besiroglu_points(*digitised())
    figure, axis = loglog_figure(
        "loss, fitted to small sizes", "loss", "points of hoffmann2022", size=(4.6, 3.8)
    )
    order = np.argsort(n * d)
    small, large = order[: len(order) * 7 // 10], order[len(order) * 7 // 10 :]
    fitted = surface.fit(n[small], d[small], loss[small], form="chinchilla")
    predicted = fitted.predict(n_params=n, n_data=d)
    for part, color, name in ((small, style.PALETTE[0], "fitted"), (large, style.PALETTE[1], "predicted")):
        axis.plot(predicted[part], loss[part], ".", color=color, label=name)
    axis.plot([loss.min(), loss.max()], [loss.min(), loss.max()], color=style.INK, lw=1)
    axis.legend()
    off = verdict.mean(np.log(loss[large] / predicted[large]))
    # errors of one fit are shared by all points: the fit's own error at them comes on top
    draws = bootstrap(fitted.law, draws=400).predict((n[large], d[large]))
    shared = float(np.log(draws).mean(axis=-1).std(ddof=1))
    row = Row(
        "mean ln(loss/predicted) of the 30 % of points with most compute", off.value,
        float(np.hypot(off.stderr, shared)), off.n, expected=0.0, resolution=0.02,
        note="the talk: small models predict large ones; the 240 points that Besiroglu et al. fit; the error "
        "holds that of the fit",
    )  # fmt: skip
    columns = {"n_params": n, "n_data": d, "test_loss": loss, "fitted_loss": predicted}
    return Reproduction(Curves(columns, source="read"), figure, (row,))


# --- Kaplan et al. 2020 ----------------------------------------------------------------------------------


def kaplan(scale: str) -> Reproduction:
    """Scale against shape, and the sample efficiency of large models, in models of many widths and depths."""
    table = published_table("gemstones2025/hot.csv", "github.com/mcleish7/gemstone-scaling-laws")
    table = table.assign(aspect=table["width"] / table["depth"])
    common_sizes = table.groupby("n_data")["run_name"].nunique()
    table = table[table["n_data"].isin(common_sizes[common_sizes >= 6].index)]
    runs = [part for _, part in table.groupby("run_name")]
    slopes = {name: resampled(runs, lambda t, k=k: _slopes(t)[k]) for k, name in enumerate(("N", "shape"))}
    ratio = resampled(runs, lambda t: abs(_slopes(t)[1]) / abs(_slopes(t)[0]))
    figure, axis = loglog_figure("parameters N", "loss", "gemstones2025, many shapes", size=(4.8, 3.8))
    shown = sorted(table["n_data"].unique())
    for tokens, color in zip(shown[:: max(1, len(shown) // 5)], style.PALETTE):
        part = table[table["n_data"] == tokens].sort_values("n_params")
        axis.plot(part["n_params"], part["loss"], "o", color=color, label=f"{tokens:.3g} tokens", ms=4)
    axis.legend(fontsize=7)
    rows = (
        slopes['N'].row(
            "d ln loss/d ln N at equal tokens and shape", expected=0.0, relation="<",
            note="the talk: large models are more sample-efficient; n counts runs",
        ),
        ratio.row(
            "the same for the shape, width over depth, at equal N, over that for N, in size", expected=0.5,
            relation="<", note="the talk: strongly on scale, weakly on shape; expected: less than half",
        ),
    )  # fmt: skip
    return Reproduction(Curves(table, source="read", settings=["run_name"]), figure, rows)


def _slopes(table: pd.DataFrame) -> tuple[float, float]:
    """Slopes of ln loss in ln N and ln(width/depth), with a level of its own for every number of tokens."""
    logs = np.log(table[["loss", "n_params", "aspect"]])
    logs = logs - logs.groupby(table["n_data"]).transform("mean")
    best = np.linalg.lstsq(logs[["n_params", "aspect"]].to_numpy(), logs["loss"].to_numpy(), rcond=None)[0]
    return float(best[0]), float(best[1])


# --- Hoffmann et al. 2022 --------------------------------------------------------------------------------


def hoffmann(scale: str) -> Reproduction:
    """The refit, whose three exponents of N say the same of P: they add up to one."""
    return replace(refit.refit(scale), table=())


# --- Bordelon et al. 2024 --------------------------------------------------------------------------------


def bottlenecks(scale: str) -> Reproduction:
    """The talk's min(a − 1, 2b) for data and model, where it differs from a − 1, on the exact solution."""
    table, parts = [], []
    for task, spectral in ((4.2, 1.4), (4.0, 1.2))[: 1 if scale == "smoke" else 2]:
        series, curves = limits(task, spectral)
        parts += curves
        own = theory.exponents(task, spectral)
        for name, holds in (("data", own.data), ("params", own.params)):
            x, y = series[name]
            label = f"a = {task}, b = {spectral}: {name}"
            note = f"the talk: min(a − 1, 2b); our expansion gives {holds:g}"
            table.append(common.slope_row(label, -min(task - 1, 2 * spectral), x[-4:], y[-4:], note))
    return Reproduction(Curves.concat(parts), None, tuple(table))
