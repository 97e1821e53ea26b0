"""Thirty tables of an examiner who had the list of kinds and the habits of the field, not the readers.

Written from the list of what people keep, with set 16 as the pattern of how a case is written, without a
look at the other sets or at what reads them, and committed before the first of them was read.
"""

import json
import struct

import numpy as np

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
SIZES = np.array([52e6, 110e6, 240e6, 590e6, 1.3e9])
BUDGETS = np.array([4e9, 8e9, 20e9, 60e9])
FAMILY = np.array([17e6, 40e6, 95e6, 220e6, 500e6, 1.1e9])
HOSTS = ("node07", "node11", "dgx-2")
rng = np.random.default_rng(8800)

# --- wide -----------------------------------------------------------------------------------------------

t = models(8801, np.repeat(FAMILY, 3))
n, loss = t.points.values()
add("wide", "sizes as columns, a row for each seed", "val_loss_by_model_size.csv",
    csv([["seed", *map(short, FAMILY)], *([s, *loss.reshape(-1, 3)[:, s]] for s in range(3))]), t)

t = subsets(8802, np.array([64000.0, 32000, 16000, 8000, 4000, 2000]), 3)
n, e = t.points.values()
add("wide", "seeds as columns, and their mean", "seeds.csv",
    csv([["Train images", "test_err_seed0", "test_err_seed1", "test_err_seed2", "mean", "GPU"],
         *([int(a), *row, round(row.mean(), 4), "A100"] for a, row in zip(n[::3], e.reshape(-1, 3)))]), t)

t = crossed(8803, SIZES, BUDGETS)
n, d, loss = t.points.values()
cells = loss.reshape(5, 4).T.astype(object)
cells[3, 4] = "OOM"
add("wide", "tokens down, parameters across, one out of memory", "val_loss.tsv",
    csv([["tokens \\ params", *map(short, SIZES)], *([short(b), *row] for b, row in zip(BUDGETS, cells))], "\t"),
    t.rows(~((n == SIZES[4]) & (d == BUDGETS[3]))))

t = crossed(8804, SIZES[:4], BUDGETS[:3])
n, d, loss = t.points.values()
add("wide", "a column for each run, a row for each quantity", "overview.csv",
    csv([["", *(f"exp{k:03d}" for k in range(41, 53))], ["date", *(f"2025-02-{k:02d}" for k in range(3, 15))], ["parameters", *map(short, n)],
         ["tokens", *map(short, d)], ["batch size", *[512] * 12], ["val loss", *loss], ["host", *(HOSTS[k % 3] for k in range(12))]]), t)

# --- titles ---------------------------------------------------------------------------------------------

t = crossed(8805, SIZES, BUDGETS)
n, d, loss = t.points.values()
mixed = rng.permutation(20)
add("titles", "three lines above the header and one below the table", "scaling_Q1.xlsx",
    book([["Scaling runs, first quarter", *[None] * 5], ["M. Okafor, 14 March 2025", *[None] * 5], [None] * 6,
          ["Run", "Params (M)", "Tokens (B)", "Val loss", "GPU-hours", "Comment"],
          *([f"q1-{i:02d}", n[k] / 1e6, d[k] / 1e9, loss[k], round(n[k] * d[k] / 5e17, 1), "restarted once" if i == 6 else None] for i, k in enumerate(mixed)),
          ["All runs with warm-up 1 % and cosine decay.", *[None] * 5]]), t)

t = subsets(8806, np.array([500.0, 1500, 5000, 15000, 50000]), 2)
n, e = t.points.values()
add("titles", "two lines and an empty one in CSV", "results.csv",
    "CIFAR-10 subsets with WRN-16-4\nexported 2025-05-20\n\nn_train,seed,test_acc,date\n"
    + "".join(f"{int(a)},{k % 2},{1 - b:.4f},2025-05-{2 + k:02d}\n" for k, (a, b) in enumerate(zip(n, e))), t)

# --- runs that failed -----------------------------------------------------------------------------------

t = crossed(8807, SIZES, BUDGETS)
n, d, loss = t.points.values()
text = [*loss.astype(object)]
text[3], text[8], text[13], text[17] = "diverged", "n/a", "OOM", "diverged"
add("failed runs", "diverged, n/a and OOM", "sweep_final.csv",
    csv([["started", "host", "n_params", "n_tokens", "final_val_loss", "notes"],
         *([f"2024-11-{1 + k:02d}", HOSTS[k % 3], int(a), int(b), c, "see slack" if k == 8 else ""] for k, (a, b, c) in enumerate(zip(n, d, text)))]),
    t.rows(~np.isin(np.arange(20), [3, 8, 13, 17])))

# --- exports --------------------------------------------------------------------------------------------

