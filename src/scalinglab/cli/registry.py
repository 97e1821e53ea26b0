"""A command is a function in a registry; the command line and its reference page are made from it.

    @command("plan bend")
    def bend(table: Table, x: str = "n_data", y: str | None = None) -> Output:
        '''Test whether the curve still follows its power law.

        scalinglab plan bend curves.csv --x n_data --y test_error

        Args:
            x: the column of sizes.
        '''

- A parameter is an option: ``n_params`` is ``--n-params``, ``from_`` is ``--from``. An `ARGUMENT` in its
  annotation makes it a positional argument, and a `Typed` is how the value is read from what was typed.
- A parameter that is annotated with a dataclass takes a set of options, one for each of its fields.
- The help of an option stands under ``Args``, of a set in its own docstring; where it does not, in `HELP`.
- What the function returns is rendered by `output.render`: on the screen, as ``--json``, to the file of
  ``--out``, with the figure of ``--figure``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, make_dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from scalinglab.cli.options import ALSO, ARGUMENT, HELP, FigureFile, OutFile, Typed
from scalinglab.cli.output import render

REQUIRED = inspect.Parameter.empty
OUTPUT = "output"  # the owner of the options that say where a result goes


@dataclass(frozen=True)
class Parameter:
    """One option or argument of a command.

    Attributes:
        name: of the function's parameter, or of the field of a set.
        given: the type of what is typed on the command line.
        default: `REQUIRED` if there is none.
        help: what it is.
        names: how it is typed, as in ``--n-params``.
        read: makes the value of the option's name and of what was typed; None where that is the value.
        positional: whether it is an argument.
        owner: the function's parameter that takes its set; empty for an option of the command's own.
    """

    name: str
    given: Any
    default: Any
    help: str
    names: tuple[str, ...]
    read: Callable[[str, Any], Any] | None = None
    positional: bool = False
    owner: str = ""

    @property
    def annotation(self) -> Any:
        """The annotation that Typer reads."""
        if self.positional:
            return Annotated[self.given, typer.Argument(help=self.help)]
        return Annotated[self.given, typer.Option(*self.names, help=self.help)]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _parameter(name: str, hint: Any, default: Any, text: str, owner: str = "") -> Parameter:
    marks = [mark for part in (hint, *get_args(hint)) for mark in getattr(part, "__metadata__", ())]
    typed = next((mark for mark in marks if isinstance(mark, Typed)), None)
    given = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    if typed is not None:
        given = typed.given | None if default is None else typed.given
    flag = "--" + name.rstrip("_").replace("_", "-")
    names = (flag, *ALSO.get(name, ()))
    read = typed.read if typed else None
    return Parameter(name, given, default, _sentence(text), names, read, ARGUMENT in marks, owner)


@dataclass(frozen=True)
class Command:
    """A command: its name, such as "laws fit", and its function.

    Attributes:
        figure: the end of the default name of its figure; empty where it draws none.
        draws_unasked: whether it draws a figure without ``--figure``.
        out: whether it takes ``--out``.
    """

    name: str
    function: Callable[..., Any]
    figure: str = ""
    draws_unasked: bool = True
    out: bool = True

    @cached_property
    def help(self) -> str:
        """What it does and how it is typed: its docstring without the arguments."""
        return _parts(self.function)[0]

    @cached_property
    def examples(self) -> list[str]:
        """The command lines in its help."""
        return re.findall(r"^ *(scalinglab .*)$", self.help, re.MULTILINE)

    @cached_property
    def parameters(self) -> list[Parameter]:
        """Arguments, its own options, those of its sets, and those of every command."""
        own: list[Parameter] = []
        shared: list[Parameter] = []
        texts = _parts(self.function)[1]
        hints = get_type_hints(self.function, include_extras=True)
        for name, parameter in inspect.signature(self.function).parameters.items():
            if is_dataclass(hints[name]):
                shared += _of_set(name, hints[name])
            else:
                text = texts.get(name) or HELP[name]
                own.append(_parameter(name, hints[name], parameter.default, text))
        if self.figure:
            shared.append(_parameter("figure", FigureFile | None, None, HELP["figure"], OUTPUT))
            if self.draws_unasked:
                shared.append(_parameter("no_figure", bool, False, HELP["no_figure"], OUTPUT))
        if hints["return"] is not type(None):
            shared.append(_parameter("json", bool, False, HELP["json"], OUTPUT))
            if self.out:
                shared.append(_parameter("out", OutFile | None, None, HELP["out"], OUTPUT))
        return sorted([*own, *shared], key=lambda parameter: not parameter.positional)

    def run(self, typed: dict[str, Any]) -> None:
        """Call the function with what was typed, and render what it returns."""
        values: dict[str, dict[str, Any]] = {}
        for one in self.parameters:
            value = typed[one.name]
            if one.read is not None and value is not None:
                value = one.read(one.names[0] if not one.positional else one.name, value)
            values.setdefault(one.owner, {})[one.name] = value
        own, asked = values.pop("", {}), values.pop(OUTPUT, {})
        hints = get_type_hints(self.function)
        sets = {name: hints[name](**given) for name, given in values.items()}
        status = render(
            lambda: self.function(**sets, **own), command=self.name, as_json=asked.get("json", False),
            out=asked.get("out"), figure=self._figure_file(asked, typed),
        )  # fmt: skip
        if status:
            raise typer.Exit(status)

    def _figure_file(self, asked: dict[str, Any], typed: dict[str, Any]) -> Path | None:
        """Where to draw: where it was asked for, else beside nothing, in the working folder."""
        drawn = asked.get("figure") or self.draws_unasked
        if not (self.figure and drawn) or asked.get("no_figure"):
            return None
        first = next(typed[one.name] for one in self.parameters if one.positional)
        return asked["figure"] or Path(f"{Path(first).resolve().stem}-{self.figure}.png")


def _of_set(owner: str, kind: type) -> Iterator[Parameter]:
    """The options of a set, which a function takes as `owner`."""
    hints = get_type_hints(kind, include_extras=True)
    texts = {name: text for base in reversed(kind.__mro__) for name, text in _parts(base)[1].items()}
    for one in fields(kind):
        default = REQUIRED if one.default is MISSING else one.default
        yield _parameter(one.name, hints[one.name], default, texts.get(one.name) or HELP[one.name], owner)


def _parts(documented: Any) -> tuple[str, dict[str, str]]:
    """A docstring without its arguments, and the help of each argument."""
    text, _, arguments = inspect.cleandoc(documented.__doc__ or "").partition("\nArgs:\n")
    entries = re.findall(r"^    (\w+): (.*(?:\n     .*)*)", arguments, re.MULTILINE)
    return text.strip(), {name: " ".join(help_text.split()) for name, help_text in entries}


COMMANDS: dict[str, Command] = {}


def command(name: str, **how: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as a command; `how` as in `Command`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        COMMANDS[name] = Command(name, function, **how)
        return function

    return register


def add_commands(app: typer.Typer, groups: Mapping[str, tuple[str, str]]) -> None:
    """Add commands to the application, in the order of `groups`.

    Args:
        groups: by first word the modules to load, and the help where it is that of a group.
    """
    inside = {n: typer.Typer(help=text, no_args_is_help=True) for n, (_, text) in groups.items() if text}
    for word, (modules, _) in groups.items():
        for module in modules.split():
            import_module(f"scalinglab.cli.commands.{module}")
        for name, one in COMMANDS.items():
            first, *rest = name.split()
            if first == word:
                add(inside[first] if rest else app, one)
        if word in inside:
            app.add_typer(inside[word], name=word)


def add(app: typer.Typer, one: Command) -> None:
    """Add a command to the application or to a group of it."""
    # Typer reads options off the signature of what it calls: here a class with a field for each
    typed = make_dataclass("Typed", [
        (p.name, p.annotation, field() if p.default is REQUIRED else field(default=p.default))
        for p in one.parameters
    ], kw_only=True, eq=False, repr=False)  # fmt: skip

    class Running(TyperCommand):
        def invoke(self, ctx: Any) -> None:
            one.run(vars(super().invoke(ctx)))

    app.command(one.name.split()[-1], help=one.help, cls=Running)(typed)


def reference() -> str:
    """Every command that is loaded in Markdown: what it does, its examples and its options."""
    lines: list[str] = []
    for _, one in sorted(COMMANDS.items()):
        words = re.sub(r"^ *scalinglab .*\n*", "", one.help, flags=re.MULTILINE).strip()
        lines += ["", f"## scalinglab {one.name}", "", words, "", "```", *one.examples, "```", ""]
        lines += ["| option | default | what it is |", "| --- | --- | --- |"]
        for p in one.parameters:
            names = p.name.upper() if p.positional else ", ".join(p.names)
            default = "required" if p.default is REQUIRED else "" if p.default in (None, False) else p.default
            text = p.help.replace("|", "\\|")
            lines.append(f"| `{names}` | {default} | {text} |")
        lines.append("")
    return "\n".join(lines)
