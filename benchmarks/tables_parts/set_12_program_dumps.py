"""Thirty more tables: results as programs dump them, logs of trainers, tables of long rows, other scripts and marks.

Written without a look at the reader, before set 11 was mended, and committed before the first was read. Two truths were
changed after that: of two optimizers the better is used, which is said; of Keras's accuracy and loss, either is right.
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

# --- dumps --------------------------------------------------------------------------------------------

t = sizes(121)
n, loss = t.points.values()
add(
    "dumps",
    "a dictionary of runs",
    "evals.json",
    json.dumps(
        {f"gpt-{short(a)}": {"val_loss": float(b), "train_loss": float(b) - 0.05} for a, b in zip(n, loss)}
    ),
    t,
)
add("dumps", "lists by name", "arrays.json", json.dumps({"n_params": [int(a) for a in n], "val_loss": [float(b) for b in loss], "lr": [3e-4] * len(n)}), t)
add("dumps", "split by pandas", "split.json", pd.DataFrame({"params": n, "loss": loss}).to_json(orient="split"), t)
add(
    "dumps",
    "a dictionary in Python",
    "results.py",
    "# final validation losses\nresults = {\n"
    + "".join(f"    {int(a)}: {b},\n" for a, b in zip(n, loss))
    + "}\n",
    t,
)
t = grid(122)
n, d, loss = t.points.values()
add("dumps", "equations in lines", "out.log", "".join(f"N={short(a)} D={short(b)} loss={c:.4f}\n" for a, b, c in zip(n, d, loss)), t)
add(
    "dumps", "sentences of a script", "slurm-4471.out",
    "Loading module cuda/12.1\n" + "".join(f"[rank0] finished run {k}: params={int(a)} tokens={int(b)} final_val_loss={c:.4f} elapsed=01:{k:02d}:11\n" for k, (a, b, c) in enumerate(zip(n, d, loss))) + "JOB DONE\n", t,
)
add(
    "dumps", "trials of Optuna", "trials.csv",
    csv([["", "number", "value", "datetime_start", "datetime_complete", "duration", "params_lr", "user_attrs_n_params", "user_attrs_tokens", "state"],
         *([k, k, c, f"2025-01-01 0{k % 10}:00:00.1", f"2025-01-01 0{k % 10}:30:00.1", "0 days 00:30:00.000000", 0.0003, int(a), int(b), "COMPLETE"] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t,
)

# --- long rows ----------------------------------------------------------------------------------------

add(
    "long", "metrics in rows", "tidy.csv",
    csv([["params", "tokens", "metric", "value"], *([int(a), int(b), m, v] for a, b, c in zip(n, d, loss) for m, v in (("train_loss", round(c - 0.03, 4)), ("val_loss", c)))]), t,
)
add(
    "long", "splits in rows", "splits.csv",
    csv([["params", "tokens", "split", "loss"], *([int(a), int(b), m, v] for a, b, c in zip(n, d, loss) for m, v in (("train", round(c - 0.03, 4)), ("validation", c)))]), t,
)
rates = np.array([1e-4, 3e-4, 1e-3])
tuned = sizes(123)
n, loss = tuned.points.values()
add(
    "long", "learning rates tried at each size", "lr_sweep.csv",
    csv([["n_params", "lr", "val_loss"], *([int(a), r, round(float(b) + x, 4)] for a, b in zip(n, loss) for r, x in zip(rates, (0.06, 0.0, 0.09)))]), tuned,
)
t = grid(124)
n, d, loss = t.points.values()
add(
    "long", "checkpoints of several models", "ckpts.csv",
    csv([["model", "params", "step", "tokens_seen", "val_loss"], *([f"lm-{short(a)}", int(a), int(b / 5e5), int(b), c] for a, b, c in zip(n, d, loss))]), t,
)
add(
    "long", "several benchmarks", "leaderboard.csv",
    csv([["Model", "#Params", "MMLU", "HellaSwag", "ARC-c"], *([f"m{k}", short(a), round(70 - 10 * b, 1), round(95 - 12 * b, 1), round(80 - 11 * b, 1)] for k, (a, b) in enumerate(zip(*tuned.points.values())))]),
    None, ("MMLU", "HellaSwag"),
)
add(
    "long", "two optimizers, one seed", "optimizers.tsv",
    csv([["N", "D", "opt", "loss"], *([short(a), short(b), o, round(c + x, 4)] for a, b, c in zip(n, d, loss) for o, x in (("AdamW", 0.0), ("Muon", -0.08)))], "\t"),
    None, ("opt", "Muon"),
)

# --- marks --------------------------------------------------------------------------------------------

wide = loss.reshape(5, 4)
add("marks", "Japanese", "実験.csv", csv([["パラメータ数", "学習トークン数", "検証損失"], *([short(a), short(b), c] for a, b, c in zip(n, d, loss))]), t)
add(
    "marks", "Swiss thousands", "schweiz.csv",
    csv([["params", "tokens", "val loss"], *([f"{int(a):,}".replace(",", "'"), f"{int(b):,}".replace(",", "'"), c] for a, b, c in zip(n, d, loss))], ";"), t,
)
add(
    "marks", "errors in parentheses", "runs.csv",
    csv([["N", "D", "L"], *([short(a), short(b), f"{c:.4f}({9 + k})"] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t,
)
c, loss = budgets(125).points.values()
add("marks", "logarithms of compute", "logs.csv", csv([["log10 C", "L"], *([f"{np.log10(a):.6f}", b] for a, b in zip(c, loss))]), budgets(125))
n, loss = (t := sizes(126)).points.values()
add("marks", "MATLAB", "ladder.dat", "% model ladder, July\n% params  val_loss\n" + "".join(f"{a:.4e}   {b:.4f}\n" for a, b in zip(n, loss)), t)
add(
    "marks", "Org", "notes.org",
    "* Ladder\n| params | val loss |\n|--------+----------|\n" + "".join(f"| {short(a)} | {b:.4f} |\n" for a, b in zip(n, loss)) + "#+TBLFM: $2=vmean\n", t,
)
add(
    "marks", "reStructuredText", "results.rst",
    "Results\n=======\n\n======  ========\nParams  Val loss\n======  ========\n" + "".join(f"{short(a):6}  {b:.4f}\n" for a, b in zip(n, loss)) + "======  ========\n", t,
)
n, e = (t := images(127, seeds=3)).points.values()
e = e.reshape(7, 3)
add(
    "marks", "curves of scikit-learn", "learning_curve.csv",
    csv([["train_sizes", "train_scores_mean", "test_scores_mean", "test_scores_std"], *([int(a), 0.999, round(float(1 - r.mean()), 4), round(float(r.std()), 4)] for a, r in zip(EXAMPLES, e))]),
    Truth({"n_data": EXAMPLES, "test_error": np.round(e.mean(1), 4)}, t.ten_times),
)
g = grid(128)
n, d, loss = g.points.values()
add(
    "marks", "two heads over four columns", "heads.xlsx",
    book([["Model", None, "Loss", None], ["N (M)", "D (B)", "train", "val"], *([a / 1e6, b / 1e9, round(c - 0.05, 4), c] for a, b, c in zip(n, d, loss))]), g,
)
add(
    "marks", "sizes over the columns, Markdown", "table.md",
    "Validation loss after training:\n\n| Tokens | " + " | ".join(short(a) for a in MODELS) + " |\n|" + "---|" * 6 + "\n"
    + "".join(f"| {short(b)} | " + " | ".join(f"{v:.4f}" for v in r) + " |\n" for b, r in zip(TOKENS, loss.reshape(5, 4).T)), g,
)

# --- trainers -----------------------------------------------------------------------------------------

accuracy = t.points["test_error"].reshape(7, 3)[:, 0]
folder(
    "trainers", "Keras",
    {f"n_{int(a)}/training.csv": csv([["epoch", "accuracy", "loss", "val_accuracy", "val_loss"], *([i, 0.9, 0.3, round(float(1 - v), 4), round(float(v) * 3, 4)] for i, v in enumerate(np.round(b * (1 + np.linspace(2, 0, 8)), 4)))]) for a, b in zip(EXAMPLES, accuracy)},
    Truth({"n_data": EXAMPLES, "test_error": accuracy}, t.ten_times),
)
n = PYTHIA[2:8]
final = noisy(by_size(n), 0.003, 129, 4)
t = Truth({"n_params": n, "test_loss": final}, float(by_size(10 * n.max())))
folder(
    "trainers", "Hydra",
    {name: content for k, (a, b) in enumerate(zip(n, final)) for name, content in (
        (f"multirun/2025-01-01/10-00-00/{k}/.hydra/config.yaml", f"model:\n  n_params: {int(a)}\n  depth: 12\noptim:\n  lr: 0.0003\n"),
        (f"multirun/2025-01-01/10-00-00/{k}/results.json", json.dumps({"val_loss": float(b), "train_loss": float(b) - 0.03})))}, t,
)
folder(
    "trainers", "Ray Tune",
    {name: content for k, (a, b) in enumerate(zip(n, final)) for name, content in (
        (f"train_{k:05d}/params.json", json.dumps({"n_params": int(a), "lr": 0.0003})),
        (f"train_{k:05d}/result.json", "".join(json.dumps({"training_iteration": i + 1, "val_loss": float(v), "trial_id": f"{k:05d}", "time_total_s": 60.0 * i, "config": {"n_params": int(a), "lr": 0.0003}}) + "\n" for i, v in enumerate(falling(float(b))))))}, t,
)
folder(
    "trainers", "fairseq",
    {f"tlm_{short(a)}/train.log": f"2025-01-01 10:00:00 | INFO | fairseq_cli.train | num. shared model params: {int(a):,} (num. trained: {int(a):,})\n" + "".join(
        f"2025-01-01 1{i % 10}:10:00 | INFO | valid | epoch {i + 1:03d} | valid on 'valid' subset | loss {v:.4f} | ppl {2**v:.2f} | wps 40000 | num_updates {500 * (i + 1)}\n" for i, v in enumerate(falling(float(b)))) for a, b in zip(n, final)},
    Truth({"n_params": n, "test_loss": final}, t.ten_times),
)
folder(
    "trainers", "Lightning",
    {name: content for k, (a, b) in enumerate(zip(n, final)) for name, content in (
        (f"lightning_logs/version_{k}/hparams.yaml", f"n_params: {int(a)}\nlr: 0.0003\n"),
        (f"lightning_logs/version_{k}/metrics.csv", csv([["epoch", "step", "train_loss", "val_loss"], *([i, 500 * i, "", v] for i, v in enumerate(falling(float(b))))])))}, t,
)
add(
    "trainers", "Neptune", "neptune.csv",
    csv([["sys/id", "sys/name", "sys/running_time", "parameters/n_params", "parameters/lr", "metrics/train/loss (last)", "metrics/val/loss (last)"],
         *([f"LM-{k}", f"lm {k}", f"{k + 1}h 12m", int(a), 0.0003, round(b - 0.05, 4), b] for k, (a, b) in enumerate(zip(n, final)))]), t,
)
seen = np.arange(1, 31) * 2e8
along = noisy(language(np.full(30, 7e7), seen), 0.001, 130, 4)
add(
    "trainers", "one run's table of steps", "history.csv",
    csv([["step", "tokens", "lr", "train_loss", "val_loss"], *([400 * (i + 1), int(a), 3e-4, round(float(b) + 0.02, 4), b] for i, (a, b) in enumerate(zip(seen, along)))]),
    Truth({"n_data": seen, "test_loss": along}, float(language(np.array([7e7]), np.array([6e10]))[0])),
)
