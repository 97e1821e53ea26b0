"""Response functions: one scalar self-consistent equation, explicit in one direction.

With D(κ) = Σ_k λ_k/(κ + λ_k) the effective number of learnt modes, the equations (11) of bordelon2024 are

    R₁ = 1 − D/P,   R₃ = 1 − D/N,   s = κ R₁ R₃,   H_k = (κ/s)/(κ + λ_k),

s = iω being the frequency: given κ everything is known, given s one complex number κ(s) is sought. On the
physical sheet κ(s) grows as s at large s, and all its singularities lie on the spectrum of −K, a part of the
negative axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from scalinglab.errors import BadInput, NotConverged
from scalinglab.spectrum import Nodes
from scalinglab.support.roots import bisect
from scalinglab.support.validation import LARGEST


@dataclass(frozen=True, eq=False)
class System:
    """A spectrum seen through N features and P examples.

    Attributes:
        nodes: the compressed spectrum.
        per_params: 1/N, 0 for infinitely many features.
        per_data: 1/P, 0 for infinitely many examples.
    """

    nodes: Nodes
    per_params: float
    per_data: float

    def __post_init__(self) -> None:
        """Refuse sizes so small that κ, which is at most Σλ/min(N, P), cannot be squared."""
        fewest = max(self.per_params, self.per_data)
        trace = float(self._weights.sum())
        if not fewest * max(1.0, trace) <= LARGEST:
            name = "n_params" if self.per_params == fewest else "n_data"
            raise BadInput(
                f"{name} = {1 / fewest:g} is too small to compute with: eigenvalues sum to {trace:g}, and "
                f"their sum over {name} must be at most {LARGEST:g}"
            )

    @property
    def n_modes(self) -> float:
        """The number of modes."""
        return float(round(self.nodes.count.sum()))

    @property
    def scarcest(self) -> float:
        """min(N, P), where one of them is finite."""
        return 1 / max(self.per_params, self.per_data)

    @property
    def learns_all(self) -> bool:
        """Whether N and P both exceed the number of modes: then nothing of the target is left at the end."""
        return max(self.per_params, self.per_data) * self.n_modes < 1 - 1e-12

    @cached_property
    def _weights(self) -> np.ndarray:
        return self.nodes.count * self.nodes.eigenvalues

    def learnt_modes(self, kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """D(κ) and dD/dκ, of the shape of κ."""
        weights = self._weights
        if not np.iscomplexobj(kappa):
            resolvent = 1 / (np.asarray(kappa)[..., None] + self.nodes.eigenvalues)
            return resolvent @ weights, -(resolvent * resolvent) @ weights
        real, imaginary = resolvent_parts(kappa, self.nodes.eigenvalues)
        learnt = real @ weights + 1j * (imaginary @ weights)
        slope = (real * real - imaginary * imaginary) @ weights + 2j * ((real * imaginary) @ weights)
        return learnt, -slope

    def frequency(self, kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """s(κ) and ds/dκ."""
        learnt, slope = self.learnt_modes(kappa)
        data, params = 1 - learnt * self.per_data, 1 - learnt * self.per_params
        s = kappa * data * params
        return s, data * params - kappa * slope * (params * self.per_data + data * self.per_params)

    # --- the real axis ---------------------------------------------------------------------------

    def kappa_at(self, modes: float) -> float:
        """κ ≥ 0 with D(κ) = modes; 0 where the spectrum has no more modes than that."""
        if modes >= self.n_modes:
            return 0.0
        values, count = self.nodes.eigenvalues, self.nodes.count
        low, high = 1e-3 * float(values.min()), float((count * values).sum()) / modes
        while self.learnt_modes(np.array(low))[0] < modes:
            low *= 1e-3
        return float(_positive_root(lambda k: self.learnt_modes(k)[0] < modes, low, high))

    def final_kappa(self) -> float:
        """κ at s = 0: D(κ) = min(N, P), or 0 where that exceeds the number of modes."""
        return self.kappa_at(self.scarcest) if max(self.per_params, self.per_data) > 0 else 0.0

    def real_kappa(self, s: np.ndarray, edge: float) -> np.ndarray:
        """κ for real s to the right of the spectrum, whose end there has κ = `edge`."""
        s = np.asarray(s, float)
        trace = float((self.nodes.count * self.nodes.eigenvalues).sum())
        high = np.maximum(s, 0) + trace * (self.per_params + self.per_data) - edge
        high = np.maximum(high, 1e-12 * (abs(edge) + np.abs(s)))
        return edge + _positive_root(lambda x: self.frequency(edge + x)[0] > s, 1e-18 * high, high)

    def left_edge(self) -> float:
        """−κ at the left end of the spectrum: where s(κ) is largest over κ < −λ₁."""
        top = float(self.nodes.eigenvalues.max())
        if self.per_params == self.per_data == 0:
            return top
        width = 10 + self.n_modes * (self.per_params + self.per_data)
        found = minimize_scalar(
            lambda x: -float(self.frequency(np.array(-top * (1 + np.exp(x))))[0]),
            bounds=(-30.0, float(np.log(width)) + 5),
            method="bounded",
            options={"xatol": 1e-9},
        )
        return top * (1 + float(np.exp(found.x)))

    def largest_rate(self) -> float:
        """The largest eigenvalue of K, −s at the left edge."""
        return -float(self.frequency(np.array(-self.left_edge() * (1 + 1e-15)))[0])

    def smallest_rate(self) -> tuple[float, float]:
        """The smallest nonzero eigenvalue x of K and its κ: s(κ) = −x is smallest below κ(0).

        At N = P (below the number of modes) the spectrum reaches down to zero.
        """
        high = self.final_kappa()
        if high > 0:
            others = [1 / x for x in (self.per_params, self.per_data) if x > 0]
            both = len(others) == 2 and max(others) < self.n_modes
            low = self.kappa_at(max(others)) if both else 0.0
        else:  # all modes are learnt: D = min(N, P) at a κ between −λ_min and 0
            low = -float(self.nodes.eigenvalues.min())
            ends = bisect(lambda k: self.learnt_modes(k)[0] < self.scarcest, low * (1 - 1e-12), 0.0)
            low = float(np.mean(ends))
        if not low < high:
            return 0.0, high
        found = minimize_scalar(
            lambda k: float(self.frequency(np.array(k))[0]),
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-9 * (high - low)},
        )
        return max(0.0, -float(found.fun)), float(found.x)

    # --- the complex plane -----------------------------------------------------------------------

    def kappa_along(self, s: np.ndarray, start: np.ndarray) -> np.ndarray:
        """κ(s) along paths that leave the real axis, by Newton's method continued from node to node.

        Args:
            s: paths in the upper half plane, shape (paths, nodes).
            start: κ where each path begins, near its first node, shape (paths,).
        """
        kappa = np.empty(s.shape, complex)
        here = np.asarray(start, complex)
        value, slope = self.frequency(here)
        for node in range(s.shape[1]):
            target = s[:, node]
            # the tangent predicts; where it would throw κ far it is shortened
            step = (target - value) / slope
            here = here + step * np.minimum(1, 0.5 * np.abs(here) / np.maximum(np.abs(step), 1e-300))
            for _ in range(60):
                value, slope = self.frequency(here)
                step = (target - value) / slope
                size = np.abs(step) / np.abs(here)
                here = here + step * np.minimum(1, 0.5 / np.maximum(size, 1e-300))
                if np.all(size < 1e-9):  # quadratic: the next step would be below round-off
                    break
            else:
                raise NotConverged(f"no response function at s = {target[np.argmax(size)]:.3g}")
            value, slope = self.frequency(here)
            kappa[:, node] = here
        if np.any(kappa.imag < -1e-9 * np.abs(kappa)):
            raise NotConverged("the response function left its physical sheet")
        return kappa


def resolvent_parts(kappa: np.ndarray, eigenvalues: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Real and imaginary part of 1/(κ + λ), (…, λ): three times faster than NumPy's complex division."""
    above, across = kappa.real[..., None] + eigenvalues, kappa.imag[..., None]
    scale = 1 / (above * above + across * across)
    return above * scale, -across * scale


def _positive_root(is_above: Callable[[np.ndarray], np.ndarray], low: Any, high: Any) -> np.ndarray:
    """The root of a function of a positive number, to the last digit: its logarithm is bisected."""
    low, high = bisect(lambda x: is_above(np.exp(x)), np.log(low), np.log(high))
    return np.exp((low + high) / 2)
