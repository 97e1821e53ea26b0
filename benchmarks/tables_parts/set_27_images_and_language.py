"""Thirty tables of thirty people in an autumn: a student's sweep, a speech team's sheet, a lab's folder of logs.

Written from what such people keep, with set 23 as the pattern of how a case is written, without a look at
the other sets or at what reads them, and committed before the first of them was read.
"""

import json

import numpy as np

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
WIDTHS = np.array([256, 384, 512, 768, 1024, 1280])
LADDER = np.array([11e6, 27e6, 63e6, 151e6, 360e6, 870e6])
MIDDLE = np.array([30e6, 75e6, 190e6, 480e6, 1.2e9])
SEEN = np.array([1.5e9, 4e9, 12e9, 40e9])
rng = np.random.default_rng(2310)

def surface(seed, models=MIDDLE, tokens=SEEN):
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, models, tokens, lambda a, b: 1.75 + 380 * a**-0.33 + 450 * b**-0.285)

# --- a student of language models, with a tracker --------------------------------------------------------

t = surface(1)
n, d, loss = t.points.values()
head = [
    "Name",
    "State",
    "Created",
    "Runtime",
    "GPU Type",
    "d_model",
    "n_layers",
    "non_embedding_params",
    "total_tokens",
    "peak_lr",
    "global_batch_size",
    "val/loss",
    "train/loss",
    "_step",
]
rows = [
    [
        f"olive-moon-{200 - k}",
        "finished",
        f"2025-10-{1 + k:02d}T21:04:55.000Z",
        1800 + 911 * k,
        "NVIDIA A100-SXM4-80GB",
        512 + 256 * (k // 4),
        6 + 3 * (k // 4),
        int(a),
        int(b),
        0.002,
        256,
        c,
        f"{c - 0.021:.4f}",
        int(b / 524288),
    ]
    for k, (a, b, c) in enumerate(zip(n, d, loss))
]
add("tracker", "W&B runs of a student", "wandb_export_2025-10-29T14_31_07.112-04_00.csv",
    "".join(",".join(f'"{c}"' for c in row) + "\n" for row in [head, *rows[::-1]]), t)

t = line(2, np.repeat([800.0, 1600, 3200, 6400, 12800, 25600], 2), 0.06, 4.1, 0.41)
n, loss = t.points.values()
add("tracker", "MLflow search_runs of a regression", "runs.csv",
    csv([["run_id", "experiment_id", "status", "start_time", "metrics.val_rmse", "metrics.train_rmse", "params.n_rows", "params.model_name", "params.random_state", "params.hidden", "tags.mlflow.runName", "tags.mlflow.source.type"],
         *([f"{(k + 3) * 40503:08x}", 7, "FINISHED", f"2025-09-{k + 1:02d} 09:12:44.120000+00:00", b, round(0.7 * b, 4), int(a), "mlp", k % 2, 256, f"sassy-finch-{k}", "LOCAL"] for k, (a, b) in enumerate(zip(n, loss)))]), t)

t = line(3, np.array([2000.0, 5000, 10000, 20000, 50000, 100000]), 0.31, 21.0, 0.44)
folder("tracker", "scalars downloaded from TensorBoard, one file a run",
    {f"run-ntrain_{int(a)}-tag-val_loss.csv": csv([["Wall time", "Step", "Value"], *([1759300000.12 + 37 * i, 100 * (i + 1), v] for i, v in enumerate(falling(float(b), 14)))]) for a, b in zip(*t.points.values())}, t)

t = line(4, LADDER, 1.83, 71.0, 0.225, 3, size="n_params")
runs = {f"llama_{short(a)}": falling(float(b), 10) for a, b in zip(*t.points.values())}
add("tracker", "a chart of W&B by step", "wandb_export_chart.csv",
    csv([["Step", *(f"{w} - eval/loss" for w in runs)], *([1000 * (i + 1), *(round(float(c[i]), 3) for c in runs.values())] for i in range(10))]), t)

# --- images, speech, other sciences ----------------------------------------------------------------------

t = line(5, np.repeat([500.0, 1000, 2500, 5000, 10000, 25000, 50000], 3), 0.035, 4.4, 0.37, scatter=0.015, y="test_error")
n, e = t.points.values()
each = np.round(100 * (1 - e.reshape(-1, 3)), 2)
add("images", "an intern's sheet: three runs, their mean and deviation", "CIFAR10 data scaling - Sheet1.csv",
    csv([["# train images", "Run 1", "Run 2", "Run 3", "Avg test acc", "Std"], *([int(a), *(f"{v:.2f}%" for v in r), f"{r.mean():.2f}%", f"{r.std(ddof=1):.2f}%"] for a, r in zip(n[::3], each))]), t)

shots = np.array([1.3e4, 2.6e4, 6.4e4, 1.28e5, 3.2e5, 6.4e5, 1.281167e6])
t = line(6, shots, 0.14, 21.0, 0.36, scatter=0.008, y="test_error")
add("images", "fractions of ImageNet with their counts", "imagenet_fractions.tsv",
    csv([["Subset", "Images", "Epochs", "Val top-1 (%)", "Val top-5 (%)", "Hours"], *([f"{100 * a / 1.281167e6:.0f}%", f"{int(a):,}", 300, f"{100 * (1 - b):.2f}", f"{100 * (1 - b / 2.7):.2f}", round(a / 3e4, 1)] for a, b in zip(*t.points.values()))], "\t"), t)

add("images", "three backbones on growing samples seen", "clip_zero_shot.csv",
    csv([["Backbone", "Samples seen", "IN-1k zero-shot top-1"], *([w, short(a), f"{100 - 100 * v:.1f}"] for w, h in (("ViT-B/32", 60), ("ViT-B/16", 49), ("ViT-L/14", 36)) for a, v in zip((1.3e8, 4e8, 1.3e9, 3e9, 1.3e10), noisy(0.15 + h * np.array([1.3e8, 4e8, 1.3e9, 3e9, 1.3e10]) ** -0.27, 0.004, h, 4)))]),
    None, ("Backbone", "ViT-L/14"))

t = line(7, np.array([5.0, 10, 30, 100, 300, 960, 2500]), 0.021, 0.62, 0.42, 4, 0.012, y="test_error")
add("speech", "hours as cells with h", "wer_vs_hours.md",
    "## Fine-tuning wav2vec2-base, LibriSpeech\n\n" + markdown(["Labelled data", "WER test-clean ↓", "LM"], [[f"{a:g} h", f"{100 * b:.2f}", "none"] for a, b in zip(*t.points.values())]), t)

t = line(8, np.array([8e6, 35e6, 150e6, 650e6, 3e9, 15e9]), 1.78, 4.9, 0.122, 3, 0.002, size="n_params")
add("proteins", "sizes in the names of protein models", "esm_valid.csv",
    csv([["model", "layers", "embed dim", "UR50 valid loss"], *([f"ESM2-{short(a)}", w, m, b] for (a, b), w, m in zip(zip(*t.points.values()), (6, 12, 30, 33, 36, 48), (320, 480, 640, 1280, 2560, 5120)))]), t)

t = line(9, np.array([100.0, 250, 500, 1000, 2500, 5000, 10000]), 1.1, 620.0, 0.61, 2, 0.02)
add("sciences", "errors of energies in meV/atom by training structures", "mace_learning_curve.txt",
    "# N_train  E_MAE[meV/atom]\n" + "".join(f"{int(a):8d}  {b:8.2f}\n" for a, b in zip(*t.points.values())), t)

agents = np.array([0.6e6, 1.3e6, 3.1e6, 7.2e6, 18e6, 44e6])
t = Truth({"n_params": agents, "score": noisy(940 - 41000 * agents**-0.31, 0.006, 10, 1)}, float(940 - 41000 * 44e7**-0.31))
add("sciences", "returns of agents by their size", "procgen_agents.csv",
    csv([["network", "n_params", "env_frames", "mean_return", "return_stderr"], *([f"impala-x{k + 1}", int(a), "200M", b, round(4 + k % 3, 1)] for k, (a, b) in enumerate(zip(*t.points.values())))]), t)

t = line(11, np.array([33e6, 65e6, 131e6, 300e6, 458e6, 675e6]), 6.5, 3.2e5, 0.505, 2, 0.012, size="n_params")
add("images", "FID of diffusion transformers", "dit.csv",
    csv([["Model", "Params (M)", "Train steps (K)", "Batch size", "FID-50K"], *([f"DiT-v{k}/2", f"{a / 1e6:g}", 400, 256, f"{b:.2f}"] for k, (a, b) in enumerate(zip(*t.points.values())))]), t)

# --- language models in parameters and tokens ------------------------------------------------------------

t = surface(12)
n, d, loss = t.points.values()
add("language", "tokens across, models down, with a corner", "final losses.xlsx",
    book([["Final validation loss (C4), seq len 2048", *[None] * 4], [None, *(f"{short(b)} tokens" for b in SEEN)], *([short(a), *row] for a, row in zip(MIDDLE, loss.reshape(5, 4)))]), t)

t = surface(13)
n, d, loss = t.points.values()
cells = loss.astype(object)
cells[[2, 9, 14]] = "NaN (diverged)", "OOM", "-"
add("language", "runs that diverged or ran out of memory", "sweep_v3.csv",
    csv([["job id", "model size", "train tokens", "seq len", "val loss", "comment"], *([88120 + k, short(a), short(b), 2048, c, "rerun after node failure" if k == 6 else ""] for k, (a, b, c) in enumerate(zip(n, d, cells)))]),
    t.rows(~np.isin(np.arange(20), [2, 9, 14])))

flops = np.repeat([6e17, 3e18, 1.5e19, 9e19], 5)
n = np.round(np.sqrt(flops / 6 / 22) * np.tile([0.35, 0.6, 1, 1.7, 3], 4), -4)
d = flops / 6 / n
fitted = lambda a, b: 1.72 + 395 * a**-0.34 + 460 * b**-0.285  # noqa: E731
widest = np.geomspace(1e6, 1e13, 20001)
t = Truth(
    {"n_params": n, "n_data": np.round(d / 1e6) * 1e6, "test_loss": noisy(fitted(n, d), 0.002, 14, 3)},
    float(fitted(widest, 60 * float((n * d).max()) / 6 / widest).min()),
)
add("language", "an isoFLOP study", "isoflop.csv",
    csv([["budget (FLOPs)", "N", "D (M tokens)", "final loss"], *([f"{c:.0e}", f"{a:.0f}", f"{b / 1e6:.0f}", v] for c, a, b, v in zip(flops, *t.points.values()))]), t)

days = np.array([0.002, 0.01, 0.05, 0.2, 1, 5, 25])
t = line(15, days * 8.64e19, 1.66, 760.0, 0.148, 3, 0.002, size="compute")
add("language", "a frontier in PF-days", "compute_frontier.csv",
    csv([["compute (PF-days)", "best val loss"], *([f"{a:g}", b] for a, b in zip(days, t.points["test_loss"]))]), t)

t = surface(16)
n, d, loss = t.points.values()
add("language", "logarithms and bits beside nats", "fit_input.csv",
    csv([["log10(N)", "log10(D)", "bits/token", "loss (nats/token)"], *([f"{np.log10(a):.4f}", f"{np.log10(b):.4f}", f"{c / np.log(2):.4f}", c] for a, b, c in zip(n, d, loss))]),
    Truth({"n_params": 10 ** np.round(np.log10(n), 4), "n_data": 10 ** np.round(np.log10(d), 4), "test_loss": loss}, t.ten_times))

t = surface(17)
n, d, loss = t.points.values()
add("language", "a table of a paper's appendix", "appendix.tex",
    "\\begin{table}[t]\n\\centering\\small\n\\caption{All runs.}\n\\begin{tabular}{lrrc}\n\\toprule\nModel & Params & Tokens & Val.\\ loss $\\downarrow$ \\\\\n\\midrule\n"
    + "".join(f"run-{k:02d} & {a / 1e6:,.0f}M & {b / 1e9:g}B & ${c:.3f} \\pm {0.003 + 0.001 * (k % 3):.3f}$ \\\\\n" for k, (a, b, c) in enumerate(zip(n, d, loss))) + "\\bottomrule\n\\end{tabular}\n\\end{table}\n", t)

t = line(18, np.array([14e6, 70e6, 160e6, 410e6, 1e9, 2.8e9]), 1.75, 46.0, 0.205, 3, 0.002, size="n_params")
add("language", "Pythia checkpoints on one evaluation", "pile_val.json",
    json.dumps({f"EleutherAI/pythia-{short(a).lower()}": {"revision": "step143000", "results": {"pile_val": {"loss": float(b), "samples": 5000}}} for a, b in zip(*t.points.values())}, indent=2), t)

# --- logs ------------------------------------------------------------------------------------------------

t = surface(19, MIDDLE[:4], SEEN[:3])
add("logs", "a JSON line for each run", "results.jsonl",
    "".join(json.dumps({"run": f"s{k:02d}", "time": f"2025-11-{k + 1:02d}T03:12:00", "cfg": {"model": {"params": int(a), "heads": 8}, "train": {"tokens": int(b), "lr": 0.001, "wd": 0.1}}, "out": {"val_loss": float(c), "tok_per_s": 181000 - k}}) + "\n" for k, (a, b, c) in enumerate(zip(*t.points.values()))), t)

seen = 1e8 * 2.0 ** np.arange(9)
t = line(20, seen, 2.35, 900.0, 0.33, 4, 0.002)
add("logs", "checkpoints of one long run", "metrics.jsonl",
    "".join(json.dumps({"step": int(a / 524288), "tokens": int(a), "lr": 3e-4, "val_loss": float(b), "grad_norm": round(0.4 + 0.01 * k, 3)}) + "\n" for k, (a, b) in enumerate(zip(*t.points.values()))), t)

t = line(21, LADDER[:5], 1.9, 80.0, 0.23, 4, 0.002, size="n_params")
folder("logs", "trainer_state.json in folders of model sizes",
    {f"checkpoints/gpt-{short(a)}/trainer_state.json": json.dumps({"best_metric": None, "epoch": 1.0, "global_step": 4000, "is_world_process_zero": True, "log_history": [row for i, v in enumerate(falling(float(b), 8)) for row in (
        {"epoch": (i + 1) / 8, "learning_rate": 3e-4, "loss": round(float(v) - 0.05, 4), "step": 500 * (i + 1)}, {"epoch": (i + 1) / 8, "eval_loss": float(v), "eval_runtime": 31.2, "step": 500 * (i + 1)})]}, indent=2) for a, b in zip(*t.points.values())}, t)

t = line(22, np.array([1000.0, 3000, 9000, 27000, 81000]), 0.22, 15.0, 0.45, 4, 0.004)
folder("logs", "printed logs, one for each subset",
    {f"logs/n{int(a)}.log": "loading data ...\nmodel: resnet18, 11.2M params\n" + "".join(f"epoch {i + 1:3d}/12 | train loss {0.8 * v:.4f} | val loss {v:.4f} | 31.2s\n" for i, v in enumerate(falling(float(b), 12))) + "done.\n" for a, b in zip(*t.points.values())}, t)

# --- notes -----------------------------------------------------------------------------------------------

t = line(23, LADDER, 1.86, 66.0, 0.22, 3, 0.002, size="n_params")
add("notes", "a mapping in YAML", "scaling.yaml",
    "dataset: fineweb-edu\ntokens: 20B\nruns:\n" + "".join(f"  w{w}:\n    params: {short(a)}\n    val_loss: {b}\n    gpu_hours: {4 * (k + 1)}\n" for k, (w, a, b) in enumerate(zip(WIDTHS, *t.points.values()))), t)

t = line(24, np.repeat([1000.0, 2000, 4000, 8000, 16000], 3), 0.09, 6.0, 0.4, 4, 0.01, y="test_error")
n, e = t.points.values()
add("notes", "a German sheet with decimal commas", "Ergebnisse.csv",
    csv([["Trainingsdaten", "Seed", "Testfehler", "Bemerkung"], *([int(a), k % 3, comma(b), ""] for k, (a, b) in enumerate(zip(n, e)))], ";"), t)

t = surface(25, MIDDLE[:4], SEEN[:3])
add("notes", "a frame as pandas prints it", "out.txt",
    "    params    tokens  val_loss    hours\n" + "".join(f"{k:<3} {short(a):>5} {short(b):>8} {c:>9.3f} {1.5 * (k + 1):>8.1f}\n" for k, (a, b, c) in enumerate(zip(*t.points.values()))), t)

t = line(26, LADDER, 1.95, 75.0, 0.23, 3, 0.002, size="n_params")
add("notes", "four rates a size in rows, some diverged", "lr_x_size.csv",
    csv([["width", "n_params", "lr", "final_eval_loss"], *([w, int(a), lr, more if isinstance(more, str) else f"{b + more:.3f}"] for w, a, b in zip(WIDTHS, *t.points.values()) for lr, more in (("3e-4", 0.09), ("1e-3", 0.0), ("3e-3", 0.05), ("1e-2", "diverged" if w > 500 else 0.31)))]), t)

# --- several kinds ---------------------------------------------------------------------------------------

muon = noisy(1.8 + 55 * LADDER**-0.225, 0.002, 27, 3)
adam = noisy(1.8 + 68 * LADDER**-0.225, 0.002, 28, 3)
add("several kinds", "two optimizers", "opt_comparison.csv",
    csv([["optimizer", "N", "tokens/param", "eval loss"], *([w, short(a), 20, v] for w, values in (("AdamW", adam), ("Muon", muon)) for a, v in zip(LADDER, values))]), None, ("optimizer", "Muon"))

t = surface(29, MIDDLE[:4], SEEN[:3])
n, d, loss = t.points.values()
sets = {"c4": 1.0, "pile": 0.86, "code": 0.61}
add("several kinds", "three validation sets in JSON records", "evals.json",
    json.dumps([{"params": int(a), "tokens": int(b), "eval_set": w, "loss": round(float(c) * by, 3)} for a, b, c in zip(n, d, loss) for w, by in sets.items()]), None, ("eval_set", "pile"))

kept = np.array([1e4, 3e4, 1e5, 3e5, 1e6])
rows = [
    [w, f"{int(a):,}", f"{100 * v:.1f}%"]
    for k, (w, by) in enumerate((("baseline", 1.0), ("+ mixup", 0.83)))
    for a, v in zip(kept, noisy(0.08 + 14 * by * kept**-0.4, 0.006, 30 + k, 4))
]
add("several kinds", "two recipes in Markdown", "report.md",
    "# Augmentation study\n\nResNet-50, 100 epochs.\n\n" + markdown(["Recipe", "Images", "Top-1 error"], rows), None, ("Recipe", "+ mixup"))
