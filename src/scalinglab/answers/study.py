"""The studies of a table: their columns by meaning, isoFLOP curves, surfaces, and rows that repeat others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from scalinglab.curves import Curves
from scalinglab.curves.columns import FLOPS_PER_PARAM_EXAMPLE, is_seed, size_groups
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.laws import forms
from scalinglab.laws.fitting.data import points
from scalinglab.laws.fitting.data.from_curves import under_names
from scalinglab.laws.fitting.data.rows import DIGITS_OF_COPIES, digits, rises, splits
from scalinglab.laws.fitting.fit import fit_points, without_few
from scalinglab.laws.fitting.solution import Solution
from scalinglab.laws.fitting.statistics import huber_fits
from scalinglab.laws.surface import USUAL_DELTA
from scalinglab.laws.tuning.transfer import SETTINGS
from scalinglab.laws.tuning.valleys import Cell
from scalinglab.results.distributions import median_scale, slope

# columns that tell studies apart
KINDS = ("experiment", "source", "dataset", "model", "condition", "train_set", "task")
SIZED = r"(?i)\d\s*[kmbt](?![a-z])"  # the size in a name, as in 190M or lm-1.4b
DATA = ("n_data", "tokens", "tokens_trained", "examples")
BUDGETS = ("budget", "flops_budget", "compute_budget", "compute", "flops", "c")
FEWEST = 5  # chosen: sizes of an isoFLOP curve; a parabola has three parameters, and two show that it is one
PRODUCT = "__6ND"  # defined: the compute of a table that gives none
CENTRE = (0.1, 0.9)  # chosen: where a minimum lies inside the sizes, as a share of the range of ln N
WITHIN = 10.0  # guard: of 6 N D, for a column in a multiple of FLOPs
ENOUGH = 20  # chosen: runs of a surface off which one may lie: four for each of its parameters
ONE_LINE = 0.999  # chosen: the correlation of ln N and ln D from which on runs lie on one line
UNFINISHED = 0.98  # chosen: of the planned steps
# words of what is done of a run or planned, by unit; not of its beginning, its best point or distinct data
UNITS_OF_RUNS = ("step|iter|update", "tok(?:en|s|$|_)", "epoch", "image", "sample|example|seen")
NOT_OF_RUNS = r"warm|best|lowest|unique|distinct|batch|every|interval|freq|_per_|/|ratio|frac|share"
# columns that say how runs ended, and words for good and bad ends; other words in such columns are bad ends
ENDED = r"(?:^|_)(?:state|status|outcome|(?:exit|stop|end)_?(?:reason|status|code)|termination)$"
ENDED_WELL = ("finished", "completed", "complete", "done", "success", "successful", "succeeded", "ok")
ENDED_BADLY = ("running", "crashed", "failed", "killed", "preempted", "unfinished", "diverged")
# defined: columns that say where and when a run was kept
KEPT = (
    r"(?:^|_)(?:figure|panel|file(?:name)?|path|url|link|host|user|date|time(?:stamp)?|at|notes?|comments?|tags?"
    r"|(?:run|job)_?(?:id|name))$"
)
# defined: columns that say on what a run ran, that have what came of it, and that readers add to a table
WHERE = (
    r"gpu|node|devices?(?:_|$)|chips?(?:_|$)|accelerator|cluster|machine|region|partition|queue|worker|parallel"
    r"|accum|micro|wandb|owner|author|person|team|commit|branch|python|torch|cuda|driver|seconds|hours|restarts"
)
OUTCOMES = r"loss|err|acc|nll|bpb|bits|ppl|perplex|score|norm|hours|seconds|time|mfu|throughput"
ADDED = ("run", "repeat", PRODUCT)
FINISHED = r"^(?:is_|pct_|percent_)?(?:finished|completed?|done|progress)$"
STOPPED = r"(?:crash|kill|preempt|interrupt|abort|time[sd]?_?out|early_?stop|truncat|unfinish|incomplete)\w*$"
# of the rate along a run: the name of a schedule, the length or share of a part of it, the rate at its end
SCHEDULE = (
    r"^(?!.*(?:weight|w)_?decay).*(?:schedul|anneal|cool_?down|warm_?down|decay|cosine|cycle"
    r"|(?:final|min|end|last)_?(?:lr|rate|learning_?rate)(?:_?(?:frac|ratio|factor|share)\w*)?$|(?:lr|rate)_?(?:final|min|end)$)"
)
PHASE = r"(?:stable|constant|anneal\w*|decay\w*|cool\w*|warm\w*|cosine|linear|wsd|final|end)(?:[ _-]phase)?"
MINORITY = 1 / 3  # chosen: of a table, up to which rows of another kind are no half of a comparison
FEW_ROWS = 0.2  # chosen: of a table, up to which rows of another kind are an exception and no study
# chosen: Huber's, in standard deviations: so small that a wrong run hardly bends a curve of few; with 0.1 one
# of the faults of `benchmarks/audit.py` is lost
THRESHOLD = 0.05
SAME_COUNT = 0.02  # chosen: relative, within which a count is that of a formula: biases and norms add less
ROUNDED = 5.1e-3  # defined: relative, of a number to three digits
SAME_RATIO = 0.05  # chosen: lengths of a schedule over those of runs that differ by rounding, relative
# columns that say how a loss was measured or a run trained: rows with another value are another study
HOW = (
    r"tokeni[sz]er|vocab|bytes_per|(?:eval|valid|val|test|held_?out)\w*_?(?:set|data|split|suite|len|context|version"
    r"|code|tok|batch|iter)|(?:^|_)split$|harness|shots?$|prompt|metric|(?:^|_)units?$|reduction|smooth|(?:^|_)ema"
    r"|averag|checkpoint|ckpt|select|best_of|trials$|attempts$|loss_?(?:kind|type|of|name|on)|objective|measured|logged|reported|aggregat"
    r"|statistic|^n_?seeds|precision|dtype|optimi[sz]er|activation|architecture|^arch$|attention|t(?:ied|ying)"
    r"|position|rope|seq(?:uence)?_?len|context|ctx|data_?(?:set|mix|version)|corpus|mix(?:ture)?$|snapshot"
    r"|train(?:ing)?_?(?:data|set)|dedup|count(?:s|ed|ing)|parametri[sz]ation|code_?version"
)
SHARES = r"(?:^|_)(?:share|proportion|dropout|smoothing)(?:_|$)"  # of data mixtures, and of regularisation
PARTS_OF_DATA = r"fraction|subset|data|done|progress|complete|finish|warm|decay|cool|anneal"
LAYERS = r"^(?:n_?|num_?)?(?:hidden_?)?(?:layers?|depth)$"
WIDTH = r"width|d_?model|hidden_(?:size|dim)|embed_dim|n_embd|model_dim"
SIGNIFICANT = 0.01  # convention: the level of a test
FEW_KINDS = 3  # chosen: of numbers that tell kinds of schedules apart; more differ by being zero or not
# defined: multiples of FLOPs in which a compute is written, from giga to zetta
UNITS = (1.0, 1e9, 1e12, 1e15, 1e18, 1e21)
SCORE = (
    r"(?:^|[^a-z])(?:acc(?:uracy)?|score|exact_match|em|f1|pass_?(?:at_?)?\d+|mmlu|hellaswag|arc|piqa|siqa|boolq"
    r"|winogrande|lambada|gsm8k|humaneval|triviaqa|openbookqa|sciq|copa|bbh)(?:[^a-z]|$)"
)
LEAST_DECIMALS = 3  # convention: of a rounded loss that two runs hardly share by accident


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
    """The robust parabola through the runs of one compute."""
    x, y = np.log(size), np.log(loss)
    middle = x.mean()
    design = np.vander(x - middle, 3)
    found = robust_fit(design, y)
    best = middle - found[1] / (2 * found[0]) if found[0] != 0 else np.nan
    return Parabola(compute, rows, x, y - design @ found, float(found[0]), float(best))


def robust_fit(design: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Coefficients of a linear model by Huber's estimate; the shortest where several fit equally well."""
    basis, size, back = np.linalg.svd(design, full_matrices=False)
    known = size > 1e-9 * size[0]
    basis = basis[:, known]
    fitted = huber_fits(basis[None], y[None], THRESHOLD)[0][0] if len(y) > known.sum() else basis.T @ y
    return np.asarray((fitted / size[known]) @ back[known])


