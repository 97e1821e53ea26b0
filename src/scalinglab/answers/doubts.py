"""What would make a reviewer doubt a study, found in its table: `audit`.

Each `Doubt` has the rows, their effect on the answer and how to mend it. For isoFLOP studies, where several
sizes share a compute C, the answer is the exponent a of the best size, N* ∝ C^a, by a line through the minima
of parabolas of ln loss in ln N (Hoffmann et al. 2022, approach 2); for others it is the slope of ln loss in
ln N along the best runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from scalinglab import readers
from scalinglab.answers.study import (
    ADDED,
    ENDED_WELL,
    FEW_ROWS,
    FEWEST,
    FINISHED,
    HOW,
    KEPT,
    OUTCOMES,
    PRODUCT,
    STOPPED,
    UNFINISHED,
    UNITS_OF_RUNS,
    WHERE,
    WIDTH,
    Study,
    best_size_exponent,
    counted_otherwise,
    equal_seeds,
    few_of_a_kind,
    mean_rows,
    minority,
    off_fit,
    studies_of,
)
from scalinglab.curves import Curves
from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE, is_seed, size_groups
from scalinglab.errors import BadInput
from scalinglab.laws import scores
from scalinglab.laws.fitting.outliers import unlikely
from scalinglab.readers.tables.layout import WENT_ON
from scalinglab.results.distributions import median_scale
from scalinglab.results.notebook import NotebookResult
from scalinglab.results.types import Reason, Remark, Worded
from scalinglab.support.validation import checked
from scalinglab.support.words import flops

OTHER_FLOPS = 0.1  # chosen: relative to 6 N D; less is rounding of budgets and how attention is counted
CERTAIN = 0.99  # chosen: a score is too good above this quantile of what the other runs allow at its loss
PARAMETERS = 5  # defined: of a surface of N and D
BETWEEN = 3  # chosen: runs needed on each side of a loss for the curve through them to be known there
DIFFERENT_EXPONENT = 0.03  # chosen: relative difference from which on two counts of parameters disagree
ANSWERS = {
    "best_size": "the exponent of the best size",
    "loss": "the exponent of the best loss against size",
    "score": "the score at the lowest loss",
}
# words in columns of counts of parameters: of a part of the network, and of all of it but the embeddings
PART = r"head|wte|wpe|scalar|bias|norm|gate|expert|active"
EMBEDDING = r"(?:^|[^a-z])emb|nonemb"
BODY = r"transformer|block|backbone|trunk|body|(?:non?|excl|without|wo)[a-z]*[_ ]?emb"
WHOLE = r"total|with[_ ]?emb|incl|all"
COUNT = rf"param|^n$|^n[\W_].*(?:{PART}|{BODY}|{WHOLE}|emb)"
# by kind of doubt: columns of parts of a run, the limit of the part, and the share of rows that may pass it
# published: Porian et al. 2024 (warm-ups of small runs), Muennighoff et al. 2023 (up to four epochs are as
# good as new data; the limit of eight, and 35 % of the rows, were chosen on tables of `benchmarks/audit.py`)
PARTS = {
    "warm_up": (r"warm_?up", 0.3, 0.5),
    "repeated": (r"epochs?$|repe(?:at|tition)s$|unique_|distinct_", 8.0, 0.35),
    "selected": (
        r"best_?(?:val_?)?(?:step|iter|epoch|update|tok)|(?:step|epoch)s?_(?:of_|at_)?best",
        0.8,
        0.35,
    ),
}
PROGRESS = f"{UNITS_OF_RUNS[0]}|{UNITS_OF_RUNS[2]}"  # steps and epochs
SAME, MOST_COLUMNS = 0.01, 16  # chosen: relative error of rounded products; guard: columns of a table
NEAR_ZERO = 0.1  # chosen: of the median; where the smallest loss is less, another may be zero
# chosen: decades between values in one unit and in another, which are three apart, and how many times wider
# that gap is than any other
GAP, WIDER = 1.0, 1.6
MOST_UNTUNED = 0.5  # chosen: share of sizes up to which unsearched ones are exceptions
LEAST_COUNT = 10_000  # guard: smaller numbers count heads or layers, or are a width
MEDIAN_TELLS = 0.37  # defined: efficiency of a standard deviation by the median of |residuals|
ENOUGH_SETTINGS = 8  # chosen: rows or settings that show what is usual
NOTES = r"(?:^|_)(?:notes?|comments?|remarks?)$"
WRONG = (
    r"\b(?:bugs?|wrong|mistake|suspicious|suspect|contaminat\w+|leak\w*|(?:not |un)tuned"
    r"|(?:old|other|different) \w*(?:eval|tokenizer|code|data|val)\w*)\b"
)
SAID_STOPPED = (
    r"\b(?:killed|preempted|crashed|diverged|aborted|unfinished|incomplete|timed? ?out|stopped early)\b"
)
MOST_ROWS = 12  # convention: of a doubt, that are named


@dataclass(frozen=True)
class Doubt(Worded):
    """Something that would make a reviewer doubt a study.

    Attributes:
        kind: such as "duplicates".
        rows: the positions of the rows in the table, from 0.
        what: what was found, with its numbers.
        before, after: the answer with these rows and without; NaN where there is none.
        answer: what the answer is; see `ANSWERS`.
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
            same = f"{self.before:.3f}" == f"{self.after:.3f}"
            code = "doubt_changes" if self.rows else "doubt_changes_count"
            code = "doubt_changes_nothing" if same else code
            yield Reason(code, what=ANSWERS[self.answer], before=self.before, after=self.after)
        yield Reason("doubt_mend", how=self.mend)
        if self.rows:
            code = "doubt_rows" if len(self.rows) <= MOST_ROWS else "doubt_many_rows"
            yield Reason(code, rows=tuple(map(str, self.rows[:MOST_ROWS])), of=len(self.rows))

    def to_dict(self) -> dict[str, Any]:
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
        return {
            "doubts": [d.to_dict() for d in self.doubts], "checked": list(self.checked),
            "unchecked": list(self.unchecked), "rows": list(self.rows), "n_rows": self.n_rows,
        }  # fmt: skip


