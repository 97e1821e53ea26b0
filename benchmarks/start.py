"""How long a worker's imports take, with bytecode on disk and without.

    python benchmarks/start.py
    python benchmarks/start.py --out benchmarks/results/start.json

Three fresh processes import what a worker of a compiled study needs, in its order: without bytecode, once
more while it is written to an empty folder, and with what was written. Containers often have a PyTorch
without bytecode and forbid Python to write it; `scalinglab sweep` keeps it there by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from training_parts.origin import commit_of_code, what_was_typed

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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the numbers to this JSON file")
    out = parser.parse_args().out
    names = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
    plain = {name: value for name, value in os.environ.items() if name not in names}
    with tempfile.TemporaryDirectory() as folder:
        nowhere = {**plain, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        kept = {**plain, "PYTHONPYCACHEPREFIX": folder}
        cases = {"without bytecode": nowhere, "written meanwhile": kept, "with bytecode": kept}
        found = {name: imports(environment) for name, environment in cases.items()}
    if out:
        origin = {
            "command": what_was_typed(),
            "commit": commit_of_code(),
            "date": time.strftime("%Y-%m-%d %H:%M"),
            "system": platform.machine(),
            "cores": os.cpu_count(),
        }
        out.write_text(json.dumps(origin | found, indent=1))
    print(
        f"seconds to import, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    )
    print(f"{'':14s}" + "".join(f"{name:>20s}" for name in found))
    for package in found["with bytecode"]:
        print(f"{package:14s}" + "".join(f"{case[package]:20.2f}" for case in found.values()))
    print(f"{'all':14s}" + "".join(f"{sum(case.values()):20.2f}" for case in found.values()))


if __name__ == "__main__":
    main()