def off_fit(y: pd.Series, x: pd.DataFrame, degree: int = 1) -> pd.Series:
    """Residuals of y from a robust polynomial in the columns of x, without products of them."""
    centred = (x - x.mean()).to_numpy(float)
    design = np.hstack([np.ones((len(x), 1)), *(centred**k for k in range(1, degree + 1))])
    return y - design @ robust_fit(design, y.to_numpy(float))


def best_size_exponent(curves: Sequence[Parabola]) -> float:
    """The exponent a of N* ∝ C^a by a line through the minima; NaN of fewer than three."""
    inside = [c for c in curves if c.has_minimum]
    if len(inside) < 3:
        return float("nan")
    return slope([np.log(c.compute) for c in inside], [c.best for c in inside]).value


@dataclass(frozen=True, eq=False)
class Study:
    """The rows of one study.

    Attributes:
        name: empty where the table is one study.
        frame: the rows, indexed by their positions in the table.
        loss, size, data, budget: the columns of these meanings; None where there is none.
        names: what a column was called where it was read.
        copies: positions of rows that repeat others.
    """

    name: str
    frame: pd.DataFrame
    loss: str | None
    size: str | None
    data: str | None
    budget: str | None
    names: Mapping[str, str] = field(default_factory=dict)
    copies: frozenset[int] = frozenset()

    @property
    def label(self) -> str:
        """The name before a sentence; nothing where the table is one study."""
        return f"{self.name}: " if self.name else ""

    @property
    def first(self) -> pd.DataFrame:
        """The rows that are no copies of others, which would make the scatter small."""
        return self.frame[~self.frame.index.isin(self.copies)]

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """The columns of numbers."""
        return self.frame.select_dtypes("number")

    def columns(self, words: str) -> list[str]:
        """Columns whose name, or its last part (config.optim.decay), has one of the words."""
        last = {str(c): re.split(r"[./]", str(c))[-1] for c in self.frame}
        return [c for c, name in last.items() if re.search(words, name, re.IGNORECASE)]

    def lengths(self, unit: str) -> list[str]:
        """Columns of numbers that count the steps, tokens, … that runs did or planned."""
        named = self.columns(unit)
        return [c for c in named if c in self.numbers and not re.search(NOT_OF_RUNS, c.lower())]

    @cached_property
    def scores(self) -> list[str]:
        """Columns of scores, as shares or in percent."""
        return [c for c in self.columns(SCORE) if c in self.numbers and self.numbers[c].between(0, 100).all()]

    @cached_property
    def setting(self) -> pd.Series:
        """The number of each row's setting, by all columns but outcomes, seeds and where runs were kept."""
        other = (self.loss, *ADDED, *self.scores, *self.columns(f"{KEPT}|{OUTCOMES}"))
        columns = [c for c in self.frame if c not in other and not is_seed(str(c))]
        return self.frame[columns].astype(str).groupby(columns, sort=False).ngroup()

    @cached_property
    def schedules(self) -> dict[str, pd.Series]:
        """The kind of schedule of every row, by column.

        Numbers are taken relative to the steps, the tokens or the rate of the run, whichever gives the fewest
        kinds.
        """
        numbers, found = self.numbers, dict[str, pd.Series]()
        units = [numbers[c] for c in ("step", "tokens", self.data, "learning_rate") if c in numbers]
        for column in self.columns(SCHEDULE):
            found[column] = self.frame[column]
            if column in numbers:
                ratios = [
                    pd.Series(size_groups(numbers[column] / unit, SAME_RATIO), numbers.index)
                    for unit in (1.0, *units)
                ]
                fewest = min(ratios, key=lambda ratio: int(ratio.nunique()))
                usual = fewest == fewest.mode().iloc[0] if fewest.notna().any() else fewest
                if fewest.nunique() <= FEW_KINDS:
                    found[column] = fewest
                else:
                    found[column] = usual if usual.mean() >= 1 - FEW_ROWS else numbers[column] > 0
        return {**found, **{c: self.frame[c] for c in self.frame if is_phase(self.frame[c])}}

    def of_run(self, done: pd.Series) -> pd.Series:
        """The largest value of each run, which may have several rows."""
        return done.groupby(self.frame["run"]).transform("max") if "run" in self.frame else done

    @cached_property
    def done(self) -> list[pd.Series]:
        """The part of its plan that each run did, by two columns of one unit that agree for most runs."""
        found = list[pd.Series]()
        for unit in UNITS_OF_RUNS:
            for column, planned in permutations(self.lengths(unit), 2):
                part = self.of_run(self.numbers[column]) / self.numbers[planned]
                if part.max() < 2 - UNFINISHED and (part > UNFINISHED).sum() > 0.5 * part.count():
                    found.append(part)
        return found

    def part_of_run(self, column: str) -> pd.Series:
        """A number of steps, tokens, … relative to those of the run; a share as it is."""
        numbers = self.numbers
        if numbers[column].max() <= 1 or re.search("pct|percent", column.lower()):
            return numbers[column] / (100 if numbers[column].max() > 1 else 1)
        unit = next((u for u in UNITS_OF_RUNS if re.search(u, column.lower())), UNITS_OF_RUNS[0])
        wholes = [numbers[c] for c in self.lengths(unit) if c != column]
        if unit in UNITS_OF_RUNS[1::3] and self.data is not None:
            wholes.append(numbers[self.data])
        batches = [c for c in self.columns("batch") if c in numbers and "tok" in c.lower()]
        if not wholes and batches and self.data is not None:
            wholes.append(numbers[self.data] / numbers[batches[0]])
        return numbers[column] / pd.concat([*wholes, numbers[column] * np.nan], axis=1).max(axis=1)

    @cached_property
    def ends(self) -> dict[str, pd.Series]:
        """Columns of words that say how the runs ended, in lower case; the most common one is a good end."""
        found = dict[str, pd.Series]()
        for column in self.frame:
            words = self.frame[column]
            if pd.api.types.is_float_dtype(words) or not words.notna().any():
                continue
            words = words.where(words.isna(), words.astype(str).str.lower())
            known = words.dropna()
            if column in self.columns(ENDED) and not known.isin(ENDED_BADLY).mean() > 0.5:
                found[column] = words.replace(known.mode().iloc[0], ENDED_WELL[0])
            elif known.isin((*ENDED_WELL, *ENDED_BADLY)).mean() > 0.5:
                found[column] = words
        return found

    @cached_property
    def searched(self) -> list[str]:
        """Settings that are searched at a size: known ones, and others whose best value lies inside."""
        numbers = self.numbers
        outcomes = {*self.columns(OUTCOMES), *self.scores, *self.columns(PARTS_OF_DATA)}
        shares = [
            c for c in numbers if c not in outcomes and numbers[c].between(0, 1).all() and not is_seed(c)
        ]
        settings = dict.fromkeys((*SETTINGS, *self.columns(SHARES), *shares))
        known = [c for c in settings if c in numbers and numbers[c].nunique() > 1]
        own = (self.loss, self.size, self.data, self.budget, *known, *self.scores, "run", "repeat")
        progress = "|".join((*(f"^(?!.*batch).*(?:{unit})" for unit in UNITS_OF_RUNS), KEPT))
        for column in (c for c in numbers if c not in own and not is_seed(c)):
            if 2 < numbers[column].nunique() <= len(numbers) // 3 and column not in self.columns(progress):
                edges = [cell.edge[0] for _, cell in self.searches(column)]
                if len(edges) > 1 and np.mean(edges) <= 0.5:
                    known.append(column)
        return known

    def searches(self, column: str) -> Iterator[tuple[int, Cell]]:
        """For every size the row of its best run, and its runs by the value of a setting."""
        known = self.frame.dropna(subset=[column, self.loss])
        for _, rows in known.groupby(self.cell):
            if rows[column].nunique() > 2:
                values = rows[[column]].to_numpy(float), rows[self.loss].to_numpy(float)
                yield int(rows[self.loss].idxmin()), Cell(np.zeros(0), *values)

    def parabolas(self, without: Sequence[int] = ()) -> list[Parabola]:
        """The isoFLOP curves without some rows, of three sizes or more; none where no compute is shared."""
        if None in (self.budget, self.loss, self.size):
            return []
        known = self.frame[~self.frame.index.isin(without)]
        known = known[(known[[self.budget, self.loss, self.size]] > 0).all(axis=1)]
        if known.empty:
            return []
        label = pd.Series(size_groups(known[self.budget]), known.index)
        if self.data is not None and label.nunique() > known[self.data].nunique():
            return []  # a grid of N and D, some of whose products agree
        found = []
        for _, rows in known.groupby(label):
            if rows[self.size].nunique() >= 3:
                values = (rows[c].to_numpy(float) for c in (self.size, self.loss))
                found.append(parabola(float(rows[self.budget].median()), rows.index.to_numpy(), *values))
        shared = sum(len(c.rows) for c in found)
        return found if len(found) >= 2 and shared >= 0.5 * len(known) else []

    @cached_property
    def isoflops(self) -> list[Parabola]:
        """The isoFLOP curves of all rows."""
        return self.parabolas()

    @cached_property
    def off_surface(self) -> pd.Series:
        """ln loss minus a robust surface of N and D, by row; empty where they do not determine one.

        Of isoFLOP studies of all runs, of others of the best of each size: a search has worse ones.
        """
        columns = [self.size, self.data, self.loss]
        none = pd.Series(dtype=float)
        if None in columns:
            return none
        known = (self.first if self.isoflops else self.best_losses())[columns].dropna()
        known = known[(known > 0).all(axis=1)]
        if not self.isoflops and len(known) < ENOUGH:
            return none
        size, data, loss = known.to_numpy(float).T
        try:
            known_points = points.check((size, data), loss, names=("n_params", "n_data"))
            law: Solution = fit_points(forms.get("chinchilla"), known_points, delta=USUAL_DELTA)
            if (others := without_few(law)) is not None:
                law = others[0]
        except ScalinglabError:
            return none
        return pd.Series(np.log(loss) - np.log(law.at((size, data))), known.index)

    @cached_property
    def axes(self) -> list[str]:
        """The columns of sizes of which the best runs have three or more; one where these lie on a line."""
        best = self.best_losses()
        found = [c for c in self.cell if best[c].nunique() > 2]
        on_a_line = len(found) == 2 and abs(np.corrcoef(np.log(best[found].T))[0, 1]) > ONE_LINE
        return found[:1] if on_a_line else found

    def off_line(self, rows: pd.DataFrame | None = None) -> pd.Series:
        """ln loss minus a robust parabola in the logarithms of `axes`; by default of the best runs."""
        best = self.best_losses() if rows is None else rows.dropna(subset=[self.loss, *self.cell])
        best = best[(best[[self.loss, *self.cell]] > 0).all(axis=1)]
        if best[self.size].nunique() < FEWEST + 1 or len(best) < 3 * len(self.axes) + 3:
            return pd.Series(dtype=float)
        return off_fit(np.log(best[self.loss]), np.log(best[self.axes]), degree=2)

    def best_losses(self, without: Sequence[int] = ()) -> pd.DataFrame:
        """The run with the lowest loss of every size, and of every amount of data where that varies."""
        known = self.first[~self.first.index.isin(without)]
        known = known[(known[[self.loss, self.size]] > 0).all(axis=1)]
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


