"""Find the table in rows of cells: the header, and titles, units, sections and footnotes around it.

Text whose columns are aligned by spaces, as R, pandas and people write it, is split into cells here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.curves.columns import is_missing, is_numeric
from scalinglab.curves.names import quantity
from scalinglab.curves.numbers import MULTIPLIERS, cell, number, plain_powers
from scalinglab.errors import BadInput, NoTable
from scalinglab.readers.tables.headers import is_name, roles
from scalinglab.readers.tables.markup import are_types
from scalinglab.readers.tables.remarks import NOTES
from scalinglab.support.words import counted

FEWEST_OF_A_TITLE = 2  # cells of a row of names, whatever the table's width
MOST_OF_A_TITLE = 200  # characters
_UNIT = re.compile(
    rf"[\[(]?(?:in )?(?:%|{MULTIPLIERS}|[×x]? ?10 ?\^ ?\d+|nats?|bits?|tokens?|params?|parameters?|#|-"
    r"|[GTPEZY]?flops?|m?s|sec|min|h|hours?|days?|[mk]?eV|kcal|kJ|[MG]i?B|k?Wh?|px|Å|usd|[$€])"
    r"(?:\s*(?:/|per)\s*\w+|\s+\w+)?[\])]?", re.IGNORECASE,
)  # fmt: skip
_INSIDE = re.compile(r"(?:±|\+/?-)\0|\0\s*(?:[(±]|\+/?-)")  # of a cell: 3.2 ± 0.1, WER (%)
SECTION = "section"
SAME_STATISTIC = 0.02  # relative difference of a rounded mean or deviation
MOST_JOINED = 4  # words more than names
LAST_ROWS = 5  # of a table, in which means and totals may stand
_MEAN = r"(?i)\s*(?:mean|avg\.?|average)\s*:?\s*"  # a word that is no name of a run
_SUMMARY = r"(?i)\s*(?:mean|avg\.?|average|total|sum|median|std|min|max)\s*:?\s*"


def table_of_cells(rows: Iterable[Sequence[Any]], path: Path) -> pd.DataFrame:
    """The table in rows of cells, as text or numbers; empty cells are None or an empty text."""
    cells = [[_plain(value) for value in row] for row in rows]
    filled = [row for row in cells if any(value is not None for value in row)]
    width = max(map(len, filled), default=0)
    filled = [[*row, *[None] * (width - len(row))] for row in filled]
    used = [k for k in range(width) if sum(row[k] is not None for row in filled) > (k > 0)]
    filled = [row for each in filled if _count(row := [each[k] for k in used]) and not are_types(row)]
    filled = _without_levels(filled)
    start = _first_row_of_names(filled)
    if start is None:
        raise NoTable(f"{path} holds no table: a row of names and rows of numbers below it")
    names, below = _names(filled, start)
    body = _with_groups(filled[below:], names, filled[start - 1] if start else [])
    for k, name in enumerate(names):
        if k and not name and sum(_is_number(row[k]) for row in filled[below:]) > 1:
            raise BadInput(f"{path}: column {k + 1} has numbers and no name; name each")
    frame = pd.DataFrame(body, columns=names, dtype=object)
    frame = frame.loc[:, [bool(name) or bool(column.notna().any()) for name, column in frame.items()]]
    frame = _typed(frame)
    heads = [row for row in filled[: below - 1] if [_text(v) for v in row] != names]
    titles = ["; ".join(str(v) for v in row if v is not None) for row in heads]
    if titles:
        frame.attrs[NOTES] = [f"title: {'; '.join(titles)[:MOST_OF_A_TITLE]}", *frame.attrs.get(NOTES, ())]
    return without_strays(frame)


def _with_groups(rows: list[list[Any]], names: list[str], above: list[Any]) -> list[list[Any]]:
    """Repeat the name of a group, written once above its rows in an unnamed first column, in each row."""
    alone = [row[0] is not None and _count(row) == 1 for row in rows]
    if names[0] or sum(alone) < 1 or any(row[0] is not None for row, head in zip(rows, alone) if not head):
        return rows
    last, found = above[0] if above and _count(above) == 1 else None, []
    for row, head in zip(rows, alone):
        last = row[0] if head else last
        if not head and [_text(value) for value in row[1:]] != names[1:]:
            found.append([last, *row[1:]])
    return found


def _has_levels(rows: list[list[Any]]) -> bool:
    """Whether a pivot's header comes first: measurements, the values of a key, the name of the index.

    As pandas writes it: ``,test_error,test_error`` over ``seed,0,1`` or ``,mean,std`` over ``n_train,,``.
    """
    if len(rows) < 4 or min(map(len, rows[:3])) < 2:
        return False
    measured, key, index = rows[:3]
    alone = isinstance(index[0], str) and all(value is None for value in index[1:])
    named = measured[0] is None and all(map(names_quantity, measured[1:]))
    return alone and named and None not in key[1:]


def _without_levels(rows: list[list[Any]]) -> list[list[Any]]:
    """The rows with the header of a pivot in one row."""
    if not _has_levels(rows):
        return rows
    level = f"{rows[1][0]}=" if rows[1][0] is not None else ""  # none has a name in describe() and agg()
    keys = [f"{level}{_text(key)}" for key in rows[1][1:]]
    none = [k in ("count", "size") or k.endswith("%") for k in keys]  # no measurement, or another one
    names = [k if other else f"{of} {k}" for of, k, other in zip(rows[0][1:], keys, none)]
    return [[rows[2][0], *names], *rows[3:]]


def begins_with_names(rows: list[list[str]]) -> bool:
    """Whether the first line has the names and the second one values, as in most files."""
    cells = [[_plain(value) for value in row] for row in rows]
    if len(cells) < 3:
        return True
    first, second = cells[0], cells[1]
    gaps = any(value is None for value in first[1:-1]) or (len(first) == len(second) and first[-1] is None)
    named = [row for row in cells if _count(row)]
    start = _first_row_of_names(named)
    return (
        start in (0, None)
        and not gaps
        and not _has_levels(cells)
        and (any(map(_is_number, second)) or not any(map(_is_number, cells[2])))
    )


def _plain(value: Any) -> Any:
    if is_missing(value):
        return None
    text = value.strip() if isinstance(value, str) else value
    return None if text == "" else text


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        read = cell(value)
        return read is not None and not read.word and read.value == read.value
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _count(row: Sequence[Any]) -> int:
    return sum(value is not None for value in row)


def _first_row_of_names(rows: list[list[Any]]) -> int | None:
    """The first row as wide as the rows of numbers, one empty corner allowed for, in which a name is known.

    Where no name is known, the first row as wide.
    """
    widths = Counter(_count(row) for row in rows if any(map(_is_number, row)))
    if not widths:
        return None
    usual = max(widths, key=lambda width: (widths[width], width))
    least = max(FEWEST_OF_A_TITLE, usual - 1 if usual > 2 else usual)
    wide = [i for i, row in enumerate(rows[:-1]) if _count(row) >= least]
    values = next((i for i in wide if sum(map(_is_number, rows[i])) > 0.5 * _count(rows[i])), len(rows))
    below = (i for i in wide if i - 1 in wide and not any(map(_is_number, rows[i - 1])))
    first = next((i for i in below if any(map(_is_number, rows[i]))), len(rows))  # below names not known
    known = (i for i in wide if i <= values and i < first and any(map(names_quantity, rows[i])))
    return next(known, next(iter(wide), None))


def names_quantity(value: Any) -> bool:
    """Whether a cell names a quantity that is known; in a corner, "N \\ D", that of the rows."""
    return isinstance(value, str) and not _is_number(value) and is_name(value.partition(" \\ ")[0])


def _names(rows: list[list[Any]], start: int) -> tuple[list[str], int]:
    """The names of columns, with those of groups above and of units below; and the first row of values."""
    names = [_text(value) for value in rows[start]]
    below = start + 1
    wide = below < len(rows) - 1 and _count(rows[below]) >= max(FEWEST_OF_A_TITLE, _count(rows[start]) / 2)
    if wide and not any(map(_is_number, rows[below])) and any(map(_is_number, rows[below + 1])):
        second = [plain_powers(_text(value)) for value in rows[below]]
        if all(_UNIT.fullmatch(text) for text in second if text):
            names = [
                f"{n} ({u.strip('()[]')})" if u not in ("", "-", "#") else n for n, u in zip(names, second)
            ]
            return names, below + 1
        if not any(map(_is_number, rows[start])):
            return _with_names_of_groups(names, second), below + 1
    above = [_text(value) for value in rows[start - 1]] if start else []
    groups = sum(map(bool, above)) >= FEWEST_OF_A_TITLE and not any(map(_is_number, above))
    grouped = _with_names_of_groups(above, names)
    return grouped if groups and not _is_title(above, names, grouped) else names, below


def _is_title(above: list[str], names: list[str], grouped: list[str]) -> bool:
    """Whether cells above names are those of a title with commas, "Scaling ladder, March", and no groups.

    They stand without gaps from the first column on, and change no name into that of another measurement.
    """
    gaps = not all(above[: sum(map(bool, above))])
    if gaps or len({*names} - {""}) < sum(map(bool, names)):
        return False
    pairs = ((quantity(name), quantity(each)) for name, each in zip(names, grouped) if name != each)
    return all(own and found and (own.kind, own.split) == (found.kind, found.split) for own, found in pairs)


def _with_names_of_groups(groups: list[str], names: list[str]) -> list[str]:
    """Names with those of their groups, where these say more, or where two columns have one name."""
    filled = _filled(groups)
    joined = [_joined(group, name) for group, name in zip(filled, names)]
    twice = {name for name, count in Counter(joined).items() if count > 1}
    return [f"{g}/{n}" if g and n and j in twice else j for g, n, j in zip(filled, names, joined)]


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def _filled(groups: list[str]) -> list[str]:
    """Fill the names of column groups, written at the first column only, to the right."""
    found, last = [], ""
    for group in groups:
        last = group or last
        found.append(last)
    return found


def _joined(group: str, name: str) -> str:
    """A name with that of its group, where the group says more: eval over loss, but not model over params."""
    if not name or not group:
        return name or group
    alone, both = quantity(name), quantity(f"{group}/{name}")
    if roles(name) and not (both and both.split and alone is not None and not alone.split):
        return name  # also "Tokens" below "Validation loss", in the corner
    return f"{group}/{name}"


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of numbers as such; texts stay as they are."""
    names = [name or f"Unnamed: {k}" for k, name in enumerate(frame.columns)]
    twice = {name for name, count in Counter(names).items() if count > 1}
    if twice:
        seen: Counter[str] = Counter()
        for k, name in enumerate(names):
            seen[name] += 1
            names[k] = f"{name}.{seen[name] - 1}" if name in twice and seen[name] > 1 else name
    frame = frame.set_axis(names, axis=1)
    found = {}
    for name in names:
        column = frame[name]
        read = pd.to_numeric(column, errors="coerce")
        found[name] = read if (read.notna() == column.notna()).all() else column.infer_objects()
    return pd.DataFrame(found)


