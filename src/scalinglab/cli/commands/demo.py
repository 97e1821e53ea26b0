"""``scalinglab demo``: predict, train, compare and fit on real digits, to an HTML report."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalinglab.cli.options import Folder
from scalinglab.cli.output import Output, for_programs, resumable, say
from scalinglab.cli.registry import command

if TYPE_CHECKING:
    from scalinglab.curves import Curves
    from scalinglab.demo.digits import Plan
    from scalinglab.demo.forecast import Outcome, TheoryCheck


@command("demo", out=False)
def demo(folder: Folder = Path("demo"), full: bool = False) -> Output:
    """Predict the largest data size from smaller ones, train it, compare, and write the report.

    A small CNN learns real digits at eight data sizes. The best test error of the largest is predicted, with
    an interval, before it is trained. Then exact theory is laid over a simulated perceptron, and the laws of
    the learning curves are fitted. Under two minutes on two CPU cores. Ctrl-C stops it; repeat the command
    to continue.

    scalinglab demo

    scalinglab demo --full --folder mnist-demo

    Args:
        folder: folder for runs and report, e.g. demo/.
        full: on MNIST instead of the bundled digits; about 20 minutes.
    """
    import scalinglab as sl
    from scalinglab.demo import digits, forecast

    plan = digits.PLANS["full" if full else "laptop"]
    runs = folder / "runs"
    with resumable():
        curves, outcome = _predict_then_train(plan, runs)
        say("\nExact theory over a simulation: a perceptron")
        checked = forecast.check()
    say(_wrapped(checked.sentence()))
    from scalinglab.demo.forecast import opening
    from scalinglab.report.numbers import of_dynamical

    title = f"Scaling laws of a small CNN on {plan.dataset}"
    report = sl.report.write(curves, folder / "report.html", title, opening(outcome, checked, curves))
    found = sl.laws.dynamical(curves)
    exponents = {
        name: {"value": number.value, "stderr": number.stderr}
        for name, number in digits.exponents(found).items()
    }
    document = {
        "report": str(report), "runs": str(runs), **_numbers(outcome, checked), "exponents": exponents,
        "collapse_from": found.collapse_from,
    }  # fmt: skip
    footer = f"""
report  {report}   (open it in a browser)
runs    {runs}

What to try next:
  scalinglab laws dynamical {shlex.quote(str(runs))}
  scalinglab theory perceptron --load 5 --sharpness 0.1:100:50
  scalinglab reproduce list"""
    text = "\n".join(["\nThe learning curves", *map(_wrapped, of_dynamical(found))])
    return Output(document, text=text, footer=footer)


def _predict_then_train(plan: Plan, runs: Path) -> tuple[Curves, Outcome]:
    """Train the smaller sizes, print the prediction, train the largest, print where it fell."""
    from scalinglab.demo import digits, forecast

    smaller, progress = plan.smaller, not for_programs()
    say(f"Training {len(smaller.sizes)} data sizes × {plan.seeds} seeds on {plan.dataset}: {runs}")
    prediction = forecast.predict(digits.train(smaller, runs, progress=progress), max(plan.sizes))
    say(f"\nThe prediction\n{_wrapped(prediction.sentence())}")
    say(f"\nTraining the largest size, {prediction.size:,} examples × {plan.seeds} seeds")
    curves = digits.train(plan, runs, progress=progress)
    outcome = forecast.compare(prediction, curves)
    say(f"\nWhere it fell\n{_wrapped(outcome.sentence())}")
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
