"""Which hand-written kernels earn their place: a whole study on a GPU with each and without it, taking turns.

    python benchmarks/kernels.py --out kernels.json
    python benchmarks/kernels.py --studies cnn,search --limit 120

A kernel stays if a whole study gets at least 1.2 times faster by it. A study is what `scalinglab sweep` has a
worker do: a grid of sizes and seeds, checkpoints, norms, from the first weights to the last sealed run. One
study is measured after another. Every way of running it has a process of its own, which runs the same
networks for a few steps first: compiled code and captured graphs are not timed. The ways then take turns,
in reverse order every other round, and medians of wall time are compared. Python's start and the compilation,
which cost both ways the same, are left out: a ratio is rather too large than too small.

After `--limit` seconds, and when it is interrupted or terminated, it prints what it has measured until then.
Images are random ones of the right shape: speed does not depend on what they show. `--tiny` shortens every
study to a few steps, to try the benchmark itself.

What it found, also of the kernels that did not stay: docs/benchmarks/training.md.
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
sys.path.insert(0, str(ROOT / "src"))

EARNS = 1.2  # times faster that a kernel must make a whole study
LIMIT = 300.0  # seconds for all studies together
WARM = 0.02  # share of a study's length that compiles and captures all it needs
COMPILERS = 4  # processes that compile, for every way
Found = dict[str, list[dict]]  # answers by way
FAST = {"precision": "bf16", "graphs": True, "compile": True}


# --- studies -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Study:
    """A grid of settings, and the comparisons that are made on it.

    Attributes:
        title: the column "study" of the table.
        images: the data set whose shape random images have.
        settings: a function of the share of the length, 1 for the study itself.
        compared: (kernel, way with it, way without it); ways are keys of `WAYS`.
    """

    title: str
    images: str
    settings: Callable[[float], list[dict]]
    compared: tuple[tuple[str, str, str], ...]

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
    return grid(share, (24_000, 48_000), 2, 8, model="cnn", dataset="cifar10", **FAST)


def batch_search(share: float) -> list[dict]:
    return search(60 / share)


GRAPHS_ROW = ("measure/network_norms/cuda_graphs", "all", "without cuda_graphs")
# those that compile least come first: what is measured before the limit is then the most
STUDIES = {
    "search": Study(
        "batch search of park2019, 175 mlps, 1/60 of its time", "mnist", batch_search,
        (("fused_mlp, triton_mlp", "all", "without fused_mlp"),),
    ),
    "cnn": Study("cnn, 3×32×32, 2 sizes × 2 seeds", "cifar10", cnn, (GRAPHS_ROW,)),
}  # fmt: skip


# --- one way, in a process of its own ----------------------------------------------------------------


def without_cuda_graphs() -> list:
    from scalinglab.measure.network_norms import device_reads
    from scalinglab.measure.network_norms.cuda_graphs import Replays

    return [mock.patch.object(device_reads, "Replays", lambda device, _: Replays(device, False))]


def without_fused_mlp() -> list:
    from scalinglab.train.kernels import fused_mlp

    return [mock.patch.object(fused_mlp, "available", return_value=False)]


WAYS: dict[str, Callable[[], list]] = {"all": list} | {
    f"without {function.__name__.removeprefix('without_')}": function
    for function in (without_cuda_graphs, without_fused_mlp)
}


def serve(study: Study, way: str) -> None:
    """Answer every share of the length that comes in by the seconds of a study of that length."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed is no answer
    from training_parts.plain import make_random

    import scalinglab.train  # before torch, see its documentation

    make_random(study.images)
    with ExitStack() as patched:
        for patch in WAYS[way]():
            patched.enter_context(patch)
        for line in sys.stdin:
            settings = study.settings(float(line))
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                curves = scalinglab.train.run_many(settings, store=folder, device="cuda", progress=False)
                seconds = time.perf_counter() - start
            last = curves.frame.sort_values("step").groupby("run").last()
            answer = {"seconds": seconds, "steps": int(last["step"].sum()), "runs": len(last)}
            answer["train_loss"] = float(last["train_loss"].mean())
            print(json.dumps(answer), file=answers, flush=True)


