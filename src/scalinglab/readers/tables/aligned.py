"""Tables in text whose columns are aligned by spaces, as R, pandas and people print them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

import numpy as np

from scalinglab.curves.numbers import number
from scalinglab.readers.tables.grid import names_quantity


def aligned(lines: list[str]) -> Iterator[list[list[str]]]:
    """Rows of cells, names first, for each way to split lines in which they may be a table.

    >>> next(aligned(["   params val loss", "0     1e6     3.12", "1     1e7     2.81"]))
    [['', 'params', 'val loss'], ['0', '1e6', '3.12'], ['1', '1e7', '2.81']]
    """
    for split in (_by_gaps, _by_place, _by_words):
        if found := _table(split(lines)):
            yield found


def _by_gaps(lines: list[str]) -> list[list[str]]:
    """The cells of lines with two spaces or a tab between them."""
    return [re.split(r"\s{2,}|\t", line.strip()) for line in lines]


def _by_words(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def _by_place(lines: list[str]) -> list[list[str]]:
    """The cells of lines between the places that are blank in all rows; names may have several words.

    A name ends where its column does, or begins there.
    """
    rows = [line for line in lines if sum(number(word) is not None for word in line.split()) > 1]
    filled = [any(line[k : k + 1].strip() for line in rows) for k in range(max(map(len, rows), default=0))]
    edges = np.flatnonzero(np.diff([False, *filled, False]))
    starts, ends = edges[::2], edges[1::2]
    cells = []
    for line in lines if len(ends) else ():
        words = [*re.finditer(r"\S+", line)]
        begin, end = (np.array(each, int) for each in zip(*(m.span() for m in words)))
        if np.isin(end, ends).sum() >= np.isin(begin, starts).sum():
            columns = np.minimum(np.searchsorted(ends, end), len(ends) - 1)
        else:
            columns = np.maximum(np.searchsorted(starts, begin, "right") - 1, 0)
        parts = groupby(zip(columns, words), key=lambda each: each[0])
        cells.append([" ".join(m[0] for _, m in part) for _, part in parts])
    words_of = (cell.split() for line in cells for cell in line)
    return [] if any(sum(number(w) is not None for w in words) > 1 for words in words_of) else cells


def _table(lines: list[list[str]]) -> list[list[str]]:
    """Names and rows among lines of cells, between titles and footnotes; none where names are missing.

    R and pandas number rows and do not name that.
    """
    cells = _with_index([[c for c in line if c != "..."] for line in lines])
    blocks = [[*block] for _, block in groupby(range(len(cells)), lambda k: len(cells[k]))]
    last = max(blocks, key=len, default=[-1])[-1]
    below = (" ".join(row).split() for row in cells[last + 1 :])
    if any(len(words) > 1 and sum(number(word) is None for word in words) < 2 for words in below):
        return []  # rows of another length
    cells = cells[: last + 1]
    usual = len(cells[-1]) if cells else 0
    first = next((k for k, row in enumerate(cells) if len(row) == usual), 0)
    unnamed = first > 0 and not any(map(names_quantity, cells[first]))
    numbered = unnamed and len(cells[first - 1]) == usual - 1
    names = ["", *cells[first - 1]] if numbered else cells[first] if cells else []
    rows = cells[first + (not numbered) :]
    if usual < 2 or len(rows) < 2 or {*map(len, rows)} != {usual}:
        return []
    plain = all(number(text) is not None for row in rows for text in row)
    plain = plain and not any(number(name) is not None for name in names)
    if not any(map(names_quantity, names)) and not plain:  # size, seed 0, seed 1
        return []
    titles = [[" ".join(row)] for row in cells[: first - numbered]]
    return [*titles, names, *rows]


def _with_index(cells: list[list[str]]) -> list[list[str]]:
    """Lines with the name of the index, which pandas prints alone below the names, among these."""
    for k in range(1, len(cells) - 1):
        above, (index, *more), below = cells[k - 1 : k + 2]
        if not more and 1 < len(above) in (len(below), len(below) - 1) and names_quantity(index):
            corner = f"{index} \\ {above[0]}" if len(above) == len(below) else index
            return [*cells[: k - 1], [corner, *above[len(above) - len(below) + 1 :]], *cells[k + 1 :]]
    return cells
