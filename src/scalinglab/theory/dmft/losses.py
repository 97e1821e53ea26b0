"""L(time, n_params, n_data): test and train loss, bias and variances of random features while they train.

The model of bordelon2024: features ψ with ⟨ψ_k ψ_l⟩ = λ_k δ_kl, a target Σ w_k ψ_k plus noise of variance σ²,
a student that sees N random projections of ψ and P examples, trained by

    dv/dt = −(AᵀA/N)(ΨᵀΨ/P) v   (eq. 7)

for the residual weights v. Test loss Σ λ_k v_k² + σ², train loss the mean square over the P examples. The
dynamical mean-field theory is exact for large N, P and M (and without M where Σ λ_k is finite, App. F).

Early in training the loss is that of infinite N and P plus 1/N and 1/P (bordelon2024, App. D).

Expanding the two-frequency correlation to first order, with g = 1/(s + λ),

    ∂/∂(1/N):  D Σ λw²λ g²g' + D' Σ λw²λ g g'² + Σ λ g g' Σ λw²λ g g'
    ∂/∂(1/P):  D Σ λw²λ g²g' + D' Σ λw²λ g g'² + Σ λ² g g' (Σ λw² g g' + σ²/(s s'))

so the approach to the limit is 1/N and 1/P at any fixed time, whatever the task; only the late-time exponents
depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from scalinglab.errors import BadInput
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.types import Reason, Remark
from scalinglab.spectrum import Spectrum
from scalinglab.support.validation import checked
from scalinglab.theory.dmft import multi_pass, sgd
from scalinglab.theory.dmft.dynamics import Dynamics, GradientFlow, MultiPassSGD, OnePassSGD, setting_of
from scalinglab.theory.dmft.solver.correlation import Responses, double_integral
from scalinglab.theory.dmft.solver.problem import Problem

if TYPE_CHECKING:
    from scalinglab.curves import Curves


@dataclass(frozen=True, eq=False)
class Solution(NotebookResult):
    """Losses along training; arrays of the shape of `times`.

    Attributes:
        times: as asked for: continuous, or steps of a discrete dynamics.
        test_loss: of the mean of ensemble × bags models, σ² included.
        train_loss: of the ensemble that shares a bag, on the data of that bag.
        bias: Σ λ_k w_k² H_k², the loss of infinitely many models on as many data sets, without σ² (18).
        variance_params: what infinitely many initialisations remove (data held fixed on average).
        variance_data: what infinitely many data sets remove.
        variance_both: the interaction; test_loss of one model is the sum of all four and σ².
        gap: test minus train loss of one model (17).
        stable: False where the learning rate is too large and the loss grows without end.
    """

    times: np.ndarray
    test_loss: np.ndarray
    train_loss: np.ndarray
    bias: np.ndarray
    variance_params: np.ndarray
    variance_data: np.ndarray
    variance_both: np.ndarray
    gap: np.ndarray
    n_params: float
    n_data: float
    noise: float
    ensemble: float
    bags: float
    dynamics: Dynamics | OnePassSGD | MultiPassSGD
    stable: bool
    spectrum: Spectrum = field(repr=False)

    def transfer(self, k: int | np.ndarray) -> np.ndarray:
        """H_k(t) = ⟨v_k(t)⟩/w_k, what is left of mode k on average; k from 1, shape times (+ shape of k)."""
        modes = np.atleast_1d(np.asarray(k))
        values = np.array([self.spectrum.mode(int(one))[0] for one in modes.ravel()])
        found = self._problem.transfer(values).reshape(*self.times.shape, *modes.shape)
        return found if np.ndim(k) else found[..., 0]

    @cached_property
    def _problem(self) -> Problem:
        if isinstance(self.dynamics, MultiPassSGD):
            return multi_pass.drift(
                self.spectrum, np.ravel(self.times), self.n_params, self.n_data, self.dynamics
            )
        mean = self.dynamics.mean if isinstance(self.dynamics, OnePassSGD) else self.dynamics
        n_data = math.inf if isinstance(self.dynamics, OnePassSGD) else self.n_data
        return Problem(self.spectrum, np.ravel(self.times), self.n_params, n_data, mean)

    def curves(self) -> Curves:
        """A table of curves, one row a time."""
        from scalinglab.curves import Curves

        setting: dict[str, object] = {
            "model": "random features", "n_params": self.n_params, "n_data": self.n_data,
            "noise": self.noise, "ensemble": self.ensemble, "bags": self.bags,
            **setting_of(self.dynamics), **self.spectrum.setting,
        }  # fmt: skip
        measured = ("test_loss", "train_loss", "bias", "variance_params", "variance_data", "variance_both")
        columns = {name: np.ravel(getattr(self, name)) for name in (*measured, "gap")}
        return Curves({**setting, "time": np.ravel(self.times), **columns}, source="theory")

    @property
    def remarks(self) -> Iterator[Remark]:
        times, test, train = (np.ravel(x) for x in (self.times, self.test_loss, self.train_loss))
        sizes = {"n_params": self.n_params, "n_data": self.n_data, "noise": self.noise}
        yield Reason("random_features", spectrum=repr(self.spectrum), dynamics=self.dynamics, **sizes)
        if not times.size:
            yield Reason("no_times")
            return
        yield Reason("losses_at", time=times[-1], test=test[-1], train=train[-1])
        best = int(np.argmin(test))
        yield Reason("smallest_loss", time=times[best], test=test[best])


@checked
def solve(
    spectrum: Spectrum,
    times: ArrayLike,
    n_params: float = math.inf,
    n_data: float = math.inf,
    noise: float = 0.0,
    dynamics: Dynamics | OnePassSGD | MultiPassSGD | None = None,
    ensemble: float = 1,
    bags: float = 1,
) -> Solution:
    """Losses at the given times, to a relative accuracy of about 1e-10.

    Args:
        spectrum: eigenvalues and target power; a power law of 10⁹ modes costs no more than one of 10⁴.
        times: any, 0 included, in any order; whole steps where the dynamics is discrete.
        n_params: N, the number of random features; inf for the kernel itself.
        n_data: P, the number of examples; inf for the population.
        noise: σ, the standard deviation of the label noise; test_loss includes σ².
        dynamics: default GradientFlow(); GradientDescent(η, μ), OnePassSGD(η, batch_size), or
            MultiPassSGD(η, batch_size, …) on n_data examples that are seen again and again.
        ensemble: initialisations whose predictions are averaged (inf allowed).
        bags: data sets whose predictions are averaged (inf allowed).

    >>> import scalinglab as sl
    >>> spectrum = sl.Spectrum.power_law(1.5, 1.25)
    >>> found = solve(spectrum, [0, 1e6], n_params=64, n_data=128)
    >>> end = sl.theory.dmft.final(spectrum, n_params=64, n_data=128)
    >>> bool(abs(found.test_loss[1] / end.test_loss - 1) < 1e-9)
    True
    """
    dynamics = GradientFlow() if dynamics is None else dynamics
    flat = check_times(times, dynamics.discrete)
    for name, value in (("n_params", n_params), ("n_data", n_data), ("ensemble", ensemble), ("bags", bags)):
        least = 0 if name.startswith("n_") else 1
        if not value > 0 or value < least:
            raise BadInput(
                f"{name} = {value} must be {'positive' if least == 0 else '1 or more'}; inf is allowed"
            )
    if not (math.isfinite(noise) and noise >= 0):
        raise BadInput(f"noise = {noise}: the standard deviation must be zero or more")
    spectrum.trusted(n_data)
    shape = np.shape(times)
    if isinstance(dynamics, OnePassSGD):
        parts, stable = sgd.losses(spectrum, flat, n_params, n_data, noise, dynamics, ensemble)
    elif isinstance(dynamics, MultiPassSGD):
        parts, stable = multi_pass.losses(spectrum, flat, n_params, n_data, noise, dynamics, ensemble)
    else:
        problem = Problem(spectrum, flat, n_params, n_data, dynamics)
        parts, stable = problem.losses(noise, ensemble), problem.stable
    test = (
        parts["bias"]
        + parts["variance_params"] / ensemble
        + parts["variance_data"] / bags
        + parts["variance_both"] / (ensemble * bags)
        + noise**2
    )
    if ensemble == bags == 1:
        test = parts["single"] + noise**2  # without the round-off of the decomposition
    names = ("train_loss", "bias", "variance_params", "variance_data", "variance_both", "gap")
    arrays = {name: parts[name].reshape(shape) for name in names}
    return Solution(
        times=np.asarray(times, float), test_loss=test.reshape(shape), **arrays,
        n_params=float(n_params), n_data=float(n_data), noise=float(noise),
        ensemble=float(ensemble), bags=float(bags), dynamics=dynamics, stable=stable, spectrum=spectrum,
    )  # fmt: skip


def check_times(times: ArrayLike, discrete: bool) -> np.ndarray:
    """Times as a flat array, refused where they are negative, not finite, or not whole steps."""
    flat = np.ravel(np.asarray(times, float))
    if not np.all(np.isfinite(flat) & (flat >= 0)):
        wrong = flat[~(np.isfinite(flat) & (flat >= 0))][0]
        raise BadInput(f"time {wrong}: times must be finite and zero or more; final() gives t → ∞")
    if discrete and np.any(flat != np.round(flat)):
        wrong = flat[flat != np.round(flat)][0]
        raise BadInput(
            f"time {wrong}: discrete dynamics count whole steps; np.unique(np.round(times)) gives them"
        )
    return flat


@dataclass(frozen=True, eq=False)
class Early:
    """L ≈ limit + per_params/N + per_data/P; arrays of the shape of `times`.

    Attributes:
        limit: the loss of infinitely many features and examples, σ² included.
        per_params: the coefficient of 1/N.
        per_data: the coefficient of 1/P.
    """

    times: np.ndarray
    limit: np.ndarray
    per_params: np.ndarray
    per_data: np.ndarray

    def loss(self, n_params: float = math.inf, n_data: float = math.inf) -> np.ndarray:
        """The loss to first order."""
        return self.limit + self.per_params / n_params + self.per_data / n_data


@checked
def early(
    spectrum: Spectrum, times: ArrayLike, noise: float = 0.0, dynamics: Dynamics | None = None
) -> Early:
    """The test loss to first order in 1/N and 1/P, at any time (useful while the corrections are small)."""
    dynamics = GradientFlow() if dynamics is None else dynamics
    flat = check_times(times, dynamics.discrete)
    problem = Problem(spectrum, flat, math.inf, math.inf, dynamics)
    limit = problem.losses(noise, 1)["single"] + noise**2
    found = np.full((2, len(flat)), math.inf)
    for system, points in problem.points:
        same, cross = (
            _kernels(system.nodes.eigenvalues, system.nodes.count, system.nodes.power, points, noise, flip)
            for flip in (False, True)
        )
        amplitude = problem.filter(points.contour)
        for row in range(2):
            found[row, points.contour.times] = double_integral(amplitude, same[row], cross[row])
    shape = np.shape(times)
    return Early(np.asarray(times, float), *(values.reshape(shape) for values in (limit, *found)))


def _kernels(
    values: np.ndarray, count: np.ndarray, power: np.ndarray, points: Responses, noise: float, conjugate: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The two derivatives at pairs of nodes."""
    half = len(points.kappa)
    left = points.parts[:half] + 1j * points.parts[half:]
    right = left.conj() if conjugate else left
    s = points.contour.s
    s_ = s.conj() if conjugate else s
    learnt = points.learnt[:, None]
    learnt_ = points.learnt.conj() if conjugate else points.learnt
    bent = (left**2 * (power * values)) @ right.T
    bent_ = (left * (power * values)) @ (right**2).T
    shared = learnt * bent + learnt_ * bent_
    modes, squares = ((left * (count * values**p)) @ right.T for p in (1, 2))
    signal, tilted = ((left * (power * values**p)) @ right.T for p in (0, 1))
    return shared + modes * tilted, shared + squares * (signal + noise**2 / (s[:, None] * s_))
