"""Tasks and answers as files, between a driver and jobs that share nothing but the store's folder.

A task is a file in `waiting`. A job takes it by renaming it into `taken`, which only one job can do, and puts
its answer into `answers`. The driver keeps writing new numbers into `pulse`; when the number stops changing,
the driver is gone. Clocks of different machines are never compared.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from scalinglab.store.files import writing
from scalinglab.support.whole_files import write_text_whole
from scalinglab.sweep.pools.pool import DIED, Answer, Task

WAITING, TAKEN, ANSWERS = "waiting", "taken", "answers"
CLOSED, LEAVE, PULSE = "closed", "leave", "pulse"


@dataclass
class TaskFolder:
    """The files of one sweep.

    A file is named after its task, `7.json`; one that was taken also after the job and its start,
    `7.123_4.ab12`: a job that the scheduler starts again keeps its name and gets another start.
    """

    path: Path
    _beats: itertools.count = field(default_factory=itertools.count)
    _heard: tuple[str, float] = ("", -1.0)  # the last pulse, and since when it has been the same

    # --- the driver ------------------------------------------------------------------------------

    def make(self) -> None:
        """Make the folder; others cannot enter it, since jobs execute what lies there."""
        with writing(self.path):
            self.path.mkdir(parents=True, mode=0o700)
            for name in (WAITING, TAKEN, ANSWERS):
                (self.path / name).mkdir()

    def put(self, task: Task) -> None:
        """Leave a task for the first job that takes it."""
        with writing(self.path):
            write_text_whole(self.path / WAITING / f"{task['task']}.json", json.dumps(task))

    def withdraw(self) -> list[int]:
        """Take back the tasks that no job has taken."""
        back = []
        while (task := self.take("driver.0")) is not None:
            (self.path / TAKEN / f"{task['task']}.driver.0").unlink()
            back.append(int(task["task"]))
        return back

    def collect(self) -> list[Answer]:
        """Answers that have come."""
        found = []
        for path in _files(self.path / ANSWERS):
            found.append(json.loads(path.read_text("utf-8")))
            path.unlink()
        return found

    def takers(self) -> dict[int, str]:
        """The jobs that have taken tasks, by the numbers of these."""
        parts = (path.name.split(".") for path in _files(self.path / TAKEN))
        return {int(number): job for number, job, _ in parts}

    def beat(self) -> None:
        """Write a new pulse: the driver is running."""
        with writing(self.path):
            write_text_whole(self.path / PULSE, str(next(self._beats)))

    def say(self, word: str) -> None:
        """Tell all jobs to end: `CLOSED` at once, `LEAVE` when the states of their runs are saved."""
        with contextlib.suppress(OSError):
            (self.path / word).touch()

    def remove(self) -> None:
        """Remove all files, and the folder around them where no other sweep uses it."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()

    # --- a job -----------------------------------------------------------------------------------

    def take(self, name: str) -> Task | None:
        """The first task that waits, None where there is none; `name` is the job's, with its start."""
        for path in _files(self.path / WAITING):
            mine = self.path / TAKEN / f"{path.stem}.{name}"
            with contextlib.suppress(OSError):  # another one was faster
                path.rename(mine)
            if mine.exists():  # a network file system may call a rename failed that it has done
                task: Task = json.loads(mine.read_text("utf-8"))
                return task
        return None

    def answer(self, name: str, answer: Answer) -> None:
        """Put the answer to a task that this job took."""
        number = answer["task"]
        with writing(self.path):
            write_text_whole(self.path / ANSWERS / f"{number}.{name}.json", json.dumps(answer))
        (self.path / TAKEN / f"{number}.{name}").unlink(missing_ok=True)

    def answer_for_earlier_starts(self, name: str) -> None:
        """Answer with `DIED` for the tasks that an earlier start of this job had taken."""
        job, start = name.split(".")
        for path in _files(self.path / TAKEN):
            number, other, when = path.name.split(".")
            if other == job and when != start:
                message = f"job {job} was stopped and queued again (preempted, or its node was lost)"
                lost = {"task": int(number), "ok": False, "kind": DIED, "message": message}
                self.answer(f"{other}.{when}", lost)

    def says(self, word: str) -> bool:
        """Whether the driver has left this word, or removed the folder."""
        return (self.path / word).exists() or not self.path.exists()

    def silent(self) -> float:
        """Seconds since the driver's pulse last changed, by this machine's clock."""
        now = time.monotonic()
        try:
            pulse = (self.path / PULSE).read_text("utf-8")
        except OSError:
            pulse = ""
        if pulse != self._heard[0] or self._heard[1] < 0:
            self._heard = (pulse, now)
        return now - self._heard[1]


def _files(folder: Path) -> list[Path]:
    """The files of a folder in the order of their tasks, those left out that are not whole yet."""
    try:
        found = [path for path in folder.iterdir() if not path.name.startswith(".")]
    except FileNotFoundError:  # the driver has removed it
        return []
    return sorted(found, key=lambda path: int(path.name.split(".")[0]))
