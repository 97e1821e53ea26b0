"""Fingerprints: the same for the same code, another one after any change that counts."""

from __future__ import annotations

import functools
import importlib
import itertools
import linecache
import re
import threading

import numpy as np
import pytest
import torch
from torch import nn

from scalinglab.train.own.fingerprint import NoFingerprint, fingerprint

CODE = """
import math
SCALE = 2.0

def helper(x):
    return x * SCALE

class Base:
    def forward(self, x):
        return helper(x)

class Net(Base):
    '''A network.'''
    size = 3
    def __init__(self, width=4):
        self.width = width

def factory(s):
    # makes one
    return Net(s.get("width", 4))

def wrapped(function):
    def inner(*args):
        return function(*args)
    return inner
"""


COUNT = itertools.count()  # of modules: Python keeps those of earlier tests


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The factory of the code, with something in it replaced."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(old: str = "", new: str = "", name: str = "factory"):
        module = f"written_{next(COUNT)}"
        assert old in CODE
        (tmp_path / f"{module}.py").write_text(CODE.replace(old, new) if old else CODE)
        linecache.checkcache()
        importlib.invalidate_caches()
        return getattr(importlib.import_module(module), name)

    return write


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('s.get("width", 4)', 's.get("width", 5)'),  # the function itself
        ("size = 3", "size = 4"),  # an attribute of the class that it makes
        ("width=4", "width=8"),  # a default
        ("return helper(x)", "return helper(x) + 1"),  # a method of the class before it
        ("return x * SCALE", "return x + SCALE"),  # a function that the method calls
        ("SCALE = 2.0", "SCALE = 3.0"),  # a value that this one looks up
    ],
)
def test_a_change_anywhere_in_the_code_counts(written, old: str, new: str) -> None:
    assert fingerprint(written(old, new)) != fingerprint(written())


@pytest.mark.parametrize(
    ("old", "new"),
    [("# makes one", "# builds a network"), ("'''A network.'''", "'''Something else.'''"),
     ("size = 3\n", "size = 3\n\n\n"), ("import math\n", "import math  # for later\n")],
)  # fmt: skip
def test_comments_documentation_and_layout_do_not_count(written, old: str, new: str) -> None:
    assert fingerprint(written(old, new)) == fingerprint(written())


def test_captured_values_and_arguments_count() -> None:
    def make(width):
        return lambda s: width + 1

    assert fingerprint(make(3)) == fingerprint(make(3)) != fingerprint(make(4))
    assert fingerprint(functools.partial(max, 1)) != fingerprint(functools.partial(max, 2))
    first, second = (lambda s: 1), (lambda s: 2)
    assert fingerprint(first) != fingerprint(second)  # on one line


def test_arrays_and_networks_count_by_their_numbers() -> None:
    x = np.arange(6.0)
    assert fingerprint(x) == fingerprint(x.copy()) != fingerprint(x + 1)
    assert fingerprint(torch.from_numpy(x)) != fingerprint(torch.from_numpy(x).float())
    torch.manual_seed(0)
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    assert fingerprint(first) != fingerprint(second)
    second.load_state_dict(first.state_dict())
    assert fingerprint(first) == fingerprint(second)
    loss = nn.CrossEntropyLoss
    assert fingerprint(loss(label_smoothing=0.1)) != fingerprint(loss(label_smoothing=0.2))


def test_code_without_source_counts_by_what_python_made_of_it() -> None:
    def compiled(text: str):
        space: dict = {}
        exec(text, space)
        return space["f"]

    same, other = "def f(s):\n    return s + 1", "def f(s):\n    return s + 2"
    assert fingerprint(compiled(same)) == fingerprint(compiled(same)) != fingerprint(compiled(other))


def test_what_cannot_be_read_is_named() -> None:
    lines = (line for line in ())

    def reads(s):
        return lines

    with pytest.raises(NoFingerprint, match="lines"):
        fingerprint(reads)


def test_regular_expressions_count_by_their_text_and_locks_hold_nothing() -> None:
    def reads(s):
        with lock:
            return compiled.sub("", s)

    compiled, lock = re.compile("a+"), threading.Lock()
    first = fingerprint(reads)
    compiled, lock = re.compile("a+"), threading.RLock()
    assert fingerprint(re.compile("a+")) == fingerprint(compiled) != fingerprint(re.compile("b+"))
    assert fingerprint(re.compile("a")) != fingerprint(re.compile("a", re.IGNORECASE))
    assert fingerprint(reads) == first


def test_a_function_that_calls_itself_ends() -> None:
    def down(n):
        return down(n - 1) if n else 0

    assert fingerprint(down) == fingerprint(down)
