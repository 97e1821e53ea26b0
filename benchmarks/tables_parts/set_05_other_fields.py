"""Tables of other fields and tools, laid out as repositories not seen before keep them; the numbers are our own.

They were written after set 4 had been read, and fixed before the first of them was.
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

WORDS = ["1m", "3m", "12m", "34m", "88m", "210m", "650m"]
SIZE = np.array([1e6, 3e6, 12e6, 34e6, 88e6, 210e6, 650e6])
SIZE_LOSS = noisy(by_size(SIZE), 0.003, 51, 4)
BY_SIZE = Truth({"n_params": SIZE, "test_loss": SIZE_LOSS}, float(by_size(10 * SIZE.max())))
EXACT = np.array([1_377_408, 3_541_440, 12_391_296, 33_827_328, 88_492_800, 211_004_416, 652_120_064])
EXACT_LOSS = noisy(by_size(EXACT.astype(float)), 0.003, 52, 4)
BY_EXACT = Truth({"n_params": EXACT.astype(float), "test_loss": EXACT_LOSS}, float(by_size(10.0 * EXACT.max())))
NAMES = ["tiny", "small", "medium", "large", "xl", "xxl", "huge"]
GRID_N, GRID_D = (v.ravel() for v in np.meshgrid([12e6, 34e6, 88e6, 210e6, 650e6], [0.5e9, 2e9, 8e9, 32e9], indexing="ij"))
GRID_LOSS = noisy(language(GRID_N, GRID_D), 0.003, 53, 4)
GRID = Truth({"n_params": GRID_N, "n_data": GRID_D, "test_loss": GRID_LOSS}, best_language(60 * float((GRID_N * GRID_D).max())))
GRID_WORDS = np.repeat(["12m", "34m", "88m", "210m", "650m"], 4)
SEEDED = images(54)
EXAMPLES3, ERROR = SEEDED.points.values()
EXAMPLES = EXAMPLES3[::3]
MEANS = ERROR.reshape(7, 3).mean(axis=1).round(4)
MEAN_ERRORS = Truth({"n_data": EXAMPLES, "test_error": MEANS}, SEEDED.ten_times)
SEED3 = np.tile([0, 1, 2], 7)

kind = "runs by name"
add(kind, "two parametrisations in one summary", "final_summary.json", json.dumps(
    {"vocab_size": 4096, "seq_len": 512, "best_lr_sp": 0.00316, "test_perplexity": 2.617,
     "sp_scaling": {s: {"n_params": int(n), "val_loss": y} for s, n, y in zip(NAMES, EXACT, EXACT_LOSS)},
     "mup_scaling": {s: {"n_params": int(n), "val_loss": round(0.9 * y, 4)} for s, n, y in zip(NAMES, EXACT, EXACT_LOSS)},
     "power_law_sp": {"alpha": 0.2, "a": 60.0, "c": 1.8}}), None, ("sp_scaling", "mup_scaling"))
add(kind, "a summary with the runs inside", "summary.json", json.dumps(
    {"vocab_size": 4096, "best_lr": 0.003, "scaling": {s: {"params": float(n), "val_loss": y} for s, n, y in zip(NAMES, EXACT, EXACT_LOSS)}}, indent=1), BY_EXACT)
folder(kind, "one evaluation a file, the size in its name", {f"results/{w}_eval.json": json.dumps(
    {"perplexity": float(np.exp(y)), "avg_loss": y, "test_tokens": 4700187, "xml_rate": 0.0, "render_rate_overall": 0.0})
    for w, y in zip(WORDS, SIZE_LOSS)}, BY_SIZE)
folder(kind, "a folder a size with its history", {f"scaling/{s}/metrics.json": json.dumps(
    {"model": s, "num_parameters": int(n), "val_loss": y, "train_losses": [round(y + 2 / k, 3) for k in range(1, 90)], "wall_time": 391.2, "peak_gpu_gb": 3.1})
    for s, n, y in zip(NAMES, EXACT, EXACT_LOSS)}, BY_EXACT)
folder(kind, "Trainer states, the size in the folder", {f"gpt-{w}/trainer_state.json": json.dumps(
    {"best_metric": y, "epoch": 1.0, "global_step": 4000, "log_history": [
        row for s in (1000, 2000, 3000, 4000) for row in ({"epoch": s / 4000, "loss": y + 0.1, "learning_rate": 1e-4, "step": s},
                                                          {"epoch": s / 4000, "eval_loss": y + 2 * (1 - s / 4000), "eval_runtime": 12.1, "step": s})]})
    for w, y in zip(WORDS, SIZE_LOSS)}, BY_SIZE)
folder(kind, "Sacred", {name: text for i, (n, y) in enumerate(zip(EXACT, EXACT_LOSS)) for name, text in {
    f"sacred/{i + 1}/config.json": json.dumps({"n_params": int(n), "lr": 0.001, "seed": 7}),
    f"sacred/{i + 1}/metrics.json": json.dumps({"test.loss": {"steps": [10, 20, 30], "timestamps": ["2024-01-01T00:00:00"] * 3, "values": [y + 1, y + 0.4, y]}})}.items()}, BY_EXACT)

kind = "exports"
add(kind, "W&B with the perplexity of two corpora", "moe.csv", csv(pd.DataFrame(
    {"Name": [f"dense.{i}" for i in range(20)], "State": "finished", "Created": "2024-02-25T10:16:21.000Z", "Runtime": 160, "train/avg_loss_AVG": GRID_LOSS,
     "eval/ppl//data/text_eval/c4.jsonl": np.exp(GRID_LOSS).round(3), "eval/ppl//data/text_eval/wikipedia.jsonl": np.exp(1.1 * GRID_LOSS).round(3),
     "optim.lr": 0.004, "n_params": GRID_N, "optim/n_tokens": GRID_D}), quoting=1), None, ("c4", "wikipedia"))
add(kind, "W&B with batch and model in the name", "dense.csv", csv(pd.DataFrame(
    {"Name": [f"dense_bsz1M.ngpu16_20240225.model-{w}.lr_4e-3" for w in GRID_WORDS], "State": "finished", "Runtime": 160, "eval/ppl/c4": np.exp(GRID_LOSS).round(5),
     "optim.lr": 0.004, "torch_seed": 0, "steps": (GRID_D / 1048576).astype(int), "optim/n_tokens": GRID_D, "train/wps": 170511.7}), quoting=1), GRID)
add(kind, "DVC's experiments", "exp.csv", csv(pd.DataFrame(
    {"Experiment": [f"exp-{i:05x}" for i in range(21)], "rev": [f"{i * 7919:07x}" for i in range(21)], "typ": "branch_commit", "Created": "2024-06-01T10:00:00", "parent": "",
     "metrics.json:test.error": ERROR, "metrics.json:train.error": 0.001, "params.yaml:data.n_train": EXAMPLES3.astype(int), "params.yaml:seed": SEED3, "params.yaml:lr": 0.1})), SEEDED)
add(kind, "Comet's table", "comet.csv", csv(pd.DataFrame(
    {"Name": [f"jolly_otter_{i}" for i in range(21)], "Experiment Key": [f"{i:016x}" for i in range(21)], "Server end time": "2024-05-01 10:00", "train_set_size": EXAMPLES3.astype(int),
     "random_state": SEED3, "test_acc": (1 - ERROR).round(4), "val_acc": (1 - ERROR * 1.02).round(4), "duration": 611})), SEEDED)
add(kind, "scikit-learn's learning curve", "learning_curve.json", json.dumps(
    {"train_sizes": EXAMPLES.astype(int).tolist(), "train_scores": [[0.99, 0.98, 0.99]] * 7, "test_scores": (1 - ERROR.reshape(7, 3)).round(4).tolist()}), SEEDED)

kind = "fields"
add(
    kind,
    "molecules and meV",
    "qm9.csv",
    csv(pd.DataFrame({"n_molecules": EXAMPLES.astype(int), "MAE (meV)": (1000 * MEANS).round(1)})),
    MEAN_ERRORS.times(1000),
)
add(
    kind,
    "weather: parameters and RMSE",
    "z500.csv",
    csv(
        pd.DataFrame(
            {"Params (M)": EXACT / 1e6, "RMSE z500": EXACT_LOSS, "GPU hours": [12, 20, 51, 90, 200, 410, 999]}
        )
    ),
    BY_EXACT,
)
add(kind, "proteins: sequences in millions", "plm.tsv", pd.DataFrame({"model": "esm-35M", "seqs (M)": EXAMPLES / 1000, "val ppl": np.exp(1 + MEANS).round(5)}).to_csv(sep="\t", index=False),
    Truth({"n_data": EXAMPLES * 1000, "test_loss": 1 + MEANS}, 1 + SEEDED.ten_times))
add(
    kind,
    "robots: demonstrations and success",
    "bc.csv",
    csv(
        pd.DataFrame(
            {
                "# demos": EXAMPLES.astype(int),
                "success rate (%)": (100 * (1 - MEANS)).round(2),
                "episodes evaluated": 50,
            }
        )
    ),
    MEAN_ERRORS,
)
add(kind, "CLIP: samples seen", "clip.csv", csv(pd.DataFrame({"arch": "ViT-B-32", "samples_seen": EXAMPLES * 1e6, "imagenet1k_acc1": (1 - MEANS).round(4), "lr": 0.0005})),
    Truth({"n_data": EXAMPLES * 1e6, "test_error": MEANS}, SEEDED.ten_times))
add(
    kind,
    "tabular: folds of cross-validation",
    "cv.csv",
    csv(
        pd.DataFrame(
            {
                "train_rows": EXAMPLES.astype(int),
                "rmse_cv_mean": MEANS,
                "rmse_cv_std": 0.01,
                "fit_time": np.linspace(1, 70, 7).round(1),
            }
        )
    ),
    MEAN_ERRORS,
)
add(kind, "speech in hours", "asr.csv", csv(pd.DataFrame({"Training data (hours)": EXAMPLES.astype(int), "WER (%)": (100 * MEANS).round(2), "CER (%)": (40 * MEANS).round(2)})),
    MEAN_ERRORS, ("WER", "CER"))
add(
    kind,
    "images restored, in dB",
    "denoise.csv",
    csv(pd.DataFrame({"training images": EXAMPLES.astype(int), "PSNR (dB)": (40 - 20 * MEANS).round(2)})),
    None,
    ("PSNR",),
)
add(
    kind,
    "returns of agents",
    "rl.csv",
    csv(
        pd.DataFrame(
            {"env_steps": EXAMPLES * 1e4, "mean_return": (900 * (1 - MEANS)).round(1), "std_return": 12.0}
        )
    ),
    None,
    ("mean_return",),
)
add(
    kind,
    "learning rates of one model",
    "lr_sweep.csv",
    "lr,val_loss,n_params\n0.0001,2.26,1761792\n0.0003,1.88,1761792\n0.001,1.51,1761792\n0.003,1.32,1761792\n0.01,1.18,1761792\n",
    None,
    ("no size varies",),
)
add(kind, "names in Chinese", "结果.csv", csv(pd.DataFrame({"参数量(M)": GRID_N / 1e6, "训练token数(B)": GRID_D / 1e9, "验证loss": GRID_LOSS})), GRID)

kind = "texts"
add(
    kind,
    "a line a run",
    "runs.txt",
    "\n".join(
        f"params: {w.upper()} | tokens: {d / 1e9:g}B | val loss: {y}"
        for w, d, y in zip(GRID_WORDS, GRID_D, GRID_LOSS)
    ),
    GRID,
)
add(kind, "printed by pandas", "printed.txt", pd.DataFrame({"n_train": EXAMPLES3.astype(int), "seed": SEED3, "test_error": ERROR}).to_string(), SEEDED)
add(
    kind,
    "org-mode",
    "table.txt",
    "| Params | Tokens | Loss |\n|--------+--------+------|\n"
    + "\n".join(f"| {w.upper()} | {d / 1e9:g}B | {y} |" for w, d, y in zip(GRID_WORDS, GRID_D, GRID_LOSS))
    + "\n",
    GRID,
)
add(
    kind,
    "R's write.table",
    "from_r.txt",
    '"n_train" "seed" "test_error"\n'
    + "\n".join(f'"{i}" {int(n)} {s} {e}' for i, (n, s, e) in enumerate(zip(EXAMPLES3, SEED3, ERROR), 1)),
    SEEDED,
)
add(
    kind,
    "comments of MATLAB",
    "curve.dat.txt",
    "% N_train   test_err   std\n"
    + "\n".join(f"{n:.0f}   {e:.4f}   0.0040" for n, e in zip(EXAMPLES, MEANS)),
    MEAN_ERRORS,
)
add(
    kind,
    "tidy rows with settings in words",
    "key_results.csv",
    csv(
        pd.DataFrame(
            {
                "experiment": "mlp",
                "setting": [f"n={int(n)}" for n in EXAMPLES],
                "metric": "test_error",
                "value": MEANS,
            }
        )
    ),
    MEAN_ERRORS,
)
add(
    kind,
    "epochs as rows, data sets as columns",
    "val_loss.csv",
    csv(
        pd.DataFrame(
            {
                "epoch": [1, 2, 3, 4],
                **{
                    f"n={int(n)}": [round(e + 0.3, 4), round(e + 0.1, 4), round(e + 0.02, 4), e]
                    for n, e in zip(EXAMPLES, MEANS)
                },
            }
        )
    ),
    MEAN_ERRORS,
)
folder(
    kind,
    "settings in file names",
    {
        f"logs/trainsize{int(n)}_seed{s}.csv": csv(
            pd.DataFrame({"epoch": [1, 2, 3], "val_error": [round(e + 0.2, 4), round(e + 0.05, 4), e]})
        )
        for n, s, e in zip(EXAMPLES3, SEED3, ERROR)
    },
    SEEDED,
)
