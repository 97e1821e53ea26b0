"""One question, one answer: few sizes, rising metrics, percent, and the same numbers on every road."""

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws import plan
from scalinglab.laws.extrapolation.stacking import continuation
from scalinglab.laws.fitting import fit as fitting
from scalinglab.laws.fitting.data.from_curves import points_of
from scalinglab.results import Reason
from tests.refusals import because


def curve(x):
    return 0.05 + 3 * x**-0.4


def measured(count: int, seed: int, noise: float = 0.01):
    x = np.geomspace(1e3, 1e5, count)
    return x, curve(x) * np.exp(noise * np.random.default_rng(seed).standard_normal(count))


@pytest.fixture(params=[5, 12])
def table(request, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    x, y = measured(request.param, 0)
    path = tmp_path / "points.csv"
    pd.DataFrame({"n_data": x, "test_error": y}).to_csv(path, index=False)
    return path


def said(*words) -> dict:
    done = CliRunner().invoke(app, [*map(str, words), "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    return json.loads(done.stdout)


@pytest.mark.slow
def test_fit_extrapolate_plan_and_python_give_the_same_prediction(table):
    fit = said("laws", "fit", table, "--at", "1e6", "--no-figure")["predictions"][0]
    further = said("laws", "extrapolate", table, "--at", "1e6", "--no-figure")
    frame = pd.read_csv(table)
    python = sl.laws.extrapolate(frame.n_data, frame.test_error, at=1e6)
    for row in ((fit["test_error"], fit["low"], fit["high"]),
                (further["test_error"][0], further["low"][0], further["high"][0])):  # fmt: skip
        assert row == pytest.approx((python.mean[0], python.low[0], python.high[0]), rel=1e-9)
    assert fit["beyond"] == pytest.approx(10)
    target = float(python.mean[0])
    needed = said("plan", "size-for", table, "--target", target)
    assert needed["value"] == pytest.approx(1e6, rel=1e-3)
    in_percent = said("plan", "size-for", table, "--target", f"{100 * target}%")
    assert in_percent["value"] == pytest.approx(needed["value"], rel=1e-9)
    planned_with = continuation(frame.n_data, frame.test_error)
    ends = np.concatenate(planned_with.interval(1e6))
    assert ends == pytest.approx([python.low[0], python.high[0]], rel=1e-9)
    answers = sl.answer(table)
    command = answers["next run"].command.line([str(table)])
    planned, answered = said(*shlex.split(command)[1:]), answers.next_runs
    half = (python.high[0] - python.low[0]) / 2 / target
    assert (planned["prediction"], planned["half_width"]) == pytest.approx((target, half), rel=1e-6)
    assert (answered.prediction, answered.before) == pytest.approx((target, half), rel=1e-6)
    assert planned["runs"][-1]["half_width"] == pytest.approx(answered.after[-1], rel=1e-6)


@pytest.mark.parametrize("count", [4, pytest.param(6, marks=pytest.mark.slow)])
def test_a_curve_that_flattens_is_not_taken_for_a_power_law(count):
    hits = 0
    for seed in range(6):
        x, y = measured(count, seed)
        assert fitting.automatic(x) == "power_law_offset"
        found = sl.laws.extrapolate(x, y, at=1e6)
        hits += found.low[0] <= curve(1e6) <= found.high[0]
        pure = sl.laws.fit("power_law", x, y).predict(1e6)
        assert pure < 0.8 * curve(1e6)  # what a pure power law would have promised
    assert hits >= 4  # P(fewer | 95 %) < 0.003


@pytest.mark.nightly
def test_prediction_of_few_sizes_holds_for_both_forms():
    x = np.geomspace(1e3, 1e5, 5)
    rng = np.random.default_rng(0)
    for truth in (curve, lambda v: 3 * v**-0.4):
        hits = 0
        for _ in range(20):
            y = truth(x) * np.exp(0.01 * rng.standard_normal(5))
            found = sl.laws.extrapolate(x, y, at=3e5)
            hits += found.low[0] <= truth(3e5) * np.exp(0.01 * rng.standard_normal()) <= found.high[0]
        assert hits >= 16  # P(fewer | 95 %) < 0.003


def test_an_offset_that_is_fitted_as_zero_is_not_ruled_out():
    """Four points of a curve that flattens below its noise: the interval holds a curve that does."""
    x, y = np.array([1e3, 2e3, 4e3, 8e3]), np.array([0.31, 0.27, 0.24, 0.2])
    law = sl.laws.fit("auto", x, y)
    assert law.certificate.at_bound == ("offset",)
    # two parameters were estimated from four points: Student's quantile with two degrees of freedom
    r = np.log(y) - np.polyval(np.polyfit(np.log(x), np.log(y), 1), np.log(x))
    assert law.quantile(0.95) * law.residual_std == pytest.approx(
        stats.t.ppf(0.975, 2) * np.sqrt(r @ r / 2), rel=1e-4
    )
    flattened = 0.19 + (0.31 - 0.19) * (x / 1e3) ** -1.0
    assert np.abs(np.log(flattened / y)).max() < 0.12  # within the noise that four points allow
    found = sl.laws.extrapolate(x, y, at=8e4)
    assert found.low[0] < 0.126 < 0.19 < found.high[0]


@pytest.mark.parametrize("count", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_beyond_sizes_over_less_than_three_doublings_intervals_are_wider(count):
    """By 8/range, and by no more inside the sizes: no jump where they begin to cover enough."""
    enough, short = (np.geomspace(1e3, top, count) for top in (8e3, 7.99e3))
    y = curve(enough) * np.exp(0.002 * np.random.default_rng(0).standard_normal(count))
    for ratio in (1.0, 1.2):
        known, wide = (sl.laws.extrapolate(x, y, at=ratio * x[-1]) for x in (enough, short))
        assert np.log(wide.high / wide.low) == pytest.approx(np.log(known.high / known.low), rel=0.02)
        notes = {note.code: note for note in wide.notes}
        assert ("short_range" in notes) == (ratio > 1)
        assert ratio == 1 or notes["short_range"].details["factor"] == pytest.approx(8 / 7.99)
        assert "short_range" not in {note.code for note in known.notes}


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))])
def test_seeds_of_one_size_that_share_its_error_do_not_count_as_independent(seed):
    """Three seeds a size that hardly differ tell little more than one, at the largest size and beyond."""
    rng, x, at = np.random.default_rng(seed), np.geomspace(1e3, 1e5, 6), [1e5, 1e6]
    once = curve(x) * np.exp(0.005 * rng.standard_normal(6))
    seeds = np.repeat(once, 3) * np.exp(0.0003 * rng.standard_normal(18))
    alone, shared = (
        sl.laws.extrapolate(sizes, y, at=at) for sizes, y in ((x, once), (np.repeat(x, 3), seeds))
    )
    width = [np.log(each.high / each.low) for each in (alone, shared)]
    assert width[1] == pytest.approx(width[0], rel=0.2)


