"""What the pool on Ray asks of Ray, and what it makes of the answers: without a cluster, in milliseconds.

`test_pools.py` and `test_engines.py` run the same pool on Ray itself.
"""

import encodings.idna  # noqa: F401  a test empties sys.path, and sockets load it late
import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.store import StoreError
from scalinglab.sweep.pools import preflight, ray_engine
from scalinglab.sweep.pools.ray_engine import RayPool, added_paths


class RayError(Exception):
    """The base class of Ray's own errors."""


class NodeDied(RayError):
    pass


@dataclass(eq=False)
class Call:
    """A task as it was handed over: the function, its arguments, and what it needs."""

    function: Callable
    args: tuple
    needs: dict


@dataclass
class PretendRay:
    """What the pool uses of Ray, in this process: a task is executed when its result is fetched."""

    machines: list = field(default_factory=list)
    running: bool = True
    late: list = field(default_factory=list)  # nodes that do not answer in time
    begun: list = field(default_factory=list)  # options of `init`
    calls: list = field(default_factory=list)
    cancelled: list = field(default_factory=list)
    timeouts: list = field(default_factory=list)
    gcs: str = "127.0.0.1:1"  # nothing listens
    session: str | None = "first"  # of the control store
    exceptions = SimpleNamespace(RayError=RayError)

    def get_runtime_context(self):
        return SimpleNamespace(gcs_address=self.gcs)

    def is_initialized(self):
        return self.running

    def init(self, **options):
        self.begun.append(options)
        self.running = True

    def shutdown(self):
        self.running = False

    def nodes(self):
        return self.machines

    def remote(self, **needs):
        def decorate(function, more=None):
            asked = {**needs, **(more or {})}

            def submit(*args):
                self.calls.append(Call(function, args, asked))
                return self.calls[-1]

            return SimpleNamespace(remote=submit, options=lambda **other: decorate(function, other))

        return decorate

    def wait(self, references, num_returns, timeout):
        self.timeouts.append(timeout)
        in_time = [call for call in references if call.args[-1] not in self.late]
        ready = in_time[:num_returns]
        return ready, [call for call in references if call not in ready]

    def get(self, call):
        assert call not in self.cancelled, "what was cancelled has no result"
        return call.function(*call.args)

    def cancel(self, call, force):
        assert force, "a task that trains is not interrupted otherwise"
        self.cancelled.append(call)


def machine(cpus, gpus=0, alive=True, name="n"):
    resources = {"CPU": cpus, "GPU": gpus} if gpus else {"CPU": cpus}
    return {"Alive": alive, "Resources": resources, "NodeID": name, "NodeManagerHostname": f"host-{name}"}


@pytest.fixture
def ray(monkeypatch):
    pretend = PretendRay([machine(4)])
    strategies = ModuleType("ray.util.scheduling_strategies")
    strategies.NodeAffinitySchedulingStrategy = lambda node_id, soft: (node_id, soft)
    store = SimpleNamespace(internal_kv_get=lambda *_: pretend.session)
    connections = SimpleNamespace(GcsClient=lambda address: store)
    for name, module in {
        "ray": pretend, "ray.util": ModuleType("ray.util"), strategies.__name__: strategies,
        "ray._raylet": connections,
    }.items():  # fmt: skip
        monkeypatch.setitem(sys.modules, name, module)
    return pretend


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_pool_starts_ray_with_the_processors_of_its_workers_and_stops_it(ray, monkeypatch):
    for name in ("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "RAY_USAGE_STATS_ENABLED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", ["", "/own/code", f"{sys.prefix}/lib", f"{sys.base_prefix}/lib"])
    ray.running = False
    pool = RayPool(None, 3, cpus=1.5)
    (options,) = ray.begun
    assert options == {
        "address": "local", "num_cpus": 5, "log_to_driver": False, "include_dashboard": False,
        "configure_logging": False, "runtime_env": {"env_vars": {"PYTHONPATH": "/own/code"}},
    }  # fmt: skip
    assert os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] == "0", "a task without GPUs hides none"
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    pool.close()
    assert not ray.running
    RayPool(None, None)
    assert ray.begun[1]["num_cpus"] is None  # all of this machine


def test_workers_get_the_folders_that_no_installation_brings():
    paths = ["", "/opt/env", "/opt/env/lib/site-packages", "/opt/env-source", "/usr/lib/python3", "/home/me"]
    assert added_paths(paths, ("/opt/env", "/usr")) == ["/opt/env-source", "/home/me"]