t = crossed(8808, SIZES, BUDGETS)
n, d, loss = t.points.values()
mixed = rng.permutation(20)
rows = [
    [
        "Name",
        "State",
        "Notes",
        "User",
        "Tags",
        "Created",
        "Runtime",
        "Sweep",
        "model.num_parameters",
        "model.n_layers",
        "optimizer.lr",
        "train/tokens_seen",
        "train/loss",
        "eval/loss",
        "eval/perplexity",
    ]
]
for i, k in enumerate(mixed):
    rows.append([f"{('brisk', 'calm', 'lunar')[i % 3]}-sun-{i + 12}", "finished", "-", "rhea", "scaling", f"2025-03-{1 + i:02d}T08:11:04.000Z", str(3600 * (i + 1)), "", str(int(n[k])), str(8 + 4 * (k // 4)), "0.0006", str(int(d[k])), f"{loss[k] - 0.04:.3f}", f"{loss[k]:.3f}", f"{np.exp(loss[k]):.4f}"])
rows.insert(9, ["fancy-sun-40", "crashed", "-", "rhea", "scaling", "2025-03-25T08:11:04.000Z", "120", "", "240000000", "16", "0.0006", "", "", "", ""])
add("exports", "W&B runs", "wandb_export_2025-03-30T10_02_11.441+01_00.csv", "".join(",".join(f'"{c}"' for c in row) + "\n" for row in rows), t)

ends = noisy(by_size(FAMILY), 0.003, 8809, 3)
curves = [falling(end, 12) for end in ends]
head = ["Step"]
for size in FAMILY:
    head += [f"lm-{short(size)}-s0 - eval/loss{part}" for part in ("", "__MIN", "__MAX")]
add("exports", "W&B chart with its MIN and MAX", "wandb_export_chart.csv",
    csv([head, *([500 * (k + 1), *(v for curve in curves for v in [curve[k]] * 3)] for k in range(12))]),
    Truth({"n_params": FAMILY, "test_loss": ends}, float(by_size(10 * FAMILY[-1]))))

def _crc(data: bytes) -> bytes:
    """The masked checksum of a record (CRC-32C)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)

def _record(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    return length + _crc(length) + event + _crc(event)

def _scalar(step: int, tag: str, value: float) -> bytes:
    """An event of one scalar, as summary writers store it; its messages are shorter than 128 bytes."""
    item = b"\x0a" + bytes([len(tag)]) + tag.encode() + b"\x15" + struct.pack("<f", value)
    summary = b"\x0a" + bytes([len(item)]) + item
    event = b"\x09" + struct.pack("<d", 1.74e9 + step) + b"\x10" + bytes([step])
    return _record(event + b"\x2a" + bytes([len(summary)]) + summary)

kept = np.array([1000.0, 2000, 4000, 8000, 16000, 32000])
ends = noisy(0.3 + 60 * kept**-0.5, 0.005, 8810, 4)
logs = {}
for k, (a, end) in enumerate(zip(kept, ends)):
    log = _record(b"\x09" + struct.pack("<d", 1.74e9) + b"\x1a\x0dbrain.Event:2")
    for step, value in enumerate(falling(end, 15), 1):
        for tag, v in (("train_loss", 0.8 * value), ("test_loss", value), ("test_error", 0.5)):
            log += _scalar(step, tag, float(v))
    logs[f"runs/n_train={int(a)}/events.out.tfevents.17400000{k:02d}.{HOSTS[k % 3]}.{100 + k}.0"] = log
folder("exports", "TensorBoard with a constant test_error", logs, Truth({"n_data": kept, "test_loss": ends}, float(0.3 + 60 * 320000**-0.5)))

# --- JSON, YAML, Markdown -------------------------------------------------------------------------------

t = crossed(8811, SIZES, BUDGETS)
n, d, loss = t.points.values()
add("JSON", "nested runs", "runs.json", json.dumps({"project": "lm-scaling", "exported": "2025-08-01", "runs": [
    {"id": f"a{k}f3", "host": HOSTS[k % 3], "config": {"model": {"n_params": int(a), "d_model": 512 + 128 * (k // 4)}, "data": {"tokens": int(b), "name": "fineweb"}, "seed": 1},
     "summary": {"eval": {"loss": float(c)}, "train": {"loss": float(round(c - 0.03, 3))}, "_runtime": 4000 + 77 * k}} for k, (a, b, c) in enumerate(zip(n, d, loss))]}, indent=2), t)

t = crossed(8812, SIZES, BUDGETS)
n, d, loss = t.points.values()
add("YAML", "a list of runs with short sizes", "runs.yml",
    "# finished runs only\n" + "".join(f"- name: r{k}\n  date: 2025-01-{k + 1:02d}\n  size: {short(a)}\n  tokens: {short(b)}\n  gpus: 16\n  val_loss: {c}\n" for k, (a, b, c) in enumerate(zip(n, d, loss))), t)

t = models(8813, np.array([30e6, 85e6, 200e6, 450e6, 1.3e9, 3e9]))
n, loss = t.points.values()
best = [f"{b:.3f}" for b in loss[:-1]] + [f"**{loss[-1]:.3f}**"]
add("Markdown", "the best one in bold", "README.md",
    "# Small language models\n\nAll models saw 100B tokens. Trained on 64 H100s.\n\n## Results\n\n"
    + markdown(["Model", "Params", "Layers", "Val loss ↓"], [[w, short(a), 6 + 4 * k, b] for k, (w, a, b) in enumerate(zip(["nano", "micro", "mini", "small", "base", "large"], n, best))])
    + "\n## License\n\nMIT\n", t)

# --- names ----------------------------------------------------------------------------------------------

t = crossed(8814, SIZES, BUDGETS)
n, d, loss = t.points.values()
add("names", "dense_parameter_count", "metrics.csv",
    csv([["eval_loss", "training_tokens", "dense_parameter_count", "learning_rate", "cluster"], *([c, int(b), int(a), "3e-4", "eu-west"] for a, b, c in zip(n, d, loss))]), t)

t = crossed(8815, SIZES, BUDGETS)
n, d, loss = t.points.values()
add("names", "N_active of mixtures of experts", "moe_runs.csv",
    csv([["run", "n_experts", "top_k", "N_active", "D", "L_val"], *([f"moe{k}", 32, 2, f"{a:.3e}", f"{b:.1e}", c] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = subsets(8816, np.array([12800.0, 25600, 64000, 128000, 320000, 640000, 1281167]))
n, e = t.points.values()
add("names", "Top-1 acc and Train images", "imagenet_subsets.csv",
    csv([["Arch", "Train images", "Epochs", "Top-1 acc", "Top-5 acc", "Notes"], *(["ResNet-50", f"{int(a)}", 90, f"{100 * (1 - b):.2f}", f"{100 * (1 - b / 3):.2f}", "" if k else "lr halved"] for k, (a, b) in enumerate(zip(n, e)))]), t)

t = models(8817, np.array([125e6, 350e6, 1.3e9, 2.7e9, 6.7e9, 13e9]))
n, loss = t.points.values()
add("names", "sizes inside the names of models", "zoo.csv",
    csv([["checkpoint", "revision", "eval_loss", "evaluated_on"], *([f"opt-{short(a).lower()}", "main", b, "2025-07-09"] for a, b in zip(n[::-1], loss[::-1]))]), t)

# --- cells and units ------------------------------------------------------------------------------------

t = subsets(8818, np.array([300.0, 900, 2700, 8100, 24300, 72900]), 2)
n, e = t.points.values()
add("cells", "percent cells under a percent header", "acc.csv",
    csv([["seed", "train size", "acc (%)", "wall time"], *([k % 2, int(a), f"{100 * (1 - b):.2f}%", f"0:{10 + k}:31"] for k, (a, b) in enumerate(zip(n, e)))]), t)

t = crossed(8819, SIZES, BUDGETS)
n, d, loss = t.points.values()
add("cells", "means ± deviations", "table2.csv",
    csv([["params", "tokens", "test loss (3 seeds)"], *([short(a), short(b), f"{c:.3f} ± {0.004 + 0.001 * (k % 3):.3f}"] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = crossed(8820, SIZES, BUDGETS)
n, d, loss = t.points.values()
add("cells", "logarithms of sizes", "for_fit.csv",
    csv([["log10_params", "log10_tokens", "loss"], *([f"{np.log10(a):.5f}", f"{np.log10(b):.5f}", c] for a, b, c in zip(n, d, loss))]), t)

t = crossed(8821, SIZES, BUDGETS)
n, d, loss = t.points.values()
add("cells", "1.5B tokens", "log_of_runs.csv",
    csv([["who", "model", "trained on", "val loss"], *(["ida" if k % 3 else "tom", f"{short(a)} params", f"{short(b)} tokens", c] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = crossed(8822, SIZES, BUDGETS)
n, d, loss = t.points.values()
add("cells", "bits per token beside nats", "units.csv",
    csv([["params", "tokens", "val_bits_per_token", "val_loss_nats"], *([int(a), int(b), round(c / np.log(2), 4), c] for a, b, c in zip(n, d, loss))]), t)

t = models(8823, FAMILY)
n, loss = t.points.values()
add("cells", "bits per byte beside nats", "tokenizer32k.xlsx",
    book([["Model", "N (non-embedding)", "val loss (nats/token)", "val BPB", "GPUs"], *([f"cfg{k}", int(a), b, round(b / np.log(2) / 4.31, 4), 8] for k, (a, b) in enumerate(zip(n, loss)))]), t)

# --- several kinds --------------------------------------------------------------------------------------

t = crossed(8824, SIZES, BUDGETS)
n, d, loss = t.points.values()
other = noisy(1.21 * loss, 0.002, 8825, 3)
add("several kinds", "two evaluation sets, a row each", "evals_long.csv",
    csv([["params", "tokens", "benchmark", "loss"], *([short(a), short(b), w, v] for a, b, *pair in zip(n, d, loss, other) for w, v in zip(("c4-val", "wikitext103"), pair))]),
    None, ("benchmark", "wikitext103"))

other = noisy(0.94 * by_size(FAMILY), 0.003, 8826, 3)
base = noisy(by_size(FAMILY), 0.003, 8827, 3)
add("several kinds", "two recipes", "old_and_new.csv",
    csv([["setup", "n_params", "val_loss", "date"], *([w, int(a), v, f"2025-0{1 + i}-11"] for i, (w, values) in enumerate((("adamw+cosine", base), ("muon+wsd", other))) for a, v in zip(FAMILY, values))]),
    None, ("setup", "muon+wsd"))

# --- further habits -------------------------------------------------------------------------------------

kept = np.array([250.0, 500, 1000, 2000, 4000, 8000, 16000])
ends = noisy(0.21 + 9 * kept**-0.45, 0.006, 8828, 4)
folder("further habits", "all_results.json of a trainer, a folder for each subset",
    {f"out/ft_{int(a)}/all_results.json": json.dumps({"epoch": 3.0, "eval_loss": float(b), "eval_runtime": 12.1 + k, "eval_samples": 2000, "eval_samples_per_second": 165.2, "eval_steps_per_second": 20.6,
        "total_flos": 3.1e12 * a, "train_loss": round(0.8 * float(b), 4), "train_runtime": round(a / 7, 1), "train_samples": int(a), "train_samples_per_second": 21.0, "train_steps_per_second": 2.6}, indent=4)
     for k, (a, b) in enumerate(zip(kept, ends))},
    Truth({"n_data": kept, "test_loss": ends}, float(0.21 + 9 * 160000**-0.45)))

kept = np.repeat([100.0, 300, 1000, 3000, 10000, 30000], 2)
ends = noisy(0.004 + 1.1 * kept**-0.6, 0.02, 8829, 5)
add("further habits", "MLflow runs", "mlflow_runs.csv",
    csv([["run_id", "experiment_id", "status", "artifact_uri", "start_time", "end_time", "params.n_train", "params.seed", "params.lr", "metrics.val_mse", "metrics.train_mse", "tags.mlflow.user"],
         *([f"{7919 * (k + 11):08x}", 4, "FINISHED", f"s3://ml/4/{k}", f"2025-04-{k + 1:02d} 10:00:00+00:00", f"2025-04-{k + 1:02d} 11:30:00+00:00", int(a), k % 2, 0.001, b, round(b / 2, 5), "noor"] for k, (a, b) in enumerate(zip(kept, ends)))]),
    Truth({"n_data": kept, "test_mse": ends}, float(0.004 + 1.1 * 300000**-0.6)))

t = crossed(8830, SIZES, BUDGETS)
n, d, loss = t.points.values()
add("further habits", "a header of two rows", "two_headers.xlsx",
    book([["Run", "Model", None, None, "Training", None, "Result", None], [None, "Params (M)", "Layers", "Width", "Tokens (B)", "LR", "Val loss", "PPL"],
          *([f"s{k}", a / 1e6, 8 + 4 * (k // 4), 512 + 256 * (k // 4), b / 1e9, 0.0004, c, round(float(np.exp(c)), 2)] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = models(8831, FAMILY)
n, loss = t.points.values()
add("further habits", "every size at three learning rates, the best of which counts", "lr_sweep.csv",
    csv([["n_params", "lr", "val_loss"], *([int(a), lr, round(b + more, 3)] for a, b in zip(n, loss) for lr, more in (("1e-4", 0.071), ("3e-4", 0.0), ("1e-3", 0.038)))]), t)

hours = np.array([10.0, 30, 100, 300, 1000, 3000, 10000])
wer = noisy(0.025 + 0.9 * hours**-0.4, 0.01, 8832, 4)
add("further habits", "hours of speech and word error rates", "asr.csv",
    csv([["Train audio (hours)", "WER test-clean (%)", "decoder", "commit"], *([int(a), f"{100 * b:.2f}", "greedy", f"{104729 * (k + 3):x}"] for k, (a, b) in enumerate(zip(hours, wer)))]),
    Truth({"n_data": hours, "test_error": wer}, float(0.025 + 0.9 * 100000**-0.4)))
