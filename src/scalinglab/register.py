"""Decorators that add to scalinglab: networks, data sets, optimizers, readers, law forms, papers.

What is added has a name, which settings, TOML files, commands and functions take as they take built-in ones.
An installed package adds the same by entry points (`scalinglab.support.extensions`), so that nobody has to
import it; ``examples/plugin`` is one to start from.

>>> from scalinglab import register
>>> @register.dataset("ones")
... def ones(n=4):
...     x = [[1.0]] * n
...     return x, x, x, x
>>> ones.__name__
'ones'
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar

from scalinglab.errors import BadInput, nearest
from scalinglab.support import extensions
from scalinglab.support.validation import checked

T = TypeVar("T")
__all__ = ["dataset", "form", "network", "optimizer", "paper", "reader"]


def _adding(kind: str, name: str) -> Callable[[T], T]:
    extensions.check_name(kind, name)
    return lambda value: extensions.add(kind, name, value)


@checked
def network(name: str) -> Callable[[T], T]:
    """Add a network: a class, or a function of the setting that makes one; ``model = "name"``."""
    return _adding("networks", name)


@checked
def dataset(name: str) -> Callable[[T], T]:
    """Add data: a function that returns (x, y, test_x, test_y) or a `Dataset`; ``dataset = "name"``."""
    return _adding("datasets", name)


@checked
def optimizer(name: str) -> Callable[[T], T]:
    """Add an optimizer: a class as those of `torch.optim`, or a function of (parameters, setting)."""
    return _adding("optimizers", name)


@checked
def reader(kind: str) -> Callable[[T], T]:
    """Add a reader: a function of a path that returns a table; ``sl.read(path, kind="kind")``."""
    return _adding("readers", kind)


@checked
def form(name: str) -> Callable[[T], T]:
    """Add a form of a law: a function that returns a `scalinglab.laws.Form`; ``sl.laws.fit("name", …)``."""
    return _adding("forms", name)


@checked
def paper(key: str, claim: str, scales: Sequence[str] = ("smoke", "laptop"), **more: Any) -> Callable[[T], T]:
    """Add a figure or table of a paper: a function of the scale that returns a `studies.Reproduction`.

    Args:
        key: paper/figure.
        claim: what the paper says there.
        scales, more: as of `scalinglab.studies.registry.Entry`.
    """
    from scalinglab.studies.registry import SCALES, Entry

    if key.count("/") != 1 or not all(key.split("/")):
        raise BadInput(f"key={key!r} must name a paper and a figure of it, as in 'someone2026/figure1'")
    if wrong := [scale for scale in scales if scale not in SCALES]:
        raise BadInput(f"scales={wrong} are not known; {nearest(str(wrong[0]), SCALES)}")

    def add(make: Any) -> Any:
        entry = Entry(key, claim, tuple(scales), f"{make.__module__}:{make.__qualname__}", **more)
        file = getattr(sys.modules.get(make.__module__), "__file__", None)
        found = SimpleNamespace(__name__=make.__module__, __file__=file, ENTRIES=(entry,))
        extensions.add("papers", key.replace("/", "_").replace("-", "_").replace(".", "_"), found)
        return make

    return add
