"""TensorBoard's event files by hand: protobuf's wire format inside TFRecords."""

from __future__ import annotations

import struct

from scalinglab.readers.binary import crc32c


def varint(value: int) -> bytes:
    """An integer in protobuf's wire format; a negative one as its two's complement of 64 bits."""
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number: int, data: bytes) -> bytes:
    """A field of bytes in protobuf's wire format."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def masked(data: bytes) -> bytes:
    """The checksum of a TFRecord."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def event(step: int, summary: bytes) -> bytes:
    """A TFRecord with the values of one step, each a field 1 of `summary`."""
    body = b"\x09" + bytes(8) + b"\x10" + varint(step) + field(5, summary)
    head = struct.pack("<Q", len(body))
    return head + masked(head) + body + masked(body)
