"""Faults planted into published studies, and the share of them that an audit finds.

- isoFLOP curves: the experiments of isoflops2026 that have three curves or more of eight sizes or more;
- searches: random halves of the runs of the Step Law's searches, of all of their sizes;
- scores: the tasks of the OLMo ladder, and one of each training set of Gadre and others.

Rows that an audit names at first are left out, of searches the whole search: what is left is clean by its own
measure. Into each, one fault at a time is planted, with a fixed seed. A fault is found where a doubt of its
kind names half of the planted rows; every other row that is named counts as false. The flags of isoflops2026
itself are not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scalinglab.answers.doubts import audit
from scalinglab.curves import Curves
from scalinglab.studies import Reproduction, Row, mean
from scalinglab_papers.field import figures, searches
from scalinglab_papers.field.scores import published as published_scores
from scalinglab_papers.field.tables import share, table

if TYPE_CHECKING:
    import pandas as pd

FOUND, FALSE = 0.8, 0.05  # of planted faults that should be found, and of other rows that may be named
SIZES, CURVES = 8, 3  # of a study into which faults are planted: sizes of a curve, and such curves
WORDS = 65_536  # of the vocabulary of a second count of parameters
ROUNDS = 3  # of leaving out what an audit names
ROWS = 4  # into which a fault of single rows is planted
HALVES = 8  # of the runs of the searches
TASK = "hellaswag"  # of the training sets of Gadre and others
OFF, SLOW, LEAP, OTHER = 1.2, 1.04, 0.15, 1.6  # factor on outlying losses, on those of one size; score; FLOPs


class Clean(NamedTuple):
    """A study into which faults are planted; its kind says which."""

    kind: str
    name: str
    rows: pd.DataFrame


def faults(scale: str) -> Reproduction:
    """Faults planted into published studies; "smoke": into three that were drawn from a law."""
    studies = [*drawn()] if scale == "smoke" else [*isoflops(), *searched(), *scored()]
    found = planted(studies)
    curves = Curves(studies[0].rows, source="read", experiment="field/audit")
    return Reproduction(curves, figures.faults(found), tuple(_rows(found)))


def _rows(found: pd.DataFrame) -> list[Row]:
    false = (found["false"] / found["rows"]).groupby(found["study"]).mean()  # searches have many rows
    what = f"{found['fault'].nunique()} kinds, {found['study'].nunique()} studies"
    rows = [
        share(found["found"]).row(
            "share of planted faults that are found", expected=FOUND, relation=">", note=what),
        mean(false.to_list()).row(
            "share of other rows that are named", expected=FALSE, relation="<", note="mean over studies"),
    ]  # fmt: skip
    for fault, own in found.groupby("fault"):
        rows.append(share(own["found"]).row(f"found: {fault}", expected=FOUND, relation=">"))
    return rows


def _cleaned(rows: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Remove the rows that an audit names, `ROUNDS` times; with `by`, all rows that share these columns."""
    for _ in range(ROUNDS):
        named = sorted({row for doubt in audit(rows).doubts for row in doubt.rows}) if len(rows) else []
        left = np.ones(len(rows), bool)
        left[named] = False
        if by:
            left = rows.assign(left=left).groupby(list(by))["left"].transform("all").to_numpy()
        rows = rows[left].reset_index(drop=True)
    return rows


def isoflops() -> Iterator[Clean]:
    """Clean studies of isoflops2026."""
    every = table("isoflops2026", "isoflops.csv")
    for name, rows in every.groupby("experiment"):
        own = rows[["budget", "params", "tokens", "loss"]].reset_index(drop=True)
        for clean in (False, True):
            own = _cleaned(own) if clean else own
            sizes = own.groupby("budget")["params"].nunique()
            own = own[own["budget"].isin(sizes[sizes >= SIZES].index)].reset_index(drop=True)
        if own["budget"].nunique() >= CURVES:
            yield Clean("isoflops", str(name), own)


def searched() -> Iterator[Clean]:
    """Random halves of the Step Law's runs."""
    every = searches.published()
    for seed in range(HALVES):
        half = every.sample(frac=0.5, random_state=seed).reset_index(drop=True)
        yield Clean("searches", f"half {seed}", _cleaned(half, by=("n_params", "n_data")))


def scored() -> Iterator[Clean]:
    """Tasks whose scores have left chance."""
    for study, task, rows, loss, score in published_scores():
        if study == "olmo" or task == TASK:
            own = rows.rename(columns={loss: "loss", score: "accuracy"})
            own = own[["n_params", "n_data", "loss", "accuracy"]].dropna().reset_index(drop=True)
            yield Clean("scores", f"{study} {task}", _cleaned(own))


def drawn() -> Iterator[Clean]:
    """Five computes of eleven sizes around N* ∝ C^0.5, with 0.1 % noise."""
    import pandas as pd

    for seed in range(3):
        rng, rows = np.random.default_rng(seed), []
        for compute in np.geomspace(1e18, 1e20, 5):
            best = 1e8 * (compute / 1e18) ** 0.5
            for size in best * np.geomspace(0.25, 4, 11):
                loss = 2 + (compute / 1e18) ** -0.1 * (1 + 0.05 * np.log(size / best) ** 2)
                rows.append((compute, size, compute / 6 / size, loss * np.exp(0.001 * rng.standard_normal())))
        made = pd.DataFrame(rows, columns=["budget", "params", "tokens", "loss"])
        yield Clean("isoflops", f"drawn {seed}", made)


