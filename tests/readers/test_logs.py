"""Logs of every kind: whole, still being written, cut short, damaged, mixed, hostile."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import shlex
import shutil
import sqlite3
import struct
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.readers import ReadingWarning, binary, take_in, tensorboard
from scalinglab.readers import points as reading
from tests.cli.test_laws_cli import run
from tests.readers.event_files import event, field, masked
from tests.readers.wandb_files import config, history, write_wandb
from tests.readers.write_logs import EVALUATED, KEPT, RATES, STEPS, WRITERS, loss

KINDS = tuple(WRITERS)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """All kept logs in one folder, the database unpacked."""
    shutil.copytree(KEPT, tmp_path / "logs")
    packed = tmp_path / "logs" / "mlflow" / "mlflow.db.gz"
    packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    return tmp_path / "logs"


def check(kind: str, folder: Path) -> None:
    """What every library logged: the same two runs (MLflow twice, in database and files)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReadingWarning)
        curves = sl.read(folder)
    frame = curves.frame
    assert len(curves.runs) == len(RATES) * (2 if kind == "mlflow" else 1)
    assert set(frame["batch_size"]) == {16}
    if kind == "hugging_face":
        losses = frame.groupby("run")["train_loss"].count()
        assert (losses == 10).all()
        assert frame.loc[frame["step"] == 10, "test_loss"].notna().all()
        assert set(frame["model"]) == {"vit"}
        assert frame["n_params"].nunique() == 1
        return
    assert set(frame["model"]) == {"mlp"}
    assert set(frame["learning_rate"]) == {*RATES}
    for (_, rate), rows in frame.groupby(["run", "learning_rate"]):
        rows = rows.set_index("step")
        assert rows["train_loss"].to_dict() == {step: loss(rate, step) for step in STEPS}
        assert rows["test_loss"].dropna().to_dict() == {step: 2 * loss(rate, step) for step in EVALUATED}
    if kind in ("wandb", "mlflow"):
        assert set(frame["status"]) == {"done"}


@pytest.mark.parametrize("kind", KINDS)
def test_logs_of_each_library_are_recognised_and_read(logs: Path, kind: str):
    check(kind, logs / kind)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_logs_that_the_installed_library_writes_are_read(tmp_path: Path, kind: str, monkeypatch):
    package = {"tensorboard": "tensorboard", "lightning": "pytorch_lightning", "hugging_face": "transformers"}
    pytest.importorskip(package.get(kind, kind))
    monkeypatch.chdir(tmp_path)
    WRITERS[kind](tmp_path / kind)
    check(kind, tmp_path / kind)


def test_parameters_are_counted_in_the_headers_of_safetensors(logs: Path):
    counted = sl.read(logs / "hugging_face").frame["n_params"].iloc[0]
    path = next((logs / "hugging_face").rglob("*.safetensors"))
    header = struct.unpack("<Q", path.read_bytes()[:8])[0]
    assert counted == (path.stat().st_size - 8 - header) / 4  # all of them are 32-bit


# --- folders -------------------------------------------------------------------------------------


def test_nested_and_mixed_folders_are_one_table(logs: Path):
    curves = sl.read(logs)
    assert len(curves.runs) == 2 * (len(KINDS) + 1)
    assert {"train_loss", "test_loss"} <= {*curves.measurement_columns}
    assert all(kind in curves.understood for kind in KINDS)
    assert "12 runs" in curves.understood
    assert "settings that vary: " in curves.understood
    only = sl.read(logs, kind="wandb")
    assert len(only.runs) == 2
    with pytest.raises(BadInput, match="'wandb'"):
        sl.read(logs, kind="wanbd")
    with pytest.raises(BadInput, match="holds no logs of mlflow"):
        sl.read(logs / "wandb", kind="mlflow")


