"""Run an entry of the registry and keep what it made.

Under ``results/<paper>/<figure>/<scale>/``: a store with the curves, ``figure.png``, ``figure.pdf``,
``table.md`` and ``record.json`` (the table with the command, version, hardware and time that made it).
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import scalinglab
from scalinglab.errors import BadInput
from scalinglab.papers.registry import SCALES, Reproduction, Row, entry
from scalinglab.store import Store


def reproduce(key: str, scale: str = "laptop", results: str | Path = "results") -> Reproduction:
    """Make one figure or table again and keep it under `results`."""
    found = entry(key)
    function = found.function()
    if scale not in SCALES:
        raise BadInput(f"no scale {scale!r}; choose from: {', '.join(SCALES)}")
    if scale not in found.scales:
        raise BadInput(f"{key} does not run at scale {scale!r}; it has: {', '.join(found.scales)}")
    start = time.perf_counter()
    made = function(scale)
    keep(made, key, scale, Path(results), time.perf_counter() - start)
    return made


def keep(made: Reproduction, key: str, scale: str, results: Path, seconds: float) -> Path:
    """Write a reproduction into its folder and return the folder."""
    folder = results / key / scale
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "sealed", ignore_errors=True)  # the curves of an earlier time
    Store(folder).add(made.curves, reproduces=key, scale=scale)
    if made.figure is not None:
        for ending in ("png", "pdf"):
            made.figure.savefig(folder / f"figure.{ending}", dpi=150)
    (folder / "table.md").write_text(markdown(made.table))
    (folder / "record.json").write_text(json.dumps(record(made, key, scale, seconds), indent=1) + "\n")
    return folder


def record(made: Reproduction, key: str, scale: str, seconds: float) -> dict[str, Any]:
    """The table with everything needed to judge it: the command, version, hardware, time."""
    found = entry(key)
    return {
        "key": key,
        "claim": found.claim,
        "scale": scale,
        "command": f"scalinglab reproduce {key} --scale {scale}",
        "version": scalinglab.__version__,
        "hardware": hardware(),
        "seconds": round(seconds, 1),
        "table": [asdict(row) for row in made.table],
    }


def hardware() -> str:
    """The machine in a few words, with its GPU where torch was used and sees one."""
    torch = sys.modules.get("torch")
    gpu = f", {torch.cuda.get_device_name()}" if torch is not None and torch.cuda.is_available() else ""
    return f"{platform.machine()}, {os.cpu_count()} cores{gpu}"


def number(value: float | str | None) -> str:
    """A table's cell."""
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.4g}"


def cells(row: Row) -> tuple[str, str, str, str]:
    """A row as text: quantity, paper, measured ± error, agrees."""
    measured = number(row.measured) + (f" ± {row.error:.2g}" if row.error is not None else "")
    verdict = {True: "yes", False: "no", None: "–"}[row.agrees]
    return row.quantity, number(row.paper), measured, verdict


def markdown(table: tuple[Row, ...]) -> str:
    """The table in Markdown."""
    lines = ["| quantity | paper | measured | agrees |", "| --- | --- | --- | --- |"]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in table]
    return "\n".join(lines) + "\n"
