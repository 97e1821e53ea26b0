"""Thirty tables as they arrive by mail and chat: wide ones, exports, marked-up text, packed files, traps.

Written from the wish that any table be read, without a look at the reader, and committed before the first was read.
"""

import gzip
import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
LADDER = np.array([40e6, 90e6, 210e6, 530e6, 1.2e9, 3e9])
SEEN = np.array([2e9, 8e9, 32e9, 128e9])
SUBSETS = np.array([500.0, 1500, 5000, 15000, 50000])

# --- wide -----------------------------------------------------------------------------------------------

kind = "wide"
t = crossed(701, LADDER, SEEN)
n, d, loss = t.points.values()
add(kind, "tokens down, models across", "by_tokens.csv",
    csv([["", *(f"GPT-{short(a)}" for a in LADDER)], *([f"{b / 1e9:g}B tokens", *row] for b, row in zip(SEEN, loss.reshape(6, 4).T))]), t)

t = crossed(702, LADDER, SEEN)
n, d, loss = t.points.values()
add(kind, "losses at token counts as columns", "loss_at.csv",
    csv([["Params (M)", *(f"loss @ {short(b)}" for b in SEEN)], *([f"{a / 1e6:g}", *row] for a, row in zip(LADDER, loss.reshape(6, 4)))]), t)

t = subsets(703, SUBSETS, 4)
n, e = t.points.values()
acc = np.round(100 * (1 - e), 2).reshape(5, 4)
add(kind, "seeds down with mean and std", "seeds.csv",
    csv([["accuracy (%)", *(f"{int(a)} samples" for a in SUBSETS)], *([f"seed {s}", *acc[:, s]] for s in range(4)),
         ["mean", *acc.mean(1).round(2)], ["std", *acc.std(1, ddof=1).round(2)]]), t)

t = subsets(704, SUBSETS, 3)
n, e = t.points.values()
err = e.reshape(5, 3)
add(kind, "seeds across with their average", "trials.tsv",
    csv([["n_train", "trial 1", "trial 2", "trial 3", "avg"], *([int(a), *row, row.mean().round(4)] for a, row in zip(SUBSETS, err))], "\t"), t)

# --- letters --------------------------------------------------------------------------------------------

kind = "letters"
t = crossed(705, LADDER[:5], SEEN)
n, d, loss = t.points.values()
add(kind, "between greeting and signature", "Re: scaling runs.txt",
    "Hi both,\n\nhere are the final numbers from last night, as promised.\n\n" + csv([["params", "tokens", "val loss"], *([short(a), short(b), c] for a, b, c in zip(n, d, loss))], "\t")
    + "\nThe 3B is still in the queue.\n\nBest,\nAnna\n", t)

t = crossed(706, LADDER[:5], SEEN)
n, d, loss = t.points.values()
add(kind, "a title with commas in quotes", "table3.csv",
    '"Table 3: Validation loss of our models, averaged over 2 runs, C4 en"\n\n' + csv([["N", "D", "Loss"], *([f"{a:.2e}", f"{b:.2e}", c] for a, b, c in zip(n, d, loss))]), t)

t = models(707, LADDER)
n, loss = t.points.values()
add(kind, "a code block of a chat", "slack.md",
    "*Mira* 10:41\nval losses so far:\n```\nsize    val_loss   status\n" + "".join(f"{short(a):<8}{b:<11}done\n" for a, b in zip(n, loss)) + "```\n:tada: 3 replies\n", t)

t = crossed(708, LADDER[:5], SEEN)
n, d, loss = t.points.values()
add(kind, "Jira's bars", "SCALE-112.txt",
    "||Params||Tokens||Val loss||Owner||\n" + "".join(f"|{short(a)}|{short(b)}|{c}|@kim|\n" for a, b, c in zip(n, d, loss)), t)

t = models(709, LADDER)
n, loss = t.points.values()
add(kind, "MediaWiki", "wiki.txt",
    '{| class="wikitable sortable"\n|+ Final validation loss\n! Model !! Parameters !! Validation loss\n' + "".join(f"|-\n| base-{k} || {int(a):,} || {b}\n" for k, (a, b) in enumerate(zip(n, loss))) + "|}\n", t)

t = crossed(710, LADDER[:5], SEEN)
n, d, loss = t.points.values()
add(kind, "AsciiDoc", "results.adoc",
    '.Ladder v2\n[cols="1,1,1",options="header"]\n|===\n| Params | Tokens | Loss\n\n' + "".join(f"| {short(a)} | {short(b)} | {c}\n" for a, b, c in zip(n, d, loss)) + "|===\n", t)

# --- exports --------------------------------------------------------------------------------------------

