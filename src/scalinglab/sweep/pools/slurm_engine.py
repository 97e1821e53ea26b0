"""The engine for a Slurm cluster: an array of jobs, by submitit, that take tasks from the store's folder.

The driver stays where it was started and submits one array. Every job works for its hours and takes one task
after the other, so that a sweep waits in the queue once; a job that ends with tasks left is replaced. Jobs
that Slurm preempts, or whose node is lost, are queued again by Slurm, and what they had taken is submitted
again by the driver: it counts against no run. A job that is cancelled by hand is not replaced.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from scalinglab.errors import BadInput, ScalinglabError, require
from scalinglab.sweep.pools.pool import DIED, Answer, Pool, Task
from scalinglab.sweep.pools.slurm_job import serve
from scalinglab.sweep.pools.task_folder import CLOSED, LEAVE, TaskFolder

HOURS = 4.0  # the time limit of a job
SIGNAL = 120  # seconds before it at which jobs begin to save states
LOOK = 10.0  # seconds between questions to Slurm; its administrators ask for few
BEAT = 10.0  # seconds between signs of life for the jobs
SILENT = 180.0  # seconds without one after which jobs take no more tasks
END = 20.0  # seconds that jobs have to end before they are cancelled, or left to Slurm
FRUITLESS = 3  # jobs in a row that end without having taken a task, before the sweep stops
FOLDER = ".slurm"

QUEUED = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
THERE = {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT"}


class SlurmPool(Pool):
    """Tasks in the jobs of a Slurm cluster.

    Args:
        workers: how many tasks at a time in all jobs; default: one a GPU.
        cpus: processors that each task needs.
        gpus: GPUs in all. Each is a job of its own, and shared by `workers / gpus` tasks.
        hours: the time limit of each job; one that reaches it is replaced while tasks are left.
        partition: where jobs are queued; default: the cluster's.
        cluster: `local` runs jobs as processes of this machine, without Slurm.
    """

    def __init__(
        self, workers: int | None, cpus: float = 1, gpus: float = 0, hours: float | None = None,
        partition: str | None = None, cluster: str = "slurm",
    ) -> None:  # fmt: skip
        hours = HOURS if hours is None else hours
        whole = math.isfinite(gpus) and gpus == int(gpus) and gpus >= 0
        if not whole or not 0 < cpus < math.inf or not 0.01 <= hours < 10_000:
            raise BadInput(
                f"gpus={gpus:g}, cpus={cpus:g}, hours={hours:g}: a number of whole GPUs in all, processors a "
                "task, and the hours of a job, at least 0.01"
            )
        if workers is None and not gpus:
            raise BadInput("engine='slurm' needs gpus, one job for each of them, or workers without GPUs")
        self._slots = workers or int(gpus)
        if gpus and self._slots % gpus:
            raise BadInput(f"workers={workers} must be a multiple of gpus={gpus:g}: each GPU is shared alike")
        self._most = int(gpus) or self._slots  # jobs
        self._each = self._slots // self._most  # tasks at a time in a job
        self._device, self._cpus = ("cuda" if gpus else None), cpus
        minutes = math.ceil(60 * hours)
        processors = math.ceil(cpus * self._each)
        self._options = {
            "job_name": "scalinglab", "time": minutes, "cpus_per_task": processors, "wckey": None,
            "array_parallelism": self._most,
            # TERM reaches the workers too, who save states; submitit's own signal would end them
            "additional_parameters": {"signal": f"TERM@{min(SIGNAL, 15 * minutes)}", "requeue": True},
            "srun_args": [f"--cpus-per-task={processors}"],  # from Slurm 22.05 on not taken over by itself
        }  # fmt: skip
        self._options |= {"gpus_per_node": 1} if gpus else {}
        self._options |= {"partition": partition} if partition else {}
        self._submitit: Any = require("submitit", "slurm", "engine='slurm'")
        self._cluster = cluster
        self.tasks: TaskFolder | None = None
        self._open: dict[int, Task] = {}
        self._jobs: dict[str, Any] = {}  # those that have not ended, as far as is known
        self._took: set[str] = set()  # jobs that have taken a task
        self._fruitless = 0
        self._polled = self._beat = -math.inf
        self._keep_logs = False

    @property
    def slots(self) -> int:
        """How many tasks run at a time where all jobs run."""
        return self._slots

    def script(self, store: Path, tasks: int) -> str:
        """The batch script with which jobs would be submitted for so many tasks."""
        slurm: Any = importlib.import_module("submitit.slurm.slurm")
        folder = store.absolute() / FOLDER / "SWEEP" / "jobs"
        count = self._wanted(tasks)
        return str(
            slurm._make_sbatch_string(
                command=f"{sys.executable} -u -m submitit.core._submit {folder}", folder=folder,
                map_count=count if count > 1 else None, **self._options,
            )
        )  # fmt: skip

    def _wanted(self, tasks: int) -> int:
        """Jobs for so many tasks."""
        return min(self._most, math.ceil(tasks / self._each))

    def submit(self, task: Task) -> None:
        """Leave a task for the first job that takes it."""
        if self.tasks is None:
            self.tasks = TaskFolder(Path(task["store"]) / FOLDER / uuid.uuid4().hex[:12])
            self.tasks.make()
        self.tasks.put(task)
        self._open[task["task"]] = task

    def wait(self, seconds: float) -> list[Answer]:
        """Answers that have come; the tasks of jobs that are gone answer with `died`."""
        end = time.monotonic() + seconds
        while self.tasks is not None and self._open:
            now = time.monotonic()
            if now - self._beat > BEAT:
                self.tasks.beat()
                self._beat = now
            if now - self._polled > LOOK:
                answers = self._look(self.tasks)
                self._polled = time.monotonic()
            else:
                answers = self._collect(self.tasks)
            if answers or now > end:
                return answers
            time.sleep(min(0.1, max(0.0, end - now)))
        return []

    def _collect(self, tasks: TaskFolder) -> list[Answer]:
        """The answers to tasks that have none yet."""
        return [answer for answer in tasks.collect() if self._open.pop(answer["task"], None) is not None]

    def _look(self, tasks: TaskFolder) -> list[Answer]:
        """Ask Slurm for the jobs: answer for those that are gone, and submit others where some are missing.

        What was taken is read before Slurm is asked: a job that does not run then had ended after that.
        """
        takers = tasks.takers()
        if set(takers.values()) - self._took:
            self._fruitless = 0
            self._took |= set(takers.values())
        states = self._states()
        answers = self._collect(tasks)
        if states is None:  # Slurm does not answer: jobs go on without it
            return answers
        for number, job in takers.items():
            if number in self._open and states.get(job) not in THERE:
                del self._open[number]
                message = f"job {job} has ended or was queued again ({states.get(job, 'GONE')})"
                answers.append({"task": number, "ok": False, "kind": DIED, "message": message})
        ended = {
            job: states.get(job, "GONE")
            for job in self._jobs
            if states.get(job, "GONE") not in QUEUED | THERE
        }
        for job, state in ended.items():
            del self._jobs[job]
            self._most -= state == "CANCELLED"
            self._fruitless += job not in self._took and state != "CANCELLED"
        if self._open and self._fruitless >= FRUITLESS:
            job, state = list(ended.items())[-1]
            self._keep_logs = True
            raise ScalinglabError(
                f"{self._fruitless} jobs in a row ended without having taken a task, the last, {job}, as "
                f"{state}: {self._last_words(tasks, job)} (logs: {tasks.path / 'jobs'}); every node must see "
                "the store's folder under this path, and this Python. What was stored is intact"
            )
        if self._open and self._most <= 0:
            raise ScalinglabError(
                "all jobs of the sweep were cancelled; what was stored is intact: sweep again"
            )
        if (missing := self._wanted(len(self._open)) - len(self._jobs)) > 0:
            self._submit_jobs(tasks, missing)
        return answers

    def _submit_jobs(self, tasks: TaskFolder, number: int) -> None:
        """Submit an array of jobs."""
        folder = tasks.path / "jobs"
        try:
            if self._cluster == "slurm":
                executor = self._submitit.SlurmExecutor(folder)
                executor.update_parameters(**self._options)
            else:
                executor = self._submitit.LocalExecutor(folder)
                executor.update_parameters(timeout_min=self._options["time"])
            paths = [path for path in sys.path if path]
            given = (str(tasks.path), self._each, self._device, max(1, int(self._cpus)), paths, SILENT)
            jobs = executor.map_array(serve, *([value] * number for value in given))
        except (RuntimeError, OSError) as error:  # no Slurm here, an option that it refuses
            raise ScalinglabError(f"Slurm did not take the jobs: {_last_line(str(error))}") from error
        self._jobs |= {str(job.job_id): job for job in jobs}

    def _states(self) -> dict[str, str] | None:
        """The states of this user's jobs by id; None where Slurm does not answer."""
        if self._cluster != "slurm":
            words = {"RUNNING": "RUNNING", "FINISHED": "COMPLETED"}
            return {name: words.get(job.state, "FAILED") for name, job in self._jobs.items()}
        command = ["squeue", "--me", "--noheader", "--array", "--states=all", "--format=%i %T"]
        try:
            out = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        except (OSError, subprocess.SubprocessError):
            return None
        lines = (line.split() for line in out.splitlines())
        return {words[0]: words[1] for words in lines if len(words) == 2}

    def _last_words(self, tasks: TaskFolder, job: str) -> str:
        """The last line of a job's log, if there is one."""
        for path in sorted((tasks.path / "jobs").rglob(f"{job}_*.err")):
            return _last_line(path.read_text("utf-8", errors="replace"))
        return "it left no log"

    def withdraw(self) -> list[int]:
        """Take back the tasks that no job has taken."""
        back = self.tasks.withdraw() if self.tasks is not None else []
        for number in back:
            del self._open[number]
        return back

    def leave(self) -> None:
        """Ask the jobs to save the states of their runs and to end."""
        if self.tasks is not None:
            self.tasks.say(LEAVE)

    def close(self) -> None:
        """Let the jobs end, and cancel those that do not or wait in the queue."""
        self._end(cancel=False)

    def kill(self) -> None:
        """Cancel the jobs: their workers save states as far as Slurm leaves them time."""
        self._end(cancel=True)

    def _end(self, cancel: bool) -> None:
        if self.tasks is None:
            return
        tasks, self.tasks, self._open = self.tasks, None, {}
        if not cancel:
            tasks.say(CLOSED)
        end, cancelled = time.monotonic() + END, set[str]()
        while self._jobs:
            late = time.monotonic() > end
            states = self._states() or dict.fromkeys(self._jobs, "RUNNING")
            self._jobs = {job: it for job, it in self._jobs.items() if states.get(job) in QUEUED | THERE}
            now = {job for job in self._jobs if cancel or late or states[job] in QUEUED} - cancelled
            for job in now:
                with contextlib.suppress(OSError, subprocess.SubprocessError):
                    self._jobs[job].cancel(check=False)
            if self._cluster == "slurm":  # an interrupt may be lost on a process that is just starting
                cancelled |= now
            if late:
                break
            time.sleep(0.2)
        tasks.say(CLOSED)
        if not self._keep_logs:
            tasks.remove()


def _last_line(text: str | bytes | None) -> str:
    """The last line of a program's output."""
    words = os.fsdecode(text or "").strip().splitlines()
    return words[-1].strip() if words else "no reason given"
