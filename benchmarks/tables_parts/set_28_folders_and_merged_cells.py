"""Thirty tables of thirty other people: folders that tools write, a tracker's dictionaries, sheets with merged cells.

Written from what such people keep, with set 23 as the pattern of how a case is written, without a look at
the other sets or at what reads them, and committed before the first of them was read.
"""

import json

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
LADDER = np.array([13e6, 29e6, 70e6, 165e6, 390e6, 920e6])
MIDDLE = np.array([41e6, 98e6, 230e6, 560e6, 1.4e9])
SEEN = np.array([2e9, 6e9, 18e9, 54e9])

def surface(seed, models=MIDDLE, tokens=SEEN):
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, models, tokens, lambda a, b: 1.68 + 420 * a**-0.34 + 390 * b**-0.28)

# --- folders that tools write ----------------------------------------------------------------------------

t = line(101, np.array([1000.0, 2500, 5000, 12500, 25000, 50000]), 0.27, 19.0, 0.44)
files = {}
for k, (a, b) in enumerate(zip(*t.points.values())):
    files[f"lightning_logs/version_{k}/hparams.yaml"] = (f"batch_size: 128\nhidden: 512\nlr: 0.001\nn_train: {int(a)}\nseed: 0\n")
    files[f"lightning_logs/version_{k}/metrics.csv"] = "epoch,step,train_loss,val_acc,val_loss\n" + "".join(
        f"{i},{40 * (i + 1) - 1},{0.8 * v:.4f},,\n{i},{40 * (i + 1) - 1},,0.{30 + 3 * i},{v:.4f}\n" for i, v in enumerate(falling(float(b), 12)))
folder("folders", "Lightning's CSV logger", files, t)

t = surface(102, MIDDLE[:4], SEEN[:3])
files = {}
for k, (a, b, c) in enumerate(zip(*t.points.values())):
    files[f"multirun/2025-11-03/10-22-41/{k}/.hydra/config.yaml"] = (
        f"model:\n  n_params: {int(a)}\n  d_head: 64\ndata:\n  name: dclm\n  n_tokens: {int(b)}\noptim:\n  lr: 0.002\nseed: 1\n"
    )
    files[f"multirun/2025-11-03/10-22-41/{k}/results.json"] = json.dumps({"val_loss": float(c), "wall_s": 4100 + 61 * k})
folder("folders", "Hydra's multirun", files, t)

t = line(103, np.array([3.4e6, 10.65e6, 29.94e6, 84.95e6, 162.26e6]), 1.3, 22.0, 0.21, 4, 0.003, "n_params")
folder("folders", "what nanoGPT prints", {f"logs/{w}.out": f"tokens per iteration will be: 491,520\nnumber of parameters: {a / 1e6:.2f}M\nusing fused AdamW: True\n"
    + "".join(f"step {500 * i}: train loss {v - 0.03:.4f}, val loss {v:.4f}\niter {500 * i}: loss {v - 0.02:.4f}, time 310.22ms, mfu 38.12%\n" for i, v in enumerate(falling(float(b), 11)))
    for w, a, b in zip(("xs", "s", "m", "l", "xl"), *t.points.values())}, t)

t = line(104, np.array([256.0, 512, 1024, 2048, 4096, 8192]), 0.012, 3.3, 0.52)
folder("folders", "histories of Keras, one a subset", {f"histories/n{int(a)}/history.json": json.dumps({"loss": [round(0.7 * float(v), 4) for v in falling(float(b), 10)], "val_loss": [float(v) for v in falling(float(b), 10)]}) for a, b in zip(*t.points.values())}, t)

# --- trackers --------------------------------------------------------------------------------------------

t = surface(105)
add("trackers", "the frame of W&B's example: dictionaries in cells", "project.csv",
    pd.DataFrame([{"summary": str({"_step": int(b / 1e6), "_runtime": 912.5 + k, "eval/loss": float(c), "_wandb": {"runtime": 912}}), "config": str({"lr": 0.003, "model": "gpt", "n_params": int(a), "tokens": int(b), "bf16": True}), "name": f"fast-elm-{k}"} for k, (a, b, c) in enumerate(zip(*t.points.values()))]).to_csv(), t)

