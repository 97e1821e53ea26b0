"""Thirty tables of a June: students' loops, trackers' exports, papers, logs, results, sheets, other sciences, choices.

Written without a look at what reads them, and committed before the first of them was read.
Said beforehand: perplexity is read as its logarithm, percents as shares; bits per byte, BLEU, returns and errors with a
unit stay as written; hours of speech count as data; runs of one length are read by their ends; every seed is a point, where
seeds are given, and means are points where means are given; crashed and diverged runs do not count.
Changed after the first reading: BLEU is read in percent, as any score up to 100 is, and its truth is, too.
"""

import json

import numpy as np

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
LM = np.array([30e6, 90e6, 270e6, 810e6])
D = np.array([1e9, 4e9, 16e9, 64e9])

def surface(seed: int, models: np.ndarray = LM, tokens: np.ndarray = D, digits: int = 3) -> Truth:
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, models, tokens, lambda n, d: 1.72 + 380 * n**-0.335 + 430 * d**-0.285, digits)

def family(seed: int, models: list[float], digits: int = 4, y: str = "test_loss") -> Truth:
    """Losses by parameters, trained alike."""
    return line(seed, np.array(models), 1.85, 64.0, 0.225, digits, 0.003, "n_params", y)

def errors(seed: int, sizes: list[float], seeds: int = 1) -> Truth:
    """Shares of wrong answers by examples."""
    return line(seed, np.repeat(sizes, seeds), 0.035, 4.4, 0.42, 4, 0.012, y="test_error")

# --- students ---------------------------------------------------------------------------------------------------

t = line(2601, np.repeat([256.0, 512, 1024, 2048, 4096, 8192, 16384], 3), 0.08, 6.5, 0.48, 4, 0.015)
n, y = columns(t)
lost = [4, 13]
add("students", "teacher and student, three seeds, two runs diverged", "results_teacher_student.csv", csv([
    ["time", "n_train", "width", "depth", "seed", "lr", "train_loss", "test_loss", "diverged"],
    *([f"2026-06-{1 + k // 8:02d}T{9 + k % 8:02d}:12:40", int(a), 512, 3, k % 3, 0.05, *(("nan", "nan") if k in lost else (round(0.6 * c, 4), c)), k in lost] for k, (a, c) in enumerate(zip(n, y)))]), t.rows(~np.isin(np.arange(21), lost)))

t = errors(2602, [500, 1500, 5000, 15000, 50000], 4)
n, y = columns(t)
add("students", "a sheet with a column a seed, errors in percent", "fashion_cnn.xlsx", book([
    ["Fashion-MNIST, small CNN, test error in %", None, None, None, None], [None] * 5, ["n_train", "seed 0", "seed 1", "seed 2", "seed 3"],
    *([int(n[k]), *(round(100 * v, 2) for v in y[k:k + 4])] for k in range(0, 20, 4))]), t)

t = errors(2603, [1000, 2000, 5000, 10000, 20000, 50000])
n, y = columns(t)
add("students", "a German thesis in LaTeX, decimal commas and deviations", "tab_datenmenge.tex",
    "\\begin{table}[htb]\n  \\centering\n  \\caption{Mittlerer Testfehler des ResNet-18 auf CIFAR-10 in Abhängigkeit von der Anzahl der Trainingsbilder (5 Läufe, Mittelwert $\\pm$ Standardabweichung).}\n  \\label{tab:datenmenge}\n  \\begin{tabular}{rr}\n    \\toprule\n    Trainingsbilder & Testfehler [\\%] \\\\\n    \\midrule\n"
    + "".join(f"    {int(a) // 1000}\\,{int(a) % 1000:03d} & ${comma(100 * c, 2).replace(',', '{,}')} \\pm {comma(1.5 * c, 2).replace(',', '{,}')}$ \\\\\n" for a, c in zip(n, y))
    + "    \\bottomrule\n  \\end{tabular}\n\\end{table}\n", t)

t = line(2604, np.array([10e3, 30e3, 100e3, 300e3, 1.2e6]), 0.612, 5.1, 0.36, 5, 0.002)
n, y = columns(t)
add("students", "a Kaggle notebook's summary, a row for all of train.csv", "README.md",
    "# How much data does LightGBM need here?\n\nSame params everywhere (lr 0.03, 255 leaves), 5-fold CV on subsamples of `train.csv`.\n\n"
    + markdown(["rows used", "CV RMSE", "std over folds", "fit time"], [[f"{int(a):,}", f"{c:.5f}", f"{0.004 * c:.5f}", f"{a / 9000:.0f} s"] for a, c in zip(n, y)])
    + "\nThe last row is all of it. Diminishing returns, but not flat yet!\n", t)

