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
from scalinglab.studies import Reproduction, Row, by_draw, shared, trained
from scalinglab_papers.bahri2021 import exponents
from scalinglab_papers.bahri2021.exponents import Exponent
from scalinglab_papers.bahri2021.students import draw_law

Setting = dict[str, Any]
METRICS = {  # by the column of the last row of a run
    "best loss": "test_loss_best", "final loss": "test_loss",
    "best error": "test_error_best", "final error": "test_error",
}  # fmt: skip
BEST = "best loss"
COMPARED = (("final loss", "best loss"), ("final error", "best error"), ("best error", "best loss"))  # S1


@dataclass(frozen=True)
class Networks:
    """Networks of one kind that are trained against D, at one scale.

    Attributes:
        base: what all runs share but for their data, size and seed.
        sizes: D.
        datasets: of Figs. 1, S1 and S3.
        seeds: each with its own network, order and examples.
        squared: what MSE changes in `base`; empty: Fig. 1 has cross-entropy alone.
    """

    base: Setting
    sizes: tuple[int, ...]
    datasets: tuple[str, ...] = ()
    seeds: int = 3
    squared: Setting = field(default_factory=dict)


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
NETWORKS = {
    "smoke": Networks(
        {**SHARED, "model": "mlp", "model_options": {"hidden": 32}, "learning_rate": 3e-3, "batch_size": 32,
         "steps": 100, "checkpoints_per_decade": 3},
        (128, 256, 512, 1024), ("digits",), seeds=2,
    ),
    "laptop": Networks(
        {**TABLE_1, "width": 0.25, "epochs": 10, "test_size": 2000}, (128, 256, 512, 1024, 2048), ("mnist",),
        squared={"loss": "mse"},
    ),
    "gpu": Networks(
        {**TABLE_1, **FAST, "compile": True, "epochs": 20, "checkpoints_per_decade": 6}, PAPER_SIZES,
        DATASETS,
        squared={"loss": "mse", "epochs": None, "steps": 7813},  # at few examples MSE falls after 20 epochs
    ),
    "paper": Networks(WIDE, PAPER_SIZES, DATASETS),
}  # fmt: skip
# Wide ResNets; their data sets are those on which they stand beside the network of the scale
RESIDUALS = {
    "smoke": Networks({"steps": 10, "batch_size": 32, "checkpoints_per_decade": 1}, (96, 384), seeds=2),
    "laptop": Networks({**SHARED, "epochs": 5, "pool": 2, "test_size": 1000}, (128, 256, 512, 1024)),
    "gpu": Networks({**RESIDUAL, "steps": 2000, "checkpoints_per_decade": 8}, PAPER_SIZES[:6], DATASETS),
    "paper": Networks(WIDE, PAPER_SIZES),
}
BESIDE = (10, 4.0)  # depth and width factor of those


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
        """Whether it beats guessing at enough sizes for an exponent."""
        return len(self.sizes) - self.since >= min(exponents.FEWEST, len(self.sizes))

    @property
    def learnt(self) -> str:
        """How many sizes beat guessing, in words."""
        return f"better than guessing at {len(self.sizes) - self.since} of {len(self.sizes)} sizes"

    def exponent(self, metric: str = BEST) -> Exponent:
        """The exponent of one metric. If the network does not learn it is of all sizes, and meaningless."""
        return exponents.of_losses(self.sizes, self.values[metric], self.since if self.learns else 0)


@dataclass(frozen=True)
class Part:
    """Networks by name, each trained at every value of the setting `axis` and with every seed."""

    named: dict[str, Setting]
    axis: str
    values: Sequence[float]
    seeds: int


def scans(experiment: str, *parts: Part) -> tuple[list[Scan], Curves]:
    """Train every network at all sizes and seeds.

    Returns:
        A scan for each name, of those that `trained.run_storage` restricts to by name or data set and by
        time, and the last row of every run.
    """
    storage, start = trained.run_storage(), time.monotonic()
    every = {name: (part, base) for part in parts for name, base in part.named.items()}
    only = set(storage.only)
    chosen = {name: one for name, one in every.items() if not only or {name, one[1]["dataset"]} & only}
    if not chosen:
        raise BadInput(
            f"--only {'; '.join(storage.only)} names no part of this figure; it has: {'; '.join(every)}"
        )
    found: list[Scan] = []
    frames: list[pd.DataFrame] = []
    for name, (part, base) in chosen.items():
        # one after another, so that a training that is cut short leaves whole scans
        if storage.minutes is None or not found or time.monotonic() - start < 60 * storage.minutes:
            settings = [
                {**base, part.axis: value, "seed": seed}
                for value in part.values
                for seed in range(part.seeds)
            ]
            frame = _ends(trained.runs(settings, experiment)).assign(task=name)
            found.append(_scan(name, frame, "n_data" if part.axis == "n_data" else "n_params", base))
            frames.append(frame)
    return found, Curves(pd.concat(frames, ignore_index=True), settings=["task"], source="train")


