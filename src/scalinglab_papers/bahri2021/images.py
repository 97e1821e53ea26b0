"""Resolution-limited networks on images: Figs. 1 top-right and bottom-left, S1 and S3.

Loss against examples D, or against parameters P, of convolutional networks. At scale paper the networks are
the paper's: Wide ResNet-28-10, 78,125 steps with flips, crops and a cosine schedule. At the other scales they
are the CNN of table 1 (narrower on a laptop, a perceptron at scale smoke), trained with Adam, as every row
says, and at scale gpu also small Wide ResNets, trained as the paper's but for fewer steps. The exponent is
that of the best checkpoint's test loss unless it says otherwise, on the range of sizes that `exponents`
chooses among those at which the network is better than guessing.

The paper prints no exponent of these figures. What it says is judged: 0 < α < 1 (section 1); loss and error,
final and best scale alike (S1).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.figures import style
from scalinglab.studies import trained
from scalinglab.studies.registry import Reproduction
from scalinglab.studies.shared import shared
from scalinglab.studies.verdict import Row
from scalinglab_papers.bahri2021 import exponents
from scalinglab_papers.bahri2021.exponents import Exponent
from scalinglab_papers.bahri2021.students import draw_law

Setting = dict[str, Any]
METRICS = ("best loss", "final loss", "best error", "final error")
COMPARED = (("final loss", "best loss"), ("final error", "best error"), ("best error", "best loss"))  # S1


@dataclass(frozen=True)
class Scale:
    """One scale.

    Attributes:
        datasets: of Figs. 1 and S3, the first of them for the others.
        superclassed, noisy: sets of Fig. 5.
        base, sizes: what all runs share but the data, among it the network, and D.
        squared: what MSE changes in `base`; empty: Fig. 1 has cross-entropy alone.
        widths, width_data: factors on the network, and their D.
        residual_widths, residual_steps: factors on Wide ResNets of depth 10 that are shown beside the network
            of `base`, and their steps.
        seeds: each with its own network, order and examples.
        groupings, noises: superclasses of Fig. 5 left by their number, standard deviations of Fig. 5 right.
        grouped_seeds, aspect_seeds: of the Wide ResNets of Fig. 5 left and of S5; 0: `seeds`.
        aspects: depth and width factor of the Wide ResNets of S5.
        aspect_sizes, aspect_base: D there, and the training of Wide ResNets.
        residual_datasets, residual: of Wide ResNets beside the network of `base`, and their depth and width
            factor against D.
    """

    datasets: tuple[str, ...]
    superclassed: str
    noisy: str
    base: Setting
    sizes: tuple[int, ...]
    widths: tuple[float, ...]
    width_data: int
    squared: Setting
    seeds: int
    groupings: tuple[int, ...]
    noises: tuple[float, ...]
    aspects: tuple[tuple[int, float], ...]
    aspect_sizes: tuple[int, ...]
    aspect_base: Setting = field(default_factory=dict)
    residual_datasets: tuple[str, ...] = ()
    residual_widths: tuple[float, ...] = ()
    residual_steps: int = 0
    grouped_seeds: int = 0
    aspect_seeds: int = 0
    residual: tuple[int, float] = (10, 4.0)


SHARED: Setting = {
    "optimizer": "adam", "learning_rate": 1e-3, "batch_size": 128, "measure": (), "evaluate_at_most": 1000,
}  # fmt: skip
# the CNNs of table 1; trained in Keras, whose convolutions are not padded
CNN: Setting = {"channels": [50, 100, 100], "pool_after": [1, 2], "dense": [64], "padding": 0}
CNN_OF = {
    "cifar100": {**CNN, "channels": [50, 100, 200], "dense": [256]},
    "svhn": {**CNN, "channels": [64, 64], "dense": [128]},
}
TABLE_1: Setting = {**SHARED, "model": "cnn", "model_options": CNN}
FAST: Setting = {"precision": "bf16", "graphs": True}
RESIDUAL: Setting = {
    "model": "wide_resnet", "optimizer": "nesterov", "learning_rate": 0.1, "weight_decay": 5e-4,
    "schedule": "cosine", "augment": "crop_flip", "batch_size": 128, "measure": (), "evaluate_at_most": 1000,
    **FAST,
}  # fmt: skip
# MSE is a mean over outputs: too small for the same rate, where Adam does not depend on the scale of a loss
RESIDUAL_MSE: Setting = {"loss": "mse", "optimizer": "adam", "learning_rate": 1e-3, "weight_decay": 0.0}
WIDE: Setting = {**RESIDUAL, "depth": 28, "width": 10.0, "steps": 78_125, "compile": True}
DATASETS = ("cifar10", "cifar100", "fashion-mnist", "mnist", "svhn")  # those that are on this machine
PAPER_SIZES = tuple(round(50_000 / 2**k) for k in range(7, -1, -1))  # 391 … 50,000
SCALES = {
    "smoke": Scale(
        datasets=("digits",), superclassed="digits", noisy="digits",
        base={**SHARED, "model": "mlp", "model_options": {"hidden": 32}, "learning_rate": 3e-3,
              "batch_size": 32, "steps": 100, "checkpoints_per_decade": 3},
        sizes=(128, 256, 512, 1024), widths=(0.125, 0.25), width_data=1024, squared={}, seeds=2,
        groupings=(10, 2), noises=(0.0, 1.0), aspects=((10, 0.125), (10, 0.25)), aspect_sizes=(96, 384),
        aspect_base={"steps": 10, "batch_size": 32, "checkpoints_per_decade": 1},
    ),
    "laptop": Scale(
        datasets=("mnist",), superclassed="mnist", noisy="mnist",
        base={**TABLE_1, "width": 0.25, "epochs": 10, "test_size": 2000}, sizes=(128, 256, 512, 1024, 2048),
        widths=(0.0625, 0.125, 0.25, 0.5), width_data=4096, squared={"loss": "mse"}, seeds=3,
        groupings=(10, 5, 2), noises=(0.0, 1.0, 3.0), aspects=((10, 0.25), (10, 0.5), (16, 0.25)),
        aspect_sizes=(128, 256, 512, 1024), aspect_base={**SHARED, "epochs": 5, "pool": 2, "test_size": 1000},
    ),
    "gpu": Scale(
        datasets=DATASETS, superclassed="cifar100", noisy="cifar10",
        base={**TABLE_1, **FAST, "compile": True, "epochs": 20, "checkpoints_per_decade": 6},
        sizes=PAPER_SIZES, widths=(0.0625, 0.09, 0.125, 0.18, 0.25), width_data=50_000,
        squared={"loss": "mse", "epochs": None, "steps": 7813},  # at few examples MSE falls after 20 epochs
        seeds=3, groupings=(100, 20, 5),
        noises=(0.0, 1.0, 2.0), aspects=((10, 1.0), (10, 4.0), (10, 8.0), (10, 12.0), (28, 1.0)),
        aspect_sizes=PAPER_SIZES[:6], aspect_base={**RESIDUAL, "steps": 2000, "checkpoints_per_decade": 8},
        residual_datasets=DATASETS, residual_widths=(0.25, 0.5, 1.0, 2.0), residual_steps=1500,
        grouped_seeds=6, aspect_seeds=5,
    ),
    "paper": Scale(
        datasets=DATASETS, superclassed="cifar100", noisy="cifar10", base=WIDE, sizes=PAPER_SIZES,
        widths=(0.5, 1.0, 2.0, 4.0, 8.0, 12.0), width_data=50_000, squared={}, seeds=3,
        groupings=(100, 20, 5, 2), noises=(0.0, 0.1, 0.2, 0.5, 1.0, 2.0),
        aspects=tuple((d, float(k)) for d in (10, 16, 28, 40) for k in (1, 2, 4, 8, 12)),
        aspect_sizes=PAPER_SIZES, aspect_base=WIDE,
    ),
}  # fmt: skip


# --- scans -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scan:
    """One network and task at all sizes and seeds.

    Attributes:
        sizes: (n,).
        values: by metric, (seeds, n).
        since: the first place from which on the mean best loss is below that of guessing.
    """

    name: str
    sizes: np.ndarray
    values: dict[str, np.ndarray]
    since: int = 0

    @property
    def residual(self) -> bool:
        """Whether it is one of a Wide ResNet that is shown beside the network of the scale."""
        return "WRN" in self.name

    @property
    def learns(self) -> bool:
        """Whether it is better than guessing at as many sizes as a range of an exponent has."""
        return len(self.sizes) - self.since >= min(exponents.FEWEST, len(self.sizes))

    @property
    def learnt(self) -> str:
        """At how many sizes it is better than guessing, in words."""
        return f"better than guessing at {len(self.sizes) - self.since} of {len(self.sizes)} sizes"

    def exponent(self, metric: str = METRICS[0]) -> Exponent:
        """The exponent of one metric; of all sizes, and without meaning, where the network does not learn."""
        return exponents.of_losses(self.sizes, self.values[metric], self.since if self.learns else 0)


def scans(
    named: dict[str, Setting], variants: Sequence[Setting], seeds: int, size: str, experiment: str
) -> tuple[list[Scan], Curves]:
    """Train every named setting at every variant of the size and every seed.

    Returns:
        A scan for each name, of those that `trained.run_storage` restricts to by name and time, and the last
        row of every run.
    """
    (named,) = selected(named)
    settings = {
        name: [{**base, **variant, "seed": seed} for variant in variants for seed in range(seeds)]
        for name, base in named.items()
    }
    # one part after another, so that a training that is cut short leaves whole parts
    start, minutes = time.monotonic(), trained.run_storage().minutes
    frames: list[pd.DataFrame] = []
    for name, some in settings.items():
        if minutes is None or not frames or time.monotonic() - start < 60 * minutes:
            frames.append(trained.runs(some, experiment).frame.assign(task=name))
    frame = pd.concat(frames, ignore_index=True).sort_values("step")
    named = {name: one for name, one in named.items() if name in set(frame["task"])}
    found = []
    for name, base in named.items():
        runs = frame[frame["task"] == name].groupby(["seed", size])
        tables = {
            "best loss": runs["test_loss"].min(), "final loss": runs["test_loss"].last(),
            "best error": runs["test_error"].min(), "final error": runs["test_error"].last(),
        }  # fmt: skip
        wide = {metric: values.unstack(size) for metric, values in tables.items()}
        sizes = wide["best loss"].columns.to_numpy(float)
        values = {metric: table.to_numpy(float) for metric, table in wide.items()}
        guesses = np.flatnonzero(values["best loss"].mean(0) >= exponents.guessing(base)).tolist()
        found.append(Scan(name, sizes, values, max(guesses, default=-1) + 1))
    best = frame.groupby("run", as_index=False)[["test_loss", "test_error"]].min()
    last = frame.groupby("run", as_index=False).last().merge(best, on="run", suffixes=("", "_best"))
    kept = ["run", "task", "dataset", "seed", "n_data", "n_params", "width", "step", "train_loss"]
    measured = ["test_loss", "test_error", "test_loss_best", "test_error_best"]
    return found, Curves(
        last[[*(c for c in kept if c in last), *measured]], settings=["task"], source="train"
    )


def selected(*studies: dict[str, Setting]) -> list[dict[str, Setting]]:
    """Of each study those that `trained.run_storage` restricts to, by name or data set."""
    only = trained.run_storage().only
    found = [
        {name: one for name, one in named.items() if not only or {name, one["dataset"]} & set(only)}
        for named in studies
    ]
    if not any(found):
        every = "; ".join(name for named in studies for name in named)
        raise BadInput(f"--only {'; '.join(only)} names no part of this figure; it has: {every}")
    return found


def in_data(sizes: Sequence[int]) -> list[Setting]:
    """The sizes as variants."""
    return [{"n_data": n} for n in sizes]


def usable(names: Sequence[str]) -> list[str]:
    """The sets that are on this machine, or whose runs are in the store."""
    here = [name for name in names if trained.usable(name)]
    if not here:
        raise BadInput(f"none of {', '.join(names)} is on this machine; run: scalinglab data get {names[0]}")
    return here


def network_name(base: Setting) -> str:
    """The network in a few words."""
    depth = f"-{base['depth']}" if "depth" in base else ""
    return f"{base['model'].replace('_', ' ')}{depth} × {base.get('width', 1.0):g}"


def draw(
    scans_: Sequence[Scan], title: str, network: str, x: str, *, shared_range: bool = False
) -> tuple[Any, list[Exponent]]:
    """A figure with a panel for the network and one for Wide ResNets, and the exponents of the best loss.

    Args:
        shared_range: one for all curves of a panel, where their exponents are compared.
    """
    parts = {
        network: [s for s in scans_ if not s.residual],
        "Wide ResNets": [s for s in scans_ if s.residual],
    }
    shown = {name: part for name, part in parts.items() if part}
    lines = max(map(len, shown.values()))
    figure, axes = style.panels(1, len(shown), size=(5.2, 3.4 + 0.17 * lines))
    found: dict[str, Exponent] = {}
    for axis, (name, part) in zip(axes[0], shown.items()):
        found |= draw_scans(axis, part, f"{title}: {name}", x, shared_range=shared_range)
    return figure, [found[scan.name] for scan in scans_]


def draw_scans(
    axis: Any, part: Sequence[Scan], title: str, x: str = "examples D", *, shared_range: bool = True
) -> dict[str, Exponent]:
    """Draw the best losses of scans with their laws; their exponents by name."""
    metric = METRICS[0]
    found = on_one_range(part, metric) if shared_range else {s.name: s.exponent(metric) for s in part}
    style.loglog(axis, x, metric.replace(" ", " test "), title)
    for scan, color in zip(part, style.PALETTE):
        alpha = found[scan.name] if scan.learns else None
        label = f"{scan.name}: {alpha.with_range if alpha else scan.learnt}"
        draw_law(axis, scan.sizes, scan.values[metric], alpha, color, label)
    style.legend_below(axis, fontsize=7, title=LEGEND, title_fontsize=7, alignment="left")
    return found


LEGEND = "exponent of the filled points (dashed: they do not follow a power law)"


def on_one_range(some: Sequence[Scan], metric: str) -> dict[str, Exponent]:
    """The exponents of scans by name, on the longest range that all of them follow."""
    found = {scan.name: scan.exponent(metric) for scan in some if not scan.learns}
    if learned := [scan for scan in some if scan.learns]:
        curves = [scan.values[metric] for scan in learned]
        alphas = exponents.of_several(learned[0].sizes, *curves, since=max(scan.since for scan in learned))
        found |= {scan.name: alpha for scan, alpha in zip(learned, alphas)}
    return found


def between_0_and_1(scan: Scan, alpha: Exponent, symbol: str, network: str, where: str = "") -> Row:
    """An exponent against the paper's statement 0 < α < 1, both ends of it."""
    name = "Wide ResNet" if scan.residual else network
    row = alpha.row(
        f"{scan.name}: {symbol}", expected=0.5, relation="in", resolution=0.5,
        note=f"{name}{where}; the paper: typically 0 < α < 1",
    )  # fmt: skip
    return row if scan.learns else unlearnt(row, scan)


