"""Fig. 1 top-left and bottom-right: variance-limited networks, exponent 1 in D and in width (section 2.1).

*Data.* A small network (P parameters, 369 to 2,516) is trained by full-batch gradient descent from one
initialisation on D examples and on all N examples of its training set. Over draws of D examples without
replacement

    E L(D) − L(N) = c · (1/D − 1/N) + …,

so that the exponent 1 is one in the size D_eff = 1/(1/D − 1/N). It is fitted to sizes above the number of
parameters: the claim is for D ≫ P. One draw of a permutation gives N/D blocks of D examples without overlap.
Their mean leaves out the term of order D^(−1/2), which sums to zero over a partition and would need thousands
of independent draws to average away. n counts permutations, each with an initialisation of its own. Losses
are compared after several training times of the same networks.

*Width.* Two hidden layers in NTK parameterization, 100 examples, full-batch gradient descent. From the test
loss of each initialisation that of its linearisation is subtracted, trained by the same steps:

    f_{t+1}(x) = f_t(x) − η Σ_i Θ(x, x_i) ∂L/∂f_t(x_i),

with Θ the tangent kernel of the network as it was drawn. The claim is for width ≫ D.

Both claims are judged on all sizes above the other one by the rule of `exponents`, and on those `FAR` times
above it. In the figures points outside the range of the exponent are hollow.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.figures import style
from scalinglab.papers import trained
from scalinglab.papers.bahri2021 import exponents
from scalinglab.papers.bahri2021.exponents import Exponent, difference_row
from scalinglab.papers.bahri2021.students import draw_points
from scalinglab.papers.registry import Reproduction
from scalinglab.papers.verdict import Row, mean, quotient

if TYPE_CHECKING:
    from scalinglab.train import Setting

FAR = 2  # sizes of that many times the parameters, or the examples, are far above them


@dataclass(frozen=True)
class Judged:
    """Differences of losses whose exponent in a size is 1 where this size is far above another one.

    Attributes:
        sizes: (n,).
        excess: differences, (seeds, n).
        ratios: of each size to the other one, (n,).
        words: the subscript of α, the size and the other size.
    """

    sizes: np.ndarray
    excess: np.ndarray
    ratios: np.ndarray
    words: tuple[str, str, str]

    def exponent(self, factor: float) -> Exponent | None:
        """Of sizes above so many times the other one; None where it is lost in noise."""
        above = self.ratios > factor
        return exponents.of_differences(self.sizes[above], self.excess[:, above])

    def rows(self, name: str, note: str) -> list[Row]:
        """The exponents of sizes above, and far above where three or more are, and the coefficient."""
        subscript, size, other = self.words
        n, far = len(self.excess), (self.ratios > FAR).sum()
        name_of = f"{name}: α_{subscript}, {size} >"
        rows = [difference_row(f"{name_of} {other}", self.exponent(1), n, note, paper=1.0)]
        if 3 <= far < (self.ratios > 1).sum():
            claim = f"the claim is for {size} ≫ {other}"
            rows.append(difference_row(f"{name_of} {FAR} {other}", self.exponent(FAR), n, claim, paper=1.0))
        return [*rows, self._coefficient(name)]

    def _coefficient(self, name: str) -> Row:
        """c of c/size from the larger sizes over c from the smaller: 1 where O(1/size) is all there is."""
        above, size = self.ratios > 1, self.words[1]
        products = self.excess[:, above] * self.sizes[above]
        half = products.shape[1] // 2
        ratio = quotient(products[:, -half:].mean(1), products[:, :half].mean(1))
        note = f"expected: a bound O(1/{size}) that is reached with one coefficient; excess loss times size: "
        return Row(
            f"{name}: coefficient of 1/{size} in the larger half of the sizes over that in the smaller",
            ratio.value, ratio.stderr, ratio.n, expected=1.0,
            note=note + ", ".join(f"{product:.3g}" for product in products.mean(0)),
        )  # fmt: skip


# --- data --------------------------------------------------------------------------------------------


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
        """For tables and legends."""
        return f"{self.dataset}, {self.model} of width {self.hidden}, {self.loss.replace('_', '-')}"

    def steps(self) -> list[int]:
        """Of each permutation."""
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
class DataScale:
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
DECADES = (10, 100, 1000, 3000)
DATA_SCALES = {
    "smoke": DataScale((Task("digits", ((40, 5),), pool=4, hidden=3),), 1408, (2, 4, 8), (40,), 0.5),
    "laptop": DataScale((Task("digits", ((40, 20),), pool=4, hidden=3),), 1408, (2, 4, 8), (40,), 0.5),
    "gpu": DataScale((*IMAGES, *SQUARED, STUDENTS), 32_768, (2, 4, 8, 16), DECADES, 0.03),
    "paper": DataScale(
        (*IMAGES, *SQUARED, Task("cifar10", TWENTY, model="myrtle"), STUDENTS), 49_152, (2, 4, 8, 16, 24),
        DECADES, 0.03,
    ),
}  # fmt: skip


def fig1_top_left(scale: str) -> Reproduction:
    """Excess loss of under-parameterized networks against D."""
    s = _of(DATA_SCALES, scale)
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
                    rows += _data_rows(axis, color, task, table, s, steps)
            _finish(axis)
    curves = Curves(pd.concat(tables.values(), ignore_index=True), settings=["task"], source="train")
    return Reproduction(curves, figure, tuple(rows))


def _selected(tasks: Sequence[Task]) -> list[Task]:
    """Those named by ``--only`` whose data, or runs, are on this machine."""
    only = set(trained.kept().only)
    found = [
        task for task in tasks
        if (not only or {task.name, task.dataset} & only)
        and (task.dataset == "teacher_student" or trained.usable(task.dataset))
    ]  # fmt: skip
    if not found:
        raise BadInput(
            f"none of {', '.join(task.name for task in tasks)} is named by --only and on this machine"
        )
    return found


def _data_rows(
    axis: Any, color: Any, task: Task, table: pd.DataFrame, s: DataScale, steps: int
) -> list[Row]:  # fmt: skip
    """The exponents of one task after these steps; draws them."""
    sizes, excess = data_excess(table, s.population, steps)
    n_params = table["n_params"].iloc[0]
    note = f"N = {s.population}, P = {n_params:.0f}, {_rose(table, steps)}"
    name = f"{task.name}, {steps} steps" if len(s.times) > 1 else task.name
    judged = Judged(sizes, excess, np.unique(table["n_data"]) / n_params, ("D", "D", "P"))
    draw(axis, sizes, excess, judged.exponent(1), color, task.name)
    return judged.rows(name, note)


def excess_table(task: Task, s: DataScale) -> pd.DataFrame:
    """A row for each permutation, size and checkpoint: the mean loss over blocks, less that of all N."""
    from scalinglab.papers.bahri2021.stacks.descent import partition_losses

    base = {
        **task.setting(), "optimizer": "sgd", "learning_rate": s.learning_rate, "full_batch": True,
        "measure": (), "checkpoints_per_decade": 1,
    }  # fmt: skip
    settings = [
        {**base, "n_data": s.population // blocks, "seed": draw, "steps": steps}
        for draw, steps in enumerate(task.steps()) for blocks in (1, *s.blocks)
    ]  # fmt: skip
    by_block = partial(partition_losses, population=s.population)
    frame = _measured(settings, "variance-limited in data", by_block, blocks_of=s.population)
    keys = ["seed", "step"]
    whole = frame[frame["n_data"] == s.population].set_index(keys)["test_loss"].rename("loss_of_all")
    parts = frame[frame["n_data"] < s.population].join(whole, on=keys)
    columns = ["run", *keys, "n_data", "n_params", "networks", "networks_rose"]
    excess = parts["test_loss"] - parts["loss_of_all"]
    return parts[columns].assign(task=task.name, excess_loss=excess).reset_index(drop=True)


def data_excess(table: pd.DataFrame, population: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Sizes D_eff (n,), and excess test losses (permutations, n) after these steps."""
    at_step = table[table["step"] == steps]
    wide = at_step.pivot_table(index="seed", columns="n_data", values="excess_loss").dropna()
    return 1 / (1 / wide.columns.to_numpy(float) - 1 / population), wide.to_numpy()


