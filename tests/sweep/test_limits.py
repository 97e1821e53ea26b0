"""Both sides of every limit of a sweep: grids, plans, starts of workers, tokens, the live display."""

import builtins
import gc
import itertools
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from scalinglab.errors import BadInput
from scalinglab.store import Store
from scalinglab.support import work
from scalinglab.support.work import Request, cores
from scalinglab.sweep import Grid, Plan, SweepWarning, Task, driver, execute, training
from scalinglab.sweep import plan as planning
from scalinglab.sweep.display import Display
from scalinglab.sweep.driver import Driver, grids_in
from scalinglab.sweep.pools import engines, preflight, worker
from scalinglab.sweep.pools.local_engine import LocalPool
from scalinglab.sweep.runner import load
from tests.sweep import pretend
from tests.sweep.here import HerePool

RUNNER = "tests.sweep.pretend"

# --- grids -----------------------------------------------------------------------------------------


def sizes(**values):
    return [setting["size"] for setting in Grid(axes={"size": values}).settings()]


def test_the_smallest_ranges_that_are_allowed():
    assert sizes(largest=8, ratio=2, count=1) == [8]
    assert sizes(largest=0.5, ratio=2, count=2) == [0.25, 0.5]
    assert sizes(**{"from": 3, "to": 7, "points": 2}) == [3, 7]
    for wrong in ({"largest": 8, "ratio": 2, "count": 0}, {"largest": 0, "ratio": 2, "count": 1}):
        with pytest.raises(BadInput, match=r"largest > 0, ratio > 1.*count ≥ 1"):
            sizes(**wrong)
    with pytest.raises(BadInput, match="nested sizes need"):
        sizes(largest=8, ratio=1, count=1)
    with pytest.raises(BadInput, match="two points or more"):
        sizes(**{"from": 3, "to": 7, "points": 1})
    with pytest.raises(BadInput, match=r"\[0, 1\]"):
        sizes(largest=1, ratio=10, count=2)


def test_a_part_replaces_the_zipped_axes_that_it_names_and_keeps_the_others():
    common = [{"size": [1, 2], "kind": ["a", "b"]}, {"x": [5, 6]}]
    parts = [{"zip": [{"size": [7, 8, 9], "kind": ["c", "d", "e"]}]}, {"axes": {"y": [0]}}]
    found = Grid(zip=common, parts=parts).settings()
    assert {(s["size"], s["kind"], s["x"]) for s in found if "y" not in s} == {
        (size, kind, x) for (size, kind), x in itertools.product([(7, "c"), (8, "d"), (9, "e")], (5, 6))
    }
    assert len([s for s in found if "y" in s]) == 4


def test_a_grid_is_kept_as_what_was_given():
    given = {"axes": {"size": [1, 2]}, "seeds": 2, "experiment": "e"}
    assert Grid.from_dict(given).to_dict() == given
    assert Grid(axes={"size": [1]}, runner=RUNNER).to_dict() == {"axes": {"size": [1]}, "runner": RUNNER}


@pytest.mark.parametrize("zips", [{"size": [1, 2]}, [3], [{"size": [1]}, 3], "size"])
def test_zipped_axes_are_a_list_of_tables(zips):
    with pytest.raises(BadInput, match=r"^zip.*\[\[zip\]\]"):
        Grid.from_dict({"zip": zips})


def test_a_grid_and_its_parts_are_tables():
    with pytest.raises(BadInput, match="not 3"):
        Grid.from_dict(3)  # type: ignore[arg-type]


def test_planned_runs_are_completed_by_own_runners_and_custom_ones_are_not_imported():
    custom = Grid(axes={"size": [1, 2]}, runner="a.module.that.is.not.here")
    assert len(planning.planned_runs(custom)) == 2
    trained = Grid({"model": "mlp", "dataset": "digits", "epochs": 1}, axes={"n_data": [100, 200]})
    names = {planning.run_name(training.identity(s)) for s in trained.settings()}
    assert planning.planned_runs(trained) == names


# --- runners ---------------------------------------------------------------------------------------


