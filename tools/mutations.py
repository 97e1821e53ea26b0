"""Mutants of a file: a constant, comparison or operator changed, or a guard removed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LOOKS = {  # arguments that say how a figure looks, not what it shows
    "capsize", "color", "dpi", "elinewidth", "font", "fontsize", "frameon", "ha", "linewidth", "loc", "lw",
    "margin", "marker", "markeredgewidth", "markersize", "modebar", "ms", "va", "xytext", "zorder",
}  # fmt: skip
UNSEEN = {  # arguments whose value no result depends on
    "stacklevel": "the line that a warning names",
    "strict": "a second guard against lengths that were checked, or are equal by construction",
    "buffering": "how a file is read",
    "start": "where a search begins, not where it ends",
    "complete": "the same, of parameters that follow from others",
    **dict.fromkeys(LOOKS, "how a figure looks"),
}
UNSEEN_CALLS = {
    "time.sleep": "how long a loop waits",
    "_positive": "a parameter of a form with the values from which its search begins",
    "panels": "how many panels a figure has, which is seen where they are drawn on, and their inches",
}

COMPARISONS = {
    ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="), ast.GtE: (">", "<"), ast.Eq: ("!=",),
    ast.NotEq: ("==",), ast.Is: ("is not",), ast.IsNot: ("is",), ast.In: ("not in",), ast.NotIn: ("in",),
}  # fmt: skip
ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*", ast.Mod: "*", ast.FloorDiv: "/",
    ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: the characters from `start` to `end` of a file become `now`."""

    file: str
    line: int
    start: int
    end: int
    was: str
    now: str

    @property
    def package(self) -> str:
        top, inside = Path(self.file).parts[1:3]
        return "papers" if top == "scalinglab_papers" else inside.removesuffix(".py")

    def apply(self, root: Path) -> str:
        """Write the mutant into the copy at `root`; returns the text that was there."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        path.write_text(text[: self.start] + self.now + text[self.end :], encoding="utf-8")
        return text


def mutants_of(path: Path) -> list[Mutant]:
    """Every mutant of one file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:  # columns of the syntax tree count bytes
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    found = []
    tree = ast.parse(text)
    for node in executed(tree, unseen_names(tree)):
        for first, last, now in changes(node):
            start = place(first.lineno, first.col_offset) if isinstance(first, ast.AST) else place(*first)
            end = place(last.end_lineno, last.end_col_offset) if isinstance(last, ast.AST) else place(*last)
            was = text[start:end]
            new = now(was) if callable(now) else now
            if new != was:
                found.append(Mutant(path.relative_to(ROOT).as_posix(), node.lineno, start, end, was, new))
    return found


def unseen_names(tree: ast.AST) -> frozenset[str]:
    """Functions and constants of a file that are given to such arguments as `start`."""
    given = (node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg in UNSEEN)
    return frozenset(node.id for value in given for node in ast.walk(value) if isinstance(node, ast.Name))


def executed(node: ast.AST, unseen: frozenset[str] = frozenset()) -> Iterator[ast.AST]:
    """Nodes that run and whose places are known: no annotations, no texts, no messages of errors.

    Neither the arguments of `UNSEEN` nor the calls of `UNSEEN_CALLS`, which change no result.
    """
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_comment", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.JoinedStr, ast.Raise)):
                continue
            if isinstance(child, ast.FunctionDef) and "abstractmethod" in map(
                ast.unparse, child.decorator_list
            ):
                continue  # never called
            if isinstance(child, ast.FunctionDef) and child.name in unseen:
                continue
            if isinstance(child, ast.Assign) and {ast.unparse(place) for place in child.targets} <= unseen:
                continue
            if isinstance(child, ast.keyword) and child.arg in UNSEEN:
                continue
            if isinstance(node, ast.Dict) and id(child) in looks(node):
                continue
            if isinstance(child, ast.Call) and ast.unparse(child.func) in UNSEEN_CALLS:
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) in (
                "TYPE_CHECKING",
                "__name__ == '__main__'",
            ):
                continue
            yield child
            yield from executed(child, unseen)


def looks(node: ast.Dict) -> set[int]:
    """The identities of those values of a dictionary that only say how a figure looks."""
    pairs = zip(node.keys, node.values)
    return {id(value) for key, value in pairs if isinstance(key, ast.Constant) and key.value in LOOKS}


def changes(node: ast.AST) -> Iterator[tuple]:
    """(first node, last node, new text or a function of the old) for each change of a node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        value = node.value
        if isinstance(value, bool):
            yield node, node, str(not value)
        elif isinstance(value, int):
            yield node, node, str(value + 1)
        else:
            yield node, node, repr(value * 1.5 if value else 1.0)
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for left, operator, right in zip(sides, node.ops, sides[1:]):
            for new in COMPARISONS.get(type(operator), ()):
                yield between(left, right, new)
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield between(node.left, node.right, ARITHMETIC[type(node.op)])
    elif isinstance(node, ast.BoolOp):
        new = "or" if isinstance(node.op, ast.And) else "and"
        for left, right in zip(node.values, node.values[1:]):
            yield between(left, right, new)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield (node.lineno, node.col_offset), (node.operand.lineno, node.operand.col_offset), ""
    elif isinstance(node, (ast.If, ast.IfExp)):
        yield node.test, node.test, lambda was: f"(not ({was}))"
        if isinstance(node, ast.If) and not node.orelse:
            yield node.test, node.test, lambda was: f"(False and ({was}))"


def between(left: ast.expr, right: ast.expr, new: str) -> tuple:
    """Replace the operator between two operands, with the brackets around it left where they are."""

    def replaced(was: str) -> str:
        core = was.strip(" ()\n\\")
        return was.replace(core, new, 1)

    return (left.end_lineno, left.end_col_offset), (right.lineno, right.col_offset), replaced
