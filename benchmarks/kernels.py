"""Which hand-written kernels earn their place: a whole study with each and without it, taking turns.

    python benchmarks/kernels.py --device cpu
    python benchmarks/kernels.py --device cuda --out kernels.json        # under 5 minutes on an H200

A kernel stays if a whole study gets at least 1.2 times faster by it. A study is what `scalinglab sweep` has a
worker do: a grid of sizes and seeds, checkpoints, norms, from the first weights to the last sealed run. Every
way of running it has a process of its own, which runs the same networks for a few steps first: compiled code
and captured graphs are not timed. The ways then take turns, in reverse order every other round, and medians
are compared: of wall time on a GPU, of the processor's time on a CPU, where a worker has one thread. Python's
start and the compilation, which cost both ways the same, are left out: a ratio is rather too large than too
small.

One study, `vit`, is about compilation itself: both ways start at once with empty caches, and the way without
is stopped when it takes 1.3 times as long.

Images are the bundled digits, or random ones of the right shape: speed does not depend on what they show.
`--tiny` shortens every study to a few steps, to try the benchmark itself.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from unittest import mock

from training_parts.origin import commit_of_code, what_was_typed
from training_parts.search import search

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "src/scalinglab/train/kernels"
sys.path.insert(0, str(ROOT / "src"))

EARNS = 1.2  # times faster that a kernel must make a whole study
PATIENCE = 240.0  # seconds for one answer of a process: longer means that it hangs
FAST = {"precision": "bf16", "graphs": True, "compile": True}


# --- studies -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Study:
    """A grid of settings, and the comparisons that are made on it.

    Attributes:
        title: the column "study" of the table.
        device: where it runs.
        images: the data set whose shape random images have; None for the bundled digits.
        settings: a function of the share of the length, 1 for the study itself.
        compared: (kernel, way with it, way without it); ways are keys of `WAYS`.
        cold: whether compilation counts.
    """

    title: str
    device: str
    images: str | None
    settings: Callable[[float], list[dict]]
    compared: tuple[tuple[str, str, str], ...]
    cold: bool = False

    @property
    def ways(self) -> list[str]:
        """The ways of running it, each once."""
        return list(dict.fromkeys(way for _, *pair in self.compared for way in pair))


def grid(share: float, sizes: tuple[int, ...], seeds: int, epochs: float, **shared) -> list[dict]:
    """The settings of sizes × seeds, with norms and ten checkpoints a decade."""
    initialization = "customary" if shared["model"] in ("cnn", "resnet", "vit") else "critical"
    common = {
        "epochs": share * epochs, "measure": ["norm"], "checkpoints_per_decade": 10,
        "initialization": initialization, **shared,
    }  # fmt: skip
    return [{**common, "n_data": n, "seed": seed} for n, seed in product(sizes, range(seeds))]


def cnn(share: float) -> list[dict]:
    return grid(share, (12_000, 24_000, 48_000), 4, 8, model="cnn", dataset="cifar10", **FAST)


def resnet(share: float) -> list[dict]:
    return grid(share, (12_000, 24_000, 48_000), 4, 4, model="resnet", dataset="mnist", **FAST)


def vit(share: float) -> list[dict]:
    return grid(share, (12_000, 24_000), 2, 2, model="vit", dataset="mnist", **FAST)


def batch_search(share: float) -> list[dict]:
    return search(60 / share)


def digits_cnn(share: float) -> list[dict]:
    return grid(share, (345, 690, 1380), 4, 3, model="cnn", dataset="digits", width=0.125)


def mnist_cnn(share: float) -> list[dict]:
    narrow = {"width": 0.25, "test_size": 200, "evaluate_at_most": 200}
    return grid(share, (256, 512), 2, 8, model="cnn", dataset="mnist", **narrow)


def cifar_cnn(share: float) -> list[dict]:
    smaller = {"width": 1.0, "test_size": 100, "evaluate_at_most": 100}
    return grid(share, (256, 512), 1, 4, model="cnn", dataset="cifar10", **smaller)


def digits_resnet(share: float) -> list[dict]:
    narrow = {"width": 0.25, "test_size": 200, "evaluate_at_most": 200}
    return grid(share, (345, 690), 4, 3, model="resnet", dataset="digits", **narrow)


CPU_ROWS = (
    ("winograd", "all", "without winograd"),
    ("im2col", "all", "without im2col"),
    ("cpu_layers, im2col", "without winograd", "without cpu_layers"),
    ("cpu_layers, im2col, winograd", "all", "without cpu_layers"),
)
GPU_ROWS = (
    ("triton_conv", "all", "without triton_conv"),
    ("gpu_layers", "without triton_conv", "without gpu_layers"),
    ("gpu_layers, triton_conv", "all", "without gpu_layers"),
)
GRAPHS_ROW = ("measure/network_norms/cuda_graphs", "all", "without cuda_graphs")
STUDIES = {
    "cnn": Study("cnn, 3×32×32, 3 sizes × 4 seeds", "cuda", "cifar10", cnn, (*GPU_ROWS, GRAPHS_ROW)),
    "resnet": Study("resnet, 1×28×28, 3 sizes × 4 seeds", "cuda", "mnist", resnet, GPU_ROWS),
    "search": Study(
        "batch search of park2019, 175 mlps, 1/60 of its time", "cuda", "mnist", batch_search,
        (("fused_mlp, triton_mlp", "all", "without fused_mlp"),),
    ),
    "vit": Study(
        "vit, 1×28×28, 2 sizes × 2 seeds, compilation included", "cuda", "mnist", vit,
        (("blocks", "all", "without blocks"),), cold=True,
    ),
    "digits-cnn": Study("cnn, width 1/8, digits, 3 sizes × 4 seeds", "cpu", None, digits_cnn, CPU_ROWS),
    "mnist-cnn": Study("cnn, width 1/4, 1×28×28, 2 sizes × 2 seeds", "cpu", "mnist", mnist_cnn, CPU_ROWS),
    "cifar-cnn": Study("cnn, 3×32×32, 2 sizes", "cpu", "cifar10", cifar_cnn, CPU_ROWS),
    "digits-resnet": Study(
        "resnet, width 1/4, digits, 2 sizes × 4 seeds", "cpu", None, digits_resnet, CPU_ROWS
    ),
}  # fmt: skip


# --- one way, in a process of its own ----------------------------------------------------------------


def without_triton_conv() -> list:
    from scalinglab.train.kernels import triton_conv

    layers = triton_conv.SmallConv, triton_conv.ReluConv
    return [mock.patch.object(layer, "takes", staticmethod(lambda _: False)) for layer in layers]


def without_gpu_layers() -> list:
    from scalinglab.train import training_step

    return [mock.patch.object(training_step, "rewritten", lambda model, kernels: model)]


def without_cuda_graphs() -> list:
    from scalinglab.measure.network_norms import device_reads
    from scalinglab.measure.network_norms.cuda_graphs import Replays

    return [mock.patch.object(device_reads, "Replays", lambda device, _: Replays(device, False))]


def without_fused_mlp() -> list:
    from scalinglab.train.kernels import fused_mlp

    return [mock.patch.object(fused_mlp, "available", return_value=False)]


def without_blocks() -> list:
    from scalinglab.train import training_step

    return [mock.patch.object(training_step, "repeats", return_value=False)]


def without_winograd() -> list:
    from scalinglab.train.kernels import winograd

    return [mock.patch.object(winograd, "fits", return_value=False)]


def without_im2col() -> list:
    """PyTorch's convolution in place of the products; what `winograd` takes stays with it."""
    from torch.nn.functional import conv2d

    from scalinglab.train.kernels import cpu_layers

    class Library:
        @staticmethod
        def apply(x, weight, stride, padding):
            return conv2d(x[0], weight[0], None, stride, padding)[None]

    return [mock.patch.object(cpu_layers, "Products", Library)]


