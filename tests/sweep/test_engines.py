"""The contract of an engine. A later engine joins by being added to ENGINES; it must pass all of this."""

import errno
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from scalinglab.curves import run_name
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.store import Store, StoreError, StoreWarning
from scalinglab.support.work import Request
from scalinglab.sweep import Grid, SweepWarning, execute, make_plan, run
from scalinglab.sweep.driver import Driver, grids_in
from scalinglab.sweep.pools import preflight, worker
from scalinglab.sweep.pools.local_engine import LocalPool
from tests.store.test_formats import a_new_field, rewritten
from tests.sweep import faults, pretend
from tests.sweep.faults import check, inject, start_driver, wait_until
from tests.sweep.here import HerePool

# a cluster of three nodes takes 20 s of CPU to start, once a process of the tests: for the nightly ones
# test_pools.py has Ray on this machine, its contract and a sweep; `make slurm` has a real Slurm
OTHERS = [pytest.param("ray", marks=pytest.mark.nightly), pytest.param("slurm", marks=pytest.mark.slow)]
ENGINES = [pytest.param("local", marks=pytest.mark.slow), *OTHERS]
RUNNER = "tests.sweep.pretend"


@pytest.fixture(scope="module")
def cluster():
    """A Ray cluster of three nodes on this machine: a head that computes nothing, and two that do."""
    ray = pytest.importorskip("ray", reason="pip install 'scalinglab[ray]' to test the engine ray")
    from ray.cluster_utils import Cluster

    paths = os.pathsep.join(path for path in sys.path if path)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("PYTHONPATH", paths)
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        often = {"health_check_period_ms": 500}  # a node that died is noticed in seconds, 15 by default
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": often}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
        yield cluster, nodes
        every = {*cluster.list_all_nodes(), *nodes}
        kinds = [kind for node in every for kind in node.all_processes.values()]
        started = [one.process for kind in kinds for one in kind]
        ray.shutdown()
        cluster.shutdown()
        for process in started:  # Ray kills some without a wait, and what is still running is a warning later
            process.wait(60)


@pytest.fixture(params=ENGINES)
def engine(request):
    if request.param == "ray":
        request.getfixturevalue("cluster")
    if request.param == "slurm":
        request.getfixturevalue("slurm")
    if request.param == "here":
        request.getfixturevalue("here")
        return "local"
    return request.param


# where no process has to be killed: tasks are done in this one
driven = pytest.mark.parametrize("engine", ["here", *OTHERS], indirect=True)


def grid(seeds=3, **axes):
    return Grid(axes=axes, seeds=seeds, runner=RUNNER, experiment="contract")


def test_a_sweep_stores_exactly_the_runs_of_its_grid_and_a_second_one_does_nothing(engine, tmp_path):
    wanted = grid(kind=["a", "b"], size=[1, 2, 3])
    curves = run(wanted, tmp_path, engine=engine, workers=2)
    check(Store(tmp_path), wanted)
    assert len(curves.runs) == 18
    assert len(list((tmp_path / "sealed").glob("*.parquet"))) == 18, "fewer than 200 runs are not compacted"
    assert set(curves["experiment"]) == {"contract"}
    again_ = execute(wanted, tmp_path, engine=engine, workers=2)
    assert again_.plan.tasks == ()
    assert again_.count("done") == 18


@driven
def test_a_run_that_raises_is_recorded_and_the_others_finish(engine, tmp_path):
    wanted = grid(size=[1, 2], trouble=["raise", "diverge", "none"])
    with pytest.warns(SweepWarning, match=r"18 runs: .*6 failed(.|\n)*this network cannot be trained"):
        curves = run(wanted, tmp_path, engine=engine, workers=2)
    store = Store(tmp_path)
    assert len(curves.runs) == 12
    for record in store.records().values():
        expected = {"raise": "failed", "diverge": "diverged", "none": "done"}[record.setting["trouble"]]
        assert record.status == expected
    assert all("RuntimeError: this network" in record.error for record in store.failed().values())
    started = {name: record.started for name, record in store.failed().items()}
    execute(wanted, tmp_path, engine=engine, workers=2)
    assert {name: record.started for name, record in store.failed().items()} == started  # left alone
    retried = execute(wanted, tmp_path, engine=engine, workers=2, retry_failed=True)
    assert retried.count("failed") == 6
    assert all(record.started > started[name] for name, record in Store(tmp_path).failed().items())


