"""Thirty tables under the headers of tables in public repositories, as their owners write them; the numbers are of known laws.

Headers and layouts were looked up in READMEs, result files and scripts; every number is made here. Written by one who had
read the readers, and committed before the first of them was read. Changed afterwards: the shots had accuracies below zero; the two models along
their steps have five sizes, too, by which they may be refused.
"""

import json

import numpy as np

from tables_parts.cases import *
from tables_parts.set_39_trackers_and_students import FOUR, SEEN, SMALL, surface

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
SUBSETS = np.array([250.0, 500, 1000, 2000, 4000, 8000, 16000])
TINY = np.array([24e3, 76e3, 204e3, 640e3, 1.9e6, 6.4e6])

def errors(seed, n=SUBSETS, repeats=1, digits=4):
    """Errors by training examples."""
    return line(seed, np.repeat(n, repeats), 0.04, 3.6, 0.38, digits)

def losses(seed, n=SMALL, digits=4):
    """Losses by parameters."""
    return line(seed, n, 1.4, 40.0, 0.2, digits, 0.003, "n_params")

# --- READMEs ---------------------------------------------------------------------------------------------

n, loss = columns(t := losses(401, TINY))
add("readmes", "Spanish heads, bold cells, wall time in seconds", "README.md",
    "## Resultados\n\n" + markdown(["Modelo", "Params", "Val Loss", "PPL", "Convergencia", "Wall Time"], [[f"B_k{2 ** k}", f"**{int(a):,}**" if k == 3 else f"{int(a):,}", f"**{c}**" if k == 3 else c, f"{np.exp(c):.2f}", f"Ep{k % 3 + 1}", f"{700 + 31 * k}.1s"] for k, (a, c) in enumerate(zip(n, loss))]), t)

n, loss = columns(t := losses(402, TINY[1:]))
add("readmes", "arms of a sweep with differences and ratios", "frontier.md",
    "Seed 7 full frontier:\n\n" + markdown(["arm", "params", "val loss", "vs Transformer", "FLOPs vs TFMR", "secs"], [[f"`mult={2 ** k}`", short(float(f"{a:.3g}")), c, f"**{c - 2.1:+.4f}**", f"{a / 1e6:.2f}x", 60 + 30 * k] for k, (a, c) in enumerate(zip(n, loss))]), t)

n, loss = columns(t := losses(403, TINY, 3))
add("readmes", "bounds and ranges among the results", "status.md",
    "### Comparison\n\n" + markdown(["Baseline", "Params", "Val Loss", "How"], [*([f"Phase {k}", f"{a / 1e3:g}k", f"{c:.3f}", "—"] for k, (a, c) in enumerate(zip(n, loss))), ["Expected final", "60–100k", "**< 0.41**", "Grow + ablate"]]), t)

n, loss = columns(t := line(404, np.array([8.0, 16, 32, 64, 128, 256]), 0.04, 0.9, 0.38, 3))
add("readmes", "shots, with other scores beside the accuracy", "fewshot.md",
    markdown(["Shot Setting", "Training Samples", "Accuracy", "Precision", "Recall", "F1-score"], [[f"{int(a / 2)}-shot", int(a), f"{1 - c:.3f}", f"{1 - 0.97 * c:.3f}", f"{1 - c:.3f}", f"{1 - 1.01 * c:.3f}"] for a, c in zip(n, loss)]), t)

n, loss = columns(t := errors(405, digits=4))
add("readmes", "the table of data among tables of latency", "REPORT.md",
    "### Latency\n\n" + markdown(["Method", "Median Latency (ms)"], [["Zero-Shot", 992.456], ["Few-Shot", 233.4]]) + "\n### Data Efficiency\n\n" + markdown(["Training Samples", "Accuracy"], [[f"{int(a):,}", f"{1 - c:.4f}"] for a, c in zip(n, loss)]) + "\n## Analysis\n\n- **Fine-Tuning** is best.\n", t)

n, loss = columns(errors(406))
add("readmes", "three ways of training as columns", "sizes.md",
    markdown(["Dataset Size", "FC Only", "Last Block + FC", "Full Fine-Tuning"], [[int(a), *(f"{100 * (1 - c * m):.2f}%" for m in (1.6, 1.0, 1.2))] for a, c in zip(n, loss)]), choices=("FC Only", "Full Fine-Tuning"))

n, loss = columns(t := errors(407, digits=3))
add("readmes", "versions of a model that grew with its data", "versions.md",
    markdown(["Model Version", "Training Samples", "Accuracy (%)", "Precision (%)", "Recall (%)", "F1-Score"], [[f"v{1 + k / 2:.1f}", f"{int(a):,}", f"{100 * (1 - c):.1f}", f"{100 * (1 - 0.9 * c):.1f}", f"{100 * (1 - 1.1 * c):.1f}", f"{1 - c:.3f}"] for k, (a, c) in enumerate(zip(n, loss))]), t)

