"""How fast and how exactly laws are fitted.

    python benchmarks/fitting.py
    python benchmarks/fitting.py --forms [--only farseer]     every registered form on 500 noisy points

Aims: 1,000 bootstrap refits of a power law with offset in under a second; the 240 points of Chinchilla's Fig.
4 to an objective of 1.0183e-3 or lower in under 3 s; noise-free data give their parameters back to 1e-8. The
refits are compared with a loop over scipy's `curve_fit`, one refit at a time. Every registered form on 500
points with its intervals, of the parameters and of one more run beyond the points, in under 3 s of CPU; so
does the default average of surfaces.
"""

from __future__ import annotations

import argparse
import os
import runpy
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize

import scalinglab as sl
from scalinglab.laws import forms, surface

X = np.geomspace(100, 1e5, 20)


def best_of(work, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def bootstrap() -> None:
    rng = np.random.default_rng(0)
    y = (0.05 + 3 * X**-0.4) * np.exp(0.02 * rng.standard_normal(X.size))
    law = sl.laws.fit("power_law_offset", X, y)
    squares = sl.laws.fit("power_law_offset", X, y, loss="squared")
    batched = best_of(lambda: sl.laws.bootstrap(squares, draws=1000, scheme="resample"))
    robust = best_of(lambda: sl.laws.bootstrap(law, draws=1000, scheme="resample"))

    def loop() -> None:
        for _ in range(100):
            drawn = rng.integers(X.size, size=X.size)
            optimize.curve_fit(
                lambda x, e, a, c: np.log(np.abs(e) + np.exp(a - c * np.log(x))),
                X[drawn], np.log(y[drawn]), p0=(0.05, np.log(3), 0.4), maxfev=5000,
            )  # fmt: skip

    one_by_one = 10 * best_of(loop, repeats=2)
    print("1,000 bootstrap refits of a power law with offset, 20 points")
    print(f"  squares, all at once      {batched:8.3f} s")
    print(f"  Huber, all at once        {robust:8.3f} s")
    print(f"  curve_fit, one by one     {one_by_one:8.3f} s   ({one_by_one / batched:.0f} times slower)")


def chinchilla() -> None:
    for place in (os.environ.get("SCALINGLAB_DATA"), Path(__file__).parents[1] / "../shared/data"):
        file = Path(place or "nowhere") / "learning-curves" / "hoffmann2022" / "chinchilla.csv"
        if file.exists():
            break
    else:
        print("Chinchilla: the digitised points are not at hand (SCALINGLAB_DATA)")
        return
    import pandas as pd

    table = pd.read_csv(file).nsmallest(240, "loss")
    columns = (table.n_params, table.n_data, table.loss)
    seconds = best_of(lambda: surface.fit(*columns, form="chinchilla"), repeats=3)
    found = surface.fit(*columns, form="chinchilla")
    print("Chinchilla, 240 points, Huber δ = 1e-3 on ln L")
    print(f"  objective                 {found.objective:.7e} (known optimum 1.018274e-03)")
    certificate = found.law.certificate
    agree = f"{100 * certificate.agree:.0f} % of {certificate.starts} starts agree"
    print(f"  time                      {seconds:8.3f} s; {agree}")


def exactness() -> None:
    truth = {
        "power_law": (3, 0.3), "power_law_offset": (0.05, 3, 0.4), "m3": (0.02, 8, 0.5, 1e-5),
        "m4": (0.05, 0.9, 1.2, 3.0, 0.4), "exponential": (0.1, 0.8, 2e4),
        "damico": (0.01, 50, 0.6, 1.0, 1000),
        "broken_power_law": (0.02, 2, 0.15, 0.4, 3000, 0.3),
        "broken_power_law_2": (0.02, 2, 0.15, 0.4, 3000, 0.3, -0.3, 60000, 0.2),
    }  # fmt: skip
    x = np.geomspace(100, 1e6, 25)
    print("noise-free data: largest relative error of a parameter, and time")
    for name, values in truth.items():
        form = forms.get(name)
        y = form(x, *values)
        start = time.perf_counter()
        law = sl.laws.fit(form, x, y)
        seconds = time.perf_counter() - start
        print(f"  {name:<22} {np.max(np.abs(law.values / np.array(values) - 1)):8.1e} {seconds:8.3f} s")


POINTS, SPREAD, NOISE = 500, 30.0, 0.005
# shares, rates and scores have ranges of their own; bits and streams are small numbers
RANGES = {
    "sparsity": (0.0, 0.9), "pretrained": (0.0, 1.0), "bits": (2.0, 16.0), "annealed_area": (0.0, 0.5),
    "teacher_loss": (1.9, 3.0), "n_streams": (1.0, 16.0), "granularity": (1.0, 32.0),
}  # fmt: skip


def places(form: forms.Form, middle: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(variables, points) around a place where the form is an ordinary number."""
    if form.variables[0].startswith("share_"):
        return rng.dirichlet(np.ones(len(middle)), POINTS).T
    found = middle[:, None] * np.exp(np.log(SPREAD) * rng.uniform(-1, 1, (len(middle), POINTS)))
    for row, name in enumerate(form.variables):
        if name in RANGES:
            found[row] = rng.uniform(*RANGES[name], POINTS)
        if name == "pretrained":
            found[row] = np.round(found[row])
    if form.name in ("error_from_loss", "score_from_loss"):
        found = rng.uniform(1.8, 3.5, found.shape)  # losses
    if form.name == "data_constrained":
        found[2] = found[1] / rng.uniform(1, 30, POINTS)  # no more unique examples than examples
    if form.name == "active_experts":
        found[1] = found[0] * rng.uniform(1, 60, POINTS)  # no more active parameters than parameters
    return found


def every_form(only: str) -> None:
    """CPU time of fit and intervals, form by form; parameters are those of the tests of its equation."""
    known = runpy.run_path(str(Path(__file__).parents[1] / "tests" / "laws" / "test_forms.py"))["FORMULAS"]
    known["m4"] = (None, [1e4], [0.05, 0.9, 1.2, 3.0, 0.4])
    print(f"{POINTS} points, CPU seconds   parameters     fit  intervals  prediction     all  converged")
    slow = []
    for name, (_, middle, values) in known.items():
        if only not in name:
            continue
        form, rng = forms.get(name), np.random.default_rng(0)
        x = places(form, np.asarray(middle, float), rng)
        given = x if len(x) > 1 else x[0]
        y = form(given, *values) * np.exp(NOISE * rng.standard_normal(POINTS))
        options: dict[str, Any] = {"space": "raw"} if np.any(y <= 0) else {}
        if name == "distillation":  # as its description says: what a fit of students alone has found
            options["bounds"] = {
                p: (v, v) for p, v in zip(form.names, values, strict=True) if p.endswith("_s")
            }
        start = time.process_time()
        law = sl.laws.fit(form, tuple(x) if len(x) > 1 else x[0], y, **options)
        fitted = time.process_time()
        law.parameter_intervals  # noqa: B018
        known_by = time.process_time()
        beyond = x.max(axis=1) if not form.variables[0].startswith("share_") else x[:, 0]
        law.interval(dict(zip(form.variables, beyond, strict=True)) if len(x) > 1 else beyond[0])
        end = time.process_time()
        slow += [name] if end - start > 3 else []
        print(
            f"{name:<28}{len(values):>8}{fitted - start:>12.2f}{known_by - fitted:>11.2f}"
            f"{end - known_by:>12.2f}{end - start:>8.2f}  {law.certificate.converged}",
            flush=True,
        )
    if only in "average of surfaces":
        slow += ["average of surfaces"] if average_of_surfaces() > 3 else []
    print(f"over 3 s: {', '.join(slow) or 'none'}")


def average_of_surfaces() -> float:
    """CPU time of the default fit of a surface, which averages forms, on runs of a sum of two powers."""
    rng = np.random.default_rng(0)
    n_params, n_data = (np.exp(rng.uniform(*np.log(ends), POINTS)) for ends in ((5e7, 2e10), (2e9, 4e11)))
    loss = 1.82 + 482 * n_params**-0.348 + 2085 * n_data**-0.366
    start = time.process_time()
    fitted = surface.fit(n_params, n_data, loss * np.exp(NOISE * rng.standard_normal(POINTS)))
    done = time.process_time()
    fitted.parameter_intervals()
    known_by = time.process_time()
    fitted.interval(n_params=n_params.max(), n_data=n_data.max())
    end = time.process_time()
    print(
        f"{'average of surfaces':<28}{len(fitted.weights):>2} forms"
        f"{done - start:>12.2f}{known_by - done:>11.2f}"
        f"{end - known_by:>12.2f}{end - start:>8.2f}  {fitted.law.certificate.converged}"
    )
    return end - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forms", action="store_true", help="instead: every registered form on 500 points")
    parser.add_argument("--only", default="", help="with --forms: those whose name contains it")
    asked = parser.parse_args()
    if asked.forms:
        every_form(asked.only)
    else:
        bootstrap()
        chinchilla()
        exactness()
