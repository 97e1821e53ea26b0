"""Thirty tables of an October: model cards, logs, trackers, archives, other programs' text, articles, sheets, fields, choices.

Written without a look at what reads them, and committed before the first of them was read.
Said beforehand: perplexity is read as its logarithm, percents as shares; of SRILM's two perplexities ppl counts, not ppl1; a figure
in a log is that of held-out data where both are logged; of a training that was stopped early the best test value that it names; runs
of one length are read by their ends; every seed and fold is a point, and of a value with its error the value; words, base pairs and
events count as data; tokens that are not given are steps times the tokens of a batch; 万 is 1e4; rows that are commented out, planned
or failed do not count. Where kinds must not be pooled, a refusal that names the column and its values is right.
"""

import io
import json
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

def loss(n: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The loss of a language model of n parameters after d tokens."""
    return 1.68 + 410 * n**-0.34 + 520 * d**-0.29

def surface(seed: int, models: list[float], tokens: list[float], digits: int = 3) -> Truth:
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, np.array(models), np.array(tokens), loss, digits)

def family(seed: int, models: list[float], digits: int = 4) -> Truth:
    """Losses by parameters, trained alike."""
    return line(seed, np.array(models), 1.79, 66.0, 0.224, digits, 0.003, "n_params")

def errors(seed: int, sizes: list[float], seeds: int = 1, floor: float = 0.04, height: float = 4.4, slope: float = 0.41, digits: int = 4) -> Truth:
    """Shares of wrong answers by examples."""
    return line(seed, np.repeat(sizes, seeds), floor, height, slope, digits, 0.012, y="test_error")

def power(value: float) -> str:
    """A number as a power of ten with raised digits."""
    mantissa, exponent = f"{value:.1e}".split("e+")
    return f"{mantissa} × 10" + str(int(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))

# --- logs -------------------------------------------------------------------------------------------------------

t = family(5101, [5e6, 15e6, 42e6, 110e6, 290e6])
n, y = columns(t)
files = {}
for a, c in zip(n, y):
    name = f"gpt-stories-{short(a)}-params"
    files[f"{name}/README.md"] = (f"---\nlibrary_name: transformers\nlicense: mit\ntags:\n- generated_from_trainer\nmodel-index:\n- name: {name}\n  results: []\n---\n\n# {name}\n\nThis model was trained from scratch on the stories dataset.\nIt achieves the following results on the evaluation set:\n- Loss: {c:.4f}\n\n"
        f"## Training procedure\n\n### Training hyperparameters\n\n- learning_rate: 0.0005\n- train_batch_size: 64\n- eval_batch_size: 64\n- seed: 42\n- lr_scheduler_type: cosine\n- lr_scheduler_warmup_steps: 500\n- num_epochs: 1\n\n### Training results\n\n"
        + markdown(["Training Loss", "Epoch", "Step", "Validation Loss"], [[f"{v - 0.0141:.4f}", f"{i / 8:.4f}", 2500 * i, f"{v:.4f}"] for i, v in enumerate(falling(float(c), 8), 1)]) + "\n\n### Framework versions\n\n- Transformers 4.56.0\n- Pytorch 2.8.0+cu128\n- Datasets 4.0.0\n")
folder("logs", "Hugging Face's cards that the trainer wrote, sizes in the names", files, t)

w = np.array([1e6, 3e6, 1e7, 3e7, 1e8])
ppl = np.round(np.exp(noisy(4.15 + 31.0 * w**-0.23, 0.002, 5102, 5)), 2)
add("logs", "SRILM's perplexities of a held-out file, below the words of training", "ppl.out", "".join(
    f"### train words: {int(a):,}\nfile heldout.txt: 4012 sentences, 98231 words, 0 OOVs\n0 zeroprobs, logprob= {-102243 * np.log10(p):.1f} ppl= {p:.2f} ppl1= {p ** (102243 / 98231):.2f}\n" for a, p in zip(w, ppl)),
    Truth({"n_data": w, "test_loss": np.log(ppl)}, float(4.15 + 31.0 * 1e9**-0.23)))

t = line(5103, np.array([4000.0, 16000, 64000, 256000, 1024000]), 0.311, 2.9, 0.33, 4, 0.003)
n, y = columns(t)
add("logs", "CatBoost on growing subsets, stopped early", "catboost.log", "".join(
    f"train rows: {int(a)}\n" + "".join(f"{i}:\tlearn: {v - 0.02:.4f}\ttest: {v:.4f}\tbest: {v:.4f} ({i})\ttotal: {0.021 * (i + 1) * 2**k:.2f}s\tremaining: {0.021 * (2000 - i) * 2**k:.0f}s\n" for i, v in ((0, 0.6815), (200, c + 0.06), (400, c + 0.011)))
    + f"Stopped by overfitting detector  (100 iterations wait)\n\nbestTest = {c:.4f}\nbestIteration = {431 + 140 * k}\n\nShrink model to first {432 + 140 * k} iterations.\n" for k, (a, c) in enumerate(zip(n, y))), t)

t = family(5104, [16394240, 40263680, 97112064, 236063744, 591396864])
n, y = columns(t)
folder("logs", "a JAX trainer: an overview of parameters, then its metrics", {
    f"xm-3810{k}/worker0.log": f"I1006 09:12:44.512034 139912 parameter_overview.py:264] \n+--------------------------+--------------+---------+------------+\n| Name                     | Shape        | Dtype   | Size       |\n+--------------------------+--------------+---------+------------+\n| params/Embed_0/embedding | (32000, {256 * (k + 1)}) | float32 | {32000 * 256 * (k + 1):,} |\n| params/Decoder_0/blocks  | ({4 * k + 4}, ...)    | float32 | {int(a) - 32000 * 256 * (k + 1):,} |\n+--------------------------+--------------+---------+------------+\nTotal: {int(a):,} -- {4 * int(a):,} bytes\n"
    + "".join(f"I1006 {i + 9}:02:10.100231 139912 logging_writer.py:48] [{2000 * i}] learning_rate=0.0006, steps_per_sec={5.2 - k:.2f}, train_loss={v - 0.0181:.4f}\nI1006 {i + 9}:03:51.771203 139912 logging_writer.py:48] [{2000 * i}] eval_loss={v:.4f}\n" for i, v in enumerate(falling(float(c), 10), 1))
    for k, (a, c) in enumerate(zip(n, y))}, t)

t = line(5105, np.repeat([250.0, 1000, 4000, 16000, 64000], 2), 0.031, 4.2, 0.49, 5, 0.012)
n, y = columns(t)
add("logs", "Julia's messages with their variables", "sweep.log", "".join(f"┌ Info: finished\n│   n_train = {int(a)}\n│   seed = {k % 2 + 1}\n│   epochs = 400\n│   train_loss = {0.21 * c:.5f}\n└   test_loss = {c:.5f}\n" for k, (a, c) in enumerate(zip(n, y))), t)

# --- trackers and archives --------------------------------------------------------------------------------------

t = surface(5106, [38e6, 115e6, 345e6, 1.03e9], [2e9, 9e9, 4e10])
n, d, y = columns(t)
add("trackers", "Aim's table of runs, a column a subset", "aim_runs.csv", csv([["Run Hash", "Run Name", "Experiment", "Creation Time", "Duration", "hparams.model.n_params", "hparams.data.tokens", "hparams.optim.lr", "loss [subset=train]", "loss [subset=val]"],
    *([f"{(k + 2) * 0x9E3779B97F4A7C15 % 2**64:016x}", f"Run: {k}", "grid-oct", f"2026-10-0{1 + k // 4} 09:1{k % 4}:20", f"{3 + k}h 12m", int(a), int(b), 0.0006, round(float(c) - 0.017, 3), float(c)] for k, (a, b, c) in enumerate(zip(n, d, y)))]), t)

t = family(5107, [21e6, 63e6, 190e6, 570e6, 1.7e9], 3)
n, y = columns(t)
add("trackers", "a database of Notion, one run going on and one planned", "Scaling runs 1f2e3d4c.csv", "\ufeff" + csv([["Name", "Status", "Owner", "Params", "GPU hours", "Final val loss", "Link"],
    *([f"ladder {k + 1}", "Done", "Priya", short(a), round(a / 4e5), f"{c:.3f}", ""] for k, (a, c) in enumerate(zip(n, y))), ["ladder 6", "In progress", "Priya", "5.1B", 4100, "", ""], ["ladder 7", "Not started", "", "15B", "", "", ""]]), t)

t = surface(5108, [60e6, 180e6, 540e6], [2e9, 8e9, 3.2e10, 1.28e11])
n, d, y = columns(t)
kept = list(zip(*columns(t)))

def joined(path: Path) -> None:
    """Models in one table of SQLite, their runs in another."""
    base = sqlite3.connect(path)
    base.executescript("""
        CREATE TABLE models (id INTEGER PRIMARY KEY, name TEXT, n_layer INTEGER, n_params INTEGER);
        CREATE TABLE runs (id INTEGER PRIMARY KEY, model_id INTEGER REFERENCES models(id), train_tokens INTEGER, lr REAL, finished_at TEXT, val_loss REAL);""")
    base.executemany("INSERT INTO models VALUES (?,?,?,?)", [(k + 1, name, layers, int(kept[4 * k][0])) for k, (name, layers) in enumerate((("small", 10), ("medium", 14), ("large", 20)))])
    base.executemany("INSERT INTO runs VALUES (?,?,?,?,?,?)", [(k + 1, k // 4 + 1, int(b), 6e-4, f"2026-10-{k + 2:02d} 08:00:00", float(c)) for k, (_, b, c) in enumerate(kept)])
    base.commit()
    base.close()

add("archives", "SQLite: models in one table, their runs in another", "scaling.db", joined, t)

t = errors(5109, [600, 2400, 9600, 38400], 3)
packed = io.BytesIO()
with zipfile.ZipFile(packed, "w") as archive:
    for k, (a, c) in enumerate(zip(*columns(t))):
        archive.writestr(zipfile.ZipInfo(f"results/run_{k:02d}.json"), json.dumps({"config": {"model": "wrn-16-4", "n_train": int(a), "seed": k % 3, "epochs": 200}, "train_error": 0.0, "test_error": float(c)}))
add("archives", "a zip of results, a JSON a run", "results.zip", packed.getvalue(), t)

t = errors(5110, [500, 2500, 12500, 62500, 312500], 4)
parts = {}
for a in dict.fromkeys(columns(t)[0]):
    pd.DataFrame({"seed": range(4), "epochs": 90, "test_error": columns(t)[1][columns(t)[0] == a]}).to_parquet(file := io.BytesIO(), index=False)
    parts[f"results/n_train={int(a)}/part-0.parquet"] = file.getvalue()
folder("archives", "Parquet in folders that carry the size", parts, t)

t = family(5111, [12e6, 42e6, 140e6, 460e6, 1.5e9], 3)
n, y = columns(t)
add("archives", "YAML with defaults that every run refers to, one out of memory", "ladder.yaml", "defaults: &defaults\n  optimizer: adamw\n  context: 2048\n  train_tokens: 10B\n\nruns:\n" + "".join(
    f"  - <<: *defaults\n    name: d{6 * k + 6}\n    params: {short(a)}\n    val_loss: {c:.3f}\n" for k, (a, c) in enumerate(zip(n, y))) + "  - <<: *defaults\n    name: d36\n    params: 4.9B\n    val_loss: null  # OOM on 8 GPUs\n", t)

# --- text of other programs -------------------------------------------------------------------------------------

t = line(5112, np.repeat([80.0, 200, 500, 1250, 3125], 3), 0.52, 7.8, 0.5, 3, 0.01)
n, y = columns(t)
add("programs", "a data frame that R writes as code", "dput.txt", f"> dput(res)\nstructure(list(n_train = c({', '.join(f'{int(a)}L' for a in n)}),\n    rep = c({', '.join(f'{k % 3 + 1}L' for k in range(15))}),\n    rmse_test = c({', '.join(f'{c:g}' for c in y)})),\n  class = \"data.frame\", row.names = c(NA, -15L))\n", t)

t = errors(5113, [1000, 3160, 10000, 31600, 100000, 316000])
n, y = columns(t)
add("programs", "a figure of Grace with its labels and errors", "learning.agr", "# Grace project file\n#\n@version 50125\n@with g0\n@    title \"Two-layer network, realizable teacher\"\n@    xaxes scale Logarithmic\n@    yaxes scale Logarithmic\n@    xaxis  label \"training examples\"\n@    yaxis  label \"test error\"\n@    s0 legend  \"width 512\"\n@target G0.S0\n@type xydy\n"
    + "".join(f"{int(a)} {c:.4f} {0.012 * c:.4f}\n" for a, c in zip(n, y)) + "&\n", t)

t = errors(5114, [100, 300, 900, 2700, 8100], 1, 0.02, 3.1, 0.5)
n, y = columns(t)
add("programs", "variables that Octave saved as text", "results.txt", "# Created by Octave 9.2.0, Fri Oct 09 11:20:41 2026 CEST\n" + "".join(f"# name: {name}\n# type: matrix\n# rows: 1\n# columns: 5\n {' '.join(f'{v:g}' for v in values)}\n\n\n" for name, values in (("n_train", n), ("test_error", y))), t)

# --- articles and messages --------------------------------------------------------------------------------------

t = surface(5115, [2.0e7, 1.2e8, 7.3e8], [1.0e9, 6.0e9, 3.6e10])
n, d, y = columns(t)
add("articles", "raised digits in Markdown", "supplement.md", "**Table S3.** Validation loss by number of parameters *N* and training tokens *D*.\n\n" + markdown(["N (parameters)", "D (tokens)", "Validation loss (nats)"], [[power(a), power(b), f"{c:.3f}"] for a, b, c in zip(n, d, y)]), t)

t = errors(5116, [500, 2000, 8000, 32000, 128000])
n, y = columns(t)
add("articles", "LaTeX: errors up and down behind the value, in percent", "tab_data.tex", "\\begin{tabular}{rl}\n\\hline\\hline\n$N_{\\mathrm{train}}$ & Test error (\\%) \\\\\n\\hline\n" + "".join(f"{f'{int(a):,}'.replace(',', chr(92) + ',')} & ${100 * c:.2f}^{{+{1.3 * c:.2f}}}_{{-{1.1 * c:.2f}}}$ \\\\\n" for a, c in zip(n, y)) + "\\hline\\hline\n\\end{tabular}\n", t)

t = family(5117, [9e6, 27e6, 81e6, 243e6, 729e6], 3)
n, y = columns(t)
add("articles", "reStructuredText: a table written as lists", "scaling.rst", "Model sizes\n===========\n\nAll models were trained on the same 12B tokens.\n\n.. list-table:: Validation loss\n   :header-rows: 1\n   :widths: 20 20 20\n\n   * - Name\n     - Parameters\n     - Validation loss\n" + "".join(f"   * - size-{k + 1}\n     - {short(a)}\n     - {c:.3f}\n" for k, (a, c) in enumerate(zip(n, y))), t)

t = surface(5118, [85e6, 302e6, 1.2e9], [5e9, 2e10, 8e10])
n, d, y = columns(t)
add("articles", "HTML: the model's cell goes over three rows", "grid.html", "<table>\n<thead><tr><th>Parameters</th><th>Tokens</th><th>Val loss</th></tr></thead>\n<tbody>\n" + "".join(
    "<tr>" + (f'<td rowspan="3">{short(a)}</td>' if k % 3 == 0 else "") + f"<td>{short(b)}</td><td>{c:.3f}</td></tr>\n" for k, (a, b, c) in enumerate(zip(n, d, y))) + "</tbody>\n</table>\n", t)

t = surface(5119, [40e6, 130e6, 430e6], [2e9, 8e9, 3.2e10])
n, d, y = columns(t)
add("messages", "a list of tasks, the last two not done", "issue_88.md", "## Grid for the October report\n\nFinal validation loss behind the arrow, please tick when the eval is in.\n\n" + "".join(f"- [x] {short(a)} params, {short(b)} tokens → {c:.3f}\n" for a, b, c in zip(n, d, y)) + "- [ ] 1.4B params, 8B tokens\n- [ ] 1.4B params, 32B tokens\n", t)

# --- sheets -----------------------------------------------------------------------------------------------------

t = surface(5120, [55e6, 160e6, 480e6, 1.45e9], [3e9, 1.2e10, 4.8e10])
n, d, y = columns(t)
beside = {0: ("lr", 0.0006), 1: ("warmup", "1 %"), 2: ("context", 2048), 3: ("schedule", "cosine to 10 %"), 5: ("questions to", "Amir")}
add("sheets", "settings at the left, the results beside them", "october.xlsx", book([["Scaling runs, October", None, None, None, None, None, None], [None] * 7, ["Settings", None, None, "Run", "Params (M)", "Tokens (B)", "Val loss"],
    *([*beside.get(k, (None, None)), None, f"o{k + 1:02d}", a / 1e6, b / 1e9, float(c)] for k, (a, b, c) in enumerate(zip(n, d, y)))]), t)

t = errors(5121, [1500, 6000, 24000, 96000], 3)
n, y = columns(t)
add("sheets", "Polish: spaces between thousands, commas in percents", "wyniki.csv", csv([["Liczba obrazów uczących", "Ziarno", "Liczba epok", "Błąd testowy [%]"], *([f"{int(a):,}".replace(",", "\u00a0"), k % 3, 60, comma(100 * c, 2)] for k, (a, c) in enumerate(zip(n, y)))], ";"), t)

t = errors(5122, [1e4, 4e4, 1.6e5, 6.4e5], 2, 0.05, 9.0, 0.38)
n, y = columns(t)
add("sheets", "Japanese: images in tens of thousands", "学習曲線.csv", csv([["学習画像数", "シード", "テスト誤り率(%)", "備考"], *([f"{a / 1e4:g}万枚", k % 2, f"{100 * c:.2f}", ""] for k, (a, c) in enumerate(zip(n, y)))]), t)

t = family(5123, [11e6, 33e6, 92e6, 270e6, 810e6, 2.4e9], 3)
n, y = columns(t)
rows = [f"{int(a)},{r},{c:.3f}" for a, r, c in zip(n, ("3e-3", "2e-3", "1e-3", "8e-4", "5e-4", "3e-4"), y)]
rows[3:3] = ["#92000000,4e-3,3.911  <- rate too high, run again above"]
add("sheets", "a row that was commented out", "widths.csv", "# val loss after 16B tokens, one run a size\nn_params,lr,val_loss\n" + "\n".join(rows) + "\n", t)

batch, steps = (2.5e5, 5e5, 1e6), (8000, 32000, 128000)
n, d = np.repeat([45e6, 150e6, 500e6], 3), np.array([b * s for b in batch for s in steps])
wide = np.geomspace(1e6, 1e13, 20001)
t = Truth({"n_params": n, "n_data": d, "test_loss": noisy(loss(n, d), 0.003, 5124, 3)}, float(loss(wide, 10 * float((n * d).max()) / wide).min()))
add("sheets", "steps, and the tokens of a batch", "steps.tsv", csv([["run", "params", "batch size (tokens)", "steps", "final val loss"], *([f"r{k + 1}", short(a), f"{batch[k // 3] / 1e6:g}M", steps[k % 3], f"{c:.3f}"] for k, (a, c) in enumerate(zip(n, t.points["test_loss"])))], "\t"), t)

# --- other fields -----------------------------------------------------------------------------------------------

t = line(5125, np.array([0.3e9, 1.2e9, 4.8e9, 19.2e9, 76.8e9, 300e9]), 1.04, 9.5, 0.2, 4, 0.001)
n, y = columns(t)
add("fields", "genomes: loss by billions of base pairs", "dna_lm.csv", csv([["Training sequence (Gbp)", "Updates", "Held-out loss (nats/bp)"], *([f"{a / 1e9:g}", 300000, f"{c:.4f}"] for a, c in zip(n, y))]), t)

t = line(5126, np.array([2e4, 8e4, 3.2e5, 1.28e6, 5.12e6]), 2.1, 310.0, 0.46, 3, 0.008)
n, y = columns(t)
add("fields", "a detector: errors of the vertex by events, in millimetres", "vertex_scan.json", json.dumps({"task": "vertex regression", "unit": "mm", "test_events": 200000, "points": [{"n_train_events": int(a), "test_rmse": float(c), "test_rmse_err": round(0.008 * float(c), 3)} for a, c in zip(n, y)]}, indent=1), t)

# --- choices: to be asked back ----------------------------------------------------------------------------------

m, quant = np.array([0.5e9, 1.5e9, 3e9, 7e9, 14e9]), (("fp16", 1.0), ("int4", 1.04))
add("choices", "weights of sixteen and of four bits", "ppl_quant.csv", csv([["model", "params", "weights", "wikitext2_ppl"], *([f"ours-{short(a)}", int(a), w, f"{np.exp(f * (1.5 + 40 * a**-0.19 * (1 + 0.004 * e))):.2f}"] for a, e in zip(m, (0.5, -0.9, 0.7, -0.2, 0.1)) for w, f in quant)]), choices=("weights", "int4"))

sizes = [5000, 20000, 80000, 320000, 1280000]
add("choices", "two resolutions of the images", "resolution.md", "### Does resolution change the slope?\n\n" + markdown(["Resolution", "Training images", "Top-1 error (%)"], [[w, f"{int(a):,}", f"{100 * (lo + 5.5 * a**-0.33 * (1 + 0.01 * e)):.1f}"] for w, lo in (("224px", 0.17), ("384px", 0.12)) for a, e in zip(sizes, (0.3, -0.8, 0.9, -0.4, 0.2))]), choices=("esolution", "384px"))

add("choices", "operators for two equations, JSON lines", "fno.jsonl", "".join(json.dumps({"pde": w, "n_train": a, "epochs": 500, "rel_l2_test": round(lo + h * a**-0.6 * (1 + 0.01 * e), 5)}) + "\n"
    for a, e in zip((64, 256, 1024, 4096, 16384), (0.6, -0.5, 0.8, -0.9, 0.1)) for w, lo, h in (("burgers", 0.0012, 0.21), ("navier-stokes", 0.011, 1.3))), choices=("pde", "navier-stokes"))

first, second = (columns(family(5130 + k, [24e6, 77e6, 240e6, 760e6, 2.4e9], 3)) for k in range(2))
add("choices", "two ways to encode positions", "positions.yaml", "tokens: 15B\nruns:\n" + "".join(f"  - {{position: {w}, params: {short(a)}, val_loss: {f * c:.3f}}}\n" for w, f, part in (("rope", 1, first), ("alibi", 1.03, second)) for a, c in zip(*part)), choices=("position", "alibi"))
