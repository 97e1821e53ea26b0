"""Thirty tables that are easily read wrong without a word: mixed groups, units, percent, several losses, means, checkpoints.

Written without a look at what reads them or at the other sets (the head of set 28 showed how a case is written), and
committed before the first of them was read. A table with a truth and choices may be refused with these choices, too.
Changed afterwards: "metric and value in rows" had an accuracy beside the loss, of which either may be meant.
"""

import json

import numpy as np

from tables_parts.cases import *
from tables_parts.set_39_trackers_and_students import FOUR, SEEN, SMALL, surface

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
SUBSETS = np.array([400.0, 800, 1600, 3200, 6400, 12800, 25600])

def images(seed, repeats=1, digits=4):
    """Errors by training images."""
    return line(seed, np.repeat(SUBSETS, repeats), 0.05, 4.0, 0.4, digits)

def family(seed, digits=4, models=SMALL):
    """Losses by parameters."""
    return line(seed, models, 1.9, 62.0, 0.22, digits, 0.003, "n_params")

# --- rows of several kinds -------------------------------------------------------------------------------

n, loss = columns(family(301))
add("several kinds", "two tokenizers, told by a column", "tok.csv",
    csv([["params", "vocab", "eval loss"], *([int(a), v, round(float(c) * m, 4)] for a, c in zip(n, loss) for v, m in (("bpe32k", 1.0), ("byte", 0.71)))]), choices=("vocab", "byte"))

n, loss = columns(images(302))
add("several kinds", "with and without augmentation as 0 and 1", "aug.csv",
    csv([["n_train", "aug", "test_err"], *([int(a), v, round(float(c) * m, 4)] for a, c in zip(n, loss) for v, m in ((0, 1.0), (1, 0.66)))]), choices=("aug",))

n, loss = columns(family(303))
add("several kinds", "two evaluation sets in rows", "evals.jsonl",
    "".join(json.dumps({"model": f"m{k}", "n_params": int(a), "eval_set": s, "loss": round(float(c) + m, 4)}) + "\n" for k, (a, c) in enumerate(zip(n, loss)) for s, m in (("c4", 0.0), ("wikitext103", 0.38))), choices=("eval_set", "c4"))

n, loss = columns(family(304))
add("several kinds", "losses of two evaluation sets side by side", "two.csv",
    csv([["params", "loss_pile", "loss_wikitext"], *([int(a), c, round(0.8 * float(c) + 1.0, 4)] for a, c in zip(n, loss))]), choices=("loss_pile", "loss_wikitext"))

t = family(305)
n, loss = columns(t)
add("several kinds", "train and val in rows of one column", "splits.csv",
    csv([["n_params", "split", "loss"], *([int(a), s, round(float(c) + m, 4)] for a, c in zip(n, loss) for s, m in (("train", -0.11), ("val", 0.0)))]), t)

n, loss = columns(images(306))
add("several kinds", "two networks whose names are in a sentence", "notes.csv",
    csv([["training images", "setup", "error (%)"], *([int(a), s, f"{100 * c * m:.2f}"] for s, m in (("resnet18 from scratch", 1.0), ("resnet18 pretrained", 0.4)) for a, c in zip(n, loss))]), choices=("setup", "pretrained"))

t = family(307)
n, loss = columns(t)
add("several kinds", "metric and value in rows", "long.csv",
    csv([["run", "params", "metric", "value"], *([f"r{k}", int(a), m, v] for k, (a, c) in enumerate(zip(n, loss)) for m, v in (("val_loss", c), ("grad_norm", 0.41), ("tokens_per_sec", 91000 - 9000 * k)))]), t)

# --- units -----------------------------------------------------------------------------------------------

t = surface(308, FOUR, np.array([4e8, 9e8, 2.5e9, 1.2e10]))
n, d, loss = columns(t)
add("units", "millions and billions of tokens in one column", "tokens.csv",
    csv([["size", "tokens", "val loss"], *([short(a), short(b), c] for a, b, c in zip(n, d, loss))]), t)

t = family(309)
n, loss = columns(t)
add("units", "a header in millions, one cell that has a unit of its own", "m.csv",
    csv([["Params (M)", "Val loss"], *([short(a) if a >= 1e9 else f"{a / 1e6:g}", c] for a, c in zip(n, loss))]), t)