def _rose(table: pd.DataFrame, steps: int) -> str:
    """How many networks had a step at which their training loss rose."""
    last = table[table["step"] == steps]
    rose, count = (int(last[name].sum()) for name in ("networks_rose", "networks"))
    return f"at some step the training loss of {rose} of {count} networks rose"


def draw(
    axis: Any, sizes: np.ndarray, values: np.ndarray, alpha: Exponent | None, color: Any, name: str
) -> None:  # fmt: skip
    """Means of differences with their errors, and the law on its range; means below zero are not shown."""
    centre, error = values.mean(0), values.std(0, ddof=1) / np.sqrt(len(values))
    shown = centre > 0
    label = f"{name}: {alpha or 'lost in noise'}"
    draw_points(axis, sizes[shown], centre[shown], error[shown], alpha, color, label)


def _finish(axis: Any) -> None:
    """A line of slope −1 above the points, and the legend; an empty panel is left out."""
    if not axis.has_data():
        axis.set_axis_off()
        return
    box = axis.dataLim
    ends = np.array([box.x0, box.x1])
    axis.plot(ends, 2 * box.y1 * ends[0] / ends, color=style.INK, lw=1, ls=":", label="slope −1")
    style.legend_below(axis)


# --- width -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WidthScale:
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
WIDTH_SCALES = {
    "smoke": WidthScale("digits", 1, (32, 64, 128), 5, (("erf", "mse"),), 10, 10, (20,)),
    "laptop": WidthScale("digits", 1, (32, 64, 128, 256, 512), 20, KINDS[2:], 20, 50, (40,)),
    "gpu": WidthScale(
        "fashion-mnist", 2, HALF_OCTAVES, 50, KINDS, test_size=100, times=(100, 500),
        learning_rates=SMALL_RATES, longest_up_to=2896,
    ),
    "paper": WidthScale(
        "mnist", 1, HALF_OCTAVES, 50, KINDS, test_size=1000, times=(100, 500), learning_rates=SMALL_RATES
    ),
}  # fmt: skip