def without_cpu_layers() -> list:
    from scalinglab.train import training_step

    return [mock.patch.object(training_step, "use_products", return_value=None)]


WAYS: dict[str, Callable[[], list]] = {"all": list} | {
    f"without {function.__name__.removeprefix('without_')}": function
    for function in (
        without_triton_conv, without_gpu_layers, without_cuda_graphs, without_fused_mlp, without_blocks,
        without_winograd, without_im2col, without_cpu_layers,
    )
}  # fmt: skip


def serve(study: Study, way: str, device: str) -> None:
    """Answer every share of the length that comes in by the seconds of a study of that length."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed is no answer
    import scalinglab.train  # before torch, see its documentation

    # one thread: its own time is that of the study on an idle core, whatever else the machine does
    clock = time.perf_counter if device == "cuda" else time.process_time
    if study.images is not None:
        from training_parts.plain import make_random

        make_random(study.images)
    with ExitStack() as patched:
        for patch in WAYS[way]():
            patched.enter_context(patch)
        for line in sys.stdin:
            settings = study.settings(float(line))
            with tempfile.TemporaryDirectory() as folder:
                start = clock()
                curves = scalinglab.train.run_many(settings, store=folder, device=device, progress=False)
                seconds = clock() - start
            last = curves.frame.sort_values("step").groupby("run").last()
            answer = {"seconds": seconds, "steps": int(last["step"].sum()), "runs": len(last)}
            answer["train_loss"] = float(last["train_loss"].mean())
            print(json.dumps(answer), file=answers, flush=True)


class Process:
    """One way of running a study."""

    def __init__(self, name: str, way: str, device: str, threads: int, caches: Path | None) -> None:
        self.way = way
        words = [sys.executable, __file__, "--serve", name, "--way", way, "--device", device]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        environment["TORCHINDUCTOR_COMPILE_THREADS"] = str(threads)
        if device == "cpu":
            environment["OMP_NUM_THREADS"] = "1"  # as a worker of a sweep has it
        if caches is not None:
            place = caches / way.replace(" ", "-")
            environment |= {f"{tool}_CACHE_DIR": str(place / tool) for tool in ("TORCHINDUCTOR", "TRITON")}
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
            start_new_session=True,  # with the compiler's processes, which end with it
        )  # fmt: skip

    def ask(self, share: float) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has failed, which its missing answer shows
            self.process.stdin.write(f"{share}\n")
            self.process.stdin.flush()

    def answer(self, patience: float = PATIENCE) -> dict | None:
        """What it found; None where it failed or takes too long."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], patience)
        line = self.process.stdout.readline() if ready else ""
        return json.loads(line) if line else None

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


