# ruff: noqa: E501  tables as they are written
"""Headings in other languages, units, footnotes, prints of programs: the points read are those written."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import ScalinglabError

SIZES, ERRORS = [1000, 2000, 4000, 8000], [0.31, 0.22, 0.16, 0.12]
N, LOSS = [13_107_712, 38_120_448, 96_468_992, 247_577_600], [3.652, 3.3371, 3.0898, 2.9198]
MILLIONS = [v / 1e6 for v in N]


def read(place: Path, files: dict[str, str]) -> sl.Curves:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    return sl.read(place if len(files) > 1 else place / next(iter(files)))


def lines(*heads: str, mark: str = ",", **columns: list) -> str:
    rows = zip(*columns.values(), strict=True)
    return "\n".join([mark.join(heads), *(mark.join(map(str, row)) for row in rows)]) + "\n"


def comma(values: list[float]) -> list[str]:
    return [str(v).replace(".", ",") for v in values]


@pytest.mark.parametrize("heads", [("Breite", "Testfehler"), ("Largeur", "Erreur de test"), ("宽度", "测试错误率"),
                                   ("Ширина", "Ошибка (тест)"), ("Ancho", "Error de prueba")])  # fmt: skip
def test_headings_in_other_languages(tmp_path, heads):
    curves = read(tmp_path, {"t.csv": lines(*heads, mark=";", x=SIZES, y=comma(ERRORS))})
    assert curves["width"].tolist() == SIZES
    assert curves["test_error"].tolist() == ERRORS


@pytest.mark.parametrize("heads", [("nparam", "ntok", "valloss"), ("modelparams", "traintokens", "testloss"),
                                   ("Parametres", "Jetons", "Perte de validation")])  # fmt: skip
def test_words_written_as_one_or_without_accents(tmp_path, heads):
    tokens = [10**9, 2 * 10**9, 10**9, 2 * 10**9]
    curves = read(tmp_path, {"t.csv": lines(*heads, n=N, d=tokens, y=LOSS)})
    assert curves["n_params"].tolist() == N
    assert curves["n_data"].tolist() == tokens
    assert curves["test_loss"].tolist() == LOSS


@pytest.mark.parametrize(("head", "unit"), [("params (×10⁶)", 1e6), ("参数量(百万)", 1e6), ("Parameter (Mio.)", 1e6), ("params (10^3)", 1e3),
                                        ("Paramètres (milliards)", 1e9)])  # fmt: skip
def test_units_of_headings(tmp_path, head, unit):
    curves = read(tmp_path, {"t.csv": lines(head, "val loss", n=[v / unit for v in N], y=LOSS)})
    assert curves["n_params"].tolist() == pytest.approx(N)


@pytest.mark.parametrize("heads", [("fraction of ImageNet", "test error"), ("% of ImageNet", "test error")])
def test_shares_of_a_named_data_set(tmp_path, heads):
    shares = [0.01, 0.1, 0.5, 1.0]
    cells = [f"{100 * s:g} %" for s in shares] if "fraction" in heads[0] else [f"{100 * s:g}" for s in shares]
    assert read(tmp_path, {"t.csv": lines(*heads, s=cells, y=ERRORS)})["n_data"].tolist() == shares
    counted = lines("Images", heads[0], "test error", n=SIZES, s=cells, y=ERRORS)
    assert read(tmp_path, {"counted.csv": counted})["n_data"].tolist() == SIZES


@pytest.mark.parametrize("head", ["error", "error (%)"])
def test_a_sheet_that_shows_percent_is_divided_once(tmp_path, head):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["train images", head])
    for row, (size, error) in enumerate(zip(SIZES, ERRORS), 2):
        book.active.append([size, error])
        book.active.cell(row, 2).number_format = "0.0%"
    book.save(tmp_path / "t.xlsx")
    assert sl.read(tmp_path / "t.xlsx")["test_error"].tolist() == pytest.approx(ERRORS)


def test_marks_of_footnotes_are_no_part_of_a_number(tmp_path):
    cells = [f"{LOSS[0]}†", f"**{LOSS[1]}**[^1]", f"{LOSS[2]}^a", f"{LOSS[3]} [12]"]
    text = "| Params* | Loss‡ |\n|---|---|\n" + "".join(f"| {n:,} | {y} |\n" for n, y in zip(N, cells))
    curves = read(tmp_path, {"t.md": text})
    assert curves["n_params"].tolist() == N
    assert curves["loss"].tolist() == LOSS


def test_commas_between_thousands_stay_so_where_points_are_decimal(tmp_path):
    rows = [("480M", "3.34"), ("1,200M", "3.238"), ("2,400M", "3.1"), ("4,800M", "3.0")]
    text = "| Params | Loss |\n|---|---|\n" + "".join(f"| {n} | {y} |\n" for n, y in rows)
    assert read(tmp_path, {"t.md": text})["n_params"].tolist() == [4.8e8, 1.2e9, 2.4e9, 4.8e9]
    german = "| Params | Loss |\n|---|---|\n" + "".join(f"| {n} | {c} |\n" for n, c in zip(N, comma(LOSS)))
    assert read(tmp_path, {"german.md": german})["loss"].tolist() == LOSS


MEGATRON = (
    " > number of parameters on (tensor, pipeline) model parallel rank (0, 0): {half}\n"
    " > number of parameters on (tensor, pipeline) model parallel rank (1, 0): {half}\n"
    " [2026-04-11 00:20:33] iteration     5000/    5000 | consumed samples: 1280000 | elapsed time per iteration (ms): 512.3 | "
    "learning rate: 2.7E-04 | global batch size:   256 | lm loss: {other:.4E} | loss scale: 1.0 | grad norm: 0.312 |\n"
    "------------------------------------------------------------------------\n"
    " validation loss at iteration 5000 | lm loss value: {y:.6E} | lm loss PPL: 2.1E+01 | \n"
    "------------------------------------------------------------------------\n"
)
TORCHTITAN = (
    "[rank0]:[titan] 2026-04-21 10:00:01,801 - root - INFO - Model llama3 debugmodel size: {n:,} total parameters\n"
    "[rank0]:[titan] 2026-04-21 11:10:07,110 - root - INFO - step: 200  loss:  {other:.4f}  grad_norm: 0.31  memory: 40.1GiB(50.7%)  tps: 52,011\n"
    "[rank0]:[titan] 2026-04-21 11:40:40,992 - root - INFO - validate step: 200  loss:  {y:.4f}  memory: 22.0GiB(27.8%)  tps: 81,220\n"
)


MAXTEXT = (
    "System Information: Jax Version: 0.4.35\nnumber parameters: {billions:.9f} billion\n"
    "completed step: 999, seconds: 1.640, TFLOP/s/device: 151.311, total_weights: 524288, loss: {other:.4f}\n"
    "eval metrics after step: 999, loss={y:.4f}, total_weights=41943040.0\n"
)


@pytest.mark.parametrize("print_of", [MEGATRON, TORCHTITAN, MAXTEXT])
def test_prints_of_trainers_of_language_models(tmp_path, print_of):
    files = {
        f"job_{k}.log": print_of.format(n=n, half=n // 2, billions=n / 1e9, y=y, other=y - 0.1)
        for k, (n, y) in enumerate(zip(N, LOSS))
    }
    curves = read(tmp_path, files)
    found = dict(zip(curves["n_params"], curves["test_loss"]))
    assert found == dict(zip(N, LOSS))


def test_prints_of_keras_below_headings(tmp_path):
    text = "".join(
        f"### Training on {n} images\nEpoch 1/1\n19/19 ━━━━━ 3s 4ms/step - accuracy: 0.99 - loss: 0.1 - val_accuracy: 0.5 - val_loss: 1.7\n"
        f"Test accuracy: {1 - e:.2f}\n\n" for n, e in zip(SIZES, ERRORS)
    )  # fmt: skip
    curves = read(tmp_path, {"out.txt": text})
    assert curves["n_data"].tolist() == SIZES
    assert curves["test_error"].tolist() == pytest.approx(ERRORS)


def test_events_of_runs_in_json_lines(tmp_path):
    rows = [
        [{"event": "start", "run": f"w{k}", "n_params": n},
         {"event": "train", "run": f"w{k}", "step": 10, "loss": y - 0.1, "lr": 3e-4},
         {"event": "eval", "run": f"w{k}", "step": 10, "split": "validation", "loss": y}, {"event": "done", "run": f"w{k}", "hours": 1.5}]
        for k, (n, y) in enumerate(zip(N, LOSS))
    ]  # fmt: skip
    text = "".join(json.dumps(row) + "\n" for run in rows for row in run)
    curves = read(tmp_path, {"metrics.jsonl": text})
    assert curves["n_params"].tolist() == N
    assert curves["test_loss"].tolist() == LOSS
    assert curves["train_loss"].tolist() == pytest.approx([y - 0.1 for y in LOSS])


def test_lines_without_a_number_are_no_rows(tmp_path):
    rows = [
        row for n, e in zip(SIZES, ERRORS)
        for row in ({"event": "heartbeat"}, {"event": "eval", "model": "cnn", "n_train": n, "test_error": e})
    ]  # fmt: skip
    curves = read(tmp_path, {"log.jsonl": "".join(json.dumps(row) + "\n" for row in rows)})
    assert curves["n_data"].tolist() == SIZES


def test_objects_that_name_their_own_value(tmp_path):
    tasks = [
        {"hyperparams": {"Args": {"train_hours": {"section": "Args", "name": "train_hours", "value": str(n)}}},
         "last_metrics": {"2c8d": {"41fa": {"metric": "test", "variant": "wer", "value": e, "min_value": e}}}}
        for n, e in zip(SIZES, ERRORS)
    ]  # fmt: skip
    curves = read(tmp_path, {"tasks.json": json.dumps({"data": {"tasks": tasks}})})
    assert curves["n_data"].tolist() == SIZES
    assert curves["test_error"].tolist() == ERRORS


def test_curves_of_tensorboard_of_both_splits_of_a_run(tmp_path):
    files = {
        f"run-lm_{n // 10**6}M_{split}-tag-epoch_loss.csv": f"Wall time,Step,Value\n1.5,0,5.1\n2.5,1,{y + more}\n"
        for n, y in zip(N, LOSS) for split, more in (("train", -0.1), ("validation", 0.0))
    }  # fmt: skip
    curves = read(tmp_path, files)
    ends = curves.frame[curves.frame["step"] == 1]
    assert dict(zip(ends["n_params"], ends["test_loss"])) == {n // 10**6 * 1e6: y for n, y in zip(N, LOSS)}


def test_a_printed_index_of_two_levels(tmp_path):
    text = "              val_loss\nn_params train_tokens\n19000000 1000000000    4.1\n         2000000000    3.9\n"
    text += "70000000 1000000000    3.6\n         2000000000    3.4\n"
    curves = read(tmp_path, {"pivot.txt": text})
    assert curves["n_params"].tolist() == [19e6, 19e6, 70e6, 70e6]
    assert curves["n_data"].tolist() == [1e9, 2e9, 1e9, 2e9]


def test_overrides_of_hydra_are_columns(tmp_path):
    cells = [f'"model.width=256,data.n={n},seed=0"' for n in SIZES]
    curves = read(tmp_path, {"t.csv": lines("override_dirname", "val_loss", s=cells, y=ERRORS)})
    assert curves["n_data"].tolist() == SIZES
    files = {}
    for k, (n, e) in enumerate(zip(SIZES, ERRORS)):
        files[f"multirun/{k}/.hydra/overrides.yaml"] = f"- data.n_train={n}\n- seed=0\n"
        files[f"multirun/{k}/metrics.json"] = json.dumps({"test/acc": 1 - e})
    (tmp_path / "folder").mkdir()
    assert sorted(read(tmp_path / "folder", files)["n_data"]) == SIZES


def test_hours_of_speech_in_headings_and_paths(tmp_path):
    head = "|dataset|Snt|Err|S.Err|\n|---|---|---|---|\n"
    espnet = "# RESULTS\n" + "".join(
        f"## exp/asr_train_{n}h\n### WER\n\n{head}|test_clean|2620|{100 * e:.1f}|61.2|\n\n" for n, e in zip(SIZES, ERRORS)
    )  # fmt: skip
    kaldi = "".join(
        f"%WER {100 * e:.2f} [ 12 / 52576, 3 ins, 4 del, 5 sub ] exp/chain/tdnn_{n}h_sp/decode_test/wer_{k}\n"
        for k, (n, e) in enumerate(zip(SIZES, ERRORS))
    )  # fmt: skip
    for name, text in {"RESULTS.md": espnet, "RESULTS": kaldi}.items():
        curves = read(tmp_path, {name: text})
        assert curves["n_data"].tolist() == SIZES
        assert curves["test_error"].tolist() == pytest.approx(ERRORS)


def test_a_search_without_a_size_is_sent_to_the_command_for_it(tmp_path):
    table = pd.DataFrame({"lr": [0.01, 0.1, 1.0] * 3, "seed": [0, 0, 0, 1, 1, 1, 2, 2, 2], "test_acc": [0.8, 0.9, 0.85] * 3})  # fmt: skip
    with pytest.raises(ScalinglabError, match="laws noise --x learning_rate"):
        sl.answer(table)


def test_scores_are_answered_under_their_own_names(tmp_path):
    sizes, ndcg = [10**5, 10**6, 10**7, 10**8, 10**9], [0.09, 0.13, 0.156, 0.174, 0.185]
    found = sl.answer(pd.DataFrame({"n_interactions": sizes, "NDCG@10": ndcg}))["ten times"]
    assert found.facts["score"] == "NDCG@10"
    ((_, value),) = found.values.items()
    assert 0.185 < 1 - value.value < 0.21


def test_a_title_names_sizes_by_several_words(tmp_path):
    rows = [",".join(map(str, ["seed", *SIZES])), *(",".join(map(str, [k, *ERRORS])) for k in range(2))]
    text = "Test error for different training set sizes" + "," * len(SIZES) + "\n" + "\n".join(rows) + "\n"
    curves = read(tmp_path, {"homework.csv": text})
    assert curves["n_data"].tolist() == [n for n in SIZES for _ in range(2)]
    assert curves["test_error"].tolist() == [e for e in ERRORS for _ in range(2)]


def test_seeds_as_keys_below_sizes_as_keys(tmp_path):
    cells = {str(n): {f"seed_{k}": e + 0.001 * k for k in range(3)} for n, e in zip(SIZES, ERRORS)}
    curves = read(tmp_path, {"test_error.json": json.dumps({"test_error": cells})})
    assert curves["n_data"].tolist() == [n for n in SIZES for _ in range(3)]
    assert curves["seed"].tolist() == [0, 1, 2] * len(SIZES)
    assert curves["test_error"].tolist() == pytest.approx([e + 0.001 * k for e in ERRORS for k in range(3)])


def test_experiments_that_differ_in_numbers_alone_are_names_of_runs():
    numbered = {"experiment": [f"abl_{k}" for k in range(len(SIZES))], "n_train": SIZES, "test_error": ERRORS}
    assert sl.read(numbered).frame["run"].tolist() == numbered["experiment"]
    kinds = {**numbered, "experiment": [f"{word} net" for word in "abcdefgh"[: len(SIZES)]]}
    assert "experiment" in sl.read(kinds).frame


def test_bleu_is_a_score_in_percent_and_a_return_is_no_share():
    scores = [5.0, 12.0, 18.0, 22.0, 25.0, 27.0][: len(SIZES)]
    assert sl.read({"sentence pairs": SIZES, "BLEU": scores})["test_error"].tolist() == pytest.approx(
        [1 - v / 100 for v in scores]
    )
    returns = sl.read({"n_train_levels": SIZES, "mean_test_return": scores}).frame
    assert returns["mean_test_return"].tolist() == scores
    assert "test_error" not in returns
