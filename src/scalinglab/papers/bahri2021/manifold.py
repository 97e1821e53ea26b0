"""Fig. 2 right, for kernels: 4/α_D against the dimension of the data manifold.

Kernels with t derivatives on the sphere S^d, with teachers drawn from them: bahri2021 section 2.3.2 predicts
α_D = t/d. A kernel with t = 4 lies on the line 4/α_D = d of piecewise linear models. Nearest-neighbour
models, which Theorem 1 bounds, have 2/d for the squared error and 1/d for a Lipschitz loss. Losses are
averaged over the teacher exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.estimate import Estimate
from scalinglab.figures import style
from scalinglab.papers.bahri2021 import linear
from scalinglab.papers.registry import Reproduction, Row
from scalinglab.progress import track
from scalinglab.simulate.random_features import nested_loss
from scalinglab.theory import infinite_width, manifolds


@dataclass(frozen=True)
class Scale:
    """One scale: dimensions, points on the manifold, training sets, draws of each."""

    dimensions: tuple[int, ...]
    n_points: int
    sizes: tuple[int, ...]
    draws: int


SCALES = {
    "smoke": Scale((1, 2, 3, 4), 900, (64, 128, 256), 4),
    "laptop": Scale((1, 2, 3, 4, 5, 6, 7, 8), 2500, (256, 512, 1024), 5),
}


def matern(x: np.ndarray, smoothness: float) -> np.ndarray:
    """The Matérn kernel of length 1 with t derivatives (ν = t/2), (n, n)."""
    nu = smoothness / 2
    r = np.maximum(np.sqrt(2 * nu) * cdist(x, x), 1e-10)
    return 2 ** (1 - nu) / gamma(nu) * r**nu * kv(nu, r)


def relu_nngp(x: np.ndarray) -> np.ndarray:
    """One hidden ReLU layer, only the last layer trained."""
    return infinite_width.nngp(x)


def relu_ntk(x: np.ndarray) -> np.ndarray:
    """One hidden ReLU layer, both layers trained."""
    return infinite_width.ntk(x)


# name: kernel, derivatives t
KERNELS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]] = {
    "Matérn, t = 4": (lambda x: matern(x, 4.0), 4.0),
    "ReLU network, last layer (NNGP), t = 3": (relu_nngp, 3.0),
    "Matérn, t = 2": (lambda x: matern(x, 2.0), 2.0),
    "ReLU network, all layers (NTK), t = 1": (relu_ntk, 1.0),
}
NEAREST = "nearest neighbour, squared error"


def target(points: np.ndarray) -> np.ndarray:
    """A smooth function on the sphere for the nearest-neighbour model."""
    return np.sin(2 * points[:, 0]) + points[:, 0] * points[:, -1]


def fig2_right(scale: str) -> Reproduction:
    """The exponent of kernel models against the dimension of the manifold."""
    if scale not in SCALES:
        raise BadInput(f"scale {scale!r}: the kernels of this figure run at {', '.join(SCALES)}")
    s = SCALES[scale]
    sizes = np.array(s.sizes)
    figure, axes = style.panels(size=(5.6, 4.4))
    axis, rows, frames = axes[0, 0], [], []
    axis.set(xlabel="dimension d of the manifold", ylabel="4/α_D", title="kernel models on spheres")
    found: dict[str, list[Estimate]] = {name: [] for name in (*KERNELS, NEAREST)}
    for d in track(s.dimensions, "dimensions"):
        x = manifolds.sample("sphere", d, s.n_points, seed=d)
        measured = {name: nested_loss(make(x), sizes, draws=s.draws) for name, (make, _) in KERNELS.items()}
        measured[NEAREST] = manifolds.interpolation_losses(
            "sphere", d, sizes, target, power=2.0, draws=4 * s.draws
        )
        for name, losses in measured.items():
            found[name].append(linear.exponent(sizes, losses))
            draw, size = np.meshgrid(np.arange(len(losses)), sizes, indexing="ij")
            frames.append(
                pd.DataFrame(
                    {"model": name, "dimension": d, "seed": draw.ravel(), "n_data": size.ravel()}
                ).assign(test_loss=losses.ravel())
            )
    smoothness = {name: t for name, (_, t) in KERNELS.items()} | {NEAREST: 2.0}
    axis_d = np.array(s.dimensions, float)
    for (name, values), color in zip(found.items(), style.PALETTE):
        t = smoothness[name]
        inverse = np.array([4 / v.value for v in values])
        error = np.array([4 * v.stderr / v.value**2 for v in values])
        marker = "D" if name == NEAREST else "o"
        style.points(axis, axis_d, inverse, error, color=color, label=name, fmt=marker)
        axis.plot(axis_d, 4 * axis_d / t, color=color, lw=1.0, ls="-" if t == 4 else "--")
        for dimension, value in zip(s.dimensions, values):
            rows.append(_row(name, dimension, value, t))
    axis.set_ylim(0, 1.1 * 4 * axis_d.max())
    style.legend(axis, title="lines: 4/α_D = 4d/t")
    curves = Curves(pd.concat(frames, ignore_index=True), settings=["dimension"], source="simulate")
    return Reproduction(curves, figure, tuple(rows))


def _row(name: str, dimension: int, value: Estimate, smoothness: float) -> Row:
    predicted = smoothness / dimension
    return Row(
        f"α_D, d = {dimension}: {name}",
        round(predicted, 3),
        round(value.value, 3),
        error=round(value.stderr, 3),
        agrees=abs(value.value / predicted - 1) < 0.15 + 2 * value.stderr / predicted,
        note="t/d; within 15 % + 2 standard errors (finite D leaves kernels of networks above it)",
    )