def test_a_run_that_two_loggers_kept_is_read_once(logs: Path):
    events = next((logs / "tensorboard" / "rate-0.1").glob("*.tfevents.*"))
    inside = logs / "hugging_face" / "rate-0.1" / "runs" / "Nov16"
    inside.mkdir(parents=True)
    shutil.copy(events, inside)
    shutil.copy(events, logs / "lightning" / "lightning_logs" / "version_0")
    assert len(sl.read(logs / "hugging_face").runs) == 2
    assert len(sl.read(logs / "lightning").runs) == 2
    assert len(sl.read(logs / "lightning", kind="tensorboard").runs) == 1


def test_links_are_not_followed(logs: Path):
    runs = logs / "wandb" / "wandb"
    (runs / "latest-run").symlink_to(next(runs.glob("offline-run-*")), target_is_directory=True)
    (runs / "loop").symlink_to(logs, target_is_directory=True)
    assert len(sl.read(logs / "wandb").runs) == 2


def test_a_resumed_run_of_wandb_is_one_run(logs: Path):
    first, second = sorted((logs / "wandb").rglob("*.wandb"))
    copy = logs / "wandb" / "wandb" / "offline-run-later"
    copy.mkdir()
    later = Path(shutil.copy(first, copy))
    later.write_bytes(first.read_bytes()[: int(0.6 * first.stat().st_size)])  # resumed, not at its end
    second.unlink()
    assert 0 < len(sl.read(later)) < len(STEPS)
    curves = sl.read(logs / "wandb")
    assert len(curves.runs) == 1
    assert len(curves) == len(STEPS)


def test_a_single_file_of_a_log_is_enough(logs: Path):
    assert len(sl.read(next(logs.rglob("*.wandb"))).runs) == 1
    assert len(sl.read(next((logs / "tensorboard" / "rate-0.1").glob("*.tfevents.*")))) == len(STEPS)
    assert len(sl.read(logs / "mlflow" / "mlflow.db").runs) == 2
    assert len(sl.read(next(logs.rglob("metrics.csv")))) == len(STEPS)
    assert len(sl.read(next(logs.rglob("trainer_state.json"))).runs) == 1


def test_folders_of_tables_are_read_file_by_file(tmp_path: Path):
    for seed in (0, 1):
        frame = pd.DataFrame({"step": [1, 2], "val_loss": [2.0, 1.0 + seed], "seed": seed})
        frame.to_csv(tmp_path / f"seed{seed}.csv", index=False)
    assert sl.read(tmp_path).runs == ["seed0", "seed1"]
    (tmp_path / "none").mkdir()
    with pytest.raises(BadInput, match="neither a store nor logs nor tables"):
        sl.read(tmp_path / "none")


def test_splits_and_curves_in_sub_folders_are_joined(tmp_path: Path):
    for split in ("train", "validation"):  # as Keras does
        write_events(tmp_path / "keras" / split, [(s, "epoch_loss", 1.0 + s) for s in range(3)])
    frame = sl.read(tmp_path / "keras").frame
    assert frame["train_loss"].tolist() == frame["test_loss"].tolist() == [1.0, 2.0, 3.0]
    for split in ("train", "val"):  # as add_scalars("loss", {"train": …, "val": …}) does
        write_events(tmp_path / "torch" / "run" / f"loss_{split}", [(s, "loss", 1.0 + s) for s in range(3)])
    frame = sl.read(tmp_path / "torch").frame
    assert frame["train_loss"].tolist() == frame["test_loss"].tolist() == [1.0, 2.0, 3.0]


