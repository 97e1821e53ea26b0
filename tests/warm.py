"""Fresh processes that start fast, for tests of examples, pages and commands.

They are forked from a server that has imported the heavy packages but nothing of scalinglab. So each begins
as a new interpreter would, without the seconds that torch and pandas take to import.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

SRC = Path(__file__).parents[1] / "src"
PRELOAD = [
    "numpy", "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.optimize", "scipy.special",
    "scipy.stats", "pandas", "pyarrow.parquet", "torch", "torch._dynamo", "torch.func", "torch.fx",
    "sklearn.datasets", "sklearn.neighbors", "matplotlib.pyplot", "plotly.offline", "typer", "rich.progress",
]  # fmt: skip
_FORKSERVER = multiprocessing.get_context("forkserver")
_FORKSERVER.set_forkserver_preload(PRELOAD)


def run_code(code: str, folder: Path, **options: Any) -> CompletedProcess[str]:
    """As ``python -c code`` in a folder."""
    return _run(["-c"], _exec, (code,), folder, **options)


def run_file(path: Path, folder: Path, **options: Any) -> CompletedProcess[str]:
    """As ``python path`` in a folder."""
    return _run([str(path)], runpy.run_path, (str(path), None, "__main__"), folder, **options)


def run_scalinglab(words: Sequence[str], folder: Path | None = None, **options: Any) -> CompletedProcess[str]:
    """As ``scalinglab words…`` in a folder."""
    argv = ["scalinglab", *map(str, words)]
    return _run(argv, runpy.run_module, ("scalinglab", None, "__main__"), folder or Path.cwd(), **options)


def _run(
    argv: list[str],
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    folder: Path,
    *,
    env: dict[str, str] | None = None,
    errors: Sequence[type[Warning]] = (),
    timeout: float = 120,
) -> CompletedProcess[str]:
    """Run the function in a new process; warnings of the kinds `errors` are errors there."""
    environment = {**os.environ, "PYTHONPATH": str(SRC), **(env or {})}
    with tempfile.TemporaryDirectory() as scratch:
        out, err = Path(scratch, "out"), Path(scratch, "err")
        process = _FORKSERVER.Process(
            target=_child,
            args=(argv, function, arguments, str(folder), environment, tuple(errors), str(out), str(err)),
        )
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"{argv} took more than {timeout} s:\n{err.read_text(encoding='utf-8')}")
        texts = (path.read_text(encoding="utf-8") for path in (out, err))
        return CompletedProcess(argv, process.exitcode, *texts)


def _child(
    argv: list[str],
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    folder: str,
    environment: dict[str, str],
    errors: Sequence[type[Warning]],
    out: str,
    err: str,
) -> None:
    """What the new process does."""
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = argv
    sys.path.insert(0, str(SRC))
    warnings.resetwarnings()
    for kind in errors:
        warnings.simplefilter("error", kind)
    try:
        function(*arguments)
    except SystemExit:
        raise
    except BaseException:
        traceback.print_exc()
        sys.exit(1)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _exec(code: str) -> None:
    exec(compile(code, "<snippet>", "exec"), {"__name__": "__main__"})
