"""Show the examples in docstrings as code.

Markdown takes ``>>>`` for a quotation within quotations and drops the line ends; a fence around each example
keeps the docstrings as doctest reads them.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?P=indent)\S.*)*", re.MULTILINE)


class Fenced(griffe.Extension):
    """Fences every example of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called once for each module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(_fence, obj.docstring.value)


def _fence(found: re.Match[str]) -> str:
    indent = found["indent"]
    return f"{indent}```pycon\n{found[0]}\n{indent}```"
