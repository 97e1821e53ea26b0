"""Thirty tables of thirty people: ten curves by data, eight by parameters, seven of parameters by tokens, two by compute, three choices.

Written without a look at what reads them, and committed before the first of them was read.
Said beforehand: percents, word error rates and AUROCs are shares; NDCG, RMSE, relative errors, speedups and losses stay as written;
a perplexity is read as its logarithm; held-out measurements count, training losses beside them do not; failed, killed, crashed,
diverged and missing runs do not count, nor does a row of averages or of a reference without a size; every seed, fold, repetition
or student is a point, a mean with its deviation is one; hours of speech, demonstrations, interactions, rows and simulated
solutions count as data; runs of one length are read by their ends.
"""

import io
import json

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

def loss(n: Array, d: Array) -> Array:
    """The loss of a language model of n parameters after d tokens."""
    return 1.72 + 0.6 * (n / 1e8) ** -0.34 + 0.82 * (d / 1e9) ** -0.29

def grid(seed: int, models: list[float], tokens: list[float], digits: int = 3) -> Truth:
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, np.array(models), np.array(tokens), loss, digits)

def family(seed: int, models: list[float], digits: int = 4, floor: float = 1.88, slope: float = 0.22, seeds: int = 1) -> Truth:
    """Losses by parameters, trained alike."""
    return line(seed, np.repeat(models, seeds), floor, 1.05 * 1e8**slope, slope, digits, 0.0025, "n_params")

def by_data(seed: int, sizes: list[float], seeds: int, floor: float, height: float, slope: float, digits: int, scatter: float) -> Truth:
    """Losses, errors or scores by examples."""
    return line(seed, np.repeat(sizes, seeds), floor, height, slope, digits, scatter)

def rows(truth: Truth) -> list[tuple[float, ...]]:
    """The points of a truth as plain numbers."""
    return [*zip(*(c.tolist() for c in columns(truth)), strict=True)]

def counted(truth: Truth, of: int) -> Truth:
    """Shares that are counts out of a number of trials, to four digits."""
    n, y = columns(truth)
    return Truth({"n_data": n, "test_error": np.round(np.round(y * of) / of, 4)}, truth.ten_times)

def along(end: float, points: int, seed: int) -> list[float]:
    """Losses of checkpoints; the last is the lowest."""
    jitter = np.abs(0.003 * np.random.default_rng(seed).standard_normal(points - 1))
    return np.round(falling(end, points) * (1 + np.append(jitter, 0.0)), 4).tolist()

def except_for(truth: Truth, *missing: int) -> tuple[Array, Truth]:
    """Which points are there, and a truth of these."""
    left = np.ones(len(columns(truth)[0]), bool)
    left[[*missing]] = False
    return left, truth.rows(left)

def quoted(cells: list[object]) -> str:
    """A line of cells in quotes."""
    return ",".join(f'"{c}"' for c in cells) + "\n"

# --- data -------------------------------------------------------------------------------------------------------

t = by_data(4501, [250, 500, 1000, 2000, 4000, 8000], 4, 0.07, 2.6, 0.42, 3, 0.02)
there, read = except_for(t, 6, 13)
NAMES = ["Abel", "Aylin", "Bogdan", "Carla", "Chen", "Dario", "Elif", "Emma", "Farid", "Greta", "Hana", "Igor", "Jonas", "Kofi", "Lea", "Malik", "Nina", "Oskar", "Priya", "Quirin", "Rosa", "Sven", "Tarek", "Yuki"]
places = np.random.default_rng(45010).permutation(24)  # students in the alphabet, sizes as they were handed out
cells: list[list[object]] = [["Machine Learning II, winter 2025/26, exercise 5: learning curve of the CNN on Fashion-MNIST"], [], ["Student", "Group", "Training images", "Epochs", "Test accuracy in %", "Remark"]]
for who, k in zip(NAMES, places.tolist(), strict=True):
    n, e = rows(t)[k]
    cells.append([who, "AB"[k % 2], int(n), 30, round(100 * (1 - e), 1) if there[k] else None, None if there[k] else ("ill", "not handed in")[k % 2]])
