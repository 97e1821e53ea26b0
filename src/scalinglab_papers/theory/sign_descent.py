"""Sign descent where noise limits: on eigenvectors and on random features, beside SGD, solved and drawn."""

from __future__ import annotations

import math

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.random_features import sign_descent as simulated
from scalinglab.spectrum import Spectrum
from scalinglab.studies import NUMERICAL, Number, Row, by_draw, draw_means, verdict
from scalinglab.theory import dmft, one_pass

TASK, NOISE = 1.9, 1.0
MODES = 10**12
DRAWN = Spectrum.power_law(1.5, 0.6, 200)  # 92 directions, (Σλ)²/Σλ²
SIZE, RATE = 60, 0.004
STEPS = np.array([10, 30, 100, 300, 1000])
DRAWS = {"smoke": 10, "laptop": 120}
WITHIN = 0.02


def part(axis: style.Panel, scale: str) -> tuple[list[Curves], list[Row]]:
    """Losses, solved and drawn, in the panel; exponents and the floor in the table."""
    steps = np.unique(np.round(np.geomspace(1, STEPS[-1], 40)))
    style.loglog(axis, "steps", "test loss above label noise", "sign descent, label noise 1")
    parts: list[Curves] = []
    rows: list[Row] = []
    for n_params, color, name in (
        (math.inf, style.PALETTE[1], "weights of eigenvectors"),
        (float(SIZE), style.PALETTE[0], f"{SIZE} random features"),
    ):
        axis.plot(steps, _solved(n_params, steps), color=color, label=name)
        parts.append(simulated(DRAWN, STEPS, RATE, NOISE, n_params, draws=DRAWS[scale]))
        losses = by_draw(parts[-1].frame, "time")[1] - NOISE**2
        draw_means(axis, STEPS, losses, ms=3, color=color)
        for step, drawn, exact in zip(STEPS[2:], losses.T[2:], _solved(n_params, STEPS[2:])):
            rows.append(
                verdict.mean(drawn / exact).row(
                    f"sign descent, {name}: simulated over solved loss above noise after {step} steps",
                    expected=1.0, relation="in", resolution=0.05, note=f"{DRAWS[scale]} draws")
            )  # fmt: skip
    floor = float(one_pass.sign_descent(DRAWN, 10**8, RATE, NOISE, SIZE)) - NOISE**2
    axis.axhline(floor, linestyle="--", color=style.MUTED, label="its floor, closed form")
    axis.legend(fontsize=7)
    return parts, [*rows, *exponents(), *floors()]


def _solved(n_params: float, steps: np.ndarray) -> np.ndarray:
    return one_pass.sign_descent(DRAWN, steps, RATE, NOISE, n_params) - NOISE**2


def exponents() -> list[Row]:
    """Exponents in steps above the floor: on eigenvectors twice that of SGD, on features that of SGD."""
    rows = []
    for name, spectral, last, rate, size, expected in (
        ("eigenvectors", 3.0, 1e16, 1e-12, math.inf, 2 * (TASK - 1) / 3.0),  # Σ√λ is finite: a low floor
        ("random features", 1.5, 1e14, 1e-13, 1e7, (TASK - 1) / 1.5),
    ):
        spectrum, steps = Spectrum.power_law(TASK, spectral, MODES), last / 10.0 ** np.arange(4)[::-1]
        slopes = -np.diff(np.log10(one_pass.sign_descent(spectrum, steps, rate, NOISE, size) - NOISE**2))
        rows.append(
            verdict.limit(slopes).row(
                f"sign descent on {name}, a = {TASK:g}, b = {spectral:g}: exponent in steps",
                expected=expected, relation="in", resolution=WITHIN * expected,
                note=f"solved to {last:g} steps; derived: modes are learnt at rates √λ, or λ as by SGD")
        )  # fmt: skip
    return rows


def floors() -> list[Row]:
    """The end of training against its closed form."""
    end = one_pass.sign_descent(DRAWN, 10**9, 1e-3, NOISE, SIZE)
    capacity = float(dmft.final(DRAWN, SIZE).test_loss)
    root = math.pi / 4 * 1e-3 * math.sqrt(SIZE * DRAWN.trace)
    closed = (root / 2 + math.sqrt(root**2 / 4 + NOISE**2 + capacity)) ** 2
    return [
        Number(float((end - NOISE**2 - capacity) / (closed - NOISE**2 - capacity)), NUMERICAL).row(
            "sign descent on random features: floor over its closed form", expected=1.0, relation="in",
            resolution=1e-3, note="(π/4) η √(N Σλ) √(L + σ²) above the capacity")
    ]  # fmt: skip
