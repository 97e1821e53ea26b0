"""The architecture: no module imports, over any number of steps, one that imports it.

Imports inside functions and for type checkers count too. The order of packages and of modules inside them is
import-linter's to check (pyproject.toml).
"""

import re
import tomllib
from pathlib import Path

import pytest

import scalinglab

grimp = pytest.importorskip("grimp", reason="comes with import-linter: pip install 'scalinglab[dev]'")
pytestmark = pytest.mark.slow


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Groups of two modules and more in which each can be reached from each (Tarjan's algorithm)."""
    found, number, lowest, stack = [], {}, {}, []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for other in imports[module]:
            if other not in number:
                visit(other)
            if other in stack:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == number[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                found.append(sorted(group))

    for module in imports:
        if module not in number:
            visit(module)
    return found


def test_no_circles():
    graph = grimp.build_graph(
        "scalinglab", "scalinglab_papers", exclude_type_checking_imports=False, cache_dir=None
    )
    imports = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    assert len(imports) > 200
    assert circles(imports) == []


def test_a_circle_would_be_seen():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def test_every_folder_can_be_read_at_a_glance():
    source = Path(scalinglab.__file__).parents[1]
    folders = {path.parent for path in source.rglob("*.py")}
    files = {folder.relative_to(source).as_posix(): len(list(folder.glob("*.py"))) for folder in folders}
    assert len(files) > 30
    assert {folder: n for folder, n in files.items() if n > 12} == {}


def test_the_tree_of_the_architecture_is_that_of_the_code():
    source = Path(scalinglab.__file__).parent
    page = Path(__file__).parents[1] / "docs" / "architecture.md"
    tree = page.read_text(encoding="utf-8").partition("src/scalinglab/\n")[2].partition("```")[0]
    shown = set(re.findall(r"(?<![\w/])([a-z_]+)/", tree))
    folders = {path.name for path in source.iterdir() if (path / "__init__.py").exists()}
    assert folders <= shown
    assert {name for name in shown if not list(source.rglob(f"{name}/__init__.py"))} == set()
    modules = {path.stem for path in source.glob("*.py")} - {"__init__", "__main__", "_version"}
    assert modules <= set(re.findall(r"[a-z_]+", tree.strip().splitlines()[-1]))


def test_the_order_of_imports_is_that_of_the_contract():
    root = Path(__file__).parents[1]
    page = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    shown = page.partition("## Imports run one way")[2].split("```")[1]
    layers = [set(re.findall(r"[a-z_]+", layer)) for layer in shown.split("→")]
    contracts = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    checked = next(c for c in contracts["contracts"] if c["name"] == "Imports run one way")["layers"]
    expected = [set(re.findall(r"scalinglab\.([a-z]\w*)", layer)) for layer in checked]
    assert layers == expected
