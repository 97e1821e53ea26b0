"""Fig. 1 top-left and bottom-right: variance-limited networks, exponent 1 in D and in width (section 2.1).

*Data.* A small network (about 1,000 parameters) is trained by full-batch gradient descent from one
initialisation on D examples and on all N examples of its training set. Over draws of D examples without
replacement

    E L(D) − L(N) = c · (1/D − 1/N) + …,

so that the exponent 1 is one in the size D_eff = 1/(1/D − 1/N). It is fitted to sizes above the number of
parameters: the claim is for D ≫ P. One draw of a permutation gives N/D blocks of
D examples without overlap. Their mean leaves out the term of order D^(−1/2), which sums to zero over a
partition and would need thousands of independent draws to average away. n counts permutations, each with an
initialisation of its own.

*Width.* Two hidden layers in NTK parameterization, 100 examples, full-batch gradient descent. From the test
loss of each initialisation that of its linearisation is subtracted, trained by the same steps:

    f_{t+1}(x) = f_t(x) − η Σ_i Θ(x, x_i) ∂L/∂f_t(x_i),

with Θ the tangent kernel of the network as it was drawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.figures import style
from scalinglab.papers import trained
from scalinglab.papers.bahri2021 import exponents
from scalinglab.papers.bahri2021.exponents import difference_row
from scalinglab.papers.registry import Reproduction
from scalinglab.papers.verdict import Row, mean

# --- data --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A network and its data: pooled images, or teacher–student data where `dataset` says so.

    Attributes:
        draws: permutations; None: as many as the scale has.
    """

    dataset: str
    model: str = "mlp"
    loss: str = "cross_entropy"
    pool: int = 1
    hidden: int = 8
    draws: int | None = None

    @property
    def name(self) -> str:
        """For tables and legends."""
        return f"{self.dataset}, {self.model} of width {self.hidden}, {self.loss.replace('_', '-')}"

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
class DataScale:
    """One scale: the tasks, N, the numbers of blocks N/D, permutations, and the training."""

    tasks: tuple[Task, ...]
    population: int
    blocks: tuple[int, ...]
    draws: int
    steps: int
    learning_rate: float


IMAGES = tuple(
    Task(dataset, pool=pool)
    for dataset, pool in (("mnist", 2), ("fashion-mnist", 2), ("cifar10", 4), ("cifar100", 4))
)
DATA_SCALES = {
    "smoke": DataScale((Task("digits", pool=4, hidden=3),), 1408, (2, 4, 8), 5, 40, 0.5),
    "laptop": DataScale((Task("digits", pool=4, hidden=3),), 1408, (2, 4, 8), 20, 40, 0.5),
    "gpu": DataScale(
        (*IMAGES, Task("teacher_student", loss="mse", hidden=16)),
        32_768, (2, 4, 8, 16, 32), 20, 300, 0.1,
    ),
    "paper": DataScale(
        (*IMAGES, *(Task(t.dataset, pool=t.pool, loss="mse") for t in IMAGES),
         Task("cifar10", model="myrtle"), Task("teacher_student", loss="mse", hidden=16)),
        49_152, (2, 4, 8, 16, 24), 20, 2000, 0.03,
    ),
}  # fmt: skip


def fig1_top_left(scale: str) -> Reproduction:
    """Excess loss of under-parameterized networks against D."""
    s = _of(DATA_SCALES, scale)
    figure, axes = style.panels(size=(5.4, 4.2))
    axis = style.loglog(axes[0, 0], "D/(1 − D/N)", "L(D) − L(N)", "variance-limited in data: slope −1")
    rows, frames = [], []
    only = set(trained.kept().only)
    tasks = [
        task for task in s.tasks
        if (not only or {task.name, task.dataset} & only)
        and (task.dataset == "teacher_student" or trained.usable(task.dataset))
    ]  # fmt: skip
    if not tasks:
        raise BadInput(f"none of {', '.join(task.name for task in s.tasks)} is asked for and on this machine")
    for task, color in zip(tasks, style.PALETTE):
        sizes, excess, frame = excess_loss(task, s)
        few = int(np.searchsorted(frame["n_data"].unique(), frame["n_params"].iloc[0]))
        under = slice(min(few, len(sizes) - 2), None)  # D below P is another regime
        alpha = exponents.of_differences(sizes[under], excess[:, under])
        frames.append(frame)
        draw(axis, sizes, excess, color, f"{task.name}: {alpha or 'lost in noise'}", alpha is not None)
        note = f"N = {s.population}, P = {frame['n_params'].iloc[0]:.0f}, sizes D > P"
        rows += [
            difference_row(f"{task.name}: α_D", alpha, len(excess), note, paper=1.0),
            _second_order(task.name, sizes[under], excess[:, under]),
        ]
        if few:
            every = exponents.of_differences(sizes, excess)
            name = f"{task.name}: α_D with the sizes D < P"
            rows.append(difference_row(name, every, len(excess), "not judged: the claim is for D ≫ P"))
    style.legend(axis, fontsize=7)
    curves = Curves(pd.concat(frames, ignore_index=True), settings=["task"], source="train")
    return Reproduction(curves, figure, tuple(rows))


