"""Promises of sweeps that a small change of the code would break unseen."""

import inspect
import json
import re
import signal
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.store import Store
from scalinglab.support.work import requests
from scalinglab.sweep import Grid, Plan, Task, execute, make_plan, timing, training
from scalinglab.sweep.display import Display
from scalinglab.sweep.plan import keep_grid, keep_groups, kept_grids, part, split
from scalinglab.sweep.pools import local_engine, worker


def test_the_first_ctrl_c_is_soon_the_second_now_and_the_handler_is_given_back():
    before = signal.getsignal(signal.SIGINT)
    with requests() as interrupt:
        assert (interrupt.soon, interrupt.now) == (False, False)
        signal.raise_signal(signal.SIGINT)
        assert (interrupt.soon, interrupt.now) == (True, False)
        signal.raise_signal(signal.SIGINT)
        assert (interrupt.soon, interrupt.now) == (True, True)
    assert signal.getsignal(signal.SIGINT) is before


def test_sigterm_asks_to_leave_however_often_it_comes_and_is_given_back():
    before = signal.getsignal(signal.SIGTERM)
    with requests() as request:
        for _ in range(2):
            signal.raise_signal(signal.SIGTERM)
            assert (request.soon, request.leave, request.now) == (True, True, False)
    assert signal.getsignal(signal.SIGTERM) is before


def test_outside_the_main_thread_no_handler_is_set():
    before, seen = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with requests() as interrupt:
            seen.extend([interrupt.soon, signal.getsignal(signal.SIGINT) is before])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False, True]


def test_parts_of_a_task_share_its_cost_and_memory():
    task = Task(tuple({"seed": k} for k in range(5)), cost=10.0, memory=20.0)
    first, second = split(task)
    assert (len(first.settings), len(second.settings)) == (2, 3)
    assert (first.cost, second.cost) == pytest.approx((4.0, 6.0))
    assert (first.memory, second.memory) == pytest.approx((8.0, 12.0))
    assert first.settings + second.settings == task.settings
    assert part(task, task.settings[:1]).cost == pytest.approx(2.0)
    assert len(split(part(task, task.settings[:1]))) == 1


def test_a_trial_has_its_own_time_and_the_settings_of_the_run():
    setting = {"model": "mlp", "width": 2.0, "epochs": 60, "min_steps": 9, "steps": 70, "fail_below": 0.2}
    assert timing.shortened(setting, 3, 1) == {
        "model": "mlp", "width": 2.0, "steps": 3, "checkpoints_per_decade": 1, "checkpoint_unit": "step"
    }  # fmt: skip


