"""The engine of one machine: its processes."""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from importlib.util import cache_from_source, find_spec
from pathlib import Path

from scalinglab.support.work import cores
from scalinglab.sweep.pools.pool import CRASHED, DIED, Answer, Pool, Task

# signals that a process raises by what it computes; any other comes from outside
_OWN = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS")
OWN_SIGNALS = {getattr(signal, name) for name in _OWN if hasattr(signal, name)}


class LocalPool(Pool):
    """Processes of this machine; one that dies is replaced, and only its own task is lost.

    Args:
        workers: how many tasks at a time.
        devices: where the workers compute, dealt out in turn.
        threads: the number of threads of each worker's numerical libraries.
    """

    def __init__(self, workers: int, devices: Sequence[str | None] = (None,), threads: int = 1) -> None:
        self._slots = workers
        self._devices = devices
        self._threads = threads
        self._answers: queue.Queue[tuple[int, Answer | None]] = queue.Queue()
        self._workers: dict[int, subprocess.Popen[str]] = {}
        self._tasks: dict[int, Task] = {}  # by worker
        self._places: dict[int, str | None] = {}
        self._count = 0

    @property
    def slots(self) -> int:
        """How many tasks run at a time."""
        return self._slots

    def submit(self, task: Task) -> None:
        """Start a task on an idle worker, or a new one."""
        while True:
            idle = [number for number in self._workers if number not in self._tasks]
            number = idle[0] if idle else self._hire()
            device = task.get("device") or self._places[number]
            sent = {**task, "device": device, "share": self._share(device)}
            self._tasks[number] = sent
            try:
                stdin = self._workers[number].stdin
                assert stdin is not None
                stdin.write(json.dumps(sent) + "\n")
                stdin.flush()
                return
            except OSError:  # it died while it was idle: take another
                del self._tasks[number]
                self._dismiss(number)

    def _share(self, device: str | None) -> float | None:
        """What of a GPU's memory each of several workers on it may take."""
        workers = math.ceil(self._slots / len(self._devices))
        return 1 / workers if workers > 1 and (device or "").startswith("cuda") else None

    def wait(self, seconds: float) -> list[Answer]:
        """Results received so far; a worker that ended answers with what ended it."""
        answers: list[Answer] = []
        timeout: float | None = seconds
        while True:
            try:
                number, answer = self._answers.get(timeout=timeout) if timeout else self._answers.get_nowait()
            except queue.Empty:
                return answers
            timeout = None
            task = self._tasks.pop(number, None)
            if answer is None:
                code = self._dismiss(number)
                if task is not None:
                    answers.append({"task": task["task"], "ok": False, **cause_of_death(code)})
            else:
                answers.append(answer)

    def leave(self) -> None:
        """Send SIGTERM to workers with a task: they save the states of their runs and end."""
        for number in self._tasks:
            self._workers[number].terminate()

    def close(self) -> None:
        """Close the workers' stdin, which ends them."""
        for number in list(self._workers):
            self._dismiss(number)

    def kill(self) -> None:
        """Kill the workers."""
        for process in self._workers.values():
            process.kill()
        self.close()

    @property
    def processes(self) -> list[int]:
        """The workers' process ids."""
        return [process.pid for process in self._workers.values()]

    def _hire(self) -> int:
        process = start_worker(self._threads)
        number, self._count = self._count, self._count + 1
        self._workers[number] = process
        taken = [self._places[other] for other in self._workers if other != number]
        self._places[number] = min(self._devices, key=taken.count)  # the device with the fewest workers
        # a daemon: a worker that hangs does not keep the driver from ending
        threading.Thread(target=self._listen, args=(number, process), daemon=True).start()
        return number

    def _listen(self, number: int, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as lines, contextlib.suppress(ValueError):  # killed in the middle of an answer
            for line in lines:
                self._answers.put((number, json.loads(line)))
        self._answers.put((number, None))

    def _dismiss(self, number: int) -> int | None:
        process = self._workers.pop(number, None)
        if process is None:
            return None
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            return process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def keep_bytecode() -> None:
    """Where PyTorch has no bytecode and Python may keep none, keep it in the user's cache folder.

    For this process and those that it starts: each would compile two thousand modules anew, ten seconds long.
    """
    from platformdirs import user_cache_path

    torch = find_spec("torch")
    if not sys.dont_write_bytecode or sys.pycache_prefix or torch is None or torch.origin is None:
        return
    if not Path(cache_from_source(torch.origin)).exists():
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(user_cache_path("scalinglab") / "bytecode")
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def start_worker(threads: int) -> subprocess.Popen[str]:
    """A worker's process, whose numerical libraries use so many threads."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        environment.setdefault(name, str(threads))
    return subprocess.Popen(
        [sys.executable, "-m", "scalinglab.sweep.pools.worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,  # the driver handles Ctrl-C
    )  # fmt: skip


def cause_of_death(code: int | None) -> Answer:
    """Kind and message of a worker that ended with this status, minus the signal where one ended it."""
    if code is not None and code < 0:
        hint = " (out of memory?)" if code == -9 else ""
        kind = CRASHED if -code in OWN_SIGNALS else DIED
        return {"kind": kind, "message": f"the worker was killed by signal {-code}{hint}"}
    return {"kind": CRASHED if code else DIED, "message": f"the worker ended with status {code}"}


def default_workers(devices: Sequence[str | None]) -> int:
    """One worker a GPU, or one a processor."""
    return len(devices) if devices[0] and devices[0] != "cpu" else cores()


def take_turns(workers: int, devices: Sequence[str | None]) -> bool:
    """Whether workers would share a GPU by time slices, one at a time, for want of CUDA's MPS."""
    gpus = {device for device in devices if (device or "").startswith("cuda")}
    pipes = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY") or "/tmp/nvidia-mps")
    return bool(gpus) and workers > len(gpus) and not (pipes / "control").exists()
