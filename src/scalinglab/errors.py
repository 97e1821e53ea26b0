"""The errors that a user can meet, with the wrong value and the way out.

Every message names the value, the rule that it breaks and the way out. The command line turns
`NotDetermined` into exit status 3, another `BadInput` into 2 and every other `ScalinglabError` into 1,
without a traceback.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from numbers import Real
from types import ModuleType


class ScalinglabError(Exception):
    """Whatever this package raises on purpose."""


class BadInput(ScalinglabError, ValueError):
    """A value that cannot be used: the message says which, why, and what to do instead."""


class NoTable(BadInput):
    """A file that can be read and holds no table."""


class NotDetermined(BadInput):
    """A question that these data do not answer: the message says why in one sentence, and what would."""


class MixedRows(NotDetermined):
    """Rows of several kinds where a law is of one.

    Attributes:
        column: what tells them apart, as it is called here; theirs: in the table that was read.
        kinds: its values.
    """

    def __init__(
        self, message: str, column: str = "", theirs: str = "", kinds: tuple[object, ...] = ()
    ) -> None:
        super().__init__(message)
        self.column, self.theirs, self.kinds = column, theirs, kinds


class NotConverged(ScalinglabError, ArithmeticError):
    """A solver that did not reach its tolerance; no number is returned in its place."""


class MissingExtra(ScalinglabError, ImportError):
    """An optional package is needed and not installed."""


def require(module: str, extra: str | None, purpose: str) -> ModuleType:
    """Import an optional package, or say what to install.

    Args:
        module: what is imported.
        extra: the extra of this package that brings it, None where it is installed under its own name.
        purpose: what needs it.

    >>> require("json", "train", "reading").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing(module, extra, purpose) from error


def missing(module: str, extra: str | None, purpose: str) -> MissingExtra:
    """The error about an optional package that is not installed; arguments as of `require`."""
    name = module.split(".")[0]
    install = f"'scalinglab[{extra}]'" if extra else name
    return MissingExtra(
        f"{purpose} needs the package {name!r}, which is not installed: pip install {install}"
    )


def usable_device(name: str) -> str:
    """The name of a torch device that works here, or an error that says why it does not."""
    torch = require("torch", "train", f"computing on {name!r}")
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = (str(error).splitlines() or ["unknown"])[0]
        raise BadInput(f"device={name!r} cannot be used here ({reason}); use 'cpu'") from error
    return name


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, whatever its type.

    >>> [is_whole(value) for value in (3, 3.0, 3.5, float("inf"), "3")]
    [True, True, False, False, False]
    """
    return isinstance(value, Real) and float(value).is_integer()


def _order(word: str) -> tuple[int, float, str]:
    """Numbers by size, before words."""
    try:
        return 0, float(word), word
    except ValueError:
        return 1, 0.0, word


def _bare(word: str) -> str:
    """Without what people forget: capitals and marks between words."""
    return "".join(letter for letter in word.casefold() if letter.isalnum())


def _initials(word: str) -> str:
    """ "lr" of "learning_rate"; of one word nothing."""
    parts = word.casefold().split("_")
    return "".join(part[:1] for part in parts) if len(parts) > 1 else ""


def nearest(word: str, choices: Iterable[str], otherwise: str = "", most: int = 20) -> str:
    """The end of an error message about an unknown name: the nearest known one, or all of them.

    Args:
        otherwise: what to say instead of a list where nothing is near.
        most: how many the list names.

    >>> nearest("widht", ["width", "depth"])
    "did you mean 'width'?"
    >>> nearest("lr", ["learning_rate", "depth"])
    "did you mean 'learning_rate'?"
    >>> nearest("CIFAR-10", ["cifar100", "cifar10"])
    "did you mean 'cifar10'?"
    >>> nearest("seed", ["10", "9", "100", "8"], most=2)
    'choose from: 8, 9 and 2 more'
    """
    known = sorted(choices, key=_order)
    bare = {short: name for name in known if (short := _initials(name))} | {
        _bare(name): name for name in known
    }
    close = difflib.get_close_matches(word, known, n=1)
    if _bare(word) in bare or close:
        return f"did you mean {(bare.get(_bare(word)) or close[0])!r}?"
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return otherwise or f"choose from: {', '.join(known[:most])}{more}"
