"""What it costs to follow the norms of networks in training.

    python benchmarks/norms.py                                   small networks on the bundled digits
    python benchmarks/norms.py --dataset random --model cnn resnet --runs 1 8 --fast
                                                                 images of CIFAR's shape, for a GPU
    python benchmarks/norms.py --model cnn --follow 250          how exact norms are that are followed

Runs are grouped and trained as the engine does it, on a GPU side by side on streams of their own; `--fast` is
bf16, compilation and CUDA graphs. Each row is one network and number of runs:

- *step*: time in which all runs do one step;
- *first, second*: the first norms of one run, with the device waited for. The first one starts from random
  vectors, and on a GPU it captures. In a process's first row it includes what PyTorch loads once;
- *norm*: median of later norms of one run, with the device waited for before and after;
- *evaluation*: losses and errors of one run, on 2,000 training and 2,000 test images: a fifth of the default;
- *made*: making what measures the norms of one run, which reads the network;
- *50 norms*: what the norms of every run add to the time of a training with 50 checkpoints, evenly spaced in
  the log of the step. It begins with nothing: the network is read and graphs are captured in that time, once
  for all runs, which share them. On a GPU, which reads norms beside the evaluation, the time with them minus
  the time with evaluations alone; on a CPU, which works on one thing at a time, the time spent in them;
- *±*: the standard error of that difference: trainings with norms and without take turns, three of each and
  one more without; on a CPU, where the time is taken directly, there is one training and no error;
- *share*, *2 % from*: of these steps alone, without evaluation; the shortest run, in steps, of which those
  50 norms take 2 %.
"""

import argparse
import time

import numpy as np
import torch
from training_parts.plain import make_random

from scalinglab.measure import NormTracker
from scalinglab.train import engine, jobs
from scalinglab.train.checkpoints.measuring import _SHARED as shared
from scalinglab.train.replicas import streams
from scalinglab.train.setting import Setting

CHECKPOINTS = 50
ROUNDS = 3
SHORTEST = {"cnn": 15_625, "resnet": 46_875}  # steps of the shortest trainings of damico2025 on CIFAR


def wait():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def timed(function, *arguments):
    wait()
    start = time.perf_counter()
    function(*arguments)
    wait()
    return time.perf_counter() - start


def marks(steps):
    """About 50 steps, evenly spaced in the log."""
    for count in range(CHECKPOINTS, 40 * CHECKPOINTS):
        found = np.unique(np.rint(np.geomspace(1, steps, count)).astype(int))
        if len(found) >= min(CHECKPOINTS, steps):
            return found.tolist()
    return found.tolist()


def read_norms(measuring, rows):
    """The norms of some runs, waited for."""
    for norms, names in measuring._begin_norms(rows):
        norms.columns(names)


def turns(group, checkpoints, measuring, spent):
    """One group's training, in turns with the others'; adds the time at its checkpoints to `spent`."""
    every = list(range(group.runs))
    start = group.step
    for due in checkpoints:
        while group.step < start + due:
            group.advance(min(start + due - group.step, group.tick))
            yield
        if measuring is not None:
            begin = time.perf_counter()
            measuring(every) if group.device.type == "cuda" else read_norms(measuring, every)
            spent.append(time.perf_counter() - begin)


def train(groups, places, checkpoints, what="", spent=None):
    """Train all groups as far as the last checkpoint, in turns, with `what` at checkpoints."""
    spent = [] if spent is None else spent
    begin = time.perf_counter()
    measuring = [jobs.Measure(group) if what else None for group in groups]
    if what == "evaluation":
        for each in measuring:
            each.norms.clear()
    spent.append(time.perf_counter() - begin)
    active = [
        (turns(group, checkpoints, each, spent), place)
        for group, each, place in zip(groups, measuring, places, strict=True)
    ]
    while active:
        for turn in list(active):
            with torch.cuda.stream(turn[1]):
                if next(turn[0], active) is active:
                    active.remove(turn)