kind = "exports"
t = crossed(711, LADDER[:5], SEEN)
n, d, loss = t.points.values()
rows = [[f"fluent-sun-{k}", "finished", k, int(a), int(b), c, round(c - 0.05, 3), round(6 * a * b / 3e18, 1)] for k, (a, b, c) in enumerate(zip(n, d, loss))]
rows[7][1], rows[7][5] = "crashed", ""
add(kind, "W&B runs, one crashed", "wandb_export_2026-01-09T09_01_12.csv",
    csv([["Name", "State", "config.seed", "model.num_parameters", "train/tokens_seen", "eval/loss", "train/loss", "gpu_hours"], *rows]), t.rows(np.arange(20) != 7))

m = LADDER[:5]
ends = noisy(by_size(m), 0.003, 712, 3)
steps = np.arange(1, 26) * 400
chart: dict[str, Array] = {"Step": steps}
for size, end in zip(m, ends):
    curve = np.round(end + 2.0 * (steps / 400.0) ** -0.8 - 2.0 * 25**-0.8, 4)
    chart |= {f"gpt-{short(size)} - eval/loss{part}": curve for part in ("", "__MIN", "__MAX")}
add(kind, "W&B chart with minima and maxima", "wandb_export_chart.csv", pd.DataFrame(chart).to_csv(index=False),
    Truth({"n_params": m, "test_loss": ends}, float(by_size(1.2e10))))

t = crossed(713, LADDER[:4], np.array([1e9, 2e9, 4e9, 8e9, 16e9]))
n, d, loss = t.points.values()
wide = pd.DataFrame({"n": n, "train/tokens": d.astype(int), "loss": loss}).pivot(index="train/tokens", columns="n", values="loss")
wide.columns = [f"lm_{short(a)} - validation/loss" for a in LADDER[:4]]
add(kind, "W&B chart over tokens", "chart_tokens.csv", wide.to_csv(), t)

t = crossed(714, LADDER[:5], SEEN)
n, d, loss = t.points.values()
add(kind, "nested runs with histories", "runs.json", json.dumps([
    {"id": f"r{k}", "config": {"model": {"n_params": int(a), "n_layers": 12}, "data": {"train_tokens": int(b)}, "optim": {"lr": 3e-4}},
     "history": {"step": [100, 200, 300], "eval_loss": [round(c + 1, 3), round(c + 0.3, 3), c]}, "summary": {"eval": {"loss": c}, "runtime_s": 100 + k}}
    for k, (a, b, c) in enumerate(zip(n, d, map(float, loss)))], indent=1), t)

t = crossed(715, LADDER[:5], SEEN)
n, d, loss = t.points.values()
add(kind, "lines of JSON with sizes as text, packed", "evals.jsonl.gz", gzip.compress("".join(
    json.dumps({"ckpt": f"s3://b/{short(a)}/{short(b)}/final", "model_size": short(a), "data_size": short(b), "metrics": {"val_loss": float(c)}}) + "\n"
    for a, b, c in zip(n, d, loss)).encode(), mtime=0), t)

t = models(716, LADDER)
n, loss = t.points.values()
add(kind, "YAML documents one after another", "runs.yaml", "".join(
    f"---\nname: lm-{k}\nmodel:\n  parameters: {int(a)}\n  layers: {6 + 2 * k}\nresult:\n  validation_loss: {b}\n" for k, (a, b) in enumerate(zip(n, loss))), t)

t = subsets(717, SUBSETS, 2)
n, e = t.points.values()
add(kind, "a zip with one table", "results.zip", packed({"results/final.csv": csv([["num_samples", "seed", "test_error"], *([int(a), k % 2, b] for k, (a, b) in enumerate(zip(n, e)))])}), t)

# --- cells ----------------------------------------------------------------------------------------------

kind = "cells"
t = crossed(718, LADDER, SEEN)
n, d, loss = t.points.values()
text = [*loss.astype(object)]
for at, word in {1: "OOM", 5: "diverged", 10: "n.a.", 14: "-", 17: "TBD", 20: "inf"}.items():
    text[at] = word
add(kind, "six words for no number", "sheet.csv",
    csv([["Model", "Tokens", "Final loss"], *([f"{short(a)} params", short(b), c] for a, b, c in zip(n, d, text))]),
    t.rows(~np.isin(np.arange(24), [1, 5, 10, 14, 17, 20])))

t = models(719, LADDER)
n, loss = t.points.values()
add(kind, "powers in LaTeX with errors", "appendix.tex",
    "\\begin{table}[t]\n\\centering\n\\caption{Held-out loss.}\n\\begin{tabular}{rr}\n\\hline\n\\textbf{Parameters} & \\textbf{Held-out loss} \\\\ \\hline\n"
    + "".join(f"${a / 10 ** np.floor(np.log10(a)):.1f} \\times 10^{{{int(np.log10(a))}}}$ & ${b:.3f} \\pm 0.004$ \\\\\n" for a, b in zip(n, loss)) + "\\hline\n\\end{tabular}\n\\label{tab:a}\n\\end{table}\n", t)