def is_phase(values: pd.Series) -> bool:
    """Whether these say in which part of its schedule a run was measured.

    >>> is_phase(pd.Series(["stable", "annealed", "annealed"])), is_phase(pd.Series(["c4", "pile"]))
    (True, False)
    """
    if pd.api.types.is_numeric_dtype(values):
        return False
    words = values.dropna().astype(str)
    return bool(words.nunique() > 1 and words.str.fullmatch(PHASE, case=False).all())


def few_of_a_kind(values: pd.Series) -> pd.Series:
    """Rows with other values than most rows, where these are few; none where they are more, or a study.

    >>> few_of_a_kind(pd.Series(["c4"] * 9 + ["pile"])).sum(), few_of_a_kind(pd.Series([1, 2] * 5)).sum()
    (np.int64(1), np.int64(0))
    """
    counts = values.value_counts(dropna=False)
    few = len(counts) > 1 and counts.iloc[0] >= (1 - FEW_ROWS) * len(values) and counts.iloc[1] <= FEWEST
    other = values.isna() if few and pd.isna(counts.index[0]) else values == counts.index[0]
    return ~other if few else pd.Series(False, index=values.index)


def minority(study: Study, column: str) -> pd.Series:
    """Rows that were measured or trained otherwise than most: few, or of sizes that only they have.

    None where runs of the same sizes have either, which is a comparison.
    """
    values = study.frame[column]
    few = few_of_a_kind(values)
    if few.any() or study.size is None or not 1 < values.nunique() <= FEW_KINDS:
        return few
    other = values != values.mode().iloc[0]
    ends = study.frame.groupby(values)[study.size].agg(["min", "max"]).sort_values("min").to_numpy()
    apart = bool((ends[:-1, 1] < ends[1:, 0]).all())
    if not pd.api.types.is_numeric_dtype(values):  # of words, no size has both, or of a minority no run has
        sizes = study.cell if other.mean() <= MINORITY else study.size
        apart |= study.frame.groupby(sizes)[column].nunique().max() == 1
    return other & apart


