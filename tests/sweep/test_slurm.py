"""The engine of a Slurm cluster: what it submits, and what becomes of runs when jobs, nodes and Slurm fail.

Most tests have neither Slurm nor jobs; those of a real Slurm (`tools/slurm_here.sh`) are run by `make slurm`.
"""

import json
import stat
import subprocess
import sys
from types import SimpleNamespace

import pytest

from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.store import Store
from scalinglab.sweep import Grid, execute
from scalinglab.sweep.pools import slurm_engine
from scalinglab.sweep.pools.slurm_engine import SlurmPool
from scalinglab.sweep.pools.task_folder import CLOSED, LEAVE, TaskFolder
from tests.sweep import faults
from tests.sweep.contract import PoolContract
from tests.sweep.faults import check, inject

# --- files between the driver and the jobs ---------------------------------------------------------


@pytest.fixture
def tasks(tmp_path):
    folder = TaskFolder(tmp_path / ".slurm" / "sweep")
    folder.make()
    return folder


def test_a_task_is_taken_by_one_job_and_answered_once(tasks):
    for number in (2, 10, 1):
        tasks.put({"task": number})
    assert [tasks.take(name)["task"] for name in ("7_0.a", "7_1.b")] == [1, 2]
    assert tasks.takers() == {1: "7_0", 2: "7_1"}
    tasks.answer("7_1.b", {"task": 2, "ok": True})
    assert (tasks.takers(), tasks.collect(), tasks.collect()) == ({1: "7_0"}, [{"task": 2, "ok": True}], [])
    assert tasks.withdraw() == [10]
    assert tasks.take("7_1.b") is None
    assert tasks.takers() == {1: "7_0"}


def test_a_job_that_is_started_again_answers_for_what_it_had_taken_before_and_for_no_other(tasks):
    for number in (1, 2, 3):
        tasks.put({"task": number})
    for name in ("7_0.first", "7_1.x", "7_0.second"):
        tasks.take(name)
    tasks.answer_for_earlier_starts("7_0.second")
    (answer,) = tasks.collect()
    assert (answer["task"], answer["ok"], answer["kind"]) == (1, False, "died")
    assert tasks.takers() == {2: "7_1", 3: "7_0"}


def test_jobs_hear_whether_their_driver_lives_and_what_it_says(tasks, clock):
    clock.now = 0.0
    tasks.beat()
    for clock.now, silent in ((1.0, 0.0), (5.0, 4.0)):
        assert tasks.silent() == silent
    tasks.beat()
    clock.now = 9.0
    assert tasks.silent() == 0.0
    assert not tasks.says(LEAVE)
    tasks.say(LEAVE)
    assert (tasks.says(LEAVE), tasks.says(CLOSED)) == (True, False)
    tasks.remove()
    assert tasks.says(CLOSED), "a folder that is gone ends the job"
    assert (tasks.take("7.a"), tasks.collect()) == (None, [])
    assert not tasks.path.parent.exists()


def test_others_cannot_put_what_jobs_would_execute(tasks):
    assert stat.S_IMODE(tasks.path.stat().st_mode) == 0o700


# --- jobs without Slurm ----------------------------------------------------------------------------

ROUND = slurm_engine.LOOK + 0.5  # seconds in which Slurm is asked once


class PretendSlurm:
    """What the pool uses of submitit, and Slurm's states by job."""

    def __init__(self):
        self.arrays, self.states, self.cancelled = [], {}, []

    def SlurmExecutor(self, folder):
        def map_array(function, *arguments):
            jobs = [f"{len(self.arrays)}_{k}" for k in range(len(arguments[0]))]
            self.arrays.append(jobs)
            self.states |= dict.fromkeys(jobs, "PENDING")
            return [SimpleNamespace(job_id=job, cancel=self.cancel(job)) for job in jobs]

        return SimpleNamespace(update_parameters=lambda **options: None, map_array=map_array)

    def squeue(self, command, **_):
        """As Slurm prints states; it does not answer where they are None."""
        assert command[:2] == ["squeue", "--me"]
        if self.states is None:
            raise subprocess.CalledProcessError(1, "squeue")
        lines = [f"{job} {state}" for job, state in self.states.items() if state is not None]
        return SimpleNamespace(stdout="\n".join(lines))

    def cancel(self, job):
        def cancel(check):
            self.cancelled.append(job)
            self.states[job] = "CANCELLED"

        return cancel


@pytest.fixture
def slurm_of(monkeypatch, clock):
    """Pools on a Slurm that does what a test says."""
    pretend = PretendSlurm()
    monkeypatch.setitem(sys.modules, "submitit", pretend)
    monkeypatch.setattr(subprocess, "run", lambda *given, **how: pretend.squeue(*given, **how))
    return pretend


