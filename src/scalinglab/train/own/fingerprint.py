"""Fingerprints of functions, classes and data: equal where they compute the same, different after a change.

A fingerprint covers the source of a function or class without comments and layout, its defaults, the values
that it captures, and in turn whatever of the user's own code it refers to. Installed packages count by name.
Where there is no source of its own (of a lambda, or at a prompt without history) the compiled code takes its
place.
"""

from __future__ import annotations

import ast
import copyreg
import dis
import enum
import functools
import hashlib
import inspect
import logging
import sys
import textwrap
import threading
import types
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from scalinglab.errors import BadInput

DIGITS = 12  # of a fingerprint, hexadecimal
_SIMPLE = (
    type(None), bool, int, float, complex, str, bytes, type(...), PurePath, enum.Enum, np.generic, np.dtype,
)  # fmt: skip
_LOCKS = (type(threading.Lock()), type(threading.RLock()))  # of caches and cached properties
_PROMPTS = ("<string>", "<stdin>")
_INSTALLED = ("site-packages", "dist-packages")
_OURS = PurePath(__file__).parents[3]  # src of a checkout: this package and those that come with it


class NoFingerprint(BadInput):
    """An object whose content cannot be read."""


def fingerprint(value: Any) -> str:
    """Hexadecimal digits that change when the value does.

    Raises:
        NoFingerprint: it holds something whose content cannot be read, such as an open file.
    """
    lines = _Description().of(value)
    return hashlib.blake2b("\n".join(lines).encode()).hexdigest()[:DIGITS]


