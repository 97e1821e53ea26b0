"""The runner that trains networks with `scalinglab.train`.

Any module with these functions is a runner (`scalinglab.sweep.runner.Runner`); workers import it by its
dotted name.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from scalinglab.data.sources import SOURCES
from scalinglab.errors import BadInput, require, usable_device
from scalinglab.store import Store
from scalinglab.support.work import phase

Setting = dict[str, Any]


def _setting(setting: Mapping[str, Any]) -> Any:
    from scalinglab.train.setting import Setting

    return Setting.from_dict(setting)


def identity(setting: Mapping[str, Any]) -> Setting:
    """The complete setting; unknown, missing and contradictory keys are errors."""
    s = _setting(setting)
    source = SOURCES.get(s.dataset)
    here = s.own_data().n_data if s.owns("dataset") else source.n_train if source else math.inf
    if (s.n_data or 0) > here:
        raise BadInput(f"n_data={s.n_data}: {s.dataset} has {here} training examples")
    return dict(s.identity())


def alike(settings: Sequence[Setting]) -> list[list[Setting]]:
    """Group settings that can be trained together; on a GPU all small perceptrons are one group."""
    torch = require("torch", "train", "Training")
    from scalinglab.train.engine import group, mixes

    place = torch.device("cuda" if _cuda(None) else "cpu")
    groups = group([_setting(s) for s in settings], place, max_stacked=len(settings))
    if place.type == "cuda":
        mixed = [s for members in groups if mixes(members[0], place) for s in members]
        groups = [members for members in groups if not mixes(members[0], place)] + ([mixed] if mixed else [])
    return [[dict(s.identity()) for s in members] for members in groups]


def cost(setting: Setting) -> float:
    """How long a run takes, in units that only compare runs: steps × batch × width² × depth."""
    s = _setting(setting)
    size = int(s.n_data or 1)
    return float(s.total_steps(size) * s.batch(size) * s.width**2 * (s.depth or 1))


def memory(setting: Setting, device: str | None = None) -> float:
    """Bytes that one run adds to a group: copies of its weights, and activations with their gradients."""
    torch = require("torch", "train", "Training")
    from scalinglab.train.memory import of_run

    return of_run(_setting(setting), torch.device("cuda" if _cuda(device) else "cpu"))


def capacity(device: str | None) -> int:
    """The largest number of runs in a task."""
    return 256 if _on_gpu(device) else 16


def memory_limit(device: str | None, workers: int) -> float:
    """Bytes that a task may take: most of what is free now, shared by the workers.

    On a GPU a task may hold any number of runs: its worker trains as many at a time as there is memory for.
    """
    if _on_gpu(device):
        return math.inf
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**32
    # the rest is for Python and its libraries, and for what an estimate misses
    return 0.7 * free / workers


def devices() -> list[str | None]:
    """The devices of this machine: its GPUs, or None for the processor."""
    torch = require("torch", "train", "Training")
    return [f"cuda:{k}" for k in range(torch.cuda.device_count())] or [None]


def check_here(settings: Sequence[Setting], device: str | None) -> None:
    """Raise if this machine lacks a device or data set that the runs need."""
    from scalinglab import data

    if device:
        usable_device(device)
    for name in {setting["dataset"] for setting in settings} & {*SOURCES}:
        if data.available(name) is None:
            data.load(name)  # says where it looked and how to get it


def tell_changes(settings: Sequence[Setting], store: Store) -> None:
    """Warn where the store has the same runs with another network, loss and so on behind the same names."""
    from scalinglab.train.own import references

    new = [setting for setting in settings if setting.get("code")]
    if new and Store.is_store(store.path):
        references.tell_changes([s for s in new if not store.done(s)], store)


def _on_gpu(device: str | None) -> bool:
    """Whether tasks compute on a GPU, maybe of another machine."""
    return (device or "").startswith("cuda") or _cuda(device)


def _cuda(device: str | None) -> bool:
    torch = require("torch", "train", "Training")
    return bool(torch.cuda.is_available()) and (device is None or device.startswith("cuda"))


def probe(settings: Sequence[Setting], device: str | None = None) -> dict[str, Any]:
    """Seconds and FLOPs of a task from short trainings, and how long these took."""
    from scalinglab.sweep import timing

    return timing.probe(settings, "cuda" if _cuda(device) else "cpu")


def trials(
    tasks: Sequence[Sequence[Setting]], workers: int, device: str | None, loading: float
) -> dict[str, Any]:
    """Time some tasks, and the seconds that a sweep takes to its first step."""
    from scalinglab.sweep import timing

    if _cuda(device):
        return timing.trials_on_a_gpu(tasks, device, loading)
    return timing.trials_side_by_side(tasks, workers, device, loading)


def prepare(settings: Sequence[Setting], device: str | None) -> None:
    """Import modules, start the device and load the data, before the first task.

    The data are read in a thread while the compiler is imported.
    """
    with phase("importing PyTorch"):
        import torch
    with phase("imports"):
        import scalinglab.train.engine  # noqa: F401  (which `work` needs)
        from scalinglab.train.batches import dataset_of
        from scalinglab.train.jobs import resident_of
    setting = _setting(settings[0])
    reading = threading.Thread(target=_quietly, args=(dataset_of, setting), name="scalinglab-data")
    reading.start()
    if setting.compile:
        with phase("importing the compiler"):
            import torch._dynamo
            import torch._inductor.compile_fx
    with phase("device"):
        place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.zeros(1, device=place)
    with phase("data"):
        reading.join()
        resident_of(dataset_of(setting), place)


def _quietly(function: Callable[..., object], *arguments: object) -> None:
    """Call a function that caches its result; an error is raised at the next call."""
    with suppress(Exception):
        function(*arguments)


def work(
    settings: Sequence[Setting],
    store: Store,
    experiment: str | None = None,
    device: str | None = None,
    group: Sequence[Setting] = (),
) -> None:
    """Train the runs into the store; runs of the group that are done train along, for the same bits."""
    from scalinglab.train.engine import train_into

    train_into(store, settings, group or settings, experiment=experiment, device=device)
