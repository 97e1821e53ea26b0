"""How the exponent depends on the task, the inputs, the shape of the network and the dimension of the data.

Fig. 5: superclasses (left), which leave the exponent, and noise on the inputs (right), which changes it.
S5: the width of Wide ResNets matters, their depth hardly. Fig. 2 right: 4/α_D against the dimension of the
data, for students of deep teachers (the dimension of their inputs) and for CNNs on images (their intrinsic
dimension, on the inputs and on the last hidden layer of the trained network, from the 2nd, 3rd and 4th
nearest neighbour as published, and by TwoNN). Table 1: the CNNs. Scales are those of `images`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scalinglab import measure
from scalinglab.curves import Curves
from scalinglab.data import load
from scalinglab.figures import style
from scalinglab.studies import Reproduction, Row, trained
from scalinglab_papers.bahri2021 import images, students
from scalinglab_papers.bahri2021.exponents import Exponent
from scalinglab_papers.bahri2021.learned_features import penultimate

if TYPE_CHECKING:
    from scalinglab.train.checkpoints.extra_measurements import Reading

METHODS = {"neighbours": "k = 2, 3, 4", "two_nn": "TwoNN"}


# --- Fig. 5 ------------------------------------------------------------------------------------------

# the superclass of each class of CIFAR-100, from its files
COARSE = (
    4, 1, 14, 8, 0, 6, 7, 7, 18, 3, 3, 14, 9, 18, 7, 11, 3, 9, 7, 11, 6, 11, 5, 10, 7,
    6, 13, 15, 3, 15, 0, 11, 1, 10, 12, 14, 16, 9, 11, 5, 5, 19, 8, 8, 15, 13, 14, 17, 18, 10,
    16, 4, 17, 4, 2, 0, 17, 4, 18, 17, 10, 3, 2, 12, 12, 16, 12, 1, 9, 19, 2, 10, 0, 1, 16,
    12, 9, 13, 15, 13, 16, 19, 2, 4, 6, 19, 5, 5, 8, 19, 18, 1, 2, 15, 6, 0, 17, 8, 14, 13,
)  # fmt: skip


# the 20 superclasses in five groups of like kind: mammals and people, other animals, plants, things of a
# household, and what stands or drives outdoors; in two: living or not
FIVE = (0, 1, 2, 3, 2, 3, 3, 1, 0, 4, 4, 0, 0, 1, 0, 1, 0, 2, 4, 4)
TWO = tuple(int(group > 2) for group in FIVE)


def superclasses(dataset: str, n_classes: int, groups: int) -> Any:
    """The grouping of a set into so many superclasses: CIFAR-100 by kind, others by neighbours."""
    if groups == n_classes:
        return None
    if dataset == "cifar100":
        return "coarse" if groups == 20 else [{5: FIVE, 2: TWO}[groups][coarse] for coarse in COARSE]
    return [k * groups // n_classes for k in range(n_classes)]


def grouped(dataset: str, groups: int) -> images.Setting:
    """The change of a setting that groups classes: other labels, and so another last layer."""
    n_classes = 100 if dataset == "cifar100" else 10
    return {} if groups == n_classes else {"superclass": superclasses(dataset, n_classes, groups)}


# by scale: the set, numbers of superclasses, and seeds of Wide ResNets where they are more
CLASSES: dict[str, tuple[str, tuple[int, ...], int]] = {
    "smoke": ("digits", (10, 2), 0), "laptop": ("mnist", (10, 5, 2), 0),
    "gpu": ("cifar100", (100, 20, 5), 6), "paper": ("cifar100", (100, 20, 5, 2), 0),
}  # fmt: skip
NOISES: dict[str, tuple[str, tuple[float, ...]]] = {  # the set, standard deviations
    "smoke": ("digits", (0.0, 1.0)), "laptop": ("mnist", (0.0, 1.0, 3.0)),
    "gpu": ("cifar10", (0.0, 1.0, 2.0)), "paper": ("cifar10", (0.0, 0.1, 0.2, 0.5, 1.0, 2.0)),
}  # fmt: skip


def fig5_left(scale: str) -> Reproduction:
    """The exponent for several numbers of superclasses."""
    dataset, groupings, seeds = CLASSES[scale]
    changes = {f"{groups} classes": grouped(dataset, groups) for groups in groupings}
    found, curves = changed_scans(scale, dataset, changes, "superclasses", seeds)
    figure, rows = _exponents_drawn(found, dataset, f"superclasses of {dataset}", scale)
    return Reproduction(curves, figure, (*rows, *class_rows(found, dataset)))


def class_rows(found: list[images.Scan], dataset: str) -> list[Row]:
    """Each number of superclasses against the first, for every network."""
    note = "the paper: the number of classes has no visible effect on the exponent"
    return [
        row
        for first, *others in _by_network(found)
        for scan in others
        for row in images.differences(
            f"{dataset}: α_D of {scan.name} less that of {first.name}", scan, first, note
        )
    ]


def fig5_right(scale: str) -> Reproduction:
    """The exponent for several strengths of noise on the inputs."""
    dataset, noises = NOISES[scale]
    changes = {f"noise {noise:g}": {"input_noise": noise} for noise in noises}
    found, curves = changed_scans(scale, dataset, changes, "input noise")
    figure, rows = _exponents_drawn(found, dataset, f"noise on the inputs of {dataset}", scale)
    note = "the paper: the strength of the noise has a strong effect on the scaling"
    for first, *_, noisiest in _by_network(found):
        name = f"{dataset}: α_D without noise less that of {noisiest.name}"
        rows += images.differences(name, first, noisiest, note, relation=">")
    return Reproduction(curves, figure, tuple(rows))


def changed_scans(
    scale: str, dataset: str, changes: dict[str, images.Setting], experiment: str, residual_seeds: int = 0
) -> tuple[list[images.Scan], Curves]:
    """The network of the scale against D with each change, and the Wide ResNet if it has this set."""
    images.usable_datasets([dataset])
    own, wide = images.NETWORKS[scale], images.RESIDUALS[scale]
    named = {name: {**images.setting_on(dataset, own.base), **change} for name, change in changes.items()}
    parts = [images.Part(named, "n_data", own.sizes, own.seeds)]
    if dataset in wide.datasets:
        ((name, residual),) = images.residual_settings(scale, [images.BESIDE], [dataset]).items()
        changed = {
            f"{words}{name.removeprefix(dataset)}": {**residual, **change}
            for words, change in changes.items()
        }
        parts.append(images.residual_part(scale, changed, residual_seeds))
    return images.scans(experiment, *parts)


def _by_network(found: list[images.Scan]) -> list[list[images.Scan]]:
    """Scans of the same network, in groups of two and more."""
    groups: dict[str, list[images.Scan]] = {}
    for scan in found:
        groups.setdefault(scan.name.partition(", ")[2], []).append(scan)
    return [group for group in groups.values() if len(group) > 1]


def _exponents_drawn(found: list[images.Scan], dataset: str, title: str, scale: str) -> tuple[Any, list[Row]]:
    """The figure, and a row for each exponent."""
    network = images.network_name(images.NETWORKS[scale].base)
    figure, alphas = images.draw(found, title, network, "examples D", shared_range=True)
    return figure, [
        images.exponent_row(
            scan, alpha, f"{dataset}, {scan.name}: α_D", "Wide ResNet" if scan.residual else network
        )
        for scan, alpha in zip(found, alphas)
    ]


# --- S5 ----------------------------------------------------------------------------------------------


Shapes = tuple[tuple[int, float], ...]  # depth and width factor of Wide ResNets
SHAPES: dict[str, tuple[str, Shapes, int]] = {  # the set, shapes, and seeds where they are more
    "smoke": ("digits", ((10, 0.125), (10, 0.25)), 0),
    "laptop": ("mnist", ((10, 0.25), (10, 0.5), (16, 0.25)), 0),
    "gpu": ("cifar10", ((10, 1.0), (10, 4.0), (10, 8.0), (10, 12.0), (28, 1.0)), 5),
    "paper": ("cifar10", tuple((d, float(k)) for d in (10, 16, 28, 40) for k in (1, 2, 4, 8, 12)), 0),
}


def fig_s5(scale: str) -> Reproduction:
    """The exponent of Wide ResNets d-k: width k matters, depth d hardly."""
    dataset, shapes, seeds = SHAPES[scale]
    named = images.residual_settings(scale, shapes, images.usable_datasets([dataset]))
    found, curves = images.scans("aspect ratio", images.residual_part(scale, named, seeds))
    figure, alphas = images.draw(found, dataset, "", "examples D", shared_range=True)
    rows = [images.exponent_row(scan, alpha, f"{scan.name}: α_D") for scan, alpha in zip(found, alphas)]
    return Reproduction(curves, figure, (*rows, *shape_rows(by_shape(shapes, named, found), dataset)))


def by_shape(
    aspects: Sequence[tuple[int, float]], names: Iterable[str], found: list[images.Scan]
) -> dict[tuple[int, float], images.Scan]:
    """The scans by depth and width, as far as they are there."""
    by_name = {scan.name: scan for scan in found}
    return {aspect: by_name[name] for aspect, name in zip(aspects, names) if name in by_name}


def shape_rows(shapes: dict[tuple[int, float], images.Scan], dataset: str) -> list[Row]:
    """The widest of the shallowest networks and the deepest of the narrowest, each against the smallest."""
    first = min(d for d, _ in shapes), min(k for _, k in shapes)
    widths = sorted(k for d, k in shapes if d == first[0])
    wide, deep = (first[0], widths[-1]), (max(d for d, k in shapes if k == first[1]), first[1])
    compared: list[tuple[tuple[int, float], tuple[int, float], str, str | None]] = []
    if wide != first in shapes:
        compared.append((wide, first, "the exponent grows with width up to a critical width", ">"))
    if len(widths) > 2:
        compared.append((wide, (first[0], widths[-2]), "fixed beyond a saturating width", "="))
    if deep != first in shapes:
        compared.append((deep, first, "depth has a mild effect", None))
    if first not in (wide, deep):
        compared.append((wide, deep, "the effect of depth is milder than that of width", ">"))
    rows = []
    for one, other, claim, relation in compared:
        names = [shapes[aspect].name.removeprefix(f"{dataset}, ") for aspect in (one, other)]
        quantity = f"{dataset}: α_D of {names[0]} less that of {names[1]}"
        rows += images.differences(quantity, shapes[one], shapes[other], f"the paper: {claim}", relation)
    return rows


# --- Fig. 2 right ------------------------------------------------------------------------------------

POINTS = {"smoke": 400, "laptop": 2000, "gpu": 10_000, "paper": 10_000}


def fig2_right(scale: str) -> Reproduction:
    """4/α_D against the dimension of the data."""
    found = {
        d: alpha for d, (_, _, alpha) in students.by_dimension(students.in_data(scale), "n_data").items()
    }
    scans, curves = images.in_data(scale, squared=False)
    sets = dict.fromkeys(scan.name.split(",")[0] for scan in scans)
    dimensions = {dataset: data_dimensions(dataset, scale) for dataset in sets}
    places: Places = {}
    for scan in scans:
        dataset = scan.name.split(",")[0]
        if scan.residual:  # beside the dimension of the same inputs
            places[scan.name] = scan.exponent(), {"inputs": dimensions[dataset]["inputs"]}
        else:
            places[dataset] = scan.exponent(), dimensions[dataset]
    figure, rows = against_dimension(found, places)
    return Reproduction(curves, figure, rows)


QUERIES = 2_000  # points whose neighbours are counted


Places = dict[str, tuple[Exponent, dict[str, dict[str, measure.Dimension]]]]


def against_dimension(found: dict[int, Exponent], places: Places) -> tuple[Any, tuple[Row, ...]]:
    """The figure and the table: students by dimension, data sets by where and how theirs was measured."""
    figure, axes = style.panels(size=(5.6, 4.6))
    axis = axes[0, 0]
    measured = [one.value for _, where in places.values() for by in where.values() for one in by.values()]
    students.draw_dimensions(axis, found, "α_D", max(measured, default=0.0))
    axis.set_title("exponent against dimension")
    rows = [alpha.row(f"students, d = {d}: α_D", "judged in figS2") for d, alpha in found.items()]
    markers = {"inputs": "s", "last hidden layer": "^"}
    colors = dict(zip(dict.fromkeys(name.split(",")[0] for name in places), style.PALETTE[1:]))
    for dataset, (alpha, where) in places.items():
        residual = "WRN" in dataset
        inverse = 4 / alpha.value, 4 * alpha.stderr / alpha.value**2
        for place, dimensions in where.items():
            for method, dimension in dimensions.items():
                ratio = inverse[0] / dimension.value
                share = np.hypot(inverse[1] / inverse[0], dimension.stderr / dimension.value)
                rows.append(
                    Row(
                        f"{dataset}, {place}: 4/α_D over the dimension by {METHODS[method]}", ratio,
                        abs(ratio * float(share)), alpha.n, expected=1.0, relation="<",
                        note=f"dimension {dimension}, α_D {alpha}; the paper: 4/d or more, but less clear",
                    )
                )  # fmt: skip
            published = dimensions["neighbours"]
            style.points(
                axis, [published.value], [inverse[0]], [inverse[1]], xerr=[published.stderr],
                color=colors[dataset.split(",")[0]], fmt="D" if residual else markers[place],
                label=f"{dataset}, {place}",
            )  # fmt: skip
    axis.set_ylim(bottom=0)
    style.legend(axis, fontsize=7)
    return figure, tuple(rows)


def data_dimensions(dataset: str, scale: str) -> dict[str, dict[str, measure.Dimension]]:
    """The intrinsic dimension of the training images, and of test images on the last hidden layer.

    It is kept with the run whose network is looked at, the one on most examples with seed 0.
    """
    own = images.NETWORKS[scale]
    base = {
        **images.setting_on(dataset, own.base),
        "n_data": max(own.sizes),
        "seed": 0,
        "checkpoints_per_decade": 1,
    }
    curves = trained.runs([base], "dimension", extra=dimensions_of(dataset, POINTS[scale]))
    last = curves.frame.sort_values("step").iloc[-1]
    return {
        place: {
            method: measure.Dimension(
                float(last[f"dimension_{short}_{method}"]), float(last[f"dimension_{short}_{method}_error"]),
                method=method, n=POINTS[scale],
            )
            for method in METHODS
        }
        for short, place in PLACES.items()
    }  # fmt: skip


PLACES = {"inputs": "inputs", "hidden": "last hidden layer"}


def dimensions_of(dataset: str, points: int) -> Reading:
    """A reading of the dimensions of the inputs and of a network's last hidden layer."""
    own: dict[str, float] = {}

    def columns(place: str, x: np.ndarray) -> dict[str, float]:
        found = {method: measure.dimension(x, method, max_points=QUERIES) for method in METHODS}
        return {f"dimension_{place}_{method}": one.value for method, one in found.items()} | {
            f"dimension_{place}_{method}_error": one.stderr for method, one in found.items()
        }

    def reading(model: Any) -> dict[str, float]:
        data = load(dataset)
        if not own:  # once for all checkpoints
            own.update(columns("inputs", data.inputs("train", slice(0, points))))
        return own | columns("hidden", penultimate(model, data.inputs("test")[:points]))

    return reading


