"""Rows of "paper vs measured" from optimal noises; the numbers of the paper stand in its figures only.

Runs of park2019's experiments, which many of its figures share.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.laws.noise import OptimalNoise, OverTime
from scalinglab.laws.noise.runs import resampled
from scalinglab.results.distributions import Estimate, reach
from scalinglab.studies import Row, shared
from scalinglab.studies.trained import runs
from scalinglab.studies.verdict import LEVEL


def concat_unique(parts: Sequence[Curves]) -> Curves:
    """Curves of several searches as one table; a run that belongs to two of them is taken once."""
    seen: set[str] = set()
    fresh = []
    for part in parts:
        own = [run for run in part.runs if run not in seen]
        seen.update(own)
        if own:
            fresh.append(part.select(run=own))
    return Curves.concat(fresh)


def trained(settings: list[dict[str, Any]]) -> Curves:
    """The curves of these settings: read where they are kept, trained where they are missing."""
    return _trained(json.dumps(settings))


@shared
def _trained(settings: str) -> Curves:
    return runs(json.loads(settings), "park2019")


HALF = reach(LEVEL)  # standard errors in half of a 95 % interval
POWER_RESOLUTION = 0.5  # p = 0.5 and 1.5 must be excluded before p = 1 is called seen


def estimate_row(
    quantity: str,
    found: Estimate,
    n: int,
    *,
    expected: float | None = None,
    relation: str = "=",
    resolution: float | None = None,
    known: bool = True,
    note: str = "",
) -> Row:
    """A row whose standard error is half of the deciding side of a skewed 95 % interval.

    The side that faces the reference decides if the interval excludes the reference or if the claim is
    "above" or "below"; otherwise the wider side does.

    Args:
        known: False where the interval does not count, so that no verdict follows: then the row has no
            number, and its note says what was found.
    """
    below, above = found.value - found.low, found.high - found.value
    side = max(below, above)
    if expected is not None:
        facing = below if expected < found.value else above
        side = facing if relation in "<>" or facing < abs(found.value - expected) else side
    if known and np.isfinite(found.value) and np.isfinite(side):
        return Row(quantity, found.value, float(side / HALF), n, expected=expected, relation=relation,
                   resolution=resolution, note=note)  # fmt: skip
    if np.isfinite(found.value):
        note = f"{round(found.value, 9) + 0:.3g} without an error that counts; {note}"
    return Row(quantity, None, expected=expected, relation=relation, resolution=resolution, note=note)


def comparison_row(
    quantity: str, found: Estimate, one: OptimalNoise, other: OptimalNoise, note: str, **claim: Any
) -> Row:
    """A number that compares two searches; it counts if both have their optima inside."""
    known = one.bounded and other.bounded
    note += "" if known else "; optima at the end of a search: what is best may lie outside"
    return estimate_row(quantity, found, one.n_runs + other.n_runs, known=known, note=note, **claim)


def power_row(name: str, found: OptimalNoise, how: str) -> Row:
    """p of ḡ_opt ∝ w^p (eq. 6)."""
    p = found.power
    outside = "" if found.bounded else f"; {found.reason}"
    note = f"95 % [{p.low:.2f}, {p.high:.2f}] over resampled runs, {int(found.used.sum())} widths{outside}"
    return estimate_row(
        f"{name}: power p of the optimum in w, {how} search", p, found.n_runs, expected=1.0,
        resolution=POWER_RESOLUTION, known=found.bounded, note=note,
    )  # fmt: skip


def slope_row(name: str, found: OptimalNoise, how: str) -> Row:
    """a of ḡ_opt = a w; the paper's numbers stand in its figures."""
    a = found.proportionality
    return estimate_row(
        f"{name}: a of ḡ = a w, {how} search", a, found.n_runs, known=found.bounded,
        note=f"1/loss, w in units of the paper; 95 % [{a.low:.4g}, {a.high:.4g}]",
    )  # fmt: skip


def time_row(name: str, found: OverTime, how: str) -> Row:
    """Optimum at half the time over that at the end."""
    half = found.ratio[found.shares.index(0.5)]
    return estimate_row(
        f"{name}: optimum at T/2 over that at T, {how} search", half, found.found[-1].n_runs, expected=1.0,
        resolution=0.5, known=all(one.bounded for one in found.found[-2:]),
        note=f"late times: {found.verdict}",
    )  # fmt: skip


def gain_rows(name: str, found: OptimalNoise, fixed: bool = True) -> list[Row]:
    """Figure 6: best accuracy grows with width, and (`fixed`) hardly at a fixed noise below all optima."""
    error = 1 - found.accuracy
    centred = np.log(found.width) - np.log(found.width).mean()
    weights = centred / (centred @ centred)
    drawn = np.log(np.maximum(1 - found.best_draws, 1e-6)) @ weights
    slope = Estimate.from_draws(float(np.log(error) @ weights), drawn)
    rows = [estimate_row(f"{name}: exponent of the best test error in w", slope, found.n_runs, expected=0.0,
                         relation="<", note="the paper: wider networks reach higher accuracies")]  # fmt: skip
    share = share_at_fixed_noise(found) or Estimate(float("nan"))
    if fixed:
        rows.append(estimate_row(
            f"{name}: gain from narrowest to widest at fixed noise below the optima, over that at them",
            share, found.n_runs, expected=0.5, relation="<",
            note="the paper: very similar accuracy at fixed noise; most of the gain is due to more noise",
        ))  # fmt: skip
    return rows


def share_at_fixed_noise(found: OptimalNoise, draws: int = 1000) -> Estimate | None:
    """Gain at one noise scale over the gain between optima; the noise is half the smallest optimum or less.

    None where the searches have no such noise in common.
    """
    first, last = found.searches[0], found.searches[-1]
    common = [
        (i, j)
        for i, level in enumerate(first.level)
        for j, other in enumerate(last.level)
        if abs(np.log(level / other)) < 1e-6 and level <= found.noise.min() / 2
    ]
    common = [(i, j) for i, j in common if first.usable[i] and last.usable[j]]
    if not common:
        return None
    one, other = zip(*common, strict=True)
    at_noise = np.mean(last.mean[list(other)] - first.mean[list(one)])
    between = found.accuracy[-1] - found.accuracy[0]
    low, _ = resampled(first, draws, (7, 0))
    high, _ = resampled(last, draws, (7, 1))
    ratios = (high[:, list(other)] - low[:, list(one)]).mean(axis=1) / (high.max(axis=1) - low.max(axis=1))
    return Estimate.from_draws(float(at_noise / between), ratios)
