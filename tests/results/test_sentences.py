"""The sentences: of reasons, by their code, and of findings, by their question. No other test quotes them."""

import math
import re
from pathlib import Path
from string import Formatter

import pytest

import scalinglab
from scalinglab.answers import Answers
from scalinglab.results import Column, Command, Estimate, Finding, Reason, Status
from scalinglab.results.findings import VERDICTS, by_kind, remarks_of, sized
from scalinglab.results.lines import LINES, TABLES
from scalinglab.results.sentences import REASONS, fill
from scalinglab.results.types import TableRows, noted, weighed, written

NAMES = {"n_params": "parameters", "n_data": "tokens"}


PARTS = ("audit", "mend", "collapse_by", "intervals")  # codes that begin so end in a kind


def test_every_code_that_is_raised_has_a_sentence_and_every_sentence_a_code():
    source = Path(scalinglab.__file__).parent
    texts = [p.read_text("utf-8") for p in source.rglob("*.py") if p.name not in ("sentences.py", "lines.py")]
    raised = {code for text in texts for code in re.findall(r"""Reason\(\s*"(\w+)\"""", text)}
    assert raised <= REASONS.keys() | LINES.keys()
    made = {code for text in texts for code in re.findall(r"""TableRows\(\s*"(\w+)\"""", text)}
    assert made <= TABLES.keys()
    named = {word for text in texts for word in re.findall(r"""\"(\w+)\"""", text)}  # also by expressions
    named |= {f"regime_{name}" for name in ("lazy", "rich", "worse", "unknown")}
    named |= {f"{part}_{kind}" for part in PARTS for kind in named}
    assert {*REASONS, *LINES, *TABLES} <= named
    assert not REASONS.keys() & LINES.keys()


def test_sentences_begin_small_and_have_no_full_stop():
    for code, template in REASONS.items():
        assert not template.endswith("."), code
        assert template[0].islower() or template[0] == "{", code
        for _, name, spec, _ in Formatter().parse(template):
            assert name is None or name.isidentifier(), (code, spec)


def test_details_are_written_by_their_formats():
    details = {
        "n": 1,
        "m": 1200,
        "size": 1.33e9,
        "share": 0.0123,
        "columns": (Column("n_data"), Column("lr")),
    }
    assert fill("{n:#run}, {m:#run}, {size:count}, {share:%%}, {share:two}, {share:.1g}", details) == (
        "1 run, 1,200 runs, 1.33B, 1.2 %, 0.012, 0.01"
    )
    assert fill("{columns}", details, NAMES) == "tokens and lr"
    assert (
        fill("{columns}; {columns:,}; {columns:;}", {"columns": tuple("abc")})
        == "a, b and c; a, b, c; a; b; c"
    )
    assert fill("{sizes:,.10g}", {"sizes": (16.0, 1000.5)}) == "16, 1,000.5"
    assert fill("{p:p}", {"p": 0.01234}) == "p = 0.012"
    assert fill("{p:p}", {"p": 0.001}) == "p = 0.001"
    assert fill("{p:p}", {"p": 0.0}) == "p < 0.001"


def test_a_number_that_is_not_known_takes_its_words_with_it():
    doubling = {"resource": "examples", "factor": 0.5, "slope": -1.0}
    bare = Reason("doubling", **doubling, error=0.0, measured=None)
    assert str(bare) == "twice the examples: loss × 0.500 (slope -1.00)"
    whole = Reason("doubling", **doubling, error=0.025, measured=-0.5)
    assert str(whole) == "twice the examples: loss × 0.500 ± 0.025 (slope -1.00; measured slope -0.50)"
    assert (
        fill("differ in {columns:or} alone", {"columns": ("n_data", "width")})
        == "differ in n_data or width alone"
    )


def test_an_end_that_is_open_has_no_bound():
    asked = {"x": Column("n_data"), "y": Column("loss"), "target": 0.1, "level": 0.9}
    assert str(Reason("size_for", **asked, value=1e5, low=2e4, high=float("inf"))) == (
        "n_data = 1e+05 (90 %: 2e+04 … no bound) for loss = 0.1"
    )


def test_a_reason_within_a_reason():
    reason = Reason("no_curve", reason=Reason("nesterov"))
    assert str(reason) == "no curve: nesterov momentum is treated as heavy-ball momentum"
    within = {"code": "nesterov", "text": str(Reason("nesterov"))}
    assert reason.to_dict() == {"code": "no_curve", "text": str(reason), "reason": within}


