"""Attack the public functions with random, extreme and wrong inputs.

python benchmarks/fuzz.py 61                        inputs of each case and each public function: 10,000
python benchmarks/fuzz.py 61 theory laws.fit        those whose names begin so
python benchmarks/fuzz.py 61 in FILE for 200        so many seconds of it; again goes on from FILE
python benchmarks/fuzz.py laws.extrapolate 17       one input, with its traceback

Cases draw numbers that a function is meant for (`tests/numerics/attack.py`); of every public function
arguments are drawn by their annotations, of the wrong type, shape and size among them (`every_function.py`).
`numbers`: numbers, infinity where that is the answer. `refused`: a message of this package. `nan`: a number
is missing, or text says nan. `foreign`: another exception, which a user would meet as a traceback. `hang`:
more than 20 s of CPU.
"""

import json
import math
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.numerics import every_function  # noqa: E402
from tests.numerics.attack import CASES, Draw, attack  # noqa: E402

KINDS = ("numbers", "refused", "nan", "foreign", "hang")


def show(name, seed):
    """One input, with its traceback."""
    if name in CASES:
        print(CASES[name](Draw([seed, *name.encode()])))
        return
    function = every_function.public_functions()[name]
    drawn = every_function.Arguments([seed, *name.encode()])
    args, named = drawn.call(function, name in every_function.ONLY_WRONG)
    print(args, named)
    print(function(*args, **named))


def tried(name, attacked, count, before, until):
    """What came of so many inputs, from those `before` on: each kind's count, findings in words, seconds."""
    found, findings, seconds = before
    found = Counter(found)
    start = time.perf_counter()
    for seed in range(found.total(), count):
        if time.monotonic() > until:
            break
        kind, words = attacked(seed)
        found[kind] += 1
        if kind in ("nan", "foreign", "hang"):
            findings.append(f"{name} {seed}: {kind}, {words[:200]}")
    return found, findings, seconds + time.perf_counter() - start


def main():
    if len(sys.argv) == 3 and sys.argv[2].isdigit():
        show(sys.argv[1], int(sys.argv[2]))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 61
    functions = every_function.public_functions()
    attacks = {f"case {name}": lambda seed, name=name: attack(name, seed) for name in CASES}
    attacks |= {
        name: lambda seed, name=name, f=function: every_function.attack(name, f, seed)
        for name, function in functions.items()
    }
    kept, until, wanted = Path(), math.inf, tuple(sys.argv[2:])
    if wanted[:1] == ("in",):
        kept, until, wanted = Path(wanted[1]), time.monotonic() + float(wanted[3]), ()
    known = json.loads(kept.read_text()) if kept.is_file() else {}
    total, findings, left = Counter(), [], 0
    print(f"{'function':44s}" + "".join(f"{kind:>9s}" for kind in KINDS) + f"{'seconds':>9s}")
    for name, attacked in attacks.items():
        if wanted and not name.startswith(wanted):
            continue
        known[name] = tried(name, attacked, count, known.get(name, ({}, [], 0.0)), until)
        if kept.name:
            kept.write_text(json.dumps(known))
        found, words, seconds = known[name]
        left += sum(found.values()) < count
        total.update(found)
        findings += words
        counts = "".join(f"{found.get(kind, 0):9d}" for kind in KINDS)
        print(f"{name:44s}{counts}{seconds:9.1f}", flush=True)
    print(f"{f'all, {total.total():,} inputs':44s}" + "".join(f"{total[kind]:9d}" for kind in KINDS))
    print(
        f"attempts {total.total():,}, survived {total['numbers']:,}, named {total['refused']:,}, "
        f"silent {total['nan']}, foreign {total['foreign']}, hang {total['hang']}"
    )
    print("\n".join(findings))
    if left:
        print(f"{left} functions to go: the same command goes on")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
