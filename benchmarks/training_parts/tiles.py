"""Sizes of the tiles that programs of the kernels for perceptrons take: microseconds of each kernel.

Stacks of five seeds of batches 8 and 16, of 8 to 64, and of 128 to 512, on MNIST, of five widths side by side
on streams of their own, as a search has them. The fastest of each kernel belongs into
`scalinglab.train.kernels.fused_mlp.TILES`, which is printed at the end.
"""

from __future__ import annotations

from pprint import pformat
from unittest import mock

from training_parts.plain import dataset_name
from training_parts.results import Results
from training_parts.search import WIDTHS

BATCHES = {16: (8, 16), 64: (8, 16, 32, 64), 1 << 30: (128, 256, 512)}  # by the limits of TILES
CANDIDATES = {  # ROWS, UNITS, FEATURES (0: none), num_warps, EARLY; of a whole step in one launch see WHOLE
    (16, "forward"): [(16, 64, 64, 4), (16, 32, 64, 4), (16, 32, 128, 4), (16, 16, 128, 2)],
    (16, "output"): [(16, 32, 0, 4), (16, 64, 0, 4), (16, 16, 0, 4)],
    (16, "update"): [(16, 64, 64, 4, True), (16, 32, 64, 4, True), (16, 32, 128, 4, True),
                     (16, 32, 128, 4, False)],
    (64, "forward"): [(32, 64, 64, 4), (32, 32, 64, 4), (32, 32, 128, 4), (64, 32, 64, 4)],
    (64, "output"): [(32, 32, 0, 4), (16, 32, 0, 4), (32, 16, 0, 4)],
    (64, "update"): [(32, 64, 64, 4, True), (32, 32, 64, 4, True), (32, 32, 128, 4, True),
                     (32, 32, 128, 4, False), (32, 64, 128, 4, False)],
    (1 << 30, "forward"): [(128, 64, 32, 4), (128, 64, 64, 4), (64, 32, 64, 4), (128, 32, 64, 4)],
    (1 << 30, "output"): [(32, 32, 0, 4), (64, 32, 0, 8), (64, 16, 0, 4), (32, 16, 0, 4)],
    (1 << 30, "update"): [(32, 64, 128, 4, False), (64, 64, 64, 4, False), (32, 32, 128, 4, False),
                          (64, 32, 128, 4, False), (32, 64, 64, 4, False)],
}  # fmt: skip
WHOLE = [  # ROWS, UNITS, TOGETHER, num_warps, EARLY, maxnreg
    (16, 8, 8, 8, True, 128), (16, 8, 8, 8, False, 128), (16, 8, 16, 8, True, None),
    (16, 8, 16, 16, True, None), (16, 16, 16, 8, False, None), (16, 16, 16, 16, True, None),
]  # fmt: skip
LAUNCHES, REPEATS = 20, 5


def tiles_part(part: str, results: Results) -> None:
    from scalinglab.train.kernels import fused_mlp

    whole = []
    for shape in WHOLE:
        times = [
            results.add(
                part, f"batches {BATCHES[at]} step {shape}", lambda a=at, s=shape: measured(a, "step", s)
            )
            for at in (16, 64)
        ]
        if all("ms" in row for row in times):
            whole.append((sum(row["ms"] for row in times), shape))
    if whole:
        results.add(part, "best step", lambda: {"whole": whole_of(min(whole)[1])})
        print("WHOLE_STEP = " + pformat(whole_of(min(whole)[1]), sort_dicts=False, width=108))
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
    rows, units, features, warps, *early = shape
    tile = {"ROWS": rows, "UNITS": units} | ({"FEATURES": features} if features else {})
    return tile | {"num_warps": warps} | ({"EARLY": early[0]} if early else {})


def whole_of(shape: tuple) -> dict:
    """A tile of the kernel of whole steps."""
    names = ("ROWS", "UNITS", "TOGETHER", "num_warps", "EARLY", "maxnreg")
    return {**dict(zip(names, shape, strict=True)), "num_stages": 1}


_STACKS: dict = {}  # by batches and width


def measured(limit: int, kernel: str, shape: tuple) -> float:
    """Seconds of one launch for each width, all of them side by side."""
    import torch

    from scalinglab.train.kernels import fused_mlp
    from scalinglab.train.replicas import streams

    usual, device = fused_mlp.tiles, torch.device("cuda")
    graphs, sides = [], streams(device, len(WIDTHS))
    if kernel == "step":
        changed = mock.patch.object(fused_mlp, "WHOLE_STEP", whole_of(shape))
    else:
        changed = mock.patch.object(fused_mlp, "tiles", lambda most: {**usual(most), kernel: tile_of(shape)})
    with changed:
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
    fused.examples = group.stream.index(group.clock.counter, 2)
    launch = {
        "step": lambda: fused._whole_step(0, 2),
        "forward": lambda: fused._forward(0, 0, True),
        "output": lambda: fused._output(0, 0),
        "update": lambda: fused._update(0, 0),
    }
    fused._whole_step(-1, 2) if kernel == "step" else launch["forward"]()
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
