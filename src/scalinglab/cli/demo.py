"""``scalinglab demo``: the whole road on real digits, to an HTML report."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from scalinglab.cli.options import Json, a_folder
from scalinglab.cli.output import emit


def demo(
    folder: Annotated[
        Path, typer.Option(help="Folder for runs and report, e.g. demo/.", callback=a_folder)
    ] = Path("demo"),
    full: Annotated[
        bool, typer.Option("--full", help="On MNIST instead of the bundled digits; about 20 minutes.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train a small CNN on real digits at eight data sizes, fit the laws and write the report.

    Under two minutes on two CPU cores. Ctrl-C stops it; repeat the command to continue.

        scalinglab demo

        scalinglab demo --full --folder mnist-demo
    """
    import scalinglab as sl
    from scalinglab.papers.demo import digits

    plan = digits.PLANS["full" if full else "laptop"]
    if not as_json:
        print(f"{len(plan.sizes)} data sizes × {plan.seeds} seeds on {plan.dataset}: {folder / 'runs'}")
    try:
        curves = digits.train(plan, folder / "runs", progress=not as_json)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        raise
    report = sl.report.write(curves, folder / "report.html", f"Scaling laws of a small CNN on {plan.dataset}")
    found = sl.laws.dynamical(curves)
    if as_json:
        exponents = {
            row.quantity: {"value": row.measured, "stderr": row.stderr} for row in digits.table(found)
        }
        emit(
            {
                "report": str(report),
                "runs": str(folder / "runs"),
                "exponents": exponents,
                "collapse_from": found.collapse_from,
            },
            as_json=True,
        )
        return
    print(found.summary())
    print(f"\nreport  {report}   (open it in a browser)\nruns    {folder / 'runs'}\n\nWhat to try next:")
    print(f"  scalinglab laws dynamical {shlex.quote(str(folder / 'runs'))}")
    print("  scalinglab theory perceptron --load 5 --sharpness 0.1:100:50")
    print("  scalinglab reproduce list")