def counted_otherwise(study: Study) -> pd.Series:
    """Rows whose parameters are another sum of 12 · layers · width² and embeddings than those of most."""
    numbers, none = study.numbers, pd.Series(False, index=study.frame.index)
    if study.size not in numbers:
        return none
    sums = [c for c in numbers if c != study.size and re.search("param", c) and numbers[c].min() > 0]
    for two in permutations(sums, 2):  # most rows are the sum of two parts, all others one of them
        ratio = [numbers[study.size] / part for part in (numbers[[*two]].sum(axis=1), numbers[two[0]])]
        whole, alone = ((each - 1).abs() < SAME_COUNT / 10 for each in ratio)
        if (whole ^ alone).all() and whole.any() and alone.any():
            return alone if whole.mean() > 0.5 else whole
    found = [
        next((c for c in study.columns(words) if c in numbers), None) for words in (LAYERS, WIDTH, "vocab")
    ]
    if None in found:
        return none
    layers, width, vocabulary = (numbers[c] for c in found)
    body, embedding = 12 * layers * width**2, vocabulary * width
    off = pd.DataFrame({n: (numbers[study.size] / (body + n * embedding) - 1).abs() for n in (0, 1, 2)})
    known = (off.min(axis=1) < SAME_COUNT) & (embedding / body > 2 * SAME_COUNT)
    if known.mean() <= 0.5:
        return none
    kind = off[known].idxmin(axis=1)
    return none.where(~known, kind.reindex(none.index) != kind.mode().iloc[0]).astype(bool)


