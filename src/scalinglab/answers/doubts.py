"""What would make a reviewer doubt a study, found in its table: `audit`.

Each `Doubt` has the rows, what they change in the answer and how to mend it. Of isoFLOP studies, where
several sizes share a compute C, the loss of each curve is a parabola in ln N (Hoffmann et al. 2022, approach
2); the answer is the exponent a of the best size, N* ∝ C^a, by a line through the minima, with and without
the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

from scalinglab import readers
from scalinglab.curves import Curves
from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE, is_seed
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.laws import forms, scores
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.data.from_curves import under_names
from scalinglab.laws.fitting.data.points import SAME_SIZE
from scalinglab.laws.fitting.data.rows import DIGITS_OF_COPIES
from scalinglab.laws.fitting.fit import fit_points
from scalinglab.laws.fitting.outliers import unlikely
from scalinglab.laws.surface import USUAL_DELTA
from scalinglab.laws.tuning.transfer import SETTINGS
from scalinglab.laws.tuning.valleys import Cell
from scalinglab.results.estimate import median_scale, slope
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.support.validation import checked

# columns that tell studies apart
KINDS = ("experiment", "source", "dataset", "model", "condition", "train_set", "task")
DATA = ("n_data", "tokens", "tokens_trained", "examples")
BUDGETS = ("budget", "flops_budget", "compute_budget", "compute", "flops", "c")
PRODUCT = "__6ND"  # defined: the compute of a table that gives none
FEWEST = 5  # chosen: sizes of an isoFLOP curve; a parabola has three parameters, and two show that it is one
CENTRE = (0.1, 0.9)  # chosen: where a minimum lies inside the sizes, as a share of the range of ln N
WITHIN = 10.0  # guard: of 6 N D, for a column in a multiple of FLOPs
OTHER_FLOPS = 0.1  # chosen: relative to 6 N D; less is rounding of budgets and how attention is counted
CERTAIN = 0.99  # chosen: a score above so much of what the other runs allow at its loss is better than that
BETWEEN = 3  # chosen: runs on each side of a loss, between which a curve through them is known
ENOUGH = 20  # chosen: runs of a surface off which one may lie: four for each of its parameters
DIFFERENT_EXPONENT = 0.06  # chosen: relative, from which on two counts of parameters disagree
ONE_LINE = 0.999  # chosen: the correlation of ln N and ln D from which on runs lie on one line
UNFINISHED = 0.98  # chosen: of the planned steps
# words of what is done of a run or planned, by unit; not of its beginning, its best point or distinct data
UNITS_OF_RUNS = ("step|iter|update", "tok(?:en|s|$|_)", "epoch", "image", "sample|example|seen")
NOT_OF_RUNS = r"warm|best|lowest|unique|distinct|batch|every|interval|freq|_per_|/|ratio|frac|share"
ANSWERS = {
    "best_size": "the exponent of the best size",
    "loss": "the exponent of the best loss against size",
    "score": "the score at the lowest loss",
}
# counts of parameters: words of a part of the network, and of all of it but the embeddings
PART = r"head|wte|wpe|scalar|bias|norm|gate|expert|active"
EMBEDDING = r"(?:^|[^a-z])emb|nonemb"
BODY = r"transformer|block|backbone|trunk|body|(?:non?|excl|without|wo)[a-z]*[_ ]?emb"
WHOLE = r"total|with[_ ]?emb|incl|all"
COUNT = rf"param|^n$|^n_.*(?:{PART}|{BODY}|{WHOLE}|emb)"  # names of counts of parameters, or of a part
LEAST_COUNT = 10_000  # guard: less is a number of heads or layers, or a width
# what became of runs; any other word beside one of the first is no good end
ENDED_WELL = ("finished", "completed", "complete", "done", "success", "successful", "succeeded", "ok")
ENDED_BADLY = ("running", "crashed", "failed", "killed", "preempted", "unfinished", "diverged")
# defined: columns that say where and when a run was kept
KEPT = r"(?:^|_)(?:figure|panel|file(?:name)?|path|url|host|user|date|time(?:stamp)?|notes?|comments?|tags?)$"
FINISHED = r"^(?:is_|pct_|percent_)?(?:finished|completed?|done|progress)$"
# of the rate along a run: the name of a schedule, the length or share of a part of it, the rate at its end
SCHEDULE = (
    r"^(?!.*(?:weight|w)_?decay).*(?:schedul|anneal|cool_?down|warm_?down|decay|cosine|cycle"
    r"|(?:final|min|end|last)_?(?:lr|rate|learning_?rate)$|(?:lr|rate)_?(?:final|min|end)$)"
)
SAME_RATIO = 0.05  # chosen: lengths of a schedule over those of runs that differ by rounding, relative
FEW_KINDS = 3  # chosen: of numbers that tell kinds of schedules apart; more differ by being zero or not
# defined: multiples of FLOPs in which a compute is written, from giga to zetta
UNITS = (1.0, 1e9, 1e12, 1e15, 1e18, 1e21)
SCORE = (
    r"(?:^|[^a-z])(?:acc(?:uracy)?|score|exact_match|em|f1|pass_?(?:at_?)?\d+|mmlu|hellaswag|arc|piqa|siqa|boolq"
    r"|winogrande|lambada|gsm8k|humaneval|triviaqa|openbookqa|sciq|copa|bbh)(?:[^a-z]|$)"
)
LEAST_DECIMALS = 3  # convention: of a rounded loss that two runs hardly share by accident
MOST_ROWS = 12  # of a doubt, that its lines name


@dataclass(frozen=True)
class Doubt(Worded):
    """Something that would make a reviewer doubt a study.

    Attributes:
        kind: its code, as "duplicates".
        rows: the positions of the rows in the table, from 0.
        what: what was found, with its numbers.
        before, after: the answer with these rows and without; NaN where there is none.
        answer: what the answer is: `ANSWERS`.
    """

    kind: str
    rows: tuple[int, ...]
    what: Reason
    before: float = float("nan")
    after: float = float("nan")
    answer: str = "best_size"

    @property
    def mend(self) -> Reason:
        """How to mend it."""
        return Reason(f"mend_{self.kind}")

    @property
    def remarks(self) -> Iterator[Remark]:
        yield Reason("doubt", what=self.what)
        if np.isfinite(self.before) and np.isfinite(self.after):
            code = "doubt_changes" if self.rows else "doubt_changes_count"
            yield Reason(code, what=ANSWERS[self.answer], before=self.before, after=self.after)
        yield Reason("doubt_mend", how=self.mend)
        if self.rows:
            code = "doubt_rows" if len(self.rows) <= MOST_ROWS else "doubt_many_rows"
            yield Reason(code, rows=tuple(map(str, self.rows[:MOST_ROWS])), of=len(self.rows))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        ends = {"before": self.before, "after": self.after}
        return {
            "kind": self.kind, "rows": list(self.rows), "what": self.what.to_dict(),
            "mend": self.mend.to_dict(), "answer": self.answer,
            **{name: value if np.isfinite(value) else None for name, value in ends.items()},
        }  # fmt: skip


@dataclass(frozen=True)
class Audit(NotebookResult):
    """What was found in a table; made by `audit`.

    Attributes:
        doubts: in the order of the checks.
        checked: the names of the checks that the columns allowed; `unchecked` those of the others.
        n_rows: of the table.
    """

    doubts: tuple[Doubt, ...]
    checked: tuple[str, ...]
    n_rows: int

    @property
    def rows(self) -> tuple[int, ...]:
        """All rows that are named by a doubt."""
        return tuple(sorted({row for doubt in self.doubts for row in doubt.rows}))

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The names of the checks for which the table has no columns."""
        return tuple(name for name in CHECKS if name not in self.checked)

    @property
    def remarks(self) -> Iterator[Remark]:
        about = {"rows": len(self.rows), "of": self.n_rows, "checked": self.checked}
        code = "audit" if self.checked else "audit_of_nothing"
        yield Reason(code, doubts=len(self.doubts), **about)
        if self.unchecked:
            yield Reason("audit_unchecked", checks=self.unchecked)
        for doubt in self.doubts:
            yield from doubt.remarks

    def notebook_table(self) -> pd.DataFrame:
        """One row a doubt."""
        return pd.DataFrame(
            [
                (d.kind, len(d.rows), str(d.what), ANSWERS[d.answer], d.before, d.after, str(d.mend))
                for d in self.doubts
            ],
            columns=["kind", "rows", "what", "answer", "before", "after", "mend"],
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "doubts": [d.to_dict() for d in self.doubts], "checked": list(self.checked),
            "unchecked": list(self.unchecked), "rows": list(self.rows), "n_rows": self.n_rows,
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
    """

    compute: float
    rows: np.ndarray
    log_size: np.ndarray
    off: np.ndarray
    curvature: float
    best: float

    @property
    def has_minimum(self) -> bool:
        """Whether it opens upwards with its vertex inside the sizes."""
        place = (self.best - self.log_size.min()) / max(np.ptp(self.log_size), 1e-12)
        return bool(self.curvature > 0 and CENTRE[0] <= place <= CENTRE[1])

    @property
    def rises(self) -> tuple[float, float]:
        """By how much ln loss rises from the vertex to the smallest and to the largest size; 0 beyond it."""
        below, above = self.best - self.log_size.min(), self.log_size.max() - self.best
        return self.curvature * max(below, 0.0) ** 2, self.curvature * max(above, 0.0) ** 2

    @property
    def scatter(self) -> float:
        """Robust standard deviation of the residuals, less the three that the parabola passes through."""
        return median_scale(np.sort(np.abs(self.off))[3:]) if len(self.off) > 3 else 0.0


def parabola(compute: float, rows: np.ndarray, size: np.ndarray, loss: np.ndarray) -> Parabola:
    """The parabola of least absolute deviations, by reweighting; of fewer than four points the exact one."""
    x, y = np.log(size), np.log(loss)
    middle = x.mean()
    design = np.vander(x - middle, 3)
    found = _least_absolute(design, y)
    off = y - design @ found
    best = middle - found[1] / (2 * found[0]) if found[0] != 0 else np.nan
    return Parabola(compute, rows, x, off, float(found[0]), float(best))


def _least_absolute(design: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Coefficients of least absolute deviations, by reweighting; the exact ones where they are determined."""
    weight = np.ones(len(y))
    for _ in range(50 if len(y) > design.shape[1] else 1):
        root = np.sqrt(weight)
        found = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0]
        weight = 1 / np.maximum(np.abs(y - design @ found), 1e-4)
    return np.asarray(found)