def test_a_package_that_a_runner_lacks_is_named_and_not_taken_for_the_runner(tmp_path, monkeypatch):
    (tmp_path / "runner_of_mine.py").write_text("import a_package_that_is_not_here")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_here"):
        load("runner_of_mine")
    for name in ("no_runner_of_mine", "no_folder.of_mine"):
        with pytest.raises(BadInput, match=f"no runner '{name}'"):
            load(name)


def test_a_worker_loads_without_a_search_for_garbage_and_leaves_what_it_loaded_out_of_later_ones():
    frozen = gc.get_freeze_count()
    with suppress(ImportError), worker.without_garbage():
        assert not gc.isenabled()
        raise ImportError
    assert gc.isenabled()
    assert gc.get_freeze_count() > frozen


def test_a_worker_times_a_task_that_has_no_store():
    found = worker.execute({"task": 1, "runner": RUNNER, "settings": [{"size": 3}], "device": None})
    assert found["ok"]
    assert found["probe"] == {"seconds": 6.0, "flops": 30.0}


def test_a_module_is_a_runner_with_the_functions_that_it_has(tmp_path, monkeypatch):
    names = ("identity", "alike", "cost", "memory", "capacity", "memory_limit", "devices", "probe", "work")
    text = "\n".join(f"def {name}(*what): return {name!r}, what" for name in names)
    (tmp_path / "small_runner.py").write_text(text)
    (tmp_path / "whole_runner.py").write_text(text + "\ndef prepare(*what): return 'ready'")
    unready = "\ndef prepare(settings, device): raise ModuleNotFoundError(f'for {device}')"
    (tmp_path / "unready_runner.py").write_text(text + unready)
    (tmp_path / "no_whole_runner.py").write_text(text.replace("def work(", "def works("))
    monkeypatch.syspath_prepend(tmp_path)
    small, whole = load("small_runner"), load("whole_runner")
    assert small.memory({}, "cpu") == ("memory", ({}, "cpu"))
    assert small.check_here([], None) is None
    assert small.prepare is None
    assert whole.prepare([], None) == "ready"
    ready = worker.prepare({"runner": "small_runner", "settings": [], "device": None})
    assert ready.memory({}, "cpu") == small.memory({}, "cpu")
    with pytest.raises(ModuleNotFoundError, match="for cpu"):
        worker.prepare({"runner": "unready_runner", "settings": [], "device": "cpu"})
    with pytest.raises(BadInput, match="lacks work"):
        load("no_whole_runner")


def test_the_cost_of_a_run_counts_steps_batch_width_and_depth():
    torch = pytest.importorskip("torch")
    before = torch.cuda.is_initialized()
    setting = {"model": "mlp", "dataset": "digits", "n_data": 100, "steps": 7, "batch_size": 10, "width": 3.0}
    assert training.cost({**setting, "depth": 1}) == 7 * 10 * 9
    assert training.cost({**setting, "depth": 2}) == 7 * 10 * 9 * 2
    assert training.cost(setting) in (7 * 10 * 9, 7 * 10 * 9 * 2)
    assert torch.cuda.is_initialized() == before


def test_small_networks_of_all_kinds_are_one_group_on_a_gpu(monkeypatch, gpu_here):
    engine = pytest.importorskip("scalinglab.train.engine")
    common = {"dataset": "digits", "epochs": 1, "n_data": 100}
    settings = [
        {"model": model, "width": w, **common} for model, w in (("mlp", 1.0), ("cnn", 1.0), ("mlp", 2.0))
    ]
    monkeypatch.setattr(engine, "group", lambda full, place, max_stacked: [[one] for one in full])
    monkeypatch.setattr(engine, "mixes", lambda one, place: place.type == "cuda" and one.model == "mlp")
    for gpu, groups in ((True, [["cnn"], ["mlp", "mlp"]]), (False, [["mlp"], ["cnn"], ["mlp"]])):
        gpu_here(gpu)
        found = training.alike([training.identity(s) for s in settings])
        assert [[s["model"] for s in members] for members in found] == groups


