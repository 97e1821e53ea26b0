"""Does a form fit, or do the points bend away from it? One test for curves, surfaces and few points.

The residuals of a linearised fit are r = (1 − H) ε, H the projection on what the form can follow. A *bend* is
one or more columns that the form lacks; the statistic is the largest part of Σ r² that any bend of a family
explains beside the form,

    T = max_b |P_b r|²/|r|²,    P_b the projection on the columns of b less what the form follows of them.

Of a family of one bend with k columns T has a beta distribution, and the p-value is that of the F test with k
and n − p − k degrees of freedom. Of larger families it is drawn: noise is projected like the residuals were.

    what is tested                      family
    a law over 8 sizes and more         a hinge max(0, ln x − ln x_b) at every size but the outer two
    a law over fewer, repeated, sizes   a level of its own for every size (the classical lack-of-fit test)
    a straight line in logarithms       a parabola in ln x; a floor (a form with one parameter more)
    a surface                           (ln n_params)², ln n_params · ln n_data, (ln n_data)²
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scalinglab.laws.fitting.data.points import Points
from scalinglab.laws.fitting.solution import ROUNDING, Solution
from scalinglab.laws.fitting.statistics import f_pvalue
from scalinglab.results.distributions import FEWEST
from scalinglab.results.sentences import LEAST_P

SIGNIFICANT = 0.05  # convention: p-value below which points bend, and residuals are not what a fit assumes
LEAST_CHANGE = 1e-3  # convention: of an exponent, below which a bend is rounding: three digits are printed
# defined: of a surface; five parameters and three columns leave as many degrees of freedom
FEWEST_RUNS = 2 * (5 + 3)
DRAWS = round(1 / LEAST_P)  # search: p-values as small as are printed, with a standard error of 0.007 at 0.05


@dataclass(frozen=True)
class Bend:
    """Whether points bend away from a form.

    Attributes:
        pvalue: of a form that fits; NaN where the points are too few to tell.
        place: the size at the hinge; NaN for a bend that has none.
        change: of the exponent −d ln y/d ln x over the bend, positive where the curve steepens; NaN of
            surfaces.
        change_error: one standard error of `change`, with `dof` degrees of freedom.
    """

    pvalue: float = math.nan
    place: float = math.nan
    change: float = math.nan
    change_error: float = math.nan
    dof: int = 0

    @property
    def seen(self) -> bool | None:
        """Whether the points bend; None where they cannot tell."""
        if math.isnan(self.pvalue):
            return None
        return self.pvalue < SIGNIFICANT and not abs(self.change) < LEAST_CHANGE

    @property
    def located(self) -> bool:
        """Whether a bend is seen, and where."""
        return math.isfinite(self.place)

    @property
    def steepens(self) -> bool:
        """Whether a bend is seen, and the curve falls faster beyond it."""
        return self.seen is True and self.change > 0


CANNOT_TELL = Bend()


@dataclass(frozen=True)
class Residuals:
    """Residuals of a linear fit, in the order of size.

    Attributes:
        values: (n,) measured − fitted.
        basis: (n, p) orthonormal: what the fit follows.
    """

    values: np.ndarray
    basis: np.ndarray

    @classmethod
    def of(cls, measured: np.ndarray, design: np.ndarray) -> Residuals:
        """Those of least squares."""
        basis, _ = np.linalg.qr(design)
        return cls(measured - basis @ (basis.T @ measured), basis)

    @property
    def dof(self) -> int:
        """Points minus parameters."""
        return self.basis.shape[0] - self.basis.shape[1]

    @cached_property
    def unfitted(self) -> np.ndarray:
        """(n,) the part of each point's noise that is left in its residual, the diagonal of 1 − H."""
        return np.asarray(1 - np.sum(self.basis**2, axis=1))

    def beside(self, columns: np.ndarray) -> np.ndarray:
        """Columns (…, n, k) less what the fit follows of them."""
        return np.asarray(columns - self.basis @ (self.basis.T @ columns))

    def drawn(self, correlation: float = 0.0) -> np.ndarray:
        """(draws, n) residuals of noise with this correlation between neighbours."""
        noise = np.random.default_rng(0).standard_normal((DRAWS, len(self.values)))
        if correlation:
            noise[:, 1:] *= math.sqrt(1 - correlation**2)
            for i in range(1, noise.shape[1]):
                noise[:, i] += correlation * noise[:, i - 1]
        return np.asarray(noise - (noise @ self.basis) @ self.basis.T)

    def pvalue(self, statistic: Callable[[np.ndarray], np.ndarray], correlation: float = 0.0) -> float:
        """How likely a statistic of residuals (sets, n) is as large as here, where the noise is even."""
        return float(np.mean(statistic(self.drawn(correlation)) >= statistic(self.values[None])[0]))


