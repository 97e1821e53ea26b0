"""Does the 95 % interval of the power p of the optimal noise hold the truth?

    python benchmarks/noise.py [--sets 200]

Every case draws many tables of runs whose accuracy is highest at noise = width^p and falls off on both sides,
twice as fast above, and counts how often the interval of p holds the planted one, and what the verdict on
p = 1 is. Levels are placed at random against the optima. "digits" is the size of a small study: four widths,
six batch sizes, three seeds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

from scalinglab.laws.noise import OptimalNoise
from scalinglab.laws.noise.optimum import from_ends
from scalinglab.laws.noise.runs import Ends
from scalinglab.results.distributions import CANNOT_TELL, FAILS, HOLDS

FOUR, FIVE = (1.0, 2.0, 4.0, 8.0), (1.0, 1.5, 2.0, 4.0, 8.0)
# widths, factor between levels, levels, seeds, scatter of a run, curvature (accuracy per octave squared)
CASES = {
    "4 widths, 9 levels, 20 seeds": (FOUR, 2.0, 9, 20, 0.004, 0.01),
    "5 widths, 9 levels, 5 seeds": (FIVE, 2.0, 9, 5, 0.004, 0.01),
    "5 widths, 9 levels, 5 seeds, noisy": (FIVE, 2.0, 9, 5, 0.02, 0.01),
    "5 widths, 9 levels, hardly any noise": (FIVE, 2.0, 9, 5, 0.0002, 0.01),
    "4 widths, 9 levels, 2 seeds": (FOUR, 2.0, 9, 2, 0.006, 0.01),
    "digits: 72 runs": (FOUR, 2.0, 6, 3, 0.012, 0.005),
    "digits: 72 runs, noisy": (FOUR, 2.0, 6, 3, 0.03, 0.005),
}


def runs_of(case: tuple, power: float, rng: np.random.Generator) -> pd.DataFrame:
    """A table of runs."""
    widths, factor, levels, seeds, scatter, curvature = case
    noise = factor ** (np.arange(levels) - (levels - 1) / 2 + rng.uniform(-0.5, 0.5))
    width, level, _ = (a.ravel() for a in np.meshgrid(widths, noise, np.arange(seeds), indexing="ij"))
    off = np.log2(level) - power * (np.log2(width) - np.log2(widths).mean())
    score = 0.9 + 0.005 * np.log2(width) - curvature * off**2 * np.where(off > 0, 2, 1)
    score = np.maximum(score, 0.3) + scatter * rng.standard_normal(len(width))
    return pd.DataFrame({"width": width, "noise": level, "test_accuracy": score})


def one_set(case: tuple, power: float, rng: np.random.Generator) -> OptimalNoise:
    """What is found in a table of runs."""
    frame = runs_of(case, power, rng)
    width, level, score = (frame[name].to_numpy() for name in frame)
    return from_ends(
        Ends(frame, level, width, score, score > 0.2, "noise", "test_accuracy", "width"), draws=500
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=200)
    sets = parser.parse_args().sets
    error = 100 * np.sqrt(0.05 * 0.95 / sets)
    print(f"{sets} sets a case; one standard error of a coverage of 95 % is {error:.1f} %")
    told = f"{HOLDS:>6} {FAILS:>6} {CANNOT_TELL:>12}"
    print(f"{'case':38} {'p':>4} {'covered/%':>10} {'width':>6} {told} {'ms/set':>7}")
    for name, case in CASES.items():
        for power in (0.0, 1.0):
            start = time.perf_counter()
            found = [one_set(case, power, np.random.default_rng((7, k))) for k in range(sets)]
            spent = 1000 * (time.perf_counter() - start) / sets
            covered = 100 * np.mean([f.power.low <= power <= f.power.high for f in found])
            width = np.median([f.power.high - f.power.low for f in found])
            shares = [np.mean([f.verdict == v for f in found]) for v in (HOLDS, FAILS, CANNOT_TELL)]
            told = " ".join(f"{100 * s:>{w}.0f}" for s, w in zip(shares, (6, 6, 12), strict=True))
            print(f"{name:38} {power:>4g} {covered:>10.1f} {width:>6.2f} {told} {spent:>7.0f}", flush=True)


if __name__ == "__main__":
    main()