# --- rows that repeat others ------------------------------------------------------------------------------


def copied(study: Study) -> pd.Series:
    """Rows that repeat others to five digits in every setting and the loss, wherever they were kept.

    The data of an isoFLOP study follow from compute and size and may be counted differently.
    """
    # the reader numbers rows of the same settings
    compared = study.frame.drop(columns=["run", "repeat", "source", *study.columns(KEPT)], errors="ignore")
    if study.data is not None and study.isoflops:
        compared = compared.drop(columns=[c for c in DATA if c in compared])
    numbers = compared.select_dtypes("number")
    settings = compared.astype(str).assign(**numbers.map(lambda v: f"{v:.{DIGITS_OF_COPIES}g}"))
    copies = settings.duplicated(keep="first")
    seeds = [c for c in compared if is_seed(c)]
    # under another seed or name only equal losses of many digits show a copy
    loss = study.frame[study.loss].map(lambda v: f"{v:.7g}" if seeds else repr(v))
    exact = settings[[*numbers]].assign(**{str(study.loss): loss}).drop(columns=seeds, errors="ignore")
    many = digits(loss) >= DIGITS_OF_COPIES
    beside = [c for c in numbers if c != study.loss and re.search("loss|err|acc|nll|bpb", str(c))]
    if beside:  # two measurements of four digits each
        many |= digits(loss) + digits(study.frame[beside[0]]) >= DIGITS_OF_COPIES + 2
    copies |= exact.duplicated(keep="first") & many
    # with seeds no two runs are of one setting
    one = settings.groupby([c for c in settings if c != study.loss], sort=False).ngroup().to_numpy()
    copies |= printed_again(study, np.arange(len(one)) if seeds else one)
    return copies & study.frame[study.loss].notna()  # runs that diverged are alike


