"""What figures 1, 6 and 9 share: networks of several widths that are trained, drawn and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.figures import style
from scalinglab.studies import trained, verdict
from scalinglab.studies.verdict import Number, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

APART = 1000  # seed of the networks on which learning rates are compared


def draw(axis: Axes, curves: Curves, x: str = "step", dashed: bool = False, train: bool = False) -> None:
    """Mean over seeds for each width, with a band of one standard error; training losses dotted."""
    widths = sorted(curves.frame["width"].unique())
    for width, color in zip(widths, style.colors(widths)):
        part = curves.frame[curves.frame["width"] == width]
        grouped = part.groupby(x)["test_loss"]
        mean, error = grouped.mean(), grouped.sem()
        label = f"width {width:g}, {int(part['n_params'].iloc[0])} parameters"
        axis.plot(mean.index, mean, "--" if dashed else "-", color=color, label=None if dashed else label)
        style.band(axis, mean.index, mean - error, mean + error, color=color)
        if train:
            axis.plot(mean.index, part.groupby(x)["train_loss"].mean(), ":", color=color)


def losses(curves: Curves, width: float, until: float = np.inf) -> np.ndarray:
    """Test losses of a width, by seed, at the last checkpoint up to a step."""
    part = curves.frame[(curves.frame["width"] == width) & (curves.frame["step"] <= until)]
    return part.sort_values("step").groupby("seed")["test_loss"].last().to_numpy(float)


def ratio(curves: Curves, above: float, below: float, until: float = np.inf) -> Number:
    """Loss of one width over that of another."""
    return verdict.quotient(losses(curves, above, until), losses(curves, below, until))


# --- learning rates ----------------------------------------------------------------------------------------


def best_rate(
    rates: tuple[float, ...], settings: Callable[[float], list[dict[str, Any]]], steps: int
) -> float:
    """The only rate, or that of the `lowest_loss` in the runs of these settings, which are in no figure."""
    if len(rates) == 1:
        return rates[0]
    return lowest_loss(trained.runs([one for eta in rates for one in settings(eta)], "rates"), steps)


def lowest_loss(curves: Curves, steps: int) -> float:
    """The learning rate with the lowest mean log training loss over the second half of `steps`.

    A rate at which a run diverges is out.
    """
    frame = curves.frame
    loss = frame["train_loss"].where(frame["train_loss"] > 0).astype(float)
    late = frame.assign(log_loss=np.log(loss))[frame["step"] >= steps / 2]
    runs = frame.groupby("learning_rate")["run"].nunique()
    means = {
        eta: part["log_loss"].mean(skipna=False)  # nan where one is
        for eta, part in late.groupby("learning_rate")
        if (part["step"] == steps).sum() == runs[eta]  # all came to the end
    }
    finite = {eta: mean for eta, mean in means.items() if np.isfinite(mean)}
    if not finite:
        raise BadInput(f"training diverges at all rates, {', '.join(f'{eta:g}' for eta in runs.index)}")
    return float(min(finite, key=finite.__getitem__))  # type: ignore[arg-type]


def rate_rows(kind: str, among: tuple[float, ...], chosen: float) -> list[Row]:
    """A row on the learning rate, where it was chosen among several."""
    if len(among) == 1:
        return []
    note = f"the one with the lowest training loss on networks apart, of {', '.join(f'{x:g}' for x in among)}"
    return [Row(f"learning rate ({kind})", chosen, 0.0, note=note)]  # chosen, so known exactly
