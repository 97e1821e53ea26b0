"""What would make a reviewer doubt a study, found in its table: `audit`.

Each `Doubt` has the rows, what they change in the answer and how to mend it. Of isoFLOP studies, where
several sizes share a compute C, the loss of each curve is a parabola in ln N (Hoffmann et al. 2022, approach
2); the answer is the exponent a of the best size, N* ∝ C^a, by a line through the minima, with and without
the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from scalinglab import readers
from scalinglab.curves import Curves
from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE, is_seed
from scalinglab.errors import BadInput
from scalinglab.laws import scores
from scalinglab.laws.fitting.data.rows import DIGITS_OF_COPIES
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.types import Reason
from scalinglab.support.validation import checked
from scalinglab.support.words import counted

KINDS = (
    "experiment",
    "source",
    "dataset",
    "model",
    "condition",
    "train_set",
)  # columns that tell studies apart
BUDGETS = ("budget", "flops_budget", "compute_budget", "compute", "flops", "c")
SAME_COMPUTE = 0.02  # chosen: computes that differ by less are one curve of an isoFLOP study
FEWEST = 5  # chosen: sizes of an isoFLOP curve; a parabola has three parameters, and two show that it is one
CENTRE = (0.1, 0.9)  # chosen: where a minimum lies inside the sizes, as a share of the range of ln N
OUTLYING = 5.0  # chosen: robust standard deviations off a parabola
OTHER_FLOPS = 0.1  # chosen: relative to 6 N D; less is rounding of budgets and how attention is counted
NEIGHBOURS = 9  # chosen: runs of the sizes around one that few share, for their usual FLOPs
DIFFERENT_EXPONENT = 0.03  # chosen: of the best size, from which on two counts of parameters disagree
CONTAMINATED = 4.5  # chosen: standard deviations of a score above what its loss gives
UNFINISHED = 0.98  # chosen: of the planned steps
ENDED_BADLY = ("running", "crashed", "failed", "killed", "preempted", "unfinished", "diverged")


@dataclass(frozen=True)
class Doubt:
    """Something that would make a reviewer doubt a study.

    Attributes:
        kind: its code, as "duplicates".
        rows: the positions of the rows in the table, from 0.
        what: what was found, with its numbers.
        before, after: the exponent of the best size with these rows and without; NaN where there is none.
    """

    kind: str
    rows: tuple[int, ...]
    what: Reason
    before: float = float("nan")
    after: float = float("nan")

    @property
    def mend(self) -> Reason:
        """How to mend it."""
        return Reason(f"mend_{self.kind}")

    def summary(self) -> str:
        """What was found, what it changes and how to mend it."""
        lines = [f"{self.what}"]
        if np.isfinite(self.before) and np.isfinite(self.after):
            lines.append(
                f"  changes: the exponent of the best size is {self.before:.3f}, and {self.after:.3f} without"
            )
        lines.append(f"  mend: {self.mend}")
        shown = ", ".join(map(str, self.rows[:12])) + (
            f" … ({len(self.rows)} rows)" if len(self.rows) > 12 else ""
        )
        return "\n".join([*lines, *([f"  rows: {shown}"] if self.rows else [])])

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        ends = {"before": self.before, "after": self.after}
        return {
            "kind": self.kind, "rows": list(self.rows), "what": self.what.to_dict(),
            "mend": self.mend.to_dict(),
            "exponent": {name: value if np.isfinite(value) else None for name, value in ends.items()},
        }  # fmt: skip


@dataclass(frozen=True)
class Audit(NotebookResult):
    """What was found in a table; made by `audit`.

    Attributes:
        doubts: in the order of the checks.
        checked: the names of the checks that the columns allowed.
        n_rows: of the table.
    """

    doubts: tuple[Doubt, ...]
    checked: tuple[str, ...]
    n_rows: int

    @property
    def rows(self) -> tuple[int, ...]:
        """All rows that are named by a doubt."""
        return tuple(sorted({row for doubt in self.doubts for row in doubt.rows}))

    def summary(self) -> str:
        """Every doubt in lines."""
        found = f"{counted(len(self.doubts), 'doubt')} on {len(self.rows)} of {self.n_rows} rows"
        head = f"{found}; checked: {', '.join(self.checked)}"
        return "\n".join([head, *(doubt.summary() for doubt in self.doubts)])

    def notebook_table(self) -> pd.DataFrame:
        """One row a doubt."""
        return pd.DataFrame(
            [(d.kind, len(d.rows), str(d.what), d.before, d.after, str(d.mend)) for d in self.doubts],
            columns=["kind", "rows", "what", "exponent", "exponent_without", "mend"],
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "doubts": [d.to_dict() for d in self.doubts], "checked": list(self.checked),
            "rows": list(self.rows), "n_rows": self.n_rows,
        }  # fmt: skip


@dataclass(frozen=True)
class Parabola:
    """One isoFLOP curve: ln loss against ln N, by a robust parabola.

    Attributes:
        compute: its FLOPs.
        rows: positions in the table.
        log_size, off: (runs,) ln N, and ln loss minus the parabola.
        curvature: of ln loss in ln N.
        best: ln N of the vertex.
        lowest: how many sizes are smaller than that of the lowest loss.
    """

    compute: float
    rows: np.ndarray
    log_size: np.ndarray
    off: np.ndarray
    curvature: float
    best: float
    lowest: int

    @property
    def place(self) -> float:
        """Where the vertex lies in the range of sizes: 0 at the smallest, 1 at the largest."""
        return float((self.best - self.log_size.min()) / max(np.ptp(self.log_size), 1e-12))

    @property
    def has_minimum(self) -> bool:
        """Whether it opens upwards with its vertex inside the sizes."""
        return bool(self.curvature > 0 and CENTRE[0] <= self.place <= CENTRE[1])

    @property
    def lowest_at_an_end(self) -> bool:
        """Whether the lowest loss is that of one of the two smallest or largest sizes."""
        return bool(self.lowest < 2 or self.lowest >= len(self.off) - 2)

    @property
    def scatter(self) -> float:
        """Robust standard deviation of the residuals, less the three that the parabola passes through."""
        return float(1.4826 * np.median(np.sort(np.abs(self.off))[3:])) if len(self.off) > 3 else 0.0


def parabola(compute: float, rows: np.ndarray, size: np.ndarray, loss: np.ndarray) -> Parabola:
    """The parabola of least absolute deviations, by reweighting; of fewer than four points the exact one."""
    x, y = np.log(size), np.log(loss)
    middle = x.mean()
    design = np.vander(x - middle, 3)
    weight = np.ones(len(x))
    for _ in range(50 if len(x) > 3 else 1):
        root = np.sqrt(weight)
        found = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0]
        off = y - design @ found
        weight = 1 / np.maximum(np.abs(off), 1e-4)
    best = middle - found[1] / (2 * found[0]) if found[0] != 0 else np.nan
    lowest = int(np.sum(x < x[np.argmin(y)]))
    return Parabola(compute, rows, x, off, float(found[0]), float(best), lowest)


def best_size_exponent(curves: Sequence[Parabola]) -> float:
    """The exponent a of N* ∝ C^a by a line through the minima; NaN of fewer than three."""
    inside = [c for c in curves if c.has_minimum]
    if len(inside) < 3:
        return float("nan")
    return float(stats.linregress([np.log(c.compute) for c in inside], [c.best for c in inside]).slope)


@dataclass(frozen=True, eq=False)
class Study:
    """The rows of one study, under the names of what they mean; None where a column is not there."""

    name: str
    frame: pd.DataFrame
    loss: str | None
    size: str | None
    data: str | None
    budget: str | None

    @property
    def label(self) -> str:
        """The name before a sentence; nothing where the table is one study."""
        return f"{self.name}: " if self.name else ""

    def positions(self, mask: Any) -> tuple[int, ...]:
        """The rows of the table that a mask of this study's rows chooses."""
        return tuple(int(v) for v in self.frame["__row"].to_numpy()[np.asarray(mask, bool)])

    def parabolas(self, size: str | None = None, without: Sequence[int] = ()) -> list[Parabola]:
        """The isoFLOP curves, each of three sizes or more; none where no compute is shared.

        Args:
            size: another column of the number of parameters.
            without: rows that are left out.
        """
        size = size or self.size
        if None in (self.budget, self.loss, size):
            return []
        kept = self.frame[~self.frame["__row"].isin(list(without))].dropna(
            subset=[self.budget, self.loss, size]
        )
        kept = kept[(kept[self.budget] > 0) & (kept[self.loss] > 0) & (kept[size] > 0)]
        if kept.empty:
            return []
        order = np.sort(kept[self.budget].unique())
        groups = np.cumsum(np.r_[0, np.diff(np.log(order)) > SAME_COMPUTE])
        label = kept[self.budget].map(dict(zip(order, groups, strict=True)))
        found = []
        for _, rows in kept.groupby(label):
            if rows[size].nunique() >= 3:
                values = (rows[c].to_numpy(float) for c in (size, self.loss))
                found.append(parabola(float(rows[self.budget].median()), rows["__row"].to_numpy(), *values))
        shared = sum(len(c.rows) for c in found)
        return found if len(found) >= 2 and shared >= 0.5 * len(kept) else []

    def doubt(self, kind: str, rows: Sequence[int], **details: Any) -> Doubt:
        """A doubt with what its rows change in the exponent of the best size."""
        before = best_size_exponent(self.parabolas())
        after = (
            best_size_exponent(self.parabolas(without=rows)) if rows and np.isfinite(before) else float("nan")
        )
        return Doubt(
            kind, tuple(sorted(rows)), Reason(f"audit_{kind}", study=self.label, **details), before, after
        )