# --- Table 1 -----------------------------------------------------------------------------------------

# channels of the convolutions and units of the dense layers
CNNS = {
    "CIFAR-10, MNIST, Fashion-MNIST": (images.CNN, 10, (50, 100, 100, 64, 10)),
    "CIFAR-100": (images.CNN_OF["cifar100"], 100, (50, 100, 200, 256, 100)),
    "SVHN": (images.CNN_OF["svhn"], 10, (64, 64, 128, 10)),
}


def table1(scale: str) -> Reproduction:
    """The widths of the layers of the CNNs that are trained here, read off the networks."""
    from scalinglab import nets

    rows, sizes = [], []
    for name, (form, n_classes, widths) in CNNS.items():
        model = nets.build("cnn", (3, 32, 32), n_classes, **form)
        layers = [p for p in model.parameters() if p.ndim > 1]
        flops = measure.flops(model, (3, 32, 32), 1)
        sizes.append({"model": name, "n_params": flops.n_params, "flops_per_step": flops.step})
        for place, (layer, width) in enumerate(zip(layers, widths, strict=True), start=1):
            kind = "convolution" if layer.ndim == 4 else "dense"
            rows.append(
                Row(f"{name}: layer {place}, {kind}", float(len(layer)), 0.0, paper=float(width),
                    resolution=0.5)
            )  # fmt: skip
    return Reproduction(Curves(pd.DataFrame(sizes), source="theory"), None, tuple(rows))
