"""A runner that pretends to train: cheap runs that fail in the way their setting asks for."""

import os
import resource
import signal
import time

from scalinglab.errors import BadInput, nearest

KEYS = {"size": 1, "kind": "a", "trouble": None, "pause": 0.0, "busy": 0.0, "seed": 0}
STEPS = 4


def identity(setting):
    for name in setting:
        if name not in KEYS:
            raise BadInput(f"a setting has no {name!r}; {nearest(name, KEYS)}")
    full = {**KEYS, **setting}
    return {name: value for name, value in full.items() if value is not None}


def alike(settings):
    kinds = dict.fromkeys(s["kind"] for s in settings)
    return [[s for s in settings if s["kind"] == kind] for kind in kinds]


def cost(setting):
    return float(setting["size"])


def memory(setting, device=None):
    return float(setting["size"])


def capacity(device):
    return 4


def memory_limit(device, workers):
    return 1e9


def devices():
    return [None]


def probe(settings, device=None):
    return {"seconds": 2.0 * sum(map(cost, settings)), "flops": 10.0 * sum(map(cost, settings))}


def loss(setting, step):
    return setting["size"] / (1 + setting["seed"]) / (1 + step)


def work(settings, store, experiment=None, device=None, group=()):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if (store.path / "full").exists():  # the limit on the size of files fails as a full disk does
        resource.setrlimit(resource.RLIMIT_FSIZE, (700, limits[1]))
    try:
        train(settings, store, experiment)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def compute(seconds):
    """Keep the processor busy for that much of its time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))


def train(settings, store, experiment):
    troubles = [s.get("trouble") for s in settings]
    if "memory" in troubles and len(settings) > 1:
        raise MemoryError("two of these do not fit")
    writers = [store.start(s, experiment=experiment) for s in settings]
    try:
        for step in range(STEPS):
            for setting, writer in zip(settings, writers, strict=True):
                if setting.get("trouble") == "kill" and step == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
                if setting.get("trouble") == "crash" and step == 2:
                    os.abort()
                if setting.get("trouble") == "raise" and step == 2:
                    raise RuntimeError("this network cannot be trained")
                if (
                    setting.get("trouble") == "once"
                    and not (flag := store.path / f"tried-{writer.run}").exists()
                ):
                    flag.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                writer.append(step=step, test_loss=loss(setting, step))
                time.sleep(setting["pause"])
                compute(setting["busy"])
        for setting, writer in zip(settings, writers, strict=True):
            writer.seal("diverged" if setting.get("trouble") == "diverge" else "done")
    except RuntimeError:
        import traceback

        for writer in writers:
            writer.seal("failed", error=traceback.format_exc())
        raise
    finally:
        for writer in writers:
            writer.close()
