"""Wide ResNets trained for 20,000 steps: what of Figs. 5 left and S1 is due to short training.

At scale gpu those have 2,000 steps, which no longer fit 6,250 examples, so that their losses bend; the paper
has 78,125. Here are 20,000, with the same schedule, for a part of the sizes, groupings and seeds.
"""

from __future__ import annotations

from dataclasses import dataclass

from scalinglab.figures import style
from scalinglab.studies.registry import Reproduction
from scalinglab_papers.bahri2021 import distributions, images


@dataclass(frozen=True)
class Longer:
    """One scale: steps, sizes, seeds, depth and width, and the groupings of classes."""

    steps: int
    sizes: tuple[int, ...]
    seeds: int
    aspect: tuple[int, float]
    groupings: tuple[int, ...]


SCALES = {"gpu": Longer(20_000, images.PAPER_SIZES[2:6], 2, (10, 4.0), (100, 5))}


def settings(scale: str) -> dict[str, images.Setting]:
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


def longer_training(scale: str) -> Reproduction:
    """Exponents of the groupings, and of loss and error, final and best."""
    own, dataset = SCALES[scale], images.SCALES[scale].superclassed
    variants = images.in_data(own.sizes)
    found, curves = images.scans(settings(scale), variants, own.seeds, "n_data", "longer")
    figure, axes = style.panels(1, 2, size=(5.2, 4.2))
    exponents = images.draw_scans(axes[0, 0], found, f"superclasses of {dataset}, {own.steps:,} steps")
    rows = [images.exponent_row(scan, exponents[scan.name], f"{scan.name}: α_D") for scan in found]
    rows += distributions.class_rows(found, dataset)
    rows += images.draw_metrics(axes[0, 1], found[0], found[0].name)[1]
    return Reproduction(curves, figure, tuple(rows))
