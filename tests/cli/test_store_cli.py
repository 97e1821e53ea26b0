"""``scalinglab store``: reports, exit statuses and files."""

import json

import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.store import Store
from tests.store.test_contract import check, fill


def call(*words):
    found = CliRunner().invoke(app, ["store", *map(str, words)])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.output


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "runs")
    fill(store, range(6))
    store.compact()
    fill(store, [10, 11])
    run = store.start({"number": 20})
    run.append(step=0, test_loss=1.0)
    run.close()
    return store


def test_an_intact_store_is_verified_with_status_0(store):
    status, output = call("verify", store.path, "--json")
    document = json.loads(output)
    assert status == 0
    assert document["damaged"] == 0
    counted = {row["files"]: (row["checked"], row["runs"]) for row in document["kinds"]}
    assert counted == {
        "run": (2, 2),
        "pack": (1, 6),
        "live": (1, 1),
        "index": (2, 0),
        "state": (0, 0),
        "arrays": (0, 0),
        "grid": (0, 0),
    }
    assert "damaged: 0" in call("verify", store.path)[1]


@pytest.mark.parametrize(
    "place", ["sealed/pack-*", "sealed/[!p]*", "live/*", "index/*.index", "index/*.footer"]
)
@pytest.mark.parametrize("damage", ["cut", pytest.param("flip", marks=pytest.mark.slow)])
def test_a_damaged_file_of_any_kind_is_named_with_status_1(store, place, damage):
    path = sorted(store.path.glob(place))[0]
    data = path.read_bytes()
    middle = 40 if path.suffix == ".parquet" else len(data) // 3
    flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    path.write_bytes(flipped if damage == "flip" else data[: 2 * len(data) // 3] + b"\n")
    status, output = call("verify", store.path, "--json")
    assert status == 1
    assert list(json.loads(output)["problems"]) == [str(path)]
    status, output = call("verify", store.path)
    assert status == 1
    assert path.name in output.replace("\n", "")


def test_repair_moves_damage_aside_and_intact_runs_stay(store):
    (pack,) = store.path.glob("sealed/pack-*")
    pack.write_bytes(pack.read_bytes()[:-200])
    status, output = call("verify", store.path, "--repair", "--json")
    assert status == 1
    assert list(json.loads(output)["moved"]) == [str(store.path / "damaged" / pack.name)]
    assert call("verify", store.path)[0] == 0
    assert len(check(Store(store.path))) == 8


def test_compact_says_how_many_runs_it_moved(store):
    assert json.loads(call("compact", store.path, "--json")[1]) == {
        "schema": 1, "command": "store compact", "store": str(store.path), "runs_moved": 2, "runs": 9,
    }  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_export_writes_all_curves_into_one_table(store, tmp_path, ending):
    out = tmp_path / f"all.{ending}"
    status, output = call("export", store.path, "--out", out, "--json")
    assert status == 0
    found = json.loads(output)
    assert (found["written"], found["runs"], found["rows"]) == (str(out), 9, 41)
    assert len(sl.read(out)) == 41


def test_a_folder_that_is_no_store_is_refused(tmp_path):
    with pytest.raises(sl.errors.BadInput, match="is not a store"):
        call("verify", tmp_path)
