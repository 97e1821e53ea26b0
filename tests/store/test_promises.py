"""Promises of the store that a small change of the code would break unseen."""

import json
import sys
import warnings
import zlib
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scalinglab.curves import run_name
from scalinglab.errors import BadInput
from scalinglab.store import Record, Store, StoreError, StoreWarning, record
from scalinglab.store.checked import write_checked
from scalinglab.store.sealed_runs import parquet
from scalinglab.store.sealed_runs.sealed_folder import SealedFolder


def fill(store: Store, *numbers: int) -> None:
    for number in numbers:
        with store.start({"number": number}) as run:
            run.append(step=1, test_loss=1.0 / (1 + number))


def singles(path) -> int:
    """How many runs have a sealed file of their own."""
    return sum(not file.name.startswith("pack-") for file in (path / "sealed").glob("*.parquet"))


def rewrite(path, change, right_checksum: bool) -> None:
    """Write a sealed file with another footer."""
    table, metadata = pq.read_table(path), pq.read_metadata(path).metadata
    text = metadata[b"scalinglab"]
    new = change(text[8:].decode()).encode()
    checksum = b"%08x" % zlib.crc32(new) if right_checksum else text[:8]
    table = table.replace_schema_metadata(None)
    with pq.ParquetWriter(path, table.schema, store_schema=False, write_page_checksum=True) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({b"scalinglab": checksum + new})


@pytest.mark.parametrize("right_checksum", [True, False])
def test_a_footer_that_was_changed_is_noticed_by_its_checksum_alone(tmp_path, right_checksum: bool):
    """The change leaves valid JSON of the right length: only the checksum tells."""
    store = Store(tmp_path)
    fill(store, 1, 2)
    path = tmp_path / "sealed" / f"{run_name({'number': 1})}.parquet"
    rewrite(path, lambda text: text.replace('"status": "done"', '"status": "lost"'), right_checksum)
    store = Store(tmp_path)
    if right_checksum:  # the rewriting itself does no harm
        assert store.records()[path.stem].status == "lost"
        return
    with pytest.warns(StoreWarning, match="checksum of the footer is wrong"):
        frame = store.curves().frame
    assert set(frame["number"]) == {2}


def test_a_pack_that_another_replaces_is_not_read_even_where_only_it_has_a_run(tmp_path):
    """As after a crash between writing the new pack and removing the old: what was discarded stays so."""
    store = Store(tmp_path)
    fill(store, 1, 2, 3)
    store.compact()
    (old,) = (tmp_path / "sealed").glob("pack-*.parquet")
    data = old.read_bytes()
    store.discard(run_name({"number": 2}))
    old.write_bytes(data)
    again = Store(tmp_path)
    assert run_name({"number": 2}) not in again.records()
    assert again.status({"number": 2}) == "missing"
    assert set(again.curves()["number"]) == {1, 3}
    again.compact()
    assert not old.exists()


def test_errors_are_fractions_to_the_last_digit(tmp_path):
    run = Store(tmp_path).start({"number": 1})
    for wrong in (1.5, 1.0000001):
        with pytest.raises(BadInput, match="errors are fractions"):
            run.append(step=1, test_error=wrong)
    run.append(step=1, test_error=1.0, train_error=0.0)
    run.seal()


def test_a_dataclass_is_a_setting_and_its_class_is_not(tmp_path):
    @dataclass(frozen=True)
    class Setting:
        width: int = 8

    store = Store(tmp_path)
    with store.start(Setting(16)) as run:
        run.append(step=1, test_loss=1.0)
    assert run.run == run_name({"width": 16})
    assert store.done(Setting(16))
    with pytest.raises(BadInput, match="a dictionary or a dataclass"):
        store.start(Setting)


def test_a_folder_is_a_store_with_runs_under_way_or_sealed(tmp_path):
    assert not Store.is_store(tmp_path)
    run = Store(tmp_path / "live").start({"number": 1})
    assert Store.is_store(tmp_path / "live")
    run.close()
    (tmp_path / "packed" / "sealed").mkdir(parents=True)
    assert Store.is_store(tmp_path / "packed")


def test_one_text_setting_makes_the_column_text_in_all_runs(tmp_path):
    store = Store(tmp_path)
    for choice in (1, "one", 2.5, None):
        with store.start({"choice": choice}) as run:
            run.append(step=1, test_loss=1.0)
    store.compact()
    assert sorted(store.curves().frame["choice"].dropna()) == ["1", "2.5", "one"]
    (pack,) = (tmp_path / "sealed").glob("pack-*.parquet")
    assert pq.read_schema(pack).field("choice").type == pa.string()
    assert (
        json.loads(pq.read_metadata(pack).metadata[b"scalinglab"][8:])["columns"]
        == pq.read_schema(pack).names
    )


