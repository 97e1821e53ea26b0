"""Losses of one system at given times: integrals of its response functions around the spectrum.

The contours are chosen for the times (`contour`): late times by hyperbolas, early times by ellipses.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from scalinglab.spectrum import Spectrum
from scalinglab.theory.dmft.dynamics import NEGLIGIBLE, Dynamics
from scalinglab.theory.dmft.solver.contour import Contour, ellipses, hyperbolas
from scalinglab.theory.dmft.solver.correlation import (
    Responses,
    at_points,
    correlate,
    double_integral,
    mode_integral,
)
from scalinglab.theory.dmft.solver.response import System, resolvent_parts

LARGEST = 1e120  # filters beyond this are recorded as infinite loss


def decompose(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Add the three variances to the losses; all are infinite where the loss is."""
    with np.errstate(invalid="ignore"):
        found["variance_params"] = found["bags"] - found["bias"]
        found["variance_data"] = found["ensemble"] - found["bias"]
        found["variance_both"] = found["single"] - found["ensemble"] - found["variance_params"]
    diverged = ~np.isfinite(found["single"])
    for name in ("variance_params", "variance_data", "variance_both"):
        found[name][diverged] = math.inf
    return found


class Problem:
    """One system, its times and the contours that serve them: those of the dynamics, or one that is given."""

    def __init__(
        self, spectrum: Spectrum, times: np.ndarray, n_params: float, n_data: float, dynamics: Dynamics,
        contour: Contour | None = None,
    ) -> None:  # fmt: skip
        self.spectrum, self.times, self.dynamics, self.contour = spectrum, times, dynamics, contour
        self.per_params, self.per_data = 1 / n_params, 1 / n_data
        self.system = System(spectrum.nodes(), self.per_params, self.per_data)
        self.largest = self.system.largest_rate()
        self.stable = dynamics.stable(self.largest)

    @property
    def unlimited(self) -> bool:
        """Whether neither N nor P limits: H_k = f_t(−λ_k) exactly."""
        return self.per_params == self.per_data == 0

    def filter(self, contour: Contour) -> np.ndarray:
        """f_t at the nodes, times the weights, shape (times, nodes)."""
        return self.dynamics.filter(contour.s, self.times[contour.times]) * contour.weight

    @cached_property
    def points(self) -> list[tuple[System, Responses]]:
        """The contours that serve all times, solved."""
        if self.contour is not None:
            return [
                (self.system, points)
                for points in at_points(self.system, [self.contour], self.system.final_kappa())
            ]
        finite = self.growth() < LARGEST
        settled = np.array([self.dynamics.settled(t, self.largest) for t in self.times], bool)
        edge = self.system.final_kappa()
        late = hyperbolas(self.dynamics, self.times, np.flatnonzero(settled & finite))
        found = [(self.system, points) for points in at_points(self.system, late, edge)]
        for contour in ellipses(self.dynamics, self.times, np.flatnonzero(~settled & finite), self.largest):
            order = len(contour.s) // 4  # a contour close to the spectrum sees more of its detail
            system = self.system if order <= 25 else System(
                self.spectrum.nodes(order), self.per_params, self.per_data
            )  # fmt: skip
            found += [(system, points) for points in at_points(system, [contour], edge)]
        return found

    def growth(self) -> np.ndarray:
        """The largest |f_t| on the spectrum, above 1 only where the dynamics is unstable."""
        if self.stable:
            return np.ones(len(self.times))
        with np.errstate(over="ignore", invalid="ignore"):
            ends = np.abs(self.dynamics.filter(np.array([complex(-self.largest)]), self.times))[:, 0]
        return np.where(np.isfinite(ends), ends, math.inf)

    def decaying(self) -> list[tuple[System, Responses]]:
        """Contours right of the slowest mode instead of s = 0, for losses that vanish exponentially."""
        smallest, kappa = self.system.smallest_rate()
        if smallest <= 0 or self.contour is not None:
            return []
        decay = -self.dynamics.rate(-smallest)
        fast = self.dynamics.fast_rate(self.largest) + decay  # relative to what is left
        late = np.array(
            [
                self.dynamics.settled(t, self.largest) and decay * t > 1 and fast * t <= -NEGLIGIBLE
                for t in self.times
            ],
            bool,
        )
        contours = hyperbolas(self.dynamics, self.times, np.flatnonzero(late), centre=-smallest)
        return [(self.system, points) for points in at_points(self.system, contours, kappa)]

    # --- observables -----------------------------------------------------------------------------

    def losses(self, noise: float, ensemble: float) -> dict[str, np.ndarray]:
        """Every loss at all times."""
        names = ("single", "ensemble", "bags", "bias", "train_loss", "gap")
        found = {name: np.full(len(self.times), math.inf) for name in names}
        if self.unlimited:
            self._unlimited(found, noise)
        else:
            for system, points in self.points:
                self._add(found, system, points, noise, ensemble, names)
            if vanishing := self._vanishing(noise):
                for system, points in self.decaying():
                    self._add(found, system, points, noise, ensemble, vanishing)
        if self.per_data == 0:  # no data set to vary, exactly
            found["ensemble"], found["bags"] = found["bias"], found["single"]
        if self.per_params == 0:
            found["ensemble"], found["bags"] = found["single"], found["bias"]
        return decompose(found)

    def _vanishing(self, noise: float) -> tuple[str, ...]:
        """Names of the losses that go to zero: their relative accuracy needs a contour of its own."""
        if self.system.learns_all:
            return ("single", "ensemble", "bags", "bias", "train_loss", "gap") if noise == 0 else ("bias",)
        more_params = self.per_data > self.per_params
        return ("train_loss",) if more_params and self.per_data * self.system.n_modes > 1 else ()

    def _unlimited(self, found: dict[str, np.ndarray], noise: float) -> None:
        nodes = self.system.nodes
        with np.errstate(over="ignore"):  # descent that diverges, which is reported as not stable
            left = np.real(self.dynamics.filter(-nodes.eigenvalues + 0j, self.times)) ** 2 @ nodes.power
        for name in ("single", "ensemble", "bags", "bias"):
            found[name] = left
        found["train_loss"], found["gap"] = left + noise**2, np.zeros(len(self.times))

    def _add(
        self,
        found: dict[str, np.ndarray],
        system: System,
        points: Responses,
        noise: float,
        ensemble: float,
        names: tuple[str, ...],
    ) -> None:
        """Integrate around one contour and put the results in their places."""
        index, weighted = points.contour.times, self.filter(points.contour)
        label = weighted / points.contour.s  # f/s, of the constant label noise
        signal = label * points.kappa  # f κ/s = f/(R₁ R₃), without the cancellation in R
        if "bias" in names:
            nodes = system.nodes
            found["bias"][index] = mode_integral(signal, points.parts) ** 2 @ nodes.power
        if names == ("bias",):
            return
        same, cross = correlate(system, points)
        if self.per_data > self.per_params:  # then R₁ = s/(κ R₃) vanishes at s = 0, else R₃ does
            train_signal = weighted / points.params_response
            train_label = train_signal / points.kappa
        else:
            train_signal, train_label = signal * points.data_response, label * points.data_response

        def integral(
            a: np.ndarray, b: np.ndarray, kind: str, factors: tuple[np.ndarray, np.ndarray] | None = None
        ) -> np.ndarray:
            one, two = (1.0, 1.0) if factors is None else factors
            total = double_integral(a, getattr(same, kind) * one, getattr(cross, kind) * two)
            if noise and kind != "bags":
                kernels = [getattr(which, f"{kind}_noise") for which in (same, cross)]
                total = total + noise**2 * double_integral(b, kernels[0] * one, kernels[1] * two)
            return total

        if "single" in names:
            found["single"][index] = integral(signal, label, "single") - noise**2
            found["ensemble"][index] = integral(signal, label, "ensemble") - noise**2
            found["bags"][index] = integral(signal, label, "bags")
            learnt = self.per_data * points.learnt
            both = [  # 1 − R₁ R₁'
                learnt[:, None] + right - learnt[:, None] * right for right in (learnt, learnt.conj())
            ]
            found["gap"][index] = integral(signal, label, "single", (both[0], both[1]))
        alone = integral(train_signal, train_label, "single")
        if ensemble > 1:
            alone = alone / ensemble + (1 - 1 / ensemble) * integral(train_signal, train_label, "ensemble")
        found["train_loss"][index] = alone

    def transfer(self, eigenvalues: np.ndarray) -> np.ndarray:
        """H(t) at the given eigenvalues, shape (times, eigenvalues)."""
        if self.unlimited:
            return np.real(self.dynamics.filter(-eigenvalues + 0j, self.times))
        found = np.full((len(self.times), len(eigenvalues)), math.inf)
        vanishing = self.decaying() if self.system.learns_all else []
        for _, points in (*self.points, *vanishing):
            signal = self.filter(points.contour) * points.kappa / points.contour.s
            parts = np.concatenate(resolvent_parts(points.kappa, eigenvalues))
            found[points.contour.times] = mode_integral(signal, parts)
        return found
