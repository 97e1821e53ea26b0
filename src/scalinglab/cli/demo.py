"""``scalinglab demo``: the whole road on real digits, to an HTML report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scalinglab.cli.output import Json, emit


def demo(
    folder: Annotated[Path, typer.Option(help="Where runs and report are kept.")] = Path("demo"),
    full: Annotated[bool, typer.Option("--full", help="On MNIST instead of the bundled digits.")] = False,
    as_json: Json = False,
) -> None:
    """Train a small CNN on real digits at eight data sizes, fit the laws and write the report.

    Under two minutes on two CPU cores. Ctrl-C stops it cleanly; started again it goes on.

        scalinglab demo

        scalinglab demo --full --folder mnist-demo
    """
    import scalinglab as sl
    from scalinglab.papers.demo import digits

    plan = digits.PLANS["full" if full else "laptop"]
    folder = folder / plan.dataset if full else folder
    curves = digits.train(plan, folder / "runs")
    report = sl.report.write(curves, folder / "report.html", f"Scaling laws of a small CNN on {plan.dataset}")
    exponents = {row.quantity: row.measured for row in digits.table(curves)}
    document = {"report": str(report), "runs": str(folder / "runs"), "exponents": exponents}
    if as_json:
        emit(document, as_json=True)
        return
    print(sl.laws.dynamical(curves).summary())
    print(f"\nreport: {report}   (open it in a browser)\nruns:   {folder / 'runs'}\n\nNext, try:")
    print(f"  scalinglab laws dynamical {folder / 'runs'}")
    print("  scalinglab theory perceptron --load 5 --sharpness 0.1:100:50")
    print("  scalinglab reproduce list")
