"""Official records from whichever form lies in a folder, and arrays from official records.

Forms that are understood, for a set in ``folder/name/`` (or in a subfolder, as archives unpack):

- the official files, plain or gzipped;
- packed pictures, ``NAME-train1.webp … NAME-test.webp`` (or .png), lossless, each of 100 × 100 images of
  32 × 32, with ``….labels.npy`` beside it, (10000,) for CIFAR-10 and (10000, 2) = coarse, fine for
  CIFAR-100;
- the sheets of the npm package for CIFAR-10, one image a row of 1024 pixels, with its label lists.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from scalinglab.data.sources import Source
from scalinglab.errors import ScalinglabError, require

# what reading a cut or scrambled gzip file raises
BROKEN = (gzip.BadGzipFile, zlib.error, EOFError)


class Damaged(ScalinglabError):
    """Bytes that are not what they should be."""


def verify(source: Source, file: str, data: bytes, where: object) -> bytes:
    """The data, if its MD5 sum is the official one."""
    found = hashlib.md5(data, usedforsecurity=False).hexdigest()
    if found != source.files[file]:
        raise Damaged(
            f"{source.name}: {file} from {where} has MD5 {found}, expected {source.files[file]}; "
            f"to fetch it again run: {source.how()}"
        )
    return data


def find(source: Source, place: Path) -> dict[str, list[Path]] | None:
    """The files in `place` from which each record file can be made, or None where one is missing."""
    found: dict[str, list[Path]] = {}
    for file in source.files:
        paths = _plain(file, place) or _packed(source, file, place) or _sheet(source, file, place)
        if not paths:
            return None
        found[file] = paths
    return found


def _plain(file: str, place: Path) -> list[Path]:
    for base in (place, *sorted(p for p in place.glob("*") if p.is_dir())):
        for name in (file, f"{file}.gz"):
            if (base / name).is_file():
                return [base / name]
    return []


def _parts(source: Source, file: str) -> list[str]:
    """The names of the packed pictures that make up a record file."""
    if source.name == "cifar10":
        return [f"train{file[11]}" if file.startswith("data") else "test"]
    if source.name == "cifar100":
        return ["test"] if file == "test.bin" else [f"train{k}" for k in range(1, 6)]
    return []


def _packed(source: Source, file: str, place: Path) -> list[Path]:
    paths = []
    for part in _parts(source, file):
        stem = f"{source.name}-{part}"
        pictures = [p for end in ("webp", "png") if (p := place / f"{stem}.{end}").is_file()]
        if not pictures or not (place / f"{stem}.labels.npy").is_file():
            return []
        paths.append(pictures[0])
    return paths


def _sheet(source: Source, file: str, place: Path) -> list[Path]:
    sheet = place / Path(file).with_suffix(".png").name
    lists = ("train_lables.json", "test_lables.json")  # sic
    here = source.name == "cifar10" and sheet.is_file() and all((place / f).is_file() for f in lists)
    return [sheet] if here else []


def read(source: Source, file: str, paths: list[Path]) -> bytes:
    """A record file's bytes, verified, from what `find` found."""
    first = paths[0]
    if first.suffix in (".webp", ".png"):
        with ThreadPoolExecutor() as decoding:  # which is done outside of Python
            data = b"".join(decoding.map(partial(from_picture, source, file), paths))
    elif first.suffix == ".gz":
        try:
            data = gzip.decompress(first.read_bytes())
        except BROKEN as error:
            raise Damaged(
                f"{first} is not a whole gzip file: {error}; to fetch it again run: {source.how()}"
            ) from error
    else:
        data = first.read_bytes()
    return verify(source, file, data, first)


def from_picture(source: Source, file: str, path: Path) -> bytes:
    """Official records, labels then 3072 bytes channel-row-column, from a packed picture or a sheet."""
    image = require("PIL.Image", "train", f"reading {path.name}")
    try:
        with image.open(path) as picture:
            pixels = np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError) as error:
        raise Damaged(f"{path} is not a whole picture: {error}; fetch it again, or copy it anew") from error
    if path.stem.startswith(source.name):
        side = 32
        grid = pixels.reshape(pixels.shape[0] // side, side, pixels.shape[1] // side, side, 3)
        images = grid.transpose(0, 2, 4, 1, 3).reshape(-1, 3 * side * side)
        labels = np.load(path.with_name(f"{path.stem}.labels.npy")).reshape(len(images), -1)
    else:
        images = pixels.reshape(len(pixels), -1, 3).transpose(0, 2, 1).reshape(len(pixels), -1)
        part = "test" if file.startswith("test") else "train"
        every = np.array(json.loads((path.parent / f"{part}_lables.json").read_text()))
        start = 0 if part == "test" else (int(file[11]) - 1) * len(images)
        labels = every[start : start + len(images), None]
    return np.concatenate([labels.astype(np.uint8), images], axis=1).tobytes()


def idx(data: bytes) -> np.ndarray:
    """An array from the idx format: two zero bytes, type 8 (uint8), dimensions, sizes, values."""
    if data[:3] != b"\x00\x00\x08":
        raise Damaged("not an idx file of unsigned bytes")
    n_dimensions = data[3]
    sizes = np.frombuffer(data, ">i4", n_dimensions, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * n_dimensions).reshape(sizes)


def cifar(data: bytes, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels (records, n_labels) and images (records, 3, 32, 32) from CIFAR's binary records."""
    table = np.frombuffer(data, np.uint8).reshape(-1, n_labels + 3072)
    return table[:, :n_labels].astype(np.int64), table[:, n_labels:].reshape(-1, 3, 32, 32)


def matlab(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Labels (records,) and images (records, 3, 32, 32) from SVHN's MATLAB files.

    They hold X, (row, column, channel, record), and y, in which 10 stands for the digit 0.
    """
    from scipy.io import loadmat

    table = loadmat(io.BytesIO(data), variable_names=["X", "y"])
    if "X" not in table or "y" not in table:
        raise Damaged("a MATLAB file of SVHN holds X and y; this one does not")
    images = np.ascontiguousarray(table["X"].transpose(3, 2, 0, 1))
    return table["y"].ravel().astype(np.int64) % 10, images
