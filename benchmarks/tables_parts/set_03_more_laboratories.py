"""More tables, written after the others were read right, to see how the next ones fare."""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
LM, VISION, FAMILY = grid(21), images(21), sizes(21)
N, D, LOSS = LM.points.values()
IMAGES, ERROR = VISION.points.values()
FAMILY_LOSS = FAMILY.points["test_loss"]
BUDGETS = budgets(21)
C, C_LOSS = BUDGETS.points.values()
MEANS = ERROR.reshape(7, 3).mean(axis=1).round(4)
OF_MEANS = Truth({"n_data": EXAMPLES, "test_error": MEANS}, VISION.ten_times)

kind = "files"
add(kind, "key=value lines", "sweep.log", "\n".join(f"N={n:.3g} D={d:.3g} loss={y}" for n, d, y in zip(N, D, LOSS)) + "\n", LM)
add(
    kind,
    "key: value lines in a text file",
    "sweep.txt",
    "\n".join(f"params: {short(n)}, tokens: {short(d)}, val_loss: {y}" for n, d, y in zip(N, D, LOSS)) + "\n",
    LM,
)
add(
    kind,
    "byte order mark, semicolons",
    "export.csv",
    (
        "\ufeffParams;Tokens;Val-Loss\n" + "".join(f"{n:.0f};{d:.0f};{y}\n" for n, d, y in zip(N, D, LOSS))
    ).encode(),
    LM,
)
add(
    kind,
    "line breaks in names",
    "wrapped.csv",
    '"Params\n(M)","Tokens\n(B)","Val\nloss"\n'
    + "".join(f"{n / 1e6:g},{d / 1e9:g},{y}\n" for n, d, y in zip(N, D, LOSS)),
    LM,
)
add(kind, "groups above names in Excel", "runs.xlsx", book(
    [["Run", "Model", None, "Training", None, "Eval", None], [None, "Name", "Params (M)", "Tokens (B)", "Hours", "Loss", "Acc"],
     *[[i, f"m{i}", n / 1e6, d / 1e9, 3.5, y, 0.4] for i, (n, d, y) in enumerate(zip(N, D, LOSS))]]), LM)
add(kind, "two tables below one another", "both.csv", "params,val_loss\n" + "".join(f"{n:.0f},{y}\n" for n, y in zip(PYTHIA, FAMILY_LOSS)) + "\nn_train,test_error\n" + "".join(f"{n:.0f},{y}\n" for n, y in zip(EXAMPLES, MEANS)),
    None, ("n_train",))
add(kind, "a mean in the last row", "mean.csv", csv(pd.DataFrame({"params": N, "tokens": D, "val_loss": LOSS})) + f"mean,,{LOSS.mean():.4f}\n", LM)
add(
    kind,
    "results by size in JSON",
    "by_size.json",
    json.dumps(
        {
            "task": "lm",
            "results": {short(n): {"loss": y, "time": 3} for n, y in zip(PYTHIA, FAMILY_LOSS.tolist())},
        }
    ),
    FAMILY,
)
add(
    kind,
    "metrics as objects in JSON",
    "objects.json",
    json.dumps(
        [
            {"params": n, "tokens": d, "metrics": [{"name": "val_loss", "value": y}]}
            for n, d, y in zip(N.tolist(), D.tolist(), LOSS.tolist())
        ]
    ),
    LM,
)
add(kind, "pandas split", "split.json", pd.DataFrame({"params": N, "tokens": D, "val_loss": LOSS}).to_json(orient="split"), LM)

kind = "numbers"
add(
    kind,
    "marks of footnotes",
    "marks.csv",
    csv(
        pd.DataFrame(
            {
                "Params": [f"{short(n)}*" if i % 7 == 0 else short(n) for i, n in enumerate(N)],
                "Tokens": [*map(short, D)],
                "Loss": [f"{y}†" if i % 9 == 0 else f"{y}" for i, y in enumerate(LOSS)],
            }
        )
    ),
    LM,
)
add(kind, "thousands of millions", "thousands.csv", csv(pd.DataFrame({"Params (M)": [f"{n / 1e6:,.0f}" for n in N], "Tokens (B)": D / 1e9, "Loss": LOSS})), LM)
add(kind, "tokens per parameter", "ratio.csv", csv(pd.DataFrame({"params": N, "tokens_per_param": D / N, "val_loss": LOSS})), LM)
add(
    kind,
    "GPT-style counts",
    "counts.csv",
    csv(
        pd.DataFrame(
            {
                "n_params": [f"{n / 1e9:.3f}e9" for n in N],
                "n_tokens": [f"{d / 1e9:.0f}e9" for d in D],
                "loss": LOSS,
            }
        )
    ),
    LM,
)
add(
    kind,
    "brackets with seeds",
    "seeds.csv",
    csv(
        pd.DataFrame(
            {
                "Train examples": EXAMPLES.astype(int),
                "Error (mean ± std over 3 seeds)": [f"{e:.4f} ± 0.01" for e in MEANS],
            }
        )
    ),
    OF_MEANS,
)
add(
    kind,
    "lower and upper ends",
    "ends.csv",
    csv(
        pd.DataFrame(
            {
                "train_size": EXAMPLES.astype(int),
                "error": MEANS,
                "error_lower": MEANS - 0.01,
                "error_upper": MEANS + 0.01,
            }
        )
    ),
    OF_MEANS,
)

