"""Deep teacher–student models: Figs. 2 left, S2 and S4 (section 3.1, supplements A.1 and A.3).

Teachers are random ReLU networks with two hidden layers on the cube of dimension d, a new one for every seed.
Students with two hidden layers learn them with Adam, a cosine schedule and batches of 64; the loss is that of
the best checkpoint. Students of width 192 at growing D give α_D, students of growing width at D ≫ P give α_P;
the paper finds both close to 4/d. The paper prints no range of D or P: ours are in the table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.data.teacher import random_teacher, teacher_student
from scalinglab.figures import style
from scalinglab.studies import Reproduction, by_draw, loglog_figure, mean, shared, trained
from scalinglab_papers.bahri2021 import exponents
from scalinglab_papers.bahri2021.exponents import Exponent


@dataclass(frozen=True)
class Scale:
    """One scale.

    Attributes:
        dimensions: of the cube, in data and in parameters.
        sizes: D at width `student`.
        widths: hidden units of students at D = `plenty`.
        seeds: each with its own teacher, student and examples.
    """

    dimensions: tuple[int, ...]
    model_dimensions: tuple[int, ...]
    sizes: tuple[int, ...]
    widths: tuple[int, ...]
    plenty: int
    seeds: int
    steps: int
    teacher: int = 96
    student: int = 192
    test_size: int = 4096
    graphs: bool = True


OCTAVES = tuple(128 * 2**k for k in range(8))  # 128 … 16,384
SCALES = {
    "smoke": Scale(
        dimensions=(4,), model_dimensions=(3,), sizes=(64, 128, 256, 512), widths=(3, 5, 8), plenty=1024,
        seeds=3, steps=150, teacher=16, student=32, test_size=512, graphs=False,
    ),
    "laptop": Scale(
        dimensions=(2, 3, 4, 6), model_dimensions=(2, 4), sizes=(64, 128, 256, 512, 1024, 2048),
        widths=(4, 6, 8, 12, 16), plenty=16384, seeds=4, steps=4000, teacher=96, student=96, test_size=2048,
        graphs=False,
    ),
    "gpu": Scale(
        dimensions=tuple(range(2, 10)), model_dimensions=tuple(range(2, 10)), sizes=OCTAVES,
        widths=(6, 8, 11, 16, 23, 32, 45, 64), plenty=65_536, seeds=8, steps=40_000,
    ),
    "paper": Scale(
        dimensions=tuple(range(2, 10)), model_dimensions=tuple(range(2, 10)),
        sizes=(*OCTAVES, 32_768, 65_536, 131_072), widths=(4, 6, 8, 11, 16, 23, 32, 45, 64, 90),
        plenty=262_144, seeds=15, steps=40_000, test_size=16_384,
    ),
}  # fmt: skip
CLAIM = 4.0  # α = 4/d


def student(s: Scale, dimension: int, largest: int, **more: Any) -> dict[str, Any]:
    """The setting of a student, but for its size and seed.

    Args:
        largest: examples of each teacher that are drawn.
    """
    options = {
        "dimension": dimension, "n_data": largest, "n_test": s.test_size, "width": s.teacher,
        "teachers": s.seeds,
    }  # fmt: skip
    return {
        "model": "mlp", "depth": 2, "model_options": {"hidden": s.student}, "initialization": "torch",
        "dataset": "teacher_student", "data_options": options, "loss": "mse", "optimizer": "adam",
        "learning_rate": 3e-3, "schedule": "cosine", "batch_size": 64, "steps": s.steps, "measure": (),
        "evaluate_at_most": 1024, "graphs": s.graphs, **more,
    }  # fmt: skip


# --- loss against data, loss against parameters --------------------------------------------------------


@shared
def in_data(scale: str) -> Curves:
    """The best checkpoint of every student, at every dimension, D and seed."""
    s = SCALES[scale]
    settings = [
        {**student(s, d, max(s.sizes)), "n_data": n, "seed": seed}
        for d in s.dimensions for n in s.sizes for seed in range(s.seeds)
    ]  # fmt: skip
    return best(trained.runs(settings, "students in data", max_stacked=s.seeds * len(s.sizes)))


@shared
def in_parameters(scale: str) -> Curves:
    """The best checkpoint of every student, at every dimension, width and seed."""
    s = SCALES[scale]
    settings = [
        {**student(s, d, s.plenty), "model_options": {"hidden": w}, "n_data": s.plenty, "seed": seed}
        for d in s.model_dimensions for w in s.widths for seed in range(s.seeds)
    ]  # fmt: skip
    return best(trained.runs(settings, "students in parameters"))


def best(curves: Curves) -> Curves:
    """Early stopping: of each run the checkpoint with the lowest test loss; with a column `dimension`."""
    found = curves.best("test_loss")
    dimension = found.frame["data_options"].map(lambda options: json.loads(options)["dimension"])
    return Curves(found.frame.assign(dimension=dimension), settings=["dimension"], source="train")


def by_dimension(curves: Curves, size: str) -> dict[int, tuple[np.ndarray, np.ndarray, Exponent]]:
    """For each dimension: sizes, losses (seeds, sizes), and the exponent."""
    found = {}
    for d in sorted(set(curves["dimension"])):
        sizes, losses = exponents.table(curves.select(dimension=int(d)), size, "test_loss")
        found[int(d)] = sizes, losses, exponents.of_losses(sizes, losses)
    return found


def against_size(scale: str, size: str) -> Reproduction:
    """Loss against D, or against the number of parameters, for every dimension; the exponent against 4/d."""
    runs, words, symbol = {
        "n_data": (in_data, "examples D", "α_D"), "n_params": (in_parameters, "parameters P", "α_P")
    }[size]  # fmt: skip
    curves = runs(scale)
    found = by_dimension(curves, size)
    figure, axes = style.panels(1, 2, size=(4.6, 3.8))
    left, right = axes[0]
    style.loglog(left, words, "test loss (mean of logs)", "students of deep teachers")
    rows = []
    for (d, (sizes, losses, alpha)), color in zip(found.items(), style.colors(list(found))):
        draw_law(left, sizes, losses, alpha, color, f"d = {d}: {alpha}")
        spread = losses.max(0) / losses.min(0)
        note = f"the paper: 4/d{_single_seed_note(sizes, losses, alpha)}; between seeds losses of one size "
        note += f"differ {spread.min():.0f} to {spread.max():.0f} times"
        rows.append(alpha.row(f"{symbol}, d = {d}", note, paper=CLAIM / d))
    left.set_ylim(bottom=left.get_ylim()[0] / 30)  # the legend lies below the curves
    style.legend(left, fontsize=7, ncols=2, loc="lower left")
    draw_dimensions(right, {d: alpha for d, (_, _, alpha) in found.items()}, symbol)
    right.set_title(f"4/{symbol} against the dimension")
    style.legend(right)
    return Reproduction(curves, figure, tuple(rows))


def _single_seed_note(sizes: np.ndarray, losses: np.ndarray, alpha: Exponent) -> str:
    """The exponents of single seeds, each with a teacher of its own, on the range of all."""
    if alpha.floor:
        return ""
    slopes = -np.polyfit(np.log(sizes[alpha.chosen]), np.log(losses[:, alpha.chosen]).T, 1)[0]
    return f"; a teacher alone {slopes.min():.2f} to {slopes.max():.2f}"


def draw_law(
    axis: Any, sizes: np.ndarray, losses: np.ndarray, alpha: Exponent | None, color: Any, label: str
) -> None:
    """Means of the logarithm with their errors, and the law on its range where there is one."""
    logs = np.log(losses)
    centre, error = np.exp(logs.mean(0)), logs.std(0, ddof=1) / np.sqrt(len(logs))
    draw_points(axis, sizes, centre, centre * error, alpha, color, label)


def draw_points(
    axis: Any, sizes: np.ndarray, centre: np.ndarray, error: np.ndarray, alpha: Exponent | None, color: Any,
    label: str,
) -> None:  # fmt: skip
    """Points with their errors, and the law on its range where there is one.

    Points outside the range are hollow. A law that no range follows is dashed.
    """
    counts = np.zeros(len(sizes), bool)
    if alpha is not None:
        counts = np.isin(sizes, alpha.sizes[alpha.chosen])
        dense = np.geomspace(alpha.sizes[alpha.first], alpha.sizes[alpha.last], 60)
        axis.plot(dense, alpha.law(dense), color=color, lw=1.2, ls="-" if alpha.follows else "--")
    for some, look in ((counts, {"color": color}), (~counts, style.hollow(color))):
        if some.any():
            style.points(axis, sizes[some], centre[some], error[some], label=label, **look)
            label = ""  # once


def draw_dimensions(axis: Any, found: dict[int, Exponent], symbol: str, largest: float = 0.0) -> None:
    """4/α against the dimension, with the line 4/α = d up to the largest dimension."""
    d = np.array(list(found), float)
    end = max(d.max() + 1, 1.1 * largest)
    inverse = np.array([CLAIM / alpha.value for alpha in found.values()])
    error = np.array([CLAIM * alpha.stderr / alpha.value**2 for alpha in found.values()])
    style.points(axis, d, inverse, error, color=style.PALETTE[0], label="students")
    axis.plot([0, end], [0, end], color=style.INK, ls="--", lw=1, label=f"4/{symbol} = d")
    axis.set(xlabel="dimension d", ylabel=f"4/{symbol}", xlim=(0, end))


# --- between two training points ----------------------------------------------------------------------

POINTS = 33
LINE_DIMENSION = 4
LINES = {  # by scale: D, and seeds
    "smoke": ((64, 512), 3), "laptop": ((64, 256, 1024, 4096), 3), "gpu": ((64, 256, 1024, 4096), 4),
    "paper": ((64, 256, 1024, 4096), 15),
}  # fmt: skip


def fig2_left(scale: str) -> Reproduction:
    """Teacher and students of growing D on the line between two examples that all of them have."""
    s, (sizes_of, seeds) = SCALES[scale], LINES[scale]
    along = np.linspace(0, 1, POINTS)
    frames, shown = [], None
    for seed in range(seeds):
        line, teacher = _line(s, max(sizes_of), seed, along)
        curves = _on_line(s, sizes_of, seed, line)
        shown = shown or (along, teacher, curves)
        for size, values in curves.items():
            frames.append(
                {"seed": seed, "n_data": size, "test_loss": float(np.mean((values - teacher) ** 2))}
            )
    table = pd.DataFrame(frames)
    sizes, losses = by_draw(table, "n_data")
    ratio = mean(np.log(losses[:, -1] / losses[:, 0]))
    assert shown is not None
    figure, axes = style.panels(size=(5.6, 4.0))
    axis = axes[0, 0]
    axis.set(xlabel="position between two training points", ylabel="output")
    axis.set_title(f"d = {LINE_DIMENSION}: students approach the teacher between the points")
    for (size, values), color in zip(shown[2].items(), style.colors(list(shown[2]))):
        axis.plot(along, values, color=color, lw=1.4, label=f"student, D = {size}")
    axis.plot(along, shown[1], color=style.INK, lw=2, ls="--", label="teacher")
    axis.plot(along[[0, -1]], shown[1][[0, -1]], "o", color=style.INK)
    style.legend(axis)
    rows = (
        ratio.row(
            f"ln of the squared distance from the teacher on the line, D = {sizes[-1]:g} less "
            f"D = {sizes[0]:g}",
            expected=0.0, relation="<", note="the paper: the larger D, the closer to the teacher everywhere",
        ),
    )  # fmt: skip
    return Reproduction(Curves(table.assign(model="mlp"), source="train"), figure, rows)


def _line(s: Scale, largest: int, seed: int, along: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The line between the first two examples of a seed's subsets, (points, d), and the teacher on it."""
    data = teacher_student(LINE_DIMENSION, largest, 1, width=s.teacher, teachers=s.seeds)
    first, second = data.train_x[data.order(seed)[:2]].astype(float)
    line = first + along[:, None] * (second - first)
    return line, random_teacher(LINE_DIMENSION, width=s.teacher, seed=seed)(line)[:, 0]


