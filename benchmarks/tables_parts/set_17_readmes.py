"""Thirty tables whose headers stand in public repositories: READMEs, results of sweeps, notes of experiments.

The names of columns and the ways of writing cells are those of files that an index of public repositories lists for
"params", "tokens", "val loss", "train size" and the like; the numbers are of known laws. Written when set 16 was
mended, and committed before the first of them was read.
"""

import json

import numpy as np

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

S = np.array([24_736.0, 124_032, 841_216, 4_834_816, 19_200_000, 77_000_000])
t = models(601, S)
loss = t.points["test_loss"]
add("READMEs", "scaling curve with shares of correct queries", "README.md",
    "# tinysql\n\n### 2. A scaling curve\n\nThe same architecture at six sizes, same data, same code, all trained on one laptop.\n\n"
    + markdown(["model", "params", "val loss", "executes"], [[w, f"{int(a):,}", f"{b:.3f}", f"{99.2 + 0.1 * k:.1f}%"] for k, (w, a, b) in enumerate(zip(["nano", "micro", "tiny", "small", "base", "large"], S, loss))]) + "\n![scaling](figures/scaling.png)\n", t)

P = np.array([155e3, 348e3, 873e3, 2.1e6, 5.6e6, 14e6])
t = models(602, P)
add("READMEs", "small models, bold best, approximate times", "NOTES.md",
    "Measured on the current corpus (7 books, 92-character vocabulary):\n\n"
    + markdown(["model", "params", "val loss", "wall time to best"], [[f"`Char{w}`", short(a), f"**{b}**" if k == 5 else b, f"~{4 * (k + 1)} min"] for k, (w, a, b) in enumerate(zip("ABCDEF", P, t.points["test_loss"]))]), t)

G = np.array([10e6, 30e6, 90e6, 270e6, 810e6])
t = models(603, G)
loss = t.points["test_loss"]
add("READMEs", "loss, perplexity and throughput", "RESULTS.md",
    markdown(["Model", "Params", "Val Loss", "PPL", "tok/s", "Notes"], [[f"**v{k}**", f"~{short(a)}", f"{b:.3f}", f"{np.exp(b):.2f}", f"{13203 // (k + 1):,}", "Best quality" if k == 4 else ""] for k, (a, b) in enumerate(zip(G, loss))]), t)

t = crossed(604, np.array([36e6, 108.3e6, 350e6, 1.2e9]), np.array([0.655e9, 2e9, 6e9, 20e9]))
n, d, loss = t.points.values()
add("READMEs", "train and validation beside tokens per second", "EXPERIMENTS.md",
    markdown(["Model", "Params", "Tokens", "Train Loss", "Val Loss", "Val PPL", "Tokens/sec", "Training Time"],
             [[f"Model {k}", f"{a / 1e6:g}M", f"{b / 1e9:g}B", f"{c - 0.03:.4f}", f"{c:.4f}", f"{np.exp(c):.4f}", f"{6152.48 / (1 + k // 4):,.2f}", f"{27.74 * (k + 1):.2f} min"] for k, (a, b, c) in enumerate(zip(n, d, loss))]), t)

t = crossed(605)
n, d, loss = t.points.values()
add("READMEs", "FLOPs in powers of ten, cost", "plan.md",
    markdown(["Params", "Tokens", "FLOPs", "Wall-clock", "Cost", "Val loss"], [[short(a), short(b), f"{6 * a * b:.1e}", f"{a * b / 1e18:.1f} h", f"${a * b / 1e17:.0f}", c] for a, b, c in zip(n, d, loss)]), t)

t = crossed(606)
n, d, loss = t.points.values()
add("CSV", "the form that fitting scripts expect", "experiments.csv",
    csv([["n_params", "n_tokens", "loss"], *([float(a), float(b), c] for a, b, c in zip(n, d, loss))]), t)

