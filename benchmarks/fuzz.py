"""Attack the public functions with random, extreme and wrong inputs.

python benchmarks/fuzz.py 61                        inputs of each case and each public function: 10,000
python benchmarks/fuzz.py 61 theory laws.fit        those whose names begin so
python benchmarks/fuzz.py laws.extrapolate 17       one input, with its traceback

Cases draw numbers that a function is meant for (`tests/numerics/attack.py`); of every public function
arguments are drawn by their annotations, of the wrong type, shape and size among them (`every_function.py`).
`numbers`: numbers, infinity where that is the answer. `refused`: a message of this package. `nan`: a number
is missing, or text says nan. `foreign`: another exception, which a user would meet as a traceback. `hang`:
more than 20 s of CPU.
"""

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
    wanted = tuple(sys.argv[2:])
    total, findings = Counter(), []
    print(f"{'function':44s}" + "".join(f"{kind:>9s}" for kind in KINDS) + f"{'seconds':>9s}")
    for name, attacked in attacks.items():
        if wanted and not name.startswith(wanted):
            continue
        start, found = time.perf_counter(), Counter()
        for seed in range(count):
            kind, words = attacked(seed)
            found[kind] += 1
            if kind in ("nan", "foreign", "hang"):
                findings.append(f"{name} {seed}: {kind}, {words[:200]}")
        total += found
        seconds = time.perf_counter() - start
        print(f"{name:44s}" + "".join(f"{found[kind]:9d}" for kind in KINDS) + f"{seconds:9.1f}", flush=True)
    print(f"{f'all, {total.total():,} inputs':44s}" + "".join(f"{total[kind]:9d}" for kind in KINDS))
    print("\n".join(findings))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
