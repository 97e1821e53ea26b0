"""Planning: what is left, packed by kind, within memory, the costly first."""

import sys

import pytest

from scalinglab.curves import run_name
from scalinglab.errors import BadInput
from scalinglab.store import Store
from scalinglab.sweep import Grid, make_plan
from tests.sweep import pretend

RUNNER = "tests.sweep.pretend"


def grid(**axes):
    return Grid(axes=axes, runner=RUNNER)


def test_every_run_is_planned_once_with_its_kind_and_the_costly_first():
    plan = make_plan(grid(size=[1, 5, 3], kind=["a", "b"], seed=[0, 1]), workers=2)
    assert sorted(plan.missing) == sorted(plan.runs)
    assert len(plan.missing) == 12
    for task in plan.tasks:
        assert len({s["kind"] for s in task.settings}) == 1
        assert len(task.settings) <= 4
    costs = [task.cost for task in plan.tasks]
    assert costs == sorted(costs, reverse=True)


def test_few_runs_are_spread_over_the_workers():
    plan = make_plan(grid(seed=[0, 1, 2, 3]), workers=4)
    assert [len(task.settings) for task in plan.tasks] == [1, 1, 1, 1]
    plan = make_plan(grid(seed=[0, 1, 2, 3]), workers=1)
    assert [len(task.settings) for task in plan.tasks] == [4]


def test_no_worker_has_most_of_the_work_where_groups_can_be_split():
    study = grid(size=[1, 2, 4, 8])  # each run costs as much as the smaller ones together
    plan = make_plan(study, workers=2)
    assert [[s["size"] for s in task.settings] for task in plan.tasks] == [[8], [4], [1, 2]]
    assert [len(make_plan(study, workers=n).tasks) for n in (1, 3, 4)] == [1, 3, 4]
    asked = make_plan(study, workers=2, max_stacked=2)
    assert [[s["size"] for s in task.settings] for task in asked.tasks] == [[4, 8], [1, 2]]


def test_a_group_that_does_not_fit_into_memory_is_split():
    plan = make_plan(grid(size=[10], seed=[0, 1, 2, 3]), memory_limit=25)
    assert [len(task.settings) for task in plan.tasks] == [2, 2]
    plan = make_plan(grid(size=[10], seed=[0, 1, 2, 3]), memory_limit=5)
    assert [len(task.settings) for task in plan.tasks] == [1, 1, 1, 1]  # alone it may try


def test_what_the_store_has_is_not_planned_again(tmp_path):
    store = Store(tmp_path)
    names = []
    for seed, status in enumerate(["done", "diverged", "failed", "unfinished"]):
        writer = store.start(pretend.identity({"seed": seed}))
        writer.append(step=0, test_loss=1.0)
        writer.close() if status == "unfinished" else writer.seal(status)
        names.append(writer.run)
    five = grid(seed=[0, 1, 2, 3, 4])
    plan = make_plan(five, store)
    assert plan.done == tuple(names[:2])
    assert plan.failed == tuple(names[2:3])
    assert sorted(plan.missing) == sorted([names[3], run_name(pretend.identity({"seed": 4}))])
    assert "5 runs: 2 done, 1 failed before, 2 to do" in plan.summary()
    assert len(make_plan(five, store, retry_failed=True).missing) == 3


def test_the_estimate_scales_from_the_timed_tasks_to_all(processors):
    processors(2)
    plan = make_plan(grid(size=list(range(1, 21))), workers=2, max_stacked=1)
    estimate = plan.estimate()
    assert estimate["timed"] == 6
    assert estimate["flops"] == pytest.approx(10 * sum(range(1, 21)))
    assert estimate["seconds"] == pytest.approx(2 * sum(range(1, 21)) / 2)
    one_long = make_plan(grid(size=[1, 100]), workers=2, max_stacked=1).estimate()
    assert one_long["seconds"] == pytest.approx(200)  # no faster than its longest run


def test_wrong_keys_and_runners_are_named():
    with pytest.raises(BadInput, match=r"'sise'.*'size'"):
        make_plan(grid(sise=[1]))
    with pytest.raises(BadInput, match=r"'trian'.*'train'"):
        make_plan(Grid(axes={"size": [1]}, runner="trian"))
    for nonsense in ("", ".pretend", "tests/sweep/pretend.py"):
        with pytest.raises(BadInput, match=f"no runner '{nonsense}'"):
            make_plan(Grid(axes={"size": [1]}, runner=nonsense))
    with pytest.raises(BadInput, match=r"'json'.*identity, alike"):
        make_plan(Grid(axes={"size": [1]}, runner="json"))
    with pytest.raises(BadInput, match="max_stacked=0"):
        make_plan(grid(size=[1]), max_stacked=0)


def test_a_plan_says_that_runs_that_failed_are_left_alone(tmp_path):
    store = Store(tmp_path)
    store.start(pretend.identity({"seed": 0})).seal("failed", error="no")
    told = "retry_failed"
    assert told in make_plan(grid(seed=[0, 1]), store).summary()
    assert told not in make_plan(grid(seed=[1, 2]), store).summary()


def test_memory_is_asked_for_on_the_device_and_once_a_run_where_there_is_no_limit(tmp_path, monkeypatch):
    (tmp_path / "unlimited_runner.py").write_text(
        "from tests.sweep.pretend import *\n"
        "asked = []\n"
        "def memory(setting, device=None): return asked.append(device) or 1.0\n"
        "def memory_limit(device, workers): return float('inf')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    plan = make_plan(Grid(axes={"seed": [0, 1, 2, 3]}, runner="unlimited_runner"), device="cpu")
    assert plan.tasks[0].memory == 4.0
    assert sys.modules["unlimited_runner"].asked == ["cpu"] * 4  # for what the plan says of its tasks