def pool_with(tmp_path, number, workers=2, **more):
    pool = SlurmPool(workers, **more)
    for task in range(number):
        pool.submit({"task": task, "store": str(tmp_path)})
    pool.wait(ROUND)
    return pool


def taken(pool, job, start="a"):
    return pool.tasks.take(f"{job}.{start}")["task"]


def test_one_array_has_as_many_jobs_as_there_are_tasks_for(slurm_of, tmp_path):
    pool_with(tmp_path, 1, workers=8)
    pool_with(tmp_path, 9, workers=8)
    pool_with(tmp_path, 5, workers=8, gpus=4)  # two tasks share a GPU
    assert [len(jobs) for jobs in slurm_of.arrays] == [1, 8, 3]


@pytest.mark.parametrize(
    "state", ["FAILED", "PREEMPTED", "NODE_FAIL", "TIMEOUT", "OUT_OF_MEMORY", "PENDING", None]
)
def test_the_tasks_of_a_job_that_no_longer_runs_are_lost_and_another_one_follows(slurm_of, tmp_path, state):
    pool = pool_with(tmp_path, 2)
    slurm_of.states = dict.fromkeys(slurm_of.states, "RUNNING")
    lost = taken(pool, "0_1")
    assert pool.wait(ROUND) == []
    slurm_of.states["0_1"] = state
    (answer,) = pool.wait(ROUND)
    assert (answer["task"], answer["kind"]) == (lost, "died")
    pool.submit({"task": 7, "store": str(tmp_path)})  # the driver submits it again
    pool.wait(ROUND)
    queued_again = state == "PENDING"
    assert len(slurm_of.arrays) == (1 if queued_again else 2)
    assert pool.wait(ROUND) == []


def test_an_answer_that_a_job_left_before_it_ended_counts(slurm_of, tmp_path):
    pool = pool_with(tmp_path, 1)
    number = taken(pool, "0_0")
    pool.tasks.answer("0_0.a", {"task": number, "ok": True})
    slurm_of.states["0_0"] = "COMPLETED"
    assert pool.wait(ROUND) == [{"task": number, "ok": True}]
    pool.tasks.answer("0_0.a", {"task": number, "ok": False})  # of a start that was given up
    assert pool.wait(ROUND) == []


def test_a_job_that_was_cancelled_is_not_replaced_and_the_last_one_ends_the_sweep(slurm_of, tmp_path):
    pool = pool_with(tmp_path, 2)
    slurm_of.states = {"0_0": "RUNNING", "0_1": "CANCELLED"}
    pool.wait(ROUND)
    assert len(slurm_of.arrays) == 1
    slurm_of.states["0_0"] = "CANCELLED"
    with pytest.raises(ScalinglabError, match=r"all jobs of the sweep were cancelled.*intact: sweep again"):
        pool.wait(ROUND)


def test_jobs_that_end_before_they_take_a_task_stop_the_sweep_with_their_last_words(slurm_of, tmp_path):
    pool = pool_with(tmp_path, 1)
    for times in range(2):
        slurm_of.states[f"{times}_0"] = "FAILED"
        pool.wait(ROUND)
    log = pool.tasks.path / "jobs" / "2_0_0_log.err"
    log.parent.mkdir()
    log.write_text("slurmstepd: starting\nNo module named scalinglab\n")
    slurm_of.states["2_0"] = "FAILED"
    with pytest.raises(ScalinglabError, match=r"3 jobs .*FAILED: No module named scalinglab"):
        pool.wait(ROUND)
    pool.kill()
    assert log.exists(), "it is named in the error"


def test_slurm_that_does_not_answer_changes_nothing(slurm_of, tmp_path):
    pool = pool_with(tmp_path, 1)
    taken(pool, "0_0")
    slurm_of.states = None
    assert pool.wait(ROUND) == []


def test_what_nobody_has_begun_is_withdrawn_and_what_waits_in_the_queue_is_cancelled(slurm_of, tmp_path):
    pool = pool_with(tmp_path, 2)
    begun = taken(pool, "0_0")
    slurm_of.states["0_0"] = "RUNNING"
    assert pool.withdraw() == [1 - begun]
    pool.leave()
    assert pool.tasks.says(LEAVE)
    pool.tasks.answer("0_0.a", {"task": begun, "ok": True})
    assert len(pool.wait(ROUND)) == 1
    slurm_of.states["0_0"] = "COMPLETED"
    pool.close()
    assert slurm_of.cancelled == ["0_1"]
    assert not (tmp_path / ".slurm").exists()


def test_jobs_that_are_told_of_the_end_are_let_end(slurm_of, tmp_path):
    pool = pool_with(tmp_path, 1)
    tasks = pool.tasks

    def squeue(*_, **__):
        return SimpleNamespace(stdout=f"0_0 {'COMPLETED' if tasks.says(CLOSED) else 'RUNNING'}")

    slurm_of.squeue = squeue
    pool.close()
    assert slurm_of.cancelled == []


