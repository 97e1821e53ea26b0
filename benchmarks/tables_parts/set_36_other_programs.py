"""Thirty tables of a September: logs, trackers, files of other programs, articles, messages, fields, choices.

Written without a look at what reads them, and committed before the first of them was read.
Said beforehand: perplexity is read as its logarithm, percents as shares, P@1, top-1 and AUROC as one minus them; top-1 counts where
top-5 stands beside it; a figure in a log is that of held-out data where both are logged; of a training that was stopped early the
best iteration that it names; runs of one length are read by their ends; every seed and fold is a point, and of a mean with its
deviation or interval the mean; sentences, lines, slides and simulations count as data; tokens that are not given are tokens a
parameter times parameters; 亿 is 1e8; failed and terminated runs do not count. Where kinds must not be pooled, a refusal that names
the column and its values is right.
"""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

def loss(n: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The loss of a language model of n parameters after d tokens."""
    return 1.74 + 395 * n**-0.338 + 440 * d**-0.283

def surface(seed: int, models: list[float], tokens: list[float], digits: int = 3) -> Truth:
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, np.array(models), np.array(tokens), loss, digits)

def ratios(seed: int, models: list[float], each: list[float]) -> Truth:
    """Losses of every model at every number of tokens a parameter."""
    n, r = (v.ravel() for v in np.meshgrid(models, each, indexing="ij"))
    wide = np.geomspace(1e6, 1e13, 20001)
    best = float(loss(wide, 10 * float((n * n * r).max()) / wide).min())
    return Truth({"n_params": n, "n_data": n * r, "test_loss": noisy(loss(n, n * r), 0.003, seed, 3)}, best)

def family(seed: int, models: list[float], digits: int = 4) -> Truth:
    """Losses by parameters, trained alike."""
    return line(seed, np.array(models), 1.81, 58.0, 0.216, digits, 0.003, "n_params")

def errors(seed: int, sizes: list[float], seeds: int = 1, floor: float = 0.038, height: float = 3.8, slope: float = 0.4, digits: int = 4) -> Truth:
    """Shares of wrong answers by examples."""
    return line(seed, np.repeat(sizes, seeds), floor, height, slope, digits, 0.012, y="test_error")

# --- logs -------------------------------------------------------------------------------------------------------

t = family(4101, [20316160, 60784128, 151898880, 300646912, 700252160, 1000341504])
n, y = columns(t)
folder("logs", "OLMo's console, a file a model", {
    f"ladder-{k}/train.log": f"2026-09-03 08:14:02.118\tnode01:0\tolmo.train:112\tINFO\tConfiguration:\n2026-09-03 08:14:02.119\tnode01:0\tolmo.train:134\tINFO\tTotal number of parameters: {int(a):,}\n2026-09-03 08:14:09.502\tnode01:0\tolmo.train:151\tINFO\tPeak GPU Memory (MB) before fsdp: 764\n"
    + "".join(f"2026-09-03 1{i}:20:11.040\tnode01:0\tolmo.train:720\tINFO\t[step={1000 * i}/9000,epoch=0]\n    optim/total_grad_norm=0.{3120 - 17 * i}\n    train/CrossEntropyLoss={v - 0.0142:.4f}\n    train/Perplexity={np.exp(v - 0.0142):.3f}\n    throughput/total_tokens={1000 * i * 2097152:,}\n    throughput/device/tokens_per_second={41210 - 13 * i:,}\n    System/Peak GPU Memory (MB)=41,220\n"
              f"2026-09-03 1{i}:20:40.811\tnode01:0\tolmo.train:931\tINFO\tRunning evaluation for 'c4_en-validation'...\n2026-09-03 1{i}:21:12.300\tnode01:0\tolmo.train:960\tINFO\t[eval_step=40/40]\n    eval/c4_en-validation/CrossEntropyLoss={v:.4f}\n    eval/c4_en-validation/Perplexity={np.exp(v):.3f}\n" for i, v in enumerate(falling(float(c), 9), 1))
    for k, (a, c) in enumerate(zip(n, y))}, t)

t = line(4102, np.array([5000.0, 20000, 80000, 320000, 1280000]), 0.402, 3.3, 0.34, 4, 0.003)
n, y = columns(t)
add("logs", "LightGBM on growing subsets, stopped early", "train.log", "".join(
    f"[LightGBM] [Info] Number of positive: {int(0.31 * a)}, number of negative: {int(a) - int(0.31 * a)}\n[LightGBM] [Info] Auto-choosing col-wise multi-threading, the overhead of testing was 0.00{1100 + 7 * k} seconds.\nYou can set `force_col_wise=true` to remove the overhead.\n[LightGBM] [Info] Total Bins 7140\n"
    f"[LightGBM] [Info] Number of data points in the train set: {int(a)}, number of used features: 28\n[LightGBM] [Info] [binary:BoostFromScore]: pavg=0.310000 -> initscore=-0.800119\n[LightGBM] [Info] Start training from score -0.800119\nTraining until validation scores don't improve for 100 rounds\n"
    + "".join(f"[{100 * i}]\ttraining's binary_logloss: {0.96 * c - 0.004 * i + 0.03:.6g}\tvalid_1's binary_logloss: {c + 0.031 / i**2:.6g}\n" for i in range(1, k + 4))
    + f"Early stopping, best iteration is:\n[{100 * k + 241}]\ttraining's binary_logloss: {0.93 * c:.6g}\tvalid_1's binary_logloss: {c:.6g}\n" for k, (a, c) in enumerate(zip(n, y))), t)

t = line(4103, np.array([50e3, 150e3, 450e3, 1.35e6, 4.5e6]), 1.31, 160.0, 0.41, 4, 0.004)
n, y = columns(t)
folder("logs", "Marian's validations, sentence pairs in the folders", {
    f"models/de-cs.{s}-sentences/valid.log": "".join(f"[2026-09-0{k + 1} {8 + i:02d}:12:40] [valid] Ep. {i * (5 - k)} : Up. {5000 * i} : ce-mean-words : {v:.4f} : {'new best' if i < 10 else 'stalled 0 times'}\n[2026-09-0{k + 1} {8 + i:02d}:12:52] [valid] Ep. {i * (5 - k)} : Up. {5000 * i} : perplexity : {np.exp(v):.4f} : new best\n" for i, v in enumerate(falling(float(c), 8), 1))
    for k, (s, c) in enumerate(zip(("50k", "150k", "450k", "1350k", "4500k"), y))}, t)

m = np.array([70.43e6, 162.32e6, 405.33e6, 1.01e9, 2.78e9])
ppl = np.round(np.exp(noisy(1.62 + 48 * m**-0.205, 0.003, 4104, 5)), 4)
folder("logs", "llama.cpp's perplexities, a file a model", {
    f"ppl-{k}.log": f"build: 4400 (1f0c2d3e) with cc (Ubuntu 13.2.0-23ubuntu4) 13.2.0 for x86_64-linux-gnu\nllama_model_loader: loaded meta data with 26 key-value pairs and {75 + 36 * k} tensors from models/ours-{k}-f16.gguf (version GGUF V3 (latest))\nllm_load_print_meta: n_vocab          = 50304\nllm_load_print_meta: n_ctx_train      = 2048\nllm_load_print_meta: n_layer          = {6 * (k + 1)}\n"
    f"llm_load_print_meta: model type       = ?B\nllm_load_print_meta: model ftype      = F16\nllm_load_print_meta: model params     = {f'{a / 1e9:.2f} B' if a >= 1e9 else f'{a / 1e6:.2f} M'}\nllm_load_print_meta: model size       = {a * 2 / 2**20:.2f} MiB (16.01 BPW)\nperplexity: tokenizing the input ..\nperplexity: tokenization took 612.{k}3 ms\nperplexity: calculating perplexity over 641 chunks, n_ctx=512, batch_size=2048, n_seq=4\n"
    f"perplexity: {0.4 * 2**k:.2f} seconds per pass - ETA {1.1 * 2**k:.2f} minutes\n" + ",".join(f"[{i}]{p * (1 + 0.2 * (-0.5) ** i):.4f}" for i in range(1, 13)) + f",\nFinal estimate: PPL = {p:.4f} +/- {0.0061 * p:.5f}\n\nllama_perf_context_print:        load time =    {812.4 * 2**k:.2f} ms\n"
    for k, (a, p) in enumerate(zip(m, ppl))}, Truth({"n_params": m, "test_loss": np.log(ppl)}, float(1.62 + 48 * 2.78e10**-0.205)))

t = errors(4105, [2000, 6000, 18000, 54000, 162000], 1, 0.09, 14.0, 0.43)
n, y = columns(t)
folder("logs", "MMPretrain's scalars, top-1 and top-5 by epochs", {
    f"work_dirs/resnet50_inat-plants_n{int(a)}/20260904_09{10 + k}31/vis_data/scalars.json": "".join(
        json.dumps({"lr": round(0.1 * (1 - i / 101), 5), "data_time": 0.012, "loss": round(4 * np.exp(-i / 30) + 0.2, 4), "time": 0.21, "epoch": i, "iter": 500 * i, "memory": 7312, "step": 500 * i}) + "\n"
        + json.dumps({"accuracy/top1": round(100 - 100 * float(v), 2), "accuracy/top5": round(100 - 31 * float(v), 2), "data_time": 0.02, "time": 0.08, "step": i}) + "\n" for i, v in zip(range(10, 101, 10), c + (0.95 - c) * np.array([.5, .3, .2, .12, .07, .04, .02, .01, .003, 0])))
    for k, (a, c) in enumerate(zip(n, y))}, t)

t = errors(4106, [1000, 4000, 16000, 64000, 256000], 1, 0.03, 2.6, 0.36, 3)
n, y = columns(t)
folder("logs", "fastText: precision on the test set, training lines in the names", {
    f"ft_train{int(a)}.out": f"$ head -n {int(a)} train.shuf.txt > sub.txt && ./fasttext supervised -input sub.txt -output m -epoch 25 -wordNgrams 2\nRead {a * 41 / 1e6:.0f}M words\nNumber of words:  {int(900 * a**0.45)}\nNumber of labels: 14\nProgress: 100.0% words/sec/thread:  {812345 - 991 * k} lr:  0.000000 avg.loss:  0.{2119 - 301 * k} ETA:   0h 0m 0s\n$ ./fasttext test m.bin test.txt\nN\t70000\nP@1\t{1 - c:.3f}\nR@1\t{1 - c:.3f}\n"
    for k, (a, c) in enumerate(zip(n, y))}, t)

t = line(4107, np.array([100.0, 250, 600, 1500, 4000, 10000, 25000]), 1.18, 21.0, 0.47, 2, 0.006)
n, y = columns(t)
add("logs", "a tibble as R prints it", "console.txt", "> res |> group_by(n_train) |> summarise(n_rep = n(), rmse_test = mean(rmse), sd = sd(rmse))\n# A tibble: 7 × 4\n  n_train n_rep rmse_test     sd\n    <int> <int>     <dbl>  <dbl>\n"
    + "".join(f"{k + 1} {int(a):7d}    20 {c:9.2f} {0.04 * c:6.3f}\n" for k, (a, c) in enumerate(zip(n, y))), t)

t = family(4108, [1.3e6, 4.8e6, 17.9e6, 64.2e6, 238e6])
n, y = columns(t)
bar = "━" * 27
folder("logs", "Lightning's summary of parameters and box of test metrics, a job a width", {
    f"slurm-7123{k}.out": f"GPU available: True (cuda), used: True\n\n  | Name  | Type        | Params | Mode\n----------------------------------------------\n0 | model | Transformer | {a / 1e6:.3g} M  | train\n----------------------------------------------\n{a / 1e6:.3g} M    Trainable params\n0         Non-trainable params\n{a / 1e6:.3g} M    Total params\n{4 * a / 1e6:.3f}     Total estimated model params size (MB)\n"
    f"`Trainer.fit` stopped: `max_steps=20000` reached.\n┏{bar}┳{bar}┓\n┃{'Test metric':^27}┃{'DataLoader 0':^27}┃\n┡{bar}╇{bar}┩\n│{'test_loss':^27}│{float(np.float32(c))!s:^27}│\n└{'─' * 27}┴{'─' * 27}┘\n"
    for k, (a, c) in enumerate(zip(n, y))}, t)

# --- trackers and launchers -------------------------------------------------------------------------------------

t = surface(4109, [70426624, 162322944, 405334016, 1011781632], [2e9, 8e9, 3.2e10], 4)
n, d, y = columns(t)
jobs = [{"TrainingJobName": f"lm-grid-2026-09-0{1 + k // 4}-{k:02d}", "TrainingJobStatus": "Completed", "SecondaryStatus": "Completed", "HyperParameters": {"n_params": str(int(a)), "max_tokens": str(int(b)), "learning_rate": "0.0006", "seed": "0"}, "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 1, "VolumeSizeInGB": 500},
         "FinalMetricDataList": [{"MetricName": "train:loss", "Value": round(float(c) - 0.0173, 4), "Timestamp": 1788250000.0 + 9000 * k}, {"MetricName": "validation:loss", "Value": float(c), "Timestamp": 1788250000.0 + 9000 * k}], "TrainingTimeInSeconds": 4000 + 813 * k, "BillableTimeInSeconds": 4000 + 813 * k} for k, (a, b, c) in enumerate(zip(n, d, y))]
jobs.insert(7, {**jobs[8], "TrainingJobName": "lm-grid-2026-09-03-08a", "TrainingJobStatus": "Failed", "SecondaryStatus": "Failed", "FailureReason": "AlgorithmError: CUDA out of memory", "FinalMetricDataList": [], "TrainingTimeInSeconds": 191})
add("trackers", "SageMaker's jobs, one failed", "training_jobs.json", json.dumps(jobs, indent=2), t)

t = line(4110, np.repeat([64.0, 256, 1024, 4096, 16384], 2), 0.021, 3.1, 0.51, 4, 0.012)
n, y = columns(t)
files = {}
for k, (a, c) in enumerate(zip(n, y), 1):
    steps = {"steps": [0, 500, 1000, 2000], "timestamps": [f"2026-09-05T10:{k:02d}:{s:02d}.000000" for s in (1, 9, 17, 33)]}
    files |= {f"runs/{k}/config.json": json.dumps({"lr": 0.1, "n_train": int(a), "seed": 1000 + k % 2, "width": 512}, indent=2), f"runs/{k}/cout.txt": f"INFO - kernel_regime - Running command 'main'\nINFO - kernel_regime - Started run with ID \"{k}\"\n",
              f"runs/{k}/metrics.json": json.dumps({"test.loss": {**steps, "values": [round(v * float(c), 4) for v in (9.1, 2.3, 1.2)] + [float(c)]}, "train.loss": {**steps, "values": [round(v * float(c), 4) for v in (9.0, 1.6, 0.5, 0.11)]}}),
              f"runs/{k}/run.json": json.dumps({"artifacts": [], "command": "main", "experiment": {"name": "kernel_regime"}, "host": {"hostname": "theo3", "cpu": "EPYC"}, "result": float(c), "status": "COMPLETED", "start_time": "2026-09-05T10:00:00"}, indent=2)}
files |= {"runs/11/config.json": json.dumps({"lr": 0.1, "n_train": 65536, "seed": 1001, "width": 512}, indent=2), "runs/11/run.json": json.dumps({"command": "main", "experiment": {"name": "kernel_regime"}, "result": None, "status": "FAILED", "fail_trace": ["MemoryError\n"]}, indent=2)}
folder("trackers", "Sacred's folder of runs, the last failed", files, t)

t = errors(4111, [400, 1600, 6400, 25600], 3)
n, y = columns(t)
rows = [[f"{(k + 3) * 0x9E3779B1 % 2**32:08x}", "train", f"2026-09-0{2 + k // 6} 1{k % 6}:04:20", f"0:{12 + k}:31", "completed", f"n_train={int(a)} seed={k % 3}", int(a), 4, 0.001, k % 3, 20000, round(0.11 * float(c), 4), float(c)] for k, (a, c) in enumerate(zip(n, y))]
rows.insert(5, ["5b1e77c0", "train", "2026-09-03 09:58:02", "0:06:12", "terminated", "n_train=6400 seed=0", 6400, 4, 0.001, 0, 7000, 0.1922, 0.3118])
add("trackers", "guild compare, one run terminated", "compare.csv", csv([["run", "operation", "started", "time", "status", "label", "n_train", "depth", "lr", "seed", "step", "train_error", "test_error"], *rows[::-1]]), t)

t = family(4112, [12e6, 35e6, 110e6, 330e6, 1.0e9])
n, y = columns(t)
files = {}
for k, (a, c) in enumerate(zip(n, y)):
    trial = f"ladder/train_lm_3f2a1_{k:05d}_{k}_n_params={int(a)}_2026-09-06_10-11-12"
    files[f"{trial}/params.json"] = json.dumps({"n_params": int(a), "n_tokens": 10000000000, "lr": 0.0008})
    files[f"{trial}/progress.csv"] = csv([["val_loss", "train_loss", "timestamp", "done", "training_iteration", "trial_id", "time_total_s", "pid", "hostname", "config/n_params", "config/n_tokens", "config/lr"],
        *([v, round(v - 0.0211, 4), 1788670000 + 600 * i, i == 10, i, f"3f2a1_{k:05d}", 600.25 * i, 41007 + k, "gpu07", int(a), 10000000000, 0.0008] for i, v in enumerate(falling(float(c), 10), 1))])
folder("trackers", "Ray Tune's folders of trials", files, t)

# --- files of other programs ------------------------------------------------------------------------------------

t = errors(4113, [32, 128, 512, 2048, 8192, 32768], 4, 0.008, 1.9, 0.47)
arrays = {"n_train": columns(t)[0][::4], "test_err": columns(t)[1].reshape(6, 4), "width": 1024.0, "note": "two-layer ReLU, rows: n_train, columns: seeds"}

def matlab(path: Path) -> None:
    """Sizes, and errors by size and seed."""
    from scipy.io import savemat

    savemat(path, arrays)

add("programs", "MATLAB's file: sizes, and errors by size and seed", "learning_curve.mat", matlab, t)

t = line(4114, np.repeat([200.0, 800, 3200, 12800, 51200], 5), 0.61, 6.4, 0.45, 3, 0.01)
n, y = columns(t)
folds = pd.DataFrame({"n_train": n.astype(int), "fold": np.tile(range(1, 6), 5), "rmse_train": (0.8 * y).round(3), "rmse_test": y})

def stata(path: Path) -> None:
    """Root mean squares by fold, with labels."""
    folds.to_stata(path, write_index=False, variable_labels={"n_train": "Households in the training sample", "rmse_test": "RMSE, held-out fold, log income"})

add("programs", "Stata's file: five folds of every size", "lcurve.dta", stata, t)

t = surface(4115, [25e6, 80e6, 250e6, 800e6], [1e9, 5e9, 2.5e10], 4)
n, d, y = columns(t)
add("programs", "a table packed with gzip", "all_runs.csv.gz", gzip.compress(csv(pd.DataFrame({"run_id": [f"s3-{k:03d}" for k in range(12)], "n_params": n.astype(int), "n_tokens": d.astype(int), "lr": 6e-4, "train_loss": (y - 0.0128).round(4), "val_loss": y})).encode(), mtime=0), t)

t = family(4116, [19.4e6, 51.2e6, 124e6, 354e6, 772e6, 1.56e9], 3)
n, y = columns(t)
add("programs", "a script with its numbers", "plot_ladder.py", "import matplotlib.pyplot as plt\nimport numpy as np\n\n# ladder v3: same data, same cosine schedule, 20B tokens each\n"
    f"params = np.array([{', '.join(f'{a / 1e6:g}e6' for a in n)}])\nval_loss = np.array([{', '.join(f'{c:.3f}' for c in y)}])\n\nfig, ax = plt.subplots(figsize=(4, 3))\nax.loglog(params, val_loss, \"o-\")\nax.set_xlabel(\"parameters\")\nax.set_ylabel(\"validation loss (nats)\")\nfig.savefig(\"ladder.pdf\")\n", t)

t = errors(4117, [1000, 3000, 9000, 27000, 81000, 243000])
n, y = columns(t)
add("programs", "a figure of PGFPlots", "fig_learning_curve.tex", "\\begin{tikzpicture}\n\\begin{loglogaxis}[\n  width=\\columnwidth,\n  xlabel={Training examples},\n  ylabel={Test error},\n  grid=major,\n]\n\\addplot+[mark=*] coordinates {\n"
    + "".join(f"  ({int(a)}, {c:.4f})\n" for a, c in zip(n, y)) + "};\n\\addlegendentry{ResNet-26}\n\\end{loglogaxis}\n\\end{tikzpicture}\n", t)

t = family(4118, [8e6, 24e6, 72e6, 216e6, 648e6])
n, y = columns(t)
add("programs", "a figure of Plotly, saved as JSON", "fig_size.json", json.dumps({"data": [{"type": "scatter", "mode": "lines+markers", "name": "decoder", "x": [int(a) for a in n], "y": [float(c) for c in y], "hovertemplate": "N=%{x}<br>loss=%{y}<extra></extra>"}],
    "layout": {"title": {"text": "Loss after 8B tokens"}, "xaxis": {"type": "log", "title": {"text": "Parameters"}}, "yaxis": {"title": {"text": "Validation loss"}}, "width": 640}}), t)

# --- articles and messages --------------------------------------------------------------------------------------

t = surface(4119, [40e6, 120e6, 360e6, 1.1e9], [2e9, 6e9, 1.8e10, 5.4e10])
n, d, y = columns(t)
add("articles", "LaTeX: models down, tokens across under one head", "tab_main.tex", "\\begin{table}[t]\n\\centering\n\\small\n\\begin{tabular}{lcccc}\n\\toprule\n& \\multicolumn{4}{c}{Training tokens} \\\\\n\\cmidrule(lr){2-5}\nParameters & " + " & ".join(short(b) for b in d[:4]) + " \\\\\n\\midrule\n"
    + "".join(f"{short(n[4 * g])} & " + " & ".join(f"{c:.3f}" for c in y[4 * g:4 * g + 4]) + " \\\\\n" for g in range(4)) + "\\bottomrule\n\\end{tabular}\n\\caption{Validation loss (nats per token).}\n\\label{tab:main}\n\\end{table}\n", t)

t = surface(4120, [33e6, 99e6, 297e6, 890e6, 2.67e9], [3e9, 1.2e10, 4.8e10])
n, d, y = columns(t)
head = "Run & $N$ (M) & $D$ (B tokens) & Peak LR & Val. loss \\\\\n\\midrule\n"
add("articles", "a long table that goes on over the page", "appendix_runs.tex", "\\begin{longtable}{lrrrr}\n\\caption{All runs. $N$: parameters, $D$: training tokens.}\\label{tab:all}\\\\\n\\toprule\n" + head + "\\endfirsthead\n\\multicolumn{5}{l}{\\emph{Table continued from previous page}} \\\\\n\\toprule\n" + head
    + "\\endhead\n\\midrule\n\\multicolumn{5}{r}{\\emph{Continued on next page}} \\\\\n\\endfoot\n\\bottomrule\n\\endlastfoot\n" + "".join(f"A{k + 1:02d} & {a / 1e6:g} & {b / 1e9:g} & $6\\times10^{{-4}}$ & {c:.3f} \\\\\n" for k, (a, b, c) in enumerate(zip(n, d, y))) + "\\end{longtable}\n", t)

t = family(4121, [29e6, 76e6, 197e6, 510e6, 1320e6], 3)
n, y = columns(t)
add("articles", "lines copied out of a PDF", "from_pdf.txt", "Table 7: Validation loss of the models of our suite. All models are trained on 300B tokens.\nModel Layers Width Params (M) LR Val. loss\n" + "".join(f"{s} {v} {w} {a / 1e6:g} {r} {c:.3f}\n" for s, v, w, r, a, c in zip(("XS", "S", "M", "L", "XL"), (6, 10, 14, 20, 24), (384, 640, 896, 1280, 2048), ("1e-3", "8e-4", "6e-4", "4e-4", "2e-4"), n, y)), t)

t = surface(4122, [50e6, 150e6, 450e6], [2e9, 1e10, 5e10])
n, d, y = columns(t)
add("messages", "a table quoted in an answer", "Re_ grid results.eml.txt", "From: Noa\nTo: Ilse\nDate: Tue, 8 Sep 2026 16:20:31 +0200\nSubject: Re: grid results\n\nGreat, thanks. I will put them on the slides.\nn.\n\nOn Tue, 8 Sep 2026 at 15:02, Ilse wrote:\n> Hi Noa,\n> here is the grid, final validation loss after the decay:\n>\n> params   tokens   val_loss\n"
    + "".join(f"> {short(a):<8} {short(b):<8} {c:.3f}\n" for a, b, c in zip(n, d, y)) + ">\n> Best\n> Ilse\n", t)

t = ratios(4123, [60e6, 190e6, 600e6, 1.9e9], [5, 20, 80])
n, d, y = columns(t)
add("articles", "tokens a parameter in place of tokens", "RESULTS.md", "# Overtraining grid\n\n" + markdown(["Params", "Tokens / param", "Val loss", "GPU h"], [[short(a), f"{b / a:g}", f"{c:.3f}", f"{6 * a * b / 4e14 / 3600:.1f}"] for a, b, c in zip(n, d, y)]) + "\nFully deduplicated data, never more than one epoch.\n", t)

t = surface(4124, [0.7e8, 1.6e8, 4.1e8, 1.3e9], [5e9, 2e10, 8e10])
n, d, y = columns(t)
add("sheets", "Chinese: parameters and tokens in hundreds of millions", "预训练结果.xlsx", book([["模型", "参数量", "训练数据(token)", "验证损失", "备注"], *([f"M{k // 3 + 1}-{k % 3 + 1}", f"{a / 1e8:g}亿", f"{b / 1e8:g}亿", float(c), None] for k, (a, b, c) in enumerate(zip(n, d, y)))]), t)

# --- other fields -----------------------------------------------------------------------------------------------

t = errors(4125, [250, 500, 1000, 2000, 4000, 8000, 16000], 1, 0.018, 1.7, 0.5)
n, y = columns(t)
add("fields", "handwriting: character errors by lines, German", "HTR_Lernkurve.csv", "\ufeff" + csv([["Trainingszeilen", "Epochen", "CER Validierung [%]", "Bemerkung"], *([int(a), 100, comma(100 * c, 2), "alle Zeilen" if a == 16000 else ""] for a, c in zip(n, y))], ";"), t)

t = errors(4126, [50, 120, 300, 750, 1900, 4800], 1, 0.045, 1.2, 0.42, 3)
n, y = columns(t)
add("fields", "pathology: AUROC by slides, with intervals", "supp_table_4.csv", csv([["Training slides (n)", "AUROC (95% CI)", "Test slides (n)"], *([int(a), f"{1 - c:.3f} ({1 - 1.11 * c:.3f}–{1 - 0.9 * c:.3f})", 1204] for a, c in zip(n, y))]), t)

# --- choices: to be asked back ----------------------------------------------------------------------------------

first, second = (columns(family(4127 + k, [28e6, 84e6, 250e6, 750e6, 2.2e9], 3)) for k in range(2))
add("choices", "two number formats of the training", "precision.csv", csv([["precision", "n_params", "tokens", "val_loss"], *([w, int(a), 20000000000, round(f * float(c), 3)] for w, f, part in (("bf16", 1, first), ("fp8", 1.03, second)) for a, c in zip(*part))]), choices=("precision", "fp8"))

add("choices", "two kinds of attention in a page", "results.html", "<html><body><h2>Attention variants</h2>\n<table border=\"1\"><tr><th>Attention</th><th>Params</th><th>Val. loss</th></tr>\n" + "".join(
    f"<tr><td>{w}</td><td>{short(a)}</td><td>{f * c:.3f}</td></tr>\n" for w, f, part in (("softmax", 1, first), ("linear", 1.05, second)) for a, c in zip(*part)) + "</table></body></html>\n", choices=("ttention", "linear"))

add("choices", "answers with and without steps of thought", "gsm_evals.jsonl", "".join(json.dumps({"model": f"ours-{short(a)}", "n_params": int(a), "prompting": w, "n_questions": 1319, "accuracy": round(1 - f * (0.1 + 160.0 * a**-0.25 * (1 + 0.01 * e)), 4)}) + "\n"
    for a, e in zip((4e9, 8e9, 16e9, 32e9, 64e9), (0.4, -0.7, 1.0, -0.3, 0.2)) for w, f in (("direct", 1.0), ("cot", 0.8))), choices=("prompting", "cot"))

add("choices", "camera traps of two regions", "traps.xlsx", book([["Region", "Training images", "Test error (%)"], *([w, int(a), round(100 * (lo + up * a**-0.4 * (1 + 0.01 * e)), 2)] for w, lo, up in (("Serengeti", 0.05, 6.1), ("Yellowstone", 0.09, 10.4)) for a, e in zip((1000, 4000, 16000, 64000, 256000), (0.6, -0.8, 0.9, -0.1, -0.5)))]), choices=("egion", "Yellowstone"))
