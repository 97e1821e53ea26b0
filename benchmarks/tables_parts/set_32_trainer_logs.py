"""Thirty tables of a May: logs of trainers, trackers, sheets, papers, chats, other sciences.

Written from the list of kinds, the counts of the earlier sets and the head of one of them, before a look at what reads them;
committed before the first of them was read. Where a table has a truth and choices, a refusal that names the choices is right, too.
Said beforehand: losses stay in the unit in which they are written, perplexity is read as its logarithm, hours of speech, levels
of a game and demonstrations count as data, the validation at the end of a run counts, seeds in columns are runs (the mean and the
deviation beside them are none), and rows that the table itself calls crashed, wrong or not comparable do not count.
Changed after the first try, with the same verdicts: the hours in the stamps of Megatron-LM and torchtitan ran to 110.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from openpyxl import Workbook

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
MODELS = np.array([31e6, 92e6, 260e6, 810e6])
TOKENS = np.array([1e9, 3e9, 9e9, 27e9])

def law(n: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The loss of a language model of n parameters after d tokens."""
    return 1.81 + 360 * n**-0.332 + 455 * d**-0.287

def family(seed: int, models: np.ndarray, digits: int = 4) -> Truth:
    """Losses by parameters."""
    return line(seed, models, 2.05, 52.0, 0.212, digits, 0.003, "n_params")

def ladder(seed: int, models: np.ndarray, tokens: np.ndarray, share: float = 1.0, digits: int = 4) -> Truth:
    """Losses, or a share of them, of runs of one size and one number of tokens each."""
    loss = cases.noisy(share * law(models, tokens), 0.002, seed, digits)
    end = share * law(10 * models[-1:], 10 * tokens[-1:])
    return Truth({"n_params": models, "n_data": tokens, "test_loss": loss}, float(end[0]))

def errors(seed: int, sizes: np.ndarray, repeats: int = 1) -> Truth:
    """Errors by training examples."""
    return line(seed, np.repeat(sizes, repeats), 0.032, 4.1, 0.39, 4, 0.01, y="test_error")

# --- logs of trainers ---------------------------------------------------------------------------------------

t = family(1501, np.array([13107712.0, 38120448, 96468992, 247577600, 613351424]), 3)
n, loss = columns(t)
files = {}
for k, (a, c) in enumerate(zip(n, loss)):
    stamp = f"2026-04-{3 + k:02d} 08:1{k}"
    files[f"lm_{short(round(a / 1e6) * 1e6)}/train.log"] = (
        f"{stamp}:02 | INFO | fairseq_cli.train | task: LanguageModelingTask\n{stamp}:02 | INFO | fairseq_cli.train | model: TransformerLanguageModel\n{stamp}:02 | INFO | fairseq_cli.train | criterion: CrossEntropyCriterion\n"
        f"{stamp}:02 | INFO | fairseq_cli.train | num. shared model params: {int(a):,} (num. trained: {int(a):,})\n{stamp}:02 | INFO | fairseq_cli.train | num. expert model params: 0 (num. trained: 0)\n{stamp}:05 | INFO | fairseq.data.data_utils | loaded 3,760 examples from: data-bin/wikitext-103/valid\n"
        + "".join(f"{stamp}:{10 + e} | INFO | train | epoch {e + 1:03d} | loss {0.97 * v:.3f} | ppl {2 ** (0.97 * v):.2f} | wps 51233.4 | ups 0.78 | wpb 65534 | bsz 128 | num_updates {1574 * (e + 1)} | lr 0.000{48 - e} | gnorm 0.4{e} | wall {311 * (e + 1)}\n"
        f"{stamp}:{11 + e} | INFO | valid | epoch {e + 1:03d} | valid on 'valid' subset | loss {v:.3f} | ppl {2**v:.2f} | wps 160012.2 | wpb 2047.5 | bsz 4 | num_updates {1574 * (e + 1)} | best_loss {v:.3f}\n" for e, v in enumerate(falling(float(c), 12)))
        + f"{stamp}:40 | INFO | fairseq_cli.train | done training in 3744.1 seconds\n")
