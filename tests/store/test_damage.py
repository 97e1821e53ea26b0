"""Damage: every flip and cut is noticed by the name of its file, and no file takes others with it."""

import errno
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from scalinglab.board.server import Page
from scalinglab.curves import run_name
from scalinglab.errors import BadInput
from scalinglab.store import Damaged, Inaccessible, Store, StoreError, StoreWarning, checked, files
from scalinglab.store.columns import to_table
from scalinglab.store.record import Record
from scalinglab.store.sealed_runs import parquet
from scalinglab.store.sealed_runs.sealed_folder import SealedFolder
from tests.store.nursery import rows
from tests.store.test_contract import check, fill


def left_unfinished(store, number, n_steps=5):
    run = store.start({"number": number})
    for row in rows({"number": number}, n_steps):
        run.append(row)
    run.close()
    return run.path


def flips(data, count, seed=0):
    chance = random.Random(seed)
    for _ in range(count):
        place = chance.randrange(len(data))
        yield data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


# --- live files ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_flip_in_a_live_file_is_reported_and_no_changed_number_is_read(tmp_path):
    store = Store(tmp_path)
    fill(store, [1])
    path = left_unfinished(store, 2)
    data = path.read_bytes()
    expected = {row["step"]: row["test_loss"] for row in rows({"number": 2})}
    for changed in flips(data, 80):
        path.write_bytes(changed)
        frame = Store(tmp_path).curves(warn=False).frame
        assert len(frame[frame["number"] == 1]) == 5
        mine = frame[frame["number"] == 2] if "number" in frame else frame
        for step, loss in zip(mine["step"], mine["test_loss"], strict=True):
            assert loss == expected[step]
        if len(mine) < 5 and changed[-1:] == b"\n":
            assert list(Store(tmp_path).problems) == [str(path)]


def test_a_changed_digit_is_noticed_and_resuming_keeps_the_file(tmp_path):
    store = Store(tmp_path)
    run = store.start({"number": 2})
    run.append(step=0, test_error=0.5)
    run.append(step=1, test_error=0.125)
    run.append(step=2, test_error=0.25)
    run.close()
    changed = run.path.read_bytes().replace(b"0.125", b"1.125")
    run.path.write_bytes(changed)
    with pytest.warns(StoreWarning, match=rf"{run.run}\.jsonl: line 3 is damaged \(its checksum is wrong\)"):
        assert store.curves()["test_error"].tolist() == [0.5]
    with pytest.warns(StoreWarning, match=r"1 row intact.*damaged"):
        writer, so_far = store.resume({"number": 2})
    assert so_far == [{"step": 0, "test_error": 0.5}]
    assert (tmp_path / "damaged" / run.path.name).read_bytes() == changed
    writer.append(step=1, test_error=0.125)
    writer.seal()
    assert store.problems == {}


@pytest.mark.parametrize("act", ["lost", "moved", "repeated"])
def test_a_line_that_was_lost_moved_or_repeated_is_noticed(tmp_path, act):
    store = Store(tmp_path)
    path = left_unfinished(store, 2)
    header, a, b, *others = path.read_bytes().splitlines(keepends=True)
    new = {"lost": [a, *others], "moved": [b, a, *others], "repeated": [a, a, b, *others]}[act]
    path.write_bytes(header + b"".join(new))
    assert list(store.problems) == [str(path)]
    assert len(store.curves(warn=False)) < 5


HEADER = {"scalinglab": 1, "run": "", "setting": {"number": 7}, "source": "train", "experiment": None}
HEADER |= {"meta": {}, "started": 1.0}
ROW = '{"step": 0, "test_loss": 1.0}'


def with_checksums(*lines):
    """A live file of these lines, each ending with a checksum that is right, whatever the line contains."""
    total, text = 0, b""
    for line in lines:
        content = line.removesuffix("}").encode()
        total = zlib.crc32(content, total)
        text += content + b', "crc32": "%08x"}\n' % total
    return text


