"""Published learning curves: what they are, where they come from, and where their tables lie.

A set is a table for each pair of model and data set, in ``learning-curves/<folder>/`` under a folder of
``SCALINGLAB_DATA`` or in the user's cache. `get_tables` fetches the files that the authors publish, makes the
tables of them, and verifies their numbers by MD5 sums; without a network it takes a folder that holds the
authors' files (a clone of their repository) or the tables.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from scalinglab.data.fetch import Progress, download
from scalinglab.data.sources import VARIABLE, folder, search_path
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.support.extensions import extensions
from scalinglab.support.whole_files import write_text_whole


@dataclass(frozen=True)
class TableSet:
    """Published learning curves.

    Attributes:
        version: which of several published ones; "" where there is one only.
        folder: under ``learning-curves/``.
        pairs: names of the authors' files without ending, and the MD5 sum of the numbers of the table made
            of each (`numbers`); "" where no sum is known here. Those with a sum make the set: the others are
            welcome.
        address: where the authors publish the files.
        raw: the address of one of them, with places for commit and pair.
        commits: of their repository in which files were published, the latest first.
        licence: of those.
        columns: of the tables.
        read: makes the table of one of the authors' files.
    """

    name: str
    title: str
    folder: str
    pairs: Mapping[str, str]
    address: str
    raw: str
    commits: tuple[str, ...]
    licence: str
    columns: tuple[str, ...]
    read: Callable[[Path], pd.DataFrame]
    version: str = ""

    @property
    def how(self) -> str:
        """The command that brings it."""
        return f"scalinglab data get {self.name}" + (f" --version {self.version}" if self.version else "")

    @property
    def place(self) -> Path:
        """Where the tables lie under a data folder."""
        return Path("learning-curves") / self.folder

    @property
    def needed(self) -> list[str]:
        """The pairs without which the set is not whole."""
        return [pair for pair, known in self.pairs.items() if known]


def table_sets() -> dict[str, TableSet]:
    """The sets by key: ``TABLES`` of the extensions that define it (`scalinglab.support.extensions`).

    The key of a set is its name; of several versions those after the first have it behind the name.
    """
    found: dict[str, TableSet] = {}
    for module in extensions():
        found |= getattr(module, "TABLES", {})
    return found


def key_of(name: str, version: str | None = None) -> str | None:
    """The key of a set in a version, the first one by default; None where no set has this name."""
    keys = {t.version: key for key, t in table_sets().items() if t.name == name}
    if version is None:
        return next(iter(keys.values()), None)
    if version not in keys:
        has = f"its versions: {', '.join(keys)}" if any(keys) else "it has no versions"
        raise BadInput(f"{name} in version {version!r}: {has}")
    return keys[version]


# --- reading ---------------------------------------------------------------------------------------------


def table_file(pair: str) -> str:
    """The name of a pair's table, such as cnn-cifar10.csv."""
    return pair.lower().replace("_", "-") + ".csv"


def tables_of(name: str) -> list[pd.DataFrame]:
    """The tables of a set of published curves, in the order of their names; none where they are not here."""
    found, known = tables_folder(name), table_sets()[name]
    if found is None:
        return []
    files = [found / table_file(pair) for pair in sorted(known.pairs)]
    return [pd.read_csv(file) for file in files if file.is_file()]


def published_table(file: str, origin: str) -> pd.DataFrame:
    """A table that others published: ``learning-curves/<file>`` under a folder of data.

    Args:
        origin: what it is and where it comes from, for the refusal.

    Raises:
        BadInput: it is not here.
    """
    place = Path("learning-curves") / file
    path = next((base / place for base in search_path() if (base / place).is_file()), None)
    if path is None:
        raise BadInput(
            f"{file} is not at hand ({origin}): put it into {place.parent}/ of the "
            f"folder that {VARIABLE} names"
        )
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def tables_folder(name: str) -> Path | None:
    """The folder that holds every table with a known sum; None where there is none."""
    known = table_sets()[name]
    places = (base / known.place for base in search_path())
    return next((p for p in places if all((p / table_file(pair)).is_file() for pair in known.needed)), None)


def numbers(table: pd.DataFrame) -> str:
    """MD5 sum of a table's sizes, norms and errors to nine digits, whatever the file they were read from."""
    columns = (table[name] for name in ("n_data", "norm", "test_error"))
    lines = (f"{int(n)} {norm:.9g} {error:.9g}\n" for n, norm, error in zip(*columns, strict=True))
    return hashlib.md5("".join(lines).encode(), usedforsecurity=False).hexdigest()


