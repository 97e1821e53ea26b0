"""A hundred tables drawn at random: names, units, columns beside, layouts and files, in every combination.

What a person chooses when a table is written is drawn by itself: how each column is called, how its numbers are
written, which columns stand beside, in which order, in which kind of file. A rule that holds for one table alone
fails on some of these. `draw(seed, count)` gives others.
"""

# ruff: noqa: E501  tables as they are written

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import Array, Collection, Truth, book, csv, language, line, markdown, short

PARAMETERS = (
    "params", "n_params", "Parameters", "# params", "num_parameters", "Model size", "N", "n_non_embed_params",
    "non-embedding parameters", "#parameters", "Nb of parameters", "param_count", "trainable params", "total_params",
    "model/num_params", "config.model.n_params", "NumParams", "active params", "# weights", "Anzahl Parameter",
)  # fmt: skip
TOKENS = (
    "tokens", "D", "train tokens", "#tokens", "tokens seen", "training_tokens", "n_tokens", "pretraining tokens",
    "train/tokens", "num_tokens", "tokens_trained", "TrainTokens", "token budget", "consumed tokens",
)  # fmt: skip
LOSSES = (
    "loss", "val_loss", "Val loss", "eval/loss", "validation loss (nats)", "test loss", "final loss", "L", "CE",
    "dev loss", "heldout_loss", "Loss (val)", "validation cross-entropy", "best val loss", "metrics.val_loss",
    "val_loss (last)", "test CE", "C4 val loss", "val loss ↓",
)  # fmt: skip
EXAMPLES = (
    "n_train", "training images", "train size", "examples", "# samples", "n", "dataset size", "train set size",
    "num_train_examples", "Training set", "subset size", "n_labeled", "images", "#train", "N_train",
)  # fmt: skip
# how errors are called, as an error or an accuracy, as a share or in percent
ERRORS: tuple[tuple[str, Callable[[float], str]], ...] = (
    *((name, "{:.4f}".format) for name in ("test error", "err", "error", "val error rate", "top1_err", "mse_test")),
    *((name, lambda e: f"{100 * e:.2f}") for name in ("Error (%)", "Test Error Rate (%)")),
    *((name, lambda e: f"{1 - e:.4f}") for name in ("Test acc.", "accuracy", "acc@1", "val/top1", "val F1")),
    *((name, lambda e: f"{100 * (1 - e):.2f}") for name in ("top-1 (%)", "test accuracy [%]", "val acc %")),
)  # fmt: skip
# what else a table has, by row number
BESIDE: dict[str, Callable[[int], str]] = {
    "lr": lambda k: "3e-4", "batch size": lambda k: "256", "time (h)": lambda k: f"{1.3 + 0.7 * k:.1f}",
    "GPU hours": lambda k: f"{10 + 7.3 * k:.1f}", "date": lambda k: f"2026-01-{1 + k % 28:02d}",
    "notes": lambda k: "" if k else "ok", "run": lambda k: f"run-{k:03d}", "id": lambda k: f"x{k * 7919 % 1000:03d}",
    "grad norm": lambda k: f"{0.4 + 0.01 * (k * 37 % 11):.2f}", "mem (GB)": lambda k: f"{11 + 0.5 * (k * 17 % 13):.1f}",
    "tok/s": lambda k: str(91000 - 1000 * (k * 5 % 9)), "MFU": lambda k: f"{0.4 + 0.01 * (k % 5):.2f}",
    "commit": lambda k: "a1b2c3d", "node": lambda k: f"gpu{k % 4}", "status": lambda k: "done",
    "optimizer": lambda k: "adamw", "url": lambda k: f"https://x.y/{k}",
}  # fmt: skip
UNITS = {
    "": ("", "", 1.0),
    "M": ("M", "millions", 1e6),
    "B": ("B", "billions", 1e9),
    "k": ("k", "thousands", 1e3),
}


def _sizes(random: Random, name: str, values: Array, units: bool) -> tuple[str, list[str]]:
    """A column of sizes: its name and cells, with a unit in one of them or in none."""
    plain: list[Callable[[float], str]] = [lambda v: str(int(v)), lambda v: f"{int(v):,}", short]
    plain += [lambda v: f"{v:.4e}", lambda v: f"{v:.0f}.0"] if units else []
    way = random.randrange(len(plain) + 3 * units)
    if way < len(plain):
        return name, [plain[way](v) for v in values]
    letter, word, scale = UNITS["B" if values.max() >= 3e9 else "M"]
    unit = (f" ({letter})", f" [{letter}]", f" (in {word})")[way - len(plain)]
    return name + unit, [f"{v / scale:g}" for v in values]


