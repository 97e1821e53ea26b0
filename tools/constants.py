"""The numbers of laws that a module gives a name, each with its kind, and how many of them are tuned.

    python tools/constants.py [--tuned]
    python tools/constants.py --change fitting/statistics.py:HUBER=1.0 benchmarks/coverage.py --only "t3"

A kind is the first word of a constant's comment, before a colon: at the end of its line, or above it. One
above holds for all lines down to the next empty one that have none of their own. Definitions of parameters
of forms (`Parameter(…)`) are no constants. ``--tuned`` prints the tuned ones alone. ``--change`` runs a
script on a copy of the package in which one has another value: which rows move says what it decides.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LAWS = Path(__file__).resolve().parents[1] / "src" / "scalinglab" / "laws"
KINDS = {
    "measured": "chosen by the benchmark that is named, or it shows what lies on both sides",
    "judged": "no choice is on record; the named benchmark, or rows of it, are about what it decides",
    "chosen": "decides an answer, and no benchmark is about it",
    "published": "taken from the work that is named",
    "convention": "usual in the field, or a unit",
    "defined": "follows from a formula, or names a case",
    "search": "starts, grids, draws, resolutions, limits on time",
    "guard": "against rounding, overflow and division by zero",
}
TUNED = ("measured", "judged", "chosen")
KIND = re.compile(rf"# ({'|'.join(KINDS)}): ")


class Constant(NamedTuple):
    """A named number: where it is, its kind ("" for none), and the comment from there on."""

    place: str
    name: str
    value: str
    kind: str
    comment: str


def constants(root: Path = LAWS) -> Iterator[Constant]:
    """Every named number below a folder, in order of file and line; of a tuple of names, each."""
    for path in sorted(root.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and _has_number(node.value):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                place = f"{path.relative_to(root).as_posix()}:{node.lineno}"
                said = _kind(source.splitlines(), node.lineno - 1, node.end_lineno or node.lineno)
                for name in ast.walk(target):
                    if isinstance(name, ast.Name) and name.id.isupper():
                        yield Constant(place, name.id, ast.unparse(node.value), *said)


def _has_number(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Parameter":
        return False
    number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return number or any(map(_has_number, ast.iter_child_nodes(node)))


def _kind(lines: list[str], first: int, end: int) -> tuple[str, str]:
    """The kind of what stands on some lines, and the text from it on."""
    found, start = KIND.search(lines[end - 1]), first
    while not found and start and lines[start - 1].strip():
        start -= 1
        found = KIND.match(lines[start])
    return (found[1], "\n".join(lines[start:end])) if found else ("", "")


def changed(source: str, name: str, value: str) -> str:
    """A module's source with another value of one of its constants; of a tuple of names, of this one."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            pairs = (
                zip(target.elts, node.value.elts, strict=True)
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                else [(target, node.value)]
            )
            for each, old in pairs:
                if isinstance(each, ast.Name) and each.id == name:
                    lines = source.encode().splitlines(keepends=True)  # columns of `ast` count bytes
                    first, last, end = old.lineno - 1, (old.end_lineno or 0) - 1, old.end_col_offset or 0
                    before, after = lines[first][: old.col_offset], lines[last][end:]
                    lines[first : last + 1] = [before + value.encode() + after]
                    return b"".join(lines).decode()
    raise SystemExit(f"no constant {name} there")


def run_changed(change: str, command: list[str]) -> int:
    """Run a script with ``module.py:NAME=VALUE`` in force; its exit status."""
    place, value = change.split("=", 1)
    module, name = place.rsplit(":", 1)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(LAWS.parents[1], f"{folder}/src", ignore=shutil.ignore_patterns("__pycache__"))
        path = Path(folder, "src", "scalinglab", "laws", module)
        path.write_text(changed(path.read_text(encoding="utf-8"), name, value), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": f"{folder}/src"}
        return subprocess.run([sys.executable, *command], env=environment, check=False).returncode


if __name__ == "__main__":
    if "--change" in sys.argv[1:2]:
        sys.exit(run_changed(sys.argv[2], sys.argv[3:]))
    every = [one for one in constants() if one.kind in TUNED or "--tuned" not in sys.argv]
    print(*(f"{one.kind or 'NONE':10}  {one.place}  {one.name} = {one.value}" for one in every), sep="\n")
    counts = Counter(one.kind for one in every)
    print(*(f"{counts[kind]:4} {kind}: {meaning}" for kind, meaning in KINDS.items()), sep="\n")
    print(f"{sum(counts[kind] for kind in TUNED)} of {len(every)} are tuned")
