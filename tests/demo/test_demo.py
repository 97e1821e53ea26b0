"""The demonstration: trains, keeps, continues, fits and reports on real digits."""

from pathlib import Path

import pytest

import scalinglab as sl
from scalinglab.demo import digits
from tests.browser import Browser, needs_browser

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, sl.Curves]:
    store = tmp_path_factory.mktemp("demo") / "runs"
    return store, digits.train(digits.PLANS["smoke"], store, progress=False)


def test_every_size_and_seed_is_trained_and_followed(trained: tuple[Path, sl.Curves]):
    plan, curves = digits.PLANS["smoke"], trained[1]
    runs = curves.frame.groupby(["n_data", "seed"])
    assert len(runs) == len(plan.sizes) * plan.seeds
    assert (runs["norm"].last() > 1.5 * runs["norm"].first()).all()
    best = curves.best("test_error").frame.groupby("n_data")["test_error"].mean()
    assert best.iloc[1:].max() < 0.8 * best.iloc[0] < 0.8 * 0.5  # it learns, and data help


def test_started_again_it_trains_nothing_new(trained: tuple[Path, sl.Curves]):
    store, curves = trained
    before = {run: record.finished for run, record in sl.Store(store).records().items()}
    again = digits.train(digits.PLANS["smoke"], store, progress=False)
    assert {run: record.finished for run, record in sl.Store(store).records().items()} == before
    assert again.frame.equals(curves.frame)


@needs_browser
@pytest.mark.browser
@pytest.mark.nightly
def test_its_report_renders_in_a_browser(trained: tuple[Path, sl.Curves], tmp_path: Path):
    path = sl.report.write(trained[1], tmp_path / "report.html")
    with Browser() as browser:
        browser.open_report(path)
        assert browser.errors() == []
        assert browser.requests() == []
