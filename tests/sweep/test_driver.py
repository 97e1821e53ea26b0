"""What the driver of a sweep does with an answer, without workers."""

from collections import Counter
from types import SimpleNamespace

import pytest

from scalinglab.curves import run_name
from scalinglab.store import StoreError
from scalinglab.support.work import Request
from scalinglab.sweep import Task, driver
from scalinglab.sweep.display import clock
from scalinglab.sweep.driver import LOSSES, PATIENCE, Driver
from scalinglab.sweep.pools.local_engine import cause_of_death

SETTINGS = tuple({"seed": k} for k in range(4))
NAMES = tuple(map(run_name, SETTINGS))


class PretendStore:
    """Statuses by name, and what was asked of it."""

    path = SimpleNamespace(absolute=lambda: "store")

    def __init__(self, **status):
        self.statuses = {NAMES[int(key[1:])]: value for key, value in status.items()}
        self.discarded, self.sealed, self.sizes = [], [], {}

    def status(self, name):
        return self.statuses.get(name, "missing")

    def discard(self, name):
        self.discarded.append(name)

    def written(self, name):
        return self.sizes.get(name, 0)

    def resume(self, setting, experiment):
        return SimpleNamespace(seal=lambda kind, error: self.sealed.append((setting, kind, error))), []


@pytest.fixture
def made(clock):
    def make(store=None, attempts=2):
        grid = SimpleNamespace(experiment="e")
        return Driver(SimpleNamespace(tasks=()), grid, store or PretendStore(), None, attempts, Request())

    return make


def task(*numbers):
    settings = tuple(SETTINGS[k] for k in numbers)
    return Task(settings, cost=float(len(settings)), memory=1.0, group=settings)


def runs(tasks):
    return [[s["seed"] for s in one.settings] for one in tasks]


def test_a_task_that_is_done_is_over_and_its_time_is_counted(made):
    found = made(PretendStore(r0="done", r1="diverged"))
    found.deal(task(0, 1), {"ok": True, "seconds": {"steps": 2.0}})
    found.deal(task(0), {"ok": True, "seconds": {"steps": 1.5, "start": 1.0}})
    assert found.waiting == []
    assert found.phases == Counter(steps=3.5, start=1.0)
    failed = made(PretendStore(r0="failed"))
    failed.deal(task(0), {"ok": True})
    assert failed.waiting == [], "its worker recorded the failure"


LOST = {"ok": False, "kind": "died", "message": "NodeDiedError: the node is gone"}
CRASHED = {"ok": False, "kind": "crashed", "message": "killed"}


