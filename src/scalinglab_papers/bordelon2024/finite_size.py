"""How far systems of finite size are from the mean-field theory: the excess falls as 1/N."""

from __future__ import annotations

import numpy as np

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.random_features import train
from scalinglab.spectrum import Spectrum
from scalinglab.studies.registry import Reproduction
from scalinglab.studies.verdict import Row
from scalinglab.theory import dmft
from scalinglab_papers.bordelon2024 import common


def finite_size(scale: str) -> Reproduction:
    """Mean simulated loss over theory − 1, at N : P = 1 : 2 and several sizes."""
    spectrum = Spectrum.power_law(common.TASK, common.SPECTRAL, {"smoke": 100, "laptop": 200}[scale])
    sizes = {"smoke": (8, 16), "laptop": (12, 24, 48, 96)}[scale]
    draws = {"smoke": (1000, 500), "laptop": (12000, 8000, 5000, 3000)}[scale]
    times = np.array([20.0, 200.0])
    parts = []
    for place, (size, count) in enumerate(zip(sizes, draws)):
        simulated = train(spectrum, times, size, 2 * size, draws=count, seed=common.fresh(90, place))
        solved = dmft.solve(spectrum, times, size, 2 * size)
        expected = dict(zip(times.tolist(), solved.test_loss.tolist()))
        relative = simulated.frame["test_loss"] / simulated.frame["time"].map(expected) - 1
        parts += [Curves(simulated.frame.assign(excess=relative)), solved.curves()]
    curves = Curves.concat(parts)
    figure, axes = style.panels()
    axis = style.loglog(axes[0, 0], "N, with P = 2N", "simulated over theory − 1", "finite-size excess")
    table, order = [], "fit with the next order; " if len(sizes) > 3 else ""
    for t, color in zip(times, style.PALETTE):
        mean = curves.select(source="simulate", time=t).average("seed").frame.sort_values("n_params")
        style.points(
            axis, mean["n_params"], mean["excess"], mean["excess_stderr"], color=color, label=f"t = {t:g}"
        )
        slope, stderr = power(*(mean[c].to_numpy() for c in ("n_params", "excess", "excess_stderr")))
        last = mean.iloc[-1]
        table.append(
            Row(
                f"exponent of the excess in N at t = {t:g}", slope, stderr, min(draws), paper=-1.0,
                note=f"the paper: O(1/N + 1/P); {order}N = {sizes[0]} … {sizes[-1]}, P = 2N; "
                f"excess {last['excess']:.2%} ± {last['excess_stderr']:.2%} at N = {sizes[-1]}",
            )
        )  # fmt: skip
    common.guide(axis, np.array(sizes, float), float(mean["excess"].iloc[0]) * 0.7, -1.0, "$N^{-1}$")
    axis.legend()
    return Reproduction(curves, figure, tuple(table))


def power(x: np.ndarray, y: np.ndarray, error: np.ndarray) -> tuple[float, float]:
    """s and its standard error of y = c x^s (1 + e/x), by least squares in y itself, which may be negative.

    With fewer than four sizes e = 0: the next order cannot be told from another exponent.
    """
    from scipy.optimize import curve_fit

    start = (float(y[0] * x[0]), -1.0, 0.0)[: 3 if len(x) > 3 else 2]
    best, covariance = curve_fit(
        lambda at, c, s, e=0.0: c * at**s * (1 + e / at), x.astype(float), y, start, sigma=error,
        absolute_sigma=True,
    )  # fmt: skip
    return float(best[1]), float(np.sqrt(covariance[1, 1]))
