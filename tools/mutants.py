"""Mutation testing: small random changes to the package, each of which some test must notice.

    python tools/mutants.py [PACKAGE …] [--number 60] [--seed 0] [--apart NUMBER SEED] [--jobs 1] [--slow]
                            [--constants] [--near FILES]

A mutant changes one constant, comparison, arithmetic or boolean operator, or removes one guard. It is
applied to a copy of the repository and run against those quick tests that execute the changed line, with
`--slow` against the slow ones that do so, too, as continuous integration would. Which do is known from one
recorded run of all. Recordings and outcomes are kept in `.mutants/` and renewed where code or tests changed.
Tests run in a child that is forked after the heavy packages were imported, so that a mutant costs seconds.
With `--constants`, numbers alone are changed, as those of a paper (`papers --constants`). With `--near 8`
nothing is recorded: the examples in the changed file judge, and the eight files of tests that name most
of it, which takes minutes, not an hour, and misses some. What no test notices is printed as a table.
Mutants that change nothing a user could see are listed, with the reason, in
`tools/equivalent_mutants.toml`, and are not sampled.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import contextlib
import hashlib
import importlib
import json
import multiprocessing.pool
import os
import py_compile
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mutations import ROOT, Mutant, mutants_of

RECORD = ROOT / ".mutants"
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.toml"
PACKAGES = ("curves", "store", "laws", "sweep", "theory", "measure")
HEAVY = (
    "numpy", "scipy.optimize", "scipy.stats", "scipy.special", "pandas", "pyarrow.parquet", "torch",
    "sklearn.neighbors", "pytest", "matplotlib.pyplot", "typer.testing", "hypothesis", "jsonschema",
)  # fmt: skip
CHILDREN = {  # files whose code runs in processes of their own, and the function that starts these
    "src/scalinglab/sweep/pools/worker.py": ("src/scalinglab/sweep/pools/local_engine.py", "start_worker"),
}
COMMANDS_STARTED = {  # files of commands, and the tests that start these in processes of their own
    "src/scalinglab/cli/__init__.py": "tests/cli/test_cli.py::test_(exit|debug|errors|warnings|interrupt)",
    "src/scalinglab/cli/commands/train.py": "tests/sweep/test_command_line.py",
}
DEFAULTS = {  # tests that compare defaults
    "src/scalinglab/cli/": "tests/cli/test_defaults.py", "src/scalinglab/": "tests/test_conventions.py",
}  # fmt: skip
# a test that reads the numbers of the papers from the text of the code, so that it executes no line of it
NUMBERS = {"src/scalinglab_papers/": "tests/studies/test_records.py::test_constants_of_the_papers"}
NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
PARTS = 40  # of the tests, recorded side by side
QUICK, CI = "not slow and not nightly", "not nightly"  # markers of the tests that judge
MOST_SECONDS = {QUICK: 20.0, CI: 60.0}  # of recorded test time that one mutant may take


def sources(package: str) -> list[Path]:
    """The files of a package, of a folder in one, or of a module beside the packages."""
    place = source(package)
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


def source(package: str) -> Path:
    """The folder of a package, or the file of a module; papers are a package beside the core."""
    beside = package.split("/")[0] == "papers"
    folder = ROOT / "src" / (f"scalinglab_{package}" if beside else f"scalinglab/{package}")
    return folder if folder.is_dir() else folder.with_suffix(".py")


# --- which tests execute a line -----------------------------------------------------------------


def units(parts: int) -> list[list[str]]:
    """The files of tests, and the packages with examples, in so many parts of about the same size."""
    examples = [path for top in (ROOT / "src").glob("scalinglab*") for path in top.iterdir()]
    examples = [path for path in examples if path.suffix == ".py" or any(path.glob("*.py"))]
    tests = (ROOT / "tests").rglob("test_*.py")
    found = sorted([*tests, *examples], key=lambda path: (-path.stat().st_size, path))
    return [[str(path.relative_to(ROOT)) for path in found[k::parts]] for k in range(parts)]


@cache
def digest(*folders: Path) -> str:
    """Of the code in folders: where it changes, recordings and outcomes are made anew."""
    found = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


@cache
def copied(scratch: Path) -> Path:
    """This process's own copy of the repository."""
    root = scratch / str(os.getpid())
    root.mkdir()
    copy_of_repository(root)
    return root


