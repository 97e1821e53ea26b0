"""Fig. 1 top-left: variance-limited scaling with data, exponent 1 in D.

A small network (P parameters, 369 to 2,516) is trained by full-batch gradient descent from one initialisation
on D examples and on all N examples of its training set. Over draws of D examples without replacement

    E L(D) − L(N) = c · (1/D − 1/N) + …,

so that the exponent 1 is one in the size D_eff = 1/(1/D − 1/N). The claim is for D ≫ P. One draw of a
permutation gives N/D blocks of D examples without overlap. Their mean leaves out the term of order D^(−1/2),
which sums to zero over a partition and would need thousands of independent draws to average away. n counts
permutations, each with an initialisation of its own. Losses are compared after several training times of the
same networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.figures import style
from scalinglab.studies import Reproduction, Row, by_draw, trained
from scalinglab_papers.bahri2021.variance.judged import (
    Judged,
    add_slope_and_legend,
    draw,
    measured,
    stored_table,
)


@dataclass(frozen=True)
class Task:
    """A network and its data: pooled images, or teacher–student data where `dataset` says so.

    Attributes:
        draws: steps, and how many permutations are trained for as many at least.
    """

    dataset: str
    draws: tuple[tuple[int, int], ...]
    model: str = "mlp"
    loss: str = "cross_entropy"
    pool: int = 1
    hidden: int = 8

    @property
    def name(self) -> str:
        """Name in tables and legends."""
        return f"{self.dataset}, {self.model} of width {self.hidden}, {self.loss.replace('_', '-')}"

    def steps(self) -> list[int]:
        """Steps of each permutation."""
        longest = range(max(count for _, count in self.draws))
        return [max(steps for steps, count in self.draws if draw < count) for draw in longest]

    def setting(self) -> dict[str, Any]:
        """The network and its data."""
        shape: dict[str, Any] = {"model": self.model, "loss": self.loss}
        if self.model == "mlp":
            shape |= {"depth": 2, "model_options": {"hidden": self.hidden}}
        else:
            shape |= {"model_options": {"channels": self.hidden}}
        if self.dataset == "teacher_student":
            options = {"dimension": 4, "n_data": TEACHER_DATA, "n_test": 10_000}
            return {**shape, "dataset": self.dataset, "data_options": options}
        return {**shape, "dataset": self.dataset, "pool": self.pool}


TEACHER_DATA = 49_152


@dataclass(frozen=True)
class Scale:
    """One scale: the tasks, N, the numbers of blocks N/D, and the training.

    Attributes:
        times: checkpoints (one a decade, and the last) at which the losses are compared.
    """

    tasks: tuple[Task, ...]
    population: int
    blocks: tuple[int, ...]
    times: tuple[int, ...]
    learning_rate: float


TWENTY = ((3000, 20),)
IMAGES = (
    Task("mnist", (*TWENTY, (1000, 120)), pool=2), Task("fashion-mnist", (*TWENTY, (1000, 100)), pool=2),
    Task("cifar10", TWENTY, pool=4), Task("cifar100", TWENTY, pool=4),
)  # fmt: skip
SQUARED = tuple(replace(task, loss="mse", draws=((1000, 20),)) for task in IMAGES)
STUDENTS = Task("teacher_student", TWENTY, loss="mse", hidden=16)
MYRTLE = Task("cifar10", ((100, 7),), model="myrtle", pool=2)
DECADES = (10, 100, 1000, 3000)
SCALES = {
    "smoke": Scale(
        tasks=(Task("digits", ((40, 5),), pool=4, hidden=3),), population=1408, blocks=(2, 4, 8), times=(40,),
        learning_rate=0.5,
    ),
    "laptop": Scale(
        tasks=(Task("digits", ((40, 20),), pool=4, hidden=3),), population=1408, blocks=(2, 4, 8),
        times=(40,), learning_rate=0.5,
    ),
    "gpu": Scale(
        tasks=(*IMAGES, *SQUARED, STUDENTS, MYRTLE), population=32_768, blocks=(2, 4, 8, 16), times=DECADES,
        learning_rate=0.03,
    ),
    "paper": Scale(
        tasks=(*IMAGES, *SQUARED, Task("cifar10", TWENTY, model="myrtle"), STUDENTS), population=49_152,
        blocks=(2, 4, 8, 16, 24), times=DECADES, learning_rate=0.03,
    ),
}  # fmt: skip


def fig1_top_left(scale: str) -> Reproduction:
    """Excess loss of under-parameterized networks against D."""
    s = SCALES[scale]
    tables = {task: excess_table(task, s) for task in _selected(s.tasks)}
    losses = list(dict.fromkeys(task.loss for task in tables))
    figure, axes = style.panels(len(losses), len(s.times), size=(5.2, 4.6))
    rows = []
    for loss, line in zip(losses, axes):
        of_loss = {task: table for task, table in tables.items() if task.loss == loss}
        for axis, steps in zip(line, s.times):
            title = f"variance-limited in data, {loss.replace('_', '-')}, {steps} steps"
            style.loglog(axis, "D/(1 − D/N)", "L(D) − L(N)", title)
            for (task, table), color in zip(of_loss.items(), style.PALETTE):
                if steps <= max(table["step"]):
                    rows += _rows(axis, color, task, table, s, steps)
            add_slope_and_legend(axis)
    curves = Curves(pd.concat(tables.values(), ignore_index=True), settings=["task"], source="train")
    return Reproduction(curves, figure, tuple(rows))


def _selected(tasks: Sequence[Task]) -> list[Task]:
    """The tasks that ``--only`` names and whose data, or runs, are on this machine."""
    only, table = set(trained.run_storage().only), stored_table()
    here = set() if table is None else set(table["task"])
    found = [
        task for task in tasks
        if (not only or {task.name, task.dataset} & only)
        and (task.name in here or task.dataset == "teacher_student" or trained.usable(task.dataset))
    ]  # fmt: skip
    if not found:
        raise BadInput(
            f"none of {', '.join(task.name for task in tasks)} is named by --only and on this machine"
        )
    return found


def _rows(
    axis: Any, color: Any, task: Task, table: pd.DataFrame, s: Scale, steps: int
) -> list[Row]:  # fmt: skip
    """The exponents of one task after these steps; draws them."""
    sizes, excess = excess_losses(table, s.population, steps)
    n_params = table["n_params"].iloc[0]
    note = f"N = {s.population}, P = {n_params:.0f}, {_rose(table, steps)}"
    note += f", {variance_of_few(excess)}"
    name = f"{task.name}, {steps} steps" if len(s.times) > 1 else task.name
    judged = Judged(sizes, excess, np.unique(table["n_data"]) / n_params, ("D", "D", "P"))
    draw(axis, sizes, excess, judged.exponent(), color, task.name)
    return judged.rows(name, note, last=steps == table["step"].max())


def excess_table(task: Task, s: Scale) -> pd.DataFrame:
    """A row for each permutation, size and checkpoint: the mean loss over blocks, less that of all N."""
    if (table := stored_table()) is not None:
        return table[table["task"] == task.name].reset_index(drop=True)
    from scalinglab_papers.bahri2021.stacks.descent import partition_losses

    base = {
        **task.setting(), "optimizer": "sgd", "learning_rate": s.learning_rate, "full_batch": True,
        "measure": (), "checkpoints_per_decade": 1,
    }  # fmt: skip
    settings = [
        {**base, "n_data": s.population // blocks, "seed": draw, "steps": steps}
        for draw, steps in enumerate(task.steps()) for blocks in (1, *s.blocks)
    ]  # fmt: skip
    by_block = partial(partition_losses, population=s.population)
    frame = measured(settings, "variance-limited in data", by_block, blocks_of=s.population)
    keys = ["seed", "step"]
    whole = frame[frame["n_data"] == s.population].set_index(keys)["test_loss"].rename("loss_of_all")
    parts = frame[frame["n_data"] < s.population].join(whole, on=keys)
    columns = ["run", *keys, "n_data", "n_params", "networks", "networks_rose"]
    excess = parts["test_loss"] - parts["loss_of_all"]
    return parts[columns].assign(task=task.name, excess_loss=excess).reset_index(drop=True)


def excess_losses(table: pd.DataFrame, population: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Sizes D_eff (n,), and excess test losses (permutations, n) after these steps."""
    sizes, excess = by_draw(table[table["step"] == steps], "n_data", "excess_loss")
    return 1 / (1 / sizes - 1 / population), excess


def variance_of_few(excess: np.ndarray, count: int = 5) -> str:
    """The share of the variance at the largest D that comes from a few permutations, in words."""
    squares = np.sort((excess[:, -1] - excess[:, -1].mean()) ** 2)
    share = squares[-count:].sum() / squares.sum()
    return f"{count} of {len(excess)} permutations have {share:.0%} of the variance at the largest D"


def _rose(table: pd.DataFrame, steps: int) -> str:
    """The number of networks whose training loss rose at some step, in words."""
    last = table[table["step"] == steps]
    rose, count = (int(last[name].sum()) for name in ("networks_rose", "networks"))
    return f"at some step the training loss of {rose} of {count} networks rose"
