"""A run as Lightning's CSVLogger keeps it: ``metrics.csv``, sparse rows of one step each, with its settings.

These stand beside it in ``hparams.yaml``, of other trainers in ``config.yaml``.
"""

from __future__ import annotations

import csv
from pathlib import Path

from scalinglab.errors import require
from scalinglab.readers.binary import Advance
from scalinglab.readers.logs import LoggedRun, read_yaml, whole_lines

FILE = "metrics.csv"


def is_run(folder: Path) -> bool:
    """Whether a folder is one that the CSVLogger wrote."""
    if not (folder / FILE).is_file():
        return False
    with (folder / FILE).open(encoding="utf-8", errors="replace") as file:
        return "step" in file.readline(1 << 16).strip().split(",")


def read(folder: Path, name: str, advance: Advance) -> LoggedRun:
    """The rows of one run, merged by step."""
    settings = read_yaml(folder / "config.yaml", require) | read_yaml(folder / "hparams.yaml", require)
    run = LoggedRun(name, settings=settings)
    bad, cut = 0, list[str]()
    with (folder / FILE).open(encoding="utf-8", errors="replace", newline="") as file:
        rows = csv.reader(whole_lines(file, cut))
        names = next(rows, [])
        place = names.index("step") if "step" in names else -1
        try:
            for row in rows:
                advance(sum(map(len, row)) + len(row) + 1)
                bad += len(row) != len(names) or not _add(run, names, row, place)
        except csv.Error as error:
            run.notes.append(f"{FILE} is damaged ({error}): the rest of it is left out")
    if bad:
        run.notes.append(f"{FILE}: {bad} rows cannot be read")
    if cut and cut[0].count(",") == len(names) - 1:
        run.notes.append(
            f"{FILE}: the last row has no line end, so its last number may be cut: left out "
            "(a line end keeps it)"
        )
    return run


def _add(run: LoggedRun, names: list[str], row: list[str], place: int) -> bool:
    try:
        step = int(float(row[place]))
        values = {name: float(cell) for name, cell in zip(names, row) if cell and name != "step"}
    except (ValueError, OverflowError):
        return False
    for name, value in values.items():
        run.points.add(name, step, value)
    return True
