"""Thirty tables that a visitor brings along: sheets, papers, records of trackers, prints of notebooks, greps of logs and sweeps.

Written without a look at the reader or at tables of other sets, and committed before the first of them was read. Each stands with what a
careful colleague understands: the sizes, the result and its unit, the rows that are left out; three ask for a choice. The laws are of
this file. Said beforehand: perplexity counts as its logarithm; bits per byte and bits per token may be kept or turned into nats.

First reading: 25 right, 4 refused, 1 wrong, of points alone and with fits; no truth was changed after it. Wrong: of a workbook whose
title says `test error (%)` the cells are read as a loss of 72.9. Refused: validation and training rows of one epoch as Lightning
writes them; two greps of logs (examples and seed in the name of a folder, `number of parameters:` in a line of its own); widths by
rates under `width \\ log2(lr)`.
"""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
Law = Callable[[Array], Array]

def web_loss(n: Array, d: Array) -> Array:
    """Nats per token of n parameters after d tokens."""
    return 1.82 + 380 * n**-0.335 + 520 * d**-0.291

def size_loss(n: Array) -> Array:
    """Nats per token of models that saw the same tokens."""
    return 2.05 + 33 * n**-0.19

def byte_loss(n: Array) -> Array:
    """Bits per byte of n parameters."""
    return 0.62 + 4.1 * n**-0.17

def budget_loss(c: Array) -> Array:
    """Nats per token after c FLOPs."""
    return 1.95 + 60 * c**-0.092

def small_error(n: Array) -> Array:
    """Error in ten classes after n pictures."""
    return 0.045 + 6.2 * n**-0.40

def large_error(n: Array) -> Array:
    """Top-1 error in a thousand classes after n pictures."""
    return 0.16 + 22 * n**-0.36

def regression_error(n: Array) -> Array:
    """Root of the mean squared error after n molecules."""
    return 0.21 + 3.4 * n**-0.31

def squared_error(n: Array) -> Array:
    """Mean squared error of a simulation's surrogate after n simulations."""
    return 0.012 + 5 * n**-0.62

def width_loss(w: Array) -> Array:
    """Nats per token of networks of width w at their best rate."""
    return 2.9 + 22 * w**-0.55

def task_error(n: Array) -> Array:
    """Error in questions with four choices of n parameters."""
    return 0.18 + 55 * n**-0.24

def line(
    x: str,
    sizes: list[float] | Array,
    law: Law,
    y: str,
    seed: int,
    scatter: float,
    digits: int,
    seeds: int = 1,
    unit: float = 1.0,
) -> tuple[Truth, Array]:
    """The truth of one size, and what is written: the values in the unit of the table."""
    n = np.repeat(np.array(sizes, float), seeds)
    written = noisy(law(n) * unit, scatter, seed, digits)
    return Truth({x: n, y: written / unit}, float(law(10 * n.max()))), written

def surface(n: Array, d: Array, seed: int, scatter: float = 0.003, digits: int = 4) -> Truth:
    """The truth of parameters and tokens; ten times: the lowest at ten times the largest compute."""
    n, d = np.asarray(n, float), np.asarray(d, float)
    product = 10 * float((n * d).max())
    tried = np.geomspace(1e6, 1e13, 20001)
    best = float(web_loss(tried, product / tried).min())
    return Truth({"n_params": n, "n_data": d, "test_loss": noisy(web_loss(n, d), scatter, seed, digits)}, best)

def pairs(models: list[float], tokens: list[float]) -> tuple[Array, Array]:
    """Every model with every token count."""
    n, d = np.meshgrid(np.array(models, float), np.array(tokens, float), indexing="ij")
    return n.ravel(), d.ravel()

# --- sheets ---------------------------------------------------------------------------------------------

kind = "sheets"