folder("logs of trainers", "fairseq, a folder a model, losses in bits", files, t)

t = family(1502, 2 * np.array([62194176.0, 177482240, 380141568, 660602880, 1306525696]))
n, loss = columns(t)
files = {}
for k, (a, c) in enumerate(zip(n, loss)):
    steps = [f" [2026-04-1{k} 1{i - 1}:20:33] iteration {5000 * i:8d}/   50000 | consumed samples: {1280000 * i:12d} | elapsed time per iteration (ms): {512.3 + 40 * k:.1f} | learning rate: {3e-4 * (1 - i / 11):.3E} | global batch size:   256 | lm loss: {0.99 * v:.6E} | loss scale: 1.0 | grad norm: 0.3{i % 10} | number of skipped iterations:   0 | number of nan iterations:   0 |\n" for i, v in enumerate(falling(float(c), 11)) if i]
    files[f"slurm-88{k}12.out"] = (
        "using world size: 16, data-parallel size: 8, context-parallel size: 1, tensor-model-parallel size: 2, pipeline-model-parallel size: 1 \n------------------------ arguments ------------------------\n  global_batch_size ............................... 256\n  seq_length ...................................... 2048\n  tensor_model_parallel_size ...................... 2\n  train_iters ..................................... 50000\n-------------------- end of arguments ---------------------\nbuilding GPT model ...\n"
        f" > number of parameters on (tensor, pipeline) model parallel rank (0, 0): {int(a / 2)}\n > number of parameters on (tensor, pipeline) model parallel rank (1, 0): {int(a / 2)}\n" + "".join(steps)
        + f"-----------------------------------------------------------------------------------------\n validation loss at iteration 50000 | lm loss value: {c:.6E} | lm loss PPL: {np.exp(c):.6E} | \n-----------------------------------------------------------------------------------------\n")
folder("logs of trainers", "Megatron-LM, parameters printed for each of two ranks", files, t)

t = family(1503, np.array([47185920.0, 110297088, 271581184, 532676608, 1235814400]))
n, loss = columns(t)
folder("logs of trainers", "torchtitan, training and validation", {
    f"outputs/llama3_{short(round(a / 1e6) * 1e6)}/rank0.log": f"[titan] 2026-04-21 10:00:0{k},123 - root - INFO - Starting job: Llama 3 {short(round(a / 1e6) * 1e6)}\n[titan] 2026-04-21 10:00:0{k},801 - root - INFO - Model llama3 size: {int(a):,} total parameters\n[titan] 2026-04-21 10:00:1{k},002 - root - INFO - Training starts at step 1, with local batch size 8, global batch size 64, sequence length 2048, total steps 20000 (warmup 200)\n"
    + "".join(f"[titan] 2026-04-21 1{i - 1}:31:07,110 - root - INFO - step: {2000 * i:5d}  loss: {0.985 * v:7.4f}  grad_norm: 0.{31 - i}12  memory: 40.12GiB(50.71%)  tps: {52011 - 7000 * k:,}  tflops: 12{k}.10  mfu: 2{k}.30%\n[titan] 2026-04-21 1{i - 1}:31:40,992 - root - INFO - validate step: {2000 * i:5d}  loss: {v:7.4f}  memory: 22.02GiB(27.83%)  tps: 81,220\n" for i, v in enumerate(falling(float(c), 11)) if i)
    + "[titan] 2026-04-21 20:02:13,500 - root - INFO - Training completed\n" for k, (a, c) in enumerate(zip(n, loss))}, t)