def doubted(study: Study, kind: str, wrong: Any, code: str = "", **details: Any) -> Doubt:
    """A doubt with the effect of its rows on the answer.

    Args:
        wrong: a mask of the rows of the study, or their positions in the table.
        code: of the words; by default that of the kind.
    """
    mask = np.asarray(wrong)
    rows = (study.frame.index[mask] if mask.dtype == bool else np.sort(mask.astype(int))).tolist()
    answer, before, after = "best_size", best_size_exponent(study.isoflops), float("nan")
    if np.isfinite(before):
        after = best_size_exponent(study.parabolas(without=rows)) if rows else after
    else:
        answer, before = "loss", study.loss_exponent()
        after = study.loss_exponent(rows) if rows else after
    if "column" in details:  # as the table calls it
        details["column"] = study.names.get(details["column"], details["column"])
    what = Reason(f"audit_{code or kind}", study=study.label, **{"count": len(rows), **details})
    return Doubt(kind, tuple(rows), what, before, after, answer)


def far_off(off: Any, fitted: int = 0, least: float = 1e-4, dof: float = np.inf) -> np.ndarray:
    """Which residuals are too large for Gaussian noise with the scatter of most of them.

    Args:
        fitted: parameters of the robust fit, which passes close to as many runs: these show no scatter.
        least: the smallest standard deviation that is believed.
        dof: of the standard deviation.
    """
    off = np.asarray(off, float)
    scatter = median_scale(np.sort(np.abs(off))[fitted:]) if len(off) else 0.0
    return unlikely(off / max(scatter, least), len(off), dof)


# --- the checks: each gives doubts of one study -----------------------------------------------------------


def duplicates(study: Study) -> Iterator[Doubt]:
    """Rows that are copies of others, of this study or another, or the mean of other rows."""
    copies = study.frame.index.isin(study.copies) | equal_seeds(study)
    if copies.any():
        yield doubted(study, "duplicates", copies)
    means = mean_rows(study)
    if means.any():
        yield doubted(study, "duplicates", means, "means")


def few_points(study: Study) -> Iterator[Doubt]:
    """IsoFLOP curves of too few sizes to show a minimum."""
    known = study.frame[(study.frame[[study.budget, study.size]] > 0).all(axis=1)]
    computes = pd.Series(size_groups(known[study.budget]), known.index)
    few = known.groupby(computes)[study.size].transform("nunique").between(2, FEWEST - 1)  # one is no curve
    if few.any():
        yield doubted(study, "few_points", few.index[few], curves=computes[few].nunique(), needed=FEWEST)


