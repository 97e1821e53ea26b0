"""Two hundred tables drawn at random: names, units, columns beside, layouts and files, in every combination.

What a person chooses when a table is written is drawn by itself: how each column is called, how its numbers are
written, which columns stand beside, in which order, in which kind of file. Half of them are laid out otherwise than
a row a run: folders with sizes in the names of files and others beside, matrices with names in their corner, sizes
as columns under methods, logs with a size above its steps, trials of a search, results of a harness, lines of words.
A rule that holds for one table alone fails on some of these. `draw(seed, count)` gives others.
"""

import json
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import *

PARAMETERS = (
    "params", "n_params", "Parameters", "# params", "num_parameters", "Model size", "N", "n_non_embed_params",
    "non-embedding parameters", "#parameters", "Nb of parameters", "param_count", "trainable params", "total_params",
    "model/num_params", "config.model.n_params", "NumParams", "active params", "# weights", "Anzahl Parameter",
)
TOKENS = (
    "tokens", "D", "train tokens", "#tokens", "tokens seen", "training_tokens", "n_tokens", "pretraining tokens",
    "train/tokens", "num_tokens", "tokens_trained", "TrainTokens", "token budget", "consumed tokens",
)
LOSSES = (
    "loss", "val_loss", "Val loss", "eval/loss", "validation loss (nats)", "test loss", "final loss", "L", "CE",
    "dev loss", "heldout_loss", "Loss (val)", "validation cross-entropy", "best val loss", "metrics.val_loss",
    "val_loss (last)", "test CE", "C4 val loss", "val loss ↓",
)
EXAMPLES = (
    "n_train", "training images", "train size", "examples", "# samples", "n", "dataset size", "train set size",
    "num_train_examples", "Training set", "subset size", "n_labeled", "images", "#train", "N_train",
)
# how errors are called, as an error or an accuracy, as a share or in percent
ERRORS: tuple[tuple[str, Callable[[float], str]], ...] = (
    *((name, "{:.4f}".format) for name in ("test error", "err", "error", "val error rate", "top1_err", "mse_test")),
    *((name, lambda e: f"{100 * e:.2f}") for name in ("Error (%)", "Test Error Rate (%)")),
    *((name, lambda e: f"{1 - e:.4f}") for name in ("Test acc.", "accuracy", "acc@1", "val/top1", "val F1")),
    *((name, lambda e: f"{100 * (1 - e):.2f}") for name in ("top-1 (%)", "test accuracy [%]", "val acc %")),
)
# what else a table has, by row number
BESIDE: dict[str, Callable[[int], str]] = {
    "lr": lambda k: "3e-4", "batch size": lambda k: "256", "time (h)": lambda k: f"{1.3 + 0.7 * k:.1f}",
    "GPU hours": lambda k: f"{10 + 7.3 * k:.1f}", "date": lambda k: f"2026-01-{1 + k % 28:02d}",
    "notes": lambda k: "" if k else "ok", "run": lambda k: f"run-{k:03d}", "id": lambda k: f"x{k * 7919 % 1000:03d}",
    "grad norm": lambda k: f"{0.4 + 0.01 * (k * 37 % 11):.2f}", "mem (GB)": lambda k: f"{11 + 0.5 * (k * 17 % 13):.1f}",
    "tok/s": lambda k: str(91000 - 1000 * (k * 5 % 9)), "MFU": lambda k: f"{0.4 + 0.01 * (k % 5):.2f}",
    "commit": lambda k: "a1b2c3d", "node": lambda k: f"gpu{k % 4}", "status": lambda k: "done",
    "optimizer": lambda k: "adamw", "url": lambda k: f"https://x.y/{k}", "warmup steps": lambda k: "2000",
    "higher_is_better": lambda k: "False", "steps": lambda k: "12000", "wall": lambda k: f"{12 + 3 * k} min",
    "n_gpus": lambda k: "8", "epochs": lambda k: "90", "hardware": lambda k: "8xH100", "job": lambda k: str(4017 + 13 * k),
}
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
    kind = random.choice(("surface", "family", "images", "images", "speech", "corpus", "compute", "steps"))
    if kind == "speech":
        hours = np.array(
            random.choice(([1 / 6, 1, 10, 100, 960], [0.5, 2, 10, 50, 300], [1.0, 5, 20, 100, 500]))
        )
        truth = line(seed, hours, 0.03, 0.3, 0.4, 4, 0.01, y="test_error")
        cells = [random.choice((f"{60 * h:g} min", f"{60 * h:g}min")) if h < 1 else f"{h:g} h" for h in hours]
        names = (
            "Labelled data",
            "Labeled data",
            "Transcribed speech",
            "Train data",
            "Labelled speech",
            "Training data",
        )
        error = random.choice(
            (("WER (%)", 100), ("WER", 1), ("test WER [%]", 100), ("CER %", 100), ("dev WER (%)", 100))
        )
        return truth, {
            random.choice(names): cells,
            error[0]: [f"{error[1] * e:.4g}" for e in truth.points["test_error"]],
        }
    if kind == "corpus":
        models, seen = np.array([22e6, 86e6, 0.3e9, 1.3e9]), np.array([0.3e6, 1.2e6, 14e6])
        truth = cases.surface(seed, models, seen, lambda n, d: 0.07 + 30 * n**-0.31 + 9 * d**-0.33, 4)
        n, d, error = truth.points.values()
        noun = random.choice(("imgs", "images", "samples", "examples"))
        names = (
            random.choice(PARAMETERS),
            random.choice(("Pretrain set", "Corpus", "Upstream data", "Pretraining", "Data")),
        )
        name, written = random.choice(ERRORS)
        return truth, {
            names[0]: [*map(short, n)],
            names[1]: [f"{short(v)} {noun}" for v in d],
            name: [*map(written, error)],
        }
    if kind == "compute":
        flops = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0]) * random.choice((1e19, 1e21))
        truth = line(seed, flops, 0.6, 19.0, 0.083, 4, 0.002, "compute")
        name, scale = random.choice(
            (
                ("FLOPs", 1.0),
                ("Compute (EFLOPs)", 1e18),
                ("train_flops", 1.0),
                ("C", 1.0),
                ("compute (1e18 FLOPs)", 1e18),
                ("PF-days", 8.64e19),
                ("Training compute [ZFLOP]", 1e21),
                ("total_flos", 1.0),
            )
        )
        return truth, {
            name: [f"{c / scale:.6g}" for c in flops],
            random.choice(LOSSES): [repr(float(v)) for v in truth.points["test_loss"]],
        }
    if kind == "steps":
        models, steps = np.array([28e6, 85e6, 240e6]), np.array([5000.0, 15000, 45000])
        truth = cases.surface(seed, models, steps * 256 * 1024, language, 4)
        n, d, loss = truth.points.values()
        names = random.choice(
            (
                ("steps", "batch_size", "seq_len"),
                ("max_steps", "global_batch_size", "sequence_length"),
                ("train_steps", "batch size", "context_length"),
            )
        )
        of_steps = [[f"{v / 256 / 1024:.0f}" for v in d], ["256"] * len(d), ["1024"] * len(d)]
        return truth, {random.choice(PARAMETERS): [*map(short, n)]} | dict(zip(names, of_steps)) | {
            random.choice(LOSSES): [repr(float(v)) for v in loss]
        }
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

