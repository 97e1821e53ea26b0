"""Thirty tables of a March: students, trackers, papers, chats, sheets, logs, evaluations, other sciences.

Written from the list of kinds and the head of one other set, before a look at what reads them; committed before the first
of them was read. Where a table has a truth and choices, a refusal that names the choices is right, too.
Said beforehand: perplexity is read as its logarithm, bits per byte stay, hours of speech and steps of environments count as
data, runs of one length are read by their ends, a row that stands twice counts once, and runs that a tracker calls crashed
or pruned do not count.
"""

import json
from pathlib import Path

import numpy as np
from openpyxl import Workbook

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
SHOTS = np.array([500.0, 1000, 2500, 5000, 10000, 25000, 50000])
MODELS = np.array([28e6, 85e6, 240e6, 720e6])
TOKENS = np.array([0.8e9, 2.4e9, 8e9, 24e9])

def surface(seed: int, models: np.ndarray = MODELS, tokens: np.ndarray = TOKENS, digits: int = 3) -> Truth:
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, models, tokens, lambda n, d: 1.74 + 395 * n**-0.338 + 420 * d**-0.283, digits)

def family(seed: int, models: np.ndarray, digits: int = 4) -> Truth:
    """Losses by parameters."""
    return line(seed, models, 1.92, 58.0, 0.216, digits, 0.003, "n_params")

def subsets(seed: int, sizes: np.ndarray = SHOTS, repeats: int = 1) -> Truth:
    """Errors by training images."""
    return line(seed, np.repeat(sizes, repeats), 0.045, 5.2, 0.41, 4, 0.012, y="test_error")

def ladder(seed: int, models: np.ndarray, tokens: np.ndarray) -> Truth:
    """Perplexities, two digits, of runs at about one ratio of tokens to parameters; their logarithms are the truth."""

    def law(n: np.ndarray, d: np.ndarray) -> np.ndarray:
        return 1.74 + 395 * n**-0.338 + 420 * d**-0.283

    ppl = np.round(np.exp(cases.noisy(law(models, tokens), 0.002, seed, 5)), 2)
    end = law(10 * models[-1:], 10 * tokens[-1:])
    return Truth({"n_params": models, "n_data": tokens, "test_loss": np.log(ppl)}, float(end[0]))

# --- students -----------------------------------------------------------------------------------------------

t = subsets(1301, SHOTS, 3)
n, err = columns(t)
rows = [[f"2026-03-{2 + k // 6:02d}", f"gpu0{k % 3 + 1}", a / 50000, int(a), k % 3, 200, 0.1, f"{1 - 0.2 * c:.4f}", f"{1 - c:.4f}", 90 + int(a / 11)] for k, (a, c) in enumerate(zip(n, err))]
rows[10][7:9] = ["", ""]  # this run was lost
rows.insert(16, rows[15])  # appended twice
add("students", "CIFAR accuracy with seeds, one run lost, one row twice", "cifar10_results.csv",
    csv([["date", "host", "train_frac", "n_train", "seed", "epochs", "lr", "train_acc", "test_acc", "time_s"], *rows]), t.rows(np.arange(21) != 10))

t = line(1302, np.array([100.0, 300, 1000, 3000, 10000, 60000]), 0.0015, 2.6, 0.55, 4, 0.01, y="test_error")
n, err = columns(t)
add("students", "errors in percent, said in a comment, the last below one", "mnist_mlp.dat",
    "# 2-layer MLP (784-512-10) on MNIST, Adam, 100 epochs\n# test_err in percent, mean over 5 seeds\n# n_train  test_err  std    epochs\n" + "".join(f"{int(a):>8}  {100 * c:>8.2f}  {2 * c:.3f}  100\n" for a, c in zip(n, err)), t)

t = line(1303, np.array([400.0, 1200, 3600, 10800, 32400]), 0.021, 0.9, 0.38, 4, 0.01)
n, loss = columns(t)
folder("students", "Keras' CSVLogger, a file a size, stopped early", {
    f"logs/history_n{int(a):05d}.csv": csv([["epoch", "learning_rate", "loss", "val_loss"], *([i, 0.001 if i < 8 else 0.0001, round(0.8 * float(v) - 0.002, 4), v] for i, v in enumerate(falling(float(c), 12 + 3 * k)))]) for k, (a, c) in enumerate(zip(n, loss))}, t)