# --- getting ---------------------------------------------------------------------------------------------


def get_tables(name: str, origin: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Bring the tables of a set into the data folder, verify them, and return their folder.

    Args:
        origin: a folder that holds the authors' files or the tables, itself or under ``analysis/`` or
            ``learning-curves/``; by default they are taken where they are here, and fetched where not.
        progress: called with the bytes that have come and the bytes in all (or None).

    Raises:
        BadInput: an `origin` without the set, or tables that are not the published ones.
        ScalinglabError: the files could not be fetched, or the tables not be written.
    """
    known, here = table_sets()[name], tables_folder(name)
    if origin is None and here is not None:
        for pair in known.needed:
            _verified(known, pair, pd.read_csv(here / table_file(pair)), here / table_file(pair))
        return here
    made = _fetched(known, progress) if origin is None else _from_folder(known, Path(origin).expanduser())
    target = folder() / known.place
    try:
        target.mkdir(parents=True, exist_ok=True)
        for pair, table in made.items():
            write_text_whole(target / table_file(pair), table.to_csv(index=False))
    except OSError as error:
        raise ScalinglabError(
            f"cannot write to {target} ({error.strerror}): set SCALINGLAB_DATA to a folder of yours"
        ) from error
    return target


def _fetched(known: TableSet, progress: Progress | None) -> dict[str, pd.DataFrame]:
    """The tables, made of what the authors publish; without those that no sum is known of, if they fail."""
    made = {}
    for pair, expected in known.pairs.items():
        failures = []
        for commit in known.commits:
            try:
                made[pair] = _from_address(known, pair, known.raw.format(commit=commit, pair=pair), progress)
                break
            except (OSError, ScalinglabError) as error:
                failures.append(f"  {error}")
        if expected and pair not in made:
            raise ScalinglabError(
                f"{known.name} could not be fetched:\n"
                + "\n".join(failures)
                + f"\nThe authors publish it at "
                f"{known.address}; licence: {known.licence}. From a folder that holds their files, or tables "
                f"made of them: {known.how} --from FOLDER"
            )
    return made


def _from_address(known: TableSet, pair: str, url: str, progress: Progress | None) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as box:
        try:
            path = download(url, Path(box) / f"{pair}.npy", progress or (lambda done, total: None))
        except OSError as error:
            raise ScalinglabError(f"{url}: {error}") from error
        return _verified(known, pair, known.read(path), url)


def _from_folder(known: TableSet, origin: Path) -> dict[str, pd.DataFrame]:
    """The tables of a folder: the authors' arrays, or tables made of them."""
    for base in (origin, origin / "analysis", origin / known.place):
        made = {}
        for pair in known.pairs:
            arrays, table = base / f"{pair}.npy", base / table_file(pair)
            if arrays.is_file():
                made[pair] = _verified(known, pair, known.read(arrays), arrays)
            elif table.is_file():
                made[pair] = _verified(known, pair, pd.read_csv(table), table)
        if set(known.needed) <= set(made):
            return made
    expected = ", ".join(f"{pair}.npy or {table_file(pair)}" for pair in known.needed)
    raise BadInput(f"{origin} does not hold {known.name}: expected {expected}")


def _verified(known: TableSet, pair: str, table: pd.DataFrame, origin: Path | str) -> pd.DataFrame:
    """The table, or an error where it is not the published one."""
    missing = [name for name in known.columns if name not in table]
    if missing:
        raise BadInput(f"{origin} is no table of {known.name}: it lacks {', '.join(missing)}")
    expected, found = known.pairs[pair], numbers(table)
    if expected and found != expected:
        other = _other_version(known, pair, found)
        raise BadInput(
            f"{origin} does not hold the published curves{other}: the MD5 sum of its numbers is {found}, not "
            f"{expected}: get it again"
        )
    return table


def _other_version(known: TableSet, pair: str, found: str) -> str:
    """Words for the version that a table belongs to, where it is not the wanted one."""
    others = (t.version for t in table_sets().values() if t.name == known.name and t.pairs.get(pair) == found)
    other = next(others, None)
    return f" of version {known.version} but those of {other}" if other else ""