def _written(way: str, names: Sequence[str], rows: Sequence[Sequence[str]], y: str) -> tuple[str, object]:
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
            {"config": {n: v for n, v in each.items() if n != y}, "results": {y: each[y]}} for each in records]})),
        "html": lambda: ("page.html", frame.to_html()),
        "printed": lambda: ("out.txt", frame.replace("", "-").to_string() + "\n"),
        "latex": lambda: ("table.tex", frame.to_latex(index=False, escape=True)),
    }
    return ways[way]()

WAYS = (
    "csv", "title", "tsv", "markdown", "excel", "records", "lines", "lists", "nested", "html", "printed", "latex",
)

def _habits(
    random: Random, truth: Truth, columns: dict[str, list[str]]
) -> tuple[Truth | None, dict[str, list[str]], tuple[str, ...]]:
    """A table with what people write into it besides: spreads, runs that failed, training, kinds."""
    y, count = [*columns][-1], len(next(iter(columns.values())))
    habit = random.choice(("", "", "spread", "missing", "state", "train", "kinds", "perplexity", "seconds"))
    largest = [values == values.max() for values in [*truth.points.values()][:-1]]
    lost = random.choice([k for k in range(count) if not any(each[k] for each in largest)] or [-1])
    rest = np.arange(count) != lost
    if habit == "spread":
        form = random.choice(("{} ± {:.3g}", "{} +/- {:.3g}", "{} ({:.3f})"))
        columns[y] = [form.format(v, 0.01 * float(v)) for v in columns[y]]
    if habit == "missing" and lost >= 0:
        columns[y] = [
            v if keep else random.choice(("diverged", "OOM", "n/a", "-", "NaN", ""))
            for v, keep in zip(columns[y], rest)
        ]
        truth = truth.rows(rest)
    if habit == "state" and lost >= 0:
        name, good, bad = random.choice(
            (
                ("State", "finished", "crashed"),
                ("status", "done", "failed"),
                ("state", "COMPLETE", "FAILED"),
                ("crashed", "no", "yes"),
            )
        )
        columns[y] = [v if keep else f"{1.2 * float(v):.4f}" for v, keep in zip(columns[y], rest)]
        columns[name] = [good if keep else bad for keep in rest]
        truth = truth.rows(rest)
    if habit == "train" and (
        word := next((w for w in ("validation", "eval", "val", "test") if w in y.lower()), "")
    ):
        columns[y.lower().replace(word, "train")] = [f"{0.97 * float(v):.4f}" for v in columns[y]]
    if habit == "perplexity" and y in LOSSES:
        columns[random.choice(("val_ppl", "perplexity", "ppl"))] = [
            f"{np.exp(float(v)):.3f}" for v in columns[y]
        ]
    if habit == "seconds":
        columns[random.choice(("train time (s)", "wall_clock_h", "sec/epoch", "runtime_seconds"))] = [
            f"{31.7 * (k + 1):.1f}" for k in range(count)
        ]
    if habit == "kinds" and y not in ("L", "CE"):
        name, kinds = random.choice(
            (
                ("dataset", ("c4", "wiki", "code")),
                ("tokenizer", ("bpe", "unigram")),
                ("arch", ("llama", "mamba")),
                ("recipe", ("base", "long")),
                ("eval set", ("easy", "hard")),
            )
        )
        columns = {c: values * len(kinds) for c, values in columns.items()}
        columns[y] = [f"{float(v) * (1 - 0.3 * (k // count)):.4f}" for k, v in enumerate(columns[y])]
        columns[name] = [kind for kind in kinds for _ in range(count)]
        return None, columns, (name, kinds[0])
    return truth, columns, ()

