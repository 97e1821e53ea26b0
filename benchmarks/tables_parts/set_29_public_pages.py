"""Thirty tables of a January: layouts met in public repositories, tools' files, sheets and notes; the numbers are our own.

About half take their columns from pages and scripts of public repositories. Written after the heads of other sets and
before a look at what reads them; committed before the first of them was read. Changed afterwards: two corpora in names
of runs may be refused by what the names have beside their numbers.
"""

import io
import json

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
MODELS = np.array([11e6, 29e6, 76e6, 185e6, 460e6])
LADDER = np.array([940_800.0, 2_890_752, 7_344_128, 19_021_056, 48_660_480, 124_439_808])
TOKENS = np.array([0.8e9, 2.4e9, 8e9, 25e9])
SUBSETS = np.array([83.0, 414, 828, 2070, 4140, 8280])
IMAGES = np.array([1000.0, 2500, 5000, 10000, 20000, 50000])

def surface(seed, models=MODELS[:4], tokens=TOKENS, digits=4):
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, models, tokens, lambda n, d: 1.81 + 350 * n**-0.33 + 430 * d**-0.282, digits)

def family(seed, digits=4, models=LADDER):
    """Losses by parameters."""
    return line(seed, models, 1.7, 44.0, 0.21, digits, 0.003, "n_params")

def images(seed, repeats=1, sizes=IMAGES):
    """Errors by training images."""
    return line(seed, np.repeat(sizes, repeats), 0.04, 5.1, 0.42)

# --- pages of repositories ---------------------------------------------------------------------------------

