"""Grid: a compact definition of many settings, in Python or TOML.

    experiment = "digits"
    seeds = 3                                              # seed = 0, 1, 2

    [setting]                                              # the same in every run
    model = "cnn"
    dataset = "digits"
    epochs = 10

    [axes]                                                 # every combination
    n_data = { largest = 1280, ratio = 2, count = 4 }      # nested sizes: 160, 320, 640, 1280
    learning_rate = { from = 1e-3, to = 1e-1, points = 3 } # evenly spaced in the log

    [[zip]]                                                # these change together
    width = [0.5, 1, 2]
    batch_size = [32, 64, 128]

A grid may have `[[parts]]`, each with its own setting, axes, zip and seeds on top of the common ones: the
runs of all parts together are the grid.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scalinglab.curves import plain
from scalinglab.errors import BadInput, nearest
from scalinglab.support.extensions import look_in
from scalinglab.support.validation import checked
from scalinglab.support.whole_files import read_toml

Setting = dict[str, Any]
_KEYS = ("setting", "axes", "zip", "parts", "seeds", "experiment", "runner")
LISTS = ("measure", "metrics", "superclass")  # keys of a setting whose values are lists themselves
MOST_RUNS = 1_000_000  # of a grid: as many settings take 2 s and 500 MB to write out
_RANGES = {frozenset(("from", "to", "points")), frozenset(("largest", "ratio", "count"))}


@dataclass(frozen=True)
class Grid:
    """A grid of settings.

    Args:
        setting: what is the same in every run.
        axes: name -> values; every combination of values is a run. Values are a list,
            ``{"from": 1e-3, "to": 1e-1, "points": 3}`` (evenly spaced in the log; whole numbers where both
            ends are), or ``{"largest": 1280, "ratio": 2, "count": 4}`` (nested sizes).
        zip: groups of axes that change together, lists of one length.
        parts: grids on top of this one; the runs are those of all parts.
        seeds: a number of seeds, counted from 0, or a list of them.
        experiment: the name under which the runs are kept.
        runner: what does the runs; training networks unless another is named.
    """

    setting: Mapping[str, Any] = field(default_factory=dict)
    axes: Mapping[str, Any] = field(default_factory=dict)
    zip: Sequence[Mapping[str, Any]] = ()
    parts: Sequence[Mapping[str, Any]] = ()
    seeds: int | Sequence[int] | None = None
    experiment: str | None = None
    runner: str = "train"

    def __post_init__(self) -> None:
        for name in _KEYS:  # arrays, ranges and tuples as lists: what is kept in a store is what was given
            object.__setattr__(self, name, plain(getattr(self, name)))
        _check({name: getattr(self, name) for name in _KEYS}, "a grid")

    @staticmethod
    def read(path: str | Path) -> Grid:
        """A grid from a TOML file."""
        values = read_toml(path, "a grid")
        look_in(Path(path).parent)  # for what is the user's own, "mine:Mixer"
        try:
            return Grid.from_dict(values)
        except BadInput as error:
            raise BadInput(f"{path}: {error}") from error

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Grid:
        """A grid from a dictionary, as TOML gives it."""
        _known(values, _KEYS, "a grid")
        return Grid(**values)

    def to_dict(self) -> dict[str, Any]:
        """What `from_dict` takes; only what was given."""
        values = {name: getattr(self, name) for name in _KEYS}
        empty = {"setting": {}, "axes": {}, "zip": [], "parts": [], "runner": "train"}
        return {name: v for name, v in values.items() if v is not None and v != empty.get(name)}

    def __iter__(self) -> Iterator[Setting]:
        return iter(self.settings())

    def __len__(self) -> int:
        return len(self.settings())

    def settings(self) -> list[Setting]:
        """Every run's setting, in the order of the axes, the last one fastest."""
        found = list(self._expand())
        if not found:
            raise BadInput("the grid has no runs: seeds are 0, or an empty list")
        return found

    def _expand(self) -> Iterator[Setting]:
        if self.parts:
            for part in self.parts:
                _check(part, "a part of a grid")
                yield from self._with(part)._expand()
            return
        groups = _axes(self)
        _at_most(math.prod(map(len, groups)), " × ".join(str(len(group)) for group in groups))
        for choice in itertools.product(*groups):
            setting = dict(self.setting)
            for values in choice:
                setting |= values
            yield setting

    def _with(self, part: Mapping[str, Any]) -> Grid:
        """This grid with a part on top of it: the part overrides names that both have."""
        own = {*part.get("setting", {}), *part.get("axes", {}), *(n for z in part.get("zip", ()) for n in z)}
        return Grid(
            setting={**{k: v for k, v in self.setting.items() if k not in own}, **part.get("setting", {})},
            axes={**{k: v for k, v in self.axes.items() if k not in own}, **part.get("axes", {})},
            zip=[*(z for z in self.zip if not own & set(z)), *part.get("zip", ())],
            seeds=part.get("seeds", self.seeds),
        )


