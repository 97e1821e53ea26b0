"""Install this package with other versions of what it needs, and run a quick part of the tests.

python tools/matrix.py lowest       every dependency at its declared lower bound
python tools/matrix.py training     the same with all that training and sweeps need; their tests
python tools/matrix.py pandas2      the newest pandas 2, the rest as pip chooses
python tools/matrix.py newest       everything as pip chooses
python tools/matrix.py pandas==2.2.3 numpy==2.1.0     these versions, the rest as pip chooses
python tools/matrix.py lowest --tests tests/curves
python tools/matrix.py training --in FOLDER --slow --tests tests/sweep/test_pools.py      with the slow tests

The Python is the one that it is called with. Each call makes a virtual environment of its own, in a temporary
folder; `--in` keeps it in a folder, and one that is there is used again. Some 7 GB with PyTorch for CUDA.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = ("tests/curves", "tests/store/test_formats.py", "tests/store/test_damage.py", "tests/numerics",
         "tests/theory/test_kernel.py", "tests/laws/test_fit.py")  # fmt: skip
TRAINING = ("tests/train", "tests/sweep")
TESTING = ("pytest", "hypothesis", "mpmath", "openpyxl>=3.1")


def lower_bounds(*extras: str) -> list[str]:
    """Every dependency, with those of some extras, pinned to the version that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"]]
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return [text.strip().replace(">=", "==") for text in wanted]


def requirements(words: list[str]) -> list[str]:
    """What pip is asked for: the meaning of `lowest`, `pandas2` and so on, or the words themselves."""
    named = {
        "lowest": lower_bounds,
        "training": lambda: lower_bounds("train", "ray", "slurm", "board"),
        "pandas2": lambda: ["pandas>=2.2.2,<3"],
        "newest": list,
    }
    if len(words) == 1 and words[0] in named:
        return named[words[0]]()
    if wrong := [word for word in words if not re.match(r"[\w-]+\s*[=<>~!]=?", word)]:
        sys.exit(
            f"{wrong[0]!r}: give lowest, training, pandas2 or newest, or requirements such as pandas==2.2.3"
        )
    return words


def run(*words: str | Path) -> int:
    """Show and run a command; its exit status."""
    print("+", *words, flush=True)
    return subprocess.run([str(word) for word in words], cwd=ROOT).returncode


def main() -> int:
    """Install, test, and give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "versions", nargs="+", help="lowest, training, pandas2, newest, or such as pandas==2.2.3"
    )
    parser.add_argument("--tests", nargs="*")
    parser.add_argument("--slow", action="store_true", help="the slow tests too")
    parser.add_argument("--in", dest="folder", type=Path, help="keep the environment in this folder")
    given = parser.parse_args()
    tests = given.tests or (TRAINING if given.versions == ["training"] else TESTS)
    wanted = requirements(given.versions)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        if not python.exists():
            venv.create(folder, with_pip=True)
        if run(python, "-m", "pip", "install", "-q", "--only-binary", ":all:", *wanted, *TESTING):
            return 1
        if run(python, "-m", "pip", "install", "-q", "-e", ROOT):
            return 1
        run(python, "-m", "pip", "list", "--format=freeze")
        marked = [] if given.slow else ["-m", "not slow and not nightly"]
        # warnings of old packages beside new ones are not ours
        warned = ("-W", "default", "-W", "ignore::DeprecationWarning")
        return run(python, "-m", "pytest", "-q", *marked, *warned, *tests)


if __name__ == "__main__":
    sys.exit(main())
