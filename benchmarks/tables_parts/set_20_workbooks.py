"""Thirty tables of meetings: workbooks as people format them, notes, sweeps, rows of several kinds, and what cannot be fitted.

Written without a look at the reader, and committed before the first was read. Where a choice is named beside a truth, either is
right: the better of several recipes is used, which is said, or a refusal names them. One truth was changed after the first
reading: of logs of several runs the last evaluations count (all were asked for, with the data seen there).
"""


import numpy as np

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
LINE = np.array([35e6, 85e6, 200e6, 480e6, 1.1e9, 2.6e9])
GIVEN = np.array([4e9, 12e9, 36e9, 108e9])
PICTURES = np.array([1000.0, 3000, 9000, 27000, 81000])

# --- workbooks ------------------------------------------------------------------------------------------

kind = "workbooks"
t = crossed(901, LINE[:5], GIVEN)
n, d, loss = t.points.values()
add(kind, "a title and models in merged cells", "Q3 scaling.xlsx", workbook({"Sheet1": [["Scaling sweep Q3 (final)", None, None], ["Model size", "Tokens", "Val loss"],
    *([short(a) if k % 4 == 0 else None, short(b), c] for k, (a, b, c) in enumerate(zip(n, d, loss)))]}, ("A1:C1", *(f"A{3 + 4 * k}:A{6 + 4 * k}" for k in range(5)))), t)

t = crossed(902, LINE[:5], GIVEN)
n, d, loss = t.points.values()
add(kind, "an old sheet and the final one", "sweep.xlsx", workbook({"old (do not use)": [["Params", "Tokens", "Val loss"], *([a, b, round(1.2 * c, 3)] for a, b, c in zip(n[:6], d[:6], loss[:6]))],
    "final": [["Params", "Tokens", "Val loss"], *([a, b, c] for a, b, c in zip(n, d, loss))]}), t, ("final",))

one, two = crossed(903, LINE[:5], GIVEN), crossed(904, LINE[:5], GIVEN)
n, d, loss = one.points.values()
add(kind, "a sheet for each optimizer", "optimizers.xlsx", workbook({w: [["params", "tokens", "val_loss"], *([a, b, c] for a, b, c in zip(n, d, v))]
    for w, v in (("AdamW", np.round(1.05 * two.points["test_loss"], 3)), ("Muon", loss))}), one, ("AdamW", "Muon"))

t = crossed(905, LINE[:5], GIVEN)
n, d, loss = t.points.values()
add(kind, "units in a row of their own", "ladder.xlsx", workbook({"runs": [["Model", "Params", "Tokens", "Compute", "Loss"], [None, "M", "B", "EFLOP", "nats/token"],
    *([f"m{k}", a / 1e6, b / 1e9, round(6 * a * b / 1e18, 3), c] for k, (a, b, c) in enumerate(zip(n, d, loss)))]}), t)

t = models(906, LINE)
n, loss = t.points.values()
side = [["lr", "6e-4"], ["warmup", 2000], ["batch", "0.5M tokens"], ["optimizer", "AdamW"]]
add(kind, "settings beside the table", "v7.xlsx", workbook({"Sheet1": [["Params", "Val loss", None, "Setting", "Value"],
    *([short(a), b, None, *(side[k] if k < 4 else (None, None))] for k, (a, b) in enumerate(zip(n, loss)))]}), t)

t = subsets(907, PICTURES, 2)
n, e = t.points.values()
add(kind, "percent by the format of the cells", "cifar.xlsx", workbook({"acc": [["Train size (k)", "Seed", "Test acc"], *([a / 1000, k % 2, round(1 - b, 4)] for k, (a, b) in enumerate(zip(n, e)))]}, (), {"C": "0.00%"}), t)

t = models(908, LINE)
n, loss = t.points.values()
add(kind, "sizes on one sheet, losses on another", "family.xlsx", workbook({"models": [["name", "layers", "d_model", "params"], *([f"fam-{w}", 6 + 3 * k, 384 + 128 * k, int(a)] for k, (w, a) in enumerate(zip("abcdef", n)))],
    "results": [["name", "val_loss"], *([f"fam-{w}", b] for w, b in zip("abcdef", loss))]}), t)

t = crossed(909, LINE[:5], GIVEN)
n, d, loss = t.points.values()
add(kind, "everything in column A", "pasted.xlsx", workbook({"Sheet1": [["params,tokens,val_loss"], *([f"{short(a)},{short(b)},{c}"] for a, b, c in zip(n, d, loss))]}), t)

