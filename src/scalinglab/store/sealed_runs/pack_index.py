"""Which runs a pack holds and how they ended, in a small file beside the packs.

To start a run the store asks whether it is done. Packs may hold a million runs, whose records take seconds to
read, so the answer comes from `index/<pack>.index`: a line about the pack, then sorted 64-bit hashes of the
runs' names, then a byte for how each ended. `index/<pack>.footer` is a copy of the pack's end, from which the
intact runs of a damaged pack are read. Both can be rebuilt from the pack.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scalinglab._version import __version__
from scalinglab.store.checked import read_checked, write_checked
from scalinglab.store.files import Damaged, NewerFormat, newer
from scalinglab.store.record import FORMAT, SEALED
from scalinglab.store.sealed_runs import parquet


@dataclass(frozen=True)
class PackIndex:
    """The runs of a pack.

    Attributes:
        size: of the pack in bytes; another size means that it is damaged.
        replaces: the packs that it takes the place of.
        keys: (runs,) hashes of the runs' names, sorted.
        ends: (runs,) positions in `SEALED` of how each ended.
    """

    size: int
    replaces: tuple[str, ...]
    keys: np.ndarray
    ends: np.ndarray

    def ended(self, run: str) -> str | None:
        """How a run ended; None if the pack does not hold it."""
        key = _key(run)
        place = int(np.searchsorted(self.keys, key))
        return SEALED[self.ends[place]] if place < len(self.keys) and self.keys[place] == key else None


def _key(run: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.sha256(run.encode()).digest()[:8], "big"))


def index_of(footer: parquet.Footer, size: int) -> PackIndex:
    """The index of a pack with this footer and size."""
    keys = np.array([_key(run) for run in footer.records], "<u8")
    ends = np.array([SEALED.index(record.status) for record in footer.records.values()], np.uint8)
    order = np.argsort(keys)
    return PackIndex(size, footer.replaces, keys[order], ends[order])


def write_index(folder: Path, pack: str, file: Path) -> None:
    """Write the index of a pack and the copy of its end.

    Args:
        folder: of the indexes.
        pack: the name of the pack.
        file: the pack, which may still lie under a temporary name.
    """
    index = index_of(parquet.read_footer(file), file.stat().st_size)
    header = {"format": FORMAT, "version": __version__, "size": index.size}
    header |= {"replaces": [*index.replaces], "runs": len(index.keys)}
    content = json.dumps(header).encode() + b"\n" + index.keys.tobytes() + index.ends.tobytes()
    stem = pack.removesuffix(".parquet")
    for ending, data in (("footer", parquet.tail_of(file)), ("index", content)):
        write_checked(folder / f"{stem}.{ending}", operator.methodcaller("write", data))


def read_index(folder: Path, pack: str) -> PackIndex:
    """The index of a pack, given by the name of its file.

    Raises:
        FileNotFoundError: it has none.
        Damaged: the index is damaged.
        NewerFormat: a later version wrote it.
    """
    path = folder / f"{pack.removesuffix('.parquet')}.index"
    line, _, entries = bytes(read_checked(path)).partition(b"\n")
    try:
        header = json.loads(line)
        if header["format"] > FORMAT:
            raise NewerFormat(newer(str(path), header.get("version")))
        runs = header["runs"]
        keys, ends = np.frombuffer(entries, "<u8", runs), np.frombuffer(entries, np.uint8, runs, 8 * runs)
        return PackIndex(header["size"], tuple(header["replaces"]), keys, ends)
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{path} is damaged: {error}") from error


def read_tail(folder: Path, pack: str) -> bytes | None:
    """The copy of a pack's end; None if there is none that is intact."""
    try:
        return bytes(read_checked(folder / f"{pack.removesuffix('.parquet')}.footer"))
    except (FileNotFoundError, Damaged):
        return None


def indexed(folder: Path) -> set[str] | None:
    """The names of the packs that have an index or had one; None if the store has no indexes at all."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return None
    stems = (os.path.splitext(name) for name in names)
    return {f"{stem}.parquet" for stem, ending in stems if ending in (".index", ".footer")}


def forget_index(folder: Path, packs: Iterable[str]) -> None:
    """Remove the indexes of packs that are gone."""
    for pack in packs:
        for ending in (".index", ".footer"):
            (folder / f"{pack.removesuffix('.parquet')}{ending}").unlink(missing_ok=True)