cells.append(["Average", None, None, None, round(float(100 * (1 - columns(read)[1]).mean()), 1), None])
add("data", "a teacher's sheet of a class, two students missing, an average below, points on a second sheet", "Uebung5_Ergebnisse.xlsx", workbook({
    "Results": cells, "Points": [["Student", "Ex 1", "Ex 2", "Ex 3", "Ex 4", "Ex 5"], *([who, *points] for who, points in zip(NAMES, np.random.default_rng(45011).integers(4, 11, (24, 5)).tolist(), strict=True))]}), read)

t = by_data(4502, [250, 500, 1000, 2500, 5000, 10000, 25000, 60000], 1, 0.085, 1.9, 0.33, 3, 0.008)
add("data", "a hospital's AUROCs with intervals in the cells, thousands with commas, a vendor's product for reference", "cxr_pneumothorax_learning_curve.csv",
    quoted(["Training set", "No. of training studies", "Prevalence, %", "Architecture", "AUROC (95% CI)"])
    + "".join(quoted([f"internal, {n:,.0f} studies", f"{n:,.0f}", f"{6.1 + 0.1 * (k % 4):.1f}", "DenseNet-121", f"{1 - e:.3f} ({1 - e - 0.011:.3f}–{1 - e + 0.01:.3f})"]) for k, (n, e) in enumerate(rows(t)))
    + quoted(["Vendor product (reference)", "n/a", "n/a", "n/a", "0.861 (0.849–0.872)"]), t)

t = counted(by_data(4503, [25, 50, 100, 200, 400, 800], 2, 0.04, 3.2, 0.45, 4, 0.02), 500)
lines = []
for k, (n, e) in enumerate(rows(t)):
    run, time = f"pick_place_{int(n)}_s{k % 2}", 1768000000 + 20000 * k
    lines.append({"t": time, "event": "start", "run": run, "n_demos": int(n), "seed": k % 2, "policy": "diffusion-unet", "max_steps": 60000})
    for i in range(1, 7):
        lines.append({"t": time + 1500 * i, "event": "train", "run": run, "step": 10000 * i, "train_loss": round(0.21 * 0.7**i + 0.004, 5), "lr": 1e-4} | ({"grad_norm": round(0.8 - 0.05 * i, 3)} if k > 5 else {}))
        if i in (2, 4, 6):
            lines.append({"t": time + 1500 * i + 300, "event": "eval", "run": run, "step": 10000 * i, "success_rate": round((1 - e) * (1 - 0.06 * (6 - i)), 3), "episodes": 500})
    lines.append({"t": time + 9400, "event": "end", "run": run, "wall_s": 9400})
add("data", "a robot's success by demonstrations, events of a training loop in JSON lines", "bc_log.jsonl", "".join(json.dumps(each) + "\n" for each in lines), t)

WORDS = 52576
t = counted(by_data(4504, [5, 10, 30, 100, 300, 960], 1, 0.021, 0.9, 0.42, 4, 0.008), WORDS)
text = "## zipformer-M on subsets of LibriSpeech, 4-gram LM, epoch 30, avg 9\n"
for n, e in rows(t):
    wrong = round(e * WORDS)
    more, less = round(0.11 * wrong), round(0.15 * wrong)
    text += f"\n# {n:g} hours\n%WER {100 * e:.2f} [ {wrong} / {WORDS}, {more} ins, {less} del, {wrong - more - less} sub ] exp/train_{n:g}h/decode_test_clean/wer_12_0.5\n"
add("data", "a speech company's RESULTS as Kaldi scores, by hours", "RESULTS", text, t)

t = by_data(4505, [1_203_441, 2_498_102, 5_104_877, 10_391_250, 22_046_318, 45_120_993, 91_377_604], 1, 0.445, -4.0, 0.25, 4, 0.0015)
frame = pd.DataFrame([{"model": "two-tower-v7", "train_end": pd.Timestamp("2026-01-31"), "train_days": days, "n_train_interactions": int(n), "embedding_dim": 128, "test_ndcg@10": y}
    for days, (n, y) in zip((1, 2, 4, 8, 17, 35, 70), rows(t), strict=True)], index=[3, 4, 7, 8, 11, 12, 15])
