"""Thirty tables of a February: experiment managers, databases, prints, chats, theses, other sciences, pitfalls.

Written after the heads of other sets and before a look at what reads them; committed before the first of them was read.
A table with a truth and choices may be refused with these choices, too.
"""

import json

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
MODELS = np.array([15e6, 42e6, 110e6, 310e6, 870e6])
SHAPES = np.array([6_295_552.0, 18_915_328, 50_331_648, 151_011_328, 402_653_184])
TOKENS = np.array([1.2e9, 3.6e9, 11e9, 33e9])
SUBSETS = np.array([250.0, 600, 1500, 4000, 10000, 25000])
ATOMS = np.array([20.0, 50, 120, 300, 750, 1800])

def surface(seed, models=MODELS[:4], tokens=TOKENS, digits=4):
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, models, tokens, lambda n, d: 1.66 + 410 * n**-0.34 + 390 * d**-0.277, digits)

def family(seed, digits=4, models=SHAPES, repeats=1):
    """Losses by parameters."""
    return line(seed, np.repeat(models, repeats), 1.85, 52.0, 0.213, digits, 0.003, "n_params")

def subsets(seed, repeats=1, sizes=SUBSETS):
    """Errors by training examples."""
    return line(seed, np.repeat(sizes, repeats), 0.055, 3.2, 0.43)

# --- managers of experiments --------------------------------------------------------------------------------

