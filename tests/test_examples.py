"""Every example runs."""

from pathlib import Path

import pytest

from tests.warm import run_file

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path):
    result = run_file(path, tmp_path, errors=[Warning])
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()
