"""How fast the engine trains, against a plain PyTorch loop as people write it, side by side in one run.

    python benchmarks/training.py                    # everything that this machine can do, a few minutes
    python benchmarks/training.py --parts cnn,resnet --out results/
    python benchmarks/training.py --plot benchmarks/results/training-h200-*.json

The plain loop: a `DataLoader` with 4 workers and per-image transforms, eager fp32, one run after another.
The engine: data on the device, batches by index, several runs beside each other; full fp32 first, then the
opt-ins. Time is per step and run; speed-up is the plain loop's time over it. On a GPU: the CNN and the
ResNet of damico2025 on CIFAR-10, 48,000 images, batch 128. On a CPU: the CNN on MNIST, batch 128.

The part `precision` trains the same settings over 12 seeds in fp32 and with each opt-in, and compares
final loss, error and norm: the difference of the means in units of its standard error.

Every part runs in a process of its own with a time limit; a variant that fails is reported, not hidden.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

BATCH = 128
LIMITS = {
    "cnn": 150,
    "resnet": 140,
    "precision": 240,
    "scaling": 80,
    "kernels": 120,
    "cpu": 600,
    "stacking": 300,
    "transforms": 60,
}  # seconds
ONLY = "SCALINGLAB_BENCHMARK_ONLY"  # from the command line to the processes of the parts
GPU_PARTS, CPU_PARTS = ("cnn", "resnet", "precision", "scaling"), ("cpu", "stacking")


# --- data ----------------------------------------------------------------------------------------


def dataset_name(name: str) -> str:
    from scalinglab import data

    if data.available(name) is None:
        print(f"{name} is not here (scalinglab data get {name}): random images of its shape instead")
        make_random(name)
    return name


def make_random(name: str) -> None:
    """Random images in place of a set that is not here: speed does not depend on what they show."""
    from scalinglab.data import loading
    from scalinglab.data.dataset import Dataset

    shape, n = ((3, 32, 32), 50_000) if name == "cifar10" else ((1, 28, 28), 60_000)
    random = np.random.default_rng(0)
    parts = []
    for size in (n, 10_000):
        parts += [random.integers(0, 256, (size, *shape), dtype=np.uint8), random.integers(0, 10, size)]
    zero, one = np.zeros(shape[0], np.float32), np.ones(shape[0], np.float32)
    made = Dataset(name, *parts, 10, zero, one)
    loading._load = lambda *_: made
    loading.available = lambda _: Path()
    import scalinglab.data as data

    data.available = loading.available


# --- the plain loop ------------------------------------------------------------------------------


def plain_loop(model_name: str, dataset: str, n_data: int, device: str, epochs: int = 2) -> dict:
    """The loop that most people write: milliseconds a step over whole epochs, and within an epoch.

    Whole epochs count the start of the loader's workers, which the default loader repeats every epoch.
    """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    from scalinglab import data, nets

    loaded = data.load(dataset).subset(n_data)
    loader = DataLoader(
        Images(loaded), batch_size=BATCH, shuffle=True, num_workers=4, pin_memory=device == "cuda"
    )
    torch.manual_seed(0)
    model = nets.build(model_name, loaded.input_shape, 10).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    whole, inside, running = [], [], 0.0
    for _ in range(1 + epochs):  # the first one warms up
        start = time.perf_counter()
        for step, (images, labels) in enumerate(loader, 1):
            images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            running += loss.item()
            if step == 1:
                first = time.perf_counter()
        end = time.perf_counter()
        whole.append((end - start) / step)
        inside.append((end - first) / max(step - 1, 1))
    timed = slice(1 if epochs else 0, None)
    return {"ms": 1e3 * float(np.mean(whole[timed])), "within_ms": 1e3 * float(np.mean(inside[timed]))}


class Images:
    """A map-style data set with the usual per-image transforms."""

    def __init__(self, loaded) -> None:
        self.images = np.ascontiguousarray(loaded.train_x.transpose(0, 2, 3, 1))
        self.labels = loaded.train_y
        mean, std = (loaded.offset / 255).tolist(), (loaded.scale / 255).tolist()
        self.transform = usual_transform(mean, std) or PlainTransform(mean, std)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int):
        from PIL import Image

        image = self.images[index]
        picture = Image.fromarray(image if image.shape[-1] == 3 else image[..., 0])
        return self.transform(picture), int(self.labels[index])


def usual_transform(mean: list[float], std: list[float]):
    """ToTensor and Normalize of torchvision; None where it is not installed."""
    try:
        from torchvision import transforms
    except ImportError:
        return None
    return transforms.Compose([transforms.ToTensor(), transforms.Normalize(mean, std)])


class PlainTransform:
    """ToTensor and Normalize as torchvision carries them out, where it is not installed.

    Not only the same values but the same tensor operations, image by image: they are what a worker spends
    its time on. The part `transforms` times both where torchvision is installed.
    """

    def __init__(self, mean: list[float], std: list[float]) -> None:
        self.mean, self.std = mean, std

    def __call__(self, picture):
        import torch

        pixels = torch.from_numpy(np.array(picture, np.uint8, copy=True))
        pixels = pixels.view(picture.size[1], picture.size[0], len(picture.getbands()))
        image = pixels.permute(2, 0, 1).contiguous().to(torch.get_default_dtype()).div(255)

        image = image.clone()  # not in place by default
        mean, std = (
            torch.as_tensor(v, dtype=image.dtype, device=image.device) for v in (self.mean, self.std)
        )
        if (std == 0).any():
            raise ValueError("a channel of the images has no spread")
        return image.sub_(mean.view(-1, 1, 1)).div_(std.view(-1, 1, 1))


# --- the engine ----------------------------------------------------------------------------------


def engine_time(
    device: str, runs: int, steps: int, together: int = 1, warm: int = 24, seconds: float = 20.0, **setting
) -> float:
    """Seconds a step and run of `runs` runs side by side, `together` of them stacked."""
    import torch

    from scalinglab.train import engine, replicas
    from scalinglab.train.setting import Setting

    settings = [
        Setting.from_dict({"steps": 10**6, "measure": [], **setting, "seed": seed}) for seed in range(runs)
    ]
    place = torch.device(device)
    groups = [engine._build(settings[k : k + together], place) for k in range(0, runs, together)]
    streams = replicas.streams(place, len(groups)) if device == "cuda" else [None] * len(groups)

    def advance(n: int) -> None:
        for start in range(0, n, engine.TICK):
            for group, stream in zip(groups, streams, strict=True):
                with torch.cuda.stream(stream):  # None does nothing
                    group.advance(min(engine.TICK, n - start))

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    wait()
    advance(warm)
    wait()
    done, start = 0, time.perf_counter()
    while done < steps and time.perf_counter() - start < seconds:
        advance(min(steps, 96 if device == "cuda" else 1))
        done += min(steps, 96 if device == "cuda" else 1)
        wait()
    return (time.perf_counter() - start) / done / runs


# --- parts ---------------------------------------------------------------------------------------


class Results:
    """Results of one part, written as they come, so that a part that is stopped keeps what it has."""

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, []

    def add(self, part: str, variant: str, function, **more) -> dict:
        start = time.perf_counter()
        try:
            value = function()
            row = {"part": part, "variant": variant, **more}
            row |= value if isinstance(value, dict) else {"ms": 1e3 * value}
        except Exception as error:
            row = {
                "part": part,
                "variant": variant,
                **more,
                "error": f"{type(error).__name__}: {error}"[:600],
            }
        row["took"] = round(time.perf_counter() - start, 1)
        self.rows.append(row)
        self.path.write_text(json.dumps(self.rows))
        print("  " + describe(row), flush=True)
        return row


def describe(row: dict) -> str:
    if "error" in row:
        return f"{row['part']:10s} {row['variant']:44s} FAILED {row['error'][:120]}"
    rest = f"{row['ms']:9.3f} ms a step and run" if "ms" in row else ""
    rest += f"  {row['speedup']:6.2f}×" if "speedup" in row else ""
    return f"{row['part']:10s} {row['variant']:44s} {rest} ({row['took']} s)"


FAST = {"precision": "bf16", "compile": True, "graphs": True}
GPU_VARIANTS = {  # name -> (runs, together, setting)
    "cnn": {
        "bf16, graphs, compile, 1 run": (1, 1, FAST),
        "bf16, graphs, compile, 4 runs": (4, 1, FAST),
        "bf16, graphs, compile, 8 runs": (8, 1, FAST),
        "bf16, graphs, compile, 16 runs": (16, 1, FAST),
        "fp32, graphs, 1 run": (1, 1, {"graphs": True}),
        "fp32, graphs, 4 runs": (4, 1, {"graphs": True}),
        "fp32, graphs, compile, 4 runs": (4, 1, {"graphs": True, "compile": True}),
        "tf32, graphs, 4 runs": (4, 1, {"graphs": True, "precision": "tf32"}),
        "bf16, graphs, 4 runs": (4, 1, {"graphs": True, "precision": "bf16"}),
        "bf16, graphs, 4 runs stacked": (4, 4, {"graphs": True, "precision": "bf16"}),
    },
    "resnet": {
        "bf16, graphs, compile, 1 run": (1, 1, FAST),
        "bf16, graphs, compile, 4 runs": (4, 1, FAST),
        "bf16, graphs, compile, 8 runs": (8, 1, FAST),
        "fp32, graphs, 1 run": (1, 1, {"graphs": True}),
        "tf32, graphs, 4 runs": (4, 1, {"graphs": True, "precision": "tf32"}),
        "bf16, graphs, 4 runs": (4, 1, {"graphs": True, "precision": "bf16"}),
    },
}


def gpu_part(part: str, results: Results) -> None:
    name, n_data = dataset_name("cifar10"), 48_000
    base = results.add(part, "plain loop", lambda: plain_loop(part, name, n_data, "cuda"), runs=1)
    for variant, (runs, together, setting) in GPU_VARIANTS[part].items():
        if os.environ.get(ONLY, "") not in variant:
            continue
        row = results.add(
            part,
            variant,
            lambda runs=runs, together=together, setting=setting: engine_time(
                "cuda", runs, 384, together, model=part, dataset=name, n_data=n_data, seconds=3.0, **setting
            ),
            runs=runs,
            together=together,
            **setting,
        )
        add_speedup(row, base)
        clear()


def add_speedup(row: dict, base: dict) -> None:
    if row.get("ms") and base.get("ms"):
        row["speedup"] = base["ms"] / row["ms"]
        row["speedup_within"] = base["within_ms"] / row["ms"]
        ratios = f"{row['speedup']:.2f}× (within an epoch {row['speedup_within']:.2f}×)"
        print(f"  {'':10s} {'':44s} speed-up {ratios}", flush=True)


def clear() -> None:
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def scaling_part(part: str, results: Results) -> None:
    """How throughput grows with the number of runs, side by side and stacked, by the size of a step."""
    from scalinglab.train import engine
    from scalinglab.train.setting import Setting

    name = dataset_name("cifar10")
    small = {"graphs": True, "dataset": name, "n_data": 8000}
    networks = (("mlp", 1.0), ("lenet", 2.0), ("cnn", 0.125), ("mlp", 8.0), ("cnn", 0.25), ("cnn", 0.5))
    for model, width in networks:
        setting = {"model": model, "width": width, **small}
        mflop = engine.step_flops(Setting.from_dict({**setting, "steps": 1})) / 1e6
        for runs, stacked in ((1, 1), (4, 1), (4, 4), (16, 1), (16, 16), (64, 64)):
            kind = "stacked" if stacked > 1 else "side by side"
            results.add(
                part,
                f"{model} width {width:g} ({mflop:.0f} MFLOP), {runs} runs {kind}",
                lambda runs=runs, stacked=stacked, setting=setting: engine_time(
                    "cuda", runs, 192, stacked, seconds=1.0, **setting
                ),
                runs=runs,
                kind=kind,
                network=f"{model} width {width:g}",
                mflop=mflop,
            )
            clear()


def kernels_part(part: str, results: Results) -> None:
    """Where a step of one run spends its time: its kernels, from the longest, one after another."""
    import collections

    import torch
    from torch.profiler import ProfilerActivity, profile

    from scalinglab.train import engine
    from scalinglab.train.setting import Setting

    name, steps = dataset_name("cifar10"), 64
    for model in ("cnn", "resnet"):

        def longest(model=model) -> dict:
            setting = {
                "model": model,
                "dataset": name,
                "n_data": 48_000,
                "steps": 10**6,
                "measure": [],
                **FAST,
            }
            group = engine._build([Setting.from_dict(setting)], torch.device("cuda"))
            group.advance(32)
            torch.cuda.synchronize()
            with profile(activities=[ProfilerActivity.CUDA]) as found:
                group.advance(steps)
                torch.cuda.synchronize()
            time_of, count_of = collections.Counter(), collections.Counter()
            for event in found.events():
                if event.device_type == torch.autograd.DeviceType.CUDA:
                    time_of[event.name] += event.device_time_total / steps
                    count_of[event.name] += 1 / steps
            for kernel, microseconds in time_of.most_common(30):
                print(f"      {microseconds:8.1f} µs {count_of[kernel]:6.2f} × {kernel[:100]}")
            return {"ms": sum(time_of.values()) / 1e3, "kernels": sum(count_of.values())}

        results.add(part, f"{model}: kernels of a step, one after another", longest)
        clear()


def precision_part(part: str, results: Results) -> None:
    """The same settings over 12 seeds: do the opt-ins give the same curves within seed noise?"""
    from scalinglab.train import run_many

    name, device = dataset_name("cifar10"), "cuda"
    variants = {
        "fp32": {},
        "fp32 graphs": {"graphs": True},
        "tf32 graphs": {"graphs": True, "precision": "tf32"},
        "bf16 graphs": {"graphs": True, "precision": "bf16"},
        "fp32 graphs compile": {"graphs": True, "compile": True},
        "bf16 graphs compile": FAST,
    }
    reference: dict = {}
    for variant, setting in variants.items():
        settings = [
            {
                "model": "cnn", "dataset": name, "n_data": 2000, "epochs": 10, "seed": seed,
                "test_size": 5000, "checkpoints_per_decade": 3, **setting,
            }
            for seed in range(12)
        ]  # fmt: skip

        def compare(settings=settings, variant=variant) -> dict:
            frame = run_many(settings, device=device, together=1, progress=False).frame
            found = {"seeds": len(settings)}
            for column in ("train_loss", "test_loss", "test_error", "norm"):
                last = frame.sort_values("step").groupby("seed")[column].last().to_numpy()
                best = frame.groupby("seed")[column].min().to_numpy() if column != "norm" else last
                for kind, values in (("final", last), ("best", best)):
                    key = f"{kind} {column}"
                    found[key] = [float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)]
                    reference.setdefault(key, values)
                    spread = (values.var(ddof=1) + reference[key].var(ddof=1)) / len(values)
                    gap = values.mean() - reference[key].mean()
                    found[key].append(float(gap / spread**0.5) if spread else 0.0)
                    # paired by seed: initial weights and order are the same
                    pairs = values - reference[key]
                    error = pairs.std(ddof=1) / len(pairs) ** 0.5
                    found[key].append(float(pairs.mean() / error) if error else 0.0)
            return found

        row = results.add(part, variant, compare, **setting)
        for key, value in row.items():
            if isinstance(value, list):
                mean, error, apart, paired = value
                print(f"      {key:18s} {mean:.5g} ± {error:.2g}   z = {apart:+.2f}, paired {paired:+.2f}")
        clear()


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
    found = {threads: [] for threads, label in labels.items() if os.environ.get(ONLY, "") in label}
    for turn in range(CPU_TURNS):
        for threads, pairs in found.items():
            rows = [
                results.add(
                    part,
                    f"{who}, {labels[threads]}, turn {turn}",
                    lambda who=who, threads=threads: timed(who, threads, name, {}),
                    threads=threads,
                )
                for who in ("plain", "engine")
            ]
            key = "cpu_ms" if threads == 1 else "ms"
            if all(key in row for row in rows):
                pairs.append([row[key] for row in rows])
                rows[1]["speedup"] = pairs[-1][0] / pairs[-1][1]
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
    command = [sys.executable, __file__, "--timed", who, "--threads", str(threads), "--dataset", name]
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

    from scalinglab.train import engine
    from scalinglab.train.setting import Setting

    setting = {"model": "cnn", "dataset": name, "n_data": 48_000, "steps": 10**6, "measure": []}
    group = engine._build([Setting.from_dict(setting)], torch.device("cpu"))
    group.advance(2)
    start = seconds()
    group.advance(CPU_STEPS)
    return (seconds() - start) / CPU_STEPS


def seconds() -> np.ndarray:
    """On the clock, and of CPU of this process and of the children that have ended."""
    import resource

    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return np.array([time.perf_counter(), sum(use.ru_utime + use.ru_stime for use in both)])


def transforms_part(part: str, results: Results) -> None:
    """Microseconds of CPU an image: torchvision's transforms, and the stand-in where it is missing."""
    import torch
    from PIL import Image

    torch.set_num_threads(1)
    images = np.random.default_rng(0).integers(0, 256, (3000, 32, 32, 3), dtype=np.uint8)
    mean, std = [0.49, 0.48, 0.45], [0.25, 0.24, 0.26]
    theirs, ours = usual_transform(mean, std), PlainTransform(mean, std)
    if theirs is None:
        print("  torchvision is not installed (pip install torchvision): nothing to compare with")

    def cost(transform) -> dict:
        start = time.process_time()
        for image in images:
            transform(Image.fromarray(image))
        return {"image_us": 1e6 * (time.process_time() - start) / len(images)}

    for turn in range(3):
        for label, transform in (("torchvision", theirs), ("stand-in", ours)):
            if transform is not None:
                row = results.add(part, f"{label}, turn {turn}", lambda transform=transform: cost(transform))
                print(f"      {row['image_us']:.0f} µs of CPU an image")


