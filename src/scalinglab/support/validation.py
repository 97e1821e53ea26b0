"""Check the arguments of public functions against their annotations, and convert them.

`checked` decorates every public function. It refuses arguments whose type the annotation does not allow, by
name, and converts the others: a whole number to an `int`, a list to an array. Other rules (positive, below
one) are checked by the function itself.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial, wraps
from numbers import Real
from pathlib import PurePath
from typing import Any, ParamSpec, TypeVar

import numpy as np

from scalinglab.errors import BadInput, ScalinglabError, is_whole
from scalinglab.support.work import one_thread

LARGEST = 1e150  # of numbers that are squared on the way
TINY = 1e-75  # of numbers whose fourth power is zero
P = ParamSpec("P")
R = TypeVar("R")
_active = threading.local()  # inside a checked function, arguments of others are not the user's


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of a public function against its annotations, and convert them.

    NumPy's errors about numbers or shapes that do not fit together become errors of this package, with the
    names and shapes of the arguments.

    Raises:
        BadInput: an argument is of no type that its annotation names, or the arguments do not fit together.

    >>> @checked
    ... def repeat(word: str, times: int = 2) -> str:
    ...     return word * times
    >>> repeat("ab", 3.0)
    'ababab'
    >>> repeat("ab", times="x")
    Traceback (most recent call last):
    scalinglab.errors.BadInput: times='x' must be a whole number
    """
    signature = inspect.signature(function)
    rules = {name: _rules(p) for name, p in signature.parameters.items()}
    translated = not function.__module__.startswith(OTHERS_CODE)
    limited = one_thread if function.__module__.startswith(SMALL_MATRICES) else nullcontext

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if getattr(_active, "now", False):
            return function(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            if not rules[name] or value is signature.parameters[name].default:
                continue
            if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
                bound.arguments[name] = tuple(_converted(name, each, rules[name]) for each in value)
            else:
                bound.arguments[name] = _converted(name, value, rules[name])
        _active.now = True
        try:
            with limited():
                return function(*bound.args, **bound.kwargs)
        except ScalinglabError:
            raise
        except (*ARITHMETIC, AssertionError, AttributeError, KeyError, MemoryError, RuntimeError) as error:
            if not translated or not _is_about(error, list(bound.arguments.values())):
                raise
            large = isinstance(error, MemoryError) or "too big" in str(error)  # NumPy's words for the latter
            why = "more memory than there is; ask for less" if large else error
            given = ", ".join(f"{name} = {_shown(value)}" for name, value in bound.arguments.items())
            raise BadInput(f"{function.__name__} cannot compute with {given}: {why}") from error
        finally:
            _active.now = False

    call.__dict__["checked"] = True
    return call


# what NumPy, SciPy and Python raise where numbers or shapes cannot be computed with
ARITHMETIC = (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError, FloatingPointError)


# packages that execute code of users: what that raises is their own
OTHERS_CODE = tuple(f"scalinglab.{name}" for name in ("board", "explanations", "studies", "sweep", "train"))
# their matrices are small and many: see `one_thread`
SMALL_MATRICES = ("scalinglab.answers", "scalinglab.laws")


def _is_about(error: Exception, given: list[Any]) -> bool:
    """Whether an error is about the arguments, and not about this package or the user's own code."""
    if any(map(inspect.isroutine, given)):
        return False  # it may be the user's own
    if isinstance(error, ZeroDivisionError):  # of usual numbers it is a fault of this package
        return any(map(_may_vanish, given))
    if isinstance(error, AttributeError):  # of an argument, or of a number or text in it
        plain = error.obj is not None and type(error.obj).__module__ in ("builtins", "numpy")
        return plain or any(error.obj is value for value in given)
    return not isinstance(error, RuntimeError) or type(error) is RuntimeError  # of a network's layers


def _may_vanish(value: Any) -> bool:
    """Whether a number of a value, or a power of it, may be zero: it is zero itself, tiny or huge."""
    try:
        sizes = np.abs(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        return False
    return bool(((sizes < TINY) | (sizes > 1 / TINY)).any())


@dataclass(frozen=True)
class _Rule:
    """One alternative of an annotation: what it is in words, which values it allows, and their form."""

    words: str
    allows: Callable[[Any], bool]
    convert: Callable[[Any], Any] = lambda value: value


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iuf"
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_array(value: Any) -> bool:
    if isinstance(value, (str, bytes, Mapping)) or value is None:
        return False
    if hasattr(value, "__array__") and not isinstance(value, np.ndarray):
        return True  # a tensor, a column: its own conversion decides
    try:
        found = np.asarray(value)
    except ValueError:  # rows of different length
        return False
    return found.dtype.kind in "biufcM" or found.size == 0


def _as_array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, (list, tuple, range, Real)) else value


_RULES = {
    "None": _Rule("None", lambda value: value is None),
    "int": _Rule("a whole number", lambda v: not isinstance(v, bool) and is_whole(v), int),
    "float": _Rule("a number", _is_number, lambda v: v.item() if isinstance(v, np.ndarray) else v),
    "bool": _Rule("True or False", lambda value: isinstance(value, (bool, np.bool_)), bool),
    "str": _Rule("text", lambda value: isinstance(value, str)),
    "Path": _Rule("a path", lambda value: isinstance(value, PurePath)),
    "ArrayLike": _Rule("an array of numbers", _is_array),
    "ndarray": _Rule("an array of numbers", _is_array, _as_array),
    "Mapping": _Rule("a mapping", lambda value: isinstance(value, Mapping)),
    "dict": _Rule("a mapping", lambda value: isinstance(value, Mapping)),
    "Callable": _Rule("a function", callable),
    "Tensor": _Rule("a tensor or an array", lambda v: isinstance(v, np.ndarray) or _is_a("Tensor", v)),
}
_ITEMS = ("Sequence", "Iterable", "list", "tuple", "Collection", "set")
_ITEMS_RULE = _Rule("a sequence", lambda v: isinstance(v, Iterable) and not isinstance(v, (str, bytes)))
_CLASSES = (
    "Approaches", "Collapse", "Curves", "DataFrame", "Dataset", "Dynamical", "Extrapolation", "Form", "Grid",
    "Law", "Modes", "Module", "Optimal", "Optimizer", "Runner", "Setting", "Spectrum", "Store", "Surface",
    "Teacher",
)  # fmt: skip


def _rules(parameter: inspect.Parameter) -> tuple[_Rule, ...]:
    """The alternatives of an annotation; none where anything goes, or one of them is not known here."""
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return ()
    found = []
    given = parameter.annotation
    for text in _alternatives(given if isinstance(given, str) else inspect.formatannotation(given)):
        name = text.partition("[")[0].rpartition(".")[2]
        if name in _ITEMS:
            found.append(_ITEMS_RULE)
        elif name in _RULES:
            found.append(_RULES[name])
        elif name in _CLASSES:  # by its name: importing it here would load its package
            found.append(_Rule(f"a {name}", partial(_is_a, name)))
        else:
            return ()
    return tuple(found)


def _is_a(name: str, value: Any) -> bool:
    """Whether it is of a class of this name, or of one that stands in for it: no number, text or table."""
    known = type(value).__module__.partition(".")[0] in ("builtins", "numpy", "pandas", "torch")
    return not known or any(cls.__name__ == name for cls in type(value).__mro__)


def _alternatives(annotation: str) -> list[str]:
    """The parts of ``A | B[C | D]``, outside of brackets.

    >>> _alternatives("float | Mapping[str, int | None] | None")
    ['float', 'Mapping[str, int | None]', 'None']
    """
    parts, depth = [""], 0
    for letter in annotation.strip("'\""):
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _converted(name: str, value: Any, rules: Sequence[_Rule]) -> Any:
    for rule in rules:
        if rule.allows(value):
            return rule.convert(value)
    words = list(dict.fromkeys(rule.words for rule in rules))
    allowed = " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    raise BadInput(f"{name}={_shown(value)} must be {allowed}")


def _shown(value: Any) -> str:
    """A value in a message: short ones as they are, arrays by their shape."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"array of shape {shape}"
    text = repr(value)
    return text if len(text) <= 40 else f"{type(value).__name__} {text[:30]}…"


def real_array(name: str, values: Any) -> np.ndarray:
    """Values as floats; complex numbers, text and integers beyond 1e308 are refused by name."""
    try:
        given = np.asarray(values)
    except ValueError as error:  # rows of different length
        raise BadInput(f"{name} must hold numbers: {error}") from error
    if np.iscomplexobj(given):
        first = given.ravel()[0] if given.size else given.dtype
        raise BadInput(f"{name} holds complex numbers, such as {first}: give real ones")
    try:
        return given.astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"{name} must hold numbers: {error}") from error


def together(**values: Any) -> tuple[np.ndarray, ...]:
    """Arrays of one shape, or an error that names those that do not broadcast.

    >>> [array.shape for array in together(load=[1, 2, 3], sharpness=1.0)]
    [(3,), (3,)]
    """
    arrays = {name: real_array(name, value) for name, value in values.items()}
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items() if array.ndim)
        raise BadInput(f"these shapes do not broadcast: {shapes}; give one length") from None


def at_most(largest: float = LARGEST, **values: Any) -> None:
    """Refuse finite numbers so large that their squares or products are beyond what doubles hold."""
    for name, value in values.items():
        array = np.abs(np.asarray(value, float))
        if (wrong := array[np.isfinite(array) & (array > largest)]).size:
            raise BadInput(f"{name} = {wrong.flat[0]:g} is too large to compute with: at most {largest:g}")
