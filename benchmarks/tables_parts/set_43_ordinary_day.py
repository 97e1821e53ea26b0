"""Thirty tables of an ordinary day: students, laboratories, companies, sheets, notes, trackers, logs, fields, choices.

Written without a look at what reads them, and committed before the first of them was read.
Said beforehand: percents, word error rates and BLEU are shares; returns, errors without a percent sign and losses stay as written;
of nats and bits per byte side by side the nats are the loss; of a search over learning rates the best run of each size
counts; runs of one length are read by their ends; every seed is a point, a mean with its deviation is one; hours of speech,
sentence pairs and levels of a game count as data; failed, diverged and missing runs do not count.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

def grid(seed: int, models: list[float], tokens: list[float], digits: int = 3, floor: float = 1.71, slopes: tuple[float, float] = (0.33, 0.29)) -> Truth:
    """Losses of every model on every number of tokens."""
    a, b = slopes
    return cases.surface(seed, np.array(models), np.array(tokens), lambda n, d: floor + 0.62 * (n / 1e8) ** -a + 0.85 * (d / 1e9) ** -b, digits)

def family(seed: int, models: list[float], digits: int = 4, floor: float = 1.9, slope: float = 0.24, seeds: int = 1) -> Truth:
    """Losses by parameters, trained alike."""
    return line(seed, np.repeat(models, seeds), floor, 1.1 * 1e8**slope, slope, digits, 0.0025, "n_params")

def errors(seed: int, sizes: list[float], seeds: int = 1, floor: float = 0.05, height: float = 3.2, slope: float = 0.37, digits: int = 4) -> Truth:
    """Shares of wrong answers by examples."""
    return line(seed, np.repeat(sizes, seeds), floor, height, slope, digits, 0.012, y="test_error")

def pairs(truth: Truth) -> list[tuple[float, float]]:
    """The rows of a truth of one size."""
    x, y = columns(truth)
    return [*zip(x.tolist(), y.tolist(), strict=True)]

def triples(truth: Truth) -> list[tuple[float, float, float]]:
    """The rows of a truth of parameters and tokens."""
    n, d, y = columns(truth)
    return [*zip(n.tolist(), d.tolist(), y.tolist(), strict=True)]

def along(end: float, points: int) -> list[float]:
    """Losses of checkpoints, noisy but for the last."""
    jitter = 0.003 * np.random.default_rng(round(1e4 * end)).standard_normal(points - 1)
    return np.round(falling(end, points) * (1 + np.append(jitter, 0.0)), 4).tolist()

# --- laboratories -----------------------------------------------------------------------------------------------

t = grid(3101, [25e6, 85e6, 302e6, 1.2e9], [2e9, 6e9, 18e9, 54e9], 4)
add("laboratories", "a grid of runs with host, date and commit beside", "runs_final.csv", csv([
    ["run_id", "date", "host", "git_sha", "n_params", "n_tokens", "peak_lr", "batch_size", "gpu_hours", "final_val_loss"],
    *([f"r{k + 101}", f"2025-10-{3 + k:02d}", f"gpu{(5 * k) % 7 + 1:02d}", f"{(k + 3) * 0x1F3A7B5:07x}"[:7], int(n), int(d), "6e-4", 512, round(n * d / 1.1e17, 1), y] for k, (n, d, y) in enumerate(triples(t)))]), t)

t = grid(3102, [60e6, 190e6, 530e6, 1.5e9], [3e9, 1e10, 3e10, 1e11])
add("laboratories", "nested configurations in JSON lines", "results.jsonl", "".join(json.dumps({
    "exp": f"dense_{k:03d}", "git_sha": "9f31c0e", "config": {"model": {"n_layer": 12, "params": int(n), "act": "swiglu"}, "data": {"name": "fineweb-edu", "train_tokens": int(d)}, "optim": {"name": "adamw", "lr": 0.0004, "wd": 0.1}},
    "metrics": {"train": {"loss": round(y - 0.021, 3)}, "val": {"loss": y}}, "hours": round(n * d / 2e17, 1)}) + "\n" for k, (n, d, y) in enumerate(triples(t))), t)

def on_ladder(n: Array) -> Array:
    """The loss at twenty tokens a parameter, which is the best split of the compute."""
    return 1.75 + 2 * 300 * n**-0.31

n = np.array([52e6, 104e6, 210e6, 420e6, 850e6, 1.7e9, 3.4e9])
t = Truth({"n_params": n, "n_data": 20 * n, "test_loss": cases.noisy(on_ladder(n), 0.002, 3103, 3)}, float(on_ladder(np.sqrt(10) * n.max())))
add("laboratories", "a ladder at twenty tokens a parameter in a README", "README.md",
    "# scaling-ladder\n\nCompute-optimal runs (Chinchilla ratio, 20 tok/param). All with the same recipe, lr from the small-scale sweep.\n\n"
    + markdown(["Model", "Params", "Tokens", "FLOPs (6ND)", "Val loss"], [[f"ladder-{k}", short(a), short(b), f"{6 * a * b:.2e}", f"{y:.3f}"] for k, (a, b, y) in enumerate(triples(t))])
    + "\n## Usage\n\n`bash scripts/launch_ladder.sh`\n", t)

t = grid(3104, [10**7.5, 10**8.0, 10**8.5, 10**9.0], [10**9.5, 10**10.0, 10**10.5, 10**11.0], 4)
add("laboratories", "sizes as decadic logarithms", "scaling_points.tsv", csv([
    ["log10_N", "log10_D", "loss"], *([f"{np.log10(n):.1f}", f"{np.log10(d):.1f}", y] for n, d, y in triples(t))], "\t"), t)

t = family(3105, [44.6e6, 111.3e6, 256.8e6, 590.4e6, 1.316e9, 2.652e9])
add("laboratories", "nats and bits per byte side by side", "eval_summary.csv", csv([
    ["model_name", "params", "train_tokens", "val_loss (nats/token)", "val_bpb"],
    *([f"dense-{k + 1}", int(n), 26_000_000_000, y, f"{y / np.log(2) / 4.31:.4f}"] for k, (n, y) in enumerate(pairs(t)))]), t)

sizes, rates = [17e6, 51e6, 154e6, 460e6, 1.38e9], [1.25e-4, 2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3]
t = family(3106, sizes, 4, 2.02, 0.22)
rows, r = [], np.random.default_rng(31060)
for k, (n, y) in enumerate(pairs(t)):
    best = 4 - 0.5 * k  # place of the best rate in the grid
    at = round(best)
    for i, rate in enumerate(rates):
        loss = y * (1 + 0.006 * (i - best) ** 2 - 0.006 * (at - best) ** 2 + (0.002 + 0.0005 * r.standard_normal() if i != at else 0.0))
        rows.append([int(n), f"{rate:g}", 42, "nan" if rate == 4e-3 and k > 1 else f"{loss:.4f}", "diverged" if rate == 4e-3 and k > 1 else ""])
add("laboratories", "a search of the learning rate at every size, some diverged", "lr_sweep.csv", csv([["n_params", "lr", "seed", "val_loss", "note"], *rows]), t)

t = grid(3107, [100e6, 300e6, 1e9, 3e9], [4e9, 1.2e10, 3.6e10, 1.08e11], 3)
left = np.ones(16, bool)
left[[4, 10]] = False
cells: list[list[object]] = [["Validation loss, dense models (final checkpoint)", "", "", "", ""], ["params \\ tokens", "4B", "12B", "36B", "108B"]]
for i in range(4):
    cells.append([("100M", "300M", "1B", "3B")[i], *(float(columns(t)[2][4 * i + j]) if left[4 * i + j] else "diverged" if i == 1 else "NaN" for j in range(4))])
add("laboratories", "a sheet of models by tokens with diverged runs", "dense_grid.xlsx", book(cells), t.rows(left))

# --- trackers ---------------------------------------------------------------------------------------------------

t = family(3108, [13.4e6, 38.2e6, 97.5e6, 221.6e6, 503.3e6], 4, 2.1, 0.2, 2)
rows = [[f"{('stoic', 'lively', 'vague', 'sage', 'fresh')[k // 2]}-{('haze', 'sun')[k % 2]}-{k + 40}", "finished", f"2025-11-0{1 + k // 2}T09:{10 + k}:21.000Z", int(3000 + n / 2e4), "alice", 0.0006, int(n), k % 2 + 1, 19073, round(y - 0.03, 4), y] for k, (n, y) in enumerate(pairs(t))]
rows.insert(5, ["bumbling-moon-51", "crashed", "2025-11-03T10:02:11.000Z", 612, "alice", 0.0006, 97500000, 1, 1210, 4.8121, ""])
rows.insert(9, ["dark-dew-52", "failed", "2025-11-04T08:40:00.000Z", 31, "alice", 0.0006, 503300000, 2, "", "", ""])
add("trackers", "W&B's export of runs, two of which failed", "wandb_export_2025-11-08T10_22_31.csv",
    "".join(",".join("" if c == "" else f'"{c}"' for c in row) + "\n" for row in [["Name", "State", "Created", "Runtime", "User", "lr", "num_params", "seed", "_step", "train/loss", "val/loss"], *rows]), t)

t = family(3109, [3.2e6, 10.7e6, 25.3e6, 85.1e6, 201.5e6, 680e6], 4, 2.3, 0.19)
folder("trackers", "TensorBoard's files of scalars, sizes in the names", {
    f"run-lm_{n / 1e6:g}M-tag-loss_val.csv": csv([["Wall time", "Step", "Value"], *([1762300000.5 + 86400 * k + 300 * i, 2000 * i, v] for i, v in enumerate(along(y, 16)))])
    for k, (n, y) in enumerate(pairs(t))}, t)

t = errors(3110, [500, 1500, 5000, 15000, 50000], 3, 0.061, 3.4, 0.36)
rows = [[f"2025-11-{2 + k // 5:02d} 1{k % 5}:12:07", f"{8 + k}.2min", bytes(np.random.default_rng(k).integers(0, 256, 16).tolist()).hex(), f"resnet18-{int(n)}-s{k % 3}", "train.py", "mkumar", "FINISHED", 100, int(n), k % 3, f"{1 - 0.1 * e:.4f}", f"{1 - e:.4f}"] for k, (n, e) in enumerate(pairs(t))]
add("trackers", "MLflow's table of runs", "runs.csv", csv([["Start Time", "Duration", "Run ID", "Name", "Source Name", "User", "Status", "epochs", "n_train", "seed", "train_acc", "test_acc"], *rows]), t)

t = family(3111, [5.8e6, 16e6, 44e6, 122e6, 340e6], 4, 2.0, 0.21)
rows = []
for n, y in pairs(t):
    for i, v in enumerate(along(y, 10), 1):
        rows.append([f"cos-{short(n)}", int(n), 1000 * i, 1000 * i * 2**20, f"{3e-4 * (0.55 + 0.45 * np.cos(np.pi * i / 10)):.3e}", v])
add("trackers", "checkpoints along cosine runs of one length", "checkpoints.csv", csv([["run", "params", "step", "tokens", "lr", "val_loss"], *rows]), t)

# --- students ---------------------------------------------------------------------------------------------------

t = line(3112, np.repeat([50.0, 100, 200, 400, 800, 1600, 3200], 4), 0.011, 3.1, 0.62, 5, 0.02, y="test_error")
add("students", "a simulation of the perceptron", "perceptron_sim.csv", "# teacher-student perceptron, N=100, noise 0.05, 4 trials\n" + csv([
    ["N", "n_samples", "trial", "gen_error"], *([100, int(n), k % 4, f"{y:.5f}"] for k, (n, y) in enumerate(pairs(t)))]), t)

t = line(3113, np.repeat([16.0, 32, 64, 128, 256, 512, 1024], 3), 0.062, 1.9, 0.83, 4, 0.012, "width")
left = np.ones(21, bool)
left[16] = False
add("students", "test losses of an MLP by width, seeds in columns, one out of memory", "mnist_width.csv", csv([
    ["width", "test_loss_seed0", "test_loss_seed1", "test_loss_seed2"],
    *([int(columns(t)[0][3 * i]), *(f"{columns(t)[1][3 * i + j]:.4f}" if left[3 * i + j] else "OOM" for j in range(3))] for i in range(7))]), t.rows(left))

t = errors(3114, [1000, 3000, 10000, 30000, 60000], 5, 0.012, 2.1, 0.44)
y = columns(t)[1].reshape(5, 5)
add("students", "sizes of the training set in columns, a title above", "homework4_results.csv", "Test error of the CNN for different training set sizes,,,,,\n" + csv([
    ["seed", "1000", "3000", "10000", "30000", "60000"], *([s, *(f"{v:.4f}" for v in y[:, s])] for s in range(5))]), t)

t = errors(3115, [100, 300, 1000, 3000, 10000, 30000], 1, 0.08, 2.6, 0.34)
log = []
for n, e in pairs(t):
    log += [f"===== Training on {int(n)} images ====="]
    log += [f"Epoch {i:2d}/10 - loss: {2.3 * 0.72 ** i:.4f} - accuracy: {1 - e * (0.2 + 0.8 * 0.7 ** i):.4f} - val_loss: {2.4 * 0.8 ** i + e:.4f} - val_accuracy: {1 - e - 0.3 * 0.6 ** i:.4f}" for i in range(1, 11)]
    log += [f"Test accuracy: {1 - e:.4f}", ""]
add("students", "a script's log, a block for each size", "log.txt", "\n".join(log), t)

t = errors(3116, [200, 600, 2000, 6000, 20000], 3, 0.03, 2.2, 0.4)
nested: dict[str, dict[str, float]] = {}
for k, (n, e) in enumerate(pairs(t)):
    nested.setdefault(str(int(n)), {})[f"seed_{k % 3}"] = e
add("students", "a dictionary of sizes and seeds dumped to JSON", "test_error.json", json.dumps({"description": "test error vs number of training examples, MLP on FashionMNIST", "test_error": nested}, indent=2), t)

t = errors(3117, [500, 1000, 2000, 5000, 10000, 20000, 50000], 1, 0.07, 2.9, 0.35)
add("students", "a German sheet saved as CSV, accuracies in percent", "Ergebnisse_Bachelorarbeit.csv", "\ufeff" + csv([
    ["Modell", "Anzahl Trainingsbilder", "Epochen", "Trainingsgenauigkeit (%)", "Testgenauigkeit (%)"], *(["ResNet-18", int(n), 60, comma(100 - 5 * e, 2), comma(100 * (1 - e), 2)] for n, e in pairs(t))], ";"), t)

# --- notes ------------------------------------------------------------------------------------------------------

t = family(3118, [70e6, 160e6, 410e6, 1e9, 1.4e9, 2.8e9, 6.9e9], 3, 1.82, 0.25)
add("notes", "Pythias named by their size", "pythia_pile_eval.md", "Re-evaluated the final checkpoints (step143000) on our held-out Pile slice:\n\n" + markdown(
    ["Model", "Pile val loss"], [[f"Pythia-{short(n)}", f"{y:.3f}"] for n, y in pairs(t)]), t)

t = grid(3119, [50e6, 125e6, 350e6, 1.3e9], [5e8, 1.5e9, 5e9, 1.5e10], 2, 1.6, (0.36, 0.33))
add("notes", "units and deviations in the cells", "table1.md", "**Table 1.** Held-out loss, mean ± std over 3 seeds.\n\n" + markdown(
    ["Model size", "Training data", "Val. loss"], [[short(n), f"{short(d)} tokens", f"{y:.2f} ± 0.0{1 + k % 2}"] for k, (n, d, y) in enumerate(triples(t))]), t)

t = line(3120, np.array([1e19, 3e19, 1e20, 3e20, 1e21, 3e21, 1e22]), 0.13, 9.0e3, 0.235, 3, 0.006, "compute", "test_error")
add("notes", "accuracy of a task against training compute", "hellaswag_vs_compute.md", "HellaSwag (acc_norm, 10-shot) of our compute-optimal series\n\n" + markdown(
    ["name", "training FLOPs", "HellaSwag"], [[f"opt-series-{k}", f"{c:.0e}", f"{100 * (1 - e):.1f}%"] for k, (c, e) in enumerate(pairs(t))]), t)

# --- companies --------------------------------------------------------------------------------------------------

t = line(3121, np.array([2e6, 5e6, 2e7, 5e7, 2e8, 5e8]), 0.4312, 1.9, 0.28, 4, 0.0015)
add("companies", "log losses of a click model, rows in words", "ctr_data_ablation.csv", csv([
    ["experiment", "training rows", "days", "embedding_dim", "test logloss", "owner"], *([f"ctr_abl_{k}", f"{n / 1e6:g}M rows", d, 32, f"{y:.4f}", "jtan"] for k, (d, (n, y)) in enumerate(zip((1, 2, 7, 14, 60, 120), pairs(t), strict=True)))]), t)

t = errors(3122, [1000, 2500, 5000, 10000, 25000, 50000, 100000], 1, 0.045, 4.1, 0.4)

def percents(path: Path) -> None:
    """A title, a blank row, names, and shares shown as percents."""
    from openpyxl import Workbook

    made = Workbook()
    sheet = made.active
    sheet.title = "data scaling"
    sheet.append(["Defect classifier v3 - effect of labelled images"])
    sheet.append([])
    sheet.append(["# labelled images", "backbone", "annotation cost (USD)", "test accuracy", "comment"])
    for n, e in pairs(SHARES):
        sheet.append([int(n), "EfficientNet-B0", int(0.08 * n), round(1 - e, 4), "current production" if n == 25000 else None])
    for row in sheet.iter_rows(min_row=4, min_col=4, max_col=4):
        row[0].number_format = "0.00%"
    made.save(path)

SHARES = t
add("companies", "an Excel sheet with a title and cells in percent", "data_scaling_v3.xlsx", percents, t)

t = grid(3123, [150e6, 400e6, 1e9, 2.6e9], [1e10, 2.5e10, 6e10, 1.5e11])
add("companies", "parameters in millions, tokens in billions", "pretraining_runs_2025Q3.csv", csv([
    ["Run name", "Team", "Cluster", "Params (M)", "Tokens (B)", "Seq len", "GPU-hours", "Final eval loss", "Status"],
    *([f"pt-25q3-{k:02d}", "foundation", ("eu-west", "us-east")[k % 2], f"{n / 1e6:g}", f"{d / 1e9:g}", 4096, int(n * d / 9e16), f"{y:.3f}", "done"] for k, (n, d, y) in enumerate(triples(t)))]), t)

# --- fields -----------------------------------------------------------------------------------------------------

t = line(3124, np.repeat([100.0, 200, 500, 1000, 2000, 5000, 10000], 3), 9.6, -62.0, 0.42, 2, 0.008)
add("fields", "returns of a game with a maximum, by training levels", "coinrun_generalization.csv", "# CoinRun, PPO 200M frames, evaluated on 1000 unseen levels, max return 10\n" + csv([
    ["num_train_levels", "seed", "frames", "mean_test_return"], *([int(n), k % 3, "200M", f"{y:.2f}"] for k, (n, y) in enumerate(pairs(t)))]), t)

t = line(3125, np.array([10.0, 20, 50, 100, 200, 480, 960]), 0.028, 1.25, 0.52, 4, 0.01, y="test_error")
add("fields", "word error rates by hours of speech", "asr_results.tsv", csv([
    ["train_hours", "model", "LM", "WER dev-clean (%)"], *([int(n), "conformer-M", "none", f"{100 * e:.2f}"] for n, e in pairs(t))], "\t"), t)

t = line(3126, np.array([5e4, 1e5, 2.5e5, 5e5, 1e6, 2e6, 4.5e6]), 0.63, 8.8, 0.31, 4, 0.0025, y="test_error")
add("fields", "BLEU by sentence pairs", "bleu_ende.csv", csv([
    ["src-tgt", "sentence pairs", "steps", "BLEU (newstest2014)"], *(["en-de", {5e4: "50k", 1e5: "100k", 2.5e5: "250k", 5e5: "500k", 1e6: "1M", 2e6: "2M", 4.5e6: "4.5M"}[n], 100000, f"{100 * (1 - e):.2f}"] for n, e in pairs(t))]), t)

# --- choices: to be asked back ----------------------------------------------------------------------------------

first, second = (pairs(family(3127 + k, [30e6, 90e6, 270e6, 810e6, 2.4e9], 4, 1.95 - 0.03 * k, 0.23)) for k in range(2))
add("choices", "two optimizers in one table", "adamw_vs_muon.csv", csv([["optimizer", "n_params", "tokens", "lr", "val_loss"],
    *([name, int(n), 10_000_000_000, rate, y if name == "adamw" else round(0.985 * y, 4)] for a, b in zip(first, second, strict=True) for name, rate, (n, y) in (("adamw", 0.0006, a), ("muon", 0.02, b)))]), choices=("optimizer", "muon"))

first, second = (pairs(family(3129 + k, [45e6, 124e6, 350e6, 774e6, 1.5e9], 3, 1.9 - 0.5 * k, 0.22)) for k in range(2))
add("choices", "two training sets in one list of JSON", "results_by_corpus.json", json.dumps([
    {"model": f"gpt-{short(n)}", "params": int(n), "dataset": name, "epochs": 1, "val_loss": y} for name, rows in (("openwebtext", first), ("github-code", second)) for n, y in rows], indent=1), choices=("dataset", "github-code"))

kinds = {"scratch": pairs(errors(3131, [100, 300, 1000, 3000, 10000], 1, 0.06, 3.4, 0.31)), "imagenet": pairs(errors(3132, [100, 300, 1000, 3000, 10000], 1, 0.03, 0.8, 0.33))}
add("choices", "from scratch and pretrained, stacked in one sheet", "xray_finetuning.xlsx", book(pd.DataFrame(
    [[init, "densenet121", int(n), f"{100 * e:.1f}%"] for init, rows in kinds.items() for n, e in rows], columns=["init", "arch", "train images", "test error"])), choices=("init", "scratch"))

first, second = (pairs(family(3133 + k, [58e6, 140e6, 330e6, 790e6, 1.9e9], 3, 1.7 + 0.35 * k, 0.2 + 0.05 * k)) for k in range(2))
add("choices", "losses on two corpora, a column each", "heldout.csv", csv([["model", "n_params", "loss_c4", "loss_wikitext"],
    *([f"m{k}", int(a[0]), a[1], b[1]] for k, (a, b) in enumerate(zip(first, second, strict=True)))]), choices=("loss_c4", "loss_wikitext"))
