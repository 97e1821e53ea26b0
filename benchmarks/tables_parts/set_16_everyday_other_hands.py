"""Thirty more everyday tables, of other hands: trackers, exports, papers, notebooks of several tools.

Written when set 15 was mended, and committed before the first of them was read.
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
LLAMA = np.array([60e6, 130e6, 350e6, 1e9, 2.7e9])
DATA = np.array([5e9, 10e9, 25e9, 100e9])

# --- wide -----------------------------------------------------------------------------------------------

t = subsets(501, np.array([1000.0, 2000, 5000, 10000, 20000, 50000]), 3)
n, e = t.points.values()
add("wide", "training sizes as columns", "pivot.csv", csv([["seed", *(f"n={int(a)}" for a in n[::3])], *([s, *e.reshape(-1, 3)[:, s]] for s in range(3))]), t)

t = crossed(502, LLAMA, DATA)
n, d, loss = t.points.values()
add("wide", "models by tokens below a title", "grid.xlsx",
    book([["Final validation loss", *[None] * 4], ["Params \\ Tokens", *map(short, DATA)], *([short(a), *row] for a, row in zip(LLAMA, loss.reshape(5, 4)))]), t)

t = models(503, np.array([25e6, 50e6, 100e6, 200e6, 400e6, 800e6]))
n, loss = t.points.values()
add("wide", "a column for each model", "compare.csv",
    csv([["", *(f"run {w}" for w in "ABCDEF")], ["params", *map(short, n)], ["lr", *["6e-4"] * 6], ["val loss", *loss]]), t)

t = crossed(504, LLAMA[:4], DATA[:3])
n, d, loss = t.points.values()
add("wide", "a table of a paper", "results.tex",
    "\\begin{tabular}{lccc}\n\\toprule\n & \\multicolumn{3}{c}{Training tokens} \\\\\n\\cmidrule(lr){2-4}\nModel & 5B & 10B & 25B \\\\\n\\midrule\n"
    + "".join(f"{short(a)} & {row[0]} & {row[1]} & {row[2]} \\\\\n" for a, row in zip(LLAMA, loss.reshape(4, 3))) + "\\bottomrule\n\\end{tabular}\n", t)

# --- exports --------------------------------------------------------------------------------------------

t = crossed(505, LLAMA, DATA)
n, d, loss = t.points.values()
add("exports", "W&B with settings", "wandb_export.csv",
    csv([["Name", "State", "Created", "Runtime", "Group", "ID", "n_layer", "n_embd", "lr", "total_params", "tokens", "val/loss", "val/ppl", "train/loss", "_step"],
         *([f"llama-{k}", "finished", f"2025-06-{1 + k:02d}", 5000 + 310 * k, "scaling-v2", f"x{k}q", 6 * (1 + k // 4), 256 * (1 + k // 4), round(0.003 / (1 + k // 4), 5), int(a), int(b), c, round(float(np.exp(c)), 3), round(c - 0.03, 3), int(b / 5e5)]
           for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

m = np.array([30e6, 60e6, 130e6, 350e6, 1e9])
ends = noisy(by_size(m), 0.003, 506, 3)
steps = np.arange(1, 31) * 1000
chart = {"Step": steps} | {
    f"llama_{short(size)}_cosine - val/loss": np.round(
        end + 2.5 * (steps / 1000.0) ** -0.7 - 2.5 * 30**-0.7, 4
    )
    for size, end in zip(m, ends)
}
add("exports", "W&B chart", "wandb_export_chart.csv", pd.DataFrame(chart).to_csv(index=False), Truth({"n_params": m, "test_loss": ends}, float(by_size(1e10))))

t = crossed(507, LLAMA, DATA)
n, d, loss = t.points.values()
add("exports", "a frame with its index", "df.csv",
    csv([["", "exp_name", "n_params", "n_tokens", "lr", "gpu_hours", "val_loss"], *([k, f"exp_{k}", int(a), int(b), 0.001, round(6 * a * b / 1e18, 1), c] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = subsets(508, np.array([200.0, 400, 800, 1600, 3200, 6400]))
n, e = t.points.values()
add("exports", "scikit-learn", "learning_curve.csv",
    csv([["train_sizes", "train_scores_mean", "train_scores_std", "test_scores_mean", "test_scores_std"],
         *([int(a), round(1 - b / 4, 4), 0.004, round(1 - b, 4), 0.01] for a, b in zip(n, e))]), t)

files = {}
for size in (1000, 3000, 10000, 30000):
    for seed in range(2):
        end = float(noisy(np.array([image_error(np.array([float(size)]))[0]]), 0.01, 509 + size + seed, 4)[0])
        files[f"runs/n{size}_seed{seed}.csv"] = csv(
            [
                ["epoch", "train_loss", "val_error"],
                *([k, round(1.5 / k, 4), round(end + 0.4 / k - 0.4 / 20, 4)] for k in range(1, 21)),
            ]
        )
kept = [(1000.0 * s, float(files[f"runs/n{1000 * s}_seed{r}.csv"].split()[-1].split(",")[-1])) for s in (1, 3, 10, 30) for r in range(2)]
folder("exports", "a file for each run", files,
    Truth({"n_data": np.array([a for a, _ in kept]), "test_error": np.array([b for _, b in kept])}, float(image_error(np.array([3e5]))[0])))

# --- JSON, YAML, Markdown -------------------------------------------------------------------------------

t = crossed(510, LLAMA, DATA)
n, d, loss = t.points.values()
add("JSON", "runs by name", "summary.json", json.dumps({
    f"run_{k:02d}": {"params": int(a), "tokens": int(b), "metrics": {"val": {"loss": float(c)}, "train": {"loss": float(round(c - 0.02, 3))}}, "hours": round(a * b / 1e18, 1)}
    for k, (a, b, c) in enumerate(zip(n, d, loss))}, indent=1), t)

t = models(511, np.array([125e6, 350e6, 760e6, 1.3e9, 2.7e9, 6.7e9]))
n, loss = t.points.values()
ppl = np.round(np.exp(loss), 3)
add("JSON", "perplexities of models by name", "eval.json", json.dumps([
    {"model": f"acme/lm-{short(a).lower()}", "results": {"wikitext": {"ppl": float(b)}}, "n_shot": 0} for a, b in zip(n, ppl)]),
    Truth({"n_params": n, "test_loss": np.log(ppl)}, t.ten_times))

t = models(512, np.array([20e6, 60e6, 180e6, 540e6, 1.6e9]))
n, loss = t.points.values()
add("YAML", "experiments by name", "experiments.yaml",
    "experiments:\n" + "".join(f"  {w}:\n    n_params: {int(a)}\n    optimizer: adamw\n    final:\n      train_loss: {b - 0.04:.3f}\n      val_loss: {b}\n"
                                for w, a, b in zip(["xs", "s", "m", "l", "xl"], n, loss)), t)

t = models(513, np.array([70e6, 160e6, 410e6, 1e9, 2.8e9]))
n, loss = t.points.values()
add("Markdown", "means ± deviations", "notes.md",
    "## 2025-04-02\n\nReran everything with 3 seeds.\n\n| model | val loss |\n|---|---|\n" + "".join(f"| ours-{short(a)} | {b:.3f} ± {0.01 + 0.002 * k:.3f} |\n" for k, (a, b) in enumerate(zip(n, loss))) + "\ntodo: 6.9B\n", t)

t = crossed(514, LLAMA, DATA)
n, d, loss = t.points.values()
add("Markdown", "units in the header", "table.md",
    "| Params (M) | Tokens (B) | Loss |\n|--:|--:|--:|\n" + "".join(f"| {a / 1e6:g} | {b / 1e9:g} | {c:.3f} |\n" for a, b, c in zip(n, d, loss)), t)

t = crossed(515, LLAMA, DATA)
n, d, loss = t.points.values()
add("pastes", "a line for each run", "summary.txt",
    "".join(f"model={short(a)} tokens={short(b)} val_loss={c:.3f} time={k + 3}h\n" for k, (a, b, c) in enumerate(zip(n, d, loss))), t)

# --- cells and units ------------------------------------------------------------------------------------

c = np.geomspace(1e18, 1e21, 8)
loss = noisy(by_compute(c), 0.003, 516, 3)
add("cells", "logarithms of FLOPs", "frontier.csv",
    csv([["log10_flops", "val_loss"], *([f"{np.log10(a):.4f}", b] for a, b in zip(c, loss))]),
    Truth({"compute": c, "test_loss": loss}, float(by_compute(1e22))))

days = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0])
loss = noisy(by_compute(days * 8.64e19), 0.003, 517, 3)
add("cells", "PF-days", "compute.csv",
    csv([["Compute (PF-days)", "Test loss"], *([f"{a:g}", b] for a, b in zip(days, loss))]),
    Truth({"compute": days * 8.64e19, "test_loss": loss}, float(by_compute(8.64e21))))

n = np.array([10e6, 30e6, 100e6, 300e6, 1e9])
bpb = noisy(by_size(n) / np.log(2) / 4.2, 0.003, 518, 4)
add("cells", "bits per byte", "bpb.csv", csv([["num_params", "val_bpb"], *([int(a), b] for a, b in zip(n, bpb))]),
    Truth({"n_params": n, "test_loss": bpb}, float(by_size(1e10) / np.log(2) / 4.2)))

share = np.array([0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0])
err = noisy(0.05 + 0.08 * share**-0.4, 0.01, 519, 4)
add("cells", "shares of the training set", "fractions.csv",
    csv([["Fraction of train set", "Top-1 acc (%)"], *([f"{100 * a:g}%", f"{100 * (1 - b):.2f}"] for a, b in zip(share, err))]),
    Truth({"n_data": share, "test_error": err}, float(0.05 + 0.08 * 10**-0.4)))

t = crossed(520, LLAMA, DATA)
n, d, loss = t.points.values()
text = [*loss.astype(object)]
text[2], text[9], text[19] = "diverged", "NaN", "running"
add("cells", "runs that did not end", "status.xlsx",
    book([["Size", "Data", "Val loss", "Who"], *([short(a), f"{short(b)} tokens", c, "kim" if k % 2 else "lee"] for k, (a, b, c) in enumerate(zip(n, d, text)))]),
    t.rows(~np.isin(np.arange(20), [2, 9, 19])))

t = subsets(521, np.array([1000.0, 5000, 10000, 50000, 100000, 500000]))
n, e = t.points.values()
add("cells", "thousands with commas, tabs", "counts.tsv",
    csv([["# training examples", "Test error"], *([f"{int(a):,}", f"{100 * b:.2f}%"] for a, b in zip(n, e))], "\t"), t)

t = crossed(522, LLAMA, DATA)
n, d, loss = t.points.values()
add("cells", "semicolons and decimal commas", "runs.csv",
    csv([["params", "tokens", "val_loss"], *([int(a), int(b), comma(c, 3)] for a, b, c in zip(n, d, loss))], ";"), t)

# --- sheets ---------------------------------------------------------------------------------------------

t = crossed(523, LLAMA, DATA)
n, d, loss = t.points.values()
add("sheets", "sizes written once", "merged.xlsx",
    book([["Model size", "Tokens", "Eval loss", "Notes"], *([short(a) if k % 4 == 0 else None, short(b), c, "restarted" if k == 5 else None] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = crossed(524, LLAMA, DATA)
n, d, loss = t.points.values()
rows: list[list[object]] = [["params", "tokens", "loss"]]
for k, (a, b, v) in enumerate(zip(n, d, loss)):
    rows += ([["", "", ""]] if k and k % 4 == 0 else []) + [[short(a), short(b), v]]
add("sheets", "empty rows between models", "blocks.csv", csv(rows), t)

# --- several kinds --------------------------------------------------------------------------------------

n, d = (v.ravel() for v in np.meshgrid(LLAMA, DATA, indexing="ij"))
base = language(n, d)
sets = [noisy(f * base, 0.003, 525 + k, 3) for k, f in enumerate((1.0, 1.15, 0.7))]
add("several kinds", "evaluation sets as columns", "evals.csv",
    csv([["params", "tokens", "c4_loss", "wiki_loss", "code_loss"], *([int(a), int(b), *v] for a, b, *v in zip(n, d, *sets))]),
    None, ("c4_loss", "wiki_loss"))
add("several kinds", "schedules", "schedules.csv",
    csv([["schedule", "params", "tokens", "val_loss"], *(["cosine" if k % 2 else "wsd", int(a), int(b), v] for k, (a, b, v) in enumerate(zip(np.repeat(n, 2), np.repeat(d, 2), np.ravel([sets[0], 0.97 * sets[0]], "F").round(3))))]),
    None, ("schedule", "wsd"))
sizes = np.array([45e6, 124e6, 355e6, 774e6, 1.5e9])
add("several kinds", "training sets", "corpora.csv",
    csv([["corpus", "params", "val loss"], *([w, short(a), round(f * v, 3)] for w, f in (("fineweb", 1.0), ("pile", 1.08)) for a, v in zip(sizes, noisy(by_size(sizes), 0.003, 528, 3)))]),
    None, ("corpus", "pile"))
add("several kinds", "active and total parameters", "moe.csv",
    csv([["total params", "active params", "tokens", "val loss"], *([f"{a * (4 + k % 3) / 1e9:.3g}B", f"{a / 1e6:g}M", short(b), v] for k, (a, b, v) in enumerate(zip(n, d, sets[0])))]),
    None, ("active", "total"))

# --- fields ---------------------------------------------------------------------------------------------

t = subsets(530, np.array([25.0, 50, 100, 200, 400, 800]), 2)
n, e = t.points.values()
add("fields", "demonstrations", "robot.csv",
    csv([["num_demos", "seed", "success_rate"], *([int(a), k % 2, round(1 - b, 4)] for k, (a, b) in enumerate(zip(n, e)))]), t)

flops = np.repeat([1e18, 3e18, 1e19, 3e19], 6)
n = np.concatenate([np.round(np.sqrt(f / 120) * np.array([0.25, 0.5, 0.8, 1.3, 2.2, 4.0]), -5) for f in (1e18, 3e18, 1e19, 3e19)])
d = flops / 6 / n
loss = noisy(language(n, d), 0.002, 531, 3)
far = float(min(language(a, 3e20 / 6 / a) for a in np.geomspace(1e7, 1e11, 4001)))
add("fields", "isoFLOP curves", "isoflops.csv",
    csv([["FLOPs budget", "Params", "Loss"], *([f"{c:.0e}", f"{a / 1e6:g}M", v] for c, a, v in zip(flops, n, loss))]),
    Truth({"n_params": n, "n_data": d, "test_loss": loss}, far))
