"""How property tests draw: the same examples in every `make test`, new and more ones in `make properties`.

The tree of commands is built once: Typer builds it for every call, which took a third of the commands' tests.
Every JSON document that a command prints in a test agrees with docs/reference/results.schema.json.
The collector of garbage passes over what collection has loaded: its search there took a tenth of the time.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer.testing
from hypothesis import settings

from scalinglab.cli import app, output  # noqa: F401  # app registers the commands
from scalinglab.cli.registry import COMMANDS
from tests.properties import FACTOR

SCHEMA = Path(__file__).parents[1] / "docs" / "reference" / "results.schema.json"
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile("repeatable" if FACTOR == 1 else "search")
typer.testing._get_command = cache(typer.testing._get_command)
gc.disable()  # until every module is loaded


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 100)


@cache
def validator(command: str) -> Any:
    """What checks the documents of a command."""
    from jsonschema import Draft202012Validator

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return Draft202012Validator({"$ref": f"#/$defs/{command.replace(' ', '%20')}", "$defs": schema["$defs"]})


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets the words behind `scalinglab` that the program finds as its command line."""
    return lambda *words: monkeypatch.setattr(sys, "argv", ["scalinglab", *words])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The machine's clocks, which a test and what sleeps put forward: `now`, in seconds, and naps `slept`."""
    found = SimpleNamespace(now=time.monotonic(), slept=[])

    def sleep(seconds: float) -> None:
        found.slept.append(seconds)
        found.now += max(seconds, 0.001)

    monkeypatch.setattr(time, "sleep", sleep)
    for name in ("monotonic", "perf_counter", "time"):
        monkeypatch.setattr(time, name, lambda: found.now)
    return found


@pytest.fixture(autouse=True)
def documents_agree_with_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    print_document = output.print_document

    def checked(command: str, document: Mapping[str, Any]) -> None:
        found = json.loads(json.dumps(output.with_header(command, document)))
        if place := os.environ.get("SCALINGLAB_RECORD"):  # for tools/json_schema.py
            with Path(place).open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
        elif command in COMMANDS:
            validator(command).validate(found)
        print_document(command, document)

    monkeypatch.setattr(output, "print_document", checked)
