"""The contour solver against the time × time recipe (App. L.1 of bordelon2024), and how each grows.

    python benchmarks/dmft.py

Times are CPU seconds of this process, best of three; both methods run side by side at equal accuracy: the
recipe's matrices are converged to round-off, and the solver is compared with them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import scalinglab as sl  # noqa: E402
from tests.theory import direct_iteration  # noqa: E402

dmft = sl.theory.dmft
N_PARAMS, N_DATA, NOISE, RATE = 10, 20, 0.1, 0.3


def cpu(function: Callable[[], object], repeats: int = 3) -> tuple[float, object]:
    best, value = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        value = function()
        best = min(best, time.process_time() - start)
    return best, value


def against_recipe() -> None:
    print("gradient descent, N = 10, P = 20: all steps up to T")
    print(f"{'modes':>6} {'T':>6} {'recipe s':>10} {'solver s':>10} {'ratio':>8} {'difference':>11}")
    for modes, steps in ((40, 25), (40, 50), (40, 100), (80, 50), (160, 50)):
        spectrum = sl.Spectrum.power_law(1.5, 1.25, modes)
        at = np.arange(steps + 1)
        slow, exact = cpu(
            lambda s=spectrum, t=steps: direct_iteration.gradient_descent(
                s, t, N_PARAMS, N_DATA, NOISE, RATE
            ),
            1,
        )
        fast, found = cpu(
            lambda s=spectrum, a=at: dmft.solve(s, a, N_PARAMS, N_DATA, NOISE, dmft.GradientDescent(RATE))
        )
        difference = np.abs(found.test_loss / (np.diag(exact.test) + NOISE**2) - 1).max()
        print(f"{modes:>6} {steps:>6} {slow:>10.3f} {fast:>10.4f} {slow / fast:>8.0f} {difference:>11.1e}")


def growth() -> None:
    print("\ngradient flow, N = 64, P = 128, 100 log-spaced times from 1 to the last")
    print(f"{'modes':>8} {'last time':>10} {'solver s':>10} {'nodes':>7}")
    for modes in (10**4, 10**6, 10**9):
        for last in (1e3, 1e6, 1e9):
            spectrum = sl.Spectrum.power_law(1.5, 1.25, modes)
            times = np.geomspace(1, last, 100)
            seconds, _ = cpu(lambda s=spectrum, t=times: dmft.solve(s, t, 64, 128))
            print(f"{modes:>8.0e} {last:>10.0e} {seconds:>10.4f} {len(spectrum.nodes()):>7}")


def accuracy() -> None:
    print("\nat t = 1e12 against the closed form of t → ∞ (largest relative difference of test loss)")
    worst = 0.0
    for modes in (10**4, 10**9):
        spectrum = sl.Spectrum.power_law(1.5, 1.25, modes)
        for n_params, n_data in ((64, 128), (128, 64), (np.inf, 100), (100, np.inf), (100, 101)):
            late = dmft.solve(spectrum, 1e12, n_params, n_data, NOISE).test_loss
            worst = max(worst, abs(float(late) / dmft.final(spectrum, n_params, n_data, NOISE).test_loss - 1))
    print(f"{worst:.1e}")


if __name__ == "__main__":
    against_recipe()
    growth()
    accuracy()
