"""How many examples a property test draws."""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import settings

FACTOR = int(os.environ.get("PROPERTY_FACTOR", "1"))  # above 1: so many times as many, drawn anew


def examples(count: int, **options: Any) -> Callable[..., Any]:
    """A decorator as `hypothesis.settings`: `count` examples in `make test`, more in `make properties`."""
    return settings(max_examples=count * FACTOR, **options)
