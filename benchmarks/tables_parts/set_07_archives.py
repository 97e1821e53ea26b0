"""Tables as research groups archive them beside their code; the numbers are our own.

The layouts were taken from other public files (data_efficiency, scaling_law, model_scaling, sweep_results, pages with
results) after set 6 had been read, and fixed before the first of these tables was.
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

N = np.array([1.2e6, 3.1e6, 7.4e6, 21.5e6, 58.0e6, 124.0e6, 354.0e6])
LOSS = noisy(by_size(N), 0.003, 71, 4)
BY_SIZE = Truth({"n_params": N, "test_loss": LOSS}, float(by_size(10 * N.max())))
GRID_N, GRID_D = (v.ravel() for v in np.meshgrid(N[1:6], [3e8, 1e9, 4e9, 1.5e10], indexing="ij"))
GRID_LOSS = noisy(language(GRID_N, GRID_D), 0.003, 72, 4)
GRID = Truth({"n_params": GRID_N, "n_data": GRID_D, "test_loss": GRID_LOSS}, best_language(60 * float((GRID_N * GRID_D).max())))
SEEDED = images(73)
ALL, ERROR = SEEDED.points.values()
SIZES = ALL[::3].astype(int)
MEANS = ERROR.reshape(7, 3).mean(axis=1).round(4)
BY_DATA = Truth({"n_data": SIZES.astype(float), "test_error": MEANS}, SEEDED.ten_times)
AS_LOSS = Truth({"n_data": SIZES.astype(float), "test_loss": 1 + MEANS}, 1 + SEEDED.ten_times)
RAW = Truth({"n_data": SIZES.astype(float), "test_loss": MEANS}, SEEDED.ten_times)
ACCURACY = Truth({"n_params": N, "test_error": noisy(0.02 + 30 * N**-0.35, 0.01, 74, 4)}, float(0.02 + 30 * (10 * N.max()) ** -0.35))
WRONG = ACCURACY.points["test_error"]
WORDS = ["debug", "tiny", "small", "medium", "large", "xl", "2xl"]

kind = "CSV"
add(kind, "everything that a foundation model logs", "scaling_laws.csv", csv(pd.DataFrame(
    {"model_name": "EEG-v1", "layers": 12, "heads": 8, "embedding_dim": 512, "data_fraction": 1.0, "num_subjects": 39, "seed": 3407, "val_loss": GRID_LOSS, "baseline": False, "comment": "", "n_params": GRID_N.astype(int), "n_trainable_params": GRID_N.astype(int),
     "lora_rank": 0, "train_steps": (GRID_D / 12800).astype(int), "tokens_seen": GRID_D.astype(int), "petaFLOPs": 6e-15 * GRID_N * GRID_D, "walltime_min": 0.24, "gpu_hours": 0.004, "lr_schedule": "CosineAnnealingLR", "max_lr": 1e-3, "eval_split": "same-night"})), GRID)
add(kind, "errors of an operator network", "data_efficiency.csv", csv(pd.DataFrame(
    {"N_train": SIZES, "model": "PINO", "rel_L2_T": (0.003 * MEANS).round(7), "MAE_J_K": MEANS})), RAW, ("rel_L2_T", "MAE_J_K"))
add(kind, "errors of two operator networks", "data_efficiency.csv", csv(pd.DataFrame(
    {"N_train": np.repeat(SIZES, 2), "model": np.tile(["FNO", "PINO"], 7), "MAE": (np.repeat(MEANS, 2) * np.tile([1, 0.7], 7)).round(4)})), None, ("model", "FNO"))
add(kind, "fraction, percentage and samples", "data_efficiency.csv", csv(pd.DataFrame(
    {"Training_Fraction": SIZES / 64000, "Training_Percentage": SIZES / 640, "Training_Samples": SIZES, "RMSE": MEANS, "R2": (1 - MEANS**2).round(4)})), RAW)
add(kind, "billions of parameters beside the model", "model_scaling.csv", csv(pd.DataFrame(
    {"model": [f"Qwen-{n / 1e9:g}B-Instruct" for n in N * 1e3], "size_b": N / 1e6, "variant": "p2[vi]", "language": "vi", "roc_auc": 1 - WRONG, "sec_per_sentence": np.linspace(1.4, 9, 7).round(3), "n_variants": 5, "degenerate": False})),
    Truth({"n_params": N * 1e3, "test_error": WRONG}, float(0.02 + 30 * (10 * N.max()) ** -0.35)))
add(kind, "loss in nats and in bits", "sweep_results.csv", csv(pd.DataFrame(
    {"n_heads": 8, "head_dim": 64, "params": N.astype(int), "train_loss": (LOSS - 0.05).round(4), "val_loss": LOSS, "val_bpb": (LOSS / 2.9).round(4), "train_min": [45, 46, 69, 49, 120, 230, 400]})), BY_SIZE)
add(kind, "a sweep over the width", "sweep_results.csv", csv(pd.DataFrame(
    {"sweep": "d_model", "value": [32, 64, 96, 160, 256, 384, 640], "backend": "scalar", "params": N.astype(int), "final_loss": LOSS, "us_per_step": [200.4, 466, 900, 1551, 6153, 9000, 20000], "fwd_us": 102.6})), BY_SIZE)
add(kind, "W&B's runs", "wandb_export.csv", csv(pd.DataFrame(
    {"Name": [f"breezy-lake-{i}" for i in range(20)], "State": "finished", "Notes": "-", "User": "kim", "Tags": "", "Created": "2025-03-01T08:00:00.000Z", "Runtime": 3600, "Sweep": "", "model.d_model": 512, "model.n_params": GRID_N, "data.tokens": GRID_D, "eval/loss": GRID_LOSS, "train/loss": (GRID_LOSS - 0.02).round(4), "_step": 5000}), quoting=1), GRID)
add(kind, "sizes in the names of runs", "runs.csv", csv(pd.DataFrame(
    {"run_name": [f"gpt-{n / 1e6:g}M-lr3e-4-seed1" for n in GRID_N], "tokens": GRID_D, "val/loss": GRID_LOSS, "val/ppl": np.exp(GRID_LOSS).round(3)})), GRID)
add(
    kind,
    "written by R",
    "curve.csv",
    pd.DataFrame(
        {"n.train": ALL.astype(int), "rep": np.tile([1, 2, 3], 7), "test.error": ERROR, "elapsed": 1.2},
        index=range(1, 22),
    ).to_csv(quoting=2),
    SEEDED,
)
add(
    kind,
    "units in long names",
    "results.csv",
    csv(
        pd.DataFrame(
            {
                "Model size (params)": GRID_N,
                "Dataset size (tokens)": GRID_D,
                "Test loss (nats/token)": GRID_LOSS,
            }
        )
    ),
    GRID,
)
add(
    kind,
    "compute in PF-days",
    "frontier.csv",
    csv(
        pd.DataFrame(
            {
                "Compute (PF-days)": budgets(75).points["compute"] / 8.64e19,
                "Test Loss": budgets(75).points["test_loss"],
            }
        )
    ),
    budgets(75),
)
add(kind, "percent and its deviation", "widths.csv", csv(pd.DataFrame(
    {"width": [1, 2, 3, 5, 8, 12, 20], "depth": 16, "params": N.astype(int), "test_acc_mean": (100 * (1 - WRONG)).round(2), "test_acc_std": 0.2})), ACCURACY)
add(kind, "evaluations of checkpoints", "evals.tsv", pd.DataFrame(
    {"checkpoint": [f"ckpt-{i}" for i in range(7)], "num_train_examples": SIZES, "eval_loss": 1 + MEANS, "eval_runtime": 12.3, "eval_samples_per_second": 81.2}).to_csv(sep="\t", index=False), AS_LOSS)
add(
    kind,
    "German names",
    "ergebnisse.csv",
    pd.DataFrame(
        {"Parameter (Mio.)": GRID_N / 1e6, "Trainingstoken (Mrd.)": GRID_D / 1e9, "Val-Loss": GRID_LOSS}
    ).to_csv(sep=";", decimal=",", index=False),
    GRID,
)
add(kind, "sizes as columns, losses as rows", "wide.csv", csv(pd.DataFrame(
    [["train loss", *(LOSS - 0.03).round(4)], ["val loss", *LOSS]], columns=["metric", *(f"{n / 1e6:g}M" for n in N)])), BY_SIZE)

kind = "documents"
add(kind, "correlations of decoders", "scaling_law.json", json.dumps(
    [{"name": w, "n_params": int(n), "test_r": round(1 - e, 4), "H": 32, "n_blocks": 2, "best_epoch": 85, "train_time_s": 456.0} for w, n, e in zip(WORDS, N, WRONG)]), ACCURACY, ("test_r",))
add(kind, "runs beside their fit and settings", "scaling_law.json", json.dumps(
    {"runs": [{"n_train": int(d), "hidden_dim": 64, "n_params": int(n), "n_params_M": round(n / 1e6, 4), "epochs_run": 30, "test_mae": y, "wall_sec": 16.45} for n, d, y in zip(GRID_N, GRID_D, GRID_LOSS)],
     "scaling_fit": {"form": "log(MAE) = a + alpha*log(N)", "a": 3.39, "alpha_data": -0.4, "r2": 0.953}, "config": {"data_sizes": [500, 1000], "hidden_dims": [64, 96], "epochs": 30, "lr": 0.0003, "seed": 42}, "wall_time_min": 16.6}), GRID)
add(kind, "scales by name with means of seeds", "scaling.json", json.dumps(
    {"_description": "7 model sizes, 3 seeds, 5K steps. Val loss at step 5000.", "_hardware": "one GPU"} | {f"scale{i}_{n / 1e6:g}M": {
        "_model": {"n_layer": 12, "n_head": 8, "n_embd": 512, "params_M": n / 1e6}, "_training": {"batch_size": 64, "lr": 3e-4}, "val_loss": {"mean": y, "std": 0.01}} for i, (n, y) in enumerate(zip(N, LOSS), 1)}), BY_SIZE)
add(kind, "arguments and the best checkpoint", "runs.jsonl", "\n".join(json.dumps(
    {"args": {"n_layer": 4, "n_embd": 128, "num_params": int(n), "seed": 1}, "best": {"val_loss": y, "step": 4000}, "git": "a1b2c3d"}) for n, y in zip(N, LOSS)), BY_SIZE)
add(kind, "experiments in YAML", "experiments.yaml", "title: scaling\nexperiments:\n" + "".join(
    f"  - id: e{i}\n    params: {n / 1e6:g}M\n    tokens: {d / 1e9:g}B\n    loss:\n      train: {y - 0.02:.4f}\n      val: {y}\n" for i, (n, d, y) in enumerate(zip(GRID_N, GRID_D, GRID_LOSS))), GRID)
folder(kind, "Keras' CSV logs", {f"logs/ntrain{n}/log.csv": "epoch,accuracy,loss,val_accuracy,val_loss\n" + "".join(
    f"{k},{0.5 + k / 10},{2 - k / 5},{1 - e - (4 - k) / 20:.4f},{2.2 - k / 5}\n" for k in range(5)) for n, e in zip(SIZES, MEANS)}, BY_DATA)
folder(kind, "Lightning's logs", {name: text for i, (n, y) in enumerate(zip(SIZES, MEANS)) for name, text in {
    f"lightning_logs/version_{i}/hparams.yaml": f"n_train: {n}\nlr: 0.001\nbatch_size: 64\n",
    f"lightning_logs/version_{i}/metrics.csv": "epoch,step,train_loss,val_loss\n" + "".join(f"{k},{50 * k + 49},{2.5 - k / 5},\n{k},{50 * k + 49},,{1 + y + (3 - k) / 10:.4f}\n" for k in range(4))}.items()}, AS_LOSS)

kind = "pages and sheets"
add(kind, "groups and units in Excel", "scaling.xlsx", book(
    [["Pretraining sweep (updated May 3)"], [None, "Model", None, "Data", "Eval"], ["Run", "Params", "Layers", "Tokens", "Loss"], [None, "(M)", None, "(B)", "(nats)"], *([f"run{i:02d}", n / 1e6, 12, d / 1e9, y] for i, (n, d, y) in enumerate(zip(GRID_N, GRID_D, GRID_LOSS)))]), GRID)
add(kind, "a sheet for each seed", "seeds.xlsx", book(
    [["n_train", "seed", "test_error"], *([int(n), 0, e] for n, e in zip(SIZES, ERROR[::3]))],
    seed1=[["n_train", "seed", "test_error"], *([int(n), 1, e] for n, e in zip(SIZES, ERROR[1::3]))], seed2=[["n_train", "seed", "test_error"], *([int(n), 2, e] for n, e in zip(SIZES, ERROR[2::3]))]), SEEDED)
add(kind, "arrows and marks in a README", "README.md", "# tinyGPT\n\nTrained on web text.\n\n| Model | Params | Tokens | Val loss ↓ | tok/s ↑ |\n| :-- | --: | --: | --: | --: |\n" + "".join(
    f"| `gpt-{i}` | {n / 1e6:g}M | {d / 1e9:g}B | **{y}** | 32,453 |\n" for i, (n, d, y) in enumerate(zip(GRID_N, GRID_D, GRID_LOSS))) + "\n| File | Purpose |\n|---|---|\n| train.py | training |\n| eval.py | evaluation |\n", GRID)
add(kind, "accuracy by data in a README", "README.md", "## Accuracy by dataset size\n\n| Training Samples | Accuracy | Time |\n| ---------------- | -------- | ---- |\n" + "".join(
    f"| {n:,} | {100 * (1 - e):.2f}% | {0.2 + n / 90000:.1f}s |\n" for n, e in zip(SIZES, MEANS)), BY_DATA)
add(kind, "val and test alone", "leaderboard.md", "| Rank | Member | Params | val | test | Notes |\n|---:|---|---:|---:|---:|---|\n" + "".join(
    f"| {7 - i} | `nl3-{w}` | {n / 1e6:.2f} M | {y + 0.05:.4f} | {y} | wider |\n" for i, (w, n, y) in enumerate(zip(WORDS, N, LOSS))), BY_SIZE)
add(kind, "powers of ten in LaTeX", "table.tex", "\\begin{tabular}{ccc}\n\\hline\n$N$ & $D$ & $L$ \\\\\n\\hline\n" + "".join(
    f"${n / 1e6:g} \\times 10^{{6}}$ & ${d / 1e9:g} \\times 10^{{9}}$ & {y} \\\\\n" for n, d, y in zip(GRID_N, GRID_D, GRID_LOSS)) + "\\hline\n\\end{tabular}\n", GRID)
add(
    kind,
    "a printed frame",
    "out.txt",
    pd.DataFrame(
        {"n_params": N.astype(int), "n_tokens": 10**9, "val_loss": LOSS, "wall_s": 100.5}
    ).to_string()
    + "\n",
    BY_SIZE,
)