# --- the checks: each gives doubts of one study -----------------------------------------------------------


def duplicates(study: Study) -> Iterator[Doubt]:
    """Rows that repeat others in every setting and, to five digits, in the loss."""
    if study.loss is None or study.size is None:
        return
    named = [c for c in (study.size, study.data, study.budget) if c]
    compared = {*named, study.loss, "__row", "run"}
    others = [c for c in study.frame if c not in compared and not is_seed(c)]
    if len(named) < 2:
        return
    rounded = study.frame[[*named, study.loss]].map(lambda v: f"{v:.{DIGITS_OF_COPIES}g}")
    copies = rounded.assign(**{c: study.frame[c].astype(str) for c in others}).duplicated(keep="first")
    if copies.any():
        yield study.doubt("duplicates", study.positions(copies), count=int(copies.sum()))


def few_points(study: Study) -> Iterator[Doubt]:
    """IsoFLOP curves of too few sizes to show a minimum."""
    curves = study.parabolas()
    if not curves:
        return
    known = study.frame.dropna(subset=[study.budget, study.size])
    counts = known.groupby(study.budget)[study.size].transform("nunique")
    few = {int(r) for r in known["__row"][counts < FEWEST]}
    few -= {int(r) for c in curves if len(np.unique(c.log_size)) >= FEWEST for r in c.rows}
    if few:
        computes = known[known["__row"].isin(few)][study.budget].nunique()
        yield study.doubt("few_points", sorted(few), curves=int(computes), needed=FEWEST)


