"""Metadata of a run: its setting, its outcome, and the environment that produced it."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from scalinglab._version import __version__
from scalinglab.curves import IDENTITY, OUTCOME, PROGRESS, json_line, plain
from scalinglab.curves.columns import NUMBERS, is_missing
from scalinglab.errors import BadInput

FORMAT = 1  # of live lines and of footers; every file says in which it is written
SEALED = ("done", "diverged", "failed")
PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "torch")

_KINDS: dict[str, tuple[type, ...]] = dict.fromkeys(("run", "status", "source"), (str,))
_KINDS |= {name: (str, type(None)) for name in ("experiment", "error")}
_KINDS |= {name: (int, float, type(None)) for name in ("started", "finished", "diverged_at")}
_KINDS |= {"setting": (dict,), "meta": (dict,), "rows": (int,)}


@dataclass(frozen=True)
class Record:
    """One run.

    Attributes:
        run: its name, the hash of the setting.
        setting: everything that was chosen for it.
        status: `running`, `unfinished` (its writer is gone), `done`, `diverged` or `failed`.
        source: `theory`, `simulate`, `train` or `read`.
        experiment: the study it belongs to, if any.
        meta: version, environment and hardware that made it, and whatever the writer added.
        started, finished: seconds since 1970; finished is None while it is not sealed.
        rows: its number of checkpoints.
        diverged_at: the step (or other progress) at which it diverged.
        error: the traceback of a failed run.
    """

    run: str
    setting: dict[str, Any] = field(default_factory=dict)
    status: str = "unfinished"
    source: str = "train"
    experiment: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    started: float | None = None
    finished: float | None = None
    rows: int = 0
    diverged_at: float | None = None
    error: str | None = None

    @property
    def seconds(self) -> float | None:
        """How long the run took; None if it is not finished, or the clock was set back meanwhile."""
        if self.started is None or self.finished is None or self.finished < self.started:
            return None
        return self.finished - self.started

    @property
    def misfits(self) -> list[str]:
        """Settings that must be numbers and are not: such a run cannot stand in a table with others."""
        return [name for name in NUMBERS if isinstance(self.setting.get(name), str)]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Record:
        """A record as a file keeps it; ValueError where a field is unknown or of the wrong kind."""
        for name, value in values.items():
            if not isinstance(value, _KINDS[name]):
                raise ValueError(f"{name} is {_short(value)}")
        for name, value in values["setting"].items():
            if not encodable(name) or not encodable(value):
                raise ValueError(f"the setting {_short(name)} is no text: it has a lone surrogate")
        return cls(**values)

    def columns(self) -> dict[str, Any]:
        """What stands in every row of the run: identity, setting, outcome."""
        flat = {"run": self.run, "source": self.source, "experiment": self.experiment}
        flat |= {name: flatten(value) for name, value in self.setting.items() if name not in flat}
        flat |= {"status": self.status}
        return flat | ({"diverged_at": self.diverged_at} if self.status == "diverged" else {})


def as_setting(setting: Any) -> dict[str, Any]:
    """A setting as a plain dictionary; dataclasses welcome."""
    if is_dataclass(setting) and not isinstance(setting, type):
        setting = asdict(setting)
    if not isinstance(setting, Mapping):
        raise BadInput(f"a setting is a dictionary or a dataclass, not {type(setting).__name__}")
    for name, value in setting.items():
        if not isinstance(name, str) or not name:
            raise BadInput(f"a setting's names are text, not {name!r}")
        if name in (*IDENTITY, *OUTCOME, *PROGRESS):
            raise BadInput(f"{name!r} cannot be a setting: the table uses this name for something else")
        if not encodable(name) or not encodable(value):
            raise BadInput(f"setting {_short(name)}={_short(value)} is no text: it has a lone surrogate")
        if name in NUMBERS and not is_missing(value) and not isinstance(plain(value), (int, float)):
            raise BadInput(f"setting {name}={_short(value)} must be a number")
    return dict(setting)


def is_file_name(run: str) -> bool:
    """Whether a run of this name may have files of its own: the name leads to no other folder.

    >>> [is_file_name(run) for run in ("b99e54741480049d", "..", "../keep", "/etc/passwd", "C:x", "a\\\\b")]
    [True, False, False, False, False, False]
    """
    # the separators of Windows too: a store may be moved to another system
    return run not in ("", ".", "..") and not {*run} & {*"/\\:\0"}


def encodable(value: Any) -> bool:
    """Whether text can be written as UTF-8, also within lists and dictionaries; a lone surrogate cannot.

    >>> encodable(["a", {"b": 1}]), encodable("\\ud800")
    (True, False)
    """
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, Mapping):
        return all(encodable(name) and encodable(inner) for name, inner in value.items())
    return all(map(encodable, value)) if isinstance(value, (list, tuple)) else True


def _short(value: Any) -> str:
    """A value for a message, in ASCII and cut to a length that can be read."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def flatten(value: Any) -> Any:
    """A setting's value as one cell of the table: lists and dictionaries become their text."""
    value = plain(value)
    return json_line(value) if isinstance(value, (list, dict)) else value


@cache
def environment() -> dict[str, Any]:
    """The version, environment and hardware of this process, as every run keeps them."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "version": __version__,
        "packages": versions,
        "system": f"{platform.system()} {platform.machine()}",
        "host": platform.node(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "gpu": first_gpu(),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def first_gpu() -> str | None:
    """The name of the first GPU; None if there is none or it cannot be asked."""
    torch = sys.modules.get("torch")  # used only if already imported
    try:
        return torch.cuda.get_device_name(0) if torch and torch.cuda.is_available() else None
    except Exception:  # a broken driver must not stop a run on the CPU
        return None
