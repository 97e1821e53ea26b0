"""What is installed with the package, what is an extra, and what a user without an extra reads."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from scalinglab.errors import MissingExtra, require
from tests.warm import run_code

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# packages that are installed under another name
PACKAGES = {"yaml": "pyyaml", "PIL": "pillow", "sklearn": "scikit-learn"}
EXTRAS = ("train", "ray", "slurm", "board", "readers")
# what the tests import from the libraries of users, and what comes with PyTorch
FOREIGN = {"IPython", "triton", "lightning", "pytorch_lightning", "transformers"}


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[]", line)[0].strip().lower() for line in requirements}


def sources() -> dict[Path, ast.Module]:
    paths = sorted((ROOT / "src").rglob("*.py"))
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def imported() -> dict[str, set[str]]:
    """Top-level packages that are not of Python or our own, with the files that import them by statement."""
    found: dict[str, set[str]] = {}
    for path, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module or ""]
            else:
                continue
            for module in modules:
                top = module.split(".")[0]
                if top not in sys.stdlib_module_names and not top.startswith("scalinglab"):
                    found.setdefault(PACKAGES.get(top, top), set()).add(path.name)
    return found


def required() -> list[tuple[str, str, str | None]]:
    """Every call of `require` or `missing` with constant arguments: its place, the module, the extra."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"\b(require|missing)\(", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("require", "missing"):
                module, extra = (getattr(argument, "value", "?") for argument in node.args[:2])
                if isinstance(module, str) and module != "?":
                    found.append((f"{path.name}:{node.lineno}", module.split(".")[0], extra))
    return found


@pytest.mark.slow
def test_what_is_installed_is_imported_and_what_is_imported_is_installed():
    ours, extra = names(PROJECT["dependencies"]), set()
    for name in EXTRAS:
        extra |= names(PROJECT["optional-dependencies"][name])
    found = imported()
    assert ours <= {*found}, "a dependency that no module imports"
    assert not ours & extra
    assert {*found} - ours - extra <= FOREIGN, "imported, and neither a dependency nor an extra"
    asked = {PACKAGES.get(module, module) for _, module, _ in required()}
    assert extra <= {*found} | asked, "an extra that no module imports"


def test_every_dependency_says_who_needs_it():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = text[text.index("\ndependencies = [") : text.index("\n[project.optional-dependencies]")]
    lines = [line for line in block.splitlines() if line.strip().startswith('"')]
    assert len(lines) == len(PROJECT["dependencies"])
    assert [line for line in lines if "#" not in line] == []


def test_every_extra_that_a_message_names_brings_the_package():
    calls = required()
    assert len(calls) > 10
    for place, module, extra in calls:
        if extra is not None:
            brought = names(PROJECT["optional-dependencies"].get(extra, []))
            assert PACKAGES.get(module, module) in brought, (place, module, extra)


@pytest.mark.parametrize(
    ("extra", "command"), [("train", r"pip install 'scalinglab\[train\]'$"), (None, "pip install no_such$")]
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(extra: str | None, command: str):
    with pytest.raises(MissingExtra, match=f"Counting needs the package 'no_such'.*{command}"):
        require("no_such.module", extra, "Counting")


WITHOUT_EXTRAS = """
import sys
names = "torch", "sklearn", "PIL", "ray", "submitit", "starlette", "uvicorn", "openpyxl", "yaml", "joblib"
for name in names:
    sys.modules[name] = None  # as if it were not installed
import numpy as np
import scalinglab as sl
from scalinglab.errors import MissingExtra
n = np.geomspace(100, 1e5, 8)
table = sl.Curves({"n_data": n, "test_error": 3 * n**-0.4})
assert abs(sl.laws.fit("power_law", table).exponent - 0.4) < 1e-6
assert sl.theory.perceptron.bayes(2.0).error < 0.5
table.write("runs.csv")
sl.report.write(sl.read("runs.csv"), "report.html")  # which begins with the answer
sl.Store("runs").add(table)
for act in (
    lambda: sl.measure.norms, lambda: sl.nets.build, lambda: sl.train.run({"model": "mlp"}),
    lambda: sl.data.load("digits"), lambda: sl.explain("runs", None, None), lambda: sl.read("t.xlsx"),
    lambda: sl.board.serve("runs"), lambda: sl.sweep.run({"setting": {"dataset": "digits"}}, store="new"),
):
    try:
        act()
        print("went through")
    except MissingExtra as error:
        print(str(error).rpartition("pip install ")[2])
"""


@pytest.mark.slow  # a process of its own
def test_the_package_without_extras_answers_and_names_what_to_install_for_the_rest(tmp_path: Path):
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    done = run_code(WITHOUT_EXTRAS, tmp_path)
    assert done.returncode == 0, done.stderr
    extras = ["train", "train", "train", "train", "train", "readers", "board", "train"]
    assert done.stdout.split() == [f"'scalinglab[{extra}]'" for extra in extras]
    assert (tmp_path / "report.html").stat().st_size > 1e6, "the script of its plots is inside"
