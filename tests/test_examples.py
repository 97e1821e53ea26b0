"""Every example and every snippet of the README runs."""

import re
from pathlib import Path

import pytest

from tests.warm import run_code, run_file

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path):
    result = run_file(path, tmp_path, errors=[Warning])
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()


def test_readme_snippets_run(tmp_path: Path):
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert snippets
    for snippet in snippets:
        result = run_code(snippet, tmp_path, errors=[Warning])
        assert result.returncode == 0, result.stderr
