"""The command line: a registry of functions; commands, `--json` and the reference page are made from it."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from typing import Any

import typer

from scalinglab._version import __version__
from scalinglab.cli import registry
from scalinglab.errors import BadInput, NotDetermined, ScalinglabError

# the first word of every command, in the order of the help: the modules of `commands` that have those which
# begin with it, and the help of a group
GROUPS = {
    "demo": ("demo", ""),
    "answer": ("answer", ""),
    "fit": ("answer", ""),
    "predict": ("answer", ""),
    "audit": ("answer", ""),
    "plot": ("answer", ""),
    "explain": ("answer", ""),
    "theory": ("theory", "Solve the exactly solvable models."),
    "simulate": ("theory", "Simulate the solvable models at finite size."),
    "laws": ("laws recipes", "Fit scaling laws to learning curves."),
    "plan": ("plan", "Predict losses, find compute-optimal sizes and plan the next runs."),
    "forecast": ("answer", "Seal a forecast in a file, and score it later."),
    "data": ("files", "List and download image sets and published curves."),
    "reproduce": ("reproduce", ""),
    "read": ("files", ""),
    "report": ("pages", ""),
    "train": ("train", ""),
    "sweep": ("train", ""),
    "store": ("files", "Check, compact and export a store."),
    "board": ("pages", ""),
}


@cache
def application(word: str) -> typer.Typer:
    """The commands that begin with this word; all of them where it is empty.

    Of a command alone its own module is loaded: the options of all take as long as reading a table.
    """
    made = typer.Typer(
        name="scalinglab",
        help="Measure, explain and predict neural scaling laws.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    registry.add_commands(made, {word: GROUPS[word]} if word else GROUPS)
    made.callback()(_global_options)
    return made


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return application("")  # as main() asks: kept under what it was called with


def _version(asked: bool) -> None:
    if asked:
        print(f"scalinglab {__version__}")
        raise typer.Exit


def _global_options(
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Measure, explain and predict neural scaling laws."""
    # both are read elsewhere: --debug in main(), where errors are caught, --version in its callback


def main() -> None:
    """Run the command line: exit status 0 done, 1 failed, 2 bad input, 3 not determined, 130 interrupted."""
    if "--debug" not in sys.argv:
        warnings.showwarning = _print_warning
    try:
        # Typer itself answers wrong usage with 2 and Ctrl-C with 130
        first = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
        application(first if first in GROUPS else "")()
    except (ScalinglabError, OSError, MemoryError) as error:
        if "--debug" in sys.argv:
            raise
        status = 3 if isinstance(error, NotDetermined) else 2 if isinstance(error, BadInput) else 1
        if "--json" in sys.argv:
            _print_error(error, status)
        print(f"scalinglab: {_in_one_line(error)}", file=sys.stderr)
        sys.exit(status)


def _print_error(error: Exception, status: int) -> None:
    """An error for programs, on stdout: its kind, its sentence, and the reason with its numbers."""
    from scalinglab.cli.output import print_document
    from scalinglab.results.types import reason_of

    kind = {3: "not determined", 2: "bad input", 1: "failed"}[status]
    reason = reason_of(error).to_dict() if isinstance(error, ScalinglabError) else {}
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    command = next((c for n in (2, 1) if (c := " ".join(words[:n])) in registry.COMMANDS), "")
    print_document(command, {"error": {"kind": kind, "message": _in_one_line(error), "reason": reason}})


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
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