@driven
def test_a_group_without_memory_is_split_until_it_fits(engine, tmp_path):
    wanted = grid(seeds=4, trouble=["memory"])
    outcome = execute(wanted, tmp_path, engine=engine, workers=1, max_stacked=4)
    assert len(outcome.plan.tasks) == 1
    assert outcome.count("done") == 4


def test_a_run_whose_worker_is_killed_every_time_is_left_unfinished_and_not_failed(
    engine, tmp_path, monkeypatch
):
    monkeypatch.setattr("scalinglab.sweep.driver.LOSSES", 3)
    wanted = Grid(axes={"trouble": ["kill", "once", "none"]}, runner=RUNNER)
    outcome = execute(wanted, tmp_path, engine=engine, workers=2, attempts=1)
    records = Store(tmp_path).records()
    assert {r.setting["trouble"]: r.status for r in records.values()} == {
        "kill": "unfinished", "once": "done", "none": "done",
    }  # fmt: skip
    assert outcome.failed == {}
    (left,) = outcome.left
    assert records[left].setting["trouble"] == "kill"
    assert len(outcome.deaths) >= 4  # that of "once" too, which is done in the end
    assert {"workers_died", "runs_left"} <= {remark.code for remark in outcome.remarks}


@pytest.mark.slow
def test_a_run_that_crashes_its_worker_by_itself_is_tried_again_and_at_last_recorded(tmp_path):
    wanted = Grid(axes={"trouble": ["crash", "none"]}, runner=RUNNER)
    outcome = execute(wanted, tmp_path, workers=2, attempts=2)
    assert (outcome.count("done"), outcome.left) == (1, ())
    (record,) = outcome.failed.values()
    assert record.setting["trouble"] == "crash"
    assert "killed by signal 6" in record.error
    assert len(outcome.deaths) == 2


@driven
def test_a_full_disk_stops_the_sweep_and_what_was_stored_is_intact(engine, tmp_path):
    done = grid(seeds=2)
    run(done, tmp_path, engine=engine, workers=1)
    (tmp_path / "full").touch()
    with pytest.raises(StoreError, match="the sweep stops: cannot write"):
        run(grid(seeds=4), tmp_path, engine=engine, workers=1)
    assert len(Store(tmp_path).curves(live=False).runs) == 2
    assert Store(tmp_path).problems == {}
    (tmp_path / "full").unlink()
    run(grid(seeds=4), tmp_path, engine=engine, workers=1)
    check(Store(tmp_path), grid(seeds=4))


