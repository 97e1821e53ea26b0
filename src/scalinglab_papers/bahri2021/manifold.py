"""Fig. 2 right, for kernels: 4/α_D against the dimension of the data manifold.

Kernels with t derivatives on the sphere S^d, with teachers drawn from them: bahri2021 section 2.3.2 predicts
α_D = t/d. A kernel with t = 4 lies on the line 4/α_D = d of piecewise linear models. Losses are averaged over
the teacher exactly. t/d is for large D; eq. S12 gives the exponent at the very D that are measured.

Theorems 1 and 2: models that are right at D (or P) points of the manifold. Nearest-neighbour models have 1/d
for a Lipschitz loss, which both theorems bound, and 2/d for the squared error. They are not Lipschitz, as the
theorems ask, but the bound follows all the same: with x̂ the nearest point, f(x) = F(x̂), and
|f(x) − F(x)| = |F(x̂) − F(x)| ≤ K_F |x − x̂|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.simulate.random_features import nested_loss
from scalinglab.studies import Number, Reproduction, as_frame, draw_power
from scalinglab.support.work import track
from scalinglab.theory import infinite_width, manifolds
from scalinglab_papers.bahri2021 import linear


@dataclass(frozen=True)
class Scale:
    """One scale: dimensions, points on the manifold, training sets, draws of each."""

    dimensions: tuple[int, ...]
    n_points: int
    sizes: tuple[int, ...]
    draws: int


SCALES = {
    "smoke": Scale(dimensions=(1, 2, 3, 4), n_points=900, sizes=(64, 128, 256), draws=4),
    "laptop": Scale(dimensions=(1, 2, 3, 4, 5, 6, 7, 8), n_points=2500, sizes=(256, 512, 1024), draws=5),
}  # fmt: skip


def matern(x: np.ndarray, smoothness: float) -> np.ndarray:
    """The Matérn kernel of length 1 with t derivatives (ν = t/2), (n, n)."""
    nu = smoothness / 2
    r = np.maximum(np.sqrt(2 * nu) * cdist(x, x), 1e-10)
    return 2 ** (1 - nu) / gamma(nu) * r**nu * kv(nu, r)


# name: kernel, derivatives t
KERNELS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]] = {
    "Matérn, t = 4": (lambda x: matern(x, 4.0), 4.0),
    "ReLU network, last layer (NNGP), t = 3": (infinite_width.nngp, 3.0),
    "Matérn, t = 2": (lambda x: matern(x, 2.0), 2.0),
    "ReLU network, all layers (NTK), t = 1": (infinite_width.ntk, 1.0),
}
AT_EQUAL_SIZE = 4  # the dimension in which exponents are compared with S12 too


def on_sphere(points: np.ndarray) -> np.ndarray:
    """A smooth function on the sphere for the nearest-neighbour model."""
    return np.sin(2 * points[:, 0]) + points[:, 0] * points[:, -1]


def on_torus(points: np.ndarray) -> np.ndarray:
    """A smooth function on the torus, of angles in units of the circle."""
    return np.sin(2 * np.pi * points[:, 0]) + np.cos(2 * np.pi * points[:, -1])


TARGETS = {"sphere": on_sphere, "torus": on_torus}


def fig2_right(scale: str) -> Reproduction:
    """The exponent of kernel models against the dimension of the manifold."""
    s = SCALES[scale]
    sizes = np.array(s.sizes)
    figure, axes = style.panels(size=(5.6, 4.4))
    axis, rows, frames = axes[0, 0], [], []
    axis.set(xlabel="dimension d of the manifold", ylabel="4/α_D", title="kernel models on spheres")
    found: dict[str, list[Number]] = {name: [] for name in KERNELS}
    for d in track(s.dimensions, "dimensions"):
        x = manifolds.sample("sphere", d, s.n_points, seed=d)
        for name, (make, t) in KERNELS.items():
            kernel = make(x)
            losses = nested_loss(kernel, sizes, draws=s.draws)
            alpha = linear.exponent(sizes, losses)
            found[name].append(alpha)
            rows.append(alpha.row(f"α_D, d = {d}: {name}", paper=t / d, note="the paper: t/d, for large D"))
            if d == AT_EQUAL_SIZE:
                expected = linear.expected_exponent(sizes, np.linalg.eigvalsh(kernel / len(x)))
                note = "expected: eq. S12 with the spectrum of the same points, by the same fit"
                name_there = f"α_D, d = {d}: {name}, against S12 at these D"
                rows.append(alpha.row(name_there, expected=expected, note=note))
            frames.append(as_frame(sizes, losses, model=name, dimension=d))
    axis_d = np.array(s.dimensions, float)
    for (name, values_of), color in zip(found.items(), style.PALETTE):
        t = KERNELS[name][1]
        inverse = np.array([4 / v.value for v in values_of])
        error = np.array([4 * v.stderr / v.value**2 for v in values_of])
        style.points(axis, axis_d, inverse, error, color=color, label=name)
        axis.plot(axis_d, 4 * axis_d / t, color=color, lw=1.0, ls="-" if t == 4 else "--")
    axis.set_ylim(0, 1.1 * 4 * axis_d.max())
    style.legend(axis, title="lines: 4/α_D = 4d/t")
    curves = Curves(pd.concat(frames, ignore_index=True), settings=["dimension"], source="simulate")
    return Reproduction(curves, figure, tuple(rows))


# --- Theorems 1 and 2 ------------------------------------------------------------------------------------

BOUNDED = {"smoke": ((64, 256, 1024), 20), "laptop": ((1000, 4000, 16000), 40)}  # sizes, draws
# a period of the torus is not large against the distance of neighbours in more dimensions
DIMENSIONS: dict[str, dict[str, tuple[int, ...]]] = {
    "sphere": {"smoke": (1, 2, 3), "laptop": (1, 2, 4, 8)},
    "torus": {"smoke": (1, 2, 3), "laptop": (1, 2, 3)},
}


def theorem(scale: str, kind: str, letter: str, column: str) -> Reproduction:
    """A model that is right at D training points of a sphere, or at P points of a torus."""
    sizes, draws = BOUNDED[scale]
    dimensions = DIMENSIONS[kind][scale]
    at = np.array(sizes)
    figure, axes = style.panels(1, 2, size=(4.2, 3.4))
    rows, frames = [], []
    for axis, (power, loss) in zip(axes[0], ((1.0, "|f − F|"), (2.0, "(f − F)²"))):
        style.loglog(axis, f"points {letter} at which the model is right", loss, f"nearest neighbour, {kind}")
        for d, color in zip(dimensions, style.colors(dimensions)):
            losses = manifolds.interpolation_losses(kind, d, at, TARGETS[kind], power=power, draws=draws)
            found = linear.exponent(at, losses)
            draw_power(axis, at, losses, power / d, color, f"d = {d}: {found}")
            frames.append(as_frame(at, losses, column, model=loss, dimension=d))
            note = "1/d, the bound of the theorem" if power == 1 else "2/d, for a loss that is smooth at 0"
            quantity = f"exponent of {loss} in {letter}, d = {d}"
            rows.append(found.row(quantity, paper=power / d, note=f"the paper: {note}"))
        style.legend(axis)
    curves = Curves(pd.concat(frames, ignore_index=True), settings=["dimension"], source="simulate")
    return Reproduction(curves, figure, tuple(rows))
