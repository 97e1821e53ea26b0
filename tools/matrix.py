"""Install this package with other versions of what it needs, and run a quick part of the tests.

python tools/matrix.py lowest                    the declared lower bounds, on this Python
python tools/matrix.py pandas==2.2.3 numpy==1.26.4     these versions, the rest as pip chooses
python tools/matrix.py lowest --tests tests/curves

Each entry has a virtual environment of its own, in a temporary folder. Of a matrix over Pythons a workflow
calls it once with each.
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
TESTS = ("tests/curves", "tests/store/test_formats.py", "tests/store/test_damage.py", "tests/numerics")
TESTING = ("pytest", "hypothesis", "mpmath")
# what the lower bounds themselves ask for: the first release with wheels for the others' lower bounds
RAISED = {"pandas": "2.2.2"}


def lower_bounds() -> list[str]:
    """Every dependency pinned to the version that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = []
    for text in project["dependencies"]:
        name, version = re.fullmatch(r"([\w-]+)>=([\w.]+)", text.strip()).groups()
        found.append(f"{name}=={RAISED.get(name, version)}")
    return found


def run(*words: str | Path) -> int:
    """Show and run a command; its exit status."""
    print("+", *words, flush=True)
    return subprocess.run([str(word) for word in words], cwd=ROOT).returncode


def main() -> int:
    """Install, test, and give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="+", help="lowest, or requirements such as pandas==2.2.3")
    parser.add_argument("--tests", nargs="*", default=TESTS)
    given = parser.parse_args()
    wanted = lower_bounds() if given.versions == ["lowest"] else given.versions
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        if run(python, "-m", "pip", "install", "-q", "--only-binary", ":all:", *wanted, *TESTING):
            return 1
        if run(python, "-m", "pip", "install", "-q", "-e", ROOT):
            return 1
        run(python, "-m", "pip", "list", "--format=freeze")
        # warnings of old packages beside new ones are not ours
        return run(python, "-m", "pytest", "-q", "-m", "not slow", "-W", "default", *given.tests)


if __name__ == "__main__":
    sys.exit(main())
