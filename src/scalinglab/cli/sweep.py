"""``scalinglab sweep``: run a grid of settings into a store, on this machine or a cluster."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from scalinglab.cli.options import ARGUMENT, Folder
from scalinglab.cli.output import Output, say
from scalinglab.cli.registry import command
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    from scalinglab.store import Store
    from scalinglab.sweep import Grid

LOADED = time.perf_counter()  # soon after the start of the process


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
    cpus: float = 1,
    gpus: float = 0,
    device: str | None = None,
    max_stacked: int | None = None,
) -> Output:
    """Run a grid of settings. Repeat the command to continue: finished runs are skipped.

    scalinglab sweep grid.toml --store runs/ --dry-run

    scalinglab sweep grid.toml --store runs/ --workers 4 --max-stacked 32 --retry-failed

    scalinglab sweep grid.toml --engine ray --address auto --gpus 1 --cpus 4

    scalinglab sweep --from runs/ --store again/

    Args:
        grid: the grid as a TOML file, e.g. grid.toml.
        store: the store: the folder in which runs are saved. Default: runs/.
        from_: repeat the sweeps recorded in this store instead of reading a grid.
        dry_run: print the planned runs and their estimated cost; run nothing.
        retry_failed: also repeat runs that failed.
        engine: local (processes on this machine) or ray (a Ray cluster).
        workers: number of tasks at a time, e.g. 4. Default: one per processor or GPU.
        address: address of the Ray cluster, e.g. HOST:6379; auto for this machine's cluster.
        cpus: CPUs per Ray task, e.g. 4.
        gpus: GPUs per Ray task, e.g. 1; 0.5 puts two tasks on one GPU.
        max_stacked: largest number of runs trained together in one task, e.g. 32.
    """
    from scalinglab.sweep.pools.bytecode import keep_bytecode_here

    keep_bytecode_here()
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
    for each in grids:
        if dry_run:
            outcomes.append(_dry_run(each, place, **shared))
            continue
        outcome = execute(each, place, engine=engine, address=address, cpus=cpus, gpus=gpus, **shared)
        counts = {kind: outcome.count(kind) for kind in dict.fromkeys(outcome.status.values())}
        took = {"seconds": round(outcome.seconds, 3), "phases": dict(outcome.phases)}
        outcomes.append({"store": str(place.path), "runs": len(outcome.status), **counts, **took})
        say(outcome.summary())
        if outcome.interrupted:
            status = 130
            break
        if counts.get("failed"):
            status = 1
    where = f"in {place.path}; look at them with: scalinglab report {shlex.quote(str(place.path))}"
    document = outcomes[0] if len(outcomes) == 1 else {"sweeps": outcomes}
    return Output(document, text="", footer="" if dry_run else where, status=status)


def _dry_run(
    grid: Grid, store: Store, *, workers: int | None, device: str | None, max_stacked: int | None,
    retry_failed: bool,
) -> dict[str, Any]:  # fmt: skip
    """Print the plan of a sweep, and return it."""
    from scalinglab.support.phases import SECONDS
    from scalinglab.support.words import counted
    from scalinglab.sweep import make_plan
    from scalinglab.sweep.display import clock
    from scalinglab.sweep.pools.engines import default_workers
    from scalinglab.sweep.runner import load

    runner = load(grid.runner)
    devices = [device] if device else runner.devices()
    plan = make_plan(
        grid, store, workers=workers or default_workers(devices), max_stacked=max_stacked, device=devices[0],
        retry_failed=retry_failed, runner=runner,
    )  # fmt: skip
    plan.check_here(device)
    estimate = plan.estimate(devices[0], time.perf_counter() - LOADED)  # a sweep loads and plans the same
    say(plan.summary())
    if plan.tasks:
        say(
            f"about {estimate['flops']:.2g} FLOPs and {clock(estimate['seconds'])}, "
            f"{clock(estimate['start_up'])} of them to start, from short trials of "
            f"{counted(estimate['timed'], 'task')}"
        )
    return {
        "runs": len(plan.runs), "done": len(plan.done), "failed": len(plan.failed),
        "missing": len(plan.missing), "tasks": len(plan.tasks), **estimate,
        "phases": {name: round(seconds, 3) for name, seconds in SECONDS.items()},
    }  # fmt: skip