# --- all of them -------------------------------------------------------------------------------------


def measured(name: str, study: Study, processes: list[Process], rounds: int, share: float) -> dict:
    """Answers of every way, the ways taking turns."""
    found: dict[str, list[dict]] = {p.way: [] for p in processes}
    for turn in range(rounds):
        for process in processes if turn % 2 == 0 else reversed(processes):
            process.ask(share)
            answer = process.answer()
            if answer is not None:
                found[process.way].append(answer)
            print(f"  {name}, {process.way}: {answer or 'failed'}", file=sys.stderr, flush=True)
    return found


def compiled(processes: list[Process], share: float) -> dict:
    """Both ways at once, with compilation; the second is stopped at 1.3 times the first one's time."""
    start = time.perf_counter()
    for process in processes:
        process.ask(share)
    first = processes[0].answer()
    took = time.perf_counter() - start
    second = processes[1].answer(max(0.0, 1.3 * took - (time.perf_counter() - start))) if first else None
    if first and second is None:  # stopped: both began at once, so it took at least so long
        second = {"seconds": 1.3 * first["seconds"], "stopped": True}
    return {process.way: [answer] if answer else [] for process, answer in zip(processes, (first, second))}


def lines_of(kernel: str) -> int:
    """Lines of the modules that are named."""
    names = [name if "/" in name else f"train/kernels/{name}" for name in kernel.split(", ")]
    return sum(len((ROOT / f"src/scalinglab/{name}.py").read_text().splitlines()) for name in names)