def off_centre(study: Study) -> Iterator[Doubt]:
    """IsoFLOP curves whose minimum is not among their sizes."""
    for curve in study.parabolas():
        if len(np.unique(curve.log_size)) < FEWEST or curve.has_minimum:
            continue
        if curve.lowest_at_an_end:
            side = "small" if curve.lowest < 2 else "large"
            rows = [int(r) for r in curve.rows]
            yield study.doubt("off_centre", rows, compute=curve.compute, side=side)


def outlying(study: Study) -> Iterator[Doubt]:
    """Runs far off the parabola of their compute, by the scatter of the study: one curve has few runs."""
    curves = [c for c in study.parabolas() if len(c.rows) > FEWEST]
    if not curves:
        return
    usual = float(np.median([c.scatter for c in curves]))
    rows = [
        int(row)
        for c in curves
        for row, off in zip(c.rows, c.off, strict=True)
        if abs(off) > OUTLYING * max(usual, min(c.scatter, 2 * usual), 1e-4)
    ]
    if rows:
        yield study.doubt("outlying", rows, count=len(rows), scatter=usual)


def other_flops(study: Study) -> Iterator[Doubt]:
    """A compute that is not 6 N D; rows where it is not what other runs of that size, or near it, have."""
    if study.size is None or study.data is None or study.budget is None:
        return
    frame = study.frame
    ratio = FLOPS_PER_PARAM_EXAMPLE * frame[study.size] * frame[study.data] / frame[study.budget]
    if not ((ratio - 1).abs() > OTHER_FLOPS).any():
        return
    same = ratio.groupby(frame[study.size])
    order = frame[study.size].sort_values(kind="stable").index
    near = ratio[order].rolling(NEIGHBOURS, center=True, min_periods=1).median()[frame.index]
    usual = same.transform("median").where(same.transform("count") >= 3, near)
    outlying = (ratio / usual - 1).abs() > OTHER_FLOPS
    low, high = float(ratio.min()), float(ratio.max())
    yield study.doubt("other_flops", study.positions(outlying), low=low, high=high)


