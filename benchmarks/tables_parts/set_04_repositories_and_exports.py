"""Tables laid out as public repositories and the tools of laboratories keep them; the numbers are our own.

Column names, nesting and spelling follow files seen in repositories of scaling studies and the exports of
W&B, Optuna, Ray Tune, MLflow, lm-eval and pandas. They were fixed before the first of them was read.
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

COUNTS = np.array([12_381_440, 47_557_632, 124_455_168, 301_880_320, 1_005_461_760])
SEEN = np.array([1_003_487_232, 3_032_612_864, 9_097_969_664, 29_895_950_336])
N, D = (v.ravel() for v in np.meshgrid(COUNTS, SEEN, indexing="ij"))
LOSS = noisy(language(N.astype(float), D.astype(float)), 0.003, 31, 5)
LM = Truth({"n_params": N.astype(float), "n_data": D.astype(float), "test_loss": LOSS}, best_language(60 * float((N * 1.0 * D).max())))
FAMILY_N = np.array([801_152, 4_176_720, 18_643_240, 55_444_740, 99_209_472, 345_355_200, 1_005_461_760])
FAMILY_LOSS = noisy(by_size(FAMILY_N.astype(float)), 0.003, 32, 4)
FAMILY = Truth({"n_params": FAMILY_N.astype(float), "test_loss": FAMILY_LOSS}, float(by_size(10.0 * FAMILY_N.max())))
ROWS = np.array([507, 1014, 2031, 4060, 8133, 16250, 32511])
ROWS_ERROR = noisy(image_error(ROWS.astype(float)), 0.02, 33, 4)
BY_ROWS = Truth({"n_data": ROWS.astype(float), "test_error": ROWS_ERROR}, float(image_error(10.0 * ROWS.max())))
SEEDED = images(34)
IMAGES, ERROR = SEEDED.points.values()
MEANS = ERROR.reshape(7, 3).mean(axis=1).round(4)
EXAMPLES = IMAGES[::3]
MEAN_ERRORS = Truth({"n_data": EXAMPLES, "test_error": MEANS}, SEEDED.ten_times)
COMPUTE = budgets(35)
C, C_LOSS = COMPUTE.points.values()
WORDS = np.repeat(["12.4M", "47.6M", "124M", "302M", "1.01B"], 4)
WORD_N = np.repeat([12.4e6, 47.6e6, 124e6, 302e6, 1.01e9], 4)
WORD_LOSS = noisy(language(WORD_N, D.astype(float)), 0.003, 36, 5)
WORD_LM = Truth({"n_params": WORD_N, "n_data": D.astype(float), "test_loss": WORD_LOSS}, best_language(60 * float((WORD_N * D).max())))

PYTHIA = ["14m", "31m", "70m", "160m", "410m", "1b", "1.4b"]
PYTHIA_N = np.array([14e6, 31e6, 70e6, 160e6, 410e6, 1e9, 1.4e9])

def unsolved(n: np.ndarray | float) -> np.ndarray | float:
    """The share of questions that a model of n parameters gets wrong."""
    return 0.25 + 12 * n**-0.18

LAMBADA = (1 - noisy(np.asarray(unsolved(PYTHIA_N)), 0.01, 37, 4)).round(4)

# --- course projects and papers ------------------------------------------------------------------------

kind = "repositories"
add(kind, "counts, FLOPs and loss", "results.csv", csv(pd.DataFrame({"n_params": N, "n_tokens": D, "flops": 6.0 * N * D, "val_loss": LOSS})), LM)
add(kind, "perplexity beside speed and memory", "results.csv", csv(pd.DataFrame(
    {"model_name": [f"MobileLM-{n // 1_000_000}M" for n in FAMILY_N], "num_params": FAMILY_N,
     "perplexity": np.exp(FAMILY_LOSS).round(6), "tokens_per_second": np.linspace(24, 9, 7).round(3),
     "peak_memory_mb": np.linspace(700, 2600, 7).round(1), "wall_clock_seconds": [86.1, 74.6, 123.7, 174.5, 230.2, 301.9, 377.0]})),
    FAMILY)
add(kind, "a launcher's JSON lines, keys added later", "runs.jsonl", "\n".join(json.dumps(
    {"size": w, "final_train_loss": round(loss + 0.05, 5), "final_val_loss": loss, "total_tokens": int(d), "flops": 6.0 * n * d}
    | ({"elapsed_sec": 5407.86, "steps_per_sec": 1.83} if i > 6 else {}))
    for i, (w, n, d, loss) in enumerate(zip(WORDS, WORD_N, D, WORD_LOSS))), WORD_LM)
add(kind, "runs by name, each with its log", "sweep_results.json", json.dumps(
    {f"{w}_{d // 10**9}B": {"n_params": int(n), "tokens": int(d), "final_val_loss": loss, "log": [
        {"step": s, "tokens_seen": int(d * s / 4000), "train_loss": round(loss + 3 * (1 - s / 4000), 4), "val_loss": round(loss + 3 * (1 - s / 4000), 5)}
        for s in range(1000, 4001, 1000)]} for w, n, d, loss in zip(WORDS, N, D, LOSS)}, indent=2), LM)
ONE_MODEL = pd.DataFrame(
    {"config_name": "glm", "model_type": "glm", "threshold": np.repeat([1, 2, 4, 8, 16, 32, 64], 3) / 64, "rep": np.tile([1, 2, 3], 7),
     "seed": np.tile([1, 2, 3], 7), "n_train": IMAGES.astype(int), "exposure_train": IMAGES * 0.531, "claims_train": (IMAGES * 0.039).round(),
     "base_rate": 0.0736, "params": 110, "train_poisson_deviance": (ERROR * 0.9).round(4), "test_poisson_deviance": ERROR,
     "epochs_trained": np.tile([30, 26, 28], 7)})
add(kind, "insurance model with shares of the data", "run_scores.csv", csv(ONE_MODEL), SEEDED)
add(kind, "insurance models, two kinds", "run_scores.csv", csv(pd.concat(
    [ONE_MODEL, ONE_MODEL.assign(config_name="ffn_small", model_type="ffn", params=1317,
                                 test_poisson_deviance=(ERROR * 0.8).round(4))])),
    None, ("model_type", "glm"))
add(kind, "transformers and LSTMs", "scaling_results.json", json.dumps([
    {"model_type": m, "model_size": s, "num_params": int(n), "train_loss": loss - 0.02, "val_loss": round(loss * f, 4), "train_time_sec": 490.7,
     "tokens_per_sec": 809304.9, "gpu_memory_mb": 2345.9}
    for m, f in (("transformer", 1.0), ("lstm", 1.15)) for s, n, loss in zip(["tiny", "small", "medium", "large", "xl", "xxl", "huge"], FAMILY_N, FAMILY_LOSS)]),
    None, ("model_type", "lstm"))
add(kind, "report's Markdown table", "results_table.md",
    "| Model | Size | Parameters | Val Loss | Train Time (s) | Tokens/sec |\n|-------|------|------------|----------|----------------|------------|\n" + "\n".join(
        f"| transformer | {s} | {n:,} | {loss:.4f} | {t} | {v} |" for s, n, loss, t, v in zip(
            ["tiny", "small", "medium", "large", "xl", "xxl", "huge"], FAMILY_N, FAMILY_LOSS, [490.7, 1417.4, 4153.3, 10418.1, 16951.7, 40211.9, 99001.2],
            [809305, 280173, 95615, 38118, 23426, 9911, 4020])), FAMILY)
add(kind, "isoFLOP runs collected from papers", "isoflops.csv", csv(pd.DataFrame(
    {"source": "ours", "dataset": "c4", "model": "decoder", "condition": "", "experiment": "ours__c4__decoder", "tokens": D.astype(float),
     "params": N.astype(float), "budget": 6.0 * N * D, "loss": LOSS, "outlier": False, "reason": "none"})), LM)
add(kind, "W&B columns of a JAX trainer", "isoflop-comma.csv", csv(pd.DataFrame(
    {"Name": [f"isoflop-d{64 * i}-L{i}-B512-comma-mix" for i in range(20)], "parameter_count": N, "throughput/total_tokens": D,
     "throughput/total_gflops": 6.0 * N * D / 1e9, "eval/paloma/macro_loss": LOSS, "trainer.train_batch_size": np.tile([32, 64, 128, 256], 5),
     "trainer.num_train_steps": np.tile([59413, 63357, 48105, 33965], 5), "optimizer.learning_rate": np.repeat([0.0015, 0.0017, 0.0021, 0.001, 0.0006], 4),
     "model.hidden_dim": np.repeat([512, 768, 1024, 1280, 1536], 4), "model.num_layers": np.repeat([6, 8, 11, 13, 16], 4)}), quoting=1), LM)
add(kind, "exact and rounded counts, best rate and batch", "gbsz_min.csv", csv(pd.DataFrame(
    {"job_name": [f"dense_{w}_xm01_gbsz{b}_{d // 10**9}B" for w, b, d in zip(WORDS, np.tile([16, 32, 64, 128], 5), D)], "N": N,
     "N_approx": np.repeat([12e6, 50e6, 130e6, 300e6, 1e9], 4), "D": D.astype(float), "C": 6.0 * N * D, "lr": np.repeat([4e-3, 2e-3, 1e-3, 1e-3, 5e-4], 4),
     "gbsz": np.tile([16, 32, 64, 128], 5), "beta2": np.repeat([0.99, 0.99, 0.99, 0.95, 0.95], 4), "seed": 1234, "iteration": (D / 65536 / 16).round(),
     "train_samples": (D / 4096).round(), "train_tokens": D + 14336.0, "num_of_valid_seq": 204800.0, "loss": LOSS, "loss_se": 0.0012})), LM)
folder(kind, "recognition of lines, one JSON a run", {f"results/deva_d{i:03}_s42.json": json.dumps(
    {"run_name": f"deva_d{i:03}_s42", "dataset": "devanagari", "data_fraction": 1 / 2 ** (6 - i), "noise_type": "none", "noise_rate": 0.0, "seed": 42,
     "n_train_lines": int(n), "n_val_lines": 502, "n_test_lines": 492, "num_classes": 121, "n_parameters": 10077753, "epochs_run": 60, "best_epoch": 55 + i,
     "val_cer": round(e * 1.05, 5), "test_cer": e, "final_train_loss": 0.32, "nonfinite_batches": 0, "minutes": 4.41 * 2**i}, indent=2)
    for i, (n, e) in enumerate(zip(ROWS, ROWS_ERROR))}, BY_ROWS)
add(kind, "peta-FLOPs with errors and perplexity", "summary.md",
    "# Scaling Law Results Summary\n\n## Raw Data\n\n| Config | Step | Loss | ±SE | PPL | FLOPs (P) |\n|--------|------|------|-----|-----|-----------|\n" + "\n".join(
        f"| S-{i} | 3000 | {y:.4f} | 0.0120 | {np.exp(y):.2f} | {c / 1e15:.2f} |" for i, (c, y) in enumerate(zip(C, C_LOSS)))
    + "\n\n## Key Findings\n\n- Loss falls with compute.\n", COMPUTE)

# --- exports of tools ---------------------------------------------------------------------------------

kind = "tools"
add(kind, "W&B's API example: dictionaries in cells", "project.csv", pd.DataFrame(
    {"summary": [str({"_step": 4000, "_runtime": 5120.3, "train/loss": round(float(y) + 0.02, 4), "val/loss": float(y), "_wandb": {"runtime": 5120}}) for y in LOSS],
     "config": [str({"lr": 0.0003, "n_params": int(n), "train_tokens": int(d), "optimizer": "adamw"}) for n, d in zip(N, D)],
     "name": [f"dashing-sweep-{i}" for i in range(20)]}).to_csv(), LM)
add(kind, "Optuna's trials", "trials.csv", csv(pd.DataFrame(
    {"number": range(21), "value": ERROR, "datetime_start": "2025-03-01 12:00:00", "datetime_complete": "2025-03-01 12:30:00", "duration": "0 days 00:30:00",
     "params_lr": 0.001, "params_n_train": IMAGES.astype(int), "params_seed": np.tile([0, 1, 2], 7), "system_attrs_grid_id": range(21), "state": "COMPLETE"})), SEEDED)
add(kind, "Ray Tune's results", "ray_results.csv", csv(pd.DataFrame(
    {"test_acc": (1 - ERROR).round(4), "time_this_iter_s": 31.2, "done": True, "training_iteration": 50, "trial_id": [f"a3f{i:02}_0000{i}" for i in range(21)],
     "date": "2025-04-02_11-20-31", "timestamp": np.arange(1712052031, 1712052031 + 21), "time_total_s": np.linspace(600, 4000, 21).round(1), "pid": np.arange(4411, 4432),
     "hostname": "node-3", "node_ip": "10.0.0.3", "config/n_train": IMAGES.astype(int), "config/seed": np.tile([1, 2, 3], 7), "config/lr": 0.1})), SEEDED)
add(kind, "MLflow's search_runs", "runs.csv", csv(pd.DataFrame(
    {"run_id": [f"{i:032x}" for i in range(20)], "experiment_id": 3, "status": "FINISHED", "artifact_uri": "s3://mlflow/3", "start_time": "2025-05-01 10:00:00.123+00:00",
     "end_time": "2025-05-01 18:00:00.456+00:00", "metrics.val_loss": LOSS, "metrics.train_loss": (LOSS - 0.01).round(5), "params.n_params": N, "params.tokens": D,
     "params.lr": 0.0006, "tags.mlflow.runName": [f"bold-owl-{i}" for i in range(20)], "tags.mlflow.user": "ana"})), LM)
folder(kind, "lm-eval results of a family", {f"results_pythia-{w}.json": json.dumps(
    {"results": {"lambada_openai": {"alias": "lambada_openai", "acc,none": a, "acc_stderr,none": 0.0068}}, "n-shot": {"lambada_openai": 0},
     "config": {"model": "hf", "model_args": f"pretrained=EleutherAI/pythia-{w},dtype=float16", "batch_size": "16"}, "date": 1718000000.1})
    for w, a in zip(PYTHIA, LAMBADA)}, Truth({"n_params": PYTHIA_N, "test_accuracy": LAMBADA}, float(1 - unsolved(14e9))))
folder(kind, "Hydra: a folder a run", {name: text for i, (n, e, s) in enumerate(zip(IMAGES, ERROR, np.tile([0, 1, 2], 7))) for name, text in {
    f"multirun/{i}/.hydra/config.yaml": f"data:\n  name: cifar10\n  n_train: {int(n)}\nseed: {s}\noptim:\n  lr: 0.1\n",
    f"multirun/{i}/metrics.json": json.dumps({"test_error": e, "train_error": 0.0, "epoch": 100})}.items()}, SEEDED)
add(kind, "pandas describe by group", "test_error_by_n_train.csv", csv(pd.DataFrame(
    {"n_train": EXAMPLES.astype(int), "count": 3.0, "mean": MEANS, "std": 0.004, "min": ERROR.reshape(7, 3).min(1), "25%": MEANS - 0.001, "50%": MEANS, "75%": MEANS + 0.001,
     "max": ERROR.reshape(7, 3).max(1)})), MEAN_ERRORS)
add(kind, "pandas pivot with two header rows", "pivot.csv", pd.DataFrame(
    {"n_train": IMAGES.astype(int), "seed": np.tile([0, 1, 2], 7), "test_error": ERROR}).pivot_table(index="n_train", columns="seed", values=["test_error"]).to_csv(), SEEDED)
add(kind, "numpy savetxt", "curve.txt", "# n_train test_error std\n" + "\n".join(
    f"{n:.18e} {e:.18e} {0.004:.18e}" for n, e in zip(EXAMPLES, MEANS)) + "\n", MEAN_ERRORS)

# --- as people type them ------------------------------------------------------------------------------

kind = "typed"
add(kind, "LaTeX of an appendix", "tab_runs.tex", r"""\begin{table}[t]
\caption{All runs.}
\centering
\begin{tabular}{lrrc}
\toprule
Model & Parameters & Tokens (B) & Val.\ loss $\downarrow$ \\
\midrule
""" + "\n".join(
    rf"Ours-{w} & {n:,} & {d / 1e9:.4f} & " + (rf"\textbf{{{y:.5f}}}" if i == 19 else f"{y:.5f}") + r" \\" + ("\n\\midrule" if i % 4 == 3 and i < 19 else "")
    for i, (w, n, d, y) in enumerate(zip(WORDS, N, D, LOSS))).replace(",", "{,}") + "\n\\bottomrule\n\\end{tabular}\n\\end{table}\n", LM)
add(kind, "HTML of a notebook", "table.html", pd.DataFrame(
    {"Params (M)": (N / 1e6).round(6), "Tokens (B)": (D / 1e9).round(9), "Eval loss": LOSS}).to_html(), LM)
add(kind, "European numbers with points between thousands", "fehler.csv", "n_train;test_err;std\n" + "\n".join(
    f"{n:,}".replace(",", ".") + f";{e:.4f};0,0040".replace("0.", "0,") for n, e in zip(ROWS, ROWS_ERROR)), BY_ROWS)
add(kind, "clipboard of a spreadsheet", "clipboard.tsv", "training set\tacc@1\tnotes\n" + "\n".join(
    f"{int(n) // 1000}k\t{100 * (1 - e):.2f}%\t{'rerun' if i == 3 else ''}" for i, (n, e) in enumerate(zip(EXAMPLES, MEANS))), MEAN_ERRORS)
add(kind, "grouped headers with merged cells", "runs.xlsx", book(
    [["Model", None, "Training", None, "Evaluation", None], ["name", "params (M)", "tokens (B)", "steps", "loss", "ppl"],
     *[[f"m{i}", n / 1e6, d / 1e9, 4000, y, round(float(np.exp(y)), 3)] for i, (n, d, y) in enumerate(zip(N, D, LOSS))]]), LM)
add(kind, "a shared sheet with states and notes", "sweep tracker.csv", "Owner,Status,Run link,Params,Tokens,Final val loss,Notes\n" + "\n".join(
    f"{o},{'DONE'},https://wandb.ai/x/{i},{n / 1e6:.6f}M,{d / 1e9:.9f}B,{y},{'restarted once' if i == 4 else ''}"
    for i, (o, n, d, y) in enumerate(zip(np.tile(["ana", "bo"], 10), N, D, LOSS)))
    + "\nbo,FAILED,https://wandb.ai/x/20,2005M,29.9B,,OOM\nana,RUNNING,https://wandb.ai/x/21,2005M,9.1B,,\n", LM)
add(kind, "uncertainty in the last digits", "table2.csv", "training images,test error\n" + "\n".join(
    f"{int(n)},{e:.4f}({u})" for n, e, u in zip(EXAMPLES, MEANS, [52, 41, 33, 28, 21, 18, 12])), MEAN_ERRORS)
add(kind, "logarithms of counts", "points.csv", csv(pd.DataFrame({"log10(N)": np.log10(N).round(6), "log10(D)": np.log10(D).round(6), "L": LOSS})), LM)
