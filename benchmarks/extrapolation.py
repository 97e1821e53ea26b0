"""Extrapolation of 56 public learning curves, scored by RMSLE = √mean (ln ŷ − ln y)².

    SCALINGLAB_DATA=… python benchmarks/extrapolation.py [--only m4,extrapolate] [--choices]

The curves are those of Alabdulmohsin et al. 2022 (CC BY 4.0): each has a part to fit and a part at about
twice the range to score on, which no method sees. LM rows that repeat a size are merged. Printed: the mean
RMSLE of every method by domain, its processor time per curve, its ratio to "repeat the last value", the
scatter of the scored points around a line through themselves, and how often the intervals of `extrapolate`
hold the truth. ``--choices`` scores the image curves under 27 settings of the method's constants, and with
the setting chosen on all families of tasks but the one that is scored.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import scalinglab as sl
from scalinglab.data.sources import search_path
from scalinglab.errors import ScalinglabError
from scalinglab.laws.extrapolation import stacking as extrapolation

DOMAINS = {"IC": "images", "NMT": "translation", "LM": "language", "BB": "BIG-bench"}
FORMS = ("m1", "m2", "m3", "m4", "broken_power_law")
Predict = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def load() -> list[tuple[str, str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """(domain, task, x, y, x beyond, y beyond) of every curve."""
    places = [p / "learning-curves" / "alabdulmohsin2022" / "curves.csv" for p in search_path()]
    path = next((p for p in places if p.exists()), None)
    if path is None:
        sys.exit("set SCALINGLAB_DATA to the folder that holds learning-curves/alabdulmohsin2022/curves.csv")
    keys = ["domain", "task", "model", "is_train", "n_data"]
    table = pd.read_csv(path).groupby(keys, as_index=False)["loss"].mean()
    curves = []
    for (domain, task, _), rows in table.groupby(["domain", "task", "model"], sort=False):
        known, rest = (rows[rows["is_train"] == part].sort_values("n_data") for part in (1, 0))
        columns = [part[name].to_numpy(float) for part in (known, rest) for name in ("n_data", "loss")]
        curves.append((str(domain), str(task), *columns))
    return curves


def form(name: str) -> Predict:
    def predict(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
        return np.asarray(sl.laws.fit(name, x, y).predict(at))

    return predict


def choices(curves: list[tuple[str, str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]) -> None:
    """The image curves under other constants: how much of the score is the choice of the setting."""
    images = [curve for curve in curves if curve[0] == "IC"]
    families = np.array([curve[1].split("_")[0] for curve in images])
    scores = []
    for setting in itertools.product((1.0, 2.0, 3.0), (0.1, 0.3, 1.0), (2.0, 4.0, 8.0)):
        extrapolation.RECENT, extrapolation.RIDGE, extrapolation.CHOSEN = setting
        predictions = [(sl.laws.extrapolate(x, y, at=at).mean, truth) for _, _, x, y, at, truth in images]
        scores.append([np.sqrt(np.mean(np.log(mean / truth) ** 2)) for mean, truth in predictions])
    table = np.array(scores)
    means = table.mean(axis=1)
    print(f"\nimages under {len(table)} settings: {means.min():.4f} … {means.max():.4f}, "
          f"median {np.median(means):.4f}")  # fmt: skip
    left_out = [
        table[np.argmin(table[:, families != family].mean(axis=1)), families == family]
        for family in np.unique(families)
    ]
    print(f"setting chosen on the other families of tasks: {np.concatenate(left_out).mean():.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="methods with commas; the last value is always there")
    parser.add_argument("--choices", action="store_true", help="score other constants of the method instead")
    asked = parser.parse_args()
    only = asked.only
    curves = load()
    if asked.choices:
        choices(curves)
        return
    methods: dict[str, Predict] = {
        "last value": lambda x, y, at: np.full(at.shape, y[-1]),
        **{name: form(name) for name in FORMS},
        "extrapolate": lambda x, y, at: sl.laws.extrapolate(x, y, at=at).mean,
    }
    if only:
        methods = {
            name: predict for name, predict in methods.items() if name in ["last value", *only.split(",")]
        }
    domains = np.array([curve[0] for curve in curves])
    rows = []
    for name, predict in methods.items():
        errors, start, failed = [], time.process_time(), 0
        for _, _, x, y, at, truth in curves:
            try:
                errors.append(np.sqrt(np.mean(np.log(predict(x, y, at) / truth) ** 2)))
            except ScalinglabError:  # too few sizes for this form's parameters: the last value stands in
                errors.append(np.sqrt(np.mean(np.log(y[-1] / truth) ** 2)))
                failed += 1
        seconds = (time.process_time() - start) / len(curves)
        scores = np.array(errors)
        rows.append(
            {"method": name}
            | {title: scores[domains == key].mean() for key, title in DOMAINS.items()}
            | {"all": scores.mean(), "CPU ms a curve": 1e3 * seconds, "failed": failed}
        )
    table = pd.DataFrame(rows).set_index("method")
    counts = {title: int((domains == key).sum()) for key, title in DOMAINS.items()}
    print("mean RMSLE;", ", ".join(f"{n} {title}" for title, n in counts.items()))
    print(table.to_string(float_format=lambda v: f"{v:.4f}" if v < 1 else f"{v:.1f}"))
    print("\nratio to the last value")
    print(
        (table[[*counts, "all"]] / table.loc["last value", [*counts, "all"]]).to_string(float_format="%.2f")
    )

    scatter = [
        np.std(np.log(v) - np.polyval(np.polyfit(np.log(u), np.log(v), 1), np.log(u)))
        for domain, _, _, _, u, v in curves
        if domain == "IC"
    ]
    print(f"\nscatter of the scored points of images around a line through them: {np.mean(scatter):.4f}")
    if "extrapolate" not in methods:
        return
    print("\nshare of scored points inside the intervals of extrapolate")
    held = {}
    for level in (0.8, 0.95):
        inside = []
        for _, _, x, y, at, truth in curves:
            found = sl.laws.extrapolate(x, y, at=at, level=level)
            inside.append(np.mean((truth >= found.low) & (truth <= found.high)))
        share = np.array(inside)
        held[f"{level:.0%}"] = {t: share[domains == k].mean() for k, t in DOMAINS.items()} | {
            "all": share.mean()
        }
    print(pd.DataFrame(held).T.to_string(float_format="%.3f"))


if __name__ == "__main__":
    main()
