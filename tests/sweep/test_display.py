"""The live display shows what the store says."""

import pytest

from scalinglab.store import Store
from scalinglab.sweep import Grid, make_plan
from scalinglab.sweep.display import Display
from tests.sweep import pretend


def test_counts_rate_and_time_left_come_from_the_store(tmp_path):
    store = Store(tmp_path)
    grid = Grid(axes={"size": [1, 3]}, seeds=2, runner="tests.sweep.pretend")
    display = Display(make_plan(grid, store), store, enabled=False)
    display.shown = display.start + 60  # a minute later
    assert display.state() == {
        "total": 4, "done": 0, "running": 0, "failed": 0, "rows": 0, "rate": 0.0, "left": None,
    }  # fmt: skip
    pretend.work([pretend.identity({"size": 1})], store)
    running = store.start(pretend.identity({"size": 3}))
    failed = store.start(pretend.identity({"size": 1, "seed": 1}))
    failed.seal("failed", error="no")
    state = display.state()
    assert (state["done"], state["running"], state["failed"]) == (1, 1, 1)
    assert state["rate"] == pytest.approx(2.0)
    # of four runs of equal cost two are over, whether done or failed: as long again
    assert state["left"] == pytest.approx(60)
    running.close()
    text = Display.render({**state, "left": 90.0}, ending=True)
    assert "1/4 runs done, 1 running, 1 failed · 4 checkpoints · 2 runs/min · 1 min 30 s left" in text
    assert "Ctrl-C again stops at once" in text


@pytest.mark.parametrize(("done", "failed", "full"), [(0, 0, 0), (1, 0, 10), (1, 1, 20), (2, 1, 30)])
def test_the_bar_is_as_long_as_the_share_of_runs_that_are_over(done, failed, full):
    state = {"total": 3, "done": done, "failed": failed, "running": 0, "rows": 0, "rate": 0.0, "left": None}
    bar = Display.render(state).split()[0]
    assert bar == "━" * full + "╌" * (30 - full)
