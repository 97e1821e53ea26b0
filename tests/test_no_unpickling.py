"""No file that this project reads can bring code with it: nothing is unpickled anywhere."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLACES = ("src", "benchmarks", "examples", "docs", "tools")
MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "shelve", "marshal", "jsonpickle"}
CALLS = {"read_pickle", "unpickle", "Unpickler"}
WORDS = re.compile("|".join((*MODULES, *CALLS, "torch.load", "joblib", "allow_pickle", "weights_only")))


def unpickling(source: str) -> list[str]:
    """What in a program unpickles."""
    found: list[str] = []
    if not WORDS.search(source):  # most files: parsing all takes seconds
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            options = {word.arg: ast.unparse(word.value) for word in node.keywords}
            last = name.split(".")[-1]
            if name.endswith("torch.load") and options.get("weights_only") != "True":
                found.append(name)
            if last == "load" and name.startswith(("joblib.", "dill.")):
                found.append(name)
            if (
                last in CALLS
                or options.get("allow_pickle") == "True"
                or options.get("weights_only") == "False"
            ):
                found.append(name)
    return found


def test_no_path_of_the_project_unpickles():
    files = [path for place in PLACES for path in (ROOT / place).rglob("*.py")]
    assert len(files) > 100
    assert {str(path): found for path in files if (found := unpickling(path.read_text("utf-8")))} == {}


@pytest.mark.parametrize(
    "source",
    ["import pickle", "from pickle import loads", "torch.load(f)", "torch.load(f, weights_only=False)",
     "np.load(f, allow_pickle=True)", "pd.read_pickle(f)", "joblib.load(f)", "import cloudpickle as c"],
)  # fmt: skip
def test_the_search_finds_what_unpickles(source):
    assert unpickling(source)


def test_the_search_lets_safe_loading_pass():
    assert not unpickling("torch.load(f, weights_only=True); np.load(f); json.load(f); tomllib.load(f)")