def numbered(values: pd.Series, apart: float) -> pd.Series:
    """The numbers of groups of values, from the smallest, that lie farther apart than a relative distance.

    >>> numbered(pd.Series([0.2, 0.0, 0.201, 1.0]), 0.05).tolist()
    [1.0, 0.0, 1.0, 2.0]
    """
    order = np.sort(values.dropna().unique())
    groups = np.cumsum(np.r_[0.0, np.diff(np.log(np.maximum(order, 1e-300))) > apart])
    return values.map(dict(zip(order, groups, strict=True)))


def best_size_exponent(curves: Sequence[Parabola]) -> float:
    """The exponent a of N* ∝ C^a by a line through the minima; NaN of fewer than three."""
    inside = [c for c in curves if c.has_minimum]
    if len(inside) < 3:
        return float("nan")
    return slope([np.log(c.compute) for c in inside], [c.best for c in inside]).value


@dataclass(frozen=True, eq=False)
class Study:
    """The rows of one study, under the names of what they mean; None where a column is not there."""

    name: str
    frame: pd.DataFrame
    loss: str | None
    size: str | None
    data: str | None
    budget: str | None
    names: Mapping[str, str] = field(default_factory=dict)  # what a column was called where it was read

    @property
    def label(self) -> str:
        """The name before a sentence; nothing where the table is one study."""
        return f"{self.name}: " if self.name else ""

    def positions(self, mask: Any) -> tuple[int, ...]:
        """The rows of the table that a mask of this study's rows chooses."""
        return tuple(int(v) for v in self.frame["__row"].to_numpy()[np.asarray(mask, bool)])

    def columns(self, words: str) -> list[str]:
        """Columns whose name, or its last part (config.optim.decay), has one of the words."""
        last = {str(c): re.split(r"[./]", str(c))[-1] for c in self.frame}
        return [c for c, name in last.items() if re.search(words, name, re.IGNORECASE)]

    @cached_property
    def scores(self) -> list[str]:
        """Columns of scores, as shares or in percent."""
        numbers = self.frame.select_dtypes("number")
        return [c for c in self.columns(SCORE) if c in numbers and numbers[c].between(0, 100).all()]

    @cached_property
    def schedules(self) -> dict[str, pd.Series]:
        """What columns say of the schedule, by row.

        Numbers are relative to the steps, the tokens or the rate of the run, which leaves the fewest kinds.
        """
        numbers, found = self.frame.select_dtypes("number"), dict[str, pd.Series]()
        units = [numbers[c] for c in ("step", "tokens", self.data, "learning_rate") if c in numbers]
        for column in self.columns(SCHEDULE):
            found[column] = self.frame[column]
            if column in numbers:
                ratios = [numbered(numbers[column] / unit, SAME_RATIO) for unit in (1.0, *units)]
                fewest = min(ratios, key=lambda ratio: int(ratio.nunique()))
                found[column] = fewest if fewest.nunique() <= FEW_KINDS else numbers[column] > 0
        return found

    def of_run(self, done: pd.Series) -> pd.Series:
        """The most of each run, which may have several rows."""
        return done.groupby(self.frame["run"]).transform("max") if "run" in self.frame else done

    @cached_property
    def done(self) -> list[pd.Series]:
        """Which part of its plan each run did: by two columns of one unit that agree for most runs."""
        numbers, found = self.frame.select_dtypes("number"), list[pd.Series]()
        for unit in UNITS_OF_RUNS:
            names = [c for c in self.columns(unit) if c in numbers and not re.search(NOT_OF_RUNS, c.lower())]
            for column, planned in permutations(names, 2):
                part = self.of_run(numbers[column]) / numbers[planned]
                if part.max() < 2 - UNFINISHED and (part > UNFINISHED).sum() > 0.5 * part.count():
                    found.append(part)
        return found

    @cached_property
    def ends(self) -> list[pd.Series]:
        """Columns of words that say what became of the runs, in lower case."""
        texts = self.frame.select_dtypes(exclude=["number", "bool"])
        words = (texts[c].dropna().astype(str).str.lower() for c in texts)
        return [w for w in words if len(w) and w.isin((*ENDED_WELL, *ENDED_BADLY)).mean() > 0.5]

    @cached_property
    def searched(self) -> list[str]:
        """Settings that the runs of a size vary: known ones, and others with a best value inside."""
        numbers = self.frame.select_dtypes("number")
        known = [c for c in SETTINGS if c in numbers and numbers[c].nunique() > 1]
        own = (self.loss, self.size, self.data, self.budget, *known, *self.scores, "run", "repeat", "__row")
        progress = "|".join((*UNITS_OF_RUNS, KEPT))
        for column in (c for c in numbers if c not in own and not is_seed(c)):
            if 2 < numbers[column].nunique() <= len(numbers) // 3 and column not in self.columns(progress):
                edges = [cell.edge[0] for _, cell in self.searches(column)]
                if len(edges) > 1 and np.mean(edges) <= 0.5:
                    known.append(column)
        return known

    def searches(self, column: str) -> Iterator[tuple[int, Cell]]:
        """Of every size the row of the best run, and the runs by the value of a setting."""
        known = self.frame.dropna(subset=[column, self.loss])
        for _, rows in known.groupby(self.cell):
            if rows[column].nunique() > 2:
                values = rows[[column]].to_numpy(float), rows[self.loss].to_numpy(float)
                yield int(rows.loc[rows[self.loss].idxmin(), "__row"]), Cell(np.zeros(0), *values)

    def parabolas(self, without: Sequence[int] = ()) -> list[Parabola]:
        """The isoFLOP curves without some rows, of three sizes or more; none where no compute is shared."""
        columns = [self.budget, self.loss, self.size]
        if None in columns:
            return []
        kept = self.frame[~self.frame["__row"].isin(list(without))]
        kept = kept[(kept[columns] > 0).all(axis=1)]
        if kept.empty:
            return []
        label = numbered(kept[self.budget], SAME_SIZE)  # those that differ by rounding are one
        if self.data is not None and label.nunique() > kept[self.data].nunique():
            return []  # a grid of N and D, some of whose products agree
        found = []
        for _, rows in kept.groupby(label):
            if rows[self.size].nunique() >= 3:
                values = (rows[c].to_numpy(float) for c in (self.size, self.loss))
                found.append(parabola(float(rows[self.budget].median()), rows["__row"].to_numpy(), *values))
        shared = sum(len(c.rows) for c in found)
        return found if len(found) >= 2 and shared >= 0.5 * len(kept) else []

    @cached_property
    def isoflops(self) -> list[Parabola]:
        """The isoFLOP curves of all rows, which most checks ask for."""
        return self.parabolas()

    def off_surface(self) -> pd.Series:
        """ln loss minus a robust surface of N and D, by row; empty where they do not determine one.

        Of isoFLOP studies of all runs, of others of the best of each size: a search has worse ones.
        """
        columns = [self.size, self.data, self.loss]
        if None in columns:
            return pd.Series(dtype=float)
        known = (self.frame if self.isoflops else self.best_losses())[[*columns, "__row"]].dropna()
        known = known[(known[columns] > 0).all(axis=1)]
        if not self.isoflops and len(known) < ENOUGH:
            return pd.Series(dtype=float)
        size, data, loss = (known[c].to_numpy(float) for c in columns)
        try:
            known_points = points.check((size, data), loss, names=("n_params", "n_data"))
            law = fit_points(forms.get("chinchilla"), known_points, delta=USUAL_DELTA)
        except ScalinglabError:
            return pd.Series(dtype=float)
        return pd.Series(np.log(loss) - np.log(law.predict(n_params=size, n_data=data)), known["__row"])

    def best_losses(self, without: Sequence[int] = ()) -> pd.DataFrame:
        """The run with the lowest loss of every size, and of every amount of data where that varies."""
        known = self.frame.dropna(subset=[c for c in (self.loss, self.size) if c])
        known = known[(known[self.loss] > 0) & (known[self.size] > 0) & ~known["__row"].isin(list(without))]
        return known.loc[known.groupby(self.cell)[self.loss].idxmin()]

    @property
    def cell(self) -> list[str]:
        """The columns of the sizes of a search: n_params, and n_data where a table has it."""
        return [c for c in (self.size, self.data) if c]

    def loss_exponent(self, without: Sequence[int] = ()) -> float:
        """The slope of ln loss in ln size along the best runs; NaN of fewer than three sizes."""
        if self.loss is None or self.size is None:
            return float("nan")
        best = self.best_losses(without)
        best = best.loc[best.groupby(self.size)[self.loss].idxmin()] if len(best) else best
        if len(best) < 3:
            return float("nan")
        return slope(np.log(best[self.size]), np.log(best[self.loss])).value

    def doubt(self, kind: str, rows: Sequence[int], **details: Any) -> Doubt:
        """A doubt with what its rows change: in isoFLOP studies the best size, else how the loss falls."""
        answer, before = "best_size", best_size_exponent(self.isoflops)
        if not np.isfinite(before):
            answer, before = "loss", self.loss_exponent()
        after = float("nan")
        if rows and answer == "best_size":
            after = best_size_exponent(self.parabolas(without=rows))
        elif rows:
            after = self.loss_exponent(rows)
        what = Reason(f"audit_{kind}", study=self.label, **details)
        return Doubt(kind, tuple(sorted(rows)), what, before, after, answer)