def exponent_row(scan: Scan, alpha: Exponent, quantity: str, note: str = "") -> Row:
    """An exponent for which the paper prints no number."""
    row = alpha.row(quantity, note)
    return row if scan.learns else unlearnt(row, scan)


def unlearnt(row: Row, *some: Scan) -> Row:
    """The row without its numbers, and which of the scans do not learn."""
    note = ", ".join(f"{scan.name}: {scan.learnt}" for scan in some if not scan.learns)
    return replace(row, measured=None, stderr=None, note=note)


def difference(
    quantity: str,
    a: Scan,
    b: Scan,
    note: str,
    relation: str | None = "=",
    metrics: Sequence[str] = METRICS[:1],
) -> Row:
    """α of a less α of b on the sizes that both follow, against 0.

    An equality agrees where the error excludes a difference of a tenth of b's, and disagrees, however small
    the difference, where it excludes 0 (`studies.verdict`).

    Args:
        relation: None: without a verdict.
        metrics: of a and of b; the last of them for b.
    """
    learn = a.learns and b.learns
    since = max(a.since, b.since) if learn else 0
    own, other = exponents.of_several(a.sizes, a.values[metrics[0]], b.values[metrics[-1]], since=since)
    found = exponents.less(own, other)
    row = Row(
        quantity, found.value, found.stderr, own.n, expected=None if relation is None else 0.0,
        relation=relation or "=", resolution=0.1 * abs(other.value) if relation == "=" else None,
        note=f"{note}; {own} less {other} on {own.note}",
    )  # fmt: skip
    return row if learn else unlearnt(row, a, b)