add("CSV", "a run id and FLOPs", "results.csv",
    csv([["run_id", "n_params", "n_tokens", "flops", "val_loss"], *([f"{k:04d}", int(a), int(b), f"{6 * a * b:.4g}", c] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = crossed(607)
n, d, loss = t.points.values()
add("CSV", "letters and log of the loss", "fit_points.csv",
    csv([["N", "D", "C", "L"], *([f"{a:.3e}", f"{b:.3e}", f"{6 * a * b:.3e}", c] for a, b, c in zip(n, d, loss))]), t)

t = subsets(608, np.array([500.0, 1000, 2500, 5000, 10000, 25000, 50000]), 1)
n, e = t.points.values()
add("CSV", "sizes with train and test accuracy", "accuracy_vs_size.csv",
    csv([["train_size", "train_accuracy", "test_accuracy", "train_time_s"], *([int(a), round(1 - b / 5, 4), round(1 - b, 4), round(a / 97, 2)] for a, b in zip(n, e))]), t)

t = subsets(609, np.array([100.0, 250, 500, 1000, 2500, 5000]), 3)
n, e = t.points.values()
add("CSV", "labels, seeds and macro F1", "fewshot.csv",
    csv([["num_labels", "seed", "macro_f1"], *([int(a), 13 + k % 3, round(1 - b, 4)] for k, (a, b) in enumerate(zip(n, e)))]), t)

m = np.array([124e6, 355e6, 774e6, 1.5e9])
t = Truth({"n_params": m, "test_loss": noisy(by_size(m), 0.003, 610, 4)}, float(by_size(1.5e10)))
add("CSV", "GPT-2 sizes by name", "gpt2_eval.csv",
    csv([["model", "n_params", "wikitext_ppl"], *([w, int(a), round(float(np.exp(b)), 4)] for w, a, b in zip(["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"], m, t.points["test_loss"]))]), t)

t = models(611, np.array([70e6, 160e6, 410e6, 1e9, 1.4e9, 2.8e9]))
n, loss = t.points.values()
add("CSV", "checkpoints at the end with a revision", "pythia.csv",
    csv([["model", "revision", "params_total", "params_non_embedding", "pile_val_loss"], *([f"pythia-{short(a).lower()}", "step143000", int(a), int(0.7 * a), b] for a, b in zip(n, loss))]), t)

t = crossed(612)
n, d, loss = t.points.values()
add("JSON", "settings beside results", "sweep.json", json.dumps({"sweep": "base", "created": "2025-05-01", "results": [
    {"depth": 4 + 4 * (k // 4), "width": 256 * (1 + k // 4), "num_params": int(a), "num_train_tokens": int(b), "best_val_loss": float(c), "final_train_loss": float(round(c - 0.01, 3)), "wall_time": 3600.0 * (k + 1)} for k, (a, b, c) in enumerate(zip(n, d, loss))]}, indent=2), t)
add("JSON", "lines with a config", "runs.jsonl", "".join(json.dumps(
    {"run_id": f"{k:x}f", "cfg": {"n_layer": 4 + 4 * (k // 4), "n_params": int(a), "max_tokens": int(b)}, "val": {"loss": float(c), "ppl": round(float(np.exp(c)), 2)}, "elapsed_s": 100 * k}) + "\n" for k, (a, b, c) in enumerate(zip(n, d, loss))), t)

t = subsets(613, np.array([1000.0, 2000, 4000, 8000, 16000, 32000]), 1)
n, e = t.points.values()
add("JSON", "lists side by side", "learning_curve.json", json.dumps(
    {"train_sizes": [int(a) for a in n], "val_error": [float(b) for b in e], "model": "resnet18"}), t)
add("YAML", "sizes as keys", "curve.yaml", "# test error by number of training images\ntest_error:\n" + "".join(f"  {int(a)}: {b}\n" for a, b in zip(n, e)), t)

c = np.geomspace(1e17, 3e20, 9)
loss = noisy(by_compute(c), 0.003, 614, 4)
add("compute", "budgets and the best loss", "frontier.csv",
    csv([["flops_budget", "best_n_params", "best_val_loss"], *([f"{a:.3e}", int(0.1 * np.sqrt(a)), b] for a, b in zip(c, loss))]), Truth({"compute": np.array([float(f"{a:.3e}") for a in c]), "test_loss": loss}, float(by_compute(3e21))))
add("compute", "budgets alone", "compute_vs_loss.csv",
    csv([["compute_flops", "val_loss"], *([f"{a:.6e}", b] for a, b in zip(c, loss))]), Truth({"compute": np.array([float(f"{a:.6e}") for a in c]), "test_loss": loss}, float(by_compute(3e21))))

t = crossed(615)
n, d, loss = t.points.values()
add("sheets", "millions and billions in headers", "sheet.csv",
    csv([["Model", "#Params (M)", "#Tokens (B)", "LR", "BS", "Val Loss", "Comment"], *([f"S{k // 4}", f"{a / 1e6:g}", f"{b / 1e9:g}", "3e-4", 512, c, "ok"] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)
add("sheets", "dollars and dates", "runs.csv",
    csv([["date", "run", "params", "train_tokens", "eval_loss", "cost_usd"], *([f"2025-02-{1 + k:02d}", f"r{k}", int(a), int(b), c, f"${30 * (k + 1)}"] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = crossed(616)
n, d, loss = t.points.values()
add("pastes", "aligned columns", "table.txt",
    f"{'size':>8} {'tokens':>8} {'loss':>8}\n" + "".join(f"{short(a):>8} {short(b):>8} {c:>8.3f}\n" for a, b, c in zip(n, d, loss)), t)
t = models(617, np.array([15e6, 40e6, 110e6, 300e6, 800e6]))
n, loss = t.points.values()
add("pastes", "bullets", "notes.md", "Results so far:\n\n" + "".join(f"- {short(a)} params: val loss {b:.3f}\n" for a, b in zip(n, loss)) + "\nNext: 2B.\n", t)

bpb = noisy(by_size(n) / np.log(2) / 4.2, 0.003, 618, 4)
add("units", "bits per byte and CORE", "report.csv",
    csv([["depth", "params", "val_bpb", "core"], *([4 * (k + 1), int(a), b, round(0.1 + 0.03 * k, 3)] for k, (a, b) in enumerate(zip(n, bpb)))]),
    Truth({"n_params": n, "test_loss": bpb}, float(by_size(8e9) / np.log(2) / 4.2)))
add("units", "nats in brackets", "losses.csv", csv([["Non-embedding params", "Test loss (nats/token)"], *([f"{a:.2e}", b] for a, b in zip(n, loss))]), t)

hours = np.array([1.0, 10, 100, 460, 960, 5000])
wer = noisy(0.025 + 0.5 * hours**-0.4, 0.01, 619, 4)
add("fields", "word error rates", "asr.md", markdown(["Train hours", "WER test-clean (%)"], [[f"{a:g}h", f"{100 * b:.2f}"] for a, b in zip(hours, wer)]),
    Truth({"n_data": hours, "test_error": wer}, float(0.025 + 0.5 * 50000**-0.4)))

n = np.array([1e4, 3e4, 1e5, 3e5, 1e6, 3e6])
mae = noisy(0.004 + 2.0 * n**-0.45, 0.012, 620, 5)
add("fields", "errors of energies", "mae.csv", csv([["n_structures", "energy_mae_eV"], *([int(a), b] for a, b in zip(n, mae))]),
    Truth({"n_data": n, "test_loss": mae}, float(0.004 + 2.0 * 3e7**-0.45)))

t = subsets(621, np.array([1000.0, 5000, 10000, 25000, 50000]), 1)
n, e = t.points.values()
add("fields", "CIFAR in percent", "cifar.md", markdown(["# train images", "Test acc. (%)"], [[f"{int(a / 1000)}k", f"{100 * (1 - b):.2f}"] for a, b in zip(n, e)]), t)

n = np.array([45e6, 124e6, 355e6, 774e6, 1.5e9])
base = noisy(by_size(n), 0.003, 622, 3)
add("several kinds", "architectures", "arch.csv",
    csv([["arch", "params", "val_loss"], *([w, int(a), round(f * v, 3)] for w, f in (("transformer", 1.0), ("mamba", 1.03)) for a, v in zip(n, base))]), None, ("arch", "mamba"))
add("several kinds", "domains as columns", "domains.md",
    markdown(["Model", "Params", "slimpajama loss", "code loss", "math loss"], [[f"L-{short(a)}", short(a), v, round(0.7 * v, 3), round(0.9 * v, 3)] for a, v in zip(n, base)]), None, ("slimpajama loss", "code loss"))
add("several kinds", "with and without dropout", "dropout.csv",
    csv([["dropout", "n_train", "val_error"], *([w, int(a), round(f * float(b), 4)] for w, f in ((0.0, 1.15), (0.1, 1.0)) for a, b in zip([1000, 3000, 10000, 30000, 100000], noisy(image_error(np.array([1e3, 3e3, 1e4, 3e4, 1e5])), 0.01, 623, 4)))]), None, ("dropout", "0.1"))