t = images(310)
n, loss = columns(t)
add("units", "a header in percent over fractions", "frac.csv",
    csv([["train images", "test acc (%)"], *([int(a), f"{1 - c:.4f}"] for a, c in zip(n, loss))]), t, choices=("%",))

t = line(311, SUBSETS, 0.0021, 0.19, 0.5, 6, 0.004)
n, loss = columns(t)
add("units", "errors below one percent, in percent", "small.csv", csv([["train size", "err [%]"], *([int(a), f"{100 * c:.4f}"] for a, c in zip(n, loss))]), t)

t = images(312)
n, loss = columns(t)

def _percent(path, n=n, loss=loss):
    from openpyxl import Workbook

    sheet = (file := Workbook()).active
    sheet.append(["images", "test error (%)"])
    for a, c in zip(n, loss):
        sheet.append([int(a), float(c)])
        sheet.cell(sheet.max_row, 2).number_format = "0.00%"
    file.save(path)

add("units", "cells that the spreadsheet shows in percent", "shown.xlsx", _percent, t)

t = line(313, np.geomspace(0.02, 20, 7) * 8.64e19, 1.75, 1200.0, 0.155, 4, 0.003, "compute")
n, loss = columns(t)
add("units", "compute in petaflop/s-days", "pf.csv", csv([["Compute (PF-days)", "Test loss"], *([f"{a / 8.64e19:.4g}", c] for a, c in zip(n, loss))]), t)

t = family(314)
n, loss = columns(t)
add("units", "logarithms of sizes", "log.csv", csv([["log10(N)", "loss"], *([f"{np.log10(a):.5f}", c] for a, c in zip(n, loss))]), t)

t = images(315)
n, loss = columns(t)
add("units", "powers of two, and a logarithm of the error", "log2.csv",
    csv([["log2_n_train", "log10_mse"], *([f"{np.log2(a):.5f}", f"{np.log10(c):.5f}"] for a, c in zip(n, loss))]), t)

t = line(316, np.array([2.0, 5, 10, 25, 50, 100]) * 1e3, 0.06, 5.0, 0.4)
n, loss = columns(t)
add("units", "points for thousands and commas for decimals", "dati.csv",
    csv([["esempi di addestramento", "errore di test"], *([f"{int(a):,}".replace(",", "."), comma(float(c))] for a, c in zip(n, loss))], ";"), t)

t = family(317)
n, loss = columns(t)
add("units", "a size without its unit", "size.csv",
    csv([["model size", "dev loss"], *([f"{a / 1e9:g}", c] for a, c in zip(n, loss))]), t, choices=("model size",))

# --- which column ----------------------------------------------------------------------------------------

