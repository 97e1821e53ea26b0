"""Flip bits in and cut the end off every kind of file that a store reads again, and see what comes of it.

python benchmarks/damage.py 200           flips and cuts of each kind, at random places

After each the store is read anew. `reported`: the file is named as damaged, and every other run loads with
its exact numbers. `a killed writer`: a run in progress lacks its last rows and counts as unfinished.
`harmless`: every number is as it was (a bit of a footer that nobody reads). `silent`: a number differs or is
missing and nothing was said.
"""

import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from scalinglab.store import Store, StoreError, StoreWarning
from scalinglab.train.checkpoints import state

RUNS, ROWS = 12, 20
STATE = {"run": {"model": "mlp", "seed": 0}}


def fill(folder):
    store = Store(folder)
    for number in range(RUNS):
        with store.start({"number": number}) as run:
            for step in range(ROWS):
                run.append(step=step, test_loss=1 / (1 + number) / (1 + step))
    return store


def table(folder):
    """All rows that load, and the files that are reported."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", StoreWarning)
        store = Store(folder)
        frame = store.curves().frame
        rows = {(r["number"], r["step"]): r["test_loss"] for r in frame.to_dict("records")}
    return rows, [str(warning.message) for warning in said]


def prepare(kind, folder):
    """A store with a file of this kind, and the file."""
    store = fill(folder)
    if kind == "sealed":
        return next((folder / "sealed").glob("*.parquet"))
    if kind == "live":
        run = store.start({"number": RUNS})
        for step in range(ROWS):
            run.append(step=step, test_loss=1 / (1 + RUNS) / (1 + step))
        run.close()
        return run.path
    if kind == "state":
        import torch

        weights = torch.from_numpy(np.random.default_rng(0).random(2000))
        state.save(folder / "state", STATE, {"weights": weights})
        return next((folder / "state").glob("*.pt"))
    store.compact()
    return next(folder.glob("sealed/pack-*" if kind == "pack" else "index/*.index"))


def judge(kind, folder, path, before, cut):
    """How one change was met."""
    if kind == "state":
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", StoreWarning)
            found = state.load(folder / "state", list(STATE))
        if found is None and any(path.name in str(warning.message) for warning in said):
            return "reported"
        return "silent" if found is None or not np.array_equal(found["weights"], before) else "harmless"
    if kind == "index":
        store = Store(folder)
        right = all(store.done({"number": number}) for number in range(RUNS))
        return "harmless" if right and not store.done({"number": -1}) else "silent"
    try:
        rows, said = table(folder)
    except StoreError as error:
        return "reported" if path.name in str(error) else "silent"
    if any(value != before[place] for place, value in rows.items()):
        return "silent"
    missing = {number for number, _ in before} - {number for number, _ in rows}
    named = any(path.name in text for text in said)
    if len(rows) == len(before):
        return "reported" if named else "harmless"
    # a writer that was killed leaves a live file without its end too, also one that ends with a whole line
    torn = kind == "live" and (cut or path.read_bytes()[-1:] != b"\n")
    if kind != "pack" and len(missing) > 1:
        return "silent"
    return "reported" if named else ("a killed writer" if torn else "silent")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    chance = random.Random(0)
    results = ("reported", "harmless", "a killed writer", "silent")
    print(f"{'file':8s}{'change':8s}" + "".join(f"{result:>17s}" for result in results))
    silent = 0
    for kind in ("sealed", "pack", "index", "live", "state"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = prepare(kind, folder)
            data = path.read_bytes()
            before = (
                state.load(folder / "state", list(STATE))["weights"] if kind == "state" else table(folder)[0]
            )
            for change in ("flip", "cut"):
                found = Counter()
                for _ in range(count):
                    place = chance.randrange(len(data))
                    flipped = bytes([data[place] ^ 1 << chance.randrange(8)])
                    new = data[:place] + (flipped + data[place + 1 :] if change == "flip" else b"")
                    path.write_bytes(new)
                    found[judge(kind, folder, path, before, change == "cut")] += 1
                silent += found["silent"]
                print(
                    f"{kind:8s}{change:8s}" + "".join(f"{found[result]:17d}" for result in results),
                    flush=True,
                )
    sys.exit(1 if silent else 0)


if __name__ == "__main__":
    main()
