"""How often the intervals of `laws.speedup` hold: identity and shifted laws, four points a curve.

    python benchmarks/speedup.py [--sets 1000] [--first 0] [--form auto] [--factor 1.3]

Losses E + 2 (C/1e18)^-0.12 at four computes from 1e18 to 1e21 with noise of 0.5 %; recipe A is B with a
factor of compute. Printed: the share of 95 % intervals that hold the factor (goal 93–97 %), and their width.
"""

from __future__ import annotations

import argparse

import numpy as np

import scalinglab as sl

COMPUTE = np.geomspace(1e18, 1e21, 4)
NOISE = 0.005
LAWS = ((0.0, "power_law"), (1.5, "power_law_offset"), (1.5, "auto"))


def recipe(factor: float, offset: float, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Compute and loss of one recipe."""
    loss = offset + 2 * (factor * COMPUTE / 1e18) ** -0.12
    return COMPUTE, loss * np.exp(NOISE * random.standard_normal(len(COMPUTE)))


def main() -> None:
    """Print one row a law and factor."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument(
        "--first", type=int, default=0, help="the first seed, to share sets between processes"
    )
    parser.add_argument("--factor", type=float, action="append")
    parser.add_argument("--form", choices=[form for _, form in LAWS], action="append")
    asked = parser.parse_args()
    sets = asked.sets
    print("| law | factor | 95 % intervals hold | median high/low |\n| --- | --- | --- | --- |")
    for offset, form in LAWS:
        if asked.form and form not in asked.form:
            continue
        for factor in asked.factor or (1.0, 1.3):
            hits, widths = [], []
            for seed in range(asked.first, asked.first + sets):
                random = np.random.default_rng([7, seed])
                a, b = recipe(factor, offset, random), recipe(1.0, offset, random)
                found = sl.laws.speedup(a, b, form=form)
                hits.append(found.low <= factor <= found.high)
                widths.append(found.high / found.low)
            error = np.sqrt(np.mean(hits) * (1 - np.mean(hits)) / sets)
            share = f"{np.mean(hits):.3f} ± {error:.3f}"
            print(f"| {form}, E = {offset:g} | {factor:g} | {share} | {np.median(widths):.3f} |", flush=True)


if __name__ == "__main__":
    main()