@driven
def test_a_damaged_run_is_done_again(engine, tmp_path):
    wanted = grid(seeds=3)
    run(wanted, tmp_path, engine=engine, workers=1)
    path = next((tmp_path / "sealed").glob("*.parquet"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.warns(SweepWarning, match=rf"{path.name} is damaged.*moved to .*damaged/{path.name}"):
        outcome = execute(wanted, tmp_path, engine=engine, workers=1)
    assert len(outcome.plan.missing) == 1
    assert f"moved to {tmp_path / 'damaged' / path.name}" in outcome.summary()
    assert (tmp_path / "damaged" / path.name).stat().st_size == 100
    check(Store(tmp_path), wanted)


@pytest.mark.parametrize(
    ("why", "packed"),
    [("newer", False), ("newer", True), ("inaccessible", False), ("too many files", True)],
)
def test_intact_results_that_cannot_be_read_stop_the_sweep_and_stay(here, tmp_path, monkeypatch, why, packed):
    wanted = grid(seeds=3)
    run(wanted, tmp_path, workers=1)
    if packed:
        Store(tmp_path).compact()
    path = next((tmp_path / "sealed").glob("*.parquet"))
    if why == "newer":
        rewritten(path, a_new_field)
    else:
        code = {"inaccessible": errno.EACCES, "too many files": errno.EMFILE}[why]
        read = Path.read_bytes

        def refuse(self):
            if self.name == path.name:
                raise OSError(code, os.strerror(code), str(self))
            return read(self)

        monkeypatch.setattr(Path, "read_bytes", refuse)
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "sealed").iterdir()}
    message = {
        "newer": "upgrade",
        "inaccessible": "Permission denied",
        "too many files": "Too many open files",
    }
    with pytest.raises(StoreError, match=rf"{path.name}.*{message[why]}"):
        execute(wanted, tmp_path, workers=1)
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "sealed").iterdir()} == before
    assert not (tmp_path / "damaged").exists()


@driven
def test_the_store_keeps_the_grid_and_the_sweep_can_be_done_again_from_it(engine, tmp_path):
    wanted = grid(size=[1, 2])
    run(wanted, tmp_path / "first", engine=engine, workers=1)
    (kept,) = grids_in(tmp_path / "first")
    assert kept == wanted or kept.settings() == wanted.settings()
    run(kept, tmp_path / "second", engine=engine, workers=1)
    first, second = (Store(tmp_path / name).curves().frame for name in ("first", "second"))
    key = ["run", "step"]
    assert first.sort_values(key)["test_loss"].tolist() == second.sort_values(key)["test_loss"].tolist()
    (damaged,) = (tmp_path / "second" / "grids").glob("*.json")
    damaged.write_text(damaged.read_text()[:40])
    with pytest.raises(ScalinglabError, match=f"{damaged.name} is damaged"):
        grids_in(tmp_path / "second")
    Store(tmp_path / "third").start({"a": 1}).close()
    with pytest.raises(BadInput, match="keeps no grid"):
        grids_in(tmp_path / "third")


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_a_node_killed_in_mid_sweep_loses_no_run_and_stores_none_twice(cluster, tmp_path):
    cluster, nodes = cluster
    wanted = grid(seeds=6, kind=["a", "b", "c"], pause=[0.05])
    outcomes = []
    thread = threading.Thread(
        target=lambda: outcomes.append(execute(wanted, tmp_path, engine="ray", max_stacked=3))
    )
    thread.start()
    wait_until(lambda: Store(tmp_path).curves().frame.size and count(tmp_path, "done") >= 3)
    assert count(tmp_path, "done") < 18
    cluster.remove_node(nodes.pop(), allow_graceful=False)
    thread.join(timeout=120)
    assert outcomes
    assert outcomes[0].count("done") == 18
    check(Store(tmp_path), wanted)
    nodes.append(cluster.add_node(num_cpus=1))


@pytest.mark.nightly
class TestGPUsOfACluster:
    """Two GPUs are declared on one node: what each task is shown, and how many are shown it at a time."""

    @pytest.fixture(scope="class")
    @classmethod
    def node(cls, cluster):
        cluster, _ = cluster
        node = cluster.add_node(num_cpus=4, num_gpus=2)
        yield node
        cluster.remove_node(node, allow_graceful=False)
        wait_for_nodes(3)

    @pytest.mark.parametrize(("gpus", "slots", "beside"), [(0.5, 4, 2), (1, 2, 1)])
    def test_tasks_share_gpus_or_have_their_own(self, node, tmp_path, gpus, slots, beside):
        from scalinglab.sweep.pools.ray_engine import RayPool

        wait_until(lambda: RayPool(None, None, cpus=1, gpus=gpus).slots == slots)
        wanted = Grid(axes={"pause": [0.1]}, seeds=4, runner="tests.sweep.shown", experiment="gpus")
        outcome = execute(wanted, tmp_path, engine="ray", cpus=1, gpus=gpus, max_stacked=1)
        assert outcome.count("done") == 4
        seen = [json.loads(path.read_text()) for path in tmp_path.glob("shown-*.json")]
        assert {s["device"] for s in seen} == {"cuda"}
        assert {s["shown"] for s in seen} == {"0", "1"}  # both are used
        for one in seen:
            same = [s for s in seen if s["shown"] == one["shown"]]
            assert sum(s["start"] <= one["start"] < s["stop"] for s in same) <= beside
        most = max(sum(s["start"] <= one["start"] < s["stop"] for s in seen) for one in seen)
        assert most <= slots