def off_centre(study: Study) -> Iterator[Doubt]:
    """IsoFLOP curves without a minimum: on one side the loss rises by less than the usual scatter."""
    curves = [c.scatter for c in study.isoflops if len(np.unique(c.log_size)) >= FEWEST]
    usual = float(np.median(curves)) if curves else 0.0
    flat = [(curve, *curve.rises) for curve in study.isoflops if not min(curve.rises) > usual]
    for side in ("small", "large"):
        found = [curve for curve, small, large in flat if (small < large) == (side == "small")]
        if found:
            computes = [flops(curve.compute, unit="") for curve in found]
            shown = (*computes[:MOST_ROWS], *["…"][: len(computes) - MOST_ROWS])
            rows = np.concatenate([curve.rows for curve in found])
            yield doubted(study, "off_centre", rows, computes=shown, side=side)


def outlying(study: Study) -> Iterator[Doubt]:
    """Runs far off the surface of all runs, or off the parabola of their compute.

    Both are judged by the scatter of the whole study, since one curve has few runs. The parabolas are fitted
    without the runs far off the surface, which would bend them.
    """
    off = study.off_surface
    alone = not study.isoflops and not study.searched and not study.frame["run"].duplicated().any()
    if not len(off) and alone:
        off = study.off_line(study.first)
    dof = MEDIAN_TELLS * max(len(off) - PARAMETERS, 1)
    rows = {*off.index[far_off(off, PARAMETERS, dof=dof)]}
    curves = [c for c in study.parabolas(without=sorted(rows)) if len(c.rows) > FEWEST]
    scatter = median_scale(np.sort(np.abs(off))[PARAMETERS:]) if len(off) else 0.0
    usual = float(np.median([c.scatter for c in curves])) if curves else scatter
    number = sum(len(c.rows) for c in curves)
    dof = MEDIAN_TELLS * max(number - 3 * len(curves), 1)
    for c in curves:
        scale = max(usual, min(c.scatter, 2 * usual), 1e-4)
        rows |= {*c.rows[unlikely(c.off / scale, number, dof)]}
    if rows:
        yield doubted(study, "outlying", [*rows], scatter=usual)


def other_flops(study: Study) -> Iterator[Doubt]:
    """A compute that is not 6 N D; rows where its ratio to 6 N D is not that of runs of about this size."""
    frame = study.frame
    ratio = FLOPS_PER_PARAM_EXAMPLE * frame[study.size] * frame[study.data] / frame[study.budget]
    if not ((ratio - 1).abs() > OTHER_FLOPS).any():
        return
    # attention and embeddings count for less as networks grow: constant, or a smooth curve of the size
    known = np.isfinite(np.log(frame[study.size])) & (ratio > 0)
    logs = np.log(ratio[known])
    off = (logs - logs.median(), off_fit(logs, np.log(frame.loc[known, [study.size]]), degree=2))
    wrong = min((np.abs(np.expm1(each)) > OTHER_FLOPS for each in off), key=np.sum)
    yield doubted(study, "other_flops", wrong.index[wrong], low=float(ratio.min()), high=float(ratio.max()))


def counted_parameters(study: Study) -> Iterator[Doubt]:
    """Rows that count other parameters; or several counts, as without embeddings, whose exponents differ."""
    other = counted_otherwise(study)
    if other.any():
        yield doubted(study, "counted_parameters", other, "counted_otherwise")
        return
    exponents: dict[str, dict[str, float]] = {"best_size": {}, "loss": {}}
    for name, values in counts_of_parameters(study).items():
        counted = replace(study, frame=study.frame.assign(__size=values), size="__size")
        exponents["best_size"][name] = round(best_size_exponent(counted.parabolas()), 2)
        exponents["loss"][name] = round(counted.loss_exponent(), 4)
    for answer, found in exponents.items():
        known = {name: value for name, value in found.items() if np.isfinite(value)}
        if len(known) < 2:
            continue
        low, high = min(known.values()), max(known.values())
        if high - low > DIFFERENT_EXPONENT * max(abs(low), abs(high)):
            about = {"what": ANSWERS[answer], "exponents": tuple(f"{n}: {v:g}" for n, v in known.items())}
            what = Reason("audit_counted_parameters", study=study.label, **about)
            yield Doubt("counted_parameters", (), what, high, low, answer)
        return


