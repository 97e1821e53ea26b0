"""Workers keep bytecode where Python may not, and only there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scalinglab.sweep.pools import bytecode


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """A package without bytecode."""
    folder = tmp_path / "packages" / "without_bytecode"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("answer = 42")
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setattr(sys, "pycache_prefix", None)  # whatever the environment of the tests says
    return folder


def environment_of(tmp_path: Path, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in (bytecode.FORBIDS, bytecode.FOLDER)}
    return {**kept, "XDG_CACHE_HOME": str(tmp_path / "cache"), **more}


def load(package: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", f"import {package.name}"]
    subprocess.run(command, check=True, env={**environment, "PYTHONPATH": str(package.parent)})


def test_bytecode_that_may_not_be_written_is_kept_in_the_cache_folder(package, tmp_path) -> None:
    forbidden = environment_of(tmp_path, **{bytecode.FORBIDS: "1"})
    load(package, bytecode.keeping_bytecode(forbidden, package.name))
    kept = list((tmp_path / "cache" / "scalinglab" / "bytecode").rglob("without_bytecode/*.pyc"))
    assert len(kept) == 1
    assert not (package / "__pycache__").exists()


def test_an_environment_that_keeps_bytecode_stays_as_it_is(package, tmp_path) -> None:
    allowed = environment_of(tmp_path)
    assert bytecode.keeping_bytecode(allowed, package.name) == allowed
    load(package, allowed)
    forbidden = environment_of(tmp_path, **{bytecode.FORBIDS: "1"})  # but it is there
    assert bytecode.keeping_bytecode(forbidden, package.name) == forbidden


def test_a_folder_that_the_user_chose_is_used(package, tmp_path) -> None:
    own = environment_of(tmp_path, **{bytecode.FORBIDS: "1", bytecode.FOLDER: str(tmp_path / "own")})
    assert bytecode.keeping_bytecode(own, package.name) == own


def test_a_process_keeps_what_it_loads_later(package, tmp_path) -> None:
    code = (
        "from scalinglab.sweep.pools import bytecode\n"
        f"found = bytecode.keeping_bytecode\n"
        f"bytecode.keeping_bytecode = lambda environment: found(environment, {package.name!r})\n"
        f"bytecode.keep_bytecode_here(); import {package.name}"
    )
    path = os.pathsep.join([str(package.parent), *sys.path])
    forbidden = environment_of(tmp_path, **{bytecode.FORBIDS: "1", "PYTHONPATH": path})
    subprocess.run([sys.executable, "-c", code], check=True, env=forbidden)
    assert list((tmp_path / "cache" / "scalinglab" / "bytecode").rglob("without_bytecode/*.pyc"))


def test_this_process_changes_nothing_where_bytecode_is_kept_already(monkeypatch) -> None:
    monkeypatch.delenv(bytecode.FOLDER, raising=False)
    monkeypatch.setenv(bytecode.FORBIDS, "1")
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(bytecode, "keeping_bytecode", dict)
    bytecode.keep_bytecode_here()
    assert (sys.pycache_prefix, sys.dont_write_bytecode) == (None, True)
    monkeypatch.setattr(bytecode, "keeping_bytecode", lambda kept: {bytecode.FOLDER: "folder"})
    bytecode.keep_bytecode_here()
    assert (sys.pycache_prefix, sys.dont_write_bytecode) == ("folder", False)
    assert os.environ[bytecode.FOLDER] == "folder"
    assert bytecode.FORBIDS not in os.environ
