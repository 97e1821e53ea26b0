"""Tables as five laboratories might keep them, written without a look at how they are read."""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
LM, VISION, FAMILY = grid(7), images(7), sizes(7)
N, D, LOSS = LM.points.values()
IMAGES, ERROR = VISION.points.values()
FAMILY_LOSS = FAMILY.points["test_loss"]
PERCENT = (100 * (1 - ERROR)).round(2)
MEANS = ERROR.reshape(7, 3).mean(axis=1).round(4)
MEAN_ERRORS = Truth({"n_data": EXAMPLES, "test_error": MEANS}, VISION.ten_times)

# --- a vision group at a university --------------------------------------------------------------------

kind = "vision"
add(kind, "spreadsheet of means and deviations", "resnet18.xlsx", book(
    [["ResNet-18, CIFAR-10"], ["N_train", "Acc. mean [%]", "Acc. std [%]", "# seeds"],
     *[[int(n), round(100 * (1 - e), 2), 0.4, 3] for n, e in zip(EXAMPLES, MEANS)]]), MEAN_ERRORS)
add(kind, "top-1 and top-5", "subset_sweep.csv", csv(pd.DataFrame(
    {"exp": range(1, 22), "n_images": IMAGES.astype(int), "rng": np.tile([11, 12, 13], 7), "val_top1": PERCENT,
     "val_top5": (50 + PERCENT / 2).round(2)})), VISION)
add(kind, "seeds as columns with their mean", "results.csv", csv(pd.DataFrame(
    {"train size": EXAMPLES.astype(int), "Seed 1": ERROR[0::3], "Seed 2": ERROR[1::3], "Seed 3": ERROR[2::3],
     "Mean": MEANS})), VISION)
EPOCHS = np.arange(1, 11)
add(kind, "log of epochs", "training_log.csv", csv(pd.DataFrame(
    [{"num_train_images": int(n), "seed": s, "epoch": int(k), "train_acc": 99.0,
      "val_acc": round(100 * (1 - e) - (10 - k) * 1.5, 2)}
     for (n, e), s in zip(zip(IMAGES, ERROR), np.tile([0, 1, 2], 7)) for k in EPOCHS])), VISION)
add(kind, "lists of seeds in JSON", "curve.json", json.dumps({"n_train": EXAMPLES.astype(int).tolist(), "test_error": ERROR.reshape(7, 3).tolist()}), VISION)
add(kind, "two architectures side by side", "compare.csv", csv(pd.DataFrame(
    {"#train": EXAMPLES.astype(int), "ResNet err": MEANS, "ViT err": (1.5 * MEANS).round(4)})),
    None, ("ResNet err", "ViT err"))

# --- a laboratory of large language models -------------------------------------------------------------

kind = "language"
add(kind, "sweep dump", "sweep_v3.csv", csv(pd.DataFrame(
    {"run_id": [f"v3-{i:04}" for i in range(20)], "model_dim": np.repeat([256, 512, 768, 1024, 2048], 4),
     "n_layers": np.repeat([6, 8, 12, 24, 24], 4), "non_emb_params": N.astype(int), "train_tokens": D.astype(int),
     "batch_tokens": 524288, "wallclock_h": (N * D / 1e17).round(3), "final_loss": LOSS})), LM)
add(kind, "letters", "fits.csv", csv(pd.DataFrame({"N": N, "D": D, "C": 6 * N * D, "L(N,D)": LOSS})), LM)
ISO = [(c, n) for c in (1e18, 1e19, 1e20) for n in np.geomspace(c**0.5 / 40, c**0.5 / 4, 6).round(-5)]
ISO_C, ISO_N = np.array(ISO).T
ISO_LOSS = noisy(language(ISO_N, ISO_C / 6 / ISO_N), 0.003, 9, 4)
ISO_TRUTH = Truth({"n_params": ISO_N, "n_data": ISO_C / 6 / ISO_N, "loss": ISO_LOSS}, best_language(1e21))
add(kind, "isoFLOP profiles", "isoflops.csv", csv(pd.DataFrame({"FLOP budget": ISO_C, "Params (M)": ISO_N / 1e6, "Loss": ISO_LOSS})), ISO_TRUTH)
add(
    kind,
    "two evaluation losses",
    "evals.csv",
    csv(pd.DataFrame({"params": N, "tokens": D, "c4_loss": LOSS, "pile_loss": (0.9 * LOSS).round(4)})),
    None,
    ("c4_loss", "pile_loss"),
)
add(kind, "JSON lines of a launcher", "runs.jsonl", "\n".join(json.dumps(
    {"id": i, "cfg": {"arch": {"layers": 12, "total_params": int(n)}, "train": {"token_budget": int(d), "lr": 3e-4}},
     "metrics": {"final": {"val_loss": float(y), "step_time": 0.4}}})
    for i, (n, d, y) in enumerate(zip(N, D, LOSS))), LM)
