"""Fig. S4 as its authors trained it: students of one teacher, on examples that are drawn at every step.

Supplement A.3 says that the setup of Sharma and Kaplan (2020) was repeated, with 15 students of a fixed,
random teacher, and prints nothing else. The stages are those of the code of Sharma and Kaplan: Adam, a batch
that grows, and a rate that falls in the last stage. Their teacher has 600 hidden units and no biases, so that
f(cx) = c f(x), and their students 8 to 38 units for d < 7, 15 to 72 from there on: those of d = 4 to 8
are trained. At d = 2, 3 and 4 students of our teachers of 96 units, with biases and without, are trained in
the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves, run_name
from scalinglab.data.teacher import random_teacher
from scalinglab.figures import style
from scalinglab.studies import Reproduction, by_draw, trained
from scalinglab_papers.bahri2021 import exponents
from scalinglab_papers.bahri2021.students import CLAIM, draw_law

Stages = tuple[tuple[int, int, float], ...]  # steps, fresh examples in each, Adam's rate
AUTHORS: Stages = ((40_000, 200, 1e-2), (160_000, 200, 1e-2), (20_000, 1000, 1e-2), (20_000, 4000, 1e-3))


@dataclass(frozen=True)
class Family:
    """Students of one kind of teacher: dimensions, hidden units of the students, and of the teacher."""

    dimensions: tuple[int, ...]
    widths: tuple[int, ...]
    biases: bool
    teacher: int = 96

    @property
    def name(self) -> str:
        """Name in tables and legends."""
        size = "" if self.teacher == 96 else f" of {self.teacher} units"
        return f"a teacher{size} with{'' if self.biases else 'out'} biases"


@dataclass(frozen=True)
class Scale:
    """One scale: families of students, how many of each width, the stages of training."""

    families: tuple[Family, ...]
    students: int
    test_size: int
    stages: Stages = AUTHORS


OURS = (6, 9, 13, 20, 30, 45)
SCALES = {
    "smoke": Scale(
        families=(Family((3,), (3, 5, 8), True), Family((3,), (3, 5, 8), False)), students=3, test_size=512,
        stages=((100, 32, 1e-2), (20, 128, 1e-3)),
    ),
    "gpu": Scale(
        families=(
            Family((2, 3, 4), OURS, True), Family((2, 3, 4), OURS, False),
            Family((4, 5, 6), (8, 11, 17, 26, 38), False, 600),
            Family((7, 8), (15, 22, 32, 48, 72), False, 600),
        ),
        students=15, test_size=16_384,
    ),
}  # fmt: skip


def fig_s4_fresh(scale: str) -> Reproduction:
    """Loss against the number of parameters at the end of every stage; α_P against 4/d."""
    s = SCALES[scale]
    table = losses(s)
    names = list(dict.fromkeys(family.name for family in s.families))
    figure, axes = style.panels(1, len(names), size=(4.8, 3.8))
    rows = []
    for axis, name in zip(axes[0], names):
        style.loglog(axis, "parameters P", "test loss (mean of logs)", f"students of {name}")
        of_teacher = table[table["teacher_name"] == name].groupby("dimension")
        for (d, of_dimension), color in zip(of_teacher, style.PALETTE):
            for step, part in of_dimension.groupby("step"):
                sizes, values = by_draw(part, "n_params", draw="student")
                alpha = exponents.of_losses(sizes, values)
                quantity = f"α_P, d = {d}, {name}, {step} steps"
                slope = np.polyfit(np.log(sizes[alpha.chosen]), np.log(values[:, alpha.chosen]).mean(0), 1)[0]
                note = f"the paper: 4/d; mean slope on the range {-slope:.3f}"
                rows.append(alpha.row(quantity, note, paper=CLAIM / d))
            draw_law(axis, sizes, values, alpha, color, f"d = {d}: {alpha}")
        style.legend(axis)
    return Reproduction(Curves(table, settings=["dimension", "biases"], source="train"), figure, tuple(rows))


def losses(s: Scale) -> pd.DataFrame:
    """The loss of every student at the end of every stage."""
    settings: list[dict[str, Any]] = []
    names: dict[str, str] = {}  # of their teachers, by run
    for family in s.families:
        kind = {"biases": family.biases} | ({} if family.teacher == 96 else {"teacher": family.teacher})
        settings += [
            {
                "model": "mlp", "depth": 2, "dataset": "teacher_student", "dimension": dimension, **kind,
                "width": width, "student": k, "stages": s.stages, "test_size": s.test_size,
            }
            for dimension in family.dimensions for width in family.widths for k in range(s.students)
        ]  # fmt: skip
        names |= {run_name(one): family.name for one in settings[len(names) :]}
    found = trained.measured(settings, "students on fresh examples", _rows).frame
    return found.assign(teacher_name=found["run"].map(names))


def _rows(settings: Sequence[Mapping[str, Any]]) -> Iterator[list[dict[str, float]]]:
    """The rows of some students; those whose teachers have as many units are trained in one stack."""
    from scalinglab_papers.bahri2021.stacks import fresh

    for hidden, same in groupby(settings, lambda one: one.get("teacher", 96)):
        stacked = list(same)
        kinds = list(dict.fromkeys((one["dimension"], one["biases"]) for one in stacked))
        teachers = [
            random_teacher(dimension, width=hidden)
            if biases
            else fresh.without_biases(random_teacher(dimension, width=hidden))
            for dimension, biases in kinds
        ]
        students = [
            fresh.Student(
                kinds.index((one["dimension"], one["biases"])),
                one["width"],
                10_000 * one["width"] + one["student"],
            )
            for one in stacked
        ]
        first = stacked[0]
        found = fresh.trained_losses(teachers, students, first["stages"], first["test_size"])
        for one, rows in zip(stacked, found, strict=True):
            dimension, hidden = one["dimension"], one["width"]
            n_params = (dimension + 1) * hidden + (hidden + 1) * hidden + hidden + 1
            yield [{**row, "n_params": n_params} for row in rows]
