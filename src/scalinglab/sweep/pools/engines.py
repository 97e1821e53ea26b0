"""The pools by the names of their engines."""

from __future__ import annotations

from collections.abc import Sequence

from scalinglab.errors import BadInput, nearest
from scalinglab.support.work import cores
from scalinglab.sweep.pools.local_engine import LocalPool, default_workers
from scalinglab.sweep.pools.pool import Pool

ENGINES = ("local", "ray", "slurm")


def open_pool(
    engine: str, workers: int | None, address: str | None, devices: Sequence[str | None],
    cpus: float = 1, gpus: float = 0, partition: str | None = None, hours: float | None = None,
) -> Pool:  # fmt: skip
    """The pool of an engine."""
    if workers is not None and workers < 1:
        raise BadInput(f"workers={workers} must be at least 1")
    if engine not in ENGINES:
        raise BadInput(f"no engine {engine!r}; {nearest(engine, ENGINES)}")
    if address is not None and engine != "ray":
        raise BadInput("address is for engine='ray'")
    if engine != "slurm" and (partition is not None or hours is not None):
        raise BadInput("partition and hours are for engine='slurm'")
    if engine == "slurm":
        from scalinglab.sweep.pools.slurm_engine import SlurmPool

        return SlurmPool(workers, cpus, gpus, hours, partition)
    if engine == "ray":
        from scalinglab.sweep.pools.ray_engine import RayPool

        return RayPool(address, workers, cpus, gpus)
    count = workers or default_workers(devices)
    return LocalPool(count, devices, max(1, cores() // count))
