"""A process that is warm and forks children on demand, so that tests can kill many writers cheaply.

Reads one JSON task a line on stdin; every child's words and its exit come back as JSON lines on stdout.
"""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

STEPS = 5


def say(**words):
    os.write(1, (json.dumps({"speaker": os.getpid(), "words": words}) + "\n").encode())


def rows(setting, n_steps=STEPS):
    """What a run with this setting measures: any torn or mixed-up row shows."""
    return [{"step": t, "test_loss": 1.0 / (1 + setting["number"]) / (1 + t)} for t in range(n_steps)]


# --- tasks -----------------------------------------------------------------------------------------


def write_forever(store, writer):
    """Write run after run until killed, telling of each that is sealed; every third writer takes its time.

    Rows take microseconds and sealing milliseconds, so that few kills would fall between two rows.
    """
    number, pause = 0, 0.004 if writer % 3 == 0 else 0.0
    say(writing=os.getpid())
    while True:
        write_one(store, {"writer": writer, "number": number}, pause=pause)
        number += 1


def write_all(store, numbers):
    """Write these runs, leaving to others what they are at."""
    from scalinglab.store import StoreError

    for number in numbers:
        try:
            write_one(store, {"number": number})
        except StoreError as error:
            say(refused=type(error).__name__, number=number)


def write_one(store, setting, n_steps=STEPS, pause=0.0):
    run = store.start(setting)
    for row in rows(setting, n_steps):
        run.append(row)
        time.sleep(pause)
    run.seal()
    say(sealed=run.run)


def compact(store):
    say(moved=store.compact())


def discard(store, run):
    store.discard(run)


def full_disk(store, setting, limit, until):
    """Write under a limit on the size of files, which fails as a full disk does."""
    from scalinglab.store import StoreError

    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    written = 0
    try:
        run = store.start(setting)
        for row in rows(setting, until):
            run.append(row)
            written += 1
        run.seal()
        say(error=None)
    except StoreError as error:
        say(error=str(error), written=written)


def read_only(store, setting):
    """Try to write as a user without the permission."""
    from scalinglab.store import StoreError

    if os.getuid() == 0:
        os.setuid(65534)
    tried = (lambda: store.start(setting), store.compact, lambda: store.discard(next(iter(store.records()))))
    for attempt in tried:
        try:
            attempt()
            say(error=None)
        except StoreError as error:
            say(error=str(error))
    say(rows=len(store.curves()))


# --- forking ---------------------------------------------------------------------------------------


def crash_at(event_number, folder):
    """Kill this process at its n-th act on the folder: opening, renaming or removing a file."""
    seen = 0

    def hook(event, arguments):
        nonlocal seen
        if event in ("open", "os.rename", "os.remove", "os.truncate") and str(arguments[0]).startswith(
            folder
        ):
            seen += 1
            if seen == event_number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def child(task):
    from scalinglab import Store

    store = Store(task["path"])
    if task.get("crash_at"):
        crash_at(task["crash_at"], task["path"])
    globals()[task["task"]](store, *task.get("arguments", []))


def main():
    import pyarrow.parquet  # noqa: F401

    import scalinglab.store  # noqa: F401
    from scalinglab.store.record import environment

    environment()  # looked up once, before anybody is killed
    for line in sys.stdin:
        task = json.loads(line)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # those that were killed meanwhile
                pass
        pid = os.fork()
        if pid == 0:
            try:
                child(task)
            except BaseException as error:
                say(raised=repr(error))
                os._exit(1)
            os._exit(0)
        say(started=pid)
        if not task.get("background"):
            say(exit=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


class Nursery:
    """The tests' end of it."""

    def __init__(self):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment, bufsize=1,
        )  # fmt: skip

    def send(self, path, task, *arguments, **options):
        line = {"path": str(path), "task": task, "arguments": arguments, **options}
        self.process.stdin.write(json.dumps(line) + "\n")

    def hear(self):
        return self._line()["words"]

    def _line(self):
        return json.loads(self.process.stdout.readline())

    def run(self, path, task, *arguments, **options):
        """Run a task to its end: what its child said, and how it ended.

        What others said meanwhile (those in the background, the last words of the killed) is in `others`.
        """
        self.send(path, task, *arguments, **options)
        lines = []
        while "exit" not in (line := self._line())["words"]:
            lines.append(line)
        *_, child = (line["words"]["started"] for line in lines if "started" in line["words"])
        lines = [line for line in lines if "started" not in line["words"]]
        self.others = [line["words"] for line in lines if line["speaker"] != child]
        return [line["words"] for line in lines if line["speaker"] == child], line["words"]["exit"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


if __name__ == "__main__":
    main()