def _on_line(s: Scale, sizes: tuple[int, ...], seed: int, line: np.ndarray) -> dict[int, np.ndarray]:
    """The outputs of a seed's students on the line, by D, at the end of training."""
    import torch

    def reading(model: Any) -> dict[str, float]:
        where = next(model.parameters()).device
        with torch.no_grad():
            values = model(torch.as_tensor(line, dtype=torch.float32, device=where))[:, 0]
        return {f"line_{k:02d}": float(value) for k, value in enumerate(values.cpu())}

    base = student(s, LINE_DIMENSION, max(sizes), checkpoints_per_decade=1)
    settings = [{**base, "n_data": n, "seed": seed} for n in sizes]
    frame = trained.runs(settings, "students on a line", extra=reading).frame
    last = frame.sort_values("step").groupby("n_data").last()
    columns = [f"line_{k:02d}" for k in range(POINTS)]
    return {int(str(n)): row.to_numpy(float) for n, row in last[columns].iterrows()}


# --- Theorems 1 and 2 --------------------------------------------------------------------------------

# (D, hidden units), seeds, steps; the last students have about as many parameters as examples
BOUNDS = {
    "smoke": (((64, 32), (95, 7)), 3, 80),
    "laptop": (((64, 96), (256, 96), (1024, 96), (95, 7), (391, 17), (1551, 37)), 3, 3000),
}
PLANE = 2  # dimension