n = np.array([41943040.0, 73531392, 124518400, 191889408, 285474816, 560988160])
t = ladder(1504, n, 524288 * np.round(20 * n / 524288), 0.32)
n, d, bpb = columns(t)
folder("logs of trainers", "nanochat's base_train at six depths, bits per byte", {
    f"d{depth}.log": f"Vocab size: 65,536\nnum_layers: {depth}\nmodel_dim: {64 * depth}\nnum_heads: {depth // 2}\nTokens / micro-batch / rank: 32 x 2048 = 65,536\nTotal batch size 524,288 => gradient accumulation steps: 1\nNumber of parameters: {int(a):,}\nEstimated FLOPs per token: {6 * a:e}\nCalculated number of iterations from target data:param ratio: {int(b / 524288):,}\nTotal number of training tokens: {int(b):,}\nTokens : Params ratio: 20.00\nTotal training FLOPs estimate: {6 * a * b:e}\n"
    + "".join(f"Step {int(b / 524288 * i / 10):05d} | Validation bpb: {v:.4f}\nstep {int(b / 524288 * i / 10):05d}/{int(b / 524288):05d} ({10 * i:.2f}%) | loss: {v / 0.325:.6f} | lrm: {1 - i / 20:.2f} | dt: 412.22ms | tok/sec: 1,271,840 | mfu: 47.10 | total time: {1.3 * i:.2f}m\n" for i, v in enumerate((falling(float(c), 11) + c) / 2))
    + f"Peak memory usage: 7{depth}11.02MiB\nTotal training time: 61.10m\nMinimum validation bpb: {c:.4f}\n" for depth, a, b, c in zip((6, 8, 10, 12, 14, 20), n, d, bpb)}, t)

t = errors(1505, np.array([1250.0, 2500, 5000, 10000, 20000, 40000]))
n, err = columns(t)
add("logs of trainers", "Keras' bars under a heading a size, the test set at the end", "keras_out.txt",
    "".join(f"### Training on {int(a)} images\nEpoch 1/30\n{int(a / 64)}/{int(a / 64)} ━━━━━━━━━━━━━━━━━━━━ 3s 4ms/step - accuracy: 0.3122 - loss: 2.0133 - val_accuracy: 0.4011 - val_loss: 1.7212\nEpoch 2/30\n{int(a / 64)}/{int(a / 64)} ━━━━━━━━━━━━━━━━━━━━ 2s 4ms/step - accuracy: 0.5122 - loss: 1.4133 - val_accuracy: 0.5311 - val_loss: 1.3212\n...\nEpoch 30/30\n{int(a / 64)}/{int(a / 64)} ━━━━━━━━━━━━━━━━━━━━ 2s 4ms/step - accuracy: {1 - 0.4 * c:.4f} - loss: {c:.4f} - val_accuracy: {1 - 0.97 * c - 0.003:.4f} - val_loss: {2.2 * c:.4f}\nRestoring model weights from the end of the best epoch: 27.\nTest accuracy: {1 - c:.4f}\n\n" for a, c in zip(n, err)), t)

t = line(1506, np.array([2000.0, 6000, 20000, 60000, 200000]), 2.31, 6.2, 0.24, 4, 0.003)
n, loss = columns(t)
folder("logs of trainers", "all_results.json of run_clm.py, a folder a subset", {
    f"out/gpt2-ft-{short(a)}/all_results.json": json.dumps({"epoch": 3.0, "eval_loss": float(c), "eval_runtime": 14.2203 + k, "eval_samples": 1931, "eval_samples_per_second": 135.8, "perplexity": float(np.exp(c)), "total_flos": 1.57e12 * a, "train_loss": round(0.93 * float(c), 4), "train_runtime": round(0.021 * a, 2), "train_samples": int(a), "train_samples_per_second": 142.9}, indent=4) for k, (a, c) in enumerate(zip(n, loss))}, t)

t = line(1507, np.array([5.72e6, 11.69e6, 22.05e6, 44.57e6, 86.57e6, 304.33e6]), 0.105, 55.0, 0.39, 5, 0.006, "n_params", "test_error")
n, err = columns(t)
rows = [[m, f"{100 * (1 - c):.3f}", f"{100 * c:.3f}", f"{100 * (1 - 0.24 * c):.3f}", f"{24 * c:.3f}", f"{a / 1e6:.2f}", 224, 0.9, "bicubic"] for m, a, c in zip(("vit_tiny", "vit_xsmall", "vit_small", "vit_medium", "vit_base", "vit_large"), n, err)]
add("logs of trainers", "timm's results, parameters in millions", "results-imagenet.csv",
    csv([["model", "top1", "top1_err", "top5", "top5_err", "param_count", "img_size", "crop_pct", "interpolation"], *rows[::-1]]), t)

