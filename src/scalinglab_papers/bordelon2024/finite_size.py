"""How far systems of finite size are from the mean-field theory: the excess falls as 1/N."""

from __future__ import annotations

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.spectrum import Spectrum
from scalinglab.studies.draws import loglog_figure
from scalinglab.studies.registry import Reproduction
from scalinglab.studies.verdict import Row
from scalinglab.theory import dmft
from scalinglab_papers.bordelon2024 import common

STACK = 100  # draws at a time


def finite_size(scale: str) -> Reproduction:
    """Mean simulated loss over theory − 1, at N : P = 1 : 2 and several sizes."""
    spectrum = Spectrum.power_law(common.TASK, common.SPECTRAL, {"smoke": 100, "laptop": 200}[scale])
    sizes = {"smoke": (8, 16), "laptop": (12, 24, 48, 96)}[scale]
    draws = {"smoke": (1000, 500), "laptop": (40_000, 30_000, 12_000, 12_000)}[scale]
    times = np.array([20.0, 200.0])
    parts = []
    for place, (size, count) in enumerate(zip(sizes, draws)):
        losses = over_signs(spectrum, times, size, count, common.fresh(90, place))
        solved = dmft.solve(spectrum, times, size, 2 * size)
        excess = losses / solved.test_loss - 1
        parts.append(pd.DataFrame({
            "n_params": float(size), "time": times, "test_loss": losses.mean(0), "excess": excess.mean(0),
            "excess_stderr": excess.std(0, ddof=1) / np.sqrt(count),
        }))  # fmt: skip
    curves = Curves(pd.concat(parts, ignore_index=True), source="simulate")
    figure, axis = loglog_figure("N, with P = 2N", "simulated over theory − 1", "finite-size excess")
    table, order = [], "fit with the next order; " if len(sizes) > 3 else ""
    for t, color in zip(times, style.PALETTE):
        mean = curves.select(time=t).frame.sort_values("n_params")
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


def over_signs(spectrum: Spectrum, times: np.ndarray, size: int, draws: int, seed: int) -> np.ndarray:
    """(draws, times) test losses of gradient flow on P = 2N examples, averaged over the signs of the targets.

    Another sign of a target's mode is the same as another sign of that mode in features and data, which are
    Gaussian: the mean is that of one target, and at N = 96 it takes a fortieth of the draws. With the
    covariance of the features as V diag(k) Vᵀ, gains g = (1 − exp(−k t))/k and learnt weights L diag(g) R w,
    the mean over signs of (w − L g R w)ᵀ Λ (w − L g R w) is Σ w²Λ − 2 h·g + gᵀ (LᵀΛL ∘ R w² Rᵀ) g.
    """
    random, found = np.random.default_rng(seed), []
    values = np.array(spectrum.eigenvalues)
    power = np.array(spectrum.target_power) / values
    for start in range(0, draws, STACK):
        count = min(STACK, draws - start)
        features = random.standard_normal((count, size, len(values))) / np.sqrt(size)
        examples = random.standard_normal((count, 2 * size, len(values))) * np.sqrt(values)
        seen = examples @ features.swapaxes(1, 2)
        k, basis = np.linalg.eigh(seen.swapaxes(1, 2) @ seen / (2 * size))
        left = basis.swapaxes(1, 2) @ features
        right = (seen @ basis).swapaxes(1, 2) @ examples / (2 * size)
        linear = np.einsum("dnm,dnm,m->dn", left, right, power * values)
        square = ((left * values) @ left.swapaxes(1, 2)) * ((right * power) @ right.swapaxes(1, 2))
        gain = -np.expm1(-k[:, None] * times[:, None]) / k[:, None]
        found.append(power @ values - 2 * np.einsum("dtn,dn->dt", gain, linear)
                     + np.einsum("dtn,dnm,dtm->dt", gain, square, gain, optimize=True))  # fmt: skip
    return np.concatenate(found)


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