kind = "names"
add(
    kind,
    "as scikit-learn calls them",
    "learning_curve.csv",
    csv(
        pd.DataFrame(
            {
                "train_sizes": EXAMPLES.astype(int),
                "train_scores_mean": 0.99,
                "test_scores_mean": 1 - MEANS,
                "test_scores_std": 0.01,
            }
        )
    ),
    OF_MEANS,
)
add(kind, "as extracted from a paper", "svg.csv", csv(pd.DataFrame({"Model Size": N, "Training Tokens": D, "Training FLOP": 6 * N * D, "loss": LOSS})), LM)
add(kind, "compute and L", "compute.csv", csv(pd.DataFrame({"C (FLOPs)": C, "L": C_LOSS})), BUDGETS)
add(kind, "validation beside test", "valtest.csv", csv(pd.DataFrame({"params": N, "tokens": D, "val_loss": (LOSS * 1.01).round(4), "test_loss": LOSS})), LM)
add(
    kind,
    "GPT-2 family",
    "gpt2.csv",
    csv(
        pd.DataFrame(
            {
                "model": ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "a", "b", "c", "d", "e", "f"],
                "#parameters": [*map(short, PYTHIA)],
                "wikitext ppl": np.exp(FAMILY_LOSS).round(4),
            }
        )
    ),
    FAMILY,
)
add(
    kind,
    "best and last",
    "best.csv",
    csv(
        pd.DataFrame(
            {
                "n_parameters": N,
                "train_tokens": D,
                "best_val_loss": (LOSS - 0.01).round(4),
                "last_val_loss": LOSS,
            }
        )
    ),
    LM,
)
add(
    kind,
    "width beside parameters",
    "width.csv",
    csv(
        pd.DataFrame(
            {
                "hidden_dim": (PYTHIA**0.5).round(),
                "layers": 12,
                "params": PYTHIA,
                "test loss": FAMILY_LOSS,
                "train time (h)": (PYTHIA / 1e9).round(2),
            }
        )
    ),
    FAMILY,
)
add(kind, "capital letters", "CAPS.CSV".lower(), csv(pd.DataFrame({"PARAMETERS": N, "TOKENS": D, "VALIDATION LOSS": LOSS, "NOTES": "OK"})), LM)

kind = "layouts"
add(
    kind,
    "models as columns, steps as rows",
    "steps.csv",
    csv(
        pd.DataFrame(
            {"step": np.arange(1, 9) * 100}
            | {short(n): (y + 0.2 * np.arange(7, -1, -1)).round(4) for n, y in zip(PYTHIA, FAMILY_LOSS)}
        )
    ),
    FAMILY,
)
add(
    kind,
    "seeds beside sizes, in rows",
    "rows.csv",
    "\n".join(
        ",".join(map(str, row))
        for row in [["n_train", *EXAMPLES.astype(int)], *[[f"seed {s}", *ERROR[s::3]] for s in range(3)]]
    )
    + "\n",
    VISION,
)
add(
    kind,
    "two data sets",
    "datasets.csv",
    csv(
        pd.DataFrame(
            {
                "dataset": ["cifar10"] * 7 + ["svhn"] * 7,
                "n_train": np.tile(EXAMPLES, 2).astype(int),
                "test_error": np.concatenate([MEANS, (MEANS / 2).round(4)]),
            }
        )
    ),
    None,
    ("dataset", "cifar10", "svhn"),
)
add(
    kind,
    "sections",
    "sections.csv",
    "params,tokens,val_loss\nBaseline,,\n"
    + csv(pd.DataFrame({"a": N, "b": D, "c": LOSS})).partition("\n")[2]
    + "Ours,,\n"
    + csv(pd.DataFrame({"a": N, "b": D, "c": (0.95 * LOSS).round(4)})).partition("\n")[2],
    None,
    ("Baseline", "Ours"),
)
add(
    kind,
    "learning rates, the best counts",
    "lrs.csv",
    csv(
        pd.concat(
            [
                pd.DataFrame({"params": PYTHIA, "lr": lr, "val_loss": (FAMILY_LOSS + worse).round(4)})
                for lr, worse in ((1e-3, 0.3), (3e-4, 0.0), (1e-4, 0.2))
            ]
        )
    ),
    FAMILY,
)
add(
    kind,
    "grid with sizes in words",
    "words.csv",
    ","
    + ",".join(f"D = {short(d)}" for d in (1e9, 3e9, 10e9, 30e9))
    + "\n"
    + "".join(
        f"N = {short(n)}," + ",".join(map(str, LOSS[4 * i : 4 * i + 4])) + "\n" for i, n in enumerate(MODELS)
    ),
    LM,
)