def stacking_part(part: str, results: Results) -> None:
    """On a CPU: time a step and run alone and in a stack of eight, by the size of a step (CPU seconds)."""
    import torch

    from scalinglab.train import engine
    from scalinglab.train.setting import Setting

    torch.set_num_threads(1)

    def seconds(runs: int, setting: dict) -> float:
        group = engine._build(
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


PARTS = {
    "cnn": gpu_part, "resnet": gpu_part, "scaling": scaling_part, "precision": precision_part,
    "kernels": kernels_part, "cpu": cpu_part, "stacking": stacking_part, "transforms": transforms_part,
}  # fmt: skip


# --- all together --------------------------------------------------------------------------------


def machine() -> dict:
    import torch

    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {
        "gpu": gpu, "cores": os.cpu_count(), "system": platform.machine(), "torch": torch.__version__,
        "python": platform.python_version(),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", help=f"comma-separated, of {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "results/benchmarks")))
    parser.add_argument(
        "--only", default="", help="of cnn, resnet and cpu, only variants with this in their name"
    )
    for hidden, kind in (("--one", str), ("--timed", str), ("--threads", int), ("--dataset", str)):
        parser.add_argument(hidden, type=kind, help=argparse.SUPPRESS)
    parser.add_argument("--plot", type=Path, nargs="+", help="draw throughput against runs from these JSONs")
    parser.add_argument("--figure", type=Path, default=Path("training.png"), help="where --plot draws")
    options = parser.parse_args()
    if options.plot:
        plot(options.plot, options.figure)
        return
    if options.timed:
        report_time(options.timed, options.threads, options.dataset)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    if options.one:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        PARTS[options.one](options.one, Results(options.out / f"part-{options.one}.json"))
        return
    os.environ[ONLY] = options.only
    import torch

    default = GPU_PARTS if torch.cuda.is_available() else CPU_PARTS
    parts = options.parts.split(",") if options.parts else default
    whole = {"machine": machine(), "command": " ".join(sys.argv), "rows": []}
    print(json.dumps(whole["machine"]), flush=True)
    for part in parts:
        print(part, flush=True)
        command = [sys.executable, __file__, "--one", part, "--out", str(options.out)]
        file = options.out / f"part-{part}.json"
        file.unlink(missing_ok=True)
        try:
            subprocess.run(command, timeout=LIMITS[part], check=False)
        except subprocess.TimeoutExpired:
            print(f"  {part}: stopped after {LIMITS[part]} s")
        if file.exists():
            whole["rows"] += json.loads(file.read_text())
            file.unlink()
    path = options.out / "training.json"
    path.write_text(json.dumps(whole, indent=1))
    print(f"written: {path}")
    for row in whole["rows"]:
        print(describe(row))


