"""Does memory stay bounded while logs of a gigabyte are read?

    python benchmarks/reading.py [--megabytes 1000] [--kinds tensorboard wandb jsonl csv]

Logs are written to a temporary folder, read by `sl.read` in a process of their own, and removed. A line each:

- *size*: of the logs, and the rows and columns of numbers that the table has;
- *memory*: the largest resident memory of the process, less what it has after the imports;
- *s*: seconds of CPU that reading takes, and megabytes a second.

TensorBoard: four runs of 20,000 scalars each; the rest are images, as in logs that grow so large. W&B: four
runs of 20,000 rows of twenty metrics; the rest is console output. JSON lines and CSV: rows of a step, a loss
and twenty metrics of unknown names.
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
from tests.readers.wandb_files import item, write_wandb

IMAGE, SCALARS, RUNS, METRICS = 1 << 20, 20_000, 4, 20
READ = """
import json, resource, sys, time
import scalinglab as sl, pandas, pyarrow
sl.readers, sl.Curves
resident = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, start = resident(), time.process_time()
frame = sl.read(sys.argv[1]).frame
done = time.process_time() - start
columns = len(frame.select_dtypes("number").columns)
print(json.dumps([len(frame), columns, resident() - before, done]))
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


def wandb(folder: Path, megabytes: int) -> None:
    """Runs of histories with console output between their rows."""
    metrics = b"".join(item(f"metric/{k}", str(1 / (k + 3)), 2) for k in range(METRICS))
    output = field(13, b"x" * max((megabytes << 20) // (RUNS * SCALARS) - len(metrics), 0))
    for run in range(RUNS):
        rows = (
            field(2, item("_step", str(step), 2) + item("val_loss", str(3 - step / SCALARS), 2) + metrics)
            for step in range(SCALARS)
        )
        write_wandb(folder / f"run-{run}.wandb", (record for row in rows for record in (row, output)))


def numbers(step: int) -> dict[str, float]:
    """The numbers of a row, with as many digits as logs have."""
    values = {f"metric_{k}": round(1 / (step + k + 1), 6) for k in range(METRICS)}
    return {"val_loss": round(3 + 1 / (step + 1), 6), **values}


def jsonl(folder: Path, megabytes: int) -> None:
    """One object a line."""
    rows = [json.dumps(numbers(k))[1:] + "\n" for k in range(1000)]
    with (folder / "history.jsonl").open("w") as file:
        step = 0
        while file.tell() < megabytes << 20:
            file.writelines(f'{{"step": {step + k}, {row}' for k, row in enumerate(rows))
            step += len(rows)


def csv(folder: Path, megabytes: int) -> None:
    """One line a step."""
    rows = [",".join(map(str, numbers(k).values())) + "\n" for k in range(1000)]
    with (folder / "history.csv").open("w") as file:
        file.write(",".join(["step", *numbers(0)]) + "\n")
        step = 0
        while file.tell() < megabytes << 20:
            file.writelines(f"{step + k},{row}" for k, row in enumerate(rows))
            step += len(rows)


WRITERS: dict[str, Callable[[Path, int], None]] = {
    function.__name__: function for function in (tensorboard, wandb, jsonl, csv)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--kinds", nargs="+", choices=[*WRITERS], default=["tensorboard"])
    arguments = parser.parse_args()
    print(f"{'logs':<14}{'size / MB':>11}{'rows':>12}{'columns':>9}{'memory / MB':>13}{'s':>8}{'MB/s':>8}")
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
            rows, columns, memory, seconds = json.loads(done.stdout)
            print(
                f"{kind:<14}{size:>11.0f}{rows:>12,}{columns:>9}{memory:>13.0f}{seconds:>8.1f}"
                f"{size / seconds:>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
