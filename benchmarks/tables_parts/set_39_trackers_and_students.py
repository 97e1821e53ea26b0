"""Thirty tables of a December: trackers, prints, sheets, papers, sciences, students' files.

Written without a look at what reads them or at the other sets (the head of set 28 showed how a case is written), and
committed before the first of them was read.
"""

import io
import json

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
SMALL = np.array([8e6, 21e6, 57e6, 148e6, 402e6, 1.1e9])
FOUR = np.array([33e6, 90e6, 260e6, 710e6])
SEEN = np.array([1.5e9, 5e9, 16e9, 48e9])
SUBSETS = np.array([500.0, 1000, 2000, 5000, 10000, 20000, 50000])

def surface(seed, models=FOUR, tokens=SEEN, digits=4):
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, models, tokens, lambda n, d: 1.72 + 380 * n**-0.335 + 450 * d**-0.285, digits)

# --- trackers --------------------------------------------------------------------------------------------

t = surface(201)
n, d, loss = columns(t)
rows = [[f"golden-frost-{k + 3}", "finished", "", f"2025-12-02T09:1{k % 6}:00Z", 5120 + 311 * k, "lena", "sweep-a", 8, 0.1, 0.0006, int(a), int(b), 2 * c - 1.9, round(float(c) - 0.02, 4), c] for k, (a, b, c) in enumerate(zip(n, d, loss))]
rows.insert(5, ["misty-haze-40", "crashed", "oom?", "2025-12-02T11:40:00Z", 61, "lena", "sweep-a", 8, 0.1, 0.0006, int(n[5]), int(d[5]), "", "", ""])
add("trackers", "W&B's table of runs, one crashed", "wandb_export_2025-12-02T12_00_00.csv",
    csv([["Name", "State", "Notes", "Created", "Runtime", "User", "Tags", "n_head", "weight_decay", "lr", "model.total_params", "data.tokens", "grad_norm", "train/loss", "val/loss"], *rows]), t)

t = line(202, SMALL[:5], 1.8, 55.0, 0.21, 4, 0.003, "n_params")
n, loss = columns(t)
steps = np.arange(0, 5001, 500)
names = [f"lm-{short(a)}" for a in n]
frame = pd.DataFrame({"Step": steps})
for name, v in zip(names, loss):
    for suffix in ("", "__MIN", "__MAX"):
        frame[f"{name} - eval/loss{suffix}"] = falling(float(v), len(steps))
add("trackers", "W&B's chart: a column a run, the size in its name", "wandb_chart.csv", csv(frame), t)

t = line(203, np.repeat(SUBSETS, 2), 0.31, 14.0, 0.42)
n, loss = columns(t)
add("trackers", "MLflow's runs", "mlflow_runs.csv",
    csv([["run_id", "experiment_id", "status", "artifact_uri", "start_time", "end_time", "metrics.train_loss", "metrics.val_loss", "params.n_train", "params.seed", "params.lr", "tags.mlflow.user", "tags.mlflow.source.name"],
        *([f"9f{k:02x}77ab", 3, "FINISHED", f"file:///mlruns/3/9f{k:02x}", f"2025-12-01 10:{k:02d}:00", f"2025-12-01 10:{k:02d}:55", f"{0.6 * c:.4f}", c, int(a), k % 2, 0.001, "omar", "train.py"] for k, (a, c) in enumerate(zip(n, loss)))]), t)