def test_sizes_by_column_and_reasons_within_take_the_callers_names():
    at = {Column("n_params"): 5e8, Column("n_data"): 4e9}
    wrong = Reason("outlier", at=at, y=Column("loss"), measured=3.25, expected=2.5)
    text = "one run looks wrong: loss = 3.25 at parameters = 500M, tokens = 4B, where the others suggest 2.5"
    assert wrong.sentence(NAMES) == f"{text}; check that row"
    end = Reason("outlier_at_an_end", **wrong.details)
    assert end.sentence(NAMES).startswith(text)
    assert Reason("no_curve", reason=wrong).sentence(NAMES) == f"no curve: {wrong.sentence(NAMES)}"


def test_columns_are_called_by_their_names_and_other_words_are_not():
    reason = Reason("exponent_open", y=Column("n_data"), x=Column("n_params"), because="n_data is short")
    assert reason.sentence(NAMES) == (
        "the exponent of tokens against parameters is not determined: n_data is short"
    )


@pytest.mark.parametrize(
    ("value", "unit", "name", "text"),
    [
        (2e7, "parameters", "n_params", "20M parameters"), (128.0, "width", "width", "width 128"),
        (1e6, "tokens", "tokens", "1M tokens"), (10.4, "examples", "n_data", "10 examples"),
        (4.47, "examples", "n_data", "4 examples"), (9.6, "epochs", "epoch", "9.6 epochs"),
        (0.25, "examples", "n_data", "0.25 examples"),
    ],
)  # fmt: skip
def test_a_size_has_its_unit_or_its_name(value: float, unit: str, name: str, text: str):
    assert sized(value, unit, name) == text


def found(question: str, status: Status = Status.DETERMINED, **more) -> Finding:
    return Finding(question, status, **more)


def test_what_was_read():
    curve = {"runs": 6, "values": 3, "units": {"n_data": "examples"}, "y": "loss", "ends": (0.5, 0.25),
             "sizes": {"n_data": (1e3, 1e5)}}  # fmt: skip
    lost = (Reason("left_out_size", points=1), Reason("left_out_value", runs=2, y=Column("loss")))
    assert found("read", facts=curve, reasons=lost).text == (
        "6 runs at 3 sizes, 1k to 100k examples; loss from 0.5 to 0.25. Left out: 1 point without "
        "a positive size. Left out: 2 runs without a usable loss."
    )
    width = curve | {"units": {"width": "width"}, "sizes": {"width": (32, 64)}}
    assert found("read", facts=width).text.startswith("6 runs at 3 values of width, 32 to 64; loss")
    surface = {"runs": 25, "checkpoints": 0, "units": NAMES, "y": "loss", "ends": (3.5, 2.5), "compute": (1e18, 1e22),
               "sizes": {"n_params": (1e8, 1e10), "n_data": (2e9, 2e11)}}  # fmt: skip
    assert found("read", facts=surface).text == (
        "25 runs of 100M to 10B parameters on 2B to 200B tokens, 1e18 to 1e22 FLOPs; loss from 3.5 to 2.5."
    )
    images = surface | {"units": {"n_params": "parameters", "n_data": "examples"}}
    assert "1e22 FLOPs in one pass over them; loss" in found("read", facts=images).text


POWER = {"y": "loss", "along": {"exponent": "n_data"}, "floor": "offset"}
EXPONENT = {"exponent": Estimate(0.5, low=0.4, high=0.6)}


@pytest.mark.parametrize(
    ("floor", "text"),
    [
        (Estimate(0.15, low=0.1, high=0.2), "a floor of 0.15 (95 %: 0.1 to 0.2)"),
        (Estimate(0.1, low=0.10001, high=0.10002), "a floor of 0.1"),
        (Estimate(0.1, low=0.0, high=0.2), "a floor of at most 0.2"),
    ],
)
def test_an_exponent_and_its_floor(floor: Estimate, text: str):
    assert found("exponent", values=EXPONENT | {"offset": floor}, facts=POWER).text == (
        f"Loss falls with exponent 0.500 in n_data (95 %: 0.400 to 0.600), towards {text}, if the form holds."
    )


def test_an_exponent_without_a_floor_and_exponents_of_a_surface():
    assumed = found("exponent", values=EXPONENT, facts=POWER, reasons=(Reason("floor_assumed", sizes=3),))
    assert assumed.text.endswith("(95 %: 0.400 to 0.600). With 3 sizes the floor is assumed to be 0.")
    surface = {"y": "loss", "along": {"alpha": "n_params", "beta": "n_data"}, "floor": "E"}
    values = {"alpha": Estimate(0.34, low=0.3, high=0.4), "beta": Estimate(0.28, low=0.2, high=0.3)}
    both = found("exponent", values=values, facts=surface, names=NAMES)
    assert both.text == (
        "Loss falls with exponent 0.340 in parameters (95 %: 0.300 to 0.400) and 0.280 in tokens (95 %: "
        "0.200 to 0.300)."
    )
    rises = Reason("rises_with", y=Column("loss"), size=Column("n_params"))
    one = found("exponent", values={"beta": values["beta"]}, facts=surface, reasons=(rises,), names=NAMES)
    assert one.text.endswith("exponent 0.280 in tokens (95 %: 0.200 to 0.300). Loss rises with parameters.")


