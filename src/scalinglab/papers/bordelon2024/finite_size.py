"""How far systems of finite size are from the mean-field theory: the excess falls as 1/N."""

from __future__ import annotations

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.papers.bordelon2024 import common
from scalinglab.papers.registry import Reproduction
from scalinglab.simulate.random_features import train
from scalinglab.spectrum import Spectrum
from scalinglab.theory import dmft


def finite_size(scale: str) -> Reproduction:
    """Mean simulated loss over theory − 1, at N : P = 1 : 2 and several sizes."""
    spectrum = Spectrum.power_law(common.TASK, common.SPECTRAL, {"smoke": 100, "laptop": 200}[scale])
    sizes = {"smoke": (8, 16), "laptop": (12, 24, 48, 96)}[scale]
    draws = {"smoke": (1000, 500), "laptop": (12000, 8000, 5000, 3000)}[scale]
    times = np.array([20.0, 200.0])
    parts = []
    for size, count in zip(sizes, draws):
        simulated = train(spectrum, times, size, 2 * size, draws=count, seed=3)
        solved = dmft.solve(spectrum, times, size, 2 * size)
        expected = dict(zip(times.tolist(), solved.test_loss.tolist()))
        relative = simulated.frame["test_loss"] / simulated.frame["time"].map(expected) - 1
        parts += [Curves(simulated.frame.assign(excess=relative)), solved.curves()]
    curves = Curves.concat(parts)
    figure, axes = style.panels()
    axis = style.loglog(axes[0, 0], "N, with P = 2N", "simulated over theory − 1", "finite-size excess")
    table = []
    for t, color in zip(times, style.PALETTE):
        mean = curves.select(source="simulate", time=t).average("seed").frame.sort_values("n_params")
        style.points(
            axis, mean["n_params"], mean["excess"], mean["excess_stderr"], color=color, label=f"t = {t:g}"
        )
        slope, error = common.log_slope(
            mean["n_params"].to_numpy(), mean["excess"].abs().to_numpy(), mean["excess_stderr"].to_numpy()
        )
        table.append(
            common.slope_row(
                f"slope of the excess in N at t = {t:g}", -1.0, slope, 0.15, error,
                f"the paper: O(1/N + 1/P); excess {float(mean['excess'].iloc[-1]):.2%} at N = {sizes[-1]}",
            )
        )  # fmt: skip
    common.guide(axis, np.array(sizes, float), float(mean["excess"].iloc[0]) * 0.7, -1.0, "$N^{-1}$")
    axis.legend()
    return Reproduction(curves, figure, tuple(table))