def test_charts_and_lists_of_runs_that_wandb_exports(tmp_path: Path):
    chart = pd.DataFrame({
        "Step": [0, 1, 2],
        "run-a - val/loss": [3, 2, 1], "run-a - val/loss__MIN": [3, 2, 1], "run-a - val/loss__MAX": [3, 2, 1],
        "b - 2 - val/loss": [4, np.nan, 2], "b - 2 - val/loss__MIN": 0, "b - 2 - val/loss__MAX": 0,
    })  # fmt: skip
    chart.to_csv(tmp_path / "chart.csv", index=False)
    curves = sl.read(tmp_path / "chart.csv")
    assert curves.runs == ["run-a", "b - 2"]
    assert curves["test_loss"].tolist() == [3, 2, 1, 4, 2]
    listed = pd.DataFrame({
        "Name": ["x", "y"], "State": "finished", "Notes": "-", "User": "u", "Tags": "", "Created": "2026",
        "Runtime": [5, 6], "Sweep": "", "lr": [0.1, 0.2], "val_loss": [1.0, 2.0],
    })  # fmt: skip
    listed.to_csv(tmp_path / "list.csv", index=False)
    curves = sl.read(tmp_path / "list.csv")
    assert curves.runs == ["x", "y"]
    assert curves.setting_columns == ["learning_rate"]
    history = pd.DataFrame(
        {"_step": [0, 1], "_timestamp": [1e9, 2e9], "_runtime": [1, 2], "train/loss": [2.0, 1.0]}
    )
    history.to_parquet(tmp_path / "history.parquet")
    assert sl.read(tmp_path / "history.parquet").measurement_columns == ["train_loss"]


# --- still being written, cut short, damaged -------------------------------------------------------


def growing(kind: str, logs: Path) -> Path:
    """The file that grows while a run of this kind goes on."""
    names = {
        "tensorboard": "rate-0.1/*.tfevents.*",
        "wandb": "wandb/*/*.wandb",
        "lightning": "*/version_0/metrics.csv",
        "hugging_face": "rate-0.1/checkpoint-10/trainer_state.json",
        "mlflow": "mlruns/*/*/metrics/train/loss",
    }
    return sorted((logs / kind).glob(names[kind]))[0]


def values(frame: pd.DataFrame) -> set[tuple[str, int, str, float]]:
    """Every loss with its run and step."""
    losses = frame.melt(["run", "step"], ["train_loss", "test_loss"]).dropna()
    return {*losses.itertuples(index=False, name=None)}


@pytest.mark.parametrize(
    "kind", ["wandb", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind != "wandb")]
)
def test_a_run_that_is_being_written_is_read_up_to_its_last_whole_row(logs: Path, kind: str):
    path = growing(kind, logs)
    data = path.read_bytes()
    frame = sl.read(logs / kind).frame
    whole = frame.groupby("run")["train_loss"].count().sort_index()
    written = values(frame)
    counts = []
    last = len(data) - np.array([1, 5])  # within the last number, too
    for size in np.unique([*np.linspace(0, len(data), 4).astype(int), *last]):
        path.write_bytes(data[:size])
        with warnings.catch_warnings():  # half a JSON document is said to be one
            warnings.simplefilter("ignore" if kind == "hugging_face" else "error", ReadingWarning)
            warnings.filterwarnings("ignore", ".*(wandb holds no row|no line end)", ReadingWarning)
            curves = sl.read(logs / kind)
        found = curves.frame.groupby("run")["train_loss"].count().reindex(whole.index).fillna(0)
        counts.append(int(found.sum()))
        assert (found <= whole).all()
        assert values(curves.frame) <= written  # half a number is none
    assert counts[-1] == whole.sum()
    if kind != "hugging_face":  # there the checkpoint before takes its place
        assert counts == sorted(counts)
        assert len(set(counts)) > 3


@pytest.mark.parametrize("kind", ["tensorboard", "wandb"])
def test_a_damaged_record_ends_the_reading_and_is_named(logs: Path, kind: str):
    path = growing(kind, logs)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    with pytest.warns(ReadingWarning, match="the rest of it is left out"):
        frame = sl.read(logs / kind).frame
    counts = frame.groupby("run")["train_loss"].count()
    assert 0 < counts.min() < len(STEPS)
    assert counts.max() == len(STEPS)


