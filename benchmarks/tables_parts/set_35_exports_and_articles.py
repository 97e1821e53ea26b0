"""Thirty tables of an August: logs of trainers, exports of trackers, sheets, articles and messages, tables of other fields, choices.

Written without a look at what reads them, and committed before the first of them was read.
Said beforehand: perplexity is read as its logarithm, percents as shares, PF-days as FLOPs (8.64e19); hours of speech, cells and
interactions count as data; a figure in a log is that of held-out data where both are logged; runs of one length are read by
their ends; every seed is a point, and of a mean with its deviation the mean; FLOPs of a forward pass are not those of training;
failed and diverged runs do not count. Where kinds must not be pooled, a refusal that names the column and its values is right.
"""

import json
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

def surface(seed: int, models: list[float], tokens: list[float], digits: int = 3) -> Truth:
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, np.array(models), np.array(tokens), lambda n, d: 1.71 + 380 * n**-0.335 + 460 * d**-0.286, digits)

def family(seed: int, models: list[float], digits: int = 4) -> Truth:
    """Losses by parameters, trained alike."""
    return line(seed, np.array(models), 1.83, 62.0, 0.219, digits, 0.003, "n_params")

def errors(seed: int, sizes: list[float], seeds: int = 1, floor: float = 0.035, height: float = 4.1, slope: float = 0.4, digits: int = 4) -> Truth:
    """Shares of wrong answers by examples."""
    return line(seed, np.repeat(sizes, seeds), floor, height, slope, digits, 0.012, y="test_error")

# --- logs of trainers -------------------------------------------------------------------------------------------

t = family(3101, [29.94e6, 50.97e6, 85.05e6, 123.59e6, 353.77e6, 772.72e6])
n, y = columns(t)
folder("logs", "a student's nanoGPT: what was printed, a file a model", {
    f"out-d{width}/train.log": f"tokens per iteration will be: 491,520\nfound vocab_size = 50304 (inside data/openwebtext/meta.pkl)\nInitializing a new model from scratch\nnumber of parameters: {a / 1e6:.2f}M\nusing fused AdamW: True\ncompiling the model... (takes a ~minute)\n"
    + "".join(f"step {2000 * i}: train loss {v - 0.0212:.4f}, val loss {v:.4f}\n" + (f"saving checkpoint to out-d{width}\n" if i else "")
              + f"iter {2000 * i}: loss {v - 0.0212 + 0.03 * (-1) ** i:.4f}, time {21034.17 + 13 * i:.2f}ms, mfu {-100 if i == 0 else 38.2 + 0.1 * i:.2f}%\n"
              + "".join(f"iter {2000 * i + j}: loss {v - 0.0212 + 0.021 * (-1) ** (j // 10):.4f}, time {412.5 + j / 10:.2f}ms, mfu {38.4:.2f}%\n" for j in (10, 20, 30) if i < 10) for i, v in enumerate(falling(float(c), 11)))
    for width, a, c in zip((384, 512, 640, 768, 1024, 1280), n, y)}, t)

