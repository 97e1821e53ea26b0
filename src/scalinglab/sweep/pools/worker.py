"""A worker: a process that reads tasks from stdin and writes results to stdout, as JSON lines.

``python -m scalinglab.sweep.pools.worker``. It exits with its driver, because stdin then closes.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from scalinglab.support.work import SECONDS, end_by_sigterm, phase

if TYPE_CHECKING:
    from scalinglab.sweep.runner import Runner

_REPORTED: dict[str, float] = {}  # seconds by phase in results so far


def execute(task: dict[str, Any]) -> dict[str, Any]:
    """Execute a task, or time it where it has no store; the result includes the error, if any.

    The first task's seconds by phase include the imports before it.
    """
    try:
        runner = prepare(task)
        if task.get("share"):
            keep_to(task["share"], task["device"])
        done: dict[str, Any] = {}
        if "store" in task:
            work(task, runner)
        else:
            done["probe"] = runner.probe(task["settings"], task["device"])
        spent = {name: total - _REPORTED.get(name, 0.0) for name, total in SECONDS.items()}
        _REPORTED.update(SECONDS)
        return {"ok": True, "seconds": {name: round(s, 3) for name, s in spent.items() if s > 0.001}, **done}
    except Exception as error:
        return {"ok": False, "kind": kind(error), "text": traceback.format_exc(), "message": str(error)}


def work(task: dict[str, Any], runner: Runner) -> None:
    """Do the runs of a task."""
    with phase("imports"):
        from scalinglab.store import Store
        from scalinglab.sweep.pools.preflight import find_token
    store = Store(task["store"])
    if task.get("token"):
        find_token(store.path, task["token"])
    options = {"experiment": task["experiment"], "device": task["device"]}
    runner.work(task["settings"], store, group=task["group"], **options)


def prepare(task: dict[str, Any]) -> Runner:
    """The runner of a task, with everything loaded that its runs need."""
    with phase("imports"):
        from scalinglab.sweep.runner import load

        runner = load(task["runner"])
    if runner.prepare is not None:
        runner.prepare(task["settings"], task["device"])
    return runner


@contextlib.contextmanager
def without_garbage() -> Iterator[None]:
    """Import without garbage collection, which takes a sixth of the time and finds hardly anything.

    Imported modules stay until the process ends, so later collections leave them out.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def keep_to(share: float, device: str | None) -> None:
    """Limit PyTorch to a share of a GPU's memory."""
    if find_spec("torch") is not None:
        import torch

        place = torch.device(device or "cuda")
        if place.type == "cuda" and torch.cuda.is_available():
            torch.cuda.set_per_process_memory_fraction(share, place.index)


def kind(error: BaseException) -> str:
    """The kind of an error, by which the driver handles it: `busy`, `store`, `memory` or `error`."""
    names = [cls.__name__ for cls in type(error).__mro__]
    known = {
        "RunBusy": "busy",
        "RunDone": "busy",
        "StoreError": "store",
        "MemoryError": "memory",
        "OutOfMemoryError": "memory",
    }
    found = next((known[name] for name in names if name in known), "error")
    return "memory" if "out of memory" in str(error).lower() else found


def main() -> None:
    """Work until stdin closes."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # output of libraries must not be parsed as a result
    tasks: queue.Queue[dict[str, Any]] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            tasks.put(json.loads(line))
        os._exit(0)  # the driver is gone: what is half-done can be resumed

    threading.Thread(target=listen, daemon=True).start()
    task, ready = tasks.get(), {}
    with contextlib.suppress(Exception), without_garbage():  # the task itself reports the error
        prepare(task)
        ready["ready"] = time.time()
    while True:
        try:
            answer = execute(task)
        except KeyboardInterrupt:  # asked to end, by SIGTERM; the states of the runs are saved
            end_by_sigterm()
            raise
        answers.write(json.dumps({"task": task["task"], **answer, **ready}) + "\n")
        task = tasks.get()


if __name__ == "__main__":
    main()
