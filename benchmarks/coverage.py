"""Do nominal 95 % intervals cover the truth in 90 to 98 % of data sets?

    python benchmarks/coverage.py [--sets 1000] [--jobs -1] [--why]
    python benchmarks/coverage.py --only "one variable" --sets 50 --first 100 --rows part-2.jsonl
    python benchmarks/coverage.py --merge part-*.jsonl       the table of studies made in parts
    python benchmarks/coverage.py --curves       few sizes of public image curves
    python benchmarks/coverage.py --uneven       growing and falling noise at once: what a rule can hold

Every case draws many data sets from a known law, fits each, and counts how often the interval holds the true
value at three places: inside the points, at their end, and beyond. In the last cases the fitted form is not
the true one: the honest answer there is a wide interval, and the table shows what trusting one form costs.

Small designs (few runs, few sizes) may refuse to answer; "refused" is the share of data sets that did, and
coverage counts the intervals that were printed.

With `--why` two ratios stand below each case, in logarithms. With many points a 95 % interval is as wide as
the range that holds 95 % of the fits from set to set, and lies around the fit; so

    spread    the width of the interval over that range,
    centring  the range of the interval's middle over that range,

are 1 where the interval is what it should be. It covers too much where it is too wide (spread > 1; with few
points it has to be, by Student's factor) or where its middle scatters less than the fit does (centring < 1).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from coverage_parts.cases import CASES, Case
from coverage_parts.image_curves import public_curves
from coverage_parts.uneven_noise import uneven_noise
from joblib import Parallel, delayed

from scalinglab.errors import NotDetermined
from scalinglab.support.words import counted

WANTED = (0.90, 0.98)  # coverage of intervals of 95 %


@dataclass(frozen=True)
class Drawn:
    """One data set: low, high, truth and fit at the places, or None where no interval was printed."""

    case: str
    seed: int
    seconds: float
    ends: list[list[float]] | None


def attempt(case: Case, seed: int) -> Drawn:
    """Draw and fit one data set."""
    start = time.perf_counter()
    try:
        found = case.one(np.random.default_rng([7, seed]))
        ends = [[float(f"{value:.7g}") for value in part] for part in found]
    except NotDetermined:
        ends = None
    return Drawn(case.name, seed, time.perf_counter() - start, ends)


def draw(case: Case, seeds: Iterable[int], jobs: int) -> Iterator[Drawn]:
    """The data sets of one case, each as soon as it is there."""
    yield from Parallel(n_jobs=jobs, return_as="generator")(delayed(attempt)(case, seed) for seed in seeds)


@dataclass(frozen=True)
class Study:
    """Coverage and median relative width at the three places, (spread, centring), refusals, seconds a set."""

    coverage: np.ndarray
    width: np.ndarray
    why: np.ndarray
    sets: int
    refused: float
    seconds: float


def study(sets: list[Drawn], stretch: float = 1.0) -> Study:
    """What the data sets of one case show, of intervals `stretch` times as wide around the fit."""
    ends = [found.ends for found in sets if found.ends is not None]
    refused = 1 - len(ends) / len(sets)
    seconds = float(np.mean([found.seconds for found in sets]))
    if not ends:
        nothing = np.full(3, np.nan)
        return Study(nothing, nothing, np.full((2, 3), np.nan), len(sets), refused, seconds)
    low, high, truth, fitted = (np.array(part) for part in zip(*ends, strict=True))
    if stretch != 1:
        low, high = (fitted * (end / fitted) ** stretch for end in (low, high))
    bottom, top = np.log(np.maximum(low, 1e-12)), np.log(high)
    width = np.median(top - bottom, axis=0)
    # against the truth, which differs from set to set in some cases
    fits, middles = (central_range(np.log(v / truth)) for v in (fitted, np.exp((bottom + top) / 2)))
    with np.errstate(divide="ignore", invalid="ignore"):  # of a single set
        why = np.array([width / fits, middles / fits])
    covered = np.mean((low <= truth) & (truth <= high), axis=0)
    return Study(covered, width, why, len(sets), refused, seconds)


def central_range(values: np.ndarray) -> np.ndarray:
    """The distance between the 2.5 % and 97.5 % quantiles over sets."""
    low, high = np.quantile(values, [0.025, 0.975], axis=0)
    return np.asarray(high - low)


def verdict(case: Case, found: Study) -> str:
    """Whether every coverage is in the range, below it ("no") or above ("wide"); refusals are answers, too.

    With a question mark where it is outside by less than two standard errors.
    """
    if not case.asked:
        return "–"
    if found.refused == 1:
        return "refused"
    low, high = WANTED
    below, above = np.max(low - found.coverage), np.max(found.coverage - high)
    if max(below, above) <= 0:
        return "yes"
    word, gap, limit = ("no", below, low) if below > 0 else ("wide", above, high)
    printed = found.sets * (1 - found.refused)
    return word if gap > 2 * np.sqrt(limit * (1 - limit) / printed) else f"{word}?"


def show(case: Case, found: Study, why: bool) -> None:
    """One row of the table."""
    shown = "".join(f"{100 * c:>7.1f}" for c in found.coverage)
    widths = "".join(f"{100 * w:>8.2g}" for w in found.width)
    print(
        f"{case.name:<56}{shown:>22}{widths:>24}{found.sets:>7}{100 * found.refused:>13.1f}"
        f"{verdict(case, found):>12}{found.seconds:>8.3f}",
        flush=True,
    )
    if why:
        for name, ratios in zip(("spread", "centring"), found.why, strict=True):
            print(f"    {name:<52}" + f"{''.join(f'{r:>7.2f}' for r in ratios):>22}", flush=True)


def keep(sets: Iterable[Drawn], path: Path | None) -> Iterator[Drawn]:
    """The same sets, each written down as it comes."""
    if path is None:
        yield from sets
        return
    with path.open("a") as file:
        for one in sets:
            file.write(json.dumps(asdict(one)) + "\n")
            file.flush()
            yield one


def merged(paths: Iterable[Path]) -> dict[str, list[Drawn]]:
    """By case, the sets of several files, each seed once."""
    found: dict[tuple[str, int], Drawn] = {}
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            try:
                one = Drawn(**json.loads(line))
            except (json.JSONDecodeError, TypeError):
                raise SystemExit(
                    f"{path}, line {number} is no data set (a study cut off while it wrote?): delete the line"
                ) from None
            found[one.case, one.seed] = one
    cases: dict[str, list[Drawn]] = {}
    for one in found.values():
        cases.setdefault(one.case, []).append(one)
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument(
        "--first", type=int, default=0, help="seed of the first set, to add to an earlier study"
    )
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--only", default="", help="the case of this name, else those whose name holds it")
    parser.add_argument("--why", action="store_true", help="print spread and centring below each case")
    parser.add_argument("--rows", type=Path, help="add every set to this file (.jsonl) as it comes")
    parser.add_argument("--merge", type=Path, nargs="+", help="instead: the table of such files")
    parser.add_argument("--stretch", type=float, default=1.0, help="intervals so many times as wide")
    parser.add_argument("--curves", action="store_true", help="instead: few sizes of public image curves")
    parser.add_argument("--uneven", action="store_true", help="instead: growing and falling noise at once")
    arguments = parser.parse_args()
    if arguments.sets < 1:
        parser.error(f"--sets {arguments.sets} must be at least 1")
    if arguments.uneven:
        uneven_noise()
        return
    if arguments.curves:
        for count in (5, 6, 7):
            public_curves(count)
        return
    print("one standard error of a coverage of 95 % is 1.1 % from 400 sets, 0.7 % from 1000")
    print(
        f"{'case':<56}{'coverage / %':>22}{'width / %':>24}{'sets':>7}{'refused / %':>13}{'in range':>12}"
        f"{'s/set':>8}"
    )
    known = merged(arguments.merge) if arguments.merge else None
    cases = {case.name for case in CASES}
    for name, sets in (known or {}).items():
        if name not in cases:
            print(f"left out: {counted(len(sets), 'set')} of {name!r}, which is none of the cases here")
    seeds = range(arguments.first, arguments.first + arguments.sets)
    chosen = [c for c in CASES if c.name == arguments.only] or [c for c in CASES if arguments.only in c.name]
    for case in chosen:
        if known is None:
            sets = list(keep(draw(case, seeds, arguments.jobs), arguments.rows))
        elif case.name in known:
            sets = known[case.name]
        else:
            continue
        show(case, study(sets, arguments.stretch), arguments.why)


if __name__ == "__main__":
    main()