def test_a_truncated_database_is_named_and_does_not_stop_the_others(logs: Path):
    path = logs / "mlflow" / "mlflow.db"
    path.write_bytes(path.read_bytes()[:300_000])
    with pytest.warns(ReadingWarning, match=r"mlflow\.db.*damaged"):
        assert len(sl.read(logs / "mlflow").runs) == 2  # those of the file store


@pytest.mark.slow
def test_every_damaged_byte_is_found_or_does_no_harm(logs: Path):
    """Whatever is flipped, no number is read that was not written."""
    path = next((logs / "wandb").rglob("*.wandb"))
    data = path.read_bytes()
    written = set(sl.read(path).frame["train_loss"])
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(data), 60):
        broken = bytearray(data)
        broken[place] ^= 1 << rng.integers(8)
        path.write_bytes(broken)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ReadingWarning)
                found = sl.read(path).frame
        except BadInput:
            continue
        assert {*found.get("train_loss", pd.Series(dtype=float)).dropna()} <= written


def test_plain_events_are_read_as_others_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The fast way for scalars and the way field by field give the same, for tags of any length and step."""
    tags = ["loss", "x" * 100, "y" * 126, "z" * 200, "ü/∞", "a\x15bcd\x15"]
    steps = [0, 1, 127, 128, 16_384, 2**28 - 1, 2**35, 2**40, -1]
    write_events(tmp_path, [(s, tag, 0.5 * k) for k, tag in enumerate(tags) for s in steps])
    fast = sl.read(tmp_path).frame
    calls = []
    monkeypatch.setattr(tensorboard, "_read_scalar", lambda event, run: calls.append(event))
    slow = sl.read(tmp_path).frame
    pd.testing.assert_frame_equal(fast, slow)
    assert len(calls) == len(tags) * len(steps)
    assert sorted(fast["step"]) == sorted(steps)


def test_divergence_is_recorded(tmp_path: Path):
    nan = float("nan")
    write_events(tmp_path / "a", [(s, "loss", v) for s, v in enumerate([3, 2, nan, nan])])
    write_events(
        tmp_path / "b", [(s, "loss", v) for s, v in enumerate([3, nan, 2, nan])]
    )  # gaps, no divergence
    frame = sl.read(tmp_path).frame.drop_duplicates("run").set_index("run")
    assert frame.loc["a", "status"] == "diverged"
    assert frame.loc["a", "diverged_at"] == 2
    assert pd.isna(frame.loc["b", "diverged_at"])


# --- hostile ---------------------------------------------------------------------------------------


def write_events(folder: Path, values, padding: bytes = b"") -> Path:
    """An event file of scalars, with images of `padding` bytes between them."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "events.out.tfevents.1.host"
    with path.open("wb") as file:
        for step, tag, value in values:
            parts = field(1, field(1, tag.encode()) + b"\x15" + struct.pack("<f", value))
            parts += field(1, field(1, b"image") + field(4, padding)) if padding else b""
            file.write(event(step, parts))
    return path


def test_hostile_wandb_logs(tmp_path: Path):
    deep, long = "[" * 100_000, "9" * 400
    path = write_wandb(tmp_path / "run-x.wandb", [
        config(lr="0.1", deep=deep, long=long, evil='{"value": {"__reduce__": "os.system"}}'),
        history(0, loss="1.5", deep=deep, long=long, word='"text"', worse='{"_type": "table"}'),
        history(1, loss="NaN", long="1e999"), history(2, loss='"Infinity"'),
        history(10**18, loss="2"), history(3, **{"../../etc": "1", "loss": "0.5"}),
    ])  # fmt: skip
    curves = sl.read(path)
    assert curves.frame.set_index("step")["train_loss"].to_dict()[0] == 1.5
    assert curves.frame["learning_rate"].iloc[0] == 0.1
    assert "deep" not in curves.frame
    sl.Store(tmp_path / "runs").add(curves)
    assert len(sl.read(tmp_path / "runs")) == len(curves)