t = line(1304, np.repeat([2000.0, 6000, 18000, 54000, 162000], 3), 0.31, 9.0, 0.47, 4, 0.008)
n, loss = columns(t)
add("students", "a notebook's output: folds under a heading for each size", "notebook_out.txt",
    "Train shape: (162000, 44)\nUsing features: 42\n" + "".join((f"\n===== n_rows = {int(a):,} =====\n" if k % 3 == 0 else "") + f"Fold {k % 3 + 1} | best_iter {150 + 37 * k} | train rmse {0.8 * c:.4f} | valid rmse {c:.4f}\n" for k, (a, c) in enumerate(zip(n, loss))) + "\nDone in 41.3 min\n", t)

# --- trackers -----------------------------------------------------------------------------------------------

t = surface(1305, digits=4)
n, d, loss = columns(t)
state = ["crashed" if k in (7, 14) else "finished" for k in range(16)]
add("trackers", "W&B's runs with nested columns, two of them crashed halfway", "wandb_export_2026-03-04T09_12_55.csv",
    csv([["Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "model.n_layer", "model.n_params", "optim.lr", "data.total_tokens", "eval/loss", "train/loss", "eval/perplexity"],
        *([f"gpt-{short(a)}-{short(b)}", s, "-", "lena", "", f"2026-03-01T{k:02d}:11:12.000Z", 3600 + 700 * k, "", 4 + 4 * (k // 4), int(a), 0.0006, int(b), v, round(v - 0.04, 4), round(float(np.exp(v)), 3)]
          for k, (a, b, c, s) in enumerate(zip(n, d, loss, state)) for v in [round(float(c) + (0.9 if s == "crashed" else 0), 4)])]),
    t.rows(np.array([s == "finished" for s in state])))

t = family(1306, np.array([12_718_080.0, 31_260_672, 88_474_624, 210_763_776, 512_958_464, 1_213_300_736]))
n, loss = columns(t)
folder("trackers", "the folder wandb/ with summaries and configurations", {name: text for k, (a, c) in enumerate(zip(n, loss)) for run in [f"wandb/run-2026030{k + 1}_101{k}12-x{k}k3f{k}"] for name, text in (
    (f"{run}/files/wandb-summary.json", json.dumps({"_runtime": 5120.4 + 900 * k, "_step": 19073, "_timestamp": 1772500000.5 + 8000 * k, "train/loss": round(float(c) - 0.03, 4), "val/loss": float(c), "lr": 3e-5, "_wandb": {"runtime": 5120 + 900 * k}})),
    (f"{run}/files/config.yaml", f"wandb_version: 1\n\n_wandb:\n  desc: null\n  value:\n    python_version: 3.12.3\n    cli_version: 0.19.8\nmodel:\n  desc: null\n  value:\n    d_model: {256 + 128 * k}\n    n_params: {int(a)}\n    vocab_size: 32000\nbatch_size:\n  desc: null\n  value: 256\nseed:\n  desc: null\n  value: 1337\n"),
    (f"{run}/files/wandb-metadata.json", json.dumps({"os": "Linux-5.15", "python": "3.12.3", "program": "train.py", "gpu": "H100", "gpu_count": 8, "cpu_count": 96}))) }, t)

t = line(1307, np.arange(1, 13) * 491_520_000.0, 2.05, 300.0, 0.265, 4, 0.001)
n, loss = columns(t)
add("trackers", "trainer_state.json of one training, with tokens seen", "trainer_state.json",
    json.dumps({"best_metric": None, "epoch": 0.71, "eval_steps": 1000, "global_step": 12000, "is_world_process_zero": True, "log_history": [row for k, (a, c) in enumerate(zip(n, loss)) for row in (
        {"epoch": round(0.059 * (k + 0.5), 4), "grad_norm": 0.41, "learning_rate": 3e-4 * (1 - k / 13), "loss": round(float(c) + 0.05, 4), "num_input_tokens_seen": int(a) - 245_760_000, "step": 1000 * k + 500},
        {"epoch": round(0.059 * (k + 1), 4), "eval_loss": float(c), "eval_runtime": 31.4, "eval_samples_per_second": 210.5, "num_input_tokens_seen": int(a), "step": 1000 * (k + 1)})],
        "max_steps": 20000, "num_train_epochs": 2, "train_batch_size": 16}, indent=2), t)

draws = np.random.default_rng(1308)
t = family(1308, np.array([2.1e6, 6.3e6, 19e6, 57e6, 170e6]))
n, loss = columns(t)
trials = [[a, lr, value, state] for a, c in zip(n, loss) for k in range(6) for lr in [10 ** draws.uniform(-4, -2.3)] for state in ["PRUNED" if k == 4 else "COMPLETE"] for value in [float(c) * (1 if k == 2 else 1.5 if k == 4 else 1 + draws.uniform(0.004, 0.05))]]
add("trackers", "Optuna's trials: learning rates of five sizes", "study_trials.csv",
    csv([["number", "value", "datetime_start", "datetime_complete", "duration", "params_lr", "params_warmup", "user_attrs_n_params", "state"],
        *([k, round(v, 4), f"2026-03-05 1{k // 6}:{k % 6}0:00", f"2026-03-05 1{k // 6}:{k % 6}8:11", "0 days 00:08:11", f"{lr:.6g}", [100, 500][k % 2], int(a), s] for k, (a, lr, v, s) in enumerate(trials))]), t, choices=("params_lr",))

# --- papers -------------------------------------------------------------------------------------------------

t = surface(1309, MODELS, TOKENS[:3])
n, d, loss = columns(t)
dagger, bold = "$^\\dagger$", "$\\mathbf{{{:.3f}}}$"
add("papers", "LaTeX with symbols explained, bold best and a dagger", "scaling_table.tex",
    "\\begin{table}[t]\n\\caption{Validation loss of models with $N$ parameters trained on $D$ tokens. $^\\dagger$ restarted once.}\n\\label{tab:grid}\n\\centering\n\\begin{tabular}{lrrrcc}\n\\toprule\nModel & $N$ (M) & $D$ (B) & Batch & Val.~loss $\\downarrow$ & HellaSwag $\\uparrow$ \\\\\n\\midrule\n"
    + "".join(f"{'SMLX'[k // 3]}{k % 3 + 1}{dagger if k == 5 else ''} & {a / 1e6:g} & {b / 1e9:g} & {128 * 2 ** (k // 3)} & {bold.format(c) if k == 11 else f'{c:.3f}'} & {25 + 1.7 * k:.1f} \\\\\n" for k, (a, b, c) in enumerate(zip(n, d, loss)))
    + "\\bottomrule\n\\end{tabular}\n\\end{table}\n", t)

t = line(1310, np.array([64.0, 128, 256, 512, 1024, 2048]), 0.0041, 0.62, 0.62, 5, 0.012)
n, err = columns(t)
add("papers", "errors of neural operators in hundredths", "darcy.tex",
    "\\begin{tabular}{r c c c}\n\\hline\n$N_{\\mathrm{train}}$ & rel.\\ $L_2$ test error ($\\times 10^{-2}$) & epochs & time/epoch (s) \\\\\n\\hline\n" + "".join(f"${int(a)}$ & ${100 * c:.3f}$ & 500 & {0.4 * a / 64:.1f} \\\\\n" for a, c in zip(n, err)) + "\\hline\n\\end{tabular}\n", t)

t = ladder(1311, np.array([60e6, 130e6, 350e6, 1e9]), np.array([1.2e9, 2.6e9, 7e9, 20e9]))
n, d, loss = columns(t)
add("papers", "sizes as columns, memory in brackets, tokens below", "table2.md",
    "**Table 2.** Validation perplexity (↓) on C4; memory estimate in brackets.\n\n" + markdown(["", *map(short, n)], [["Full-Rank", *(f"{np.exp(c):.2f} ({g}G)" for c, g in zip(loss, (0.36, 0.76, 2.06, 7.8)))], ["Training tokens", *map(short, d)]]), t)

n = np.array([60e6, 130e6, 350e6, 1e9])
loss = columns(family(1312, n))[1]
add("papers", "three optimizers in rows, sizes as columns", "optimizers.md",
    "## Final validation loss\n\n" + markdown(["Optimizer", *map(short, n)], [[w, *(f"{m * c:.3f}" for c in loss)] for w, m in (("AdamW", 1.0), ("SOAP", 0.975), ("Muon", 0.968))]), choices=("Optimizer", "Muon"))

# --- chats and sheets ---------------------------------------------------------------------------------------

t = surface(1313, np.array([30e6, 120e6, 480e6]), np.array([0.6e9, 3e9, 15e9]))
n, d, loss = columns(t)
add("sheets", "a message with numbers, one run to come", "slack_export.txt",
    "lena  11:02 AM\nresults are in :tada: (val loss on C4)\n" + "".join(f"{short(a)} on {b / 1e9:g}B tok: {c:.3f}\n" if k != 5 else "120M on 15B tok: OOMed on node 7, rerunning\n" for k, (a, b, c) in enumerate(zip(n, d, loss))) + "tom  11:05 AM\nawesome!! 480M looks really good, 3 x 8 GPUs was worth it\n", t.rows(np.arange(9) != 5))

t = surface(1314, MODELS, TOKENS[:3], 4)
n, d, loss = columns(t)

def _two_headers(path: Path, points: tuple[np.ndarray, ...] = (n, d, loss)) -> None:
    sheet = (file := Workbook()).active
    sheet.append(["Model", None, "Validation", None, "Training", None, "Remarks"])
    sheet.append(["Params (M)", "Tokens (B)", "Loss", "Acc (%)", "Loss", "Acc (%)", None])
    for k, (a, b, c) in enumerate(zip(*points)):
        note = "rerun" if k == 4 else None
        sheet.append([a / 1e6 if k % 3 == 0 else None, b / 1e9, c, round(70 - 12 * c, 1), round(c - 0.06, 4), round(71 - 12 * c, 1), note])
    for cells in ("A1:B1", "C1:D1", "E1:F1", *(f"A{k}:A{k + 2}" for k in (3, 6, 9, 12))):
        sheet.merge_cells(cells)
    file.save(path)

add("sheets", "Excel: two header rows, merged cells, training beside validation", "results_march.xlsx", _two_headers, t)

t = cases.surface(1315, np.array([22e6, 86e6, 0.3e9, 1.3e9]), np.array([0.3e6, 1.2e6, 14e6]), lambda n, d: 0.07 + 30 * n**-0.31 + 9 * d**-0.33, 4)
n, d, err = columns(t)
size = {22e6: "22 M", 86e6: "86 M", 0.3e9: "0.3 B", 1.3e9: "1.3 B"}
seen = {0.3e6: "300k imgs", 1.2e6: "1.2M imgs", 14e6: "14M imgs"}
add("sheets", "pasted from Google Sheets, units in the cells", "paste.tsv",
    csv([["Model", "# Params", "Pretrain set", "GPU-h", "Cost", "IN-1k top-1", "Notes"], *([f"ViT-{'SBLG'[k // 3]}", size[a], seen[b], f"{1204 * (k + 1):,}", f"${3010 * (k + 1):,.2f}", f"{100 * (1 - c):.2f}%", "" if k else "baseline"] for k, (a, b, c) in enumerate(zip(n, d, err)))], "\t"), t)

t = surface(1316, np.array([38.5e6, 125e6, 410e6, 1310e6]), np.array([1.5e9, 5e9, 15e9, 50e9]), 4)
n, d, loss = columns(t)
german = [["Lauf", "Parameter (Mio.)", "Token (Mrd.)", "Verlust (Validierung)", "Verlust (Training)", "GPU-Std.", "Bemerkung"], *([k + 1, "1.310,0" if a > 1e9 else comma(a / 1e6, 1), comma(b / 1e9, 1), comma(c), comma(c - 0.05), comma(4.5 * k + 3, 1), "größerer Stapel" if k == 9 else ""] for k, (a, b, c) in enumerate(zip(n, d, loss)))]
add("sheets", "German: decimal commas, dots of thousands, cp1252", "Ergebnisse.csv", csv(german, ";").encode("cp1252"), t)

n = np.array([500.0, 2000, 8000, 32000])
add("sheets", "three data sets in rows, named once each", "datasets.xlsx",
    book([["Dataset", "Train images", "Top-1 err (%)", "epochs"], *([w if k == 0 else None, int(a), round(100 * m * float(c), 2), 100] for w, m, s in (("CIFAR-10", 1.0, 1317), ("CIFAR-100", 2.1, 1318), ("SVHN", 0.4, 1319)) for k, (a, c) in enumerate(zip(*columns(subsets(s, n)))))]), choices=("Dataset", "SVHN"))

t = surface(1320, np.array([51.3e6, 154.2e6, 405.7e6, 1020.5e6]), np.array([1.03e9, 4.2e9, 16.8e9]), 4)
n, d, loss = columns(t)
add("sheets", "dates, hours and money beside parameters and tokens", "runs_overview.csv",
    csv([["run", "date", "params_m", "tokens_b", "peak_lr", "gpu_hours", "cost_eur", "train_loss", "val_loss"], *([f"r{17 + k:03d}", 20260301 + k, f"{a / 1e6:.1f}", f"{b / 1e9:g}", 0.0006, round(6 * a * b / 1.44e18, 1), round(2.1 * 6 * a * b / 1.44e18), round(c - 0.05, 4), c] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

# --- logs and configurations --------------------------------------------------------------------------------

steps, batch = np.tile([5000.0, 15000, 45000], 4), np.repeat([128.0, 256, 256, 512], 3)
n = np.repeat(MODELS, 3)
d = steps * batch * 1024
truth = 1.74 + 395 * n**-0.338 + 420 * d**-0.283
grid = np.geomspace(1e6, 1e13, 20001)
best = float((1.74 + 395 * grid**-0.338 + 420 * (10 * (n * d).max() / grid) ** -0.283).min())
t = Truth({"n_params": n, "n_data": d, "test_loss": cases.noisy(truth, 0.003, 1321, 4)}, best)
add("logs", "steps, batch size and length of a sequence for tokens", "final_losses.csv",
    csv([["n_params", "steps", "batch_size", "seq_len", "lr", "eval_loss"], *([int(a), int(s), int(b), 1024, 0.0006, c] for a, s, b, c in zip(n, steps, batch, columns(t)[2]))]), t)

t = family(1322, np.array([3.26e6, 10.65e6, 29.94e6, 85.2e6, 252.8e6]))
n, loss = columns(t)
add("logs", "nanoGPT's prints of five runs, one after the other", "all_runs.log",
    "".join(f"$ python train.py config/train_owt.py --n_layer={4 + 2 * k} --n_embd={128 * (k + 1)}\ntokens per iteration will be: 491,520\nfound vocab_size = 50304 (inside data/owt/meta.pkl)\nInitializing a new model from scratch\nnumber of parameters: {a / 1e6:.2f}M\nnum decayed parameter tensors: {26 + 8 * k}, with {int(0.99 * a):,} parameters\nusing fused AdamW: True\ncompiling the model... (takes a ~minute)\n"
        + "".join(f"step {1000 * i}: train loss {v - 0.02:.4f}, val loss {v:.4f}\n" + (f"saving checkpoint to out\niter {1000 * i}: loss {v + 0.03:.4f}, time {211.4 + 90 * k:.2f}ms, mfu 41.{i}2%\niter {1000 * i + 500}: loss {v - 0.01:.4f}, time {210.1 + 90 * k:.2f}ms, mfu 41.{i}4%\n" if i < 8 else "saving checkpoint to out\n") for i, v in enumerate([10.8723, *falling(float(c), 9)[1:]])) for k, (a, c) in enumerate(zip(n, loss))), t)

t = surface(1323, MODELS, TOKENS[:3], 4)
n, d, loss = columns(t)
add("logs", "YAML: configurations with their results, one failed", "experiments.yaml",
    "project: march-grid\nowner: tom\nexperiments:\n" + "".join(f"  - name: grid_{k:02d}\n    model:\n      params: {short(a)}\n      d_model: {256 * (k // 3 + 1)}\n    data:\n      name: fineweb\n      tokens: {short(b)}\n    status: {'failed' if k == 2 else 'done'}\n" + ("    results: null\n" if k == 2 else f"    results:\n      train: {{loss: {c - 0.04:.4f}}}\n      val: {{loss: {c:.4f}, ppl: {np.exp(c):.2f}}}\n") for k, (a, b, c) in enumerate(zip(n, d, loss))), t.rows(np.arange(12) != 2))

t = surface(1324)
n, d, loss = columns(t)
cells = [f"{c:.3f}" for c in loss]
cells[3], cells[12], cells[14] = "—", "OOM", "⏳"
add("logs", "README: models by tokens, some cells without a number", "README.md",
    "# tinyscale\n\nTrain small GPTs.\n\n## Results\n\nValidation loss (nats/token) by model size and training tokens:\n\n" + markdown(["params ↓ / tokens →", *map(short, TOKENS)], [[f"**{short(a)}**", *cells[4 * k : 4 * k + 4]] for k, a in enumerate(MODELS)]) + "\n⏳ still running. Trained with `lr=6e-4` on 8×A100.\n\n## Install\n\n```\npip install -e .\n```\n", t.rows(~np.isin(np.arange(16), [3, 12, 14])))

# --- evaluations --------------------------------------------------------------------------------------------

t = line(1325, np.array([70_426_624.0, 162_322_944, 405_334_016, 1_011_781_632, 1_414_647_808, 2_775_208_960, 6_857_302_016]), 0.24, 137.0, 0.29, 4, 0.004, "n_params", "test_error")
n, err = columns(t)
folder("evaluations", "lm-eval-harness: a file of results for each model", {f"results/EleutherAI__pythia-{w}/results_2026-03-0{k + 1}T10-11-12.345678.json": json.dumps({
    "results": {"triviaqa": {"alias": "triviaqa", "exact_match,remove_whitespace": round(1 - float(c), 4), "exact_match_stderr,remove_whitespace": 0.0031}},
    "group_subtasks": {"triviaqa": []}, "versions": {"triviaqa": 3.0}, "n-shot": {"triviaqa": 5}, "higher_is_better": {"triviaqa": {"exact_match": True}}, "n-samples": {"triviaqa": {"original": 17944, "effective": 17944}},
    "config": {"model": "hf", "model_args": f"pretrained=EleutherAI/pythia-{w},dtype=bfloat16", "model_num_parameters": int(a), "model_dtype": "torch.bfloat16", "batch_size": "16", "limit": None, "bootstrap_iters": 100000, "random_seed": 0},
    "git_hash": "a1b2c3d", "date": 1772600000.25 + 5000 * k, "total_evaluation_time_seconds": f"{300.5 + 211 * k}"}, indent=2)
    for k, (w, a, c) in enumerate(zip(("70m", "160m", "410m", "1b", "1.4b", "2.8b", "6.9b"), n, err))}, t)

t = line(1326, np.array([0.35e9, 1.3e9, 2.7e9, 6.7e9, 13e9, 33e9]), 0.12, 74.0, 0.23, 4, 0.006, "n_params", "test_error")
n, err = columns(t)
add("evaluations", "pass@1, pass@10 and pass@100 side by side", "humaneval.csv",
    csv([["model", "params_b", "temperature", "pass@1", "pass@10", "pass@100"], *([f"coder-{a / 1e9:g}b", a / 1e9, 0.2, f"{100 * (1 - c):.2f}", f"{100 * (1 - 0.8 * c):.2f}", f"{100 * (1 - 0.6 * c):.2f}"] for a, c in zip(n, err))]), t, choices=("pass@1", "pass@10"))

points = [(w, b, m * float(c)) for w, m, s in (("ViT-B-32", 1.0, 1327), ("ViT-B-16", 0.86, 1328), ("ViT-L-14", 0.7, 1329)) for b, c in zip(*columns(line(s, np.array([0.4e9, 1.3e9, 3.9e9, 13e9]), 0.2, 700.0, 0.38, 4, 0.006)))]
add("evaluations", "zero-shot top-1 of three architectures by images seen", "openclip_eval.jsonl",
    "".join(json.dumps({"arch": w, "pretrained": "laion", "images_seen": short(b), "samples_per_sec": 31000 - 900 * k, "imagenet_zeroshot_top1": round(1 - c, 4)}) + "\n" for k, (w, b, c) in enumerate(points)), choices=("arch", "ViT-B-32"))

t = family(1330, np.array([45e6, 125e6, 350e6, 760e6, 1.3e9, 2.7e9]))
n, loss = columns(t)
add("evaluations", "a leaderboard with ranks and submissions' numbers", "leaderboard.tsv",
    csv([["rank", "submission_id", "team", "model_params", "held_out_loss", "votes"], *([k + 1, 40213 + 17 * ((5 * k) % 7), f"team-{w}", f"{int(a):,}", c, 12 + 31 * ((3 * k) % 5)] for k, (a, c, w) in enumerate(zip(n[::-1], loss[::-1], ("aster", "birch", "cedar", "dahlia", "elm", "fern"))))], "\t"), t)

# --- other sciences -----------------------------------------------------------------------------------------

t = line(1331, np.repeat([1e5, 3e5, 1e6, 3e6, 1e7], 3), 0.06, 60.0, 0.37, 4, 0.01)
n, err = columns(t)
t = Truth({"n_data": n, "score": np.round(1000 * (1 - err), 1)}, 1000 * (1 - t.ten_times))
add("sciences", "returns of agents by steps in the environment, three seeds", "ppo_returns.csv",
    csv([["algo", "env_id", "seed", "env_steps", "episodic_return", "episodic_length", "SPS"], *(["ppo", "CheetahRun-v1", k % 3 + 1, int(a), r, 1000, 5200 + 13 * k] for k, (a, r) in enumerate(zip(n, t.points["score"])))]), t, choices=("episodic_return",))

t = line(1332, np.array([1 / 6, 1.0, 10.0, 100.0, 960.0]), 0.021, 0.105, 0.42, 4, 0.01, y="test_error")
h, err = columns(t)
add("sciences", "word errors by minutes and hours of speech, UTF-16", "wer.txt",
    csv([["Labelled data", "LM", "WER (%)", "fine-tuning steps"], *([w, "none", f"{100 * c:.2f}", s] for w, c, s in zip(("10 min", "1 h", "10 h", "100 h", "960 h"), err, ("12k", "13k", "20k", "80k", "320k")))], "\t").encode("utf-16"), t)

n = np.array([8e6, 35e6, 150e6, 650e6, 3e9])
ppl = np.round(np.exp(cases.noisy(1.55 + 40 * n**-0.235, 0.003, 1333, 5)), 3)
t = Truth({"n_params": n, "test_loss": np.log(ppl)}, float(1.55 + 40 * 3e10**-0.235))
add("sciences", "protein language models by name, layers and width beside", "esm_like.json",
    json.dumps({f"plm_t{layers}_{short(a)}_UR50D": {"layers": layers, "embed_dim": width, "attention_heads": 20, "val_ppl": float(p)} for a, p, layers, width in zip(n, ppl, (6, 12, 30, 33, 36), (320, 480, 640, 1280, 2560))}, indent=2), t)

c = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]) * 1e21
t = line(1334, c, 0.61, 19.0, 0.083, 4, 0.002, "compute")
add("sciences", "bits per byte against compute in zettaFLOP", "frontier.txt",
    "# run        compute_ZFLOP  val_bpb  wall_days\n" + "".join(f"  iso_{k:02d}     {a / 1e21:>13g}  {b:>7.4f}  {0.4 * (k + 1):>9.1f}\n" for k, (a, b) in enumerate(zip(*columns(t)))), t)