def decimals(values: Any) -> np.ndarray:
    """How many digits each number has after its point, as it is printed."""
    return np.array([len(repr(float(v)).partition(".")[2]) for v in values])


def printed_again(study: Study, setting: np.ndarray) -> np.ndarray:
    """Rows with the rounded loss of another row of their setting, or of sizes that differ by rounding."""
    sizes, losses = study.frame[study.cell].to_numpy(float), study.frame[study.loss].to_numpy(float)
    length = decimals(losses)
    again = np.zeros(len(losses), bool)
    for row in np.flatnonzero((length >= LEAST_DECIMALS - 1) & np.isfinite(losses)):
        rounded = (losses.round(length[row]) == losses[row]) & (length > length[row])
        close = (np.abs(sizes - sizes[row]) <= ROUNDED * sizes[row]).all(axis=1)
        close &= (sizes != sizes[row]).any(axis=1) & (length[row] < np.argmax(np.bincount(length)))
        same = (setting == setting[row]) & (length[row] >= LEAST_DECIMALS)
        again[row] = (rounded & (close | same)).any()
    return again


def copied_across(studies: Sequence[Study]) -> list[pd.Series]:
    """Of each study the rows with the sizes and the loss of a row of an earlier one.

    Two readings of one source share most of their rows, and are none.
    """
    known, found = list[pd.DataFrame](), list[pd.Series]()
    for study in studies:
        columns = [*study.cell, study.loss]
        printed = study.frame[columns].map(lambda v: f"{v:.{DIGITS_OF_COPIES}g}")
        enough = digits(printed[study.loss]) > LEAST_DECIMALS  # fewer may be another run's by accident
        shared = [enough & printed.agg(tuple, axis=1).isin(each.agg(tuple, axis=1)) for each in known]
        # one may be a coincidence of runs on the same grid
        few = [s for s, each in zip(shared, known, strict=True) if 1 < s.sum() < min(len(s), len(each)) / 2]
        found.append(pd.concat(few, axis=1).any(axis=1) if few else pd.Series(False, index=printed.index))
        known.append(printed)
    return found


