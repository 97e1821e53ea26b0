"""Appendices G, H and I of park2019, its tables of training times, and the critical width."""

from __future__ import annotations

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import decisions
from scalinglab.figures.style import MUTED, PALETTE, colors, panels, points, sparse
from scalinglab.laws.noise import OptimalNoise, Stability, optimal_noise, stability
from scalinglab.laws.noise.optimum import from_ends, powers
from scalinglab.laws.noise.runs import TRAINED_ABOVE, ends
from scalinglab.results.distributions import Estimate
from scalinglab.studies import NUMERICAL, Reproduction, Row, rounded
from scalinglab_papers.park2019 import figures, scales
from scalinglab_papers.park2019.design import EXPERIMENTS, TABLE_1, TABLE_3, Experiment
from scalinglab_papers.park2019.rows import comparison_row, concat_unique, estimate_row, trained
from scalinglab_papers.park2019.scales import chance
from scalinglab_papers.park2019.searches import TABLES, by_batch, title

# --- appendix G ------------------------------------------------------------------------------------------


def fig14(scale: str) -> Reproduction:
    """One network at many rates and batches: the optimum does not depend on the rate."""
    curves = trained(scales.two_dimensional(scale))
    found = optimal_noise(curves, width="learning_rate", claim=0.0, trained_above=chance(scale))
    figure, axes = panels(1, 2, size=(4.4, 3.4))
    decisions.draw_searches(axes[0, 1], found)
    for rate, color in zip(found.width, colors(found.width), strict=True):
        own = optimal_noise(curves.select(learning_rate=float(rate)), x="batch_size", width="learning_rate")
        one, use = own.searches[0], own.searches[0].usable
        points(axes[0, 0], one.level[use], one.mean[use], one.stderr[use], color=color, fmt="o-",
               linewidth=1, label=f"{rate:g}")  # fmt: skip
    axes[0, 0].set(xscale="log", xlabel="batch size", ylabel="test accuracy")
    sparse(axes[0, 0].xaxis)
    axes[0, 0].legend(title="learning rate", fontsize=7)
    row = estimate_row(
        "exponent of the optimal noise in the learning rate", found.power, found.n_runs, expected=0.0,
        resolution=0.5, known=found.bounded,
        note=f"the paper: accuracy is governed by the noise scale alone; 95 % [{found.power.low:.2f}, "
        f"{found.power.high:.2f}]",
    )  # fmt: skip
    return Reproduction(curves, figure, (row,))


# --- appendix H ------------------------------------------------------------------------------------------


WIDEST = 3  # widths at which the claim, which is about wide networks, is judged beside all of them


def fig15(scale: str) -> Reproduction:
    """Failure rates: the largest stable rate falls as 1/w in the standard scheme and is constant in NTK."""
    small = scale in scales.SMALL
    # the paper's rule; small networks stay at chance, and hardly ever overflow
    rule, failed = (
        (TRAINED_ABOVE, "diverge or stay at chance") if small else (None, "end in a numerical error")
    )
    families = tuple(scales.STABILITY) if scale == "paper" else ("2LP",)
    parts, rows, drawn = [], [], {}
    for family in families:
        for scheme, claim in (("standard", -1.0), ("ntk", 0.0)):
            curves = trained(scales.stability_search(family, scheme, scale))
            found = stability(curves, trained_above=rule)
            name = f"{family}, {scheme}"
            drawn[name] = found
            note = f"half of the runs {failed}; the paper: subtle for 2LP"
            rows.append(_stability_row(name, found, curves, claim, note))
            if len(found.width) > WIDEST and not small:
                wide = curves.select(**{found.width_column: found.width[-WIDEST:].tolist()})
                name = f"{name}, w ≥ {found.width[-WIDEST]:g}"
                note = "the paper's claim is about w → ∞"
                rows.append(_stability_row(name, stability(wide), wide, claim, note))
            parts.append(curves)
    return Reproduction(concat_unique(parts), figures.stability(drawn), tuple(rows))


def _stability_row(name: str, found: Stability, curves: Curves, claim: float, note: str) -> Row:
    c = found.exponent
    return estimate_row(
        f"{name}: exponent of the largest stable rate in w", c, len(curves.runs), expected=claim,
        resolution=0.25, note=f"{note}; 95 % [{c.low:.2f}, {c.high:.2f}], "
        f"{int(np.isfinite(found.largest).sum())} widths",
    )  # fmt: skip


# --- appendix I ------------------------------------------------------------------------------------------

COMPARED = {  # ntk, standard, what the paper says of standard minus ntk
    "mnist 1LP": "=", "mnist 2LP": "=", "mnist 3LP": "=", "fashion-mnist CNN": ">",
}  # fmt: skip
HEAVY = {"mnist BH": ">", "mnist TH": "<"}


def fig16(scale: str) -> Reproduction:
    """Best accuracy in the standard scheme against that in NTK."""
    pairs = COMPARED if scale == "paper" else {"mnist 1LP": "="}
    return _schemes(pairs, scale)


def fig17(scale: str) -> Reproduction:
    """The same for bottom-heavy and top-heavy perceptrons."""
    return _schemes(HEAVY, scale)