t = crossed(720, LADDER[:5], SEEN)
n, d, loss = t.points.values()
add(kind, "a page of Confluence", "page.html",
    "<html><body><h1>Ladder</h1><p>Updated weekly.</p><table><colgroup><col/><col/><col/></colgroup><thead><tr><th><p>Params</p></th><th><p>Train tokens</p></th><th><p>Eval&nbsp;loss</p></th></tr></thead><tbody>"
    + "".join(f"<tr><th>{short(a)}</th><td><p>{short(b)}</p></td><td><strong>{c}</strong></td></tr>" for a, b, c in zip(n, d, loss)) + "</tbody></table></body></html>", t)

t = crossed(721, LADDER[:5], SEEN)
n, d, loss = t.points.values()
add(kind, "Mio. and Mrd.", "Auswertung.csv",
    "sep=;\n" + csv([["Parameter (Mio.)", "Token (Mrd.)", "Validierungsverlust"], *([f"{a / 1e6:g}", f"{b / 1e9:g}", f"{c:.3f}".replace(".", ",")] for a, b, c in zip(n, d, loss))], ";"), t)

t = subsets(722, SUBSETS, 2)
n, e = t.points.values()
add(kind, "percent with a comma and a space", "genauigkeit.csv",
    csv([["Trainingsbilder", "Lauf", "Genauigkeit"], *([int(a), k % 2 + 1, f"{100 * (1 - b):.2f} %".replace(".", ",")] for k, (a, b) in enumerate(zip(n, e)))], ";"), t)

t = crossed(723, LADDER[:5], SEEN)
n, d, loss = t.points.values()
add(kind, "spaces, with units below", "ladder.txt",
    "params   tokens   loss\n[M]      [B]      [nats]\n" + "".join(f"{a / 1e6:<8g} {b / 1e9:<8g} {c:.3f}\n" for a, b, c in zip(n, d, loss)), t)

cost = np.geomspace(0.5, 5000, 9).round(2)
loss = noisy(by_compute(cost * 1e18), 0.003, 724, 3)
add(kind, "exaFLOPs", "cost.csv", csv([["Train cost (EFLOPs)", "Val. loss"], *([a, b] for a, b in zip(cost, loss))]),
    Truth({"compute": cost * 1e18, "test_loss": loss}, float(by_compute(5e22))))

t = crossed(725, LADDER[:5], SEEN)
n, d, loss = t.points.values()
logs = np.round(np.log10(n), 5), np.round(np.log10(d), 5)
add(kind, "logarithms of both sizes", "points.csv", csv([["log10(N)", "log10(D)", "L"], *([a, b, c] for a, b, c in zip(*logs, loss))]), t)

# --- several kinds, traps, refusals ---------------------------------------------------------------------

kind = "several kinds"
n = LADDER
one, two = noisy(by_size(n), 0.003, 726, 3), noisy(1.09 * by_size(n), 0.003, 727, 3)
add(kind, "two validation sets in rows", "losses.csv",
    csv([["params", "valid_on", "loss"], *([short(a), s, v] for a, b, c in zip(n, one, two) for s, v in (("c4", b), ("pile", c)))]), None, ("valid_on", "pile"))
add(kind, "old and new mixture", "mixes.csv",
    csv([["exp", "size", "val_loss"], *(["baseline", short(a), c] for a, c in zip(n, two)), *(["new mix", short(a), b] for a, b in zip(n, one))]), None, ("exp", "new mix"))

kind = "traps"
t = crossed(728, LADDER[:5], SEEN)
n, d, loss = t.points.values()
add(kind, "loss is of training, val of validation", "log.csv",
    csv([["params", "tokens", "loss", "val"], *([int(a), int(b), round(0.96 * c - 0.03, 3), c] for a, b, c in zip(n, d, loss))]), t)

kind = "nothing to fit"
add(kind, "learning rates without a size", "lr.csv", csv([["run", "lr", "wd", "val_loss"], *([f"r{k}", lr, 0.1, round(3 + 0.1 * abs(k - 3), 3)] for k, lr in enumerate([1e-4, 2e-4, 4e-4, 8e-4, 1.6e-3, 3.2e-3]))]), None, ANY)
add(kind, "seeds of one model", "one.csv", csv([["params", "tokens", "seed", "val_loss"], *([160000000, 3200000000, s, v] for s, v in enumerate(noisy(language(np.full(6, 1.6e8), np.full(6, 3.2e9)), 0.003, 730, 3)))]), None, ANY)
