"""A `Dataset` from tensors, arrays, PyTorch data sets and loaders, with one or several inputs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from scalinglab.data.dataset import Dataset, Layout
from scalinglab.errors import BadInput

SHAPES = (
    "give (x, y, test_x, test_y), a pair (training set, test set) of PyTorch data sets, of loaders or of "
    "(x, y), or a Dataset"
)
PARTS = ("x", "y", "test_x", "test_y")
TESTS = ("test", "validation", "valid", "val", "eval")
TARGETS = ("y", "labels", "label", "targets", "target")
MOST_EXAMPLES = 1 << 24  # of a set without a length; beyond, it is taken to have no end
EXACT = 1 << 24  # whole numbers up to which float32 holds each


def as_dataset(value: Any, name: str) -> Dataset:
    """A data set as the engine takes it; inputs reach the network as they are.

    Args:
        value: (x, y, test_x, test_y) as tensors or arrays, a dictionary with these keys, a pair (training
            set, test set), or a dictionary with keys "train" and "test", of PyTorch data sets, loaders,
            generators, (x, y) or dictionaries with a target (`TARGETS`); or a `Dataset`. An input or target
            of several arrays is a tuple or dictionary of them.
        name: what it is called in `Curves`.

    Targets that are whole numbers are classes, others, and truth values of several labels, are real targets.
    Numbers are float32 or int64.
    """
    if isinstance(value, Dataset):
        return value
    if isinstance(value, Mapping):
        value = _of_keys(value, name)
    if not isinstance(value, (tuple, list)):
        raise BadInput(f"{name} is a {type(value).__name__}: {SHAPES}")
    if len(value) == 2 and not any(_is_array(part) for part in value):
        value = [each for part in value for each in _split(part, name)]
    if len(value) != 4:
        raise BadInput(f"{name} has {len(value)} parts: {SHAPES}; without a test set, hold some examples out")
    packed = [_packed(part, name) for part in value]
    (train_x, x_layout), (train_y, y_layout), (test_x, _), (test_y, _) = packed
    for x, y, kind in ((train_x, train_y, "training"), (test_x, test_y, "test")):
        if x.ndim == 0 or len(x) != len(y) or len(x) == 0:
            raise BadInput(f"{name}: {len(x) if x.ndim else 0} {kind} inputs and {len(y)} {kind} targets")
        for part, what in ((x, "inputs"), (y, "targets")):
            wrong = np.flatnonzero(~np.isfinite(part.reshape(len(part), -1)).all(axis=1))
            if len(wrong):
                raise BadInput(
                    f"{name}: {len(wrong)} of {len(part)} {kind} {what} hold NaN or infinity, the first of "
                    f"them example {wrong[0]}: leave these examples out, or fill them in"
                )
    shapes = [[layout or part.shape[1:] for part, layout in packed[k : k + 2]] for k in (0, 2)]
    if shapes[0] != shapes[1]:
        raise BadInput(
            f"{name}: training examples have shapes {shapes[0][0]} and {shapes[0][1]}, test "
            f"examples {shapes[1][0]} and {shapes[1][1]}: they must agree"
        )
    classes = train_y.dtype == np.int64 and test_y.dtype == np.int64 and y_layout is None
    n_classes = int(max(train_y.max(), test_y.max())) + 1 if classes else 0
    if not classes and y_layout is None:
        train_y, test_y = (y.astype(np.float32) for y in (train_y, test_y))
    none = np.zeros(1, np.float32)
    return Dataset(
        name, train_x, train_y, test_x, test_y, n_classes, none, none + 1, white=1.0, as_given=True,
        x_layout=x_layout, y_layout=y_layout,
    )  # fmt: skip


def _of_keys(value: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    """The parts of a dictionary: x, y, test_x and test_y, or two sets."""
    if all(key in value for key in PARTS):
        return tuple(value[key] for key in PARTS)
    test = next((key for key in TESTS if key in value), None)
    if "train" in value and test is not None:
        return value["train"], value[test]
    wanted = PARTS if any(key in value for key in PARTS) else ("train", "test")
    missing = next(key for key in wanted if key not in value)
    raise BadInput(
        f"{name}: a dictionary of data needs {', '.join(PARTS)}, or train and test; {missing} is missing"
    )


def _is_array(part: Any) -> bool:
    """Whether it is an array, a tensor or a list of numbers."""
    listed = isinstance(part, list) and not any(isinstance(one, (tuple, list, dict)) for one in part[:1])
    return listed or isinstance(part, np.ndarray) or hasattr(part, "detach")


def _is_tree(part: Any) -> bool:
    """Whether it is an array, or a tuple or dictionary of arrays."""
    if isinstance(part, Mapping):
        part = tuple(part.values())
    return all(map(_is_tree, part)) if isinstance(part, tuple) and part else _is_array(part)


def _split(part: Any, name: str) -> tuple[Any, Any]:
    """Inputs and targets of a training or test set."""
    if isinstance(part, Mapping) and part:
        return _with_target(part, name)
    is_part = _is_tree if isinstance(part, tuple) else _is_array  # a list may be one of examples
    if isinstance(part, (tuple, list)) and len(part) == 2 and all(map(is_part, part)):
        return part[0], part[1]
    kind, collate = type(part).__name__, getattr(part, "collate_fn", None)
    if collate is not None:  # a loader: what it makes of all of its data at once
        if getattr(part, "batch_size", None) is None:
            raise BadInput(f"{name}: a {kind} whose examples are batches already: give single examples")
        warnings.warn(
            f"{name}: the examples of a {kind} are taken as it collates them; order and batch_size are "
            f"those of the setting, not its batches of {part.batch_size}",
            stacklevel=2,
        )
        part = part.dataset
    examples = _examples(part, kind, name)
    if not examples:
        raise BadInput(f"{name}: a {kind} gave no examples")
    made = collate(examples) if collate is not None else _stacked(examples, name)
    if isinstance(made, Mapping):
        return _with_target(made, name)
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise BadInput(
            f"{name}: an example is a {type(examples[0]).__name__}, and must be (input, target) or a "
            "dictionary; several inputs are a tuple, ((first, second), target)"
        )
    return made[0], made[1]


def _examples(part: Any, kind: str, name: str) -> list[Any]:
    sized = hasattr(part, "__getitem__") and hasattr(part, "__len__")
    if sized and not isinstance(part, (str, bytes)):
        return [part[k] for k in range(len(part))]
    if not hasattr(part, "__iter__") or isinstance(part, (str, bytes)):
        raise BadInput(f"{name}: a {kind} is no data set: {SHAPES}")
    found = list(islice(part, MOST_EXAMPLES + 1))
    if len(found) > MOST_EXAMPLES:
        raise BadInput(f"{name}: a {kind} gave {MOST_EXAMPLES} examples and no end: give a finite part of it")
    return found


def _stacked(values: list[Any], name: str) -> Any:
    """Examples of one structure as arrays over all of them."""
    first = values[0]
    try:
        if isinstance(first, Mapping):
            return {key: _stacked([value[key] for value in values], name) for key in first}
        if isinstance(first, (tuple, list)) and not (isinstance(first, list) and _is_array(first)):
            return tuple(_stacked(list(each), name) for each in zip(*values, strict=True))
        return np.stack([_numbers(value, name) for value in values])
    except (ValueError, KeyError) as error:
        raise BadInput(f"{name}: examples of one data set must have one shape: {error}") from error


def _with_target(parts: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    """Inputs by name, and the target among them, which a network may ask for as well."""
    named = [key for key in TARGETS if key in parts]
    if len(named) != 1 or len(parts) < 2:
        raise BadInput(
            f"{name}: one of {', '.join(parts)} must be the target, with a name of {', '.join(TARGETS)}, "
            "beside inputs"
        )
    return dict(parts), parts[named[0]]


def _packed(part: Any, name: str) -> tuple[np.ndarray, Layout | None]:
    """One array, and how several are laid out in it."""
    if isinstance(part, list):
        part = np.asarray(part)
    if not isinstance(part, (tuple, Mapping)):
        return _array(part, name), None
    names = tuple(part) if isinstance(part, Mapping) else None
    arrays = [_numbers(each, name) for each in (part.values() if isinstance(part, Mapping) else part)]
    if any(one.ndim == 0 or len(one) != len(arrays[0]) for one in arrays):
        raise BadInput(f"{name}: inputs of lengths {[one.shape[:1] for one in arrays]} must be of one length")
    whole = all(one.dtype.kind in "ib" for one in arrays)
    if not whole and any(one.dtype.kind == "i" and np.abs(one).max(initial=0) > EXACT for one in arrays):
        raise BadInput(f"{name}: whole numbers above {EXACT} beside real ones are not held exactly")
    flat = [one.reshape(len(one), math.prod(one.shape[1:])) for one in arrays]
    kinds = tuple(str(one.dtype) for one in arrays)
    layout = Layout(names, tuple(one.shape[1:] for one in arrays), kinds)
    return np.concatenate(flat, axis=1, dtype=np.int64 if whole else np.float32), layout


def _array(part: Any, name: str) -> np.ndarray:
    """Numbers, truth values as int64, or float32 where an example has several: its labels."""
    found = _numbers(part, name)
    if found.dtype == bool:
        return found.astype(np.float32 if found.ndim > 1 and math.prod(found.shape[1:]) > 1 else np.int64)
    return found


def _numbers(part: Any, name: str) -> np.ndarray:
    """Whole numbers as int64, truth values as bool, others as float32."""
    if hasattr(part, "detach"):
        part = part.detach().cpu()
        part = part.float().numpy() if str(part.dtype) == "torch.bfloat16" else part.numpy()
    found = np.asarray(part)
    if found.dtype == bool:
        return found
    if found.dtype.kind in "iu":
        return found.astype(np.int64)
    if found.dtype.kind != "f":
        names = "; of class names, np.unique(y, return_inverse=True)[1]" if found.dtype.kind in "UO" else ""
        raise BadInput(f"{name} holds {found.dtype}: give numbers{names}")
    return found.astype(np.float32)
