"""Of tables as people keep them, how many are understood at the first try, with no options?

    python benchmarks/tables.py [--only WORD] [--set NAME] [--read-only] [--why] [--perturb SEED]

Tables of known laws, with noise, are written in many ways (`tables_parts`) and given to the front door once:
`sl.read`, then `sl.answer`. Each is

- *right*: the points that the fit sees are those that the table was made of, and what ten times as much gives
  agrees with the law: within three half-widths of its interval, or within 2 %. Where rows of several kinds
  must not be fitted as one, right is a refusal that names the column and its values;
- *refused*: an error or a finding says why there is no answer;
- *wrong*: anything else.

`--read-only` compares the points and fits nothing, which takes a tenth of the time. `--perturb SEED` writes
tables of names and rows otherwise, with the same meaning: what was right should be right.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
from tables_parts.cases import Case, Truth
from tables_parts.perturbed import perturbed

import scalinglab as sl
from scalinglab.answers import SIZES
from scalinglab.answers.fitted import choose
from scalinglab.curves.columns import measure_of
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab.laws.fitting.data.from_curves import points_of

FOLDER = Path(__file__).with_name("tables_parts")
SETS = {
    path.stem: import_module(f"tables_parts.{path.stem}").TABLES for path in sorted(FOLDER.glob("set_*.py"))
}
FAR, CLOSE = 3.0, 0.02  # half-widths of the interval, or as a share, within which a prediction agrees
WORDS = ("right", "refused", "wrong")


@dataclass(frozen=True)
class Verdict:
    """What came of a table: one of `WORDS`, and why."""

    word: str
    why: str = ""


def judge(case: Case, read_only: bool) -> Verdict:
    """Give a table to the front door once."""
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _compare(case, sl.read(case.write(Path(place))), read_only)
        except ScalinglabError as error:
            return _refused(case, str(error))
        except Exception as error:  # a traceback is no answer
            return Verdict("wrong", f"{type(error).__name__}: {error}")


def _refused(case: Case, why: str) -> Verdict:
    if case.choices and all(word in why for word in case.choices):
        return Verdict("right", why)
    return Verdict("refused", why)


def _compare(case: Case, curves: sl.Curves, read_only: bool) -> Verdict:
    """Compare what was read, then what is predicted, with what the table was made of."""
    chosen = choose(curves)  # refuses what `sl.answer` refuses
    x, y = _front_door(curves)
    if case.truth is None:  # reading and fitting are not refused: is the answer?
        answer = sl.answer(curves)
        if any(finding.values for finding in answer.findings if finding.question == "ten times"):
            return Verdict("wrong", f"fitted as one: {curves.understood}")
        return _refused(case, answer.summary())
    # runs of one length: of their ends, or of every checkpoint, as `sl.answer` takes them
    ways = dict.fromkeys([tuple(x), chosen.x if len(chosen.x) > 1 else tuple(x)])
    differ = [_differs(_points(curves, [*names], y), case.truth) for names in ways]
    if all(differ):
        return Verdict("wrong", f"{differ[0]}; {curves.understood}")
    if read_only:
        return Verdict("right", curves.understood)
    answer = sl.answer(curves)
    tenfold = [finding for finding in answer.findings if finding.question == "ten times"]
    estimate = next((value for finding in tenfold for value in finding.values.values()), None)
    if estimate is None:
        return Verdict("refused", answer.summary())
    half, off = (estimate.high - estimate.low) / 2, abs(estimate.value - case.truth.ten_times)
    of_complement = abs(1 - estimate.value - case.truth.ten_times)
    if min(off, of_complement) > max(FAR * half, CLOSE * case.truth.ten_times):
        return Verdict("wrong", f"predicts {estimate.value:.4g}, truth {case.truth.ten_times:.4g}")
    return Verdict("right", curves.understood)


def _points(curves: sl.Curves, x: list[str], y: str) -> pd.DataFrame:
    """The points that a fit sees."""
    found = points_of(curves, x if len(x) > 1 else x[0], y)
    usable = np.isfinite(found.y) & np.isfinite(np.atleast_2d(found.x)).all(axis=0)
    return pd.DataFrame(np.atleast_2d(found.x).T[usable], columns=x).assign(**{y: found.y[usable]})


def _front_door(curves: sl.Curves) -> tuple[list[str], str]:
    """The sizes and the measurement that `sl.answer` fits."""
    varied = [c for c in SIZES if c in curves.frame and curves.frame[c].nunique() > 1]
    both = ["n_params", "n_data"] if {"n_params", "n_data"} <= {*varied} else varied[:1]
    if not both:
        raise BadInput("no size varies")
    return both, measure_of(curves.frame, curves.setting_columns)


def _differs(found: pd.DataFrame, truth: Truth) -> str:
    """In what the points read differ from those the table was made of; empty where they agree."""
    *sizes, y = truth.points
    if "n_data" in sizes and "n_data" not in found:  # data seen along one run are sizes of it, too
        found = found.rename(columns={"examples": "n_data", "tokens": "n_data"})
    if [*found.columns[:-1]] != sizes:
        return f"sizes read: {', '.join(found.columns[:-1])}, truth: {', '.join(sizes)}"
    if len(found) != len(truth.points[y]):
        return f"{len(found)} points read, truth: {len(truth.points[y])}"
    expected = pd.DataFrame(dict(truth.points)).to_numpy(float)
    for values in (
        found.to_numpy(float),
        found.assign(**{found.columns[-1]: 1 - found.iloc[:, -1]}).to_numpy(float),
    ):
        if np.allclose(_sorted(values), _sorted(expected), rtol=2e-3, atol=1e-9):
            return ""
    first = found.iloc[0].to_dict()
    return f"values differ: {first} is not {dict(zip(truth.points, expected[0]))}"


def _sorted(rows: np.ndarray) -> np.ndarray:
    return rows[np.lexsort(np.round(rows, 6).T[::-1])]


def _compare_perturbed(asked: argparse.Namespace) -> None:
    """Judge tables written otherwise; print what is not right and was before, and the counts."""
    cases = [c for name, each in SETS.items() if asked.set in (None, name) for c in each]
    pairs = perturbed([c for c in cases if asked.only in f"{c.kind} {c.name}"], asked.perturb)
    counts, lost = Counter[str](), 0
    for case, other in pairs:
        verdict = judge(other, asked.read_only)
        counts[verdict.word] += 1
        if verdict.word != "right" and judge(case, asked.read_only).word == "right":
            lost += 1
            print(f"{verdict.word:8} {other.kind}: {other.name}\n         {verdict.why[:600]}", flush=True)
    print(f"{len(pairs)} written otherwise: {', '.join(f'{counts[word]} {word}' for word in WORDS)}")
    print(f"{lost} of those not right were right as they stood")


def main() -> None:
    """Judge every table, and print the counts by kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--set", choices=SETS)
    parser.add_argument("--read-only", action="store_true")
    parser.add_argument("--why", action="store_true")
    parser.add_argument("--perturb", type=int, metavar="SEED")
    asked = parser.parse_args()
    if asked.perturb is not None:
        _compare_perturbed(asked)
        return
    for name, cases in SETS.items():
        chosen = [c for c in cases if asked.only in f"{c.kind} {c.name}" and asked.set in (None, name)]
        if not chosen:
            continue
        counts: dict[str, Counter[str]] = {}
        for case in chosen:
            verdict = judge(case, asked.read_only)
            counts.setdefault(case.kind, Counter())[verdict.word] += 1
            if verdict.word != "right" or asked.why:
                print(f"{verdict.word:8} {case.kind}: {case.name}\n         {verdict.why[:600]}")
        width = max(map(len, counts))
        print(f"\n{name:{width}} {''.join(f'{word:>9}' for word in WORDS)}")
        for kind, count in counts.items():
            print(f"{kind:{width}} {''.join(f'{count[word]:9}' for word in WORDS)}")
        total = sum(counts.values(), Counter())
        print(f"{'in all':{width}} {''.join(f'{total[word]:9}' for word in WORDS)}\n", flush=True)


if __name__ == "__main__":
    main()