t = surface(318, FOUR, SEEN[:3])
n, d, loss = columns(t)
add("which column", "losses of training, of the average of weights, and of a test", "many.csv",
    csv([["params", "tokens", "train_loss", "train_loss_ema", "grad_norm", "z_loss", "test_loss", "lr"], *([int(a), int(b), round(float(c) - 0.09, 4), round(float(c) - 0.07, 4), 0.4, round(0.01 / (k + 1), 5), c, 3e-4] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = images(319)
n, loss = columns(t)
add("which column", "forward FLOPs and parameters that stay, images that grow", "vision.csv",
    csv([["arch", "params (M)", "GFLOPs", "train images", "top-1", "top-5"], *(["resnet50", 25.6, 4.1, int(a), f"{100 * (1 - c):.2f}", f"{100 * (1 - 0.3 * c):.2f}"] for a, c in zip(n, loss))]), t)

t = line(320, SMALL, 0.18, 62.0, 0.33, 4, 0.003, "n_params")
n, loss = columns(t)
add("which column", "FLOPs of one image beside parameters", "zoo.csv",
    csv([["model", "params (M)", "FLOPs (G)", "throughput (img/s)", "top-1 err (%)"], *([f"net-{k}", f"{a / 1e6:g}", f"{a / 1e6 * 0.19:.3g}", int(9e9 / a), f"{100 * c:.2f}"] for k, (a, c) in enumerate(zip(n, loss)))]), t)

t = surface(321)
n, d, loss = columns(t)
add("which column", "a ratio of tokens to parameters in place of tokens", "ratio.csv",
    csv([["params", "tokens_per_param", "loss"], *([int(a), f"{b / a:.6g}", c] for a, b, c in zip(n, d, loss))]), t)

t = surface(322, FOUR, np.array([2000.0, 6000, 18000, 54000]) * 524288)
n, d, loss = columns(t)
add("which column", "steps, batch and length in place of tokens", "steps.csv",
    csv([["n_params", "train_steps", "batch_size", "seq_len", "final_eval_loss"], *([int(a), int(b / 524288), 256, 2048, c] for a, b, c in zip(n, d, loss))]), t)

n, loss = columns(images(323))
add("which column", "gains over a baseline only", "delta.csv",
    csv([["train images", "Δ loss vs baseline"], *([int(a), round(float(c - loss[0]), 4)] for a, c in zip(n, loss))]), choices=("loss",))

t = images(324)
n, loss = columns(t)
add("which column", "dates, jobs and counts beside the sizes", "jobs.csv",
    csv([["date", "job_id", "node_count", "examples", "errors_in_test", "n_test", "test_error"], *([20251101 + k, 8817263 + 31 * k, 2, int(a), round(10000 * float(c)), 10000, c] for k, (a, c) in enumerate(zip(n, loss)))]), t)

# --- means, repeats, checkpoints -------------------------------------------------------------------------

t = images(325, 3)
n, loss = columns(t)
add("means", "a row of the mean after three seeds", "mean.csv",
    csv([["n", "seed", "test error"], *(row for a, r in zip(n[::3], loss.reshape(-1, 3)) for row in (*([int(a), s, c] for s, c in enumerate(r)), [int(a), "mean", f"{r.mean():.5f}"]))]), t)

t = images(326)
n, loss = columns(t)
add("means", "means, numbers of seeds, standard errors, worst and best", "sem.csv",
    csv([["n_train", "n_seeds", "err_mean", "err_sem", "err_min", "err_max"], *([int(a), 5, c, f"{0.002 * c:.5f}", f"{0.994 * c:.4f}", f"{1.006 * c:.4f}"] for a, c in zip(n, loss))]), t)

t = family(327, models=SMALL[:5])
n, loss = columns(t)
add("means", "checkpoints of five runs, one started again in its middle", "history.csv",
    csv([["run_name", "params", "step", "loss_val"], *([f"lm{k}", int(a), 200 * i, v] for k, (a, c) in enumerate(zip(n, loss)) for i, v in [(i, v) for i, v in enumerate(falling(float(c), 12)) if k != 2 or i < 7] + ([(i, v) for i, v in enumerate(falling(float(c), 12)) if i >= 5] if k == 2 else []))]), t)

t = family(328)
n, loss = columns(t)
add("means", "three learning rates a size; the best counts", "lr.csv",
    csv([["width", "n_params", "lr", "val_loss"], *([128 * (k + 1), int(a), lr, round(float(c) + m, 4)] for k, (a, c) in enumerate(zip(n, loss)) for lr, m in ((1e-4, 0.09), (4e-4, 0.0), (1.6e-3, 0.05)))]), t)

# --- titles, missing words -------------------------------------------------------------------------------

t = surface(329)
n, d, loss = columns(t)
kept = ~np.isin(np.arange(16), [2, 9, 14])
cells = [*loss.astype(object)]
cells[2], cells[9], cells[14] = "running", "-", "NaN (loss spike)"
add("titles", "two titles, missing words, a footnote", "board.csv",
    csv([["Scaling grid v3", "", "", ""], ["updated 4 Dec; losses in nats/token", "", "", ""], ["", "", "", ""], ["N", "D", "Loss", "Owner"], *([f"{a:.3g}", f"{b:.3g}", c, "mk"] for a, b, c in zip(n, d, cells)), ["* rerun of the 90M row pending", "", "", ""]]), t.rows(kept))

t = surface(330, FOUR, SEEN[:3])
n, d, loss = columns(t)
add("titles", "a block a model under its name, in a sheet", "blocks.xlsx",
    book([row for k, a in enumerate(FOUR) for row in ([f"{short(a)} model", "", ""], ["tokens (B)", "val loss", "hours"], *([b / 1e9, c, k + 1] for b, c in zip(SEEN[:3], loss.reshape(4, 3)[k])), ["", "", ""])]), t)