def test_memory_is_that_of_the_machine_where_what_is_free_is_not_known(monkeypatch):
    def unknown(self):
        raise OSError

    monkeypatch.setattr(Path, "read_text", unknown)
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 10, "SC_PHYS_PAGES": 700}.__getitem__)
    assert training.memory_limit("cpu", 2) == pytest.approx(0.7 * 7000 / 2)
    monkeypatch.delattr(os, "sysconf")
    assert training.memory_limit("cpu", 1) == pytest.approx(0.7 * 4 * 2**30)


@pytest.mark.parametrize("compiles", [False, True])
def test_a_worker_loads_the_compiler_where_networks_are_compiled(compiles, monkeypatch):
    seen = []
    real = builtins.__import__

    def watched(name, *rest):
        if name.startswith(("torch._dynamo", "torch._inductor")):
            seen.append(name)
            return sys.modules["torch"]
        return real(name, *rest)

    setting = {"model": "mlp", "dataset": "digits", "n_data": 100, "epochs": 1, "compile": compiles}
    training.prepare([{**setting, "compile": False}], "cpu")  # loads the rest
    monkeypatch.setattr(builtins, "__import__", watched)
    training.prepare([setting], "cpu")
    assert bool(seen) == compiles


@pytest.mark.parametrize(
    ("gpu", "device", "runs"),
    [(True, None, 256), (True, "cuda:1", 256), (True, "cpu", 16), (False, None, 16), (False, "cuda", 256)],
)
def test_a_task_has_more_runs_on_a_gpu_of_this_machine_or_another(gpu_here, gpu, device, runs):
    gpu_here(gpu)
    assert training.capacity(device) == runs


# --- the start of a sweep --------------------------------------------------------------------------


class Stop(Exception):
    """The sweep came to the point that is looked at."""


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """A grid of one run on a machine with some devices; its sweep ends where it is planned."""
    monkeypatch.syspath_prepend(tmp_path)

    def grid(devices):
        name = f"runner_on_{len(sys.modules)}"
        (tmp_path / f"{name}.py").write_text(
            f"from tests.sweep.pretend import *\nfrom tests.sweep.test_limits import Stop\n"
            f"def devices(): return {devices}\n"
            "def memory_limit(device, workers): raise Stop(device, workers)\n"
        )
        return Grid(axes={"size": [1]}, runner=name)

    return grid


@pytest.mark.parametrize(
    ("here", "device", "planned_for"),
    [(["cuda:0", "cuda:1"], None, "cuda:0"), (["cuda:0"], "cpu", "cpu"), ([None], None, None)],
)
def test_a_plan_is_made_for_the_devices_of_this_machine_or_the_one_that_is_asked_for(
    tmp_path, planned, monkeypatch, here, device, planned_for
):
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    (tmp_path / "control").touch()
    with pytest.raises(Stop) as stopped:
        execute(planned(here), tmp_path / "store", device=device, workers=3)
    assert stopped.value.args == (planned_for, 3)


@pytest.mark.parametrize(("device", "devices"), [(None, [None]), ("cuda", ["cuda"])])
def test_of_another_machine_it_is_not_known_which_devices_it_has(
    tmp_path, planned, monkeypatch, device, devices
):
    opened = []

    def open_pool(*given):
        opened.extend(given)
        raise Stop

    monkeypatch.setattr(driver, "open_pool", open_pool)
    with pytest.raises(Stop):
        execute(planned(["cuda:0"]), tmp_path / "store", engine="ray", device=device)
    assert opened[3] == devices


@pytest.mark.parametrize(
    ("here", "printed"), [(["cuda:0"], 1), (["cuda:0", "cuda:1", "cuda:2"], 0), ([None], 0)]
)
def test_workers_that_take_turns_on_a_gpu_are_told_of_mps(
    tmp_path, planned, monkeypatch, recwarn, here, printed
):
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    with pytest.raises(Stop):
        execute(planned(here), tmp_path / "store", workers=3)
    found = [str(w.message) for w in recwarn if w.category is SweepWarning]
    assert len(found) == printed
    assert all(text.startswith("3 workers on 1 GPU compute in turns: start CUDA's MPS") for text in found)