def _ends(curves: Curves) -> pd.DataFrame:
    """The last row of every run, with its lowest test loss and error."""
    runs = curves.frame.sort_values("step").groupby("run", as_index=False)
    last = runs.last().merge(runs[["test_loss", "test_error"]].min(), on="run", suffixes=("", "_best"))
    kept = ["run", "dataset", "seed", "n_data", "n_params", "width", "step", "train_loss"]
    return last[[*(column for column in kept if column in last), *METRICS.values()]]


def _scan(name: str, ends: pd.DataFrame, size: str, base: Setting) -> Scan:
    tables = {metric: by_draw(ends, size, column) for metric, column in METRICS.items()}
    values = {metric: table for metric, (_, table) in tables.items()}
    guesses = np.flatnonzero(values[BEST].mean(0) >= exponents.guessing(base)).tolist()
    return Scan(name, tables[BEST][0], values, max(guesses, default=-1) + 1)


def usable_datasets(names: Sequence[str]) -> list[str]:
    """The data sets that are on this machine, or whose runs are in the store."""
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
    found = on_one_range(part) if shared_range else {s.name: s.exponent() for s in part}
    style.loglog(axis, x, BEST.replace(" ", " test "), title)
    for scan, color in zip(part, style.PALETTE):
        alpha = found[scan.name] if scan.learns else None
        label = f"{scan.name}: {alpha.with_range if alpha else scan.learnt}"
        draw_law(axis, scan.sizes, scan.values[BEST], alpha, color, label)
    style.legend_below(axis, fontsize=7, title=LEGEND, title_fontsize=7, alignment="left")
    return found


LEGEND = "exponent of the filled points (dashed: they do not follow a power law)"


def on_one_range(some: Sequence[Scan]) -> dict[str, Exponent]:
    """The exponents of the best losses of scans by name, on the longest range that all of them follow."""
    found = {scan.name: scan.exponent() for scan in some if not scan.learns}
    if learned := [scan for scan in some if scan.learns]:
        curves = [scan.values[BEST] for scan in learned]
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
    metrics: Sequence[str] = (BEST,),
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
    found = exponents.difference_of(own, other)
    row = Row(
        quantity, found.value, found.stderr, own.n, expected=None if relation is None else 0.0,
        relation=relation or "=", resolution=0.1 * abs(other.value) if relation == "=" else None,
        note=f"{note}; {own} less {other} on {own.note}",
    )  # fmt: skip
    return row if learn else unlearnt(row, a, b)


def differences(quantity: str, a: Scan, b: Scan, note: str, relation: str | None = "=") -> list[Row]:
    """The differences of the best loss and error, and of Wide ResNets' final loss, as published."""
    metrics = {"": BEST, ", of the error": "best error"}
    metrics |= {", of the final loss": "final loss"} if a.residual else {}  # others have no schedule
    return [difference(quantity + words, a, b, note, relation, [metric]) for words, metric in metrics.items()]


# --- figures -----------------------------------------------------------------------------------------


@shared
def in_data(scale: str, squared: bool = True, residual: bool = True) -> tuple[list[Scan], Curves]:
    """Scans in D of the scale's network for every data set and loss, and of a Wide ResNet for its data sets.

    Args:
        squared: whether with MSE, too.
    """
    own, wide = NETWORKS[scale], RESIDUALS[scale]
    parts = [Part(by_loss(own, own.base, squared), "n_data", own.sizes, own.seeds)]
    if residual and wide.datasets:
        named = residual_settings(scale, [BESIDE], usable_datasets(wide.datasets))
        parts.append(residual_part(scale, with_mse(own, named) if squared else named))
    return scans("images in data", *parts)


def by_loss(own: Networks, base: Setting, squared: bool = True) -> dict[str, Setting]:
    """A network on every data set of a scale and with every loss, by name."""
    losses = {"cross-entropy": {"loss": "cross_entropy"}}
    losses |= {"mse": own.squared} if squared and own.squared else {}
    here = usable_datasets(own.datasets)
    return {
        f"{name}, {loss}": {**setting_on(name, base), **change}
        for loss, change in losses.items()
        for name in here
    }


def setting_on(dataset: str, base: Setting) -> Setting:
    """The setting of a network on a data set; table 1 has another CNN for some of them."""
    own = base.get("model_options") == CNN and dataset in CNN_OF
    return {**base, "dataset": dataset} | ({"model_options": CNN_OF[dataset]} if own else {})


def with_mse(own: Networks, residual: dict[str, Setting]) -> dict[str, Setting]:
    """Wide ResNets by name, and after them the same with MSE if the scale has it."""
    return residual | {
        f"{name}, mse": {**one, **RESIDUAL_MSE} for name, one in residual.items() if own.squared
    }


def residual_settings(
    scale: str, aspects: Sequence[tuple[int, float]], datasets: Sequence[str]
) -> dict[str, Setting]:
    """Wide ResNets d-k by name."""
    common = {**RESIDUALS[scale].base, "model": "wide_resnet", "measure": ()}
    return {
        f"{dataset}, WRN-{d}-{k:g}": {**common, "dataset": dataset, "depth": d, "width": k}
        for dataset in datasets for d, k in aspects
    }  # fmt: skip


