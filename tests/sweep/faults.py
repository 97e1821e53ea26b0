"""Fault injection: sweeps whose workers and drivers are killed at random moments, until all is done."""

import os
import random
import signal
import subprocess
import sys
import time

from scalinglab.curves import run_name
from scalinglab.store import Store
from scalinglab.sweep import Grid
from tests.sweep import pretend

KINDS = ["a", "b", "c"]
DRIVER = """
import sys, warnings
warnings.simplefilter("ignore")
from tests.sweep.faults import grid
from scalinglab.sweep import execute
path, engine, address, seeds, pause = sys.argv[1:]
outcome = execute(
    grid(int(seeds), float(pause)), path, engine=engine, address=address or None, workers=2, max_stacked=2,
    attempts=100,
)
print(outcome.summary())
sys.exit(130 if outcome.interrupted else 0)
"""


def grid(seeds=8, pause=0.005):
    return Grid(axes={"pause": [pause], "kind": KINDS}, seeds=seeds, runner="tests.sweep.pretend")


def start_driver(path, engine="local", address="", seeds=8, pause=0.005):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", DRIVER, str(path), engine, address, str(seeds), str(pause)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip


def workers_of(driver, engine):
    """Processes that do tasks: a local driver's children, or a Ray cluster's."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as stat, open(f"/proc/{entry}/cmdline") as command:
                parent, words = int(stat.read().rsplit(")", 1)[1].split()[1]), command.read()
        except (OSError, ValueError):
            continue
        local = engine == "local" and parent == driver and "scalinglab.sweep.worker" in words
        if local or (engine == "ray" and words.startswith("ray::_execute")):
            found.append(int(entry))
    return found


def inject(path, engine, kills, seeds=8, pause=0.005, address=""):
    """Kill workers (two in three) and the driver (one in three) until `kills` are done and the sweep is over.

    Three in four strike while runs are being written, the others whenever they come. Returns how many of
    each were killed, how many of the kills left a run unfinished, and how often the sweep was started.
    """
    chance = random.Random(0)
    workers = drivers = torn = 0
    for started in range(1, 20 * kills):
        process = start_driver(path, engine, address, seeds, pause)
        while process.poll() is None and workers + drivers < kills:
            if chance.random() < 0.75:
                wait_until(lambda driver=process: driver.poll() is not None or running(path))
            time.sleep(chance.uniform(0.0, 0.1))
            if workers >= 2 * (drivers + 1):
                process.kill()
                drivers += 1
                break
            victims = workers_of(process.pid, engine)
            if victims and kill(chance.choice(victims)):
                workers += 1
                time.sleep(0.01)
                torn += bool(Store(path).unfinished())
        output = process.communicate(timeout=300)[0]
        if process.returncode not in (0, -signal.SIGKILL):
            raise AssertionError(output)
        if process.returncode == 0:
            if workers + drivers >= kills:
                return workers, drivers, torn, started
            for name in list(Store(path).records())[: seeds * 2]:  # through too early: give it work again
                Store(path).discard(name)
    raise AssertionError("the sweep did not come to its end")


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
