"""``scalinglab train``: a few networks now; ``scalinglab sweep``: a grid, on this machine or a cluster."""

from __future__ import annotations

import shlex
import time
import tomllib
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from scalinglab.cli.options import ARGUMENT, Folder, Typed, numbers, pairs, whole
from scalinglab.cli.output import Output, for_programs, resumable, say
from scalinglab.cli.registry import command
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from scalinglab.curves import Curves
    from scalinglab.store import Store
    from scalinglab.sweep import Grid

LOADED = time.perf_counter()  # soon after the start of the process
LENGTHS = ("epochs", "steps", "min_epochs", "min_steps")
OPTIONS = ("model", "dataset", "n_data", "seed", "epochs", "learning_rate", "batch_size", "width")
EPOCHS = 10  # the default length
SHOWN = ("n_data", "seed", "step", "train_loss", "test_loss", "test_error", "best_error", "norm", "status")


def _keys(option: str, texts: list[str]) -> dict[str, Any]:
    """``["momentum=0.9", "optimizer=sgd"]`` to a setting; values as in TOML, words without quotes."""
    found: dict[str, Any] = {}
    for key, value in pairs(option, texts, "KEY=VALUE, as in --set optimizer=sgd"):
        if key in OPTIONS:
            raise BadInput(f"{option} {key}={value}: use --{key.replace('_', '-')} for it")
        try:
            found[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[key] = value
    return found


def _sizes(option: str, text: str) -> list[int]:
    """Data sizes; a log range is rounded to whole examples."""
    values = numbers(option, text)
    if ":" in text:
        values = values.round()
    return list(dict.fromkeys(whole(option, value) for value in values))


@command("train")
def train(
    model: str = "mlp",
    dataset: str = "digits",
    n_data: Annotated[list[int] | None, Typed(str, _sizes)] = None,
    seed: int = 0,
    seeds: int = 1,
    epochs: float | None = None,
    learning_rate: float | None = None,
    batch_size: int | None = None,
    width: float | None = None,
    set_: Annotated[dict[str, Any] | None, Typed(list[str], _keys)] = None,
    store: Folder | None = None,
    device: str | None = None,
) -> Output:
    """Train a network at one data size or several and follow loss, error and norm.

    scalinglab train --model mlp --dataset digits --n-data 500

    scalinglab train --model cnn --dataset mnist --n-data 100:10000:7 --seeds 3 --store runs/

    scalinglab train --dataset mnist --batch-size 64 --epochs 20 --seed 10 --device cuda

    scalinglab train --set optimizer=sgd --set momentum=0.9 --set steps=2000 --learning-rate 0.1 --width 2

    Args:
        model: the network, e.g. mlp, cnn, resnet, vit or decoder.
        dataset: the data set, e.g. digits ('data list' shows all), text or teacher_student.
        n_data: training examples: 500, 100,300,1000 or low:high:points (log). Default: all.
        seed: random seed of initial weights, batch order and data subset.
        seeds: number of runs per size, with consecutive seeds, e.g. 3.
        epochs: training length in epochs. Default: 10, or as given by --set.
        learning_rate: learning rate. Default: 1e-3.
        batch_size: batch size. Default: 128.
        width: width multiplier of the network, e.g. 0.5; 1 is the published width.
        set_: any other key of a setting, KEY=VALUE, e.g. optimizer=sgd. Repeatable.
        store: a store (folder) in which runs are saved; finished runs are skipped.
    """
    import scalinglab as sl

    if seeds < 1:
        raise BadInput(f"--seeds {seeds} must be 1 or more")
    given = {"epochs": epochs, "learning_rate": learning_rate, "batch_size": batch_size, "width": width}
    setting: dict[str, Any] = {"model": model, "dataset": dataset, **(set_ or {})}
    setting |= {key: value for key, value in given.items() if value is not None}
    if not any(key in setting for key in LENGTHS):
        setting["epochs"] = EPOCHS
    sizes = [{}] if n_data is None else [{"n_data": size} for size in n_data]
    settings = [{**setting, **size, "seed": seed + i} for size in sizes for i in range(seeds)]
    with resumable() if store is not None else nullcontext():
        curves = sl.train.run_many(settings, store=store, device=device, progress=not for_programs())
    if store is None:
        footer = "nothing was saved: --store FOLDER saves the runs, --out FILE.csv the curves"
    else:
        footer = f"saved in {store}; look at them with: scalinglab report {shlex.quote(str(store))}"
    return Output(
        {"store": None if store is None else str(store), "curves": curves.frame.to_dict("list")},
        curves.frame,
        shown=_last(curves),
        title=f"{setting['model']} on {setting['dataset']}, the end of every run",
        footer=footer,
    )


def _last(curves: Curves) -> pd.DataFrame:
    """The last checkpoint of every run, beside the smallest test error on the way."""
    runs = curves.frame.groupby("run", sort=False)
    table = runs.tail(1).set_index("run").sort_values(["n_data", "seed"])
    table["best_error"] = runs["test_error"].min() if "test_error" in table else float("nan")
    if (table["status"] == "done").all():
        table = table.drop(columns="status")
    return table[[c for c in SHOWN if c in table and table[c].notna().any()]]


@command("sweep", out=False)
def sweep(
    grid: Annotated[Path | None, ARGUMENT] = None,
    store: Folder | None = None,
    from_: Folder | None = None,
    dry_run: bool = False,
    retry_failed: bool = False,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    partition: str | None = None,
    hours: float | None = None,
    cpus: float = 1,
    gpus: float = 0,
    device: str | None = None,
    max_stacked: int | None = None,
) -> Output:
    """Run a grid of settings. Repeat the command to continue: finished runs are skipped.

    scalinglab sweep grid.toml --store runs/ --dry-run

    scalinglab sweep grid.toml --store runs/ --workers 4 --max-stacked 32 --retry-failed

    scalinglab sweep grid.toml --engine ray --address auto --gpus 1 --cpus 4

    scalinglab sweep grid.toml --engine slurm --partition gpu --gpus 8 --hours 4 --dry-run

    scalinglab sweep --from runs/ --store again/

    Args:
        grid: the grid as a TOML file, e.g. grid.toml.
        store: the store: the folder in which runs are saved. Default: runs/.
        from_: repeat the sweeps recorded in this store instead of reading a grid.
        dry_run: print the planned runs and their estimated cost, or the jobs for Slurm; run nothing.
        retry_failed: also repeat runs that failed.
        engine: local (processes on this machine), ray (a Ray cluster) or slurm (jobs of a cluster).
        workers: number of tasks at a time, e.g. 4. Default: one per processor or GPU.
        address: address of the Ray cluster, e.g. HOST:6379; auto for this machine's cluster.
        partition: Slurm partition of the jobs. Default: the cluster's.
        hours: time limit of a Slurm job, e.g. 12; another one follows while tasks are left. Default: 4.
        cpus: CPUs per task on Ray and Slurm, e.g. 4.
        gpus: GPUs per Ray task, e.g. 1; 0.5 puts two tasks on one GPU. On Slurm: GPUs in all, one job each.
        max_stacked: largest number of runs trained together in one task, e.g. 32.
    """
    from scalinglab.sweep.pools.local_engine import keep_bytecode

    keep_bytecode()
    from scalinglab.store import Store
    from scalinglab.sweep.driver import as_grid, execute, grids_in

    if (grid is None) == (from_ is None):
        raise BadInput("give a grid file or --from STORE, one of them")
    grids = [as_grid(grid)] if grid is not None else grids_in(from_ or "")
    place = Store(store or from_ or "runs")
    shared: dict[str, Any] = {
        "workers": workers, "device": device, "max_stacked": max_stacked, "retry_failed": retry_failed
    }  # fmt: skip
    outcomes: list[dict[str, Any]] = []
    status = 0
    cluster: dict[str, Any] = {"partition": partition, "hours": hours, "cpus": cpus, "gpus": gpus}
    for each in grids:
        if dry_run:
            outcomes.append(_dry_run(each, place, engine=engine, cluster=cluster, **shared))
            continue
        outcome = execute(each, place, engine=engine, address=address, **cluster, **shared)
        counts = {kind: outcome.count(kind) for kind in dict.fromkeys(outcome.status.values())}
        took = {"seconds": round(outcome.seconds, 3), "phases": dict(outcome.phases)}
        outcomes.append({"store": str(place.path), "runs": len(outcome.status), **counts, **took})
        say(outcome.summary())
        if outcome.interrupted:
            status = 130
            break
        if counts.get("failed") or outcome.left:
            status = 1
    where = f"in {place.path}; look at them with: scalinglab report {shlex.quote(str(place.path))}"
    document = outcomes[0] if len(outcomes) == 1 else {"sweeps": outcomes}
    return Output(document, text="", footer="" if dry_run else where, status=status)


def _dry_run(
    grid: Grid, store: Store, *, engine: str, cluster: dict[str, Any], workers: int | None,
    device: str | None, **how: Any,
) -> dict[str, Any]:  # fmt: skip
    """Print the plan of a sweep, with its estimated cost or the batch script for Slurm, and return it."""
    from scalinglab.support.words import counted
    from scalinglab.support.work import SECONDS
    from scalinglab.sweep import make_plan
    from scalinglab.sweep.display import clock
    from scalinglab.sweep.pools.local_engine import default_workers
    from scalinglab.sweep.pools.slurm_engine import SlurmPool
    from scalinglab.sweep.runner import load

    runner, pool = load(grid.runner), None
    if engine == "slurm":
        pool = SlurmPool(workers, **cluster)
        devices, workers = [device or ("cuda" if cluster["gpus"] else None)], pool.slots
    else:
        devices = [device] if device else runner.devices()
    workers = workers or default_workers(devices)
    plan = make_plan(grid, store, workers=workers, device=devices[0], runner=runner, **how)
    if pool is None:
        plan.check_here(device)
    say(plan.summary())
    counts = {
        "runs": len(plan.runs), "done": len(plan.done), "failed": len(plan.failed),
        "missing": len(plan.missing), "tasks": len(plan.tasks),
    }  # fmt: skip
    if pool is not None:
        script = pool.script(store.path, len(plan.tasks)) if plan.tasks else ""
        if not for_programs():
            print(script or "nothing is left to submit")  # as it is: a wrapped line is no command
        return {**counts, "script": script}
    estimate = plan.estimate(devices[0], time.perf_counter() - LOADED)  # a sweep loads and plans the same
    if plan.tasks:
        say(
            f"about {estimate['flops']:.2g} FLOPs and {clock(estimate['seconds'])}, "
            f"{clock(estimate['start_up'])} of them to start, from short trials of "
            f"{counted(estimate['timed'], 'task')}"
        )
    phases = {name: round(seconds, 3) for name, seconds in SECONDS.items()}
    return {**counts, **estimate, "phases": phases}
