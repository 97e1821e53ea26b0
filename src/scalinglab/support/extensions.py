"""Extensions: papers of installed packages, and anything in a user's files by its name.

A package adds papers by an entry point of the group ``scalinglab.papers``:

    [project.entry-points."scalinglab.papers"]
    my_study = "my_study"

Its value is a module. It defines ``ENTRIES``, the figures and tables that it reproduces
(`scalinglab.studies.registry`), and may define ``TABLES``, published curves by name
(`scalinglab.data.tables`), and ``MEASURED``, the folder of its records (`scalinglab.studies.claims`).

``"module:attribute"`` names anything else that can be imported (`load`): a network, data, an optimizer, a
form. Modules that lie in the working folder, or beside a file that names them, are found too.
"""

from __future__ import annotations

import importlib
import os
import sys
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from scalinglab.errors import BadInput


def extensions() -> list[ModuleType]:
    """The modules of all papers: those that come with this package, then those of others."""
    return [importlib.import_module(name) for name in _installed(tuple(sys.path))]


@lru_cache(maxsize=64)
def _installed(path: tuple[str, ...]) -> list[str]:
    """The modules of entry points; looked for once, in the folders that Python imports from."""
    points = entry_points(group="scalinglab.papers")
    ours = (point.module for point in points if point.dist is not None and point.dist.name == "scalinglab")
    return [*dict.fromkeys((*ours, *sorted(point.module for point in points)))]


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