def theorems_network(scale: str) -> Reproduction:
    """Trained students against the bound of Theorems 1 and 2, with the constants measured.

    For a loss |f − F| (K_L = 1) the proof gives |f(x) − F(x)| ≤ |f(x̂) − F(x̂)| + (K_f + K_F) |x − x̂|, x̂ the
    training example next to x; the first term is zero where the student interpolates. K are the largest
    slopes of student and teacher on the test inputs and on the lines to their neighbours.
    """
    models, seeds, steps = BOUNDS[scale]
    s = replace(SCALES["smoke"], seeds=seeds)  # a teacher for each seed
    rows, frames = [], []
    for n, hidden in models:
        ratios = []
        for seed in range(seeds):
            found = _bounded(s, n, hidden, seed, steps)
            ratios.append(found["error"] / found["bound"])
            frames.append({"seed": seed, "n_data": n, "hidden": hidden, "test_loss": found["error"], **found})
        ratio = mean(ratios)
        count = (PLANE + 1) * hidden + (hidden + 1) * hidden + hidden + 1
        rows.append(
            ratio.row(
                f"mean |f − F| over its bound, D = {n}, {count} parameters", expected=1.0, relation="<",
                note="the paper: below 1; d = 2, constants measured",
            )
        )  # fmt: skip
    table = pd.DataFrame(frames)
    figure, axis = loglog_figure(
        "examples D", "mean |f − F|", "students and the bounds of the theorems", size=(4.8, 3.8)
    )
    widest = table["hidden"] == models[0][1]
    for part, words, form in ((widest, "P ≫ D", "o-"), (~widest, "P ≈ D", "s--")):
        by_size = table[part].groupby("n_data")
        for name, color in zip(("error", "bound"), style.PALETTE):
            centre, spread = by_size[name].mean(), by_size[name].std() / np.sqrt(seeds)
            style.points(axis, centre.index, centre, spread, color=color, label=f"{name}, {words}", fmt=form)
    style.legend(axis)
    return Reproduction(Curves(table.assign(model="mlp"), source="train"), figure, tuple(rows))


