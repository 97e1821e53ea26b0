"""Stores of every released format, kept in tests/store/formats, and files of formats still to come."""

import json
import shutil
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scalinglab.curves import run_name
from scalinglab.store import NewerFormat, Store, StoreWarning
from scalinglab.store.record import FORMAT

FORMATS = sorted((Path(__file__).parent / "formats").iterdir())


def rows(number):
    return [{"step": t, "test_loss": 1.0 / (1 + number) / (1 + t)} for t in range(3)]


@pytest.fixture(params=FORMATS, ids=lambda path: path.name)
def kept(request, tmp_path):
    shutil.copytree(request.param, tmp_path / "runs")
    return Store(tmp_path / "runs")


def test_a_store_of_every_format_up_to_now_is_kept():
    assert [int(path.name) for path in FORMATS] == list(range(1, FORMAT + 1))


def test_a_store_of_every_released_format_is_read_exactly(kept):
    statuses = {record.setting["number"]: record.status for record in kept.records().values()}
    expected = {1: "done", 2: "done", 3: "done", 4: "diverged", 5: "failed", 6: "unfinished"}
    assert statuses == expected
    frame = kept.curves().frame
    for number in (1, 2, 3, 4):
        found = frame[frame["number"] == number]
        assert found[["step", "test_loss"]].to_dict("records") == rows(number)
    assert frame[frame["number"] == 6]["test_loss"].tolist() == [1 / 7, 1 / 14, float("inf")]
    assert set(frame[frame["number"] == 4]["diverged_at"]) == {2}
    assert set(frame[frame["number"] == 1]["experiment"]) == {"kept"}
    assert "ZeroDivisionError" in kept.failed()[run_name({"number": 5})].error
    assert kept.records()[run_name({"number": 3, "n_data": 100})].meta["version"] == "0.1.0"
    assert kept.problems == {}
    assert kept.done({"number": 1, "model": "cnn"})  # in a pack
    assert not kept.done({"number": 5})


def test_work_goes_on_in_a_store_of_every_released_format(kept):
    writer, so_far = kept.resume({"number": 6})
    assert [row["step"] for row in so_far] == [0, 1, 2]
    writer.append(step=3, test_loss=0.5)
    writer.close()
    assert kept.problems == {}
    writer, so_far = kept.resume({"number": 6})
    assert so_far[-1] == {"step": 3, "test_loss": 0.5}
    writer.seal()
    kept.compact()
    assert {r.status for r in kept.records().values()} == {"done", "diverged", "failed"}
    assert len(list((kept.path / "sealed").glob("pack-*"))) == 1
    kept.discard(run_name({"number": 1, "model": "cnn"}))
    assert not kept.done({"number": 1, "model": "cnn"})
    assert kept.done({"number": 2, "model": "cnn"})
    assert kept.problems == {}


def seal(store, setting):
    with store.start(setting) as run:
        run.append(step=0, test_loss=1.0)


def rewritten(path, change):
    """Write a sealed file anew with another footer, as another version would."""
    table = pq.read_table(path)
    text = pq.read_metadata(path).metadata[b"scalinglab"][8:]
    footer = json.loads(text)
    change(footer)
    text = json.dumps(footer).encode()
    with pq.ParquetWriter(path, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({b"scalinglab": b"%08x" % zlib.crc32(text) + text})


def a_new_field(footer):
    for entry in footer["runs"].values():
        entry["mood"] = "good"


def a_new_format(footer):
    footer |= {"format": FORMAT + 1, "version": "9.9.9", "runs": "arranged otherwise"}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("change", "writer"), [(a_new_field, "scalinglab"), (a_new_format, r"scalinglab 9\.9\.9")]
)
def test_a_file_of_a_newer_version_is_refused_by_name_and_left_alone(tmp_path, change, writer, packed):
    store = Store(tmp_path)
    setting = {"number": 1}
    seal(store, setting)
    if packed:
        store.compact()
        shutil.rmtree(tmp_path / "index")
    (path,) = (tmp_path / "sealed").glob("*.parquet")
    other = tmp_path / "other"
    seal(Store(other), {"number": 2})
    for file in (other / "sealed").iterdir():
        shutil.copy(file, tmp_path / "sealed")
    rewritten(path, change)
    content = path.read_bytes()
    store = Store(tmp_path)
    with pytest.warns(StoreWarning, match=f"{path.name} was written by {writer}.*upgrade"):
        assert set(store.curves()["number"]) == {2}
    with pytest.raises(NewerFormat, match=f"written by {writer}"):
        store.start(setting)
    with pytest.raises(NewerFormat, match="upgrade"):
        store.repair()
    store.compact()
    assert path.read_bytes() == content


def test_a_live_file_of_a_newer_version_is_refused_by_name_and_left_alone(tmp_path):
    store = Store(tmp_path)
    run = store.start({"number": 1})
    run.append(step=0, test_loss=1.0)
    run.close()
    header, row = run.path.read_text().splitlines()
    values = json.loads(header) | {"scalinglab": FORMAT + 1, "version": "9.9.9"}
    values.pop("crc32")
    text = json.dumps(values)[:-1].encode()
    run.path.write_bytes(text + b', "crc32": "%08x"}\n' % zlib.crc32(text) + row.encode() + b"\n")
    content = run.path.read_bytes()
    with pytest.warns(StoreWarning, match=r"scalinglab 9\.9\.9.*upgrade"):
        assert len(store.curves()) == 0
    with pytest.raises(NewerFormat, match=r"scalinglab 9\.9\.9"):
        store.resume({"number": 1})
    assert run.path.read_bytes() == content


def test_measured_columns_of_other_tools_do_not_pass_for_a_stores_file(tmp_path):
    store = Store(tmp_path)
    (tmp_path / "sealed").mkdir()
    pq.write_table(pa.table({"run": ["a"], "test_loss": [1.0]}), tmp_path / "sealed" / "a.parquet")
    with pytest.warns(StoreWarning, match=r"a\.parquet.*damaged"):
        assert len(store.curves()) == 0
