"""Every named number of laws says what it is and where a tuned one was measured."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "constants.py"))
CONSTANTS = list(TOOL["constants"]())


def kinds(tmp_path: Path, source: str) -> dict[str, str]:
    (tmp_path / "one.py").write_text(source)
    return {one.name: one.kind for one in TOOL["constants"](tmp_path)}


def test_every_constant_has_a_kind() -> None:
    assert [f"{one.place} {one.name}" for one in CONSTANTS if not one.kind] == []


def test_measured_and_judged_constants_name_benchmarks_that_exist() -> None:
    for one in CONSTANTS:
        if one.kind in ("measured", "judged"):
            named = re.findall(r"(?:docs/)?benchmarks/[\w-]+\.(?:py|md)", one.comment)
            assert named, f"{one.place} {one.name}"
            assert [path for path in named if not (ROOT / path).is_file()] == [], f"{one.place} {one.name}"


def test_tuned_constants_do_not_become_more() -> None:
    """Merge or derive another before one is added."""
    assert len([one for one in CONSTANTS if one.kind in TOOL["TUNED"]]) <= 60


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("ONE = 1\n", {"ONE": ""}),
        ("ONE = 1  # chosen: why\n", {"ONE": "chosen"}),
        ("# guard: why,\n# and more\nONE = 1\nTWO = 2  # search: a grid\nTHREE = 3\n\nFOUR = 4\n",
         {"ONE": "guard", "TWO": "search", "THREE": "guard", "FOUR": ""}),
        ("ONE, TWO = 1, 2  # chosen: both\n", {"ONE": "chosen", "TWO": "chosen"}),
        ("ONE: float = np.sqrt(5 / 3)  # defined: a root\n", {"ONE": "defined"}),
        ('ONE = Parameter("a", 0.0)\nTWO = (Parameter("b", 1.0),)\nTHREE = "c"\nfour = 4\n', {}),
    ],
)  # fmt: skip
def test_a_kind_is_read_from_the_line_or_from_above_it(tmp_path, source, found) -> None:
    assert kinds(tmp_path, source) == found


@pytest.mark.parametrize(
    ("source", "name", "after"),
    [
        ("ONE = 1  # chosen: α\n", "ONE", "ONE = 5  # chosen: α\n"),
        ("ONE, TWO = 1, 2\n", "TWO", "ONE, TWO = 1, 5\n"),
        ("TWO = 2\nONE = (\n    1,\n    2,\n)\n", "ONE", "TWO = 2\nONE = 5\n"),
    ],
)
def test_one_constant_is_given_another_value(source, name, after) -> None:
    assert TOOL["changed"](source, name, "5") == after


@pytest.mark.slow
def test_a_script_runs_with_another_value(tmp_path) -> None:
    script = tmp_path / "show.py"
    script.write_text("from scalinglab.laws.fitting.statistics import HUBER\nassert HUBER == 1.5\n")
    assert TOOL["run_changed"]("fitting/statistics.py:HUBER=1.5", [str(script)]) == 0
    assert TOOL["run_changed"]("fitting/statistics.py:HUBER=1.6", [str(script)]) == 1
