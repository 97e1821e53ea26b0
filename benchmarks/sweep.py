"""What an engine costs: overhead a run, and how the time falls from one worker to two.

    python benchmarks/sweep.py local
    python benchmarks/sweep.py ray

Runs do nothing but write four rows (overhead), wait as a run on a GPU does that leaves the processor free,
or keep a processor busy (scaling; the second needs as many free cores as workers).
"""

import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from scalinglab.store import Store  # noqa: E402
from scalinglab.sweep import Grid, execute  # noqa: E402
from tests.sweep import pretend  # noqa: E402

RUNNER = "tests.sweep.pretend"


def sweep(engine, seeds, workers, max_stacked, **what):
    """Seconds of a sweep, less those of the same sweep with nothing left to do but one run a worker."""
    with tempfile.TemporaryDirectory() as folder:
        grid = Grid(what, seeds=seeds, runner=RUNNER)
        start = time.perf_counter()
        outcome = execute(grid, folder, engine=engine, workers=workers, max_stacked=max_stacked)
        assert outcome.count("done") == seeds
        return time.perf_counter() - start


def loop(seeds):
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        for seed in range(seeds):
            pretend.work([pretend.identity({"seed": seed})], Store(folder))
        return time.perf_counter() - start


def main():
    engine = sys.argv[1] if len(sys.argv) > 1 else "local"
    if engine == "ray":
        os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        import ray

        ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False, configure_logging=False)
    few, many = 20, 220
    plain = (loop(many) - loop(few)) / (many - few)
    print(f"engine {engine}, {os.cpu_count()} cores; milliseconds a run beyond the start of the workers")
    print(f"{'a plain loop that writes the rows and seals':46s}{1e3 * plain:8.1f}")
    for together in (1, 16):
        times = [sweep(engine, seeds, 1, together) for seeds in (few, many)]
        each = (times[1] - times[0]) / (many - few)
        label = f"1 worker, tasks of {together} run{'s' if together > 1 else ''}"
        print(f"{label:46s}{1e3 * each:8.1f}{each / plain:8.1f}× the loop")
    base = [sweep(engine, 2, workers, 1) for workers in (1, 2)]
    for what, said in (({"pause": 0.1}, "waiting"), ({"busy": 0.1}, "computing")):
        one, two = (sweep(engine, 40, workers, 1, **what) for workers in (1, 2))
        print(f"40 runs of 0.4 s of {said}: 1 worker {one:.1f} s, 2 workers {two:.1f} s: {one / two:.2f}×")
        print(f"without the start of the workers ({base[0]:.1f} s): {(one - base[0]) / (two - base[1]):.2f}×")


if __name__ == "__main__":
    main()