def plot(paths: list[Path], target: Path) -> None:
    """Throughput against the number of runs, from the parts cnn, resnet and scaling; later files count."""
    from scalinglab.figures import style

    every = [json.loads(path.read_text()) for path in paths]
    machine_name = every[0]["machine"]["gpu"] or "CPU"
    curves: dict[str, list[tuple[int, float]]] = {}
    for whole in every:
        found: dict[str, list[tuple[int, float]]] = {}
        for r in (r for r in whole["rows"] if "ms" in r):
            if r["part"] == "scaling":
                kinds = [r["kind"]] if r["runs"] > 1 else ["stacked", "side by side"]
                for kind in kinds:
                    found.setdefault(f"{r['network']}, {kind}", []).append((r["runs"], 1e3 / r["ms"]))
            elif r.get("precision") == "bf16" and r.get("compile") and r.get("together") == 1:
                found.setdefault(f"{r['part']} of damico2025, bf16", []).append((r["runs"], 1e3 / r["ms"]))
        curves |= found
    figure, axes = style.panels(size=(5.6, 4.0))
    axis = axes.flat[0]
    for number, (label, points) in enumerate(sorted(curves.items())):
        best = {runs: max(t for r, t in points if r == runs) for runs, _ in points}
        if len(best) < 2:
            continue
        runs, throughput = np.array(sorted(best.items())).T
        line = "--" if label.endswith("side by side") else "-"
        axis.plot(runs, throughput, marker="o", ls=line, label=label, color=style.PALETTE[number % 8])
    axis.set(xscale="log", yscale="log", xlabel="runs at once", ylabel="steps a second, all runs together")
    axis.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
    axis.minorticks_off()
    axis.set_title(f"{machine_name}, CIFAR-10, batch {BATCH}")
    axis.legend(fontsize=7)
    figure.savefig(target)
    print(f"written: {target}")


if __name__ == "__main__":
    main()
