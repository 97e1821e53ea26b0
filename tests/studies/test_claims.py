"""One verdict a claim: the rule on rows of known errors, and the claims of the papers on their records."""

import importlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from scalinglab.errors import BadInput
from scalinglab.studies import Row, entries
from scalinglab.studies.claims import (
    NOT_MEASURED,
    NOT_TESTED,
    OUTCOMES,
    Claim,
    claims,
    fails,
    judge,
    judged,
    mean_row,
    records,
    reported,
)
from scalinglab.studies.registry import papers
from scalinglab.studies.verdict import AGREES, CANNOT_TELL, DISAGREES, from_record

SOURCES = ("damico2025", "bahri2021", "bordelon2024", "park2019", "hoffmann2022")
ALL, MEAN, MOST = (Claim("it is one", ("paper/fig1",), rule=rule) for rule in ("all", "mean", "most"))


def verdict(claim: Claim, *rows: Row) -> str:
    return judge(claim, [("paper/fig1", row) for row in rows]).verdict


def one(measured: float | None, stderr: float | None = 0.02, **fields) -> Row:
    return Row("x", measured, stderr, **{"paper": 1.0, **fields})


def test_a_row_holds_where_no_difference_that_matters_is_left():
    assert one(1.0).holds
    assert one(1.05).holds  # 0.011 to 0.089: different from one, by less than a tenth
    assert not fails(one(1.05))
    assert not one(1.08).holds
    assert fails(one(1.08))
    assert not fails(one(1.08), level=1 - 1e-6)
    assert not one(None).holds
    assert not fails(one(None))
    assert one(50.0, 0.0, paper=50.0).holds
    assert one(1.2, relation=">").holds
    assert fails(one(1.2, relation="<"))
    assert fails(one(1.3, relation="in", resolution=0.1))
    assert one(1.05, relation="in", resolution=0.1).holds


def test_all_needs_every_row_and_one_that_fails_refutes():
    good, wide, bad = one(1.01), one(1.0, 0.2), one(1.5)
    assert verdict(ALL, good, good) == AGREES
    assert verdict(ALL, good, wide) == CANNOT_TELL
    assert verdict(ALL, good, one(None)) == CANNOT_TELL
    assert verdict(ALL, good, wide, bad) == DISAGREES
    assert verdict(ALL) == NOT_MEASURED


@pytest.mark.slow
def test_a_true_claim_of_many_rows_disagrees_once_in_twenty():
    """200 claims of 30 rows of a number that is one, with errors too large to agree."""
    drawn = np.random.default_rng(0).normal(1.0, 0.2, size=(200, 30))
    found = [verdict(ALL, *(one(value, 0.2) for value in values)) for values in drawn]
    assert found.count(DISAGREES) / 200 == pytest.approx(0.05, abs=0.047)  # three standard errors
    single = np.mean([any(fails(one(value, 0.2)) for value in values) for values in drawn])
    assert single > 0.7  # what rows that are judged one by one would say


def test_most_counts_rows_and_the_majority_decides():
    assert verdict(MOST, one(1.0), one(1.0), one(1.5)) == AGREES
    assert verdict(MOST, one(1.5), one(1.5), one(1.0)) == DISAGREES
    assert verdict(MOST, one(1.0), one(1.5), one(1.0, 0.2)) == CANNOT_TELL
    assert verdict(MOST, one(1.0), one(1.5)) == CANNOT_TELL


def test_the_mean_tells_what_no_row_can():
    rows = [one(value, 0.08) for value in (1.1, 0.93, 1.02, 0.95, 1.04, 0.96)]
    assert verdict(ALL, *rows) == CANNOT_TELL
    assert verdict(MEAN, *rows) == AGREES
    found = mean_row(rows)
    assert found is not None
    assert found.measured is not None
    assert found.measured == pytest.approx(0.0, abs=1e-12)
    assert found.stderr == pytest.approx(0.08 / np.sqrt(6))  # they scatter less than their errors
    assert verdict(MEAN, *(replace(row, measured=(row.measured or 0) + 0.15) for row in rows)) == DISAGREES
    assert verdict(MEAN, *rows, one(2.0, 0.08)) == DISAGREES  # a row that fails is not averaged away


def test_a_mean_is_of_two_rows_or_more_that_are_compared_alike():
    pair = [one(1.1, 0.1), one(1.0, 0.1)]
    found = mean_row(pair)
    assert found is not None
    assert (found.measured, found.stderr) == pytest.approx((0.05, 0.1 / np.sqrt(2)))
    assert mean_row(pair[:1]) is None
    assert mean_row([pair[0], replace(pair[1], relation=">")]) is None


