"""Arrays beside the curves: one compressed file for each run and step, ``arrays/<run>/<step>.npz``.

The files end with a checksum (`scalinglab.store.checked`), which `numpy.load` ignores.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from scalinglab.errors import BadInput
from scalinglab.store.checked import read_checked, write_checked
from scalinglab.store.files import StoreError
from scalinglab.store.record import is_file_name


def keep(store: Path, run: str, step: int, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the arrays of one checkpoint; those of an earlier attempt at it are replaced."""
    content: dict[str, Any] = {name: np.asarray(value) for name, value in arrays.items()}
    # in memory first: a zip file goes back to fill in sizes, the checksum is summed front to back
    packed = io.BytesIO()
    np.savez_compressed(packed, **content)
    path = _folder(store, run) / f"{int(step)}.npz"
    write_checked(path, lambda file: file.writelines([packed.getvalue()]))


def load(store: Path, run: str) -> dict[int, dict[str, np.ndarray]]:
    """By step, in order, the arrays of a run by name.

    Raises:
        Damaged: a file was cut short or changed; remove it, or train the run again.
    """
    files = sorted(_folder(store, run).glob("*.npz"), key=lambda path: int(path.stem))
    found: dict[int, dict[str, np.ndarray]] = {}
    for path in files:
        # a pickle could run code of whoever wrote the file
        with np.load(io.BytesIO(read_checked(path)), allow_pickle=False) as content:
            found[int(path.stem)] = {name: content[name] for name in content.files}
    return found


def _folder(store: Path, run: str) -> Path:
    """The folder of a run's arrays, inside the store."""
    if not is_file_name(run):
        raise BadInput(f"run {run!r} has no arrays: its name is no file name")
    folder = store / "arrays" / run
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link, which may lead out of the store: remove it")
    return folder
