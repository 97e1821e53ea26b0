"""A runner that writes down which GPUs a task was shown, and when."""

import json
import os
import time

from tests.sweep import pretend
from tests.sweep.pretend import *  # noqa: F403  all functions of a runner but `work`


def work(settings, store, experiment=None, device=None, group=()):
    start = time.time()
    pretend.train(settings, store, experiment)
    seen = {
        "shown": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "device": device,
        "start": start,
        "stop": time.time(),
    }
    (store.path / f"shown-{settings[0]['seed']}.json").write_text(json.dumps(seen))
