"""Sizes of the tiles that programs of the kernels for perceptrons take: microseconds of each kernel.

Stacks of twenty runs with batches of 8 to 64, and of fifteen with 128 to 512, on MNIST, 128 and 512 units.
The fastest of each kernel belongs into `scalinglab.train.kernels.fused_mlp.tiles`.
"""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

from training_parts.plain import dataset_name
from training_parts.results import Results

BATCHES = {"small": (8, 16, 32, 64), "large": (128, 256, 512)}
TILES = {  # ROWS, UNITS, FEATURES (0: none), num_warps, EARLY
    ("small", "forward"): [(32, 64, 64, 4), (16, 64, 64, 4), (32, 64, 32, 4)],
    ("small", "output"): [(32, 32, 0, 4), (16, 32, 0, 4), (64, 32, 0, 8)],
    ("small", "update"): [(32, 64, 64, 4, True), (32, 64, 64, 4, False), (32, 32, 64, 4, True),
                          (32, 64, 128, 4, False)],
    ("large", "forward"): [(128, 64, 32, 4), (128, 64, 64, 4), (32, 64, 64, 4)],
    ("large", "output"): [(32, 32, 0, 4), (64, 32, 0, 8), (64, 16, 0, 4)],
    ("large", "update"): [(32, 64, 128, 4, False), (64, 64, 64, 4, False), (32, 32, 128, 4, False)],
}  # fmt: skip
LAUNCHES = 20


def tiles_part(part: str, results: Results) -> None:
    for (kind, kernel), tiles in TILES.items():
        for rows, units, features, warps, *early in tiles:
            tile = {"ROWS": rows, "UNITS": units, "num_warps": warps}
            tile |= ({"FEATURES": features} if features else {}) | ({"EARLY": early[0]} if early else {})
            name = f"{kind} {kernel} {rows}x{units}x{features}, {warps} warps" + ", early" * any(early)
            results.add(part, name, lambda k=kind, n=kernel, t=tile: measured(k, n, t))


def measured(kind: str, kernel: str, tile: dict) -> dict:
    """Microseconds of one launch, for 128 and 512 units."""
    from scalinglab.train.kernels import fused_mlp

    usual = fused_mlp.tiles
    found = {}
    for width in (1.0, 4.0):
        with mock.patch.object(fused_mlp, "tiles", lambda most: {**usual(most), kernel: tile}):
            group = stack(width, BATCHES[kind])
        fused = group.fused
        group.stream.fill(0, 16)
        fused.examples = group.stream.index(group.clock.counter, 1)
        launch = {
            "forward": lambda fused=fused: fused._forward(0, 0, True),
            "output": lambda fused=fused: fused._output(0, 0),
            "update": lambda fused=fused: fused._update(0, 0),
        }
        launch["forward"]()
        found[f"us_{round(128 * width)}"] = microseconds(launch[kernel])
    print("    " + ", ".join(f"{name} {value:.1f}" for name, value in found.items()))
    return found


def stack(width: float, batches: tuple[int, ...]):
    """A stack of five seeds of each batch size."""
    import torch

    from scalinglab.train import jobs
    from scalinglab.train.setting import Setting

    shared = {
        "model": "mlp", "depth": 1, "dataset": dataset_name("mnist"), "n_data": 55_000, "width": width,
        "parameterization": "ntk", "optimizer": "nesterov", "steps": 1000, "graphs": True, "measure": [],
    }  # fmt: skip
    settings = [{**shared, "batch_size": batch, "seed": seed} for batch in batches for seed in range(5)]
    return jobs.build([Setting.from_dict(s) for s in settings], torch.device("cuda"))


def microseconds(launch: Callable[[], None]) -> float:
    """Of one launch, in a captured graph of many."""
    import torch

    launch()
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        for _ in range(LAUNCHES):
            launch()
        graph.capture_end()
        graph.replay()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(5):
            graph.replay()
        end.record()
        side.synchronize()
    return 1e3 * begin.elapsed_time(end) / (5 * LAUNCHES)
