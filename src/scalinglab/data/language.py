"""Text as bytes: windows of a fixed length, each with the byte that follows every one of its bytes.

The default text is the source of Python's standard library, which every machine that runs this has: all
modules by the order of their names, without tests and packages that were installed later. It differs a little
between versions of Python. Every tenth file is held out for the test set.
"""

from __future__ import annotations

import os
import sysconfig
from functools import lru_cache
from pathlib import Path

import numpy as np

from scalinglab.data.dataset import Dataset
from scalinglab.errors import BadInput
from scalinglab.support.validation import checked

VOCABULARY = 256  # bytes
HELD_OUT = 10  # one file, or one stretch of a single file, in so many is for the test
STRETCH = 1 << 14  # bytes of a stretch of a single file
ENDINGS = {".txt", ".md", ".rst", ".py", ".c", ".h", ".tex", ".html", ".json"}  # of files of a folder
APART = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__", "lib-dynload"}


@checked
def text(n_data: int = 4096, n_test: int = 512, *, context: int = 64, path: str | None = None) -> Dataset:
    """Windows of a text for language models.

    Args:
        n_data, n_test: windows for training and for the test; the text's bytes must suffice.
        context: bytes of a window.
        path: a text file, or a folder with text files (\\*.txt, \\*.md, \\*.py and the like); default: the
            source of Python's standard library.

    Returns:
        A `Dataset` whose inputs are bytes, uint8 (windows, context), and whose targets are the bytes after
        each of them, int64 (windows, context). Windows do not overlap.

    >>> text(n_data=100, n_test=10, context=32).summary()
    'text: 100 training and 10 test inputs of 32, 256 classes'
    """
    for name, value in {"n_data": n_data, "n_test": n_test, "context": context}.items():
        if value < 1:
            raise BadInput(f"{name}={value} of a text must be at least 1")
    train, test = _halves(str(path) if path is not None else None)
    train_x, train_y = _windows(train, n_data, context, "n_data", path)
    test_x, test_y = _windows(test, n_test, context, "n_test", path)
    one = np.ones(context, np.float32)
    return Dataset("text", train_x, train_y, test_x, test_y, VOCABULARY, 0 * one, one, white=1.0)


def _windows(
    stream: np.ndarray, count: int, context: int, name: str, path: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Windows spread evenly over a stream, and the same shifted by one byte."""
    here = (len(stream) - 1) // context
    if count > here:
        raise BadInput(
            f"{name}={count} windows of {context} bytes: {path or 'the standard library'} has {here}; take "
            "fewer, or name a longer text in data_options = {path = …}"
        )
    starts = context * (np.arange(count) * here // count)
    index = starts[:, None] + np.arange(context)
    return stream[index], stream[index + 1].astype(np.int64)


@lru_cache(maxsize=2)
def _halves(path: str | None) -> tuple[np.ndarray, np.ndarray]:
    """All bytes for training and all for the test."""
    files = files_of(path)
    parts = [np.frombuffer(file.read_bytes(), np.uint8) for file in files]
    if len(parts) == 1:  # stretches of the one file
        parts = np.split(parts[0], range(STRETCH, len(parts[0]), STRETCH))
    of_test = [k % HELD_OUT == HELD_OUT - 1 for k in range(len(parts))]
    if not any(of_test):
        raise BadInput(
            f"{path}: {sum(map(len, parts))} bytes in {len(parts)} parts are too few to hold out every "
            f"tenth; give a text of {HELD_OUT * STRETCH} bytes or more"
        )
    return tuple(  # type: ignore[return-value]
        np.concatenate([part for part, own in zip(parts, of_test) if own == wanted])
        for wanted in (False, True)
    )


def files_of(path: str | None = None) -> list[Path]:
    """The files of a text in the order in which they are read: by name, which is the same everywhere."""
    base = Path(path) if path is not None else Path(sysconfig.get_path("stdlib"))
    if base.is_file():
        return [base]
    endings = {".py"} if path is None else ENDINGS
    found = []
    for folder, folders, names in os.walk(base):
        folders[:] = [name for name in folders if name not in APART]
        found += [Path(folder, name) for name in names if Path(name).suffix in endings]
    if not found:
        raise BadInput(f"{base} holds no text: give a file, or a folder with {', '.join(sorted(endings))}")
    return sorted(found, key=lambda file: file.relative_to(base).as_posix())