def record(files: list[str], scratch: Path, mark: str) -> dict[str, Any]:
    """Run some tests as mutants run, with coverage by test; only tests that pass are used."""
    state = "\n".join([digest(ROOT / "src", ROOT / "tests"), *files, mark])
    state = hashlib.sha256(state.encode()).hexdigest()
    kept = RECORD / f"{state[:16]}.json"
    if kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    print(f"recording which lines {len(files)} files of tests execute", file=sys.stderr, flush=True)
    root = copied(scratch)
    found = root / "recorded.json"
    found.unlink(missing_ok=True)
    forked(root, files, mark, 1800, [Executed(root, found)])
    if not found.exists():
        print(f"not recorded: {' '.join(files)}", file=sys.stderr, flush=True)
        return {"seconds": {}, "lines": {}}
    kept.parent.mkdir(exist_ok=True)
    shutil.copyfile(found, kept)
    return json.loads(kept.read_text(encoding="utf-8"))


class Executed:
    """A plugin of pytest that writes the time of each test that passed and the lines that it executed."""

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = root, path
        self.seconds: dict[str, float] = {}

    def pytest_sessionstart(self, session: Any) -> None:
        """Called by pytest before tests are collected, which is when lines run that run at import."""
        from coverage import Coverage

        self.coverage = Coverage(data_file=None, include=[f"{self.root}/src/*"], config_file=False)
        self.coverage.start()

    def pytest_runtest_setup(self, item: Any) -> None:
        """Called by pytest before each test."""
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest for each phase of a test."""
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = report.duration

    def pytest_sessionfinish(self, session: Any) -> None:
        """Called by pytest at the end."""
        self.coverage.stop()
        with warnings.catch_warnings(action="ignore"):  # a file of tests may execute nothing of the packages
            data = self.coverage.get_data()
        lines = {
            Path(file).relative_to(self.root).as_posix(): data.contexts_by_lineno(file)
            for file in data.measured_files()
        }
        self.path.write_text(json.dumps({"seconds": self.seconds, "lines": lines}), encoding="utf-8")


class Covering:
    """The tests that execute a line: those written for its kind, those of its package, the quickest."""

    def __init__(self, recordings: Iterable[dict[str, Any]], most_seconds: float) -> None:
        self.most_seconds = most_seconds
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for recorded in recordings:
            self.seconds |= recorded["seconds"]
            for file, lines in recorded["lines"].items():
                for line, tests in lines.items():
                    self.lines[file][int(line)].update(tests)

    def tests(self, mutant: Mutant) -> list[str]:
        """Of a default value: the tests of its function; of another line that runs at import: of the file.

        Of a line that runs in a process of its own: the tests that start such a process.
        """
        lines = self.lines[mutant.file]
        names = {*lines[mutant.line]}
        patterns = [p for file, p in COMMANDS_STARTED.items() if mutant.file == file]
        patterns += [p for folder, p in NUMBERS.items() if mutant.file.startswith(folder)]
        if "" in names:
            patterns += [p for folder, p in DEFAULTS.items() if mutant.file.startswith(folder)]
            body = body_of(ROOT / mutant.file, mutant.line)
            names = set().union(*(tests for line, tests in lines.items() if body is None or line in body))
        if not names and mutant.file in CHILDREN:
            file, starter = CHILDREN[mutant.file]
            body = next(f for f in functions(ROOT / file) if f.name == starter)
            names = set().union(*(self.lines[file][k] for k in range(body.lineno + 1, body.end_lineno or 0)))
        named = {test for test in self.seconds if any(re.match(p, test) for p in patterns)}

        def order(test: str) -> tuple[bool, bool, float]:
            return test not in named, f"/{mutant.package}/" not in test, self.seconds[test]

        chosen, spent = [], 0.0
        for test in sorted((names | named) & self.seconds.keys(), key=order):
            spent += self.seconds[test]
            if chosen and spent > self.most_seconds:
                break
            chosen.append(test)
        return chosen


class Near:
    """The files of tests that name the changed file, its function and what is in it, or lie beside it."""

    def __init__(self, count: int) -> None:
        self.count, self.seconds = count, MOST_SECONDS[CI]  # which a file takes at most
        self.texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}

    def tests(self, mutant: Mutant) -> list[str]:
        """The changed file itself, for its examples, and the nearest files of tests."""
        path = ROOT / mutant.file
        stem = path.parent.name if path.stem == "__init__" else path.stem
        tops = [n for n in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(n, NAMED)]
        around = [f.name for f in functions(path) if f.lineno <= mutant.line <= (f.end_lineno or 0)]
        around += [n.name for n in tops if n.lineno <= mutant.line <= (n.end_lineno or 0)]
        beside = mutant.package if mutant.package != "papers" else path.relative_to(ROOT).parts[2]

        def distance(test: Path) -> tuple[float, str]:
            words, place = set(re.findall(r"\w+", self.texts[test])), test.relative_to(ROOT).as_posix()
            near = 3.0 * (f"/{beside}" in place or f"_{beside}" in place) + 3.0 * (stem in words)
            near += 4.0 * any(name in words for name in around)
            near += min(3, len({n.name for n in tops} & words)) + (stem.split("_")[0] in test.stem)
            return len(self.texts[test]) / 60_000 - near, place

        numbers = [p.split("::")[0] for folder, p in NUMBERS.items() if mutant.file.startswith(folder)]
        nearest = [place for _, place in sorted(map(distance, self.texts))[: self.count]]
        text = path.read_text(
            encoding="utf-8"
        )  # of a file that it is given pytest takes functions test_… too
        examples = [mutant.file] if ">>>" in text and "def test_" not in text else []
        return list(dict.fromkeys([*examples, *numbers, *nearest]))


def body_of(path: Path, line: int) -> range | None:
    """The lines of the function in whose signature a line stands; None where it stands in none."""
    for node in functions(path):
        if node.lineno <= line < node.body[0].lineno:
            return range(node.body[0].lineno, (node.end_lineno or line) + 1)
    return None


@cache
def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def in_processes(jobs: int) -> multiprocessing.pool.Pool:
    """Processes that have the heavy packages from this one."""
    return multiprocessing.get_context("fork").Pool(jobs)


# --- running ------------------------------------------------------------------------------------


def copy_of_repository(root: Path) -> None:
    """Sources and tests copied, everything else linked; compiled once, checked by content."""
    for path in ROOT.iterdir():
        if path.name in ("src", "tests"):
            shutil.copytree(path, root / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.name not in (".git", ".mutants", ".hypothesis", ".coverage"):
            (root / path.name).symlink_to(path)
    compileall.compile_dir(
        root / "src", quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
    )


def outcome(mutant: Mutant, tests: list[str], seconds: float, root: Path, mark: str) -> str:
    """`survived`, `killed`, `timeout`, `not covered`, or `red`: the test fails without the mutant, too."""
    if not tests:
        return "not covered"
    original, failed = mutant.apply(root), root / "failed.txt"
    failed.unlink(missing_ok=True)
    try:
        status = forked(root, tests, mark, 4 * seconds + 60, [Failed(failed)], first=True)
    finally:
        (root / mutant.file).write_text(original, encoding="utf-8")
    if failed.exists() and forked(root, [failed.read_text(encoding="utf-8")], mark, 4 * seconds + 60):
        return "red"
    return {0: "survived", 5: "not covered", None: "timeout"}.get(status, "killed")


class Failed:
    """A plugin of pytest that writes the name of a test that failed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest for each phase of a test."""
        if report.failed:
            self.path.write_text(report.nodeid, encoding="utf-8")


def forked(
    root: Path, tests: list[str], mark: str, seconds: float, plugins: Sequence[Any] = (), first: bool = False
) -> int | None:
    """The exit status of pytest in a child, which may end at the first failure.

    None where it took longer than `seconds`.
    """
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()
        _run(root, tests, plugins, ["-m", mark, *(["-x"] if first else [])])
    deadline = time.monotonic() + seconds
    done = 0
    try:
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        return None
    finally:
        if not done:  # too late, or this process is being ended
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _run(root: Path, tests: list[str], plugins: Sequence[Any], options: list[str]) -> None:
    """In the child: the tests, silently; ends the process."""
    status = 3
    try:
        os.chdir(root)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        sys.path[:0] = [str(root / "src"), str(root)]
        os.environ["PYTHONPATH"] = str(root / "src")
        import pytest

        options += ["-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist"]
        status = int(pytest.main([*options, *tests], plugins=plugins))
    finally:
        os._exit(status)


class Known:
    """Outcomes of earlier runs: a killed mutant stays killed while the sources of its package are the same.

    A survivor is tried again where tests changed.
    """

    def __init__(self, slow: bool) -> None:
        self.file = RECORD / "outcomes.jsonl"
        self.slow = slow
        rows = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        self.outcomes: dict[str, str] = dict(map(json.loads, rows))

    def key(self, mutant: Mutant, what: str) -> str:
        """Of an outcome: it depends on the sources, and that of a survivor on the tests too."""
        killed = what in ("killed", "timeout")
        state = digest(ROOT / "src") if killed else digest(ROOT / "src", ROOT / "tests")
        return f"{state[:16]} {mutant.file} {mutant.start} {mutant.now} {self.slow}"

    def __call__(self, mutant: Mutant) -> str | None:
        """The outcome, None where it is not known."""
        for what in ("killed", "survived"):
            if (found := self.outcomes.get(self.key(mutant, what))) is not None:
                return found
        return None

    def add(self, mutant: Mutant, what: str) -> None:
        """Keep an outcome, at once."""
        RECORD.mkdir(exist_ok=True)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps([self.key(mutant, what), what]) + "\n")


def judge(job: tuple[Mutant, list[str], float, Path, bool]) -> tuple[Mutant, str]:
    """The outcome of a mutant."""
    mutant, tests, seconds, scratch, slow = job
    known = Known(slow)
    what = known(mutant)
    if what is None:
        what = outcome(mutant, tests, seconds, copied(scratch), CI if slow else QUICK)
        known.add(mutant, what)
    print(f"{what:12} {shown(mutant)}  [{len(tests)} tests]", file=sys.stderr, flush=True)
    return mutant, what


def shown(mutant: Mutant) -> str:
    """One line: the place, and the changed line of code as it was and is."""
    line = ROOT.joinpath(mutant.file).read_text(encoding="utf-8").splitlines()[mutant.line - 1].strip()
    was, now = " ".join(mutant.was.split()), " ".join(mutant.now.split())
    return f"{mutant.file.removeprefix('src/scalinglab/')}:{mutant.line}  {was!r} -> {now!r}  in  {line}"


def sample(packages: list[str], number: int, seed: int, constants: bool = False) -> list[Mutant]:
    """So many mutants of the packages, each as likely as another; equivalent ones are left out."""
    known = {(e["file"], e["line"], e["was"], e["now"]) for e in equivalents()}
    found = []
    for package in packages:
        found += [mutant for file in sources(package) for mutant in mutants_of(file)]
    if constants:
        found = [mutant for mutant in found if re.fullmatch(r"[\d._]+(e[+-]?\d+)?", mutant.was)]
    chosen = random.Random(seed).sample(found, min(number, len(found)))
    return [m for m in chosen if (*key(m),) not in known]


def key(mutant: Mutant) -> tuple[str, str, str, str]:
    """What an entry of the list of equivalent mutants is found by: no line numbers, which move."""
    text = (ROOT / mutant.file).read_text(encoding="utf-8").splitlines()[mutant.line - 1].strip()
    return mutant.file.removeprefix("src/scalinglab/"), text, mutant.was.strip(), mutant.now.strip()


def equivalents() -> list[dict[str, str]]:
    """The committed list: file, line (its text), was, now, reason."""
    return tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])


def main() -> None:
    """Sample, run, and print what survived and the share killed of each package."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "packages", nargs="*", default=list(PACKAGES),
        help="packages, folders in one or modules; default: " + ", ".join(PACKAGES),
    )  # fmt: skip
    parser.add_argument("-n", "--number", type=int, default=60, help="mutants in all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--apart", nargs=2, type=int, metavar=("NUMBER", "SEED"), default=(0, 0),
        help="leave out the mutants of this sample, for whose survivors tests were written",
    )  # fmt: skip
    parser.add_argument("--constants", action="store_true", help="change numbers alone")
    parser.add_argument("--near", type=int, default=0, metavar="FILES", help="judge by so many near files")
    parser.add_argument("--slow", action="store_true", help="judge by slow tests too")
    parser.add_argument("--jobs", type=int, default=1, help="mutants run at the same time")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that children are ended too
    mark = CI if options.slow else QUICK
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for name in HEAVY:
        with contextlib.suppress(ImportError):  # its tests are skipped
            importlib.import_module(name)
    earlier = sample(options.packages, *options.apart, options.constants)
    chosen = sample(options.packages, options.number, options.seed, options.constants)
    with tempfile.TemporaryDirectory() as folder, in_processes(options.jobs) as pool:
        scratch = Path(folder)
        if options.near:
            near = Near(options.near)
            judged = [(mutant, near.tests(mutant), near.seconds) for mutant in chosen]
        else:
            parts = [(files, scratch, mark) for files in units(PARTS)]
            known = Covering(pool.starmap(record, parts, chunksize=1), MOST_SECONDS[mark])
            tests = [known.tests(mutant) for mutant in chosen]
            judged = [(m, own, sum(map(known.seconds.__getitem__, own))) for m, own in zip(chosen, tests)]
        work = [(*one, scratch, options.slow) for one in judged if one[0] not in earlier]
        results = list(pool.imap_unordered(judge, work))
    report(results)


def report(results: list[tuple[Mutant, str]]) -> None:
    """The survivors, and the share killed."""
    groups = defaultdict(list)
    for mutant, what in results:
        groups[mutant.package].append((mutant, what))
    print("\nsurvivors")
    for mutant, what in sorted(results, key=lambda r: (r[0].file, r[0].line)):
        if what not in ("killed", "timeout"):
            print(f"  {what:12} {shown(mutant)}")
    print("\npackage      mutants  killed")
    for package, found in [*sorted(groups.items()), ("all", results)]:
        killed = sum(what in ("killed", "timeout") for _, what in found)
        print(f"{package:12} {len(found):7}  {killed:6}  {killed / max(len(found), 1):.0%}")


if __name__ == "__main__":
    main()