def mean_rows(study: Study) -> pd.Series:
    """Rows whose loss is the mean of the other runs of their setting, to its last digit, in most settings."""
    loss, setting = study.frame[study.loss], study.setting
    groups = loss.groupby(setting)
    count, total = groups.transform("size"), groups.transform("sum")
    near = (loss - (total - loss) / (count - 1).clip(lower=1)).abs() < 0.75 * last_digit(loss)
    found = near & (count >= 3)
    several, settings = setting[count >= 3].nunique(), setting[found]
    return found & (2 < several <= 2 * settings.nunique()) & (2 * len(settings) <= 3 * settings.nunique())


def last_digit(values: pd.Series) -> float:
    """The unit of the last digit of printed numbers."""
    return float(10.0 ** -decimals(values.dropna()).max())


def equal_seeds(study: Study) -> pd.Series:
    """Runs of one setting with equal losses, where seeds scatter by more than the last digit."""
    loss = study.frame[study.loss]
    groups = np.log(loss.where(loss > 0)).groupby(study.setting)
    spread, number = groups.transform("std"), groups.transform("size")
    usual = spread[spread > 0].median()
    same = loss.groupby([study.setting, loss])
    equal = int((same.cumcount() > 0).sum())
    if not equal or not usual > 0:
        return pd.Series(False, index=loss.index)
    chance = last_digit(loss) / (2 * np.sqrt(np.pi) * usual * loss)  # that two Gaussian runs agree
    expected = float((chance * (number - 1) / 2).sum())
    return (same.transform("size") > 1) & bool(stats.poisson.sf(equal - 1, expected) < SIGNIFICANT)


# --- the studies of a table -------------------------------------------------------------------------------


