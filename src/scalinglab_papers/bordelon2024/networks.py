"""Figures 6 and 9: tangent kernels of real networks before, and along, training.

The paper's networks are wide residual networks on CIFAR-5M, animate against inanimate. At scales gpu and
paper: Wide ResNets of depth 10 without normalisation, whose first group has 16 to 128 channels, on CIFAR-10,
animate against inanimate, 50,000 images that come again under random crops and flips where CIFAR-5M has five
million. Stand-ins for the networks: small convolutional ones at scale smoke, on the bundled digits, even
against odd, and at scale laptop, on CIFAR-10 averaged to 16 × 16 pixels. Their exponents are those of another
task: the paper's numbers are noted beside ours, and claims about direction are judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.data import Dataset, load
from scalinglab.errors import BadInput
from scalinglab.figures import style
from scalinglab.results.distributions import slope
from scalinglab.spectrum import MeasuredSpectrum
from scalinglab.studies import Reproduction, Row, by_draw, draw_means, loglog_figure, shared, trained, verdict
from scalinglab_papers.bordelon2024 import widths

# 1 for each class of CIFAR-10 that is animate: bird, cat, deer, dog, frog, horse
ANIMATE = (0, 0, 1, 1, 1, 1, 1, 1, 0, 0)


@dataclass(frozen=True)
class Scale:
    """One scale.

    Attributes:
        dataset: images, in two classes.
        widths: factors on the network's channels.
        followed: the factor of the networks that are trained.
        inputs: test images on which kernels are measured before training.
        seeds: independent networks before training.
        trained: independent networks that are trained.
        steps: of training.
        along: test images on which kernels are measured along training.
        pool: side of the squares that are averaged to a pixel.
        network: the network, but for its width and seed.
        training: what else a training takes.
        rates: learning rates, of which `rate` chooses one.
    """

    dataset: str
    widths: tuple[float, ...]
    followed: float
    inputs: int
    seeds: int
    steps: int
    along: int
    pool: int = 1
    network: Mapping[str, Any] = field(default_factory=lambda: {"model": "myrtle"})
    training: Mapping[str, Any] = field(default_factory=dict)
    rates: tuple[float, ...] = (0.05, 0.015, 0.005)
    trained: int = 3


ONLINE = {"online": True, "augment": "crop_flip"}
WIDE_RESNET = {"model": "wide_resnet", "depth": 10, "batch_norm": False}
WIDE_RATES = (0.0007, 0.0002)  # without normalisation 64 channels diverge at 0.002
SCALES = {
    "smoke": Scale(
        dataset="digits", widths=(0.5, 1.0, 2.0), followed=1.0, inputs=160, seeds=3, steps=60, along=160,
        rates=(0.05,),
    ),
    "laptop": Scale(
        dataset="cifar10", widths=(0.5, 1.0, 2.0), followed=1.0, inputs=1000, seeds=3, steps=600, along=500,
        pool=2, training=ONLINE,
    ),
    "gpu": Scale(
        dataset="cifar10", widths=(1.0, 2.0, 4.0, 8.0), followed=4.0, inputs=2000, seeds=8, steps=4000,
        along=1000, network=WIDE_RESNET, trained=5, training=ONLINE | {"batch_size": 128},
        rates=WIDE_RATES,
    ),
    "paper": Scale(
        dataset="cifar10", widths=(1.0, 2.0, 4.0, 8.0), followed=8.0, inputs=2000, seeds=12, steps=8000,
        along=1000, network=WIDE_RESNET, trained=5, training=ONLINE | {"batch_size": 128},
        rates=WIDE_RATES,
    ),
}  # fmt: skip


def grouping(dataset: Dataset) -> np.ndarray:
    """The class 0 or 1 of each class of the images."""
    return np.arange(10) % 2 if dataset.name == "digits" else np.array(ANIMATE)


@shared
def examples(scale: str) -> tuple[np.ndarray, np.ndarray]:
    """Held-out images as a network sees them, and their targets ±1 less the mean."""
    s = SCALES[scale]
    data = load(s.dataset)
    data = data.pool(s.pool).normalize() if s.pool > 1 else data
    y = 2.0 * grouping(data)[data.test_y[: s.inputs]] - 1
    return data.inputs("test")[: s.inputs], y - y.mean()


def network_setting(scale: str, width: float, seed: int, learning_rate: float) -> dict[str, Any]:
    """A run: squared loss on two classes, momentum, no normalisation layers."""
    s = SCALES[scale]
    data = load(s.dataset)
    return {
        **s.network, "dataset": s.dataset, "superclass": grouping(data).tolist(), "width": width,
        "loss": "mse", "optimizer": "sgd", "momentum": 0.9, "learning_rate": learning_rate,
        "batch_size": 64, "steps": s.steps, "checkpoints_per_decade": 3, "measure": [], "seed": seed,
        "test_size": s.inputs, "evaluate_at_most": 500, "pool": s.pool, **s.training,
        **({"graphs": True, "precision": "tf32"} if trained.on_gpu() else {}),
    }  # fmt: skip


@shared
def initial_spectra(scale: str) -> dict[tuple[float, int], MeasuredSpectrum]:
    """Spectra of kernels before training, by width and seed."""
    s, (x, y) = SCALES[scale], examples(scale)
    network = {"name" if key == "model" else key: value for key, value in s.network.items()}
    return {
        (width, seed): widths.kernel_spectrum(x, y, width=width, seed=seed, **network)
        for width in s.widths for seed in range(s.seeds)
    }  # fmt: skip


def _table(spectra: dict[tuple[float, int], MeasuredSpectrum], s: Scale) -> Curves:
    frames = []
    for (width, seed), spectrum in spectra.items():
        k = np.unique(np.geomspace(1, spectrum.n_modes, 40).astype(int))
        frames.append(
            pd.DataFrame(
                {"dataset": s.dataset, "model": s.network["model"], "width": width, "seed": seed, "mode": k,
                 "eigenvalue": spectrum.eigenvalues[k - 1],
                 "unexplained": 1 - np.cumsum(spectrum.target_power)[k - 1] / spectrum.mean_square}
            )
        )  # fmt: skip
    return Curves(pd.concat(frames, ignore_index=True), settings=["width"], source="train")


def spectra(scale: str, of: str) -> Reproduction:
    """Eigenvalues of kernels before training, or the part of the task beyond mode k, at several widths."""
    s, measured = SCALES[scale], initial_spectra(scale)
    curves = _table(measured, s)
    figure, axes = style.panels(size=(5.2, 4.0))
    label = "eigenvalue λ_k" if of == "eigenvalues" else "unexplained task 1 − C(k)"
    axis = style.loglog(axes[0, 0], "mode k", label, f"kernel before training, {s.dataset}")
    rows = []
    column = "eigenvalue" if of == "eigenvalues" else "unexplained"
    shift, paper = (0.0, 2.0) if of == "eigenvalues" else (1.0, 0.15)
    name = "b of λ_k ~ k^-b" if of == "eigenvalues" else "exponent of 1 − C(k)"
    values = {}
    for width, color in zip(s.widths, style.colors(s.widths)):
        found = [measured[width, seed].tail_exponent(of).value - shift for seed in range(s.seeds)]
        mean = values[width] = verdict.mean(found)
        part = curves.frame[(curves.frame["width"] == width) & (curves.frame[column] > 1e-9)]
        shown = part.groupby("mode")[column].mean()
        axis.plot(shown.index, shown, color=color, label=f"width {width:g}: {mean.value:.2f}")
        note = f"stand-in: {s.dataset}; the paper, wide ResNets on CIFAR-5M: {paper:g}"
        rows.append(mean.row(f"{name}, width {width:g}", note=note))
    style.legend(axis)
    first, last = (values[s.widths[place]] for place in (0, -1))
    rows.append(
        verdict.difference(last, first).row(
            f"{name}: widest less narrowest network", expected=0.0, resolution=0.1 * max(last.value, 0.1),
            note="the paper: one power law for all widths",
        )
    )  # fmt: skip
    return Reproduction(curves, figure, tuple(rows))


# --- Figure 9: along training ------------------------------------------------------------------------------


@shared
def rate(scale: str) -> float:
    """The learning rate of figure 9; of several, that with the lowest training loss on two networks apart."""
    s = SCALES[scale]
    apart = (widths.APART, widths.APART + 1)
    return widths.best_rate(
        s.rates, lambda eta: [network_setting(scale, s.followed, seed, eta) for seed in apart], s.steps
    )


@shared
def after_kernels(scale: str) -> Curves:
    """Runs of one width with the kernel read at every checkpoint on held-out images."""
    from scalinglab import measure

    s = SCALES[scale]
    x, y = examples(scale)
    parts = []
    for seed in range(s.trained):
        reading = measure.KernelReading(x[: s.along], y[: s.along])  # type: ignore[arg-type]
        parts.append(
            trained.runs([network_setting(scale, s.followed, seed, rate(scale))], "fig9", extra=reading)
        )
    return completed_runs(Curves.concat(parts), s.steps)


def completed_runs(curves: Curves, steps: int) -> Curves:
    """The runs that came to the end; those that diverged have no kernel there."""
    ended = curves.frame.loc[curves.frame["step"] == steps]
    runs = ended.loc[np.isfinite(ended["test_loss"].astype(float)), "run"]
    if len(runs) < 2:
        raise BadInput(f"{len(runs)} of {curves.frame['run'].nunique()} runs did not diverge: lower the rate")
    return Curves(curves.frame[curves.frame["run"].isin(runs)])


def _ends(curves: Curves, column: str) -> tuple[np.ndarray, np.ndarray]:
    """First and last value of a column, one a seed."""
    frame = curves.frame.sort_values("step")
    grouped = frame.groupby("seed")[column]
    return grouped.first().to_numpy(float), grouped.last().to_numpy(float)


def _along(scale: str, label: str, columns: Mapping[str, str], *rows: Row) -> Reproduction:
    """Columns, each with its name in the legend, along training: mean over seeds and its error."""
    s, curves = SCALES[scale], after_kernels(scale)
    figure, axis = loglog_figure("step", label, f"kernel along training, {s.dataset}", size=(5.2, 4.0))
    for (column, name), color in zip(columns.items(), style.PALETTE):
        draw_means(axis, *by_draw(curves.frame, "step", column), fmt="o-", color=color, label=name)
    if len(columns) > 1:
        style.legend(axis)
    return Reproduction(curves, figure, (*_rate_rows(s, curves, scale), *rows))


def _change(scale: str, column: str, relation: str, claim: str, note: str) -> Row:
    """A row on a column at the end less that at the start."""
    s, (first, last) = SCALES[scale], _ends(after_kernels(scale), column)
    change = verdict.mean(last - first)
    return change.row(
        f"{claim}: end less start", expected=0.0, relation=relation,
        note=f"stand-in: {s.dataset}; {first.mean():.3g} to {last.mean():.3g}; {note}",
    )  # fmt: skip


def _rate_rows(s: Scale, curves: Curves, scale: str) -> list[Row]:
    """The learning rate, and the runs that diverged at it."""
    rows = widths.rate_rows("mse", s.rates, rate(scale))
    if lost := s.trained - curves.frame["seed"].nunique():
        rows.append(Row("runs that diverged and are left out", lost, n=s.trained))
    return rows


def fig9a(scale: str) -> Reproduction:
    """The exponent of the kernel's eigenvalues along training."""
    column, note = "kernel_spectral_exponent", "the paper: 2.0 to 1.4 on CIFAR-5M"
    row = _change(scale, column, "<", "spectrum flattens, b", note)
    return _along(scale, "b of λ_k ~ k^-b", {column: "b"}, row)


