"""Figures 1c and 1d: language models of several widths, on text that does not repeat and on little text.

The paper trains transformers on wikitext, 100 million tokens and 5 million of them. Stand-in: a small decoder
on the bytes of Python's standard library, about 11 million, which every machine with Python has
(`scalinglab.data.text`); the small set is drawn from it. Claims about direction are judged; the paper prints
no numbers here.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.studies import trained, verdict
from scalinglab.studies.draws import loglog_figure
from scalinglab.studies.registry import Reproduction
from scalinglab.studies.shared import shared
from scalinglab.studies.verdict import Number, Row
from scalinglab_papers.bordelon2024 import widths

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
    widths.draw(axis, curves, train=train)
    style.legend(axis, fontsize=7)
    return figure


def fig1c(scale: str) -> Reproduction:
    """Test loss of language models along training on text that does not repeat, for several widths."""
    curves, (factors, _, own) = runs_of(scale, False), SCALES[scale]
    seen = own["steps"] * own["batch_size"] * own["data_options"]["context"]
    rows = [
        _row(
            f"final test loss, width {wide:g} over width {narrow:g}", widths.ratio(curves, wide, narrow), "<",
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
            widths.ratio(curves, wide, narrow, own["steps"] / 20), "<", f"wider models train faster; {early}",
        ),
        _row(
            "test loss of the widest at the end over its lowest",
            verdict.quotient(widths.losses(curves, wide), lowest), ">",
            f"wider models can overfit; {early}",
        ),
        _row(
            "final test loss, widest over narrowest", widths.ratio(curves, wide, narrow), ">",
            f"larger width is not always better; {early}",
        ),
    )  # fmt: skip
    return Reproduction(curves, _figure(curves, early, True), rows)