def test_the_folder_is_tried_where_runs_are_left_and_many_runs_become_one_file(tmp_path, monkeypatch):
    tried = []

    class Here(HerePool):
        def preflight(self, store):
            tried.append(store)

    monkeypatch.setattr(driver, "open_pool", lambda *_: Here())
    monkeypatch.setattr(driver, "COMPACT_FROM", 3)
    for seeds, files in ((3, 3), (4, 1)):
        grid = Grid(seeds=seeds, runner=RUNNER)
        assert execute(grid, tmp_path).count("done") == seeds
        assert len(list((tmp_path / "sealed").glob("*.parquet"))) == files
    assert tried == [tmp_path.absolute()] * 2
    execute(grid, tmp_path)
    assert len(tried) == 2  # nothing was left to do


def test_runs_that_are_free_come_before_all_that_wait(tmp_path, clock):
    settings = tuple(pretend.identity({"seed": seed}) for seed in range(3))
    plan = SimpleNamespace(tasks=())
    found = Driver(plan, SimpleNamespace(experiment=None), Store(tmp_path), None, 2, Request())
    other = Task((pretend.identity({"seed": 9}),), cost=1.0, memory=1.0)
    found.waiting = [other]
    with Store(tmp_path).start(settings[0]):
        task = Task(settings, cost=3.0, memory=3.0)
        found.refusals[tuple(task.runs)] = driver.PATIENCE // 2
        found.wait_for_others(task)
    assert [[s["seed"] for s in one.settings] for one in found.waiting] == [[1, 2], [9], [0]]


def test_a_sweep_is_done_again_from_a_store_alone(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadInput, match="folder is not a store"):
        grids_in(tmp_path / "folder")
    Store(tmp_path / "store").start({"a": 1}).close()
    with pytest.raises(BadInput, match="keeps no grid"):
        grids_in(tmp_path / "store")


@pytest.mark.parametrize(("interrupted", "failed"), [(False, True), (True, False)])
def test_curves_come_back_with_a_warning_of_failures_and_not_after_ctrl_c(
    tmp_path, monkeypatch, interrupted, failed
):
    plan = SimpleNamespace(runs={})
    outcome = SimpleNamespace(interrupted=interrupted, failed=failed, summary=lambda: "1 failed", plan=plan)
    monkeypatch.setattr(driver, "execute", lambda *_, **__: outcome)
    pretend.work([pretend.identity({})], Store(tmp_path))
    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            driver.run({}, tmp_path)
    else:
        with pytest.warns(SweepWarning, match="1 failed"):
            driver.run({}, tmp_path)


# --- workers ---------------------------------------------------------------------------------------


def test_threads_are_shared_out_and_every_worker_has_one_and_its_own_session(started, processors):
    processors(8)
    for pool in (*(engines.open_pool("local", n, None, [None]) for n in (1, 3, 8, 20)), LocalPool(1)):
        pool.submit({"task": 1})
    libraries = ("OMP", "OPENBLAS", "MKL")
    threads = [{how["env"][f"{name}_NUM_THREADS"] for name in libraries} for _, how, _ in started]
    assert threads == [{"8"}, {"2"}, {"1"}, {"1"}, {"1"}]
    assert {tuple(command) for command, *_ in started} == {
        (sys.executable, "-m", "scalinglab.sweep.pools.worker")
    }
    assert all(how["start_new_session"] for _, how, _ in started), "Ctrl-C must not reach a worker"


def test_a_pool_is_opened_as_asked(monkeypatch):
    from scalinglab.sweep.pools import ray_engine

    monkeypatch.setattr(ray_engine, "RayPool", lambda *given: given)
    assert engines.open_pool("ray", 2, "auto", [None]) == ("auto", 2, 1, 0)
    assert engines.open_pool("ray", None, None, [None], 2, 0.5) == (None, None, 2, 0.5)


def test_processors_are_those_that_this_process_may_use(monkeypatch, processors):
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    processors(3)
    assert cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert cores() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


