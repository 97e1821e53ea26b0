"""How fast and how exactly laws are fitted.

    python benchmarks/fitting.py

Aims: 1,000 bootstrap refits of a power law with offset in under a second; the 240 points of Chinchilla's Fig.
4 to an objective of 1.0183e-3 or lower in under 3 s; noise-free data give their parameters back to 1e-8. The
refits are compared with a loop over scipy's `curve_fit`, one refit at a time.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

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
    seconds = best_of(lambda: surface.fit(*columns), repeats=3)
    found = surface.fit(*columns)
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
        print(
            f"  {name:<22} {np.max(np.abs(law.solution.values / np.array(values) - 1)):8.1e} {seconds:8.3f} s"
        )


if __name__ == "__main__":
    bootstrap()
    chinchilla()
    exactness()
