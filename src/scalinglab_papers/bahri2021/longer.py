"""Wide ResNets trained for 20,000 steps: what of Figs. 5 left, S1 and S5 is due to short training.

At scale gpu those have 2,000 steps, which no longer fit 6,250 examples, so that their losses bend; the paper
has 78,125. Here are 20,000, with the same schedule, for a part of the sizes and networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scalinglab.figures import style
from scalinglab.studies.registry import Reproduction
from scalinglab_papers.bahri2021 import distributions, images


@dataclass(frozen=True)
class Longer:
    """One scale.

    Attributes:
        steps, sizes, seeds: of every network.
        grouped: depth and width of the network whose classes are grouped, by `groupings`.
        aspects: depths and widths of those that are compared, the first with the others.
    """

    steps: int
    sizes: tuple[int, ...]
    seeds: int
    grouped: tuple[int, float]
    groupings: tuple[int, ...]
    aspects: tuple[tuple[int, float], ...]


SCALES = {
    "gpu": Longer(20_000, images.PAPER_SIZES[2:6], 3, (10, 4.0), (100, 5, 20),
                  ((10, 1.0), (10, 4.0), (28, 1.0))),
}  # fmt: skip


def settings(scale: str) -> tuple[dict[str, images.Setting], dict[str, images.Setting]]:
    """Networks by name: with classes in groups, and of several shapes."""
    own, s = SCALES[scale], images.SCALES[scale]
    time = {"steps": own.steps}
    classes: dict[str, images.Setting] = {}
    for name, one in images.residual_settings(scale, [own.grouped], [s.superclassed]).items():
        finest = 100 if s.superclassed == "cifar100" else 10
        for groups in own.groupings:
            change = distributions.grouped(s.superclassed, finest, groups)
            classes[f"{groups} classes{name.removeprefix(s.superclassed)}"] = {**one, **time, **change}
    shapes = images.residual_settings(scale, own.aspects)
    return classes, {name: {**one, **time} for name, one in shapes.items()}


def longer_training(scale: str) -> Reproduction:
    """Exponents of the groupings, of the shapes, and of loss and error, final and best."""
    own, s = SCALES[scale], images.SCALES[scale]
    parts = []
    for named in images.selected(*settings(scale)):
        variants = images.in_data(own.sizes)
        parts.append(images.scans(named, variants, own.seeds, "n_data", "longer") if named else None)
    classes, shapes = (part[0] if part else [] for part in parts)
    by_name = {scan.name: scan for scan in shapes}
    by_shape = {
        aspect: by_name[name]
        for aspect, name in zip(own.aspects, images.residual_settings(scale, own.aspects))
        if name in by_name
    }
    drawn = {f"superclasses of {s.superclassed}": classes, f"shapes on {s.noisy}": shapes}
    drawn = {title: some for title, some in drawn.items() if some}
    judged = [*classes[:1], *(by_shape[a] for a in own.aspects[1:2] if a in by_shape)]
    judged = [scan for scan in judged if scan.learns]
    figure, axes = style.panels_for(len(drawn) + len(judged), 2, size=(5.2, 4.2))
    rows, places = [], iter(axes)
    for title, some in drawn.items():
        found = images.draw_scans(next(places), some, f"{title}, {own.steps} steps")
        rows += [images.exponent_row(scan, found[scan.name], f"{scan.name}: α_D") for scan in some]
    rows += distributions.class_rows(classes, s.superclassed)
    rows += distributions.shape_rows(by_shape, s.noisy) if by_shape else []
    for scan in judged:
        rows += images.draw_metrics(next(places), scan, scan.name)[1]
    curves: Any = images.joined(*(part for part in parts if part))[1]
    return Reproduction(curves, figure, tuple(rows))
