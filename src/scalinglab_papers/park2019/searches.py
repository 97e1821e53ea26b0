"""Figures 1–13 of park2019: searches over batch sizes and learning rates.

Several figures show the same runs: what one of them judges, the others only draw.
"""

from __future__ import annotations

from scalinglab.curves import Curves
from scalinglab.errors import BadInput, nearest
from scalinglab.figures.decisions import draw_optimum, draw_searches
from scalinglab.figures.style import MUTED, PALETTE, loglog, panels
from scalinglab.laws.noise import Compared, OptimalNoise, compare_searches, optimal_noise, over_time
from scalinglab.laws.noise.runs import DRAWS
from scalinglab.studies import Reproduction, Row
from scalinglab.studies.trained import run_storage
from scalinglab_papers.park2019 import scales
from scalinglab_papers.park2019.design import EXPERIMENTS, STANDARD, TABLE_1, TABLE_3
from scalinglab_papers.park2019.figures import draw_over_time
from scalinglab_papers.park2019.rows import (
    comparison_row,
    concat_unique,
    estimate_row,
    gain_rows,
    power_row,
    slope_row,
    time_row,
    trained,
)
from scalinglab_papers.park2019.scales import chance

SMALL_KEYS = {"ntk": ("mnist 1LP ntk",), "standard": ("mnist 1LP standard",),
              "bn": ("cifar10 WRN ntk bn",)}  # fmt: skip


# the experiments of a table of the paper, by scheme; the standard ones are those of table 2
TABLES = {
    "ntk": tuple(TABLE_1),
    "standard": tuple(
        key for key in STANDARD
        if key.endswith(("standard", "standard 2", "standard 6"))
        and not key.startswith(("mnist BH", "mnist TH"))
    ),
    "bn": tuple(TABLE_3),
}  # fmt: skip


def keys(kind: str, scale: str) -> tuple[str, ...]:
    """The experiments of a table that a scale has: one on digits, some at gpu, all at paper."""
    if scale in scales.SMALL:
        return SMALL_KEYS[kind]
    found = tuple(key for key in TABLES[kind] if scale == "paper" or key in scales.GPU)
    if not found:
        raise BadInput("no experiment of this figure runs at scale gpu: choose smoke, laptop or paper")
    only = run_storage().only
    if wrong := [name for name in only if name not in EXPERIMENTS]:
        raise BadInput(f"--only {wrong[0]!r}: no such experiment; {nearest(wrong[0], found)}")
    return tuple(key for key in found if not only or key in only)


def title(key: str, scale: str) -> str:
    """An experiment's name; on digits that of its stand-in."""
    name = EXPERIMENTS[key].name
    return f"{name.replace(' on ', ' → digits for ')}" if scale in scales.SMALL else name


def has_rates(key: str, scale: str) -> bool:
    """Whether the rate search of an experiment belongs to a scale."""
    reduced = scales.GPU.get(key) if scale == "gpu" else None
    return EXPERIMENTS[key].batch is not None and (reduced is None or bool(reduced.rates))


def by_batch(key: str, scale: str) -> Curves:
    """The runs of a batch search."""
    return trained(scales.batch_search(key, scale))


def by_rate(key: str, scale: str) -> Curves:
    """The runs of a rate search."""
    return trained(scales.rate_search(key, scale))


def compared_searches(key: str, scale: str) -> Compared:
    """Both searches of an experiment, compared at the widths of the rate search."""
    rate = by_rate(key, scale)
    batch = by_batch(key, scale).select(width=sorted(set(rate["width"])))
    return compare_searches(batch, rate, trained_above=chance(scale))


# --- figures 1–3: NTK without batch norm -----------------------------------------------------------------


