"""Thirty tables as they are sent around: databases, notes, mail, sheets of other fields and languages, dumps of tools.

Written without a look at the reader after set 9 was mended, and committed before the first was read.
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

def superscript(value: float) -> str:
    """A size with a power of ten in superscripts."""
    power = int(np.floor(np.log10(value)))
    return f"{value / 10**power:g}×10{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(d)] for d in str(power))}"

# --- fields --------------------------------------------------------------------------------------------

t = images(41, seeds=1)
n, e = t.points["n_data"], t.points["test_error"]
as_loss = Truth({"n_data": n, "test_loss": e}, t.ten_times)
add("fields", "series of a forecaster", "mase.csv", csv([["n_series", "horizon", "test MASE"], *([int(a), 24, b] for a, b in zip(n, e))]), as_loss)
add(
    "fields", "a table of predictions with folds", "boosting.csv",
    csv([["n_rows", "n_features", "rmse_cv_mean", "rmse_cv_std", "fit_time_s"],
         *([int(a), 48, b, round(float(b) * 0.02, 5), round(a / 900, 2)] for a, b in zip(n, e))]), as_loss,
)
add(
    "fields", "labels of a classifier", "finetune.tsv",
    csv([["# labeled examples", "macro-F1", "encoder"], *([int(a), round(1 - b, 4), "deberta-v3-base"] for a, b in zip(n, e))], "\t"), t,
)
hours = np.array([10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0])
cer = noisy(0.025 + 0.9 * hours**-0.5, 0.01, 42, 4)
add(
    "fields", "hours in the cells", "aishell.csv",
    csv([["training data", "CER %"], *([f"{a:g} h", f"{100 * b:.2f}"] for a, b in zip(hours, cer))]),
    Truth({"n_data": hours, "test_error": cer}, float(0.025 + 0.9 * (1e5) ** -0.5)),
)
t = grid(43)
n, d, loss = t.points.values()
add(
    "fields", "nucleotides", "dna.csv",
    csv([["model_params", "nucleotides_seen", "val_perplexity"], *([int(a), int(b), f"{np.exp(c):.4f}"] for a, b, c in zip(n, d, loss))]),
    Truth({"n_params": n, "n_data": d, "test_loss": np.log(np.round(np.exp(loss), 4))}, t.ten_times),
)
t = sizes(44)
n, loss = t.points.values()
add(
    "fields", "a student and its teacher", "distill.csv",
    csv([["teacher_params", "student_params", "kd_temperature", "student_val_loss"], *([int(12e9), int(a), 2.0, b] for a, b in zip(n, loss))]), t,
)
add(
    "fields", "pass@1 of code", "humaneval.csv",
    csv([["Model", "Size", "HumanEval pass@1"], *([f"coder-{short(a).lower()}", short(a), f"{100 - 20 * b:.2f}%"] for a, b in zip(n, loss))]),
    Truth({"n_params": n, "test_error": np.round(20 * loss, 2) / 100}, t.ten_times / 5),
)

# --- which column ----------------------------------------------------------------------------------------

t = grid(45)
n, d, loss = t.points.values()
vocabulary = 50304 * np.sqrt(n / 24).round()
add(
    "columns", "with and without embeddings", "nonemb.csv",
    csv([["total_params", "non_embedding_params", "tokens", "flops", "final_val_loss"],
         *([int(a + v), int(a), int(b), f"{6 * a * b:.6g}", c] for a, v, b, c in zip(n, vocabulary, d, loss))]), t,
)
add(
    "columns", "two sets of evaluation", "web_code.csv",
    csv([["params", "tokens", "loss_web", "loss_code"], *([int(a), int(b), c, round(c * 0.6, 4)] for a, b, c in zip(n, d, loss))]),
    None, ("loss_web", "loss_code"),
)
add(
    "columns", "two schedules", "schedules.csv",
    csv([["n_params", "tokens", "schedule", "eval_loss"],
         *([int(a), int(b), s, round(c + x, 4)] for a, b, c in zip(n, d, loss) for s, x in (("cosine", 0.0), ("constant", 0.12)))]),
    None, ("schedule", "cosine"),
)
t = budgets(46)
c, loss = t.points.values()
add(
    "columns", "compute in exaFLOPs", "compute.csv",
    csv([["run", "Compute (EFLOPs)", "Wall-clock (h)", "Test loss"], *([f"r{k}", f"{a / 1e18:.6g}", 3 + k, b] for k, (a, b) in enumerate(zip(c, loss)))]), t,
)
t = sizes(47)
n, loss = t.points.values()
add(
    "columns", "bits per byte", "bpb.csv",
    csv([["model", "n_params", "train_bpb", "val_bpb"], *([f"m{k}", int(a), round(b - 0.03, 4), b] for k, (a, b) in enumerate(zip(n, loss)))]), t,
)
add(
    "columns", "one task, one metric, in rows", "eval_long.csv",
    csv([["model", "task", "metric", "value", "stderr"],
         *([f"EleutherAI/pythia-{short(a).lower()}", "lambada_openai", "perplexity", f"{np.exp(b):.4f}", 0.1] for a, b in zip(n, loss))]),
    Truth({"n_params": n, "test_loss": np.log(np.round(np.exp(loss), 4))}, t.ten_times),
)

# --- numbers ----------------------------------------------------------------------------------------------

t = grid(48)
n, d, loss = t.points.values()
add("numbers", "powers in superscripts", "powers.csv", csv([["N", "D", "Loss"], *([superscript(a), superscript(b), c] for a, b, c in zip(n, d, loss))]), t)
add(
    "numbers", "words for millions", "words.csv",
    csv([["Parameters", "Training tokens", "Validation loss"],
         *([f"{a / 1e6:g} million", f"{b / 1e9:g} billion", c] for a, b, c in zip(n, d, loss))]), t,
)
t = images(49, seeds=3)
two = 2.0 ** np.arange(8, 15)
e = noisy(0.02 + 3.0 * np.repeat(two, 3) ** -0.35, 0.02, 49, 4).reshape(7, 3)
by_two = Truth({"n_data": np.repeat(two, 3), "test_error": e.ravel()}, float(0.02 + 3.0 * (10 * two.max()) ** -0.35))
add(
    "numbers", "powers of two", "pow2.csv",
    csv([["training examples", "err_run1", "err_run2", "err_run3"], *([f"2^{k}", *row] for k, row in zip(range(8, 15), e))]), by_two,
)
add(
    "numbers", "a logarithm of two", "log2.csv",
    csv([["log2(n_train)", "seed", "test error"], *([k, s, row[s]] for k, row in zip(range(8, 15), e) for s in range(3))]), by_two,
)

# --- languages ----------------------------------------------------------------------------------------------

t = grid(50)
n, d, loss = t.points.values()
add(
    "languages", "Portuguese", "resultados.csv",
    csv([["parâmetros (M)", "tokens de treino (B)", "perda de validação"], *([f"{a / 1e6:g}", f"{b / 1e9:g}", comma(c)] for a, b, c in zip(n, d, loss))], ";"), t,
)
add(
    "languages", "Russian", "итоги.csv",
    csv([["параметры (млн)", "токены (млрд)", "потери на валидации"], *([f"{a / 1e6:g}", f"{b / 1e9:g}", comma(c)] for a, b, c in zip(n, d, loss))], ";"), t,
)
t = images(51, seeds=2)
n, e = t.points["n_data"], t.points["test_error"]
add(
    "languages", "Italian", "risultati.csv",
    csv([["dimensione del training set", "seme", "errore di test"], *([int(a), k % 2, comma(b)] for k, (a, b) in enumerate(zip(n, e)))], ";"), t,
)
add(
    "languages", "Dutch, with dots between thousands", "resultaten.csv",
    csv([["aantal trainingsvoorbeelden", "seed", "testfout"], *([f"{int(a):,}".replace(",", "."), k % 2, comma(b)] for k, (a, b) in enumerate(zip(n, e)))], ";"), t,
)

# --- texts and sheets ----------------------------------------------------------------------------------------

t = sizes(52)
n, loss = t.points.values()
add(
    "texts", "printed by a database", "query.txt",
    "  params_m  | val_loss \n------------+----------\n" + "".join(f" {a / 1e6:10g} | {b:8.4f} \n" for a, b in zip(n, loss)) + f"({len(n)} rows)\n", t,
)
add(
    "texts", "dictionaries in lines", "prints.txt",
    "".join(f"{{'name': 'run_{k}', 'n_params': {int(a)}, 'val_loss': {b:.4f}}}\n" for k, (a, b) in enumerate(zip(n, loss))), t,
)
frame = pd.DataFrame({"model_size": n.astype(int), "steps": 50000, "eval_loss": loss})
add("texts", "printed by pandas", "df.txt", frame.to_string() + "\n", t)
add(
    "texts", "turned", "turned.csv",
    csv([["", *(f"run {chr(65 + k)}" for k in range(len(n)))], ["Parameters", *(short(a) for a in n)], ["Batch size", *[512] * len(n)], ["Val loss", *loss]]), t,
)
add(
    "texts", "a book with a page about it", "ladder.xlsx",
    book(About=pd.DataFrame({"who": ["A. B."], "what": ["ladder, third try"]}),
         Results=pd.DataFrame({"Model size (M)": n / 1e6, "Loss (val)": loss})), t,
)
t = grid(53)
wide = t.points["test_loss"].reshape(5, 4)
add(
    "texts", "merged cells at the left", "groups.xlsx",
    book([["Model", "Tokens", "Val loss"], *([short(a) if k == 0 else None, short(b), wide[i, k]] for i, a in enumerate(MODELS) for k, b in enumerate(TOKENS))]), t,
)

# --- tools -----------------------------------------------------------------------------------------------------

n = PYTHIA[3:9]
final = noisy(by_size(n), 0.003, 54, 4)
t = Truth({"n_params": n, "test_loss": final}, float(by_size(10 * n.max())))
add(
    "tools", "histories in one document", "runs.json",
    json.dumps([{"id": f"r{k}", "config": {"n_params": int(a), "lr": 3e-4}, "history": [
        {"step": 1000 * i, "val_loss": round(float(b) + 2.0 / i - 0.2, 4)} for i in range(1, 11)]} for k, (a, b) in enumerate(zip(n, final))]), t,
)
folder(
    "tools", "all_results.json",
    {f"gpt-{short(a)}/all_results.json": json.dumps({"epoch": 1.0, "eval_loss": float(b), "eval_runtime": 31.2, "eval_samples": 1200, "perplexity": float(np.exp(b)),
                                                     "train_loss": float(b) + 0.1, "train_runtime": 9000.0, "train_samples": 400000}) for a, b in zip(n, final)}, t,
)
folder(
    "tools", "DeepSpeed",
    {f"job_{k}/stdout.log": f"[2024-03-0{k + 1} 10:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] model parameters: {int(a)}\n" + "".join(
        f"[2024-03-0{k + 1} 11:{i:02d}:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step={1000 * i}, skipped=0, lr=[0.0003], mom=[(0.9, 0.95)]\n"
        f"[2024-03-0{k + 1} 11:{i:02d}:01,000] [INFO] step: {1000 * i} loss: {b + 2.0 / i - 0.1:.4f} eval loss: {b + 2.0 / i - 0.2:.4f}\n" for i in range(1, 11))
     for k, (a, b) in enumerate(zip(n, final))}, t,
)
