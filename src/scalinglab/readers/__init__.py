"""Curves from tables and logs that others wrote."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from scalinglab.curves import Curves, is_seed
from scalinglab.curves.files import frame_of
from scalinglab.curves.names import aliases, quantity
from scalinglab.curves.reading import Reading, listed
from scalinglab.errors import BadInput, NoTable, nearest
from scalinglab.readers.folders import KINDS, Found, find, kind_of_file, read_all
from scalinglab.readers.guards import refuse_lost_numbers
from scalinglab.readers.logs import ReadingWarning, table
from scalinglab.readers.tables import Understood, understand
from scalinglab.readers.tables.files import is_table, read_file, row_of_document, unpack
from scalinglab.readers.tables.headers import numbers_in_names
from scalinglab.readers.tables.layout import OF_TENSORBOARD, rows_of
from scalinglab.readers.tables.meanings import STANDARD
from scalinglab.readers.tables.remarks import LEFT_OUT, NOTES
from scalinglab.readers.tables.runs import lacks_data_of_isoflops
from scalinglab.support.lazy import lazily
from scalinglab.support.validation import checked
from scalinglab.support.work import track

if TYPE_CHECKING:
    from scalinglab.readers.into_store import take_in

Source: TypeAlias = (
    str | os.PathLike[str] | pd.DataFrame | Mapping[str, Any] | list[Mapping[str, Any]] | Curves
)
# names of files with the settings of a run
CONFIGS = ("config", "args", "hparams", "params", "hyperparameters", "settings", "run", "overrides")
SIMILAR, SIMILAR_ANY = 0.88, 0.91  # least similarity of a misspelt name: with the same first letter, with any
__all__ = ["ReadingWarning", "read", "read_table", "take_in"]
# a table needs no store
__getattr__, _ = lazily(__name__, {"take_in": "into_store"})


@checked
def read(source: Source, *, kind: str | None = None, settings: Iterable[str] = (), **columns: str) -> Curves:
    """Read curves from a store, logs, a file or a table in memory.

    Args:
        source: a store; a folder of logs of TensorBoard, W&B, MLflow, Lightning or Hugging Face, nested and
            mixed as they may be, or one such file; a .csv, .tsv, .json, .jsonl, .parquet, .xlsx or .ods file,
            text files also with .gz; a .zip of any of these; a table of pandas, polars or Arrow, a dictionary
            of columns, a list of rows.
        kind: only logs of this kind: tensorboard, wandb, mlflow, lightning, hugging_face; or table.
        settings: columns that are settings although they are not in the standard list; stores, logs and
            Parquet files written here know theirs.
        columns: what a column is called there, as in ``read("log.csv", n_data="train_size")``. Usual names
            (val_loss, eval/loss, lr, tokens, params, flops, trial, …) are recognised without.

    What was understood is in one line, ``curves.understood``, and column by column in ``curves.reading``.

    >>> read({"N": ["19M", "125M"], "tokens": ["1B", "2B"], "eval/loss": [3.4, 3.1]})["n_params"].tolist()
    [19000000, 125000000]
    """
    settings = list(settings)
    known = isinstance(source, Curves) and not columns and not settings
    if isinstance(source, Curves) and known and not lacks_data_of_isoflops(source.frame):
        return source
    understood = read_table(source, kind=kind, settings=settings, likely=None, **columns)
    if missing := [name for name in settings if understood.resolve(name) not in understood.frame]:
        raise BadInput(f"settings={missing} are not columns; {nearest(missing[0], understood.frame.columns)}")
    return understood.curves()


@checked
def read_table(
    source: Source,
    *,
    kind: str | None = None,
    settings: Iterable[str] = (),
    likely: Mapping[str, str] | None = None,
    **columns: str,
) -> Understood:
    """Read as `read` does, without validating the result, so that a part of the table can be used.

    Args:
        source, kind, columns: as those of `read`.
        settings: columns that are settings; those that the table lacks are ignored.
        likely: further names of columns, ignored where the table lacks them or has ours already.
    """
    columns = _roles(columns)
    if isinstance(source, Curves):
        return understand(source.frame, columns, [*source.settings, *settings], likely=likely)
    if not isinstance(source, (str, os.PathLike)):
        return understand(rows_of(_frame(source)), columns, settings, likely=likely)
    path = Path(source)
    if not path.exists():
        raise BadInput(f"{path} does not exist")
    if path.suffix.lower() == ".zip":
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / path.stem
            unpack(path, folder)
            inside = [p for p in folder.rglob("*") if p.is_file()]
            chosen: dict[str, Any] = {"kind": kind, "settings": settings, "likely": likely}
            return read_table(inside[0] if len(inside) == 1 else folder, **chosen | columns)
    if kind is None and path.is_dir() and (kept := _store(path, columns, settings, likely)) is not None:
        return kept
    if kind != "table" and (path.is_dir() or kind is not None or kind_of_file(path) is not None):
        found = find(path, kind)
        if found:
            return _logs(path, found, columns, settings, likely)
        if kind is not None:
            raise BadInput(f"{path} holds no logs of {kind}")
    if path.is_dir():
        frame, declared = _tables(path)
    else:
        frame, declared = read_file(path)
        frame = rows_of(frame, path.name)
        refuse_lost_numbers(path, frame)
    return understand(frame, columns, [*declared, *settings], likely=likely, origin=path.name)


def _roles(columns: Mapping[str, Any]) -> dict[str, str]:
    """The given columns by our standard names: usual spellings are accepted, misspelt ones refused."""
    found: dict[str, str] = {}
    for ours, theirs in columns.items():
        if not isinstance(theirs, str):
            raise BadInput(f"{ours}={theirs!r}: columns are given by their names, as in n_data='train_size'")
        role = ours if ours in STANDARD else next(iter(aliases([ours])), ours)
        if role != ours and (role in columns or role in found):
            role = ours  # val_loss beside test_loss
        alike = [name for name in STANDARD if name[0] == role[0]]
        near = get_close_matches(role, alike, 1, SIMILAR) or get_close_matches(role, STANDARD, 1, SIMILAR_ANY)
        if role not in STANDARD and near and not role.startswith(near[0]):
            raise BadInput(f"{ours}={theirs!r}: no column is called {ours!r} here; did you mean {near[0]!r}?")
        found[role] = theirs
    return found


def _frame(table: Any) -> pd.DataFrame:
    rows = isinstance(table, list) and all(isinstance(row, Mapping) for row in table)
    if hasattr(table, "to_pandas"):  # polars, Arrow
        table = table.to_pandas()
    elif not (rows or isinstance(table, (pd.DataFrame, Mapping))):
        raise BadInput(
            f"a {type(table).__name__} is no table: give a path, a DataFrame, a dictionary of columns or a "
            "list of rows"
        )
    try:
        frame = frame_of(table)
    except ValueError as error:
        raise BadInput(f"these columns do not make a table: {error}") from error
    if frame.empty:
        raise BadInput("the table has no rows: a table of curves has a row for every measurement")
    if isinstance(frame.columns, pd.MultiIndex):
        frame.columns = ["/".join(map(str, names)) for names in frame.columns]
    named = [name for name in frame.index.names if name is not None]  # groupby().mean() leaves keys there
    return frame.reset_index() if named else frame


def _store(
    path: Path, columns: Mapping[str, str], settings: Iterable[str], likely: Mapping[str, str] | None
) -> Understood | None:
    """The runs of a store; None if the folder is none."""
    from scalinglab.store import Store

    if not Store.is_store(path):
        return None
    curves = Store(path).curves()
    if not len(curves):
        return Understood(curves.frame, curves.settings, {}, Reading(str(path), 0, 0, notes=("no runs yet",)))
    return understand(
        curves.frame, columns, [*curves.settings, *settings], likely=likely, origin=str(path)
    )  # fmt: skip


def _logs(
    path: Path,
    found: list[Found],
    columns: Mapping[str, str],
    settings: Iterable[str],
    likely: Mapping[str, str] | None,
) -> Understood:
    logs = table(read_all(found))
    if logs.frame.empty:
        kinds = ", ".join(dict.fromkeys(entry.kind for entry in found))
        why = f" ({'; '.join(logs.notes[:3])})" if logs.notes else ""
        raise BadInput(f"{path} holds logs ({kinds}) without any number in them{why}")
    for note in (*logs.notes, *_beside(path, found)):
        warnings.warn(note, ReadingWarning, stacklevel=4)
    kinds = ", ".join(dict.fromkeys(entry.kind for entry in found))
    origin = f"{path.name or path} ({kinds})"
    return understand(
        logs.frame, columns, [*logs.settings, *settings], likely=likely, origin=origin, names=logs.names
    )


def _beside(folder: Path, found: list[Found]) -> list[str]:
    """A note on tables in a folder of logs, which are not read."""
    logs = {file for entry in found for file in entry.files}
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    names = [p.name for p in files if p.suffix.lower() in (".csv", ".tsv", ".xlsx") and p not in logs]
    advice = "sl.read(folder, kind='table') or scalinglab read --kind table reads tables"
    return [f"{', '.join(names)} beside the logs: not read; {advice}"] if names else []


def _is_config(path: Path) -> bool:
    return path.stem.lower() in CONFIGS and any(
        is_table(other) and other.stem.lower() not in CONFIGS for other in path.parent.iterdir()
    )


def _with_config(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The results of a run with the settings in a file beside them, as Hydra and others write it."""
    places = (path.parent, path.parent / ".hydra")
    files = (
        place / f"{stem}{end}" for place in places for stem in CONFIGS for end in (".yaml", ".yml", ".json")
    )
    config = next((file for file in files if file.is_file() and file != path), None)
    if config is None:
        return frame
    found = row_of_document(config)
    new = {f"config.{name}": value for name, value in found.items() if name not in frame}
    return frame.assign(**new)