t = errors(2605, [250, 1000, 4000, 16000, 64000], 2)
n, y = columns(t)
folder("students", "a JSON a run: config, history, test accuracy", {
    f"runs/{k:03d}_{['bold', 'calm', 'deep', 'keen', 'wise'][k // 2]}/result.json": json.dumps({"config": {"dataset": "eurosat", "n_train": int(a), "seed": k % 2, "arch": "resnet18", "lr": 0.001, "epochs": 40}, "history": {"train_loss": [1.9, 0.8, 0.3], "val_acc": [round(0.5 * (1 - c), 4), round(0.9 * (1 - c), 4), round(0.99 * (1 - c), 4)]}, "test_acc": round(1 - float(c), 4)}, indent=1)
    for k, (a, c) in enumerate(zip(n, y))}, t)

# --- trackers ---------------------------------------------------------------------------------------------------

t = surface(2606)
n, d, y = columns(t)
rows = [[f"{['amber', 'bright', 'cosmic', 'dandy'][k % 4]}-{['sky', 'river', 'moon', 'field'][k // 4]}-{k + 31}", "finished", "mira", "scaling-v3", f"2026-06-11T08:{3 * k:02d}:00Z", int(6 * a * b / 2e14), int(a), int(b), 0.1, "cosine", round(float(c) - 0.02, 3), c] for k, (a, b, c) in enumerate(zip(n, d, y))]
rows.insert(5, ["dainty-sun-77", "crashed", "mira", "scaling-v3", "2026-06-11T07:50:00Z", 412, 90000000, 16000000000, 0.1, "cosine", 6.911, 6.934])
add("trackers", "W&B's table of runs with a crashed one", "wandb_export_2026-06-14T10_22_31.csv",
    csv([["Name", "State", "User", "Tags", "Created", "Runtime", "model.n_params", "data.train_tokens", "optim.weight_decay", "optim.schedule", "train/loss", "val/loss"], *rows]), t)

t = family(2607, [19e6, 50e6, 125e6, 350e6, 760e6, 1.3e9])
n, y = columns(t)
names = [f"base-{short(a)}" for a in n]
curve = np.stack([falling(float(c), 21) for c in y])
add("trackers", "W&B's chart, a column a run and its envelope", "wandb_chart_eval_loss.csv", csv([
    ["Step", *(f"{v} - eval/loss{s}" for v in names for s in ("", "__MIN", "__MAX"))], *([500 * (k + 1), *np.repeat(curve[:, k], 3)] for k in range(21))]), t)

t = family(2608, [22e6, 60e6, 180e6, 500e6, 1.5e9])
n, y = columns(t)
folder("trackers", "TensorBoard's downloads, a file a run", {
    f"run-lm_{short(a)}_seed1-tag-val_loss.csv": csv([["Wall time", "Step", "Value"], *([round(1781000000.5 + 61.3 * i, 4), 1000 * (i + 1), v] for i, v in enumerate(falling(float(c), 16)))])
    for a, c in zip(n, y)}, t)

t = surface(2609, np.array([52e6, 210e6, 840e6]), np.array([2e9, 6e9, 18e9, 54e9]))
n, d, y = columns(t)
add("trackers", "Neptune's table of runs", "neptune_runs.csv", csv([
    ["Id", "Creation Time", "Owner", "State", "sys/tags", "parameters/model/params", "parameters/data/tokens", "parameters/optimizer/lr", "metrics/train/loss (last)", "metrics/val/loss (last)"],
    *([f"SCAL-{k + 118}", f"2026/06/0{1 + k // 4} 10:{k + 10}:09", "jonas", "Inactive", "grid", f"{a:.3g}", f"{b:.3g}", 0.0006, round(float(c) - 0.013, 3), c] for k, (a, b, c) in enumerate(zip(n, d, y)))]), t)