@pytest.fixture
def from_six_files_on(monkeypatch):
    """Has stores packed, once it is called, where they are loaded with six runs in files of their own."""
    return lambda: monkeypatch.setattr("scalinglab.store.folder.READ_SINGLES", 6)


@pytest.mark.parametrize("others", [False, True])
def test_loading_many_single_files_compacts_them_in_a_store_of_ones_own(
    tmp_path, monkeypatch, from_six_files_on, others: bool
):
    store = Store(tmp_path)
    fill(store, *range(6))
    before = store.curves()
    from_six_files_on()
    if others:
        monkeypatch.setattr("os.getuid", lambda: tmp_path.stat().st_uid + 1)
    with nullcontext() if others else pytest.warns(StoreWarning, match="6 runs have a file each"):
        after = store.curves()
    packs = [path for path in (tmp_path / "sealed").iterdir() if path.name.startswith("pack-")]
    assert (len(packs), singles(tmp_path)) == ((0, 6) if others else (1, 0))
    order = ["run", "step"]
    tables = [curves.frame.sort_values(order, ignore_index=True) for curves in (before, after)]
    pd.testing.assert_frame_equal(*tables)


def test_loading_beside_a_process_that_compacts_leaves_the_files_to_it(tmp_path, from_six_files_on):
    store = Store(tmp_path)
    fill(store, *range(6))
    from_six_files_on()
    with Store(tmp_path).locked():
        assert len(store.curves().runs) == 6
    assert singles(tmp_path) == 6


def test_failed_runs_keep_their_files_and_are_not_announced_as_to_be_compacted(tmp_path, from_six_files_on):
    store = Store(tmp_path)
    fill(store, *range(2))
    for number in range(2, 8):
        store.start({"number": number}).seal("failed")
    from_six_files_on()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(store.curves().runs) == 2
    assert singles(tmp_path) == 8


def test_files_that_several_threads_read_are_named_where_they_are_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr("scalinglab.store.sealed_runs.sealed_folder.MANY", 2)
    store = Store(tmp_path)
    fill(store, *range(7))
    path = tmp_path / "sealed" / f"{run_name({'number': 3})}.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.warns(StoreWarning, match=path.name):
        curves = store.curves()
    expected = {run_name({"number": number}) for number in range(7) if number != 3}
    assert set(curves.runs) == expected
    assert curves.frame.set_index("run")["test_loss"][run_name({"number": 6})] == 1 / 7


def packs(path) -> list[int]:
    """How many runs each pack holds."""
    return sorted(
        len(pq.read_table(pack)["run"].unique()) for pack in (path / "sealed").glob("pack-*.parquet")
    )


def test_a_pack_is_merged_in_passing_only_with_as_many_rows_as_it_has(tmp_path):
    """So that no row is written more often than the logarithm of their number; `compact` merges all."""
    store = Store(tmp_path)
    fill(store, *range(4))
    store.compact()
    in_passing = partial(SealedFolder(tmp_path).compact, lambda run: False, 1000)
    fill(store, 10, 11)
    assert in_passing() == 2
    assert packs(tmp_path) == [2, 4], "two rows do not rewrite four"
    fill(store, 12, 13)
    assert in_passing() == 2
    assert packs(tmp_path) == [8], "with two of the small pack they are four, and then eight"
    fill(store, 14)
    assert SealedFolder(tmp_path).compact(lambda run: False, 8) == 1
    assert packs(tmp_path) == [1, 8], "a pack of as many rows as may be merged is left alone"
    store.compact()
    assert packs(tmp_path) == [9]
    assert sorted(store.curves()["number"]) == [0, 1, 2, 3, 10, 11, 12, 13, 14]


def test_compacting_removes_what_killed_writers_left_half_written_and_nothing_of_those_at_work(tmp_path):
    store = Store(tmp_path)
    fill(store, *range(3))
    store.compact()
    dead, at_work = (f".{run_name({'number': number})}.parquet.partial" for number in (8, 9))
    left = [tmp_path / "sealed" / name for name in (dead, at_work, ".pack-0123.parquet.partial")]
    left.append(tmp_path / "index" / ".pack-0123.index.partial")
    for path in left:
        path.write_bytes(b"half")
    with store.start({"number": 9}):
        store.compact()
        assert [path.exists() for path in left] == [False, True, False, False]
    with pytest.raises(BadInput, match="has no run 'nothing'"):
        store.record("nothing")


