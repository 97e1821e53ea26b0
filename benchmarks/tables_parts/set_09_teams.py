"""Thirty tables as teams of several fields keep them: robots, speech, proteins, experts, shops, logs of trainers.

Written without a look at the reader, and committed before the first of them was read.
"""

import json

import numpy as np

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

# --- fields ------------------------------------------------------------------------------------------

t = images(11, seeds=1)
n, e = t.points["n_data"], t.points["test_error"]
add(
    "fields", "robot demonstrations", "pick_place.xlsx",
    book([["Pick & place, real arm, policy v3", None, None], ["# demos", "Success (%)", "Comment"],
          *([int(a), round(100 * (1 - b), 2), "" if k else "gripper recalibrated"]
            for k, (a, b) in enumerate(zip(n, e)))]), t,
)

hours = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 960.0])
wer = noisy(0.03 + 0.6 * hours**-0.45, 0.01, 12, 4)
t = Truth({"n_data": hours, "test_error": wer}, float(0.03 + 0.6 * (9600.0) ** -0.45))
add("fields", "hours of speech", "wer.csv", csv([["labelled hours", "test-clean WER (%)"], *([f"{a:g}", f"{100 * b:.2f}"] for a, b in zip(hours, wer))]), t)

t = sizes(13)
n, loss = t.points["n_params"], t.points["test_loss"]
ppl = np.round(np.exp(loss), 3)
add(
    "fields", "perplexity of proteins", "plm.tsv",
    csv([["checkpoint", "layers", "UniRef50 valid perplexity"],
         *([f"ProtLM-{short(a)}", 6 + 3 * k, b] for k, (a, b) in enumerate(zip(n, ppl)))], "\t"),
    Truth({"n_params": n, "test_loss": np.log(ppl)}, t.ten_times),
)

t = grid(14)
n, d, loss = t.points.values()
experts = np.resize([8, 16, 64, 8], len(n))
add(
    "fields", "experts with their FLOPs", "moe.csv",
    csv([["experts", "active params", "total params", "train tokens", "train FLOPs", "val loss"],
         *([k, f"{a:.6g}", f"{a * (1 + 0.6 * k):.6g}", f"{b:g}", f"{6 * a * b:.5g}", c]
           for k, a, b, c in zip(experts, n, d, loss))]), t,
)

add(
    "fields", "experts without", "moe2.csv",
    csv([["n_experts", "N_act (M)", "N_total (M)", "D (B tokens)", "loss"],
         *([k, f"{a / 1e6:g}", f"{a * (1 + 0.6 * k) / 1e6:g}", f"{b / 1e9:g}", c]
           for k, a, b, c in zip(experts, n, d, loss))]), None, ("N_act", "N_total"),
)

t = images(15, seeds=2)
n, e = t.points["n_data"], t.points["test_error"]
add(
    "fields", "clicks of a shop", "ctr_scaling.csv",
    csv([["train_interactions", "model", "holdout_logloss", "replica"],
         *([f"{int(a):,}".replace(",", "_"), "two-tower", b, k % 2] for k, (a, b) in enumerate(zip(n, e)))]),
    Truth({"n_data": n, "test_loss": e}, t.ten_times),
)

t = images(16, seeds=1)
n, e = t.points["n_data"], t.points["test_error"]
add(
    "fields", "energies of molecules", "qm9_mae.txt",
    csv([["N_train", "MAE_U0[eV]"], *([int(a), f"{b:.4f}"] for a, b in zip(n, e))], "  "),
    Truth({"n_data": n, "test_loss": e}, t.ten_times),
)

t = images(17, seeds=3)
n, e = t.points["n_data"], t.points["test_error"]
add(
    "fields", "slides of a clinic", "auc.csv",
    csv([["Number of patients (training)", "fold", "1-AUC (external test)"],
         *([int(a), k % 3 + 1, b] for k, (a, b) in enumerate(zip(n, e)))]), t,
)

# --- text ----------------------------------------------------------------------------------------------

t = grid(18)
n, d, loss = t.points.values()
add(
    "texts", "LaTeX with booktabs", "table2.tex",
    "\\begin{table}[t]\n\\centering\n\\caption{Validation loss of all runs.}\n\\begin{tabular}{@{}rrS@{}}\n\\toprule\n"
    "$N$ & $D$ & {Val.\\ loss} \\\\\n\\midrule\n"
    + "".join(f"{short(a)} & {short(b)} & {c:.4f} \\\\\n" for a, b, c in zip(n, d, loss))
    + "\\bottomrule\n\\end{tabular}\n\\end{table}\n", t,
)

t = sizes(19)
n, loss = t.points.values()
add(
    "texts", "a paste of chat", "slack.txt",
    "alice  10:32 AM\nhere are the evals from last night:\n"
    + "".join(f"{short(a)} -> {b:.4f}\n" for a, b in zip(n, loss))
    + "bob  10:40 AM\nnice, that is val loss right?\n", t,
)

