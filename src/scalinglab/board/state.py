"""What the board shows: how a sweep stands, read off the store and the grids that it keeps."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from scalinglab.errors import ScalinglabError
from scalinglab.report.page import Section
from scalinglab.store import Record, Store
from scalinglab.sweep.display import clock
from scalinglab.sweep.plan import kept_grids, planned_runs

STATUSES = ("done", "running", "unfinished", "diverged", "failed")
RECENT = 600.0  # seconds over which throughput is measured


def state(store: Store) -> dict[str, Any]:
    """Counts by status, the number of runs planned, runs a minute and seconds left, as JSON holds them."""
    records = store.records()
    counts = {status: sum(r.status == status for r in records.values()) for status in STATUSES}
    ended = [r.finished for r in records.values() if r.finished is not None]
    now = max(time.time(), *ended, 0.0)  # the clock of another machine may be ahead of ours
    recent = [t for t in ended if now - t < RECENT]
    since = max(now - min(recent), 1.0) if recent else 0.0
    rate = 60 * len(recent) / since if recent else 0.0
    planned = max(len(_planned(store)), len(records))
    left = planned - counts["done"] - counts["diverged"] - counts["failed"]
    going = counts["running"] > 0
    return {
        "store": str(store.path), **counts, "planned": planned, "rate": rate,
        "seconds_left": 60 * left / rate if rate and going else None, "going": going,
    }  # fmt: skip


def _planned(store: Store) -> set[str]:
    """The runs of all grids; a grid that was extended shares runs with the one before."""
    return _of_grids(store.path, tuple(sorted(path.name for path in (store.path / "grids").glob("*.json"))))


@lru_cache(maxsize=8)
def _of_grids(path: Path, _names: tuple[str, ...]) -> set[str]:
    """Names of runs, found once for the same files, which never change."""
    try:
        return {name for grid in kept_grids(Store(path)) for name in planned_runs(grid)}
    except (ScalinglabError, ValueError, OSError, KeyError):
        return set()  # runs that no sweep planned


def section(store: Store, found: dict[str, Any]) -> Section:
    """The state as the page's first section."""
    over = found["done"] + found["diverged"] + found["failed"]
    words = [f"{over} of {found['planned']} runs are over"]
    words += [f"{found[status]} {status}" for status in STATUSES if found[status]]
    if found["going"] and found["rate"]:
        words.append(f"{found['rate']:.3g} runs a minute")
    if found["seconds_left"] is not None:
        words.append(f"about {clock(found['seconds_left'])} left")
    paragraphs = [" · ".join(words) + f" · as of {time.strftime('%H:%M:%S')}"]
    failed = store.failed()
    tables = [("Runs that failed", _failures(failed))] if failed else []
    if problems := store.problems:
        names = ", ".join(Path(path).name for path in problems)
        paragraphs.append(f"These files cannot be read and are left out: {names}")
    return Section("The sweep", paragraphs, (), tables)


def _failures(failed: dict[str, Record]) -> pd.DataFrame:
    def reason(record: Record) -> str:
        return (record.error or "unknown").strip().splitlines()[-1][:120]

    varied = {name for r in failed.values() for name in r.setting if _differs(name, failed)}
    rows = [
        {"run": run, **{n: r.setting.get(n) for n in sorted(varied)}, "reason": reason(r)}
        for run, r in list(failed.items())[:50]
    ]
    return pd.DataFrame(rows)


def _differs(name: str, failed: dict[str, Record]) -> bool:
    return len({repr(record.setting.get(name)) for record in failed.values()}) > 1
