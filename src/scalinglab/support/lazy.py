"""Public names that are loaded when they are first used, so that importing a package stays cheap."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazily(
    package: str,
    homes: Mapping[str, str] | None = None,
    modules: Mapping[str, str] | None = None,
    onto: str | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Args:
        package: its `__name__`.
        homes: the module of the package that defines each public name.
        modules: public names that are modules of the package themselves, and their paths in it.
        onto: the module that offers the names, where it is not the package.
    """
    homes, modules = homes or {}, modules or {}

    def load(name: str) -> Any:
        if name in modules:
            value = importlib.import_module(f"{package}.{modules[name]}")
        elif name in homes:
            value = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        else:
            raise AttributeError(f"module {onto or package!r} has no attribute {name!r}")
        setattr(sys.modules[onto or package], name, value)  # from now on Python finds it by itself
        return value

    def names() -> list[str]:  # for completion: the public names, not what the package imports
        return sorted({*homes, *modules})

    return load, names
