"""Thirty tables of the kinds that are named when any table should be read, by yet another hand.

Written without a look at the reader, before sets 18, 19 and 20 were mended; committed after that, and
before the first of them was read. One truth was changed after that: of bits per byte and nats per token either is right, and the
first is read.
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
SIZES = np.array([22e6, 58e6, 150e6, 400e6, 1.05e9])
AMOUNTS = np.array([1.5e9, 6e9, 24e9, 96e9])
EXAMPLES = np.array([600.0, 1800, 5400, 16200, 48600])

# --- wide -----------------------------------------------------------------------------------------------

kind = "wide"
t = models(1001, SIZES)
n, loss = t.points.values()
add(kind, "two rows, a size a column", "one_row.csv", csv([["params", *(f"{a / 1e6:g}M" for a in n)], ["eval loss", *loss]]), t)

t = subsets(1002, EXAMPLES, 3)
n, e = t.points.values()
add(kind, "seeds across below a title", "cifar10.xlsx", workbook({"CIFAR-10": [["CIFAR-10, ResNet-18, test accuracy"], [], ["N train", 0, 1, 2], *([int(a), *np.round(1 - row, 4)] for a, row in zip(EXAMPLES, e.reshape(5, 3)))]}), t)

t = crossed(1003, SIZES, AMOUNTS)
n, d, loss = t.points.values()
text = np.array(loss, dtype=object).reshape(5, 4)
text[4, 2], text[0, 3] = "OOM", "n/a"
add(kind, "a grid with holes in Markdown", "grid.md", "**Val loss** (rows: params, columns: tokens)\n\n" + markdown(["", *map(short, AMOUNTS)], [[short(a), *row] for a, row in zip(SIZES, text)]), t.rows(~np.isin(np.arange(20), [3, 18])))

t = crossed(1004, SIZES, AMOUNTS)
n, d, loss = t.points.values()
add(kind, "val_loss_ and the size in the header", "wide.csv", csv([["tokens", *(f"val_loss_{short(a)}" for a in SIZES)], *([int(b), *row] for b, row in zip(AMOUNTS, loss.reshape(5, 4).T))]), t)

# --- exports --------------------------------------------------------------------------------------------

kind = "exports"
t = crossed(1005, SIZES, AMOUNTS)
n, d, loss = t.points.values()
add(kind, "W&B runs with tags and a sweep", "wandb_export.csv", csv([["Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "batch_size", "model/params", "lr", "data/tokens", "eval/loss", "eval/perplexity", "train/loss", "train/grad_norm"],
    *([f"sweepy-{k}", "finished", "-", "lee", '"ladder, v2"', "2026-01-02T10:00:00.000Z", 4000 + k, "x1y2z3", 256, int(a), 0.0006, int(b), c, round(float(np.exp(c)), 3), round(c - 0.03, 3), 0.31] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

ends = noisy(by_size(SIZES), 0.003, 1006, 3)
steps = np.arange(1, 21) * 500
add(kind, "W&B chart with names of groups", "chart.csv", pd.DataFrame({"Step": steps} | {f"Group: n_params={int(a)} - eval/loss": np.round(b + 1.5 * (steps / 500.0) ** -0.9 - 1.5 * 20**-0.9, 4) for a, b in zip(SIZES, ends)}).to_csv(index=False),
    Truth({"n_params": SIZES, "test_loss": ends}, float(by_size(1.05e10))))

t = crossed(1007, SIZES, AMOUNTS)
n, d, loss = t.points.values()
add(kind, "nested settings and a list of evaluations", "runs.jsonl", "".join(json.dumps({"run": f"a{k}", "args": {"model": {"size": int(a), "depth": 8}, "tokens": int(b)}, "evals": [{"step": 100, "val_loss": round(c + 0.8, 3)}, {"step": 200, "val_loss": c}]}) + "\n" for k, (a, b, c) in enumerate(zip(n, d, map(float, loss)))), t)

t = models(1008, SIZES)
n, loss = t.points.values()
add(kind, "YAML with sizes as words of letters", "zoo.yaml", "defaults:\n  optimizer: adamw\n  tokens: 30B\nruns:\n" + "".join(f"- {{params: {short(a)}, val_loss: {b}}}\n" for a, b in zip(n, loss)), t)

t = crossed(1009, SIZES, AMOUNTS)
n, d, loss = t.points.values()
folder(kind, "a folder of metrics and configs", {name: text for k, (a, b, c) in enumerate(zip(n, d, loss)) for name, text in {
    f"exp{k:02d}/config.yaml": f"model:\n  n_params: {int(a)}\n  vocab: 50304\ntrain:\n  tokens: {int(b)}\n  lr: 0.0006\n", f"exp{k:02d}/metrics.json": json.dumps({"train_loss": float(round(c - 0.02, 3)), "val_loss": float(c)})}.items()}, t)

n = EXAMPLES
ends = noisy(0.2 + 6.0 * n**-0.4, 0.01, 1010, 4)
folder(kind, "Keras' histories, a CSV a size", {f"history_{int(a)}.csv": csv([["epoch", "loss", "val_loss"], *([j, round(0.6 * b + 1 / (j + 1) ** 2 - 1 / 100, 4), round(b + 1 / (j + 1) ** 2 - 1 / 100, 4)] for j in range(10))]) for a, b in zip(n, ends)},
    Truth({"n_data": n, "test_loss": ends}, float(0.2 + 6.0 * 486000**-0.4)))

# --- cells ----------------------------------------------------------------------------------------------

kind = "cells"
t = subsets(1011, EXAMPLES, 2)
n, e = t.points.values()
add(kind, "acc (%) with percent signs", "acc.csv", csv([["# train", "acc (%)"], *([int(a), f"{100 * (1 - b):.2f}%"] for a, b in zip(n, e))]), t)

t = crossed(1012, SIZES, AMOUNTS)
n, d, loss = t.points.values()
add(kind, "tokens in words", "runs.csv", csv([["model", "trained on", "val loss"], *([f"{short(a)} model", f"{b / 1e9:g} billion tokens", c] for a, b, c in zip(n, d, loss))]), t)

t = crossed(1013, SIZES, AMOUNTS)
n, d, loss = t.points.values()
add(kind, "means ± deviations, both sizes", "means.tsv", csv([["N", "D", "loss (mean ± std)"], *([short(a), short(b), f"{c:.3f}±{0.004 + 0.0005 * k:.3f}"] for k, (a, b, c) in enumerate(zip(n, d, loss)))], "\t"), t)

c = np.geomspace(1e17, 3e20, 8)
loss = noisy(by_compute(c), 0.003, 1014, 3)
add(kind, "FLOPs with a power of ten in the header", "c.csv", csv([["Compute (1e18 FLOPs)", "loss"], *([f"{a / 1e18:.5g}", b] for a, b in zip(c, loss))]), Truth({"compute": c, "test_loss": loss}, float(by_compute(3e21))))

ppl, t = perplexities(crossed(1015, SIZES, AMOUNTS), 3)
n, d, _ = t.points.values()
add(kind, "perplexity beside time and memory", "ppl.csv", csv([["Params (M)", "Tokens (B)", "Peak mem (GB)", "Time (h)", "Val PPL"], *([f"{a / 1e6:g}", f"{b / 1e9:g}", 38.2, round(a * b / 1e17, 1), p] for a, b, p in zip(n, d, ppl))]), t)

t = models(1016, SIZES)
n, loss = t.points.values()
add(kind, "log10 of the parameters", "log.csv", csv([["log10_params", "val_loss"], *([f"{np.log10(a):.4f}", b] for a, b in zip(n, loss))]), t)

t = crossed(1017, SIZES, AMOUNTS)
n, d, loss = t.points.values()
add(kind, "bits per byte beside nats", "bpb.csv", csv([["dense_parameter_count", "tokens_seen", "bpb", "nats_per_token"], *([int(a), int(b), round(c / np.log(2) / 4.1, 4), c] for a, b, c in zip(n, d, loss))]),
    Truth({"n_params": n, "n_data": d, "test_loss": np.round(loss / np.log(2) / 4.1, 4)}, t.ten_times / np.log(2) / 4.1))

n = np.array([70e6, 160e6, 410e6, 1e9, 1.4e9, 2.8e9, 6.9e9])
t = models(1018, n)
loss = t.points["test_loss"]
add(kind, "Pythia by name with a reference", "suite.csv", csv([["model", "LAMBADA loss", "source"], *([f"EleutherAI/pythia-{short(a).lower()}-deduped", b, "[12]"] for a, b in zip(n, loss))]), t)

t = subsets(1019, np.array([1281.0, 12811, 128116, 1281167]), 3)
n, e = t.points.values()
add(kind, "shares and images", "imagenet.csv", csv([["subset", "Train images", "seed", "Top-1 acc"], *([f"{float(f'{100 * a / 1281167:.2g}'):g}%", f"{int(a):,}".replace(",", " "), k % 3, f"{100 * (1 - b):.2f}"] for k, (a, b) in enumerate(zip(n, e)))], ";"), t)

# --- sheets ---------------------------------------------------------------------------------------------

kind = "sheets"
t = crossed(1020, SIZES, AMOUNTS)
n, d, loss = t.points.values()
add(kind, "title, units, notes below", "tracker.xlsx", workbook({"Runs": [["LM ladder (owner: Kim)"], [], ["Run", "Params", "Tokens", "LR", "Val loss", "Comment"], ["", "(M)", "(B)", "", "(nats)", ""], *([f"#{k}", a / 1e6, b / 1e9, 6e-4, c, "restart at 10k" if k == 7 else None] for k, (a, b, c) in enumerate(zip(n, d, loss))), [], ["all with seq len 2048"]], "Plots": [["see slides"]]}), t)

t = crossed(1021, SIZES, AMOUNTS)
n, d, loss = t.points.values()
add(kind, "Google's export with a total row", "Scaling - Runs.csv", csv([["", "Params", "Tokens", "GPU-h", "Val loss", ""], *(["", short(a), short(b), round(a * b / 1e17, 1), c, ""] for a, b, c in zip(n, d, loss)), ["", "Total", "", round(float((n * d).sum() / 1e17), 1), "", ""]]), t)

t = models(1022, SIZES)
n, loss = t.points.values()
add(kind, "a zip with a workbook's CSV", "export.zip", packed({"Sheet1.csv": csv([["Params", "Val loss"], *([short(a), b] for a, b in zip(n, loss))]), "README.txt": "exported 2026-01-05\n"}), t)

# --- several kinds --------------------------------------------------------------------------------------

kind = "several kinds"
n, d = (v.ravel() for v in np.meshgrid(SIZES, AMOUNTS, indexing="ij"))
base = noisy(language(n, d), 0.003, 1023, 3)
far = best_language(60 * float((n * d).max()))
add(kind, "two optimizers by the name of the run", "opt.csv", csv([["run", "params", "tokens", "val_loss"], *([f"{w}-{short(a)}-{short(b)}", int(a), int(b), round(f * c, 3)] for w, f in (("adamw", 1.05), ("muon", 1.0)) for a, b, c in zip(n, d, base))]),
    Truth({"n_params": n, "n_data": d, "test_loss": base}, far), ("adamw", "muon"))
add(kind, "evaluation sets in rows, unusual name", "where.csv", csv([["params", "tokens", "on", "loss"], *([int(a), int(b), w, round(f * c, 3)] for a, b, c in zip(n, d, base) for w, f in (("books", 1.0), ("github", 0.6)))]), None, ("on", "github"))
add(kind, "filtered data and not", "filter.csv", csv([["filtered", "size", "val loss"], *([w, short(a), round(f * c, 3)] for w, f in (("yes", 1.0), ("no", 1.06)) for a, c in zip(SIZES, noisy(by_size(SIZES), 0.002, 1024, 3)))]), None, ("filtered", "yes"))
add(kind, "two losses as columns", "dev_test.csv", csv([["N", "loss_en", "loss_de"], *([short(a), c, round(1.2 * c, 3)] for a, c in zip(SIZES, noisy(by_size(SIZES), 0.002, 1025, 3)))]), None, ("loss_en", "loss_de"))
t = crossed(1026, SIZES, AMOUNTS)
a_, b_, c_ = t.points.values()
add(kind, "two owners, which does not matter", "owners.csv", csv([["owner", "params", "tokens", "val_loss"], *(["kim" if k in (0, 1, 5, 6, 7, 10, 12, 15, 16, 18) else "lee", int(a), int(b), c] for k, (a, b, c) in enumerate(zip(a_, b_, c_)))]), t)

# --- nothing to fit -------------------------------------------------------------------------------------

kind = "nothing to fit"
add(kind, "one model over epochs", "ep.csv", csv([["epoch", "lr", "note"], *([k, 0.001, "ok"] for k in range(8))]), None, ANY)
add(kind, "losses without sizes", "only.csv", csv([["val_loss"], *([v] for v in base[:8])]), None, ANY)
add(kind, "one amount of data", "same.csv", csv([["n_train", "seed", "test_error"], *([5000, s, v] for s, v in enumerate(noisy(image_error(np.full(8, 5000.0)), 0.02, 1030, 4)))]), None, ANY)
