"""Binary records byte by byte: cut at every place, too large, and numbers without an end."""

import struct
import zlib
from pathlib import Path

import pytest

from scalinglab.readers import binary
from scalinglab.readers.binary import LENGTH, VARINT, Damaged, LevelLog, Records, TFRecords, fields, signed
from tests.readers.event_files import field, masked, varint

PAYLOADS = [b"a", b"payload of the second record", b"cc" * 20]


def tf_record(payload: bytes) -> bytes:
    head = struct.pack("<Q", len(payload))
    return head + masked(head) + payload + masked(payload)


def level_record(payload: bytes) -> bytes:
    """A whole record of a W&B log."""
    crc = zlib.crc32(payload, zlib.crc32(b"\x01"))
    return struct.pack("<IHB", crc, len(payload), 1) + payload


def read(kind: type[Records], data: bytes, folder: Path) -> tuple[list[bytes], Records, int]:
    """The payloads, the reader, and the bytes that it said it had passed."""
    path, passed = folder / "log", []
    path.write_bytes(data)
    with path.open("rb") as file:
        records = kind(file, passed.append)
        return list(records), records, sum(passed)


FORMATS = [(TFRecords, b"", tf_record), (LevelLog, b":W&B\xe1\xbe\x00", level_record)]


@pytest.mark.parametrize(("kind", "opening", "record"), FORMATS)
def test_a_file_cut_at_any_byte_gives_the_records_before_it(kind, opening, record, tmp_path: Path):
    written = [record(payload) for payload in PAYLOADS]
    ends = [len(opening) + sum(map(len, written[:k])) for k in range(len(written) + 1)]
    data = opening + b"".join(written)
    for cut in range(len(opening), len(data) + 1):
        found, records, passed = read(kind, data[:cut], tmp_path)
        whole = sum(end <= cut for end in ends[1:])
        assert found == PAYLOADS[:whole]
        assert passed == ends[whole] - len(opening)
        assert records.cut == (cut not in ends)
        assert (records.problem is None) == (cut in ends)


@pytest.mark.parametrize(("kind", "opening", "record"), FORMATS)
def test_records_that_are_too_large_are_passed_over_and_counted(kind, opening, record, tmp_path, monkeypatch):
    monkeypatch.setattr(binary, "MOST_RECORD", 28)
    found, records, passed = read(kind, opening + b"".join(map(record, [*PAYLOADS, b"last"])), tmp_path)
    assert found == [*PAYLOADS[:2], b"last"]  # 28 bytes are read, 40 are not
    assert (records.passed_over, records.problem) == (1, None)
    assert passed == sum(len(record(payload)) for payload in [*PAYLOADS, b"last"])


@pytest.mark.parametrize(("kind", "opening", "record"), FORMATS)
def test_a_changed_byte_ends_the_reading_and_is_no_cut(kind, opening, record, tmp_path: Path):
    first, second = map(record, PAYLOADS[:2])
    for place in range(len(second)):
        damaged = bytearray(opening + first + second + record(b"after"))
        damaged[len(opening) + len(first) + place] ^= 1
        found, records, _ = read(kind, bytes(damaged), tmp_path)
        assert found == PAYLOADS[:1]
        assert records.problem is not None
        if "checksum" in records.problem:
            assert f"at byte {len(opening) + len(first)} is wrong" in records.problem


def test_numbers_of_any_size_are_read_and_those_without_an_end_are_damaged():
    for value in (0, 1, 127, 128, 300, 1 << 32, (1 << 63) - 1):
        assert list(fields(varint(1 << 3) + varint(value))) == [(1, VARINT, value)]
        assert signed(value) == value
    assert signed((1 << 64) - 1) == -1
    assert signed(1 << 63) == -(1 << 63)
    for data in (b"\x80", b"\x08\x80\x80", b"\x08" + b"\x80" * 10 + b"\x01"):
        with pytest.raises(Damaged, match="without an end"):
            list(fields(data))


def test_fields_of_every_kind_are_cut_where_they_end():
    data = (
        field(2, b"text")
        + varint(3 << 3 | 1)
        + bytes(8)
        + varint(4 << 3 | 5)
        + bytes(4)
        + varint(5 << 3)
        + b"\x07"
    )
    assert list(fields(data)) == [(2, LENGTH, b"text"), (3, 1, bytes(8)), (4, 5, bytes(4)), (5, VARINT, 7)]
    with pytest.raises(Damaged, match=r"4 bytes.*byte 2 of 5"):
        list(fields(field(2, b"text")[:-1]))
    with pytest.raises(Damaged, match=r"type 3.*byte 1"):
        list(fields(varint(1 << 3 | 3)))