def differences(quantity: str, a: Scan, b: Scan, note: str, relation: str | None = "=") -> list[Row]:
    """The differences of the best loss and error, and of Wide ResNets' final loss, as published."""
    metrics = {"": METRICS[0], ", of the error": METRICS[2]}
    metrics |= {", of the final loss": METRICS[1]} if a.residual else {}  # others have no schedule
    return [difference(quantity + words, a, b, note, relation, [metric]) for words, metric in metrics.items()]


# --- figures -----------------------------------------------------------------------------------------


@shared
def data_scans(scale: str, squared: bool = True) -> tuple[list[Scan], Curves]:
    """Every data set and loss against D; cross-entropy alone where `squared` is False."""
    s = SCALES[scale]
    return scans(by_loss(s, s.base, squared), in_data(s.sizes), s.seeds, "n_data", "images in data")


def by_loss(s: Scale, base: Setting, squared: bool = True) -> dict[str, Setting]:
    """The network of the scale on every data set and with every loss, by name."""
    losses = {"cross-entropy": {"loss": "cross_entropy"}}
    losses |= {"mse": s.squared} if squared and s.squared else {}
    here = usable(s.datasets)
    return {
        f"{name}, {loss}": {**on(name, base), **change} for loss, change in losses.items() for name in here
    }


