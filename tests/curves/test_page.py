"""The page of the documentation on curves and the store does what it says."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "rooms" / "curves.md"


def test_the_snippets_run_and_print_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    names: dict = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for code in re.findall(r"```python\n(.*?)```", text, re.S):
            exec(code, names)
    (shown,) = re.findall(r"```text\n(Curves.*?)```", text, re.S)
    assert printed.getvalue() == shown
    assert len(names["store"].curves()) == 4
