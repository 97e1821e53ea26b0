"""How fast the engine trains, against a plain PyTorch loop as people write it, side by side in one run.

    python benchmarks/training.py                    # everything that this machine can do, a few minutes
    python benchmarks/training.py --parts cnn,resnet --out results/
    python benchmarks/training.py --plot benchmarks/results/training-h200-*.json

The plain loop: a `DataLoader` with 4 workers and per-image transforms, eager fp32, one run after another.
The engine: data on the device, batches by index, several runs beside each other; full fp32 first, then the
opt-ins. Time is per step and run; speed-up is the plain loop's time over it. On a GPU: the CNN, the
ResNet and the ViT of damico2025 on CIFAR-10, 48,000 images, batch 128. On a CPU: the CNN on MNIST, batch 128.

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
from pathlib import Path

from training_parts import cpu, gpu, plain, search, tiles
from training_parts.origin import commit_of_code, what_was_typed
from training_parts.plot import plot
from training_parts.results import ONLY, Results, describe

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

PARTS = {  # name -> (what measures it, its time limit in seconds)
    "cnn": (gpu.gpu_part, 150),
    "resnet": (gpu.gpu_part, 140),
    "vit": (gpu.gpu_part, 140),
    "wide": (gpu.wide_part, 60),
    "precision": (gpu.precision_part, 300),
    "scaling": (gpu.scaling_part, 80),
    "search": (search.search_part, 150),
    "mixing": (search.mixing_part, 300),
    "floor": (search.floor_part, 20),
    "tiles": (tiles.tiles_part, 150),
    "kernels": (gpu.kernels_part, 120),
    "cpu": (cpu.cpu_part, 600),
    "stacking": (cpu.stacking_part, 300),
    "transforms": (plain.transforms_part, 60),
}
GPU_PARTS, CPU_PARTS = ("cnn", "resnet", "vit", "precision", "scaling", "search"), ("cpu", "stacking")


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
        "--only",
        default="",
        help="only variants with this in their name, in parts that have some",
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
        cpu.report_time(options.timed, options.threads, options.dataset)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    if options.one:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        PARTS[options.one][0](options.one, Results(options.out / f"part-{options.one}.json"))
        return
    os.environ[ONLY] = options.only
    import torch

    default = GPU_PARTS if torch.cuda.is_available() else CPU_PARTS
    parts = options.parts.split(",") if options.parts else default
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        parser.error(f"no part {', '.join(unknown)}: choose of {', '.join(PARTS)}")
    whole = {"machine": machine(), "command": what_was_typed(), "commit": commit_of_code(), "rows": []}
    print(json.dumps(whole["machine"]), flush=True)
    for part in parts:
        print(part, flush=True)
        command = [sys.executable, __file__, "--one", part, "--out", str(options.out)]
        file = options.out / f"part-{part}.json"
        file.unlink(missing_ok=True)
        try:
            subprocess.run(command, timeout=PARTS[part][1], check=False)
        except subprocess.TimeoutExpired:
            print(f"  {part}: stopped after {PARTS[part][1]} s")
        if file.exists():
            whole["rows"] += json.loads(file.read_text())
            file.unlink()
    path = options.out / "training.json"
    path.write_text(json.dumps(whole, indent=1))
    print(f"written: {path}")
    for row in whole["rows"]:
        print(describe(row))


if __name__ == "__main__":
    main()
