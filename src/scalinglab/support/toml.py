"""TOML files, with errors that name the file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from scalinglab.errors import BadInput


def read(path: str | Path, what: str) -> dict[str, Any]:
    """The table of a TOML file that holds `what`, such as "a grid"."""
    path = Path(path)
    if not path.is_file():
        wrong = "is a folder" if path.is_dir() else "does not exist"
        raise BadInput(f"{path} {wrong}; {what} is a TOML file")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not valid TOML: {error}") from error
