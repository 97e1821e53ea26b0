"""How fast the store writes, compacts and loads.

python benchmarks/store.py                 10,000 runs × 100 checkpoints × 20 measurements
python benchmarks/store.py 1000            fewer runs
python benchmarks/store.py growth          starting, asking and loading from 1,000 to 50,000 runs
python benchmarks/store.py growth 1000 10000 50000
python benchmarks/store.py singles 2000    loading runs that have a file each
"""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from scalinglab.curves import Curves, run_name
from scalinglab.store import Record, Store, folder
from scalinglab.store.record import environment

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


def add(store, runs):
    """The same runs handed over as one table, which goes into one file at once."""
    rows = runs * CHECKPOINTS
    number = np.repeat(np.arange(runs), CHECKPOINTS)
    values = np.random.default_rng(0).random((MEASUREMENTS, rows))
    columns = {
        "n_data": 2 ** (number % 16),
        "seed": number // 16,
        "step": np.tile(np.arange(CHECKPOINTS), runs),
    }
    columns |= {f"measure_{k}": column for k, column in enumerate(values)}
    store.add(Curves({**columns, "model": "cnn"}, source="read"))


def load(place, runs):
    """Time to load a compacted store, beside that of pandas alone."""
    curves, ours = timed("load, compacted", lambda: Store(place).curves(), runs)
    assert len(curves) == runs * CHECKPOINTS
    timed("which runs are done", lambda: Store(place).records(), runs)
    pack = next((place / "sealed").glob("pack-*"))
    _, bare = timed("the same file by pandas alone", lambda: pd.read_parquet(pack))
    print(f"loading takes {ours / bare:.1f}× the time of pandas alone, checksums and validation included")
    return ours


def growth(sizes=(1_000, 5_000, 10_000, 50_000)):
    """What asking, starting and loading cost as a store grows: 20 checkpoints × 5 measurements a run.

    Every run is sealed by itself, as a writer does it; writers compact in passing. Nothing else compacts.
    """
    describe_machine()
    titles = ("start", "status", "records", "curves", "compacted")
    print(f"{'runs':>8s}{'packs':>6s}{'files':>6s}" + "".join(f"{title:>18s}" for title in titles))
    with tempfile.TemporaryDirectory() as name:
        written = 0
        for size in sorted(sizes):
            seal(Store(name), range(written, size))
            written = size
            names = [path.name for path in (Path(name) / "sealed").iterdir()]
            packs = sum(path.startswith("pack-") for path in names)
            begin = [clock(lambda k=k: Store(name).start({"number": -k}).close()) for k in range(1, 11)]
            status = [clock(lambda k=k: Store(name).status({"number": k})) for k in range(10)]
            cells = [
                np.median(begin, axis=0),
                np.median(status, axis=0),
                clock(lambda: Store(name).records()),
                clock(lambda size=size: check_runs(Store(name), size)),
            ]
            with tempfile.TemporaryDirectory() as copy:
                compacted = shutil.copytree(name, Path(copy) / "runs")
                Store(compacted).compact()
                cells.append(clock(lambda size=size, place=compacted: check_runs(Store(place), size)))
            counts = f"{size:8d}{packs:6d}{len(names) - packs:6d}"
            print(counts + "".join(f"{wall:9.4f} ({cpu:6.4f})" for wall, cpu in cells), flush=True)


def seal(store, numbers):
    """Seal runs one by one, without waiting for the disk: how the store is made is not what is measured."""
    fsync, os.fsync = os.fsync, lambda descriptor: None
    rows = [{"step": step, **{f"measure_{k}": 0.5 for k in range(5)}} for step in range(20)]
    for number in numbers:
        setting = {"number": number}
        store._seal(Record(run_name(setting), setting, "done", meta=environment()), rows)
    os.fsync = fsync


def singles(runs):
    """Loading runs that each have a file of their own: without compaction, with it, and after it."""
    least, folder.COMPACT_SINGLES = folder.READ_SINGLES, sys.maxsize
    describe_machine()
    with tempfile.TemporaryDirectory() as name:
        seal(Store(name), range(runs))
        for label, folder.READ_SINGLES in (
            ("one by one", sys.maxsize),
            ("compacting", least),
            ("after", least),
        ):
            wall, cpu = clock(lambda: check_runs(Store(name), runs))
            print(f"{runs:8d} {label:12s}{wall:9.3f} ({cpu:.3f})", flush=True)


def describe_machine():
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"load of the machine {load} on {os.cpu_count()} cores; seconds of wall clock (of CPU)", flush=True)


def clock(function):
    start = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - start[0], time.process_time() - start[1]


def check_runs(store, runs):
    assert len(store.curves(live=False).runs) == runs


def main():
    if "growth" in sys.argv:
        growth(*([tuple(map(int, sys.argv[2:]))] if len(sys.argv) > 2 else []))
        return
    if "singles" in sys.argv:
        singles(int(sys.argv[2]) if len(sys.argv) > 2 else 2_000)
        return
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    packed = "packed" in sys.argv
    place = Path(tempfile.mkdtemp()) / "runs"
    try:
        store = Store(place)
        print(f"{runs} runs × {CHECKPOINTS} checkpoints × {MEASUREMENTS} measurements")
        if packed:
            timed("add as one table", lambda: add(store, runs), runs)
        else:
            timed("write and seal, one process", lambda: write(store, runs), runs)
            print(f"{'on disk, one file a run':44s}{megabytes(place):9.1f} MB")
            _, before = timed("load, one file a run", lambda: Store(place).curves(), runs)
            timed("compact", store.compact, runs)
        print(f"{'on disk, compacted':44s}{megabytes(place):9.1f} MB")
        after = load(place, runs)
        if not packed:
            print(f"compaction makes loading {before / after:.0f}× faster")
    finally:
        shutil.rmtree(place.parent)


if __name__ == "__main__":
    main()