def rows_of(study: Study, found: dict[str, list[dict]]) -> list[dict]:
    """A row for every comparison, as far as both of its ways were measured."""
    rows = []
    for kernel, *ways in study.compared:
        row: dict = {"kernel": kernel, "lines": lines_of(kernel), "study": study.title}
        times = [[answer["seconds"] for answer in found.get(way, [])] for way in ways]
        if all(times):
            row["with"], row["without"] = map(median, times)
            row["ratio"] = row["without"] / row["with"]
            row["at_least"] = any(answer.get("stopped") for way in ways for answer in found[way])
        rows.append(row | {"ways": {way: found.get(way, []) for way in ways}})
    return rows


def table(rows: list[dict]) -> str:
    """The rows as text."""
    text = [f"{'kernel':36s} {'lines':>5s} {'with s':>8s} {'without s':>9s} {'ratio':>7s}  study"]
    for row in rows:
        numbers = f"{'failed':>26s}"
        if "ratio" in row:
            ratio = f"{'>' if row['at_least'] else ''}{row['ratio']:.2f}"
            numbers = f"{row['with']:8.2f} {row['without']:9.2f} {ratio:>7s}"
        text.append(f"{row['kernel']:36s} {row['lines']:5d} {numbers}  {row['study']}")
    return "\n".join(text)


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
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--studies", help=f"comma-separated, of {', '.join(STUDIES)}; all of the device")
    parser.add_argument("--rounds", type=int, default=2, help="turns of every way")
    parser.add_argument("--tiny", action="store_true", help="a few steps of every study")
    parser.add_argument("--out", type=Path, help="write the numbers to this JSON file")
    for hidden in ("--serve", "--way"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(STUDIES[options.serve], options.way, options.device)
        return
    own = [name for name, study in STUDIES.items() if study.device == options.device]
    names = options.studies.split(",") if options.studies else own
    if unknown := sorted(set(names) - set(STUDIES)):
        parser.error(f"no study {', '.join(unknown)}: choose of {', '.join(STUDIES)}")
    share, warm, start = 0.02 if options.tiny else 1.0, 0.02, time.perf_counter()
    result = {"machine": machine(), "command": what_was_typed(), "commit": commit_of_code(), "rows": []}
    # on a CPU one after another; on a GPU all compile at once, which takes as long as the longest
    together = [names] if options.device == "cuda" else [[name] for name in names]
    for some in together:
        with ExitStack() as opened:
            caches = Path(opened.enter_context(tempfile.TemporaryDirectory()))
            processes: dict[str, list[Process]] = {}

            def begin(name: str, threads: int, empty: Path | None, opened=opened, processes=processes):
                processes[name] = []
                for way in STUDIES[name].ways:
                    processes[name].append(Process(name, way, options.device, threads, empty))
                    opened.callback(processes[name][-1].end)

            for name in (n for n in some if not STUDIES[n].cold):
                begin(name, 4, None)
            if options.device == "cuda":
                for process in (p for group in processes.values() for p in group):
                    process.ask(warm)
            for process in (p for group in processes.values() for p in group):
                if options.device == "cpu":
                    process.ask(warm)
                process.answer()
            print(f"warm after {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
            for name in some:
                if STUDIES[name].cold:
                    begin(name, 8, caches)
                    found = compiled(processes[name], share)
                else:
                    found = measured(name, STUDIES[name], processes[name], options.rounds, share)
                result["rows"] += rows_of(STUDIES[name], found)
                if options.out:
                    options.out.write_text(json.dumps(result, indent=1))
    print(table(result["rows"]))
    print(f"a kernel stays from {EARNS} on; all of it took {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
