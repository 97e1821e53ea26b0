"""How fast the store writes, compacts and loads.

python benchmarks/store.py                 10,000 runs × 100 checkpoints × 20 measurements
python benchmarks/store.py 1000            fewer runs
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from scalinglab.store import Store

CHECKPOINTS, MEASUREMENTS = 100, 20


def timed(label, function, per=None):
    start = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - start
    each = f"{1e3 * seconds / per:9.2f} ms a run" if per else ""
    print(f"{label:44s}{seconds:9.2f} s{each}", flush=True)
    return result, seconds


def write(store, runs):
    values = np.random.default_rng(0).random((CHECKPOINTS, MEASUREMENTS))
    names = [f"measure_{k}" for k in range(MEASUREMENTS)]
    for number in range(runs):
        with store.start({"n_data": 2 ** (number % 16), "seed": number // 16, "model": "cnn"}) as run:
            for step, row in enumerate(values + number):
                run.append({"step": step, **dict(zip(names, row.tolist(), strict=True))})


def megabytes(path):
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    folder = Path(tempfile.mkdtemp())
    try:
        store = Store(folder / "runs")
        print(f"{runs} runs × {CHECKPOINTS} checkpoints × {MEASUREMENTS} measurements")
        timed("write and seal, one process", lambda: write(store, runs), runs)
        print(f"{'on disk, one file a run':44s}{megabytes(folder):9.1f} MB")
        _, before = timed("load, one file a run", lambda: Store(folder / "runs").curves(), runs)
        timed("compact", store.compact, runs)
        print(f"{'on disk, compacted':44s}{megabytes(folder):9.1f} MB")
        curves, after = timed("load, compacted", lambda: Store(folder / "runs").curves(), runs)
        assert len(curves) == runs * CHECKPOINTS
        timed("which runs are done", lambda: Store(folder / "runs").records(), runs)
        pack = next((folder / "runs" / "sealed").glob("pack-*"))
        _, bare = timed("the same file by pandas alone", lambda: pd.read_parquet(pack))
        print(
            f"compaction makes loading {before / after:.0f}× faster; "
            f"{after / bare:.1f}× the time of pandas alone"
        )
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
