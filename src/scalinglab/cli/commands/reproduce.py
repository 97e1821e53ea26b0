"""``scalinglab reproduce``: reproduce a figure or table of a paper, list them, or check their records."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from scalinglab.cli.options import ARGUMENT
from scalinglab.cli.output import Output, resumable, say
from scalinglab.cli.registry import command
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    from scalinglab.studies import Entry

FIELDS = (
    "key",
    "claim",
    "scales",
    "built",
    "measured",
    "judged_in",
    "laptop_minutes",
    "gpu_hours",
)  # of the list


@command("reproduce")
def reproduce(
    key: Annotated[str, ARGUMENT] = "list",
    scale: str | None = None,
    results: Path = Path("results"),
    store: Path | None = None,
    only: list[str] | None = None,
    minutes: float | None = None,
    missing: bool = False,
    paper: str | None = None,
    write: bool = False,
) -> Output:
    """Reproduce a figure or table of a paper, with the paper's number beside the measured one.

    scalinglab reproduce list --missing

    scalinglab reproduce demo/digits --scale smoke

    scalinglab reproduce demo --scale laptop --results results/

    scalinglab reproduce demo --scale laptop --store runs/ --only digits --minutes 20

    scalinglab reproduce check --paper demo

    scalinglab reproduce claims --paper demo

    A paper with a scale reproduces all its entries that are built at that scale, and continues where it was
    interrupted; entries that cannot run here are named, with exit status 1. Without a scale it lists them.

    'scalinglab reproduce check' reproduces every entry at scale smoke and compares it with its record.
    'scalinglab reproduce claims' prints every claim of the papers with the verdict that the records give.

    Args:
        key: 'list', 'check', 'claims', a paper, or the key of an entry, e.g. demo/digits.
        scale: size of the computation: smoke, laptop, gpu or paper. Default for a key: laptop.
        results: folder for figures, curves and tables, e.g. results/.
        store: of entries that train: the store of runs to read and continue, or a table of curves to read.
            Default: runs/ in the folder of results.
        only: train only this part of a study, by its name. Repeatable.
        minutes: start no other part of a study after this time, e.g. 20; with 'check' only the quickest
            entries of each paper that fit into it.
        missing: list only what has not been measured: entries without a record.
        paper: check, or judge, only this paper.
        write: replace the stored records by the new values.
    """
    from scalinglab import studies

    if key == "check":
        return _check(paper, write, minutes)
    if key == "claims" and not write:
        return _claims(paper)
    if paper is not None or write:
        raise BadInput("--paper and --write go with 'scalinglab reproduce check', --paper with 'claims' too")
    training = {"results": results, "store": store, "only": tuple(only or ()), "minutes": minutes}
    known = [entry for entry in studies.entries().values() if key.rstrip("/") in ("list", entry.paper)]
    if known and scale is None:
        return _list(known, missing)
    if known:
        return _reproduce_all(key.rstrip("/"), known, str(scale), training)
    if missing:
        raise BadInput("--missing goes with 'scalinglab reproduce list' or a paper")
    return _reproduce_one(key, scale or "laptop", training)


def _reproduce_one(key: str, scale: str, training: dict[str, Any]) -> Output:
    import pandas as pd

    from scalinglab import studies
    from scalinglab.studies.results import COLUMNS, cells

    with resumable():
        made = studies.reproduce(key, scale, **training)
    table = pd.DataFrame([cells(row) for row in made.table], columns=list(COLUMNS))
    document = {"key": key, "scale": scale, "folder": str(training["results"] / key / scale)}
    return Output({**document, "table": [row.record() for row in made.table]}, table)


def _reproduce_all(paper: str, known: list[Entry], scale: str, training: dict[str, Any]) -> Output:
    """Every entry of a paper that is built at a scale, one after another."""
    import pandas as pd

    from scalinglab import studies
    from scalinglab.studies.results import COLUMNS, cells

    if paper == "list":
        raise BadInput("--scale goes with a paper or a key; 'scalinglab reproduce list' lists all")
    if scale not in studies.SCALES:
        raise BadInput(f"no scale {scale!r}; choose from: {', '.join(studies.SCALES)}")
    chosen = [entry for entry in known if entry.built and scale in entry.scales]
    if not chosen:
        raise BadInput(f"no entry of {paper} that is built runs at scale {scale!r}")
    lines, tables, left_out = [], {}, {}
    for place, entry in enumerate(chosen, start=1):
        print(f"{place}/{len(chosen)} {entry.key}", file=sys.stderr)
        try:
            with resumable():
                made = studies.reproduce(entry.key, scale, **training)
        except BadInput as error:  # what one entry lacks here, such as a GPU, others may not need
            left_out[entry.key] = str(error)
            print(f"    left out: {error}", file=sys.stderr)
            continue
        lines += [(entry.key, *cells(row)) for row in made.table]
        tables[entry.key] = [row.record() for row in made.table]
    document = {"paper": paper, "scale": scale, "tables": tables, "left_out": left_out}
    return Output(document, pd.DataFrame(lines, columns=["key", *COLUMNS]), status=1 if left_out else 0)


def _list(known: list[Entry], missing: bool) -> Output:
    """One block a paper: the largest scale, the time of scale laptop, and the claim in full."""
    import pandas as pd

    from scalinglab.studies.claims import records

    measured = {key for paper in {entry.paper for entry in known} for key in records(paper)}
    listed = [entry for entry in known if not (missing and entry.key in measured)]
    lines = []
    for paper, group in groupby(listed, key=lambda entry: entry.paper):
        lines += [paper, *(_line(entry, entry.key in measured) for entry in group), ""]
    built, done = (sum(map(test, known)) for test in (lambda e: e.built, lambda e: e.key in measured))
    counts = f"{done} of {len(known)} measured, {len(known) - done} without a record; {built} built"
    if not measured:  # an installed package comes without the records
        counts = f"{built} of {len(known)} built; there are no records here"
    lines += [
        f"{counts}; laptop: time on two cores",
        "scalinglab reproduce KEY --scale smoke|laptop|gpu|paper",
    ]
    rows = [
        [entry.key in measured if name == "measured" else getattr(entry, name) for name in FIELDS]
        for entry in listed
    ]
    table = pd.DataFrame(rows, columns=list(FIELDS)).astype(dict.fromkeys(FIELDS[-3:], object))
    return Output({"entries": table.to_dict("records")}, table, "\n".join(lines))


def _line(entry: Entry, measured: bool) -> str:
    claim = entry.claim + (f" (judged in {entry.judged_in})" if entry.judged_in else "")
    claim += "" if measured or not entry.built else " (not measured)"
    minutes, taken = entry.laptop_minutes, ""
    if not entry.built:
        taken = "not built"
    elif minutes is not None:
        taken = f"{max(1, round(60 * minutes))} s" if minutes < 1 else f"{minutes:.0f} min"
    return f"  {entry.key:30}  up to {entry.scales[-1]:6}  laptop {taken:9}  {claim}"


def _claims(paper: str | None) -> Output:
    """Every claim with its verdict, and what each verdict is reached by."""
    import pandas as pd

    from scalinglab.studies.claims import OUTCOMES, judged
    from scalinglab.studies.registry import papers

    known = papers()
    if paper is not None and paper not in known:
        raise BadInput(f"no paper {paper!r}; choose from: {', '.join(known)}")
    rows, lines = [], []
    for name in known if paper is None else [paper]:
        found = judged(name)
        for one in found:
            keys = ", ".join(key.partition("/")[2] for key in one.claim.entries)
            counts = (len(one.rows), one.holding, one.failing)
            rows.append((name, keys, one.claim.says, one.verdict, one.claim.rule, *counts, one.cause))
            lines += [f"{one.verdict:12}  {name}/{keys}: {one.claim.says}"]
            shares = f"{one.holding} of {counts[0]} rows hold, {one.failing} fail"
            lines += [f"{'':14}{shares} (rule: {one.claim.rule})"]
            lines += [f"{'':14}{one.cause}"] if one.cause else []
        verdicts = [one.verdict for one in found]
        printed = ", ".join(f"{verdicts.count(outcome)} {outcome}" for outcome in OUTCOMES)
        lines += [f"{name}: {len(found)} claims: {printed}", ""]
    columns = ["paper", "entries", "claim", "verdict", "rule", "rows", "holding", "failing", "cause"]
    table = pd.DataFrame(rows, columns=columns)
    return Output({"claims": table.to_dict("records")}, table, "\n".join(lines))


def _check(paper: str | None, write: bool, minutes: float | None) -> Output:
    """Every smoke record, compared as soon as it is reproduced; exit status 1 where one differs."""
    import pandas as pd

    from scalinglab import studies

    rows, differ = [], []
    for one in studies.check(paper, write, minutes=minutes):
        state = "written" if write else "differs" if one.differences else "matches"
        say(f"{one.key:34} {one.rows:3} rows {one.seconds:6.1f} s  {state}")
        for difference in one.differences:
            say(f"    {difference}")
        differ += [one.key] if one.differences else []
        rows.append((one.key, one.rows, one.seconds, "; ".join(one.differences)))
    table = pd.DataFrame(rows, columns=["key", "rows", "seconds", "differences"])
    text = f"{len(rows)} records {'written' if write else 'checked'}, {len(differ)} differ"
    document = {"entries": table.to_dict("records"), "differ": differ}
    return Output(document, table, text, status=1 if differ else 0)
