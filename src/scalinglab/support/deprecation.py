"""Old public names: they work for one more version, with a `DeprecationWarning` that names the new one.

Functions take old arguments through `renamed_arguments`, dataclasses old fields through `renamed_fields`,
classes keep old attributes through `renamed_attribute`, modules old functions through `renamed_names`, and
packages with lazy names through ``lazily(..., renamed=...)``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

REMOVED_IN = "0.3"


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that `old` is now called `new`; the warning points at the caller's caller.

    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     warn_renamed("needed", "size_for")
    >>> str(seen[0].message)
    'needed is now called size_for; the old name will be removed in 0.3'
    """
    warnings.warn(
        f"{old} is now called {new}; the old name will be removed in {REMOVED_IN}",
        DeprecationWarning,
        stacklevel=stacklevel,
    )


def renamed_arguments(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take keyword arguments by their old names: ``renamed_arguments(missing="nan_policy")``.

    Giving an argument under both names is a `TypeError`, as for any argument given twice.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def renamed(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in [name for name in kwargs if name in names]:
                new, called = names[old], function.__qualname__.removesuffix(".__init__")
                if new in kwargs:
                    raise TypeError(f"{called}() got both {old}= and {new}=, which are the same argument")
                warn_renamed(f"{called}({old}=)", f"{new}=")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return renamed

    return decorate


def renamed_fields(**names: str) -> Callable[[C], C]:
    """Let a dataclass be made with old names of its fields, and read by them."""

    def decorate(cls: C) -> C:
        cls.__init__ = renamed_arguments(**names)(cls.__init__)  # type: ignore[misc]
        for old, new in names.items():
            setattr(cls, old, renamed_attribute(old, new))
        return cls

    return decorate


def renamed_attribute(old: str, new: str) -> Any:
    """A property that reads `new` under its old name: ``error = renamed_attribute("error", "stderr")``."""

    def read(self: Any) -> Any:
        warn_renamed(f"{type(self).__name__}.{old}", new)
        return getattr(self, new)

    return property(read, doc=f"Old name of `{new}`.")


def renamed_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose functions or constants have new names."""

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn_renamed(f"{module}.{name}", names[name])
        return getattr(sys.modules[module], names[name])

    return load
