"""An option that a command and its Python function share has one default."""

import inspect
from importlib import import_module
from typing import Any

import pytest
import typer.main

from scalinglab.cli import app
from tests.cli.test_cli import commands

FUNCTIONS = {
    "laws fit": ("laws.fitting.fit", "fit"),
    "laws surface": ("laws.surface", "fit"),
    "laws extrapolate": ("laws.extrapolation.stacking", "extrapolate"),
    "laws collapse": ("laws", "collapse"),
    "laws dynamical": ("laws", "dynamical"),
    "laws speedup": ("laws", "speedup"),
    "laws noise": ("laws", "optimal_noise"),
    "laws downstream": ("laws.scores", "downstream"),
    "plan hyperparameters": ("laws.tuning.transfer", "hyperparameters"),
    "plan mixture": ("laws.mixing.shares", "mixture"),
    "plan next": ("laws.planning.next_runs", "next_runs"),
    "plan size-for": ("laws.planning.questions", "size_for"),
    "forecast make": ("laws.extrapolation.stacking", "extrapolate"),
    "theory dmft": ("theory.dmft", "solve"),
    "explain": ("explanations", "explain"),
    "board": ("board.server", "serve"),
    "sweep": ("sweep.driver", "execute"),
}


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    return {" ".join(path): command for path, command in commands(typer.main.get_command(app))}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_command_has_the_defaults_of_its_function(known: dict[str, Any], name: str):
    module, function = FUNCTIONS[name]
    signature = inspect.signature(getattr(import_module(f"scalinglab.{module}"), function))
    theirs = {p.name: p.default for p in signature.parameters.values()}
    ours = {p.name: p.default for p in known[name].params if p.name in theirs}
    shared = [
        option
        for option, default in ours.items()
        if isinstance(default, (bool, int, float, str))  # None: the command chooses by the table
        and theirs[option] not in (None, inspect.Parameter.empty)
    ]
    assert shared, f"{name} has no option with a default in common with {function}"
    assert {option: ours[option] for option in shared} == {option: theirs[option] for option in shared}


@pytest.mark.parametrize(
    "option",
    ["task_exponent", "spectral_exponent", "flops_per_param_example", "reduce"],
)
def test_commands_share_the_default_of_an_option(known: dict[str, Any], option: str):
    defaults = {
        name: p.default for name, command in known.items() for p in command.params if p.name == option
    }
    assert len(defaults) >= 2
    assert len(set(defaults.values())) == 1, defaults


def test_every_flag_is_off_unless_given_and_every_group_shows_its_help(known: dict[str, Any]):
    flags = {
        (name, p.name): p.default
        for name, command in known.items()
        for p in command.params
        if getattr(p, "is_flag", False)
    }
    assert len(flags) > 40
    assert {key for key, default in flags.items() if default is not False} == set()
    top = typer.main.get_command(app)
    groups = {name: group for name, group in top.commands.items() if hasattr(group, "commands")}
    assert len(groups) >= 6
    assert [name for name, group in groups.items() if not group.no_args_is_help] == []
