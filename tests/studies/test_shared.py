"""Work that entries share is done once, and counted in the record of each."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import scalinglab as sl
from scalinglab.studies import Entry, Reproduction, Row, results, shared, trained
from tests import fake_study


@pytest.fixture
def networks(clock: SimpleNamespace) -> Callable[[str], list[str]]:
    """A shared result of 10 s that uses another one of 3 s twice, and two runs."""

    @shared
    def rate(scale: str) -> float:
        clock.now += 3
        trained.count(["probe"])
        return 0.1

    @shared
    def networks(scale: str) -> list[str]:
        assert rate(scale) == rate(scale)
        clock.now += 10
        trained.count(["run"])
        return [scale]

    return networks


def test_an_entry_counts_what_an_earlier_one_has_computed(clock: SimpleNamespace, networks: Callable):
    taken, begun = [], clock.now
    for drawing in (1, 2):
        with trained.counted("a figure") as work:
            assert networks("smoke") is networks("smoke")
            clock.now += drawing
        taken.append((work.seconds, work.runs))
    assert taken == [(14.0, {"probe", "run"}), (15.0, {"probe", "run"})]
    assert clock.now - begun == pytest.approx(16), "computed once"


def test_other_arguments_and_other_stores_are_other_results(
    clock: SimpleNamespace, networks: Callable, tmp_path: Path
):
    first = networks("smoke")
    assert networks(scale="laptop") == ["laptop"]
    with trained.storing_in(tmp_path):
        assert networks("smoke") is not first
    assert networks("smoke") is first
    networks.cache_clear()
    assert networks("smoke") is not first


def test_a_record_says_the_seconds_of_its_entry_alone(
    clock: SimpleNamespace, networks: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def make(scale: str) -> Reproduction:
        networks(scale)
        clock.now += 1
        return Reproduction(sl.Curves({"n_data": [1], "test_error": [0.5]}), None, (Row("loss", 1.0),))

    entry = Entry("paper/fig", "a claim", scales=("smoke",), make="fake_study:make")
    fake_study.install(monkeypatch, tmp_path, [entry], make=make)
    assert [results.run("paper/fig", "smoke")[1] for _ in range(2)] == [14.0, 14.0]


def test_a_result_that_failed_is_not_kept(clock: SimpleNamespace):
    tries = []

    @shared
    def once() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError
        return len(tries)

    with pytest.raises(ValueError):
        once()
    assert once() == once() == 2
