"""Collapses by simulation: quality within noise, coverage of exponents and critical points, percolation.

    python benchmarks/collapse.py [--sets 200] [--first 0] [--only critical] [--by optimum] [--lattices 400]

1. Perfect collapses with noise: the mean quality (1: within noise) and how often exponent ± 2 standard errors
   hold the truth, for every way of rescaling.
2. Finite-size scaling with a known critical point: the same for x_c, 1/ν and β/ν.
3. Site percolation on the square lattice: x_c against the known 0.592746, 1/ν against 3/4.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from scipy import ndimage

import scalinglab as sl

SIZES = (500, 1000, 2000, 4000, 8000, 16000, 32000)
WAYS = ("position", "optimum", "exponents")
CENTRE, WIDTH, HEIGHT = 0.593, 0.75, 0.1  # x_c, 1/ν, β/ν


def learning_curves(random: np.random.Generator, noise: float, points: int = 40) -> pd.DataFrame:
    """Curves of one master curve with a minimum: y = n^−0.5 Φ(x/n), Φ = z^−0.5 (1 + z⁴)^0.15."""
    rows = []
    for size in SIZES:
        z = np.geomspace(0.02, 30, points)
        y = (size * z) ** -0.5 * (1 + z**4) ** 0.15 * np.exp(noise * random.standard_normal(points))
        rows.append(pd.DataFrame({"n_data": size, "norm": size * z, "test_error": y}))
    return pd.concat(rows)


def around_a_critical_point(random: np.random.Generator, noise: float, points: int = 25) -> pd.DataFrame:
    """y = L^−β/ν Φ((x − x_c) L^1/ν) with a sigmoid Φ and additive noise."""
    rows = []
    for size in (16, 32, 64, 128, 256):
        x = np.linspace(0.45, 0.75, points)
        u = (x - CENTRE) * size**WIDTH
        y = size**-HEIGHT * (1 + np.tanh(u / 2) + 0.1 * u / (1 + u**2))
        rows.append(pd.DataFrame({"L": size, "p": x, "y": y + noise * random.standard_normal(points)}))
    return pd.concat(rows)


def percolation(random: np.random.Generator, lattices: int, sizes: tuple[int, ...]) -> pd.DataFrame:
    """Whether open sites connect top and bottom of an L × L lattice: one row a lattice."""
    rows = []
    for size in sizes:
        for p in np.linspace(0.5, 0.68, 19):
            sites = random.random((lattices, size, size)) < p
            for number, lattice in enumerate(sites):
                labels, _ = ndimage.label(lattice)
                spans = bool(np.isin(labels[0][labels[0] > 0], labels[-1]).any())
                rows.append((size, p, number, float(spans)))
    return pd.DataFrame(rows, columns=["L", "p", "seed", "spans"])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--lattices", type=int, default=400)
    parser.add_argument(
        "--first", type=int, default=0, help="the first seed, to share sets between processes"
    )
    parser.add_argument("--only", choices=list(PARTS), action="append", help="some of the tables")
    parser.add_argument("--by", choices=WAYS, help="one way of rescaling in the first table")
    asked = parser.parse_args()
    for name in asked.only or PARTS:
        PARTS[name](asked)


def seeds(asked: argparse.Namespace) -> range:
    """Of the sets that are asked for."""
    return range(asked.first, asked.first + asked.sets)


def learning(asked: argparse.Namespace) -> None:
    """Table 1."""
    print("| way | noise | quality | a ± 2 holds | b ± 2 holds |\n| --- | --- | --- | --- | --- |")
    for by in [asked.by] if asked.by else WAYS:
        for noise in (0.01, 0.03):
            made = [
                sl.laws.collapse(learning_curves(np.random.default_rng(seed), noise), by=by)
                for seed in seeds(asked)
            ]
            held = [
                np.mean([abs(v.value - truth) <= 2 * v.stderr for v in found])
                for found, truth in (([m.x_exponent for m in made], 1.0), ([m.y_exponent for m in made], 0.5))
            ]
            quality = np.mean([m.quality for m in made])
            print(f"| {by} | {noise:g} | {quality:.2f} | {held[0]:.3f} | {held[1]:.3f} |", flush=True)


def critical(asked: argparse.Namespace) -> None:
    """Table 2."""
    print("\n| noise | quality | x_c ± 2 holds | 1/ν | β/ν |\n| --- | --- | --- | --- | --- |")
    for noise in (0.01, 0.03):
        hits, scores = [], []
        for seed in seeds(asked):
            table = around_a_critical_point(np.random.default_rng(seed), noise)
            found = sl.laws.collapse(table, x="p", y="y", size="L", by="critical")
            assert found.critical is not None
            pairs = ((found.critical, CENTRE), (found.x_exponent, -WIDTH), (found.y_exponent, HEIGHT))
            hits.append([abs(v.value - truth) <= 2 * v.stderr for v, truth in pairs])
            scores.append(found.quality)
        cells = " | ".join(f"{share:.3f}" for share in np.mean(hits, axis=0))
        print(f"| {noise:g} | {np.mean(scores):.2f} | {cells} |", flush=True)


def lattice(asked: argparse.Namespace) -> None:
    """Table 3."""
    table = percolation(np.random.default_rng(0), asked.lattices, (16, 24, 32, 48, 64))
    print(f"\nsite percolation, {asked.lattices} lattices a point (p_c = 0.592746, 1/ν = 0.75, β/ν = 0)")
    print(sl.laws.collapse(table, x="p", y="spans", size="L", by="critical").summary())


PARTS = {"learning": learning, "critical": critical, "percolation": lattice}

if __name__ == "__main__":
    main()
