"""Thirty tables as they lie on the desks of different people: sweeps, pastes, exports, pivots, papers, logs.

Written without a look at the reader, and committed before the first was read.
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

# --- sweeps of language models ------------------------------------------------------------------------

t = grid(101)
n, d, loss = t.points.values()
add(
    "sweeps", "with crashed runs", "sweep_v4.csv",
    csv([["name", "d_model", "n_layers", "n_heads", "ctx_len", "params", "tokens_trained", "lr", "wd", "train_loss", "val_loss", "status"],
         *([f"gpt_{k}", 64 * round(a**0.3 / 10), 12, 12, 2048, int(a), int(b), 3e-4, 0.1, round(c - 0.04, 4), c, "finished"] for k, (a, b, c) in enumerate(zip(n, d, loss))),
         ["gpt_20", 1024, 12, 12, 2048, int(1.4e9), int(3e10), 3e-3, 0.1, "", "", "crashed"]]), t,
)
iso_c = np.repeat([6e18, 6e19, 6e20], 5)
iso_n = np.concatenate([np.geomspace(0.2, 5, 5) * m for m in (1.2e8, 3.8e8, 1.2e9)]).round(-5)
iso_d = iso_c / 6 / iso_n
iso_loss = noisy(language(iso_n, iso_d), 0.003, 102, 4)
ladder = np.geomspace(1e6, 1e13, 20001)
lowest = float(language(ladder, 6e21 / 6 / ladder).min())
iso = Truth({"n_params": iso_n, "n_data": iso_d, "test_loss": iso_loss}, lowest)
add(
    "sweeps", "isoFLOP profiles", "isoflops.csv",
    csv([["IsoFLOP budget", "N", "D", "Final loss"], *([f"{c:.0e}", f"{a / 1e6:.1f}M", f"{b / 1e9:.6g}B", v] for c, a, b, v in zip(iso_c, iso_n, iso_d, iso_loss))]), iso,
)
t = grid(103)
n, d, loss = t.points.values()
add(
    "sweeps", "tokens named in the cells", "notes.csv",
    csv([["model", "trained on", "loss (val)"], *([f"{short(a)} params", f"{short(b)} tokens", c] for a, b, c in zip(n, d, loss))]), t,
)
add(
    "sweeps", "two tokenizers", "tok.csv",
    csv([["params", "tokens", "tokenizer", "eval_loss"],
         *([int(a), int(b), w, round(c + x, 4)] for a, b, c in zip(n, d, loss) for w, x in (("gpt2-bpe", 0.0), ("byte", 0.25)))]), None, ("tokenizer", "byte"),
)
unique = np.repeat([1e9, 4e9, 16e9, 64e9], 2)
passes = np.tile([1, 4], 4)
repeated = noisy(language(np.full(8, 4e8), unique * passes**0.6), 0.002, 104, 4)
add(
    "sweeps", "data repeated four times", "repeats.csv",
    csv([["unique_tokens", "epochs", "val_loss"], *([int(a), k, v] for a, k, v in zip(unique, passes, repeated))]), None, ("epochs", "4"),
)
t = budgets(105)
c, loss = t.points.values()
add("sweeps", "PF-days", "kaplan.csv", csv([["Compute (PF-days)", "Test Loss"], *([f"{a / 8.64e19:.8g}", b] for a, b in zip(c, loss))]), t)

# --- other fields ---------------------------------------------------------------------------------------

t = images(106, seeds=1)
n, e = t.points["n_data"], t.points["test_error"]
add(
    "fields", "images a class", "fewshot.csv",
    csv([["imgs/class", "backbone", "Top-1 (%)"], *([int(a / 100), "ResNet-50", f"{100 * (1 - b):.2f}"] for a, b in zip(n, e))]),
    Truth({"n_data": n // 100, "test_error": e}, t.ten_times),
)
tries = np.round(500 * (1 - e)).astype(int)
add(
    "fields", "successes of trials", "arm.csv",
    csv([["# demonstrations", "success"], *([int(a), f"{b}/500"] for a, b in zip(n, tries))]),
    Truth({"n_data": n, "test_error": 1 - tries / 500}, t.ten_times),
)
hours = np.array([10.0, 50.0, 100.0, 300.0, 960.0, 3000.0, 10000.0])
wer = noisy(0.03 + 0.6 * hours**-0.45, 0.01, 107, 4)
add(
    "fields", "two test sets of speech", "libri.csv",
    csv([["hours", "WER test-clean", "WER test-other"], *([f"{a:g}", f"{100 * b:.2f}", f"{220 * b:.2f}"] for a, b in zip(hours, wer))]), None, ("WER test-clean", "WER test-other"),
)
frames = np.array([1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8])
failed = noisy(0.03 + 40 * frames**-0.4, 0.02, 108, 4)
add(
    "fields", "frames of an agent", "procgen.csv",
    csv([["env_steps", "agent", "seed", "eval_success_rate"], *([short(a), "PPO", s, round(float(1 - b), 4)] for a, b in zip(frames, failed) for s in (0,))]),
    Truth({"n_data": frames, "test_error": failed}, float(0.03 + 40 * (2e9) ** -0.4)),
)
t = images(109, seeds=1)
n, e = t.points["n_data"], t.points["test_error"]
add(
    "fields", "pairs of a translator, BLEU aside", "nmt.tsv",
    csv([["sentence pairs", "BLEU", "valid nll"], *([f"{int(a):,}", round(40 - 60 * float(b), 2), b] for a, b in zip(n, e))], "\t"),
    Truth({"n_data": n, "test_loss": e}, t.ten_times),
)

# --- cells --------------------------------------------------------------------------------------------

t = grid(110)
n, d, loss = t.points.values()
add(
    "cells", "TSV with decimal commas", "tabelle.tsv",
    csv([["Params", "Tokens", "PPL"], *([f"{a / 1e6:g}M", f"{b / 1e9:g}B", comma(np.exp(c))] for a, b, c in zip(n, d, loss))], "\t"),
    Truth({"n_params": n, "n_data": d, "test_loss": np.log(np.round(np.exp(loss), 4))}, t.ten_times),
)
add(
    "cells", "thousands in quotes, times of the clock", "wallclock.csv",
    csv([["Params", "Tokens", "Wall time", "GPU-h", "Val loss"],
         *([f'"{int(a):,}"', f'"{int(b):,}"', f"{int(3 + a * b / 1e17)}:{int(a * b / 1e15) % 60:02d}", round(a * b / 1e16, 1), c] for a, b, c in zip(n, d, loss))]), t,
)
t = sizes(111)
n, loss = t.points.values()
add(
    "cells", "out of memory and not yet", "queue.csv",
    csv([["model size", "GPUs", "val loss"], *([short(a), 8, b] for a, b in zip(n, loss)), ["20B", 8, "OOM"], ["30B", 16, "tbd"], ["65B", 32, "—"]]), t,
)
t = images(112, seeds=3)
e = t.points["test_error"].reshape(7, 3)
add(
    "cells", "accuracy with an error in LaTeX", "cifar.md",
    "| $n$ | accuracy |\n|---|---|\n" + "".join(f"| {int(a)} | ${100 * (1 - r.mean()):.2f} \\pm {100 * r.std():.2f}$ |\n" for a, r in zip(EXAMPLES, e)),
    Truth({"n_data": EXAMPLES, "test_error": np.round(e.mean(1), 4)}, t.ten_times),
)
add(
    "cells", "percent with a space, seeds named", "seeds.csv",
    csv([["run", "train size", "test acc"], *([f"seed={s}", f"{a / 1000:g}k", f"{100 * (1 - r[s]):.2f} %"] for a, r in zip(EXAMPLES, e) for s in range(3))]), t,
)
add(
    "cells", "mean and deviation below", "folds.csv",
    csv([["fold", *(f"n={int(a)}" for a in EXAMPLES)], *([f"fold {s}", *e[:, s]] for s in range(3)),
         ["mean", *np.round(e.mean(1), 5)], ["std", *np.round(e.std(1), 5)]]), t,
)

# --- texts --------------------------------------------------------------------------------------------

t = sizes(113)
n, loss = t.points.values()
add(
    "texts", "a list in a mail", "mail.txt",
    "Hi all,\n\nfinal validation losses of the ladder:\n\n" + "".join(f"- {short(a)}: {b:.4f}\n" for a, b in zip(n, loss)) + "\nThe 30B is still running.\n\nBest,\nJ.\n", t,
)
add(
    "texts", "arrows", "paste.txt", "".join(f"{short(a)} -> {b:.3f}\n" for a, b in zip(n, loss)),
    Truth({"n_params": n, "test_loss": np.round(loss, 3)}, t.ten_times),
)
t = grid(114)
n, d, loss = t.points.values()
wide = loss.reshape(5, 4)
add(
    "texts", "LaTeX with a head over columns", "tab.tex",
    "\\begin{tabular}{lcccc}\n\\hline\n & \\multicolumn{4}{c}{Training tokens} \\\\\n\\cline{2-5}\nParameters & 1B & 3B & 10B & 30B \\\\\n\\hline\n"
    + "".join(f"{short(a)} & " + " & ".join(f"{v:.4f}" for v in r) + " \\\\\n" for a, r in zip(MODELS, wide)) + "\\hline\n\\end{tabular}\n\\caption{Validation loss.}\n", t,
)
add(
    "texts", "comments among the rows", "log.csv",
    "# sweep of March, cluster B\nn_params,n_tokens,val_loss  # nats\n" + "".join(
        f"{int(a)},{int(b)},{c}\n" + ("# --- next size ---\n" if (k + 1) % 4 == 0 else "") for k, (a, b, c) in enumerate(zip(n, d, loss))), t,
)
frame = pd.DataFrame({"Params": n, "Tokens": d, "Loss": loss})
add(
    "texts", "a notebook", "analysis.ipynb",
    json.dumps({"cells": [{"cell_type": "markdown", "source": ["# Ladder"], "metadata": {}},
                          {"cell_type": "code", "source": ["df"], "metadata": {}, "execution_count": 1, "outputs": [
                              {"output_type": "execute_result", "execution_count": 1, "metadata": {},
                               "data": {"text/html": frame.to_html(), "text/plain": frame.to_string()}}]}],
                "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), t,
)

# --- sheets -------------------------------------------------------------------------------------------

by_model = {short(a): pd.DataFrame({"Tokens (B)": TOKENS / 1e9, "Loss": row}) for a, row in zip(MODELS, wide)}
add("sheets", "a sheet a model", "by_model.xlsx", book(**by_model), t)
add(
    "sheets", "units below the header", "units.xlsx",
    book([["Scaling runs, Q3", None, None, None], ["Model", "Size", "Data", "Loss"], [None, "M params", "B tokens", "nats/token"],
          *([f"m{k}", a / 1e6, b / 1e9, c] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t,
)
add("sheets", "a pivot of pandas", "pivot.csv", frame.pivot_table(index="Params", columns="Tokens", values=["Loss"]).to_csv(), t)

# --- trackers -----------------------------------------------------------------------------------------

n = PYTHIA[2:8]
final = noisy(by_size(n), 0.003, 115, 4)
t = Truth({"n_params": n, "test_loss": final}, float(by_size(10 * n.max())))
add(
    "trackers", "W&B runs", "wandb_export_2025-02-11T10_12_44.csv",
    csv([['"Name"', '"State"', '"Notes"', '"User"', '"Created"', '"Runtime"', '"Sweep"', '"model/n_params"', '"optim.lr"', '"train/loss"', '"val/loss"', '"_step"'],
         *([f'"gpt-{short(a)}-cosine"', '"finished"', '"-"', '"ana"', f'"2025-02-0{k + 1}T09:00:00.000Z"', 3600 * (k + 1), '""', int(a), 0.0003, b - 0.05, b, 20000] for k, (a, b) in enumerate(zip(n, final)))]), t,
)
add(
    "trackers", "MLflow runs", "runs.csv",
    csv([["Start Time", "Duration", "Run ID", "Name", "Source Type", "User", "Status", "n_params", "seed", "optimizer", "train_loss", "val_loss"],
         *([f"2025-03-0{k + 1} 12:00:01", f"{k + 1}.2h", f"{k:032x}", f"gifted-fox-{k}", "LOCAL", "lee", "FINISHED", int(a), 1, "adamw", round(b - 0.04, 4), b] for k, (a, b) in enumerate(zip(n, final)))]), t,
)
folder(
    "trackers", "CSVs of TensorBoard",
    {f"run-gpt_{short(a)}-tag-eval_loss.csv": csv([["Wall time", "Step", "Value"], *([1.7e9 + 60 * i, 500 * i, v] for i, v in enumerate(falling(float(b))))]) for a, b in zip(n, final)}, t,
)
folder(
    "trackers", "config.json beside metrics.jsonl",
    {name: content for k, (a, b) in enumerate(zip(n, final)) for name, content in (
        (f"runs/{k:03d}/config.json", json.dumps({"model": {"d_model": 256 * (k + 1), "n_params": int(a)}, "lr": 3e-4, "batch_size": 512})),
        (f"runs/{k:03d}/metrics.jsonl", "".join(json.dumps({"step": 500 * i, "train/loss": float(v) + 0.02, "val/loss": float(v)}) + "\n" for i, v in enumerate(falling(float(b))))))}, t,
)
add(
    "trackers", "lines of JSON with arguments", "results.jsonl",
    "".join(json.dumps({"args": {"width": 64 * (k + 1), "depth": 6, "lr": 0.001, "seed": 0}, "num_params": int(a), "metrics": {"train": {"loss": float(b) - 0.1}, "test": {"loss": float(b)}}, "time": 120.5 * (k + 1)}) + "\n" for k, (a, b) in enumerate(zip(n, final))), t,
)
