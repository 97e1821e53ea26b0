"""Fig. S8: teacher targets against real ones, on the same kernels.

Columns: kernels of infinitely wide networks, and the kernel of learned features (the penultimate layer of a
network trained on other classes). Rows: loss against data for both kinds of target, in units of the zero
predictor's; what is left of the spectrum beyond mode k; and the coefficient ω̄_k² = target power / λ_k.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from scalinglab.curves import Curves
from scalinglab.data import Dataset, available, load
from scalinglab.figures import style
from scalinglab.simulate.random_features import nested_loss
from scalinglab.spectrum import Spectrum
from scalinglab.studies import Number, Reproduction, Row, as_frame, draw_means, shared, verdict
from scalinglab.theory import infinite_width
from scalinglab_papers.bahri2021 import linear
from scalinglab_papers.bahri2021.learned_features import KNOWN, SCALES, learned_pool

IMAGES = {"smoke": 560, "laptop": 1600, "gpu": 1600}
SIZES = {"smoke": (10, 20, 40, 80), "laptop": (16, 32, 64, 128, 256), "gpu": (16, 32, 64, 128, 256)}
WINDOW = {"smoke": (5, 60), "laptop": (10, 200), "gpu": (10, 200)}
DRAWS = 12
KINDS = ("teacher", "real labels")


@shared
def kernels(scale: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Kernel matrices by name, each with the real targets (centred one-hot labels) on its images."""
    s = SCALES[scale]
    data, n = load(s.dataset), IMAGES[scale]
    new = np.flatnonzero(data.train_y >= KNOWN)[:n]
    pool, _ = learned_pool(scale)
    features, labels = pool.train[:n], np.eye(10 - KNOWN)[data.train_y[new] - KNOWN]
    found = {
        f"{s.dataset}, NNGP of 1 layer": (infinite_width.nngp(_centred(data, new), depth=1), labels),
        f"{s.dataset}, NTK of 3 layers": (infinite_width.ntk(_centred(data, new), depth=3), labels),
        f"{s.dataset}, learned features": (features @ features.T / features.shape[1], labels),
    }
    if scale != "smoke" and available("cifar100"):  # labels that are harder than those of digits
        hard = load("cifar100", labels="coarse")
        few = np.arange(n)
        matrix = infinite_width.ntk(_centred(hard, few), depth=3)
        found["cifar100 (20 classes), NTK of 3 layers"] = matrix, np.eye(20)[hard.train_y[few]]
    return {name: (matrix, y - y.mean(0)) for name, (matrix, y) in found.items()}


def _centred(data: Dataset, rows: np.ndarray) -> np.ndarray:
    x = data.flat().inputs("train")[rows].astype(float)
    return x - x.mean(0)


def fig_s8(scale: str) -> Reproduction:
    """Loss on teacher and on real targets, partial sums of the spectrum, and the coefficients ω̄_k²."""
    matrices = kernels(scale)
    sizes, window = np.array(SIZES[scale]), WINDOW[scale]
    figure, axes = style.panels(3, len(matrices), size=(3.6, 2.8))
    rows: list[Row] = []
    frames = []
    for column, (name, (matrix, labels)) in enumerate(matrices.items()):
        values, vectors = np.linalg.eigh(matrix / len(matrix))
        roots = vectors * np.sqrt(np.maximum(values, 0) * len(matrix))
        teacher = roots @ np.random.default_rng(0).standard_normal((len(matrix), 400))
        spectra = {
            KINDS[0]: Spectrum.from_kernel(matrix, teacher),
            KINDS[1]: Spectrum.from_kernel(matrix, labels),
        }
        losses = {
            KINDS[0]: nested_loss(matrix, sizes, draws=DRAWS) / np.mean(np.diag(matrix)),
            KINDS[1]: nested_loss(matrix, sizes, targets=labels, draws=DRAWS) / np.mean(np.sum(labels**2, 1)),
        }
        exponents = {kind: linear.exponent(sizes, found) for kind, found in losses.items()}
        style.loglog(axes[0, column], "examples D", "loss / zero predictor's" if column == 0 else "")
        axes[0, column].set_title(name.replace(", ", "\n"))
        for kind, color in zip(KINDS, style.PALETTE):
            label = f"{kind}: {exponents[kind]}"
            draw_means(axes[0, column], sizes, losses[kind], color=color, label=label, fmt="o-")
            frames.append(as_frame(sizes, losses[kind], model=name, targets=kind))
        style.legend(axes[0, column])
        powers = {kind: _power(values, vectors, labels) if kind == KINDS[1] else None for kind in KINDS}
        rows += _loss_rows(name, exponents, sizes, values, powers)
        _draw_partial_sums(axes[1, column], spectra[KINDS[0]].eigenvalues, window)
        draw_coefficients(axes[2, column], spectra, window)
    for row, label in ((1, "1 − Σ λ (normalised)"), (2, "ω̄_k² (relative)")):
        axes[row, 0].set_ylabel(label)
    curves = Curves(pd.concat(frames, ignore_index=True), settings=["targets"], source="simulate")
    return Reproduction(curves, figure, tuple(rows))