def test_an_exponent_that_is_refused():
    bends = Reason("bends_away", y=Column("loss"), x=Column("n_data"), at=3000.0)
    refused = found("exponent", Status.NOT_DETERMINED, reasons=(bends,), facts=POWER)
    assert refused.text == (
        "No single exponent: loss bends away from a power law, with or without a floor, near n_data = 3k."
    )
    few = Reason("few_values", size=Column("n_data"), values=2)
    unfitted = found("exponent", Status.NOT_DETERMINED, reasons=(few,), names=NAMES)
    assert unfitted.text.startswith("Not determined: only 2 different values of tokens: two points")


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_power_law(verdict: str):
    text = found("power law", facts={"verdict": verdict}, reasons=(Reason("no_fall_seen"),)).text
    assert text.lower() == f"a power law? {VERDICTS[verdict]}. it does not fall with size."
    assert text[13:][0].isupper()


def test_ten_times_as_much():
    value = {"loss": Estimate(2.0, low=1.9, high=2.25)}
    few = (Reason("few_dof", dof=1),)
    curve = found("ten times", values=value, facts={"x": "n_data", "at": 1e6, "unit": "tokens"}, reasons=few)
    assert curve.text == (
        "Ten times the data, 1M tokens: loss 2 (95 % of runs: 1.9 to 2.25) if the trend continues. With "
        "only 1 point more than parameters the scatter is poorly known, and the interval may be too narrow; "
        "repeat sizes with other seeds."
    )
    surface = found("ten times", values=value, facts={"compute": 1.2e23, "now": 2.5})
    assert surface.text == (
        "Ten times the compute, 1.2e23 FLOPs: loss 2 (95 %: 1.9 to 2.25), down from 2.5 at the compute of "
        "the largest run."
    )
    refused = found("ten times", Status.NOT_DETERMINED, reasons=(Reason("message", text="few sizes"),))
    assert refused.text == "Ten times as much: not determined. Few sizes."


BEST = {
    "n_params": Estimate(1.5e9, low=1e9, high=2e9, unit="parameters"),
    "n_data": Estimate(3e10, low=2e10, high=4e10, unit="tokens"),
    "data_per_param": Estimate(20.0, low=10.0, high=40.0, unit="tokens per parameter"),
}


@pytest.mark.parametrize(
    ("beyond", "below", "far"),
    [(10.0, 1e-3, ", 10 times the largest run"), (1e-3, 10.0, ", 10 times less than the smallest run"),
     (0.5, 0.5, "")],
)  # fmt: skip
def test_a_compute_optimal_model(beyond: float, below: float, far: str):
    facts = {"compute": 1e21, "beyond": beyond, "below": below}
    assert found("compute-optimal", values=BEST, facts=facts).text == (
        f"Best model for 1e21 FLOPs{far}: 1.5B parameters (95 %: 1B to 2B) on 30B tokens (20B to 40B), 20 "
        "tokens per parameter (10 to 40)."
    )