def test_a_wandb_log_without_rows_is_named(tmp_path: Path):
    write_wandb(tmp_path / "run-x.wandb", [config(lr="0.1"), history(0, loss="1.5")])
    whole = write_wandb(tmp_path / "run-y.wandb", [config(lr="0.2")]).read_bytes()
    (tmp_path / "run-y.wandb").write_bytes(whole[:-3])
    with pytest.warns(ReadingWarning, match=r"run-y\.wandb"):
        assert len(sl.read(tmp_path).runs) == 1


def test_records_of_wandb_that_span_blocks(tmp_path: Path):
    rows = [history(s, loss=str(s), note='"' + "x" * 20_000 + '"') for s in range(20)]
    path = write_wandb(tmp_path / "run-x.wandb", rows)
    assert sl.read(path)["train_loss"].tolist() == list(range(20))


def test_hostile_event_files(tmp_path: Path):
    path = write_events(tmp_path / "run", [(1, "loss", 2.0)])
    whole = path.read_bytes()
    head = struct.pack("<Q", 2**63)
    path.write_bytes(whole + head + masked(head) + b"x" * 100)  # a record of nine exabytes
    assert sl.read(tmp_path)["train_loss"].tolist() == [2.0]
    for body in (b"\xff" * 40, b"\x2a\xff\xff\xff\xff\x0f", b"\x07", field(5, field(1, b"\x0a\x7f"))):
        head = struct.pack("<Q", len(body))
        path.write_bytes(whole + head + masked(head) + body + masked(body))
        with pytest.warns(ReadingWarning, match="damaged"):
            assert sl.read(tmp_path)["train_loss"].tolist() == [2.0]
    write_events(
        tmp_path / "run", [(-5, "loss", 1.0), (2**63 - 1, "loss", 3.0), (1, "../../x", 1.0), (2, "", 9.0)]
    )
    curves = sl.read(tmp_path)
    sl.Store(tmp_path / "runs").add(curves)


def test_yaml_makes_no_objects(logs: Path, tmp_path: Path):
    path = logs / "lightning" / "lightning_logs" / "version_0" / "hparams.yaml"
    mark = tmp_path / "ran"
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + k)}: &{chr(98 + k)} [{', '.join(['*' + chr(97 + k)] * 9)}]\n" for k in range(9)
    )
    path.write_text(
        f"lr: 0.1\nbatch_size: 16\nmodel: mlp\nevil: !!python/object/apply:os.system ['touch {mark}']\n"
        f"new: !!python/object/new:subprocess.Popen [['touch', '{mark}']]\n"
        "activation: !!python/name:torch.nn.ReLU\n" + bomb
    )
    curves = sl.read(logs / "lightning")
    assert not mark.exists()
    assert set(curves["learning_rate"]) == {*RATES}


def test_hostile_states_of_the_trainer(tmp_path: Path):
    path = tmp_path / "out" / "checkpoint-3" / "trainer_state.json"
    path.parent.mkdir(parents=True)
    rows = [{"step": 1, "loss": 2.0}, {"step": 10**400, "loss": 1}, {"step": "x"}, [1], {"loss": 3},
            {"step": 2, "loss": 10**400, "deep": json.loads("[" * 500 + "]" * 500)}]  # fmt: skip
    path.write_text(json.dumps({"log_history": rows, "global_step": 3, "max_steps": 7}))
    assert sl.read(tmp_path)["train_loss"].tolist() == [2.0, np.inf]
    path.write_text('{"log_history": [{"step": 1, "loss": 2.0}, {"step": 2, "deep": ' + "[" * 200_000)
    with pytest.warns(ReadingWarning, match="cut short or damaged"):
        assert sl.read(tmp_path)["train_loss"].tolist() == [2.0]
    (path.parent / "model.safetensors").write_bytes(struct.pack("<Q", 2**62) + b"{}")
    (path.parent / "config.json").write_text("{" * 100_000)
    path.write_text(json.dumps({"log_history": rows[:1]}))
    assert "n_params" not in sl.read(tmp_path).frame