def _without_numbers(frame: pd.DataFrame) -> pd.Series:
    """Whether each of the last rows is only text: a footnote that contains separators.

    Where each cell has a text and some recur it is a row of kinds, in a table of a column a run.
    """
    found = pd.Series(False, frame.index)
    most = min(LAST_ROWS, len(frame) // 2)
    first, last = frame.head(most), frame.tail(most)
    if most and all(any(map(_is_number, row)) for row in first.itertuples(index=False)):
        kinds = last.notna().all(axis=1) & (last.nunique(axis=1) < len(last.columns))
        texts = [not any(map(_is_number, row)) for row in last.itertuples(index=False)]
        words = list(np.array(texts) & ~kinds.to_numpy())
        ends = len(words) - next((k for k, word in enumerate(reversed(words)) if not word), len(words))
        found.loc[last.index[ends:]] = True
    return found


def _follows(rows: pd.DataFrame, summaries: pd.DataFrame) -> pd.Series:
    """Whether each summary has, in every column of numbers, a statistic of the rows."""
    numbers = rows.select_dtypes("number")
    if numbers.empty or len(rows) < 2:
        return pd.Series(False, summaries.index)
    each = [getattr(numbers, name)() for name in ("mean", "median", "sum", "min", "max", "std", "sem")]
    statistics = [*each, numbers.std(ddof=0)]
    close = [np.isclose(summaries[numbers.columns], s, rtol=SAME_STATISTIC).all(axis=1) for s in statistics]
    return pd.Series(np.any(close, axis=0), summaries.index)


def _summaries(frame: pd.DataFrame, texts: Sequence[int]) -> pd.Series:
    """Whether a row is a mean or a total: a word for it among numbers, or at the end where a number lacks."""
    found = pd.Series(False, frame.index)
    for k in texts:
        summary = frame.iloc[:, k].astype(str).str.fullmatch(_SUMMARY)
        if summary.any() and frame.iloc[:, k][~summary].map(_is_number).mean() > 0.5:  # seeds 0, 1, mean
            found |= summary
            continue
        last, named = frame.tail(LAST_ROWS), summary.tail(LAST_ROWS)
        if not named.any():
            continue
        rest = frame.drop(index=last.index[named])
        lacking = last[named].isna().any(axis=1) & rest.notna().all(axis=1).all()
        certain = named & last.iloc[:, k].astype(str).str.fullmatch(_MEAN)
        found.loc[last.index[certain]] = not rest.iloc[:, k].astype(str).str.fullmatch(_SUMMARY).any()
        found.loc[last.index[named]] |= lacking | _follows(rest, last[named])
    return found


def ends_in_a_summary(frame: pd.DataFrame) -> bool:
    """Whether one of the last rows is called a mean or a total."""
    last = frame.select_dtypes(exclude="number").tail(LAST_ROWS).astype(str)
    return any(last[c].str.fullmatch(_SUMMARY).any() for c in last)


def without_strays(frame: pd.DataFrame) -> pd.DataFrame:
    """Drop empty rows, repeated headers and lines of text; a line of text between rows starts a section.

    A single cell of text below the last row of numbers is a footnote. Between rows it names the rows that
    follow, and becomes a column `section`.
    """
    width = len(frame.columns)
    if width < 2 or not len(frame):
        return frame
    last = frame.iloc[:, -1]
    texts = [k for k in range(width) if not is_numeric(frame.iloc[:, k])]
    maybe = last.isna() | pd.Series(False, frame.index)
    for k in texts:
        maybe |= frame.iloc[:, k] == frame.columns[k]
    summaries, wordy = _summaries(frame, texts), _without_numbers(frame)
    maybe |= summaries | wordy
    if not maybe.any():
        return frame
    doubtful = frame[maybe]
    counts = doubtful.notna().sum(axis=1)
    repeated = pd.Series(True, doubtful.index)
    for name, column in doubtful.items():
        repeated &= column.isna() | (column.astype(str) == str(name))
    alone = (counts == 1) & ~repeated
    first = doubtful.bfill(axis=1).iloc[:, 0].where(alone)
    lines = wordy[maybe] & (counts > 0) | alone & first.map(
        lambda v: isinstance(v, str) and not _is_number(v)
    ).astype(bool)
    drop = doubtful.index[(counts == 0) | (repeated & (counts > 0)) | lines | summaries[maybe]]
    if not len(drop):
        return frame
    kept = frame.drop(index=drop)
    notes = list(frame.attrs.get(NOTES, ()))
    ends = kept.index[-1] if len(kept) else -1
    sections = first[lines & (doubtful.index < ends)]
    if len(sections):
        named = pd.Series(None, index=frame.index, dtype=object)
        named.loc[sections.index] = sections
        titles = [note.removeprefix("title: ") for note in notes if note.startswith("title: ")]
        if titles and kept.index[0] < sections.index[0]:  # the first section stands above the names
            named.iloc[0] = titles[-1].rpartition("; ")[2]
        kept = kept.assign(**{SECTION: named.ffill().reindex(kept.index)})
    if summaries.any():
        notes.append(f"left out: {counted(int(summaries.sum()), 'row')} of means or totals")
    if footnotes := int((lines & (doubtful.index > ends)).sum()):
        notes.append(f"left out below the table: {counted(footnotes, 'line')} of text")
    attrs = dict(frame.attrs)
    kept = kept.reset_index(drop=True)
    kept.attrs = attrs | ({NOTES: notes} if notes else {})
    return kept


def aligned(lines: list[str]) -> Iterator[list[list[str]]]:
    """Rows of cells, names first, for each way to split lines in which they may be a table.

    >>> next(aligned(["   params val loss", "0     1e6     3.12", "1     1e7     2.81"]))
    [['', 'params', 'val loss'], ['0', '1e6', '3.12'], ['1', '1e7', '2.81']]
    """
    lines = [line.rstrip("\n") for line in lines if not are_types(line.split())]
    for split in (_by_ends, _by_gaps, _by_place, _by_words):
        if found := _table(split(lines)):
            yield found


def _by_ends(lines: list[str]) -> list[list[str]]:
    """The cells of lines of one length, in which columns with their names end at the same places, as pandas'.

    >>> _by_ends(["  Labelled data val loss", "0        10 min      3.1", "1           1 h     2.92"])
    [['', 'Labelled data', 'val loss'], ['0', '10 min', '3.1'], ['1', '1 h', '2.92']]
    """
    lengths = Counter(map(len, lines))
    length = max(lengths, key=lambda k: lengths[k], default=0)
    block = [k for k, line in enumerate(lines) if len(line) == length]
    if len(block) < 3 or block[-1] - block[0] + 1 > len(block):
        return []
    letters = np.array([[letter != " " for letter in lines[k]] + [False] for k in block])
    ends: list[int] = (np.flatnonzero(letters[:, :-1].all(axis=0) & ~letters[:, 1:].any(axis=0)) + 1).tolist()
    whole = [e for e in ends if not any(_INSIDE.search(f"{lines[k][:e]}\0{lines[k][e:]}") for k in block)]
    parts = [slice(a, b) for a, b in zip([0, *whole], whole)]
    cells = [
        [line[part].strip() for part in parts] if k in block else [line.strip()]
        for k, line in enumerate(lines)
    ]
    if not whole:
        return []
    if all(
        cells[k][0].split()[:1] == [str(row - 1)] for row, k in enumerate(block) if row
    ):  # rows are numbered
        for row, k in enumerate(block):
            number_of, _, first = cells[k][0].partition(" ") if row else ("", "", cells[k][0])
            cells[k] = [number_of, first.strip(), *cells[k][1:]]
    texts = [text for k in block for text in cells[k]]
    plain = (re.sub(r"(?:±|\+/?-).*", "", text).split() for text in texts)
    several = any("  " in text for text in texts) or any(
        sum(number(w) is not None for w in ws) > 1 for ws in plain
    )
    return [] if several or any(text and number(text) is not None for text in cells[block[0]]) else cells


def _by_gaps(lines: list[str]) -> list[list[str]]:
    """The cells of lines with two spaces or a tab between them."""
    return [re.split(r"\s{2,}|\t", line.strip()) for line in lines]


def _by_words(lines: list[str]) -> list[list[str]]:
    """The words of lines; of more names than values, those together that are known so: "Val. loss".

    >>> _by_words(["Model Params (M) Val. loss", "XS 29 3.12", "S 76 2.95"])[0]
    ['Model', 'Params (M)', 'Val. loss']
    """
    cells = [line.split() for line in lines]
    of_numbers = [k for k, row in enumerate(cells) if any(map(_is_number, row))]
    widths = Counter(len(cells[k]) for k in of_numbers)
    usual = max(widths, key=lambda w: widths[w], default=0)
    first = next((k for k in of_numbers if len(cells[k]) == usual), 0) - 1
    if first >= 0 and usual < len(cells[first]) <= usual + MOST_JOINED:
        words = cells[first]
        ends = combinations(range(1, len(words)), usual - 1)
        ways = [[" ".join(words[a:b]) for a, b in pairwise((0, *e, len(words)))] for e in ends]
        known = [sum(map(names_quantity, way)) - sum(name[0] in "([" for name in way) for way in ways]
        if known.count(max(known)) == 1:
            cells[first] = ways[known.index(max(known))]
    return cells


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
    """Lines with the name of the index, which pandas prints alone below the names, among these.

    Of an index of several levels, what a row leaves out in front is that of the row above.
    """
    for k in (k for k in range(1, len(cells) - 1) if cells[k]):
        above, (index, *more), below = cells[k - 1 : k + 2]
        if more and len(below) == len(above) + len(more) + 1 and all(map(names_quantity, (index, *more))):
            rows = [below]
            for row in cells[k + 2 :]:
                lacks = len(below) - len(row)
                rows.append([*rows[-1][:lacks], *row] if 0 < lacks <= len(more) else row)
            split = all(len(text.split()) < 2 for row in rows for text in row)
            return [*cells[: k - 1], [index, *more, *above], *rows] if split else []
        if not more and 1 < len(above) in (len(below), len(below) - 1) and names_quantity(index):
            corner = f"{index} \\ {above[0]}" if len(above) == len(below) else index
            return [*cells[: k - 1], [corner, *above[len(above) - len(below) + 1 :]], *cells[k + 1 :]]
    return cells
