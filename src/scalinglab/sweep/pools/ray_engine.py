"""The engine for many machines: tasks on a Ray cluster.

Ray places each task on a node with the processors and GPUs it asks for. If a worker or node dies,
Ray reports it and the driver resubmits the task, as on one machine; Ray's own retries are off, so
that one rule counts the attempts. All nodes must see the store's folder under the same path, which is tried
on every node before anything is trained, and by every task.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import threading
import warnings
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import Any

from scalinglab.errors import BadInput, ScalinglabError, require
from scalinglab.store import StoreError
from scalinglab.sweep.pools.pool import DIED, Answer, Pool, Task
from scalinglab.sweep.pools.preflight import check_answer, leave_token, remove_token

PREFLIGHT = 60.0  # seconds in which nodes are asked for the store's folder, all together
CONNECT = 15.0  # seconds within which a cluster must answer


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
        if self._started:
            os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage statistics are sent
            own = [path for path in sys.path if path and not path.startswith((sys.prefix, sys.base_prefix))]
            options = {
                # without an address Ray would join a cluster that it finds on this machine
                "address": address or "local", "log_to_driver": False, "include_dashboard": False,
                "num_cpus": ceil(workers * cpus) if workers and address is None else None,
                "configure_logging": False, "runtime_env": {"env_vars": {"PYTHONPATH": os.pathsep.join(own)}},
            }  # fmt: skip
            if address is None:
                self._ray.init(**options)
            else:
                connect(self._ray, address, options)
        self._cpus, self._gpus, self._workers = cpus, gpus, workers
        self._check_fits(alone=self._started and address is None)
        self._work = self._ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=0)(execute_task)

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
        return max(1, sum(self._tasks_on(node["Resources"]) for node in self._ray.nodes() if node["Alive"]))

    def _tasks_on(self, resources: Mapping[str, float]) -> int:
        """How many tasks fit on a node; parts of different GPUs make no task."""
        counts = [int(resources.get("CPU", 0) / self._cpus + 1e-9)] if self._cpus else []
        if self._gpus:
            there = int(resources.get("GPU", 0))
            counts.append(there * int(1 / self._gpus + 1e-9) if self._gpus < 1 else there // int(self._gpus))
        return min(counts, default=1)

    def submit(self, task: Task) -> None:
        """Submit a task to the cluster."""
        device = task.get("device") or ("cuda" if self._gpus else None)
        token = self._token[1] if self._token else None
        share = self._gpus if self._gpus < 1 else None
        sent = {**task, "device": device, "token": token, "share": share}
        self._running[self._work.remote(sent)] = task

    def wait(self, seconds: float) -> list[Answer]:
        """Answers that have come; a task whose worker or node died answers with `died`."""
        if not self._running:
            return []
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=seconds)
        answers = []
        for reference in ready:
            task = self._running.pop(reference)
            try:
                answers.append({"task": task["task"], **self._ray.get(reference)})
            except self._ray.exceptions.RayError as error:
                message = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
                answers.append({"task": task["task"], "ok": False, "kind": DIED, "message": message})
        return answers

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


def connect(ray: Any, address: str, options: dict[str, Any]) -> None:
    """Connect to a cluster, or raise within seconds; Ray's own timeout is minutes."""
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
    thread.join(CONNECT)
    log.setLevel(level)
    if not outcome:
        raise ScalinglabError(f"{failure} (no answer in {CONNECT:g} s)")
    if isinstance(outcome[0], ConnectionError):
        raise ScalinglabError(failure) from outcome[0]
    if outcome[0] is not None:
        raise outcome[0]


def see_folder(store: str, token: str, node: str) -> str | None:
    """Whether a node sees the store: what is wrong, None where it does."""
    from scalinglab.sweep.pools.preflight import answer_token

    return answer_token(store, token, node)


def execute_task(task: Task) -> Answer:
    """Execute a task in a process of Ray."""
    from scalinglab.sweep.pools.worker import execute

    return execute(task)