def fig1(scale: str) -> Reproduction:
    """Optimal noise against width, by batch and by rate."""
    wanted = keys("ntk", scale)
    figure, axes = panels(2, len(wanted), size=(3.6, 3.2))
    parts, rows = [], []
    for (optimum, in_time), key in zip(axes.T, wanted, strict=True):
        name, titles = title(key, scale), []
        searches = {"batch": by_batch(key, scale)}
        if has_rates(key, scale):
            searches["rate"] = by_rate(key, scale)
        for how, curves, color in zip(searches, searches.values(), PALETTE, strict=False):
            found = optimal_noise(curves, trained_above=chance(scale))
            times = over_time(curves, trained_above=chance(scale))
            draw_optimum(optimum, found, color, f"{how} search")
            draw_over_time(in_time, times, color, f"{how} search")
            titles.append(f"{how}: {optimum.get_title(loc='left')}")
            rows += [power_row(name, found, how), slope_row(name, found, how), time_row(name, times, how)]
            parts.append(curves)
        optimum.set_title("\n".join([name, *titles]), fontsize=8)
        in_time.legend(fontsize=7, loc="lower right")
    return Reproduction(concat_unique(parts), figure, tuple(rows))


def fig2(scale: str) -> Reproduction:
    """The optimum by rate against that by batch."""
    figure, axes = panels(1, 1, size=(4.4, 4.0))
    axis, parts, rows, ends = axes[0, 0], [], [], []
    for key, color in zip(_paired("ntk", scale), PALETTE, strict=False):
        found = compared_searches(key, scale)
        batch, rate = found.batch, found.rate
        name = title(key, scale)
        for k in range(len(batch.width)):
            axis.errorbar(batch.noise[k], rate.noise[k], color=color, fmt="o", elinewidth=1,
                          label=None if k else name,
                          xerr=[[batch.noise[k] - batch.low[k]], [batch.high[k] - batch.noise[k]]],
                          yerr=[[rate.noise[k] - rate.low[k]], [rate.high[k] - rate.noise[k]]])  # fmt: skip
        ends += [batch.noise.min(), batch.noise.max()]
        note = f"95 % [{found.ratio.low:.2f}, {found.ratio.high:.2f}]"
        rows.append(comparison_row(f"{name}: a by batch over a by rate", found.ratio, batch, rate, note,
                                   expected=1.0, resolution=0.5))  # fmt: skip
        parts += [by_batch(key, scale), by_rate(key, scale)]
    axis.plot([min(ends), max(ends)], [min(ends), max(ends)], "--", color=MUTED, linewidth=1, label="y = x")
    loglog(axis, "optimal ḡ by batch search", "optimal ḡ by rate search")
    axis.legend(fontsize=7)
    return Reproduction(concat_unique(parts), figure, tuple(rows))


def fig3(scale: str) -> Reproduction:
    """The best accuracy by rate against that by batch."""
    figure, axes = panels(1, 1, size=(4.4, 4.0))
    axis, parts, rows = axes[0, 0], [], []
    for key, color in zip(_paired("ntk", scale), PALETTE, strict=False):
        found = compared_searches(key, scale)
        name = title(key, scale)
        axis.errorbar(found.batch.accuracy, found.rate.accuracy, fmt="o", color=color, elinewidth=1,
                      xerr=found.batch.stderr, yerr=found.rate.stderr, label=name)  # fmt: skip
        axis.axline((float(found.batch.accuracy[0]),) * 2, slope=1, color=MUTED, linestyle="--", linewidth=1)
        rows.append(comparison_row(f"{name}: best accuracy by batch minus that by rate",
                                   found.best_difference, found.batch, found.rate, "mean over widths",
                                   expected=0.0, resolution=0.002))  # fmt: skip
        parts += [by_batch(key, scale), by_rate(key, scale)]
    axis.set(xlabel="best accuracy, batch search", ylabel="best accuracy, rate search")
    axis.legend(fontsize=7)
    return Reproduction(concat_unique(parts), figure, tuple(rows))


def _paired(kind: str, scale: str) -> tuple[str, ...]:
    """The experiments of a table that are searched by batch and by rate."""
    return tuple(key for key in keys(kind, scale) if has_rates(key, scale))


