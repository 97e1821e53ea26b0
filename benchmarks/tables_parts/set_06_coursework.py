"""Tables as students and small groups keep them in public repositories; the numbers are our own.

The layouts were taken from files called scaling_results, learning_curve, data_scaling and scaling that an index of
public repositories lists, and from what common tools print. The set was fixed before the first table of it was read.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

WORDS = ["nano", "tiny", "small", "medium", "large", "xl", "xxl"]
COUNT = np.array([801_152, 1_975_552, 4_439_680, 14_183_680, 35_970_048, 91_717_120, 240_128_000])
N = COUNT.astype(float)
LOSS = noisy(by_size(N), 0.003, 61, 4)
BY_SIZE = Truth({"n_params": N, "test_loss": LOSS}, float(by_size(10 * N.max())))
SECONDS = np.array([490.69, 610.1, 1417.39, 4153.29, 10418.14, 16951.7, 40211.9])
LAYERS, HEADS, EMBED = [2, 2, 4, 6, 8, 10, 12], [2, 2, 4, 6, 8, 10, 16], [64, 96, 128, 192, 384, 640, 1024]
GRID_N, GRID_D = (v.ravel() for v in np.meshgrid(N[1:6], [2e8, 8e8, 3.2e9, 1.28e10], indexing="ij"))
GRID_LOSS = noisy(language(GRID_N, GRID_D), 0.003, 62, 4)
GRID_WORD = np.repeat(["XS", "S", "M", "L", "XL"], 4)
GRID = Truth({"n_params": GRID_N, "n_data": GRID_D, "test_loss": GRID_LOSS}, best_language(60 * float((GRID_N * GRID_D).max())))
SEEDED = images(63)
ALL, ERROR = SEEDED.points.values()
SIZES = ALL[::3].astype(int)
MEANS = ERROR.reshape(7, 3).mean(axis=1).round(4)
BY_DATA = Truth({"n_data": SIZES.astype(float), "test_error": MEANS}, SEEDED.ten_times)
AS_LOSS = Truth({"n_data": SIZES.astype(float), "test_loss": 1 + MEANS}, 1 + SEEDED.ten_times)
SEED3 = np.tile([0, 1, 2], 7)

kind = "JSON of scripts"
add(kind, "a list with speed and memory", "scaling_results.json", json.dumps(
    [{"model_size": w, "num_params": int(n), "train_loss": round(y + 0.01, 4), "val_loss": y, "train_time_sec": t, "tokens_per_sec": 8e8 / t, "gpu_memory_mb": 2345.97}
     for w, n, y, t in zip(WORDS, COUNT, LOSS, SECONDS)], indent=2), BY_SIZE)
add(kind, "two architectures", "scaling_results.json", json.dumps(
    [{"model_type": m, "model_size": w, "num_params": int(n * f), "train_loss": round(k * y, 4), "val_loss": round(k * y + 0.01, 4), "train_time_sec": t}
     for m, f, k in (("transformer", 1, 1), ("lstm", 1.1, 1.2)) for w, n, y, t in zip(WORDS, COUNT, LOSS, SECONDS)]), None, ("model_type", "lstm"))
add(kind, "runs by name with curves inside", "scaling.json", json.dumps(
    {f"{w}_{d / 1e6:g}": {"model": w, "n_layer": 2, "n_head": 2, "n_embd": 64, "param_count": int(n), "total_tokens": int(d), "max_iters": 610, "batch_size": 32, "block_size": 256, "flops": 6 * n * d,
                          "train_loss": round(y - 0.1, 4), "val_loss": y, "elapsed_s": 377.77, "learning_curves": [[0, 4.19, 4.19], [50, y + 0.3, y + 0.2], [100, y - 0.1, y]], "error": False}
     for w, n, d, y in zip(GRID_WORD, GRID_N, GRID_D, GRID_LOSS)}, indent=1), GRID)
add(kind, "results below the settings", "scaling_law.json", json.dumps(
    {"experiment": "scaling_law", "data_path": "data.txt", "data_size": 881023, "steps": 500, "batch_size": 32, "learning_rate": 0.0003, "results": [
        {"name": w, "n_layer": a, "n_head": h, "n_embd": e, "n_params": int(n), "train_loss": y - 0.02, "val_loss": y, "elapsed_seconds": t, "tokens_per_second": 4e6 / t, "steps": 500, "batch_size": 32, "block_size": 256}
        for w, a, h, e, n, y, t in zip(WORDS, LAYERS, HEADS, EMBED, COUNT, LOSS, SECONDS)]}), BY_SIZE)
add(kind, "both sizes with the mean squared error", "scaling_results.json", json.dumps(
    [{"tag": f"fourier_h{w}_n{int(d)}", "model_type": "fourier", "hidden_dim": 512, "num_blocks": 20, "n_params": int(n), "n_data": int(d), "epochs": 100, "train_loss_final": 0.03, "test_mse": y, "flops": 6 * n * d, "wall_time_s": 2.57, "axis": "data"}
     for w, n, d, y in zip(GRID_WORD, GRID_N, GRID_D, GRID_LOSS)]), GRID)
add(kind, "a task with its modes", "results.json", json.dumps(
    {"recall": {f"vanilla_d{e}": {"mode": "vanilla", "d_model": e, "params": int(n), "best_val_loss": y, "final_val_loss": y, "time": t, "history": {"train_loss": [4.0, 3.5, y], "val_loss": [4.1, 3.6, y]}}
                for e, n, y, t in zip(EMBED, COUNT, LOSS, SECONDS)}}), BY_SIZE)
add(kind, "lists dumped by a notebook", "scaling.json", json.dumps(
    {"param_counts": COUNT.tolist(), "val_losses": LOSS.tolist(), "train_losses": (LOSS - 0.03).round(4).tolist()}), BY_SIZE)
folder(kind, "all_results of a fine-tuning", {f"out/n{n}/all_results.json": json.dumps(
    {"epoch": 3.0, "eval_loss": 1 + y, "eval_runtime": 12.1, "eval_samples": 872, "eval_samples_per_second": 71.8, "train_loss": 0.4, "train_runtime": 301.2, "train_samples": int(n), "train_samples_per_second": 9.1})
    for n, y in zip(SIZES, MEANS)}, AS_LOSS)
folder(kind, "Keras histories, the size in the file's name", {f"hist/history_n{n}.json": json.dumps(
    {"loss": [3.1, 2.0, 1 + y - 0.2], "val_loss": [3.2, 2.1, 1 + y], "lr": [0.001, 0.001, 0.0005]}) for n, y in zip(SIZES, MEANS)}, AS_LOSS)
add(kind, "an evaluation script's lines", "bpb.jsonl", "\n".join(json.dumps(
    {"model": f"our-lm-{n / 1e6:.0f}M", "dataset": "wikitext", "bpb": round(y / 3, 4), "num_docs": 62, "date": "2025-02-11"}) for n, y in zip(N, LOSS)),
    Truth({"n_params": np.round(N / 1e6) * 1e6, "test_loss": (LOSS / 3).round(4)}, BY_SIZE.ten_times / 3))

kind = "CSV of scripts"
add(kind, "fine-tuning on shares, with a base model", "scaling_results.csv", csv(pd.DataFrame(
    {"model": ["Base", *(f"{p}%" for p in (1, 2, 5, 10, 25, 50, 100))], "scale_pct": [0, 1, 2, 5, 10, 25, 50, 100], "train_examples": [0, *SIZES], "validation_examples": 10098, "train_loss": [None, *(MEANS + 1.1)], "val_loss": [None, *(1 + MEANS)],
     "strict_mcq_accuracy": 0.25, "valid_box_rate": [0.2, *[1.0] * 7], "train_runtime": ["", *["01:11:34"] * 7], "train_gpu_hours": [None, *[4.77] * 7]})), AS_LOSS)
add(kind, "mean perplexity and sd", "data_scaling.csv", csv(pd.DataFrame(
    {"model": "Small", "n_train": SIZES, "mean_test_perplexity": np.exp(1 + MEANS).round(5), "sd": 0.2, "mean_best_step": [250, 667, 1750, 2500, 3000, 3500, 4200]})), AS_LOSS)
add(kind, "F1 by examples per class", "data_scaling.csv", csv(pd.DataFrame(
    {"n_per_class": SIZES, "model": "mlp_param_matched", "f1_mean": 1 - MEANS, "f1_std": 0.01})), BY_DATA)
add(kind, "F1 of three models", "data_scaling.csv", csv(pd.DataFrame(
    {"n_train": np.repeat(SIZES, 3), "model": np.tile(["logistic", "mlp", "qnet"], 7), "f1_mean": (1 - np.repeat(MEANS, 3) * np.tile([1, 1.3, 0.7], 7)).round(4), "f1_std": 0.01})), None, ("model", "logistic"))
add(kind, "AUC with deviations", "learning_curve.csv", csv(pd.DataFrame(
    {"train_size": SIZES, "train_AUC": 0.99, "train_SD": 0.01, "cv_AUC": 1 - MEANS, "cv_SD": 0.05})), BY_DATA)
add(kind, "scores of training and validation", "learning_curve.csv", csv(pd.DataFrame(
    {"n_samples": SIZES, "train_mean": 0.995, "train_std": 0.001, "val_mean": 1 - MEANS, "val_std": 0.01})), BY_DATA)
add(kind, "cross-validated F1", "learning_curve.csv", csv(pd.DataFrame(
    {"n_train": SIZES, "train_f1_mean": 1.0, "train_f1_std": 0.0, "cv_f1_mean": 1 - MEANS, "cv_f1_std": 0.008})), BY_DATA)
add(kind, "one model, seeds, several scores", "learning_curve.csv", csv(pd.DataFrame(
    {"model": "tabpfn", "n_train": ALL.astype(int), "seed": SEED3, "accuracy": 1 - ERROR, "fit_s": 0.07, "predict_s": 31.2})), SEEDED)
add(kind, "sizes in words beside counts", "scaling.csv", csv(pd.DataFrame(
    {"attention": "Standard", "model_size": ["~1M", "~2M", "~4M", "~14M", "~36M", "~92M", "~240M"], "num_params": COUNT, "hidden_size": EMBED, "num_layers": LAYERS, "val_loss": LOSS, "step_time_ms": (SECONDS / 90).round(2), "memory_peak_mb": 549.3, "throughput": 430612.1})), BY_SIZE)
add(
    kind,
    "letters with words",
    "chinchilla.csv",
    csv(
        pd.DataFrame(
            {"N_params": GRID_N, "D_tokens": GRID_D, "C_flops": 6 * GRID_N * GRID_D, "L_val": GRID_LOSS}
        )
    ),
    GRID,
)
add(kind, "a frame with its index", "df.csv", pd.DataFrame({"N": GRID_N, "D": GRID_D, "seed": 0, "eval/loss": GRID_LOSS, "eval/runtime": 11.2}).to_csv(), GRID)
add(kind, "three networks as columns", "acc.csv", csv(pd.DataFrame(
    {"n_train": SIZES, "resnet18": 1 - MEANS, "resnet50": (1 - 0.8 * MEANS).round(4), "vit_s": (1 - 1.3 * MEANS).round(4)})), None, ("resnet18",))

kind = "reports"
add(kind, "summary with errors and peta-FLOPs", "summary.md", "# Scaling results\n\n## Raw data\n\n| Config | Loss | ±SE | PPL | FLOPs (P) |\n|---|---|---|---|---|\n" + "".join(
    f"| C{i} | {y:.4f} | 0.0060 | {np.exp(y):.2f} | {c / 1e15:.2f} |\n" for i, (c, y) in enumerate(zip(*budgets(64).points.values()))) + "\n## Key findings\n\n- more is better\n",
    Truth({"compute": np.round(budgets(64).points["compute"] / 1e15, 2) * 1e15, "test_loss": budgets(64).points["test_loss"]}, budgets(64).ten_times))
add(kind, "settings above results in a README", "README.md", "# nanoLM\n\n## Setup\n\n| Hyperparameter | Value |\n|---|---|\n| batch_size | 32 |\n| learning_rate | 3e-4 |\n| steps | 5000 |\n\n## Results\n\n| Model | Params | Layers | Train loss | Val loss |\n|:---|---:|---:|---:|---:|\n" + "".join(
    f"| {w} | {n / 1e6:.2f}M | {a} | {y - 0.03:.3f} | **{y:.4f}** |\n" for w, n, a, y in zip(WORDS, N, LAYERS, LOSS)),
    Truth({"n_params": np.round(N / 1e6, 2) * 1e6, "test_loss": LOSS}, BY_SIZE.ten_times))
add(kind, "tabulate's psql format", "table.txt", "\n".join([
    "+----------+-------------+------------+", "| model    |      params |   val loss |", "|----------+-------------+------------|",
    *(f"| {w:8} | {n:11,d} | {y:10.4f} |" for w, n, y in zip(WORDS, COUNT, LOSS)), "+----------+-------------+------------+"]) + "\n", BY_SIZE)
add(kind, "tabulate's simple format", "table.txt", "\n".join([
    "model         params    val loss", "-------  -----------  ----------", *(f"{w:7}  {n:11d}  {y:10.4f}" for w, n, y in zip(WORDS, COUNT, LOSS))]) + "\n", BY_SIZE)
add(kind, "a course report in LaTeX", "tab.tex", "\\begin{table}[h]\\centering\n\\caption{Validation loss after one epoch.}\n\\begin{tabular}{lrrc}\n\\toprule\nModel & Params & Tokens & Val.\\ loss \\\\\n\\midrule\n" + "".join(
    f"GPT-{w} & {n / 1e6:.1f}M & {d / 1e9:.2f}B & {y:.4f} \\\\\n" for w, n, d, y in zip(GRID_WORD, GRID_N, GRID_D, GRID_LOSS)) + "\\bottomrule\n\\end{tabular}\n\\end{table}\n",
    Truth({"n_params": np.round(GRID_N / 1e6, 1) * 1e6, "n_data": np.round(GRID_D / 1e9, 2) * 1e9, "test_loss": GRID_LOSS}, GRID.ten_times))
add(kind, "a log with times", "train.log", "".join(
    f"2025-05-0{1 + i % 9} 12:0{i % 10}:01 INFO finished N={int(n)} D={d:.3g} val_loss={y}\n" for i, (n, d, y) in enumerate(zip(GRID_N, GRID_D, GRID_LOSS))), GRID)
add(kind, "a workbook with notes", "runs.xlsx", book(
    [["Scaling runs, spring term"], [], ["Run", "# params", "Training tokens", "Val. loss", "Comment"], *([f"r{i}", n, d, y, ""] for i, (n, d, y) in enumerate(zip(GRID_N, GRID_D, GRID_LOSS)))],
    Notes=[["to do"], ["repeat r3 with another seed"]]), GRID)
add(kind, "a frame in Parquet", "runs.parquet", lambda path: pd.DataFrame(
    {"non_embedding_params": GRID_N.astype(int), "training_tokens": GRID_D.astype(int), "final_eval_loss": GRID_LOSS, "git_sha": "a1b2c3"}).to_parquet(Path(path)), GRID)
