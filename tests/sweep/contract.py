"""The contract of a pool, as a class of tests that another engine inherits."""

import time

import pytest

from scalinglab.store import Store
from scalinglab.sweep.pools.pool import DIED, Pool
from tests.sweep.pretend import identity

RUNNER = "tests.sweep.pretend"


def task(number: int, store: Store, **setting: object) -> dict:
    settings = [identity(setting)]
    return {
        "task": number, "runner": RUNNER, "settings": settings, "group": settings, "experiment": None,
        "store": str(store.path), "device": None,
    }  # fmt: skip


def answers(pool: Pool, count: int, seconds: float = 60.0) -> dict[int, dict]:
    """So many answers, by the number of their task; each comes once."""
    found: dict[int, dict] = {}
    end = time.monotonic() + seconds
    while len(found) < count:
        assert time.monotonic() < end, f"{count - len(found)} tasks have no answer"
        for answer in pool.wait(1.0):
            assert answer["task"] not in found
            found[answer["task"]] = answer
    return found


class PoolContract:
    """What every pool promises (`scalinglab.sweep.pools.pool.Pool`). A later engine inherits these tests:

    class TestMyPool(PoolContract):
        @pytest.fixture
        def pool(self):
            pool = MyPool(workers=2)
            yield pool
            pool.kill()
    """

    @pytest.fixture
    def pool(self):
        raise NotImplementedError("a fixture `pool` with two slots, killed afterwards")

    @pytest.fixture
    def store(self, tmp_path):
        return Store(tmp_path)

    def test_it_has_the_slots_it_was_asked_for(self, pool):
        assert pool.slots == 2

    def test_every_task_has_one_answer_and_its_runs_are_stored(self, pool, store):
        for number in (1, 2):
            pool.submit(task(number, store, seed=number))
        found = answers(pool, 2)
        assert {number: answer["ok"] for number, answer in found.items()} == {1: True, 2: True}
        assert len(store.curves().runs) == 2
        assert pool.wait(0.1) == []  # and no more than one

    def test_a_task_that_raises_says_what_and_its_worker_goes_on(self, pool, store):
        pool.submit(task(1, store, trouble="raise"))
        answer = answers(pool, 1)[1]
        assert (answer["ok"], answer["kind"]) == (False, "error")
        assert "this network cannot be trained" in answer["message"]
        assert "Traceback" in answer["text"]
        pool.submit(task(2, store, seed=1))
        assert answers(pool, 1)[2]["ok"]

    @pytest.mark.slow
    def test_a_worker_that_dies_answers_and_costs_no_other_task(self, pool, store):
        pool.submit(task(1, store, trouble="kill"))
        pool.submit(task(2, store, seed=1, pause=0.05))
        found = answers(pool, 2)
        assert (found[1]["ok"], found[1]["kind"]) == (False, DIED)
        assert found[1]["message"]
        assert found[2]["ok"]
        assert store.status(identity({"trouble": "kill"})) == "unfinished"  # and was not done again
        pool.submit(task(3, store, seed=2))
        assert answers(pool, 1)[3]["ok"]

    def test_a_full_store_is_told_from_other_errors(self, pool, store):
        (store.path / "full").touch()
        pool.submit(task(1, store))
        assert answers(pool, 1)[1]["kind"] == "store"

    def test_waiting_ends_in_time_where_nothing_comes(self, pool, store):
        start = time.monotonic()
        assert pool.wait(0.3) == []
        pool.submit(task(1, store, pause=0.5))
        pool.wait(0.3)
        assert time.monotonic() - start < 30
        assert answers(pool, 1)[1]["ok"]

    @pytest.mark.slow
    def test_killed_it_stops_what_runs(self, pool, store):
        pool.submit(task(1, store, pause=10.0))
        while store.status(identity({"pause": 10.0})) == "missing":
            pool.wait(0.1)
        pool.kill()
        end = time.monotonic() + 20
        while store.status(identity({"pause": 10.0})) == "running":
            assert time.monotonic() < end, "its worker outlived it"
            time.sleep(0.05)
        assert store.status(identity({"pause": 10.0})) == "unfinished"
