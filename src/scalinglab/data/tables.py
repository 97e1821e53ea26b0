"""Published learning curves: what they are, where they come from, and where their tables lie.

A set is known by the MD5 sums of its tables. They lie in ``learning-curves/<folder>/`` under a folder of
``SCALINGLAB_DATA`` or in the user's cache; `get_tables` copies them there from any folder that holds them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from scalinglab.data.sources import folder, search_path
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.support.whole_files import write_whole


@dataclass(frozen=True)
class TableSet:
    """Published learning curves.

    Attributes:
        folder: under ``learning-curves/``.
        files: the tables and their MD5 sums.
        address: where the authors publish the analysis files that the tables are made of.
        licence: of those.
        columns: of the tables.
    """

    name: str
    title: str
    folder: str
    files: dict[str, str]
    address: str
    licence: str
    columns: tuple[str, ...]

    @property
    def place(self) -> Path:
        """Where the tables lie under a data folder."""
        return Path("learning-curves") / self.folder


TABLES = {
    one.name: one
    for one in (
        TableSet(
            name="damico2025-curves",
            title="test error against norm, averaged over seeds, five of the nine pairs of damico2025",
            folder="damico2025",
            files={
                "cnn-cifar10.csv": "c34aac00869e55c0a365f96d144783c0",
                "cnn-mnist.csv": "362e7675a80749b127def5287b0e03a6",
                "resnet-cifar10.csv": "71059bbfa697ff0bd21e15ab203985e2",
                "resnet-mnist.csv": "66e9116596c9e7058e4aaa40a84eb0f8",
                "vit-cifar100.csv": "175f787382254b12e97f5e835cb53791",
            },
            address="https://github.com/Francill99/deep_norm (folder analysis/)",
            licence="none stated; cite D'Amico, Bocchi, Negri (2025)",
            columns=("model", "dataset", "n_data", "norm", "test_error", "n_seeds"),
        ),
    )
}


def tables_of(name: str) -> list[pd.DataFrame]:
    """The tables of a set of published curves, in the order of their names; none where they are not here."""
    found = tables_folder(name)
    return [] if found is None else [pd.read_csv(found / file) for file in sorted(TABLES[name].files)]


def tables_folder(name: str) -> Path | None:
    """The folder that holds every table of a set; None where there is none."""
    known = TABLES[name]
    for base in search_path():
        if all((base / known.place / file).is_file() for file in known.files):
            return base / known.place
    return None


def get_tables(name: str, origin: str | Path | None = None) -> Path:
    """Bring the tables of a set into the data folder, verify them, and return their folder.

    Args:
        origin: a folder that holds them, itself or under ``learning-curves/``.

    Raises:
        BadInput: no `origin` and no tables here, an `origin` without them, or one with damaged ones.
    """
    known, here = TABLES[name], tables_folder(name)
    if origin is None:
        if here is None:
            raise BadInput(
                f"{name}: {known.title}. The authors publish their analysis files at {known.address}; "
                f"licence: {known.licence}. Those are arrays, which are not fetched; the tables made of them "
                f"({', '.join(known.files)}) are copied from a folder that holds them: "
                f"scalinglab data get {name} --from FOLDER"
            )
        _verify(known, here)
        return here
    source = next((base for base in (Path(origin), Path(origin) / known.place) if _holds(known, base)), None)
    if source is None:
        raise BadInput(f"{origin} does not hold {name}: expected {', '.join(known.files)}")
    _verify(known, source)
    target = folder() / known.place
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file in known.files:
            if target / file != source / file:
                _copy(source / file, target / file)
    except OSError as error:
        raise ScalinglabError(
            f"cannot write to {target} ({error.strerror}): set SCALINGLAB_DATA to a folder of yours"
        ) from error
    return target


def _copy(source: Path, target: Path) -> None:
    write_whole(target, lambda partial: partial.write_bytes(source.read_bytes()))


def _holds(known: TableSet, base: Path) -> bool:
    return all((base / file).is_file() for file in known.files)


def _verify(known: TableSet, base: Path) -> None:
    for file, expected in known.files.items():
        found = hashlib.md5((base / file).read_bytes(), usedforsecurity=False).hexdigest()
        if found != expected:
            raise BadInput(
                f"{base / file} is not the published table: its MD5 sum is {found}, not {expected}: "
                "copy it again"
            )