# --- tables that are no row a run --------------------------------------------------------------------------------

Drawn = tuple[dict[str, str | bytes | Callable[..., None]], Truth, tuple[str, ...]]
# how a size stands in the name of a file, and what it counts
IN_NAMES = (
    "history_n{:05d}", "n{}", "n={}", "ntrain_{}", "train_size_{}/metrics", "n_train={}/log", "{}samples/history", "{:06d}_examples",
    "subset-{}", "results_{}images", "mnist_n{}_run", "exp-{:05d}samples", "frac/n{:06d}", "n-{}/out", "train{}", "N{}",
)
CORNERS = (
    "params ↓ / tokens →", "↓ params / → tokens", "N \\ D", "model size / tokens", "params × tokens", "Parameters | Tokens",
    "params \\ tokens", "N vs D", "params↓ tokens→", "#params, #tokens", "model size ↓ data (tokens) →", "Params/Tokens",
)
CAPTIONS = (
    "Validation perplexity (↓) on C4.", "**Table 2.** Perplexity on the validation set; memory in brackets.",
    "Table 4: Validation perplexity for pre-training, lower is better.", "Val PPL of pretrained models",
)
SIDE = {
    "wandb-metadata.json": json.dumps({"os": "Linux", "gpu_count": 8, "program": "train.py"}),
    "requirements.txt": "numpy==2.1\n", "README.md": "# Runs\n\nAll of them.\n", "cmd.sh": "python train.py --lr 3e-4\n",
    "model_info.json": json.dumps({"name": "tiny", "layers": [2, 3]}), "env.yaml": "name: base\n",
}

def _subsets(random: Random) -> Truth:
    sizes = random.choice(
        ([500, 1000, 2000, 5000, 10000], [400, 1200, 3600, 10800, 32400], [100, 300, 1000, 6000, 60000])
    )
    return line(random.randrange(10**6), np.array(sizes, float), 0.05, 3.0, 0.35, 4, 0.01)

