"""Which forms a surface is averaged over, how well it predicts larger runs, and how often its intervals hold.

    SCALINGLAB_DATA=… python benchmarks/surfaces.py     every task, 16 subsets and 40 draws each
    python benchmarks/surfaces.py --quick      4 subsets and 4 draws: less than a minute
    python benchmarks/surfaces.py --only farseer --form chinchilla
    python benchmarks/surfaces.py --missed [--count 6 --first 0]     how much wider intervals have to be
    python benchmarks/surfaces.py --bends [--count 100 --first 0]     how often a bend is seen where none is

Without `--form` nothing is told to the fit: it chooses and averages forms itself.

- *runs*: public runs. The part of at most a fifth of the largest compute is fitted, the rest predicted; and
  subsets of 25 to 40 runs of at most a twentieth of it predict the runs of 5 to 20 times their own compute.
- *noise drawn anew*: such subsets of one law, each with noise of its own; those of one table share it.
- *drawn*: such subsets of another law in every draw, on Farseer's grid, with 0.1 to 0.5 % of noise: as
  Farseer's, with an exponent of D that moves with N, of four powers, with a smooth error, as Chinchilla's.
- *simulated*: runs of a law that is known, with 0.3 % of noise: a law as Farseer's (Li et al. 2025),
  Chinchilla's, and Chinchilla's with an exponent of N that bends from 0.30 to 0.42 inside the grid. For the
  latter two: how often the interval of the best n_params at ten times the compute holds the true one, its
  width over that of an oracle, which knows the form and fits its parameters, and how often `answer` says of
  them "A power law? Yes".

What is predicted is the median, which answers print. R² is that of the loss, error the mean of
|ln predicted/measured|, held the share of the measured runs inside the intervals of 95 % of one more run.

`--missed` draws subsets of 25 to 40 public runs of at most a twentieth and of at most a fifth of the largest
compute, predicts those of 2 to 20 times their own, and prints for several values of `form_error.LOWER` and
`MISSED` the shares of runs below and above the interval, its width and its score (the lower, the better),
both over those of the second row; each table counts the same. Nothing that is simulated is in it.

`--bends` draws runs of Chinchilla's law whose errors are independent, are shared by runs of one n_params, or
fade along n_data, and prints how often the test says that they bend away from it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from coverage_parts import cases
from joblib import Parallel, delayed

from scalinglab.answers.surface import find_shape
from scalinglab.data.sources import search_path
from scalinglab.errors import NotDetermined, ScalinglabError
from scalinglab.laws import forms, surface
from scalinglab.laws.fitting.fit import fit_points
from scalinglab.laws.fitting.uncertainty import form_error
from scalinglab.laws.forms.base import Form, Parameter
from scalinglab.results.types import Command

Runs = tuple[np.ndarray, np.ndarray, np.ndarray]  # n_params, n_data, loss
NOISE = 0.003
FIXED: dict[str, Any] = {}
JOBS = [-1]


def farseer(n: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Nine constants of the size that the law's authors give, in bits per character."""
    floor = np.exp(-0.021 * n**0.169 + 0.091)
    return floor + np.exp(88.01 * n**-0.1 - 6.287) * d ** -np.exp(-0.124 * n**0.123 + 0.424)


