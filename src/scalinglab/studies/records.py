"""Reproduce every entry at scale smoke and compare with the records that come with the study.

The records are ``smoke/<paper>.json`` in the package of the study, with two parts:

- ``entries``: one record for each entry that runs at scale smoke, as `scalinglab.studies.results.record`
  writes it. Random numbers are seeded, so that a number differs from its record by rounding, by what a
  processor's own sums change, or because the code has changed.
- ``constants``: a digest of every constant of the study's modules, of every claim in the calls that make
  rows, and of the numbers in their functions (`constants`): numbers of the paper and scales that scale smoke
  does not reach are compared, too.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
import math
import pkgutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from scalinglab.errors import BadInput
from scalinglab.studies.registry import RECORDS, Entry, entries, extension_of, papers
from scalinglab.studies.results import record, run
from scalinglab.studies.verdict import Row, from_record
from scalinglab.support.validation import checked
from scalinglab.support.whole_files import write_text_whole

SCALE = "smoke"
CLAIMS = ("paper", "paper_stderr", "expected", "relation", "resolution", "claim")  # keywords of rows
SAME = ("paper", "paper_stderr", "relation", "n")  # of a row and its record
# how a figure looks, which no record depends on: arguments of calls, and calls
LOOKS = {
    "alpha", "bbox_to_anchor", "columnspacing", "fontsize", "handlelength", "labelspacing", "linewidth", "lw",
    "markeredgewidth", "markersize", "ncols", "size", "xytext",
}  # fmt: skip
DRAWN = {
    "axhline", "axvline", "axvspan", "guide", "inset_axes", "legend", "loglog_figure", "panels", "panels_for",
    "plot", "set", "set_xlim", "set_ylim", "slope", "text",
}  # fmt: skip
COUNTED_FROM = 3  # smaller whole numbers are not counted where they are places and axes of arrays:
PLACES = (ast.Call, ast.Subscript, ast.Slice, ast.Tuple, ast.UnaryOp)
# measured between the records of the bundled papers and another run of two thirds of them: at most 0.25
# standard errors and 11 % of one (figures on a network trained for 40 epochs), and 0.7 % of a resolution
# that is a tenth of a measured number; the other records match within the limits below
ROUNDING, SIGMAS = 1e-6, 0.5  # of a measured number, relative and in combined standard errors
LOCAL_SIGMAS = 3.0  # of numbers measured on data of the machine
DERIVED = 0.02  # of a reference or resolution that is computed, relative
STDERR_FACTOR = 1.3  # between standard errors


@dataclass(frozen=True)
class Checked:
    """One entry, reproduced and compared with its record; or the constants of a paper.

    Attributes:
        key: the entry, or "<paper> constants".
        rows: how many rows, or constants, it has now.
        seconds: that it took.
        differences: one sentence for each difference; none where it matches.
    """

    key: str
    rows: int
    seconds: float
    differences: tuple[str, ...]


@checked
def check(
    paper: str | None = None,
    write: bool = False,
    records: Path | None = None,
    minutes: float | None = None,
) -> Iterator[Checked]:
    """Reproduce every entry that runs at scale smoke, one after another, and compare it with its record.

    Args:
        paper: only this one.
        write: replace the records by what is found now.
        records: the folder that holds them; default: in the package of the study.
        minutes: of each paper only the entries that are done within this time of the processor, by the
            seconds of their records, those first that took least: a machine with other work checks no fewer.
    """
    if write and minutes is not None:
        raise BadInput("all records of a paper are written at once: leave out minutes")
    known_papers = papers()
    if paper is not None and paper not in known_papers:
        raise BadInput(f"no paper {paper!r}; choose from: {', '.join(known_papers)}")
    for name in known_papers if paper is None else [paper]:
        path = record_file(name) if records is None else records / f"{name}.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        start, used, now = time.perf_counter(), time.process_time(), constants(name)
        found = () if write else changed_constants(known.get("constants", {}), now)
        yield Checked(f"{name} constants", len(now), time.perf_counter() - start, found)
        fresh = {}
        taken = {key: one["seconds"] for key, one in known.get("entries", {}).items()}
        wanted = runnable(name)
        if minutes is not None:
            wanted.sort(key=lambda entry: taken.get(entry.key, 0.0))
        for entry in wanted:
            spent = time.process_time() - used + taken.get(entry.key, 0.0)
            if minutes is not None and spent > 60 * minutes:
                break
            made, seconds = run(entry.key, SCALE)
            fresh[entry.key] = record(made, entry.key, SCALE, seconds)
            old = known.get("entries", {}).get(entry.key)
            found = () if write else differences(old, made.table, entry.local_data)
            yield Checked(entry.key, len(made.table), seconds, found)
        if write:
            write_text_whole(path, json.dumps({"constants": now, "entries": fresh}, indent=1) + "\n")


def record_file(paper: str) -> Path:
    """The file of a paper's records at scale smoke."""
    return Path(str(extension_of(paper).__file__)).parent / RECORDS / f"{paper}.json"


def runnable(paper: str) -> list[Entry]:
    """The entries of a paper that are built and run at scale smoke."""
    return [e for e in entries().values() if e.paper == paper and e.built and SCALE in e.scales]


