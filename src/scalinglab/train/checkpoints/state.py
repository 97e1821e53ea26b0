"""What a killed group of runs needs to go on: one file a group beside the store, replaced as a whole.

All runs of a group are kept at the same step in one file, so that they resume together, stacked as they
were, and give the same bits. Files carry a checksum: a damaged one is quarantined and its runs start again.
Loading never unpickles: tensors, numbers, text, lists and dictionaries, nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from scalinglab.curves.columns import plain
from scalinglab.store.checked import read_checked, write_checked
from scalinglab.store.files import Damaged, StoreError, StoreWarning, quarantine


def _stem(folder: Path, runs: Sequence[str]) -> Path:
    return folder / hashlib.sha256(" ".join(runs).encode()).hexdigest()[:16]


def save(folder: Path, runs: Mapping[str, Mapping[str, Any]], state: dict[str, Any]) -> None:
    """Keep the state of these runs, given by name with what defines them."""
    stem = _stem(folder, list(runs))

    def write(file: Any) -> None:
        try:
            torch.save({"runs": list(runs), **state}, file)
        except RuntimeError as error:  # what torch makes of a disk that is full
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise

    write_checked(stem.with_suffix(".pt"), write)
    # last: groups are found by this file, and then the state must be there; `forget` removes it first
    text = json.dumps(plain(runs)).encode()
    write_checked(stem.with_suffix(".json"), lambda file: file.writelines([text]))


def load(folder: Path, runs: Sequence[str]) -> dict[str, Any] | None:
    """The latest state of exactly these runs; None if there is none or it is damaged (with a warning)."""
    path = _stem(folder, runs).with_suffix(".pt")
    try:
        return _loaded(path)
    except FileNotFoundError:
        return None
    except Damaged as error:
        _quarantine(path, error)
        return None


def _loaded(path: Path) -> dict[str, Any]:
    content = read_checked(path)
    try:
        return dict(torch.load(io.BytesIO(content), weights_only=True))
    except StoreError:
        raise
    except Exception as error:  # written so, by another version of torch
        raise Damaged(f"{path} cannot be loaded: {str(error).splitlines()[0]}") from error


def _quarantine(path: Path, error: Damaged) -> None:
    """Quarantine a damaged file, with a warning; its runs start again."""
    moved = quarantine(path, path.parent.parent)
    warnings.warn(f"{error}; moved to {moved}: its runs start again", StoreWarning, stacklevel=2)


def groups(folder: Path) -> list[dict[str, dict[str, Any]]]:
    """The groups of runs that have a state here: names, and what defines each run."""
    found = []
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(FileNotFoundError):  # ended meanwhile
            try:
                found.append(json.loads(bytes(read_checked(path))))
            except Damaged as error:
                _quarantine(path, error)
    return found


def forget(folder: Path, runs: Sequence[str]) -> None:
    """Remove the state of runs that are finished."""
    stem = _stem(folder, runs)
    for name in (
        f"{stem.name}.json",
        f"{stem.name}.pt",
        f".{stem.name}.json.partial",
        f".{stem.name}.pt.partial",
    ):
        (folder / name).unlink(missing_ok=True)