def counts_of_parameters(study: Study) -> dict[str, pd.Series]:
    """Every count of a whole network that the columns allow: given, or the body plus the head or all parts.

    A column of embeddings, of a head or of scalars alone is a part and no count. To a single count the
    embeddings (a column, or vocabulary times width) are added; or subtracted, where it may contain them.
    """
    numbers = study.numbers
    columns = [c for c in numbers if numbers[c].nunique() > 2 and numbers[c].min() >= 0]
    called = {str(c): study.names.get(str(c), str(c)) for c in columns}
    counts, body, parts = dict[str, pd.Series](), list[str](), list[str]()
    for column, name in called.items():
        words = name.lower().replace("w/o", "without").replace("w/", "with")
        if not re.search(COUNT, words) or "ratio" in words or numbers[column].median() < LEAST_COUNT:
            continue
        if re.search(BODY, words):
            body.append(column)
        elif not re.search(WHOLE, words) and re.search(f"{PART}|{EMBEDDING}", words):
            parts.append(column)
            continue
        counts[name] = numbers[column]
    for column in body:
        for head in (c for c in parts if "head" in called[c].lower()):
            counts[f"{called[column]} + {called[head]}"] = numbers[column] + numbers[head]
        if parts and not any(re.search(WHOLE, name.lower()) for name in counts):
            counts[f"{called[column]} + all parts"] = numbers[[column, *parts]].sum(axis=1)
    vocabulary, width = (
        next((c for c in study.columns(words) if c in numbers and not re.search(COUNT, c)), None)
        for words in ("vocab", WIDTH)
    )
    if vocabulary is not None and width is not None:
        part, embeddings = f"{vocabulary} × {width}", numbers[vocabulary] * numbers[width]
    elif any(re.search(EMBEDDING, called[c].lower()) for c in parts):
        part, embeddings = " + ".join(called[c] for c in parts), numbers[parts].sum(axis=1)
    else:
        return counts
    if len(counts) == 1:
        ((name, given),) = counts.items()
        sign = -1 if (given > embeddings).all() else 1
        counts[f"{name} {'-' if sign < 0 else '+'} {part}"] = given + sign * embeddings
    return counts


def mixed_schedules(study: Study) -> Iterator[Doubt]:
    """Runs of different schedules in one study: losses before and after a decay are not one curve."""
    for column, kinds in study.schedules.items():
        counts = kinds.value_counts()
        if 1 < len(counts) < len(kinds):
            fewer = kinds != counts.index[0]
            yield doubted(study, "mixed_schedules", fewer, column=column, kinds=len(counts))


def unfinished(study: Study) -> Iterator[Doubt]:
    """Runs that did not reach their planned end."""
    frame = study.frame
    stopped = pd.Series(False, index=frame.index)
    for words in study.ends.values():
        # a diverged run without a loss is written down as it ended
        lost = (words == "diverged") & study.frame[study.loss].isna() if study.loss else False
        stopped |= ~words.isin(ENDED_WELL) & words.notna() & ~lost
    for column in study.columns(FINISHED):  # yes or no, or how much of it is
        words = frame[column].astype(str).str.lower().replace({"no": "0", "false": "0"})
        done = study.of_run(pd.to_numeric(words, errors="coerce"))
        stopped |= done < UNFINISHED * (100 if done.max() > 1 else 1)
    for column in study.columns(STOPPED):
        stopped |= frame[column].astype(str).str.lower().isin(("true", "yes", "1", "1.0"))
    for done in study.done:
        stopped |= done < UNFINISHED
    progress = study.lengths(PROGRESS)
    for column in {*progress, "tokens"} & {*study.numbers}:
        whole = study.of_run(frame[column])
        along = frame[column] < UNFINISHED * whole  # points along a run, among runs
        stopped |= along & (along.mean() <= FEW_ROWS)
        if column in progress:  # all runs have as many, but for a few with less
            stopped |= few_of_a_kind(whole) & (whole < UNFINISHED * whole.mode().iloc[0])
    for column in study.columns(NOTES):
        noted = frame[column].fillna("").astype(str)
        stopped |= noted.str.contains(SAID_STOPPED, case=False) & ~noted.str.contains(WENT_ON, case=False)
    if stopped.any():
        yield doubted(study, "unfinished", stopped)