def test_what_is_lost_with_its_worker_uses_up_no_attempt_while_it_gets_further(made):
    store = PretendStore()
    found = made(store, attempts=1)
    for row in range(5 * LOSSES):
        store.sizes[NAMES[0]] = 100 * (row // (LOSSES - 1))  # a checkpoint more now and then
        found.deal(task(0), LOST)
        assert runs(found.waiting) == [[0]], f"loss {row}"
        found.waiting.pop()
    assert (store.sealed, found.left) == ([], [])
    assert len(found.causes) == 5 * LOSSES


def test_what_is_lost_again_and_again_without_a_row_more_is_halved_then_left_unfinished(made):
    store = PretendStore()
    found = made(store, attempts=1)
    for _ in range(LOSSES - 1):
        found.deal(task(0, 1, 2), LOST)
        assert runs(found.waiting) == [[0, 1, 2]], "in the same group: another one rounds differently"
        found.waiting.pop()
    store.sizes[NAMES[2]] = 100  # further at last
    for _ in range(LOSSES):
        assert found.waiting == []
        found.deal(task(0, 1, 2), LOST)
        found.waiting, left = [], found.waiting
    assert runs(left) == [[0], [1, 2]]
    for _ in range(LOSSES):
        found.deal(task(0), LOST)
    assert (found.left, store.sealed, store.discarded) == ([NAMES[0]], [], [])


def test_what_was_lost_goes_before_what_has_not_begun(made):
    found = made(attempts=1)
    found.waiting = [task(3)]
    found.deal(task(0), LOST)
    assert runs(found.waiting) == [[0], [3]]


def test_a_crash_costs_a_try_of_its_group_and_then_the_group_is_halved(made):
    found = made(attempts=3)
    found.waiting = [task(3)]
    for _ in range(2):
        found.deal(task(0, 1, 2), CRASHED)
        assert runs(found.waiting) == [[0, 1, 2], [3]]
        found.waiting.pop(0)
    found.deal(task(0, 1, 2), CRASHED)
    assert runs(found.waiting) == [[0], [1, 2], [3]]
    assert found.suspects == {NAMES[1:3]}
    assert found.causes == ["killed"] * 3
    found.waiting = []
    found.deal(task(1, 2), CRASHED)
    assert runs(found.waiting) == [[1], [2]], "of a suspected part one death is enough"


def test_a_run_that_crashes_its_worker_as_often_as_allowed_has_failed(made):
    store = PretendStore()
    found = made(store, attempts=2)
    found.deal(task(0), CRASHED)
    assert runs(found.waiting) == [[0]]
    assert store.sealed == []
    found.deal(task(0), CRASHED)
    assert store.sealed == [({"seed": 0}, "failed", "killed")]


@pytest.mark.parametrize(
    ("code", "kind"),
    [(-9, "died"), (-15, "died"), (-1, "died"), (0, "died"), (None, "died"),
     (-11, "crashed"), (-6, "crashed"), (-7, "crashed"), (3, "crashed")],
)  # fmt: skip
def test_a_signal_from_outside_is_told_from_a_crash(code, kind):
    found = cause_of_death(code)
    assert found["kind"] == kind
    assert code is None or str(abs(code)) in found["message"]


def test_a_group_in_which_a_run_raised_is_halved_and_its_failures_are_forgotten_until_it_stands_alone(made):
    store = PretendStore(r0="done", r1="failed")
    found = made(store)
    found.deal(task(0, 1, 2), {"ok": False, "kind": "error", "message": "boom", "text": "traceback"})
    assert runs(found.waiting) == [[1], [2]], "what is done is left out"
    assert store.discarded == [NAMES[1]]
    alone = made(PretendStore())
    alone.deal(task(1), {"ok": False, "kind": "error", "message": "boom", "text": "traceback"})
    assert alone.store.sealed == [({"seed": 1}, "failed", "traceback")]
    known = made(PretendStore(r1="failed"))
    known.deal(task(1), {"ok": False, "kind": "error", "message": "boom"})
    assert known.store.sealed == [], "recorded already"
    silent = made(PretendStore())
    silent.deal(task(1), {"ok": False})
    assert silent.store.sealed[0][2] == "it ended without a result"


def test_a_store_that_cannot_be_written_stops_the_sweep(made):
    with pytest.raises(StoreError, match="disk full"):
        made().deal(task(0), {"ok": False, "kind": "store", "message": "disk full"})


def test_runs_that_others_write_are_tried_later_and_the_rest_after_half_the_patience(made):
    found = made(PretendStore(r0="running"))
    busy = {"ok": False, "kind": "busy"}
    for _ in range(PATIENCE // 2):
        found.deal(task(0, 1, 2), busy)
        assert runs(found.waiting) == [[0, 1, 2]]
        found.waiting.pop()
    found.deal(task(0, 1, 2), busy)
    assert runs(found.waiting) == [[1, 2], [0]]
    found.waiting = []
    for left in range(PATIENCE // 2):
        found.deal(task(0), busy)
        assert runs(found.waiting) == [[0]], f"try {left}"
        found.waiting.pop()
    found.deal(task(0), busy)
    assert found.waiting == [], "patience is over: the run belongs to another process"


def test_tasks_are_sent_while_there_are_slots_and_until_the_first_ctrl_c(made):
    found = made(PretendStore(**{f"r{k}": "done" for k in range(4)}))
    sent, shown = [], []

    def wait(seconds):
        assert len(found.running) <= 2
        if len(sent) == 3:
            found.interrupt.soon = True
        return [{"task": next(iter(found.running)), "ok": True}] if found.running else []

    found.pool = SimpleNamespace(slots=2, submit=sent.append, wait=wait, withdraw=list)
    found.plan = SimpleNamespace(tasks=[task(k) for k in range(4)], runner=SimpleNamespace(name="train"))
    found.drive(SimpleNamespace(update=shown.append))
    assert [message["task"] for message in sent] == [1, 2, 3]
    assert sent[0] == {
        "task": 1, "runner": "train", "settings": [{"seed": 0}], "group": [{"seed": 0}], "store": "store",
        "experiment": "e", "device": None,
    }  # fmt: skip
    assert runs(found.waiting) == [[3]]
    assert shown[-1] is True


def test_what_no_worker_has_begun_is_withdrawn_by_ctrl_c(made):
    found = made(PretendStore(r0="done"))
    queued = [2]  # the first task runs, the second waits in the queue of a cluster

    def wait(seconds):
        found.interrupt.soon = True
        return [] if queued else [{"task": 1, "ok": True}]

    def withdraw():
        back, queued[:] = list(queued), []
        return back

    found.pool = SimpleNamespace(slots=2, submit=lambda message: None, wait=wait, withdraw=withdraw)
    found.plan = SimpleNamespace(tasks=[task(0), task(1)], runner=SimpleNamespace(name="train"))
    found.drive(SimpleNamespace(update=lambda soon: None))
    assert (runs(found.waiting), found.running) == ([[1]], {})


def test_a_second_ctrl_c_ends_at_once(made):
    found = made()
    found.pool = SimpleNamespace(
        slots=1, submit=lambda message: vars(found.interrupt).update(now=True), wait=lambda s: []
    )
    found.plan = SimpleNamespace(tasks=[task(0)], runner=SimpleNamespace(name="train"))
    found.drive(SimpleNamespace(update=lambda soon: None))
    assert found.running


def test_an_outcome_counts_runs_and_says_what_to_do_next():
    def told(status, failed=None, interrupted=False, deaths=(), quarantined=None):
        plan = SimpleNamespace(varied={"seed"})
        found = driver.Outcome(plan, status, failed or {}, interrupted, 1.0, deaths, quarantined or {})
        return {remark.code: remark.details for remark in found.remarks}

    record = SimpleNamespace(error="Traceback\nValueError: boom\n", setting={"seed": 3, "model": "mlp"})
    found = told({"a": "done", "b": "failed", "c": "done"}, {"b": record}, deaths=("signal 9", "signal 9"))
    assert [*found] == ["runs_by_status", "failed_run_of", "retry_failed", "workers_died"]
    assert [one.details for one in found["runs_by_status"]["counts"]] == [
        {"runs": 2, "status": "done"}, {"runs": 1, "status": "failed"}
    ]  # fmt: skip
    assert found["failed_run_of"] == {"run": "b", "setting": "{'seed': 3}", "why": "ValueError: boom"}
    assert found["workers_died"] == {"times": 2, "cause": "signal 9"}
    nothing = SimpleNamespace(error=None, setting={"model": "mlp"})
    assert told({"b": "failed"}, {"b": nothing})["failed_run"]["why"] == "unknown"
    others = {"a": "running", "b": "running"}
    assert told(others)["runs_elsewhere"] == {"runs": 2}
    assert [*told({"a": "running"})] == ["runs_by_status", "run_elsewhere"]
    assert [*told(others, interrupted=True)] == ["runs_by_status", "interrupted"]
    damaged = told({"a": "done"}, quarantined={"x.parquet": "bad"})["quarantined"]
    assert damaged == {"path": "x.parquet", "why": "bad"}
    assert [*told({"a": "done"})] == ["runs_by_status"]


def test_durations_are_read_in_seconds_minutes_and_hours():
    assert [clock(s) for s in (0.4, 59.4, 59.6, 60, 3599, 3600, 7325)] == [
        "0 s", "59 s", "1 min 00 s", "1 min 00 s", "59 min 59 s", "1 h 00 min", "2 h 02 min"
    ]  # fmt: skip
