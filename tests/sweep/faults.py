"""Fault injection: sweeps whose workers, drivers, nodes, raylets and control stores are killed at random
moments, until all is done.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from scalinglab.curves import run_name
from scalinglab.store import RunBusy, Store
from scalinglab.sweep import Grid
from tests.sweep import pretend

KINDS = ["a", "b", "c"]
DRIVER = """
import faulthandler, json, signal, sys, warnings
warnings.simplefilter("ignore")
faulthandler.register(signal.SIGUSR1)
from scalinglab.sweep import Grid, execute
path, engine, address, grid = sys.argv[1:]
from scalinglab.sweep.pools import ray_engine
ray_engine.GONE = ray_engine.ASK = 5.0  # a lost cluster is noticed sooner than by default
more = {"address": address or None}
if engine == "slurm":
    from scalinglab.sweep.pools import slurm_engine
    slurm_engine.LOOK, slurm_engine.BEAT, slurm_engine.SILENT = 0.3, 0.5, 5.0
    more = {"hours": 0.2, "partition": "gpu"}
outcome = execute(Grid.from_dict(json.loads(grid)), path, engine=engine, workers=2, max_stacked=4, **more)
print(outcome.summary())
sys.exit(130 if outcome.interrupted else 0)
"""


def grid(seeds=8, pause=0.005):
    return Grid(axes={"pause": [pause], "kind": KINDS}, seeds=seeds, runner="tests.sweep.pretend")


def trained_grid(seeds=10):
    """Runs that really train: the bits of each depend on which others are stacked with it."""
    setting = {"model": "mlp", "dataset": "digits", "width": 0.25, "batch_size": 32}
    axes = {"n_data": [100, 200, 400], "epochs": [4, 8]}
    return Grid(setting, axes=axes, seeds=seeds, runner="tests.sweep.short")


def start_driver(path, engine="local", address="", wanted=None):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    text = json.dumps((wanted or grid()).to_dict())
    command = [sys.executable, "-c", DRIVER, str(path), engine, address, text]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip


def workers_of(driver, engine):
    """Processes that do tasks: a local driver's children, a Ray cluster's, or those of jobs of Slurm."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as stat, open(f"/proc/{entry}/cmdline") as command:
                parent, words = int(stat.read().rsplit(")", 1)[1].split()[1]), command.read()
        except (OSError, ValueError):
            continue
        if engine == "ray":
            ours = words.startswith("ray::execute_task")
        else:
            ours = "scalinglab.sweep.pools.worker" in words
            ours = ours and (parent == driver if engine == "local" else _in_a_job(entry))
        if ours:
            found.append(int(entry))
    return found


def _in_a_job(process):
    """Whether a process belongs to a job of the Slurm that is meant here."""
    with suppress(OSError), open(f"/proc/{process}/environ") as file:
        words = file.read().split("\0")
        return "SLURM_JOB_NAME=scalinglab" in words and f"SLURM_CONF={os.environ['SLURM_CONF']}" in words
    return False


# what is killed in turn, as far as an engine has it; a control store (gcs) takes its whole cluster with it
KILLS = [
    "worker", "worker", "driver", "node", "worker", "raylet", "worker",
    "driver", "node", "worker", "gcs", "worker", "driver", "raylet",
    "job", "preempted", "worker", "slurmd",
]  # fmt: skip


@dataclass
class Kills:
    """What was killed, by kind, how many kills left a run unfinished, and how often the sweep was started."""

    kinds: Counter = field(default_factory=Counter)
    torn: int = 0
    started: int = 0

    @property
    def total(self):
        return self.kinds.total()