t = errors(2610, [1000, 3000, 9000, 27000, 81000], 3)
n, y = columns(t)
add("trackers", "Comet's JSON: parameters and metrics as lists of names", "comet_experiments.json", json.dumps([
    {"experimentKey": f"{7919 * (k + 3):032x}", "experimentName": f"plants_{k:02d}", "durationMillis": 90000 + 411 * k, "running": False,
     "parameters": [{"name": p, "valueCurrent": v} for p, v in (("train_examples", str(int(a))), ("seed", str(k % 3)), ("backbone", "vit_tiny"), ("lr", "0.0003"))],
     "metrics": [{"name": "train_accuracy", "valueCurrent": "0.9987"}, {"name": "test_accuracy", "valueCurrent": f"{1 - c:.4f}"}]} for k, (a, c) in enumerate(zip(n, y))], indent=2), t)

# --- logs -------------------------------------------------------------------------------------------------------

t = family(2611, [10.65e6, 29.9e6, 85.3e6, 244.1e6, 710.2e6])
n, y = columns(t)
folder("logs", "a log a model, as a small GPT's trainer prints", {
    f"logs/train_d{4 * (k + 1)}.log": f"[rank0] torch 2.7.1+cu126, world size 8\ntokens per iteration will be: 491,520\nnumber of parameters: {a / 1e6:.2f}M\nnum decayed parameter tensors: {8 * k + 26}\nusing fused AdamW: True\n"
    + "".join(f"step {500 * i}: train loss {v - 0.011:.4f}, val loss {v:.4f}\niter {500 * i}: loss {v + 0.02:.4f}, time {210 + 90 * k}.41ms, mfu 38.{k}2%\n" for i, v in enumerate(falling(float(c), 13)))
    + "saving checkpoint to out/ckpt.pt\n" for k, (a, c) in enumerate(zip(n, y))}, t)

t = surface(2612, np.array([40e6, 160e6, 640e6]), np.array([0.5e9, 2e9, 8e9, 32e9]))
n, d, y = columns(t)
add("logs", "grep of the last lines of a queue's outputs", "final_losses.txt", "$ grep -h 'FINAL' slurm-88*.out\n" + "".join(
    f"2026-06-19 0{k % 9}:4{k % 6}:11 INFO FINAL model=llama-{short(a)} params={int(a)} tokens={short(b)} steps={int(b / 524288)} val_loss={c:.3f} elapsed={6 * a * b / 4e17:.2f}h\n" for k, (a, b, c) in enumerate(zip(n, d, y))), t)

# --- papers -----------------------------------------------------------------------------------------------------

t = surface(2613, digits=4)
n, d, y = columns(t)
ppl = np.round(np.exp(y), 2)
t = Truth({"n_params": n, "n_data": d, "test_loss": np.log(ppl)}, t.ten_times)
add("papers", "perplexity by parameters and tokens, in Markdown", "appendix_c.md",
    "**Table 7.** Validation perplexity of all models. All runs use the same recipe; only size and number of training tokens change.\n\n"
    + markdown(["Params \\ Tokens", *map(short, D)], [[short(a), *(f"{v:.2f}" if v > ppl[:4 * k + 4].min() else f"**{v:.2f}**" for v in ppl[4 * k:4 * k + 4])] for k, a in enumerate(LM)]), t)

t = surface(2614, np.array([70e6, 160e6, 410e6, 1e9]), np.array([5e9, 20e9, 80e9]))
n, d, y = columns(t)
add("papers", "LaTeX with multirow, the dense runs of an appendix", "table_dense_runs.tex",
    "% auto-generated by make_tables.py\n\\begin{tabular}{@{}lrrc@{}}\n\\toprule\n\\textbf{Model} & \\textbf{Non-emb. params} & \\textbf{Tokens} & \\textbf{Val.\\ loss} $\\downarrow$ \\\\\n\\midrule\n"
    + "\\midrule\n".join("".join((f"\\multirow{{3}}{{*}}{{Dense-{short(a)}}} & \\multirow{{3}}{{*}}{{{short(a)}}}" if j == 0 else "&") + f" & {short(d[3 * k + j])} & {y[3 * k + j]:.3f} \\\\\n" for j in range(3)) for k, a in enumerate(n[::3]))
    + "\\bottomrule\n\\end{tabular}\n", t)

t = line(2615, np.array([12811.0, 64058, 128117, 320292, 640583, 1281167]), 0.17, 12.0, 0.35, 4, 0.008, y="test_error")
n, y = columns(t)
add("papers", "top-1 accuracy on shares of ImageNet, a footnote on the last", "imagenet_subsets.md",
    "ResNet-50, training length in steps kept fixed.\n\n" + markdown(["Images", "share of train", "Top-1 (%)"], [[f"{int(a):,}", f"{100 * a / 1281167:.0f}%", f"{100 * (1 - c):.2f}{'†' if k == 5 else ''}"] for k, (a, c) in enumerate(zip(n, y))])
    + "\n† mean of three runs, the others are one run each\n", t)

