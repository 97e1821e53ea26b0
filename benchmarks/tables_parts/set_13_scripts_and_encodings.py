"""Thirty tables of other habits: mappings, scripts, blocks of lines, encodings, intervals in columns, pasted pages.

Written after sets 11 and 12 were mended, and committed before the first was read. The truth of the
best of each budget was a refusal then; the law along its line is the better answer.
"""

import gzip
import io
import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

# --- mappings and scripts -------------------------------------------------------------------------------

t = sizes(201)
n, loss = t.points.values()
add("mappings", "JSON from size to loss", "losses.json", json.dumps({short(a): float(b) for a, b in zip(n, loss)}, indent=1), t)
add("mappings", "YAML from size to loss", "losses.yaml", "val_loss:\n" + "".join(f"  {short(a)}: {b:.4f}\n" for a, b in zip(n, loss)), t)
add(
    "mappings", "lists in a script", "plot.py",
    "import matplotlib.pyplot as plt\n\nparams = [" + ", ".join(f"{a:g}" for a in n) + "]\nval_loss = [" + ", ".join(f"{b:.4f}" for b in loss) + "]\n\nplt.loglog(params, val_loss)\nplt.show()\n", t,
)
add("mappings", "a list with dashes", "notes.md", "## Val loss\n\n" + "".join(f"* **{short(a)}** — {b:.4f}\n" for a, b in zip(n, loss)) + "\nNext: 30B.\n", t)
add(
    "mappings",
    "N in millions by a comment",
    "n_l.csv",
    "# N in millions (non-embedding), L = val loss\nN,L\n"
    + "".join(f"{a / 1e6:g},{b}\n" for a, b in zip(n, loss)),
    t,
)
t = grid(202)
n, d, loss = t.points.values()
wide = loss.reshape(5, 4)
add(
    "mappings",
    "JSON from size to tokens to loss",
    "grid.json",
    json.dumps({short(a): {short(b): float(v) for b, v in zip(TOKENS, row)} for a, row in zip(MODELS, wide)}),
    t,
)
add(
    "mappings", "blocks of lines", "summary.txt",
    "\n".join(f"Model: gpt-{k}\nParameters: {short(a)}\nTokens: {short(b)}\nValidation loss: {c:.4f}\n" for k, (a, b, c) in enumerate(zip(n, d, loss))), t,
)
add(
    "mappings",
    "results in a nested document",
    "results.json",
    json.dumps(
        {
            "experiment": "ladder",
            "date": "2025-04-01",
            "model_sizes": [int(a) for a in MODELS],
            "token_counts": [int(b) for b in TOKENS],
            "note": "see wiki",
            "runs": [
                {
                    "size": int(a),
                    "tokens": int(b),
                    "metrics": {"val": {"loss": float(c), "ppl": float(np.exp(c))}},
                }
                for a, b, c in zip(n, d, loss)
            ],
        }
    ),
    t,
)

# --- encodings ------------------------------------------------------------------------------------------