def test_a_database_that_is_none_of_mlflow_is_no_log(tmp_path: Path):
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\0" + bytes(200))
    (tmp_path / "b.db").write_bytes(b"nothing")
    with pytest.raises(BadInput, match="neither a store nor logs"):
        sl.read(tmp_path)


def test_a_database_in_use_is_read_as_far_as_it_was_committed(logs: Path):
    whole = sl.read(logs / "mlflow").frame
    for mode in ("DELETE", "WAL"):
        with contextlib.closing(sqlite3.connect(logs / "mlflow" / "mlflow.db")) as writer:
            writer.execute(f"PRAGMA journal_mode = {mode}")
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("UPDATE metrics SET value = -1")
            pd.testing.assert_frame_equal(sl.read(logs / "mlflow").frame, whole)
            writer.rollback()


def test_hostile_databases(logs: Path):
    """Values of wrong types, names that are paths, an expression where a table is expected."""
    path = logs / "mlflow" / "mlflow.db"
    good = sl.read(path).frame
    with contextlib.closing(sqlite3.connect(path)) as database:
        columns = "key, value, timestamp, run_uuid, step, is_nan"
        uuid, *_ = database.execute("SELECT run_uuid FROM runs").fetchone()
        rows = [
            ("../../x", 1.0, 3),
            ("word", "text", 3),
            ("blob", b"\0", 3),
            ("far", 1.0, 2**62),
            ("no", 1.0, "x"),
        ]
        for key, value, step in rows:
            row = (key, value, 1, uuid, step, 0)
            database.execute(f"INSERT INTO metrics ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row)
        database.execute(
            "INSERT INTO params (key, value, run_uuid) VALUES ('deep', ?, ?)", ("[" * 9999, uuid)
        )
        database.commit()
    found = sl.read(path)
    assert values(found.frame) == values(good)
    assert not {"word", "blob", "no"} & {*found.frame}
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("ALTER TABLE metrics RENAME TO hidden")
        database.execute("CREATE VIEW metrics AS SELECT load_extension('evil.so') AS key FROM hidden")
        database.commit()
    with pytest.raises(BadInput, match=r"without any number|neither a store nor logs|not a text file"):
        sl.read(path)


def test_hostile_file_stores(logs: Path):
    folder = growing("mlflow", logs).parents[2]
    good = sl.read(logs / "mlflow" / "mlruns").frame
    (folder / "metrics" / "noise").write_bytes(
        bytes(range(256)) * 40 + b"\n1 2 x\n\n9\n" + b"7" * 5000 + b"\n"
    )
    (folder / "params" / "deep").write_text("[" * 50_000)
    (folder / "params" / "huge").write_bytes(b"9" * (1 << 20))
    with (folder / "meta.yaml").open("a") as file:
        file.write("evil: !!python/object/apply:os.system ['touch ran']\n")
    (folder / "metrics" / "link").symlink_to("/dev/zero")
    with pytest.warns(ReadingWarning, match="noise: .* lines cannot be read"):
        found = sl.read(logs / "mlflow" / "mlruns").frame
    assert values(found) == values(good)


def test_hostile_tables_of_lightning(logs: Path):
    path = growing("lightning", logs)
    good = sl.read(logs / "lightning").frame
    rows = [
        b"0," + b"9" * 5000 + b",2,3",
        b"1,1e999,2",
        b"a,b,c,d",
        b"\0,\0,\0,\0",
        b"1,\xff\xfe,2,3",
        b"1,2,3,4,5,6",
    ]
    path.write_bytes(path.read_bytes() + b"".join(row + b"\r\n" for row in rows))
    with pytest.warns(ReadingWarning, match=r"rows cannot be read|damaged"):
        assert values(sl.read(logs / "lightning").frame) == values(good)
    path.write_bytes(path.read_bytes() + b'"' + b"x" * 300_000 + b"\r\n")  # beyond the parser's longest field
    with pytest.warns(ReadingWarning, match="damaged|cannot be read"):
        assert values(sl.read(logs / "lightning").frame) == values(good)


# --- size and speed --------------------------------------------------------------------------------


def test_checksums_of_long_data_are_those_of_short_ones():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, 70_007, dtype=np.uint8).tobytes()
    lane, binary.LANE = binary.LANE, 1 << 30
    try:
        plain = binary.crc32c(data)
    finally:
        binary.LANE = lane
    assert binary.crc32c(data) == plain
    assert binary.crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4
    assert binary.crc32c(bytes(range(32))) == 0x46DD794E