def test_submissions_that_slurm_refuses_are_one_sentence(slurm_of, tmp_path):
    def refuse(folder):
        raise RuntimeError(
            "sbatch: error: invalid partition\nsbatch: error: Invalid partition name specified"
        )

    slurm_of.SlurmExecutor = refuse
    with pytest.raises(ScalinglabError, match="sbatch: error: Invalid partition name"):
        pool_with(tmp_path, 1)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"workers": None}, "needs gpus"),
        ({"workers": 3, "gpus": 2}, "multiple of gpus=2"),
        ({"workers": None, "gpus": 0.5}, "whole GPUs"),
        ({"workers": 1, "gpus": float("inf")}, "whole GPUs"),
        ({"workers": 1, "gpus": float("nan")}, "whole GPUs"),
        ({"workers": 1, "hours": 0}, "hours=0"),
        ({"workers": 1, "cpus": 0}, "cpus=0"),
    ],
)
def test_impossible_jobs_are_refused(given, told):
    with pytest.raises(BadInput, match=told):
        SlurmPool(**given)
    with pytest.raises(BadInput, match=r"^partition.*hours.*engine='slurm'"):
        execute(faults.grid(), "nowhere", hours=1)


def test_the_script_asks_for_one_gpu_a_job_its_hours_and_a_signal_in_time(tmp_path):
    pytest.importorskip("submitit")
    script = SlurmPool(16, cpus=2, gpus=8, hours=4, partition="gpu").script(tmp_path, 100)
    asked = {line.removeprefix("#SBATCH --") for line in script.splitlines() if line.startswith("#SBATCH")}
    assert asked >= {
        "array=0-7%8", "gpus-per-node=1", "cpus-per-task=4", "time=240", "partition=gpu", "requeue",
        "signal=TERM@120", "job-name=scalinglab",
    }  # fmt: skip
    assert f"submitit.core._submit {tmp_path}/.slurm/" in script
    alone = SlurmPool(4).script(tmp_path, 1)
    assert "gpus" not in alone
    assert "--array" not in alone


# --- a real Slurm ----------------------------------------------------------------------------------


@pytest.mark.slow
class TestRealSlurm(PoolContract):
    @pytest.fixture(scope="class")
    @classmethod
    def pool(cls, slurm, often):
        yield (pool := often.SlurmPool(2, hours=0.1, partition="gpu"))
        pool.close()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["job", "preempted", "slurmd"])
def test_what_slurm_takes_away_leaves_exactly_the_runs_of_the_grid(slurm, tmp_path, what):
    lose = faults.slurm_losses(slurm)
    wanted = faults.grid(seeds=2, pause=0.3)
    killed = inject(tmp_path, "slurm", 1, wanted, lose={what: lose[what]}, turns=[what])
    assert killed.kinds == {what: 1}
    check(Store(tmp_path), wanted)
    assert not (tmp_path / ".slurm").exists()


@pytest.mark.slow
def test_slurm_shows_every_job_a_gpu_and_tasks_share_it(slurm, tmp_path):
    wanted = Grid(axes={"pause": [0.1]}, seeds=6, runner="tests.sweep.shown", experiment="gpus")
    outcome = execute(wanted, tmp_path, engine="slurm", workers=4, gpus=2, hours=0.1, max_stacked=1)
    assert outcome.count("done") == 6
    seen = [json.loads(path.read_text()) for path in tmp_path.glob("shown-*.json")]
    assert {s["device"] for s in seen} == {"cuda"}
    assert {s["shown"] for s in seen} == {"0", "1"}
    for one in seen:
        assert sum(s["shown"] == one["shown"] and s["start"] <= one["start"] < s["stop"] for s in seen) <= 2


@pytest.mark.slow
def test_a_slurm_job_at_the_end_of_its_time_is_followed_by_another_with_its_state(
    slurm, tmp_path, monkeypatch
):
    """Minutes are the smallest time that Slurm knows: the signal is sent by hand in place of its clock."""
    wanted = faults.trained_grid(seeds=1)
    execute(wanted, tmp_path / "whole", workers=2, max_stacked=4)
    driver = faults.start_driver(tmp_path / "runs", "slurm", wanted=wanted)
    faults.wait_until(lambda: faults.running(tmp_path / "runs"))
    subprocess.run(["scancel", "--signal=TERM", "--name=scalinglab"], check=True)
    output = driver.communicate(timeout=120)[0]
    assert driver.returncode == 0, output
    assert faults.same_bits(Store(tmp_path / "runs"), Store(tmp_path / "whole")) == (6, 6)
