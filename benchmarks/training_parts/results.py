"""Rows of results, written as they come, and the time of the engine.

PyTorch is imported in functions: on a CPU it matters that `scalinglab.train` comes first.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

ONLY = "SCALINGLAB_BENCHMARK_ONLY"  # from the command line to the processes of the parts


def is_wanted(variant: str) -> bool:
    """Whether `--only` leaves it in."""
    return os.environ.get(ONLY, "") in variant


class Results:
    """Results of one part, written as they come, so that a part that is stopped keeps what it has."""

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, []

    def add(self, part: str, variant: str, function, base: dict | None = None, by="ms", **more) -> dict:
        """Call a function that returns seconds or a row; with a base, say how many times as fast it is."""
        start = time.perf_counter()
        try:
            value = function()
            row = {"part": part, "variant": variant, **more}
            row |= value if isinstance(value, dict) else {"ms": 1e3 * value}
            if base and by in base:
                row["speedup"] = base[by] / row[by]
                if "within_ms" in base:
                    row["speedup_within"] = base["within_ms"] / row["ms"]
        except Exception as error:
            row = {
                "part": part,
                "variant": variant,
                **more,
                "error": f"{type(error).__name__}: {error}"[:600],
            }
        row["took"] = round(time.perf_counter() - start, 1)
        self.rows.append(row)
        self.path.write_text(json.dumps(self.rows))
        print("  " + describe(row), flush=True)
        return row


def describe(row: dict) -> str:
    """A row as a line of text."""
    if "error" in row:
        return f"{row['part']:10s} {row['variant']:44s} FAILED {row['error'][:120]}"
    rest = f"{row['ms']:9.3f} ms a step and run" if "ms" in row else ""
    rest += f"{row['rate']:12,.0f} steps a second, all runs together" if "rate" in row else ""
    rest += f"  {row['speedup']:6.2f}×" if "speedup" in row else ""
    rest += f" (within an epoch {row['speedup_within']:.2f}×)" if "speedup_within" in row else ""
    return f"{row['part']:10s} {row['variant']:44s} {rest} ({row['took']} s)"


def engine_time(
    device: str, runs: int, steps: int, max_stacked: int = 1, warm: int = 24, seconds: float = 20.0, **setting
) -> float:
    """Seconds a step and run of `runs` runs side by side, `max_stacked` of them stacked."""
    import torch

    from scalinglab.train import jobs, replicas
    from scalinglab.train.setting import Setting

    settings = [
        Setting.from_dict({"steps": 10**6, "measure": [], **setting, "seed": seed}) for seed in range(runs)
    ]
    place = torch.device(device)
    groups = [jobs.build(settings[k : k + max_stacked], place) for k in range(0, runs, max_stacked)]
    streams = replicas.streams(place, len(groups)) if device == "cuda" else [None] * len(groups)

    def advance(n: int) -> None:
        for start in range(0, n, groups[0].tick):
            for group, stream in zip(groups, streams, strict=True):
                with torch.cuda.stream(stream):  # None does nothing
                    group.advance(min(group.tick, n - start))

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    wait()
    advance(warm)
    wait()
    done, start = 0, time.perf_counter()
    while done < steps and time.perf_counter() - start < seconds:
        advance(min(steps, 96 if device == "cuda" else 1))
        done += min(steps, 96 if device == "cuda" else 1)
        wait()
    return (time.perf_counter() - start) / done / runs


def clear() -> None:
    """Give memory back to the device."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
