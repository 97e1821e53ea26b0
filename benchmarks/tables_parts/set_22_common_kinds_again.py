"""Thirty tables once more of the kinds that are named when any table should be read.

Written without a look at the reader, after the first reading of set 21, and committed before the first of them was read. One table
was mended after that: a comma in a cell stands in quotes now.
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
MODELS = np.array([30e6, 75e6, 190e6, 470e6, 1.3e9])
GIVEN = np.array([2e9, 7e9, 25e9, 90e9])
TRAINED = np.array([400.0, 1200, 3600, 10800, 32400])

# --- wide -----------------------------------------------------------------------------------------------

kind = "wide"
t = subsets(1101, TRAINED, 3)
n, e = t.points.values()
add(kind, "sizes across, seeds down, below a title", "err.csv", "CIFAR-10 test error\n" + csv([["seed", *(int(a) for a in TRAINED)], *([s, *e.reshape(5, 3)[:, s]] for s in range(3))]), t)

t = crossed(1102, MODELS, GIVEN)
n, d, loss = t.points.values()
add(kind, "a run a column", "turned.csv", csv([["", *(f"run{k}" for k in range(20))], ["Params", *map(short, n)], ["Tokens", *map(short, d)], ["Train loss", *np.round(loss - 0.03, 3)], ["Val loss", *loss]]), t)

t = crossed(1103, MODELS, GIVEN)
n, d, loss = t.points.values()
add(kind, "tokens above their counts in Excel", "grid.xlsx", workbook({"Sheet1": [["Eval loss", "Training tokens", None, None, None], ["Model", *map(short, GIVEN)], *([short(a), *row] for a, row in zip(MODELS, loss.reshape(5, 4)))]}, ("B1:E1",)), t)

t = subsets(1104, TRAINED)
n, e = t.points.values()
add(kind, "one row of accuracies", "resnet.csv", csv([["", *(f"{int(a)} images" for a in n)], ['"ResNet-18 (acc, %)"', *np.round(100 * (1 - e), 2)]]), t)

# --- exports --------------------------------------------------------------------------------------------

kind = "exports"
t = crossed(1105, MODELS, GIVEN)
n, d, loss = t.points.values()
add(kind, "config and summary by dots", "runs_table.csv", csv([["name", "state", "config.model.n_params", "config.data.num_tokens", "config.optim.lr", "summary.train.loss", "summary.eval.loss", "summary._runtime"], *([f"r{k}", "finished", int(a), int(b), 0.0006, round(c - 0.04, 3), c, 100 * k + 50] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

ends = noisy(by_size(MODELS), 0.003, 1106, 3)
steps = np.arange(1, 21) * 1000
add(kind, "W&B chart of named runs", "wandb_export_2026-02-01.csv", pd.DataFrame({"trainer/global_step": steps} | {f"llama-{short(a).lower()}-lr6e-4 - eval/loss{w}": np.round(b + 1.8 * (steps / 1000.0) ** -0.9 - 1.8 * 20**-0.9, 4) for a, b in zip(MODELS, ends) for w in ("", "__MIN", "__MAX")}).to_csv(index=False),
    Truth({"n_params": MODELS, "test_loss": ends}, float(by_size(1.3e10))))

t = crossed(1107, MODELS, GIVEN)
n, d, loss = t.points.values()
add(kind, "a table of W&B", "table.json", json.dumps({"columns": ["params", "tokens", "val_loss", "note"], "data": [[int(a), int(b), float(c), ""] for a, b, c in zip(n, d, loss)]}), t)

t = models(1108, MODELS)
n, loss = t.points.values()
add(kind, "YAML with nested models", "runs.yaml", "runs:\n" + "".join(f"  - name: {w}\n    model:\n      size: {short(a)}\n      layers: 12\n    metrics:\n      val_loss: {b}\n      train_loss: {b - 0.05:.3f}\n" for w, a, b in zip("abcde", n, loss)), t)

t = crossed(1109, MODELS, GIVEN)
n, d, loss = t.points.values()
add(kind, "HTML of pandas", "frame.html", pd.DataFrame({"n_params": n.astype(int), "n_tokens": d.astype(int), "val_loss": loss}).to_html(), t)

t = subsets(1110, TRAINED)
n, e = t.points.values()
add(kind, "epochs of every size in one table", "history.csv", csv([["n_train", "epoch", "train_error", "val_error"], *([int(a), k, round(0.5 * b + 0.3 / k**2, 4), round(b + 0.4 / k**2 - 0.4 / 100, 4)] for a, b in zip(n, e) for k in range(1, 11))]), t)

# --- names ----------------------------------------------------------------------------------------------

kind = "names"
for seed, names in ((1111, ("total_parameters", "total_train_tokens", "final_eval_loss")), (1112, ("N_active", "D", "L")), (1113, ("model_size", "dataset_size", "cross_entropy"))):
    t = crossed(seed, MODELS, GIVEN)
    n, d, loss = t.points.values()
    add(kind, ", ".join(names), "runs.csv", csv([[*names], *([int(a), int(b), c] for a, b, c in zip(n, d, loss))]), t)

ppl, t = perplexities(models(1114, np.array([125e6, 350e6, 1.3e9, 2.7e9, 6.7e9, 13e9])))
add(kind, "OPT by name with perplexity", "opt.csv", csv([["Model", "WikiText2 ppl"], *([f"facebook/opt-{short(a).lower()}", p] for a, p in zip(t.points["n_params"], ppl))]), t)

# --- cells ----------------------------------------------------------------------------------------------

kind = "cells"
t = models(1115, MODELS)
n, loss = t.points.values()
add(kind, "siunitx", "tab.tex", "\\begin{tabular}{S S}\n\\toprule\n{Parameters} & {Validation loss} \\\\\n\\midrule\n" + "".join(f"\\num{{{a:.2e}}} & {b:.3f} \\\\\n" for a, b in zip(n, loss)) + "\\bottomrule\n\\end{tabular}\n", t)

t = crossed(1116, MODELS, GIVEN)
n, d, loss = t.points.values()
add(kind, "code marks in Markdown", "notes.md", "### results\n\n" + markdown(["size", "tokens", "val loss"], [[f"`{short(a)}`", f"`{short(b)}`", f"**{c:.3f}**"] for a, b, c in zip(n, d, loss)]) + "\n_updated daily_\n", t)

t = subsets(1117, TRAINED)
n, e = t.points.values()
add(kind, "accuracy ± deviation with percent signs", "acc.csv", csv([["n", "accuracy"], *([int(a), f"{100 * (1 - b):.2f}% ± 0.30%"] for a, b in zip(n, e))]), t)

c = np.geomspace(2e18, 2e21, 8)
loss = noisy(by_compute(c), 0.003, 1118, 3)
add(kind, "logarithms of FLOPs in brackets", "c.csv", csv([["log10(FLOPs)", "Val loss"], *([f"{np.log10(a):.4f}", b] for a, b in zip(c, loss))]), Truth({"compute": c, "test_loss": loss}, float(by_compute(2e22))))

t = crossed(1119, MODELS, GIVEN)
n, d, loss = t.points.values()
bits = np.round(loss / np.log(2), 4)
add(kind, "bits per token", "bits.csv", csv([["params", "tokens", "bits/token"], *([int(a), int(b), c] for a, b, c in zip(n, d, bits))]), Truth({"n_params": n, "n_data": d, "test_loss": bits}, t.ten_times / np.log(2)))

t = crossed(1120, MODELS, GIVEN)
n, d, loss = t.points.values()
text = [*loss.astype(object)]
text[3], text[8], text[13] = "NaN (diverged)", "OOM", "n/a"
add(kind, "words and units in every cell", "sheet.csv", csv([["model", "data", "final val loss"], *([f"{short(a)} params", f"{short(b)} tokens", c] for a, b, c in zip(n, d, text))]), t.rows(~np.isin(np.arange(20), [3, 8, 13])))

t = crossed(1121, MODELS, GIVEN)
n, d, loss = t.points.values()
add(kind, "points between thousands", "werte.tsv", csv([["Parameter", "Tokens", "Val-Loss"], *([f"{int(a):,}".replace(",", "."), f"{int(b):,}".replace(",", "."), f"{c:.3f}".replace(".", ",")] for a, b, c in zip(n, d, loss))], "\t"), t)

t = crossed(1122, MODELS, GIVEN)
n, d, loss = t.points.values()
add(kind, "train and val above two losses", "heads.csv", csv([["", "", "train", "val"], ["params", "tokens", "loss", "loss"], *([int(a), int(b), round(c - 0.05, 3), c] for a, b, c in zip(n, d, loss))]), t)

t = models(1123, MODELS)
n, loss = t.points.values()
add(kind, "a mean and its standard error", "means.csv", csv([["n_params", "n_seeds", "val_loss_mean", "val_loss_sem"], *([int(a), 3, b, 0.004] for a, b in zip(n, loss))]), t)

# --- several kinds --------------------------------------------------------------------------------------

kind = "several kinds"
n, d = (v.ravel() for v in np.meshgrid(MODELS, GIVEN, indexing="ij"))
base = noisy(language(n, d), 0.003, 1124, 3)
add(kind, "three recipes", "recipes.csv", csv([["recipe", "params", "tokens", "loss"], *([w, int(a), int(b), round(f * c, 3)] for w, f in (("v1", 1.0), ("v2", 0.96), ("v3", 0.93)) for a, b, c in zip(n, d, base))]), None, ("recipe", "v2"))
add(kind, "two sets in rows", "eval_rows.csv", csv([["params", "tokens", "eval", "loss"], *([int(a), int(b), w, round(f * c, 3)] for a, b, c in zip(n, d, base) for w, f in (("wiki", 1.0), ("arxiv", 0.8)))]), None, ("eval", "arxiv"))
add(kind, "two sets as columns", "eval_cols.csv", csv([["params", "loss/wiki", "loss/arxiv"], *([short(a), c, round(0.8 * c, 3)] for a, c in zip(MODELS, noisy(by_size(MODELS), 0.003, 1126, 3)))]), None, ("loss/wiki", "loss/arxiv"))
best = noisy(by_size(MODELS), 0.003, 1127, 3)
add(kind, "two optimizers", "optim.csv", csv([["optim", "params", "val loss"], *([w, short(a), round(f * c, 3)] for w, f in (("adamw", 1.06), ("shampoo", 1.0)) for a, c in zip(MODELS, best))]), Truth({"n_params": MODELS, "test_loss": best}, float(by_size(1.3e10))), ("optim", "shampoo"))
add(kind, "rates at every size", "lrs.csv", csv([["size", "learning rate", "val loss"], *([short(a), r, round(c + x, 3)] for a, c in zip(MODELS, best) for r, x in ((1e-4, 0.08), (3e-4, 0.02), (1e-3, 0.0), (3e-3, 0.06)))]), Truth({"n_params": MODELS, "test_loss": best}, float(by_size(1.3e10))))

# --- nothing to fit -------------------------------------------------------------------------------------

kind = "nothing to fit"
add(kind, "a single run", "one.csv", csv([["params", "tokens", "val_loss"], ["70M", "1.4B", 3.41]]), None, ANY)
add(kind, "words alone", "todo.csv", csv([["task", "who", "status"], ["train 70M", "kim", "done"], ["train 160M", "lee", "running"], ["plots", "kim", "open"]]), None, ANY)