@pytest.mark.parametrize(
    ("gpus", "node", "fit"),
    [
        (0.5, {"CPU": 9, "GPU": 2}, 4), (0.7, {"CPU": 9, "GPU": 4}, 4), (0.3, {"CPU": 9, "GPU": 1}, 3),
        (1 / 3, {"CPU": 9, "GPU": 1}, 3), (1, {"CPU": 9, "GPU": 4}, 4), (2, {"CPU": 9, "GPU": 5}, 2),
        (0.5, {"CPU": 3, "GPU": 8}, 3), (1, {"CPU": 9}, 0), (0, {"CPU": 3}, 3),
    ],
)  # fmt: skip
def test_tasks_that_fit_on_a_node_are_counted_by_gpu(gpus, node, fit):
    """Parts of different GPUs make no task: 0.7 of each of four GPUs is four tasks, not five."""
    from scalinglab.sweep.pools.ray_engine import tasks_on

    assert tasks_on(node, 1, gpus) == fit


def test_a_part_of_several_gpus_is_refused():
    from scalinglab.sweep.pools.ray_engine import RayPool

    with pytest.raises(BadInput, match=r"gpus=1\.5"):
        RayPool(None, None, gpus=1.5)


@pytest.mark.nightly
def test_a_cluster_without_room_for_a_task_says_so(cluster):
    from scalinglab.sweep.pools.ray_engine import RayPool

    with pytest.warns(UserWarning, match="1 CPUs and 2 GPUs"):
        RayPool(None, None, cpus=1, gpus=2)
    with pytest.warns(UserWarning, match="2 CPUs and 0 GPUs"):  # there are two, on different nodes
        RayPool(None, None, cpus=2)


@pytest.mark.nightly
def test_a_node_that_does_not_share_the_folder_stops_the_sweep_and_is_named(cluster, tmp_path):
    mine, _ = cluster
    shared = tmp_path / "shared"
    shared.mkdir()
    apart = f"mount -t tmpfs tmpfs {shared} && exec {Path(sys.executable).parent}/ray start --block "
    apart += f"--address={mine.address} --num-cpus=1"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("a mount of its own needs root")
    with (tmp_path / "node.log").open("w") as log:
        process = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", apart], stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        wait_for_nodes(4, seconds=200)  # the command of Ray takes a minute where others compute
        with pytest.raises(
            StoreError, match=rf"host {platform.node()} does not see the folder {shared}/runs"
        ):
            execute(grid(seeds=2), shared / "runs", engine="ray")
        assert Store(shared / "runs").records() == {}
        assert not (shared / "runs" / ".preflight").exists()
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        wait_for_nodes(3)


@pytest.mark.nightly
def test_a_node_that_does_not_answer_in_time_is_not_waited_for(cluster, tmp_path, monkeypatch):
    """Its tasks look for the token themselves."""
    from scalinglab.sweep.pools import ray_engine

    def never(store, token, node):
        time.sleep(600)

    monkeypatch.setattr(ray_engine, "PREFLIGHT", 0.5)
    monkeypatch.setattr(ray_engine, "see_folder", never)
    start = time.monotonic()
    assert execute(grid(seeds=2), tmp_path / "runs", engine="ray").count("done") == 2
    assert time.monotonic() - start < 300
    assert not (tmp_path / "runs" / ".preflight").exists()


