"""Thirty tables more: ladders at one ratio, one training, scores of other fields, sheets of groups, logs of frameworks.

Written after set 13 was mended, and committed before the first was read. Of a loss
and an accuracy either is right; the truth of the YAML file was the loss then.
"""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

# --- ladders --------------------------------------------------------------------------------------------

n = np.array([14e6, 31e6, 70e6, 160e6, 410e6, 1e9, 2.8e9])
ladder = noisy(language(n, 20 * n), 0.002, 301, 4)
far = float(language(np.array([28e9]), np.array([560e9]))[0])
chinchilla = Truth({"n_params": n, "n_data": 20 * n, "test_loss": ladder}, far)
add(
    "ladders",
    "twenty tokens a parameter",
    "ladder.csv",
    csv(
        [
            ["model", "params", "tokens", "val_loss"],
            *([f"L{k}", short(a), f"{20 * a / 1e9:g}B", b] for k, (a, b) in enumerate(zip(n, ladder))),
        ]
    ),
    chinchilla,
)
add(
    "ladders",
    "as a ratio in Markdown",
    "ladder.md",
    "| size | D/N | loss |\n|--|--|--|\n"
    + "".join(f"| {short(a)} | 20 | {b:.4f} |\n" for a, b in zip(n, ladder)),
    chinchilla,
)
add(
    "ladders",
    "depth of a small transformer",
    "speedrun.csv",
    csv(
        [
            ["depth", "num_params", "num_tokens", "core_metric", "val_bpb", "total_time_min"],
            *(
                [4 + 2 * k, int(a), int(20 * a), round(0.1 + 0.03 * k, 3), b, 12 * (k + 1)]
                for k, (a, b) in enumerate(zip(n, ladder))
            ),
        ]
    ),
    chinchilla,
)
t = sizes(302)
m, loss = t.points.values()
add(
    "ladders",
    "a line for each model",
    "chat.txt",
    "bob: results are in!\n"
    + "".join(f"bob: the {short(a)} model got {b:.3f}\n" for a, b in zip(m, loss))
    + "eve: is that nll?\nbob: yes\n",
    Truth({"n_params": m, "test_loss": np.round(loss, 3)}, t.ten_times),
)
add(
    "ladders",
    "tabs from a sheet, no split named",
    "clip.txt",
    csv(
        [
            ["Size", "Loss", "Notes"],
            *([short(a), b, "" if k % 3 else "rerun"] for k, (a, b) in enumerate(zip(m, loss))),
        ],
        "\t",
    ),
    t,
)
add(
    "ladders",
    "exact counts in YAML",
    "models.yml",
    "models:\n"
    + "".join(
        f"  lm_{k}:\n    parameters: {int(a)}\n    eval:\n      loss: {b}\n      accuracy: {0.3 + 0.02 * k:.2f}\n"
        for k, (a, b) in enumerate(zip(m, loss))
    ),
    Truth({"n_params": m, "test_error": np.round(0.7 - 0.02 * np.arange(10), 2)}, 0.5),
)

# --- one training ---------------------------------------------------------------------------------------

seen = np.arange(1, 41) * 1e9
along = noisy(language(np.full(40, 4.1e8), seen), 0.001, 303, 4)
one = Truth({"n_data": seen, "test_loss": along}, float(language(np.array([4.1e8]), np.array([4e11]))[0]))
add("one training", "tokens in billions", "run.csv", csv([["Tokens (B)", "Validation Loss"], *([f"{a / 1e9:g}", b] for a, b in zip(seen, along))]), one)
add(
    "one training",
    "steps of a fixed batch",
    "train.jsonl",
    "".join(
        json.dumps(
            {"step": 1000 * (i + 1), "tokens_seen": int(a), "val/loss": float(b), "lr": 3e-4, "mfu": 0.41}
        )
        + "\n"
        for i, (a, b) in enumerate(zip(seen, along))
    ),
    one,
)

# --- fields ---------------------------------------------------------------------------------------------