# --- the checks: each gives doubts of one study -----------------------------------------------------------


def copied(whole: Study) -> pd.Series:
    """Rows that repeat others, to five digits, in every setting and in the loss; not in where they were kept.

    The data of an isoFLOP study follow from compute and size, and differ by how they are counted.
    """
    kept = ["__row", "run", "repeat", *whole.columns(KEPT)]  # the reader numbers rows of the same settings
    compared = whole.frame.drop(columns=kept, errors="ignore")
    if whole.data is not None and whole.isoflops:
        compared = compared.drop(columns=[c for c in DATA if c in compared])
    numbers = compared.select_dtypes("number")
    settings = compared.astype(str).assign(**numbers.map(lambda v: f"{v:.{DIGITS_OF_COPIES}g}"))
    copies = settings.duplicated(keep="first")
    seeds = [c for c in compared if is_seed(c)]
    # of other seeds, or under another name, the loss is another one: all of its digits show a copy
    loss = whole.frame[whole.loss].map(repr)
    exact = settings[[*numbers]].assign(**{str(whole.loss): loss}).drop(columns=seeds, errors="ignore")
    many = loss.str.replace(r"e.*|[^0-9]", "", regex=True).str.strip("0").str.len() >= DIGITS_OF_COPIES
    copies |= exact.duplicated(keep="first") & many
    if not seeds:
        others = [settings[c] for c in settings if c != whole.loss]
        for _, losses in whole.frame[whole.loss].groupby(others, sort=False):
            copies[losses.index] |= printed_shorter(losses) if len(losses) > 1 else False
    return copies & whole.frame[whole.loss].notna()  # runs that diverged are alike