millions = [7.3, 16.1, 34.8, 71, 148.5, 306, 662, 1410]
t, y = line("n_params", [m * 1e6 for m in millions], size_loss, "test_loss", 3401, 0.003, 4)
names = ["xxs", "xs", "s", "s+", "m", "m+", "l", "xl"]
add(kind, "semicolons and decimal commas, parameters in millions", "sizes_final.csv",
    "Model;Params [M];Layers;val loss\n" + "".join(f"{a};{str(m).replace('.', ',')};{k};{comma(v)}\n" for a, m, k, v in zip(names, millions, (4, 6, 8, 10, 12, 16, 20, 24), y)), t)

images = [20000, 45000, 90000, 180000, 400000, 800000, 1281167]
t, y = line("n_data", images, large_error, "test_error", 3402, 0.012, 2, 3, 100)
cells = [["train_imgs", "seed", "epochs", "top1_err(%)"]]
for k, (n, v) in enumerate(zip(np.repeat(images, 3), y)):
    cells.append([f"{n:,}" if n > 1e6 else f"{n // 1000}k", k % 3, (900, 600, 400, 300, 180, 120, 90)[k // 3], "NaN" if k == 13 else f"{v:.2f}"])
add(kind, "pictures as 45k and 1,281,167, fewer epochs of more, three seeds, one NaN", "imagenet_subsets.tsv", csv(cells, "\t"), t.rows(np.arange(21) != 13))

budgets = np.repeat([1e18, 3e18, 1e19, 6e19, 2e20], 4)
n = np.array([31e6, 62e6, 118e6, 240e6, 62e6, 104e6, 190e6, 385e6, 97e6, 190e6, 385e6, 760e6, 240e6, 470e6, 910e6, 1.9e9, 470e6, 910e6, 1.9e9, 3.6e9])
d = np.array([float(f"{v:.3e}") for v in budgets / (6 * n)])
t = surface(n, d, 3403)
add(kind, "N, D, C, L with notes in front", "isoflop.csv",
    "# exported 2024-05-17 from sweep isoflop-v3 (rev 8c1d02e)\n# N: non-embedding parameters, D: training tokens, C = 6ND, L: validation loss (nats)\nN,D,C,L\n"
    + "".join(f"{a:.0f},{b:.3e},{c:.0e},{v:.4f}\n" for a, b, c, v in zip(n, d, budgets, t.points["test_loss"])), t)

n, d = pairs([0.08, 0.21, 0.55, 1.3], [2.5, 8, 20, 64])
t = surface(n * 1e9, d * 1e9, 3404, digits=3)
rows = [
    ["Scaling runs Q3 (status 12 Sept)", None, None, None],
    [None] * 4,
    ["Params", "Tokens", "Valid. loss", "Node hours"],
    ["(billions)", "(billions)", "(nats/token)", "(h)"],
]
rows += [
    [a, b, "OOM" if k == 13 else v, round(float(a * b * 1.9), 1)]
    for k, (a, b, v) in enumerate(zip(n, d, t.points["test_loss"]))
]
rows += [[None] * 4, ["* 0.55 B on 20 B run again after a node was lost", None, None, None]]
add(kind, "a workbook with a title, a row of units, one OOM, a remark below", "Scaling Q3.xlsx", workbook({"runs": rows}), t.rows(np.arange(16) != 13))

counts = [250, 600, 1500, 4000, 10000, 25000, 50000]
t, y = line("n_data", counts, small_error, "test_error", 3405, 0.02, 1, 4, 100)
rows = [["CIFAR-10 test error (%), ResNet-18"] + [None] * 7, ["seed"] + [f"{c} imgs" if c < 1000 else f"{c / 1000:g}k imgs" for c in counts]]
rows += [[s, *(float(v) for v in y.reshape(7, 4)[:, s])] for s in range(4)]
add(kind, "a workbook, one row a seed, one column a number of pictures", "cifar_seeds.xlsx", workbook({"Sheet1": rows}), t)

flops = [2e-5, 9e-5, 3.2e-4, 1.4e-3, 6e-3, 2.5e-2, 0.11, 0.46]
t, y = line("compute", [v * 8.64e19 for v in flops], budget_loss, "test_loss", 3406, 0.003, 3)
add(kind, "compute in PF-days beside days on the cluster", "compute_frontier.csv",
    csv([["run", "compute (PF-days)", "wall clock (days)", "test loss"], *([f"c{k:02d}", f"{c:g}", f"{0.2 + 0.31 * k:.2f}", f"{v:.3f}"] for k, (c, v) in enumerate(zip(flops, y)))]), t)

# --- papers ---------------------------------------------------------------------------------------------

kind = "papers"

sizes = [14.2e6, 38.5e6, 87e6, 203e6, 421e6, 1.05e9, 2.6e9]
t, y = line("n_params", sizes, byte_loss, "test_loss", 3411, 0.002, 3)
add(kind, "a README: #Params and bits per byte with ±", "README.md",
    "# tinybytes\n\nByte-level models, all trained on 40 GB of text. Evaluated on the held-out split (3 seeds, mean ± std):\n\n"
    + markdown(["Model", "#Params", "BPB ↓"], [[f"[tinybytes-{a}](https://example.org/{a})", short(n), f"{v:.3f} ± 0.00{1 + k % 4}"] for k, (a, n, v) in enumerate(zip(("nano", "micro", "mini", "small", "base", "large", "huge"), sizes, y))])
    + "\nTraining the largest took 11 days on 8 A100.\n", t)

mantissas = [(8.2, 17), (3.1, 18), (1.2, 19), (5.5, 19), (2.4, 20), (9.6, 20), (4.1, 21)]
t, y = line("compute", [a * 10.0**b for a, b in mantissas], budget_loss, "test_loss", 3412, 0.003, 3)
bold = [f"{v:.3f}" for v in y[:-1]] + [f"\\mathbf{{{y[-1]:.3f}}}"]
body = "".join(f"  M{k} & ${a} \\times 10^{{{b}}}$ & ${v}_{{\\pm .00{2 + k % 3}}}$ \\\\\n" for k, ((a, b), v) in enumerate(zip(mantissas, bold), 1))
add(kind, "LaTeX: FLOPs as powers of ten, the deviation as an index, the best in bold", "table3.tex",
    "\\begin{table}[t]\n\\centering\n\\caption{Held-out loss of compute-optimal models.}\n\\begin{tabular}{lcc}\n\\toprule\n  Model & Training FLOPs & Val.\\ loss (nats) $\\downarrow$ \\\\\n\\midrule\n"
    + body + "\\bottomrule\n\\end{tabular}\n\\end{table}\n", t)

fractions = [1.25e6, 3e6, 8e6, 20e6, 55e6, 140e6, 400e6]
t, y = line("n_data", fractions, large_error, "test_error", 3413, 0.01, 1, 1, 100)
shown = [f"{100 - v:.1f}" for v in y]
add(kind, "LaTeX: one row of data sizes, one of accuracies", "appendix_b.tex",
    "% ViT-B/16, 300 epochs equivalent, linear probe off\n\\begin{tabular}{l" + "r" * 7 + "}\n\\hline\nTraining images & " + " & ".join(f"{f / 1e6:g}M" for f in fractions)
    + " \\\\\n\\hline\nTop-1 accuracy (\\%) & " + " & ".join(shown) + " \\\\\n\\hline\n\\end{tabular}\n", t)

labels = ["Qwen2.5-0.5B", "Qwen2.5-1.5B", "Qwen2.5-3B", "Qwen2.5-7B", "Qwen2.5-14B", "Qwen2.5-32B", "Qwen2.5-72B"]
t, y = line("n_params", [0.5e9, 1.5e9, 3e9, 7e9, 14e9, 32e9, 72e9], task_error, "test_error", 3414, 0.01, 4)
add(kind, "sizes in names of models, accuracy and its standard error as an evaluation harness writes them", "arc_challenge.csv",
    "model,task,n-shot,\"acc_norm,none\",\"acc_norm_stderr,none\"\n" + "".join(f"Qwen/{a},arc_challenge,25,{1 - v:.4f},{np.sqrt(v * (1 - v) / 1172):.4f}\n" for a, v in zip(labels, y)), t)

# --- files of programs ----------------------------------------------------------------------------------

kind = "files of programs"

shapes = [(192, 4, 1.77e6), (256, 6, 4.72e6), (384, 8, 14.2e6), (512, 10, 31.5e6), (768, 12, 84.9e6), (1024, 16, 201e6), (1536, 20, 566e6), (2048, 24, 1.21e9)]
t, y = line("n_params", [s[2] for s in shapes], size_loss, "test_loss", 3421, 0.003, 4)
rows_of = [{"run": f"gpt-{k}", "cfg": {"d_model": w, "n_layer": b, "non_embedding_params": int(p), "seq_len": 2048}, "status": "oom" if k == 6 else "ok", "final": {"train_loss": None if k == 6 else round(float(v) - 0.03, 4), "val_loss": None if k == 6 else float(v)}}
           for k, ((w, b, p), v) in enumerate(zip(shapes, y))]
add(
    kind,
    "JSON lines with a nested shape of the model, one run out of memory",
    "results.jsonl",
    "".join(json.dumps(r) + "\n" for r in rows_of),
    t.rows(np.arange(8) != 6),
)

models = np.array([24.1e6, 58.3e6, 131e6, 342e6, 806e6, 1.34e9])
perplexity = noisy(np.exp(web_loss(models, 20 * models)), 0.006, 3422, 2)
t = Truth({"n_params": models, "n_data": 20 * models, "test_loss": np.log(perplexity)}, float(web_loss(10 * models.max(), 200 * models.max())))
add(kind, "YAML: models by name at twenty tokens a parameter, perplexity", "ladder.yaml",
    "# Llama ladder, 20 tokens per parameter\nrecipe: adamw, cosine to 10%\nruns:\n" + "".join(f"  llama-{short(float(f'{n:.2g}')).lower()}:\n    params: {n:.0f}\n    tokens: {20 * n:.0f}\n    val_ppl: {v:.2f}\n" for n, v in zip(models, perplexity)), t)

simulations = [100, 220, 500, 1100, 2400, 5000, 12000]
t, y = line("n_data", simulations, squared_error, "test_loss", 3423, 0.05, 5, 3)
add(kind, "JSON by columns, a list of seeds a size", "surrogate.json",
    json.dumps({"task": "heat-equation surrogate", "model": "FNO-2d", "n_train": simulations, "test_mse": [[float(v) for v in row] for row in y.reshape(7, 3)]}, indent=1), t)

labels = [
    "pythia-70m-deduped",
    "pythia-160m-deduped",
    "pythia-410m-deduped",
    "pythia-1b-deduped",
    "pythia-1.4b-deduped",
    "pythia-2.8b-deduped",
    "pythia-6.9b-deduped",
]
t, y = line("n_params", [70e6, 160e6, 410e6, 1e9, 1.4e9, 2.8e9, 6.9e9], size_loss, "test_loss", 3424, 0.003, 4)
add(kind, "what Hugging Face's run_clm writes, a list of models with loss and perplexity", "eval_results.json",
    json.dumps([{"model_name_or_path": f"EleutherAI/{a}", "eval_loss": float(v), "eval_runtime": round(11.3 * 1.7**k, 4), "eval_samples": 2461, "eval_samples_per_second": round(217.8 / 1.7**k, 3), "perplexity": round(float(np.exp(v)), 6)} for k, (a, v) in enumerate(zip(labels, y))], indent=4), t)

# --- trackers -------------------------------------------------------------------------------------------

kind = "trackers"

n, d = pairs([41e6, 98e6, 265e6, 620e6], [1.2e9, 4e9, 13e9, 40e9])
t = surface(n, d, 3431)
lines = ['"Name","State","Created","Runtime","Tags","model.d_model","model.num_params","data.train_tokens","optim.lr","train/loss","val/loss"\n']
for k, (a, b, v) in enumerate(zip(n, d, t.points["test_loss"])):
    crashed = k == 11
    lines.append(
        f'"{("brisk", "lunar", "polar", "wild")[k % 4]}-sweep-{k + 3}","{"crashed" if crashed else "finished"}","2024-02-{k + 3:02d}T09:14:{k + 10}.000Z","{int(a * b / (9e13 if crashed else 4e13))}","grid","{(512, 768, 1024, 1536)[k // 4]}","{a:.0f}","{b:.0f}","0.{("002", "0015", "001", "0008")[k // 4]}","{4.8112 if crashed else v - 0.04:.4f}","{4.9236 if crashed else v:.4f}"\n'
    )
add(kind, "Weights & Biases: the table of runs, one that crashed half-way", "wandb_export_2024-03-01T10_02_11.csv", "".join(lines), t.rows(np.arange(16) != 11))

molecules = [1000, 2500, 5000, 12000, 30000, 70000, 110000]
t, y = line("n_data", molecules, regression_error, "test_loss", 3432, 0.015, 5, 2)
lines = [
    "run_id,experiment_id,status,artifact_uri,start_time,metrics.test_rmse,metrics.train_rmse,params.n_train,params.model,params.batch_size,params.seed,tags.mlflow.runName\n"
]
for k, v in enumerate(y):
    failed = k == 8
    lines.append(
        f"{(k + 7) * 1103515245 % 2**32:08x},4,{'FAILED' if failed else 'FINISHED'},s3://mlruns/4/{k},2023-11-{k + 2:02d} 14:03:11.512000+00:00,{'' if failed else f'{v:.5f}'},{'' if failed else f'{v * 0.83:.5f}'},{molecules[k // 2]},schnet,64,{k % 2},{('bold', 'calm', 'deft')[k % 3]}-owl-{k * 37 % 1000}\n"
    )
add(kind, "MLflow: search_runs, one run that failed", "mlflow_runs.csv", "".join(lines), t.rows(np.arange(14) != 8))

sizes = [2.1e6, 6.8e6, 19e6, 52e6, 150e6, 410e6]
t, best = line("n_params", sizes, size_loss, "test_loss", 3433, 0.003, 5)
lines, rng = (["number,value,datetime_start,datetime_complete,duration,params_lr,params_weight_decay,user_attrs_n_params,state\n"], np.random.default_rng(3434))
trials = [(k, j) for k in range(6) for j in range(5)]
for number, (k, j) in enumerate(trials):
    optimum = np.log10(4e-3) - 0.25 * k
    rate = 10 ** (optimum + (0.0 if j == k % 5 else rng.choice([-1, 1]) * rng.uniform(0.3, 0.8)))
    value = best[k] + (0 if j == k % 5 else 0.35 * (np.log10(rate) - optimum) ** 2 + rng.uniform(0.01, 0.03))
    gone = (number % 11 == 7) and j != k % 5
    lines.append(
        f"{number},{'' if gone else f'{value:.5f}'},2024-06-{number % 27 + 1:02d} 08:{number + 10}:00,2024-06-{number % 27 + 1:02d} 1{k}:{number + 10}:30,0 days 0{2 + k}:00:30,{rate:.6g},{10 ** rng.uniform(-2, -0.7):.4g},{sizes[k]:.0f},{'FAIL' if gone else 'COMPLETE'}\n"
    )
add(kind, "Optuna: five rates a size, two trials that failed", "trials_dataframe.csv", "".join(lines), t)

counts = [600, 1300, 3000, 7000, 16000, 38000, 60000]
t, y = line("n_data", counts, small_error, "test_error", 3435, 0.02, 5, 2)
add(kind, "TensorBoard: the table of HParams", "hparams_table.csv",
    "Trial ID,Show Metrics,num_examples,dropout,optimizer,seed,epoch_val_accuracy\n" + "".join(f"{(k + 3) * 2654435761 % 2**32:08x}{k:x}f,false,{float(counts[k // 2]):.1f},0.10000,adam,{k % 2}.0000,{1 - v:.5f}\n" for k, v in enumerate(y)), t)

counts = [1000, 2400, 6000, 15000, 36000, 90000]
t, y = line("n_data", counts, regression_error, "test_loss", 3436, 0.01, 4)
lines = ["version,n_train,epoch,step,train_loss,val_loss\n"]
for k, (c, v) in enumerate(zip(counts, y)):
    for e in range(6):
        over = np.exp(-0.9 * e) - np.exp(-4.5)
        step = (e + 1) * c // 50 - 1
        lines += [
            f"version_{k},{c},{e},{step},,{v + 0.9 * over:.4f}\n",
            f"version_{k},{c},{e},{step},{0.7 * v + 1.1 * over:.4f},\n",
        ]
add(kind, "Lightning: CSVLogger of six runs, one above the other", "metrics_all.csv", "".join(lines), t)

# --- prints ---------------------------------------------------------------------------------------------

kind = "prints"

n, d = pairs([17.4e6, 52e6, 155e6, 460e6], [0.8e9, 2.7e9, 9e9, 30e9])
t = surface(n, d, 3441)
with pd.option_context("display.width", 120, "display.max_rows", 50):
    shown = repr(
        pd.DataFrame(
            {
                "model": [f"L{(4, 6, 12, 24)[k // 4]}" for k in range(16)],
                "n_params": n,
                "tokens": d,
                "lr": [(3e-3, 2e-3, 1e-3, 6e-4)[k // 4] for k in range(16)],
                "val_loss": t.points["test_loss"],
            }
        )
    )
add(kind, "a frame as Python prints it", "df.txt", ">>> df\n" + shown + "\n", t)

counts = [500, 1200, 3000, 8000, 20000, 50000]
seeds = noisy(small_error(np.repeat(np.array(counts, float), 5)), 0.02, 3442, 4).reshape(6, 5)
means = np.round(seeds.mean(axis=1), 4)
t = Truth({"n_data": np.array(counts, float), "test_error": means}, float(small_error(np.array(500000.0))))
add(kind, "the mean and deviation of groups as pandas prints them", "groupby.txt",
    "        test_err               \n            mean     std count\nn_train                        \n" + "".join(f"{c:<7} {m:8.4f} {s:7.4f} {5:5d}\n" for c, m, s in zip(counts, means, seeds.std(axis=1, ddof=1))), t)

sizes = [5.2e6, 15.8e6, 44e6, 125e6, 350e6, 980e6]
t, y = line("n_params", sizes, lambda v: size_loss(v) / np.log(2), "test_loss", 3443, 0.003, 3)
frame = pd.DataFrame({"model": ["a", "b", "c", "d", "e", "f"], "params (M)": [s / 1e6 for s in sizes], "val loss (bits/token)": y})
cell = {
    "cell_type": "code",
    "execution_count": 12,
    "metadata": {},
    "source": ["res = load('sweep7')\n", "res"],
    "outputs": [
        {
            "output_type": "execute_result",
            "execution_count": 12,
            "metadata": {},
            "data": {
                "text/html": frame.to_html().splitlines(keepends=True),
                "text/plain": repr(frame).splitlines(keepends=True),
            },
        }
    ],
}
note = {"cell_type": "markdown", "metadata": {}, "source": ["## Sweep 7\n", "All on the same 26B tokens; tokenizer v2."]}
add(
    kind,
    "a notebook: parameters in millions, bits per token",
    "sweep7.ipynb",
    json.dumps(
        {
            "cells": [note, cell],
            "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        indent=1,
    ),
    t,
)

thousands = [0.5, 1, 2.5, 6, 15, 40]
t, y = line("n_data", [1000 * k for k in thousands], small_error, "test_error", 3444, 0.015, 2, 1, 100)
frame = pd.DataFrame({"train size (k)": thousands, "SVHN test acc [%]": np.round(100 - y, 2), "minutes": [3, 4, 7, 12, 26, 61]})
add(kind, "a notebook saved as a page: sizes in thousands, accuracy in percent", "svhn.html",
    "<!DOCTYPE html>\n<html><head><title>svhn</title></head><body>\n<h2>Learning curve, WRN-16-4</h2>\n<div class=\"output_html\">\n" + frame.to_html() + "\n</div>\n<p>6 rows × 3 columns</p>\n</body></html>\n", t)

counts = [2000, 5000, 11000, 26000, 60000]
t, y = line("n_data", counts, small_error, "test_error", 3445, 0.02, 2, 3, 100)
add(kind, "grep: the number of examples and the seed in the folder, the last epoch's error", "final_err.txt",
    "$ grep -H 'epoch 90/90' runs/*/train.log\n" + "".join(f"runs/n{counts[k // 3]}_seed{k % 3}/train.log:[2024-03-{k % 9 + 2:02d} 11:2{k % 10}:01] epoch 90/90 lr 0.0001 test top1 err {v:.2f}%\n" for k, v in enumerate(y)), t)

models = [("nano", 10.65), ("mini", 29.94), ("small", 84.96), ("medium", 302.31), ("large", 708.01)]
t, y = line("n_params", [m * 1e6 for _, m in models], size_loss, "test_loss", 3446, 0.003, 4)
add(kind, "grep: two lines a run, the parameters and the last loss", "nanogpt_runs.txt",
    "".join(f"out-{a}.log:number of parameters: {m:.2f}M\nout-{a}.log:step 20000: train loss {v - 0.0213:.4f}, val loss {v:.4f}\n" for (a, m), v in zip(models, y)), t)

# --- sweeps ---------------------------------------------------------------------------------------------

kind = "sweeps"

widths = [128, 256, 512, 1024, 2048, 4096]
t, best = line("width", widths, width_loss, "test_loss", 3451, 0.004, 3)
exponents = [-12, -11, -10, -9, -8, -7]
cells = [["width \\ log2(lr)", *map(str, exponents)]]
for k, (w, v) in enumerate(zip(widths, best)):
    row = [v + 0.06 * (e - (-8 - 0.5 * k) - 0.25) ** 2 for e in exponents]
    row[int(np.argmin(row))] = v
    cells.append([w, *("nan" if e + 0.5 * k > -6.2 else f"{r:.3f}" for e, r in zip(exponents, row))])
add(kind, "widths as rows, rates as columns, nan where it diverged", "mup_check.csv", csv(cells), t)

n, d = pairs([190e6, 370e6, 760e6, 1.3e9], [5, 12, 25, 50, 90])
t = surface(n, d * 1e9, 3452, 0.002, 3)
table = t.points["test_loss"].reshape(4, 5)
add(kind, "checkpoints at a constant rate: tokens as rows, models as columns", "checkpoints.md",
    "Held-out loss of checkpoints (constant learning rate, so every checkpoint counts):\n\n" + markdown(["tokens (B)", "OL-190M", "OL-370M", "OL-760M", "OL-1.3B"], [[f"{b:g}", *(f"{v:.3f}" for v in table[:, k])] for k, b in enumerate([5, 12, 25, 50, 90])]), t)

# --- choices --------------------------------------------------------------------------------------------

kind = "choices"

sizes = [33e6, 77e6, 160e6, 410e6, 1.1e9]
adam, muon = (noisy(size_loss(np.array(sizes)), 0.002, 3461, 4), noisy(size_loss(np.array(sizes)) * 0.955, 0.002, 3462, 4))
add(kind, "two evaluation sets, one below the other", "eval_long.csv",
    "ckpt,n_params,eval_set,loss\n" + "".join(f"m{k},{s:.0f},{name},{v:.4f}\n" for k, s in enumerate(sizes) for name, v in (("c4", adam[k]), ("wikitext103", adam[k] + 0.41))), None, ("eval_set", "wikitext103"))
add(kind, "two optimizers, one below the other", "optimizers.md",
    markdown(["optimizer", "params", "val loss"], [*(["AdamW", short(s), f"{v:.4f}"] for s, v in zip(sizes, adam)), *(["Muon", short(s), f"{v:.4f}"] for s, v in zip(sizes, muon))]), None, ("optimizer", "Muon"))
add(kind, "losses in English and in code, side by side", "per_domain.tsv",
    "params\tloss_english\tloss_code\n" + "".join(f"{short(s)}\t{v:.4f}\t{0.2 + 0.38 * v + 0.1 * s**-0.05:.4f}\n" for s, v in zip(sizes, adam)), None, ("loss_english", "loss_code"))
