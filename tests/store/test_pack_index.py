"""The index of a pack: found in it is what the pack holds."""

import random

import pyarrow as pa
import pytest

from scalinglab.store import Damaged, Store
from scalinglab.store.record import SEALED, Record
from scalinglab.store.sealed_runs import pack_index as indexes
from scalinglab.store.sealed_runs import parquet

RUNS = 5_000
NAMES = [f"run-{number}" for number in range(RUNS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An index file of 5,000 runs."""
    records = {name: Record(name, status=SEALED[k % 3], rows=1) for k, name in enumerate(NAMES)}
    folder = tmp_path_factory.mktemp("index")
    pack = folder / "pack-a.parquet"
    parquet.write(pack, pa.table({"run": NAMES}), records.values(), replaces=("pack-old.parquet",))
    indexes.write_index(folder, pack.name, pack)
    return folder


def test_every_run_is_found_and_no_other(folder):
    index = indexes.read_index(folder, "pack-a.parquet")
    size = (folder / "pack-a.parquet").stat().st_size
    assert (index.size, index.replaces, len(index.keys)) == (size, ("pack-old.parquet",), RUNS)
    assert [index.ended(name) for name in NAMES] == [SEALED[k % 3] for k in range(RUNS)]
    assert not any(index.ended(f"other-{k}") for k in range(RUNS))


def test_a_flip_anywhere_is_damage(folder, tmp_path):
    data = (folder / "pack-a.index").read_bytes()
    chance = random.Random(0)
    for place in [*range(300), *(chance.randrange(len(data)) for _ in range(100))]:
        flipped = bytes([data[place] ^ 1 << chance.randrange(4)])  # low bits: a digit stays a digit
        (tmp_path / "pack-a.index").write_bytes(data[:place] + flipped + data[place + 1 :])
        with pytest.raises(Damaged, match=r"pack-a\.index.*damaged"):
            indexes.read_index(tmp_path, "pack-a.parquet")
    for end in (0, 10, 300, len(data) // 2, len(data) - 100):
        (tmp_path / "pack-a.index").write_bytes(data[:end])
        with pytest.raises(Damaged, match=r"pack-a\.index.*damaged"):
            indexes.read_index(tmp_path, "pack-a.parquet")


@pytest.mark.parametrize("damage", ["gone", "changed"])
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
    if damage == "changed":
        assert [f.path for f in fresh.verify() if f.problem] == [path]
    fresh.compact()
    with fresh.start({"number": 9}) as run:
        run.append(step=1, test_loss=0.5)
    fresh.compact()
    assert not any(f.problem for f in fresh.verify())
