"""How long `import scalinglab` and the first command take, beside the interpreter's own start.

    python benchmarks/imports.py [--rounds 7]

Each row is a fresh process; the time is the shortest of the rounds, which other work on the machine disturbs
least. The goal for `import scalinglab` is half a second at most.
"""

import argparse
import subprocess
import sys
import time

ROWS = {
    "python": ["-c", "pass"],
    "import scalinglab": ["-c", "import scalinglab"],
    "import scalinglab.theory, all names": [
        "-c", "import scalinglab.theory as t; [getattr(t, name) for name in dir(t)]"
    ],
    "import scalinglab.laws, all names": [
        "-c", "import scalinglab.laws as t; [getattr(t, name) for name in dir(t)]"
    ],
    "scalinglab --version": ["-m", "scalinglab", "--version"],
    "scalinglab laws --help": ["-m", "scalinglab", "laws", "--help"],
}  # fmt: skip


def seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="fresh processes a row")
    rounds = parser.parse_args().rounds
    bare = None
    print(f"{'':38} seconds  beyond python")
    for name, arguments in ROWS.items():
        best = min(seconds(arguments) for _ in range(rounds))
        bare = best if bare is None else bare
        print(f"{name:38} {best:7.3f}  {best - bare:13.3f}")


if __name__ == "__main__":
    main()