add("texts", "printed by R", "out.txt", "   params     loss\n" + "".join(f"{k:<2} {a:.3e} {b:.4f}\n" for k, (a, b) in enumerate(zip(n, loss), 1)), t)

t = budgets(20)
c, loss = t.points.values()
add(
    "texts", "savetxt with a comment", "frontier.dat.txt",
    "# compute-optimal frontier, 2nd version\n# C L\n" + "".join(f"{a:.8e} {b:.4f}\n" for a, b in zip(c, loss)), t,
)

t = sizes(21)
n, loss = t.points.values()
add(
    "texts", "README with bold numbers", "README.md",
    "# Released models\n\nAll trained on 300B tokens.\n\n| Model | #Params | Pile val loss ↓ |\n|:--|--:|:-:|\n"
    + "".join(f"| [m{k}](https://x.org/m{k}) | {short(a)} | {'**' * (k == 9)}{b:.4f}{'**' * (k == 9)} |\n"
              for k, (a, b) in enumerate(zip(n, loss)))
    + "\n## License\n\nMIT\n", t,
)

t = grid(22)
n, d, loss = t.points.values()
add(
    "texts", "HTML of a wiki", "wiki.html",
    "<html><body><p>See also <a href='x'>runs</a>.</p><table><thead><tr><th>Model size</th><th>Tokens</th>"
    "<th>Eval loss</th></tr></thead><tbody>"
    + "".join(f"<tr><td>{a / 1e6:,.0f} M</td><td>{b / 1e9:g}&nbsp;B</td><td>{c:.4f}</td></tr>"
              for a, b, c in zip(n, d, loss)) + "</tbody></table></body></html>", t,
)

add(
    "texts", "YAML of runs", "runs.yaml",
    "project: ladder\nruns:\n" + "".join(
        f"  - id: run-{k:02d}\n    model: {{n_params: {int(a)}, n_layers: 12}}\n    train_tokens: {int(b)}\n"
        f"    final: {{train_loss: {c - 0.05:.4f}, val_loss: {c:.4f}}}\n"
        for k, (a, b, c) in enumerate(zip(n, d, loss))), t,
)

# --- languages and units -------------------------------------------------------------------------------

t = grid(23)
n, d, loss = t.points.values()
add(
    "languages", "German", "ergebnisse.csv",
    csv([["Modellgröße (Mio. Parameter)", "Trainingstoken (Mrd.)", "Validierungsverlust"],
         *([comma(a / 1e6, 1), comma(b / 1e9, 1), comma(c)] for a, b, c in zip(n, d, loss))], ";"), t,
)
add(
    "languages", "French", "resultats.csv",
    csv([["paramètres (M)", "jetons d'entraînement (Md)", "perte de validation"],
         *([f"{a / 1e6:g}", f"{b / 1e9:g}", comma(c)] for a, b, c in zip(n, d, loss))], ";"), t,
)
t = images(24, seeds=2)
n, e = t.points["n_data"], t.points["test_error"]
add(
    "languages", "Spanish", "resultados.csv",
    csv([["ejemplos de entrenamiento", "semilla", "error de prueba"],
         *([int(a), k % 2, comma(b)] for k, (a, b) in enumerate(zip(n, e)))], ";"), t,
)
t = grid(25)
n, d, loss = t.points.values()
add("languages", "Chinese", "结果.csv", csv([["模型参数量", "训练token数", "验证损失"], *([short(a), short(b), c] for a, b, c in zip(n, d, loss))]), t)
add(
    "languages", "units in a row", "units.csv",
    csv([["model size", "training tokens", "test loss"], ["[M]", "[B]", "[nats]"],
         *([f"{a / 1e6:g}", f"{b / 1e9:g}", c] for a, b, c in zip(n, d, loss))]), t,
)
add(
    "languages", "tokens per parameter", "ratios.csv",
    csv([["Parameters", "Tokens/Parameter", "Final validation loss"],
         *([f"{int(a):,}".replace(",", " "), f"{b / a:.8g}", c] for a, b, c in zip(n, d, loss))]), t,
)

# --- sheets ---------------------------------------------------------------------------------------------