def test_a_compute_optimal_model_that_is_open_or_refused():
    facts = {"compute": 1e21, "beyond": 0.5, "below": 0.5}
    held = {f"{name}_if_the_form_holds": BEST[name] for name in ("n_params", "n_data")}
    facts |= {"form": "chinchilla", "contradicted": False, "more_loss": 0.012}
    wide = found("compute-optimal", Status.RANGE, values=BEST | held, facts=facts)
    assert wide.text == (
        "Best model for 1e21 FLOPs: 1.5B parameters (95 %: 1B to 2B) on 30B tokens (20B to 40B); if a sum of "
        "two power laws holds, 1.5B (1B to 2B) on 30B tokens, at 1.2 % more loss."
    )
    ruled_out = found("compute-optimal", values=BEST | held, facts=facts | {"contradicted": True})
    assert ruled_out.text.endswith(
        "(20B to 40B); a sum of two power laws, which does not fit these runs, gives 1.5B (1B to 2B) on 30B tokens, "
        "at 1.2 % more loss."
    )
    none = found("compute-optimal", Status.NOT_DETERMINED, values=BEST | held, facts=facts)
    assert none.text == (
        "Best model for 1e21 FLOPs: not determined, 1B to 2B parameters on 20B to 40B tokens are likely (95 %); "
        "if a sum of two power laws holds, 1.5B (1B to 2B) on 30B tokens, at 1.2 % more loss."
    )
    far = Reason("too_far", smallest=1e18, largest=1e20, compute=1e40, reach=1e3)
    other = found("compute-optimal", Status.NOT_DETERMINED, values=BEST, facts=facts, reasons=(far,))
    assert other.text.startswith(
        "Best model: not determined. Runs of 1e+18 to 1e+20 FLOPs do not determine the best model"
    )
    assert ". Best model for 1e21 FLOPs: 1.5B parameters" in other.text
    rises = (Reason("loss_rises", size=Column("n_params")),)
    none = found("compute-optimal", Status.NOT_DETERMINED, reasons=rises, names=NAMES)
    assert none.text.startswith("Best model: not determined. The loss rises with parameters, so no split")
    one = found("compute-optimal", Status.REFUSED, reasons=(Reason("needs_both_sizes"),))
    assert one.text == "Best model: to find it, also vary the amount of data at each model size."


def plan(
    runs: list[dict[str, float]], code: str = "narrows", units: dict[str, str] = NAMES, **more
) -> Finding:
    facts = {"runs": runs, "units": units, "worth_it": code == "narrows"}
    usual = {"what": Reason("prediction"), "cost": "3e19 FLOPs in all", "before": 0.02, "after": 0.01}
    return found("next run", facts=facts, reasons=(Reason(code, **usual | more),), names=units)


def test_the_next_runs_are_named_up_to_three_with_their_seeds():
    runs = [{"n_params": k * 1e7, "n_data": k * 2e8, "seeds": 2 if k == 4 else 1} for k in range(1, 6)]
    assert plan(runs).text == (
        "Next runs: 40M parameters on 800M tokens (2 seeds), 50M parameters on 1B tokens, 30M parameters on "
        "600M tokens and 2 more runs. Worth it: 3e19 FLOPs in all would narrow the prediction"
        " from ± 2 % to ± 1 %."
    )
    one = plan([{"width": 500.0, "seeds": 1}], units={"width": "width"}, cost="they")
    assert one.text == "Next run: width 500. Worth it: they would narrow the prediction from ± 2 % to ± 1 %."


@pytest.mark.parametrize(("code", "details", "text"), [
    ("narrows_little", {"saved": 0.1, "needed": 0.2, "budget": "1e20 FLOPs"},
     "Runs within 1e20 FLOPs would narrow the prediction of ± 2 % by only 10 %, less than the 20 % that "
     "make a run worth it; a larger budget may do more: plan next --budget."),
    ("narrows_little_at_most", {"saved": 0.1, "needed": 0.2, "budget": "4e20 FLOPs"},
     "Even runs within 4e20 FLOPs would narrow the prediction of ± 2 % by only 10 %, less than the 20 % that "
     "make a run worth it."),
    ("stays_open", {"size": Column("n_data"), "covered": 8.0},
     "Even the best, for 3e19 FLOPs, would leave the prediction at ± 100 % or more: first train sizes over a "
     "wider range (now a factor of 8 in tokens)."),
    ("narrow_already", {}, "The prediction is already known to ± 2 %."),
    ("nothing_narrows", {"budget": "1e20 FLOPs"},
     "No run within 1e20 FLOPs narrows the prediction: allow more (plan next --budget)."),
])  # fmt: skip
def test_where_no_run_is_worth_it_the_sentence_names_a_way_out(code: str, details: dict, text: str):
    assert plan([], code, cost=", for 3e19 FLOPs,", **details).text == f"Next run: none is worth it. {text}"


def test_no_plan_has_a_sentence_too():
    refused = found("next run", Status.NOT_DETERMINED, reasons=(Reason("no_optimum"),))
    assert refused.text == "Next run: not determined. These runs do not determine the compute-optimal model."


def test_a_question_without_a_sentence_shows_values_and_reasons():
    value = {"size": Estimate(2.0, 0.25, unit="tokens")}
    few = (Reason("message", text="few runs"),)
    assert found("other", values=value, reasons=few).text == "Size = 2.00 ± 0.25 tokens: few runs."
    assert found("other", Status.REFUSED, reasons=few).text == "Refused: few runs."


