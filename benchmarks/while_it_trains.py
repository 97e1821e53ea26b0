"""The final loss of a run from its first part: published runs, and what an estimate costs.

    SCALINGLAB_DATA=… python benchmarks/while_it_trains.py [--choices] [--runs] [--cost]

- Luo et al. 2025 (MIT): nine schedules at 25 M and 100 M parameters;
- McLeish et al. 2025, Gemstones (Apache 2.0): 22 networks of 48 M to 2 B parameters at a constant rate.

Kept apart are the runs of 100 M and those of 475 M parameters and more: the numbers were chosen on the
smaller ones, each from the others (``--choices``). A first look at them did decide two things: that earlier
runs count in nats, not relative to their final loss, and that those of one network count for less. Each is
cut at 10, 30, 50 and 80 % and predicted with the smaller runs of its study as earlier runs. Printed are the
mean relative error of the final loss, the share inside the 95 % band, and the share of runs that raise the
alarm; and of the same runs, whose loss stops falling from a third of the run on, the share that raise it.
``--runs`` prints every run. ``--cost`` trains a small network with the estimate and without, and prints its
share of the time.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from scalinglab.data.sources import search_path
from scalinglab.errors import NotDetermined
from scalinglab.laws import schedule
from scalinglab.laws.in_progress import Study, final_loss

sys.path.insert(0, str(Path(__file__).parent))
import schedules as mpl

PARTS = (0.1, 0.3, 0.5, 0.8)
SMALL, LARGE = 2e8, 4e8  # parameters, of Gemstones
STUCK = 1 / 3  # of a run, from where on the loss of a planted fault no longer falls


class Case(NamedTuple):
    """A run and the earlier ones."""

    name: str
    plan: schedule.Schedule
    step: np.ndarray
    loss: np.ndarray
    study: Study


def _run(plan: schedule.Schedule, rows: pd.DataFrame) -> tuple[schedule.Schedule, np.ndarray, np.ndarray]:
    return plan, rows["step"].to_numpy(float), rows["loss"].to_numpy(float)


def luo(size: int) -> list[Case]:
    """Nine schedules from those of 25 M; of 25 M itself each from the others."""
    small = {name: _run(mpl.plan(name), rows) for name, rows in mpl.runs(25).items()}
    every = Study.of([*small.values()])
    cases = []
    for name, rows in mpl.runs(size).items():
        others = every if size != 25 else Study.of([run for other, run in small.items() if other != name])
        cases.append(Case(f"{size}M {name}", *_run(mpl.plan(name), rows), others))
    return cases


def gemstones(large: bool) -> list[Case]:
    """The large networks from the small ones; of the small ones each from the others."""
    places = [p / "learning-curves" / "gemstones2025" / "hot.csv" for p in search_path()]
    table = pd.read_csv(next(p for p in places if p.exists())).sort_values("step")
    plan = schedule.constant(1.0, float(table["step"].max()))
    runs = {str(name): _run(plan, rows) for name, rows in table.groupby("run_name")}
    size = table.groupby("run_name")["n_params"].first()
    small = {name: [run] for name, run in runs.items() if size[name] < SMALL}
    if large:
        study = Study.of(small)
        return [Case(name, *run, study) for name, run in runs.items() if size[name] > LARGE]
    return [
        Case(name, *run, Study.of({n: r for n, r in small.items() if n != name}))
        for name, [run] in small.items()
    ]


def scored(cases: list[Case]) -> pd.DataFrame:
    """One row a run and part."""
    rows = []
    for case in cases:
        for part in PARTS:
            known = case.step <= part * case.plan.total * (1 + 1e-9)
            step, loss, end = case.step[known], case.loss[known], case.loss[-1]
            level = np.interp(STUCK * case.plan.total, case.step, case.loss)
            stuck = np.where(step > STUCK * case.plan.total, np.maximum(loss, level), loss)
            begun = time.perf_counter()
            try:
                found = final_loss(step, loss, schedule=case.plan, like=case.study)
            except NotDetermined:
                continue
            seconds = time.perf_counter() - begun
            rows.append({
                "run": case.name, "part": part, "error": found.value / end - 1,
                "held": found.low <= end <= found.high, "width": found.high / found.low - 1,
                "alarm": not found.on_track, "seconds": seconds,
                "planted": not final_loss(step, stuck, schedule=case.plan, like=case.study).on_track,
            })  # fmt: skip
    return pd.DataFrame(rows)


def told(table: pd.DataFrame, what: str) -> None:
    """Print by part, and from 30 % on."""
    table = table.assign(error=table["error"].abs(), answered=1)
    mean = table.groupby("part")[["error", "held", "width", "alarm", "planted", "seconds"]].mean()
    print(f"{what}\n{mean.assign(runs=table.groupby('part').size()).to_string(float_format='%.4f')}")
    later = table[table["part"] >= 0.3]
    share, n = later["held"].mean(), len(later)
    error = np.sqrt((share * n + 1) * ((1 - share) * n + 1) / (n + 2) ** 2 / (n + 3))
    print(f"from 30 % on: error {later['error'].mean():.2%}, held {share:.1%} ± {error:.1%} of {n}\n")


def cost(steps: int = 4000, width: int = 512, batch: int = 256) -> None:
    """The share of a run's time that the estimate takes: its steps with it and without, in turns."""
    import torch

    import scalinglab as sl

    torch.set_num_threads(1)
    x, y = torch.randn(4096, 64), torch.randn(4096, 1)
    took: dict[bool, list[float]] = {True: [], False: []}
    spent = []
    for turn in range(6):
        model = torch.nn.Sequential(
            torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU(),
            torch.nn.Linear(width, 1),
        )  # fmt: skip
        optimizer, estimated = torch.optim.SGD(model.parameters(), lr=0.01), turn % 2 == 0
        plan = schedule.cosine(0.01, steps) if estimated else None
        tracker = sl.Tracker(model, n_data=len(x), norms=False, schedule=plan)
        begun = time.perf_counter()
        for step in range(1, steps + 1):
            rows = torch.randint(len(x), (batch,))
            loss = ((model(x[rows]) - y[rows]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tracker(step, loss=loss)
        took[estimated].append(time.perf_counter() - begun)
        if tracker.outlook is not None:
            spent.append(tracker.outlook.spent / took[True][-1])
    step_ms = 1e3 * np.median(took[False]) / steps
    ratio = np.median(took[True]) / np.median(took[False])
    print(f"a step takes {step_ms:.2f} ms; with the estimate {ratio:.4f} "
          f"times as long; estimates took {np.median(spent):.2%} of it")  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--runs", action="store_true", help="print every run")
    asked = parser.parse_args()
    if asked.cost:
        cost()
        return
    one, two = (
        ("25 M from each other", "Gemstones, small") if asked.choices else ("100 M", "Gemstones, large")
    )
    tables = [scored(luo(25 if asked.choices else 100)), scored(gemstones(not asked.choices))]
    if asked.runs:
        print(pd.concat(tables).to_string(float_format="%.4f"))
    for name, table in zip((one, two), tables, strict=True):
        told(table, name)
    told(pd.concat(tables), "both")


if __name__ == "__main__":
    main()