@pytest.mark.nightly
def test_an_address_without_a_cluster_gets_an_answer_in_time(tmp_path):
    pytest.importorskip("ray")
    with socket.create_server(("127.0.0.1", 0)) as other:  # something listens that is no cluster
        addresses = ["127.0.0.1:1", f"127.0.0.1:{other.getsockname()[1]}"]
        code = (
            "import sys\nfrom scalinglab.sweep.pools import ray_engine\nray_engine.CONNECT = 3.0\n"
            "for address in sys.argv[1:]:\n"
            "    try: ray_engine.RayPool(address, 1)\n"
            "    except Exception as error: print(error, flush=True)\n"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-c", code, *addresses]
        out = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=90)
    first, second = out.stdout.splitlines()
    assert f"cannot connect to the Ray cluster at '{addresses[0]}'" in first
    assert f"cannot connect to the Ray cluster at '{addresses[1]}'" in second
    assert "no answer in" not in second or "no answer in 3 s" in second


def test_a_worker_that_does_not_find_the_token_does_nothing(tmp_path, clock):
    task = {"task": 1, "runner": RUNNER, "store": str(tmp_path / "here"), "experiment": None, "device": None}
    task |= {"settings": [pretend.identity({})], "group": [pretend.identity({})]}
    token = preflight.leave_token(tmp_path / "there")
    answer = worker.execute({**task, "token": token})
    assert (answer["ok"], answer["kind"]) == (False, "store")
    assert "does not see the folder" in answer["message"]
    assert not (tmp_path / "here").exists()
    here = preflight.leave_token(tmp_path / "here")
    assert worker.execute({**task, "token": here})["ok"] is True
    assert preflight.answer_token(str(tmp_path / "here"), here, "node") is None
    assert preflight.check_answer(tmp_path / "here", here, "node", "host") is None
    told = preflight.check_answer(tmp_path / "here", here, "other", "host")
    assert told is not None
    assert "what host host writes" in told
    preflight.remove_token(tmp_path / "here", here)
    assert not (tmp_path / "here" / ".preflight").exists()


# --- groups ----------------------------------------------------------------------------------------


def test_a_sweep_that_goes_on_keeps_the_groups_of_its_first_start(here, tmp_path):
    wanted = grid(seeds=5, kind=["a", "b"])
    first = execute(wanted, tmp_path, workers=2, max_stacked=2).plan
    groups = {frozenset(task.runs) for task in first.tasks}
    store = Store(tmp_path)
    left = [first.tasks[0].runs[0], *first.tasks[3].runs]
    for name in left:
        store.discard(name)
    plan = make_plan(wanted, store, workers=7)  # whatever the number of workers now
    assert sorted(plan.missing) == sorted(left)
    assert {frozenset(map(run_name, task.whole)) for task in plan.tasks} <= groups
    assert sorted(len(task.whole) for task in plan.tasks) == sorted(len(first.tasks[k].runs) for k in (0, 3))
    smaller = make_plan(wanted, store, workers=2, max_stacked=1)  # asked for
    assert all(len(task.whole) == 1 for task in smaller.tasks)
    execute(wanted, tmp_path, workers=2)
    check(store, wanted)
    (kept,) = (tmp_path / "grids").glob("*.groups")
    kept.write_bytes(kept.read_bytes()[:-3])
    store.discard(left[0])
    with pytest.warns(StoreWarning, match="grouped anew"):
        assert make_plan(wanted, store, workers=2).missing == left[:1]


