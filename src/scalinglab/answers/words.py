"""What the sentences of a curve and of a surface share: runs left out, sizes with units, the next run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.laws.fitting.data.from_curves import Table
from scalinglab.laws.planning.next_runs import NextRuns
from scalinglab.support.words import count, counted

WHOLE = ("parameters", "examples", "tokens", "steps")  # counts
ADD_UP = ("examples", "tokens", "FLOPs", "steps", "epochs")  # costs; sizes of networks are none
FURTHER = 10.0  # how many times beyond the data the answers look
MOST_NAMED = 3  # runs of a plan that a sentence names


def finite(table: Table, y: str) -> tuple[Table, str]:
    """The points with a finite y, and the sentence on runs left out: one that diverged has no loss.

    Points without a size, or with one that is not positive, are left out alike.
    """
    sizes = np.atleast_2d(np.asarray(table.x, float))
    known, sized = np.isfinite(table.y), np.all(np.isfinite(sizes) & (sizes > 0), axis=0)
    if not known.any():
        raise BadInput(f"no run has a finite {y}: name another column with y= (--y)")
    if (known & sized).all():
        return table, ""
    if not sized.all():
        left, said = finite(table.keep(sized), y)
        return left, f" Left out: {counted(int((~sized).sum()), 'point')} without a positive size.{said}"
    lost = {*table.runs} - {*table.runs[known]}
    return table.keep(known), f" Left out: {counted(len(lost), 'run')} without a finite {y}."


def in_units(reason: Exception | str, unit: str) -> str:
    """What an error says of the columns n_params and n_data, of parameters and tokens."""
    return re.sub(r"\bn_data\b", unit, re.sub(r"\bn_params\b", "parameters", sentence(reason)))


def next_sentence(
    plan: Callable[[], NextRuns], unit: str, size: str = "", quantity: str = ""
) -> tuple[NextRuns | None, str]:
    """The next runs and whether they are worth it, or why none can be named.

    Args:
        unit: of the data, or of the one size.
        size: the column of the one size.
        quantity: what is predicted where that is not y itself.
    """
    try:
        found = plan()
    except ScalinglabError as reason:
        return None, f"Next run not determined: {sentence(reason)}"
    found = replace(found, quantity=quantity)
    if found.unit.startswith("units of"):
        found = replace(found, unit=unit if unit in ADD_UP else "")
    if not len(found.runs):
        return found, f"{found.verdict[0].upper()}{found.verdict[1:]}."
    units = {"n_params": "parameters", "n_data": unit, "x": unit}
    named = []
    for run, seeds in zip(found.runs[:MOST_NAMED], found.seeds, strict=False):
        sizes = " on ".join(
            sized(float(f"{v:.3g}"), units.get(n, n), size or n)
            for n, v in zip(found.variables, run, strict=True)
        )
        named.append(sizes + (f" ({seeds} seeds)" if seeds > 1 else ""))
    left = len(found.runs) - len(named)
    named += [f"{left} more"] if left else []
    verdict, listed = f"{found.verdict[0].upper()}{found.verdict[1:]}.", f"{', then '.join(named)}."
    return found, f"Next: {listed} {verdict}" if found.worth_it else f"{verdict} The best would be {listed}"


def sized(value: float, unit: str, name: str) -> str:
    """20M parameters; width 128."""
    said = count(round(value) if value > 10 or (unit in WHOLE and value >= 1) else value)
    return f"{name} {said}" if unit == name and unit not in ADD_UP else f"{said} {unit}"


def sentence(reason: Exception | str) -> str:
    """What an error says, with one full stop."""
    text = str(reason).strip().rstrip(".")
    return f"{text}."