t = line(1508, np.array([1172.0, 2345, 5863, 11726, 23453, 58633, 117266]), 0.44, 3.4, 0.28, 4, 0.004, y="test_error")
n, err = columns(t)
add("logs of trainers", "detectron2's copypaste lines, a size each", "frcnn_subsets.log",
    "".join(f"[05/1{k} 09:12:44 d2.data.build]: Removed 0 images with no usable annotations. {int(a)} images left.\n[05/1{k} 09:12:45 d2.data.datasets.coco]: Loaded 5000 images in COCO format from datasets/coco/annotations/instances_val2017.json\n[05/1{k} 21:40:01 d2.evaluation.testing]: copypaste: Task: bbox\n[05/1{k} 21:40:01 d2.evaluation.testing]: copypaste: AP,AP50,AP75,APs,APm,APl\n[05/1{k} 21:40:01 d2.evaluation.testing]: copypaste: {100 * (1 - c):.2f},{100 * (1 - c) * 1.5:.4f},{100 * (1 - c) * 1.08:.4f},{100 * (1 - c) * 0.6:.4f},{100 * (1 - c) * 1.09:.4f},{100 * (1 - c) * 1.28:.4f}\n" for k, (a, c) in enumerate(zip(n, err))), t)

t = line(1509, np.array([10.0, 30, 100, 300, 960]), 0.021, 0.95, 0.61, 3, 0.01, y="test_error")
n, err = columns(t)
head = "|dataset|Snt|Wrd|Corr|Sub|Del|Ins|Err|S.Err|\n|---|---|---|---|---|---|---|---|---|\n"
add("logs of trainers", "ESPnet's RESULTS.md, an experiment a subset", "RESULTS.md",
    "<!-- Generated by scripts/utils/show_asr_result.sh -->\n# RESULTS\n## Environments\n- date: `Tue May  5 03:11:20 JST 2026`\n- python version: `3.10.12`\n- espnet version: `espnet 202402`\n\n" + "".join(
        f"## exp/asr_conformer_train_{int(a)}h\n### WER\n\n{head}|decode_asr_model_valid.acc.ave/test_clean|2620|52576|{100 - 92 * c:.1f}|{80 * c:.1f}|{12 * c:.1f}|{8 * c:.1f}|{100 * c:.1f}|{min(99.0, 800 * c) if c < 0.1 else 97.3:.1f}|\n\n### CER\n\n{head}|decode_asr_model_valid.acc.ave/test_clean|2620|281530|{100 - 35 * c:.1f}|{20 * c:.1f}|{15 * c:.1f}|{5 * c:.1f}|{40 * c:.1f}|{min(99.0, 800 * c) if c < 0.1 else 97.3:.1f}|\n\n" for a, c in zip(n, err)), t)

t = family(1510, np.array([3.4e6, 12.1e6, 45.3e6, 174.2e6, 684.0e6]))
n, loss = columns(t)
add("logs of trainers", "a JAX script's metrics of five widths, one after the other", "metrics.jsonl",
    "".join("".join(json.dumps(row) + "\n" for row in [
        {"event": "start", "run": f"w{256 * 2**k}", "n_params": int(a), "jax": "0.4.35", "devices": 8},
        *({"event": "train", "run": f"w{256 * 2**k}", "step": 1000 * i, "loss": round(0.98 * float(v), 4), "lr": 3e-4, "steps_per_s": 4.1} for i, v in enumerate(falling(float(c), 9)) if i),
        {"event": "eval", "run": f"w{256 * 2**k}", "step": 8000, "split": "validation", "loss": float(c)}, {"event": "done", "run": f"w{256 * 2**k}", "hours": 1.5 * 2**k}]) for k, (a, c) in enumerate(zip(n, loss))), t)

