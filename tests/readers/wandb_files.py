"""W&B's logs by hand: `Record` messages in LevelDB's log."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

from tests.readers.event_files import field

BLOCK, HEADER = 32 << 10, 7


def write_wandb(path: Path, records: Iterable[bytes]) -> Path:
    """A log of records, each in one piece or, across blocks, in several."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        place = file.write(b":W&B\xe1\xbe\x00")
        for record in records:
            first = True
            while first or record:
                left = BLOCK - place % BLOCK
                if left < HEADER:
                    place += file.write(bytes(left))
                    continue
                piece, record = record[: left - HEADER], record[left - HEADER :]
                kind = (1 if not record else 2) if first else (4 if not record else 3)
                check = zlib.crc32(piece, zlib.crc32(bytes([kind])))
                place += file.write(struct.pack("<IHB", check, len(piece), kind) + piece)
                first = False
    return path


def item(name: str, value: str, name_field: int) -> bytes:
    """A value of a history (names in field 2) or of a configuration (in field 1)."""
    return field(1, field(name_field, name.encode()) + field(16, value.encode()))


def history(step: int, **values: str) -> bytes:
    """A record of one row."""
    return field(2, b"".join(item(k, v, 2) for k, v in {"_step": str(step), **values}.items()))


def config(**values: str) -> bytes:
    """A record of a run and its configuration."""
    return field(17, field(1, b"id") + field(4, b"".join(item(k, v, 1) for k, v in values.items())))