def test_a_summary_has_the_card_the_rest_notes_and_each_command_once():
    refused = found("other", Status.REFUSED, command=Command("report"))
    notes = [Reason("message", text="one row left out"), Reason("read", text="a.csv")]
    shown = written(remarks_of([refused], [refused], notes, ["a.csv"]))
    assert shown.splitlines() == [
        "Refused.", "", str(notes[1]), "Refused.", "note: one row left out", "more:",
        "    scalinglab report a.csv",
    ]  # fmt: skip
    assert written(remarks_of([], [found("other", Status.REFUSED)], [])) == "Refused."


def test_a_table_has_its_heads_and_aligned_cells():
    rows = [{"w": 8, "rate": 0.5, "ends": "[0.4, 0.6]"}, {"w": 16, "rate": math.nan, "ends": "outside"}]
    table = TableRows("stability", rows, {"w": "width"}).sentence().splitlines()
    assert [line.split() for line in table] == [
        ["width", "largest", "stable", "rate", "95", "%"],
        ["8", "0.5", "[0.4,", "0.6]"],
        ["16", "not", "determined", "outside"],
    ]
    assert {len(line) for line in table} == {len(table[0])}, "the last column stands to the right"
    left = TableRows("approaches", [{**ROW, "name": "a"}, {**ROW, "name": "isoflop"}], {"n_params": "N"})
    head, first, second = left.sentence({"n_data": "tokens"}).splitlines()
    assert head.split()[0] == "approach"
    assert head.split()[-2:] == ["N", "tokens"]
    assert (first[:8], second[:8]) == ("a       ", "isoflop ")


ROW = {
    "exponent": 0.5, "exponent_ends": "", "bias": "", "n_params": 1e9, "n_params_ends": "", "n_data": 2e10,
}  # fmt: skip


def test_remarks_are_lines_with_notes_weights_and_names():
    remarks = [
        Reason("weights", weights=weighed({"m1": 0.7, "m2": 0.3})),
        Reason("data_per_parameter", ratio=20.0, data=Column("n_data")),
        Reason("settings_at", at={"n_params": 1e9}, far=Reason("beyond_search", times=4.0)),
        Reason("at_compute", at=(1e20, 1e21)),
        *noted([Reason("floor_open")]),
    ]
    assert written(remarks, NAMES).splitlines() == [
        "weights: m1 0.70, m2 0.30, …",
        "          20 tokens per parameter",
        "at n_params = 1e+09, 4 times the largest search",
        " at a compute of 1e+20 … 1e+21",
        "note: these runs do not determine the floor",
    ]


def test_lines_have_fields_with_names():
    for code, template in LINES.items():
        for _, name, _, _ in Formatter().parse(template):
            assert name is None or all(part.isidentifier() for part in name.split(".")), code


def test_the_card_of_kinds_names_those_without_a_fit_and_writes_scores_as_scores():
    facts = {"kind": "a", "compute": 1e22, "now": 0.4, "score": "accuracy", "of_accuracy": True}
    ahead = {"test_error": Estimate(0.3, low=0.2, high=0.45)}
    sizes = {"n_params": Estimate(7e9, low=5e9, high=1e10), "n_data": Estimate(1.4e11, low=1e11, high=2e11)}
    told = Finding("ten times", Status.DETERMINED, ahead, facts=facts)
    best = Finding("compute-optimal", Status.DETERMINED, sizes, facts={"kind": "a"})
    lost = Finding("exponent", Status.NOT_DETERMINED, reasons=(Reason("no_optimum"),), facts={"kind": "b"})
    known = Answers((told, best, lost), "n_params, n_data", "test_error", kinds={})
    assert {finding.facts["kind"] for finding in known.card} == {"a", "b"}
    (row,) = by_kind(known.card).rows
    assert row["y"] == "0.7 [0.55, 0.8]"
    assert (row["n_params"], row["n_data"]) == ("7B [5B, 10B]", "140B [100B, 200B]")


@pytest.mark.parametrize(
    ("high", "assumed", "cell"),
    [(1e12, False, "1B to 1T"), (1e14, False, "not determined"), (1e14, True, "9B if the form holds")],
)
def test_the_card_of_kinds_prints_no_ends_that_say_nothing(high: float, assumed: bool, cell: str):
    sizes = {"n_params": Estimate(7e9, low=1e9, high=high), "n_data": Estimate(1e11, low=1e9, high=1e14)}
    sizes |= {"n_params_if_the_form_holds": Estimate(9e9)} if assumed else {}
    facts = {"kind": "a", "compute": 1e22, "now": 2.0}
    told = Finding("ten times", Status.DETERMINED, {"loss": Estimate(2.0, low=1.9, high=2.1)}, facts=facts)
    (row,) = by_kind((told, Finding("compute-optimal", Status.NOT_DETERMINED, sizes, facts=facts))).rows
    assert row["n_params"] == cell