n, d = (v.ravel() for v in np.meshgrid(MODELS, TOKENS, indexing="ij"))
t = cases.surface(1511, MODELS, TOKENS, law, 4)
n, d, loss = columns(t)
folder("logs of trainers", "levanter's tracker_metrics.jsonl, a run a folder", {
    f"checkpoints/sweep-{k:02d}/tracker_metrics.jsonl": json.dumps({"config": {"model": {"type": "llama", "seq_len": 2048}, "trainer": {"seed": 0, "train_batch_size": 256, "num_train_steps": int(b / 524288)}, "optimizer": {"learning_rate": 0.003, "weight_decay": 0.1}}, "summary": {"parameter_count": int(a), "throughput/total_tokens": int(b), "throughput/mfu": 41.2, "train/loss": round(0.985 * float(c), 4), "eval/loss": float(c), "eval/bpb": round(0.31 * float(c), 4), "_runtime": 3600 + 31 * k}}) + "\n" for k, (a, b, c) in enumerate(zip(n, d, loss))}, t)

# --- trackers -----------------------------------------------------------------------------------------------

t = cases.surface(1512, MODELS, TOKENS, law, 4)
n, d, loss = columns(t)
rows = [[f"{word}-{k}", "finished", f"2026-05-0{1 + k // 4}T0{k % 4}:12:00.000Z", 7200 + 811 * k, "kl", "sweep-b", int(a), int(b), 0.1, round(0.98 * float(c), 4), c] for k, (word, a, b, c) in enumerate(zip(("wise-lake", "pious-sun", "sweet-fog", "deft-moon") * 4, n, d, loss))]
rows.insert(6, ["misty-dew-17", "crashed", "2026-05-02T01:02:00.000Z", 611, "kl", "sweep-b", int(n[6]), int(d[6]), 0.1, 4.7121, 4.8013])
rows.insert(13, ["lucky-oak-18", "killed", "2026-05-04T01:02:00.000Z", 97, "kl", "sweep-b", int(n[13]), int(d[13]), 0.1, 5.9921, 6.0023])
add("trackers", "runs of W&B, two of them crashed or killed and run again", "wandb_export_2026-05-09T10_11_12.csv",
    pd.DataFrame(rows, columns=["Name", "State", "Created", "Runtime", "User", "Tags", "model.params", "data.tokens", "weight_decay", "train/loss", "val/loss"]).to_csv(index=False, quoting=1), t)

t = line(1513, np.array([1e6, 4e6, 16e6, 64e6, 256e6, 1024e6]), 0.742, 2.6, 0.21, 5, 0.0004)
n, loss = columns(t)
rows = [[f"3f{k}a9c1e", "FINISHED", "ctr-scaling", "ana", "DCNv2", 16, "0.001", int(a), round(0.96 * float(c), 5), c, 0.0331] for k, (a, c) in enumerate(zip(n, loss))]
rows.insert(3, ["90ab12cd", "FAILED", "ctr-scaling", "ana", "DCNv2", 16, "0.001", 64000000, "", "", ""])
add("trackers", "MLflow's runs of a CTR model, normalized entropy", "runs.csv",
    csv([["Run ID", "Status", "Name", "User", "params.model", "params.emb_dim", "params.lr", "params.train_impressions", "metrics.train_ne", "metrics.test_ne", "metrics.test_base_ctr"], *rows]), t)

t = errors(1514, np.array([500.0, 2000, 8000, 32000, 128000]), 2)
n, err = columns(t)
files = {}
for k, (a, c) in enumerate(zip(n, err)):
    files[f"multirun/2026-05-11/14-02-33/{k}/.hydra/overrides.yaml"] = (f"- data.n_train={int(a)}\n- seed={k % 2}\n")
    files[f"multirun/2026-05-11/14-02-33/{k}/metrics.json"] = json.dumps({"train/acc": round(1 - 0.3 * float(c), 4), "test/acc": round(1 - float(c), 4), "epoch": 99})
folder("trackers", "Hydra's multirun, the size in the overrides", files, t)

