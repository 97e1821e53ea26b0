"""What a user is told to install."""

import ast
import tomllib
from pathlib import Path

import pytest

from scalinglab.errors import MissingExtra, require

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = {"yaml": "pyyaml", "PIL": "pillow"}  # modules that are installed under another name


def required() -> list[tuple[str, str, str | None]]:
    """Every call of `require` with constant arguments: where it stands, the module, the extra."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "require(" in source else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
                module, extra = (getattr(argument, "value", "?") for argument in node.args[:2])
                if isinstance(module, str):
                    found.append((f"{path.name}:{node.lineno}", module.split(".")[0], extra))
    return found


def test_every_extra_that_a_message_names_brings_the_package():
    calls = required()
    assert len(calls) > 10
    for place, module, extra in calls:
        if extra is None:
            continue
        brought = [line.lower() for line in PROJECT["optional-dependencies"].get(extra, [])]
        package = PACKAGES.get(module, module)
        assert any(line.startswith(package) for line in brought), (place, module, extra)


@pytest.mark.parametrize(
    ("extra", "command"), [("train", r"pip install 'scalinglab\[train\]'$"), (None, "pip install no_such$")]
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(extra: str | None, command: str):
    with pytest.raises(MissingExtra, match=f"Counting needs the package 'no_such'.*{command}"):
        require("no_such.module", extra, "Counting")
