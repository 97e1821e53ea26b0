"""Batch size and learning rate for another width."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.laws.noise.selection import Search
from scalinglab.laws.planning import sgd_noise_advice as advice
from scalinglab.results.estimate import Estimate

WIDTHS = (1.0, 2.0, 4.0)
KAPPA = 55_000 / 0.1 / 2  # N / ((1 − m) σ0²), NTK


def runs(
    scheme: str = "ntk", power: float = 1.0, scatter: float = 1e-4, seeds: int = 6, failing: float = 400.0
) -> sl.Curves:
    """Optimal noise 2e4 · width^power; best error 0.02 · width^−0.5; rates above `failing` do not train."""
    rng = np.random.default_rng(0)
    rows = []
    for width in WIDTHS:
        for batch in 2.0 ** np.arange(2, 11.5, 0.5):
            for rate in (10.0, 800.0) if batch == 1024 else (10.0,):
                noise = KAPPA * rate / batch * (width if scheme == "standard" else 1.0)
                off = np.log2(noise / (2e4 * width**power))
                own = rate / 128 if scheme == "standard" else rate
                for seed in range(seeds):
                    error = 0.02 * width**-0.5 + 0.001 * off**2 + scatter * rng.standard_normal()
                    rows.append((width, batch, own, seed, 0.9 if rate > failing else error))
    names = ["width", "batch_size", "learning_rate", "seed", "test_error"]
    columns = dict(zip(names, np.array(rows).T, strict=True))
    constant = {"model": "mlp", "optimizer": "nesterov", "momentum": 0.9, "n_data": 55_000}
    return sl.Curves({**columns, **constant, "parameterization": scheme})


@pytest.mark.parametrize("scheme", ["ntk", "standard"])
def test_advice_is_that_of_the_planted_law(scheme):
    """Known optimum at width 8: ḡ = 1.6e5, so B = κ ε/ḡ."""
    table = runs(scheme)
    found = sl.laws.plan.noise(table, 8)
    rate = table.frame["learning_rate"].min()
    kappa = KAPPA * (8 * 128 if scheme == "standard" else 1.0)
    assert found.noise.low < 1.6e5 < found.noise.high
    assert found.noise.value == pytest.approx(1.6e5, rel=0.25)
    assert found.batch_size_there.value == pytest.approx(kappa * rate / 1.6e5, rel=0.25)
    assert found.batch_size_there.low < kappa * rate / 1.6e5 < found.batch_size_there.high
    there = 1.6e5 * found.batch_size / kappa
    assert found.learning_rate_there.low < there < found.learning_rate_there.high
    assert (found.widening_factor, found.width) == (1024, 8)
    assert found.error.value == pytest.approx(0.02 * 8**-0.5, rel=0.1)
    assert found.gain.value == pytest.approx(0.02 * (4**-0.5 - 8**-0.5), rel=0.4)


def test_the_critical_width_is_that_of_batch_one_at_the_largest_rate_that_trained():
    found = sl.laws.plan.noise(runs(failing=400.0), 8)
    exact = KAPPA * 10 / 2e4  # ḡ at B = 1 and rate 10, over ḡ_opt at width 1
    assert found.rate_is_bound
    assert found.critical_width.low < exact < found.critical_width.high
    assert 0.5 < found.critical_width.value / exact < 2
    open_ended = sl.laws.plan.noise(runs(failing=1e9), 8)
    assert not open_ended.rate_is_bound
    assert 0.25 < open_ended.critical_width.value / (80 * exact) < 4
    assert "at least" in open_ended.summary()


def test_what_is_lost_without_retuning_follows_the_shape_of_the_search():
    """In NTK the optimum moves one octave from width 4 to 8: 0.001 of error; in the standard scheme none."""
    ntk = sl.laws.plan.noise(runs("ntk", scatter=1e-4), 8).retuning
    assert ntk is not None
    assert ntk.low < 0.001 < ntk.high
    assert ntk.value > 3e-4
    standard = sl.laws.plan.noise(runs("standard", scatter=1e-4), 8).retuning
    assert standard is not None
    assert standard.value < 3e-4


def test_a_batch_below_one_is_said():
    found = sl.laws.plan.noise(runs(power=2.0), 30)
    assert found.batch_size_there.value < 1
    assert "below one" in found.summary()
    assert any("fails" in note for note in found.notes)


def test_refusals_name_the_reason():
    with pytest.raises(BadInput, match="other seeds"):
        sl.laws.plan.noise(runs(seeds=1), 8)
    with pytest.raises(BadInput, match="run a width in between"):
        sl.laws.plan.noise(runs(), 100)
    with pytest.raises(BadInput, match=r"no advice for width 8: .*(anywhere|inside the search)"):
        sl.laws.plan.noise(runs(scatter=0.05, seeds=2), 8)
    with pytest.raises(BadInput, match="width = -1"):
        sl.laws.plan.noise(runs(), -1)
    mixed = sl.Curves.concat([runs("ntk"), runs("standard")])
    with pytest.raises(BadInput, match="mix values of parameterization"):
        sl.laws.plan.noise(mixed, 8)


@pytest.mark.slow
def test_the_command_line_gives_the_same_numbers(tmp_path):
    table = runs()
    table.frame.drop(columns="run").to_csv(tmp_path / "runs.csv", index=False)
    words = ["plan", "noise", str(tmp_path / "runs.csv"), "--width", "8", "--figure", str(tmp_path / "a.png")]
    said = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    document = json.loads(said.output)
    found = sl.laws.plan.noise(table, 8)
    assert document["batch_size_there"]["value"] == pytest.approx(found.batch_size_there.value)
    assert document["critical_width"]["low"] == pytest.approx(found.critical_width.low)
    assert (tmp_path / "a.png").stat().st_size > 10_000
    with pytest.raises(BadInput, match="no advice for width 1000"):
        CliRunner().invoke(app, [*words[:4], "1000"], catch_exceptions=False)


# --- the parts, written out -----------------------------------------------------------------------------


def optima(**changes):
    searches = (
        Search(
            np.array([1.0, 2.0, 4.0]),
            tuple(np.array(s) for s in ([0.8, 0.9], [0.9, 0.94], [0.7, 0.8])),
            np.full(3, 2),
        ),
    )
    given = {
        "width": np.array([128.0, 256.0, 512.0]),
        "multiple": np.array([1.0, 2.0, 4.0]),
        "searches": searches,
        "width_column": "widening_factor",
        "noise": np.array([1.0, 2.2, 3.6]),
        "used": np.array([True] * 3),
        "draws": np.array([[1.1, 2.0, 4.0], [0.9, 2.4, 3.3]]),
        "accuracy": np.array([0.8, 0.85, 0.9]),
        "best_draws": np.array([[0.79, 0.86, 0.91], [0.81, 0.84, 0.88]]),
        "y": "test_error",
        "verdict": "holds",
        "reason": "because",
    }
    return SimpleNamespace(**(given | changes))


def test_a_line_through_optima_is_least_squares_in_logs_for_the_measured_and_every_draw():
    found = optima()
    scale, power = advice._lines(found)
    for row, level, slope in zip(np.vstack([found.noise, found.draws]), scale, power, strict=True):
        assert (slope, level) == pytest.approx(tuple(np.polyfit(np.log(found.width), np.log(row), 1)))
    there = advice._power_law(scale, power, 1024.0)
    assert there.value == pytest.approx(np.exp(scale[0] + power[0] * np.log(1024)))
    assert there.low < there.value < there.high
    assert advice._units(found) == 128
    assert advice._units(optima(width_column="width")) == 1
    assert advice._units(optima(multiple=np.array([1.0, 2.0, np.nan]))) == 1


def test_expected_error_is_a_power_law_of_the_best_errors():
    found = optima()
    error, gain = advice._error(found, 1024.0)
    slope, level = np.polyfit(np.log(found.width), np.log(1 - found.accuracy), 1)
    assert error.value == pytest.approx(np.exp(level + slope * np.log(1024)))
    assert gain.value == pytest.approx(0.1 - error.value)
    as_loss = optima(y="test_loss", accuracy=np.array([0.2, 0.15, 0.1]), best_draws=found.best_draws - 1)
    assert advice._error(as_loss, 1024.0)[0].value == pytest.approx(error.value)
    assert advice._error(as_loss, 1024.0)[0].low == pytest.approx(error.low)


def test_what_is_lost_is_interpolated_on_the_search_of_the_widest():
    found = optima()
    scale, power = np.log(np.array([4.0, 4.0, 4.0]) / 512), np.ones(3)  # the optimum is w/128
    lost = advice._retuning(found, 1024.0, "standard", scale, power)
    # at 512 the best is 4, kept in proportion: 3.6/4 off, so the widest search is read at 3.6 instead of 4
    at = np.interp(np.log(3.6), np.log([1, 2, 4]), [0.85, 0.92, 0.75])
    assert lost.value == pytest.approx(0.92 - at)
    ntk = advice._retuning(found, 700.0, "ntk", scale, power)
    at = np.interp(np.log(4 * 3.6 / (700 / 128)), np.log([1, 2, 4]), [0.85, 0.92, 0.75])
    assert ntk.value == pytest.approx(0.92 - at)
    assert advice._retuning(found, 1e5, "ntk", scale, power) is None, "beyond the search"


def test_critical_width_is_where_the_optimum_takes_batch_one():
    ends = SimpleNamespace(
        frame=pd.DataFrame({"batch_size": [10, 20, 40]}),
        level=np.array([5.0, 4.0, 9.0]),
        trained=np.array([True, True, False]),
    )
    scale, power = np.log([2.0, 2.0, 4.0]), np.array([1.0, 1.0, 1.0])
    found, failed = advice._critical(ends, scale, power)
    assert found.value == pytest.approx(80 / 2)
    assert (found.low, found.high) == pytest.approx((20.0, 40.0))
    assert failed, "9 · 40 did not train"
    ends.trained[2] = True
    assert advice._critical(ends, scale, power)[1] is False
    assert advice._critical(ends, scale, np.array([0.0, 1.0, 1.0]))[0].value == np.inf
    halved = advice._divided(found, 2.0)
    assert (halved.value, halved.low, halved.high) == pytest.approx((20.0, 10.0, 20.0))


def test_advice_is_told_with_open_ends_and_notes():
    assert advice._said(Estimate(2.0, 0.1, 1.5, 3.0)) == "2, 95 % [1.5, 3]"
    assert advice._said(Estimate(2.0, 0.1, 1.5, np.inf)) == "2, 95 % from 1.5 on"
    frame = pd.DataFrame({"batch_norm": [False, True]})
    notes = advice._notes(SimpleNamespace(frame=frame), Estimate(0.9), optima(verdict="fails"))
    assert len(notes) == 3
    assert notes[1] == "p = 1 fails: because; the power of the runs is used"
    assert advice._notes(SimpleNamespace(frame=frame[:1]), Estimate(1.0), optima()) == ()


def test_noise_becomes_hyperparameters_by_the_scheme():
    frame = pd.DataFrame({"learning_rate": [0.1, 0.1, 0.2], "batch_size": [10, 20, 20]})
    width = np.array([1.0, 2.0, 4.0])
    ratio = frame["learning_rate"].to_numpy() / frame["batch_size"].to_numpy()
    ntk = SimpleNamespace(frame=frame, level=7 * ratio, width=width)
    assert advice._kappa(ntk, 8.0) == ("ntk", pytest.approx(7.0))
    standard = SimpleNamespace(frame=frame, level=7 * width * ratio, width=width)
    assert advice._kappa(standard, 8.0) == ("standard", pytest.approx(56.0))
    told = SimpleNamespace(frame=frame.assign(parameterization="ntk"), level=7 * width * ratio, width=width)
    assert advice._kappa(told, 8.0) == ("ntk", pytest.approx(14.0))
    with pytest.raises(BadInput, match="no column batch_size"):
        advice._kappa(SimpleNamespace(frame=frame.drop(columns="batch_size")), 8.0)
