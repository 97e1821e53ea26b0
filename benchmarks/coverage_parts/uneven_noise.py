"""Can one rule cover noise that grows and noise that falls with size, from five sizes measured once?

The linearised fit of E + A x^-c to five sizes leaves two numbers c, all that the points tell of their noise.
A rule that does not depend on the unit of the noise has the half-width |c| h(θ), where θ is the direction of
c; its coverage is that of the error of a prediction over |c|. Among all h between H/f and f H, with H the one
half-width that covers 90 % of growing noise, linear programming finds the least coverage of falling noise
that leaves 90 % to growing and to even noise: no rule of such widths around the fit does better.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, sparse

SIZES = np.geomspace(1e3, 1e5, 5)
GROWTH = {"grows": 0.3, "even": 0.0, "falls": -0.3}  # γ of noise ∝ x^γ
DIRECTIONS, WIDTHS = 30, 300
LEAST = 0.9


def gradient(x: np.ndarray) -> np.ndarray:
    """(x, 3) of ln (E + A x^-c) at 0.05 + 3 x^-0.4."""
    value = 0.05 + 3 * x**-0.4
    return np.stack([np.ones_like(x), x**-0.4, -3 * x**-0.4 * np.log(x)], axis=-1) / value[:, None]


def coverage(growth: float, place: float, draws: int) -> np.ndarray:
    """(directions, widths) probability of a direction, and of an error of at most the width over |c|."""
    rng, design = np.random.default_rng(0), gradient(SIZES)
    contrasts = np.linalg.qr(design, mode="complete")[0][:, 3:]
    noise = rng.standard_normal((draws, 5)) * (SIZES / 1e5) ** growth
    later = rng.standard_normal(draws) * (place / 1e5) ** growth
    error = later - noise @ (gradient(np.array([place])) @ np.linalg.pinv(design))[0]
    seen = noise @ contrasts
    direction = np.mod(np.arctan2(seen[:, 1], seen[:, 0]), np.pi)
    angle = np.abs(np.arctan2(error, np.hypot(*seen.T)))
    angle = np.minimum(angle, np.pi - angle)
    edges = np.linspace(0, np.pi, DIRECTIONS + 1), np.linspace(0, np.pi / 2, WIDTHS + 1)
    return np.cumsum(np.histogram2d(direction, angle, bins=edges)[0] / draws, axis=1)


def least_coverage(tables: dict[str, np.ndarray], factor: float) -> float:
    """The least coverage of falling noise among half-widths within a factor of the one for growing noise."""
    widths = np.tan(np.linspace(0, np.pi / 2, WIDTHS + 1)[1:])
    one = int(np.searchsorted(tables["grows"].sum(axis=0), LEAST))
    near = (widths >= widths[one] / factor) & (widths <= widths[one] * factor)
    near[one] = True
    grows, even, falls = (tables[name][:, near].ravel() for name in ("grows", "even", "falls"))
    each = sparse.kron(sparse.eye(DIRECTIONS), np.ones((1, int(near.sum()))))
    found = optimize.linprog(
        falls, A_ub=-np.array([grows, even]), b_ub=[-LEAST, -LEAST], A_eq=each, b_eq=np.ones(DIRECTIONS)
    )
    return float(found.fun)


def uneven_noise(draws: int = 1_000_000) -> None:
    """Print the least coverage of falling noise by how far half-widths may follow the direction."""
    factors = (1.0, 1.5, 2.0, 3.0)
    print("five sizes measured once: where noise that grows and even noise are held in 90 % or more,")
    print("the least share of falling noise that is held / %, by how far the width may follow the residuals")
    print(f"{'predicted at':<30}" + "".join(f"{f'a factor of {f:g}':>18}" for f in factors))
    for name, place in (("the largest size", 1e5), ("ten times the largest", 1e6)):
        tables = {key: coverage(growth, place, draws) for key, growth in GROWTH.items()}
        print(f"{name:<30}" + "".join(f"{100 * least_coverage(tables, f):>18.1f}" for f in factors))