def duplicates(study: Study) -> Iterator[Doubt]:
    """Rows that are copies of others, of this study or another (`copied`)."""
    copies = study.frame["__copy"]
    if copies.any():
        yield study.doubt("duplicates", study.positions(copies), count=int(copies.sum()))


def printed_shorter(losses: pd.Series) -> np.ndarray:
    """Which of these are another one, rounded to `LEAST_DECIMALS` or more.

    >>> printed_shorter(pd.Series([2.34567, 2.346, 2.3451, np.nan]))
    array([False,  True, False, False])
    """
    values = losses.to_numpy(float)
    each = [(v, len(repr(float(v)).partition(".")[2])) for v in values]
    return np.array([
        d >= LEAST_DECIMALS and any(e > d and round(other, d) == v for other, e in each) for v, d in each
    ])  # fmt: skip


def few_points(study: Study) -> Iterator[Doubt]:
    """IsoFLOP curves of too few sizes to show a minimum."""
    known = study.frame[(study.frame[[study.budget, study.size]] > 0).all(axis=1)]
    computes = numbered(known[study.budget], SAME_SIZE)
    few = known.groupby(computes)[study.size].transform("nunique").between(2, FEWEST - 1)  # one is no curve
    if few.any():
        rows = known["__row"][few].tolist()
        yield study.doubt("few_points", rows, curves=computes[few].nunique(), needed=FEWEST)