def on(dataset: str, base: Setting) -> Setting:
    """A network on a data set: on some of them the CNN of table 1 is another one."""
    own = base.get("model_options") == CNN and dataset in CNN_OF
    return {**base, "dataset": dataset} | ({"model_options": CNN_OF[dataset]} if own else {})


def with_mse(s: Scale, residual: dict[str, Setting]) -> dict[str, Setting]:
    """Wide ResNets by name, and after them the same with MSE if the scale has it."""
    return residual | {f"{name}, mse": {**one, **RESIDUAL_MSE} for name, one in residual.items() if s.squared}


def residual_settings(
    scale: str, aspects: Sequence[tuple[int, float]], datasets: Sequence[str] = ()
) -> dict[str, Setting]:
    """Wide ResNets d-k by name, on the set of S5 unless others are given."""
    s = SCALES[scale]
    common = {**s.aspect_base, "model": "wide_resnet", "measure": ()}
    return {
        f"{dataset}, WRN-{d}-{k:g}": {**common, "dataset": dataset, "depth": d, "width": k}
        for dataset in usable(datasets or [s.noisy]) for d, k in aspects
    }  # fmt: skip


def residual_scans(scale: str, named: dict[str, Setting], seeds: int = 0) -> tuple[list[Scan], Curves]:
    """Wide ResNets against D, of as many seeds as the scale has by default."""
    s = SCALES[scale]
    return scans(named, in_data(s.aspect_sizes), seeds or s.seeds, "n_data", "aspect ratio")