def test_steps_of_the_longer_trial_take_two_and_a_half_seconds():
    # 2 runs: 10 more steps of each, 20 in all, take 0.1 s, so a step of both takes 0.01 s
    long = timing.LONG["cuda"]
    assert timing.enough_steps((1.0, [2, 20, 4]), (1.1, [2, 40, 4]), long) == pytest.approx(250, abs=1)
    assert timing.enough_steps((1.0, [1, 2, 4]), (0.9, [1, 12, 4]), long) == pytest.approx(2.5e6, rel=1e-6)


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="Linux says there how much memory is free")
def test_a_task_on_a_cpu_has_its_share_of_the_memory():
    (free,) = re.findall(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    for workers in (1, 4):  # others may take some meanwhile
        assert training.memory_limit("cpu", workers) == pytest.approx(
            0.7 * int(free) * 1024 / workers, rel=0.2
        )


def perceptron(**changed):
    """A setting, by default of a perceptron."""
    from scalinglab.train import Setting

    return Setting(**{"model": "mlp", "n_data": 100, "steps": 1, **changed})


def test_data_of_unknown_shape_count_as_colour_images_and_pooled_ones_are_smaller():
    memory = pytest.importorskip("scalinglab.train.memory")
    known = memory.sizes(perceptron(dataset="cifar10"))
    assert memory.sizes(perceptron(dataset="teacher_student")) == known
    hidden = 64
    small = {"dataset": "mnist", "depth": 1, "model_options": {"hidden": hidden}}
    whole, pooled = (memory.sizes(perceptron(**small, pool=pool)) for pool in (1, 3))
    assert whole[0] - pooled[0] == hidden * (28 * 28 - 9 * 9)


def test_there_is_one_worker_a_gpu_or_one_a_processor(processors):
    processors(6)
    assert local_engine.default_workers(["cuda:0", "cuda:1"]) == 2
    assert local_engine.default_workers(["cuda:0"]) == 1
    assert local_engine.default_workers(["cpu"]) == 6
    assert local_engine.default_workers([None]) == 6


def test_what_cannot_be_built_for_data_of_unknown_shape_is_estimated_and_else_refused():
    memory = pytest.importorskip("scalinglab.train.memory")
    impossible = {"model": "vit", "model_options": {"patch": 5}}  # 32 pixels are no multiple of 5
    assert memory.sizes(perceptron(**impossible, dataset="teacher_student")) == memory.UNKNOWN
    with pytest.raises(BadInput):
        memory.sizes(perceptron(**impossible, dataset="cifar10"))


def test_an_estimate_is_the_start_and_the_end_of_the_last_worker(processors):
    processors(4)
    asked = []

    def trials(tasks, workers, device, loading):
        asked.append(([settings[0]["seed"] for settings in tasks], workers, device, loading))
        return {"tasks": [{"seconds": 2.0, "flops": 5.0} for _ in tasks], "start_up": 3.0}

    runner = SimpleNamespace(trials=trials)
    tasks = tuple(Task(({"seed": k},), cost=1.0, memory=0.0) for k in range(10))
    found = Plan({}, (), (), tasks, 4, runner, ()).estimate("cpu", loading=1.5)
    assert found == {
        "flops": 50.0,
        "seconds": pytest.approx(3 + 3 * 2),  # ten tasks on four workers: two of them have three
        "start_up": 3.0,
        "timed": 8,
        "trials": [],
    }
    assert asked == [([0, 1, 3, 4, 5, 6, 8, 9], 4, "cpu", 1.5)], "two for each, from the first to the last"
    many = Plan({}, (), (), tasks, 100, runner, ()).estimate()
    assert many["seconds"] == pytest.approx(3 + 2.0), "one task is not shared"
    assert asked[1][:2] == ([0, 1, 3, 4, 5, 6, 8, 9], 4), "four at a time on four processors"


def test_activations_are_counted_once_at_the_layers_themselves():
    memory = pytest.importorskip("scalinglab.train.memory")
    network = perceptron(dataset="digits", depth=1, model_options={"hidden": 40})
    _, activations, largest = memory.sizes(network)
    # outputs of: flatten (64), one hidden layer and its activation function (40 each), the last layer (10)
    assert (activations, largest) == (64 + 40 + 40 + 10, 64)


def test_the_summary_of_a_plan_counts_runs_tasks_and_memory():
    tasks = tuple(Task(({"seed": k}, {"seed": k + 9}), cost=1.0, memory=2e6 * (k + 1)) for k in range(3))
    runs = {f"r{k}": {"seed": k} for k in range(8)}
    plan = Plan(runs, ("r6",), ("r7",), tasks, 2, None, ())
    assert plan.summary().split("\n") == [
        "8 runs: 1 done, 1 failed before, 6 to do",
        "3 tasks of up to 2 runs on 2 workers, each within about 6 MB",
        "runs that failed before are left alone; retry_failed does them again",
    ]
    assert (
        Plan(runs, tuple(runs), (), (), 2, None, ()).summary() == "8 runs: 8 done, 0 failed before, 0 to do"
    )


@pytest.mark.parametrize(
    ("here", "device", "expected"),
    [
        (True, "cuda:1", [(0.5, 1)]),
        (True, "cuda", [(0.5, None)]),  # the current one
        (True, None, [(0.5, None)]),
        (True, "cpu", []),
        (False, None, []),
    ],
)
def test_a_part_of_a_gpu_is_a_part_of_its_memory(here, device, expected, gpu_here, monkeypatch):
    torch = pytest.importorskip("torch")
    kept = []
    gpu_here(here)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", lambda *given: kept.append(given))
    worker.keep_to(0.5, device)
    assert kept == expected


@pytest.mark.parametrize(
    ("workers", "devices", "share"),
    [(1, ["cuda:0"], None), (2, ["cuda:0"], 0.5), (3, ["cuda:0", "cuda:1"], 0.5), (2, [None], None)],
)
def test_workers_on_one_gpu_have_parts_of_its_memory(workers, devices, share, started):
    local_engine.LocalPool(workers, devices).submit({"task": 1, "device": None})
    ((_, _, sent),) = started
    (task,) = map(json.loads, sent)
    assert (task["device"], task["share"]) == (devices[0], share)


def test_a_task_needs_one_processor_and_no_gpu_by_default():
    defaults = {name: p.default for name, p in inspect.signature(execute).parameters.items()}
    assert (defaults["cpus"], defaults["gpus"], defaults["engine"]) == (1, 0, "local")
    assert (defaults["attempts"], defaults["progress"], defaults["retry_failed"]) == (5, True, False)


@pytest.mark.parametrize(
    ("workers", "devices", "service", "turns"),
    [(2, ["cuda:0"], False, True), (2, ["cuda:0"], True, False), (1, ["cuda:0"], False, False),
     (2, ["cuda:0", "cuda:1"], False, False), (4, [None], False, False), (4, ["cpu"], False, False)],
)  # fmt: skip
def test_workers_take_turns_where_they_share_a_gpu_without_mps(
    workers, devices, service, turns, tmp_path, monkeypatch
):
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    if service:
        (tmp_path / "control").touch()
    assert local_engine.take_turns(workers, devices) == turns


# --- this machine ------------------------------------------------------------


@pytest.mark.slow
def test_memory_splits_no_task_on_a_gpu_where_the_worker_minds_it(gpu_here):
    gpu_here(True)
    wide = {"model": "wide_resnet", "dataset": "cifar10", "width": 20.0, "n_data": 50_000, "steps": 1}
    assert training.memory(training.identity(wide)) > 1e10  # of which a task has 32
    (task,) = make_plan(Grid(wide, seeds=32), device="cuda").tasks
    assert len(task.settings) == 32


def test_data_that_are_not_here_are_named_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALINGLAB_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    training.check_here([{"dataset": name} for name in ("digits", "teacher_student")], None)
    with pytest.raises(BadInput, match="data get cifar100"):
        training.check_here([{"dataset": name} for name in ("digits", "cifar100", "teacher_student")], None)


def test_settings_that_are_timed_have_all_sizes():
    settings = [{"n_data": n} for n in (5, 3, 1, 4, 2, 6, 7)]
    assert [s["n_data"] for s in timing.spread_over(settings, 3)] == [1, 4, 7]
    assert [s["n_data"] for s in timing.spread_over(settings, 1)] == [1]
    assert [s["n_data"] for s in timing.spread_over(settings, 20)] == [1, 2, 3, 4, 5, 6, 7]


def test_a_run_takes_copies_of_its_weights_and_its_activations_with_gradients():
    memory = pytest.importorskip("scalinglab.train.memory")
    setting = {"model": "mlp", "dataset": "mnist", "n_data": 1000, "steps": 10, "batch_size": 50, "depth": 1}
    weights, activations, _ = memory.sizes(perceptron(**setting))
    copies = 6  # weights, gradients, two moments of the optimizer, what is evaluated, and what norms read
    assert training.memory(setting, "cpu") == pytest.approx(4 * (copies * weights + 3 * 50 * activations))
    assert training.cost(setting) == 10 * 50
    assert training.cost({**setting, "width": 2.0, "depth": 3}) == 10 * 50 * 4 * 3


def test_runs_train_in_their_group_or_by_themselves(monkeypatch):
    engine = pytest.importorskip("scalinglab.train.engine")
    given = []
    monkeypatch.setattr(
        engine, "train_into", lambda store, settings, group, **_: given.append((settings, group))
    )
    training.work([1], None)
    training.work([1], None, group=[1, 2])
    assert given == [([1], [1]), ([1], [1, 2])]


def test_a_grid_is_found_again_whatever_the_order_of_its_keys(tmp_path):
    one, two = (
        Grid.from_dict({"setting": setting, "axes": {"n_data": [1, 2]}, "runner": "tests.sweep.pretend"})
        for setting in ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    )
    for each in (one, two):
        keep_grid(each, Store(tmp_path), {})
    assert len(kept_grids(Store(tmp_path))) == 1


def test_groups_that_were_kept_are_split_where_smaller_ones_are_asked_for(tmp_path):
    store, grid = Store(tmp_path), Grid(axes={"size": [1]}, seeds=4, runner="tests.sweep.pretend")
    first = make_plan(grid, store)
    assert [len(task.settings) for task in first.tasks] == [4]
    assert keep_groups(first, grid, store, [])
    assert make_plan(grid, store, workers=4).groups == first.groups, "the same bits, whatever the workers"
    assert [len(task.settings) for task in make_plan(grid, store, max_stacked=3).tasks] == [3, 1]
    limit = sum(first.runner.memory(setting) for setting in first.runs.values()) / 2
    assert [len(task.settings) for task in make_plan(grid, store, memory_limit=limit).tasks] == [2, 2]
    assert not keep_groups(first, grid, store, []), "others keep theirs"
    with pytest.raises(BadInput, match="max_stacked=0"):
        make_plan(grid, store, max_stacked=0)


def test_grids_that_were_swept_come_back_the_oldest_first(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(BadInput, match="keeps no grid"):
        kept_grids(store)
    grids = [Grid(axes={"size": [size]}, runner="tests.sweep.pretend") for size in (3, 1, 2)]
    for grid in grids:
        keep_grid(grid, store, {"engine": "local"})
    assert [grid.to_dict() for grid in kept_grids(store)] == [grid.to_dict() for grid in grids]
    path = next((tmp_path / "grids").glob("*.json"))
    path.write_text("{}")
    with pytest.raises(ScalinglabError, match="is damaged"):
        kept_grids(store)


def test_nothing_left_costs_nothing():
    nothing = Plan({}, (), (), (), 1, None).estimate()  # type: ignore[arg-type]
    assert nothing == {"flops": 0.0, "seconds": 0.0, "start_up": 0.0, "timed": 0, "trials": []}
    state = {"total": 3, "done": 1, "failed": 0, "running": 0, "rows": 0, "rate": 0.0, "left": None}
    assert "Ctrl-C again" not in Display.render(state)
