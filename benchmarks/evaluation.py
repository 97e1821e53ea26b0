"""Evaluations of a network on a GPU: compiled in the form in which it is trained, and plain.

    python benchmarks/evaluation.py
    python benchmarks/evaluation.py --model cnn --dataset cifar100 --steps 24

One run in bf16 with graphs, after some steps. Printed are the seconds of the first three evaluations, which
compile and capture, then the milliseconds of one that is replayed, with its losses: on 10,000 training and
all test images.
"""

from __future__ import annotations

import argparse
import time

import torch

from scalinglab.train import jobs
from scalinglab.train.evaluation import Evaluator
from scalinglab.train.replicas import Group, streams
from scalinglab.train.setting import Setting

REPEATS = 10


def measure(group: Group, piece: int | None) -> tuple[float, float, dict[str, float]]:
    """Seconds of the first three evaluations, seconds of a later one, and what it finds."""
    group.program.piece = piece
    evaluator = Evaluator(group.program, group.stream, 1, captures=True)
    weights = {name: value.detach() for name, value in group.working.items()}
    start = time.perf_counter()
    for _ in range(3):
        (found,) = evaluator.begin(weights, group.buffers, [0]).result()
    first, start = time.perf_counter() - start, time.perf_counter()
    for _ in range(REPEATS):
        evaluator.begin(weights, group.buffers, [0])
    torch.cuda.synchronize()
    return first, (time.perf_counter() - start) / REPEATS, found


def main() -> None:
    """Print a line for each network and form."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", nargs="+", default=["cnn", "resnet", "vit"])
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--steps", type=int, default=0, help="of training before it")
    given = parser.parse_args()
    device = torch.device("cuda")
    for model in given.model:
        setting = Setting(
            model=model, dataset=given.dataset, n_data=24_000, steps=1000, measure=(),
            initialization="customary", precision="bf16", graphs=True, compile=True,
        )  # fmt: skip
        with torch.cuda.stream(streams(device, 1)[0]):
            group = jobs.build([setting], device)
            group.advance(given.steps)
            for form, piece in (("compiled", group.program.piece), ("plain", None)):
                first, later, found = measure(group, piece)
                losses = ", ".join(f"{name} {value:.5f}" for name, value in found.items())
                print(f"{model:8s}{form:10s}{first:7.2f} s {1e3 * later:8.2f} ms   {losses}", flush=True)


if __name__ == "__main__":
    main()