t = line(2616, np.array([1e17, 3e17, 1e18, 3e18, 1e19, 3e19, 1e20]), 1.73, 870.0, 0.149, 4, 0.003, "compute")
n, y = columns(t)
add("papers", "the compute frontier behind a figure", "fig3_left.tsv",
    "# data for Figure 3 (left): lowest loss at each training budget\n" + csv([["train_flops", "min_loss"], *([f"{a:.0e}", c] for a, c in zip(n, y))], "\t"), t)

# --- results ----------------------------------------------------------------------------------------------------

t = line(2617, np.array([31e6, 87e6, 160e6, 410e6, 1.01e9, 2.8e9]), 0.61, 20.5, 0.221, 4, 0.003, "n_params")
n, y = columns(t)
add("results", "bits per byte of checkpoints, nested JSON lines", "eval_pile.jsonl", "".join(json.dumps(
    {"model": f"pico-{short(a)}", "revision": "step143000", "config": {"non_embedding_params": int(a), "batch_size": 32, "device": "cuda:0"}, "results": {"pile_val": {"bits_per_byte": float(c), "bits_per_byte_stderr": 0.0021}}, "date": 1781500000 + k}) + "\n" for k, (a, c) in enumerate(zip(n, y))), t)

t = surface(2618, np.array([15e6, 60e6, 240e6]), np.array([0.3e9, 1.2e9, 4.8e9, 19.2e9]))
n, d, y = columns(t)
add("results", "a sweep's notebook in YAML, with a run that failed", "sweep.yaml", "project: tiny-scaling\nowner: ines\ndefaults: {optimizer: adamw, betas: [0.9, 0.95], context: 1024}\nruns:\n" + "".join(
    f"  - id: r{k:02d}\n    params: {a / 1e6:g}M\n    tokens: {b / 1e9:g}B\n    lr: 0.0008\n    status: done\n    val_loss: {c:.3f}\n" for k, (a, b, c) in enumerate(zip(n, d, y)))
    + "  - id: r12\n    params: 240M\n    tokens: 76.8B\n    lr: 0.0008\n    status: failed  # node went down\n    val_loss: null\n", t)

# --- sheets -----------------------------------------------------------------------------------------------------

t = surface(2619, np.array([33e6, 110e6, 330e6, 1.1e9]), np.array([1e9, 3e9, 10e9, 30e9, 100e9]))
y = columns(t)[2].reshape(4, 5)
add("sheets", "val loss, tokens down and model sizes across, two rows of heads", "grid_june.xlsx", book(**{"val loss": [
    ["Validation loss", "Model size (params)", None, None, None], ["Tokens", "33M", "110M", "330M", "1.1B"],
    *([f"{b}B", *map(float, y[:, j])] for j, b in enumerate((1, 3, 10, 30, 100)))]}), t)

t = surface(2620, np.array([48e6, 130e6, 390e6, 1.2e9]), np.array([2e9, 8e9, 32e9]))
n, d, y = columns(t)
add("sheets", "Chinese heads, millions and billions", "实验记录.csv", csv([
    ["编号", "模型", "参数量(百万)", "训练token数(十亿)", "学习率", "验证集损失", "备注"], *([k + 1, f"dense-{short(a)}", f"{a / 1e6:g}", f"{b / 1e9:g}", "3e-4", c, ""] for k, (a, b, c) in enumerate(zip(n, d, y)))]), t)

t = line(2621, np.array([1000.0, 2000, 4000, 8000, 16000]), 1.35, 70.0, 0.44, 3, 0.008)
n, y = columns(t)
curve = np.stack([np.round(float(c) + 5 * np.exp(-0.35 * np.arange(25)) * (24 - np.arange(25)) / 24, 3) for c in y])
add("sheets", "test RMSE by epoch, a column a training size", "rmse_by_epoch.csv",
    "Test RMSE (kcal/mol) per epoch;;;;;\n" + csv([["Epoch", *(f"N={int(a)}" for a in n)], *([k + 1, *curve[:, k]] for k in range(25))], ";"), t)