t = family(1101)
n, loss = columns(t)
add("pages", "losses, perplexity and bits per character, footnoted, speeds", "REPORT.md",
    "## 4. Controlled experiment\n\nTarget training tokens: 10,240,000\n\n" + "| Model | Params | Tokens | Train Loss | Val Loss | Val PPL | Val BPC | Tokens/sec | Training Time |\n| :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    + "".join(f"| **Model {'ABCDEF'[k]} (Phase 5{'CD'[k % 2]})** | {int(a):,} | 10.24M | {c - 0.04:.4f} | {c:.4f} | {np.exp(c):.4f} | {c / 1.34:.4f}* | {6152.48 / (k + 1):,.2f} | {27.74 * (k + 1):.2f} min |\n" for k, (a, c) in enumerate(zip(n, loss))) + "\n\\* of the validation text without spaces\n", t)

t = line(1102, SUBSETS, 0.31, 2.1, 0.37)
n, err = columns(t)
add("pages", "exact match by share of the training data", "results.md",
    "Controlled setting: one encoder, identical training budget.\n\n" + markdown(["Training data", "Examples", "EM (%)", "SQL valid (%)", "Epochs", "Train (min)"], [[f"{p}% of training data", f"{int(a):,}", f"{100 * (1 - c):.2f}", v, e, m] for p, a, c, v, e, m in zip((1, 5, 10, 25, 50, 100), n, err, (53.0, 77.3, 83.4, 86.6, 87.6, 92.4), (200, 89, 63, 40, 24, 20), (4.3, 7.1, 11.5, 19.4, 37, 51.8))]),
    t, choices=("EM", "SQL valid"))

t = line(1103, np.array([26e6, 131e6, 262e6, 524e6, 786e6, 1e9]), 0.78, 61.0, 0.27, 3, 0.002)
n, loss = columns(t)
add("pages", "one run: tokens seen, bits per byte, gap", "README.md",
    "## 5. Main run\n\nPeak LR 3e-3, 200 warmup updates, cosine decay. Evaluation every 100 updates.\n\n" + markdown(["Tokens seen", "Val bpb", "Train bpb (held-in)", "Gap"], [[f"{a / 1e6:,.0f} M", f"{c:.3f}", f"{c + 0.003 * s:.3f}", f"{'−' if s > 0 else ''}0.003"] for a, c, s in zip(n, loss, (1, -1, 1, 1, -1, 1))]), t)

t = line(1104, np.array([2e8, 5e8, 1.2e9, 3e9, 8e9, 2e10]), 2.2, 3100.0, 0.41)
n, loss = columns(t)
add("pages", "checkpoints with benchmarks beside the loss", "TRAINING.md",
    markdown(["Checkpoint (iter)", "Tokens Seen", "Val Loss", "HellaSwag (500)", "LAMBADA (1000)"], [[f"{int(a / 262144):,}", f"{a / 1e9:g}B", f"{c:.4f}", f"{29 + k}.{k}%", f"{24 + 2 * k}.0%"] for k, (a, c) in enumerate(zip(n, loss))]), t)

t = surface(1105)
n, d, loss = columns(t)
add("pages", "a ladder of presets with planned hours", "ladder.md",
    "### Ladder\n\n`python -m lm presets` prints this table from the live configs:\n\n" + markdown(["preset", "priority", "params", "tokens", "T4 h", "v5e-1 h", "final val loss"], [[f"chat-{short(a)}", "1 talking", f"{a / 1e6:.1f} M", f"{b / 1e6:,.0f} M", round(a * b / 1e16, 1), round(a * b / 2e17, 2), c] for a, b, c in zip(n, d, loss)]), t)

t = line(1106, np.array([1e16, 3e16, 1e17, 3e17, 1e18, 3e18, 1e19]), 1.9, 480.0, 0.155, 4, 0.003, "compute")
c, loss = columns(t)
add("pages", "the best model of each budget", "isoflop_optima.md",
    markdown(["budget C (FLOPs)", "best shape", "hidden", "layers", "peak LR", "L_min"], [[f"{a:.0e}", f"s{k}", 192 + 64 * k, 5 + k, f"{0.006 / (k + 1):.1e}", f"{b:.4f}"] for k, (a, b) in enumerate(zip(c, loss))]), t)

# --- scripts' files ------------------------------------------------------------------------------------------

t = images(1107, 3)
n, err = columns(t)
add("scripts", "train and test sizes, accuracy, F1 and area", "summary_full.csv",
    csv([["Model", "Seed", "Train_Size", "Test_Size", "Accuracy"], *(["gcn", k % 3, int(a), 12000, f"{1 - c:.4f}"] for k, (a, c) in enumerate(zip(n, err)))]), t)

t = line(1108, np.repeat([120.0, 240, 480, 960, 1920, 3840], 2), 31.0, 900.0, 0.5, 2, 0.004)
n, err = columns(t)
add("scripts", "two lines of comments, root mean squares with a unit in the name", "by_site.csv",
    "# hardware=cpu-x86\n# generated=2026-01-07 dataset=clear_sky.parquet\nheld_out_site,n_samples,rmse_wm2,fit_seconds\n" + "".join(f"{('Cabauw', 'Tateno')[k % 2]},{int(a)},{c},{a / 700:.1f}\n" for k, (a, c) in enumerate(zip(n, err))), t)

t = surface(1109)
n, d, loss = columns(t)
add("scripts", "a dictionary of runs with metrics and flags", "ladder.json",
    json.dumps({"meta": {"tokenizer": "gpt2", "seq_len": 1024}, "results": {f"ladder-{short(a)}-{b / a:.0f}x": {"N": int(a), "D": int(b), "status": "ok", "final": {"val_loss": c, "step": int(b // 524288)}, "is_best": False} for a, b, c in zip(n, d, loss)}}, indent=1), t)

t = surface(1110, digits=3)
n, d, loss = columns(t)
add("scripts", "marked holdout and train rows", "points.csv",
    csv([["params", "tokens", "loss", "split"], *([int(a), int(b), c, "holdout" if b == TOKENS[-1] else "train"] for a, b, c in zip(n, d, loss))]), t, choices=("split",))

t = family(1111)
n, loss = columns(t)
add("scripts", "a result line in each log, with parameters as p", "all.log",
    "".join(f"[{k:02d}:14:09] building {w}\n    {w} ({int(a):,}p): best={c:.4f} last={c + 0.002:.4f} ({61 * (k + 1)}s)\n" for k, (w, a, c) in enumerate(zip(("xs", "s", "m", "l", "xl", "xxl"), n, loss))), t, choices=("best", "last"))

t = images(1112)
n, err = columns(t)
add("scripts", "a frame with an index saved as JSON, by columns", "df.json",
    pd.DataFrame({"n_labeled": n.astype(int), "backbone": "vit-s", "linear_probe_acc": (100 * (1 - err)).round(2)}).to_json(), t)

# --- trackers -----------------------------------------------------------------------------------------------

t = surface(1113)
n, d, loss = columns(t)
add("trackers", "W&B's runs with JSON in their cells", "wandb.csv",
    pd.DataFrame({"name": [f"run-{k}" for k in range(len(n))], "config": [json.dumps({"model_params": int(a), "total_tokens": int(b), "lr": 0.001}) for a, b in zip(n, d)], "summary": [json.dumps({"val/loss": float(c), "train/loss": float(round(c - 0.03, 4)), "_step": 4000}) for c in loss]}).to_csv(index=False), t)

t = images(1114, 2)
n, err = columns(t)
add("trackers", "Optuna-like trials with states", "trials.csv",
    csv([["number", "value", "datetime_start", "duration", "params_n_train", "params_seed", "state"], *([k, c, f"2026-01-05 0{k % 10}:00:00", "0 days 00:10:11", int(a), k % 2, "COMPLETE"] for k, (a, c) in enumerate(zip(n, err))), [len(n), "", "2026-01-05 23:00:00", "", 50000, 2, "FAIL"]]), t)

t = family(1115, models=LADDER[1:])
n, loss = columns(t)
folder("trackers", "trainer_state files of a folder a model", {f"gpt-{short(round(a, -5))}/trainer_state.json": json.dumps({"epoch": 1.0, "global_step": 1000, "log_history": [{"step": 100 * i, "loss": round(v + 0.05, 4), "learning_rate": 3e-4} for i, v in enumerate(falling(float(c)))] + [{"step": 100 * i, "eval_loss": v, "eval_runtime": 3.1} for i, v in enumerate(falling(float(c)))]}) for a, c in zip(n, loss)}, Truth({"n_params": np.round(n, -5), "test_loss": loss}, t.ten_times))

# --- sheets -------------------------------------------------------------------------------------------------

t = surface(1116, digits=3)
n, d, loss = columns(t)
add("sheets", "model merged over its rows, summary below", "Grid 12-01.xlsx",
    book([["Model size", "Tokens", "Valid loss", "Δ to previous"], *([short(a) if k % 4 == 0 else None, short(b), c, None if k % 4 == 0 else round(float(c - loss[k - 1]), 3)] for k, (a, b, c) in enumerate(zip(n, d, loss))), [None] * 4, ["Average", None, round(float(loss.mean()), 3), None]]), t)

t = images(1117, 4)
n, err = columns(t)
add("sheets", "four repeats across, with their mean and deviation, in percent", "Wiederholungen.csv",
    csv([["Trainingsbilder", "Lauf 1", "Lauf 2", "Lauf 3", "Lauf 4", "Mittel", "Std"], ["", *["Fehler [%]"] * 4, "", ""], *([int(a), *(comma(100 * v, 2) for v in r), comma(100 * r.mean(), 2), comma(100 * r.std(ddof=1), 2)] for a, r in zip(n[::4], err.reshape(-1, 4)))], ";"), t)

t = surface(1118, MODELS[:4], TOKENS[:3], 3)
n, d, loss = columns(t)
add("sheets", "a pasted pivot with both names in a corner, some not run", "pivot.tsv",
    csv([["N \\ D", *(f"{b / 1e9:g}B" for b in TOKENS[:3])], *([f"{a / 1e6:g}M", *("" if (i, j) == (3, 2) else v for j, v in enumerate(r))] for i, (a, r) in enumerate(zip(MODELS, loss.reshape(4, 3))))], "\t"), t.rows(np.arange(12) != 11))

t = family(1119)
n, loss = columns(t)
add("sheets", "planned runs below finished ones", "plan.csv",
    csv([["id", "size", "d_model", "# params (total)", "eval CE", "status"], *([k, w, 64 * 2**k, f"{int(a):,}".replace(",", " "), c, "done"] for k, (w, a, c) in enumerate(zip(("xs", "s", "m", "l", "xl", "xxl"), n, loss))), [6, "3xl", 4096, "350 000 000", "", "planned"], [7, "4xl", 6144, "800 000 000", "TBD", "planned"]]), t)

# --- papers -------------------------------------------------------------------------------------------------

t = family(1120, 3, MODELS)
n, loss = columns(t)
add("papers", "counts in powers of ten, errors after the values", "tab3.tex",
    "\\begin{tabular}{@{}lccc@{}}\n\\hline\nModel & Params & Heads & Test loss (nats) \\\\\n\\hline\n" + "".join(f"\\textsc{{T-{k}}} & ${a / 10 ** int(np.log10(a)):g}\\times10^{{{int(np.log10(a))}}}$ & {2 * k + 4} & ${c:.3f}_{{\\pm .00{k + 2}}}$ \\\\\n" for k, (a, c) in enumerate(zip(n, loss))) + "\\hline\n\\end{tabular}\n", t)

t = images(1121, sizes=np.array([12811.0, 25622, 64055, 128117, 320292, 640583, 1281167]))
n, err = columns(t)
add("papers", "top-1 and top-5 accuracy by shares of a known data set", "imagenet.csv",
    csv([["fraction of ImageNet-1k", "#images", "top-1", "top-5"], *([f"{100 * a / 1281167:.0f}%", int(a), f"{100 * (1 - c):.2f}", f"{100 * (1 - c / 3):.2f}"] for a, c in zip(n, err))]), t)

t = family(1122)
n, loss = columns(t)
add("papers", "dense and sparse models under two headings", "table.md",
    "| | Active params | Eval loss |\n|---|---|---|\n| *Dense* | | |\n" + "".join(f"| d{k} | {short(round(a, -4))} | {c:.4f} |\n" for k, (a, c) in enumerate(zip(n, loss))) + "| *MoE (8 experts)* | | |\n" + "".join(f"| e{k} | {short(round(a, -4))} | {0.9 * c:.4f} |\n" for k, (a, c) in enumerate(zip(n, loss))), choices=("Dense", "MoE"))

t = line(1123, np.array([1.0, 3, 10, 30, 100, 300]) * 1e3, 7.2, 260.0, 0.46, 2, 0.004)
n, err = columns(t)
add("papers", "word error rates by hours of speech", "asr.csv",
    csv([["hours of training speech", "WER (%)", "CER (%)"], *([f"{a / 1e3:g}k", f"{c:.2f}", f"{c / 3:.2f}"] for a, c in zip(n, err))]), t.times(0.01), choices=("hours",))

# --- rows of several kinds ----------------------------------------------------------------------------------

n, loss = columns(family(1124))
add("several kinds", "two corpora, told in the names of runs", "runs.csv",
    csv([["run_name", "non_emb_params", "eval_loss"], *([f"{w}-{k}", int(a), round(float(c) + m, 4)] for w, m in (("c4", 0.0), ("code", -0.7)) for k, (a, c) in enumerate(zip(n, loss)))]), choices=("c4", "code"))

n, loss = columns(images(1125))
add("several kinds", "pretrained or not, as yes and no", "transfer.csv",
    csv([["labels", "pretrained?", "val error"], *([int(a), w, round(float(c) * m, 4)] for a, c in zip(n, loss) for w, m in (("no", 1.0), ("yes", 0.5)))]), choices=("pretrained", "yes"))

n, loss = columns(family(1126))
add("several kinds", "losses of five domains side by side", "domains.md",
    markdown(["Model", "Params", "slimpajama", "fineweb_edu", "code", "math"], [[f"m{k}", short(round(a, -4)), c, round(c - 0.06, 4), round(0.75 * c, 4), round(1.04 * c, 4)] for k, (a, c) in enumerate(zip(n, loss))]), choices=("slimpajama", "code"))

n, loss = columns(family(1127))
add("several kinds", "two optimizers as blocks of columns", "opt.xlsx",
    book([[None, "AdamW", None, "Muon", None], ["params (M)", "train loss", "val loss", "train loss", "val loss"], *([round(a / 1e6, 3), round(c - 0.03, 4), c, round(c - 0.1, 4), round(c - 0.07, 4)] for a, c in zip(n, loss))]), choices=("AdamW", "Muon"))

# --- programs -----------------------------------------------------------------------------------------------

t = images(1128, 3)
n, err = columns(t)

def _archive(path, n=n, err=err):
    with io.BytesIO() as memory:
        np.savez(memory, sizes=n[::3].astype(int), train_scores=np.ones((6, 3)), test_scores=1 - err.reshape(-1, 3))
        path.write_bytes(memory.getvalue())

add("programs", "scikit-learn's learning_curve as it returns it", "learning_curve.npz", _archive, t)

t = family(1129)
n, loss = columns(t)
add("programs", "TOML, a table a run", "runs.toml",
    "".join(f"[[run]]\nname = \"w{64 * 2**k}\"\nwidth = {64 * 2**k}\nnonembedding_params = {int(a):_}\nlr = 6e-4\nfinal_eval_loss = {c}\n\n" for k, (a, c) in enumerate(zip(n, loss))), t)

t = surface(1130, digits=4)
n, d, loss = columns(t)
add("programs", "key=value lines with commas and a time stamp", "metrics.log",
    "".join(f"2026-01-08T0{k % 10}:00:00Z INFO final model_params={int(a)}, train_tokens={int(b)}, train_loss={c - 0.05:.4f}, eval_loss={c:.4f}, mfu=0.41\n" for k, (a, b, c) in enumerate(zip(n, d, loss))), t)
