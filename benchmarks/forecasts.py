"""Backtest of `scalinglab forecast`: sealed forecasts at ten times the compute and more, on public tables.

    SCALINGLAB_DATA=… python benchmarks/forecasts.py [--level 0.95] [--out forecasts.csv]

*Curves* (Alabdulmohsin et al. 2022; Luo et al. 2025, constant rate; D'Amico et al. 2025, best error of each
size): one network trained on more and more data, so that compute grows as the data do. For the last point of
a curve and points a factor of √10 and 10 before it, everything up to a tenth of it is known, sealed by
`sealed.make` and scored by `sealed.score`: the files of `forecast make` and `forecast score`.
*Surfaces* (Chinchilla's 240 points, Gemstones' 220): E + A N^−α + B D^−β is fitted to the runs of at most a
threshold of compute, and every run of ten times that or more is forecast.

Forecasts of one curve or one fit are wrong together: the standard error of a share resamples these groups.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import scalinglab as sl
from scalinglab.data.sources import search_path
from scalinglab.errors import ScalinglabError
from scalinglab.laws.extrapolation import sealed

BEYOND = 10.0  # the least ratio of a target's compute to the largest known
BACK = (1.0, 10**0.5, 10.0)  # targets: the last point, and points these factors before it
DOMAINS = {"IC": "images", "NMT": "translation", "LM": "language", "BB": "BIG-bench"}
THRESHOLDS = (1e19, 2e19, 3e19, 1e20, 3e20, 1e21)
Curve = tuple[str, str, np.ndarray, np.ndarray]


def folder() -> Path:
    """Where the public curves lie."""
    found = next((p / "learning-curves" for p in search_path() if (p / "learning-curves").exists()), None)
    if found is None:
        sys.exit("set SCALINGLAB_DATA to the folder that holds learning-curves/")
    return found


def curves(data: Path) -> Iterator[Curve]:
    """(table, name, x, y) of every curve."""
    table = pd.read_csv(data / "alabdulmohsin2022" / "curves.csv")
    for (domain, task, model), rows in table.groupby(["domain", "task", "model"], sort=False):
        mean = rows.groupby("n_data")["loss"].mean()
        yield DOMAINS[str(domain)], f"{task} {model}", mean.index.to_numpy(float), mean.to_numpy(float)
    for size in ("25", "100"):
        rows = pd.read_csv(data / "mpl2025" / size / "constant_72000.csv")
        yield "training at a constant rate", size, rows["step"].to_numpy(float), rows["loss"].to_numpy(float)
    for path in sorted((data / "damico2025").glob("*.csv")):
        best = pd.read_csv(path).groupby("n_data")["test_error"].min()
        yield "best error of each size", path.stem, best.index.to_numpy(float), best.to_numpy(float)


def along(curve: Curve, level: float, where: Path) -> Iterator[dict[str, object]]:
    """Forecasts of one curve."""
    table, name, x, y = curve
    for back in BACK:
        target = int(np.argmin(np.abs(np.log(x * back / x[-1]))))
        known = x <= x[target] / BEYOND
        if known.sum() < 4:
            continue
        many = "8 sizes or more" if known.sum() >= 8 else "4 to 7 sizes"
        row: dict[str, object] = {"table": f"{table}, {many}", "group": name}
        file = where / f"{table}-{name}-{back:g}.json".replace("/", "_")
        try:
            found = sl.laws.extrapolate(x[known], y[known], at=x[target], level=level)
            sealed.make(found, file, what=name)
        except ScalinglabError:
            yield {**row, "refused": True}
            continue
        scored = sealed.score(file, float(y[target]))
        flat = float(np.log(y[known][-1] / y[target]))  # "it stays as it is"
        yield {
            **row,
            "refused": False,
            "noted": bool(found.notes),
            "last": flat,
            **vars(scored),
        }


def surfaces(data: Path, level: float) -> Iterator[dict[str, object]]:
    """Forecasts of runs at ten times the compute of every run that was fitted."""
    chinchilla = pd.read_csv(data / "hoffmann2022" / "chinchilla.csv").nsmallest(240, "loss")
    gemstones = pd.read_csv(data / "gemstones2025" / "hot.csv")
    gemstones["compute"] = 6.0 * gemstones["n_params"] * gemstones["n_data"]
    for title, table in (("Chinchilla", chinchilla), ("Gemstones", gemstones)):
        for threshold in THRESHOLDS:
            known = table[table["compute"] <= threshold]
            later = table[table["compute"] >= BEYOND * threshold]
            if len(known) < 20 or later.empty:
                continue
            row: dict[str, object] = {"table": title, "group": f"{title} {threshold:g}"}
            n, d = later["n_params"].to_numpy(), later["n_data"].to_numpy()
            try:
                law = sl.laws.surface.fit(known["n_params"], known["n_data"], known["loss"])
                mean = law.predict(n_params=n, n_data=d)
                low, high = law.interval(n_params=n, n_data=d, level=level, of="measurement")
            except ScalinglabError as error:
                print(f"{title}, compute to {threshold:g}: refused: {error}")
                yield from ({**row, "refused": True} for _ in range(len(later)))
                continue
            truth = later["loss"].to_numpy()
            nearest = known.nlargest(5, "compute")["loss"].min()
            for m, a, b, t in zip(mean, low, high, truth, strict=True):
                yield {
                    **row, "refused": False, "noted": False, "inside": bool(a <= t <= b), "level": level,
                    "error": float(np.log(m / t)), "half_width": float(np.log(b / a) / 2),
                    "last": float(np.log(nearest / t)),
                }  # fmt: skip


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a table."""
    found = []
    curves = rows[rows["table"].str.contains("sizes")]
    parts = [*rows.groupby("table"), ("curves, 8 sizes or more", curves[curves["table"].str.contains("8 s")])]
    for title, part in [*parts, ("all curves", curves), ("all", rows)]:
        made = part[~part["refused"].astype(bool)]
        if made.empty:
            found.append({"table": title, "forecasts": 0, "refused": len(part)})
            continue
        held = made["inside"].astype(float)
        groups = held.groupby(made["group"])
        random = np.random.default_rng(0)
        sums, counts = groups.sum().to_numpy(), groups.count().to_numpy()
        picks = random.integers(len(sums), size=(2000, len(sums)))
        shares = sums[picks].sum(axis=1) / counts[picks].sum(axis=1)
        found.append({
            "table": title, "forecasts": len(made), "groups": len(sums), "refused": len(part) - len(made),
            "intervals that hold": held.mean(), "±": shares.std(),
            "median half-width": made["half_width"].astype(float).median(),
            "rmsle": np.sqrt(np.mean(made["error"].astype(float) ** 2)),
            "rmsle, last value": np.sqrt(np.mean(made["last"].astype(float) ** 2)),
        })  # fmt: skip
    return pd.DataFrame(found).set_index("table")


def main() -> None:
    """Make, score and tally all forecasts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--level", type=float, default=0.95)
    parser.add_argument("--out", type=Path, help="write every forecast here (.csv)")
    asked = parser.parse_args()
    data = folder()
    with tempfile.TemporaryDirectory() as where:
        made = [row for curve in curves(data) for row in along(curve, asked.level, Path(where))]
    rows = pd.DataFrame([*made, *surfaces(data, asked.level)])
    print(summary(rows).to_string(float_format="%.3f"))
    if asked.out:
        rows.to_csv(asked.out, index=False)


if __name__ == "__main__":
    main()
