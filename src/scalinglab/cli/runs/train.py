"""``scalinglab train``: a few networks now, from the command line; a whole grid is for ``sweep``."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scalinglab.cli.shared.options import Json, Out, a_folder
from scalinglab.cli.shared.output import grid, show, whole
from scalinglab.cli.shared.tables import finish, pairs
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from scalinglab.curves import Curves

TIME = ("epochs", "steps", "min_epochs", "min_steps")
OPTIONS = ("model", "dataset", "n_data", "seed", "epochs", "learning_rate", "batch_size", "width")
EPOCHS = 10  # the default length
SHOWN = ("n_data", "seed", "step", "train_loss", "test_loss", "test_error", "best_error", "norm", "status")


def train(
    model: Annotated[str, typer.Option(help="The network, e.g. mlp, cnn, resnet, vit or decoder.")] = "mlp",
    dataset: Annotated[
        str, typer.Option(help="The data set, e.g. digits ('data list' shows all), text or teacher_student.")
    ] = "digits",
    n_data: Annotated[
        str | None,
        typer.Option(help="Training examples: 500, 100,300,1000 or low:high:points (log). Default: all."),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Random seed of initial weights, batch order and data subset.")
    ] = 0,
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of runs per size, with consecutive seeds, e.g. 3.")
    ] = 1,
    epochs: Annotated[
        float | None,
        typer.Option(help=f"Training length in epochs. Default: {EPOCHS}, or as given by --set."),
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Learning rate. Default: 1e-3.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Batch size. Default: 128.")] = None,
    width: Annotated[
        float | None,
        typer.Option(help="Width multiplier of the network, e.g. 0.5; 1 is the published width."),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other key of a setting, KEY=VALUE, e.g. optimizer=sgd. Repeatable."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="A store (folder) in which runs are saved; finished runs are skipped.", callback=a_folder
        ),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Device, e.g. cpu or cuda. Default: a GPU if available.")
    ] = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Train a network at one data size or several and follow loss, error and norm.

    scalinglab train --model mlp --dataset digits --n-data 500

    scalinglab train --model cnn --dataset mnist --n-data 100:10000:7 --seeds 3 --store runs/

    scalinglab train --set optimizer=sgd --set momentum=0.9 --set steps=2000
    """
    import scalinglab as sl

    given = {"epochs": epochs, "learning_rate": learning_rate, "batch_size": batch_size, "width": width}
    setting: dict[str, Any] = {"model": model, "dataset": dataset, **_keys(more)}
    setting |= {key: value for key, value in given.items() if value is not None}
    if not any(key in setting for key in TIME):
        setting["epochs"] = EPOCHS
    sizes = [{}] if n_data is None else [{"n_data": size} for size in _sizes(n_data)]
    settings = [{**setting, **size, "seed": seed + i} for size in sizes for i in range(seeds)]
    curves = sl.train.run_many(settings, store=store, device=device, progress=not as_json)
    document: dict[str, Any] = {"store": None if store is None else str(store)}
    document["curves"] = curves.frame.to_dict("list")
    if not as_json:
        show({}, _last(curves), title=f"{setting['model']} on {setting['dataset']}, the end of every run")
    finish(document, curves.frame, as_json, out)
    if as_json:
        return
    if store is not None:
        print(f"kept in {store}; look at them with: scalinglab report {shlex.quote(str(store))}")
    elif out is None:
        print("nothing was kept: --store FOLDER keeps the runs, --out FILE.csv writes the curves")


def _keys(texts: list[str] | None) -> dict[str, Any]:
    """``["momentum=0.9", "optimizer=sgd"]`` to a setting; values as in TOML, words without quotes."""
    found: dict[str, Any] = {}
    for name, text in pairs("--set", texts, "KEY=VALUE, as in --set optimizer=sgd"):
        key, value = name.strip(), text.strip()
        if key in OPTIONS:
            raise BadInput(f"--set {name + '=' + text!r}: use --{key.replace('_', '-')} for it")
        try:
            found[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[key] = value
    return found


def _sizes(text: str) -> list[int]:
    """Data sizes from the command line; a log range is rounded to whole examples."""
    values = grid(text)
    if ":" in text:
        values = values.round()
    return list(dict.fromkeys(whole("n_data", value) for value in values))


def _last(curves: Curves) -> pd.DataFrame:
    """The last checkpoint of every run, beside the smallest test error on the way."""
    runs = curves.frame.groupby("run", sort=False)
    table = runs.tail(1).set_index("run").sort_values(["n_data", "seed"])
    table["best_error"] = runs["test_error"].min() if "test_error" in table else float("nan")
    if (table["status"] == "done").all():
        table = table.drop(columns="status")
    return table[[c for c in SHOWN if c in table and table[c].notna().any()]]
