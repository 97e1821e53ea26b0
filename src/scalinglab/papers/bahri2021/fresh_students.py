"""Fig. S4 as its authors trained it: students of one teacher, on examples that are drawn at every step.

Supplement A.3 says that the setup of Sharma and Kaplan (2020) was repeated, with 15 students of a fixed,
random teacher, and prints nothing else. The stages are those of the code of Sharma and Kaplan: Adam, a batch
that grows, and a rate that falls in the last stage. Their teachers have no biases, so that f(cx) = c f(x);
ours have. Students of both are trained, with the same widths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from scalinglab.curves import Curves
from scalinglab.data.teacher import random_teacher
from scalinglab.errors import BadInput
from scalinglab.figures import style
from scalinglab.papers import trained
from scalinglab.papers.bahri2021 import exponents
from scalinglab.papers.bahri2021.students import CLAIM, draw_law
from scalinglab.papers.registry import Reproduction

Stages = tuple[tuple[int, int, float], ...]  # steps, fresh examples in each, Adam's rate
AUTHORS: Stages = ((40_000, 200, 1e-2), (160_000, 200, 1e-2), (20_000, 1000, 1e-2), (20_000, 4000, 1e-3))
TEACHERS = {True: "a teacher with biases", False: "a teacher without biases"}


@dataclass(frozen=True)
class Scale:
    """One scale: dimensions, hidden units, students of each teacher and width, the stages of training."""

    dimensions: tuple[int, ...]
    widths: tuple[int, ...]
    students: int
    test_size: int
    stages: Stages = AUTHORS


SCALES = {
    "smoke": Scale((3,), (3, 5, 8), 3, 512, ((100, 32, 1e-2), (20, 128, 1e-3))),
    "gpu": Scale((2, 3, 4), (6, 9, 13, 20, 30, 45), 15, 16_384),
}


def fig_s4_fresh(scale: str) -> Reproduction:
    """Loss against the number of parameters at the end of every stage; α_P against 4/d."""
    if scale not in SCALES:
        raise BadInput(f"scale {scale!r}: students on fresh examples run at {', '.join(SCALES)}")
    s = SCALES[scale]
    table = losses(s)
    figure, axes = style.panels(1, len(TEACHERS), size=(4.8, 3.8))
    rows = []
    for axis, (biases, words) in zip(axes[0], TEACHERS.items()):
        style.loglog(axis, "parameters P", "test loss (mean of logs)", f"students of {words}")
        for d, color in zip(s.dimensions, style.PALETTE):
            own = table[(table["dimension"] == d) & (table["biases"] == biases)]
            for step, part in own.groupby("step"):
                wide = part.pivot_table(index="student", columns="n_params", values="test_loss")
                sizes, values = wide.columns.to_numpy(float), wide.to_numpy()
                alpha = exponents.of_losses(sizes, values)
                name = f"α_P, d = {d}, {words}, {step} steps"
                rows.append(alpha.row(name, "the paper: 4/d", paper=CLAIM / d))
            draw_law(axis, sizes, values, alpha, color, f"d = {d}: {alpha}")
        style.legend(axis)
    return Reproduction(Curves(table, settings=["dimension", "biases"], source="train"), figure, tuple(rows))


def losses(s: Scale) -> pd.DataFrame:
    """The loss of every student at the end of every stage."""
    settings = [
        {
            "model": "mlp", "depth": 2, "dataset": "teacher_student", "dimension": dimension,
            "biases": biases, "width": width, "student": k, "stages": s.stages, "test_size": s.test_size,
        }
        for dimension in s.dimensions for biases in TEACHERS for width in s.widths for k in range(s.students)
    ]  # fmt: skip
    return trained.measured(settings, "students on fresh examples", _rows).frame


def _rows(settings: Sequence[Mapping[str, Any]]) -> Iterator[list[dict[str, float]]]:
    """The rows of some students, trained in one stack when the first is asked for."""
    from scalinglab.papers.bahri2021.stacks import fresh

    if not settings:
        return
    kinds = list(dict.fromkeys((one["dimension"], one["biases"]) for one in settings))
    teachers = [random_teacher(dimension) for dimension, _ in kinds]
    teachers = [one if own[1] else fresh.without_biases(one) for one, own in zip(teachers, kinds)]
    students = [
        fresh.Student(
            kinds.index((one["dimension"], one["biases"])),
            one["width"],
            10_000 * one["width"] + one["student"],
        )
        for one in settings
    ]
    found = fresh.trained_losses(teachers, students, settings[0]["stages"], settings[0]["test_size"])
    for one, rows in zip(settings, found, strict=True):
        n_params = _parameters(one["dimension"], one["width"])
        yield [{**row, "n_params": n_params} for row in rows]


def _parameters(dimension: int, hidden: int) -> int:
    return (dimension + 1) * hidden + (hidden + 1) * hidden + hidden + 1