def test_a_group_whose_worker_dies_is_submitted_again_as_it_was(tmp_path):
    wanted = grid(seeds=4)
    plan = make_plan(wanted, Store(tmp_path), workers=1)
    (task,) = plan.tasks
    driver = Driver(plan, wanted, Store(tmp_path), LocalPool(1), attempts=3, interrupt=Request())
    with Store(tmp_path).start(task.settings[1]) as done:
        done.append(step=0, test_loss=1.0)
    died = {"ok": False, "kind": "crashed", "message": "gone"}
    for _ in range(2):
        driver.deal(task, died)
        (task,) = driver.waiting
        driver.waiting = []
        assert (len(task.settings), len(task.whole)) == (3, 4)
    driver.deal(task, died)  # the third time: which of them is to blame?
    assert [(len(half.settings), len(half.whole)) for half in driver.waiting] == [(1, 1), (2, 2)]
    half = driver.waiting.pop()
    driver.deal(half, died)
    assert [len(part.whole) for part in driver.waiting] == [1, 1, 1]


def wait_for_nodes(number, seconds=60):
    """Until so many nodes of the cluster are alive, with its head."""
    import ray

    wait_until(lambda: sum(node["Alive"] for node in ray.nodes()) == number, seconds)


def count(path, status):
    return sum(record.status == status for record in Store(path).records().values())


# --- faults ----------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for workers in /proc")
def test_workers_and_drivers_killed_at_random_leave_exactly_the_runs_of_the_grid(tmp_path):
    killed = inject(tmp_path, "local", kills=4)
    assert killed.kinds == {"worker": 3, "driver": 1}
    check(Store(tmp_path), faults.grid())


@pytest.mark.nightly
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for workers in /proc")
def test_trainings_killed_at_random_give_the_bits_of_a_sweep_without_interruption(tmp_path):
    wanted = faults.trained_grid(seeds=2)
    execute(wanted, tmp_path / "whole", workers=2, max_stacked=4)
    killed = inject(tmp_path / "killed", "local", 3, wanted)
    assert killed.kinds == {"worker": 2, "driver": 1}
    assert faults.same_bits(Store(tmp_path / "killed"), Store(tmp_path / "whole")) == (12, 12)


@pytest.mark.slow
def test_the_first_ctrl_c_lets_runs_finish_and_the_next_sweep_continues(tmp_path):
    process = start_driver(tmp_path, wanted=faults.grid(8, 0.05))
    wait_until(lambda: any(r.status == "done" for r in Store(tmp_path).records().values()))
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 130, output
    assert "interrupted: sweep again to continue" in output
    statuses = {record.status for record in Store(tmp_path).records().values()}
    assert statuses == {"done"}  # what ran was finished, nothing new begun
    assert len(Store(tmp_path).records()) < 24
    execute(faults.grid(pause=0.05), tmp_path, workers=2, max_stacked=8)
    check(Store(tmp_path), faults.grid(pause=0.05))


@pytest.mark.nightly
def test_sigterm_lets_workers_save_their_states_and_the_next_sweep_gives_the_same_bits(tmp_path):
    setting = {
        "model": "mlp",
        "dataset": "digits",
        "width": 0.25,
        "batch_size": 32,
        "n_data": 200,
        "measure": [],
    }
    wanted = Grid(setting, axes={"steps": [2000, 3000]}, seeds=2, runner="tests.sweep.short")
    process = start_driver(tmp_path / "left", wanted=wanted)
    wait_until(lambda: any(r.rows > 2 for r in Store(tmp_path / "left").records().values()))
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 130, output
    records = Store(tmp_path / "left").records().values()
    assert "unfinished" in {record.status for record in records}
    assert list((tmp_path / "left" / "state").iterdir())
    outcome = execute(wanted, tmp_path / "left", workers=2, max_stacked=4)
    assert set(outcome.status.values()) == {"done"}
    execute(wanted, tmp_path / "whole", workers=2, max_stacked=4)
    count = len(outcome.status)
    assert faults.same_bits(Store(tmp_path / "left"), Store(tmp_path / "whole")) == (count, count)


@pytest.mark.slow
def test_the_second_ctrl_c_stops_at_once(tmp_path):
    process = start_driver(tmp_path, wanted=faults.grid(2, 5))
    wait_until(lambda: any(r.status == "running" for r in Store(tmp_path).records().values()))
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert time.monotonic() - start < 15  # the runs would have taken 40 s
    assert {r.status for r in Store(tmp_path).records().values()} == {"unfinished"}