def off_centre(study: Study) -> Iterator[Doubt]:
    """IsoFLOP curves without a minimum: on one side the loss rises by less than the usual scatter."""
    curves = [c for c in study.isoflops if len(np.unique(c.log_size)) >= FEWEST]
    usual = float(np.median([c.scatter for c in curves])) if curves else 0.0
    for curve in curves:
        small, large = curve.rises
        if not min(small, large) > usual:
            side = "small" if small < large else "large"
            yield study.doubt("off_centre", [int(r) for r in curve.rows], compute=curve.compute, side=side)


def outlying(study: Study) -> Iterator[Doubt]:
    """Runs far off the surface of all runs, or off the parabola of their compute.

    Both are judged by the scatter of the study, since one curve has few runs. A surface that does not fit has
    a large scatter and names few; parabolas follow the runs that it leaves, since they bend to those far from
    their minimum.
    """
    off = study.off_surface()
    # less the five that the surface passes through
    scatter = median_scale(np.sort(np.abs(off))[5:]) if len(off) else 0.0
    rows = {int(row) for row in off.index[unlikely(off / max(scatter, 1e-4), len(off))]}
    curves = [c for c in study.parabolas(without=sorted(rows)) if len(c.rows) > FEWEST]
    usual = float(np.median([c.scatter for c in curves])) if curves else scatter
    number = sum(len(c.rows) for c in curves)
    for c in curves:
        scale = max(usual, min(c.scatter, 2 * usual), 1e-4)
        rows |= {int(row) for row in c.rows[unlikely(c.off / scale, number)]}
    if rows:
        yield study.doubt("outlying", sorted(rows), count=len(rows), scatter=usual)


