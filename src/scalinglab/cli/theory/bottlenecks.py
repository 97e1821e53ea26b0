"""``scalinglab theory bottlenecks``: exponents of every resource and the compute-optimal frontier."""

from __future__ import annotations

from typing import Annotated

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.output import emit, grid
from scalinglab.cli.theory.group import app
from scalinglab.cli.theory.kernel import spectrum_of


@app.command("bottlenecks")
def bottlenecks(
    task_exponent: option.TaskExponent = 1.5,
    spectral_exponent: option.SpectralExponent = 1.25,
    budgets: Annotated[
        str | None, typer.Option(help="Solve the exact frontier at these C = N t: 1e5, or 1e3:1e9:7 (log).")
    ] = None,
    n_modes: option.Modes = 1e9,
    json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Exponents of time, data, params and compute, and the best N and t for a budget (bordelon2024).

    Example: `scalinglab theory bottlenecks --task-exponent 1.5 --spectral-exponent 1.25 --budgets 1e3:1e7:5`
    """
    from dataclasses import asdict

    from scalinglab.theory import bottlenecks as theory

    found = theory.exponents(task_exponent, spectral_exponent)
    document: dict[str, object] = {**asdict(found), "saturated": ", ".join(found.saturated) or "none"}
    if budgets is not None:
        spectrum = spectrum_of(None, task_exponent, spectral_exponent, n_modes)
        frontier = theory.compute_optimal(spectrum, grid(budgets))
        document |= {
            "compute_budget": frontier.compute, "n_params": frontier.n_params,
            "training_time": frontier.time, "loss": frontier.loss,
        }  # fmt: skip
    emit(document, as_json=json, out=out, title="compute-optimal frontier")
