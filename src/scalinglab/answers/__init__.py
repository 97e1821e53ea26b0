"""One answer from a table: `answer(table, compute=None)`.

What a practitioner came for: the exponent and how sure it is, whether it is a power law at all, what ten
times as much gives, the compute-optimal model, which run to make next and whether it is worth it. Each is a
`Finding`: values with intervals, or the reason why there are none, and the command that shows more.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from scalinglab import readers
from scalinglab.answers.curve import answer_curve
from scalinglab.answers.result import Answers
from scalinglab.answers.surface import answer_surface
from scalinglab.curves import Curves
from scalinglab.curves.columns import measure_of
from scalinglab.errors import BadInput
from scalinglab.laws.fitting.data.from_curves import DATA_SEEN
from scalinglab.laws.fitting.data.points import positive
from scalinglab.results.types import SOME_TABLE, Reason

MEASURED = ("loss", "validation_loss", "val_loss", "eval_loss", "accuracy")
SIZES = ("n_data", "n_params", "tokens", "examples", "compute", "width")
__all__ = ["SIZES", "Answers", "answer"]


def answer(
    table: Any, compute: float | None = None, *, x: str | None = None, y: str | None = None,
    settings: Iterable[str] = (), **columns: str,
) -> Answers:  # fmt: skip
    """What a table of runs shows.

    Args:
        table: a `Curves`, a DataFrame, or the path of a table, a store or a folder of logs.
        compute: FLOPs at which the compute-optimal model is wanted; ten times the largest run by default.
        x: the column of sizes; by default n_params and n_data together where both vary.
        y: the column that was measured; by default the test error, test loss or accuracy that the table
            has, as in `scalinglab.laws.fit`.
        settings, columns: as in `scalinglab.read`.

    >>> import numpy as np, pandas as pd
    >>> n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 5), np.geomspace(2e9, 2e11, 5)))
    >>> loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * np.tile([1.001, 0.999, 1.0, 1.001, 0.999], 5)
    >>> found = answer(pd.DataFrame({"n_params": n, "tokens": d, "loss": loss}), compute=1e22)
    >>> best = found["compute-optimal"].values["n_params"]
    >>> best.low < best.value < best.high, best.unit
    (True, 'parameters')
    """
    given = isinstance(table, Curves)
    declared = [*settings, *([x] if x and not given else [])]
    curves = readers.read(table, settings=declared, wanted=[y] if y else [], **columns)
    found = _answer_curves(curves, compute, x, y)
    path = (os.fspath(table),) if isinstance(table, (str, os.PathLike)) else SOME_TABLE
    options = (word for ours, theirs in columns.items() for word in ("--column", f"{ours}={theirs}"))
    found = replace(found, table=(*path, *options))
    if curves is table:
        return found
    return replace(found, notes=(Reason("read", text=curves.understood), *found.notes))


def _answer_curves(curves: Curves, compute: float | None, x: str | None, y: str | None) -> Answers:
    positive(compute=1 if compute is None else compute)
    measured = curves.resolve(y) if y else _measured(curves)
    varied = [c for c in SIZES if c in curves.frame and curves.frame[c].nunique() > 1]
    seen = any(name in varied for name in DATA_SEEN)  # a run of one length still sees more data as it goes
    if x is None and "n_params" in varied and ("n_data" in varied or (seen and "n_data" in curves.frame)):
        return answer_surface(curves, measured, compute)
    size = curves.resolve(x) if x else next(iter(varied), None)
    if size is None:
        raise BadInput(
            f"no size varies in this table: it has none of {', '.join(SIZES)} with two values or more; name "
            "the column of sizes with x= (--x)"
        )
    return answer_curve(curves, size, measured)


def _measured(curves: Curves) -> str:
    for name in (measure_of(curves.frame, curves.setting_columns), *MEASURED):
        if curves.resolve(name) in curves.frame and curves.frame[curves.resolve(name)].notna().any():
            return curves.resolve(name)
    others = ", ".join(curves.measurement_columns) or "nothing"
    raise BadInput(
        f"no column is known to be a loss, an error or an accuracy (measured: {others}): name it with y= "
        "(--y), or say what columns are with --column test_loss=THEIRS"
    )
