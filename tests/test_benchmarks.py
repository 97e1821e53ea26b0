"""Benchmarks are not run by the tests; what they import must be there all the same."""

from __future__ import annotations

import ast
import importlib.util
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def imported(path: Path) -> list[tuple[str, str]]:
    """What a script takes from the project, wherever in it: (module, name)."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return [
        (node.module, alias.name)
        for node in nodes if isinstance(node, ast.ImportFrom) and node.module
        if node.module.split(".")[0] in ("scalinglab", "scalinglab_papers")
        for alias in node.names
    ]  # fmt: skip


def is_there(module: str, name: str) -> bool:
    try:
        if hasattr(importlib.import_module(module), name):
            return True
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError as error:
        return error.name is not None and not error.name.startswith("scalinglab")  # a package left out here
    return True


@pytest.mark.slow
def test_what_benchmarks_import_exists() -> None:
    found = {(path.name, *name) for path in BENCHMARKS.rglob("*.py") for name in imported(path)}
    assert len(found) > 50
    assert [(path, module, name) for path, module, name in sorted(found) if not is_there(module, name)] == []


def test_tables_of_studies_are_those_of_the_numbers_that_were_measured(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    tables = importlib.import_module("study_tables")
    here = tables.PAGE.read_text()
    assert tables.page(here) == here, "run python benchmarks/study_tables.py"


def _coverage_study(monkeypatch):
    """benchmarks/coverage.py, by its path: there is a package of this name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("coverage_study", BENCHMARKS / "coverage.py")
    coverage = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "coverage_study", coverage)
    spec.loader.exec_module(coverage)
    return coverage


@pytest.mark.parametrize(
    ("words", "row", "said"),
    [
        (["--sets", "0"], "", "--sets 0 must be at least 1"),
        (["--merge", "part.jsonl"], '{"case": "an old case", "se', "part.jsonl, line 2 is no data set"),
        (["--merge", "part.jsonl"], "", "left out: 1 set of 'an old case'"),
    ],
)  # fmt: skip
def test_studies_of_coverage_say_what_is_wrong(words, row, said, tmp_path, monkeypatch, capsys) -> None:
    coverage = _coverage_study(monkeypatch)
    monkeypatch.chdir(tmp_path)
    whole = {"case": "an old case", "seed": 0, "seconds": 1.0, "ends": None}
    Path("part.jsonl").write_text(json.dumps(whole) + "\n" + row)
    monkeypatch.setattr("sys.argv", ["coverage.py", *words])
    told = ""
    try:
        coverage.main()
    except SystemExit as stopped:
        told = str(stopped)
    assert said in told + "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("held", "sets", "said"),
    [
        ((0.95, 0.90, 0.98), 400, "yes"),
        ((0.95, 0.95, 0.99), 400, "wide?"), ((0.95, 0.95, 0.995), 400, "wide"),
        ((0.95, 0.95, 0.99), 1000, "wide"),
        ((0.88, 0.95, 0.999), 400, "no?"), ((0.86, 0.95, 0.999), 400, "no"),
        ((np.nan,) * 3, 400, "refused"),
    ],
)  # fmt: skip
def test_a_coverage_is_outside_the_range_where_two_standard_errors_say_so(
    held, sets, said, monkeypatch
) -> None:
    coverage = _coverage_study(monkeypatch)
    found = coverage.Study(np.array(held), None, None, sets, float(np.isnan(held).all()), 0.0)
    assert coverage.verdict(coverage.CASES[0], found) == said


def test_no_one_width_holds_growing_and_falling_noise(monkeypatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    uneven = importlib.import_module("coverage_parts.uneven_noise")
    tables = {name: uneven.coverage(growth, 1e5, 30_000) for name, growth in uneven.GROWTH.items()}
    held = {name: table.sum(axis=0) for name, table in tables.items()}
    assert all(h[-1] == pytest.approx(1) for h in held.values())  # the widest holds every draw
    one = int((held["grows"] >= 0.9).argmax())
    assert uneven.least_coverage(tables, 1.0) == pytest.approx(held["falls"][one], abs=1e-6)
    # with even noise the error over the scatter is Student's with two degrees of freedom, scaled
    narrow, wide = ((held["even"] >= share).argmax() for share in (0.9, 0.98))
    ratio = math.tan(math.pi / 2 * (wide + 1) / 300) / math.tan(math.pi / 2 * (narrow + 1) / 300)
    assert ratio == pytest.approx(stats.t.ppf(0.99, 2) / stats.t.ppf(0.95, 2), rel=0.1)
    assert uneven.least_coverage(tables, 2.0) < uneven.least_coverage(tables, 1.0)