def counted_parameters(study: Study) -> Iterator[Doubt]:
    """Columns that count parameters with and without embeddings, and give different exponents."""
    numbers = study.frame.select_dtypes("number")
    varied = [c for c in numbers if numbers[c].nunique() > 2 and numbers[c].min() > 0]
    columns = [c for c in varied if re.search(r"param|^n$", str(c), re.IGNORECASE)]
    counts = {str(c): study.frame[c] for c in columns}
    for body in [c for c in counts if re.search(r"transformer|no_?embed|non_?embed", c)]:
        for head in [c for c in counts if re.search(r"head", c)]:
            counts[f"{body} + {head}"] = counts[body] + counts[head]
    found: dict[str, float] = {}
    for name, values in counts.items():
        other = Study(
            study.name, study.frame.assign(__size=values), study.loss, "__size", study.data, study.budget
        )
        found[name] = best_size_exponent(other.parabolas())
    found = {name: round(value, 2) for name, value in found.items() if np.isfinite(value)}
    if len(found) > 1 and max(found.values()) - min(found.values()) > DIFFERENT_EXPONENT:
        printed = tuple(f"{name}: {value:g}" for name, value in found.items())
        what = Reason("audit_counted_parameters", study=study.label, exponents=printed)
        yield Doubt("counted_parameters", (), what, max(found.values()), min(found.values()))


def mixed_schedules(study: Study) -> Iterator[Doubt]:
    """Runs of different schedules in one study: losses before and after a decay are not one curve."""
    for column in study.frame:
        if re.search(r"schedule", str(column), re.IGNORECASE) and 1 < study.frame[column].nunique() < len(
            study.frame
        ):
            counts = study.frame[column].value_counts()
            fewer = study.frame[column] != counts.index[0]
            yield study.doubt(
                "mixed_schedules", study.positions(fewer), column=str(column), kinds=len(counts)
            )


def unfinished(study: Study) -> Iterator[Doubt]:
    """Runs that did not reach their planned end."""
    frame = study.frame
    stopped = pd.Series(False, index=frame.index)
    for column in frame:
        if str(column).lower() in ("status", "state"):
            stopped |= frame[column].astype(str).str.lower().isin(ENDED_BADLY)
    planned = next((c for c in ("total_steps", "max_steps", "planned_steps") if c in frame), None)
    if planned and "step" in frame:
        last = frame.groupby("run")["step"].transform("max") if "run" in frame else frame["step"]
        stopped |= last < UNFINISHED * frame[planned]
    if stopped.any():
        yield study.doubt("unfinished", study.positions(stopped), count=int(stopped.sum()))


def edge_of_grid(study: Study) -> Iterator[Doubt]:
    """Sizes whose best learning rate or batch size is the smallest or largest that was tried."""
    if study.loss is None or study.size is None:
        return
    for column in [c for c in ("learning_rate", "lr", "batch_size") if c in study.frame]:
        rows: list[int] = []
        for _, group in study.frame.dropna(subset=[study.loss]).groupby(study.size):
            tried = np.sort(group[column].dropna().unique())
            if len(tried) >= 3 and group.loc[group[study.loss].idxmin(), column] in (tried[0], tried[-1]):
                rows += [int(group.loc[group[study.loss].idxmin(), "__row"])]
        if rows:
            yield study.doubt("edge_of_grid", rows, column=column, sizes=len(rows))


def undertuned(study: Study) -> Iterator[Doubt]:
    """One size whose best loss lies above the curve through the others."""
    if study.loss is None or study.size is None or study.parabolas():
        return
    best = study.frame.dropna(subset=[study.loss, study.size]).groupby(study.size)[study.loss].min()
    if len(best) < 6:
        return
    curve = parabola(1.0, best.index.to_numpy(float), best.index.to_numpy(float), best.to_numpy(float))
    above = curve.off > OUTLYING * max(curve.scatter, 1e-3)
    for size in np.asarray(curve.rows)[above]:
        mine = study.frame[study.size] == size
        yield study.doubt("undertuned", study.positions(mine), size=float(size))