def every_data_scan(scale: str, squared: bool = True) -> tuple[list[Scan], Curves]:
    """The network of the scale against D on every set, and a Wide ResNet on those that it has."""
    s = SCALES[scale]
    residual: dict[str, Setting] = {}
    if s.residual_datasets:
        residual = residual_settings(scale, [s.residual], s.residual_datasets)
        residual = with_mse(s, residual) if squared else residual
    plain, wide = selected(by_loss(s, s.base, squared), residual)
    parts = [data_scans(scale, squared)] if plain else []
    return joined(*parts, *([residual_scans(scale, wide)] if wide else []))


def joined(*parts: tuple[list[Scan], Curves]) -> tuple[list[Scan], Curves]:
    """Scans of several studies as one."""
    frames = pd.concat([curves.frame for _, curves in parts], ignore_index=True)
    return [scan for found, _ in parts for scan in found], Curves(frames, settings=["task"], source="train")


def fig1_top_right(scale: str) -> Reproduction:
    """Loss against D."""
    found, curves = every_data_scan(scale)
    network = network_name(SCALES[scale].base)
    figure, alphas = draw(found, "resolution-limited in data", network, "examples D")
    rows = [between_0_and_1(*one, "α_D", network) for one in zip(found, alphas)]
    residual = [scan for scan in found if scan.residual]  # as the paper reports them
    rows += [
        between_0_and_1(one, one.exponent("final loss"), "α_D of the final loss", "") for one in residual
    ]
    return Reproduction(curves, figure, tuple(rows))