def chinchilla(n: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The refit of Besiroglu et al. (2024)."""
    return 1.82 + 482.0 * n**-0.348 + 2085.0 * d**-0.366


BEND = 1e9  # of n_params


def _bent(x: Any, floor: Any, a: Any, b: Any, alpha: Any, more: Any, beta: Any) -> Any:
    n = x[0] / BEND
    return floor + a * n**-alpha * (1 + n**4) ** (-more / 4) + b * (x[1] / 1e10) ** -beta


BENT = Form(
    "bent", "E + A n^-alpha (1 + n^4)^(-more/4) + B d^-beta",
    (Parameter("E", 0.0, linear=True), Parameter("A", 0.0, linear=True, log=True),
     Parameter("B", 0.0, linear=True, log=True), Parameter("alpha", 0.0, 2.0, start=(0.2, 0.3, 0.4)),
     Parameter("more", -1.0, 1.0, start=(-0.1, 0.0, 0.1)),
     Parameter("beta", 0.0, 2.0, start=(0.2, 0.35, 0.5))),
    _bent, variables=("n_params", "n_data"),
)  # fmt: skip


def bent(n: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The exponent of N is 0.30 below 1e9 parameters and 0.42 above."""
    return np.asarray(_bent(np.array([n, d]), 1.8, 0.4, 0.45, 0.30, 0.12, 0.36))


Truth = Callable[[np.ndarray, np.ndarray], np.ndarray]


def drawn_farseer(rng: np.random.Generator) -> Truth:
    """`farseer` with nine constants of about the same size."""
    a, b, p, q, u, v = np.array([0.021, 0.169, 88.01, 0.1, 0.124, 0.123]) * np.exp(
        np.array([0.1, 0.05, 0.03, 0.02, 0.1, 0.03]) * rng.standard_normal(6)
    )
    c, s, w = np.array([0.091, -6.287, 0.424]) + np.array([0.05, 0.1, 0.05]) * rng.standard_normal(3)
    return lambda n, d: np.exp(-a * n**b + c) + np.exp(p * n**-q + s) * d ** -np.exp(-u * n**v + w)


def drawn_chinchilla(rng: np.random.Generator) -> Truth:
    """A sum of two powers, as large as what they add to the floor."""
    floor, powers, (big, many) = rng.uniform(0.3, 2), rng.uniform(0.2, 0.5, 2), rng.uniform(0.15, 0.6, 2)
    return lambda n, d: floor + big * (n / 1e9) ** -powers[0] + many * (d / 2e10) ** -powers[1]


def drawn_exponent(rng: np.random.Generator) -> Truth:
    """An exponent of D that moves by up to 0.05 with every factor e of N."""
    floor, alpha, beta = rng.uniform([0.3, 0.1, 0.25], [1.8, 0.4, 0.5])
    moves, (big, many) = rng.uniform(-0.05, 0.05), rng.uniform(0.15, 0.6, 2)
    return lambda n, d: (
        floor + big * (n / 1e9) ** -alpha + many * (d / 2e10) ** -(beta + moves * np.log(n / 1e9))
    )


def drawn_powers(rng: np.random.Generator) -> Truth:
    """Two powers of N and two of D."""
    floor, size = rng.uniform(0.2, 1.5), rng.uniform(0.1, 0.4, 4)
    powers = rng.uniform([0.1, 0.4, 0.15, 0.45], [0.25, 0.7, 0.25, 0.7])
    units = np.array([1e9, 1e9, 2e10, 2e10])
    return lambda n, d: floor + (size * (np.array([n, n, d, d]).T / units) ** -powers).sum(axis=-1).T


def drawn_smooth(rng: np.random.Generator) -> Truth:
    """A sum of two powers times a smooth wave along each size, 2 to 15 % of a typical slope."""
    base, share = drawn_chinchilla(rng), rng.uniform(0.02, 0.15)
    size, often, where = rng.standard_normal((2, 6)), rng.uniform(0.2, 0.8, (2, 6)), rng.uniform(0, 7, (2, 6))

    def truth(n: np.ndarray, d: np.ndarray) -> np.ndarray:
        logs = np.array([np.log(n / 1e9), np.log(d / 2e10)])[:, None]
        waves = size[..., None] * np.sin(often[..., None] * logs + where[..., None]) / often[..., None]
        return base(n, d) * np.exp(0.1 * share * waves.sum(axis=(0, 1)) / np.sqrt(6))

    return truth


DRAWN: dict[str, Callable[[np.random.Generator], Truth]] = {
    "farseer": drawn_farseer, "exponent of D by N": drawn_exponent, "four powers": drawn_powers,
    "smooth error": drawn_smooth, "chinchilla": drawn_chinchilla,
}  # fmt: skip


def of_noise(seed: int) -> dict[str, Any] | None:
    """A subset of `farseer`, whose noise no other subset has; None where no runs lie beyond it."""
    return subset(noisy(farseer, FARSEER_GRID, seed), np.random.default_rng([1, seed]))


def of_drawn(name: str, seed: int) -> dict[str, Any] | None:
    """A subset of a law that is drawn anew; None where no runs lie beyond it."""
    rng = np.random.default_rng([5, seed, [*DRAWN].index(name)])
    n, d = FARSEER_GRID
    noise = np.exp(rng.uniform(np.log(0.001), np.log(0.005)))
    runs = n, d, DRAWN[name](rng)(n, d) * np.exp(noise * rng.standard_normal(n.size))
    return subset(runs, rng)


GRID = tuple(v.ravel() for v in np.meshgrid(np.geomspace(5e7, 2e10, 8), np.geomspace(2e9, 4e11, 7)))
FARSEER_GRID = tuple(
    v.ravel() for v in np.meshgrid(np.geomspace(2e8, 6.4e9, 11), np.geomspace(2e9, 2.5e11, 15))
)


def public_runs() -> Iterator[tuple[str, Runs]]:
    """The runs of studies that others made, where the data are there."""
    folder = next((p for p in search_path() if (p / "learning-curves").exists()), search_path()[0])
    folder = folder / "learning-curves"
    file = folder / "hoffmann2022" / "chinchilla.csv"
    if file.exists():
        frame = pd.read_csv(file).sort_values("loss").iloc[:-5]
        yield "hoffmann", _columns(frame, "n_params", "n_data", "loss")
    file = folder / "isoflops2026" / "isoflops.csv"
    if file.exists():
        for name, part in pd.read_csv(file).groupby("experiment"):
            yield str(name), _columns(part, "params", "tokens", "loss")
    file = folder / "mlfoundations2024" / "runs.csv"
    if file.exists():
        for name, part in pd.read_csv(file).groupby("train_set"):
            yield f"mlfoundations {name}", _columns(part, "n_params", "n_data", "loss:c4_val")

    file = folder / "gemstones2025" / "hot.csv"
    if file.exists():
        yield "gemstones", _columns(pd.read_csv(file), "n_params", "n_data", "loss")


def _columns(frame: pd.DataFrame, *names: str) -> Any:
    values = frame[list(names)].to_numpy(float).T
    return tuple(values[:, np.isfinite(values).all(axis=0)])


def predicted(known: Runs, asked: Runs) -> dict[str, Any]:
    """The surface of the known runs, at those asked."""
    fitted = surface.fit(*known, **FIXED)
    at = {"n_params": asked[0], "n_data": asked[1]}
    mean = np.asarray(fitted.median(at))
    low, high = fitted.interval(at, of="measurement")
    ratio = np.log(mean / asked[2])
    spread = np.sum((asked[2] - asked[2].mean()) ** 2)
    return {
        "weights": fitted.weights, "error": float(np.mean(np.abs(ratio))),
        "R2": float(1 - np.sum((mean - asked[2]) ** 2) / spread),
        "held": float(np.mean((low <= asked[2]) & (asked[2] <= high))), "runs": len(asked[2]),
        "width": float(np.median(np.log(high / low))),
    }  # fmt: skip


def _some(runs: Runs, rows: np.ndarray) -> Runs:
    return runs[0][rows], runs[1][rows], runs[2][rows]


def by_compute(runs: Runs) -> dict[str, Any] | None:
    """The runs of at most a fifth of the largest compute predict the others."""
    compute = runs[0] * runs[1]
    late = compute > compute.max() / 5
    return predicted(_some(runs, ~late), _some(runs, late)) if (~late).sum() >= 20 else None


def subset(runs: Runs, rng: np.random.Generator) -> dict[str, Any] | None:
    """25 to 40 cheap runs predict 5 to 20 times their compute; None where there are too few of either."""
    compute = runs[0] * runs[1]
    cheap = np.flatnonzero(compute <= compute.max() / 20)
    if len(cheap) < 40:
        return None
    rows = rng.choice(cheap, rng.integers(25, 41), replace=False)
    ratio = compute / compute[rows].max()
    asked = (ratio >= 5) & (ratio <= 20)
    return predicted(_some(runs, rows), _some(runs, np.flatnonzero(asked))) if asked.sum() >= 3 else None


def subsets(one: Callable[[int], dict[str, Any] | None], count: int) -> list[dict[str, Any]]:
    """What `one` finds of every seed."""
    return [found for found in on_cores(one, count) if found is not None]


def _of_table(runs: Runs, seed: int) -> dict[str, Any] | None:
    return subset(runs, np.random.default_rng([1, seed]))


# `LOWER` and `MISSED` of `form_error`, the ones in use first
TRIED = (
    (form_error.LOWER, form_error.MISSED), (0.0, 1.0), (0.0, 1.25), (0.0, 1.5), (0.5, 1.0), (0.5, 1.25),
    (0.5, 1.5), (0.5, 1.75), (1.0, 1.0), (1.0, 1.25), (1.0, 1.5), (1.5, 1.25),
)  # fmt: skip
FIRST = [0]  # seed of the subsets of public runs


def missed(runs: Runs, count: int) -> list[np.ndarray]:
    """By `TRIED`, of subsets: shares below and above, ln width, error of the median, ln interval score."""
    compute = runs[0] * runs[1]

    def one(seed: int) -> np.ndarray | None:
        rng = np.random.default_rng([3, seed])
        cheap = np.flatnonzero(compute <= compute.max() / (20, 5)[seed % 2])
        rows = rng.choice(cheap, min(int(rng.integers(25, 41)), len(cheap)), replace=False)
        ratio = compute / compute[rows].max()
        asked = np.flatnonzero((ratio >= 2) & (ratio <= 20))
        if len(rows) < 20 or len(asked) < 2:
            return None
        n, d, loss = _some(runs, rng.choice(asked, min(len(asked), 8), replace=False))
        at, found = {"n_params": n, "n_data": d}, []
        try:
            fitted = surface.fit(*_some(runs, rows))
            for form_error.LOWER, form_error.MISSED in TRIED:
                low, high = np.log(fitted.interval(at, of="measurement")) - np.log(loss)
                outside = np.maximum(low, 0) + np.maximum(-high, 0)
                error = np.mean(np.abs(np.log(fitted.median(at) / loss)))
                score = np.log(np.mean(high - low + 40 * outside))  # of 95 %: Gneiting and Raftery (2007)
                width = np.log(np.median(high - low))
                found.append((np.mean(low > 0), np.mean(high < 0), width, error, score))
        except ScalinglabError:
            return None
        return np.array(found)

    return [found for found in on_cores(one, count) if found is not None]


def print_missed(count: int, only: str) -> None:
    """What intervals hold of each table, those in use; and of all tables with every value that is tried."""
    simulated = ("simulated farseer", noisy(farseer, FARSEER_GRID, 0))
    every = {}
    for name, runs in [simulated, *public_runs()]:
        if only in name and (subsets := missed(runs, count)):
            every[name] = np.mean(subsets, axis=0)
            _missed_line(f"{name}, {len(subsets)} subsets", every[name][0], every[name][0])
    rows = {simulated[0]: [every.pop(simulated[0])]} if simulated[0] in every else {}
    for name, tables in (rows | ({"public": [*every.values()]} if every else {})).items():
        mean = np.mean(tables, axis=0)
        for (lower, times), found in zip(TRIED, mean, strict=True):
            _missed_line(f"{name}, LOWER {lower}, MISSED {times}", found, mean[1])


def _missed_line(name: str, found: np.ndarray, other: np.ndarray) -> None:
    below, above, width, error, score = found
    print(
        f"{name:<58} below {100 * below:4.1f} %  above {100 * above:4.1f} %  width "
        f"{np.exp(width - other[2]):.2f}  score {np.exp(score - other[4]):.3f}  error {100 * error:.2f} %",
        flush=True,
    )


def print_bends(count: int) -> None:
    """How often runs of Chinchilla's law are said to bend, by what their errors share."""
    form = forms.get("chinchilla")
    for grid, (n, d) in (
        ("8 × 7", (v.ravel() for v in cases.EIGHT)),
        ("5 × 5", (v.ravel() for v in cases.SQUARE)),
    ):
        for noise in (cases.independent_errors, cases.offsets_of_sizes, cases.along_data):
            seen = []
            for seed in range(FIRST[0], FIRST[0] + count):
                errors = noise(np.random.default_rng([4, seed]), n, d)
                runs = surface.fit(n, d, form(np.array([n, d]), *cases.TRUE) * np.exp(errors), form=form)
                seen.append(runs.bend.seen)
            print(
                f"{grid}, {noise.__name__}: a bend is seen in {100 * np.mean(seen):.1f} % of {count}",
                flush=True,
            )


def noisy(truth: Callable[..., np.ndarray], grid: Any, seed: int) -> Runs:
    """Runs of a law that is known, with noise."""
    n, d = grid
    return n, d, truth(n, d) * np.exp(NOISE * np.random.default_rng([2, seed]).standard_normal(n.size))


def optima(truth: Callable[..., np.ndarray], form: Form, draws: int) -> dict[str, Any]:
    """The best n_params at ten times the largest compute, beside an oracle that knows the form."""
    n, d = GRID
    compute = 60 * np.max(n * d)
    sizes = np.geomspace(1e7, 1e13, 60001)
    exact = sizes[np.argmin(truth(sizes, compute / 6 / sizes))]

    def one(seed: int) -> tuple[dict[str, float], bool, float, float | None, bool]:
        """Weights, whether it is called a sum of powers, the oracle's width, ours (None: refused), held."""
        runs = noisy(truth, GRID, seed)
        fitted = surface.fit(*runs, **FIXED)
        called = find_shape(fitted, Command("answer")).facts["verdict"] == "yes"
        knowing = surface.fit(*runs, form=form)
        knowing = replace(knowing, law=fit_points(form, knowing.law.points))
        low, high = knowing.compute_optimal(compute, assume_form=True).n_params_interval
        oracle = float(np.log(high / low))
        try:
            low, high = fitted.compute_optimal(compute).n_params_interval
        except NotDetermined:
            return fitted.weights, called, oracle, None, False
        return fitted.weights, called, oracle, float(np.log(high / low)), bool(low <= exact <= high)

    weights, called, oracle, widths, held = zip(*on_cores(one, draws), strict=True)
    answered = [width is not None for width in widths]
    known = [width for width in widths if width is not None]
    return {
        "held": float(np.mean(np.array(held)[answered])) if known else np.nan,
        "ratio": float(np.median(known) / np.median(oracle)) if known else np.nan,
        "refused": draws - len(known), "a sum of powers": float(np.mean(called)),
        "weights": mean_weights(list(weights)),
    }  # fmt: skip


def on_cores(one: Callable[[int], Any], count: int) -> list[Any]:
    """One of every seed, on as many cores as `--jobs` says."""
    fixed = dict(FIXED)

    def alone(seed: int) -> Any:
        FIXED.update(fixed)
        return one(seed)

    seeds = range(FIRST[0], FIRST[0] + count)
    return list(Parallel(n_jobs=JOBS[0])(delayed(alone)(seed) for seed in seeds))


def mean_weights(several: list[dict[str, float]]) -> dict[str, float]:
    """Of several fits, the heaviest first."""
    names = dict.fromkeys(name for weights in several for name in weights)
    mean = {name: float(np.mean([w.get(name, 0.0) for w in several])) for name in names}
    return dict(sorted(mean.items(), key=lambda item: -item[1]))


def _said(weights: dict[str, float]) -> str:
    return ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items() if weight >= 0.005)


