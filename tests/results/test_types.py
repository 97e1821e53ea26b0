"""Results as data: reasons that errors carry, commands, findings as JSON."""

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.results import Command, Estimate, Finding, Reason, Status, reason_of


def test_an_error_carries_its_reason_and_reads_as_its_sentence():
    given = Reason("message", text="no runs")
    with pytest.raises(NotDetermined, match=r"^no runs$") as raised:
        raise NotDetermined(given)
    assert reason_of(raised.value) == given
    assert reason_of(BadInput("no table.")) == Reason("message", text="no table")


def test_reasons_of_one_code_differ_by_their_details():
    assert Reason("message", text="a") != Reason("message", text="b")
    assert Reason("message", text="a").to_dict() == {"code": "message", "text": "a"}


def test_a_command_names_the_table_it_is_written_for():
    command = Command("plan next", "--budget", "1e20")
    assert Command("laws fit", "--at", f"n_data={1e6:g}").line().endswith("--at n_data=1e6")
    assert command.line(["my runs.csv"]) == "scalinglab plan next 'my runs.csv' --budget 1e20"
    assert command.line() == "scalinglab plan next TABLE.csv --budget 1e20"


def test_a_finding_as_json_keeps_numbers_units_and_reasons():
    value = Estimate(2e9, low=1e9, high=4e9, unit="tokens")
    finding = Finding("size", Status.RANGE, {"n_data": value}, (Reason("message", text="few runs"),),
                      {"runs": 3}, Command("report"))  # fmt: skip
    found = finding.to_dict(["a.csv"])
    assert found["values"]["n_data"] == {
        "value": 2e9, "stderr": None, "low": 1e9, "high": 4e9, "unit": "tokens"
    }  # fmt: skip
    assert (found["status"], found["facts"], found["command"]) == (
        "only a range", {"runs": 3}, "scalinglab report a.csv",
    )  # fmt: skip
    assert found["reasons"] == [{"code": "message", "text": "few runs"}]


def test_results_are_drawn_by_the_figures():
    x = np.geomspace(1e2, 1e5, 6)
    law = sl.laws.fit("power_law", x, 3 * x**-0.5)
    assert law.plot(x="n_data").get_xlabel() == "n_data"
