"""Until laws and plans are in the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalinglab.cli.options import numbers
from scalinglab.cli.output import cell, emit, plain, resumable, show, wrap, write

if TYPE_CHECKING:
    import numpy as np

__all__ = ["cell", "emit", "grid", "plain", "resumable", "show", "wrap", "write"]


def grid(text: str) -> np.ndarray:
    """Numbers from the command line."""
    return numbers("", text)