class Process:
    """One way of running a study."""

    def __init__(self, name: str, way: str) -> None:
        self.way = way
        words = [sys.executable, __file__, "--serve", name, "--way", way]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        environment["TORCHINDUCTOR_COMPILE_THREADS"] = str(COMPILERS)
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
            start_new_session=True,  # with the compiler's processes, which end with it
        )  # fmt: skip

    def ask(self, share: float) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has failed, which its missing answer shows
            self.process.stdin.write(f"{share}\n")
            self.process.stdin.flush()

    def answer(self, until: float) -> dict | None:
        """What it found; None where it failed or has not answered by then (`time.perf_counter`)."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.perf_counter()))
        line = self.process.stdout.readline() if ready else ""
        return json.loads(line) if line else None

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


# --- all of them -------------------------------------------------------------------------------------


def measured(processes: list[Process], rounds: int, share: float, until: float) -> Found:
    """Answers of every way: first all run a few steps at once, which compiles, then they take turns."""
    found: Found = {p.way: [] for p in processes}
    for process in processes:
        process.ask(WARM)
    warm = [process.answer(until) for process in processes]
    if None in warm:
        return found
    for turn in range(rounds):
        for process in processes if turn % 2 == 0 else reversed(processes):
            process.ask(share)
            answer = process.answer(until)
            if answer is None:  # failed, or out of time: what follows would answer an earlier question
                return found
            found[process.way].append(answer)
    return found


def lines_of(kernel: str) -> int:
    """Lines of the modules that are named."""
    names = [name if "/" in name else f"train/kernels/{name}" for name in kernel.split(", ")]
    return sum(len((ROOT / f"src/scalinglab/{name}.py").read_text().splitlines()) for name in names)


def rows_of(study: Study, found: Found) -> list[dict]:
    """A row for every comparison, as far as both of its ways were measured."""
    rows = []
    for kernel, *ways in study.compared:
        row: dict = {"kernel": kernel, "lines": lines_of(kernel), "study": study.title}
        times = [[answer["seconds"] for answer in found.get(way, [])] for way in ways]
        if all(times):
            row["with"], row["without"] = map(median, times)
            row["ratio"] = row["without"] / row["with"]
        rows.append(row | {"ways": {way: found.get(way, []) for way in ways}})
    return rows


def table(rows: list[dict]) -> str:
    """The rows as text."""
    text = [f"{'kernel':36s} {'lines':>5s} {'with s':>8s} {'without s':>9s} {'ratio':>7s}  study"]
    for row in rows:
        numbers = f"{'not measured':>26s}"
        if "ratio" in row:
            numbers = f"{row['with']:8.2f} {row['without']:9.2f} {row['ratio']:7.2f}"
        text.append(f"{row['kernel']:36s} {row['lines']:5d} {numbers}  {row['study']}")
    return "\n".join(text)


def machine() -> dict:
    import torch

    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {
        "gpu": gpu, "cores": os.cpu_count(), "system": platform.machine(), "torch": torch.__version__,
        "python": platform.python_version(),
    }  # fmt: skip


def measure_study(name: str, options: argparse.Namespace, until: float) -> Found:
    """Answers of every way of a study, each in a process of its own."""
    study, share = STUDIES[name], WARM if options.tiny else 1.0
    with ExitStack() as opened:
        processes = []
        for way in study.ways:
            processes.append(Process(name, way))
            opened.callback(processes[-1].end)
        return measured(processes, options.rounds, share, until)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", default=",".join(STUDIES), help="comma-separated; default: all")
    parser.add_argument("--rounds", type=int, default=2, help="turns of every way")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for all studies together")
    parser.add_argument("--tiny", action="store_true", help="a few steps of every study")
    parser.add_argument("--out", type=Path, help="write the numbers to this JSON file")
    for hidden in ("--serve", "--way"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(STUDIES[options.serve], options.way)
        return
    names = options.studies.split(",")
    if unknown := sorted(set(names) - set(STUDIES)):
        parser.error(f"no study {', '.join(unknown)}: choose of {', '.join(STUDIES)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `finally` prints the table
    start, found = time.perf_counter(), {}
    try:
        for name in names:
            found[name] = measure_study(name, options, start + options.limit)
            print(
                f"{name} after {time.perf_counter() - start:.0f} s: {found[name]}",
                file=sys.stderr,
                flush=True,
            )
    finally:
        rows = [row for name in names for row in rows_of(STUDIES[name], found.get(name, {}))]
        if options.out:
            what = {"machine": machine(), "command": what_was_typed(), "commit": commit_of_code()}
            options.out.write_text(json.dumps({**what, "rows": rows}, indent=1))
        print(table(rows))
        print(
            f"a kernel stays from {EARNS} on; all of it took {time.perf_counter() - start:.0f} s", flush=True
        )


if __name__ == "__main__":
    main()
