"""What runs of a plan cost and narrow, in words that plans and findings share."""

from __future__ import annotations

from scalinglab.support.words import count, flops, two_digits


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


def amount(cost: float, unit: str) -> str:
    """A cost with its unit."""
    return flops(cost) if unit == "FLOPs" else f"{count(cost)} {unit}".rstrip()


def _percent(share: float) -> str:
    """0.0123 as 1.2 %, 2.1 as 210 %."""
    return f"{two_digits(100 * share)} %"
