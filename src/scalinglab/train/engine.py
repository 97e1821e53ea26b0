"""`run` and `run_many`: from settings to curves.

Runs that share network, data, batch size and optimizer form a group and train together (`replicas`); runs
may differ in seeds, sizes, learning rates and length, and small perceptrons on a GPU also in batch size. At
log-spaced checkpoints the engine reads training and test loss and error, norms, and whatever the setting asks
for; with a store every row is on disk at once, and a killed run goes on from its state to the same curve.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from scalinglab import nets
from scalinglab.curves import Curves
from scalinglab.errors import BadInput, usable_device
from scalinglab.measure import flops
from scalinglab.measure.free_memory import free_memory
from scalinglab.store import Store
from scalinglab.support.validation import checked
from scalinglab.support.work import STOPPED, Request, phase, requests, track
from scalinglab.train.batches import dataset_of
from scalinglab.train.checkpoints import state as states
from scalinglab.train.checkpoints.extra_measurements import Reading
from scalinglab.train.checkpoints.saving import Saving
from scalinglab.train.jobs import Job, resident_of, size_of
from scalinglab.train.kernels import fused_mlp
from scalinglab.train.memory import SHARE
from scalinglab.train.own.references import taken_in, tell_changes
from scalinglab.train.replicas import program, streams
from scalinglab.train.setting import Setting, with_torch_optimizer
from scalinglab.train.training_step import initial_parameters, is_own, kind_of, probe

POLL_SECONDS = 2e-4  # seconds that the host rests when every group has its turns queued
SAVE_EVERY = 60.0  # seconds
STREAMS = 8  # groups that share a GPU
DRAWING = 4  # threads that draw initial weights
# the largest stack, and the operations a step below which runs are stacked
STACK = {"cpu": (16, 1e9), "cuda": (64, 5e8)}
# networks of the user's own on a CPU: the stack of those whose steps are calls more than work, and what these
# take at most: chosen; benchmarks/own_model.py --part stacks compares
LARGEST, SMALL = 64, 1e7
MIXED = 3e5  # operations for one example below which small batches of different sizes are stacked on a CPU


@checked
def run(
    setting: Setting | Mapping[str, Any],
    *,
    store: Store | str | Path | None = None,
    device: str | None = None,
    progress: bool = True,
    extra: Reading | None = None,
    **own: Any,
) -> Curves:
    """Train one network and return its curves.

    Args:
        setting: a `Setting`, or a dictionary of its fields.
        store: where to keep rows and state, so that a killed run can go on; None keeps nothing.
        device: "cpu", "cuda", …; the GPU where there is one, by default.
        progress: show a bar in an interactive terminal.
        extra: called with the network, in evaluation mode, at every checkpoint; returns further columns, as
            in ``extra=lambda model: {"kernel": sl.measure.ntk(model, x).trace()}``. Arrays among them are
            kept in the store, `Store.arrays(run)`, and nowhere without one.
        own: `model`, `data`, `loss` and so on, as in `run_many`.

    Returns:
        One row a checkpoint: `step`, `epoch`, `examples`, `compute`, `train_loss`, `train_error`,
        `test_loss`, `test_error`, `norm` and `norm_*`. For early stopping take ``curves.best("test_error")``.
    """
    return run_many([setting], store=store, device=device, progress=progress, extra=extra, **own)


@checked
def run_many(
    settings: Iterable[Setting | Mapping[str, Any]],
    *,
    model: Any = None,
    data: Any = None,
    loss: Any = None,
    optimizer: Any = None,
    schedule: Any = None,
    metrics: Any = None,
    version: str | None = None,
    store: Store | str | Path | None = None,
    device: str | None = None,
    max_stacked: int | None = None,
    progress: bool = True,
    experiment: str | None = None,
    save_every: float = SAVE_EVERY,
    extra: Reading | None = None,
) -> Curves:
    """Train many networks at once on one device and return all their curves.

    Args:
        settings: in any order, a list or what `scalinglab.grid` makes; equal ones are trained once. Those
            that are done in the store are not trained again.
        model: the network of all settings: a function of the setting that makes one, a class, a network whose
            weights every run starts from, "module:name", or a built-in name.
        data: (x, y, test_x, test_y) as tensors or arrays, a pair of PyTorch data sets, a function that
            returns either, "module:function", or a built-in name.
        loss: a function of (outputs, targets) of a batch, or a name.
        optimizer: a class as those of `torch.optim`, a function of (parameters, setting), or a name.
        schedule: a function of (step, steps) that returns the factor on the learning rate, or a name.
        metrics: functions of (outputs, targets) of the whole test set, by the names of their columns.
        version: text of your choice that stands for your code in the identity of the runs. Without it, a
            fingerprint of the code is used, and changed code makes new runs.
        max_stacked: the largest number of runs whose parameters are stacked; default: chosen by the
            network's size. On a GPU, groups run concurrently, each on its own stream.
        experiment: the study the runs belong to.
        save_every: seconds, at least, between two states that a killed run can go on from (with a store);
            large states are written less often, so that they take 2 % of the time. 0 writes one at every
            checkpoint.

    See `run` for the rest.
    """
    if isinstance(settings, (Setting, Mapping)):
        raise BadInput("run_many takes a list of settings; for a single one there is run")
    given = {"model": model, "dataset": data, "loss": loss, "optimizer": optimizer, "schedule": schedule}
    given |= {"metrics": metrics, "version": version}
    wanted = {s.run: s for s in with_own(settings, {k: v for k, v in given.items() if v is not None})}
    if not wanted:
        raise BadInput("no settings: give at least one")
    kept = None if store is None else Store.of(store)
    todo = [s for s in wanted.values() if kept is None or not kept.done(s.identity())]
    if kept is not None:
        tell_changes([s.identity() for s in todo], kept)
    jobs = _train(todo, todo, kept, device, max_stacked, progress, experiment, save_every, extra)
    if kept is not None:
        return kept.curves().select(run=list(wanted))
    return Curves.concat([job.curves() for job in jobs])


def train_into(
    store: Store,
    settings: Sequence[Mapping[str, Any]],
    together: Sequence[Mapping[str, Any]],
    *,
    device: str | None = None,
    experiment: str | None = None,
    save_every: float = SAVE_EVERY,
) -> None:
    """Train runs into a store, in the groups of an earlier training that was interrupted.

    Args:
        store: where rows and states are kept.
        settings: of the runs to train; those that are done by now are left alone.
        together: all settings that were planned with them, in the same order, done or not. Groups are formed
            of these. Finished runs of a group are trained again, without being written, so that the
            remaining ones get exactly the numbers of an uninterrupted training.
    """
    wanted = [s for s in map(as_setting, settings) if not store.done(s.identity())]
    everything = list(map(as_setting, together))
    _train(wanted, everything, store, device, None, False, experiment, save_every, None)


def _train(
    wanted: Sequence[Setting], together: Sequence[Setting], store: Store | None, device: str | None,
    max_stacked: int | None, progress: bool, experiment: str | None, save_every: float, extra: Reading | None,
) -> list[Job]:  # fmt: skip
    """Train the wanted runs, in groups formed of `together`; returns the finished jobs."""
    place = torch.device(
        usable_device(device) if device else ("cuda" if torch.cuda.is_available() else "cpu")
    )
    names = {s.run for s in wanted}
    saving = Saving(save_every)
    jobs = [
        Job(members, place, store, experiment, saving, names, extra)
        for members in group(together, place, max_stacked, store)
        if any(s.run in names for s in members)
    ]
    if progress:
        print_how(jobs, place)
    total = sum(job.checkpoints for job in jobs)
    try:
        with requests(store is not None) as request:
            work = work_through(jobs, place, request)
            for _ in track(work, "training", total=total) if progress else work:
                pass
    finally:
        # also after an error: whoever resumes next finds the state that is being written now
        saving.close()
    return jobs


def as_setting(setting: Setting | Mapping[str, Any]) -> Setting:
    """A setting from what the user gave."""
    if not isinstance(setting, (Setting, Mapping)):
        raise BadInput(f"a setting is a dictionary or a Setting, not {type(setting).__name__}")
    return setting if isinstance(setting, Setting) else Setting.from_dict(setting)


def with_own(settings: Iterable[Setting | Mapping[str, Any]], given: Mapping[str, Any]) -> list[Setting]:
    """Settings with the user's own network, data and so on filled in; fingerprints are computed once."""
    own = taken_in(with_torch_optimizer(given))
    code = own.pop("code", {})
    defaults = {name: own.pop(name) for name in list(own) if name not in given}  # of a class of torch.optim
    found = []
    for setting in settings:
        if isinstance(setting, Mapping) and own:
            merged = {**defaults, **setting, **own}
            if code or setting.get("code"):
                merged["code"] = {**setting.get("code", {}), **code}
            if "loss" not in merged and given.get("dataset") is not None:
                # the data do not depend on the loss: any one serves to ask whether they have classes
                data = dataset_of(as_setting({**merged, "loss": "mse"}))
                merged |= {} if data.n_classes else {"loss": "mse"}
            setting = merged
        elif own:
            raise BadInput("model, data and so on go with settings that are dictionaries, not with a Setting")
        found.append(as_setting(setting))
    return found


