"""Packages that add studies to scalinglab.

A package declares itself by an entry point of the group ``scalinglab.papers``, whose value is a module:

    [project.entry-points."scalinglab.papers"]
    my_study = "my_study"

The module defines ``ENTRIES``, the figures and tables that it reproduces (`scalinglab.studies.registry`), and
may define ``TABLES``, published curves by name (`scalinglab.data.tables`).
"""

from __future__ import annotations

import importlib
import importlib.util
from importlib.metadata import entry_points
from types import ModuleType

GROUP = "scalinglab.papers"
# comes in the same wheel; by name, so that a checkout that is not installed (no metadata) finds it too
BUNDLED = "scalinglab_papers"


def extensions() -> list[ModuleType]:
    """The modules of all extensions: the bundled one first, then those that are installed."""
    bundled = [BUNDLED] if importlib.util.find_spec(BUNDLED) is not None else []
    installed = sorted(point.module for point in entry_points(group=GROUP))
    return [importlib.import_module(name) for name in dict.fromkeys(bundled + installed)]
