"""What the closed forms and the shared factorisations save, against the obvious way of doing the same.

    python benchmarks/linear_models.py [--quick]

Each row solves one problem twice: by the library, and by the straightforward method that a careful user would
write with NumPy, SciPy or scikit-learn. CPU times of one thread, best of three, interleaved; `ratio` is how
many times longer the straightforward method takes; `difference` is the largest relative difference of the
results.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.optimize import brentq
from sklearn.kernel_ridge import KernelRidge

from scalinglab import Spectrum
from scalinglab.simulate import random_features as simulate
from scalinglab.theory import infinite_width, kernel


def clock(
    functions: list[Callable[[], np.ndarray]], repeats: int = 3
) -> tuple[list[float], list[np.ndarray]]:
    """Best time of each function over interleaved repeats, and what each returned."""
    best, results = [np.inf] * len(functions), [np.empty(0)] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = time.process_time()
            results[i] = function()
            best[i] = min(best[i], time.process_time() - start)
    return best, results


def by_full_sums(n_modes: int, n_data: np.ndarray) -> np.ndarray:
    """Eq. S12 as printed: a root for each size, sums over every mode."""
    eigenvalues = np.arange(1, n_modes + 1) ** -1.4
    power = np.arange(1, n_modes + 1) ** -1.6

    def loss(n: float) -> float:
        u = brentq(lambda u: np.sum(eigenvalues / (np.exp(u) + eigenvalues)) - n, -60, 10, xtol=1e-14)
        kept = np.exp(u) / (np.exp(u) + eigenvalues)
        return float(np.sum(power * kept**2) / (1 - np.sum((1 - kept) ** 2) / n))

    return np.array([loss(n) for n in n_data])


def learning_curves(n_modes: int, n_data: np.ndarray) -> np.ndarray:
    spectrum = Spectrum.power_law(1.6, 1.4, n_modes)  # made anew: the compression is part of the time
    return kernel.learning_curve(spectrum, n_data).loss


def one_by_one(
    pool: simulate.FeaturePool, n_data: np.ndarray, n_params: np.ndarray, draws: int
) -> np.ndarray:
    found = []
    for i in range(draws):
        draw = pool.draw(int(n_data[-1]), int(n_params[-1]), [[0, i]])
        for d in n_data:
            for p in n_params:
                theta = np.linalg.lstsq(draw.train[0, :d, :p], draw.train_targets[0, :d], rcond=None)[0]
                found.append(np.mean((draw.test_targets[0] - draw.test[0, :, :p] @ theta) ** 2))
    return np.array(found)


def shared(pool: simulate.FeaturePool, n_data: np.ndarray, n_params: np.ndarray, draws: int) -> np.ndarray:
    return simulate.sweep(pool, n_data, n_params, draws=draws).frame["test_loss"].to_numpy()


def by_scikit_learn(matrix: np.ndarray, y: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    order = np.random.default_rng([0, 0]).permutation(len(matrix))
    found = []
    for size in sizes:
        train, rest = order[:size], order[size:]
        model = KernelRidge(alpha=0.0, kernel="precomputed").fit(matrix[np.ix_(train, train)], y[train])
        found.append(np.mean((model.predict(matrix[np.ix_(rest, train)]) - y[rest]) ** 2))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, seconds")
    quick = parser.parse_args().quick
    scale = 4 if quick else 1
    rng = np.random.default_rng(0)
    rows: list[tuple[str, float, float, float]] = []

    def row(name: str, library: Callable[[], np.ndarray], plain: Callable[[], np.ndarray]) -> None:
        (fast, slow), (a, b) = clock([library, plain])
        rows.append((name, fast, slow, float(np.max(np.abs(a / b - 1)))))

    n_data = np.geomspace(1, 1e4, 40)
    modes = 10**6 // scale
    row(
        f"learning curve, 40 sizes, {modes:.0e} modes: nodes / sums over all modes",
        lambda: learning_curves(modes, n_data),
        lambda: by_full_sums(modes, n_data),
    )
    (small, large), _ = clock(
        [lambda: learning_curves(1000, n_data / 20), lambda: learning_curves(10**9, n_data)]
    )
    size = 1600 // scale
    x = rng.normal(size=(2 * size, 20))
    features = simulate.relu_features(x, size, seed=1)
    y = np.sin(3 * x[:, :1])
    pool = simulate.FeaturePool(features[:size], features[size:], y[:size], y[size:])
    sizes = np.unique(np.geomspace(10, 0.6 * size, 25).astype(int))
    most = np.array([size])
    row(
        f"{len(sizes)} sizes D ≤ P = {size}: one QR / lstsq for each",
        lambda: shared(pool, sizes, most, 1),
        lambda: one_by_one(pool, sizes, most, 1),
    )
    row(
        f"{len(sizes)} sizes P ≤ D = {size}: one QR / lstsq for each",
        lambda: shared(pool, most, sizes, 1),
        lambda: one_by_one(pool, most, sizes, 1),
    )
    larger = np.unique(np.geomspace(100, size, 25).astype(int))
    row(
        f"{len(larger)} sizes D > P = 64, 10 draws: rows folded in / lstsq for each",
        lambda: shared(pool, larger, np.array([64]), 10),
        lambda: one_by_one(pool, larger, np.array([64]), 10),
    )
    matrix = infinite_width.ntk(x, depth=2)
    row(
        f"kernel regression at {len(sizes)} sizes: one Cholesky / scikit-learn KernelRidge for each",
        lambda: simulate.nested_loss(matrix, sizes, targets=y)[0],
        lambda: by_scikit_learn(matrix, y, sizes),
    )

    print(f"{platform.machine()}, {os.cpu_count()} cores, one thread, NumPy {np.__version__}\n")
    print(f"| {'problem: library / straightforward':<88} | library s | other s | ratio | difference |")
    print(f"| {'-' * 88} | --------: | ------: | ----: | ---------: |")
    for name, fast, slow, difference in rows:
        print(f"| {name:<88} | {fast:9.4f} | {slow:7.3f} | {slow / fast:5.0f} | {difference:10.1e} |")
    print(f"\nlearning curve of 1e9 modes and of 1e3: {large:.4f} s and {small:.4f} s, {large / small:.1f}×")


if __name__ == "__main__":
    main()
