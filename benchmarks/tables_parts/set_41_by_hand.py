"""Tables written by hand during mending, of what earlier sets and a trial by hand found refused or misread.

Like sets 1 and 42 it measures nothing new: each stands for a kind that has to stay readable.
"""

import json
from pathlib import Path

import numpy as np
from openpyxl import Workbook

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
MODELS = np.array([13107712.0, 38120448, 96468992, 247577600, 613351424])

def family(seed: int, models: np.ndarray = MODELS, digits: int = 4) -> Truth:
    """Losses by parameters."""
    return line(seed, models, 2.05, 52.0, 0.212, digits, 0.003, "n_params")

def errors(seed: int, sizes: np.ndarray, repeats: int = 1) -> Truth:
    """Errors by training examples."""
    return line(seed, np.repeat(sizes, repeats), 0.032, 4.1, 0.39, 4, 0.01, y="test_error")

# --- names ----------------------------------------------------------------------------------------------------

width = np.array([64.0, 128, 256, 512, 1024, 2048])
t = line(1, width, 0.031, 2.2, 0.52, 4, 0.01, "width", "test_error")
add("names", "German: width, data set and test error", "breite.csv",
    csv([["Breite", "Datensatz", "Testfehler"], *([int(w), "CIFAR-10", comma(c)] for w, c in zip(*columns(t)))], ";"), t)

t = line(2, width, 0.031, 2.2, 0.52, 4, 0.01, "width", "test_error")
add("names", "French: width and test error", "largeur.csv", csv([["Largeur", "Erreur de test"], *([int(w), comma(c)] for w, c in zip(*columns(t)))], ";"), t)

share = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
t = line(3, share, 0.21, 0.09, 0.41, 4, 0.006, y="test_error")
add("names", "a fraction of a named data set in percent", "imagenet.md",
    markdown(["fraction of ImageNet", "top-1 error"], [[f"{100 * s:g} %", f"{100 * c:.2f} %"] for s, c in zip(*columns(t))]), t)
add("names", "percent of a named data set in the heading", "imagenet.csv",
    csv([["% of ImageNet", "val error (%)"], *([f"{100 * s:g}", f"{100 * c:.2f}"] for s, c in zip(*columns(t)))]), t)

n, d = (v.ravel() for v in np.meshgrid([31e6, 92e6, 260e6, 810e6], [1e9, 3e9, 9e9, 27e9], indexing="ij"))
t = cases.surface(4, np.array([31e6, 92e6, 260e6, 810e6]), np.array([1e9, 3e9, 9e9, 27e9]), cases.language, 4)
add("names", "tokens as ntok, two optimizers by turns", "ntok.csv",
    csv([["nparam", "ntok", "opt", "loss"], *([f"{a:.0f}", f"{b:.0f}", "adamw", c] for a, b, c in zip(*columns(t)))]), t)
add("names", "parameters and tokens run together", "nparams.csv",
    csv([["modelparams", "traintokens", "valloss"], *([f"{a:.0f}", f"{b:.0f}", c] for a, b, c in zip(*columns(t)))]), t)

# --- units ----------------------------------------------------------------------------------------------------

t = errors(5, np.array([1000.0, 2500, 5000, 10000, 25000, 60000]))

def in_percent(path: Path, t: Truth = t) -> None:
    """Errors as numbers below one in cells that show percent."""
    file = Workbook()
    sheet = file.active
    sheet.append(["n train", "Testfehler (%)"])
    for k, (a, c) in enumerate(zip(*columns(t))):
        sheet.append([int(a), float(c)])
        sheet.cell(k + 2, 2).number_format = "0.00%"
    file.save(path)

add("units", "an Excel sheet whose cells show percent, under a heading in percent", "fehler.xlsx", in_percent, t)
add("units", "an Excel sheet with numbers of percent under a heading in percent", "error.xlsx",
    book([["train images", "error (%)"], *([int(a), round(100 * c, 2)] for a, c in zip(*columns(t)))]), t)

t = line(6, np.array([2e6, 8e6, 30e6, 125e6, 500e6, 2e9]), 2.2, 61.0, 0.24, 4, 0.003, "n_data")
add("units", "10^3 tokens in brackets", "thousands.csv", csv([["D (10^3 tokens)", "val loss"], *([f"{a / 1e3:g}", c] for a, c in zip(*columns(t)))]), t)
add("units", "a unit of a power of ten with a superscript", "millions.csv",
    csv([["tokens (×10⁶)", "val loss"], *([f"{a / 1e6:g}", c] for a, c in zip(*columns(t)))]), t)