t = line(1515, np.array([1000.0, 4000, 16000, 64000, 256000]), 0.41, 11.0, 0.41, 4, 0.006)
n, loss = columns(t)
rows = [[f"b7{k}{j}_0000{3 * k + j}", int(a), rate, 50, round(float(c) * worse, 4), round(90 + 0.01 * a, 1)] for k, (a, c) in enumerate(zip(n, loss)) for j, (rate, worse) in enumerate(zip((1e-4, 1e-3, 1e-2), ((1.41, 1.0, 1.22), (1.33, 1.0, 1.31), (1.24, 1.0, 1.45), (1.19, 1.0, 1.62), (1.12, 1.0, 1.83))[k]))]
add("trackers", "Ray Tune's trials, three learning rates a size", "ray_results.csv",
    csv([["trial_id", "config/n_train", "config/lr", "training_iteration", "val_loss", "time_total_s"], *rows]), t, ("lr",))

# --- sheets -------------------------------------------------------------------------------------------------

t = line(1516, 1000 * np.array([1.0, 2, 5, 10, 20, 50, 110]), 6.1, 9400.0, 0.63, 1, 0.008)
n, mae = columns(t)
add("sheets", "QM9 energies, units in a row of their own, notes below", "qm9_learning_curve.xlsx",
    book([["QM9 – U0, PaiNN, learning curve", "", "", ""], ["", "", "", ""], ["N_train", "MAE", "t / epoch", "GPU"], ["10^3 molecules", "meV", "s", ""], *([a / 1000, c, round(4 + 0.0031 * a, 1), "A40"] for a, c in zip(n, mae)), ["", "", "", ""], ["validation: 10k molecules; test: rest (approx. 10.8k)", "", "", ""], ["110k = full training set", "", "", ""]]), t)