def test_running_minima_are_continued_from_eight_different_values():
    x = np.geomspace(1e3, 1e5, 12)
    y = curve(x)
    y[[3, 4, 7, 8, 10]] = y[[2, 2, 6, 6, 9]]  # seven different values
    with pytest.raises(NotDetermined, check=because("smoothed", repeated=5, values=12)):
        sl.laws.extrapolate(x, y, at=2e5)
    with pytest.raises(NotDetermined, check=because("smoothed")):
        sl.laws.extrapolate(np.repeat(x, 2), np.repeat(y, 2), at=2e5)
    assert np.isfinite(sl.laws.extrapolate(x, y, at=1e5).high[0])
    with pytest.raises(NotDetermined, check=because("smoothed", repeated=2, values=6)):
        sl.laws.extrapolate(x[:6], [0.5, 0.45, 0.43, 0.43, 0.42, 0.42], at=2e4)
    eight = y.copy()
    eight[10] *= 0.999
    assert np.isfinite(sl.laws.extrapolate(x, eight, at=2e5).high[0])
    rises = y.copy()
    rises[4] *= 1.001  # measured: a running minimum never rises
    assert np.isfinite(sl.laws.extrapolate(x, rises, at=2e5).high[0])


def test_three_sizes_are_refused_beyond_and_noise_that_hides_the_value_is_said():
    x, y = measured(3, 0)
    assert fitting.automatic(x) == "power_law"
    with pytest.raises(NotDetermined, check=because("few_sizes", sizes=3)):
        sl.laws.extrapolate(x, y, at=1e6)
    x, y = measured(4, 2, noise=0.05)
    with pytest.raises(NotDetermined, check=because("too_far_beyond", covered=1e2, beyond=1e5)):
        sl.laws.extrapolate(x, y, at=1e10)
    with pytest.raises(NotDetermined, check=because("value_open", at=1e8, beyond=1e3)):
        sl.laws.extrapolate(x, y, at=1e8, level=0.99)
    x, y = measured(4, 3, noise=0.3)
    with pytest.raises(NotDetermined, check=because("noise_or_bend", sizes=4)):
        sl.laws.extrapolate(x, y, at=1e6)


@pytest.mark.parametrize("count", [5, 12])
def test_accuracy_is_predicted_as_one_minus_the_error(count):
    x, y = measured(count, 2)
    falling, rising = sl.laws.extrapolate(x, y, at=1e6), sl.laws.extrapolate(x, 1 - y, at=1e6)
    assert rising.mean == pytest.approx(1 - falling.mean)
    assert (rising.low[0], rising.high[0]) == pytest.approx((1 - falling.high[0], 1 - falling.low[0]))
    assert Reason("complement") in rising.notes


