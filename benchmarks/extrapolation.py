"""Extrapolation of 56 public learning curves, scored by RMSLE = √mean (ln ŷ − ln y)² and by log score.

    SCALINGLAB_DATA=… python benchmarks/extrapolation.py [--only m4]
    SCALINGLAB_DATA=… python benchmarks/extrapolation.py --families | --minima | --cuts | --choices | …

The curves are those of Alabdulmohsin et al. 2022 (CC BY 4.0): each has a part to fit and a part at about
twice the range to score on, which no method sees. LM rows that repeat a size are merged. Printed: the mean
RMSLE of every method by domain, its processor time per curve, its ratio to "repeat the last value", the
scatter of the scored points around a line through themselves, and for `extrapolate` the mean ln of the
predicted density of y and how often its intervals hold the truth.

``--families`` scores `extrapolate` on synthetic families instead, by family, by number of points and whether
they are smoothed; ``--minima`` on running minima of one law; ``--cuts`` from earlier cut-offs of the
published curves, each up to twice its range, by number of points and by whether they cover less than three
doublings, repeat values or (fewer than eight) still steepen. These are refused; with ``--refused`` they are
continued and show what their intervals would hold, by range, too, and what wider ones would if the factor was
chosen on the other domains. ``--form-errors`` prints how likely it is that E + A x^-c errs, given whole
curves (`form_error`). ``--choices`` follows the protocol (docs/benchmarks/extrapolation-protocol.md):
settings of the trend's two constants, chosen with one network and one data set left out. A file with further
curves in the same columns is scored with ``--curves``. ``--short`` scores short, smooth curves of public
trainings of language models (Gemstones by model, misfitting by size, a constant rate), from their first 8, 10
and 12 sizes up to three times as far, beside a straight line through the last three.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

import curve_families as families
import numpy as np
import pandas as pd

import scalinglab as sl
from scalinglab.data.sources import search_path
from scalinglab.data.tables import published_table
from scalinglab.errors import ScalinglabError
from scalinglab.laws.extrapolation import few_points, forecasters, shapes
from scalinglab.laws.fitting import bend
from scalinglab.laws.fitting.data.points import FEWEST_SIZES
from scalinglab.laws.fitting.uncertainty import form_error
from scalinglab.results.distributions import interval

DOMAINS = {"IC": "images", "NMT": "translation", "LM": "language", "BB": "BIG-bench"}
FORMS = ("m1", "m2", "m3", "m4", "broken_power_law")
SETTINGS = tuple(itertools.product((0.1, 0.15, 0.2, 0.3), (0.7, 0.9, 1.2)))  # memory, damping
CUT_OFFS = (4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 28, 40, 56)  # known points
KNOWN = {5: "4, 5", 7: "6, 7", 12: "8 to 12", 20: "13 to 20", 35: "21 to 35", 1000: "36 or more"}  # points
RANGES = {2: "under 2", 4: "2 to 4", 8: "4 to 8", 16: "8 to 16", np.inf: "16 or more"}
LEAST_RANGE = shapes.LEAST_RANGE  # that continued curves have
SHORT = "under three doublings"
LEARNED = 3.33  # log score on the 72 image curves of the best published learned extrapolator
Predict = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Curve(NamedTuple):
    """A curve with the part to fit (x, y) and the part to score (at, truth)."""

    domain: str
    task: str
    model: str
    x: np.ndarray
    y: np.ndarray
    at: np.ndarray
    truth: np.ndarray


def load(path: str | None = None) -> list[Curve]:
    """Every curve of the table."""
    found = pd.read_csv(path) if path else published_table("alabdulmohsin2022/curves.csv", "arXiv 2209.06640")
    keys = ["domain", "task", "model", "is_train", "n_data"]
    table = found.groupby(keys, as_index=False)["loss"].mean()
    curves = []
    for (domain, task, model), rows in table.groupby(["domain", "task", "model"], sort=False):
        known, rest = (rows[rows["is_train"] == part].sort_values("n_data") for part in (1, 0))
        columns = [part[name].to_numpy(float) for part in (known, rest) for name in ("n_data", "loss")]
        curves.append(Curve(str(domain), str(task), str(model), *columns))
    return curves


def synthetic(count: int, first: int = 0) -> list[Curve]:
    """So many curves of every synthetic family from this seed on; the family is the domain."""
    return [
        Curve(
            kind,
            "smoothed" if families.smoothed(kind, seed) else "raw",
            str(seed),
            *families.curve(kind, seed),
        )
        for kind in families.FAMILIES
        for seed in range(first, first + count)
    ]


def minima(count: int, first: int = 0) -> list[Curve]:
    """So many running minima of one law from this seed on."""
    seeds = range(first, first + count)
    return [Curve("running minimum", "", str(seed), *families.running_minimum(seed)) for seed in seeds]


def earlier_cuts(curves: list[Curve]) -> list[Curve]:
    """Every curve from its first points alone, scored on the later ones up to twice their range."""
    cuts = []
    for c in curves:
        x, y = np.append(c.x, c.at), np.append(c.y, c.truth)
        for known in CUT_OFFS:
            later = (np.arange(x.size) >= known) & (x <= 2.01 * x[min(known, x.size) - 1])
            if later.any():
                cuts.append(c._replace(x=x[:known], y=y[:known], at=x[later], truth=y[later]))
    return cuts


def short_curves() -> list[Curve]:
    """Short, smooth curves of trainings of language models: 8, 10 and 12 sizes, and what follows."""
    folder = next(p for p in search_path() if (p / "learning-curves").exists()) / "learning-curves"
    flops = pd.read_csv(folder / "isoflops2026" / "isoflops.csv").rename(columns={"tokens": "n_data"})
    tables = {
        "Gemstones": (pd.read_csv(folder / "gemstones2025" / "hot.csv"), ["width", "depth"]),
        "misfitting": (flops[flops["experiment"].str.startswith("misfitting")], ["params"]),
    }
    whole = [
        (name, part.groupby("n_data")["loss"].mean())
        for name, (table, by) in tables.items() for _, part in table.groupby(by)
    ]  # fmt: skip
    for size in ("25", "100"):
        steps = pd.read_csv(folder / "mpl2025" / size / "constant_72000.csv").set_index("step")["loss"]
        smooth = steps.rolling(9, center=True).mean().dropna()
        for first in (1500, 3000, 6000):
            places = smooth.index.get_indexer(list(np.geomspace(first, smooth.index[-1], 14)), "nearest")
            whole.append(("constant rate", smooth.iloc[np.unique(places)]))
    found = []
    for name, curve in whole:
        x, y = curve.index.to_numpy(float), curve.to_numpy(float)
        for known in (8, 10, 12):
            later = (x > x[min(known, x.size) - 1]) & (x <= 3 * x[min(known, x.size) - 1])
            if later.any() and (known == 8 or x.size >= known + 2):
                found.append(Curve(name, "", "", x[:known], y[:known], x[later], y[later]))
    return found


def short(curves: list[Curve]) -> None:
    """RMSLE of ours, of a straight line through the last three and of the last value, by table."""
    rows = []
    for c in curves:
        line = np.polyfit(np.log(c.x[-3:]), np.log(c.y[-3:]), 1)
        found = sl.laws.extrapolate(c.x, c.y, at=c.at)
        rows.append({
            "table": c.domain, "extrapolate": rmsle(found.mean, c.truth),
            "last three": rmsle(np.exp(np.polyval(line, np.log(c.at))), c.truth),
            "last value": rmsle(np.full_like(c.truth, c.y[-1]), c.truth),
            "held": np.mean((found.low <= c.truth) & (c.truth <= found.high)),
        })  # fmt: skip
    table = pd.DataFrame(rows).groupby("table", sort=False)
    print(table.mean().assign(curves=table.size()).to_string(float_format="%.5f"))


def form(name: str) -> Predict:
    def predict(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
        return np.asarray(sl.laws.fit(name, x, y).predict(at))

    return predict


def rmsle(predicted: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.log(predicted / truth) ** 2)))


def ours(curves: list[Curve]) -> pd.DataFrame:
    """RMSLE, log score and coverage of `extrapolate`, one row a curve; no numbers where it refuses."""
    rows = []
    for c in curves:
        named = {
            "domain": c.domain, "network": c.model, "data set": c.task.split("_")[0], "points": c.x.size,
            "curve": f"{c.domain} {c.task} {c.model}",
            "kind": kind(c), "range": c.x[-1] / c.x[0],
        }  # fmt: skip
        try:
            found = sl.laws.extrapolate(c.x, c.y, at=c.at)
        except ScalinglabError:
            rows.append({**named, "refused": 1.0})
            continue
        half = 0.5 * np.log(found.high / found.low)
        if not np.isfinite(half).all():  # a curve that still rises has no band
            rows.append({**named, "refused": 1.0})
            continue
        below, above = interval(found.band, 0.8)
        narrow = (above - below) / 2
        miss = np.abs(np.log(c.truth / found.mean))
        held = (found.low <= c.truth) & (c.truth <= found.high)
        rows.append({
            **named, "refused": 0.0,
            "RMSLE": rmsle(found.mean, c.truth), "log score": float(found.log_score(c.truth).mean()),
            "80 %": float(np.mean(miss <= narrow)), "95 %": float(np.mean(held)),
            "half-width": float(half.mean()), "needed": float(np.max(miss / half)),
            "noted": float(len(found.notes) > 0),
        })  # fmt: skip
    return pd.DataFrame(rows)


def kind(c: Curve) -> str:
    """Why a curve is not continued, if so."""
    steps = np.diff(c.y)
    if c.x.max() < LEAST_RANGE * c.x.min():
        return SHORT
    if shapes.repeats_values(steps) and 1 + np.count_nonzero(steps) < FEWEST_SIZES:
        return "repeats values"
    few = c.x.size < FEWEST_SIZES
    return "steepens" if few and bend.of_line(np.log(c.x), np.log(c.y)).steepens else "continued"


def widened(few: pd.DataFrame) -> None:
    """What intervals of short ranges hold when widened by a factor chosen on the other domains."""
    few = few[(few["kind"] == SHORT) & few["needed"].notna()]
    factors = np.linspace(1, 10, 181)
    print(f"\n{SHORT}, widened until 95 % of the forecasts of other domains hold all their points")
    for domain, part in few.groupby("domain"):
        others = [rest["needed"].to_numpy() for name, rest in few.groupby("domain") if name != domain]
        share = np.mean([[np.mean(needed <= f) for f in factors] for needed in others], axis=0)
        factor = factors[np.argmax(share >= 0.95)]
        held = np.mean(part["needed"] <= factor)
        print(f"{domain:<12} {len(part):>3} forecasts, factor {factor:.2f}: {held:.2f} hold all")


def form_errors(curves: list[Curve]) -> None:
    """By domain, the mean probability that E + A x^-c errs, given whole curves; a half before."""
    print("mean probability that E + A x^-c errs, given whole curves (one half before)")
    for domain, title in DOMAINS.items():
        found = []
        for c in (c for c in curves if c.domain == domain):
            x, y = np.append(c.x, c.at), np.append(c.y, c.truth)
            kept = np.unique(np.linspace(0, x.size - 1, 60).round().astype(int))
            law = sl.laws.fit("power_law_offset", x[kept], y[kept])
            found.append(form_error.FormError(law).chance)
        print(f"{title:<12}{len(found):>4} curves: {np.mean(found):.2f}", flush=True)


def means(frame: pd.DataFrame, *by: str) -> str:
    """Means over forecasts, of each group; ± is the standard error of the share, whole curves resampled."""
    cut = {"points": KNOWN, "range": RANGES}
    binned = {name: pd.cut(frame[name], [0, *bins], labels=list(bins.values())) for name, bins in cut.items()}
    rows = {}
    for name, part in frame.assign(**binned).groupby(list(by), observed=True):
        held = part.dropna(subset=["95 %"]).groupby("curve")["95 %"]
        spread = (held.sum() - part["95 %"].mean() * held.count()).to_numpy()
        error = np.sqrt(np.sum(spread**2)) / max(held.count().sum(), 1)
        numbers = part.select_dtypes("number").mean()
        rows[name] = {"forecasts": len(part), **numbers, "±": error}
    return pd.DataFrame(rows).T.rename_axis(list(by)).to_string(float_format="%.3f")


def choices(curves: list[Curve], count: int) -> None:
    """The protocol: choose on other networks and other data sets, score on the pair that was left out."""
    everything = [*curves, *synthetic(count)]
    frames = {}
    for memory, damping in SETTINGS:
        forecasters.TREND_MEMORY, forecasters.DAMPING = memory, damping
        frames[memory, damping] = ours(everything)
    domain = frames[SETTINGS[0]]["domain"]
    images = domain == "IC"
    network, data = frames[SETTINGS[0]]["network"], frames[SETTINGS[0]]["data set"]
    base = pd.Series([rmsle(np.full_like(c.truth, c.y[-1]), c.truth) for c in everything])

    def objective(errors: pd.Series, kept: pd.Series) -> float:
        """Mean over groups of the score over that of the last value; half of the weight on images."""
        ratio = {name: errors[domain == name].mean() / base[domain == name].mean() for name in set(domain)}
        language = np.mean([ratio[name] for name in ("NMT", "LM", "BB") if name in ratio])
        made_up = np.mean([ratio[name] for name in families.FAMILIES])
        return float(0.5 * errors[kept].mean() / base[kept].mean() + 0.25 * language + 0.25 * made_up)

    print("memory damping  objective   images")
    for setting, frame in frames.items():
        errors = frame["RMSLE"]
        print(
            f"{setting[0]:6g} {setting[1]:7g} {objective(errors, images):10.4f} {errors[images].mean():8.4f}"
        )
    left_out = []
    for name, task in itertools.product(network[images].unique(), data[images].unique()):
        kept = images & (network != name) & (data != task)
        best = min(SETTINGS, key=lambda s: objective(frames[s]["RMSLE"], kept))
        left_out.append(frames[best].loc[images & (network == name) & (data == task)])
    table = pd.concat(left_out)
    print(f"\nleft out, {len(table)} image curves: RMSLE {table['RMSLE'].mean():.4f} ± "
          f"{table['RMSLE'].std() / np.sqrt(len(table)):.4f}, log score {table['log score'].mean():.2f}, "
          f"95 % bands hold {table['95 %'].mean():.1%}")  # fmt: skip


def compare(curves: list[Curve], only: str | None) -> None:
    """Every method on every domain."""
    methods: dict[str, Predict] = {
        "last value": lambda x, y, at: np.full(at.shape, y[-1]),
        **{name: form(name) for name in FORMS},
        "extrapolate": lambda x, y, at: sl.laws.extrapolate(x, y, at=at).mean,
    }
    if only:
        methods = {n: predict for n, predict in methods.items() if n in ["last value", *only.split(",")]}
    domains = np.array([curve.domain for curve in curves])
    there = {key: title for key, title in DOMAINS.items() if key in domains}
    rows = []
    for name, predict in methods.items():
        with contextlib.suppress(ScalinglabError):
            predict(curves[0].x, curves[0].y, curves[0].at)  # what a first call imports is not its time
        errors, start, failed = [], time.process_time(), 0
        for c in curves:
            try:
                errors.append(rmsle(predict(c.x, c.y, c.at), c.truth))
            except ScalinglabError:  # too few sizes for this form's parameters: the last value stands in
                errors.append(rmsle(np.full_like(c.truth, c.y[-1]), c.truth))
                failed += 1
        seconds = (time.process_time() - start) / len(curves)
        scores = np.array(errors)
        rows.append(
            {"method": name}
            | {title: scores[domains == key].mean() for key, title in there.items()}
            | {"all": scores.mean(), "CPU ms a curve": 1e3 * seconds, "failed": failed}
        )
    table = pd.DataFrame(rows).set_index("method")
    counts = {title: int((domains == key).sum()) for key, title in there.items()}
    print("mean RMSLE;", ", ".join(f"{n} {title}" for title, n in counts.items()))
    print(table.to_string(float_format=lambda v: f"{v:.4f}" if v < 1 else f"{v:.1f}"))
    print("\nratio to the last value")
    ratios = table[[*counts, "all"]] / table.loc["last value", [*counts, "all"]]
    print(ratios.to_string(float_format="%.2f"))
    lines = [np.polyfit(np.log(c.at), np.log(c.truth), 1) for c in curves if c.domain == "IC"]
    scatter = [
        np.std(np.log(c.truth) - np.polyval(p, np.log(c.at)))
        for c, p in zip([c for c in curves if c.domain == "IC"], lines, strict=True)
    ]
    print(f"\nscatter of the scored points of images around a line through them: {np.mean(scatter):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="methods with commas; the last value is always there")
    parser.add_argument("--curves", help="a table of other curves, with the same columns")
    parser.add_argument("--choices", action="store_true", help="score other constants of the method instead")
    parser.add_argument("--families", action="store_true", help="score synthetic families instead")
    parser.add_argument("--minima", action="store_true", help="score running minima of one law instead")
    parser.add_argument("--cuts", action="store_true", help="score from earlier cut-offs instead")
    parser.add_argument("--count", type=int, default=30, help="synthetic curves of each family")
    parser.add_argument("--first", type=int, default=0, help="the first seed of the synthetic curves")
    parser.add_argument("--recent", type=float, help="another memory of the backtests, forecasters.RECENT")
    parser.add_argument("--refused", action="store_true", help="continue curves that are refused, too")
    parser.add_argument("--form-errors", action="store_true", help="how far whole curves are from one law")
    parser.add_argument("--short", action="store_true", help="score short, smooth curves instead")
    asked = parser.parse_args()
    if asked.short:
        short(short_curves())
        return
    if asked.refused:
        few_points.bend = SimpleNamespace(of_line=lambda *_: bend.CANNOT_TELL)
        shapes.LEAST_RANGE = shapes.FEWEST_SIZES = 0
    if asked.recent is not None:
        forecasters.RECENT = asked.recent
    if asked.families:
        found = ours(synthetic(asked.count, asked.first))
        groups = (["domain"], ["points"], ["domain", "data set"], ["points", "data set"])
        print(*(means(found, *by) for by in groups), sep="\n\n")
        return
    if asked.minima:
        print(means(ours(minima(asked.count, asked.first)), "kind"))
        return
    curves = load(asked.curves)
    if asked.cuts:
        found = ours(earlier_cuts(curves)).replace({"domain": DOMAINS})
        print(means(found, "domain", "points"), means(found, "domain", "kind"), sep="\n\n")
        if asked.refused:
            print(means(found, "domain", "range"))
            widened(found[found["points"] < FEWEST_SIZES])
        return
    if asked.form_errors:
        form_errors(curves)
        return
    if asked.choices:
        choices(curves, asked.count)
        return
    compare(curves, asked.only)
    if not asked.only or "extrapolate" in asked.only:
        print(f"\nextrapolate: means over curves (learned extrapolator: log score {LEARNED} on images)")
        print(means(ours(curves).replace({"domain": DOMAINS}), "domain"))


if __name__ == "__main__":
    main()