e = (t := images(304)).points["test_error"].reshape(7, 3)
single = Truth({"n_data": EXAMPLES, "test_error": e[:, 0]}, t.ten_times)
as_loss = Truth({"n_data": EXAMPLES, "test_loss": e[:, 0]}, t.ten_times)
add(
    "fields",
    "detection",
    "coco.csv",
    csv(
        [
            ["# train imgs", "mAP@0.5"],
            *([int(a), round(float(100 * (1 - v)), 2)] for a, v in zip(EXAMPLES, e[:, 0])),
        ]
    ),
    single,
)
add(
    "fields",
    "segmentation of organs",
    "dice.xlsx",
    book(
        [
            ["Training scans", "Dice (test)", "HD95 (mm)"],
            *([int(a), float(1 - v), round(3 + 20 * float(v), 2)] for a, v in zip(EXAMPLES, e[:, 0])),
        ]
    ),
    single,
)
add(
    "fields",
    "a potential of materials",
    "mace.csv",
    csv(
        [
            ["n_configs_train", "E_MAE_meV_per_atom", "F_MAE_meV_per_A"],
            *([int(a), v, round(float(v) * 7, 4)] for a, v in zip(EXAMPLES, e[:, 0])),
        ]
    ),
    None,
    ("E_MAE_meV_per_atom", "F_MAE_meV_per_A"),
)
add(
    "fields",
    "retrieval",
    "msmarco.tsv",
    csv(
        [
            ["training queries", "MRR@10"],
            *([f"{a / 1000:g}k", round(float(1 - v), 4)] for a, v in zip(EXAMPLES, e[:, 0])),
        ],
        "\t",
    ),
    single,
)
add(
    "fields",
    "wins of a player",
    "go.csv",
    csv(
        [
            ["self-play games", "win rate vs reference"],
            *([int(a), f"{100 * (1 - v):.1f}%"] for a, v in zip(EXAMPLES, e[:, 0])),
        ]
    ),
    Truth({"n_data": EXAMPLES, "test_error": np.round(e[:, 0], 3)}, t.ten_times),
)
add("fields", "theory, P and generalization", "eg.csv", csv([["P", "E_g", "std_E_g"], *([int(a), v, 0.001] for a, v in zip(EXAMPLES, e[:, 0]))]), as_loss)
add("fields", "speakers of a voice", "tts.csv", csv([["hours of audio", "speakers", "val mel loss"], *([k, 10, v] for k, v in zip((1, 3, 10, 30, 100, 300, 1000), np.round(0.3 + 0.5 * np.array([1, 3, 10, 30, 100, 300, 1000.0]) ** -0.4, 4)))]),
              Truth({"n_data": np.array([1, 3, 10, 30, 100, 300, 1000.0]), "test_loss": np.round(0.3 + 0.5 * np.array([1, 3, 10, 30, 100, 300, 1000.0]) ** -0.4, 4)}, float(0.3 + 0.5 * 1e4**-0.4)))
add(
    "fields",
    "two languages of a translator",
    "mt.csv",
    csv(
        [
            ["pairs", "lang", "test loss"],
            *(
                [int(a), w, round(float(v) * x, 4)]
                for a, v in zip(EXAMPLES, e[:, 0])
                for w, x in (("de-en", 1.0), ("fi-en", 1.6))
            ),
        ]
    ),
    None,
    ("lang", "fi-en"),
)

# --- sheets ---------------------------------------------------------------------------------------------

g = grid(305)
n, d, loss = g.points.values()
wide = loss.reshape(5, 4)
add(
    "sheets",
    "a group of rows for each model",
    "grouped.csv",
    "\n".join(
        f"{short(a)} params,,\n,tokens,loss\n" + "\n".join(f",{short(b)},{v}" for b, v in zip(TOKENS, row))
        for a, row in zip(MODELS, wide)
    )
    + "\n",
    g,
)
add(
    "sheets",
    "colour and number formats of Numbers",
    "numbers.csv",
    csv(
        [
            ["Parameters (Mio.)", "Tokens (Mrd.)", "Loss (Val.)"],
            *([comma(a / 1e6, 1), comma(b / 1e9, 1), comma(c)] for a, b, c in zip(n, d, loss)),
        ],
        ";",
    ),
    g,
)
names = [short(a) for a in MODELS]
by_data = {f"{short(b)} tokens": pd.DataFrame({"Model": names, "val loss": v}) for b, v in zip(TOKENS, wide.T)}
add("sheets", "a sheet for each data size", "by_data.xlsx", book(**by_data), g)
add(
    "sheets",
    "totals and empty rows between",
    "budget.xlsx",
    book(
        [
            ["Run", "N [M]", "D [B]", "FLOPs", "Val loss"],
            *(
                x
                for k, (a, b, c) in enumerate(zip(n, d, loss))
                for x in ([[f"r{k}", a / 1e6, b / 1e9, 6 * a * b, c]] + ([[None] * 5] if k % 4 == 3 else []))
            ),
            ["Total", None, None, float((6 * n * d).sum()), None],
        ]
    ),
    g,
)
add(
    "sheets",
    "sizes and data in one name",
    "names.csv",
    csv(
        [
            ["experiment", "final_loss"],
            *([f"N{short(a)}_D{short(b)}_lr3e-4", c] for a, b, c in zip(n, d, loss)),
        ]
    ),
    g,
)
add(
    "sheets",
    "LaTeX of pandas",
    "out.tex",
    "\\begin{tabular}{rrr}\n\\toprule\nparams & tokens & val\\_loss \\\\\n\\midrule\n"
    + "".join(f"{int(a)} & {int(b)} & {c:.4f} \\\\\n" for a, b, c in zip(n, d, loss))
    + "\\bottomrule\n\\end{tabular}\n",
    g,
)
add(
    "sheets",
    "losses of training and test by width",
    "mlp.csv",
    csv(
        [
            ["width", "n_train", "train_loss", "test_loss"],
            *(
                [64 * 2**i, int(a), 0.01, round(float(v) * (1 + 0.5 / 2**i), 4)]
                for i in range(3)
                for a, v in zip(EXAMPLES, e[:, 0])
            ),
        ]
    ),
    None,
    ("width", "64"),
)

