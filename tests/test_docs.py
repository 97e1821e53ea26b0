"""What the documentation shows runs as it stands there."""

import re
from pathlib import Path

import pytest

from tests.warm import run_code

ROOT = Path(__file__).parents[1]
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "```python" in path.read_text(encoding="utf-8")
]


def blocks(page: Path, opening: str) -> list[str]:
    """The fenced blocks that begin so."""
    found = re.compile(rf"^{opening}\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return found.findall(page.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_snippets_of_a_page_run_from_top_to_bottom(page: Path, tmp_path: Path):
    """In a folder and a process of their own; where a page shows what is printed, that is what is printed."""
    code = "\n".join(blocks(page, "```python"))
    assert code
    done = run_code(code, tmp_path, errors=[FutureWarning])
    assert done.returncode == 0, done.stderr[-2000:]
    for shown in blocks(page, "```\n\n```text"):  # the block right below the code
        assert shown in done.stdout


def test_printed_output_stands_below_the_code_of_the_first_page():
    assert len(blocks(ROOT / "docs" / "first-steps.md", "```\n\n```text")) == 3
