"""What was found from outside: files outside of a store, damaged attempts, checksums, budgets of a grid."""

import errno
import random
import time
import zlib

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.store import Damaged, NewerFormat, Store, StoreError, StoreWarning
from scalinglab.store.record import FORMAT
from scalinglab.sweep import driver
from scalinglab.sweep.grid import Grid
from scalinglab.sweep.plan import keep_grid


def unfinished(store, setting, rows=20):
    run = store.start(setting)
    for step in range(rows):
        run.append(step=step, test_loss=1.0 / (1 + step))
    run.close()
    return run.path


@pytest.mark.parametrize("way_in", ["start", "resume"])
def test_a_damaged_attempt_is_copied_before_a_run_begins_or_goes_on(tmp_path, way_in):
    store = Store(tmp_path)
    path = unfinished(store, {"number": 1})
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.warns(StoreWarning, match="is kept as"):
        run = getattr(store, way_in)({"number": 1})
    (run if way_in == "start" else run[0]).close()
    (copy,) = (tmp_path / "damaged").iterdir()
    assert copy.read_bytes() == data


@pytest.mark.parametrize("way_in", ["start", "resume"])
def test_an_attempt_of_a_later_version_is_refused_and_stays(tmp_path, way_in):
    store = Store(tmp_path)
    path = unfinished(store, {"number": 1})
    data = path.read_bytes()
    newer = data.replace(b'{"scalinglab": %d,' % FORMAT, b'{"scalinglab": %d,' % (FORMAT + 1), 1)
    content, _, rest = newer.partition(b', "crc32"')
    path.write_bytes(content + b', "crc32": "%08x"}\n' % zlib.crc32(content) + rest.partition(b"\n")[2])
    before = path.read_bytes()
    with pytest.raises(NewerFormat):
        getattr(store, way_in)({"number": 1})
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["../../keep", "..", "/tmp/keep", "a\\..\\keep", ""])
def test_a_name_never_leads_out_of_the_store(tmp_path, name):
    kept = [tmp_path / f"keep{ending}" for ending in (".jsonl", ".parquet", ".npz")]
    for file in kept:
        file.write_text("mine")
    store = Store(tmp_path / "a" / "runs")
    unfinished(store, {"number": 1})
    with pytest.raises(BadInput, match="no run"):
        store.discard(name)
    assert store.status(name) == "missing"
    for act in (lambda: store.keep_arrays(name, 1, {"x": np.ones(2)}), lambda: store.arrays(name)):
        with pytest.raises(BadInput, match="file name"):
            act()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", *sorted(file.name for file in kept)]
    assert {file.read_text() for file in kept} == {"mine"}


def test_runs_of_tables_may_be_called_like_paths_and_be_discarded(tmp_path):
    store = Store(tmp_path / "runs")
    curves = sl.Curves({"run": ["/logs/a", "../b"], "n_data": [1, 2], "test_loss": [0.5, 0.25]})
    assert store.add(curves) == ["/logs/a", "../b"]
    assert store.status("../b") == "done"
    store.discard("../b")
    assert list(store.records()) == ["/logs/a"]


def test_links_do_not_lead_writes_out_of_the_store(tmp_path):
    store = Store(tmp_path / "runs")
    path = unfinished(store, {"number": 1})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(outside / "file")
    before = (outside / "file").read_bytes()
    with pytest.raises(StoreError, match="link"):
        store.start({"number": 1})
    assert (outside / "file").read_bytes() == before
    (store.path / "arrays").mkdir()
    (store.path / "arrays" / "abc").symlink_to(outside)
    with pytest.raises(StoreError, match="link"):
        store.keep_arrays("abc", 1, {"x": np.ones(2)})
    assert [file.name for file in outside.iterdir()] == ["file"]


@pytest.mark.parametrize("folder", ["live", "sealed", "index", "arrays", "grids", "state", "damaged"])
def test_no_folder_of_a_store_is_a_link(tmp_path, folder):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / folder).symlink_to(outside)
    with pytest.raises(StoreError, match=f"{folder} is a link"):
        Store(tmp_path / "runs")
    (tmp_path / "runs" / folder).unlink()
    (tmp_path / "linked").symlink_to(tmp_path / "runs")  # the whole store may be one
    unfinished(Store(tmp_path / "linked"), {"number": 1})
    assert list(outside.iterdir()) == []


