"""What a killed group of runs needs to go on: one file a group beside the store, replaced as a whole.

All runs of a group are kept at the same step in one file, so that they resume together, stacked as they
were, and give the same bits.
"""

from __future__ import annotations

import hashlib
import json
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
    write_whole(stem.with_suffix(".pt"), lambda path: torch.save({"runs": list(runs), **state}, path))
    write_whole(stem.with_suffix(".json"), lambda path: _write(path, json.dumps(plain(runs))))


def _write(path: Path, text: str) -> None:
    path.write_text(text)


def load(folder: Path, runs: Sequence[str]) -> dict[str, Any] | None:
    """The latest state of exactly these runs, or None."""
    path = _stem(folder, runs).with_suffix(".pt")
    return torch.load(path, weights_only=True) if path.exists() else None


def groups(folder: Path) -> list[dict[str, dict[str, Any]]]:
    """The groups of runs that have a state here: names, and what defines each run."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def forget(folder: Path, runs: Sequence[str]) -> None:
    """Remove the state of runs that are finished."""
    for ending in (".json", ".pt"):
        _stem(folder, runs).with_suffix(ending).unlink(missing_ok=True)
