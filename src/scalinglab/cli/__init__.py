"""The command line: thin, no logic. Each command calls one public function and prints its result."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import typer

from scalinglab._version import __version__
from scalinglab.cli import board, demo, report, reproduce, theory
from scalinglab.cli.predict import answer, explain, forecast, laws, plan
from scalinglab.cli.runs import data, read, store, sweep, train
from scalinglab.cli.theory import simulate
from scalinglab.errors import BadInput, ScalinglabError

app = typer.Typer(
    name="scalinglab",
    help="Measure, explain and predict neural scaling laws.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("answer")(answer.answer)
app.command("explain")(explain.explain)
app.add_typer(theory.app, name="theory")
app.add_typer(simulate.app, name="simulate")
app.add_typer(laws.app, name="laws")
app.add_typer(plan.app, name="plan")
app.add_typer(forecast.app, name="forecast")
app.add_typer(data.app, name="data")
app.command("reproduce")(reproduce.reproduce)
app.command("read")(read.read)
app.command("report")(report.report)
app.command("train")(train.train)
app.command("sweep")(sweep.sweep)
app.add_typer(store.app, name="store")
app.command("board")(board.board)


def _version(asked: bool) -> None:
    if asked:
        print(f"scalinglab {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Measure, explain and predict neural scaling laws."""
    # both are read elsewhere: --debug in main(), where errors are caught, --version in its callback


def main() -> None:
    """Run the command line: exit status 0 done, 1 failed, 2 bad input, 130 interrupted."""
    if "--debug" not in sys.argv:
        warnings.showwarning = _warned
    try:
        app()  # Typer itself answers wrong usage with 2 and Ctrl-C with 130
    except (ScalinglabError, OSError, MemoryError) as error:
        if "--debug" in sys.argv:
            raise
        print(f"scalinglab: {_in_one_line(error)}", file=sys.stderr)
        sys.exit(2 if isinstance(error, BadInput) else 1)


def _warned(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning in one line on stderr, without the line of code that gave it."""
    print(f"scalinglab: warning: {message}", file=sys.stderr)


def _in_one_line(error: Exception) -> str:
    """An error in one line."""
    if isinstance(error, MemoryError):
        return f"out of memory ({error}); ask for less at once" if str(error) else "out of memory"
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot use {error.filename}: {error.strerror}"
    return str(error)


if __name__ == "__main__":
    main()
