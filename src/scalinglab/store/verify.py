"""Every file of a store against its checksum."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scalinglab.curves import run_name
from scalinglab.store import live
from scalinglab.store.checked import read_checked
from scalinglab.store.files import Damaged, StoreError, reading
from scalinglab.store.sealed_runs import parquet
from scalinglab.store.sealed_runs.pack_index import index_of, read_index, read_tail


@dataclass(frozen=True)
class FileCheck:
    """One file of a store.

    Attributes:
        path: the file.
        kind: `run`, `pack`, `live`, `state`, `arrays`, `index` or `grid`.
        runs: how many it holds, as far as it can be read.
        problem: what is wrong with it; None if it is intact.
    """

    path: Path
    kind: str
    runs: int
    problem: str | None


def verify(store: Path) -> list[FileCheck]:
    """Read every file of a store and check it; a file that vanishes meanwhile is left out."""
    found = []
    for kind, path, check in _files(store):
        try:
            found.append(FileCheck(path, kind, check(path), None))
        except FileNotFoundError:
            continue  # sealed, compacted or forgotten meanwhile
        except (StoreError, ValueError, KeyError, TypeError, RecursionError) as error:
            found.append(FileCheck(path, kind, 0, str(error) or type(error).__name__))
    return found


Check = Callable[[Path], int]


def _files(store: Path) -> Iterator[tuple[str, Path, Check]]:
    kinds: list[tuple[str, str, str, Check]] = [
        ("live", "live", "*.jsonl", _live),
        # runs are named in hexadecimal digits, which have no p
        ("run", "sealed", "[!p]*.parquet", _sealed),
        ("pack", "sealed", "pack-*.parquet", _sealed),
        ("index", "index", "*.index", _index),
        ("index", "index", "*.footer", _checked),
        ("state", "state", "*.pt", _checked),
        ("state", "state", "*.json", _checked),
        ("arrays", "arrays", "*/*.npz", _checked),
        ("grid", "grids", "*.groups", _checked),
        ("grid", "grids", "*.json", _grid),
    ]
    for kind, folder, pattern, check in kinds:
        for path in sorted((store / folder).glob(pattern)):
            if not path.name.startswith("."):
                yield kind, path, check


def _sealed(path: Path) -> int:
    footer, _ = parquet.read(path)
    parquet.check_data(path)
    tail = read_tail(path.parent.parent / "index", path.name)
    if tail is not None and tail != parquet.tail_of(path):
        raise Damaged(f"{path} is damaged: its footer is not the one that was written")
    return len(footer.records)


def _live(path: Path) -> int:
    with reading(path):
        data = path.read_bytes()
    found = live.parse(data, path.stem)
    if found.problem:
        raise Damaged(f"{path}: {found.problem}")
    return 1


def _checked(path: Path) -> int:
    read_checked(path)
    return 0


def _index(path: Path) -> int:
    pack = path.parent.parent / "sealed" / f"{path.stem}.parquet"
    found = read_index(path.parent, pack.name)
    if pack.exists():
        try:
            right = index_of(parquet.read_footer(pack), pack.stat().st_size)
        except Damaged:
            return 0  # the finding of the pack names it
        same = np.array_equal(found.keys, right.keys) and np.array_equal(found.ends, right.ends)
        if found.replaces != right.replaces or not same:
            raise Damaged(f"{path} is damaged: it is not the index of its pack")
    return 0


def _grid(path: Path) -> int:
    """A grid's file is named by the hash of the grid."""
    document = json.loads(bytes(read_checked(path)))
    if run_name({"grid": json.dumps(document["grid"], sort_keys=True)}) != path.stem:
        raise Damaged(f"{path} is damaged: its grid is not the one that it is named by")
    return 0
