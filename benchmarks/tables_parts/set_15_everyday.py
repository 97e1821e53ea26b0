"""Thirty tables of the kinds that issue trackers and chats are full of: no puzzles, the usual disorder.

Written with the reader as it was after set 14, and committed before the first of them was read.
Two truths were changed after that: of two optimizers the better is used, which is said (a refusal was asked
for), and of a loss and the accuracy of a task the loss (the accuracy was).
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
# --- wide -----------------------------------------------------------------------------------------------

t = crossed(401)
n, d, loss = t.points.values()
wide = loss.reshape(5, 4)
add("wide", "sizes as columns", "loss_by_size.csv", csv([["tokens", *map(short, GPT)], *([short(a), *wide[:, k]] for k, a in enumerate(SEEN))]), t)

t = subsets(402, np.array([500.0, 1000, 2000, 5000, 10000, 20000, 50000]), 3)
n, e = t.points.values()
add("wide", "seeds as columns below a title", "cifar_subsets.xlsx",
    book([["CIFAR-10 subsets, ResNet-18, test error", *[None] * 3], [None] * 4, ["train size", "seed 0", "seed 1", "seed 2"],
          *([int(a), *b] for a, b in zip(n[::3], e.reshape(-1, 3)))]), t)

t = crossed(403)
n, d, loss = t.points.values()
cells = [[*row] for row in loss.reshape(5, 4).astype(object)]
cells[4][3] = "OOM"
kept = np.arange(20) != 19
n, d, loss = (v[kept] for v in (n, d, loss))
add("wide", "tokens as columns, the largest out of memory", "grid.xlsx",
    book([["Model", *(f"{a / 1e9:g}B tokens" for a in SEEN)], *([f"{short(a)}", *row] for a, row in zip(GPT, cells))]),
    Truth({"n_params": n, "n_data": d, "test_loss": loss}, best_language(60 * float((n * d).max()))))

# --- exports of W&B -------------------------------------------------------------------------------------

t = crossed(404)
n, d, loss = t.points.values()
states = ["finished"] * 20
states[7] = "crashed"
kept = np.arange(20) != 7
add("W&B", "runs", "wandb_export_2025-03-11T10_22_41.412+01_00.csv",
    csv([["Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "lr", "model.num_parameters", "train/tokens_seen", "eval/loss", "train/loss"],
         *([f"{w}-{k}", s, "-", "anna", "scaling", f"2025-03-{1 + k // 3:02d}T08:1{k % 10}:00.000Z", 3600 + 977 * k, "", 0.0003, int(a), int(b), c if s == "finished" else "", round(c * 0.985, 3)]
           for k, (w, s, a, b, c) in enumerate(zip(["dry-sea", "light-lake", "warm-sky", "fine-rain"] * 5, states, n, d, loss)))]), t.rows(kept))

m = np.array([19e6, 45e6, 124e6, 355e6, 774e6])
steps = np.arange(1, 25) * 500
ends = noisy(by_size(m), 0.003, 405, 3)
chart = {"Step": steps}
for size, end in zip(m, ends):
    chart[f"gpt-{short(size)} - eval/loss"] = np.round(end + 3.0 * (steps / 500.0) ** -0.6 - 3.0 * 24**-0.6, 4)
    for edge in ("__MIN", "__MAX"):
        chart[f"gpt-{short(size)} - eval/loss{edge}"] = chart[f"gpt-{short(size)} - eval/loss"]
add("W&B", "chart", "wandb_chart.csv", pd.DataFrame(chart).to_csv(index=False), Truth({"n_params": m, "test_loss": ends}, float(by_size(10 * m.max()))))

# --- JSON and YAML --------------------------------------------------------------------------------------

t = crossed(406)
n, d, loss = t.points.values()
add("JSON", "nested runs", "runs.json", json.dumps([
    {"id": f"r{k:03d}", "config": {"model": {"n_params": int(a), "n_layers": 4 + 4 * (k // 4), "d_model": 256 * (1 + k // 4)}, "data": {"train_tokens": int(b), "seq_len": 1024}, "optim": {"lr": 0.0006}},
     "summary": {"eval": {"loss": float(c)}, "train": {"loss": float(round(c - 0.02, 3))}, "wall_clock_h": round(a * b / 1e18, 2)}}
    for k, (a, b, c) in enumerate(zip(n, d, loss))], indent=2), t)

t = models(407, np.array([14e6, 31e6, 70e6, 160e6, 410e6, 1e9, 1.4e9, 2.8e9]))
n, loss = t.points.values()
add("JSON", "lines of final results", "results.jsonl", "".join(json.dumps(
    {"run": f"lm-{k}", "params": short(a), "val_loss": float(b), "val_ppl": round(float(np.exp(b)), 2), "date": f"2025-01-{3 + k:02d}", "git": f"{7919 * (k + 3):07x}"}) + "\n"
    for k, (a, b) in enumerate(zip(n, loss))), t)

t = crossed(408)
n, d, loss = t.points.values()
add("YAML", "a list of runs", "runs.yaml", "# collected by hand\nruns:\n" + "".join(
    f"  - name: {short(a)}_{short(b)}\n    model_size: {short(a)}\n    tokens: {short(b)}\n    val_loss: {c}\n" for a, b, c in zip(n, d, loss)), t)

# --- Markdown, LaTeX and pastes -------------------------------------------------------------------------

t = crossed(409, GPT[:4], SEEN[:3])
n, d, loss = t.points.values()
add("Markdown", "results in a README", "README.md", "# tinylm\n\nOur models, trained on FineWeb.\n\n## Results\n\n| Model | Params | Train tokens | Val loss |\n| --- | ---: | ---: | ---: |\n" + "".join(
    f"| tiny-{'abcd'[k // 3]} | {short(a)} | {short(b)} | {f'**{c}**' if c == loss.min() else c} |\n" for k, (a, b, c) in enumerate(zip(n, d, loss))) + "\nSee `train.py` for details.\n", t)

t = models(410, np.array([6e6, 20e6, 45e6, 90e6, 200e6, 500e6]))
n, loss = t.points.values()
spread = np.array([0.012, 0.009, 0.011, 0.006, 0.008, 0.005])
add("LaTeX", "means and deviations", "table2.tex", "\\begin{table}[t]\n\\centering\n\\caption{Validation loss (three seeds).}\n\\begin{tabular}{lcc}\n\\toprule\nModel & \\#Params & Val.\\ loss \\\\\n\\midrule\n" + "".join(
    f"{w} & {short(a)} & ${b:.3f} \\pm {s}$ \\\\\n" for w, a, b, s in zip(["Nano", "Micro", "Mini", "Small", "Base", "Large"], n, loss, spread)) + "\\bottomrule\n\\end{tabular}\n\\end{table}\n", t)

t = subsets(411, np.array([100.0, 300, 1000, 3000, 10000, 30000]))
n, e = t.points.values()
frame = pd.DataFrame({"n_train": n.astype(int), "val_error": e, "fit_time": np.round(n / 311.0, 1)})
add("pastes", "a printed frame", "out.txt", frame.to_string() + "\n", t)

t = models(412, np.array([10e6, 25e6, 60e6, 150e6, 400e6, 1.1e9]))
n, loss = t.points.values()
add("pastes", "tabs", "paste.tsv", csv([["model", "params", "eval loss", "GPU hours"],
    *([f"v3-{w}", f"{a / 1e6:g}M", b, round(a * 2.4e-6, 1)] for w, a, b in zip("abcdef", n, loss))], "\t"), t)

# --- cells and units ------------------------------------------------------------------------------------

t = subsets(413, np.array([1000.0, 2000, 4000, 8000, 16000, 32000, 64000]))
n, e = t.points.values()
add("cells", "means ± deviations in percent", "sweep.csv",
    csv([["training images", "Top-1 acc"], *([int(a), f"{100 * (1 - b):.2f} ± {0.4 - 0.05 * k:.2f}"] for k, (a, b) in enumerate(zip(n, e)))]), t)

t = subsets(414, np.array([1000.0, 3000, 10000, 30000, 100000]), 2)
n, e = t.points.values()
add("cells", "percent signs", "acc.csv",
    csv([["n_samples", "seed", "test acc (%)"], *([int(a), k % 2, f"{100 * (1 - b):.2f}%"] for k, (a, b) in enumerate(zip(n, e)))]), t)

t = crossed(415)
n, d, loss = t.points.values()
add("cells", "words beside numbers", "tracker.csv",
    csv([["model", "data", "final loss", "comment"], *([f"{short(a)} params", f"{short(b)} tokens", c, "rerun" if k == 6 else ""] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = crossed(416)
n, d, loss = t.points.values()
add("cells", "logarithms", "loglog.csv",
    csv([["log10_params", "log10_tokens", "loss"], *([f"{np.log10(a):.5f}", f"{np.log10(b):.5f}", c] for a, b, c in zip(n, d, loss))]), t)

t = crossed(417)
n, d, loss = t.points.values()
text = [*loss.astype(str)]
text[3], text[11] = "diverged", "n/a"
add("cells", "diverged runs", "ablation.csv",
    csv([["Params (M)", "Tokens (B)", "LR", "Val loss"], *([f"{a / 1e6:g}", f"{b / 1e9:g}", "3e-4", c] for a, b, c in zip(n, d, text))]),
    t.rows(~np.isin(np.arange(20), [3, 11])))

t = crossed(418)
n, d, loss = t.points.values()
add("cells", "semicolons and decimal commas", "ergebnisse.csv",
    csv([["Parameter (Mio.)", "Tokens (Mrd.)", "Validierungsverlust"], *([f"{a / 1e6:g}", f"{b / 1e9:g}", comma(c, 3)] for a, b, c in zip(n, d, loss))], ";"), t)

t = crossed(419)
n, d, loss = t.points.values()
bpb = np.round(loss / np.log(2) / 4.3, 4)
add("cells", "bits per byte beside nats", "evals.csv",
    csv([["n_params", "n_tokens", "val_loss", "val_bpb"], *([int(a), int(b), c, v] for a, b, c, v in zip(n, d, loss, bpb))]), t)

c = np.geomspace(3e17, 3e20, 10)
loss = noisy(by_compute(c), 0.003, 420, 3)
add("cells", "FLOPs", "pareto.csv",
    csv([["FLOPs", "best val loss"], *([f"{a:.2e}", b] for a, b in zip(c, loss))]),
    Truth({"compute": np.array([float(f"{a:.2e}") for a in c]), "test_loss": loss}, float(by_compute(10 * c.max()))))

# --- models by name -------------------------------------------------------------------------------------

n = np.array([70e6, 160e6, 410e6, 1e9, 1.4e9, 2.8e9, 6.9e9, 12e9])
t = models(421, n)
wrong = noisy(0.2 + 20 * n**-0.2, 0.01, 431, 3)
add("names", "Pythia", "pythia_pile.csv",
    csv([["Model", "Pile loss", "LAMBADA acc"], *([f"EleutherAI/pythia-{short(a).lower()}", b, round(1 - v, 3)] for a, b, v in zip(n, t.points["test_loss"], wrong))]),
    t)

t = crossed(422)
n, d, loss = t.points.values()
add("names", "size and data in the name of a run", "sweep_results.csv",
    csv([["run_name", "final_val_loss"], *([f"N{short(a)}_D{short(b)}", c] for a, b, c in zip(n, d, loss))]), t)

# --- rows of several kinds ------------------------------------------------------------------------------

n = np.array([45e6, 124e6, 355e6, 774e6, 1.5e9, 3e9])
one, two = noisy(by_size(n), 0.003, 423, 3), noisy(1.12 * by_size(n), 0.003, 424, 3)
add("several kinds", "evaluation sets", "eval_long.csv",
    csv([["model", "params", "eval_set", "loss"], *([f"m{k}", short(a), s, v] for k, (a, b, c) in enumerate(zip(n, one, two)) for s, v in (("c4", b), ("wikitext", c)))]),
    None, ("eval_set", "wikitext"))
add("several kinds", "optimizers", "muon_vs_adamw.csv",
    csv([["opt", "n_params", "val_loss"], *(["adamw", int(a), b] for a, b in zip(n, two)), *(["muon", int(a), b] for a, b in zip(n, one))]),
    None, ("opt", "muon"))

# --- sheets ---------------------------------------------------------------------------------------------

t = crossed(425)
n, d, loss = t.points.values()
add("sheets", "a tracker of runs", "LM scaling - Sheet1.csv",
    csv([["Owner", "Run", "Params", "Tokens (B)", "Final loss", "Status", "Link", "Comments"],
         *(["anna" if k % 3 else "ben", f"exp{k:02d}", short(a), f"{b / 1e9:g}", v, "done", f"https://wandb.ai/x/{k}", "" if k % 5 else "restarted once"]
           for k, (a, b, v) in enumerate(zip(n, d, loss)))]), t)

t = models(426, np.array([12e6, 30e6, 85e6, 240e6, 600e6, 1.3e9]))
n, loss = t.points.values()
add("sheets", "two sheets", "results.xlsx",
    book(Readme=pd.DataFrame({"About": ["Dense models, 20B tokens each", "Contact: anna"]}),
         Results=pd.DataFrame({"Model": [*"ABCDEF"], "# Parameters": n.astype(int), "Validation loss": loss})), t)

t = crossed(427)
n, d, loss = t.points.values()
add("sheets", "comments above", "fineweb.csv",
    "# FineWeb-Edu scaling, AdamW, cosine\n# params in millions, tokens in billions\n" + csv([["params_M", "tokens_B", "flops", "loss"], *([f"{a / 1e6:g}", f"{b / 1e9:g}", f"{6 * a * b:.3e}", v] for a, b, v in zip(n, d, loss))]), t)

# --- other fields ---------------------------------------------------------------------------------------

hours = np.array([5.0, 10, 25, 50, 100, 250, 500, 1000])
wer = noisy(0.035 + 0.9 * hours**-0.5, 0.012, 428, 4)
add("fields", "speech", "asr.csv",
    csv([["hours of training data", "WER (%)"], *([f"{a:g}", f"{100 * b:.2f}"] for a, b in zip(hours, wer))]),
    Truth({"n_data": hours, "test_error": wer}, float(0.035 + 0.9 * 10000**-0.5)))

t = subsets(429, np.array([64.0, 128, 256, 512, 1024, 2048, 4096]), 5)
n, e = t.points.values()
add("fields", "folds of a learning curve", "learning_curve.csv",
    csv([["train_size", *(f"fold{k}_accuracy" for k in range(5))], *([int(a), *(round(1 - v, 4) for v in b)] for a, b in zip(n[::5], e.reshape(-1, 5)))]), t)

share = np.array([1.0, 2, 5, 10, 20, 50, 100])
images_seen = share / 100 * 1281167
err = noisy(0.18 + 40 * images_seen**-0.45, 0.01, 430, 4)
add("fields", "shares of ImageNet", "imagenet_subsets.csv",
    csv([["Subset", "Train images", "Top-1 (%)", "Top-5 (%)"], *([f"{s:g}%", round(a), f"{100 * (1 - b):.1f}", f"{100 * (1 - b / 3):.1f}"] for s, a, b in zip(share, images_seen, err))]),
    Truth({"n_data": np.round(images_seen), "test_error": np.round(err, 3)}, float(0.18 + 40 * 12811670**-0.45)))