@pytest.mark.slow
def test_two_sweeps_at_once_share_the_store(tmp_path):
    wanted = grid(seeds=6, pause=[0.01])
    outcomes = []

    def sweep():
        outcomes.append(execute(wanted, tmp_path, workers=1, max_stacked=1))

    threads = [threading.Thread(target=sweep) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(Store(tmp_path), wanted)
    assert len(outcomes) == 2


@pytest.mark.slow
def test_a_run_that_another_process_writes_keeps_back_none_of_its_group(tmp_path, monkeypatch):
    monkeypatch.setattr("scalinglab.sweep.driver.PATIENCE", 3)
    other = Store(tmp_path).start(pretend.identity({"seed": 1}))
    outcome = execute(grid(seeds=4), tmp_path, workers=1, max_stacked=4)
    assert len(outcome.plan.tasks) == 1
    assert (outcome.count("done"), outcome.count("running")) == (3, 1)
    assert "1 run is being written by another process" in outcome.summary()
    other.close()
    run(grid(seeds=4), tmp_path, workers=1)
    check(Store(tmp_path), grid(seeds=4))


def test_a_sweep_that_ends_while_it_looks_for_the_run_to_blame_calls_no_other_failed(here, tmp_path):
    wanted = grid(seeds=2, trouble=["raise", "none"])  # one task; its first half is the one to blame
    plan = make_plan(wanted, Store(tmp_path), workers=1)
    driver = Driver(plan, wanted, Store(tmp_path), HerePool(), attempts=5, interrupt=Request())

    class Killed(BaseException):
        pass

    def kill(ending):
        if driver.waiting:  # the task failed and was split
            raise Killed

    with pytest.raises(Killed):
        driver.drive(SimpleNamespace(update=kill))
    assert Store(tmp_path).failed() == {}
    outcome = execute(wanted, tmp_path, workers=1)
    assert (outcome.count("done"), outcome.count("failed")) == (2, 2)


def test_a_worker_killed_in_the_middle_of_its_answer_counts_as_dead(monkeypatch):
    monkeypatch.setattr("sys.executable", shutil.which("echo"))  # says half an answer, that is, and ends
    pool = LocalPool(1)
    pool.submit({"task": 7})
    answers = []
    wait_until(lambda: answers.extend(pool.wait(0.1)) or answers)
    assert [(answer["task"], answer["kind"]) for answer in answers] == [(7, "died")]


def test_unknown_engines_and_bad_numbers_are_refused(tmp_path):
    with pytest.raises(BadInput, match=r"'locl'.*'local'"):
        execute(grid(), tmp_path, engine="locl")
    with pytest.raises(BadInput, match="workers=0"):
        execute(grid(), tmp_path, workers=0)
    with pytest.raises(BadInput, match=r"^address.*engine='ray'"):
        execute(grid(), tmp_path, address="auto")


def test_a_worker_that_replaces_a_dead_one_takes_its_device(monkeypatch):
    told, ends = [], []

    def start(command, **how):
        end = threading.Event()
        ends.append(end)

        def lines():  # says nothing until it dies
            end.wait(20)
            yield from ()

        stdin = SimpleNamespace(write=told.append, flush=lambda: None, close=end.set)
        return SimpleNamespace(
            stdin=stdin, stdout=nullcontext(lines()), wait=lambda timeout=None: -9, kill=end.set
        )

    monkeypatch.setattr(subprocess, "Popen", start)
    pool = LocalPool(2, devices=["cuda:0", "cuda:1"])
    for number in (1, 2):
        pool.submit({"task": number})
    ends[0].set()
    assert [answer["task"] for answer in pool.wait(20)] == [1]
    pool.submit({"task": 3})
    pool.kill()
    assert [json.loads(task)["device"] for task in told] == ["cuda:0", "cuda:1", "cuda:0"]