def _with_names_of_files(frames: list[pd.DataFrame], names: list[str]) -> list[pd.DataFrame]:
    """Tables with the sizes and seeds in the names of their files: N19000000_D1e9, trainsize1000_seed0."""
    for role, values in numbers_in_names(names).items():
        if not any(role in aliases(frame.columns) for frame in frames):
            frames = [frame.assign(**{role: value}) for frame, value in zip(frames, values)]
    return frames


def _one_row_a_folder(frames: list[pd.DataFrame], paths: list[Path]) -> tuple[list[pd.DataFrame], list[Path]]:
    """Join files of one row each that lie in the same folder, such as train and eval results."""
    folders: dict[Path, list[pd.DataFrame]] = {}
    for frame, path in zip(frames, paths):
        folders.setdefault(path.parent, []).append(frame.drop(columns="run", errors="ignore"))
    alike = {path.parent: path for path in paths}
    stems = {folder: {path.stem for path in paths if path.parent == folder} for folder in folders}
    same = len(folders) > 1 and len({frozenset(names) for names in stems.values()}) == 1
    if not same or len(paths) == len(folders) or any(len(frame) != 1 for frame in frames):
        return frames, paths
    rows = [
        pd.concat(parts, axis=1).pipe(lambda t: t.loc[:, ~t.columns.duplicated()])
        for parts in folders.values()
    ]
    names = [folder.name for folder in folders]
    return [row.assign(run=name) for row, name in zip(rows, names)], [alike[folder] for folder in folders]


