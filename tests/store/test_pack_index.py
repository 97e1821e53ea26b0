"""The index of a pack: found in it is what the pack holds, one block read whatever its size."""

import random

import numpy as np
import pytest

from scalinglab.store import Damaged, Store
from scalinglab.store.record import SEALED, Record
from scalinglab.store.sealed_runs import pack_index as indexes
from scalinglab.store.sealed_runs import parquet

RUNS = 5_000
NAMES = [f"run-{number}" for number in range(RUNS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An index file of 5,000 runs, which is five blocks."""
    records = {name: Record(name, status=SEALED[k % 3]) for k, name in enumerate(NAMES)}
    footer = parquet.Footer(records, ("pack-old.parquet",))
    folder = tmp_path_factory.mktemp("index")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "read_footer", lambda path: footer)
        patch.setattr(parquet, "tail_of", lambda path: b"the end")
        pack = folder / "pack"
        pack.write_bytes(b"123")
        indexes.write_index(folder, "pack-a.parquet", pack)
    return folder


def test_every_run_is_found_and_no_other(folder):
    index = indexes.read_index(folder, "pack-a.parquet")
    assert (index.size, index.replaces, index.runs) == (3, ("pack-old.parquet",), RUNS)
    assert [index.ended(name) for name in NAMES] == [SEALED[k % 3] for k in range(RUNS)]
    assert not any(index.ended(f"other-{k}") for k in range(RUNS))


def test_keys_at_the_edges_of_blocks_and_beyond_them_end_the_search(folder, monkeypatch):
    """Between two blocks, below the first key and above the last."""
    index = indexes.read_index(folder, "pack-a.parquet")
    keys, ends = index.arrays()
    assert len(keys) == RUNS
    edges = [place for block in range(1, 5) for place in (block * indexes.BLOCK - 1, block * indexes.BLOCK)]
    for place in (0, *edges, RUNS - 1):
        for shift in (-1, 0, 1):
            key = int(keys[place]) + shift
            monkeypatch.setattr(indexes, "_key", lambda run, key=key: np.uint64(key))
            assert index.ended("any") == (SEALED[ends[place]] if shift == 0 else None)
    for key in (0, 2**64 - 1):
        monkeypatch.setattr(indexes, "_key", lambda run, key=key: np.uint64(key))
        assert index.ended("any") is None


def test_of_many_runs_few_blocks_are_read(folder, monkeypatch):
    read = []
    real = indexes._read_block
    monkeypatch.setattr(indexes, "_read_block", lambda *given: read.append(given[-1]) or real(*given))
    index = indexes.read_index(folder, "pack-a.parquet")
    counts = []
    for name in NAMES[:300]:
        read.clear()
        index.ended(name)
        counts.append(len(read))
    assert max(counts) <= 2
    assert np.mean(counts) < 1.2


def test_a_flip_anywhere_is_damage_or_changes_no_answer(folder, tmp_path):
    data = (folder / "pack-a.index").read_bytes()
    right = indexes.read_index(folder, "pack-a.parquet").arrays()
    chance = random.Random(0)
    places = [*range(300), *(chance.randrange(len(data)) for _ in range(100))]
    damaged = 0
    for place in places:
        flipped = bytes([data[place] ^ 1 << chance.randrange(4)])  # low bits: a digit stays a digit
        (tmp_path / "pack-a.index").write_bytes(data[:place] + flipped + data[place + 1 :])
        try:
            index = indexes.read_index(tmp_path, "pack-a.parquet")
            assert (index.size, index.replaces, index.runs) == (3, ("pack-old.parquet",), RUNS)
            assert all(map(np.array_equal, index.arrays(), right))
        except Damaged:
            damaged += 1
    assert damaged >= len(places) - 3  # all but a flip in the checksum of the whole, which `verify` reads
    for end in (0, 10, 300, len(data) // 2, len(data) - 100):
        (tmp_path / "pack-a.index").write_bytes(data[:end])
        with pytest.raises(Damaged, match=r"pack-a\.index.*damaged"):
            indexes.read_index(tmp_path, "pack-a.parquet").arrays()


@pytest.mark.parametrize("damage", ["gone", "block"])
def test_a_run_is_done_also_where_the_index_is_lost_or_damaged(tmp_path, damage):
    store = Store(tmp_path)
    for number in range(5):
        with store.start({"number": number}) as run:
            run.append(step=1, test_loss=0.5)
    store.compact()
    (path,) = (tmp_path / "index").glob("*.index")
    data = path.read_bytes()
    place = data.index(b"\n") + 5
    path.unlink() if damage == "gone" else path.write_bytes(data[:place] + b"?" + data[place + 1 :])
    fresh = Store(tmp_path)
    for _ in range(2):  # the second answer is from what was rebuilt
        assert [fresh.done({"number": number}) for number in range(7)] == [True] * 5 + [False] * 2
    if damage == "block":
        assert [f.path for f in fresh.verify() if f.problem] == [path]
    fresh.compact()
    with fresh.start({"number": 9}) as run:
        run.append(step=1, test_loss=0.5)
    fresh.compact()
    assert not any(f.problem for f in fresh.verify())


@pytest.mark.parametrize("lowest", [0, 2**64 - 1 - RUNS])
def test_runs_are_found_where_all_hashes_lie_at_one_end(lowest, monkeypatch):
    """The search starts at the wrong end and has to walk over all blocks, to the first or to the last."""
    monkeypatch.setattr(indexes, "_key", lambda run: np.uint64(lowest + int(run.removeprefix("run-"))))
    records = {name: Record(name, status=SEALED[k % 3]) for k, name in enumerate(NAMES)}
    index = indexes.index_of(parquet.Footer(records, ()), 3)
    assert [index.ended(name) for name in NAMES[::97]] == [SEALED[k % 3] for k in range(0, RUNS, 97)]
    for place in (0, RUNS - 1):
        assert index.ended(NAMES[place]) == SEALED[place % 3]
