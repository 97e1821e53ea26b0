"""A whole batch search of the one-layer perceptron of park2019 on MNIST, before and with mixed stacks.

Seven batch sizes, five widths, five seeds: 175 runs in the NTK parameterization, Nesterov momentum 0.9, with
a part of the paper's training times (eq. 16: 120 epochs or 80,000 steps). `run_many` trains them all,
evaluations included; what is reported is the steps of all runs over its wall time, and where the host's time
went. Both ways are timed at two lengths. A search that is four times as long has four times the steps, of the
same runs in the same stacks, and the same start; so the steps that it has more, over the time that it takes
longer, are the rate of the steps alone, which is that of a search of the paper's length.

The part `floor` counts, without a GPU, what a step must move, launch and multiply. The part `mixing` times on
a CPU batch sizes in stacks of their own and in one stack, filled up.

"One size a stack" is how other networks are trained: each batch size and width is a group of its own, five
seeds stacked, eight groups side by side. "Mixed" lets batch sizes share a stack.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from unittest import mock

from training_parts.plain import dataset_name
from training_parts.results import Results, clear, is_wanted

BATCHES, WIDTHS, SEEDS = (8, 16, 32, 64, 128, 256, 512), (1.0, 1.5, 2.0, 3.0, 4.0), range(5)
PRECISIONS = {"fp32": {}, "tf32": {"precision": "tf32"}}
# mixed stacks or not, and how much shorter than the paper's the two searches are, one of them for both ways
WAYS = {"one size a stack": (False, (240, 60)), "mixed": (True, (60, 15))}


def search(shorter: float, **values) -> list[dict]:
    """The settings of the search."""
    shared = {
        "model": "mlp", "depth": 1, "dataset": dataset_name("mnist"), "n_data": 55_000,
        "parameterization": "ntk", "optimizer": "nesterov", "learning_rate": 1.0,
        "min_epochs": 120 / shorter, "min_steps": max(1, round(80_000 / shorter)),
        "measure": [], "checkpoints_per_decade": 2, "graphs": True, **values,
    }  # fmt: skip
    return [
        {**shared, "batch_size": batch, "width": width, "seed": seed}
        for batch in BATCHES for width in WIDTHS for seed in SEEDS
    ]  # fmt: skip


@contextmanager
def stacks(mixed: bool):
    """Context in which batch sizes share a stack, or do not."""
    from scalinglab.train.kernels import fused_mlp

    if mixed:
        yield
    else:
        with mock.patch.object(fused_mlp, "available", return_value=False):
            yield


def timed(mixed: bool, shorter: float, **values) -> dict:
    """Steps a second of all runs together, over the whole search."""
    from scalinglab.support import work
    from scalinglab.train import run_many

    with stacks(mixed):
        clear()
        warm = search(20_000, **values)  # compiles for every size of mixed stacks, and loads libraries
        warm = warm if mixed else [s for s in warm if s["batch_size"] == BATCHES[0]]
        run_many(warm, device="cuda", progress=False)
        before, start = dict(work.SECONDS), time.perf_counter()
        frame = run_many(search(shorter, **values), device="cuda", progress=False).frame
        took = time.perf_counter() - start
    spent = {name: round(total - before.get(name, 0.0), 2) for name, total in work.SECONDS.items()}
    last = frame.groupby("run")["step"].max()
    found = {"rate": float(last.sum()) / took, "steps": int(last.sum()), "seconds": took, "runs": len(last)}
    return {**found, "phases": {name: s for name, s in spent.items() if s > 0.05}}


def search_part(part: str, results: Results) -> None:
    bases: dict[str, dict] = {}
    for precision, values in PRECISIONS.items():
        for way, (mixed, lengths) in WAYS.items():
            rows = []
            for shorter in lengths:
                name = f"{precision}, {way}, 1/{shorter} of the time"
                if is_wanted(name):
                    timed_here = partial(timed, mixed, shorter, **values)
                    rows.append(compared(results.add(part, name, timed_here), bases, precision))
                    print(f"    {rows[-1].get('phases')}", flush=True)
            if len(rows) == len(lengths) and all("rate" in row for row in rows):
                row = results.add(part, f"{precision}, {way}, steps alone", partial(steps_alone, *rows))
                compared(row, bases, precision)


def steps_alone(short: dict, long: dict) -> dict:
    """The rate at which a search of any length goes on, and the seconds of its start."""
    steps, seconds = (long[name] - short[name] for name in ("steps", "seconds"))
    return {"rate": steps / seconds, "steps": steps, "seconds": seconds,
            "start": short["seconds"] - short["steps"] * seconds / steps}  # fmt: skip


def compared(row: dict, bases: dict[str, dict], precision: str) -> dict:
    """The row with how many times as fast it is as the first way at its length."""
    if "rate" in row:
        base = bases.setdefault(f"{precision} {row['variant'].split(',')[-1]}", row)
        row["speedup"] = row["rate"] / base["rate"]
        print(f"    {row['steps']:,} steps in {row['seconds']:.1f} s: {row['speedup']:.2f} times as fast")
    return row


# --- on a CPU ------------------------------------------------------------------------------------


def mixing_part(part: str, results: Results) -> None:
    """CPU milliseconds a step and run: three seeds of each batch size, on digits."""
    for width in (0.25, 1.0, 4.0, 12.0):
        for batches in ((8, 16, 32, 64), (32, 64), (64, 128, 256, 512)):
            name = f"mlp width {width:g}, batches {', '.join(map(str, batches))}"
            base = results.add(
                part, f"{name}, apart", lambda w=width, b=batches: cpu_step(w, [(n,) for n in b])
            )
            results.add(part, f"{name}, mixed", lambda w=width, b=batches: cpu_step(w, [b]), base)


def cpu_step(width: float, stacked: list[tuple[int, ...]], steps: int = 20) -> float:
    """CPU seconds a step and run of stacks, each of the given batch sizes; the best of three."""
    from scalinglab.train import jobs  # isort: skip  (on a CPU it matters that it comes before torch)
    import torch

    from scalinglab.train.setting import Setting

    torch.set_num_threads(1)
    shared = {
        "model": "mlp", "depth": 1, "dataset": "digits", "n_data": 1400, "width": width, "steps": 10**6,
        "parameterization": "ntk", "optimizer": "nesterov", "learning_rate": 0.5, "measure": [],
    }  # fmt: skip
    groups = [
        jobs.build(
            [Setting.from_dict({**shared, "batch_size": b, "seed": s}) for b in batches for s in range(3)],
            torch.device("cpu"),
        )
        for batches in stacked
    ]
    times = []
    for turn in range(4):
        start = time.process_time()
        for group in groups:
            group.advance(steps if turn else 3)
        times.append(time.process_time() - start)
    return min(times[1:]) / steps / sum(group.runs for group in groups)


# --- the least that a step costs -----------------------------------------------------------------

BANDWIDTH, LAUNCH = 4.8e12, 2.5e-6  # of an H200: bytes a second; seconds of a kernel in a captured graph
RATES = {"fp32 without tensor cores": 67e12, "fp32 by three products in TF32": 165e12}  # operations a second


def floor(units: int, batch: int) -> dict:
    """Bytes and operations of a step of one run: 784 inputs, one hidden layer, 10 classes.

    At the least, weights and momenta are read and written once, 16 bytes a parameter. The kernels of mixed
    stacks read the weights once more, in the forward pass, and inputs in bf16. The general form, operation by
    operation, makes 17 passes: forward, gradient, and six operations of the update that read one or two
    arrays and write one.
    """
    parameters = 795 * units + 10
    inputs = batch * 784  # as stored, bytes
    return {
        "parameters": parameters, "least": 16 * parameters + inputs, "mixed": 20 * parameters + 4 * inputs,
        "general": 68 * parameters + 9 * inputs, "operations": batch * units * (4 * 784 + 6 * 10),
    }  # fmt: skip


def floor_part(part: str, results: Results) -> None:
    """Floors of single steps, and of the whole search at the paper's length."""
    names = ("units", "batch", "MB least", "mixed", "general", "MFLOP", "µs of memory")
    print("  " + " ".join(f"{name:>12}" for name in names))
    for units in (128, 512):
        for batch in BATCHES:
            found = floor(units, batch)
            sizes = [found[name] / 1e6 for name in ("least", "mixed", "general", "operations")]
            row = (units, batch, *sizes, 1e6 * found["least"] / BANDWIDTH)
            print("  " + " ".join(f"{value:12.6g}" for value in row))
    steps = {batch: max(80_000, 120 * 55_000 / batch) for batch in BATCHES}
    runs = [(round(128 * width), batch) for width in WIDTHS for batch in BATCHES for _ in SEEDS]
    count = sum(steps[batch] for _, batch in runs)
    total = {
        name: sum(steps[batch] * floor(units, batch)[name] for units, batch in runs)
        for name in ("least", "mixed", "operations")
    }
    row = {"steps": count, **{name: total[name] / BANDWIDTH for name in ("least", "mixed")}}
    row |= {name: total["operations"] / rate for name, rate in RATES.items()}
    row["launches of the longest run"] = 3 * LAUNCH * max(steps.values())
    print(f"  the whole search: {count:,.0f} steps of single runs; seconds at the least, by")
    for name, seconds in row.items():
        if name != "steps":
            print(f"    {name:32s} {seconds:6.1f} s, {count / seconds:12,.0f} steps a second")
    results.add(part, "whole search", lambda: row)
