"""Attack the numerical functions with random and extreme inputs.

python benchmarks/fuzz.py 100                      inputs of each case; a table of what became of them
python benchmarks/fuzz.py laws.extrapolate 17      one input, with its traceback

`numbers`: numbers, infinity where that is the answer. `refused`: a message of this package. `nan`: a number
is missing. `foreign`: another exception, which a user would meet as a traceback.
"""

import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.numerics.attack import CASES, Draw, attack  # noqa: E402

KINDS = ("numbers", "refused", "nan", "foreign")


def main():
    if len(sys.argv) == 3:
        print(CASES[sys.argv[1]](Draw([int(sys.argv[2]), *sys.argv[1].encode()])))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    total = Counter()
    print(f"{'case':34s}" + "".join(f"{kind:>9s}" for kind in KINDS) + f"{'seconds':>9s}")
    findings = []
    for case in CASES:
        start = time.perf_counter()
        found = Counter()
        for seed in range(count):
            kind, words = attack(case, seed)
            found[kind] += 1
            if kind in ("nan", "foreign"):
                findings.append(f"{case} {seed}: {kind}, {words[:150]}")
        total += found
        seconds = time.perf_counter() - start
        print(f"{case:34s}" + "".join(f"{found[kind]:9d}" for kind in KINDS) + f"{seconds:9.1f}", flush=True)
    print(f"{'all':34s}" + "".join(f"{total[kind]:9d}" for kind in KINDS))
    print("\n".join(findings))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