def fig1_bottom_right(scale: str) -> Reproduction:
    """Loss of wide networks less that of their linearisation, against width."""
    s = _of(WIDTH_SCALES, scale)
    figure, axes = style.panels(1, len(s.times), size=(5.2, 4.8))
    rows: list[Row] = []
    table = width_table(s)
    for axis, steps in zip(axes[0], s.times):
        title = f"variance-limited in width, {steps} steps"
        style.loglog(axis, "width w", "|L(w) − L of its linearisation|", title)
        for (activation, loss), color in zip(s.kinds, style.PALETTE):
            rows += _width_rows(axis, color, table, s, activation, loss, steps)
        _finish(axis)
    curves = Curves(table, settings=["activation", "objective"], source="train")
    return Reproduction(curves, figure, tuple(rows))


def _width_rows(
    axis: Any, color: Any, table: pd.DataFrame, s: WidthScale, activation: str, loss: str, steps: int
) -> list[Row]:
    """The exponents of one kind of network after these steps; draws them."""
    kind = f"{s.dataset}, {activation}, {loss.replace('_', '-')}"
    widths, signed = width_excess(table, activation, loss, steps)
    sign = float(np.sign(signed.mean()))
    judged = Judged(widths, sign * signed, widths / s.n_data, ("W", "w", "D"))
    draw(axis, widths, sign * signed, judged.exponent(1), color, kind)
    name = f"{kind}, {steps} steps" if len(s.times) > 1 else kind
    note = f"{s.n_data} examples, {steps} steps of {s.learning_rates[activation]:g}, "
    return judged.rows(name, note + f"the network lies {'above' if sign > 0 else 'below'}")


