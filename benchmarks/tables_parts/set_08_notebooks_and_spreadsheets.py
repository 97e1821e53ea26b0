"""Tables as they come out of notebooks and spreadsheets; the numbers are our own.

The layouts were taken from public files called learning_curve, scaling_summary and scaling_law and from exports of
trackers, after set 7 had been read, and fixed before the first of these tables was.
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

N = np.array([2.4e6, 5.2e6, 11e6, 26e6, 64e6, 150e6, 410e6])
LOSS = noisy(by_size(N), 0.003, 81, 4)
BY_SIZE = Truth({"n_params": N, "test_loss": LOSS}, float(by_size(10 * N.max())))
GRID_N, GRID_D = (v.ravel() for v in np.meshgrid(N[1:6], [5e8, 2e9, 6e9, 2e10], indexing="ij"))
GRID_LOSS = noisy(language(GRID_N, GRID_D), 0.003, 82, 4)
GRID = Truth({"n_params": GRID_N, "n_data": GRID_D, "test_loss": GRID_LOSS}, best_language(60 * float((GRID_N * GRID_D).max())))
SEEDED = images(83)
ALL, ERROR = SEEDED.points.values()
SIZES = ALL[::3].astype(int)
MEANS = ERROR.reshape(7, 3).mean(axis=1).round(4)
BY_DATA = Truth({"n_data": SIZES.astype(float), "test_error": MEANS}, SEEDED.ten_times)
AS_LOSS = Truth({"n_data": SIZES.astype(float), "test_loss": 1 + MEANS}, 1 + SEEDED.ten_times)
RAW = Truth({"n_data": SIZES.astype(float), "test_loss": MEANS}, SEEDED.ten_times)
SEED3 = np.tile([0, 1, 2], 7)
SHORT = [f"{n / 1e6:g}M" for n in N]
BUDGETS = budgets(84)
C, C_LOSS = BUDGETS.points.values()

kind = "documents"
add(kind, "potentials of three kinds", "learning_curve.json", json.dumps(
    {"sizes": SIZES.tolist(), "models": {m: [{"size": int(n), "e_mae_mev_per_atom": round(k * e, 4)} for n, e in zip(SIZES, MEANS)] for m, k in (("bpnn", 1), ("linear", 1.4), ("morse", 2))}, "wall_seconds": 788.1}), None, ("bpnn",))
add(kind, "potentials of one kind", "learning_curve.json", json.dumps(
    {"models": {"bpnn": [{"n_train": int(n), "e_mae_mev_per_atom": e} for n, e in zip(SIZES, MEANS)]}, "wall_seconds": 788.1, "config": {"split_seed": 0, "hidden": [32, 32], "train": {"epochs": 50, "batch_size": 24}}}), RAW)
add(kind, "a baseline beside the network", "learning_curve.json", json.dumps(
    [{"fraction": n / 64000, "train_size": int(n), "epochs": 20, "baseline_val_accuracy": round(1 - 1.5 * e, 4), "transformer_val_accuracy": 1 - e} for n, e in zip(SIZES, MEANS)]), None, ("baseline_val_accuracy", "transformer_val_accuracy"))
add(
    kind,
    "rows beside a fit",
    "learning_curve.json",
    json.dumps(
        {
            "rows": [{"n": int(n), "acc": 1 - e, "secs": 2.21} for n, e in zip(SIZES, MEANS)],
            "fit": {"ceiling": 1033.2, "b": 1033.7, "c": 1e-4},
        }
    ),
    BY_DATA,
)
add(
    kind,
    "records with their index",
    "df.json",
    json.dumps(
        [{"index": i, "N": n, "D": d, "L": y} for i, (n, d, y) in enumerate(zip(GRID_N, GRID_D, GRID_LOSS))]
    ),
    GRID,
)
add(
    kind,
    "models by name in YAML",
    "models.yaml",
    "".join(
        f"gpt-{w}:\n  val_loss: {y}\n  tokens: 10000000000\n  date: 2025-01-02\n" for w, y in zip(SHORT, LOSS)
    ),
    BY_SIZE,
)
add(kind, "a log of several trainings", "train.jsonl", "\n".join(json.dumps({"run": f"lm-{w}", "n_params": int(n), "step": s, "tokens": 500000 * s, "train_loss": round(y + 300 / s - 0.1, 4), "val_loss": round(y + 300 / s - 0.03, 4) if s < 10000 else y})
    for w, n, y in zip(SHORT, N, LOSS) for s in range(1000, 10001, 1000)), BY_SIZE)
folder(kind, "two files a fine-tuning", {name: text for n, y in zip(SIZES, MEANS) for name, text in {
    f"out/samples_{n}/train_results.json": json.dumps({"epoch": 3.0, "train_loss": 0.4, "train_runtime": 301.2, "train_samples": int(n)}),
    f"out/samples_{n}/eval_results.json": json.dumps({"epoch": 3.0, "eval_loss": 1 + y, "eval_runtime": 12.1, "eval_samples": 872})}.items()}, AS_LOSS)

kind = "CSV"
add(
    kind,
    "series of a tokenizer",
    "scaling_law.csv",
    csv(
        pd.DataFrame(
            {
                "series": SHORT,
                "init_dim": [16, 18, 22, 32, 48, 64, 96],
                "num_blocks": [1, 2, 3, 4, 4, 6, 8],
                "num_params": N.astype(int),
                "loss": LOSS,
            }
        )
    ),
    BY_SIZE,
)
add(kind, "requested and used examples", "learning_curves.csv", csv(pd.DataFrame(
    {"dataset": "SAb", "target": "dev", "split": "random", "task": "classification", "head": "linear", "n_request": [str(int(n)) if n < 64000 else "all" for n in ALL], "n_train": ALL.astype(int), "seed": SEED3, "n_test": 603, "auc": 1 - ERROR, "degenerate": False, "r2": ""})), SEEDED)
add(kind, "W&B's chart", "chart.csv", csv(pd.DataFrame({"Step": range(100, 1001, 100)} | {k: v for w, y in zip(SHORT, LOSS) for k, v in {
    f"gpt-{w} - eval/loss": [round(y + 0.3 * (10 - i) / i, 4) for i in range(1, 11)], f"gpt-{w} - eval/loss__MIN": 1.0, f"gpt-{w} - eval/loss__MAX": 9.0}.items()}), quoting=1), BY_SIZE)
add(
    kind,
    "MLflow's runs",
    "runs.csv",
    csv(
        pd.DataFrame(
            {
                "run_id": [f"{i:032x}" for i in range(20)],
                "experiment_id": 3,
                "status": "FINISHED",
                "start_time": "2025-01-01 10:00:00+00:00",
                "metrics.val_loss": GRID_LOSS,
                "metrics.train_loss": (GRID_LOSS - 0.03).round(4),
                "params.n_params": GRID_N.astype(int),
                "params.n_tokens": GRID_D.astype(int),
                "params.lr": 0.0003,
                "tags.mlflow.runName": [f"run{i}" for i in range(20)],
            }
        )
    ),
    GRID,
)
add(kind, "letters with units", "nd.csv", csv(pd.DataFrame({"N (M)": GRID_N / 1e6, "D (B tokens)": GRID_D / 1e9, "val loss": GRID_LOSS})), GRID)
add(
    kind,
    "separated thousands",
    "big.csv",
    csv(
        pd.DataFrame(
            {
                "Parameters": [f"{int(n):,}" for n in GRID_N],
                "Training Tokens": [f"{int(d):,}" for d in GRID_D],
                "FLOPs": [f"{6 * n * d:.3e}" for n, d in zip(GRID_N, GRID_D)],
                "Final Loss": GRID_LOSS,
            }
        )
    ),
    GRID,
)
add(
    kind,
    "units as words in names",
    "summary.csv",
    csv(
        pd.DataFrame(
            {
                "model_params_millions": GRID_N / 1e6,
                "train_tokens_billions": GRID_D / 1e9,
                "eval_loss": GRID_LOSS,
            }
        )
    ),
    GRID,
)
add(
    kind,
    "logarithm of the FLOPs",
    "flops.csv",
    pd.DataFrame({"log10_flops": np.log10(C).round(4), "loss": C_LOSS}).to_csv(),
    Truth({"compute": 10 ** np.log10(C).round(4), "test_loss": C_LOSS}, BUDGETS.ten_times),
)
add(
    kind,
    "accuracies of seeds in columns",
    "seeds.csv",
    csv(
        pd.DataFrame(
            {"n_train": SIZES} | {f"acc_seed{s}": (100 * (1 - ERROR[s::3])).round(2) for s in range(3)}
        )
    ),
    SEEDED,
)
add(
    kind,
    "subsets of images",
    "subsets.csv",
    csv(
        pd.DataFrame(
            {
                "subset": [f"{n / 640:.1f}%" for n in SIZES],
                "images": SIZES,
                "top1": (100 * (1 - MEANS)).round(2),
                "top5": (100 * (1 - 0.3 * MEANS)).round(2),
            }
        )
    ),
    BY_DATA,
    ("top1", "top5"),
)
add(
    kind,
    "a rate in German",
    "fehler.csv",
    pd.DataFrame({"Trainingsbeispiele": SIZES, "Fehlerrate (%)": (100 * MEANS).round(2)}).to_csv(
        sep=";", decimal=",", index=False
    ),
    BY_DATA,
)
add(kind, "recognisers by size", "asr.tsv", pd.DataFrame({"model": [f"conf-{w}" for w in ("xs", "s", "m", "l", "xl", "xxl", "3xl")], "size_mb": (N / 2.5e5).round(), "params": N.astype(int), "WER": (100 * (0.02 + 30 * N**-0.35)).round(3)}).to_csv(sep="\t", index=False),
    Truth({"n_params": N, "test_error": (0.02 + 30 * N**-0.35).round(5)}, float(0.02 + 30 * (10 * N.max()) ** -0.35)))
add(
    kind,
    "a row of units",
    "units.csv",
    "params,tokens,loss\nM,B,nats\n"
    + "".join(f"{n / 1e6:g},{d / 1e9:g},{y}\n" for n, d, y in zip(GRID_N, GRID_D, GRID_LOSS)),
    GRID,
)
add(
    kind,
    "folds",
    "folds.csv",
    csv(pd.DataFrame({"train_n": ALL.astype(int), "fold": SEED3 + 1, "rmse": ERROR})),
    Truth({"n_data": ALL, "test_loss": ERROR}, SEEDED.ten_times),
)
add(
    kind,
    "learning rates at each size",
    "lr_sweep.csv",
    csv(
        pd.DataFrame(
            {
                "n_params": np.repeat(N.astype(int), 3),
                "lr": np.tile([1e-4, 3e-4, 1e-3], 7),
                "val_loss": (np.repeat(LOSS, 3) * np.tile([1.03, 1, 1.08], 7)).round(4),
            }
        )
    ),
    BY_SIZE,
)
add(
    kind,
    "precision, recall, F1",
    "ner.csv",
    csv(
        pd.DataFrame(
            {
                "NumSamples": SIZES,
                "Precision": (1 - 0.9 * MEANS).round(4),
                "Recall": (1 - 1.1 * MEANS).round(4),
                "F1": 1 - MEANS,
            }
        )
    ),
    BY_DATA,
)

kind = "pages and sheets"
add(kind, "means beside raw rows in Excel", "book.xlsx", book([["n_train", "mean_error", "std"], *([int(n), m, 0.004] for n, m in zip(SIZES, MEANS))],
    Raw=[["n_train", "seed", "test_error"], *([int(n), int(s), e] for n, s, e in zip(ALL, SEED3, ERROR))]), SEEDED, ("Raw",))
add(
    kind,
    "groups apart in Excel",
    "groups.xlsx",
    book(
        [
            ["Model", "Params", "Tokens", "Val loss", "Notes"],
            *(
                row
                for i, (n, d, y) in enumerate(zip(GRID_N, GRID_D, GRID_LOSS))
                for row in ([[None] * 5] if i and i % 4 == 0 else [])
                + [[f"m{i // 4}", n, d, y, "ok" if i % 3 else "resumed"]]
            ),
        ]
    ),
    GRID,
)
add(
    kind,
    "sizes across in Markdown",
    "page.md",
    "## Scaling\n\n| | "
    + " | ".join(SHORT)
    + " |\n|---|"
    + "---|" * 7
    + "\n| Val loss | "
    + " | ".join(map(str, LOSS))
    + " |\n",
    BY_SIZE,
)
add(
    kind,
    "shares with counts in brackets",
    "page.md",
    "| Data | Accuracy |\n|---|---|\n"
    + "".join(f"| {n / 640:.1f}% ({n:,}) | {100 * (1 - e):.2f}% |\n" for n, e in zip(SIZES, MEANS)),
    BY_DATA,
    ("Data",),
)
add(
    kind,
    "errors in LaTeX",
    "tab.tex",
    "\\begin{tabular}{lcc}\\toprule\nModel & \\#Params & Val.\\ loss ($\\downarrow$) \\\\ \\midrule\n"
    + "".join(f"LM-{i} & {w} & ${y} \\pm 0.008$ \\\\\n" for i, (w, y) in enumerate(zip(SHORT, LOSS)))
    + "\\bottomrule\\end{tabular}\n",
    BY_SIZE,
)
add(kind, "sentences", "notes.txt", "".join(f"lm-{i}: {w} params, val loss {y}\n" for i, (w, y) in enumerate(zip(SHORT, LOSS))), BY_SIZE)
