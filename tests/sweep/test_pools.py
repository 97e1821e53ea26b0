"""All engines keep the contract of a pool."""

import os

import pytest

from scalinglab.store import Store
from scalinglab.sweep import Grid, execute
from scalinglab.sweep.pools.local_engine import LocalPool
from tests.sweep.contract import RUNNER, PoolContract, answers, task


class TestLocalPool(PoolContract):
    @pytest.fixture(scope="class")
    @classmethod
    def pool(cls):
        """One for all tests, whose workers take seconds to start; killed, it hires others."""
        pool = LocalPool(2)
        yield pool
        pool.kill()

    @pytest.mark.slow
    def test_closed_it_leaves_no_process(self, store):
        pool = LocalPool(1)
        pool.submit(task(1, store, seed=1))
        assert answers(pool, 1)[1]["ok"]
        processes = pool.processes
        assert processes
        pool.close()
        for process in processes:
            with pytest.raises(ProcessLookupError):
                os.kill(process, 0)


@pytest.mark.nightly  # starts Ray's processes, which takes minutes beside other tests
@pytest.mark.filterwarnings("ignore")  # of Ray itself
class TestRayPool(PoolContract):
    @pytest.fixture(scope="class")
    @classmethod
    def ray(cls):
        """Ray on this machine, started as a sweep does; the pools of all tests join it."""
        ray = pytest.importorskip("ray", reason="pip install 'scalinglab[ray]' to test the engine ray")
        from scalinglab.sweep.pools.ray_engine import RayPool

        first = RayPool(None, 2)
        yield ray
        assert ray.is_initialized(), "a pool that joined Ray left it running"
        first.close()
        assert not ray.is_initialized()

    @pytest.fixture
    def pool(self, ray):
        from scalinglab.sweep.pools.ray_engine import RayPool

        pool = RayPool(None, 2)
        yield pool
        pool.kill()

    def test_a_sweep_there_stores_its_grid_though_runs_raise_and_workers_die(self, ray, tmp_path):
        wanted = Grid(axes={"trouble": ["raise", "once", "none"]}, runner=RUNNER, experiment="on Ray")
        outcome = execute(wanted, tmp_path, engine="ray", workers=2, max_stacked=1)
        records = Store(tmp_path).records().values()
        assert {record.setting["trouble"]: record.status for record in records} == {
            "raise": "failed", "once": "done", "none": "done",
        }  # fmt: skip
        assert len(outcome.deaths) == 1
        again = execute(wanted, tmp_path, engine="ray", workers=2, retry_failed=True)
        assert [[*task.runs] for task in again.plan.tasks] == [[*outcome.failed]]
        assert (again.count("done"), again.count("failed")) == (2, 1)
        assert not (tmp_path / ".preflight").exists()


@pytest.mark.slow
class TestSlurmPool(PoolContract):
    """Jobs as processes of this machine; `test_slurm.py` has those of a real Slurm."""

    @pytest.fixture(scope="class")
    @classmethod
    def pool(cls, jobs_here):
        yield (pool := jobs_here(2))
        pool.close()
