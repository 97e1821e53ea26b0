"""What a killed group of runs needs to go on: one file a group beside the store, replaced as a whole.

All runs of a group are kept at the same step in one file, so that they resume together, stacked as they
were, and give the same bits.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from scalinglab.curves.columns import plain
from scalinglab.store.files import write_whole


def _stem(folder: Path, runs: Sequence[str]) -> Path:
    return folder / hashlib.sha256(" ".join(runs).encode()).hexdigest()[:16]


def save(folder: Path, runs: Mapping[str, Mapping[str, Any]], state: dict[str, Any]) -> None:
    """Keep the state of these runs, given by name with what defines them."""
    stem = _stem(folder, list(runs))
    write_whole(stem.with_suffix(".pt"), lambda path: _save(path, {"runs": list(runs), **state}))
    write_whole(stem.with_suffix(".json"), lambda path: _write(path, json.dumps(plain(runs))))


def _save(path: Path, state: dict[str, Any]) -> None:
    with path.open("wb") as file:
        try:
            torch.save(state, file)
        except RuntimeError as error:  # what torch makes of a disk that is full
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise


def _write(path: Path, text: str) -> None:
    path.write_text(text)


def load(folder: Path, runs: Sequence[str]) -> dict[str, Any] | None:
    """The latest state of exactly these runs, or None, also where it is damaged."""
    path = _stem(folder, runs).with_suffix(".pt")
    try:
        return dict(torch.load(path, weights_only=True)) if path.exists() else None
    except (RuntimeError, EOFError, ValueError, pickle.UnpicklingError):
        return None


def groups(folder: Path) -> list[dict[str, dict[str, Any]]]:
    """The groups of runs that have a state here: names, and what defines each run."""
    found = []
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(FileNotFoundError, ValueError):  # ended meanwhile, or damaged: begun anew
            found.append(json.loads(path.read_text()))
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
