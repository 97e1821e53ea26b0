"""``scalinglab read``: take in curves that others measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scalinglab.cli.shared.options import Columns, Json, a_folder
from scalinglab.cli.shared.output import emit
from scalinglab.cli.shared.tables import renamed, say
from scalinglab.errors import BadInput


def read(
    source: Annotated[
        str,
        typer.Argument(help="Logs, another store, or a table: .csv, .tsv, .json, .jsonl, .parquet, .xlsx."),
    ],
    store: Annotated[
        Path, typer.Option(help="The store (folder) to write the curves to.", callback=a_folder)
    ] = Path("runs"),
    column: Columns = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="Accept only this format: tensorboard, wandb, mlflow, lightning, hugging_face or table."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Import curves from logs and tables into a store, for use by laws, reports and figures.

    scalinglab read their.csv --store runs/ --column n_data=train_size --column test_error=err

    scalinglab read wandb/ --store runs/
    """
    import scalinglab as sl
    from scalinglab.readers import take_in

    curves = sl.read(source, kind=kind, **renamed(column))
    say(f"read {curves.understood}", as_json)
    if not curves.runs:
        raise BadInput(f"{source} holds no runs with a checkpoint: there is nothing to take in")
    taken = take_in(curves, store, origin=source)
    document: dict[str, object] = {
        "store": str(store),
        "runs_added": len(taken.added),
        "runs_updated": len(taken.updated),
        "runs_already_there": len(taken.unchanged),
    }
    if as_json:
        document["understood"] = curves.understood
    emit(document, as_json=as_json)
