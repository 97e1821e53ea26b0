"""Arrays and plain values in a pickle, read without unpickling: no name in the file is looked up or called.

A pickle is a program for a machine with a stack. Here its instructions are listed (`pickletools.genops`) and
followed for containers, numbers and text; what it asks to call is kept as words, and four of these words are
known: an array, its type, a scalar and bytes. Everything else is refused.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

VALUES = {
    "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT",
    "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8",
}  # fmt: skip
CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
CONTAINERS: dict[str, Any] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
IGNORED = {"PROTO", "FRAME", "STOP"}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
ARRAY = {"numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct"}
SCALAR = {"numpy.core.multiarray scalar", "numpy._core.multiarray scalar"}
KINDS = "biufO"  # of arrays that are read: truth values, integers, floats, and objects, which are plain again


@dataclass
class _Call:
    """What a pickle asks to call: words, arguments, and the state that it gives the result."""

    words: str
    arguments: tuple[Any, ...]
    state: Any = None


@dataclass(frozen=True)
class _Words:
    text: str


_MARK = object()


def read(file: IO[bytes]) -> Any:
    """The value of a pickle of arrays and plain values.

    Raises:
        ValueError: it holds something else, named in the message, or is cut off.
    """
    stack: list[Any] = []
    kept: dict[int, Any] = {}
    for operation, given, _ in pickletools.genops(file):
        _follow(operation.name, given, stack, kept)
    if len(stack) != 1:
        raise ValueError("the pickle does not end with one value")
    return _plain(stack[0])


def _follow(name: str, given: Any, stack: list[Any], kept: dict[int, Any]) -> None:
    """One instruction."""
    if name in IGNORED:
        return
    if name in VALUES or name in CONSTANTS:
        stack.append(CONSTANTS.get(name, given))
    elif name in CONTAINERS:
        stack.append(CONTAINERS[name]())
    elif name == "MARK":
        stack.append(_MARK)
    elif name == "MEMOIZE":
        kept[len(kept)] = stack[-1]
    elif name in ("BINPUT", "LONG_BINPUT"):
        kept[given] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET"):
        stack.append(kept[given])
    elif name == "TUPLE":
        stack.append(tuple(_since_mark(stack)))
    elif name in TUPLES:
        stack[-TUPLES[name] :] = [tuple(stack[-TUPLES[name] :])]
    elif name == "GLOBAL":
        stack.append(_Words(given))
    elif name == "STACK_GLOBAL":
        stack[-2:] = [_Words(f"{stack[-2]} {stack[-1]}")]
    elif name == "REDUCE":
        stack[-2:] = [_Call(stack[-2].text, stack[-1])]
    elif name == "BUILD":
        state = stack.pop()
        stack[-1].state = state
    elif name in ("APPEND", "APPENDS"):
        items = [stack.pop()] if name == "APPEND" else _since_mark(stack)
        stack[-1].extend(items)
    elif name in ("SETITEM", "SETITEMS"):
        items = [stack.pop(-2), stack.pop()] if name == "SETITEM" else _since_mark(stack)
        stack[-1].update(zip(items[::2], items[1::2], strict=True))
    else:
        raise ValueError(f"it has the instruction {name}")


def _since_mark(stack: list[Any]) -> list[Any]:
    """Take everything above the last mark, and the mark."""
    place = max(i for i, value in enumerate(stack) if value is _MARK)
    items = stack[place + 1 :]
    del stack[place:]
    return items


def _plain(value: Any) -> Any:
    """The value with arrays in place of the calls that would make them."""
    if isinstance(value, _Call):
        return _made(value)
    if isinstance(value, _Words):
        raise ValueError(f"it holds {value.text}")
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return type(value)(map(_plain, value)) if isinstance(value, list | tuple) else value


def _made(call: _Call) -> Any:
    """An array, its type, a scalar or bytes."""
    if call.words in ARRAY:
        _, shape, kind, by_columns, content = call.state
        kind = _plain(kind)
        if kind.hasobject:
            values = np.empty(len(content), object)
            values[:] = [_plain(item) for item in content]
        else:
            values = np.frombuffer(_plain(content), kind).astype(kind.newbyteorder("="))
        return values.reshape(shape, order="F" if by_columns else "C")
    if call.words == "numpy dtype":
        kind = np.dtype(call.arguments[0])
        if kind.kind not in KINDS:
            raise ValueError(f"it holds an array of {kind}")
        return kind.newbyteorder(call.state[1]) if call.state and call.state[1] in "<>" else kind
    if call.words in SCALAR:
        kind, content = map(_plain, call.arguments)
        return np.frombuffer(content, kind)[0]
    if call.words == "_codecs encode":
        return call.arguments[0].encode("latin1")
    if (call.words, call.arguments) == ("__builtin__ bytes", ()):
        return b""
    raise ValueError(f"it holds {call.words.replace(' ', '.')}")
