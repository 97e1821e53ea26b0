# ruff: noqa: E501  tables as they are written
"""Classes of tables as repositories and tools keep them: the points that are read are those written."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput

N, D, LOSS = (
    [20_000_000, 200_000_000, 20_000_000, 200_000_000],
    [10**9, 10**9, 4 * 10**9, 4 * 10**9],
    [3.9, 3.5, 3.6, 3.2],
)
SIZES, ERRORS = [1000, 2000, 4000, 8000], [0.3, 0.22, 0.16, 0.12]
RUNS = list(zip(N, D, LOSS))


def read(place: Path, files: dict[str, str]) -> sl.Curves:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    return sl.read(place if len(files) > 1 else place / next(iter(files)))


def csv(**columns: object) -> str:
    return str(pd.DataFrame(columns).to_csv(index=False))


LANGUAGE = {
    "nested names": {"wandb.csv": csv(**{"Name": list("abcd"), "parameter_count": N, "throughput/total_tokens": D,
                                         "throughput/total_gflops": [6 * n * d / 1e9 for n, d in zip(N, D)],
                                         "eval/paloma/macro_loss": LOSS})},
    "dictionaries in cells": {"project.csv": csv(
        summary=[str({"val/loss": y}) for y in LOSS], name=list("abcd"),
        config=[str({"n_params": n, "tokens": d}) for n, d in zip(N, D)])},
    "sequences beside tokens": {"best.csv": csv(N=N, D=D, train_samples=[d // 4096 for d in D], loss=LOSS)},
    "steps, batch and length": {"runs.csv": csv(n_params=N, max_steps=[d // 500_000 for d in D], batch_size=500,
                                                seq_len=1000, val_loss=LOSS)},
    "size that varies in names": {"runs.csv": csv(
        Name=[f"bsz1M.model-{n // 10**6}m.{k}" for k, n in enumerate(N)], State="finished", Runtime=9,
        **{"optim/n_tokens": D, "eval/loss": LOSS})},
    "named values": {"runs.json": json.dumps(
        [{"params": n, "tokens": d, "metrics": [{"name": "val_loss", "value": y}]} for n, d, y in RUNS])},
    "Chinese names": {"结果.csv": csv(**{"参数量(M)": [n / 1e6 for n in N], "训练token数(B)": [d / 1e9 for d in D], "验证loss": LOSS})},
    "rows within a nested document": {"study.json": json.dumps(
        {"lr": 0.1, "note": {"fit": {"a": 1.0}}, "recall": {f"run{k}": {"params": n, "tokens_total": d, "history": {
            "val_loss": [9.0, y]}, "final_val_loss": y} for k, (n, d, y) in enumerate(RUNS)}})},
    "pairs in a log": {"train.log": "".join(
        f"2025-01-0{k} 10:00:01 INFO done N={n} D={d} val loss: {y}\n" for k, (n, d, y) in enumerate(RUNS, 1))},
    "settings above results": {"README.md": "| Setting | Value |\n|---|---|\n| lr | 0.1 |\n| steps | 9 |\n\n| Params | Tokens | Val loss ↓ |\n|---|---|---|\n"
                               + "".join(f"| {n} | {d} | {y} |\n" for n, d, y in RUNS)},
    "pairs behind a clock": {"metrics.log": "".join(
        f"2026-01-08T0{k}:00:00Z INFO final model_params={n:,}, train_tokens={d:,}, eval_loss={y}, mfu=0.4\n" for k, (n, d, y) in enumerate(RUNS))},
    "aligned names of several words": {"out.txt": pd.DataFrame(
        {"Parameters": [f"{n:,}" for n in N], "Tokens": [float(d) for d in D], "validation cross-entropy": LOSS}).to_string()},
    "TOML": {"runs.toml": "".join(f"[[run]]\nnonembedding_params = {n:_}\ntokens = {d}\nfinal_eval_loss = {y}\n" for n, d, y in RUNS)},
    "runs that a fit is tested on": {"points.csv": csv(params=N, tokens=D, loss=LOSS, split=["train"] * 3 + ["holdout"])},
    "a title above cells in quotes": {"results.csv": "Sweep of January\n\nparams,GPU hours,tokens [B],train loss,final loss\n" + "".join(
        f'"{n:,}",{10 + k},{d / 1e9:g},{y - 0.1:.2f},{y}\n' for k, (n, d, y) in enumerate(RUNS))},
    "weights": {"runs.csv": csv(**{"# weights (M)": [n / 1e6 for n in N], "tokens": D, "val_loss": LOSS})},
    "objects in a log": {"run.log": "".join(
        f'10:0{k} metrics={{"n_params": {n}, "tokens": {d}, "val_loss": {y}}}\n' for k, (n, d, y) in enumerate(RUNS))},
    "leaders of dots": {"out.txt": "".join(
        f"model params ........ {n:,}\ntokens .............. {d:,}\nval loss ............ {y}\n---\n" for n, d, y in RUNS)},
    "sizes in the name before a result": {"run.out": "".join(
        f"[{k}/4] gpt-{n // 10**6}M-{d / 1e9:g}B ... done. eval_loss: {y}\n" for k, (n, d, y) in enumerate(RUNS, 1))},
    "intervals in brackets": {"ci.csv": csv(params=N, tokens=D, loss=[f"{y} [{y - 0.1:.1f}, {y + 0.1:.1f}]" for y in LOSS])},
    "events of a log": {"events.jsonl": "".join(
        json.dumps({"event": "config", "run": k, "params": n, "train_tokens_total": d}) + "\n"
        + "".join(json.dumps({"event": "eval", "run": k, "step": i, "val_loss": [9.0, y][i]}) + "\n" for i in (0, 1))
        for k, (n, d, y) in enumerate(RUNS))},
    "a name of all runs": {"sacred.json": json.dumps(
        [{"_id": k, "experiment": {"name": "scale"}, "config": {"parameters": n, "tokens": d}, "result": y, "val_loss": y} for k, (n, d, y) in enumerate(RUNS)])},
    "steps of each run in a chart": {"chart.csv": csv(**{
        f"{name} - N{n // 10**6}M_D{d / 1e9:g}B": values for n, d, y in RUNS for name, values in (("step", [1, 2]), ("val_loss", [9.0, y]))})},
    "units behind a bar": {"paper.csv": csv(**{"parameters / M": [n / 1e6 for n in N], "tokens / B": [d / 1e9 for d in D], "loss": LOSS})},
    "runs flagged as diverged": {"flags.csv": csv(n_params=[*N, N[0]], n_tokens=[*D, D[1]], val_loss=[*LOSS, 11.0], diverged=[0, 0, 0, 0, 1])},
    "an area beside a loss": {"ctr.csv": csv(total_params=N, tokens=D, test_logloss=LOSS, test_auc=[0.7, 0.8, 0.75, 0.85])},
    "letters and file names": {f"curve_N{n}_D{d}.csv": csv(loss=[y + 1, y], step=[1, 2]) for n, d, y in RUNS},
}  # fmt: skip
DATA = {
    "two files a run": {
        name: text for n, e in zip(SIZES, ERRORS)
        for name, text in {f"o{n}/train.json": json.dumps({"train_samples": n, "train_loss": 0.1}),
                           f"o{n}/eval.json": json.dumps({"eval_error": e, "eval_samples": 872})}.items()},
    "whatever is counted": {"reviews.csv": csv(n_reviews=SIZES, n_heads=8, test_error=ERRORS, secs=2.0)},
    "examples of each class": {"shots.csv": csv(n_per_class=SIZES, err_mean=ERRORS, err_std=0.01)},
    "scores of cross-validation": {"curve.csv": csv(n_train=SIZES, train_acc=[1.0, 0.99, 0.98, 0.97], cv_acc=[1 - e for e in ERRORS])},
    "deviance": {"scores.csv": csv(n_train=SIZES, base_rate=0.07, train_poisson_deviance=[0.2, 0.1, 0.1, 0.1], test_poisson_deviance=ERRORS)},
    "a value of Optuna": {"trials.csv": csv(number=range(4), value=ERRORS, params_n_train=SIZES, params_lr=0.1, state="COMPLETE")},
    "described groups": {"table.csv": csv(n_train=SIZES, count=3, mean=ERRORS, std=0.01, min=0.0, **{"50%": ERRORS}, max=1.0)},
    "a file a run, with its settings": {
        name: text for k, (n, e) in enumerate(zip(SIZES, ERRORS))
        for name, text in {f"{k}/.hydra/config.yaml": f"data:\n  name: c10\n  n_train: {n}\n",
                           f"{k}/metrics.json": json.dumps({"test_error": e, "epoch": 9})}.items()},
    "lines beside a share": {f"r{n}.json": json.dumps({"data_fraction": n / 8000, "n_train_lines": n, "val_cer": 0.5, "test_cer": e})
                             for n, e in zip(SIZES, ERRORS)},
    "columns of a frame in JSON": {"df.json": pd.DataFrame({"n_labeled": SIZES, "probe_err": ERRORS}).to_json()},
    "lists beside each other": {"curve.json": json.dumps({"n": SIZES, "status": ["done"] * 4, "err": ERRORS})},
    "seeds below what was measured": {"curve.json": json.dumps(
        {"train_sizes": SIZES, "test_error": {"seed0": ERRORS}})},
    "thousands below decimal commas": {"lauf.csv": "seed;train set size;error [%]\n" + "".join(
        f"0;{n:,};{100 * e:.1f}\n".replace(".", ",") for n, e in zip(SIZES, ERRORS))},
    "settings in cells": {"tidy.csv": csv(experiment="mlp", setting=[f"n={n}" for n in SIZES], metric="test_error", value=ERRORS)},
    "hours": {"asr.csv": csv(Hours=SIZES, **{"WER (%)": [100 * e for e in ERRORS]})},
    "shares of success": {"bc.csv": csv(**{"# demos": SIZES, "success rate (%)": [100 * (1 - e) for e in ERRORS]})},
}  # fmt: skip


@pytest.mark.parametrize("files", LANGUAGE.values(), ids=LANGUAGE)
def test_parameters_tokens_and_loss_are_found(tmp_path, files):
    frame = read(tmp_path, files).frame
    y = "test_loss" if "test_loss" in frame else "loss"
    found = frame.groupby(["n_params", "n_data"])[y].min().reset_index().to_numpy(float)
    assert found.tolist() == [
        list(row) for row in sorted(map(tuple, zip(map(float, N), map(float, D), LOSS)))
    ]


@pytest.mark.parametrize("files", DATA.values(), ids=DATA)
def test_examples_and_what_was_measured_are_found(tmp_path, files):
    curves = read(tmp_path, files)
    frame = curves.frame.sort_values("n_data")
    assert frame["n_data"].astype(float).tolist() == SIZES
    assert frame[curves.default_measure].tolist() == pytest.approx(ERRORS)


def test_several_tests_are_a_choice_even_beside_a_training_loss(tmp_path):
    table = csv(
        n_params=N,
        tokens=D,
        train_loss=LOSS,
        **{"eval/ppl/c4": [30, 20, 25, 15], "eval/ppl/wiki": [40, 30, 35, 25]},
    )
    with pytest.raises(BadInput, match=r"eval/ppl/c4.*eval/ppl/wiki"):
        sl.answer(read(tmp_path, {"two.csv": table}))


def test_a_training_score_is_no_answer_where_others_were_measured(tmp_path):
    scores = {"macro_f1_a": [0.7, 0.8, 0.85, 0.9], "macro_f1_b": [0.6, 0.7, 0.75, 0.8]}
    table = csv(n_train=SIZES, train_acc=[1.0, 0.99, 0.98, 0.97], **scores)
    with pytest.raises(BadInput, match=r"macro_f1_a.*macro_f1_b"):
        sl.answer(read(tmp_path, {"scores.csv": table}))


def test_steps_beside_tokens_are_no_category(tmp_path):
    table = csv(n_params=N, tokens=D, train_steps=[d // 500_000 for d in D], data_fraction=1.0, val_loss=LOSS)
    frame = read(tmp_path, {"runs.csv": table}).frame
    assert sorted(frame["n_data"]) == sorted(D)


def test_groups_of_runs_in_one_file_are_told_apart(tmp_path):
    rows = {
        str(k): {"n_params": n, "val_loss": 3 - k / 9} for k, n in enumerate((10**6, 10**7, 10**8, 10**9))
    }
    document = {
        "lr": 0.1,
        "sp": rows,
        "mup": {k: {**row, "val_loss": row["val_loss"] * 0.8} for k, row in rows.items()},
    }
    curves = read(tmp_path, {"summary.json": json.dumps(document)})
    assert curves.frame.groupby("group")["n_params"].nunique().to_dict() == {"mup": 4, "sp": 4}
