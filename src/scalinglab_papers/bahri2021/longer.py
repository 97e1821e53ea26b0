"""Wide ResNets trained for 20,000 steps: what of Figs. 5 left and S1 is due to short training.

At scale gpu those have 2,000 steps, which no longer fit 6,250 examples, so that their losses bend; the paper
has 78,125. Here are 20,000, with the same schedule, for a part of the sizes, groupings and seeds.
"""

from __future__ import annotations

from dataclasses import replace

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.studies import Reproduction
from scalinglab_papers.bahri2021 import distributions, images

STEPS = 20_000
SIZES = images.PAPER_SIZES[2:6]
SEEDS = 3
SHAPE = (10, 4.0)  # depth and width of the network whose classes are grouped
GROUPINGS = (100, 5)
SHAPES = ((10, 4.0), (28, 1.0))  # those that are compared, on the set of Fig. S5


def trained(named: dict[str, images.Setting]) -> tuple[list[images.Scan], Curves]:
    """Networks by name against D."""
    longer = {name: {**one, "steps": STEPS} for name, one in named.items()}
    return images.scans("longer", images.Part(longer, "n_data", SIZES, SEEDS))


def longer_training(scale: str) -> Reproduction:
    """Exponents of groupings and of shapes, and of loss and error, final and best."""
    coloured, noisy = distributions.CLASSES[scale][0], distributions.SHAPES[scale][0]
    ((name, base),) = images.residual_settings(scale, [SHAPE], [coloured]).items()
    grouped = {
        f"{groups} classes{name.removeprefix(coloured)}": {**base, **distributions.grouped(coloured, groups)}
        for groups in GROUPINGS
    }
    shaped = images.residual_settings(scale, SHAPES, [noisy])
    classes, shapes = trained(grouped), trained(shaped)
    figure, axes = style.panels(2, 2, size=(5.2, 4.2))
    rows = []
    titles = f"superclasses of {coloured}", f"shapes on {noisy}"
    for axis, (found, _), title in zip(axes[:, 0], (classes, shapes), titles, strict=True):
        alphas = images.draw_scans(axis, found, f"{title}, {STEPS:,} steps")
        rows += [images.exponent_row(scan, alphas[scan.name], f"{scan.name}: α_D") for scan in found]
    rows += distributions.class_rows(classes[0], coloured)
    by_shape = distributions.by_shape(SHAPES, shaped, shapes[0])
    rows += distributions.shape_rows(by_shape, noisy)
    wide = by_shape[SHAPE]
    wide = replace(wide, name=f"{wide.name}, {STEPS:,} steps")  # in figS1 it has fewer
    for axis, scan in zip(axes[:, 1], (classes[0][0], wide), strict=True):
        rows += images.draw_metrics(axis, scan)
    return Reproduction(Curves.concat([classes[1], shapes[1]]), figure, tuple(rows))
