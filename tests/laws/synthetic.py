"""Curves with known exponents: ε = P^−γ φ(λ/P^γ₂), φ(z) = z^−γ₁ (1 + z^4)^((γ₁+rise)/4), under a plateau."""

import numpy as np
import pandas as pd

import scalinglab as sl


def family(
    sizes,
    gamma_1=0.5,
    gamma_2=1.0,
    rise=0.1,
    *,
    seeds=1,
    noise=0.0,
    points=40,
    spikes=0.0,
    plateau=0.9,
    seed=0,
):
    """γ = γ₁γ₂ exactly, so that the early phase does not depend on the size."""
    random = np.random.default_rng(seed)
    rows = []
    for size in sizes:
        norm_optimum = 10.0 * (size / sizes[0]) ** gamma_2
        for replica in range(seeds):
            norm = np.geomspace(0.02 * norm_optimum, 30.0 * norm_optimum, points)
            norm *= np.exp(0.05 * random.standard_normal()) if seeds > 1 else 1.0
            z = norm / norm_optimum
            law = 0.3 * norm**-gamma_1 * (1 + z**4) ** ((gamma_1 + rise) / 4)
            error = 1 / (1 / law**4 + 1 / plateau**4) ** 0.25
            error *= np.exp(noise * random.standard_normal(points))
            error *= np.where(random.random(points) < spikes, 1.5, 1.0)
            rows.append(
                pd.DataFrame(
                    {
                        "n_data": size,
                        "seed": replica,
                        "step": range(points),
                        "norm": norm,
                        "test_error": error,
                    }
                )
            )
    return pd.concat(rows, ignore_index=True)


def other_shapes_below(sizes, first, **options):
    """A family on one master curve from sizes[first] up; each smaller size falls with a slope of its own."""
    table = family(sizes, plateau=1e6, **options)
    for i, size in enumerate(sizes[:first]):
        own = table["n_data"] == size
        z = table.loc[own, "norm"] / table.loc[own, "norm"].max()
        table.loc[own, "test_error"] *= z ** (
            0.2 + 0.07 * (first - 1 - i)
        )  # of a slope of 0.5: far beyond the tolerance
    return table


def lucky(table, factor=0.7):
    """One point near the minimum of every other size is lower than its neighbours by pure luck."""
    table = table.copy()
    for size in sorted(table["n_data"].unique())[::2]:
        own = table[table["n_data"] == size]
        table.loc[own["test_error"].idxmin(), "test_error"] *= factor
    return table


def valleys(end: float, sizes=(1000, 2000, 4000, 8000), noise: float = 0.002) -> sl.Curves:
    """ln ε = 0.05 (ln λ − ln λ_opt)² + const with λ_opt = 2 P^0.8 and λ = 10 P^0.5 · epoch; to an epoch."""
    random = np.random.default_rng(1)
    parts = []
    for size in sizes:
        epoch = np.geomspace(0.5, end, 40)
        norm, best = 10 * size**0.5 * epoch, 2 * size**0.8
        error = 0.1 * np.exp(0.05 * np.log(norm / best) ** 2 + noise * random.standard_normal(40))
        columns = {"n_data": size, "seed": 0, "epoch": epoch, "norm": norm, "test_error": error}
        parts.append(pd.DataFrame(columns))
    return sl.Curves(pd.concat(parts, ignore_index=True), source="train")
