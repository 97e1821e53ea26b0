"""``scalinglab explain``: a run beside its theory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.tables import draw, finish, say


def explain(
    run: Annotated[
        str, typer.Argument(help="A run of the store, its name or the beginning of it; or a setting in TOML.")
    ],
    store: Annotated[
        Path | None, typer.Option("--store", help="The store (folder) with the run, or to save it in.")
    ] = None,
    samples: Annotated[
        int, typer.Option(help="Number of inputs on which the kernel is measured, e.g. 500.")
    ] = 1000,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write an HTML report that begins with the explanation.")
    ] = None,
    figure: option.Figure = None,
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Theory over a run: the solved curve, what limits the loss, the gain from doubling, lazy or rich.

    scalinglab explain 3f2a --store runs/

    scalinglab explain run.toml --figure explained.png
    """
    from scalinglab import explanations
    from scalinglab.support import toml

    path = Path(run)
    setting = toml.read(path, "a setting") if path.suffix == ".toml" else run
    found = explanations.explain(setting, store=store, samples=samples)
    say(found.summary(), as_json)
    document = found.to_dict()
    if figure is not None:
        document["figure"] = draw(found.plot().figure, figure, path, "explain")
    if report is not None:
        from scalinglab.report import explained_run

        document["report"] = str(explained_run.write(found, report))
        say(f"report: {report}", as_json)
    finish(document, found.table(), as_json, out)
