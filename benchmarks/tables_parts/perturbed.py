"""Known tables written otherwise, with the same meaning: what reads the one should read the other.

A table of names and rows gets some of `WAYS`, drawn at random: other words for the same quantity, other
marks between words, another unit, order, kind of file, a title, columns that say nothing, runs that failed.
"""

# ruff: noqa: E501  names side by side

from __future__ import annotations

import csv as text_of_cells
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

import pandas as pd

from tables_parts.cases import Case, book, csv, markdown

# names that mean the same, whatever else a table has
ALIKE = (
    ("params", "n_params", "Parameters", "num_params", "model parameters", "parameter_count", "total parameters",
     "nparams", "Number of parameters", "N_params", "model/params", "trainable_params", "model.num_parameters"),
    ("tokens", "n_tokens", "training tokens", "train_tokens", "num_tokens", "Tokens seen", "tokens_trained",
     "total tokens", "token_count", "training_tokens", "data/tokens", "Number of training tokens"),
    ("n_train", "train_size", "training examples", "num_train", "n_train_examples", "training set size",
     "train samples", "Number of training examples", "num_train_samples", "data.n_train"),
    ("val_loss", "validation loss", "eval/loss", "loss/val", "valid_loss", "final val loss", "eval_loss", "valLoss",
     "validation_loss", "Val. loss", "metrics.val_loss", "loss (validation)", "Validation cross-entropy"),
    ("test_loss", "test loss", "loss/test", "Loss on test", "final_test_loss", "testLoss", "Test cross-entropy"),
    ("test_error", "test error", "error/test", "Test error rate", "test_err", "err_test", "testError"),
    ("test_acc", "test accuracy", "test_accuracy", "acc/test", "Test acc.", "testAcc", "Accuracy (test)"),
    ("flops", "FLOPs", "train_flops", "training FLOPs", "total_flops", "compute_flops", "Training compute (FLOPs)"),
    ("seed", "random_seed", "Seed", "rng_seed", "trial", "config.seed"),
    ("lr", "learning_rate", "Learning rate", "peak_lr", "optim.lr", "config/lr"),
)  # fmt: skip
# what says nothing of the law, by row number and number of rows
BESIDE: dict[str, Callable[[int], object]] = {
    "hostname": lambda k: f"node{k * 7 % 5:02d}", "git_sha": lambda k: f"{(k + 3) * 2654435761 % 16**7:07x}",
    "wall_clock_h": lambda k: round(1.5 + 0.37 * (k * 5 % 11), 2), "gpu_mem_gb": lambda k: 38 + k * 13 % 9,
    "tokens_per_sec": lambda k: 101000 - 977 * (k * 3 % 7), "started_at": lambda k: f"2025-03-{1 + k % 28:02d} 08:1{k % 10}",
    "vocab_size": lambda k: 32000, "precision": lambda k: "bf16", "num_workers": lambda k: 8,
    "train_time_s": lambda k: 5021.5 + 613 * (k * 11 % 13), "job_id": lambda k: 881200 + 17 * k,
    "comment": lambda k: "ok" if k % 3 else "", "gradient_norm": lambda k: round(0.31 + 0.013 * (k * 7 % 10), 3),
    "utilization_pct": lambda k: 41.5 + 0.5 * (k * 3 % 8), "$": lambda k: round(12.5 + 3.1 * (k * 5 % 9), 2),
    "weight_decay": lambda k: 0.1, "world_size": lambda k: 64, "ckpt_path": lambda k: f"/ckpt/{k:03d}/last.pt",
}  # fmt: skip
FAILED = ("OOM", "diverged", "nan", "n/a", "-", "crashed", "NaN", "—", "failed")
Rows = list[list[str]]


def rows_of(case: Case) -> Rows | None:
    """The cells of a table of one file with names in its first line; None of any other."""
    (content, *more) = case.files.values()
    if more or case.folder or not isinstance(content, str) or content.count("\n") > 400:
        return None
    for mark in (",", ";", "\t"):
        rows = [*text_of_cells.reader(content.splitlines(), delimiter=mark)]
        if len(rows) > 3 and len({*map(len, rows)}) == 1 and len(rows[0]) > 1 and all(rows[0]):
            names, cells = rows[0], [c for row in rows[1:] for c in row]
            named = any(
                map(re.compile(r" - |^(?:params|user_attrs)_|^Group").search, names)
            )  # by a tool, for tools
            units = not any(re.match(r"[\d.]", c) for c in rows[1])
            plain = not (named or units) and not any(
                re.search(r"[,;|\t\"\\]|^\s", c) for c in (*names, *cells)
            )
            if plain and len({*names}) == len(names) and all(re.match(r"[A-Za-z_#]{2}", n) for n in names):
                return rows
    return None


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.0)?", text) is not None


