"""Bytecode of the modules that a worker loads, kept between sweeps where Python keeps none.

Some images come with a PyTorch without bytecode and forbid Python to write it. Every process then compiles
two thousand modules anew, which takes longer than all else that a worker loads.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import cache_from_source, find_spec
from pathlib import Path

FORBIDS, FOLDER = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"


def keeping_bytecode(environment: Mapping[str, str], package: str = "torch") -> dict[str, str]:
    """The environment of a process that finds a package's bytecode, or keeps it for the next one.

    It is changed only where the package has no bytecode and none can be written beside it: then all bytecode
    is kept in the user's cache folder.
    """
    spec = find_spec(package)
    if environment.get(FOLDER) or spec is None or spec.origin is None:
        return dict(environment)
    origin = Path(spec.origin)
    allowed = not environment.get(FORBIDS) and os.access(origin.parent, os.W_OK)
    if allowed or Path(cache_from_source(spec.origin)).exists():
        return dict(environment)
    base = environment.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(base).expanduser() / "scalinglab" / "bytecode"
    kept = {name: value for name, value in environment.items() if name != FORBIDS}
    return {**kept, FOLDER: str(folder)}


def keep_bytecode_here() -> None:
    """The same for this process and those that it starts, for modules that are not loaded yet."""
    kept = keeping_bytecode(os.environ)
    if kept.get(FOLDER) != os.environ.get(FOLDER):
        sys.pycache_prefix, sys.dont_write_bytecode = kept[FOLDER], False
        os.environ[FOLDER] = kept[FOLDER]
        os.environ.pop(FORBIDS, None)