# --- rows ------------------------------------------------------------------------------------------------


def differences(
    known: Mapping[str, Any] | None, table: tuple[Row, ...], local_data: bool = False
) -> tuple[str, ...]:
    """Differences of a table from its record, in sentences.

    Args:
        local_data: see `Entry`: measured numbers are compared as two independent measurements are.
    """
    if known is None:
        return ("there is no record of it: scalinglab reproduce check --write writes one",)
    rows = {row.quantity: row for row in map(from_record, known["table"])}
    fresh = {row.quantity: row for row in table}
    found = [f"{name!r} is in the record only" for name in rows if name not in fresh]
    found += [f"{name!r} is not in the record" for name in fresh if name not in rows]
    for name in fresh.keys() & rows.keys():
        found += _changes(name, rows[name], fresh[name], local_data)
    return tuple(found)


def _changes(name: str, old: Row, new: Row, local_data: bool) -> list[str]:
    allowed = (LOCAL_SIGMAS if local_data else SIGMAS) * math.hypot(old.stderr or 0.0, new.stderr or 0.0)
    same = {field: _equal(getattr(old, field), getattr(new, field)) for field in SAME}
    same["measured"] = _near(old.measured, new.measured, ROUNDING, allowed)
    same["expected"] = _near(old.expected, new.expected, DERIVED, allowed)
    same["resolution"] = _near(old.resolution, new.resolution, DERIVED)
    same["stderr"] = local_data or _alike(old.stderr, new.stderr, abs(old.measured or 0.0))
    return [
        f"{name!r}: {field} was {getattr(old, field)} and is {getattr(new, field)}"
        for field, equal in same.items()
        if not equal
    ]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9)
    return bool(a == b)


def _near(a: float | None, b: float | None, relative: float, allowed: float = 0.0) -> bool:
    if a is None or b is None:
        return a is b
    return abs(a - b) <= max(relative * abs(a), allowed)


def _alike(a: float | None, b: float | None, value: float) -> bool:
    """Whether two standard errors are; both may be the rounding of a number that is computed exactly."""
    if a is None or b is None:
        return a is b
    return max(a, b) <= max(STDERR_FACTOR * min(a, b), ROUNDING * value)


# --- constants -------------------------------------------------------------------------------------------


def constants(paper: str) -> dict[str, str]:
    """A digest of each constant, "module.NAME", of the modules of a study whose path names the paper.

    With them "module claims": what rows are compared with, where that is written in the calls that make them,
    and "module numbers": the numbers that its functions hold, those of scales and settings among them.
    """
    package = extension_of(paper)
    names = [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    modules = [importlib.import_module(name) for name in names if paper in name.split(".")]
    found: dict[str, str] = {}
    for module in modules:
        place = module.__name__.partition(".")[2]
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        found |= {f"{place}.{name}": _digest(getattr(module, name)) for name in _assigned(tree)}
        if claims := _claims(tree):
            found[f"{place} claims"] = _digest(claims)
        if numbers := sorted(_numbers(tree.body)):
            found[f"{place} numbers"] = _digest(numbers)
    return found


def changed_constants(known: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Constants that differ from those of the records, in sentences."""
    names = [name for name in {**known, **now} if known.get(name) != now.get(name)]
    return tuple(f"{name} is not what the records were made with" for name in names)


def _claims(tree: ast.Module) -> list[list[Any]]:
    """[keyword, numbers and words of its value] of every claim in a call, whatever the order of the code."""
    given = [keyword for call in ast.walk(tree) if isinstance(call, ast.Call) for keyword in call.keywords]
    claims = [
        [keyword.arg, [part.value for part in ast.walk(keyword.value) if isinstance(part, ast.Constant)]]
        for keyword in given
        if keyword.arg in CLAIMS
    ]
    return sorted((claim for claim in claims if claim[1]), key=repr)


def _numbers(body: list[ast.stmt]) -> Iterator[float]:
    """The numbers in functions and classes, in any order, without claims and the looks of figures."""
    inside: list[ast.AST] = [node for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    while inside:
        node = inside.pop()
        if isinstance(node, ast.keyword) and node.arg in (*LOOKS, *CLAIMS):
            continue
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in DRAWN:
            continue
        least = COUNTED_FROM if isinstance(node, PLACES) else 0
        for part in ast.iter_child_nodes(node):
            value = part.value if isinstance(part, ast.Constant) else None
            if isinstance(value, float) or (type(value) is int and value >= least):
                yield value
            inside.append(part)


def _assigned(tree: ast.Module) -> list[str]:
    """The names in capitals that a module assigns itself, in order."""
    targets: list[ast.expr] = []
    for node in tree.body:
        targets += node.targets if isinstance(node, ast.Assign) else []
        targets += [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return [name for name in dict.fromkeys(names) if name.isupper()]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(_plain(value)).encode()).hexdigest()[:10]


def _plain(value: Any) -> Any:
    """A constant as JSON has it; of functions and other objects the name or the type alone."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(own)] for key, own in value.items()]
    if isinstance(value, (list, tuple, range)):
        return [_plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if hasattr(value, "tolist"):  # an array
        return [[f"{one:.12g}" for one in value.ravel()], list(value.shape)]
    return getattr(value, "__name__", type(value).__name__)