@checked
def grid(**values: Any) -> Grid:
    """Settings from keys: lists, ranges and arrays are axes, of which every combination is a run.

    Everything else is the same in every run. ``{"from": 1e-3, "to": 1e-1, "points": 3}`` is an axis, too, as
    in a `Grid`; `measure`, which is a list itself, is the same in every run unless it holds lists.

    >>> len(grid(n_data=[100, 1000], seed=range(5), epochs=20))
    10
    """
    axes = {name: value for name, value in values.items() if _is_axis(name, plain(value))}
    return Grid({name: value for name, value in values.items() if name not in axes}, axes)


def _is_axis(name: str, value: Any) -> bool:
    if isinstance(value, Mapping):
        return frozenset(value) in _RANGES
    several = isinstance(value, list)
    return several and (name not in LISTS or any(isinstance(one, list) for one in value))


def _at_most(count: int, what: str) -> None:
    """Refuse more runs than a grid may have, before any of them is written out."""
    if count > MOST_RUNS:
        raise BadInput(f"the grid has {count:,} runs ({what}), more than {MOST_RUNS:,}: give fewer values")


def _known(values: Mapping[str, Any], keys: Sequence[str], what: str) -> None:
    if not isinstance(values, Mapping):
        raise BadInput(f"{what} is a table of keys, not {values!r}")
    for key in values:
        if key not in keys:
            raise BadInput(f"{what} has no {key!r}; {nearest(key, keys)}")


def _check(values: Mapping[str, Any], what: str) -> None:
    """Reject a malformed grid or part of a grid."""
    _known(values, _KEYS if what == "a grid" else ("setting", "axes", "zip", "seeds"), what)
    for name in ("setting", "axes"):
        if not isinstance(values.get(name, {}), Mapping):
            raise BadInput(f"{name} is a table of names and values, not {values[name]!r}")
    for name in ("zip", "parts"):
        tables = values.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
            raise BadInput(f"{name} is a list of tables, each written under [[{name}]], not {tables!r}")
    for name in ("experiment", "runner"):
        if not isinstance(values.get(name) or "", str):
            raise BadInput(f"{name} = {values[name]!r} must be text")
    seeds = values.get("seeds")
    numbers = seeds if isinstance(seeds, list) else [0 if seeds is None else seeds]
    if not all(type(seed) is int and seed >= 0 for seed in numbers) or len({*numbers}) < len(numbers):
        raise BadInput(f"seeds = {seeds!r} must be a number of seeds, or a list of different whole numbers")


