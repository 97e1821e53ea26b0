"""From a table to a law, a prediction or an answer: `fit`, `predict` and `answer`.

All three read the table, choose its columns and rows and fit it in the same way (`fitted`). `answer` says
what ten times as much gives, which model is compute-optimal, which run to make next and whether it is worth
it, the exponent and its interval, and whether the curve is a power law at all. Each answer is a `Finding`:
values with intervals, or the reason why there are none, and the command that shows more.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scalinglab import readers
from scalinglab.answers.curve import answer_curve
from scalinglab.answers.fitted import PAIR, SIZES, Fit, Prediction, choose
from scalinglab.answers.result import Answers, in_words
from scalinglab.answers.surface import answer_sizes, answer_surface
from scalinglab.curves import Curves
from scalinglab.curves.names import aliases
from scalinglab.errors import MixedRows, ScalinglabError
from scalinglab.laws.fitting.data.points import positive
from scalinglab.results.findings import Finding
from scalinglab.results.types import SOME_TABLE, Command, Reason, Status, reason_of
from scalinglab.support.validation import checked

__all__ = ["SIZES", "Answers", "Fit", "Prediction", "answer", "fit", "predict"]


@checked
def fit(
    table: Any, x: str | Sequence[str] | None = None, y: str | None = None, form: str = "auto", *,
    settings: Iterable[str] = (), **columns: str,
) -> Fit:  # fmt: skip
    """Fit a law to a table of runs.

    Args:
        table: a `Curves`, a DataFrame, or the path of a table, a store or a folder of logs.
        x: the column of sizes, or several; by default n_params and n_data together where both vary.
        y: the column that was measured; by default the test error, test loss or accuracy that the table has.
        form: the name of a form (`scalinglab laws forms` lists them), or "auto", as in `answer`.
        settings, columns: as in `scalinglab.read`.

    >>> import numpy as np
    >>> n = np.geomspace(1e3, 1e6, 10)
    >>> law = fit({"n_data": n, "test_error": 0.05 + 3 * n**-0.4})
    >>> round(law.parameters["exponent"], 6)
    0.4
    """
    return choose(_read(table, x, y, settings, columns), x, y, form).fit(form)


@checked
def predict(
    table: Any, at: Any, x: str | Sequence[str] | None = None, y: str | None = None, form: str = "auto", *,
    level: float = 0.95, settings: Iterable[str] = (), **columns: str,
) -> Prediction:  # fmt: skip
    """What further runs would give: fit a law to a table and predict at other sizes.

    Args:
        at: sizes by name, ``{"n_params": 7e9, "n_data": 6e10}``: numbers or arrays; a DataFrame with these
            columns, or the path of a table with them; where one size varies also a number or an array.
        level: of the interval.
        table, x, y, form, settings, columns: as in `fit`.

    >>> import numpy as np
    >>> n = np.geomspace(1e3, 1e6, 10)
    >>> found = predict({"n_data": n, "test_error": 0.05 + 3 * n**-0.4}, at={"n_data": 4e6})
    >>> bool(found.low <= 0.05686 <= found.high)
    True
    """
    curves = _read(table, x, y, settings, columns)
    fitted = choose(curves, x, y, form).fit(form)
    return fitted.predict(sizes_from(at, fitted.x, curves), level=level)


def sizes_from(at: Any, names: Sequence[str], curves: Curves) -> Any:
    """Sizes of a prediction by the names that columns have here.

    Args:
        at: as in `predict`.
        names: the columns that are needed.
        curves: the table, whose names of columns `at` may use.
    """
    if isinstance(at, Mapping):
        here = {name: curves.resolve(name) for name in at}
        other = aliases(name for name in at if here[name] not in curves.frame)
        here |= {theirs: ours for ours, found in other.items() for theirs in found}
        return {here[name]: value for name, value in at.items()}
    is_path = isinstance(at, (str, os.PathLike))
    if is_path or (hasattr(at, "columns") and not {*names} <= {*at.columns}):
        return readers.read_table(at).frame
    return at


@checked
def answer(
    table: Any, compute: float | None = None, *, x: str | Sequence[str] | None = None, y: str | None = None,
    settings: Iterable[str] = (), **columns: str,
) -> Answers:  # fmt: skip
    """What a table of runs shows.

    Args:
        compute: FLOPs at which the compute-optimal model is wanted; ten times the largest run by default.
        x: the column of sizes, or several; by default those that vary. Sizes that are not n_params and n_data
            are grown one by one.
        table, y, settings, columns: as in `fit`.

    >>> import numpy as np, pandas as pd
    >>> n = np.geomspace(1e3, 1e5, 6)
    >>> error = (0.05 + 3 * n**-0.4) * [1.01, 0.99, 1.0, 1.01, 0.99, 1.0]
    >>> found = answer(pd.DataFrame({"n_data": n, "test_error": error}))
    >>> beyond = found["ten times"].values["test_error"]
    >>> beyond.low < beyond.value < beyond.high
    True
    """
    curves = _read(table, x, y, settings, columns)
    positive(compute=1 if compute is None else compute)
    path = (os.fspath(table),) if isinstance(table, (str, os.PathLike)) else SOME_TABLE
    options = (word for ours, theirs in columns.items() for word in ("--column", f"{ours}={theirs}"))
    try:
        found = _of_one_kind(curves, compute, x, y)
    except MixedRows as mixed:
        found = _of_each_kind(curves, mixed, compute, x, y)
    found = replace(found, table=(*path, *options))
    if curves is table:
        return found
    return replace(found, notes=(Reason("read", text=curves.understood), *found.notes))


def _of_one_kind(
    curves: Curves, compute: float | None, x: str | Sequence[str] | None, y: str | None
) -> Answers:
    chosen = choose(curves, x, y)
    if chosen.is_surface and chosen.x != PAIR:
        found = answer_sizes(chosen)
    else:
        found = answer_surface(chosen, compute) if chosen.is_surface else answer_curve(chosen)
    return replace(found, findings=in_words(found.findings, chosen))


MOST_KINDS = 12  # convention: kinds of rows that are answered one by one
OF_A_KIND = ("exponent", "ten times", "compute-optimal")  # questions that are answered for each kind


def _of_each_kind(
    curves: Curves, mixed: MixedRows, compute: float | None, x: str | Sequence[str] | None, y: str | None
) -> Answers:
    """The answers for every kind of rows by itself; where there are none, `mixed` is raised."""
    if len(mixed.kinds) > MOST_KINDS or None in mixed.kinds:
        raise mixed
    findings: list[Finding] = []
    columns = {mixed.theirs: None}
    parts: dict[str, Answers] = {}
    fitted_columns = "", ""
    for kind in mixed.kinds:
        name = kind if isinstance(kind, str) else f"{mixed.theirs} = {kind:.6g}"
        more = ("--where", f"{mixed.theirs}={kind}")
        rows = curves.select(**{mixed.column: kind})
        try:
            found = _of_one_kind(rows, compute, x, y)
        except MixedRows as again:
            found = _of_each_kind(rows, again, compute, x, y)
        except ScalinglabError as error:
            refused = Finding("ten times", Status.REFUSED, reasons=(reason_of(error),))
            found = Answers((refused,), *fitted_columns)
        for note in found.notes if found.kinds else ():
            columns |= dict.fromkeys(note.details["columns"] if note.code == "answered_by_kind" else ())
        if any(finding.values for finding in found.findings):
            fitted_columns = found.x, found.y
        for within, part in (found.kinds or {"": found}).items():
            parts[f"{name}, {within}" if within else name] = part
        for one in found.findings:  # what a kind gives, or why it gives nothing
            if found.kinds or (one.values and one.question in OF_A_KIND) or one in found.card[:1]:
                inner = one.facts.get("kind")
                whose = f"{name}, {inner}" if inner else name
                command = Command("answer", *more, *(one.command.options if inner and one.command else ()))
                findings.append(replace(one, facts={**one.facts, "kind": whose}, command=command))
    if not any(finding.values for finding in findings):
        raise mixed
    notes = (Reason("answered_by_kind", columns=tuple(columns)), *_notes_of_kinds(parts))
    return Answers(tuple(findings), *fitted_columns, notes=notes, kinds=parts)


def _notes_of_kinds(parts: Mapping[str, Answers]) -> Iterator[Reason]:
    """The notes of several kinds, each once; one that is not of all kinds names those that it is of."""
    found: dict[tuple[str, str], tuple[Reason, list[str]]] = {}
    for name, part in parts.items():
        for note in part.notes:
            found.setdefault((note.code, str(note)), (note, []))[1].append(name)
    for note, names in found.values():
        yield note if len(names) == len(parts) else Reason(note.code, **note.details, of_kinds=tuple(names))


def _read(
    table: Any, x: str | Sequence[str] | None, y: str | None, settings: Iterable[str],
    columns: Mapping[str, str],
) -> Curves:  # fmt: skip
    names = [] if x is None or isinstance(table, Curves) else [x] if isinstance(x, str) else [*x]
    return readers.read(table, settings=[*settings, *names], **columns)