# --- figures 4–13 ---------------------------------------------------------------------------------


def fig4(scale: str) -> Reproduction:
    """The law in the standard scheme, by batch."""
    return optima(scale, *keys("standard", scale), slopes=True)


def fig5(scale: str) -> Reproduction:
    """With batch norm: the optimal rate and the optimal inverse batch size, for which ḡ stands."""
    wanted = keys("bn", scale)
    figure, axes = panels(len(wanted), 2, size=(4.0, 3.2))
    parts, rows = [], []
    for line, key in zip(axes, wanted, strict=True):
        for axis, how, curves in zip(
            line, ("batch", "rate"), (by_batch(key, scale), by_rate(key, scale)), strict=True
        ):
            found = optimal_noise(curves, trained_above=chance(scale))
            draw_optimum(axis, found, PALETTE[0], f"{how} search")
            axis.set_title(f"{title(key, scale)}\n{axis.get_title(loc='left')}", fontsize=8)
            rows.append(_with_batch_norm(key, scale, found, how))
            parts.append(curves)
    return Reproduction(concat_unique(parts), figure, tuple(rows))


def _with_batch_norm(key: str, scale: str, found: OptimalNoise, how: str) -> Row:
    """Wide ResNets follow the law; CNNs only weakly: p lies below 1."""
    if EXPERIMENTS[key].family == "WRN":
        return power_row(title(key, scale), found, how)
    return estimate_row(
        f"{title(key, scale)}: power p of the optimum in w, {how} search", found.power, found.n_runs,
        expected=1.0, relation="<", note="the paper: a much weaker trend",
    )  # fmt: skip


def accuracy(scale: str, kind: str, judged: bool, *columns: str) -> Reproduction:
    """Accuracy against each of these columns, of all experiments of a table that have such a search.

    Where it is `judged`, what the best accuracy gains with width: with batch norm (kind "bn") alone, else
    beside the gain at a fixed noise below the optima. Where it is not, another figure judges the same runs.
    """
    wanted = _paired(kind, scale) if "learning_rate" in columns else keys(kind, scale)
    figure, axes = panels(len(wanted), len(columns), size=(4.4, 3.4))
    draws = DRAWS if judged else 100
    parts, rows = [], []
    for line, key in zip(axes, wanted, strict=True):
        for axis, column in zip(line, columns, strict=True):
            curves = (by_rate if column == "learning_rate" else by_batch)(key, scale)
            found = optimal_noise(curves, x=column, draws=draws, trained_above=chance(scale))
            draw_searches(axis, found, title(key, scale))
            parts.append(curves)
            if judged and column != "learning_rate":
                rows += gain_rows(title(key, scale), found, fixed=kind != "bn")
    return Reproduction(concat_unique(parts), figure, tuple(rows))


def optima(scale: str, *wanted: str, slopes: bool = False) -> Reproduction:
    """Batch searches: accuracy against noise, and the optimum against width."""
    groups = _joined(wanted) if scale == "paper" else {key: (key,) for key in wanted}
    figure, axes = panels(len(groups), 2, size=(4.4, 3.4))
    parts, rows = [], []
    for line, (key, members) in zip(axes, groups.items(), strict=True):
        curves = concat_unique([by_batch(member, scale) for member in members])
        found = optimal_noise(curves, trained_above=chance(scale))
        draw_searches(line[0], found, title(key, scale))
        draw_optimum(line[1], found)
        rows.append(power_row(title(key, scale), found, "batch"))
        rows += [slope_row(title(key, scale), found, "batch")] if slopes else []
        parts.append(curves)
    return Reproduction(concat_unique(parts), figure, tuple(rows))


def _joined(wanted: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Wide ResNets of table 2 are one search in two parts, by width."""
    parts: dict[str, tuple[str, ...]] = {}
    for key in wanted:
        family = key.removesuffix(" 2").removesuffix(" 6")
        parts[family] = (*parts.get(family, ()), key)
    return {members[0]: members for members in parts.values()}