n, loss = columns(losses(408, SMALL[:4]))
add("readmes", "two models along their steps", "summary.md",
    "## Raw Data\n\n" + markdown(["Config", "Type", "Step", "Loss", "±SE", "PPL", "FLOPs (P)"], [[f"{w}-S", kind, s, f"{c * m + 30 / s:.4f}", 0.0648, 61.83, f"{s * a / 1e9:.2f}"] for w, a, c in zip("SMLX", n, loss) for kind, m in (("baseline", 1.0), ("foveated", 1.06)) for s in (100, 300, 1000, 3000)]), choices=("Config",))

n, loss = columns(t := losses(409))
add("readmes", "means and the seeds that they are of", "experts.md",
    markdown(["Model", "Params", "Val Loss (mean)", "Per-seed"], [[f"tree_{k}", f"{int(a):,}", c, f"{c + 0.001:.4f}, {c - 0.002:.4f}, {c + 0.001:.4f}"] for k, (a, c) in enumerate(zip(n, loss))]), t)

# --- files of results ------------------------------------------------------------------------------------

c = np.repeat([6e18, 1e19, 3e19, 6e19], 5)
n = np.concatenate([np.geomspace(5e7, 2e9, 5) * (b / 6e18) ** 0.5 for b in c[::5]])
n = np.round(n, -4)
made = 1.69 + 406 * n**-0.34 + 411 * (c / 6 / n) ** -0.28
loss = np.round(made * np.exp(0.003 * np.random.default_rng(410).standard_normal(20)), 4)
widest = np.geomspace(1e6, 1e13, 20001)
best = float((1.69 + 406 * widest**-0.34 + 411 * (6e20 / 6 / widest) ** -0.28).min())
add("results", "isoFLOP runs: parameters, budget, final loss", "isoflops_curves.json",
    json.dumps([{"parameters": int(a), "compute_budget": b, "final_loss": v} for a, b, v in zip(n, c, loss)], indent=2), Truth({"n_params": n, "n_data": c / 6 / n, "test_loss": loss}, best))

n, loss = columns(t := losses(411))
add("results", "columns as a chat model names them", "results.csv",
    csv([["Model_Size", "Parameters", "Training_Loss", "Validation_Loss", "Perplexity", "Training_Time_min", "GPU_Memory_GB"], *([w, int(a), round(float(v) - 0.05, 4), v, f"{np.exp(v):.2f}", 12 + 9 * k, 4 + k] for k, (w, a, v) in enumerate(zip(("tiny", "small", "base", "medium", "large", "xl"), n, loss)))]), t)

n, d, loss = columns(t := surface(412))
add("results", "millions at the ends of names", "scaling_results.csv",
    csv([["run_id", "model_size_M", "dataset_size_tokens_M", "final_val_loss", "converged"], *([k, f"{a / 1e6:g}", f"{b / 1e6:g}", v, True] for k, (a, b, v) in enumerate(zip(n, d, loss)))]), t)

n, d, loss = columns(t := surface(413))
add("results", "letters with compute", "ndcl.csv",
    csv([["N", "D", "C", "L"], *([f"{a:.4g}", f"{b:.4g}", f"{6 * a * b:.4g}", v] for a, b, v in zip(n, d, loss))]), t)

n, loss = columns(t := errors(414, repeats=2))
add("results", "a benchmark's summary: the test's samples beside those of the training", "summary.csv",
    csv([["report_id", "timestamp", "dataset", "split", "num_samples", "train_samples", "accuracy", "f1_macro", "auroc", "duration_seconds"], *([f"bench_2026{k:04d}", f"2026-02-20T14:{k:02d}:52", "mnist", "test", 10000, int(a), f"{1 - v:.4f}", f"{1 - 1.02 * v:.4f}", f"{1 - 0.1 * v:.4f}", 45.2 + k] for k, (a, v) in enumerate(zip(n, loss)))]), t)

n, loss = columns(t := errors(415))
add("results", "a printed list with latencies", "out.csv",
    csv([["name", "num_samples", "accuracy", "macro_f1", "avg_confidence", "avg_latency_ms"], *([f"clf_{int(a)}", int(a), f"{1 - v:.4f}", f"{1 - 1.03 * v:.4f}", f"{1 - 0.5 * v:.4f}", f"{3.1 + 0.01 * k:.2f}"] for k, (a, v) in enumerate(zip(n, loss)))]), t)

n, loss = columns(t := errors(416, repeats=3))
add("results", "sizes as keys of lists", "acc_by_n.json",
    json.dumps({f"n={int(a)}": [round(1 - float(v), 4) for v in r] for a, r in zip(n[::3], loss.reshape(-1, 3))}), t)

n, loss = columns(t := errors(417))
add("results", "sizes as keys of objects", "by_size.yaml",
    "dataset: ag_news\nresults:\n" + "".join(f"  {int(a)}:\n    accuracy: {1 - v:.4f}\n    f1: {1 - 1.02 * v:.4f}\n    train_seconds: {a / 50:.1f}\n" for a, v in zip(n, loss)), t)

