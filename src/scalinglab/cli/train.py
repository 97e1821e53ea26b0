"""``scalinglab train``: a few networks now, from the command line; a whole grid is for ``sweep``."""

from __future__ import annotations

import shlex
import tomllib
from typing import TYPE_CHECKING, Annotated, Any

from scalinglab.cli.options import Folder, Typed, numbers, pairs, whole
from scalinglab.cli.output import Output, for_programs
from scalinglab.cli.registry import command
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from scalinglab.curves import Curves

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