def _axes(grid: Grid) -> list[list[Setting]]:
    """The choices of each axis or zip, as pieces of a setting."""
    groups = [[{name: value} for value in _values(name, values)] for name, values in grid.axes.items()]
    for together in grid.zip:
        columns = {name: _values(name, values) for name, values in together.items()}
        if len({len(values) for values in columns.values()}) != 1:
            lengths = ", ".join(f"{name} has {len(values)}" for name, values in columns.items())
            raise BadInput(f"axes in a zip change together and need one length: {lengths}")
        groups.append([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])
    if grid.seeds is not None:
        if isinstance(grid.seeds, int):
            _at_most(grid.seeds, "seeds")
        seeds = range(grid.seeds) if isinstance(grid.seeds, int) else grid.seeds
        groups.append([{"seed": seed} for seed in seeds])
    seen: set[str] = set(grid.setting)
    for group in groups:
        names = set(group[0]) if group else set()
        if twice := seen & names:
            raise BadInput(f"{min(twice)!r} is given twice: fixed, as an axis, in a zip, or by seeds")
        seen |= names
    return groups


def _values(name: str, values: Any) -> list[Any]:
    if isinstance(values, Mapping):
        return _range(name, values)
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise BadInput(
            f"axis {name} = {values!r} must be a list or a range; a fixed value belongs to [setting]"
        )
    if any(isinstance(value, float) and math.isnan(value) for value in values):
        raise BadInput(f"axis {name} has a NaN: NaN cannot identify a run; remove it")
    if not values:
        raise BadInput(f"axis {name} is empty: give it values, or leave it out")
    if (repeated := _repeated(values)) is not None:
        raise BadInput(f"axis {name} has {values[repeated]!r} twice")
    return list(values)


def _repeated(values: Sequence[Any]) -> int | None:
    """The index of the first repeated value; None where all are different."""
    seen: set[Any] = set()
    for place, value in enumerate(values):
        # lists and dictionaries by their text; numbers and text as they are, so that 1 and 1.0 are the same
        key = (
            ("", json.dumps(value, sort_keys=True, default=str)) if isinstance(value, (list, dict)) else value
        )
        if key in seen:
            return place
        seen.add(key)
    return None


def _range(name: str, values: Mapping[str, Any]) -> list[Any]:
    """Log ranges and nested sizes."""
    if frozenset(values) not in _RANGES:
        known = ("from", "to", "points", "largest", "ratio", "count")
        for key in values:
            if key not in known:
                raise BadInput(f"axis {name}: a range has no {key!r}; {nearest(key, known)}")
        raise BadInput(
            f"axis {name}: a range is {{from, to, points}} or {{largest, ratio, count}}, not {dict(values)}"
        )
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in values.values()):
        raise BadInput(f"axis {name}: a range holds numbers, not {dict(values)}")
    if not all(isinstance(values.get(key, 1), int) for key in ("points", "count")):
        raise BadInput(f"axis {name}: points and count are whole numbers, not {dict(values)}")
    _at_most(values.get("points", values.get("count")), f"axis {name}")
    if "largest" in values:
        largest, ratio, count = values["largest"], values["ratio"], values["count"]
        if not (largest > 0 and ratio > 1 and count >= 1):
            raise BadInput(f"axis {name}: nested sizes need largest > 0, ratio > 1 and count ≥ 1")
        if count - 1 > 709 / math.log(ratio):  # e^709 is the largest number
            raise BadInput(f"axis {name}: ratio = {ratio:g} to the power {count - 1} is no number; take less")
        sizes = [largest / ratio**k for k in range(count - 1, -1, -1)]
        found = [round(size) for size in sizes] if isinstance(largest, int) else sizes
    else:
        low, high, points = values["from"], values["to"], values["points"]
        if not (low > 0 and high > 0 and points >= 2 and low != high):
            raise BadInput(
                f"axis {name}: a log range needs from > 0, to > 0, from ≠ to and two points or more"
            )
        found = [math.exp(math.log(low) + (math.log(high / low)) * k / (points - 1)) for k in range(points)]
        # exp(log x) need not give x back
        found[0], found[-1] = low, high
        if isinstance(low, int) and isinstance(high, int):
            found = [round(value) for value in found]
        else:
            found = [float(f"{value:.6g}") for value in found]  # 0.01, not 0.010000000000000002
    if len(set(found)) < len(found) or min(found) <= 0:
        raise BadInput(f"axis {name}: the range {dict(values)} gives {found}, not all different and positive")
    return found
