"""The rule of paper vs measured: what the audit of the old page found cannot happen again."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from scalinglab.errors import BadInput
from scalinglab.studies import entries
from scalinglab.studies.results import reference
from scalinglab.studies.verdict import (
    AGREES,
    CANNOT_TELL,
    DISAGREES,
    NUMERICAL,
    VERDICTS,
    Number,
    Row,
    from_record,
    largest,
    limit,
    mean,
    quotient,
    refined,
)

MEASURED = Path(__file__).parents[2] / "docs" / "measured"
RECORDS = [json.loads(path.read_text()) for path in sorted(MEASURED.glob("*/*.json"))]


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        # verdicts that were too kind: a resolution exponent, one 45 standard errors off, a finite-size slope
        (Row("α_D", 0.225, 0.002, 16, paper=0.19), DISAGREES),
        (Row("α_D, teacher", 0.363, 0.002, 12, paper=0.452), DISAGREES),
        (Row("finite size", -0.64, 0.16, 3000, paper=-1.0), DISAGREES),
        # the demonstration: the difference of −0.03 ± 0.14 and 0.08 ± 0.15
        (Row("γ₁γ₂ − γ", -0.11, math.hypot(0.14, 0.15), 8, expected=0.0, resolution=0.008), CANNOT_TELL),
        # 4.1 standard errors of forty draws
        (Row("H(3)", 4.1, 1.0, 40, expected=0.0, resolution=10.0), DISAGREES),
        # a wide interval holds the paper's number and many others
        (Row("γ₁γ₂", 0.46, 0.26, 11, paper=0.60, paper_stderr=0.09), CANNOT_TELL),
        (Row("γ", 0.545, 0.013, 11, paper=0.55, paper_stderr=0.003), AGREES),
    ],
)
def test_the_audits_examples(row: Row, verdict: str):
    assert row.verdict == verdict


def test_an_equality_needs_an_interval_that_excludes_what_would_matter():
    # 95 % intervals of half width 1.96 · 0.04 = 0.078 around 1, resolution 0.1
    assert Row("x", 1.00, 0.04, paper=1.0).verdict == AGREES
    assert Row("x", 1.03, 0.04, paper=1.0).verdict == CANNOT_TELL  # reaches 1.108
    assert Row("x", 1.10, 0.04, paper=1.0).verdict == DISAGREES
    assert Row("x", 1.03, 0.04, paper=1.0, resolution=0.2).verdict == AGREES
    assert Row("x", 1.00, 0.04, 3, paper=1.0).verdict == CANNOT_TELL  # Student's t of three draws is 4.3
    assert Row("x", 1.10, 0.04, paper=1.0, paper_stderr=0.04).verdict == CANNOT_TELL
    assert Row("x", 1e-9, 1e-10, paper=0.0).verdict == DISAGREES  # no slack on small numbers


def test_an_inequality_agrees_where_the_whole_interval_lies_on_its_side():
    for sign, relation in ((1, ">"), (-1, "<")):
        assert Row("x", sign * 0.03, 0.01, expected=0.0, relation=relation).verdict == AGREES
        assert Row("x", sign * 0.01, 0.01, expected=0.0, relation=relation).verdict == CANNOT_TELL
        assert Row("x", -sign * 0.03, 0.01, expected=0.0, relation=relation).verdict == DISAGREES


def test_a_range_is_judged_at_both_of_its_ends():
    def verdict(measured: float, stderr: float = 0.01) -> str | None:
        return Row("α", measured, stderr, expected=0.5, relation="in", resolution=0.5).verdict

    assert verdict(0.03) == verdict(0.97) == AGREES
    assert verdict(0.01) == verdict(0.0) == verdict(0.99) == CANNOT_TELL  # a flat curve is not above 0
    assert verdict(-0.03) == verdict(1.03) == DISAGREES
    assert verdict(0.5, 0.3) == CANNOT_TELL


def test_without_an_error_or_a_number_nothing_can_be_told():
    assert Row("x", 1.0, paper=1.0).verdict == CANNOT_TELL
    assert Row("x", 1.0, 0.0, 1, paper=1.0).verdict == CANNOT_TELL
    assert Row("x", None, paper=1.0).verdict == CANNOT_TELL
    assert Row("x", 1.0, 0.1).verdict is None  # reported, nothing to compare with


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"stderr": -1.0}, "not negative"),
        ({"measured": math.nan}, "finite"),
        ({"n": 0}, "number of draws"),
        ({"relation": "≈"}, "choose from"),
        ({"relation": "in"}, "half its width"),
        ({"paper": 1.0, "expected": 1.0}, "leave out"),
        ({"paper_stderr": 1.0}, "without the number"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(fields: dict, message: str):
    with pytest.raises(BadInput, match=message):
        Row(**{"quantity": "x", "measured": 1.0, **fields})


def test_a_true_equality_disagrees_once_in_twenty():
    """600 measurements of six draws each of a number that is 1."""
    drawn = np.random.default_rng(0).normal(1.0, 0.05, size=(600, 6))
    found = [mean(values) for values in drawn]
    verdicts = [Row("x", f.value, f.stderr, f.n, paper=1.0).verdict for f in found]
    assert verdicts.count(DISAGREES) / 600 == pytest.approx(0.05, abs=0.027)  # three standard errors


def test_intervals_are_those_of_students_t():
    assert Number(1.0, 2.0).interval() == pytest.approx((1 - 2 * 1.959964, 1 + 2 * 1.959964), abs=1e-5)
    assert Number(1.0, 2.0, 3).interval() == pytest.approx((1 - 2 * 4.302653, 1 + 2 * 4.302653), abs=1e-5)


def test_limit_of_a_converging_sequence_lies_within_its_error_and_far_from_its_last_term():
    k = np.arange(1, 5)
    found = limit(-0.5 + 0.3 * 10 ** (-0.4 * k) + 0.01 * 10 ** (-0.8 * k))
    assert abs(found.value + 0.5) < found.stderr < 0.01
    assert abs(found.value + 0.5) < 0.1 * found.stderr
    drifting = limit([0.1, 0.2, 0.3])  # does not settle
    assert (drifting.value, drifting.stderr) == pytest.approx((0.3, 0.1))
    with pytest.raises(BadInput, match=r"\[1\.0, nan, 2\.0\]"):
        limit([1.0, math.nan, 2.0])


def test_quotient_of_paired_draws_has_the_error_of_repeated_experiments():
    random = np.random.default_rng(0)
    common = random.normal(size=(400, 50))
    above, below = 2 + 0.3 * common + 0.1 * random.normal(size=(400, 50)), 1 + 0.2 * common
    found = [quotient(a, b) for a, b in zip(above, below)]
    spread = np.std([f.value for f in found])
    assert np.mean([f.stderr for f in found]) == pytest.approx(spread, rel=0.12)


def test_largest_on_a_grid_lies_within_its_error_of_the_maximum():
    for points in (9, 33, 129):
        x = np.linspace(0, 3, points) + 0.01
        found = largest(np.sin(x))
        assert abs(found.value - 1) < found.stderr
    assert refined(1.0, 1.0).stderr == NUMERICAL  # never free of error
    assert refined(1.2, 1.0).stderr == pytest.approx(0.2)


# --- the records ------------------------------------------------------------------------------------------


def test_there_are_records():
    assert RECORDS


def test_every_record_carries_what_its_verdicts_need():
    known = entries()
    for record in RECORDS:
        key = record["key"]
        assert key in known
        for name in ("commit", "date", "hardware", "command", "scale"):
            assert record[name], (key, name)
        for fields in record["table"]:
            row = from_record(fields)
            assert fields["verdict"] == row.verdict, (key, row.quantity)
            assert row.verdict in (*VERDICTS, None), (key, row.quantity)
            if row.measured is not None:
                assert row.stderr is not None, f"{key}, {row.quantity}: a number without its error"
            if row.verdict is not None and row.relation == "=" and row.reference == 0:
                assert row.resolution, f"{key}, {row.quantity}: nothing would agree with 0"


def test_no_row_stands_twice():
    """Neither the same comparison in two records, nor two rows of one name in a record."""
    seen: dict[tuple, tuple[str, str]] = {}
    for record in RECORDS:
        names = [fields["quantity"] for fields in record["table"]]
        assert len(set(names)) == len(names), record["key"]
        for row in map(from_record, record["table"]):
            if row.measured and row.reference is not None and row.stderr:  # 0: nothing fell, in many runs
                key = (row.measured, row.stderr, row.reference, row.relation)
                first = seen.setdefault(key, (record["key"], row.quantity))
                # two networks of one table may have the same number
                assert first[0] == record["key"], (record["key"], row.quantity, first)


def test_what_is_judged_elsewhere_has_no_rows_and_the_other_entry_exists():
    known = entries()
    for record in RECORDS:
        if record["judged_in"]:
            assert record["table"] == []
            assert known[record["judged_in"]].judged_in is None


def test_the_papers_column_has_its_number_or_what_is_expected_in_its_place():
    in_range = {"relation": "in", "resolution": 0.25}
    assert reference(Row("x", 1.0, expected=0.5, **in_range)) == "no number; expected 0.25 to 0.75"
    assert reference(Row("x", 1.0, paper=0.5, **in_range)) == "0.25 to 0.75"
    assert reference(Row("x", 1.0, paper=0.5, paper_stderr=0.02, relation="<")) == "< 0.500 ± 0.020"
    assert reference(Row("x", 1.0, expected=0.5)) == "no number; expected 0.5"
    assert reference(Row("x", 1.0)) == "no number"
