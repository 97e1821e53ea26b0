"""The registry of tables for `benchmarks/audit.py`, by the name of their set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

Random = np.random.Generator
Planted = tuple[pd.DataFrame, list[int]]  # the table and the wrong rows
FAULTS: dict[str, list[tuple[str, Callable[[Random], Planted]]]] = {}
CLEAN: dict[str, list[Callable[[Random], pd.DataFrame]]] = {}


def register(name: str) -> tuple[Callable[[str], Any], Callable[[Any], Any]]:
    """The decorators `fault(kind)` and `clean` of a set of tables."""
    faults, whole = FAULTS.setdefault(name, []), CLEAN.setdefault(name, [])

    def fault(kind: str) -> Any:
        def kept(made: Callable[[Random], Planted]) -> Callable[[Random], Planted]:
            faults.append((kind, made))
            return made

        return kept

    def clean(made: Callable[[Random], pd.DataFrame]) -> Callable[[Random], pd.DataFrame]:
        whole.append(made)
        return made

    return fault, clean