def contaminated(study: Study) -> Iterator[Doubt]:
    """Scores better than the loss allows."""
    if study.loss is None:
        return
    for column in study.frame.select_dtypes("number"):
        if not re.search(r"(?:^|[^a-z])acc(?:uracy)?(?:[^a-z]|$)", str(column), re.IGNORECASE):
            continue
        known = study.frame[[study.loss, column, "__row"]].dropna()
        share = known[column].to_numpy(float)
        if len(known) < 12 or not (share.min() >= 0 and share.max() <= 1) or known[study.loss].nunique() < 12:
            continue
        if scores.left_chance(known[study.loss].to_numpy(float), share, str(column)) is not None:
            continue
        curve = scores.Curve(str(study.loss), known[study.loss].to_numpy(float), share)
        expected = [float(v) for v in curve.expected(curve.loss)]
        off = share - expected
        scatter = 1.4826 * np.median(np.abs(off))
        rows = known["__row"].to_numpy()[off > CONTAMINATED * max(scatter, scores.SCATTER)]
        if len(rows):
            yield study.doubt("contaminated", [int(r) for r in rows], column=str(column))


CHECKS = {
    "duplicates": duplicates, "few points": few_points, "off centre": off_centre, "outlying runs": outlying,
    "compute of 6ND": other_flops, "counts of parameters": counted_parameters, "schedules": mixed_schedules,
    "unfinished runs": unfinished, "edge of a grid": edge_of_grid, "undertuned size": undertuned,
    "contaminated scores": contaminated,
}  # fmt: skip


@checked
def audit(table: Any, **columns: str) -> Audit:
    """What would make a reviewer doubt this study.

    Args:
        table: a store, a file, `Curves`, or a frame.
        columns: what columns are called, as in `scalinglab.read`.

    >>> import numpy as np, pandas as pd
    >>> c, n = (v.ravel() for v in np.meshgrid([1e18, 1e19, 1e20], np.geomspace(0.3, 3, 7)))
    >>> n = n * 1e8 * (c / 1e18) ** 0.5
    >>> loss = 2 + (c / 1e18) ** -0.1 * (1 + 0.03 * np.log(n / (1e8 * (c / 1e18) ** 0.5)) ** 2)
    >>> table = pd.DataFrame({"budget": c, "params": n, "tokens": c / 6 / n, "loss": loss})
    >>> audit(table).doubts
    ()
    """
    curves = table if isinstance(table, Curves) else readers.read(table, **columns)
    found = [doubt for study in studies_of(curves) for check in CHECKS.values() for doubt in check(study)]
    return Audit(tuple(found), tuple(CHECKS), len(curves.frame))


def studies_of(curves: Curves) -> list[Study]:
    """The rows by what tells studies apart, with the columns' meanings."""
    frame = curves.frame.reset_index(drop=True)
    if frame.empty:
        raise BadInput("the table has no rows")
    frame = frame.assign(__row=np.arange(len(frame)))

    def first(*names: str) -> str | None:
        here = (curves.resolve(name) for name in names)
        return next((n for n in here if n in frame and pd.api.types.is_numeric_dtype(frame[n])), None)

    loss = first("loss", "test_loss", "validation_loss", "val_loss", "eval_loss", "bpb", "val_bpb")
    if loss is None:
        loss = next((str(c) for c in frame.select_dtypes("number") if re.search(r"loss|bpb", str(c))), None)
    size = first("n_params", "params", "params_total")
    data, budget = first("n_data", "tokens", "tokens_trained"), first(*BUDGETS)
    kinds = [k for k in KINDS if k in frame and 1 < frame[k].nunique(dropna=False) <= max(len(frame) // 6, 1)]
    if "experiment" in kinds:
        kinds = ["experiment"]
    if not kinds:
        return [Study("", frame, loss, size, data, budget)]
    groups = frame.groupby(kinds, dropna=False, sort=False)
    return [Study(" ".join(map(str, name)), rows, loss, size, data, budget) for name, rows in groups]
