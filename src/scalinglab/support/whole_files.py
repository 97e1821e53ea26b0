"""Files that appear whole or not at all: written under a temporary name, then renamed; and TOML, read."""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scalinglab.errors import BadInput


def write_whole(path: Path, write: Callable[[Path], object], *, sync: bool = False) -> Path:
    """Let `write` make a file under a temporary name, and rename it to `path`; its folder is made.

    The temporary name starts with a dot, which readers of Parquet folders skip, and is removed where
    something goes wrong. Only one process may write a given path at a time; the caller sees to that.

    Args:
        sync: bring the content to the disk before the renaming, and the renaming after it, so that the file
            is whole after a power cut too.
    """
    partial = path.with_name(f".{path.name}.partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write(partial)
        if sync:
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    if sync:
        sync_folder(path.parent)
    return path


def write_text_whole(path: Path, text: str) -> Path:
    """Write text (UTF-8) as a whole file."""
    return write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def sync_folder(folder: Path) -> None:
    """Make renames in a folder last through a power cut, where the system can."""
    with contextlib.suppress(OSError):  # not every file system, nor Windows, lets a folder be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_toml(path: str | Path, what: str) -> dict[str, Any]:
    """The table of a TOML file that holds `what`, such as "a grid"."""
    path = Path(path)
    if not path.is_file():
        wrong = "is a folder" if path.is_dir() else "does not exist"
        raise BadInput(f"{path} {wrong}; {what} is a TOML file")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not valid TOML: {error}") from error
