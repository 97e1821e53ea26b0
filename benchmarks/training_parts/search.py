"""A whole batch search of the one-layer perceptron of park2019 on MNIST, before and with mixed stacks.

Seven batch sizes, five widths, five seeds: 175 runs in the NTK parameterization, Nesterov momentum 0.9, with
the paper's training times (eq. 16: 120 epochs or 80,000 steps) divided by `SHORTER`. `run_many` trains them
all, evaluations included; what is reported is the steps of all runs over its wall time.

"One size a stack" is how other networks are trained: each batch size and width is a group of its own, five
seeds stacked, eight groups side by side. "Mixed" lets batch sizes share a stack.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from unittest import mock

from training_parts.plain import dataset_name
from training_parts.results import Results, clear, is_wanted

BATCHES, WIDTHS, SEEDS = (8, 16, 32, 64, 128, 256, 512), (1.0, 1.5, 2.0, 3.0, 4.0), range(5)
SHORTER = 60
VARIANTS = {  # name -> (mixed stacks, setting)
    "fp32, one size a stack": (False, {}),
    "fp32, mixed": (True, {}),
    "tf32, one size a stack": (False, {"precision": "tf32"}),
    "tf32, mixed": (True, {"precision": "tf32"}),
}


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
    from scalinglab.train import run_many

    with stacks(mixed):
        clear()
        run_many(search(20_000, **values), device="cuda", progress=False)  # compiles, and loads libraries
        start = time.perf_counter()
        frame = run_many(search(shorter, **values), device="cuda", progress=False).frame
        took = time.perf_counter() - start
    last = frame.groupby("run")["step"].max()
    return {"rate": float(last.sum()) / took, "steps": int(last.sum()), "seconds": took, "runs": len(last)}


def search_part(part: str, results: Results) -> None:
    bases: dict[str, dict] = {}
    for variant, (mixed, values) in VARIANTS.items():
        if not is_wanted(variant):
            continue
        row = results.add(part, variant, lambda mixed=mixed, values=values: timed(mixed, SHORTER, **values))
        precision = variant.partition(",")[0]
        base = bases.setdefault(precision, row)
        if "rate" in row and "rate" in base:
            row["speedup"] = row["rate"] / base["rate"]
            print(
                f"    {row['steps']:,} steps in {row['seconds']:.1f} s, {row['speedup']:.2f} times",
                flush=True,
            )