ppl, t = perplexities(crossed(910, LINE[:5], GIVEN))
add(kind, "perplexities below a two-line title", "ppl.xlsx", workbook({"grid": [["Validation perplexity (C4)"], ["rows: model size, columns: training tokens"], [None, *map(short, GIVEN)], *([short(a), *row] for a, row in zip(LINE, ppl.reshape(5, 4)))]}), t)

t = subsets(911, PICTURES, 3)
n, e = t.points.values()
grid = np.round(100 * e, 2).reshape(5, 3)
add(kind, "groups of columns over seeds", "err.xlsx", workbook({"s": [[None, "Test error (%)", None, None], ["# train images", "seed 1", "seed 2", "seed 3"], *([int(a), *row] for a, row in zip(PICTURES, grid))]}, ("B1:D1",)), t)

# --- notes ----------------------------------------------------------------------------------------------

kind = "notes"
t = crossed(912, LINE[:5], GIVEN)
n, d, loss = t.points.values()
add(kind, "signs in the header", "Runs 2f1c9e.csv", csv([["🧪 Run", "🚀 Params (M)", "📚 Tokens (B)", "📉 Val loss", "✅ Done"], *([f"run {k}", f"{a / 1e6:g}", f"{b / 1e9:g}", c, "Yes"] for k, (a, b, c) in enumerate(zip(n, d, loss)))]), t)

t = models(913, LINE)
n, loss = t.points.values()
add(kind, "stars and what they mean", "losses.csv", csv([["Params", "Loss"], *([short(a), f"{b:.3f}{'*' if k in (2, 5) else ''}"] for k, (a, b) in enumerate(zip(n, loss)))]) + "\n* run on H100\nNote: learning rate tuned at 85M only\n", t)

n = np.repeat(LINE[:5], 4)
ratio = np.tile([5.0, 20, 80, 320], 5)
loss = noisy(language(n, ratio * n), 0.003, 914, 3)
add(kind, "tokens per parameter", "tpp.csv", csv([["N (M)", "tokens/param", "val loss"], *([f"{a / 1e6:g}", f"{b:g}", c] for a, b, c in zip(n, ratio, loss))]),
    Truth({"n_params": n, "n_data": ratio * n, "test_loss": loss}, best_language(60 * float((ratio * n * n).max()))))

t = crossed(915, LINE[:5], GIVEN)
n, d, loss = t.points.values()
add(kind, "size/data: loss", "minutes.txt", "Standup 12 Jan\nAll runs done, val loss:\n" + "".join(f"{short(a)}/{short(b)}: {c}\n" for a, b, c in zip(n, d, loss)) + "Next: 2.6B\n", t)

t = models(916, LINE)
n, loss = t.points.values()
add(kind, "an error in a column of its own", "with_err.csv", csv([["params", "val loss", "±"], *([short(a), b, 0.006] for a, b in zip(n, loss))]), t)

t = models(917, LINE)
n, loss = t.points.values()
add(kind, "sizes with decimal commas", "tabelle.csv", csv([["Modell", "Val-Loss"], *([f"{short(a).replace('.', ',')}", comma(b, 3)] for a, b in zip(n, loss))], ";"), t)

days = np.array([0.004, 0.02, 0.1, 0.5, 2.5, 12.5])
loss = noisy(by_compute(days * 8.64e19), 0.003, 918, 3)
add(kind, "PF-days with decimal commas", "rechnen.csv", csv([["Compute [PF-days]", "Loss"], *([f"{a:g}".replace(".", ","), comma(b, 3)] for a, b in zip(days, loss))], ";"),
    Truth({"compute": days * 8.64e19, "test_loss": loss}, float(by_compute(8.64e19 * 125))))

t = crossed(919, LINE[:5], GIVEN)
n, d, loss = t.points.values()
add(kind, "the same column twice", "merge.csv", csv([["params", "tokens", "loss", "loss"], *([int(a), int(b), c, c] for a, b, c in zip(n, d, loss))]), t)

t = crossed(920, LINE[:4], GIVEN)
n, d, loss = t.points.values()
rows: list[list[object]] = []
for a, b, c in zip(n, d, loss):
    k = round(b / 4e9)
    rows += [[f"lm-{short(a)}", int(a), 1000 * k - 500, int(b - 2e9), round(c + 0.02, 3), ""], [f"lm-{short(a)}", int(a), 1000 * k, int(b), round(c - 0.01, 3), c]]
add(kind, "logs of several runs, evaluated now and then", "all_logs.csv", csv([["run", "n_params", "step", "tokens", "train_loss", "val_loss"], *rows]),
    Truth({"n_params": n[3::4], "test_loss": loss[3::4]}, float(language(4.8e9, 108e9))))