def of_another_kind(study: Study) -> Iterator[Doubt]:
    """Rows that were measured or trained otherwise than the others, whatever their losses are.

    In columns that say how (`HOW`), also all large or all small runs; in any other column a few rows with a
    value of their own, unless these are the largest or smallest runs, since many settings follow the size.
    """
    frame, how = study.frame, study.columns(HOW)
    for column in study.columns(NOTES):
        few = frame[column].fillna("").astype(str).str.contains(WRONG, case=False)
        if 0 < few.sum() <= MOST_UNTUNED * len(few):
            yield doubted(study, "of_another_kind", few, "noted", column=str(column))
    own = {study.loss, *study.cell, study.budget, *study.schedules, *study.scores, *study.searched, *ADDED}
    own |= {*study.columns(f"{KEPT}|{WHERE}|{FINISHED}"), *study.ends, *(c for c in frame if is_seed(str(c)))}
    for column in (c for c in frame if c not in study.schedules and (c in how or c not in own)):
        if column in how:
            few = minority(study, column)
        else:
            few = few_of_a_kind(frame[column]) & frame[column].notna()
            few &= not (study.size and _at_an_end(study, few))
        if few.any():
            values = tuple(map(str, frame[column][few].unique()))
            counted = re.search("count(?:s|ed|ing)|emb", " ".join((str(column), *values)).lower())
            kind = "counted_parameters" if counted else "of_another_kind"
            yield doubted(study, kind, few, "changed", column=str(column), values=values)


def _at_an_end(study: Study, few: pd.Series) -> bool:
    """Whether these rows are larger than all others in one of the sizes, or smaller."""
    sizes = study.frame.loc[few.index, study.cell]
    low, high = sizes[few].min(), sizes[few].max()
    return bool(((low > sizes[~few].max()) | (high < sizes[~few].min())).any())


def unlike_seeds(study: Study) -> Iterator[Doubt]:
    """Runs of one setting whose losses lie much farther apart than those of the other settings."""
    loss = study.frame[study.loss]
    groups = np.log(loss[loss > 0]).groupby(study.setting)
    spread = (groups.max() - groups.min())[groups.size() > 1]
    if len(spread) < ENOUGH_SETTINGS:
        return
    for setting, apart in spread[far_off(spread)].items():
        rows = study.setting.index[study.setting == setting]
        usual = float(spread.median())
        yield doubted(study, "unlike_seeds", rows, apart=float(apart), usual=usual)


def inconsistent(study: Study) -> Iterator[Doubt]:
    """A few rows in which a relation between columns fails that all others obey: a product, a power."""
    numbers = study.numbers.drop(columns=[*ADDED], errors="ignore")
    numbers = numbers[[c for c in numbers if numbers[c].nunique() > 1 and not is_seed(str(c))]]
    logs = np.log(numbers.where(numbers > 0)).iloc[:, :MOST_COLUMNS]

    def off(relation: pd.Series) -> pd.Series:
        """How far rows are from what most have; nothing where it does not hold for most."""
        away = (relation - relation.median()).abs()
        return away if (away < SAME).sum() >= (1 - FEW_ROWS) * len(away) else np.nan * away

    single = {frozenset(two): off(logs[two[0]] - logs[two[1]]) for two in combinations(logs, 2)}
    holding = {two for two, away in single.items() if away.notna().any()}
    steps = study.lengths(UNITS_OF_RUNS[0])
    follow = {frozenset((study.data, other)) for other in (study.size, *steps)}  # whatever runs they share
    found: list[tuple[tuple[Any, ...], pd.Series]] = [
        (two, single[frozenset(two)]) for two in combinations(logs, 2)
        if {*two} in follow or not _at_an_end(study, single[frozenset(two)] > OTHER_FLOPS)
    ]  # fmt: skip
    found += [((column, study.size), away) for column, away in unlike_their_size(study, logs)]
    if {study.data, study.size} <= {*logs}:  # most runs have more data than parameters
        more = logs[study.data] > logs[study.size]
        beyond = (logs[study.size] > logs[study.size][more].max()) & (
            logs[study.data] < logs[study.data][more].min()
        )
        away = study.off_surface.abs()
        fits = away.index[away <= 3 * median_scale(away.to_numpy())] if len(away) else []
        swapped = ~more & beyond & ~logs.index.isin(fits)  # a large network may have few data
        found.append(((study.size, study.data), swapped * (swapped.mean() <= FEW_ROWS)))
    for whole in logs:
        for two in combinations(logs.columns.drop(whole), 2):
            proportional = any(frozenset(pair) in holding for pair in combinations((whole, *two), 2))
            if {whole, *two} != {study.size, study.data, study.budget} and not proportional:
                found.append(((whole, *two), off(logs[whole] - logs[two[0]] - logs[two[1]])))
    named = set[int]()
    for columns, away in found:
        rows = {*away.index[away > OTHER_FLOPS]}
        if rows - named:
            named |= rows
            theirs = tuple(study.names.get(str(c), str(c)) for c in columns)
            yield doubted(study, "inconsistent", [*rows], columns=theirs)


