"""On a CPU: the engine against the plain loop, and stacking."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial

import numpy as np

from training_parts.plain import BATCH, dataset_name, plain_loop
from training_parts.results import Results, is_wanted

CPU_STEPS, CPU_TURNS = 6, 3
KEEP = {"MIMALLOC_PURGE_DELAY": "10000"}  # what scalinglab.train sets before PyTorch is loaded
GIVE = {"MIMALLOC_PURGE_DELAY": "10"}  # PyTorch's default
CPU_ONCE = {  # name -> (who, environment): what keeping freed memory does to either
    "plain loop, freed memory kept": ("plain", KEEP),
    "engine, freed memory given back": ("engine", GIVE),
}


def cpu_part(part: str, results: Results) -> None:
    """The plain loop and the engine in turns, every measurement in a process of its own.

    One thread: CPU time a step, the plain loop's workers counted in. A sweep keeps every core busy with a
    run of its own, so this decides how many runs a machine finishes in a day, and it can be measured
    beside other work. Two threads: time on the clock, as one run has the machine to itself.
    """
    labels, name = {1: "1 thread", 2: "2 threads"}, dataset_name("mnist")
    found = {threads: [] for threads, label in labels.items() if is_wanted(label)}
    for turn in range(CPU_TURNS):
        for threads, pairs in found.items():
            key, which = "cpu_ms" if threads == 1 else "ms", f"{labels[threads]}, turn {turn}"
            measure = partial(timed, threads=threads, name=name, environment={})
            base = results.add(part, f"plain, {which}", partial(measure, "plain"), threads=threads)
            ours = results.add(
                part, f"engine, {which}", partial(measure, "engine"), base, key, threads=threads
            )
            if "speedup" in ours:
                pairs.append([base[key], ours[key]])
    for variant, (who, environment) in CPU_ONCE.items() if 1 in found else ():
        row = results.add(part, variant, lambda who=who, e=environment: timed(who, 1, name, e), threads=1)
        print(f"      {row.get('cpu_ms', float('nan')):.0f} ms of CPU")
    for threads, pairs in found.items():
        print("  CPU time, one thread" if threads == 1 else "  time on the clock, two threads")
        for turn, (plain, ours) in enumerate(pairs):
            print(f"    turn {turn}: plain loop {plain:.0f} ms, engine {ours:.0f} ms: {plain / ours:.2f}×")
        if pairs:  # other work on the machine only ever adds: the least is what is left without it
            plain, ours = np.min(pairs, axis=0)
            print(f"    least : plain loop {plain:.0f} ms, engine {ours:.0f} ms: {plain / ours:.2f}×")


def timed(who: str, threads: int, name: str, environment: dict[str, str]) -> dict:
    """Milliseconds a step on the clock and of CPU, measured in a fresh process."""
    command = [sys.executable, sys.argv[0], "--timed", who, "--threads", str(threads), "--dataset", name]
    outer = {k: v for k, v in os.environ.items() if k != "MIMALLOC_PURGE_DELAY"}
    # PyTorch's own count does not reach all the libraries below it
    inner = {**outer, "OMP_NUM_THREADS": str(threads), **environment}
    done = subprocess.run(command, env=inner, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def report_time(who: str, threads: int, name: str) -> None:
    """Print the time of a step of one of the two, as JSON."""
    if who == "engine":
        import scalinglab.train  # noqa: F401  before PyTorch, as `scalinglab train` and scripts do
    import torch

    torch.set_num_threads(threads)
    dataset_name(name)
    clock, cpu = plain_seconds(name) if who == "plain" else engine_seconds(name)
    print(json.dumps({"ms": 1e3 * clock, "cpu_ms": 1e3 * cpu}))


def plain_seconds(name: str) -> np.ndarray:
    """Of an epoch of so many steps, less one of a single step: the start cancels."""

    def used(steps: int) -> np.ndarray:
        start = seconds()
        plain_loop("cnn", name, steps * BATCH, "cpu", 0)
        return seconds() - start

    used(1)
    return (used(CPU_STEPS + 1) - used(1)) / CPU_STEPS


def engine_seconds(name: str) -> np.ndarray:
    import torch

    from scalinglab.train import jobs
    from scalinglab.train.setting import Setting

    setting = {"model": "cnn", "dataset": name, "n_data": 48_000, "steps": 10**6, "measure": []}
    group = jobs.build([Setting.from_dict(setting)], torch.device("cpu"))
    group.advance(2)
    start = seconds()
    group.advance(CPU_STEPS)
    return (seconds() - start) / CPU_STEPS


def seconds() -> np.ndarray:
    """On the clock, and of CPU of this process and of the children that have ended."""
    import resource

    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return np.array([time.perf_counter(), sum(use.ru_utime + use.ru_stime for use in both)])


def stacking_part(part: str, results: Results) -> None:
    """On a CPU: time a step and run alone and in a stack of eight, by the size of a step (CPU seconds)."""
    import torch

    from scalinglab.train import engine, jobs
    from scalinglab.train.setting import Setting

    torch.set_num_threads(1)

    def seconds(runs: int, setting: dict) -> float:
        group = jobs.build(
            [Setting.from_dict({**setting, "seed": seed}) for seed in range(runs)], torch.device("cpu")
        )
        group.advance(1)
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            group.advance(3)
            best = min(best, (time.process_time() - start) / 3 / runs)
        return best

    for model, width, batch in (
        ("cnn", 0.1, 32), ("cnn", 0.25, 32), ("cnn", 0.25, 128), ("cnn", 0.5, 128), ("cnn", 1.0, 128),
        ("mlp", 1.0, 128), ("mlp", 4.0, 128), ("mlp", 8.0, 128),
    ):  # fmt: skip
        setting = {"model": model, "dataset": "digits", "width": width, "batch_size": batch, "n_data": 400}
        setting |= {"steps": 1000, "measure": []}

        def compare(setting=setting) -> dict:
            alone, stacked = seconds(1, setting), seconds(8, setting)
            size = engine.step_flops(Setting.from_dict(setting))
            return {
                "ms": 1e3 * stacked,
                "alone_ms": 1e3 * alone,
                "mflop": size / 1e6,
                "speedup": alone / stacked,
            }

        row = results.add(part, f"{model} width {width:g}, batch {batch}", compare)
        if "mflop" in row:
            print(
                f"      {row['mflop']:.0f} MFLOP: alone {row['alone_ms']:.2f} ms, of eight {row['ms']:.2f} ms"
            )