def width_table(s: WidthScale) -> pd.DataFrame:
    """The losses of every width, initialisation and kind of network, and of its linearisation."""
    from scalinglab.papers.bahri2021.stacks.linearized import losses_beside

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
    found = _measured(settings, "variance-limited in width", losses_beside, beside="its linearisation")
    options = found["model_options"].map(json.loads)
    table = found[["run", "dataset", "seed", "step", "test_loss", "linearized_test_loss"]].assign(
        width=options.map(lambda one: one["hidden"]), activation=options.map(lambda one: one["activation"]),
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
    of_kind = table[kind & (table["step"] == steps)]
    wide = of_kind.pivot_table(index="seed", columns="width", values="excess_loss").dropna()
    return wide.columns.to_numpy(float), wide.to_numpy()


# --- networks small enough to average over -----------------------------------------------------------


@dataclass(frozen=True)
class Averaged:
    """One scale: sizes D and training sets of each, widths and pairs of initialisations of each."""

    sizes: tuple[int, ...]
    draws: int
    widths: tuple[int, ...]
    pairs: int
    activations: tuple[str, ...]


AVERAGED = {
    "smoke": Averaged((512, 1024, 2048), 200, (8, 16, 32), 100, ("erf",)),
    "laptop": Averaged(
        (128, 512, 2048, 8192), 24_000, (8, 16, 32, 64), 3000, ("erf", "relu")
    ),
}  # fmt: skip


def section_2_1(scale: str) -> Reproduction:
    """The coefficient of 1/D by second derivatives, and the limit of infinite width by its kernel."""
    s = _of(AVERAGED, scale)
    figure, axes = style.panels(1, 2, size=(4.6, 3.8))
    left = style.loglog(axes[0, 0], "examples D", "L(D) − L(∞)", "an average over training sets")
    right = style.loglog(axes[0, 1], "width w", "|L(w) − L(∞)|", "an average over initialisations")
    found = [_over_training_sets(left, s)]
    found += [
        _over_initializations(right, s, activation, color)
        for activation, color in zip(s.activations, style.PALETTE)
    ]
    for axis in (left, right):
        style.legend(axis)
    frame = pd.concat([table for _, table in found], ignore_index=True)
    curves = Curves(frame.assign(model="mlp"), settings=["task"], source="simulate")
    return Reproduction(curves, figure, tuple(row for rows, _ in found for row in rows))


def _over_training_sets(axis: Any, s: Averaged) -> tuple[list[Row], pd.DataFrame]:
    from scalinglab.papers.bahri2021.stacks import averages

    task, sizes = averages.Task(24, noise=0.5, steps=30), np.array(s.sizes)
    excess, coefficient = averages.data_excess(task, sizes, s.draws), averages.data_coefficient(task)[2]
    rows = []
    for size, values in zip(s.sizes, (excess * sizes / coefficient).T):
        ratio, name = mean(values), f"coefficient of 1/D at D = {size}, over that of second derivatives"
        note = "expected: second derivatives of the trained loss in the weights of the examples"
        rows.append(Row(name, ratio.value, ratio.stderr, ratio.n, expected=1.0, note=note))
    alpha = exponents.of_differences(sizes, excess)
    rows.append(difference_row("α_D", alpha, s.draws, "13 parameters, erf, mse", paper=1.0))
    draw(axis, sizes, excess, alpha, style.PALETTE[0], "13 parameters")
    axis.plot(sizes, coefficient / sizes, color=style.INK, lw=1, ls=":", label="second derivatives")
    return rows, pd.DataFrame({"task": "data", "n_data": sizes, "excess_loss": excess.mean(0)})


def _over_initializations(
    axis: Any, s: Averaged, activation: str, color: Any
) -> tuple[list[Row], pd.DataFrame]:
    from scalinglab.papers.bahri2021.stacks import averages

    task, widths = averages.Task(4, 8, 3, steps=60), np.array(s.widths)
    excess = np.stack([averages.width_excess(task, activation, width, s.pairs) for width in s.widths], 1)
    above = float(np.sign(excess.mean())) * excess
    judged = Judged(widths, above, widths / task.n_seen, ("W", "w", "D"))
    draw(axis, widths, above, judged.exponent(1), color, activation)
    note = f"4 examples, {task.steps} steps, mse; less the loss of the infinitely wide network by its kernel"
    rows = judged.rows(activation, note)
    return rows, pd.DataFrame({"task": activation, "width": widths, "excess_loss": excess.mean(0)})


def _measured(
    settings: Sequence[Mapping[str, Any]],
    experiment: str,
    losses: Callable[[Sequence[Setting]], Iterator[list[dict[str, float]]]],
    **measurement: Any,
) -> pd.DataFrame:
    """The rows that `losses` gives for these settings; `measurement` belongs to their identity."""
    from scalinglab.support.progress import track
    from scalinglab.train import Setting

    def measure(left: Sequence[Mapping[str, Any]]) -> Iterator[list[dict[str, float]]]:
        plain = [{name: value for name, value in one.items() if name not in measurement} for one in left]
        return track(losses([Setting.from_dict(one) for one in plain]), experiment, total=len(left))

    whole = [{**Setting.from_dict(one).identity(), **measurement} for one in settings]
    return trained.measured(whole, experiment, measure).frame


def _of(scales: dict[str, Any], scale: str) -> Any:
    if scale not in scales:
        raise BadInput(f"scale {scale!r}: this figure runs at {', '.join(scales)}")
    return scales[scale]
