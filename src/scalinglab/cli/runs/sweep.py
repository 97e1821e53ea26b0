"""``scalinglab sweep``: run a grid of settings into a store, on this machine or a cluster."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from scalinglab.cli.shared.options import Json, a_folder
from scalinglab.cli.shared.output import emit
from scalinglab.errors import BadInput

LOADED = time.perf_counter()  # soon after the start of the process


def sweep(
    grid: Annotated[Path | None, typer.Argument(help="The grid as a TOML file, e.g. grid.toml.")] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="The store: the folder in which runs are saved. Default: runs/.", callback=a_folder
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Repeat the sweeps recorded in this store instead of reading a grid.",
            callback=a_folder,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the planned runs and their estimated cost; run nothing.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also repeat runs that failed.")
    ] = False,
    engine: Annotated[
        str, typer.Option(help="local (processes on this machine) or ray (a Ray cluster).")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(help="Number of tasks at a time, e.g. 4. Default: one per processor or GPU.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(help="Address of the Ray cluster, e.g. HOST:6379; auto for this machine's cluster."),
    ] = None,
    cpus: Annotated[float, typer.Option(help="CPUs per Ray task, e.g. 4.")] = 1,
    gpus: Annotated[
        float, typer.Option(help="GPUs per Ray task, e.g. 1; 0.5 puts two tasks on one GPU.")
    ] = 0,
    device: Annotated[
        str | None, typer.Option(help="Device, e.g. cpu or cuda. Default: GPUs if available.")
    ] = None,
    max_stacked: Annotated[
        int | None, typer.Option(help="Largest number of runs trained together in one task, e.g. 32.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a grid of settings. Repeat the command to continue: finished runs are skipped.

    scalinglab sweep grid.toml --store runs/ --dry-run

    scalinglab sweep grid.toml --store runs/

    scalinglab sweep grid.toml --engine ray --address auto --gpus 1

    scalinglab sweep --from runs/ --store again/
    """
    from scalinglab.sweep.pools.bytecode import keep_bytecode_here

    keep_bytecode_here()
    from scalinglab.store import Store
    from scalinglab.sweep.driver import again, as_grid, execute

    if (grid is None) == (source is None):
        raise BadInput("give a grid file or --from STORE, one of them")
    grids = [as_grid(grid)] if grid is not None else again(source or "")
    place = Store(store or source or "runs")
    outcomes = []
    for each in grids:
        if dry_run:
            outcomes.append(_dry_run(each, place, workers, max_stacked, device, retry_failed, as_json))
            continue
        outcome = execute(
            each, place, engine=engine, workers=workers, address=address, device=device, cpus=cpus, gpus=gpus,
            max_stacked=max_stacked, retry_failed=retry_failed,
        )  # fmt: skip
        counts = {kind: outcome.count(kind) for kind in dict.fromkeys(outcome.status.values())}
        took = {"seconds": round(outcome.seconds, 3), "phases": dict(outcome.phases)}
        outcomes.append({"store": str(place.path), "runs": len(outcome.status), **counts, **took})
        if not as_json:
            print(outcome.summary())
            print(f"in {place.path}; look at them with: scalinglab report {shlex.quote(str(place.path))}")
        if outcome.interrupted:
            raise typer.Exit(130)
    if as_json:
        emit(outcomes[0] if len(outcomes) == 1 else {"sweeps": outcomes}, as_json=True)
    if any(outcome.get("failed") for outcome in outcomes) and not dry_run:
        raise typer.Exit(1)


def _dry_run(
    grid: object, store: object, workers: int | None, max_stacked: int | None, device: str | None,
    retry_failed: bool, quiet: bool,
) -> dict[str, object]:  # fmt: skip
    from scalinglab.store import Store
    from scalinglab.support.phases import SECONDS
    from scalinglab.support.words import counted
    from scalinglab.sweep import Grid, make_plan
    from scalinglab.sweep.display import clock
    from scalinglab.sweep.pools.engines import default_workers
    from scalinglab.sweep.runner import load

    assert isinstance(grid, Grid)
    assert isinstance(store, Store)
    runner = load(grid.runner)
    devices = [device] if device else runner.devices()
    count = workers or default_workers(devices)
    plan = make_plan(
        grid,
        store,
        workers=count,
        max_stacked=max_stacked,
        device=devices[0],
        retry_failed=retry_failed,
        runner=runner,
    )
    plan.check_here(device)
    loading = time.perf_counter() - LOADED  # a sweep loads and plans the same
    estimate = plan.estimate(devices[0], loading)
    if not quiet:
        print(plan.summary())
        if plan.tasks:
            print(
                f"about {estimate['flops']:.2g} FLOPs and {clock(estimate['seconds'])}, "
                f"{clock(estimate['start_up'])} of them to start, from short trials of "
                f"{counted(estimate['timed'], 'task')}"
            )
    return {
        "runs": len(plan.runs), "done": len(plan.done), "failed": len(plan.failed),
        "missing": len(plan.missing), "tasks": len(plan.tasks), **estimate,
        "phases": {name: round(seconds, 3) for name, seconds in SECONDS.items()},
    }  # fmt: skip
