"""How long runs will take, from short trainings of some of them.

A training takes t = c + s · (steps of all runs) + e · (checkpoints of all runs): building, steps and
evaluations. Three short trainings of the same runs, which differ in steps and checkpoints, determine c, s and
e. On a GPU they are long enough to measure a step in spite of the variation between trainings. On CPUs they
run in as many workers as the sweep will have, up to one a processor, since workers slow each other down. The
time before the first step (Python, PyTorch, data, compiled code) is measured by starting a worker.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scalinglab.errors import ScalinglabError
from scalinglab.support import work
from scalinglab.sweep.pools.engines import open_pool
from scalinglab.sweep.pools.local_engine import LocalPool

Setting = dict[str, Any]
TIME = ("epochs", "steps", "min_epochs", "min_steps", "reference_learning_rate")
SAMPLE = 8  # runs of a task that are timed on a GPU: as many as train side by side
# steps of the short trainings; in mixed stacks, which are timed whole, steps are short
FEW, MANY = {"cpu": 2, "cuda": 16, "mixed": 32}, {"cpu": 12, "cuda": 96, "mixed": 4096}
MOST = {"cpu": 100, "cuda": 1000, "mixed": 4096}
LONG = {"cpu": 1.0, "cuda": 2.5}  # seconds that the steps of the longer trainings should take together

Trial = tuple[float, list[float]]  # seconds, and how many runs, steps and checkpoints


def probe(settings: Sequence[Setting], device: str) -> dict[str, Any]:
    """Seconds and FLOPs of a task, and the seconds that each short training took."""
    import pandas as pd
    import torch

    from scalinglab.train.engine import as_setting, mixes, run_many

    mixed = device == "cuda" and all(mixes(as_setting(s), torch.device(device)) for s in settings)
    sample = spread_over(settings, SAMPLE) if device == "cuda" and not mixed else list(settings)
    flops: dict[tuple[Any, Any], float] = {}  # of a step, by width and batch size
    trials: list[float] = []  # seconds of each, the first with what is loaded and compiled once

    def timed(steps: int, per_decade: int) -> Trial:
        short = [shortened(s, steps, per_decade) for s in sample]
        start = time.perf_counter()
        curves = run_many(short, progress=False, device=device)
        took = time.perf_counter() - start
        trials.append(round(took, 3))
        frame = curves.frame
        keys = [
            frame[name] if name in frame else pd.Series(0, frame.index) for name in ("width", "batch_size")
        ]
        flops.update((frame.groupby(keys, dropna=False)["compute"].max() / steps).to_dict())
        return took, [len(sample), *_work(short)]

    few, many, most = (steps["mixed" if mixed else device] for steps in (FEW, MANY, MOST))
    timed(few, 1)  # compiles, and loads what is loaded once
    short, longer = timed(few, 1), timed(many, 1)
    if (enough := min(most, enough_steps(short, longer, LONG[device]))) > many:
        many, longer = enough, timed(enough, 1)
    takes, counts = zip(*(short, longer, timed(many, 10)), strict=True)
    # the small ones of the three may come out negative where timings vary
    each = np.maximum(np.linalg.solve(np.array(counts), np.array(takes)), 0.0)
    steps, checkpoints = _work(settings)
    whole = np.array([len(settings), steps, checkpoints])
    largest = max(flops.values())
    total = sum(
        flops.get((s.get("width", 0), s.get("batch_size")), largest) * _work([s])[0] for s in settings
    )
    return {"seconds": float(each @ whole), "flops": total, "trials": trials}


def enough_steps(short: Trial, longer: Trial, long: float) -> int:
    """Steps of each run that take `long` seconds, extrapolated from two trainings of the same runs."""
    seconds, steps = longer[0] - short[0], longer[1][1] - short[1][1]
    # of two short trainings the longer one may take less time by chance
    each = max(seconds / steps, 1e-6)
    return int(long / (each * longer[1][0]))


def trials_side_by_side(
    tasks: Sequence[Sequence[Setting]], workers: int, device: str | None, loading: float
) -> dict[str, Any]:
    """Time some tasks by `probe`, in workers side by side, which slow each other down as in a sweep.

    Args:
        tasks: settings of their runs.
        workers: tasks at a time.
        device: where they compute.
        loading: seconds that this process took to import the sweep's driver. They count at most as much as
            the start of a worker, which imports more: only the first process reads the files from disk.
    """
    pool = open_pool("local", workers, None, [device])
    waiting = [
        {"task": number, "runner": "train", "settings": list(settings), "device": device}
        for number, settings in enumerate(tasks)
    ]
    found: dict[int, dict[str, Any]] = {}
    # the time of day, which workers answer with: other clocks may differ between processes
    begun, ready, running = time.time(), 0.0, 0
    try:
        while waiting or running:
            while waiting and running < workers:
                pool.submit(waiting.pop(0))
                running += 1
            for answer in pool.wait(1.0):
                if not answer["ok"]:
                    raise ScalinglabError(f"a trial failed: {answer['message']}")
                found[answer["task"]], ready = answer["probe"], max(ready, answer["ready"] - begun)
                for name, seconds in answer["seconds"].items():
                    work.SECONDS[name] += seconds
                running -= 1
    finally:
        pool.kill()
    return {"tasks": [found[number] for number in range(len(tasks))], "start_up": min(loading, ready) + ready}


def trials_on_a_gpu(tasks: Sequence[Sequence[Setting]], device: str | None, loading: float) -> dict[str, Any]:
    """Time some tasks by `probe`, one after another, and the start of a worker.

    Args:
        tasks: settings of their runs.
        device: where they compute.
        loading: seconds that the driver of a sweep takes before it starts its workers.
    """
    found = [probe(settings, "cuda") for settings in tasks]
    short = [shortened(tasks[0][0], 1, 1)]
    begun, pool = time.time(), LocalPool(1, [device])
    try:
        with tempfile.TemporaryDirectory() as folder:  # after the trials: what they compiled is on disk
            task = {"runner": "train", "settings": short, "group": short, "store": folder}
            pool.submit({"task": 1, "experiment": None, "device": device, **task})
            while not pool.wait(1.0):
                pass
            start = time.time() - begun
    finally:
        pool.close()
    return {"tasks": found, "start_up": min(loading, start) + start}


def shortened(setting: Mapping[str, Any], steps: int, per_decade: int) -> Setting:
    """The setting with few steps and few checkpoints."""
    short = {"steps": steps, "checkpoints_per_decade": per_decade, "checkpoint_unit": "step"}
    return {
        **{k: v for k, v in setting.items() if k not in (*TIME, "fail_below", "checkpoints_from")},
        **short,
    }


def _work(settings: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Steps and checkpoints of all runs."""
    from scalinglab.train.setting import Setting

    each = [(Setting.from_dict(s), int(s["n_data"])) for s in settings]
    return sum(s.total_steps(n) for s, n in each), sum(len(s.checkpoints(n)) for s, n in each)


def spread_over(settings: Sequence[Setting], most: int) -> list[Setting]:
    """Some of the settings, of all sizes."""
    ordered = sorted(settings, key=lambda s: int(s["n_data"]))
    chosen = {round(k * (len(ordered) - 1) / max(1, most - 1)) for k in range(most)}
    return [ordered[k] for k in sorted(chosen)]
