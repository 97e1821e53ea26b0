"""Plans of runs in words: what to run next, in the order in which to run it, and whether it is worth it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from scalinglab.support.words import count, counted, two_digits


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
    what = _predicted(plan)
    if not len(plan.runs):
        return f"{worth}: no run within {_amount(plan, plan.budget)} narrows the {what}"
    cost = f"{_amount(plan, plan.cost.sum())} in all" if plan.unit else "they"
    if plan.after[-1] >= 1:
        return f"{worth}: {cost} leave the {what} open (± 100 % and more)"
    before, then = _percent(plan.before), _percent(plan.after[-1])
    if then == before:
        return f"{worth}: {cost} leave the {what} at ± {then}"
    return f"{worth}: {cost} narrow the {what} from ± {before} to ± {then}"


def summary(plan: Runs) -> str:
    """A table in lines, then the verdict."""
    if len(plan.target) == 1:
        place = ", ".join(f"{n} = {v:.3g}" for n, v in zip(plan.variables, plan.target[0], strict=True))
        first = f"{_predicted(plan)} at {place}: {plan.prediction[0]:.4g} ± {_percent(plan.before)} (95 %)"
    else:
        width = f"± {_percent(plan.before)} (95 %, root mean square)"
        first = f"{_predicted(plan)} at {counted(len(plan.target), 'place')}: {width}"
    if not len(plan.runs):
        return f"{first}\nno run fits into {plan.budget:.3g} {plan.unit}, or none would help"
    lines = [first, "".join(f"{n:>12}" for n in plan.variables) + f"{'seeds':>7}{'cost':>12} {'then ±':>10}"]
    for run, seeds, cost, after in zip(plan.runs, plan.seeds, plan.cost, plan.after, strict=True):
        sizes = "".join(f"{v:>12.3g}" for v in run)
        lines.append(f"{sizes}{seeds:>7}{cost:>12.3g} {_percent(after):>10}")
    lines.append(f"{plan.cost.sum():.3g} of {plan.budget:.3g} {plan.unit}; expected if the trend continues")
    return "\n".join([*lines, verdict(plan)])


def _amount(plan: Runs, cost: float) -> str:
    return f"{cost:.3g} FLOPs" if plan.unit == "FLOPs" else f"{count(cost)} {plan.unit}".rstrip()


def _predicted(plan: Runs) -> str:
    return f"prediction of {plan.quantity}" if plan.quantity else "prediction"


def _percent(share: float) -> str:
    """0.0123 as 1.2 %, 2.1 as 210 %."""
    return f"{two_digits(100 * share)} %"