def unlike_their_size(study: Study, logs: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Columns with a few rows far from what runs of their size have, and these rows.

    Settings, shapes and times are constant or follow a power of the size, more or less closely.
    """
    sizes = np.log(study.frame[study.cell].where(study.frame[study.cell] > 0))
    own = {*study.columns(OUTCOMES), *study.scores, *study.searched, *study.cell, study.budget}
    if study.frame["run"].duplicated().any():
        return
    for column in (c for c in logs if c not in own and not few_of_a_kind(study.frame[c]).any()):
        away = unlike_the_others(logs[column], sizes, SAME, MEDIAN_TELLS * len(logs))
        if len(away) and not _at_an_end(study, away):
            yield str(column), away.astype(float)


def unlike_the_others(
    y: pd.Series, x: pd.DataFrame, least: float, dof: float = np.inf, degree: int = 1
) -> pd.Series:
    """Rows of y, in logarithms, far off its robust fit in x (`off_fit`); empty where these are not few."""
    known = pd.concat([y, x], axis=1).dropna()
    if len(known) >= ENOUGH_SETTINGS:
        off = off_fit(known.iloc[:, 0], known.iloc[:, 1:], degree)
        few = far_off(off, 1 + degree * x.shape[1], least, dof)
        if 0 < few.sum() <= max(FEW_ROWS * len(few), 1):
            return pd.Series(few, known.index)
    return pd.Series(dtype=bool)


def training_gap(study: Study) -> Iterator[Doubt]:
    """Runs whose test loss is far from what their training loss predicts by the other runs."""
    for column in study.columns(r"train\w*_?(?:loss|nll|bpb|ce)"):
        if column != study.loss and column in study.numbers:
            train = np.log(study.frame[[column]].where(study.frame[[column]] > 0))
            gap = np.log(study.frame[study.loss]) - train[column]
            few = unlike_the_others(gap, train, 1e-3, degree=2)
            if few.any():
                yield doubted(study, "training_gap", few.index[few], column=str(column))


def part_of_run(study: Study) -> Iterator[Doubt]:
    """A few runs with a long warm-up, many passes over their data, or a loss from long before their end."""
    for kind, (words, usual, most) in PARTS.items():
        for column in study.columns(words):
            if column not in study.numbers or any(study.searches(column)):
                continue
            part = study.frame[column] if kind == "repeated" else study.part_of_run(column)
            if re.search("unique|distinct", column.lower()):
                part = (study.frame[study.data] if study.data else np.nan) / part
            wrong = part < usual if kind == "selected" else part > usual
            if 0 < wrong.sum() <= max(most * len(part), 1):
                yield doubted(study, kind, wrong, column=str(column))
                break


def impossible(study: Study) -> Iterator[Doubt]:
    """A loss of zero or less far below all others, or a chip that is used to more than all of it."""
    numbers = study.numbers
    loss = numbers[study.loss]
    near = loss[loss > 0].min() <= NEAR_ZERO * loss[loss > 0].median()  # an error may be zero
    # a whole number far from all others stands for none
    stands = (loss == loss.round()) & ((loss > 2 * loss[loss != loss.round()].max()) | (loss <= 0))
    found = {str(study.loss): stands & (not near if (loss <= 0).any() else True)}
    for column in {*study.columns(r"(?:^|_)(?:mfu|hfu|utili[sz]ation)")} & {*numbers}:
        found[column] = numbers[column] > (1 if numbers[column].median() <= 1 else 100)
    for column, wrong in found.items():
        if 0 < wrong.sum() < len(wrong):
            worst = float(numbers[column][wrong].iloc[0])
            yield doubted(study, "impossible", wrong, column=column, worst=worst)


def other_units(study: Study) -> Iterator[Doubt]:
    """A few values far from all others, which another unit would bring among them.

    Sizes in thousands, millions, …; shares among scores in percent, and percent among shares.
    """
    found = dict[str, pd.Series]()
    for column in (*study.cell, *([] if study.budget in (None, PRODUCT) else [study.budget])):
        values = study.frame[column].where(study.frame[column] > 0)
        log = np.sort(np.log10(values.dropna().unique()))
        gaps = np.diff(log)
        if len(gaps) >= FEWEST and gaps.max() > max(GAP, WIDER * np.sort(gaps)[-2]):
            small = np.log10(values) <= log[gaps.argmax()]
            few = small if small.sum() <= (~small).sum() else ~small
            units = 1e3 ** (np.arange(1, 6) if few is small else -np.arange(1, 6))
            moved = [few & among(values * unit, values[~few], 3.0) for unit in units]
            found[column] = max(moved, key=np.sum)
    for column in study.scores:
        score = study.frame[column].where(study.frame[column] > 0)
        share, loss = score <= 1, study.frame[study.loss]
        few, unit = (share, 100) if share.sum() <= (score > 1).sum() else (score > 1, 0.01)
        found[column] = few & among(score * unit, score[~few], 1.5)
        if few is share:  # scores of weak models in percent lie below 1, too, at high losses
            found[column] &= loss < loss.median()
    for column, few in found.items():
        if 0 < few.sum() <= FEW_ROWS * len(few) + 1:
            yield doubted(study, "other_units", few, column=column)


def among(values: pd.Series, others: pd.Series, factor: float) -> pd.Series:
    """Which values lie in the range of others, or within a factor of it."""
    return values.between(others.min() / factor, factor * others.max())


def untuned(study: Study) -> Iterator[Doubt]:
    """Sizes with fewer than three values of a setting that is searched at most others."""
    known = study.frame.dropna(subset=[study.loss, *study.searched])
    for column in study.searched:
        values = known.groupby(study.cell)[column]
        few = int((values.nunique() < 3).sum())
        if 0 < few < MOST_UNTUNED * values.ngroups:
            rows = known.index[values.transform("nunique") < 3]
            yield doubted(study, "untuned", rows, column=column, sizes=few)


def edge_of_grid(study: Study) -> Iterator[Doubt]:
    """Searches whose best setting is the smallest or largest that was tried."""
    for column in study.searched:
        rows = [best for best, cell in study.searches(column) if cell.edge[0]]
        if rows:
            yield doubted(study, "edge_of_grid", rows, column=column, sizes=len(rows))


def undertuned(study: Study) -> Iterator[Doubt]:
    """One size whose best losses lie above the curve of the other sizes.

    The curves are the parabolas of isoFLOP studies, where three or more have the size; else a parabola in
    ln N, and in ln D where that varies, through the best losses; or with few sizes the surface.
    """
    if study.isoflops:
        off, least = pd.concat([pd.Series(c.off, c.rows) for c in study.isoflops]), 3
    else:
        # where the data vary, one run of a size may be off because of its data
        off, least = study.off_line(), len(study.axes)
    few = not len(off)
    if few:  # too few sizes for a parabola; a surface fits all but the first and last size
        off, least = study.off_surface, 3
    by_size = off.groupby(study.frame[study.size].reindex(off.index)).agg(["median", "min", "count"])
    by_size = by_size[by_size["count"] >= least]
    if len(by_size) < FEWEST:
        return
    above = far_off(by_size["median"], least=1e-3) & (by_size["min"] > 0)
    if few:
        above.iloc[[0, -1]] = False
    # a parabola through single runs passes through three: three others must show the scatter
    if (by_size["count"] == 1).all() and (~above).sum() < 3 + 3:
        return
    for size in by_size.index[above]:
        of_size = study.frame[study.size] == size
        yield doubted(study, "undertuned", of_size, column=study.size, size=float(size))


def contaminated(study: Study) -> Iterator[Doubt]:
    """Scores better than the loss allows."""
    for column in study.scores:
        known = study.frame[[study.loss, column]].dropna()
        if len(known) < 12 or known[study.loss].nunique() < 12:
            continue
        share = known[column].to_numpy(float)
        share = share / 100 if share.max() > 1 else share  # percent
        asked = scores.questions(share) or scores.QUESTIONS
        curve = scores.ScoreCurve(str(study.loss), known[study.loss].to_numpy(float), share, questions=asked)
        if scores.left_chance(curve, str(column)) is not None:
            continue
        # the curve is fitted without scores that are too good: at first without those above the runs with the
        # next lower losses, then without those above the curve
        order = np.argsort(curve.loss)
        lower = [
            np.median(share[order[max(at - BETWEEN, 0) : at]]) if at else 1.0 for at in range(len(order))
        ]
        too_good = share - np.array(lower)[np.argsort(order)] > 2 * np.sqrt(curve.variance(share))
        clean = replace(curve, loss=curve.loss[~too_good], share=curve.share[~too_good])
        for most in (2.0, scores.STANDARD_ERRORS):
            expected = clean.expected(curve.loss)
            usual = median_scale((share - expected)[~too_good])
            scale = np.maximum(usual, np.sqrt(curve.variance(expected)))
            too_good = share - expected > most * scale
            clean = replace(curve, loss=curve.loss[~too_good], share=curve.share[~too_good])
        random = np.random.default_rng(0)
        for i in np.flatnonzero(too_good):
            off = (share[i] - clean.expected(curve.loss[[i]])) / scale[i]
            below, beyond = (np.sum(sign * (clean.loss - curve.loss[i]) > 0) for sign in (-1, 1))
            above = min(below, beyond) >= BETWEEN
            if not above:
                others = clean.draw(np.full(scores.DRAWS, curve.loss[i]), random)[1]
                above = share[i] > np.quantile(others, CERTAIN)
            too_good[i] = above and unlikely(off, len(share) * len(study.scores)).all()
        if too_good.any():
            what = Reason("audit_contaminated", study=study.label, column=str(column))
            lowest = np.array([curve.loss.min()])
            before, after = (float(each.expected(lowest)[0]) for each in (curve, clean))
            rows = tuple(known.index[too_good].tolist())
            yield Doubt("contaminated", rows, what, before, after, "score")


def _sizes(study: Study) -> Any:
    return study.loss and study.size


Check = tuple[Callable[[Study], Any], Callable[[Study], Iterator[Doubt]]]  # whether columns allow it, and it
CHECKS: dict[str, Check] = {
    "duplicates": (_sizes, duplicates),
    "few points": (lambda s: s.isoflops, few_points),
    "off centre": (lambda s: s.isoflops, off_centre),
    "outlying runs": (_sizes, outlying),
    "compute of 6ND": (lambda s: s.size and s.data and s.budget not in (None, PRODUCT), other_flops),
    "counts of parameters": (
        lambda s: len(counts_of_parameters(s)) > 1 or counted_otherwise(s).any(),
        counted_parameters,
    ),
    "schedules": (lambda s: s.schedules, mixed_schedules),
    "unfinished runs": (
        lambda s: (
            s.ends
            or s.done
            or s.columns(f"{FINISHED}|{STOPPED}|{NOTES}|{PROGRESS}")
            or s.frame["run"].duplicated().any()
        ),
        unfinished,
    ),
    "rows of another kind": (
        lambda s: s.columns(f"{HOW}|{NOTES}") or (_sizes(s) and s.data),
        of_another_kind,
    ),
    "seeds": (lambda s: _sizes(s) and any(is_seed(str(c)) for c in s.frame), unlike_seeds),
    "impossible values": (lambda s: s.loss, impossible),
    "units": (_sizes, other_units),
    "products": (_sizes, inconsistent),
    "training losses": (_sizes, training_gap),
    "parts of runs": (
        lambda s: _sizes(s) and s.columns("|".join(w for w, *_ in PARTS.values())),
        part_of_run,
    ),
    "untuned sizes": (lambda s: _sizes(s) and s.searched, untuned),
    "edge of a grid": (lambda s: _sizes(s) and s.searched, edge_of_grid),
    "undertuned size": (_sizes, undertuned),
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
    if isinstance(table, pd.DataFrame) and not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise BadInput(f"the table has two columns {twice!r}: rename or drop one")
    # of experts a token passes through the active parameters: its compute is 6 of each
    likely = {} if "n_params" in columns else {"n_params": "n_active"}
    curves = (
        table if isinstance(table, Curves) else readers.read_table(table, likely=likely, **columns).curves()
    )
    doubts, asked = list[Doubt](), set[str]()
    copies = curves.reading.copies if curves.reading else ()
    if copies:  # which the reader leaves out already
        doubts.append(Doubt("duplicates", copies, Reason("audit_duplicates", study="", count=len(copies))))
    for study in studies_of(curves):
        for name, (allowed, check) in CHECKS.items():
            if allowed(study):
                asked.add(name)
                doubts += check(study)
    return Audit(
        tuple(doubts), tuple(name for name in CHECKS if name in asked), len(curves.frame) + len(copies)
    )
