"""Requests that are too large: what is said, after how many seconds, and how much memory it took.

python benchmarks/budgets.py             each in a process of its own: seconds of CPU, peak memory
python benchmarks/budgets.py 1000        with a file of so many MB of JSON lines

Goal: refused within 2 s of CPU after loading and 500 MB, with the count and the way out. The two rows marked
`done` are large and not refused.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "src")]

COLUMNS = 1_000_000
REQUESTS = {
    "a billion seeds": {"seeds": 1_000_000_000},
    "three axes of 1,000": {"axes": {name: list(range(1000)) for name in "abc"}},
    "an axis of a billion points": {"axes": {"a": {"from": 1.0, "to": 2.0, "points": 10**9}}},
    "nested sizes, a billion": {"axes": {"a": {"largest": 5.0, "ratio": 2, "count": 10**9}}},
    "nested sizes, ratio 1e300": {"axes": {"n_data": {"largest": 10, "ratio": 1e300, "count": 4}}},
    "an axis of 40,000 values": {"axes": {"n_data": list(range(40_000))}},
    "a CSV of a million columns": "wide.csv",
    "JSON lines": "lines.jsonl",
}


def measure(name):
    """In this process: seconds of CPU and the peak of memory of one request."""
    import pandas  # noqa: F401  loading is not what is measured

    import scalinglab as sl
    from scalinglab.errors import ScalinglabError

    sl.Curves, sl.read  # noqa: B018  likewise
    start, request = time.process_time(), REQUESTS[name]
    try:
        if isinstance(request, str):
            found = f"done: {len(sl.read(request)):,} rows"
        else:
            grid = sl.sweep.Grid.from_dict({"setting": {"model": "mlp"}, **request})
            found = f"done: {len(grid.settings()):,} settings"
    except ScalinglabError as error:
        found = f"refused: {str(error)[:90]}"
    seconds = time.process_time() - start
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, found]))


def write_files(folder, megabytes):
    with (folder / "wide.csv").open("w") as file:
        file.write(",".join(["n_data", "test_loss", *(f"c{i}" for i in range(COLUMNS))]) + "\n")
        for _ in range(3):
            file.write(",".join(["100", "0.5", *["1.0"] * COLUMNS]) + "\n")
    row = {"test_loss": 0.123456789, "train_loss": 0.2345678, "note": "x" * 30}
    with (folder / "lines.jsonl").open("w") as file:
        number = 0
        while file.tell() < megabytes * 1e6:
            lines = (
                json.dumps({"run": f"r{k // 1000}", "n_data": 100 + k // 1000, "step": k % 1000, **row})
                for k in range(number, number + 10_000)
            )
            file.write("\n".join(lines) + "\n")
            number += 10_000


def main():
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2])
        return
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"{'request':30s}{'seconds':>9s}{'MB':>8s}  what came of it")
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), megabytes)
        for name in REQUESTS:
            command = [sys.executable, str(Path(__file__).resolve()), "--one", name]
            out = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if out.returncode:
                print(f"{name:30s} {out.stderr.strip().splitlines()[-1]}")
                worst += 1
                continue
            seconds, memory, found = json.loads(out.stdout.splitlines()[-1])
            label = f"{name}, {megabytes:g} MB" if name == "JSON lines" else name
            print(f"{label:30s}{seconds:9.2f}{memory:8.0f}  {found}", flush=True)
            worst += found.startswith("refused") and (seconds > 2 or memory > 500)
    sys.exit(1 if worst else 0)


if __name__ == "__main__":
    main()