def test_a_pool_joins_ray_where_it_runs_and_leaves_it_running(ray):
    pool = RayPool(None, 2)
    pool.kill()
    assert ray.begun == []
    assert ray.running


def test_a_cluster_at_an_address_keeps_its_own_processors(ray, listening):
    ray.running = False
    pool = RayPool(listening, 3)
    assert (ray.begun[0]["address"], ray.begun[0]["num_cpus"]) == (listening, None)
    pool.close()
    assert not ray.running


def test_slots_are_the_tasks_that_fit_on_nodes_that_live(ray):
    ray.machines = [machine(4, gpus=1), machine(5), machine(9, gpus=2, alive=False), machine(1, gpus=1)]
    assert RayPool(None, None).slots == 10
    assert RayPool(None, None, cpus=2).slots == 4
    assert RayPool(None, None, cpus=1, gpus=0.5).slots == 3
    assert RayPool(None, None, cpus=0).slots == 3  # one a node where tasks need nothing
    assert RayPool(None, 7).slots == 7
    ray.machines.append({**machine(0), "Resources": {"GPU": 1}})  # a node without processors takes none
    assert RayPool(None, None, cpus=1, gpus=0.5).slots == 3
    ray.machines = [machine(1)]
    with pytest.warns(UserWarning, match="2 CPUs and 0 GPUs.*: 1 CPUs, 0 GPUs"):
        assert RayPool(None, None, cpus=2).slots == 1


@pytest.mark.parametrize(("cpus", "gpus"), [(-1, 0), (1, -0.5), (1, 1.5)])
def test_impossible_needs_are_refused(ray, cpus, gpus):
    with pytest.raises(BadInput, match=f"cpus={cpus:g}, gpus={gpus:g}: neither may be negative"):
        RayPool(None, None, cpus=cpus, gpus=gpus)


def test_a_task_that_never_fits_is_refused_on_one_machine_and_waits_on_a_cluster(ray):
    ray.running = False
    with pytest.raises(BadInput, match="8 CPUs"):
        RayPool(None, None, cpus=8)
    assert not ray.running  # what was started for it is stopped
    ray.running, ray.machines = True, [machine(8, alive=False), machine(7)]
    with pytest.warns(UserWarning, match=": 7 CPUs, 0 GPUs"):
        RayPool(None, None, cpus=8)
    ray.machines = [machine(8)]
    RayPool(None, None, cpus=8)  # just fits, and nothing is said


@pytest.mark.parametrize(
    ("gpus", "device", "share"), [(0, None, 0), (0.25, "cuda", 0.25), (1, "cuda", None), (2, "cuda", None)]
)
def test_a_task_is_sent_with_its_device_and_its_share_of_the_gpu(ray, gpus, device, share):
    ray.machines = [machine(4, gpus=2)]
    pool = RayPool(None, None, cpus=1, gpus=gpus)
    pool.submit({"task": 1})
    pool.submit({"task": 2, "device": "cpu"})
    first, second = ray.calls
    assert first.needs == {"num_cpus": 1, "num_gpus": gpus, "max_retries": 0}, "the driver counts attempts"
    assert first.args == ({"task": 1, "device": device, "token": None, "share": share},)
    assert second.args[0]["device"] == "cpu"


def test_answers_come_one_at_a_time_and_a_lost_node_answers_too(ray):
    pool = RayPool(None, None)
    assert pool.wait(0.7) == []
    assert ray.timeouts == []  # nothing runs: Ray is not asked

    def execute(task):
        if task["task"] == 2:
            raise NodeDied("the node is gone\nand more")
        if task["task"] == 3:
            raise NodeDied
        return {"ok": True, "of": task["task"]}

    pool.work = ray.remote()(execute)
    for number in (1, 2, 3):
        pool.submit({"task": number})
    assert pool.wait(0.7) == [{"task": 1, "ok": True, "of": 1}]
    assert ray.timeouts == [0.7]
    assert pool.wait(0.7) == [
        {"task": 2, "ok": False, "kind": "died", "message": "NodeDied: the node is gone"}
    ]
    assert pool.wait(0.7) == [{"task": 3, "ok": False, "kind": "died", "message": "NodeDied: NodeDied"}]
    assert pool.wait(0.7) == []


class LocalRayletDiedError(RayError):
    pass


class RayTaskError(RayError):
    pass


def test_an_exception_of_the_task_itself_is_no_loss(ray):
    pool = RayPool(None, None)

    def execute(task):
        raise RayTaskError("ModuleNotFoundError: no module\nmore")

    pool.work = ray.remote()(execute)
    pool.submit({"task": 1})
    (answer,) = pool.wait(0.1)
    assert (answer["kind"], answer["message"]) == ("error", "RayTaskError: ModuleNotFoundError: no module")