buffer = io.BytesIO()
frame.to_parquet(buffer)
add("data", "a recommender's NDCG by interactions, Parquet with the index that filtering left", "retrieval_data_ablation.parquet", buffer.getvalue(), t)

t = by_data(4506, [32, 64, 128, 256, 512, 1024, 2048], 3, 0.004, 0.62, 0.55, 5, 0.02)
there, read = except_for(t, 4)
add("data", "relative errors of a neural operator, written by Julia, one run not converged", "fno_darcy.csv", csv([
    ["n_train", "modes", "width", "lr", "seed", "converged", "rel_l2_test", "walltime_s"],
    *([int(n), 12, 32, "0.001", k % 3 + 1, "true" if there[k] else "false", f"{y:.5f}" if there[k] else "NaN", f"{0.91 * n + 37.25 + k:.2f}"] for k, (n, y) in enumerate(rows(t)))]), read)

PARTS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
t = by_data(4507, [960000 * part for part in PARTS], 5, 0.412, 3.1, 0.33, 5, 0.0015)
add("data", "a Kaggle user's folds, a column without a name first", "lgbm_learning_curve.csv", str(pd.DataFrame([
    {"frac": PARTS[k // 5], "n_rows": int(n), "fold": k % 5, "best_iteration": int(180 + 90 * np.log(n / 9000) + 7 * (k % 5)), "train_logloss": round(y - 0.9 * n**-0.28, 5), "valid_logloss": y}
    for k, (n, y) in enumerate(rows(t))]).to_csv()), t)

t = by_data(4508, [250, 500, 1000, 2500, 5000, 10000, 25000, 50000], 1, 0.61, 5.5, 0.31, 3, 0.004)
cells = [["Run", "Base model", "# training examples", "Epochs", "LoRA rank", "Eval loss", "Cost ($)", "Comments"]]
cells += [[f"ft-{k + 1}", "Qwen3-8B", short(n), 3, 32, f"{y:.3f}", f"{0.0031 * n + 0.4:.2f}", '"deduplicated, new template"' if k == 3 else ""] for k, (n, y) in enumerate(rows(t))]
cells.insert(7, ["ft-6b", "Qwen3-8B", "25k", 3, 32, "", "11.20", '"OOM at step 900, see ft-7"'])
cells += [[""] * 8] * 4 + [['"Eval set: 1,200 held-out support tickets, frozen in January"', *[""] * 7]] + [[""] * 8] * 6
add("data", "a fine-tuning shop's Google sheet, comments, a failed run and empty rows at the end", "Fine-tuning log - customer A - Sheet1.csv", csv(cells), t)

t = by_data(4509, [50, 100, 200, 400, 800, 1600, 3200, 6400], 5, 21.0, 190.0, 0.38, 2, 0.015)
there, read = except_for(t, 1, 3)
add("data", "an ecologist's RMSE by plots, as R's write.csv leaves it, with NA", "biomass_rf.csv", '"","n_train","rep","algorithm","mtry","rmse","secs"\n' + "".join(
    f'"{k + 1}",{int(n)},{k % 5 + 1},"ranger",4,{f"{y:g}" if there[k] else "NA"},{0.02 + n / 900:.3g}\n' for k, (n, y) in enumerate(rows(t))), read)

t = by_data(4510, [500, 1000, 2500, 5000, 10000, 25000, 50000], 1, 0.035, 6.5, 0.42, 6, 0.008)
frame = pd.DataFrame({("train_acc", "mean"): [round(1 - 0.004 * e, 6) for _, e in rows(t)], ("train_acc", "std"): 0.0011,
    ("test_acc", "mean"): [round(1 - e, 6) for _, e in rows(t)], ("test_acc", "std"): [round(0.02 * e, 6) for _, e in rows(t)]}, index=pd.Index([int(n) for n, _ in rows(t)], name="n_train"))
add("data", "a PhD student's means and deviations, columns of two levels as pandas writes them", "cifar10_subsets_agg.csv", str(frame.to_csv()), t)

# --- parameters -------------------------------------------------------------------------------------------------

t = family(4511, [3.14e6, 9.98e6, 28.7e6, 85.1e6, 253.6e6, 774.2e6], 4, 1.95, 0.21, 3)
there, read = except_for(t, 10)
long = pd.DataFrame([{"n_params": int(n), "seed": k % 3, "train_loss": round(y - 0.03, 4), "val_loss": y if there[k] else np.nan} for k, (n, y) in enumerate(rows(t))])
add("parameters", "a pivot of seeds under two levels of columns, one cell empty", "val_loss_pivot.csv", str(long.pivot(index="n_params", columns="seed", values=["train_loss", "val_loss"]).to_csv()), read)

t = family(4512, [7.9e6, 24e6, 71e6, 210e6, 640e6, 1.9e9], 4, 1.62, 0.19)
ppl, t = perplexities(t)
add("parameters", "protein models in LaTeX with booktabs, perplexities, the best in bold", "tab_plm.tex", "\\begin{table}[t]\n\\centering\n\\small\n\\begin{tabular}{@{}lrrrc@{}}\n\\toprule\nModel & Layers & Hidden & Params & Val.\\ perplexity $\\downarrow$ \\\\\n\\midrule\n" + "".join(
    f"\\textsc{{ProtLM}}-{'ABCDEF'[k]} & {6 * (k + 1)} & {(320, 400, 576, 848, 1328, 2096)[k]} & {short(n)} & {f'{p:.2f}' if k < 5 else f'{chr(92)}textbf{{{p:.2f}}}'} \\\\\n" for k, (n, p) in enumerate(zip(columns(t)[0].tolist(), ppl.tolist(), strict=True)))
    + "\\bottomrule\n\\end{tabular}\n\\caption{Masked-token perplexity on held-out UniRef50 clusters. All models see the same 100B tokens.}\n\\label{tab:plm}\n\\end{table}\n", t)

t = line(4513, np.array([0.21e6, 0.82e6, 3.2e6, 12.8e6, 51e6, 203e6]), 0.205, 6.8, 0.27, 4, 0.003, "n_params")
add("parameters", "a table copied out of a PDF, names of two words, the page's number below", "table3_from_paper.txt",
    "Table 3: Forecasts of river discharge on the held-out gauges. All models are trained for 200k steps.\nModel d_model Layers Heads # Params Test MSE\n" + "".join(
    f"TST-{size} {64 * 2**k} 4 {(4, 8, 8, 16, 16, 32)[k]} {n / 1e6:g}M {y:.4f}\n" for k, (size, (n, y)) in enumerate(zip(("XS", "S", "M", "L", "XL", "XXL"), rows(t), strict=True))) + "\n11\n", t)

WIDTHS = (256, 448, 768, 1216, 2048, 3072)
t = family(4514, [96.0 * width**2 for width in WIDTHS], 4, 1.99, 0.23)
files: dict[str, str | bytes] = {}
for k, (n, y) in enumerate(rows(t)):
    place = f"outputs/2026-02-{11 + k:02d}/1{k}-22-08_d{WIDTHS[k]}"
    config = f"model:\n  name: decoder\n  d_model: {WIDTHS[k]}\n  n_layers: 8\n  n_params: {int(n)}\ntrain:\n  max_steps: 20000\n  batch_size: 256\n  seq_len: 1024\n  lr: 0.0008\n  seed: 1\n"
    history = [f"{1000 * (i + 1)},{v - 0.02:.4f},{v:.4f}\n" for i, v in enumerate(along(y, 20, 45140 + k))]
    files |= {f"{place}/config.yaml": config, f"{place}/metrics.csv": "step,train_loss,val_loss\n" + "".join(history)}
    if k == 4:  # the first attempt
        place = place.replace("14-22-08", "09-03-51")
        files |= {f"{place}/config.yaml": config, f"{place}/metrics.csv": "step,train_loss,val_loss\n" + "".join(history[:6]),
                  f"{place}/stderr.log": "Traceback (most recent call last):\n  File \"train.py\", line 214, in <module>\n    main()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB.\n"}
folder("parameters", "a folder for each run with its configuration and metrics, one run crashed and repeated", files, t)

t = family(4515, [4.8e6, 12.6e6, 33e6, 87e6, 228e6, 600e6], 4, 1.7, 0.24)
histories = [along(y, 25, 45150 + k) for k, (_, y) in enumerate(rows(t))]
names = [f"music-{n / 1e6:g}M" for n, _ in rows(t)]
add("parameters", "W&B's export of a panel, a group of columns for each run", "wandb_export_2026-01-19T16_40_12.331+01_00.csv",
    quoted(["Step", *(f"{name} - val/loss{end}" for name in names for end in ("", "__MIN", "__MAX"))])
    + "".join(quoted([2000 * (i + 1), *(v[i] for v in histories for _ in range(3))]) for i in range(25)), t)

t = family(4516, [1.1e6, 3.6e6, 11.9e6, 39e6, 128e6, 420e6, 1.35e9], 4, 2.08, 0.2)
frame = pd.DataFrame([{"run_id": np.random.default_rng(45160 + k).bytes(16).hex(), "experiment_id": "12", "status": state, "artifact_uri": f"s3://mlflow/12/{k}/artifacts",
    "start_time": f"2026-01-{8 + k:02d} 08:14:22.123000+00:00", "end_time": f"2026-01-{8 + k:02d} 19:40:02.811000+00:00", "metrics.train_loss": y and round(y - 0.04, 4), "metrics.val_loss": y,
    "params.n_parameters": str(int(n)), "params.learning_rate": "0.0005", "params.max_steps": "80000", "metrics.global_step": steps, "tags.mlflow.runName": f"size-{k}", "tags.mlflow.user": "svc-train"}
    for k, (n, y, state, steps) in enumerate([(n, y, "FINISHED", 80000) for n, y in rows(t)[:5]] + [(420e6, 3.9142, "KILLED", 9000), (1.35e9, None, "FAILED", 0)] + [(n, y, "FINISHED", 80000) for n, y in rows(t)[5:]])])
add("parameters", "MLflow's search_runs as a frame, a killed and a failed run", "mlflow_search_runs.csv", str(frame.to_csv(index=False)), t)

t = family(4517, [1.9e6, 5.7e6, 22e6, 86e6, 304e6, 632e6], 4, 0.71, 0.26)
files = {}
for k, (n, y) in enumerate(rows(t)):
    log: list[dict[str, float]] = []
    for i, v in enumerate(along(y, 10, 45170 + k), 1):
        log += [{"epoch": 9.0 * i, "grad_norm": round(1.4 - 0.07 * i, 4), "learning_rate": 1e-3 * (1 - i / 10), "loss": round(v + 0.11, 4), "step": 11250 * i},
                {"epoch": 9.0 * i, "eval_loss": v, "eval_runtime": 41.3 + k, "eval_samples_per_second": round(1210 / (1 + k), 1), "step": 11250 * i}]
    files[f"runs/vit-{n / 1e6:g}M/checkpoint-112500/trainer_state.json"] = json.dumps({"best_metric": None, "best_model_checkpoint": None, "epoch": 90.0, "global_step": 112500, "max_steps": 112500, "num_train_epochs": 90, "log_history": log}, indent=2)
folder("parameters", "states of Hugging Face's trainer, sizes in the names of the folders", files, t)

t = family(4518, [14e6, 45e6, 140e6, 450e6, 1.4e9, 4.2e9], 3, 1.83, 0.23)
add("parameters", "a note with sizes in words and deviations", "2026-03-14 scaling.md", "---\ntags: [scaling, code-model]\n---\n# Where we are\n\nAll six sizes done on the same 60B tokens, 3 seeds each. Need to ask Ines about the 13B budget.\n\n" + markdown(
    ["model size", "held-out loss", "days"], [[f"{n / 1e6:g} million" if n < 1e9 else f"{n / 1e9:g} billion", f"{y:.3f} ± 0.00{2 + k % 3}", f"{0.3 * 2.6**k:.1f}"] for k, (n, y) in enumerate(rows(t))])
    + "\n- [ ] plot on log-log\n- [x] re-run 450 million with the fixed tokenizer\n", t)

# --- parameters and tokens --------------------------------------------------------------------------------------

BUDGETS = {6e18: (640, 832, 1024, 1216, 1536), 2e19: (768, 960, 1216, 1472, 1856), 6e19: (896, 1152, 1472, 1728, 2176), 2e20: (1088, 1408, 1728, 2048, 2624)}
shapes = [(c, width, width // 64, 12 * (width // 64) * width**2) for c, widths in BUDGETS.items() for width in widths]
n = np.array([float(shape[3]) for shape in shapes])
d = np.round(np.array([shape[0] for shape in shapes]) / 6 / n)
widest = np.geomspace(1e6, 1e13, 20001)
t = Truth({"n_params": n, "n_data": d, "test_loss": cases.noisy(loss(n, d), 0.0015, 4519, 4)}, float(loss(widest, 10 * (n * d).max() / widest).min()))
there, read = except_for(t, 9)
add("parameters and tokens", "a pretraining team's runs of equal FLOPs, one diverged", "isoflop_runs.csv", csv([
    ["run", "flops", "d_model", "n_layers", "n_params", "n_tokens", "lr", "train_loss", "val_loss", "status"],
    *([f"iso{c:.0e}-d{width}".replace("+", ""), f"{c:.0e}", width, depth, size, int(tokens), f"{2.4 / width:.2e}", *((f"{y - 0.012:.4f}", f"{y:.4f}", "ok") if ok else ("nan", "nan", "diverged"))]
      for (c, width, depth, size), (_, tokens, y), ok in zip(shapes, rows(t), there.tolist(), strict=True))]), read)

t = grid(4520, [62e6, 180e6, 520e6, 1.5e9], [2.5e9, 8e9, 2.5e10, 8e10], 4)
lines_of_sql = [f"{k + 1}\tdense-{short(a)}-{short(b)}\t{int(a)}\t{int(b)}\t0.0004\tdone\t{y:.4f}\t2026-01-{5 + k:02d} 03:12:44+00" for k, (a, b, y) in enumerate(rows(t))]
lines_of_sql.insert(6, "17\tdense-180M-25B\t180000000\t25000000000\t0.0004\tfailed\t\\N\t\\N")
add("parameters and tokens", "a dump of PostgreSQL with COPY, a second table of users, a failed run", "runs_backup.sql",
    "--\n-- PostgreSQL database dump\n--\n\nSET statement_timeout = 0;\nSET client_encoding = 'UTF8';\n\nCREATE TABLE public.training_runs (\n    id integer NOT NULL,\n    name text NOT NULL,\n    n_params bigint,\n    n_tokens bigint,\n    lr double precision,\n    status text,\n    val_loss double precision,\n    finished_at timestamp with time zone\n);\n\n"
    "CREATE TABLE public.users (\n    id integer NOT NULL,\n    login text\n);\n\nCOPY public.training_runs (id, name, n_params, n_tokens, lr, status, val_loss, finished_at) FROM stdin;\n" + "\n".join(lines_of_sql)
    + "\n\\.\n\nCOPY public.users (id, login) FROM stdin;\n1\tadmin\n2\tmhuang\n3\trpatel\n\\.\n\nALTER TABLE ONLY public.training_runs\n    ADD CONSTRAINT training_runs_pkey PRIMARY KEY (id);\n\n--\n-- PostgreSQL database dump complete\n--\n", t)

t = grid(4521, [60e6, 180e6, 540e6, 1.6e9], [3e9, 9e9, 2.7e10, 8.1e10])
there, read = except_for(t, 3, 12)
add("parameters and tokens", "models by tokens in LaTeX under a spanning head, two cells left out", "grid_table.tex",
    "\\begin{table}\n  \\caption{Validation loss (nats per token) at the end of training.}\n  \\begin{tabular}{lcccc}\n    \\toprule\n    & \\multicolumn{4}{c}{Training tokens} \\\\\n    \\cmidrule(lr){2-5}\n    Parameters & 3B & 9B & 27B & 81B \\\\\n    \\midrule\n" + "".join(
    "    " + " & ".join([size, *(f"{columns(t)[2][4 * i + j]:.3f}" if there[4 * i + j] else "--" for j in range(4))]) + " \\\\\n" for i, size in enumerate(("60M", "180M", "540M", "1.6B"))) + "    \\bottomrule\n  \\end{tabular}\n\\end{table}\n", read)

t = grid(4522, [41_173_504, 123_587_328, 353_501_184, 1_061_552_128], [1.5e9, 5e9, 1.5e10, 5e10], 4)
files = {}
for k, (a, b, y) in enumerate(rows(t)):
    steps = round(b / 524288)
    files[f"slurm-{4410231 + 3 * k}.out"] = (f"SLURM_JOB_ID={4410231 + 3 * k} on gpu-a{k % 6 + 1:02d}\nNamespace(arch='llama', n_layers={6 + 6 * (k // 4)}, total_tokens={int(b)}, batch_tokens=524288, peak_lr=0.0006, seed=1, compile=True)\nnumber of parameters: {int(a):,}\n"
        + "".join(f"step {round(steps * part):6d}/{steps} | train loss {y + 1.9 * (1 - part) ** 2 - 0.01:.4f} | lr {6e-4 * (1 - 0.9 * part):.2e} | {410 - 90 * (k // 4)}k tok/s\n" for part in (0.1, 0.25, 0.5, 0.75, 1.0))
        + f"final validation loss: {y:.4f}\nsaved checkpoint to ckpt/{4410231 + 3 * k}/last.pt\n")
folder("parameters and tokens", "what Slurm kept of each run's output", files, t)

t = grid(4523, [33e6, 98e6, 290e6, 870e6], [2e9, 6e9, 1.8e10, 5.4e10], 4)
api = [({"_step": int(b / 1048576), "_runtime": round(a * b / 3e13, 2), "_timestamp": 1767500000.25 + 86400 * k, "train/loss": round(y - 0.015, 4), "val/loss": y}, {"lr": 0.0005, "n_layers": 8 + 4 * (k // 4), "n_params": int(a), "train_tokens": int(b), "dataset": "dclm-edu"}, f"{('bright', 'calm', 'fancy', 'rural')[k % 4]}-{('field', 'moon', 'surf', 'oak')[k // 4]}-{k + 11}") for k, (a, b, y) in enumerate(rows(t))]
api.insert(5, ({"_step": 120, "_runtime": 310.52, "_timestamp": 1767900000.5, "train/loss": 8.2271}, {"lr": 0.0005, "n_layers": 12, "n_params": 98000000, "train_tokens": 6000000000, "dataset": "dclm-edu"}, "crashed-test-10"))
add("parameters and tokens", "runs through W&B's interface, dictionaries in the cells", "project.csv", str(pd.DataFrame({"summary": [run[0] for run in api], "config": [run[1] for run in api], "name": [run[2] for run in api]}).to_csv()), t)

t = grid(4524, [26.4e6, 79.1e6, 237.5e6, 712e6], [1.6e9, 4.8e9, 1.44e10, 4.32e10])
add("parameters and tokens", "a table with tabs, powers of ten and units in the names", "code_lm_grid.tsv", csv([
    ["ID", "Params [10^6]", "Tokens [10^9]", "Vocab", "Train CE [nats/token]", "Test CE [nats/token]"], *([f"C{k + 1:02d}", f"{a / 1e6:g}", f"{b / 1e9:g}", 49152, f"{y - 0.02:.3f}", f"{y:.3f}"] for k, (a, b, y) in enumerate(rows(t)))], "\t"), t)

t = grid(4525, [110e6, 330e6, 990e6, 2.9e9], [5e9, 1.5e10, 5e10, 1.5e11])
add("parameters and tokens", "a workbook with a sheet for each number of tokens", "pretraining_2026H1.xlsx", workbook(
    {"Read me": [["Pretraining runs, first half of 2026"], ["One sheet per token budget. Loss on the frozen validation set."], ["Questions: data-platform@ourstartup.example"]]}
    | {f"{short(b)} tokens": [["Model", "Parameters", "Val loss", "GPU hours"], *([f"base-{short(a)}", short(a), y, round(a * b / 1.4e18 * 4, 1)] for a, tokens, y in rows(t) if tokens == b)] for b in (5e9, 1.5e10, 5e10, 1.5e11)}), t)

# --- compute ----------------------------------------------------------------------------------------------------

t = line(4526, np.repeat([3e14, 1e15, 3e15, 1e16, 3e16, 1e17, 3e17], 3), 1.28, -172.0, 0.2, 3, 0.003, "compute")
add("compute", "speedups of a learned compiler pass by PFLOP of training, comments above", "phase_order_ppo.csv", "# PPO agent that orders LLVM passes, 180 held-out programs, cbench + polybench\n# speedup = time(-O3) / time(agent), geometric mean\n" + csv([
    ["training compute (PFLOP)", "seed", "algo", "geomean speedup"], *([f"{c / 1e15:g}", k % 3, "ppo", f"{y:.3f}"] for k, (c, y) in enumerate(rows(t)))]), t)

t = line(4527, np.array([1e18, 3e18, 1e19, 3e19, 1e20, 3e20, 1e21, 3e21]), 1.68, 985.0, 0.155, 3, 0.0025, "compute")
add("compute", "a Spanish sheet with semicolons and decimal commas, FLOP as Excel writes them", "escalado_computo.csv", csv([
    ["Modelo", "Fecha", "Cómputo de entrenamiento (FLOP)", "Pérdida de validación"], *([f"m{k + 1}", f"{3 + k:02d}/03/2026", f"{c:.2E}".replace(".", ","), comma(y, 3)] for k, (c, y) in enumerate(rows(t)))], ";"), t)

# --- choices: to be asked back ----------------------------------------------------------------------------------

sizes_of_set = [100, 200, 500, 1000, 2000, 5000, 10000]
energy, force = (rows(by_data(4528 + k, sizes_of_set, 1, floor, height, slope, 3, 0.012)) for k, (floor, height, slope) in enumerate(((0.42, 260.0, 0.71), (7.5, 890.0, 0.48))))
add("choices", "a force field's errors of energies and forces side by side, for gnuplot", "mace_water_lc.dat", "# MACE, liquid water, revPBE0-D3, test set 1593 configurations\n# n_train   energy_mae[meV/atom]   force_mae[meV/A]\n" + "".join(
    f"{int(a[0]):9d}   {a[1]:20.3f}   {b[1]:16.3f}\n" for a, b in zip(energy, force, strict=True)), choices=("energy_mae", "force_mae"))

spoken = {language: rows(by_data(4530 + k, [10, 30, 100, 300, 1000], 1, floor, height, 0.4, 4, 0.008)) for k, (language, floor, height) in enumerate((("catalan", 0.04, 0.8), ("swahili", 0.07, 1.1), ("welsh", 0.09, 1.3)))}
add("choices", "word error rates of three languages in one table", "asr_languages.tsv", csv([
    ["language", "model", "train_hours", "test WER (%)"], *([language, "wav2vec2-base", int(n), f"{100 * e:.2f}"] for language, points in spoken.items() for n, e in points)], "\t"), choices=("language", "swahili"))

tried = {name: rows(family(4533 + k, [25e6, 75e6, 230e6, 690e6, 2.1e9], 4, floor, 0.22)) for k, (name, floor) in enumerate((("adamw", 1.93), ("soap", 1.86), ("muon", 1.88)))}
add("choices", "three optimizers in JSON lines, keys that come and go", "optimizer_shootout.jsonl", "".join(json.dumps({"optimizer": name, "n_params": int(n), "tokens": 20_000_000_000, "val_loss": y} | ({"betas": [0.9, 0.95]} if name != "muon" else {"momentum": 0.95, "nesterov": True}) | ({"precondition_every": 10} if name == "soap" else {})) + "\n"
    for name, points in tried.items() for n, y in points), choices=("optimizer", "soap"))
