"""Known laws, the points drawn from them, and what a table made of them should be read as."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd

Array = np.ndarray
Cells = pd.DataFrame | list[list[object]]


@dataclass(frozen=True)
class Truth:
    """The points that a fit should see, and the law's value at ten times the largest.

    Attributes:
        points: columns by our names; the last one is what was measured.
        ten_times: the noiseless value there; of a surface the lowest at ten times the largest compute.
    """

    points: Mapping[str, Array]
    ten_times: float

    def rows(self, chosen: Array) -> Truth:
        """Some of the points; the largest must be among them."""
        return Truth({name: values[chosen] for name, values in self.points.items()}, self.ten_times)

    def times(self, factor: float) -> Truth:
        """The measurement in another unit."""
        *sizes, y = self.points
        scaled = {name: self.points[name] for name in sizes} | {y: self.points[y] * factor}
        return Truth(scaled, self.ten_times * factor)


@dataclass(frozen=True)
class Case:
    """A table: the files, and what is right.

    Attributes:
        files: contents by name; the first is given to the front door, or the folder of several.
        truth: what should be read; None where a choice is asked for.
        choices: words that a refusal must contain to count as right: the column, and one of its values.
    """

    name: str
    kind: str
    files: Mapping[str, str | bytes | Callable[[Path], None]]
    truth: Truth | None = None
    choices: tuple[str, ...] = ()
    folder: bool = False

    def write(self, place: Path) -> Path:
        """Write the files into a folder; what is to be read."""
        for name, content in self.files.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            elif isinstance(content, str):
                path.write_text(content, encoding="utf-8")
            else:
                content(path)
        return place if self.folder else place / next(iter(self.files))


def language(n: Array, d: Array) -> Array:
    """The loss of a language model of n parameters after d tokens (a sum of two power laws)."""
    return 1.69 + 406 * n**-0.34 + 411 * d**-0.28


def best_language(compute: float) -> float:
    """Its lowest value at 6 n d = compute."""
    n = np.geomspace(1e6, 1e13, 20001)
    return float(language(n, compute / 6 / n).min())


def image_error(n: Array) -> Array:
    """The error of an image model after n examples."""
    return 0.02 + 3.0 * n**-0.35


def by_size(n: Array) -> Array:
    """The loss of models trained alike, by their parameters."""
    return 1.8 + 60 * n**-0.22


def by_compute(c: Array) -> Array:
    """The loss against training FLOPs."""
    return 1.7 + 900 * c**-0.15


GPT = np.array([45e6, 124e6, 355e6, 774e6, 1.5e9])
SEEN = np.array([2e9, 5e9, 15e9, 50e9])
MODELS = np.array([19e6, 70e6, 160e6, 410e6, 1.4e9])
TOKENS = np.array([1e9, 3e9, 10e9, 30e9])
PYTHIA = np.array([14e6, 31e6, 70e6, 160e6, 410e6, 1e9, 1.4e9, 2.8e9, 6.9e9, 12e9])
EXAMPLES = 1000.0 * 2 ** np.arange(7)
ANY = ("",)  # words that every refusal has


def noisy(values: Array, scatter: float, seed: int, digits: int) -> Array:
    """Values with relative noise, rounded as they are written."""
    draws = np.random.default_rng(seed).standard_normal(values.shape)
    return np.round(values * np.exp(scatter * draws), digits)


def grid(
    seed: int = 0, y: str = "test_loss", models: Array = MODELS, tokens: Array = TOKENS, digits: int = 4
) -> Truth:
    """Every model on every token count."""
    n, d = (v.ravel() for v in np.meshgrid(models, tokens, indexing="ij"))
    loss = noisy(language(n, d), 0.003, seed, digits)
    return Truth({"n_params": n, "n_data": d, y: loss}, best_language(60 * float((n * d).max())))


def crossed(seed: int, models: Array = GPT, tokens: Array = SEEN) -> Truth:
    """The same of other models, written shorter."""
    return grid(seed, "test_loss", models, tokens, 3)


def images(
    seed: int = 0, seeds: int = 3, y: str = "test_error", n: Array = EXAMPLES, scatter: float = 0.02
) -> Truth:
    """Sizes of a data set, some seeds each."""
    n = np.repeat(n, seeds)
    return Truth({"n_data": n, y: noisy(image_error(n), scatter, seed, 4)}, float(image_error(10 * n.max())))


def subsets(seed: int, n: Array, seeds: int = 1) -> Truth:
    """The same of other sizes, with less noise."""
    return images(seed, seeds, "test_error", n, 0.015)


def sizes(seed: int = 0, y: str = "test_loss", n: Array = PYTHIA, digits: int = 4) -> Truth:
    """Models of one family, trained alike."""
    return Truth({"n_params": n, y: noisy(by_size(n), 0.003, seed, digits)}, float(by_size(10 * n.max())))


def models(seed: int, n: Array) -> Truth:
    """The same of other models, written shorter."""
    return sizes(seed, "test_loss", n, 3)


def budgets(seed: int = 0, y: str = "test_loss") -> Truth:
    """Eight runs of growing compute."""
    c = np.geomspace(1e17, 1e21, 9)
    return Truth({"compute": c, y: noisy(by_compute(c), 0.003, seed, 4)}, float(by_compute(10 * c.max())))


def line(
    seed: int, n: Array, floor: float, height: float, slope: float, digits: int = 4, scatter: float = 0.004,
    size: str = "n_data", y: str = "test_loss",
) -> Truth:  # fmt: skip
    """Points of floor + height · n^-slope."""
    end = floor + height * (10 * n.max()) ** -slope
    return Truth({size: n, y: noisy(floor + height * n**-slope, scatter, seed, digits)}, float(end))


def surface(
    seed: int, models: Array, tokens: Array, loss: Callable[[Array, Array], Array], digits: int = 3
) -> Truth:
    """Losses of every model on every number of tokens."""
    n, d = (v.ravel() for v in np.meshgrid(models, tokens, indexing="ij"))
    widest = np.geomspace(1e6, 1e13, 20001)
    best = float(loss(widest, 10 * float((n * d).max()) / widest).min())
    return Truth({"n_params": n, "n_data": d, "test_loss": noisy(loss(n, d), 0.003, seed, digits)}, best)


def columns(truth: Truth) -> list[Array]:
    """The columns of a truth."""
    return [*truth.points.values()]


def table(truth: Truth, **names: str) -> pd.DataFrame:
    """The points under other names."""
    return pd.DataFrame({names.get(name, name): values for name, values in truth.points.items()})


def short(value: float) -> str:
    """A size as people write it.

    >>> [short(v) for v in (19e6, 1.4e9, 30e9, 1000, 1.5e12)]
    ['19M', '1.4B', '30B', '1k', '1.5T']
    """
    for power, letter in ((12, "T"), (9, "B"), (6, "M"), (3, "k")):
        if value >= 10**power:
            return f"{value / 10**power:g}{letter}"
    return f"{value:g}"


@dataclass
class Collection:
    """Cases in the order in which they were written."""

    cases: list[Case] = field(default_factory=list)

    def add(
        self, kind: str, name: str, file: str, content: str | bytes | Callable[[Path], None],
        truth: Truth | None = None, choices: tuple[str, ...] = (), **more: str | bytes,
    ) -> None:  # fmt: skip
        """Add a table in one file."""
        self.cases.append(Case(name, kind, {file: content, **more}, truth, choices))

    def folder(self, kind: str, name: str, files: Mapping[str, str | bytes], truth: Truth) -> None:
        """Add a folder of files."""
        self.cases.append(Case(name, kind, files, truth, folder=True))

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)


def book(rows: Cells | None = None, /, **sheets: Cells) -> Callable[[Path], None]:
    """An Excel file of these cells, and of further sheets by their names; a frame has its header too."""

    def write(path: Path) -> None:  # later: openpyxl is not everywhere where the other tables are read
        with pd.ExcelWriter(path) as file:
            for name, cells in (({} if rows is None else {"Sheet1": rows}) | sheets).items():
                header = isinstance(cells, pd.DataFrame)
                pd.DataFrame(cells).to_excel(file, sheet_name=name, header=header, index=False)

    return write


def csv(cells: Cells, separator: str = ",", **options: object) -> str:
    """A frame as pandas writes it; rows of cells as they stand, without quotes."""
    if isinstance(cells, pd.DataFrame):
        return str(cells.to_csv(index=False, sep=separator, **options))
    return "\n".join(separator.join(str(c) for c in row) for row in cells) + "\n"


def markdown(head: list[str], rows: list[list[object]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(c) for c in row) + " |\n" for row in lines)


def comma(value: float, digits: int = 4) -> str:
    """A number with a decimal comma."""
    return f"{value:.{digits}f}".replace(".", ",")


def falling(end: float, points: int = 11) -> np.ndarray:
    """Losses of checkpoints that fall to the end."""
    return np.round(end + 4.0 * np.exp(-np.linspace(0, 7, points)) * np.linspace(1, 0, points), 4)


def packed(files: dict[str, str]) -> bytes:
    """A zip archive of texts."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


def perplexities(truth: Truth, digits: int = 2) -> tuple[Array, Truth]:
    """The exponentials of losses as they are written, and what they should be read as."""
    *sizes, y = truth.points
    ppl = np.round(np.exp(truth.points[y]), digits)
    return ppl, Truth({name: truth.points[name] for name in sizes} | {y: np.log(ppl)}, truth.ten_times)


def workbook(
    sheets: dict[str, list[list[object]]], merged: tuple[str, ...] = (), formats: dict[str, str] | None = None
) -> bytes:
    """A workbook: its sheets by name; cells to merge and number formats of columns are those of the first."""
    file, made = io.BytesIO(), openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append([float(c) if isinstance(c, np.floating) else c for c in row])
    first = made.worksheets[0]
    for cells in merged:
        first.merge_cells(cells)
    for column, how in (formats or {}).items():
        for cell in first[column]:
            cell.number_format = how
    made.save(file)
    return file.getvalue()
