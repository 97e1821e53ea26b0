"""Collapses by simulation: quality within noise, and coverage of exponents.

    python benchmarks/collapse.py [--sets 200] [--first 0] [--by optimum]

Perfect collapses with noise: the mean quality (1: within noise) and how often exponent ± 2 standard errors
hold the truth, for every way of rescaling.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import scalinglab as sl

SIZES = (500, 1000, 2000, 4000, 8000, 16000, 32000)
WAYS = ("position", "optimum")


def learning_curves(random: np.random.Generator, noise: float, points: int = 40) -> pd.DataFrame:
    """Curves of one master curve with a minimum: y = n^−0.5 Φ(x/n), Φ = z^−0.5 (1 + z⁴)^0.15."""
    rows = []
    for size in SIZES:
        z = np.geomspace(0.02, 30, points)
        y = (size * z) ** -0.5 * (1 + z**4) ** 0.15 * np.exp(noise * random.standard_normal(points))
        rows.append(pd.DataFrame({"n_data": size, "norm": size * z, "test_error": y}))
    return pd.concat(rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument(
        "--first", type=int, default=0, help="the first seed, to share sets between processes"
    )
    parser.add_argument("--by", choices=WAYS, help="one way of rescaling")
    asked = parser.parse_args()
    print("| way | noise | quality | a ± 2 holds | b ± 2 holds |\n| --- | --- | --- | --- | --- |")
    for by in [asked.by] if asked.by else WAYS:
        for noise in (0.01, 0.03):
            made = [
                sl.laws.collapse(learning_curves(np.random.default_rng(seed), noise), by=by)
                for seed in range(asked.first, asked.first + asked.sets)
            ]
            held = [
                np.mean([abs(v.value - truth) <= 2 * v.stderr for v in found])
                for found, truth in (([m.x_exponent for m in made], 1.0), ([m.y_exponent for m in made], 0.5))
            ]
            quality = np.mean([m.quality for m in made])
            print(f"| {by} | {noise:g} | {quality:.2f} | {held[0]:.3f} | {held[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
