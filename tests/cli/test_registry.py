"""A command is a function: its options, help, rendering and page come from its annotations and docstring."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from scalinglab import cli
from scalinglab.cli import app as scalinglab
from scalinglab.cli import registry
from scalinglab.cli.options import ARGUMENT, HELP, Numbers
from scalinglab.cli.output import Output
from scalinglab.cli.registry import COMMANDS, REQUIRED, Command

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A set of options.

    Args:
        table: where numbers come from.
    """

    table: Annotated[Path, ARGUMENT]
    level: int = 0


def double(source: Source, x: Numbers, from_: str | None = None, loud: bool = False, to: int = 2) -> Output:
    """Double some numbers.

    scalinglab double t.csv --x 1,2

    Args:
        x: the numbers
            to double.
        from_: a word.
        loud: a flag.
        to: a whole number.
    """
    document = {"x": to * x, "table": str(source.table), "level": source.level, "from": from_, "loud": loud}
    return Output(document, figure=Drawn, status=3 if loud else 0)


class Drawn:
    def savefig(self, path: Path, dpi: float) -> None:
        path.write_text("figure")


def invoke(command: Command, *words: str):
    app = typer.Typer()
    registry.add(app, command)
    return CliRunner().invoke(app, words, catch_exceptions=False)


def test_options_come_from_annotations_and_help_from_the_docstring():
    command = Command("double", double)
    found = {p.name: (p.names, p.default, p.help) for p in command.parameters}
    assert list(found) == ["table", "x", "from_", "loud", "to", "level", "json", "out"]
    assert found["x"] == (("--x",), REQUIRED, "The numbers to double.")
    assert found["from_"][0] == ("--from",)
    assert found["to"][0] == ("--to",)
    assert found["out"][0] == ("--out", "-o")
    assert found["level"][1:] == (0, HELP["level"].capitalize())
    assert command.examples == ["scalinglab double t.csv --x 1,2"]
    assert command.help.startswith("Double some numbers.")
    assert "Args" not in command.help


def test_a_function_gets_its_options_and_sets_and_its_result_is_rendered(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = Command("double", double)
    words = ("t.csv", "--x", "1,2", "--level", "4", "--to", "3", "--from", "here", "--json")
    done = invoke(command, *words, "-o", "a.json")
    document = {"x": [3.0, 6.0], "table": "t.csv", "level": 4, "from": "here", "loud": False}
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"schema": 1, "command": "double", **document})
    assert json.loads(Path("a.json").read_text()) == document
    assert invoke(command, *words, "--loud").exit_code == 3
    assert invoke(command, "t.csv").exit_code == 2  # --x is required
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".png"]  # it has no figure


@pytest.mark.parametrize(
    ("unasked", "words", "drawn"),
    [(True, (), "t-double.png"), (True, ("--figure", "a.pdf"), "a.pdf"), (True, ("--no-figure",), None),
     (False, (), None), (False, ("--figure", "b.svg"), "b.svg")],
)  # fmt: skip
def test_a_figure_is_drawn_where_it_was_asked_for(tmp_path: Path, monkeypatch, unasked, words, drawn):
    monkeypatch.chdir(tmp_path)
    command = Command("double", double, figure="double", draws_unasked=unasked)
    document = json.loads(invoke(command, "folder/t.csv", "--x", "1", "--json", *words).stdout)
    assert document.get("figure") == drawn
    assert [path.name for path in tmp_path.iterdir()] == ([drawn] if drawn else [])


def test_a_command_without_a_result_has_no_options_for_one():
    def wait() -> None:
        """Wait."""

    assert Command("wait", wait).parameters == []
    assert [p.name for p in Command("double", double, out=False).parameters][-1] == "json"


def test_the_page_has_every_command_with_its_options():
    page = registry.reference()
    for command in COMMANDS.values():
        _, _, section = page.partition(f"\n## scalinglab {command.name}\n")
        section = section.partition("\n## ")[0]
        assert section, command.name
        assert all(f"`{p.names[0]}" in section for p in command.parameters if not p.positional)
        assert command.examples, f"{command.name} has no example"


# --- every option is used -----------------------------------------------------------------------------------


def texts(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def words_of_tests() -> list[set[str]]:
    """The words in the strings of every test function, with those of its module's helpers and constants."""
    found = []
    for path in ROOT.joinpath("tests").rglob("test_*.py"):
        if path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8")
        if "--" not in text:
            continue  # no option
        body = ast.parse(text).body
        tests = [n for n in body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
        shared = {word for n in body if n not in tests for text in texts(n) for word in text.split()}
        found += [shared | {w for text in texts(n) for w in text.replace("=", " = ").split()} for n in tests]
    return found


def words_of_pages() -> list[set[str]]:
    """The words of every command line on the pages and in the examples of the reference."""
    lines = [example for command in COMMANDS.values() for example in command.examples]
    for path in (ROOT / "README.md", *ROOT.joinpath("docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        lines += re.findall(r"(?:^|`|\$ )(scalinglab [a-z][^`\n#]*)", text, re.MULTILINE)
    return [set(line.replace("=", " = ").split()) for line in lines]


@pytest.fixture(scope="module")
def used() -> dict[str, list[set[str]]]:
    return {"test": words_of_tests(), "page": words_of_pages()}


def unused(command: Command, lines: list[set[str]]) -> list[str]:
    """Options that no line with the command's words gives; of shared options any line counts."""
    of_command = [line for line in lines if set(command.name.split()) <= line]
    missing = []
    for p in command.parameters:
        shared = p.owner or p.help.lower() == HELP.get(p.name, "").lower()
        if not p.positional and not any(set(p.names) & line for line in (lines if shared else of_command)):
            missing.append(p.names[0])
    return missing


@pytest.mark.slow
@pytest.mark.parametrize("where", ["test", "page"])
def test_every_option_is_used(used: dict[str, list[set[str]]], where: str):
    missing = {name: unused(command, used[where]) for name, command in COMMANDS.items()}
    assert {name: options for name, options in missing.items() if options} == {}


def test_the_registry_is_the_command_line():
    found = CliRunner().invoke(scalinglab, ["--help"]).output
    assert all(name.split()[0] in found for name in COMMANDS)


def test_of_a_command_alone_its_own_module_is_loaded():
    code = (
        "import sys; from scalinglab import cli\n"
        "cli.application('board')\n"
        "print([m.rsplit('.', 1)[1] for m in sys.modules if m.startswith('scalinglab.cli.commands.')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['pages']"


def test_every_word_names_the_modules_of_the_commands_that_begin_with_it():
    needed: dict[str, set[str]] = {}
    for name, one in COMMANDS.items():
        needed.setdefault(name.split()[0], set()).add(one.function.__module__.rsplit(".", 1)[1])
    assert {word: {*modules.split()} for word, (modules, _) in cli.GROUPS.items()} == needed
