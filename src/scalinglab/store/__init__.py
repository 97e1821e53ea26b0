"""Store: curves on disk, in a folder that any number of processes write at once.

- `live/<run>.jsonl`: a run in progress, one line a checkpoint, appended as they come; its writer holds a
  file lock, so that a killed run can be distinguished from a running one.
- `sealed/<run>.parquet`: a finished run, written under a temporary name, synced and renamed, so
  that the file appears atomically.
- `sealed/pack-*.parquet`: many finished runs in one file, which `compact` makes, and writers in passing.
- `index/`: which runs each pack holds, and a copy of its end; both can be rebuilt.
- `damaged/`: files that were found damaged; nothing is ever deleted by itself.

Every file carries checksums and says in which format it is written.

There is no server: the folder holds all data, and pandas, polars and
DuckDB read ``sealed/*.parquet`` where it lies. A run is named by the hash of its setting, so that a sweep
started again does only what is missing.

>>> import tempfile
>>> store = Store(tempfile.mkdtemp())
>>> with store.start({"n_data": 100, "seed": 0}) as run:
...     run.append({"step": 1, "test_error": 0.5})
...     run.append({"step": 2, "test_error": 0.4})
>>> store.done({"n_data": 100, "seed": 0}), len(store.curves())
(True, 2)
"""

from __future__ import annotations

from scalinglab.store.files import (
    Damaged,
    Inaccessible,
    NewerFormat,
    RunBusy,
    RunDone,
    StoreError,
    StoreWarning,
)
from scalinglab.store.folder import Store
from scalinglab.store.live import RunWriter
from scalinglab.store.record import Record

__all__ = [
    "Damaged", "Inaccessible", "NewerFormat", "Record", "RunBusy", "RunDone", "RunWriter",
    "Store", "StoreError", "StoreWarning",
]  # fmt: skip