def test_a_run_of_too_many_values_keeps_those_with_a_standard_name(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_VALUES", 1000)
    names = ["loss", *(f"gradient/{k}" for k in range(20)), "val_loss", "tokens", "lr"]
    write_events(tmp_path, [(step, name, step / 8) for step in range(300) for name in names])
    with pytest.warns(ReadingWarning, match=r"too many values, .* left out: gradient/19"):
        curves = sl.read(tmp_path)
    assert curves["train_loss"].tolist() == curves["test_loss"].tolist() == [step / 8 for step in range(300)]
    assert curves["tokens"].tolist() == curves["train_loss"].tolist()
    assert curves["current_learning_rate"].tolist() == curves["train_loss"].tolist()


def test_metrics_left_out_stay_left_out_when_runs_are_joined(monkeypatch):
    monkeypatch.setattr(reading, "MOST_VALUES", 10)
    above, below, named = reading.MetricPoints(), reading.MetricPoints(), reading.MetricPoints()
    for step in range(4):
        for name in ("loss", "acc", "size"):  # 12 values
            below.add(name, step, 1.0)
        for name in ("size", "loss"):
            above.add(name, step, 1.0)
        for name in ("size", "train_loss", "test_loss"):
            named.add(name, step, 1.0)
    assert named.metrics == ["train_loss", "test_loss"]
    above.extend(below, "val/{}".format)
    frame, left_out = above.frame()
    assert left_out == ["val/size", "size"], "one was left out of the second, one of the sum"
    assert list(frame) == ["step", "loss", "val/acc", "val/loss"]
    resumed = reading.MetricPoints()
    resumed.add("size", 0, 1.0)
    resumed.extend(named)
    assert resumed.metrics == named.metrics, "half of a metric would look like all of it"


def peak(path: Path) -> float:
    """Megabytes of memory that reading takes."""
    tracemalloc.start()
    sl.read(path)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return used / 2**20


@pytest.mark.slow
def test_memory_does_not_grow_with_the_size_of_a_log(tmp_path: Path):
    """What is passed over (images, console output, tables) costs no memory; numbers cost 16 bytes each."""
    write_events(tmp_path / "tb", [(s, "loss", 1.0) for s in range(17)], padding=bytes(1 << 20))
    noise = field(13, b"x" * (1 << 16))
    write_wandb(
        tmp_path / "wandb" / "run-a.wandb", [r for s in range(230) for r in (history(s, loss="1"), noise)]
    )
    state = tmp_path / "hf" / "trainer_state.json"
    state.parent.mkdir()
    row = json.dumps({"step": 7, "loss": 1.0, "text": "x" * 1000})
    state.write_text(
        '{"global_step": 3, "log_history": [' + ",\n".join([row] * 14_000) + '], "max_steps": 9}'
    )
    lines = tmp_path / "lines" / "log.jsonl"
    lines.parent.mkdir()
    kept_out = {"text": "x" * 4000, "histogram": [0.125] * 100, "time": "2024-01-01T10:00:00"}
    lines.write_text("".join(json.dumps({"step": s, "loss": 1.0, **kept_out}) + "\n" for s in range(3_000)))
    for name in ("tb", "wandb", "hf", "lines"):
        size = sum(p.stat().st_size for p in (tmp_path / name).rglob("*") if p.is_file()) / 2**20
        assert size > 12
        assert peak(tmp_path / name) < 8, name


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["jsonl", pytest.param("csv", marks=pytest.mark.nightly)])
def test_a_table_takes_the_memory_of_its_numbers_once(tmp_path: Path, ending: str):
    """A file four times as large needs no more beyond its table: rows are read part by part."""
    beyond = []
    for rows in (3_500, 14_000):
        path = tmp_path / f"{rows}.{ending}"
        numbers = pd.DataFrame({f"metric_{k}": np.round(1 / (np.arange(rows) + k + 1), 9) for k in range(20)})
        table = numbers.assign(step=range(rows))
        if ending == "csv":
            table.to_csv(path, index=False)
        else:
            table.to_json(path, orient="records", lines=True)
        tracemalloc.start()
        curves = sl.read(path)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(curves) == rows
        beyond.append((used - curves.frame.memory_usage(deep=True).sum()) / 2**20)
    assert beyond[1] < beyond[0] + 5
    assert beyond[1] < 20


