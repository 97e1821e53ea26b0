"""Triton's kernels without a GPU: interpreted, in a process of their own (Triton decides at its import)."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
import pytest
import torch

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
COMPUTES = GPU or bool(os.environ.get("TRITON_INTERPRET"))  # in this process
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton")


def check_interpreted(file: str) -> None:
    """The tests of a file pass where Triton interprets."""
    if _release(np.__version__) >= (2, 4) and _release(version("triton")) < (3, 7):
        pytest.skip("Triton before 3.7 is interpreted with NumPy before 2.4 only")
    if _release(version("triton")) <= (3, 2):
        pytest.skip("the interpreter of Triton 3.2 cannot invert a mask (get_int1_ty)")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]
    done = subprocess.run(words, env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def _release(name: str) -> tuple[int, ...]:
    """Major and minor number of a version."""
    return tuple(int(part) for part in name.split(".")[:2])
