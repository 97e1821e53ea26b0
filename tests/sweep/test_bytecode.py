"""A sweep keeps bytecode where PyTorch has none and Python may not, and only there."""

from __future__ import annotations

import os
import sys
from importlib.util import cache_from_source, spec_from_file_location
from pathlib import Path

import pytest

from scalinglab.sweep.pools import local_engine

FORBIDS, FOLDER = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What stands for PyTorch, without bytecode, which Python may not keep."""
    file = tmp_path / "torch.py"
    file.touch()
    monkeypatch.setattr(local_engine, "find_spec", lambda name: spec_from_file_location(name, file))
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv(FORBIDS, "1")
    monkeypatch.delenv(FOLDER, raising=False)
    return file


def test_bytecode_that_python_may_not_keep_is_kept_in_the_cache_folder(module: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(module.parent))
    local_engine.keep_bytecode()
    assert not sys.dont_write_bytecode
    assert sys.pycache_prefix == os.environ[FOLDER] == str(module.parent / "scalinglab" / "bytecode")
    assert FORBIDS not in os.environ


def test_bytecode_that_is_there_or_may_be_kept_stays_where_it_is(module: Path, monkeypatch) -> None:
    bytecode = Path(cache_from_source(str(module)))
    bytecode.parent.mkdir()
    bytecode.touch()
    local_engine.keep_bytecode()
    assert (sys.pycache_prefix, sys.dont_write_bytecode, os.environ[FORBIDS]) == (None, True, "1")
    bytecode.unlink()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    local_engine.keep_bytecode()
    assert sys.pycache_prefix is None


def test_a_folder_that_the_user_chose_stays(module: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", "own")
    local_engine.keep_bytecode()
    assert (sys.pycache_prefix, sys.dont_write_bytecode) == ("own", True)
