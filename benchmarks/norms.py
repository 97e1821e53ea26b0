"""What it costs to follow the norms of networks in training.

python benchmarks/norms.py                                    small networks on the bundled digits
python benchmarks/norms.py --dataset random --model cnn resnet vit --steps 2000 --fast
                                                              images of CIFAR's shape, for a GPU

Each row is one training by the engine with norms at about 50 checkpoints. The time inside the norm tracker
is taken with the device waited for, and compared with the rest of the run (training and evaluation). The
last column is the shortest run, in steps, whose 50 measurements take 2 % of its training.
"""

import argparse
import time

import numpy as np
import torch

from scalinglab import data, measure
from scalinglab.train import Setting, run_many

CHECKPOINTS = 50


def random_images(name, normalise="none"):
    random = np.random.default_rng(0)
    parts = []
    for size in (10_000, 1000):
        parts += [random.integers(0, 256, (size, 3, 32, 32), dtype=np.uint8), random.integers(0, 10, size)]
    zeros = np.zeros(3, dtype=np.float32)
    return data.Dataset(name, *parts, n_classes=10, offset=zeros + 127.5, scale=zeros + 74.0)


def wait():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


class Clock:
    """Adds up the time spent in one method."""

    def __init__(self, method):
        self.method, self.seconds, self.calls, self.first = method, 0.0, 0, 0.0

    def __call__(self, *arguments, **options):
        wait()
        start = time.perf_counter()
        result = self.method(*arguments, **options)
        wait()
        spent = time.perf_counter() - start
        self.first = self.first or spent
        self.seconds += spent
        self.calls += 1
        return result


def grid(model, dataset, steps, per_decade):
    return Setting(model=model, dataset=dataset, steps=steps, checkpoints_per_decade=per_decade)


def settings(model, dataset, n_data, steps, replicas, fast):
    per_decade = next(
        count
        for count in range(1, 1000)
        if len(grid(model, dataset, steps, count).checkpoints(n_data)) >= min(CHECKPOINTS, steps)
    )
    options = {"precision": "bf16", "compile": True, "graphs": True} if fast else {}
    return [
        Setting(
            model=model, dataset=dataset, n_data=n_data, steps=steps, seed=seed, init_seed=seed,
            optimizer="adamw" if model == "vit" else "adam", checkpoints_per_decade=per_decade,
            evaluate_at_most=300, test_size=300, **options,
        )
        for seed in range(replicas)
    ]  # fmt: skip


def measured(batch):
    tracker = Clock(measure.NormTracker.measure)
    original = measure.NormTracker.measure
    measure.NormTracker.measure = lambda self, *a, **k: tracker(self, *a, **k)
    try:
        start = time.perf_counter()
        run_many(batch, progress=False)
        wait()
        return time.perf_counter() - start, tracker
    finally:
        measure.NormTracker.measure = original


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="digits")
    parser.add_argument("--model", nargs="+", default=["mlp", "cnn", "resnet"])
    parser.add_argument("--n-data", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--fast", action="store_true", help="bf16, compile and CUDA graphs")
    given = parser.parse_args()
    where = (
        torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else f"CPU, {torch.get_num_threads()} threads"
    )
    if given.dataset == "random":
        data.load, given.dataset = random_images, "cifar10"
    kind = "random images" if data.load is random_images else given.dataset
    print(f"{kind}, {given.n_data} examples, batch 128, {given.steps} steps, on {where}")
    print(f"{'model':12s}{'runs':>5s}{'step, ms':>10s}{'first, ms':>11s}{'norms, ms':>11s}{'in steps':>10s}"
          f"{'measured':>10s}{'share':>9s}{'2 % from':>10s}")  # fmt: skip
    for model in given.model:
        for replicas in given.replicas:
            batch = settings(model, given.dataset, given.n_data, given.steps, replicas, given.fast)
            if given.fast:  # compiling is not training: once before
                run_many(settings(model, given.dataset, given.n_data, 8, replicas, True), progress=False)
            total, clock = measured(batch)
            training = total - clock.seconds
            step = training / given.steps
            warm = (clock.seconds - clock.first) / max(1, clock.calls - 1)
            shortest = (clock.first + (CHECKPOINTS - 1) * warm) / (0.02 * step)
            print(
                f"{model:12s}{replicas:5d}{1e3 * step:10.2f}{1e3 * clock.first:11.1f}{1e3 * warm:11.2f}"
                f"{warm / step:10.2f}{clock.calls:10d}{clock.seconds / training:9.2%}{shortest:10.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
