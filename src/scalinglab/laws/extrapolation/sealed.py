"""Forecasts that are kept and scored: a sealed file now, a verdict when the result is there.

A sealed forecast is a JSON document: what was predicted, where, the interval, the hash of the points it was
made from, the law, the date, and a hash over all of these. A changed file is refused when it is scored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.extrapolation.stacking import Extrapolation
from scalinglab.laws.fitting.statistics import rmsle
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.support.whole_files import write_text_whole

FORMAT = 1  # defined: the version of the file


def make(found: Extrapolation, path: str | Path, what: str = "y") -> dict[str, Any]:
    """Write a forecast at one size, as `extrapolate` gave it, to a new file.

    Raises:
        BadInput: the file exists already (a forecast is never overwritten), or several sizes.
        NotDetermined: no interval was given, which would hold any result.
    """
    target = Path(path)
    if target.exists():
        raise BadInput(f"{target} exists: a sealed forecast is not overwritten; give another name")
    if found.at.size != 1 or found.points is None:
        raise BadInput(f"{found.at.size} sizes: one forecast is sealed at a time; give one, as in at=1e6")
    if not np.isfinite([found.low[0], found.high[0]]).all():
        why = "; ".join(map(str, found.notes))
        raise NotDetermined(f"a forecast without an interval is not sealed: {why}")
    sizes, values = found.points.x, found.points.y
    content = {
        "format": FORMAT,
        "what": what,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_sha256": hashlib.sha256(np.column_stack([sizes, values]).tobytes()).hexdigest(),
        "points": int(sizes.size),
        "largest": float(sizes.max()),
        "at": float(found.at[0]),
        "law": found.weights,
        "level": found.level,
        "mean": float(found.mean[0]),
        "low": float(found.low[0]),
        "high": float(found.high[0]),
        "notes": [*map(str, found.notes)],
    }
    document = {**content, "sha256": _digest(content)}
    write_text_whole(target, json.dumps(document, indent=1) + "\n")
    return document


def load(path: str | Path) -> dict[str, Any]:
    """A sealed forecast, its seal checked."""
    try:
        document = json.loads(Path(path).read_text())
        seal = document.pop("sha256")
    except (json.JSONDecodeError, KeyError, AttributeError, UnicodeDecodeError) as error:
        raise BadInput(
            f"{path} is not a sealed forecast; make one with 'scalinglab forecast make'"
        ) from error
    if seal != _digest(document):
        raise BadInput(f"{path} was changed after it was sealed (its hash does not match); make a new one")
    if document["format"] > FORMAT:
        raise BadInput(f"{path} has format {document['format']}, this version reads {FORMAT}; update")
    return {**document, "sha256": seal}


@dataclass(frozen=True)
class Score:
    """A forecast beside its result: whether it lies inside the interval, and the error of ln y."""

    what: str
    measured: float
    inside: bool
    error: float
    half_width: float
    level: float


@dataclass(frozen=True)
class Tally(Worded):
    """Calibration and sharpness of several scored forecasts."""

    scores: tuple[Score, ...]

    @property
    def calibration(self) -> float:
        """The share of intervals that held; to be compared with their level."""
        return float(np.mean([score.inside for score in self.scores]))

    @property
    def sharpness(self) -> float:
        """The median half-width of the intervals, in ln y."""
        return float(np.median([score.half_width for score in self.scores]))

    @property
    def rmsle(self) -> float:
        """√mean (ln ŷ − ln y)²."""
        return rmsle([score.error for score in self.scores])

    @property
    def remarks(self) -> Iterator[Remark]:
        yield Reason(
            "tally", scored=len(self.scores), level=float(np.mean([score.level for score in self.scores])),
            calibration=self.calibration, sharpness=self.sharpness, rmsle=self.rmsle,
        )  # fmt: skip


def score(path: str | Path, measured: float) -> Score:
    """Compare a sealed forecast with its result."""
    if not (np.isfinite(measured) and measured > 0):
        raise BadInput(f"measured={measured:g} must be positive and finite: the value that came out")
    document = load(path)
    if document["high"] is None:  # as earlier versions sealed curves that still rose
        raise BadInput(f"{path} was sealed without an interval, which any result would hold: leave it out")
    return Score(
        what=document["what"],
        measured=float(measured),
        inside=bool(document["low"] <= measured <= document["high"]),
        error=float(np.log(document["mean"] / measured)),
        half_width=float(np.log(document["high"] / max(document["low"], 1e-300)) / 2),
        level=document["level"],
    )


def keep(found: Score, path: str | Path, tally: str | Path) -> Tally:
    """Add a score to the tally file, one line of JSON each; a forecast is counted once."""
    file, seal = Path(tally), load(path)["sha256"]
    lines = file.read_text().splitlines() if file.exists() else []
    rows = [json.loads(line) for line in lines]
    if any(row["sha256"] == seal for row in rows):
        raise BadInput(f"{path} is in {file} already: a forecast is scored once")
    with file.open("a") as stream:
        stream.write(json.dumps({**vars(found), "sha256": seal}) + "\n")
    return Tally((*(Score(**{k: v for k, v in row.items() if k != "sha256"}) for row in rows), found))


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
