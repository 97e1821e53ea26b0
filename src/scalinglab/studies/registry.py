"""The registry of reproductions: every figure, table and theorem of the papers that are studied.

The module of an extension (`scalinglab.support.extensions`) defines ``ENTRIES``, a tuple of `Entry`, and
keeps their records at scale smoke beside itself, in ``smoke/<paper>.json``.

An `Entry` names one of them, what it claims, the scales at which it runs, and the function that reproduces it
(a dotted path, so that listing loads nothing). The function takes a scale and returns a `Reproduction`: the
curves behind the figure, the figure, and a table of paper against measured. A number is judged in one entry
only: a figure of numbers that a table holds says in which entry they are judged.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from scalinglab.errors import BadInput, nearest
from scalinglab.studies.verdict import Row
from scalinglab.support.extensions import extensions
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scalinglab.curves import Curves

SCALES = {
    "smoke": "seconds, to see that it works",
    "laptop": "minutes on two cores",
    "gpu": "under half an hour on one GPU",
    "paper": "the original size",
}
UP_TO_GPU = ("smoke", "laptop", "gpu")
UP_TO_PAPER = (*UP_TO_GPU, "paper")
RECORDS = "smoke"  # folder of the records at scale smoke, beside the module of the entries
CLAIMS = "claims"  # folder of the claims, a file a paper, beside it too


@dataclass(frozen=True)
class Reproduction:
    """The result of a figure's function."""

    curves: Curves
    figure: Figure | None
    table: tuple[Row, ...]


@dataclass(frozen=True)
class Entry:
    """One figure, table or theorem of a paper.

    Attributes:
        key: paper/figure.
        claim: what the paper says there.
        scales: at which it runs.
        make: "package.module:function"; None while it is not built.
        arguments: of that function after the scale, where it makes several entries.
        judged_in: the entry whose table judges its numbers, where that is another one.
        laptop_minutes: what scale laptop took on two cores; None where that was not measured.
        local_data: whether it trains on data that differ between machines, such as their own files.
        gpu_hours: what scale paper takes on one H200, estimated from the steps and the time of a step.
    """

    key: str
    claim: str
    scales: tuple[str, ...] = ("smoke", "laptop")
    make: str | None = None
    arguments: tuple[Any, ...] = ()
    judged_in: str | None = None
    gpu_hours: float | None = None
    laptop_minutes: float | None = None
    local_data: bool = False

    @property
    def paper(self) -> str:
        """The paper it is from."""
        return self.key.split("/")[0]

    @property
    def built(self) -> bool:
        """Whether there is a function that makes it."""
        return self.make is not None

    def function(self) -> Callable[[str], Reproduction]:
        """The function that makes it, loaded now."""
        if self.make is None:
            raise BadInput(f"{self.key} is not built yet; 'scalinglab reproduce list' shows what is")
        module, name = self.make.split(":")
        found: Any = getattr(importlib.import_module(module), name)
        return lambda scale: found(scale, *self.arguments)


def listed(package: str, *own: Entry) -> tuple[Entry, ...]:
    """The entries of a package that is named after its paper.

    Keys are completed by the paper, and the paths of functions by the package, `__name__`.
    """
    paper = package.rpartition(".")[2]
    return tuple(
        replace(one, key=f"{paper}/{one.key}", make=f"{package}.{one.make}" if one.make else None)
        for one in own
    )


@checked
def entries() -> dict[str, Entry]:
    """Every entry by its key, in the order of the extensions."""
    found: dict[str, Entry] = {}
    for module in extensions():
        for entry in module.ENTRIES:
            if entry.key in found:
                raise BadInput(f"{entry.key} is defined twice, the second time in {module.__name__}")
            found[entry.key] = entry
    return found


def papers() -> list[str]:
    """The papers that have entries, in their order."""
    return list(dict.fromkeys(entry.paper for entry in entries().values()))


def extension_of(paper: str) -> ModuleType:
    """The module of the extension that studies a paper."""
    return next(m for m in extensions() if any(entry.paper == paper for entry in m.ENTRIES))


@checked
def entry(key: str) -> Entry:
    """The entry of that key, or an error that names the nearest one."""
    known = entries()
    if key not in known:
        own = [name for name in known if known[name].paper == key]
        if own:
            raise BadInput(f"{key!r} is a paper: name one figure or table of it: {', '.join(own)}")
        way_out = nearest(key, [*papers(), *known], f"'scalinglab reproduce list' shows all {len(known)}")
        raise BadInput(f"no figure or table {key!r}; {way_out}")
    return known[key]