def test_arrays_and_grids_with_one_bit_changed_are_never_used(tmp_path):
    store = Store(tmp_path)
    unfinished(store, {"number": 1})
    store.keep_arrays("abc", 3, {"eigenvalues": np.linspace(0, 1, 40)})
    keep_grid(Grid(setting={"model": "mlp"}, seeds=2), store, {"workers": 2})
    np.testing.assert_array_equal(store.arrays("abc")[3]["eigenvalues"], np.linspace(0, 1, 40))
    assert driver.grids_in(store)[0].seeds == 2
    (arrays,), (grid,) = tmp_path.glob("arrays/*/*.npz"), tmp_path.glob("grids/*.json")
    assert np.load(arrays)["eigenvalues"].shape == (40,)  # by NumPy alone, too
    rng = random.Random(0)
    for path, act, kind in (
        (arrays, lambda: store.arrays("abc"), "arrays"), (grid, lambda: driver.grids_in(store), "grid")
    ):  # fmt: skip
        data = path.read_bytes()
        for trial in range(100):
            changed = bytearray(data)
            changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            path.write_bytes(bytes(changed) if trial % 2 else data[: rng.randrange(len(data))])
            with pytest.raises(ScalinglabError, match="damaged"):
                act()
            assert [found.kind for found in store.verify() if found.problem] == [kind]
        path.write_bytes(data)
    assert not any(found.problem for found in store.verify())


def test_a_run_that_cannot_be_sealed_is_left_and_can_be_resumed_at_once(tmp_path):
    store = Store(tmp_path)
    run = store.start({"number": 1})
    (tmp_path / "sealed").rmdir()
    (tmp_path / "sealed").write_text("in the way")  # as a full disk: nothing can be sealed
    with pytest.raises(OSError) as caught, run:
        run.append(step=0, test_loss=1.0)
    assert caught.value.errno in (None, errno.ENOTDIR, errno.EEXIST)
    (tmp_path / "sealed").unlink()
    (tmp_path / "sealed").mkdir()
    again, rows = store.resume({"number": 1})
    assert rows == [{"step": 0, "test_loss": 1.0}]
    again.seal()
    assert store.done({"number": 1})


def test_a_clock_that_is_set_back_gives_no_duration(tmp_path, clock):
    store = Store(tmp_path)
    with store.start({"number": 1}) as run:
        run.append(step=0, test_loss=1.0)
        clock.now = 1.0
    (record,) = store.records().values()
    assert record.finished == 1.0
    assert record.seconds is None


@pytest.mark.parametrize(
    ("grid", "count"),
    [
        ({"seeds": 1_000_000_000}, "1,000,000,000"),
        ({"axes": {name: list(range(1000)) for name in "abc"}}, "1,000,000,000"),
        ({"axes": {"a": {"from": 1.0, "to": 2.0, "points": 10**9}}}, "1,000,000,000"),
        ({"axes": {"a": {"largest": 5.0, "ratio": 2, "count": 10**9}}}, "1,000,000,000"),
    ],
)
def test_a_grid_of_too_many_runs_is_counted_and_refused_before_it_is_built(grid, count):
    began = time.process_time()
    with pytest.raises(BadInput, match=count):
        Grid.from_dict({"setting": {"model": "mlp"}, **grid}).settings()
    assert time.process_time() - began < 2


def test_a_ratio_beyond_numbers_and_long_axes_are_no_trouble():
    with pytest.raises(BadInput, match="no number"):
        Grid(axes={"n_data": {"largest": 10, "ratio": 1e300, "count": 4}}).settings()
    began = time.process_time()
    assert len(Grid(axes={"n_data": list(range(40_000))}).settings()) == 40_000
    assert time.process_time() - began < 5
    with pytest.raises(BadInput, match="twice"):
        Grid(axes={"n_data": [*range(1, 40_000), 1.0]}).settings()
    with pytest.raises(BadInput, match="twice"):
        Grid(axes={"hidden": [[1, 2], [3], [1, 2]]}).settings()


def test_damage_is_named_by_its_own_error(tmp_path):
    store = Store(tmp_path)
    store.keep_arrays("abc", 1, {"x": np.ones(3)})
    (path,) = tmp_path.glob("arrays/*/*.npz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(Damaged, match=path.name):
        store.arrays("abc")
