"""The engine for many machines: tasks on a Ray cluster.

Ray places each task on a node with the processors and GPUs it asks for. Where a worker or a whole node dies
it says so, and the driver submits the task again, as it does on one machine; Ray's own retries are off, so
that one rule counts the attempts. All nodes must see the store's folder under the same path.
"""

from __future__ import annotations

import os
import sys
import warnings
from math import ceil
from typing import Any

from scalinglab.errors import BadInput, ScalinglabError, require
from scalinglab.sweep.engines import DIED, Answer, Task


class RayPool:
    """Tasks on a Ray cluster.

    Args:
        address: of the cluster's head, `auto` for the one this machine belongs to; None starts Ray here.
        workers: how many tasks at a time; as many as the cluster has room for where not given.
        cpus, gpus: what each task needs.
    """

    def __init__(self, address: str | None, workers: int | None, cpus: float = 1, gpus: float = 0) -> None:
        self._ray: Any = require("ray", "ray", "engine='ray'")
        self._started = not self._ray.is_initialized()
        if self._started:
            os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a sweep tells nobody
            own = [path for path in sys.path if path and not path.startswith((sys.prefix, sys.base_prefix))]
            try:
                self._ray.init(
                    address=address, num_cpus=ceil(workers * cpus) if workers and address is None else None,
                    log_to_driver=False,
                    include_dashboard=False, configure_logging=False,
                    runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(own)}},
                )  # fmt: skip
            except ConnectionError as error:
                raise ScalinglabError(
                    f"no entry to a Ray cluster at {address!r}: start one (ray start --head); if it runs, "
                    "its token may be missing here (Ray's documentation: token authentication)"
                ) from error
        self._cpus, self._gpus, self._workers = cpus, gpus, workers
        self._check_room(alone=self._started and address is None)
        self._work = self._ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=0)(_execute)
        self._running: dict[Any, Task] = {}

    def _check_room(self, alone: bool) -> None:
        """Say so where no node could take a task: Ray itself waits without a word."""
        needed = {"CPU": self._cpus, "GPU": self._gpus}
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if any(all(node.get(kind, 0) >= number for kind, number in needed.items()) for node in nodes):
            return
        have = "; ".join(f"{node.get('CPU', 0):g} CPUs, {node.get('GPU', 0):g} GPUs" for node in nodes)
        lacking = f"a task needs {self._cpus:g} CPUs and {self._gpus:g} GPUs on one node, and Ray has: {have}"
        if alone:
            self.close()
            raise BadInput(f"{lacking}; ask for less, with cpus and gpus")
        warnings.warn(f"{lacking}; the sweep waits until the cluster grows", stacklevel=2)

    @property
    def slots(self) -> int:
        """How many tasks the cluster has room for now; it may grow and shrink."""
        if self._workers is not None:
            return self._workers
        total = self._ray.cluster_resources()
        room = [total.get("CPU", 0) / self._cpus] if self._cpus else []
        room += [total.get("GPU", 0) / self._gpus] if self._gpus else []
        return max(1, int(min(room, default=1)))

    def submit(self, task: Task) -> None:
        """Hand a task to the cluster."""
        device = task.get("device") or ("cuda" if self._gpus else None)
        self._running[self._work.remote({**task, "device": device})] = task

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
        if self._started:
            self._ray.shutdown()

    def kill(self) -> None:
        """Cancel what is running, and leave."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self.close()


def _execute(task: Task) -> Answer:
    from scalinglab.sweep.worker import execute

    return execute(task)