def test_a_reward_is_refused_with_the_way_out():
    x, _ = measured(8, 0)
    with pytest.raises(BadInput, match=r"rises with x, from 6\.9.*best score - score"):
        sl.laws.extrapolate(x, np.log(x), at=1e6)
    with pytest.raises(NotDetermined, match="ask this question of 1 - y"):
        continuation(x, 1 - curve(x))


def test_percent_and_fraction_are_the_same_points():
    x, y = measured(6, 0)
    plain = points_of(pd.DataFrame({"n_data": x, "accuracy": 1 - y}), "n_data", "accuracy")
    percent = points_of(pd.DataFrame({"n_data": x, "accuracy": 100 * (1 - y)}), "n_data", "accuracy")
    assert percent.y == pytest.approx(plain.y)
    assert Reason("percent", y="accuracy") in percent.notes
    losses = points_of(pd.DataFrame({"n_data": x, "loss": 100 * y}), "n_data", "loss")
    assert losses.y == pytest.approx(100 * y)  # a loss of 3.2 is no percentage


@pytest.mark.slow
def test_questions_of_a_continuation_follow_its_band():
    x, y = measured(12, 4)
    curve_ahead = continuation(x, y)
    found = plan.size_for(curve_ahead, 0.07)
    low, high = curve_ahead.interval(np.array([found.low, found.value]))
    assert low[0] == pytest.approx(0.07, rel=0.01)  # the band's lower edge reaches the target first
    assert low[1] < 0.07 < high[1]


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [6, 12])
def test_a_target_within_the_points_needs_no_continuation(sizes):
    """Sizes over a factor of 4 show where the curve passes between them, and hardly where it does beyond."""
    x = np.geomspace(1e5, 4e5, sizes)
    y = (1 + 12 * x**-0.3) * np.exp(0.001 * np.random.default_rng(5).standard_normal(sizes))
    continued = continuation(x, y)
    found = plan.size_for(continued, 1 + 12 * 2e5**-0.3)
    assert 1e5 < found.low < 2e5 < found.high < 4e5
    assert found.value == pytest.approx(2e5, rel=0.03)
    beyond = plan.size_for(continued, 1 + 12 * 8e5**-0.3)
    assert 4e5 < beyond.low < 8e5 < beyond.high


def test_the_only_measurement_is_fitted_whatever_its_name():
    x = np.geomspace(1e3, 1e5, 6)
    table = pd.DataFrame({"n_data": x, "perplexity": 10 + 300 * x**-0.4})
    assert sl.laws.fit("auto", table).parameters == sl.laws.fit("auto", x, table.perplexity).parameters
    with pytest.raises(BadInput, match="'test_error'"):
        sl.laws.fit("auto", table.assign(other=x[::-1]))


@pytest.mark.slow
def test_a_target_in_percent_of_an_error_is_refused():
    x = np.geomspace(1e3, 1e5, 6)
    table = pd.DataFrame({"n_data": x, "test_error": curve(x)})
    with pytest.raises(BadInput, match=r"target=10: test_error is a fraction below 1 .*: give 0\.05 for 5 %"):
        sl.laws.plan.size_for(table, 10)
    losses = table.rename(columns={"test_error": "test_loss"})
    reason = sl.laws.plan.size_for(losses, 10).reason
    assert (reason.code, reason.details["x"]) == ("any_size", "n_data")


@pytest.mark.parametrize(("sizes", "error", "dof"), [(4, None, 1), (5, None, 2), (6, None, 0), (4, 0.01, 0)])
def test_every_law_of_few_sizes_says_what_tells_their_scatter(
    sizes: int, error: float | None, dof: int
) -> None:
    """One or two numbers give a scatter that may be small by chance; a third, or a known error, will do."""
    x = np.geomspace(1e3, 1e5, sizes)
    noise = np.random.default_rng(0).normal(0, 0.005, sizes)
    y = (0.1 + 12 * x**-0.7) * np.exp(noise)
    known = {} if error is None else {"error": error * y}
    law = sl.laws.fit("power_law_offset", x, y, **known)
    places = [law.notes]
    if error is None:
        places.append(sl.laws.extrapolate(x, y, at=2 * x.max()).notes)
    if sizes == 4 and error is None:
        places.append(sl.answer(pd.DataFrame({"n_data": x, "test_error": y}))["ten times"].reasons)
    for place in places:
        assert [note.details["dof"] for note in place if note.code == "few_dof"] == [dof] * bool(dof)