def _models(random: Random) -> Array:
    return np.array(
        random.choice(
            ([60e6, 130e6, 350e6, 1e9], [19e6, 70e6, 160e6, 410e6, 1.4e9], [45e6, 125e6, 350e6, 760e6])
        )
    )

def _family(random: Random) -> Truth:
    return line(random.randrange(10**6), _models(random), 1.8, 60.0, 0.22, 4, 0.003, "n_params")

def _grid(random: Random) -> Truth:
    tokens = np.array(random.choice(([0.8e9, 2.4e9, 8e9, 24e9], [1e9, 3e9, 10e9], [1.5e9, 6e9, 25e9])))
    return cases.surface(random.randrange(10**6), _models(random), tokens, language, 4)

def _folder(random: Random) -> Drawn:
    """A file for each size, which its name says, and files of other things."""
    truth, name = _subsets(random), random.choice(IN_NAMES)
    n, loss = truth.points.values()
    kind = random.choice(("keras", "jsonl", "summary", "row"))
    files: dict[str, str | bytes | Callable[..., None]] = {}
    for a, c in zip(n, loss):
        steps = [(i, float(v)) for i, v in enumerate(cases.falling(float(c), random.choice((9, 12, 15))))]
        files[
            f"{name.format(int(a))}.{'jsonl' if kind == 'jsonl' else 'json' if kind == 'summary' else 'csv'}"
        ] = {
            "keras": csv([["epoch", "loss", "val_loss"], *([i, round(v - 0.02, 4), v] for i, v in steps)]),
            "jsonl": "".join(
                json.dumps({"epoch": i, "train_loss": v - 0.02, "val_loss": v}) + "\n" for i, v in steps
            ),
            "summary": json.dumps(
                {"lr": 0.001, "final": {"train_loss": c - 0.02, "val_loss": float(c)}, "seconds": 812.4}
            ),
            "row": csv([["lr", "train_loss", "val_loss"], [0.001, round(c - 0.02, 4), c]]),
        }[kind]
    for side in random.sample([*SIDE], random.choice((0, 1, 2))):
        folder = random.choice(("", "", *dict.fromkeys(key.rpartition("/")[0] + "/" for key in files if "/" in key)))
        files[folder + side] = SIDE[side]
    return files, truth, ()

def _matrix(random: Random) -> Drawn:
    """Models by tokens, with both names in the corner."""
    truth, corner = _grid(random), random.choice(CORNERS)
    n, d, loss = truth.points.values()
    across, down = [*dict.fromkeys(d)], [*dict.fromkeys(n)]
    shape = loss.reshape(len(down), len(across))
    if random.random() < 0.3:
        across, down, shape = down, across, shape.T
        corner = corner if corner.count("→") + corner.count("↓") == 0 else "tokens ↓ / params →"
        corner = {"N \\ D": "D \\ N", "N vs D": "D vs N"}.get(
            corner, corner if "tokens ↓" in corner else "tokens / params"
        )
    head, rows = (
        [corner, *map(short, across)],
        [[short(a), *(f"{v:.4f}" for v in row)] for a, row in zip(down, shape)],
    )
    title = random.choice(("Validation loss", "Val loss (nats)", "Eval loss of every model"))
    file: dict[str, tuple[str, str | Callable[..., None]]] = {
        "md": ("README.md", f"# Results\n\n{title}:\n\n{markdown(head, rows)}\nMore.\n"),
        "csv": ("val_loss.csv", csv([head, *rows], ";")), "tsv": ("val_loss.tsv", csv([head, *rows], "\t")),
        "xlsx": ("grid.xlsx", book([[title], [], head, *rows])),
    }
    where, content = file[random.choice([*file])]
    return {where: content}, truth, ()

