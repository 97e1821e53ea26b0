"""Sizes of the tiles that programs of the kernels for perceptrons take: microseconds of each kernel.

Stacks of five seeds of batches 8 and 16, of 8 to 32, of 8 to 64, and of 128 to 512, on MNIST, of five widths
side by side on streams of their own, as a search has them. The fastest of each kernel belongs into
`scalinglab.train.kernels.fused_mlp.TILES`, which is printed at the end.
"""

from __future__ import annotations

from pprint import pformat
from unittest import mock

from training_parts.plain import dataset_name
from training_parts.results import Results
from training_parts.search import WIDTHS

BATCHES = {16: (8, 16), 32: (8, 16, 32), 64: (8, 16, 32, 64), 1 << 30: (128, 256, 512)}  # by limits
# ROWS, UNITS, FEATURES (0: none), num_warps, num_stages; for `update_few` STAGES instead, and TILES
CANDIDATES = {
    (16, "forward"): [(16, 32, 64, 4, 4), (16, 32, 128, 4, 3), (16, 16, 128, 4, 4)],
    (16, "output"): [(16, 64, 0, 4, 1), (16, 32, 0, 4, 1), (16, 64, 0, 2, 1), (16, 32, 0, 2, 1)],
    (16, "update"): [(16, 32, 64, 4, 3, n) for n in (5, 7, 13)] + [(16, 32, 64, 4, 2, 13),
                     (16, 16, 128, 4, 3, 7), (16, 16, 128, 4, 3, 4), (16, 32, 64, 2, 3, 7),
                     (16, 16, 64, 2, 4, 13), (16, 32, 32, 2, 4, 13)],
    (32, "forward"): [(32, 32, 64, 4, 4), (32, 32, 32, 4, 4)],
    (32, "update"): [(32, 32, 64, 4, 3, 13), (32, 32, 64, 4, 3, 7), (32, 16, 128, 4, 3, 7),
                     (32, 32, 64, 4, 2, 13), (32, 32, 32, 2, 4, 13)],
    (64, "forward"): [(64, 32, 32, 4, 4), (64, 32, 64, 4, 3), (64, 64, 64, 4, 3)],
    (64, "output"): [(32, 32, 0, 4, 1), (32, 64, 0, 4, 1), (64, 32, 0, 4, 1), (16, 32, 0, 4, 1)],
    (64, "update"): [(64, 32, 64, 4, 3, 13), (64, 32, 64, 4, 3, 7), (64, 16, 128, 4, 3, 7),
                     (64, 64, 64, 4, 2, 13), (64, 32, 32, 4, 3, 13), (32, 64, 128, 4, 1), (32, 64, 64, 4, 1)],
    (1 << 30, "forward"): [(128, 64, 32, 4, 3), (128, 64, 64, 4, 3), (128, 64, 32, 4, 4), (64, 64, 64, 4, 3),
                           (128, 64, 64, 4, 2)],
    (1 << 30, "output"): [(32, 32, 0, 4, 1), (32, 64, 0, 4, 1), (32, 64, 0, 8, 1), (64, 32, 0, 8, 1),
                          (64, 64, 0, 8, 1), (16, 32, 0, 4, 1), (32, 16, 0, 2, 1)],
    (1 << 30, "update"): [(64, 64, 128, 4, 3), (64, 64, 64, 4, 3), (64, 64, 128, 4, 2), (128, 64, 64, 4, 2),
                          (64, 128, 64, 8, 3), (64, 64, 64, 4, 4), (64, 32, 128, 4, 4)],
}  # fmt: skip
LAUNCHES, REPEATS = 20, 5


def tiles_part(part: str, results: Results) -> None:
    from scalinglab.train.kernels import fused_mlp

    best = {limit: dict(usual) for limit, usual in fused_mlp.TILES.items()}
    for (limit, kernel), shapes in CANDIDATES.items():
        rows = []
        for shape in shapes:
            name = f"batches {BATCHES[limit]} {kernel} {shape}"
            rows.append(results.add(part, name, lambda k=kernel, at=limit, s=shape: measured(at, k, s)))
        timed = [(row["ms"], shape) for row, shape in zip(rows, shapes, strict=True) if "ms" in row]
        if timed:
            best[limit][kernel] = tile_of(min(timed)[1])
    results.add(part, "best", lambda: {"tiles": best})
    print("TILES = " + pformat(best, sort_dicts=False, width=108))


def tile_of(shape: tuple) -> dict:
    """A tile by the names of the kernels' arguments."""
    rows, units, features, warps, stages, *in_turn = shape
    tile = {"ROWS": rows, "UNITS": units} | ({"FEATURES": features} if features else {})
    if in_turn:
        return tile | {"num_warps": warps, "TILES": in_turn[0], "STAGES": stages}
    return tile | {"num_warps": warps, "num_stages": stages}


_STACKS: dict = {}  # by batches and width


def measured(limit: int, kernel: str, shape: tuple) -> float:
    """Seconds of one launch for each width, all of them side by side."""
    import torch

    from scalinglab.train.kernels import fused_mlp
    from scalinglab.train.replicas import streams

    usual, device = fused_mlp.tiles, torch.device("cuda")
    graphs, sides = [], streams(device, len(WIDTHS))
    with mock.patch.object(fused_mlp, "tiles", lambda most: {**usual(most), kernel: tile_of(shape)}):
        for width, side in zip(WIDTHS, sides, strict=True):
            key = (limit, width)
            if key not in _STACKS:
                _STACKS[key] = stack(width, BATCHES[limit])
            group = _STACKS[key]
            group._choose_steps()
            graphs.append(captured(group, kernel, side))
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for side in sides:
        side.wait_event(begin)
    for _ in range(REPEATS):
        for graph, side in zip(graphs, sides, strict=True):
            with torch.cuda.stream(side):
                graph.replay()
    for side in sides:
        torch.cuda.current_stream().wait_stream(side)
    end.record()
    torch.cuda.synchronize()
    return 1e-3 * begin.elapsed_time(end) / (REPEATS * LAUNCHES)


def captured(group, kernel: str, side):
    """A graph of many launches of one kernel of a stack."""
    import torch

    fused = group.fused
    group.stream.fill(0, 16)
    fused.examples = group.stream.index(group.clock.counter, 1)
    launch = {
        "forward": lambda: fused._forward(0, 0, True),
        "output": lambda: fused._output(0, 0),
        "update": lambda: fused._update(0, 0),
    }
    launch["forward"]()
    launch[kernel]()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        for _ in range(LAUNCHES):
            launch[kernel]()
        graph.capture_end()
        graph.replay()
    return graph


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