HOSTILE = {
    "a setting that is no dictionary": {"setting": [1, 2]},
    "a lone surrogate": {"setting": {"name": "\ud800"}},
    "meta that is text": {"meta": "text"},
    "a start that is text": {"started": "yesterday"},
    "another setting": {"setting": {"number": 8}},
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_header_is_reported_by_name_and_all_others_load(tmp_path, change):
    store = Store(tmp_path)
    fill(store, [1, 2])
    name = run_name(change["setting"]) if isinstance(change.get("setting"), dict) else run_name({"number": 7})
    name = run_name({"number": 7}) if change.get("setting") == {"number": 8} else name
    path = tmp_path / "live" / f"{name}.jsonl"
    path.write_bytes(with_checksums(json.dumps(HEADER | change), ROW))
    with pytest.warns(StoreWarning, match=rf"{name}\.jsonl: line 1 is damaged"):
        assert set(store.curves()["number"]) == {1, 2}
    assert list(store.problems) == [str(path)]
    assert len(store.records()) >= 2


@pytest.mark.parametrize(
    "line",
    ['{"a":' * 100_000, '{"step": 1, "test_loss": ' + "9" * 400 + "}", '{"step": 1, "test_loss": [1]}', "7",
     '{"step": 1, "\\ud800": 1}', '{"step": 1, "test_loss": ' + "9" * 5000 + "}"],
    ids=["deep", "400 digits", "a list", "a number", "a surrogate", "5000 digits"],
)  # fmt: skip
def test_a_hostile_line_is_reported_by_name_and_all_others_load(tmp_path, line):
    store = Store(tmp_path)
    fill(store, [1, 2])
    path = tmp_path / "live" / f"{run_name({'number': 7})}.jsonl"
    path.write_bytes(with_checksums(json.dumps(HEADER), ROW, line))
    with pytest.warns(StoreWarning, match="jsonl: line 3"):
        curves = store.curves()
    assert len(curves.select(number=7)) == 1
    assert set(curves["number"]) == {1, 2, 7}


# --- permissions and descriptors ---------------------------------------------------------------------


UNPRIVILEGED = """
import os, sys, warnings
from scalinglab.board.server import Page
from scalinglab.store import Store, StoreError
with Store(sys.argv[2]).start({"number": 0}) as run:  # loads what this user may load and another may not
    run.append(step=0, test_loss=1.0)
Store(sys.argv[2]).curves()
if os.getuid() == 0:
    os.setuid(65534)
store = Store(sys.argv[1])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    curves = store.curves()
print(sorted(map(int, set(curves["number"]))), [str(w.message) for w in caught])
print(len(store.records()))
for act in (store.repair, lambda: store.start({"number": 2})):
    try:
        act()
        print("went through")
    except StoreError as error:
        print(type(error).__name__, error)
"""


@pytest.fixture
def shared_folder():
    """A folder for everybody; not below that of pytest, which each start of pytest closes to other users."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sealed", "live"])
def test_a_file_of_another_user_is_named_left_alone_and_all_others_load(shared_folder, kind):
    folder = shared_folder
    store = Store(folder / "runs")
    fill(store, [1, 2])
    path = left_unfinished(store, 3)
    for place in (store.path, *store.path.iterdir()):
        place.chmod(0o777)
    (store.path / ".lock").touch()
    (store.path / ".lock").chmod(0o666)
    victim = path if kind == "live" else store.path / "sealed" / f"{run_name({'number': 2})}.parquet"
    victim.chmod(0o600 if os.getuid() == 0 else 0o000)
    command = [sys.executable, "-c", UNPRIVILEGED, str(store.path), str(folder / "warm")]
    paths = os.pathsep.join(place for place in sys.path if place)
    out = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}, cwd="/"
    )
    assert out.returncode == 0, out.stderr
    loaded, records, *refusals = out.stdout.splitlines()
    assert loaded.startswith("[1, 2]" if kind == "live" else "[1, 3]")
    assert f"cannot read {victim}: Permission denied" in loaded
    assert records == "2"
    if kind == "sealed":
        assert len(refusals) == 2
        assert all(
            line.startswith(f"Inaccessible cannot read {victim}: Permission denied") for line in refusals
        )
    assert victim.exists()
    assert not (store.path / "damaged").exists()


def test_too_many_open_files_is_no_fault_of_a_file(tmp_path, monkeypatch):
    store = Store(tmp_path)
    fill(store, [1, 2])
    path = store.path / "sealed" / f"{run_name({'number': 2})}.parquet"
    real = Path.read_bytes

    def refuse(self):
        if self.name == path.name:
            raise OSError(errno.EMFILE, "Too many open files", str(self))
        return real(self)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    store = Store(tmp_path)
    for act in (store.curves, store.records, store.repair, lambda: store.start({"number": 2})):
        with pytest.raises(StoreError, match=r"Too many open files; .*ulimit -n") as caught:
            act()
        assert not isinstance(caught.value, (Damaged, Inaccessible))
    monkeypatch.undo()
    check(Store(tmp_path), [run_name({"number": number}) for number in (1, 2)])


# --- runs that do not fit ------------------------------------------------------------------------


def seal_without_checks(store, setting, row):
    """A run as another tool may have sealed it."""
    record = Record(run_name(setting), setting, "done", started=1.0, finished=2.0, rows=1)
    path = SealedFolder(store.path).single(record.run)
    parquet.write(path, to_table(record, [row]), [record])
    return path


@pytest.mark.parametrize(
    ("setting", "row", "reason"),
    [
        ({"n_data": "x"}, {"step": 0, "test_loss": 1.0}, "n_data must hold numbers, not 'x'"),
        ({"n_data": 300}, {"step": 0, "test_error": 1.125}, "test_error reaches 1.125"),
    ],
)
@pytest.mark.parametrize("compact", [False, True])
def test_a_run_that_no_table_can_hold_is_named_and_all_others_load(tmp_path, setting, row, reason, compact):
    store = Store(tmp_path)
    for size in (100, 200):
        with store.start({"n_data": size}) as run:
            run.append(step=0, test_loss=1.0, test_error=0.5)
    path = seal_without_checks(store, setting, row)
    if compact:
        store.compact()
        path = path if path.exists() else next(store.path.glob("sealed/pack-*"))
    with pytest.warns(StoreWarning, match=rf"{path.name}.*{run_name(setting)}.*{reason}"):
        curves = store.curves()
    assert sorted(curves["n_data"]) == [100, 200]
    assert pd.api.types.is_numeric_dtype(curves["n_data"])
    assert list(store.problems) == [str(path)]
    assert len(store.records()) == 3


def test_a_pack_in_which_sizes_became_text_is_read_as_numbers(tmp_path):
    """A pack of another tool that united 100 and "x" to text."""
    import pyarrow as pa

    store = Store(tmp_path)
    records = [Record(run_name({"n_data": n}), {"n_data": n}, "done", rows=1) for n in (100, "x")]
    columns = {"run": [r.run for r in records], "source": ["train"] * 2, "experiment": [None, None]}
    columns |= {"n_data": ["100", "x"], "status": ["done"] * 2, "step": [0, 0], "test_loss": [1.0, 2.0]}
    sealed = SealedFolder(store.path)
    sealed.prepare()
    sealed.add(pa.table(columns), records)
    with pytest.warns(StoreWarning, match="n_data.*'x'"):
        assert store.curves()["n_data"].tolist() == [100]


@pytest.mark.parametrize(
    ("setting", "message"),
    [({"n_data": "x"}, "n_data='x' must be a number"), ({"name": "\ud800"}, "lone surrogate"),
     ({"options": {"a": ["\udfff"]}}, "lone surrogate")],
)  # fmt: skip
def test_a_setting_that_would_spoil_the_store_is_refused_when_the_run_starts(tmp_path, setting, message):
    with pytest.raises(BadInput, match=message):
        Store(tmp_path).start(setting)


def test_numbers_of_400_digits_are_refused_in_rows_and_kept_in_settings(tmp_path):
    store = Store(tmp_path)
    with store.start({"huge": 10**400}) as run:
        with pytest.raises(BadInput, match="401 digits"):
            run.append(step=0, compute=10**400)
        run.append(step=0, test_loss=1.0)
    assert store.curves()["huge"].tolist() == [str(10**400)]


# --- packs -----------------------------------------------------------------------------------------


def packed(tmp_path, runs=12):
    store = Store(tmp_path)
    fill(store, range(runs))
    store.compact()
    (path,) = (tmp_path / "sealed").iterdir()
    return store, path


@pytest.mark.slow
def test_a_damaged_pack_gives_back_the_runs_that_are_intact(tmp_path):
    _, path = packed(tmp_path)
    data = path.read_bytes()
    expected = {number: [row["test_loss"] for row in rows({"number": number})] for number in range(12)}
    counts = []
    metadata = pq.read_metadata(path)
    ends = [
        metadata.row_group(k).column(0).dictionary_page_offset for k in range(12)
    ]  # where each part begins
    for changed in [*flips(data, 60), data[:-1], data[: ends[9] + 5], data[: ends[4] + 5], data[:50]]:
        path.write_bytes(changed)
        store = Store(tmp_path)
        frame = store.curves(warn=False).frame
        found = dict(list(frame.groupby("number"))) if len(frame) else {}
        for number, mine in found.items():
            assert mine["test_loss"].tolist() == expected[number]
        if len(found) < 12:
            (reason,) = store.problems.values()
            assert path.name in reason
            assert f"{len(found)} of its 12 runs are intact" in reason or not found
        counts.append(len(found))
    assert min(counts[:60]) >= 11  # a single flip costs one run at most
    assert sum(count == 11 for count in counts[:60]) > 5
    assert counts[60:] == [12, 9, 4, 0]  # a copy of the footer replaces what was cut off


def test_repair_moves_damage_aside_and_keeps_every_intact_run(tmp_path):
    store, pack = packed(tmp_path)
    fill(store, [20, 21])
    single = tmp_path / "sealed" / f"{run_name({'number': 20})}.parquet"
    single.write_bytes(single.read_bytes()[:700])
    cut = pack.read_bytes()[: pack.stat().st_size // 2]
    pack.write_bytes(cut)
    before = set(Store(tmp_path).curves(warn=False)["number"])
    assert 21 in before
    assert 3 < len(before) < 14
    moved = Store(tmp_path).repair()
    assert {path.name for path in (tmp_path / "damaged").iterdir()} == {single.name, pack.name}
    assert (tmp_path / "damaged" / pack.name).read_bytes() == cut
    assert set(moved) == {str(tmp_path / "damaged" / name) for name in (single.name, pack.name)}
    store = Store(tmp_path)
    assert store.problems == {}
    assert set(store.curves()["number"]) == before
    assert not store.done({"number": 20})
    assert store.repair() == {}
    fill(store, [20])
    single.write_bytes(b"")  # a second damaged file of the same name does not replace the first
    assert list(Store(tmp_path).repair()) == [str(tmp_path / "damaged" / f"{single.stem}-2.parquet")]


@pytest.mark.parametrize("folder", ["live", "sealed"])
def test_what_is_no_file_is_named_and_all_else_goes_on(tmp_path, folder):
    """A folder and a link to itself under the names of runs."""
    store = Store(tmp_path)
    fill(store, [1, 2])
    ending = "jsonl" if folder == "live" else "parquet"
    place = tmp_path / folder
    (place / f"folder.{ending}").mkdir()
    (place / f"loop.{ending}").symlink_to(place / f"loop.{ending}")
    with pytest.warns(StoreWarning, match="cannot read") as said:
        assert set(store.curves()["number"]) == {1, 2}
    for name in ("folder", "loop"):
        assert any(f"{name}.{ending}" in str(warning.message) for warning in said)
    assert {record.setting.get("number") for record in store.records().values()} >= {1, 2}
    assert store.compact() == 2
    assert sum(bool(finding.problem) for finding in store.verify()) == 2
    assert f"folder.{ending}, loop.{ending}" in Page(store, "title", 5.0).text()
    assert store.done({"number": 1})


def test_a_truncated_pack_does_not_pass_for_runs_that_are_done(tmp_path):
    _, path = packed(tmp_path)
    path.write_bytes(path.read_bytes()[:3000])
    assert not Store(tmp_path).done({"number": 3})


@pytest.mark.parametrize("damage", ["gone", "cut", "flipped"])
def test_an_index_is_only_a_cache(tmp_path, damage):
    store, _ = packed(tmp_path)
    for file in (tmp_path / "index").iterdir():
        data = file.read_bytes()
        if damage == "gone":
            file.unlink()
        else:
            file.write_bytes(data[:40] if damage == "cut" else data[:-30] + b"x" + data[-29:])
    if damage == "gone":
        shutil.rmtree(tmp_path / "index")
    store = Store(tmp_path)
    assert store.done({"number": 3})
    assert not store.done({"number": 99})
    assert store.problems == {}
    fill(store, [30])
    store.compact()
    assert {file.suffix for file in (tmp_path / "index").iterdir()} == {".index", ".footer"}
    assert len(list((tmp_path / "index").iterdir())) == 2
    assert Store(tmp_path).done({"number": 3})


# --- growth ----------------------------------------------------------------------------------------


def test_writers_compact_in_passing_and_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("scalinglab.store.folder.COMPACT_SINGLES", 8)
    store = Store(tmp_path)
    chosen = [number for number in range(2000) if int(run_name({"number": number})[:2], 16) < 2]
    others = [number for number in range(60) if number not in chosen]
    assert len(chosen) > 5  # one in 128
    written = []
    for part in (others[:3], chosen[:1], others[3:12], chosen[1:2], others[12:27], chosen[2:3]):
        fill(store, part)
        written += part
        packs = sum(path.name.startswith("pack-") for path in (tmp_path / "sealed").iterdir())
        assert packs == (
            0 if len(written) < 14 else 1
        )  # four runs are too few; the second pack took the first
    assert len(list((tmp_path / "sealed").iterdir())) == 1
    check(Store(tmp_path), [run_name({"number": number}) for number in written])


def test_to_start_a_run_no_folder_of_sealed_runs_is_listed(tmp_path, monkeypatch):
    store = Store(tmp_path)
    fill(store, range(10))
    store.compact()
    fill(store, range(10, 20))
    listed = []
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path=".": listed.append(str(path)) or real(path))
    monkeypatch.setattr(os, "scandir", lambda path=".": pytest.fail(f"{path} is listed"))
    fresh = Store(tmp_path)
    assert fresh.status({"number": 3}) == "done"
    assert fresh.status({"number": 13}) == "done"
    fresh.start({"number": 99}).close()
    assert set(listed) == {str(tmp_path / "index")}


# --- checked files ---------------------------------------------------------------------------------


def test_a_checked_file_is_read_whole_or_called_damaged(tmp_path):
    path = tmp_path / "state"
    content = np.random.default_rng(0).bytes(1000)
    checked.write_checked(path, lambda file: file.writelines([content[:10], content[10:]]))
    assert bytes(checked.read_checked(path)) == content
    data = path.read_bytes()
    for changed in [*flips(data, 100), data[:-1], data[:500], b"", data + b"x"]:
        path.write_bytes(changed)
        with pytest.raises(Damaged, match="state is damaged"):
            checked.read_checked(path)
    with pytest.raises(FileNotFoundError):
        checked.read_checked(tmp_path / "none")


def test_a_damaged_file_never_replaces_another(tmp_path):
    for name in ("a.pt", "a-2.pt", "a-3.pt"):
        (tmp_path / "a.pt").write_text(name)
        assert files.quarantine(tmp_path / "a.pt", tmp_path).name == name