add(
    "encodings",
    "Latin-1",
    "größen.csv",
    csv(
        [
            ["Modellgröße", "Token", "Verlust"],
            *([int(a), int(b), str(c).replace(".", ",")] for a, b, c in zip(n, d, loss)),
        ],
        ";",
    ).encode("latin-1"),
    t,
)
add(
    "encodings",
    "UTF-16 of Excel",
    "unicode.txt",
    csv(
        [
            ["Parameters", "Tokens", "Val loss"],
            *([f'"{int(a):,}"', f'"{int(b):,}"', c] for a, b, c in zip(n, d, loss)),
        ],
        "\t",
    )
    .replace("\n", "\r\n")
    .encode("utf-16"),
    t,
)
add(
    "encodings",
    "a mark, returns and last commas",
    "export.csv",
    (
        "\ufeff"
        + csv(
            [["Params", "Tokens", "Eval Loss", ""], *([int(a), int(b), c, ""] for a, b, c in zip(n, d, loss))]
        )
    )
    .replace("\n", "\r\n")
    .encode(),
    t,
)
add(
    "encodings",
    "packed",
    "runs.csv.gz",
    gzip.compress(
        csv(
            [["n_params", "n_tokens", "loss"], *([int(a), int(b), c] for a, b, c in zip(n, d, loss))]
        ).encode()
    ),
    t,
)
file = io.BytesIO()
pd.DataFrame(
    {
        "model_params": pd.array(n.astype(int), dtype="Int64"),
        "train_tokens": d,
        "eval_loss": loss.astype("float32"),
        "arch": pd.Categorical(["gpt"] * len(n)),
    }
).to_parquet(file)
add("encodings", "Parquet of pandas", "runs.parquet", file.getvalue(), t)
add(
    "encodings",
    "a page with breaks in its names",
    "page.htm",
    "<TABLE border=1><TR><TD><B>Model<BR>size</B></TD><TD><B>Training<br/>tokens</B></TD><TD><B>Val<br>loss</B></TD></TR>"
    + "".join(
        f"<TR><TD>{short(a)}</TD><TD>{short(b)}</TD><TD>{c:.4f}</TD></TR>\n" for a, b, c in zip(n, d, loss)
    )
    + "</TABLE>",
    t,
)
add(
    "encodings",
    "copied from a PDF",
    "table3.txt",
    "Table 3: Final validation loss.\nParams Tokens Loss\n"
    + "".join(f"{short(a)} {short(b)} {c:.4f}\n" for a, b, c in zip(n, d, loss)),
    t,
)
add(
    "encodings", "a model card", "README.md",
    "---\nlicense: mit\ntags:\n- lm\n---\n\n# Ladder\n\n| Model | Layers | Parameters | Tokens | Loss |\n|:--|--:|--:|--:|--:|\n" + "".join(f"| ladder-{k} | {6 + k} | {a / 1e6:,.0f}M | {b / 1e9:g}B | {c:.4f} |\n" for k, (a, b, c) in enumerate(zip(n, d, loss))) + "\n## Use\n\n```python\nx = 1\n```\n", t,
)

# --- columns --------------------------------------------------------------------------------------------

t = sizes(203)
n, loss = t.points.values()
add(
    "columns",
    "ends of intervals",
    "ci.csv",
    csv(
        [
            ["params", "loss", "loss_lo", "loss_hi", "rank", "delta_vs_baseline"],
            *(
                [int(a), b, round(b - 0.02, 4), round(b + 0.02, 4), 10 - k, round(b - loss[0], 4)]
                for k, (a, b) in enumerate(zip(n, loss))
            ),
        ]
    ),
    t,
)
add(
    "columns",
    "two texts to test on",
    "ppl.tsv",
    csv(
        [
            ["Model", "Params (B)", "WikiText PPL", "C4 PPL"],
            *(
                [f"m{k}", f"{a / 1e9:g}", f"{np.exp(b):.3f}", f"{np.exp(b + 0.3):.3f}"]
                for k, (a, b) in enumerate(zip(n, loss))
            ),
        ],
        "\t",
    ),
    None,
    ("WikiText PPL", "C4 PPL"),
)
add(
    "columns",
    "two sets in rows",
    "evals.jsonl",
    "".join(
        json.dumps(
            {
                "model": f"EleutherAI/pythia-{short(a).lower()}",
                "dataset": s,
                "split": "test",
                "nll": round(float(b) + x, 4),
            }
        )
        + "\n"
        for a, b in zip(n, loss)
        for s, x in (("pile", 0.0), ("books", 0.4))
    ),
    None,
    ("dataset", "books"),
)
add(
    "columns",
    "bf16 and fp8",
    "precision.csv",
    csv(
        [
            ["n_params", "precision", "val_loss"],
            *(
                [int(a), p, round(float(b) + x, 4)]
                for a, b in zip(n, loss)
                for p, x in (("bf16", 0.0), ("fp8", 0.15))
            ),
        ]
    ),
    None,
    ("precision", "fp8"),
)
add(
    "columns",
    "runs of the MLflow client",
    "search_runs.csv",
    csv(
        [
            [
                "run_id",
                "experiment_id",
                "status",
                "artifact_uri",
                "start_time",
                "metrics.val_loss",
                "metrics.train_loss",
                "params.n_params",
                "params.lr",
                "tags.mlflow.user",
            ],
            *(
                [
                    f"{k:032x}",
                    4,
                    "FINISHED",
                    f"s3://x/{k}",
                    f"2025-03-0{k % 9 + 1} 12:00:01+00:00",
                    b,
                    round(b - 0.05, 4),
                    int(a),
                    0.0003,
                    "lee",
                ]
                for k, (a, b) in enumerate(zip(n, loss))
            ),
        ]
    ),
    t,
)
c, best = budgets(204).points.values()
opt_n, opt_d = (np.array([float(f"{v:.4g}") for v in k * (c / 120) ** 0.5]) for k in (1, 20))
along = Truth({"n_params": opt_n, "n_data": opt_d, "test_loss": best}, float(by_compute(100 * c.max())))
add(
    "columns",
    "the best of each budget",
    "frontier.csv",
    csv(
        [
            ["FLOPs", "N_opt", "D_opt", "L_min"],
            *([f"{a:.6e}", f"{n:.4g}", f"{d:.4g}", b] for a, n, d, b in zip(c, opt_n, opt_d, best)),
        ]
    ),
    along,
)