n, loss = columns(t := losses(418))
add("results", "rows of a script with the shape of every model", "scaling.json",
    json.dumps({"experiment": "scaling", "results": [{"name": w, "config": {"n_layer": 2 + 2 * k, "n_head": 4, "d_model": 64 * (k + 2)}, "n_params": int(a), "final_train_loss": round(float(v) - 0.1, 4), "final_val_loss": v, "elapsed_sec": 33.1 * k + 12} for k, (w, a, v) in enumerate(zip(("xs", "s", "m", "l", "xl", "xxl"), n, loss))]}), t)

n, loss = columns(t := errors(419, repeats=4))
groups = loss.reshape(-1, 4)
add("results", "means and deviations as pandas groups them", "grouped.csv",
    csv([["", "test_error", "test_error", "test_error"], ["", "mean", "std", "count"], ["n_train", "", "", ""], *([int(a), f"{r.mean():.6f}", f"{r.std(ddof=1):.6f}", 4] for a, r in zip(n[::4], groups))]), Truth({"n_data": n[::4], "test_error": groups.mean(1)}, t.ten_times))

n, loss = columns(t := errors(420))
add("results", "Excel's Unicode text", "export.txt",
    csv([["Training set size", "Test accuracy", "Remarks"], *([int(a), f"{1 - v:.4f}", "ok"] for a, v in zip(n, loss))], "\t").encode("utf-16"), t)

# --- logs ------------------------------------------------------------------------------------------------

n, loss = columns(t := losses(421, SMALL[:5]))
folder("logs", "records of a speedrun, a file a model", {f"logs/gpt-{short(a)}.txt": "".join(f"step:{250 * i}/2500 val_loss:{v:.4f} train_time:{40 * i}ms step_avg:88.1ms\n" for i, v in enumerate(falling(float(c), 11))) for a, c in zip(n, loss)}, t)

n, loss = columns(t := errors(422))
add("logs", "sentences with an arrow", "log.txt",
    "Running data ablation\n" + "".join(f"[{k + 1}/7] training_samples: {int(a)} -> test accuracy: {1 - v:.4f}\n" for k, (a, v) in enumerate(zip(n, loss))), t)

n, loss = columns(t := errors(423))
add("logs", "Keras' last lines below the size", "keras.log",
    "".join(f"Training on {int(a)} samples\nEpoch 1/2\n12/12 - 1s - loss: 1.9021 - accuracy: 0.3012 - val_loss: 1.8000 - val_accuracy: 0.3100\nEpoch 2/2\n12/12 - 1s - loss: 1.2021 - accuracy: 0.6012 - val_loss: 1.1000 - val_accuracy: {1 - v:.4f}\n" for a, v in zip(n, loss)), t)

n, d, loss = columns(t := surface(424, FOUR[:3], SEEN[:3]))
add("logs", "dictionaries that Python prints", "stdout.txt",
    "".join(f"{{'model': 'gpt', 'params': {int(a)}, 'tokens': {int(b)}, 'train_loss': {v - 0.04:.4f}, 'val_loss': {v}}}\n" for a, b, v in zip(n, d, loss)), t)

n, loss = columns(t := losses(425))
add("logs", "a block a model", "eval.log",
    "".join(f"----- {w} -----\nTotal parameters: {int(a):,}\nTrainable parameters: {int(a):,}\nValidation loss: {v:.4f}\nPerplexity: {np.exp(v):.3f}\n\n" for w, a, v in zip(("nano", "micro", "mini", "small", "base", "large"), n, loss)), t)

# --- easily read wrong -----------------------------------------------------------------------------------

n, loss = columns(losses(426))
add("doubtful", "the size of a file in megabytes", "mobile.csv",
    csv([["Model", "Size (MB)", "Val loss"], *([f"m{k}", f"{4 * a / 1e6:.1f}", v] for k, (a, v) in enumerate(zip(n, loss)))]), choices=("Size (MB)",))

n, loss = columns(t := losses(427))
add("doubtful", "tokens a second beside constant tokens", "speed.csv",
    csv([["params", "tokens", "tokens/s", "MFU (%)", "loss"], *([int(a), 10_000_000_000, int(2e13 / a), f"{38 + k}", v] for k, (a, v) in enumerate(zip(n, loss)))]), t)

n, loss = columns(errors(428))
add("doubtful", "two languages as columns of accuracies", "langs.csv",
    csv([["train_examples", "acc_en", "acc_sw"], *([int(a), f"{1 - v:.4f}", f"{1 - 1.5 * v:.4f}"] for a, v in zip(n, loss))]), choices=("acc_en", "acc_sw"))

n, loss = columns(t := errors(429, np.array([1.0, 3, 10, 30, 100, 300]) * 1000))
add("doubtful", "thousands, told by a k in the head", "k.csv", csv([["#train (k)", "err"], *([f"{a / 1000:g}", v] for a, v in zip(n, loss))]), t)

n, loss = columns(errors(430))
add("doubtful", "students with and without a teacher, in names", "distil.csv",
    csv([["run", "n_train", "test_acc"], *([f"{kind}-{int(a)}", int(a), f"{1 - v * m:.4f}"] for kind, m in (("scratch", 1.0), ("distill", 0.6)) for a, v in zip(n, loss))]), choices=("scratch", "distill"))