def other_flops(study: Study) -> Iterator[Doubt]:
    """A compute that is not 6 N D; rows where it is not what other runs of that size, or near it, have."""
    frame = study.frame
    ratio = FLOPS_PER_PARAM_EXAMPLE * frame[study.size] * frame[study.data] / frame[study.budget]
    if not ((ratio - 1).abs() > OTHER_FLOPS).any():
        return
    # attention and embeddings count for less as networks grow: constant, or a smooth curve of the size
    size, same = np.log(frame[study.size].to_numpy(float)), ratio.to_numpy(float)
    known = np.isfinite(size) & (same > 0)
    powers = np.vander(size - size[known].mean(), 3)
    smooth = np.exp(powers @ _least_absolute(powers[known], np.log(same[known])))
    usual = (np.full(len(same), np.median(same[known])), smooth)
    outlying = min((known & (np.abs(same / u - 1) > OTHER_FLOPS) for u in usual), key=np.sum)
    low, high = float(ratio.min()), float(ratio.max())
    yield study.doubt("other_flops", study.positions(outlying), low=low, high=high)


def counted_parameters(study: Study) -> Iterator[Doubt]:
    """Counts of parameters, with and without embeddings or the head, that give different exponents.

    Of the best size in isoFLOP studies; of the loss in others, such as one run of each depth.
    """
    exponents: dict[str, dict[str, float]] = {"best_size": {}, "loss": {}}
    for name, values in counts_of_parameters(study).items():
        other = replace(study, frame=study.frame.assign(__size=values), size="__size")
        exponents["best_size"][name] = round(best_size_exponent(other.parabolas()), 2)
        exponents["loss"][name] = round(other.loss_exponent(), 4)
    for answer, found in exponents.items():
        ends = [value for value in found.values() if np.isfinite(value)]
        if len(ends) < 2:
            continue
        if max(ends) - min(ends) > DIFFERENT_EXPONENT * max(map(abs, ends)):
            counted = tuple(f"{name}: {value:g}" for name, value in found.items() if np.isfinite(value))
            what = Reason(
                "audit_counted_parameters", study=study.label, what=ANSWERS[answer], exponents=counted
            )
            yield Doubt("counted_parameters", (), what, max(ends), min(ends), answer)
        return


def counts_of_parameters(study: Study) -> dict[str, pd.Series]:
    """Every count of a whole network that the columns allow: given, or a body plus its head, plus all parts.

    A column of embeddings, of a head or of scalars alone is a part, and no count of a network. Where there is
    one count, a vocabulary times the width is a part of it, or is added to it where it is more.
    """
    numbers = study.frame.select_dtypes("number")
    columns = [c for c in numbers if numbers[c].nunique() > 2 and numbers[c].min() >= 0]
    called = {str(c): study.names.get(str(c), str(c)) for c in columns}
    counts, body, parts = dict[str, pd.Series](), list[str](), list[str]()
    for column, name in called.items():
        words = name.lower().replace("w/o", "without").replace("w/", "with")
        if not re.search(COUNT, words) or "ratio" in words or study.frame[column].median() < LEAST_COUNT:
            continue
        if re.search(BODY, words):
            body.append(column)
        elif not re.search(WHOLE, words) and re.search(f"{PART}|{EMBEDDING}", words):
            parts.append(column)
            continue
        counts[name] = study.frame[column]
    for column in body:
        heads = [c for c in parts if "head" in called[c].lower()]
        for head in heads:
            counts[f"{called[column]} + {called[head]}"] = study.frame[column] + study.frame[head]
        if parts and not any(re.search(WHOLE, name.lower()) for name in counts):
            counts[f"{called[column]} + all parts"] = study.frame[[column, *parts]].sum(axis=1)
    vocabulary = next((c for c in study.columns("vocab") if c in numbers and not re.search(COUNT, c)), None)
    other = dict[str, pd.Series]()
    if vocabulary is not None and "width" in numbers:
        other = {f"{vocabulary} × width": numbers[vocabulary] * numbers["width"]}
    elif any(re.search(EMBEDDING, called[c].lower()) for c in parts):
        other = {" + ".join(called[c] for c in parts): numbers[parts].sum(axis=1)}
    if len(counts) == 1 and len(other) == 1:
        (name, given), (part, embeddings) = *counts.items(), *other.items()
        less = (given > embeddings).all()
        counts[f"{name} {'-' if less else '+'} {part}"] = given + (-1 if less else 1) * embeddings
    return counts


def mixed_schedules(study: Study) -> Iterator[Doubt]:
    """Runs of different schedules in one study: losses before and after a decay are not one curve."""
    for column, kinds in study.schedules.items():
        counts = kinds.value_counts()
        if 1 < len(counts) < len(kinds):
            fewer = kinds != counts.index[0]
            yield study.doubt("mixed_schedules", study.positions(fewer), column=column, kinds=len(counts))


