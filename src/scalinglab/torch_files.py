"""States of torch computations in files with a checksum: read only where they are what was written.

Loading never unpickles: tensors, numbers, text, lists and dictionaries, nothing else.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import torch

from scalinglab.store.checked import read_checked, write_checked
from scalinglab.store.files import Damaged, StoreError


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write a state with its checksum; the file appears whole or not at all."""

    def write(file: Any) -> None:
        try:
            torch.save(state, file)
        except RuntimeError as error:  # what torch makes of a disk that is full
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise

    write_checked(path, write)


def load_state(path: Path, device: torch.device | str | None = None) -> dict[str, Any]:
    """The state in a file.

    Raises:
        FileNotFoundError: there is none.
        Damaged: it was cut short or changed since it was written.
    """
    content = read_checked(path)
    try:
        return dict(torch.load(io.BytesIO(content), map_location=device, weights_only=True))
    except StoreError:
        raise
    except Exception as error:  # written so, by another version of torch
        raise Damaged(f"{path} cannot be loaded: {str(error).splitlines()[0]}") from error
