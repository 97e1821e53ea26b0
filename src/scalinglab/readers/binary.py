"""Binary logs without their libraries: protocol buffers on the wire, TFRecord files, LevelDB logs.

Reading a log needs a handful of fields of two message types whose numbers never change, so a decoder of the
wire format (https://protobuf.dev/programming-guides/encoding) is smaller than the packages that define them,
and works whichever version of these is installed, or none. Every record's checksum is tested before it is
decoded. A record that was cut short ends the reading: its writer is at work, or was killed.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import IO

import numpy as np

Advance = Callable[[int], None]
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
MOST_RECORD = 64 << 20  # bytes; larger ones (videos, embeddings) are passed over unread
BLOCK, HEADER = 32 << 10, 7  # of a LevelDB log


class Damaged(ValueError):
    """Bytes that are not what the format says."""


def fields(data: bytes) -> Iterator[tuple[int, int, bytes | int]]:
    """The fields of a message: number, wire type, and the bytes (or the varint) that it holds."""
    place, end = 0, len(data)
    while place < end:
        key, place = _varint(data, place)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, place = _varint(data, place)
            yield number, kind, value
            continue
        if kind == LENGTH:
            size, place = _varint(data, place)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise Damaged(f"wire type {kind} at byte {place}")
        if place + size > end:
            raise Damaged(f"a field of {size} bytes at byte {place} of {end}")
        yield number, kind, data[place : place + size]
        place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise Damaged(f"a number without an end at byte {place}")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def text(value: bytes | int) -> str:
    """A field as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def signed(value: int) -> int:
    """A varint as int64."""
    return value - (1 << 64) if value >= 1 << 63 else value


class Records:
    """The payloads of a file's records, one after the other; memory is that of one record.

    Attributes:
        problem: why reading ended before the end of the file; None if all was read.
        cut: whether that is only a last record without its end.
        passed_over: records too large to be read.
    """

    def __init__(self, file: IO[bytes], advance: Advance) -> None:
        self.file, self.advance = file, advance
        self.size = os.fstat(file.fileno()).st_size
        self.problem: str | None = None
        self.cut = False
        self.passed_over = 0

    def __iter__(self) -> Iterator[bytes]:
        raise NotImplementedError

    def _end(self, problem: str, *, cut: bool = False) -> None:
        self.problem, self.cut = problem, cut


class TFRecords(Records):
    """TFRecord: uint64 length, its masked CRC-32C, the payload, its masked CRC-32C."""

    def __iter__(self) -> Iterator[bytes]:
        place = 0
        while place < self.size:
            head = self.file.read(12)
            if len(head) < 12:
                return self._end("the last record is cut short", cut=True)
            length, check = struct.unpack("<QI", head)
            if _masked(head[:8]) != check:
                return self._end(f"the checksum of a length at byte {place:,} is wrong")
            after = place + 16 + length
            if after > self.size:
                return self._end("the last record is cut short", cut=True)
            if length > MOST_RECORD:
                self.passed_over += 1
                self.file.seek(after)
            else:
                body = self.file.read(length + 4)
                if len(body) < length + 4:
                    return self._end("the last record is cut short", cut=True)
                payload = body[:length]
                if _masked(payload) != struct.unpack("<I", body[length:])[0]:
                    return self._end(f"the checksum of the record at byte {place:,} is wrong")
                yield payload
            self.advance(after - place)
            place = after
        return None


class LevelLog(Records):
    """LevelDB's log as W&B writes it: blocks of 32 KiB, pieces of ``<IHB`` crc, length, type.

    The file opens with ``:W&B``, the magic 0xBEE1 and a version; checksums are plain CRC-32 of type and data.
    """

    def __iter__(self) -> Iterator[bytes]:
        head, magic = self.file.read(HEADER), b":W&B\xe1\xbe"
        if head[:6] != magic[: len(head)]:
            return self._end("the file does not begin as a W&B log does")
        if len(head) < HEADER:
            return self._end("the file has only begun", cut=True)
        place, parts, kept = HEADER, list[bytes](), 0
        while place < self.size:
            left = BLOCK - place % BLOCK
            if left < HEADER:  # the rest of a block is empty
                place += left
                self.file.seek(place)
                continue
            head = self.file.read(HEADER)
            if len(head) < HEADER:
                return self._end("the last record is cut short", cut=True)
            check, length, kind = struct.unpack("<IHB", head)
            if check == length == kind == 0:
                return self._end("the last record is cut short", cut=True)
            if length > left - HEADER or kind not in (1, 2, 3, 4):
                return self._end(f"the record at byte {place:,} is damaged")
            data = self.file.read(length)
            if len(data) < length:
                return self._end("the last record is cut short", cut=True)
            if zlib.crc32(data, zlib.crc32(bytes([kind]))) != check:
                return self._end(f"the checksum of the record at byte {place:,} is wrong")
            place += HEADER + length
            self.advance(HEADER + length)
            if kind in (1, 2):  # whole, first
                parts, kept = [], 0
            kept += length
            if kept <= MOST_RECORD:
                parts.append(data)
            if kind in (1, 4):  # whole, last
                if kept > MOST_RECORD:
                    self.passed_over += 1
                else:
                    yield b"".join(parts)
                parts, kept = [], 0
        if parts:
            self._end("the last record is cut short", cut=True)
        return None


# --- CRC-32C -------------------------------------------------------------------------------------


@cache
def _table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


LANE = 1024  # bytes of a long record that are taken together
FEWEST_LANES = 64  # below, byte by byte is faster


def crc32c(data: bytes) -> int:
    """Castagnoli's CRC-32, ten times faster for long data, whose lanes are computed side by side.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    table = _table()
    crc = 0xFFFFFFFF
    lanes = len(data) // LANE
    if lanes >= FEWEST_LANES:
        lookup = np.array(table, dtype=np.uint32)
        rows = np.frombuffer(data, np.uint8, lanes * LANE).reshape(lanes, LANE)
        state = np.zeros(lanes, np.uint32)
        for column in rows.T:
            state = lookup[(state ^ column) & 0xFF] ^ (state >> np.uint32(8))
        zeros = _zeros()
        for lane in state.tolist():  # the CRC is linear: what came before goes on through a lane of zeros
            crc = (
                zeros[0][crc & 0xFF] ^ zeros[1][crc >> 8 & 0xFF] ^ zeros[2][crc >> 16 & 0xFF]
                ^ zeros[3][crc >> 24] ^ lane
            )  # fmt: skip
        data = data[lanes * LANE :]
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


@cache
def _zeros() -> tuple[tuple[int, ...], ...]:
    """What each byte of the state becomes after a lane of zeros."""
    lookup = np.array(_table(), dtype=np.uint32)
    found = []
    for place in range(4):
        state = np.arange(256, dtype=np.uint32) << np.uint32(8 * place)
        for _ in range(LANE):
            state = lookup[state & 0xFF] ^ (state >> np.uint32(8))
        found.append(tuple(state.tolist()))
    return tuple(found)


def _masked(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