add(kind, "checkpoints", "ckpts.csv", csv(pd.DataFrame(
    [{"model": short(n), "step": 1000 * k, "tokens (B)": d / 1e9 * k / 5, "val/loss": round(y + (5 - k) * 0.1, 4)}
     for n, d, y in zip(PYTHIA, np.full(10, 300e9), FAMILY_LOSS) for k in range(1, 6)])),
    Truth({"n_params": np.repeat(PYTHIA, 5), "n_data": np.tile(300e9 * np.arange(1, 6) / 5, 10),
           "test_loss": np.concatenate([[round(y + (5 - k) * 0.1, 4) for k in range(1, 6)] for y in FAMILY_LOSS])},
          np.nan))

# --- authors of papers ----------------------------------------------------------------------------------

kind = "papers"
add(kind, "LaTeX with groups", "table2.tex", "\\begin{table}\n\\centering\n\\caption{Results}\n\\begin{tabular}{@{}llrr@{}}\n\\toprule\n"
    "Model & \\#Params & \\#Tokens & Loss $\\downarrow$ \\\\ \\midrule\n" + "".join(
    f"\\textsc{{Ours}}-{short(n)} & {short(n)} & {short(d)} & " + (f"\\textbf{{{y:.4f}}}" if i == 19 else f"{y:.4f}") + " \\\\\n"
    for i, (n, d, y) in enumerate(zip(N, D, LOSS))) + "\\bottomrule\n\\end{tabular}\n\\end{table}\n", LM)
add(kind, "README", "README.md", "# Ours\n\nWe release the following checkpoints.\n\n| Checkpoint | #Params | PPL ↓ |\n|:--|--:|--:|\n" + "".join(
    f"| [ours-{short(n).lower()}](https://example.org) | {short(n)} | {np.exp(y):.3f} |\n" for n, y in zip(PYTHIA, FAMILY_LOSS))
    + "\nLicence: MIT\n", Truth({"n_params": PYTHIA, "loss": np.log(np.exp(FAMILY_LOSS).round(3))}, FAMILY.ten_times))
add(kind, "appendix as CSV", "appendix_c.csv", "Table 7: all runs\nModel,Non-embedding parameters,Training tokens,Test loss (nats),Test loss (bpb)\n" + "".join(
    f"m{i},\"{n:,.0f}\",{short(d)},{y:.4f},{0.31 * y:.4f}\n" for i, (n, d, y) in enumerate(zip(N, D, LOSS)))
    + "\"Losses are averaged over the last 100 steps, see Section 3.\"\n", LM)
add(kind, "sizes by name", "t5.csv", csv(pd.DataFrame(
    {"Size": ["tiny", "mini", "small", "medium", "base", "large", "xl", "2xl", "3xl", "4xl"], "Parameters": [*map(short, PYTHIA)],
     "Pre-training loss": FAMILY_LOSS})), FAMILY)
add(
    kind,
    "YAML by model",
    "models.yaml",
    "".join(
        f"ours-{short(n).lower()}:\n  params: {n:.0f}\n  eval:\n    loss: {y}\n"
        for n, y in zip(PYTHIA, FAMILY_LOSS)
    ),
    FAMILY,
)
add(
    kind,
    "plain grid of losses",
    "grid.csv",
    "Validation loss,,,,\n,1B tokens,3B tokens,10B tokens,30B tokens\n"
    + "".join(
        f"{short(n)} params," + ",".join(f"{y}" for y in LOSS[4 * i : 4 * i + 4]) + "\n"
        for i, n in enumerate(MODELS)
    ),
    LM,
)

# --- speech and translation -------------------------------------------------------------------------------

