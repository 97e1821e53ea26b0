"""``scalinglab read``: import curves that were measured elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from scalinglab.cli.options import ARGUMENT, Columns, Folder
from scalinglab.cli.output import Output, for_programs, say
from scalinglab.cli.registry import command
from scalinglab.errors import BadInput


@command("read", out=False)
def read(
    source: Annotated[str, ARGUMENT],
    store: Folder = Path("runs"),
    column: Columns | None = None,
    kind: str | None = None,
) -> Output:
    """Import curves from logs and tables into a store, for use by laws, reports and figures.

    scalinglab read their.csv --store runs/ --column n_data=train_size --column test_error=err

    scalinglab read wandb/ --store runs/ --kind wandb

    Args:
        source: logs, another store, or a table: .csv, .tsv, .json, .jsonl, .parquet, .xlsx.
        store: the store (folder) to write the curves to.
        kind: accept only this format: tensorboard, wandb, mlflow, lightning, hugging_face or table.
    """
    import scalinglab as sl
    from scalinglab.readers import take_in

    curves = sl.read(source, kind=kind, **(column or {}))
    say(f"read {curves.understood}")
    if not curves.runs:
        raise BadInput(f"{source} holds no runs with a checkpoint: there is nothing to take in")
    taken = take_in(curves, store, origin=source)
    counts = {
        "runs_added": len(taken.added), "runs_updated": len(taken.updated),
        "runs_already_there": len(taken.unchanged),
    }  # fmt: skip
    understood = {"understood": curves.understood} if for_programs() else {}  # printed already
    return Output({"store": str(store), **counts, **understood})
