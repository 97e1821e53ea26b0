"""Public names that are loaded when they are first used, so that importing a package stays cheap."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazily(
    package: str, homes: Mapping[str, str | None]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Args:
        package: its `__name__`.
        homes: where each public name comes from, a module of the package; None where it is that module.
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        module = importlib.import_module(f"{package}.{home or name}")
        value = module if home is None else getattr(module, name)
        setattr(sys.modules[package], name, value)  # from now on Python finds it by itself
        return value

    def names() -> list[str]:  # what a person may want to complete, not what the package imports
        return sorted(homes)

    return load, names