# --- logs -----------------------------------------------------------------------------------------------

m = PYTHIA[2:8]
final = noisy(by_size(m), 0.003, 306, 4)
t = Truth({"n_params": m, "test_loss": final}, float(by_size(10 * m.max())))
folder(
    "logs",
    "torchtitan",
    {
        f"exp_{short(a)}/log.txt": f"[titan] 2025-01-01 - root - INFO - Model llama3 size: {int(a):,} total parameters\n"
        + "".join(
            f"[titan] 2025-01-01 - root - INFO - step: {500 * (i + 1):2}  loss: {v + 0.1:.4f}  memory: 40.1GiB  tps: 5,300\n[titan] 2025-01-01 - root - INFO - validate step: {500 * (i + 1)}  val loss: {v:.4f}\n"
            for i, v in enumerate(falling(float(b)))
        )
        for a, b in zip(m, final)
    },
    t,
)
folder(
    "logs",
    "a JSON a run with its arguments",
    {
        f"out/{k}.json": json.dumps(
            {
                "args": {"n_layer": 6 + k, "lr": 3e-4, "seed": 0},
                "n_params": int(a),
                "history": {"step": [100, 200, 300], "val_loss": [float(b) + 1, float(b) + 0.3, float(b)]},
                "final_val_loss": float(b),
            }
        )
        for k, (a, b) in enumerate(zip(m, final))
    },
    t,
)
add(
    "logs",
    "a sweep printed as it went",
    "sweep.log",
    "".join(
        f"=== config {k}: n_params={int(a)} lr=0.0003\nepoch 1/1 done\n>>> test loss = {b:.4f}\n"
        for k, (a, b) in enumerate(zip(m, final))
    ),
    t,
)
add(
    "logs",
    "W&B with long names",
    "wandb.csv",
    csv(
        [
            [
                "Name",
                "State",
                "Runtime",
                "model.config.total_params",
                "trainer/tokens_processed",
                "validation/lm/loss",
                "train/lm/loss",
                "perf/tflops",
            ],
            *(
                [f"x-{k}", "finished", 100 * k, int(a), int(1e10), b, round(b - 0.05, 4), 210.5]
                for k, (a, b) in enumerate(zip(m, final))
            ),
        ]
    ),
    t,
)
c, best = (t := budgets(307)).points.values()
add("logs", "compute as powers in text", "c.txt", "compute   loss\n" + "".join(f"10^{np.log10(a):.1f}   {b:.4f}\n" for a, b in zip(c, best)), t)
add(
    "logs",
    "printed with a box",
    "rich.txt",
    "┏━━━━━━━━━━┳━━━━━━━━┓\n┃ FLOPs    ┃ Loss   ┃\n┡━━━━━━━━━━╇━━━━━━━━┩\n"
    + "".join(f"│ {a:.6e} │ {b:.4f} │\n" for a, b in zip(c, best))
    + "└──────────┴────────┘\n",
    t,
)
add(
    "logs",
    "two schedules by name of the run",
    "runs.csv",
    csv(
        [
            ["run_name", "n_params", "val_loss"],
            *(
                [f"{w}-{short(a)}", int(a), round(float(b) + x, 4)]
                for a, b in zip(m, final)
                for w, x in (("cosine", 0.0), ("wsd", 0.12))
            ),
        ]
    ),
    None,
    ("cosine", "wsd"),
)
