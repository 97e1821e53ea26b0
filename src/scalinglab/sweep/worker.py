"""A worker: a process that does one task after another, told on stdin, answering on stdout, in JSON lines.

``python -m scalinglab.sweep.worker``. It ends when its driver does: stdin closes, however the driver died.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import queue
import sys
import threading
import traceback
from typing import Any

from scalinglab import phases

RUNNERS = {"train": "scalinglab.sweep.training"}
VERBS = ("identity", "alike", "cost", "memory", "capacity", "memory_limit", "devices", "probe", "work")


def load(runner: str) -> Any:
    """A runner by its name: `train`, or the dotted name of a module with the same functions."""
    from scalinglab.errors import BadInput, nearest

    name = RUNNERS.get(runner, runner)
    try:
        if not all(part.isidentifier() for part in name.split(".")):  # a path, a relative name, nothing
            raise ModuleNotFoundError(name=name)
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and not name.startswith(error.name):
            raise
        raise BadInput(
            f"no runner {runner!r}; {nearest(runner, RUNNERS)} or a module's dotted name"
        ) from error
    if missing := [verb for verb in VERBS if not hasattr(module, verb)]:
        raise BadInput(f"{runner!r} is no runner: it lacks {', '.join(missing)}")
    return module


def execute(task: dict[str, Any]) -> dict[str, Any]:
    """Do a task; the answer says what went wrong, if anything."""
    before = dict(phases.SECONDS)
    try:
        with phases.phase("imports"):
            from scalinglab.store import Store
            from scalinglab.sweep.preflight import find_token

            runner = load(task["runner"])
        prepare(task)
        store = Store(task["store"])
        if task.get("token"):
            find_token(store.path, task["token"])
        options = {"experiment": task["experiment"], "device": task["device"]}
        if "group" in inspect.signature(runner.work).parameters:
            options["group"] = task["group"]
        runner.work(task["settings"], store, **options)
        spent = {name: total - before.get(name, 0.0) for name, total in phases.SECONDS.items()}
        return {"ok": True, "seconds": {name: round(s, 3) for name, s in spent.items() if s > 0.001}}
    except Exception as error:
        return {"ok": False, "kind": kind(error), "text": traceback.format_exc(), "message": str(error)}


def prepare(task: dict[str, Any]) -> None:
    """Load what a task needs, where its runner has a function for that."""
    runner = load(task["runner"])
    if hasattr(runner, "prepare"):
        runner.prepare(task["settings"], task["device"])


def kind(error: BaseException) -> str:
    """What a driver does about an error depends on its kind: `busy`, `store`, `memory` or `error`."""
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
    os.dup2(2, 1)  # whatever a library prints must not look like an answer
    tasks: queue.Queue[dict[str, Any]] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            tasks.put(json.loads(line))
        os._exit(0)  # the driver is gone: what is half-done can be resumed

    threading.Thread(target=listen, daemon=True).start()
    while True:
        task = tasks.get()
        if "task" not in task:  # to get ready, while the driver makes its plan
            with contextlib.suppress(Exception):  # whatever is wrong, the task itself will tell
                prepare(task)
            continue
        answers.write(json.dumps({"task": task["task"], **execute(task)}) + "\n")


if __name__ == "__main__":
    main()