n = np.repeat(PICTURES, 3)
acc = 1 - noisy(image_error(n), 0.01, 921, 4)
cells = [*np.round(acc, 4).astype(object)]
cells[4], cells[12] = "", "NaN"
add(kind, "seeds as columns with gaps", "acc.csv", csv([["train_size", "acc_s1", "acc_s2", "acc_s3"], *([int(a), *cells[3 * k : 3 * k + 3]] for k, a in enumerate(PICTURES))]),
    Truth({"n_data": np.delete(n, [4, 12]), "test_error": np.delete(1 - np.round(acc, 4), [4, 12])}, float(image_error(810000.0))))

t = subsets(922, PICTURES, 2)
n, e = t.points.values()
add(kind, "a zip with a file for each run", "logs.zip", packed({f"logs/n_train={int(a)}_seed={k % 2}.csv": csv([["epoch", "train_err", "test_err"], *([j + 1, round(0.5 * b + 0.3 / (j + 1) ** 2 - 0.3 / 144, 4), round(b + 0.4 / (j + 1) ** 2 - 0.4 / 144, 4)] for j in range(12))]) for k, (a, b) in enumerate(zip(n, e))}), t)

# --- sweeps ---------------------------------------------------------------------------------------------

kind = "sweeps"
t = models(923, LINE)
n, loss = t.points.values()
add(kind, "learning rates as columns", "lr_wide.csv", csv([["params", "lr=1e-4", "lr=3e-4", "lr=1e-3", "lr=3e-3"], *([short(a), round(b + 0.11, 3), round(b + 0.02, 3) if k < 3 else b, b if k < 3 else round(b + 0.03, 3), "diverged" if k > 2 else round(b + 0.2, 3)] for k, (a, b) in enumerate(zip(n, loss)))]), t, ("lr",))

t = crossed(924, LINE[:4], GIVEN[:3])
n, d, loss = t.points.values()
add(kind, "rates and batches, the best counts", "sweep_all.csv", csv([["params", "tokens", "lr", "batch_size", "val_loss"], *([int(a), int(b), r, s, round(c + x + y, 3)] for a, b, c in zip(n, d, loss) for r, x in ((3e-4, 0.05), (1e-3, 0.0), (3e-3, 0.07)) for s, y in ((256, 0.0), (1024, 0.03)))]), t)

# --- several kinds --------------------------------------------------------------------------------------

kind = "several kinds"
n = LINE
base = noisy(by_size(n), 0.003, 925, 3)
add(kind, "two parametrizations", "mup.csv", csv([["parametrization", "n_params", "val_loss"], *([w, int(a), round(f * v, 3)] for w, f in (("sp", 1.07), ("mup", 1.0)) for a, v in zip(n, base))]), Truth({"n_params": n, "test_loss": base}, float(by_size(2.6e10))), ("parametrization", "mup"))
add(kind, "two corpora under headings", "eval.md", "# Eval\n\n## C4\n\n" + markdown(["size", "loss"], [[short(a), v] for a, v in zip(n, base)]) + "\n## Pile\n\n" + markdown(["size", "loss"], [[short(a), round(0.8 * v, 3)] for a, v in zip(n, base)]), None, ("C4", "Pile"))
add(kind, "two perplexities", "ppls.csv", csv([["params", "ppl wikitext103", "ppl ptb"], *([short(a), round(float(np.exp(v)), 2), round(float(np.exp(1.2 * v)), 2)] for a, v in zip(n, base))]), None, ("ppl wikitext103", "ppl ptb"))

add(kind, "experts: total and active", "moe.csv", csv([["Name", "Total (B)", "Active (B)", "Val loss"], *([f"moe-{k}", f"{a * (3 + k) / 1e9:.3g}", f"{a / 1e9:.3g}", v] for k, (a, v) in enumerate(zip(n, base)))]), None, ("Total (B)", "Active (B)"))

# --- nothing to fit -------------------------------------------------------------------------------------

kind = "nothing to fit"
add(kind, "sizes in words", "words.csv", csv([["model", "val_loss"], *([w, v] for w, v in zip(["tiny", "small", "medium", "large", "xl", "xxl"], base))]), None, ANY)
add(kind, "nothing measured", "plan.csv", csv([["run", "params", "tokens", "gpu_hours", "owner"], *([f"p{k}", int(a), int(20 * a), round(6 * 20 * a * a / 1e18, 2), "kim"] for k, a in enumerate(n))]), None, ANY)
add(kind, "two runs", "two.csv", csv([["params", "val_loss"], *([short(a), v] for a, v in zip(n[:2], base[:2]))]), None, ANY)