def _tables(folder: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """All tables of a folder as one; a file without names of runs is a run."""
    files = [path for path in sorted(folder.rglob("*")) if not path.is_symlink()]
    paths = [path for path in files if is_table(path)]
    paths = paths or [path for path in files if is_table(path, logs=True)]
    if not paths:
        raise BadInput(
            f"{folder} holds neither a store nor logs nor tables: known are logs of {', '.join(KINDS)}, and "
            ".csv, .tsv, .json, .jsonl, .parquet, .xlsx and .ods files; where it does, say which with --kind"
        )
    found, declared, beside = dict[Path, pd.DataFrame](), list[str](), list[Path]()
    configs = {path.name for path in paths if _is_config(path)}  # also of a run without results
    paths = [path for path in paths if path.name not in configs] or paths
    for path in track(paths, "reading tables"):
        try:
            frame, own = read_file(path)
        except NoTable:
            if not found and path == paths[-1]:
                raise
            beside.append(path)
            continue
        frame = _with_config(rows_of(frame, path.name), path)
        if len(paths) > 1 and not aliases(frame.columns).get("run"):
            name = path.relative_to(folder).with_suffix("").as_posix().replace("/", "-")
            name = OF_TENSORBOARD.sub("", name)
            seed = next((c for c in frame if is_seed(c) and len(frame) > 1 and frame[c].is_unique), None)
            frame = frame.assign(run=name if seed is None else [f"{name}-{value}" for value in frame[seed]])
        found[path] = frame
        declared += own
    frames, paths = _one_row_a_folder([*found.values()], [*found])
    measured = [any(map(quantity, frame)) for frame in frames]
    if any(measured) and not all(measured):  # tables that describe data or machines
        beside += [path for path, has_result in zip(paths, measured) if not has_result]
        frames, paths = ([*compress(each, measured)] for each in (frames, paths))
    frames = _with_names_of_files(
        frames, [path.relative_to(folder).with_suffix("").as_posix() for path in paths]
    )
    together = pd.concat(frames, ignore_index=True)
    if beside:
        names = listed([*dict.fromkeys(path.name for path in beside)])
        frames[0].attrs[NOTES] = [*frames[0].attrs.get(NOTES, ()), f"not read, no results in them: {names}"]
    for mark in (LEFT_OUT, NOTES):
        together.attrs[mark] = [
            *dict.fromkeys(name for frame in frames for name in frame.attrs.get(mark, ()))
        ]
    return together, tuple(declared)