def residual_part(scale: str, named: dict[str, Setting], seeds: int = 0) -> Part:
    """Wide ResNets against D, of as many seeds as the scale has by default."""
    own = RESIDUALS[scale]
    return Part(named, "n_data", own.sizes, seeds or own.seeds)


def fig1_top_right(scale: str) -> Reproduction:
    """Loss against D."""
    found, curves = in_data(scale)
    network = network_name(NETWORKS[scale].base)
    figure, alphas = draw(found, "resolution-limited in data", network, "examples D")
    rows = [between_0_and_1(*one, "α_D", network) for one in zip(found, alphas)]
    residual = [scan for scan in found if scan.residual]  # as the paper reports them
    rows += [
        between_0_and_1(one, one.exponent("final loss"), "α_D of the final loss", "") for one in residual
    ]
    return Reproduction(curves, figure, tuple(rows))


# Fig. 1 bottom-left: D, and factors on the width of the network; at scale gpu Wide ResNets of depth 10 too
WIDTHS: dict[str, tuple[int, tuple[float, ...]]] = {
    "smoke": (1024, (0.125, 0.25)), "laptop": (4096, (0.0625, 0.125, 0.25, 0.5)),
    "gpu": (50_000, (0.0625, 0.09, 0.125, 0.18, 0.25)), "paper": (50_000, (0.5, 1.0, 2.0, 4.0, 8.0, 12.0)),
}  # fmt: skip
RESIDUAL_WIDTHS = {"gpu": (0.25, 0.5, 1.0, 2.0)}
RESIDUAL_STEPS = 1500


def fig1_bottom_left(scale: str) -> Reproduction:
    """Loss against the number of parameters of networks of growing width."""
    own, (n_data, widths) = NETWORKS[scale], WIDTHS[scale]
    base = {**own.base, "n_data": n_data} | ({"depth": 10} if own.base["model"] == "wide_resnet" else {})
    residual: list[Part] = []
    if scale in RESIDUAL_WIDTHS:
        base["compile"] = False  # of every width by itself takes longer than its runs
        common = {**RESIDUALS[scale].base, "depth": 10, "n_data": n_data, "steps": RESIDUAL_STEPS}
        named = {
            f"{name}, WRN-10-k": {**common, "dataset": name}
            for name in usable_datasets(RESIDUALS[scale].datasets)
        }
        residual.append(Part(with_mse(own, named), "width", RESIDUAL_WIDTHS[scale], own.seeds))
    plain = by_loss(own, base, squared=False)  # with MSE units of narrow CNNs die
    found, curves = scans("images in parameters", Part(plain, "width", widths, own.seeds), *residual)
    network = base["model"].replace("_", " ")
    figure, alphas = draw(found, "resolution-limited in parameters", network, "parameters P")
    rows = [between_0_and_1(*one, "α_P", network, f" at D = {n_data}") for one in zip(found, alphas)]
    return Reproduction(curves, figure, tuple(rows))


def fig_s1(scale: str) -> Reproduction:
    """Loss and error, final and best, of the runs of Fig. 1 top-right."""
    every, curves = in_data(scale)
    found = [scan for scan in every if scan.learns]
    figure, axes = style.panels_for(len(found), 3, size=(4.4, 3.9))
    rows: list[Row] = []
    for axis, scan in zip(axes, found, strict=True):
        rows += draw_metrics(axis, scan)
    return Reproduction(curves, figure, tuple(rows))


def draw_metrics(axis: Any, scan: Scan) -> list[Row]:
    """Draw the metrics of a scan against D; rows that compare their exponents."""
    style.loglog(axis, "examples D", "test loss or error", scan.name)
    colors = iter(style.PALETTE)
    for pair in COMPARED[:2]:  # on one range, as they are compared
        curves = [scan.values[metric] for metric in pair]
        for metric, values, alpha in zip(
            pair, curves, exponents.of_several(scan.sizes, *curves, since=scan.since)
        ):
            draw_law(axis, scan.sizes, values, alpha, next(colors), f"{metric}: {alpha.with_range}")
    style.legend_below(axis, fontsize=7, title=LEGEND, title_fontsize=7, alignment="left")
    return [
        difference(
            f"{scan.name}: exponent of {metric} less that of {other}", scan, scan,
            "the paper: similar scaling", metrics=(metric, other),
        )
        for metric, other in COMPARED
    ]  # fmt: skip


def fig_s3(scale: str) -> Reproduction:
    """Cross-entropy of the CNN against D, one line a data set."""
    found, curves = in_data(scale, squared=False, residual=False)
    network = network_name(NETWORKS[scale].base)
    figure, alphas = draw(found, "cross-entropy", network, "examples D")
    rows = [exponent_row(scan, alpha, f"{scan.name}: α_D", network) for scan, alpha in zip(found, alphas)]
    return Reproduction(curves, figure, tuple(rows))
