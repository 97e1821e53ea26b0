"""How long to train, and how large a model: the loss of random features against time, size and compute.

python examples/dmft.py
"""

from __future__ import annotations

import numpy as np

import scalinglab as sl


def main() -> None:
    spectrum = sl.Spectrum.power_law(task_exponent=1.5, spectral_exponent=1.25, n_modes=10**6)

    print("Test loss along training with 128 examples:")
    times = np.geomspace(1, 1e4, 5)
    for n_params in (32, 256, np.inf):
        found = sl.theory.dmft.solve(spectrum, times, n_params=n_params, n_data=128, noise=0.2)
        print(f"  N = {n_params:>5g}: " + "  ".join(f"{x:.3f}" for x in found.test_loss))

    stop = sl.theory.dmft.optimal_stopping(spectrum, n_params=256, n_data=128, noise=0.2)
    print(f"With N = 256 the best time to stop is t = {stop.time:.3g}, at a loss of {stop.test_loss:.3f}.\n")

    print(sl.theory.bottlenecks.exponents(1.5, 1.25).summary())
    frontier = sl.theory.bottlenecks.compute_optimal(spectrum, np.array([1e3, 1e4, 1e5]))
    for budget, n_params, time, loss in zip(
        frontier.compute, frontier.n_params, frontier.time, frontier.loss
    ):
        print(f"  C = {budget:g}: N = {n_params:.0f}, t = {time:.0f}, loss {loss:.3f}")

    small = sl.Spectrum.power_law(1.5, 1.25, n_modes=300)
    theory = sl.theory.dmft.solve(small, 10.0, 32, 64).test_loss
    drawn = sl.simulate.random_features.train(small, 10.0, 32, 64, draws=100).average("seed").frame.iloc[0]
    print(f"\nN = 32, P = 64, t = 10: theory {theory:.3f}, simulation {drawn.test_loss:.3f}", end=" ")
    print(f"± {drawn.test_loss_stderr:.3f} over {drawn['count']} draws (finite size adds about 1/N)")


if __name__ == "__main__":
    main()