def _methods(random: Random) -> Drawn:
    """Sizes as columns, methods as rows, and the measurement in the caption."""
    n = _models(random)
    ppl = np.round(np.exp(cases.noisy(1.8 + 60 * n**-0.22, 0.003, random.randrange(10**6), 5)), 2)
    truth = Truth({"n_params": n, "test_loss": np.log(ppl)}, float(1.8 + 60 * (10 * n.max()) ** -0.22))
    several, bracket = random.random() < 0.4, random.choice(("", " ({:.2f}G)", " ({:.1f} GB)", " ({:.0f}h)"))
    factors = (("AdamW", 1.0), ("SOAP", 0.9), ("Muon", 0.85)) if several else (("Full-Rank", 1.0),)
    rows: list[list[object]] = [
        [w, *(f"{m * p:.2f}" + bracket.format(6 * a / 1e9) for a, p in zip(n, ppl))] for w, m in factors
    ]
    if not several and random.random() < 0.5:
        truth = Truth({"n_params": n, "n_data": 20 * n, "test_loss": np.log(ppl)}, truth.ten_times)
        rows.append([random.choice(("Training tokens", "Tokens", "# tokens")), *(short(20 * a) for a in n)])
    head = [random.choice(("", "Method", "Optimizer", "Model")), *map(short, n)]
    text = f"## Results\n\n{random.choice(CAPTIONS)}\n\n{markdown(head, rows)}"
    return {"table.md": text}, truth if not several else None, (("Muon",) if several else ())  # type: ignore[return-value]

def _log(random: Random) -> Drawn:
    """What a script prints: a size above the steps of its training, among other numbers."""
    truth = _family(random)
    n, loss = truth.points.values()
    size = random.choice(("number of parameters: {m:.2f}M", "Model has {n:,} parameters", "n_params = {n}", "Total params: {n:,}", "[INFO] model size: {m:.2f}M params"))
    beside = random.choice(("", "num decayed parameter tensors: 26, with {k:,} parameters\nnum non-decayed parameter tensors: 17, with 4,992 parameters\n", "vocab size: 50304\nusing 8 GPUs\n", "Non-trainable params: 1,024\n"))
    step = random.choice(("step {s}: train loss {t:.4f}, val loss {v:.4f}", "iter {s} | train_loss {t:.4f} | val_loss {v:.4f} | lr 3.0e-04", "Epoch {s}: train loss = {t:.4f}, val loss = {v:.4f} (12.3s)"))
    ends = random.choice(("saving checkpoint to out", "done in 41.3 min", "peak memory: 11.2 GB"))
    text = ""
    for a, c in zip(n, loss):
        text += size.format(n=int(a), m=a / 1e6) + "\n" + beside.format(k=int(0.98 * a))
        text += "".join(
            step.format(s=100 * i, t=v - 0.02, v=v) + "\n" for i, v in enumerate(cases.falling(float(c), 9))
        )
        text += f"{ends}\n\n"
    return {random.choice(("train.log", "all_runs.txt", "slurm-4411.out")): text}, truth, ()

def _search(random: Random) -> Drawn:
    """Trials of a search, of which the lowest of each size counts."""
    truth = _family(random)
    n, loss = truth.points.values()
    setting = random.choice(("params_lr", "params_dropout", "params_alpha"))
    size = random.choice(("user_attrs_n_params", "params_n_params"))
    rows: list[list[object]] = []
    for a, c in zip(n, loss):
        states = random.sample(
            ["COMPLETE"] * 5 + ["PRUNED", random.choice(("FAIL", "PRUNED", "COMPLETE"))], 7
        )
        best = random.choice([k for k, state in enumerate(states) if state == "COMPLETE"])
        for k, state in enumerate(states):
            off = 1.0 if k == best else 1.5 if state != "COMPLETE" else 1 + random.uniform(0.004, 0.05)
            rows.append(
                [
                    len(rows),
                    f"{c * off:.4f}",
                    "2026-03-05 10:00:00",
                    f"{10 ** random.uniform(-4, -2):.6g}",
                    int(a),
                    state,
                ]
            )
    return (
        {"trials.csv": csv([["number", "value", "datetime_start", setting, size, "state"], *rows])},
        truth,
        (),
    )

def _harness(random: Random) -> Drawn:
    """A file of results for each model, with flags and counts beside the score."""
    n = _models(random)
    truth = line(random.randrange(10**6), n, 0.2, 30.0, 0.25, 4, 0.004, "n_params", "test_error")
    score, task = (
        random.choice(("acc,none", "exact_match,strict", "acc")),
        random.choice(("triviaqa", "arc_easy")),
    )
    return {
        f"results/model-{short(a)}/results_{k}.json": json.dumps({
            "results": {task: {"alias": task, score: round(1 - float(c), 4), score.replace(",", "_stderr,") if "," in score else "acc_stderr": 0.0031}},
            "higher_is_better": {task: {score.split(",")[0]: True}}, "n-shot": {task: 5}, "versions": {task: 1.0},
            "config": {"model": "hf", "model_num_parameters": int(a), "batch_size": "16", "limit": None}, "date": 1.7e9 + k})
        for k, (a, c) in enumerate(zip(n, truth.points["test_error"]))
    }, truth, ()

