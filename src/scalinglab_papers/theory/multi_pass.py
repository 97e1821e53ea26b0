"""SGD that sees a fixed data set many times: train and test loss, solved and drawn."""

from __future__ import annotations

import math

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.random_features import train
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Reproduction, Row, by_draw, draw_means, verdict
from scalinglab.theory import dmft

SPECTRUM = Spectrum.power_law(1.5, 1.25, 200)
N_PARAMS, N_DATA, NOISE = 60, 100, 0.5
STEPS = {"smoke": 60, "laptop": 400}
DRAWS = {"smoke": 16, "laptop": 200}
SHUFFLED = ((0.2, 2), (0.2, 8))  # rates and batch sizes


def settings(steps: int) -> dict[str, dict[str, dmft.MultiPassSGD]]:
    """Optimizers of either panel."""
    sgd = dmft.MultiPassSGD
    left = 1 - np.arange(steps) / steps
    cosine, wsd = (1 + np.cos(math.pi * (1 - left))) / 2, np.minimum(1, left / 0.2)
    return {
        "batch size": {f"batch {b}": sgd(0.2, b) for b in (2, 8, 32)},
        "schedule, momentum, decay": {
            "linear": sgd(0.2, 2, schedule=tuple(left)),
            "cosine": sgd(0.2, 2, schedule=tuple(cosine)),
            "constant, last fifth linear": sgd(0.2, 2, schedule=tuple(wsd)),
            "momentum 0.9, weight decay 0.1": sgd(0.02, 2, 0.9, 0.1),
        },
    }


def multi_pass(scale: str) -> Reproduction:
    """Test and train loss against passes, beside draws, and three limits."""
    steps = STEPS[scale]
    figure, axes = style.panels(1, 2, sharey=True)
    table: list[Row] = []
    parts: list[Curves] = []
    times = np.unique(np.round(np.geomspace(1, steps, 40)))
    shown = times[::8]
    for axis, (title, chosen) in zip(axes[0], settings(steps).items()):
        style.loglog(axis, "steps", "loss", f"{title}: test (full) and train loss (dashed)")
        for place, ((name, sgd), color) in enumerate(zip(chosen.items(), style.PALETTE)):
            found = dmft.solve(SPECTRUM, times, N_PARAMS, N_DATA, NOISE, sgd)
            axis.plot(times, found.test_loss, color=color, label=name)
            axis.plot(times, found.train_loss, "--", color=color)
            at = np.append(shown[shown < steps], steps)
            drawn = train(SPECTRUM, at, N_PARAMS, N_DATA, NOISE, sgd, draws=DRAWS[scale], seed=place)
            parts += [found.curves(), drawn]
            for kind in ("test_loss", "train_loss"):
                _, losses = by_draw(drawn.frame, "time", kind)
                draw_means(axis, at, losses, ms=3, color=color)
                solved = float(np.interp(steps, times, getattr(found, kind)))
                words = kind.replace("_", " ")
                table.append(
                    verdict.mean(losses[:, -1] / solved).row(
                        f"{name}: simulated over solved {words} after {steps} steps", expected=1.0,
                        relation="in", resolution=0.05, note=f"{DRAWS[scale]} draws of features and data")
                )  # fmt: skip
        axis.legend(fontsize=7)
    table += [*shuffled(scale), *limits()]
    return Reproduction(Curves.concat(parts), figure, tuple(table))


def shuffled(scale: str) -> list[Row]:
    """Passes in a shuffled order against batches that are drawn anew, on the same features and data."""
    steps, rows = STEPS[scale], []
    for rate, batch in SHUFFLED:
        setting = (SPECTRUM, [steps], N_PARAMS, N_DATA, NOISE, dmft.MultiPassSGD(rate, batch))
        losses = [train(*setting, draws=DRAWS[scale], shuffled=one).frame for one in (True, False)]
        for kind in ("test_loss", "train_loss"):
            ratio = verdict.quotient(*(frame[kind].to_numpy() for frame in losses))
            words = kind.replace("_", " ")
            rows.append(
                ratio.row(f"batch {batch}, shuffled passes: {words} over that of drawn batches",
                          expected=1.0, relation="<", note=f"simulated, {steps} steps of rate {rate:g}")
            )  # fmt: skip
    return rows


def limits() -> list[Row]:
    """Limits in which another solver or a closed form gives the same number."""
    huge = 1e12
    pairs = {
        "no noise of batches: test loss over that of gradient descent": (
            dmft.solve(SPECTRUM, [50], N_PARAMS, N_DATA, NOISE, dmft.MultiPassSGD(0.2, huge, 0.5)).test_loss,
            dmft.solve(SPECTRUM, [50], N_PARAMS, N_DATA, NOISE, dmft.GradientDescent(0.2, 0.5)).test_loss,
        ),
        "weight decay, to the end: test loss over that of ridge regression": (
            dmft.solve(
                SPECTRUM, [800], N_PARAMS, N_DATA, NOISE, dmft.MultiPassSGD(0.5, huge, 0.0, 0.05)
            ).test_loss,
            np.array([dmft.final(SPECTRUM, N_PARAMS, N_DATA, NOISE, ridge=0.05).test_loss]),
        ),
        "data without end, mean-field: test loss over that of one pass": (
            dmft.solve(SPECTRUM, [50], N_PARAMS, 1e9, NOISE, dmft.MultiPassSGD(0.2, 64)).test_loss,
            dmft.one_pass(SPECTRUM, np.full(50, 0.2), 64, N_PARAMS, NOISE).test_loss[-1:],
        ),
    }
    return [
        verdict.Number(float(a[0] / b[0]), verdict.NUMERICAL).row(
            name, expected=1.0, relation="in", resolution=1e-3)
        for name, (a, b) in pairs.items()
    ]  # fmt: skip