def unfinished(study: Study) -> Iterator[Doubt]:
    """Runs that did not reach their planned end."""
    frame = study.frame

    stopped = pd.Series(False, index=frame.index)
    for words in study.ends:
        stopped[words.index] |= ~words.isin(ENDED_WELL)
    for column in study.columns(FINISHED):  # yes or no, or how much of it is
        words = frame[column].astype(str).str.lower().replace({"no": "0", "false": "0"})
        done = study.of_run(pd.to_numeric(words, errors="coerce"))
        stopped |= done < UNFINISHED * (100 if done.max() > 1 else 1)
    for done in study.done:
        stopped |= done < UNFINISHED
    if stopped.any():
        yield study.doubt("unfinished", study.positions(stopped), count=int(stopped.sum()))


def edge_of_grid(study: Study) -> Iterator[Doubt]:
    """Searches whose best setting is the smallest or largest that was tried."""
    for column in study.searched:
        rows = [best for best, cell in study.searches(column) if cell.edge[0]]
        if rows:
            yield study.doubt("edge_of_grid", rows, column=column, sizes=len(rows))


def undertuned(study: Study) -> Iterator[Doubt]:
    """One size whose best losses lie above those of the others.

    Against the parabolas of isoFLOP curves, where three or more have the size; else against a parabola in
    ln N, and in ln D where that varies, through the best losses.
    """
    curves = study.isoflops
    if curves:
        off = pd.Series(np.concatenate([c.off for c in curves]), np.concatenate([c.rows for c in curves]))
        best = study.frame.set_index("__row").loc[off.index].assign(__off=off.to_numpy())
        least = 3
    else:
        best = study.best_losses()
        sizes = [np.log(best[c].to_numpy(float)) for c in study.cell if best[c].nunique() > 2]
        if len(sizes) == 2 and abs(np.corrcoef(sizes)[0, 1]) > ONE_LINE:
            sizes = sizes[:1]  # runs at one ratio of data to parameters
        if best[study.size].nunique() < FEWEST + 1 or len(best) < 3 * len(sizes) + 3:
            return
        centred = [x - x.mean() for x in sizes]
        x = np.stack([np.ones(len(best)), *(v**k for v in centred for k in (1, 2))], axis=1)
        y = np.log(best[study.loss].to_numpy(float))
        best, least = best.assign(__off=y - x @ _least_absolute(x, y)), 1
    by_size = best.groupby(study.size)["__off"].agg(["median", "min", "count"])
    by_size = by_size[by_size["count"] >= least]
    if len(by_size) < FEWEST:
        return
    off = by_size["median"].to_numpy()
    above = unlikely(off / max(median_scale(off), 1e-3), len(off)) & (by_size["min"] > 0)
    for size in by_size.index[above]:
        mine = study.frame[study.size] == size
        yield study.doubt("undertuned", study.positions(mine), column=study.size, size=float(size))


def contaminated(study: Study) -> Iterator[Doubt]:
    """Scores better than the loss allows."""
    for column in study.scores:
        known = study.frame[[study.loss, column, "__row"]].dropna()
        if len(known) < 12 or known[study.loss].nunique() < 12:
            continue
        share = known[column].to_numpy(float)
        share = share / 100 if share.max() > 1 else share  # percent
        asked = scores.questions(share) or scores.QUESTIONS
        curve = scores.Curve(str(study.loss), known[study.loss].to_numpy(float), share, questions=asked)
        if scores.left_chance(curve, str(column)) is not None:
            continue
        expected = curve.expected(curve.loss)
        scale = np.maximum(median_scale(share - expected), np.sqrt(curve.variance(expected)))
        too_good = share - expected > scores.STANDARD_ERRORS * scale
        if not too_good.any():
            continue
        # by what the others allow, which do not bend to these: they know little of the lowest losses
        clean = replace(curve, loss=curve.loss[~too_good], share=share[~too_good])
        random = np.random.default_rng(0)
        for i in np.flatnonzero(too_good):
            off = (share[i] - clean.expected(curve.loss[[i]])) / scale[i]
            below, beyond = (np.sum(sign * (clean.loss - curve.loss[i]) > 0) for sign in (-1, 1))
            above = min(below, beyond) >= BETWEEN
            if not above:
                others = clean.draw(np.full(scores.DRAWS, curve.loss[i]), random)[1]
                above = share[i] > np.quantile(others, CERTAIN)
            too_good[i] = above and unlikely(off, len(share) * len(study.scores)).all()
        if not too_good.any():
            continue
        rows = tuple(int(r) for r in known["__row"].to_numpy()[too_good])
        lowest = np.array([curve.loss.min()])
        yield Doubt(
            "contaminated", rows, Reason("audit_contaminated", study=study.label, column=str(column)),
            float(curve.expected(lowest)[0]), float(clean.expected(lowest)[0]), "score",
        )  # fmt: skip


