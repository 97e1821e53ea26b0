r"""The perceptron with other losses, a penalty on the norm, structured inputs and noisy labels.

A student minimises the mean of ℓ(y w·x) over n examples plus ridge·|w|²/2. Inputs are Gaussian with the
covariance of a `Spectrum`, labels y = sign(w*·x + τξ), a share p of them turned round: τ is noise, or what of
a misspecified teacher no input shows. With ρ = Σ λ_k w*_k² (the spectrum's power), the overlaps
m = Σ λ_k w*_k w_k and q = Σ λ_k w_k², and r = n·ridge, the replica-symmetric equations (exact for convex
losses, by Gordon's comparison theorem) are

    V = Σ λ/(r + V̂λ),   m = m̂ Σ λ (λw*²)/(r + V̂λ),   q = Σ (m̂² λ² (λw*²) + q̂ λ²)/(r + V̂λ)²,
    V̂ = −n ∫ P(u) g'(u),   q̂ = n ∫ P(u) g(u)²,   m̂ = n ∫ 2 N(u; 0, q) (1 − 2p) N(mu/q; 0, v) g(u),

u = y w·x being the margin of an example that was left out, P(u) = 2 N(u; 0, q) [p + (1 − 2p) Φ(mu/(q√v))] its
density, v = ρ + τ² − m²/q, and g(u) = (z − u)/V the pull of the loss, z = argmin (z − u)²/2V + ℓ(z) its
proximal operator. Smooth losses are integrated over z, where u = z + V ℓ'(z) and g = −ℓ'(z) are explicit.

Limits: the square loss is ridge regression (`theory.kernel`), the logistic loss on white inputs the student
of fixed norm (`fixed_norm`, with the sharpness √q/2), the hinge loss at ridge → 0 maximal stability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import root
from scipy.special import expit, ndtr

from scalinglab.errors import BadInput, NotConverged, nearest
from scalinglab.spectrum import Nodes, Spectrum
from scalinglab.support.roots import bisect
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    from scalinglab.curves import Curves

Function = Callable[[np.ndarray], np.ndarray]

REACH = 8.6  # standard deviations of a Gaussian that are integrated
ORDER = 10  # Gauss–Legendre nodes a panel
SCALES = 2.0 ** np.arange(
    -24, 1
)  # edges of panels in units of the margins' width: teachers that are well known
STEEP = 2.0 ** np.arange(-5, 11)  # edges in units of the loss's own scale, one
CONTINUED = 4.0  # ratio of ridges from one to the next of the way to a small one
TOLERANCE = 1e-9  # of the equations of order parameters, all of order one


@dataclass(frozen=True)
class Loss:
    """A convex loss of the margin: ℓ, ℓ' and ℓ''; at a kink ℓ' jumps, and ℓ'' is that of the two sides."""

    value: Function
    slope: Function
    curvature: Function
    kink: float | None = None


def _overflowing(z: np.ndarray) -> np.ndarray:
    return np.exp(np.minimum(-z, 600.0))


LOSSES = {
    "square": Loss(lambda z: (1 - z) ** 2 / 2, lambda z: z - 1, np.ones_like),
    "logistic": Loss(lambda z: np.logaddexp(0, -z), lambda z: -expit(-z), lambda z: expit(z) * expit(-z)),
    "exponential": Loss(_overflowing, lambda z: -_overflowing(z), _overflowing),
    "hinge": Loss(lambda z: np.maximum(1 - z, 0), lambda z: np.where(z < 1, -1.0, 0.0), np.zeros_like, 1.0),
}
"""Losses of the margin z = y w·x by name: (1 − z)²/2, ln(1 + e^−z), e^−z, max(0, 1 − z)."""


@dataclass(frozen=True, eq=False)
class Penalised:
    """The student at each ridge; arrays of the shape of `ridge`.

    Attributes:
        ridge: of the penalty ridge·|w|²/2.
        error: share of fresh labels, noise included, that the student gets wrong.
        overlap: cosine between teacher and student under the covariance of the inputs.
        norm: |w|.
        field: √q, the standard deviation of w·x.
        train_loss: the mean of ℓ over the examples, without the penalty.
        train_error: share of the examples that the student gets wrong.
        loss, n_data, noise, flips: as asked for.
    """

    ridge: np.ndarray
    error: np.ndarray
    overlap: np.ndarray
    norm: np.ndarray
    field: np.ndarray
    train_loss: np.ndarray
    train_error: np.ndarray
    loss: str
    n_data: float
    noise: float
    flips: float

    def curves(self) -> Curves:
        """A table of curves, one row a ridge."""
        from scalinglab.curves import Curves

        names = ("ridge", "norm", "field", "overlap", "train_loss", "train_error")
        table = {name: np.ravel(getattr(self, name)) for name in names}
        setting = {"model": f"perceptron, {self.loss} loss", "n_data": self.n_data, "noise": self.noise,
                   "flips": self.flips}  # fmt: skip
        return Curves({**setting, **table, "test_error": np.ravel(self.error)}, source="theory")


@checked
def penalised(
    spectrum: Spectrum,
    n_data: float,
    ridge: ArrayLike,
    loss: str = "logistic",
    noise: float = 0.0,
    flips: float = 0.0,
) -> Penalised:
    """The student that minimises mean ℓ(y w·x) + ridge |w|²/2.

    Args:
        spectrum: covariance of the inputs and the teacher's power in each direction. `dmft.white.WHITE` are
            white inputs, with n_data the load (examples per weight).
        n_data: number of examples.
        ridge: one or many, positive; many are a path.
        loss: "square", "logistic", "exponential" or "hinge".
        noise: τ, added to the teacher's field before its sign is taken.
        flips: share of labels that are turned round, below 1/2 for a student that learns.

    >>> import scalinglab as sl
    >>> path = penalised(sl.theory.dmft.white.WHITE, 5.0, [1.0, 0.1, 0.01], "hinge", flips=0.1)
    """
    if loss not in LOSSES:
        raise BadInput(f"no loss {loss!r}; {nearest(loss, LOSSES)}")
    ridges = np.atleast_1d(np.asarray(ridge, float))
    for name, value, rule in (
        ("ridge", ridges, (ridges > 0) & np.isfinite(ridges)), ("n_data", n_data, 0 < n_data < math.inf),
        ("noise", noise, 0 <= noise < math.inf), ("flips", flips, 0 <= flips <= 0.5),
    ):  # fmt: skip
        if not np.all(rule):
            raise BadInput(
                f"{name} = {value}: ridge and n_data must be positive, noise 0 or more, flips in [0, 1/2]"
            )
    problem = _Problem(spectrum.nodes(), n_data, LOSSES[loss], noise**2, flips)
    if not problem.power > 0:
        raise BadInput("target_power is zero: there is no teacher")
    rows: dict[float, tuple[float, ...]] = {}
    state, last = problem.start(), max(problem.strong, float(ridges.max()))
    for value in sorted({float(r) for r in ridges.ravel()}, reverse=True):
        count = math.ceil(math.log(last / value) / math.log(CONTINUED)) + 1
        for between in np.geomspace(last, value, count + 1)[1:]:
            state = problem.solve(float(between) * n_data, state)
        rows[value], last = problem.answer(state, value * n_data), value
    table = np.array([rows[float(r)] for r in ridges.ravel()]).T.reshape(6, *np.shape(ridge))
    error, overlap, norm, field, train_loss, train_error = table
    return Penalised(
        np.asarray(ridge, float), error, overlap, norm, field, train_loss, train_error, loss, float(n_data),
        noise, flips,
    )  # fmt: skip


class _Problem:
    """The equations of one setting; a state is ln V̂, ln q̂, ln m̂."""

    def __init__(self, nodes: Nodes, n_data: float, loss: Loss, noise: float, flips: float) -> None:
        self.nodes, self.n_data, self.loss, self.flips = nodes, n_data, loss, flips
        self.power = float(nodes.power.sum())
        self.field = self.power + noise  # variance of what the teacher takes the sign of
        trace = float((nodes.count * nodes.eigenvalues).sum())
        self.strong = 10 * max(trace, float(nodes.eigenvalues.max()) * n_data) / n_data  # Hebb's rule

    def overlaps(self, state: np.ndarray, r: float) -> tuple[float, float, float]:
        """V, m and q."""
        stiff, rough, pull = np.exp(state)
        values = self.nodes.eigenvalues
        kept = values / (r + stiff * values)
        width = float(self.nodes.count @ kept)
        m = pull * float(self.nodes.power @ kept)
        q = pull**2 * float(self.nodes.power @ kept**2) + rough * float(self.nodes.count @ kept**2)
        return width, m, q

    def margins(self, width: float, q: float) -> tuple[np.ndarray, ...]:
        """Nodes of an integral over u: u, weight, z, pull g and −g'·weight."""
        loss, reach = self.loss, REACH * math.sqrt(q)
        near = math.sqrt(q) * np.concatenate([SCALES, np.arange(2, REACH), [REACH]])
        edges = np.concatenate([-near, [0.0], near])
        if loss.kink is None:
            edges = np.append(_argument(loss, width, edges), np.concatenate([-STEEP, STEEP]))
            ends = _argument(loss, width, np.array([-reach, reach]))
        else:  # u < k − V: the slope below; on to k: z = k; above: no pull
            edges, ends = np.append(edges, [loss.kink - width, loss.kink]), np.array([-reach, reach])
        edges = np.unique(np.clip(edges, *ends))
        x, w = np.polynomial.legendre.leggauss(ORDER)
        half = np.diff(edges)[:, None] / 2
        z, weight = (edges[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel()
        if loss.kink is not None:
            u = z
            pull = np.clip((loss.kink - u) / width, 0, 1)
            stiff = np.where((u < loss.kink) & (u > loss.kink - width), 1 / width, 0.0) * weight
            return u, weight, u + width * pull, pull, stiff
        curved = loss.curvature(z)
        return z + width * loss.slope(z), weight * (1 + width * curved), z, -loss.slope(z), weight * curved

    def density(self, u: np.ndarray, m: float, q: float) -> tuple[np.ndarray, np.ndarray]:
        """P(u), and the density with which a shift of the teacher's field changes labels."""
        left = max(self.field - m * m / q, 1e-300)
        bell = np.exp(-u * u / (2 * q)) / math.sqrt(2 * math.pi * q)
        tilt = m * u / (q * math.sqrt(left))
        right = self.flips + (1 - 2 * self.flips) * ndtr(tilt)
        shifted = (1 - 2 * self.flips) * np.exp(-tilt * tilt / 2) / math.sqrt(2 * math.pi * left)
        return 2 * bell * right, 2 * bell * shifted

    def conjugates(self, width: float, m: float, q: float) -> np.ndarray:
        """The state that the overlaps give."""
        u, weight, _, pull, stiff = self.margins(width, q)
        seen, shifted = self.density(u, m, q)
        sums = [seen @ stiff, (seen * weight) @ pull**2, (shifted * weight) @ pull]
        return np.log(np.maximum(self.n_data * np.array(sums), 1e-300))

    def start(self) -> np.ndarray:
        """The state at a ridge so strong that all margins are near zero."""
        zero = np.zeros(1)
        slope, curved = -float(self.loss.slope(zero)[0]), float(self.loss.curvature(zero)[0])
        rise = slope * (1 - 2 * self.flips) * math.sqrt(2 / (math.pi * self.field))
        return np.log(self.n_data * np.maximum([curved, slope**2, rise], 1e-100))

    def solve(self, r: float, start: np.ndarray) -> np.ndarray:
        """The fixed point at r = n·ridge, by Newton's method, or by damped iteration where that fails."""

        def off(state: np.ndarray) -> np.ndarray:
            return self.conjugates(*self.overlaps(np.clip(state, -300, 300), r)) - state

        found = root(off, start, method="hybr", options={"xtol": 1e-12})
        if np.abs(found.fun).max() < TOLERANCE:
            return np.asarray(found.x)
        state = start
        for _ in range(4000):
            change = off(state)
            if np.abs(change).max() < TOLERANCE:
                return state
            state = state + 0.5 * change
        raise NotConverged(
            f"no student was found at ridge {r / self.n_data:.3g}; where labels can be separated the norm "
            "grows without end as the ridge falls: take a larger one"
        )

    def answer(self, state: np.ndarray, r: float) -> tuple[float, ...]:
        """Error, overlap, norm, field, train loss and train error."""
        width, m, q = self.overlaps(state, r)
        stiff, rough, pull = np.exp(state)
        values = self.nodes.eigenvalues
        square = pull**2 * (self.nodes.power * values) + rough * self.nodes.count * values
        norm = math.sqrt(float(np.sum(square / (r + stiff * values) ** 2)))
        u, weight, z, _, _ = self.margins(width, q)
        seen = self.density(u, m, q)[0] * weight
        angle = math.acos(min(1.0, m / math.sqrt(q * self.field)))
        error = self.flips + (1 - 2 * self.flips) * angle / math.pi
        return (
            error, m / math.sqrt(q * self.power), norm, math.sqrt(q), float(seen @ self.loss.value(z)),
            float(seen @ (z < 0)),
        )  # fmt: skip


def _argument(loss: Loss, width: float, u: np.ndarray) -> np.ndarray:
    """z with z + V ℓ'(z) = u, by bisection: the left side increases, and ℓ' ≤ 0 up to the minimum."""
    low, high = np.minimum(u, 0.0) - 1.0, np.maximum(u, 1.0)
    while (short := high + width * loss.slope(high) < u).any():
        high = np.where(short, 2 * high + 1, high)
    # edges of panels need no more than 30
    low, high = bisect(lambda z: z + width * loss.slope(z) >= u, low, high, rounds=30)
    return (low + high) / 2
