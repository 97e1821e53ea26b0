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
    done = run_code(code, tmp_path, errors=[Warning if page.name == "README.md" else FutureWarning])
    assert done.returncode == 0, done.stderr[-2000:]
    for shown in blocks(page, "```\n\n```text"):  # the block right below the code
        assert shown in done.stdout


@pytest.mark.nightly
def test_commands_of_the_page_on_decisions_run_and_print_its_sentences(tmp_path: Path, monkeypatch):
    from typer.testing import CliRunner

    from scalinglab.cli import app

    page = ROOT / "docs" / "from-logs-to-a-decision.md"
    monkeypatch.chdir(tmp_path)
    exec(blocks(page, "```python")[0], {})  # writes runs.csv
    commands = re.findall(r"scalinglab ((?:answer|report|laws surface) runs\.csv [^`\n]+)", page.read_text())
    printed = ""
    for command in dict.fromkeys(commands):
        done = CliRunner(env={"COLUMNS": "1000"}).invoke(app, command.split(), catch_exceptions=False)
        assert done.exit_code == 0, command
        printed += done.output
    sentences = [line.partition(": ")[2] for line in blocks(page, "```\n\n```text")[0].splitlines()]
    assert len(sentences) == 6
    assert [s for s in sentences if s not in printed] == []
    assert Path("report.html").stat().st_size > 10_000
    assert Path("surface.png").stat().st_size > 10_000


def test_printed_output_stands_below_the_code_of_the_first_page():
    assert len(blocks(ROOT / "docs" / "first-steps.md", "```\n\n```text")) == 3


EVERY_PAGE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.slow
def test_names_on_the_pages_exist():
    """`sl.laws.fit` and so on, wherever a page mentions one."""
    import scalinglab as sl

    wrong = []
    for page in EVERY_PAGE:
        for name in set(re.findall(r"\bsl((?:\.[a-zA-Z_]\w*)+)", page.read_text(encoding="utf-8"))):
            found = sl
            for part in name[1:].split("."):
                if (found := getattr(found, part, None)) is None:
                    wrong.append(f"{page.relative_to(ROOT)}: sl{name}")
                    break
    assert wrong == []


def test_reference_pages_list_what_their_modules_define():
    listed = re.compile(r"^::: (scalinglab[\w.]*)\n    options:\n      members: \[([^\]]+)\]", re.MULTILINE)
    found = [one for page in (ROOT / "docs").rglob("*.md") for one in listed.findall(page.read_text("utf-8"))]
    assert len(found) > 15
    for module, members in found:
        place = ROOT / "src" / module.replace(".", "/")
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if not file.exists():  # a class and its methods
            file = place.parent.with_suffix(".py")
        text = file.read_text("utf-8")
        lost = [name for name in re.findall(r"\w+", members) if not re.search(rf"\b{name}\b", text)]
        assert lost == [], module


def test_commands_on_the_pages_exist_and_take_their_options():
    from typer.main import get_command

    from scalinglab.cli import app

    root, wrong, seen = get_command(app), [], 0
    for page in EVERY_PAGE:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        lines = re.findall(r"(?:^|`|\$ )scalinglab ([a-z][^`\n#]*)", text, re.MULTILINE)
        for line in lines:
            command, words = root, line.split()
            while words and words[0] in getattr(command, "commands", {}):
                command = command.commands[words.pop(0)]
            known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
            options = [word.partition("=")[0] for word in words if word.startswith("--") and word != "--"]
            bad = [option for option in options if option not in known]
            if command is root or bad:
                wrong.append(f"{page.relative_to(ROOT)}: scalinglab {line} {bad}")
            seen += 1
    assert seen > 60
    assert wrong == []


def test_every_page_begins_with_its_question():
    pages = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "measured" not in page.parts]
    first = {page: page.read_text().split("\n\n")[1] for page in pages if page.read_text().startswith("# ")}
    assert len(first) == len(pages)
    assert [str(page.relative_to(ROOT)) for page, text in first.items() if "?" not in text] == []