def is_installed(value: Any) -> bool:
    """Whether something comes from an installed package or from Python itself, and not from the user."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    top = str(name or "builtins").partition(".")[0]
    if isinstance(value, types.FunctionType) and value.__code__.co_filename in _PROMPTS:
        return False  # typed, or executed from a text
    if top in sys.stdlib_module_names - {"__main__"} or top == "builtins":
        return True
    file = getattr(sys.modules.get(str(name)), "__file__", None) or ""
    if not file and isinstance(value, types.FunctionType):
        file = value.__code__.co_filename
    return any(part in _INSTALLED for part in PurePath(file).parts) or _OURS in PurePath(file).parents


class _Description:
    """Describes a value by lines of text; every object is described once."""

    def __init__(self) -> None:
        self.seen: dict[int, Any] = {}

    def of(self, value: Any) -> list[str]:
        if isinstance(value, _SIMPLE):
            return [repr(value)]
        if isinstance(value, types.ModuleType):
            return [f"module {value.__name__}"]
        if isinstance(value, logging.Logger):
            return [f"logger {value.name}"]
        if isinstance(value, _LOCKS):
            return ["lock"]
        if id(value) in self.seen:
            return ["again"]
        self.seen[id(value)] = value  # kept alive, so that no other takes its number
        if (array := _array(value)) is not None:
            content = hashlib.blake2b(np.ascontiguousarray(array).tobytes()).hexdigest()
            return [f"array {array.dtype} {array.shape} {content}"]
        if isinstance(value, Mapping):
            return ["{", *self._all([part for item in value.items() for part in item]), "}"]
        if isinstance(value, (set, frozenset)):
            return ["set", *sorted("\n".join(self.of(item)) for item in value)]
        if isinstance(value, (list, tuple, range)):
            return ["[", *self._all(value), "]"]
        return self._code_or_object(value)

    def _all(self, values: Iterable[Any]) -> list[str]:
        return [line for value in values for line in self.of(value)]

    def _code_or_object(self, value: Any) -> list[str]:
        if isinstance(value, functools.partial):
            return ["partial", *self._all([value.func, value.args, value.keywords])]
        if isinstance(value, types.MethodType):
            return ["method", *self._all([value.__func__, value.__self__])]
        if isinstance(value, (staticmethod, classmethod)):
            return self.of(value.__func__)
        if isinstance(value, property):
            return self._all([part for part in (value.fget, value.fset) if part])
        if hasattr(value, "__wrapped__") and callable(value):
            return ["wrapped", *self.of(inspect.unwrap(value))]
        named = isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type))
        if (named and is_installed(value)) or isinstance(value, types.BuiltinFunctionType):
            return [f"{getattr(value, '__module__', '')}:{value.__qualname__}"]
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        return self._object(value)

    def _function(self, function: types.FunctionType) -> list[str]:
        captured: dict[str, Any] = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                captured[name] = cell.cell_contents
            except ValueError:  # not set yet: a function that calls itself, say
                continue
        attributes = {name for code in _codes(function.__code__) for name in code.co_names}
        for name in _globals(function.__code__):
            if name in function.__globals__:
                captured[name] = found = function.__globals__[name]
                if isinstance(found, types.ModuleType) and not is_installed(found):
                    captured |= {f"{name}.{n}": vars(found)[n] for n in attributes & {*vars(found)}}
        lines = [_source(function) or _bytecode(function.__code__)]
        lines += self._all([function.__defaults__, function.__kwdefaults__])
        for name in sorted(captured):
            if name != "__class__":
                lines += [name, *self._named(name, captured[name])]
        return lines

    def _named(self, name: str, value: Any) -> list[str]:
        try:
            return self.of(value)
        except NoFingerprint as error:
            raise NoFingerprint(f"{name} ({error})") from None

    def _class(self, found: type) -> list[str]:
        lines = [_source(found) or found.__qualname__, *self._all(found.__bases__)]
        for name, value in sorted(vars(found).items()):
            is_code = isinstance(value, (types.FunctionType, staticmethod, classmethod, property))
            if is_code or not name.startswith(("__", "_abc_")):
                own = getattr(value, "__module__", found.__module__) == found.__module__
                lines += [name, *(self._named(name, value) if is_code or own else [repr(type(value))])]
        return lines

    def _object(self, value: Any) -> list[str]:
        kind = type(value)
        if kind.__module__.partition(".")[0] == "torch" and kind.__name__ in ("dtype", "device", "Size"):
            return [repr(value)]
        if isinstance(value, np.random.Generator):
            return [repr(value.bit_generator.state)]
        if not hasattr(value, "__dict__"):
            try:
                # what a copy is made of; of a compiled regular expression only the table says it
                reduce: Any = copyreg.dispatch_table.get(kind)
                made = reduce(value) if reduce else value.__reduce_ex__(2)
            except TypeError:
                raise NoFingerprint(f"a {kind.__module__}.{kind.__qualname__}") from None
            return ["object", *self._all([kind, made if isinstance(made, str) else made[1:3]])]
        if hasattr(value, "state_dict") and hasattr(value, "named_modules"):  # an nn.Module
            content = {
                name: {k: v for k, v in vars(module).items() if not k.startswith("_")}
                for name, module in value.named_modules()
            }
            kinds = [type(module) for module in value.modules()]
            return ["module", *self._all([kinds, dict(value.state_dict()), content])]
        return ["object", *self.of(kind), *self.of(vars(value))]


def _array(value: Any) -> np.ndarray | None:
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            raise NoFingerprint("an array of objects")
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        found = value.detach().cpu()
        return np.asarray((found.float() if found.dtype == torch.bfloat16 else found).numpy())
    return np.asarray(value) if hasattr(value, "iloc") else None  # pandas


def _codes(code: types.CodeType) -> list[types.CodeType]:
    """The code of a function and of those inside it."""
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return [code, *(found for part in inner for found in _codes(part))]


def _globals(code: types.CodeType) -> list[str]:
    """Names that the code of a function, and of functions inside it, looks up in its module."""
    found = [
        instruction.argval for part in _codes(code) for instruction in dis.get_instructions(part)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    ]  # fmt: skip
    return [*dict.fromkeys(found)]


def _source(value: Any) -> str | None:
    """The source without comments, layout and documentation; None where there is none."""
    if isinstance(value, types.FunctionType) and value.__name__ == "<lambda>":
        return None  # a line may hold several, and Python says of none where it ends
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(value)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return None
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _bytecode(code: types.CodeType) -> str:
    """What Python made of a function, in the version of Python that runs."""
    constants = [_bytecode(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {constants}"
