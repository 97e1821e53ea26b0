"""Thirty tables of a July: statisticians, notebooks, folders of trainers, archives, logs, articles, other fields, choices.

Written without a look at what reads them, and committed before the first of them was read.
Said beforehand: perplexity is read as its logarithm, percents as shares; FID, MASE, NDCG and errors with a unit stay as
written; hours of speech, patients and demonstrations count as data; runs of one length are read by their ends; every seed is
a point; tokens that are not given are iterations times sequences times their length; failed runs do not count.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

def surface(seed: int, models: list[float], tokens: list[float], digits: int = 3) -> Truth:
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, np.array(models), np.array(tokens), lambda n, d: 1.66 + 420 * n**-0.342 + 390 * d**-0.277, digits)

def family(seed: int, models: list[float], digits: int = 4) -> Truth:
    """Losses by parameters, trained alike."""
    return line(seed, np.array(models), 1.78, 55.0, 0.213, digits, 0.003, "n_params")

def errors(seed: int, sizes: list[float], seeds: int = 1, floor: float = 0.042, height: float = 3.6, slope: float = 0.39, digits: int = 4) -> Truth:
    """Shares of wrong answers by examples."""
    return line(seed, np.repeat(sizes, seeds), floor, height, slope, digits, 0.012, y="test_error")

# --- statisticians and notebooks --------------------------------------------------------------------------------

t = errors(2701, [120, 300, 750, 1900, 4800, 12000])
n, y = columns(t)
add("notebooks", "a learning curve of scikit-learn, means and deviations", "learning_curve_svm.csv", csv([
    ["train_size", "train_acc_mean", "train_acc_std", "test_acc_mean", "test_acc_std", "fit_time_mean"],
    *([int(a), 0.9981, 0.0004, f"{1 - c:.4f}", f"{0.03 * c:.4f}", round((a / 4000) ** 2, 3)] for a, c in zip(n, y))]), t)

t = line(2702, np.repeat([1000.0, 4000, 16000, 64000, 256000], 2), 0.214, 7.7, 0.44, 4, 0.008)
n, y = columns(t)
frame = pd.DataFrame({"model": "xgboost", "n_train": n.astype(int), "seed": [k % 2 for k in range(10)], "train_logloss": (0.8 * y).round(4), "val_logloss": y})
add("notebooks", "a data frame as a notebook prints it", "cell_42.txt", frame.to_string() + "\n", t)

t = line(2703, np.repeat([50.0, 150, 500, 1500, 5000], 4), 0.83, 9.5, 0.5, 4, 0.012)
n, y = columns(t)
add("notebooks", "R's write.csv2 of a simulation", "simulation.csv",
    '"";"n";"rep";"methode";"rmse_test"\n' + "".join(f'"{k + 1}";{int(a)};{k % 4 + 1};"ranger";{comma(c)}\n' for k, (a, c) in enumerate(zip(n, y))), t)

t = errors(2704, [600, 1800, 6000, 18000, 60000], 3)
n, y = columns(t)
add("notebooks", "a Japanese laboratory's sheet, errors in percent", "実験結果.csv", csv([
    ["学習データ数", "シード", "エポック数", "誤り率(%)"], *([int(a), k % 3, 100, f"{100 * c:.2f}"] for k, (a, c) in enumerate(zip(n, y)))]), t)

t = family(2705, [1.2e6, 4.7e6, 18.9e6, 75.5e6, 302e6], 3)
n, y = columns(t)
add("notebooks", "a table of Org mode", "notes.org",
    "#+TITLE: width scaling, char-level\n* <2026-07-06 Mon> all five done\nAll on the same 10B characters, lr transferred with muP.\n#+NAME: tab-width\n| width | params | val loss | hours |\n|-------+--------+----------+-------|\n"
    + "".join(f"| {256 * 2 ** k:5d} | {a / 1e6:5.1f}M | {c:8.3f} | {0.4 * 3 ** k:5.1f} |\n" for k, (a, c) in enumerate(zip(n, y))) + "\nTODO one more doubling when the queue is shorter.\n", t)

t = line(2706, np.array([25e3, 75e3, 250e3, 750e3, 2.5e6, 7.4e6]), 0.388, 3.4, 0.33, 4, 0.003)
n, y = columns(t)
add("notebooks", "what a Kaggle notebook printed", "output.log", "Loading train.parquet ... 7,400,000 rows, 61 columns\n" + "".join(
    f"[{k + 1}/6] train rows: {int(a):>9,} | best iteration {180 + 140 * k} | valid logloss {c:.4f} | {a / 7000:.0f}s\n" for k, (a, c) in enumerate(zip(n, y))) + "done.\n", t)

# --- folders of trainers ----------------------------------------------------------------------------------------

t = errors(2707, [500, 2000, 8000, 32000], 2)
n, y = columns(t)
t = Truth({"n_data": n, "test_loss": (5 * y).round(4)}, 5 * t.ten_times)
files = {}
for k, (a, c) in enumerate(zip(*columns(t))):
    files[f"lightning_logs/version_{k}/hparams.yaml"] = f"batch_size: 64\nhidden: 256\nlr: 0.001\nn_train: {int(a)}\nseed: {k % 2}\n"
    files[f"lightning_logs/version_{k}/metrics.csv"] = csv([["epoch", "step", "train_loss", "val_loss"],
        *(row for i, v in enumerate(falling(float(c), 10)) for row in ([i, 500 * i + 499, "", v], [i, 500 * i + 499, round(0.8 * v, 4), ""]))])
folder("trainers", "Lightning's logs, sizes in the hyper-parameters", files, t)

t = family(2708, [14e6, 31e6, 70e6, 160e6, 410e6, 1.4e9])
n, y = columns(t)
folder("trainers", "Hugging Face's trainer states, sizes in the folders", {
    f"neox-{short(a).lower()}/trainer_state.json": json.dumps({"best_metric": None, "epoch": 1.0, "global_step": 12000, "is_world_process_zero": True, "log_history": [
        e for i, v in enumerate(falling(float(c), 12)) for e in ({"epoch": round((i + 1) / 12, 3), "grad_norm": 0.4, "learning_rate": round(6e-4 * (1 - i / 12), 6), "loss": round(v - 0.02, 4), "step": 1000 * (i + 1)},
        {"epoch": round((i + 1) / 12, 3), "eval_loss": v, "eval_runtime": 61.2, "eval_samples_per_second": 163.4, "step": 1000 * (i + 1)})], "max_steps": 12000, "num_train_epochs": 1}, indent=2)
    for a, c in zip(n, y)}, t)

t = line(2709, np.repeat([300.0, 900, 2700, 8100, 24300], 2), 0.12, 6.1, 0.46, 4, 0.012)
n, y = columns(t)
folder("trainers", "Hydra's multirun, sizes in the overrides", {
    f"multirun/2026-07-02/14-31-07/n_train={int(a)},seed={k % 2}/metrics.json": json.dumps({"train_loss": round(0.4 * float(c), 4), "test_loss": float(c), "epochs": 200})
    for k, (a, c) in enumerate(zip(n, y))}, t)

t = errors(2710, [1000, 2500, 6000, 15000, 40000], 3)
n, y = columns(t)
rows = [[f"{(k + 7) * 0x9E3779B1:032x}", "4", "FINISHED", f"2026-07-0{1 + k // 6} 08:{10 + k}:00", round(0.2 * c, 4), c, int(a), k % 3, "wide_resnet", f"sedate-crab-{k}"] for k, (a, c) in enumerate(zip(n, y))]
rows.insert(7, [f"{0xABCDEF0123:032x}", "4", "FAILED", "2026-07-02 11:59:00", "", "", 15000, 2, "wide_resnet", "nosy-swan-77"])
add("trainers", "MLflow's search of runs, one failed", "mlflow_runs.csv",
    csv([["run_id", "experiment_id", "status", "start_time", "metrics.train_error", "metrics.test_error", "params.n_train", "params.seed", "params.arch", "tags.mlflow.runName"], *rows]), t)

t = surface(2711, [35e6, 120e6, 420e6, 1.4e9], [3e9, 1.2e10, 4.8e10])
n, d, y = columns(t)
runs = [{"id": f"{k * 7919 + 46656:x}", "name": f"grid-{k}", "state": "finished", "config": {"n_params": int(a), "train_tokens": int(b), "lr": 0.0006, "seq_len": 2048}, "summary": {"_runtime": 4000 + 97 * k, "train_loss": round(float(c) - 0.015, 3), "val_loss": float(c)}} for k, (a, b, c) in enumerate(zip(n, d, y))]
runs.insert(4, {"id": "zz9", "name": "grid-4b", "state": "failed", "config": {"n_params": 120000000, "train_tokens": 12000000000, "lr": 0.0006, "seq_len": 2048}, "summary": {"_runtime": 77, "train_loss": 9.81}})
add("trainers", "runs fetched from W&B, configuration and summary", "runs.json", json.dumps(runs, indent=1), t)

# --- archives ---------------------------------------------------------------------------------------------------

t = surface(2712, [60e6, 180e6, 540e6, 1.6e9], [4e9, 1.6e10, 6.4e10, 2.56e11], 4)
n, d, y = columns(t)
kept = pd.DataFrame({"run": [f"s{k:03d}" for k in range(16)], "model_params": n.astype(int), "train_tokens": d.astype(int), "finished": pd.Timestamp("2026-07-01") + pd.to_timedelta(np.arange(16), unit="h"), "val_loss": y})

def parquet(path: Path) -> None:
    """The runs in columns."""
    kept.to_parquet(path, index=False)

add("archives", "a laboratory's runs in Parquet", "runs.parquet", parquet, t)

t = errors(2713, [64, 256, 1024, 4096, 16384], 5, 0.01, 2.2, 0.5)
arrays = {"n_train": columns(t)[0][::5], "test_err": columns(t)[1].reshape(5, 5), "epochs": np.array(300)}

def zipped(path: Path) -> None:
    """Sizes, and errors by size and seed."""
    np.savez(path, **arrays)

add("archives", "a physicist's arrays: sizes, and errors by size and seed", "perceptron_gen_error.npz", zipped, t)

t = surface(2714, [25e6, 100e6, 400e6], [1e9, 4e9, 1.6e10, 6.4e10])
n, d, y = columns(t)
add("archives", "TOML with a table a run", "results.toml", 'title = "grid, July"\n\n[defaults]\noptimizer = "adamw"\nseq_len = 4096\n\n' + "\n".join(
    f'[[run]]\nname = "g{k:02d}"\nparams = {int(a):_}\ntokens = {int(b):_}\nval_loss = {c:.3f}\n' for k, (a, b, c) in enumerate(zip(n, d, y))), t)

t = surface(2715, [45e6, 124e6, 355e6, 774e6], [2.5e9, 1e10, 4e10])
n, d, y = columns(t)
add("archives", "names of runs that carry the sizes", "final_eval.csv", csv([
    ["run", "ckpt", "val_loss"], *([f"gpt_n{short(a)}_d{short(b)}_s0", "last", c] for a, b, c in zip(n, d, y))]), t)

its, t = [2000, 8000, 32000, 128000], surface(2716, [70e6, 210e6, 630e6], [v * 512 * 2048 for v in (2000.0, 8000, 32000, 128000)])
n, d, y = columns(t)
add("archives", "tokens to be worked out: iterations, batch, length", "sweep_summary.tsv", csv([
    ["exp", "params", "train_iters", "global_batch_size", "seq_length", "lr", "valid_loss"], *([f"e{k:02d}", f"{a / 1e6:g}M", its[k % 4], 512, 2048, "3e-4", c] for k, (a, c) in enumerate(zip(n, y)))], "\t"), t)

# --- logs -------------------------------------------------------------------------------------------------------

t = family(2717, [52428800, 124439808, 354823168, 774030080, 1557611200])
n, y = columns(t)
folder("logs", "Megatron's logs, a file a model", {
    f"log_{k}_of_5.txt": f"------------------------ arguments ------------------------\n  global_batch_size ............................... 512\n  hidden_size ..................................... {512 + 256 * k}\n  num_layers ...................................... {8 + 8 * k}\n  seq_length ...................................... 2048\n  train_iters ..................................... 10000\n-------------------- end of arguments ---------------------\n > number of parameters on (tensor, pipeline) model parallel rank (0, 0): {int(a)}\n"
    + "".join(f" iteration {1000 * i:8d}/   10000 | consumed samples: {512000 * i:12d} | elapsed time per iteration (ms): {310.2 + 200 * k:.1f} | learning rate: 3.000E-04 | global batch size:   512 | lm loss: {v + 0.013:.6E} | loss scale: 1.0 | grad norm: 0.312 | number of skipped iterations:   0 |\n"
              f"-----------------------------------------------------------------------------------------\n validation loss at iteration {1000 * i} | lm loss value: {v:.6E} | lm loss PPL: {np.exp(v):.6E} | \n-----------------------------------------------------------------------------------------\n" for i, v in enumerate(falling(float(c), 10), 1))
    for k, (a, c) in enumerate(zip(n, y))}, t)

t = line(2718, np.array([10.0, 30, 100, 300, 960]), 0.031, 1.2, 0.57, 4, 0.01, y="test_error")
n, y = columns(t)
add("logs", "Kaldi's results, hours in the paths", "RESULTS", "# local/score.sh, best LMWT, test-clean\n" + "".join(
    f"%WER {100 * c:.2f} [ {round(c * 52576)} / 52576, {round(c * 6100)} ins, {round(c * 5200)} del, {round(c * 52576) - round(c * 6100) - round(c * 5200)} sub ] exp/chain/tdnn_{int(a)}h_sp/decode_test_clean/wer_{9 + k}\n" for k, (a, c) in enumerate(zip(n, y))), t)

# --- articles ---------------------------------------------------------------------------------------------------

t = surface(2719, [130e6, 370e6, 790e6, 2.8e9], [1e10, 4e10, 1.6e11])
n, d, y = columns(t)
add("articles", "a table of an article in HTML", "table4.html",
    '<figure class="ltx_table" id="A2.T4"><figcaption class="ltx_caption"><span class="ltx_tag">Table 4: </span>Validation loss of all baselines.</figcaption>\n<table class="ltx_tabular ltx_align_middle"><thead><tr><th class="ltx_td">Params</th><th class="ltx_td">Training tokens</th><th class="ltx_td">Val. loss</th></tr></thead>\n<tbody>'
    + "\n".join(f'<tr class="ltx_tr"><td class="ltx_td">{short(a)}</td><td class="ltx_td">{short(b)}</td><td class="ltx_td">{"<b>" if c == y.min() else ""}{c:.3f}{"</b>" if c == y.min() else ""}</td></tr>' for a, b, c in zip(n, d, y)) + "</tbody></table></figure>\n", t)

t = line(2720, np.array([0.1, 0.3, 1, 3, 10, 30, 100]) * 1e18, 1.76, 905.0, 0.15, 3, 0.003, "compute")
n, y = columns(t)
add("articles", "compute in 10^18 FLOP, LaTeX", "tab_compute.tex",
    "\\begin{table}\n\\caption{Best validation loss at each training budget.}\n\\begin{tabular}{S[table-format=3.1]S}\n\\hline\n{Training compute ($10^{18}$ FLOP)} & {Val.\\ loss (nats)} \\\\\n\\hline\n"
    + "".join(f"{a / 1e18:g} & {c:.3f} \\\\\n" for a, c in zip(n, y)) + "\\hline\n\\end{tabular}\n\\end{table}\n", t)

m = np.array([8e6, 35e6, 150e6, 650e6, 3e9])
ppl = np.round(np.exp(cases.noisy(1.62 + 26 * m**-0.215, 0.003, 2721, 5)), 2)
add("articles", "protein models: perplexity by parameters", "table_s2.md",
    "Table S2: perplexity on held-out UniRef50 clusters after 500K updates (lower is better)\n\n" + markdown(["Model", "Layers", "Params", "Perplexity ↓"], [[f"PLM-{k + 1}", v, short(a), f"{p:.2f}"] for k, (a, v, p) in enumerate(zip(m, (6, 12, 30, 33, 36), ppl))]),
    Truth({"n_params": m, "test_loss": np.log(ppl)}, float(1.62 + 26 * 3e10**-0.215)))

t = line(2722, np.array([33e6, 130e6, 458e6, 675e6, 1.4e9]), 4.5, 3e5, 0.5, 2, 0.008, "n_params", "fid")
n, y = columns(t)
add("articles", "diffusion transformers: FID by parameters", "fid_400k.csv", csv([
    ["model", "params (M)", "train steps", "FID-50K"], *([f"DiT-{s}/2", f"{a / 1e6:g}", "400K", f"{c:.2f}"] for s, a, c in zip(("S", "B", "L", "XL", "G"), n, y))]), t)

# --- other fields -----------------------------------------------------------------------------------------------

t = line(2723, np.array([1e5, 1e6, 5e6, 2e7, 1e8]), 0.21, -2.1, 0.25, 4, 0.005, y="ndcg")
n, y = columns(t)
add("fields", "a recommender: NDCG by interactions", "recsys_scaling.csv", csv([
    ["n_interactions", "model", "NDCG@10"], *([int(a), "SASRec", c] for a, c in zip(n, y))]), t)

t = line(2724, np.array([200.0, 1000, 5000, 25000, 100000]), 0.68, 4.2, 0.33, 4, 0.006)
n, y = columns(t)
add("fields", "forecasts: MASE by series, Portuguese", "resultados_previsao.csv", csv([
    ["Nº de séries de treino", "Horizonte", "MASE (teste)"], *([int(a), 28, comma(c)] for a, c in zip(n, y))], ";"), t)

t = line(2725, np.array([500.0, 1000, 2500, 5000, 10000, 50000, 100000]), 0.21, 190.0, 0.6, 3, 0.012)
n, y = columns(t)
add("fields", "chemistry: errors by molecules, Russian", "qm9_mae.csv", csv([
    ["Размер обучающей выборки", "Модель", "MAE на тесте (ккал/моль)"], *([int(a), "SchNet", comma(c, 3)] for a, c in zip(n, y))], ";"), t)

t = errors(2726, [10, 25, 60, 150, 400], 1, 0.09, 0.9, 0.45, 3)
n, y = columns(t)
add("fields", "segmentation: Dice by patients, Dutch", "resultaten_segmentatie.csv", csv([
    ["Aantal patiënten (training)", "Dice (test)", "Opmerking"], *([int(a), comma(1 - c, 3), "alle patiënten" if a == 400 else ""] for a, c in zip(n, y))], ";"), t)

t = errors(2727, [10, 25, 50, 100, 200, 400, 800], 1, 0.04, 1.9, 0.45, 3)
n, y = columns(t)
add("fields", "robots: success by demonstrations", "real_robot_eval.md", "1000 rollouts per row (5 tasks x 200), same policy architecture\n\n" + markdown(
    ["demonstrations", "success rate"], [[int(a), f"{100 * (1 - c):.1f}%"] for a, c in zip(n, y)]), t)

# --- choices: to be asked back ----------------------------------------------------------------------------------

first, second = (columns(family(2728 + k, [20e6, 75e6, 260e6, 900e6], 3)) for k in range(2))
add("choices", "losses per token of two tokenizers", "tokenizers.csv", csv([["tokenizer", "n_params", "val_loss"],
    *(["gpt2", int(a), c] for a, c in zip(*first)), *(["llama3", int(a), round(1.12 * c, 3)] for a, c in zip(*second))]), choices=("tokenizer", "llama3"))

add("choices", "two architectures, named once each", "tab_arch.tex", "\\begin{tabular}{llr}\n\\toprule\nArchitecture & Params & Val. loss \\\\\n\\midrule\n" + "\\midrule\n".join(
    "".join(f"{name if k == 0 else ''} & {short(a)} & {f * c:.3f} \\\\\n" for k, (a, c) in enumerate(zip(*rows))) for name, f, rows in (("Transformer", 1, first), ("Mamba", 1.04, second))) + "\\bottomrule\n\\end{tabular}\n", choices=("rchitecture", "Mamba"))

shots = np.array([13000, 64000, 128000, 640000, 1281167])
add("choices", "errors on two test sets, JSON lines", "evals.jsonl", "".join(json.dumps({"arch": "resnet50", "n_train": int(a), "test_set": s, "top1_error": round(float(lo + h * a**-0.34), 4)}) + "\n"
    for s, lo, h in (("ImageNet", 0.16, 11.0), ("ImageNet-V2", 0.27, 12.5)) for a in shots), choices=("test_set", "ImageNet-V2"))