# --- which runs go together ----------------------------------------------------------------------


def group(
    settings: Sequence[Setting],
    device: torch.device,
    max_stacked: int | None = None,
    store: Store | None = None,
) -> list[list[Setting]]:
    """Group settings that can be trained as one stack, at most `max_stacked` in a group.

    Runs that were interrupted together stay together, since they resume from one state.
    """
    if max_stacked is not None and max_stacked < 1:
        raise BadInput(f"max_stacked={max_stacked} must be at least 1")
    left = {s.run: s for s in settings}
    groups = _groups_with_states(left, store) if store is not None else []
    alike: dict[str, list[Setting]] = {}
    for s in left.values():
        batch = fused_mlp.bracket(s.batch(size_of(s))) if mixes(s, device) else None
        alike.setdefault(kind_of(s, batch), []).append(s)
    for members in alike.values():
        # those that end together stay together, then those of similar batches
        members.sort(key=lambda s: (s.total_steps(size_of(s)), s.batch(size_of(s))))
        size = max_stacked or stack_size(members[0], device)
        groups += [members[start : start + size] for start in range(0, len(members), size)]
    return groups


def _groups_with_states(left: dict[str, Setting], store: Store) -> list[list[Setting]]:
    """The groups that have a saved state in the store; their runs are removed from `left`."""
    groups = []
    for runs in states.groups(store.path / "state"):
        if any(name in left for name in runs):
            groups.append([Setting.from_dict(identity) for identity in runs.values()])
            for name in runs:
                left.pop(name, None)
        elif all(store.done(identity) for identity in runs.values()):  # killed between its end and `forget`
            states.forget(store.path / "state", list(runs))
    return groups