def studies_of(curves: Curves) -> list[Study]:
    """The rows by what tells studies apart, with the columns' meanings."""
    frame = under_names(curves.frame.reset_index(drop=True), SETTINGS)
    if frame.empty:
        raise BadInput("the table has no rows")
    left_out = curves.reading.copies if curves.reading else ()
    frame.index = np.delete(np.arange(len(frame) + len(left_out)), left_out)

    def first(*names: str) -> str | None:
        here = (curves.resolve(name) for name in names)
        return next((n for n in here if n in frame and pd.api.types.is_numeric_dtype(frame[n])), None)

    loss = None if rises(curves.default_measure) else first(curves.default_measure)
    size, data, budget = first("n_params", "params", "params_total", "width"), first(*DATA), first(*BUDGETS)
    if size is None:  # a study of the data alone
        size, data = data, None
    if budget is None and size and data:
        product, budget = FLOPS_PER_PARAM_EXAMPLE * frame[size] * frame[data], PRODUCT
        values = product
        for column in frame.select_dtypes("number").filter(regex=r"(?i)flops?$|compute"):
            ratio = float((product / frame[column]).median())
            unit = min(UNITS, key=lambda u: abs(np.log(ratio / u)) if ratio > 0 else np.inf)
            if ratio > 0 and abs(np.log(ratio / unit)) < np.log(WITHIN):
                budget, values = str(column), unit * frame[column]
        frame = frame.assign(**{budget: values})
    names = {ours: theirs for theirs, ours in curves.names.items()}
    whole = Study("", frame, loss, size, data, budget, names)
    kinds, declaring = _dividing(whole)
    declared = _split(whole, ["experiment"] if "experiment" in kinds else kinds)
    if loss and size:
        copies = [copied(one) for one in declared]
        if "experiment" not in kinds:  # experiments may share runs, such as those of two readers of one paper
            copies = [own | across for own, across in zip(copies, copied_across(declared), strict=True)]
        pairs = zip(declared, copies, strict=True)
        declared = [replace(one, copies=frozenset(copy.index[copy])) for one, copy in pairs]
    return [study for one in declared for study in _split(one, declaring)]


def _dividing(whole: Study) -> tuple[list[str], list[str]]:
    """The columns that divide a table into studies: those of known names, and others of words."""
    frame, size = whole.frame, whole.size
    texts = frame.select_dtypes(exclude=["number", "bool"]).columns
    known = re.compile("|".join((SCHEDULE, FINISHED, KEPT, ENDED)), re.IGNORECASE)
    changed = {c for c in whole.columns(HOW) if minority(whole, c).any()}
    # a size's name is no kind
    sized = {k for k in texts if size is not None and frame[k].astype(str).str.contains(SIZED).all()}
    kinds = [k for k in KINDS if k in frame and k not in (*changed, *sized)]
    declaring = [
        c for c in texts
        if c not in ("run", *KINDS, *changed) and not known.search(str(c)) and not is_seed(c)
        and not is_phase(frame[c])
    ]  # fmt: skip

    def several(column: str) -> bool:
        many = 1 < frame[column].nunique(dropna=False) <= len(frame) // 6
        return bool(many and not few_of_a_kind(frame[column]).any())

    kinds, declaring = ([c for c in each if several(c)] for each in (kinds, declaring))
    if size is not None:
        declaring = [c for c in declaring if frame.groupby(c)[size].nunique().min() > 1 and differs(whole, c)]
    return kinds, declaring


def differs(study: Study, column: str) -> bool:
    """Whether the losses of the kinds of a column differ, or runs of one size compare them."""
    if study.data is not None:  # names of ratios of data to parameters, as 20x, are no kinds
        ratio = np.log(study.frame[study.data] / study.frame[study.size]).groupby(study.frame[column])
        low, high = ratio.agg(["min", "max"]).sort_values("min").to_numpy().T
        if np.max(high - low) < np.min(low[1:] - high[:-1], initial=np.inf):
            return False
    if study.frame.groupby(study.cell)[column].nunique().median() > 1:
        return True
    p = splits(study.first, study.cell, str(study.loss), column)
    return p is None or p < SIGNIFICANT


def _split(study: Study, columns: list[str]) -> list[Study]:
    """The study by the values of columns."""
    if not columns:
        return [study]
    groups = study.frame.groupby(columns, dropna=False, sort=False)
    return [
        replace(study, name=" ".join([study.name, *map(str, name)]).strip(), frame=rows)
        for name, rows in groups
    ]
