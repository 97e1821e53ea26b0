"""A pool that does its tasks in this process: tests of the driver start no worker."""

from scalinglab.sweep.pools import worker
from scalinglab.sweep.pools.pool import Pool


class HerePool(Pool):
    """Every task is done when it is submitted."""

    def __init__(self, slots=1):
        self._slots, self.answered = slots, []

    @property
    def slots(self):
        return self._slots

    def submit(self, task):
        self.answered.append({"task": task["task"], **worker.execute(task)})

    def wait(self, seconds):
        found, self.answered = self.answered, []
        return found

    def close(self):
        pass

    def kill(self):
        pass


def open_pool(engine, workers, *_):
    """In the place of the one in `scalinglab.sweep.driver`."""
    return HerePool(workers or 1)