Check = tuple[Callable[[Study], Any], Callable[[Study], Iterator[Doubt]]]  # whether columns allow it, and it
CHECKS: dict[str, Check] = {
    "duplicates": (lambda s: s.loss and s.size, duplicates),
    "few points": (lambda s: s.isoflops, few_points),
    "off centre": (lambda s: s.isoflops, off_centre),
    "outlying runs": (lambda s: s.loss and s.size and (s.isoflops or s.data), outlying),
    "compute of 6ND": (lambda s: s.size and s.data and s.budget not in (None, PRODUCT), other_flops),
    "counts of parameters": (lambda s: len(counts_of_parameters(s)) > 1, counted_parameters),
    "schedules": (lambda s: s.schedules, mixed_schedules),
    "unfinished runs": (lambda s: s.ends or s.columns(FINISHED) or s.done, unfinished),
    "edge of a grid": (lambda s: s.loss and s.size and s.searched, edge_of_grid),
    "undertuned size": (lambda s: s.loss and s.size, undertuned),
    "contaminated scores": (lambda s: s.loss and s.scores, contaminated),
}


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
    # of experts a token passes through the active parameters: its compute is 6 of each
    likely = {} if "n_params" in columns else {"n_params": "n_active"}
    curves = (
        table if isinstance(table, Curves) else readers.read_table(table, likely=likely, **columns).curves()
    )
    doubts, asked = list[Doubt](), set[str]()
    for study in studies_of(curves):
        for name, (allowed, check) in CHECKS.items():
            if allowed(study):
                asked.add(name)
                doubts += check(study)
    return Audit(tuple(doubts), tuple(name for name in CHECKS if name in asked), len(curves.frame))


def studies_of(curves: Curves) -> list[Study]:
    """The rows by what tells studies apart, with the columns' meanings."""
    frame = under_names(curves.frame.reset_index(drop=True), SETTINGS)
    if frame.empty:
        raise BadInput("the table has no rows")
    frame = frame.assign(__row=np.arange(len(frame)))

    def first(*names: str) -> str | None:
        here = (curves.resolve(name) for name in names)
        return next((n for n in here if n in frame and pd.api.types.is_numeric_dtype(frame[n])), None)

    loss = first("loss", "test_loss", "validation_loss", "val_loss", "eval_loss", "bpb", "val_bpb")
    if loss is None:
        loss = next((str(c) for c in frame.select_dtypes("number") if re.search(r"loss|bpb", str(c))), None)
    loss = loss or first("test_error", "error")
    size = first("n_params", "params", "params_total", "width")
    data, budget = first(*DATA), first(*BUDGETS)
    if size is None:  # a study of the data alone
        size, data = data, None
    if budget is None and size and data:
        product = FLOPS_PER_PARAM_EXAMPLE * frame[size] * frame[data]
        for column in frame.select_dtypes("number").filter(regex=r"(?i)flops?$|compute"):
            ratio = float((product / frame[column]).median())
            unit = min(UNITS, key=lambda u: abs(np.log(ratio / u)) if ratio > 0 else np.inf)
            if ratio > 0 and abs(np.log(ratio / unit)) < np.log(WITHIN):
                frame, budget = frame.assign(**{column: unit * frame[column]}), str(column)
    if budget is None and size and data:
        frame, budget = (
            frame.assign(**{PRODUCT: FLOPS_PER_PARAM_EXAMPLE * frame[size] * frame[data]}),
            PRODUCT,
        )
    names = {ours: theirs for theirs, ours in curves.names.items()}
    texts = frame.select_dtypes(exclude=["number", "bool"]).columns
    known = re.compile("|".join((SCHEDULE, FINISHED, KEPT)), re.IGNORECASE)
    declaring = [c for c in texts if c != "run" and c not in KINDS and not known.search(str(c))]
    if size is not None:  # no names of sizes
        declaring = [c for c in declaring if frame.groupby(c)[size].nunique().min() > 1]

    def telling(columns: Sequence[str]) -> list[str]:
        known = (c for c in columns if c in frame)
        return [c for c in known if 1 < frame[c].nunique(dropna=False) <= len(frame) // 6]

    def split(study: Study, kinds: list[str]) -> list[Study]:
        if not kinds:
            return [study]
        groups = study.frame.groupby(kinds, dropna=False, sort=False)
        return [
            replace(study, name=" ".join([study.name, *map(str, name)]).strip(), frame=rows)
            for name, rows in groups
        ]

    whole, kinds = Study("", frame, loss, size, data, budget, names), telling(KINDS)
    declared = split(whole, ["experiment"] if "experiment" in kinds else kinds)
    if loss and size:  # studies that are declared may share runs, such as those of two readers of one paper
        declared = [replace(one, frame=one.frame.assign(__copy=copied(one))) for one in declared]
    return [study for one in declared for study in split(one, telling(declaring))]
