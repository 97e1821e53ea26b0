"""Slurm for the tests: jobs as processes of this machine, and a real Slurm of one node."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.sweep.here import open_pool

HERE = Path(__file__).parents[2] / "tools" / "slurm_here.sh"


@pytest.fixture
def gpu_here(monkeypatch):
    """Says whether PyTorch finds a GPU."""
    torch = pytest.importorskip("torch")
    return lambda here: monkeypatch.setattr(torch.cuda, "is_available", lambda: here)


@pytest.fixture
def processors(monkeypatch):
    """Sets how many processors this process may use."""
    return lambda number: monkeypatch.setattr(
        os, "sched_getaffinity", lambda _: {*range(number)}, raising=False
    )


@pytest.fixture
def here(monkeypatch):
    """Sweeps of the local engine do their tasks in this process."""
    monkeypatch.setattr("scalinglab.sweep.driver.open_pool", open_pool)


@pytest.fixture
def started(monkeypatch):
    """Processes that take tasks and say nothing, as started: command, options, what they are sent."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    found = []

    def popen(command, **how):
        sent = []
        stdin = SimpleNamespace(write=sent.append, flush=lambda: None, close=lambda: None)
        found.append((command, how, sent))
        return SimpleNamespace(stdin=stdin, stdout=io.StringIO(), wait=lambda timeout=None: 0)

    monkeypatch.setattr(subprocess, "Popen", popen)
    return found


@pytest.fixture(scope="module")
def often():
    """Jobs are looked for more often than on a cluster of others, and find what the tests' Python finds."""
    pytest.importorskip("submitit", reason="pip install 'scalinglab[slurm]' to test the engine slurm")
    from scalinglab.sweep.pools import slurm_engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slurm_engine, "LOOK", 0.3)
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        yield slurm_engine


@pytest.fixture(scope="module")
def jobs_here(often):
    """A pool of jobs that are processes of this machine, by submitit's local executor."""
    return lambda workers, **more: often.SlurmPool(workers, cluster="local", **more)


@pytest.fixture(scope="session")
def slurm_daemons(tmp_path_factory):
    """A Slurm of one node on this machine: its folder."""
    if not os.environ.get("SLURM_HERE"):
        pytest.skip("`make slurm` tests a real Slurm, which takes minutes")
    if not all(map(shutil.which, ("slurmctld", "slurmd", "munged"))) or os.getuid():
        pytest.skip("a real Slurm needs root and Debian's packages slurm-wlm and munge")
    folder = tmp_path_factory.mktemp("slurm")
    out = subprocess.run([HERE, "start", folder], capture_output=True, text=True, timeout=60)
    if out.returncode:
        pytest.skip(f"Slurm does not start here: {out.stderr.strip()}")
    yield folder
    subprocess.run([HERE, "stop", folder], capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def slurm(slurm_daemons, often):
    """The same, for this process and those that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(slurm_daemons / "slurm.conf"))
        yield slurm_daemons