def test_a_raylet_that_dies_under_the_driver_loses_all_tasks_once_and_ray_is_started_again(ray):
    ray.running = False
    pool = RayPool(None, 2)

    def execute(task):
        raise LocalRayletDiedError("The task's local raylet died.")

    pool.work = ray.remote()(execute)
    for number in (1, 2, 3):
        pool.submit({"task": number})
    answers = pool.wait(0.1)
    assert [(answer["task"], answer["kind"]) for answer in answers] == [(n, "died") for n in (1, 2, 3)]
    assert pool.wait(0.1) == []
    assert (len(ray.begun), ray.running) == (2, True)
    assert ray.begun[0] == ray.begun[1]
    pool.submit({"task": 4})
    assert ray.calls[-1].function is ray_engine.execute_task


def test_a_control_store_that_no_longer_answers_loses_all_tasks_and_ray_is_started_again(ray, clock):
    ray.running = False
    with socket.create_server(("127.0.0.1", 0)) as server:
        ray.gcs = f"127.0.0.1:{server.getsockname()[1]}"
        pool = RayPool(None, None)
        assert pool.slots == 4
        ray.late = [{"task": 1, "device": None, "token": None, "share": 0}]
        pool.submit({"task": 1})
        assert pool.wait(0.1) == []
    ray.nodes = None  # a call to the control store would hang
    assert pool.slots == 4
    clock.now += ray_engine.GONE - 1
    assert pool.wait(0.1) == [], "it may come back"
    clock.now += 2
    assert [(answer["task"], answer["kind"]) for answer in pool.wait(0.1)] == [(1, "died")]
    assert len(ray.begun) == 2


def test_a_control_store_that_was_started_anew_at_its_address_does_not_answer_for_old_tasks(ray, clock):
    ray.running = False
    with socket.create_server(("127.0.0.1", 0)) as server:
        ray.gcs = f"127.0.0.1:{server.getsockname()[1]}"
        pool = RayPool(None, None)
        ray.late = [{"task": 1, "device": None, "token": None, "share": 0}]
        pool.submit({"task": 1})
        assert pool.wait(0.1) == []
        for ray.session in ("first", None):  # it is still the same, or does not say
            clock.now += ray_engine.ASK + 1
            assert pool.wait(0.1) == []
        ray.session = "second"
        assert pool.wait(0.1) == [], "it is not asked each time"
        clock.now += ray_engine.ASK + 1
        assert [answer["kind"] for answer in pool.wait(0.1)] == ["died"]
    assert len(ray.begun) == 2


def test_ray_that_does_not_come_back_or_belongs_to_others_ends_the_sweep_in_a_sentence(ray, clock):
    with pytest.raises(ScalinglabError, match=r"what was stored is intact: connect again"):
        RayPool(None, None).rejoin()
    ray.running = False
    pool = RayPool(None, None)

    def refuse(**options):
        raise TimeoutError("the node did not start in time.\nmore")

    ray.init = refuse
    with pytest.raises(ScalinglabError, match=r"did not come back .*sweep again when it runs"):
        pool.rejoin()
    assert ray_engine.REJOIN <= sum(clock.slept) <= ray_engine.REJOIN + 5


@pytest.mark.parametrize("error", [RuntimeError, OSError, ValueError, ConnectionError, TimeoutError])
def test_ray_that_cannot_be_started_is_one_sentence(ray, error):
    def refuse(**options):
        raise error("no space for the object store.\nTraceback and more")

    ray.running = False
    ray.init = refuse
    with pytest.raises(ScalinglabError) as told:
        RayPool(None, None)
    assert "(no space for the object store)" in str(told.value)
    assert "\n" not in str(told.value)


def test_what_runs_is_cancelled_once_by_a_kill(ray):
    pool = RayPool(None, None)
    pool.submit({"task": 1})
    pool.submit({"task": 2})
    pool.kill()
    pool.kill()
    assert [call.args[0]["task"] for call in ray.cancelled] == [1, 2]
    assert pool.wait(1.0) == []