wide = loss.reshape(5, 4)
add(
    "sheets", "a header over a header", "pivot.xlsx",
    book([["Validation loss", None, None, None, None], [None, "Tokens", None, None, None],
          ["Params", "1B", "3B", "10B", "30B"], *([short(a), *row] for a, row in zip(MODELS, wide))]), t,
)
t = images(26, seeds=3)
e = t.points["test_error"].reshape(7, 3)
add(
    "sheets", "seeds with their mean", "seeds.xlsx",
    book([["n_train", "seed 0", "seed 1", "seed 2", "mean", "std"],
          *([int(a), *row, round(float(row.mean()), 5), round(float(row.std()), 5)] for a, row in zip(EXAMPLES, e))]), t,
)
t = sizes(27)
n, loss = t.points.values()
add(
    "sheets", "a row of averages at the end", "eval.csv",
    csv([["model", "params (B)", "eval loss"], *([f"m{k}", f"{a / 1e9:g}", b] for k, (a, b) in enumerate(zip(n, loss))),
         ["Average", "", round(float(loss.mean()), 4)]]), t,
)
t = images(28, seeds=2)
n, e = t.points["n_data"], t.points["test_error"]
both = np.resize([0, 1], len(n))
add(
    "sheets", "two encoders", "encoders.csv",
    csv([["train images", "backbone", "top-1 error"],
         *([int(a), ("ViT-S", "R50")[k], round(float(b * (1 + 0.5 * k)), 4)] for a, b, k in zip(n, e, both))]),
    None, ("backbone", "ViT-S"),
)

# --- trainers --------------------------------------------------------------------------------------------

n = PYTHIA[2:8]
final = noisy(by_size(n), 0.003, 29, 4)
t = Truth({"n_params": n, "test_loss": final}, float(by_size(10 * n.max())))

folder(
    "trainers", "lm-evaluation-harness",
    {f"EleutherAI__pythia-{short(a).lower()}/results_2024-05-0{k + 1}T10-00-00.json": json.dumps({
        "results": {"winogrande": {"alias": "winogrande", "acc,none": round(1 - float(b) / 5, 5),
                                   "acc_stderr,none": 0.0138}},
        "n-shot": {"winogrande": 0}, "config": {"model": "hf", "model_args": f"pretrained=EleutherAI/pythia-{short(a).lower()}",
                                                "batch_size": "32"}, "git_hash": "a1b2c3"})
     for k, (a, b) in enumerate(zip(n, final))},
    Truth({"n_params": n, "test_error": np.round(final / 5, 5)}, t.ten_times / 5),
)
folder(
    "trainers", "nanoGPT",
    {f"out-{k}/train.log": f"tokens per iteration will be: 491,520\nnumber of parameters: {a / 1e6:.2f}M\nusing fused AdamW: True\n"
     + "".join(f"step {500 * i}: train loss {v - 0.02:.4f}, val loss {v:.4f}\niter {500 * i}: loss {v + 0.01:.4f}, time 310.20ms, mfu 31.02%\n"
               for i, v in enumerate(falling(float(b))))
     for k, (a, b) in enumerate(zip(n, final))}, t,
)
folder(
    "trainers", "trainer_state.json",
    {f"llama-{short(a)}/trainer_state.json": json.dumps({
        "best_metric": None, "epoch": 1.0, "global_step": 5000, "is_world_process_zero": True, "log_history": [
            x for i, v in enumerate(falling(float(b))) for x in (
                {"epoch": i / 10, "step": 500 * i, "loss": round(float(v) + 0.03, 4), "learning_rate": 3e-4 * (1 - i / 11), "grad_norm": 0.4},
                {"epoch": i / 10, "step": 500 * i, "eval_loss": float(v), "eval_runtime": 12.1, "eval_samples_per_second": 81.0})]})
     for a, b in zip(n, final)}, t,
)
folder(
    "trainers", "tracker_metrics.jsonl",
    {f"ladder-{k}-{c:x}/tracker_metrics.jsonl": json.dumps({
        "config": {"model": {"hidden_dim": 512 + 128 * k, "num_layers": 8 + k}, "trainer": {"seed": 0, "train_batch_size": 256}},
        "summary": {"_step": 9999, "parameter_count": int(a), "throughput/total_tokens": 10_000_000_000,
                    "throughput/tokens_per_second": 51000.1, "train/loss": float(b) - 0.04, "eval/paloma/c4_en/loss": float(b)}}) + "\n"
     for k, (a, b, c) in enumerate(zip(n, final, (0xA1, 0xB2, 0xC3, 0xD4, 0xE5, 0xF6)))}, t,
)
seen = np.arange(1, 41) * 5e8
along = noisy(language(np.full(40, 160e6), seen), 0.001, 30, 4)
add(
    "trainers", "Megatron's lines", "log.txt",
    "using world size: 8\n" + "".join(
        f" iteration {1000 * i:8d}/   40000 | consumed samples: {256000 * i:12d} | consumed tokens: {int(s):14d} | elapsed time per "
        f"iteration (ms): 412.3 | learning rate: 3.000E-04 | global batch size: 256 | lm loss: {v:.4E} | grad norm: 0.210 |\n"
        for i, (s, v) in enumerate(zip(seen, along), 1)),
    Truth({"n_data": seen, "train_loss": along}, float(language(np.array([160e6]), np.array([2e11]))[0])),
)