t = errors(7, np.array([1000.0, 2500, 5000, 10000, 25000, 60000]))
add("units", "units in a row of their own, a power of ten", "row_of_units.xlsx",
    book([["N_train", "error", "t / epoch"], ["10³ images", "%", "s"], *([a / 1e3, round(100 * c, 2), round(4 + a / 1e4, 1)] for a, c in zip(*columns(t)))]), t)

# --- cells ----------------------------------------------------------------------------------------------------

t = family(8)
add("cells", "daggers and footnote marks at numbers and names", "daggers.md",
    markdown(["Model", "Params†", "Val. loss ↓"], [[f"M{k}{'*' if k == 2 else ''}", f"{a:,.0f}{'†' if k == 1 else ''}", f"**{c:.4f}**[^1]" if k == 3 else f"{c:.4f}{'‡' if k == 1 else '^a' if k == 2 else ''}"] for k, (a, c) in enumerate(zip(*columns(t)))])
    + "\n† without embeddings\n‡ one seed\n[^1]: rerun\n", t)
add("cells", "footnotes in brackets and superscripts of LaTeX", "footnotes.tex",
    "\\begin{tabular}{lrr}\n\\toprule\nModel & Parameters & Loss\\tnote{a} \\\\\n\\midrule\n" + "".join(f"M{k} & {a:,.0f}{'$^{*}$' if k == 1 else ''} & {c:.4f}{chr(92) + 'textsuperscript{b}' if k == 2 else '$^{' + chr(92) + 'dagger}$' if k == 3 else ''} \\\\\n" for k, (a, c) in enumerate(zip(*columns(t)))) + "\\bottomrule\n\\end{tabular}\n", t)

# --- logs of trainers -------------------------------------------------------------------------------------------