t = surface(3102, [70426624, 162322944, 405334016], [2e9, 6e9, 1.8e10])
n, d, y = columns(t)
folder("logs", "LitGPT's pretraining: three models, three budgets of tokens", {
    f"slurm-88{310 + k}.out": "Using bfloat16 Automatic Mixed Precision (AMP)\n"
    f"{{'data': {{'num_workers': 8, 'seed': 42}},\n 'devices': 8,\n 'eval': {{'final_validation': True, 'interval': 1000, 'max_iters': 100}},\n 'model_config': {{'block_size': 2048, 'n_layer': {(6, 12, 24)[k // 3]}}},\n 'seed': 42,\n"
    f" 'train': {{'global_batch_size': 512,\n           'log_interval': 100,\n           'lr_warmup_steps': 200,\n           'max_tokens': {int(b)},\n           'micro_batch_size': 16,\n           'min_lr': 4e-05}}}}\nSeed set to 42\nTime to instantiate model: 0.31 seconds.\nTotal parameters: {int(a):,}\n"
    "Verifying settings ...\nMeasured TFLOPs: 182.11\n"
    + "".join(f"Epoch 1 | iter {int(b / 262144 * i / 10)} step {int(b / 1048576 * i / 10)} | loss train: {v + 0.004 * (-1) ** i:.3f}, val: {'n/a' if i == 1 else f'{before:.3f}'} | iter time: {88.31 + i / 7:.2f} ms{' (step)' if i % 2 else ''} remaining time: {10 - i}:11:0{i % 10}\n"
              f"iter {int(b / 262144 * i / 10)}: val loss {v:.4f}, val time: {4120.55 + i:.2f} ms\n" for i, (before, v) in enumerate(zip(falling(float(c), 11), falling(float(c), 11)[1:]), 1))
    + f"Final evaluation | val loss: {c:.3f} | val ppl: {np.exp(c):.3f}\nTraining time: {3000 * (k % 3 + 1):.2f}s\nMemory used: 41.20 GB\n"
    for k, (a, b, c) in enumerate(zip(n, d, y))}, t)

t = family(3103, [76e6, 125311488, 303e6, 760e6, 1315950592])
n, y = columns(t)
folder("logs", "Composer's console, a file a model", {
    f"mpt-{s}-c4/logs-rank0.txt": f"2026-08-04 09:12:41,118: rank0[812][MainThread]: INFO: __main__: Building trainer...\n******************************\nConfig:\nn_gpus: 8\nn_params: {int(a)}\nglobal_train_batch_size: 256\nmax_seq_len: 2048\nmax_duration: 9600ba\nseed: 17\n******************************\n"
    + "".join(f"[batch={1200 * i}/9600]:\n\t Train time/batch: {1200 * i - 1}\n\t Train time/sample: {256 * (1200 * i - 1)}\n\t Train time/token: {2048 * 256 * (1200 * i - 1)}\n\t Train loss/train/total: {v + 0.0091:.4f}\n\t Train metrics/train/LanguageCrossEntropy: {v + 0.0091:.4f}\n\t Train throughput/tokens_per_sec: {9.1e5 / (i + 1):.4f}\n\t Train lr-DecoupledAdamW/group0: {6e-4 * (1 - i / 9):.6f}\n"
              f"[Eval batch=1/40] Eval on eval data\n[Eval batch=40/40] Eval on eval data:\n\t Eval metrics/eval/LanguageCrossEntropy: {v:.4f}\n\t Eval metrics/eval/LanguagePerplexity: {np.exp(v):.4f}\n" for i, v in enumerate(falling(float(c), 8), 1))
    for s, a, c in zip(("76m", "125m", "350m", "760m", "1b"), n, y)}, t)

t = line(3104, np.array([412331.0, 1236990, 3711102, 11132874, 33401027]), 0.81, 31.0, 0.3, 4, 0.004)
n, y = columns(t)
folder("logs", "Axolotl's LoRA runs, an epoch each, tokens as it counts them", {
    f"outputs/lora-{'abcde'[k]}/debug.log": f"[2026-08-06 22:0{k}:13,402] [DEBUG] [axolotl.normalize_config:84] [PID:7141] [RANK:0] bf16 support detected, enabling for this configuration.\n[2026-08-06 22:0{k}:51,117] [DEBUG] [axolotl.calculate_total_num_steps:297] [PID:7141] [RANK:0] total_num_tokens: {int(a):_}\n"
    + f"trainable params: 20,971,520 || all params: 7,262,703,616 || trainable%: 0.2888\n{{'loss': {c + 0.41:.4f}, 'grad_norm': 1.30224609375, 'learning_rate': 2e-05, 'epoch': 0.1}}\n"
    + "".join(f"{{'loss': {v - 0.0103:.4f}, 'grad_norm': 0.{612 + 7 * i}, 'learning_rate': {2e-4 * (1 - i / 4):.2e}, 'epoch': {i / 4}}}\n{{'eval_loss': {v:.4f}, 'eval_runtime': 38.{2214 + i}, 'eval_samples_per_second': 13.08, 'eval_steps_per_second': 1.648, 'epoch': {i / 4}}}\n" for i, v in enumerate(c * np.array([1.19, 1.08, 1.02, 1.0]), 1))
    + f"{{'train_runtime': {211.4 * 3 ** k:.4f}, 'train_samples_per_second': 5.31, 'train_steps_per_second': 0.66, 'train_loss': {c + 0.12:.4f}, 'epoch': 1.0}}\n"
    for k, (a, c) in enumerate(zip(n, y))}, t)

