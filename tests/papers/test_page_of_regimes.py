"""Every number with an error on the page "Four regimes" is in a record of bahri2021."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"(-?\d+\.\d+)\s±\s(\d+\.\d+)")


def numbers(text: str) -> list[tuple[str, str]]:
    return NUMBER.findall(text.replace("−", "-"))


def rounds_to(value: float, text: str) -> bool:
    """Whether a number is this text when it is rounded to its digits."""
    return abs(value - float(text)) <= 0.51 * 10.0 ** -len(text.partition(".")[2])


def test_every_number_with_an_error_is_in_a_record():
    rows = [
        row
        for path in (DOCS / "measured" / "bahri2021").glob("*.json")
        for row in json.loads(path.read_text())["table"]
    ]
    known = [(row["measured"], row["stderr"]) for row in rows if None not in (row["measured"], row["stderr"])]
    known += [(float(value), float(error)) for row in rows for value, error in numbers(row["note"] or "")]
    page = numbers((DOCS / "four-regimes.md").read_text())
    assert len(page) > 25
    unknown = [
        f"{value} ± {error}"
        for value, error in page
        if not any(
            rounds_to(error_, error) and (rounds_to(value_, value) or rounds_to(-value_, value))
            for value_, error_ in known
        )  # a difference may be told the other way round
    ]
    assert unknown == []