@pytest.mark.slow
def test_reading_loads_none_of_the_libraries(logs: Path):
    code = f"import sys, scalinglab as sl; sl.read({str(logs)!r}); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(Path(sl.__file__).parents[1])},
    )  # fmt: skip
    assert {"torch", "tensorboard", "wandb", "mlflow", "pytorch_lightning", "transformers"}.isdisjoint(
        done.stdout.split()
    )


@pytest.mark.slow
def test_the_command_line_takes_logs_in(logs: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = json.loads(run("read", logs, "--store", "runs", "--kind", "wandb", "--json"))
    assert found["runs_added"] == 2
    assert "learning_rate ← optimizer.lr" in found["understood"]
    again = json.loads(run("read", logs, "--store", "runs", "--kind", "wandb", "--json"))
    assert (again["runs_added"], again["runs_already_there"]) == (0, 2)
    assert "2 runs, 20 rows" in " ".join(run("read", logs, "--store", "other", "--kind", "wandb").split())
    kept = sl.read("runs")
    assert set(kept["learning_rate"]) == {*RATES}


def test_logs_that_grow_are_taken_again_and_names_that_come_twice_are_two_runs(tmp_path: Path):
    store = sl.Store(tmp_path / "store")
    values = [(s, "loss", 3.0 - s) for s in range(3)]
    write_events(tmp_path / "a" / "version_0", values[:2])
    first = take_in(sl.read(tmp_path / "a"), store)
    assert first.added == ["version_0"]
    assert take_in(sl.read(tmp_path / "a"), store).unchanged == ["version_0"]
    write_events(tmp_path / "a" / "version_0", values)
    assert take_in(sl.read(tmp_path / "a"), store).updated == ["version_0"]
    write_events(tmp_path / "b" / "version_0", [(s, "loss", 9.0 - s) for s in range(3)])
    assert take_in(sl.read(tmp_path / "b"), store).added == ["version_0-2"]
    assert take_in(sl.read(tmp_path / "b"), store).unchanged == ["version_0-2"]
    frame = store.curves().frame
    assert frame.groupby("run")["train_loss"].apply(list).to_dict() == {
        "version_0": [3, 2, 1], "version_0-2": [9, 8, 7]
    }  # fmt: skip


@pytest.mark.slow
def test_the_commands_of_the_page_run(logs: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "read-logs.md"
    (block,) = re.findall(r"```bash\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for command in block.splitlines():
        words = shlex.split(command)
        assert words[0] == "scalinglab"
        run(*words[1:])
    assert len(sl.read("runs").runs) == 12
    assert len(sl.read("wandb-runs").runs) == 2
    assert Path("report.html").stat().st_size > 10_000