t = line(3105, np.array([1024.0, 4096, 16384, 65536, 262144]), 2.61, 9.4, 0.31, 4, 0.003)
n, y = columns(t)
folder("logs", "results of Hugging Face's run_clm, subsets of a corpus", {
    f"runs/subset{k}/all_results.json": json.dumps({"epoch": 3.0, "eval_loss": float(c), "eval_runtime": 12.8811, "eval_samples": 512, "eval_samples_per_second": 39.748, "eval_steps_per_second": 4.969, "perplexity": float(np.exp(c)),
        "train_loss": round(float(c) - 0.2213, 4), "train_runtime": round(61.3 * 4.0 ** k, 4), "train_samples": int(a), "train_samples_per_second": 50.11, "train_steps_per_second": 6.264}, indent=4) + "\n"
    for k, (a, c) in enumerate(zip(n, y))}, t)

t = family(3106, [53e6, 124e6, 355e6, 774e6, 1558e6], 3)
n, y = columns(t)
folder("logs", "MaxText on TPUs: what workers printed", {
    f"worker0_run{k}.log": f"Running Model: decoder_{k}\nSystem Information: Jax Version: 0.4.35\nSystem Information: Jax Backend: PJRT C API\nnumber parameters: {a / 1e9:.3f} billion\nPer train step:\n Total TFLOPs: {6 * a * 524288 / 1e12:.2f}\n"
    + "".join(f"completed step: {1000 * i - 1}, seconds: {0.41 * (k + 1):.3f}, TFLOP/s/device: {151.2 + i / 9:.3f}, Tokens/s/device: {39980.1 / (k + 1):.3f}, total_weights: 524288, loss: {v + 0.016:.3f}\n"
              f"eval metrics after step: {1000 * i - 1}, loss={v:.3f}, total_weights=41943040.0\n" for i, v in enumerate(falling(float(c), 12).round(3), 1))
    for k, (a, c) in enumerate(zip(n, y))}, t)

# --- exports ----------------------------------------------------------------------------------------------------

t = line(3107, np.array([5.72e6, 22.05e6, 38.88e6, 86.57e6, 304.33e6]), 0.12, 142.0, 0.45, 5, 0.004, "n_params", "test_error")
n, y = columns(t)
rows = [[f"vit_{s}_patch16_224.ours_in1k", 224, f"{100 - 100 * c:.3f}", f"{100 * c:.3f}", f"{100 - 21 * c:.3f}", f"{21 * c:.3f}", f"{a / 1e6:.2f}", 0.9, "bicubic"] for s, a, c in zip(("tiny", "small", "medium", "base", "large"), n, y)]
add("exports", "timm's results on ImageNet, one recipe", "results-imagenet.csv", csv([
    ["model", "img_size", "top1", "top1_err", "top5", "top5_err", "param_count", "crop_pct", "interpolation"], *rows[::-1]]), t)

t = family(3108, [19e6, 70e6, 160e6, 410e6, 1.4e9])
n, y = columns(t)
folder("exports", "TensorBoard's downloads of Keras runs, train and validation", {
    f"run-lm_{short(a)}_{part}-tag-epoch_loss.csv": csv([["Wall time", "Step", "Value"], *([f"{1786000000.25 + 86400 * k + 3600 * i:.4f}", i, round(float(v) - less, 4)] for i, v in enumerate(falling(float(c), 10)))])
    for k, (a, c) in enumerate(zip(n, y)) for part, less in (("train", 0.0317), ("validation", 0.0))}, t)

