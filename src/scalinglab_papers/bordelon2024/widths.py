"""Networks of several widths: how figures 1, 6 and 9 train, draw and compare them.

Figures 1c and 1d: language models of several widths, on text that does not repeat and on little text.

The paper trains transformers on wikitext, 100 million tokens and 5 million of them. Stand-in: a small decoder
on the bytes of Python's standard library, about 11 million, which every machine with Python has
(`scalinglab.data.text`); the small set is drawn from it. Claims about direction are judged; the paper prints
no numbers here.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.figures import style
from scalinglab.studies import Number, Reproduction, Row, loglog_figure, shared, trained, verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scalinglab.spectrum import MeasuredSpectrum

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


def kernel_spectrum(x: np.ndarray, y: np.ndarray, **network: Any) -> MeasuredSpectrum:
    """Spectrum of the tangent kernel before training, of a network of two outputs that `nets.build` makes."""
    import torch

    from scalinglab import measure, nets
    from scalinglab.spectrum import Spectrum

    model = nets.build(input_shape=x.shape[1:], n_classes=2, **network)
    kernel = measure.ntk(model.to("cuda" if trained.on_gpu() else "cpu"), torch.as_tensor(x))
    return Spectrum.from_kernel(kernel, y, measure.eigh)


# --- learning rates ----------------------------------------------------------------------------------------


def best_rate(
    rates: tuple[float, ...], settings: Callable[[float], list[dict[str, Any]]], steps: int
) -> float:
    """The best of several learning rates by `lowest_loss`, on runs of these settings that no figure uses."""
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


STAND_IN = "stand-in: decoders on the bytes of Python's standard library; the paper: transformers on wikitext"


# by scale: factors on the width, windows of the small set, which repeats, and what runs share
SCALES: dict[str, tuple[tuple[float, ...], int, dict[str, Any]]] = {
    "smoke": ((1.0, 2.0, 4.0), 16, {
        "model_options": {"dim": 8}, "depth": 1, "data_options": {"context": 16, "n_test": 64},
        "batch_size": 16, "steps": 30, "learning_rate": 0.03, "evaluate_at_most": 64}),
    "laptop": ((1.0, 2.0, 4.0), 256, {
        "model_options": {"dim": 16}, "depth": 2, "data_options": {"context": 32, "n_test": 256},
        "batch_size": 32, "steps": 600, "learning_rate": 0.006, "evaluate_at_most": 256}),
    "gpu": ((1.0, 2.0, 4.0, 8.0), 1024, {
        "model_options": {"dim": 16}, "depth": 4, "data_options": {"context": 128, "n_test": 512},
        "batch_size": 64, "steps": 1000, "learning_rate": 0.004, "evaluate_at_most": 512}),
}  # fmt: skip
SEEDS = 3


def settings(scale: str, repeats: bool) -> list[dict[str, Any]]:
    """The runs on fresh text, or on little text that repeats."""
    factors, few, own = SCALES[scale]
    data = {"data_options": own["data_options"] | {"n_data": few}} if repeats else {"online": True}
    common = {
        **own, **data, "model": "decoder", "dataset": "text", "optimizer": "adam", "parameterization": "mup",
        "measure": [], "checkpoints_per_decade": 5,
        **({"graphs": True, "precision": "tf32"} if trained.on_gpu() else {}),
    }  # fmt: skip
    return [{**common, "width": width, "seed": seed} for width in factors for seed in range(SEEDS)]


@shared
def runs_of(scale: str, repeats: bool) -> Curves:
    """Curves of all widths and seeds."""
    return trained.runs(settings(scale, repeats), "fig1")


def _row(quantity: str, found: Number, relation: str, claim: str) -> Row:
    return found.row(quantity, expected=1.0, relation=relation, note=f"{STAND_IN}: {claim}")


def _figure(curves: Curves, title: str, train: bool) -> Any:
    figure, axis = loglog_figure("step t", "loss a byte (nats)", title, size=(5.6, 4.2))
    draw(axis, curves, train=train)
    style.legend(axis, fontsize=7)
    return figure


def fig1c(scale: str) -> Reproduction:
    """Test loss of language models along training on text that does not repeat, for several widths."""
    curves, (factors, _, own) = runs_of(scale, False), SCALES[scale]
    seen = own["steps"] * own["batch_size"] * own["data_options"]["context"]
    rows = [
        _row(
            f"final test loss, width {wide:g} over width {narrow:g}", ratio(curves, wide, narrow), "<",
            f"monotonic in width; {seen} bytes, each seen once",
        )
        for narrow, wide in pairwise(factors)
    ]  # fmt: skip
    return Reproduction(curves, _figure(curves, f"{seen} bytes, seen once", False), tuple(rows))


def fig1d(scale: str) -> Reproduction:
    """Test loss (lines) and training loss (dotted) on little text that repeats, for several widths."""
    curves, (factors, few, own) = runs_of(scale, True), SCALES[scale]
    narrow, wide = factors[0], factors[-1]
    passes = own["steps"] * own["batch_size"] / few
    frame = curves.frame[curves.frame["width"] == wide]
    lowest = frame.groupby("seed")["test_loss"].min().to_numpy(float)
    early = f"{few * own['data_options']['context']} bytes, seen {passes:.0f} times"
    rows = (
        _row(
            "test loss early, widest over narrowest",
            ratio(curves, wide, narrow, own["steps"] / 20), "<", f"wider models train faster; {early}",
        ),
        _row(
            "test loss of the widest at the end over its lowest",
            verdict.quotient(losses(curves, wide), lowest), ">",
            f"wider models can overfit; {early}",
        ),
        _row(
            "final test loss, widest over narrowest", ratio(curves, wide, narrow), ">",
            f"larger width is not always better; {early}",
        ),
    )  # fmt: skip
    return Reproduction(curves, _figure(curves, early, True), rows)