t = line(106, LADDER, 1.9, 70.0, 0.225, 4, 0.002, "n_params")
add("trackers", "trials of Optuna, the best of a size counts", "trials.csv",
    csv([["", "number", "value", "datetime_start", "datetime_complete", "duration", "params_lr", "user_attrs_n_params", "state"], *([i, i, round(b + more, 4), "2025-11-05 11:02:13.112", "2025-11-05 12:02:19.001", "0 days 01:00:05.889", lr, int(a), "COMPLETE"]
         for i, (a, b, lr, more) in enumerate((a, b, lr, more) for a, b in zip(*t.points.values()) for lr, more in ((0.0002, 0.12), (0.0008, 0.0), (0.003, 0.066))))]), t)

t = line(107, LADDER[:5], 1.87, 68.0, 0.22, 3, 0.002, "n_params")
add("trackers", "checkpoints of five models in one file", "history.csv",
    csv([["model", "n_params", "step", "tokens", "val_loss"], *([f"m{k}", int(a), 1000 * (i + 1), 524288000 * (i + 1), f"{v:.3f}"] for k, (a, b) in enumerate(zip(*t.points.values())) for i, v in enumerate(falling(float(b), 12)))]), t)

# --- sheets ----------------------------------------------------------------------------------------------

t = surface(108)
n, d, loss = t.points.values()
add("sheets", "merged cells: a size is written once", "runs_nov.xlsx",
    book([["Params", "Tokens (B)", "Val loss", "LR"], *([short(a) if k % 4 == 0 else None, b / 1e9, c, 0.001] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = surface(109, MIDDLE[:4], SEEN[:3])
n, d, loss = t.points.values()
add("sheets", "a sheet of notes before that of results", "scaling_study.xlsx",
    book(README=[["Scaling study, autumn"], ["Ask Priya before changing the formulas"], ["loss = mean over last 50 evals"]], Results=[["run", "N (M)", "D (B)", "Loss"], *([f"R{k:02d}", a / 1e6, b / 1e9, c] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = line(110, np.repeat([1e8, 3e8, 1e9, 3e9, 1e10], 3), 2.4, 640.0, 0.31, 3, 0.003)
n, loss = t.points.values()
add("sheets", "seeds as columns under a title", "seeds.csv",
    csv([["160M model: val loss by tokens and seed", "", "", "", "", ""], ["tokens", "seed 1", "seed 2", "seed 3", "mean", "std"], *([short(a), *r, f"{r.mean():.3f}", f"{r.std(ddof=1):.4f}"] for a, r in zip(n[::3], loss.reshape(-1, 3)))]), t)

t = surface(111)
n, d, loss = t.points.values()
cells = [*loss.astype(object)]
cells[4], cells[11], cells[15] = "#N/A", "", "nan"
add("sheets", "states and empty results", "queue.tsv",
    csv([["job", "state", "params", "tokens", "eval_loss", "node"], *([70311 + k, "FAILED" if k in (4, 11, 15) else "COMPLETED", f"{a:.3g}", f"{b:.3g}", c, f"gpu{k % 6:02d}"] for k, (a, b, c) in enumerate(zip(n, d, cells)))], "\t"), t.rows(~np.isin(np.arange(20), [4, 11, 15])))

t = surface(112, MIDDLE[:4], SEEN[:3])
add("sheets", "French headers and decimal commas", "resultats.csv",
    csv([["Modèle", "Paramètres (M)", "Tokens (Md)", "Perte de validation"], *([f"essai {k}", comma(a / 1e6, 1), comma(b / 1e9, 1), comma(c, 3)] for k, (a, b, c) in enumerate(zip(*t.points.values())))], ";"), t)

# --- notes and documents ---------------------------------------------------------------------------------

t = line(113, np.array([39e6, 74e6, 244e6, 769e6, 1550e6]), 0.031, 2.7e3, 0.615, 4, 0.01, "n_params")
add("documents", "Whisper models by name", "README.md",
    "# Fine-tuned Whisper on Common Voice (eu)\n\n" + markdown(["Size", "Parameters", "Required VRAM", "WER (%)"], [[w, f"{a / 1e6:.0f} M", f"~{v} GB", f"{100 * b:.2f}"] for w, v, a, b in zip(("tiny", "base", "small", "medium", "large"), (1, 1, 2, 5, 10), *t.points.values())]), t)

t = line(114, LADDER, 1.8, 59.0, 0.215, 3, 0.002, "n_params")
n, loss = t.points.values()
add("documents", "sizes as columns in LaTeX", "tab_sizes.tex",
    "\\begin{tabular}{l" + "c" * 6 + "}\n\\hline\n & " + " & ".join(short(a) for a in n) + " \\\\ \\hline\nlayers & 6 & 8 & 10 & 12 & 16 & 24 \\\\\nval loss & " + " & ".join(f"{b:.3f}" for b in loss) + " \\\\\n\\hline\n\\end{tabular}\n", t)

t = line(115, LADDER, 1.92, 74.0, 0.23, 3, 0.002, "n_params")
add("documents", "an Org table", "notes.org",
    "* Results of week 45\n\n| run | params | val loss | hours |\n|-----+--------+----------+-------|\n" + "".join(f"| {k} | {short(a)} | {b:.3f} | {2 + 3 * k} |\n" for k, (a, b) in enumerate(zip(*t.points.values()))), t)

t = line(116, LADDER, 1.85, 66.0, 0.225, 3, 0.002, "n_params")
add("documents", "lines of a message", "message.txt", "val loss after 10B tokens:\n" + "".join(f"{short(a)}: {b:.3f}\n" for a, b in zip(*t.points.values())), t)

t = surface(117, MIDDLE[:3], SEEN[:3])
n, d, loss = t.points.values()
add("documents", "a column for each run in Markdown", "ablation.md",
    markdown(["", *(f"Run {k}" for k in range(1, 10))], [["Params", *map(short, n)], ["Tokens", *map(short, d)], ["Optimizer", *["AdamW"] * 9], ["Val loss", *(f"{c:.3f}" for c in loss)]]), t)

t = surface(118)
add("documents", "lines of comments above a CSV", "results_a3f9c.csv",
    "# commit a3f9c01\n# host: cn-0231, 2025-11-11\n# columns: N = non-embedding parameters, D = tokens, L = validation loss\n" + csv([["N", "D", "L"], *([f"{a:.4e}", f"{b:.4e}", c] for a, b, c in zip(*t.points.values()))]), t)

# --- programs --------------------------------------------------------------------------------------------

t = surface(119)
frame = pd.DataFrame(
    {
        "model/params": t.points["n_params"].astype(int),
        "data/tokens": t.points["n_data"].astype(int),
        "eval/lm_loss": t.points["test_loss"],
        "train/grad_norm": 0.31,
        "git": "a3f9c01",
    }
)
add("programs", "Parquet of a pipeline", "runs.parquet", lambda path: frame.to_parquet(path), t)

t = line(120, 2.0 ** np.arange(9, 17), 0.045, 5.2, 0.43)
add("programs", "log2 of the data, mean and error", "curve.dat",
    "# log2(n_train) test_mse stderr\n" + "".join(f"{np.log2(a):g} {b:.4f} {0.011 * b:.4f}\n" for a, b in zip(*t.points.values())), t)

flops = np.array([3e-3, 2e-2, 0.11, 0.7, 4.2, 30, 190])
t = line(121, flops * 1e18, 1.7, 690.0, 0.147, 3, 0.002, "compute")
add("programs", "a frontier in exaFLOPs", "pareto.csv", csv([["Training compute (EFLOPs)", "Pareto loss"], *([f"{c:g}", b] for c, b in zip(flops, t.points["test_loss"]))]), t)

t = line(122, np.array([64.0, 128, 256, 512, 1024, 2048]), 2.5, 14.0, 0.5, 3, 0.002, "width")
add("programs", "widths under muP", "mup_widths.csv", csv([["parameterization", "width", "depth", "base lr", "val loss"], *(["mup", int(a), 8, 0.0078125, b] for a, b in zip(*t.points.values()))]), t)

t = line(123, np.array([48e6, 110e6, 250e6, 560e6, 1.2e9, 1.9e9]), 0.62, 11.0, 0.2, 4, 0.0015, "n_params")
add("programs", "bits per byte by depth", "depths.json",
    json.dumps([{"depth": 8 + 4 * k, "num_params": int(a), "val_bpb": float(b), "mfu": 41.2 - k} for k, (a, b) in enumerate(zip(*t.points.values()))]), t)

# --- fields ----------------------------------------------------------------------------------------------

t = line(124, np.array([1000.0, 2000, 5000, 10000, 20000, 50000, 110000]), 0.006, 3.1, 0.55, 4, 0.01)
add("fields", "a network of molecules, sizes with k", "qm9_u0.md",
    markdown(["Train size", "MAE U0 (eV)", "Epochs to converge"], [[short(a), f"{b:.4f}", 900 - 100 * k] for k, (a, b) in enumerate(zip(*t.points.values()))]), t)

demos = np.array([25.0, 50, 100, 200, 400, 800])
t = line(125, demos, 0.04, 5.2, 0.56, 4, 0.006)
add("fields", "success of a robot by demonstrations", "robot_eval.csv", csv([["task", "demos", "success rate", "episodes"], *(["stack-cups", int(a), f"{100 * (1 - b):.2f}%", 500] for a, b in zip(*t.points.values()))]), t)

t = line(126, np.repeat([2000.0, 6000, 18000, 54000, 162000], 5), 0.085, 4.6, 0.42, 4, 0.006)
add("fields", "folds of a clinic's model", "auroc_by_n.csv", csv([["n_train", "fold", "AUROC"], *([int(a), k % 5, round(1 - b, 4)] for k, (a, b) in enumerate(zip(*t.points.values())))]), t)

# --- several kinds ---------------------------------------------------------------------------------------

t = surface(127, MIDDLE[:4], SEEN[:3])
add("several kinds", "losses on prose and on code as columns", "per_domain.csv",
    csv([["params", "tokens", "val_loss/wiki", "val_loss/code"], *([int(a), int(b), c, round(0.58 * c, 3)] for a, b, c in zip(*t.points.values()))]), None, ("val_loss/wiki", "val_loss/code"))

other = noisy(1.78 + 52 * LADDER**-0.22, 0.002, 128, 3)
base = noisy(1.8 + 64 * LADDER**-0.22, 0.002, 129, 3)
add("several kinds", "two architectures in rows of JSON", "arch.jsonl",
    "".join(json.dumps({"arch": w, "params": int(a), "tokens": 20_000_000_000, "val_loss": float(v)}) + "\n" for w, values in (("transformer++", base), ("mamba2", other)) for a, v in zip(LADDER, values)), None, ("arch", "mamba2"))

kept = np.array([1e9, 2e9, 5e9, 1e10, 2e10])
add("several kinds", "three corpora in an Excel sheet", "data_quality.xlsx",
    book([["Corpus", "Tokens", "Eval loss", "Model"], *([w, short(a), v, "350M"] for k, (w, by) in enumerate((("C4", 1.06), ("FineWeb-Edu", 0.94), ("DCLM", 0.96))) for a, v in zip(kept, noisy(by * (2.2 + 700 * kept**-0.32), 0.003, 131 + k, 3)))]), None, ("Corpus", "FineWeb-Edu"))

wsd = noisy(2.05 + 610 * kept**-0.31, 0.002, 135, 3)
cosine = noisy(2.05 + 690 * kept**-0.31, 0.002, 136, 3)
add("several kinds", "two schedules in YAML", "schedules.yml",
    "".join(f"- tokens: {int(a)}\n  schedule: {w}\n  loss: {v}\n" for w, values in (("wsd", wsd), ("cosine", cosine)) for a, v in zip(kept, values)), None, ("schedule", "cosine"))