def _words(random: Random) -> Drawn:
    """A line of words for each run."""
    if random.random() < 0.5:
        truth = _subsets(random)
        form = random.choice(("n_rows = {n:,}: valid rmse {v:.4f}", "trained on {n} samples, test loss {v:.4f}", "{n:,} images -> val loss {v:.4f}", "with {n} training examples: val_loss={v:.4f}", "n={n} val loss {v:.4f} (best of 3)"))
        lines = [form.format(n=int(a), v=c) for a, c in zip(*truth.points.values())]
    else:
        truth = _grid(random)
        form = random.choice(("{a} params, {b} tokens: val loss {v:.4f}", "{a} on {b} tok: {v:.4f}", "N={a} D={b} loss={v:.4f}", "- {a} / {b} tokens: val loss = {v:.4f}", "model {a}, {b} tokens => eval loss {v:.4f}"))
        lines = [form.format(a=short(a), b=short(b), v=c) for a, b, c in zip(*truth.points.values())]
    above = random.choice(
        (
            "",
            "val loss on C4\n",
            "results so far (val loss):\n",
            "lena  11:02 AM\nresults are in! (val loss)\n",
        )
    )
    return {"notes.txt": above + "\n".join(lines) + "\n" + random.choice(("", "more tomorrow\n"))}, truth, ()

def _seeds(random: Random) -> Drawn:
    """Seeds as columns, with their mean or without."""
    truth = line(
        random.randrange(10**6),
        np.repeat([500.0, 1000, 2000, 5000, 10000], 3),
        0.05,
        3.0,
        0.35,
        4,
        0.01,
        y="test_error",
    )
    n, error = (v.reshape(5, 3) for v in truth.points.values())
    head = random.choice(
        (
            ["seed0", "seed1", "seed2"],
            ["run 1", "run 2", "run 3"],
            ["err_s0", "err_s1", "err_s2"],
            ["test error (seed 1)", "test error (seed 2)", "test error (seed 3)"],
            ["fold 0", "fold 1", "fold 2"],
        )
    )
    rows: list[list[object]] = [[int(a[0]), *e] for a, e in zip(n, error)]
    if random.random() < 0.4:
        head, rows = (
            [*head, "mean", "std"],
            [[*r, f"{e.mean():.4f}", f"{e.std(ddof=1):.4f}"] for r, e in zip(rows, error)],
        )
    head = [random.choice(EXAMPLES), *head]
    written = {
        "csv": ("test_error.csv", csv([head, *rows])),
        "md": ("README.md", f"## Test error\n\n{markdown(head, rows)}"),
        "xlsx": ("test_error.xlsx", book([["Test error"], head, *rows])),
    }
    where, content = written[random.choice([*written])]
    return {where: content}, truth, ()

LAYOUTS: dict[str, Callable[[Random], Drawn]] = {
    "folder": _folder, "matrix": _matrix, "methods": _methods, "log": _log, "search": _search, "harness": _harness, "words": _words, "seeds": _seeds,
}

def draw(seed: int, count: int) -> Collection:
    """Some tables."""
    random, found = Random(seed), Collection()
    for k in range(count):
        if k % 2:
            way = random.choice([*LAYOUTS])
            files, truth, choices = LAYOUTS[way](random)
            folder = way in ("folder", "harness")
            found.cases.append(cases.Case(f"{k}: {next(iter(files))}", way, files, truth, choices, folder))
            continue
        told, columns = _columns(random)
        y = [*columns][-1]
        truth, columns, choices = _habits(random, told, columns)
        n_rows = len(next(iter(columns.values())))
        for name in sorted({*random.sample([*BESIDE], random.choice((0, 1, 2, 3, 5)))} - {*columns}):
            columns[name] = [*map(BESIDE[name], range(n_rows))]
        names = random.sample([*columns], len(columns))
        rows = [*zip(*(columns[name] for name in names))]
        rows = random.sample(rows, n_rows) if random.random() < 0.4 else rows
        way = random.choice(WAYS)
        file, content = _written(way, names, rows, y)
        found.add(way, f"{k}: {', '.join(names)}", file, content, truth, choices)  # type: ignore[arg-type]
    return found

TABLES = draw(2026, 200)
