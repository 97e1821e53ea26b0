"""Perceptron theory and simulation: time and accuracy against the straightforward way, side by side.

    python benchmarks/perceptron.py

Times are CPU seconds, so that other work on the machine does not count. The straightforward solver is what
one writes first: SciPy's adaptive quad over the cavity field, a root search for the proximal point at every
node, SciPy's root for the two equations, each sharpness started from the one before.
"""

from __future__ import annotations

import math
import time

import numpy as np
from scipy import integrate, optimize, special

import scalinglab as sl

theory = sl.theory.perceptron


def straightforward(load: float, sharpnesses: np.ndarray) -> np.ndarray:
    """Errors by adaptive quadrature of the plain equations."""
    errors = []
    angle = math.atan(math.sqrt(math.pi / (2 * load)))
    state = np.array([math.log(math.sin(angle) / math.sqrt(load)), angle])  # ln x and θ, at Hebb's rule
    for sharpness in sharpnesses:

        def equations(z, sharpness=sharpness):
            x, r, s = math.exp(z[0]), math.cos(z[1]), math.sin(z[1])

            def pull(t):
                def gap(d):
                    return d - t - 2 * x * special.expit(-2 * sharpness * d)

                return optimize.brentq(gap, t - 1e-9, t + 2 * x + 1e-9, xtol=1e-13) - t

            def first(t):
                return math.exp(-t * t / 2) * special.ndtr(r * t / s) * pull(t) ** 2

            def second(u):
                return math.exp(-u * u / 2) * pull(s * u)

            one = integrate.quad(first, -9 * s, 9, epsabs=1e-11, limit=200)[0]
            two = integrate.quad(second, -9, 9, epsabs=1e-11, limit=200)[0]
            return [2 * load * one / math.sqrt(2 * math.pi) - s * s, load * two / math.pi - r]

        state = optimize.root(equations, state, tol=1e-11).x
        errors.append(state[1] / math.pi)
    return np.array(errors)


def timed(function, *arguments, repeat=3):
    best, found = math.inf, None
    for _ in range(repeat):
        start = time.process_time()
        found = function(*arguments)
        best = min(best, time.process_time() - start)
    return best, found


def main() -> None:
    theory.fixed_norm(1.0, 1.0)  # the table of starts is made once, on the first call
    print(f"{'':44}{'straightforward':>16}{'scalinglab':>12}{'ratio':>9}{'difference':>12}")
    for load, low, high in ((1.0, 0.1, 3.0), (5.0, 0.1, 10.0), (50.0, 0.1, 100.0)):
        sharpnesses = np.geomspace(low, high, 12)
        slow, reference = timed(straightforward, load, sharpnesses, repeat=1)
        fast, found = timed(lambda a=load, b=sharpnesses: theory.fixed_norm(a, b).error)
        name = f"curve, load {load:g}, 12 sharpnesses to {high:g}"
        off = np.max(np.abs(found / reference - 1))
        print(f"{name:44}{slow:14.2f} s{fast * 1e3:9.2f} ms{slow / fast:8.0f}x{off:12.1e}")
    loads, sharpnesses = np.geomspace(0.05, 1e4, 50)[:, None], np.geomspace(1e-3, 1e4, 100)
    fast, found = timed(theory.fixed_norm, loads, sharpnesses)
    print(f"\ngrid of 50 loads x 100 sharpnesses: {fast:.2f} s, equations hold to {found.residual.max():.0e}")
    fast, _ = timed(theory.optimal_sharpness, np.geomspace(0.05, 1e4, 50))
    print(f"best sharpness of 50 loads, to 1e-8: {fast:.2f} s")
    simulation()


def simulation() -> None:
    """Descent to norm 10 at load 5: plain steps against line-searched ones, same problems."""
    try:
        simulate = sl.simulate.perceptron
        problem = simulate.draw(5.0, 200, 4)
    except sl.errors.ScalinglabError as missing:
        print(missing)
        return
    print(f"\n{'free student, load 5, N = 200, to norm 6':44}{'steps':>10}{'seconds':>10}{'error there':>13}")
    for name, options in (
        ("plain, learning rate 0.1", {"steps": 20_000}),
        ("plain, learning rate 0.5", {"steps": 20_000, "learning_rate": 0.5}),
        ("line search", {"steps": 5000, "method": "line_search"}),
    ):
        seconds, curves = timed(
            lambda o=options: simulate.free_norm(problem, until=6.0, checkpoints=300, **o), repeat=1
        )
        errors = [np.interp(6.0, run["norm"], run["test_error"]) for _, run in curves.frame.groupby("run")]
        print(f"{name:44}{curves['step'].max():10.0f}{seconds:10.2f}{np.mean(errors):13.5f}")


if __name__ == "__main__":
    main()
