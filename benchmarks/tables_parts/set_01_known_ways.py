"""Tables in the ways in which people are known to write them."""

import json

import numpy as np
import pandas as pd

from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder
LM = grid()
N, D, LOSS = LM.points.values()
VISION = images()
IMAGES, ERROR = VISION.points.values()
FAMILY = sizes()
FAMILY_LOSS = FAMILY.points["test_loss"]
ACCURACY = 1 - ERROR

def lm(n: object, d: object, loss: object, names: tuple[str, str, str] = ("params", "tokens", "val_loss")) -> str:
    return csv(pd.DataFrame(dict(zip(names, (n, d, loss)))))

# --- numbers as they are written -----------------------------------------------------------------

add("numbers", "plain", "runs.csv", lm(N, D, LOSS), LM)
add(
    "numbers",
    "semicolons, decimal comma",
    "runs.csv",
    csv(table(LM, n_params="Parameter", n_data="Tokens", test_loss="Val loss"), separator=";", decimal=","),
    LM,
)
add(
    "numbers",
    "European thousands",
    "runs.csv",
    "Parameters;Tokens;Validation loss\n"
    + "".join(
        f"{n:,.0f};{d:,.0f};".replace(",", ".") + f"{y:.4f}\n".replace(".", ",")
        for n, d, y in zip(N, D, LOSS)
    ),
    LM,
)
add("numbers", "thousands, tabs", "runs.tsv", "params\ttokens\teval_loss\n" + "".join(f"{n:,.0f}\t{d:,.0f}\t{y}\n" for n, d, y in zip(N, D, LOSS)), LM)
add("numbers", "thousands, quoted", "runs.csv", "params,tokens,loss\n" + "".join(f'"{n:,.0f}","{d:,.0f}",{y}\n' for n, d, y in zip(N, D, LOSS)), LM)
add(
    "numbers",
    "Swiss thousands",
    "runs.csv",
    "params;tokens;loss\n"
    + "".join(f"{n:,.0f};{d:,.0f};".replace(",", "'") + f"{y}\n" for n, d, y in zip(N, D, LOSS)),
    LM,
)
add("numbers", "suffixes", "runs.csv", lm([*map(short, N)], [*map(short, D)], LOSS), LM)
add("numbers", "units in cells", "runs.csv", lm([f"{short(n)} params" for n in N], [f"{short(d)} tokens" for d in D], LOSS), LM)
add(
    "numbers",
    "spelt units in cells",
    "runs.csv",
    lm(
        [f"{n / 1e6:g} million" for n in N],
        [f"{d / 1e9:g} billion tokens" for d in D],
        LOSS,
        ("Model size", "Training data", "Eval loss"),
    ),
    LM,
)
add(
    "numbers",
    "mixed units in one column",
    "runs.csv",
    lm(
        [short(n) if i % 3 else f"{n:.3g}" for i, n in enumerate(N)],
        [f"{d / 1e9:g} B" if i % 2 else f"{d:.0f}" for i, d in enumerate(D)],
        LOSS,
    ),
    LM,
)
add("numbers", "scientific", "runs.csv", lm([f"{n:.3e}" for n in N], [f"{d:.1e}" for d in D], LOSS), LM)
add(
    "numbers",
    "powers of ten",
    "runs.csv",
    lm(
        [f"{n / 10 ** int(np.log10(n)):g}×10^{int(np.log10(n))}" for n in N],
        [f"{d / 10 ** int(np.log10(d)):g}x10^{int(np.log10(d))}" for d in D],
        LOSS,
    ),
    LM,
)
add("numbers", "about", "runs.csv", lm([f"~{short(n)}" for n in N], [f"≈{short(d)}" for d in D], LOSS), LM)
add("numbers", "plus-minus", "runs.csv", lm(N, D, [f"{y:.4f} ± 0.02" for y in LOSS]), LM)
add("numbers", "error in brackets", "runs.csv", lm(N, D, [f"{y:.4f} (0.02)" for y in LOSS]), LM)
add("numbers", "+/-", "runs.csv", lm(N, D, [f"{y:.4f}+/-0.02" for y in LOSS]), LM)
add("numbers", "error of last digits", "runs.csv", lm(N, D, [f"{y:.4f}(21)" for y in LOSS]), LM)
add("numbers", "units in names", "runs.csv", lm(N / 1e6, D / 1e9, LOSS, ("Params (M)", "Tokens [B]", "Loss (nats/token)")), LM)
add("numbers", "units after names", "runs.csv", lm(N / 1e6, D / 1e9, LOSS, ("Model size, M params", "Data, B tokens", "Validation loss")), LM)
add("numbers", "number signs", "runs.csv", lm(N, D, LOSS, ("# params", "# tokens", "val. loss")), LM)
add("numbers", "logarithms", "runs.csv", lm(np.log10(N).round(6), np.log10(D).round(6), LOSS, ("log10_params", "log10_tokens", "val_loss")), LM)
add("numbers", "logarithms in brackets", "runs.csv", lm(np.log10(N).round(6), np.log10(D).round(6), LOSS, ("log10(N)", "log10(D)", "L")), LM)
add(
    "numbers",
    "diverged among losses",
    "runs.csv",
    lm(
        N,
        D,
        [["diverged", "n/a", "OOM", "-"][i // 6] if i in (1, 7, 12, 18) else y for i, y in enumerate(LOSS)],
    ),
    LM.rows(~np.isin(np.arange(20), [1, 7, 12, 18])),
)
add(
    "numbers",
    "words among losses",
    "runs.csv",
    lm(N, D, [{3: "TBD", 8: "crashed", 14: "killed (OOM)"}.get(i, y) for i, y in enumerate(LOSS)]),
    LM.rows(~np.isin(np.arange(20), [3, 8, 14])),
)

# --- percent, accuracies, errors -------------------------------------------------------------------

def vision(name: str, values: object, size: str = "n_train") -> str:
    return csv(pd.DataFrame({size: IMAGES.astype(int), "seed": np.tile([0, 1, 2], 7), name: values}))

add("percent", "acc (%) with signs", "v.csv", vision("acc (%)", [f"{100 * a:.2f}%" for a in ACCURACY]), VISION)
add("percent", "acc (%)", "v.csv", vision("acc (%)", (100 * ACCURACY).round(2)), VISION)
add("percent", "acc with signs", "v.csv", vision("acc", [f"{100 * a:.2f} %" for a in ACCURACY]), VISION)
add("percent", "val_acc as a fraction", "v.csv", vision("val_acc", ACCURACY), VISION)
add("percent", "Top-1 acc, Train images", "v.csv", vision("Top-1 acc", (100 * ACCURACY).round(2), "Train images"), VISION)
add("percent", "top1 error rate", "v.csv", vision("Top-1 error rate (%)", (100 * ERROR).round(2), "# training images"), VISION)
add("percent", "misclassification", "v.csv", vision("misclassification rate", ERROR, "training set size"), VISION)
add("percent", "accuracy_pct", "v.csv", vision("test_accuracy_pct", (100 * ACCURACY).round(2), "num_train_samples"), VISION)
add("percent", "plus-minus", "v.csv", vision("Test error", [f"{100 * e:.2f}% ± 0.3%" for e in ERROR]), VISION)
add(
    "percent",
    "constant error beside a falling loss",
    "v.csv",
    csv(
        pd.DataFrame(
            {
                "n_train": IMAGES.astype(int),
                "seed": np.tile([0, 1, 2], 7),
                "test_error": 0.9,
                "test_loss": (10 * ERROR).round(3),
            }
        )
    ),
    Truth({"n_data": IMAGES, "test_loss": (10 * ERROR).round(3)}, 10 * VISION.ten_times),
)

# --- where the names stand -------------------------------------------------------------------------

add("titles", "title lines in CSV", "runs.csv", "Scaling sweep, May 2024,,\ncluster A,,\n,,\n" + lm(N, D, LOSS), LM)
add("titles", "title without separators", "runs.csv", "Results of May\n\n" + lm(N, D, LOSS), LM)
add(
    "titles",
    "title and a date in Excel",
    "runs.xlsx",
    book(
        [["Scaling sweep"], ["2024-05-01"], [], ["params", "tokens", "val_loss"], *map(list, zip(N, D, LOSS))]
    ),
    LM,
)
add(
    "titles",
    "Excel, table begins in column B",
    "runs.xlsx",
    book(
        [
            [None, "Scaling sweep"],
            [],
            [None, "params", "tokens", "val_loss"],
            *([None, *row] for row in zip(N, D, LOSS)),
        ]
    ),
    LM,
)
add(
    "titles",
    "two rows of names in Excel",
    "runs.xlsx",
    book(
        [
            ["model", None, "eval", None],
            ["params", "tokens", "loss", "accuracy"],
            *([n, d, y, 0.3] for n, d, y in zip(N, D, LOSS)),
        ]
    ),
    LM,
)
add("titles", "two rows of names in CSV", "runs.csv", "model,,eval\nparams,tokens,loss\n" + lm(N, D, LOSS).partition("\n")[2], LM)
add("titles", "a row of units", "runs.csv", "params,tokens,val_loss\nmillions,billions,nats\n" + lm(N / 1e6, D / 1e9, LOSS).partition("\n")[2], LM)
add(
    "titles",
    "blank rows between groups",
    "runs.csv",
    "params,tokens,val_loss\n"
    + "\n,,\n".join(
        "\n".join(f"{n:.0f},{d:.0f},{y}" for n, d, y in list(zip(N, D, LOSS))[i : i + 4])
        for i in range(0, 20, 4)
    )
    + "\n",
    LM,
)
add(
    "titles",
    "sizes written once a group",
    "runs.csv",
    "params,tokens,val_loss\n"
    + "".join(
        f"{short(n) if i % 4 == 0 else ''},{short(d)},{y}\n" for i, (n, d, y) in enumerate(zip(N, D, LOSS))
    ),
    LM,
)
add("titles", "footnotes", "runs.csv", lm(N, D, LOSS) + "\n* trained on 64 GPUs\nSource: sweep of May\n", LM)
add("titles", "footnotes in Excel", "runs.xlsx", book([["params", "tokens", "val_loss"], *map(list, zip(N, D, LOSS)), [], ["* loss in nats per token"]]), LM)
add(
    "titles",
    "a second sheet of notes",
    "runs.xlsx",
    book(
        [["params", "tokens", "val_loss"], *map(list, zip(N, D, LOSS))],
        Notes=[["made by", "A"], ["checked by", "B"]],
    ),
    LM,
)
add("titles", "names repeated in the middle", "runs.csv", lm(N[:8], D[:8], LOSS[:8]) + lm(N[8:], D[8:], LOSS[8:]), LM)

# --- wide tables -----------------------------------------------------------------------------------

WIDE = pd.DataFrame(LOSS.reshape(5, 4), index=[*map(short, MODELS)], columns=[*map(short, TOKENS)])
SEEDS = pd.DataFrame(ERROR.reshape(7, 3), index=EXAMPLES.astype(int))
add("wide", "models as columns", "runs.csv", WIDE.T.to_csv(index_label="tokens"), LM)
add("wide", "tokens as columns", "runs.csv", WIDE.to_csv(index_label="params"), LM)
add("wide", "tokens as columns, with units", "runs.csv", WIDE.add_suffix(" tokens").to_csv(index_label="model"), LM)
add("wide", "models as columns, with a word", "runs.csv", WIDE.T.add_prefix("loss_").to_csv(index_label="tokens"), LM)
add("wide", "both sizes in the corner", "runs.csv", WIDE.to_csv(index_label="N \\ D"), LM)
add("wide", "seeds as columns", "v.csv", SEEDS.set_axis(["seed0", "seed1", "seed2"], axis=1).to_csv(index_label="n_train"), VISION)
add("wide", "seeds as numbered runs", "v.csv", SEEDS.set_axis(["run 1", "run 2", "run 3"], axis=1).to_csv(index_label="training images"), VISION)
add(
    "wide",
    "seeds as columns of a measurement",
    "v.csv",
    SEEDS.set_axis(["test_err_s0", "test_err_s1", "test_err_s2"], axis=1).to_csv(index_label="train_size"),
    VISION,
)
add("wide", "seeds as rows, sizes as columns", "v.csv", SEEDS.T.to_csv(index_label="seed"), None, ("n_params", "n_data"))
add("wide", "seeds as rows, named sizes as columns", "v.csv", SEEDS.T.rename(columns=lambda n: f"n_train={n}").to_csv(index_label="seed"), VISION)
add(
    "wide",
    "means and spreads",
    "v.csv",
    csv(pd.DataFrame({"n_train": EXAMPLES.astype(int), "err_mean": ERROR[::3], "err_std": 0.01})),
    Truth({"n_data": EXAMPLES, "test_error": ERROR[::3]}, VISION.ten_times),
)
add(
    "wide",
    "attributes as rows",
    "runs.csv",
    "\n".join(
        ",".join([name, *map(str, values)])
        for name, values in {"Params": [*map(short, PYTHIA)], "Val loss": FAMILY_LOSS}.items()
    )
    + "\n",
    FAMILY,
)
add(
    "wide",
    "measurement and value",
    "runs.csv",
    csv(
        pd.concat(
            [
                pd.DataFrame({"params": N, "tokens": D, "metric": "val_loss", "value": LOSS}),
                pd.DataFrame({"params": N, "tokens": D, "metric": "train_loss", "value": LOSS - 0.1}),
            ]
        )
    ),
    LM,
)

# --- other formats ---------------------------------------------------------------------------------

RECORDS = [
    {"config": {"model": {"n_params": n}, "data": {"tokens": d}}, "summary": {"eval": {"loss": y}}}
    for n, d, y in zip(N.tolist(), D.tolist(), LOSS.tolist())
]
MARKDOWN = "| Params | Tokens | Val loss |\n| ---: | ---: | :--- |\n" + "".join(f"| {short(n)} | {short(d)} | {y} |\n" for n, d, y in zip(N, D, LOSS))
add("formats", "Markdown", "runs.md", MARKDOWN, LM)
add("formats", "Markdown within a page", "results.md", "# Results\n\nAll runs of May.\n\n" + MARKDOWN.replace("| 19M", "| **19M**") + "\nMore soon.\n", LM)
add("formats", "bars in a text file", "runs.txt", MARKDOWN, LM)
add("formats", "YAML records", "runs.yaml", "".join(f"- params: {n:.0f}\n  tokens: {d:.0f}\n  val_loss: {y}\n" for n, d, y in zip(N, D, LOSS)), LM)
add(
    "formats",
    "YAML under a key",
    "runs.yml",
    "sweep: may\nruns:\n"
    + "".join(
        f"  - {{name: r{i}, params: {short(n)}, tokens: {short(d)}, val_loss: {y}}}\n"
        for i, (n, d, y) in enumerate(zip(N, D, LOSS))
    ),
    LM,
)
add("formats", "nested JSON", "runs.json", json.dumps(RECORDS), LM)
add("formats", "nested JSON lines", "runs.jsonl", "\n".join(map(json.dumps, RECORDS)), LM)
add("formats", "JSON of columns", "runs.json", json.dumps({"params": N.tolist(), "tokens": D.tolist(), "val_loss": LOSS.tolist()}), LM)
add("formats", "JSON by the run's name", "runs.json", json.dumps({f"run-{i}": row for i, row in enumerate(RECORDS)}), LM)
add("formats", "JSON of results under a key", "runs.json", json.dumps({"meta": {"by": "A", "seed": 1}, "results": RECORDS}), LM)
add(
    "formats",
    "LaTeX",
    "runs.tex",
    "\\begin{tabular}{lrr}\n\\toprule\nParams & Tokens & Val.\\ loss \\\\\n\\midrule\n"
    + "".join(f"{short(n)} & {short(d)} & ${y}$ \\\\\n" for n, d, y in zip(N, D, LOSS))
    + "\\bottomrule\n\\end{tabular}\n",
    LM,
)
add(
    "formats",
    "HTML",
    "runs.html",
    "<html><body><h1>Runs</h1>"
    + table(LM, n_params="params", n_data="tokens", test_loss="val_loss").to_html(index=False)
    + "</body></html>",
    LM,
)
add("formats", "aligned by spaces", "runs.txt", table(LM, n_params="params", n_data="tokens", test_loss="val_loss").to_string(), LM)

# --- exports ---------------------------------------------------------------------------------------

add(
    "exports",
    "W&B list of runs",
    "wandb_export.csv",
    csv(
        pd.DataFrame(
            {
                "Name": [f"run-{i}" for i in range(20)],
                "State": "finished",
                "Notes": "-",
                "User": "a",
                "Tags": "",
                "Created": "2024-05-01T10:00:00.000Z",
                "Runtime": 3600,
                "Sweep": "",
                "model.num_parameters": N,
                "train/tokens_seen": D,
                "train/loss": LOSS - 0.2,
                "eval/loss": LOSS,
            }
        )
    ),
    LM,
)
STEPS = np.arange(100, 1001, 100)
LAST = {n: y + 2 * (STEPS[::-1] - 100) / 1000 for n, y in zip(PYTHIA, FAMILY_LOSS)}
add(
    "exports",
    "W&B chart",
    "wandb_chart.csv",
    csv(
        pd.DataFrame(
            {"Step": STEPS}
            | {
                f"pythia-{short(n)} - eval/loss{end}": LAST[n]
                for n in PYTHIA
                for end in ("", "__MIN", "__MAX")
            }
        )
    ),
    FAMILY,
)
add(
    "exports",
    "MLflow",
    "mlflow.csv",
    csv(
        pd.DataFrame(
            {
                "run_id": [f"{i:032x}" for i in range(20)],
                "experiment_id": 1,
                "status": "FINISHED",
                "artifact_uri": [f"s3://a/{i}" for i in range(20)],
                "start_time": "2024-05-01 10:00:00",
                "params.n_params": N.astype(int),
                "params.train_tokens": D.astype(int),
                "metrics.val_loss": LOSS,
                "tags.mlflow.user": "a",
            }
        )
    ),
    LM,
)
folder(
    "exports",
    "TensorBoard CSV, a file a run",
    {
        f"pythia-{short(n)}.csv": csv(
            pd.DataFrame({"Wall time": 1.7e9 + STEPS, "Step": STEPS, "Value": LAST[n]})
        )
        for n in PYTHIA
    },
    Truth({"n_params": PYTHIA, "loss": FAMILY_LOSS}, FAMILY.ten_times),
)
add(
    "exports",
    "index, times, machines",
    "runs.csv",
    table(LM, n_params="params", n_data="tokens", test_loss="val_loss")
    .assign(
        started=[f"2024-05-{1 + i:02} 10:00" for i in range(20)],
        host=[f"node{i % 7}" for i in range(20)],
        gpu_hours=(N * D / 1e16).round(2),
        commit=[f"{i * 7919:07x}" for i in range(20)],
        peak_memory_gb=(N / 1e8 + 3).round(1),
    )
    .to_csv(),
    LM,
)

# --- names -----------------------------------------------------------------------------------------

FAMILY_NAMES = [f"Pythia-{short(n)}" for n in PYTHIA]
add("names", "sizes in the models' names", "runs.csv", csv(pd.DataFrame({"model": FAMILY_NAMES, "loss": FAMILY_LOSS})), FAMILY)
add(
    "names",
    "sizes in the models' names, with tokens",
    "runs.csv",
    csv(
        pd.DataFrame(
            {
                "Model": [f"gpt-{short(n).lower()}-deduped" for n in N],
                "Tokens": [*map(short, D)],
                "Eval loss": LOSS,
            }
        )
    ),
    LM,
)
for names in (
    ("dense_parameter_count", "tokens_seen", "eval/loss"), ("N_active", "D", "L"),
    ("n_params_total", "n_tokens_trained", "heldout_nll"),
    ("Non-embedding params", "Training tokens", "C4 loss"),
    ("model_parameters", "consumed_train_tokens", "lm loss validation"),
    ("backbone params", "total training tokens", "test cross-entropy"),
    ("parameters_count", "train_tokens_total", "validation/loss"),
    ("num_model_params", "dataset_tokens", "final_val_loss"),
    ("model_size_params", "tok", "valid_xent"), ("N", "D", "val CE"),
    ("sizeOfModel", "trainTokens", "evalLoss"), ("param #", "token count", "loss@end"),
):
    add("names", ", ".join(names), "runs.csv", lm(N, D, LOSS, names), LM)
add(
    "names",
    "nats beside bits and perplexity",
    "runs.csv",
    csv(
        pd.DataFrame(
            {
                "params": N,
                "tokens": D,
                "val_bpb": (LOSS * 0.33).round(4),
                "val_ppl": np.exp(LOSS).round(3),
                "val_loss": LOSS,
            }
        )
    ),
    LM,
)
add(
    "names",
    "nats and bits in brackets",
    "runs.csv",
    csv(
        pd.DataFrame(
            {
                "params": N,
                "tokens": D,
                "loss (bits/token)": (LOSS / np.log(2)).round(4),
                "loss (nats/token)": LOSS,
            }
        )
    ),
    LM,
)
add("names", "bits per byte alone", "runs.csv", lm(N, D, (LOSS * 0.33).round(5), ("params", "tokens", "bpb")), LM.times(0.33))
add("names", "bits per token alone", "runs.csv", lm(N, D, (LOSS / np.log(2)).round(5), ("params", "tokens", "loss (bits per token)")), LM.times(1 / np.log(2)))
add("names", "perplexity alone", "runs.csv", lm(N, D, np.exp(LOSS).round(4), ("params", "tokens", "WikiText-103 ppl")), LM)
add(
    "names",
    "total beside non-embedding",
    "runs.csv",
    csv(
        pd.DataFrame(
            {"total_params": N, "non_embedding_params": (N * 0.6).round(), "tokens": D, "val_loss": LOSS}
        )
    ),
    LM,
)
add(
    "names",
    "active beside total",
    "runs.csv",
    csv(
        pd.DataFrame(
            {
                "active_params": N,
                "total_params": N * np.tile([4, 8, 16, 32], 5),
                "tokens": D,
                "val_loss": LOSS,
            }
        )
    ),
    None,
    ("active_params", "total_params"),
)
add("names", "FLOPs alone", "runs.csv", csv(table(budgets(), compute="Training FLOPs", test_loss="Test loss")), budgets())
add(
    "names",
    "petaflop/s-days",
    "runs.csv",
    csv(
        pd.DataFrame(
            {"PF-days": budgets().points["compute"] / 8.64e19, "Test loss": budgets().points["test_loss"]}
        )
    ),
    budgets(),
)

# --- rows of several kinds -------------------------------------------------------------------------

WORSE = noisy(1.08 * language(N, D), 0.003, 1, 4)

def twice(column: str, values: tuple[str, str], second: np.ndarray, **names: str) -> str:
    both = [table(LM, n_params="params", n_data="tokens", test_loss="val_loss").assign(**{column: values[0]}),
            table(LM, n_params="params", n_data="tokens").assign(test_loss=second, **{column: values[1]})
            .rename(columns={"test_loss": "val_loss"})]
    return csv(pd.concat(both).rename(columns=names))

for column, values in (
    ("eval set", ("c4", "wikitext")),
    ("recipe", ("baseline", "new")),
    ("tokenizer", ("bpe", "unigram")),
    ("variant", ("A", "B")),
    ("optimizer", ("adamw", "sgd")),
    ("attn", ("mha", "gqa")),
):
    add("categories", column, "runs.csv", twice(column, values, WORSE), None, (column, values[0], values[1]))
add("categories", "version as a number", "runs.csv", twice("version", ("1", "2"), WORSE), None, ("version", "1", "2"))
ALIKE = noisy(language(N, D), 0.003, 2, 4)
add(
    "categories",
    "a column that does not matter",
    "runs.csv",
    twice("cluster", ("east", "west"), ALIKE),
    Truth(
        {"n_params": np.tile(N, 2), "n_data": np.tile(D, 2), "test_loss": np.concatenate([LOSS, ALIKE])},
        LM.ten_times,
    ),
)
SECOND = noisy(image_error(EXAMPLES), 0.02, 5, 4)
add(
    "categories",
    "two networks on images",
    "v.csv",
    csv(
        pd.DataFrame(
            {
                "backbone": ["cnn"] * 7 + ["vit"] * 7,
                "images": np.tile(EXAMPLES, 2).astype(int),
                "test error": np.concatenate([SECOND, (1.6 * SECOND).round(4)]),
            }
        )
    ),
    None,
    ("backbone", "cnn", "vit"),
)
add(
    "categories",
    "splits as rows",
    "v.csv",
    csv(
        pd.DataFrame(
            {
                "split": ["train"] * 7 + ["test"] * 7,
                "n_train": np.tile(EXAMPLES, 2).astype(int),
                "error": np.concatenate([(SECOND / 3).round(4), SECOND]),
            }
        )
    ),
    Truth({"n_data": EXAMPLES, "test_error": SECOND}, VISION.ten_times),
)
add("categories", "rows twice", "runs.csv", lm(N, D, LOSS) + lm(N, D, LOSS).partition("\n")[2], LM)
add(
    "categories",
    "crashed runs",
    "runs.csv",
    csv(
        table(LM, n_params="params", n_data="tokens", test_loss="val_loss")
        .assign(status=["crashed" if i in (4, 9) else "finished" for i in range(20)])
        .assign(val_loss=[np.nan if i in (4, 9) else y for i, y in enumerate(LOSS)])
    ),
    LM.rows(~np.isin(np.arange(20), [4, 9])),
)
