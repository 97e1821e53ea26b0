"""``scalinglab theory perceptron``: exact learning curves of the fixed-norm perceptron."""

from __future__ import annotations

from typing import Annotated

import typer

from scalinglab.cli.shared.options import Json, Out
from scalinglab.cli.shared.output import emit, grid
from scalinglab.cli.theory.group import app


@app.command("perceptron")
def perceptron(
    load: Annotated[str, typer.Option(help="Examples per weight: 5, '1,5,25' or a log range '1:1e2:5'.")],
    sharpness: Annotated[
        str | None,
        typer.Option(
            help="Sharpness of the loss, or norm of the student: '0.1:1e2:50'; 0 and inf are allowed. "
            "Default: the best sharpness of each load."
        ),
    ] = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Error of the teacher–student perceptron at fixed norm, beside the classical learning rules.

    scalinglab theory perceptron --load 5 --sharpness 0.1:1e2:50 --json

    scalinglab theory perceptron --load 1:1000:7
    """
    import numpy as np
    import pandas as pd

    from scalinglab.theory import perceptron as theory

    loads = grid(load)
    best = theory.optimal_sharpness(loads) if sharpness is None else None
    if best is not None:
        found = theory.fixed_norm(loads, best.sharpness)
    else:
        found = theory.fixed_norm(loads[:, None], grid(sharpness or ""))
    columns = ("load", "sharpness", "error", "overlap", "stability")
    table = pd.DataFrame({name: np.ravel(getattr(found, name)) for name in columns})
    if best is not None:
        table.insert(3, "above_bayes", table["error"] / theory.bayes(loads).error - 1)
    rules = ("hebb", "gibbs", "bayes", "max_stability")
    document = {
        "model": "teacher-student perceptron, logistic loss at fixed norm",
        **{name: table[name].to_numpy() for name in table},
        **{name: np.ravel(getattr(found, name)) for name in ("slope", "load_slope", "x", "log_x")},
        "rules": {"load": loads, **{rule: getattr(theory, rule)(loads).error for rule in rules}},
    }
    emit(document, table, as_json=as_json, out=out, title="error at fixed norm")
