"""Damage every kind of file that a store reads again, and see what comes of it.

python benchmarks/damage.py 313           of each of four damages to each of eight kinds: 10,016 in all

A bit is flipped, the end is cut off, up to 64 bytes are overwritten, or as many inserted, at a random place.
After each the store is read anew. `reported`: the file is named as damaged, and every other run loads with
its exact numbers. `a killed writer`: a run in progress lacks its last rows and counts as unfinished.
`harmless`: every number is as it was (a bit of a footer that nobody reads). `silent`: a number differs or is
missing and nothing was said. `foreign`: an error that is not of this package.
"""

import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from scalinglab.curves import run_name
from scalinglab.errors import ScalinglabError
from scalinglab.store import Store, StoreWarning
from scalinglab.sweep import Grid, make_plan
from scalinglab.sweep.driver import grids_in
from scalinglab.sweep.plan import keep_grid, keep_groups, kept_groups
from scalinglab.train.checkpoints import state

RUNS, ROWS = 12, 20
STATE = {"run": {"model": "mlp", "seed": 0}}
GRID = Grid({"model": "mlp", "dataset": "digits", "epochs": 1}, axes={"n_data": [100, 200, 400]}, seeds=4)
ARRAY = np.linspace(0, 1, 40)
KINDS = ("sealed", "pack", "index", "live", "state", "arrays", "grid", "groups")
RESULTS = ("reported", "harmless", "a killed writer", "silent", "foreign")


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
    if kind == "arrays":
        store.keep_arrays(run_name({"number": 0}), 3, {"eigenvalues": ARRAY})
        return next(folder.glob("arrays/*/*.npz"))
    if kind == "grid":
        keep_grid(GRID, store, {"workers": 2})
        return next(folder.glob("grids/*.json"))
    if kind == "groups":
        keep_groups(make_plan(GRID, store, workers=2), GRID, store, [])
        return next(folder.glob("grids/*.groups"))
    if kind == "state":
        import torch

        weights = torch.from_numpy(np.random.default_rng(0).random(2000))
        state.save(folder / "state", STATE, {"weights": weights})
        return next((folder / "state").glob("*.pt"))
    store.compact()
    return next(folder.glob("sealed/pack-*" if kind == "pack" else "index/*.index"))


def before_of(kind, folder):
    """What is read before the damage."""
    if kind == "state":
        return state.load(folder / "state", list(STATE))["weights"]
    if kind == "groups":
        return kept_groups(GRID, Store(folder))
    return table(folder)[0] if kind in ("sealed", "pack", "index", "live") else None


def judged(*arguments):
    """How one change was met; an exception of another package is foreign."""
    try:
        return judge(*arguments)
    except Exception as error:
        print(f"foreign: {type(error).__name__}: {error}")
        return "foreign"


def said_while(act):
    """What it gives, and what was said; a named error counts as said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", StoreWarning)
        try:
            found = act()
        except ScalinglabError as error:
            return None, str(error)
    return found, " ".join(str(warning.message) for warning in said)


def judge(kind, folder, path, before, cut):
    """How one change was met."""
    if kind in ("state", "arrays", "grid", "groups"):
        store = Store(folder)
        act, right = {
            "state": (
                lambda: state.load(folder / "state", list(STATE)),
                lambda f: np.array_equal(f["weights"], before),
            ),
            "arrays": (
                lambda: store.arrays(run_name({"number": 0})),
                lambda f: np.array_equal(f[3]["eigenvalues"], ARRAY),
            ),
            "grid": (lambda: grids_in(store), lambda f: len(f) == 1 and f[0].settings() == GRID.settings()),
            "groups": (lambda: kept_groups(GRID, store), lambda f: f == before),
        }[kind]  # fmt: skip
        found, said = said_while(act)
        if path.name in said:
            return "reported"
        return "harmless" if found and right(found) else "silent"
    if kind == "index":
        store = Store(folder)
        right = all(store.done({"number": number}) for number in range(RUNS))
        return "harmless" if right and not store.done({"number": -1}) else "silent"
    try:
        rows, said = table(folder)
    except ScalinglabError as error:
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


def damaged(data, change, chance):
    """The bytes of a file after one damage."""
    place, size = chance.randrange(len(data)), chance.randint(1, 64)
    if change == "flip":
        return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
    if change == "cut":
        return data[:place]
    other = chance.randbytes(size)
    return data[:place] + other + data[place + (len(other) if change == "overwrite" else 0) :]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 313
    chance, total = random.Random(0), Counter()
    print(f"{'file':8s}{'change':10s}" + "".join(f"{result:>17s}" for result in RESULTS))
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = prepare(kind, folder)
            data = path.read_bytes()
            before = before_of(kind, folder)
            for change in ("flip", "cut", "overwrite", "insert"):
                found = Counter()
                for _ in range(count):
                    path.write_bytes(damaged(data, change, chance))
                    found[judged(kind, folder, path, before, change == "cut")] += 1
                total += found
                print(
                    f"{kind:8s}{change:10s}" + "".join(f"{found[result]:17d}" for result in RESULTS),
                    flush=True,
                )
    print(f"{total.total():8d}{'in all':10s}" + "".join(f"{total[result]:17d}" for result in RESULTS))
    survived = total["harmless"] + total["a killed writer"]
    print(
        f"attempts {total.total():,}, survived {survived:,}, named {total['reported']:,}, "
        f"silent {total['silent']}, foreign {total['foreign']}"
    )
    sys.exit(1 if total["silent"] or total["foreign"] else 0)


if __name__ == "__main__":
    main()
