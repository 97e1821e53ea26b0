"""What the studies of solvable models claim holds in their records at scale smoke."""

from __future__ import annotations

import pytest

from scalinglab.studies.verdict import DISAGREES
from scalinglab.theory.one_pass import phases as theory
from scalinglab_papers.theory import phases
from tests.papers.smoke_records import recorded


@pytest.mark.parametrize(
    "key", ["phases", "feature-learning", "schedules", "multi-pass", "perceptrons", "superposition", "quanta"]
)
def test_no_number_disagrees(key: str) -> None:
    rows = recorded(f"theory/{key}").values()
    assert [row.quantity for row in rows if row.verdict == DISAGREES] == []


def test_adapted_momentum_is_steeper_than_sgd() -> None:
    rows = recorded("theory/momentum")
    sgd, adapted = (
        rows[f"a = 2.5, b = 1.5: exponent of {name}"].measured for name in ("SGD", "adapted momentum")
    )
    assert adapted > 1.05 * sgd


def test_every_phase_is_studied_at_a_point_inside_it() -> None:
    for name, point in phases.POINTS.items():
        found = theory.phase(*point)
        assert found.name == name
        assert (found.loss, found.size) == pytest.approx(phases.printed(*point)[name], rel=1e-9)