kind = "speech"
HOURS = np.array([100, 200, 400, 800, 1600, 3200, 6400, 12800.0])
WER = noisy(image_error(HOURS), 0.01, 3, 4)
OF_HOURS = Truth({"n_data": HOURS, "test_error": WER}, float(image_error(128000.0)))
add(kind, "hours and WER", "asr.csv", csv(pd.DataFrame({"Hours": HOURS, "WER": (100 * WER).round(2)})), OF_HOURS)
add(kind, "hours and WER on two sets", "asr2.csv", csv(pd.DataFrame(
    {"train hours": HOURS, "test-clean WER": (100 * WER).round(2), "test-other WER": (220 * WER).round(2)})),
    None, ("test-clean WER", "test-other WER"))
PAIRS = 1e5 * 2.0 ** np.arange(8)
CE = noisy(1.5 + 40 * PAIRS**-0.3, 0.003, 4, 4)
add(
    kind,
    "sentence pairs",
    "mt.tsv",
    csv(pd.DataFrame({"#sentence pairs (M)": PAIRS / 1e6, "dev CE": CE}), separator="\t"),
    Truth({"n_data": PAIRS, "test_loss": CE}, float(1.5 + 40 * (10 * PAIRS.max()) ** -0.3)),
)
add(
    kind,
    "fraction of the data",
    "fraction.csv",
    csv(pd.DataFrame({"train_fraction": EXAMPLES / 64000, "dev_error": MEANS})),
    Truth({"n_data": EXAMPLES / 64000, "test_error": MEANS}, VISION.ten_times),
)
add(kind, "augmentation on and off", "aug.csv", csv(pd.DataFrame(
    {"train utterances": np.tile(EXAMPLES, 2).astype(int), "augment": [False] * 7 + [True] * 7,
     "dev_err": np.concatenate([MEANS, (0.8 * MEANS).round(4)])})), None, ("augment",))

# --- a company ----------------------------------------------------------------------------------------------

kind = "company"
add(kind, "W&B runs, some crashed", "wandb_export_2024.csv", csv(pd.DataFrame(
    {"Name": [f"stellar-sun-{i}" for i in range(20)], "State": ["crashed" if i in (2, 11) else "finished" for i in range(20)],
     "Runtime": 7200, "ID": [f"x{i:07}" for i in range(20)], "model_size": [*map(short, N)], "data.num_tokens": D, "optim.lr": 3e-4,
     "eval/val_loss": [np.nan if i in (2, 11) else y for i, y in enumerate(LOSS)], "system.gpu.0.temp": 61.0})),
    LM.rows(~np.isin(np.arange(20), [2, 11])))
add(kind, "leaderboard", "hub.csv", csv(pd.DataFrame(
    {"model_id": [f"org/ours-{short(n).lower()}" for n in PYTHIA], "params_b": PYTHIA / 1e9, "eval_loss": FAMILY_LOSS,
     "downloads": np.arange(10) * 137})), FAMILY)
add(kind, "metrics as rows", "metrics.csv", csv(pd.DataFrame(
    [{"run_uuid": f"{i:08x}", "num_params": n, "num_tokens": d, "key": key, "value": value}
     for i, (n, d, y) in enumerate(zip(N, D, LOSS)) for key, value in (("val_loss", y), ("train_loss", round(y - 0.1, 4)))])), LM)
add(kind, "shared sheet", "sheet.csv", csv(pd.DataFrame(
    {"Run #": range(1, 21), "# of params": [f"~{short(n)}" for n in N], "Tokens trained on": [f"{d / 1e9:g}B" for d in D],
     "Final eval loss": ["TBD" if i == 5 else y for i, y in enumerate(LOSS)], "Comments": ["restarted" if i % 6 == 0 else "" for i in range(20)]})),
    LM.rows(np.arange(20) != 5))
add(
    kind,
    "both sizes in the name",
    "names.csv",
    csv(
        pd.DataFrame(
            {"experiment": [f"gpt_{short(n)}_{short(d)}tok" for n, d in zip(N, D)], "val_loss": LOSS}
        )
    ),
    LM,
)
add(
    kind,
    "compute in larger units",
    "compute.csv",
    csv(
        pd.DataFrame(
            {
                "Compute (PF-days)": budgets(7).points["compute"] / 8.64e19,
                "Eval loss": budgets(7).points["test_loss"],
            }
        )
    ),
    budgets(7),
)
add(kind, "status column with a diverged run", "status.csv", csv(pd.DataFrame(
    {"params": N, "tokens": D, "val_loss": [11.2 if i == 7 else y for i, y in enumerate(LOSS)], "status": ["diverged" if i == 7 else "ok" for i in range(20)]})),
    LM.rows(np.arange(20) != 7))
