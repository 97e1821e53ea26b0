"""Wide ResNets trained for 20,000 steps: what of Figs. 5 left and S1 is due to short training.

At scale gpu those have 2,000 steps, which no longer fit 6,250 examples, so that their losses bend; the paper
has 78,125. Here are 20,000, with the same schedule, for a part of the sizes, groupings and seeds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scalinglab.figures import style
from scalinglab.studies.registry import Reproduction
from scalinglab_papers.bahri2021 import distributions, images


@dataclass(frozen=True)
class Longer:
    """One scale.

    Attributes:
        steps, sizes: of every network.
        aspect, groupings, seeds: depth and width of the network whose classes are grouped.
        aspects, aspect_seeds: depths and widths of the networks that are compared, on the set of Fig. S5.
    """

    steps: int
    sizes: tuple[int, ...]
    aspect: tuple[int, float]
    groupings: tuple[int, ...]
    seeds: int
    aspects: tuple[tuple[int, float], ...]
    aspect_seeds: int


SCALES = {
    "gpu": Longer(20_000, images.PAPER_SIZES[2:6], (10, 4.0), (100, 5), 2, ((10, 4.0), (28, 1.0)), 2),
}


def grouped(scale: str) -> dict[str, images.Setting]:
    """The network with its classes in groups, by name."""
    own, dataset = SCALES[scale], images.SCALES[scale].superclassed
    ((name, base),) = images.residual_settings(scale, [own.aspect], [dataset]).items()
    finest = 100 if dataset == "cifar100" else 10
    return {
        f"{groups} classes{name.removeprefix(dataset)}": {
            **base, "steps": own.steps, **distributions.grouped(dataset, finest, groups)
        }
        for groups in own.groupings
    }  # fmt: skip


def shaped(scale: str) -> dict[str, images.Setting]:
    """The networks of several depths and widths, by name."""
    own = SCALES[scale]
    return {
        name: {**one, "steps": own.steps}
        for name, one in images.residual_settings(scale, own.aspects).items()
    }


def longer_training(scale: str) -> Reproduction:
    """Exponents of groupings and of shapes, and of loss and error, final and best."""
    own, s = SCALES[scale], images.SCALES[scale]
    variants = images.in_data(own.sizes)
    classes = images.scans(grouped(scale), variants, own.seeds, "n_data", "longer")
    shapes = images.scans(shaped(scale), variants, own.aspect_seeds, "n_data", "longer")
    figure, axes = style.panels(2, 2, size=(5.2, 4.2))
    rows = []
    titles = f"superclasses of {s.superclassed}", f"shapes on {s.noisy}"
    for axis, (found, _), title in zip(axes[:, 0], (classes, shapes), titles, strict=True):
        alphas = images.draw_scans(axis, found, f"{title}, {own.steps:,} steps")
        rows += [images.exponent_row(scan, alphas[scan.name], f"{scan.name}: α_D") for scan in found]
    rows += distributions.class_rows(classes[0], s.superclassed)
    by_shape = distributions.by_shape(own.aspects, shaped(scale), shapes[0])
    rows += distributions.shape_rows(by_shape, s.noisy)
    wide = by_shape[own.aspect]
    wide = replace(wide, name=f"{wide.name}, {own.steps:,} steps")  # in figS1 it has fewer
    for axis, scan in zip(axes[:, 1], (classes[0][0], wide), strict=True):
        rows += images.draw_metrics(axis, scan, scan.name)[1]
    return Reproduction(images.joined(classes, shapes)[1], figure, tuple(rows))