def inject(
    path, engine, kills, wanted=None, address="", lose=None, killed=None, until=None, keep=None, turns=KILLS
):
    """Kill what the turn is on (`KILLS`) until `kills` are done and the sweep is over.

    Three in four strike while runs are being written, the others whenever they come.

    Args:
        lose: functions that take away a node, a raylet or the control store of a cluster, by their names.
        killed: what was killed before, to go on with.
        turns: what is killed in turn, as far as the engine has it.
        keep: is called with what was killed after every kill.
        until: of `time.monotonic`; from then on the sweep is interrupted and left for the next call.
    """
    killed = killed or Kills()
    chance = random.Random(killed.total)
    wanted, lose = wanted or grid(), lose or {}
    turns = [kind for kind in turns if kind in ("worker", "driver", *lose)]
    while killed.started < 20 * kills:
        killed.started += 1
        process = start_driver(path, engine, address, wanted)
        while process.poll() is None and killed.total < kills and not _over(until):
            if chance.random() < 0.75:
                _wait_for_runs(process, path, until)
            time.sleep(chance.uniform(0.0, 0.1))
            turn = turns[killed.total % len(turns)]
            if turn == "driver":
                process.kill()
            elif turn in lose:
                if not running(path):
                    continue
                lose[turn]()
            else:
                victims = workers_of(process.pid, engine)
                if not (victims and kill(chance.choice(victims))):
                    continue
                time.sleep(0.01)
                killed.torn += bool(Store(path).unfinished())
            killed.kinds[turn] += 1
            if keep is not None:
                keep(killed)
            if turn == "driver":
                break
        if _over(until) and process.poll() is None:
            process.send_signal(signal.SIGINT)  # ends after the tasks that run
        output = process.communicate(timeout=300)[0]
        cancelled = "all jobs of the sweep were cancelled" in output  # two jobs, and each kill takes one
        unheard = process.returncode == -signal.SIGINT or "KeyboardInterrupt" in output
        early = _over(until) and unheard  # interrupted before it listened
        if process.returncode not in (0, 130, -signal.SIGKILL) and not cancelled and not early:
            raise AssertionError(output)
        if _over(until):
            return killed
        if running(path):  # jobs of a driver that was killed end by themselves
            time.sleep(0.5)
        elif process.returncode == 0:
            if killed.total >= kills:
                return killed
            names = list(Store(path).records())  # through too early: give it work again
            for name in chance.sample(names, 2 * len(names) // 3):
                with suppress(RunBusy):
                    Store(path).discard(name)
    raise AssertionError("the sweep did not come to its end")


def slurm_losses(folder):
    """Functions that take something of the Slurm away that `tools/slurm_here.sh` started in a folder."""
    configuration = {**os.environ, "SLURM_CONF": f"{folder}/slurm.conf"}

    def ask(*words):
        out = subprocess.run(words, env=configuration, capture_output=True, text=True, timeout=60, check=True)
        return out.stdout.split()

    def start_now():
        """Slurm keeps back for two minutes what it has queued again."""
        for job in ask("squeue", "-hr", "--name=scalinglab", "--states=pending", "-o%i"):
            ask("scontrol", "update", f"JobId={job}", "StartTime=now")

    def lose_job():
        jobs = ask("squeue", "-hr", "--name=scalinglab", "--states=running", "-o%i")
        ask("scancel", *jobs[:1])

    def preempt():
        ask("sbatch", "--wait", "--partition=urgent", "--exclusive", "--output=/dev/null", "--wrap=sleep 1")
        start_now()

    def lose_slurmd():
        with open(f"{folder}/slurmd.pid") as file:
            kill(int(file.read()))
        wait_until(lambda: "down" in ask("sinfo", "-h", "-o%T")[0])  # jobs are queued again
        ask("slurmd")
        wait_until(lambda: "down" not in ask("sinfo", "-h", "-o%T")[0])
        start_now()

    return {"job": lose_job, "preempted": preempt, "slurmd": lose_slurmd}


def _over(until):
    return until is not None and time.monotonic() > until


def _wait_for_runs(driver, path, until=None, seconds=300):
    """Wait until a run is being written or the driver is over; what it does instead is in the error."""
    try:
        wait_until(lambda: driver.poll() is not None or running(path) or _over(until), seconds)
    except AssertionError:
        driver.send_signal(signal.SIGUSR1)
        time.sleep(2)
        driver.kill()
        raise AssertionError(f"no run is written:\n{driver.communicate(timeout=60)[0]}") from None


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.01)


def running(path):
    return {run: r for run, r in Store(path).records().items() if r.status == "running"}


def same_bits(store, other):
    """How many runs of two stores have the same bits in all they measured, and how many there are."""
    mine, others = (dict(list(s.curves().frame.groupby("run"))) for s in (store, other))
    measured = store.curves().measurement_columns
    ordered = (
        (mine[run].sort_values("step")[measured], others[run].sort_values("step")[measured])
        for run in set(mine) & set(others)
    )
    same = sum(np.array_equal(a.to_numpy(), b.to_numpy()) for a, b in ordered)
    return same, len(set(mine) | set(others))


def check(store, wanted):
    """The store holds exactly the runs of the grid, each once, with exactly its rows."""
    names = {run_name(pretend.identity(setting)) for setting in wanted.settings()}
    records = store.records()
    assert set(records) == names
    frame = store.curves(failed=True).frame
    assert not frame.duplicated(["run", "step"]).any()
    for name, record in records.items():
        assert record.status in ("done", "diverged"), record
        expected = [pretend.loss(record.setting, step) for step in range(pretend.STEPS)]
        assert frame[frame["run"] == name]["test_loss"].tolist() == expected
    assert store.problems == {}
