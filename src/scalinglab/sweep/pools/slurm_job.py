"""What a job of the Slurm engine does: it takes tasks from the sweep's folder until there are none."""

from __future__ import annotations

import importlib
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scalinglab.support.work import requests
from scalinglab.sweep.pools.local_engine import LocalPool
from scalinglab.sweep.pools.task_folder import CLOSED, LEAVE, TaskFolder

POLL = 0.2  # seconds between looks at the folder
IDLE = 120.0  # seconds without a task after which a job gives its place back


def serve(
    folder: str, workers: int, device: str | None, threads: int, paths: Sequence[str], patience: float
) -> None:
    """Do tasks in processes of this node until the driver or the scheduler ends it, or none comes.

    SIGTERM, which Slurm sends before it preempts, cancels or ends a job by its time, lets the workers save
    the states of their runs; their tasks are answered as lost, and other jobs go on from there.

    Args:
        folder: of the sweep's tasks.
        workers: how many tasks at a time.
        device: where they compute; None is the runner's choice.
        threads: of each worker's numerical libraries.
        paths: where the driver's Python found its modules.
        patience: seconds without a sign of the driver after which no more tasks are taken.
    """
    submitit: Any = importlib.import_module("submitit")
    sys.path += [path for path in paths if path not in sys.path]
    tasks, running, left = TaskFolder(Path(folder)), 0, False
    name = f"{submitit.JobEnvironment().job_id}.{uuid.uuid4().hex[:8]}"
    tasks.answer_for_earlier_starts(name)
    pool = LocalPool(workers, [device], threads)
    busy = time.monotonic()
    with requests() as asked:
        try:
            while not tasks.says(CLOSED):
                leave = asked.soon or tasks.says(LEAVE)
                if leave and not left:
                    pool.leave()
                    left = True
                if not leave and tasks.silent() < patience:
                    while running < workers and (task := tasks.take(name)) is not None:
                        pool.submit(task)
                        running += 1
                elif not running:
                    return
                for answer in pool.wait(POLL):
                    tasks.answer(name, answer)
                    running -= 1
                if running:
                    busy = time.monotonic()
                elif time.monotonic() - busy > IDLE:
                    return
        finally:
            pool.kill()
