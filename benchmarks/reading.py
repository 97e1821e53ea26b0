"""Does memory stay bounded while logs of a gigabyte are read?

    python benchmarks/reading.py [--megabytes 1000] [--kinds tensorboard jsonl csv]

Logs are written to a temporary folder, read by `sl.read` in a process of their own, and removed. A line each:

- *size*: of the logs, and the rows that the table has;
- *memory*: the largest resident memory of the process, less what it has after the imports;
- *s*: seconds of CPU that reading takes, and megabytes a second.

TensorBoard: four runs of 20,000 scalars each; the rest are images, as in logs that grow so large. JSON lines
and CSV: rows of a step and twenty metrics, where every number is wanted and the table itself is large.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.readers.event_files import event, field

IMAGE, SCALARS, RUNS, METRICS = 1 << 20, 20_000, 4, 20
READ = """
import json, resource, sys, time
import scalinglab as sl, pandas, pyarrow
sl.readers, sl.Curves
resident = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, start = resident(), time.process_time()
rows = len(sl.read(sys.argv[1]))
print(json.dumps([rows, resident() - before, time.process_time() - start]))
"""


def tensorboard(folder: Path, megabytes: int) -> None:
    """Runs of scalars with images between them."""
    pixels = np.random.default_rng(0).bytes(IMAGE)
    picture = event(1, field(1, field(1, b"samples") + field(4, pixels)))
    images = max(megabytes // RUNS, 1)
    for run in range(RUNS):
        path = folder / f"run-{run}" / "events.out.tfevents.1.host"
        path.parent.mkdir()
        with path.open("wb") as file:
            for step in range(SCALARS):
                loss = struct.pack("<f", 3.0 + run - step / SCALARS)
                file.write(event(step, field(1, field(1, b"val_loss") + b"\x15" + loss)))
                if step % (SCALARS // images or 1) == 0:
                    file.write(picture)


def row(step: int) -> dict[str, float]:
    """A row of a table: a step and its metrics."""
    return {"step": step, **{f"metric_{k}": round(1 / (step + k + 1), 9) for k in range(METRICS)}}


def jsonl(folder: Path, megabytes: int) -> None:
    """One object a line."""
    with (folder / "history.jsonl").open("w") as file:
        step = 0
        while file.tell() < megabytes << 20:
            for _ in range(1000):
                file.write(json.dumps(row(step)) + "\n")
                step += 1


def csv(folder: Path, megabytes: int) -> None:
    """One line a step."""
    with (folder / "history.csv").open("w") as file:
        file.write(",".join(row(0)) + "\n")
        step = 0
        while file.tell() < megabytes << 20:
            for _ in range(1000):
                file.write(",".join(map(str, row(step).values())) + "\n")
                step += 1


WRITERS: dict[str, Callable[[Path, int], None]] = {"tensorboard": tensorboard, "jsonl": jsonl, "csv": csv}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--kinds", nargs="+", choices=[*WRITERS], default=["tensorboard"])
    arguments = parser.parse_args()
    print(f"{'logs':<14}{'size / MB':>11}{'rows':>12}{'memory / MB':>13}{'s':>8}{'MB/s':>8}")
    for kind in arguments.kinds:
        with tempfile.TemporaryDirectory() as folder:
            WRITERS[kind](Path(folder), arguments.megabytes)
            size = sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file()) / 2**20
            done = subprocess.run(
                [sys.executable, "-c", READ, folder], capture_output=True, text=True, env={**os.environ}
            )
            if done.returncode:
                print(f"{kind:<14}{size:>11.0f}  {done.stderr.strip().splitlines()[-1]}", flush=True)
                continue
            rows, memory, seconds = json.loads(done.stdout)
            print(
                f"{kind:<14}{size:>11.0f}{rows:>12,}{memory:>13.0f}{seconds:>8.1f}{size / seconds:>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
