"""Simulated training of random features: NumPy on the CPU against torch on a device, same draws.

python benchmarks/random_features_dynamic.py [device]
"""

from __future__ import annotations

import sys
import time

import numpy as np

import scalinglab as sl


def main(device: str) -> None:
    times = np.geomspace(0.3, 1e4, 20)
    print(f"20 times, 2000 modes, 20 draws; wall seconds; the second device is {device!r}")
    print(f"{'N':>5} {'P':>5} {'cpu s':>8} {'device s':>9} {'ratio':>6} {'difference':>11}")
    for n_params, n_data in ((128, 256), (512, 1024), (1024, 1024)):
        spectrum = sl.Spectrum.power_law(1.5, 1.25, 2000)
        taken, losses = [], []
        for where in ("cpu", device):
            if where != "cpu":  # first use of a device sets it up
                sl.simulate.random_features.train(spectrum, times, 8, 16, draws=1, device=where)
            start = time.perf_counter()
            curves = sl.simulate.random_features.train(
                spectrum, times, n_params, n_data, draws=20, device=where
            )
            taken.append(time.perf_counter() - start)
            losses.append(curves["test_loss"])
        difference = np.abs(losses[1] / losses[0] - 1).max()
        row = f"{n_params:>5} {n_data:>5} {taken[0]:>8.2f} {taken[1]:>9.2f} {taken[0] / taken[1]:>6.1f}"
        print(f"{row} {difference:>11.1e}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cuda")
