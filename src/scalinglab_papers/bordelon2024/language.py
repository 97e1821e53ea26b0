"""Figures 1c and 1d: language models of several widths, on text that does not repeat and on little text.

The paper trains transformers on wikitext, 100 million tokens and 5 million of them. Stand-in: a small decoder
on the bytes of Python's standard library, about 11 million, which every machine with Python has
(`scalinglab.data.text`); the small set is drawn from it. Claims about direction are judged; the paper prints
no numbers here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.studies import trained, verdict
from scalinglab.studies.registry import Reproduction
from scalinglab.studies.shared import shared
from scalinglab.studies.verdict import Number, Row

STAND_IN = "stand-in: decoders on the bytes of Python's standard library; the paper: transformers on wikitext"


@dataclass(frozen=True)
class Scale:
    """One scale.

    Attributes:
        dim: length of the vectors at width 1.
        widths: factors on it.
        seeds: independent networks of each width.
        context, depth, batch_size, steps: of network and training.
        few: windows of the small set, which repeats.
        held_out: windows of the test set.
        learning_rate: of Adam at width 1.
    """

    dim: int
    widths: tuple[float, ...]
    seeds: int
    context: int
    depth: int
    batch_size: int
    steps: int
    few: int
    held_out: int
    learning_rate: float


SCALES = {
    "smoke": Scale(
        dim=8, widths=(1.0, 2.0, 4.0), seeds=3, context=16, depth=1, batch_size=16, steps=30, few=16,
        held_out=64, learning_rate=0.03,
    ),
    "laptop": Scale(
        dim=16, widths=(1.0, 2.0, 4.0), seeds=3, context=32, depth=2, batch_size=32, steps=600, few=256,
        held_out=256, learning_rate=0.006,
    ),
    "gpu": Scale(
        dim=16, widths=(1.0, 2.0, 4.0, 8.0), seeds=3, context=128, depth=4, batch_size=64, steps=1000,
        few=1024, held_out=512, learning_rate=0.004,
    ),
}  # fmt: skip


def settings(scale: str, repeats: bool) -> list[dict[str, Any]]:
    """The runs on fresh text, or on little text that repeats."""
    s = SCALES[scale]
    data: dict[str, Any] = {"context": s.context, "n_test": s.held_out}
    own = {"data_options": data | {"n_data": s.few}} if repeats else {"data_options": data, "online": True}
    common = {
        "model": "decoder", "depth": s.depth, "model_options": {"dim": s.dim}, "dataset": "text",
        "optimizer": "adam", "learning_rate": s.learning_rate,
        "parameterization": "mup", "batch_size": s.batch_size, "steps": s.steps, "measure": [],
        "checkpoints_per_decade": 5, "evaluate_at_most": s.held_out, **own,
        **({"graphs": True, "precision": "tf32"} if trained.on_gpu() else {}),
    }  # fmt: skip
    return [{**common, "width": width, "seed": seed} for width in s.widths for seed in range(s.seeds)]


@shared
def runs_of(scale: str, repeats: bool) -> Curves:
    """Curves of all widths and seeds."""
    return trained.runs(settings(scale, repeats), "fig1")


def _losses(curves: Curves, width: float, until: float) -> np.ndarray:
    """Test losses of a width, by seed, at the last checkpoint up to a step."""
    part = curves.frame[(curves.frame["width"] == width) & (curves.frame["step"] <= until)]
    return part.sort_values("step").groupby("seed")["test_loss"].last().to_numpy(float)


def _ratio(curves: Curves, above: float, below: float, until: float = np.inf) -> Number:
    return verdict.quotient(_losses(curves, above, until), _losses(curves, below, until))


def _row(quantity: str, found: Number, relation: str, claim: str) -> Row:
    return found.row(quantity, expected=1.0, relation=relation, note=f"{STAND_IN}: {claim}")  # fmt: skip


def _figure(curves: Curves, title: str, train: bool) -> Any:
    figure, axes = style.panels(size=(5.6, 4.2))
    axis = style.loglog(axes[0, 0], "step t", "loss a byte (nats)", title)
    widths = sorted(curves.frame["width"].unique())
    for width, color in zip(widths, style.colors(widths)):
        part = curves.frame[curves.frame["width"] == width]
        grouped = part.groupby("step")["test_loss"]
        mean, error = grouped.mean(), grouped.sem()
        label = f"width {width:g}, {int(part['n_params'].iloc[0])} parameters"
        axis.plot(mean.index, mean, color=color, label=label)
        style.band(axis, mean.index, mean - error, mean + error, color=color)
        if train:
            axis.plot(mean.index, part.groupby("step")["train_loss"].mean(), ":", color=color)
    style.legend(axis, fontsize=7)
    return figure


def fig1c(scale: str) -> Reproduction:
    """Test loss of language models along training on text that does not repeat, for several widths."""
    curves, s = runs_of(scale, False), SCALES[scale]
    seen = s.steps * s.batch_size * s.context
    rows = [
        _row(
            f"final test loss, width {wide:g} over width {narrow:g}", _ratio(curves, wide, narrow), "<",
            f"monotonic in width; {seen} bytes, each seen once",
        )
        for narrow, wide in zip(s.widths, s.widths[1:])
    ]  # fmt: skip
    return Reproduction(curves, _figure(curves, f"{seen} bytes, seen once", False), tuple(rows))


def fig1d(scale: str) -> Reproduction:
    """Test loss (lines) and training loss (dotted) on little text that repeats, for several widths."""
    curves, s = runs_of(scale, True), SCALES[scale]
    narrow, wide = s.widths[0], s.widths[-1]
    passes = s.steps * s.batch_size / s.few
    frame = curves.frame[curves.frame["width"] == wide]
    lowest = frame.groupby("seed")["test_loss"].min().to_numpy(float)
    early = f"{s.few * s.context} bytes, seen {passes:.0f} times"
    rows = (
        _row(
            "test loss early, widest over narrowest", _ratio(curves, wide, narrow, s.steps / 20), "<",
            f"wider models train faster; {early}",
        ),
        _row(
            "test loss of the widest at the end over its lowest",
            verdict.quotient(_losses(curves, wide, np.inf), lowest), ">",
            f"wider models can overfit; {early}",
        ),
        _row(
            "final test loss, widest over narrowest", _ratio(curves, wide, narrow), ">",
            f"larger width is not always better; {early}",
        ),
    )  # fmt: skip
    return Reproduction(curves, _figure(curves, early, True), rows)
