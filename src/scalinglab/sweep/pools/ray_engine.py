"""The engine for many machines: tasks on a Ray cluster.

Ray places each task on a node with the processors and GPUs it asks for. If a worker or node dies,
Ray reports it and the driver resubmits the task, as on one machine; Ray's own retries are off, so
that one rule counts the attempts. If Ray itself dies under the driver (its raylet, or the cluster's control
store, GCS), every task of it is lost, and the pool starts Ray again or joins the cluster again. All nodes
must see the store's folder under the same path, which is tried on every node before anything is trained, and
by every task.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from scalinglab.errors import BadInput, ScalinglabError, require
from scalinglab.store import StoreError
from scalinglab.sweep.pools.pool import DIED, Answer, Pool, Task
from scalinglab.sweep.pools.preflight import check_answer, leave_token, remove_token

PREFLIGHT = 60.0  # seconds in which nodes are asked for the store's folder, all together
CONNECT = 15.0  # seconds within which a cluster must answer
LOOK = 2.0  # seconds that the cluster's control store may take to answer
ASK = 10.0  # seconds between questions whether it still knows the driver
GONE = 30.0  # seconds without it after which the cluster is lost; Ray itself ends the process after 60
REJOIN = 120.0  # seconds in which a cluster that was lost may come back


class RayPool(Pool):
    """Tasks on a Ray cluster.

    Args:
        address: of the cluster's head, `auto` for the one this machine belongs to; None starts Ray here.
        workers: how many tasks at a time; default: as many as fit on the cluster.
        cpus, gpus: what each task needs. With half a GPU two tasks share one, and each may allocate half of
            its memory; with whole GPUs every task has its own. Ray shows a task its GPUs only.
    """

    def __init__(self, address: str | None, workers: int | None, cpus: float = 1, gpus: float = 0) -> None:
        if cpus < 0 or gpus < 0 or (gpus > 1 and gpus != int(gpus)):
            raise BadInput(
                f"cpus={cpus:g}, gpus={gpus:g}: neither may be negative, and a task takes a part of one GPU "
                "(0.5) or whole ones (2)"
            )
        self._ray: Any = require("ray", "ray", "engine='ray'")
        self._running: dict[Any, Task] = {}
        self._token: tuple[Path, str] | None = None
        self._started = not self._ray.is_initialized()
        self._address, self._cpus, self._gpus, self._workers = address, cpus, gpus, workers
        if self._started:
            self._start(CONNECT)
        self._slots, self._watched = 1, True
        self._watched = self._look()  # a client outside of the cluster does not see its control store
        self._check_fits(alone=self._started and address is None)
        self.work = self._ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=0)(execute_task)

    def _start(self, seconds: float) -> None:
        """Start Ray here, or join the cluster at the address in this time; one sentence where that fails."""
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage statistics are sent
        own = added_paths(sys.path, (sys.prefix, sys.base_prefix))
        workers, alone = self._workers, self._address is None
        options = {
            # without an address Ray would join a cluster that it finds on this machine
            "address": self._address or "local", "log_to_driver": False, "include_dashboard": False,
            "num_cpus": ceil(workers * self._cpus) if workers and alone else None,
            "configure_logging": False, "runtime_env": {"env_vars": {"PYTHONPATH": os.pathsep.join(own)}},
        }  # fmt: skip
        if self._address is not None:
            connect(self._ray, self._address, options, seconds)
            return
        try:
            self._ray.init(**options)
        except Exception as error:
            raise ScalinglabError(
                f"Ray could not be started on this machine ({_first_line(error)}); engine='local' needs none"
            ) from error

    def rejoin(self) -> None:
        """Start or join Ray anew, after it died under the driver."""
        if not self._started:
            raise ScalinglabError(
                "Ray, to which this process was connected before the sweep, has died; what was stored is "
                "intact: connect again (ray.shutdown(), ray.init()), and sweep again"
            )
        end = time.monotonic() + REJOIN
        while True:
            with contextlib.suppress(Exception):  # of a cluster that is gone
                self._ray.shutdown()
            try:
                self._start(max(CONNECT, end - time.monotonic()))
                break
            except ScalinglabError as error:
                if time.monotonic() > end:
                    raise ScalinglabError(
                        f"Ray died under the sweep and did not come back in {REJOIN:g} s ({error}); what was "
                        "stored is intact: sweep again when it runs"
                    ) from error
                time.sleep(LOOK)
        self._look()
        self.work = self._ray.remote(num_cpus=self._cpus, num_gpus=self._gpus, max_retries=0)(execute_task)

    def _look(self) -> bool:
        """Note the cluster to which the driver is connected; whether its control store can be watched."""
        self._seen = self._asked = time.monotonic()  # when it was seen, and asked for its nodes
        self._session = in_time(lambda: session_of(self._ray.get_runtime_context().gcs_address), CONNECT)
        return self._is_there()

    def _is_there(self) -> bool:
        """Whether the cluster's control store takes connections; calls to Ray hang where it does not.

        Now and then also whether it is still the same: one that was started anew at its address does not
        know the driver, and would never answer for its tasks. It is asked by a connection of its own: on the
        driver's own the question ends the process.
        """
        now = time.monotonic()
        try:
            address = self._ray.get_runtime_context().gcs_address
            host, _, port = address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), LOOK).close()
        except (OSError, ValueError):
            return False
        if self._session is not None and now - self._asked > ASK:
            found = in_time(lambda: session_of(address), CONNECT)
            if found is not None and found != self._session:
                self._seen = -GONE  # another cluster: nothing to wait for
                return False
            self._asked = now
        self._seen = now
        return True

    def preflight(self, store: Path) -> None:
        """Write and read a token in the store's folder through every node that can take a task.

        Raises:
            StoreError: a host does not see the folder, or what it writes does not appear here.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as OnNode

        token = leave_token(store)
        self._token = (store, token)
        look = self._ray.remote(num_cpus=0, max_retries=1)(see_folder)
        asked = {}
        for node in self._ray.nodes():
            if node["Alive"] and self._fits(node["Resources"]):
                name = node["NodeID"]
                place = OnNode(node_id=name, soft=False)
                asked[name] = look.options(scheduling_strategy=place).remote(str(store), token, name)
        hosts = {node["NodeID"]: node["NodeManagerHostname"] for node in self._ray.nodes()}
        if not asked:
            return
        ready, late = self._ray.wait(list(asked.values()), num_returns=len(asked), timeout=PREFLIGHT)
        for reference in late:  # the node is busy or lost; each task looks for the token again
            self._ray.cancel(reference, force=True)
        problems = []
        for name, reference in asked.items():
            if reference not in ready:
                continue
            try:
                problem = self._ray.get(reference)
            except self._ray.exceptions.RayError:
                continue  # the node went away meanwhile
            problems.append(problem or check_answer(store, token, name, hosts[name]))
        if seen := sorted({problem for problem in problems if problem}):
            raise StoreError("; ".join(seen))

    def _fits(self, resources: Mapping[str, float]) -> bool:
        """Whether a node has what a task needs."""
        needed = {"CPU": self._cpus, "GPU": self._gpus}
        return all(resources.get(kind, 0) >= number for kind, number in needed.items())

    def _check_fits(self, alone: bool) -> None:
        """Report if no node can take a task; Ray itself waits silently."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if any(map(self._fits, nodes)):
            return
        have = "; ".join(f"{node.get('CPU', 0):g} CPUs, {node.get('GPU', 0):g} GPUs" for node in nodes)
        lacking = f"a task needs {self._cpus:g} CPUs and {self._gpus:g} GPUs on one node, and Ray has: {have}"
        if alone:
            self.close()
            raise BadInput(f"{lacking}; ask for less, with cpus and gpus")
        warnings.warn(f"{lacking}; the sweep waits until the cluster grows", stacklevel=2)

    @property
    def slots(self) -> int:
        """How many tasks fit on the cluster now; it may grow and shrink."""
        if self._workers is not None:
            return self._workers
        if not self._watched or self._is_there():
            alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
            self._slots = max(1, sum(tasks_on(node, self._cpus, self._gpus) for node in alive))
        return self._slots

    def submit(self, task: Task) -> None:
        """Submit a task to the cluster."""
        device = task.get("device") or ("cuda" if self._gpus else None)
        token = self._token[1] if self._token else None
        share = self._gpus if self._gpus < 1 else None
        sent = {**task, "device": device, "token": token, "share": share}
        self._running[self.work.remote(sent)] = task

    def wait(self, seconds: float) -> list[Answer]:
        """Answers that have come; a task whose worker or node died answers with `died`."""
        if not self._running:
            return []
        if self._watched and not self._is_there() and time.monotonic() - self._seen > GONE:
            return self._lost("the Ray cluster's control store (GCS) no longer answers")
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=seconds)
        answers = []
        for reference in ready:
            task = self._running.pop(reference)
            try:
                answers.append({"task": task["task"], **self._ray.get(reference)})
            except self._ray.exceptions.RayError as error:
                # an error of the task's code is its own; a lost worker, node or memory is infrastructure
                kind = "error" if "RayTaskError" in _names(error) else DIED
                message = f"{type(error).__name__}: {_first_line(error)}"
                answers.append({"task": task["task"], "ok": False, "kind": kind, "message": message})
                if "LocalRayletDiedError" in _names(error):
                    answers += self._lost(message)
        return answers

    def _lost(self, message: str) -> list[Answer]:
        """Answers for all that ran on a cluster that died under the driver; another one takes its place."""
        running, self._running = list(self._running.values()), {}
        self.rejoin()
        return [{"task": t["task"], "ok": False, "kind": DIED, "message": message} for t in running]

    def close(self) -> None:
        """Leave the cluster."""
        if self._token:
            remove_token(*self._token)
        if self._started:
            self._ray.shutdown()

    def kill(self) -> None:
        """Cancel what is running, and leave."""
        running, self._running = self._running, {}  # a second call finds nothing to cancel
        for reference in running:
            self._ray.cancel(reference, force=True)
        self.close()


def tasks_on(resources: Mapping[str, float], cpus: float, gpus: float) -> int:
    """How many tasks that need so much fit on a node; parts of different GPUs make no task."""
    counts = [int(resources.get("CPU", 0) / cpus + 1e-9)] if cpus else []
    if gpus:
        there = int(resources.get("GPU", 0))
        counts.append(there * int(1 / gpus + 1e-9) if gpus < 1 else there // int(gpus))
    return min(counts, default=1)


def connect(ray: Any, address: str, options: dict[str, Any], seconds: float | None = None) -> None:
    """Connect to a cluster, or raise within seconds (`CONNECT`); Ray's own timeout is minutes."""
    seconds = CONNECT if seconds is None else seconds
    failure = (
        f"cannot connect to the Ray cluster at {address!r}: start one (ray start --head), check the address; "
        "if it runs, its token may be missing here (Ray's documentation: token authentication)"
    )
    if found := re.fullmatch(r"(?:ray://)?(\[.+\]|[^:/]+):(\d+)", address):
        try:
            socket.create_connection((found[1].strip("[]"), int(found[2])), timeout=CONNECT / 3).close()
        except OSError as error:
            raise ScalinglabError(f"{failure} ({error})") from error
    outcome: list[BaseException | None] = []
    log = logging.getLogger("ray")
    level = log.level
    log.setLevel(logging.ERROR)  # that it runs in a thread

    def join() -> None:
        try:
            ray.init(**options)
            outcome.append(None)
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=join, daemon=True)
    thread.start()
    thread.join(seconds)
    log.setLevel(level)
    if not outcome:
        raise ScalinglabError(f"{failure} (no answer in {seconds:g} s)")
    if isinstance(outcome[0], ConnectionError):
        raise ScalinglabError(failure) from outcome[0]
    if isinstance(outcome[0], Exception):
        raise ScalinglabError(f"{failure} ({_first_line(outcome[0])})") from outcome[0]
    if outcome[0] is not None:
        raise outcome[0]


def session_of(address: str) -> Any:
    """The name of the session that a control store serves, which is another one after every start."""
    connections: Any = importlib.import_module("ray._raylet")
    return connections.GcsClient(address=address).internal_kv_get(b"session_name", b"session")


def in_time(ask: Callable[[], Any], seconds: float) -> Any:
    """What a call answers, None where it fails or takes longer."""
    answers: list[Any] = []

    def call() -> None:
        with contextlib.suppress(Exception):
            answers.append(ask())

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else None


def _names(error: BaseException) -> list[str]:
    return [cls.__name__ for cls in type(error).__mro__]


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def see_folder(store: str, token: str, node: str) -> str | None:
    """Whether a node sees the store: what is wrong, None where it does."""
    from scalinglab.sweep.pools.preflight import answer_token

    return answer_token(store, token, node)


def execute_task(task: Task) -> Answer:
    """Execute a task in a process of Ray."""
    from scalinglab.sweep.pools.worker import execute

    return execute(task)


def added_paths(paths: Sequence[str], installed: Sequence[str]) -> list[str]:
    """Folders of modules that no installation brings: what a worker must be told of."""
    return [path for path in paths if path and not any(Path(path).is_relative_to(one) for one in installed)]