def mixes(setting: Setting, device: torch.device) -> bool:
    """Whether runs that differ in batch size share a stack.

    On a GPU where there are kernels for it. On a CPU smaller batches are filled up, which pays where a step
    costs calls more than work: small batches of small perceptrons (benchmarks/training.py, part mixing).
    """
    if setting.owns("loss") or setting.owns("optimizer"):  # which know of whole batches alone
        return False
    if device.type != "cpu" or setting.model != "mlp" or setting.batch_norm or setting.full_batch:
        return fused_mlp.suits(setting, device)
    batch = setting.batch(size_of(setting))
    if batch != setting.batch_size or batch > fused_mlp.SMALL:  # one of all examples stays by itself
        return False
    kind = setting.kind("any")
    if kind not in _COSTS:
        _COSTS[kind] = step_flops(setting) / batch
    return _COSTS[kind] < MIXED


_COSTS: dict[str, float] = {}  # operations for one example, by kind


def step_flops(setting: Setting) -> float:
    """Operations of one training step of a setting's network."""
    dataset = dataset_of(setting)
    if setting.owns("model"):
        return probe(setting).cost.step * setting.batch(size_of(setting))
    options = dict(setting.model_options) | ({} if setting.dropout is None else {"dropout": setting.dropout})
    # no weights are drawn, with what the compiler loads anyway and otherwise takes longer than they do
    with torch.device("meta") if setting.compile else nullcontext():
        model = nets.build(
            setting.model, dataset.input_shape, dataset.n_outputs, width=setting.width, depth=setting.depth,
            batch_norm=setting.batch_norm, **options,
        )  # fmt: skip
    return float(flops(model, dataset.input_shape, setting.batch(size_of(setting))).step)


def stack_size(setting: Setting, device: torch.device) -> int:
    """How many runs of this network to stack: many if it is small, one if it is large.

    Stacking saves the cost of calling each operation; a network whose operations are large gains nothing
    and runs faster by itself. Both limits are measured: benchmarks/training.py, parts stacking (CPU) and
    scaling (GPU). Kernels for small networks take as many as there are, up to a limit.
    """
    if fused_mlp.suits(setting, device):
        parameters = step_flops(setting) / (6 * setting.batch(size_of(setting)))  # dense: 6 operations each
        # a weight and its momentum, in fp32
        return max(1, min(fused_mlp.STACK, int(fused_mlp.STACK_BYTES / (8 * parameters))))
    if is_own(setting) and not probe(setting).abilities.stacks:
        return 1
    largest, limit = STACK.get(device.type, (1, 0.0))
    operations = step_flops(setting)
    if device.type == "cpu" and setting.owns("model") and operations < SMALL:
        return LARGEST
    return largest if largest > 1 and operations < limit else 1


