"""Tables 1 and 2, and the talk's newer Table 1: exponents of the published curves and of our own runs.

γ₂ stands in every table twice: from the optima, as the paper defines it, and from the collapse. γ₁γ₂ against
γ is judged by our own error. The prediction from the collapse uses the heights ε_opt that γ is fitted to, so
its agreement is nearly circular; the one from the optima is the test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves.dynamical import RESOLUTION
from scalinglab.results.distributions import Estimate
from scalinglab.studies import NUMERICAL, Reproduction, Row, rounded, trained
from scalinglab_papers.damico2025 import study
from scalinglab_papers.damico2025.against_published import exponent_rows
from scalinglab_papers.damico2025.curves import analysed
from scalinglab_papers.damico2025.pairs import (
    AS_PUBLISHED,
    OURS,
    STAND_IN,
    Pair,
    joined_curves,
    our_pairs,
    published_tables,
)
from scalinglab_papers.damico2025.published import CURVES, MAY_CURVES, WINDOWS, authors_exponents
from scalinglab_papers.damico2025.study import PAIRS

# γ_pred, γ_meas, σ
TABLE_1 = {
    "CNN MNIST": (0.88, 0.52, 0.38), "CNN CIFAR10": (0.28, 0.25, 0.07), "CNN CIFAR100": (0.16, 0.16, 0.03),
    "ResNet MNIST": (0.57, 0.69, 0.08), "ResNet CIFAR10": (0.50, 0.54, 0.05),
    "ResNet CIFAR100": (0.34, 0.37, 0.05), "ViT MNIST": (0.47, 0.54, 0.03), "ViT CIFAR10": (0.23, 0.20, 0.04),
    "ViT CIFAR100": (0.21, 0.11, 0.08),
}  # fmt: skip
TALK_TABLE_1 = {
    "CNN MNIST": (0.60, 0.55, 0.09), "CNN CIFAR10": (0.28, 0.25, 0.07), "CNN CIFAR100": (0.16, 0.16, 0.03),
    "ResNet MNIST": (0.57, 0.69, 0.08), "ResNet CIFAR10": (0.54, 0.56, 0.04),
    "ResNet CIFAR100": (0.31, 0.37, 0.03), "ViT MNIST": (0.47, 0.54, 0.03), "ViT CIFAR10": (0.23, 0.21, 0.03),
    "ViT CIFAR100": (0.14, 0.12, 0.04),
}  # fmt: skip
# γ₁, σ₁, γ₂, σ₂
TABLE_2 = {
    "CNN MNIST": (0.46, 0.05, 1.94, 0.80), "CNN CIFAR10": (0.21, 0.01, 1.32, 0.32),
    "CNN CIFAR100": (0.112, 0.003, 1.44, 0.22), "ResNet MNIST": (1.15, 0.14, 0.50, 0.02),
    "ResNet CIFAR10": (0.51, 0.02, 0.97, 0.09), "ResNet CIFAR100": (0.29, 0.01, 1.17, 0.17),
    "ViT MNIST": (0.14, 0.01, 3.41, 0.11), "ViT CIFAR10": (0.0105, 0.0003, 21.8, 3.3),
    "ViT CIFAR100": (0.0053, 0.0002, 39.7, 14.2),
}  # fmt: skip
# Table 1 by the version of the curves that it belongs to
PRINTED = {MAY_CURVES.version: TABLE_1, CURVES.version: TALK_TABLE_1}
ABSENT = "neither published nor trained here"
CIRCULAR = "γ₂ of the collapse uses ε_opt: nearly circular"
PAPERS_WAY = "γ₂ of the optima, as the paper defines it"


# by quantity: the field of `Dynamical`, the value that was planted in the stand-in, a note
QUANTITIES = {
    "γ measured": ("gamma_measured", 0.5, "all sizes"),
    "γ₁γ₂, optima": ("gamma_predicted_optimum", 0.5, PAPERS_WAY),
    "γ₁γ₂, collapse": ("gamma_predicted", 0.5, CIRCULAR),
    "γ₁": ("gamma_1", 0.5, "windows found by the data"),
    "γ₂, optima": ("gamma_2_optimum", 1.0, PAPERS_WAY),
    "γ₂, collapse": ("gamma_2", 1.0, CIRCULAR),
}


def table1(scale: str) -> Reproduction:
    """γ measured and both γ₁γ₂ against Table 1 of paper or talk, and their difference by our own error."""
    made, rows = analysed(scale), []
    for pair in made:
        predicted, measured, sigma = PRINTED[pair.version].get(pair.name, (None, None, None))
        rows.append(_row(pair, "γ measured", measured, rounded(0.01)))
        rows += [_row(pair, name, predicted, sigma) for name in ("γ₁γ₂, optima", "γ₁γ₂, collapse")]
        rows += differences(pair)
    return Reproduction(joined_curves(made), None, (*rows, *_absent(made, TABLE_1)))


def talk_table1(scale: str) -> Reproduction:
    """The numbers of Table 1 that the talk's newer table changed, beside September's curves."""
    made = tuple(pair for pair in analysed(scale, CURVES.version) if pair.origin != OURS)  # ours: table1
    rows = []
    for pair in made:
        predicted, measured, sigma = TALK_TABLE_1.get(pair.name, (None, None, None))
        before, planted = TABLE_1.get(pair.name, (None, None)), pair.name == STAND_IN
        if planted or measured != before[1]:
            rows.append(_row(pair, "γ measured", measured, rounded(0.01)))
        if planted or predicted != before[0]:
            rows += [_row(pair, name, predicted, sigma) for name in ("γ₁γ₂, optima", "γ₁γ₂, collapse")]
    changed = {name: row for name, row in TALK_TABLE_1.items() if row != TABLE_1[name]}
    return Reproduction(joined_curves(made), None, (*rows, *_absent(made, changed)))


def table2(scale: str) -> Reproduction:
    """γ₁ and both γ₂ against the paper's Table 2."""
    made, rows = analysed(scale), []
    for pair in made:
        printed = TABLE_2 if pair.version == MAY_CURVES.version else {}
        one, one_error, two, two_error = printed.get(pair.name, (None, None, None, None))
        rows.append(_row(pair, "γ₁", one, one_error))
        rows.append(_row(pair, "γ₂, optima", two, two_error, _counted(pair)))
        rows.append(_row(pair, "γ₂, collapse", two, two_error))
    return Reproduction(joined_curves(made), None, (*rows, *_like_for_like(scale), *_absent(made, TABLE_2)))