def excess_loss(task: Task, s: DataScale) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Sizes D_eff (n,), excess test losses (permutations, n), and the table behind them."""
    base = {
        **task.setting(), "optimizer": "sgd", "learning_rate": s.learning_rate, "full_batch": True,
        "steps": s.steps, "measure": (), "evaluate_at_most": 1, "checkpoints_per_decade": 1,
    }  # fmt: skip
    settings = [
        {**base, "n_data": s.population // blocks, "data_block": block, "seed": draw}
        for blocks in (1, *s.blocks) for draw in range(task.draws or s.draws) for block in range(blocks)
    ]  # fmt: skip
    frame = trained.runs(settings, "variance-limited in data").frame
    last = frame.sort_values("step").groupby("run", as_index=False).last()
    losses = last.pivot_table(index="seed", columns="n_data", values="test_loss")  # the mean over blocks
    whole = losses.pop(s.population)
    excess = losses.sub(whole, axis=0)
    data = excess.columns.to_numpy(float)
    tidy = excess.reset_index().melt("seed", var_name="n_data", value_name="excess_loss")
    tidy = tidy.assign(task=task.name, n_params=int(last["n_params"].iloc[0]))
    return 1 / (1 / data - 1 / s.population), excess.to_numpy(), tidy


def _second_order(name: str, sizes: np.ndarray, excess: np.ndarray) -> Row:
    """c of c/D_eff from the larger sizes over c from the smaller: 1 where O(1/D) is all there is."""
    products, half = excess * sizes, len(sizes) // 2
    late, early = products[:, -half:].mean(1), products[:, :half].mean(1)
    ratio = late.mean() / early.mean()
    left = mean(late - ratio * early)
    return Row(
        f"{name}: coefficient of 1/D in the larger half of the sizes over that in the smaller", float(ratio),
        left.stderr / abs(float(early.mean())), left.n, expected=1.0,
        note="expected: a bound O(1/D) that is reached with one coefficient",
    )  # fmt: skip


def draw(axis: Any, sizes: np.ndarray, values: np.ndarray, color: Any, label: str, line: bool = True) -> None:
    """Means with their errors, and a line of slope −1 through the larger half of the sizes."""
    centre, error = values.mean(0), values.std(0, ddof=1) / np.sqrt(len(values))
    shown = centre > 0
    style.points(axis, sizes[shown], centre[shown], error[shown], color=color, label=label)
    if line:
        late = np.flatnonzero(shown)[-(len(sizes) // 2) :]
        level = np.average(np.log(centre[late] * sizes[late]), weights=(centre[late] / error[late]) ** 2)
        axis.plot(sizes, np.exp(level) / sizes, color=color, lw=1.2, ls="--")


# --- width -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WidthScale:
    """One scale: data, widths, initialisations, and the training.

    Attributes:
        kinds: activation and loss.
        times: steps after which the losses are compared, each for networks of its own.
        learning_rates: by activation; one at which the difference to the linearisation stands out of the
            scatter of initialisations.
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

    def networks(self) -> list[tuple[int, int, str, str, int]]:
        """Width, seed, activation, loss and steps of every network."""
        return [
            (width, seed, *kind, steps)
            for width in self.widths for seed in range(self.initializations) for kind in self.kinds
            for steps in self.times
        ]  # fmt: skip


HALF_OCTAVES = tuple(int(64 * 2 ** (k / 2)) for k in range(16))  # 64 … 11,585
KINDS = (("relu", "cross_entropy"), ("erf", "cross_entropy"), ("relu", "mse"), ("erf", "mse"))
WIDTH_SCALES = {
    "smoke": WidthScale("digits", 1, (32, 64, 128), 5, (("erf", "mse"),), 10, 10, (20,)),
    "laptop": WidthScale("digits", 1, (32, 64, 128, 256, 512), 20, KINDS[2:], 20, 50, (40,)),
    "gpu": WidthScale(
        "fashion-mnist", 2, HALF_OCTAVES[::3], 50, KINDS, test_size=100, times=(10, 30, 100),
        learning_rates={"relu": 0.3, "erf": 1.0},
    ),
    "paper": WidthScale("mnist", 1, HALF_OCTAVES, 50, KINDS, test_size=1000, times=(100, 500)),
}  # fmt: skip


