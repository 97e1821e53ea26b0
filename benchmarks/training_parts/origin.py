"""What a file of results says of its origin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def what_was_typed() -> str:
    """The command, without the places on this machine that it names."""
    words, places = ["python", f"benchmarks/{Path(sys.argv[0]).name}"], ("--keep", "--out")
    words += [
        word for before, word in zip(sys.argv, sys.argv[1:]) if word not in places and before not in places
    ]
    return " ".join(words)


def commit_of_code() -> str | None:
    """That of the code, where it is a clone."""
    words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None
