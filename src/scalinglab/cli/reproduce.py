"""``scalinglab reproduce``: reproduce a figure or table of a paper, list them, or check their records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scalinglab.cli.output import emit, resumable
from scalinglab.cli.shared.options import Json, Out

if TYPE_CHECKING:
    from scalinglab.studies import Entry
    from scalinglab.studies.records import Checked


def reproduce(
    key: Annotated[
        str, typer.Argument(help="'list', 'check', a paper, or a key such as damico2025/fig1.")
    ] = "list",
    scale: Annotated[
        str | None,
        typer.Option(help="Size of the computation: smoke, laptop, gpu or paper. Default for a key: laptop."),
    ] = None,
    results: Annotated[
        Path, typer.Option(help="Folder for figures, curves and tables, e.g. results/.")
    ] = Path("results"),
    store: Annotated[
        Path | None,
        typer.Option(
            help="Store of runs to read and continue, or a table of curves to read. "
            "Default: runs/ in the folder of results.",
            rich_help_panel="entries that train",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Train only this part of a study, e.g. 'CNN MNIST'; may be repeated.",
            rich_help_panel="entries that train",
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Begin no other part of a study after this time.", rich_help_panel="entries that train"
        ),
    ] = None,
    missing: Annotated[
        bool, typer.Option("--missing", help="List only what is not built yet.", rich_help_panel="list")
    ] = False,
    paper: Annotated[
        str | None, typer.Option(help="Check only this paper, e.g. damico2025.", rich_help_panel="check")
    ] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Replace the stored records by the new values.", rich_help_panel="check"
        ),
    ] = False,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Reproduce a figure or table of a paper, with the paper's number beside the measured one.

    scalinglab reproduce list --missing

    scalinglab reproduce damico2025

    scalinglab reproduce damico2025/fig1 --scale smoke

    scalinglab reproduce bahri2021 --scale gpu

    scalinglab reproduce damico2025/fig3 --scale gpu --store runs/ --only "CNN MNIST"

    A paper with a scale reproduces all its entries that are built at that scale, and continues where it was
    interrupted; entries that cannot run here are named, with exit status 1. Without a scale it lists them.

    'scalinglab reproduce check' reproduces every entry at scale smoke and compares it with its record.
    """
    import pandas as pd

    from scalinglab import studies
    from scalinglab.errors import BadInput
    from scalinglab.studies.results import COLUMNS, cells

    if key == "check":
        _check(paper, write, as_json=as_json, out=out)
        return
    if paper is not None or write:
        raise BadInput("--paper and --write go with 'scalinglab reproduce check'")
    training: dict[str, Any] = {"store": store, "only": tuple(only or ()), "minutes": minutes}
    known = [entry for entry in studies.entries().values() if key.rstrip("/") in ("list", entry.paper)]
    if known and scale is not None:
        _reproduce_all(key.rstrip("/"), known, scale, results, training, as_json=as_json, out=out)
        return
    if known:
        _list(known, missing, as_json=as_json, out=out)
        return
    if missing:
        raise BadInput("--missing goes with 'scalinglab reproduce list' or a paper")
    scale = scale or "laptop"
    with resumable():
        made = studies.reproduce(key, scale, results, **training)
    table = pd.DataFrame([cells(row) for row in made.table], columns=list(COLUMNS))
    document = {"key": key, "scale": scale, "folder": str(results / key / scale)}
    emit({**document, "table": [row.record() for row in made.table]}, table, as_json=as_json, out=out)


