"""Limits of `scalinglab.laws` that were chosen: what lies on both sides of each.

    SCALINGLAB_DATA=… python benchmarks/chosen.py ahead|rises|in-progress|tables|optimum [--most 20]

- `ahead`: how far few sizes are continued (`few_points.MOST_AHEAD`, in ranges of ln x), and how wide an
  interval may be (`statistics.WIDE` to either side). Public curves (Alabdulmohsin et al. 2022) are cut after
  4 to 7 sizes and continued to all later ones without either limit. By distance, and by the ratio of the
  ends: the share of measured values inside 95 % intervals, and how far predictions are off, every curve
  counting the same.
- `rises`: Kendall's τ beyond which a curve counts as rising (`rising.RISES`), of drawn curves that fall, and
  of the same turned over, with noise of a share of their whole change: how many of each count as rising.
- `in-progress`: how many errors of the expected size count beside those seen (`in_progress.PRIOR_COUNT`): the
  share of bands that hold the final loss, on the smaller runs of field/while-it-trains.
- `tables`: of public runs, how far neighbouring sizes lie apart in ln size (`SAME_SIZE`), and how
  often two runs of one size measure the same to so many digits (`rows.DIGITS_OF_COPIES`).
- `optimum`: how far beyond runs of a narrow range the best model is answered (`optimum.NEAR`): draws of 4 × 4
  runs of a sum of two powers with 0.5 % noise, the share whose 95 % interval holds the true size, and the
  interval's ratio.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from scalinglab.data.tables import published_table
from scalinglab.errors import ScalinglabError
from scalinglab.laws import in_progress, surface
from scalinglab.laws import optimum as plan_limits
from scalinglab.laws.extrapolation import few_points
from scalinglab.laws.fitting.data import points
from scalinglab_papers.field import running

DISTANCES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf)
RATIOS = (1.0, 1.5, 3.0, 10.0, 30.0, 100.0, np.inf)
THRESHOLDS, SIZES, NOISE, DRAWS = (0.3, 0.5, 0.7), (3, 4, 6, 10), (0.05, 0.2, 0.5), 2000
COUNTS, LEVELS = (0.5, 1.0, 2.0), (0.5, 0.95)
DIGITS = (3, 4, 5, 6)
GAPS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, np.inf)
BEYOND = (10.0, 30.0, 100.0, 300.0, 1000.0)


def continued(most: int) -> Iterator[dict[str, Any]]:
    """Predictions of later sizes from the first four to seven."""
    table = published_table("alabdulmohsin2022/curves.csv", "arXiv 2209.06640")
    groups = list(table.groupby(["domain", "task", "model"], sort=False))
    few_points.MOST_AHEAD = np.inf
    for name, rows in groups[:: -(-len(groups) // most)]:
        mean = rows.groupby("n_data")["loss"].mean()
        x, y = mean.index.to_numpy(float), mean.to_numpy(float)
        for count in range(4, min(8, len(x))):
            at = x[count:]
            try:
                middles, ends = few_points.ends(points.check(x[:count], y[:count]), at, 0.95)
            except ScalinglabError:
                continue
            for place, truth, middle, low, high in zip(at, y[count:], middles, *ends, strict=True):
                yield {
                    "curve": name, "ahead": np.log(place / x[count - 1]) / np.log(x[count - 1] / x[0]),
                    "ratio": high / low if low > 0 else np.inf, "held": low <= truth <= high,
                    "off": np.exp(abs(np.log(middle / truth))),
                }  # fmt: skip


def by(found: pd.DataFrame, column: str, edges: tuple[float, ...]) -> pd.DataFrame:
    """One row between two edges."""
    part = pd.cut(found[column], edges, include_lowest=True)
    rows = []
    for between, own in found.groupby(part, observed=True):
        curves, off = own.groupby("curve")["held"].mean(), own.groupby("curve")["off"].median()
        rows.append({
            column: str(between), "predictions": len(own), "curves": len(curves), "held": curves.mean(),
            "±": curves.std(ddof=1) / np.sqrt(len(curves)), "off by a factor, median": off.median(),
            "90 %": off.quantile(0.9),
        })  # fmt: skip
    return pd.DataFrame(rows)


def ahead(most: int) -> None:
    """Print both tables."""
    found = pd.DataFrame(continued(most))
    for column, edges in (("ahead", DISTANCES), ("ratio", RATIOS)):
        print(by(found, column, edges).to_string(index=False, float_format="%.3f"), flush=True)


def rises() -> None:
    """Print the shares."""
    random, rows = np.random.default_rng(0), []
    for sizes in SIZES:
        steps = np.arange(sizes)
        change = 1 - 2.0 ** -np.arange(sizes)
        change /= change[-1]
        for noise in NOISE:
            y = change + noise * random.standard_normal((DRAWS, sizes))
            tau = np.array([stats.kendalltau(steps, one).statistic for one in y])
            up = y[:, -1] > y[:, 0]
            shares = {f"rising, τ > {t:g}": np.mean(up & (tau > t)) for t in THRESHOLDS}
            shares |= {f"falling, τ > {t:g}": np.mean((y[:, -1] < y[:, 0]) & (-tau > t)) for t in THRESHOLDS}
            rows.append({"sizes": sizes, "noise": noise, **shares})
    print(pd.DataFrame(rows).to_string(index=False, float_format="%.3f"))


def in_progress_counts() -> None:
    """Print the share of bands that hold the final loss of smaller published runs, each from the others."""
    cases = [*running.luo(25), *running.gemstones(large=False)]
    for count in COUNTS:
        in_progress.PRIOR_COUNT = count
        for level in LEVELS:
            held, widths = [], []
            for case, part in itertools.product(cases, (0.3, 0.5, 0.8)):
                known, end = case.step <= part * case.plan.total * (1 + 1e-9), case.loss[-1]
                found = in_progress.final_loss(
                    case.step[known], case.loss[known], schedule=case.plan, like=case.study, level=level
                )
                held.append(found.low <= end <= found.high)
                widths.append(found.high / found.low - 1)
            print(f"PRIOR_COUNT {count:g}: bands of {level:.0%} hold {np.mean(held):.1%} of "
                  f"{len(held)}, mean width {np.mean(widths):.2%}", flush=True)  # fmt: skip


def tables() -> None:
    """Print gaps between sizes, and how often runs measure the same."""
    isoflops = published_table("isoflops2026/isoflops.csv", "Open-Athena")
    chinchilla = published_table("hoffmann2022/chinchilla.csv", "digitised by Besiroglu et al. 2024")
    searches = published_table("scalebench/lr_bsz-train.parquet", "arXiv 2604.22753")
    sizes = [chinchilla["n_params"], *(rows["params"] for _, rows in isoflops.groupby("experiment"))]
    gaps = [np.diff(np.unique(np.log(values))) for values in sizes]
    parts = pd.Series(pd.cut(np.concatenate(gaps), GAPS)).value_counts(sort=False, normalize=True)
    print(parts.rename("share of gaps between neighbouring n_params").to_string(float_format="%.3f"))
    cells = [rows["lm_loss"] for _, rows in searches.groupby(["non_embedding_param_size", "data_size"])]
    pairs = sum(len(own) * (len(own) - 1) // 2 for own in cells)
    for digits in DIGITS:
        counts = [own.map(lambda v, d=digits: f"{v:.{d}g}").value_counts() for own in cells]
        same = sum(int((c * (c - 1) // 2).sum()) for c in counts)
        print(f"{same} of {pairs} pairs of runs of one size measure the same to {digits} digits")


def optimum(most: int) -> None:
    """Print coverage by how far beyond the runs."""
    plan_limits.NEAR = np.inf
    truth = {"E": 1.7, "A": 400.0, "B": 410.0, "alpha": 0.34, "beta": 0.28}
    n, d = (v.ravel() for v in np.meshgrid(1e8 * 2.0 ** np.arange(4), 2e9 * 2.0 ** np.arange(4)))
    loss = truth["E"] + truth["A"] * n ** -truth["alpha"] + truth["B"] * d ** -truth["beta"]
    largest, rows = 6 * (n * d).max(), []
    power = truth["beta"] / (truth["alpha"] + truth["beta"])
    factor = truth["alpha"] * truth["A"] / (truth["beta"] * truth["B"])
    factor **= 1 / (truth["alpha"] + truth["beta"])
    for seed in range(most):
        noise = np.exp(0.005 * np.random.default_rng(seed).standard_normal(len(n)))
        for times in BEYOND:
            best = factor * (times * largest / 6) ** power
            try:
                found = surface.fit(n, d, loss * noise).compute_optimal(times * largest)
            except ScalinglabError:
                rows.append({"times": times, "refused": 1.0})
                continue
            low, high = (float(np.ravel(end)[0]) for end in found.n_params_interval)
            rows.append({"times": times, "refused": 0.0, "held": low <= best <= high, "ratio": high / low})
    table = pd.DataFrame(rows).astype(float).groupby("times")
    print(table[["refused", "held"]].mean().join(table["ratio"].median()).to_string(float_format="%.3f"))


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["ahead", "rises", "in-progress", "tables", "optimum"])
    parser.add_argument("--most", type=int, default=1000, help="curves of `ahead`")
    asked = parser.parse_args()
    if asked.what == "ahead":
        ahead(asked.most)
    elif asked.what == "optimum":
        optimum(min(asked.most, 100))
    else:
        {"rises": rises, "tables": tables, "in-progress": in_progress_counts}[asked.what]()


if __name__ == "__main__":
    main()
