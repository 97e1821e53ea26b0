"""The commands: importing this package registers all of them, one module a group."""

from scalinglab.cli.commands import (  # noqa: F401  # they register their commands
    answer,
    demo,
    files,
    laws,
    pages,
    plan,
    recipes,
    reproduce,
    theory,
    train,
)
