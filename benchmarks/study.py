"""How fast a whole study runs, beside the time of its steps alone, and where the rest goes.

    python benchmarks/study.py                                   # digits on a CPU, CIFAR-100 on a GPU
    python benchmarks/study.py --model resnet --dataset cifar10 --epochs 10
    python benchmarks/study.py --again                           # and how soon a second sweep starts
    python benchmarks/study.py --dry-run                         # and what --dry-run says before it

The study is typed as a user types it: a grid of sizes and seeds in a TOML file, `scalinglab sweep` in a
process of its own, norms and ten checkpoints a decade. Its wall time counts everything, from the start of
Python to the last sealed run. Beside it stand its steps times the milliseconds of a step, measured on the
same machine as `benchmarks/training.py` measures them (8 runs side by side on a GPU, stacked as the engine
does on a CPU): afterwards, or with `--steps-first` before, and then the study finds their compiled code on
disk. Phases are seconds of the worker's host thread, as the sweep itself reports them: on a GPU most of a
study is "waiting for the GPU", which then is busy.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from training_parts.origin import commit_of_code, what_was_typed
from training_parts.results import clear, engine_time

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

FAST = {"precision": "bf16", "graphs": True, "compile": True}


def settings_of(options: argparse.Namespace, gpu: bool) -> dict:
    """What all runs share."""
    shared = {
        "model": options.model, "dataset": options.dataset, "epochs": options.epochs,
        "measure": ["norm", "norm_as_published"], "checkpoints_per_decade": 10, "width": options.width,
        "initialization": "customary" if options.model in ("cnn", "resnet", "vit") else "critical",
    }  # fmt: skip
    return shared | (FAST if gpu else {})


def grid_of(options: argparse.Namespace, gpu: bool, first_seed: int) -> str:
    """The grid as TOML."""
    lines = ['experiment = "study"', "", "[setting]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in settings_of(options, gpu).items()]
    seeds = list(range(first_seed, first_seed + options.seeds))
    lines += ["", "[axes]", f"n_data = {sizes_of(options)}", f"seed = {seeds}"]
    return "\n".join(lines) + "\n"


def sizes_of(options: argparse.Namespace) -> list[int]:
    """Training sets, each half of the next."""
    from scalinglab.data.sources import SOURCES

    return [int(SOURCES[options.dataset].n_train * 0.96) >> k for k in reversed(range(options.sizes))]


def sweep(folder: Path, name: str, grid: str, *more: str) -> dict:
    """`scalinglab sweep` in a process of its own: its wall time, when its first row came, what it says."""
    path, store = folder / f"{name}.toml", folder / name
    path.write_text(grid)
    words = [sys.executable, "-m", "scalinglab", "sweep", str(path), "--store", str(store), "--json", *more]
    paths = filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH")))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    start, first = time.perf_counter(), None
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        while process.poll() is None:
            if first is None and any(f.read_bytes().count(b"\n") > 1 for f in store.glob("live/*")):
                first = time.perf_counter() - start
            time.sleep(0.05)
        assert process.stdout is not None
        said = json.loads(process.stdout.read())
    said.pop("store", None)
    return {"wall": time.perf_counter() - start, "first_row": first, **said}


def main() -> None:
    """Run the study and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="cnn")
    parser.add_argument("--dataset", help="cifar100 on a GPU, digits on a CPU")
    parser.add_argument("--epochs", type=int, help="60 on a GPU, 20 on a CPU")
    parser.add_argument("--width", type=float, help="1 on a GPU, 0.125 on a CPU")
    parser.add_argument("--sizes", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--again", action="store_true", help="a short second sweep after it")
    parser.add_argument("--dry-run", action="store_true", help="ask --dry-run before it")
    parser.add_argument("--steps-first", action="store_true", help="time the steps before the study")
    parser.add_argument("--keep", type=Path, help="keep the stores in this folder")
    parser.add_argument("--out", type=Path, help="write the numbers to this JSON file")
    options = parser.parse_args()
    import torch

    gpu = torch.cuda.is_available()
    options.dataset = options.dataset or ("cifar100" if gpu else "digits")
    options.epochs = options.epochs or (60 if gpu else 20)
    options.width = options.width or (1.0 if gpu else 0.125)
    sizes = f"{options.sizes} sizes × {options.seeds} seeds × {options.epochs} epochs"
    result = {
        "study": f"{options.model} on {options.dataset}, {sizes}", "command": what_was_typed(),
        "commit": commit_of_code(), "date": time.strftime("%Y-%m-%d %H:%M"),
        "torch": torch.__version__, "system": platform.machine(),
        "gpu": torch.cuda.get_device_name(0) if gpu else None,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if options.dry_run:
            said = sweep(folder, "dry", grid_of(options, gpu, 0), "--dry-run")
            result["dry_run"], result["dry_run_itself"] = said["seconds"], said
            print(f"--dry-run says {said['seconds']:.1f} s (and took {said['wall']:.1f} s)")
            trials = ", ".join(f"{seconds:.1f}" for seconds in said["trials"])
            print(
                f"    trials {trials} s; start of a worker {said['start_up']:.1f} s; {said['phases']}",
                flush=True,
            )
        if options.steps_first:
            result |= steps_alone(options, gpu)
            report(result, options.out)
        result["first"] = sweep(folder, "first", grid_of(options, gpu, 0))
        report(result, options.out)
        if options.again:
            short = argparse.Namespace(**{**vars(options), "epochs": 1, "sizes": min(2, options.sizes)})
            result["second"] = sweep(folder, "second", grid_of(short, gpu, options.seeds))
            report(result, options.out)
        if not options.steps_first:
            result |= steps_alone(options, gpu)
            report(result, options.out)


def report(result: dict, out: Path | None) -> None:
    """Print the table and write the numbers."""
    describe(result)
    if out:
        out.write_text(json.dumps(result, indent=1))


def steps_alone(options: argparse.Namespace, gpu: bool) -> dict:
    """The study's steps, and the milliseconds of one measured now."""
    from scalinglab.train.setting import Setting

    shared = settings_of(options, gpu)
    steps = sum(
        Setting.from_dict({**shared, "n_data": n}).total_steps(n) for n in sizes_of(options)
    ) * options.seeds  # fmt: skip
    plain = {k: v for k, v in shared.items() if k not in ("epochs", "measure", "checkpoints_per_decade")}
    runs, stacked = (8, 1) if gpu else (options.seeds, options.seeds)
    each = engine_time(
        "cuda" if gpu else "cpu", runs, 384, stacked, seconds=3.0, n_data=sizes_of(options)[-1], **plain
    )
    clear()
    return {"steps": steps, "ms_per_step": 1e3 * each, "steps_alone": steps * each}


def describe(result: dict) -> None:
    """The table, as far as it is measured."""
    print()
    if "steps" in result:
        print(f"{result['steps']:,} steps at {result['ms_per_step']:.3f} ms: {result['steps_alone']:.1f} s")
    for name in (n for n in ("first", "second") if n in result):
        found, first_row = result[name], result[name]["first_row"] or math.nan
        alone = result.get("steps_alone") if name == "first" else None
        ratio = f", {found['wall'] / alone:.2f} times its steps" if alone else ""
        print(f"{name} sweep: {found['wall']:.1f} s{ratio}; first row after {first_row:.1f} s; "
              f"{found.get('done', 0)} of {found['runs']} runs done")  # fmt: skip
        for phase, seconds in sorted(found["phases"].items(), key=lambda item: -item[1]):
            print(f"    {phase:24s} {seconds:8.2f} s")
        if result["gpu"]:  # one worker; the phases of several are those of all of them
            rest = found["wall"] - sum(found["phases"].values())
            print(f"    {'outside of the worker':24s} {rest:8.2f} s", flush=True)
    if "dry_run" in result and "first" in result:
        print(
            f"--dry-run: {result['dry_run']:.1f} s, {result['dry_run'] / result['first']['wall']:.2f} of it",
            flush=True,
        )


if __name__ == "__main__":
    main()
