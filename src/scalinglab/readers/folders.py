"""Find the logs in a folder, of any kind and at any depth.

Links are not followed (W&B's ``latest-run`` is one), and a run that several loggers wrote is read once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scalinglab.errors import BadInput, nearest
from scalinglab.readers import hugging_face, lightning, mlflow
from scalinglab.readers.logs import LoggedRun
from scalinglab.support.work import reading

KINDS = ("tensorboard", "wandb", "mlflow", "lightning", "hugging_face")
DEEPEST_FOLDER = 20  # levels below the folder that was given
DATABASES = (".db", ".sqlite", ".sqlite3")


@dataclass(frozen=True)
class Found:
    """A log: its kind, its folder or file, and the name of its run."""

    kind: str
    path: Path
    name: str
    files: tuple[Path, ...]

    @property
    def bytes(self) -> int:
        """How much there is to read."""
        return sum(path.stat().st_size for path in self.files)


def kind_of_file(path: Path) -> str | None:
    """The kind of log that a single file is, by its name and first bytes; None for tables."""
    if ".tfevents." in path.name:
        return "tensorboard"
    if path.suffix == ".wandb":
        return "wandb"
    if path.name == hugging_face.FILE:
        return "hugging_face"
    if path.suffix in DATABASES and mlflow.is_database(path):
        return "mlflow"
    if path.name == lightning.FILE and lightning.is_run(path.parent):
        return "lightning"
    return None


def find(root: Path, kind: str | None = None) -> list[Found]:
    """All logs in a folder or file, of one kind or of any."""
    if kind is not None and kind not in KINDS:
        raise BadInput(f"kind={kind!r}: {nearest(kind, KINDS)}")
    found: list[Found] = []
    states: dict[Path, list[Path]] = {}
    folders = _walk(root) if root.is_dir() else [(root.parent, [root])]
    for folder, files in folders:
        base = root if root.is_dir() else root.parent
        name = folder.relative_to(base).as_posix() if folder != base else folder.resolve().name
        found += _in_folder(folder, files, name)
        for path in files:
            if path.name == hugging_face.FILE:
                states.setdefault(hugging_face.run_folder(path), []).append(path)
    for folder, paths in states.items():
        inside = folder.is_relative_to(root) and folder != root
        name = folder.relative_to(root).as_posix() if inside else folder.resolve().name
        found.append(Found("hugging_face", folder, name, tuple(paths)))
    found = [entry for entry in found if kind in (None, entry.kind)]
    return found if kind is not None else _once(found)


def _walk(root: Path) -> Iterator[tuple[Path, list[Path]]]:
    for folder, names, files in os.walk(root, followlinks=False):
        place = Path(folder)
        names[:] = sorted(n for n in names if not n.startswith(".") and not (place / n).is_symlink())
        if len(place.relative_to(root).parts) >= DEEPEST_FOLDER:
            names.clear()
        yield place, sorted(p for n in files if not (p := place / n).is_symlink() and p.is_file())


def _in_folder(folder: Path, files: list[Path], name: str) -> list[Found]:
    found = []
    events = tuple(path for path in files if ".tfevents." in path.name)
    if any(path.name == lightning.FILE for path in files) and lightning.is_run(folder):
        found.append(Found("lightning", folder, name, (folder / lightning.FILE,)))
    if events:
        found.append(Found("tensorboard", folder, name, events))
    for path in files:
        if path.suffix == ".wandb":
            found.append(Found("wandb", path, path.stem.removeprefix("run-"), (path,)))
        elif path.suffix in DATABASES and mlflow.is_database(path):
            found.append(Found("mlflow", path, path.stem, (path,)))
    if mlflow.is_file_store_run(folder):
        metrics = tuple(p for p in (folder / "metrics").rglob("*") if p.is_file())
        found.append(Found("mlflow", folder, name, metrics))
    return found


def _once(found: list[Found]) -> list[Found]:
    """Drop the event files of a run that the Trainer or another logger of Lightning logged as well."""
    runs = {entry.path for entry in found if entry.kind in ("hugging_face", "lightning")}
    return [
        entry for entry in found
        if entry.kind != "tensorboard" or not runs & {entry.path, *entry.path.parents}
    ]  # fmt: skip


def read_all(found: Iterable[Found]) -> list[LoggedRun]:
    """The runs of everything that was found, with a progress bar."""
    from scalinglab.readers import tensorboard, wandb  # a table needs neither

    readers = {"wandb": wandb.read, "lightning": lightning.read, "mlflow": mlflow.read_run}
    entries = list(found)
    runs: list[LoggedRun] = []
    events: dict[Path, LoggedRun] = {}
    with reading("reading logs", sum(entry.bytes for entry in entries)) as advance:
        for entry in entries:
            if entry.kind == "tensorboard":
                events[entry.path] = tensorboard.read(entry.path, entry.name, advance)
            elif entry.kind == "mlflow" and entry.path.is_file():
                runs += mlflow.read_database(entry.path, advance)
            elif entry.kind == "hugging_face":
                runs.append(hugging_face.read(entry.files, entry.name, advance))
            else:
                runs.append(readers[entry.kind](entry.path, entry.name, advance))
    return [*tensorboard.join(events), *runs]
