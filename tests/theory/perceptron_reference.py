"""The plain perceptron equations, solved slowly: the independent methods that the fast solver is held to.

Nothing is shared with the solver but the equations of the paper (eqs. 13, 16, 17). The unknowns are ln x and
ln(1 − R). Two methods:

- `error_by_quad`: the proximal point is found by a bracketed root search at every node, the integrals over
  the cavity field t are SciPy's adaptive quad;
- `residuals_by_mpmath`: exponents that never overflow (x reaches e^90000); tanh–sinh over the margin Δ.
"""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
from scipy import integrate, optimize, special


def pull(t: float, log_x: float, sharpness: float) -> float:
    """Δ0(t) − t, where Δ0 minimises V(Δ) + (Δ−t)²/2x: the root of Δ − t = 2x/(1+e^{2λΔ})."""
    log_2x = math.log(2) + log_x
    most = 1 + max(log_2x / (2 * sharpness), 0.0)
    if log_2x < 300:
        most = min(math.exp(log_2x), most)
    most += max(-t, 0.0)

    def gap(f):
        return math.log(f) + np.logaddexp(0, 2 * sharpness * (t + f)) - log_2x

    low = most
    while gap(low) > 0:
        low /= 16
    if low == most:
        return most
    return optimize.brentq(gap, low, min(low * 16, most), xtol=1e-300, rtol=1e-15)


def integral(function, points) -> float:
    return sum(
        integrate.quad(function, a, b, epsabs=0, epsrel=1e-12, limit=100)[0] for a, b in pairwise(points)
    )


def breakpoints(s: float, log_x: float, sharpness: float, top: float) -> np.ndarray:
    kinks = [0.0, pull(0.0, log_x, sharpness)]
    if log_x < 3:
        kinks.append(-2 * math.exp(log_x))
    inner = [-3 * s, -s, s, 3 * s, *kinks]
    inner += [c + k / sharpness for c in kinks for k in (-8, -2, 2, 8, 20)]
    return np.unique([-9 * s, *(p for p in inner if -9 * s < p < top), top])


def residuals(state, load: float, sharpness: float) -> list[float]:
    """Logarithms of right over left of both saddle-point equations."""
    log_x, log_gap = state
    gap = math.exp(log_gap)
    r, s = 1 - gap, math.sqrt(gap * (2 - gap))

    def first(t):
        return math.exp(-t * t / 2) * special.ndtr(r * t / s) * pull(t, log_x, sharpness) ** 2

    def second(t):
        return math.exp(-t * t / (2 * s * s)) * pull(t, log_x, sharpness)

    top = min(9.0, pull(0.0, log_x, sharpness) + 20 / sharpness)  # beyond, the pull is below e^-40 of it
    one = integral(first, breakpoints(s, log_x, sharpness, top)) * 2 * load / math.sqrt(2 * math.pi)
    two = integral(second, breakpoints(s, log_x, sharpness, min(9 * s, top))) * load / math.pi / s
    return [math.log(one / s**2), math.log(two / r)]


def error_by_quad(load: float, sharpness: float, start: tuple[float, float]) -> float:
    """The error, from a rough start (ln x, ln(1−R))."""
    found = optimize.root(residuals, start, args=(load, sharpness), tol=1e-13)
    assert np.max(np.abs(found.fun)) < 1e-11, found
    return 2 * math.asin(math.sqrt(math.exp(found.x[1]) / 2)) / math.pi


def residuals_by_mpmath(state, load: float, sharpness: float, digits: int = 16) -> list[float]:
    """Logarithms of right over left of both equations, at a given (ln x, ln(1−R)) of any size."""
    with mp.workdps(digits):
        lam, x, gap = mp.mpf(sharpness), mp.exp(mp.mpf(state[0])), mp.exp(mp.mpf(state[1]))
        r, s = 1 - gap, mp.sqrt(gap * (2 - gap))

        def force(d):
            return 2 * x / (1 + mp.exp(2 * lam * d))

        def margin_at(t):  # Δ − force(Δ) = t by bisection; a breakpoint needs a few digits only
            low, high = t, max(t, mp.mpf(0)) + min(2 * x, 1 + max(mp.log(2 * x) / (2 * lam), 0))
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if middle - force(middle) < t else (low, middle)
            return low

        def integrand(power, weight):
            def value(d):
                f = force(d)
                t = d - f
                return weight(t) * f**power * (1 + 2 * lam * f / (1 + mp.exp(-2 * lam * d)))

            return value

        levels = [margin_at(c * s) for c in (-9, -4, -1, 0, 1, 4, 9)]
        steps = [levels[3] + k / lam for k in (-4, -1, 1, 3, 6, 10, 20)]

        def points(high):
            return sorted({levels[0], high, *(p for p in (*levels, *steps) if levels[0] < p < high)})

        top = min(margin_at(mp.mpf(9)), levels[3] + 20 / lam)
        first = mp.quad(integrand(2, lambda t: mp.npdf(t) * mp.ncdf(r * t / s)), points(top))
        second = mp.quad(integrand(1, lambda t: mp.npdf(t / s) / s), points(min(levels[-1], top)))
        factor = 2 * mp.mpf(load)
        return [
            float(mp.log(factor * first / s**2)),
            float(mp.log(factor * second / mp.sqrt(2 * mp.pi) / r)),
        ]
