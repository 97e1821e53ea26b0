"""Kill workers, drivers and nodes of a sweep at random moments, and compare with a sweep without faults.

python benchmarks/faults.py local 50
python benchmarks/faults.py ray 50           on a cluster of three nodes on this machine, node loss included

60 small networks are trained twice: once without faults, once with SIGKILLs. The second store must hold
exactly the runs of the grid, each once, and each with the same bits as in the first.
"""

import os
import random
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads decide how sums round

from scalinglab.curves import run_name  # noqa: E402
from scalinglab.store import Store  # noqa: E402
from scalinglab.sweep import execute  # noqa: E402
from scalinglab.sweep.training import identity  # noqa: E402
from tests.sweep.faults import inject, same_bits, trained_grid  # noqa: E402


@contextmanager
def cluster(engine):
    """An address, and a function that kills a node and starts another in its place."""
    if engine != "ray":
        yield "", None
        return
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    for name in ("RAY_raylet_start_wait_time_s", "RAY_worker_register_timeout_seconds"):
        os.environ.setdefault(name, "300")  # on a busy machine nodes and workers start slowly
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's own is 15: workers that never get a core there
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    chance = random.Random(0)

    def lose_node():
        cluster.remove_node(nodes.pop(chance.randrange(2)), allow_graceful=False)
        nodes.append(cluster.add_node(num_cpus=1))

    try:
        yield cluster.address, lose_node
    finally:
        cluster.shutdown()


def main():
    engine = sys.argv[1] if len(sys.argv) > 1 else "local"
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    warnings.simplefilter("ignore")
    wanted = trained_grid()
    with tempfile.TemporaryDirectory() as folder, cluster(engine) as (address, lose_node):
        whole, broken = Store(Path(folder) / "whole"), Store(Path(folder) / "killed")
        execute(wanted, whole, workers=2, max_stacked=4, progress=False)
        start = time.perf_counter()
        killed = inject(broken.path, engine, kills, wanted, address, lose_node)
        seconds = time.perf_counter() - start
        names = {run_name(identity(setting)) for setting in wanted.settings()}
        records = broken.records()
        print(
            f"{engine}: {killed.workers} workers, {killed.drivers} drivers and {killed.nodes} nodes killed, "
            f"{killed.torn} workers mid-run; the sweep was started {killed.started} times ({seconds:.0f} s)"
        )
        print(f"lost {len(names - set(records))}, foreign {len(set(records) - names)}")
        undone = [record for record in records.values() if record.status != "done"]
        doubled = broken.curves().frame.duplicated(["run", "step"]).sum()
        print(f"doubled rows {doubled}, not done {len(undone)}, damaged files {len(broken.problems)}")
        for record in undone:
            print(f"{record.run} {record.status}: {(record.error or '').strip()[-300:]}")
        same, runs = same_bits(broken, whole)
        print(f"bitwise equal {same} of {runs} runs")
        if names != set(records) or undone or doubled or same != runs or broken.problems:
            sys.exit(1)


if __name__ == "__main__":
    main()
