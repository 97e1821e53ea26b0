"""Optimal schedules of one-pass SGD on easy and hard tasks, and what usual schedules lose against them."""

from __future__ import annotations

import math

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.spectrum import Spectrum
from scalinglab.studies import NUMERICAL, Number, Reproduction, Row
from scalinglab.theory import dmft
from scalinglab_papers.theory import real_schedules

TASKS = {"easy task": (2.5, 1.5), "hard task": (1.3, 1.5)}  # task and spectral exponents
MODES, NOISE, BATCH, HIGHEST, KNOTS = 10**5, 0.1, 1, 0.5, 24
STEPS = {"smoke": (60, 120), "laptop": (250, 1000, 4000)}
PEAKS = HIGHEST * 2.0 ** -np.arange(6)


def shapes(steps: int) -> dict[str, np.ndarray]:
    """Usual schedules, of height one."""
    left = 1 - np.arange(steps) / steps
    return {
        "constant": np.ones(steps),
        "linear": left,
        "cosine": (1 + np.cos(math.pi * (1 - left))) / 2,
        "constant, last fifth linear (WSD)": np.minimum(1, left / 0.2),
        "linear, warm-up of a tenth": np.minimum(np.arange(1, steps + 1) / (0.1 * steps), left / 0.9),
    }


def schedules(scale: str) -> Reproduction:
    """The best schedule of either task, and the loss of others at their best height."""
    figure, axes = style.panels(1 if scale == "smoke" else 2, 2)
    table: list[Row] = []
    parts: list[Curves] = []
    for axis, (name, (task, spectral)) in zip(axes[0], TASKS.items()):
        spectrum = Spectrum.power_law(task, spectral, MODES)
        shares = []
        for steps, color in zip(STEPS[scale], style.colors(STEPS[scale])):
            best = dmft.best_schedule(
                spectrum, steps, BATCH, noise=NOISE, knots=KNOTS, highest=HIGHEST, most_rounds=60
            )
            axis.plot(np.arange(steps) / steps, best.rates / HIGHEST, color=color, label=f"{steps} steps")
            shares.append(float(np.mean(best.rates[steps // 10 :] < 0.5 * best.rates.max())))
            setting = {
                "model": name,
                "task_exponent": task,
                "spectral_exponent": spectral,
                "n_data": float(steps),
            }
            parts.append(
                Curves(
                    {**setting, "time": np.arange(steps + 1), "test_loss": best.test_loss}, source="theory"
                )
            )
        axis.set_xlabel("share of steps")
        axis.set_ylabel("rate over the highest allowed")
        axis.set_title(f"{name}: the best schedule")
        axis.legend(fontsize=7)
        excess = best.test_loss[-1] - NOISE**2
        for other, shape in shapes(steps).items():
            ends = [dmft.one_pass(spectrum, peak * shape, BATCH, noise=NOISE).test_loss[-1] for peak in PEAKS]
            ratio = (min(ends) - NOISE**2) / excess
            table.append(
                Number(ratio, NUMERICAL).row(
                    f"{name}, {steps} steps: loss of {other} over that of the best schedule", expected=1.0,
                    relation=">", note="above the label noise; the best of six heights")
            )  # fmt: skip
        if name == "hard task":
            table.append(
                Number(shares[-1] / shares[0], 0.05).row(
                    f"{name}: share of steps below half the highest rate, {STEPS[scale][-1]} against "
                    f"{STEPS[scale][0]} steps", expected=1.0, relation="<", note="annealing: a falling share")
            )  # fmt: skip
    if scale != "smoke":
        table += real_schedules.part(*axes[1])
    return Reproduction(Curves.concat(parts), figure, tuple(table))