def authors_windows(scale: str) -> Reproduction:
    """γ₁ and γ₂ of May's curves in the authors' own windows, against Table 2."""
    tables = published_tables(MAY_CURVES.version)
    if not tables:
        raise BadInput(f"this needs the published curves: {MAY_CURVES.how}")
    rows = []
    for name, table in tables.items():
        one, two = authors_exponents(table, WINDOWS[MAY_CURVES.version][name])
        printed_one, _, printed_two, sigma_two = TABLE_2[name]
        digit = 10.0 ** -len(f"{printed_one:.12g}".partition(".")[2])
        rows += [
            Row(f"{name}, May, the authors' windows: γ₁", one, NUMERICAL * one, table["n_data"].nunique(),
                paper=printed_one, paper_stderr=rounded(digit), note="to the last printed digit"),
            Row(f"{name}, May, the authors' windows: γ₂, optima of mean curves", two, NUMERICAL * two,
                table["n_data"].nunique(), paper=printed_two, paper_stderr=sigma_two,
                note="the minimum of the mean curve; the authors' optima are not in their files"),
        ]  # fmt: skip
    return Reproduction(Curves(pd.concat(list(tables.values()), ignore_index=True)), None, tuple(rows))


def _like_for_like(scale: str) -> list[Row]:
    """Our exponents less those of the published curves at the sizes and norms that both have.

    The slope of the early phase falls with P and along the curve, so that exponents of other sizes and norms
    differ even where curves agree.
    """
    if scale == "smoke":  # digits are no pair of the paper
        return []
    made = our_pairs(scale, trained.run_storage(), study.pairs_of(scale), (AS_PUBLISHED,), laws=False)
    return [row for pair in made for row in exponent_rows(pair.name, pair.version, pair.curves.frame)]


def _row(pair: Pair, symbol: str, paper: float | None, sigma: float | None, note: str = "") -> Row:
    """One exponent of one pair; n counts the data sizes. The paper's numbers are of the norm as published."""
    field, planted, usual = QUANTITIES[symbol]
    name = f"{pair.label}: {symbol}"
    compared = pair.norm == AS_PUBLISHED and paper is not None
    reference: dict[str, Any] = {"paper": paper, "paper_stderr": sigma} if compared else {}
    if pair.name == STAND_IN:
        reference = {"expected": planted}
    if pair.found is None:
        return Row(name, None, **reference, note=pair.why)
    value: Estimate = getattr(pair.found, field)
    return Row(name, value.value, value.stderr, len(pair.runs), **reference, note=note or usual)


def differences(pair: Pair) -> list[Row]:
    """γ₁γ₂ − γ by both γ₂, judged by our own error: a tenth of γ is the difference that matters."""
    rows = []
    for by, note in (("optimum", PAPERS_WAY), ("collapse", CIRCULAR)):
        name = f"{pair.label}: γ₁γ₂ − γ, γ₂ of the {by}"
        if pair.found is None:
            rows.append(Row(name, None, expected=0.0, resolution=RESOLUTION, note=pair.why))
            continue
        found = pair.found.difference(by)
        rows.append(
            Row(name, found.value, found.stderr, len(pair.runs) - 1, expected=0.0,
                resolution=RESOLUTION * abs(pair.found.gamma_measured.value),
                note=f"{pair.found.verdict(by)} by our error; {note}")
        )  # fmt: skip
    return rows


def _counted(pair: Pair) -> str:
    """A note on the sizes that pass their optimum before the end."""
    if pair.found is None:
        return ""
    table = pair.found.table
    inside = [f"{size:g}" for size in table["size"][table["kind"] == "overfits"]]
    return (
        f"{PAPERS_WAY}; all {len(table)} sizes, of which {len(inside)} pass their optimum before the end"
        + (f" (P = {', '.join(inside)})" if inside else "")
    )


def _absent(made: tuple[Pair, ...], published: Mapping[str, tuple[float, ...]]) -> list[Row]:
    """A row without a verdict for each pair of the paper that is not here."""
    if made[0].name == STAND_IN:
        return []
    here = {pair.name for pair in made}
    return [
        Row(f"{name}: γ", None, paper=published[name][1 if len(published[name]) == 3 else 0], note=ABSENT)
        for name in PAIRS
        if name in published and name not in here
    ]