def fig9b(scale: str) -> Reproduction:
    """The part of the task that the first and the first ten modes leave unexplained, along training."""
    note = "the paper: falls throughout training"
    return _along(
        scale, "unexplained task 1 − C(k)", {"unexplained_1": "k = 1", "unexplained_10": "k = 10"},
        _change(scale, "unexplained_1", "<", "the top mode explains more, 1 − C(1)", note),
        _change(scale, "unexplained_10", "<", "the ten top modes explain more, 1 − C(10)", note),
    )  # fmt: skip


def fig9c(scale: str) -> Reproduction:
    """The test loss along training beside the exponent (a − 1)/b of the kernel after training."""
    s, curves = SCALES[scale], after_kernels(scale)
    frame = curves.frame.sort_values("step")
    observed, predicted = [], []
    for _, part in frame.groupby("seed"):
        late = part[part["step"] >= s.steps / 10]
        observed.append(-slope(np.log(late["step"]), np.log(late["test_loss"])).value)
        last = part.iloc[-1]
        predicted.append((last["kernel_task_exponent"] - 1) / last["kernel_spectral_exponent"])
    figure, axis = loglog_figure("step", "test loss", f"{s.dataset}, mean squared error", size=(5.2, 4.0))
    steps, values = by_draw(frame, "step")
    draw_means(axis, steps, values, fmt="o-")
    late_steps = steps[steps >= s.steps / 10]
    start = float(values.mean(0)[steps >= s.steps / 10][0])
    for slopes, line, name in ((observed, "--", "observed"), (predicted, ":", "kernel after training")):
        exponent = float(np.mean(slopes))
        axis.plot(
            late_steps, 1.1 * start * (late_steps / late_steps[0]) ** -exponent, line, color=style.INK,
            label=f"{name}: t^-{exponent:.2f}",
        )  # fmt: skip
    style.legend(axis)
    rows = _rate_rows(s, curves, scale)
    for name, slopes in (("observed exponent of the test loss in time", observed),
                         ("(a − 1)/b of the kernel after training", predicted)):  # fmt: skip
        mean = verdict.mean(slopes)
        rows.append(mean.row(name, note=f"stand-in: {s.dataset}; last decade"))
    change = verdict.mean(np.subtract(observed, predicted))
    rows.append(
        change.row(
            "observed exponent less that of the kernel after training", expected=0.0, relation=">",
            note=f"stand-in: {s.dataset}; the paper: the loss falls much faster than the after-kernel says",
        )
    )  # fmt: skip
    return Reproduction(curves, figure, tuple(rows))


def fig9d(scale: str) -> Reproduction:
    """Alignment of kernel and target along training."""
    column, note = "kernel_alignment", "the paper: improves throughout training"
    row = _change(scale, column, ">", "alignment improves, A", note)
    return _along(scale, "alignment A, eq. 134", {column: "A"}, row)


def fig9e(scale: str) -> Reproduction:
    """The norm of the kernel along training."""
    s, column = SCALES[scale], "kernel_norm"
    first, last = _ends(after_kernels(scale), column)
    row = verdict.mean(last / first).row(
        "norm of the kernel: end over start", expected=1.0, relation="in", resolution=0.5,
        note=f"stand-in: {s.dataset}; the paper: relatively constant, which is read as within a half",
    )  # fmt: skip
    return _along(scale, "norm of the kernel over examples", {column: "norm"}, row)