def test_every_node_that_can_take_a_task_is_asked_for_the_folder(ray, tmp_path):
    ray.machines = [machine(4, name="a"), machine(1, name="b"), machine(4, name="c", alive=False)]
    pool = RayPool(None, None, cpus=2)
    pool.preflight(tmp_path)
    (asked,) = ray.calls
    assert asked.needs == {"num_cpus": 0, "max_retries": 1, "scheduling_strategy": ("a", False)}
    assert all(10 <= seconds <= 120 for seconds in ray.timeouts)
    (token,) = (path.name for path in (tmp_path / ".preflight").iterdir() if "-" not in path.name)
    assert (tmp_path / ".preflight" / f"{token}-a").exists()
    pool.submit({"task": 1})
    assert ray.calls[-1].args[0]["token"] == token
    pool.close()
    assert not (tmp_path / ".preflight").exists()


def test_nodes_that_do_not_see_the_folder_are_named_once_each(ray, tmp_path, clock):
    ray.machines = [machine(1, name=name) for name in "abcd"]

    def answer(call):
        node = call.args[-1]
        if node == "c":
            raise NodeDied("went away")
        return {"a": None, "b": "host b does not see it", "d": "host b does not see it"}[node]

    ray.get = answer
    with pytest.raises(StoreError) as told:
        RayPool(None, None).preflight(tmp_path)
    a, b = str(told.value).split("; ")
    assert a == "host b does not see it"
    assert b.startswith(f"what host host-a writes to the folder {tmp_path} does not appear here")


def test_a_node_that_is_late_is_cancelled_and_not_waited_for(ray, tmp_path):
    ray.machines, ray.late = [machine(1, name="a"), machine(1, name="b")], ["b"]
    RayPool(None, None).preflight(tmp_path)
    assert [call.args[-1] for call in ray.cancelled] == ["b"]


def test_without_a_node_for_a_task_none_is_asked(ray, tmp_path):
    ray.machines = [machine(1)]
    with pytest.warns(UserWarning, match="until the cluster grows"):
        RayPool(None, None, cpus=2).preflight(tmp_path)
    assert (ray.calls, ray.timeouts) == ([], [])


# --- connecting ------------------------------------------------------------------------------------


def test_connecting_hands_over_the_options_and_the_log_its_level(listening):
    log = logging.getLogger("ray")
    before, seen = log.level, []
    cluster = SimpleNamespace(init=lambda **options: seen.append((options, log.level)))
    for address in (listening, f"ray://{listening}", "auto"):
        ray_engine.connect(cluster, address, {"address": address})
    assert seen == [({"address": a}, logging.ERROR) for a in (listening, f"ray://{listening}", "auto")]
    assert log.level == before


def test_an_address_where_nothing_listens_is_refused_before_ray_is_asked(listening, monkeypatch):
    tried = []

    def refuse(place, timeout):
        tried.append((place, timeout))
        raise OSError("connection refused")

    monkeypatch.setattr(socket, "create_connection", refuse)
    for address in (listening, "[::1]:6379"):
        with pytest.raises(ScalinglabError, match=r"ray start --head.*connection refused"):
            ray_engine.connect(SimpleNamespace(), address, {})
    assert [place for place, _ in tried] == [("127.0.0.1", int(listening[10:])), ("::1", 6379)]
    assert all(0 < timeout < 15 for _, timeout in tried)


def test_a_cluster_that_does_not_answer_or_answers_with_an_error(listening):
    def failing(error):
        def init():
            raise error

        return SimpleNamespace(init=init)

    with pytest.raises(ScalinglabError, match="token authentication"):
        ray_engine.connect(failing(ConnectionError("no")), listening, {})
    with pytest.raises(ScalinglabError, match=r"\(a plasma store is in the way\)"):
        ray_engine.connect(failing(RuntimeError("a plasma store is in the way.\nmore")), listening, {})
    assert 5 <= ray_engine.CONNECT <= 30, "seconds, not the minutes of Ray itself"
    with pytest.raises(ScalinglabError, match=r"\(no answer in 0\.1 s\)"):
        ray_engine.connect(SimpleNamespace(init=lambda: time.sleep(0.5)), listening, {}, 0.1)


# --- on a node -------------------------------------------------------------------------------------


def test_a_task_is_executed_as_on_one_machine():
    task = {"task": 1, "runner": "tests.sweep.pretend", "settings": [{"size": 3}], "device": None}
    assert ray_engine.execute_task(task)["probe"] == {"seconds": 6.0, "flops": 30.0}


def test_a_node_answers_for_its_own_view_of_the_folder(tmp_path):
    token = preflight.leave_token(tmp_path)
    assert ray_engine.see_folder(str(tmp_path), token, "n") is None
    assert Path(tmp_path, ".preflight", f"{token}-n").exists()
    assert "does not see the folder" in str(ray_engine.see_folder(str(tmp_path / "other"), token, "n"))
