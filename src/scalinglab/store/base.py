"""RunStore: the interface and guarantees of a store of runs, independent of the backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from scalinglab.curves import Curves
from scalinglab.store.live import Row, RunWriter
from scalinglab.store.record import Record


class RunStore(ABC):
    """Keeps runs: their settings, rows and outcomes. A store promises:

    - a run is named by the hash of its setting, and has one writer at a time (`RunBusy`) and one result
      (`RunDone`);
    - a row that `RunWriter.append` returned from outlives a killed writer; `resume` finds it;
    - a run is sealed whole or not at all, whenever its writer is killed;
    - any number of processes write and read at once; a reader sees every sealed run once, with all its rows;
    - NaN, infinity and divergence come back as they were written;
    - what cannot be read is named in `problems`, costs no other run, and is never deleted;
    - a store that cannot be written says so (`StoreError`), and what it held before is intact.

    `tests/store/test_contract.py` tests these; another implementation inherits the tests.
    """

    @abstractmethod
    def start(
        self, setting: Any, *, source: str = "train", experiment: str | None = None, **meta: Any
    ) -> RunWriter:
        """Begin a run, from nothing."""

    @abstractmethod
    def resume(
        self, setting: Any, *, source: str = "train", experiment: str | None = None, **meta: Any
    ) -> tuple[RunWriter, list[Row]]:
        """Go on with an unfinished run: the writer and the rows that are there."""

    @abstractmethod
    def add(self, curves: Curves, **meta: Any) -> list[str]:
        """Keep finished curves; the names of the runs that were added."""

    @abstractmethod
    def discard(self, run: str) -> None:
        """Remove a run; refused while it is being written."""

    @abstractmethod
    def status(self, run: str | Mapping[str, Any]) -> str:
        """`missing`, `running`, `unfinished`, `done`, `diverged`, `failed` or `unreadable`."""

    @abstractmethod
    def done(self, setting: Any) -> bool:
        """Whether the run with this setting is sealed as done or diverged."""

    @abstractmethod
    def records(self) -> dict[str, Record]:
        """Every run that can be read, by name, without its rows."""

    def unfinished(self) -> dict[str, Record]:
        """Runs whose writer is gone; `resume` or `start` them again, or `discard` them."""
        return {run: record for run, record in self.records().items() if record.status == "unfinished"}

    def failed(self) -> dict[str, Record]:
        """Runs that raised, with their tracebacks."""
        return {run: record for run, record in self.records().items() if record.status == "failed"}

    @property
    @abstractmethod
    def problems(self) -> dict[str, str]:
        """What cannot be read, and why; everything else still loads."""

    @abstractmethod
    def curves(self, live: bool = True, failed: bool = False, warn: bool = True) -> Curves:
        """All curves as one table, with the column `status`."""

    @abstractmethod
    def compact(self) -> int:
        """Rearrange what is kept so that it loads faster; safe at any time."""
