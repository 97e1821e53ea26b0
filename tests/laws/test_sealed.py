"""Forecasts are sealed, refused when changed, and scored once."""

import json

import numpy as np
import pytest

from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.extrapolation import sealed
from scalinglab.laws.extrapolation.stacking import extrapolate
from tests.refusals import because

X = np.geomspace(100, 10_000, 20)


@pytest.fixture
def forecast(tmp_path):
    path = tmp_path / "forecast.json"
    sealed.make(extrapolate(X, 3 * X**-0.4, at=1e5), path, what="loss at 1e5")
    return path


def test_a_sealed_forecast_is_scored_and_counted_once(forecast, tmp_path):
    document = sealed.load(forecast)
    inside = sealed.score(forecast, document["mean"])
    outside = sealed.score(forecast, 2 * document["high"])
    assert inside.inside
    assert not outside.inside
    assert inside.error == pytest.approx(0, abs=1e-12)
    tally = sealed.keep(inside, forecast, tmp_path / "tally.jsonl")
    assert tally.calibration == 1
    assert tally.sharpness == pytest.approx(np.log(document["high"] / document["low"]) / 2)
    with pytest.raises(BadInput, match="scored once"):
        sealed.keep(inside, forecast, tmp_path / "tally.jsonl")


def test_a_changed_forecast_is_refused_and_none_is_overwritten(forecast):
    document = json.loads(forecast.read_text())
    with pytest.raises(BadInput, match="not overwritten"):
        sealed.make(extrapolate(X, 3 * X**-0.4, at=1e5), forecast)
    forecast.write_text(json.dumps({**document, "high": 2 * document["high"]}))
    with pytest.raises(BadInput, match="changed after it was sealed"):
        sealed.score(forecast, 0.03)
    forecast.write_text("{}")
    with pytest.raises(BadInput, match="not a sealed forecast"):
        sealed.load(forecast)


def test_a_forecast_without_an_interval_is_not_sealed(tmp_path):
    """Any result would lie inside, and the tally would count it."""
    rises = 0.1 + 3 * X**-0.5 + np.where(X > 2_000, 3e-5 * (X - 2_000), 0.0)
    with pytest.raises(NotDetermined, check=because("still_rises")):
        sealed.make(extrapolate(X, rises, at=2e4), tmp_path / "open.json")
    assert not (tmp_path / "open.json").exists()


def test_several_sizes_and_bad_results_are_refused(forecast, tmp_path):
    with pytest.raises(BadInput, match="2 sizes"):
        sealed.make(extrapolate(X, 3 * X**-0.4, at=[1e5, 1e6]), tmp_path / "two.json")
    with pytest.raises(BadInput, match="measured=-1 "):
        sealed.score(forecast, -1.0)