t = surface(204, FOUR, SEEN[:3])
n, d, loss = columns(t)
add("trackers", "Neptune's runs", "neptune.csv",
    csv([["sys/id", "sys/creation_time", "sys/state", "sys/owner", "parameters/model/n_params", "parameters/train/tokens", "parameters/optim/lr", "metrics/val/loss (last)", "metrics/train/loss (last)", "monitoring/gpu_mem"],
        *([f"LM-{k + 1}", "2025-12-03 08:00:00", "Inactive", "ana", int(a), int(b), 0.0003, c, round(float(c) - 0.03, 4), 61.2] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = line(205, SUBSETS[:6], 0.05, 9.0, 0.5)
folder("trackers", "scalars that TensorBoard downloads, one file a run", {f"run-n{int(a)}_seed0-tag-val_loss.csv": "Wall time,Step,Value\n" + "".join(f"{1764600000 + 60 * i}.25,{100 * i},{v}\n" for i, v in enumerate(falling(float(c), 10))) for a, c in zip(*t.points.values())}, t)

# --- prints ----------------------------------------------------------------------------------------------

t = line(206, np.repeat(SUBSETS[:5], 3), 0.04, 4.1, 0.41)
n, loss = columns(t)
add("prints", "a loop that prints a line a run", "out.txt",
    "Using device cuda:0\n" + "".join(f"N={int(a)} seed={k % 3} train_err=0.0000 test_err={c:.4f} ({14 + k}.2s)\n" for k, (a, c) in enumerate(zip(n, loss))) + "done\n", t)

t = surface(207, FOUR, SEEN[:3])
n, d, loss = columns(t)
add("prints", "lines grepped out of Slurm's files", "grep.txt",
    "".join(f"slurm-8812{k:02d}.out:[2025-12-04 03:{k:02d}:17] model={short(a)} tokens={short(b)} lr=3e-4 | final val loss: {c:.4f}\n" for k, (a, b, c) in enumerate(zip(n, d, loss))), t)

t = surface(208, FOUR[:3], SEEN)
frame = pd.DataFrame(dict(zip(["params", "tokens", "val_loss"], columns(t)))).assign(lr=0.0003)
add("prints", "a frame printed in a notebook", "cell.txt", frame.to_string() + "\n", t)

t = line(209, SMALL, 2.1, 80.0, 0.24, 3, 0.003, "n_params")
n, loss = columns(t)
add("prints", "a table that rich draws", "summary.txt",
    "┏━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━┓\n┃ config  ┃   params ┃ val_loss ┃ time    ┃\n┡━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━┩\n" + "".join(f"│ cfg-{k:<3} │ {short(a):>8} │ {c:>8.3f} │ 0:{12 + k}:40 │\n" for k, (a, c) in enumerate(zip(n, loss))) + "└─────────┴──────────┴──────────┴─────────┘\n", t)

t = line(210, SUBSETS, 0.11, 6.0, 0.38)
n, loss = columns(t)
add("prints", "sections of a log, a section a size", "train.log",
    "".join(f"==== Training with {int(a):,} examples ====\n" + "".join(f"Epoch {i + 1}/10: train loss {0.8 * v:.4f}, val loss {v:.4f}\n" for i, v in enumerate(falling(float(c), 10))) + f"Final val loss: {c:.4f}\n\n" for a, c in zip(n, loss)), t)

# --- sheets ----------------------------------------------------------------------------------------------

t = surface(211)
n, d, loss = columns(t)
add("sheets", "two rows of headers: names, then units", "Results.xlsx",
    book([["Model", "Params", "Tokens", "LR", "Val loss"], ["", "[M]", "[B]", "", "[nats]"], *([f"L{k // 4}", a / 1e6, b / 1e9, 0.0004, c] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = surface(212, FOUR, SEEN, 3)
n, d, loss = columns(t)
add("sheets", "tokens as columns under one title", "pivot.csv",
    csv([["Final eval loss (rows: model size; columns: tokens)", "", "", "", ""], ["", *map(short, SEEN)], *([short(a), *r] for a, r in zip(FOUR, loss.reshape(4, 4)))]), t)

t = line(213, np.repeat(SUBSETS[:6], 3), 3.0, 420.0, 0.47, 2, 0.01)
n, loss = columns(t)
add("sheets", "three repeats and their mean in a sheet", "mae.xlsx",
    book([["Training molecules", "MAE rep 1 (meV)", "MAE rep 2 (meV)", "MAE rep 3 (meV)", "Average"], *([int(a), *r, round(float(r.mean()), 2)] for a, r in zip(n[::3], loss.reshape(-1, 3)))]), t)

t = line(214, SUBSETS, 0.06, 5.0, 0.4)
n, loss = columns(t)
add("sheets", "a German sheet with commas and percent", "ergebnisse.csv",
    csv([["Lauf", "Anzahl Trainingsbilder", "Testfehler (%)", "Bemerkung"], *([k + 1, f"{int(a):,}".replace(",", "."), comma(100 * float(c), 2), "" if k else "erster Versuch"] for k, (a, c) in enumerate(zip(n, loss)))], ";"), t)

t = surface(215, FOUR[:3], SEEN, 3)
n, d, loss = columns(t)
add("sheets", "a paste with thousands of separators", "paste.tsv",
    csv([["Run", "# params", "# tokens", "Best dev loss", "GPU-h"], *([f"exp{k:03d}", f"{int(a):,}", f"{int(b):,}", c, round(6 * a * b / 1e18, 1)] for k, (a, b, c) in enumerate(zip(n, d, loss)))], "\t"), t)

# --- papers and notes ------------------------------------------------------------------------------------

t = line(216, SMALL, 1.95, 61.0, 0.215, 3, 0.002, "n_params")
n, loss = columns(t)
add("papers", "a table of an appendix", "appendix.tex",
    "\\begin{table}[t]\n\\centering\n\\caption{Model shapes and final losses.}\n\\begin{tabular}{lrrrr}\n\\toprule\nName & $n_\\text{layer}$ & $d_\\text{model}$ & Parameters & Val.\\ loss $\\downarrow$ \\\\\n\\midrule\n" + "".join(f"{w} & {4 + 3 * k} & {128 * (k + 2)} & {short(a)} & {c:.3f} \\\\\n" for k, (w, a, c) in enumerate(zip(("XS", "S", "M", "L", "XL", "XXL"), n, loss))) + "\\bottomrule\n\\end{tabular}\n\\end{table}\n", t)

t = line(217, SUBSETS, 0.08, 7.7, 0.44, 3, 0.003)
n, loss = columns(t)
add("papers", "a notebook's page with a table in the middle", "2025-12-05.md",
    "# Friday\n\nReran the subset sweep with the fixed augmentation (commit 3fa91c). Took 6 h on 2 GPUs.\n\n" + markdown(["training images", "seed", "top-1 acc.", "comment"], [[f"{int(a):,}", 0, f"{100 * (1 - float(c)):.1f}%", "looks odd" if k == 1 else ""] for k, (a, c) in enumerate(zip(n, loss))]) + "\nNext: 100k.\n", t)

t = surface(218, FOUR[:3], SEEN[:3], 3)
n, d, loss = columns(t)
add("papers", "Org mode", "lab.org",
    "* Scaling runs\n** batch 1\n| N | D | val loss | who |\n|---+---+---+---|\n" + "".join(f"| {short(a)} | {short(b)} | {c} | rk |\n" for a, b, c in zip(n, d, loss)) + "#+TBLFM: \n", t)

t = line(219, np.array([10.0, 30, 100, 300, 1000, 3000]) * 1e3, 1.1, 95.0, 0.4, 2, 0.004)
n, loss = columns(t)
add("papers", "mean and spread in one cell, on a page", "page.html",
    "<html><body><h2>Force errors</h2><table><thead><tr><th>Structures</th><th>Force RMSE (meV/Å)</th></tr></thead><tbody>" + "".join(f"<tr><td>{int(a / 1000)}k</td><td>{c:.2f} &plusmn; {0.01 * c:.2f}</td></tr>" for a, c in zip(n, loss)) + "</tbody></table></body></html>", t)

# --- files of programs -----------------------------------------------------------------------------------

t = surface(220)
add("programs", "runs in one JSON, nested", "all_runs.json",
    json.dumps({"project": "scaling", "exported_at": "2025-12-06", "runs": [{"id": f"r{k}", "config": {"model": {"n_params": int(a), "n_layers": 6 + k // 4}, "train": {"tokens": int(b), "lr": 4e-4}}, "results": {"eval": {"loss": float(c), "ppl": round(float(np.exp(c)), 2)}, "hours": 2 + k}} for k, (a, b, c) in enumerate(zip(*t.points.values()))]}, indent=1), t)

t = surface(221, FOUR, SEEN[:3])
add("programs", "a line a finished run", "results.jsonl",
    "".join(json.dumps({"name": f"{short(a)}_{short(b)}", "num_params": short(a), "num_tokens": short(b), "final": {"train_loss": round(float(c) - 0.05, 4), "valid_loss": float(c)}, "git": "b7e21aa"}) + "\n" for a, b, c in zip(*t.points.values())), t)

t = line(222, np.repeat(SUBSETS[:6], 3), 0.07, 6.2, 0.43)
n, loss = columns(t)
add("programs", "what a script saves: sizes, and errors by seed", "curve.json",
    json.dumps({"train_sizes": [int(a) for a in n[::3]], "test_error": loss.reshape(-1, 3).tolist(), "seeds": [0, 1, 2]}), t)

t = line(223, SMALL, 1.7, 48.0, 0.2, 4, 0.003, "n_params")
add("programs", "a list in YAML", "models.yml",
    "models:\n" + "".join(f"  - name: base-{k}\n    parameters: {int(a)}\n    hidden_size: {256 * (k + 1)}\n    metrics:\n      train_loss: {c - 0.04:.4f}\n      eval_loss: {c}\n" for k, (a, c) in enumerate(zip(*t.points.values()))), t)

t = line(224, np.repeat(SUBSETS, 2), 0.03, 5.5, 0.46)
n, loss = columns(t)

def _archive(path, n=n, loss=loss):
    with io.BytesIO() as memory:
        np.savez(memory, n_train=n[::2].astype(int), test_err=loss.reshape(-1, 2), train_err=0 * loss.reshape(-1, 2))
        path.write_bytes(memory.getvalue())

add("programs", "arrays that NumPy saved, a column a seed", "curves.npz", _archive, t)

t = surface(225, FOUR, SEEN)
add("programs", "a Parquet file with shapes of the models", "runs.parquet",
    lambda path, t=t: pd.DataFrame({"run": [f"r{k}" for k in range(16)], "d_model": np.repeat([256, 512, 768, 1024], 4), "non_embedding_params": t.points["n_params"].astype(int), "train_tokens": t.points["n_data"].astype(int), "val_ce": t.points["test_loss"]}).to_parquet(path), t)

# --- sciences and students -------------------------------------------------------------------------------

t = line(226, np.array([10.0, 30, 100, 300, 960, 3000]) * 1e3, 0.024, 11.0, 0.42)
n, loss = columns(t)
add("sciences", "utterances and word error rates", "wer.csv",
    csv([["subset", "utterances", "WER dev-clean (%)"], *([w, int(a), f"{100 * c:.2f}"] for w, a, c in zip(("10k", "30k", "100k", "300k", "full", "extra"), n, loss))]), t)

t = line(227, np.repeat(SUBSETS[:6], 5), 0.2, 8.0, 0.4)
n, loss = columns(t)
add("sciences", "five folds of every size", "cv.csv",
    csv([["model", "n_samples", "fold", "logloss", "fit_seconds"], *(["lgbm", int(a), k % 5, c, round(a / 900, 2)] for k, (a, c) in enumerate(zip(n, loss)))]), t)

t = line(228, np.array([120.0, 250, 500, 1000, 2000, 4000, 8000]), 0.09, 2.4, 0.4)
n, loss = columns(t)
add("sciences", "Scikit-learn's learning curve", "learning_curve.csv",
    csv([["", "train_sizes", "train_score_mean", "test_score_mean", "fit_time"], *([k, int(a), 1.0, f"{1 - c:.4f}", 0.02 * k] for k, (a, c) in enumerate(zip(n, loss)))]), t)

t = line(229, np.repeat([16.0, 64, 256, 1024, 4096], 4), 0.02, 1.9, 0.5)
n, loss = columns(t)
add("sciences", "R's data frame", "df.txt",
    '"ntrain" "rep" "mse"\n' + "".join(f'"{k + 1}" {int(a)} {k % 4 + 1} {c:.4f}\n' for k, (a, c) in enumerate(zip(n, loss))), t)

t = line(230, np.geomspace(3e17, 3e20, 7), 1.75, 1100.0, 0.155, 4, 0.003, "compute")
n, loss = columns(t)
add("sciences", "the best loss at every budget", "frontier.csv",
    csv([["C (FLOPs)", "best loss"], *([f"{a:.2e}", c] for a, c in zip(n, loss))]), Truth({"compute": np.array([float(f"{a:.2e}") for a in n]), "test_loss": loss}, t.ten_times))
