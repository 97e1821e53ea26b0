"""Arrays beside the curves: one compressed file for each run and step, ``arrays/<run>/<step>.npz``.

Members of the file carry a checksum (CRC-32 of the zip format), which is compared when they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from scalinglab.store.files import StoreError
from scalinglab.support.whole_files import write_whole


def keep(folder: Path, run: str, step: int, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the arrays of one checkpoint; those of an earlier attempt at it are replaced."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            content: dict[str, Any] = {name: np.asarray(value) for name, value in arrays.items()}
            np.savez_compressed(file, **content)

    write_whole(folder / "arrays" / run / f"{int(step)}.npz", write)


def load(folder: Path, run: str) -> dict[int, dict[str, np.ndarray]]:
    """By step, in order, the arrays of a run by name."""
    files = sorted((folder / "arrays" / run).glob("*.npz"), key=lambda path: int(path.stem))
    found: dict[int, dict[str, np.ndarray]] = {}
    for path in files:
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
                found[int(path.stem)] = {name: content[name] for name in content.files}
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise StoreError(f"{path} cannot be read ({error}); remove it, or train the run again") from error
    return found