def _reproduce_all(
    paper: str,
    known: list[Entry],
    scale: str,
    results: Path,
    training: dict[str, Any],
    *,
    as_json: bool,
    out: Path | None,
) -> None:
    """Every entry of a paper that is built at a scale, one after another."""
    import pandas as pd

    from scalinglab import studies
    from scalinglab.errors import BadInput
    from scalinglab.studies.results import COLUMNS, cells

    if paper == "list":
        raise BadInput("--scale goes with a paper or a key; 'scalinglab reproduce list' lists all")
    if scale not in studies.SCALES:
        raise BadInput(f"no scale {scale!r}; choose from: {', '.join(studies.SCALES)}")
    chosen = [entry for entry in known if entry.built and scale in entry.scales]
    if not chosen:
        raise BadInput(f"no entry of {paper} that is built runs at scale {scale!r}")
    lines, tables, left_out = [], {}, {}
    for place, entry in enumerate(chosen, start=1):
        typer.echo(f"{place}/{len(chosen)} {entry.key}", err=True)
        try:
            with resumable():
                made = studies.reproduce(entry.key, scale, results, **training)
        except BadInput as error:  # what one entry lacks here, such as a GPU, others may not need
            left_out[entry.key] = str(error)
            typer.echo(f"    left out: {error}", err=True)
            continue
        lines += [(entry.key, *cells(row)) for row in made.table]
        tables[entry.key] = [row.record() for row in made.table]
    document = {"paper": paper, "scale": scale, "tables": tables, "left_out": left_out}
    emit(document, pd.DataFrame(lines, columns=["key", *COLUMNS]), as_json=as_json, out=out)
    if left_out:
        raise typer.Exit(1)


# --- list ------------------------------------------------------------------------------------------------


def _list(known: list[Entry], missing: bool, *, as_json: bool, out: Path | None) -> None:
    import pandas as pd

    shown = [entry for entry in known if not (missing and entry.built)]
    if as_json or out is not None:
        columns = ["key", "claim", "scales", "built", "judged_in", "laptop_minutes", "gpu_hours"]
        rows = [[getattr(entry, name) for name in columns] for entry in shown]
        table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[-3:], object))
        emit({"entries": table.to_dict("records")}, table, as_json=as_json, out=out)
    else:
        _print_list(shown, known)


def _print_list(shown: list[Entry], known: list[Entry]) -> None:
    """One block a paper: the largest scale, the time of scale laptop, and the claim in full."""
    from itertools import groupby

    from rich.console import Console
    from rich.table import Table

    console = Console()
    for paper, group in groupby(shown, key=lambda entry: entry.paper):
        table = Table(title=paper, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for name in ("key", "up to", "laptop"):
            table.add_column(name, no_wrap=True)
        table.add_column("claim")
        for entry in group:
            claim = entry.claim + (f" (judged in {entry.judged_in})" if entry.judged_in else "")
            table.add_row(entry.key, entry.scales[-1], _laptop(entry), claim)
        console.print(table, "")
    built = sum(entry.built for entry in known)
    console.print(
        f"{built} of {len(known)} built, {len(known) - built} missing; laptop: time on two cores; "
        "scalinglab reproduce KEY --scale smoke|laptop|gpu|paper",
        highlight=False,
    )


def _laptop(entry: Entry) -> str:
    """The time that scale laptop takes, where it is known."""
    if not entry.built:
        return "[dim]not built[/]"
    if entry.laptop_minutes is None:
        return ""
    short = entry.laptop_minutes < 1
    return f"{max(1, round(60 * entry.laptop_minutes))} s" if short else f"{entry.laptop_minutes:.0f} min"


# --- check -----------------------------------------------------------------------------------------------


def _check(paper: str | None, write: bool, *, as_json: bool, out: Path | None) -> None:
    """Every smoke record; exit status 1 where one differs."""
    import pandas as pd

    from scalinglab import studies

    found: list[Checked] = []
    for one in studies.check(paper, write):
        found.append(one)
        if not as_json:
            state = "written" if write else "differs" if one.differences else "matches"
            typer.echo(f"{one.key:34} {one.rows:3} rows {one.seconds:6.1f} s  {state}", err=out is not None)
            for difference in one.differences:
                typer.echo(f"    {difference}", err=out is not None)
    differ = [one.key for one in found if one.differences]
    if as_json or out is not None:
        table = pd.DataFrame(
            [(one.key, one.rows, one.seconds, "; ".join(one.differences)) for one in found],
            columns=["key", "rows", "seconds", "differences"],
        )
        emit({"entries": table.to_dict("records"), "differ": differ}, table, as_json=as_json, out=out)
    else:
        verb = "written" if write else "checked"
        typer.echo(f"{len(found)} records {verb}, {len(differ)} differ")
    if differ:
        raise typer.Exit(1)