def _bounded(s: Scale, n: int, hidden: int, seed: int, steps: int) -> dict[str, float]:
    """Mean |f − F| on the test inputs, and the mean of its bound."""
    import torch
    from scipy.spatial import KDTree

    data = teacher_student(PLANE, n, s.test_size, width=s.teacher, teachers=s.seeds)
    seen, tests = data.train_x[data.order(seed)[:n]], data.test_x[data.test_rows(seed)]
    teacher = random_teacher(PLANE, width=s.teacher, seed=seed)
    distance, nearest = KDTree(seen).query(tests)
    along = np.linspace(0, 1, 9)[:, None, None]
    between = (tests + along * (seen[nearest] - tests)).reshape(-1, PLANE).astype(np.float32)

    def reading(model: Any) -> dict[str, float]:
        def outputs(x: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return np.asarray(model(torch.as_tensor(x))[:, 0], float)

        gap = np.abs(outputs(tests) - teacher(tests)[:, 0])
        left = np.abs(outputs(seen) - teacher(seen)[:, 0])[nearest]
        slope = _slope(outputs, between) + _slope(lambda x: teacher(x)[:, 0], between)
        return {"error": gap.mean(), "bound": float(np.mean(left + slope * distance)), "slope": slope}

    base = {**student(s, PLANE, n), "model_options": {"hidden": hidden}, "steps": steps}
    settings = [{**base, "n_data": n, "seed": seed, "checkpoints_per_decade": 1, "graphs": False}]
    last = trained.runs(settings, "bounds", extra=reading).frame.sort_values("step").iloc[-1]
    return {name: float(last[name]) for name in ("error", "bound", "slope")}


def _slope(function: Any, x: np.ndarray, step: float = 1e-3) -> float:
    """The largest slope of a function on these inputs, by differences along the axes."""
    parts = [
        (function(x + step * axis) - function(x - step * axis)) / (2 * step)
        for axis in np.eye(x.shape[1], dtype=np.float32)
    ]
    return float(np.sqrt(np.sum(np.square(parts), axis=0)).max())
