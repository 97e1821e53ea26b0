"""Thirty outputs of tools: the files, names and prints of trainers, trackers, plots and databases.

The names are those that the tools write; the numbers are of known laws. Written without a look at the reader, and committed
before the first was read.
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
FAMILY = np.array([51e6, 123e6, 304e6, 760e6, 1.9e9])
TOKENS = np.array([3e9, 9e9, 27e9, 81e9])
TRAIN = np.array([800.0, 2400, 7200, 21600, 64800])

# --- trainers -------------------------------------------------------------------------------------------

kind = "trainers"
n = TRAIN
ends = noisy(0.4 + 9.0 * n**-0.4, 0.01, 801, 4)
far = float(0.4 + 9.0 * 648000**-0.4)
folder(kind, "HF Trainer by size of the training set", {f"outputs/bert-train{int(a)}/checkpoint-900/trainer_state.json": json.dumps({
    "best_metric": float(b), "best_model_checkpoint": "checkpoint-900", "epoch": 3.0, "eval_steps": 100, "global_step": 900, "is_local_process_zero": True,
    "log_history": [row for i, v in enumerate(falling(float(b), 9)) for row in (
        {"epoch": (i + 1) / 3, "grad_norm": 1.2, "learning_rate": 5e-5 * (1 - i / 9), "loss": round(float(v) * 0.9, 4), "step": 100 * (i + 1)},
        {"epoch": (i + 1) / 3, "eval_loss": float(v), "eval_runtime": 3.2, "eval_samples_per_second": 310.0, "eval_steps_per_second": 9.8, "step": 100 * (i + 1)})],
    "max_steps": 900, "num_train_epochs": 3, "total_flos": 1.1e15, "train_batch_size": 32}) for a, b in zip(n, ends)}, Truth({"n_data": n, "test_loss": ends}, far))

t = models(802, FAMILY)
n, loss = t.points.values()
folder(kind, "HF eval_results with perplexity", {f"ft/opt-{short(a).lower()}-wikitext/eval_results.json": json.dumps(
    {"epoch": 1.0, "eval_loss": float(b), "eval_runtime": 21.4, "eval_samples": 240, "eval_samples_per_second": 11.2, "perplexity": float(np.exp(b))}) for a, b in zip(n, loss)}, t)

n = np.array([28e6, 64e6, 124e6, 286e6, 560e6, 1.1e9])
bpb = noisy(language(n, 20 * n) / np.log(2) / 4.3, 0.002, 803, 4)
folder(kind, "nanochat's reports", {f"d{8 + 2 * k}/base-model-training.md": (
    f"## Base model training\ntimestamp: 2026-01-0{k + 1} 10:00:00\n\n- run: d{8 + 2 * k}\n- depth: {8 + 2 * k}\n- max_seq_len: 2048\n- target_param_data_ratio: 20\n- device_batch_size: 32\n"
    f"- Number of parameters: {int(a):,}\n- Number of FLOPs per token: {6 * a:.6e}\n- Number of training tokens: {int(20 * a):,}\n- Tokens : Params ratio: 20.0000\n- DDP world size: 8\n- Final validation bpb: {b:.4f}\n- MFU %: 48.21%\n- Total training time: {k + 3}.20m\n")
    for k, (a, b) in enumerate(zip(n, bpb))}, Truth({"n_params": n, "n_data": 20 * n, "test_loss": bpb}, float(language(1.1e10, 2.2e11) / np.log(2) / 4.3)))

t = models(804, FAMILY)
n, loss = t.points.values()
folder(kind, "modded-nanogpt's logs", {f"logs/gpt_{short(a)}.txt": "import os\nimport sys\nprint('code is logged')\n" + "=" * 60 + "\nRunning Python 3.12, PyTorch 2.6\n" + "=" * 60 + "\n" + "".join(
    f"step:{250 * (i + 1)}/2500 val_loss:{v:.4f} train_time:{40000 * (i + 1)}ms step_avg:160.0ms\n" for i, v in enumerate(falling(float(b), 10))) for a, b in zip(n, loss)}, t)

t = crossed(805, FAMILY, TOKENS)
n, d, loss = t.points.values()
add(kind, "OLMo's ladder", "olmo_ladder.csv", csv([["name", "throughput/total_tokens", "throughput/total_training_Gflops", "optim/learning_rate_group0", "train/CrossEntropyLoss", "eval/c4_en-validation/CrossEntropyLoss", "eval/c4_en-validation/Perplexity"],
    *([f"peteish-{short(a)}-{b / a / 20:.1f}xC", int(b), round(6 * a * b / 1e9), 0, round(c - 0.06, 3), c, round(float(np.exp(c)), 3)] for a, b, c in zip(n, d, loss))]), t)

t = crossed(806, FAMILY, TOKENS)
n, d, loss = t.points.values()
add(kind, "llm-foundry in W&B", "mosaic.csv", csv([["Name", "State", "n_active_params", "time/token", "time/batch", "loss/train/total", "metrics/eval/LanguageCrossEntropy", "metrics/eval/LanguagePerplexity", "throughput/device/mfu"],
    *([f"mpt-{k}", "finished", int(a), int(b), int(b / 1e6), round(c + 0.02, 3), c, round(float(np.exp(c)), 3), 0.43] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = crossed(807, FAMILY, TOKENS)
n, d, loss = t.points.values()
add(kind, "GPT-NeoX's names", "neox.tsv", csv([["run", "num_params", "train/tokens", "train/lm_loss", "validation/lm_loss", "validation/lm_loss_ppl", "runtime/samples_per_sec"],
    *([f"neox_{k:02d}", int(a), int(b), round(c - 0.01, 3), c, round(float(np.exp(c)), 3), 812.3] for k, (a, b, c) in enumerate(zip(n, d, loss)))], "\t"), t)

t = crossed(808, FAMILY, TOKENS)
n, d, loss = t.points.values()
folder(kind, "open_lm's experiments", {f"exp_data/models/open_lm_{k}.json": json.dumps(
    {"uuid": f"0c{k}", "name": f"rpj-d=512_l={8 + k}", "creation_date": "2024_02_27", "hyperparameters": {"params": int(a), "tokens": int(b), "lr": 0.003, "warmup": 2000, "wd": 0.033, "bs": 512, "chinchilla_multiplier": round(b / a / 20, 2)},
     "results": [{"val_data": ["s3://c4_val/shard.tar"], "loss": float(c), "loss_sequences_lower_95": float(c) - 0.01, "loss_sequences_upper_95": float(c) + 0.01}]}, indent=2) for k, (a, b, c) in enumerate(zip(n, d, loss))}, t)

t = crossed(809, FAMILY, TOKENS)
n, d, loss = t.points.values()
add(kind, "levanter's summaries", "tracker_metrics.jsonl", "".join(json.dumps(
    {"config": {"model": {"hidden_dim": 768, "num_layers": 12}, "optimizer": {"learning_rate": 0.002}}, "summary": {"_step": int(b / 4e6), "parameter_count": int(a), "throughput/total_tokens": int(b), "throughput/total_gflops": 6 * a * b / 1e9,
     "train/loss": float(round(c - 0.04, 3)), "eval/loss": float(c), "eval/bpb": float(round(c / np.log(2) / 4.4, 4))}}) + "\n" for a, b, c in zip(n, d, loss)), t)

n = TRAIN
ends = noisy(image_error(n), 0.01, 810, 4)
add(kind, "Keras histories by number of examples", "histories.json", json.dumps(
    {str(int(a)): {"loss": [float(x) for x in 0.8 * falling(float(b), 8)], "val_loss": [float(x) for x in falling(float(b), 8)]} for a, b in zip(n, ends)}),
    Truth({"n_data": n, "test_loss": ends}, float(image_error(648000.0))))

# --- benchmarks of models -------------------------------------------------------------------------------

kind = "evaluations"
n = np.array([70426624.0, 162322944, 405334016, 1011781632, 2775208960, 6857302016])
bpb = noisy(by_size(n) / np.log(2) / 4.5, 0.003, 811, 4)
folder(kind, "lm-eval with the number of parameters", {f"out/pythia_{k}/results_2026-01-05T12-0{k}-00.json": json.dumps(
    {"results": {"pile_10k": {"alias": "pile_10k", "bits_per_byte,none": float(b), "bits_per_byte_stderr,none": "N/A"}}, "group_subtasks": {"pile_10k": []}, "n-shot": {"pile_10k": 0}, "n-samples": {"pile_10k": {"original": 10000, "effective": 10000}},
     "config": {"model": "hf", "model_args": "pretrained=/ckpts/final", "model_num_parameters": int(a), "model_dtype": "torch.float16", "batch_size": "16", "limit": None}, "git_hash": "a1b2c3d", "total_evaluation_time_seconds": "201.2"}) for k, (a, b) in enumerate(zip(n, bpb))},
    Truth({"n_params": n, "test_loss": bpb}, float(by_size(6.857302016e10) / np.log(2) / 4.5)))

n = np.array([5.72e6, 9.7e6, 22.05e6, 38.9e6, 86.57e6, 304.33e6])
err = noisy(0.08 + 20 * n**-0.3, 0.005, 812, 5)
far = float(0.08 + 20 * 3.0433e9**-0.3)
add(kind, "timm's results", "results-imagenet.csv", csv([["model", "img_size", "top1", "top1_err", "top5", "top5_err", "param_count", "crop_pct", "interpolation"],
    *([f"vit_{w}_patch16_224", 224, f"{100 * (1 - b):.3f}", f"{100 * b:.3f}", f"{100 - 25 * b:.3f}", f"{25 * b:.3f}", f"{a / 1e6:.2f}", 0.9, "bicubic"] for w, a, b in zip(["tiny", "xsmall", "small", "medium", "base", "large"], n, err))]),
    Truth({"n_params": n, "test_error": err}, far))

n = np.array([11.69e6, 21.8e6, 25.56e6, 44.55e6, 60.19e6, 88.79e6])
err = noisy(0.05 + 30 * n**-0.3, 0.005, 813, 4)
add(kind, "a model zoo with inference FLOPs", "README.md", "# ResNet-D\n\n> Deep residual learning\n\n## Results and models\n\n### ImageNet-1k\n\n" + markdown(["Model", "Params(M)", "Flops(G)", "Top-1 (%)", "Top-5 (%)", "Config", "Download"],
    [[f"ResNet-{k}", f"{a / 1e6:.2f}", f"{a / 6e6:.2f}", f"{100 * (1 - b):.2f}", f"{100 - 28 * b:.2f}", "[config](./c.py)", "[model](https://x/m.pth) \\| [log](https://x/l.json)"] for k, a, b in zip([18, 34, 50, 101, 152, 200], n, err)]) + "\n## Citation\n",
    Truth({"n_params": n, "test_error": err}, float(0.05 + 30 * 8.879e8**-0.3)))

n = np.array([0.49e9, 1.54e9, 3.09e9, 7.62e9, 14.77e9, 32.76e9])
ppl, t = perplexities(models(814, n), 4)
add(kind, "llama.cpp's perplexities", "quant.md", markdown(["model", "size", "params", "backend", "PPL"],
    [[f"qwen2 {w} Q8_0", f"{a * 1.06 / 2**30:.2f} GiB", f"{a / 1e9:.2f} B", "CUDA", f"{p:.4f} +/- 0.0312"] for w, a, p in zip(["0.5B", "1.5B", "3B", "7B", "14B", "32B"], n, ppl)]), t)

hours = np.array([5.0, 10, 50, 100, 360, 960])
wer = noisy(0.03 + 0.7 * hours**-0.5, 0.01, 815, 4)
add(kind, "Kaldi's best WERs", "RESULTS", "# decoding with the 4-gram model\n" + "".join(
    f"%WER {100 * b:.2f} [ {round(52576 * b)} / 52576, 512 ins, 700 del, {round(52576 * b) - 1212} sub ] exp/chain/tdnn_train_{a:g}h/decode_test/wer_10_0.0\n" for a, b in zip(hours, wer)),
    Truth({"n_data": hours, "test_error": wer}, float(0.03 + 0.7 * 9600**-0.5)))

n = FAMILY
data = {"Dolma1.7": noisy(by_size(n), 0.003, 816, 3), "FineWeb-Edu": noisy(0.94 * by_size(n), 0.003, 817, 3)}
add(kind, "DataDecide's rows of two corpora", "datadecide.csv", csv([["params", "data", "task", "seed", "loss"], *([short(a), w, "c4_val", "default", v] for w, values in data.items() for a, v in zip(n, values))]), None, ("data", "Dolma1.7"))

share = np.array([0.1, 0.25, 0.5, 0.75, 1.0])
score = np.round(1 - noisy(0.08 + 0.12 * share**-0.5, 0.005, 831, 4), 4)
add(kind, "Prodigy's train-curve", "curve.txt", "Training 5 times with 10%, 25%, 50%, 75%, 100% of the data\n\n%      Score    ner   \n----   ------   ------\n  0%   0.0000   0.0000\n" + "".join(f"{100 * a:>3g}%   {b:.4f}   {b:.4f}\n" for a, b in zip(share, score)) + "\n✔ Accuracy improved in the last sample\n",
    Truth({"n_data": share, "test_error": 1 - score}, float(0.08 + 0.12 * 10**-0.5)))

# --- trackers -------------------------------------------------------------------------------------------

kind = "trackers"
n = np.repeat(TRAIN, 2)
rmse = noisy(0.3 + 8.0 * n**-0.45, 0.01, 818, 4)
add(kind, "MLflow with a regression", "mlflow_runs.csv", csv([["run_id", "experiment_id", "status", "artifact_uri", "start_time", "end_time", "metrics.train_rmse", "metrics.val_rmse", "params.seed", "params.n_train", "params.max_depth", "tags.mlflow.user", "tags.mlflow.runName"],
    *([f"9f{k:02d}", 3, "FINISHED", f"s3://ml/{k}", "2025-11-02 10:00:00+00:00", "2025-11-02 10:20:00+00:00", round(0.7 * b, 4), b, k % 2, int(a), 8, "kim", f"bold-crane-{k}"] for k, (a, b) in enumerate(zip(n, rmse)))]),
    Truth({"n_data": n, "test_loss": rmse}, float(0.3 + 8.0 * 648000**-0.45)))

t = models(819, FAMILY)
n, loss = t.points.values()
trials = [[4 * i + j, round(b + x, 3), "2026-01-01 10:00:00", r, int(a), "COMPLETE"] for i, (a, b) in enumerate(zip(n, loss)) for j, (r, x) in enumerate([(1e-4, 0.09), (4e-4, 0.0), (1.6e-3, 0.05)])]
trials.insert(5, [99, "", "2026-01-01 10:00:00", 6.4e-3, int(n[1]), "PRUNED"])
add(kind, "Optuna with pruned trials", "study.csv", csv([["number", "value", "datetime_start", "params_lr", "user_attrs_n_params", "state"], *trials]), t)

t = crossed(820, FAMILY[:4], TOKENS[:3])
n, d, loss = t.points.values()
folder(kind, "TensorBoard's CSVs with both sizes in the name", {f"run-gpt_{short(a)}_{short(b)}tok-tag-Loss_validation.csv": csv([["Wall time", "Step", "Value"],
    *([1.7e9 + 60 * i, 500 * (i + 1), v] for i, v in enumerate(falling(float(c), 12)))]) for a, b, c in zip(n, d, loss)}, t)

t = subsets(821, TRAIN, 2)
n, e = t.points.values()
add(kind, "TensorBoard's frame", "tb.csv", csv([["run", "tag", "step", "value"], *([f"n{int(a)}/seed{k % 2}", tag, 10 * (i + 1), round(float(f * v), 4)] for k, (a, b) in enumerate(zip(n, e)) for tag, f in (("error/train", 0.6), ("error/test", 1.0)) for i, v in enumerate(b + 0.5 * np.exp(-np.arange(6.0)) - 0.5 * np.exp(-5.0)))]), t)

t = models(822, FAMILY)
n, loss = t.points.values()
add(kind, "W&B's summaries in a console", "console.log", "".join(
    f"wandb: \nwandb: Run history:\nwandb:  eval/loss █▅▃▂▁\nwandb: train/loss █▄▃▂▁\nwandb: \nwandb: Run summary:\nwandb:  eval/loss {b}\nwandb:   n_params {int(a)}\nwandb: train/loss {b - 0.02:.3f}\nwandb: \nwandb: 🚀 View run lm-{k} at: https://wandb.ai/x/y/runs/{k}\n" for k, (a, b) in enumerate(zip(n, loss))), t)

t = crossed(823, FAMILY, TOKENS)
n, d, loss = t.points.values()
add(kind, "a zip of runs with arguments", "runs.zip", packed({name: text for k, (a, b, c) in enumerate(zip(n, d, loss)) for name, text in {
    f"runs/{k:02d}/args.json": json.dumps({"n_params": int(a), "train_tokens": int(b), "seed": 1}), f"runs/{k:02d}/result.json": json.dumps({"val_loss": float(c)})}.items()}), t)

# --- plots ----------------------------------------------------------------------------------------------

kind = "plots"
t = crossed(824, FAMILY, TOKENS)
n, d, loss = t.points.values()
add(kind, "traces of Plotly", "figure.json", json.dumps({"data": [{"type": "scatter", "mode": "lines+markers", "name": short(a), "x": [float(x) for x in TOKENS], "y": [float(y) for y in row]} for a, row in zip(FAMILY, loss.reshape(5, 4))],
    "layout": {"title": {"text": "Validation loss by model size"}, "xaxis": {"type": "log", "title": {"text": "Tokens"}}, "yaxis": {"title": {"text": "Validation loss"}}}}), t)

t = crossed(825, FAMILY, TOKENS)
n, d, loss = t.points.values()
add(kind, "a chart of Vega", "chart.vl.json", json.dumps({"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "mark": "point", "width": 400, "data": {"values": [{"params": int(a), "tokens": int(b), "val_loss": float(c)} for a, b, c in zip(n, d, loss)]},
    "encoding": {"x": {"field": "tokens", "type": "quantitative"}, "y": {"field": "val_loss", "type": "quantitative"}, "color": {"field": "params", "type": "nominal"}}}), t)

# --- prints ---------------------------------------------------------------------------------------------

kind = "prints"
t = crossed(826, FAMILY[:4], TOKENS[:3])
n, d, loss = t.points.values()
add(kind, "polars", "polars.txt", "shape: (12, 3)\n┌───────────┬─────────────┬──────────┐\n│ params    ┆ tokens      ┆ val_loss │\n│ ---       ┆ ---         ┆ ---      │\n│ i64       ┆ i64         ┆ f64      │\n╞═══════════╪═════════════╪══════════╡\n"
    + "".join(f"│ {int(a):<9} ┆ {int(b):<11} ┆ {c:<8} │\n" for a, b, c in zip(n, d, loss)) + "└───────────┴─────────────┴──────────┘\n", t)

t = crossed(827, FAMILY[:4], TOKENS[:3])
n, d, loss = t.points.values()
add(kind, "DuckDB", "duck.txt", "┌───────────┬─────────────┬────────┐\n│  params   │   tokens    │  loss  │\n│   int64   │    int64    │ double │\n├───────────┼─────────────┼────────┤\n"
    + "".join(f"│ {int(a):>9} │ {int(b):>11} │ {c:>6} │\n" for a, b, c in zip(n, d, loss)) + "├───────────┴─────────────┴────────┤\n│ 12 rows                3 columns │\n└──────────────────────────────────┘\n", t)

t = crossed(828, FAMILY[:4], TOKENS[:3])
n, d, loss = t.points.values()
add(kind, "Julia", "julia.txt", "12×3 DataFrame\n Row │ params     tokens       val_loss \n     │ Int64      Int64        Float64  \n─────┼──────────────────────────────────\n"
    + "".join(f"{k + 1:>4} │ {int(a):>9}  {int(b):>11}  {c:>8}\n" for k, (a, b, c) in enumerate(zip(n, d, loss))), t)

t = crossed(829, FAMILY, TOKENS)
n, d, loss = t.points.values()
add(kind, "inserts of a database", "dump.sql", "CREATE TABLE runs (id INTEGER PRIMARY KEY, n_params BIGINT, n_tokens BIGINT, val_loss REAL);\n"
    + "".join(f"INSERT INTO runs VALUES ({k}, {int(a)}, {int(b)}, {c});\n" for k, (a, b, c) in enumerate(zip(n, d, loss))), t)

t = subsets(830, TRAIN, 3)
n, e = t.points.values()
frame = pd.DataFrame({"n": n.astype(int), "e": e}).groupby("n")["e"].agg(["count", "mean", "std"]).round(4)
add(kind, "a grouped frame with two levels", "by_n.csv", ",test_error,test_error,test_error\n,count,mean,std\nn_train,,,\n" + frame.to_csv(header=False),
    Truth({"n_data": TRAIN, "test_error": frame["mean"].to_numpy()}, t.ten_times))
