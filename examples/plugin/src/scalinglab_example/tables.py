"""A reader of logs, and a form of a law."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from scalinglab.laws import Form, Parameter


def read_pairs(path: Path) -> list[dict[str, float]]:
    """Logs of lines such as ``n_data=100 test_loss=0.5``: a row for every line."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [
        {name: float(value) for name, _, value in (pair.partition("=") for pair in line.split())}
        for line in lines
        if line.strip()
    ]


def logarithm() -> Form:
    """offset − slope · log x, linear in both parameters."""

    def function(x: Any, offset: Any, slope: Any) -> Any:
        return offset - slope * np.log(x)

    parameters = (Parameter("offset", linear=True), Parameter("slope", linear=True))
    return Form("logarithm", "offset - slope log x", parameters, function, doc="a loss that falls by log")