# --- fields ---------------------------------------------------------------------------------------------

e = (t := images(205)).points["test_error"].reshape(7, 3)
add(
    "fields",
    "seeds in one cell",
    "three.csv",
    csv(
        [
            ["train set size", "test error (3 seeds)"],
            *([int(a), '"' + ", ".join(f"{v:.4f}" for v in r) + '"'] for a, r in zip(EXAMPLES, e)),
        ]
    ),
    t,
)
one = Truth({"n_data": EXAMPLES, "test_error": e[:, 0]}, t.ten_times)
as_loss = Truth({"n_data": EXAMPLES, "test_loss": e[:, 0]}, t.ten_times)
add("fields", "percent cells of Excel", "acc.xlsx", book([["Images", "Accuracy"], *([int(a), float(1 - v)] for a, v in zip(EXAMPLES, e[:, 0]))]), one)
add(
    "fields",
    "pretraining beside a fixed fine-tuning",
    "transfer.csv",
    csv(
        [
            ["pretrain_images", "finetune_images", "downstream_acc"],
            *([int(a), 5000, f"{100 * (1 - v):.2f}"] for a, v in zip(EXAMPLES, e[:, 0])),
        ]
    ),
    one,
)
add(
    "fields",
    "forces of atoms",
    "mlip.csv",
    csv(
        [
            ["configs", "force RMSE (meV/Å)", "train time [h]"],
            *([int(a), v, round(a / 1000, 1)] for a, v in zip(EXAMPLES, e[:, 0])),
        ]
    ),
    as_loss,
)
add("fields", "years of weather", "rmse_z500.csv", csv([["years of training data", "Z500 RMSE"], *([k, round(float(v), 4)] for k, v in zip((1, 2, 4, 8, 16, 32), 90 + 400 * np.array([1, 2, 4, 8, 16, 32.0]) ** -0.6))]),
            Truth({"n_data": np.array([1, 2, 4, 8, 16, 32.0]), "test_loss": np.round(90 + 400 * np.array([1, 2, 4, 8, 16, 32.0]) ** -0.6, 4)}, float(90 + 400 * 320**-0.6)))
hours = np.array([8.0, 32.0, 128.0, 512.0, 2048.0, 8192.0])
spent = noisy(1.9 + 3.0 * hours**-0.3, 0.002, 206, 4)
add(
    "fields",
    "GPU hours alone",
    "gpu.csv",
    csv([["A100-hours", "val loss"], *([f"{a:g}", b] for a, b in zip(hours, spent))]),
    Truth({"compute": hours, "test_loss": spent}, float(1.9 + 3.0 * 81920**-0.3)),
)
m = PYTHIA[2:8]
final = noisy(by_size(m), 0.003, 207, 4)
t = Truth({"n_params": m, "test_loss": final}, float(by_size(10 * m.max())))
folder(
    "fields",
    "one output a job",
    {
        f"logs/gpt_{short(a)}_seed0.out": f"Starting on node{k}\nepoch 1 done\nepoch 2 done\nFinal validation loss: {b:.4f}\n"
        for k, (a, b) in enumerate(zip(m, final))
    },
    t,
)
add(
    "fields",
    "approximate sizes",
    "vlm.csv",
    csv(
        [
            ["backbone", "approx. size", "caption loss"],
            *([f"v{k}", f"~{short(a)}", b] for k, (a, b) in enumerate(zip(m, final))),
        ]
    ),
    t,
)
