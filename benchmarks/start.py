"""How long a command and a worker take to start: CPU time of `answer`, and imports with bytecode and without.

    python benchmarks/start.py
    python benchmarks/start.py --commands [--table chinchilla.csv]

Commands (`--commands`): `answer` and `report` in fresh processes, on ten sizes, on 25 runs of parameters and
data, and on a table of your own (`--table`, as the 245 runs of Hoffmann et al. 2022), with the number of
modules of this package that `answer` imports. User and system time; the least of three, as others add to it.

Three fresh processes import what a worker of a compiled study needs, in its order: without bytecode, once
more while it is written to an empty folder, and with what was written. Containers often have a PyTorch
without bytecode and forbid Python to write it; `scalinglab sweep` keeps it there by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from training_parts.origin import commit_of_code, what_was_typed

REPEATS = 3
IMPORTED = """
import sys
sys.argv = ["scalinglab", "answer", sys.argv[1]]
from scalinglab.cli import main
try:
    main()
except SystemExit:
    pass
print(sum(name.startswith("scalinglab") for name in sys.modules), file=sys.stderr)
"""
PACKAGES = {
    "pandas": "pandas, pyarrow.parquet",
    "PyTorch": "torch",
    "TorchDynamo": "torch._dynamo",
    "Inductor": "torch._inductor.compile_fx",
}
CODE = """
import json, sys, time
found, last = {}, time.perf_counter()
for name, modules in json.loads(sys.argv[1]).items():
    exec("import " + modules)
    now = time.perf_counter()
    found[name], last = now - last, now
print(json.dumps(found))
"""


def imports(environment: dict[str, str]) -> dict[str, float]:
    """Seconds by package, in a process of its own."""
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE, json.dumps(PACKAGES)],
        env=environment,
        check=True,
        capture_output=True,
    )
    return dict(json.loads(found.stdout))


def tables(folder: Path) -> dict[str, Path]:
    """A curve of ten sizes, and a grid of 25 runs with 0.2 % of noise."""
    sizes = [100 * 2**k for k in range(10)]
    curve = "".join(f"{n},{0.05 + 3 * n**-0.5:.6f}\n" for n in sizes)
    noise = random.Random(0)
    grid = [(n * 1e8, d * 2e9) for n in (1, 3, 10, 30, 100) for d in (1, 3, 10, 30, 100)]
    losses = [(1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * (1 + noise.gauss(0, 0.002)) for n, d in grid]
    surface = "".join(f"{n},{d},{y:.5f}\n" for (n, d), y in zip(grid, losses, strict=True))
    texts = {"ten sizes": f"n_data,test_error\n{curve}", "25 runs": f"n_params,tokens,loss\n{surface}"}
    found = {name: folder / f"{name.replace(' ', '-')}.csv" for name in texts}
    for name, path in found.items():
        path.write_text(texts[name], encoding="utf-8")
    return found


def commands(more: Path | None) -> dict[str, dict[str, float]]:
    """CPU seconds of each command on each table, and the modules that `answer` imports."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        given = {} if more is None else {more.name: more}
        for name, path in (tables(Path(folder)) | given).items():
            page = str(Path(folder, "page.html"))
            found[name] = {
                "answer": min(cpu_seconds(["answer", str(path)]) for _ in range(REPEATS)),
                "report": min(cpu_seconds(["report", str(path), "-o", page]) for _ in range(REPEATS)),
                "modules": modules(path),
            }
    return found


def cpu_seconds(words: list[str]) -> float:
    """User and system time of one command, in a process of its own with one thread."""
    before = os.times()
    one = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "scalinglab", *words], env=one, check=True, capture_output=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return round(used, 2)


def modules(path: Path) -> int:
    """How many modules of this package `answer` imports."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, str(path)], check=True, capture_output=True, text=True
    )
    return int(done.stderr.split()[-1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the numbers to this JSON file")
    parser.add_argument("--commands", action="store_true", help="time commands, not imports")
    parser.add_argument("--table", type=Path, help="time the commands on this table, too")
    asked = parser.parse_args()
    out = asked.out
    if asked.commands:
        timed = commands(asked.table)
        print(
            f"{'CPU seconds':14s}" + "".join(f"{column:>10s}" for column in ("answer", "report", "modules"))
        )
        for name, row in timed.items():
            print(f"{name:14s}" + "".join(f"{value:10g}" for value in row.values()))
        if out:
            out.write_text(json.dumps(_origin() | timed, indent=1))
        return
    names = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
    plain = {name: value for name, value in os.environ.items() if name not in names}
    with tempfile.TemporaryDirectory() as folder:
        nowhere = {**plain, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        kept = {**plain, "PYTHONPYCACHEPREFIX": folder}
        cases = {"without bytecode": nowhere, "written meanwhile": kept, "with bytecode": kept}
        found = {name: imports(environment) for name, environment in cases.items()}
    if out:
        out.write_text(json.dumps(_origin() | found, indent=1))
    print(
        f"seconds to import, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    )
    print(f"{'':14s}" + "".join(f"{name:>20s}" for name in found))
    for package in found["with bytecode"]:
        print(f"{package:14s}" + "".join(f"{case[package]:20.2f}" for case in found.values()))
    print(f"{'all':14s}" + "".join(f"{sum(case.values()):20.2f}" for case in found.values()))


def _origin() -> dict[str, Any]:
    return {
        "command": what_was_typed(), "commit": commit_of_code(), "date": time.strftime("%Y-%m-%d %H:%M"),
        "system": platform.machine(), "cores": os.cpu_count(),
    }  # fmt: skip


if __name__ == "__main__":
    main()
