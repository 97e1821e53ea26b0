"""Run an entry and write its curves, figure, table and record.

Under ``results/<paper>/<figure>/<scale>/``: a store with the curves, ``figure.png``, ``figure.pdf``,
``table.md`` and ``record.json`` (the table, and the command, commit, date, hardware and time that made it).
Networks that are trained for a figure lie in the store ``results/<paper>/runs/<scale>/`` (`studies.trained`).
"""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scalinglab._version import __version__
from scalinglab.errors import BadInput, require
from scalinglab.store import Store
from scalinglab.studies import trained
from scalinglab.studies.registry import RECORDS, SCALES, Reproduction, entry, extension_of
from scalinglab.studies.verdict import Row
from scalinglab.support.validation import checked
from scalinglab.support.whole_files import write_text_whole

COLUMNS = ("quantity", "paper", "measured", "n", "verdict")


@checked
def reproduce(
    key: str,
    scale: str = "laptop",
    results: str | Path = "results",
    *,
    store: str | Path | None = None,
    only: Sequence[str] = (),
    minutes: float | None = None,
) -> Reproduction:
    """Reproduce one entry and write the result under `results`.

    Args:
        store: of the runs that the entry reads and continues; ``results/<paper>/runs/<scale>`` by default.
        only, minutes: which parts of a study to train now, see `studies.trained.RunStorage`.
    """
    place = Path(results) / entry(key).paper / "runs" / scale if store is None else Path(store)
    with trained.storing_in(place, only, minutes):
        made, seconds = run(key, scale)
        keep(made, key, scale, Path(results), seconds, store)
    return made


def run(key: str, scale: str) -> tuple[Reproduction, float]:
    """Run one entry at one scale; the result and its seconds, shared work that ran earlier included."""
    found = entry(key)
    if scale not in SCALES:
        raise BadInput(f"no scale {scale!r}; choose from: {', '.join(SCALES)}")
    if found.built and scale not in found.scales:
        raise BadInput(f"{key} does not run at scale {scale!r}; it has: {', '.join(found.scales)}")
    try:
        with trained.counted(key) as work:
            made = found.function()(scale)
    except ModuleNotFoundError as error:
        if error.name == "torch":  # only entries that train need it: they import it when they run
            require("torch", "train", key)
        raise
    return made, work.seconds


def keep(
    made: Reproduction, key: str, scale: str, results: Path, seconds: float, store: str | Path | None = None
) -> Path:
    """Write a reproduction into its folder and return the folder; `store` is the one that the user named."""
    folder = results / key / scale
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "sealed", ignore_errors=True)  # the curves of an earlier time
    Store(folder).add(made.curves, reproduces=key, scale=scale)
    if made.figure is not None:
        for ending in ("png", "pdf"):
            made.figure.savefig(folder / f"figure.{ending}", dpi=150)
        shrink(folder / "figure.png")
    made_by = json.dumps(record(made, key, scale, seconds, store), indent=1) + "\n"
    for name, text in {"table.md": markdown(made.table), "record.json": made_by}.items():
        write_text_whole(folder / name, text)
    return folder


def shrink(path: Path) -> None:
    """Keep 256 colors of a picture: a quarter of the bytes of grids with many curves."""
    from PIL import Image  # which matplotlib needs

    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def record(
    made: Reproduction, key: str, scale: str, seconds: float, store: str | Path | None = None
) -> dict[str, Any]:
    """The table with everything needed to judge it: the command, commit, date, hardware, time."""
    found = entry(key)
    named = "".join(f' --only "{name}"' for name in trained.run_storage().only)
    named += f" --store {store}" if store else ""
    return {
        "key": key,
        "claim": found.claim,
        "judged_in": found.judged_in,
        "scale": scale,
        "command": f"scalinglab reproduce {key} --scale {scale}{named}",
        "version": __version__,
        "commit": commit(Path(str(extension_of(found.paper).__file__)).parent),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "hardware": hardware() + trained_on(made),
        "seconds": round(seconds, 1),
        "table": [row.record() for row in made.table],
    }


def commit(package: Path) -> str | None:
    """The commit of a study's code, with "+" where it has been changed since; None for an installed package.

    Everything beside the package counts, as the core's code does here. Records do not: those of one paper are
    written before the next paper's are made.
    """
    if "site-packages" in package.parts:
        return None
    records = f":(exclude){package.name}/{RECORDS}"
    try:
        head = _git(package.parent, "rev-parse", "--short=10", "HEAD")
        changed = _git(package.parent, "diff", "--quiet", "HEAD", "--", ".", records)
    except (OSError, subprocess.SubprocessError):
        return None
    return head.stdout.strip() + "+" * bool(changed.returncode) if head.returncode == 0 else None


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10)


def hardware() -> str:
    """The machine in a few words, with its GPU where torch was used and sees one."""
    torch = sys.modules.get("torch")
    gpu = f", {torch.cuda.get_device_name()}" if torch is not None and torch.cuda.is_available() else ""
    return f"{platform.machine()}, {os.cpu_count()} cores{gpu}"


def trained_on(made: Reproduction) -> str:
    """The runs behind a reproduction, where they are kept, and what their training took; empty otherwise.

    Beside a table of curves may lie a TOML document of the same name with where they were trained.
    """
    store = trained.run_storage().store
    if store is not None and store.is_file():
        beside = store.with_suffix(".toml")
        facts = tomllib.loads(beside.read_text()) if beside.is_file() else {}
        place = facts.get("gpu") or facts.get("host")
        return f" (runs: {place})" if place else ""
    found = trained.training(made.curves)
    if found is None:
        return ""
    where = f" on {', '.join(found.gpus)}" if found.gpus else ""
    seconds = f"{found.seconds:,.0f}" if found.seconds >= 100 else f"{found.seconds:.3g}"
    return f" ({found.runs} {'run' if found.runs == 1 else 'runs'}, trained in {seconds} s{where})"


# --- as text ---------------------------------------------------------------------------------------------


def with_error(value: float | None, stderr: float | None) -> str:
    """A value to the digits that its error leaves it: 0.94 ± 0.15."""
    if value is None:
        return "–"
    if stderr is None:
        return f"{value:.4g}"
    decimals = 1 - math.floor(math.log10(stderr)) if stderr > 0 else -1
    if 0 <= decimals <= 8:
        return f"{value:.{decimals}f} ± {stderr:.{decimals}f}"
    return f"{value:.4g} ± {stderr:.2g}"


def reference(row: Row) -> str:
    """The paper's column: its number, or that it prints none, with what is expected in its place."""
    if row.relation == "in" and row.reference is not None and row.resolution is not None:
        ends = f"{row.reference - row.resolution:.4g} to {row.reference + row.resolution:.4g}"
        return ends if row.expected is None else f"no number; expected {ends}"
    sign = "" if row.relation == "=" else row.relation + " "
    if row.paper is not None:
        return sign + with_error(row.paper, row.paper_stderr)
    return "no number" if row.expected is None else f"no number; expected {sign}{row.expected:.4g}"


def cells(row: Row) -> tuple[str, str, str, str, str]:
    """A row as text, by `COLUMNS`."""
    count = "–" if row.n is None else str(row.n)
    return row.quantity, reference(row), with_error(row.measured, row.stderr), count, row.verdict or "–"


def markdown(table: tuple[Row, ...]) -> str:
    """The table in Markdown."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "| --- " * len(COLUMNS) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells(row)) + " |" for row in table]
    return "\n".join(lines) + "\n"