t = family(2622, [5.2e6, 14e6, 38e6, 101e6, 290e6])
n, y = columns(t)
add("sheets", "learning curves below each other", "curves_long.csv", csv([
    ["run_id", "n_params", "step", "split", "loss"],
    *([f"m{k}", int(a), 2000 * (i + 1), s, round(v - (0.03 if s == "train" else 0), 4)] for k, (a, c) in enumerate(zip(n, y)) for i, v in enumerate(falling(float(c), 12)) for s in ("train", "val"))]), t)

# --- other sciences ---------------------------------------------------------------------------------------------

t = line(2623, np.array([10.0, 30, 100, 300, 960]), 0.028, 1.35, 0.6, 4, 0.012, y="test_error")
n, y = columns(t)
add("sciences", "speech: hours and WER, French", "resultats_asr.csv", csv([
    ["Heures d'entraînement", "WER test (%)", "époques", "remarque"], *([int(a), comma(100 * c, 2), 60, "toutes les données" if a == 960 else ""] for a, c in zip(n, y))], ";"), t)

t = line(2624, np.array([50e3, 150e3, 450e3, 1.35e6, 4e6, 12e6]), 38.0, -290.0, 0.27, 2, 0.004, y="bleu")
n, y = columns(t)
add("sciences", "translation: sentence pairs and BLEU, Spanish", "resultados_es_eu.csv", csv([
    ["Pares de oraciones", "BLEU (test)", "Pasos"], *([int(a), f"{c:.2f}", 100000] for a, c in zip(n, y))]), t.times(0.01))

t = line(2625, np.array([0.1e6, 0.4e6, 1.6e6, 6.4e6, 25.6e6, 102.4e6]), 9200.0, -9e4, 0.25, 1, 0.006, "n_params", "return")
n, y = columns(t)
add("sciences", "agents: mean return by parameters, 200M frames each", "rl_model_scaling.csv", csv([
    ["agent", "params", "env_frames", "n_seeds", "mean_return", "ci95"], *([f"impala_x{4 ** k}", int(a), 200000000, 10, c, round(0.02 * c, 1)] for k, (a, c) in enumerate(zip(n, y)))]), t)

t = line(2626, np.array([100.0, 250, 600, 1500, 4000, 10000]), 11.0, 1450.0, 0.52, 1, 0.012)
n, y = columns(t)
add("sciences", "forces of an interatomic potential, meV/Å", "learning_curve_H2O.dat",
    "# MACE, liquid water, revPBE0-D3 labels; fixed test set of 1000 configurations\n# column 1: number of training configurations\n# column 2: force MAE on the test set [meV/A]\n" + "".join(f"{int(a):8d}  {c:10.1f}\n" for a, c in zip(n, y)), t)

t = line(2627, np.array([10e3, 40e3, 160e3, 640e3, 1.2e6]), 0.0125, 1.1, 0.4, 4, 0.01, y="test_error")
n, y = columns(t)
add("sciences", "jets: AUC by training jets", "toptag_auc.csv", csv([
    ["N_train_jets", "AUC", "AUC_err", "n_trainings"], *([int(a), f"{1 - c:.4f}", f"{0.02 * c:.5f}", 5] for a, c in zip(n, y))]), t)

# --- choices: to be asked back ----------------------------------------------------------------------------------

first, second = (columns(family(2628 + k, [25e6, 80e6, 250e6, 800e6])) for k in range(2))
add("choices", "losses on two corpora in one table", "two_corpora.csv", csv([["dataset", "n_params", "val_loss"],
    *(["c4", int(a), c] for a, c in zip(*first)), *(["pile", int(a), round(0.86 * c, 4)] for a, c in zip(*second))]), choices=("dataset", "pile"))

add("choices", "two optimisers, the same sizes", "muon_vs_adamw.md", "## Muon or AdamW?\n\n" + markdown(["optimizer", "params", "val loss"],
    [*(["AdamW", short(a), c] for a, c in zip(*first)), *(["Muon", short(a), round(0.965 * c, 4)] for a, c in zip(*second))]), choices=("optimizer", "Muon"))

hours = np.array([5.0, 15, 50, 150, 500])
add("choices", "error rates of two languages, German", "wer_sprachen.csv", csv([["Sprache", "Stunden", "WER (%)"],
    *([w, int(h), comma(100 * (a + b * h**-0.55), 1)] for w, a, b in (("Deutsch", 0.05, 1.1), ("Baskisch", 0.09, 1.9)) for h in hours)], ";"), choices=("Sprache", "Baskisch"))