def fig1_bottom_left(scale: str) -> Reproduction:
    """Loss against the number of parameters of networks of growing width."""
    s = SCALES[scale]
    # every width would be compiled by itself, which takes longer than its runs at scale gpu
    base = {**s.base, "n_data": s.width_data} | ({"compile": False} if s.residual_widths else {})
    base |= {"depth": 10} if s.base["model"] == "wide_resnet" else {}
    named = by_loss(s, base, squared=False)  # with MSE units of narrow CNNs die
    residual: dict[str, Setting] = {}
    if s.residual_widths:
        common = {**s.aspect_base, "depth": 10, "n_data": s.width_data, "steps": s.residual_steps}
        residual = {f"{name}, WRN-10-k": {**common, "dataset": name} for name in usable(s.residual_datasets)}
    studies = zip(selected(named, with_mse(s, residual)), (s.widths, s.residual_widths))
    found, curves = joined(
        *(
            scans(some, [{"width": k} for k in widths], s.seeds, "n_params", "images in parameters")
            for some, widths in studies if some
        )
    )  # fmt: skip
    network = s.base["model"].replace("_", " ")
    figure, alphas = draw(found, "resolution-limited in parameters", network, "parameters P")
    rows = [between_0_and_1(*one, "α_P", network, f" at D = {s.width_data}") for one in zip(found, alphas)]
    return Reproduction(curves, figure, tuple(rows))


def fig_s1(scale: str) -> Reproduction:
    """Loss and error, final and best, of the runs of Fig. 1 top-right."""
    every, curves = every_data_scan(scale)
    found = [scan for scan in every if scan.learns]
    figure, axes = style.panels_for(len(found), 3, size=(4.4, 3.9))
    rows: list[Row] = []
    for axis, scan in zip(axes, found, strict=True):
        rows += draw_metrics(axis, scan, scan.name)[1]
    return Reproduction(curves, figure, tuple(rows))


def draw_metrics(axis: Any, scan: Scan, title: str) -> tuple[Exponent, list[Row]]:
    """Draw the metrics of a scan against D; the exponent of the best loss, and rows that compare metrics."""
    style.loglog(axis, "examples D", "test loss or error", title)
    colors = iter(style.PALETTE)
    for pair in COMPARED[:2]:  # on one range, as they are compared
        curves = [scan.values[metric] for metric in pair]
        for metric, values, alpha in zip(
            pair, curves, exponents.of_several(scan.sizes, *curves, since=scan.since)
        ):
            draw_law(axis, scan.sizes, values, alpha, next(colors), f"{metric}: {alpha.with_range}")
    style.legend_below(axis, fontsize=7, title=LEGEND, title_fontsize=7, alignment="left")
    return scan.exponent(), [
        difference(
            f"{scan.name}: exponent of {metric} less that of {other}", scan, scan,
            "the paper: similar scaling", metrics=(metric, other),
        )
        for metric, other in COMPARED
    ]  # fmt: skip


def fig_s3(scale: str) -> Reproduction:
    """Cross-entropy of the CNN against D, one line a data set."""
    found, curves = data_scans(scale, squared=False)
    network = network_name(SCALES[scale].base)
    figure, alphas = draw(found, "cross-entropy", network, "examples D")
    rows = [exponent_row(scan, alpha, f"{scan.name}: α_D", network) for scan, alpha in zip(found, alphas)]
    return Reproduction(curves, figure, tuple(rows))