def _columns(random: Random) -> tuple[Truth, dict[str, list[str]]]:
    """The points of a law, and their columns as text."""
    seed = random.randrange(10**6)
    kind = random.choice(("surface", "family", "images"))
    if kind == "images":
        sizes = random.choice(([500, 1000, 2000, 5000, 10000], [1000, 3000, 10000, 30000, 100000]))
        truth = line(
            seed, np.repeat(np.array(sizes, float), random.choice((1, 2, 3))), 0.05, 3.0, 0.35, 4, 0.01
        )
        n, error = truth.points.values()
        name, written = random.choice(ERRORS)
        return truth, dict(
            [_sizes(random, random.choice(EXAMPLES), n, False), (name, [*map(written, error)])]
        )
    models = np.array(
        random.choice(([19e6, 70e6, 160e6, 410e6, 1.4e9], [1.2e6, 4e6, 13e6, 44e6, 120e6, 330e6]))
    )
    if kind == "family":
        truth = line(seed, models, 1.8, 60.0, 0.22, 4, 0.003, "n_params")
    else:
        truth = cases.surface(seed, models[1:5], np.array([1e9, 3e9, 9e9]), language, 4)
    *sizes, loss = truth.points.values()
    names = (random.choice(PARAMETERS), random.choice(TOKENS))
    columns = dict(_sizes(random, name, values, True) for name, values in zip(names, sizes))
    columns[random.choice(LOSSES)] = [repr(float(v)) for v in loss]
    return truth, columns


def _value(text: str) -> object:
    """A cell as a program keeps it."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _written(way: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, object]:
    """A table as a file: its name and content."""
    records = [dict(zip(names, map(_value, row))) for row in rows]
    frame = pd.DataFrame([*rows], columns=[*names])
    ways: dict[str, Callable[[], tuple[str, object]]] = {
        "csv": lambda: ("results.csv", csv(frame)),
        "title": lambda: ("results.csv", "Sweep of January\n\n" + csv(frame)),
        "tsv": lambda: ("results.tsv", csv(frame, "\t")),
        "markdown": lambda: ("README.md", "# Results\n\n" + markdown([*names], [[*row] for row in rows]) + "\nMore.\n"),
        "excel": lambda: ("runs.xlsx", book([[*names], *([_value(text) for text in row] for row in rows)])),
        "records": lambda: ("runs.json", json.dumps(records)),
        "lines": lambda: ("runs.jsonl", "".join(json.dumps(each) + "\n" for each in records)),
        "lists": lambda: ("runs.json", json.dumps({name: [each[name] for each in records] for name in names})),
        "nested": lambda: ("runs.json", json.dumps({"runs": [
            {"config": {n: v for n, v in each.items() if n != names[-1]}, "results": {names[-1]: each[names[-1]]}}
            for each in records]})),
        "html": lambda: ("page.html", frame.to_html()),
        "printed": lambda: ("out.txt", frame.replace("", "-").to_string() + "\n"),
        "latex": lambda: ("table.tex", frame.to_latex(index=False, escape=True)),
    }  # fmt: skip
    return ways[way]()


WAYS = (
    "csv", "title", "tsv", "markdown", "excel", "records", "lines", "lists", "nested", "html", "printed", "latex",
)  # fmt: skip


def draw(seed: int, count: int) -> Collection:
    """Some tables."""
    random, found = Random(seed), Collection()
    for k in range(count):
        truth, columns = _columns(random)
        n_rows = len(next(iter(columns.values())))
        for name in random.sample([*BESIDE], random.choice((0, 1, 2, 3, 5))):
            columns[name] = [*map(BESIDE[name], range(n_rows))]
        names = random.sample([*columns], len(columns))
        rows = [*zip(*(columns[name] for name in names))]
        rows = random.sample(rows, n_rows) if random.random() < 0.4 else rows
        way = random.choice(WAYS)
        file, content = _written(way, names, rows)
        found.add(way, f"{k}: {', '.join(names)}", file, content, truth)  # type: ignore[arg-type]
    return found


DRAWN = draw(2026, 100)
