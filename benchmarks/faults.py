"""Kill workers, drivers, nodes, raylets, control stores and jobs of a sweep; compare with one without faults.

python benchmarks/faults.py local 100
python benchmarks/faults.py ray 100                          on a cluster of three nodes on this machine
python benchmarks/faults.py slurm 40                         on a Slurm of one node (root; slurm-wlm, munge)
python benchmarks/faults.py ray 100 FOLDER 200               so many seconds of it; again goes on from FOLDER

60 small networks are trained twice: once without faults, once with SIGKILLs. The second store must hold
exactly the runs of the grid, each once, none failed, and each with the same bits as in the first. A control
store (GCS) that is killed takes the whole cluster with it; another one is started at its address.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads decide how sums round

from scalinglab.curves import run_name  # noqa: E402
from scalinglab.store import Store  # noqa: E402
from scalinglab.sweep import execute  # noqa: E402
from scalinglab.sweep.training import identity  # noqa: E402
from tests.sweep.faults import Kills, inject, same_bits, slurm_losses, trained_grid  # noqa: E402


@contextmanager
def slurm():
    """Functions that take something of a Slurm away, on this machine and for it alone."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # munged still writes
        here = ROOT / "tools" / "slurm_here.sh"
        subprocess.run([here, "start", folder], check=True)
        os.environ["SLURM_CONF"] = f"{folder}/slurm.conf"
        try:
            yield slurm_losses(folder)
        finally:
            subprocess.run([here, "stop", folder], check=False)


@contextmanager
def cluster(engine):
    """An address, and functions that take away a part of the cluster there and put another in its place."""
    if engine == "slurm":
        with slurm() as lose:
            yield "", lose
        return
    if engine == "local":
        yield "", {}
        return
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    for name in ("RAY_raylet_start_wait_time_s", "RAY_worker_register_timeout_seconds"):
        os.environ.setdefault(name, "300")  # on a busy machine nodes and workers start slowly
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's own is 15: workers that never get a core there
    from ray.cluster_utils import Cluster

    chance = random.Random(0)
    often = {"health_check_period_ms": 500}  # a node that died is noticed in seconds, 15 by default
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": often}
    there = {}

    def start(**more):
        there["cluster"] = Cluster(initialize_head=True, head_node_args={**head, **more})
        there["nodes"] = [there["cluster"].add_node(num_cpus=1) for _ in range(2)]

    def lose_node():
        nodes = there["nodes"]
        there["cluster"].remove_node(nodes.pop(chance.randrange(2)), allow_graceful=False)
        nodes.append(there["cluster"].add_node(num_cpus=1))

    def lose_raylet():
        """The head's where it lives, since the driver hangs on it, else a node's."""
        main = there["cluster"].head_node
        if "raylet" in main.all_processes:
            main.kill_raylet()
            return
        node = there["nodes"].pop(chance.randrange(2))
        node.kill_raylet()
        there["cluster"].remove_node(node, allow_graceful=False)
        there["nodes"].append(there["cluster"].add_node(num_cpus=1))

    def lose_gcs():
        port = int(there["cluster"].address.rpartition(":")[2])
        there["cluster"].head_node.kill_gcs_server()
        there["cluster"].shutdown()
        start(gcs_server_port=port)

    start()
    try:
        yield there["cluster"].address, {"node": lose_node, "raylet": lose_raylet, "gcs": lose_gcs}
    finally:
        there["cluster"].shutdown()


def state_of(path):
    """What was killed in earlier calls."""
    if not path.exists():
        return Kills(), 0.0
    kept = json.loads(path.read_text())
    return Kills(Counter(kept["kinds"]), kept["torn"], kept["started"]), kept["seconds"]


def attack(folder, engine, kills, limit):
    wanted = trained_grid()
    whole, broken = Store(folder / "whole"), Store(folder / "killed")
    begun = time.monotonic()
    execute(wanted, whole, workers=2, max_stacked=4, progress=False)
    kept = folder / "kills.json"
    killed, before = state_of(kept)

    def keep(killed):
        state = {"kinds": killed.kinds, "torn": killed.torn, "started": killed.started}
        kept.write_text(json.dumps({**state, "seconds": before + time.monotonic() - begun}))

    with cluster(engine) as (address, lose):
        until = None if limit is None else begun + limit
        inject(broken.path, engine, kills, wanted, address, lose, killed, until, keep)
    keep(killed)
    seconds = before + time.monotonic() - begun
    names = {run_name(identity(setting)) for setting in wanted.settings()}
    records = broken.records()
    said = ", ".join(f"{number} {kind}" for kind, number in killed.kinds.items())
    print(
        f"{engine}: {killed.total} kills ({said}), {killed.torn} workers mid-run; the sweep was started "
        f"{killed.started} times ({seconds:.0f} s)"
    )
    failed = [record for record in records.values() if record.status == "failed"]
    undone = [record for record in records.values() if record.status != "done"]
    doubled = broken.curves().frame.duplicated(["run", "step"]).sum()
    same, runs = same_bits(broken, whole)
    print(f"lost {len(names - set(records))}, foreign {len(set(records) - names)}, failed {len(failed)}")
    print(f"doubled rows {doubled}, not done {len(undone)}, damaged files {len(broken.problems)}")
    for record in undone:
        print(f"{record.run} {record.status}: {(record.error or '').strip()[-300:]}")
    print(f"bitwise equal {same} of {runs} runs")
    lost = len(names - set(records)) if killed.total >= kills else 0  # before the end some have not begun
    silent = len(records) - len(undone) - same + doubled + lost  # stored as done and not right, or missing
    print(f"attempts {killed.total}; runs: survived {same}, named {len(undone)}, silent {silent}")
    if killed.total < kills:
        print(f"{kills - killed.total} kills to go: the same command goes on")
        return bool(failed or doubled or broken.problems)
    return bool(names != set(records) or undone or doubled or same != runs or broken.problems)


def main():
    engine = sys.argv[1] if len(sys.argv) > 1 else "local"
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    limit = float(sys.argv[4]) if len(sys.argv) > 4 else None
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[3] if len(sys.argv) > 3 else temporary)
        folder.mkdir(parents=True, exist_ok=True)
        sys.exit(1 if attack(folder, engine, kills, limit) else 0)


if __name__ == "__main__":
    main()
