"""Momentum in one-pass training: what a memory that grows with time buys."""

from __future__ import annotations

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.random_features import train
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Reproduction, Row, by_draw, draw_means, verdict
from scalinglab.theory import one_pass

CASES = ((2.5, 1.5), (1.8, 1.3), (2.6, 2.0))  # task and spectral exponents
MODES = {"smoke": 10**6, "laptop": 10**16}
LAST = {"smoke": 1e4, "laptop": 1e13}
DRAWS = {"smoke": 8, "laptop": 200}
WITHIN = 0.02


def optimizers(spectral: float) -> dict[str, one_pass.Optimizer]:
    """SGD, constant momentum and adapted momentum, at comparable rates."""
    return {
        "SGD": one_pass.OnePassSGD(0.2, 1),
        "momentum 0.9": one_pass.HeavyBall(0.02, 1, 0.9),
        "adapted momentum": one_pass.AdaptedMomentum(0.1, 1, 0.05, 1 / spectral),
    }


def momentum(scale: str) -> Reproduction:
    """Losses against steps, exact, with simulations, and their exponents."""
    cases = CASES[:1] if scale == "smoke" else CASES
    last = LAST[scale]
    steps = np.unique(np.round(np.geomspace(1, last, 10 * int(np.log10(last)) + 1)))
    figure, axes = style.panels(1, len(cases))
    table: list[Row] = []
    parts: list[Curves] = []
    for axis, (task, spectral) in zip(axes[0], cases):
        at = f"a = {task:g}, b = {spectral:g}"
        spectrum = Spectrum.power_law(task, spectral, MODES[scale])
        style.loglog(axis, "steps", "test loss", at)
        for (name, optimizer), color in zip(optimizers(spectral).items(), style.PALETTE):
            found = one_pass.solve(spectrum, steps, optimizer)
            axis.plot(steps, found.test_loss, color=color, label=name)
            parts.append(found.curves())
            speed = 2 - 1 / spectral if name.startswith("adapted") else 1.0
            paper = speed * min((task - 1) / spectral, 2 - 1 / spectral)
            table.append(
                verdict.decades(steps, found.test_loss).row(
                    f"{at}: exponent of {name}", paper=paper, relation="in", resolution=WITHIN * paper,
                    note=f"exact, to {last:g} steps")
            )  # fmt: skip
        if (task, spectral) == CASES[0]:
            table += _simulated(axis, scale, parts)
        axis.legend(fontsize=7)
    return Reproduction(Curves.concat(parts), figure, tuple(table))


def _simulated(axis: style.Panel, scale: str, parts: list[Curves]) -> list[Row]:
    """The same optimizers, drawn; a short spectrum, whose first steps are those of the long one."""
    spectrum, at = Spectrum.power_law(*CASES[0], 300), np.array([10, 30, 100])
    rows = []
    for place, (name, optimizer) in enumerate(optimizers(CASES[0][1]).items()):
        drawn = train(spectrum, at, dynamics=optimizer, draws=DRAWS[scale], seed=place)
        parts.append(drawn)
        _, losses = by_draw(drawn.frame, "time")
        exact = one_pass.solve(spectrum, at, optimizer).test_loss
        draw_means(axis, at, losses, color=style.PALETTE[place])
        ratio = verdict.mean(losses[:, -1] / exact[-1])
        rows.append(ratio.row(f"{name}: simulated over exact loss after {at[-1]} steps", expected=1.0,
                              resolution=0.2, note=f"{DRAWS[scale]} draws, 300 modes"))  # fmt: skip
    return rows
