"""Which runs a pack holds and how they ended, in a small file beside the packs.

To start a run the store asks whether it is done. Packs may hold a million runs, so the answer comes from
`index/<pack>.index`: sorted 64-bit hashes of the runs' names with a byte for how each ended, in blocks with a
checksum each. One block is read, whatever the number of runs. `index/<pack>.footer` is a copy of the pack's
end, from which the intact runs of a damaged pack are read. Both can be rebuilt from the pack.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from scalinglab._version import __version__
from scalinglab.store.checked import read_checked, write_checked
from scalinglab.store.files import Damaged, NewerFormat, newer, reading
from scalinglab.store.record import FORMAT, SEALED
from scalinglab.store.sealed_runs import parquet

BLOCK = 1024  # runs whose entries are read and checked together
_SUM = b', "crc32": '
_HEADER = 4096  # bytes in which most headers end
_NO_KEYS, _NO_ENDS = np.array([], "<u8"), np.array([], np.uint8)


@dataclass(frozen=True)
class PackIndex:
    """The runs of a pack.

    Attributes:
        size: of the pack in bytes; another size means that it is damaged.
        replaces: the packs that it takes the place of.
        runs: how many it holds.
        block: from the number of a block of `BLOCK` runs to its keys, which are hashes of the runs' names,
            sorted over all blocks, and its ends, positions in `SEALED` of how each ended.
    """

    size: int
    replaces: tuple[str, ...]
    runs: int
    block: Callable[[int], tuple[np.ndarray, np.ndarray]]

    def ended(self, run: str) -> str | None:
        """How a run ended; None where the pack does not hold it.

        Hashes are uniform, so that the block is near where its share of the keys says, however many there
        are.

        Raises:
            Damaged: a block that was looked at is damaged.
            FileNotFoundError: the pack was compacted meanwhile.
        """
        key = _key(run)
        last = _blocks(self.runs) - 1
        number, before = min(int(key) * (last + 1) >> 64, last), -1
        while number >= 0:
            keys, ends = self.block(number)
            step = int(key > keys[-1]) - int(key < keys[0])
            if step == 0 or not 0 <= number + step <= last or number + step == before:
                place = int(np.searchsorted(keys, key))
                return SEALED[ends[place]] if place < len(keys) and keys[place] == key else None
            number, before = number + step, number
        return None

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """All keys and ends, (runs,) each."""
        parts = [self.block(number) for number in range(_blocks(self.runs))]
        keys, ends = ([part[k] for part in parts] for k in (0, 1))
        return (np.concatenate(keys), np.concatenate(ends)) if parts else (_NO_KEYS, _NO_ENDS)


def _blocks(runs: int) -> int:
    return -(-runs // BLOCK)


def _key(run: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.sha256(run.encode()).digest()[:8], "big"))


def index_of(footer: parquet.Footer, size: int) -> PackIndex:
    """The index of a pack with this footer and size."""
    keys = np.array([_key(run) for run in footer.records], "<u8")
    ends = np.array([SEALED.index(record.status) for record in footer.records.values()], np.uint8)
    order = np.argsort(keys)
    return _in_memory(size, footer.replaces, keys[order], ends[order])


def _in_memory(size: int, replaces: tuple[str, ...], keys: np.ndarray, ends: np.ndarray) -> PackIndex:
    def block(number: int) -> tuple[np.ndarray, np.ndarray]:
        part = slice(number * BLOCK, (number + 1) * BLOCK)
        return keys[part], ends[part]

    return PackIndex(size, replaces, len(keys), block)


def write_index(folder: Path, pack: str, file: Path) -> None:
    """Write the index of a pack and the copy of its end.

    Args:
        folder: of the indexes.
        pack: the name of the pack.
        file: the pack, which may still lie under a temporary name.
    """
    index = index_of(parquet.read_footer(file), file.stat().st_size)
    keys, ends = index.arrays()
    sums = [_sum(*index.block(number)) for number in range(_blocks(index.runs))]
    header = {"format": FORMAT, "version": __version__, "size": index.size}
    header |= {"replaces": [*index.replaces], "runs": index.runs, "blocks": "".join(sums)}
    content = _sealed_line(json.dumps(header)[:-1].encode()) + keys.tobytes() + ends.tobytes()
    tail = parquet.tail_of(file)
    stem = pack.removesuffix(".parquet")
    for ending, data in (("footer", tail), ("index", content)):
        write_checked(folder / f"{stem}.{ending}", functools.partial(_put, data))


def _put(data: bytes, file: BinaryIO) -> None:
    file.write(data)


def _sum(keys: np.ndarray, ends: np.ndarray) -> str:
    """The checksum of a block."""
    return f"{zlib.crc32(ends.tobytes(), zlib.crc32(keys.tobytes())):08x}"


def _sealed_line(text: bytes) -> bytes:
    """A header, given without its last brace, as a line that ends with its checksum."""
    return text + _SUM + b'"%08x"}\n' % zlib.crc32(text)


def read_index(folder: Path, pack: str) -> PackIndex:
    """The index of a pack, given by the name of its file.

    The header is read and checked, and each block when it is asked for.

    Raises:
        FileNotFoundError: it has none.
        Damaged: the index is damaged.
        NewerFormat: a later version wrote it.
    """
    path = folder / f"{pack.removesuffix('.parquet')}.index"
    with reading(path), open(path, "rb", buffering=_HEADER) as file:
        line = file.readline()
    try:
        header = json.loads(line)
        if line != _sealed_line(line[: line.rindex(_SUM)]):
            raise ValueError("the checksum of its header is wrong")
        if header["format"] > FORMAT:
            raise NewerFormat(newer(str(path), header.get("version")))
        runs = header["runs"]
        block = functools.partial(_read_block, path, len(line), runs, header["blocks"])
        return PackIndex(header["size"], tuple(header["replaces"]), runs, block)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"{path} is damaged: {error}") from error


def _read_block(path: Path, start: int, runs: int, sums: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    """One block of an index file, checked.

    Args:
        path: the file.
        start: where the keys begin, in bytes.
        runs: how many keys there are.
        sums: the checksums of all blocks.
        number: of the block.
    """
    first = number * BLOCK
    count = min(BLOCK, runs - first)
    with reading(path), open(path, "rb", buffering=0) as file:
        file.seek(start + 8 * first)
        keys = file.read(8 * count)
        file.seek(start + 8 * runs + first)
        ends = file.read(count)
    found = np.frombuffer(keys, "<u8", len(keys) // 8), np.frombuffer(ends, np.uint8)
    if len(keys) != 8 * count or _sum(*found) != sums[8 * number : 8 * number + 8]:
        raise Damaged(f"{path} is damaged: the checksum of block {number} is wrong")
    return found


def read_tail(folder: Path, pack: str) -> bytes | None:
    """The copy of a pack's end; None where there is none that is intact."""
    try:
        return bytes(read_checked(folder / f"{pack.removesuffix('.parquet')}.footer"))
    except (FileNotFoundError, Damaged):
        return None


def indexed(folder: Path) -> set[str] | None:
    """The names of the packs that have an index or had one; None where the store has no indexes at all."""
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