def planted(studies: Sequence[Clean]) -> pd.DataFrame:
    """One row a study and fault: whether it was found, and the other rows that were named."""
    import pandas as pd

    rows = []
    for source, name, clean in studies:
        for place, (kind, plant) in enumerate(FAULTS[source].items()):
            rng = np.random.default_rng(place)
            made, wrong = plant(clean, rng)
            doubts = audit(made).doubts
            named = {row for doubt in doubts if doubt.kind == kind for row in doubt.rows}
            every = {row for doubt in doubts for row in doubt.rows}
            counted = kind == "counted_parameters" and any(d.kind == kind for d in doubts)
            seen = counted or 2 * len(named & wrong) >= max(len(wrong), 1)
            rows.append({
                "study": name, "fault": kind, "found": seen, "false": len(every - wrong),
                "rows": len(made) - len(wrong),
            })  # fmt: skip
    return pd.DataFrame(rows)


Planted = tuple["pd.DataFrame", set[int]]  # the table and the positions of the wrong rows
Plant = Callable[["pd.DataFrame", np.random.Generator], Planted]


def _picked(table: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    return np.sort(rng.choice(len(table), ROWS, replace=False))


def _duplicates(clean: pd.DataFrame, rng: np.random.Generator) -> Planted:
    import pandas as pd

    made = pd.concat([clean, clean.iloc[_picked(clean, rng)]], ignore_index=True)
    return made, {*range(len(clean), len(made))}


def _one_curve(clean: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Positions of one compute, by size."""
    compute = rng.choice(clean["budget"].unique())
    rows = np.flatnonzero(clean["budget"] == compute)
    return rows[np.argsort(clean["params"].to_numpy()[rows])]


def _without(clean: pd.DataFrame, rows: np.ndarray, kept: np.ndarray) -> Planted:
    left = np.setdiff1d(np.arange(len(clean)), np.setdiff1d(rows, kept))
    return clean.iloc[left].reset_index(drop=True), {*np.flatnonzero(np.isin(left, kept)).tolist()}


def _few_points(clean: pd.DataFrame, rng: np.random.Generator) -> Planted:
    rows = _one_curve(clean, rng)
    lowest = int(np.clip(np.argmin(clean["loss"].to_numpy()[rows]), 1, len(rows) - 3))
    return _without(clean, rows, rows[lowest - 1 : lowest + 3])


def _off_centre(clean: pd.DataFrame, rng: np.random.Generator) -> Planted:
    """One side of a curve, with the sizes that are nearest to its lowest loss left out."""
    rows = _one_curve(clean, rng)
    lowest = int(np.argmin(clean["loss"].to_numpy()[rows]))
    left, right = rows[: max(lowest, 0)], rows[lowest + 1 :]
    return _without(clean, rows, max(left, right, key=len))


def _scaled(column: str, factor: float) -> Plant:
    """Single rows in which a column is multiplied by a factor."""

    def plant(clean: pd.DataFrame, rng: np.random.Generator) -> Planted:
        rows = _picked(clean, rng)
        values = clean[column].to_numpy().copy()
        values[rows] *= factor
        return clean.assign(**{column: values}), {*rows.tolist()}

    return plant


def _labelled(column: str, usual: str, wrong: str) -> Plant:
    """A new column of words, another one in single rows."""

    def plant(clean: pd.DataFrame, rng: np.random.Generator) -> Planted:
        rows = _picked(clean, rng)
        words = np.full(len(clean), usual, dtype=object)
        words[rows] = wrong
        return clean.assign(**{column: words}), {*rows.tolist()}

    return plant


def _counted_parameters(clean: pd.DataFrame, rng: np.random.Generator) -> Planted:
    """A second count, with an embedding of 65 536 words: N = 12 depth width², width = 64 depth."""
    embedding = WORDS * (16 / 3 * clean["params"]) ** (1 / 3)
    return clean.assign(params_with_embeddings=clean["params"] + embedding), set()


def _edge_of_grid(clean: pd.DataFrame, rng: np.random.Generator) -> Planted:
    """One search without the rates above its best."""
    cells = clean.groupby(["n_params", "n_data"]).indices
    rows = cells[[*cells][rng.integers(len(cells))]]
    loss, rate = (clean[c].to_numpy()[rows] for c in ("loss", "learning_rate"))
    best = rows[np.argmin(loss)]
    gone = rows[rate > rate[np.argmin(loss)]]
    return clean.drop(index=gone).reset_index(drop=True), {int(best - np.sum(gone < best))}


def _undertuned(clean: pd.DataFrame, rng: np.random.Generator) -> Planted:
    rows = np.flatnonzero(clean["n_params"] == rng.choice(clean["n_params"].unique()))
    loss = clean["loss"].to_numpy().copy()
    loss[rows] *= SLOW
    return clean.assign(loss=loss), {*rows.tolist()}


def _contaminated(clean: pd.DataFrame, rng: np.random.Generator) -> Planted:
    """One run that scores higher than its loss allows."""
    row = int(rng.integers(len(clean)))
    score = clean["accuracy"].to_numpy().copy()
    score[row] = min(score[row] + LEAP, 1.0)
    return clean.assign(accuracy=score), {row}


FAULTS: dict[str, dict[str, Plant]] = {
    "isoflops": {
        "duplicates": _duplicates, "few_points": _few_points, "off_centre": _off_centre,
        "outlying": _scaled("loss", OFF), "other_flops": _scaled("tokens", OTHER),
        "counted_parameters": _counted_parameters,
        "mixed_schedules": _labelled("schedule", "cosine", "constant"),
        "unfinished": _labelled("status", "finished", "crashed"),
    },
    "searches": {"edge_of_grid": _edge_of_grid, "undertuned": _undertuned},
    "scores": {"contaminated": _contaminated},
}  # fmt: skip
