"""Figures of what studies of the field are judged by: runs that go on, scores, planted faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scalinglab.figures.style import INK, MUTED, PALETTE, panels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scalinglab.laws.in_progress import FinalLoss


def in_progress(
    step: np.ndarray, loss: np.ndarray, total: float, ahead: Sequence[FinalLoss], found: pd.DataFrame
) -> Figure:
    """A run with the estimates of its end along it, and the errors of many runs by the part that is known.

    Args:
        step, loss: the whole run.
        ahead: estimates of its end, made along it.
        found: one row a run and part, with `error`, `low` and `high` of the band, relative to the final loss.
    """
    figure, axes = panels(1, 2, size=(5.2, 3.6))
    left, right = axes[0]
    parts = np.array([one.fraction for one in ahead])
    left.plot(step / total, loss, color=MUTED, linewidth=1.0, label="loss")
    values, lows, highs = (
        np.array([getattr(one, name) for one in ahead]) for name in ("value", "low", "high")
    )
    left.fill_between(parts, lows, highs, color=PALETTE[1], alpha=0.25, label="95 % band")
    left.plot(parts, values, "o-", color=PALETTE[1], markersize=3.5, label="estimated final loss")
    left.axhline(float(loss[-1]), color=INK, linewidth=0.8, linestyle=":", label="final loss")
    left.set(xlabel="part of the run that is known", ylabel="loss", title="one run")
    left.set_ylim(min(lows.min(), loss[-1]) * 0.995, float(np.interp(0.1 * total, step, loss)))
    left.legend(fontsize=7)
    for part, own in found.groupby("part"):
        own = own.sort_values("error")
        at = part + 0.06 * np.linspace(-1, 1, len(own))
        span = 100 * np.array([own["error"] - own["low"], own["high"] - own["error"]])
        right.errorbar(
            at, 100 * own["error"], yerr=span, fmt="o", color=PALETTE[0], markersize=3, linewidth=0.7
        )
    right.axhline(0.0, color=INK, linewidth=0.8)
    parts = np.unique(found["part"])
    right.set_xticks(parts, [f"{part:g}" for part in parts])
    right.set(
        xlabel="part of the run that is known", ylabel="error of the final loss / %",
        title=f"{found['run'].nunique()} runs with their 95 % bands",
    )  # fmt: skip
    return figure


def scores(found: pd.DataFrame) -> Figure:
    """Predicted against measured scores with their intervals.

    Args:
        found: one row a score, with `study`, `true`, `mean`, `low` and `high`.
    """
    figure, axes = panels(1, 1, size=(4.6, 4.0))
    one = axes[0, 0]
    ends = [found[["true", "low"]].min(axis=None) - 0.03, found[["true", "high"]].max(axis=None) + 0.03]
    one.plot(ends, ends, color=MUTED, linewidth=1.0)
    for shade, (study, own) in zip(PALETTE, found.groupby("study"), strict=False):
        span = np.maximum([own["mean"] - own["low"], own["high"] - own["mean"]], 0)
        one.errorbar(own["true"], own["mean"], yerr=span, fmt="o", color=shade, markersize=3, linewidth=0.7,
                     label=str(study))  # fmt: skip
    one.set(xlabel="measured score of the largest size", ylabel="predicted from smaller ones, 95 % interval")
    one.legend(fontsize=7)
    return figure


def faults(found: pd.DataFrame) -> Figure:
    """The share of planted faults that an audit finds, by kind.

    Args:
        found: one row a study and fault, with `fault` and `found`.
    """
    figure, axes = panels(1, 1, size=(5.2, 3.4))
    shares = found.groupby("fault")["found"].mean().sort_values()
    planted = found.groupby("fault").size()
    axes[0, 0].barh(np.arange(len(shares)), 100 * shares, color=PALETTE[0])
    axes[0, 0].set_yticks(
        np.arange(len(shares)),
        [f"{str(name).replace('_', ' ')}, {planted[name]} times" for name in shares.index],
    )
    axes[0, 0].set(xlabel="planted faults that are found / %", xlim=(0, 100))
    return figure