def measure(model, runs, given, device):
    options = {"precision": "bf16", "compile": True, "graphs": True} if given.fast else {}
    settings = [
        Setting(
            model=model, dataset=given.dataset, n_data=given.n_data, steps=10**6, seed=seed,
            optimizer="adamw" if model == "vit" else "adam", evaluate_at_most=2000,
            test_size=None if given.dataset == "digits" else 2000, **options,
        )
        for seed in range(runs)
    ]  # fmt: skip
    groups = [jobs.build(members, device) for members in engine.group(settings, device)]
    places = streams(device, len(groups)) if device.type == "cuda" else [None] * len(groups)
    warm = 24 if device.type == "cuda" else 1
    train(groups, places, [warm])  # compilation and capture
    step = timed(train, groups, places, [2 * warm]) / (2 * warm)
    steps = max(CHECKPOINTS + 10, int(given.seconds / step))
    group = groups[0]
    every = list(range(group.runs))
    with torch.cuda.stream(places[0]):
        begin = time.perf_counter()
        measuring = jobs.Measure(group)
        made = time.perf_counter() - begin
        first = []
        for _ in range(2):
            first.append(timed(read_norms, measuring, every))
            group.advance(2)
    checkpoints = marks(steps)
    spent = []
    plain = timed(train, groups, places, checkpoints)
    if device.type == "cpu":
        train(groups, places, checkpoints, "norms", spent)
        cost, error = sum(spent), float("nan")
    else:
        without, together = [timed(train, groups, places, checkpoints, "evaluation")], []
        for _ in range(ROUNDS):
            shared.clear()  # begin with nothing
            together.append(timed(train, groups, places, checkpoints, "norms"))
            without.append(timed(train, groups, places, checkpoints, "evaluation"))
        cost = float(np.mean(together) - np.mean(without))
        error = sum(np.var(times, ddof=1) / len(times) for times in (together, without)) ** 0.5
    later = []
    with torch.cuda.stream(places[0]):
        for _ in range(11):
            group.advance(16)
            later.append(timed(read_norms, measuring, every))
        group.evaluate(every)
        evaluation = timed(group.evaluate, every)
    step = plain / steps
    shortest = cost / (0.02 * step)
    row = [
        1e3 * step,
        1e3 * made,
        *(1e3 * t for t in first),
        1e3 * np.median(later),
        1e3 * evaluation,
        1e3 * cost,
    ]
    print(f"{model:12s}{runs:5d}{len(groups):8d}{steps:8d}" + "".join(f"{value:12.2f}" for value in row)
          + f"{1e3 * error:10.1f}{cost / plain:9.2%}{shortest:10.0f}", end="")  # fmt: skip
    if model in SHORTEST and given.dataset != "digits":
        print(f"   {cost / (step * SHORTEST[model]):.2%} of {SHORTEST[model]} steps", end="")
    print(flush=True)


def follow(model, given, device):
    """How far the norms that are followed through a training are from those measured anew and exactly."""
    setting = Setting(model=model, dataset=given.dataset, n_data=given.n_data, steps=10**6)
    group = jobs.build([setting], device)
    tracker = NormTracker(group.model, group.resident.input_shape, which=("spectral_complexity", "spectral"))
    apart = {"spectral_complexity": [], "spectral": []}
    for due in marks(given.follow):
        group.advance(due - group.step)
        stacked = {k: v.detach() for k, v in (*group.parameters.items(), *group.buffers.items())}
        found = tracker.measure(stacked)
        anew = NormTracker(
            group.model, group.resident.input_shape, which=tracker.which, tolerance=1e-5, capture=False
        )
        exact = anew.measure(stacked)
        for name, differences in apart.items():
            differences.append(abs(float(found[name] / exact[name]) - 1))
    for name, differences in apart.items():
        print(
            f"{model:12s}{given.follow:6d} steps, {len(differences)} norms: {name} off by at most "
            f"{max(differences):.1e}, in the median by {np.median(differences):.1e}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="digits")
    parser.add_argument("--model", nargs="+", default=["mlp", "cnn"])
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--n-data", type=int)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each training that is timed")
    parser.add_argument("--follow", type=int, help="instead: how exact norms are through so many steps")
    parser.add_argument("--fast", action="store_true", help="bf16, compile and CUDA graphs")
    given = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    where = (
        torch.cuda.get_device_name() if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    )
    kind = "random images" if given.dataset == "random" else given.dataset
    if given.dataset == "random":
        given.dataset = "cifar10"
        make_random(given.dataset)
    if given.follow:
        for model in given.model:
            follow(model, given, device)
        return
    print(f"{kind}, batch 128, {'bf16, compile, graphs' if given.fast else 'fp32'}, on {where}; times in ms")
    heads = ("step", "made", "first", "second", "norm", "evaluation", "50 norms")
    print(f"{'model':12s}{'runs':>5s}{'groups':>8s}{'steps':>8s}" + "".join(f"{head:>12s}" for head in heads)
          + f"{'±':>10s}{'share':>9s}{'2 % from':>10s}")  # fmt: skip
    for model in given.model:
        for runs in given.runs:
            measure(model, runs, given, device)


if __name__ == "__main__":
    main()
