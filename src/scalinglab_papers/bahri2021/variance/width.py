"""Fig. 1 bottom-right: variance-limited scaling with width, exponent 1.

Two hidden layers in NTK parameterization, 100 examples, full-batch gradient descent. From the test loss of
each initialisation that of its linearisation is subtracted, trained by the same steps:

    f_{t+1}(x) = f_t(x) − η Σ_i Θ(x, x_i) ∂L/∂f_t(x_i),

with Θ the tangent kernel of the network as it was drawn. The claim is for width ≫ D.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.studies import Reproduction, Row, by_draw
from scalinglab_papers.bahri2021.variance.judged import (
    Judged,
    add_slope_and_legend,
    draw,
    measured,
    stored_table,
)


@dataclass(frozen=True)
class Scale:
    """One scale: data, widths, initialisations, and the training.

    Attributes:
        kinds: activation and loss.
        times: checkpoints (one a decade, and the last) at which the losses are compared.
        learning_rates: by activation; small enough for the network not to leave its linearisation.
        longest_up_to: the width above which networks are trained until the first of the times only.
    """

    dataset: str
    pool: int
    widths: tuple[int, ...]
    initializations: int
    kinds: tuple[tuple[str, str], ...]
    n_data: int = 100
    test_size: int = 200
    times: tuple[int, ...] = (100,)
    learning_rates: Mapping[str, float] = field(default_factory=lambda: {"relu": 0.3, "erf": 0.3})
    longest_up_to: float = np.inf

    def networks(self) -> list[tuple[int, int, str, str, int]]:
        """Width, seed, activation, loss and steps of every network."""
        return [
            (width, seed, *kind, self.times[-1 if width <= self.longest_up_to else 0])
            for width in self.widths for seed in range(self.initializations) for kind in self.kinds
        ]  # fmt: skip


HALF_OCTAVES = tuple(int(64 * 2 ** (k / 2)) for k in range(16))  # 64 … 11,585
KINDS = (("relu", "cross_entropy"), ("erf", "cross_entropy"), ("relu", "mse"), ("erf", "mse"))
SMALL_RATES = {"relu": 0.03, "erf": 0.1}
SCALES = {
    "smoke": Scale(
        dataset="digits", pool=1, widths=(32, 64, 128), initializations=5, kinds=(("erf", "mse"),), n_data=10,
        test_size=10, times=(20,),
    ),
    "laptop": Scale(
        dataset="digits", pool=1, widths=(32, 64, 128, 256, 512), initializations=20, kinds=KINDS[2:],
        n_data=20, test_size=50, times=(40,),
    ),
    "gpu": Scale(
        dataset="fashion-mnist", pool=2, widths=HALF_OCTAVES, initializations=50, kinds=KINDS, test_size=100,
        times=(100, 500), learning_rates=SMALL_RATES, longest_up_to=2896,
    ),
    "paper": Scale(
        dataset="mnist", pool=1, widths=HALF_OCTAVES, initializations=50, kinds=KINDS, test_size=1000,
        times=(100, 500), learning_rates=SMALL_RATES,
    ),
}  # fmt: skip


def fig1_bottom_right(scale: str) -> Reproduction:
    """Loss of wide networks less that of their linearisation, against width."""
    s = SCALES[scale]
    figure, axes = style.panels(1, len(s.times), size=(5.2, 4.8))
    rows: list[Row] = []
    table = losses_table(s)
    for axis, steps in zip(axes[0], s.times):
        title = f"variance-limited in width, {steps} steps"
        style.loglog(axis, "width w", "|L(w) − L of its linearisation|", title)
        for (activation, loss), color in zip(s.kinds, style.PALETTE):
            rows += _rows(axis, color, table, s, activation, loss, steps)
        add_slope_and_legend(axis)
    curves = Curves(table, settings=["activation", "objective"], source="train")
    return Reproduction(curves, figure, tuple(rows))


def _rows(
    axis: Any, color: Any, table: pd.DataFrame, s: Scale, activation: str, loss: str, steps: int
) -> list[Row]:
    """The exponents of one kind of network after these steps; draws them."""
    kind = f"{s.dataset}, {activation}, {loss.replace('_', '-')}"
    widths, signed = excess_losses(table, activation, loss, steps)
    sign = float(np.sign(signed.mean()))
    judged = Judged(widths, sign * signed, widths / s.n_data, ("W", "w", "D"))
    draw(axis, widths, sign * signed, judged.exponent(), color, kind)
    name = f"{kind}, {steps} steps" if len(s.times) > 1 else kind
    note = f"{s.n_data} examples, {steps} steps of {s.learning_rates[activation]:g}, "
    note += f"the network lies {'above' if sign > 0 else 'below'}"
    return judged.rows(name, note, last=steps == s.times[-1])


def losses_table(s: Scale) -> pd.DataFrame:
    """The losses of every width, initialisation and kind of network, and of its linearisation."""
    if (table := stored_table()) is not None:
        return table
    from scalinglab_papers.bahri2021.stacks.linearized import losses_beside

    settings = [
        {
            "model": "mlp", "depth": 2, "model_options": {"hidden": w, "activation": activation},
            "parameterization": "ntk", "dataset": s.dataset, "pool": s.pool, "n_data": s.n_data,
            "test_size": s.test_size, "loss": loss, "optimizer": "sgd",
            "learning_rate": s.learning_rates[activation], "full_batch": True, "steps": steps,
            "measure": (), "checkpoints_per_decade": 1, "data_seed": 0, "order_seed": 0, "seed": seed,
        }
        for w, seed, activation, loss, steps in s.networks()
    ]  # fmt: skip
    found = measured(settings, "variance-limited in width", losses_beside, beside="its linearisation")
    options = found["model_options"].map(json.loads)
    made = found[["run", "dataset", "seed", "step", "test_loss", "linearized_test_loss"]].assign(
        width=options.map(lambda one: one["hidden"]), activation=options.map(lambda one: one["activation"]),
        objective=found["loss"], excess_loss=found["test_loss"] - found["linearized_test_loss"],
    )  # fmt: skip
    return made.sort_values(["activation", "objective", "width", "seed"], ignore_index=True)


def excess_losses(
    table: pd.DataFrame, activation: str, loss: str, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Widths (n,), and differences of test losses (initialisations, n), of one kind of network and time.

    Initialisations that were trained at every width count.
    """
    kind = (table["activation"] == activation) & (table["objective"] == loss)
    of_kind = table[kind & (table["step"] == steps)]
    return by_draw(of_kind, "width", "excess_loss")