t = cases.surface(1517, MODELS, TOKENS, law)
n, d, loss = columns(t)
add("sheets", "the model stands in the first row of its group only", "sweep.xlsx",
    book(README=[["Sweep by Jonas, May 2026"], ["loss = validation cross-entropy (nats/token), C4"], ["results in the second sheet"]], Results=[["Model", "Tokens", "Batch", "Val loss", "Remark"], *([short(a) if k % 4 == 0 else None, short(b), "0.5M", c, "restarted once" if k == 9 else None] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = errors(1518, np.array([1000.0, 2500, 5000, 10000, 25000, 60000]))
n, err = columns(t)
add("sheets", "German: points between thousands, commas before decimals", "Lernkurve_Bauteilfehler.csv",
    csv([["Trainingsbilder", "Fehlerrate Test (%)", "Fehlerrate Training (%)", "Dauer (min)"], *([f"{int(a):,}".replace(",", "."), comma(100 * c, 2), comma(31 * c, 2), comma(3 + a / 900, 1)] for a, c in zip(n, err))], ";"), t)

t = errors(1519, np.array([300.0, 1000, 3000, 10000, 30000, 100000]))
n, err = columns(t)

def as_percent(path: Path, rows: tuple[tuple[float, float], ...] = tuple(zip(n, err))) -> None:
    """Accuracies as numbers below one in cells that show percent."""
    file = Workbook()
    sheet = file.active
    sheet.title = "pathology"
    sheet.append(["Tiles (train)", "Slides", "Accuracy [%]", "Annotator"])
    for k, (a, c) in enumerate(rows):
        sheet.append([int(a), 12, float(round(1 - c, 4)), "MK" if k % 2 else "LS"])
        sheet.cell(k + 2, 3).number_format = "0.00%"
    file.save(path)

add("sheets", "cells in percent under a header in percent", "tiles_accuracy.xlsx", as_percent, t)

t = errors(1520, np.array([250.0, 1000, 4000, 16000, 64000]), 3)
n, err = columns(t)
rows = [[int(n[3 * k]), *(f"{c:.4f}" for c in g), f"{g.mean():.4f}", f"{g.std(ddof=1):.4f}"] for k, g in enumerate(err.reshape(-1, 3))]
add("sheets", "seeds in columns, their mean and deviation beside them", "ag_news_error.tsv",
    csv([["train size", "err s0", "err s1", "err s2", "mean", "std"], *rows], "\t"), t)

# --- papers -------------------------------------------------------------------------------------------------

dense = family(1521, np.array([60e6, 180e6, 540e6, 1.6e9]), 3)
experts = line(1522, np.array([60e6, 180e6, 540e6, 1.6e9]), 1.88, 41.0, 0.212, 3, 0.003, "n_params")
add("papers", "dense models and mixtures of experts under headings", "table2.tex",
    "\\begin{table}[t]\n\\caption{Validation loss after 50B tokens. Active parameters for MoE.}\n\\begin{tabular}{lrrr}\n\\toprule\nModel & Params & Layers & Loss \\\\\n\\midrule\n" + "".join(
        f"\\multicolumn{{4}}{{l}}{{\\emph{{{name}}}}} \\\\\n" + "".join(f"{name}-{size} & {short(a)} & {8 + 4 * k} & {c:.3f} \\\\\n" for k, (size, a, c) in enumerate(zip(("S", "M", "L", "XL"), *columns(truth)))) for name, truth in (("Dense", dense), ("MoE", experts))) + "\\bottomrule\n\\end{tabular}\n\\end{table}\n", None, ("MoE",))

n = np.array([8e6, 35e6, 150e6, 650e6, 3e9])
ppl = np.round(np.exp(cases.noisy(1.55 + 13.0 * n**-0.17, 0.002, 1523, 5)), 2)
t = Truth({"n_params": n, "test_loss": np.log(ppl)}, float(1.55 + 13.0 * 3e10**-0.17))
add("papers", "protein models, a reference with a dagger that is not comparable", "README.md",
    "# ProtScale\n\nPerplexity on held-out UniRef50 clusters.\n\n" + markdown(["Model", "Params", "Layers", "PPL"], [*([f"ProtScale-{short(a)}", short(a), 6 * (k + 1), f"{p:.2f}"] for k, (a, p) in enumerate(zip(n, ppl))), ["ProGen2-XL†", "6.4B", 32, "9.93"]]) + "\n† as reported by its authors, on another test set and with another vocabulary; not comparable with our rows.\n", t)

t = line(1524, np.array([1.0, 10, 100, 1000, 10000]), 0.028, 0.52, 0.38, 3, 0.008, y="test_error")
n, err = columns(t)
add("papers", "hours in the header row, one line of results", "asr_hours.tex",
    "\\begin{tabular}{l" + "c" * 5 + "}\n\\toprule\nLabelled hours & 1 & 10 & 100 & 1{,}000 & 10{,}000 \\\\\n\\midrule\nWER (\\%) $\\downarrow$ & " + " & ".join(f"{100 * c:.1f}" for c in err) + " \\\\\n\\bottomrule\n\\end{tabular}\n", t)

c18 = np.array([1e18, 3e18, 1e19, 3e19, 1e20, 3e20, 1e21])
t = Truth({"compute": c18, "test_loss": cases.noisy(1.75 + 840 * c18**-0.148, 0.002, 1525, 3)}, float(1.75 + 840 * 1e22**-0.148))
cells = [f"${'' if m == 1 else f'{m} {chr(92)}times '}10^{{{p}}}$" for m, p in ((1, 18), (3, 18), (1, 19), (3, 19), (1, 20), (3, 20), (1, 21))]
add("papers", "budgets as powers of ten, the best loss of each", "isoflop.tex",
    "\\begin{tabular}{rr}\n\\hline\nFLOPs & Min. loss \\\\\n\\hline\n" + "".join(f"{a} & {c:.3f} \\\\\n" for a, c in zip(cells, columns(t)[1])) + "\\hline\n\\end{tabular}\n% fitted minima of parabolas, Fig. 3\n", t)

# --- chats and notes ----------------------------------------------------------------------------------------

n, d = np.array([125e6, 250e6, 500e6, 1e9, 2e9, 4e9]), np.array([2.5e9, 5e9, 10e9, 20e9, 40e9, 80e9])
t = ladder(1526, n, d, digits=3)
lines = [f"{short(a)} / {short(b)} tok: val {3.482 if k == 2 else c:.3f}" for k, (a, b, c) in enumerate(zip(n, d, columns(t)[2]))]
add("chats and notes", "a chat in which one number is corrected", "slack_paste.txt",
    "Priya  10:32 AM\nladder is done :tada: numbers so far\n" + "\n".join(lines[:4]) + "\nTom  10:35 AM\nnice. 500M looks off?\nPriya  10:41 AM\n" + f"ah sorry, typo, 500M / 10B tok is val {columns(t)[2][2]:.3f}, not 3.482\nPriya  2:07 PM\nlast two came in\n" + "\n".join(lines[4:]) + "\n", t)

t = line(1527, np.array([100.0, 300, 1000, 3000, 10000]), 0.04, 2.1, 0.33, 3, 0.01, y="test_error")
n, err = columns(t)
add("chats and notes", "levels of a game and solved episodes in a letter", "mail.txt",
    "Hi Sven,\n\nhere are the CoinRun results (IMPALA-large, 200M frames each, tested on unseen levels):\n\n" + "".join(f"  * {int(a)} training levels: {100 * (1 - c):.1f}% solved\n" for a, c in zip(n, err)) + "\nDo you think it is worth generating 100k levels?\n\nBest,\nMaria\n", t)

t = cases.surface(1528, MODELS[:3], TOKENS, law)
n, d, loss = columns(t)
entries = [f"  - {{params: {short(a)}, tokens: {short(b)}, val_loss: {c}, gpus: 8}}\n" for a, b, c in zip(n, d, loss)]
entries.insert(5, "  - {params: 92M, tokens: 9B, val_loss: 6.913, gpus: 8, note: diverged at 12k - ignore}\n")
add("chats and notes", "a notebook in YAML, a run that is to be ignored", "runs.yaml",
    "# lab notebook, week 19\nproject: small-ladder\nlr: 2e-3\nruns:\n" + "".join(entries), t)

# --- other sciences -----------------------------------------------------------------------------------------

years = np.array([2.0, 5, 10, 20, 38])
rows = [[int(a), lead, round(float(v), 1), 0.25] for lead, floor, height in ((24, 41.0, 190.0), (72, 120.0, 420.0), (120, 260.0, 610.0)) for a, v in zip(years, cases.noisy(floor + height * years**-0.6, 0.01, 1529 + lead, 1))]
add("other sciences", "forecasts of weather at three lead times", "z500_rmse.csv",
    csv([["train_years", "lead_h", "rmse_z500", "resolution_deg"], *rows]), None, ("lead_h",))

demos = np.array([10.0, 25, 50, 100, 200, 500])
solved = np.round(200 * (1 - cases.noisy(0.03 + 3.1 * demos**-0.62, 0.03, 1530, 4)))
t = Truth({"n_data": demos, "test_error": 1 - solved / 200}, float(0.03 + 3.1 * 5000**-0.62))
add("other sciences", "a robot's successes out of 200 trials", "pick_place.md",
    "## Pick & place, diffusion policy, real robot\n\n" + markdown(["# demos", "success", "hours of teleop"], [[int(a), f"{int(k)}/200", round(a / 40, 2)] for a, k in zip(demos, solved)]) + "\nsuccess = cube in bin within 60 s\n", t)

sizes = np.array([6500.0, 13000, 26000, 65000, 130000, 640000])
rows = [[f"{'r50' if arch == 'ResNet-50' else 'vitb'}_{int(a)}", arch, int(a), 300, f"{100 * (1 - v):.2f}"] for arch, floor, height, slope in (("ResNet-50", 0.18, 4.2, 0.27), ("ViT-B/16", 0.12, 22.0, 0.4)) for a, v in zip(sizes, cases.noisy(floor + height * sizes**-slope, 0.004, 1531 + len(arch), 4))]
add("other sciences", "two backbones in the rows", "imagenet_subsets.csv",
    csv([["run", "backbone", "train_images", "epochs", "top1"], *rows]), None, ("backbone", "ViT-B/16"))