def print_how(jobs: Sequence[Job], device: torch.device) -> None:
    """Print one line for each of the user's own networks: how its runs are trained, and why."""
    printed = dict[str, tuple[str, int]]()
    for job in jobs:
        setting = job.settings[0]
        if is_own(setting):
            largest = max(len(job.settings), printed.get(setting.model, ("", 0))[1])
            printed[setting.model] = how(setting, largest, device), largest
    for name, (text, _) in printed.items():
        print(f"{name}: {text}", file=sys.stderr)


def how(setting: Setting, runs: int, device: torch.device) -> str:
    """How runs of a network of the user's own are trained, and why."""
    abilities = probe(setting).abilities
    gpu = device.type == "cuda"
    beside = "side by side on streams" if gpu else "one after the other"
    graphs = ", steps captured as CUDA graphs" if gpu and abilities.stacks else ""
    if not abilities.stacks:
        return f"runs train {beside}: {abilities.why}"
    if runs > 1:
        return f"up to {runs} runs train as one stack (torch.func){graphs}"
    limit = STACK.get(device.type, (1, 0.0))[1]
    if step_flops(setting) >= limit:
        return (
            f"runs train {beside}{graphs}: a step has more than {limit:.0e} operations, a stack gains nothing"
        )
    return f"one run by itself{graphs}: no other shares its shapes, batch size and optimizer"


# --- all groups at work ----------------------------------------------------------------------


@dataclass
class Turn:
    """What a job does next, the bytes it takes, its stream, how it leaves, what it waits for."""

    work: Iterator[int | Callable[[], bool]]
    memory: float
    stream: torch.cuda.Stream
    leave: Callable[[], None]
    until: Callable[[], bool] | None = None


def work_through(jobs: list[Job], device: torch.device, request: Request) -> Iterator[int]:
    """Execute the jobs: sequentially on a CPU; interleaved on streams on a GPU, as many as memory holds.

    Where the process is asked to end, those that are at work save a state and `KeyboardInterrupt` is raised.
    """
    if device.type != "cuda":
        for job in jobs:
            for rows in job.work():
                assert isinstance(rows, int)  # a CPU computes at once
                yield from range(rows)
                if request.soon:
                    job.leave()
                    raise KeyboardInterrupt(STOPPED)
        return
    # the longest first, so that no single one is left at the end
    waiting = sorted(jobs, key=lambda job: -max(job.schedules[s.run][-1] for s in job.settings))
    free = streams(device, STREAMS)
    active: list[Turn] = []
    limit = SHARE * free_memory(device)
    with ThreadPoolExecutor(DRAWING, thread_name_prefix="scalinglab-draw") as drawing:
        while waiting or active:
            while waiting and free and fits_beside(waiting[0], active, limit):
                job, stream = waiting.pop(0), free.pop()
                for soon in (job, *waiting[:STREAMS]):
                    _draw_ahead(soon, drawing)
                active.append(Turn(job.work(), job.memory, stream, job.leave))
            if request.soon:
                for turn in active:
                    # on its own stream, so that the state is read after the steps that are queued there
                    with torch.cuda.stream(turn.stream):
                        turn.leave()
                raise KeyboardInterrupt(STOPPED)
            moved = False
            for turn in list(active):
                if turn.until is not None and not turn.until():  # asked last: the turn before may change it
                    continue
                moved = True
                with torch.cuda.stream(turn.stream):
                    try:
                        found = next(turn.work)
                    except StopIteration:
                        active.remove(turn)
                        free.append(turn.stream)
                        continue
                turn.until = None if isinstance(found, int) else found
                if isinstance(found, int):
                    yield from range(found)
            if not moved:
                with phase("waiting for the GPU"):
                    while not any(turn.until is None or turn.until() for turn in active):
                        time.sleep(POLL_SECONDS)


def fits_beside(job: Job, active: Sequence[Turn], limit: float) -> bool:
    """Whether a job can start beside the active ones; one by itself always can."""
    return not active or job.memory + sum(turn.memory for turn in active) <= limit


def _draw_ahead(job: Job, drawing: ThreadPoolExecutor) -> None:
    """Draw a job's initial weights while others train."""
    if job.initial is None:
        resident = resident_of(dataset_of(job.settings[0]), job.device)
        model = program(job.settings[0], resident, len(job.settings)).model
        if not job.settings[0].owns("model"):  # whose factory may not be called beside another
            job.initial = drawing.submit(initial_parameters, job.settings, model, resident)