t = family(9)
n, loss = columns(t)
folder("logs of trainers", "Megatron-LM, parameters on one rank", {
    f"gpt_{short(round(a / 1e6) * 1e6)}.log": " > number of parameters on (tensor, pipeline) model parallel rank (0, 0): " + f"{int(a)}\n" + "".join(
        f" [2026-04-11 0{i - 1}:20:33] iteration {5000 * i:8d}/   50000 | consumed samples: {1280000 * i:12d} | elapsed time per iteration (ms): 512.3 | learning rate: {3e-4 * (1 - i / 11):.3E} | global batch size:   256 | lm loss: {0.99 * v:.6E} | loss scale: 1.0 | grad norm: 0.312 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        f"-----------------------------------------------------------------------------------------------\n validation loss at iteration {5000 * i} | lm loss value: {v:.6E} | lm loss PPL: {np.exp(v):.6E} | \n-----------------------------------------------------------------------------------------------\n" for i, v in enumerate(falling(float(c), 9)) if i) for a, c in zip(n, loss)}, t)

folder("logs of trainers", "torchtitan with its colours gone, validation at the end", {
    f"llama3_{short(round(a / 1e6) * 1e6)}/rank0.log": f"[rank0]:[titan] 2026-04-21 10:00:01,801 - root - INFO - Model llama3 debugmodel size: {int(a):,} total parameters\n"
    + "".join(f"[rank0]:[titan] 2026-04-21 11:{10 + i}:07,110 - root - INFO - step: {200 * i:2d}  loss: {0.985 * v:7.4f}  grad_norm: 0.3112  memory: 40.12GiB(50.71%)  tps: 52,011  tflops: 120.10  mfu: 20.30%\n" for i, v in enumerate(falling(float(c), 11)) if i)
    + f"[rank0]:[titan] 2026-04-21 11:40:40,992 - root - INFO - validate step: 2000  loss: {c:7.4f}  memory: 22.02GiB(27.83%)  tps: 81,220\n" for a, c in zip(n, loss)}, t)

t = line(10, np.array([500.0, 1000, 2000, 4000, 8000, 16000]), 0.31, 9.0, 0.45, 4, 0.006)
n, loss = columns(t)
folder("logs of trainers", "Keras' CSVLogger, a file a size", {
    f"history_n{int(a):05d}.csv": csv([["epoch", "accuracy", "loss", "val_accuracy", "val_loss"], *([i, 0.5 + 0.04 * i, round(0.8 * v, 4), 0.45 + 0.04 * i, v] for i, v in enumerate(falling(float(c), 9)))]) for a, c in zip(n, loss)}, t)
folder("logs of trainers", "histories of Keras as JSON, a file a size", {
    f"history_{int(a)}.json": json.dumps({"loss": [round(0.8 * v, 4) for v in falling(float(c), 9)], "val_loss": [float(v) for v in falling(float(c), 9)], "lr": [0.001] * 9}) for a, c in zip(n, loss)}, t)

t = line(11, np.array([1172.0, 2345, 5863, 11726, 23453, 58633]), 0.44, 3.4, 0.28, 4, 0.004, y="test_error")
n, err = columns(t)
folder("logs of trainers", "detectron2's metrics.json, a folder a subset", {
    f"output/coco_{int(a)}/metrics.json": "".join(json.dumps({"iteration": 1999 * i, "total_loss": round(2.0 / i, 4), "lr": 0.01, "data_time": 0.01, "loss_cls": round(0.9 / i, 4)}) + "\n" for i in range(1, 9)) + json.dumps({"iteration": 18000, "bbox/AP": round(100 * (1 - float(c)), 2), "bbox/AP50": round(60 + 10 * (1 - float(c)), 3), "bbox/AP75": 31.2, "bbox/APl": 41.1, "bbox/APm": 33.1, "bbox/APs": 12.0}) + "\n" for a, c in zip(n, err)}, t)

t = line(12, np.array([10.0, 30, 100, 300, 960]), 0.021, 0.95, 0.61, 3, 0.01, y="test_error")
n, err = columns(t)
head = "|dataset|Snt|Wrd|Corr|Sub|Del|Ins|Err|S.Err|\n|---|---|---|---|---|---|---|---|---|\n"
add("logs of trainers", "ESPnet's results, an experiment a number of hours", "RESULTS.md",
    "# RESULTS\n## Environments\n- date: `Tue May  5 03:11:20 JST 2026`\n\n" + "".join(
        f"## exp/asr_train_{int(a)}h\n### WER\n\n{head}|decode_asr/test_clean|2620|52576|{100 - 92 * c:.1f}|{80 * c:.1f}|{12 * c:.1f}|{8 * c:.1f}|{100 * c:.1f}|61.2|\n\n" for a, c in zip(n, err)), t)

t = family(13)
n, loss = columns(t)
add("logs of trainers", "events of a script in JSON lines", "events.jsonl",
    "".join("".join(json.dumps(row) + "\n" for row in [
        {"event": "start", "run": f"w{256 * 2**k}", "n_params": int(a), "devices": 8},
        *({"event": "train", "run": f"w{256 * 2**k}", "step": 1000 * i, "loss": round(0.98 * float(v), 4), "lr": 3e-4} for i, v in enumerate(falling(float(c), 9)) if i),
        {"event": "eval", "run": f"w{256 * 2**k}", "step": 8000, "loss": float(c)}, {"event": "done", "run": f"w{256 * 2**k}", "hours": 1.5}]) for k, (a, c) in enumerate(zip(n, loss))), t)

t = line(14, np.array([1e4, 3e4, 1e5, 3e5, 1e6]), 0.9, 12.0, 0.31, 4, 0.004)
n, loss = columns(t)
names = ("1e4", "3e4", "1e5", "3e5", "1e6")
folder("logs of trainers", "Hydra's overrides as names of folders", {
    f"multirun/model.width=256,data.n={m},seed=0/results.json": json.dumps({"val/loss": float(c), "train/loss": round(0.7 * float(c), 4)}) for m, c in zip(names, loss)}, t)
add("logs of trainers", "Hydra's overrides in a column", "overrides.csv",
    csv([["override_dirname", "val_loss"], *(['"model.width=256,data.n=' + m + ',seed=1"', c] for m, c in zip(names, loss))]), t)

# --- no sizes ---------------------------------------------------------------------------------------------------

noise = np.random.default_rng(15)
add("no sizes", "a search over learning rates, eight seeds each, no width", "rates.csv",
    csv([["lr", "seed", "test_acc"], *([r, s, f"{0.9 - 0.01 * np.log10(r) ** 2 + 0.003 * noise.standard_normal():.4f}"] for r in (0.01, 0.1, 1.0) for s in range(8))]), None, ("laws noise",))
add("no sizes", "the best noise of three widths", "noise.csv",
    csv([["width", "noise", "seed", "test_acc"], *([w, r, s, f"{0.9 - 0.01 * np.log10(r / w) ** 2 + 0.003 * noise.standard_normal():.4f}"] for w in (1, 2, 4) for r in (0.1, 1.0, 10.0) for s in range(3))]), None, ("laws noise",))