def _draw_partial_sums(axis: Axes, eigenvalues: np.ndarray, window: tuple[int, int]) -> None:
    tail = np.cumsum(eigenvalues[::-1])[::-1]
    left = tail[1:] / tail[0]  # 1 − Σ_{j ≤ k} λ_j / Σ λ, without the last, which is zero
    k = np.arange(1, len(left) + 1)
    style.loglog(axis, "mode k", "")
    axis.plot(k, left, color=style.INK, label=f"partial sums: {_slope(k, left, window):.2f}")
    axis.set_ylim(max(left[-1], 1e-6), 1.2)
    style.legend(axis)


def draw_coefficients(axis: Axes, spectra: Mapping[str, Spectrum], window: tuple[int, int]) -> None:
    """ω̄_k² relative to their mean over the modes up to the window's end, and λ_k for comparison."""
    style.loglog(axis, "mode k", "")
    for kind, color in zip(KINDS, style.PALETTE):
        weights = spectra[kind].target_power / spectra[kind].eigenvalues
        k = np.arange(1, len(weights) + 1)
        label = f"{kind}: slope {-_slope(k, weights, window):.2f}"
        axis.plot(k, weights / weights[: window[1]].mean(), ".", ms=2, color=color, label=label)
    eigenvalues = spectra[KINDS[0]].eigenvalues
    k = np.arange(1, len(eigenvalues) + 1)
    axis.plot(k, eigenvalues / eigenvalues[0], color=style.INK, lw=1, label="λ_k/λ_1")
    axis.set(xlim=(1, 2 * window[1]), ylim=(1e-4, 1e3))
    style.legend(axis)


def _power(values: np.ndarray, vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Power of the targets in each mode of the kernel on its n inputs, in the order of `values`."""
    return np.sum((vectors.T @ labels) ** 2, axis=1) / len(values)


def _loss_rows(
    name: str,
    exponents: dict[str, Number],
    sizes: np.ndarray,
    values: np.ndarray,
    powers: dict[str, np.ndarray | None],
) -> list[Row]:
    teacher, real = exponents[KINDS[0]], exponents[KINDS[1]]
    note = "expected: eq. S12 with the spectrum and targets of the same images at the same D, by the same fit"
    rows = [
        exponents[kind].row(
            f"{name}: α_D, {kind}", note=note,
            expected=linear.expected_exponent(sizes, values, powers[kind]),
        )
        for kind in KINDS
    ]  # fmt: skip
    apart = verdict.difference(teacher, real).row(
        f"{name}: α_D of teacher less that of real targets", expected=0.0, relation=">",
        note="the paper: teacher targets scale better",
    )  # fmt: skip
    return [*rows, apart]


def _slope(k: np.ndarray, values: np.ndarray, window: tuple[int, int]) -> float:
    """The exponent of values ~ k^-slope inside the window, modes weighted evenly in log k."""
    inside = (k >= window[0]) & (k <= window[1])
    weight = 1 / np.sqrt(k[inside])
    # ω̄² of one mode is χ²-distributed: the mean of its logarithm is shifted, the slope is not
    return float(-np.polyfit(np.log(k[inside]), np.log(values[inside]), 1, w=weight)[0])
