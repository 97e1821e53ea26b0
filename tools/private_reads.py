"""Where tests hold the code still: reads of private names, and names that tests replace.

    python tools/private_reads.py [FOLDER]

Counts, file by file, the private attributes of this package that tests read (`law._shared`, not those of
`self`, of Python or of other libraries), and the calls of `monkeypatch.setattr`, apart by what they replace:
this package's own names, or the machine's (clock, processors, torch's GPU).
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

OTHERS = {"self", "cls", "os", "sys", "torch", "pytest", "typer", "subprocess", "multiprocessing"}
PROTOCOLS = {"_repr_html_", "_replace", "_asdict", "_fields"}  # public by convention
MACHINE = {
    "builtins",
    "InterpreterBuilder",  # Triton's
    "time",
    "os",
    "sys",
    "socket",
    "subprocess",
    "shutil",
    "Path",
    "platform",
    "signal",
    "torch",
    "warnings",
}


def parts(node: ast.expr) -> list[str]:
    """The names of `a.b.c`, outermost first; of calls and subscripts what they are of."""
    if isinstance(node, ast.Attribute):
        return [*parts(node.value), node.attr]
    if isinstance(node, (ast.Call, ast.Subscript)):
        return parts(node.func if isinstance(node, ast.Call) else node.value)
    return [node.id] if isinstance(node, ast.Name) else []


def private(node: ast.AST) -> bool:
    """Whether a node reads a private attribute of the package."""
    if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
        return False
    return node.attr not in PROTOCOLS and not {*parts(node.value)[:1]} & OTHERS


def replaced(node: ast.AST) -> str | None:
    """What a call of `monkeypatch.setattr` replaces: `own`, `machine`; None of another node."""
    if not (isinstance(node, ast.Call) and parts(node.func)[-1:] == ["setattr"] and node.args):
        return None
    if parts(node.func)[0] not in ("monkeypatch", "patch"):
        return None
    first = node.args[0]
    if isinstance(first, ast.Constant):
        names = str(first.value).split(".")
        return "own" if names[0] in ("scalinglab", "scalinglab_papers", "tests") else "machine"
    return "machine" if {*parts(first)} & MACHINE else "own"


def main(folder: Path) -> None:
    """Print a line a file that has any, most first, and the sums."""
    reads, own, machine = Counter[str](), Counter[str](), Counter[str]()
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            reads[str(path)] += private(node)
            what = replaced(node)
            own[str(path)] += what == "own"
            machine[str(path)] += what == "machine"
    print(f"{'private':>8}{'own':>6}{'machine':>9}")
    for name, _ in (reads + own).most_common():
        print(f"{reads[name]:>8}{own[name]:>6}{machine[name]:>9}  {name}")
    print(f"{reads.total():>8}{own.total():>6}{machine.total():>9}  in all")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "tests"))
