"""A study that is installed for one test, as any package adds one: by an entry point of scalinglab.papers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from scalinglab.studies import Entry, Reproduction

NAME = "fake_study"


def install(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    entries: Sequence[Entry] = (Entry("paper/fig", "a claim", make="fake_study:make"),),
    **functions: Callable[[str], Reproduction],
) -> Path:
    """Install a package with these entries, of functions "fake_study:name", and return its folder."""
    package, info = folder / NAME, folder / f"{NAME}-1.0.dist-info"
    for made in (package, info):
        made.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[scalinglab.papers]\nfake = {NAME}\n")
    module = ModuleType(NAME)
    module.__file__, module.__path__ = str(package / "__init__.py"), [str(package)]
    vars(module).update(functions, ENTRIES=tuple(entries))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(sys.modules, NAME, module)
    return package
