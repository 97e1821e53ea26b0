"""Steps of small networks on a CPU, with oneDNN and without it, side by side.

    python benchmarks/small_products.py

Milliseconds for a step of all runs together, the smaller of two turns each, on one thread. On a 2-core
aarch64 CPU, while little else ran on it:

    networks                                  with    without   ratio
    16 mlps of 16 units, batch 16              4.8        3.6    1.35
    16 mlps of 128 units, batch 128           20.5       18.6    1.10
    1 mlp of 128 units, batch 128              2.6        2.2    1.16
    16 cnns of 3–13 channels, batch 32        36.0       32.5    1.11
    4 vits of 96, depth 2, batch 64          116.2       90.3    1.29
    1 cnn of 32–128 channels, batch 128       70.5       69.5    1.01  (uses it)

Where others keep the cores busy the first column grows up to threefold, the second hardly.
"""

from __future__ import annotations

import time

import torch

import scalinglab.train  # noqa: F401  before torch, see its documentation
from scalinglab.train import engine, jobs
from scalinglab.train.kernels.onednn import LARGE, small_products
from scalinglab.train.setting import Setting

VIT = {"model": "vit", "width": 0.5, "depth": 2, "batch_size": 64, "model_options": {"patch": 4}}
CASES = {
    "16 mlps of 16 units, batch 16": (16, {"model": "mlp", "width": 0.125, "batch_size": 16}),
    "16 mlps of 128 units, batch 128": (16, {"model": "mlp"}),
    "1 mlp of 128 units, batch 128": (1, {"model": "mlp"}),
    "16 cnns of 3–13 channels, batch 32": (16, {"model": "cnn", "width": 0.1, "batch_size": 32}),
    "4 vits of 96, depth 2, batch 64": (4, VIT),
    "1 cnn of 32–128 channels, batch 128": (1, {"model": "cnn"}),
}


def milliseconds(group: jobs.Group, seconds: float = 0.5) -> float:
    """Mean time of a step."""
    group.advance(1)
    steps, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        group.advance(1)
        steps += 1
    return 1e3 * spent / steps


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    print(f"{'networks':38} {'with':>7} {'without':>10} {'ratio':>7}")
    for name, (count, own) in CASES.items():
        base = {"dataset": "digits", "steps": 10**6, "measure": [], **own}
        settings = [Setting.from_dict({**base, "seed": seed}) for seed in range(count)]
        group = jobs.build(settings, torch.device("cpu"))
        turns: dict[bool, list[float]] = {False: [], True: []}
        for without in (False, True, False, True):
            with small_products(without):
                turns[without].append(milliseconds(group))
        with_it, without_it = min(turns[False]), min(turns[True])
        large = "" if engine.step_flops(settings[0]) < LARGE else "  (uses it)"
        print(f"{name:38} {with_it:7.1f} {without_it:10.1f} {with_it / without_it:7.2f}{large}")


if __name__ == "__main__":
    main()
