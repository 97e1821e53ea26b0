"""The final loss of a run in progress, on curves that were drawn from a law whose end is known."""

from __future__ import annotations

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws import schedule
from scalinglab.laws.in_progress import Study, final_loss

TOTAL, PEAK = 20_000.0, 3e-4
VALUES = {"L0": 2.6, "A": 0.5, "alpha": 0.5, "B": 500.0, "C": 2.0, "beta": 0.8, "gamma": 0.5}


def loss(plan: schedule.Schedule, steps: np.ndarray, **other: float) -> np.ndarray:
    """Luo et al. 2025, eq. 1 and 2, summed over every step, on its own."""
    v = {**VALUES, **other}
    every = np.arange(1, int(plan.total) + 1)
    rate = plan(every)
    area = np.cumsum(rate)
    drops = np.append(PEAK - rate[0], -np.diff(rate))
    found = []
    for step in steps.astype(int):
        since = np.maximum(area[step - 1] - area[:step], 0)
        kept = 1 - (1 + v["C"] * np.maximum(rate[:step] / PEAK, 1e-6) ** -v["gamma"] * since) ** -v["beta"]
        found.append(v["L0"] + v["A"] * area[step - 1] ** -v["alpha"] - v["B"] * (drops[:step] * kept).sum())
    return np.array(found)


STEPS = np.linspace(400, TOTAL, 50).round()
PLANS = {
    "cosine": schedule.cosine(PEAK, TOTAL, 0, PEAK / 10), "constant": schedule.constant(PEAK, TOTAL),
    "wsd": schedule.wsd(PEAK, TOTAL, 0.8 * TOTAL, 0, PEAK / 10),
}  # fmt: skip


@pytest.fixture(scope="module")
def curves() -> dict[str, np.ndarray]:
    return {name: loss(plan, STEPS) for name, plan in PLANS.items()}


@pytest.fixture(scope="module")
def study(curves) -> Study:
    return Study.of([(PLANS[name], STEPS, curves[name]) for name in PLANS])


@pytest.mark.parametrize(("name", "within"), [("constant", 0.005), ("cosine", 0.03), ("wsd", 0.04)])
def test_a_run_alone_gives_an_end_inside_its_band(curves, name: str, within: float) -> None:
    known = STEPS <= 0.4 * TOTAL
    found = final_loss(STEPS[known], curves[name][known], schedule=PLANS[name])
    assert found.low <= curves[name][-1] <= found.high
    assert found.value == pytest.approx(curves[name][-1], rel=within)
    assert found.fraction == pytest.approx(0.4)
    assert found.remaining == pytest.approx(0.6 * TOTAL)
    assert found.on_track


@pytest.mark.slow
def test_earlier_runs_of_another_network_show_the_fall_that_is_to_come(curves, study) -> None:
    """The larger network differs by its level alone; half a percent, where it alone leaves several."""
    larger, known = loss(PLANS["wsd"], STEPS, L0=2.3), STEPS <= 0.4 * TOTAL
    alone = final_loss(STEPS[known], larger[known], schedule=PLANS["wsd"])
    found = final_loss(STEPS[known], larger[known], schedule=PLANS["wsd"], like=study)
    assert found.value == pytest.approx(larger[-1], rel=0.005)
    assert found.low <= larger[-1] <= found.high
    assert found.high / found.low < 0.6 * alone.high / alone.low + 0.4
    assert found.earlier == 3


@pytest.mark.slow
def test_a_run_that_leaves_its_band_raises_the_alarm(curves, study) -> None:
    known = STEPS <= 0.6 * TOTAL
    risen = np.where(STEPS > 0.4 * TOTAL, 1.05, 1.0) * curves["cosine"]
    assert not final_loss(STEPS[known], risen[known], schedule=PLANS["cosine"], like=study).on_track
    found = final_loss(STEPS[known], curves["cosine"][known], schedule=PLANS["cosine"], like=study)
    assert found.on_track
    assert "alarm" not in found.summary()


@pytest.mark.slow
def test_a_loss_below_its_band_is_an_alarm_only_beside_earlier_runs(curves, study) -> None:
    """A run alone may fall faster than a power law, as one that learns its data by heart does."""
    known = STEPS <= 0.6 * TOTAL
    fallen = np.where(STEPS > 0.4 * TOTAL, 0.9, 1.0) * curves["constant"]
    alone = final_loss(STEPS[known], fallen[known], schedule=PLANS["constant"])
    assert fallen[known][-1] < alone.expected[0]
    assert alone.on_track
    assert not final_loss(STEPS[known], fallen[known], schedule=PLANS["constant"], like=study).on_track


def test_what_is_not_known_is_refused(curves) -> None:
    early, half = STEPS <= 0.08 * TOTAL, STEPS <= 0.5 * TOTAL
    cases = [
        ("run_too_early", STEPS[early], curves["cosine"][early], PLANS["cosine"]),
        ("schedule_unknown", STEPS[half], curves["cosine"][half], None),
        ("run_diverged", STEPS[half], np.where(STEPS[half] > 6000, np.nan, 3.0), PLANS["cosine"]),
        ("run_too_early", [], [], PLANS["cosine"]),
    ]
    for code, steps, losses, plan in cases:
        with pytest.raises(NotDetermined) as refused:
            final_loss(steps, losses, schedule=plan)
        assert refused.value.args[0].code == code
    for steps, losses, total in (([1, 2], [3.0], None), ([3e4], [3.0], None), ([1e3], [3.0], 3e4)):
        with pytest.raises(BadInput):
            final_loss(steps, losses, schedule=PLANS["cosine"], total=total)


def test_units_change_nothing(curves) -> None:
    known = STEPS <= 0.5 * TOTAL
    one = sl.laws.final_loss(STEPS[known], curves["cosine"][known], schedule=PLANS["cosine"])
    plan = schedule.Schedule(PLANS["cosine"].step / 1000, 50 * PLANS["cosine"].rate)
    other = final_loss(STEPS[known] / 1000, 7 * curves["cosine"][known], schedule=plan)
    assert other.value == pytest.approx(7 * one.value, rel=1e-4)
    assert other.high == pytest.approx(7 * one.high, rel=1e-3)
