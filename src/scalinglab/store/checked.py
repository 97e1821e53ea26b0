"""Files with a trailing checksum, verified before the content is used.

The last 16 bytes are ``#crc32:`` and eight hexadecimal digits of the CRC-32 of everything before them, and a
newline. Writing is in one pass, so that states of any size go straight to disk.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, cast

from scalinglab.store.files import Damaged, reading, write_whole

_MARK = b"#crc32:"
_LENGTH = len(_MARK) + 9


class _Summing:
    """A binary file that adds up the checksum of what is written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sum = 0

    def write(self, data: Any) -> int:
        self.sum = zlib.crc32(data, self.sum)
        return self._file.write(data)

    def writelines(self, parts: Iterable[bytes]) -> None:
        for part in parts:
            self.write(part)

    def flush(self) -> None:
        self._file.flush()


def write_checked(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Write a file with its checksum, atomically.

    Args:
        path: the file.
        write: writes the content to the open file it is given, front to back.
    """

    def to(partial: Path) -> None:
        with partial.open("wb") as file:
            summing = _Summing(file)
            write(cast("BinaryIO", summing))
            file.write(_MARK + b"%08x\n" % summing.sum)

    write_whole(path, to)


def read_checked(path: Path) -> memoryview:
    """The content of a file that `write_checked` wrote.

    Raises:
        FileNotFoundError: there is no such file.
        Damaged: it was cut short or changed, or has no checksum.
    """
    with reading(path):
        # a view: a slice of bytes would copy a state of any size
        data = memoryview(path.read_bytes())
    content, end = data[:-_LENGTH], bytes(data[-_LENGTH:])
    if not end.startswith(_MARK):
        raise Damaged(f"{path} is damaged: it does not end with its checksum")
    if end != _MARK + b"%08x\n" % zlib.crc32(content):
        raise Damaged(f"{path} is damaged: its checksum is wrong")
    return content