t = surface(1201)
n, d, loss = columns(t)
add("managers", "DVC's table of experiments", "exp_show.csv",
    csv([["Experiment", "rev", "typ", "Created", "State", "metrics/val.json:val_loss", "params.yaml:model.params", "params.yaml:train.tokens", "params.yaml:train.lr", "data/shards"], *([f"fuzzy-{k}", f"a{k:06x}", "branch_commit", "2026-02-02T10:11:12", "Success", c, int(a), int(b), 0.0005, "e1f2a3"] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = family(1202)
n, loss = columns(t)
folder("managers", "Hydra's folders: a configuration and its metrics", {
    **{f"multirun/{k}/.hydra/config.yaml": f"model:\n  n_params: {int(a)}\n  d_model: {256 * (k + 1)}\noptim:\n  lr: 0.0003\nseed: 0\n" for k, a in enumerate(n)},
    **{f"multirun/{k}/metrics.json": json.dumps({"val_loss": float(c), "train_loss": float(round(c - 0.05, 4)), "wall_s": 100 * k + 17.5}) for k, c in enumerate(loss)}}, t)

t = subsets(1203, 3)
n, err = columns(t)
add("managers", "ClearML's compared tasks, a row a task", "clearml.csv",
    csv([["Task ID", "Name", "Status", "General/subset_size", "General/seed", "Args/lr", "accuracy:test (last)", "loss:train (last)", "Iteration"], *([f"{k:032x}", f"subset {int(a)} s{k % 3}", "Completed", int(a), k % 3, 0.01, f"{1 - c:.4f}", f"{0.0121:.4f}", 9000] for k, (a, c) in enumerate(zip(n, err)))]), t)

t = surface(1204, MODELS[:4], TOKENS[:3])
n, d, loss = columns(t)
add("managers", "Sacred's runs as an export of a database", "runs.json",
    json.dumps([{"_id": k, "experiment": {"name": "scale"}, "status": "COMPLETED", "config": {"n_layer": 4 + k // 3, "parameters": int(a), "tokens": int(b), "seed": 1}, "result": float(c), "info": {"metric": "val_loss"}} for k, (a, b, c) in enumerate(zip(n, d, loss))]), t, choices=("result",))

t = family(1205)
n, loss = columns(t)
steps = np.arange(0, 20001, 2000)
add("managers", "Comet's chart: x and y columns for each run", "chart.csv",
    csv([[w for a in n for w in (f"step - model_{short(round(a, -5))}", f"val_loss - model_{short(round(a, -5))}")], *([w for c in loss for w in (int(s), falling(float(c))[i])] for i, s in enumerate(steps))]), cases.Truth({"n_params": np.round(n, -5), "test_loss": loss}, t.ten_times))

# --- databases and prints -----------------------------------------------------------------------------------

t = surface(1206, MODELS[:3], TOKENS)
n, d, loss = columns(t)
add("prints", "a query's print in a terminal", "psql.txt",
    "scaling=> select * from finals order by 1, 2;\n run_id | model_params | tokens_trained | eval_ce \n--------+--------------+----------------+---------\n" + "".join(f" {k + 31:>6} | {int(a):>12} | {int(b):>14} | {c:>7.4f} \n" for k, (a, b, c) in enumerate(zip(n, d, loss))) + "(12 rows)\n\n", t)

t = subsets(1207, 2)
n, err = columns(t)
frame = pd.DataFrame({"n_train": n.astype(int), "seed": np.tile([0, 1], 6), "test_err": err}).set_index(["n_train", "seed"])
add("prints", "a frame of two indices printed", "out.txt", frame.to_string() + "\n", t)

t = family(1208)
n, loss = columns(t)
add("prints", "polars' print of a frame with its types", "polars.txt",
    "shape: (5, 3)\n┌─────────┬───────────┬──────────┐\n│ model   ┆ params    ┆ val_loss │\n│ ---     ┆ ---       ┆ ---      │\n│ str     ┆ i64       ┆ f64      │\n╞═════════╪═══════════╪══════════╡\n" + "".join(f"│ cfg_{k:<3} ┆ {int(a):>9} ┆ {c:>8.4f} │\n" for k, (a, c) in enumerate(zip(n, loss))) + "└─────────┴───────────┴──────────┘\n", t)

t = subsets(1209)
n, err = columns(t)
add("prints", "R's print of a data frame", "r.txt",
    "> print(results)\n      n   method test.error     se\n" + "".join(f"{k + 1} {int(a):>5}   ranger {c:>10.4f} {0.003 * c:.4f}\n" for k, (a, c) in enumerate(zip(n, err))), t)

t = surface(1210, MODELS[:4], TOKENS[:3])
n, d, loss = columns(t)
add("prints", "blocks of a launcher, a block a run", "launch.out",
    "".join(f"{'=' * 60}\nRUN {k + 1}/12  cfg=gpt_{short(a)}.yaml\n  model parameters : {int(a):,}\n  training tokens  : {b:.3e}\n  global batch     : 512\n  final train loss : {c - 0.04:.4f}\n  final val loss   : {c:.4f}\n  elapsed          : {k + 1}:12:09\n" for k, (a, b, c) in enumerate(zip(n, d, loss))), t)

t = subsets(1211)
n, err = columns(t)
add("prints", "Keras' bars under a heading for each size", "keras.log",
    "".join(f"--- training on {int(a)} samples ---\n" + "".join(f"Epoch {i + 1}/8\n{int(a) // 50}/{int(a) // 50} [==============================] - 1s 3ms/step - loss: {0.4 / (i + 1):.4f} - accuracy: 0.9{i}00 - val_loss: {v:.4f}\n" for i, v in enumerate(np.round(c + 0.3 * (7 - np.arange(8)) / 7, 4))) for a, c in zip(n, err)), t)

# --- chats and notes ----------------------------------------------------------------------------------------

t = family(1212, 3)
n, loss = columns(t)
add("notes", "numbers pasted in a chat", "slack.txt",
    "mira  10:42\nfinal numbers for the width sweep (val loss, nats/tok):\n" + "".join(f"• {short(round(a, -5))} params: {c:.3f}\n" for a, c in zip(n, loss)) + "omar  10:45\nnice, what about the 1B?\n", cases.Truth({"n_params": np.round(n, -5), "test_loss": loss}, t.ten_times))

t = surface(1213, MODELS[:3], TOKENS[:3], 3)
n, d, loss = columns(t)
add("notes", "a list in a list: models, then tokens", "notes.md",
    "# Sweep 3\n\n" + "".join(f"- **{short(a)}**\n" + "".join(f"  - {short(b)} tokens: val loss {c}\n" for b, c in zip(TOKENS[:3], r)) for a, r in zip(MODELS, loss.reshape(3, 3))), t)

t = subsets(1214)
n, err = columns(t)
add("notes", "one line a size in prose", "email.txt",
    "Hi all,\n\nhere are last night's results:\n\n" + "".join(f"With {int(a):,} training images the test error is {100 * c:.2f}%.\n" for a, c in zip(n, err)) + "\nBest,\nJ.\n", t)

# --- theses and papers --------------------------------------------------------------------------------------

t = surface(1215, MODELS[:3], TOKENS, 3)
n, d, loss = columns(t)
add("papers", "rows that span several lines", "tab.tex",
    "\\begin{table}\n\\begin{tabular}{l S S}\n\\toprule\n{Model} & {Tokens (\\num{1e9})} & {Loss} \\\\\n\\midrule\n" + "\\midrule\n".join("".join((f"\\multirow{{4}}{{*}}{{{short(a)}}}" if k == 0 else "") + f" & {b / 1e9:g} & {c:.3f} \\\\\n" for k, (b, c) in enumerate(zip(TOKENS, r))) for a, r in zip(MODELS, loss.reshape(3, 4))) + "\\bottomrule\n\\end{tabular}\n\\end{table}\n", t)

t = family(1216)
n, loss = columns(t)
add("papers", "the table transposed, values with their errors", "paper.csv",
    csv([["", *(f"Model {w}" for w in "ABCDE")], ["layers", 4, 6, 8, 12, 16], ["parameters / M", *(f"{a / 1e6:.6f}" for a in n)], ["validation loss", *(f"{c:.4f} ± 0.004" for c in loss)], ["training time / h", 1, 2, 5, 12, 40]]), t)

t = line(1217, np.array([3.0, 10, 30, 100, 300, 1000]) * 1e6, 1.33, 90.0, 0.36, 3, 0.003)
n, loss = columns(t)
add("papers", "reStructuredText, tokens of fine-tuning", "results.rst",
    "Results\n=======\n\n================  =========\nFine-tuning tokens  Eval loss\n".replace("================  =========", "==================  =========") + "==================  =========\n" + "".join(f"{int(a / 1e6):>5}M{'':12}  {c:.3f}\n" for a, c in zip(n, loss)) + "==================  =========\n", t)

# --- sheets -------------------------------------------------------------------------------------------------

t = subsets(1218, 3)
n, err = columns(t)
add("sheets", "a sheet for each seed", "seeds.xlsx",
    book(**{f"seed {s}": pd.DataFrame({"# train": n[::3].astype(int), "Test accuracy [%]": (100 * (1 - err[s::3])).round(2)}) for s in range(3)}), t)

t = surface(1219, MODELS[:4], TOKENS[:3])
n, d, loss = columns(t)
add("sheets", "French names, units and commas", "essais.csv",
    csv([["essai", "nb de paramètres (M)", "jetons (Md)", "perte de validation", "remarque"], *([k + 1, comma(a / 1e6, 1), comma(b / 1e9, 1), comma(float(c)), "" if k else "référence"] for k, (a, b, c) in enumerate(zip(n, d, loss)))], ";"), t, choices=("jetons",))

t = family(1220, repeats=2)
n, loss = columns(t)
add("sheets", "crossed-out runs marked in words", "width.csv",
    csv([["run", "N", "seed", "val loss", "keep?"], *([f"w{k}", int(a), k % 2, c, "y"] for k, (a, c) in enumerate(zip(n, loss))), ["w99", int(n[4]), 7, 6.91, "n - lr bug"]]), t, choices=("keep?",))

t = surface(1221, SHAPES[:4], TOKENS[:3])
n, d, loss = columns(t)
add("sheets", "tokens from steps and a stated batch, in a title", "grid.csv",
    "Batch size 0.5M tokens (524288) for all runs,,,\nmodel,params,steps,val loss\n" + "".join(f"m{k},{int(a)},{int(b / 524288)},{c}\n" for k, (a, b, c) in enumerate(zip(n, d, loss))), cases.Truth({"n_params": n, "n_data": np.floor(d / 524288) * 524288, "test_loss": loss}, t.ten_times), choices=("steps",))

# --- other sciences -----------------------------------------------------------------------------------------

t = line(1222, np.repeat(ATOMS, 2), 11.0, 410.0, 0.52, 2, 0.006)
n, err = columns(t)
add("sciences", "energies and forces, structures, ensembles", "mlip.csv",
    csv([["N_structures", "ensemble_member", "E_MAE_meV_per_atom", "val_E_RMSE_train"], *([int(a), k % 2, c, round(0.5 * c, 2)] for k, (a, c) in enumerate(zip(n, err)))]), t, choices=("E_MAE_meV_per_atom",))

t = line(1223, np.array([8.0, 32, 128, 512, 2048, 8192]) * 1e3, 0.12, 7.3, 0.35)
n, err = columns(t)
add("sciences", "one minus the correlation of held-out proteins", "plm.tsv",
    csv([["sequences", "heldout_1_minus_spearman", "gpu_hours"], *([f"{int(a / 1e3)}k", c, round(a / 2e4, 1)] for a, c in zip(n, err))], "\t"), t)

t = line(1224, np.array([1e6, 4e6, 16e6, 64e6, 256e6]), 0.37, 21.0, 0.29, 4, 0.003, "n_params")
n, loss = columns(t)
add("sciences", "a recommender's embedding parameters and log loss", "ctr.csv",
    csv([["embedding_dim", "total_params", "test_logloss", "test_auc"], *([8 * 2**k, int(a), c, round(0.81 - 0.1 * (c - 0.37), 4)] for k, (a, c) in enumerate(zip(n, loss)))]), t)

# --- pitfalls -----------------------------------------------------------------------------------------------

n, loss = columns(family(1225))
add("pitfalls", "two context lengths, as numbers", "context.csv",
    csv([["params", "ctx", "val_loss"], *([int(a), w, round(float(c) + m, 4)] for a, c in zip(n, loss) for w, m in ((1024, 0.0), (8192, -0.21)))]), choices=("ctx", "8192"))

n, loss = columns(subsets(1226))
add("pitfalls", "two tasks, a sheet each", "tasks.xlsx",
    book(cifar10=pd.DataFrame({"n_train": n.astype(int), "test_error": loss}), svhn=pd.DataFrame({"n_train": n.astype(int), "test_error": (0.45 * loss).round(4)})), choices=("cifar10", "svhn"))

n, loss = columns(subsets(1227))
add("pitfalls", "noise of labels as a number of percent", "noise.csv",
    csv([["examples", "label noise (%)", "test err"], *([int(a), p, round(float(c) + m, 4)] for p, m in ((0, 0.0), (10, 0.06), (30, 0.17)) for a, c in zip(n, loss))]), choices=("label noise", "30"))

t = family(1228)
n, loss = columns(t)
add("pitfalls", "early stopping: best and last beside each other", "best_last.csv",
    csv([["params", "best_val_loss", "last_val_loss", "best_step"], *([int(a), c, round(float(c) + 0.002 * k, 4), 9000 - 500 * k] for k, (a, c) in enumerate(zip(n, loss)))]), t, choices=("best_val_loss", "last_val_loss"))

n, loss = columns(family(1229))
add("pitfalls", "sizes with no unit that fit none", "size.csv",
    csv([["model_size", "val_loss"], *([f"{a / 1e6:.1f}", c] for a, c in zip(n, loss))]), family(1229), choices=("model_size",))

t = surface(1230)
n, d, loss = columns(t)
rows = [[int(a), int(b), c, 0] for a, b, c in zip(n, d, loss)]
rows[6][2:], rows[13][2:] = [11.04, 1], [10.82, 1]
add("pitfalls", "two runs that blew up, flagged, with numbers", "flags.csv",
    csv([["n_params", "n_tokens", "val_loss", "diverged"], *rows]), t.rows(~np.isin(np.arange(16), [6, 13])))