class BendFamily:
    """Bends beside a fit, and what each explains of its residuals."""

    def __init__(self, residuals: Residuals, bends: np.ndarray) -> None:
        """`bends`: (members, n, k), the columns of each."""
        self.residuals, self.count = residuals, bends.shape[2]
        self.columns = residuals.beside(bends)
        size = np.maximum(np.linalg.norm(self.columns, axis=1, keepdims=True), 1e-300)
        self.axes, _ = np.linalg.qr(self.columns / size)  # (members, n, k)

    def explained(self, r: np.ndarray) -> np.ndarray:
        """(sets, members) the part of Σ r² of residuals (sets, n) that each explains."""
        within = np.tensordot(r, self.axes, axes=(1, 1))  # (sets, members, k)
        return np.asarray(np.sum(within**2, axis=2) / np.sum(r**2, axis=1)[:, None])

    def most_explained(self, r: np.ndarray) -> np.ndarray:
        """(sets,) T."""
        return np.asarray(self.explained(r).max(axis=1))

    @cached_property
    def shares(self) -> np.ndarray:
        """(members,) the part of the residuals' squares that each explains."""
        return self.explained(self.residuals.values[None])[0]

    @property
    def best(self) -> int:
        """The bend that explains most."""
        return int(np.argmax(self.shares))

    @property
    def dof(self) -> int:
        """Degrees of freedom beside one bend."""
        return self.residuals.dof - self.count

    @property
    def squares_left(self) -> float:
        """Σ r² beside the best bend; at least what rounding leaves."""
        r, axes = self.residuals.values, self.axes[self.best]
        rest = r - axes @ (axes.T @ r)
        return max(float(rest @ rest), 1e-24 * max(self.dof, 1))

    def pvalue(self, correlation: float = 0.0) -> float:
        """Of a form that fits; exact for one bend and independent noise, drawn otherwise."""
        if len(self.axes) > 1 or correlation:
            return self.residuals.pvalue(self.most_explained, correlation)
        squares = float(np.sum((self.axes[0].T @ self.residuals.values) ** 2))
        return f_pvalue(squares, self.count, self.squares_left, self.dof)

    def coefficient(self) -> tuple[float, float]:
        """That of the best bend, which has one column, and its standard error."""
        column = self.columns[self.best, :, 0]
        square = max(float(column @ column), 1e-300)
        value = float(column @ self.residuals.values) / square
        return value, math.sqrt(self.squares_left / max(self.dof, 1) / square)


def hinges(log_x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(places, n) max(0, ln x − place)."""
    return np.maximum(log_x - places[:, None], 0.0)


def of_sizes(residuals: Residuals, sizes: np.ndarray) -> Bend:
    """A fit to repeated sizes (n,), against a level of its own for every size."""
    different, which = np.unique(sizes, return_inverse=True)
    spare, repeats = len(different) - residuals.basis.shape[1], len(sizes) - len(different)
    if repeats < FEWEST or spare < 1:
        return CANNOT_TELL
    levels, _, _ = np.linalg.svd(residuals.beside(np.eye(len(different))[which]), full_matrices=False)
    family = BendFamily(residuals, levels[None, :, :spare])
    if family.squares_left < repeats * ROUNDING**2:  # copies, which show no scatter
        return CANNOT_TELL
    return Bend(family.pvalue(), dof=repeats)


def of_line(log_x: np.ndarray, log_y: np.ndarray) -> Bend:
    """A straight line in logarithms, against a parabola in ln x."""
    line, span = _line(log_x, log_y), float(np.ptp(log_x))
    if line.dof < 2:
        return CANNOT_TELL
    middle = (log_x.min() + log_x.max()) / 2
    family = BendFamily(line, (((log_x - middle) / span) ** 2)[None, :, None])
    curvature, error = family.coefficient()
    return Bend(family.pvalue(), change=-2 * curvature / span, change_error=2 * error / span, dof=family.dof)


def of_floor(line: Solution, floored: Solution) -> Bend:
    """A power law, against the same with a floor E ≥ 0; both fitted to the same points by least squares.

    Half the p-value of the F test, whose other half has E < 0. The law with a floor is fitted, not linearised
    at E = 0: at five sizes that flatten strongly the linearised direction explains much less.
    """
    if floored.dof < 1 or floored.parameters["offset"] <= 0:
        return Bend(1.0, change=0.0, dof=floored.dof)
    gained = 2 * (line.objective - floored.objective)
    pvalue = f_pvalue(gained, 1, max(2 * floored.objective, 2e-24 * floored.dof), floored.dof) / 2
    return Bend(pvalue, change=-line.parameters["exponent"], dof=floored.dof)


def _line(log_x: np.ndarray, log_y: np.ndarray) -> Residuals:
    return Residuals.of(log_y, np.column_stack([np.ones_like(log_x), log_x - log_x.mean()]))


def of_surface(
    data: Points, refit: Callable[[], Solution], whitened: Callable[..., tuple[np.ndarray, ...]]
) -> Bend:
    """A surface against products of the logarithms of its first two sizes.

    Errors that runs of one size share are no bend: the p-value is the largest of those errors which residuals
    beside the bend leave plausible.

    Args:
        refit: fits the surface with Huber's threshold at its scatter: clipped there residuals are orthogonal
            to the fitted parameters and do not take an outlier for a bend.
        whitened: of columns, as `shared_errors.whitened`.
    """
    # several points of one run move together
    if len(np.unique(data.runs)) < FEWEST_RUNS or data.blocked or data.x.ndim < 2:
        return CANNOT_TELL
    robust = refit()
    r = np.clip(robust.residuals, -robust.delta, robust.delta)
    if np.max(np.abs(r)) < ROUNDING:
        return CANNOT_TELL
    u, v = (np.log(s / np.exp(np.log(s).mean())) for s in data.x[:2])
    jacobian = robust.problem.jacobian(robust.coordinates[None])[0][: len(r)]
    jacobian = jacobian / np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
    white, prior, *_ = whitened(np.column_stack([r, jacobian, u * u, u * v, v * v]))
    families = [BendFamily(Residuals.of(w[:, 0], w[:, 1:-3]), w[None, :, -3:]) for w in white]
    dof, columns = families[0].dof, np.linalg.qr(white[..., 1:], mode="r")
    size = np.log(np.abs(np.einsum("kpp->kp", columns))).sum(axis=1)
    chance = prior - size - dof / 2 * np.log([family.squares_left for family in families])
    plausible = np.flatnonzero(np.exp(chance - chance.max()) > SIGNIFICANT)
    if not len(plausible):  # of raw values that the fit does not scale
        return CANNOT_TELL
    return Bend(max(families[k].pvalue() for k in plausible), dof=dof)