def _schemes(pairs: dict[str, str], scale: str) -> Reproduction:
    figure, axes = panels(1, 1, size=(4.4, 4.0))
    axis, parts, rows = axes[0, 0], [], []
    for (pair, relation), color in zip(pairs.items(), PALETTE, strict=False):
        runs = {scheme: by_batch(f"{pair} {scheme}", scale) for scheme in ("ntk", "standard")}
        ntk, standard = (
            optimal_noise(curves, seed=k, trained_above=chance(scale))
            for k, curves in enumerate(runs.values())
        )
        difference = _difference(standard, ntk)
        name = title(f"{pair} ntk", scale).replace(", ntk", "")
        axis.errorbar(ntk.accuracy, standard.accuracy, xerr=ntk.stderr, yerr=standard.stderr, fmt="o",
                      color=color, elinewidth=1, label=name)  # fmt: skip
        axis.axline((float(ntk.accuracy[0]),) * 2, slope=1, color=MUTED, linestyle="--", linewidth=1)
        rows.append(comparison_row(
            f"{name}: best accuracy, standard minus NTK", difference, ntk, standard, "mean over widths",
            expected=0.0, relation=relation, resolution=0.002 if relation == "=" else None,
        ))  # fmt: skip
        parts += list(runs.values())
    axis.set(xlabel="best accuracy, NTK", ylabel="best accuracy, standard")
    axis.legend(fontsize=7)
    return Reproduction(concat_unique(parts), figure, tuple(rows))


def _difference(one: OptimalNoise, other: OptimalNoise) -> Estimate:
    value = float(np.mean(one.accuracy - other.accuracy))
    return Estimate.from_draws(value, (one.best_draws - other.best_draws).mean(axis=1))


# --- critical width --------------------------------------------------------------------------------------


def critical_width(scale: str) -> Reproduction:
    """Width at which the optimal noise takes a batch of one at the largest rate that trained (section 5).

    By ḡ_opt = A w^p through the optima and ḡ = κ ε/B at B = 1; intervals from the resampled optima.
    """
    key = "mnist 1LP ntk"
    curves = by_batch(key, scale)
    name = f"{title(key, scale)}: critical width, units of a hidden layer"
    runs = ends(curves, "normalized_noise_scale")
    found = from_ends(runs)
    if not found.bounded or not np.isfinite(found.power.low):
        row = Row(name, None, note=f"the runs cannot tell: {found.reason}")
        return Reproduction(curves, decisions.noise(found), (row,))
    noise = runs.level * runs.frame["batch_size"].to_numpy(float)  # with batches of one
    largest = float(noise[runs.trained].max())
    log_width = np.log(found.width[found.used])
    optima = np.vstack([found.noise[found.used], found.draws[:, found.used]])
    power = powers(found.width[found.used], optima)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        away = (np.log(largest) - np.log(optima).mean(axis=1)) / power
        widths = np.where(power > 0, np.exp(log_width.mean() + away), np.inf)
    w = Estimate.from_draws(widths[0], widths[1:])
    failed = np.any(noise[~runs.trained] > largest)
    bound = "" if failed else "no rate that was tried failed, so this is a lower bound; "
    upper = f"{w.high:.3g}" if np.isfinite(w.high) else "no upper end"
    note = f"{bound}95 % [{w.low:.3g}, {upper}]; no width near it was run"
    row = Row(name, None, note=f"{w.value:.3g}, {note}")
    return Reproduction(curves, decisions.noise(found), (row,))


# --- tables of training times ----------------------------------------------------------------------------


def times(scale: str, kind: str) -> Reproduction:
    """T0 of the rate search, without or with batch norm: eq. 16 at the printed batch size."""
    table = {"ntk": TABLE_1, "bn": TABLE_3}[kind]
    rows = []
    for experiment in table.values():
        assert experiment.reference_steps is not None
        ours, printed = experiment.reference_time(), experiment.reference_steps
        note = "max(T_min, E_min N/B)"
        if abs(ours / printed - 1) > 0.001:
            note += "; our rate search takes the printed T0"
        rows.append(Row(
            f"{experiment.name}: T0 / 1000 by eq. 16", ours / 1000, NUMERICAL * ours / 1000,
            paper=printed / 1000, paper_stderr=rounded(0.1), resolution=1.0, note=note,
        ))  # fmt: skip
    return Reproduction(_bounds(list(table.values())), None, tuple(rows))


def _bounds(chosen: list[Experiment]) -> Curves:
    """The printed bounds as a table."""
    frame = {
        "experiment": [e.name for e in chosen], "model": [e.family for e in chosen],
        "learning_rate": [e.rate for e in chosen], "min_epochs": [float(e.min_epochs) for e in chosen],
        "min_steps": [float(e.min_steps) for e in chosen], "width": [float(e.widths[0]) for e in chosen],
    }  # fmt: skip
    return Curves(frame)


def table2(scale: str) -> Reproduction:
    """Bounds of the standard scheme: the settings of figure 4, where its runs are judged."""
    return Reproduction(_bounds([EXPERIMENTS[key] for key in TABLES["standard"]]), None, ())