def test_the_error_of_a_mean_is_that_of_repeated_experiments():
    """Errors that say 0.1 where the rows scatter by 0.3: it is enlarged."""
    drawn = np.random.default_rng(1).normal(1.0, 0.3, size=(500, 8))
    found = [mean_row([one(value, 0.1) for value in values]) for values in drawn]
    spread = np.std([row.measured for row in found if row is not None])
    assert np.mean([row.stderr for row in found if row is not None]) == pytest.approx(spread, rel=0.12)


def test_a_cause_is_said_with_its_test_or_that_there_is_none():
    bad = [("paper/fig1", one(1.5))]
    assert judge(ALL, bad).cause == NOT_TESTED
    assert judge(replace(ALL, cause="too small"), bad).cause == f"too small; {NOT_TESTED}"
    assert judge(replace(ALL, cause="too small", tested="fig2"), bad).cause == "too small (tested: fig2)"
    assert judge(ALL, [("paper/fig1", one(1.0))]).cause == ""


def test_a_test_quotes_what_its_check_found():
    claim = replace(ALL, cause="too small", tested="{gain:.0%} at half", check="halves", found={"gain": 0.31})
    said = judge(claim, [("paper/fig1", one(1.5))]).cause
    assert said == "too small (tested: 31% at half; python benchmarks/causes.py halves)"


@pytest.mark.parametrize("fields", [{"rule": "some"}, {"tested": "fig2"}, {"check": "halves"}])
def test_a_claim_that_contradicts_itself_is_refused(fields: dict):
    with pytest.raises(BadInput):
        replace(ALL, **fields)


# --- the papers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", papers())
def test_every_row_with_a_reference_decides_one_claim_or_is_said_to_decide_none(paper: str):
    given, aside = claims(paper), reported(paper)
    for key, record in records(paper).items():
        for row in map(from_record, record["table"]):
            if row.reference is not None:
                found = [c.says for c in (*given, *aside) if key in c.entries and c.counts(row)]
                assert len(found) == 1, (key, row.quantity, found)


@pytest.mark.parametrize("paper", papers())
def test_every_entry_is_claimed_and_every_claim_of_a_measured_entry_has_rows(paper: str):
    measured = records(paper)
    for found in judged(paper):
        assert found.verdict in OUTCOMES
        if any(key in measured and measured[key]["table"] for key in found.claim.entries):
            assert found.verdict != NOT_MEASURED, found.claim.says
    named = {key for claim in (*claims(paper), *reported(paper)) for key in claim.entries}
    own = {key: one for key, one in entries().items() if one.paper == paper}
    assert {key for key, one in own.items() if not one.judged_in} <= named


def test_the_source_papers_have_a_number_of_claims_that_one_reads():
    assert sum(len(claims(paper)) for paper in SOURCES) <= 120


# --- causes -----------------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
CHECKED = {claim.check: claim for paper in papers() for claim in claims(paper) if claim.check}
QUICK = (
    "margins_after_the_last_error", "frontier_of_one_width", "exponents_by_domain",
)  # fmt: skip
CHEAP = ("plateau_of_guessing", "narrow_perceptrons", "gain_at_fixed_noise_in_time")


@pytest.fixture
def causes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("causes")


@pytest.mark.parametrize("paper", papers())
def test_what_disagrees_names_its_tested_cause(paper: str):
    assert [found.claim.says for found in judged(paper) if found.cause.endswith(NOT_TESTED)] == []


def test_every_check_of_a_cause_is_quoted_by_its_claim_or_a_page(causes: ModuleType):
    assert set(CHECKED) <= set(causes.CHECKS)
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    assert [name for name in causes.CHECKS if name not in CHECKED and f"causes.py {name}" not in pages] == []
    for claim in CHECKED.values():
        assert any(f"{{{name}" in claim.tested for name in claim.found), claim.says
        claim.tested.format(**claim.found)


@pytest.mark.parametrize(
    "name",
    [
        *QUICK,
        *(pytest.param(name, marks=pytest.mark.slow) for name in CHEAP),
        pytest.param("sizes_next_to_the_features", marks=pytest.mark.nightly),
    ],
)
def test_a_check_finds_what_is_said_of_it(name: str, causes: ModuleType):
    """The others take half a minute each: python benchmarks/causes.py."""
    try:
        now = causes.CHECKS[name]()
    except BadInput as missing:
        pytest.skip(str(missing))  # the public points are not part of the repository
    said = CHECKED[name].found
    assert {key: now[key] for key in said} == pytest.approx(dict(said), rel=0.02, abs=0.002)