def fig1_bottom_right(scale: str) -> Reproduction:
    """Loss of wide networks less that of their linearisation, against width."""
    s = _of(WIDTH_SCALES, scale)
    figure, axes = style.panels(1, len(s.times), size=(4.8, 4.2))
    rows: list[Row] = []
    table = width_table(s)
    for axis, steps in zip(axes[0], s.times):
        title = f"variance-limited in width: slope −1 after {steps} steps"
        style.loglog(axis, "width w", "|L(w) − L of its linearisation|", title)
        for (activation, loss), color in zip(s.kinds, style.PALETTE):
            name = f"{s.dataset}, {activation}, {loss.replace('_', '-')}"
            widths, excess = width_excess(table, activation, loss, steps)
            sign = float(np.sign(excess.mean()))
            alpha = exponents.of_differences(widths, sign * excess)
            label = f"{name}: {alpha or 'lost in noise'}"
            draw(axis, widths, sign * excess, color, label, alpha is not None)
            name += f", {steps} steps" if len(s.times) > 1 else ""
            note = f"{s.n_data} examples, {steps} steps of {s.learning_rates[activation]:g}, "
            note += f"the network lies {'above' if sign > 0 else 'below'}"
            rows.append(difference_row(f"{name}: α_W", alpha, len(excess), note, paper=1.0))
            if alpha is not None:
                rows += _beyond(name, widths, sign * excess)
        style.legend(axis)
    curves = Curves(table, settings=["activation", "objective"], source="train")
    return Reproduction(curves, figure, tuple(rows))


def _beyond(name: str, widths: np.ndarray, excess: np.ndarray) -> list[Row]:
    """Whether the coefficient of 1/width is one, and the exponent of the three largest of many widths."""
    rows = [_second_order_width(name, widths, excess)]
    if len(widths) > 4:
        large = exponents.of_differences(widths[-3:], excess[:, -3:])
        quantity, words = f"{name}: α_W of the largest widths", "the claim is for width ≫ D"
        rows.append(difference_row(quantity, large, len(excess), words, paper=1.0))
    return rows


def width_table(s: WidthScale) -> pd.DataFrame:
    """The losses of every width, initialisation and kind of network, and of its linearisation."""
    from scalinglab.train import Setting

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
    found = trained.measured(
        [{**Setting.from_dict(one).identity(), "beside": "its linearisation"} for one in settings],
        "variance-limited in width", _losses,
    ).frame  # fmt: skip
    options = found["model_options"].map(json.loads)
    table = found[["run", "dataset", "seed", "step", "test_loss", "linearized_test_loss"]].assign(
        width=options.map(lambda own: own["hidden"]), activation=options.map(lambda own: own["activation"]),
        objective=found["loss"], excess_loss=found["test_loss"] - found["linearized_test_loss"],
    )  # fmt: skip
    return table.sort_values(["activation", "objective", "width", "seed"], ignore_index=True)


def width_excess(
    table: pd.DataFrame, activation: str, loss: str, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Widths (n,), and differences of test losses (initialisations, n), of one kind of network and time.

    Initialisations that were trained at every width count.
    """
    kind = (table["activation"] == activation) & (table["objective"] == loss)
    own = table[kind & (table["step"] == steps)]
    wide = own.pivot_table(index="seed", columns="width", values="excess_loss").dropna()
    return wide.columns.to_numpy(float), wide.to_numpy()


def _losses(settings: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, float]]:
    """The rows of networks and their linearisations."""
    from scalinglab.papers.bahri2021.linearized import final_losses
    from scalinglab.support.progress import track
    from scalinglab.train import Setting

    checked = [
        Setting.from_dict({name: v for name, v in one.items() if name != "beside"}) for one in settings
    ]
    losses = zip(checked, final_losses(checked), strict=True)
    for setting, (plain, linear) in track(losses, "networks and linearisations", total=len(checked)):
        yield {"step": setting.steps or 0, "test_loss": plain, "linearized_test_loss": linear}


def _second_order_width(name: str, widths: np.ndarray, excess: np.ndarray) -> Row:
    found = _second_order(name, widths, excess)
    return Row(
        f"{name}: coefficient of 1/width in the larger half of the widths over that in the smaller",
        found.measured, found.stderr, found.n, expected=1.0,
        note="expected: a bound O(1/width) that is reached with one coefficient",
    )  # fmt: skip


def _of(scales: dict[str, Any], scale: str) -> Any:
    if scale not in scales:
        raise BadInput(f"scale {scale!r}: this figure runs at {', '.join(scales)}")
    return scales[scale]
