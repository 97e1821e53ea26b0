"""Kill workers and drivers of a sweep at random moments, and see that the store holds exactly its runs.

python benchmarks/faults.py local 20
python benchmarks/faults.py ray 20           on a cluster of three nodes on this machine
"""

import os
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from scalinglab.store import Store  # noqa: E402
from tests.sweep.faults import check, grid, inject  # noqa: E402


@contextmanager
def cluster(engine):
    if engine != "ray":
        yield ""
        return
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        nodes.add_node(num_cpus=1)
    try:
        yield nodes.address
    finally:
        nodes.shutdown()


def main():
    engine = sys.argv[1] if len(sys.argv) > 1 else "local"
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    seeds, pause = 12, 0.02
    with tempfile.TemporaryDirectory() as folder, cluster(engine) as address:
        start = time.perf_counter()
        workers, drivers, torn, started = inject(folder, engine, kills, seeds, pause, address)
        check(Store(folder), grid(seeds, pause))
        print(
            f"{engine}: {workers} workers and {drivers} drivers killed, {torn} workers mid-run; "
            f"the sweep was started {started} times; "
            f"the store holds exactly the {len(Store(folder).records())} runs of the grid, each once "
            f"({time.perf_counter() - start:.0f} s)"
        )


if __name__ == "__main__":
    main()