def test_verify_counts_each_run_once(tmp_path):
    store = Store(tmp_path)
    fill(store, 1, 2, 3)
    store.compact()
    fill(store, 4)
    with store.start({"number": 5}) as run:
        run.append(step=1, test_loss=1.0)
        found = {(f.kind, f.runs) for f in store.verify()}
    assert {kind for kind, _ in found} == {"run", "pack", "index", "live"}
    assert {(kind, runs) for kind, runs in found if runs} == {("run", 1), ("pack", 3), ("live", 1)}
    assert not any(f.problem for f in store.verify())


def test_a_record_knows_how_long_its_run_took():
    record = Record("a", {"number": 1}, started=10.0, finished=12.5)
    assert record.seconds == 2.5
    assert replace(record, finished=None).seconds is None
    assert replace(record, started=None).seconds is None


def test_failed_runs_are_left_out_of_the_table_and_kept_on_request(tmp_path):
    store = Store(tmp_path)
    fill(store, 1)

    def broken() -> None:
        with store.start({"number": 2}) as run:
            run.append(step=1, test_loss=1.0)
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        broken()
    assert set(store.curves()["number"]) == {1}
    assert set(store.curves(failed=True)["number"]) == {1, 2}


def test_discarding_a_run_rewrites_the_pack_that_holds_it_and_no_other(tmp_path):
    store = Store(tmp_path)
    fill(store, 1, 2)
    store.compact()
    (first,) = (tmp_path / "sealed").glob("pack-*.parquet")
    fill(store, 3, 4)
    SealedFolder(tmp_path).compact(lambda run: False, 1)  # into a pack of their own
    (second,) = {*(tmp_path / "sealed").glob("pack-*.parquet")} - {first}
    store.discard(run_name({"number": 3}))
    assert first.exists()
    assert not second.exists()
    first.write_bytes(b"damaged")
    store = Store(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)
        store.discard(run_name({"number": 4}))
        assert len(store.curves()) == 0
    assert first.exists(), "a pack that cannot be read is left alone"


def test_verify_names_a_grid_that_is_not_the_one_its_file_is_named_by(tmp_path):
    store = Store(tmp_path)
    fill(store, 1)
    grid = {"base": {"model": "mlp"}, "seeds": 2}
    path = tmp_path / "grids" / f"{run_name({'grid': json.dumps(grid, sort_keys=True)})}.json"
    write_checked(path, lambda file: file.writelines([json.dumps({"grid": grid}).encode()]))
    (found,) = [f for f in store.verify() if f.kind == "grid"]
    assert (found.path, found.problem, found.runs) == (path, None, 0)
    other = json.dumps({"grid": grid | {"seeds": 3}}).encode()
    write_checked(path, lambda file: file.writelines([other]))
    (found,) = [f for f in store.verify() if f.kind == "grid"]
    assert "not the one that it is named by" in found.problem


def test_a_known_footer_stands_for_the_file_it_was_read_from_and_no_other(tmp_path):
    store = Store(tmp_path)
    fill(store, 1, 2)
    one, two = (tmp_path / "sealed" / f"{run_name({'number': number})}.parquet" for number in (1, 2))
    footer, _ = parquet.read(one)
    assert parquet.read(one, footer)[0] is footer
    assert list(parquet.read(two, footer)[0].records) == [two.stem]


def test_a_store_shows_how_many_runs_ended_how(tmp_path):
    store = Store(tmp_path)
    assert repr(store) == f"Store {tmp_path}: no runs yet"
    fill(store, 1, 2, 3)
    run = store.start({"number": 4})
    run.append(step=1, test_loss=1.0)
    run.seal("diverged", diverged_at=1)
    assert repr(store) == f"Store {tmp_path}: 1 diverged, 3 done"


def test_arrays_come_back_by_step_and_a_damaged_file_is_named(tmp_path):
    store = Store(tmp_path)
    for step in (100, 20):
        store.keep_arrays("abc", step, {"kernel": np.full((2, 2), step), "trace": np.array(1.5)})
    found = store.arrays("abc")
    assert list(found) == [20, 100], "in order of steps, not of names"
    assert found[20]["kernel"].tolist() == [[20, 20], [20, 20]]
    assert found[100]["trace"] == 1.5
    assert store.arrays("another") == {}
    (tmp_path / "arrays" / "abc" / "20.npz").write_bytes(b"PK")
    with pytest.raises(StoreError, match=r"20\.npz.*damaged"):
        store.arrays("abc")


def test_a_record_names_the_first_gpu_and_never_fails_for_want_of_one(monkeypatch):
    def torch(available, name=lambda number: ("first", "second")[number]):
        return SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: available, get_device_name=name))

    def broken(number):
        raise RuntimeError("driver")

    for module, expected in (
        (torch(True), "first"), (torch(False), None), (torch(True, broken), None), (None, None)
    ):  # fmt: skip
        monkeypatch.setitem(sys.modules, "torch", module)
        assert record.first_gpu() == expected