def _others(name: str) -> list[str]:
    return [other for names in ALIKE if name in names for other in names if other != name]


def renamed(rows: Rows, random: Random) -> Rows:
    """Other words for the same quantities."""
    names = [random.choice(_others(name) or [name]) for name in rows[0]]
    return [names if len({*names}) == len(names) else rows[0], *rows[1:]]


def marked(rows: Rows, random: Random) -> Rows:
    """Other marks between words, other capitals."""
    way: Callable[[str], str] = random.choice((str.upper, str.title, str.lower, str.capitalize))
    mark = random.choice((" ", "_", "-", "."))
    plain = [len(name) > 3 and re.fullmatch(r"[a-z]+([_ ][a-z]+)*", name) for name in rows[0]]
    return [[way(n).replace("_", mark) if p else n for n, p in zip(rows[0], plain)], *rows[1:]]


def scaled(rows: Rows, random: Random) -> Rows:
    """Sizes in thousands, millions or billions."""
    word, scale = random.choice(
        ((" (k)", 1e3), (" (M)", 1e6), (" [millions]", 1e6), (" (in billions)", 1e9), ("_M", 1e6))
    )
    for k, name in enumerate(rows[0]):
        cells = [row[k] for row in rows[1:]]
        if (
            any(name in names for names in ALIKE[:3])
            and all(map(_is_number, cells))
            and max(map(float, cells)) > scale
        ):
            body = [[*r[:k], f"{float(r[k]) / scale:.12g}", *r[k + 1 :]] for r in rows[1:]]
            return [[*rows[0][:k], name + word, *rows[0][k + 1 :]], *body]
    return rows


def beside(rows: Rows, random: Random) -> Rows:
    """Columns that say nothing."""
    names = [n for n in random.sample([*BESIDE], 3) if n not in rows[0]]
    return [
        [*rows[0], *names],
        *([*row, *(str(BESIDE[n](k)) for n in names)] for k, row in enumerate(rows[1:])),
    ]


def reordered(rows: Rows, random: Random) -> Rows:
    """Columns in another order."""
    order = random.sample(range(len(rows[0])), len(rows[0]))
    return [[row[k] for k in order] for row in rows]


def failed(rows: Rows, random: Random) -> Rows:
    """One more run of a size that is there, without its result."""
    of_result = [k for k, n in enumerate(rows[0]) if any(n in names for names in ALIKE[3:7])]
    if len(of_result) != 1 or any(not _is_number(c) for k, c in enumerate(rows[1]) if k not in of_result):
        return rows
    lost = [random.choice(FAILED) if k in of_result else text for k, text in enumerate(rows[-1])]
    return [*rows, lost]


WAYS = (renamed, marked, scaled, beside, reordered, failed)


def _value(text: str) -> object:
    try:
        return int(text) if _is_number(text) and "." not in text else float(text)
    except ValueError:
        return text


def _records(rows: Rows) -> list[dict[str, object]]:
    return [dict(zip(rows[0], map(_value, row))) for row in rows[1:]]


FILES: dict[str, Callable[[Rows], object]] = {
    "table.csv": csv, "semicolons.csv": lambda r: csv(r, ";"), "table.tsv": lambda r: csv(r, "\t"),
    "bars.txt": lambda r: csv(r, "|"), "titled.csv": lambda r: "Runs of the spring\n\n" + csv(r),
    "notes.md": lambda r: "## Runs\n\n" + markdown(r[0], [[*row] for row in r[1:]]),
    "runs.json": lambda r: json.dumps(_records(r)),
    "runs.jsonl": lambda r: "".join(json.dumps(each) + "\n" for each in _records(r)),
    "printed.txt": lambda r: pd.DataFrame(r[1:], columns=r[0]).replace("", "NaN").to_string(index=False) + "\n",
    "runs.xlsx": lambda r: book([[*r[0]], *([_value(text) for text in row] for row in r[1:])]),
}  # fmt: skip


def perturbed(cases: Iterable[Case], seed: int) -> list[tuple[Case, Case]]:
    """Each table that has rows of cells, and the same one written otherwise."""
    found = []
    for case in cases:
        random = Random(f"{seed} {case.kind} {case.name}")
        if (rows := rows_of(case)) is None:
            continue
        ways = random.sample([w for w in WAYS if not (case.choices and w is marked)], random.randint(1, 3))
        for way in (w for w in WAYS if w in ways):
            rows = way(rows, random)
        file = random.choice([*FILES])
        name = f"{case.name} [{', '.join(w.__name__ for w in WAYS if w in ways)}; {file}]"
        found.append((case, replace(case, name=name, files={file: FILES[file](rows)})))
    return found
