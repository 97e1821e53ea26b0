"""``scalinglab demo``: predict, train, compare and fit on real digits, to an HTML report."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scalinglab.cli.output import emit, resumable
from scalinglab.cli.shared.options import Json, a_folder
from scalinglab.cli.shared.tables import say

if TYPE_CHECKING:
    from scalinglab.curves import Curves
    from scalinglab.demo.digits import Plan
    from scalinglab.demo.forecast import Outcome
    from scalinglab.demo.theory_check import TheoryCheck


def demo(
    folder: Annotated[
        Path, typer.Option(help="Folder for runs and report, e.g. demo/.", callback=a_folder)
    ] = Path("demo"),
    full: Annotated[
        bool, typer.Option("--full", help="On MNIST instead of the bundled digits; about 20 minutes.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Predict the largest data size from smaller ones, train it, compare, and write the report.

    A small CNN learns real digits at eight data sizes. The best test error of the largest is predicted, with
    an interval, before it is trained. Then exact theory is laid over a simulated perceptron, and the laws of
    the learning curves are fitted. Under two minutes on two CPU cores. Ctrl-C stops it; repeat the command
    to continue.

        scalinglab demo

        scalinglab demo --full --folder mnist-demo
    """
    import scalinglab as sl
    from scalinglab.demo import digits, theory_check

    plan = digits.PLANS["full" if full else "laptop"]
    with resumable():
        curves, outcome = predict_then_train(plan, folder / "runs", as_json)
        say("\nExact theory over a simulation: a perceptron", as_json)
        checked = theory_check.check()
    say(_wrapped(checked.sentence()), as_json)
    from scalinglab.demo.opening import opening

    title = f"Scaling laws of a small CNN on {plan.dataset}"
    first = opening(outcome, checked, curves)
    report = sl.report.write(curves, folder / "report.html", title, first)
    found = sl.laws.dynamical(curves)
    if as_json:
        exponents = {
            name: {"value": number.value, "stderr": number.stderr}
            for name, number in digits.exponents(found).items()
        }
        document = {"report": str(report), "runs": str(folder / "runs"), **_numbers(outcome, checked)}
        emit({**document, "exponents": exponents, "collapse_from": found.collapse_from}, as_json=True)
        return
    from scalinglab.report.reading import of_dynamical

    print("\nThe learning curves")
    print("\n".join(map(_wrapped, of_dynamical(found))))
    print(f"\nreport  {report}   (open it in a browser)\nruns    {folder / 'runs'}\n\nWhat to try next:")
    print(f"  scalinglab laws dynamical {shlex.quote(str(folder / 'runs'))}")
    print("  scalinglab theory perceptron --load 5 --sharpness 0.1:100:50")
    print("  scalinglab reproduce list")


def predict_then_train(plan: Plan, runs: Path, quiet: bool) -> tuple[Curves, Outcome]:
    """Train the smaller sizes, print the prediction, train the largest, print where it fell."""
    from scalinglab.demo import digits, forecast

    smaller = plan.smaller
    say(f"Training {len(smaller.sizes)} data sizes × {plan.seeds} seeds on {plan.dataset}: {runs}", quiet)
    prediction = forecast.predict(digits.train(smaller, runs, progress=not quiet), max(plan.sizes))
    say(f"\nThe prediction\n{_wrapped(prediction.sentence())}", quiet)
    say(f"\nTraining the largest size, {prediction.size:,} examples × {plan.seeds} seeds", quiet)
    curves = digits.train(plan, runs, progress=not quiet)
    outcome = forecast.compare(prediction, curves)
    say(f"\nWhere it fell\n{_wrapped(outcome.sentence())}", quiet)
    return curves, outcome


def _numbers(outcome: Outcome, checked: TheoryCheck) -> dict[str, Any]:
    """What was predicted, measured and compared, for a program."""
    forecast = outcome.forecast
    mean, low, high = forecast.interval
    ends = {} if forecast.found is None else {"mean": mean, "low": low, "high": high}
    return {
        "prediction": {"n_data": forecast.size, **ends, "refused": forecast.refused or None},
        "measured": {"test_error": list(outcome.errors), "inside": outcome.inside},
        "theory": {"points": len(checked.table), "inside": checked.inside, "deviation": checked.deviation},
    }


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 78, initial_indent="  ", subsequent_indent="  ")