t = surface(3109, [45e6, 120e6, 350e6, 1.1e9], [2e9, 8e9, 3.2e10])
n, d, y = columns(t)
rows = [[f"proud-sky-{k + 11}", "finished", "-", "mira", "grid-v2", f"2026-08-0{1 + k // 4}T08:1{k % 4}:02.000Z", 3600 + 917 * k, "", 512, 0.0006, int(a), int(b), f"{c - 0.019:.3f}", f"{c:.3f}"] for k, (a, b, c) in enumerate(zip(n, d, y))]
rows.insert(6, ["glad-dust-17", "crashed", "node died, see proud-sky-17", "mira", "grid-v2", "2026-08-02T07:55:41.000Z", 402, "", 512, 0.0006, 350000000, 2000000000, "6.114", ""])
add("exports", "W&B's table of runs, one crashed", "wandb_export_2026-08-05T10_07_23.233+02_00.csv", "".join(
    ",".join(f'"{cell}"' for cell in row) + "\n" for row in [["Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "batch_size", "lr", "n_params", "train_tokens", "train/loss", "val/loss"], *rows[::-1]]), t)

t = family(3110, [25e6, 60e6, 150e6, 400e6, 1.1e9])
n, y = columns(t)
names, curves = [f"gpt-{short(a)}" for a in n], [falling(float(c), 16) for c in y]
add("exports", "a chart of W&B as CSV, with its __MIN and __MAX", "wandb_chart.csv", "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in [
    ["Step", *(f"{name} - val/loss{end}" for name in names[::-1] for end in ("", "__MIN", "__MAX"))],
    *([1000 * (i + 1), *(f"{curve[i]:.4f}" for curve in curves[::-1] for _ in range(3))] for i in range(16))]), t)

t = errors(3111, [500, 1500, 4500, 13500, 40500], 2)
tracked = list(zip(*columns(t)))

def tracking(path: Path) -> None:
    """MLflow's store of runs: ten that finished, and one that failed."""
    base = sqlite3.connect(path)
    base.executescript("""
        CREATE TABLE experiments (experiment_id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(256) NOT NULL, artifact_location VARCHAR(256), lifecycle_stage VARCHAR(32));
        CREATE TABLE runs (run_uuid VARCHAR(32) NOT NULL PRIMARY KEY, name VARCHAR(250), source_type VARCHAR(20), source_name VARCHAR(500), user_id VARCHAR(256), status VARCHAR(9), start_time BIGINT, end_time BIGINT, lifecycle_stage VARCHAR(20), artifact_uri VARCHAR(200), experiment_id INTEGER);
        CREATE TABLE params (key VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL, run_uuid VARCHAR(32) NOT NULL, PRIMARY KEY (key, run_uuid));
        CREATE TABLE metrics (key VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT NOT NULL, run_uuid VARCHAR(32) NOT NULL, step BIGINT DEFAULT 0 NOT NULL, is_nan BOOLEAN DEFAULT 0 NOT NULL);
        CREATE TABLE latest_metrics (key VARCHAR(250) NOT NULL, value FLOAT, timestamp BIGINT, step BIGINT NOT NULL, is_nan BOOLEAN NOT NULL, run_uuid VARCHAR(32) NOT NULL, PRIMARY KEY (key, run_uuid));
        INSERT INTO experiments VALUES (1, 'cifar-subsets', './mlruns/1', 'active');""")
    for k, (a, c) in enumerate([*tracked, (40500.0, None)]):
        run, began = f"{(k + 3) * 0x9E3779B97F4A7C15:032x}", 1786000000000 + 600000 * k
        base.execute("INSERT INTO runs VALUES (?,?,'LOCAL','train.py','jonas',?,?,?,'active',?,1)", (run, f"bold-hawk-{k}", "FAILED" if c is None else "FINISHED", began, began + 500000, f"./mlruns/1/{run}/artifacts"))
        base.executemany("INSERT INTO params VALUES (?,?,?)", [("n_train", str(int(a)), run), ("seed", str(k % 2), run), ("arch", "resnet18", run), ("lr", "0.1", run)])
        if c is not None:
            for step, value in ((29, c + 0.21), (59, c + 0.04), (89, c)):
                base.execute("INSERT INTO metrics VALUES ('test_error',?,?,?,?,0)", (round(float(value), 4), began + 5000 * step, run, step))
            base.execute("INSERT INTO latest_metrics VALUES ('test_error',?,?,89,0,?)", (float(c), began + 445000, run))
    base.commit()
    base.close()

add("exports", "MLflow's own store in SQLite, one run failed", "mlflow.db", tracking, t)

t = surface(3112, [33e6, 110e6, 340e6, 1.0e9], [3e9, 1.2e10, 4.8e10])
n, d, y = columns(t)
rows = [[f"LM-{k + 201}", f"grid_{k:02d}", f"2026-08-1{k // 4} 07:4{k % 10}:11+00:00", False, 5120.25 + 803 * k, int(a), int(b), 0.0005, round(float(c) - 0.022, 3), float(c)] for k, (a, b, c) in enumerate(zip(n, d, y))]
rows.insert(9, ["LM-213", "grid_08_try1", "2026-08-12 03:20:57+00:00", True, 640.5, 340000000, 48000000000, 0.0005, "", ""])
add("exports", "Neptune's table of runs, one failed", "neptune_runs.csv", csv([
    ["sys/id", "sys/name", "sys/creation_time", "sys/failed", "sys/running_time", "parameters/model/n_params", "parameters/data/train_tokens", "parameters/optim/lr", "metrics/train/loss", "metrics/val/loss"], *rows]), t)

t = family(3113, [3.2e6, 12.6e6, 50.3e6, 201e6, 805e6, 1.61e9])
n, y = columns(t)
add("exports", "Comet's experiments in JSON, lists of names and values", "comet_experiments.json", json.dumps([{
    "experimentKey": f"{(k + 5) * 0x9E3779B97F4A7C15:032x}", "experimentName": f"plum_gorilla_{1400 + 37 * k}", "projectName": "decoder-sizes", "durationMillis": 7200000 + 1800000 * k, "running": False,
    "parameters": [{"name": name, "valueMin": value, "valueMax": value, "valueCurrent": value} for name, value in (("batch_size", "256"), ("learning_rate", "0.0004"), ("num_params", str(int(a))), ("tokens", "15000000000"))],
    "metrics": [{"name": name, "valueMin": f"{low:.4f}", "valueMax": f"{high:.4f}", "valueCurrent": f"{low:.4f}", "stepCurrent": 28610} for name, low, high in (("train_loss", c - 0.0251, 10.8314), ("val_loss", c, 6.9127))],
} for k, (a, c) in enumerate(zip(n, y))], indent=2), t)

t = line(3114, np.array([10.0, 30, 100, 300, 960]), 0.028, 1.31, 0.58, 4, 0.01, y="test_error")
n, y = columns(t)
add("exports", "ClearML's answer to tasks.get_all: word error rates by hours", "tasks.json", json.dumps({"meta": {"endpoint": {"name": "tasks.get_all_ex", "actual_version": "2.30"}, "result_code": 200}, "data": {"tasks": [{
    "id": f"{(k + 9) * 0x9E3779B97F4A7C15:032x}", "name": f"conformer-ctc-{k}", "type": "training", "status": "completed", "created": f"2026-08-0{k + 2}T18:40:11.210000+00:00", "last_iteration": 120000,
    "hyperparams": {"Args": {name: {"section": "Args", "name": name, "value": value, "type": kind} for name, value, kind in (("train_hours", f"{a:g}", "float"), ("batch_bins", "16000000", "int"), ("lr", "0.0015", "float"))}},
    "last_metrics": {"2c8d": {"41fa": {"metric": "train", "variant": "ctc_loss", "value": round(1.1 * float(c) + 0.02, 4), "min_value": round(1.1 * float(c) + 0.018, 4), "max_value": 402.118}},
                     "b7e1": {"90cc": {"metric": "test", "variant": "wer", "value": float(c), "min_value": float(c), "max_value": 1.0}}}} for k, (a, c) in enumerate(zip(n, y))]}}, indent=1), t)

# --- sheets, articles, messages ---------------------------------------------------------------------------------

t = surface(3115, [60e6, 170e6, 500e6, 1.3e9], [4e9, 1.6e10, 6.4e10])
n, d, y = columns(t)
heads, best = [f"\\multirow{{3}}{{*}}{{{short(a)}}}" for a in n[::3]], f"\\mathbf{{{y[11]:.3f}}}"
add("articles", "LaTeX with a model over several rows, means and deviations", "tab_grid.tex",
    "\\begin{table*}[t]\n\\centering\n\\caption{Validation loss (nats per token), mean and standard deviation of three seeds.}\n\\label{tab:grid}\n\\begin{tabular}{lcc}\n\\toprule\n\\textbf{Parameters} & \\textbf{Tokens} & \\textbf{Val.~loss} $\\downarrow$ \\\\\n\\midrule\n"
    + "\\midrule\n".join("".join(f"{heads[g] if k == 0 else ''} & {short(d[3 * g + k])} & ${best if (g, k) == (3, 2) else f'{y[3 * g + k]:.3f}'}_{{\\pm {0.003 + 0.001 * k:.3f}}}$ \\\\\n" for k in range(3)) for g in range(4))
    + "\\bottomrule\n\\end{tabular}\n\\end{table*}\n", t)

t = surface(3116, [30e6, 90e6, 270e6, 810e6], [1e9, 4e9, 1.6e10])
n, d, y = columns(t)
add("sheets", "a French sheet: a title, units in a row of their own, a note below", "Bilan_aout.xlsx", book([
    ["Loi d'échelle – campagne d'août 2026", None, None, None], [None] * 4, ["Essai", "Paramètres", "Jetons d'entraînement", "Perte de validation"], [None, "(millions)", "(milliards)", "(nats/jeton)"],
    *([f"E{k + 1:02d}", a / 1e6, b / 1e9, float(c)] for k, (a, b, c) in enumerate(zip(n, d, y))), [None] * 4, ["Remarque : mêmes hyperparamètres partout, une seule graine.", None, None, None]]), t)

t = errors(3117, [250, 1000, 4000, 16000, 50000], 3, 0.04, 5.1, 0.41)
n, y = columns(t)
add("sheets", "a workbook: notes first, accuracies of three runs in the second sheet", "resnet_subsets.xlsx", book(
    notes=[["What", "CIFAR-10, ResNet-18, subsets of the training images"], ["Who", "Tereza"], ["Epochs", "as many steps as 200 epochs of all images"], ["Done", "2026-08-14"]],
    results=pd.DataFrame({"Training images": n[::3].astype(int), **{f"Test acc. run {k + 1} (%)": (100 - 100 * y[k::3]).round(2) for k in range(3)}})), t)

t = surface(3118, [19e6, 70e6, 160e6, 410e6, 1.4e9], [2e9, 8e9, 3.2e10, 1.28e11])
n, d, y = columns(t)
lost = {3: "–", 7: "–", 18: "div.", 8: "–"}
cells = [lost.get(k, f"{c:.3f}") for k, c in enumerate(y)]
add("articles", "a README's grid, cells empty or diverged", "README.md",
    "# tiny-scaling\n\nPretraining runs for the reading group. Code in `train.py`, configs in `configs/`.\n\n## Results\n\nValidation loss, rows are model sizes (parameters), columns are training tokens. `–` = not run, `div.` = diverged.\n\n"
    + markdown(["params \\ tokens", "2B", "8B", "32B", "128B"], [[f"**{short(n[4 * g])}**", *cells[4 * g:4 * g + 4]] for g in range(5)]) + "\n## Usage\n\n```bash\npython train.py configs/70m.yaml\n```\n",
    t.rows(np.array([k not in lost for k in range(20)])))

t = family(3119, [15e6, 40e6, 110e6, 300e6, 800e6], 3)
n, y = columns(t)
add("messages", "a message of Slack, the largest still running", "slack.txt",
    "Lena H.  10:42 AM\nquick update on the ladder, all on 20B tokens w/ the same recipe, final val loss:\n" + "".join(f"• {short(a)} params → {c:.3f}\n" for a, c in zip(n, y)) + "• 2B params → still running, eta thursday\n:eyes: 3  :tada: 1\n\nTomás  10:47 AM\nnice, looks like a line on log-log to me\n", t)

t = surface(3120, [22e6, 85e6, 302e6], [1e9, 3e9, 9e9, 2.7e10])
n, d, y = columns(t)
add("messages", "a frame of two indices as pandas prints it", "pivot.txt",
    pd.DataFrame({"n_params": n.astype(int), "train_tokens": d.astype(int), "val_loss": y, "hours": (n * d / 4e15).round(1)}).set_index(["n_params", "train_tokens"]).to_string() + "\n", t)

t = line(3121, np.array([0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0]) * 8.64e19, 1.72, 840.0, 0.149, 3, 0.003, "compute")
n, y = columns(t)
add("articles", "losses by compute in PF-days, semicolons", "frontier.csv", "# compute frontier, best run at each budget (August)\n" + csv([
    ["Training compute (PF-days)", "GPUs", "Test loss"], *([f"{a / 8.64e19:g}", g, f"{c:.3f}"] for a, g, c in zip(n, (1, 1, 4, 8, 8, 32, 64), y))], ";"), t)

# --- other fields and languages ---------------------------------------------------------------------------------

t = line(3122, np.array([2.6e6, 9.4e6, 20.1e6, 43.7e6, 68.2e6]), 0.41, 77.0, 0.4, 3, 0.003, "n_params", "test_error")
n, y = columns(t)
add("fields", "detectors: mAP by parameters, FLOPs of a forward pass beside", "detection.md", "### Detection (COCO val2017)\n\n" + markdown(
    ["Model", "size (pixels)", "mAP<sup>val 50-95</sup>", "Speed T4 (ms)", "params (M)", "FLOPs (B)"],
    [[f"[det-{s}](weights/det-{s}.pt)", 640, f"{100 * (1 - c):.1f}", f"{ms:.2f}", f"{a / 1e6:.1f}", f"{f:.1f}"] for s, a, c, ms, f in zip("nsmlx", n, y, (1.55, 2.46, 4.7, 7.71, 11.92), (6.5, 21.5, 68.0, 121.4, 194.9))]) + "\n- All models trained for 300 epochs from scratch with the same settings.\n", t)

t = errors(3123, [2500, 5000, 10000, 20000, 40000], 2)
n, y = columns(t)
add("fields", "an Italian thesis: points in thousands, commas in percents", "risultati_tesi.csv", csv([
    ["Esempi di addestramento", "Seme", "Errore sul test (%)", "Note"], *([f"{int(a):,}".replace(",", "."), k % 2, comma(100 * c, 2), "tutto il dataset" if a == 40000 else ""] for k, (a, c) in enumerate(zip(n, y)))], ";"), t)

t = surface(3124, [40e6, 130e6, 420e6], [2e9, 6e9, 1.8e10, 5.4e10])
n, d, y = columns(t)
add("fields", "a Chinese group's table, one run diverged", "实验记录.csv", csv([
    ["编号", "参数量(M)", "训练token数(B)", "学习率", "验证集损失", "备注"], *([k + 1, f"{a / 1e6:g}", f"{b / 1e9:g}", "6e-4", "NaN" if k == 5 else f"{c:.3f}", "发散" if k == 5 else ""] for k, (a, b, c) in enumerate(zip(n, d, y)))]),
    t.rows(np.arange(12) != 5))

t = line(3125, np.repeat([1e3, 5e3, 2e4, 1e5, 4e5], 3), 0.318, 4.6, 0.37, 4, 0.008)
n, y = columns(t)
add("fields", "single cells: R's write.csv with NA and 1e+05", "pert_benchmark.csv",
    '"","n.cells","rep","method","time.s","test.mse"\n' + "".join(f'"{k + 1}",{ {1e5: "1e+05", 4e5: "4e+05"}.get(a, int(a)) },{k % 3 + 1},"scvae",{a / 210:.1f},{c:.4f}\n' for k, (a, c) in enumerate(zip(n, y))) + '"16",4e+05,4,"scvae",NA,NA\n', t)

t = line(3126, np.array([1e5, 4e5, 1.6e6, 6.4e6, 2.56e7, 1.02e8]), 0.71, 3.9, 0.24, 4, 0.003, y="test_error")
n, y = columns(t)
add("fields", "a recommender: structured log lines, recall by interactions", "trainer.jsonl", "".join(
    json.dumps({"ts": f"2026-08-1{k}T02:00:04Z", "level": "info", "event": "heartbeat", "host": "ml-07"}) + "\n"
    + json.dumps({"ts": f"2026-08-1{k}T05:3{k}:51Z", "level": "info", "event": "evaluation", "host": "ml-07", "model": "two_tower", "n_interactions": int(a), "recall@20": round(float(1 - c), 4)}) + "\n" for k, (a, c) in enumerate(zip(n, y))), t)

# --- choices: to be asked back ----------------------------------------------------------------------------------

first, second = (columns(family(3127 + k, [31e6, 92e6, 276e6, 830e6, 2.5e9], 3)) for k in range(2))
add("choices", "two optimizers, JSON lines in the order in which they finished", "ladder.jsonl", "".join(
    json.dumps({"optimizer": name, "n_params": int(a), "tokens": 20000000000, "seed": 0, "val_loss": round(f * float(c), 3)}) + "\n"
    for pair in zip(zip(*first), zip(*second)) for name, f, (a, c) in zip(("adamw", "muon"), (1, 0.965), pair)), choices=("optimizer", "muon"))

hours = [10, 50, 100, 460, 960]
add("choices", "word error rates on two test sets", "wer.tsv", csv([["train_hours", "eval_set", "beam", "WER (%)"], *(
    [h, s, 8, f"{100 * (lo + up * h ** -0.55 * np.exp(0.01 * e)):.2f}"] for h, e in zip(hours, (0.4, -0.9, 1.1, -0.2, 0.3)) for s, lo, up in (("test-clean", 0.021, 1.1), ("test-other", 0.048, 2.3)))], "\t"), choices=("eval_set", "test-other"))

mixed = pd.DataFrame([(f"{name[0]}{k:02d}", name, int(a), 25_000_000_000, round(f * float(c), 3)) for name, f, rows in (("c4", 1, first), ("fineweb-edu", 0.93, second)) for k, (a, c) in enumerate(zip(*rows))],
    columns=["run_id", "train_corpus", "n_params", "n_tokens", "final_val_loss"])

def corpora(path: Path) -> None:
    """Runs on either corpus, each with its own held-out part."""
    mixed.to_parquet(path, index=False)

add("choices", "two corpora, each with its own held-out part, Parquet", "runs.parquet", corpora, choices=("train_corpus", "fineweb-edu"))

tokens = [1e9, 2e9, 4e9, 8e9, 1.6e10, 3.2e10]
cosine, stable = (columns(line(3129 + k, np.array(tokens), 2.31, 480.0, 0.31, 3, 0.003))[1] for k in range(2))
add("choices", "two schedules of the learning rate, a request to merge", "pr_412.md", "## Add warmup-stable-decay\n\nSame 160M model everywhere, only the schedule and the number of tokens change.\n\n" + markdown(
    ["Schedule", "Tokens", "Val loss", "ΔWSD"], [row for b, c, w in zip(tokens, cosine, stable) for row in (["cosine", short(b), f"{1.02 * c:.3f}", ""], ["WSD", short(b), f"{w:.3f}", f"{w - 1.02 * c:+.3f}"])]) + "\nLooks like a free win, will document in #415.\n", choices=("chedule", "WSD"))
