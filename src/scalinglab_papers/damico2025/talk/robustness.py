"""The talk's robustness checks: weight decay, SGD, other norms; bf16 against tf32.

The talk gives results without numbers: the picture is the same in all cases; with weight decay and SGD γ₁γ₂
is compatible with γ, which is the same as before; under the norms ℓ1, ℓ2, G₂,₁ and spectral it is not, so
that spectral complexity is special. The (2,1) norm is a sum in the talk and an average in the paper's text:
both stand here, and eq. 2 beside what the authors' code computes.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from scalinglab.curves import Curves
from scalinglab.figures.collapse import draw_collapse, draw_curves, plain_ticks, sizes_legend
from scalinglab.figures.style import panels_for
from scalinglab.laws.learning_curves.dynamical import RESOLUTION
from scalinglab.results.distributions import Estimate
from scalinglab.studies import Number, Reproduction, Row, jackknife, mean, trained
from scalinglab_papers.damico2025 import study
from scalinglab_papers.damico2025.curves import early_row, monotone, plain_curves, small_print
from scalinglab_papers.damico2025.pairs import (
    AS_PUBLISHED,
    EQ2,
    NORMS,
    OURS,
    Pair,
    analysed,
    joined_curves,
    our_pairs,
    with_norm,
)
from scalinglab_papers.damico2025.tables import differences

FEW = 6  # pairs whose panels are as large as those of a single one
SPECIAL = (EQ2, AS_PUBLISHED, "eq. 2, average over columns")


def bases_of(scale: str) -> list[str]:
    """The pairs whose variants are looked at."""
    if scale == "laptop":
        return ["CNN MNIST"]
    return [pair.split(" ")[0] + " digits" if scale == "smoke" else pair for pair in study.VARIED]


def variants(scale: str, *changed: str) -> Reproduction:
    """Variants of the pairs, as far as there are runs of them, each beside its pair."""
    named = {f"{base}, {variant}": base for base in bases_of(scale) for variant in changed}
    made = our_pairs(scale, trained.run_storage(), [*dict.fromkeys(named.values()), *named])
    own = [pair for pair in made if pair.name in named]
    if not own:
        raise study.missing_runs(scale, next(iter(named)))
    rows = []
    for pair in own:
        if pair.runs:  # at scale smoke ResNets and ViTs have two sizes, and no laws
            rows += differences(pair)
            before = [p for p in made if p.name == named[pair.name] and p.norm == pair.norm]
            rows += [_same_gamma(pair, other) for other in before]
        rows.append(monotone(pair, "the paper asks whether it stays monotone; from the first epoch on"))
    return Reproduction(
        joined_curves(made), _curves_and_collapse([pair for pair in own if pair.runs]), tuple(rows)
    )


def _same_gamma(pair: Pair, base: Pair) -> Row:
    """γ of a variant less that of Adam without decay, at equal sizes and after as many epochs."""
    note = "the talk: the same γ as before; at the sizes that both have, after as many epochs"
    name = f"{pair.label}: γ − γ with Adam"
    base = restricted(base, {run.size for run in pair.runs}, pair.curves.frame["epoch"].max())
    if pair.found is None or base.found is None:
        return Row(name, None, expected=0.0, resolution=RESOLUTION, note=pair.why or base.why)
    new, old = pair.found.gamma_measured, base.found.gamma_measured
    return Row(name, new.value - old.value, math.hypot(new.stderr, old.stderr), len(pair.runs) - 1,
               expected=0.0, resolution=RESOLUTION * abs(old.value), note=note)  # fmt: skip


def restricted(pair: Pair, sizes: set[float], epochs: float = math.inf) -> Pair:
    """A pair restricted to some training sizes, and to the first epochs."""
    frame = pair.curves.frame
    kept = frame[frame["n_data"].isin(sizes) & (frame["epoch"] <= 1.01 * epochs)]
    return pair if len(kept) == len(frame) else analysed(pair.name, pair.origin, pair.norm, kept)


def _curves_and_collapse(made: list[Pair]) -> Figure:
    """Two panels for each: the curves, and the collapse at the positions."""
    few = len(made) <= FEW
    figure, axes = panels_for(2 * len(made), 4 if few else 8, size=(3.8, 2.9) if few else (2.5, 2.2))
    for (left, right), pair in zip(axes.reshape(-1, 2), made, strict=True):
        if pair.found is None:
            plain_curves(left, pair)
            left.set_title(pair.label)
            right.set_axis_off()
        else:
            draw_curves(left, pair.found, pair.runs, title=f"{pair.label}\nγ₁ = {pair.found.gamma_1}")
            draw_collapse(right, pair.found.collapse, "norm", "test error")
            plain_ticks(right, "y")
        sizes_legend(left, [run.size for run in pair.runs], "P", loc="lower left")
        plain_ticks(left, "y")
    if not few:
        small_print(axes)
    return figure


# --- other norms -----------------------------------------------------------------------------------------


def norms(scale: str) -> Reproduction:
    """γ₁γ₂ against γ, and how well early curves agree, under every norm that is measured."""
    bases = bases_of(scale)[: 1 if scale == "smoke" else None]  # of the others two sizes: no laws
    made = our_pairs(scale, trained.run_storage(), bases, tuple(NORMS))
    if not made:
        raise study.missing_runs(scale, bases[0])
    rows = []
    for pair in made:
        rows += [_relative(pair, by) for by in ("optimum", "collapse")]
        name = f"{pair.name}, {pair.norm}"
        rows.append(early_row(pair, name, "how well the early curves of all sizes fall on one"))
    return Reproduction(joined_curves(made), _curves_and_collapse(list(made)), tuple(rows))


def _relative(pair: Pair, by: str) -> Row:
    """(γ₁γ₂ − γ)/γ: 0 where the laws combine."""
    name = f"{pair.name}, {pair.norm}: (γ₁γ₂ − γ)/γ, γ₂ of the {by}"
    claim = "compatible" if pair.norm in SPECIAL else "not equal under this norm"
    if pair.found is None:
        return Row(name, None, expected=0.0, resolution=RESOLUTION, note=pair.why)
    found, gamma = pair.found.difference(by), abs(pair.found.gamma_measured.value)
    second = pair.found.gamma_2_optimum if by == "optimum" else pair.found.gamma_2
    return Row(
        name, found.value / gamma, found.stderr / gamma, len(pair.runs) - 1, expected=0.0,
        resolution=RESOLUTION,
        note=f"{pair.found.verdict(by)} by our error; the talk: {claim}; "
        f"γ₁ = {pair.found.gamma_1}, γ₂ = {second}",
    )  # fmt: skip


# --- precision -------------------------------------------------------------------------------------------


def precision(scale: str) -> Reproduction:
    """Exponents and norms of bf16 runs against tf32 runs of the same seeds, at the checkpoints of both."""
    base = bases_of(scale)[0]
    name = f"{base}, tf32"
    fast, exact = study.required_runs(scale, base), study.required_runs(scale, name)
    common = fast.frame[KEYS].merge(exact.frame[KEYS])
    fast, exact = (_at_rows(curves, common) for curves in (fast, exact))
    rows, made = [], []
    for norm in (EQ2, AS_PUBLISHED):
        low = analysed(f"{base}, bf16", OURS, norm, with_norm(fast, norm))
        high = analysed(name, OURS, norm, with_norm(exact, norm))
        made += [low, high]
        rows += _exponents(low, high, norm)
        rows.append(
            _shift(low.curves, high.curves, "norm", "last").row(
                f"{norm}: ln of the last norm, bf16 less tf32", expected=0.0, resolution=0.02,
                note="mean over pairs of runs of one seed",
            )
        )  # fmt: skip
    rows.append(
        _shift(fast, exact, "test_error", "mean").row(
            "ln of the test error, bf16 less tf32, mean over checkpoints", expected=0.0, resolution=0.02,
            note="over pairs of runs of one seed",
        )
    )  # fmt: skip
    return Reproduction(joined_curves(made), _curves_and_collapse(made), tuple(rows))


def _at_rows(curves: Curves, rows: pd.DataFrame) -> Curves:
    """The checkpoints of these sizes, seeds and steps, from the first epoch on."""
    frame = curves.frame.merge(rows)
    return Curves(frame[frame["epoch"] >= 1 - 1e-6].reset_index(drop=True), settings=curves.setting_columns)


KEYS = ["n_data", "seed", "step"]


def _shift(fast: Curves, exact: Curves, column: str, of: str) -> Number:
    """ln of a column of bf16 over that of tf32 in pairs of runs of one seed: its "mean" or its "last"."""
    one, two = (curves.frame.set_index(KEYS)[column] for curves in (fast, exact))
    ratio = np.log(one / two).dropna().reset_index().sort_values("step")
    return mean(ratio.groupby(["n_data", "seed"])[column].agg(of).to_numpy())


EXPONENTS = {
    "γ₁": "gamma_1", "γ₂ of the optima": "gamma_2_optimum", "γ₂ of the collapse": "gamma_2",
    "γ": "gamma_measured",
}  # fmt: skip


def _exponents(low: Pair, high: Pair, norm: str) -> list[Row]:
    """Each exponent of bf16 less that of tf32; errors by leaving out one training size at a time.

    Both see the same seeds, subsets and order, so that their own errors are not those of the difference.
    """
    sizes = [run.size for run in low.runs]
    without = [(restricted(low, set(sizes) - {one}), restricted(high, set(sizes) - {one})) for one in sizes]
    rows = []
    for symbol, attribute in EXPONENTS.items():
        name = f"{norm}: {symbol}, bf16 less tf32"
        change, exact = _change(low, high, attribute), high.found
        left_out = [_change(*some, attribute) for some in without]
        if change is None or exact is None:
            rows.append(Row(name, None, expected=0.0, note=low.why or high.why))
            continue
        own: Estimate = getattr(exact, attribute)
        known = [value for value in left_out if value is not None]
        error = jackknife(known) if len(known) == len(sizes) else math.sqrt(2) * own.stderr
        rows.append(
            Row(name, change, error, len(sizes), expected=0.0, resolution=RESOLUTION * abs(own.value),
                note=f"{high.name}: {own}; error by leaving out one of {len(sizes)} sizes")
        )  # fmt: skip
    return rows


def _change(low: Pair, high: Pair, attribute: str) -> float | None:
    if low.found is None or high.found is None:
        return None
    return float(getattr(low.found, attribute).value - getattr(high.found, attribute).value)
