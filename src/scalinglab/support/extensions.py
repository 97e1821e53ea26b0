"""What others add to scalinglab: by a decorator, by an installed package, or by name from their own files.

Six kinds can be added, each by one decorator of `scalinglab.register`, or by a package that declares an entry
point of the kind's group:

    [project.entry-points."scalinglab.networks"]
    mixer = "my_package:Mixer"

The value of an entry point of ``scalinglab.papers`` is a module. It defines ``ENTRIES``, the figures and
tables that it reproduces (`scalinglab.studies.registry`), and may define ``TABLES``, published curves by name
(`scalinglab.data.tables`), and ``MEASURED``, the folder of its records (`scalinglab.studies.claims`).

``"module:attribute"`` names anything else that can be imported (`load`); modules that lie in the working
folder, or beside a file that names them, are found too.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from scalinglab.errors import BadInput

T = TypeVar("T")
KINDS = ("networks", "datasets", "optimizers", "readers", "forms", "papers")
# comes in the same wheel; by name, so that a checkout that is not installed (no metadata) finds it too
BUNDLED = "scalinglab_papers"
_ADDED: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}


def check_name(kind: str, name: str) -> None:
    """Refuse a name that could not be told from "module:attribute" or a path."""
    if not name.isidentifier():
        raise BadInput(f"{name!r} cannot be a name of {kind}: give letters, digits and underscores")


def add(kind: str, name: str, value: T) -> T:
    """Add something under a name; a name that is there already is replaced."""
    check_name(kind, name)
    _ADDED[kind][name] = value
    return value


def _installed(kind: str) -> dict[str, EntryPoint]:
    return _installed_in(kind, tuple(sys.path))


@lru_cache(maxsize=64)
def _installed_in(kind: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Looked for once, in the folders that Python imports from."""
    return {point.name: point for point in entry_points(group=f"scalinglab.{kind}")}


def is_added(kind: str, name: str) -> bool:
    """Whether a decorator or an installed package has added something under a name."""
    return name in _ADDED[kind] or name in _installed(kind)


def names(kind: str) -> list[str]:
    """The names that decorators and installed packages have added; nothing is loaded."""
    return sorted({*_ADDED[kind], *_installed(kind)})


def added(kind: str, name: str) -> Any:
    """What was added under a name, loaded now."""
    if name in _ADDED[kind]:
        return _ADDED[kind][name]
    point = _installed(kind)[name]
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise BadInput(f"{kind} {name!r} of an installed package ({point.value}): {error}") from error


def extensions() -> list[ModuleType]:
    """The modules of all papers: the bundled one, then those that are installed, then registered ones."""
    bundled = [BUNDLED] if importlib.util.find_spec(BUNDLED) is not None else []
    installed = sorted(point.module for point in _installed("papers").values())
    modules = [importlib.import_module(name) for name in dict.fromkeys(bundled + installed)]
    return modules + [module for module in _ADDED["papers"].values() if module not in modules]


# --- by name ---------------------------------------------------------------------------------------


def look_in(folder: str | Path) -> None:
    """Find modules that lie in a folder, here and in processes that are started from here."""
    if (path := str(Path(folder).resolve())) not in sys.path:
        sys.path.append(path)


def load(reference: str, what: str) -> Any:
    """What ``module:attribute`` names, as in "mine:Mixer"; modules of the working folder are found, too.

    Args:
        reference: the name.
        what: it is to be, for errors: "model", say.
    """
    module, _, attribute = reference.partition(":")
    look_in(os.getcwd())
    try:
        found = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        here = [path for path in map(Path, sys.path) if (path / f"{module.partition('.')[0]}.py").is_file()]
        where = "" if here else f"; {module}.py must lie in the working folder or beside the TOML file"
        raise BadInput(f"{what} = {reference!r} cannot be loaded: {error}{where}") from error
    return found
