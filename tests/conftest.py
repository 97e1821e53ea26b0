"""How property tests draw: the same examples in every `make test`, new and more ones in `make properties`.

The tree of commands is built once: Typer builds it for every call, which took a third of the commands' tests.
"""

from functools import cache

import typer.testing
from hypothesis import settings

from tests.properties import FACTOR

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile("repeatable" if FACTOR == 1 else "search")
typer.testing._get_command = cache(typer.testing._get_command)
