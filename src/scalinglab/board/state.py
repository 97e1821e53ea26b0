"""What the board shows: how a sweep stands, read off the store and the grids that it keeps."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from scalinglab.curves.columns import varying
from scalinglab.errors import ScalinglabError
from scalinglab.report.page import Section
from scalinglab.store import Record, Store
from scalinglab.sweep.display import clock
from scalinglab.sweep.plan import kept_grids, planned_runs

STATUSES = ("done", "running", "unfinished", "diverged", "failed")
ESTIMATE = ("final_loss", "final_loss_low", "final_loss_high", "on_track")  # columns of a run in progress
RECENT = 600.0  # seconds before a machine's latest run over which its throughput is measured


def state(store: Store) -> dict[str, Any]:
    """Counts by status, the number of runs planned, runs a minute and seconds left, as JSON holds them."""
    records = store.records()
    counts = {status: sum(r.status == status for r in records.values()) for status in STATUSES}
    rate = throughput(records.values())
    planned = max(len(_planned(store)), len(records))
    left = planned - counts["done"] - counts["diverged"] - counts["failed"]
    going = counts["running"] > 0
    return {
        "store": str(store.path), **counts, "planned": planned, "rate": rate,
        "seconds_left": 60 * left / rate if rate and going else None, "going": going,
    }  # fmt: skip


def throughput(records: Iterable[Record]) -> float:
    """Runs a minute of the machines that are at work.

    Each machine by its own clock, from the runs that it ended within ten minutes of its latest: clocks that
    differ are never compared. A machine that has ended one run is taken to go on at that run's pace.
    """
    ended: dict[str, list[Record]] = {}
    at_work: dict[str, int] = {}
    for record in records:
        host = str(record.meta.get("host"))
        if record.status == "running":
            at_work[host] = at_work.get(host, 0) + 1
        elif record.finished is not None:
            ended.setdefault(host, []).append(record)
    total = 0.0
    for host, running in at_work.items():
        times = sorted(record.finished or 0.0 for record in ended.get(host, []))
        recent = [t for t in times if times[-1] - t < RECENT]
        if len(recent) > 1 and recent[-1] > recent[0]:
            total += 60 * (len(recent) - 1) / (recent[-1] - recent[0])
        elif times and (seconds := max(record.seconds or 0.0 for record in ended[host])) > 0:
            total += 60 * running / seconds
    return total


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
    if len(ahead := outlook(store)):
        tables.insert(0, ("Where running runs are heading", ahead))
    if problems := store.problems:
        names = ", ".join(Path(path).name for path in problems)
        paragraphs.append(f"These files cannot be read and are left out: {names}")
    return Section("Progress", paragraphs, (), tables)


def outlook(store: Store) -> pd.DataFrame:
    """Of every run in progress with a schedule the time left, and its latest estimate of the final loss."""
    going = {run: record for run, record in store.records().items() if record.status == "running"}
    frame = store.curves(warn=False).frame if going else pd.DataFrame()
    if "seconds_left" not in frame:
        return pd.DataFrame()
    frame = frame.reindex(columns=[*dict.fromkeys([*frame, *ESTIMATE])])
    known = frame[frame["run"].isin(going)].dropna(subset=["seconds_left"]).sort_values("step")
    varied = varying(record.setting for record in going.values())
    rows = []
    for run, own in known.groupby("run"):
        step, left = (own[name].iloc[-1] for name in ("step", "seconds_left"))
        value, low, high, on_track = own[list(ESTIMATE)].ffill().iloc[-1]
        rows.append({
            "run": run, **{n: going[str(run)].setting.get(n) for n in sorted(varied)},
            "step": int(step), "time left": clock(left),
            "final loss": "no estimate yet" if pd.isna(value) else f"{value:.4g}",
            "95 % band": "" if pd.isna(value) else f"{low:.4g} … {high:.4g}",
            "state": "" if pd.isna(value) else "has left its band" if on_track == 0 else "on track",
        })  # fmt: skip
    return pd.DataFrame(rows)


def _failures(failed: dict[str, Record]) -> pd.DataFrame:
    def reason(record: Record) -> str:
        return (record.error or "unknown").strip().splitlines()[-1][:120]

    varied = varying(record.setting for record in failed.values())
    rows = [
        {"run": run, **{n: r.setting.get(n) for n in sorted(varied)}, "reason": reason(r)}
        for run, r in list(failed.items())[:50]
    ]
    return pd.DataFrame(rows)
