"""Arrays and plain values in a pickle, read so that a file can run no code.

A pickle may name any function and call it. Here the names of NumPy's arrays, dtypes and scalars stand for the
classes below, which take their contents as data, and every other name is refused.
"""

from __future__ import annotations

import pickle
from typing import IO, Any

import numpy as np

KINDS = "biufO"  # of dtypes that are read: booleans, integers, floats, and objects, which are plain values
PLAIN = (int, float, str, bytes, np.generic, type(None))


class _Kind:
    """A dtype: its character code, and then its byte order."""

    def __init__(self, code: str, *_: Any) -> None:
        self.dtype = np.dtype(code)
        if self.dtype.kind not in KINDS:
            raise ValueError(f"it holds an array of {self.dtype}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] in "<>":
            self.dtype = self.dtype.newbyteorder(state[1])


class _Array:
    """An array: made empty, and then filled."""

    def __init__(self, *_: Any) -> None:
        self.values = np.empty(0)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, by_columns, content = state
        if kind.dtype.hasobject:
            values = np.empty(len(content), object)
            values[:] = [_plain(item) for item in content]
        else:
            values = np.frombuffer(content, kind.dtype).astype(kind.dtype.newbyteorder("="))
        self.values = values.reshape(shape, order="F" if by_columns else "C")


def _scalar(kind: _Kind, content: bytes) -> Any:
    return np.frombuffer(content, kind.dtype)[0]


def _bytes(text: str = "", *_: Any) -> bytes:
    return text.encode("latin1")


CORES = ("numpy.core.multiarray", "numpy._core.multiarray")  # before and since NumPy 2
ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Kind,
    ("_codecs", "encode"): _bytes,
    ("builtins", "bytes"): _bytes,
    **{(core, "_reconstruct"): _Array for core in CORES},
    **{(core, "scalar"): _scalar for core in CORES},
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        module = "builtins" if module == "__builtin__" else module
        if (module, name) not in ALLOWED:
            raise ValueError(f"it holds {module}.{name}")
        return ALLOWED[module, name]


def read(file: IO[bytes]) -> Any:
    """The value of a pickle of arrays and plain values.

    Raises:
        ValueError: it holds something else, named in the message, or is cut off.
    """
    try:
        return _plain(_Unpickler(file).load())
    except (pickle.UnpicklingError, EOFError) as error:
        raise ValueError(f"it is cut off or no pickle: {error}") from error


def _plain(value: Any) -> Any:
    """The value with arrays in place of what stands for them."""
    if isinstance(value, _Array):
        return value.values
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    if isinstance(value, PLAIN):
        return value
    raise ValueError(f"it holds {value!r}")
