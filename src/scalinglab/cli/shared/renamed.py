"""Old commands and options of the command line, which work for one more version with a warning on stderr."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from scalinglab.support.deprecation import warn_renamed

COMMANDS = {
    ("plan", "needed"): ("plan", "size-for"),
    ("plan", "doubling"): ("plan", "gain-from"),
}
# by command; options are renamed where the first of them is given: `--compute` of `plan sensitivity` is new
# where no `--at` stands beside it
OPTIONS = {
    ("plan",): {"--flops": "--flops-per-param-example"},
    ("sweep",): {"--together": "--max-stacked"},
    ("plan", "approaches"): {"--at": "--compute"},
    ("plan", "sensitivity"): {"--at": "--compute", "--compute": "--flop-counts"},
}


class RenamingGroup(TyperGroup):
    """The group of all commands, which takes old names of commands and options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put new names in place of old ones before anything is parsed."""
        return super().parse_args(ctx, new_names(args))


def new_names(words: list[str]) -> list[str]:
    """A command line with the names of today.

    >>> new_names(["plan", "size-for", "runs/", "--target", "0.1"])
    ['plan', 'size-for', 'runs/', '--target', '0.1']
    """
    for old, new in COMMANDS.items():
        if tuple(words[: len(old)]) == old:
            warn_renamed(" ".join(old), " ".join(new))
            words = [*new, *words[len(old) :]]
    for command, options in OPTIONS.items():
        if tuple(words[: len(command)]) == command and _names(words) & {next(iter(options))}:
            words = [_option(word, options) for word in words]
    return words


def _names(words: list[str]) -> set[str]:
    """The options that a command line gives."""
    return {word.partition("=")[0] for word in words if word.startswith("--")}


def _option(word: str, options: dict[str, str]) -> str:
    name, equals, value = word.partition("=")
    if name not in options:
        return word
    warn_renamed(name, options[name])
    return options[name] + equals + value