def test_a_worker_tells_the_seconds_since_its_last_task(tmp_path, monkeypatch):
    spent = work.SECONDS
    for name, value in {"a": 1.23456, "tiny": 0.0004}.items():
        monkeypatch.setitem(spent, name, value)
    task = {"runner": RUNNER, "store": str(tmp_path), "experiment": None, "device": None}

    def seconds(seed):
        settings = [pretend.identity({"seed": seed})]
        found = worker.execute({**task, "settings": settings, "group": settings})["seconds"]
        return {name: value for name, value in found.items() if name in ("a", "tiny")}

    assert seconds(1) == {"a": 1.235}
    spent["a"] += 0.5
    assert seconds(2) == {"a": 0.5}
    assert seconds(3) == {}


@pytest.mark.parametrize(("share", "kept"), [(0.5, [(0.5, "cpu")]), (None, [])])
def test_a_worker_keeps_to_its_share_of_a_gpu(tmp_path, monkeypatch, share, kept):
    seen = []
    monkeypatch.setattr(worker, "keep_to", lambda *given: seen.append(given))
    settings = [pretend.identity({})]
    task = {"runner": RUNNER, "store": str(tmp_path), "experiment": None, "device": "cpu", "share": share}
    assert worker.execute({**task, "settings": settings, "group": settings})["ok"]
    assert seen == kept


# --- tokens ----------------------------------------------------------------------------------------


def test_tokens_of_sweeps_long_gone_are_removed(tmp_path):
    store = tmp_path / "not" / "there" / "yet"
    old, young = preflight.leave_token(store), preflight.leave_token(store)
    for token, hours in ((old, 25), (young, 23)):
        then = time.time() - 3600 * hours
        os.utime(store / ".preflight" / token, (then, then))
    new = preflight.leave_token(store)
    assert {path.name for path in (store / ".preflight").iterdir()} == {young, new}


def test_a_token_is_there_at_once_or_comes_or_the_folder_itself_is_missing(tmp_path, clock, monkeypatch):
    token = preflight.leave_token(tmp_path)
    assert preflight.appears(tmp_path / ".preflight" / token)
    assert not preflight.appears(tmp_path / "other" / ".preflight" / token)
    assert clock.slept == []  # not even the folder: no need to wait
    late = tmp_path / ".preflight" / "late"
    assert not preflight.appears(late)
    assert sum(clock.slept) == pytest.approx(preflight.PATIENCE, abs=0.5)
    monkeypatch.setattr(time, "sleep", lambda seconds: late.touch())
    assert preflight.appears(late)


# --- the live display ------------------------------------------------------------------------------


def test_the_display_draws_over_itself_once_a_second_in_a_terminal_alone(tmp_path, clock, monkeypatch):
    made, drawn, terminal, start = [], [], [True], clock.now

    class Live:
        def __init__(self, **how):
            made.append(how)

        def start(self):
            pass

        def stop(self):
            drawn.append("stopped")

        def update(self, text, refresh):
            drawn.append((text, refresh))

    monkeypatch.setattr("rich.live.Live", Live)
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal[0], raising=False)
    two, one = Task(({"a": 1}, {"a": 2}), cost=2.0, memory=1.0), Task(({"a": 3},), cost=3.0, memory=1.0)
    plan = Plan({}, (), (), (two, one), 1, None)  # type: ignore[arg-type]
    with Display(plan, Store(tmp_path)) as display:
        assert list(display.cost.values()) == [1.0, 1.0, 3.0]
        for seconds, count in ((0.5, 0), (1.0, 1), (1.5, 1), (2.1, 2)):
            clock.now = start + seconds
            display.update()
            assert len(drawn) == count
    assert (made[0]["transient"], made[0]["auto_refresh"], made[0]["console"].stderr) == (True, False, True)
    (text, refresh), _, stopped = drawn
    assert refresh
    assert "Ctrl-C" not in text
    assert stopped == "stopped"
    for terminal[0], enabled in ((True, False), (False, True)):
        with Display(plan, Store(tmp_path), enabled=enabled) as display:
            clock.now += 2
            display.update()
    assert len(made) == 1


def test_the_bar_of_a_single_run_is_full_when_it_is_done():
    state = {"total": 1, "done": 1, "failed": 0, "running": 0, "rows": 0, "rate": 0.0, "left": None}
    assert Display.render(state).split()[0] == "━" * 30
