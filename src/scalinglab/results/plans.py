"""Plans of runs in words: what to run next, in the order in which to run it, and whether it is worth it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from scalinglab.support.words import count, counted, flops, two_digits


class Runs(Protocol):
    """A plan of runs, as `laws.planning.next_runs.NextRuns` describes it."""

    @property
    def variables(self) -> tuple[str, ...]: ...
    @property
    def runs(self) -> np.ndarray: ...
    @property
    def seeds(self) -> np.ndarray: ...
    @property
    def cost(self) -> np.ndarray: ...
    @property
    def target(self) -> np.ndarray: ...
    @property
    def prediction(self) -> np.ndarray: ...
    @property
    def before(self) -> float: ...
    @property
    def after(self) -> np.ndarray: ...
    @property
    def budget(self) -> float: ...
    @property
    def unit(self) -> str: ...
    @property
    def quantity(self) -> str: ...
    @property
    def worth_it(self) -> bool: ...


def verdict(plan: Runs) -> str:
    """Whether a plan is worth its cost, in a sentence."""
    worth = "worth it" if plan.worth_it else "not worth it"
    if not len(plan.runs):
        return f"{worth}: no run within {amount(plan.budget, plan.unit)} narrows the {_predicted(plan)}"
    change = gain(float(plan.cost.sum()), plan.unit, plan.before, float(plan.after[-1]), plan.quantity)
    return f"{worth}: {change}"


def gain(cost: float, unit: str, before: float, after: float, quantity: str = "") -> str:
    """What runs of this cost do to the half-width of a prediction."""
    spent = f"{amount(cost, unit)} in all" if unit else "they"
    what = f"the prediction of {quantity}" if quantity else "the prediction"
    if after >= 1:
        return f"{spent} leave {what} open (± 100 % and more)"
    if _percent(after) == _percent(before):
        return f"{spent} leave {what} at ± {_percent(after)}"
    return f"{spent} narrow {what} from ± {_percent(before)} to ± {_percent(after)}"


def not_worth(cost: float, unit: str, before: float, after: float, quantity: str = "") -> str:
    """Why no run is worth it: what the best ones would do."""
    best = f"the best, for {amount(cost, unit)}, " if unit else "the best "
    what = f"the prediction of {quantity}" if quantity else "the prediction"
    if after >= 1 or _percent(after) == _percent(before):
        return f"{best}would leave {what} at ± {_percent(min(before, 1.0))}{' or more' if after >= 1 else ''}"
    return f"{best}would narrow {what} from ± {_percent(before)} to ± {_percent(after)} only"


def summary(plan: Runs, names: Mapping[str, str] | None = None) -> str:
    """A table in lines, then the verdict; variables by their names."""
    variables = [(names or {}).get(name, name) for name in plan.variables]
    if len(plan.target) == 1:
        place = ", ".join(f"{n} = {v:.3g}" for n, v in zip(variables, plan.target[0], strict=True))
        first = f"{_predicted(plan)} at {place}: {plan.prediction[0]:.4g} ± {_percent(plan.before)} (95 %)"
    else:
        width = f"± {_percent(plan.before)} (95 %, root mean square)"
        first = f"{_predicted(plan)} at {counted(len(plan.target), 'place')}: {width}"
    if not len(plan.runs):
        return f"{first}\nno run fits into {plan.budget:.3g} {plan.unit}, or none would help"
    lines = [first, "".join(f"{n:>12}" for n in variables) + f"{'seeds':>7}{'cost':>12} {'then ±':>10}"]
    for run, seeds, cost, after in zip(plan.runs, plan.seeds, plan.cost, plan.after, strict=True):
        sizes = "".join(f"{v:>12.3g}" for v in run)
        lines.append(f"{sizes}{seeds:>7}{cost:>12.3g} {_percent(after):>10}")
    lines.append(f"{plan.cost.sum():.3g} of {plan.budget:.3g} {plan.unit}; if the trend continues")
    return "\n".join([*lines, verdict(plan)])


def amount(cost: float, unit: str) -> str:
    """A cost with its unit."""
    return flops(cost) if unit == "FLOPs" else f"{count(cost)} {unit}".rstrip()


def _predicted(plan: Runs) -> str:
    return f"prediction of {plan.quantity}" if plan.quantity else "prediction"


def _percent(share: float) -> str:
    """0.0123 as 1.2 %, 2.1 as 210 %."""
    return f"{two_digits(100 * share)} %"