def _line(name: str, found: dict[str, Any]) -> None:
    held = f"held {100 * found['held']:3.0f} % of {found['runs']:<3} width {100 * found['width']:.1f} %"
    error = f"R² {found['R2']:6.3f}  error {100 * found['error']:.2f} %"
    print(f"{name:<46} {error}  {held}  {_said(found['weights'])}", flush=True)


def _subset_lines(name: str, found: list[dict[str, Any]]) -> None:
    if found:
        errors = [100 * f["error"] for f in found]
        held = np.average([f["held"] for f in found], weights=[f["runs"] for f in found])
        weights = _said(mean_weights([f["weights"] for f in found]))
        print(
            f"{name + ', subsets':<46} {len(found)} of 25 to 40 runs: error {np.mean(errors):.2f} % (largest "
            f"{max(errors):.2f})  held {100 * held:3.0f} %  {weights}",
            flush=True,
        )


def main() -> None:
    """Print every task."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="tasks whose name contains it")
    parser.add_argument("--form", help="one form instead of the average")
    parser.add_argument("--jobs", type=int, default=-1, help="cores; by default all")
    parser.add_argument("--missed", action="store_true", help="public runs: how wide intervals have to be")
    parser.add_argument("--bends", action="store_true", help="how often a bend is seen that is none")
    parser.add_argument("--first", type=int, default=0, help="seed of the first subset or draw")
    parser.add_argument("--count", type=int, help="subsets of each table, and draws")
    given = parser.parse_args()
    JOBS[0] = given.jobs
    FIRST[0] = given.first
    if given.missed:
        print_missed(given.count or 8, given.only)
        return
    if given.bends:
        print_bends(given.count or 100)
        return
    if given.form:
        FIXED["form"] = given.form
    count, draws = (given.count,) * 2 if given.count else (4, 4) if given.quick else (16, 40)
    tasks = [("simulated farseer", noisy(farseer, FARSEER_GRID, 0)), *public_runs()]
    for name, runs in tasks:
        if given.only in name and (found := by_compute(runs)):
            _line(name, found)
        if given.only in name and not (given.quick and "farseer" not in name):
            one = partial(_of_table, runs)
            _subset_lines(name, subsets(one, count))
    if given.only in (name := "farseer, noise drawn anew"):
        _subset_lines(name, subsets(of_noise, count))
    for name in DRAWN:
        if given.only in f"drawn {name}":
            _subset_lines(f"drawn {name}", subsets(partial(of_drawn, name), count))
    for name, truth, form in (
        ("simulated chinchilla", chinchilla, forms.get("chinchilla")), ("simulated bend of N", bent, BENT)
    ):  # fmt: skip
        if given.only in name:
            found = optima(truth, form, draws)
            print(
                f"{name:<46} n_params held {100 * found['held']:3.0f} % of {draws - found['refused']} "
                f"({found['refused']} refused), {found['ratio']:.2f} times the oracle's width; called a "
                f"sum of two powers {100 * found['a sum of powers']:.0f} %  "
                f"{_said(found['weights'])}",
                flush=True,
            )


if __name__ == "__main__":
    main()
